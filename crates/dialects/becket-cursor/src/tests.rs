//! Rows, answers, files and payloads of Cursor.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_events::{
    Class, OperationKind, Part, PreFileReadPayload, PreShellPayload, PreToolOutputPayload, PreToolPayload,
    Scope,
};
use becket_hook_files::{
    Action, Contract, Decision, Facts, HookAnswer, Input, NameMatcher, Owner, Reading, Source,
    without_comments,
};
use becket_hooks::{Cause, Finished, read_strictly};
use serde_json::{Map, Value, json};

use crate::hear::hear;
use crate::read::read;
use crate::rows::{ABSENT_EVENTS, rows};
use crate::{calls, content, response, show, sources, system};

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

fn heard(event: &str, answer: &Value) -> HookAnswer {
    hear(&contract(event), &finished(0, &answer.to_string(), "")).unwrap()
}

#[test]
fn all_21_events_are_known() {
    let rows = rows();
    let mut names: Vec<&str> = rows.iter().map(|row| row.contract().name).collect();
    names.extend(ABSENT_EVENTS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 21, "{names:?}");
}

#[test]
fn a_row_is_at_most_as_strong_as_its_event() {
    for row in rows() {
        let contract = row.contract();
        assert!(contract.class <= contract.event.info().class, "{}", contract.name);
        let guards = [
            "beforeSubmitPrompt",
            "preToolUse",
            "beforeMCPExecution",
            "beforeShellExecution",
            "beforeReadFile",
            "subagentStart",
        ];
        assert_eq!(
            contract.class == Class::Guard,
            guards.contains(&contract.name),
            "{}",
            contract.name
        );
    }
}

#[test]
fn an_exit_code_means_what_cursor_means() {
    let shell = contract("beforeShellExecution");
    let said = hear(&shell, &finished(2, "", "not this")).unwrap();
    assert_eq!(said.block.as_deref(), Some("Hook blocked with message: not this"));
    let said = hear(&shell, &finished(2, "on stdout", "not this")).unwrap();
    assert_eq!(said.block.as_deref(), Some("on stdout"));
    assert!(hear(&shell, &finished(2, "", "")).unwrap().block.is_some());
    let deny = json!({"permission": "deny", "agent_message": "because"}).to_string();
    let said = hear(&shell, &finished(2, &deny, "")).unwrap();
    assert_eq!(said.block.as_deref(), Some("because"));
    let allow = json!({"permission": "allow", "user_message": "hm"}).to_string();
    let said = hear(&shell, &finished(2, &allow, "")).unwrap();
    assert_eq!(said.block.as_deref(), Some("hm"), "the code wins over an allow");
    for code in [1, 3, 42] {
        let said = hear(&shell, &finished(code, &allow, "oh no\nmore")).unwrap();
        assert_eq!(said, HookAnswer::error(format!("exit code {code}: oh no")));
        let said = hear(&shell, &finished(code, &deny, "oh no")).unwrap();
        assert_eq!(
            said.block.as_deref(),
            Some("because"),
            "a no counts beside a code"
        );
        let said = hear(&contract("postToolUse"), &finished(code, &deny, "")).unwrap();
        assert_eq!(said, HookAnswer::error(format!("exit code {code}")));
    }
    for (code, cause) in [
        (126, Cause::ExitStatus),
        (127, Cause::ExitStatus),
        (137, Cause::KilledBySignal),
    ] {
        assert_eq!(
            hear(&shell, &finished(code, "", "")).unwrap_err().cause,
            cause,
            "{code}"
        );
    }
    assert_eq!(
        hear(&contract("sessionStart"), &finished(2, "", "no"))
            .unwrap()
            .halt
            .as_deref(),
        Some("Hook blocked with message: no")
    );
    let said = hear(&contract("afterFileEdit"), &finished(2, "", "no")).unwrap();
    assert_eq!(said, HookAnswer::default(), "what has happened cannot be blocked");
}

