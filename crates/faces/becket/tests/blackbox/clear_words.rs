//! What a user reads, and options that mean what they seem to mean.

use serde_json::{Value, json};
use testkit::Room;

use crate::room;

fn current(room: &Room) -> String {
    let shown = room.run(["context", "show", "--json"]).ended_with(0).events();
    shown[0]["name"].as_str().unwrap_or_default().to_string()
}

fn names(room: &Room) -> Vec<String> {
    let contexts = room.run(["contexts", "--json"]).ended_with(0).events();
    let name = |context: &Value| context["name"].as_str().unwrap_or_default().to_string();
    contexts.iter().map(name).collect()
}

#[test]
fn a_name_that_another_context_has_is_told_as_that() {
    let room = room();
    for name in ["one", "two"] {
        room.run(["context", "create", name]).ended_with(0);
        room.run(["context", "prompt", "--set", "Be brief.", name])
            .ended_with(0);
    }
    let run = room.run(["context", "rename", "one", "two"]).ended_with(1);
    assert!(!run.stderr.contains("no such context"), "{run:#?}");
    run.complained("there is already a context two");
    let folder = "../home/.local/share/becket/contexts/three";
    room.write(&format!("{folder}/notes"), "somebody's");
    room.run(["context", "rename", "one", "three"])
        .ended_with(1)
        .complained("but no such context");
    assert_eq!(names(&room).len(), 2);
}

#[test]
fn a_call_that_was_changed_and_then_refused_is_shown_as_it_was_judged() {
    let room = room();
    room.config("[permissions]\ndeny = [\"shell:command=*changed*\"]\n");
    let rewrite = room.script(
        "../rewrite",
        "#!/bin/sh\ncat > /dev/null\necho '{\"arguments\": {\"command\": \"echo changed\"}}'\n",
    );
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"pre_tool\"\ncommand = {}\n",
        testkit::quoted(&rewrite)
    ));
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo asked"}}]},
        {"text": "done"},
    ]));
    let run = room
        .run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    let place = |words: &str| {
        let place = run.stderr.find(words);
        place.unwrap_or_else(|| panic!("no {words:?} in {run:#?}"))
    };
    let (asked, changed) = (
        place("→ shell echo asked"),
        place("↳ shell echo changed (changed by hooks)"),
    );
    assert!(asked < changed && changed < place("✗ refused shell"), "{run:#?}");
}

#[test]
fn results_of_calls_that_ran_together_say_whose_they_are() {
    let room = room();
    for name in ["a.txt", "b.txt"] {
        room.write(name, format!("inside {name}\n"));
    }
    let read = |name: &str| json!({"name": "read", "arguments": {"path": name}});
    let model = room.model(&json!([
        {"tool_calls": [read("a.txt"), read("b.txt")]},
        {"tool_calls": [read("a.txt")]},
        {"text": "done"},
    ]));
    let run = room.run(["--model", &model, "go"]).ended_with(0);
    let lines: Vec<&str> = run.stderr.lines().collect();
    for name in ["a.txt", "b.txt"] {
        let call = format!("← read {name}");
        let place = lines.iter().position(|line| line.starts_with(&call));
        let place = place.unwrap_or_else(|| panic!("no {call:?} in {run:#?}"));
        assert!(lines[place + 1].contains(&format!("inside {name}")), "{run:#?}");
    }
    let marks = lines.iter().filter(|line| line.starts_with('←')).count();
    assert_eq!(marks, 2, "a call by itself needs none: {run:#?}");
}

#[test]
fn a_context_without_a_prompt_is_only_switched_to() {
    let room = room();
    let hooks = room.hooks("[[hook]]\nevent = \"post_session_switch\"\ncommand = \"touch switched\"\n");
    let run = room.run(["--hooks", &hooks, "-c", "work"]).ended_with(0);
    assert_eq!(run.stdout, "");
    assert!(room.has("switched"));
    assert_eq!(current(&room), "work");
    room.run_with_input(["-c", "piped"], b"hello".to_vec())
        .ended_with(0);
    assert_eq!(current(&room), "piped");
    room.run(["-c", "-"]).ended_with(0);
    assert_eq!(current(&room), "work");
    for arguments in [&["-C", "aside"][..], &["-c", "aside", " "]] {
        room.run(arguments)
            .ended_with(2)
            .complained("the prompt is empty");
    }
    let guard = room.hooks("[[hook]]\nevent = \"pre_session_switch\"\ncommand = \"echo stay >&2; exit 2\"\n");
    room.run(["--hooks", &guard, "-c", "piped"])
        .ended_with(1)
        .complained("stay");
    assert_eq!(current(&room), "work");
}

#[test]
fn a_switch_before_a_command_about_a_context_is_one() {
    let room = room();
    for name in ["one", "two"] {
        room.run(["context", "create", name]).ended_with(0);
    }
    let show = room.run(["-c", "one", "context", "show", "--json"]).ended_with(0);
    assert_eq!(show.events()[0]["name"], "one", "and nothing else: {show:#?}");
    assert_eq!(current(&room), "one");
    room.run(["-C", "two", "context", "show"])
        .ended_with(0)
        .said("two");
    assert_eq!(current(&room), "one", "-C only looks");
    room.run(["-c", "two", "compact"])
        .ended_with(0)
        .complained("nothing to summarise");
    assert_eq!(current(&room), "two");
    room.run(["-c", "oen", "context", "show"])
        .ended_with(2)
        .complained("did you mean `one`?");
    room.run(["-c", "one", "context", "create", "three"])
        .ended_with(2)
        .complained("two contexts");
    assert_eq!(current(&room), "two");
    assert_eq!(names(&room).len(), 2, "a slip of the pen makes none");
}

