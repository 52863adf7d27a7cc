//! Compaction: what is summarised, what is kept, and that nothing gets lost when it fails.

use std::time::Duration;

use becket_agent::provider::ProviderErrorKind;
use becket_agent::store::EntryContent;
use becket_agent::{CompactEnd, Ending};
use becket_events::{
    Append, First, ModelContext, ModelContextReply, PreCompact, PreCompactReply, PreRequest, PreRequestReply,
    Rewrite, Strictest, Summary, Verdict,
};
use serde_json::json;

use crate::stage::{Stage, Turn, input, shell};

/// A stage with a small window: 1000 tokens, of which 800 are the limit.
fn small(turns: Vec<Turn>) -> Stage {
    let mut stage = Stage::new(turns);
    stage.settings.compaction.context_window = 1_000;
    stage
}

/// Three answered prompts, the last of which fills the window.
fn almost_full() -> Vec<Turn> {
    vec![Turn::Say("a1"), Turn::Say("a2"), Turn::Measured("a3", 900)]
}

async fn talk(stage: &Stage, prompts: &[&str]) {
    let mut session = stage.open().await;
    for prompt in prompts {
        let end = session.prompt(input(prompt), stage.cancel.clone()).await.unwrap();
        assert_eq!(end.ending, Ending::Answered, "{prompt}");
    }
}

fn compactions(stage: &Stage) -> Vec<(String, Option<String>)> {
    let entries = stage.store.entries.lock().unwrap();
    let found = entries.iter().filter_map(|entry| match &entry.content {
        EntryContent::Compaction {
            summary,
            first_kept_id,
            ..
        } => Some((summary.clone(), first_kept_id.clone())),
        _ => None,
    });
    found.collect()
}

fn summary_file(stage: &Stage) -> String {
    std::fs::read_to_string(stage.folder.path().join("contexts/default/summary.md")).unwrap_or_default()
}

#[tokio::test]
async fn a_full_window_is_made_room_in_and_the_prompt_is_still_answered() {
    let turns = [almost_full(), vec![Turn::Say("THE SUMMARY"), Turn::Say("a4")]].concat();
    let stage = small(turns);
    talk(&stage, &["p1", "p2", "p3", "p4"]).await;

    let asked = stage.model.requests.lock().unwrap()[3].clone();
    assert_eq!(asked["tools"], json!([]));
    let task = asked["messages"][0]["text"].as_str().unwrap();
    for words in ["User: p1", "Assistant: a1", "User: p2"] {
        assert!(task.contains(words), "{task}");
    }
    assert!(!task.contains("p3") && !task.contains("p4"), "{task}");
    assert_eq!(stage.seen_by_model(4), ["p3", "a3", "p4"]);
    let system = stage.model.requests.lock().unwrap()[4]["system"].to_string();
    assert!(system.contains("THE SUMMARY"), "{system}");

    let before = &stage.events_named("pre_compact")[0];
    assert_eq!(
        (&before["reason"], &before["scope"]),
        (&json!("threshold"), &json!("rolling"))
    );
    assert_eq!(
        (&before["message_count"], &before["context_limit"]),
        (&json!(6), &json!(1_000))
    );
    assert_eq!(before["messages"].as_array().unwrap().len(), 4);
    assert!(before["input_tokens"].as_u64().unwrap() > 900);
    assert_eq!(before["output_tokens"], 3, "what the model wrote until now");
    let after = &stage.events_named("post_compact")[0];
    assert_eq!(
        (&after["message_count_before"], &after["message_count"]),
        (&json!(6), &json!(2))
    );
    assert_eq!(
        (&after["summary"], &after["by_hook"]),
        (&json!("THE SUMMARY"), &json!(false))
    );
    assert_eq!(summary_file(&stage), "THE SUMMARY");
    assert_eq!(
        stage.stored().len(),
        8,
        "the transcript keeps everything, and the summary is no message of it"
    );
    let purposes = stage.events_named("pre_request");
    assert_eq!(purposes[3]["purpose"], "summary");
    assert!(
        !stage
            .person
            .seen
            .lock()
            .unwrap()
            .iter()
            .any(|update| update.contains("Delta") && update.contains("THE SUMMARY"))
    );
}

