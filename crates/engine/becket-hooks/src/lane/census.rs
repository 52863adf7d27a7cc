//! The processes of the system, and which of them a run of a hook has started.
//!
//! Only Linux lists them; elsewhere the list is empty, and process groups are the only way to end a tree.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

/// The variable that marks the processes of a run. Holds the marks of all runs around it, the innermost last, so that a
/// run also ends the hooks and commands of an agent that it started.
pub(super) const MARK_VARIABLE: &str = "BECKET_MARK";

/// One process, as the system lists it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) pid: Pid,
    pub(super) zombie: bool,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// When the process started; together with the number this identifies a process for good.
    pub(super) started: u64,
}

/// The search for everything that one run has started.
pub(super) struct Hunt {
    main: Option<Pid>,
    mark: String,
    not_before: u64,
    known: HashMap<i32, u64>,
    sessions: HashSet<i32>,
}

impl Hunt {
    /// A search for everything that `main` and its descendants have started. `main` itself is found, but never reaped:
    /// its status belongs to the caller that waits for it. Processes that started before `not_before` are ignored.
    pub(super) fn new(main: Pid, mark: String, not_before: u64) -> Self {
        Self {
            main: Some(main),
            not_before,
            ..Self::marked(mark)
        }
    }

    /// A search for the processes with the mark, and their descendants.
    pub(super) fn marked(mark: String) -> Self {
        Self {
            main: None,
            mark,
            not_before: 0,
            known: HashMap::new(),
            sessions: HashSet::new(),
        }
    }

    /// Looks around once and remembers what it finds, because descent can no longer be seen once parents die.
    pub(super) fn look(&mut self) {
        self.find(&everybody());
    }

    /// Sends a signal to every process that was found outside of the group.
    pub(super) fn signal_found(&self, signal: Signal) {
        for (pid, _) in self.found() {
            let left_the_group = entry_of(pid).is_some_and(|entry| !self.is_in_group(&entry));
            if left_the_group {
                // A process that is gone by now is what we want.
                let _ = kill_process(pid, signal);
            }
        }
    }

    /// Kills what is alive and reaps what is dead. Returns whether there was anything left to kill or to reap.
    pub(super) fn kill(&mut self) -> bool {
        let entries = everybody();
        let found = self.find(&entries);
        let mut left = !found.is_empty() || entries.iter().any(|entry| self.is_undecided(entry));
        for entry in found {
            let _ = kill_process(entry.pid, Signal::KILL);
        }
        for entry in entries.iter().filter(|entry| self.is_our_zombie(entry)) {
            left = true;
            let _ = waitpid(Some(entry.pid), WaitOptions::NOHANG);
        }
        left
    }

    /// Every process that was found so far, except for the main process.
    pub(super) fn found(&self) -> impl Iterator<Item = (Pid, u64)> {
        let known = self
            .known
            .iter()
            .filter_map(|(number, started)| Some((Pid::from_raw(*number)?, *started)));
        known.filter(|(pid, _)| Some(*pid) != self.main)
    }

    /// Whether the process is in the group of the main process.
    fn is_in_group(&self, entry: &Entry) -> bool {
        self.main.is_some_and(|main| entry.group == main.as_raw_pid())
    }

    /// The living processes of the run: those of its group, those with its mark, and all their descendants.
    fn find(&mut self, entries: &[Entry]) -> Vec<Entry> {
        let myself = std::process::id();
        let candidates = || {
            let alive = entries.iter().filter(|entry| !entry.zombie);
            alive.filter(|entry| entry.started >= self.not_before && entry.pid.as_raw_pid() as u32 != myself)
        };
        let mut found: HashMap<i32, Entry> = HashMap::new();
        for entry in candidates() {
            let number = entry.pid.as_raw_pid();
            let is_known = self.known.get(&number) == Some(&entry.started);
            if is_known || self.is_in_group(entry) || has_mark(entry.pid, &self.mark) {
                found.insert(number, *entry);
            }
        }
        loop {
            let before = found.len();
            for entry in candidates() {
                if found.contains_key(&entry.parent) {
                    found.insert(entry.pid.as_raw_pid(), *entry);
                }
            }
            if found.len() == before {
                break;
            }
        }
        for (number, entry) in &found {
            self.known.insert(*number, entry.started);
            self.sessions.insert(entry.session);
        }
        found.into_values().collect()
    }

    /// Whether the process may be one of the run that is just becoming another program: it shows no variables then, and
    /// nothing else tells whose it is if its parent is dead and its session is its own.
    fn is_undecided(&self, entry: &Entry) -> bool {
        let is_adopted = entry.parent as u32 == std::process::id() && entry.session == entry.pid.as_raw_pid();
        !entry.zombie
            && is_adopted
            && entry.started >= self.not_before
            && !self.known.contains_key(&entry.pid.as_raw_pid())
            && shows_no_variables(entry.pid)
    }

    /// Whether the process is a zombie that this one has to reap, and that nothing else waits for. A zombie has lost
    /// its mark, but not its number, its group and its session.
    fn is_our_zombie(&self, entry: &Entry) -> bool {
        if !entry.zombie || Some(entry.pid) == self.main || entry.parent as u32 != std::process::id() {
            return false;
        }
        self.known.get(&entry.pid.as_raw_pid()) == Some(&entry.started)
            || self.is_in_group(entry)
            || (entry.session != own_session() && self.sessions.contains(&entry.session))
    }
}

/// When a process started, in the system's own units; 0 if unknown.
pub(super) fn start_of(pid: Pid) -> u64 {
    entry_of(pid).map_or(0, |entry| entry.started)
}

