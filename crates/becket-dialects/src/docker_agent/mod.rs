//! docker-agent: how it names what becket does, and its hooks.

mod hook;
mod output;
mod tools;

pub use hook::{Builtin, BuiltinCall, Builtins, HookEntry, HookKind, Judge, OnError, Owner, USUAL_TIMEOUT};
pub use output::Output;
pub use tools::profile;
