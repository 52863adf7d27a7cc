//! Contexts: chosen, listed, renamed, cleared, destroyed; with a system prompt and settings of their own.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room};

use crate::room;

/// The context in which a run with `--json` happened.
fn context_of(run: &Finished) -> String {
    let start = &run.events_named("session_start")[0];
    start["context_name"].as_str().unwrap_or_default().to_string()
}

/// The names of a run's events, as far as they matter here.
fn names(run: &Finished, of: &[&str]) -> Vec<String> {
    let events = run.events().into_iter();
    let names = events.map(|event| event["event"].as_str().unwrap_or_default().to_string());
    names.filter(|name| of.contains(&name.as_str())).collect()
}

fn current(room: &Room) -> String {
    let listed = room.run(["context", "show", "--json"]).ended_with(0).events();
    listed[0]["name"].as_str().unwrap_or_default().to_string()
}

fn listed(room: &Room) -> Vec<String> {
    let contexts = room.run(["contexts", "--json"]).ended_with(0).events();
    let name = |context: &Value| context["name"].as_str().unwrap_or_default().to_string();
    contexts.iter().map(name).collect()
}

/// A model server that answers "yes" often enough, and a room that asks it.
fn room_with_server(answers: usize) -> (Room, ModelServer) {
    let answer = || Response::events(OpenAiStream::new("m").text("yes").finish("stop").done());
    let server = ModelServer::start((0..answers).map(|_| answer()));
    let room = room()
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &server.url());
    (room, server)
}

