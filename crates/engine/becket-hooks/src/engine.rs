//! The engine: which handlers each event has, and how an event gets into the one loop (`dispatch.rs`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use becket_events::{Class, EVENTS, Event, EventId, HookFailed, Scope, Verdict};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};

use crate::dispatch::{Dispatch, Tracing};
use crate::handler::Handler;
use crate::handler_info::Rank;
use crate::own_format::OwnHandler;
use crate::registered::Registered;
use crate::untyped::{AnyAction, AnyCondition, AnyOutcome, AnyPayload, EventKind, any_condition};
use crate::{
    Action, Condition, DispatchTrace, Failure, HandlerInfo, Matcher, Occasion, Outcome, Rehearsal,
    ReportedFailure, Witness,
};

/// Holds the handlers and asks them.
///
/// An event without handlers costs one look at a bit: its payload is not even built.
pub struct Engine {
    listening: [AtomicU64; 2],
    /// The handlers of each event, in firing order.
    slots: RwLock<Vec<Arc<Vec<Registered>>>>,
    next_key: AtomicU64,
    watchers: RwLock<Vec<Watcher>>,
    witness: Option<Arc<dyn Witness>>,
    /// The events that the witness keeps even without handlers.
    kept: [u64; 2],
    held_back: AtomicBool,
    in_shadow: AtomicBool,
    /// Whether handlers are still being loaded.
    expects: AtomicBool,
    arrival: Mutex<Option<Arrival>>,
}

/// Ends when all handlers that are being loaded have been registered.
type Arrival = Shared<BoxFuture<'static, ()>>;

/// The source of handlers that are parts of the program.
const PROGRAM: &str = "becket";

/// What these events are about can be seen by nobody before their handlers have judged it.
const UNSEEN: [EventId; 4] = [
    EventId::ResponsePart,
    EventId::PostResponse,
    EventId::Output,
    EventId::PreToolOutput,
];

/// Sees every event as JSON text, without influence on it.
pub type Watcher = Arc<dyn Fn(EventId, &str) + Send + Sync>;

/// Identifies a registered handler, to remove it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandlerKey {
    event: EventId,
    key: u64,
}

/// A handler to be registered.
pub struct Registration<E: Event> {
    /// Everything that a listing says about the handler.
    pub info: HandlerInfo,
    /// The handler's place among those of its dialect, if the dialect has its own order.
    pub order: Vec<String>,
    /// Which events the handler wants.
    pub matcher: Matcher,
    /// A condition of the dialect, if its hook covers only a part of the event.
    pub condition: Option<Condition<E>>,
    /// The function or handler that is called.
    pub action: Action<E>,
}

impl<E: Event> Registration<E> {
    /// A handler that wants every occasion of the event.
    pub fn new(info: HandlerInfo, handler: Arc<dyn Handler<E>>) -> Self {
        Self {
            info,
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: None,
            action: Action::Other(handler),
        }
    }
}

impl Engine {
    /// An engine without handlers. The witness is told about every dispatch and every failure.
    pub fn new(witness: Option<Arc<dyn Witness>>) -> Self {
        let mut kept = [0; 2];
        for event in EVENTS {
            if witness.as_ref().is_some_and(|witness| witness.keeps(event.id)) {
                let (word, bit) = bit_of(event.id);
                kept[word] |= bit;
            }
        }
        Self {
            listening: kept.map(AtomicU64::new),
            kept,
            slots: RwLock::new(vec![Arc::default(); EVENTS.len()]),
            next_key: AtomicU64::new(0),
            watchers: RwLock::new(Vec::new()),
            witness,
            held_back: AtomicBool::new(false),
            in_shadow: AtomicBool::new(false),
            expects: AtomicBool::new(false),
            arrival: Mutex::new(None),
        }
    }

    /// Announces handlers that are being loaded: no guard is asked before `arrival` has ended. It must have its own
    /// deadline.
    pub fn expect(&self, arrival: impl Future<Output = ()> + Send + 'static) {
        *self.arrival.lock().expect("nothing panics while it is held") = Some(arrival.boxed().shared());
        self.expects.store(true, Ordering::Release);
    }

    /// Waits for the handlers that are being loaded.
    async fn arrived(&self) {
        let arrival = self
            .arrival
            .lock()
            .expect("nothing panics while it is held")
            .clone();
        if let Some(arrival) = arrival {
            arrival.await;
            self.expects.store(false, Ordering::Release);
        }
    }

    /// From now on no handler is asked: the witness is told which would be, and every outcome is empty.
    pub fn hold_back(&self) {
        self.held_back.store(true, Ordering::Relaxed);
    }

    /// From now on handlers are asked and recorded, but decide and change nothing.
    pub fn put_in_shadow(&self) {
        self.in_shadow.store(true, Ordering::Relaxed);
    }

    /// Whether the event has handlers or watchers, or the witness keeps it.
    #[inline]
    pub fn listens(&self, event: EventId) -> bool {
        let (word, bit) = bit_of(event);
        self.listening[word].load(Ordering::Relaxed) & bit != 0
    }

