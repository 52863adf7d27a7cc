//! Contexts in a chibi home, where chibi and its plugins keep files of their own under the names that becket uses.

use serde_json::json;
use testkit::{ModelServer, OpenAiStream, Response, Room};

use crate::room;

/// Files of a context that chibi or its plugins write too.
const SHARED: &[&str] = &["summary.md", "todos.md", "goals.md", "system_prompt.md"];

/// A file in the folder of the context `work`, from the working directory.
fn in_work(file: &str) -> String {
    format!("../home/.chibi/contexts/work/{file}")
}

/// A room with a chibi home, in which a conversation has begun in the context `work`.
fn room_at_work() -> Room {
    let room = room();
    room.write("../home/.chibi/plugins/.keep", "");
    room.run(["-c", "work", "hello"]).ended_with(0);
    room
}

/// Puts a summary in the place of the conversation, and returns what was said on standard error.
fn compact(room: &Room, summary: &str) -> String {
    room.run(["hello"]).ended_with(0);
    let model = room.model(&json!([{"text": summary}]));
    room.run(["--model", &model, "compact"]).ended_with(0).stderr
}

#[test]
fn files_that_becket_did_not_write_outlive_compact_clear_and_destroy() {
    let room = room_at_work();
    for file in SHARED {
        room.write(&in_work(file), format!("chibi's {file}"));
    }
    let said = compact(&room, "BECKET'S");
    assert!(said.contains("work/summary.md stays as it is"), "{said}");
    let show = room.run(["context", "export"]).ended_with(0);
    show.said("BECKET'S");
    room.run(["context", "clear"])
        .ended_with(0)
        .complained("work/summary.md stays: becket did not write it");
    let gone = room.run(["--yes", "context", "destroy", "work"]).ended_with(0);
    for file in SHARED {
        assert_eq!(room.read(&in_work(file)), format!("chibi's {file}"));
        assert!(gone.stderr.contains(&format!("work/{file} stays")), "{gone:#?}");
    }
    assert!(!room.has(&in_work(".becket")));
}

#[test]
fn what_becket_wrote_itself_is_replaced_and_removed() {
    let room = room_at_work();
    for summary in ["one", "two"] {
        assert!(!compact(&room, summary).contains("stays"));
        assert_eq!(room.read(&in_work("summary.md")), summary);
    }
    room.run(["context", "clear"]).ended_with(0);
    assert!(!room.has(&in_work("summary.md")));
    compact(&room, "three");
    let todos = json!([
        {"tool_calls": [{"name": "update_todos", "arguments": {"content": "buy milk"}}]},
        {"text": "noted"},
    ]);
    let model = room.model(&todos);
    room.run(["--tools", "chibi", "--model", &model, "note it"])
        .ended_with(0);
    assert_eq!(room.read(&in_work("todos.md")), "buy milk");
    room.run(["context", "rename", "labour"]).ended_with(0);
    room.run(["--yes", "context", "destroy", "labour"]).ended_with(0);
    assert!(!room.has("../home/.chibi/contexts/labour"));
}

#[test]
fn what_somebody_changed_after_becket_is_theirs() {
    let room = room_at_work();
    compact(&room, "one");
    room.write(&in_work("summary.md"), "one, and what I know");
    assert!(compact(&room, "two").contains("stays as it is"));
    room.run(["context", "clear"])
        .ended_with(0)
        .complained("summary.md stays");
    assert_eq!(room.read(&in_work("summary.md")), "one, and what I know");
}

#[test]
fn a_context_that_is_due_leaves_others_files_too() {
    let room = room_at_work();
    room.write(&in_work("goals.md"), "chibi's");
    room.run(["-c", "other", "hello"]).ended_with(0);
    room.run(["context", "set", "destroy_after_inactive", "1s", "work"])
        .ended_with(0);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    room.run(["hello"])
        .ended_with(0)
        .complained("the context work was destroyed")
        .complained("work/goals.md stays");
    assert_eq!(room.read(&in_work("goals.md")), "chibi's");
}

#[test]
fn a_model_of_chibis_that_cannot_be_had_is_left_out_with_one_remark() {
    let room = room_at_work();
    let table = [
        ("z-ai/glm-4.5", "set OPENROUTER_API_KEY"),
        ("anthropic/claude-sonnet-4", "set OPENROUTER_API_KEY"),
        ("ratatoskr:free/agentic", "only chibi knows it"),
    ];
    for (id, why) in table {
        room.write(&in_work("local.toml"), format!("model = \"{id}\"\nfuel = 3\n"));
        let run = room.run(["--json", "hello"]).ended_with(0);
        assert_eq!(
            run.events_named("loop_start")[0]["fuel_total"],
            3,
            "the rest counts"
        );
        let words = format!("work/local.toml: the model `{id}` is left out: ");
        assert_eq!(run.stderr.matches(&words).count(), 1, "{run:#?}");
        run.complained(why).complained("becket context set model");
        room.run(["context", "show"]).ended_with(0).complained(&words);
        room.run(["config"]).ended_with(0).complained(&words);
        room.run(["doctor"]).ended_with(0);
        let run = room.run(["--model", "rehearsal", "hello"]).ended_with(0);
        assert!(!run.stderr.contains("left out"), "it was not wanted: {run:#?}");
    }
    room.run(["context", "set", "model", "rehearsal"]).ended_with(0);
    let run = room.run(["hello"]).ended_with(0);
    assert!(!run.stderr.contains("left out"), "{run:#?}");
}

#[test]
fn every_model_of_chibis_is_openrouters() {
    let answer = || Response::events(OpenAiStream::new("m").text("yes").finish("stop").done());
    let server = ModelServer::start((0..2).map(|_| answer()));
    let room = room_at_work()
        .with("ANTHROPIC_API_KEY", "sk-other")
        .with("OPENROUTER_API_KEY", "sk-test")
        .with("OPENROUTER_BASE_URL", &server.url());
    for id in ["anthropic/claude-sonnet-4", "z-ai/glm-4.5"] {
        room.write(&in_work("local.toml"), format!("model = \"{id}\"\n"));
        let run = room.run(["hello"]).ended_with(0).said("yes");
        assert!(!run.stderr.contains("left out"), "{run:#?}");
    }
    let asked: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(asked, ["anthropic/claude-sonnet-4", "z-ai/glm-4.5"]);
}
