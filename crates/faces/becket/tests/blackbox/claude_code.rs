//! Claude Code's hooks as their authors wrote them: real settings files, real scripts, runs with a scripted model. What
//! a hook reads at each event, what each of its answers does, and what a broken one means.

use serde_json::{Value, json};
use testkit::{Ending, Finished, ModelServer, OpenAiStream, Response, Room, needs};

use crate::hook_files::{answers, call, heard, members, says, shell};
use crate::limit::with_person;
use crate::mcp::{declared_server, with_server};
use crate::room;

/// A settings file with one hook for each of these events, in groups without a matcher.
fn settings(hooks: &[(&str, Value)]) -> Value {
    let mut events = json!({});
    for (event, hook) in hooks {
        let groups = &mut events[event];
        if groups.is_null() {
            *groups = json!([]);
        }
        groups
            .as_array_mut()
            .expect("a list")
            .push(json!({"hooks": [hook]}));
    }
    json!({"hooks": events})
}

/// A hook that runs a command.
fn command(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

/// A hook that adds what it reads to a file beside the working directory, and then does something.
fn noting(event: &str, then: &str) -> Value {
    let file = format!("../{event}.jsonl");
    command(&format!("IN=$(cat); printf '%s\\n' \"$IN\" >> {file}; {then}"))
}

/// A command that answers with members of `hookSpecificOutput`.
fn specific(event: &str, mut members: Value) -> String {
    members["hookEventName"] = event.into();
    answers(&json!({"hookSpecificOutput": members}))
}

fn with_settings(settings: &Value) -> Room {
    let room = room();
    room.write(".claude/settings.json", settings.to_string());
    room.write("a.txt", "words of a file");
    room
}

/// A room whose project has these hooks.
fn with_hooks(hooks: &[(&str, Value)]) -> Room {
    with_settings(&settings(hooks))
}

/// A room with one hook that notes what it reads and then does something.
fn with_hook(event: &str, then: &str) -> Room {
    with_hooks(&[(event, noting(event, then))])
}

/// Sends `go`, with everything in the project trusted.
fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--trust", "--json", "--model", &model, "go"];
    room.run(arguments.iter().chain(more))
}

/// A shell call that leaves a file if it runs, and an answer.
fn touching() -> Value {
    json!([shell("touch made"), {"text": "done"}])
}

/// What the hooks of an event have read, besides what every event tells.
#[track_caller]
fn told(room: &Room, event: &str) -> Vec<Value> {
    let directory = room.work().canonicalize().expect("the room is there");
    let mut all = heard(room, event);
    for read in &mut all {
        assert_eq!(read["hook_event_name"], event);
        assert_eq!(read["cwd"], directory.display().to_string());
        let mode = read["permission_mode"].as_str();
        assert!(matches!(mode, Some("default" | "bypassPermissions")), "{mode:?}");
        let transcript = read["transcript_path"].as_str().expect("a path");
        assert!(transcript.ends_with(&format!("{}.jsonl", read["session_id"].as_str().unwrap())));
        let members = read.as_object_mut().expect("an object");
        // Every event after a prompt names it.
        let prompt = members.remove("prompt_id");
        assert!(prompt.is_none_or(|id| id.as_str().is_some_and(|id| !id.is_empty())));
        for name in [
            "session_id",
            "transcript_path",
            "cwd",
            "permission_mode",
            "hook_event_name",
        ] {
            members.remove(name);
        }
    }
    all
}

#[test]
fn session_start_and_end() {
    let room = with_hooks(&[
        (
            "SessionStart",
            noting("SessionStart", "echo words for the session"),
        ),
        ("SessionEnd", noting("SessionEnd", "")),
    ]);
    play(&room, &json!([says("done", &["words for the session"])]), &[]).ended_with(0);
    play(&room, &json!([says("done", &["words for the session"])]), &[]).ended_with(0);
    let started: Vec<Value> = told(&room, "SessionStart");
    assert_eq!(
        started[0],
        json!({"source": "startup", "model": "scripted/script"})
    );
    assert_eq!(started[1]["source"], "resume");
    assert_eq!(told(&room, "SessionEnd")[0], json!({"reason": "other"}));

    let context = specific("SessionStart", json!({"additionalContext": "from JSON"}));
    let room = with_hook("SessionStart", &context);
    play(&room, &json!([says("done", &["from JSON"])]), &[]).ended_with(0);
    // Exit code 2 is shown to the user, and nothing else.
    let room = with_hook("SessionStart", "echo oh no >&2; exit 2");
    let run = play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    assert!(run.stderr.contains("oh no"), "{run:#?}");
}

#[test]
fn a_session_is_set_up_named_and_gets_variables() {
    let writes = "printf '%s\\n' 'export COLOUR=\"light blue\"' 'export PATH=\"$PWD/bin:$PATH\"' >> \"$CLAUDE_ENV_FILE\"";
    let title = specific("SessionStart", json!({"sessionTitle": "A named talk"}));
    let room = with_hooks(&[
        (
            "Setup",
            noting(
                "Setup",
                &specific("Setup", json!({"additionalContext": "it is set up"})),
            ),
        ),
        ("SessionStart", command(&format!("{writes}; {title}"))),
    ]);
    room.script("bin/greets", "#!/bin/sh\necho \"greets in $COLOUR\"\n");
    let turns = json!([shell("greets > made"), says("done", &["it is set up"])]);
    play(&room, &turns, &["--yes", "--init"]).ended_with(0);
    assert_eq!(room.read("made"), "greets in light blue\n");
    assert_eq!(told(&room, "Setup"), [json!({"trigger": "init"})]);
    room.run(["sessions"]).ended_with(0).said("A named talk");
    // What nobody serves is said.
    let room = with_hook(
        "SessionStart",
        &specific("SessionStart", json!({"watchPaths": ["/x"]})),
    );
    let run = play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    assert!(run.stderr.contains("watchPaths"), "{run:#?}");
}

#[test]
fn a_hook_begins_with_a_message_of_its_own() {
    let begins = specific("SessionStart", json!({"initialUserMessage": "look around first"}));
    let hooks = [
        ("SessionStart", command(&begins)),
        ("UserPromptSubmit", noting("UserPromptSubmit", "")),
    ];
    let room = with_hooks(&hooks);
    let turns = json!([
        says("looked", &["look around first"]),
        says("done", &["looked", "go"])
    ]);
    play(&room, &turns, &[]).ended_with(0).said("done");
    let prompts: Vec<Value> = told(&room, "UserPromptSubmit")
        .iter()
        .map(|told| told["prompt"].clone())
        .collect();
    assert_eq!(prompts, ["look around first", "go"]);
    // A message that is refused ends the run, and in a chat the user begins.
    let refuses = noting(
        "UserPromptSubmit",
        "case \"$IN\" in *look*) echo not now >&2; exit 2;; esac",
    );
    let room = with_hooks(&[("SessionStart", command(&begins)), ("UserPromptSubmit", refuses)]);
    let run = play(&room, &json!([says("never", &[])]), &[]).ended_with(1);
    assert!(run.stderr.contains("not now"), "{run:#?}");
    let room = with_hooks(&hooks);
    let model = room.model(&json!([says("done", &[])]));
    let run = room.run_with_input(["--trust", "--model", &model, "chat"], "hello\n");
    assert!(run.ended_with(0).stderr.contains("it is ignored in a chat"));
    assert_eq!(told(&room, "UserPromptSubmit").len(), 1);
}

#[test]
fn instructions_commands_and_changed_settings_are_told() {
    let room = with_hooks(&[
        ("InstructionsLoaded", noting("InstructionsLoaded", "")),
        (
            "UserPromptExpansion",
            noting("UserPromptExpansion", "echo be kind"),
        ),
        ("ConfigChange", noting("ConfigChange", "")),
        ("Stop", command("echo ' ' >> .claude/settings.json")),
    ]);
    room.write("AGENTS.md", "Be brief.\n");
    room.write("review.md", "---\ndescription: reviews\n---\nReview $1.\n");
    let model = room.model(&json!([
        says("done", &["Review a.rs.", "be kind"]),
        says("again", &[])
    ]));
    let line = [
        "--trust",
        "--model",
        &model,
        "--prompt-template",
        "review.md",
        "-p",
        "/review a.rs",
        "more",
    ];
    room.run(line).ended_with(0);
    let place = |name: &str| {
        room.work()
            .canonicalize()
            .unwrap()
            .join(name)
            .display()
            .to_string()
    };
    let loaded = &told(&room, "InstructionsLoaded")[0];
    assert_eq!(loaded["file_path"], place("AGENTS.md"));
    assert_eq!(loaded["load_reason"], "session_start");
    let expanded = told(&room, "UserPromptExpansion");
    assert_eq!(
        expanded,
        [json!({
            "expansion_type": "slash_command", "command_name": "review", "command_args": "a.rs",
            "prompt": "Review a.rs.",
        })]
    );
    let changed = told(&room, "ConfigChange");
    assert_eq!(
        changed,
        [json!({"source": "project_settings", "file_path": place(".claude/settings.json")})]
    );
    let room = with_hook("UserPromptExpansion", "echo not this one >&2; exit 2");
    room.write("review.md", "---\ndescription: reviews\n---\nReview $1.\n");
    let model = room.model(&json!([says("never", &[])]));
    let line = [
        "--trust",
        "--model",
        &model,
        "--prompt-template",
        "review.md",
        "/review a.rs",
    ];
    room.run(line).complained("not this one");
}

#[test]
fn another_model_is_judged() {
    let deny = specific(
        "PreModelSwitch",
        json!({"permissionDecision": "deny", "permissionDecisionReason": "too dear"}),
    );
    let room = with_hook("PreModelSwitch", &deny);
    room.write(
        "chooses.ts",
        "export default (pi: any) => {\n\
         pi.on(\"session_start\", () => pi.setModel({ provider: \"scripted\", id: \"other.toml\" }));\n};\n",
    );
    room.write("other.toml", "[[turns]]\ntext = \"the other one\"\n");
    let run = play(&room, &json!([says("the usual one", &[])]), &["-e", "chooses.ts"]).ended_with(0);
    assert_eq!(run.events_named("stop")[0]["response"], "the usual one");
    assert!(run.stderr.contains("too dear"), "{run:#?}");
    let asked = &told(&room, "PreModelSwitch")[0];
    assert_eq!(asked["to_model"], "scripted/other");
}

#[test]
fn words_about_another_model_reach_it() {
    let room = with_hook("PostModelSwitch", "echo be brief with this one");
    room.write(
        "chooses.ts",
        "export default (pi: any) => {\n\
         pi.on(\"session_start\", () => pi.setModel({ provider: \"scripted\", id: \"other.json\" }));\n};\n",
    );
    let turns = json!([says("done", &["be brief with this one"])]);
    room.write("other.json", turns.to_string());
    play(
        &room,
        &json!([says("never", &[])]),
        &["--yes", "-e", "chooses.ts"],
    )
    .ended_with(0);
    assert_eq!(told(&room, "PostModelSwitch")[0]["to_model"], "scripted/other");
}

#[test]
fn matchers_choose_by_what_their_event_tells() {
    let hook = |event: &str| json!([{"matcher": "resume", "hooks": [noting(event, "")]}]);
    let room = with_settings(&json!({"hooks": {"SessionStart": hook("SessionStart")}}));
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    assert!(!room.has("../SessionStart.jsonl"));
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    assert_eq!(told(&room, "SessionStart").len(), 1);

    let turns = json!([
        shell("true"),
        call("read", &json!({"path": "a.txt"})),
        call("write", &json!({"path": "b.txt", "content": "b"})),
        {"text": "done"},
    ]);
    for (matcher, wanted) in [
        ("Bash", &["Bash"][..]),
        ("Read|Write", &["Read", "Write"]),
        ("Read, Write", &["Read", "Write"]),
        ("Ba", &[]),
        ("B.sh", &["Bash"]),
        ("^(Read|Wr)", &["Read", "Write"]),
        ("*", &["Bash", "Read", "Write"]),
        ("", &["Bash", "Read", "Write"]),
        ("bash", &[]),
    ] {
        let group = json!([{"matcher": matcher, "hooks": [noting("PreToolUse", "")]}]);
        let room = with_settings(&json!({"hooks": {"PreToolUse": group}}));
        room.write("../PreToolUse.jsonl", "");
        play(&room, &turns, &["--yes"]).ended_with(0);
        let names: Vec<Value> = told(&room, "PreToolUse")
            .into_iter()
            .map(|mut read| read["tool_name"].take())
            .collect();
        assert_eq!(names, wanted, "{matcher}");
    }
}

