//! Rows, answers, files and calls of Codex.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_events::{Class, OperationKind, Part, PreToolOutputPayload, PreToolPayload, Scope, StopPayload};
use becket_hook_files::{
    Action, Background, Contract, Decision, Facts, HookAnswer, HookEntry, Input, Owner, Reading, Source,
};
use becket_hooks::{Cause, CommandLine, Failure, Finished};
use serde_json::{Map, Value, json};

use crate::read::read;
use crate::rows::{ABSENT_EVENTS, rows};
use crate::state::{hash, key};
use crate::system::{SYSTEM, matcher};
use crate::{calls, hear, response, show};

#[test]
fn all_14_events_and_the_setting_are_known() {
    let rows = rows();
    let mut names: Vec<&str> = rows.iter().map(|row| row.contract().name).collect();
    names.extend(ABSENT_EVENTS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 15, "{names:?}");
}

#[test]
fn a_row_is_at_most_as_strong_as_its_event() {
    for row in rows() {
        let contract = row.contract();
        assert!(contract.class <= contract.event.info().class, "{}", contract.name);
        let guards = [
            "PreToolUse",
            "PermissionRequest",
            "UserPromptSubmit",
            "PreCompact",
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

/// An answer with members of its own event.
fn specific(event: &str, mut members: Value) -> Value {
    members["hookEventName"] = event.into();
    json!({"hookSpecificOutput": members})
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
            answered(name, &json!({})).unwrap(),
            HookAnswer::default(),
            "{name}"
        );
    }
}

#[test]
fn exit_code_2_blocks_where_codex_lets_it() {
    for event in [
        "PreToolUse",
        "PermissionRequest",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "SubagentStop",
    ] {
        assert_eq!(
            heard(event, 2, "", " why \n").unwrap(),
            HookAnswer::blocking("why"),
            "{event}"
        );
        let ignored = json!({"systemMessage": "x"}).to_string();
        assert_eq!(
            heard(event, 2, &ignored, "why").unwrap(),
            HookAnswer::blocking("why"),
            "{event}"
        );
    }
    for event in [
        "SessionStart",
        "SubagentStart",
        "PreCompact",
        "PostCompact",
        "Interrupt",
        "SessionEnd",
    ] {
        let answer = heard(event, 2, "", "why").unwrap();
        assert_eq!(answer, HookAnswer::error("exit code 2: why"), "{event}");
    }
}

#[test]
fn a_refusal_without_a_reason_is_still_one() {
    for event in ["PreToolUse", "PermissionRequest", "UserPromptSubmit"] {
        assert!(heard(event, 2, "", "").unwrap().block.is_some(), "{event}");
    }
    for event in ["PostToolUse", "Stop"] {
        assert!(heard(event, 2, "", "").unwrap().error.is_some(), "{event}");
    }
}

#[test]
fn other_exit_codes_are_errors_or_failures() {
    let deny = specific(
        "PreToolUse",
        json!({"permissionDecision": "deny", "permissionDecisionReason": "x"}),
    );
    let answer = heard("PreToolUse", 1, &deny.to_string(), "first\nsecond").unwrap();
    assert_eq!(
        answer,
        answered("PreToolUse", &deny).unwrap(),
        "a no counts beside a code"
    );
    let ask = specific("PreToolUse", json!({"permissionDecision": "ask"}));
    for output in [ask.to_string(), "{".to_owned(), String::new()] {
        let answer = heard("PreToolUse", 1, &output, "first\nsecond").unwrap();
        assert_eq!(answer, HookAnswer::error("exit code 1: first"), "{output}");
    }
    let block = json!({"decision": "block", "reason": "x"}).to_string();
    let answer = heard("PostToolUse", 1, &block, "").unwrap();
    assert_eq!(answer, HookAnswer::error("exit code 1"));
    for (code, cause) in [
        (126, Cause::ExitStatus),
        (127, Cause::ExitStatus),
        (137, Cause::KilledBySignal),
    ] {
        assert_eq!(
            heard("PreToolUse", code, "", "").unwrap_err().cause,
            cause,
            "{code}"
        );
    }
}

#[test]
fn a_guard_that_prints_garbage_fails() {
    for stdout in [
        "{",
        "[1]",
        "{\"decision\": 3}",
        "words {\"decision\": \"block\"}",
        "{} {}",
    ] {
        assert!(heard("PreToolUse", 0, stdout, "").is_err(), "{stdout}");
    }
    assert_eq!(
        heard("PreToolUse", 0, "just words", "").unwrap(),
        HookAnswer::default()
    );
    let held = Finished {
        stdout: Vec::new(),
        stderr: String::new(),
        code: 0,
        complete: false,
    };
    assert!(hear::hear(&contract("PreToolUse"), &held).is_err());
}

#[test]
fn one_member_too_many_makes_an_answer_invalid() {
    for answer in [
        json!({"sessionTitle": "x"}),
        json!({"decision": "block", "reason": "x", "terminalSequence": ""}),
        specific(
            "PreToolUse",
            json!({"permissionDecision": "deny", "permissionDecisionReason": "x", "y": 1}),
        ),
        specific("PostToolUse", json!({"permissionDecision": "deny"})),
        json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "x"}}),
        json!({"continue": false}),
        json!({"stopReason": "x"}),
        json!({"suppressOutput": true}),
        json!({"reason": "x"}),
        json!({"continue": null}),
        specific("PreToolUse", json!({"updatedInput": {"command": "x"}})),
        specific(
            "PreToolUse",
            json!({"permissionDecision": "ask", "updatedInput": {"command": "x"}}),
        ),
        specific(
            "PreToolUse",
            json!({"permissionDecision": "allow", "updatedInput": "x"}),
        ),
        specific("PreToolUse", json!({"permissionDecision": "defer"})),
        specific("PreToolUse", json!({"permissionDecisionReason": "x"})),
    ] {
        let failure = answered("PreToolUse", &answer).unwrap_err();
        assert_eq!(failure.cause, Cause::WrongShape, "{answer}");
    }
    assert!(answered("Stop", &specific("Stop", json!({}))).is_err());
    assert!(answered("PreCompact", &json!({"decision": "block", "reason": "x"})).is_err());
}

