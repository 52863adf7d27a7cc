//! Every project has a current context of its own: what was said in one is not said in another.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::room;

/// Runs the program in a folder of the room, which is made if it is not there.
fn run_in(room: &Room, folder: &str, arguments: &[&str]) -> Finished {
    let folder = room.work().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let run = room.command(arguments).current_dir(folder).output().unwrap();
    Finished {
        stdout: String::from_utf8(run.stdout).unwrap(),
        stderr: String::from_utf8(run.stderr).unwrap(),
        code: run.status.code().unwrap_or(-1),
    }
}

/// The context in which a prompt is said there.
fn context_in(room: &Room, folder: &str, arguments: &[&str]) -> String {
    let arguments = [&["--json"], arguments, &["hello"]].concat();
    let run = run_in(room, folder, &arguments).ended_with(0);
    let start = &run.events_named("session_start")[0];
    start["context_name"].as_str().unwrap().to_owned()
}

#[test]
fn what_was_said_in_one_project_does_not_go_on_in_another() {
    let room = room();
    for project in ["a", "b"] {
        std::fs::create_dir_all(room.work().join(project).join(".git")).unwrap();
    }
    let script = |expect: Value| room.model(&json!([{"text": "noted", "expect": expect}]));
    let model = script(json!([]));
    let run = run_in(&room, "a/src", &["--model", &model, "the harbour is mined"]).ended_with(0);
    assert!(
        !run.stderr.contains("continuing"),
        "nothing goes on yet: {}",
        run.stderr
    );
    let run = run_in(&room, "b", &["--json", "--model", &model, "hello"]).ended_with(0);
    assert!(!run.stdout.contains("harbour"), "{run:#?}");
    assert!(!run.stderr.contains("continuing"), "{run:#?}");

    // In the same project it does, from any folder of it, and a line says what.
    let again = script(json!(["the harbour is mined", "where?"]));
    let name = context_in(&room, "a/docs", &[]);
    assert!(name.starts_with("a-") && name.len() == 10, "{name}");
    run_in(&room, "a", &["--model", &again, "where?"])
        .ended_with(0)
        .complained(&format!(
            "continuing the conversation {name}: 4 messages, last used "
        ));

    // What is chosen in one is chosen there alone, and names are everybody's.
    assert_eq!(context_in(&room, "a", &["-c", "plans"]), "plans");
    assert_eq!(context_in(&room, "a/src", &[]), "plans");
    assert_eq!(context_in(&room, "a", &["-c", "-"]), name);
    assert!(context_in(&room, "b", &[]).starts_with("b-"));
    run_in(&room, "b", &["-c", "-", "hello"])
        .ended_with(2)
        .complained("there is no previous context yet");
    run_in(&room, "b", &["-c", "plans", "hello"])
        .ended_with(0)
        .complained("continuing the conversation plans: 4 messages");
    run_in(&room, "b", &["context", "rename", "intentions"]).ended_with(0);
    assert_eq!(context_in(&room, "b", &[]), "intentions");
    run_in(&room, "b", &["--yes", "context", "destroy"])
        .ended_with(0)
        .complained("destroyed the context intentions; the current one is b-");
    // What was the current one of all of them is a name like any other.
    assert_eq!(context_in(&room, "b", &["-C", "default"]), "default");
    let marked = run_in(&room, "a", &["contexts"]).ended_with(0).stdout;
    let marked: Vec<&str> = marked.lines().filter(|line| line.starts_with('*')).collect();
    assert!(marked.len() == 1 && marked[0].contains(&name), "{marked:?}");
}

