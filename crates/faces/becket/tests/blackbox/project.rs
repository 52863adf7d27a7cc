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
        .complained("becket.toml with 1 hook is not trusted and was skipped; --trust uses it for this run");
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

/// Runs in a folder below the working directory.
fn run_in(room: &Room, folder: &str, arguments: &[&str]) -> testkit::Finished {
    let mut command = room.command(arguments);
    command.current_dir(room.work().join(folder));
    testkit::finish(command.spawn().expect("the binary can be started"))
}

fn pipe_at(room: &Room, name: &str) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, room.work().join(name), FileType::Fifo, Mode::RWXU, 0).expect("the room is writable");
}

#[test]
fn every_file_from_the_root_down_counts() {
    let touching = |name: &str| {
        format!("[[hook]]\nevent = \"session_start\"\ncommand = \"echo {name} >> seen\"\npriority = 0\n")
    };
    let room = room();
    std::fs::create_dir_all(room.work().join(".git")).expect("the room is writable");
    room.write("becket.toml", touching("root"));
    room.write("deep/becket.toml", touching("deep"));
    room.write("deep/inside/becket.toml", touching("inside"));
    let run = run_in(&room, "deep/inside", &["hello"]).ended_with(0);
    assert_eq!(
        run.stderr.matches("not trusted and was skipped").count(),
        3,
        "{run:#?}"
    );
    run_in(&room, "deep/inside", &["--trust", "hello"]).ended_with(0);
    let mut seen: Vec<String> = room.read("deep/inside/seen").lines().map(Into::into).collect();
    seen.sort();
    assert_eq!(seen, ["deep", "inside", "root"]);
}

#[test]
fn a_nearer_file_does_not_hide_a_guard_or_a_deny_rule_at_the_root() {
    for guarding in [GUARDING, "[permissions]\ndeny = [\"shell\"]\n"] {
        let room = room();
        std::fs::create_dir_all(room.work().join(".git")).expect("the room is writable");
        room.write("becket.toml", guarding);
        room.write("deep/becket.toml", WATCHING);
        run_in(&room, "deep", &["--yes", "Run: touch ran"])
            .ended_with(4)
            .complained("work/becket.toml has");
        assert!(!room.has("deep/ran") && !room.has("deep/watched"));
        run_in(&room, "deep", &["--trust", "--yes", "Run: touch ran"])
            .ended_with(0)
            .complained("✗ refused shell");
        assert!(!room.has("deep/ran") && room.has("deep/watched"));
    }
}

#[test]
fn a_guard_that_is_not_trusted_does_not_keep_doctor_and_config_from_working() {
    let room = room();
    room.write("becket.toml", GUARDING);
    room.run(["config"])
        .ended_with(0)
        .said("rehearsal/rehearsal")
        .complained("house-rule");
    let findings = room.run(["doctor", "--json"]).ended_with(1).events();
    let wrong: Vec<_> = findings.iter().filter(|finding| finding["ok"] == false).collect();
    assert_eq!(wrong.len(), 1, "{findings:?}");
    let text = |field: &str| wrong[0][field].as_str().unwrap_or_default().to_string();
    assert!(text("what").starts_with("project "), "{wrong:?}");
    assert!(text("trouble").contains("house-rule"), "{wrong:?}");
    assert!(findings.len() > 3, "everything else was looked at: {findings:?}");
    room.write("becket.toml", "[[hook]\n");
    room.run(["config"]).ended_with(2).complained("becket.toml:1:");
    room.run(["doctor"])
        .ended_with(1)
        .said("wrong project")
        .said("ok    store");
}

#[test]
fn a_pipe_in_place_of_a_projects_file_is_not_waited_for() {
    let room = room();
    pipe_at(&room, "AGENTS.md");
    room.run(["hello"])
        .ended_with(0)
        .complained("AGENTS.md was skipped: it is not a regular file");
    pipe_at(&room, "becket.toml");
    room.run(["hello"])
        .ended_with(2)
        .complained("becket.toml: it is not a regular file");
}

#[test]
fn agents_md_is_only_read_from_inside_the_project_and_what_is_skipped_is_said() {
    let server = ModelServer::start([answer("fine")]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &server.url());
    let link = |from: &str, to: &str| {
        let from = room.write(from, "");
        std::fs::remove_file(&from).expect("the room is writable");
        std::os::unix::fs::symlink(to, from).expect("the room is writable");
    };
    std::fs::create_dir_all(room.work().join(".git")).expect("the room is writable");
    room.write("../secret", "a private key");
    room.write("house/rules.md", "Be kind.");
    link("AGENTS.md", "house/rules.md");
    link("a/AGENTS.md", "../../secret");
    room.write("a/b/AGENTS.md", "x".repeat(256 * 1024 + 1));
    room.write("a/b/c/AGENTS.md", b"\xff");
    link("a/b/c/d/AGENTS.md", "nowhere");
    run_in(&room, "a/b/c/d", &["hello"])
        .ended_with(0)
        .complained("a/AGENTS.md was skipped: it is a link that leads out of the project")
        .complained("a/b/AGENTS.md was skipped: it is larger than 256 KiB")
        .complained("a/b/c/AGENTS.md was skipped: it is not UTF-8 text")
        .complained("a/b/c/d/AGENTS.md was skipped: No such file");
    let system = server.only_request().json()["messages"][0]["content"].to_string();
    assert!(system.contains("Be kind."), "{system}");
    assert!(
        !system.contains("a private key") && !system.contains("xxx"),
        "{system}"
    );
}

fn answer(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}
