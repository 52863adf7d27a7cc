//! Codex as an agent that asks becket's hooks. It drops an answer with a member that it does not know, so nothing more
//! is written than it takes.

use becket_events::Verdict;
use becket_hook_files::{
    Action, BridgeCommand, HookEntry, HostWords, OTHERWISE_EXIT, patch_parts, server_of,
};
use becket_hooks::{CommandLine, parse_toml};
use becket_host::{
    AgentProgram, Bridge, BridgeEntry, BridgePayload, BridgedEvent, CallPart, EntryFile, MomentKind, Ruling,
    ToolNames, VariablesFor, text_argument,
};
use serde_json::{Map, Value, json};

use crate::read::entries_of;
use crate::state;
use crate::tools::{COMMAND, PATCH, profile};

/// Codex, as it asks becket.
pub static BRIDGE: Bridge = Bridge {
    system: "codex",
    title: "Codex",
    project_variable: "",
    event_variables: &[],
    variables: VariablesFor::Nobody,
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
        hindrances,
        hint: "Codex asks at its next start whether you trust a new or changed entry",
    },
    program: AgentProgram {
        name: "codex",
        tried: "0.169.0",
        oldest: None,
    },
};

fn hindrances(file: &EntryFile<'_>) -> Vec<String> {
    let known = ["description", "hooks"];
    let members = file.content.as_object().into_iter().flat_map(Map::keys);
    let unknown = members.filter(|name| !known.contains(&name.as_str()));
    let unknown = unknown.map(|name| format!("Codex ignores the whole file because of `{name}`"));
    unknown.chain(user_hindrances(file)).collect()
}

/// What the user has told Codex about hooks.
fn user_hindrances(file: &EntryFile<'_>) -> Vec<String> {
    let settings = file.user_file.with_file_name("config.toml");
    let text = becket_fs::read_to_string(&settings).unwrap_or_default();
    let Ok(said) = parse_toml::<Value>(&text) else {
        return vec![format!("{} cannot be read", settings.display())];
    };
    let feature = |name: &str| said.pointer(&format!("/features/{name}"))?.as_bool();
    if feature("hooks").or(feature("codex_hooks")) == Some(false) {
        return vec![format!("hooks are off in {}", settings.display())];
    }
    let state = said.pointer("/hooks/state").unwrap_or(&Value::Null);
    let entries = entries_of(file.path, file.content);
    let own = entries.iter().filter(|entry| is_own(entry));
    let (off, on): (Vec<_>, Vec<_>) = own.partition(|entry| state::is_off(state, entry));
    let untrusted = on.iter().filter(|entry| !state::is_trusted(state, entry)).count();
    let mut found = Vec::new();
    if !off.is_empty() {
        found.push(format!("{} of its entries are switched off in Codex", off.len()));
    }
    if untrusted > 0 {
        found.push(format!(
            "{untrusted} of its entries are not trusted in Codex yet; start it and agree"
        ));
    }
    found
}

/// Whether a hook asks becket.
fn is_own(entry: &HookEntry) -> bool {
    match &entry.action {
        Action::Command(CommandLine::Shell(line)) => BridgeCommand::read(line).is_some(),
        _ => false,
    }
}

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
            if name == "view_image" {
                return Some(text_argument(arguments, "path").map(|path| vec![CallPart::read(path)]));
            }
            let text = || arguments.get(COMMAND).and_then(Value::as_str);
            let parts = || {
                text()
                    .ok_or("`command` is missing or no text".into())
                    .and_then(patch_parts)
            };
            (name == PATCH).then(parts)
        },
    },
    arguments: &["tool_input"],
    output: |payload| (payload.shown("tool_response"), false),
};

fn write(event: &BridgedEvent, _: &BridgePayload, ruling: &Ruling) -> Option<Value> {
    // Codex drops a refusal without a reason.
    let worded = |reason: String| {
        if reason.is_empty() {
            "a hook refuses it".into()
        } else {
            reason
        }
    };
    let refusal = ruling
        .refusal_without_asking("Codex")
        .or_else(|| ruling.halt.clone())
        .map(worded);
    let mut specific = Map::new();
    let mut answer = Map::new();
    match event.kind {
        MomentKind::Call => specific = decision(refusal, ruling),
        MomentKind::Permission => specific = permission(refusal, ruling),
        MomentKind::Prompt => block(&mut answer, refusal),
        MomentKind::Stop | MomentKind::SubagentStop => {
            block(
                &mut answer,
                ruling.go_on.clone().filter(|reason| !reason.is_empty()),
            );
        }
        // The reason stands in place of the result.
        MomentKind::Called => block(&mut answer, ruling.output.clone().map(worded)),
        MomentKind::PreCompact => answer.extend(refusal.map(ended).into_iter().flatten()),
        _ => {}
    }
    if let Some(context) = ruling.context_text().filter(|_| takes_context(event.kind)) {
        specific.insert("additionalContext".into(), context.into());
    }
    // A call is refused in place of that, and nothing is read at the end of a session.
    let ends = !matches!(
        event.kind,
        MomentKind::Call | MomentKind::Permission | MomentKind::SessionEnd
    );
    if let Some(reason) = ruling.halt.clone().filter(|_| ends) {
        answer.extend(ended(reason));
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

fn takes_context(kind: MomentKind) -> bool {
    matches!(
        kind,
        MomentKind::Call
            | MomentKind::Called
            | MomentKind::Prompt
            | MomentKind::SessionStart
            | MomentKind::SubagentStart
    )
}

fn decision(refusal: Option<String>, ruling: &Ruling) -> Map<String, Value> {
    let decision = match (refusal, &ruling.arguments) {
        (Some(reason), _) => json!({"permissionDecision": "deny", "permissionDecisionReason": reason}),
        // Codex takes an allow together with other arguments only.
        (None, Some(arguments)) => json!({"permissionDecision": "allow", "updatedInput": arguments}),
        (None, None) => json!({}),
    };
    decision.as_object().cloned().unwrap_or_default()
}

fn permission(refusal: Option<String>, ruling: &Ruling) -> Map<String, Value> {
    let decision = match (&ruling.verdict, refusal) {
        // Codex asks its user anyway.
        (Some(Verdict::Ask(_) | Verdict::Insist(_)), _) => None,
        (_, Some(reason)) => Some(json!({"behavior": "deny", "message": reason})),
        (Some(Verdict::Allow), None) => Some(json!({"behavior": "allow"})),
        (_, None) => None,
    };
    decision
        .map(|decision| ("decision".to_owned(), decision))
        .into_iter()
        .collect()
}

fn block(answer: &mut Map<String, Value>, reason: Option<String>) {
    if let Some(reason) = reason {
        answer.insert("decision".into(), "block".into());
        answer.insert("reason".into(), reason.into());
    }
}

/// The members that end the run.
fn ended(reason: String) -> [(String, Value); 2] {
    [
        ("continue".into(), false.into()),
        ("stopReason".into(), reason.into()),
    ]
}
