//! What a script can ask of the program around it, and what it reports.

use std::collections::BTreeMap;
use std::fs::File;

use becket_hooks::Failure;
use futures_util::future::BoxFuture;
use serde_json::Value;

/// Answers what scripts ask for. Arguments and answers are JSON.
pub trait Host: Send + Sync {
    /// Answers at once: the script stands still meanwhile. Must not call into the same extension.
    fn call(&self, extension: &str, name: &str, arguments: &str) -> Result<String, HostError>;

    /// Answers in its own time: the script holds a promise meanwhile.
    fn call_async(
        &self,
        extension: &str,
        name: &str,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, HostError>>;

    /// What ran an extension has ended, and it is about to be loaded once more. What it has brought does not count any
    /// more; functions that it kept fail from now on, and those that judge must be asked until it is back.
    fn renewing(&self, _extension: &str) {}

    /// An extension was loaded once more, or could not be: then it does not come back.
    fn renewed(&self, _extension: &str, _loaded: Result<(), Failure>) {}

    /// Lends the person's terminal to a program that a script starts; `None` where there is none to lend.
    fn lend_terminal(&self, _meanwhile: Meanwhile) -> Option<LentTerminal> {
        None
    }
}

/// What a script does while a program that it has started runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// It stands still.
    Waits,
    /// It goes on.
    GoesOn,
}

/// The person's terminal, for as long as a program has it.
pub struct LentTerminal {
    /// What the program reads and writes.
    pub device: File,
    /// Takes it back when it is dropped.
    pub loan: Box<dyn Send + Sync>,
}

/// Why something that a script asked for was not done. The script sees an `Error` with these words and properties.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostError {
    /// What happened.
    pub message: String,
    /// Properties of the error, such as `code`.
    pub properties: BTreeMap<&'static str, Value>,
}

impl HostError {
    /// An error with these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            properties: BTreeMap::new(),
        }
    }

    /// The same with a property more.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.properties.insert(name, value.into());
        self
    }
}

/// Hears what no caller waits for.
pub trait Reporter: Send + Sync {
    /// An extension has something to tell.
    fn report(&self, extension: &str, report: Report);

    /// A promise was rejected and nobody caught it, which was reported. Whoever waits for something of the extension
    /// may have waited for that.
    fn rejected(&self, extension: &str, reason: &str) {
        let _ = (extension, reason);
    }
}

/// What an extension tells without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// A line for the console; `error` for `console.error` and `console.warn`.
    Console {
        /// Whether it is an error or a warning.
        error: bool,
        /// The line.
        text: String,
    },
    /// It has used something outside of its engine.
    Used {
        /// The function, such as `fs.writeFile`.
        what: &'static str,
        /// A path, a command line or an address.
        target: String,
    },
    /// Code that nobody waits for has failed: a timer, or a promise without a `catch`.
    Failed {
        /// What failed and where.
        text: String,
    },
}
