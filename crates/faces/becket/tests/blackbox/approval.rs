//! Who decides whether a call runs: rules, hooks, `--yes`, the read-only hint, and nobody.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use testkit::{Finished, Room, quoted};

use crate::room;

/// One row of the table: given these settings, when this call is made, then it runs or not, and that one decided.
struct Case {
    permissions: &'static str,
    yes: bool,
    /// What a hook of `pre_tool` answers.
    verdict: Option<&'static str>,
    call: Value,
    runs: bool,
    source: &'static str,
}

const ALLOW: Option<&str> = Some(r#""allow""#);
const ASK: Option<&str> = Some(r#"{"ask":"why"}"#);
const INSIST: Option<&str> = Some(r#"{"insist":"why"}"#);
const DENY: Option<&str> = Some(r#"{"deny":"why"}"#);

fn shell(command: &str) -> Value {
    json!({"name": "shell", "arguments": {"command": command}})
}

fn read(path: &str) -> Value {
    json!({"name": "read", "arguments": {"path": path}})
}

fn write(path: &str) -> Value {
    json!({"name": "write", "arguments": {"path": path, "content": "words"}})
}

/// A room with a text inside the working directory, one outside, and links that lead out.
fn furnished() -> Room {
    let room = room();
    room.write("inside.txt", "the words are here");
    room.write("../outside.txt", "the words are here");
    room.write("sub/file", "");
    symlink("../outside.txt", room.work().join("link")).expect("a link can be made");
    symlink("..", room.work().join("way_out")).expect("a link can be made");
    room
}

fn run_call(room: &Room, permissions: &str, yes: bool, verdict: Option<&str>, call: &Value) -> Finished {
    room.config(&format!("[permissions]\n{permissions}\n"));
    let answer = verdict.map_or("{}".to_string(), |verdict| format!("{{\"verdict\":{verdict}}}"));
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"echo\", '{answer}']\n"
    ));
    let model = room.model(&json!([{"tool_calls": [call]}, {"text": "went on"}]));
    let mut arguments = vec!["--json", "--hooks", &hooks, "--model", &model, "go"];
    if yes {
        arguments.push("--yes");
    }
    room.run(arguments).ended_with(0)
}

/// Whether the call had its effect: the text was read, or a file was made.
fn had_effect(room: &Room, run: &Finished) -> bool {
    let read = run
        .events_named("tool_end")
        .iter()
        .any(|event| event.to_string().contains("the words are here"));
    read || ["ran", "out/ran", "../ran"].iter().any(|file| room.has(file))
}

fn check(cases: Vec<Case>) {
    for Case {
        permissions,
        yes,
        verdict,
        call,
        runs,
        source,
    } in cases
    {
        let room = furnished();
        let run = run_call(&room, permissions, yes, verdict, &call);
        let row = format!("{permissions:?}, yes {yes}, {verdict:?}, {call}: {}", run.stderr);
        assert_eq!(had_effect(&room, &run), runs, "{row}");
        let decided = run.events_named("approval_decided");
        assert_eq!(decided.len(), 1, "{row}");
        let decision = if runs { "allow" } else { "deny" };
        assert_eq!(
            (&decided[0]["source"], &decided[0]["decision"]),
            (&json!(source), &json!(decision)),
            "{row}"
        );
    }
}

fn case(permissions: &'static str, yes: bool, verdict: Option<&'static str>, call: Value) -> Case {
    Case {
        permissions,
        yes,
        verdict,
        call,
        runs: false,
        source: "",
    }
}

impl Case {
    fn runs_by(self, source: &'static str) -> Self {
        Self {
            runs: true,
            source,
            ..self
        }
    }

    fn refused_by(self, source: &'static str) -> Self {
        Self {
            runs: false,
            source,
            ..self
        }
    }
}

const ALLOW_TOUCH: &str = r#"allow = ["shell:command=touch *"]"#;
const DENY_TOUCH: &str = r#"deny = ["shell:command=touch *"]"#;
const ASK_SHELL: &str = r#"ask = ["shell"]"#;

#[test]
fn a_command_needs_a_yes_from_somebody() {
    let touch = || shell("touch ran");
    check(vec![
        case("", false, None, touch()).refused_by("headless"),
        case("", true, None, touch()).runs_by("yes"),
        case(ALLOW_TOUCH, false, None, touch()).runs_by("allow_rule"),
        case(DENY_TOUCH, false, None, touch()).refused_by("deny_rule"),
        case(DENY_TOUCH, true, None, touch()).refused_by("deny_rule"),
        case(ASK_SHELL, false, None, touch()).refused_by("headless"),
        case(ASK_SHELL, true, None, touch()).runs_by("yes"),
        case("allow = [\"shell\"]\nask = [\"shell\"]", false, None, touch()).runs_by("allow_rule"),
        case("allow = [\"shell\"]\ndeny = [\"shell\"]", true, None, touch()).refused_by("deny_rule"),
        case(r#"allow = ["shell:command=other"]"#, false, None, touch()).refused_by("headless"),
        case(r#"allow = ["*"]"#, false, None, touch()).runs_by("allow_rule"),
    ]);
}

#[test]
fn a_verdict_stands_above_allow_rules_and_below_deny_rules() {
    let touch = || shell("touch ran");
    check(vec![
        case("", false, ALLOW, touch()).runs_by("hook"),
        case("", false, ASK, touch()).refused_by("headless"),
        case("", true, ASK, touch()).runs_by("yes"),
        case("", false, INSIST, touch()).refused_by("headless"),
        case("", true, INSIST, touch()).refused_by("headless"),
        case("", false, DENY, touch()).refused_by("hook"),
        case("", true, DENY, touch()).refused_by("hook"),
        case(ALLOW_TOUCH, true, DENY, touch()).refused_by("hook"),
        case(ALLOW_TOUCH, false, ASK, touch()).refused_by("headless"),
        case(ALLOW_TOUCH, true, INSIST, touch()).refused_by("headless"),
        case(ASK_SHELL, false, ALLOW, touch()).runs_by("hook"),
        case(DENY_TOUCH, true, ALLOW, touch()).refused_by("deny_rule"),
    ]);
}

#[test]
fn reading_is_free_inside_the_working_directory_and_nowhere_else() {
    check(vec![
        case("", false, None, read("inside.txt")).runs_by("read_only"),
        case("", false, None, read("./sub/../inside.txt")).runs_by("read_only"),
        case("", false, None, read("../outside.txt")).refused_by("headless"),
        case("", false, None, read("sub/../../outside.txt")).refused_by("headless"),
        case("", false, None, read("link")).refused_by("headless"),
        case("", false, None, read("way_out/outside.txt")).refused_by("headless"),
        case("", false, None, read("no_such_folder/../../outside.txt")).refused_by("headless"),
        case("", true, None, read("link")).runs_by("yes"),
        case("", false, ALLOW, read("link")).runs_by("hook"),
        case("", false, ASK, read("inside.txt")).refused_by("headless"),
        case("", true, DENY, read("inside.txt")).refused_by("hook"),
        case(r#"ask = ["read"]"#, false, None, read("inside.txt")).refused_by("headless"),
        case(
            r#"deny = ["read:path=inside.txt"]"#,
            true,
            None,
            read("sub/../inside.txt"),
        )
        .refused_by("deny_rule"),
        case(r#"deny = ["read:path=*/outside.txt"]"#, true, None, read("link")).refused_by("deny_rule"),
        case(r#"allow = ["read:path=link"]"#, false, None, read("link")).refused_by("headless"),
    ]);
}

#[test]
fn writing_needs_a_yes_and_rules_see_the_resolved_path() {
    let allow_out = r#"allow = ["write:path=out/*"]"#;
    check(vec![
        case("", false, None, write("ran")).refused_by("headless"),
        case("", true, None, write("ran")).runs_by("yes"),
        case(allow_out, false, None, write("out/ran")).runs_by("allow_rule"),
        case(allow_out, false, None, write("ran")).refused_by("headless"),
        case(allow_out, false, None, write("out/../ran")).refused_by("headless"),
        case(allow_out, false, None, write("out/../../ran")).refused_by("headless"),
        case(
            r#"allow = ["write:path=way_out/*"]"#,
            false,
            None,
            write("way_out/ran"),
        )
        .refused_by("headless"),
        case(r#"deny = ["*:path=ran"]"#, true, None, write("sub/../ran")).refused_by("deny_rule"),
    ]);
}

#[test]
fn further_folders_can_be_made_free_to_read() {
    let room = furnished();
    let library = room.work().join("..");
    let permissions = format!("readable = [{}]", quoted(&library));
    let run = run_call(&room, &permissions, false, None, &read("link"));
    assert!(had_effect(&room, &run), "{run:#?}");
    let run = run_call(&room, &permissions, false, None, &write("../ran"));
    assert!(!room.has("../ran"), "free to read is not free to write: {run:#?}");
}

#[test]
fn listing_and_searching_outside_need_a_yes_too() {
    let calls = [
        json!({"name": "list", "arguments": {"path": ".."}}),
        json!({"name": "find", "arguments": {"pattern": "*.txt", "path": "way_out"}}),
        json!({"name": "grep", "arguments": {"pattern": "the words", "path": "../outside.txt"}}),
    ];
    for call in calls {
        let room = furnished();
        let run = run_call(&room, "", false, None, &call);
        let decided = run.events_named("approval_decided");
        assert_eq!(decided[0]["source"], "headless", "{call}: {decided:?}");
        assert!(!run.stdout.contains("outside.txt:1"), "{run:#?}");
    }
}

#[test]
fn a_search_does_not_follow_links_out_of_the_working_directory() {
    let room = furnished();
    room.write("../outside.txt", "hidden words");
    let call = json!({"name": "grep", "arguments": {"pattern": "words", "path": "."}});
    let run = run_call(&room, "", false, None, &call);
    let ends = run.events_named("tool_end");
    let result = ends[0].to_string();
    assert!(
        result.contains("the words are here") && !result.contains("hidden words"),
        "{result}"
    );
}

#[test]
fn a_compound_command_does_not_slip_through_an_allow_rule() {
    let commands = [
        "echo x; touch ran",
        "echo x && touch ran",
        "echo x || touch ran; touch ran",
        "echo x & touch ran",
        "echo $(touch ran)",
        "echo `touch ran`",
        "echo x | tee ran",
        "echo x > ran",
        "echo x >> ran",
        "echo x\ntouch ran",
        "echo x\r\ntouch ran",
        "echo \"$(touch ran)\"",
        "echo x;touch${IFS}ran",
    ];
    for command in commands {
        let room = room();
        let run = run_call(
            &room,
            r#"allow = ["shell:command=echo *"]"#,
            false,
            None,
            &shell(command),
        );
        assert!(!room.has("ran"), "{command}");
        assert_eq!(
            run.events_named("approval_decided")[0]["source"],
            "headless",
            "{command}"
        );
    }
    let room = room();
    let run = run_call(
        &room,
        r#"allow = ["shell:command=echo *"]"#,
        false,
        None,
        &shell("echo harmless"),
    );
    assert_eq!(run.events_named("approval_decided")[0]["source"], "allow_rule");
}

#[test]
fn the_persons_question_is_answered_by_a_hook_or_by_nobody() {
    for (answer, runs) in [
        (r#"{"verdict":"allow"}"#, true),
        (r#"{"verdict":{"deny":"no"}}"#, false),
        ("{}", false),
    ] {
        let room = room();
        let hooks = room.hooks(&format!(
            "[[hook]]\nevent = \"permission_request\"\ncommand = [\"echo\", '{answer}']\n"
        ));
        room.run(["--hooks", &hooks, "Run: touch ran"]).ended_with(0);
        assert_eq!(room.has("ran"), runs, "{answer}");
    }
}

#[test]
fn nobody_to_ask_is_said_with_what_would_help() {
    let room = room();
    room.run(["Run: touch ran"])
        .ended_with(0)
        .complained("there is no terminal to ask at")
        .complained("--yes");
}

#[test]
fn a_wrong_rule_is_named() {
    let room = room();
    room.config("[permissions]\nallow = [\"shell:rm\"]\n");
    room.run(["Run: true"])
        .ended_with(2)
        .complained("shell:rm")
        .complained("tool:argument=glob");
}

#[test]
fn an_alias_of_an_argument_is_judged_like_the_argument() {
    let room = room();
    let call = json!({"name": "shell", "arguments": {"cmd": "touch ran"}});
    let run = run_call(&room, r#"deny = ["shell:command=touch*"]"#, true, None, &call);
    assert_eq!(run.events_named("approval_decided")[0]["source"], "deny_rule");
    assert!(!room.has("ran"));
}
