//! docker-agent's runtime events, for which commands of `--on-event` are started.
//!
//! Runtime events are made from becket's events in their JSON form, so everything that watches the engine can make
//! them.

use std::sync::LazyLock;

use becket_events::{EventId, OperationKind, Profile};
use serde_json::{Map, Value, json};

/// Converts an event of becket into one of docker-agent; `None` if it is not one.
type Show = fn(&Value) -> Option<Value>;

/// One type of runtime event, and becket's event behind it.
struct RuntimeEvent {
    kind: &'static str,
    event: EventId,
    show: Show,
}

const fn row(kind: &'static str, event: EventId, show: Show) -> RuntimeEvent {
    RuntimeEvent { kind, event, show }
}

/// All types that becket sends. A type may come from several events.
// tidy: a table
const EVENTS: &[RuntimeEvent] = &[
    row("user_message", EventId::UserPrompt, |event| {
        // Only prompts of the user count, not continuations that a hook added.
        (event["continuation"] == 0).then(|| json!({"message": event["prompt"], "session_position": -1}))
    }),
    row("stream_started", EventId::AgentStart, |_| Some(json!({}))),
    row("stream_stopped", EventId::AgentEnd, |event| {
        Some(json!({"reason": end_reason(event["reason"].as_str()?)}))
    }),
    row("agent_choice", EventId::MessageUpdate, |event| {
        let delta = &event["delta"];
        (delta["type"] == "text").then(|| json!({"content": delta["text"]}))
    }),
    row("agent_choice_reasoning", EventId::MessageUpdate, |event| {
        let delta = &event["delta"];
        (delta["type"] == "thinking").then(|| json!({"content": delta["text"]}))
    }),
    row("tool_call_confirmation", EventId::PermissionRequest, |event| {
        Some(call(event))
    }),
    row("tool_call", EventId::ApprovalDecided, |event| {
        (event["decision"] == "allow").then(|| call(event))
    }),
    row("hook_blocked", EventId::ApprovalDecided, |event| {
        let by_hooks = event["handlers"]
            .as_array()
            .is_some_and(|handlers| !handlers.is_empty());
        let blocked = event["decision"] == "deny" && by_hooks;
        blocked.then(|| {
            let mut shown = call(event);
            shown["message"] = event["reason"].clone();
            shown
        })
    }),
    row("tool_call_response", EventId::ToolEnd, |event| {
        let name = foreign_name(event);
        let text = text_of(&event["content"]);
        Some(json!({
            "tool_call_id": event["tool_call_id"],
            "tool_definition": {"name": name},
            "response": text,
            "result": {"output": text, "isError": event["is_error"]},
        }))
    }),
    row("token_usage", EventId::Response, |event| {
        let usage = &event["usage"];
        let tokens = |name: &str| usage[name].as_u64().unwrap_or_default();
        let (input, output) = (tokens("input_tokens"), tokens("output_tokens"));
        Some(json!({"usage": {
            "input_tokens": input,
            "output_tokens": output,
            "context_length": input + output,
            "cost": usage["cost"],
            "last_message": {
                "input_tokens": input,
                "output_tokens": output,
                "cached_input_tokens": tokens("cache_read_tokens"),
                "cached_write_tokens": tokens("cache_write_tokens"),
                "Cost": usage["cost"],
                "Model": event["model"],
                "finish_reason": event["stop_reason"],
            },
        }}))
    }),
    row("session_compaction", EventId::PreCompact, |_| {
        Some(json!({"status": "started"}))
    }),
    row("session_compaction", EventId::PostCompact, |_| {
        Some(json!({"status": "completed"}))
    }),
    row("session_summary", EventId::PostCompact, |event| {
        Some(json!({"summary": event["summary"]}))
    }),
    row("error", EventId::ErrorRaised, |event| {
        Some(json!({"error": event["message"], "code": event["kind"]}))
    }),
    row("warning", EventId::Notification, |event| {
        (event["level"] == "warning").then(|| json!({"message": event["message"]}))
    }),
    row("warning", EventId::HookFailed, |event| {
        let (handler, detail) = (text(&event["handler"]), text(&event["detail"]));
        Some(json!({"message": format!("the hook {handler} failed: {detail}")}))
    }),
    row("max_iterations_reached", EventId::IterationLimit, |event| {
        Some(json!({"max_iterations": event["limit"]}))
    }),
];

