//! Tests of the real binary in a sealed room. One test program, one file for each thing that a user does.

#[cfg(feature = "acp")]
mod acp;
mod agent_file;
mod agent_file_reach;
#[cfg(feature = "agent-hooks")]
mod agent_hooks;
mod agentic_loop;
mod answers;
mod approval;
mod approval_screen;
mod audit;
mod boundaries;
mod bridge;
mod broken_guests;
mod budget;
mod chat;
mod chibi;
mod chibi_contexts;
mod chibi_tools;
mod claude_code;
mod claude_rules;
mod claude_surroundings;
mod claude_texts;
mod clear_words;
mod codex;
mod commands;
mod compaction;
mod contexts;
mod copilot;
mod cursor;
mod daemon;
mod default_tools;
mod docker_agent;
mod docker_agent_scripts;
mod docker_agent_tools;
mod examples;
mod flocks;
mod foreign_hooks;
mod front_doors;
mod gemini;
mod guard;
mod guard_surroundings;
mod hook_answers;
mod hook_ends;
mod hook_events;
mod hook_files;
mod hook_redirects;
mod hooks_check;
mod hosts;
mod index;
mod input;
mod interrupt;
mod jq;
mod jq_guards;
mod limit;
mod long_sessions;
mod long_work;
mod mcp;
mod messages;
mod model_lists;
mod models_that_fail;
mod names;
mod neighbours;
#[cfg(feature = "otel")]
mod otel;
mod permission_modes;
mod permissions;
mod pi_boundaries;
mod pi_bus;
mod pi_client;
mod pi_commands;
mod pi_differential;
mod pi_discovery;
mod pi_events;
mod pi_examples;
mod pi_extensions;
mod pi_front_door;
mod pi_hostile;
mod pi_json;
mod pi_models;
mod pi_newest;
mod pi_node;
mod pi_outside;
mod pi_own;
mod pi_packages;
mod pi_resources;
mod pi_rpc;
mod pi_safety;
mod pi_screen;
mod pi_steered;
mod pi_switching;
mod pi_tools;
mod pi_unchanged;
mod pi_wire;
mod pipelines;
mod plugin_faults;
mod plugins;
mod project;
mod projects;
mod recorded;
mod replay;
mod restrictions;
mod sandbox;
mod scheme;
mod scheme_hostile;
mod scheme_reach;
mod session_hooks;
mod session_tree;
mod sessions;
mod snapshots;
mod subagents;
mod surroundings;
mod team;
mod terminal;
mod trust;
mod unloaded;
mod urls;
mod vfs;
mod vocabulary;
mod web;
mod wire;
mod workbench;

/// A sealed room with the real binary.
fn room() -> testkit::Room {
    testkit::Room::new(env!("CARGO_BIN_EXE_becket"))
}

/// A room whose model is offered every tool that becket has.
fn room_with_all_tools() -> testkit::Room {
    room().always("--tools", "becket")
}

/// A file of this repository.
fn repository_file(name: &str) -> String {
    format!("{}/../../../{name}", env!("CARGO_MANIFEST_DIR"))
}
