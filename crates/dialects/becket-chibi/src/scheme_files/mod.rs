//! The scheme lane: files in Scheme that lie in the virtual file system, with their tools and hooks.
//!
//! Reading order: `file.rs` is one file and its machine, the way into it and out; `harness.rs` makes the libraries of
//! the dialect's tables, `io.rs` and `web.rs` are what only some files may do; `calls.rs` is a tool that a file calls,
//! `chain.rs` who has called whom. `files.rs` finds the files of a run, loads them and loads them again; `marks.rs`
//! knows what models have written, `attempts.rs` what failed. `tool.rs` and `eval.rs` are what the model sees.

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
mod tool;
mod web;

pub use attempts::Attempts;
pub use calls::{Callers, SessionCalls};
pub use config::{HttpAllowConfig, ToolsHttpConfig};
pub use eval::EvalTool;
pub use file::{Callback, Calls, Defined, Leaving, NoCalls, SchemeFile, Trouble, Why, World};
pub use files::{Around, SchemeFiles};
pub use host::SchemeHost;
pub use io::Io;
pub use marks::{Marks, Trust};
pub use web::Web;
