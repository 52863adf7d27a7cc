//! Extensions outside of the embedded engine: in one Node (or Bun) beside the program, for what only Node has.
//!
//! `choice.rs` says which extensions go there. `process.rs` talks to Node over three pipes: calls go in by one,
//! messages come out by another, and synchronous requests of a script are answered by the third, from which it reads
//! while everything else is blocked. `host.cts` is the other end, `modules.cts` links the modules there; `finding.rs`
//! tells it where they are and sends their JavaScript. `guest.rs` is one extension as the rest of the crate sees it,
//! and `life.rs` keeps the process alive: all extensions share it, and when it ends it is started again with all of
//! them.
//!
//! Modules are linked by becket's own script with Node's `vm` modules, and found by the same Rust as in the embedded
//! engine. Hooks of Node's own loader would need a thread of their own, differ between its versions, and could not give
//! each extension its own prelude. None of the three pipes is stdin or stdout, because programs that extensions start
//! may inherit those. becket answers a blocking question without entering an extension, so neither side waits for the
//! other.
//!
//! When the process ends, functions of its former life fail instead of being looked for in the new one. Guards among
//! them stay registered until the extension is loaded again, so that there is no moment without them. Whoever waits in
//! vain does not end the process; it is first asked whether it still reacts, since everything of all extensions would
//! be lost.

mod choice;
mod finding;
mod guest;
mod life;
mod process;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use becket_hooks::{Cause, Failure};

pub(crate) use choice::{EngineChoice, engine, place};
pub(crate) use guest::Guest;
use process::{Process, Resident};

/// After this many ends of the process within `WITHIN`, it is not started again.
const MOST_ENDS: usize = 3;
const WITHIN: Duration = Duration::from_secs(60);

/// Which engine runs extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The embedded engine, whatever the extensions need.
    #[default]
    Embedded,
    /// Node runs all extensions.
    Node,
    /// The embedded engine, and Node for extensions that need something that only Node has.
    Auto,
}

/// Node beside the program: whether it is used, which one, and the process once it runs.
#[derive(Default)]
pub struct Outside {
    engine: Engine,
    program: Option<PathBuf>,
    extensions: usize,
    /// Held while the process is started, so that it is started once.
    process: tokio::sync::Mutex<Option<Arc<Process>>>,
    /// Held while extensions are loaded again.
    reviving: tokio::sync::Mutex<()>,
    state: Mutex<Residents>,
}

#[derive(Default)]
struct Residents {
    guests: Vec<Weak<dyn Resident>>,
    ends: Vec<Instant>,
    last_number: u32,
    /// Why the process is not started any more.
    over: Option<Failure>,
}

impl Outside {
    /// Uses Node as `engine` says: the one at `program`, or the first on the PATH. Up to `extensions` extensions share
    /// it.
    pub fn new(engine: Engine, program: Option<PathBuf>, extensions: usize) -> Self {
        Self {
            engine,
            program,
            extensions,
            ..Self::default()
        }
    }

    /// A number for an extension that is about to be loaded.
    fn number(&self) -> u32 {
        let mut state = self.state();
        state.last_number += 1;
        state.last_number
    }

    /// Adds a loaded extension, which comes back whenever the process does.
    fn enter(&self, guest: Weak<dyn Resident>) {
        let mut state = self.state();
        state.guests.retain(|guest| guest.strong_count() > 0);
        state.guests.push(guest);
    }

    fn guests(&self) -> Vec<Arc<dyn Resident>> {
        self.state().guests.iter().filter_map(Weak::upgrade).collect()
    }

    /// Counts an end of the process, and says whether to start it again.
    fn count_end(&self) -> bool {
        let mut state = self.state();
        state.ends.retain(|end| end.elapsed() < WITHIN);
        state.ends.push(Instant::now());
        let goes_on = state.ends.len() < MOST_ENDS;
        if !goes_on {
            let words = format!(
                "Node ended {MOST_ENDS} times within {} s, and is not started again in this session",
                WITHIN.as_secs()
            );
            state.over = Some(Failure::new(Cause::SpawnFailed, words));
        }
        goes_on
    }

    fn state(&self) -> MutexGuard<'_, Residents> {
        self.state.lock().expect("no panic happens while this is held")
    }
}
