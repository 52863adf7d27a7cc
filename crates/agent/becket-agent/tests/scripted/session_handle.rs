//! The session handle: what code outside of the loop sees of a session, and how the session takes it up.

use std::sync::{Arc, Mutex};

use becket_agent::gate::Permit;
use becket_agent::provider::{ProviderErrorKind, RequestOptions, ThinkingLevel};
use becket_agent::session_handle::{ChosenModel, Delivery, HandleError, SessionHandle, WhenIdle};
use becket_agent::store::{EntryContent, ShellRun};
use becket_agent::tool::{Tool, ToolOutput, ToolRun, ToolSpec};
use becket_agent::{CompactEnd, Ending, Input, Session, SubAgent, SubAgentEnd, ToolChoice};
use becket_events::{
    AgentEnd, AgentStart, Answer, EndReason, Handled, InputSource, MessageEnd, ModelChoice, NoteDraft, Part,
    SessionEnd, SessionStart, ShellResult, ToolStart, TurnEnded, TurnStart, UserInput, UserInputReply,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::stage::{Model, Prop, Stage, Turn, input, shell};

/// A stage with a session handle.
fn stage(turns: Vec<Turn>) -> (Stage, SessionHandle) {
    let handle = SessionHandle::new();
    let mut stage = Stage::new(turns);
    stage.handle = Some(handle.clone());
    (stage, handle)
}

/// A message of an extension.
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

/// How the last run ended that was asked for through the handle.
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

fn seen(handle: &SessionHandle) -> Vec<String> {
    kinds(
        handle
            .conversation()
            .entries()
            .unwrap()
            .iter()
            .map(|entry| &entry.content),
    )
}

/// Asserts that no hook failed: an assertion in a hook does not fail the test by itself, only the hook.
fn assert_no_hook_failed(stage: &Stage) {
    let failures = stage.events_named("hook_failed");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Calls a function at each event of a kind.
macro_rules! at {
    ($stage:expr, $Event:ty, $handle:ident, $body:expr) => {{
        let $handle = $handle.clone();
        $stage.engine.on::<$Event>("extension", move |_| {
            let $handle = &$handle;
            $body;
            Ok(Default::default())
        });
    }};
}

#[tokio::test]
async fn before_a_session_there_is_nothing_to_see_and_after_it_nothing_to_ask_for() {
    let (stage, handle) = stage(vec![Turn::Say("hello")]);
    assert_eq!(handle.place().unwrap_err(), HandleError::NotBegun);
    assert_eq!(handle.config().tools().unwrap_err(), HandleError::NotBegun);
    assert_eq!(
        handle.conversation().remember("k", json!(1)).unwrap_err(),
        HandleError::NotBegun
    );
    assert_eq!(
        handle.messages().say(words("x"), Delivery::FollowUp).unwrap_err(),
        HandleError::NotBegun
    );
    assert_eq!(
        handle.requests().compact(None).await.unwrap_err(),
        HandleError::NotBegun
    );
    assert!(handle.is_idle() && !handle.has_request());
    assert!(HandleError::NotBegun.to_string().contains("session_start"));

    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Answered);
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(
        seen(&handle),
        ["m:go", "m:hello"],
        "what was there can still be seen"
    );
    assert_eq!(
        handle.conversation().remember("k", json!(1)).unwrap_err(),
        HandleError::Over
    );
    assert_eq!(
        handle.conversation().set_name("n").unwrap_err(),
        HandleError::Over
    );
    let said = handle
        .messages()
        .note(note("x"), Delivery::Steering, WhenIdle::Run);
    assert_eq!(said.unwrap_err(), HandleError::Over);
    assert_eq!(
        handle.requests().compact(None).await.unwrap_err(),
        HandleError::Over
    );
    handle.config().set_thinking(ThinkingLevel::High);
    assert_eq!(handle.config().thinking().unwrap(), None, "nor to choose");
    assert!(!handle.has_request());
    assert_eq!(stored(&stage), ["m:go", "m:hello"]);
}

/// Notes at moments of a session whether it counts as idle.
fn note_idle(stage: &Stage, handle: &SessionHandle) -> Arc<Mutex<Vec<bool>>> {
    let idle = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&idle);
    at!(
        stage,
        SessionStart,
        handle,
        list.lock().unwrap().push(handle.is_idle())
    );
    let list = Arc::clone(&idle);
    at!(
        stage,
        TurnEnded,
        handle,
        list.lock().unwrap().push(handle.is_idle())
    );
    let list = Arc::clone(&idle);
    at!(
        stage,
        AgentEnd,
        handle,
        list.lock()
            .unwrap()
            .push(handle.is_idle() || handle.cancel().is_none())
    );
    idle
}

