//! A run of becket, from what is asked for to a session with its guests.
//!
//! ```text
//! RunOptions ─► Setup::read (settings; guests are found and judged) ─► assemble (guests are loaded, in the order in
//!   which they may know keys) ─► Assembled ─► Conversation::open ─► Conversation::ask ─► close
//! ```
//!
//! Who embeds the agent starts with `EmbeddedAgent`, which is all of that in three calls (`embedded.rs`).
//!
//! Reading order: `options.rs` is what is asked for, `setup.rs` reads everything, `hosts.rs` is the list of kinds of
//! guests and the loops over them, `loading.rs` loads them, `assemble.rs` puts the agent together, `conversation.rs` is
//! a session with everything around it, `switching.rs` is how it goes on elsewhere. The rest is what settings mean:
//! `config.rs`, `project.rs`, `context_settings.rs`, `guest_settings.rs`, `urls.rs`, `stored_rules.rs`.
//!
//! This crate knows no command line and draws nothing. What it asks the user goes through `becket_host::Person`, or,
//! before a run begins, through the terminal that `Surroundings` describes.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// What only some kinds of guests use, nobody uses in a program without them.
#![cfg_attr(not(feature = "default"), allow(dead_code, unused_imports))]

pub mod adopt;
pub mod agent_settings;
pub mod assemble;
pub mod config;
pub mod config_page;
pub mod context_settings;
pub mod conversation;
mod default_tools;
mod embedded;
pub mod environment;
pub mod guest_settings;
pub mod hosts;
pub mod import;
pub mod lifetimes;
pub mod loading;
pub mod model_relay;
pub mod models;
mod offered;
pub mod options;
pub mod otel;
pub mod own_hooks;
#[cfg(feature = "jq")]
pub mod own_jq;
pub mod own_program;
mod pictures;
pub mod project;
pub mod project_trust;
pub mod remarks;
pub mod restricted_tools;
mod rule_spelling;
mod run_guests;
pub mod sandbox;
pub mod sandbox_profile;
mod session_models;
pub mod setup;
pub mod snapshots;
pub mod stored_rules;
pub mod switching;
pub mod target;
pub mod tool_names;
mod unloaded;
pub mod urls;

pub use assemble::{Assembled, assemble};
pub use becket_tools::Jobs;
pub use conversation::{Conversation, Participants, Purpose};
pub use embedded::EmbeddedAgent;
pub use hosts::Hosts;
pub use loading::Loaded;
pub use options::{Caller, GivenBuffers, GivenServers, RunOptions};
pub use pictures::{check_picture, read_picture};
pub use session_models::{ModelChooser, SessionModels};
pub use setup::Setup;
pub use target::ContextChoice;