#[test]
fn silence_is_no_opinion_and_known_as_such() {
    let said = hear(&contract("beforeShellExecution"), &finished(0, " \n", "log")).unwrap();
    assert_eq!(
        said,
        HookAnswer {
            is_silent: true,
            ..HookAnswer::default()
        }
    );
}

#[test]
fn garbage_of_a_guard_is_a_failure() {
    for output in [
        "all is well",
        "[]",
        "{half",
        r#"{"permission": "perhaps"}"#,
        r#"{"permission": true}"#,
        r#"{"permission": "deny", "permission": "allow"}"#,
        r#"{"continue": "no"}"#,
        r#"{"user_message": 3}"#,
        r#"{"updated_input": "x"}"#,
    ] {
        for event in ["preToolUse", "beforeShellExecution", "beforeSubmitPrompt"] {
            let said = hear(&contract(event), &finished(0, output, ""));
            assert!(said.is_err(), "{event} {output}: {said:?}");
        }
    }
    let open = Finished {
        complete: false,
        ..finished(0, "{}", "")
    };
    assert!(hear(&contract("preToolUse"), &open).is_err());
    let said = hear(&contract("afterFileEdit"), &finished(0, "formatted", ""));
    assert_eq!(said.unwrap(), HookAnswer::default());
}

#[test]
fn a_permission_is_read_in_both_spellings() {
    for answer in [
        json!({"permission": "deny", "user_message": "for you", "agent_message": "for the model"}),
        json!({"permission": "deny", "userMessage": "for you", "agentMessage": "for the model"}),
    ] {
        let said = heard("beforeShellExecution", &answer);
        assert_eq!(said.block.as_deref(), Some("for the model"));
        assert_eq!(said.notice, ["for you"]);
    }
    let said = heard("beforeShellExecution", &json!({"permission": "ask"}));
    assert_eq!((said.decision, said.block), (Some(Decision::Ask), None));
    let said = heard("beforeShellExecution", &json!({"permission": "allow"}));
    assert_eq!((said.decision, said.block), (None, None), "an allow says nothing");
    let said = heard(
        "beforeShellExecution",
        &json!({"continue": false, "permission": "allow"}),
    );
    assert!(said.block.is_some());
}

#[test]
fn every_field_of_an_answer_counts() {
    let said = heard(
        "preToolUse",
        &json!({"updated_input": {"command": "x"}, "additional_context": "c"}),
    );
    assert_eq!(said.arguments, Some(object(json!({"command": "x"}))));
    assert_eq!(said.context, ["c"]);
    let said = heard(
        "sessionStart",
        &json!({"env": {"A": "b"}, "additional_context": "c", "continue": true}),
    );
    assert_eq!((said.env["A"].as_str(), said.halt), ("b", None));
    let said = heard("sessionStart", &json!({"continue": false, "user_message": "no"}));
    assert_eq!(said.halt.as_deref(), Some("no"));
    let said = heard(
        "beforeSubmitPrompt",
        &json!({"continue": false, "user_message": "no"}),
    );
    assert_eq!(said.block.as_deref(), Some("no"));
    assert_eq!(heard("stop", &json!({"followup_message": "on"})).context, ["on"]);
    assert_eq!(heard("stop", &json!({"followupMessage": "on"})).context, ["on"]);
    let said = heard("postToolUse", &json!({"updated_mcp_tool_output": {"a": 1}}));
    assert_eq!(said.output, Some(json!({"a": 1})));
    assert_eq!(
        heard("preCompact", &json!({"user_message": "soon"})).notice,
        ["soon"]
    );
}