#[tokio::test]
async fn what_a_session_shows() {
    let (stage, handle) = stage(vec![Turn::Say("first"), Turn::Measured("hello", 640)]);
    let idle = note_idle(&stage, &handle);
    let mut session = stage.open().await;
    let place = handle.place().unwrap();
    assert_eq!(
        (place.session_id.as_str(), place.context_name.as_str()),
        (session.id(), "default")
    );
    assert_eq!(place.cwd, stage.folder.path().display().to_string());
    assert_eq!(handle.conversation().leaf_id().unwrap(), None);
    assert_eq!(handle.system_prompt().unwrap(), stage.settings.instructions);
    prompt(&mut session, &stage, "go").await;
    prompt(&mut session, &stage, "on").await;

    assert_eq!(*idle.lock().unwrap(), [true, false, false, false, false]);
    assert!(handle.is_idle() && handle.cancel().is_none());
    let conversation = handle.conversation();
    let entries = conversation.entries().unwrap();
    assert_eq!(seen(&handle), ["m:go", "m:first", "m:on", "m:hello"]);
    for (one, next) in entries.iter().zip(&entries[1..]) {
        assert_eq!(next.parent_id.as_ref(), Some(&one.id));
        assert!(next.time_ms >= one.time_ms && one.time_ms > 0);
    }
    assert_eq!(conversation.leaf_id().unwrap().as_ref(), Some(&entries[3].id));
    assert_eq!(
        conversation.entry(&entries[1].id).unwrap().as_ref(),
        Some(&entries[1])
    );
    assert_eq!(conversation.entry("nonsense").unwrap(), None);
    assert_eq!(
        *stage.store.entries.lock().unwrap(),
        entries.iter().map(|entry| (**entry).clone()).collect::<Vec<_>>()
    );
    assert_eq!(conversation.messages().unwrap().len(), 4);
    let shown = stage.model.requests.lock().unwrap()[1]["system"].clone();
    assert_eq!(handle.system_prompt().unwrap(), shown.as_str().unwrap());
    let usage = handle.context_usage().unwrap();
    assert_eq!((usage.tokens, usage.window), (641, 128_000));
    assert!((usage.percent() - 0.5).abs() < 0.01);
    let tools: Vec<_> = handle
        .config()
        .tools()
        .unwrap()
        .into_iter()
        .map(|tool| (tool.spec.face.name, tool.is_active))
        .collect();
    let all = ["shell", "read", "write", "custom"].map(|name| (name.to_owned(), true));
    assert_eq!(tools, all);
    assert_eq!(handle.config().model().unwrap().model(), "model");
    assert_eq!(handle.config().thinking().unwrap(), None);

    session.clear(stage.cancel.clone()).await.unwrap().unwrap();
    assert_eq!(seen(&handle), [""; 0]);
    assert!(handle.context_usage().unwrap().tokens < 200);
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn a_conversation_that_is_taken_up_again_shows_everything_at_once() {
    let (mut stage, handle) = stage(vec![Turn::Say("hello")]);
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "go").await;
    let first = handle.conversation().leaf_id().unwrap().unwrap();
    handle.conversation().set_name("the talk").unwrap();
    handle.conversation().set_label(&first, Some("here")).unwrap();
    session.end(EndReason::Done).await.unwrap();

    let later = SessionHandle::new();
    stage.handle = Some(later.clone());
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
    assert_eq!(later.conversation().name().unwrap().as_deref(), Some("the talk"));
    assert_eq!(
        later.conversation().label(&first).unwrap().as_deref(),
        Some("here")
    );
    let end = later.conversation().set_label("nonsense", Some("x")).unwrap_err();
    assert!(end.to_string().contains("nonsense"), "{end}");
    later.conversation().set_label(&first, None).unwrap();
    assert_eq!(later.conversation().label(&first).unwrap(), None);
}

