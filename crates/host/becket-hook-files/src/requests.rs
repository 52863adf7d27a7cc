//! The request that the model of a session answers, for events that come between the request and its answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_events::{Class, Message, ModelContext, ModelContextReply, RequestPurpose};
use becket_hooks::{Action, Engine, Failure, Handler, HandlerInfo, Matcher, Occasion, Registration};
use futures_util::future::BoxFuture;

/// The messages of the last request of each session.
#[derive(Debug, Clone, Default)]
pub struct Requests(Arc<Mutex<HashMap<String, Vec<Message>>>>);

impl Requests {
    fn messages(&self) -> MutexGuard<'_, HashMap<String, Vec<Message>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model of a session was shown last, besides the system prompt.
    pub fn of(&self, session_id: &str) -> Vec<Message> {
        self.messages().get(session_id).cloned().unwrap_or_default()
    }

    /// Notes the requests of a run. Hooks may rewrite them, so what counts is what the last hook leaves; one that
    /// answers in place of the model lets no other speak, so each request is noted before the first one too.
    pub fn register(&self, engine: &Engine) {
        for priority in [i32::MAX, i32::MIN] {
            engine.register(Registration::<ModelContext> {
                info: HandlerInfo {
                    priority,
                    ..HandlerInfo::native("requests for hooks", Class::Observe)
                },
                order: Vec::new(),
                matcher: Matcher::default(),
                condition: Some(Arc::new(|_, context| context.purpose == RequestPurpose::Answer)),
                action: Action::Other(Arc::new(self.clone())),
            });
        }
    }
}

impl Handler<ModelContext> for Requests {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, ModelContext>,
    ) -> BoxFuture<'a, Result<ModelContextReply, Failure>> {
        let session = occasion.scope.session_id.clone();
        self.messages().insert(session, occasion.payload.messages.clone());
        Box::pin(async { Ok(ModelContextReply::default()) })
    }
}
