//! Approval by what becket has already: the user, and hooks of `permission_request`.

use std::sync::Arc;

use becket_agent::front::{Front, Question, UserAnswer};
use becket_events::{PermissionRequest, PermissionRequestPayload, Verdict as Ruling};
use becket_hooks::Engine;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::dialect::DIALECT;
use crate::interceptor::{ApprovalRequest, Approver, Context, Resolution, Unanswered};
use crate::verdict::InterceptorVerdict;

/// The user, who is asked at the front end.
pub struct ByUser(pub Arc<dyn Front>);

impl Approver for ByUser {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<Resolution, Unanswered>> {
        Box::pin(async move {
            let (id, name, arguments) = subject(request);
            let question = Question {
                agent: None,
                tool_call_id: id,
                tool_name: name,
                operation: None,
                source: None,
                arguments,
                reason: Some(request.verdict.words()),
                handlers: vec![DIALECT.name.into()],
                metadata: Map::new(),
                offer: None,
                target: None,
                preview: None,
                has_changed: false,
            };
            let answer = self.0.ask(&question).await;
            let verdict = match answer {
                UserAnswer::Cancel => return Err(Unanswered::Cancelled),
                UserAnswer::Nobody => None,
                UserAnswer::No(words) => Some(rejected("rejected_by_user", words)),
                UserAnswer::Yes | UserAnswer::YesAgain | UserAnswer::YesWithRule(_) => {
                    Some(InterceptorVerdict::allow())
                }
            };
            Ok(Resolution::to(request, verdict))
        })
    }
}

/// Hooks of `permission_request`. A verdict that leads to a question decides nothing.
pub struct ByHooks(pub Arc<Engine>);

impl Approver for ByHooks {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<Resolution, Unanswered>> {
        Box::pin(async move {
            let (id, name, arguments) = subject(request);
            let payload = || PermissionRequestPayload {
                tool_call_id: id.unwrap_or_default(),
                called_as: name.clone(),
                tool_name: name,
                tool_source: DIALECT.name.into(),
                operation: None,
                arguments,
                reason: Some(request.verdict.words()),
            };
            let outcome = self.0.dispatch::<PermissionRequest>(request.scope, payload).await;
            let verdict = match outcome.reply.verdict.0 {
                Some(Ruling::Allow) => Some(InterceptorVerdict::allow()),
                Some(Ruling::Deny(words)) => Some(rejected("rejected_by_hook", Some(words))),
                _ => None,
            };
            Ok(Resolution::to(request, verdict))
        })
    }
}

/// A deny that stands, with the words of who was asked.
fn rejected(reason: &str, message: Option<String>) -> InterceptorVerdict {
    InterceptorVerdict {
        message,
        ..InterceptorVerdict::deny(reason)
    }
}

/// What somebody is asked about, as a call: the tool call of the context, or else the point with its target.
fn subject(request: &ApprovalRequest<'_>) -> (Option<String>, String, Map<String, Value>) {
    let call = |name: &str| request.context.get("tool_call").and_then(|call| call.get(name));
    let text = |name: &str| call(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let name = text("name").unwrap_or_else(|| request.interception_point.name().to_owned());
    let arguments = match target(request.context) {
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(other) => Map::from_iter([("target".to_owned(), other.clone())]),
        None => Map::new(),
    };
    (text("id"), name, arguments)
}

fn target(context: &Context) -> Option<&Value> {
    context.get("target")
}
