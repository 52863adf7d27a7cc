//! The examples of pi's newest version, under its newer name: all load, and what is new in them works.
//!
//! They are fetched from the npm registry, once for each run of the tests, and are no part of this repository.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use crate::pi_examples::{fetch, fetched, file_of, installed, loading_problem, names_in};
use crate::room;

const PACKAGE: &str = "@earendil-works/pi-coding-agent@1.5.0";

/// The folder of the examples, if the registry can be reached.
fn examples() -> Option<&'static Path> {
    static FETCHED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if !needs("npm") || !needs("tar") {
        return None;
    }
    fetched(FETCHED.get_or_init(|| fetch(PACKAGE, "pi-newest")))
}

/// Runs a chat with an example. Nobody is there to ask, so `--yes` answers.
fn chat(room: &Room, example: &str, lines: &[&str], turns: &Value) -> Option<Finished> {
    let folder = examples()?;
    let file = file_of(installed(folder, example)?, example);
    let model = room.model(turns);
    let words = ["chat", "--json", "--yes", "--model", &model, "-e", &file];
    Some(
        room.run_with_input(words, format!("{}\n", lines.join("\n")))
            .ended_with(0),
    )
}

fn system_prompt(run: &Finished) -> String {
    run.events_named("pre_request")[0]["body"].to_string()
}

#[test]
fn every_example_of_the_newest_version_loads() {
    let Some(folder) = examples() else { return };
    let names = names_in(folder);
    assert!(names.len() > 70, "{names:?}");
    let problems: Vec<String> = names
        .iter()
        .filter_map(|name| loading_problem(&file_of(installed(folder, name)?, name), name))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn sections_that_a_handler_adds_are_in_the_system_prompt() {
    let room = room();
    let skill = "---\nname: weave\ndescription: Weave.\n---\nx";
    room.write("../home/.pi/agent/skills/weave/SKILL.md", skill);
    let Some(run) = chat(&room, "prompt-customizer", &["go"], &json!([{"text": "fine"}])) else {
        return;
    };
    let prompt = system_prompt(&run);
    for words in [
        "<tool_guidance>",
        "Use `bash` for file operations",
        "Available skills: weave",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
}

#[test]
fn guards_tools_and_words_work_under_the_newer_name() {
    let room = room();
    let turns = json!([{"text": "fine"}]);
    let Some(run) = chat(&room, "input-transform", &["?quick what is this"], &turns) else {
        return;
    };
    let prompts = run.events_named("user_prompt");
    assert_ne!(prompts[0]["prompt"], "?quick what is this", "{run:#?}");
    let gate = json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm -rf x"}}]}, {"text": "done"}
    ]);
    let run = chat(&room, "permission-gate", &["go"], &gate).expect("as before");
    let results = run.events_named("post_tool");
    assert!(
        results[0]["result"].as_str().unwrap().contains("blocked"),
        "{run:#?}"
    );
    let hello = json!([
        {"tool_calls": [{"name": "hello", "arguments": {"name": "you"}}]}, {"text": "done"}
    ]);
    let run = chat(&room, "hello", &["go"], &hello).expect("as before");
    assert!(
        run.events_named("post_tool")[0]["result"]
            .as_str()
            .unwrap()
            .contains("Hello, you!"),
        "{run:#?}"
    );
}