#[test]
fn conditions_look_at_the_call() {
    let hook = |condition: &str| {
        let mut hook = noting("PreToolUse", "echo no >&2; exit 2");
        hook["if"] = condition.into();
        with_hooks(&[("PreToolUse", hook)])
    };
    for (condition, refused) in [
        ("Bash(touch *)", true),
        ("Bash(git *)", false),
        ("Bash", true),
        ("Edit(src/**)", false),
    ] {
        let room = hook(condition);
        play(&room, &touching(), &["--yes"]).ended_with(0);
        assert_eq!(!room.has("made"), refused, "{condition}");
    }
    // At an event without a call such a hook would never run, and it may have been a guard.
    let mut hook = command("exit 2");
    hook["if"] = "Bash(git *)".into();
    let room = with_hooks(&[("UserPromptSubmit", hook)]);
    play(&room, &json!([says("done", &[])]), &[])
        .ended_with(4)
        .complained("/hooks/UserPromptSubmit/0/hooks/0");
}

#[test]
fn user_prompt_submit() {
    let room = with_hook("UserPromptSubmit", "echo today is Monday");
    play(&room, &json!([says("done", &["today is Monday"])]), &[]).ended_with(0);
    assert_eq!(
        told(&room, "UserPromptSubmit"),
        [json!({"prompt": "go", "source": "user"})]
    );
    for refusal in [
        "echo a secret >&2; exit 2".to_owned(),
        answers(&json!({"decision": "block", "reason": "a secret"})),
        answers(&json!({"continue": false, "stopReason": "a secret"})),
    ] {
        let room = with_hook("UserPromptSubmit", &refusal);
        let run = play(&room, &json!([says("never", &[])]), &[]).ended_with(1);
        assert!(run.stderr.contains("a secret"), "{run:#?}");
        assert!(run.events_named("pre_request").is_empty(), "{refusal}");
    }
}

