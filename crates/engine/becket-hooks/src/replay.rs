//! Replays an event as it was recorded.

use becket_events::{Event, EventId, Scope, Visitor};
use futures_util::future::LocalBoxFuture;

use crate::{DispatchTrace, Engine, Rehearsal};

impl Engine {
    /// Asks the handlers about a recorded event, as a rehearsal. `None` if no handler wants it; an error if the text is
    /// not that of such an event.
    pub fn replay<'a>(
        &'a self,
        event: EventId,
        text: &'a str,
    ) -> LocalBoxFuture<'a, Result<Option<DispatchTrace>, serde_json::Error>> {
        event.visit(Again { engine: self, text })
    }
}

/// A recorded event that is about to be read as its own type.
struct Again<'a> {
    engine: &'a Engine,
    text: &'a str,
}

impl<'a> Visitor for Again<'a> {
    type Output = LocalBoxFuture<'a, Result<Option<DispatchTrace>, serde_json::Error>>;

    fn visit<E: Event>(self) -> Self::Output {
        Box::pin(async move {
            let scope: Scope = serde_json::from_str(self.text)?;
            let payload: E::Payload = serde_json::from_str(self.text)?;
            let rehearsal = Rehearsal::default();
            let (_, trace) = self.engine.rehearse::<E>(&scope, payload, rehearsal).await;
            Ok(trace)
        })
    }
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
        assert_eq!(verdict, Some(becket_events::Verdict::Deny("not that".into())));
        assert!(later.replay(EventId::PreTool, "{}").await.is_err());
    }
}