fn wait_for_file(room: &Room, file: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !room.has(file) {
        assert!(Instant::now() < deadline, "there is no {file}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A file in the folder of a context, from the working directory.
fn context_file(context: &str, file: &str) -> String {
    format!("../home/.local/share/becket/contexts/{context}/{file}")
}

#[test]
fn a_chosen_context_stays_current_and_minus_goes_back() {
    let room = room();
    let run = |arguments: &[&str]| {
        let arguments = arguments.iter().chain(&["--json", "hello"]);
        context_of(&room.run(arguments).ended_with(0))
    };
    let here = room.context();
    assert_eq!(run(&[]), here);
    assert_eq!(run(&["-c", "work"]), "work");
    assert_eq!(run(&[]), "work");
    assert_eq!(run(&["-C", "aside"]), "aside", "for this run");
    assert_eq!(run(&[]), "work");
    assert_eq!(run(&["-c", "-"]), here);
    assert_eq!(run(&["-c", "-"]), "work");
    assert_eq!(run(&["-C", "-"]), here);
    assert_eq!(run(&[]), "work");
    room.run(["contexts"])
        .ended_with(0)
        .said("* work ")
        .said(&format!("  {here} "));
}

#[test]
fn there_is_no_way_back_at_first_and_no_two_ways_at_once() {
    let room = room();
    room.run(["-c", "-", "hello"])
        .ended_with(2)
        .complained("there is no previous context yet");
    room.run(["-c", "a", "-C", "b", "hello"]).ended_with(2);
    room.run(["-C", "a/b", "hello"])
        .ended_with(2)
        .complained("try `a-b`");
    room.run(["-c", "new:", "hello"])
        .ended_with(2)
        .complained("new:review");
    assert!(listed(&room).is_empty());
}

#[test]
fn fresh_contexts_never_share_a_name() {
    let room = room();
    let running: Vec<_> = (0..6)
        .map(|number| {
            let choice = if number % 2 == 0 { "new" } else { "new:review" };
            room.start(["-C", choice, "--json", "hello"])
        })
        .collect();
    let mut found: Vec<String> = running
        .into_iter()
        .map(|run| {
            let run = run.finish().ended_with(0);
            let name = context_of(&run);
            assert!(
                run.stderr.contains(&format!("the context is {name}")),
                "{}",
                run.stderr
            );
            name
        })
        .collect();
    assert_eq!(
        found.iter().filter(|name| name.starts_with("review_2")).count(),
        3,
        "{found:?}"
    );
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(current(&room), room.context());
    let chosen = context_of(&room.run(["-c", "new", "--json", "hello"]).ended_with(0));
    assert_eq!(current(&room), chosen);
}

#[test]
fn a_switch_fires_its_events_right_after_the_start_of_the_session() {
    let room = room();
    let interesting = [
        "session_start",
        "pre_session_switch",
        "post_session_switch",
        "user_input",
    ];
    for (choice, from, transient) in [
        ("-c", room.context().as_str(), false),
        ("-c", "work", false),
        ("-C", "work", true),
    ] {
        let run = room.run([choice, "work", "--json", "hello"]).ended_with(0);
        assert_eq!(names(&run, &interesting), interesting);
        for event in ["pre_session_switch", "post_session_switch"] {
            let event = &run.events_named(event)[0];
            assert_eq!(
                (
                    &event["from_context"],
                    &event["to_context"],
                    &event["transient"],
                    &event["reason"]
                ),
                (&json!(from), &json!("work"), &json!(transient), &json!("context"))
            );
        }
    }
    let run = room.run(["--json", "hello"]).ended_with(0);
    assert_eq!(names(&run, &interesting), ["session_start", "user_input"]);
}

#[test]
fn a_guard_that_refuses_or_breaks_stops_the_switch() {
    let room = room();
    room.run(["-c", "work", "hello"]).ended_with(0);
    for (command, reason) in [
        ("echo not today >&2; exit 2", "not today"),
        ("exit 7", "switchman"),
    ] {
        let hooks = room.hooks(&format!(
            "[[hook]]\nevent = \"pre_session_switch\"\nname = \"switchman\"\ncommand = {command:?}\n"
        ));
        for choice in ["-c", "-C"] {
            let run = room
                .run(["--hooks", &hooks, "--json", choice, "secret", "hello"])
                .ended_with(1)
                .complained("the switch to the context secret")
                .complained(reason);
            assert_eq!(
                names(&run, &["post_session_switch", "user_input", "session_end"]),
                ["session_end"]
            );
        }
    }
    assert_eq!(current(&room), "work");
    assert_eq!(listed(&room), ["work"], "what was made for it is gone");
    room.run(["doctor"]).ended_with(0);
}

#[test]
fn a_cleared_context_begins_anew_and_loses_nothing() {
    let (room, server) = room_with_server(3);
    room.run(["-c", "work", "the first question"]).ended_with(0);
    room.write(&context_file("work", "summary.md"), "somebody else's");
    let run = room.run(["context", "clear", "--json"]).ended_with(0);
    assert_eq!(
        names(
            &run,
            &[
                "session_start",
                "pre_clear",
                "post_clear",
                "session_end",
                "user_input"
            ]
        ),
        ["session_start", "pre_clear", "post_clear", "session_end"]
    );
    assert_eq!(run.events_named("pre_clear")[0]["message_count"], 2);
    assert_eq!(run.events_named("post_clear")[0]["message_count"], 2);
    assert_eq!(context_of(&run), "work");
    assert_eq!(
        room.read(&context_file("work", "summary.md")),
        "somebody else's",
        "becket removes only what it wrote"
    );
    let show = room.run(["context", "show", "--json"]).ended_with(0).events();
    assert_eq!(
        (&show[0]["message_count"], &show[0]["archive_count"]),
        (&json!(0), &json!(1))
    );
    room.run(["the second question"]).ended_with(0);
    let body = server.requests()[1].json().to_string();
    assert!(
        body.contains("the second question") && !body.contains("the first question"),
        "{body}"
    );
    room.run(["context", "export", "--archived"])
        .ended_with(0)
        .said("the first question")
        .said("\"entry_type\":\"archival\"");
    let now = room
        .run(["context", "export"])
        .ended_with(0)
        .said("the second question");
    assert!(!now.stdout.contains("the first question"), "{now:#?}");
    // By name, from another context, which stays the current one.
    room.run(["-c", "other", "hello"]).ended_with(0);
    room.run(["context", "clear", "work"]).ended_with(0);
    assert_eq!(current(&room), "other");
    assert_eq!(room.run(["context", "export", "work"]).ended_with(0).stdout, "");
    room.run(["doctor"]).ended_with(0);
}

#[test]
fn a_guard_of_pre_clear_keeps_the_conversation() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    let hooks = room.hooks("[[hook]]\nevent = \"pre_clear\"\ncommand = \"echo keep it >&2; exit 2\"\n");
    let run = room
        .run(["--hooks", &hooks, "--json", "context", "clear"])
        .ended_with(1)
        .complained("keep it");
    assert_eq!(names(&run, &["post_clear", "session_end"]), ["session_end"]);
    room.run(["context", "export"]).ended_with(0).said("hello");
}

#[test]
fn a_cancelled_clear_keeps_the_conversation() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    let hooks = room.hooks("[[hook]]\nevent = \"pre_clear\"\ncommand = \"touch began; sleep 60\"\n");
    let run = room.start(["--hooks", &hooks, "--json", "context", "clear"]);
    wait_for_file(&room, "began");
    run.signal(rustix::process::Signal::INT);
    let run = run.finish().ended_with(130).complained("cancelled");
    assert_eq!(run.events_named("session_end")[0]["reason"], "cancelled");
    room.run(["context", "export"]).ended_with(0).said("hello");
}

#[test]
fn clearing_asks_no_model_and_makes_no_context() {
    let room = room();
    room.config("model = \"anthropic/some-model\"\n");
    room.run(["context", "clear"])
        .ended_with(0)
        .complained(&format!("cleared the context {}", room.context()));
    room.run(["context", "clear", &format!("{}x", room.context())])
        .ended_with(2)
        .complained(&format!("did you mean `{}`?", room.context()));
    assert_eq!(listed(&room), [room.context()]);
}

#[test]
fn a_context_is_renamed_with_its_files() {
    let room = room();
    room.run(["-c", "old", "hello"]).ended_with(0);
    room.run(["-C", "taken", "hello"]).ended_with(0);
    room.run(["context", "prompt", "--set", "Be brief."])
        .ended_with(0);
    room.run(["context", "rename", "taken"])
        .ended_with(1)
        .complained("already");
    room.run(["context", "rename", "old", "old"]).ended_with(2);
    room.run(["context", "rename", "new"])
        .ended_with(2)
        .complained("fresh");
    room.run(["context", "rename", "odl", "x"])
        .ended_with(2)
        .complained("`old`");
    room.run(["context", "rename", "a", "b", "c"]).ended_with(2);
    room.write(&context_file("leftover", "todos.md"), "something");
    room.run(["context", "rename", "leftover"])
        .ended_with(1)
        .complained("already a folder");
    room.run(["context", "rename", "better"])
        .ended_with(0)
        .complained("the context old is now better");
    assert_eq!(current(&room), "better");
    room.run(["context", "prompt"]).ended_with(0).said("Be brief.");
    room.run(["context", "log", "better"]).ended_with(0).said("hello");
    room.run(["context", "rename", "taken", "also-better"])
        .ended_with(0);
    assert_eq!(listed(&room).len(), 2);
    room.run(["doctor"]).ended_with(0);
}

#[test]
fn a_context_is_destroyed_with_a_yes_only() {
    let room = room();
    room.run(["-c", "keep", "hello"]).ended_with(0);
    room.run(["-c", "drop", "hello"]).ended_with(0);
    room.run(["context", "prompt", "--set", "Be brief."])
        .ended_with(0);
    room.run(["context", "destroy"]).ended_with(1).complained("--yes");
    assert_eq!(listed(&room).len(), 2);
    room.run(["context", "destroy", "--yes"])
        .ended_with(0)
        .complained("the current one is keep");
    assert_eq!(listed(&room), ["keep"]);
    assert!(!room.has(&context_file("drop", "system_prompt.md")));
    room.run(["context", "destroy", "--yes", "drop"])
        .ended_with(2)
        .complained("no context `drop`");
    room.run(["context", "destroy", "--yes", "keep"]).ended_with(0);
    assert_eq!(
        context_of(&room.run(["--json", "hello"]).ended_with(0)),
        room.context()
    );
    room.run(["doctor"]).ended_with(0);
}

#[test]
fn a_context_can_have_a_system_prompt_of_its_own() {
    let (room, server) = room_with_server(4);
    room.run(["context", "prompt"])
        .ended_with(0)
        .complained("no system prompt of its own");
    room.run(["context", "prompt", "--set", "Speak like a pirate."])
        .ended_with(0);
    room.run(["hello"]).ended_with(0);
    room.run(["-C", "other", "hello"]).ended_with(0);
    room.write("prompt.md", "Speak like a poet.\n");
    room.run(["context", "prompt", "other", "--file", "prompt.md"])
        .ended_with(0);
    room.run(["-C", "other", "hello"]).ended_with(0);
    room.run_with_input(["context", "prompt", "--file", "-"], "Speak like a lawyer.")
        .ended_with(0);
    assert_eq!(
        room.run(["context", "prompt"]).ended_with(0).stdout,
        "Speak like a lawyer."
    );
    room.run(["context", "prompt", "--remove"]).ended_with(0);
    room.run(["hello"]).ended_with(0);
    let prompts: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.json()["messages"][0]["content"].to_string())
        .collect();
    let expected = [
        "Speak like a pirate.",
        "You are becket",
        "Speak like a poet.",
        "You are becket",
    ];
    for (prompt, expected) in prompts.iter().zip(expected) {
        assert!(prompt.contains(expected), "{expected} in {prompt}");
        assert_eq!(prompt.contains("You are becket"), expected == "You are becket");
    }
    room.run(["context", "prompt", "--set", "  "])
        .ended_with(2)
        .complained("--remove");
    room.run(["context", "prompt", "--file", "nowhere.md"])
        .ended_with(2)
        .complained("nowhere.md");
    room.write(&context_file(&room.context(), "system_prompt.md"), b"\xff\xfe");
    room.run(["hello"]).ended_with(2).complained("system_prompt.md");
}

