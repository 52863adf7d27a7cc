//! What each field of a hook's answer does, in every system that keeps its hooks in JSON files. What runs with such
//! hooks come to is a page of the documentation for each system.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::hook_ends::{CLAUDE_CODE, CODEX, COPILOT, CURSOR, GEMINI, System, golden};
use crate::hook_files::{answers, call, shell};
use crate::mcp::with_server;
use crate::room;

/// The word that answers say, and that is looked for where it may arrive.
const WORD: &str = "lighthouse";

/// What a call of the page's runs prints, and what stands in the file that one reads.
const PRINTED: &str = "printed by the call";

/// What a sub-agent of the page's runs says.
const CHILD_SAID: &str = "said by the sub-agent";

/// An answer of a hook.
struct Said {
    event: &'static str,
    answer: Value,
    /// Whether the user would be asked about the call, and is not there.
    needs_yes: bool,
    call: Call,
}

/// The call that the model makes, or what else happens in a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    /// A command that runs.
    Shell,
    /// A command that fails.
    Failing,
    /// A sub-agent, which says something.
    SubAgent,
    /// A file that is read.
    Read,
    /// A tool of a server.
    Server,
    /// A command, then another one and a write. The hook answers once.
    Several,
    /// A command in a project that is set up.
    Init,
    /// A prompt that is a slash command.
    Slash,
    /// A command after another model was chosen.
    Switch,
    /// A summary of the conversation.
    Summary,
    /// A chat in which the agent waits for another prompt.
    Waiting,
}

/// A line that stands for another text, and that text.
const SLASH: (&str, &str) = ("/review a.rs", "Review a.rs.");

impl Call {
    /// The call in the words of the page.
    fn shown(self) -> &'static str {
        match self {
            Self::Shell => "",
            Self::Failing => ", a command that fails",
            Self::SubAgent => ", a sub-agent",
            Self::Read => ", a file is read",
            Self::Server => ", a server's tool",
            Self::Several => ", with calls after it",
            Self::Init => ", with `--init`",
            Self::Slash => ", a slash command",
            Self::Switch => ", another model",
            Self::Summary => ", a summary",
            Self::Waiting => ", between two prompts",
        }
    }

    /// The options and the prompt of the run.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Init => &["--init", "go"],
            Self::Slash => &["--prompt-template", "review.md", SLASH.0],
            Self::Switch => &["-e", "chooses.ts", "go"],
            Self::Summary => &["compact"],
            Self::Waiting => &["chat"],
            _ => &["go"],
        }
    }

    /// The model's answers with the calls.
    fn turns(self, room: &Room) -> Vec<Value> {
        let child = || {
            let turns = json!([{"text": CHILD_SAID}, {"text": CHILD_SAID}]);
            room.write("../child.json", turns.to_string())
                .display()
                .to_string()
        };
        let runs = || shell(&format!("touch made; echo {PRINTED}"));
        match self {
            Self::Shell | Self::Init | Self::Slash | Self::Switch => vec![runs()],
            Self::Failing => vec![shell(&format!("touch made; echo {PRINTED}; exit 3"))],
            Self::SubAgent => {
                let model = format!("scripted/{}", child());
                vec![call(
                    "spawn_agent",
                    &json!({"system_prompt": "help", "input": "count", "model": model}),
                )]
            }
            Self::Read => vec![call("read", &json!({"path": "a.txt"}))],
            Self::Server => vec![call("one_echo", &json!({"text": PRINTED}))],
            Self::Several => vec![
                runs(),
                shell("touch later"),
                call("write", &json!({"path": "written", "content": "x"})),
            ],
            Self::Summary | Self::Waiting => Vec::new(),
        }
    }
}

/// An answer in a run in which calls of the shell are allowed.
fn said(event: &'static str, answer: Value) -> Said {
    Said {
        event,
        answer,
        needs_yes: false,
        call: Call::Shell,
    }
}

/// An answer beside another call.
fn beside(call: Call, said: Said) -> Said {
    Said { call, ..said }
}

/// An answer in a run in which the call needs a yes, and nobody is there to give it.
fn unasked(event: &'static str, answer: Value) -> Said {
    Said {
        needs_yes: true,
        ..said(event, answer)
    }
}