#[test]
fn a_call_is_denied_rewritten_or_asked_about() {
    let answer = |members| answered("PreToolUse", &specific("PreToolUse", members)).unwrap();
    let denied = answer(json!({"permissionDecision": "deny", "permissionDecisionReason": " why "}));
    assert_eq!(
        (denied.decision, denied.reason.as_deref()),
        (Some(Decision::Deny), Some("why"))
    );
    assert_eq!(
        answer(json!({"permissionDecision": "deny"})).decision,
        Some(Decision::Deny)
    );
    let asked = answer(json!({"permissionDecision": "ask", "permissionDecisionReason": "why"}));
    assert_eq!(
        (asked.decision, asked.reason.as_deref()),
        (Some(Decision::Ask), Some("why"))
    );
    let written = answer(json!({"permissionDecision": "allow", "updatedInput": {"command": "ls"}}));
    assert_eq!(written.arguments, json!({"command": "ls"}).as_object().cloned());
    assert_eq!(written.decision, None, "a rewrite approves nothing");
    let allowed = answer(json!({"permissionDecision": "allow"}));
    assert_eq!((allowed.decision, allowed.notice.len()), (None, 1));
    assert_eq!(
        answer(json!({"additionalContext": "x"})),
        HookAnswer::context("x")
    );
    let blocked = answered("PreToolUse", &json!({"decision": "block", "reason": "why"})).unwrap();
    assert_eq!(blocked, HookAnswer::blocking("why"));
    assert!(
        answered("PreToolUse", &json!({"decision": "block"}))
            .unwrap()
            .block
            .is_some()
    );
    for event in ["PreToolUse", "UserPromptSubmit"] {
        for word in ["approve", "allow"] {
            let approved = answered(event, &json!({"decision": word})).unwrap();
            assert_eq!((approved.decision, approved.notice.len()), (None, 1));
        }
    }
}

#[test]
fn permission_is_granted_or_refused_and_nothing_else() {
    let event = "PermissionRequest";
    let answer = |decision: Value| answered(event, &specific(event, json!({"decision": decision})));
    assert_eq!(
        answer(json!({"behavior": "allow"})).unwrap().decision,
        Some(Decision::Allow)
    );
    let denied = answer(json!({"behavior": "deny", "message": "why"})).unwrap();
    assert_eq!(
        (denied.decision, denied.reason.as_deref()),
        (Some(Decision::Deny), Some("why"))
    );
    for wrong in [
        json!({"behavior": "allow", "updatedInput": {}}),
        json!({"behavior": "allow", "updatedPermissions": []}),
        json!({"behavior": "deny", "interrupt": true}),
        json!({"behavior": "ask"}),
        json!({}),
        json!({"behavior": "allow", "other": 1}),
    ] {
        assert!(answer(wrong.clone()).is_err(), "{wrong}");
    }
    assert!(answered(event, &json!({"continue": false})).is_err());
}

