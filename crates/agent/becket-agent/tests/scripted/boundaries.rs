//! What hooks can do at the end of a turn, what a tool returns besides its text, and when everything is settled.

use std::sync::Arc;

use becket_agent::Ending;
use becket_agent::store::EntryContent;
use becket_events::{
    Answer, EntryDraft, Handled, NoteDraft, Part, PartialResult, PreToolOutput, PreToolOutputReply, Rewrite,
    TurnEnded, TurnEndedReply, UserInput, UserInputReply,
};
use serde_json::{Value, json};

use crate::stage::{Prop, Stage, Turn, answering, input, message_of, shell};

fn draft(text: &str) -> EntryDraft {
    EntryDraft::Note(NoteDraft {
        kind: "reviewer".into(),
        content: vec![Part::text(text)],
        display: true,
        details: None,
    })
}

fn record(data: Value) -> EntryDraft {
    EntryDraft::Record {
        kind: "state".into(),
        data,
    }
}

/// Lets a hook of `turn_end` answer when the model has said this text.
fn when_said(stage: &Stage, said: &'static str, reply: TurnEndedReply) {
    stage.engine.on::<TurnEnded>("reviewer", move |occasion| {
        let words = occasion.payload.message.as_ref().map(|message| message.text());
        Ok(match words.as_deref() == Some(said) {
            true => reply.clone(),
            false => Default::default(),
        })
    });
}

fn records(stage: &Stage) -> Vec<Value> {
    let entries = stage.store.entries.lock().unwrap();
    let records = entries.iter().filter_map(|entry| match &entry.content {
        EntryContent::Custom { kind, data } => Some(json!([kind, data])),
        _ => None,
    });
    records.collect()
}

#[tokio::test]
async fn a_hook_of_turn_end_adds_notes_and_records_and_sends_the_model_on() {
    let stage = Stage::new(vec![Turn::Say("done"), Turn::Say("really done")]);
    let reply = TurnEndedReply {
        entries: Rewrite(Some(vec![record(json!({"round": 1})), draft("and the tests?")])),
        go_on: Rewrite(Some(true)),
        ..Default::default()
    };
    when_said(&stage, "done", reply);
    assert_eq!(stage.answer("go").await, "really done");
    assert_eq!(stage.seen_by_model(1), ["go", "done", "and the tests?"]);
    assert_eq!(stage.stored(), ["go", "done", "and the tests?", "really done"]);
    assert_eq!(records(&stage), [json!(["state", {"round": 1}])]);
    assert_eq!(stage.turn_ends(), ["normal", "normal"]);
}

