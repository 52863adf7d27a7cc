//! chibi's entry in the list of all dialects.

use becket_dialect_kit::{DialectInfo, RowInfo};
use becket_hooks::Fault;

use super::dialect::DIALECT;
use super::{hooks, profile};

/// The tool that evaluates Scheme comes with the engine for it.
const TOOLS: &[&str] = if cfg!(feature = "scheme") {
    &[crate::scheme::EVAL_TOOL]
} else {
    &[]
};

/// The facts about chibi that listings, checks and the reference use.
pub static INFO: DialectInfo = DialectInfo {
    absent_events: &[],
    dialect: DIALECT,
    profile,
    deciding: &["block", "denied", "approved"],
    tools: TOOLS,
    rows,
    lets_through,
};

fn rows() -> Vec<RowInfo> {
    let hooks = hooks().into_iter();
    hooks
        .map(|hook| RowInfo {
            dialect: DIALECT.name,
            name: hook.name(),
            event: hook.event(),
            class: hook.class(),
        })
        .collect()
}

fn lets_through(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Crash | Fault::MissingCommand | Fault::Killed => {
            Some("a plugin that fails is taken for one that says nothing")
        }
        Fault::Chatter | Fault::HalfAnswer | Fault::WrongTypes | Fault::Misspelt | Fault::Flood => {
            Some("an unreadable answer counts as no answer")
        }
        // A plugin that cannot be started, or not in time, ends the whole prompt in chibi.
        Fault::Missing | Fault::NotExecutable | Fault::Hang | Fault::Throws => None,
    }
}
