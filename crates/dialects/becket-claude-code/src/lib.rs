//! The dialect of Claude Code: its hooks in settings files and plugins, and its names for tools.
//!
//! Read `rows.rs` first, the table of Claude Code's events. `sources.rs` finds files, `read.rs` reads hooks from them,
//! `rules.rs` permission rules, `show.rs` writes what a hook reads, with `response.rs` for the results of tools,
//! `hear.rs` reads its answer, and `tools.rs` are the tools by its names. How such hooks are found, judged and run is
//! in `becket-hook-files`.
//!
//! Claude Code folds answers in the order in which hooks finish. Here the order is that of the files, which no script
//! can tell apart. A hook that asks to defer a call asks the user, because there is no one to resume a run later.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bridge;
mod calls;
mod dialect;
mod hear;
mod info;
mod permissions;
mod read;
mod response;
mod rows;
mod rules;
mod show;
mod sources;
mod system;
mod texts;
mod tools;

pub use bridge::BRIDGE;
pub use dialect::DIALECT;
pub use info::INFO;
pub use rows::ABSENT_EVENTS;
pub use system::{HOST, SYSTEM};
pub use tools::profile;

#[cfg(test)]
mod tests;
