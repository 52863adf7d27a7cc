//! Hooks that say `rewrites = false`: they start together, and nothing of what they decide is lost.

use serde_json::{Value, json};
use testkit::Room;

use crate::room;

/// A guard that says that it rewrites nothing.
fn neighbour(name: &str, command: &str) -> String {
    format!(
        "[[hook]]\nname = \"{name}\"\nevent = \"pre_tool\"\nrewrites = false\ntimeout = 120\ncommand = '''{command}'''\n"
    )
}

/// A command that ends when the other one has begun, and refuses if that never happens.
fn meeting(own: &str, other: &str, then: &str) -> String {
    neighbour(
        own,
        &format!(
            "touch {own}.here; left=6000; while [ ! -e {other}.here ]; do left=$((left - 1)); \
             [ $left -gt 0 ] || {{ echo {own} was alone >&2; exit 2; }}; sleep 0.01; done; {then}"
        ),
    )
}

fn run(room: &Room, hooks: &str) -> testkit::Finished {
    let hooks = room.hooks(hooks);
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch ran"}}]},
        {"text": "went on"},
    ]));
    room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
}

#[test]
fn they_run_at_the_same_time() {
    let room = room();
    let hooks = meeting("one", "two", "true") + &meeting("two", "one", "true");
    run(&room, &hooks).ended_with(0).said("went on");
    assert!(room.has("ran"));
}

#[test]
fn all_their_refusals_are_told_in_configured_order() {
    let room = room();
    let refuse = |name: &str| format!("echo {name} says no >&2; exit 2");
    // The first ends last.
    let hooks = meeting("one", "done", &refuse("one"))
        + &neighbour("two", "touch done.here; echo two says no >&2; exit 2");
    let told = run(&room, &hooks).ended_with(0);
    let place = |words: &str| {
        told.stderr
            .find(words)
            .unwrap_or_else(|| panic!("{words}: {told:#?}"))
    };
    assert!(place("one says no") < place("two says no"), "{told:#?}");
    assert!(!room.has("ran"));
}

#[test]
fn they_judge_what_another_has_rewritten_afterwards() {
    let strict = neighbour(
        "strict",
        "if grep -q 'touch other'; then echo not the other >&2; exit 2; fi",
    );
    let rewriting = r#"printf '%s' '{"arguments": {"command": "touch other"}}'"#;
    let writer = format!("[[hook]]\nname = \"writer\"\nevent = \"pre_tool\"\ncommand = '''{rewriting}'''\n");
    // The second says that it rewrites nothing, and does.
    for writer in [writer, neighbour("writer", rewriting)] {
        let room = room();
        let hooks = strict.clone() + &neighbour("silent", "true") + &writer;
        run(&room, &hooks).ended_with(0).complained("not the other");
        assert!(!room.has("ran") && !room.has("other"));
        let hooks = room.hooks(&hooks);
        let listed = room
            .run(["hooks", "list", "pre_tool", "--hooks", &hooks])
            .ended_with(0);
        assert!(listed.stdout.contains("rewrites nothing"), "{listed:#?}");
    }
}

#[test]
fn a_broken_one_refuses_beside_its_neighbours() {
    let room = room();
    let hooks = neighbour("silent", "true") + &neighbour("broken", "exit 7") + &neighbour("last", "true");
    run(&room, &hooks)
        .ended_with(0)
        .complained("hook broken could not decide");
    assert!(!room.has("ran"));
}

/// The remarks of `becket hooks check` about a file.
fn remarks(room: &Room, file: &str, kind: &str) -> Vec<Value> {
    let run = room.run(["hooks", "check", "--json", file]);
    let told: Value = serde_json::from_str(&run.stdout).expect("one object");
    let findings = told["findings"].as_array().expect("a list").clone();
    findings
        .into_iter()
        .filter(|finding| finding["kind"] == kind)
        .collect()
}

#[test]
fn a_hook_that_never_rewrote_anything_is_suggested_for_it_after_a_hundred_answers() {
    let room = room();
    let hook = |name: &str, command: &str| {
        format!("[[hook]]\nname = \"{name}\"\nevent = \"pre_tool\"\ncommand = '''{command}'''\n")
    };
    let rewriting = r#"grep -q 'echo 7"' && printf '%s' '{"arguments": {"command": "echo seven"}}'; true"#;
    let hooks = room.hooks(&(hook("silent", "true") + &hook("writer", rewriting)));
    let talk = |calls: std::ops::Range<usize>| {
        let calls: Vec<Value> = calls
            .map(|number| json!({"name": "shell", "arguments": {"command": format!("echo {number}")}}))
            .collect();
        let model = room.model(&json!([{"tool_calls": calls}, {"text": "done"}]));
        room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
            .ended_with(0);
    };
    // One of the calls is rewritten, and the silent hook judges it again.
    talk(0..98);
    assert_eq!(remarks(&room, &hooks, "waits"), [] as [Value; 0]);
    talk(98..99);
    let found = remarks(&room, &hooks, "waits");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (&found[0]["line"], &found[0]["severity"]),
        (&json!(1), &json!("remark"))
    );
    assert!(
        found[0]["hint"].to_string().contains("rewrites = false"),
        "{found:#?}"
    );
}

#[test]
fn a_hook_that_says_it_rewrites_nothing_and_does_is_found() {
    let room = room();
    let hooks = room.hooks(&neighbour("liar", r#"echo '{"arguments": {"command": "ls"}}'"#));
    let found = remarks(&room, &hooks, "rewrites_after_all");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0]["message"].to_string().contains("`arguments`"),
        "{found:#?}"
    );
}

/// A filter says what it rewrites; whether it does is judged by the next one alone.
#[test]
fn filters_see_what_the_ones_before_them_have_made_of_it() {
    let filter = |name: &str, command: &str| {
        neighbour(name, command).replace("event = \"pre_tool\"", "event = \"pre_tool_output\"")
    };
    let shows = r#"printf '%s' '{"content": [{"type": "text", "text": "decoded SECRET"}]}'"#;
    let withholds = r#"printf '%s' '{"withheld": "a key"}'"#;
    let room = room();
    let hooks = filter("decode", shows) + &filter("search", "if grep -q 'decoded SECRET'; then exit 7; fi");
    run(&room, &hooks);
    assert!(!room.run(["context", "export"]).stdout.contains("SECRET"));
    let hooks = filter("withhold", withholds) + &filter("ship", "cat >shipped");
    run(&room, &hooks);
    assert!(!room.has("shipped"));
}

#[test]
fn a_deny_among_many_keeps_those_that_have_not_started_from_running() {
    let room = room();
    let hooks: String = (0..40)
        .map(|number| match number {
            2 => neighbour("two", "echo two says no >&2; exit 2"),
            number => neighbour(&format!("number {number}"), &format!("touch ran.{number}")),
        })
        .collect();
    run(&room, &hooks).ended_with(0).complained("two says no");
    assert!(room.has("ran.1") && !room.has("ran.39") && !room.has("ran"));
}