/// The types that docker-agent has and becket does not send.
pub const UNTOLD_RUNTIME_EVENTS: &[&str] = &[
    "agent_info",
    "agent_switching",
    "authorization_event",
    "elicitation_request",
    "hook_finished",
    "hook_started",
    "mcp_init_finished",
    "mcp_init_started",
    "model_fallback",
    "partial_tool_call",
    "session_title",
    "shell",
    "team_info",
    "tool_call_output",
    "toolset_info",
];

/// The types of events that becket sends, each once.
pub fn runtime_event_types() -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = EVENTS.iter().map(|row| row.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Whether docker-agent has a runtime event for one of becket's events.
pub fn is_runtime_event(event: EventId) -> bool {
    EVENTS.iter().any(|row| row.event == event)
}

/// docker-agent's runtime events for an event of becket in its JSON form, each with its type.
pub fn runtime_events(id: EventId, event: &Value) -> Vec<(&'static str, Map<String, Value>)> {
    let rows = EVENTS.iter().filter(|row| row.event == id);
    let told = rows.filter_map(|row| {
        let Value::Object(fields) = (row.show)(event)? else {
            return None;
        };
        let mut told = Map::new();
        told.insert("type".into(), row.kind.into());
        told.insert("agent_name".into(), event["agent_name"].clone());
        told.insert("session_id".into(), event["session_id"].clone());
        told.extend(fields);
        Some((row.kind, told))
    });
    told.collect()
}

fn end_reason(reason: &str) -> &str {
    match reason {
        "done" | "left" | "switched" => "normal",
        "cancelled" => "canceled",
        "failed" => "error",
        "blocked" => "hook_blocked",
        other => other,
    }
}

static PROFILE: LazyLock<Profile> = LazyLock::new(super::profile);

/// The call of an event, as docker-agent's tools show it.
fn call(event: &Value) -> Value {
    let own = event["arguments"].as_object().cloned().unwrap_or_default();
    let name = text(&event["tool_name"]);
    let kind = OperationKind::ALL.iter().find(|kind| kind.name() == name);
    let face = kind.and_then(|kind| PROFILE.face_for(*kind, &own));
    let (name, arguments) = match face {
        Some(face) => (face.name, (face.to_foreign)(&own)),
        None => (name, own),
    };
    let arguments = Value::Object(arguments).to_string();
    json!({
        "tool_call": {
            "id": event["tool_call_id"],
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        },
        "tool_definition": {"name": name},
    })
}

/// docker-agent's name of the tool of an event that does not hold its arguments.
fn foreign_name(event: &Value) -> &str {
    let name = text(&event["tool_name"]);
    let kind = OperationKind::ALL.iter().find(|kind| kind.name() == name);
    let face = kind.and_then(|kind| PROFILE.face_for(*kind, &Map::new()));
    face.map_or(name, |face| face.name)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The texts of a message's parts, one after another.
fn text_of(parts: &Value) -> String {
    let parts = parts.as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: EventId, event: Value) -> Vec<Value> {
        let events = runtime_events(id, &event);
        events.into_iter().map(|(_, told)| Value::Object(told)).collect()
    }

    #[test]
    fn a_call_is_told_in_docker_agents_words() {
        let event = json!({
            "agent_name": "root", "session_id": "s", "tool_call_id": "c", "tool_name": "shell",
            "arguments": {"command": "ls"}, "decision": "allow", "handlers": [], "reason": null,
        });
        let told = told(EventId::ApprovalDecided, event);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["type"], "tool_call");
        assert_eq!(told[0]["agent_name"], "root");
        let function = &told[0]["tool_call"]["function"];
        assert_eq!(function["name"], "shell");
        assert_eq!(function["arguments"], r#"{"cmd":"ls"}"#);
    }

    #[test]
    fn a_refusal_by_hooks_is_told_and_one_by_the_person_is_not() {
        let event = |handlers: Value| json!({"tool_name": "x", "decision": "deny", "handlers": handlers, "reason": "no"});
        assert_eq!(
            told(EventId::ApprovalDecided, event(json!(["guard"])))[0]["message"],
            "no"
        );
        assert!(told(EventId::ApprovalDecided, event(json!([]))).is_empty());
    }

    #[test]
    fn types_are_told_or_untold() {
        for kind in runtime_event_types() {
            assert!(!UNTOLD_RUNTIME_EVENTS.contains(&kind), "{kind}");
        }
        assert!(is_runtime_event(EventId::ToolEnd) && !is_runtime_event(EventId::PreShell));
    }
}
