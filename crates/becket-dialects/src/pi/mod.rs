//! pi: how it names what becket does, and the API and packages that its extensions find.
//!
//! `host_call.rs` is everything that an extension can ask for, `services.rs` everything that it offers. Between them
//! stands pi's API in TypeScript (`js/`), which runs in the engine. `modules.rs` lists the packages that extensions
//! import beside it (`js/modules/`).

mod api;
pub mod arguments;
pub mod host_call;
mod modules;
mod prelude;
mod results;
pub mod services;
mod tools;

pub use api::{EVENTS, Member, Object, State, api};
pub use modules::host_modules;
pub use prelude::{Module, PRELUDE, prelude_modules};
pub use tools::profile;
