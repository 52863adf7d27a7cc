//! What hooks that nobody waits for have said: it reaches the model with its next turn.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becket_events::{Append, TurnStart, TurnStartReply};
use becket_hooks::Engine;
use tokio::task::JoinSet;

/// How long the end of a run waits for hooks that nobody waits for.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Hooks that run while nobody waits for them.
#[derive(Default)]
pub struct Late {
    said: Mutex<HashMap<String, Vec<String>>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Late {
    fn said(&self) -> MutexGuard<'_, HashMap<String, Vec<String>>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds text for the model of a session.
    pub fn add(&self, session_id: &str, texts: Vec<String>) {
        if !texts.is_empty() {
            self.said()
                .entry(session_id.to_owned())
                .or_default()
                .extend(texts);
        }
    }

    /// Runs something until it ends, or the run does.
    pub fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Lets the model hear what was said when its turn begins.
    pub fn register(self: &Arc<Self>, engine: &Engine) {
        let late = Arc::clone(self);
        engine.on::<TurnStart>("hooks in the background", move |occasion| {
            let said = late.said().remove(&occasion.scope.session_id);
            Ok(TurnStartReply {
                context: Append(said.unwrap_or_default()),
                ..TurnStartReply::default()
            })
        });
    }

    /// Waits a moment for everything that still runs, and then ends it.
    pub async fn close(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        // What has not ended by then ends with its tasks.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, all).await);
    }
}
