//! The desk: what code outside of the loop sees of a session, and how the session obeys it.

use std::sync::{Arc, Mutex};

use becket_agent::desk::{ChosenModel, Delivery, Desk, DeskError, WhenIdle};
use becket_agent::gate::Permit;
use becket_agent::provider::{ProviderErrorKind, RequestOptions, ThinkingLevel};
use becket_agent::store::{EntryContent, ShellRun};
use becket_agent::tool::{Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::{CompactEnd, Ending, Input, Outcome, Session, SubAgent, ToolChoice};
use becket_events::{
    AgentEnd, AgentStart, Answer, EndReason, Handled, InputSource, MessageEnd, ModelChoice, NoteDraft, Part,
    SessionEnd, SessionStart, ShellResult, ToolStart, TurnEnded, TurnStart, UserInput, UserInputReply,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::stage::{Model, Prop, Stage, Turn, input, shell};

/// A stage with a desk.
fn stage(turns: Vec<Turn>) -> (Stage, Desk) {
    let desk = Desk::new();
    let mut stage = Stage::new(turns);
    stage.desk = Some(desk.clone());
    (stage, desk)
}

/// Words of an extension.
fn words(text: &str) -> Input {
    Input {
        source: InputSource::Hook,
        ..input(text)
    }
}

fn note(text: &str) -> NoteDraft {
    NoteDraft {
        kind: "plan".into(),
        content: vec![Part::text(text)],
        display: true,
        details: Some(json!({"step": 1})),
    }
}

async fn prompt(session: &mut Session, stage: &Stage, text: &str) -> Ending {
    session
        .prompt(input(text), stage.cancel.clone())
        .await
        .unwrap()
        .ending
}

/// How the last run ended that the desk asked for.
async fn attend(session: &mut Session, stage: &Stage) -> Option<Ending> {
    let end = session.attend(stage.cancel.clone()).await.unwrap();
    end.map(|end| end.ending)
}

/// The kinds of the entries: `m:text` for messages, the kind of custom ones, and so on.
fn kinds<'a>(contents: impl IntoIterator<Item = &'a EntryContent>) -> Vec<String> {
    let kinds = contents.into_iter().map(|content| match content {
        EntryContent::Message { message } => format!("m:{}", message.text()),
        EntryContent::Custom { kind, .. } => kind.clone(),
        EntryContent::Label { label, .. } => format!("label:{label:?}"),
        EntryContent::Name { name } => format!("name:{name}"),
        EntryContent::Compaction { .. } => "compaction".into(),
        EntryContent::Speaker { .. } => "speaker".into(),
        EntryContent::Model { model } => format!("model:{model}"),
        EntryContent::Thinking { level } => format!("thinking:{level:?}"),
        EntryContent::BranchSummary { .. } => "branch".into(),
        EntryContent::Shell(run) => format!("shell:{}", run.command),
    });
    kinds.collect()
}

fn stored(stage: &Stage) -> Vec<String> {
    let entries = stage.store.entries.lock().unwrap();
    kinds(entries.iter().map(|entry| &entry.content))
}

fn seen(desk: &Desk) -> Vec<String> {
    kinds(desk.entries().unwrap().iter().map(|entry| &entry.content))
}

/// What a hook of a test asserts must hold: a panic in one is a failure of the hook and no more.
fn assert_no_hook_failed(stage: &Stage) {
    let failures = stage.events_named("hook_failed");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Calls a function at each event of a kind.
macro_rules! at {
    ($stage:expr, $Event:ty, $desk:ident, $body:expr) => {{
        let $desk = $desk.clone();
        $stage.engine.on::<$Event>("extension", move |_| {
            let $desk = &$desk;
            $body;
            Ok(Default::default())
        });
    }};
}

#[tokio::test]
async fn before_a_session_there_is_nothing_to_see_and_after_it_nothing_to_ask_for() {
    let (stage, desk) = stage(vec![Turn::Say("hello")]);
    assert_eq!(desk.place().unwrap_err(), DeskError::NotBegun);
    assert_eq!(desk.tools().unwrap_err(), DeskError::NotBegun);
    assert_eq!(desk.remember("k", json!(1)).unwrap_err(), DeskError::NotBegun);
    assert_eq!(
        desk.say(words("x"), Delivery::FollowUp).unwrap_err(),
        DeskError::NotBegun
    );
    assert_eq!(desk.compact(None).await.unwrap_err(), DeskError::NotBegun);
    assert!(desk.is_idle() && !desk.has_wish());
    assert!(DeskError::NotBegun.to_string().contains("session_start"));

    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Answered);
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(
        seen(&desk),
        ["m:go", "m:hello"],
        "what was there can still be seen"
    );
    assert_eq!(desk.remember("k", json!(1)).unwrap_err(), DeskError::Over);
    assert_eq!(desk.set_name("n").unwrap_err(), DeskError::Over);
    let said = desk.note(note("x"), Delivery::Steering, WhenIdle::Run);
    assert_eq!(said.unwrap_err(), DeskError::Over);
    assert_eq!(desk.compact(None).await.unwrap_err(), DeskError::Over);
    desk.set_thinking(ThinkingLevel::High);
    assert_eq!(desk.thinking().unwrap(), None, "nor to choose");
    assert!(!desk.has_wish());
    assert_eq!(stored(&stage), ["m:go", "m:hello"]);
}

#[tokio::test]
async fn what_a_session_shows() {
    let (stage, desk) = stage(vec![Turn::Say("first"), Turn::Measured("hello", 640)]);
    let idle = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&idle);
    at!(
        stage,
        SessionStart,
        desk,
        list.lock().unwrap().push(desk.is_idle())
    );
    let list = Arc::clone(&idle);
    at!(stage, TurnEnded, desk, list.lock().unwrap().push(desk.is_idle()));
    let list = Arc::clone(&idle);
    at!(
        stage,
        AgentEnd,
        desk,
        list.lock()
            .unwrap()
            .push(desk.is_idle() || desk.cancel().is_none())
    );
    let mut session = stage.open().await;
    let place = desk.place().unwrap();
    assert_eq!(
        (place.session_id.as_str(), place.context_name.as_str()),
        (session.id(), "default")
    );
    assert_eq!(place.cwd, stage.folder.path().display().to_string());
    assert_eq!(desk.leaf_id().unwrap(), None);
    assert_eq!(desk.system_prompt().unwrap(), stage.settings.instructions);
    prompt(&mut session, &stage, "go").await;
    prompt(&mut session, &stage, "on").await;

    assert_eq!(*idle.lock().unwrap(), [true, false, false, false, false]);
    assert!(desk.is_idle() && desk.cancel().is_none());
    let entries = desk.entries().unwrap();
    assert_eq!(seen(&desk), ["m:go", "m:first", "m:on", "m:hello"]);
    for (one, next) in entries.iter().zip(&entries[1..]) {
        assert_eq!(next.parent_id.as_ref(), Some(&one.id));
        assert!(next.time_ms >= one.time_ms && one.time_ms > 0);
    }
    assert_eq!(desk.leaf_id().unwrap().as_ref(), Some(&entries[3].id));
    assert_eq!(desk.entry(&entries[1].id).unwrap().as_ref(), Some(&entries[1]));
    assert_eq!(desk.entry("nonsense").unwrap(), None);
    assert_eq!(
        *stage.store.entries.lock().unwrap(),
        entries.iter().map(|entry| (**entry).clone()).collect::<Vec<_>>()
    );
    assert_eq!(desk.messages().unwrap().len(), 4);
    let shown = stage.model.requests.lock().unwrap()[1]["system"].clone();
    assert_eq!(desk.system_prompt().unwrap(), shown.as_str().unwrap());
    let usage = desk.context_usage().unwrap();
    assert_eq!((usage.tokens, usage.window), (641, 128_000));
    assert!((usage.percent() - 0.5).abs() < 0.01);
    let tools: Vec<_> = desk
        .tools()
        .unwrap()
        .into_iter()
        .map(|tool| (tool.spec.face.name, tool.is_active))
        .collect();
    let all = ["shell", "read", "write", "custom"].map(|name| (name.to_owned(), true));
    assert_eq!(tools, all);
    assert_eq!(desk.model().unwrap().model(), "model");
    assert_eq!(desk.thinking().unwrap(), None);

    session.clear(stage.cancel.clone()).await.unwrap().unwrap();
    assert_eq!(seen(&desk), [""; 0]);
    assert!(desk.context_usage().unwrap().tokens < 200);
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn a_conversation_that_is_taken_up_again_shows_everything_at_once() {
    let (mut stage, desk) = stage(vec![Turn::Say("hello")]);
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "go").await;
    let first = desk.leaf_id().unwrap().unwrap();
    desk.set_name("the talk").unwrap();
    desk.set_label(&first, Some("here")).unwrap();
    session.end(EndReason::Done).await.unwrap();

    let later = Desk::new();
    stage.desk = Some(later.clone());
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&told);
    at!(
        stage,
        SessionStart,
        later,
        list.lock().unwrap().extend(seen(later))
    );
    stage.open().await;
    assert_eq!(
        *told.lock().unwrap(),
        ["m:go", "m:hello", "name:the talk", "label:Some(\"here\")"]
    );
    assert_eq!(later.name().unwrap().as_deref(), Some("the talk"));
    assert_eq!(later.label(&first).unwrap().as_deref(), Some("here"));
    let end = later.set_label("nonsense", Some("x")).unwrap_err();
    assert!(end.to_string().contains("nonsense"), "{end}");
    later.set_label(&first, None).unwrap();
    assert_eq!(later.label(&first).unwrap(), None);
}

