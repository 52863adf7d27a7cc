//! Conversations that become too long: summarised by hand or by themselves, and nothing is lost on the way.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room, Signal};

use crate::room;

fn summary_file(room: &Room) -> String {
    format!(
        "../home/.local/share/becket/contexts/{}/summary.md",
        room.context()
    )
}

fn said(text: &str, input_tokens: u64) -> Value {
    json!({"text": text, "usage": {"input_tokens": input_tokens, "output_tokens": 1}})
}

/// Three prompts with their answers, the last of which leaves the window of 1000 tokens almost full.
fn full_room() -> Room {
    let room = room();
    room.config("[compaction]\ncontext_window = 1000\n");
    for (number, tokens) in [(1, 10), (2, 20), (3, 900)] {
        let model = room.model(&json!([said(&format!("answer {number}"), tokens)]));
        room.run(["--model", &model, &format!("prompt {number}")])
            .ended_with(0);
    }
    room
}

fn texts(event: &Value) -> Vec<String> {
    let messages = event["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["content"][0]["text"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn the_prompt_that_made_it_necessary_is_answered_and_what_was_kept_is_still_there_tomorrow() {
    let room = full_room();
    let model = room.model(&json!([
        {"text": "THE SUMMARY", "expect": ["User: prompt 1", "Assistant: answer 1", "Assistant: answer 2"]},
        {
            "text": "answer 4",
            "expect": ["THE SUMMARY", "prompt 3", "answer 3", "prompt 4"],
            "usage": {"input_tokens": 30, "output_tokens": 1},
        },
    ]));
    let run = room.run(["--model", &model, "prompt 4"]).ended_with(0);
    assert_eq!(run.stdout, "answer 4\n", "the summary is no answer");
    let run = run.complained("4 older messages were summarised");
    assert!(!run.stderr.contains("THE SUMMARY"));
    assert_eq!(room.read(&summary_file(&room)), "THE SUMMARY");

    let model = room.model(&json!([said("answer 5", 50)]));
    let run = room.run(["--json", "--model", &model, "prompt 5"]).ended_with(0);
    assert!(
        run.events_named("pre_compact").is_empty(),
        "old counts do not count twice"
    );
    let seen = texts(&run.events_named("model_context")[0]);
    assert_eq!(seen, ["prompt 3", "answer 3", "prompt 4", "answer 4", "prompt 5"]);
    assert_eq!(run.events_named("user_prompt")[0]["summary"], "THE SUMMARY");
}

#[test]
fn hooks_may_veto_or_bring_the_summary() {
    let room = full_room();
    let hooks = room.hooks(
        "[[hook]]\nname = \"keeper\"\nevent = \"pre_compact\"\ncommand = \"echo 'keep it all' >&2; exit 2\"\n",
    );
    let model = room.model(&json!([said("answer 4", 910)]));
    let run = room
        .run(["--json", "--hooks", &hooks, "--model", &model, "prompt 4"])
        .ended_with(0);
    assert_eq!(texts(&run.events_named("model_context")[0]).len(), 7, "all of it");
    assert!(run.events_named("post_compact").is_empty());
    room.run(["--hooks", &hooks, "--model", &model, "compact"])
        .ended_with(1)
        .complained("keep it all");

    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_compact\"\ncommand = \"\"\"echo '{\\\"summary\\\":{\\\"text\\\":\\\"BY HOOK\\\"}}'\"\"\"\n",
    );
    let model = room.model(&json!([{"text": "answer 5", "expect": ["BY HOOK"]}]));
    let run = room
        .run(["--json", "--hooks", &hooks, "--model", &model, "prompt 5"])
        .ended_with(0);
    let after = &run.events_named("post_compact")[0];
    assert_eq!(
        (&after["by_hook"], &after["message_count_before"]),
        (&json!(true), &json!(8))
    );
}

#[test]
fn a_guard_that_breaks_keeps_the_conversation_as_it_is() {
    let room = full_room();
    let hooks = room.hooks("[[hook]]\nname = \"broken\"\nevent = \"pre_compact\"\ncommand = \"exit 7\"\n");
    let model = room.model(&json!([said("answer 4", 910)]));
    let run = room
        .run(["--json", "--hooks", &hooks, "--model", &model, "prompt 4"])
        .ended_with(0);
    assert!(run.events_named("post_compact").is_empty());
    assert!(run.stderr.contains("broken"), "{}", run.stderr);
}

#[test]
fn a_summary_that_fails_does_not_end_the_run() {
    let room = full_room();
    let broken = json!({"error": {"kind": "rejected", "message": "no summaries today"}});
    let model = room.model(&json!([broken, said("answer 4", 910)]));
    let run = room
        .run(["--model", &model, "prompt 4"])
        .ended_with(0)
        .said("answer 4");
    run.complained("could not be summarised")
        .complained("no summaries today");
    let model = room.model(&json!([broken]));
    room.run(["--model", &model, "compact"])
        .ended_with(3)
        .complained("no summaries today");
    assert!(!room.has(&summary_file(&room)));
}