/// The field of an answer in which a system keeps what belongs to one event.
fn specific(event: &'static str, mut members: Value) -> Said {
    members["hookEventName"] = event.into();
    said(event, json!({"hookSpecificOutput": members}))
}

fn specific_unasked(event: &'static str, members: Value) -> Said {
    Said {
        needs_yes: true,
        ..specific(event, members)
    }
}

/// Whether the second request shows what the call has printed.
fn shows_output(requests: &[&Value], call: Call) -> bool {
    let printed = match call {
        Call::SubAgent => CHILD_SAID.to_owned(),
        Call::Read | Call::Server => PRINTED.to_owned(),
        _ => format!("{PRINTED}\\n"),
    };
    let messages = requests
        .get(1)
        .and_then(|request| request["body"]["messages"].as_array());
    let mut results = messages
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "tool");
    results.any(|result| result.to_string().contains(&printed))
}

/// Whether the server was asked to do something.
fn was_called(room: &Room) -> bool {
    let log = std::fs::read_to_string(room.home().join("one.log"));
    log.is_ok_and(|log| log.contains("heard tools/call"))
}

/// What a run with an answer came to, in the words of the page.
fn effects(room: &Room, run: &Finished, said: &Said) -> Vec<&'static str> {
    let requests = run.events_named("pre_request");
    let (own, of_child): (Vec<&Value>, Vec<&Value>) = requests
        .iter()
        .partition(|request| request["parent_session_id"].is_null());
    let texts = |requests: &[&Value]| -> Vec<String> {
        let bodies = requests.iter().map(|request| request["body"].to_string());
        bodies.collect()
    };
    let (bodies, child) = (texts(&own), texts(&of_child));
    let (made, changed) = (room.has("made"), room.has("changed"));
    let shows = shows_output(&own, said.call);
    let ran = match said.call {
        Call::Read => shows,
        Call::Server => was_called(room),
        Call::Summary | Call::Waiting => true,
        _ => made || changed || !child.is_empty(),
    };
    let is_in = |bodies: &[String]| bodies.iter().any(|body| body.contains(WORD));
    let (is_told, is_child_told) = (is_in(&bodies), is_in(&child));
    let needs_yes = said.needs_yes;
    let titles = room.run(["sessions"]).stdout;
    let is_user_told = [WORD, "a hook wanted", "a hook said", "a hook sets"]
        .iter()
        .any(|words| run.stderr.contains(words));
    let turns = said.call.turns(room).len().max(1);
    let (begins, ends_early) = (bodies.len() > 1, bodies.len() == 1);
    let has_results = !matches!(said.call, Call::Summary | Call::Waiting);
    let summary_is_refused = said.call == Call::Summary && run.code != 0;
    let other_is_refused = said.call == Call::Switch && !room.has("other-answers");
    [
        (other_is_refused, "the other model is refused"),
        (summary_is_refused, "the summary is refused"),
        (
            run.code != 0 && bodies.is_empty() && !summary_is_refused,
            "the prompt is refused",
        ),
        (!ran && begins, "the call is refused"),
        (!ran && ends_early, "the call is refused, and the run ends"),
        (ran && needs_yes, "the call runs without a question"),
        (changed, "the arguments are changed"),
        (room.has("later"), "a later command runs without a question"),
        (room.has("written"), "a later write runs without a question"),
        (has_results && ran && ends_early, "the run ends after the call"),
        (
            has_results && ran && !changed && begins && !shows,
            "the result is replaced",
        ),
        (has_results && bodies.len() > turns + 1, "the model goes on"),
        (child.len() > 1, "the sub-agent goes on"),
        (is_child_told, "the sub-agent is told"),
        (is_told, "the model is told"),
        (is_user_told, "the user is told"),
        (run.stdout.contains("final by a hook"), "the answer is replaced"),
        (titles.contains(WORD), "the conversation has that title"),
        (
            run.stderr.contains("a hook has archived the conversation"),
            "the conversation starts over",
        ),
    ]
    .into_iter()
    .filter_map(|(is_so, words)| is_so.then_some(words))
    .collect()
}

/// Events whose hooks would make the model go on again and again.
const ENDS: [&str; 6] = [
    "Stop",
    "stop",
    "agentStop",
    "AfterAgent",
    "SubagentStop",
    "subagentStop",
];

