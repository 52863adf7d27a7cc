//! Rehearsals: an event that is tried out. What each handler reads and answers is recorded in its own format, and a
//! fault can be played in its place.
//!
//! Programs and scripts of handlers are always run through [`Occasion`](crate::Occasion), so that both work for every
//! lane and every dialect.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Answered, Cause, Failure, Field, Finished, HandlerInfo};

/// How an event is tried out. Only the caller sees the result.
#[derive(Clone, Copy, Default)]
pub struct Rehearsal<'a> {
    /// Which handlers take part; all of them when absent.
    pub among: Option<&'a (dyn Fn(&HandlerInfo) -> bool + Send + Sync)>,
    /// The fault that is played in place of each handler.
    pub fault: Option<Fault>,
}

/// What a handler read and answered, in its own format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// What the handler read.
    pub input: String,
    /// The variables of this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// What the handler answered; `None` if it did not get to answer, or is a part of becket itself.
    pub output: Option<String>,
    /// The handler's exit code, if it is a program.
    pub exit_code: Option<i32>,
    /// What the handler wrote to standard error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// A way in which handlers fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The handler's program does not exist.
    Missing,
    /// The handler's program is not executable.
    NotExecutable,
    /// The handler ends with exit code 1 and says nothing.
    Crash,
    /// A program that the handler needs does not exist: exit code 127.
    MissingCommand,
    /// A signal ends the handler.
    Killed,
    /// The handler does not answer in time.
    Hang,
    /// The handler writes plain text instead of its answer.
    Chatter,
    /// The handler writes half of its answer.
    HalfAnswer,
    /// The handler answers with values of the wrong types.
    WrongTypes,
    /// The handler misspells its answer.
    Misspelt,
    /// The handler writes without end.
    Flood,
    /// The handler throws an error.
    Throws,
}

/// The name of each fault, and its description.
const FAULTS: &[(Fault, &str, &str)] = &[
    (Fault::Missing, "missing", "the program is not there"),
    (
        Fault::NotExecutable,
        "not_executable",
        "the program may not be executed",
    ),
    (Fault::Crash, "crash", "it ends with exit code 1"),
    (
        Fault::MissingCommand,
        "missing_command",
        "a command in it is not there: exit code 127",
    ),
    (Fault::Killed, "killed", "a signal ends it"),
    (Fault::Hang, "hang", "it does not answer in time"),
    (
        Fault::Chatter,
        "chatter",
        "it writes words where its answer should be",
    ),
    (Fault::HalfAnswer, "half_answer", "it writes half of its answer"),
    (
        Fault::WrongTypes,
        "wrong_types",
        "it answers with values of the wrong types",
    ),
    (Fault::Misspelt, "misspelt", "it misspells its answer"),
    (Fault::Flood, "flood", "it writes without end"),
    (Fault::Throws, "throws", "it throws an error"),
];

/// An answer in which every key that some format knows for a refusal has a value of the wrong type.
const WRONG_TYPES: &str = r#"{"verdict":7,"decision":7,"block":"perhaps",
"specific_output":7,"reason":[]}"#;

/// A refusal with misspelt keys, which no format reads as one.
const MISSPELT: &str = r#"{"verdikt":{"deny":"no"},"desision":"deny","blok":true,
"hook_specific_outpt":{"permission_decision":"deny"}}"#;

impl Fault {
    /// All faults.
    pub fn all() -> impl Iterator<Item = Self> {
        FAULTS.iter().map(|(fault, ..)| *fault)
    }

    /// The fault's name in tests and listings.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What the fault does, in words.
    pub fn describe(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        let found = FAULTS.iter().find(|(fault, ..)| *fault == self);
        found
            .map(|(_, name, words)| (*name, *words))
            .expect("the table has every fault")
    }

    /// Whether a handler can fail like this. A program cannot throw.
    pub fn concerns(self, info: &HandlerInfo) -> bool {
        let of_scripts = matches!(
            self,
            Self::Hang | Self::WrongTypes | Self::Misspelt | Self::Throws
        );
        match info.lane {
            crate::LaneKind::Command => self != Self::Throws,
            // A worker answers line by line and has no exit code of its own.
            crate::LaneKind::Worker => !matches!(self, Self::Throws | Self::MissingCommand),
            crate::LaneKind::Scheme | crate::LaneKind::Javascript => of_scripts,
            crate::LaneKind::Native => self == Self::Throws,
        }
    }

