//! What docker-agent promises about each of its events: the part of a row that is plain data.

use becket_events::{Class, EventId};

/// What an event is, and what a hook may answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// docker-agent's name of it.
    pub name: &'static str,
    /// becket's event behind it.
    pub event: EventId,
    /// What a broken hook means, unless its `on_error` says otherwise. It cannot loosen a guard.
    pub class: Class,
    /// Whether hooks choose tools by `matcher`.
    pub matcher: bool,
    /// What exit code 2, `decision: block` and `continue: false` do.
    pub block: Block,
    /// What `permission_decision` does.
    pub permission: Permission,
    /// Whether `additional_context` reaches the model.
    pub context: bool,
    /// What becomes of output that is no JSON.
    pub plain: Plain,
    /// Other fields of `hook_specific_output` that mean something.
    pub fields: &'static [&'static str],
}

/// What a block does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// Nothing.
    Nothing,
    /// What was about to happen does not.
    Refuses,
    /// The run ends.
    EndsRun,
    /// The model must go on.
    GoesOn,
}

/// What `permission_decision` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Nothing.
    Nothing,
    /// `deny` refuses, as a block does; the other words mean nothing.
    Refuses,
    /// It is a verdict.
    Judges,
}

/// What becomes of output that is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// The model sees it.
    Context,
    /// The person sees it.
    Shown,
    /// Nobody sees it.
    Dropped,
}

impl Contract {
    /// Whether a hook can block.
    pub fn can_block(&self) -> bool {
        self.block != Block::Nothing
    }

    /// Whether a field of the output means something here; by its name in snake_case.
    pub fn means(&self, field: &str) -> bool {
        match field {
            "suppress_output" | "system_message" => true,
            "continue" | "stop_reason" | "decision" | "reason" => self.can_block(),
            "permission_decision" | "permission_decision_reason" => self.permission != Permission::Nothing,
            "additional_context" => self.context,
            other => self.fields.contains(&other),
        }
    }
}

/// The events of docker-agent's that never happen here, and why.
pub const ABSENT_EVENTS: &[(&str, &str)] = &[("worktree_create", "becket makes no worktrees")];
