//! Shows a run: answers on standard output, everything else on standard error.

pub(crate) mod markdown;
mod output;
mod person;
mod progress;
mod screen_ui;
mod style;
mod terminal;

pub use output::{Output, PROMPT};
pub use progress::{Progress, bar, write_over};
pub use screen_ui::at_screen;
pub use style::Style;
pub use terminal::TerminalFront;
