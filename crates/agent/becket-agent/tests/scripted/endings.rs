//! How runs end: answers, limits, failures, cancels. Every turn that began ends, and so does every run.

use std::time::Duration;

use becket_agent::Ending;
use becket_agent::provider::ProviderErrorKind;
use becket_events::{
    Adjust, AgentEnd, EndReason, Event, Fallback, First, Last, LoopStart, LoopStartReply, PostTool,
    PostToolReply, PreRequest, PreRequestReply, PreTool, PreToolOutput, Reply, Rewrite, SessionStart, Stop,
    StopReply, ToolBatch, ToolBatchReply, UserPrompt, UserPromptReply, Verdict,
};
use serde_json::json;

use crate::stage::{Stage, Turn, input, message_of, shell};

#[tokio::test]
async fn every_reason_for_which_a_turn_can_end() {
    // normal, continue
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("done")]);
    assert_eq!(stage.answer("go").await, "done");
    assert_eq!(stage.turn_ends(), ["continue", "normal"]);

    // error
    let stage = Stage::new(vec![Turn::Fail(ProviderErrorKind::Rejected)]);
    assert!(matches!(stage.play("go").await.ending, Ending::Provider(_)));
    assert_eq!(stage.turn_ends(), ["error"]);
    assert_eq!(stage.events_named("error")[0]["kind"], "provider");

    // hook_blocked, before the request and after a tool
    let stage = Stage::new(vec![]);
    stage.engine.on::<PreRequest>("no", |_| {
        Ok(PreRequestReply {
            verdict: Verdict::Deny("too dear".into()).into(),
            ..Default::default()
        })
    });
    assert_eq!(stage.play("go").await.ending, Ending::Blocked("too dear".into()));
    assert_eq!(stage.turn_ends(), ["hook_blocked"]);

    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")])]);
    stage.engine.on::<PostTool>("stop", |_| {
        Ok(PostToolReply {
            stop: First(Some("enough".into())),
            ..Default::default()
        })
    });
    assert_eq!(stage.play("go").await.ending, Ending::Blocked("enough".into()));
    assert_eq!(stage.turn_ends(), ["hook_blocked"]);

    // loop_detected
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]); 5]);
    assert!(matches!(stage.play("go").await.ending, Ending::LoopDetected(_)));
    assert_eq!(stage.turn_ends().last().unwrap(), "loop_detected");
    assert_eq!(stage.runs().len(), 5);

    // limit: fuel
    let mut stage = Stage::new(vec![Turn::Call(vec![shell("a")]), Turn::Call(vec![shell("b")])]);
    stage.settings.fuel = Some(2);
    assert!(matches!(stage.play("go").await.ending, Ending::Limit(_)));
    assert_eq!(stage.turn_ends(), ["continue", "limit"]);
    for name in ["agent_end", "session_end"] {
        assert_eq!(stage.events_named(name)[0]["reason"], "limit", "{name}");
    }
}

