//! How pi is introduced to whatever goes over all dialects.

use becket_dialect_kit::{DialectInfo, RowInfo};
use becket_hooks::Fault;

use super::dialect::DIALECT;
use super::profile;

/// What listings, checks and the reference ask for.
pub static INFO: DialectInfo = DialectInfo {
    dialect: DIALECT,
    profile,
    deciding: &["block"],
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
    // What is thrown blocks, a value in the place of true counts as true, and one that hangs is waited for.
    (fault == Fault::Misspelt).then_some("a member that nobody knows is taken for silence")
}
