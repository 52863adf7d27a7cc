//! Events and reply fields that shape a session from its beginning to the words that the user sees: set-up, variables
//! for commands, expanded prompts, another model, answers in place of the model, and guards of what the model says.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::hook_files::{says, shell};
use crate::room;

/// A room with one hook of an event that runs a command.
fn with_hook(event: &str, command: &str) -> Room {
    let room = room();
    room.hooks(&format!(
        "[[hook]]\nevent = \"{event}\"\nname = \"the hook\"\ncommand = '''{command}'''\n"
    ));
    room
}

fn answering(event: &str, reply: &Value) -> Room {
    with_hook(event, &format!("printf '%s' '{reply}'"))
}

fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--hooks", "../hooks.toml", "--yes", "--model", &model, "go"];
    room.run(arguments.iter().chain(more))
}

#[test]
fn a_hook_answers_in_place_of_the_model() {
    for event in ["model_context", "pre_request"] {
        let room = answering(event, &json!({"response": "from the hook"}));
        let run = play(&room, &json!([says("never", &[])]), &["--json"]).ended_with(0);
        assert_eq!(
            run.events_named("stop")[0]["response"],
            "from the hook",
            "{event}"
        );
        assert!(run.events_named("response_start").is_empty(), "{event}");
        // It is part of the conversation, so the model knows it when it is asked next.
        let model = room.model(&json!([says("done", &["from the hook"])]));
        room.run(["--model", &model, "and now?"])
            .ended_with(0)
            .said("done");
    }
}

#[test]
fn nobody_sees_an_answer_that_a_guard_refuses() {
    for event in ["post_response", "output"] {
        for broken in [
            "echo no such words >&2; exit 2",
            "kill -9 $$",
            "printf '{'",
            "exit 3",
        ] {
            let room = with_hook(event, broken);
            let run = play(&room, &json!([{"text": "a secret"}]), &[]);
            assert!(!run.stdout.contains("secret"), "{event} {broken}: {run:#?}");
            assert_ne!(run.code, 0, "{event} {broken}: {run:#?}");
            let run = play(&room, &json!([{"text": "a secret"}]), &["--json"]);
            let shown: Vec<Value> = ["message_start", "message_update", "message_end", "stop"]
                .iter()
                .flat_map(|name| run.events_named(name))
                .filter(|event| event.to_string().contains("secret"))
                .collect();
            assert!(shown.is_empty(), "{event} {broken}: {shown:#?}");
            // Nor is it in the conversation.
            assert!(
                !room.run(["context", "log"]).stdout.contains("secret"),
                "{event} {broken}"
            );
        }
    }
}

/// The model's text as far as it was shown.
fn shown(run: &Finished) -> String {
    let updates = run.events_named("message_update");
    updates
        .iter()
        .filter_map(|update| update["delta"]["text"].as_str())
        .collect()
}

#[test]
fn text_is_shown_piece_by_piece_as_a_guard_of_its_parts_allows() {
    let room = with_hook(
        "response_part",
        "if grep -q 'fine today, and'; then echo enough >&2; exit 2; fi",
    );
    let text = "The weather is fine today, and tomorrow it rains all day long.";
    let turns = json!([{"text": text, "chunk_size": 24}]);
    let run = play(&room, &turns, &["--json"]).complained("enough");
    assert_ne!(run.code, 0, "{run:#?}");
    assert_eq!(shown(&run), "The weather is fine toda");
    assert!(!room.run(["context", "log"]).stdout.contains("weather"));
    // A piece that nobody refuses is shown once, and so is the whole.
    let room = with_hook("response_part", "true");
    let run = play(&room, &turns, &["--json"]).ended_with(0);
    assert_eq!(shown(&run), text);
    assert!(room.run(["context", "log"]).stdout.contains(text));
}

