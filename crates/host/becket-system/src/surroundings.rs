//! What the program finds when it starts: variables, terminals, the working directory. The program reads it once.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;

use crate::screen::OpenScreen;
use crate::signals::Signals;
use crate::visible::harmless;

/// What the program finds when it starts.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The environment.
    pub variables: BTreeMap<OsString, OsString>,
    /// Where the program was started. It is there and its name is text once the program has checked it.
    pub cwd: PathBuf,
    /// Whether standard input is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// What the program is told from outside while it runs.
    pub signals: Signals,
    /// The screen of the chat, while there is one: then nothing else may write on the terminal.
    pub screen: OpenScreen,
}

impl Surroundings {
    /// Programs that becket starts do not get the provider keys, but could read them from its own environment, as the
    /// system shows it to every program of the same user. Where there is a key, the system is told not to.
    pub fn hide_keys<'a>(&self, mut names: impl Iterator<Item = &'a str>) {
        if names.any(|name| self.variable(name).is_some()) {
            self.hide_process();
        }
    }

    /// Tells the system not to show memory and environment of this process to others.
    pub fn hide_process(&self) {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{DumpableBehavior, set_dumpable_behavior};
            // A system that cannot do it is no reason not to work.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        }
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<String> {
        let value = self.variables.get(OsStr::new(name))?.to_str()?;
        (!value.is_empty()).then(|| value.to_string())
    }

    /// Whether colours are wanted where there is a terminal.
    pub fn wants_colour(&self) -> bool {
        self.variable("NO_COLOR").is_none() && self.variable("TERM").is_none_or(|term| term != "dumb")
    }

    /// Writes an error to standard error.
    pub fn complain(&self, message: &str) {
        let label = if self.stderr_is_terminal && self.wants_colour() {
            "\x1b[1;31merror:\x1b[0m"
        } else {
            "error:"
        };
        self.say(&format!("{label} {}", harmless(message)));
    }

    /// Writes a remark to standard error.
    pub fn remark(&self, message: &str) {
        self.say(&format!("becket: {}", harmless(message)));
    }

    fn say(&self, line: &str) {
        match self.screen.get() {
            Some(screen) => screen.print(line),
            // There is nowhere left to complain about a broken standard error.
            None => drop(writeln!(std::io::stderr(), "{line}")),
        }
    }
}
