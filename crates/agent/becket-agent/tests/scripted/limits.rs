//! The user at the limit of a run, steering messages, and how long the model sees what hooks add.

use becket_agent::front::UserAnswer;
use becket_agent::{Ending, Session};
use becket_events::{
    Append, EndReason, SessionStart, SessionStartReply, Steering, SteeringReply, TurnStart, TurnStartReply,
    Verdict,
};
use serde_json::json;

use crate::stage::{Stage, Turn, answering, input, shell};

fn limited(turns: Vec<Turn>, answers: Vec<UserAnswer>) -> Stage {
    let mut stage = Stage::new(turns);
    stage.settings.max_iterations = 2;
    stage.settings.approval.mode = answering(false);
    *stage.person.answers.lock().unwrap() = answers.into();
    stage
}

/// Rounds of a tool that needs no question, each with another file.
fn rounds(count: usize) -> Vec<Turn> {
    let read = |place: usize| ("read", json!({"path": format!("file-{place}")}));
    (0..count).map(|place| Turn::Call(vec![read(place)])).collect()
}

fn with_files(stage: &Stage, count: usize) {
    for place in 0..count {
        std::fs::write(stage.folder.path().join(format!("file-{place}")), "x").unwrap();
    }
}

#[tokio::test]
async fn the_person_lets_a_run_go_on_past_its_limit() {
    let mut turns = rounds(12);
    turns.push(Turn::Say("done"));
    let stage = limited(turns, vec![UserAnswer::Yes, UserAnswer::YesAgain]);
    with_files(&stage, 12);
    assert_eq!(stage.answer("go").await, "done");
    let raised: Vec<_> = stage
        .events_named("limit_raised")
        .iter()
        .map(|event| (event["previous_limit"].clone(), event["new_limit"].clone()))
        .collect();
    assert_eq!(raised, [(json!(2), json!(12)), (json!(12), json!(22))]);
    let names = stage.names();
    let moments: Vec<&&str> = names
        .iter()
        .filter(|name| {
            matches!(
                **name,
                "notification" | "iteration_limit" | "attention" | "limit_raised"
            )
        })
        .take(4)
        .collect();
    assert_eq!(
        moments,
        [&"notification", &"iteration_limit", &"attention", &"limit_raised"]
    );
    assert_eq!(stage.events_named("attention")[0]["reason"], "limit");
    let question = stage.person.questions.lock().unwrap()[0].clone();
    assert!(question.reason.unwrap().contains("limit of 2 requests"));
}

#[tokio::test]
async fn without_a_yes_of_the_person_the_limit_ends_the_run() {
    for answer in [UserAnswer::No(None), UserAnswer::Nobody] {
        let stage = limited(rounds(2), vec![answer.clone()]);
        with_files(&stage, 2);
        assert!(
            matches!(stage.play("go").await.ending, Ending::Limit(_)),
            "{answer:?}"
        );
        assert!(stage.events_named("limit_raised").is_empty());
    }
    let stage = limited(rounds(2), vec![UserAnswer::Cancel]);
    with_files(&stage, 2);
    assert_eq!(stage.play("go").await.ending, Ending::Cancelled);

    // `--yes` speaks for tools, and would never end.
    let mut stage = limited(rounds(2), vec![UserAnswer::Yes]);
    stage.settings.approval.mode = answering(true);
    with_files(&stage, 2);
    assert!(matches!(stage.play("go").await.ending, Ending::Limit(_)));
    assert!(stage.person.questions.lock().unwrap().is_empty());
}

async fn steered(stage: &Stage) -> (Session, Ending) {
    let mut session = stage.open().await;
    session.queues().steer("look left");
    session.queues().steer("and right");
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    (session, end.ending)
}

#[tokio::test]
async fn hooks_hear_what_was_said_in_between_and_add_to_it() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("done")]);
    stage.engine.on::<Steering>("guide", |_| {
        Ok(SteeringReply {
            context: Append(vec!["mind the step".into()]),
            ..Default::default()
        })
    });
    assert_eq!(steered(&stage).await.1, Ending::Answered);
    let heard = stage.events_named("steering");
    assert_eq!(heard.len(), 1, "once for all that waited");
    assert_eq!(heard[0]["messages"], json!(["look left", "and right"]));
    assert_eq!(
        stage.seen_by_model(0),
        ["go", "look left", "and right", "mind the step"]
    );
    assert_eq!(stage.seen_by_model(1).last().unwrap(), "mind the step");
    assert!(!stage.stored().contains(&"mind the step".to_owned()));
}

#[tokio::test]
async fn a_hook_may_refuse_what_was_said_in_between() {
    let stage = Stage::new(vec![]);
    stage.engine.on::<Steering>("no", |_| {
        Ok(SteeringReply {
            verdict: Verdict::Deny("no talking".into()).into(),
            ..Default::default()
        })
    });
    assert_eq!(steered(&stage).await.1, Ending::Blocked("no talking".into()));
    assert_eq!(stage.events_named("error")[0]["kind"], "hook_blocked");
    assert!(stage.turn_ends().is_empty(), "it was before the turn");
    assert_eq!(stage.stored(), ["go"]);
}

#[tokio::test]
async fn what_session_start_adds_lasts_for_the_session_and_what_turn_start_adds_for_its_turn() {
    let stage = Stage::new(vec![
        Turn::Call(vec![shell("ls")]),
        Turn::Say("one"),
        Turn::Say("two"),
        Turn::Say("three"),
    ]);
    stage.engine.on::<SessionStart>("house", |occasion| {
        let reason = serde_json::to_value(occasion.payload.reason).unwrap();
        Ok(SessionStartReply {
            context: Append(vec![format!("began by {}", reason.as_str().unwrap())]),
            ..Default::default()
        })
    });
    stage.engine.on::<TurnStart>("clock", |occasion| {
        Ok(TurnStartReply {
            context: Append(vec![format!("turn {}", occasion.scope.turn)]),
            ..Default::default()
        })
    });
    let mut session = stage.open().await;
    for prompt in ["first", "second"] {
        session.prompt(input(prompt), stage.cancel.clone()).await.unwrap();
    }
    session.end(EndReason::Done).await.unwrap();
    stage.answer("third").await;

    let reasons: Vec<_> = stage
        .events_named("session_start")
        .iter()
        .map(|event| event["reason"].clone())
        .collect();
    assert_eq!(
        reasons,
        [json!("startup"), json!("resume")],
        "once for each session"
    );
    let requests = stage.model.requests.lock().unwrap().clone();
    let expected = [
        ("startup", "turn 1"),
        ("startup", "turn 2"),
        ("startup", "turn 3"),
        ("resume", "turn 1"),
    ];
    for (request, (reason, turn)) in requests.iter().zip(expected) {
        let system = request["system"].as_str().unwrap();
        assert_eq!(system.matches("began by").count(), 1, "{system}");
        assert!(system.ends_with(&format!("began by {reason}")), "{system}");
        let messages = request["messages"].as_array().unwrap();
        let turns: Vec<&str> = messages
            .iter()
            .filter_map(|message| message["text"].as_str().filter(|text| text.starts_with("turn ")))
            .collect();
        assert_eq!(turns, [turn]);
    }
}