#[test]
fn a_choice_of_context_is_an_error_where_it_means_nothing() {
    let room = room();
    let commands: &[&[&str]] = &[
        &["contexts"],
        &["sessions"],
        &["hooks", "events"],
        &["vfs", "ls"],
        &["cache", "list"],
        &["man"],
    ];
    for command in commands {
        room.run(*command).ended_with(0);
        for choice in ["-c", "-C"] {
            let arguments = [&[choice, "work"], *command].concat();
            room.run(arguments)
                .ended_with(2)
                .complained("-c and -C have no effect");
        }
    }
    for command in ["config", "doctor"] {
        room.run(["-c", "work", command])
            .ended_with(2)
            .complained("`-C work` uses that one");
        room.run(["-C", "work", command]).ended_with(0);
    }
}

#[test]
fn one_is_singular_and_moments_need_no_unit() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    room.run(["context", "set", "destroy_after_inactive", "1d"])
        .ended_with(0);
    let show = room.run(["context", "show"]).ended_with(0);
    let named = |name: &str| {
        show.stdout
            .lines()
            .any(|line| line.starts_with(&format!("{name}  ")))
    };
    for name in ["created", "last used", "destroy at", "destroy after"] {
        assert!(named(name), "{name}: {show:#?}");
    }
    let list = room.run(["contexts"]).ended_with(0);
    assert!(
        list.stdout.contains("2 messages") && list.stdout.contains("1 session "),
        "{list:#?}"
    );
    room.run(["hello"]).ended_with(0);
    room.run(["contexts"]).ended_with(0).said("2 sessions");
}

#[test]
fn wrong_settings_are_told_in_plain_words() {
    let room = room();
    let table = [
        (
            "[agent]\nfuel = \"much\"\n",
            "config.toml:2: expected a whole number from 0 to 4294967295",
        ),
        ("[agent]\nfuel = -1\n", "got the number -1"),
        (
            "[agent]\nmax_iterations = 0\n",
            "expected a whole number, 1 or more",
        ),
        ("[agent]\nfallback = \"call_usr\"\n", "did you mean `call_user`?"),
        (
            "[agent]\nreflection = \"no\"\n",
            "expected true or false, got the string \"no\"",
        ),
        ("model = 3\n", "expected a string in quotes, got the number 3"),
    ];
    for (config, words) in table {
        room.config(config);
        room.run(["config"]).ended_with(2).complained(words);
    }
    room.config("");
    room.run(["context", "set", "fuel", "much"])
        .ended_with(2)
        .complained("a whole number");
}

#[test]
fn a_hook_that_fails_often_is_one_line_with_a_count() {
    let room = room();
    let hooks = room
        .hooks("[[hook]]\nname = \"broken\"\nevent = \"post_tool\"\ncommand = \"echo oops >&2; exit 1\"\n");
    let path = |number: u32| format!("../work/{}", "./".repeat(number as usize));
    let call = |number: u32| json!({"name": "list", "arguments": {"path": path(number)}});
    let mut turns: Vec<Value> = (0..15)
        .map(|turn| json!({"tool_calls": (0..10).map(|number| call(turn * 10 + number)).collect::<Vec<_>>()}))
        .collect();
    turns.push(json!({"text": "done"}));
    let model = room.model(&json!(turns));
    let run = room
        .run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(run.stderr.matches("oops").count(), 1, "{run:#?}");
    assert_eq!(run.stderr.matches("hook broken").count(), 2, "{run:#?}");
    assert!(
        run.stderr.contains("(150 times; `becket trace` shows each)"),
        "{run:#?}"
    );
    let once = room.model(&json!([{"tool_calls": [call(0)]}, {"text": "done"}]));
    let run = room
        .run(["--yes", "--hooks", &hooks, "--model", &once, "go"])
        .ended_with(0);
    assert_eq!(run.stderr.matches("hook broken").count(), 1, "{run:#?}");
}

#[test]
fn the_end_of_the_fuel_names_the_option() {
    let room = room();
    let turn = |number: u32| json!({"tool_calls": [{"name": "list", "arguments": {"path": format!("../work/{}", ".".repeat(number as usize))}}]});
    let model = room.model(&json!([turn(0), turn(1), {"text": "done"}]));
    room.run(["--fuel", "1", "--model", &model, "go"])
        .ended_with(5)
        .complained("--fuel N");
}

#[test]
fn an_output_that_was_put_aside_names_the_tool_as_the_model_knows_it() {
    let room = room();
    room.config("[tools]\noutput_limit = 1000\n");
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell_exec", "arguments": {"command": "seq 1 2000"}}]},
        {"text": "done", "expect": ["Tool: shell_exec |"]},
    ]));
    room.run(["--yes", "--tools", "chibi", "--model", &model, "go"])
        .ended_with(0);
}

#[test]
fn the_configuration_shows_limits_and_whose_hooks_it_counts() {
    let room = room();
    let run = room.run(["config"]).ended_with(0);
    for row in [
        "output limit     50000 bytes",
        "idle timeout     120 s",
        "shell timeout    120 s",
        "compaction       at 80 % of 128000 tokens",
        "own hooks        0",
    ] {
        assert!(run.stdout.contains(row), "{row}: {run:#?}");
    }
    room.config("[tools]\noutput_limit = 7\n[compaction]\nauto = false\n");
    let shown = room.run(["config", "--json"]).ended_with(0).events().remove(0);
    assert_eq!(
        (
            &shown["output_limit"],
            &shown["idle_timeout"],
            &shown["compaction"]
        ),
        (&json!(7), &json!(120), &json!("only when asked for"))
    );
}
