//! The dialect of docker-agent: its names for becket's events and tools, its hooks, and its agent files.
//!
//! Read `rows.rs` first, the table of docker-agent's events. `config.rs` reads hooks from files, `run.rs` makes
//! handlers of them, `show.rs`, `input.rs` and `messages.rs` write their input, `protocol.rs` and `output.rs` read
//! their output, and `read.rs` turns it into a reply.
//!
//! Agent files are in `file/`, with their rules in `permissions.rs` and the texts of their commands in
//! `command_text.rs`; `team.rs` runs one. `found.rs` finds the hooks that count without an agent file.
//!
//! docker-agent's versions differ in what a hook means. Here a hook means what the documentation promises, with the
//! safety of the newest version: `updated_input` patches the arguments instead of replacing them, every exit code but 0
//! and 2 is a failure, and answers are read in both spellings of their keys.
//!
//! After a rewrite only guards are asked once more. Other hooks that can block are asked once for each event, as their
//! authors expect.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod budget;
mod builtin;
mod call;
mod check;
mod command_line;
mod command_text;
mod config;
mod contract;
mod dialect;
mod event_commands;
mod expand;
mod fence;
mod file;
mod found;
mod hook;
mod host;
mod info;
mod input;
mod judge;
mod messages;
mod model_judge;
mod models_in_turn;
mod named_fields;
mod output;
mod permissions;
mod program_builtins;
mod protocol;
mod read;
mod results;
mod row;
mod rows;
mod rules;
mod run;
mod run_options;
mod runtime_events;
mod shell_safety;
mod show;
mod sources;
mod team;
mod template;
mod tools;
mod toolsets;
mod words;
mod worktree;

pub use call::Moment;
pub use command_line::CLI;
pub use command_text::{command_prompt, with_variables};
pub use config::HooksConfig;
pub use contract::{ABSENT_EVENTS, Block, Contract, Permission, Plain};
pub use dialect::DIALECT;
pub use event_commands::{EventCommand, EventCommands};
pub use fence::Domain;
pub use file::{
    AgentDefinition, AgentFile, Budget, CommandDefinition, Fence, Interface, McpDefinition, McpReach,
    ModelDefinition, Permissions, Safety, Sampling, ScriptDefinition, Toolset, ToolsetKind, provider_keys,
};
pub use found::{DockerAgentConfig, Sources};
pub use hook::{Builtin, BuiltinCall, Builtins, HookEntry, HookKind, Judge, OnError, Owner, USUAL_TIMEOUT};
pub use host::DockerAgentHost;
pub use info::INFO;
pub use model_judge::ModelJudge;
#[doc(hidden)]
pub use named_fields::{meaningless_fields, rewriting_fields, troubles_of_answer};
pub use output::Output;
pub use permissions::{
    MissingTool, OtherTools, RuleKind, TranslatedRule, idle_matcher, missing_tool, translate_rule,
};
pub use rows::{contracts, register};
pub use rules::ForeignRules;
pub use run::HookHost;
pub use runtime_events::{UNTOLD_RUNTIME_EVENTS, is_runtime_event, runtime_event_types, runtime_events};
pub use sources::{
    CONFIG_VARIABLES, FileKind, HOOK_FILE, HookFlag, PersonsSettings, config_folder, drop_in_folder,
    is_drop_in, read_drop_in, settings_file,
};
pub use team::{AgentFileChoice, TeamFile, TeamServer};
pub use template::Template;
pub use tools::{profile, tool_names, toolset_tools};

/// Whether a text is the verdict of a model. Public only for its fuzz target.
#[doc(hidden)]
pub fn is_verdict(text: &str) -> bool {
    judge::verdict(text).is_ok()
}

#[cfg(test)]
mod tests;
