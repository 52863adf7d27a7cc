//! Where becket remembers: contexts, transcripts, inboxes, blobs and traces.
//!
//! Read `sqlite.rs` first: it is the store that the program uses, one SQLite file that several processes may share.
//! `schema.rs` has the tables, `writing.rs` and `reading.rs` the SQL, `writer.rs` the thread through which every
//! change goes, `open.rs` how a file is made and set up. `record.rs` is for those who look at what happened, `audit.rs`
//! for those who must be able to prove it.
//! `contexts.rs` is the life of contexts: chosen, renamed, cleared, destroyed; `claim.rs` keeps a context for one
//! process at a time. `memory.rs` forgets everything in the end and is for tests and for agents that shall leave
//! nothing behind.
//!
//! This crate knows no model, no tool and no terminal; where the file lies, its user decides.
//!
//! # Two sessions in one context
//!
//! A transcript is a tree. Every session stands at an entry: at first where its context stands, then at the last
//! entry that it wrote itself. It always appends there. Two sessions that work in one context at once therefore
//! branch and never mix their messages, and each sees a conversation that makes sense. The context stands where the
//! last writer stands, and the next session goes on from there; the other branch stays in the tree.
//!
//! Who does not want that claims the context first (`SqliteStore::claim`), as the program does: a claim is held by one
//! process at a time and ends with it.

mod audit;
mod claim;
mod contexts;
mod memory;
mod name;
mod open;
mod problem;
mod reading;
mod record;
mod schema;
mod sqlite;
mod writer;
mod writing;

pub use audit::{AuditEntry, AuditHead, AuditQuery, Flaw};
pub use becket_agent::store::Consumed;
pub use claim::Claim;
pub use contexts::{Archive, ChosenContexts, Due, Lifetime, Project};
pub use memory::MemoryStore;
pub use name::{ContextName, ContextNameError};
pub use reading::{ContextSummary, InboxMessage, Recorded, SessionSummary, StoredTrace, TurnPage};
pub use record::{Beginning, Mark, RawTrace};
pub use sqlite::SqliteStore;
