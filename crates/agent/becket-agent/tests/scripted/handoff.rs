//! Who speaks next: tools that decide it, the fallback, fuel, empty answers, repetition.

use std::sync::Arc;

use becket_agent::tool::{Handoff, Tool};
use becket_agent::{Ending, EndingTool};
use becket_events::{
    AgentStart, AgentStartReply, Fallback, First, Last, LoopStart, LoopStartReply, PreTool, PreToolReply,
    Rewrite, Stop, StopReply, Strictest, ToolBatch, ToolBatchReply, Verdict,
};
use serde_json::{Value, json};

use crate::stage::{Prop, Stage, Turn, shell};

/// A stage with becket's tool that ends the turn, and a plugin's tool by which the model goes on.
fn stage(turns: Vec<Turn>) -> Stage {
    let mut stage = Stage::new(turns);
    let ends = Prop::new("call_user", None, &stage.runs).handing(Handoff::Person);
    let goes_on = Prop::new("recurse", None, &stage.runs).handing(Handoff::Model);
    stage.tools.push(Arc::new(ends.builtin()) as Arc<dyn Tool>);
    stage.tools.push(Arc::new(goes_on));
    stage
}

fn ending(message: &str) -> (&'static str, Value) {
    ("call_user", json!({ "message": message }))
}

fn asked_again(turns: Vec<Turn>) -> Stage {
    let mut stage = stage(turns);
    stage.settings.fallback = Fallback::CallAgent;
    stage
}

