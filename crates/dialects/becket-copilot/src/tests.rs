//! Rows, answers, files and calls of Copilot.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_events::{
    AttentionPayload, AttentionReason, Class, OperationKind, Part, PreToolOutputPayload, PreToolPayload,
    Scope, StopPayload,
};
use becket_hook_files::{
    Action, Contract, Decision, Facts, HookAnswer, HookEntry, Input, Owner, Reading, Source,
};
use becket_hooks::{Cause, CommandLine, Failure, Finished};
use serde_json::{Map, Value, json};

use crate::naming::second_matcher;
use crate::read::read;
use crate::rows::{ABSENT_EVENTS, rows};
use crate::system::{SYSTEM, matcher};
use crate::tools::profile;
use crate::{calls, hear, response, show};

#[test]
fn all_15_events_are_known_under_all_27_names() {
    let rows = rows();
    let mut names: Vec<&str> = rows.iter().map(|row| row.contract().name).collect();
    names.extend(ABSENT_EVENTS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 27, "{names:?}");
    let second = names.iter().filter(|name| name.starts_with(char::is_uppercase));
    assert_eq!(second.count(), 12);
}

#[test]
fn a_row_is_at_most_as_strong_as_its_event() {
    for row in rows() {
        let contract = row.contract();
        assert!(contract.class <= contract.event.info().class, "{}", contract.name);
        let guards = [
            "preToolUse",
            "PreToolUse",
            "permissionRequest",
            "PermissionRequest",
        ];
        assert_eq!(
            contract.class == Class::Guard,
            guards.contains(&contract.name),
            "{}",
            contract.name
        );
    }
}

// ------------------------------------------------------------------ answers

fn contract(event: &str) -> Contract {
    let rows = rows();
    let found = rows
        .iter()
        .map(|row| row.contract())
        .find(|row| row.name == event);
    found.unwrap_or_else(|| panic!("there is no {event}"))
}

fn heard(event: &str, code: i32, stdout: &str, stderr: &str) -> Result<HookAnswer, Failure> {
    let finished = Finished {
        stdout: stdout.as_bytes().to_vec(),
        stderr: stderr.into(),
        code,
        complete: true,
    };
    hear::hear(&contract(event), &finished)
}

fn answered(event: &str, answer: &Value) -> Result<HookAnswer, Failure> {
    heard(event, 0, &answer.to_string(), "")
}

#[test]
fn silence_is_no_opinion() {
    for row in rows() {
        let name = row.contract().name;
        assert_eq!(
            heard(name, 0, "", "noise").unwrap(),
            HookAnswer::default(),
            "{name}"
        );
        assert_eq!(
            heard(name, 0, "words", "").unwrap(),
            HookAnswer::default(),
            "{name}"
        );
        assert_eq!(
            answered(name, &json!({"unknown": 1})).unwrap(),
            HookAnswer::default(),
            "{name}"
        );
    }
}

#[test]
fn exit_code_2_refuses_a_call_whatever_else_is_said() {
    for event in ["preToolUse", "PreToolUse"] {
        assert_eq!(
            heard(event, 2, "", "why").unwrap(),
            HookAnswer::blocking("why"),
            "{event}"
        );
        let allow = json!({"permissionDecision": "allow", "modifiedArgs": {}}).to_string();
        assert_eq!(
            heard(event, 2, &allow, "why").unwrap(),
            HookAnswer::blocking("why"),
            "{event}"
        );
        let deny = json!({"permissionDecision": "deny", "permissionDecisionReason": "json"}).to_string();
        assert_eq!(
            heard(event, 2, &deny, "why").unwrap().block.as_deref(),
            Some("json"),
            "{event}"
        );
        assert!(
            heard(event, 2, "{garbage", "").unwrap().block.is_some(),
            "{event}"
        );
    }
    let denied = heard(
        "permissionRequest",
        2,
        &json!({"message": "json"}).to_string(),
        "stderr",
    )
    .unwrap();
    assert_eq!(denied.block.as_deref(), Some("json"));
    let denied = heard("permissionRequest", 2, "", "stderr").unwrap();
    assert!(denied.block.is_some_and(|reason| reason != "stderr"));
}