#[test]
fn answers_in_the_words_of_another_agent_are_understood() {
    let specific = json!({
        "permissionDecision": "deny", "permissionDecisionReason": "why",
        "updatedInput": {"command": "x"}, "additionalContext": "c",
    });
    let said = heard("preToolUse", &json!({"hookSpecificOutput": specific}));
    assert_eq!(said.block.as_deref(), Some("why"));
    assert_eq!(said.context, ["c"]);
    let said = heard("stop", &json!({"decision": "block", "reason": "go on"}));
    assert_eq!(said.context, ["go on"]);
    let said = heard("preToolUse", &json!({"decision": "block", "reason": "no"}));
    assert_eq!(said.block.as_deref(), Some("no"));
}

fn source(owner: Owner) -> Arc<Source> {
    Arc::new(Source {
        file: PathBuf::from("/work/.cursor/hooks.json"),
        owner,
        plugin: None,
    })
}

fn reading(hooks: Value) -> Reading {
    let mut reading = Reading::default();
    read(
        &json!({"version": 1, "hooks": hooks}),
        &source(Owner::Project),
        &mut reading,
    );
    reading
}

#[test]
fn a_hook_is_read_with_all_its_fields() {
    let mut reading = reading(json!({
        "beforeShellExecution": [{
            "command": "./guard.sh", "matcher": "curl|wget", "timeout": 1.5, "failClosed": true,
        }],
        "stop": [{"command": "a"}, {"command": "a", "loop_limit": 2}, {"command": "a", "loop_limit": null}],
        "preToolUse": [{"type": "prompt", "prompt": "is it safe?", "model": "m"}],
    }));
    assert!(reading.dropped.is_empty(), "{:?}", reading.dropped);
    let limits: Vec<_> = reading.entries.iter().map(|entry| entry.loop_limit).collect();
    assert_eq!(limits, [None, Some(5), Some(2), Some(u32::MAX), None]);
    assert!(matches!(
        reading.entries[4].action,
        Action::Prompt { goes_on: true, .. }
    ));
    assert_eq!(reading.entries[4].timeout, Duration::from_secs(60));
    let entry = reading.entries.remove(0);
    assert_eq!(
        (entry.event, &*entry.name),
        ("beforeShellExecution", "beforeShellExecution 1")
    );
    assert_eq!(entry.matchers, ["curl|wget"]);
    assert_eq!(entry.timeout, Duration::from_millis(1500));
    assert!(entry.refuses_on_failure);
    assert_eq!(entry.pointer, "/hooks/beforeShellExecution/0");
}

#[test]
fn one_mistake_drops_the_whole_file_and_its_guards_stop_the_run() {
    for (event, entry, guards) in [
        ("preToolUse", json!({"command": ""}), true),
        ("preToolUse", json!({"type": "agent", "command": "x"}), true),
        ("preToolUse", json!({"command": "x", "timeout": "60"}), true),
        ("preToolUse", json!({"command": "x", "failClosed": 1}), true),
        ("preToolUse", json!({"command": "x", "matcher": 3}), true),
        ("preToolUse", json!({"command": "curl https://a.example"}), true),
        ("preToolUse", json!({"matcher": "x", "hooks": []}), true),
        ("preToolUse", json!("x"), true),
        ("stop", json!({"command": "x", "loop_limit": 0}), false),
        ("PreToolUse", json!({"command": "x"}), true),
        ("beforeShellExec", json!({"command": "x"}), true),
        ("whenever", json!({"command": "x"}), false),
    ] {
        let mut hooks = json!({
            "beforeReadFile": [{"command": "guard"}], "sessionEnd": [{"command": "note"}],
        });
        hooks[event] = json!([entry]);
        let reading = reading(hooks);
        assert!(reading.entries.is_empty(), "{event} {entry}");
        let found = |start: &str| {
            let mut dropped = reading.dropped.iter();
            dropped
                .find(|dropped| dropped.pointer.starts_with(start))
                .unwrap()
        };
        assert_eq!(
            found(&format!("/hooks/{event}")).guards,
            guards,
            "{event} {entry}"
        );
        assert!(found("/hooks/beforeReadFile/0").guards);
        assert!(!found("/hooks/sessionEnd/0").guards);
    }
}

