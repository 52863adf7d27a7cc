//! The workbench: everything that a run would ask its hooks with, and no run.
//!
//! `lab.rs` puts the agent together and fires events, `payload.rs` makes the event's fields, `names.rs` knows what
//! events are called, `shown.rs` tells what came of it, `replay.rs` goes through a recorded session once more,
//! `shadow.rs` tells what hooks in shadow would have done, `suite.rs` is what tests say, and `room.rs` where they run.
//! It speaks the vocabulary only, so a new dialect needs nothing here.

mod lab;
mod names;
mod payload;
mod replay;
mod room;
mod shadow;
mod shown;
mod suite;

pub use lab::{Fired, Lab, NotAsked, Occurrence};
pub use names::{dialect_named, event_called};
pub use payload::PayloadOverrides;
pub use replay::{Difference, Replay, Said, Speaker};
pub use room::TestRoom;
pub use shadow::{Shadowed, shadowed_since};
pub use shown::{
    class_words, effect_words, fired_json, fired_text, not_asked, reasons, rewritten, verdict_words,
};
pub use suite::{Case, Ended, Play, Suite, unmet_files};
