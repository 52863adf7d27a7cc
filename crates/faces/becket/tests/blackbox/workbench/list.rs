//! `becket hooks list` with what is known of each hook, and `becket hooks dialects`.

use serde_json::{Value, json};

use super::guards;
use crate::room;

fn lines(text: &str) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(read).collect()
}

#[test]
fn a_hook_of_every_dialect_is_listed_with_its_runs() {
    for guarded in guards() {
        let model = guarded.room.model(&json!([
            {"tool_calls": [{"name": "shell", "arguments": {"command": "true"}}]},
            {"text": "done"},
        ]));
        guarded.run(&["--yes", "--model", &model, "go"]).ended_with(0);
        let run = guarded
            .run(&["hooks", "list", guarded.event, "--json"])
            .ended_with(0);
        let listed = lines(&run.stdout);
        let hook = listed
            .iter()
            .find(|line| line["kind"] == "hook")
            .expect("it is listed");
        assert_eq!(hook["dialect"], guarded.dialect, "{hook:#}");
        assert_eq!(hook["class"], "guard", "{hook:#}");
        assert_eq!(hook["trusted"], true, "{hook:#}");
        assert_eq!(hook["runs"]["count"], 1, "{hook:#}");
        assert!(
            hook["runs"]["p95_us"].as_u64().is_some_and(|time| time > 0),
            "{hook:#}"
        );
        assert!(
            hook["timeout"].as_f64().is_some_and(|seconds| seconds > 0.0),
            "{hook:#}"
        );
        guarded
            .run(&["hooks", "list"])
            .ended_with(0)
            .said("1 runs, last ")
            .said("p50 ");
    }
}

#[test]
fn matchers_priorities_and_hooks_that_are_not_trusted_are_told() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nname = \"first\"\nevent = \"pre_tool\"\npriority = 7\ntimeout = 2.5\n\
         match = { tool = \"shell\", arguments = { command = { glob = \"rm *\" } } }\ncommand = \"true\"\n",
    );
    room.write(
        "becket.toml",
        "[[hook]]\nname = \"theirs\"\nevent = \"turn_end\"\ncommand = \"true\"\n",
    );
    let run = room.run(["hooks", "list", "--hooks", &hooks]).ended_with(0);
    let line = |name: &str| {
        run.stdout
            .lines()
            .find(|line| line.contains(name))
            .expect("it is listed")
    };
    assert!(
        line("first").contains("command guard 2.5 s  priority 7  where "),
        "{run:#?}"
    );
    assert!(line("first").contains("tool_name = shell"), "{run:#?}");
    assert!(line("first").contains("arguments.command like rm *"), "{run:#?}");
    assert!(line("theirs").ends_with("not trusted"), "{run:#?}");
    let run = room
        .run(["hooks", "list", "pre_tool", "--hooks", &hooks])
        .ended_with(0);
    assert_eq!(run.stdout.lines().count(), 1, "{run:#?}");
    room.run(["hooks", "list", "pre_tol"])
        .ended_with(2)
        .complained("did you mean `pre_tool`?");
}

#[test]
fn dialects_are_listed_with_their_names_for_events() {
    let room = room();
    room.run(["hooks", "dialects"])
        .ended_with(0)
        .said("chibi: ")
        .said("docker-agent: ")
        .said("pi: ");
    let run = room
        .run(["hooks", "dialects", "docker-agent", "--json"])
        .ended_with(0);
    let rows = lines(&run.stdout);
    assert!(rows.iter().all(|row| row["dialect"] == "docker-agent"));
    assert!(
        rows.iter()
            .any(|row| row["name"] == "pre_tool_use" && row["event"] == "pre_tool")
    );
    room.run(["hooks", "dialects", "docker"])
        .ended_with(2)
        .complained("there is no dialect `docker`");
}