#[tokio::test]
async fn what_is_remembered_in_a_hook_is_seen_at_once_and_stored_before_the_next_message() {
    let (stage, desk) = stage(vec![Turn::Call(vec![shell("ls")]), Turn::Say("done")]);
    let views = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&views);
    at!(stage, ToolStart, desk, {
        let id = desk.remember("tool", json!({"n": 1})).unwrap();
        list.lock().unwrap().push((desk.leaf_id().unwrap(), id));
    });
    at!(stage, AgentEnd, desk, desk.remember("end", json!(null)).unwrap());
    at!(
        stage,
        SessionEnd,
        desk,
        desk.remember("last", json!(null)).unwrap()
    );
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "go").await;
    for (leaf, id) in views.lock().unwrap().iter() {
        assert_eq!(leaf.as_ref(), Some(id));
    }
    let at_the_end = ["m:go", "m:", "tool", "m:shell ran", "m:done", "end"];
    assert_eq!(
        stored(&stage),
        at_the_end,
        "nothing of a prompt that is over is missing"
    );
    assert_eq!(seen(&desk), at_the_end);
    assert_eq!(
        stage.seen_by_model(1),
        ["go", "", "shell ran"],
        "the model never sees it"
    );

    // Between two prompts it waits for the front end.
    desk.remember("between", json!(2)).unwrap();
    assert!(desk.has_wish());
    desk.wished().await;
    assert_eq!(attend(&mut session, &stage).await, None);
    assert!(!desk.has_wish());
    assert_eq!(stored(&stage).last().unwrap(), "between");
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(stored(&stage).last().unwrap(), "last");
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn what_could_not_be_stored_waits_and_is_stored_later() {
    let (stage, desk) = stage(vec![Turn::Say("done")]);
    let mut session = stage.open().await;
    desk.remember("kept", json!(1)).unwrap();
    *stage.store.fail_appends.lock().unwrap() = true;
    session
        .prompt(input("go"), stage.cancel.clone())
        .await
        .unwrap_err();
    assert!(desk.is_idle() && desk.has_wish());
    assert_eq!(seen(&desk), ["kept"], "only what will be there");
    *stage.store.fail_appends.lock().unwrap() = false;
    session.end(EndReason::Failed).await.unwrap();
    assert_eq!(stored(&stage), ["kept"]);
}