#[tokio::test]
async fn a_tool_ends_the_turn_with_its_message_and_the_others_still_run() {
    let calls = vec![shell("a"), ending("all done"), shell("b")];
    let stage = asked_again(vec![Turn::Call(calls)]);
    assert_eq!(stage.answer("go").await, "all done");
    assert_eq!(stage.runs().len(), 3);
    assert_eq!(stage.turn_ends(), ["normal"]);
    assert_eq!(
        stage.stored().last().unwrap(),
        "all done",
        "the words are part of the conversation"
    );
    let shown = stage.person.seen.lock().unwrap().join("\n");
    assert!(shown.contains("Message(") && shown.contains("all done"));
    assert_eq!(stage.events_named("stop")[0]["response"], "all done");
    assert_eq!(
        stage.events_named("tool_batch")[0]["tool_calls"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    for event in [
        "pre_tool",
        "pre_tool_output",
        "post_tool_output",
        "post_tool",
        "tool_end",
    ] {
        let events = stage.events_named(event);
        assert!(
            events.iter().any(|event| event["tool_name"] == "call_user"),
            "{event}"
        );
    }
}

#[tokio::test]
async fn without_a_message_the_words_beside_the_call_are_the_answer() {
    let stage = asked_again(vec![Turn::Call(vec![("call_user", json!({}))])]);
    assert_eq!(stage.answer("go").await, "");
    assert_eq!(
        stage.stored().len(),
        3,
        "prompt, call, result, and no empty message"
    );
}

#[tokio::test]
async fn a_refused_call_does_not_end_the_turn() {
    let stage = asked_again(vec![
        Turn::Call(vec![ending("no")]),
        Turn::Call(vec![ending("yes")]),
    ]);
    stage.engine.on::<PreTool>("once", |occasion| {
        let refused = occasion.payload.arguments["message"] == "no";
        Ok(PreToolReply {
            verdict: Strictest(refused.then(|| Verdict::Deny("not yet".into()))),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "yes");
    assert_eq!(stage.turn_ends(), ["continue", "normal"]);
}

#[tokio::test]
async fn what_hooks_make_of_the_message_is_what_is_said() {
    let stage = asked_again(vec![Turn::Call(vec![ending("secret")])]);
    stage.engine.on::<PreTool>("polite", |_| {
        let arguments = json!({"message": "redacted"}).as_object().unwrap().clone();
        Ok(PreToolReply {
            arguments: Rewrite(Some(arguments)),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "redacted");
}

#[tokio::test]
async fn the_last_tool_that_hands_over_counts() {
    let on = ("recurse", json!({"prompt": "look again"}));
    let both = vec![on.clone(), ending("done")];
    let mut stage = stage(vec![Turn::Call(both)]);
    stage.settings.ending_tool = EndingTool::Always;
    assert_eq!(stage.answer("go").await, "done");

    let both = vec![ending("done"), on];
    let mut stage = self::stage(vec![Turn::Call(both), Turn::Say("looked")]);
    stage.settings.ending_tool = EndingTool::Always;
    assert_eq!(stage.answer("go").await, "looked");
    let seen = stage.seen_by_model(1);
    assert!(seen.last().unwrap().ends_with("\nlook again"), "{seen:?}");
    assert_eq!(stage.events_named("user_prompt")[1]["continuation"], 1);
}

#[tokio::test]
async fn a_hook_of_stop_may_send_the_model_on_after_it_ended_its_turn() {
    let stage = asked_again(vec![
        Turn::Call(vec![ending("done")]),
        Turn::Call(vec![ending("tested")]),
    ]);
    stage.engine.on::<Stop>("strict", |occasion| {
        let again = occasion.payload.response == "done";
        Ok(StopReply {
            continue_with: First(again.then(|| "run the tests".into())),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "tested");
}

#[tokio::test]
async fn the_model_is_asked_again_until_it_ends_its_turn_and_every_hook_hears_of_it() {
    let mut stage = asked_again(vec![
        Turn::Say("thinking"),
        Turn::Say("still"),
        Turn::Call(vec![ending("done")]),
    ]);
    stage.settings.fuel = Some(9);
    assert_eq!(stage.answer("go").await, "done");
    let again = stage.seen_by_model(1);
    let again = again.last().unwrap();
    for words in ["call_agent", "fuel 8/9", "call_user"] {
        assert!(again.contains(words), "{again}");
    }
    for event in ["user_prompt", "tools_offered", "pre_request"] {
        let counted: Vec<Value> = stage
            .events_named(event)
            .iter()
            .map(|event| event["continuation"].clone())
            .collect();
        assert_eq!(counted, [json!(0), json!(1), json!(2)], "{event}");
    }
    for event in ["pre_system_prompt", "post_system_prompt", "loop_start"] {
        assert_eq!(stage.events_named(event).len(), 3, "{event}");
    }
    let notices: Vec<bool> = ["Fuel: 9 of 9", "Fuel: 8 of 9", "Fuel: 7 of 9"]
        .iter()
        .zip(stage.model.requests.lock().unwrap().iter())
        .map(|(notice, request)| request["system"].as_str().unwrap().contains(notice))
        .collect();
    assert_eq!(notices, [true; 3]);
}

#[tokio::test]
async fn a_system_prompt_that_agent_start_wrote_holds_for_the_whole_run() {
    let stage = asked_again(vec![Turn::Say("a"), Turn::Call(vec![ending("b")])]);
    stage.engine.on::<AgentStart>("own", |_| {
        Ok(AgentStartReply {
            system_prompt: Rewrite(Some("MINE".into())),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    let requests = stage.model.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request["system"] == "MINE"));
}

#[tokio::test]
async fn the_tool_that_ends_the_turn_is_offered_where_it_is_needed() {
    let offered = |stage: &Stage, request: usize| {
        let requests = stage.model.requests.lock().unwrap();
        let tools = requests[request]["tools"].as_array().unwrap();
        tools.contains(&json!("call_user"))
    };
    let usual = stage(vec![Turn::Say("x")]);
    usual.answer("go").await;
    assert!(!offered(&usual, 0));

    let mut always = stage(vec![Turn::Say("x")]);
    always.settings.ending_tool = EndingTool::Always;
    always.answer("go").await;
    assert!(offered(&always, 0));

    let agent = asked_again(vec![Turn::Call(vec![ending("x")])]);
    agent.answer("go").await;
    assert!(offered(&agent, 0));

    let by_hook = stage(vec![Turn::Say("x"), Turn::Say("y")]);
    by_hook.engine.on::<LoopStart>("once", |occasion| {
        let first = occasion.payload.message == "go";
        Ok(LoopStartReply {
            fallback: Last(first.then_some(Fallback::CallAgent)),
            ..Default::default()
        })
    });
    by_hook.answer("go").await;
    assert!(offered(&by_hook, 0) && offered(&by_hook, 1));
}

#[tokio::test]
async fn tool_batch_beats_loop_start_and_loop_start_beats_the_configuration() {
    // Configuration: ask again. A hook after dangerous tools: hand back to the user. The next answer ends the turn.
    let stage = asked_again(vec![Turn::Call(vec![shell("rm")]), Turn::Say("removed")]);
    stage.engine.on::<ToolBatch>("guardrail", |_| {
        Ok(ToolBatchReply {
            fallback: Last(Some(Fallback::CallUser)),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "removed");
    assert_eq!(stage.turn_ends(), ["continue", "normal"]);

    // The last hook wins, and what hooks said ends when the model is asked again.
    let stage = self::stage(vec![
        Turn::Call(vec![shell("ls")]),
        Turn::Say("a"),
        Turn::Say("b"),
    ]);
    for (name, fallback) in [("one", Fallback::CallUser), ("two", Fallback::CallAgent)] {
        stage.engine.on::<ToolBatch>(name, move |_| {
            Ok(ToolBatchReply {
                fallback: Last(Some(fallback)),
                ..Default::default()
            })
        });
    }
    assert_eq!(stage.answer("go").await, "b");
    let starts = stage.events_named("loop_start");
    assert_eq!(starts[1]["fallback"], "call_user");
    assert_eq!(stage.events_named("tool_batch")[0]["fallback"], "call_user");
}

#[tokio::test]
async fn an_empty_answer_is_asked_again_costs_fuel_and_ends_in_the_end() {
    let mut stage = Stage::new(vec![Turn::Say(" \n"), Turn::Say("words")]);
    stage.settings.fuel = Some(20);
    assert_eq!(stage.answer("go").await, "words");
    assert_eq!(stage.events_named("pre_request")[1]["fuel_remaining"], 5);
    assert_eq!(stage.stored(), ["go", "words"], "nothing empty is kept");
    let nudge = stage.seen_by_model(1);
    assert!(nudge.last().unwrap().contains("empty"), "{nudge:?}");

    let mut stage = Stage::new(vec![Turn::Say("")]);
    stage.settings.fuel = Some(15);
    assert!(matches!(stage.play("go").await.ending, Ending::Limit(_)));

    let stage = Stage::new(vec![Turn::Say(""); 3]);
    let Ending::Provider(error) = stage.play("go").await.ending else {
        panic!("three empty answers are none");
    };
    assert!(error.message.contains("3 times in a row"), "{error}");
    assert_eq!(stage.turn_ends(), ["continue", "continue", "error"]);

    let some = vec![Turn::Say(""), Turn::Say(""), Turn::Call(vec![shell("a")])];
    let stage = Stage::new([some, vec![Turn::Say(""), Turn::Say("at last")]].concat());
    assert_eq!(
        stage.answer("go").await,
        "at last",
        "only empty answers in a row count"
    );
}

#[tokio::test]
async fn asking_again_for_the_same_is_remarked_on_and_costs_fuel() {
    let mut stage = Stage::new(vec![
        Turn::Call(vec![shell("ls")]),
        Turn::Call(vec![shell("ls"), shell("pwd")]),
        Turn::Say("done"),
    ]);
    stage.settings.fuel = Some(20);
    stage.answer("go").await;
    let warned = stage.seen_by_model(2);
    assert!(
        warned.last().unwrap().contains("same again (shell)"),
        "{warned:?}"
    );
    assert!(!stage.seen_by_model(1).last().unwrap().contains("same again"));
    assert_eq!(
        stage.events_named("pre_request")[2]["fuel_remaining"],
        20 - 1 - 1 - 5,
        "two rounds and the repetition"
    );
}

#[tokio::test]
async fn at_most_a_hundred_tools_of_one_answer_run() {
    let calls: Vec<(&str, Value)> = (0..103).map(|_| ("custom", json!({}))).collect();
    let stage = Stage::new(vec![Turn::Call(calls), Turn::Say("ok")]);
    stage.answer("go").await;
    assert_eq!(stage.runs().len(), 100);
    let stored = stage.stored();
    assert_eq!(
        stored.iter().filter(|text| text.contains("at most 100")).count(),
        3
    );
    assert_eq!(
        stage.events_named("tool_end").len(),
        103,
        "every call has its result"
    );
}