    /// Whether the event has handlers, or may get some that are still being loaded.
    pub fn has_handlers(&self, event: EventId) -> bool {
        let slots = self.slots.read().expect("nothing panics while it is held");
        !slots[event as usize].is_empty() || self.expects.load(Ordering::Acquire)
    }

    /// How much of an event is recorded.
    fn tracing(&self, event: EventId) -> Tracing {
        let (word, bit) = bit_of(event);
        match self.witness {
            None => Tracing::None,
            Some(_) if self.kept[word] & bit != 0 => Tracing::Event,
            Some(_) => Tracing::Runs,
        }
    }

    /// Asks all handlers of an event and folds their answers. The payload is built only if something listens.
    #[inline]
    pub async fn dispatch<E: Event>(
        &self,
        scope: &Scope,
        payload: impl FnOnce() -> E::Payload,
    ) -> Outcome<E> {
        if E::CLASS == Class::Guard && self.expects.load(Ordering::Acquire) {
            self.arrived().await;
        }
        if !self.listens(E::ID) {
            return Outcome::default();
        }
        self.ask::<E>(scope, payload()).await
    }

    /// Tries out an event of any type.
    pub(crate) fn try_out<'a>(
        &'a self,
        kind: EventKind,
        scope: &'a Scope,
        payload: &'a mut dyn AnyPayload,
        rehearsal: Rehearsal<'a>,
    ) -> BoxFuture<'a, (AnyOutcome, Option<DispatchTrace>)> {
        Box::pin(async move {
            let all = self.handlers(kind.id);
            let takes_part = |handler: &&Registered| rehearsal.among.is_none_or(|among| among(&handler.info));
            let handlers: Vec<_> = all.iter().filter(takes_part).cloned().collect();
            let dispatch = Dispatch::new(kind, scope, payload, Tracing::Runs);
            dispatch.rehearsed(rehearsal.fault).run(&handlers).await
        })
    }

    /// Adds a handler. Its class is lowered to the event's if it is stronger.
    pub fn register<E: Event>(&self, registration: Registration<E>) -> HandlerKey {
        let Registration {
            info,
            order,
            matcher,
            condition,
            action,
        } = registration;
        let condition = condition.map(any_condition::<E>);
        let kind = EventKind::of::<E>();
        self.add(kind, (info, order), (matcher, condition), AnyAction::of(action))
    }

    /// Adds one of becket's own hooks.
    pub(crate) fn add_own(&self, info: HandlerInfo, matcher: Matcher, handler: OwnHandler) {
        let kind = handler.kind;
        let action = AnyAction::Other(Arc::new(handler));
        self.add(kind, (info, Vec::new()), (matcher, None), action);
    }

    /// Adds a handler of any event.
    fn add(
        &self,
        kind: EventKind,
        (mut info, order): (HandlerInfo, Vec<String>),
        (matcher, condition): (Matcher, Option<AnyCondition>),
        action: AnyAction,
    ) -> HandlerKey {
        let event = kind.id;
        info.class = info.class.min(kind.class);
        info.matcher = info.matcher.or_else(|| matcher.described());
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        let rank = Rank::new(&info, order, key);
        let handler = Registered {
            info: Arc::new(info),
            rank,
            matcher,
            condition,
            action,
            key,
        };
        self.change(event, |handlers| {
            let place = handlers.partition_point(|other| other.rank < handler.rank);
            handlers.insert(place, handler);
        });
        HandlerKey { event, key }
    }

    /// Adds a Rust function under a name.
    pub fn on<E: Event>(
        &self,
        name: &str,
        function: impl Fn(&Occasion<'_, E>) -> Result<E::Reply, Failure> + Send + Sync + 'static,
    ) -> HandlerKey {
        self.register(Registration {
            info: HandlerInfo::native(name, E::CLASS),
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: None,
            action: Action::Native(Arc::new(function)),
        })
    }

    /// Removes a handler.
    pub fn remove(&self, key: HandlerKey) {
        self.change(key.event, |handlers| {
            handlers.retain(|handler| handler.key != key.key);
        });
    }

    /// The handlers of an event, in firing order.
    pub fn handlers_of(&self, event: EventId) -> Vec<Arc<HandlerInfo>> {
        let handlers = self.handlers(event);
        handlers.iter().map(|handler| Arc::clone(&handler.info)).collect()
    }

    /// Shows every event to a watcher as JSON, just before its handlers are asked. What nobody may see before it was
    /// judged is shown after that, as it then is, unless it was refused.
    pub fn watch(&self, watcher: Watcher) {
        // Held until the bits are set, or somebody who removes a handler meanwhile could clear one of them.
        let mut watchers = self
            .watchers
            .write()
            .expect("no watcher panics while it is added");
        watchers.push(watcher);
        for word in &self.listening {
            word.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// The slow part of `dispatch`, for an event that something listens to.
    async fn ask<E: Event>(&self, scope: &Scope, mut payload: E::Payload) -> Outcome<E> {
        let outcome = self.ask_all(EventKind::of::<E>(), scope, &mut payload);
        outcome.await.map(AnyOutcome::typed).unwrap_or_default()
    }

    /// Asks the handlers of an event of any type; `None` if it has none.
    ///
    /// Boxed, so that it is compiled once and no caller carries it; and because a failure makes it call itself for
    /// `hook_failed`.
    fn ask_all<'a>(
        &'a self,
        kind: EventKind,
        scope: &'a Scope,
        payload: &'a mut dyn AnyPayload,
    ) -> BoxFuture<'a, Option<AnyOutcome>> {
        Box::pin(async move {
            let handlers = self.handlers(kind.id);
            let is_unseen = !handlers.is_empty() && UNSEEN.contains(&kind.id);
            if !is_unseen {
                self.show_watchers(kind, scope, payload);
            }
            let tracing = self.tracing(kind.id);
            if handlers.is_empty() && tracing != Tracing::Event {
                return None;
            }
            let in_shadow = self.in_shadow.load(Ordering::Relaxed);
            let dispatch = Dispatch::new(kind, scope, &mut *payload, tracing).in_shadow(in_shadow);
            let (outcome, trace) = match self.held_back.load(Ordering::Relaxed) {
                true => dispatch.held_back(&handlers),
                false => dispatch.run(&handlers).await,
            };
            let reply = &outcome.reply;
            let is_allowed = reply.verdict().is_none_or(|verdict| *verdict == Verdict::Allow);
            if is_unseen && is_allowed && !reply.ends_chain() {
                self.show_watchers(kind, scope, payload);
            }
            if let (Some(witness), Some(trace)) = (&self.witness, trace) {
                witness.dispatched(trace);
            }
            for failure in &outcome.failures {
                self.report(scope, failure).await;
            }
            Some(outcome)
        })
    }

    fn show_watchers(&self, kind: EventKind, scope: &Scope, payload: &dyn AnyPayload) {
        let watchers = self.watchers.read().expect("no watcher panics while it is added");
        if !watchers.is_empty() {
            let text = kind.envelope(scope, payload);
            for watcher in watchers.iter() {
                watcher(kind.id, &text);
            }
        }
    }

    /// Reports a failure: to the witness, and as an event of its own.
    async fn report(&self, scope: &Scope, failed: &ReportedFailure) {
        if let Some(witness) = &self.witness {
            witness.failed(failed);
        }
        // A handler of `hook_failed` that fails is only reported, or it would be told about itself for ever.
        if failed.event != EventId::HookFailed && self.listens(EventId::HookFailed) {
            self.ask::<HookFailed>(scope, failed.payload()).await;
        }
    }

    pub(crate) fn handlers(&self, event: EventId) -> Arc<Vec<Registered>> {
        let slots = self
            .slots
            .read()
            .expect("no handler panics while it is registered");
        Arc::clone(&slots[event as usize])
    }

    /// Replaces the handlers of an event; dispatches in progress keep the handlers they began with.
    fn change(&self, event: EventId, change: impl FnOnce(&mut Vec<Registered>)) {
        // Held to the end: of two who register at once, neither may put back a list without the other's guard.
        let mut slots = self
            .slots
            .write()
            .expect("no handler panics while it is registered");
        let mut handlers = slots[event as usize].as_ref().clone();
        change(&mut handlers);
        let (word, bit) = bit_of(event);
        let watchers = self.watchers.read().expect("no watcher panics while it is added");
        if handlers.is_empty() && watchers.is_empty() && self.kept[word] & bit == 0 {
            self.listening[word].fetch_and(!bit, Ordering::Relaxed);
        } else {
            self.listening[word].fetch_or(bit, Ordering::Relaxed);
        }
        let before = std::mem::replace(&mut slots[event as usize], Arc::new(handlers));
        drop((watchers, slots));
        // A handler that goes may end a machine or a process, and nobody waits for that.
        drop(before);
    }
}