#[test]
fn the_command_line_beats_the_context_and_the_context_beats_the_configuration() {
    let (room, server) = room_with_server(5);
    let room = room
        .with("OPENROUTER_API_KEY", "sk-test")
        .with("OPENROUTER_BASE_URL", &server.url());
    room.config("model = \"openai/configured\"\n[agent]\ntemperature = 0.1\nmax_tokens = 11\nfuel = 7\n");
    room.run(["hello"]).ended_with(0);
    room.write(
        &context_file(&room.context(), "local.toml"),
        "model = \"lab/local\"\nfuel = 0\n[api]\ntemperature = 0.2\nmax_tokens = 22\n",
    );
    let local = room.run(["--json", "hello"]).ended_with(0);
    assert_eq!(local.events_named("loop_start")[0]["fuel_total"], Value::Null);
    for (key, value) in [
        ("model", "openai/own"),
        ("temperature", "0.3"),
        ("fuel", "5"),
        ("fallback", "call_user"),
    ] {
        room.run(["context", "set", key, value]).ended_with(0);
    }
    let own = room.run(["--json", "hello"]).ended_with(0);
    assert_eq!(own.events_named("loop_start")[0]["fuel_total"], 5);
    let asked = room
        .run(["--json", "--model", "openai/asked", "--fuel", "3", "hello"])
        .ended_with(0);
    assert_eq!(asked.events_named("loop_start")[0]["fuel_total"], 3);
    for key in ["model", "temperature", "fuel", "fallback"] {
        room.run(["context", "unset", key]).ended_with(0);
    }
    room.run(["hello"]).ended_with(0);
    let sent: Vec<(Value, Value)> = server
        .requests()
        .iter()
        .map(|request| {
            (
                request.json()["model"].clone(),
                request.json()["temperature"].clone(),
            )
        })
        .collect();
    let expected = [
        ("configured", 0.1),
        ("lab/local", 0.2),
        ("own", 0.3),
        ("asked", 0.3),
        ("lab/local", 0.2),
    ];
    assert_eq!(
        sent,
        expected.map(|(model, degree)| (json!(model), json!(degree)))
    );
    room.run(["config"]).ended_with(0).said("openrouter/lab/local");
}