#[test]
fn a_file_that_is_none_may_have_been_a_guard() {
    for file in [
        json!([]),
        json!({"version": "1", "hooks": {}}),
        json!({"version": 1, "hooks": []}),
        json!({"version": 1, "hooks": {"preToolUse": {}}}),
    ] {
        let mut reading = Reading::default();
        read(&file, &source(Owner::User), &mut reading);
        assert!(
            reading.dropped.iter().any(|dropped| dropped.guards),
            "{file}: {:?}",
            reading.dropped
        );
    }
}

#[test]
fn events_that_never_happen_are_reported_and_no_mistake() {
    let reading = reading(json!({
        "beforeTabFileRead": [{"command": "x"}], "preToolUse": [{"command": "guard"}],
    }));
    assert_eq!(reading.entries.len(), 1);
    assert!(reading.dropped.len() == 1 && !reading.dropped[0].guards);
    let mut reading = Reading::default();
    read(
        &json!({"hooks": {"stop": [{"command": "x"}]}}),
        &source(Owner::User),
        &mut reading,
    );
    assert_eq!(
        (reading.entries.len(), reading.dropped[0].guards),
        (1, false),
        "without a version"
    );
}

#[test]
fn a_file_may_hold_comments() {
    let text = "{\n  // mine\n  \"version\": 1, \"hooks\": {}\n}";
    assert_eq!(
        read_strictly(&without_comments(text)).unwrap(),
        json!({"version": 1, "hooks": {}})
    );
}

#[test]
fn a_hook_runs_where_its_file_says() {
    let of = |file: &str, owner, plugin: Option<&str>| {
        let source = Source {
            file: file.into(),
            owner,
            plugin: plugin.map(|root| PathBuf::from(root).into()),
        };
        system::directory(&source).unwrap().display().to_string()
    };
    assert_eq!(of("/work/.cursor/hooks.json", Owner::Project, None), "/work");
    assert_eq!(
        of("/home/me/.cursor/hooks.json", Owner::User, None),
        "/home/me/.cursor"
    );
    assert_eq!(of("/etc/cursor/hooks.json", Owner::Machine, None), "/etc/cursor");
    assert_eq!(of("/p/hooks/hooks.json", Owner::User, Some("/p")), "/p");
}

#[test]
fn the_files_are_known_by_their_names() {
    for (file, known) in [
        ("/work/.cursor/hooks.json", true),
        ("/home/me/.cursor/plugins/local/a/hooks/hooks.json", true),
        ("/work/hooks/hooks.json", false),
        ("/work/hooks.json", false),
    ] {
        assert_eq!(sources::is_file(Path::new(file)), known, "{file}");
    }
}

#[test]
fn a_matcher_is_found_anywhere() {
    let fits = |text: &str, name: &str| system::matcher(text).unwrap().matches(name);
    assert!(fits("rm -rf|curl", "cd x && rm -rf build"));
    assert!(fits("Shell", "Shell"));
    assert!(!fits("^Shell$", "Shell2"));
    assert!(fits("MCP:.*", "MCP:ask"));
    assert!(fits("Edit|Write", "Write"));
    assert!(fits("StrReplace", "Write") && fits("^Edit$", "Write"));
    assert!(!fits("Edit", "Read"));
    assert!(matches!(system::matcher("*"), Ok(NameMatcher::All)));
    assert!(system::matcher("(").is_err());
}

fn facts() -> Facts {
    Facts {
        project_root: "/work".into(),
        cwd: "/work".into(),
        hooks_directory: None,
        home: None,
        files: "/data/hook-files".into(),
        user_shell: Some("/bin/zsh".into()),
        is_attended: false,
        prompts: Default::default(),
        requests: Default::default(),
    }
}