#[tokio::test]
async fn words_said_while_nothing_runs_begin_a_run() {
    let (stage, desk) = stage(vec![Turn::Say("one"), Turn::Say("two"), Turn::Say("three")]);
    let mut session = stage.open().await;
    let mut picture = words("look");
    picture.images = vec![Part::Image {
        media_type: "image/png".into(),
        data: "aGk=".into(),
    }];
    desk.say(picture, Delivery::FollowUp).unwrap();
    // Two at once: the second is heard after the first is answered.
    desk.say(words("and listen"), Delivery::FollowUp).unwrap();
    assert!(desk.has_wish() && desk.has_waiting());
    assert_eq!(attend(&mut session, &stage).await, Some(Ending::Answered));
    assert_eq!(stage.seen_by_model(1), ["look", "one", "and listen"]);
    assert!(!desk.has_wish() && !desk.has_waiting());
    let prompts = stage.events_named("user_input");
    assert_eq!(prompts[0]["source"], "hook");
    assert_eq!(prompts[0]["images"].as_array().unwrap().len(), 1);
    // Words that steer nothing are a prompt as well.
    desk.say(words("now"), Delivery::Steering).unwrap();
    assert_eq!(attend(&mut session, &stage).await, Some(Ending::Answered));
    assert_eq!(stage.events_named("agent_end").len(), 2);
}

