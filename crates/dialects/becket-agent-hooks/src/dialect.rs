//! The dialect's name and its place in the order of hooks.

use becket_hooks::Dialect;

/// AGENT-HOOKS, the last in the order: its interceptors judge what hooks of all other systems have left.
pub const DIALECT: Dialect = Dialect {
    order: 89,
    name: "agent-hooks",
    side_by_side: false,
};
