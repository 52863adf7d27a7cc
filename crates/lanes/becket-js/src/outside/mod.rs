//! Extensions outside of the embedded engine: in one Node (or Bun) beside the program, for what only Node has.
//!
//! `choice.rs` says which extensions go there. `process.rs` starts Node and speaks with it over three pipes: calls go
//! in by one, words come out by another, and what a script must know at once is answered by the third, from which it
//! reads with everything else standing still. `host.cts` is the other end, `modules.cts` links the modules there;
//! `finding.rs` tells it where they are and gives their JavaScript. `guest.rs` is one extension as the rest of the
//! crate sees it, and this file keeps the process alive: all extensions share it, and when it ends it is started
//! again with all of them.

mod choice;
mod finding;
mod guest;
mod process;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use becket_hooks::{Cause, Failure};

pub(crate) use choice::{Place, engine, place, with_hint};
pub(crate) use guest::Guest;
use process::Process;

use crate::extension::Kit;
use crate::host::Report;

/// So many ends of the process within this time, and it is not started again.
const MOST_ENDS: usize = 3;
const WITHIN: Duration = Duration::from_secs(60);

/// Which engine runs extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The embedded one, whatever they need.
    #[default]
    Embedded,
    /// Node.
    Node,
    /// The embedded one, and Node for those that need something that only Node has.
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
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    guests: Vec<Weak<Guest>>,
    ends: Vec<Instant>,
    last_number: u32,
    /// Why it is not started any more.
    over: Option<Failure>,
}

impl Outside {
    /// Uses Node as `engine` says: the one at `program`, or the first on the PATH. So many `extensions` may share it.
    pub fn new(engine: Engine, program: Option<PathBuf>, extensions: usize) -> Self {
        Self {
            engine,
            program,
            extensions,
            ..Self::default()
        }
    }

    /// The process, started if it does not run.
    async fn process(&self, kit: &Arc<Kit>) -> Result<Arc<Process>, Failure> {
        if let Some(failure) = self.state().over.clone() {
            return Err(failure);
        }
        let mut process = self.process.lock().await;
        if let Some(running) = process.as_ref().filter(|process| process.is_running()) {
            return Ok(Arc::clone(running));
        }
        let started = Process::start(kit).await?;
        *process = Some(Arc::clone(&started));
        Ok(started)
    }

    /// A number for an extension that is about to be loaded.
    fn number(&self) -> u32 {
        let mut state = self.state();
        state.last_number += 1;
        state.last_number
    }

    /// An extension is loaded, and comes back whenever the process does.
    fn enter(&self, guest: &Arc<Guest>) {
        let mut state = self.state();
        state.guests.retain(|guest| guest.strong_count() > 0);
        state.guests.push(Arc::downgrade(guest));
    }

    fn guests(&self) -> Vec<Arc<Guest>> {
        self.state().guests.iter().filter_map(Weak::upgrade).collect()
    }

    /// The process has ended; whether it is worth another try.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic happens while this is held")
    }
}

/// The process has ended, and nobody has asked it to: everybody hears why, and it is started again with all extensions.
async fn lost(kit: Arc<Kit>, process: Arc<Process>, why: String, culprit: Option<String>) {
    let outside = &kit.outside;
    let away: Vec<_> = outside
        .guests()
        .into_iter()
        .filter(|guest| guest.lives_in(&process))
        .collect();
    let goes_on = outside.count_end();
    let gone = match outside.state().over.clone() {
        Some(over) => over,
        None => Failure::new(Cause::KilledBySignal, format!("{why}; it is being started again")),
    };
    away.iter().for_each(|guest| guest.leave(gone.clone(), goes_on));
    process.fail_all(&Failure::new(Cause::KilledBySignal, why.clone()));
    if !away.is_empty() {
        let names: Vec<&str> = away.iter().map(|guest| guest.name.as_str()).collect();
        let what = match goes_on {
            true => "it is started again with them",
            false => {
                "that was too often within a minute; it is not started again, and what they guard is refused"
            }
        };
        let text = format!("{why}; {} ran in it, and {what}", names.join(", "));
        let name = culprit.unwrap_or_else(|| names.join(", "));
        kit.reporter.report(&name, Report::Failed { text });
    }
    away.iter().for_each(|guest| kit.host.renewing(&guest.name));
    let _alone = outside.reviving.lock().await;
    for guest in away.iter().filter(|guest| guest.waits_for_return()) {
        guest.leave(gone.clone(), false);
        let loaded = guest.take_seat().await;
        if let Err(failure) = &loaded {
            // The process has ended once more, and whoever sees to that loads it.
            if guest.waits_for_return() {
                continue;
            }
            guest.leave(failure.clone(), false);
        }
        kit.host.renewed(&guest.name, loaded);
    }
}