/// A command that the person ran.
fn ran(command: &str, hidden: bool) -> ShellRun {
    let result = ShellResult {
        output: "out".into(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
    };
    ShellRun {
        command: command.into(),
        result,
        hidden,
    }
}

#[tokio::test]
async fn a_command_of_the_person_s_is_kept_and_one_that_is_hidden_is_not_seen() {
    let (stage, desk) = stage(vec![Turn::Say("one"), Turn::Say("two")]);
    let mut session = stage.open().await;
    let shown = desk.keep_shell_run(ran("ls", false));
    let hidden = desk.keep_shell_run(ran("secret", true));
    assert!(desk.has_wish());
    attend(&mut session, &stage).await;
    assert_eq!((shown.await, hidden.await), (Ok(()), Ok(())));
    at!(
        stage,
        TurnStart,
        desk,
        drop(desk.keep_shell_run(ran("now", false)))
    );
    prompt(&mut session, &stage, "go").await;
    let heard = stage.seen_by_model(0);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].contains("Ran `ls`") && heard[1] == "go", "{heard:?}");
    // What is run while the model works is heard with the next prompt.
    prompt(&mut session, &stage, "more").await;
    let heard = stage.seen_by_model(1);
    assert!(heard[3].contains("Ran `now`") && heard[4] == "more", "{heard:?}");
}

#[tokio::test]
async fn before_a_run_has_begun_nothing_runs_and_what_is_said_runs_after_it_or_stands_before_it() {
    let (stage, desk) = stage(vec![Turn::Say("one"), Turn::Say("two"), Turn::Say("three")]);
    let once = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&once);
    at!(stage, UserInput, desk, {
        let mut heard = heard.lock().unwrap();
        if heard.is_empty() {
            heard.push((desk.is_idle(), desk.is_running()));
            desk.say(words("second"), Delivery::FollowUp).unwrap();
            desk.note(note("kept"), Delivery::Steering, WhenIdle::Keep)
                .unwrap();
            heard.push((desk.is_idle(), desk.is_running()));
            assert!(!desk.has_wish(), "the session hears it by itself");
        }
    });
    let begun = Arc::clone(&once);
    at!(stage, AgentStart, desk, {
        let mut begun = begun.lock().unwrap();
        if begun.len() == 2 {
            begun.push((desk.has_waiting(), desk.is_running()));
            desk.say(words("third"), Delivery::FollowUp).unwrap();
        }
    });
    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "first").await, Ending::Answered);
    assert_no_hook_failed(&stage);
    assert_eq!(
        *once.lock().unwrap(),
        [(true, false), (false, false), (true, false)]
    );
    assert_eq!(
        stored(&stage),
        [
            "m:kept", "m:first", "m:one", "m:second", "m:two", "m:third", "m:three"
        ]
    );
    assert!(desk.is_idle() && !desk.has_wish());
}

#[tokio::test]
async fn whoever_waits_for_rest_waits_for_what_is_wished_too() {
    let (stage, desk) = stage(vec![Turn::Say("one"), Turn::Say("SUMMARY")]);
    let mut session = stage.open().await;
    desk.say(words("go"), Delivery::FollowUp).unwrap();
    let summary = desk.compact(None);
    assert!(!desk.is_idle() && !desk.is_running());
    let mut waiting = Box::pin(desk.idle());
    assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
    attend(&mut session, &stage).await;
    waiting.await;
    assert!(summary.await.is_ok());
    assert_eq!(stored(&stage).first().map(String::as_str), Some("m:go"));
    assert!(desk.is_idle());
}

