//! The agent's side of the engine: asks handlers in the session's name, shows what they report, and stops waiting at a
//! cancel.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_events::{Event, Reply, Scope};
use becket_hooks::{Engine, Outcome};
use tokio_util::sync::CancellationToken;

use crate::audit::Ledger;
use crate::question::User;
use crate::shared_mode::SharedMode;

/// Asks a session's hooks, in the session's name.
#[derive(Clone)]
pub struct Hooks {
    engine: Arc<Engine>,
    user: Arc<dyn User>,
    cancel: CancellationToken,
    scope: Scope,
    /// The permission mode that events tell; without one they tell what the scope says.
    mode: Option<SharedMode>,
    /// Counts what is permitted and done in the session.
    ledger: Arc<Ledger>,
    requests: Arc<Mutex<Requests>>,
}

/// What handlers have asked for and the loop carries out at its next step.
#[derive(Default)]
struct Requests {
    /// Why the run must end.
    halt: Option<String>,
    /// Text for the model.
    context: Vec<String>,
}

impl Hooks {
    /// The hooks of a session.
    pub fn new(engine: Arc<Engine>, user: Arc<dyn User>, cancel: CancellationToken, scope: Scope) -> Self {
        Self {
            engine,
            user,
            cancel,
            scope,
            mode: None,
            ledger: Arc::default(),
            requests: Arc::default(),
        }
    }

    /// The same hooks, told the permission mode that counts when an event fires.
    pub fn in_mode(mut self, mode: SharedMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The scope of an event that fires now.
    fn scope_now(&self) -> Cow<'_, Scope> {
        let mode = self.mode.as_ref().map(SharedMode::get);
        if mode.is_none() || mode == self.scope.permission_mode {
            return Cow::Borrowed(&self.scope);
        }
        Cow::Owned(Scope {
            permission_mode: mode,
            ..self.scope.clone()
        })
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the run must end, if a handler wants that.
    pub fn halt(&self) -> Option<String> {
        self.requests().halt.clone()
    }

    /// Why the run must end, if a handler wants that; the next run may begin.
    pub fn take_halt(&self) -> Option<String> {
        self.requests().halt.take()
    }

    /// Adds text for the model.
    pub fn add_context(&self, texts: Vec<String>) {
        self.requests().context.extend(texts);
    }

    /// The text for the model that was added since the last call.
    pub fn take_context(&self) -> Vec<String> {
        std::mem::take(&mut self.requests().context)
    }

    /// Counts what is permitted and done in the session.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The session, context and agent in whose name events fire.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// From now on events fire in this turn.
    pub fn set_turn(&mut self, turn: u32) {
        self.scope.turn = turn;
    }

    /// From now on events fire in the name of this agent. The guards of the one before it stay: a model must not be
    /// able to leave its guards by handing over to another agent.
    pub fn set_agent(&mut self, name: &str, model: &str) {
        let before = std::mem::replace(&mut self.scope.agent_name, name.into());
        if before != name && !self.scope.agents_above.contains(&before) {
            self.scope.agents_above.push(before);
        }
        self.scope.model = model.into();
    }

    /// From now on events fire with this model.
    pub fn set_model(&mut self, model: &str) {
        self.scope.model = model.into();
    }

    /// Replaces the token that cancels.
    pub fn set_cancel(&mut self, cancel: CancellationToken) {
        self.cancel = cancel;
    }

    /// The token that cancels the run.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Asks handlers before something happens. A cancel ends the waiting and refuses.
    pub async fn ask<E: Event>(&self, payload: impl FnOnce() -> E::Payload) -> E::Reply {
        self.ask_whom::<E>(payload).await.0
    }

    /// Asks handlers before something happens, and returns the names of those whose verdict counts as well.
    pub async fn ask_whom<E: Event>(&self, payload: impl FnOnce() -> E::Payload) -> (E::Reply, Vec<String>) {
        if !self.engine.listens(E::ID) {
            return Default::default();
        }
        let scope = self.scope_now();
        tokio::select! {
            // Biased, so that after a cancel no handler runs any more.
            biased;
            () = self.cancel.cancelled() => (E::Reply::refuse("cancelled".into()), Vec::new()),
            mut outcome = self.engine.dispatch::<E>(&scope, payload) => {
                let deciders = std::mem::take(&mut outcome.deciders);
                (self.show(outcome), deciders)
            }
        }
    }

    /// Tells handlers about something that has happened, even after a cancel.
    pub async fn tell<E: Event>(&self, payload: impl FnOnce() -> E::Payload) -> E::Reply {
        if !self.engine.listens(E::ID) {
            return E::Reply::default();
        }
        let outcome = self.engine.dispatch::<E>(&self.scope_now(), payload).await;
        self.show(outcome)
    }

    /// Whether a handler will be asked, or may be, because handlers are still being loaded.
    pub fn has_handlers<E: Event>(&self) -> bool {
        self.engine.listens(E::ID) && self.engine.has_handlers(E::ID)
    }

    /// Whether any handler listens; for events that fire very often.
    pub fn listens<E: Event>(&self) -> bool {
        self.engine.listens(E::ID)
    }

    fn show<E: Event>(&self, outcome: Outcome<E>) -> E::Reply {
        for notice in outcome.reply.notices() {
            self.user.notice(notice);
        }
        if let Some(reason) = outcome.reply.halt() {
            self.requests().halt.get_or_insert_with(|| reason.to_owned());
        }
        outcome.reply
    }
}