/// The session of this process: 0 when it belongs to a process outside of this one's namespace, as in a container
/// whose first program made no session of its own.
pub(super) fn own_session() -> i32 {
    entry_of(getpid()).map_or(0, |entry| entry.session)
}

/// The process group of this process; 0 if its leader is outside of this namespace, as with `own_session`.
pub(super) fn own_group() -> i32 {
    entry_of(getpid()).map_or(0, |entry| entry.group)
}

#[cfg(target_os = "linux")]
pub(super) use linux::children;
#[cfg(target_os = "linux")]
use linux::{entry_of, everybody, has_mark, shows_no_variables};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::Read;

    use rustix::process::Pid;

    use super::{Entry, MARK_VARIABLE};

    /// All processes.
    pub(super) fn everybody() -> Vec<Entry> {
        let Ok(folder) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let numbers = folder
            .flatten()
            .filter_map(|file| file.file_name().to_str()?.parse().ok());
        numbers
            .filter_map(|number| entry_of(Pid::from_raw(number)?))
            .collect()
    }

    /// The children of this process. Adopted ones are listed with its first thread, as long as that is alive.
    pub(in crate::lane) fn children() -> Vec<Entry> {
        let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
            return Vec::new();
        };
        let lists = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let entries = lists.flat_map(|list| {
            let numbers = list
                .split_ascii_whitespace()
                .filter_map(|number| number.parse().ok());
            numbers
                .filter_map(|number| entry_of(Pid::from_raw(number)?))
                .collect::<Vec<_>>()
        });
        entries.collect()
    }

    /// The process with this number, if there is one.
    pub(super) fn entry_of(pid: Pid) -> Option<Entry> {
        let mut file = File::open(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
        // It is never longer, and is told at once: every hook's start pays for each further read.
        let mut line = [0; 1024];
        let length = file.read(&mut line).ok()?;
        parse_stat(pid, &line[..length])
    }

    /// Whether the process has no variables, or none yet.
    pub(super) fn shows_no_variables(pid: Pid) -> bool {
        let environment = std::fs::read(format!("/proc/{}/environ", pid.as_raw_pid()));
        environment.is_ok_and(|environment| environment.is_empty())
    }

    /// Whether the process was started with the mark.
    pub(super) fn has_mark(pid: Pid, mark: &str) -> bool {
        let Ok(environment) = std::fs::read(format!("/proc/{}/environ", pid.as_raw_pid())) else {
            return false;
        };
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| {
            let value = variable
                .strip_prefix(MARK_VARIABLE.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="));
            value.is_some_and(|value| {
                value
                    .split(|byte| *byte == b'/')
                    .any(|part| part == mark.as_bytes())
            })
        })
    }

    /// Reads `number (name) state parent group session …`. The name may hold anything, brackets included, so the
    /// fields are counted from the last bracket.
    fn parse_stat(pid: Pid, line: &[u8]) -> Option<Entry> {
        let end_of_name = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(line.get(end_of_name + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
        Some(Entry {
            pid,
            zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    #[cfg(test)]
    mod tests {
        use super::super::Hunt;
        use super::*;

        #[test]
        fn a_name_with_brackets_and_spaces_confuses_nobody() {
            let pid = Pid::from_raw(7).unwrap();
            let line = b"7 (a) Z 1 (b) S 1 2 3 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n";
            let entry = parse_stat(pid, line).unwrap();
            assert!(!entry.zombie);
            assert_eq!(
                (entry.parent, entry.group, entry.session, entry.started),
                (1, 2, 3, 4711)
            );
        }

        /// Waits until a child, which runs in a session of its own, satisfies a condition.
        fn entry_when(child: &std::process::Child, is_so: impl Fn(&Entry) -> bool) -> Entry {
            let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
            loop {
                let entry = entry_of(Pid::from_child(child)).expect("it sleeps");
                if entry.session == entry.pid.as_raw_pid() && is_so(&entry) {
                    return entry;
                }
                assert!(std::time::Instant::now() < end, "{entry:?}");
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }

        #[test]
        fn a_process_that_is_becoming_another_program_may_belong_to_the_run() {
            let start = |program: &str, arguments: &[&str]| {
                let mut command = std::process::Command::new(program);
                command.args(arguments).spawn().expect("there are env and setsid")
            };
            let mut without = start("env", &["-i", "setsid", "sleep", "600"]);
            let mut with = start("setsid", &["sleep", "600"]);
            let shows_none = entry_when(&without, |entry| shows_no_variables(entry.pid));
            let shows_some = entry_when(&with, |entry| !shows_no_variables(entry.pid));
            let mut hunt = Hunt::marked("a-mark-that-nobody-has".into());
            let undecided = [&shows_none, &shows_some].map(|entry| hunt.is_undecided(entry));
            let left = hunt.kill();
            for child in [&mut without, &mut with] {
                child.kill().expect("it is there");
                child.wait().expect("a child can be waited for");
            }
            assert_eq!(undecided, [true, false]);
            assert!(left, "the search must go on");
        }

        #[test]
        fn this_process_is_in_the_census() {
            let myself = std::process::id();
            assert!(
                everybody()
                    .iter()
                    .any(|entry| entry.pid.as_raw_pid() as u32 == myself && !entry.zombie)
            );
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn everybody() -> Vec<Entry> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn children() -> Vec<Entry> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
fn entry_of(_pid: Pid) -> Option<Entry> {
    None
}

#[cfg(not(target_os = "linux"))]
fn shows_no_variables(_pid: Pid) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn has_mark(_pid: Pid, _mark: &str) -> bool {
    false
}