#[tokio::test]
async fn what_is_remembered_in_a_hook_is_seen_at_once_and_stored_before_the_next_message() {
    let (stage, handle) = stage(vec![Turn::Call(vec![shell("ls")]), Turn::Say("done")]);
    let views = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&views);
    at!(stage, ToolStart, handle, {
        let id = handle.conversation().remember("tool", json!({"n": 1})).unwrap();
        list.lock()
            .unwrap()
            .push((handle.conversation().leaf_id().unwrap(), id));
    });
    at!(
        stage,
        AgentEnd,
        handle,
        handle.conversation().remember("end", json!(null)).unwrap()
    );
    at!(
        stage,
        SessionEnd,
        handle,
        handle.conversation().remember("last", json!(null)).unwrap()
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
    assert_eq!(seen(&handle), at_the_end);
    assert_eq!(
        stage.seen_by_model(1),
        ["go", "", "shell ran"],
        "the model never sees it"
    );

    // Between two prompts the request waits for the front end.
    handle.conversation().remember("between", json!(2)).unwrap();
    assert!(handle.has_request());
    handle.requested().await;
    assert_eq!(attend(&mut session, &stage).await, None);
    assert!(!handle.has_request());
    assert_eq!(stored(&stage).last().unwrap(), "between");
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(stored(&stage).last().unwrap(), "last");
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn what_could_not_be_stored_waits_and_is_stored_later() {
    let (stage, handle) = stage(vec![Turn::Say("done")]);
    let mut session = stage.open().await;
    handle.conversation().remember("kept", json!(1)).unwrap();
    *stage.store.fail_appends.lock().unwrap() = true;
    session
        .prompt(input("go"), stage.cancel.clone())
        .await
        .unwrap_err();
    assert!(handle.is_idle() && handle.has_request());
    assert_eq!(seen(&handle), ["kept"], "only what will be there");
    *stage.store.fail_appends.lock().unwrap() = false;
    session.end(EndReason::Failed).await.unwrap();
    assert_eq!(stored(&stage), ["kept"]);
}

#[tokio::test]
async fn words_said_while_nothing_runs_begin_a_run() {
    let (stage, handle) = stage(vec![Turn::Say("one"), Turn::Say("two"), Turn::Say("three")]);
    let mut session = stage.open().await;
    let mut picture = words("look");
    picture.images = vec![Part::Image {
        media_type: "image/png".into(),
        data: "aGk=".into(),
    }];
    handle.messages().say(picture, Delivery::FollowUp).unwrap();
    // Two at once: the second is delivered after the first is answered.
    handle
        .messages()
        .say(words("and listen"), Delivery::FollowUp)
        .unwrap();
    assert!(handle.has_request() && handle.messages().has_waiting());
    assert_eq!(attend(&mut session, &stage).await, Some(Ending::Answered));
    assert_eq!(stage.seen_by_model(1), ["look", "one", "and listen"]);
    assert!(!handle.has_request() && !handle.messages().has_waiting());
    let prompts = stage.events_named("user_input");
    assert_eq!(prompts[0]["source"], "hook");
    assert_eq!(prompts[0]["images"].as_array().unwrap().len(), 1);
    // A steering message that steers nothing is a prompt as well.
    handle.messages().say(words("now"), Delivery::Steering).unwrap();
    assert_eq!(attend(&mut session, &stage).await, Some(Ending::Answered));
    assert_eq!(stage.events_named("agent_end").len(), 2);
}

/// A command that the user ran.
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
    let (stage, handle) = stage(vec![Turn::Say("one"), Turn::Say("two")]);
    let mut session = stage.open().await;
    let shown = handle.requests().keep_shell_run(ran("ls", false));
    let hidden = handle.requests().keep_shell_run(ran("secret", true));
    assert!(handle.has_request());
    attend(&mut session, &stage).await;
    assert_eq!((shown.await, hidden.await), (Ok(()), Ok(())));
    at!(
        stage,
        TurnStart,
        handle,
        drop(handle.requests().keep_shell_run(ran("now", false)))
    );
    prompt(&mut session, &stage, "go").await;
    let heard = stage.seen_by_model(0);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].contains("Ran `ls`") && heard[1] == "go", "{heard:?}");
    // A command that is run while the model works is told with the next prompt.
    prompt(&mut session, &stage, "more").await;
    let heard = stage.seen_by_model(1);
    assert!(heard[3].contains("Ran `now`") && heard[4] == "more", "{heard:?}");
}

