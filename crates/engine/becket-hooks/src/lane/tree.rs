//! A process together with everything that it started, and the ways to end all of it.
//!
//! A tree is known by its process group, by a mark in the environment that children inherit, and by descent. Dropping a
//! tree kills it; only [`Tree::release`] lets go of what the main process left running. A tree that shares this
//! process's group, because it shares the terminal, is known by mark and descent alone.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

use super::census::{self, Hunt};
use super::living::{Living, ProcessGroup};
use super::mark::Mark;
use super::orphans;

/// How long a tree may take to end by itself after it was asked to.
const POLITE_GRACE: Duration = Duration::from_millis(200);

/// How long the killing is waited for. It goes on behind that, for processes that hang in the kernel for a while.
const KILL_BOUND: Duration = Duration::from_millis(200);

/// How long dropping a tree may block the thread, which it does only until killed processes are reaped.
const DROP_BOUND: Duration = Duration::from_millis(50);

/// The pause between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(4);

/// A running process with its descendants.
pub struct Tree {
    child: Child,
    /// The main process, and its group unless it shares this process's group.
    group: Pid,
    place: ProcessGroup,
    mark: String,
    living: Living,
    reaped: bool,
    over: bool,
}

impl Tree {
    /// Takes charge of a process that was just started as the leader of its own group, with the mark.
    pub fn adopt(child: Child, mark: &Mark) -> io::Result<Self> {
        Self::adopt_at(child, mark, ProcessGroup::Apart)
    }

    /// Takes charge of a process that was just started in the group of this one, with the mark.
    pub fn adopt_beside(child: Child, mark: &Mark) -> io::Result<Self> {
        Self::adopt_at(child, mark, ProcessGroup::Beside)
    }

    fn adopt_at(child: Child, mark: &Mark, place: ProcessGroup) -> io::Result<Self> {
        let number = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let group = number.ok_or_else(|| io::Error::other("the process ended before it could be watched"))?;
        Ok(Self {
            child,
            group,
            place,
            mark: mark.own().into(),
            living: Living::note(group, place, mark.own()),
            reaped: false,
            over: false,
        })
    }

    /// Waits for the end of the main process. May be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.reaped = status.is_ok();
        status
    }

    /// The status of the main process, if it has ended.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten();
        self.reaped |= status.is_some();
        status
    }

    /// The number of the main process, as long as it runs.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Lets go: the main process has ended by itself, and what it left running lives on.
    pub fn release(mut self) {
        if self.reaped {
            self.end();
            if self.place == ProcessGroup::Apart {
                orphans::leave_behind(self.group);
            }
        }
    }

    /// Ends everything: first with a request, then by force. Takes at most 400 ms, whatever the processes do.
    pub async fn terminate(&mut self) {
        let mut hunt = self.hunt();
        // What is started or leaves the group while the processes are listed could be missed, so they stand still.
        self.signal_group(Signal::STOP);
        hunt.look();
        // The group first, and at once: a shell must not see its child end before it gets the signal itself.
        self.signal_group(Signal::TERM);
        self.signal_group(Signal::CONT);
        hunt.signal_found(Signal::TERM);
        let deadline = Instant::now() + POLITE_GRACE;
        let _ = timeout(POLITE_GRACE, self.wait()).await;
        while self.reaped && self.group_lives_on() && Instant::now() < deadline {
            sleep(PAUSE).await;
        }
        let bound = Instant::now() + KILL_BOUND;
        let mut left = self.kill_once(&mut hunt);
        while left && Instant::now() < bound {
            sleep(PAUSE).await;
            left = self.kill_once(&mut hunt);
        }
        self.finish(hunt, left);
    }

    fn hunt(&self) -> Hunt {
        let not_before = if self.reaped {
            0
        } else {
            census::start_of(self.group)
        };
        Hunt::new(self.group, self.mark.clone(), not_before)
    }

    /// Kills and reaps what there is. Returns whether something may be left.
    fn kill_once(&mut self, hunt: &mut Hunt) -> bool {
        self.signal_group(Signal::KILL);
        let left = hunt.kill();
        self.ended();
        left || !self.reaped
    }

    /// Marks the tree as ended, so that dropping it does nothing.
    fn end(&mut self) {
        self.over = true;
        self.living.forget();
    }

    /// Marks the tree as ended, and lets the killing go on without it if something may be left.
    fn finish(&mut self, hunt: Hunt, may_be_left: bool) {
        self.over = true;
        let living = self.living.clone();
        orphans::finish(hunt, may_be_left, move || living.forget());
        if self.place == ProcessGroup::Apart {
            orphans::leave_behind(self.group);
        }
    }

    /// Signals the group. Once the leader is reaped and the group empty, its number may belong to another group.
    fn signal_group(&self, signal: Signal) {
        let _ = match self.place {
            ProcessGroup::Apart if !self.reaped || !self.group_is_empty() => {
                kill_process_group(self.group, signal)
            }
            ProcessGroup::Beside if !self.reaped => kill_process(self.group, signal),
            _ => Ok(()),
        };
    }

    /// Whether the reaped leader left living members behind. Orphans that this process adopted are reaped first,
    /// because zombies count as members.
    fn group_lives_on(&self) -> bool {
        if self.place == ProcessGroup::Beside {
            return false;
        }
        orphans::reap_group(self.group);
        !self.group_is_empty()
    }

    fn group_is_empty(&self) -> bool {
        test_kill_process_group(self.group) == Err(rustix::io::Errno::SRCH)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut hunt = self.hunt();
        let bound = Instant::now() + DROP_BOUND;
        let mut left = self.kill_once(&mut hunt);
        while left && Instant::now() < bound {
            std::thread::sleep(Duration::from_millis(1));
            left = self.kill_once(&mut hunt);
        }
        self.finish(hunt, left);
    }
}
