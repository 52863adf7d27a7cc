//! Every plugin under `examples/chibi`, in both generations.

use serde_json::{Value, json};
use testkit::needs;

use super::{Chibi, Generation, Newer, Older, Told, runs, says};
use crate::repository_file;

/// A room whose chibi home has copies of those examples of one generation whose names begin so; nothing if the programs
/// that they need are not there.
fn examples(generation: Generation, beginning: &str) -> Option<Chibi> {
    if !needs("jq") || !needs("python3") {
        return None;
    }
    let chibi = Chibi::new();
    let folder = match generation {
        Newer => "examples/chibi/plugins",
        Older => "examples/chibi/older/plugins",
    };
    for file in std::fs::read_dir(repository_file(folder)).expect("the examples are there") {
        let file = file.expect("readable").path();
        let name = file.file_name().expect("a file has a name");
        if name.to_string_lossy().starts_with(beginning) {
            std::fs::copy(&file, chibi.home().join("plugins").join(name)).expect("the room is writable");
        }
    }
    Some(chibi)
}

fn log(chibi: &Chibi) -> Vec<Value> {
    let text = std::fs::read_to_string(chibi.home().join("hook.log")).expect("the log is there");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn greeted(chibi: &Chibi, context: &str) -> Told {
    chibi.ask(&["-C", context, "hello"], &[says("hi")]).went_well()
}

#[test]
fn the_logger_writes_a_line_for_each_event() {
    let expected: [(Generation, &[&str]); 2] = [
        (Newer, &["on_start", "pre_message", "post_message", "on_end"]),
        (
            Older,
            &[
                "on_start",
                "on_context_switch",
                "pre_message",
                "post_message",
                "on_end",
            ],
        ),
    ];
    for (generation, hooks) in expected {
        // All of them together, as somebody who points becket at the folder has them.
        let Some(chibi) = examples(generation, "") else {
            return;
        };
        greeted(&chibi, "work");
        let log = log(&chibi);
        let names: Vec<&Value> = log.iter().map(|line| &line["hook"]).collect();
        assert_eq!(names, hooks, "{generation:?}");
        let said = log
            .iter()
            .find(|line| line["hook"] == "post_message")
            .expect("it is there");
        assert_eq!(said["data"]["response"], "hi");
        assert_eq!(said["data"]["context_name"], "work");
    }
}

#[test]
fn the_context_injector_puts_the_time_in_front() {
    for generation in [Newer, Older] {
        let Some(chibi) = examples(generation, "context_injector") else {
            return;
        };
        let prompt = greeted(&chibi, "work").prompt(0);
        let (time, rest) = prompt.split_once("]\n").expect("two lines");
        assert!(time.starts_with("[20") && time.contains('T'), "{prompt}");
        assert_eq!(rest, "hello");
    }
}

#[test]
fn the_safety_guard_refuses_to_delete_by_force() {
    for generation in [Newer, Older] {
        let Some(chibi) = examples(generation, "safety_guard") else {
            return;
        };
        chibi.room.write("build/precious", "x");
        let told = chibi
            .ask(
                &["--yes", "go"],
                &[runs("rm -rf build"), runs("touch ran"), says("done")],
            )
            .went_well();
        assert!(
            told.results()[0].contains("rm -rf is not allowed here"),
            "{told:#?}"
        );
        assert!(
            chibi.room.has("build/precious") && chibi.room.has("ran"),
            "{generation:?}"
        );
    }
}

#[test]
fn the_tool_filter_chooses_by_context() {
    let notes = |generation| match generation {
        Newer => ["update_goals", "update_reflection"],
        Older => ["update_goals", "update_todos"],
    };
    for generation in [Newer, Older] {
        let Some(chibi) = examples(generation, "tool_filter") else {
            return;
        };
        let mut tools = greeted(&chibi, "safe").tools(0);
        tools.sort();
        assert_eq!(tools, notes(generation), "{generation:?}");
        let told = chibi.ask(&["--tools", "chibi", "-C", "work", "hello"], &[says("hi")]);
        let tools = told.went_well().tools(0);
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        assert!(
            has("shell_exec") && has("grep_files") && has("write_file"),
            "{tools:?}"
        );
        for name in ["file_head", "file_tail", "file_lines", "file_grep"] {
            assert!(!has(name), "{generation:?}: {tools:?}");
        }
    }
}

#[test]
fn the_temperature_follows_the_context() {
    for generation in [Newer, Older] {
        let Some(chibi) = examples(generation, "temp_override") else {
            return;
        };
        for (context, temperature) in [
            ("coding", json!(0.1)),
            ("creative", json!(1.2)),
            ("work", Value::Null),
        ] {
            let told = greeted(&chibi, context);
            assert_eq!(
                told.requests[0]["temperature"], temperature,
                "{generation:?} {context}"
            );
        }
    }
}

#[test]
fn the_guardrails_give_the_word_back_and_cost_fuel() {
    let Some(chibi) = examples(Newer, "guardrails") else {
        return;
    };
    chibi
        .room
        .config("[agent]\nfuel = 20\nfallback = \"call_agent\"\n");
    chibi
        .ask(&["--yes", "-C", "one", "go"], &[runs("true"), says("done")])
        .went_well()
        .asked(2);
    chibi.room.config("[agent]\nfuel = 7\n");
    let round = |number: usize| runs(&format!("touch ran{number}"));
    let told = chibi.ask(&["--yes", "-C", "two", "go"], &[round(1), round(2), round(3)]);
    assert!(chibi.room.has("ran1") && !chibi.room.has("ran3"), "{told:#?}");
}

#[test]
fn the_folder_itself_is_a_chibi_home() {
    if !needs("jq") || !needs("python3") {
        return;
    }
    for folder in ["examples/chibi", "examples/chibi/older"] {
        let folder = repository_file(folder);
        // The folder is used as it stands, and nothing is left in it: asking for a list begins no conversation.
        let run = crate::room()
            .run(["--chibi-home", &folder, "plugin"])
            .ended_with(0);
        for file in std::fs::read_dir(format!("{folder}/plugins")).expect("the examples are there") {
            let name = file.expect("readable").file_name();
            assert!(
                run.stdout.contains(&*name.to_string_lossy()),
                "{name:?}: {run:#?}"
            );
        }
    }
}
