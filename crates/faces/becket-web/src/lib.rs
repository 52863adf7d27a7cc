//! The page: sessions as timelines, live, in a browser on the same machine.
//!
//! Read `server.rs` first: what is served, and to whom. `accept.rs` accepts connections, `door.rs` decides which
//! requests are allowed, `source.rs` is the interface to the record, `view.rs` has the types in which it is shown.
//! `page.html` is the whole page: markup, style and script in one file, as it is sent.
//!
//! This crate knows no agent and no store, and it only shows: there is nothing in it that changes anything.

mod accept;
mod door;
mod server;
mod source;
pub mod view;

pub use door::Token;
pub use server::{Server, ServerError};
pub use source::{Source, SourceError};