#[test]
fn wrong_settings_are_told_with_their_place() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    for (key, value, words) in [
        ("modle", "x", "did you mean `model`?"),
        ("temperature", "warm", "`temperature` cannot be `warm`"),
        ("temperature", "-1", "from 0 on"),
        ("temperature", "nan", "`temperature` cannot be `nan`"),
        ("fuel", "-3", "`fuel` cannot be `-3`"),
        ("max_tokens", "1.5", "`max_tokens` cannot be `1.5`"),
        ("fallback", "nobody", "call_user"),
        ("destroy_at", "soon", "not a time"),
        ("destroy_at", "2001-01-01", "in the past"),
        ("destroy_after_inactive", "a while", "7d"),
    ] {
        room.run(["context", "set", key, value])
            .ended_with(2)
            .complained(words);
    }
    room.run(["context", "set", "model", "x", &format!("{}x", room.context())])
        .ended_with(2)
        .complained(&format!("`{}`", room.context()));
    assert!(!room.has(&context_file(&room.context(), "settings.toml")));
    room.write(
        &context_file(&room.context(), "settings.toml"),
        "# mine\nmodle = \"x\"\n",
    );
    for command in [
        &["hello"][..],
        &["context", "show"],
        &["context", "set", "fuel", "1"],
        &["config"],
    ] {
        room.run(command)
            .ended_with(2)
            .complained("settings.toml:2:")
            .complained("did you mean `model`?");
    }
    room.run(["doctor"]).ended_with(1).said("settings.toml:2:");
    room.write(&context_file(&room.context(), "settings.toml"), "");
    room.write(&context_file(&room.context(), "local.toml"), "\nmodel = 3\n");
    room.run(["hello"]).ended_with(2).complained("local.toml: line 2");
}