#[tokio::test]
async fn what_was_kept_is_kept_after_a_reload_and_is_not_measured_again() {
    // A provider that counts no tokens: only a3's old count could be taken for one.
    let uncounted = |text| Turn::Measured(text, 0);
    let after = vec![
        Turn::Say("THE SUMMARY"),
        uncounted("a4"),
        uncounted("a5"),
        uncounted("a6"),
    ];
    let stage = small([almost_full(), after].concat());
    talk(&stage, &["p1", "p2", "p3", "p4", "p5", "p6"]).await;
    assert_eq!(stage.events_named("pre_compact").len(), 1);
    let second = small(vec![uncounted("a7")]);
    *second.store.entries.lock().unwrap() = stage.store.entries.lock().unwrap().clone();
    talk(&second, &["p7"]).await;
    let kept = ["p3", "a3", "p4", "a4", "p5", "a5", "p6", "a6", "p7"];
    assert_eq!(second.seen_by_model(0), kept);
    assert!(
        second.events_named("pre_compact").is_empty(),
        "a3's 900 tokens are history"
    );
}

#[tokio::test]
async fn calls_and_their_results_stay_together() {
    // p1, call, result, a1 | p2, a2: half of it would be between the call and its result.
    let turns = vec![
        Turn::Call(vec![shell("x"), shell("y"), shell("z")]),
        Turn::Measured("a1", 900),
        Turn::Say("SUMMARY"),
        Turn::Say("a2"),
    ];
    let stage = small(turns);
    talk(&stage, &["p1", "p2"]).await;
    let (_, kept) = &compactions(&stage)[0];
    let entries = stage.store.entries.lock().unwrap();
    let place = entries
        .iter()
        .position(|entry| Some(&entry.id) == kept.as_ref())
        .unwrap();
    assert_eq!(place, 5, "the call goes with its three results");
    drop(entries);
    assert_eq!(stage.seen_by_model(3)[1..], ["a1", "p2"]);
}

