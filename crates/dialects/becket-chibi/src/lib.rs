//! The dialect of chibi: its names for becket's events and tools, and its plugins.
//!
//! `home.rs` is chibi's home directory; `discovery.rs` finds programs there, `traits.rs` inspects them, `schema.rs`
//! asks them to describe themselves, `schema_cache.rs` remembers the answers, and `loading.rs` does all of that.
//! `call.rs` calls a plugin. `hooks.rs` is the table of chibi's hooks, `show.rs` writes their input and `read.rs` reads
//! their answers (`situation.rs` holds the data for both, `answer_fields.rs` lists the fields of answers), and
//! `words.rs` converts tool calls into the names that plugins know. `tools.rs` is the tool profile, with `edit.rs` for
//! the one call that needs more than other names, and `results.rs` for the format of results; `generations.rs` is about
//! older names. `local_settings.rs` reads chibi's settings, `tool_choice.rs` applies their choice of tools. `inbox.rs`
//! takes messages that plugins leave for contexts, `mail.rs` brings them into the store. `home_contexts.rs` are the
//! contexts of a home, `conversation.rs` the format of their conversations, `home_tools.rs` tools about them.
//! `command_line.rs` is chibi's own command line. `plugins.rs` holds the plugins
//! of a run. `scheme.rs` holds the tables about Scheme files, `scheme_files` runs such files.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answer;
mod answer_fields;
mod bridge;
mod call;
mod check;
mod command_line;
mod config;
mod conversation;
mod dialect;
mod discovery;
mod edit;
mod generations;
mod home;
mod home_contexts;
#[cfg(feature = "scheme")]
mod home_tools;
mod hooks;
mod host;
mod inbox;
mod info;
#[cfg(feature = "index")]
mod languages;
mod loading;
mod local_settings;
mod mail;
mod plugin;
mod plugins;
mod read;
mod results;
mod run_settings;
mod schema;
mod schema_cache;
pub mod scheme;
#[cfg(feature = "scheme")]
pub mod scheme_files;
mod show;
mod situation;
mod tool_choice;
mod tools;
mod traits;
#[cfg(test)]
mod translation;
mod words;
#[cfg(feature = "scheme")]
mod written_conversation;

pub use answer_fields::answer_fields;
pub use bridge::{BRIDGE_SECONDS, BridgeReach, BridgeServer, bridge_file, read_bridge};
pub use call::{
    CALL_VARIABLES, Call, builtin_face, lane, language_arguments, language_of_tool, plugin_lane, timeout_of,
    tool_variables,
};
pub use config::ChibiConfig;
pub use dialect::DIALECT;
pub use discovery::{Candidate, Remark};
pub use generations::{older_name, operation_of_older_name, profile_of, tool_type};
pub use home::{HOME_OPTION, HOME_VARIABLE, KEY_VARIABLE, MODEL_VARIABLE, home, plugins_folder};
pub use hooks::{Hook, ScriptHook, hook_named, hooks, refuse_for, register, register_further};
pub use host::{FoundPlugins, PluginHost};
pub use inbox::{LeftMessage, TakenMessages, contexts_with_messages, take_messages};
pub use info::INFO;
pub use loading::{Asking, LoadSettings, Loaded, ask_again, load};
pub use local_settings::{
    ApiSettings, HOME_SETTINGS_FILE, LOCAL_SETTINGS_FILE, LocalSettings, PROVIDER, SettingsOf, UrlAction,
    UrlRules, model_named, read_settings,
};
pub use mail::InboxFiles;
pub use plugin::{Generation, HostFacts, LongData, Plugin, PluginTool, TerminalNeed};
pub use plugins::{
    NotOffered, PluginSettings, Plugins, call_seconds, generation_word, home_of_run, stands_in,
};
pub use tool_choice::{ToolChoice, has_tool};
pub use tools::profile;

/// Whether a text is a plugin's schema. Public only for its fuzz target.
#[doc(hidden)]
pub fn is_schema(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|value| schema::read(&value).is_ok())
}
