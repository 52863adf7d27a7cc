//! pi: how it names what becket does, where its extensions lie, what they see of it, and the API and packages that they
//! find.
//!
//! `discovery.rs` finds extensions, `resources` what else lies beside them. `rows.rs` is the table of pi's events.
//! `messages.rs` and `entries.rs` are a conversation in its words, `session_file.rs` the files in which it keeps them,
//! `words.rs` tool calls and models, `tools.rs` its tool profile. `host_call.rs` is all
//! that an extension can ask for, `services.rs` everything that it offers. Between them stands pi's API in TypeScript
//! (`js/`), which runs in the engine. `modules.rs` lists the packages that extensions import beside it (`js/modules/`).

mod answer_fields;
mod api;
pub mod arguments;
mod check;
mod config;
mod dialect;
mod discovery;
mod entries;
mod extension_files;
pub mod extensions;
mod fields;
mod growing;
pub mod host;
pub mod host_call;
mod info;
mod known;
pub mod messages;
mod modules;
mod packages;
mod patterns;
mod prelude;
mod read;
mod resources;
mod results;
mod rows;
pub mod rpc;
pub mod services;
pub mod session_file;
pub mod session_files;
mod settings_file;
pub mod shelf;
mod show;
mod stream;
mod tools;
mod words;

pub use answer_fields::answer_fields;
pub use api::{Member, Object, State, api};
pub use config::{JsConfig, JsEngine, PiConfig};
pub use dialect::DIALECT;
pub use discovery::{
    Candidate, EXTENSION, Found, HOME_VARIABLE, Origin, ProjectFolder, Search, has_project_extensions, home,
    project_settings,
};
pub use entries::{Entry, EntryKind};
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
    ABSENT, ExtensionOwner, NEVER_FIRED, RESOURCES_EVENT, Row, about_to_be_loaded_again, guard_events,
    loaded_again, misspelt_guard, register, rows,
};
pub use stream::{Compacted, Lines, Stream, compaction_result};
pub use tools::profile;
pub use words::{CURSOR_MARKER, ModelName, RESERVED_KEYS, own_arguments, own_tool, shown_tool, written_call};
