//! The eight points as handlers of becket's events: what an event means as a context, and what a verdict means as a
//! reply.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_events::{
    Class, EndReason, Event, First, ModelContext, ModelContextReply, Output, OutputReply, PostResponse,
    PostResponseReply, PreTool, PreToolOutput, PreToolOutputReply, PreToolReply, ResponsePart,
    ResponsePartReply, Rewrite, Scope, SessionEnd, SessionEndReply, SessionStart, SessionStartReply,
    Steering, SteeringReply, Strictest, UserPrompt, UserPromptReply, Verdict as Ruling,
};
use becket_hooks::{Engine, Failure, Handler, HandlerInfo, LaneKind, Occasion, Registration};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::conversation::{Answer, Shown, output_of, value_of};
use crate::dialect::DIALECT;
use crate::emitter::{Emitter, Members};
use crate::point::Point;
use crate::record::Mode;
use crate::verdict::HostError;

/// How long becket waits besides the deadlines of those who are asked, for each of them and for the emission.
const SPARE: Duration = Duration::from_secs(5);

/// Asks interceptors at becket's events.
struct Interception {
    emitter: Arc<Emitter>,
    /// Why sessions whose beginning was denied may do nothing.
    refused: Mutex<HashMap<String, String>>,
}

/// Registers the handlers of all points.
pub fn register(engine: &Engine, emitter: Arc<Emitter>) {
    let is_incremental = emitter.setup().incremental;
    let interception = Arc::new(Interception {
        emitter,
        refused: Mutex::default(),
    });
    add::<SessionStart>(engine, &interception, Point::AgentStartup);
    add::<UserPrompt>(engine, &interception, Point::Input);
    add::<Steering>(engine, &interception, Point::Input);
    add::<ModelContext>(engine, &interception, Point::PreModelCall);
    add::<PostResponse>(engine, &interception, Point::PostModelCall);
    if is_incremental {
        add::<ResponsePart>(engine, &interception, Point::PostModelCall);
    }
    add::<PreTool>(engine, &interception, Point::PreToolCall);
    add::<PreToolOutput>(engine, &interception, Point::PostToolCall);
    add::<Output>(engine, &interception, Point::Output);
    add::<SessionEnd>(engine, &interception, Point::AgentShutdown);
}

fn add<E: Event>(engine: &Engine, interception: &Arc<Interception>, point: Point)
where
    Interception: Handler<E>,
{
    let setup = interception.emitter.setup();
    // The emission keeps its own deadlines, and in the worst case each interceptor leads to a question.
    let each = setup
        .bindings
        .iter()
        .map(|binding| binding.timeout + setup.approval_timeout + SPARE);
    let names = setup.bindings.iter().filter(|binding| binding.is_at(point));
    let names: Vec<&str> = names.map(|binding| binding.name.as_str()).collect();
    let name = match names.is_empty() {
        true => DIALECT.name.to_owned(),
        false => format!("{} ({})", DIALECT.name, names.join(", ")),
    };
    let info = HandlerInfo {
        lane: LaneKind::Native,
        known_as: Some(point.name()),
        timeout: each.sum::<Duration>() + setup.approval_timeout + SPARE,
        shadow: setup.mode == Mode::EvaluateOnly,
        ..HandlerInfo::command(&name, "[agent_hooks]", DIALECT, Class::Guard)
    };
    engine.register(Registration::<E>::new(
        info,
        Arc::clone(interception) as Arc<dyn Handler<E>>,
    ));
}

impl Interception {
    /// Why nothing happens in a session whose beginning was denied.
    fn refused(&self, scope: &Scope) -> Option<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(&scope.session_id).cloned()
    }

    /// Asks at a point, unless the session may do nothing. Returns a refusal, why the run ends, and a change.
    async fn ask<R>(
        &self,
        scope: &Scope,
        point: Point,
        members: impl FnOnce() -> Members,
        adapt: impl FnOnce(&Value) -> Option<R>,
    ) -> (Strictest, First<String>, Option<R>) {
        if let Some(reason) = self.refused(scope) {
            return (Ruling::Deny(reason).into(), First(None), None);
        }
        let emission = self.emitter.emit(scope, point, members, adapt).await;
        let verdict = Strictest(emission.refusal().map(Ruling::Deny));
        let halt = emission.is_cancelled.then(|| "the user cancelled".to_owned());
        (verdict, First(halt), emission.change)
    }
}

