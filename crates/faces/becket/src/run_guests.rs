//! Who brings tools and hooks while a session runs: Scheme files, and plugins that are asked again what they are.

use std::sync::{Arc, Mutex};

use becket_agent::Parent;
use becket_agent::front::Front;
use becket_agent::guests::{Brought, Guests};
use becket_hooks::Engine;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::AbortHandle;

use crate::plugins::Plugins;
use crate::scheme::SchemeFiles;

/// The guests of a run.
pub struct RunGuests {
    scheme: Arc<SchemeFiles>,
    engine: Arc<Engine>,
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
            asking: Mutex::new(asking.map(FutureExt::boxed)),
            begun: Mutex::default(),
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
        let Some(asking) = self.asking.lock().expect(UNBROKEN).take() else {
            return;
        };
        let asked = tokio::spawn(asking);
        *self.begun.lock().expect(UNBROKEN) = Some(asked.abort_handle());
        // One that was ended has nothing more to bring.
        self.engine.expect(asked.map(|_| ()));
    }
}
