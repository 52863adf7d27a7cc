//! What the faces of becket have in common: the command line, the chat and the agent of an editor.
//!
//! Start with `conversation.rs`: a session of `becket-run`, opened for a user, and where its answers are shown.
//! `options.rs` is what a face is asked for, `running.rs` the runtime and the signals of a command, `ending.rs` how an
//! end is told. `reports.rs` is what a conversation says about itself, `shell.rs` runs the user's own commands,
//! and `slash.rs` names the slash commands that faces share.
//!
//! This crate does not know how a user says what to do: no command line, no keys, no protocol.

mod conversation;
mod ending;
mod given;
mod options;
mod reports;
mod running;
#[cfg(feature = "mcp")]
pub mod servers;
mod shell;
pub mod slash;

pub use conversation::{Conversation, caller, client, on_ready, person};
pub use ending::{conclude, conclude_summary, remark_on, unless_lost};
pub use options::{LentRuntime, Options, RunMode};
pub use reports::{
    HookCounts, Report, dollars, folder, known_models, spent, spent_on, thinking_level, window,
};
pub use running::{cancellable, listening, progress, runtime};
pub use shell::Shell;
