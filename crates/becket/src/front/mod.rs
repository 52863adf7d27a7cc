//! How a run is shown: answers on standard output, everything else on standard error.

mod markdown;
mod person;
mod style;
mod terminal;

pub use style::Style;
pub use terminal::TerminalFront;
