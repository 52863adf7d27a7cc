//! Gemini CLI's entry in the list of all dialects.

use becket_dialect_kit::DialectInfo;
use becket_hooks::Fault;

use crate::dialect::DIALECT;
use crate::system::SYSTEM;
use crate::tools::profile;

/// The facts about Gemini CLI that listings, checks and the reference use.
pub static INFO: DialectInfo = DialectInfo {
    absent_events: crate::rows::ABSENT_EVENTS,
    dialect: DIALECT,
    profile,
    deciding: &["decision", "continue"],
    tools: &[],
    rows: || SYSTEM.row_infos(),
    lets_through,
};

fn lets_through(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Crash => Some("exit code 1 is a warning, and silence is an allow"),
        Fault::Killed => Some("a program that was ended by a signal counts as successful"),
        Fault::Chatter | Fault::HalfAnswer => Some("text that is not JSON is a message for the user"),
        Fault::WrongTypes | Fault::Misspelt => Some("an answer is not checked, and no decision is an allow"),
        Fault::Hang | Fault::Flood => Some("a hook that takes too long is ended, and the action continues"),
        // The shell says so on standard error, and text with such an exit code denies.
        Fault::Missing | Fault::NotExecutable | Fault::MissingCommand | Fault::Throws => None,
    }
}
