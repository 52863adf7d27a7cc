//! Checkpoints of a folder, kept in a separate git repository: list, diff, restore, undo, redo.
//!
//! Read `snapshots.rs` first: it is the interface of the crate. `scan.rs` brings the folder into the index and makes a
//! tree of it, `restore.rs` brings the folder from one tree to another, through `files.rs`, which never follows a link.
//! `journal.rs` records which tree was when, and what was undone. `clean.rs` removes old checkpoints. `work.rs` is one
//! operation with its lock (`lock.rs`), `place.rs` knows the paths, `git.rs` runs the program `git` in a sealed
//! environment, `settings.rs` has the limits.
//!
//! `keeper.rs` takes checkpoints while an agent works, by its own hooks; nothing else here knows agents or hooks. The
//! crate reads no environment: it is given the search path for `git`. It blocks, so asynchronous code calls it from a
//! separate thread.
//!
//! # Guarantees
//!
//! - The user's `.git` is read at most (which files it tracks, its `info/exclude`), and never written.
//! - Before files are changed, the current state becomes a checkpoint. A restore that was killed can be repeated.
//! - A file that no checkpoint holds (ignored, too large, unreadable) is neither overwritten nor deleted.
//! - The journal alone says which trees are alive; objects are deleted only in `clean`, under the lock.

mod clean;
mod files;
mod git;
mod journal;
mod keeper;
mod lock;
mod place;
mod problem;
mod restore;
mod scan;
mod settings;
mod snapshots;
mod trees;
mod work;

pub use clean::Cleaned;
pub use journal::{Checkpoint, Kind, LeftOut, Reason};
pub use keeper::Keeper;
pub use problem::{InTheWay, Problem};
pub use restore::Restored;
pub use settings::{Keep, Settings};
pub use snapshots::{Conflicts, Mark, Point, Snapshots, Span, Which};
pub use trees::{Change, Version};
