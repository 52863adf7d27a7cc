//! becket as the agent of an editor: the Agent Client Protocol, version 1, over standard input and output.
//!
//! The types of the protocol are those of its own schema crate. The messages around them are written here
//! (`wire.rs`), and not taken from the protocol's SDK: a session of becket stays on one thread, which the SDK's
//! handlers may not, and JSON-RPC over lines is less code than the adapter would be.
//!
//! Reading order: `server.rs` reads requests and has the table of methods; `session.rs` is a session as the server sees
//! it, `worker.rs` does its work one after another, `turn.rs` is one prompt, and `turns.rs` those that wait. What
//! happens in a session the editor gets as updates (`updates.rs`, `tool_calls.rs`, `plan.rs`), and it is asked in
//! `permission.rs` and `dialogs.rs`. `prompt.rs` reads prompts, `commands.rs` has the slash commands, `settings.rs` the
//! modes and models, `servers.rs` the MCP servers that the editor hands over, `stored.rs` lists stored conversations
//! and replays them.
//!
//! Files are read and written on the disk, also where an editor offers to do it. What a guard has judged and the user
//! has seen is the file on the disk, checkpoints and the record are about it, and a buffer of the editor may change
//! between the yes and the write.
//!
//! This crate does not know the command line, and no terminal: an editor is all that it has.

mod commands;
mod dialogs;
mod permission;
mod plan;
mod prompt;
mod server;
mod servers;
mod session;
mod settings;
mod shown;
mod stored;
mod tool_calls;
mod turn;
mod turns;
mod updates;
mod wire;
mod worker;

pub use server::{read_prompt, serve};
