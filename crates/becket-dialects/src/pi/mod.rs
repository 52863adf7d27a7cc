//! pi: how it names what becket does, and the API that its extensions find.
//!
//! `host_call.rs` is everything that an extension can ask for, `services.rs` everything that it offers. Between them
//! stands pi's API in TypeScript (`js/`), which runs in the engine.

pub mod host_call;
mod prelude;
mod results;
pub mod services;
mod tools;

pub use prelude::{Module, PRELUDE, prelude_modules};
pub use tools::profile;
