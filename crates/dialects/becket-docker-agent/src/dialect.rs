//! What docker-agent is called, and when its hooks are asked.

use becket_hooks::Dialect;

/// The dialect of this crate.
pub const DIALECT: Dialect = Dialect {
    order: 60,
    name: "docker-agent",
};
