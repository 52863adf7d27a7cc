//! Plugins that stand between data and the model: what one of them was asked about does not pass when it breaks.

use serde_json::json;
use testkit::needs;

use super::Generation::{Newer, Older};
use super::{Chibi, Generation, Told, runs, says};

/// The ways in which a hook breaks.
const BREAKS: &[&str] = &[
    "exit 3",
    "exit 2",
    "echo oh >&2; exit 1",
    "echo '{}'; exit 1",
    "kill -9 $$",
    "sleep 600",
    "echo thank you",
    "echo null",
    "echo '[]'",
    "printf '{\"output\":\"a\",\"output\":\"b\"}'",
    "yes | head -c 3000000",
];

fn with(generation: Generation, hook: &str, body: &str) -> (Chibi, Told) {
    let chibi = Chibi::new();
    chibi.room.config("[chibi]\nhook_timeout = 4\n");
    chibi.plugin(generation, "filter", &[hook], body);
    let told = chibi.ask(&["--yes", "go"], &[runs("echo the secret word"), says("done")]);
    (chibi, told)
}

#[test]
fn a_prompt_whose_filter_breaks_reaches_no_model() {
    for (hook, generation) in [("pre_message", Newer), ("pre_api_request", Older)] {
        for body in BREAKS {
            let (_, told) = with(generation, hook, body);
            assert_eq!(told.requests.len(), 0, "{hook}: {body}: {told:#?}");
            assert_eq!(told.run.code, 1, "{hook}: {body}: {told:#?}");
            assert!(told.run.stderr.contains("filter"), "{hook}: {body}: {told:#?}");
        }
    }
}

#[test]
fn no_tools_are_offered_that_a_broken_filter_did_not_let_pass() {
    for body in BREAKS {
        let chibi = Chibi::new();
        chibi.room.config("[chibi]\nhook_timeout = 4\n");
        chibi.plugin(Newer, "filter", &["pre_api_tools"], body);
        let told = chibi.ask(&["--yes", "go"], &[says("done")]).went_well().asked(1);
        assert_eq!(told.tools(0), [""; 0], "{body}: {told:#?}");
        assert!(told.run.stderr.contains("filter"), "{body}: {told:#?}");
    }
}

#[test]
fn an_output_whose_filter_breaks_is_withheld() {
    for body in BREAKS {
        let (_, told) = with(Newer, "pre_tool_output", body);
        let told = told.went_well().asked(2);
        let result = &told.results()[0];
        assert!(
            !told.requests[1].to_string().contains("the secret word\\n"),
            "{body}: {told:#?}"
        );
        assert!(
            result.contains("withheld") && result.contains("filter"),
            "{body}: {result}"
        );
    }
}

#[test]
fn a_shell_test_that_was_false_says_nothing() {
    for hook in [
        "pre_message",
        "pre_api_request",
        "pre_api_tools",
        "pre_tool_output",
    ] {
        for generation in [Newer, Older] {
            let (_, told) = with(generation, hook, "[[ x == y ]] && echo '{}'");
            let told = told.went_well().asked(2);
            assert!(told.results()[0].contains("the secret word"), "{hook}: {told:#?}");
        }
    }
}

#[test]
fn a_redactor_finds_room_for_a_long_text() {
    if !needs("python3") {
        return;
    }
    let chibi = Chibi::new();
    chibi.room.config("[tools]\noutput_limit = 20000000\n");
    chibi.python(
        Newer,
        "redact",
        &["pre_tool_output"],
        "answer = {\"output\": data[\"output\"].replace(\"hunter2\", \"[hidden]\")}",
    );
    let command = "printf 'hunter2 '; head -c 3000000 /dev/zero | tr '\\0' 'x'; printf ' hunter2'";
    let told = chibi
        .ask(&["--yes", "go"], &[runs(command), says("done")])
        .went_well()
        .asked(2);
    let result = &told.results()[0];
    assert!(
        result.contains("[hidden]"),
        "{}",
        &result[..200.min(result.len())]
    );
    assert!(!result.contains("hunter2"), "the secret went to the model");
}

#[test]
fn hooks_of_beckets_own_withhold_too_unless_they_are_told_to_go_on() {
    for (event, passes) in [
        ("pre_tool_output", "the secret word"),
        ("tools_offered", "\"tools\""),
    ] {
        for (more, is_withheld) in [("", true), ("on_failure = \"continue\"\n", false)] {
            let chibi = Chibi::new();
            let hooks = chibi.room.hooks(&format!(
                "[[hook]]\nevent = \"{event}\"\ncommand = \"exit 3\"\n{more}"
            ));
            let turns = [runs("echo the secret word"), says("done")];
            let turns = if event == "tools_offered" {
                &turns[1..]
            } else {
                &turns[..]
            };
            let told = chibi.ask(&["--yes", "--hooks", &hooks, "go"], turns).went_well();
            let last = told.requests.last().expect("a request").clone();
            let result = json!([last["tools"], told.results()]).to_string();
            let shown = match event {
                "tools_offered" => last.get("tools").is_some(),
                _ => result.contains(passes),
            };
            assert_eq!(shown, !is_withheld, "{event} {more}: {told:#?}");
            let is_told = told.run.stderr.contains("may fail open");
            assert_eq!(is_told, !is_withheld, "{event} {more}: {told:#?}");
        }
    }
}
