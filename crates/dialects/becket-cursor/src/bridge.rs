//! Cursor as an agent that asks becket's hooks.
//!
//! The entries are `failClosed`, so that Cursor refuses when becket says nothing; therefore something is always
//! written. Commands and servers' tools have events of their own, at which Cursor can ask its user.

use becket_events::Verdict;
use becket_hook_files::{HostWords, OTHERWISE_EXIT};
use becket_host::{
    AgentProgram, Asked, Bridge, BridgeEntry, BridgePayload, BridgedEvent, CallPart, MomentKind, Ruling,
    ToolNames, VariablesFor,
};
use serde_json::{Map, Value, json};

use crate::tools::profile;

/// Cursor, as it asks becket.
pub static BRIDGE: Bridge = Bridge {
    system: "cursor",
    title: "Cursor",
    project_variable: "CURSOR_PROJECT_DIR",
    event_variables: &[],
    variables: VariablesFor::HooksByAnswer,
    events: EVENTS,
    read,
    written: |call, own| WORDS.written(call, own),
    write,
    entry: BridgeEntry {
        user_file: ".cursor/hooks.json",
        home_variable: "",
        project_file: ".cursor/hooks.json",
        has_version: true,
        entry: |event, command| {
            let mut entry = json!({"command": command, "timeout": event.timeout.as_secs()});
            if refuses(event) && !command.contains(" --shadow") {
                entry["failClosed"] = true.into();
            }
            if event.name == "preToolUse" {
                entry["matcher"] = OTHERS.into();
            }
            entry
        },
        otherwise: OTHERWISE_EXIT,
        hindrances: |file| match file.content.get("version").and_then(Value::as_u64) {
            Some(1..) => Vec::new(),
            _ => vec!["Cursor ignores a file without a `version`".into()],
        },
        hint: "in a project, Cursor runs it once the workspace is trusted; of several folders, the first counts",
    },
    program: AgentProgram {
        name: "cursor",
        tried: "",
        oldest: Some(("2.0.64", "answers are not understood")),
    },
};

const SHELL: &str = "beforeShellExecution";
const SERVER: &str = "beforeMCPExecution";

/// Tools that have no event of their own.
const OTHERS: &str = "^(?!Shell$|MCP:)";

const EVENTS: &[BridgedEvent] = &[
    BridgedEvent::new("sessionStart", MomentKind::SessionStart, 30),
    BridgedEvent::new("beforeSubmitPrompt", MomentKind::Prompt, 30)
        .unable("with `-p` Cursor does not ask about prompts"),
    BridgedEvent::new("preToolUse", MomentKind::Call, 60)
        .unable("what a hook wants to ask is refused, except for commands and servers' tools"),
    BridgedEvent::new(SHELL, MomentKind::Call, 60)
        .unable("a command cannot be changed here; it is refused with the changed one as the reason"),
    BridgedEvent::new(SERVER, MomentKind::Call, 60)
        .unable("arguments cannot be changed here; the call is refused in place of that"),
    BridgedEvent::new("postToolUse", MomentKind::Called, 60)
        .unable("only the result of a server's tool can be replaced"),
    BridgedEvent::new("postToolUseFailure", MomentKind::Called, 60).unable("results cannot be replaced"),
    BridgedEvent::new("subagentStart", MomentKind::SubagentStart, 30),
    BridgedEvent::new("subagentStop", MomentKind::SubagentStop, 60),
    BridgedEvent::new("stop", MomentKind::Stop, 60),
    BridgedEvent::new("preCompact", MomentKind::PreCompact, 30).unable("a summary cannot be refused"),
    BridgedEvent::new("sessionEnd", MomentKind::SessionEnd, 10),
];

/// Whether Cursor refuses at an event if becket cannot be asked.
fn refuses(event: &BridgedEvent) -> bool {
    matches!(event.kind, MomentKind::Call | MomentKind::Prompt)
}

const WORDS: HostWords = HostWords {
    profile,
    tools: ToolNames {
        former: &[("Edit", "StrReplace"), ("WebFetch", "Fetch")],
        others: &[("spawn_agent", "Task")],
        subagent: &[("input", "prompt"), ("preset", "subagent_type")],
        server: |name| {
            let tool = name.strip_prefix("MCP:")?;
            Some(("cursor".to_owned(), tool.to_owned()))
        },
        special,
    },
    arguments: &["tool_input"],
    output: |payload| match payload.text(&["error_message"]) {
        Some(error) => (error.to_owned(), true),
        None => (payload.shown("tool_output"), false),
    },
};