fn members<const N: usize>(members: [(&str, Value); N]) -> Members {
    let members = members.into_iter();
    Ok(members.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn model(scope: &Scope) -> Value {
    json!({"id": scope.model})
}

type Answered<'a, R> = BoxFuture<'a, Result<R, Failure>>;

impl Handler<SessionStart> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, SessionStart>) -> Answered<'a, SessionStartReply> {
        Box::pin(async move {
            let scope = occasion.scope;
            let members = || {
                let mut tools = occasion.payload.tools.clone();
                tools.sort();
                members([("agent_init", json!({"tools_registered": tools}))])
            };
            let point = Point::AgentStartup;
            let emission = self.emitter.emit(scope, point, members, |_| None::<()>).await;
            let refusal = emission.refusal();
            if let (Some(reason), Mode::Enforce) = (&refusal, self.emitter.setup().mode) {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                refused.insert(scope.session_id.clone(), reason.clone());
            }
            Ok(SessionStartReply {
                halt: First(refusal),
                ..SessionStartReply::default()
            })
        })
    }
}

impl Handler<UserPrompt> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, UserPrompt>) -> Answered<'a, UserPromptReply> {
        Box::pin(async move {
            use becket_events::InputSource::{Agent, FollowUp, Hook, Interactive, Rpc, Steering};
            let payload = occasion.payload;
            let role = match payload.source {
                Interactive | Rpc | Steering | FollowUp => "user",
                Hook => "system",
                Agent => "external",
            };
            let shown = || members([("input", json!({"content": payload.prompt, "role": role}))]);
            let adapt = |target: &Value| {
                let is_same_role = target["role"] == role;
                target["content"]
                    .as_str()
                    .filter(|_| is_same_role)
                    .map(ToOwned::to_owned)
            };
            let (verdict, halt, prompt) = self.ask(occasion.scope, Point::Input, shown, adapt).await;
            Ok(UserPromptReply {
                verdict,
                halt,
                prompt: Rewrite(prompt),
                ..UserPromptReply::default()
            })
        })
    }
}

impl Handler<Steering> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, Steering>) -> Answered<'a, SteeringReply> {
        Box::pin(async move {
            let content = || occasion.payload.messages.join("\n\n");
            let shown = || members([("input", json!({"content": content(), "role": "user"}))]);
            // Hooks cannot rewrite what the user says meanwhile, so a change is denied.
            let (verdict, halt, _) = self
                .ask(occasion.scope, Point::Input, shown, |_| None::<()>)
                .await;
            Ok(SteeringReply {
                verdict,
                halt,
                ..SteeringReply::default()
            })
        })
    }
}

impl Handler<ModelContext> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, ModelContext>) -> Answered<'a, ModelContextReply> {
        Box::pin(async move {
            let scope = occasion.scope;
            let shown = Shown(occasion.payload);
            let members = || members([("model", model(scope)), ("messages", shown.messages()?)]);
            let adapt = |target: &Value| shown.changed(target);
            let (verdict, halt, changed) = self.ask(scope, Point::PreModelCall, members, adapt).await;
            let (system_prompt, messages) = changed.unzip();
            Ok(ModelContextReply {
                verdict,
                halt,
                system_prompt: Rewrite(system_prompt),
                messages: Rewrite(messages),
                ..ModelContextReply::default()
            })
        })
    }
}

impl Handler<ResponsePart> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, ResponsePart>) -> Answered<'a, ResponsePartReply> {
        Box::pin(async move {
            let (scope, payload) = (occasion.scope, occasion.payload);
            let point = Point::PostModelCall;
            if payload.broken_off {
                let words = "the answer broke off behind a part that was judged by nobody";
                let error = HostError::StreamingUnsupported;
                let denied = self.emitter.deny(scope, point, error, words);
                let verdict = Ruling::Deny(denied.words()).into();
                return Ok(ResponsePartReply {
                    verdict,
                    ..ResponsePartReply::default()
                });
            }
            let response =
                || json!({"content": payload.text, "tool_calls": [], "finish_reason": "incremental"});
            let members = || members([("model", model(scope)), ("response", response())]);
            // What comes later may belong to what would be changed, so a change is denied.
            let (verdict, halt, _) = self.ask(scope, point, members, |_| None::<()>).await;
            Ok(ResponsePartReply {
                verdict,
                halt,
                ..ResponsePartReply::default()
            })
        })
    }
}

impl Handler<PostResponse> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, PostResponse>) -> Answered<'a, PostResponseReply> {
        Box::pin(async move {
            let scope = occasion.scope;
            let answer = Answer(&occasion.payload.message);
            let members = || {
                members([
                    ("model", model(scope)),
                    ("response", answer.response()?),
                    ("usage", answer.usage()),
                ])
            };
            let adapt = |target: &Value| answer.changed(target);
            let (verdict, halt, message) = self.ask(scope, Point::PostModelCall, members, adapt).await;
            Ok(PostResponseReply {
                verdict,
                halt,
                message: Rewrite(message),
                ..PostResponseReply::default()
            })
        })
    }
}

