//! becket's storage: contexts, transcripts, inboxes, blobs and traces.
//!
//! Read `sqlite.rs` first: it is the store that the program uses, one SQLite file that several processes may share.
//! `database.rs` is that file, with `writer.rs`, the thread through which every change goes, `traces.rs`, what waits
//! for it, and `open.rs`, which makes and sets up a file. `schema.rs` has the tables, `writing.rs` and `reading.rs` the
//! SQL of contexts and sessions, `inbox.rs` that of messages. `record.rs` reads what happened, `summary.rs` counts
//! it while it is written, `audit.rs` is the log
//! that can be verified, which `audit_reading.rs` does. `contexts.rs` renames and destroys contexts, `choice.rs` knows
//! the current one; `claim.rs` keeps a context for one process at a time. `memory.rs` keeps everything in memory, for
//! tests and for agents that must leave nothing behind.
//!
//! This crate knows no model, no tool and no terminal; its caller decides where the file is.
//!
//! # Two sessions in one context
//!
//! A transcript is a tree. Every session has a current entry: at first that of its context, then the last entry that it
//! wrote itself. It always appends there. Two sessions that work in one context at once therefore branch and never mix
//! their messages, and each sees a consistent conversation. The context's current entry is that of the last writer, and
//! the next session continues from there; the other branch stays in the tree.
//!
//! To avoid that, claim the context first (`SqliteStore::claim`), as the program does: a claim is held by one process
//! at a time and ends with it.

mod audit;
mod audit_reading;
mod choice;
mod claim;
mod contexts;
mod database;
mod inbox;
mod memory;
mod name;
mod open;
mod problem;
mod reading;
mod record;
mod schema;
mod sqlite;
mod summary;
mod time;
mod traces;
mod writer;
mod writing;

pub use audit::{AuditEntry, AuditHead, Flaw};
pub use audit_reading::{AuditLog, AuditQuery};
pub use becket_agent::store::Consumed;
pub use choice::{ChosenContexts, Project};
pub use claim::Claim;
pub use contexts::{Archive, Due};
pub use inbox::{InboxMessage, Inboxes};
pub use memory::MemoryStore;
pub use name::{ContextName, ContextNameError};
pub use reading::{ContextSummary, Lifetime, SessionSummary};
pub use record::{Beginning, Mark, RawTrace, Record, Recorded, StoredTrace, TurnPage};
pub use sqlite::SqliteStore;
pub use summary::{HookCount, KnownHook, RunEffect, SessionCounts};
