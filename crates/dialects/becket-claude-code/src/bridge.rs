//! Claude Code as an agent that asks becket's hooks.

use std::path::Path;

use becket_events::Verdict;
use becket_hook_files::{HostWords, OTHERWISE_EXIT, server_of, where_true};
use becket_host::{
    AgentProgram, Bridge, BridgeEntry, BridgePayload, BridgedEvent, CallPart, EntryFile, MomentKind, Ruling,
    ToolNames, VariablesFor, text_argument,
};
use serde_json::{Map, Value, json};

use crate::sources::managed_settings;
use crate::tools::profile;

/// The variable that names a file for variables.
const ENV_FILE: &str = "CLAUDE_ENV_FILE";

/// Claude Code, as it asks becket.
pub static BRIDGE: Bridge = Bridge {
    system: "claude-code",
    title: "Claude Code",
    project_variable: "CLAUDE_PROJECT_DIR",
    event_variables: &["CLAUDE_EFFORT", ENV_FILE, "COLUMNS", "LINES"],
    variables: VariablesFor::CommandsByFile(ENV_FILE),
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
        hindrances,
        hint: "in a project, Claude Code runs it once the workspace is trusted",
    },
    program: AgentProgram {
        name: "claude",
        tried: "2.1.197",
        oldest: Some(("2.1.105", "a summary cannot be refused")),
    },
};

/// Settings of the user, the project and the machine that keep Claude Code from running the entries.
fn hindrances(file: &EntryFile<'_>) -> Vec<String> {
    let project = file.project_root.join(".claude");
    // What cannot be read shows no switch.
    let managed = managed_settings().unwrap_or_default();
    let files = [
        file.user_file.to_path_buf(),
        project.join("settings.json"),
        project.join("settings.local.json"),
    ];
    let off = where_true(files.iter().chain(&managed), "disableAllHooks");
    let only = where_true(&managed, "allowManagedHooksOnly");
    let off = off.map(|file| format!("`disableAllHooks` is true in {}", file.display()));
    let only = only.map(|file| format!("`allowManagedHooksOnly` is true in {}", file.display()));
    off.chain(only).chain(untrusted(file)).collect()
}

/// Why Claude Code runs no hooks of a project yet, if it was started by this user and never told to trust the project.
fn untrusted(file: &EntryFile<'_>) -> Option<String> {
    if !file.path.starts_with(file.project_root) || file.path == file.user_file {
        return None;
    }
    let folder = file.user_file.parent()?;
    // In the user's own folder if a variable names that, and beside it otherwise.
    let states = [folder.join(".claude.json"), folder.with_file_name(".claude.json")];
    let state = states
        .iter()
        .find_map(|state| becket_fs::read_to_string(state).ok())?;
    let state: Value = serde_json::from_str(&state).ok()?;
    let projects = state.get("projects")?.as_object()?;
    let accepted = |folder: &Path| {
        let project = projects.get(folder.to_str()?)?;
        project.get("hasTrustDialogAccepted")?.as_bool()
    };
    let is_trusted = file
        .project_root
        .ancestors()
        .any(|folder| accepted(folder) == Some(true));
    (!is_trusted)
        .then(|| "the project is not trusted in Claude Code yet; start it there and agree".to_owned())
}

const SEARCHES: &str = "a search is judged by its folder, not by each file that it finds";

const EVENTS: &[BridgedEvent] = &[
    BridgedEvent::new("SessionStart", MomentKind::SessionStart, 30),
    BridgedEvent::new("UserPromptSubmit", MomentKind::Prompt, 30),
    BridgedEvent::new("PreToolUse", MomentKind::Call, 60).unable(SEARCHES),
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

/// Tools that run commands, read or write files besides the usual ones.
fn special(name: &str, arguments: &Map<String, Value>) -> Option<Result<Vec<CallPart>, String>> {
    let text = |name: &str| text_argument(arguments, name);
    let one = |part: CallPart| vec![part];
    match name {
        "Monitor" | "PowerShell" => Some(text("command").map(CallPart::shell).map(one)),
        "NotebookRead" => Some(text("notebook_path").map(CallPart::read).map(one)),
        "NotebookEdit" => {
            let content = text("new_source").unwrap_or_default();
            Some(text("notebook_path").map(|path| one(CallPart::write(path, content))))
        }
        "MultiEdit" => Some(text("file_path").and_then(|path| multi_edit(path, arguments))),
        _ => None,
    }
}

fn multi_edit(path: &str, arguments: &Map<String, Value>) -> Result<Vec<CallPart>, String> {
    let edits = arguments.get("edits").and_then(Value::as_array);
    let edits = edits.ok_or("`edits` is missing or no list")?.iter().map(|edit| {
        let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
        CallPart::edit(path, text("old_string"), text("new_string"))
    });
    Ok(edits.collect())
}

/// The text of a result: what the model reads of it. Where a result has members that are not known, it is all of them.
fn output(payload: &BridgePayload) -> (String, bool) {
    if let Some(error) = payload.text(&["error"]) {
        return (error.to_owned(), true);
    }
    let response = payload.0.get("tool_response").unwrap_or(&Value::Null);
    (
        text_of(response).unwrap_or_else(|| payload.shown("tool_response")),
        false,
    )
}

fn text_of(response: &Value) -> Option<String> {
    if let Some(texts) = response.as_array().and_then(|list| texts_of(list)) {
        return Some(texts);
    }
    let members = response.as_object()?;
    if members.keys().any(|name| !KNOWN.contains(&name.as_str())) {
        return None;
    }
    let text = |path: &[&str]| {
        let member = path.iter().try_fold(response, |value, name| value.get(name));
        member?.as_str()
    };
    match (text(&["stdout"]), text(&["stderr"])) {
        (Some(out), Some(err)) if !err.is_empty() => Some(format!("{out}\n{err}")),
        (Some(out), _) => Some(out.to_owned()),
        (None, _) => PLACES.iter().find_map(|path| text(path)).map(ToOwned::to_owned),
    }
}

/// The texts of a server's result; `None` if it holds something else.
fn texts_of(list: &[Value]) -> Option<String> {
    let texts = list.iter().map(|part| {
        let text = part.get("text")?.as_str()?;
        (part["type"] == "text").then_some(text)
    });
    Some(texts.collect::<Option<Vec<&str>>>()?.join("\n"))
}

/// Where the text of a result stands.
const PLACES: &[&[&str]] = &[&["file", "content"], &["content"], &["result"]];

/// Members of results beside which the model reads nothing but the text.
const KNOWN: &[&str] = &[
    "stdout",
    "stderr",
    "interrupted",
    "isImage",
    "noOutputExpected",
    "backgroundTaskId",
    "persistedOutputPath",
    "type",
    "file",
    "content",
    "result",
    "mode",
    "filenames",
    "numFiles",
    "numLines",
    "bytes",
    "code",
    "codeText",
    "url",
    "durationMs",
];

/// The result with another text in it; `None` if there is no place for one.
fn with_text(payload: &BridgePayload, text: &str) -> Option<Value> {
    let mut response = payload.0.get("tool_response")?.clone();
    if response.is_string() {
        return Some(text.into());
    }
    if response.as_array().is_some_and(|list| texts_of(list).is_some()) {
        return Some(json!([{"type": "text", "text": text}]));
    }
    text_of(&response)?;
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
