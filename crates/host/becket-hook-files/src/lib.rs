//! Hooks that other agents keep in JSON files: read, judged, run and heard. This crate names no foreign system.
//!
//! A dialect describes its system as data (`system.rs`): where its files are, its events, what a hook reads and what
//! its answer means; `row.rs` is one of its events with becket's types. Everything else is the same for all of them.
//! `entry.rs` is a hook as such files write it, `text.rs` and `levels.rs` read a file, `comments.rs` takes comments out
//! of one, `matching.rs` and `condition.rs` decide which calls a hook is for, `host.rs` finds files and judges those of
//! a project, `handler.rs` runs a hook, `members.rs` reads what it printed, `stderr.rs` finds the error in its
//! complaint,
//! `answer.rs` is what it has said and `replies.rs` what that means at each event. `transcript.rs` writes the
//! conversation into a file for hooks,
//! `found_text.rs` finds agents and skills whose hooks are active while they are used (`guest_text.rs`),
//! `long_text.rs` keeps texts that are too long for a conversation in files,
//! `env_file.rs` reads the variables that hooks write into one, `late.rs` keeps what hooks in the background say,
//! `leaving.rs` runs programs that go into the background by their own words,
//! `prompt_ids.rs` counts prompts, `requests.rs` keeps what a model was asked, `status_line.rs` shows what the user is
//! told while a hook runs,
//! `check.rs` and `mistakes.rs` find what is wrong before anything runs.
//! `model.rs` asks a model in place of a program (`turn.rs`), with `inspection.rs` for one that may look at files,
//! `web.rs` an address, `server_tool.rs` a tool of an MCP server; `rules.rs` are permission rules, and
//! `rule_patterns.rs` is what they are about. `bridging.rs` is the other direction: such an agent asks becket.
//!
//! Such systems let an action happen when a hook breaks. Here a guard that is missing, times out, dies by a signal or
//! prints garbage refuses. The one exception: a process that ends by itself with a code that its system calls an error
//! does not refuse, because many scripts end like that when they have no opinion. Each time is reported, and
//! `strict = true` in `[dialects]` makes it a refusal too.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answer;
mod bridging;
mod check;
mod comments;
mod condition;
mod entry;
mod env_file;
mod expansion;
mod facts;
mod found_text;
mod guest_text;
mod handler;
mod host;
mod input;
mod inspection;
mod late;
mod leaving;
mod levels;
mod long_text;
mod matching;
mod members;
mod mistakes;
mod model;
mod places;
mod prompt_ids;
mod replies;
mod requests;
mod row;
mod rule_patterns;
mod rules;
mod server_tool;
mod servers;
mod status_line;
mod stderr;
mod system;
mod text;
mod transcript;
mod turn;
mod web;

pub use answer::{Decision, HookAnswer};
pub use bridging::{
    BridgeCommand, CLIENT, HostWords, OTHERWISE_EXIT, OTHERWISE_JSON, bridge_command, is_bridge_command,
    patch_parts, server_of, where_true,
};
pub use comments::without_comments;
pub use condition::{Condition, Roots, normalised};
pub use entry::{
    Action, Background, Dropped, HookEntry, Owner, Plugin, Reading, ServerEntry, Source, WhileUsed,
    server_entries,
};
pub use env_file::EnvFile;
pub use facts::Facts;
pub use guest_text::{GuestText, ReadText, TextKind};
pub use host::FileHost;
pub use input::Input;
pub use levels::{Level, levels};
pub use matching::NameMatcher;
pub use members::Members;
pub use model::ask_model;
pub use places::{files_of_plugin, json_files, manifest, missing_of_plugin, project_folders};
pub use prompt_ids::PromptIds;
pub use replies::*;
pub use requests::Requests;
pub use row::{RowOf, row};
pub use rule_patterns::{
    CHANGES, RuleKind, command_pattern, commands, fetches, fetches_of, file_calls, is_name, path_pattern,
    tool_of_server,
};
pub use rules::{Argument, ForeignRule, RuleLists, RuledCalls, RuledTool, rule_parts, rule_texts};
pub use stderr::{error_line, unfinished};
pub use system::{Block, Contract, HookRow, LeastTime, Plain, System};
pub use text::{is_markdown, value_of};
