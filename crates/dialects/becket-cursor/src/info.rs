//! Cursor's entry in the list of all dialects.

use becket_dialect_kit::DialectInfo;
use becket_hooks::Fault;

use crate::dialect::DIALECT;
use crate::system::SYSTEM;
use crate::tools::profile;

/// The facts about Cursor that listings, checks and the reference use.
pub static INFO: DialectInfo = DialectInfo {
    absent_events: crate::rows::ABSENT_EVENTS,
    dialect: DIALECT,
    profile,
    deciding: &["permission", "continue"],
    tools: &[],
    rows: || SYSTEM.row_infos(),
    lets_through,
};

fn lets_through(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Missing | Fault::NotExecutable | Fault::Crash | Fault::MissingCommand | Fault::Killed => {
            Some("an exit code other than 2 is ignored, unless the entry says `failClosed`")
        }
        Fault::Hang | Fault::Flood => {
            Some("a hook that takes too long is ignored, unless the entry says `failClosed`")
        }
        Fault::Misspelt => Some("an answer without a permission is no opinion"),
        // Cursor blocks for safety what it cannot read.
        Fault::Chatter | Fault::HalfAnswer | Fault::WrongTypes | Fault::Throws => None,
    }
}
