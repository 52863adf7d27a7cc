//! The list of living trees, for a program that ends without dropping them: dropping a tree ends it, but a thread that
//! hangs drops nothing.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::census::{Hunt, start_of};

/// How long the killing of all trees may take.
const BOUND: Duration = Duration::from_millis(500);

static LIVING: Mutex<Vec<Living>> = Mutex::new(Vec::new());

/// The process group of the main process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessGroup {
    /// The main process leads its own group.
    Apart,
    /// The main process is in this process's group, which must not be signalled as a whole.
    Beside,
}

/// What must be known about a tree to end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Living {
    main: Pid,
    started: u64,
    place: ProcessGroup,
    mark: String,
}

impl Living {
    /// Notes that a tree is alive.
    pub(super) fn note(main: Pid, place: ProcessGroup, mark: &str) -> Self {
        let tree = Self {
            main,
            started: start_of(main),
            place,
            mark: mark.into(),
        };
        living().push(tree.clone());
        tree
    }

    /// Removes the tree from the list: it has ended, or lives on by itself.
    pub(super) fn forget(&self) {
        living().retain(|tree| tree != self);
    }

    fn kill(&self, hunt: &mut Hunt) -> bool {
        // The number may belong to another process by now.
        if start_of(self.main) == self.started {
            let _ = match self.place {
                ProcessGroup::Apart => kill_process_group(self.main, Signal::KILL),
                ProcessGroup::Beside => kill_process(self.main, Signal::KILL),
            };
        }
        hunt.kill()
    }
}

/// Kills every program that is still waited for, with everything that it started. For a program that is about to end.
pub fn end_programs() {
    let trees = living().clone();
    let mut hunts: Vec<(Living, Hunt)> = trees
        .into_iter()
        .map(|tree| (tree.clone(), Hunt::new(tree.main, tree.mark, tree.started)))
        .collect();
    let bound = Instant::now() + BOUND;
    loop {
        hunts.retain_mut(|(tree, hunt)| tree.kill(hunt));
        if hunts.is_empty() || Instant::now() >= bound {
            return;
        }
        std::thread::sleep(Duration::from_millis(4));
    }
}

fn living() -> MutexGuard<'static, Vec<Living>> {
    // A panic in another thread leaves nothing half done here.
    LIVING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
