//! Orphans: processes that a hook left running when it ended. They live on; once they are dead, their adopter must reap
//! them, and that is this process if it is the subreaper.
//!
//! The system gives orphans to the process, not to a lane, so the list of them is the one thing that all lanes of a
//! process share. Statuses of processes that something waits for are never taken: a group is asked only after its lane
//! is done with it, and other processes only if they left our session (which nothing that this process starts does by
//! itself) and stayed dead for so long that nothing can be waiting for them.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, waitpgid, waitpid};

use super::census::{self, Hunt};

/// How often the children of this process are looked through.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// How long a process must have been dead before it is reaped as an orphan.
const DEAD_FOR: Duration = Duration::from_secs(2);

/// How long killing goes on after whoever wanted it has stopped waiting.
const PURSUIT: Duration = Duration::from_secs(5);

/// The longest pause between two looks of a pursuit.
const PURSUIT_PAUSE: Duration = Duration::from_millis(100);

static ORPHANS: Mutex<Orphans> = Mutex::new(Orphans {
    groups: Vec::new(),
    strays: Vec::new(),
    last_sweep: None,
});

struct Orphans {
    /// Groups that nothing waits for and that have living members.
    groups: Vec<Pid>,
    /// Other processes that are ours to reap: their number and start, and when they may be reaped.
    strays: Vec<(Pid, u64, Instant)>,
    last_sweep: Option<Instant>,
}

/// Makes this process adopt the orphans of its descendants, so that none of them escapes. Returns whether the system
/// can do that. To be called once, by the program and not by a library.
pub fn become_subreaper() -> bool {
    #[cfg(target_os = "linux")]
    {
        // Any process number switches it on.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// Reaps processes that hooks left running and that have died since. The lanes do this in passing; a program that runs
/// for a long time without hooks may call it now and then.
pub fn reap_orphans() {
    with_orphans(|orphans| orphans.sweep(Instant::now()));
}

/// Notes that nothing waits for a group any more: its leader was reaped, or was killed and is of no interest. The rest
/// of the group is reaped when it dies.
pub(super) fn leave_behind(group: Pid) {
    with_orphans(|orphans| {
        if reap_group(group) {
            orphans.groups.push(group);
        }
        let now = Instant::now();
        if orphans
            .last_sweep
            .is_none_or(|last| now.duration_since(last) >= SWEEP_INTERVAL)
        {
            orphans.sweep(now);
        }
    });
}

/// Ends a search. If something may be alive, the killing goes on beside everything else: on a busy machine a process
/// may need longer to show whose it is than anybody wants to wait. `then` is called when nothing is left, or nothing
/// more can be done.
pub(super) fn finish(mut hunt: Hunt, may_be_left: bool, then: impl FnOnce() + Send + 'static) {
    expect_death(hunt.found());
    if !may_be_left {
        return then();
    }
    let pursue = move || {
        let end = Instant::now() + PURSUIT;
        let mut pause = Duration::from_millis(5);
        while hunt.kill() && Instant::now() < end {
            std::thread::sleep(pause);
            pause = (pause * 2).min(PURSUIT_PAUSE);
        }
        expect_death(hunt.found());
        then();
    };
    // Without a thread, what could be done in time is all that is done.
    let _ = std::thread::Builder::new().name("pursuit".into()).spawn(pursue);
}

/// Notes processes that were killed and had no time to die. Nothing waits for them.
fn expect_death(killed: impl Iterator<Item = (Pid, u64)>) {
    let now = Instant::now();
    with_orphans(|orphans| {
        orphans
            .strays
            .extend(killed.map(|(pid, started)| (pid, started, now)))
    });
}

fn with_orphans(act: impl FnOnce(&mut Orphans)) {
    // A panic in another thread leaves nothing half done here.
    act(&mut ORPHANS.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
}

impl Orphans {
    fn sweep(&mut self, now: Instant) {
        self.last_sweep = Some(now);
        self.groups.retain(|group| reap_group(*group));
        let session = census::own_session();
        let children = census::children();
        self.strays.retain(|(pid, started, _)| {
            children
                .iter()
                .any(|child| (child.pid, child.started) == (*pid, *started))
        });
        for child in children.iter().filter(|child| child.zombie) {
            match self.strays.iter().find(|(pid, ..)| *pid == child.pid) {
                Some((_, _, due)) if *due <= now => {
                    let _ = waitpid(Some(child.pid), WaitOptions::NOHANG);
                }
                None if child.session != session => {
                    self.strays.push((child.pid, child.started, now + DEAD_FOR));
                }
                _ => {}
            }
        }
    }
}

/// Reaps the dead members of a group whose leader nothing waits for, and says whether this process has living members
/// left among its children.
pub(super) fn reap_group(group: Pid) -> bool {
    loop {
        match waitpgid(group, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