#[test]
fn a_result_is_replaced() {
    let event = "PostToolUse";
    let blocked = answered(event, &json!({"decision": "block", "reason": "why"})).unwrap();
    assert_eq!(blocked, HookAnswer::blocking("why"));
    let stopped = answered(event, &json!({"continue": false, "stopReason": "enough"})).unwrap();
    assert_eq!((stopped.output, stopped.halt), (Some("enough".into()), None));
    let stopped = answered(event, &json!({"continue": false, "reason": "other words"})).unwrap();
    assert_eq!(stopped.output, Some("other words".into()));
    let context = answered(event, &specific(event, json!({"additionalContext": "x"}))).unwrap();
    assert_eq!(context, HookAnswer::context("x"));
    for wrong in [
        json!({"decision": "block"}),
        json!({"decision": "approve"}),
        json!({"reason": "x"}),
        json!({"suppressOutput": true}),
        specific(event, json!({"updatedMCPToolOutput": {}})),
    ] {
        assert!(answered(event, &wrong).is_err(), "{wrong}");
    }
}

#[test]
fn text_is_context_where_codex_takes_it_so() {
    for event in ["SessionStart", "SubagentStart", "UserPromptSubmit"] {
        assert_eq!(
            heard(event, 0, " words\n", "").unwrap(),
            HookAnswer::context("words"),
            "{event}"
        );
        let answer = specific(event, json!({"additionalContext": "words"}));
        assert_eq!(
            answered(event, &answer).unwrap(),
            HookAnswer::context("words"),
            "{event}"
        );
    }
    for event in ["Stop", "SubagentStop", "Interrupt"] {
        assert!(heard(event, 0, "words", "").is_err(), "{event}");
    }
    assert_eq!(
        heard("SessionEnd", 0, "{garbage", "").unwrap(),
        HookAnswer::default()
    );
}

#[test]
fn runs_end_and_go_on() {
    let ends = json!({"continue": false, "stopReason": "enough", "systemMessage": "told"});
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
    ] {
        let answer = answered(event, &ends).unwrap();
        assert_eq!(answer.halt.as_deref(), Some("enough"), "{event}");
        assert_eq!(answer.notice, ["told"], "{event}");
        let refuses = ["UserPromptSubmit", "PreCompact"].contains(&event);
        assert_eq!(answer.block.is_some(), refuses, "{event}");
    }
    assert_eq!(answered("SubagentStart", &ends).unwrap().halt, None);
    let both = json!({"continue": false, "decision": "block", "reason": "go on"});
    assert_eq!(answered("Stop", &both).unwrap().block, None);
    let goes_on = json!({"decision": "block", "reason": "go on"});
    assert_eq!(answered("Stop", &goes_on).unwrap(), HookAnswer::blocking("go on"));
    assert!(answered("Stop", &json!({"decision": "block", "reason": " "})).is_err());
}

// ------------------------------------------------------------------ files

fn source(file: &str, owner: Owner) -> Arc<Source> {
    Arc::new(Source {
        file: file.into(),
        owner,
        plugin: None,
    })
}

fn reading(files: &[(&str, Owner, Value)]) -> Reading {
    let mut reading = Reading::default();
    for (file, owner, value) in files {
        read(value, &source(file, *owner), &mut reading);
    }
    reading
}

/// A file with one hook of one event.
fn one(event: &str, hook: Value) -> Value {
    json!({"hooks": {event: [{"matcher": "Bash", "hooks": [hook]}]}})
}

fn read_one(event: &str, hook: Value) -> HookEntry {
    let mut reading = reading(&[("/p/.codex/hooks.json", Owner::Project, one(event, hook))]);
    assert_eq!(reading.dropped, []);
    reading.entries.remove(0)
}

