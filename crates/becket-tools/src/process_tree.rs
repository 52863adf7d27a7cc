//! A command together with everything that it started, and the way in which all of it ends.
//!
//! The tree is known by its process group and, where the system tells (Linux), by descent and by a mark in the
//! environment that children inherit, so that those who left the family are found, too. Whoever drops a tree kills
//! it; only `release` lets go of what the command left running.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

/// How long a tree may take to end by itself after it was asked to.
const POLITE_GRACE: Duration = Duration::from_millis(500);

/// How long the killing may take. What outlives it hangs in the kernel, and nothing can be done about it.
const KILL_BOUND: Duration = Duration::from_millis(500);

/// The pause between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(5);

/// The variable that marks the processes of a command. It holds the marks of all commands around it, the innermost
/// last, so that a command also ends what an agent inside of it has started.
const MARK_VARIABLE: &str = "BECKET_TOOL_MARK";

/// The mark of one command, which no other command on this machine has.
pub(crate) struct Mark {
    own: String,
    /// What the variable holds in the command's environment.
    pub(crate) value: OsString,
}

impl Mark {
    /// A new mark for a command with this environment.
    pub(crate) fn new(environment: &BTreeMap<OsString, OsString>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let since_1970 = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let own = format!(
            "{}-{since_1970}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let mut value = environment.get(&Self::variable()).cloned().unwrap_or_default();
        if !value.is_empty() {
            value.push(":");
        }
        value.push(&own);
        Self { own, value }
    }

    /// The name of the variable.
    pub(crate) fn variable() -> OsString {
        MARK_VARIABLE.into()
    }
}

/// A running command with its descendants.
pub(crate) struct ProcessTree {
    child: Child,
    group: Pid,
    mark: Mark,
    /// Descendants seen so far, with the time of their start: together they name a process for good.
    seen: HashMap<i32, u64>,
    over: bool,
}

impl ProcessTree {
    /// Takes charge of a process that was just started as the leader of its own group, with the mark.
    pub(crate) fn new(child: Child, mark: Mark) -> io::Result<Self> {
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(id as i32))
            .ok_or_else(|| io::Error::other("the command ended before it could be watched"))?;
        Ok(Self {
            child,
            group,
            mark,
            seen: HashMap::new(),
            over: false,
        })
    }

    /// Waits for the end of the command itself. May be dropped and called again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Lets go: the command has ended by itself, and what it left running lives on.
    pub(crate) fn release(mut self) {
        self.over = true;
    }

    /// Ends everything: first with a request, then by force. Takes about a second at most.
    pub(crate) async fn terminate(mut self) {
        self.signal(Signal::TERM);
        let patience = Instant::now() + POLITE_GRACE;
        let _ = timeout(POLITE_GRACE, self.child.wait()).await;
        while self.anybody_left() && Instant::now() < patience {
            sleep(PAUSE).await;
        }
        self.signal(Signal::KILL);
        let bound = Instant::now() + KILL_BOUND;
        let _ = timeout(KILL_BOUND, self.child.wait()).await;
        while self.anybody_left() && Instant::now() < bound {
            self.signal(Signal::KILL);
            sleep(PAUSE).await;
        }
        self.over = true;
    }

    fn signal(&mut self, signal: Signal) {
        self.look_around();
        if !self.group_is_empty() {
            let _ = kill_process_group(self.group, signal);
        }
        for pid in self.living() {
            // A process that is gone by now is what we want.
            let _ = kill_process(pid, signal);
        }
    }

    fn anybody_left(&mut self) -> bool {
        self.look_around();
        !self.living().is_empty()
    }

    fn group_is_empty(&self) -> bool {
        test_kill_process_group(self.group).is_err()
    }

    /// Notes all who bear the mark, and all descendants of the command and of those already noted.
    fn look_around(&mut self) {
        let everybody = census::everybody();
        for entry in &everybody {
            if !self.seen.contains_key(&entry.pid) && census::bears(entry.pid, MARK_VARIABLE, &self.mark.own)
            {
                self.seen.insert(entry.pid, entry.started);
            }
        }
        loop {
            let before = self.seen.len();
            for entry in &everybody {
                let ours = entry.group == self.group.as_raw_pid()
                    || entry.parent == self.group.as_raw_pid()
                    || self.seen.contains_key(&entry.parent);
                if ours {
                    self.seen.insert(entry.pid, entry.started);
                }
            }
            if self.seen.len() == before {
                return;
            }
        }
    }

    /// The noted processes that still run.
    fn living(&self) -> Vec<Pid> {
        let still_there =
            |entry: &census::Entry| !entry.zombie && self.seen.get(&entry.pid) == Some(&entry.started);
        census::everybody()
            .iter()
            .filter(|entry| still_there(entry))
            .filter_map(|entry| Pid::from_raw(entry.pid))
            .collect()
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

/// Which processes there are. Only Linux tells; elsewhere nobody is found, and the group is all there is.
mod census {
    pub(super) struct Entry {
        pub(super) pid: i32,
        pub(super) parent: i32,
        pub(super) group: i32,
        pub(super) zombie: bool,
        pub(super) started: u64,
    }

    #[cfg(target_os = "linux")]
    pub(super) fn everybody() -> Vec<Entry> {
        let Ok(folders) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        folders
            .flatten()
            .filter_map(|folder| folder.file_name().to_str()?.parse().ok())
            .filter_map(entry_of)
            .collect()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn everybody() -> Vec<Entry> {
        Vec::new()
    }

    /// Whether the process was started with that mark in that variable.
    #[cfg(target_os = "linux")]
    pub(super) fn bears(pid: i32, variable: &str, mark: &str) -> bool {
        let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else {
            return false;
        };
        let value = |entry: &[u8]| {
            let entry = String::from_utf8_lossy(entry).into_owned();
            entry.strip_prefix(variable)?.strip_prefix('=').map(str::to_owned)
        };
        let mut values = environment.split(|byte| *byte == 0).filter_map(value);
        values.any(|value| value.split(':').any(|other| other == mark))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn bears(_: i32, _: &str, _: &str) -> bool {
        false
    }

    /// Reads `pid (name) state parent group … started …`; the name may hold anything, even brackets.
    #[cfg(target_os = "linux")]
    fn entry_of(pid: i32) -> Option<Entry> {
        let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        Some(Entry {
            pid,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}