#[test]
fn exit_code_2_after_a_failure_is_context() {
    let answer = heard("postToolUseFailure", 2, "try again\n", "x").unwrap();
    assert_eq!(answer, HookAnswer::context("try again"));
    let json = json!({"additionalContext": "as json"}).to_string();
    assert_eq!(
        heard("postToolUseFailure", 2, &json, "").unwrap(),
        HookAnswer::context("as json")
    );
    assert_eq!(
        heard("postToolUse", 2, "words", "x").unwrap(),
        HookAnswer::error("exit code 2: x")
    );
}

#[test]
fn any_other_exit_code_refuses_before_a_call_and_nowhere_else() {
    let denied = heard("preToolUse", 1, "", "boom\nmore").unwrap();
    assert_eq!(denied, HookAnswer::blocking("the hook failed: exit code 1: boom"));
    let denied = heard("preToolUse", 1, "\nnot here:\n  rm\n", "").unwrap();
    assert_eq!(
        denied,
        HookAnswer::blocking("the hook failed: exit code 1: not here:\n  rm")
    );
    for event in ["permissionRequest", "agentStop", "sessionStart"] {
        assert_eq!(
            heard(event, 1, "", "boom").unwrap(),
            HookAnswer::error("exit code 1: boom"),
            "{event}"
        );
    }
    for (code, cause) in [(127, Cause::ExitStatus), (143, Cause::KilledBySignal)] {
        assert_eq!(heard("preToolUse", code, "", "").unwrap_err().cause, cause);
    }
}

#[test]
fn a_guard_that_prints_garbage_fails() {
    for stdout in [
        "{",
        "[]",
        "words {\"permissionDecision\": \"deny\"}",
        "{\"permissionDecision\": 1}",
        "{} {}",
    ] {
        assert!(heard("preToolUse", 0, stdout, "").is_err(), "{stdout}");
    }
    assert_eq!(heard("postToolUse", 0, "{", "").unwrap(), HookAnswer::default());
    assert!(answered("preToolUse", &json!({"permissionDecision": "maybe"})).is_err());
    assert!(answered("preToolUse", &json!({"modifiedArgs": 3})).is_err());
    let held = Finished {
        stdout: Vec::new(),
        stderr: String::new(),
        code: 0,
        complete: false,
    };
    assert!(hear::hear(&contract("preToolUse"), &held).is_err());
}

#[test]
fn progress_is_told_and_taken_away() {
    let stdout = "{\"type\":\"progress\",\"message\":\"half\"}\n{\"permissionDecision\":\n\"deny\"}\n\
                  {\"type\": \"progress\", \"message\": \"done\", \"temporary\": true}\n";
    let answer = heard("preToolUse", 0, stdout, "").unwrap();
    assert_eq!(
        (answer.decision, answer.notice),
        (Some(Decision::Deny), vec!["half".into(), "done".into()])
    );
}