#[test]
fn a_hook_is_read_with_codex_defaults() {
    let entry = read_one(
        "PreToolUse",
        json!({"type": "command", "command": "a", "statusMessage": "x"}),
    );
    assert_eq!(entry.action, Action::Command(CommandLine::Shell("a".into())));
    assert_eq!((entry.event, entry.name.as_str()), ("PreToolUse", "PreToolUse 1"));
    assert_eq!(entry.matchers, ["Bash"]);
    assert_eq!(entry.timeout, Duration::from_secs(600));
    assert_eq!(entry.background, None);
    let stop = read_one("Stop", json!({"type": "command", "command": "a"}));
    assert_eq!(stop.matchers, Vec::<String>::new(), "matchers do not count there");
}

#[test]
fn timeouts_are_seconds_and_short_at_the_end() {
    for (event, given, wanted) in [
        ("Stop", json!(5), 5),
        ("Stop", json!(0), 1),
        ("SessionEnd", json!(null), 1),
        ("SessionEnd", json!(2), 2),
        ("SessionEnd", json!(60), 3),
    ] {
        let entry = read_one(
            event,
            json!({"type": "command", "command": "a", "timeout": given}),
        );
        assert_eq!(entry.timeout, Duration::from_secs(wanted), "{event} {given}");
    }
}

#[test]
fn hooks_in_the_background_are_awaited_when_a_session_ends() {
    let hook = json!({"type": "command", "command": "a", "async": true});
    assert_eq!(
        read_one("PostToolUse", hook.clone()).background,
        Some(Background::Quiet)
    );
    assert_eq!(read_one("SessionEnd", hook).background, None);
}

#[test]
fn equal_hooks_run_as_often_as_they_are_written() {
    let hook = json!({"type": "command", "command": "a"});
    let file = json!({"description": "x", "hooks": {"Stop": [{"hooks": [hook, hook]}]}});
    let read = reading(&[("/p/.codex/hooks.json", Owner::Project, file)]);
    assert_eq!(read.entries.len(), 2);
}

