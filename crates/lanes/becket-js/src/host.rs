//! The interface between scripts and the program around them: requests and reports.

use std::collections::BTreeMap;
use std::fs::File;

use becket_hooks::Failure;
use futures_util::future::BoxFuture;
use serde_json::Value;

/// Answers requests of scripts. Arguments and answers are JSON.
pub trait ScriptHost: Send + Sync {
    /// Answers synchronously: the script is blocked meanwhile. Must not call into the same extension.
    fn call(&self, extension: &str, name: &str, arguments: &str) -> Result<String, HostError>;

    /// Answers asynchronously: the script holds a promise meanwhile.
    fn call_async(
        &self,
        extension: &str,
        name: &str,
        arguments: String,
    ) -> BoxFuture<'static, Result<String, HostError>>;

    /// Called when the process of an extension has ended, before the extension is loaded again. What it registered no
    /// longer counts; its functions fail from now on, and guards must still be asked until it is back.
    fn renewing(&self, _extension: &str) {}

    /// Called when an extension was loaded again, or could not be: then it does not come back.
    fn renewed(&self, _extension: &str, _loaded: Result<(), Failure>) {}

    /// Lends the user's terminal to a program that a script starts; `None` if there is none.
    fn lend_terminal(&self, _meanwhile: Meanwhile) -> Option<LentTerminal> {
        None
    }
}

/// What a script does while a program that it has started runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// The script is blocked.
    Waits,
    /// The script goes on.
    GoesOn,
}

/// The user's terminal, for as long as a program has it.
pub struct LentTerminal {
    /// The device that the program reads and writes.
    pub device: File,
    /// Returns the terminal when dropped.
    pub loan: Box<dyn Send + Sync>,
}

/// Why a request of a script failed. The script sees an `Error` with this message and these properties.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostError {
    /// The message of the error.
    pub message: String,
    /// Properties of the error, such as `code`.
    pub properties: BTreeMap<&'static str, Value>,
}

impl HostError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            properties: BTreeMap::new(),
        }
    }

    /// This error with one more property.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.properties.insert(name, value.into());
        self
    }

    /// This error as scripts get it: its properties and its message.
    pub(crate) fn into_json(self) -> String {
        let mut object: serde_json::Map<String, Value> = self
            .properties
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        object.insert("message".into(), self.message.into());
        Value::Object(object).to_string()
    }
}

/// Receives messages and failures that no caller waits for.
pub trait Reporter: Send + Sync {
    /// Receives a report of an extension.
    fn report(&self, extension: &str, report: Report);

    /// Called after an unhandled rejection was reported: a caller that waits for the extension may have waited for that
    /// promise.
    fn rejected(&self, extension: &str, reason: &str) {
        let _ = (extension, reason);
    }
}

/// What an extension reports without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// A line for the console; `error` for `console.error` and `console.warn`.
    Console {
        /// Whether the line is an error or a warning.
        error: bool,
        /// The text of the line.
        text: String,
    },
    /// The extension has used something outside of its engine.
    Used {
        /// The function, such as `fs.writeFile`.
        what: &'static str,
        /// A path, a command line or an address.
        target: String,
    },
    /// Code without a caller has failed: a timer, or a promise without a `catch`.
    Failed {
        /// What failed and where.
        text: String,
    },
}
