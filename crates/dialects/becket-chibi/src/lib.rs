//! chibi: how it names what becket does, and how its plugins are found and spoken to.
//!
//! `home.rs` says where its things lie, `discovery.rs` finds programs there, `traits.rs` looks at them, `schema.rs`
//! asks them what they are, `schema_cache.rs` remembers it, `loading.rs` does all of that. `call.rs` is how a plugin
//! is called. `hooks.rs` is the table of its hooks, `show.rs` and `read.rs` are their two directions
//! (`answer_fields.rs` lists what the latter knows), `words.rs` turns
//! tool calls into the words that plugins know. `tools.rs` is the tool profile, with `edit.rs` for its one call that
//! needs more than other names, and `results.rs` for how results read; `generations.rs` says how older names differ.
//! `local_settings.rs` reads its settings, `tool_choice.rs` says which tools they choose.
//! `inbox.rs` takes messages that plugins leave for contexts, `mail.rs` brings them into the store. `plugins.rs` are
//! the plugins of a run. `scheme.rs` is what files in Scheme find and say, `scheme_files` runs them.

mod answer;
mod answer_fields;
mod bridge;
mod call;
mod check;
mod config;
mod dialect;
mod discovery;
mod edit;
mod generations;
mod home;
mod hooks;
mod host;
mod inbox;
mod info;
mod loading;
mod local_settings;
mod mail;
mod plugin;
mod plugins;
mod read;
mod results;
mod schema;
mod schema_cache;
pub mod scheme;
pub mod scheme_files;
mod show;
mod tool_choice;
mod tools;
mod traits;
#[cfg(test)]
mod translation;
mod words;

pub use answer_fields::answer_fields;
pub use bridge::{BRIDGE_SECONDS, BridgeReach, BridgeServer, bridge_file, read_bridge};
pub use call::{
    CALL_VARIABLES, Call, builtin_face, input_for_tool, lane, language_arguments, language_of_tool, patience,
    tool_variables,
};
pub use config::ChibiConfig;
pub use dialect::DIALECT;
pub use discovery::{Candidate, Remark};
pub use generations::{older_name, operation_of_older_name, profile_of, tool_type};
pub use home::{HOME_VARIABLE, KEY_VARIABLE, MODEL_VARIABLE, home, plugins_folder};
pub use hooks::{ABSENT, Hook, ScriptHook, hook_named, hooks, refuse_for, register, register_further};
pub use host::{FoundPlugins, HOME_OPTION, PluginHost};
pub use inbox::{LeftMessage, TakenMessages, contexts_with_messages, take_messages};
pub use info::INFO;
pub use loading::{Asking, LoadSettings, Loaded, ask_again, load};
pub use local_settings::{
    ApiSettings, HOME_SETTINGS_FILE, LOCAL_SETTINGS_FILE, LocalSettings, PROVIDER, SettingsOf, UrlAction,
    UrlRules, model_named, read_settings,
};
pub use mail::InboxFiles;
pub use plugin::{Generation, Host, Plugin, PluginTool, TerminalNeed};
pub use plugins::{
    NotOffered, PluginSettings, Plugins, call_seconds, generation_word, home_of_run, stands_in,
};
pub use tool_choice::{ToolChoice, has_tool};
pub use tools::profile;

/// Whether a text is what a plugin can say of itself: a reader that only its fuzz target calls from outside.
#[doc(hidden)]
pub fn is_schema(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|value| schema::read(&value).is_ok())
}