#[test]
fn a_call_is_allowed_denied_asked_about_and_rewritten() {
    for (answer, decision, reason) in [
        (json!({"permissionDecision": "allow"}), Decision::Allow, None),
        (
            json!({"permissionDecision": "deny", "permissionDecisionReason": "why"}),
            Decision::Deny,
            Some("why"),
        ),
        (
            json!({"permissionDecision": "ask", "permissionDecisionReason": "why"}),
            Decision::Ask,
            Some("why"),
        ),
        (
            json!({"decision": "block", "reason": "why"}),
            Decision::Deny,
            Some("why"),
        ),
        (
            json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "why"}}),
            Decision::Deny,
            Some("why"),
        ),
    ] {
        let heard = answered("PreToolUse", &answer).unwrap();
        assert_eq!(
            (heard.decision, heard.reason.as_deref()),
            (Some(decision), reason),
            "{answer}"
        );
    }
    let arguments = json!({"command": "ls"}).as_object().cloned();
    for answer in [
        json!({"modifiedArgs": {"command": "ls"}}),
        json!({"updatedInput": {"command": "ls"}}),
        json!({"modifiedArgs": "{\"command\": \"ls\"}"}),
        json!({"hookSpecificOutput": {"updatedInput": {"command": "ls"}}}),
    ] {
        assert_eq!(
            answered("preToolUse", &answer).unwrap().arguments,
            arguments,
            "{answer}"
        );
    }
    let stopped = answered("preToolUse", &json!({"continue": false, "stopReason": "enough"})).unwrap();
    assert_eq!(stopped, HookAnswer::blocking("enough"));
    let context = answered(
        "preToolUse",
        &json!({"additionalContext": "x", "systemMessage": "y"}),
    )
    .unwrap();
    assert_eq!(
        (context.context, context.notice),
        (vec!["x".into()], vec!["y".into()])
    );
}

