//! Codex as an agent that asks becket's hooks. It drops an answer with a member that it does not know, so nothing more
//! is written than it takes.

use becket_events::Verdict;
use becket_hook_files::{HostWords, OTHERWISE_EXIT, patch_parts, server_of};
use becket_host::{Bridge, BridgeEntry, BridgePayload, BridgedEvent, MomentKind, Ruling, ToolNames};
use serde_json::{Map, Value, json};

use crate::tools::{COMMAND, PATCH, profile};

/// Codex, as it asks becket.
pub static BRIDGE: Bridge = Bridge {
    system: "codex",
    title: "Codex",
    profile,
    events: EVENTS,
    read: |event, payload| WORDS.read(event, payload),
    written: |call, own| WORDS.written(call, own),
    write,
    entry: BridgeEntry {
        user_file: ".codex/hooks.json",
        home_variable: "CODEX_HOME",
        project_file: ".codex/hooks.json",
        has_version: false,
        entry: |event, command| {
            let handler = json!({"type": "command", "command": command, "timeout": event.timeout.as_secs()});
            json!({"hooks": [handler]})
        },
        otherwise: OTHERWISE_EXIT,
        hindrances: |file| {
            let known = ["description", "hooks"];
            let members = file.as_object().into_iter().flat_map(Map::keys);
            let unknown = members.filter(|name| !known.contains(&name.as_str()));
            unknown
                .map(|name| format!("Codex ignores the whole file because of `{name}`"))
                .collect()
        },
        hint: "Codex runs it once you have trusted it: it asks at its next start",
    },
};

const NO_ASKING: &str = "Codex cannot ask the user for a hook, so what a hook wants to ask is refused";

const EVENTS: &[BridgedEvent] = &[
    BridgedEvent::new("SessionStart", MomentKind::SessionStart, 30),
    BridgedEvent::new("UserPromptSubmit", MomentKind::Prompt, 30),
    BridgedEvent::new("PreToolUse", MomentKind::Call, 60).unable(NO_ASKING),
    BridgedEvent::new("PermissionRequest", MomentKind::Permission, 60),
    BridgedEvent::new("PostToolUse", MomentKind::Called, 60)
        .unable("Codex does not ask after a call that failed"),
    BridgedEvent::new("SubagentStart", MomentKind::SubagentStart, 30),
    BridgedEvent::new("SubagentStop", MomentKind::SubagentStop, 60),
    BridgedEvent::new("Stop", MomentKind::Stop, 60),
    BridgedEvent::new("PreCompact", MomentKind::PreCompact, 60),
    BridgedEvent::new("PostCompact", MomentKind::PostCompact, 30).unable("text for the model is dropped"),
    BridgedEvent::new("SessionEnd", MomentKind::SessionEnd, 3),
];

const WORDS: HostWords = HostWords {
    profile,
    tools: ToolNames {
        former: &[],
        others: &[("spawn_agent", "spawn_agent"), ("update_todos", "update_plan")],
        subagent: &[("input", "message"), ("preset", "agent_type")],
        server: |name| server_of(name, "mcp__", "__"),
        special: |name, arguments| {
            let text = || arguments.get(COMMAND).and_then(Value::as_str);
            let parts = || {
                text()
                    .ok_or("`command` is missing or no text".into())
                    .and_then(patch_parts)
            };
            (name == PATCH).then(parts)
        },
    },
    output: |payload| (payload.shown("tool_response"), false),
};

fn write(event: &BridgedEvent, _: &BridgePayload, ruling: &Ruling) -> Option<Value> {
    let mut answer = Map::new();
    let mut specific = Map::new();
    let mut block = |reason: &str| {
        answer.insert("decision".into(), "block".into());
        answer.insert("reason".into(), reason.into());
    };
    // Codex drops a refusal without a reason.
    let refusal = ruling
        .refusal_without_asking("Codex")
        .or_else(|| ruling.halt.clone())
        .map(|reason| {
            if reason.is_empty() {
                "a hook refuses it".into()
            } else {
                reason
            }
        });
    let mut stop = ruling.halt.clone();
    match (event.kind, refusal) {
        (MomentKind::Call, Some(reason)) => {
            specific.insert("permissionDecision".into(), "deny".into());
            specific.insert("permissionDecisionReason".into(), reason.into());
            stop = None;
        }
        (MomentKind::Call, None) => {
            if let Some(arguments) = &ruling.arguments {
                specific.insert("permissionDecision".into(), "allow".into());
                specific.insert("updatedInput".into(), arguments.clone().into());
            }
        }
        (MomentKind::Permission, refusal) => {
            let decision = match (&ruling.verdict, refusal) {
                (Some(Verdict::Ask(_) | Verdict::Insist(_)), _) => None,
                (_, Some(reason)) => Some(json!({"behavior": "deny", "message": reason})),
                (Some(Verdict::Allow), None) => Some(json!({"behavior": "allow"})),
                (_, None) => None,
            };
            specific.extend(decision.map(|decision| ("decision".to_owned(), decision)));
            stop = None;
        }
        (MomentKind::Prompt, Some(reason)) => block(&reason),
        (MomentKind::PreCompact, Some(reason)) => stop = Some(reason),
        (MomentKind::Stop | MomentKind::SubagentStop, _) => {
            if let Some(reason) = ruling.go_on.as_deref().filter(|reason| !reason.is_empty()) {
                block(reason);
            }
        }
        // The reason stands in place of the result.
        (MomentKind::Called, _) => {
            if let Some(text) = &ruling.output {
                block(if text.is_empty() {
                    "[the result is withheld]"
                } else {
                    text
                });
            }
        }
        _ => {}
    }
    let takes_context = matches!(
        event.kind,
        MomentKind::Call
            | MomentKind::Called
            | MomentKind::Prompt
            | MomentKind::SessionStart
            | MomentKind::SubagentStart
    );
    if let Some(context) = ruling.context_text().filter(|_| takes_context) {
        specific.insert("additionalContext".into(), context.into());
    }
    if let Some(reason) = stop.filter(|_| event.kind != MomentKind::SessionEnd) {
        answer.insert("continue".into(), false.into());
        answer.insert("stopReason".into(), reason.into());
    }
    if let Some(notice) = ruling
        .notice_text()
        .filter(|_| event.kind != MomentKind::SessionEnd)
    {
        answer.insert("systemMessage".into(), notice.into());
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".into(), event.name.into());
        answer.insert("hookSpecificOutput".into(), specific.into());
    }
    (!answer.is_empty()).then_some(Value::Object(answer))
}
