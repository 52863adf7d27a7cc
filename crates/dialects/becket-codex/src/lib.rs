//! The dialect of Codex: its hooks in `hooks.json`, in `config.toml` and in plugins, and its names for tools.
//!
//! Read `rows.rs` first, the table of Codex's events. `sources.rs` finds files, `read.rs` reads hooks from them and
//! `state.rs` what the user has told Codex about single hooks. `show.rs` writes what a hook reads, `hear.rs` reads its
//! answer. `tools.rs` are the tools by its names, with `patch.rs` for the format in which it changes files and
//! `commands.rs` for what it does with the shell alone. How such hooks are found, judged and run is in
//! `becket-hook-files`.
//!
//! Codex is strict with answers: one member too many, and nothing of an answer counts. It lets the action happen then;
//! here the answer of a guard that cannot be read refuses. Of several hooks that rewrite a call, the last one to finish
//! wins in Codex. Here each sees the rewrite of the one before it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bridge;
mod calls;
mod commands;
mod dialect;
mod hear;
mod info;
mod read;
mod response;
mod rows;
mod show;
mod sources;
mod state;
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
