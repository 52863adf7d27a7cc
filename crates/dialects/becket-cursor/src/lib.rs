//! The dialect of Cursor: its hooks in `hooks.json` files and plugins, and its names for tools.
//!
//! Read `rows.rs` first, the table of Cursor's events. `sources.rs` finds files, `read.rs` reads hooks from them,
//! `show.rs` writes what a hook reads, with `response.rs` for the results of tools and `content.rs` for the content of
//! files, `hear.rs` reads its answer, and `tools.rs` are the tools by its names. How such hooks are found, judged and
//! run is in `becket-hook-files`.
//!
//! Cursor ignores a hook that times out or dies unless its entry says `failClosed`. Here a guard that does so refuses
//! in any case; `failClosed` also makes a refusal of an error code and of silence. A file with one mistake is none for
//! Cursor. Here each of its entries is reported, and no run starts beside one that may have been a guard. An ask of
//! preToolUse, which Cursor does not enforce, asks.
//!
//! Cursor also reads settings of another agent. becket reads them by themselves, so they are left out here; so are
//! hooks that a dashboard distributes.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bridge;
mod calls;
mod content;
mod dialect;
mod hear;
mod info;
mod read;
mod response;
mod rows;
mod rules;
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
