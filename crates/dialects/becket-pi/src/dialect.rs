//! What pi is called, and when its hooks are asked.

use becket_hooks::Dialect;

/// The dialect of this crate.
pub const DIALECT: Dialect = Dialect {
    order: 80,
    name: "pi",
};
