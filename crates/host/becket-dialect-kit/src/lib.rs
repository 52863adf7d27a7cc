//! What the crates of the dialects have in common. It bears the name of no foreign system.
//!
//! `info.rs` is how a dialect introduces itself to listings, checks and the documentation. `words.rs` turns one set of
//! argument names into another, `called.rs` shows a tool call in a dialect's words, `alignment.rs` finds out what a
//! hook did to a list, `yaml.rs` reads settings, `unloaded.rs` is a guest that could not be understood.

pub mod alignment;
pub mod called;
mod info;
mod remembered;
mod unloaded;
pub mod words;
pub mod yaml;

pub use info::{DialectInfo, RowInfo};
pub use remembered::Remembered;
pub use unloaded::{Unloaded, misspelt_guard};
