//! pi: how it names what becket does, where its extensions lie, what they see of it, and the API and packages that they
//! find.
//!
//! `discovery.rs` finds extensions. `rows.rs` is the table of pi's events. `messages.rs` and `entries.rs` are a
//! conversation in its words, `words.rs` tool calls and models, `tools.rs` its tool profile. `host_call.rs` is all
//! that an extension can ask for, `services.rs` everything that it offers. Between them stands pi's API in TypeScript
//! (`js/`), which runs in the engine. `modules.rs` lists the packages that extensions import beside it (`js/modules/`).

mod api;
pub mod arguments;
mod discovery;
mod entries;
mod extension_files;
mod fields;
mod growing;
pub mod host_call;
pub mod messages;
mod modules;
mod packages;
mod patterns;
mod prelude;
mod read;
mod results;
mod rows;
pub mod services;
mod settings_file;
mod show;
mod tools;
mod words;

pub use api::{Member, Object, State, api};
pub use discovery::{Candidate, Found, HOME_VARIABLE, Origin, ProjectFolder, Search, home};
pub use entries::{Entry, EntryKind};
pub use modules::host_modules;
pub use packages::global_folders;
pub use prelude::{Module, PRELUDE, prelude_modules};
pub use rows::{ABSENT, ExtensionOwner, NEVER_FIRED, Row, guard_events, loaded_again, register, rows};
pub use tools::profile;
pub use words::{ModelName, own_arguments, own_tool, shown_tool};
