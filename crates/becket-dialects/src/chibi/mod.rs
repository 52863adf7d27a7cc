//! chibi: how it names what becket does, and how its plugins are spoken to.
//!
//! `hooks.rs` is the table of its hooks, `show.rs` and `read.rs` are their two directions, `words.rs` turns tool calls
//! into the words that plugins know. `tools.rs` is the tool profile, with `edit.rs` for its one call that needs more
//! than other names, and `results.rs` for how results read; `generations.rs` says how its older names differ.

mod answer;
mod edit;
mod generations;
mod hooks;
mod plugin;
mod read;
mod results;
mod show;
mod tools;
#[cfg(test)]
mod translation;
mod words;

pub use generations::{older_name, operation_of_older_name, profile_of, tool_type};
pub use hooks::{ABSENT, Hook, hook_named, hooks, register};
pub use plugin::{Generation, Host, Plugin, PluginTool};
pub use tools::profile;
