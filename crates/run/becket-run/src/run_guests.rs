//! Guests that bring tools and hooks while a session runs.

use std::sync::{Arc, Mutex};

use becket_agent::Parent;
use becket_agent::front::{Front, FrontUpdate};
use becket_agent::guests::{Brought, Guests};
use becket_agent::vfs::VfsPath;
use becket_hooks::Engine;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use tokio::task::AbortHandle;

use crate::hosts::LoadedGuests;
use crate::restricted_tools::RestrictedTool;

/// The guests of a run.
pub struct RunGuests {
    /// The guests that take part in the session.
    in_session: Vec<Arc<dyn Guests>>,
    engine: Arc<Engine>,
    front: Arc<dyn Front>,
    /// All guests; they may bring tools until all have started.
    all: Arc<LoadedGuests>,
    /// Tools that settings restrict and nobody had brought when this run was put together.
    missing: Mutex<Vec<RestrictedTool>>,
    /// Work beside the session, until it is started.
    later: Mutex<Vec<BoxFuture<'static, ()>>>,
    begun: Mutex<Option<AbortHandle>>,
}

impl RunGuests {
    /// Checks again for the missing tools when all guests have started, and tells the user of those that are still
    /// missing.
    pub fn new(
        all: &Arc<LoadedGuests>,
        missing: Vec<RestrictedTool>,
        (engine, front): (&Arc<Engine>, &Arc<dyn Front>),
    ) -> Self {
        Self {
            in_session: all.in_session(),
            engine: Arc::clone(engine),
            front: Arc::clone(front),
            later: Mutex::new(all.later(engine, front)),
            all: Arc::clone(all),
            missing: Mutex::new(missing),
            begun: Mutex::default(),
        }
    }

    /// Tells the user once about restricted tools that no guest has brought.
    fn tell_missing(&self) {
        let missing = std::mem::take(&mut *self.missing.lock().expect(UNBROKEN));
        if missing.is_empty() {
            return;
        }
        let brought = self.all.tool_names();
        for missing in missing.iter().filter(|missing| !brought.contains(&missing.name)) {
            self.front.show(FrontUpdate::Warning(&missing.to_string()));
        }
    }

    /// Stops the work beside the session.
    pub fn close(&self) {
        self.later.lock().expect(UNBROKEN).clear();
        if let Some(begun) = self.begun.lock().expect(UNBROKEN).take() {
            begun.abort();
        }
    }
}

const UNBROKEN: &str = "no panic happens while it is held";

impl Guests for RunGuests {
    fn tools(&self, context_name: &str) -> Brought {
        let brought = self.in_session.iter().map(|guests| guests.tools(context_name));
        // Each number only grows, so the sum is another one whenever one of them is.
        brought.fold(Brought::default(), |mut all, brought| {
            all.revision += brought.revision;
            all.tools.extend(brought.tools);
            all
        })
    }

    fn attach(&self, caller: Parent) {
        self.in_session
            .iter()
            .for_each(|guests| guests.attach(caller.clone()));
    }

    fn detach(&self, session_id: &str) {
        self.in_session
            .iter()
            .for_each(|guests| guests.detach(session_id));
    }

    fn show(&self, path: &VfsPath) {
        self.in_session.iter().for_each(|guests| guests.show(path));
    }

    fn catch_up(&self) {
        self.tell_missing();
        let later = std::mem::take(&mut *self.later.lock().expect(UNBROKEN));
        if later.is_empty() {
            return;
        }
        let asked = tokio::spawn(join_all(later));
        *self.begun.lock().expect(UNBROKEN) = Some(asked.abort_handle());
        // One that was ended has nothing more to bring.
        self.engine.expect(asked.map(|_| ()));
    }
}
