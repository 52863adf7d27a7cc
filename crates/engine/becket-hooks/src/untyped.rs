//! Events whose types are known only by a table of functions.
//!
//! The loop of a dispatch (`dispatch.rs`) is the same for every event, so it is compiled once: payloads, replies and
//! handlers come to it behind these traits. Code that fires an event or answers one works with its own types
//! (`Engine::dispatch`, `Handler`); the conversion between the two is here and nowhere else.

use std::any::Any;
use std::sync::Arc;

use becket_events::{Class, Event, EventId, Payload, Reply, Scope, Verdict, Visitor, envelope_of};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::handler::{Action, Condition, Handler};
use crate::occasion::{Occasion, Setting};
use crate::{Failure, Outcome, ReportedFailure};

/// What the loop knows about an event.
#[derive(Clone, Copy)]
pub(crate) struct EventKind {
    pub(crate) id: EventId,
    pub(crate) class: Class,
    /// Whether handlers run one after another.
    pub(crate) is_sequential: bool,
    /// Whether a handler can change what the next one sees.
    pub(crate) rewrites: bool,
    /// The reply of a handler that said nothing.
    pub(crate) silence: fn() -> Box<dyn AnyReply>,
    /// A reply that refuses.
    pub(crate) refuse: fn(String) -> Box<dyn AnyReply>,
    /// Reads a reply from JSON text.
    pub(crate) parse: fn(&str) -> Result<Box<dyn AnyReply>, serde_json::Error>,
    /// Reads a payload from JSON text.
    pub(crate) read: fn(&str) -> Result<Box<dyn AnyPayload>, serde_json::Error>,
}

impl EventKind {
    pub(crate) const fn of<E: Event>() -> Self {
        Self {
            id: E::ID,
            class: E::CLASS,
            is_sequential: E::Reply::SEQUENTIAL,
            rewrites: E::Reply::REWRITES,
            silence: || Box::new(E::Reply::default()),
            refuse: |reason| Box::new(E::Reply::refuse(reason)),
            parse: |text| {
                let reply: E::Reply = serde_json::from_str(text)?;
                Ok(Box::new(reply))
            },
            read: |text| {
                let payload: E::Payload = serde_json::from_str(text)?;
                Ok(Box::new(payload))
            },
        }
    }

    pub(crate) fn by_id(id: EventId) -> Self {
        struct Kind;
        impl Visitor for Kind {
            type Output = EventKind;

            fn visit<E: Event>(self) -> EventKind {
                EventKind::of::<E>()
            }
        }
        id.visit(Kind)
    }

    /// The JSON text that handlers receive.
    pub(crate) fn envelope(&self, scope: &Scope, payload: &dyn AnyPayload) -> String {
        envelope_of(self.id.info().name, scope, &payload.json())
    }
}

/// The payload of any event.
pub(crate) trait AnyPayload: Any + Send + Sync {
    fn field(&self, name: &str) -> Option<Value>;
    fn json(&self) -> String;
    fn copied(&self) -> Box<dyn AnyPayload>;
    fn settle(&mut self);
}

impl<P: Payload> AnyPayload for P {
    fn field(&self, name: &str) -> Option<Value> {
        Payload::field(self, name)
    }

    fn json(&self) -> String {
        serde_json::to_string(self).expect("a payload is plain data")
    }

    fn copied(&self) -> Box<dyn AnyPayload> {
        Box::new(self.clone())
    }

    fn settle(&mut self) {
        Payload::settle(self);
    }
}

/// The reply to any event.
pub(crate) trait AnyReply: Any + Send + Sync {
    fn then(self: Box<Self>, later: Box<dyn AnyReply>) -> Box<dyn AnyReply>;
    fn ends_chain(&self) -> bool;
    fn apply(&self, payload: &mut dyn AnyPayload) -> bool;
    fn drop_rewrites(&mut self);
    fn verdict_alone(self: Box<Self>) -> Box<dyn AnyReply>;
    fn additions(self: Box<Self>) -> Box<dyn AnyReply>;
    fn verdict(&self) -> Option<&Verdict>;
    fn halt(&self) -> Option<&str>;
    fn json(&self) -> Value;
}