/// Tools that go to a running command or remove a file.
fn special(name: &str, arguments: &Map<String, Value>) -> Option<Result<Vec<CallPart>, String>> {
    match name {
        "WriteShellStdin" => {
            let texts = arguments.values().filter_map(Value::as_str);
            Some(Ok(texts.map(CallPart::shell).collect()))
        }
        "Delete" => {
            let names = ["file_path", "path"].into_iter();
            let paths = names.filter_map(|name| arguments.get(name)?.as_str());
            let parts: Vec<CallPart> = paths.map(|path| CallPart::write(path, "")).collect();
            Some(if parts.is_empty() {
                Err("`file_path` is missing or no text".into())
            } else {
                Ok(parts)
            })
        }
        _ => None,
    }
}

/// Events about commands and servers' tools have no tool's name, or a shorter one.
fn read(event: &BridgedEvent, payload: &BridgePayload) -> Result<Asked, String> {
    let mut members = payload.0.clone();
    match event.name {
        SHELL => {
            let command = payload.needed("command")?;
            let mut arguments = json!({"command": command});
            if let Some(directory) = payload.text(&["cwd"]).filter(|directory| !directory.is_empty()) {
                arguments["cwd"] = directory.into();
            }
            members.insert("tool_name".into(), "Shell".into());
            members.insert("tool_input".into(), arguments);
        }
        SERVER => {
            let name = format!("MCP:{}", payload.needed("tool_name")?);
            members.insert("tool_name".into(), name.into());
        }
        _ => {}
    }
    WORDS.read(event, &BridgePayload(members))
}

fn write(event: &BridgedEvent, payload: &BridgePayload, ruling: &Ruling) -> Option<Value> {
    let mut answer = Map::new();
    match event.kind {
        MomentKind::Call => decide(event, ruling, &mut answer),
        MomentKind::SubagentStart => {
            answer.insert("permission".into(), "allow".into());
        }
        MomentKind::Prompt | MomentKind::SessionStart => {
            let refusal = ruling
                .refusal_without_asking("Cursor")
                .or_else(|| ruling.halt.clone());
            answer.insert("continue".into(), refusal.is_none().into());
            answer.extend(refusal.map(|reason| ("user_message".to_owned(), reason.into())));
            if !ruling.variables.is_empty() {
                answer.insert("env".into(), json!(ruling.variables));
            }
        }
        MomentKind::Stop | MomentKind::SubagentStop => {
            let go_on = ruling
                .go_on
                .as_deref()
                .map(|text| ("followup_message".to_owned(), text.into()));
            answer.extend(go_on);
        }
        MomentKind::Called => {
            let is_server = payload
                .text(&["tool_name"])
                .is_some_and(|name| name.starts_with("MCP:"));
            let text = ruling.output.as_deref().filter(|_| is_server);
            let output = text.map(|text| json!({"content": [{"type": "text", "text": text}]}));
            answer.extend(output.map(|output| ("updated_mcp_tool_output".to_owned(), output)));
        }
        _ => {}
    }
    if let Some(context) = ruling.context_text() {
        answer.insert("additional_context".into(), context.into());
    }
    if let Some(notice) = ruling.notice_text() {
        answer.entry("user_message").or_insert(notice.into());
    }
    Some(Value::Object(answer))
}

fn decide(event: &BridgedEvent, ruling: &Ruling, answer: &mut Map<String, Value>) {
    let has_own_event = [SHELL, SERVER].contains(&event.name);
    let asks = match &ruling.verdict {
        Some(Verdict::Ask(reason) | Verdict::Insist(reason)) if has_own_event => Some(reason.clone()),
        _ => None,
    };
    let changed = ruling.arguments.as_ref().filter(|_| has_own_event);
    let changed = changed.map(|arguments| {
        let text = arguments.get("command").and_then(Value::as_str);
        let text = text.map_or_else(|| Value::Object(arguments.clone()).to_string(), ToOwned::to_owned);
        format!("a hook wants this in its place: {text}")
    });
    let refusal = ruling
        .halt
        .clone()
        .or(changed)
        .or_else(|| ruling.refusal_without_asking("Cursor").filter(|_| asks.is_none()));
    let (permission, reason) = match (refusal, asks) {
        (Some(reason), _) => ("deny", Some(reason)),
        (None, Some(reason)) => ("ask", Some(reason)),
        (None, None) => ("allow", None),
    };
    answer.insert("permission".into(), permission.into());
    if let Some(reason) = reason {
        answer.insert("user_message".into(), reason.as_str().into());
        answer.insert("agent_message".into(), reason.into());
    } else if let Some(arguments) = &ruling.arguments {
        answer.insert("updated_input".into(), arguments.clone().into());
    }
}