/// The place of an event in the bit masks: the word and the bit.
fn bit_of(event: EventId) -> (usize, u64) {
    let index = event as usize;
    (index / 64, 1 << (index % 64))
}

impl HandlerInfo {
    /// Whether the handler is a part of becket itself and not configured.
    pub fn is_of_the_program(&self) -> bool {
        self.lane == crate::LaneKind::Native && self.source == PROGRAM
    }

    /// The description of a Rust function for listings.
    pub fn native(name: &str, class: Class) -> Self {
        Self {
            name: name.into(),
            source: PROGRAM.into(),
            dialect: crate::Dialect::BECKET,
            known_as: None,
            lane: crate::LaneKind::Native,
            class,
            priority: 0,
            timeout: std::time::Duration::from_secs(30),
            matcher: None,
            shadow: false,
            rewrites: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use becket_events::{PreTool, PreToolReply};

    use super::*;

    #[test]
    fn handlers_that_are_registered_at_once_are_all_kept() {
        const EACH: usize = 100;
        let engine = Engine::new(None);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let engine = &engine;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let name = format!("guard {thread} {number}");
                        engine.on::<PreTool>(&name, |_| Ok(PreToolReply::default()));
                    }
                });
            }
        });
        assert_eq!(engine.handlers_of(EventId::PreTool).len(), 8 * EACH);
    }
}