    /// The result of a program that fails like this.
    pub(crate) fn of_program(self, timeout: Duration) -> Result<Finished, Failure> {
        let wrote = |code, stdout: &str, stderr: &str| {
            Ok(Finished {
                stdout: stdout.as_bytes().to_vec(),
                stderr: stderr.into(),
                code,
                complete: true,
            })
        };
        let broke = |cause, detail: &str| Err(Failure::new(cause, detail));
        match self {
            Self::Missing => broke(Cause::NotFound, "a fault that is played"),
            Self::NotExecutable => broke(Cause::NotExecutable, "a fault that is played"),
            Self::Crash => wrote(1, "", "a fault that is played"),
            Self::MissingCommand => wrote(127, "", "sh: 1: jq: not found"),
            Self::Killed => broke(Cause::KilledBySignal, "signal 9"),
            Self::Hang => Err(Failure::timed_out(timeout)),
            Self::Chatter => wrote(0, "checking the call, all is well so far\n", ""),
            Self::HalfAnswer => wrote(0, r#"{"verdict": {"deny": "#, ""),
            Self::WrongTypes => wrote(0, WRONG_TYPES, ""),
            Self::Misspelt => wrote(0, MISSPELT, ""),
            Self::Flood => broke(Cause::OutputTooLarge, "a fault that is played"),
            Self::Throws => broke(Cause::Raised, "a fault that is played"),
        }
    }

    /// The result of a script function that fails like this.
    pub(crate) fn of_script(self) -> Result<Answered, Failure> {
        let said = |text: &str| {
            Ok(Answered {
                returned: Some(text.into()),
                changed: Vec::new(),
            })
        };
        match self {
            Self::WrongTypes => said(WRONG_TYPES),
            Self::Misspelt => said(MISSPELT),
            Self::Hang => Err(Failure::new(Cause::TimedOut, "a fault that is played")),
            _ => Err(self.of_part()),
        }
    }

    /// The failure of a part of becket itself.
    pub(crate) fn of_part(self) -> Failure {
        Failure::new(Cause::Raised, "a fault that is played")
    }
}

/// Records exchanges while a handler is asked.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<Exchange>>);

impl Notes {
    pub(crate) fn add(&self, exchange: Exchange) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(exchange);
    }

    pub(crate) fn taken(self) -> Vec<Exchange> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange {
    /// The exchange with a program: what it read, and its result.
    pub(crate) fn with_program(
        input: &str,
        environment: Vec<(String, String)>,
        result: &Result<Finished, Failure>,
    ) -> Self {
        let told = Self {
            input: input.to_owned(),
            environment,
            ..Self::default()
        };
        match result {
            Ok(finished) => Self {
                output: Some(String::from_utf8_lossy(&finished.stdout).into_owned()),
                exit_code: Some(finished.code),
                stderr: finished.stderr.clone(),
                ..told
            },
            Err(failure) => Self {
                output: (!failure.stdout.is_empty()).then(|| failure.stdout.clone()),
                stderr: failure.stderr.clone(),
                ..told
            },
        }
    }

    /// The exchange with a script function: its arguments, and what it returned and changed.
    pub(crate) fn with_script(fields: &[Field], result: &Result<Answered, Failure>) -> Self {
        let members = fields
            .iter()
            .map(|field| format!("{}:{}", quoted(field.name), field.json));
        let input = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let output = result.as_ref().ok().map(|answered| {
            let returned = answered.returned.clone().unwrap_or_else(|| "undefined".into());
            let changes = answered.changed.iter();
            let changes = changes.map(|(name, json)| format!("\nchanged {name}: {json}"));
            format!("{returned}{}", changes.collect::<String>())
        });
        Self {
            input,
            output,
            ..Self::default()
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_that_is_also_its_json() {
        let mut names = std::collections::BTreeSet::new();
        for fault in Fault::all() {
            let json = serde_json::to_value(fault).expect("a word");
            assert_eq!(json, fault.name());
            assert!(!fault.describe().is_empty());
            assert!(names.insert(fault.name()));
        }
        assert_eq!(names.len(), FAULTS.len());
    }
}