#[test]
fn the_last_piece_is_judged_too() {
    for event in ["response_part", "post_response"] {
        let room = room();
        let other = match event {
            "response_part" => "",
            _ => "[[hook]]\nevent = \"response_part\"\ncommand = \"true\"\n",
        };
        let guard = "if grep -q secret; then exit 2; fi";
        room.hooks(&format!(
            "{other}[[hook]]\nevent = \"{event}\"\ncommand = '''{guard}'''\n"
        ));
        let turns = json!([{"text": "first some words, then a secret", "chunk_size": 24}]);
        let run = play(&room, &turns, &["--json"]);
        assert_ne!(run.code, 0, "{event}: {run:#?}");
        assert_eq!(shown(&run), "first some words, then a", "{event}");
    }
}

#[test]
fn an_answer_that_broke_off_shows_no_part_that_was_not_judged() {
    let room = with_hook(
        "response_part",
        "if grep -q '\"broken_off\": *true'; then echo broken >&2; exit 2; fi",
    );
    room.config("[agent]\nmax_retries = 0\n");
    let turns = json!([{
        "text": "first some words, then a secret", "chunk_size": 24, "error": {"kind": "broken"},
    }]);
    let run = play(&room, &turns, &["--json"]).complained("broken");
    assert_ne!(run.code, 0, "{run:#?}");
    assert_eq!(shown(&run), "first some words, then a");
    assert!(!room.run(["context", "log"]).stdout.contains("secret"));
}

#[test]
fn a_session_that_a_hook_halts_at_its_beginning_hears_no_prompt() {
    let room = room();
    let beginning =
        "[[hook]]\nevent = \"session_start\"\ncommand = '''echo '{\"halt\": \"not today\"}' '''\n";
    room.hooks(&format!(
        "{beginning}[[hook]]\nevent = \"user_prompt\"\ncommand = \"touch heard\"\n"
    ));
    let run = play(&room, &json!([says("never", &[])]), &[]).complained("not today");
    assert_ne!(run.code, 0, "{run:#?}");
    assert!(!room.has("heard"));
    assert!(!run.stdout.contains("never"));
}

#[test]
fn an_answer_that_passes_its_guards_is_shown_once() {
    let room = with_hook("post_response", "true");
    let turns = json!([
        {"text": "first I look", "tool_calls": [{"id": "call-1", "name": "shell", "arguments": {"command": "true"}}]},
        {"text": "and that is all"}
    ]);
    let run = play(&room, &turns, &[]).ended_with(0);
    assert_eq!(run.stdout.matches("and that is all").count(), 1, "{run:#?}");
    let texts = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(texts.matches("first I look").count(), 1, "{run:#?}");
}

#[test]
fn an_answer_is_rewritten_before_it_is_seen() {
    let room = answering("output", &json!({"text": "a clean answer"}));
    let run = play(&room, &json!([{"text": "a secret"}]), &[]).ended_with(0);
    assert_eq!(run.stdout, "a clean answer\n");
    assert!(!room.run(["context", "log"]).stdout.contains("secret"));
}

#[test]
fn an_answer_that_changed_after_its_guard_is_judged_again() {
    let room = room();
    let other = json!([{"type": "text", "text": "a secret"}]);
    let change = format!(
        "jq -c '{{message: (.message | if .role == \"assistant\" then .content = {other} else . end)}}'"
    );
    room.hooks(&format!(
        "[[hook]]\nevent = \"output\"\ncommand = \"! grep -q secret || exit 2\"\n\
         [[hook]]\nevent = \"message_end\"\ncommand = '''{change}'''\n"
    ));
    let run = play(&room, &json!([{"text": "fine words"}]), &[]).ended_with(0);
    assert_eq!(run.stdout, "fine words\n");
    assert!(run.stderr.contains("message_end changed an answer"), "{run:#?}");
    assert!(!room.run(["context", "log"]).stdout.contains("secret"));
}