#[tokio::test]
async fn words_and_notes_said_meanwhile_steer_the_model_or_follow() {
    let (stage, desk) = stage(vec![
        Turn::Call(vec![shell("ls")]),
        Turn::Say("steered"),
        Turn::Say("followed"),
    ]);
    at!(stage, ToolStart, desk, {
        desk.note(note("a note"), Delivery::Steering, WhenIdle::Keep)
            .unwrap();
        desk.say(words("no, wait"), Delivery::Steering).unwrap();
        desk.note(note("and a note then"), Delivery::FollowUp, WhenIdle::Keep)
            .unwrap();
        assert!(desk.has_waiting());
    });
    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Answered);
    assert_eq!(
        stage.seen_by_model(1),
        ["go", "", "shell ran", "a note", "no, wait"]
    );
    assert_eq!(stage.seen_by_model(2).last().unwrap(), "and a note then");
    assert_eq!(stage.turn_ends(), ["steered", "normal", "normal"]);
    let steering = stage.events_named("steering");
    assert_eq!(
        steering[0]["messages"],
        json!(["no, wait"]),
        "a note is no word of the person's"
    );
    let prompts = stage.events_named("user_prompt");
    assert_eq!(
        (&prompts[1]["prompt"], &prompts[1]["source"]),
        (&json!("and a note then"), &json!("hook"))
    );
    assert_eq!(
        stage.events_named("user_input").len(),
        2,
        "go, and what was steered"
    );
    let notes: Vec<Value> = stage
        .events_named("message_end")
        .into_iter()
        .map(|event| event["message"].clone())
        .filter(|message| message["role"] == "note")
        .collect();
    assert_eq!(notes.len(), 2);
    assert_eq!(
        (&notes[1]["kind"], &notes[1]["details"]),
        (&json!("plan"), &json!({"step": 1}))
    );
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn a_note_said_while_nothing_runs_is_kept_or_begins_a_run() {
    let (stage, desk) = stage(vec![Turn::Say("seen"), Turn::Say("again")]);
    let mut session = stage.open().await;
    desk.note(note("kept"), Delivery::Steering, WhenIdle::Keep)
        .unwrap();
    assert!(desk.has_wish() && !desk.has_waiting());
    assert_eq!(attend(&mut session, &stage).await, None);
    assert_eq!(stored(&stage), ["m:kept"]);
    assert!(stage.model.requests.lock().unwrap().is_empty());

    desk.note(note("run"), Delivery::Steering, WhenIdle::Run).unwrap();
    assert_eq!(attend(&mut session, &stage).await, Some(Ending::Answered));
    assert_eq!(stage.seen_by_model(0), ["kept", "run"]);
    assert!(stage.events_named("user_input").is_empty());
    assert_eq!(stage.events_named("agent_start")[0]["prompt"], "run");

    desk.note(note("with the next"), Delivery::NextPrompt, WhenIdle::Run)
        .unwrap();
    assert!(!desk.has_wish(), "it waits for a prompt");
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Answered);
    assert_eq!(stage.seen_by_model(1)[3..], ["go", "with the next"]);
}

#[tokio::test]
async fn what_is_said_at_the_end_of_a_run_runs_before_the_prompt_is_over() {
    let (stage, desk) = stage(vec![Turn::Say("one"), Turn::Say("two"), Turn::Say("three")]);
    let left = Mutex::new(vec![Delivery::Steering, Delivery::FollowUp]);
    at!(
        stage,
        AgentEnd,
        desk,
        if let Some(delivery) = left.lock().unwrap().pop() {
            desk.say(words("go on"), delivery).unwrap();
        }
    );
    let mut session = stage.open().await;
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!((end.answer.as_str(), end.ending), ("three", Ending::Answered));
    assert!(!desk.has_wish() && desk.is_idle());
}

