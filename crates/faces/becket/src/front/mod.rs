//! Shows a run: answers on standard output, everything else on standard error.

mod activity;
mod highlight;
pub(crate) mod markdown;
mod output;
mod person;
mod progress;
mod screen_ui;
mod sgr;
mod style;
mod table;
mod terminal;
mod todos;
mod wording;

pub use output::{Output, PROMPT};
pub use progress::{Progress, bar, write_over};
pub use screen_ui::at_screen;
pub use sgr::{Kind, result_line, tool_line};
pub use style::Style;
pub use terminal::TerminalFront;
pub use todos::{TodoStatus, Todos};
pub use wording::Wording;
