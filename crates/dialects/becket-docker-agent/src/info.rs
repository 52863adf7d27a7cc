//! docker-agent's entry in the list of all dialects.

use becket_dialect_kit::{DialectInfo, RowInfo};
use becket_hooks::Fault;

use super::dialect::DIALECT;
use super::output::DECIDING;
use super::{contracts, profile};

/// The facts about docker-agent that listings, checks and the reference use.
pub static INFO: DialectInfo = DialectInfo {
    absent_events: crate::contract::ABSENT_EVENTS,
    dialect: DIALECT,
    profile,
    deciding: DECIDING,
    tools: &[],
    rows,
    lets_through,
};

fn rows() -> Vec<RowInfo> {
    let contracts = contracts().into_iter();
    contracts
        .map(|contract| RowInfo {
            dialect: DIALECT.name,
            name: contract.name,
            event: contract.event,
            class: contract.class,
        })
        .collect()
}

fn lets_through(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::Missing | Fault::NotExecutable | Fault::Crash | Fault::MissingCommand | Fault::Killed => {
            Some("an exit code other than 2 counts as no answer")
        }
        Fault::Chatter | Fault::HalfAnswer | Fault::WrongTypes | Fault::Flood => {
            Some("what is no answer is taken for plain text")
        }
        Fault::Misspelt => Some("an unknown key counts as no answer"),
        Fault::Hang | Fault::Throws => None,
    }
}
