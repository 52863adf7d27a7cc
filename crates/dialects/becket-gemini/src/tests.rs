//! Rows, answers, files and payloads of Gemini CLI.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_events::{
    Class, Message, MessageBody, MessageRecord, ModelContextPayload, OperationKind, Part,
    PostResponsePayload, PreToolOutputPayload, PreToolPayload, RequestPurpose, Scope, StopReason, ToolCall,
    ToolOffer, ToolsOfferedPayload, Usage, Verdict,
};
use becket_hook_files::{
    Action, Contract, Decision, Facts, HookAnswer, Input, NameMatcher, Owner, Reading, Source,
    without_comments,
};
use becket_hooks::{Cause, CommandLine, Finished, read_strictly};
use serde_json::{Map, Value, json};

use crate::hear::hear;
use crate::read::read;
use crate::rows::{ABSENT_EVENTS, rows};
use crate::{calls, model, show, sources, system};

fn contract(name: &str) -> Contract {
    let rows = rows();
    let mut contracts = rows.iter().map(|row| row.contract());
    contracts.find(|contract| contract.name == name).unwrap()
}

fn finished(code: i32, stdout: &str, stderr: &str) -> Finished {
    Finished {
        stdout: stdout.as_bytes().to_vec(),
        stderr: stderr.to_owned(),
        code,
        complete: true,
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn heard(event: &str, code: i32, answer: &Value) -> HookAnswer {
    hear(&contract(event), &finished(code, &answer.to_string(), "")).unwrap()
}

#[test]
fn all_11_events_are_known() {
    let rows = rows();
    let mut names: Vec<&str> = rows.iter().map(|row| row.contract().name).collect();
    names.extend(ABSENT_EVENTS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 11, "{names:?}");
}

#[test]
fn a_row_is_at_most_as_strong_as_its_event() {
    for row in rows() {
        let contract = row.contract();
        assert!(contract.class <= contract.event.info().class, "{}", contract.name);
        let guards = ["BeforeTool", "BeforeAgent", "BeforeModel", "AfterModel"];
        assert_eq!(
            contract.class == Class::Guard,
            guards.contains(&contract.name),
            "{}",
            contract.name
        );
    }
}

#[test]
fn text_means_what_the_exit_code_says() {
    let tool = contract("BeforeTool");
    let said = hear(&tool, &finished(0, "all is well\n", "")).unwrap();
    assert_eq!(said.notice, ["all is well"]);
    assert_eq!(
        hear(&tool, &finished(0, "", "on stderr")).unwrap().notice,
        ["on stderr"]
    );
    assert_eq!(hear(&tool, &finished(0, "", "")).unwrap(), HookAnswer::default());
    let said = hear(&tool, &finished(1, "", "oh no\nmore")).unwrap();
    assert_eq!(said, HookAnswer::error("exit code 1: oh no"));
    assert_eq!(
        hear(&tool, &finished(1, "", "")).unwrap(),
        HookAnswer::error("exit code 1")
    );
    for code in [2, 3, 125] {
        let said = hear(&tool, &finished(code, "", "not this")).unwrap();
        assert_eq!(said, HookAnswer::blocking("not this"), "{code}");
        let silent = hear(&tool, &finished(code, "", "")).unwrap();
        assert!(silent.block.is_some(), "silence at exit code {code} denies here");
    }
    for (code, cause) in [
        (126, Cause::ExitStatus),
        (127, Cause::ExitStatus),
        (137, Cause::KilledBySignal),
    ] {
        assert_eq!(
            hear(&tool, &finished(code, "", "x")).unwrap_err().cause,
            cause,
            "{code}"
        );
    }
}

#[test]
fn an_object_counts_whatever_the_exit_code_is_but_does_not_lift_a_deny() {
    for code in [0, 1, 2, 3] {
        for word in ["deny", "block"] {
            let said = heard(
                "BeforeTool",
                code,
                &json!({"decision": word, "reason": "not this"}),
            );
            assert_eq!(said.block.as_deref(), Some("not this"), "{word} {code}");
        }
    }
    for word in ["allow", "approve"] {
        let answer = json!({"decision": word, "hookSpecificOutput": {"tool_input": {"command": "x"}}});
        let said = heard("BeforeTool", 1, &answer);
        assert_eq!((said.block, said.decision), (None, None), "an allow says nothing");
        assert_eq!(said.arguments, Some(object(json!({"command": "x"}))));
        let said = heard("BeforeTool", 2, &answer);
        assert!(
            said.block.is_some() && said.arguments.is_none(),
            "{word} at 2 denies"
        );
    }
    let said = heard("BeforeTool", 0, &json!({"decision": "ask", "reason": "sure?"}));
    assert_eq!(
        (said.decision, said.reason.as_deref()),
        (Some(Decision::Ask), Some("sure?"))
    );
    assert!(
        heard("BeforeTool", 2, &json!({"decision": "ask"}))
            .block
            .is_some()
    );
}

#[test]
fn an_object_is_read_from_stderr_and_from_a_string() {
    let deny = json!({"decision": "deny", "reason": "r"}).to_string();
    let tool = contract("BeforeTool");
    let said = hear(&tool, &finished(0, "", &deny)).unwrap();
    assert_eq!(said.block.as_deref(), Some("r"));
    let quoted = Value::from(deny).to_string();
    let said = hear(&tool, &finished(0, &quoted, "")).unwrap();
    assert_eq!(said.block.as_deref(), Some("r"));
}

#[test]
fn garbage_of_a_guard_is_a_failure() {
    for (event, output) in [
        ("BeforeTool", r#"{"decision": "deny""#),
        ("BeforeTool", r#"log: {"decision": "deny"}"#),
        ("BeforeTool", r#"{"decision": "deny", "decision": "allow"}"#),
        ("AfterTool", "{half"),
        ("AfterModel", "{half"),
        ("BeforeTool", r#"{"decision": "perhaps"}"#),
        ("BeforeTool", r#"{"decision": true}"#),
        ("BeforeTool", r#"{"continue": "no"}"#),
        ("BeforeTool", r#"{"hookSpecificOutput": {"tool_input": "x"}}"#),
        (
            "BeforeAgent",
            r#"{"hookSpecificOutput": {"additionalContext": 3}}"#,
        ),
    ] {
        let said = hear(&contract(event), &finished(0, output, ""));
        assert!(said.is_err(), "{event} {output}: {said:?}");
    }
    let open = Finished {
        complete: false,
        ..finished(0, "", "")
    };
    assert!(hear(&contract("BeforeTool"), &open).is_err());
    assert!(hear(&contract("Notification"), &finished(0, "{half", "")).is_ok());
}

#[test]
fn every_field_of_an_answer_counts() {
    let said = heard(
        "AfterAgent",
        0,
        &json!({
            "continue": false, "stopReason": "enough", "systemMessage": "hello", "suppressOutput": true,
            "hookSpecificOutput": {"hookEventName": "AfterAgent", "clearContext": true},
        }),
    );
    assert_eq!(said.halt.as_deref(), Some("enough"));
    assert_eq!(said.notice[0], "hello");
    assert!(said.clears && said.unserved.is_empty(), "{said:?}");
    let clears = json!({"hookSpecificOutput": {"clearContext": true}});
    let said = heard("AfterAgent", 0, &clears);
    assert!(!said.clears && said.unserved[0].contains("clear"), "{said:?}");
    let said = heard("BeforeTool", 0, &json!({"continue": false, "reason": "why"}));
    assert_eq!(said.halt.as_deref(), Some("why"));
    let said = heard("SessionStart", 0, &json!({"continue": false}));
    assert_eq!(said.halt, None, "a session always starts");
    let context = json!({"hookSpecificOutput": {"additionalContext": "a <b>"}});
    assert_eq!(
        heard("BeforeAgent", 0, &context).context,
        ["<hook_context>a &lt;b&gt;</hook_context>"]
    );
    assert_eq!(heard("AfterTool", 0, &context).context, ["a &lt;b&gt;"]);
    let tail = json!({"hookSpecificOutput": {"tailToolCallRequest": {"name": "glob", "args": {}}}});
    assert_eq!(heard("AfterTool", 0, &tail).unserved.len(), 1);
}

fn source(owner: Owner, plugin: Option<&str>) -> Arc<Source> {
    Arc::new(Source {
        file: PathBuf::from("/work/.gemini/settings.json"),
        owner,
        plugin: plugin.map(|root| PathBuf::from(root).into()),
    })
}

fn reading(files: &[(Owner, Value)]) -> Reading {
    let mut reading = Reading::default();
    for (owner, file) in files {
        read(file, &source(*owner, None), &mut reading);
    }
    reading
}

fn one(hook: Value) -> Value {
    json!({"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}})
}

fn commands(reading: Reading) -> Vec<String> {
    let (entries, _) = reading.counting();
    let commands = entries.iter().map(|entry| match &entry.action {
        Action::Command(CommandLine::Shell(line)) => line.clone(),
        other => panic!("{other:?}"),
    });
    commands.collect()
}

#[test]
fn a_hook_is_read_with_all_its_fields() {
    let hook = json!({
        "type": "command", "command": "./guard.sh", "name": "guard", "timeout": 1500, "env": {"A": "b"},
        "description": "what it does",
    });
    let mut reading = reading(&[(Owner::Project, one(hook))]);
    let entry = reading.entries.remove(0);
    assert_eq!((entry.event, &*entry.name), ("BeforeTool", "BeforeTool 1"));
    assert_eq!(entry.matchers, ["write_file"]);
    assert_eq!(entry.timeout, Duration::from_millis(1500));
    assert_eq!(entry.env["A"], "b");
    assert_eq!(entry.pointer, "/hooks/BeforeTool/0/hooks/0");
    assert!(reading.dropped.is_empty());
}

#[test]
fn the_usual_time_is_a_minute() {
    let entries = reading(&[(Owner::User, one(json!({"type": "command", "command": "x"})))]).entries;
    assert_eq!(entries[0].timeout, Duration::from_secs(60));
}

#[test]
fn what_is_dropped_in_silence_is_reported_and_may_be_a_guard() {
    let hook = json!({"type": "command", "command": "x"});
    for (file, pointer, guards) in [
        (
            json!({"hooks": {"BeforeTool": [hook]}}),
            "/hooks/BeforeTool/0",
            true,
        ),
        (
            json!({"hooks": {"SessionStart": [hook]}}),
            "/hooks/SessionStart/0",
            false,
        ),
        (
            json!({"hooks": {"BeforeTools": [{"hooks": [hook]}]}}),
            "/hooks/BeforeTools/0/hooks/0",
            true,
        ),
        (
            json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}),
            "/hooks/PreToolUse/0/hooks/0",
            true,
        ),
        (one(json!({"command": "x"})), "/hooks/BeforeTool/0/hooks/0", true),
        (
            one(json!({"type": "plugin", "command": "x"})),
            "/hooks/BeforeTool/0/hooks/0",
            true,
        ),
        (
            one(json!({"type": "command"})),
            "/hooks/BeforeTool/0/hooks/0",
            true,
        ),
        (
            one(json!({"type": "command", "command": "x", "timeout": "60"})),
            "/hooks/BeforeTool/0/hooks/0",
            true,
        ),
        (
            one(json!({"type": "command", "command": "x", "env": {"A": 1}})),
            "/hooks/BeforeTool/0/hooks/0",
            true,
        ),
        (json!({"hooks": {"enabled": true}}), "/hooks/enabled", false),
        (json!({"hooks": []}), "/hooks", true),
        (json!([]), "", true),
    ] {
        let reading = reading(&[(Owner::User, file.clone())]);
        assert!(reading.entries.is_empty(), "{file}");
        let [dropped] = reading.dropped.as_slice() else {
            panic!("{file}: {:?}", reading.dropped);
        };
        assert_eq!((&*dropped.pointer, dropped.guards), (pointer, guards), "{file}");
    }
}

#[test]
fn a_file_may_hold_comments() {
    let text = "{\n  // guards\n  \"hooks\": {} /* none */\n}";
    assert_eq!(
        read_strictly(&without_comments(text)).unwrap(),
        json!({"hooks": {}})
    );
}

#[test]
fn hooks_are_switched_off_by_those_who_may() {
    let hooks = |command: &str, name: Option<&str>, config: Value| {
        let hook = json!({"type": "command", "command": command, "name": name});
        json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}, "hooksConfig": config})
    };
    let user = |config: Value| (Owner::User, hooks("user", Some("u"), config));
    let project = |config: Value| (Owner::Project, hooks("project", None, config));
    let machine = |config: Value| (Owner::Machine, hooks("machine", None, config));
    for (files, left) in [
        (vec![user(json!({})), project(json!({}))], vec!["user", "project"]),
        (vec![user(json!({"enabled": false})), project(json!({}))], vec![]),
        (
            vec![user(json!({})), project(json!({"enabled": false}))],
            vec!["user"],
        ),
        (
            vec![user(json!({"enabled": false})), machine(json!({"enabled": true}))],
            vec!["user", "machine"],
        ),
        (
            vec![user(json!({})), machine(json!({"enabled": false}))],
            vec!["machine"],
        ),
        (
            vec![user(json!({"disabled": ["project"]})), project(json!({}))],
            vec!["user"],
        ),
        (
            vec![user(json!({"disabled": ["u"]})), project(json!({}))],
            vec!["project"],
        ),
        (
            vec![user(json!({})), project(json!({"disabled": ["u", "project"]}))],
            vec!["user"],
        ),
        (
            vec![user(json!({"disabled": ["machine"]})), machine(json!({}))],
            vec!["user", "machine"],
        ),
        (
            vec![user(json!({})), machine(json!({"disabled": ["u"]}))],
            vec!["machine"],
        ),
    ] {
        assert_eq!(commands(reading(&files)), left, "{files:?}");
    }
}

#[test]
fn an_extension_names_its_own_folder() {
    let mut reading = Reading::default();
    let hook = json!({"type": "command", "command": "${extensionPath}${/}run.sh ${workspacePath}"});
    let file = json!({"hooks": {"AfterTool": [{"hooks": [hook]}]}, "hooksConfig": {"enabled": false}});
    let source = source(Owner::User, Some("/ext/a"));
    read(&file, &source, &mut reading);
    assert!(!reading.user_disables, "an extension switches nothing off");
    assert_eq!(commands(reading), ["/ext/a/run.sh ${workspacePath}"]);
    let variables = system::variables(&source, &facts());
    assert_eq!(variables["workspacePath"], "/work");
}

#[test]
fn an_extension_is_disabled_by_the_last_rule_about_the_directory() {
    let cwd = Path::new("/home/me/work");
    for (rules, enabled) in [
        (vec![], true),
        (vec!["!/*"], false),
        (vec!["!/home/me/*"], false),
        (vec!["!/home/me/*", "/home/me/work/"], true),
        (vec!["!/home/me/"], true),
        (vec!["!/other/*"], true),
    ] {
        assert_eq!(
            sources::is_enabled(rules.iter().copied(), cwd),
            enabled,
            "{rules:?}"
        );
    }
}

#[test]
fn the_files_are_known_by_their_names() {
    for (file, known) in [
        ("/work/.gemini/settings.json", true),
        ("/home/me/.gemini/extensions/a/hooks/hooks.json", true),
        ("/work/hooks/hooks.json", false),
        ("/work/settings.json", false),
    ] {
        assert_eq!(sources::is_file(Path::new(file)), known, "{file}");
    }
}

#[test]
fn a_matcher_is_found_anywhere_in_a_tools_name() {
    let fits = |text: &str, name: &str| system::matcher(text).unwrap().matches(name);
    assert!(fits("write_file", "my_write_file_x"));
    assert!(fits("write_.*|replace", "replace"));
    assert!(!fits("^write$", "write_file"));
    assert!(fits("mcp_github_.*", "mcp_github_create_issue"));
    assert!(matches!(system::matcher("*"), Ok(NameMatcher::All)));
    assert!(
        system::matcher("(").is_err(),
        "one that cannot be read is for everything"
    );
}

#[test]
fn a_matcher_of_a_session_is_a_word() {
    let file = |matcher: &str| {
        let hook = json!({"type": "command", "command": "x"});
        json!({"hooks": {"SessionStart": [{"matcher": matcher, "hooks": [hook]}]}})
    };
    let matcher = |text: &str| {
        let entries = reading(&[(Owner::User, file(text))]).entries;
        system::matcher(&entries[0].matchers[0]).unwrap()
    };
    assert!(matcher("startup").matches("startup"));
    assert!(!matcher("start").matches("startup"));
    assert!(!matcher("start.*").matches("startup"));
}

#[test]
fn the_shell_does_not_take_a_folder_apart() {
    for (line, wanted) in [
        ("$GEMINI_PROJECT_DIR/x.sh a", "\"$GEMINI_PROJECT_DIR\"/x.sh a"),
        ("node $GEMINI_CWD/x.js", "node \"$GEMINI_CWD\"/x.js"),
        ("\"$GEMINI_PROJECT_DIR/x.sh\"", "\"$GEMINI_PROJECT_DIR/x.sh\""),
        ("'$GEMINI_CWD' \\$GEMINI_CWD", "'$GEMINI_CWD' \\$GEMINI_CWD"),
        ("${GEMINI_CWD}/x $GEMINI_CWDX/x", "${GEMINI_CWD}/x $GEMINI_CWDX/x"),
        ("it\\'s $GEMINI_CWD", "it\\'s \"$GEMINI_CWD\""),
        ("cat <<E\n$GEMINI_CWD\nE", "cat <<E\n$GEMINI_CWD\nE"),
    ] {
        assert_eq!(crate::read::with_whole_values(line), wanted, "{line}");
    }
}

fn facts() -> Facts {
    Facts {
        project_root: "/work".into(),
        cwd: "/work".into(),
        hooks_directory: None,
        home: None,
        files: "/data/hook-files".into(),
        user_shell: None,
        is_attended: false,
        prompts: Default::default(),
        requests: Default::default(),
    }
}

fn scope() -> Scope {
    Scope {
        session_id: "s".into(),
        model: "google/gemini-2.5-pro".into(),
        cwd: "/work".into(),
        ..Scope::default()
    }
}

fn value(input: Input) -> Value {
    serde_json::from_str(&input.text()).unwrap()
}

fn call(operation: OperationKind, arguments: Value) -> PreToolPayload {
    PreToolPayload {
        tool_call_id: "c".into(),
        tool_name: operation.name().into(),
        called_as: operation.name().into(),
        tool_source: "builtin".into(),
        operation: Some(operation),
        arguments: object(arguments),
        parent_tool_call_id: None,
    }
}

#[test]
fn every_input_has_the_common_members() {
    let told = value(system::input("BeforeTool", &scope(), &facts()));
    assert_eq!(told["session_id"], "s");
    assert_eq!(told["transcript_path"], "/data/hook-files/s.jsonl");
    assert_eq!(told["cwd"], "/work");
    assert_eq!(told["hook_event_name"], "BeforeTool");
    assert!(told["timestamp"].as_str().unwrap().ends_with('Z'), "{told}");
}

#[test]
fn a_call_is_told_in_gemini_clis_words() {
    for (operation, own, name, foreign) in [
        (
            OperationKind::Shell,
            json!({"command": "ls", "cwd": "src", "background": true}),
            "run_shell_command",
            json!({"command": "ls", "dir_path": "src", "is_background": true}),
        ),
        (
            OperationKind::Read,
            json!({"path": "a.txt", "offset": 3, "limit": 4}),
            "read_file",
            json!({"file_path": "/work/a.txt", "start_line": 3, "end_line": 6}),
        ),
        (
            OperationKind::Write,
            json!({"path": "/a", "content": "x"}),
            "write_file",
            json!({"file_path": "/a", "content": "x"}),
        ),
        (
            OperationKind::Edit,
            json!({"path": "/a", "edits": [{"old_text": "x", "new_text": "y", "all": true}]}),
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "allow_multiple": true}),
        ),
        (
            OperationKind::List,
            json!({}),
            "list_directory",
            json!({"dir_path": "."}),
        ),
        (
            OperationKind::Grep,
            json!({"pattern": "x", "path": "src", "glob": "*.rs", "ignore_case": true, "exclude": ["a"]}),
            "grep_search",
            json!({
                "pattern": "x", "dir_path": "src", "include_pattern": "*.rs", "case_sensitive": false,
                "exclude_pattern": "a",
            }),
        ),
        (
            OperationKind::Fetch,
            json!({"url": "https://a.example"}),
            "web_fetch",
            json!({"prompt": "https://a.example"}),
        ),
    ] {
        let payload = call(operation, own);
        let told = value(show::pre_tool(Input::default(), &scope(), &payload));
        assert_eq!(told, json!({"tool_name": name, "tool_input": foreign}));
        let back = calls::pre_tool(&payload).read(object(foreign)).unwrap();
        let mut wanted = payload.arguments.clone();
        match operation {
            OperationKind::Read => wanted.insert("path".into(), "/work/a.txt".into()),
            OperationKind::List => wanted.insert("path".into(), ".".into()),
            _ => None,
        };
        assert_eq!(back, wanted, "{name}");
    }
}

#[test]
fn the_address_of_a_page_is_found_in_a_prompt() {
    let face = crate::profile();
    let face = face.face_named("web_fetch").unwrap();
    let read = |prompt: &str| {
        let read = face.read(object(json!({"prompt": prompt})))?;
        Ok::<_, String>(read.arguments()["url"].as_str().unwrap().to_owned())
    };
    assert_eq!(
        read("Summarise https://a.example/x?y=1, please.").unwrap(),
        "https://a.example/x?y=1"
    );
    assert_eq!(
        read("What is in (https://a.example/)?").unwrap(),
        "https://a.example/"
    );
    assert_eq!(read("https://a.example/a,").unwrap(), "https://a.example/a,");
    assert_eq!(read("no address").unwrap(), "no address");
    assert!(read("https://a.example and https://b.example").is_err());
}

#[test]
fn lines_that_end_before_they_begin_are_refused() {
    let profile = crate::profile();
    let face = profile.face_named("read_file").unwrap();
    let read = |arguments: Value| face.read(object(arguments));
    assert!(read(json!({"file_path": "a", "start_line": 7, "end_line": 3})).is_err());
    assert!(read(json!({"file_path": "a", "end_line": 3, "limit": 3})).is_err());
    let read = read(json!({"file_path": "a", "end_line": 3})).unwrap();
    assert_eq!(Value::Object(read.arguments()), json!({"path": "a", "limit": 3}));
}

#[test]
fn the_tool_of_a_server_is_told_with_its_server() {
    let payload = PreToolPayload {
        tool_name: "github_create_issue".into(),
        tool_source: "mcp:github".into(),
        operation: None,
        ..call(OperationKind::Shell, json!({"title": "x"}))
    };
    let told = value(show::pre_tool(Input::default(), &scope(), &payload));
    let wanted = json!({
        "tool_name": "mcp_github_create_issue",
        "tool_input": {"title": "x"},
        "mcp_context": {"server_name": "github", "tool_name": "create_issue"},
    });
    assert_eq!(told, wanted);
}

#[test]
fn a_result_is_told_twice_and_an_error_by_itself() {
    let output = |is_error| PreToolOutputPayload {
        tool_call_id: "c".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        tool_source: "builtin".into(),
        operation: Some(OperationKind::Shell),
        arguments: object(json!({"command": "ls"})),
        content: vec![Part::text("a.txt")],
        is_error,
        ran: true,
        details: Value::Null,
        duration_ms: 3,
    };
    let told = value(show::post_tool(Input::default(), &scope(), &output(false)));
    assert_eq!(
        told["tool_response"],
        json!({"llmContent": "a.txt", "returnDisplay": "a.txt"})
    );
    let told = value(show::post_tool(Input::default(), &scope(), &output(true)));
    assert_eq!(told["tool_response"]["error"]["message"], "a.txt");
}

fn message(id: &str, body: MessageBody) -> Message {
    Message::new(MessageRecord {
        id: id.into(),
        time_ms: 0,
        body,
    })
}

fn said(id: &str, text: &str) -> Message {
    message(
        id,
        MessageBody::User {
            content: vec![Part::text(text)],
        },
    )
}

fn answered(id: &str, text: &str, call: Option<&str>) -> Message {
    let calls = call.map(|call| ToolCall {
        id: call.into(),
        name: "shell".into(),
        arguments: "{}".into(),
    });
    message(
        id,
        MessageBody::Assistant {
            content: vec![Part::text(text)],
            tool_calls: calls.into_iter().collect(),
            model: "m".into(),
            stop_reason: StopReason::Stop,
            usage: Usage::default(),
            error: None,
        },
    )
}

fn result(id: &str, call: &str) -> Message {
    message(
        id,
        MessageBody::Tool {
            tool_call_id: call.into(),
            tool_name: "shell".into(),
            content: vec![Part::text("output")],
            is_error: false,
            details: None,
        },
    )
}

fn request() -> ModelContextPayload {
    ModelContextPayload {
        system_prompt: "Be brief.".into(),
        messages: vec![
            said("1", "go"),
            answered("2", "I look", Some("c")),
            result("3", "c"),
            said("4", "on"),
        ],
        summary: None,
        iteration: 1,
        purpose: RequestPurpose::Answer,
    }
}

#[test]
fn a_request_is_told_as_text() {
    let told = value(show::before_model(Input::default(), &scope(), &request()));
    let wanted = json!({"llm_request": {
        "model": "gemini-2.5-pro",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "model", "content": "I look"},
            {"role": "user", "content": "on"},
        ],
        "config": {},
    }});
    assert_eq!(told, wanted);
}

fn before_model(specific: Value) -> becket_events::ModelContextReply {
    let said = heard("BeforeModel", 0, &json!({"hookSpecificOutput": specific}));
    model::before_model(&request(), &said).unwrap()
}

#[test]
fn messages_are_rewritten_around_what_hooks_do_not_see() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let looks = json!({"role": "model", "content": "I look"});
    let ids = |list: Value| {
        let reply = before_model(json!({"llm_request": {"messages": list}}));
        let messages = reply.messages.0?;
        let told = |message: &Message| format!("{} {}", message.id(), message.text());
        Some(messages.iter().map(told).collect::<Vec<_>>())
    };
    assert_eq!(ids(json!([user("go"), looks, user("on")])), None);
    let changed = ids(json!([user("gone"), looks, user("on")])).unwrap();
    assert_eq!(changed, ["1 gone", "2 I look", "3 output", "4 on"]);
    let without = ids(json!([user("go"), user("on")])).unwrap();
    assert_eq!(
        without,
        ["1 go", "4 on"],
        "the result goes with the call that it answers"
    );
    let more = ids(json!([user("go"), looks, user("on"), user("more")])).unwrap();
    assert_eq!(more[4], "hook-3 more");
}

#[test]
fn a_hook_answers_in_place_of_the_model() {
    let parts = json!({"candidates": [{"content": {"role": "model", "parts": ["not ", "today"]}}]});
    let reply = before_model(json!({"llm_response": parts}));
    assert_eq!(reply.verdict.0, None);
    assert_eq!(reply.response.get().as_deref(), Some("not today"));
    let reply = before_model(json!({"llm_request": {"config": {"temperature": 0}}}));
    assert_eq!(reply.notice.0.len(), 1);
    let deny = HookAnswer::blocking("no");
    let reply = model::before_model(&request(), &deny).unwrap();
    assert_eq!(reply.verdict.0, Some(Verdict::Deny("no".into())));
}

#[test]
fn an_answer_of_the_model_can_be_replaced_and_refused() {
    let payload = PostResponsePayload {
        message: answered("2", "a secret", Some("c")),
        purpose: RequestPurpose::Answer,
    };
    let told = value(show::after_model(Input::default(), &scope(), &payload));
    let candidate = &told["llm_response"]["candidates"][0];
    assert_eq!(
        candidate,
        &json!({"content": {"role": "model", "parts": ["a secret"]}, "finishReason": "STOP"})
    );
    let written = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "a word"}]}}]});
    let said = heard(
        "AfterModel",
        0,
        &json!({"hookSpecificOutput": {"llm_response": written}}),
    );
    let message = model::after_model(&payload, &said).unwrap().message.0.unwrap();
    assert_eq!(
        (message.text().as_str(), message.tool_calls().len()),
        ("a word", 1)
    );
    let reply = model::after_model(&payload, &HookAnswer::blocking("no")).unwrap();
    assert_eq!(reply.verdict.0, Some(Verdict::Deny("no".into())));
    let empty = heard(
        "AfterModel",
        0,
        &json!({"hookSpecificOutput": {"llm_response": {}}}),
    );
    assert!(model::after_model(&payload, &empty).is_err());
}

