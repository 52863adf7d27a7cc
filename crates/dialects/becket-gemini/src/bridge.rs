//! Gemini CLI as an agent that asks becket's hooks. It takes silence for a yes, so something is always written.

use becket_events::Verdict;
use becket_hook_files::{HostWords, OTHERWISE_JSON, server_of};
use becket_host::{
    AgentProgram, Bridge, BridgeEntry, BridgePayload, BridgedEvent, CallPart, EntryFile, MomentKind, Ruling,
    ToolNames, VariablesFor,
};
use serde_json::{Map, Value, json};

use crate::tools::profile;

/// Gemini CLI, as it asks becket.
pub static BRIDGE: Bridge = Bridge {
    system: "gemini",
    title: "Gemini CLI",
    project_variable: "GEMINI_PROJECT_DIR",
    event_variables: &["GEMINI_CWD"],
    variables: VariablesFor::Nobody,
    events: EVENTS,
    read: |event, payload| WORDS.read(event, payload),
    written: |call, own| WORDS.written(call, own),
    write,
    entry: BridgeEntry {
        user_file: ".gemini/settings.json",
        home_variable: "",
        project_file: ".gemini/settings.json",
        has_version: false,
        entry: |event, command| {
            let timeout = u64::try_from(event.timeout.as_millis()).unwrap_or(u64::MAX);
            let handler =
                json!({"type": "command", "name": "becket", "command": command, "timeout": timeout});
            json!({"hooks": [handler]})
        },
        otherwise: OTHERWISE_JSON,
        hindrances,
        hint: "Gemini CLI runs hooks of its settings in trusted folders only",
    },
    program: AgentProgram {
        name: "gemini",
        tried: "0.61.0",
        oldest: None,
    },
};

const NO_CONTEXT: &str = "text for the model is shown to the user";

const EVENTS: &[BridgedEvent] = &[
    BridgedEvent::new("SessionStart", MomentKind::SessionStart, 30),
    BridgedEvent::new("BeforeAgent", MomentKind::Prompt, 30),
    BridgedEvent::new("BeforeTool", MomentKind::Call, 60).unable(NO_CONTEXT),
    BridgedEvent::new("AfterTool", MomentKind::Called, 60),
    BridgedEvent::new("AfterAgent", MomentKind::Stop, 60),
    BridgedEvent::new("Notification", MomentKind::Attention, 30),
    BridgedEvent::new("PreCompress", MomentKind::PreCompact, 30).unable("a summary cannot be refused"),
    BridgedEvent::new("SessionEnd", MomentKind::SessionEnd, 10),
];

const WORDS: HostWords = HostWords {
    profile,
    tools: ToolNames {
        former: &[("search_file_content", "grep_search")],
        others: &[("spawn_agent", "invoke_agent"), ("update_todos", "write_todos")],
        subagent: &[("input", "prompt"), ("preset", "agent_name")],
        server: |name| server_of(name, "mcp_", "_"),
        special: |name, arguments| {
            let include = || {
                let list = arguments.get("include").and_then(Value::as_array);
                let paths = list.ok_or("`include` is missing or no list")?.iter();
                let paths = paths.map(|path| {
                    path.as_str()
                        .map(CallPart::read)
                        .ok_or("`include` holds no texts".into())
                });
                paths.collect()
            };
            (name == "read_many_files").then(include)
        },
    },
    arguments: &["tool_input"],
    output,
};

fn hindrances(file: &EntryFile<'_>) -> Vec<String> {
    let settings = file.content.get("hooksConfig");
    let member = |name: &str| settings.and_then(|settings| settings.get(name));
    let mut found = Vec::new();
    if member("enabled") == Some(&Value::Bool(false)) {
        found.push("`hooksConfig.enabled` is false".to_owned());
    }
    let disabled = member("disabled").and_then(Value::as_array).into_iter().flatten();
    if disabled.filter_map(Value::as_str).any(|name| name == "becket") {
        found.push("`hooksConfig.disabled` names it".to_owned());
    }
    found
}

fn output(payload: &BridgePayload) -> (String, bool) {
    let response = payload.0.get("tool_response");
    let member = |name: &str| response.and_then(|response| response.get(name));
    let is_error = member("error").is_some_and(|error| !error.is_null());
    let text = match member("llmContent") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => payload.shown("tool_response"),
    };
    // After an error the model reads its message.
    match member("error").and_then(|error| error.get("message")?.as_str()) {
        Some(message) => (format!("{text}\n{message}"), is_error),
        None => (text, is_error),
    }
}

fn write(event: &BridgedEvent, _: &BridgePayload, ruling: &Ruling) -> Option<Value> {
    let mut answer = Map::new();
    let mut specific = Map::new();
    let mut decide = |decision: &str, reason: &str| {
        answer.insert("decision".into(), decision.into());
        answer.insert("reason".into(), reason.into());
    };
    match (event.kind, &ruling.verdict) {
        (MomentKind::Call, Some(Verdict::Ask(reason) | Verdict::Insist(reason))) => decide("ask", reason),
        (MomentKind::Call | MomentKind::Prompt | MomentKind::PreCompact, Some(_)) => {
            if let Some(reason) = ruling.refusal_without_asking("Gemini CLI") {
                decide("deny", &reason);
            }
        }
        (MomentKind::Stop, _) => ruling.go_on.iter().for_each(|reason| decide("deny", reason)),
        // The reason stands in place of the result.
        (MomentKind::Called, _) => ruling.output.iter().for_each(|text| decide("deny", text)),
        _ => {}
    }
    if let Some(arguments) = &ruling.arguments {
        specific.insert("tool_input".into(), arguments.clone().into());
    }
    let takes_context = matches!(
        event.kind,
        MomentKind::Called | MomentKind::Prompt | MomentKind::SessionStart
    );
    let mut notices = ruling.notices.clone();
    match ruling.context_text() {
        Some(context) if takes_context => drop(specific.insert("additionalContext".into(), context.into())),
        Some(context) => notices.push(context),
        None => {}
    }
    if let Some(reason) = &ruling.halt {
        answer.insert("continue".into(), false.into());
        answer.insert("stopReason".into(), reason.as_str().into());
    }
    if !notices.is_empty() {
        answer.insert("systemMessage".into(), notices.join("\n").into());
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".into(), event.name.into());
        answer.insert("hookSpecificOutput".into(), specific.into());
    }
    Some(Value::Object(answer))
}
