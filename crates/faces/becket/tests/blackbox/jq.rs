//! becket's own jq: called by its name, and there for hooks where the machine has none.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use testkit::{Room, needs};

use crate::room;

/// Programs that the tests' hooks use beside jq.
const PROGRAMS: &[&str] = &["sh", "cat", "grep", "touch", "printf"];

/// A PATH with everything that hooks need, and without jq.
fn path_without_jq(room: &Room) -> String {
    let folder = room.work().join("../bin");
    std::fs::create_dir_all(&folder).unwrap();
    for program in PROGRAMS {
        let there = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        let there = there
            .iter()
            .find(|file| file.exists())
            .expect("every system has it");
        symlink(there, folder.join(program)).unwrap();
    }
    folder.canonicalize().unwrap().display().to_string()
}

/// A guard as people write it: its verdict hangs on jq.
const GUARD: &str = r#"
[[hook]]
name = "no-ran"
event = "pre_tool"
command = """
COMMAND=$(jq -r '.arguments.command // ""')
if printf '%s' "$COMMAND" | grep -q ran; then echo "jq saw $COMMAND" >&2; exit 2; fi
"""
"#;

fn touching(room: &Room) -> String {
    room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch ran; jq --version"}}]},
        {"text": "went on"},
    ]))
}

#[test]
fn a_guard_that_uses_jq_guards_where_there_is_none() {
    let room = room();
    let path = path_without_jq(&room);
    let room = room.with("PATH", &path);
    let hooks = room.hooks(GUARD);
    let model = touching(&room);
    // Twice: the first makes the link, the second finds it.
    for _ in 0..2 {
        room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
            .ended_with(0)
            .complained("jq saw touch ran; jq --version")
            .said("went on");
        assert!(!room.has("ran"));
    }
    let links = room.home().join(".cache/becket/jq");
    assert!(links.is_dir(), "the link is in the cache");
}

/// A guard of which jq alone is the verdict.
const STRICT_GUARD: &str = r##"
[[hook]]
name = "shape"
event = "pre_tool"
command = """jq -e '.arguments.command | split("#")[1] | fromjson | length > 0' > /dev/null"""
"##;

#[test]
fn a_guard_refuses_what_is_nested_too_deep_for_jq() {
    let room = room();
    let path = path_without_jq(&room);
    let room = room.with("PATH", &path);
    let hooks = room.hooks(STRICT_GUARD);
    let touching = |comment: &str| {
        room.model(&json!([
            {"tool_calls": [{"name": "shell", "arguments": {"command": format!("touch ran #{comment}")}}]},
            {"text": "went on"},
        ]))
    };
    let run = |model: &str| room.run(["--yes", "--hooks", &hooks, "--model", model, "go"]);
    run(&touching(&"[".repeat(200_000))).complained("exceeds the depth limit of 1000");
    assert!(!room.has("ran"));
    run(&touching("[1]")).ended_with(0).said("went on");
    assert!(room.has("ran"));
}

#[test]
fn tools_do_not_get_it_and_a_system_that_has_one_keeps_it() {
    let room = room();
    let path = path_without_jq(&room);
    let room = room.with("PATH", &path);
    let model = touching(&room);
    let run = room
        .run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(0);
    let results = run.events_named("tool_end");
    assert!(results[0].to_string().contains("not found"), "{}", results[0]);

    let room = crate::room();
    let path = path_without_jq(&room);
    room.script("../bin/jq", "#!/bin/sh\necho ran\n");
    room.config("[hooks]\njq = \"system\"\n");
    let room = room.with("PATH", &path);
    let hooks = room.hooks(GUARD);
    let model = touching(&room);
    room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0)
        .complained("jq saw ran");
    assert!(
        !room.home().join(".cache/becket/jq").exists(),
        "no link is made where nobody needs it"
    );
}

#[test]
fn a_cache_that_others_can_write_is_said_and_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let room = room();
    let path = path_without_jq(&room);
    let room = room.with("PATH", &path);
    let cache = room.home().join(".cache");
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    let model = room.model(&json!([{"text": "hello"}]));
    let hooks = room.hooks(GUARD);
    room.run(["--model", &model, "--hooks", &hooks, "go"])
        .ended_with(0)
        .complained("own jq is not used for hooks: ")
        .complained("can be written by others");
}

