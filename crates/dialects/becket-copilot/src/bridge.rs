//! GitHub Copilot as an agent that asks becket's hooks, by its events with small first letters.

use becket_events::Verdict;
use becket_hook_files::{HostWords, OTHERWISE_EXIT, patch_parts};
use becket_host::{
    AgentProgram, Bridge, BridgeEntry, BridgePayload, BridgedEvent, CallPart, MomentKind, Ruling, ToolNames,
    VariablesFor, text_argument,
};
use serde_json::{Map, Value, json};

use crate::tools::profile;

/// Copilot, as it asks becket.
pub static BRIDGE: Bridge = Bridge {
    system: "copilot",
    title: "GitHub Copilot",
    project_variable: "",
    event_variables: &[],
    variables: VariablesFor::Nobody,
    events: EVENTS,
    read: |event, payload| WORDS.read(event, payload),
    written: |call, own| WORDS.written(call, own),
    write,
    entry: BridgeEntry {
        user_file: ".copilot/hooks/becket.json",
        home_variable: "COPILOT_HOME",
        project_file: ".github/hooks/becket.json",
        has_version: true,
        entry: |event, command| json!({"type": "command", "bash": command, "timeoutSec": event.timeout.as_secs()}),
        otherwise: OTHERWISE_EXIT,
        hindrances: |file| match file.content.get("disableAllHooks") {
            Some(Value::Bool(true)) => vec!["`disableAllHooks` is true".into()],
            _ => Vec::new(),
        },
        hint: "in a project, Copilot runs it once the folder is trusted",
    },
    program: AgentProgram {
        name: "copilot",
        tried: "",
        oldest: Some(("1.0.57", "a hook that breaks refuses nothing")),
    },
};

const EVENTS: &[BridgedEvent] = &[
    BridgedEvent::new("sessionStart", MomentKind::SessionStart, 30),
    BridgedEvent::new("userPromptSubmitted", MomentKind::Prompt, 30)
        .unable("Copilot cannot refuse a prompt: a refusal becomes text for the model"),
    BridgedEvent::new("preToolUse", MomentKind::Call, 60),
    BridgedEvent::new("permissionRequest", MomentKind::Permission, 60),
    BridgedEvent::new("postToolUse", MomentKind::Called, 60),
    BridgedEvent::new("postToolUseFailure", MomentKind::Called, 60).unable("results cannot be replaced"),
    BridgedEvent::new("subagentStart", MomentKind::SubagentStart, 30),
    BridgedEvent::new("subagentStop", MomentKind::SubagentStop, 60),
    BridgedEvent::new("agentStop", MomentKind::Stop, 60),
    BridgedEvent::new("preCompact", MomentKind::PreCompact, 30).unable("a summary cannot be refused"),
    BridgedEvent::new("notification", MomentKind::Attention, 30),
    BridgedEvent::new("sessionEnd", MomentKind::SessionEnd, 10),
];

const WORDS: HostWords = HostWords {
    profile,
    tools: ToolNames {
        former: &[("powershell", "bash"), ("rg", "grep")],
        others: &[("spawn_agent", "task"), ("update_todos", "update_todo")],
        subagent: &[("input", "prompt"), ("preset", "agent_type")],
        // The name of a server's tool cannot be told from other names.
        server: |_| None,
        special,
    },
    arguments: &["toolArgs", "toolInput"],
    output: |payload| {
        if let Some(error) = payload.0.get("error").filter(|error| !error.is_null()) {
            return (
                error
                    .as_str()
                    .map_or_else(|| error.to_string(), ToOwned::to_owned),
                true,
            );
        }
        let text = payload
            .0
            .get("toolResult")
            .and_then(|result| result.get("textResultForLlm"));
        let text = text.and_then(Value::as_str).map(ToOwned::to_owned);
        (text.unwrap_or_else(|| payload.shown("toolResult")), false)
    },
};

/// Tools that mean several operations, or go to a running command.
fn special(name: &str, arguments: &Map<String, Value>) -> Option<Result<Vec<CallPart>, String>> {
    match name {
        "apply_patch" => {
            let names = ["patch", "input", "command"].into_iter();
            let texts: Vec<&str> = names.filter_map(|name| arguments.get(name)?.as_str()).collect();
            Some(match texts.as_slice() {
                [text] => patch_parts(text),
                _ => Err("there is no patch, or more than one".into()),
            })
        }
        "write_bash" | "write_powershell" => {
            let texts = arguments.values().filter_map(Value::as_str);
            Some(Ok(texts.map(CallPart::shell).collect()))
        }
        "str_replace_editor" => Some(text_argument(arguments, "path").map(|path| {
            let text = |name: &str| text_argument(arguments, name).unwrap_or_default();
            vec![match text("command") {
                "view" => CallPart::read(path),
                "str_replace" => CallPart::edit(path, text("old_str"), text("new_str")),
                _ => CallPart::write(path, &[text("file_text"), text("new_str")].concat()),
            }]
        })),
        _ => None,
    }
}

fn write(event: &BridgedEvent, _: &BridgePayload, ruling: &Ruling) -> Option<Value> {
    let mut answer = Map::new();
    let mut context = ruling.context.clone();
    match event.kind {
        MomentKind::Call => decide(ruling, &mut answer),
        MomentKind::Permission => {
            let behavior = match (&ruling.verdict, &ruling.halt) {
                (_, Some(reason)) | (Some(Verdict::Deny(reason)), None) => Some(("deny", Some(reason))),
                (Some(Verdict::Allow), None) => Some(("allow", None)),
                _ => None,
            };
            if let Some((behavior, message)) = behavior {
                answer.insert("behavior".into(), behavior.into());
                answer.extend(message.map(|message| ("message".to_owned(), message.as_str().into())));
            }
        }
        MomentKind::Prompt => {
            let refusal = ruling
                .refusal_without_asking("Copilot")
                .or_else(|| ruling.halt.clone());
            context.extend(refusal.map(|reason| {
                format!("The user's rules refuse this prompt: {reason}. Do nothing and say so.")
            }));
        }
        MomentKind::Stop | MomentKind::SubagentStop => {
            if let Some(reason) = &ruling.go_on {
                answer.insert("decision".into(), "block".into());
                answer.insert("reason".into(), reason.as_str().into());
            }
        }
        MomentKind::Called => {
            if let Some(text) = ruling.output.as_ref().filter(|_| event.name == "postToolUse") {
                let result = json!({"resultType": "success", "textResultForLlm": text});
                answer.insert("modifiedResult".into(), result);
            }
        }
        _ => {}
    }
    if !context.is_empty() {
        answer.insert("additionalContext".into(), context.join("\n\n").into());
    }
    (!answer.is_empty()).then_some(Value::Object(answer))
}

fn decide(ruling: &Ruling, answer: &mut Map<String, Value>) {
    let decision = match (&ruling.verdict, &ruling.halt) {
        (_, Some(reason)) | (Some(Verdict::Deny(reason)), None) => Some(("deny", reason.clone())),
        (Some(Verdict::Ask(reason) | Verdict::Insist(reason)), None) => Some(("ask", reason.clone())),
        (Some(Verdict::Allow), None) => Some(("allow", "a hook allows it".to_owned())),
        (None, None) => None,
    };
    if let Some((decision, reason)) = decision {
        answer.insert("permissionDecision".into(), decision.into());
        answer.insert("permissionDecisionReason".into(), reason.into());
    }
    if let Some(arguments) = &ruling.arguments {
        answer.insert("modifiedArgs".into(), arguments.clone().into());
    }
}
