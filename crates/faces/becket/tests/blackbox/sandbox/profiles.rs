//! What the profiles let commands do, and what is said about them.

use serde_json::json;
use testkit::needs;

use super::{can_confine, project};

#[test]
fn a_command_of_the_model_is_confined_and_says_so_when_it_fails() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    room.write(
        "../home/.config/becket/config.toml",
        "sandbox.shell = \"workspace\"\n",
    );
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo inside > file; echo x > becket.toml"}}]},
        {"text": "done"},
    ]));
    room.run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(0)
        .said("the command ran in the sandbox `workspace`");
    assert_eq!(room.read("file"), "inside\n");
    assert_eq!(room.read("becket.toml"), "# settings\n");
    room.run(["--yes", "--sandbox", "off", "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(room.read("becket.toml"), "x\n");
}

#[test]
fn a_background_job_is_confined_too() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let model = room.model(&json!([
        {"tool_calls": [{"name": "run_background_job", "arguments": {"cmd": "echo x > becket.toml; echo y > seen"}}]},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "until [ -s seen ]; do sleep 0.1; done"}}]},
        {"text": "done"},
    ]));
    room.run([
        "--yes",
        "--sandbox",
        "workspace",
        "--tools",
        "docker-agent",
        "--model",
        &model,
        "go",
    ])
    .ended_with(0);
    assert_eq!(room.read("becket.toml"), "# settings\n");
}

#[test]
fn what_stood_in_for_missing_settings_is_gone_afterwards() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    let inside = room
        .run(["--sandbox", "workspace", "sandbox", "run", "--", "ls", "-A"])
        .ended_with(0);
    assert!(inside.stdout.contains(".cursor"), "{inside:?}");
    for name in [".cursor", ".gemini", ".becket", ".git/commondir"] {
        assert!(!room.has(name), "{name}");
    }
    assert!(room.has(".claude/settings.json"), "what was there stays");
}

#[test]
fn the_exit_code_is_the_commands() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    room.run(["sandbox", "run", "--", "sh", "-c", "exit 7"])
        .ended_with(7);
    room.run(["sandbox", "run", "--", "sh", "-c", "kill -9 $$"])
        .ended_with(137);
    room.run(["sandbox", "run", "--", "no-such-program"])
        .ended_with(126)
        .complained("cannot start no-such-program");
}

#[test]
fn git_works_in_the_workspace() {
    if !needs("git") {
        return;
    }
    let room = crate::room();
    if !can_confine(&room) {
        return;
    }
    let git = |words: &[&str]| {
        let mut git = room.command_of(std::path::Path::new("git"), words);
        git.spawn()
            .map(testkit::finish)
            .expect("git can be started")
            .ended_with(0)
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "A"]);
    git(&["config", "user.email", "a@localhost"]);
    room.write("file", "text");
    let line = "git add -A && git commit -qm first && git status --porcelain && git log --oneline && git checkout -qb other";
    let inside = room
        .run(["--sandbox", "workspace", "sandbox", "run", "--", "sh", "-c", line])
        .ended_with(0);
    assert!(inside.stdout.contains("first"), "{inside:?}");
    let files = git(&["ls-files"]);
    assert_eq!(files.stdout, "file\n", "nothing of the sandbox is in the commit");
}

#[test]
fn explain_shows_what_is_writable_and_what_is_not() {
    let room = project();
    if !can_confine(&room) {
        return;
    }
    room.run(["--sandbox", "workspace", "sandbox", "explain"])
        .ended_with(0)
        .said("writable")
        .said("becket.toml")
        .said(".ssh")
        .said("network    none");
}

#[test]
fn an_unknown_profile_is_refused() {
    let room = project();
    room.run(["--sandbox", "airtight", "hi"])
        .ended_with(2)
        .complained("workspace");
}
