//! Who brings tools and hooks while a session runs: Scheme files, and plugins that are asked again what they are.

use std::sync::{Arc, Mutex, Weak};

use becket_agent::Parent;
use becket_agent::front::{Front, Sight};
use becket_agent::guests::{Brought, Guests};
use becket_hooks::Engine;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::AbortHandle;

use crate::restricted_tools::RestrictedTool;
use becket_chibi::Plugins;
use becket_chibi::scheme_files::SchemeFiles;
use becket_pi::extensions::{Board, Extensions};

/// The guests of a run.
pub struct RunGuests {
    scheme: Arc<SchemeFiles>,
    engine: Arc<Engine>,
    front: Arc<dyn Front>,
    /// Extensions, which may register tools until they have started.
    extensions: Option<Weak<Board>>,
    /// Tools that settings restrict and nobody had brought when this run was put together.
    missing: Mutex<Vec<RestrictedTool>>,
    /// What asks plugins again, until it is begun.
    asking: Mutex<Option<BoxFuture<'static, ()>>>,
    begun: Mutex<Option<AbortHandle>>,
}

impl RunGuests {
    /// Scheme files, and those plugins that are to be asked again.
    pub fn new(
        plugins: &Plugins,
        scheme: &Arc<SchemeFiles>,
        (engine, front): (&Arc<Engine>, &Arc<dyn Front>),
    ) -> Self {
        let asking = plugins.asking_again(engine, front);
        Self {
            scheme: Arc::clone(scheme),
            engine: Arc::clone(engine),
            front: Arc::clone(front),
            extensions: None,
            missing: Mutex::default(),
            asking: Mutex::new(asking.map(FutureExt::boxed)),
            begun: Mutex::default(),
        }
    }

    /// Looks for these tools once more when all servers and extensions have started, and tells of those that are not
    /// there then.
    pub fn looking_for(self, missing: Vec<RestrictedTool>, extensions: &Extensions) -> Self {
        Self {
            extensions: extensions.board().map(|board| Arc::downgrade(&board)),
            missing: Mutex::new(missing),
            ..self
        }
    }

    /// Tells of restricted tools that nobody has brought, once.
    fn tell_missing(&self) {
        let missing = std::mem::take(&mut *self.missing.lock().expect(UNBROKEN));
        if missing.is_empty() {
            return;
        }
        let extensions = self.extensions.as_ref().and_then(Weak::upgrade);
        let mut brought = self.scheme.tool_names();
        brought.extend(extensions.iter().flat_map(|board| board.tool_names()));
        for missing in missing.iter().filter(|missing| !brought.contains(&missing.name)) {
            self.front.show(Sight::Warning(&missing.to_string()));
        }
    }

    /// Nothing is asked any more.
    pub fn close(&self) {
        self.asking.lock().expect(UNBROKEN).take();
        if let Some(begun) = self.begun.lock().expect(UNBROKEN).take() {
            begun.abort();
        }
    }
}

const UNBROKEN: &str = "no panic happens while it is held";

impl Guests for RunGuests {
    fn tools(&self, context_name: &str) -> Brought {
        self.scheme.tools(context_name)
    }

    fn seat(&self, caller: Parent) {
        self.scheme.seat(caller);
    }

    fn leave(&self, session_id: &str) {
        self.scheme.leave(session_id);
    }

    fn catch_up(&self) {
        self.tell_missing();
        let Some(asking) = self.asking.lock().expect(UNBROKEN).take() else {
            return;
        };
        let asked = tokio::spawn(asking);
        *self.begun.lock().expect(UNBROKEN) = Some(asked.abort_handle());
        // One that was ended has nothing more to bring.
        self.engine.expect(asked.map(|_| ()));
    }
}
