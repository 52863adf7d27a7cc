//! docker-agent: how it names what becket does, and its hooks.
//!
//! Read `rows.rs` first: the table of its events. `config.rs` reads hooks from files, `run.rs` makes handlers of them,
//! `show.rs` and `messages.rs` write what they read, `protocol.rs` and `output.rs` read what they print, and `read.rs`
//! says what that means.

mod builtin;
mod call;
mod config;
mod contract;
mod expand;
mod hook;
mod judge;
mod messages;
mod output;
mod protocol;
mod read;
mod results;
mod rows;
mod run;
mod runtime_events;
mod show;
mod sources;
mod template;
mod tools;
mod words;

pub use call::Moment;
pub use config::HooksConfig;
pub use contract::{ABSENT_EVENTS, Block, Contract, Permission, Plain};
pub use hook::{Builtin, BuiltinCall, Builtins, HookEntry, HookKind, Judge, OnError, Owner, USUAL_TIMEOUT};
pub use output::Output;
pub use rows::{ABSENT, contracts, register};
pub use run::HookHost;
pub use runtime_events::{UNTOLD_RUNTIME_EVENTS, is_runtime_event, runtime_event_types, runtime_events};
pub use sources::{
    CONFIG_VARIABLES, HookFlag, PersonsSettings, config_folder, drop_in_folder, is_drop_in, read_drop_in,
    settings_file,
};
pub use template::Template;
pub use tools::{profile, toolset_tools};

#[cfg(test)]
mod tests;
