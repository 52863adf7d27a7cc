//! Answers that do not come, are not whole, or are shown and cannot be stored.

use std::time::Duration;

use becket_store::{ContextName, SqliteStore};
use serde_json::json;
use testkit::{AnthropicStream, Ending, ModelServer, OpenAiStream, Response, Room, Signal};

use crate::mcp::wait_until;
use crate::room;

/// Longer than any test may take.
const FOR_EVER: Duration = Duration::from_secs(600);

fn connected(provider: &str, server: &ModelServer) -> Room {
    room()
        .with(&format!("{provider}_API_KEY"), "sk-0123456789")
        .with(&format!("{provider}_BASE_URL"), &server.url())
}

fn said(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}

#[test]
fn a_provider_may_be_silent_no_longer_before_its_first_byte_than_after_it() {
    for silent in [
        said("late").after(FOR_EVER),
        Response::events("").ending(Ending::Hang),
        Response::events(OpenAiStream::new("m").text("half").unfinished()).ending(Ending::Hang),
    ] {
        let server = ModelServer::start([silent]);
        let room = connected("OPENAI", &server);
        room.config("[agent]\nidle_timeout = 1\nmax_retries = 0\n");
        room.run(["hello"]).complained("was silent for 1 s");
    }
}

#[test]
fn calls_of_an_answer_that_is_not_whole_are_not_run() {
    let arguments = json!({"command": "touch ran"}).to_string();
    let openai = |reason: &str| {
        let asked = OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[&arguments]);
        (
            "OPENAI",
            Response::events(asked.finish(reason).done()),
            said("understood"),
        )
    };
    let anthropic = |reason: &str| {
        let asked = AnthropicStream::new("m", 3).tool_call("call-1", "shell", &[&arguments]);
        let end = AnthropicStream::new("m", 3)
            .text(&["understood"])
            .stop("end_turn", 2);
        (
            "ANTHROPIC",
            Response::events(asked.stop(reason, 2)),
            Response::events(end),
        )
    };
    let cases = [
        (openai("content_filter"), false),
        (openai("length"), false),
        (openai("insufficient_system_resource"), false),
        (openai("malformed_function_call"), false),
        (anthropic("refusal"), false),
        (anthropic("max_tokens"), false),
        (anthropic("pause_turn"), false),
        (anthropic("something_new"), false),
        (openai("tool_calls"), true),
        (openai("stop"), true),
        (openai("STOP"), true),
        (anthropic("tool_use"), true),
    ];
    for (place, ((provider, asked, end), runs)) in cases.into_iter().enumerate() {
        let server = ModelServer::start([asked, end]);
        let room = connected(provider, &server);
        let run = room.run(["--yes", "go"]).ended_with(0).said("understood");
        assert_eq!(room.has("ran"), runs, "case {place}: {run:#?}");
        let told = server.requests()[1].text();
        assert_eq!(told.contains("not run: "), !runs, "case {place}: {told}");
    }
}

#[test]
fn a_refusal_in_words_runs_no_call_beside_it() {
    let arguments = json!({"command": "touch ran"}).to_string();
    let asked = OpenAiStream::new("m")
        .tool_call(0, "call-1", "shell", &[&arguments])
        .delta(json!({"refusal": "I cannot do that."}));
    let server = ModelServer::start([Response::events(asked.finish("stop").done()), said("understood")]);
    let room = connected("OPENAI", &server);
    room.run(["--yes", "go"]).ended_with(0);
    assert!(!room.has("ran"));
}

#[test]
fn words_of_an_answer_that_broke_off_are_in_the_conversation() {
    let broken =
        Response::events(OpenAiStream::new("m").text("half an ans").unfinished()).ending(Ending::Cut);
    let server = ModelServer::start([broken, said("whole")]);
    let room = connected("OPENAI", &server);
    room.config("[agent]\nmax_retries = 0\n");
    room.run(["first"]).said("half an ans");
    room.run(["second"]).ended_with(0).said("whole");
    let asked = server.requests()[1].text();
    assert!(asked.contains("half an ans"), "{asked}");
}

