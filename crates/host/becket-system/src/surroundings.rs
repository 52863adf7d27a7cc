//! The environment at the start of the program: variables, terminals, the working directory. The program reads it once.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use becket_screen::wrapped;

use crate::screen::OpenScreen;
use crate::signals::Signals;
use crate::visible::harmless;

/// The environment at the start of the program.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The environment.
    pub variables: BTreeMap<OsString, OsString>,
    /// The directory in which the program was started. Once the program has checked it, it exists and its name is text.
    pub cwd: PathBuf,
    /// Whether standard input is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// The signals to the program.
    pub signals: Signals,
    /// The screen of the chat, while there is one: then nothing else may write on the terminal.
    pub screen: OpenScreen,
    /// Hears errors and remarks too, where the user does not see standard error.
    pub listener: Listener,
}

/// What hears errors and remarks beside standard error, if anything does.
#[derive(Clone, Default)]
pub struct Listener(Option<Arc<Hears>>);

type Hears = dyn Fn(&str) + Send + Sync;

impl Listener {
    /// Calls a function with every error and remark.
    pub fn new(hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }

    /// Whether anything hears.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    fn hear(&self, words: &str) {
        if let Some(hear) = &self.0 {
            hear(words);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Listener").field(&self.is_there()).finish()
    }
}

impl Surroundings {
    /// A process that nobody looks at: no terminal, no screen.
    pub fn headless(variables: impl IntoIterator<Item = (OsString, OsString)>, cwd: PathBuf) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            cwd,
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            signals: Signals::default(),
            screen: OpenScreen::default(),
            listener: Listener::default(),
        }
    }

    /// Hides this process if there is a provider key in its environment. Programs that becket starts do not get the
    /// keys, but the system would show this environment to every program of the same user.
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
            // A system that cannot do it is no reason to stop.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        }
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<String> {
        let value = self.variables.get(OsStr::new(name))?.to_str()?;
        (!value.is_empty()).then(|| value.to_string())
    }

    /// The folder for files that nobody needs for long.
    pub fn temporary_folder(&self) -> PathBuf {
        let named = self.variables.get(OsStr::new("TMPDIR"));
        named
            .filter(|named| !named.is_empty())
            .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// Whether colours are wanted on a terminal.
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
        self.listener.hear(message);
    }

    /// Writes a remark to standard error.
    pub fn remark(&self, message: &str) {
        self.say(&format!("becket: {}", harmless(message)));
        self.listener.hear(message);
    }

    fn say(&self, words: &str) {
        let broken = self.screen.columns().map(|columns| wrapped(words, columns));
        let line = broken.as_deref().unwrap_or(words);
        match self.screen.get() {
            Some(screen) => screen.print(line),
            // A broken standard error cannot be reported anywhere.
            None => {
                self.screen.clear_line();
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }
}
