//! The dialect of Gemini CLI: its hooks in settings files and extensions, and its names for tools.
//!
//! Read `rows.rs` first, the table of Gemini CLI's events. `sources.rs` finds files, `read.rs` reads hooks from them,
//! `show.rs` writes what a hook reads, with `response.rs` for the results of tools and `model.rs` for requests and
//! answers, `hear.rs` reads its answer, and `tools.rs` are the tools by its names. How such hooks are found, judged and
//! run is in `becket-hook-files`.
//!
//! Gemini CLI lets an action happen when a hook times out, dies, or says nothing with exit code 2. Here it does not. An
//! allow with an exit code that denies is a contradiction, and denies. Hooks that rewrite run one after another,
//! whether their file says `sequential` or not, and each sees the changes so far. What several hooks allow at
//! BeforeToolSelection is what all of them allow.
//!
//! Three answers cannot be carried out. Words in place of the model's, at BeforeModel, end the run with these words;
//! another model or configuration, and a tool that a hook wants to run after another, are only reported.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bridge;
mod calls;
mod dialect;
mod hear;
mod info;
mod model;
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