#[test]
fn contexts_that_are_due_are_destroyed_when_a_run_starts() {
    let room = room();
    for context in ["idle", "timed", "current", "busy"] {
        room.run(["-c", context, "hello"]).ended_with(0);
    }
    room.run(["-c", "current", "hello"]).ended_with(0);
    room.run(["context", "prompt", "idle", "--set", "Be brief."])
        .ended_with(0);
    // Not sooner: a moment that has passed before the program hears of it is refused.
    let soon = seconds_now() + 8;
    room.run(["context", "set", "destroy_at", &soon.to_string(), "timed"])
        .ended_with(0);
    for context in ["idle", "current"] {
        room.run(["context", "set", "destroy_after_inactive", "1s", context])
            .ended_with(0);
    }
    room.run(["context", "set", "destroy_after_inactive", "1s", "busy"])
        .ended_with(0);
    room.run(["context", "unset", "destroy_after_inactive", "busy"])
        .ended_with(0);
    let shown = room
        .run(["context", "show", "idle", "--json"])
        .ended_with(0)
        .events();
    assert_eq!(shown[0]["destroy_after_ms"], 1000);
    while seconds_now() <= soon {
        std::thread::sleep(Duration::from_millis(100));
    }
    let run = room
        .run(["hello"])
        .ended_with(0)
        .complained("the context idle was destroyed: nothing happened")
        .complained("the context timed was destroyed: its time");
    assert_eq!(run.stderr.matches("was destroyed").count(), 2, "{}", run.stderr);
    let mut left = listed(&room);
    left.sort();
    assert_eq!(left, ["busy", "current"]);
    assert!(!room.has(&context_file("idle", "system_prompt.md")));
    let again = room.run(["hello"]).ended_with(0);
    assert!(!again.stderr.contains("destroyed"), "{}", again.stderr);
}

/// Seconds since 1970.
fn seconds_now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_secs())
}