#[test]
fn an_answer_that_was_shown_and_cannot_be_stored_is_told_to_be_lost() {
    let stream = OpenAiStream::new("m").text("an answer").finish("stop").done();
    let (head, tail) = stream.split_at(stream.find("\n\n").expect("it has events") + 2);
    let late = Response::events(head).late_piece(Duration::from_secs(3), tail);
    let server = ModelServer::start([late]);
    let room = connected("OPENAI", &server);
    let running = room.start(["-C", "doomed", "hello"]);
    assert_eq!(server.wait_for(1, Duration::from_secs(60)).len(), 1);
    let store = SqliteStore::open(room.store_file()).expect("the store opens");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let doomed = ContextName::parse("doomed").expect("it is a name");
    let gone = runtime
        .expect("a runtime starts")
        .block_on(store.delete_context(&doomed));
    assert!(
        gone.expect("it can be deleted"),
        "the prompt was stored before the request"
    );
    running
        .finish()
        .ended_with(1)
        .said("an answer")
        .complained("the answer above is not stored");
}

#[test]
fn an_answer_that_came_when_becket_was_killed_is_told_to_be_lost_and_only_once() {
    let lost = "the last answer is not stored";
    let half =
        || Response::events(OpenAiStream::new("m").text("half an ans").unfinished()).ending(Ending::Hang);
    let command = json!({"command": "true"}).to_string();
    let tool = || {
        let asked = OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[&command]);
        Response::events(asked.finish("tool_calls").done())
    };
    for before in [vec![], vec![tool()]] {
        let first = before.len();
        let answers = before
            .into_iter()
            .chain([half(), said("whole"), said("more")])
            .collect::<Vec<_>>();
        let server = ModelServer::start(answers);
        let room = connected("OPENAI", &server);
        let running = room.start(["--json", "--yes", "first"]);
        running.wait_for_output("half an ans");
        for words in [&["trace"][..], &["context", "log"]] {
            let shown = format!("{:?}", room.run(words).ended_with(0));
            assert!(!shown.contains(lost), "{words:?}: it is still coming: {shown}");
        }
        running.signal(Signal::KILL);
        running.finish();
        room.run(["trace"]).ended_with(0).said(lost);
        room.run(["context", "log"]).ended_with(0).complained(lost);

        room.run(["second"]).ended_with(0).said("whole").complained(lost);
        let asked = server.requests()[first + 1].text();
        assert!(asked.contains("The answer to this is not stored"), "{asked}");
        let third = room.run(["third"]).ended_with(0).said("more");
        assert!(!third.stderr.contains(lost), "{third:#?}");
        room.run(["context", "log"]).ended_with(0).said("is not stored");
        let shown = format!("{:?}", room.run(["trace"]).ended_with(0));
        assert!(!shown.contains(lost), "{shown}");
    }
}

#[test]
fn becket_that_is_killed_while_a_tool_runs_has_lost_no_answer() {
    // Nobody ends it when becket is killed; it ends when the room is gone.
    let command = json!({"command": "touch begun; while [ -e begun ]; do sleep 0.1; done"}).to_string();
    let asked = OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[&command]);
    let server = ModelServer::start([Response::events(asked.finish("tool_calls").done()), said("whole")]);
    let room = connected("OPENAI", &server);
    let running = room.start(["--yes", "first"]);
    wait_until("the tool runs", || room.has("begun"));
    running.signal(Signal::KILL);
    running.finish();
    let shown = format!("{:?}", room.run(["trace"]).ended_with(0));
    assert!(!shown.contains("not stored"), "{shown}");
    let second = room.run(["second"]).ended_with(0).said("whole");
    assert!(!second.stderr.contains("not stored"), "{second:#?}");
}
