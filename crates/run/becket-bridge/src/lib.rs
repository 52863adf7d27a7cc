//! becket as a hook of other agents.
//!
//! Another agent runs `becket bridge SYSTEM EVENT` as its hook (`question.rs`), or `becket-hook`, which asks the
//! daemon (`daemon/`), where hooks stay loaded between questions. `ask.rs` reads the question and loads the hooks,
//! `moments.rs` fires becket's events and folds what hooks say into one ruling, and the crate of the agent's dialect
//! writes the answer (`becket_host::Bridge`). `entries.rs` enters becket in the agent's files and takes it out again,
//! `status.rs` says whether the agent really asks and what it cannot ask.
//!
//! Whatever goes wrong here refuses what another agent was about to do.

mod ask;
mod daemon;
mod entries;
mod moments;
mod question;
mod said;
mod status;

pub use ask::answer;
pub use daemon::{Daemon, DaemonStatus, SessionStatus};
pub use entries::{Change, FileOwner, entry_file, install, uninstall};
pub use question::{AskedEvent, Mode, Question, TOO_LATE, event_named};
pub use status::{Entered, Installed, Unasked, installed, unasked};
