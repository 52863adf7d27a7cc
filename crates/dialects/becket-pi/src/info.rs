//! pi's entry in the list of all dialects.

use becket_dialect_kit::{DialectInfo, RowInfo};
use becket_hooks::Fault;

use super::dialect::DIALECT;
use super::profile;

/// The facts about pi that listings, checks and the reference use.
pub static INFO: DialectInfo = DialectInfo {
    absent_events: &[],
    dialect: DIALECT,
    profile,
    deciding: &["block"],
    tools: &[],
    rows,
    lets_through,
};

fn rows() -> Vec<RowInfo> {
    let rows = super::rows().into_iter();
    rows.map(|row| RowInfo {
        dialect: DIALECT.name,
        name: row.name(),
        event: row.event(),
        class: row.class(),
    })
    .collect()
}

fn lets_through(fault: Fault) -> Option<&'static str> {
    // In pi a handler that throws blocks, a truthy value counts as true, and a hanging handler is waited for.
    (fault == Fault::Misspelt).then_some("an unknown member counts as no answer")
}
