//! Copilot's name as a dialect, and the position of its hooks among those of other dialects.

use becket_hooks::Dialect;

/// The dialect of this crate.
pub const DIALECT: Dialect = Dialect {
    order: 24,
    name: "copilot",
    side_by_side: false,
};
