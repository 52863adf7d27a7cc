//! chibi: how it names what becket does, and how its plugins are spoken to.
//!
//! `hooks.rs` is the table of its hooks, `show.rs` and `read.rs` are their two directions, `words.rs` turns tool calls
//! into the words that plugins know. `tools.rs` is the tool profile.

mod answer;
mod hooks;
mod plugin;
mod read;
mod show;
mod tools;
#[cfg(test)]
mod translation;
mod words;

pub use hooks::{ABSENT, Hook, hook_named, hooks, register};
pub use plugin::{Generation, Host, Plugin, PluginTool};
pub use tools::profile;