impl<R: Reply> AnyReply for R
where
    R::Payload: Payload,
{
    fn then(self: Box<Self>, later: Box<dyn AnyReply>) -> Box<dyn AnyReply> {
        Box::new(Reply::then(*self, reply_of::<R>(later)))
    }

    fn ends_chain(&self) -> bool {
        Reply::ends_chain(self)
    }

    fn apply(&self, payload: &mut dyn AnyPayload) -> bool {
        let payload: &mut dyn Any = payload;
        Reply::apply(self, payload.downcast_mut().expect(ONE_EVENT))
    }

    fn drop_rewrites(&mut self) {
        Reply::drop_rewrites(self);
    }

    fn verdict_alone(self: Box<Self>) -> Box<dyn AnyReply> {
        Box::new(Reply::verdict_alone(*self))
    }

    fn additions(self: Box<Self>) -> Box<dyn AnyReply> {
        Box::new(Reply::additions(*self))
    }

    fn verdict(&self) -> Option<&Verdict> {
        Reply::verdict(self)
    }

    fn halt(&self) -> Option<&str> {
        Reply::halt(self)
    }

    fn json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Why a cast cannot fail: handlers are kept by event, so their payloads and replies are of that event.
const ONE_EVENT: &str = "a dispatch is about one event";

pub(crate) fn reply_of<R: Reply>(reply: Box<dyn AnyReply>) -> R {
    let reply: Box<dyn Any> = reply;
    *reply.downcast().expect(ONE_EVENT)
}

/// The outcome of any event.
pub(crate) struct AnyOutcome {
    pub(crate) reply: Box<dyn AnyReply>,
    pub(crate) failures: Vec<ReportedFailure>,
    pub(crate) deciders: Vec<String>,
}

impl AnyOutcome {
    pub(crate) fn typed<E: Event>(self) -> Outcome<E> {
        Outcome {
            reply: reply_of(self.reply),
            failures: self.failures,
            deciders: self.deciders,
        }
    }
}

/// Any event as a handler sees it.
pub(crate) struct AnyOccasion<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) payload: &'a dyn AnyPayload,
    pub(crate) setting: Setting<'a>,
}

impl AnyOccasion<'_> {
    fn typed<E: Event>(&self) -> Occasion<'_, E> {
        let payload: &dyn Any = self.payload;
        Occasion {
            scope: self.scope,
            payload: payload.downcast_ref().expect(ONE_EVENT),
            setting: &self.setting,
        }
    }
}

/// Whether a handler wants an event of any type.
pub(crate) type AnyCondition = Arc<dyn Fn(&Scope, &dyn AnyPayload) -> bool + Send + Sync>;

pub(crate) fn any_condition<E: Event>(condition: Condition<E>) -> AnyCondition {
    Arc::new(move |scope, payload| {
        let payload: &dyn Any = payload;
        condition(scope, payload.downcast_ref().expect(ONE_EVENT))
    })
}

/// What is called for an event of any type.
#[derive(Clone)]
pub(crate) enum AnyAction {
    Native(Arc<AnyFunction>),
    Other(Arc<dyn AnyHandler>),
}

pub(crate) type AnyFunction = dyn Fn(&AnyOccasion<'_>) -> AnyAnswer + Send + Sync;

pub(crate) type AnyAnswer = Result<Box<dyn AnyReply>, Failure>;

impl AnyAction {
    pub(crate) fn of<E: Event>(action: Action<E>) -> Self {
        match action {
            Action::Native(function) => Self::Native(Arc::new(move |occasion| {
                let reply = function(&occasion.typed::<E>())?;
                Ok(Box::new(reply) as Box<dyn AnyReply>)
            })),
            Action::Other(handler) => Self::Other(Arc::new(TypedHandler(handler))),
        }
    }
}

/// A handler of any event.
pub(crate) trait AnyHandler: Send + Sync {
    fn call<'a>(&'a self, occasion: &'a AnyOccasion<'a>) -> BoxFuture<'a, AnyAnswer>;

    fn why_not(&self, _scope: &Scope, _payload: &dyn AnyPayload) -> Option<String> {
        None
    }

    fn is_done(&self, scope: &Scope) -> bool {
        let _ = scope;
        false
    }
}

/// A handler with its event's type.
struct TypedHandler<E: Event>(Arc<dyn Handler<E>>);

impl<E: Event> AnyHandler for TypedHandler<E> {
    fn call<'a>(&'a self, occasion: &'a AnyOccasion<'a>) -> BoxFuture<'a, AnyAnswer> {
        Box::pin(async move {
            let typed = occasion.typed::<E>();
            let reply = self.0.call(&typed).await?;
            Ok(Box::new(reply) as Box<dyn AnyReply>)
        })
    }

    fn why_not(&self, scope: &Scope, payload: &dyn AnyPayload) -> Option<String> {
        let payload: &dyn Any = payload;
        self.0.why_not(scope, payload.downcast_ref().expect(ONE_EVENT))
    }

    fn is_done(&self, scope: &Scope) -> bool {
        self.0.is_done(scope)
    }
}
