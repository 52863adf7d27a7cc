//! How chibi is introduced to whatever goes over all dialects.

use becket_dialect_kit::{DialectInfo, RowInfo};
use becket_hooks::Fault;

use super::dialect::DIALECT;
use super::{hooks, profile};

/// What listings, checks and the reference ask for.
pub static INFO: DialectInfo = DialectInfo {
    dialect: DIALECT,
    profile,
    deciding: &["block", "denied", "approved"],
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
            Some("an answer that cannot be read is taken for silence")
        }
        // It cannot be started, or not in time: the whole prompt ends there.
        Fault::Missing | Fault::NotExecutable | Fault::Hang | Fault::Throws => None,
    }
}
