//! Claude Code as an agent that asks becket's hooks.

use becket_events::{OperationKind, Verdict};
use becket_hook_files::{HostWords, OTHERWISE_EXIT, server_of};
use becket_host::{
    Bridge, BridgeEntry, BridgePayload, BridgedEvent, CallPart, MomentKind, Ruling, ToolNames,
};
use serde_json::{Map, Value, json};

use crate::tools::profile;

/// Claude Code, as it asks becket.
pub static BRIDGE: Bridge = Bridge {
    system: "claude-code",
    title: "Claude Code",
    profile,
    events: EVENTS,
    read: |event, payload| WORDS.read(event, payload),
    written: |call, own| WORDS.written(call, own),
    write,
    entry: BridgeEntry {
        user_file: ".claude/settings.json",
        home_variable: "CLAUDE_CONFIG_DIR",
        project_file: ".claude/settings.json",
        has_version: false,
        entry: |event, command| {
            let handler = json!({"type": "command", "command": command, "timeout": event.timeout.as_secs()});
            json!({"hooks": [handler]})
        },
        otherwise: OTHERWISE_EXIT,
        hindrances: |file| match file.get("disableAllHooks") {
            Some(Value::Bool(true)) => vec!["`disableAllHooks` is true".into()],
            _ => Vec::new(),
        },
        hint: "in a project, Claude Code runs it once the workspace is trusted",
    },
};

const EVENTS: &[BridgedEvent] = &[
    BridgedEvent::new("SessionStart", MomentKind::SessionStart, 30),
    BridgedEvent::new("UserPromptSubmit", MomentKind::Prompt, 30),
    BridgedEvent::new("PreToolUse", MomentKind::Call, 60),
    BridgedEvent::new("PermissionRequest", MomentKind::Permission, 60),
    BridgedEvent::new("PostToolUse", MomentKind::Called, 60),
    BridgedEvent::new("PostToolUseFailure", MomentKind::Called, 60)
        .unable("the result of a call that failed cannot be replaced; the run ends in place of that"),
    BridgedEvent::new("SubagentStart", MomentKind::SubagentStart, 30),
    BridgedEvent::new("SubagentStop", MomentKind::SubagentStop, 60),
    BridgedEvent::new("Stop", MomentKind::Stop, 60),
    BridgedEvent::new("PreCompact", MomentKind::PreCompact, 60),
    BridgedEvent::new("PostCompact", MomentKind::PostCompact, 30)
        .unable("text for the model is shown to the user"),
    BridgedEvent::new("Notification", MomentKind::Attention, 30),
    BridgedEvent::new("SessionEnd", MomentKind::SessionEnd, 10),
];

const WORDS: HostWords = HostWords {
    profile,
    tools: ToolNames {
        former: &[("Task", "Agent")],
        others: &[("spawn_agent", "Agent"), ("update_todos", "TodoWrite")],
        subagent: &[("input", "prompt"), ("preset", "subagent_type")],
        server: |name| server_of(name, "mcp__", "__"),
        special,
    },
    arguments: &["tool_input"],
    output,
};

/// Tools that run commands or write files besides the usual ones.
fn special(name: &str, arguments: &Map<String, Value>) -> Option<Result<Vec<CallPart>, String>> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let needed = |name: &str| text(name).ok_or_else(|| format!("`{name}` is missing or no text"));
    let part = |operation, own: Value| {
        let own = own.as_object().cloned().unwrap_or_default();
        vec![CallPart::operation(operation, own)]
    };
    match name {
        "Monitor" | "PowerShell" => {
            Some(needed("command").map(|command| part(OperationKind::Shell, json!({"command": command}))))
        }
        "NotebookEdit" => Some(needed("notebook_path").map(|path| {
            let content = text("new_source").unwrap_or_default();
            part(OperationKind::Write, json!({"path": path, "content": content}))
        })),
        "MultiEdit" => Some(needed("file_path").and_then(|path| {
            let edits = arguments.get("edits").and_then(Value::as_array);
            let edits = edits.ok_or("`edits` is missing or no list")?.iter().map(|edit| {
                let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
                json!({"old_text": text("old_string"), "new_text": text("new_string")})
            });
            let edits: Vec<Value> = edits.collect();
            Ok(part(OperationKind::Edit, json!({"path": path, "edits": edits})))
        })),
        _ => None,
    }
}

/// The text of a result: what the model reads of it, as far as it can be told.
fn output(payload: &BridgePayload) -> (String, bool) {
    if let Some(error) = payload.text(&["error"]) {
        return (error.to_owned(), true);
    }
    let text = |path: &[&str]| {
        let member = path
            .iter()
            .try_fold(payload.0.get("tool_response")?, |value, name| value.get(name));
        member?.as_str().map(ToOwned::to_owned)
    };
    let text = match (text(&["stdout"]), text(&["stderr"])) {
        (Some(out), Some(err)) if !err.is_empty() => Some(format!("{out}\n{err}")),
        (Some(out), _) => Some(out),
        (None, _) => PLACES.iter().find_map(|path| text(path)),
    };
    (text.unwrap_or_else(|| payload.shown("tool_response")), false)
}