#[test]
fn permission_is_granted_or_refused() {
    let event = "permissionRequest";
    for (answer, decision, reason) in [
        (json!({"behavior": "allow"}), Decision::Allow, None),
        (
            json!({"behavior": "deny", "message": "why"}),
            Decision::Deny,
            Some("why"),
        ),
        (
            json!({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "why"}}}),
            Decision::Deny,
            Some("why"),
        ),
    ] {
        let heard = answered(event, &answer).unwrap();
        assert_eq!(
            (heard.decision, heard.reason.as_deref()),
            (Some(decision), reason),
            "{answer}"
        );
        assert_eq!(heard.halt, None);
    }
    let ended = answered(
        event,
        &json!({"behavior": "deny", "message": "why", "interrupt": true}),
    )
    .unwrap();
    assert_eq!(ended.halt.as_deref(), Some("why"));
    for wrong in [
        json!({"behavior": "maybe"}),
        json!({"decision": {}}),
        json!({"decision": "deny"}),
    ] {
        assert!(answered(event, &wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_model_goes_on_with_the_reason() {
    for event in ["agentStop", "Stop", "subagentStop", "SubagentStop"] {
        let answer = answered(event, &json!({"decision": "block", "reason": "go on"})).unwrap();
        assert_eq!(answer, HookAnswer::blocking("go on"), "{event}");
        assert_eq!(
            answered(event, &json!({"decision": "allow"})).unwrap(),
            HookAnswer::default(),
            "{event}"
        );
        assert!(answered(event, &json!({"decision": "block"})).is_err(), "{event}");
    }
    let told = answered("agentStop", &json!({"modifiedResponse": "x"})).unwrap();
    assert_eq!(told.unserved.len(), 1);
    let other = answered("subagentStop", &json!({"modifiedResponse": "x"})).unwrap();
    assert_eq!(other.output, Some(json!("x")));
    assert!(answered("subagentStop", &json!({"modifiedResponse": 1})).is_err());
    let ended = answered(
        "agentStop",
        &json!({"continue": false, "decision": "block", "reason": "x"}),
    )
    .unwrap();
    assert!(ended.halt.is_some() && ended.block.is_none());
}

#[test]
fn context_is_cut_and_prompts_are_rewritten() {
    let long = answered("sessionStart", &json!({"additionalContext": "ä".repeat(10_000)})).unwrap();
    assert_eq!(long.context[0].len(), 10 * 1024);
    let written = answered(
        "userPromptTransformed",
        &json!({"modifiedTransformedPrompt": "x"}),
    )
    .unwrap();
    assert_eq!(written.output, Some("x".into()));
    let ignored = answered(
        "userPromptSubmitted",
        &json!({"modifiedPrompt": "x", "decision": "block"}),
    )
    .unwrap();
    assert_eq!(
        ignored,
        HookAnswer::default(),
        "a prompt is neither rewritten nor refused"
    );
}

// ------------------------------------------------------------------ files

fn reading(file: &str, owner: Owner, value: &Value) -> Reading {
    let source = Arc::new(Source {
        file: file.into(),
        owner,
        plugin: None,
    });
    let mut reading = Reading::default();
    read(value, &source, &mut reading);
    reading
}

const HOOKS: &str = "/p/.github/hooks/a.json";
const SETTINGS: &str = "/p/.github/copilot/settings.json";

fn read_one(event: &str, hook: &Value) -> HookEntry {
    let file = json!({"version": 1, "hooks": {event: [hook]}});
    let mut read = reading(HOOKS, Owner::Project, &file);
    assert_eq!(read.dropped, [], "{hook}");
    read.entries.remove(0)
}

fn line(entry: &HookEntry) -> &str {
    match &entry.action {
        Action::Command(CommandLine::Shell(line)) => line,
        other => panic!("it is no command: {other:?}"),
    }
}

#[test]
fn a_hook_is_read_with_copilots_defaults() {
    let entry = read_one(
        "preToolUse",
        &json!({"bash": "a", "powershell": "b", "matcher": "bash|edit"}),
    );
    assert_eq!((line(&entry), entry.timeout), ("a", Duration::from_secs(30)));
    assert_eq!(
        (entry.name.as_str(), entry.matchers.as_slice()),
        ("preToolUse 1", ["bash|edit".to_owned()].as_slice())
    );
    assert_eq!(
        line(&read_one(
            "agentStop",
            &json!({"type": "command", "command": "c"})
        )),
        "c"
    );
    for key in ["timeoutSec", "timeout"] {
        let entry = read_one("agentStop", &json!({"command": "c", key: 5}));
        assert_eq!(entry.timeout, Duration::from_secs(5));
    }
    let entry = read_one("agentStop", &json!({"command": "c", "matcher": "x"}));
    assert_eq!(
        entry.matchers,
        Vec::<String>::new(),
        "matchers do not count there"
    );
}

#[test]
fn groups_of_hooks_are_read_too() {
    let group = json!({"matcher": "Write|edit", "hooks": [
        {"type": "command", "command": "a"}, {"type": "command", "command": "b"},
    ]});
    let read = reading(HOOKS, Owner::Project, &json!({"hooks": {"PreToolUse": [group]}}));
    let lines: Vec<&str> = read.entries.iter().map(line).collect();
    assert_eq!(lines, ["a", "b"]);
    assert_eq!(read.entries[1].pointer, "/hooks/PreToolUse/0/hooks/1");
    assert_eq!(read.entries[1].matchers, ["Write|Edit"]);
}

#[test]
fn variables_and_templates_are_part_of_the_command() {
    let env = json!({"A": "plain", "B": "$HOME/`x` $(y)"});
    let entry = read_one(
        "agentStop",
        &json!({"bash": "./x.sh {{project_dir}}", "env": env}),
    );
    let wanted = "export B=\"$HOME/\\`x\\` \\$(y)\"\n./x.sh ${CLAUDE_PROJECT_DIR}";
    assert_eq!(line(&entry), wanted);
    assert_eq!(entry.env.get("A").map(String::as_str), Some("plain"));
    assert!(!entry.env.contains_key("B"));
}

#[test]
fn a_hook_runs_in_the_directory_that_its_file_names() {
    for (cwd, wanted) in [
        (json!("tools"), Some("/p/tools")),
        (json!("/a"), Some("/a")),
        (json!(""), Some("/p")),
        (json!(null), Some("/p")),
    ] {
        let entry = read_one("agentStop", &json!({"bash": "x", "cwd": cwd}));
        assert_eq!(
            (SYSTEM.directory)(&entry, &facts()),
            wanted.map(PathBuf::from),
            "{cwd}"
        );
    }
    let wrong = json!({"hooks": {"agentStop": [{"bash": "x", "cwd": 3}]}});
    assert_eq!(reading(HOOKS, Owner::Project, &wrong).dropped.len(), 1);
}

#[test]
fn addresses_must_be_safe() {
    let hook =
        |url: &str| json!({"type": "http", "url": url, "headers": {"A": "$B"}, "allowedEnvVars": ["B"]});
    let entry = read_one("preToolUse", &hook("https://a.example"));
    assert!(matches!(entry.action, Action::Http { .. }));
    read_one("agentStop", &hook("http://localhost:80/x"));
    for (event, url) in [
        ("preToolUse", "http://localhost/"),
        ("agentStop", "http://a.example/"),
        ("agentStop", "http://localhost.a.example/"),
        ("agentStop", "ftp://a"),
    ] {
        let read = reading(HOOKS, Owner::Project, &json!({"hooks": {event: [hook(url)]}}));
        assert_eq!((read.entries.len(), read.dropped.len()), (0, 1), "{event} {url}");
    }
}

#[test]
fn of_a_file_what_cannot_be_read_is_dropped_alone() {
    let good = json!({"bash": "a"});
    for (wrong, guards) in [
        (
            json!({"hooks": {"preToolUse": [good, {"powershell": "x"}]}}),
            true,
        ),
        (json!({"hooks": {"preToolUse": [good, 3]}}), true),
        (json!({"hooks": {"preToolUse": [good, {"bash": 3}]}}), true),
        (
            json!({"hooks": {"preToolUse": [good, {"type": "odd", "bash": "x"}]}}),
            true,
        ),
        (
            json!({"hooks": {"preToolUse": [good, {"bash": "x", "timeoutSec": "5"}]}}),
            true,
        ),
        (
            json!({"hooks": {"preToolUse": [good, {"bash": "x", "env": {"A B": "x"}}]}}),
            true,
        ),
        (
            json!({"hooks": {"preToolUse": [good], "agentStop": [{"type": "prompt", "prompt": "x"}]}}),
            false,
        ),
        (
            json!({"hooks": {"preToolUse": [good], "sessionStart": [{"type": "prompt", "prompt": " "}]}}),
            false,
        ),
        (
            json!({"hooks": {"preToolUse": [good], "pretoolUse": [good]}}),
            true,
        ),
        (
            json!({"hooks": {"preToolUse": [good], "preMcpToolCall": [good]}}),
            false,
        ),
    ] {
        let read = reading(HOOKS, Owner::Project, &wrong);
        let dropped: Vec<bool> = read.dropped.iter().map(|dropped| dropped.guards).collect();
        assert_eq!((read.entries.len(), dropped), (1, vec![guards]), "{wrong}");
    }
}

#[test]
fn some_mistakes_make_a_whole_file_count_for_nothing() {
    let good = json!({"bash": "a"});
    for wrong in [
        json!({"version": 2, "hooks": {"preToolUse": [good]}}),
        json!({"hooks": {"preToolUse": [good], "agentStop": {}}}),
        json!({"hooks": [good]}),
        json!([good]),
    ] {
        let read = reading(HOOKS, Owner::Project, &wrong);
        assert_eq!((read.entries.len(), read.dropped.len()), (0, 1), "{wrong}");
        assert!(read.dropped[0].guards, "{wrong}");
    }
    let wrong = json!({"hooks": {"preToolUse": [good], "agentStop": [3]}});
    let read = reading(SETTINGS, Owner::Project, &wrong);
    assert_eq!(
        (read.entries.len(), read.dropped.len()),
        (0, 1),
        "settings count as a whole"
    );
    assert!(read.dropped[0].guards);
    let unknown = json!({"model": "x", "hooks": {"preToolUse": [good], "odd": [good]}});
    let read = reading(SETTINGS, Owner::Project, &unknown);
    assert_eq!((read.entries.len(), read.dropped.len()), (1, 1));
}

#[test]
fn hooks_are_switched_off_by_file_or_by_settings() {
    let file = json!({"disableAllHooks": true, "hooks": {"preToolUse": [{"bash": "a"}]}});
    let read = reading(HOOKS, Owner::Project, &file);
    assert_eq!((read.entries.len(), read.project_disables), (0, false));
    let policy = reading("/etc/github-copilot/policy.d/a.json", Owner::Machine, &file);
    assert_eq!(policy.entries.len(), 1, "policies stay");
    let read = reading(SETTINGS, Owner::Project, &file);
    assert_eq!((read.user_disables, read.project_disables), (false, true));
    let read = reading("/h/.copilot/settings.json", Owner::User, &file);
    assert!(read.user_disables);
}

// ------------------------------------------------------------------ matchers

#[test]
fn matchers_stand_for_whole_names() {
    for (text, name, fits) in [
        ("bash", "bash", true),
        ("bash", "bashful", false),
        ("bash|edit", "edit", true),
        ("web_.*", "web_fetch", true),
        (".*", "x", true),
    ] {
        assert_eq!(matcher(text).unwrap().matches(name), fits, "{text} {name}");
    }
    assert!(matcher("*").is_err());
}

#[test]
fn matchers_of_the_second_kind_know_both_names() {
    for (text, name, fits) in [
        ("Bash", "Bash", true),
        ("bash", "Bash", true),
        ("create|apply_patch", "Edit", true),
        ("Task", "Agent", true),
        ("Write", "Edit", false),
        ("Edit|Write", "Write", true),
        ("Web.*", "WebFetch", true),
        ("eb.*", "WebFetch", false),
    ] {
        let text = second_matcher(text).unwrap();
        assert_eq!(matcher(&text).unwrap().matches(name), fits, "{text} {name}");
    }
    for text in ["", "*", "**"] {
        assert_eq!(second_matcher(text), None);
    }
}

// ------------------------------------------------------------------ calls and inputs

fn facts() -> Facts {
    Facts {
        project_root: "/p".into(),
        cwd: "/p".into(),
        hooks_directory: None,
        home: Some("/h".into()),
        files: "/data".into(),
        user_shell: None,
        is_attended: false,
        prompts: Default::default(),
        requests: Default::default(),
    }
}

fn scope() -> Scope {
    Scope {
        session_id: "s".into(),
        agent_name: "becket".into(),
        cwd: "/p".into(),
        ..Scope::default()
    }
}

fn value(input: Input) -> Value {
    serde_json::from_str(&input.text()).unwrap()
}

fn call(operation: Option<OperationKind>, name: &str, arguments: Value) -> PreToolPayload {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    PreToolPayload {
        tool_call_id: "call-1".into(),
        tool_name: name.into(),
        called_as: name.into(),
        tool_source: "builtin".into(),
        operation,
        arguments,
        parent_tool_call_id: None,
    }
}

fn output(is_error: bool) -> PreToolOutputPayload {
    PreToolOutputPayload {
        tool_call_id: "call-1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        tool_source: "builtin".into(),
        operation: Some(OperationKind::Shell),
        arguments: Map::from_iter([("command".to_owned(), "ls".into())]),
        content: vec![Part::text("out")],
        is_error,
        ran: true,
        details: Value::Null,
        duration_ms: 1,
    }
}

/// An input without the time, which is another one each time.
fn timeless(mut input: Value) -> Value {
    let time = input.as_object_mut().unwrap().remove("timestamp");
    assert!(time.is_some_and(|time| time.is_u64() || time.as_str().is_some_and(|time| time.ends_with('Z'))));
    input
}

#[test]
fn the_name_of_the_event_decides_what_a_hook_reads() {
    let call = call(Some(OperationKind::Shell), "shell", json!({"command": "ls"}));
    let input = (SYSTEM.input)("preToolUse", &scope(), &facts());
    let first = timeless(value(show::pre_tool::<false>(input, &scope(), &call)));
    let wanted = json!({
        "sessionId": "s", "cwd": "/p", "toolName": "bash",
        "toolArgs": "{\"command\":\"ls\"}", "toolInput": {"command": "ls"},
    });
    assert_eq!(first, wanted);
    let input = (SYSTEM.input)("PreToolUse", &scope(), &facts());
    let second = timeless(value(show::pre_tool::<true>(input, &scope(), &call)));
    let wanted = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
        "tool_args": {"command": "ls"}, "tool_input": {"command": "ls"},
    });
    assert_eq!(second, wanted);
}

#[test]
fn results_and_failures_are_told() {
    let read = value(show::post_tool::<false>(
        Input::default(),
        &scope(),
        &output(false),
    ));
    assert_eq!(
        read["toolResult"],
        json!({"resultType": "success", "textResultForLlm": "out"})
    );
    let read = value(show::post_tool::<true>(
        Input::default(),
        &scope(),
        &output(false),
    ));
    assert_eq!(
        read["tool_result"],
        json!({"result_type": "success", "text_result_for_llm": "out"})
    );
    let read = value(show::post_tool_failure::<false>(
        Input::default(),
        &scope(),
        &output(true),
    ));
    assert_eq!(read["error"], "out");
}

#[test]
fn a_result_is_rewritten() {
    let written = |result: Value| {
        let answer = answered("postToolUse", &json!({"modifiedResult": result})).unwrap();
        let reply = response::reply(&output(false), &answer);
        (
            reply.content.0.map(|content| becket_events::text_of(&content)),
            reply.is_error.0,
        )
    };
    assert_eq!(
        written(json!({"resultType": "success", "textResultForLlm": "new"})),
        (Some("new".into()), None)
    );
    assert_eq!(
        written(json!({"result_type": "failure", "text_result_for_llm": "no"})),
        (Some("no".into()), Some(true))
    );
}

#[test]
fn stops_and_notifications_are_told() {
    let stop = StopPayload {
        response: "done".into(),
        prompt: "x".into(),
        continuations: 1,
        entries: Vec::new(),
        go_on: false,
    };
    let input = (SYSTEM.input)("agentStop", &scope(), &facts());
    let read = timeless(value(show::stop::<false>(input, &scope(), &stop)));
    let wanted = json!({
        "sessionId": "s", "cwd": "/p", "transcriptPath": "/data/s.jsonl", "stopReason": "end_turn",
        "stop_hook_active": true,
    });
    assert_eq!(read, wanted);
    let sub = Scope {
        session_id: "sub".into(),
        parent_session_id: Some("s".into()),
        ..scope()
    };
    let first = value(show::subagent_stop::<false>(Input::default(), &sub, &stop));
    assert_eq!(
        (&first["agentId"], &first["response"]),
        (&json!("sub"), &json!("done"))
    );
    let second = value(show::subagent_stop::<true>(Input::default(), &sub, &stop));
    assert_eq!(
        (&second["agent_name"], &second["last_assistant_message"]),
        (&json!("becket"), &json!("done"))
    );
    let attention = AttentionPayload {
        reason: AttentionReason::Approval,
        message: "may I?".into(),
    };
    let input = (SYSTEM.input)("notification", &scope(), &facts());
    let read = timeless(value(show::attention(input, &scope(), &attention)));
    assert_eq!(read["hook_event_name"], "notification");
    assert_eq!(
        (&read["notification_type"], &read["message"]),
        (&json!("permission_prompt"), &json!("may I?"))
    );
}

// tidy: a table
#[test]
fn calls_have_copilots_names_and_arguments() {
    use OperationKind::{Edit, Find, List, Read, Shell, Write};
    for (operation, own, name, second, shown) in [
        (
            Shell,
            json!({"command": "x", "background": true}),
            "bash",
            "Bash",
            json!({"command": "x", "mode": "async"}),
        ),
        (Read, json!({"path": "a"}), "view", "Read", json!({"path": "a"})),
        (
            Read,
            json!({"path": "a", "offset": 3, "limit": 4}),
            "view",
            "Read",
            json!({"path": "a", "view_range": [3, 6]}),
        ),
        (
            Read,
            json!({"path": "a", "offset": 3}),
            "view",
            "Read",
            json!({"path": "a", "view_range": [3, -1]}),
        ),
        (List, json!({}), "view", "Read", json!({"path": "."})),
        (
            Write,
            json!({"path": "a", "content": "x"}),
            "create",
            "Write",
            json!({"path": "a", "file_text": "x"}),
        ),
        (
            Edit,
            json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
            "edit",
            "Edit",
            json!({"path": "a", "old_str": "x", "new_str": "y"}),
        ),
        (
            Find,
            json!({"pattern": "*"}),
            "glob",
            "Glob",
            json!({"pattern": "*"}),
        ),
    ] {
        let call = call(Some(operation), "own", own.clone());
        let called = calls::pre_tool(&call);
        assert_eq!(calls::name::<false>(&called, "builtin"), name);
        assert_eq!(calls::name::<true>(&called, "builtin"), second);
        let arguments = calls::arguments(&called);
        assert_eq!(Value::Object(arguments.clone()), shown);
        if operation != List {
            assert_eq!(called.read(arguments).map(Value::Object), Ok(own));
        }
    }
    let agent = call(None, "spawn_agent", json!({"input": "go", "preset": "explore"}));
    let called = calls::pre_tool(&agent);
    let arguments = calls::arguments(&called);
    assert_eq!(
        Value::Object(arguments.clone()),
        json!({"prompt": "go", "agent_type": "explore"})
    );
    assert_eq!(calls::written(&called, arguments), agent.arguments);
    assert_eq!(calls::name::<true>(&called, "builtin"), "Agent");
    let tool = call(None, "github_issue", json!({}));
    assert_eq!(
        calls::name::<false>(&calls::pre_tool(&tool), "mcp:github"),
        "github-issue"
    );
}

#[test]
fn lines_of_a_file_are_named_once() {
    let profile = profile();
    let view = profile.face_named("view").unwrap();
    for wrong in [
        json!({"path": "a", "view_range": [3]}),
        json!({"path": "a", "view_range": [0, 2]}),
        json!({"path": "a", "view_range": [3, 2]}),
        json!({"path": "a", "view_range": [1, 2], "limit": 3}),
    ] {
        let arguments = wrong.as_object().cloned().unwrap();
        assert!(view.read(arguments).is_err(), "{wrong}");
    }
}

#[test]
fn plugins_are_told_their_folders() {
    let root = PathBuf::from("/h/.copilot/installed-plugins/market/tool");
    let source = Source {
        file: root.join("hooks.json"),
        owner: Owner::User,
        plugin: Some(root.into()),
    };
    let variables = (SYSTEM.variables)(&source, &facts());
    assert_eq!(variables["CLAUDE_PROJECT_DIR"], "/p");
    for name in ["PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"] {
        assert_eq!(variables[name], "/h/.copilot/installed-plugins/market/tool");
    }
    assert_eq!(variables["CLAUDE_PLUGIN_DATA"], "/data/plugins/tool");
    for (file, is_ours) in [
        ("/p/.github/hooks/any.json", true),
        ("/p/.github/copilot/settings.local.json", true),
        ("/p/.github/workflows/a.json", false),
        ("/p/hooks.json", false),
    ] {
        assert_eq!((SYSTEM.is_file)(Path::new(file)), is_ours, "{file}");
    }
}
