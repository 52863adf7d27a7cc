//! Codex's name as a dialect, and the position of its hooks among those of other dialects.

use becket_hooks::Dialect;

/// The dialect of this crate.
pub const DIALECT: Dialect = Dialect {
    order: 21,
    name: "codex",
    side_by_side: true,
};
