//! The prompt that a session answers, by an id that stays the same until the next prompt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use becket_events::{Class, UserPrompt, UserPromptReply};
use becket_hooks::{Action, Engine, Failure, Handler, HandlerInfo, Matcher, Occasion, Registration};
use futures_util::future::BoxFuture;

/// How many prompts each session has had.
#[derive(Debug, Clone, Default)]
pub struct PromptIds(Arc<Mutex<HashMap<String, u32>>>);

impl PromptIds {
    fn counts(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of the prompt that a session answers; `None` before the first one.
    pub fn of(&self, session_id: &str) -> Option<String> {
        let count = *self.counts().get(session_id)?;
        Some(format!("{session_id}-{count}"))
    }

    /// Counts the prompts of a run, before any hook is told of them.
    pub fn register(&self, engine: &Engine) {
        engine.register(Registration::<UserPrompt> {
            info: HandlerInfo {
                priority: i32::MAX,
                ..HandlerInfo::native("ids of prompts", Class::Transform)
            },
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: Some(Arc::new(|_, prompt| prompt.continuation == 0)),
            action: Action::Other(Arc::new(self.clone())),
        });
    }
}

impl Handler<UserPrompt> for PromptIds {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, UserPrompt>,
    ) -> BoxFuture<'a, Result<UserPromptReply, Failure>> {
        let session = occasion.scope.session_id.clone();
        *self.counts().entry(session).or_default() += 1;
        Box::pin(async { Ok(UserPromptReply::default()) })
    }
}
