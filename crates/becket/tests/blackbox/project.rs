//! What a project brings along: `becket.toml` counts only once trusted, `AGENTS.md` is text.

use serde_json::json;
use testkit::{ModelServer, OpenAiStream, Response, Room};

use crate::room;

const WATCHING: &str = "[[hook]]\nevent = \"session_start\"\ncommand = \"touch watched\"\n";
const GUARDING: &str =
    "[[hook]]\nname = \"house-rule\"\nevent = \"pre_tool\"\ncommand = \"touch asked; echo no >&2; exit 2\"\n";

/// Asks for a command that leaves a file.
fn run(room: &Room, arguments: &[&str]) -> testkit::Finished {
    room.run([arguments, &["--yes", "Run: touch ran"]].concat())
}

#[test]
fn hooks_of_a_project_are_skipped_without_trust() {
    let room = room();
    room.write("becket.toml", WATCHING);
    run(&room, &[])
        .ended_with(0)
        .complained("becket.toml with 1 hook is not trusted and was skipped; --trust uses it");
    assert!(room.has("ran") && !room.has("watched"));
}

#[test]
fn a_guard_that_is_not_trusted_ends_the_run_before_anything_happens() {
    let room = room();
    room.write("becket.toml", GUARDING);
    let run = run(&room, &[])
        .ended_with(4)
        .complained("house-rule")
        .complained("--trust");
    assert_eq!(run.stdout, "");
    assert!(!room.has("ran") && !room.has("asked"));
    assert!(!room.store_file().exists(), "nothing was stored either");
}

#[test]
fn deny_rules_that_are_not_trusted_end_the_run_too() {
    let room = room();
    room.write("becket.toml", "[permissions]\ndeny = [\"shell\"]\n");
    run(&room, &[]).ended_with(4).complained("deny rules");
    assert!(!room.has("ran"));
    run(&room, &["--trust"])
        .ended_with(0)
        .complained("the rule `shell` denies it");
    assert!(!room.has("ran"));
}

#[test]
fn allow_rules_of_a_project_count_only_with_trust() {
    let room = room();
    room.write("becket.toml", "[permissions]\nallow = [\"shell\"]\n");
    room.run(["Run: touch ran"])
        .ended_with(0)
        .complained("not trusted");
    assert!(!room.has("ran"));
    room.run(["--trust", "Run: touch ran"]).ended_with(0);
    assert!(room.has("ran"));
}

#[test]
fn trust_uses_the_projects_hooks() {
    let room = room();
    room.write("becket.toml", format!("{WATCHING}{GUARDING}"));
    let run = run(&room, &["--trust"])
        .ended_with(0)
        .complained("✗ refused shell: no");
    assert!(!run.stderr.contains("not trusted"), "{run:#?}");
    assert!(room.has("watched") && room.has("asked") && !room.has("ran"));
}

#[test]
fn trust_lasts_for_one_run() {
    let room = room();
    room.write("becket.toml", GUARDING);
    run(&room, &["--trust"]).ended_with(0);
    run(&room, &[]).ended_with(4);
}

#[test]
fn yes_is_no_trust() {
    let room = room();
    room.write("becket.toml", GUARDING);
    room.run(["--yes", "hello"]).ended_with(4);
}

#[test]
fn the_file_at_the_projects_root_counts_in_its_folders() {
    let room = room();
    std::fs::create_dir_all(room.work().join(".git")).expect("the room is writable");
    room.write("becket.toml", GUARDING);
    room.write("deep/inside/file", "");
    let mut command = room.command(["--yes", "Run: touch ran"]);
    command.current_dir(room.work().join("deep/inside"));
    testkit::finish(command.spawn().expect("the binary can be started")).ended_with(4);
}

#[test]
fn a_broken_project_file_is_an_error_with_its_line() {
    for (text, message) in [
        ("[[hook]\n", "becket.toml:1:"),
        (
            "\n[[hook]]\nevent = \"pre_tol\"\ncommand = \"x\"\n",
            "becket.toml:3: unknown event `pre_tol`; did you mean `pre_tool`?",
        ),
        ("model = \"x\"\n", "becket.toml:1: unknown key `model`"),
    ] {
        for trust in [&[][..], &["--trust"]] {
            let room = room();
            room.write("becket.toml", text);
            run(&room, trust).ended_with(2).complained(message);
            assert!(!room.has("ran"), "{text}");
        }
    }
}

#[test]
fn agents_md_goes_to_the_model_without_trust() {
    let server = ModelServer::start([answer("fine")]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &server.url());
    std::fs::create_dir_all(room.work().join(".git")).expect("the room is writable");
    room.write("AGENTS.md", "Speak like a sailor.");
    room.write("deep/AGENTS.md", "Here you may whisper.");
    let mut command = room.command(["hello"]);
    command.current_dir(room.work().join("deep"));
    testkit::finish(command.spawn().expect("the binary can be started"))
        .ended_with(0)
        .said("fine");
    let body = server.only_request().json();
    let system = body["messages"][0]["content"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    assert_eq!(body["messages"][0]["role"], "system");
    let (outer, inner) = (
        system.find("Speak like a sailor."),
        system.find("Here you may whisper."),
    );
    assert!(outer.is_some() && inner.is_some() && outer < inner, "{system}");
    assert_eq!(body["messages"][1], json!({"role": "user", "content": "hello"}));
}

fn answer(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}