#[test]
fn by_hand_everything_is_summarised() {
    let room = full_room();
    let task = json!(["User: prompt 3", "Pay attention to this:", "the boat"]);
    let model = room.model(&json!([{"text": "ALL OF IT", "expect": task}]));
    let run = room.run([
        "--model",
        &model,
        "compact",
        &room.context(),
        "--instructions",
        "the boat",
    ]);
    let run = run.ended_with(0).complained("a summary now replaces 6 messages");
    assert_eq!(run.stdout, "");
    let model = room.model(&json!([{"text": "answer 4", "expect": ["ALL OF IT"]}]));
    let run = room.run(["--json", "--model", &model, "prompt 4"]).ended_with(0);
    assert_eq!(texts(&run.events_named("model_context")[0]), ["prompt 4"]);
}

#[test]
fn only_a_context_that_exists_can_be_summarised() {
    let room = full_room();
    let misspelt = format!("{}x", room.context());
    room.run(["compact", &misspelt])
        .ended_with(2)
        .complained(&format!("there is no context `{misspelt}`"))
        .complained(&format!("did you mean `{}`?", room.context()));
    let names = room.run(["contexts", "--json"]).ended_with(0).stdout;
    assert!(!names.contains(&misspelt), "and none is made");
    let model = room.model(&json!([said("S", 1)]));
    room.run(["--model", &model, "compact"]).ended_with(0);
    room.run(["--model", &model, "compact"])
        .ended_with(0)
        .complained("there is nothing to summarise");
}

#[test]
fn the_chat_summarises_too() {
    let room = full_room();
    let model = room.model(&json!([
        {"text": "CHAT SUMMARY", "expect": ["the boat and the sea"]},
        {"text": "answer 4", "expect": ["CHAT SUMMARY"]},
    ]));
    let words = "/compact the boat and the sea\n/compact\nprompt 4\n/quit\n";
    let run = room
        .run_with_input(["--model", &model, "chat"], words)
        .ended_with(0);
    let run = run.complained("a summary now replaces 6 messages");
    run.complained("there is nothing to summarise").said("answer 4");
}

#[test]
fn a_signal_during_the_summary_leaves_everything_as_it_was() {
    let room = full_room();
    let model = room.model(&json!([{"text": "late", "delay_ms": 60_000}]));
    let run = room.start(["--json", "--model", &model, "compact"]);
    run.wait_for_output("\"pre_request\"");
    run.signal(Signal::INT);
    run.finish().ended_with(130).complained("is unchanged");
    assert!(!room.has(&summary_file(&room)));
    let model = room.model(&json!([{"text": "S"}, {"text": "answer 4", "expect": ["answer 3"]}]));
    room.run(["--model", &model, "prompt 4"])
        .ended_with(0)
        .said("answer 4");
}

#[test]
fn a_conversation_that_is_too_long_for_the_provider_is_shortened_and_asked_again() {
    let answer = |text: &str| Response::events(OpenAiStream::new("m").text(text).finish("stop").done());
    let refusal = json!({"error": {"message": "too long", "code": "context_length_exceeded"}});
    let server = ModelServer::start([
        answer("answer 1"),
        Response::json(400, &refusal),
        answer("THE SUMMARY"),
        answer("answer 2"),
    ]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-secret")
        .with("OPENAI_BASE_URL", &server.url());
    room.run(["prompt 1"]).ended_with(0);
    let run = room.run(["--json", "prompt 2"]).ended_with(0);
    assert_eq!(run.events_named("pre_compact")[0]["reason"], "overflow");
    assert!(!run.stdout.contains("sk-secret"), "keys never leave");
    let requests = server.wait_for(4, Duration::from_secs(60));
    let body = requests[3].json();
    let messages = body["messages"].as_array().unwrap();
    assert!(messages[0]["content"].as_str().unwrap().contains("THE SUMMARY"));
    assert_eq!(messages.last().unwrap()["content"], "prompt 2");
    assert_eq!(requests[2].header("authorization"), Some("Bearer sk-secret"));
    assert!(requests[2].json().get("tools").is_none());
}

#[test]
fn the_window_the_words_and_the_whole_thing_can_be_set() {
    let room = full_room();
    room.config(
        "[compaction]\ncontext_window = 1000\nprompt = \"Be a haiku.\"\ndrop_percent = 80\n\
         [compaction.context_windows]\n\"scripted/script\" = 950\n",
    );
    let model =
        room.model(&json!([{"text": "S", "expect": ["Be a haiku.", "answer 2"]}, said("answer 4", 100)]));
    let run = room.run(["--json", "--model", &model, "prompt 4"]).ended_with(0);
    let before = &run.events_named("pre_compact")[0];
    assert_eq!((&before["context_limit"], texts(before).len()), (&json!(950), 4));

    let room = full_room();
    room.config("[compaction]\nauto = false\ncontext_window = 1000\n");
    let model = room.model(&json!([said("answer 4", 910)]));
    let run = room.run(["--json", "--model", &model, "prompt 4"]).ended_with(0);
    assert!(run.events_named("pre_compact").is_empty());
}