#[tokio::test]
async fn nobody_speaks_after_each_answer_for_ever() {
    let (mut stage, desk) = stage(vec![Turn::Say("yes"); 20]);
    stage.settings.max_iterations = 5;
    at!(stage, AgentEnd, desk, {
        desk.say(words("again"), Delivery::FollowUp).unwrap();
        desk.say(words("and again"), Delivery::FollowUp).unwrap();
    });
    let mut session = stage.open().await;
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!(end.answer, "yes");
    let Ending::Limit(words) = end.ending else {
        panic!("{:?}", end.ending);
    };
    assert!(
        words.contains("5 requests since the person last spoke"),
        "{words}"
    );
    assert_eq!(
        stage.model.requests.lock().unwrap().len(),
        6,
        "the person's own, and five more"
    );
    assert!(
        !desk.has_waiting() && !desk.has_wish(),
        "nothing goes on by itself"
    );
    // Nor does it go on by a timer; only the person's words begin something new.
    desk.say(self::words("once more"), Delivery::FollowUp).unwrap();
    assert!(matches!(
        attend(&mut session, &stage).await,
        Some(Ending::Limit(_))
    ));
    assert_eq!(stage.model.requests.lock().unwrap().len(), 6);
    prompt(&mut session, &stage, "go").await;
    assert_eq!(stage.model.requests.lock().unwrap().len(), 12);
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn words_that_a_hook_takes_care_of_come_to_an_end_too() {
    let (mut stage, desk) = stage(Vec::new());
    stage.settings.max_iterations = 3;
    let handler = desk.clone();
    stage.engine.on::<UserInput>("extension", move |_| {
        handler.say(words("again"), Delivery::FollowUp).unwrap();
        Ok(UserInputReply {
            handled: Answer(Some(Handled { message: None })),
            ..Default::default()
        })
    });
    let mut session = stage.open().await;
    assert!(matches!(
        prompt(&mut session, &stage, "go").await,
        Ending::Limit(_)
    ));
    assert_eq!(stage.events_named("user_input").len(), 4);
}

#[tokio::test]
async fn tools_are_chosen_added_and_taken_away() {
    let (stage, desk) = stage(vec![
        Turn::Call(vec![("extra", json!({}))]),
        Turn::Call(vec![shell("ls")]),
        Turn::Say("done"),
        Turn::Say("later"),
    ]);
    // While extensions are loaded, and when the session starts.
    desk.add_tool(Arc::new(Prop::new("extra", None, &stage.runs)));
    let runs = Arc::clone(&stage.runs);
    at!(stage, SessionStart, desk, {
        desk.add_tool(Arc::new(Prop::new("shell", None, &runs).saying("another shell")));
        assert_eq!(desk.tools().unwrap().len(), 5, "seen at once");
    });
    at!(stage, ToolStart, desk, {
        desk.set_active_tools(vec!["shell".into(), "nonsense".into()]);
    });
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "go").await;
    let offered = |request: usize| stage.model.requests.lock().unwrap()[request]["tools"].clone();
    assert_eq!(offered(0), json!(["shell", "read", "write", "custom", "extra"]));
    assert_eq!(offered(1), json!(["shell"]));
    assert_eq!(stage.runs(), ["extra {}", "shell {\"command\":\"ls\"}"]);
    assert_eq!(
        stage.seen_by_model(2).last().unwrap(),
        "another shell",
        "it stands in its place"
    );
    assert_eq!(
        stage.events_named("post_system_prompt").len(),
        stage.events_named("tool_start").len() + 1,
        "the system prompt is written anew whenever something is chosen"
    );
    desk.add_tool(Arc::new(Prop::new("new", None, &stage.runs)));
    assert_eq!(attend(&mut session, &stage).await, None);
    prompt(&mut session, &stage, "go").await;
    assert_eq!(offered(3), json!(["shell", "new"]), "what is added is active");
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn another_model_answers_from_the_next_request_on() {
    let (mut stage, desk) = stage(vec![Turn::Call(vec![shell("ls")])]);
    stage.settings.compaction.context_window = 1_000;
    let other = Model::playing("other", vec![Turn::Say("by the other")]);
    let chosen = other.clone();
    at!(stage, ToolStart, desk, {
        desk.set_model(ChosenModel {
            provider: chosen.clone(),
            context_window: Some(5_000),
            choice: ModelChoice::Cycle,
        });
        desk.set_thinking(ThinkingLevel::High);
        assert_eq!(desk.model().unwrap().model(), "other", "seen at once");
    });
    let mut session = stage.open().await;
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!(end.answer, "by the other");
    let changes = stage.events_named("model_change");
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (
            &changes[0]["new_model"],
            &changes[0]["previous_model"],
            &changes[0]["choice"]
        ),
        (&json!("stage/other"), &json!("stage/model"), &json!("cycle"))
    );
    assert_eq!(stage.events_named("agent_end")[0]["model"], "stage/other");
    assert_eq!(other.requests.lock().unwrap()[0]["thinking"], "high");
    assert_eq!(stage.model.requests.lock().unwrap()[0]["thinking"], json!(null));
    assert_eq!(desk.context_usage().unwrap().window, 5_000);
    assert_eq!(desk.thinking().unwrap(), Some(ThinkingLevel::High));

    // While nothing runs, hooks hear of it as soon as the front end attends.
    let model = ChosenModel {
        provider: stage.model.clone(),
        context_window: None,
        choice: ModelChoice::Set,
    };
    desk.set_model(model);
    assert!(desk.has_wish());
    attend(&mut session, &stage).await;
    assert_eq!(stage.events_named("model_change").len(), 2);
    assert!(!desk.has_wish());
    assert_no_hook_failed(&stage);
}

/// Asks a sub-agent.
struct Asking(ToolSpec);

impl Tool for Asking {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    fn asks_agents(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, _: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let agent = SubAgent {
                name: None,
                system_prompt: "You count.".into(),
                input: "count".into(),
                provider: None,
                options: RequestOptions::default(),
                tools: ToolChoice::None,
                member: None,
            };
            match agent.run(&run.parent.unwrap()).await {
                Outcome::Answered(answer) => ToolOutput::text(answer),
                other => ToolOutput::error(other.problem().unwrap()),
            }
        })
    }
}