fn scope(cwd: &str) -> Scope {
    Scope {
        session_id: "s".into(),
        model: "anthropic/claude".into(),
        cwd: cwd.into(),
        turn: 2,
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

fn output(operation: OperationKind, arguments: Value, text: &str) -> PreToolOutputPayload {
    PreToolOutputPayload {
        tool_call_id: "c".into(),
        tool_name: operation.name().into(),
        called_as: operation.name().into(),
        tool_source: "builtin".into(),
        operation: Some(operation),
        arguments: object(arguments),
        content: vec![Part::text(text)],
        is_error: false,
        ran: true,
        details: Value::Null,
        duration_ms: 3,
    }
}

#[test]
fn every_input_has_the_common_members() {
    let told = value(system::input("stop", &scope("/work"), &facts()));
    let wanted = json!({
        "conversation_id": "s", "generation_id": "s-2", "model": "anthropic/claude", "session_id": "s",
        "hook_event_name": "stop", "cursor_version": "2026.07.01", "workspace_roots": ["/work"],
        "user_email": null, "transcript_path": "/data/hook-files/s.jsonl",
    });
    assert_eq!(told, wanted);
    assert_eq!(
        (system::SYSTEM.shell)(&facts()),
        Some(vec!["/bin/zsh".to_owned(), "-c".to_owned()])
    );
}

#[test]
fn a_call_is_told_in_cursors_words() {
    for (operation, own, name, foreign) in [
        (
            OperationKind::Shell,
            json!({"command": "ls", "cwd": "src", "timeout_seconds": 2}),
            "Shell",
            json!({"command": "ls", "cwd": "src", "timeout": 2000}),
        ),
        (
            OperationKind::Read,
            json!({"path": "/a", "offset": 3}),
            "Read",
            json!({"file_path": "/a", "offset": 3}),
        ),
        (
            OperationKind::Write,
            json!({"path": "/a", "content": "x"}),
            "Write",
            json!({"file_path": "/a", "content": "x"}),
        ),
        (
            OperationKind::Grep,
            json!({"pattern": "x", "path": "/src", "glob": "*.rs"}),
            "Grep",
            json!({"pattern": "x", "file_path": "/src", "glob": "*.rs"}),
        ),
        (
            OperationKind::Fetch,
            json!({"url": "https://a.example"}),
            "Fetch",
            json!({"url": "https://a.example"}),
        ),
    ] {
        let payload = call(operation, own);
        let told = value(show::pre_tool(Input::default(), &scope("/work"), &payload));
        let wanted = json!({"tool_name": name, "tool_input": foreign, "tool_use_id": "c", "cwd": "/work"});
        assert_eq!(told, wanted);
        let back = calls::pre_tool(&payload).read(object(foreign)).unwrap();
        assert_eq!(back, payload.arguments, "{name}");
    }
}

#[test]
fn an_edit_is_a_write_with_the_whole_new_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "one two two").unwrap();
    let path = file.display().to_string();
    let edit = json!({"path": path, "edits": [{"old_text": "one", "new_text": "1"}]});
    let payload = call(OperationKind::Edit, edit.clone());
    let told = value(show::pre_tool(Input::default(), &scope("/"), &payload));
    assert_eq!(told["tool_name"], "Write");
    let input = json!({"file_path": path, "content": "1 two two"});
    assert_eq!(told["tool_input"], input);
    let call = calls::pre_tool(&payload);
    let read = |written: Value| {
        let written = calls::written(&call, object(written)).ok()?;
        call.read(written).ok().map(Value::Object)
    };
    assert_eq!(read(input), Some(edit), "the same text means the same edit");
    assert_eq!(
        read(json!({"file_path": path, "content": "new"})),
        Some(json!({"path": path, "edits": [{"old_text": "one two two", "new_text": "new"}]}))
    );
    assert_eq!(read(json!({"file_path": "edit", "content": "new"})), None);
}