#[test]
fn it_is_a_command_with_jqs_own_options_and_exit_codes() {
    let room = room();
    let run = |words: &[&str], input: &str| room.run_with_input([&["jq"], words].concat(), input);
    let answer = run(&["-c", "-r", ".a, .b"], r#"{"a": "x", "b": [1, 2]}"#).ended_with(0);
    assert_eq!(answer.stdout, "x\n[1,2]\n");
    let answer = room.run(["jq", "-n", "-r", "$ENV.HOME"]).ended_with(0);
    assert_eq!(answer.stdout.trim_end(), room.home().display().to_string());
    room.write("filter.jq", "# doubles\n.n * 2");
    room.write("list.json", "1 2");
    assert_eq!(
        run(&["-f", "filter.jq"], r#"{"n": 4}"#).ended_with(0).stdout,
        "8\n"
    );
    let answer = run(
        &[
            "-c",
            "--slurpfile",
            "l",
            "list.json",
            "--rawfile",
            "t",
            "list.json",
            "[$l, $t]",
        ],
        "0",
    );
    assert_eq!(answer.ended_with(0).stdout, "[[1,2],\"1 2\"]\n");
    assert_eq!(room.run(["jq", ".", "list.json"]).ended_with(0).stdout, "1\n2\n");
    run(&["-e", ".x"], "{}").ended_with(1);
    run(&["--nonsense"], "{}")
        .ended_with(2)
        .complained("unknown option --nonsense");
    run(&[".a |"], "{}").ended_with(3).complained("1 compile error");
    run(&["error"], "\"so\"")
        .ended_with(5)
        .complained("jq: error: so");
    room.run(["--json", "jq"])
        .ended_with(2)
        .complained("must come before all options");
    assert!(!room.run(["--help"]).stdout.contains("jq"), "it is for hooks");
}

/// A guard that calls jq twice: once for what every jq answers, once for what only some do.
const TWICE: &str = r#"
[[hook]]
name = "twice"
event = "pre_tool"
command = """
INPUT=$(cat)
COMMAND=$(printf '%s' "$INPUT" | jq -r '.arguments.command // empty')
COUNT=$(printf '%s' "$INPUT" | jq 'reduce .arguments.command as $x (0; . + 1)')
if [ "$COMMAND" = "touch ran" ] && [ "$COUNT" = 1 ]; then echo "both answered" >&2; exit 2; fi
"""
"#;

#[test]
fn quick_answers_come_from_becket_and_others_from_the_machine() {
    if !needs("jq") {
        return;
    }
    let room = room();
    let hooks = room.hooks(TWICE);
    let explain = |room: &Room| {
        let arguments = r#"{"command": "touch ran"}"#;
        let run = room.run([
            "--json", "--hooks", &hooks, "hooks", "explain", "shell", arguments,
        ]);
        run.ended_with(0).events().remove(0)
    };
    let explained = explain(&room);
    let jq = explained["jq"].as_object().expect("who answered").clone();
    assert_eq!(jq["quick"], 1, "{jq:?}");
    let others: Vec<&String> = jq.keys().filter(|who| *who != "quick").collect();
    assert!(others.len() == 1 && others[0].ends_with("/jq (filter)"), "{jq:?}");
    assert_eq!(explained["decision"]["decision"], "deny", "{explained}");
    room.run([
        "--hooks",
        &hooks,
        "hooks",
        "bench",
        "pre_tool",
        "--set",
        "arguments.command=touch ran",
    ])
    .ended_with(0)
    .said("jq: ")
    .said("quick ");

    room.config("[hooks]\njq = \"system\"\n");
    let explained = explain(&room);
    assert_eq!(explained["jq"], json!({}), "the machine's jq reports nothing");
    assert_eq!(explained["decision"]["decision"], "deny", "{explained}");
}

#[test]
fn input_that_comes_slowly_and_whoever_stops_reading_are_left_to_the_machine() {
    if !needs("jq") {
        return;
    }
    let program = env!("CARGO_BIN_EXE_becket-jq");
    let told = |script: &str| {
        let script = script.replace("JQ", program);
        let output = std::process::Command::new("bash")
            .args(["-c", &script])
            .output()
            .expect("bash");
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            output.status.code(),
        )
    };
    let slowly = r#"(echo '{"a": 1}'; sleep 2; echo '{"a": 2}') | JQ .a"#;
    assert_eq!(told(slowly), ("1\n2\n".into(), Some(0)));
    // Broken input after good one: what jq prints before its error is printed once, and its exit code is kept.
    let broken = r#"printf '{"a": 1} {"a"' | JQ .a 2>/dev/null; echo $?"#;
    let machine = told(&broken.replace("JQ", "jq"));
    assert!(machine.0.starts_with("1\n"), "{machine:?}");
    assert_eq!(told(broken), machine);
    let unread = r#"printf '"%0700000d"' 0 | JQ . | (exec <&-; sleep 1); echo "${PIPESTATUS[1]}""#;
    assert_eq!(
        told(unread),
        ("141\n".into(), Some(0)),
        "it ends as every program whose reader is gone"
    );
}
