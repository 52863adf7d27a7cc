//! The dialect of pi: its names for becket's events and tools, its extensions, and the API and packages that they
//! import.
//!
//! `discovery.rs` finds extensions, `resources` finds skills, prompt templates and themes; `host.rs` brings all of them
//! to a run. `rows.rs` is the table of pi's events. `messages.rs` and `entries.rs` convert a conversation,
//! `session_file.rs` pi's session files, `words.rs` tool calls and models; `tools.rs` is the tool profile.
//! `host_call.rs` lists everything that an extension can ask for, `services.rs` everything that it offers. pi's API in
//! TypeScript (`js/`), which runs in the engine, connects the two. `modules.rs` lists the packages that extensions can
//! import besides (`js/modules/`).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answer_fields;
mod api;
pub mod arguments;
mod check;
mod command_line;
mod config;
mod dialect;
mod discovery;
mod entries;
mod extension_files;
mod extension_place;
pub mod extensions;
mod fields;
mod found;
mod growing;
mod guests;
mod home;
pub mod host;
pub mod host_call;
mod info;
mod interactive;
mod known;
pub mod messages;
mod modules;
mod options;
mod packages;
mod pages;
mod patterns;
mod prelude;
mod program;
mod read;
mod resources;
mod results;
mod rows;
pub mod rpc;
pub mod run_resources;
pub mod services;
pub mod session_file;
pub mod session_files;
mod settings_file;
mod show;
mod stream;
mod tools;
mod words;

pub use answer_fields::answer_fields;
pub use api::{Member, Object, Support, api};
pub use command_line::PROGRAM;
pub use config::{JsConfig, JsEngine, PiConfig};
pub use dialect::DIALECT;
pub use discovery::{
    Candidate, EXTENSION, Found, Origin, ProjectFolder, Search, has_project_extensions, project_settings,
};
pub use entries::{Entry, EntryKind};
pub use home::{HOME_VARIABLE, home};
pub use info::INFO;
pub use modules::host_modules;
pub use packages::global_folders;
pub use prelude::{Module, PRELUDE, prelude_modules};
#[doc(hidden)]
pub use resources::is_theme_or_has_front_matter;
pub use resources::{
    Brought, Colour, Resources, SKILL_PREFIX, ShownTheme, Skill, Template, Theme, Wanted, WantedResources,
    may_bring_resources, skills_for_prompt,
};
pub use rows::{
    DIRECT, ExtensionOwner, ExtensionRow, NEVER_FIRED, RESOURCES_EVENT, about_to_be_loaded_again,
    guard_events, loaded_again, misspelt_guard, register, rows,
};
pub use stream::{Compacted, Lines, Stream, compaction_result};
pub use tools::profile;
pub use words::{CURSOR_MARKER, ModelName, RESERVED_KEYS, own_arguments, own_tool, shown_tool, written_call};
