//! Asks hooks in a session's name. That can be done at any time, also while something runs there.

use std::path::PathBuf;
use std::sync::Arc;

use becket_events::ErrorKind;
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;
use crate::hooks::Hooks;
use crate::session::{Session, raise};

/// Asks hooks in a session's name.
#[derive(Clone)]
pub struct SessionJudge {
    pub(crate) hooks: Hooks,
    pub(crate) gate: Arc<Gate>,
    /// The folder that holds a folder for each context.
    pub(crate) contexts: PathBuf,
}

impl Session {
    /// Who asks hooks in its name.
    pub fn judge(&self) -> SessionJudge {
        SessionJudge {
            hooks: self.hooks.clone(),
            gate: Arc::clone(&self.gate),
            contexts: self.agent.settings.contexts.clone(),
        }
    }
}

impl SessionJudge {
    /// The hooks, which a cancel ends.
    pub(crate) fn hooks_until(&self, cancel: &CancellationToken) -> Hooks {
        let mut hooks = self.hooks.clone();
        hooks.set_cancel(cancel.clone());
        hooks
    }

    /// The consent of others counts only as long as the person has not thought better of it. A refusal is told.
    pub(crate) async fn unless_cancelled(hooks: &Hooks, consent: Result<(), String>) -> Result<(), String> {
        let consent = match hooks.cancel().is_cancelled() {
            true => Err("cancelled".into()),
            false => consent,
        };
        if let Err(reason) = &consent {
            raise(hooks, ErrorKind::HookBlocked, reason).await;
        }
        consent
    }
}
