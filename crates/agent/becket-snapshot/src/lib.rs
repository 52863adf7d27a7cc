//! Checkpoints of a folder, kept in a git repository beside it that nobody else sees: list, diff, restore, undo, redo.
//!
//! Read `snapshots.rs` first: it is what users of the crate call. `scan.rs` brings the folder into the index and makes
//! a tree of it, `restore.rs` brings the folder from one tree to another, through `files.rs`, which never follows a
//! link. `journal.rs` is the memory: which tree was when, what was undone. `clean.rs` forgets. `work.rs` is one
//! operation with its lock, `place.rs` says where things lie, `git.rs` runs the program `git` in a sealed environment.
//!
//! `keeper.rs` takes checkpoints while an agent works, by hooks of its own; nothing else here knows agents or hooks.
//! The crate reads no environment: the search path for `git` is told. It blocks; who is asynchronous calls it from a
//! thread of its own.
//!
//! # What holds
//!
//! - The person's `.git` is read at most (which files it tracks, its `info/exclude`), and never written.
//! - Before files are changed, what is there is a checkpoint. A restore that was killed can be repeated.
//! - A file that no checkpoint holds (ignored, too large, unreadable) is neither overwritten nor deleted.
//! - The journal alone says which trees are alive; objects are deleted only in `clean`, under the lock.

mod clean;
mod files;
mod git;
mod journal;
mod keeper;
mod place;
mod problem;
mod restore;
mod scan;
mod snapshots;
mod trees;
mod work;

pub use clean::{Cleaned, Keep};
pub use journal::{Checkpoint, Kind, LeftOut, Reason};
pub use keeper::Keeper;
pub use problem::{InTheWay, Problem};
pub use restore::Restored;
pub use snapshots::{Conflicts, Mark, Point, Settings, Snapshots, Span, Which};
pub use trees::{Change, Version};