#[tokio::test]
async fn a_halt_of_any_event_ends_the_run_at_its_next_step() {
    fn halts<E: Event>(stage: &Stage) {
        stage
            .engine
            .on::<E>("halt", |_| Ok(E::Reply::halting("budget".into())));
    }
    let calls = || vec![Turn::Call(vec![shell("a"), shell("b")]), Turn::Say("done")];
    let ended = Ending::Blocked("budget".into());
    // Each with how many tools have run by then.
    for (halt, runs) in [
        (halts::<SessionStart> as fn(&Stage), 0),
        (halts::<UserPrompt>, 0),
        (halts::<PreTool>, 0),
        // Both were judged before the first had an output.
        (halts::<PreToolOutput>, 2),
        (halts::<PostTool>, 2),
        (halts::<ToolBatch>, 2),
    ] {
        let stage = Stage::new(calls());
        halt(&stage);
        assert_eq!(stage.play("go").await.ending, ended);
        assert_eq!(stage.runs().len(), runs);
    }

    // The model has answered: nothing may send it on, and the answer stands.
    let stage = Stage::new(vec![Turn::Say("done")]);
    halts::<Stop>(&stage);
    stage.engine.on::<Stop>("on", |_| {
        Ok(StopReply {
            continue_with: First(Some("go on".into())),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "done");

    // One that comes after the last step does not end the next run.
    let stage = Stage::new(vec![Turn::Say("one"), Turn::Say("two")]);
    halts::<AgentEnd>(&stage);
    let mut session = stage.open().await;
    for answer in ["one", "two"] {
        let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
        assert_eq!(end.answer, answer);
    }
}

#[tokio::test]
async fn the_same_reason_sends_the_model_on_again_only_if_it_repeats() {
    for (repeats, turns) in [(None, 2), (Some(true), 4)] {
        let stage = Stage::new(vec![
            Turn::Say("a"),
            Turn::Say("b"),
            Turn::Say("c"),
            Turn::Say("d"),
        ]);
        stage.engine.on::<Stop>("again", move |occasion| {
            let goes_on = occasion.payload.continuations < 3;
            Ok(StopReply {
                continue_with: First(goes_on.then(|| "again".into())),
                repeats: First(repeats),
                ..Default::default()
            })
        });
        stage.play("go").await;
        assert_eq!(stage.turn_ends().len(), turns);
    }
}

#[tokio::test]
async fn words_said_in_between_steer_the_model_and_follow_ups_come_after() {
    let stage = Stage::new(vec![
        Turn::Call(vec![shell("ls")]),
        Turn::Say("first"),
        Turn::Say("steered"),
        Turn::Say("followed"),
    ]);
    let mut session = stage.open().await;
    let queues = session.queues();
    queues.follow_up("and then?");
    let late = queues.clone();
    stage.engine.on::<Stop>("person", move |occasion| {
        if occasion.payload.response == "first" {
            late.steer("no, wait");
        }
        Ok(Default::default())
    });
    queues.steer("look left");
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!(end.answer, "followed");
    assert_eq!(stage.turn_ends(), ["continue", "steered", "normal", "normal"]);
    assert_eq!(stage.seen_by_model(0), ["go", "look left"]);
    assert_eq!(stage.seen_by_model(2).last().unwrap(), "no, wait");
    let sources: Vec<_> = stage
        .events_named("user_input")
        .iter()
        .map(|event| event["source"].clone())
        .collect();
    assert_eq!(
        sources,
        [
            json!("interactive"),
            json!("steering"),
            json!("steering"),
            json!("follow_up")
        ]
    );
    let prompts: Vec<_> = stage
        .events_named("user_prompt")
        .iter()
        .map(|event| (event["prompt"].clone(), event["source"].clone()))
        .collect();
    assert_eq!(
        prompts,
        [
            (json!("go"), json!("interactive")),
            (json!("and then?"), json!("follow_up"))
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn requests_are_tried_again_only_before_content_arrived() {
    let stage = Stage::new(vec![
        Turn::Fail(ProviderErrorKind::Transient),
        Turn::Fail(ProviderErrorKind::Transient),
        Turn::Say("at last"),
    ]);
    assert_eq!(stage.answer("go").await, "at last");
    assert_eq!(stage.events_named("response_start")[0]["retries"], 2);
    assert_eq!(stage.turn_ends(), ["normal"], "retries are one turn");

    let mut stage = Stage::new(vec![Turn::Fail(ProviderErrorKind::Transient); 4]);
    stage.settings.max_retries = 3;
    assert!(matches!(stage.play("go").await.ending, Ending::Provider(_)));

    let mut stage = Stage::new(vec![Turn::Hang("some words")]);
    stage.settings.idle_timeout = Some(Duration::from_millis(20));
    stage.settings.max_retries = 0;
    let Ending::Provider(error) = stage.play("go").await.ending else {
        panic!("the provider was silent")
    };
    assert_eq!(error.kind, ProviderErrorKind::Broken);
}

// Time that stands still until nothing else can happen lets the cancel come when the answer hangs.
#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_model_and_keeps_its_words() {
    let stage = Stage::new(vec![Turn::Hang("half an ans"), Turn::Say("whole")]);
    let cancel = stage.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(30)).await;
        cancel.cancel();
    });
    let end = stage.play("go").await;
    assert_eq!(end.ending, Ending::Cancelled);
    assert_eq!(stage.turn_ends(), ["cancelled"]);
    assert_eq!(stage.events_named("agent_end")[0]["reason"], "cancelled");
    assert_eq!(stage.events_named("session_end")[0]["reason"], "cancelled");
    assert_eq!(stage.stored(), ["go", "half an ans"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_running_tools_and_answers_their_calls() {
    let mut stage = Stage::new(vec![Turn::Call(vec![("slow", json!({})), ("slow", json!({}))])]);
    let slow = crate::stage::Prop::new("slow", None, &stage.runs).slow(60_000);
    stage.tools.push(std::sync::Arc::new(slow));
    let cancel = stage.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(30)).await;
        cancel.cancel();
    });
    assert_eq!(stage.play("go").await.ending, Ending::Cancelled);
    // The turn of the calls, and the one in which the model would have answered.
    assert_eq!(stage.turn_ends(), ["cancelled", "cancelled"]);
    assert_eq!(
        stage.stored(),
        ["go", "", "cancelled", "cancelled"],
        "both calls have a result"
    );
}

#[tokio::test]
async fn a_store_that_fails_ends_the_run_and_nothing_is_said_twice() {
    let stage = Stage::new(vec![Turn::Say("lost")]);
    let mut session = stage.open().await;
    let store = stage.store.clone();
    stage.engine.on::<PreRequest>("pull the plug", move |_| {
        *store.fail_appends.lock().unwrap() = true;
        Ok(Default::default())
    });
    let error = session
        .prompt(input("go"), stage.cancel.clone())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
    assert_eq!(stage.turn_ends(), ["error"]);
    assert_eq!(stage.events_named("agent_end")[0]["reason"], "failed");
}

#[tokio::test]
async fn calls_that_a_killed_process_left_open_are_answered_on_resume() {
    let first = Stage::new(vec![Turn::Call(vec![shell("a"), shell("b")]), Turn::Say("x")]);
    first.answer("go").await;
    let second = Stage::new(vec![Turn::Say("resumed")]);
    let until_calls = first.store.entries.lock().unwrap()[..3].to_vec();
    *second.store.entries.lock().unwrap() = until_calls;
    assert_eq!(second.answer("go on").await, "resumed");
    let stored = second.stored();
    assert_eq!(stored[..3], ["go", "", "shell ran"]);
    assert!(
        stored[3].contains("becket ended before this call did"),
        "{stored:?}"
    );
    assert_eq!(second.events_named("session_start")[0]["reason"], "resume");
    let last = message_of(&second.store.entries.lock().unwrap()[3]);
    assert!(
        matches!(last.body(), becket_events::MessageBody::Tool { tool_call_id, .. } if tool_call_id == "c1")
    );
}

#[tokio::test]
async fn a_stop_hook_sends_the_model_on_but_not_for_ever() {
    let stage = Stage::new(vec![Turn::Say("one"), Turn::Say("two"), Turn::Say("three")]);
    stage.engine.on::<Stop>("strict", |occasion| {
        let reason = match occasion.payload.response.as_str() {
            "one" => "run the tests",
            _ => "and the linter",
        };
        Ok(StopReply {
            continue_with: First(Some(reason.into())),
            ..Default::default()
        })
    });
    assert_eq!(
        stage.answer("go").await,
        "three",
        "the same reason twice in a row ends it"
    );
    assert_eq!(stage.seen_by_model(1).last().unwrap(), "run the tests");
    assert_eq!(stage.seen_by_model(2).last().unwrap(), "and the linter");
}

#[tokio::test]
async fn fuel_and_fallback_follow_the_hooks() {
    let mut stage = Stage::new(vec![Turn::Call(vec![shell("a")]), Turn::Say("b"), Turn::Say("c")]);
    stage.settings.fuel = Some(5);
    stage.engine.on::<LoopStart>("more", |occasion| {
        let fallback = if occasion.payload.message == "go" {
            Fallback::CallAgent
        } else {
            Fallback::CallUser
        };
        Ok(LoopStartReply {
            fuel: Adjust::set(50),
            fallback: Last(Some(fallback)),
            ..Default::default()
        })
    });
    stage.engine.on::<ToolBatch>("less", |_| {
        Ok(ToolBatchReply {
            fuel: Adjust::add(-48),
            ..Default::default()
        })
    });
    let end = stage.play("go").await;
    let batch = &stage.events_named("tool_batch")[0];
    assert_eq!(
        (&batch["fuel_remaining"], &batch["fuel_total"]),
        (&json!(50), &json!(5))
    );
    assert_eq!(batch["tool_calls"][0]["tool_name"], "shell");
    assert!(
        matches!(end.ending, Ending::Limit(_)),
        "2 - 1 for the tools - 1 for going on without the user"
    );
    assert_eq!(end.answer, "b");
}

#[tokio::test]
async fn without_the_person_the_model_is_asked_again() {
    let stage = Stage::new(vec![Turn::Say("b"), Turn::Say("c")]);
    stage.engine.on::<LoopStart>("once", |occasion| {
        let fallback = if occasion.payload.message == "go" {
            Fallback::CallAgent
        } else {
            Fallback::CallUser
        };
        Ok(LoopStartReply {
            fallback: Last(Some(fallback)),
            ..Default::default()
        })
    });
    stage.engine.on::<UserPrompt>("shape", |occasion| {
        let again = occasion.payload.continuation > 0;
        Ok(UserPromptReply {
            prompt: Rewrite(again.then(|| "go on".to_string())),
            ..Default::default()
        })
    });
    assert_eq!(stage.play("go").await.ending.reason(), EndReason::Done);
    assert_eq!(stage.turn_ends(), ["continue", "normal"]);
    assert_eq!(stage.seen_by_model(1).last().unwrap(), "go on");
}

#[tokio::test]
async fn the_iteration_limit_is_announced() {
    let mut stage = Stage::new(vec![Turn::Call(vec![shell("a")]), Turn::Call(vec![shell("b")])]);
    stage.settings.max_iterations = 2;
    assert!(matches!(stage.play("go").await.ending, Ending::Limit(_)));
    assert_eq!(stage.events_named("iteration_limit")[0]["limit"], 2);
    let names = stage.names();
    let place = |name| names.iter().position(|other| *other == name).unwrap();
    assert!(place("notification") < place("iteration_limit"));
}