#[test]
fn one_mistake_makes_a_whole_file_count_for_nothing() {
    let good = json!({"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}]});
    for wrong in [
        json!({"hooks": {"PreToolUse": [good]}, "version": 1}),
        json!({"hooks": {"PreToolUse": [good, {"hooks": [{"type": "http", "url": "x"}]}]}}),
        json!({"hooks": {"PreToolUse": [good, {"hooks": [{"command": "a"}]}]}}),
        json!({"hooks": {"PreToolUse": [good, {"hooks": [{"type": "command"}]}]}}),
        json!({"hooks": {"PreToolUse": [good, {"hooks": [{"type": "command", "command": "a", "timeout": 1.5}]}]}}),
        json!({"hooks": {"PreToolUse": [good, {"hooks": [{"type": "command", "command": "a", "timeout": "5"}]}]}}),
        json!({"hooks": {"PreToolUse": [good, {"hooks": [{"type": "command", "command": "a", "async": 1}]}]}}),
        json!({"hooks": {"PreToolUse": [good, {"matcher": 3, "hooks": []}]}}),
        json!({"hooks": {"PreToolUse": [good], "Stop": {}}}),
        json!({"hooks": []}),
        json!([]),
    ] {
        let read = reading(&[("/p/.codex/hooks.json", Owner::Project, wrong.clone())]);
        assert_eq!(read.entries, [], "{wrong}");
        assert_eq!(read.dropped.len(), 1, "{wrong}: {:?}", read.dropped);
        assert!(read.dropped[0].guards, "{wrong}");
    }
    let harmless = json!({"hooks": {"Stop": [{"hooks": [{"type": "http"}]}]}});
    let read = reading(&[("/p/.codex/hooks.json", Owner::Project, harmless)]);
    assert!(!read.dropped[0].guards);
}

#[test]
fn hooks_that_codex_skips_are_reported() {
    let command = json!({"type": "command", "command": "a"});
    for (event, hook, guards) in [
        ("PreToolUse", json!({"type": "command", "command": " "}), true),
        ("PreToolUse", json!({"type": "prompt", "prompt": "x"}), true),
        ("Stop", json!({"type": "agent"}), false),
        (
            "SessionEnd",
            json!({"type": "mcp_tool", "server": "s", "tool": "t"}),
            false,
        ),
        ("PreTooluse", command.clone(), true),
        ("Notification", command.clone(), false),
        ("PreModelRequest", command, false),
    ] {
        let read = reading(&[("/p/.codex/hooks.json", Owner::Project, one(event, hook.clone()))]);
        assert_eq!(read.entries, [], "{hook}");
        let dropped: Vec<bool> = read.dropped.iter().map(|dropped| dropped.guards).collect();
        assert_eq!(dropped, [guards], "{event} {hook}");
    }
    let flat = json!({"hooks": {"PreToolUse": [{"type": "command", "command": "a"}]}});
    let read = reading(&[("/p/.codex/hooks.json", Owner::Project, flat)]);
    assert!(read.dropped[0].guards);
    let tool = read_one(
        "PreToolUse",
        json!({"type": "mcp_tool", "server": "s", "tool": "t", "input": {"a": "${cwd}"}, "async": true}),
    );
    let wanted = Action::ServerTool {
        server: "s".into(),
        tool: "t".into(),
        input: Map::from_iter([("a".to_owned(), json!("${cwd}"))]),
    };
    assert_eq!(tool.action, wanted);
    assert_eq!(tool.background, None, "a guard is waited for");
}

#[test]
fn settings_files_hold_hooks_too() {
    let mut settings = one("PreToolUse", json!({"type": "command", "command": "a"}));
    settings["model"] = "x".into();
    settings["hooks"]["state"] = json!({});
    let read = reading(&[("/h/.codex/config.toml", Owner::User, settings)]);
    assert_eq!((read.entries.len(), read.dropped), (1, Vec::new()));
    let off = |owner| {
        let file = json!({"features": {"hooks": false}});
        let read = reading(&[("/x/.codex/config.toml", owner, file)]);
        (read.user_disables, read.project_disables)
    };
    assert_eq!(off(Owner::User), (true, true));
    assert_eq!(
        off(Owner::Project),
        (false, true),
        "a project cannot switch off the user's guards"
    );
    let on = reading(&[
        (
            "/etc/codex/config.toml",
            Owner::Machine,
            json!({"features": {"codex_hooks": false}}),
        ),
        (
            "/h/.codex/config.toml",
            Owner::User,
            json!({"features": {"hooks": true}}),
        ),
    ]);
    assert!(!on.user_disables && !on.project_disables);
}

#[test]
fn the_machine_may_allow_its_own_hooks_only() {
    let mut file = one("Stop", json!({"type": "command", "command": "a"}));
    file["allow_managed_hooks_only"] = true.into();
    file["hooks"]["managed_dir"] = "/etc/codex/hooks".into();
    let read = |name: &str, owner| reading(&[(name, owner, file.clone())]);
    let required = read("/etc/codex/requirements.toml", Owner::Machine);
    assert!(required.machine_only && required.entries.len() == 1);
    assert!(!read("/etc/codex/config.toml", Owner::Machine).machine_only);
    assert!(!read("/p/requirements.toml", Owner::Project).machine_only);
    let broken = one("Stop", json!({"type": "prompt"}));
    let read = reading(&[("/etc/codex/requirements.toml", Owner::Machine, broken)]);
    assert!(read.dropped[0].guards, "a hook of the machine must be loaded");
}

#[test]
fn a_hash_is_the_one_that_codex_keeps() {
    let entry = read_one("PreToolUse", json!({"type": "command", "command": "echo hello"}));
    assert_eq!(
        entry.written,
        concat!(
            r#"{"event_name":"pre_tool_use","#,
            r#""hooks":[{"async":false,"command":"echo hello","timeout":600,"type":"command"}],"#,
            r#""matcher":"Bash"}"#
        )
    );
    assert_eq!(key(&entry), "/p/.codex/hooks.json:pre_tool_use:0:0");
    let with = |hook| read_one("PreToolUse", hook).written;
    let plain = json!({"type": "command", "command": "a"});
    let usual = json!({"type": "command", "command": "a", "timeout": 600, "additionalContextLimit": 2500});
    assert_eq!(with(plain.clone()), with(usual), "defaults say nothing");
    let other = json!({"type": "command", "command": "a", "additionalContextLimit": 0});
    assert_ne!(with(plain), with(other));
    assert_eq!(
        hash("{}"),
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    );
}

#[test]
fn the_users_word_about_single_hooks_counts() {
    let hook = json!({"type": "command", "command": "a"});
    let hooks = one("PreToolUse", hook.clone());
    let entry = read_one("PreToolUse", hook);
    let said =
        |file: &str, state: Value| json!({"hooks": {"state": {(format!("{file}:pre_tool_use:0:0")): state}}});
    let trusted = json!({"trusted_hash": hash(&entry.written)});
    let other = json!({"trusted_hash": "sha256:0"});
    let off = json!({"enabled": false});
    let user = "/h/.codex/hooks.json";
    let project = "/p/.codex/hooks.json";
    for (file, owner, state, counts, dropped) in [
        (user, Owner::User, trusted.clone(), 1, 0),
        (user, Owner::User, other.clone(), 0, 1),
        (user, Owner::User, off.clone(), 0, 0),
        (project, Owner::Project, trusted, 1, 0),
        (project, Owner::Project, other.clone(), 1, 0),
        (project, Owner::Project, off.clone(), 0, 0),
        ("/etc/codex/hooks.json", Owner::Machine, off.clone(), 1, 0),
    ] {
        let settings = ("/h/.codex/config.toml", Owner::User, said(file, state.clone()));
        let hooks = (file, owner, hooks.clone());
        // The settings may be read before or after the hooks.
        for files in [[settings.clone(), hooks.clone()], [hooks, settings]] {
            let read = reading(&files);
            assert_eq!(
                (read.entries.len(), read.dropped.len()),
                (counts, dropped),
                "{file} {state}"
            );
            assert!(read.dropped.iter().all(|dropped| dropped.guards));
        }
    }
    let settings = ("/p/.codex/config.toml", Owner::Project, said(user, off));
    let read = reading(&[settings, (user, Owner::User, hooks)]);
    assert_eq!(
        read.entries.len(),
        1,
        "a project has no say about the user's hooks"
    );
}

#[test]
fn a_plugins_hook_has_the_plugins_name() {
    let root = PathBuf::from("/h/.codex/plugins/cache/market/tool/1.2.0");
    let source = Arc::new(Source {
        file: root.join("hooks/hooks.json"),
        owner: Owner::User,
        plugin: Some(root.into()),
    });
    let mut reading = Reading::default();
    let file = one("Stop", json!({"type": "command", "command": "a"}));
    read(&file, &source, &mut reading);
    assert_eq!(key(&reading.entries[0]), "tool@market:hooks/hooks.json:stop:0:0");
    let facts = facts();
    let variables = (SYSTEM.variables)(&source, &facts);
    assert_eq!(
        variables["PLUGIN_ROOT"],
        "/h/.codex/plugins/cache/market/tool/1.2.0"
    );
    assert_eq!(variables["CLAUDE_PLUGIN_ROOT"], variables["PLUGIN_ROOT"]);
    assert_eq!(variables["PLUGIN_DATA"], "/data/plugins/tool");
}

// ------------------------------------------------------------------ matchers

#[test]
fn matchers_mean_what_codex_means() {
    for (text, name, fits) in [
        ("", "Bash", true),
        ("*", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "BashOutput", false),
        ("bash", "Bash", false),
        ("Edit|Bash", "Bash", true),
        ("Edit, Bash", "Bash", false),
        ("Write", "apply_patch", true),
        ("Edit", "apply_patch", true),
        ("Agent", "spawn_agent", true),
        ("Read", "apply_patch", false),
        ("^Write$", "apply_patch", true),
        ("Wri.*|nothing", "apply_patch", true),
        ("^Bash", "BashOutput", true),
        ("mcp__memory__.*", "mcp__memory__create", true),
        ("mcp__a-b", "mcp__a-b__c", true),
        ("mcp__memory", "mcp__memory__create", false),
        (".*", "anything", true),
    ] {
        assert_eq!(matcher(text).unwrap().matches(name), fits, "{text} {name}");
    }
    assert!(matcher("[").is_err());
    assert!(matcher("(?!Bash)").is_err(), "there is no look-around");
}

// ------------------------------------------------------------------ calls and inputs

fn facts() -> Facts {
    Facts {
        project_root: "/p".into(),
        cwd: "/p".into(),
        hooks_directory: None,
        home: Some("/h".into()),
        files: "/data".into(),
        user_shell: Some("/bin/zsh".into()),
        is_attended: false,
        prompts: Default::default(),
        requests: Default::default(),
    }
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

fn value(input: Input) -> Value {
    serde_json::from_str(&input.text()).unwrap()
}

fn scope() -> Scope {
    Scope {
        session_id: "s".into(),
        agent_name: "becket".into(),
        model: "openai/gpt".into(),
        cwd: "/p".into(),
        turn: 2,
        ..Scope::default()
    }
}

#[test]
fn a_hook_before_a_call_reads_what_codex_sends() {
    let call = call(
        Some(OperationKind::Shell),
        "shell",
        json!({"command": "ls", "cwd": "/x", "timeout_seconds": 3}),
    );
    let input = (SYSTEM.input)("PreToolUse", &scope(), &facts());
    let read = value(show::pre_tool(input, &scope(), &call));
    let wanted = json!({
        "session_id": "s", "turn_id": "s:2", "transcript_path": "/data/s.jsonl", "cwd": "/p",
        "hook_event_name": "PreToolUse", "model": "openai/gpt", "permission_mode": "default",
        "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "call-1",
    });
    assert_eq!(read, wanted);
}

#[test]
fn inputs_have_the_members_of_their_events() {
    let has = |event: &'static str, member: &str| {
        let input = value((SYSTEM.input)(event, &scope(), &facts()));
        input.get(member).is_some()
    };
    for (event, turn, model, mode) in [
        ("SessionStart", false, true, true),
        ("SessionEnd", false, false, false),
        ("PreCompact", true, true, false),
        ("Stop", true, true, true),
    ] {
        assert_eq!(has(event, "turn_id"), turn, "{event}");
        assert_eq!(has(event, "model"), model, "{event}");
        assert_eq!(has(event, "permission_mode"), mode, "{event}");
    }
    let sub = Scope {
        session_id: "sub".into(),
        parent_session_id: Some("s".into()),
        ..scope()
    };
    let input = value((SYSTEM.input)("SubagentStop", &sub, &facts()));
    assert_eq!(input["session_id"], "s");
    assert_eq!(
        (&input["agent_id"], &input["agent_type"]),
        (&json!("sub"), &json!("becket"))
    );
    assert_eq!(input["agent_transcript_path"], "/data/sub.jsonl");
}

#[test]
fn a_stop_without_words_says_null() {
    let stop = StopPayload {
        response: String::new(),
        prompt: "x".into(),
        continuations: 1,
        entries: Vec::new(),
        go_on: false,
    };
    let read = value(show::stop(Input::default(), &scope(), &stop));
    assert_eq!(
        read,
        json!({"stop_hook_active": true, "last_assistant_message": null})
    );
}

#[test]
fn changes_of_files_are_shown_as_patches() {
    let shown = |operation, arguments| {
        let call = call(Some(operation), "x", arguments);
        let called = calls::pre_tool(&call);
        (
            calls::name(&called, "builtin").into_owned(),
            Value::Object(calls::arguments(&called)),
        )
    };
    let (name, arguments) = shown(OperationKind::Write, json!({"path": "a", "content": "one\ntwo"}));
    assert_eq!(name, "apply_patch");
    let patch = "*** Begin Patch\n*** Add File: a\n+one\n+two\n*** End Patch";
    assert_eq!(arguments, json!({"command": patch}));
    let edits = json!([{"old_text": "a", "new_text": "b", "all": true}]);
    let (name, arguments) = shown(OperationKind::Edit, json!({"path": "a", "edits": edits}));
    assert_eq!(name, "apply_patch");
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-a\n+b\n*** End Patch";
    assert_eq!(arguments, json!({"command": patch}));
    let lines = json!([{"start": 3, "end": 4, "text": "x", "expected": "y"}]);
    let (_, arguments) = shown(OperationKind::Edit, json!({"path": "a", "lines": lines}));
    let patch = "*** Begin Patch\n*** Update File: a\n@@ lines 3 to 4\n-y\n+x\n*** End Patch";
    assert_eq!(arguments, json!({"command": patch}));
}

#[test]
fn tools_that_codex_does_not_have_are_shown_as_commands() {
    let call = call(Some(OperationKind::Read), "read", json!({"path": ".env"}));
    let called = calls::pre_tool(&call);
    assert_eq!(calls::name(&called, "builtin"), "Bash");
    assert_eq!(
        Value::Object(calls::arguments(&called)),
        json!({"command": "cat .env"})
    );
    let same = calls::written(&called, calls::arguments(&called));
    assert_eq!(same.unwrap(), None);
    let other = json!({"command": "cat other"}).as_object().cloned().unwrap();
    assert!(calls::written(&called, other).is_err());
}

/// The arguments of a call in becket's terms after a hook has written others.
fn rewritten(call: &PreToolPayload, written: Value) -> Result<Option<Value>, String> {
    let called = calls::pre_tool(call);
    let Value::Object(written) = written else {
        panic!("arguments are an object");
    };
    let all = calls::written(&called, written).map_err(|failure| failure.to_string())?;
    all.map(|all| called.read(all).map(Value::Object)).transpose()
}

#[test]
fn a_rewrite_keeps_what_the_hook_was_not_shown() {
    let shell = call(
        Some(OperationKind::Shell),
        "shell",
        json!({"command": "ls", "cwd": "/x", "timeout_seconds": 3}),
    );
    assert_eq!(
        rewritten(&shell, json!({"command": "pwd"})),
        Ok(Some(json!({"command": "pwd", "cwd": "/x", "timeout_seconds": 3})))
    );
    assert_eq!(rewritten(&shell, json!({"command": "ls"})), Ok(None));
    assert!(rewritten(&shell, json!({"cmd": "ls"})).is_err());
    let write = call(
        Some(OperationKind::Write),
        "write",
        json!({"path": "a", "content": "one"}),
    );
    let same = "*** Begin Patch\n*** Add File: a\n+one\n*** End Patch";
    assert_eq!(
        rewritten(&write, json!({"command": same})),
        Ok(None),
        "the end of the last line stays"
    );
    let other = "*** Begin Patch\n*** Add File: b\n+two\n*** End Patch";
    assert_eq!(
        rewritten(&write, json!({"command": other})),
        Ok(Some(json!({"path": "b", "content": "two\n"})))
    );
    let update = "*** Begin Patch\n*** Update File: a\n-one\n+two\n*** End Patch";
    assert!(rewritten(&write, json!({"command": update})).is_err());
    let edit = call(
        Some(OperationKind::Edit),
        "edit",
        json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
    );
    assert_eq!(
        rewritten(&edit, json!({"command": update})),
        Ok(Some(
            json!({"path": "a", "edits": [{"old_text": "one", "new_text": "two"}]})
        ))
    );
    let several = "*** Begin Patch\n*** Add File: b\n+x\n*** Update File: a\n-one\n+two\n*** End Patch";
    assert!(rewritten(&edit, json!({"command": several})).is_err());
}

#[test]
fn sub_agents_and_servers_have_codex_names() {
    let agent = call(None, "spawn_agent", json!({"input": "go", "preset": "explorer"}));
    let called = calls::pre_tool(&agent);
    assert_eq!(calls::name(&called, "builtin"), "spawn_agent");
    let shown = calls::arguments(&called);
    assert_eq!(json!(shown), json!({"message": "go", "agent_type": "explorer"}));
    assert_eq!(
        rewritten(&agent, json!({"message": "wait", "agent_type": "explorer"})),
        Ok(Some(json!({"input": "wait", "preset": "explorer"})))
    );
    let tool = call(None, "github_create_issue", json!({"title": "x"}));
    let called = calls::pre_tool(&tool);
    assert_eq!(calls::name(&called, "mcp:github"), "mcp__github__create_issue");
    assert_eq!(json!(calls::arguments(&called)), json!({"title": "x"}));
}

#[test]
fn results_are_the_text_that_the_model_sees() {
    let output = |source: &str| PreToolOutputPayload {
        tool_call_id: "call-1".into(),
        tool_name: "shell".into(),
        called_as: "shell".into(),
        tool_source: source.into(),
        operation: Some(OperationKind::Shell),
        arguments: Map::new(),
        content: vec![Part::text("out")],
        is_error: false,
        ran: true,
        details: Value::Null,
        duration_ms: 1,
    };
    assert_eq!(response::of(&output("builtin")), json!("out"));
    assert_eq!(
        response::of(&output("mcp:x")),
        json!({"content": [{"type": "text", "text": "out"}], "isError": false})
    );
}

#[test]
fn commands_run_in_the_users_login_shell() {
    assert_eq!(
        (SYSTEM.shell)(&facts()),
        Some(vec!["/bin/zsh".into(), "-lc".into()])
    );
    let without = Facts {
        user_shell: None,
        ..facts()
    };
    assert_eq!(
        (SYSTEM.shell)(&without),
        Some(vec!["/bin/sh".into(), "-lc".into()])
    );
    assert!((SYSTEM.is_file)(Path::new("/p/.codex/hooks.json")));
    assert!(!(SYSTEM.is_file)(Path::new("/p/hooks.json")));
}