#[test]
fn a_context_in_use_is_not_shared_and_a_killed_run_does_not_keep_it() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"user_input\"\ntimeout = 100\ncommand = \"touch began; while [ -e began ] && [ ! -e go ]; do sleep 0.02; done\"\n",
    );
    let first = room.start(["--hooks", &hooks, "-c", "work", "hello"]);
    wait_for_file(&room, "began");
    let process = format!("(process {})", first.id());
    for command in [
        &["hello"][..],
        &["-C", "work", "hello"],
        &["context", "clear", "work"],
        &["context", "rename", "work", "play"],
        &["context", "destroy", "work", "--yes"],
    ] {
        room.run(command)
            .ended_with(1)
            .complained("the conversation work is in use")
            .complained(&process);
    }
    room.run(["-C", "aside", "hello"]).ended_with(0);
    room.run(["context", "log", "work"]).ended_with(0);
    room.write("go", "");
    first.finish().ended_with(0);
    room.run(["hello"]).ended_with(0);
    std::fs::remove_file(room.work().join("go")).expect("the room is writable");
    std::fs::remove_file(room.work().join("began")).expect("the room is writable");
    let second = room.start(["--hooks", &hooks, "hello"]);
    wait_for_file(&room, "began");
    second.signal_group(rustix::process::Signal::KILL);
    second.finish();
    room.run(["hello"]).ended_with(0);
}

#[test]
fn the_log_and_the_export_say_who_said_what_to_whom() {
    let room = room();
    let model = room.model(&json!([
        {"text": "I look.", "tool_calls": [{"name": "shell", "arguments": {"command": "echo the-result"}, "id": "c1"}]},
        {"text": "Here it is."},
    ]));
    room.run(["--yes", "--model", &model, "-c", "work", "what is there?"])
        .ended_with(0);
    let lines = room.run(["context", "export"]).ended_with(0).events();
    let said: Vec<[&str; 4]> = lines
        .iter()
        .map(|line| ["entry_type", "role", "from", "to"].map(|key| line[key].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(
        said,
        [
            ["message", "user", "user", "work"],
            ["message", "agent", "work", "user"],
            ["tool_call", "agent", "work", "shell"],
            ["tool_result", "agent", "shell", "work"],
            ["message", "agent", "work", "user"],
        ]
    );
    assert_eq!(lines[0]["content"], "what is there?");
    assert_eq!(
        (&lines[2]["tool_call_id"], &lines[3]["tool_call_id"]),
        (&json!("c1"), &json!("c1"))
    );
    assert!(
        lines[2]["content"]
            .as_str()
            .unwrap_or_default()
            .contains("echo the-result")
    );
    assert!(
        lines[3]["content"]
            .as_str()
            .unwrap_or_default()
            .contains("the-result")
    );
    assert!(
        lines
            .iter()
            .all(|line| line["timestamp"].as_u64() > Some(1_600_000_000))
    );
    let mut ids: Vec<&str> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
    ids.dedup();
    assert_eq!(ids.len(), lines.len());
    let log = room.run(["context", "log", "-n", "2"]).ended_with(0);
    assert_eq!(log.stdout.matches('[').count(), 2, "{log:#?}");
    log.said("shell returns: ").said("work: Here it is.");
    let json = room
        .run(["context", "log", "-n", "1", "--json"])
        .ended_with(0)
        .events();
    assert_eq!(json, [lines[4].clone()]);
    room.run(["context", "log", "-n", "0"]).ended_with(2);
    room.run(["context", "log", "wrok"])
        .ended_with(2)
        .complained("did you mean `work`?");
    room.run(["-c", "work", "context", "log", "work"])
        .ended_with(2)
        .complained("two contexts");
}

#[test]
fn a_context_can_be_made_before_it_is_used() {
    let room = room();
    room.run(["context", "create", "work"]).ended_with(0);
    room.run(["context", "create", "work"])
        .ended_with(2)
        .complained("already");
    room.run(["context", "create", "a/b"])
        .ended_with(2)
        .complained("try `a-b`");
    room.run(["context", "create", "new"]).ended_with(2);
    room.run(["context", "set", "model", "rehearsal", "work"])
        .ended_with(0);
    room.run(["context", "show", "work"])
        .ended_with(0)
        .said("rehearsal")
        .said("never");
    room.run(["context", "log", "work"])
        .ended_with(0)
        .complained("is empty");
    assert_eq!(listed(&room), ["work"]);
    assert_eq!(current(&room), room.context());
}
