//! Trust in what is merely found in the working directory, the same for every dialect.
//!
//! A project is seen as single things (`item.rs`): a hook, the rules of a file, an extension. Each is identified by its
//! content: its entry, and the bytes of all files that it runs and that these load (`gather.rs`, with `follow/` for the
//! languages). The user trusts identities (`store.rs`), alone or by a lock in the project (`lock.rs`). A trusted guard
//! that is gone needs a yes like a new one (`absence.rs`). What runs is a copy of the very bytes that were hashed
//! (`copy.rs`). `question.rs` is what the user is shown and asked.
//!
//! One store, one question and one copy serve every dialect: a new source of hooks only has to make items. Scheme files
//! that a model wrote are another question (`becket vfs trust`): there the file is in the user's home, and what is
//! asked is who wrote it.
//!
//! Nothing here runs anything, and nothing of a project counts before it was judged here.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

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