#[test]
fn pre_tool_use_reads_the_call_in_its_own_words() {
    let room = with_hook("PreToolUse", "");
    let turns = json!([
        call("shell", &json!({"command": "true", "timeout_seconds": 5})),
        call("read", &json!({"path": "a.txt", "offset": 1, "limit": 2})),
        call("edit", &json!({"path": "a.txt", "edits": [{"old_text": "words", "new_text": "letters"}]})),
        call("grep", &json!({"pattern": "l", "ignore_case": true})),
        call("find", &json!({"pattern": "*.txt"})),
        {"text": "done"},
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let file = room
        .work()
        .canonicalize()
        .unwrap()
        .join("a.txt")
        .display()
        .to_string();
    let read = told(&room, "PreToolUse");
    let input = |at: usize| (&read[at]["tool_name"], &read[at]["tool_input"]);
    assert_eq!(read[0]["tool_use_id"], "call-1");
    assert_eq!(
        input(0),
        (&json!("Bash"), &json!({"command": "true", "timeout": 5000}))
    );
    assert_eq!(
        input(1),
        (
            &json!("Read"),
            &json!({"file_path": file, "offset": 1, "limit": 2})
        )
    );
    let edit = json!({"file_path": file, "old_string": "words", "new_string": "letters"});
    assert_eq!(input(2), (&json!("Edit"), &edit));
    assert_eq!(input(3), (&json!("Grep"), &json!({"pattern": "l", "-i": true})));
    assert_eq!(input(4), (&json!("Glob"), &json!({"pattern": "*.txt"})));
}

#[test]
fn pre_tool_use_decides() {
    let decides = |decision: &str| {
        let members = json!({"permissionDecision": decision, "permissionDecisionReason": "because"});
        specific("PreToolUse", members)
    };
    for (answer, runs, word) in [
        (decides("deny"), false, "because"),
        (decides("allow"), true, ""),
        (decides("ask"), false, "because"),
        (decides("defer"), false, "because"),
        (
            answers(&json!({"decision": "block", "reason": "because"})),
            false,
            "because",
        ),
        (answers(&json!({"decision": "approve"})), true, ""),
        ("echo because >&2; exit 2".to_owned(), false, "because"),
        (
            answers(&json!({"continue": false, "stopReason": "because"})),
            false,
            "because",
        ),
        // Silence decides nothing, and nobody is there to be asked.
        (String::new(), false, "it needs approval"),
        ("echo just talk".to_owned(), false, "it needs approval"),
    ] {
        let room = with_hook("PreToolUse", &answer);
        let run = play(&room, &touching(), &[]);
        assert_eq!(room.has("made"), runs, "{answer}: {run:#?}");
        assert!(run.stdout.contains(word), "{answer}: {run:#?}");
    }
}

#[test]
fn pre_tool_use_rewrites_and_adds() {
    let members = json!({
        "permissionDecision": "allow", "updatedInput": {"command": "touch other"},
        "additionalContext": "mind the other",
    });
    let room = with_hook("PreToolUse", &specific("PreToolUse", members));
    play(
        &room,
        &json!([shell("touch made"), says("done", &["mind the other"])]),
        &[],
    )
    .ended_with(0);
    assert!(room.has("other") && !room.has("made"));
    // A rewrite without a decision leaves the decision to others.
    let members = json!({"updatedInput": {"command": "touch other"}});
    let room = with_hook("PreToolUse", &specific("PreToolUse", members));
    play(&room, &touching(), &[]).ended_with(0);
    assert!(!room.has("other") && !room.has("made"));
}

#[test]
fn a_rewrite_is_judged_by_the_other_hooks() {
    let rewrite = json!({"permissionDecision": "allow", "updatedInput": {"command": "rm -rf x; touch made"}});
    let guard = "case \"$IN\" in *'rm -rf'*) echo no rm >&2; exit 2;; esac";
    let room = with_hooks(&[
        ("PreToolUse", noting("PreToolUse", guard)),
        ("PreToolUse", command(&specific("PreToolUse", rewrite))),
    ]);
    let run = play(&room, &touching(), &[]).ended_with(0);
    assert!(!room.has("made") && run.stdout.contains("no rm"), "{run:#?}");
    assert_eq!(told(&room, "PreToolUse").len(), 2);
}

#[test]
fn permission_request_answers_for_the_user() {
    let decision = |decision: Value| specific("PermissionRequest", json!({"decision": decision}));
    for (answer, made) in [
        (decision(json!({"behavior": "allow"})), Some("made")),
        (
            decision(json!({"behavior": "allow", "updatedInput": {"command": "touch other"}})),
            Some("other"),
        ),
        (decision(json!({"behavior": "deny", "message": "not now"})), None),
        ("echo not now >&2; exit 2".to_owned(), None),
        (String::new(), None),
    ] {
        let room = with_hook("PermissionRequest", &answer);
        let run = play(&room, &touching(), &[]);
        assert_eq!(room.has("made"), made == Some("made"), "{answer}: {run:#?}");
        assert_eq!(room.has("other"), made == Some("other"), "{answer}: {run:#?}");
        assert_eq!(told(&room, "PermissionRequest")[0]["tool_name"], "Bash");
    }
    let interrupts = decision(json!({"behavior": "deny", "message": "stop it", "interrupt": true}));
    let room = with_hook("PermissionRequest", &interrupts);
    let run = play(&room, &touching(), &[]).ended_with(1);
    assert!(run.stderr.contains("stop it"), "{run:#?}");
}

#[test]
fn permission_request_gives_rules_for_the_session() {
    let adds = |behavior: &str, rules: Value| json!({"type": "addRules", "behavior": behavior, "rules": rules, "destination": "session"});
    let rule = |content: &str| json!({"toolName": "Bash", "ruleContent": content});
    let answering = |changes: Value| {
        let decision = json!({"behavior": "allow", "updatedPermissions": changes});
        with_hook(
            "PermissionRequest",
            &specific("PermissionRequest", json!({"decision": decision})),
        )
    };
    let asked = |room: &Room| told(room, "PermissionRequest").len();
    let turns = |commands: &[&str]| {
        let calls = commands.iter().map(|command| shell(command));
        Value::Array(calls.chain([json!({"text": "done"})]).collect())
    };
    // An allow spares the question about later calls that it covers, and covers no operator.
    let room = answering(json!([adds("allow", json!([rule("touch:*")]))]));
    play(&room, &turns(&["touch a", "touch b", "touch c; ls"]), &[]).ended_with(0);
    assert!(room.has("a") && room.has("b") && room.has("c"));
    assert_eq!(asked(&room), 2);
    // A deny beats an allow, also for the call that the hook was asked about, and an ask asks again.
    let room = answering(json!([
        adds("allow", json!([rule("touch:*")])),
        adds(
            "deny",
            json!([rule("touch b:*"), {"toolName": "Read", "ruleContent": "/secrets/**"}])
        ),
        adds("ask", json!([rule("touch c:*")])),
    ]));
    room.write("secrets/key", "words-of-a-key");
    let mut calls = turns(&["touch a", "touch b", "touch c"]);
    let reads = call("read", &json!({"path": "secrets/key"}));
    calls.as_array_mut().expect("turns").insert(3, reads);
    let run = play(&room, &calls, &[]).ended_with(0);
    assert!(room.has("a") && !room.has("b") && room.has("c"), "{run:#?}");
    assert!(
        run.stdout.contains("the rule `Bash(touch b:*)` denies it"),
        "{run:#?}"
    );
    assert!(!run.stdout.contains("words-of-a-key"), "{run:#?}");
    assert_eq!(asked(&room), 2, "about a and c");
    let room = answering(json!([adds("deny", json!([rule("touch:*")]))]));
    play(&room, &touching(), &[]).ended_with(0);
    assert!(!room.has("made"));
    // Rules that replace others restrict all the same; what becket does not have, or does not store, is reported.
    let mut replaces = adds("deny", json!([rule("touch b:*")]));
    replaces["type"] = "replaceRules".into();
    let mut stored = adds("allow", json!([rule("ls:*")]));
    stored["destination"] = "localSettings".into();
    let mode = json!({"type": "setMode", "mode": "bypassPermissions", "destination": "session"});
    let room = answering(json!([replaces, stored, mode]));
    let run = play(&room, &turns(&["touch a", "touch b"]), &[]).ended_with(0);
    assert!(room.has("a") && !room.has("b"), "{run:#?}");
    for words in ["`replaceRules`", "`bypassPermissions`", "`localSettings`"] {
        assert!(run.stderr.contains(words), "{words}: {run:#?}");
    }
    // What cannot be read may restrict something.
    for wrong in [
        json!([{"type": "addWishes"}]),
        json!([adds("forbid", json!([rule("touch:*")]))]),
        json!([adds("deny", json!([{"ruleContent": "touch:*"}]))]),
        json!([adds("deny", json!("Bash"))]),
        json!("none"),
    ] {
        let room = answering(wrong.clone());
        play(&room, &touching(), &[]).ended_with(0);
        assert!(!room.has("made"), "{wrong}");
    }
}

#[test]
fn permission_request_sets_the_mode_for_later_calls() {
    let answering = |behavior: &str, mode: &str| {
        let changes = json!([{"type": "setMode", "mode": mode, "destination": "session"}]);
        let decision = json!({"behavior": behavior, "updatedPermissions": changes});
        let answer = specific("PermissionRequest", json!({"decision": decision}));
        // It is asked about everything, and answers only about the shell.
        with_hook(
            "PermissionRequest",
            &format!("case \"$IN\" in *'\"Bash\"'*) {answer};; esac"),
        )
    };
    let write = call("write", &json!({"path": "b", "content": "x"}));
    for (mode, written, touched) in [
        ("acceptEdits", true, true),
        ("default", false, true),
        // In plan mode nothing is asked about that writes or runs.
        ("plan", false, false),
        ("bypassPermissions", false, true),
        ("dontAsk", false, true),
    ] {
        let room = answering("allow", mode);
        let turns = json!([shell("touch a"), write, shell("touch c"), {"text": "done"}]);
        let run = play(&room, &turns, &[]).ended_with(0);
        assert!(room.has("a"), "{mode}: {run:#?}");
        assert_eq!(room.has("b"), written, "{mode}: {run:#?}");
        assert_eq!(room.has("c"), touched, "{mode}: {run:#?}");
        let told = match mode {
            "acceptEdits" => "a hook sets the permission mode to `accept-edits`",
            "bypassPermissions" | "dontAsk" => "a hook wanted the permission mode `",
            _ => "a hook sets the permission mode to `",
        };
        assert!(run.stderr.contains(told), "{mode}: {run:#?}");
    }
    // Hooks hear of it.
    let room = answering("allow", "acceptEdits");
    play(
        &room,
        &json!([shell("touch a"), shell("touch c"), {"text": "done"}]),
        &[],
    )
    .ended_with(0);
    let modes = members(&room, "PermissionRequest", "permission_mode");
    assert_eq!(modes, ["default", "acceptEdits"]);
    // A mode that nobody has refuses, since it may be a stricter one.
    let room = answering("allow", "careful");
    play(&room, &touching(), &[]).ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn permission_request_gives_back_what_is_suggested() {
    let decision = "decision:{behavior:\"allow\",updatedPermissions:.permission_suggestions}";
    let members = format!("hookEventName:\"PermissionRequest\",{decision}");
    let back = format!("printf '%s' \"$IN\" | jq '{{hookSpecificOutput:{{{members}}}}}'");
    let room = with_hook("PermissionRequest", &back);
    let calls = ["touch a", "touch a", "touch b"].map(shell);
    let turns: Vec<Value> = calls.into_iter().chain([json!({"text": "done"})]).collect();
    play(&room, &json!(turns), &[]).ended_with(0);
    assert!(room.has("a") && room.has("b"));
    assert_eq!(told(&room, "PermissionRequest").len(), 2);
}

#[test]
fn rules_about_addresses_count() {
    let room = room();
    let lists = json!({"permissions": {"deny": ["WebFetch(domain:127.0.0.1)"]}});
    room.write("../home/.claude/settings.json", lists.to_string());
    let turns = json!([call("fetch", &json!({"url": "http://127.0.0.1:9/x"})), {"text": "done"}]);
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(
        run.stdout
            .contains("the rule `WebFetch(domain:127.0.0.1)` denies it"),
        "{run:#?}"
    );
}

#[test]
fn post_tool_use() {
    let room = with_hook(
        "PostToolUse",
        &specific("PostToolUse", json!({"additionalContext": "well done"})),
    );
    let turns = json!([shell("echo out"), says("done", &["well done"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let mut read = told(&room, "PostToolUse");
    assert!(read[0]["duration_ms"].take().is_u64());
    let response = json!({
        "stdout": "out", "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
    });
    let wanted = json!({
        "tool_name": "Bash", "tool_input": {"command": "echo out"}, "tool_response": response,
        "tool_use_id": "call-1", "duration_ms": null,
    });
    assert_eq!(read[0], wanted);
    for feedback in [
        "echo run the linter >&2; exit 2".to_owned(),
        answers(&json!({"decision": "block", "reason": "run the linter"})),
    ] {
        let room = with_hook("PostToolUse", &feedback);
        let turns = json!([shell("echo out"), says("done", &["run the linter", "out"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
    }
    let output = json!({"stdout": "key=***", "stderr": "", "interrupted": false});
    let mask = specific("PostToolUse", json!({"updatedToolOutput": output}));
    let room = with_hook("PostToolUse", &mask);
    let run = play(
        &room,
        &json!([shell("echo key=abc"), says("done", &["key=***"])]),
        &["--yes"],
    );
    let requests = run.ended_with(0).events_named("pre_request");
    let results = requests[1]["body"]["messages"]
        .as_array()
        .expect("messages")
        .last()
        .cloned();
    assert!(!results.expect("a result").to_string().contains("abc"));
    let room = with_hook(
        "PostToolUse",
        &answers(&json!({"continue": false, "stopReason": "enough"})),
    );
    let run = play(&room, &json!([shell("echo out"), says("never", &[])]), &["--yes"]).ended_with(1);
    assert!(run.stderr.contains("enough"), "{run:#?}");
}

#[test]
fn post_tool_use_failure_and_batch() {
    let context = |event: &str| specific(event, json!({"additionalContext": format!("after {event}")}));
    let room = with_hooks(&[
        ("PostToolUse", noting("PostToolUse", "")),
        (
            "PostToolUseFailure",
            noting("PostToolUseFailure", &context("PostToolUseFailure")),
        ),
        (
            "PostToolBatch",
            noting("PostToolBatch", &context("PostToolBatch")),
        ),
    ]);
    room.write("../PostToolUse.jsonl", "");
    let turns = json!([
        shell("exit 3"),
        says("done", &["after PostToolUseFailure", "after PostToolBatch"])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(told(&room, "PostToolUse").is_empty());
    let failed = &told(&room, "PostToolUseFailure")[0];
    assert!(failed["error"].as_str().unwrap().contains('3'), "{failed}");
    let batch = &told(&room, "PostToolBatch")[0]["tool_calls"];
    assert_eq!(batch[0]["tool_name"], "Bash");
    assert_eq!(batch[0]["tool_input"], json!({"command": "exit 3"}));
    // The event tells what the model sees, with what hooks made of it.
    let mask = specific("PostToolUse", json!({"updatedToolOutput": "key=***"}));
    let room = with_hooks(&[
        ("PostToolUse", command(&mask)),
        ("PostToolBatch", noting("PostToolBatch", "")),
    ]);
    let turns = json!([shell("echo key=abc"), says("done", &[])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let batch = &told(&room, "PostToolBatch")[0]["tool_calls"];
    assert_eq!(batch[0]["tool_response"], "key=***", "{batch}");
}

#[test]
fn tools_of_servers_are_named_after_both() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    let group = |event: &str| json!([{"matcher": "mcp__one__.*", "hooks": [noting(event, "")]}]);
    let hooks = json!({"PreToolUse": group("PreToolUse"), "PostToolBatch": [{"hooks": [noting("PostToolBatch", "")]}]});
    room.write(".claude/settings.json", json!({ "hooks": hooks }).to_string());
    let turns = json!([call("one_echo", &json!({"text": "hi"})), shell("true"), {"text": "done"}]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let before = told(&room, "PreToolUse");
    assert_eq!(before.len(), 1, "{before:#?}");
    assert_eq!(before[0]["tool_name"], "mcp__one__echo");
    assert_eq!(before[0]["mcp_server"], json!({"name": "one"}));
    let batch = told(&room, "PostToolBatch");
    assert_eq!(batch[0]["tool_calls"][0]["tool_name"], "mcp__one__echo");
    assert_eq!(batch[1]["tool_calls"][0]["tool_name"], "Bash");
}

#[test]
fn stop_makes_the_model_go_on() {
    for block in [
        "echo run the tests >&2; exit 2".to_owned(),
        answers(&json!({"decision": "block", "reason": "run the tests"})),
        specific("Stop", json!({"additionalContext": "run the tests"})),
    ] {
        let once = format!("case \"$IN\" in *'\"stop_hook_active\":false'*) {block};; esac");
        let room = with_hook("Stop", &once);
        play(
            &room,
            &json!([says("one", &[]), says("two", &["run the tests"])]),
            &[],
        )
        .ended_with(0);
        let read = told(&room, "Stop");
        assert_eq!(read[0]["last_assistant_message"], "one");
        assert_eq!(
            (&read[0]["stop_hook_active"], &read[1]["stop_hook_active"]),
            (&json!(false), &json!(true))
        );
    }
    // The same reason again and again, as some plugins do on purpose: at most eight times.
    let room = with_hook("Stop", &answers(&json!({"decision": "block", "reason": "again"})));
    let turns: Vec<Value> = (0..9).map(|_| says("more", &[])).collect();
    let run = play(&room, &json!(turns), &[]).ended_with(0);
    assert_eq!(told(&room, "Stop").len(), 9);
    assert!(run.stderr.contains("more than 8 times"), "{run:#?}");
}

#[test]
fn sub_agents_start_and_stop() {
    let context = specific("SubagentStart", json!({"additionalContext": "you are small"}));
    let once = "case \"$IN\" in *'\"stop_hook_active\":false'*) echo look again >&2; exit 2;; esac";
    let room = with_hooks(&[
        ("SubagentStart", noting("SubagentStart", &context)),
        ("SubagentStop", noting("SubagentStop", once)),
        ("Stop", noting("Stop", "")),
        ("PreToolUse", noting("PreToolUse", "")),
    ]);
    let child = room.write(
        "../child.json",
        json!([says("first", &["you are small"]), says("second", &["look again"])]).to_string(),
    );
    let arguments =
        json!({"system_prompt": "help", "input": "count", "model": format!("scripted/{}", child.display())});
    let turns = json!([call("spawn_agent", &arguments), says("done", &["second"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(heard(&room, "SubagentStart")[0]["agent_id"].is_string());
    assert_eq!(heard(&room, "SubagentStop").len(), 2);
    let stopped = &heard(&room, "SubagentStop")[0];
    for (member, words) in [("transcript_path", "\"go\""), ("agent_transcript_path", "first")] {
        let file = stopped[member].as_str().expect("a path");
        let text = std::fs::read_to_string(file).expect("it is there");
        assert!(text.contains(words), "{member}: {text}");
    }
    assert_eq!(heard(&room, "Stop").len(), 1);
    let called = &heard(&room, "PreToolUse")[0];
    assert_eq!(
        (&called["tool_name"], &called["tool_input"]["prompt"]),
        (&json!("Agent"), &json!("count"))
    );
}

#[test]
fn compaction() {
    let room = with_hooks(&[
        ("PreCompact", noting("PreCompact", "echo keep the names")),
        ("PostCompact", noting("PostCompact", "echo it is short now")),
        ("SessionStart", noting("SessionStart", "")),
    ]);
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    let model = room.model(&json!([says("a summary", &["keep the names"])]));
    room.run(["--trust", "--model", &model, "compact"])
        .ended_with(0)
        .complained("it is short now");
    assert_eq!(
        told(&room, "PreCompact")[0],
        json!({"trigger": "manual", "custom_instructions": ""})
    );
    assert_eq!(told(&room, "PostCompact")[0]["compact_summary"], "a summary");
    let sources: Vec<Value> = told(&room, "SessionStart")
        .into_iter()
        .map(|mut read| read["source"].take())
        .collect();
    assert!(sources.contains(&json!("compact")), "{sources:?}");

    let room = with_hook("PreCompact", "echo keep it all >&2; exit 2");
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    let model = room.model(&json!([says("a summary", &[])]));
    let run = room.run(["--trust", "--model", &model, "compact"]);
    assert!(run.code != 0 && run.stderr.contains("keep it all"), "{run:#?}");
}

#[test]
fn notifications_and_failures() {
    let room = with_hooks(&[
        ("Notification", noting("Notification", "")),
        ("StopFailure", noting("StopFailure", "")),
    ]);
    if let Some(run) = with_person(&room, &["--trust", "--model", &room.model(&touching()), "go"]) {
        run.ended_with(0);
        let kinds: Vec<Value> = told(&room, "Notification")
            .into_iter()
            .map(|mut read| read["notification_type"].take())
            .collect();
        assert_eq!(kinds, ["permission_prompt"]);
    }
    let run = play(
        &room,
        &json!([{"error": {"kind": "rejected", "message": "broken"}}]),
        &[],
    );
    assert_ne!(run.code, 0);
    assert_eq!(told(&room, "StopFailure")[0]["error"], "invalid_request");
}

#[test]
fn strict_settings_and_on_failure_refuse_after_an_error() {
    let failing = || command("echo oops >&2; exit 1");
    let room = with_hooks(&[("PreToolUse", failing())]);
    room.config("[dialects]\nstrict = true\n");
    let run = play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!room.has("made") && run.stdout.contains("oops"), "{run:#?}");
    let mut hook = failing();
    hook["onFailure"] = "block".into();
    let room = with_hooks(&[("PreToolUse", hook)]);
    play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn whose_files_count() {
    let guard = |who: &str| settings(&[("PreToolUse", command(&format!("echo {who} says no >&2; exit 2")))]);
    let refused = |room: &Room, more: &[&str]| {
        let run = play(room, &touching(), more);
        assert_eq!(run.code, 0, "{run:#?}");
        (!room.has("made")).then_some(run.stdout)
    };
    // The user's own need no trust; the project's local settings count like its others.
    let room = room();
    room.write("../home/.claude/settings.json", guard("the user").to_string());
    room.write(".claude/settings.local.json", guard("local").to_string());
    let words = refused(&room, &["--yes"]).expect("it is refused");
    assert!(
        words.contains("the user says no") && words.contains("local says no"),
        "{words}"
    );
    for (setting, words) in [("project", Some("local says no")), ("off", None)] {
        room.config(&format!("[dialects]\nclaude-code = \"{setting}\"\n"));
        let said = refused(&room, &["--yes"]);
        assert_eq!(said.is_some(), words.is_some(), "{setting}");
        std::fs::remove_file(room.work().join("made")).ok();
    }
    room.config("[dialects]\ncluade-code = \"off\"\n");
    play(&room, &touching(), &["--yes"])
        .ended_with(2)
        .complained("did you mean `claude-code`?");
}

#[test]
fn a_project_cannot_switch_off_the_users_hooks() {
    let room = room();
    let guard = settings(&[("PreToolUse", command("echo the user says no >&2; exit 2"))]);
    room.write("../home/.claude/settings.json", guard.to_string());
    room.write(".claude/settings.json", r#"{"disableAllHooks": true}"#);
    play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
    let mut off = guard;
    off["disableAllHooks"] = true.into();
    room.write("../home/.claude/settings.json", off.to_string());
    play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(room.has("made"));
}

#[test]
fn a_local_file_has_the_last_word_about_switching_off() {
    for (shared, local, runs) in [(true, false, false), (false, true, true), (true, true, true)] {
        let room = room();
        let mut guard = settings(&[("PreToolUse", command("echo no >&2; exit 2"))]);
        guard["disableAllHooks"] = shared.into();
        room.write(".claude/settings.json", guard.to_string());
        room.write(
            ".claude/settings.local.json",
            json!({"disableAllHooks": local}).to_string(),
        );
        play(&room, &touching(), &["--yes"]).ended_with(0);
        assert_eq!(room.has("made"), runs, "{shared} {local}");
    }
}

#[test]
fn plugins_that_are_installed_and_enabled_count() {
    let room = room();
    let plugin = room.write("../home/plugin/hooks/hooks.json", "");
    let root = plugin.parent().unwrap().parent().unwrap().display().to_string();
    room.script(
        "../home/plugin/guard.sh",
        "#!/bin/sh\necho \"plugin in $CLAUDE_PLUGIN_ROOT says no\" >&2\nexit 2\n",
    );
    let hooks = settings(&[("PreToolUse", command("\"${CLAUDE_PLUGIN_ROOT}\"/guard.sh"))]);
    room.write("../home/plugin/hooks/hooks.json", hooks.to_string());
    let installed = json!({"version": 2, "plugins": {"p@m": [{"scope": "user", "installPath": root}]}});
    room.write(
        "../home/.claude/plugins/installed_plugins.json",
        installed.to_string(),
    );
    // A list has the versions that are enabled.
    for (enabled, refuses) in [
        (json!(false), false),
        (json!(true), true),
        (json!(["^1.0"]), true),
    ] {
        let settings = json!({"enabledPlugins": {"p@m": enabled}});
        room.write("../home/.claude/settings.json", settings.to_string());
        let run = play(&room, &touching(), &["--yes"]).ended_with(0);
        assert_eq!(!room.has("made"), refuses, "{run:#?}");
        std::fs::remove_file(room.work().join("made")).ok();
    }
}

#[test]
fn what_cannot_be_a_hook_is_reported_and_a_guard_stops_the_run() {
    let broken = |hooks: Value| {
        let room = with_settings(&json!({ "hooks": hooks }));
        play(&room, &json!([says("done", &[])]), &[])
    };
    for (hooks, words) in [
        (
            json!({"PreToolUse": [{"type": "command", "command": "true"}]}),
            "/hooks/PreToolUse/0",
        ),
        (json!({"PreToolUse": {"hooks": []}}), "/hooks/PreToolUse"),
        (
            json!({"PreToolUse": [{"hooks": [{"type": "comand", "command": "true"}]}]}),
            "no type `comand`",
        ),
        (
            json!({"PreToolUse": [{"hooks": [{"command": "true"}]}]}),
            "`type` is missing",
        ),
        (
            json!({"PreToolUse": [{"hooks": [{"type": "command"}]}]}),
            "`command` is missing",
        ),
        (
            json!({"PermissionRequest": [{"hooks": [{"type": "agent", "prompt": "x"}]}]}),
            "no agent is asked",
        ),
        (
            json!({"PreToolUse": [{"hooks": [{"type": "mcp_tool", "server": "s"}]}]}),
            "`tool` is missing",
        ),
        (
            json!({"PreToolUsee": [{"hooks": [command("true")]}]}),
            "no event `PreToolUsee`",
        ),
        (
            json!({"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": "soon"}]}]}),
            "`timeout`",
        ),
    ] {
        broken(hooks).ended_with(4).complained(words);
    }
    for (hooks, words) in [
        (
            json!({"PostToolUse": [{"type": "command", "command": "true"}]}),
            "/hooks/PostToolUse/0",
        ),
        (
            json!({"WorktreeCreate": [{"hooks": [command("true")]}]}),
            "worktree",
        ),
        (
            json!({"Whenever": [{"hooks": [command("true")]}]}),
            "no event `Whenever`",
        ),
    ] {
        broken(hooks).ended_with(0).complained(words);
    }
    // A matcher that cannot be read counts for everything.
    let group = json!([{"matcher": "(?<!x)Bash", "hooks": [command("exit 2")]}]);
    let room = with_settings(&json!({"hooks": {"PreToolUse": group}}));
    play(&room, &touching(), &["--yes"])
        .ended_with(0)
        .complained("matches everything");
    assert!(!room.has("made"));
}

#[test]
fn permission_rules_mean_what_they_mean_there() {
    let rules = |rules: Value| json!({ "permissions": rules });
    let tried = |room: &Room, command: &str, more: &[&str]| {
        std::fs::remove_file(room.work().join("made")).ok();
        let model = room.model(&json!([shell(command), {"text": "done"}]));
        room.run(["--json", "--model", &model, "go"].iter().chain(more))
            .ended_with(0);
        room.has("made")
    };
    // The user's own rules: a deny beats everything, an ask beats an allow, and a line may hold several commands.
    let room = room();
    let lists =
        rules(json!({"allow": ["Bash(touch:*)"], "ask": ["Bash(touch -a:*)"], "deny": ["Bash(rm:*)"]}));
    room.write("../home/.claude/settings.json", lists.to_string());
    assert!(tried(&room, "touch made", &[]));
    assert!(!tried(&room, "touch -a made", &[]), "an ask beats an allow");
    assert!(tried(&room, "touch -a made", &["--yes"]));
    assert!(
        !tried(&room, "touch made; ls", &[]),
        "an allow covers no operator"
    );
    assert!(
        !tried(&room, "touch made && rm -f x", &["--yes"]),
        "a deny is found anywhere"
    );
    // A project's denies count at once, and what it allows needs trust.
    let room = self::room();
    let lists = rules(json!({"allow": ["Bash(touch:*)"], "deny": ["Read(./secrets/**)"]}));
    room.write(".claude/settings.json", lists.to_string());
    room.write("secrets/key", "words-of-a-key");
    room.write("link", "");
    std::fs::remove_file(room.work().join("link")).unwrap();
    std::os::unix::fs::symlink("secrets", room.work().join("link")).unwrap();
    assert!(!tried(&room, "touch made", &[]));
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    assert!(tried(&room, "touch made", &[]));
    for path in ["secrets/key", "./x/../secrets/key", "link/key"] {
        let model = room.model(&json!([call("read", &json!({"path": path})), {"text": "done"}]));
        let run = room
            .run(["--yes", "--json", "--model", &model, "go"])
            .ended_with(0);
        assert!(!run.stdout.contains("words-of-a-key"), "{path}: {run:#?}");
    }
}

/// Ways around guards that were tried. Each is one call under a guard, which must be refused.
#[test]
fn guards_are_not_got_around() {
    let deny = |matcher: Value, more: Value| {
        let mut hook = command("echo no >&2; exit 2");
        hook.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}})
    };
    let condition = |condition: &str| deny(json!(""), json!({ "if": condition }));
    let sh = |command: &str| shell(command);
    let edit = |more: Value| {
        let mut arguments = json!({"path": "a.txt"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        call("edit", &arguments)
    };
    let two =
        json!({"edits": [{"old_text": "words", "new_text": "x"}, {"old_text": "file", "new_text": "y"}]});
    for (settings, attempt) in [
        (
            condition("Bash(touch *)"),
            sh("cat <<EOF >/dev/null\n$(touch made)\nEOF"),
        ),
        (condition("Bash(touch *)"), sh("touch>/dev/null made")),
        (condition("Bash(touch *)"), sh("\"touch\" made")),
        (condition("Bash(touch *)"), sh("x=touch; $x made")),
        (condition("Bash(touch *)"), sh("env A=1 B=2 C=3 D=4 touch made")),
        (condition("Bash(touch *)"), sh("bash -c 'tou''ch made'")),
        (condition("Bash(touch *"), sh("touch made")),
        (condition("*"), sh("touch made")),
        (condition(""), sh("touch made")),
        (condition("Bash|Write"), sh("touch made")),
        (
            condition("Write(src/**)"),
            call("write", &json!({"path": "x/../src/made", "content": ""})),
        ),
        (condition("Edit(a.txt)"), edit(two.clone())),
        (deny(json!("Edit|Write"), json!({})), edit(two.clone())),
        (deny(json!("MultiEdit"), json!({})), edit(two)),
        (
            deny(json!("^Task$"), json!({})),
            call("spawn_agent", &json!({"system_prompt": "s", "input": "i"})),
        ),
        (deny(json!(""), json!({"once": true})), sh("touch made")),
    ] {
        let room = with_settings(&settings);
        // The same call twice: a guard that said no once says it again.
        let run = play(&room, &json!([attempt, attempt, {"text": "done"}]), &["--yes"]).ended_with(0);
        assert!(
            !room.has("made") && !room.has("src/made"),
            "{settings} {attempt}: {run:#?}"
        );
        assert_eq!(room.read("a.txt"), "words of a file", "{settings} {attempt}");
        let refused = run.events_named("approval_decided");
        assert!(
            refused.iter().all(|event| event["decision"] == "deny"),
            "{settings} {attempt}: {refused:#?}"
        );
    }
}

#[test]
fn what_edits_write_is_in_what_a_hook_reads() {
    let guard = "printf '%s' \"$IN\" | grep -q 'new_string.*forbidden' && { echo no >&2; exit 2; }; exit 0";
    for edits in [
        json!({"edits": [{"old_text": "words", "new_text": "x"}, {"old_text": "file", "new_text": "forbidden"}]}),
        json!({"lines": [{"start": 1, "end": 1, "text": "forbidden"}]}),
        json!({"edits": [{"old_text": "words", "new_text": "forbidden"}]}),
    ] {
        let room = with_hook("PreToolUse", guard);
        let mut arguments = edits.clone();
        arguments["path"] = "a.txt".into();
        play(
            &room,
            &json!([call("edit", &arguments), {"text": "done"}]),
            &["--yes"],
        )
        .ended_with(0);
        assert_eq!(room.read("a.txt"), "words of a file", "{edits}");
        assert_eq!(told(&room, "PreToolUse")[0]["tool_name"], "Edit");
    }
}

#[test]
fn an_error_code_beside_an_answer_counts_where_failures_refuse() {
    let failing = command("echo '{\"systemMessage\": \"x\"}'; exit 1");
    let room = with_hooks(&[("PreToolUse", failing.clone())]);
    let run = play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(room.has("made") && run.stderr.contains("exit code 1"), "{run:#?}");
    let mut strict = failing;
    strict["onFailure"] = "block".into();
    let room = with_hooks(&[("PreToolUse", strict)]);
    play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
    let mut misspelt = command("true");
    misspelt["onFailure"] = "Block".into();
    let room = with_hooks(&[("PreToolUse", misspelt)]);
    play(&room, &touching(), &["--yes"])
        .ended_with(4)
        .complained("`onFailure`");
}

#[test]
fn a_project_decides_nothing_about_plugins() {
    let room = room();
    let hooks = settings(&[("PreToolUse", command("echo plugin says no >&2; exit 2"))]);
    let root = room.home().join("plugin").display().to_string();
    // The hooks stand in the plugin's own description.
    room.write(
        "../home/plugin/.claude-plugin/plugin.json",
        json!({"name": "p", "hooks": hooks["hooks"]}).to_string(),
    );
    let list = json!({"version": 2, "plugins": {"p@m": [{"scope": "user", "installPath": root}]}});
    room.write("../home/.claude/plugins/installed_plugins.json", list.to_string());
    room.write(
        "../home/.claude/settings.json",
        r#"{"enabledPlugins": {"p@m": true}}"#,
    );
    room.write(".claude/settings.json", r#"{"enabledPlugins": {"p@m": false}}"#);
    play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
    room.write(
        "../home/.claude/plugins/installed_plugins.json",
        "{\"version\": 2,}",
    );
    play(&room, &touching(), &["--yes"])
        .ended_with(2)
        .complained("installed_plugins.json");
    room.write("../home/.claude/plugins/installed_plugins.json", list.to_string());
    std::fs::remove_dir_all(room.home().join("plugin")).unwrap();
    play(&room, &touching(), &["--yes"])
        .ended_with(2)
        .complained("there is no such folder");
    assert!(!room.has("made"));
}

#[test]
fn hooks_that_do_the_same_run_once_and_ones_marked_so_once_in_a_session() {
    let mut once = noting("Stop", "");
    once["once"] = true.into();
    let same = || noting("PreToolUse", "");
    let groups = json!([
        {"matcher": "Bash", "hooks": [same()]},
        {"matcher": "Read", "hooks": [same(), same()]},
    ]);
    let room = with_settings(&json!({"hooks": {"PreToolUse": groups, "Stop": [{"hooks": [once]}]}}));
    let turns = json!([
        shell("true"),
        call("read", &json!({"path": "a.txt"})),
        says("done", &[])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(told(&room, "PreToolUse").len(), 2);
    assert_eq!(told(&room, "Stop").len(), 1);
}

#[test]
fn a_guard_that_runs_once_still_judges_what_another_hook_rewrites() {
    let mut once = noting(
        "PreToolUse",
        "case \"$IN\" in *secret*) echo no secrets >&2; exit 2;; esac",
    );
    once["once"] = true.into();
    let rewrites = specific("PreToolUse", json!({"updatedInput": {"command": "touch secret"}}));
    let room = with_hooks(&[("PreToolUse", once), ("PreToolUse", command(&rewrites))]);
    let turns = json!([shell("touch made"), says("done", &["no secrets"])]);
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(!room.has("secret") && !room.has("made"), "{run:#?}");
    // Once it has agreed to a call, it is not asked about the next one.
    let mut agrees = noting("PreToolUse", "");
    agrees["once"] = true.into();
    let room = with_hooks(&[("PreToolUse", agrees), ("PreToolUse", command(&rewrites))]);
    let turns = json!([shell("touch one"), shell("touch two"), says("done", &[])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert_eq!(told(&room, "PreToolUse").len(), 2);
}

#[test]
fn a_guard_whose_script_is_not_there_refuses() {
    for (missing, ran) in [
        ("node \"$CLAUDE_PROJECT_DIR\"/gone.mjs", false),
        ("npx --no-install tsx ./gone.ts", false),
        ("python3 -u ./gone.py 2>/dev/null", false),
        ("perl ~/gone.pl", false),
        ("./gone.sh", false),
        // Whatever the line does besides.
        ("cat | node ./gone.mjs", false),
        ("IN=$(cat); echo \"$IN\" | \"$CLAUDE_PROJECT_DIR\"/gone.sh", false),
        ("cd \"$CLAUDE_PROJECT_DIR\" && node gone.mjs", false),
        ("command -v sh >/dev/null || exit 0; node gone.mjs", false),
        ("cd . && ./a.sh", true),
        // The line says what to do without it.
        ("[ -f gone.mjs ] && node gone.mjs", true),
        ("python3 ./gone.py 2>/dev/null || true", true),
        ("test ! -e gone.sh || ./gone.sh", true),
        ("python3 -c 'print()'", true),
    ] {
        let room = with_hooks(&[("PreToolUse", command(missing))]);
        room.script("a.sh", "#!/bin/sh\nexit 0\n");
        let run = play(&room, &touching(), &["--yes"]).ended_with(0);
        assert_eq!(room.has("made"), ran, "{missing}: {run:#?}");
        assert!(
            ran || run.stderr.contains("does not exist"),
            "{missing}: {run:#?}"
        );
    }
    let room = with_hooks(&[(
        "PreToolUse",
        json!({"type": "command", "command": "node", "args": ["${CLAUDE_PROJECT_DIR}/gone.js"]}),
    )]);
    play(&room, &touching(), &["--yes"])
        .ended_with(0)
        .complained("gone.js does not exist");
    assert!(!room.has("made"));
}

/// A plugin in the user's home with this description, installed as `p@m`. Returns its folder.
fn with_plugin(room: &Room, manifest: &Value) -> String {
    room.write("../home/plugin/.claude-plugin/plugin.json", manifest.to_string());
    let root = room.home().join("plugin").display().to_string();
    let list = json!({"version": 2, "plugins": {"p@m": [{"scope": "user", "installPath": root}]}});
    room.write("../home/.claude/plugins/installed_plugins.json", list.to_string());
    root
}

#[test]
fn guards_of_plugins_do_not_get_lost() {
    let refuses = json!({"PreToolUse": [{"hooks": [command("echo plugin says no >&2; exit 2")]}]});
    let enabled = json!({"enabledPlugins": {"p@m": true}});
    // Hooks in parts of the plugin's description.
    for hooks in [
        json!([refuses]),
        json!([{ "hooks": refuses }]),
        json!({ "hooks": refuses }),
    ] {
        let room = room();
        with_plugin(&room, &json!({"name": "p", "hooks": hooks}));
        room.write("../home/.claude/settings.json", enabled.to_string());
        let run = play(&room, &touching(), &["--yes"])
            .ended_with(0)
            .complained("plugin says no");
        assert!(!room.has("made"), "{run:#?}");
    }
    // A file that the description names and that is not there.
    for hooks in [json!("./hooks/gone.json"), json!(["./hooks/gone.json"]), json!(7)] {
        let room = room();
        with_plugin(&room, &json!({"name": "p", "hooks": hooks}));
        room.write("../home/.claude/settings.json", enabled.to_string());
        play(&room, &touching(), &["--yes"]).ended_with(4);
        assert!(!room.has("made"), "{hooks}");
    }
    // Of a plugin that is not installed there is nothing to load, in Claude Code neither.
    let room = room();
    room.write("../home/.claude/settings.json", enabled.to_string());
    play(&room, &touching(), &["--yes"])
        .ended_with(0)
        .complained("enabled and not installed");
    assert!(room.has("made"));
    room.run(["hooks", "check"])
        .ended_with(0)
        .said("enabled and not installed");
    // A project enables none, and that is said.
    let room = crate::room();
    with_plugin(&room, &json!({"name": "p", "hooks": refuses}));
    room.write(".claude/settings.json", enabled.to_string());
    play(&room, &touching(), &["--yes"])
        .ended_with(0)
        .complained("a project enables no plugins here");
    room.write("../home/.claude/settings.json", enabled.to_string());
    let run = play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!run.stderr.contains("a project enables"), "{run:#?}");
}

#[test]
fn options_of_plugins_reach_their_hooks() {
    let options = json!({
        "name": "p",
        "userConfig": {
            "level": {"type": "string", "default": "loose"},
            "api-key": {"type": "string", "sensitive": true},
        },
    });
    let settings_of = |level: Option<&str>| {
        let options = level.map_or(json!({}), |level| json!({"level": level}));
        json!({"enabledPlugins": {"p@m": true}, "pluginConfigs": {"p@m": {"options": options}}})
    };
    let by_variable = command("[ \"$CLAUDE_PLUGIN_OPTION_LEVEL\" = strict ] && exit 2; exit 0");
    let words = json!([
        "-c",
        "test \"$1\" != strict || exit 2",
        "x",
        "${user_config.level}"
    ]);
    let by_word = json!({"type": "command", "command": "sh", "args": words});
    for hook in [&by_variable, &by_word] {
        for (level, refuses) in [(Some("strict"), true), (None, false)] {
            let room = room();
            with_plugin(&room, &options);
            let hooks = settings(&[("PreToolUse", hook.clone())]);
            room.write("../home/plugin/hooks/hooks.json", hooks.to_string());
            room.write("../home/.claude/settings.json", settings_of(level).to_string());
            let run = play(&room, &touching(), &["--yes"]).ended_with(0);
            assert_eq!(!room.has("made"), refuses, "{hook} {level:?}: {run:#?}");
        }
    }
    // What cannot be put in refuses.
    let exec = |word: &str| json!({"type": "command", "command": "sh", "args": ["-c", "true", word]});
    for (hook, words) in [
        (
            command("test \"${user_config.level}\" = x; exit 0"),
            "CLAUDE_PLUGIN_OPTION_NAME",
        ),
        (exec("${user_config.api-key}"), "option `api-key`"),
        (exec("${user_config.levle}"), "option `levle`"),
        (
            command("test \"$CLAUDE_PLUGIN_OPTION_API_KEY\"; exit 0"),
            "option `api-key`",
        ),
    ] {
        let room = room();
        with_plugin(&room, &options);
        let hooks = settings(&[("PreToolUse", hook.clone())]);
        room.write("../home/plugin/hooks/hooks.json", hooks.to_string());
        room.write("../home/.claude/settings.json", settings_of(None).to_string());
        play(&room, &touching(), &["--yes"])
            .ended_with(0)
            .complained(words);
        assert!(!room.has("made"), "{hook}");
    }
    // A hook of settings has no plugin.
    for hook in [
        command("true \"$CLAUDE_PLUGIN_ROOT\"/x"),
        exec("${CLAUDE_PLUGIN_ROOT}/x"),
        exec("${user_config.level}"),
    ] {
        let room = with_hooks(&[("PreToolUse", hook.clone())]);
        play(&room, &touching(), &["--yes"]).ended_with(0);
        assert!(!room.has("made"), "{hook}");
    }
}

#[test]
fn hooks_in_the_background_are_not_waited_for_and_wake_the_model() {
    let mut slow = command("sleep 60");
    slow["async"] = true.into();
    let mut wakes = command("cat > /dev/null; echo the build broke >&2; touch ../woke; exit 2");
    wakes["asyncRewake"] = true.into();
    let room = with_hooks(&[("PreToolUse", slow), ("PostToolUse", wakes)]);
    let turns = json!([
        shell("true"),
        shell("while [ ! -e ../woke ]; do sleep 0.05; done; sleep 1"),
        says("done", &["the build broke"])
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
}

#[test]
fn a_prompt_asks_a_model() {
    for (answer, runs, word) in [
        ("{\"ok\": true}", true, ""),
        ("{\"ok\": false, \"reason\": \"not safe\"}", false, "not safe"),
        // Prompts ask for these words, too.
        ("{\"decision\": \"approve\", \"reason\": \"\"}", true, ""),
        (
            "{\"decision\": \"block\", \"reason\": \"not safe\"}",
            false,
            "not safe",
        ),
        ("{\"decision\": \"maybe\"}", false, "no judgement"),
        ("yes", false, "no judgement"),
    ] {
        let room = room();
        let judge = room.write(
            "../judge.json",
            json!([says(answer, &["Is it safe?", "touch made"])]).to_string(),
        );
        let hook = json!({
            "type": "prompt", "prompt": "Is it safe? $ARGUMENTS", "model": format!("scripted/{}", judge.display()),
        });
        room.write(
            ".claude/settings.json",
            settings(&[("PreToolUse", hook)]).to_string(),
        );
        let run = play(&room, &touching(), &["--yes"]);
        assert_eq!(room.has("made"), runs, "{answer}: {run:#?}");
        assert!(run.stdout.contains(word), "{answer}: {run:#?}");
    }
}

/// A room whose guard is an agent with a scripted model.
fn with_agent(turns: &Value, more: &[(&str, Value)]) -> Room {
    let room = room();
    room.write("a.txt", "words of a file");
    let judge = room.write("../judge.json", turns.to_string());
    let hook = json!({
        "type": "agent", "prompt": "Is it safe? $ARGUMENTS", "model": format!("scripted/{}", judge.display()),
    });
    let mut hooks = vec![("PreToolUse", hook)];
    hooks.extend_from_slice(more);
    room.write(".claude/settings.json", settings(&hooks).to_string());
    room
}

#[test]
fn an_agent_looks_at_files_before_it_answers() {
    let reads = json!({"expect": ["Is it safe?", "touch made"], "tool_calls": [
        {"id": "look-1", "name": "read", "arguments": {"path": "a.txt"}},
        {"id": "look-2", "name": "grep", "arguments": {"pattern": "words"}},
    ]});
    let answer = |arguments: Value| {
        json!({"expect": ["words of a file", "a.txt:1"], "tool_calls": [
            {"id": "look-3", "name": "answer", "arguments": arguments},
        ]})
    };
    for (last, runs, word) in [
        (says("{\"ok\": true}", &["words of a file"]), true, ""),
        (answer(json!({"ok": true})), true, ""),
        (
            answer(json!({"ok": false, "reason": "it is a trap"})),
            false,
            "it is a trap",
        ),
        (answer(json!({"fine": true})), false, "no judgement"),
        (says("it looks good", &[]), false, "no judgement"),
    ] {
        let room = with_agent(&json!([reads, last]), &[]);
        let run = play(&room, &touching(), &["--yes"]);
        assert_eq!(room.has("made"), runs, "{last}: {run:#?}");
        assert!(run.stdout.contains(word), "{last}: {run:#?}");
    }
}

#[test]
fn an_agent_of_a_hook_only_reads_and_only_what_others_allow() {
    let call =
        |id: &str, name: &str, arguments: Value| json!({"id": id, "name": name, "arguments": arguments});
    let turns = json!([
        {"tool_calls": [
            call("look-1", "write", json!({"path": "written", "content": "x"})),
            call("look-2", "shell", json!({"command": "touch written"})),
            call("look-3", "read", json!({"path": "secret.txt"})),
            call("look-4", "read", json!({"path": "../outside.txt"})),
            call("look-5", "read", json!({"path": "ruled.txt"})),
            call("look-6", "read", json!({"path": "a.txt"})),
        ]},
        {"text": "{\"ok\": true}", "expect": [
            "there is no tool write", "there is no tool shell", "not for you", "there is no terminal to ask at",
            "the rule `read:path=*ruled.txt` denies it", "words of a file",
        ]},
    ]);
    let guard = noting(
        "PreToolUse",
        "case $IN in *secret.txt*) echo 'not for you' >&2; exit 2;; esac",
    );
    let room = with_agent(&turns, &[("PreToolUse", guard)]);
    room.write("secret.txt", "first secret");
    room.write("../outside.txt", "second secret");
    room.write("ruled.txt", "third secret");
    room.config("[permissions]\ndeny = [\"read:path=*ruled.txt\"]\n");
    let run = play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(room.has("made") && !room.has("written"), "{run:#?}");
    // The guard that is a program has judged the calls of the agent, too; the agent has not judged its own. The two
    // start together, so either may be first.
    let mut judged: Vec<String> = heard(&room, "PreToolUse")
        .into_iter()
        .map(|read| read["tool_name"].as_str().unwrap_or_default().to_owned())
        .collect();
    judged.sort_unstable();
    assert_eq!(judged, ["Bash", "Read", "Read", "Read", "Read"], "{run:#?}");
}

#[test]
fn an_agent_that_comes_to_no_end_refuses() {
    let again = json!({"tool_calls": [{"id": "look", "name": "list", "arguments": {}}]});
    for (turns, word) in [
        (vec![again.clone(); 30], "no answer within 25 requests"),
        (vec![again], "no more turns"),
    ] {
        let room = with_agent(&json!(turns), &[]);
        let run = play(&room, &touching(), &["--yes"]).ended_with(0);
        assert!(!room.has("made"), "{run:#?}");
        assert!(run.stdout.contains(word), "{run:#?}");
    }
}

#[test]
fn an_agent_with_a_silent_model_refuses_in_time_and_gets_tools_that_read() {
    let look = OpenAiStream::new("m").tool_call(0, "look-1", "read", &["{\"path\": \"a.txt\"}"]);
    let server = ModelServer::start([
        Response::events(look.finish("tool_calls").done()),
        Response::events("").ending(Ending::Hang),
    ]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OPENAI_BASE_URL", &server.url());
    room.write("a.txt", "words of a file");
    let hook = json!({"type": "agent", "prompt": "Is it safe?", "model": "openai/m", "timeout": 5});
    room.write(
        ".claude/settings.json",
        settings(&[("PreToolUse", hook)]).to_string(),
    );
    let run = play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!room.has("made"), "{run:#?}");
    assert!(run.stdout.contains("did not answer within 5 s"), "{run:#?}");
    let requests = server.requests();
    let tools = requests[0].json()["tools"].clone();
    let tools = tools.as_array().expect("a list").iter();
    let names: Vec<&str> = tools
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    assert_eq!(names, ["read", "list", "find", "grep", "answer"]);
    assert!(requests[1].text().contains("words of a file"), "{requests:#?}");
    assert!(
        requests
            .iter()
            .all(|request| !request.text().contains("sk-0123456789"))
    );
}

/// A hook that calls a tool of the server `one`, which says a text again.
fn server_tool(text: &str) -> Value {
    json!({"type": "mcp_tool", "server": "one", "tool": "echo", "input": {"text": text}})
}

#[test]
fn a_tool_of_a_server_answers_for_a_hook() {
    let deny = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "no ${tool_input.command} as ${tool_name}",
    }});
    for (text, runs, word) in [
        ("", true, ""),
        ("just words", true, ""),
        (&*deny.to_string(), false, "no touch made as Bash"),
        ("{\"hookSpecificOutput\": {}}", false, "hookEventName"),
    ] {
        let Some(room) = with_server("well", "") else {
            return;
        };
        let hooks = settings(&[
            ("PreToolUse", server_tool(text)),
            ("UserPromptSubmit", server_tool("a hint about ${prompt}")),
        ]);
        room.write(".claude/settings.json", hooks.to_string());
        let turns = json!([
            {"expect": ["a hint about go"], "tool_calls": [
                {"id": "call-1", "name": "shell", "arguments": {"command": "touch made"}},
            ]},
            {"text": "done"},
        ]);
        let run = play(&room, &turns, &["--yes"]).ended_with(0);
        assert_eq!(room.has("made"), runs, "{text}: {run:#?}");
        assert!(run.stdout.contains(word), "{text}: {run:#?}");
        // The hook's own call is none of the model's: no hook hears of it, and nobody is asked.
        let calls = run.events_named("tool_start");
        assert_eq!(calls.len(), 1, "{calls:#?}");
    }
}

#[test]
fn a_guard_whose_server_fails_refuses_and_others_are_reported() {
    for (mode, server, tool, word) in [
        ("fails", "one", "echo", "it did not work"),
        ("error-in-call", "one", "echo", "the text is missing"),
        ("dies-in-call", "one", "echo", "the disk is on fire"),
        ("exits", "one", "echo", "no licence found"),
        ("waits", "one", "echo", "no answer within 1"),
        ("well", "one", "nothing", "has no tool nothing"),
        ("well", "two", "echo", "no MCP server `two`"),
    ] {
        let Some(room) = with_server(mode, "") else {
            return;
        };
        let timeout = if mode == "waits" { 1 } else { 60 };
        let hook = json!({"type": "mcp_tool", "server": server, "tool": tool, "timeout": timeout});
        let hooks = settings(&[("PreToolUse", hook.clone()), ("SessionStart", hook)]);
        room.write(".claude/settings.json", hooks.to_string());
        let run = play(&room, &touching(), &["--yes"]).ended_with(0);
        assert!(!room.has("made"), "{mode}: {run:#?}");
        for event in ["PreToolUse", "SessionStart"] {
            let is_told = |line: &str| line.contains(event) && line.contains(word);
            assert!(run.stdout.lines().any(is_told), "{mode} {event}: {run:#?}");
        }
    }
}

/// A room in which hooks of the user and of the project call the server `one`, and the prompt of a run in it.
fn with_own_server(place: &str, servers: Value) -> Option<Room> {
    let room = needs("python3").then(room)?;
    room.write(place, servers.to_string());
    let deny = json!({"decision": "block", "reason": "no ${tool_name}"}).to_string();
    let hooks = settings(&[("PreToolUse", server_tool(&deny))]);
    room.write("../home/.claude/settings.json", hooks.to_string());
    Some(room)
}

#[test]
fn a_server_of_claude_codes_own_files_answers_for_a_hook() {
    for (place, trusts) in [("../home/.claude.json", false), (".mcp.json", true)] {
        let Some(room) = with_own_server(place, json!({"mcpServers": {"one": declared_server("well")}}))
        else {
            return;
        };
        let model = room.model(&json!([shell("touch made"), says("done", &["no Bash"])]));
        let mut arguments = vec!["--yes", "--json", "--model", &model, "go"];
        if trusts {
            // The project's server would guard, so that nothing runs before it is trusted.
            room.run(&arguments).ended_with(4).complained("one");
            arguments.push("--trust");
        }
        let run = room.run(&arguments).ended_with(0);
        assert!(!room.has("made"), "{place}: {run:#?}");
        let offered = run.events_named("tools_offered");
        assert!(
            !json!(offered).to_string().contains("one_echo"),
            "{place}: {offered:#?}"
        );
    }
}

#[test]
fn a_server_that_cannot_answer_for_a_guard_refuses() {
    let missing = json!({"command": "python3", "args": ["${NO_SUCH_VARIABLE}"]});
    for (server, word) in [
        (json!({"args": []}), "neither `command` nor `url`"),
        (missing, "NO_SUCH_VARIABLE is not set"),
        (json!({"command": "./no-such-program"}), "no-such-program"),
        (json!(7), "invalid type"),
    ] {
        let Some(room) = with_own_server("../home/.claude.json", json!({"mcpServers": {"one": server}}))
        else {
            return;
        };
        let model = room.model(&touching());
        let run = room
            .run(["--yes", "--json", "--model", &model, "go"])
            .ended_with(0);
        assert!(!room.has("made"), "{word}: {run:#?}");
        assert!(run.stdout.contains(word), "{word}: {run:#?}");
    }
}

#[test]
fn a_project_does_not_replace_a_server_of_the_user() {
    let Some(room) = with_own_server(
        "../home/.claude.json",
        json!({"mcpServers": {"one": declared_server("well")}}),
    ) else {
        return;
    };
    let other = json!({"mcpServers": {"one": {"command": "touch", "args": ["taken"]}}});
    room.write(".mcp.json", other.to_string());
    let model = room.model(&json!([shell("touch made"), says("done", &["no Bash"])]));
    room.run(["--trust", "--yes", "--model", &model, "go"])
        .ended_with(0);
    assert!(!room.has("made") && !room.has("taken"));
}

#[test]
fn a_projects_call_of_a_server_needs_trust() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    room.write(
        ".claude/settings.json",
        settings(&[("PreToolUse", server_tool(""))]).to_string(),
    );
    room.run(["--model", &room.model(&touching()), "--yes", "go"])
        .ended_with(4)
        .complained("PreToolUse 1");
    assert!(!room.has("made"));
}

#[test]
fn programs_with_arguments_get_no_shell() {
    let hook = json!({
        "type": "command", "command": "${CLAUDE_PROJECT_DIR}/guard.sh", "args": ["$HOME", "${CLAUDE_PROJECT_DIR}"],
    });
    let room = with_hooks(&[("PreToolUse", hook)]);
    room.script("guard.sh", "#!/bin/sh\necho \"$1 $2\" >&2\nexit 2\n");
    let run = play(&room, &touching(), &["--yes"]).ended_with(0);
    let root = room.work().canonicalize().unwrap().display().to_string();
    assert!(run.stdout.contains(&format!("$HOME {root}")), "{run:#?}");
}

/// How long a tool ran is told without the time that its guards took.
#[test]
fn the_time_of_a_call_is_that_of_the_tool() {
    let room = with_hooks(&[
        ("PreToolUse", command("sleep 1")),
        ("PostToolUse", noting("PostToolUse", "")),
    ]);
    play(&room, &json!([shell("sleep 0.2"), says("done", &[])]), &["--yes"]).ended_with(0);
    let time = told(&room, "PostToolUse")[0]["duration_ms"]
        .as_u64()
        .expect("a number");
    // A machine under load may let the tool wait, but hardly as long as the guard slept.
    assert!((200..1000).contains(&time), "{time}");
}

/// What becket's tools know about their results stands where Claude Code's tools tell it.
#[test]
fn results_tell_what_the_tools_know() {
    let room = with_hook("PostToolUse", "");
    room.write("five.txt", "1\n2\n3\n4\n5\n");
    let turns = json!([
        call("write", &json!({"path": "new.txt", "content": "x"})),
        call("write", &json!({"path": "new.txt", "content": "y"})),
        call("read", &json!({"path": "five.txt", "offset": 2, "limit": 3})),
        call("find", &json!({"pattern": "*.txt"})),
        {"text": "done"},
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let told = told(&room, "PostToolUse");
    let of = |at: usize, pointer: &str| told[at]["tool_response"].pointer(pointer).cloned();
    assert_eq!(of(0, "/type"), Some(json!("create")));
    assert_eq!(of(1, "/type"), Some(json!("update")));
    let file: Vec<_> = ["startLine", "numLines", "totalLines"]
        .map(|name| of(2, &format!("/file/{name}")))
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(file, [json!(2), json!(3), json!(5)]);
    assert_eq!(of(3, "/numFiles"), Some(json!(3)));
    assert_eq!(of(3, "/truncated"), Some(json!(false)));
}

/// A transcript has the names that the hooks have heard, also of tools that are no operation.
#[test]
fn the_transcript_names_tools_as_hooks_know_them() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    let keep = noting(
        "Stop",
        "cp \"$(printf '%s' \"$IN\" | jq -r .transcript_path)\" ../transcript.jsonl",
    );
    room.write(".claude/settings.json", settings(&[("Stop", keep)]).to_string());
    let turns = json!([
        call("update_todos", &json!({"content": "- [x] sail"})),
        call("one_echo", &json!({"text": "hi"})),
        {"text": "done"},
    ]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let transcript = room.read("../transcript.jsonl");
    let lines = transcript
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let used: Vec<Value> = lines
        .map(|line| line["message"]["content"][0].clone())
        .filter(|block| block["type"] == "tool_use")
        .collect();
    let names: Vec<&str> = used.iter().filter_map(|block| block["name"].as_str()).collect();
    assert_eq!(names, ["TodoWrite", "mcp__one__echo"], "{used:#?}");
    assert_eq!(used[0]["input"]["todos"][0]["status"], "completed");
}

#[test]
fn the_transcript_is_complete_when_a_hook_reads_it() {
    if !needs("jq") {
        return;
    }
    let last = "cat \"$(printf '%s' \"$IN\" | jq -r .transcript_path)\" > ../transcript.jsonl";
    let room = with_hooks(&[
        ("Stop", noting("Stop", last)),
        ("PreToolUse", noting("PreToolUse", last)),
    ]);
    play(
        &room,
        &json!([shell("echo out"), says("the end", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    let lines: Vec<Value> = room
        .read("../transcript.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let roles: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let content = |at: usize| &lines[at]["message"]["content"];
    assert_eq!(content(0), "go");
    assert_eq!(content(1)[0]["name"], "Bash");
    assert_eq!(content(1)[0]["input"], json!({"command": "echo out"}));
    assert_eq!(
        (&content(2)[0]["tool_use_id"], &content(2)[0]["content"]),
        (&json!("call-1"), &json!("out\n"))
    );
    assert_eq!(content(3)[0], json!({"type": "text", "text": "the end"}));
    assert!(
        room.read("../transcript.jsonl")
            .contains("\"role\":\"assistant\"")
    );
}

#[test]
fn trusted_scripts_run_from_their_copy_and_variables_lead_to_the_project() {
    let room = with_hooks(&[(
        "PreToolUse",
        command("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh"),
    )]);
    room.script(
        ".claude/hooks/guard.sh",
        "#!/bin/sh\necho \"$0 in $CLAUDE_PROJECT_DIR says no\" >&2\nexit 2\n",
    );
    let model = room.model(&touching());
    let run = room.run(["--yes", "--model", &model, "go"]).ended_with(4);
    assert!(run.stderr.contains(".claude/settings.json"), "{run:#?}");
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    let run = room
        .run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(0);
    let root = room.work().canonicalize().unwrap().display().to_string();
    assert!(run.stdout.contains(&format!("in {root} says no")), "{run:#?}");
    assert!(
        !run.stdout.contains(&format!("{root}/.claude/hooks/guard.sh in")),
        "{run:#?}"
    );
    // Other bytes are another script.
    room.script(".claude/hooks/guard.sh", "#!/bin/sh\nexit 0\n");
    room.run(["--yes", "--model", &model, "go"]).ended_with(4);
    assert!(!room.has("made"));
}

#[test]
fn people_see_the_hooks_in_every_tool() {
    let room = with_hooks(&[("PreToolUse", command("echo no >&2; exit 2"))]);
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    room.run(["hooks", "list"])
        .ended_with(0)
        .said("PreToolUse 1 (claude-code)");
    room.run(["hooks", "check"])
        .ended_with(0)
        .said("1 hook in 1 file");
    room.run(["doctor"]).said("hook PreToolUse 1 of Claude Code");
    let events = room
        .run(["hooks", "events", "--dialect", "claude-code"])
        .ended_with(0);
    assert!(
        events.stdout.contains("PreToolUse") && events.stdout.contains("pre_tool"),
        "{events:#?}"
    );
    let fired = room.run([
        "hooks",
        "fire",
        "pre_tool",
        "--set",
        "tool_name=shell",
        "--set",
        "operation=shell",
        "--set",
        "arguments.command=ls",
    ]);
    assert!(fired.stdout.contains("\"tool_name\":\"Bash\""), "{fired:#?}");
    // A flat entry is Claude Code's commonest silent mistake.
    room.write(
        ".claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"type": "command", "command": "true"}]}}"#,
    );
    room.run(["hooks", "check"])
        .ended_with(1)
        .said("stands in the list `hooks`");
}

#[test]
fn the_model_may_get_claude_codes_tools() {
    let room = room();
    room.write("a.txt", "one two one");
    let turns = json!([
        call("Read", &json!({"file_path": "a.txt"})),
        call("Edit", &json!({"file_path": "a.txt", "old_string": "one", "new_string": "1", "replace_all": true})),
        call("Bash", &json!({"command": "cat a.txt > b.txt", "description": "copy"})),
        {"text": "done"},
    ]);
    let model = room.model(&turns);
    room.run(["--yes", "--tools", "claude-code", "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(room.read("b.txt"), "1 two 1");
}

#[test]
fn hooks_of_a_subfolder_find_their_files_there() {
    let room = room();
    room.write(".git/HEAD", "ref: refs/heads/main\n");
    let guard = command("\"$CLAUDE_PROJECT_DIR\"/.claude/guard.sh");
    room.write(
        "sub/.claude/settings.json",
        settings(&[("PreToolUse", guard)]).to_string(),
    );
    room.script(
        "sub/.claude/guard.sh",
        "#!/bin/sh\necho \"$CLAUDE_PROJECT_DIR\" > ../seen\n",
    );
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    let mut run = room.command(["--trust", "--yes", "--model", &model, "go"]);
    let ended = run
        .current_dir(room.work().join("sub"))
        .output()
        .expect("it runs");
    assert!(ended.status.success() && room.has("sub/made"), "{ended:?}");
    assert!(room.read("seen").trim().ends_with("/sub"));
}

#[test]
fn the_same_command_for_other_tools_has_the_longer_of_their_times() {
    let entry = |matcher: &str, timeout: u32| json!({"matcher": matcher, "hooks": [{"type": "command", "command": "sleep 1.5", "timeout": timeout}]});
    let room = with_settings(&json!({"hooks": {"PreToolUse": [entry("Read", 1), entry("Bash", 60)]}}));
    play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(room.has("made"));
}

#[test]
fn a_script_that_a_hook_names_by_a_variable_is_looked_for() {
    let exec = json!({"type": "command", "command": "bash", "args": ["${CLAUDE_PROJECT_DIR}/.claude/ok.sh"]});
    for (hook, is_right) in [
        (command("$CLAUDE_PROJECT_DIR/.claude/nope.sh"), false),
        (command("\"$CLAUDE_PROJECT_DIR\"/.claude/nope.sh"), false),
        (command("\"${CLAUDE_PROJECT_DIR}/.claude/nope.sh\" --fast"), false),
        (command("bash \"$CLAUDE_PROJECT_DIR/.claude/nope.sh\""), false),
        (command("$CLAUDE_PROJECT_DIR/.claude/ok.sh"), true),
        (command("bash \"$CLAUDE_PROJECT_DIR/.claude/ok.sh\""), true),
        (exec, true),
    ] {
        let room = with_hooks(&[("PreToolUse", hook.clone())]);
        room.script(".claude/ok.sh", "#!/bin/sh\nexit 0\n");
        for words in [
            &["hooks", "check"][..],
            &["hooks", "check", ".claude/settings.json"],
        ] {
            let run = room.run(words);
            assert_eq!(run.code, i32::from(!is_right), "{hook}: {run:#?}");
            assert_eq!(run.stdout.contains("nope.sh"), !is_right, "{hook}: {run:#?}");
        }
    }
}

#[test]
fn several_hooks_extend_the_same_variable() {
    let adds = |folder: &str, wait: &str| {
        let line = format!("export PATH=\"$PWD/{folder}:$PATH\"");
        command(&format!(
            "{wait}; printf '%s\\n' '{line}' 'export LAST={folder}' >> \"$CLAUDE_ENV_FILE\""
        ))
    };
    // The first one ends last, and its variables count first all the same.
    let hooks = [
        ("SessionStart", adds("one", "sleep 0.5")),
        ("SessionStart", command("true")),
        ("SessionStart", adds("two", "true")),
        ("SessionStart", command("echo 'if then' >> \"$CLAUDE_ENV_FILE\"")),
        ("SessionStart", adds("three", "true")),
        ("Setup", adds("zero", "true")),
    ];
    let room = with_hooks(&hooks);
    for folder in ["zero", "one", "two", "three"] {
        room.script(
            &format!("{folder}/in-{folder}"),
            "#!/bin/sh\nprintf '%s ' \"${0##*/}\"\n",
        );
    }
    let all = "in-zero > made; in-one >> made; in-two >> made; in-three >> made; echo $LAST >> made";
    let turns = json!([shell(all), says("done", &[])]);
    play(&room, &turns, &["--yes", "--init"]).ended_with(0);
    assert_eq!(room.read("made"), "in-zero in-one in-two in-three three\n");
}

#[test]
fn what_hooks_add_to_a_prompt_stays_in_the_conversation() {
    let hook = noting(
        "UserPromptSubmit",
        "case \"$IN\" in *\"first words\"*) echo the branch is main;; esac",
    );
    let room = with_hooks(&[("UserPromptSubmit", hook)]);
    let model = room.model(&json!([
        says("one", &["first words", "the branch is main"]),
        says("two", &["first words", "the branch is main", "second words"]),
    ]));
    let run = room.run_with_input(
        ["--trust", "--model", &model, "chat"],
        "first words\nsecond words\n",
    );
    assert!(run.ended_with(0).stdout.contains("two"));
    let model = room.model(&json!([says("three", &["the branch is main", "third words"])]));
    room.run(["--trust", "--model", &model, "third words"])
        .ended_with(0)
        .said("three");
}

#[test]
fn a_prompt_without_a_model_asks_that_of_the_session() {
    let room = with_hooks(&[(
        "PreToolUse",
        json!({"type": "prompt", "prompt": "Is it safe? $ARGUMENTS"}),
    )]);
    let refuses = says(
        "{\"ok\": false, \"reason\": \"not on my watch\"}",
        &["Is it safe?"],
    );
    let run = play(
        &room,
        &json!([shell("touch made"), refuses, says("done", &[])]),
        &["--yes"],
    );
    assert!(
        !room.has("made") && run.stdout.contains("not on my watch"),
        "{run:#?}"
    );
    let room = with_hooks(&[(
        "PreToolUse",
        json!({"type": "prompt", "prompt": "Is it safe? $ARGUMENTS"}),
    )]);
    let allows = says("{\"ok\": true}", &["Is it safe?"]);
    play(
        &room,
        &json!([shell("touch made"), allows, says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert!(room.has("made"));
}

#[test]
fn the_error_at_the_end_of_a_traceback_is_shown() {
    if !needs("python3") {
        return;
    }
    let room = with_hooks(&[("PreToolUse", command("python3 -c 'import nowhere_to_be_found'"))]);
    let run = play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(room.has("made"), "{run:#?}");
    assert!(
        run.stderr.contains("exit code 1: ModuleNotFoundError"),
        "{run:#?}"
    );
}

#[test]
fn a_refusal_names_the_plugin() {
    let room = room();
    let hooks = settings(&[("PreToolUse", command("echo not this >&2; exit 2"))]);
    let file = room.write("../home/cache/safety/1.0.0/hooks/hooks.json", hooks.to_string());
    let root = file.parent().unwrap().parent().unwrap().display().to_string();
    room.write(
        "../home/cache/safety/1.0.0/.claude-plugin/plugin.json",
        json!({"name": "safety-net"}).to_string(),
    );
    let installed =
        json!({"version": 2, "plugins": {"safety-net@m": [{"scope": "user", "installPath": root}]}});
    room.write(
        "../home/.claude/plugins/installed_plugins.json",
        installed.to_string(),
    );
    room.write(
        "../home/.claude/settings.json",
        json!({"enabledPlugins": {"safety-net@m": true}}).to_string(),
    );
    let model = room.model(&touching());
    let run = room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    let refused = "not this (hook PreToolUse 1 of the plugin safety-net (claude-code))";
    assert!(run.stderr.contains(refused), "{run:#?}");
}

#[test]
fn hooks_of_a_named_plugin_work_where_the_agent_does() {
    let room = room();
    let hooks = settings(&[(
        "PreToolUse",
        command("pwd > noted; echo \"$CLAUDE_PLUGIN_ROOT\" >> noted"),
    )]);
    let file = room.write("../elsewhere/hooks/hooks.json", hooks.to_string());
    let model = room.model(&touching());
    let file = file.display().to_string();
    let line = ["--yes", "--claude-code-hooks", &file, "--model", &model, "go"];
    room.run(line).ended_with(0);
    let noted = room.read("noted");
    let (place, root) = noted.trim().split_once('\n').expect("two lines");
    assert_eq!(place, room.work().canonicalize().unwrap().display().to_string());
    assert!(root.ends_with("elsewhere"), "{noted}");
}

#[test]
fn nobody_is_called_to_a_prompt_that_cannot_come() {
    let room = with_hooks(&[("Notification", noting("Notification", ""))]);
    play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    assert!(!room.has("../Notification.jsonl"));
    let model = room.model(&json!([says("done", &[])]));
    room.run_with_input(["--trust", "--model", &model, "chat"], "hello\n")
        .ended_with(0);
    assert_eq!(told(&room, "Notification")[0]["notification_type"], "idle_prompt");
}

#[test]
fn scripts_that_run_in_one_directory_only_or_not_at_all_are_found() {
    for (line, code, words) in [
        (".claude/runs.sh", 0, "only while the agent works in"),
        ("bash .claude/runs.sh", 0, "only while the agent works in"),
        (
            "cat | python3 .claude/check.py",
            0,
            "only while the agent works in",
        ),
        ("./.claude/stays.sh --fast", 1, "may not be executed"),
        ("cat | node .claude/gone.js", 1, ".claude/gone.js does not exist"),
        ("MODE=1 .claude/nope.sh", 1, "`.claude/nope.sh` is not in"),
        ("\"$CLAUDE_PROJECT_DIR\"/.claude/runs.sh", 0, "no problems found"),
        (
            "cd \"$CLAUDE_PROJECT_DIR\" && .claude/runs.sh",
            0,
            "no problems found",
        ),
    ] {
        let room = with_hooks(&[("PreToolUse", command(line))]);
        room.script(".claude/runs.sh", "#!/bin/sh\nexit 0\n");
        room.write(".claude/stays.sh", "#!/bin/sh\nexit 0\n");
        room.write(".claude/check.py", "pass\n");
        let run = room.run(["--trust", "hooks", "check"]).ended_with(code);
        assert!(run.stdout.contains(words), "{line}: {run:#?}");
        let is_relative = line.starts_with('.') || words.contains("only");
        assert_eq!(
            run.stdout.contains("CLAUDE_PROJECT_DIR\"/.claude"),
            is_relative || code == 1,
            "{line}: {run:#?}"
        );
    }
}

#[test]
fn front_matter_that_is_no_yaml_is_told_of_its_file() {
    let room = with_hooks(&[("Stop", command("true"))]);
    // What is almost YAML is read as Claude Code reads it.
    let almost = "---\nname: a\ndescription: use this: when\nhooks:\n  Stop: []\n---\nWords.\n";
    room.write(".claude/agents/a.md", almost);
    let run = room.run(["--trust", "hooks", "check"]).ended_with(0);
    assert!(!run.stdout.contains(".claude/agents/a.md:"), "{run:#?}");
    let front = "---\nname: a\ntools: [\nhooks:\n  Stop: []\n---\nWords.\n";
    let file = room.write(".claude/agents/a.md", front);
    let run = room.run(["--trust", "hooks", "check"]).ended_with(0);
    assert!(run.stdout.contains(".claude/agents/a.md:5: remark"), "{run:#?}");
    room.run(["hooks", "check", &file.display().to_string()])
        .ended_with(0);
}

#[test]
fn hooks_go_into_the_background_by_their_own_words() {
    let context =
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "late words"}});
    for (first, code) in [
        (r#"{"async": true}"#, 0),
        (r#"{"async": true, "asyncTimeout": 60000}"#, 0),
        (r#"{"async": true}"#, 1),
    ] {
        let waits = "trap 'touch ../said' EXIT; while [ ! -e made ]; do sleep 0.05; done";
        let then = answers(&context);
        let hook = command(&format!("echo '{first}'; {waits}; {then}; exit {code}"));
        let room = with_hooks(&[("PreToolUse", hook)]);
        let turns = json!([
            shell("touch made"),
            shell("while [ ! -e ../said ]; do sleep 0.05; done; sleep 1"),
            says("done", &["late words"])
        ]);
        let run = play(&room, &turns, &["--yes"]).ended_with(0);
        assert_eq!(run.stderr.contains("exit code 1"), code == 1, "{run:#?}");
    }
    // Its own time ends it, and a decision comes too late.
    for (hook, words) in [
        (
            r#"echo '{"async": true, "asyncTimeout": 100}'; exec sleep 600"#,
            "no answer within 100ms",
        ),
        (
            r#"echo '{"async": true}'; echo too dangerous >&2; exit 2"#,
            "too late to stop anything: too dangerous",
        ),
    ] {
        let room = with_hooks(&[("PreToolUse", command(hook))]);
        play(&room, &touching(), &["--yes"])
            .ended_with(0)
            .complained(words);
        assert!(room.has("made"));
    }
    // What holds a decision is waited for, and under `strict` every guard is.
    for (hook, is_strict) in [
        (r#"echo '{"async": false}'; echo no >&2; exit 2"#, false),
        (
            r#"echo '{"async": true, "decision": "block", "reason": "no"}'"#,
            false,
        ),
        (r#"echo '{"async": true}'; echo no >&2; exit 2"#, true),
    ] {
        let room = with_hooks(&[("PreToolUse", command(hook))]);
        if is_strict {
            room.config("[dialects]\nstrict = true\n");
        }
        play(&room, &touching(), &["--yes"]).ended_with(0);
        assert!(!room.has("made"), "{hook}");
    }
}

#[test]
fn a_script_that_its_line_makes_itself_need_not_be_there_before() {
    let made = "printf '#!/bin/sh\\necho no >&2; exit 2\\n' >made.sh; chmod +x made.sh";
    for (line, words) in [
        ("sh ./make.sh && ./made.sh", "no"),
        ("[ -d hooks ] && cd hooks; ./guard.sh", "guarded"),
        ("/opt/none/notify x 2>/dev/null; ./guard.sh", "guarded"),
        ("sh ./none.sh; node ./gone.js", "does not exist"),
        ("true | sh ./make.sh; node ./gone.js", "gone.js does not exist"),
    ] {
        let room = with_hooks(&[("PreToolUse", command(line))]);
        room.script("make.sh", made);
        room.script("guard.sh", "#!/bin/sh\necho guarded >&2; exit 2\n");
        play(&room, &touching(), &["--yes"])
            .ended_with(0)
            .complained(words);
        assert!(!room.has("made"), "{line}");
    }
}

#[test]
fn a_stop_hook_may_speak_of_files_that_are_not_there() {
    let script = "[ -e ../told ] && exit 0; touch ../told; echo 'FileNotFoundError: [Errno 2] No such file' >&2; exit 2";
    let room = with_hooks(&[("Stop", command(script))]);
    let turns = json!([says("one", &[]), says("two", &["FileNotFoundError"])]);
    play(&room, &turns, &[]).ended_with(0).said("two");
}

#[test]
fn a_destroyed_context_leaves_no_transcript() {
    let room = with_hooks(&[("PreToolUse", command("test -s \"$(jq -r .transcript_path)\""))]);
    play(&room, &touching(), &["--yes"]).ended_with(0);
    let files = room.home().join(".local/share/becket/hook-files");
    let count = || std::fs::read_dir(&files).map_or(0, Iterator::count);
    assert!(count() > 0);
    room.run(["--yes", "context", "destroy", &room.context()])
        .ended_with(0);
    assert_eq!(count(), 0);
}

#[test]
fn a_prompt_names_the_conversation() {
    let title = specific("UserPromptSubmit", json!({"sessionTitle": "All about boats"}));
    let room = with_hook("UserPromptSubmit", &title);
    let run = play(&room, &json!([says("done", &[])]), &[]).ended_with(0);
    assert!(!run.stderr.contains("sessionTitle"), "{run:#?}");
    room.run(["sessions"]).ended_with(0).said("All about boats");
}

#[test]
fn all_events_of_a_prompt_have_its_id() {
    let room = with_hooks(&[
        ("UserPromptSubmit", noting("UserPromptSubmit", "")),
        ("PreToolUse", noting("PreToolUse", "")),
        ("Stop", noting("Stop", "")),
    ]);
    let model = room.model(&json!([shell("true"), {"text": "one"}, {"text": "two"}]));
    let arguments = ["--trust", "--yes", "--json", "--model", &model, "chat"];
    room.run_with_input(arguments, "first\nsecond\n").ended_with(0);
    let ids = |event: &str| -> Vec<Value> {
        let read = heard(&room, event).into_iter();
        read.map(|mut read| read["prompt_id"].take()).collect()
    };
    let prompts = ids("UserPromptSubmit");
    assert!(prompts[0].is_string() && prompts[0] != prompts[1], "{prompts:?}");
    assert_eq!(ids("PreToolUse"), prompts[..1]);
    assert_eq!(ids("Stop"), prompts);
}

#[test]
fn the_end_of_a_chat_is_told() {
    let room = with_hook("SessionEnd", "");
    let model = room.model(&json!([{"text": "done"}]));
    let arguments = ["--trust", "--json", "--model", &model, "chat"];
    room.run_with_input(arguments, "go\n").ended_with(0);
    assert_eq!(
        told(&room, "SessionEnd"),
        [json!({"reason": "prompt_input_exit"})]
    );
}

#[test]
fn long_texts_are_kept_in_a_file() {
    let long = "yes words | head -c 10001; printf END";
    let room = with_hook("UserPromptSubmit", long);
    let run = play(
        &room,
        &json!([says("done", &["words", "text of 10004 characters"])]),
        &[],
    )
    .ended_with(0);
    let sent = run.events_named("pre_request")[0].to_string();
    assert!(!sent.contains("END"), "{sent}");
    let (_, rest) = sent.split_once("All of it is in ").expect("a path");
    let (path, _) = rest.split_once(']').expect("an end");
    assert!(room.read(path).ends_with("END"));
    // One that is just short enough stays as it is.
    let room = with_hook("UserPromptSubmit", "yes words | head -c 9996; printf END");
    play(&room, &json!([says("done", &["END"])]), &[]).ended_with(0);
}

#[test]
fn a_deferred_call_does_not_run_without_the_user() {
    let room = with_hook(
        "PreToolUse",
        &specific("PreToolUse", json!({"permissionDecision": "defer"})),
    );
    play(&room, &touching(), &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn a_missing_script_does_not_hold_the_model() {
    let room = with_hooks(&[("Stop", command("python3 ./gone.py"))]);
    let run = play(&room, &json!([{"text": "done"}]), &[]).ended_with(0);
    assert!(run.stderr.contains("gone.py"), "{run:#?}");
}