/// A run with one hook: the model makes its calls, and then answers as often as it is asked. Nothing without Python.
fn play(system: &System, said: &Said) -> Option<(Room, Finished)> {
    let room = match said.call {
        Call::Server => with_server("well", "")?,
        _ => room(),
    };
    let room = room.with("SHELL", "/bin/bash");
    let command = match &said.answer {
        Value::String(text) => format!("printf '%s' '{text}'"),
        answer => answers(answer),
    };
    // Others are asked again about what they have changed.
    let once = ENDS.contains(&said.event) || said.call == Call::Several;
    let command = match once {
        true => format!("[ -e ../said ] || {{ touch ../said; {command}; }}"),
        false => command,
    };
    room.write(system.file, (system.hooks)(said.event, &command).to_string());
    if !said.needs_yes {
        let settings = room.read("../home/.config/becket/config.toml");
        room.config(&format!(
            "{settings}[permissions]\nallow = [\"shell\", \"spawn_agent\", \"one_echo\"]\n"
        ));
    }
    room.write("a.txt", PRINTED);
    room.write(
        "review.md",
        format!("---\ndescription: reviews\n---\n{}\n", SLASH.1),
    );
    room.write(
        "chooses.ts",
        "export default (pi: any) => {\n\
         pi.on(\"session_start\", () => pi.setModel({ provider: \"scripted\", id: \"other.json\" }));\n};\n",
    );
    let with_words = |mut turns: Vec<Value>| {
        turns.extend(["one", "two", "three"].map(|text| json!({"text": text})));
        json!(turns)
    };
    let other = shell(&format!("touch made other-answers; echo {PRINTED}"));
    room.write("other.json", with_words(vec![other]).to_string());
    let model = room.model(&with_words(said.call.turns(&room)));
    let begin = ["--trust", "--json", "--model", &model];
    if said.call == Call::Summary {
        room.run(begin.iter().chain(&["go"])).ended_with(0);
    }
    let line = begin.iter().chain(said.call.words());
    let run = match said.call {
        Call::Waiting => room.run_with_input(line, "hello\nmore\n"),
        _ => room.run(line),
    };
    Some((room, run))
}

/// Plays all answers of a system, and compares the page.
fn play_all(system: &System, all: &[Said]) {
    let mut page = format!(
        "# {}: what the fields of an answer do\n\nWritten by the tests in `hook_answers.rs`, with real hooks, and \
         compared by them. `BECKET_UPDATE_GOLDENS=1` rewrites it. The answers stand beside a call of the shell, \
         unless the table names something else; where it says so, the call needs a yes and nobody is there to \
         give it.\n\n\
         | at | answer | what happens |\n|---|---|---|\n",
        system.title
    );
    for said in all {
        let Some((room, run)) = play(system, said) else {
            return;
        };
        let effects = effects(&room, &run, said);
        let effect = match effects.is_empty() {
            true => "nothing".to_owned(),
            false => effects.join("; "),
        };
        let answer = match &said.answer {
            Value::String(text) => format!("{text} (no JSON)"),
            answer => answer.to_string(),
        };
        let needs = if said.needs_yes { ", a yes is needed" } else { "" };
        let (event, call) = (said.event, said.call.shown());
        page.push_str(&format!("| `{event}`{call}{needs} | `{answer}` | {effect} |\n"));
    }
    golden(&format!("docs/dialects/{}-answers.md", system.name), &page);
}

