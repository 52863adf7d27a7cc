//! How a run looks in a terminal: answers on standard output, everything else on standard error.
//!
//! Start with `terminal.rs`, which shows what an agent tells its front, and `output.rs`, where it is shown.
//! `wording.rs` says what a question is about, and `person.rs` asks it; `alert.rs` rings for a user who looks
//! elsewhere. `markdown.rs`, `highlight.rs`, `table.rs` and `sgr.rs` give text its look.
//!
//! This crate knows neither the command line nor how runs are made and stored: whatever has an agent can be shown.

mod activity;
mod alert;
mod highlight;
mod markdown;
mod output;
mod person;
mod progress;
mod repeated_failures;
mod screen_ui;
mod sgr;
mod style;
mod table;
mod terminal;
mod todos;
mod waiting;
mod wording;

pub use alert::Alert;
pub use markdown::{broken, render};
pub use output::{Output, PROMPT};
pub use progress::{Progress, bar, write_over};
pub use repeated_failures::RepeatedFailures;
pub use screen_ui::at_screen;
pub use sgr::{Kind, result_line, tool_line};
pub use style::{ColorChoice, Style};
pub use terminal::TerminalFront;
pub use todos::{TodoStatus, Todos};
pub use waiting::{retry_words, silence_words};
pub use wording::Wording;
