//! The scheme lane: Scheme files in the virtual file system, with their tools and hooks.
//!
//! Reading order: `file.rs` is one file and its machine, `world.rs` its rights and limits; `harness.rs` makes the
//! libraries from the dialect's tables (`values.rs` reads the arguments of their procedures), `io.rs` and `web.rs` are
//! for files with the rights to use them; `calls.rs` calls tools for a file, `chain.rs` tracks nested calls. `files.rs`
//! finds the files of a run, loads and reloads them; `marks.rs` records which files models have written, `attempts.rs`
//! which have failed. `shown.rs` shows contexts and tools as files. `tool.rs` and `eval.rs` are the tools that the model sees.

mod attempts;
mod calls;
mod chain;
mod config;
mod eval;
mod file;
mod files;
mod harness;
mod host;
mod io;
mod marks;
mod shown;
mod tool;
mod values;
mod web;
mod world;

pub use attempts::Attempts;
pub use calls::{Callers, Calls, NoCalls, SessionCalls};
pub use eval::EvalTool;
pub use file::{Callback, Defined, Leaving, SchemeFile, Trouble, Why};
pub use files::{Around, SchemeFiles};
pub use host::SchemeHost;
pub use io::Io;
pub use marks::{Marks, Trust};
pub use web::Web;
pub use world::World;