// tidy: a table
#[test]
fn the_answers_of_claude_code() {
    let decision = |decision: Value| json!({"decision": decision});
    let touches = json!([{"toolName": "Bash", "ruleContent": "touch:*"}]);
    let gives = |change: Value| {
        let allows = json!({"behavior": "allow", "updatedPermissions": [change]});
        beside(
            Call::Several,
            specific_unasked("PermissionRequest", decision(allows)),
        )
    };
    play_all(
        &CLAUDE_CODE,
        &[
            beside(Call::Init, specific("Setup", json!({"additionalContext": WORD}))),
            beside(Call::Init, said("Setup", json!({"systemMessage": WORD}))),
            beside(
                Call::Init,
                said("Setup", json!({"continue": false, "stopReason": WORD})),
            ),
            specific("SessionStart", json!({"additionalContext": WORD})),
            specific("SessionStart", json!({"initialUserMessage": WORD})),
            specific("SessionStart", json!({"sessionTitle": WORD})),
            specific("SessionStart", json!({"watchPaths": [WORD]})),
            specific("SessionStart", json!({"reloadSkills": true})),
            said(
                "SessionStart",
                json!({"terminalSequence": "\u{1b}]52;c;bGlnaHRob3VzZQ==\u{7}"}),
            ),
            said("SessionStart", json!({"systemMessage": WORD})),
            said("SessionStart", json!({"continue": false, "stopReason": WORD})),
            said("SessionStart", WORD.into()),
            said("UserPromptSubmit", json!({"decision": "block", "reason": WORD})),
            specific("UserPromptSubmit", json!({"additionalContext": WORD})),
            specific("UserPromptSubmit", json!({"sessionTitle": WORD})),
            specific("UserPromptSubmit", json!({"suppressOriginalPrompt": true})),
            said("UserPromptSubmit", json!({"continue": false, "stopReason": WORD})),
            said("UserPromptSubmit", json!({"systemMessage": WORD})),
            said("UserPromptSubmit", WORD.into()),
            beside(
                Call::Slash,
                said(
                    "UserPromptExpansion",
                    json!({"decision": "block", "reason": WORD}),
                ),
            ),
            beside(
                Call::Slash,
                specific("UserPromptExpansion", json!({"additionalContext": WORD})),
            ),
            beside(
                Call::Slash,
                specific("UserPromptExpansion", json!({"suppressOriginalPrompt": true})),
            ),
            beside(Call::Slash, said("UserPromptExpansion", WORD.into())),
            said("PreToolUse", json!({"decision": "block", "reason": WORD})),
            unasked("PreToolUse", json!({"decision": "approve", "reason": WORD})),
            specific(
                "PreToolUse",
                json!({"permissionDecision": "deny", "permissionDecisionReason": WORD}),
            ),
            specific(
                "PreToolUse",
                json!({"permissionDecision": "ask", "permissionDecisionReason": WORD}),
            ),
            specific(
                "PreToolUse",
                json!({"permissionDecision": "defer", "permissionDecisionReason": WORD}),
            ),
            specific_unasked("PreToolUse", json!({"permissionDecision": "allow"})),
            specific(
                "PreToolUse",
                json!({"updatedInput": {"command": "touch changed"}}),
            ),
            specific("PreToolUse", json!({"additionalContext": WORD})),
            said("PreToolUse", json!({"continue": false, "stopReason": WORD})),
            said("PreToolUse", json!({"systemMessage": WORD})),
            said("PreToolUse", json!({"suppressOutput": true})),
            specific_unasked("PermissionRequest", decision(json!({"behavior": "allow"}))),
            specific_unasked(
                "PermissionRequest",
                decision(json!({"behavior": "allow", "updatedInput": {"command": "touch changed"}})),
            ),
            specific_unasked(
                "PermissionRequest",
                decision(json!({"behavior": "deny", "message": WORD})),
            ),
            specific_unasked(
                "PermissionRequest",
                decision(json!({"behavior": "deny", "message": WORD, "interrupt": true})),
            ),
            gives(json!({"type": "addRules", "behavior": "allow", "rules": touches})),
            gives(json!({"type": "addRules", "behavior": "deny", "rules": touches})),
            gives(json!({"type": "addRules", "behavior": "ask", "rules": touches})),
            gives(json!({"type": "replaceRules", "behavior": "deny", "rules": touches})),
            gives(json!({"type": "removeRules", "behavior": "deny", "rules": touches})),
            gives(json!({"type": "setMode", "mode": "acceptEdits"})),
            gives(json!({"type": "setMode", "mode": "plan"})),
            gives(json!({"type": "setMode", "mode": "bypassPermissions"})),
            gives(json!({"type": "addDirectories", "directories": [WORD]})),
            said("PostToolUse", json!({"decision": "block", "reason": WORD})),
            specific("PostToolUse", json!({"classifierContext": WORD})),
            specific("PostToolUse", json!({"additionalContext": WORD})),
            specific(
                "PostToolUse",
                json!({"updatedToolOutput": {"stdout": WORD, "stderr": "", "interrupted": false}}),
            ),
            said("PostToolUse", json!({"continue": false, "stopReason": WORD})),
            said("PostToolUse", json!({"systemMessage": WORD})),
            beside(
                Call::Failing,
                specific("PostToolUseFailure", json!({"additionalContext": WORD})),
            ),
            beside(
                Call::SubAgent,
                specific("SubagentStart", json!({"additionalContext": WORD})),
            ),
            beside(
                Call::SubAgent,
                said("SubagentStop", json!({"decision": "block", "reason": WORD})),
            ),
            beside(
                Call::SubAgent,
                specific("SubagentStop", json!({"additionalContext": WORD})),
            ),
            said("PostToolBatch", json!({"decision": "block", "reason": WORD})),
            specific("PostToolBatch", json!({"additionalContext": WORD})),
            said("Stop", json!({"decision": "block", "reason": WORD})),
            specific("Stop", json!({"additionalContext": WORD})),
            said("Stop", json!({"continue": false, "stopReason": WORD})),
            said("Stop", json!({"systemMessage": WORD})),
            beside(
                Call::Summary,
                said("PreCompact", json!({"decision": "block", "reason": WORD})),
            ),
            beside(Call::Summary, said("PreCompact", json!({"systemMessage": WORD}))),
            beside(Call::Summary, said("PreCompact", WORD.into())),
            beside(Call::Summary, said("PostCompact", WORD.into())),
            beside(
                Call::Switch,
                specific(
                    "PreModelSwitch",
                    json!({"permissionDecision": "deny", "permissionDecisionReason": WORD}),
                ),
            ),
            beside(
                Call::Switch,
                specific(
                    "PreModelSwitch",
                    json!({"permissionDecision": "ask", "permissionDecisionReason": WORD}),
                ),
            ),
            beside(
                Call::Switch,
                specific("PreModelSwitch", json!({"permissionDecision": "allow"})),
            ),
            beside(
                Call::Switch,
                specific("PostModelSwitch", json!({"additionalContext": WORD})),
            ),
            beside(Call::Switch, said("PostModelSwitch", WORD.into())),
            beside(
                Call::Waiting,
                specific("Notification", json!({"additionalContext": WORD})),
            ),
            beside(
                Call::Waiting,
                said("Notification", json!({"systemMessage": WORD})),
            ),
            said("SessionEnd", json!({"systemMessage": WORD})),
        ],
    );
}

