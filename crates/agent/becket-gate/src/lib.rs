//! The gate: decides which tool calls may run, and is the only maker of permits.
//!
//! Reading order: `gate.rs` judges a call, and `gate/permit.rs` is the proof that it passed; `rules.rs` and
//! `stored_rule.rs` are what the user has allowed and forbidden, `command_files.rs` finds the files that commands name;
//! `url_policy.rs` decides what tools may connect to;
//! `judged_path.rs` and `resolve.rs` open files exactly as they were judged; `vfs.rs` is the virtual file system with
//! its zones, `flocks.rs` groups the contexts that share a zone, and `cache.rs` keeps large outputs there; `audit.rs`
//! records the decisions; `hooks.rs` asks hooks in a session's name; `shared_mode.rs` is the permission mode of a run,
//! and `gate/modes.rs` what it changes; `arguments.rs` is what was asked for and what was judged; `question.rs` and
//! `called_tool.rs` are the traits of the user and of the tools that are judged.
//!
//! This crate knows no session, no model, no store and no terminal, and it runs no tool.

pub mod arguments;
pub mod audit;
pub mod cache;
pub mod called_tool;
pub mod clock;
mod command_files;
pub mod flocks;
pub mod gate;
mod hooks;
pub mod judged_path;
pub mod question;
mod resolve;
mod rules;
mod shared_mode;
pub mod stored_rule;
pub mod url_policy;
pub mod vfs;

pub use command_files::{FILES_CHANGED, FILES_READ};
pub use hooks::Hooks;
pub use rules::{ArgumentRule, ListedRule, RuleOrigin, RuleVerdict, RuledCall, Rules, ToolRule};
pub use shared_mode::SharedMode;
