//! What the crates of the dialects share. This crate names no foreign system.
//!
//! `info.rs` is how a dialect describes itself to listings, checks and the documentation. `words.rs` turns one set of
//! argument names into another, `called.rs` shows a tool call in a dialect's terms, `edits.rs` an edit, `patch.rs`
//! reads patches, `alignment.rs` finds out what a hook did to a list, `yaml.rs` reads settings, `misspelt.rs` finds
//! guards whose names are almost right.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod alignment;
pub mod called;
pub mod edits;
mod info;
mod misspelt;
pub mod patch;
mod remembered;
pub mod words;
pub mod yaml;

pub use info::{DialectInfo, RowInfo};
pub use misspelt::{misspelt_guard, sounds_like_guard};
pub use remembered::Remembered;
