//! Tool calls: their order, their arguments, their outputs.

use std::sync::Arc;

use becket_events::{
    First, Part, PostTool, PostToolReply, PreCache, PreCacheReply, PreTool, PreToolOutput,
    PreToolOutputReply, PreToolReply, Rewrite, ToolBatch, ToolBatchReply,
};
use serde_json::{Value, json};

use crate::stage::{Prop, Stage, Turn, shell};

#[tokio::test(start_paused = true)]
async fn calls_run_beside_each_other_and_results_come_in_call_order() {
    let mut stage = Stage::new(vec![
        Turn::Call(vec![("slow", json!({})), ("custom", json!({}))]),
        Turn::Say("ok"),
    ]);
    stage
        .tools
        .push(Arc::new(Prop::new("slow", None, &stage.runs).slow(50)));
    stage.answer("go").await;
    assert_eq!(
        stage.runs(),
        ["custom {}", "slow {}"],
        "the quick one was not held up"
    );
    assert_eq!(stage.stored()[2..4], ["slow ran", "custom ran"]);
}

#[tokio::test]
async fn aliases_end_before_any_hook_sees_the_call() {
    let stage = Stage::new(vec![
        Turn::Call(vec![("shell", json!({"cmd": "ls"}))]),
        Turn::Say("ok"),
    ]);
    stage.answer("go").await;
    assert_eq!(
        stage.events_named("pre_tool")[0]["arguments"],
        json!({"command": "ls"})
    );
    assert_eq!(
        stage.events_named("tool_start")[0]["arguments"],
        json!({"cmd": "ls"}),
        "as the model wrote it"
    );
    assert_eq!(stage.runs(), [r#"shell {"command":"ls"}"#]);
}

#[tokio::test]
async fn calls_that_make_no_sense_are_answered_and_the_run_goes_on() {
    let calls = vec![
        ("shel", json!({"command": "ls"})),
        ("shell", json!("{broken")),
        ("shell", json!("[1]")),
        ("shell", json!({"command": "ls", "cmd": "rm"})),
        ("shell", json!({"command": 3})),
    ];
    let stage = Stage::new(vec![Turn::Call(calls), Turn::Say("ok")]);
    stage.answer("go").await;
    let stored = stage.stored();
    let expected = [
        "did you mean `shell`?",
        "not valid JSON",
        "must be a JSON object",
        "duplicate field",
        "invalid type",
    ];
    for (text, expected) in stored[2..7].iter().zip(expected) {
        assert!(text.contains(expected), "{text} / {expected}");
    }
    assert!(stage.runs().is_empty());
    assert!(stage.events_named("pre_tool").is_empty());
    assert_eq!(stage.events_named("tool_end").len(), 5);
}

#[tokio::test]
async fn calls_of_an_answer_that_was_cut_off_do_not_run() {
    let stage = Stage::new(vec![Turn::CutOff(vec![shell("rm -rf /")]), Turn::Say("ok")]);
    stage.answer("go").await;
    assert!(stage.runs().is_empty());
    assert!(stage.stored()[2].contains("cut off"));
}

#[tokio::test]
async fn what_runs_is_what_the_last_hook_wrote() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<PreTool>("add -h", |occasion| {
        let mut arguments = occasion.payload.arguments.clone();
        arguments.insert("command".into(), "ls -h".into());
        Ok(PreToolReply {
            arguments: Rewrite(Some(arguments)),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(stage.runs(), [r#"shell {"command":"ls -h"}"#]);
    assert_eq!(
        stage.events_named("pre_shell")[0]["command"],
        "ls -h",
        "permission events judge the final call"
    );
    let after = &stage.events_named("post_tool")[0];
    assert_eq!(after["arguments"]["command"], "ls -h");
    assert_eq!(after["original_arguments"]["command"], "ls");
}

#[tokio::test]
async fn arguments_that_a_hook_broke_do_not_run() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<PreTool>("break", |_| {
        let arguments = json!({"comand": "ls"}).as_object().unwrap().clone();
        Ok(PreToolReply {
            arguments: Rewrite(Some(arguments)),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert!(stage.runs().is_empty());
    assert!(
        stage.stored()[2].contains("the arguments of shell are wrong"),
        "{:?}",
        stage.stored()
    );
}

#[tokio::test]
async fn outputs_can_be_rewritten_also_those_of_refused_calls() {
    let stage = Stage::new(vec![
        Turn::Call(vec![shell("ls"), ("nothing", json!({}))]),
        Turn::Say("ok"),
    ]);
    stage.engine.on::<PreToolOutput>("redact", |occasion| {
        let text = format!("[{}]", becket_events::text_of(&occasion.payload.content));
        let is_error = Rewrite(Some(!occasion.payload.ran));
        Ok(PreToolOutputReply {
            content: Rewrite(Some(vec![Part::text(text)])),
            is_error,
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(
        stage.stored()[2..4],
        ["[shell ran]", "[there is no tool `nothing`]"]
    );
}

#[tokio::test]
async fn context_of_post_tool_follows_the_results() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<PostTool>("hint", |_| {
        Ok(PostToolReply {
            context: vec!["mind the tests".to_string()].into(),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(stage.seen_by_model(1), ["go", "", "shell ran", "mind the tests"]);
}

#[tokio::test]
async fn context_of_other_tool_events_follows_the_results_in_their_order() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<PreTool>("before", |_| {
        Ok(PreToolReply {
            context: vec!["before".to_string()].into(),
            ..Default::default()
        })
    });
    stage.engine.on::<PreToolOutput>("output", |_| {
        Ok(PreToolOutputReply {
            context: vec!["output".to_string()].into(),
            ..Default::default()
        })
    });
    stage.engine.on::<ToolBatch>("batch", |_| {
        Ok(ToolBatchReply {
            context: vec!["batch".to_string()].into(),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    let seen = stage.seen_by_model(1);
    assert_eq!(seen, ["go", "", "shell ran", "before\n\noutput", "batch"]);
}

fn long_stage(turns: Vec<Turn>) -> Stage {
    let mut stage = Stage::new(turns);
    stage.settings.output_limit = 100;
    stage.settings.preview_chars = 10;
    stage.tools.push(Arc::new(
        Prop::new("long", None, &stage.runs).saying(&"word ".repeat(100)),
    ));
    stage
}

#[tokio::test]
async fn a_large_output_is_put_aside_in_the_virtual_file_system() {
    let stage = long_stage(vec![Turn::Call(vec![("long", json!({}))]), Turn::Say("ok")]);
    stage.answer("go").await;
    let cached = &stage.events_named("post_cache")[0];
    let (cache_id, path) = (
        cached["cache_id"].as_str().unwrap(),
        cached["path"].as_str().unwrap(),
    );
    assert_eq!(path, format!("vfs:///sys/tool_cache/default/{cache_id}"));
    let stub = &stage.stored()[2];
    let head = format!("[Output cached: {path}]\nTool: long | Size: 500 bytes, 1 line\n");
    assert!(stub.starts_with(&head), "{stub}");
    assert!(stub.ends_with("---\nword \n[…]\nword "), "{stub}");
    let file = stage.settings.vfs.join("sys/tool_cache/default").join(cache_id);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "word ".repeat(100));
    let after = &stage.events_named("post_tool")[0];
    assert_eq!(after["cached"], true);
    assert_eq!(after["result"].as_str().unwrap().len(), 500);
}

#[tokio::test]
async fn a_piece_of_a_cached_output_is_not_cached_again() {
    let from = |path: &str| Turn::Call(vec![("read", json!({"path": path}))]);
    let mut stage = Stage::new(vec![
        from("vfs:///sys/tool_cache/default/x"),
        from("vfs:///shared/x"),
        Turn::Say("ok"),
    ]);
    stage.settings.output_limit = 5;
    stage.answer("go").await;
    let cached: Vec<Value> = stage.events_named("post_tool");
    assert_eq!(
        (&cached[0]["cached"], &cached[1]["cached"]),
        (&json!(false), &json!(true))
    );
}

#[tokio::test]
async fn outputs_that_older_versions_put_aside_are_said_to_be_gone() {
    let read = ("read", json!({"path": "blob:41070a3e"}));
    let stage = Stage::new(vec![Turn::Call(vec![read]), Turn::Say("ok")]);
    stage.answer("go").await;
    assert!(
        stage.stored()[2].contains("has been removed"),
        "{}",
        stage.stored()[2]
    );
    assert!(stage.runs().is_empty());
}

#[tokio::test]
async fn a_hook_may_summarise_a_large_output_or_keep_it() {
    let stage = long_stage(vec![Turn::Call(vec![("long", json!({}))]), Turn::Say("ok")]);
    stage.engine.on::<PreCache>("summary", |_| {
        Ok(PreCacheReply {
            summary: First(Some("a lot of words".into())),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert!(stage.stored()[2].ends_with("\na lot of words"));

    let stage = long_stage(vec![Turn::Call(vec![("long", json!({}))]), Turn::Say("ok")]);
    stage.engine.on::<PreCache>("keep", |_| {
        Ok(PreCacheReply {
            cache: First(Some(false)),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(stage.stored()[2].len(), 500);
    assert!(stage.events_named("post_cache").is_empty());
}

#[tokio::test]
async fn progress_is_an_event() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.answer("go").await;
    let updates: Vec<Value> = stage.events_named("tool_update");
    assert_eq!(updates[0]["output"], "working");
    let names = stage.names();
    let place = |name| names.iter().position(|other| *other == name).unwrap();
    assert!(place("tool_start") < place("pre_tool"));
    assert!(place("approval_decided") < place("tool_update"));
    assert!(place("pre_tool_output") < place("post_tool_output"));
    assert!(place("post_tool_output") < place("tool_end"));
    assert!(place("tool_end") < place("post_tool"));
    assert!(place("post_tool") < place("tool_batch"));
    assert!(place("tool_batch") < place("turn_end"));
}

#[tokio::test]
async fn a_call_that_runs_alone_is_judged_when_those_before_it_have_ended() {
    let mut stage = Stage::new(vec![
        Turn::Call(vec![("alone", json!({})), ("alone", json!({}))]),
        Turn::Say("ok"),
    ]);
    stage
        .tools
        .push(Arc::new(Prop::new("alone", None, &stage.runs).alone()));
    stage.answer("go").await;
    let names = stage.names();
    let places = |name| {
        names
            .iter()
            .enumerate()
            .filter(move |(_, other)| **other == name)
            .map(|(place, _)| place)
    };
    let (first_end, second_judged) = (
        places("tool_end").next().unwrap(),
        places("pre_tool").nth(1).unwrap(),
    );
    assert!(first_end < second_judged);
}
