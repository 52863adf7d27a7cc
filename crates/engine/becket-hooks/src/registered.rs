//! A handler as the engine keeps it.

use std::sync::Arc;

use becket_events::Scope;

use crate::handler_info::Rank;
use crate::untyped::{AnyAction, AnyCondition, AnyPayload};
use crate::{HandlerInfo, Matcher};

/// A handler with its place in the order.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) info: Arc<HandlerInfo>,
    pub(crate) rank: Rank,
    pub(crate) matcher: Matcher,
    pub(crate) condition: Option<AnyCondition>,
    pub(crate) action: AnyAction,
    pub(crate) key: u64,
}

impl Registered {
    /// Whether the handler wants no further events.
    pub(crate) fn is_done(&self, scope: &Scope) -> bool {
        matches!(&self.action, AnyAction::Other(handler) if handler.is_done(scope))
    }

    /// Whether the handler wants this event.
    pub(crate) fn wants(&self, scope: &Scope, payload: &dyn AnyPayload) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|condition| condition(scope, payload))
            && self.matcher.fits(scope, &|name| payload.field(name))
    }

    /// Why the handler does not want this event; `None` if it does.
    pub(crate) fn why_not(&self, scope: &Scope, payload: &dyn AnyPayload) -> Option<String> {
        if self.wants(scope, payload) {
            return None;
        }
        let unmet = self.matcher.unmet(scope, &|name| payload.field(name));
        let told = || match &self.action {
            AnyAction::Other(handler) => handler.why_not(scope, payload),
            AnyAction::Native(_) => None,
        };
        let reason = unmet.or_else(told);
        Some(reason.unwrap_or_else(|| "it applies to other events of this kind".to_owned()))
    }
}