#[tokio::test]
async fn sub_agents_follow_the_choice_and_do_not_change_what_is_seen() {
    let (mut stage, desk) = stage(vec![]);
    let spec = Prop::new("asking", None, &stage.runs).spec().clone();
    stage.tools.push(Arc::new(Asking(spec)));
    let other = Model::playing(
        "other",
        vec![
            Turn::Call(vec![("asking", json!({}))]),
            Turn::Say("three"),
            Turn::Say("three!"),
        ],
    );
    desk.set_model(ChosenModel {
        provider: other.clone(),
        context_window: None,
        choice: ModelChoice::Set,
    });
    let views = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&views);
    at!(
        stage,
        MessageEnd,
        desk,
        list.lock()
            .unwrap()
            .push((seen(desk).len(), desk.system_prompt().unwrap()))
    );
    let mut session = stage.open().await;
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!(end.answer, "three!");
    assert_eq!(other.requests.lock().unwrap().len(), 3);
    let views = views.lock().unwrap();
    let lengths: Vec<usize> = views.iter().map(|(length, _)| *length).collect();
    // The choice of the model; own prompt and call; the sub-agent's prompt and answer; result and answer.
    assert_eq!(lengths, [1, 2, 3, 3, 3, 4]);
    assert!(views.iter().all(|(_, prompt)| !prompt.contains("You count.")));
    assert_eq!(
        seen(&desk),
        ["model:stage/other", "m:go", "m:", "m:three", "m:three!"]
    );
    assert_eq!(desk.place().unwrap().session_id, session.id());
}

#[tokio::test]
async fn a_run_is_ended_at_the_desk_and_the_next_one_runs() {
    let (stage, desk) = stage(vec![Turn::Hang("so"), Turn::Say("well"), Turn::Say("done")]);
    let mut session = stage.open().await;
    let asked = desk.clone();
    let abort = async {
        while asked.cancel().is_none() || stage.model.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        asked.say(words("later"), Delivery::FollowUp).unwrap();
        asked.say(words("left"), Delivery::Steering).unwrap();
        asked.abort();
    };
    let rested = async {
        abort.await;
        assert!(!desk.is_idle());
        desk.idle().await;
    };
    let (ending, ()) = tokio::join!(prompt(&mut session, &stage, "go"), rested);
    assert_eq!(ending, Ending::Aborted);
    desk.idle().await;
    assert!(!stage.cancel.is_cancelled(), "the program goes on");
    assert!(
        !desk.has_wish() && !desk.has_next(),
        "after a cancel nothing begins by itself"
    );
    assert!(desk.has_waiting());
    desk.abort();
    assert_eq!(prompt(&mut session, &stage, "again").await, Ending::Answered);
    let heard = stage.seen_by_model(1);
    assert_eq!(
        heard[heard.len() - 2..],
        ["again", "left"],
        "what was to steer is heard with the next prompt"
    );
    let heard = stage.seen_by_model(2);
    assert_eq!(
        heard[heard.len() - 2..],
        ["well", "later"],
        "what was to follow comes after its answer"
    );
    assert!(!desk.has_waiting());
}

/// Somebody who wants a summary while nothing runs, and waits for it.
async fn wanted_summary(desk: &Desk) -> JoinHandle<Result<CompactEnd, DeskError>> {
    let asking = desk.clone();
    let waiting = tokio::spawn(async move { asking.compact(None).await });
    desk.wished().await;
    waiting
}

#[tokio::test]
async fn a_summary_that_is_wanted_with_the_end_of_a_run_is_written_after_it() {
    let (stage, desk) = stage(vec![Turn::Hang("so"), Turn::Say("SUMMARY")]);
    let summary = Arc::new(Mutex::new(None));
    let place = Arc::clone(&summary);
    at!(stage, becket_events::MessageUpdate, desk, {
        let asking = desk.clone();
        let mut compaction = Box::pin(async move { asking.compact(None).await });
        // The wish is there as soon as the future was looked at once.
        let _ = futures_util::FutureExt::now_or_never(&mut compaction);
        *place.lock().unwrap() = Some(compaction);
        desk.abort();
    });
    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Aborted);
    assert!(desk.has_wish());
    assert_eq!(attend(&mut session, &stage).await, None);
    let compaction = summary.lock().unwrap().take().unwrap();
    assert!(matches!(compaction.await, Ok(CompactEnd::Compacted { .. })));
}

#[tokio::test]
async fn a_tool_that_runs_gets_the_cancel_of_the_desk() {
    let (mut stage, desk) = stage(vec![Turn::Call(vec![("slow", json!({}))])]);
    stage
        .tools
        .push(Arc::new(Prop::new("slow", None, &stage.runs).slow(600_000)));
    at!(stage, becket_events::ToolUpdate, desk, desk.abort());
    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Aborted);
    assert!(stage.runs().is_empty());
}