impl Handler<PreTool> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, PreTool>) -> Answered<'a, PreToolReply> {
        Box::pin(async move {
            let payload = occasion.payload;
            let call =
                || json!({"id": payload.tool_call_id, "name": payload.called_as, "args": payload.arguments});
            let adapt = |target: &Value| target.as_object().cloned();
            let members = || members([("tool_call", call())]);
            let (verdict, halt, arguments) =
                self.ask(occasion.scope, Point::PreToolCall, members, adapt).await;
            Ok(PreToolReply {
                verdict,
                halt,
                arguments: Rewrite(arguments),
                ..PreToolReply::default()
            })
        })
    }
}

impl Handler<PreToolOutput> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, PreToolOutput>) -> Answered<'a, PreToolOutputReply> {
        Box::pin(async move {
            let payload = occasion.payload;
            if !payload.ran {
                // A call that was refused has no result.
                return Ok(PreToolOutputReply::default());
            }
            let members = || {
                members([
                    (
                        "tool_call",
                        json!({
                            "id": payload.tool_call_id,
                            "name": payload.called_as,
                            "args": payload.arguments,
                        }),
                    ),
                    (
                        "tool_result",
                        json!({
                            "value": value_of(&payload.content)?,
                            "is_error": payload.is_error,
                            "duration_ms": payload.duration_ms,
                        }),
                    ),
                ])
            };
            let adapt = |target: &Value| Some(output_of(target));
            let (verdict, halt, content) = self
                .ask(occasion.scope, Point::PostToolCall, members, adapt)
                .await;
            let denied = match verdict.0 {
                Some(Ruling::Deny(reason)) => Some(reason),
                _ => None,
            };
            Ok(PreToolOutputReply {
                halt,
                content: Rewrite(content),
                is_error: Rewrite(denied.is_some().then_some(true)),
                withheld: becket_events::Answer(
                    denied.map(|reason| format!("The result was withheld: {reason}")),
                ),
                ..PreToolOutputReply::default()
            })
        })
    }
}

impl Handler<Output> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, Output>) -> Answered<'a, OutputReply> {
        Box::pin(async move {
            let members = || members([("output", json!({"content": occasion.payload.text}))]);
            let adapt = |target: &Value| target["content"].as_str().map(ToOwned::to_owned);
            let (verdict, halt, text) = self.ask(occasion.scope, Point::Output, members, adapt).await;
            Ok(OutputReply {
                verdict,
                halt,
                text: Rewrite(text),
                ..OutputReply::default()
            })
        })
    }
}

impl Handler<SessionEnd> for Interception {
    fn call<'a>(&'a self, occasion: &'a Occasion<'a, SessionEnd>) -> Answered<'a, SessionEndReply> {
        Box::pin(async move {
            let scope = occasion.scope;
            let reason = match occasion.payload.reason {
                _ if self.refused(scope).is_some() => "error",
                EndReason::Done | EndReason::Left | EndReason::Switched => "completed",
                EndReason::Cancelled => "cancelled",
                EndReason::Failed | EndReason::Limit | EndReason::Blocked => "error",
            };
            let members = || members([("summary", json!({"reason": reason}))]);
            // Nothing is left to refuse.
            self.emitter
                .emit(scope, Point::AgentShutdown, members, |_| None::<()>)
                .await;
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.remove(&scope.session_id);
            Ok(SessionEndReply::default())
        })
    }
}

#[cfg(test)]
mod tests {
    use becket_events::{SessionEndPayload, SessionStartPayload, StartReason, Usage};

    use super::*;
    use crate::emitter::tests::setup;
    use crate::interceptor::Context;
    use crate::verdict::InterceptorVerdict;

    #[tokio::test]
    async fn a_session_that_was_denied_ends_with_an_error() {
        let seen: Arc<Mutex<Vec<Context>>> = Arc::default();
        let list = Arc::clone(&seen);
        let interceptor = move |context: &Context| {
            list.lock().unwrap().push(context.clone());
            match context["interception_point"] == "agent_startup" {
                true => InterceptorVerdict::deny("closed"),
                false => InterceptorVerdict::allow(),
            }
        };
        let setup = setup(Mode::Enforce, interceptor);
        let engine = Engine::new(None);
        register(&engine, Arc::new(Emitter::new(setup, Arc::new(|_, _| {}))));
        let scope = Scope::default();
        let start = || SessionStartPayload {
            reason: StartReason::Startup,
            home: String::new(),
            project_root: String::new(),
            tool_count: 0,
            tools: Vec::new(),
            message_count: 0,
            previous_session_id: None,
            previous_session_file: None,
        };
        let outcome = engine.dispatch::<SessionStart>(&scope, start).await;
        assert_eq!(outcome.reply.halt, First(Some("closed".into())));
        let end = || SessionEndPayload {
            reason: EndReason::Done,
            home: String::new(),
            project_root: String::new(),
            tool_count: 0,
            usage: Usage::default(),
            next: None,
            next_session_file: None,
        };
        engine.dispatch::<SessionEnd>(&scope, end).await;
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1]["summary"]["reason"], "error");
    }
}
