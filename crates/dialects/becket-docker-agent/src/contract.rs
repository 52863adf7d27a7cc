//! docker-agent's promises about each of its events: the part of a row that is plain data.

use becket_events::{Class, EventId};

/// An event of docker-agent, and the answers that a hook may give to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// docker-agent's name of the event.
    pub name: &'static str,
    /// becket's event behind it.
    pub event: EventId,
    /// What a broken hook means, unless its `on_error` says otherwise, which cannot loosen a guard.
    pub class: Class,
    /// Whether hooks choose tools by `matcher`.
    pub matcher: bool,
    /// The effect of exit code 2, `decision: block` and `continue: false`.
    pub block: Block,
    /// The effect of `permission_decision`.
    pub permission: Permission,
    /// Whether `additional_context` reaches the model.
    pub context: bool,
    /// The use of output that is not JSON.
    pub plain: Plain,
    /// Other fields of `hook_specific_output` that have an effect.
    pub fields: &'static [&'static str],
}

/// The effect of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// A block has no effect.
    Nothing,
    /// A block refuses the action.
    Refuses,
    /// A block ends the run.
    EndsRun,
    /// A block makes the model go on.
    GoesOn,
}

/// The effect of `permission_decision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// `permission_decision` has no effect.
    Nothing,
    /// `deny` refuses, as a block does; the other words have no effect.
    Refuses,
    /// `permission_decision` is a verdict.
    Judges,
}

/// The use of output that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// The model sees plain output.
    Context,
    /// The user sees plain output.
    Shown,
    /// Plain output is dropped.
    Dropped,
}

impl Contract {
    /// Whether a hook of this event can block.
    pub fn can_block(&self) -> bool {
        self.block != Block::Nothing
    }

    /// Whether a hook of this event can neither refuse nor change anything.
    pub fn only_observes(&self) -> bool {
        !self.can_block() && self.permission == Permission::Nothing && self.fields.is_empty()
    }

    /// Whether a field of the output, named in snake_case, has an effect at this event.
    pub fn means(&self, field: &str) -> bool {
        match field {
            "suppress_output" | "system_message" => true,
            "continue" | "stop_reason" | "decision" | "reason" => self.can_block(),
            "permission_decision" | "permission_decision_reason" => self.permission != Permission::Nothing,
            "additional_context" | "instruction_context" => self.context,
            other => self.fields.contains(&other),
        }
    }
}

/// `worktree_create`, which happens before a session, and so before any of becket's events: the command line asks its
/// hooks.
pub const WORKTREE_CREATE: Contract = Contract {
    name: "worktree_create",
    event: EventId::SessionStart,
    class: Class::Transform,
    matcher: false,
    block: Block::Refuses,
    permission: Permission::Nothing,
    context: true,
    plain: Plain::Context,
    fields: &[],
};

/// The events of docker-agent that have no event of becket behind them, and why.
pub const ABSENT_EVENTS: &[(&str, &str)] = &[(
    "worktree_create",
    "it happens before the session, when `--worktree` makes one",
)];
