//! Asks hooks in a session's name, at any time, even during a run.
//!
//! Nobody leaves a conversation without a `Consent`, and only this type makes one of what hooks say. Hooks are asked
//! beside what runs: a request that they refuse ends nothing, and one that they agree to ends what runs.

use std::path::PathBuf;
use std::sync::Arc;

use becket_events::ErrorKind;
use becket_gate::Hooks;
use becket_gate::ListedRule;
use becket_gate::gate::{Gate, rules_in_force};
use tokio_util::sync::CancellationToken;

use crate::notices::raise;

/// Asks hooks in a session's name.
#[derive(Clone)]
pub struct SessionJudge {
    pub(crate) hooks: Hooks,
    pub(crate) gate: Arc<Gate>,
    /// The folder that holds a folder for each context.
    pub(crate) contexts: PathBuf,
}

impl SessionJudge {
    /// The permission rules that count in the session right now.
    pub fn rules(&self) -> Vec<ListedRule> {
        rules_in_force(&self.gate)
    }

    /// The session's hooks, with another token that cancels them.
    pub(crate) fn hooks_until(&self, cancel: &CancellationToken) -> Hooks {
        let mut hooks = self.hooks.clone();
        hooks.set_cancel(cancel.clone());
        hooks
    }

    /// Turns a consent into a refusal if the user has cancelled meanwhile. A refusal is shown.
    pub(crate) async fn unless_cancelled(hooks: &Hooks, consent: Result<(), String>) -> Result<(), String> {
        let consent = match hooks.cancel().is_cancelled() {
            true => Err("cancelled".into()),
            false => consent,
        };
        if let Err(reason) = &consent {
            raise(hooks, ErrorKind::HookBlocked, None, reason).await;
        }
        consent
    }
}
