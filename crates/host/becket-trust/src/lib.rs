//! Trust in what is merely found in the working directory, for every dialect the same.
//!
//! What a project brings comes as things one by one (`item.rs`): a hook, the rules of a file, an extension. Each is
//! known by its content: its entry, and the bytes of all files that it runs and that these load (`gather.rs`, with
//! `follow/` for the languages). The person trusts identities (`store.rs`), alone or by a lock that the project brings
//! (`lock.rs`). A guard that was trusted and is gone is asked about like one that is new (`absence.rs`). What runs is a
//! copy of the very bytes that were hashed (`copy.rs`). `question.rs` is what the user is shown and asked.
//!
//! Nothing here runs anything, and nothing of a project counts before it was judged here.

mod absence;
mod copy;
pub mod follow;
mod gather;
mod item;
mod lock;
mod question;
mod store;
mod trust;

pub use absence::{gone, refusal};
pub use item::{Item, Kind};
pub use lock::{LOCK_FILE, Lock};
pub use question::{contents, described, is_answered_with_yes, show};
pub use store::{Record, Store, put};
pub use trust::{CommandItem, Judged, SettledCommand, Standing, TRUST_HINT, Trust};
