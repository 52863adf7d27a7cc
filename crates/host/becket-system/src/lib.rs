//! The base of every host of guests: the machine as the program found it, its folders, files, signals and failures.
//!
//! This crate knows no dialect, no command line and no configuration. Start with `surroundings.rs`: nothing below the
//! program reads the environment or the terminal by itself.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod failure;
pub mod files;
pub mod folders;
pub mod moments;
pub mod project_root;
mod screen;
pub mod signals;
pub mod surroundings;
mod variables;
mod visible;
mod words;
mod work_line;

pub use failure::{CliError, Exit};
pub use folders::{Folders, HOME_VARIABLE};
pub use screen::{Detail, OpenScreen};
pub use signals::Signals;
pub use surroundings::{Listener, Surroundings};
pub use variables::Variables;
pub use visible::{harmless, harmless_indented, harmless_name};
pub use words::{counted, in_ms, in_thousands, numbered};
pub use work_line::{LinePause, WorkLine};
