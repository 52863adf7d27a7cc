//! The scope that every event carries besides its own payload: where it happens, and for which agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PermissionMode;

/// Where an event happens. These fields stand beside the payload's own in what a handler receives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The session: one run of a context.
    pub session_id: String,
    /// The session that started this one as a sub-agent.
    pub parent_session_id: Option<String>,
    /// The named conversation.
    pub context_name: String,
    /// The agent at work.
    pub agent_name: String,
    /// The agents whose guards also apply to this agent: those above it that have asked it, outermost first, and those
    /// that have handed the conversation over to it.
    pub agents_above: Vec<String>,
    /// The model in use, as `provider/name`.
    pub model: String,
    /// The directory in which the agent works.
    pub cwd: String,
    /// The turn within the session, counted from 1; 0 outside of turns. Together with `session_id` it names a turn.
    pub turn: u32,
    /// What needs the user's approval, and what is refused without asking; null where another agent decides that.
    #[serde(default)]
    pub permission_mode: Option<PermissionMode>,
}

impl Scope {
    /// One field as a JSON value, for matchers.
    pub fn field(&self, name: &str) -> Option<serde_json::Value> {
        serde_json::to_value(self).ok()?.get(name).cloned()
    }
}