#[tokio::test]
async fn the_next_hook_of_turn_end_sees_what_the_one_before_wants_and_may_drop_it() {
    let stage = Stage::new(vec![Turn::Say("done")]);
    let reply = TurnEndedReply {
        entries: Rewrite(Some(vec![draft("one"), draft("two")])),
        go_on: Rewrite(Some(true)),
        ..Default::default()
    };
    when_said(&stage, "done", reply);
    stage.engine.on::<TurnEnded>("editor", |occasion| {
        assert!(occasion.payload.go_on);
        Ok(TurnEndedReply {
            entries: Rewrite(Some(occasion.payload.entries[..1].to_vec())),
            go_on: Rewrite(Some(false)),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "done");
    assert_eq!(stage.stored(), ["go", "done", "one"]);
}

#[tokio::test]
async fn a_hook_of_turn_end_cannot_send_the_model_on_for_ever() {
    let stage = Stage::new(vec![Turn::Say("again"); 40]);
    let reply = TurnEndedReply {
        go_on: Rewrite(Some(true)),
        ..Default::default()
    };
    when_said(&stage, "again", reply);
    assert_eq!(stage.answer("go").await, "again");
    assert_eq!(stage.turn_ends().len(), 11, "once, and ten times more");
    assert_eq!(
        stage.seen_by_model(1),
        ["go", "again", "Go on."],
        "somebody speaks to the model"
    );
}

#[tokio::test]
async fn a_run_that_did_not_end_well_is_not_sent_on() {
    let stage = Stage::new(vec![Turn::Fail(becket_agent::provider::ProviderErrorKind::Key)]);
    stage.engine.on::<TurnEnded>("eager", |_| {
        Ok(TurnEndedReply {
            go_on: Rewrite(Some(true)),
            ..Default::default()
        })
    });
    assert!(matches!(stage.play("go").await.ending, Ending::Provider(_)));
    assert_eq!(stage.turn_ends(), ["error"]);
}

#[tokio::test]
async fn everything_is_settled_once_after_the_last_follow_up() {
    let stage = Stage::new(vec![Turn::Say("first"), Turn::Say("second")]);
    let mut session = stage.open().await;
    session.queues().follow_up("and then?");
    session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    let names = stage.names();
    let settled: Vec<usize> = places(&names, "settled");
    assert_eq!(settled.len(), 1);
    // The follow-up belongs to the same run.
    assert_eq!(places(&names, "agent_start").len(), 1);
    assert_eq!(places(&names, "agent_end").len(), 1);
    assert!(places(&names, "agent_end")[0] < settled[0]);
    let told = &stage.events_named("agent_end")[0]["messages"];
    assert_eq!(told.as_array().unwrap().len(), 4, "{told}");
    assert_eq!(stage.events_named("settled")[0]["reason"], "done");

    let stage = Stage::new(vec![]);
    stage.cancel.cancel();
    stage.play("go").await;
    assert!(
        stage
            .events_named("settled")
            .iter()
            .all(|event| event["reason"] == "cancelled")
    );

    let stage = Stage::new(vec![]);
    stage.engine.on::<UserInput>("ping", |_| {
        Ok(UserInputReply {
            handled: Answer(Some(Handled { message: None })),
            ..Default::default()
        })
    });
    stage.play("ping").await;
    assert!(stage.events_named("settled").is_empty(), "nothing had begun");
}

fn places(names: &[&str], name: &str) -> Vec<usize> {
    (0..names.len()).filter(|place| names[*place] == name).collect()
}

#[tokio::test]
async fn a_prompt_is_stored_also_if_no_turn_begins() {
    let mut stage = Stage::new(vec![]);
    stage.settings.max_iterations = 0;
    stage.settings.approval.mode = answering(false);
    assert!(matches!(stage.play("go").await.ending, Ending::Limit(_)));
    assert_eq!(stage.stored(), ["go"]);
    assert!(stage.turn_ends().is_empty());
}

#[tokio::test]
async fn data_of_a_result_is_stored_and_told_but_no_part_of_what_the_model_sees() {
    let turns = || vec![Turn::Call(vec![("counter", json!({}))]), Turn::Say("ok")];
    let staged = || {
        let mut stage = Stage::new(turns());
        let counter = Prop::new("counter", None, &stage.runs).with_details(json!({"total": 1}));
        stage.tools.push(Arc::new(counter));
        stage
    };
    let details = |stage: &Stage| {
        let stored = message_of(&stage.store.entries.lock().unwrap()[2]);
        serde_json::to_value(&stored).unwrap()["details"].clone()
    };
    let stage = staged();
    stage.answer("go").await;
    assert_eq!(details(&stage), json!({"total": 1}));
    assert_eq!(stage.events_named("tool_end")[0]["details"], json!({"total": 1}));
    assert_eq!(
        stage.events_named("pre_tool_output")[0]["details"],
        json!({"total": 1})
    );
    assert!(!stage.seen_by_model(1).join("").contains("total"));

    let stage = staged();
    stage.engine.on::<PreToolOutput>("more", |occasion| {
        let total = occasion.payload.details["total"].as_u64().unwrap() + 1;
        Ok(PreToolOutputReply {
            details: Rewrite(Some(json!({"total": total}))),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(details(&stage), json!({"total": 2}));

    let stage = staged();
    stage.engine.on::<PreToolOutput>("secret", |_| {
        Ok(PreToolOutputReply {
            withheld: Answer(Some("withheld".into())),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(
        details(&stage),
        Value::Null,
        "what is withheld may be in the data"
    );
}

#[tokio::test]
async fn a_tool_tells_what_its_result_would_be_by_now() {
    let mut stage = Stage::new(vec![
        Turn::Call(vec![("counter", json!({"to": 3}))]),
        Turn::Say("ok"),
    ]);
    let counter = Prop::new("counter", None, &stage.runs).telling(PartialResult {
        content: vec![Part::text("1, 2")],
        details: Some(json!({"count": 2})),
    });
    stage.tools.push(Arc::new(counter));
    stage.answer("go").await;
    let updates = stage.events_named("tool_update");
    assert_eq!(updates[0]["partial"], Value::Null);
    assert_eq!(updates[1]["output"], "");
    assert_eq!(
        updates[1]["partial"],
        json!({"content": [{"type": "text", "text": "1, 2"}], "details": {"count": 2}})
    );
    assert_eq!(updates[1]["arguments"], json!({"to": 3}));
}

#[tokio::test]
async fn the_run_ends_if_every_tool_of_an_answer_wants_it() {
    let staged = |calls| {
        let mut stage = Stage::new(vec![Turn::Call(calls), Turn::Say("asked again")]);
        let last = Prop::new("finish", None, &stage.runs).ending_the_run();
        stage.tools.push(Arc::new(last));
        stage
    };
    let stage = staged(vec![("finish", json!({})), ("finish", json!({}))]);
    assert_eq!(stage.answer("go").await, "");
    assert_eq!(stage.turn_ends(), ["normal"]);
    assert_eq!(stage.stored().len(), 4, "the results are stored");

    let stage = staged(vec![("finish", json!({})), shell("ls")]);
    assert_eq!(stage.answer("go").await, "asked again");
}

#[tokio::test]
async fn a_call_is_told_as_the_model_wrote_it_and_as_it_is_understood() {
    let calls = vec![
        ("shell", json!({"cmd": "ls"})),
        ("nothing", json!({"a": 1})),
        ("shell", json!({})),
    ];
    let stage = Stage::new(vec![Turn::Call(calls), Turn::Say("ok")]);
    stage.answer("go").await;
    let told: Vec<Value> = stage
        .events_named("tool_start")
        .iter()
        .map(|event| json!([event["operation"], event["arguments"], event["normalised"]]))
        .collect();
    assert_eq!(told[0], json!(["shell", {"cmd": "ls"}, {"command": "ls"}]));
    assert_eq!(told[1], json!([null, {"a": 1}, null]));
    assert_eq!(told[2], json!(["shell", {}, null]));
}