#[test]
fn a_project_is_the_nearest_folder_that_looks_like_one() {
    let room = room();
    let write = |file: &str, text: &str| room.write(file, text);
    write("repository/.git/HEAD", "ref: refs/heads/main\n");
    write("repository/module/.git", "gitdir: ../.git/modules/module\n");
    write("repository/tool/becket.toml", "");
    write("repository/other/.becket/becket.toml", "");
    symlink(room.work().join("repository"), room.work().join("link")).unwrap();
    symlink("nowhere", room.work().join("repository/.hg")).unwrap();
    // A home under version control is not the project of everything in it.
    write("../home/.git/HEAD", "ref: refs/heads/main\n");
    for (folder, beginning) in [
        ("repository", "repository-"),
        ("repository/src/deep", "repository-"),
        ("repository/.git", "repository-"),
        ("link/src", "repository-"),
        ("repository/module/src", "module-"),
        ("repository/tool/src", "tool-"),
        ("repository/other", "other-"),
        ("plain", "plain-"),
        ("plain/below", "below-"),
        ("../home", "home-"),
        ("../home/notes", "notes-"),
    ] {
        let name = context_in(&room, folder, &[]);
        assert!(name.starts_with(beginning), "{name} in {folder}");
    }
    let all = [
        context_in(&room, "repository", &[]),
        context_in(&room, "link/src", &[]),
    ];
    assert_eq!(all[0], all[1], "a link leads to the same project");
    // Settings above a project that has its own go on counting in it.
    let deny = "[permissions]\ndeny = [\"shell\"]\n";
    write("repository/becket.toml", deny);
    run_in(&room, "repository/tool", &["Run: ls"])
        .ended_with(4)
        .complained("becket.toml has deny rules, and is not trusted");
    let mut top = room.command(["--json", "hello"]);
    let top = top.current_dir(Path::new("/")).output().unwrap();
    assert!(String::from_utf8_lossy(&top.stdout).contains("\"root-"));
}

#[test]
fn the_newest_session_is_the_one_of_this_project() {
    let room = room();
    for project in ["a", "b"] {
        std::fs::create_dir_all(room.work().join(project).join(".git")).unwrap();
    }
    let of = |folder: &str| {
        let run = run_in(&room, folder, &["--json", "hello"]).ended_with(0);
        run.events_named("session_start")[0]["session_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let none = run_in(&room, "b", &["trace"]).ended_with(2);
    assert!(none.stderr.contains("there are no sessions yet"), "{none:#?}");
    let in_a = of("a/src");
    // There is one, and not here.
    let none = run_in(&room, "b", &["trace"]).ended_with(2);
    assert!(none.stderr.contains("no sessions of this project"), "{none:#?}");
    assert!(none.stderr.contains("becket trace --all"), "{none:#?}");
    let in_b = of("b");
    let shown = |folder: &str, arguments: &[&str]| {
        let run = run_in(&room, folder, &[&["trace"], arguments].concat()).ended_with(0);
        let other = if run.stdout.contains(&in_a) { &in_b } else { &in_a };
        assert!(!run.stdout.contains(other), "{run:#?}");
        (run.stdout.contains(&in_a), run.stderr)
    };
    let (is_a, told) = shown("a/docs", &[]);
    assert!(
        is_a && told.contains("the newest session of this project"),
        "{told}"
    );
    assert!(told.contains(&in_b), "{told}");
    assert_eq!(shown("b", &[]), (false, String::new()));
    assert_eq!(shown("a", &["--all"]), (false, String::new()));
    assert_eq!(shown("b", &[&in_a]), (true, String::new()));
    run_in(&room, "a", &["trace", "--all", &in_a]).ended_with(2);
    let replayed = run_in(&room, "a", &["replay", "--json"]);
    assert!(!replayed.stdout.contains(&in_b), "{replayed:#?}");
}

#[test]
fn an_event_that_is_tried_out_happens_in_the_context_of_the_project() {
    let room = room();
    let hooks = room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"cat > told\"\n");
    room.run(["-c", "plans", "hello"]).ended_with(0);
    let fire = [
        "--hooks",
        &hooks,
        "hooks",
        "fire",
        "pre_tool",
        "--set",
        "tool_name=shell",
    ];
    room.run(fire).ended_with(0);
    let told: Value = serde_json::from_str(&room.read("told")).unwrap();
    assert_eq!(told["context_name"], "plans");
}
