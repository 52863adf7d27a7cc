//! How a run is shown: answers on standard output, everything else on standard error.

pub(crate) mod markdown;
mod output;
mod person;
mod progress;
mod screen_ui;
mod style;
mod terminal;
mod ui;

pub use becket_system::{harmless, harmless_indented, harmless_name};
pub use output::{Drawing, Output, PROMPT, Whose};
pub use person::{Choice, STORE, about_rule, rule_of};
pub use progress::{Progress, bar, write_over};
pub use style::{Style, counted, numbered};
pub use terminal::TerminalFront;
pub use ui::{Failed, Person, Ui};
