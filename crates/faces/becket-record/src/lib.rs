//! What becket has recorded of a session, in every form in which somebody reads it.
//!
//! `item.rs` reads a record, `tree.rs` puts records together as a tree of turns, requests, calls and hooks; `export.rs`
//! has the formats of other programs (`otlp.rs`, `markdown.rs`). `conversation.rs` is a conversation with all its
//! branches, as text. `timeline` is the record as the page shows it.
//!
//! This crate only reads a store. It knows neither how a session runs nor who reads: no command line, no terminal.

pub mod conversation;
pub mod export;
mod item;
mod markdown;
pub mod otlp;
#[cfg(feature = "page")]
pub mod timeline;
mod tree;

pub use export::Form;
pub use item::{Item, verdict_of};
pub use tree::Family;
