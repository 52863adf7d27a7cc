//! How a run is shown: answers on standard output, everything else on standard error.

mod markdown;
mod output;
mod person;
mod style;
mod terminal;

pub use output::Output;
pub use style::{Style, counted, harmless, harmless_indented, harmless_name, numbered};
pub use terminal::TerminalFront;
