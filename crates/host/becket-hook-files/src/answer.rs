//! What a hook has said, whatever its system calls it.

use std::collections::BTreeMap;

use becket_events::{PermissionMode, SessionRule};
use becket_host::TerminalSignal;
use serde_json::{Map, Value};

/// What a hook has said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookAnswer {
    /// Why the hook blocks, if it does. What that means is for the event to say.
    pub block: Option<String>,
    /// The hook's decision about a call.
    pub decision: Option<Decision>,
    /// The reason of the decision.
    pub reason: Option<String>,
    /// All arguments of the call, in the system's own terms.
    pub arguments: Option<Map<String, Value>>,
    /// The output of the call, in the system's own terms.
    pub output: Option<Value>,
    /// Text for the model.
    pub context: Vec<String>,
    /// Lines for the user.
    pub notice: Vec<String>,
    /// What the hook asks for and becket does not do, each in words behind "wanted".
    pub unserved: Vec<String>,
    /// What the terminal is to do.
    pub signals: Vec<TerminalSignal>,
    /// Why the run must end.
    pub halt: Option<String>,
    /// What went wrong, if the hook's own system would go on.
    pub error: Option<String>,
    /// Whether the hook said nothing, where its system takes silence for a failure if the file says that failures
    /// refuse.
    pub is_silent: bool,
    /// Variables for all later hooks of the session.
    pub env: BTreeMap<String, String>,
    /// A name for the conversation.
    pub title: Option<String>,
    /// Permission rules for the rest of the session, as a file of the system holds them.
    pub permissions: Option<Value>,
    /// The same rules in becket's words.
    pub rules: Vec<SessionRule>,
    /// The permission mode for later calls.
    pub mode: Option<PermissionMode>,
    /// Whether the conversation is to begin anew.
    pub clears: bool,
    /// A prompt that runs before the user's first one.
    pub first_prompt: Option<String>,
    /// How often the hook may make the model go on, if its file says so.
    pub loop_limit: Option<u32>,
}

/// A decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The call may run, and nobody is asked.
    Allow,
    /// The user is asked.
    Ask,
    /// The user is asked at a terminal; `--yes` is no answer.
    Insist,
    /// The call must not run.
    Deny,
}

/// Words for a decision in any system, and those that are true or false.
const DECISIONS: [&str; 4] = ["decision", "permission", "permissionDecision", "behavior"];
const TRUTHS: [&str; 4] = ["ok", "allow", "allowed", "approved"];

/// The member by which an answer says no in words of some system. A guard that uses those of another one means it.
pub fn foreign_no(stdout: &[u8]) -> Option<&'static str> {
    let said: Map<String, Value> = serde_json::from_slice(stdout.trim_ascii()).ok()?;
    // Some systems put what an event is answered into a member of its own.
    let below = said.values().filter_map(Value::as_object);
    std::iter::once(&said).chain(below).find_map(|members| {
        let is_no = |key: &&str| {
            let word = members.get(*key).and_then(Value::as_str);
            word.is_some_and(|word| ["deny", "block", "reject"].contains(&word.to_ascii_lowercase().as_str()))
        };
        let is_false = |key: &&str| members.get(*key) == Some(&Value::Bool(false));
        let word = DECISIONS.iter().find(|key| is_no(key));
        word.or_else(|| TRUTHS.iter().find(|key| is_false(key))).copied()
    })
}

impl HookAnswer {
    /// Whether the hook blocks, decides or ends the run.
    pub fn says_something(&self) -> bool {
        self.block.is_some() || self.decision.is_some() || self.halt.is_some()
    }

    /// All that the user is told.
    pub fn lines(&self) -> Vec<String> {
        let unserved = self.unserved.iter();
        let unserved = unserved.map(|words| format!("a hook wanted {words}"));
        self.notice.iter().cloned().chain(unserved).collect()
    }

    /// An answer with nothing but text for the model.
    pub fn context(text: impl Into<String>) -> Self {
        Self {
            context: vec![text.into()],
            ..Self::default()
        }
    }

    /// An answer that blocks.
    pub fn blocking(reason: impl Into<String>) -> Self {
        Self {
            block: Some(reason.into()),
            ..Self::default()
        }
    }

    /// An answer of a hook that went wrong where its own system goes on.
    pub fn error(what: impl Into<String>) -> Self {
        Self {
            error: Some(what.into()),
            ..Self::default()
        }
    }
}
