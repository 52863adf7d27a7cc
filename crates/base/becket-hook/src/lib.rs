//! `becket-hook`, the small program that other agents start for each of their events, and what it says to the daemon.
//!
//! ```text
//! agent ─► becket-hook ─► socket ─► daemon: hooks that are loaded already
//!               └──────── otherwise ─► becket bridge, which loads the hooks itself
//! ```
//!
//! The client has no runtime, reads no settings and judges nothing. Where the daemon is missing, too old, in another
//! project, dead or silent, the client starts `becket bridge`, which answers by itself: an answer never depends on
//! whether a daemon runs. Reading order: `client.rs`, `place.rs`, `frame.rs`.

mod client;
mod frame;
pub mod patience;
mod place;

pub use client::{LARGEST_QUESTION, RUNTIME_VARIABLE, main};
pub use frame::{Frame, Kind, LARGEST_FRAME};
pub use place::{DaemonFiles, peer_is_same_user, program_version, runtime_folder};
