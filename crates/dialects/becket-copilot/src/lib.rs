//! The dialect of GitHub Copilot: its hooks in files of their own, in settings and in plugins, and its names for tools.
//!
//! Read `rows.rs` first, the table of Copilot's events. Most of them have two names, and the name that a file uses
//! decides what its hook reads (`naming.rs`): `preToolUse` has members such as `toolName`, `PreToolUse` such as
//! `tool_name`. `sources.rs` finds files, `read.rs` reads hooks from them, `show.rs` writes what a hook reads, with
//! `response.rs` for the results of tools, `hear.rs` reads its answer, and `tools.rs` are the tools by its names. How
//! such hooks are found, judged and run is in `becket-hook-files`.
//!
//! Copilot lets a call happen if the hook before it takes too long or an address does not answer. Here such a guard
//! refuses, like one that crashes, which refuses in Copilot too.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bridge;
mod calls;
mod dialect;
mod hear;
mod info;
mod naming;
mod read;
mod response;
mod rows;
mod show;
mod sources;
mod system;
mod tools;

pub use bridge::BRIDGE;
pub use dialect::DIALECT;
pub use info::INFO;
pub use rows::ABSENT_EVENTS;
pub use system::{HOST, SYSTEM};
pub use tools::profile;

#[cfg(test)]
mod tests;
