//! Copilot's entry in the list of all dialects.

use becket_dialect_kit::DialectInfo;
use becket_hooks::Fault;

use crate::dialect::DIALECT;
use crate::system::SYSTEM;
use crate::tools::profile;

/// The facts about Copilot that listings, checks and the reference use.
pub static INFO: DialectInfo = DialectInfo {
    absent_events: crate::rows::ABSENT_EVENTS,
    dialect: DIALECT,
    profile,
    deciding: &["permissionDecision", "behavior", "decision"],
    tools: &[],
    rows: || SYSTEM.row_infos(),
    lets_through,
};

fn lets_through(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Missing | Fault::NotExecutable | Fault::Crash | Fault::MissingCommand | Fault::Killed => None,
        Fault::Chatter | Fault::HalfAnswer | Fault::WrongTypes | Fault::Flood | Fault::Misspelt => {
            Some("an unreadable answer counts as none, and the action continues")
        }
        Fault::Hang => Some("a hook that takes too long is ended, and the action continues"),
        Fault::Throws => None,
    }
}
