//! docker-agent: how it names what becket does, its hooks, and its agent files.
//!
//! Read `rows.rs` first: the table of its events. `config.rs` reads hooks from files, `run.rs` makes handlers of them,
//! `show.rs` and `messages.rs` write what they read, `protocol.rs` and `output.rs` read what they print, and `read.rs`
//! says what that means.
//!
//! Agent files are in `file/`, with their rules in `permissions.rs` and the texts of their commands in
//! `command_text.rs`; `team.rs` runs one. `found.rs` finds the hooks that count without an agent file.

mod builtin;
mod call;
mod check;
mod command_text;
mod config;
mod contract;
mod dialect;
mod event_commands;
mod expand;
mod file;
mod found;
mod hook;
mod host;
mod info;
mod judge;
mod messages;
mod model_judge;
mod named_fields;
mod output;
mod permissions;
mod program_builtins;
mod protocol;
mod read;
mod results;
mod rows;
mod rules;
mod run;
mod runtime_events;
mod show;
mod sources;
mod team;
mod template;
mod tools;
mod words;

pub use call::Moment;
pub use command_text::{Piece, command_prompt, with_variables};
pub use config::HooksConfig;
pub use contract::{ABSENT_EVENTS, Block, Contract, Permission, Plain};
pub use dialect::DIALECT;
pub use event_commands::{EventCommand, EventCommands};
pub use file::{
    AgentDefinition, AgentFile, CommandDefinition, Interface, McpDefinition, McpReach, ModelDefinition,
    Permissions, Sampling, ScriptDefinition, Toolset, ToolsetKind, provider_keys,
};
pub use found::{DockerAgentConfig, Sources};
pub use hook::{Builtin, BuiltinCall, Builtins, HookEntry, HookKind, Judge, OnError, Owner, USUAL_TIMEOUT};
pub use host::{AGENT, AGENT_FILE, DockerAgentHost, FoundHooks, HOOK_FILE, ON_EVENT};
pub use info::INFO;
pub use model_judge::ModelJudge;
#[doc(hidden)]
pub use named_fields::{meaningless_fields, rewriting_fields, troubles_of_answer};
pub use output::Output;
pub use permissions::{
    MissingTool, OtherTools, RuleKind, TranslatedRule, idle_matcher, missing_tool, translate_rule,
};
pub use rows::{ABSENT, contracts, register};
pub use rules::ForeignRules;
pub use run::HookHost;
pub use runtime_events::{UNTOLD_RUNTIME_EVENTS, is_runtime_event, runtime_event_types, runtime_events};
pub use sources::{
    CONFIG_VARIABLES, FileKind, HookFlag, PersonsSettings, config_folder, drop_in_folder, is_drop_in,
    read_drop_in, settings_file,
};
pub use team::{AgentFileChoice, Resources, TeamCommands, TeamFile, TeamServer};
pub use template::Template;
pub use tools::{profile, tool_names, toolset_tools};

/// Whether a text is the verdict of a model: a reader that only its fuzz target calls from outside.
#[doc(hidden)]
pub fn is_verdict(text: &str) -> bool {
    judge::verdict(text).is_ok()
}

#[cfg(test)]
mod tests;