/// Where the text of a result stands.
const PLACES: &[&[&str]] = &[&["file", "content"], &["content"], &["result"]];

/// The result with another text in it; `None` if there is no place for one.
fn with_text(payload: &BridgePayload, text: &str) -> Option<Value> {
    let mut response = payload.0.get("tool_response")?.clone();
    if response.is_string() {
        return Some(text.into());
    }
    if response.get("stdout").is_some_and(Value::is_string) {
        response["stdout"] = text.into();
        response["stderr"] = "".into();
        return Some(response);
    }
    let path = PLACES.iter().find(|path| {
        let found = path.iter().try_fold(&response, |value, name| value.get(name));
        found.is_some_and(Value::is_string)
    })?;
    let place = path.iter().fold(&mut response, |value, name| &mut value[*name]);
    *place = text.into();
    Some(response)
}

fn write(event: &BridgedEvent, payload: &BridgePayload, ruling: &Ruling) -> Option<Value> {
    let mut answer = Map::new();
    let mut specific = Map::new();
    match event.kind {
        MomentKind::Call => decide(ruling, &mut specific),
        MomentKind::Permission => {
            let decision = match &ruling.verdict {
                Some(Verdict::Deny(reason)) => Some(json!({"behavior": "deny", "message": reason})),
                Some(Verdict::Allow) => Some(json!({"behavior": "allow"})),
                _ => None,
            };
            specific.extend(decision.map(|decision| ("decision".to_owned(), decision)));
        }
        MomentKind::Prompt | MomentKind::PreCompact => {
            if let Some(reason) = ruling.refusal_without_asking("Claude Code") {
                answer.insert("decision".into(), "block".into());
                answer.insert("reason".into(), reason.into());
            }
        }
        MomentKind::Stop | MomentKind::SubagentStop => {
            if let Some(reason) = &ruling.go_on {
                answer.insert("decision".into(), "block".into());
                answer.insert("reason".into(), reason.as_str().into());
            }
        }
        MomentKind::Called => replace(event, payload, ruling, (&mut answer, &mut specific)),
        _ => {}
    }
    if let Some(context) = ruling.context_text() {
        match event.kind {
            MomentKind::PreCompact | MomentKind::PostCompact | MomentKind::SessionEnd => {}
            _ => drop(specific.insert("additionalContext".into(), context.into())),
        }
    }
    if let Some(reason) = &ruling.halt {
        answer.insert("continue".into(), false.into());
        answer.insert("stopReason".into(), reason.as_str().into());
    }
    if let Some(notice) = ruling.notice_text() {
        answer.insert("systemMessage".into(), notice.into());
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".into(), event.name.into());
        answer.insert("hookSpecificOutput".into(), specific.into());
    }
    (!answer.is_empty()).then_some(Value::Object(answer))
}

fn decide(ruling: &Ruling, specific: &mut Map<String, Value>) {
    let decision = match &ruling.verdict {
        Some(Verdict::Deny(reason)) => Some(("deny", Some(reason))),
        Some(Verdict::Ask(reason) | Verdict::Insist(reason)) => Some(("ask", Some(reason))),
        Some(Verdict::Allow) => Some(("allow", None)),
        None => None,
    };
    if let Some((decision, reason)) = decision {
        specific.insert("permissionDecision".into(), decision.into());
        let reason = reason.map(|reason| ("permissionDecisionReason".to_owned(), reason.as_str().into()));
        specific.extend(reason);
    }
    if let Some(arguments) = &ruling.arguments {
        specific.insert("updatedInput".into(), arguments.clone().into());
    }
}

/// Puts another text in place of a result. Where that is not possible the run ends: the model must not read it.
fn replace(
    event: &BridgedEvent,
    payload: &BridgePayload,
    ruling: &Ruling,
    (answer, specific): (&mut Map<String, Value>, &mut Map<String, Value>),
) {
    let Some(text) = &ruling.output else {
        return;
    };
    let replaced = with_text(payload, text).filter(|_| event.name == "PostToolUse");
    match replaced {
        Some(response) => {
            let is_server = payload
                .text(&["tool_name"])
                .is_some_and(|name| name.starts_with("mcp__"));
            let name = if is_server {
                "updatedMCPToolOutput"
            } else {
                "updatedToolOutput"
            };
            specific.insert(name.into(), response);
        }
        None => {
            answer.insert("continue".into(), false.into());
            answer.insert(
                "stopReason".into(),
                "a hook replaced a result that cannot be replaced here".into(),
            );
        }
    }
}