#[test]
fn the_answers_of_codex() {
    let decision = |decision: Value| json!({"decision": decision});
    play_all(
        &CODEX,
        &[
            specific("SessionStart", json!({"additionalContext": WORD})),
            said("SessionStart", json!({"continue": false, "stopReason": WORD})),
            said("SessionStart", json!({"systemMessage": WORD})),
            said("SessionStart", WORD.into()),
            said("UserPromptSubmit", json!({"decision": "block", "reason": WORD})),
            specific("UserPromptSubmit", json!({"additionalContext": WORD})),
            said("UserPromptSubmit", json!({"continue": false, "stopReason": WORD})),
            said("UserPromptSubmit", WORD.into()),
            said("PreToolUse", json!({"decision": "block", "reason": WORD})),
            specific(
                "PreToolUse",
                json!({"permissionDecision": "deny", "permissionDecisionReason": WORD}),
            ),
            specific("PreToolUse", json!({"permissionDecision": "ask"})),
            specific_unasked("PreToolUse", json!({"permissionDecision": "allow"})),
            specific(
                "PreToolUse",
                json!({"permissionDecision": "allow", "updatedInput": {"command": "touch changed"}}),
            ),
            specific("PreToolUse", json!({"additionalContext": WORD})),
            said("PreToolUse", json!({"systemMessage": WORD})),
            said("PreToolUse", json!({"continue": false})),
            specific_unasked("PermissionRequest", decision(json!({"behavior": "allow"}))),
            specific_unasked(
                "PermissionRequest",
                decision(json!({"behavior": "deny", "message": WORD})),
            ),
            said("PostToolUse", json!({"decision": "block", "reason": WORD})),
            specific("PostToolUse", json!({"additionalContext": WORD})),
            said("PostToolUse", json!({"continue": false, "stopReason": WORD})),
            said("PostToolUse", json!({"systemMessage": WORD})),
            beside(
                Call::SubAgent,
                specific("SubagentStart", json!({"additionalContext": WORD})),
            ),
            beside(
                Call::SubAgent,
                said("SubagentStop", json!({"decision": "block", "reason": WORD})),
            ),
            said("Stop", json!({"decision": "block", "reason": WORD})),
            said("Stop", json!({"continue": false, "stopReason": WORD})),
            said("Stop", json!({"systemMessage": WORD})),
            beside(
                Call::Summary,
                said("PreCompact", json!({"continue": false, "stopReason": WORD})),
            ),
            beside(Call::Summary, said("PreCompact", json!({"systemMessage": WORD}))),
            beside(
                Call::Summary,
                said("PostCompact", json!({"continue": false, "stopReason": WORD})),
            ),
            beside(Call::Summary, said("PostCompact", json!({"systemMessage": WORD}))),
        ],
    );
}