#[test]
fn tools_are_taken_away_by_gemini_clis_names() {
    let offer = |name: &str, operation, source: &str| ToolOffer {
        name: name.into(),
        operation,
        source: source.into(),
    };
    let payload = ToolsOfferedPayload {
        tools: vec![
            offer("shell", Some(OperationKind::Shell), "builtin"),
            offer("read", Some(OperationKind::Read), "builtin"),
            offer("github_ask", None, "mcp:github"),
        ],
        fuel_remaining: None,
        fuel_total: None,
        continuation: 0,
    };
    let told = value(show::before_tool_selection(Input::default(), &scope(), &payload));
    assert_eq!(
        told["llm_request"]["toolConfig"]["allowedFunctionNames"],
        json!(["run_shell_command", "read_file", "mcp_github_ask"])
    );
    let kept = |config: Value| {
        let said = heard(
            "BeforeToolSelection",
            0,
            &json!({"hookSpecificOutput": {"toolConfig": config}}),
        );
        model::before_tool_selection(&payload, &said)
            .map(|reply| reply.include.0)
            .ok()
    };
    let names = |names: &[&str]| Some(Some(names.iter().map(|name| (*name).to_owned()).collect()));
    assert_eq!(
        kept(json!({"mode": "ANY", "allowedFunctionNames": ["read_file"]})),
        names(&["read"])
    );
    assert_eq!(
        kept(json!({"allowedFunctionNames": ["mcp_github_ask"]})),
        names(&["github_ask"])
    );
    assert_eq!(kept(json!({"mode": "NONE"})), names(&[]));
    assert_eq!(kept(json!({"mode": "AUTO"})), Some(None));
    assert_eq!(kept(json!({"mode": "SOME"})), None);
    assert_eq!(kept(json!({"allowedFunctionNames": [3]})), None);
}