#[tokio::test]
async fn before_a_run_has_begun_nothing_runs_and_what_is_said_runs_after_it_or_stands_before_it() {
    let (stage, handle) = stage(vec![Turn::Say("one"), Turn::Say("two"), Turn::Say("three")]);
    let once = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&once);
    at!(stage, UserInput, handle, {
        let mut heard = heard.lock().unwrap();
        if heard.is_empty() {
            heard.push((handle.is_idle(), handle.is_running()));
            handle
                .messages()
                .say(words("second"), Delivery::FollowUp)
                .unwrap();
            handle
                .messages()
                .note(note("kept"), Delivery::Steering, WhenIdle::Keep)
                .unwrap();
            heard.push((handle.is_idle(), handle.is_running()));
            assert!(!handle.has_request(), "the session hears it by itself");
        }
    });
    let begun = Arc::clone(&once);
    at!(stage, AgentStart, handle, {
        let mut begun = begun.lock().unwrap();
        if begun.len() == 2 {
            begun.push((handle.messages().has_waiting(), handle.is_running()));
            handle.messages().say(words("third"), Delivery::FollowUp).unwrap();
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
    assert!(handle.is_idle() && !handle.has_request());
}

#[tokio::test]
async fn whoever_waits_for_rest_waits_for_what_is_requested_too() {
    let (stage, handle) = stage(vec![Turn::Say("one"), Turn::Say("SUMMARY")]);
    let mut session = stage.open().await;
    handle.messages().say(words("go"), Delivery::FollowUp).unwrap();
    let summary = handle.requests().compact(None);
    assert!(!handle.is_idle() && !handle.is_running());
    let mut waiting = Box::pin(handle.idle());
    assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
    attend(&mut session, &stage).await;
    waiting.await;
    assert!(summary.await.is_ok());
    assert_eq!(stored(&stage).first().map(String::as_str), Some("m:go"));
    assert!(handle.is_idle());
}

#[tokio::test]
async fn words_and_notes_said_meanwhile_steer_the_model_or_follow() {
    let (stage, handle) = stage(vec![
        Turn::Call(vec![shell("ls")]),
        Turn::Say("steered"),
        Turn::Say("followed"),
    ]);
    at!(stage, ToolStart, handle, {
        handle
            .messages()
            .note(note("a note"), Delivery::Steering, WhenIdle::Keep)
            .unwrap();
        handle
            .messages()
            .say(words("no, wait"), Delivery::Steering)
            .unwrap();
        handle
            .messages()
            .note(note("and a note then"), Delivery::FollowUp, WhenIdle::Keep)
            .unwrap();
        assert!(handle.messages().has_waiting());
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
        "a note is no word of the user's"
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
    let (stage, handle) = stage(vec![Turn::Say("seen"), Turn::Say("again")]);
    let mut session = stage.open().await;
    handle
        .messages()
        .note(note("kept"), Delivery::Steering, WhenIdle::Keep)
        .unwrap();
    assert!(handle.has_request() && !handle.messages().has_waiting());
    assert_eq!(attend(&mut session, &stage).await, None);
    assert_eq!(stored(&stage), ["m:kept"]);
    assert!(stage.model.requests.lock().unwrap().is_empty());

    handle
        .messages()
        .note(note("run"), Delivery::Steering, WhenIdle::Run)
        .unwrap();
    assert_eq!(attend(&mut session, &stage).await, Some(Ending::Answered));
    assert_eq!(stage.seen_by_model(0), ["kept", "run"]);
    assert!(stage.events_named("user_input").is_empty());
    assert_eq!(stage.events_named("agent_start")[0]["prompt"], "run");

    handle
        .messages()
        .note(note("with the next"), Delivery::NextPrompt, WhenIdle::Run)
        .unwrap();
    assert!(!handle.has_request(), "it waits for a prompt");
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Answered);
    assert_eq!(stage.seen_by_model(1)[3..], ["go", "with the next"]);
}

#[tokio::test]
async fn what_is_said_at_the_end_of_a_run_runs_before_the_prompt_is_over() {
    let (stage, handle) = stage(vec![Turn::Say("one"), Turn::Say("two"), Turn::Say("three")]);
    let left = Mutex::new(vec![Delivery::Steering, Delivery::FollowUp]);
    at!(
        stage,
        AgentEnd,
        handle,
        if let Some(delivery) = left.lock().unwrap().pop() {
            handle.messages().say(words("go on"), delivery).unwrap();
        }
    );
    let mut session = stage.open().await;
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!((end.answer.as_str(), end.ending), ("three", Ending::Answered));
    assert!(!handle.has_request() && handle.is_idle());
}

#[tokio::test]
async fn nobody_speaks_after_each_answer_for_ever() {
    let (mut stage, handle) = stage(vec![Turn::Say("yes"); 20]);
    stage.settings.max_iterations = 5;
    at!(stage, AgentEnd, handle, {
        handle.messages().say(words("again"), Delivery::FollowUp).unwrap();
        handle
            .messages()
            .say(words("and again"), Delivery::FollowUp)
            .unwrap();
    });
    let mut session = stage.open().await;
    let end = session.prompt(input("go"), stage.cancel.clone()).await.unwrap();
    assert_eq!(end.answer, "yes");
    let Ending::Limit(words) = end.ending else {
        panic!("{:?}", end.ending);
    };
    assert!(words.contains("5 requests since the user last spoke"), "{words}");
    assert_eq!(
        stage.model.requests.lock().unwrap().len(),
        6,
        "the user's own, and five more"
    );
    assert!(
        !handle.messages().has_waiting() && !handle.has_request(),
        "nothing goes on by itself"
    );
    // Nor does it go on by a timer; only a message of the user begins something new.
    handle
        .messages()
        .say(self::words("once more"), Delivery::FollowUp)
        .unwrap();
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
    let (mut stage, handle) = stage(Vec::new());
    stage.settings.max_iterations = 3;
    let handler = handle.clone();
    stage.engine.on::<UserInput>("extension", move |_| {
        handler
            .messages()
            .say(words("again"), Delivery::FollowUp)
            .unwrap();
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
    let (stage, handle) = stage(vec![
        Turn::Call(vec![("extra", json!({}))]),
        Turn::Call(vec![shell("ls")]),
        Turn::Say("done"),
        Turn::Say("later"),
    ]);
    // While extensions are loaded, and when the session starts.
    handle
        .config()
        .add_tool(Arc::new(Prop::new("extra", None, &stage.runs)));
    let runs = Arc::clone(&stage.runs);
    at!(stage, SessionStart, handle, {
        handle
            .config()
            .add_tool(Arc::new(Prop::new("shell", None, &runs).saying("another shell")));
        assert_eq!(handle.config().tools().unwrap().len(), 5, "seen at once");
    });
    at!(stage, ToolStart, handle, {
        handle
            .config()
            .set_active_tools(vec!["shell".into(), "nonsense".into()]);
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
    handle
        .config()
        .add_tool(Arc::new(Prop::new("new", None, &stage.runs)));
    assert_eq!(attend(&mut session, &stage).await, None);
    prompt(&mut session, &stage, "go").await;
    assert_eq!(offered(3), json!(["shell", "new"]), "what is added is active");
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn another_model_answers_from_the_next_request_on() {
    let (mut stage, handle) = stage(vec![Turn::Call(vec![shell("ls")])]);
    stage.settings.compaction.context_window = 1_000;
    let other = Model::playing("other", vec![Turn::Say("by the other")]);
    let chosen = other.clone();
    at!(stage, ToolStart, handle, {
        handle.config().set_model(ChosenModel {
            provider: chosen.clone(),
            context_window: Some(5_000),
            choice: ModelChoice::Cycle,
        });
        handle.config().set_thinking(ThinkingLevel::High);
        assert_eq!(handle.config().model().unwrap().model(), "other", "seen at once");
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
    assert_eq!(handle.context_usage().unwrap().window, 5_000);
    assert_eq!(handle.config().thinking().unwrap(), Some(ThinkingLevel::High));

    // While nothing runs, hooks are told as soon as the front end attends.
    let model = ChosenModel {
        provider: stage.model.clone(),
        context_window: None,
        choice: ModelChoice::Set,
    };
    handle.config().set_model(model);
    assert!(handle.has_request());
    attend(&mut session, &stage).await;
    assert_eq!(stage.events_named("model_change").len(), 2);
    assert!(!handle.has_request());
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
            };
            match agent.run(&run.parent.unwrap()).await {
                SubAgentEnd::Answered(answer) => ToolOutput::text(answer),
                other => ToolOutput::error(other.problem().unwrap()),
            }
        })
    }
}

#[tokio::test]
async fn sub_agents_follow_the_choice_and_do_not_change_what_is_seen() {
    let (mut stage, handle) = stage(vec![]);
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
    handle.config().set_model(ChosenModel {
        provider: other.clone(),
        context_window: None,
        choice: ModelChoice::Set,
    });
    let views = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&views);
    at!(
        stage,
        MessageEnd,
        handle,
        list.lock()
            .unwrap()
            .push((seen(handle).len(), handle.system_prompt().unwrap()))
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
        seen(&handle),
        ["model:stage/other", "m:go", "m:", "m:three", "m:three!"]
    );
    assert_eq!(handle.place().unwrap().session_id, session.id());
}

#[tokio::test]
async fn a_run_is_ended_at_the_desk_and_the_next_one_runs() {
    let (stage, handle) = stage(vec![Turn::Hang("so"), Turn::Say("well"), Turn::Say("done")]);
    let mut session = stage.open().await;
    let asked = handle.clone();
    let abort = async {
        while asked.cancel().is_none() || stage.model.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        asked.messages().say(words("later"), Delivery::FollowUp).unwrap();
        asked.messages().say(words("left"), Delivery::Steering).unwrap();
        asked.abort();
    };
    let rested = async {
        abort.await;
        assert!(!handle.is_idle());
        handle.idle().await;
    };
    let (ending, ()) = tokio::join!(prompt(&mut session, &stage, "go"), rested);
    assert_eq!(ending, Ending::Aborted);
    handle.idle().await;
    assert!(!stage.cancel.is_cancelled(), "the program goes on");
    assert!(
        !handle.has_request() && !handle.messages().has_next(),
        "after a cancel nothing begins by itself"
    );
    assert!(handle.messages().has_waiting());
    handle.abort();
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
    assert!(!handle.messages().has_waiting());
}

/// Asks for a summary while nothing runs, and waits for it in a task.
async fn wanted_summary(handle: &SessionHandle) -> JoinHandle<Result<CompactEnd, HandleError>> {
    let asking = handle.clone();
    let waiting = tokio::spawn(async move { asking.requests().compact(None).await });
    handle.requested().await;
    waiting
}

#[tokio::test]
async fn a_summary_that_is_wanted_with_the_end_of_a_run_is_written_after_it() {
    let (stage, handle) = stage(vec![Turn::Hang("so"), Turn::Say("SUMMARY")]);
    let summary = Arc::new(Mutex::new(None));
    let place = Arc::clone(&summary);
    at!(stage, becket_events::MessageUpdate, handle, {
        let asking = handle.clone();
        let mut compaction = Box::pin(async move { asking.requests().compact(None).await });
        // The request is there as soon as the future was polled once.
        let _ = futures_util::FutureExt::now_or_never(&mut compaction);
        *place.lock().unwrap() = Some(compaction);
        handle.abort();
    });
    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Aborted);
    assert!(handle.has_request());
    assert_eq!(attend(&mut session, &stage).await, None);
    let compaction = summary.lock().unwrap().take().unwrap();
    assert!(matches!(compaction.await, Ok(CompactEnd::Compacted { .. })));
}

#[tokio::test]
async fn a_tool_that_runs_gets_the_cancel_of_the_desk() {
    let (mut stage, handle) = stage(vec![Turn::Call(vec![("slow", json!({}))])]);
    stage
        .tools
        .push(Arc::new(Prop::new("slow", None, &stage.runs).slow(600_000)));
    at!(stage, becket_events::ToolUpdate, handle, handle.abort());
    let mut session = stage.open().await;
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Aborted);
    assert!(stage.runs().is_empty());
}

#[tokio::test]
async fn the_person_cancels_what_the_desk_has_begun() {
    let (stage, handle) = stage(vec![Turn::Hang("so"), Turn::Say("well")]);
    let mut session = stage.open().await;
    handle.messages().say(words("begin"), Delivery::FollowUp).unwrap();
    handle
        .messages()
        .say(words("and more"), Delivery::FollowUp)
        .unwrap();
    let cancel = stage.cancel.clone();
    let interrupt = async {
        while stage.model.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(session.attend(stage.cancel.clone()), interrupt);
    assert_eq!(end.unwrap().unwrap().ending, Ending::Cancelled);
    assert!(handle.is_idle() && !handle.has_request(), "nothing else is begun");

    // A front end that attends with a token that is already cancelled is not kept busy for ever.
    let summary = wanted_summary(&handle).await;
    assert_eq!(session.attend(stage.cancel.clone()).await.unwrap(), None);
    assert!(!handle.has_request());
    assert_eq!(summary.await.unwrap(), Ok(CompactEnd::Cancelled));
}

#[tokio::test]
async fn after_a_failure_nothing_begins_by_itself() {
    let (stage, handle) = stage(vec![Turn::Fail(ProviderErrorKind::Rejected), Turn::Say("well")]);
    at!(
        stage,
        AgentEnd,
        handle,
        handle.messages().say(words("again"), Delivery::FollowUp).unwrap()
    );
    let mut session = stage.open().await;
    assert!(matches!(
        prompt(&mut session, &stage, "go").await,
        Ending::Provider(_)
    ));
    assert!(!handle.has_request());
    assert_eq!(stage.model.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn the_program_ends_when_nothing_runs() {
    let (stage, handle) = stage(vec![Turn::Say("done")]);
    at!(stage, AgentStart, handle, {
        handle.shut_down();
        assert!(!handle.has_request(), "not while something runs");
    });
    let mut session = stage.open().await;
    assert!(!handle.shutdown_requested());
    assert_eq!(prompt(&mut session, &stage, "go").await, Ending::Answered);
    assert!(handle.shutdown_requested() && handle.has_request());
    handle.requested().await;
    assert_no_hook_failed(&stage);
}

#[tokio::test]
async fn a_summary_is_written_for_whoever_asks_while_nothing_runs() {
    let (stage, handle) = stage(vec![Turn::Say("a1"), Turn::Say("SUMMARY")]);
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "p1").await;
    let two = tokio::join!(
        handle.requests().compact(Some("names".into())),
        handle.requests().compact(None),
        async {
            handle.requested().await;
            attend(&mut session, &stage).await
        },
    );
    let expected = CompactEnd::Compacted {
        summarised: 2,
        kept: 0,
        summary: "SUMMARY".into(),
        entry_id: handle.conversation().leaf_id().unwrap().unwrap(),
    };
    assert_eq!(two.0.unwrap(), expected);
    assert_eq!(
        two.1.unwrap(),
        CompactEnd::Nothing,
        "there was nothing left for the second"
    );
    assert_eq!(handle.conversation().messages().unwrap().len(), 0);
    assert_eq!(stage.events_named("pre_compact")[0]["instructions"], "names");
    assert!(!handle.has_request());

    let waiting = wanted_summary(&handle).await;
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(
        waiting.await.unwrap().unwrap_err(),
        HandleError::Over,
        "nobody waits for ever"
    );
}

#[tokio::test]
async fn a_summary_in_the_middle_of_a_run_stands_for_what_was_before_its_prompt() {
    let (stage, handle) = stage(vec![
        Turn::Say("a1"),
        Turn::Call(vec![shell("ls")]),
        Turn::Say("SUMMARY"),
        Turn::Say("a2"),
    ]);
    let mut session = stage.open().await;
    prompt(&mut session, &stage, "p1").await;
    let answers = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&answers);
    at!(stage, ToolStart, handle, {
        let (handle, list) = (handle.clone(), Arc::clone(&list));
        tokio::spawn(async move {
            let end = handle.requests().compact(None).await;
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
    let (stage, handle) = stage(Vec::new());
    at!(stage, SessionStart, handle, {
        handle.conversation().remember("k", json!(1)).unwrap();
        handle
            .messages()
            .note(note("n"), Delivery::Steering, WhenIdle::Keep)
            .unwrap();
    });
    let session = Session::open_beside(stage.agent(), "default").await.unwrap();
    assert_eq!(seen(&handle), ["k"]);
    session.end(EndReason::Done).await.unwrap();
    assert_eq!(stored(&stage), [""; 0]);
    assert_no_hook_failed(&stage);
}
