//! Everything under `examples/`, and everything that README and guides show, does what it says.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Finished, Room, needs, quoted};

use crate::room;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .canonicalize()
        .expect("the project is there")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(project().join(name)).expect("the document is there")
}

fn run(room: &Room, example: &str, arguments: &[&str]) -> Finished {
    let file = project().join("examples").join(example);
    let hooks = ["--hooks".to_string(), file.display().to_string()];
    let finished = room.run(hooks.iter().map(String::as_str).chain(arguments.iter().copied()));
    assert_eq!(finished.code, 0, "{finished:?}");
    finished
}

#[test]
fn the_guard_refuses_to_delete_and_lets_the_rest_pass() {
    let room = room();
    room.write("build/file", "");
    let refused = run(&room, "guard.toml", &["--yes", "Run: rm -rf build"]);
    assert!(
        refused.stderr.contains("rm -rf is not allowed here"),
        "{refused:?}"
    );
    assert!(room.has("build/file"));
    run(&room, "guard.toml", &["--yes", "Run: touch made"]);
    assert!(room.has("made"));
}

#[test]
fn the_first_hook_refuses_to_push() {
    let refused = run(&room(), "first-hook.toml", &["--yes", "Run: git push --force"]);
    assert!(refused.stderr.contains("only a human may push"), "{refused:?}");
}

#[test]
fn files_are_protected_also_under_yes() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let prompt = "Write .env: KEY=1 then Write Cargo.lock: x then Write notes.txt: hello";
    let finished = run(&room, "protect-files.toml", &["--yes", prompt]);
    assert!(finished.stderr.contains(".env may hold secrets"), "{finished:?}");
    assert!(
        finished.stderr.contains("Cargo.lock is written by a tool"),
        "{finished:?}"
    );
    assert_eq!(
        (room.has(".env"), room.has("Cargo.lock"), room.has("notes.txt")),
        (false, false, true)
    );
}

#[test]
fn events_are_logged_one_per_line() {
    let room = room();
    run(&room, "log-events.toml", &["--yes", "Run: true"]);
    let log = room.read("events.log");
    let names: Vec<String> = log
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("a line is JSON")["event"].to_string()
        })
        .collect();
    assert_eq!(
        names,
        [r#""approval_decided""#, r#""tool_end""#, r#""session_end""#]
    );
}

#[test]
fn the_model_sees_the_added_context() {
    let room = room();
    room.write(
        "talk.toml",
        "[[turns]]\nexpect = [\"The git branch is none.\"]\ntext = \"I see it.\"\n",
    );
    let finished = run(
        &room,
        "add-context.toml",
        &["--model", "scripted/talk.toml", "Hello"],
    );
    assert_eq!(finished.stdout, "I see it.\n", "{finished:?}");
}

#[test]
fn keys_are_taken_out_of_outputs() {
    if !needs("python3") {
        return;
    }
    let prompt = "Run: echo API_KEY=abc123 then Run: echo plain";
    let finished = run(&room(), "redact.toml", &["--yes", prompt]);
    assert!(finished.stdout.contains("API_KEY=[redacted]"), "{finished:?}");
    assert!(finished.stdout.contains("plain"), "{finished:?}");
    // The command itself holds the word; the output must not.
    assert!(!finished.stderr.contains("  API_KEY=abc123"), "{finished:?}");
}

#[test]
fn the_session_in_the_readme_is_what_happens() {
    let readme = document("README.md");
    let session = part(&readme, "session");
    assert_eq!(session.lines().count(), 12, "{session}");
    let room = room();
    std::os::unix::fs::symlink(project().join("examples"), room.work().join("examples")).expect("writable");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_becket"), room.home().join("becket")).expect("writable");
    let path = format!(
        "{}:{}",
        room.home().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut happened = String::new();
    for command in session.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = Command::new("/bin/sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(room.work())
            .env_clear()
            .env("HOME", room.home())
            .env("PATH", &path)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("a shell is there");
        happened.push_str(&format!(
            "$ {command}\n{}",
            String::from_utf8_lossy(&output.stdout)
        ));
    }
    assert_eq!(session, happened);
}

#[test]
fn the_first_hook_in_the_readme_is_the_example() {
    let readme = document("README.md");
    let hook = part(&readme, "first-hook");
    assert_eq!(hook, document("examples/first-hook.toml"));
    assert_eq!(hook.lines().count(), 6);
}

#[test]
fn every_hook_file_in_the_guides_is_one() {
    for guide in [
        "docs/guide/contexts.md",
        "docs/guide/hooks.md",
        "docs/guide/loop.md",
        "docs/guide/vfs.md",
        "docs/guide/workers.md",
    ] {
        let text = document(guide);
        let blocks = text
            .split("```toml\n")
            .skip(1)
            .filter_map(|rest| rest.split_once("```"));
        let files: Vec<&str> = blocks
            .map(|(block, _)| block)
            .filter(|block| block.contains("[[hook]]"))
            .collect();
        assert!(!files.is_empty(), "{guide} shows no hook");
        for file in files {
            let room = room();
            let path = room.write("hooks.toml", file);
            let finished = room.run(["--hooks", path.to_str().expect("the path is text"), "config"]);
            assert_eq!(finished.code, 0, "{guide}: {}\n{finished:?}", quoted(&path));
        }
    }
}

/// A block of the README between its marks, without the fences.
fn part<'a>(readme: &'a str, name: &str) -> &'a str {
    let (_, rest) = readme
        .split_once(&format!("<!-- generated: {name} -->\n"))
        .expect("the part begins");
    let (block, _) = rest.split_once("\n<!-- end -->").expect("the part ends");
    let (_, block) = block.split_once('\n').expect("a fence opens it");
    block.strip_suffix("```").expect("a fence closes it")
}
