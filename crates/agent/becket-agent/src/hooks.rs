//! The agent's side of the engine: asks handlers in the session's name, shows what they want to tell, and lets a
//! cancel end the waiting.

use std::sync::Arc;

use becket_events::{Event, Reply, Scope};
use becket_hooks::{Engine, Outcome};
use tokio_util::sync::CancellationToken;

use crate::audit::Ledger;
use crate::front::{Front, Sight};

/// What a session needs to ask its hooks.
#[derive(Clone)]
pub struct Hooks {
    engine: Arc<Engine>,
    front: Arc<dyn Front>,
    cancel: CancellationToken,
    scope: Scope,
    /// Counts what is permitted and done in the session.
    ledger: Arc<Ledger>,
}

impl Hooks {
    /// Hooks of a session.
    pub fn new(engine: Arc<Engine>, front: Arc<dyn Front>, cancel: CancellationToken, scope: Scope) -> Self {
        Self {
            engine,
            front,
            cancel,
            scope,
            ledger: Arc::default(),
        }
    }

    /// Counts what is permitted and done in the session.
    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Where and in whose name events happen.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Events now happen in this turn.
    pub fn set_turn(&mut self, turn: u32) {
        self.scope.turn = turn;
    }

    /// Events now happen in the name of this agent. The guards of the one before it stay: a model must not be able to
    /// leave its guards by handing the word over.
    pub fn set_agent(&mut self, name: &str, model: &str) {
        let before = std::mem::replace(&mut self.scope.agent_name, name.into());
        if before != name && !self.scope.agents_above.contains(&before) {
            self.scope.agents_above.push(before);
        }
        self.scope.model = model.into();
    }

    /// Events now happen with this model.
    pub fn set_model(&mut self, model: &str) {
        self.scope.model = model.into();
    }

    /// From now on this token cancels.
    pub fn set_cancel(&mut self, cancel: CancellationToken) {
        self.cancel = cancel;
    }

    /// Tells when the run is cancelled.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Asks handlers before something happens. A cancel ends the waiting and refuses.
    pub async fn ask<E: Event>(&self, payload: impl FnOnce() -> E::Payload) -> E::Reply {
        self.ask_whom::<E>(payload).await.0
    }

    /// The same, with the names of the handlers whose verdict counts.
    pub async fn ask_whom<E: Event>(&self, payload: impl FnOnce() -> E::Payload) -> (E::Reply, Vec<String>) {
        if !self.engine.listens(E::ID) {
            return Default::default();
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => (E::Reply::refuse("cancelled".into()), Vec::new()),
            mut outcome = self.engine.dispatch::<E>(&self.scope, payload) => {
                let deciders = std::mem::take(&mut outcome.deciders);
                (self.show(outcome), deciders)
            }
        }
    }

    /// Tells handlers about something that has happened. A cancel does not keep it from them.
    pub async fn tell<E: Event>(&self, payload: impl FnOnce() -> E::Payload) -> E::Reply {
        if !self.engine.listens(E::ID) {
            return E::Reply::default();
        }
        let outcome = self.engine.dispatch::<E>(&self.scope, payload).await;
        self.show(outcome)
    }

    /// Whether anybody listens; for events that fire very often.
    pub fn listens<E: Event>(&self) -> bool {
        self.engine.listens(E::ID)
    }

    fn show<E: Event>(&self, outcome: Outcome<E>) -> E::Reply {
        for notice in outcome.reply.notices() {
            self.front.show(Sight::Notice(notice));
        }
        outcome.reply
    }
}