#[tokio::test]
async fn in_a_long_run_the_summary_says_the_prompt_word_for_word() {
    let turns = vec![
        Turn::Call(vec![shell("x")]),
        Turn::Call(vec![shell("y")]),
        Turn::Say("SUMMARY"),
        Turn::Say("done"),
    ];
    let mut stage = small(turns);
    stage.tools.clear();
    let long = crate::stage::Prop::new("shell", Some(becket_events::OperationKind::Shell), &stage.runs);
    stage
        .tools
        .push(std::sync::Arc::new(long.saying(&"long ".repeat(650))));
    assert_eq!(stage.answer("build the boat").await, "done");
    let before = &stage.events_named("pre_compact")[0];
    assert_eq!(
        (&before["reason"], &before["output_tokens"]),
        (&json!("tool_overflow"), &json!(2)),
        "results of tools filled it, and this prompt counts"
    );
    let after = &stage.events_named("post_compact")[0];
    assert_eq!(after["reason"], "tool_overflow");
    let (summary, _) = &compactions(&stage)[0];
    assert!(
        summary.starts_with("SUMMARY") && summary.ends_with("build the boat"),
        "{summary}"
    );
    let system = stage.model.requests.lock().unwrap()[3]["system"].to_string();
    assert!(system.contains("build the boat"));
    assert!(
        stage.seen_by_model(3)[0].contains("summarised in the system prompt"),
        "somebody else than the model speaks first"
    );
    let end = &stage.events_named("agent_end")[0];
    assert_eq!(
        end["messages"].as_array().unwrap().len(),
        6,
        "all messages of the run, summarised or not"
    );
    assert_eq!(stage.events_named("pre_system_prompt").len(), 2);
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_loses_nothing_and_ends_nothing() {
    for failure in [Turn::Fail(ProviderErrorKind::Rejected), Turn::Say("  ")] {
        let turns = [almost_full(), vec![failure, Turn::Say("a4")]].concat();
        let stage = small(turns);
        talk(&stage, &["p1", "p2", "p3", "p4"]).await;
        assert!(compactions(&stage).is_empty());
        assert_eq!(stage.seen_by_model(4).len(), 7, "everything is still there");
        let seen = stage.person.seen.lock().unwrap().join("\n");
        assert!(seen.contains("could not be summarised"), "{seen}");
        assert!(stage.events_named("post_compact").is_empty());
    }
}

#[tokio::test]
async fn hooks_may_refuse_bring_the_summary_or_steer_it() {
    let stage = small([almost_full(), vec![Turn::Say("a4")]].concat());
    stage.engine.on::<PreCompact>("no", |_| {
        Ok(PreCompactReply {
            verdict: Verdict::Deny("keep it all".into()).into(),
            ..Default::default()
        })
    });
    talk(&stage, &["p1", "p2", "p3", "p4"]).await;
    assert!(compactions(&stage).is_empty());
    assert_eq!(stage.seen_by_model(3).len(), 7);

    let stage = small([almost_full(), vec![Turn::Say("a4")]].concat());
    stage.engine.on::<PreCompact>("own", |occasion| {
        let messages = &occasion.payload.messages;
        Ok(PreCompactReply {
            summary: First(Some(Summary {
                text: "BY HOOK".into(),
                first_kept_id: Some(messages[2].id().into()),
                details: None,
            })),
            ..Default::default()
        })
    });
    talk(&stage, &["p1", "p2", "p3", "p4"]).await;
    assert_eq!(
        stage.seen_by_model(3),
        ["p2", "a2", "p3", "a3", "p4"],
        "kept from where the hook wants"
    );
    assert_eq!(stage.events_named("post_compact")[0]["by_hook"], true);

    let stage = small([almost_full(), vec![Turn::Say("S"), Turn::Say("a4")]].concat());
    stage.engine.on::<PreCompact>("steer", |_| {
        Ok(PreCompactReply {
            context: Append(vec!["the colour of the boat".into()]),
            ..Default::default()
        })
    });
    talk(&stage, &["p1", "p2", "p3", "p4"]).await;
    assert!(stage.seen_by_model(3)[0].ends_with("the colour of the boat"));
}

#[tokio::test]
async fn the_summary_passes_the_same_hooks_as_every_other_request() {
    let stage = small([almost_full(), vec![Turn::Say("S"), Turn::Say("a4")]].concat());
    stage.engine.on::<ModelContext>("redact", |occasion| {
        let summarising = occasion.payload.purpose == becket_events::RequestPurpose::Summary;
        let kept = occasion
            .payload
            .messages
            .iter()
            .filter(|message| message.text() != "p1");
        Ok(ModelContextReply {
            messages: Rewrite(summarising.then(|| kept.cloned().collect())),
            ..Default::default()
        })
    });
    talk(&stage, &["p1", "p2", "p3", "p4"]).await;
    assert!(
        !stage.seen_by_model(3)[0].contains("p1"),
        "what a hook hides stays hidden"
    );

    let stage = small([almost_full(), vec![Turn::Say("a4")]].concat());
    stage.engine.on::<PreRequest>("no summaries", |occasion| {
        let summarising = occasion.payload.purpose == becket_events::RequestPurpose::Summary;
        Ok(PreRequestReply {
            verdict: Strictest(summarising.then(|| Verdict::Deny("too dear".into()))),
            ..Default::default()
        })
    });
    talk(&stage, &["p1", "p2", "p3", "p4"]).await;
    assert!(
        compactions(&stage).is_empty(),
        "a refused request refuses the summary, not the run"
    );
}

#[tokio::test]
async fn nothing_happens_by_itself_where_it_is_switched_off() {
    let mut stage = small([almost_full(), vec![Turn::Fail(ProviderErrorKind::ContextTooLong)]].concat());
    stage.settings.compaction.auto = false;
    talk(&stage, &["p1", "p2", "p3"]).await;
    assert!(matches!(stage.play("p4").await.ending, Ending::Provider(_)));
    assert!(stage.events_named("pre_compact").is_empty());
}

#[tokio::test]
async fn a_conversation_that_the_provider_refuses_is_shortened_once() {
    let turns = vec![
        Turn::Say("a1"),
        Turn::Say("a2"),
        Turn::Fail(ProviderErrorKind::ContextTooLong),
        Turn::Say("SUMMARY"),
        Turn::Say("a3"),
    ];
    let stage = Stage::new(turns);
    talk(&stage, &["p1", "p2", "p3"]).await;
    assert_eq!(stage.events_named("pre_compact")[0]["reason"], "overflow");
    assert_eq!(stage.seen_by_model(4).last().unwrap(), "p3");

    let too_long = Turn::Fail(ProviderErrorKind::ContextTooLong);
    let talked = vec![Turn::Say("a1"), Turn::Say("a2")];
    let turns = [talked, vec![too_long.clone(), Turn::Say("SUMMARY"), too_long]].concat();
    let stage = Stage::new(turns);
    talk(&stage, &["p1", "p2"]).await;
    assert!(
        matches!(stage.play("p3").await.ending, Ending::Provider(_)),
        "not for ever"
    );
}

#[tokio::test]
async fn the_person_has_everything_summarised() {
    let stage = Stage::new(vec![Turn::Say("a1"), Turn::Say("SUMMARY"), Turn::Say("a2")]);
    let mut session = stage.open().await;
    let instructions = Some("the boat".to_string());
    let end = session
        .compact(instructions.clone(), stage.cancel.clone())
        .await
        .unwrap();
    assert_eq!(end, CompactEnd::Nothing);
    session.prompt(input("p1"), stage.cancel.clone()).await.unwrap();
    let end = session.compact(instructions, stage.cancel.clone()).await.unwrap();
    let CompactEnd::Compacted {
        summarised,
        kept,
        summary,
        ..
    } = end
    else {
        panic!("{end:?}")
    };
    assert_eq!((summarised, kept, summary.as_str()), (2, 0, "SUMMARY"));
    assert!(stage.seen_by_model(1)[0].ends_with("the boat"));
    let before = &stage.events_named("pre_compact")[0];
    assert_eq!(
        (&before["reason"], &before["scope"]),
        (&json!("manual"), &json!("full"))
    );
    assert_eq!(
        (&before["instructions"], &before["first_kept_id"]),
        (&json!("the boat"), &json!(null))
    );
    session.prompt(input("p2"), stage.cancel.clone()).await.unwrap();
    assert_eq!(stage.seen_by_model(2), ["p2"]);
    assert_eq!(stage.events_named("user_prompt")[1]["summary"], "SUMMARY");
    assert_eq!(session.usage().output_tokens, 3, "the summary costs too");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_leaves_everything_as_it_was() {
    let stage = Stage::new(vec![Turn::Say("a1"), Turn::Hang("half a summ"), Turn::Say("a2")]);
    let mut session = stage.open().await;
    session.prompt(input("p1"), stage.cancel.clone()).await.unwrap();
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    assert_eq!(
        session.compact(None, cancel).await.unwrap(),
        CompactEnd::Cancelled
    );
    let cancel = tokio_util::sync::CancellationToken::new();
    let later = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(30)).await;
        later.cancel();
    });
    assert_eq!(
        session.compact(None, cancel).await.unwrap(),
        CompactEnd::Cancelled
    );
    assert_eq!(
        (compactions(&stage).len(), summary_file(&stage)),
        (0, String::new())
    );
    session.prompt(input("p2"), stage.cancel.clone()).await.unwrap();
    assert_eq!(stage.seen_by_model(2), ["p1", "a1", "p2"]);
}

#[tokio::test]
async fn a_summary_that_cannot_be_stored_changes_nothing() {
    let stage = Stage::new(vec![Turn::Say("a1"), Turn::Say("SUMMARY"), Turn::Say("a2")]);
    let mut session = stage.open().await;
    session.prompt(input("p1"), stage.cancel.clone()).await.unwrap();
    *stage.store.fail_appends.lock().unwrap() = true;
    session.compact(None, stage.cancel.clone()).await.unwrap_err();
    *stage.store.fail_appends.lock().unwrap() = false;
    session.prompt(input("p2"), stage.cancel.clone()).await.unwrap();
    assert_eq!(stage.seen_by_model(2), ["p1", "a1", "p2"]);
    assert_eq!(summary_file(&stage), "");
}