#[tokio::test]
async fn the_person_cancels_what_the_desk_has_begun() {
    let (stage, desk) = stage(vec![Turn::Hang("so"), Turn::Say("well")]);
    let mut session = stage.open().await;
    desk.say(words("begin"), Delivery::FollowUp).unwrap();
    desk.say(words("and more"), Delivery::FollowUp).unwrap();
    let cancel = stage.cancel.clone();
    let interrupt = async {
        while stage.model.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(session.attend(stage.cancel.clone()), interrupt);
    assert_eq!(end.unwrap().unwrap().ending, Ending::Cancelled);
    assert!(desk.is_idle() && !desk.has_wish(), "nothing else is begun");

    // A front end that attends with a cancel that has come already is not kept busy for ever.
    let summary = wanted_summary(&desk).await;
    assert_eq!(session.attend(stage.cancel.clone()).await.unwrap(), None);
    assert!(!desk.has_wish());
    assert_eq!(summary.await.unwrap(), Ok(CompactEnd::Cancelled));
}

#[tokio::test]
async fn after_a_failure_nothing_begins_by_itself() {
    let (stage, desk) = stage(vec![Turn::Fail(ProviderErrorKind::Rejected), Turn::Say("well")]);
    at!(
        stage,
        AgentEnd,
        desk,
        desk.say(words("again"), Delivery::FollowUp).unwrap()
    );
    let mut session = stage.open().await;
    assert!(matches!(
        prompt(&mut session, &stage, "go").await,
        Ending::Provider(_)
    ));
    assert!(!desk.has_wish());
    assert_eq!(stage.model.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn the_program_ends_when_nothing_runs() {
    let (stage, desk) = stage(vec![Turn::Say("done")]);
    at!(stage, AgentStart, desk, {
        desk.shut_down();
        assert!(!desk.has_wish(), "not while something runs");
    });
    let mut session = stage.open().await;
    assert!(!desk.shutdown_requested());
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Answered);
    assert!(desk.shutdown_requested() && desk.has_wish());
    desk.wished().await;
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn a_summary_is_written_for_whoever_asks_while_nothing_runs() {
    let (stage, desk) = stage(vec![Turn::Say("a1"), Turn::Say("SUMMARY")]);
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "p1").await;
    let two = tokio::join!(desk.compact(Some("names".into())), desk.compact(None), async {
        desk.wished().await;
        attend(&mut session, &stage).await
    },);
    let expected = CompactEnd::Compacted {
        summarised: 2,
        kept: 0,
        summary: "SUMMARY".into(),
        entry_id: desk.leaf_id().unwrap().unwrap(),
    };
    assert_eq!(two.0.unwrap(), expected);
    assert_eq!(
        two.1.unwrap(),
        CompactEnd::Nothing,
        "there was nothing left for the second"
    );
    assert_eq!(desk.messages().unwrap().len(), 0);
    assert_eq!(stage.events_named("pre_compact")[0]["instructions"], "names");
    assert!(!desk.has_wish());

    let waiting = wanted_summary(&desk).await;
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(
        waiting.await.unwrap().unwrap_err(),
        DeskError::Over,
        "nobody waits for ever"
    );
}

#[tokio::test]
async fn a_summary_in_the_middle_of_a_run_stands_for_what_was_before_its_prompt() {
    let (stage, desk) = stage(vec![
        Turn::Say("a1"),
        Turn::Call(vec![shell("ls")]),
        Turn::Say("SUMMARY"),
        Turn::Say("a2"),
    ]);
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "p1").await;
    let answers = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&answers);
    at!(stage, ToolStart, desk, {
        let (desk, list) = (desk.clone(), Arc::clone(&list));
        tokio::spawn(async move {
            let end = desk.compact(None).await;
            list.lock().unwrap().push(end);
        });
    });
    assert_eq!(prompt(&mut session, &stage, "p2").await, Ending::Answered);
    assert_eq!(stage.seen_by_model(3), ["p2", "", "shell ran"]);
    let system = stage.model.requests.lock().unwrap()[3]["system"].to_string();
    assert!(system.contains("SUMMARY"), "{system}");
    while answers.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let answer = answers.lock().unwrap()[0].clone().unwrap();
    assert!(
        matches!(answer, CompactEnd::Compacted { summarised: 2, .. }),
        "{answer:?}"
    );
    assert_eq!(
        stage.turn_ends(),
        ["normal", "continue", "normal"],
        "the run goes on"
    );
}

#[tokio::test]
async fn beside_another_session_nothing_is_stored() {
    let (stage, desk) = stage(Vec::new());
    at!(stage, SessionStart, desk, {
        desk.remember("k", json!(1)).unwrap();
        desk.note(note("n"), Delivery::Steering, WhenIdle::Keep).unwrap();
    });
    let session = Session::open_beside(stage.agent(), "default").await.unwrap();
    assert_eq!(seen(&desk), ["k"]);
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(stored(&stage), [""; 0]);
    assert_no_hook_failed(&stage);
}