#[test]
fn calls_of_a_refused_answer_do_not_run() {
    let room = with_hook("post_response", "echo no calls >&2; exit 2");
    play(&room, &json!([shell("touch made"), {"text": "done"}]), &[]).complained("no calls");
    assert!(!room.has("made"));
}

#[test]
fn a_session_gets_variables_and_a_title() {
    let reply = json!({"environment": {"GREETING": "hello", "COUNT": 3}, "title": "The first talk"});
    let room = answering("session_start", &reply);
    let turns = json!([shell("echo $GREETING $COUNT > made"), {"text": "done"}]);
    play(&room, &turns, &[]).ended_with(0);
    assert_eq!(room.read("made"), "hello 3\n");
    let turns = json!([
        {"tool_calls": [{"id": "c", "name": "spawn_agent", "arguments": {
            "system_prompt": "x", "input": "y", "tools": true,
        }}]},
        shell("echo below $GREETING > made"),
        {"text": "done below"},
        {"text": "done"}
    ]);
    play(&room, &turns, &[]).ended_with(0);
    assert_eq!(room.read("made"), "below hello\n");
    room.run(["sessions"]).ended_with(0).said("The first talk");
}

#[test]
fn a_project_is_set_up_when_the_user_wants_it() {
    let room = answering("setup", &json!({"context": "it is set up"}));
    play(&room, &json!([says("done", &["it is set up"])]), &["--init"]).ended_with(0);
    let run = play(&room, &json!([{"text": "done"}]), &["--json"]).ended_with(0);
    assert!(run.events_named("setup").is_empty());
    let run = play(&room, &json!([{"text": "done"}]), &["--json", "--maintenance"]).ended_with(0);
    assert_eq!(run.events_named("setup")[0]["reason"], "maintenance");
}

#[test]
fn an_expanded_prompt_is_judged() {
    let expand = |room: &Room, turns: &Value| {
        room.write("review.md", "---\ndescription: reviews\n---\nReview $1.\n");
        let model = room.model(turns);
        let line = [
            "--hooks",
            "../hooks.toml",
            "--model",
            &model,
            "--prompt-template",
            "review.md",
            "/review a.rs",
        ];
        room.run(line)
    };
    let room = answering("prompt_expansion", &json!({"context": "And be kind."}));
    expand(&room, &json!([says("done", &["Review a.rs.", "And be kind."])])).ended_with(0);
    for broken in ["echo not today >&2; exit 2", "kill -9 $$"] {
        let room = with_hook("prompt_expansion", broken);
        let run = expand(&room, &json!([{"text": "never"}]));
        assert!(!run.stdout.contains("never"), "{run:#?}");
    }
}

#[test]
fn another_model_is_refused() {
    let chooses = "export default (pi: any) => {\n\
                   pi.on(\"session_start\", () => pi.setModel({ provider: \"scripted\", id: \"other.toml\" }));\n};\n";
    let turns = json!([{"text": "the usual one"}]);
    for (command, answer) in [
        ("true", "the other one"),
        ("echo stay >&2; exit 2", "the usual one"),
    ] {
        let room = with_hook("pre_model_change", command);
        room.write("chooses.ts", chooses);
        room.write("other.toml", "[[turns]]\ntext = \"the other one\"\n");
        let run = play(&room, &turns, &["-e", "chooses.ts"])
            .ended_with(0)
            .said(answer);
        assert_eq!(run.stderr.contains("stay"), answer == "the usual one", "{run:#?}");
    }
}

#[test]
fn the_answer_of_a_sub_agent_is_rewritten() {
    let room = answering("post_subagent", &json!({"response": "other words"}));
    let turns = json!([
        {"tool_calls": [{"id": "c", "name": "spawn_agent", "arguments": {"system_prompt": "x", "input": "y"}}]},
        {"text": "words below"},
        says("done", &["other words"])
    ]);
    play(&room, &turns, &[]).ended_with(0).said("done");
}