#[test]
fn an_edit_that_cannot_be_foreseen_is_told_by_what_it_brings() {
    let lines = object(json!({"path": "/none", "lines": [{"start": 1, "end": 1, "text": "new"}]}));
    assert_eq!(content::edited("old", &lines), None);
    assert_eq!(content::brought(&lines), "new");
    let all = object(json!({"edits": [{"old_text": "a", "new_text": "b", "all": true}]}));
    assert_eq!(content::edited("aa", &all).unwrap(), "bb");
    let missing = object(json!({"edits": [{"old_text": "x", "new_text": "b"}]}));
    assert_eq!(content::edited("aa", &missing), None);
}

#[test]
fn a_file_is_told_with_its_content_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "words").unwrap();
    let read = |path: String| PreFileReadPayload {
        tool_call_id: "c".into(),
        tool_name: "read".into(),
        called_as: "read".into(),
        path,
        inside: true,
    };
    let path = file.display().to_string();
    let told = value(show::pre_file_read(
        Input::default(),
        &scope("/"),
        &read(path.clone()),
    ));
    assert_eq!(
        told,
        json!({"file_path": path, "content": "words", "attachments": []})
    );
    let told = value(show::pre_file_read(
        Input::default(),
        &scope("/"),
        &read("/none".into()),
    ));
    assert_eq!(told["content"], "");
}

#[test]
fn a_command_is_told_before_and_after() {
    let shell = PreShellPayload {
        tool_call_id: "c".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        command: "ls".into(),
        directory: "/work".into(),
    };
    let told = value(show::pre_shell(Input::default(), &scope("/work"), &shell));
    assert_eq!(told, json!({"command": "ls", "cwd": "/work", "sandbox": false}));
    let after = output(OperationKind::Shell, json!({"command": "ls"}), "a.txt");
    let told = value(show::post_shell(Input::default(), &scope("/work"), &after));
    assert_eq!(
        told,
        json!({"command": "ls", "output": "a.txt", "duration": 3, "sandbox": false})
    );
    let told = value(show::post_tool(Input::default(), &scope("/work"), &after));
    let result: Value = serde_json::from_str(told["tool_output"].as_str().unwrap()).unwrap();
    assert_eq!(result, json!({"exitCode": 0, "stdout": "a.txt", "stderr": ""}));
}

#[test]
fn a_changed_file_is_told_with_its_edits() {
    let edit = output(
        OperationKind::Edit,
        json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
        "",
    );
    let told = value(show::file_edit(Input::default(), &scope("/work"), &edit));
    let wanted = json!({"file_path": "/work/a", "edits": [{"old_string": "x", "new_string": "y"}]});
    assert_eq!(told, wanted);
    let write = output(OperationKind::Write, json!({"path": "/a", "content": "y"}), "");
    let told = value(show::file_edit(Input::default(), &scope("/work"), &write));
    assert_eq!(told["edits"], json!([{"old_string": "", "new_string": "y"}]));
}

#[test]
fn the_tool_of_a_server_is_told_apart() {
    let payload = PreToolPayload {
        tool_name: "my_server_ask".into(),
        tool_source: "mcp:my server".into(),
        operation: None,
        ..call(OperationKind::Shell, json!({"q": 1}))
    };
    let told = value(show::pre_tool(Input::default(), &scope("/work"), &payload));
    assert_eq!(
        (&told["tool_name"], &told["tool_input"]),
        (&json!("MCP:ask"), &json!({"q": 1}))
    );
    let told = value(show::pre_server_call(Input::default(), &scope("/work"), &payload));
    let wanted = json!({"tool_name": "ask", "tool_input": "{\"q\":1}", "mcp_server_name": "my server"});
    assert_eq!(told, wanted);
    for (written, text) in [
        (json!("text"), "text"),
        (json!({"content": [{"type": "text", "text": "a"}]}), "a"),
        (json!({"a": 1}), "{\"a\":1}"),
    ] {
        assert_eq!(response::text_of(&written), text);
    }
}
