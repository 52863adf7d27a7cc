//! What hooks that nobody waits for have said: it reaches the model with its next turn.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use becket_agent::front::{Front, FrontUpdate};
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
    /// How the run is shown.
    front: OnceLock<Arc<dyn Front>>,
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

    /// Takes what was said for the model of a session.
    pub fn take(&self, session_id: &str) -> Vec<String> {
        self.said().remove(session_id).unwrap_or_default()
    }

    /// Runs something until it ends, or the run does.
    pub fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Lets the model hear what was said when its turn begins.
    pub fn register(self: &Arc<Self>, engine: &Engine, front: &Arc<dyn Front>) {
        // Registered once in a run.
        let _ = self.front.set(Arc::clone(front));
        let late = Arc::clone(self);
        engine.on::<TurnStart>("hooks in the background", move |occasion| {
            Ok(TurnStartReply {
                context: Append(late.take(&occasion.scope.session_id)),
                ..TurnStartReply::default()
            })
        });
    }

    /// Waits a moment for everything that still runs, and then ends it. The user sees what no model will hear.
    pub async fn close(&self) {
        self.end_all().await;
        let Some(front) = self.front.get() else {
            return;
        };
        let said = std::mem::take(&mut *self.said());
        for text in said.into_values().flatten() {
            let words = format!("a hook in the background said after the last turn: {text}");
            front.show(FrontUpdate::Warning(&words));
        }
    }

    async fn end_all(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        // What has not ended by then ends with its tasks.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, all).await);
    }
}
