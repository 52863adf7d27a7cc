//! Codex's hooks, with real shell commands, in `hooks.json`, `config.toml` and plugins: what a hook reads at each
//! event, and what its answer does.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use testkit::{Finished, Room, Signal};

use crate::hook_files::{answers, call, heard, members, noting, says, shell};
use crate::mcp::{declared_server, wait_until, with_server};
use crate::room;

/// A command that answers with members of its own event.
fn specific(event: &str, mut members: Value) -> String {
    members["hookEventName"] = event.into();
    answers(&json!({"hookSpecificOutput": members}))
}

/// A file with a hook for each event that notes what it reads and then does something.
fn hooks(commands: &[(&str, &str)]) -> Value {
    let mut hooks = Map::new();
    for (event, then) in commands {
        let hook = json!({"type": "command", "command": noting(event, then), "timeout": 20});
        let groups = hooks.entry(*event).or_insert_with(|| json!([]));
        groups
            .as_array_mut()
            .expect("a list")
            .push(json!({"hooks": [hook]}));
    }
    json!({"hooks": hooks})
}

/// A room whose project has these hooks.
fn with_hooks(commands: &[(&str, &str)]) -> Room {
    let room = room();
    room.write(".codex/hooks.json", hooks(commands).to_string());
    room
}

/// Sends `go` to a model that follows a script, in a trusted project.
fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--trust", "--model", &model];
    room.run(arguments.iter().chain(more).chain(&["go"]))
}

#[test]
fn every_event_of_a_plain_run_is_told() {
    let room = with_hooks(&[
        ("SessionStart", ""),
        ("UserPromptSubmit", ""),
        ("PreToolUse", ""),
        ("PermissionRequest", ""),
        ("PostToolUse", ""),
        ("Stop", ""),
        ("SessionEnd", ""),
    ]);
    let allowed = specific("PermissionRequest", json!({"decision": {"behavior": "allow"}}));
    room.write(
        "../home/.codex/hooks.json",
        hooks(&[("PermissionRequest", &allowed)]).to_string(),
    );
    play(&room, &json!([shell("echo out"), says("done", &[])]), &[]).ended_with(0);
    assert_eq!(members(&room, "SessionStart", "source"), ["startup"]);
    assert_eq!(members(&room, "UserPromptSubmit", "prompt"), ["go"]);
    assert_eq!(heard(&room, "PermissionRequest").len(), 2);
    let before = heard(&room, "PreToolUse").remove(0);
    assert_eq!(before["tool_name"], "Bash");
    assert_eq!(before["tool_input"], json!({"command": "echo out"}));
    assert_eq!(
        (&before["tool_use_id"], &before["permission_mode"]),
        (&json!("call-1"), &json!("default"))
    );
    assert!(
        before["turn_id"].is_string() && before["model"].is_string(),
        "{before}"
    );
    let after = heard(&room, "PostToolUse").remove(0);
    assert!(
        after["tool_response"]
            .as_str()
            .is_some_and(|text| text.contains("out")),
        "{after}"
    );
    let stop = heard(&room, "Stop").remove(0);
    assert_eq!(stop["stop_hook_active"], false);
    assert_eq!(stop["last_assistant_message"], "done");
    let transcript = stop["transcript_path"].as_str().expect("a path").to_owned();
    assert!(std::fs::read_to_string(transcript).is_ok_and(|text| text.contains("\"Bash\"")));
    let end = heard(&room, "SessionEnd").remove(0);
    assert_eq!(end["reason"], "other");
    assert!(end.get("model").is_none(), "{end}");
}

