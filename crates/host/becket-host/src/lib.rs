//! What a kind of guest is to becket.
//!
//! `ui.rs` is the user's side of guests: what they show and ask (`shown.rs`), and what they draw (`drawing.rs`).

mod drawing;
mod shown;
mod ui;

pub use drawing::{Drawing, Whose};
pub use shown::{Delivery, Dialog, DialogAnswer, EditorNews, Level, Placement, Shown};
pub use ui::{Failed, Person, Ui};
