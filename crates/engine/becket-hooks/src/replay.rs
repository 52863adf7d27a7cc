//! Events that are read from JSON text, as they were recorded or made up, and tried out.

use std::sync::Arc;

use becket_events::{EventId, Scope, Verdict};
use serde_json::Value;

use crate::untyped::{AnyOutcome, AnyPayload, EventKind};
use crate::{DispatchTrace, Engine, HandlerInfo, Rehearsal, ReportedFailure};

/// An event that was read from JSON text.
pub struct ReadEvent {
    kind: EventKind,
    scope: Scope,
    payload: Box<dyn AnyPayload>,
}

impl ReadEvent {
    /// Reads what handlers of an event receive. The error names the field that is missing or wrong.
    pub fn read(event: EventId, text: &str) -> Result<Self, serde_json::Error> {
        let kind = EventKind::by_id(event);
        Ok(Self {
            kind,
            scope: serde_json::from_str(text)?,
            payload: (kind.read)(text)?,
        })
    }

    /// Brings a payload that somebody made up into its normal form.
    pub fn settle(&mut self) {
        self.payload.settle();
    }
}

/// How an event ended that was tried out.
pub struct Rehearsed {
    /// The payload as it was fired.
    pub before: Value,
    /// The payload after all handlers have answered.
    pub after: Value,
    /// What was recorded; `None` if no handler wanted the event.
    pub trace: Option<DispatchTrace>,
    /// The combined reply.
    pub reply: Value,
    pub verdict: Option<Verdict>,
    /// The handlers whose verdict it is.
    pub deciders: Vec<String>,
    pub failures: Vec<ReportedFailure>,
}

impl Engine {
    /// Tries an event out: the same loop, with a record of what each handler read and answered. Neither the witness nor
    /// the handlers of `hook_failed` are told.
    pub async fn rehearse(&self, event: &ReadEvent, rehearsal: Rehearsal<'_>) -> Rehearsed {
        let ReadEvent { kind, scope, payload } = event;
        let mut payload = payload.copied();
        let before = json(&*payload);
        let (outcome, trace) = self.try_out(*kind, scope, &mut *payload, rehearsal).await;
        let AnyOutcome {
            reply,
            failures,
            deciders,
        } = outcome;
        let mut after = event.payload.copied();
        reply.apply(&mut *after);
        Rehearsed {
            before,
            after: json(&*after),
            trace,
            reply: reply.json(),
            verdict: reply.verdict().cloned(),
            deciders,
            failures,
        }
    }

    /// Asks the handlers about a recorded event, as a rehearsal. `None` if no handler wants it; an error if the text is
    /// not that of such an event.
    pub async fn replay(
        &self,
        event: EventId,
        text: &str,
    ) -> Result<Option<DispatchTrace>, serde_json::Error> {
        let ReadEvent {
            kind,
            scope,
            mut payload,
        } = ReadEvent::read(event, text)?;
        let tried = self.try_out(kind, &scope, &mut *payload, Rehearsal::default());
        Ok(tried.await.1)
    }

    /// The handlers of the event whose conditions do not match it, each with the reason.
    pub fn not_wanting(&self, event: &ReadEvent) -> Vec<(Arc<HandlerInfo>, String)> {
        let handlers = self.handlers(event.kind.id);
        let reasons = handlers.iter().filter_map(|handler| {
            let reason = handler.why_not(&event.scope, &*event.payload)?;
            Some((Arc::clone(&handler.info), reason))
        });
        reasons.collect()
    }
}

fn json(payload: &dyn AnyPayload) -> Value {
    serde_json::from_str(&payload.json()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use becket_events::{PreTool, PreToolPayload, PreToolReply, Reply, TurnEnded};

    use super::*;
    use crate::{ReportedFailure, Witness};

    /// A witness that keeps `pre_tool` events.
    #[derive(Default)]
    struct Keeper(Mutex<Vec<DispatchTrace>>);

    impl Witness for Keeper {
        fn dispatched(&self, trace: DispatchTrace) {
            self.0.lock().expect("nobody panics").push(trace);
        }

        fn failed(&self, _: &ReportedFailure) {}

        fn keeps(&self, event: EventId) -> bool {
            event == EventId::PreTool
        }
    }

    fn payload() -> PreToolPayload {
        PreToolPayload {
            tool_source: "builtin".into(),
            tool_call_id: "call-1".into(),
            tool_name: "shell".into(),
            called_as: "shell".into(),
            operation: None,
            arguments: [("command".to_owned(), "ls".into())].into_iter().collect(),
            parent_tool_call_id: None,
        }
    }

    #[tokio::test]
    async fn what_nobody_heard_is_kept_and_can_be_judged_later() {
        let keeper = Arc::new(Keeper::default());
        let engine = Engine::new(Some(keeper.clone()));
        assert!(engine.listens(EventId::PreTool) && !engine.listens(EventId::TurnEnded));
        let key = engine.on::<PreTool>("gone", |_| Ok(PreToolReply::default()));
        engine.remove(key);
        let scope = Scope {
            cwd: "/work".into(),
            ..Scope::default()
        };
        engine.dispatch::<PreTool>(&scope, payload).await;
        engine
            .dispatch::<TurnEnded>(&scope, || unreachable!("nobody listens"))
            .await;
        let kept = std::mem::take(&mut *keeper.0.lock().expect("nobody panics"));
        let [trace] = kept.as_slice() else {
            panic!("one event is kept: {kept:?}");
        };
        assert!(trace.runs.is_empty() && trace.verdict.is_none());
        let text = trace
            .original
            .as_ref()
            .expect("the event itself")
            .text()
            .to_owned();

        let later = Engine::new(None);
        assert!(
            later
                .replay(EventId::PreTool, &text)
                .await
                .expect("readable")
                .is_none()
        );
        later.on::<PreTool>("guard", |occasion| {
            assert_eq!(occasion.scope.cwd, "/work");
            assert_eq!(occasion.payload.arguments, payload().arguments);
            Ok(PreToolReply::refuse("not that".into()))
        });
        let trace = later.replay(EventId::PreTool, &text).await.expect("readable");
        let verdict = trace.and_then(|trace| trace.verdict);
        assert_eq!(verdict, Some(Verdict::Deny("not that".into())));
        assert!(later.replay(EventId::PreTool, "{}").await.is_err());
    }
}
