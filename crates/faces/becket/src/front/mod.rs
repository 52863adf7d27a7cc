//! How a run is shown: answers on standard output, everything else on standard error.

pub(crate) mod markdown;
mod output;
mod person;
mod progress;
mod screen_ui;
mod style;
mod terminal;

pub use output::{Output, PROMPT};
pub use person::{Choice, STORE, about_rule, rule_of};
pub use progress::{Progress, bar, write_over};
pub use screen_ui::at_screen;
pub use style::{Style, counted, numbered};
pub use terminal::TerminalFront;