#[test]
fn the_answers_of_gemini() {
    let call = json!({"mode": "NONE"});
    let clears = |mut answer: Value| {
        answer["hookSpecificOutput"] = json!({"clearContext": true});
        said("AfterAgent", answer)
    };
    play_all(
        &GEMINI,
        &[
            specific("SessionStart", json!({"additionalContext": WORD})),
            said("SessionStart", json!({"systemMessage": WORD})),
            said("BeforeAgent", json!({"decision": "deny", "reason": WORD})),
            said("BeforeAgent", json!({"decision": "block", "reason": WORD})),
            specific("BeforeAgent", json!({"additionalContext": WORD})),
            said("BeforeAgent", json!({"continue": false, "stopReason": WORD})),
            said("BeforeAgent", json!({"systemMessage": WORD})),
            specific(
                "BeforeModel",
                json!({"llm_request": {"messages": [{"role": "user", "content": WORD}]}}),
            ),
            specific(
                "BeforeModel",
                json!({"llm_response": {"candidates": [{"content": {"role": "model", "parts": ["final by a hook"]}}]}}),
            ),
            said("BeforeModel", json!({"decision": "deny", "reason": WORD})),
            specific("BeforeToolSelection", json!({"toolConfig": call})),
            specific(
                "AfterModel",
                json!({"llm_response": {"candidates": [{"content": {"role": "model", "parts": ["final by a hook"]}}]}}),
            ),
            said("AfterModel", json!({"decision": "deny", "reason": WORD})),
            said("BeforeTool", json!({"decision": "deny", "reason": WORD})),
            said("BeforeTool", json!({"decision": "ask"})),
            unasked("BeforeTool", json!({"decision": "allow"})),
            specific("BeforeTool", json!({"tool_input": {"command": "touch changed"}})),
            said("BeforeTool", json!({"continue": false, "stopReason": WORD})),
            said("BeforeTool", json!({"systemMessage": WORD})),
            said("AfterTool", json!({"decision": "deny", "reason": WORD})),
            specific("AfterTool", json!({"additionalContext": WORD})),
            specific(
                "AfterTool",
                json!({"tailToolCallRequest": {"name": "read_file", "args": {}}}),
            ),
            said("AfterTool", json!({"continue": false, "stopReason": WORD})),
            said("AfterAgent", json!({"decision": "deny", "reason": WORD})),
            said("AfterAgent", json!({"continue": false, "stopReason": WORD})),
            specific("AfterAgent", json!({"clearContext": true})),
            clears(json!({"decision": "deny", "reason": WORD})),
            clears(json!({"continue": false, "stopReason": WORD})),
            beside(Call::Summary, said("PreCompress", json!({"systemMessage": WORD}))),
            said("SessionEnd", json!({"systemMessage": WORD})),
        ],
    );
}