#[test]
fn a_tool_of_a_server_answers_for_a_hook() {
    let deny = json!({"decision": "block", "reason": "no ${tool_input.command}"}).to_string();
    for (server, text, word) in [
        ("one", &*deny, "no touch made"),
        ("two", &*deny, "no MCP server `two`"),
    ] {
        let Some(room) = with_server("well", "") else {
            return;
        };
        let hook = json!({"type": "mcp_tool", "server": server, "tool": "echo", "input": {"text": text}});
        let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
        room.write(".codex/hooks.json", hooks.to_string());
        let turns = json!([shell("touch made"), says("done", &[word])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        assert!(!room.has("made"));
    }
}

#[test]
fn a_server_of_codexs_own_settings_answers_for_a_hook() {
    if !testkit::needs("python3") {
        return;
    }
    let room = room();
    let server = declared_server("well");
    let args = server["args"].to_string();
    let settings = format!("[mcp_servers.one]\ncommand = \"python3\"\nargs = {args}\n");
    room.write("../home/.codex/config.toml", settings);
    let deny = json!({"decision": "block", "reason": "no ${tool_input.command}"}).to_string();
    let hook = json!({"type": "mcp_tool", "server": "one", "tool": "echo", "input": {"text": deny}});
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    room.write(".codex/hooks.json", hooks.to_string());
    let turns = json!([shell("touch made"), says("done", &["no touch made"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn a_call_is_refused() {
    let deny = json!({"permissionDecision": "deny", "permissionDecisionReason": "not with me"});
    for refusal in [
        "echo 'not with me' >&2; exit 2".to_owned(),
        answers(&json!({"decision": "block", "reason": "not with me"})),
        specific("PreToolUse", deny),
    ] {
        let room = with_hooks(&[("PreToolUse", &refusal), ("PostToolUse", "")]);
        let turns = json!([shell("touch made"), says("done", &["not with me"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
        assert!(
            !room.has("made") && heard(&room, "PostToolUse").is_empty(),
            "{refusal}"
        );
    }
}

#[test]
fn a_guard_that_breaks_refuses_and_an_error_code_does_not() {
    let unknown = json!({"decision": "block", "reason": "x", "sessionTitle": "y"});
    for (then, runs) in [
        ("exit 1", true),
        ("kill -9 $$", false),
        ("no-such-program-anywhere", false),
        ("printf '{\"decision\": '", false),
        ("exit 2", false),
        (answers(&unknown).as_str(), false),
        (answers(&json!({"continue": false})).as_str(), false),
    ] {
        let room = with_hooks(&[("PreToolUse", then)]);
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert_eq!(room.has("made"), runs, "{then}");
    }
}

#[test]
fn a_guard_that_hangs_refuses() {
    let room = room();
    let hook = json!({"type": "command", "command": "sleep 60", "timeout": 1});
    let file = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    room.write(".codex/hooks.json", file.to_string());
    play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn a_command_is_rewritten_and_stays_where_it_was() {
    let rewrite = json!({"permissionDecision": "allow", "updatedInput": {"command": "touch other"}});
    let room = with_hooks(&[
        ("PreToolUse", &specific("PreToolUse", rewrite)),
        ("PostToolUse", ""),
    ]);
    room.write("below/x", "");
    let turn = call("shell", &json!({"command": "touch made", "cwd": "below"}));
    play(&room, &json!([turn, says("done", &[])]), &["--yes"]).ended_with(0);
    assert!(room.has("below/other") && !room.has("below/made"));
    assert_eq!(
        members(&room, "PostToolUse", "tool_input"),
        [json!({"command": "touch other"})]
    );
}

#[test]
fn a_rewrite_approves_nothing() {
    let rewrite = json!({"permissionDecision": "allow", "updatedInput": {"command": "touch other"}});
    let room = with_hooks(&[("PreToolUse", &specific("PreToolUse", rewrite))]);
    play(&room, &json!([shell("touch made"), says("done", &[])]), &[]).ended_with(0);
    assert!(
        !room.has("other") && !room.has("made"),
        "nobody was there to say yes"
    );
}

#[test]
fn a_hook_may_want_the_user_to_decide() {
    let ask = json!({"permissionDecision": "ask", "permissionDecisionReason": "look at this"});
    let room = with_hooks(&[("PreToolUse", &specific("PreToolUse", ask))]);
    play(&room, &json!([shell("touch made"), says("done", &[])]), &[]).ended_with(0);
    assert!(!room.has("made"), "nobody was there to say yes");
}

#[test]
fn permission_is_granted_and_refused() {
    for (behavior, runs) in [("allow", true), ("deny", false)] {
        let decision = json!({"decision": {"behavior": behavior, "message": "so be it"}});
        let room = with_hooks(&[("PermissionRequest", &specific("PermissionRequest", decision))]);
        play(&room, &json!([shell("touch made"), says("done", &[])]), &[]).ended_with(0);
        assert_eq!(room.has("made"), runs, "{behavior}");
        assert_eq!(members(&room, "PermissionRequest", "tool_name"), ["Bash"]);
    }
}

#[test]
fn writes_and_edits_are_shown_as_patches_and_rewritten() {
    let patch = "*** Begin Patch\\n*** Add File: b.txt\\n+other\\n*** End Patch";
    let rewrite = format!(
        "printf '%s' '{{\"hookSpecificOutput\": {{\"hookEventName\": \"PreToolUse\", \
         \"permissionDecision\": \"allow\", \"updatedInput\": {{\"command\": \"{patch}\"}}}}}}'"
    );
    let room = room();
    let hook = json!({"type": "command", "command": noting("PreToolUse", &rewrite)});
    let file = json!({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]}});
    room.write(".codex/hooks.json", file.to_string());
    let write = call("write", &json!({"path": "a.txt", "content": "words"}));
    play(&room, &json!([write, says("done", &[])]), &["--yes"]).ended_with(0);
    let read = heard(&room, "PreToolUse").remove(0);
    assert_eq!(read["tool_name"], "apply_patch");
    let shown = "*** Begin Patch\n*** Add File: a.txt\n+words\n*** End Patch";
    assert_eq!(read["tool_input"], json!({"command": shown}));
    assert_eq!((room.has("a.txt"), room.read("b.txt")), (false, "other\n".into()));

    let room = with_hooks(&[("PreToolUse", "")]);
    room.write("a.txt", "one\ntwo\n");
    let edits = json!([{"old_text": "two", "new_text": "2"}]);
    let edit = call("edit", &json!({"path": "a.txt", "edits": edits}));
    play(&room, &json!([edit, says("done", &[])]), &["--yes"]).ended_with(0);
    let shown = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch";
    assert_eq!(
        members(&room, "PreToolUse", "tool_input"),
        [json!({"command": shown})]
    );
    assert_eq!(room.read("a.txt"), "one\n2\n");
}

#[test]
fn a_guard_of_commands_also_guards_what_codex_does_with_commands() {
    let room = room();
    let command = "grep -q 'cat .env' && { echo 'no secrets' >&2; exit 2; }; exit 0";
    let file = json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]},
    ]}});
    room.write(".codex/hooks.json", file.to_string());
    room.write(".env", "KEY=1");
    let read = call("read", &json!({"path": ".env"}));
    play(&room, &json!([read, says("done", &["no secrets"])]), &["--yes"]).ended_with(0);
}

#[test]
fn matchers_choose_tools() {
    for (matcher, runs) in [
        ("Bash", false),
        ("Edit|Write", true),
        ("^Ba", false),
        ("bash", true),
        ("*", false),
    ] {
        let room = room();
        let hook = json!({"type": "command", "command": "echo no >&2; exit 2"});
        let file = json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}});
        room.write(".codex/hooks.json", file.to_string());
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert_eq!(room.has("made"), runs, "{matcher}");
    }
}

#[test]
fn the_model_hears_what_hooks_add() {
    for (event, then) in [
        ("SessionStart", "echo a word for you".to_owned()),
        (
            "SessionStart",
            specific("SessionStart", json!({"additionalContext": "a word for you"})),
        ),
        ("UserPromptSubmit", "echo a word for you".to_owned()),
        (
            "UserPromptSubmit",
            specific("UserPromptSubmit", json!({"additionalContext": "a word for you"})),
        ),
    ] {
        let room = with_hooks(&[(event, &then)]);
        play(&room, &json!([says("done", &["a word for you"])]), &[]).ended_with(0);
    }
    for event in ["PreToolUse", "PostToolUse"] {
        let room = with_hooks(&[(
            event,
            &specific(event, json!({"additionalContext": "a word for you"})),
        )]);
        let turns = json!([shell("echo x"), says("done", &["a word for you"])]);
        play(&room, &turns, &["--yes"]).ended_with(0);
    }
    let room = with_hooks(&[("Stop", &answers(&json!({"systemMessage": "a word for the user"})))]);
    play(&room, &json!([says("done", &[])]), &[])
        .ended_with(0)
        .complained("a word for the user");
}

#[test]
fn a_prompt_is_refused() {
    for refusal in [
        "echo 'not this' >&2; exit 2".to_owned(),
        answers(&json!({"decision": "block", "reason": "not this"})),
        answers(&json!({"continue": false, "stopReason": "not this"})),
    ] {
        let room = with_hooks(&[("UserPromptSubmit", &refusal), ("Stop", "")]);
        let run = play(&room, &json!([says("never", &[])]), &[]).complained("not this");
        assert!(!run.stdout.contains("never"), "{refusal}");
        assert!(heard(&room, "Stop").is_empty(), "{refusal}");
    }
}

#[test]
fn a_result_is_replaced_by_the_reason() {
    for refusal in [
        "echo 'looks odd' >&2; exit 2".to_owned(),
        answers(&json!({"decision": "block", "reason": "looks odd"})),
        answers(&json!({"continue": false, "stopReason": "looks odd"})),
    ] {
        let room = with_hooks(&[("PostToolUse", &refusal)]);
        let turns = json!([shell("echo the-result"), says("done", &["looks odd"])]);
        let run = play(&room, &turns, &["--yes", "--json"]).ended_with(0);
        let request = run.events_named("pre_request").remove(1).to_string();
        // The command itself names the result once.
        assert_eq!(request.matches("the-result").count(), 1, "{refusal}: {request}");
    }
}

#[test]
fn the_model_goes_on_when_a_hook_wants_it() {
    let once = "[ $(wc -l < ../Stop.jsonl) -gt 1 ] || { echo 'one more thing' >&2; exit 2; }";
    let room = with_hooks(&[("Stop", once)]);
    let turns = json!([says("first", &[]), says("second", &["one more thing"])]);
    play(&room, &turns, &[]).ended_with(0).said("second");
    assert_eq!(members(&room, "Stop", "stop_hook_active"), [false, true]);

    let always = answers(&json!({"decision": "block", "reason": "again"}));
    let room = with_hooks(&[("Stop", &always)]);
    let turns: Vec<Value> = (0..12)
        .map(|number| says(&format!("answer {number}"), &[]))
        .collect();
    play(&room, &json!(turns), &[]).ended_with(0);
    assert_eq!(heard(&room, "Stop").len(), 9, "the first and eight more");
}

#[test]
fn summaries_are_told_and_stopped() {
    let stop = answers(&json!({"continue": false, "stopReason": "keep it all"}));
    for (then, happens) in [("", true), (stop.as_str(), false)] {
        let room = with_hooks(&[("PreCompact", then), ("PostCompact", ""), ("SessionStart", "")]);
        for prompt in ["one", "two", "three"] {
            let model = room.model(&json!([says("answer", &[])]));
            room.run(["--trust", "--model", &model, prompt]).ended_with(0);
        }
        let model = room.model(&json!([says("THE SUMMARY", &[])]));
        room.run(["--trust", "--model", &model, "compact"]);
        assert_eq!(members(&room, "PreCompact", "trigger"), ["manual"]);
        assert!(heard(&room, "PreCompact")[0].get("permission_mode").is_none());
        assert_eq!(heard(&room, "PostCompact").len(), usize::from(happens), "{then}");
        let sources = members(&room, "SessionStart", "source");
        assert_eq!(sources.contains(&json!("compact")), happens, "{sources:?}");
    }
}

#[test]
fn sub_agents_are_told_from_beginning_to_end() {
    let room = with_hooks(&[
        ("SubagentStart", "echo a word for the helper"),
        ("SubagentStop", ""),
        ("PreToolUse", ""),
        ("Stop", ""),
    ]);
    room.write(
        "sub.json",
        json!([says("helped", &["a word for the helper"])]).to_string(),
    );
    let task = json!({"system_prompt": "You help.", "input": "the task", "model": "scripted/sub.json"});
    let turns = json!([call("spawn_agent", &task), says("done", &["helped"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    let call = heard(&room, "PreToolUse").remove(0);
    assert_eq!(
        (&call["tool_name"], &call["tool_input"]["message"]),
        (&json!("spawn_agent"), &json!("the task"))
    );
    let start = heard(&room, "SubagentStart").remove(0);
    let stop = heard(&room, "SubagentStop").remove(0);
    assert_eq!(start["agent_id"], stop["agent_id"]);
    assert_eq!(stop["last_assistant_message"], "helped");
    assert!(stop["agent_transcript_path"].is_string(), "{stop}");
    assert_eq!(heard(&room, "Stop").len(), 1, "that of the user's session");
}

#[test]
fn an_interrupted_run_is_told() {
    let room = with_hooks(&[("Interrupt", ""), ("Stop", "")]);
    let model = room.model(&json!([shell("echo x > begun; sleep 300")]));
    let run = room.start(["--trust", "--yes", "--model", &model, "go"]);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !room.has("begun") {
        assert!(Instant::now() < deadline, "the command never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.signal(Signal::INT);
    run.finish().ended_with(130);
    assert_eq!(members(&room, "Interrupt", "hook_event_name"), ["Interrupt"]);
    assert!(heard(&room, "Stop").is_empty());
}

#[test]
fn a_hook_that_stops_after_a_summary_ends_no_later_run() {
    let stops = answers(&json!({"continue": false, "stopReason": "enough for today"}));
    let room = with_hooks(&[("PostCompact", &stops)]);
    let model = room.model(&json!([
        says("one", &[]),
        says("a summary", &[]),
        says("two", &["a summary"])
    ]));
    let run = room.run_with_input(["--trust", "--model", &model, "chat"], "hello\n/compact\nmore\n");
    let run = run.ended_with(0);
    assert!(run.stdout.contains("two"), "{run:#?}");
    assert!(run.stderr.contains("enough for today"), "{run:#?}");
}

#[test]
fn hooks_stand_in_settings_and_plugins_too() {
    let room = room();
    room.write(
        ".codex/config.toml",
        "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\n\
         command = \"echo 'the settings say no' >&2; exit 2\"\n",
    );
    let turns = json!([shell("touch made"), says("done", &["the settings say no"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);

    let room = crate::room();
    room.write(
        "../home/.codex/config.toml",
        "[plugins.\"tool@market\"]\nenabled = true\n",
    );
    let hook = json!({"type": "command", "command": "sh ${PLUGIN_ROOT}/guard.sh"});
    let file = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    let plugin = "../home/.codex/plugins/cache/market/tool/1.0.0";
    room.write(&format!("{plugin}/hooks/hooks.json"), file.to_string());
    room.write(
        &format!("{plugin}/guard.sh"),
        "echo 'the plugin says no' >&2; exit 2",
    );
    let turns = json!([shell("touch made"), says("done", &["the plugin says no"])]);
    play(&room, &turns, &["--yes"]).ended_with(0);
    room.write(
        "../home/.codex/config.toml",
        "[plugins.\"tool@market\"]\nenabled = false\n",
    );
    play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    )
    .ended_with(0);
    assert!(room.has("made"));
}

#[test]
fn the_user_switches_hooks_off() {
    for (name, text) in [
        ("../home/.codex/config.toml", "[features]\nhooks = false\n"),
        (
            "../home/.config/becket/config.toml",
            "[dialects]\ncodex = \"off\"\n",
        ),
    ] {
        let room = with_hooks(&[("PreToolUse", "exit 2")]);
        room.write(name, text);
        play(
            &room,
            &json!([shell("touch made"), says("done", &[])]),
            &["--yes"],
        )
        .ended_with(0);
        assert!(room.has("made"), "{name}");
    }
}

#[test]
fn a_projects_hooks_need_trust() {
    let room = with_hooks(&[("PreToolUse", "exit 2")]);
    let model = room.model(&json!([shell("touch made"), says("done", &[])]));
    let run = room.run(["--yes", "--model", &model, "go"]);
    assert!(run.stderr.contains("trust"), "{run:#?}");
    assert!(!room.has("made") && heard(&room, "PreToolUse").is_empty());
}

#[test]
fn a_users_hook_that_changed_since_it_was_trusted_starts_no_run() {
    let room = room();
    room.write(
        "../home/.codex/hooks.json",
        hooks(&[("PreToolUse", "")]).to_string(),
    );
    let file = room.home().join(".codex/hooks.json");
    room.write(
        "../home/.codex/config.toml",
        format!(
            "[hooks.state.\"{}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:0\"\n",
            file.display()
        ),
    );
    let run = play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    );
    assert!(run.stderr.contains("trusted in Codex"), "{run:#?}");
    assert!(!room.has("made"));
}

#[test]
fn a_file_with_a_mistake_starts_no_run() {
    let room = room();
    let hook = json!({"type": "http", "url": "https://a.example"});
    let file = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    room.write(".codex/hooks.json", file.to_string());
    let run = play(
        &room,
        &json!([shell("touch made"), says("done", &[])]),
        &["--yes"],
    );
    assert!(run.stderr.contains("there is no type `http`"), "{run:#?}");
    assert!(!room.has("made"));
}

#[test]
fn a_file_that_codex_would_not_read_can_be_left_out_by_its_name() {
    let room = room();
    let hook = json!({"type": "command", "command": "true"});
    let hooks = json!({"version": 1, "hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    room.write(".codex/hooks.json", hooks.to_string());
    let turns = json!([says("done", &[])]);
    let run = play(&room, &turns, &[]).ended_with(4).complained("version");
    let name = run.stderr.split("--without ").nth(1).expect("the hint names it");
    let name = name
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_matches('`');
    assert!(name.ends_with(".codex/hooks.json"), "{name}");
    play(&room, &turns, &["--without", name]).ended_with(0);
}

/// Plays one call of `apply_patch` with Codex's tools.
fn patched(room: &Room, patch: &str, answer: &Value, more: &[&str]) -> Finished {
    let turns = json!([call("apply_patch", &json!({"command": patch})), answer]);
    let model = room.model(&turns);
    let words = ["--trust", "--json", "--tools", "codex", "--model", &model, "go"];
    room.run(words.iter().chain(more))
}

const WHOLE: &str = "*** Begin Patch\n*** Add File: new/a.txt\n+first\n+second\n*** Update File: b.txt\n@@\n one\n-two\n\
                     +2\n*** Update File: c.txt\n*** Move to: moved/c.txt\n@@\n-old\n+young\n*** Update File: d.txt\n\
                     *** Move to: e.txt\n*** Delete File: f.txt\n*** End Patch";

/// The user's settings.
const CONFIG: &str = "../home/.config/becket/config.toml";

fn with_files(room: &Room) {
    room.write("b.txt", "one\ntwo\nthree\n");
    room.write("c.txt", "an aged word\nold\n");
    room.write("d.txt", "as it is");
    room.write("f.txt", "gone");
}

#[test]
fn a_patch_makes_changes_moves_and_removes_files() {
    let room = room();
    with_files(&room);
    let done = says(
        "done",
        &[
            "A new/a.txt",
            "M b.txt",
            "A moved/c.txt",
            "D c.txt",
            "A e.txt",
            "D f.txt",
        ],
    );
    patched(&room, WHOLE, &done, &["--yes"]).ended_with(0);
    assert_eq!(room.read("new/a.txt"), "first\nsecond\n");
    assert_eq!(room.read("b.txt"), "one\n2\nthree\n");
    assert_eq!(room.read("moved/c.txt"), "an aged word\nyoung\n");
    assert_eq!(room.read("e.txt"), "as it is");
    for gone in ["c.txt", "d.txt", "f.txt"] {
        assert!(!room.has(gone), "{gone}");
    }
    // One file alone may be made or removed too.
    for (patch, name, is_there) in [
        (
            "*** Begin Patch\n*** Add File: g.txt\n+x\n*** End Patch",
            "g.txt",
            true,
        ),
        (
            "*** Begin Patch\n*** Delete File: g.txt\n*** End Patch",
            "g.txt",
            false,
        ),
    ] {
        patched(&room, patch, &says("done", &[]), &["--yes"]).ended_with(0);
        assert_eq!(room.has(name), is_there, "{patch}");
    }
}

#[test]
fn a_patch_is_judged_file_by_file_before_anything_is_written() {
    let unchanged = |room: &Room| {
        assert!(!room.has("new/a.txt") && !room.has("moved/c.txt") && !room.has("e.txt"));
        assert_eq!(room.read("b.txt"), "one\ntwo\nthree\n");
        assert!(room.has("c.txt") && room.has("d.txt") && room.has("f.txt"));
    };
    // A guard of files, a rule, a guard of Codex's commands, one of another system, one that breaks.
    let guard = "[[hook]]\nevent = \"pre_file_write\"\nmatch = { path = { glob = \"*f.txt\" } }\n\
                 command = \"echo f stays >&2; exit 2\"\n";
    let codex = |matcher: &str, command: &str| {
        let hook = json!({"type": "command", "command": command});
        json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}}).to_string()
    };
    let removes = "grep -q '\"rm f.txt\"' || exit 0; echo no rm >&2; exit 2";
    let last = "grep -q 'Delete File: f.txt' || exit 0; echo not the whole >&2; exit 2";
    let claude = "grep -q 'moved/c.txt' || exit 0; echo not there >&2; exit 2";
    for (file, text, words) in [
        ("guard.toml", guard.to_owned(), "f stays"),
        (
            CONFIG,
            "[permissions]\ndeny = [\"write:path=*f.txt\"]\n".into(),
            "f.txt",
        ),
        (".codex/hooks.json", codex("Bash", removes), "no rm"),
        (".codex/hooks.json", codex("apply_patch", last), "not the whole"),
        (".codex/hooks.json", codex("apply_patch", "kill -9 $$"), "signal"),
        (".claude/settings.json", codex("Write", claude), "not there"),
    ] {
        let room = room();
        with_files(&room);
        room.write(file, text);
        let more: &[&str] = match file {
            "guard.toml" => &["--yes", "--hooks", "guard.toml"],
            _ => &["--yes"],
        };
        let run = patched(&room, WHOLE, &says("done", &[words]), more).ended_with(0);
        assert!(run.stdout.contains(words), "{file} {words}: {run:#?}");
        unchanged(&room);
    }
    // A file that may not be read is not moved to where it could be; and somebody must say yes.
    let deny = "[permissions]\ndeny = [\"read:path=*d.txt\"]\n";
    for (config, more, words) in [(deny, &["--yes"][..], "d.txt"), ("", &[], "it needs approval")] {
        let room = room();
        with_files(&room);
        room.config(config);
        patched(&room, WHOLE, &says("done", &[words]), more).ended_with(0);
        unchanged(&room);
    }
}

#[test]
fn a_file_with_a_version_counts_for_nothing_as_in_codex() {
    let room = room();
    let guard = json!([{"hooks": [{"type": "command", "command": "exit 2"}]}]);
    let file = |event: &str| json!({"version": 1, "hooks": {event: guard}}).to_string();
    room.write(".codex/hooks.json", file("PreToolUse"));
    let turns = json!([shell("touch made"), says("done", &[])]);
    let run = play(&room, &turns, &["--yes"]);
    assert_ne!(run.code, 0, "{run:#?}");
    run.complained("`version` is no key of such a file, so Codex reads nothing of it");
    room.write(".codex/hooks.json", file("PostCompact"));
    let run = play(&room, &turns, &["--yes"]).ended_with(0);
    assert!(
        room.has("made") && run.stderr.contains("`version` is no key"),
        "{run:#?}"
    );
}

#[test]
fn a_program_is_notified_of_every_end_of_a_turn() {
    let room = room();
    let told = room.script(
        "../told.sh",
        "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" \"$2\" > ../told.part\nmv ../told.part ../told\n",
    );
    room.write(
        "../home/.codex/config.toml",
        format!("notify = [{told:?}, \"it is done\"]\n"),
    );
    play(&room, &json!([says("all done", &[])]), &[]).ended_with(0);
    wait_until("the program has written", || room.has("../told"));
    let told = room.read("../told");
    let mut lines = told.lines();
    assert_eq!((lines.next(), lines.next()), (Some("2"), Some("it is done")));
    let told: Value = serde_json::from_str(lines.next().expect("the last argument")).unwrap();
    assert_eq!(told["type"], "agent-turn-complete");
    assert_eq!(told["input-messages"], json!(["go"]));
    assert_eq!(told["last-assistant-message"], "all done");
    assert!(told["thread-id"].is_string() && told["turn-id"].is_string() && told["cwd"].is_string());
}

/// becket ends while the program still waits, and the program goes on.
#[test]
fn a_program_that_is_notified_does_not_hold_the_end_of_a_run_and_outlives_it() {
    let room = room();
    let told = room.script(
        "../told.sh",
        "#!/bin/sh\ntries=0\n\
         while [ ! -e ../ended ] && [ $tries -lt 2400 ]; do sleep 0.05; tries=$((tries + 1)); done\n\
         echo \"$1\" > ../told.part\nmv ../told.part ../told\n",
    );
    room.write("../home/.codex/config.toml", format!("notify = [{told:?}]\n"));
    let run = play(&room, &json!([says("all done", &[])]), &[]).ended_with(0);
    assert!(!room.has("../told"), "{run:#?}");
    room.write("../ended", "");
    wait_until("the program has written", || room.has("../told"));
    assert!(room.read("../told").contains("all done"));
}

#[test]
fn a_program_to_notify_that_is_not_there_is_reported() {
    let room = room();
    room.write(
        "../home/.codex/config.toml",
        "notify = [\"no-such-program-here\"]\n",
    );
    play(&room, &json!([says("all done", &[])]), &[])
        .ended_with(0)
        .complained("no-such-program-here: not found");
}