// tidy: a table
#[test]
fn the_answers_of_cursor() {
    play_all(
        &CURSOR,
        &[
            said("sessionStart", json!({"additional_context": WORD})),
            said("sessionStart", json!({"continue": false, "user_message": WORD})),
            said(
                "beforeSubmitPrompt",
                json!({"continue": false, "user_message": WORD}),
            ),
            said("beforeSubmitPrompt", json!({"additional_context": WORD})),
            said("preToolUse", json!({"permission": "deny", "agent_message": WORD})),
            said("preToolUse", json!({"permission": "deny", "user_message": WORD})),
            said("preToolUse", json!({"permission": "ask"})),
            unasked("preToolUse", json!({"permission": "allow"})),
            said(
                "preToolUse",
                json!({"updated_input": {"command": "touch changed"}}),
            ),
            said("preToolUse", json!({"decision": "block", "reason": WORD})),
            said(
                "beforeShellExecution",
                json!({"permission": "deny", "agent_message": WORD}),
            ),
            said("beforeShellExecution", json!({"permission": "ask"})),
            unasked("beforeShellExecution", json!({"permission": "allow"})),
            said("beforeShellExecution", json!({"user_message": WORD})),
            beside(
                Call::Read,
                said(
                    "beforeReadFile",
                    json!({"permission": "deny", "user_message": WORD}),
                ),
            ),
            beside(Call::Read, said("beforeReadFile", json!({"permission": "ask"}))),
            beside(Call::Read, said("beforeReadFile", json!({"permission": "allow"}))),
            beside(
                Call::Server,
                said(
                    "beforeMCPExecution",
                    json!({"permission": "deny", "agent_message": WORD}),
                ),
            ),
            beside(
                Call::Server,
                said("beforeMCPExecution", json!({"permission": "ask"})),
            ),
            beside(
                Call::Server,
                said("beforeMCPExecution", json!({"permission": "allow"})),
            ),
            beside(
                Call::Server,
                said("afterMCPExecution", json!({"updated_mcp_tool_output": WORD})),
            ),
            beside(
                Call::Server,
                said("postToolUse", json!({"updated_mcp_tool_output": WORD})),
            ),
            said("postToolUse", json!({"additional_context": WORD})),
            beside(
                Call::Failing,
                said("postToolUseFailure", json!({"additional_context": WORD})),
            ),
            beside(
                Call::SubAgent,
                said(
                    "subagentStart",
                    json!({"permission": "deny", "user_message": WORD}),
                ),
            ),
            beside(
                Call::SubAgent,
                said("subagentStart", json!({"additional_context": WORD})),
            ),
            beside(
                Call::SubAgent,
                said("subagentStop", json!({"followup_message": WORD})),
            ),
            said("stop", json!({"followup_message": WORD})),
            beside(Call::Summary, said("preCompact", json!({"user_message": WORD}))),
        ],
    );
}

#[test]
fn the_answers_of_copilot() {
    play_all(
        &COPILOT,
        &[
            said("sessionStart", json!({"additionalContext": WORD})),
            said("userPromptSubmitted", json!({"additionalContext": WORD})),
            said(
                "userPromptTransformed",
                json!({"modifiedTransformedPrompt": WORD}),
            ),
            said(
                "preToolUse",
                json!({"permissionDecision": "deny", "permissionDecisionReason": WORD}),
            ),
            said("preToolUse", json!({"permissionDecision": "ask"})),
            unasked("preToolUse", json!({"permissionDecision": "allow"})),
            said(
                "preToolUse",
                json!({"modifiedArgs": {"command": "touch changed"}}),
            ),
            said("preToolUse", json!({"additionalContext": WORD})),
            said("preToolUse", json!({"systemMessage": WORD})),
            unasked("permissionRequest", json!({"behavior": "allow"})),
            unasked("permissionRequest", json!({"behavior": "deny", "message": WORD})),
            unasked(
                "permissionRequest",
                json!({"behavior": "deny", "message": WORD, "interrupt": true}),
            ),
            said(
                "postToolUse",
                json!({"modifiedResult": {"resultType": "success", "textResultForLlm": WORD}}),
            ),
            said("postToolUse", json!({"additionalContext": WORD})),
            beside(
                Call::Failing,
                said("postToolUseFailure", json!({"additionalContext": WORD})),
            ),
            beside(
                Call::SubAgent,
                said("subagentStart", json!({"additionalContext": WORD})),
            ),
            beside(
                Call::SubAgent,
                said("subagentStop", json!({"decision": "block", "reason": WORD})),
            ),
            beside(
                Call::SubAgent,
                said("subagentStop", json!({"modifiedResponse": WORD})),
            ),
            said("agentStop", json!({"decision": "block", "reason": WORD})),
            beside(
                Call::Waiting,
                said("notification", json!({"additionalContext": WORD})),
            ),
            said("sessionEnd", json!({"systemMessage": WORD})),
        ],
    );
}
