//! Tests of pi's rows through the real engine: the input of a handler for each event, and the effect of its answers.
//!
//! The inputs are stored under `docs/events/pi`, made from the examples of becket's own events.
//! `BECKET_UPDATE_GOLDENS=1` rewrites these files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_events::*;
use becket_hooks::{Answered, Cause, Engine, Failure, Field, Outcome, ScriptHandler};
use becket_pi::ExtensionOwner;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A function of an extension with a prepared answer.
struct Script {
    answer: Result<Answered, Failure>,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl ScriptHandler for Script {
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
        let members = fields
            .iter()
            .map(|field| (field.name.to_owned(), serde_json::from_str(&field.json).unwrap()));
        self.heard.lock().unwrap().push(Value::Object(members.collect()));
        Box::pin(std::future::ready(self.answer.clone()))
    }
}

/// The answer of a function that returns a value.
fn returning(value: Value) -> Result<Answered, Failure> {
    Ok(Answered {
        returned: Some(value.to_string()),
        changed: Vec::new(),
    })
}

fn changing(field: &'static str, value: Value) -> Result<Answered, Failure> {
    Ok(Answered {
        returned: None,
        changed: vec![(field, value.to_string())],
    })
}

fn silent() -> Result<Answered, Failure> {
    Ok(Answered::default())
}

fn owner(name: &str) -> ExtensionOwner {
    ExtensionOwner {
        lane: becket_hooks::LaneKind::Javascript,
        priority: 0,
        name: name.into(),
        source: format!("{name}.ts"),
        order: vec![name.into()],
        timeout: Duration::from_secs(30),
    }
}

fn scope() -> Scope {
    Scope {
        session_id: "s1".into(),
        context_name: "default".into(),
        model: "anthropic/claude".into(),
        cwd: "/work".into(),
        ..Scope::default()
    }
}

/// An engine with one handler for each answer to one of pi's events, and the inputs of the handlers.
fn engine_with(event: &str, answers: Vec<Result<Answered, Failure>>) -> (Engine, Arc<Mutex<Vec<Value>>>) {
    let engine = Engine::new(None);
    let heard = Arc::new(Mutex::new(Vec::new()));
    for (place, answer) in answers.into_iter().enumerate() {
        let heard = Arc::clone(&heard);
        let script = Arc::new(Script { answer, heard });
        let owner = owner(&format!("extension-{place}"));
        becket_pi::register(&engine, event, script, &owner).unwrap();
    }
    (engine, heard)
}

async fn ask<E: Event>(
    event: &str,
    payload: E::Payload,
    answers: Vec<Result<Answered, Failure>>,
) -> (Outcome<E>, Vec<Value>) {
    let (engine, heard) = engine_with(event, answers);
    let outcome = engine.dispatch::<E>(&scope(), || payload).await;
    let heard = heard.lock().unwrap().clone();
    (outcome, heard)
}

/// The reply to one answer, which must have been understood.
async fn reply<E: Event>(event: &str, payload: E::Payload, answer: Result<Answered, Failure>) -> E::Reply {
    let (outcome, _) = ask::<E>(event, payload, vec![answer]).await;
    assert!(outcome.failures.is_empty(), "{event}: {:?}", outcome.failures);
    outcome.reply
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The documented example of one of becket's events.
fn example<E: Event>() -> E::Payload {
    let file = repository().join(format!("docs/events/{}.json", E::NAME));
    let mut example: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let members = example.as_object_mut().unwrap();
    for name in EventInfo::common_fields() {
        members.remove(name);
    }
    serde_json::from_value(example).unwrap()
}

/// A switch to another session, not only to another context at the start of the program.
fn switch() -> PreSessionSwitchPayload {
    PreSessionSwitchPayload {
        reason: SwitchReason::Resume,
        ..example::<PreSessionSwitch>()
    }
}

fn message(id: &str, body: MessageBody) -> Message {
    Message::new(MessageRecord {
        id: id.into(),
        time_ms: 1,
        body,
    })
}

fn user(id: &str, text: &str) -> Message {
    let content = vec![Part::text(text)];
    message(id, MessageBody::User { content })
}

/// A conversation with everything that messages can hold.
fn conversation() -> Vec<Message> {
    let picture = Part::Image {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let thought = Part::Thinking {
        text: "hm".into(),
        signature: Some("seal".into()),
    };
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.to_string(),
    };
    vec![
        message(
            "u",
            MessageBody::User {
                content: vec![Part::text("hello"), picture],
            },
        ),
        message(
            "a",
            MessageBody::Assistant {
                content: vec![thought, Part::text("I look")],
                tool_calls: vec![
                    call("c1", "shell", json!({"command": "ls", "timeout_seconds": 5})),
                    call("c2", "todo", json!({"action": "list"})),
                ],
                model: "claude".into(),
                stop_reason: StopReason::ToolCalls,
                usage: Usage {
                    input_tokens: 100,
                    output_tokens: 7,
                    cache_read_tokens: 60,
                    cache_write_tokens: 10,
                    cost: Some(0.5),
                    ..Usage::default()
                },
                error: None,
            },
        ),
        message(
            "t",
            MessageBody::Tool {
                tool_call_id: "c1".into(),
                tool_name: "shell".into(),
                content: vec![Part::text("a b")],
                is_error: true,
                details: Some(json!({"exit_code": 1})),
            },
        ),
        message(
            "n",
            MessageBody::Note {
                kind: "plan".into(),
                content: vec![Part::text("step 1")],
                display: true,
                details: Some(json!({"step": 1})),
            },
        ),
    ]
}

fn with_headers() -> PreRequestPayload {
    let header = |name: &str, value: &str| Header {
        name: name.into(),
        value: value.into(),
    };
    PreRequestPayload {
        headers: vec![
            header("authorization", "kept-by-becket"),
            header("content-type", "application/json"),
        ],
        ..example::<PreRequest>()
    }
}

fn context() -> ModelContextPayload {
    ModelContextPayload {
        system_prompt: "Be brief.".into(),
        messages: conversation(),
        summary: None,
        iteration: 1,
        purpose: RequestPurpose::Answer,
    }
}

fn call(operation: Option<OperationKind>, name: &str, arguments: Value) -> PreToolPayload {
    PreToolPayload {
        tool_source: "builtin".into(),
        tool_call_id: "c1".into(),
        tool_name: name.into(),
        called_as: name.into(),
        operation,
        arguments: arguments.as_object().unwrap().clone(),
        parent_tool_call_id: None,
    }
}

fn shell() -> PreToolPayload {
    call(
        Some(OperationKind::Shell),
        "shell",
        json!({"command": "rm -rf /", "timeout_seconds": 5}),
    )
}

fn output() -> PreToolOutputPayload {
    PreToolOutputPayload {
        ran: true,
        details: json!({"exit_code": 0}),
        ..example::<PreToolOutput>()
    }
}

// ---------------------------------------------------------------- the input of handlers

/// Replaces values that are different in every run.
fn make_stable(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), &*value) {
                    ("timestamp", Value::Number(_)) => *value = 0.into(),
                    ("timestamp", Value::String(_)) => *value = "1970-01-01T00:00:00.000Z".into(),
                    _ => make_stable(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_stable),
        _ => {}
    }
}

async fn check<E: Event>(event: &str, payload: E::Payload, stale: &mut Vec<String>) {
    let (outcome, mut heard) = ask::<E>(event, payload, vec![silent()]).await;
    assert!(outcome.failures.is_empty(), "{event}: {:?}", outcome.failures);
    heard.iter_mut().for_each(make_stable);
    assert!(!heard.is_empty(), "{event} was not heard");
    assert!(heard.iter().all(|fields| fields["type"] == event), "{event}");
    let shown = heard.iter().map(|fields| format!("{fields:#}\n"));
    let shown: String = shown.collect();
    let file = repository().join(format!("docs/events/pi/{event}.json"));
    if std::env::var_os("BECKET_UPDATE_GOLDENS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &shown).unwrap();
    } else if std::fs::read_to_string(&file).unwrap_or_default() != shown {
        stale.push(format!("{event} is given\n{shown}"));
    }
}

fn tree() -> PreSessionTreePayload {
    PreSessionTreePayload {
        target_id: "u".into(),
        leaf_id: Some("n".into()),
        common_ancestor_id: None,
        abandoned: conversation(),
        wants_summary: true,
        instructions: Some("the errors".into()),
        instructions_alone: true,
        label: Some("back".into()),
    }
}

fn stepped() -> PostSessionTreePayload {
    PostSessionTreePayload {
        leaf_id: Some("b".into()),
        previous_leaf_id: Some("n".into()),
        summary: Some(Summary {
            text: "they looked around".into(),
            first_kept_id: None,
            details: None,
        }),
        summary_id: Some("b".into()),
        place_id: Some("u".into()),
        by_hook: true,
    }
}

fn compaction() -> PreCompactPayload {
    PreCompactPayload {
        messages: conversation(),
        kept: vec![user("k", "and now?")],
        first_kept_id: Some("k".into()),
        summary: Some("before".into()),
        ..example::<PreCompact>()
    }
}

// tidy: a table
#[tokio::test]
async fn what_is_documented_is_what_handlers_are_given() {
    let stale = &mut Vec::new();
    check::<SessionStart>("session_start", example::<SessionStart>(), stale).await;
    let reason = StartReason::Startup;
    check::<Resources>("resources_discover", ResourcesPayload { reason }, stale).await;
    check::<UserInput>("input", example::<UserInput>(), stale).await;
    check::<AgentStart>("before_agent_start", example::<AgentStart>(), stale).await;
    check::<LoopStart>("agent_start", example::<LoopStart>(), stale).await;
    check::<TurnStart>("turn_start", example::<TurnStart>(), stale).await;
    check::<ModelContext>("context", context(), stale).await;
    check::<ModelContext>("context_with_system", context(), stale).await;
    check::<PreRequest>("before_provider_request", example::<PreRequest>(), stale).await;
    check::<PreRequest>("before_provider_headers", with_headers(), stale).await;
    check::<ResponseData>("provider_stream_event", example::<ResponseData>(), stale).await;
    check::<ResponseStart>("after_provider_response", example::<ResponseStart>(), stale).await;
    check::<MessageStart>("message_start", example::<MessageStart>(), stale).await;
    check::<MessageUpdate>("message_update", example::<MessageUpdate>(), stale).await;
    check::<MessageEnd>("message_end", example::<MessageEnd>(), stale).await;
    check::<ToolStart>("tool_execution_start", example::<ToolStart>(), stale).await;
    check::<PreTool>("tool_call", example::<PreTool>(), stale).await;
    check::<ToolUpdate>("tool_execution_update", example::<ToolUpdate>(), stale).await;
    check::<PreToolOutput>("tool_result", output(), stale).await;
    check::<ToolEnd>("tool_execution_end", example::<ToolEnd>(), stale).await;
    check::<Stop>("agent_before_settle", example::<Stop>(), stale).await;
    check::<TurnEnded>("turn_end", example::<TurnEnded>(), stale).await;
    check::<AgentEnd>("agent_end", example::<AgentEnd>(), stale).await;
    check::<Settled>("agent_settled", example::<Settled>(), stale).await;
    check::<PreCompact>("session_before_compact", compaction(), stale).await;
    check::<PostCompact>("session_compact", example::<PostCompact>(), stale).await;
    check::<PreSessionSwitch>("session_before_switch", switch(), stale).await;
    let switched = PostSessionSwitchPayload {
        reason: SwitchReason::Resume,
        ..example::<PostSessionSwitch>()
    };
    check::<PostSessionSwitch>("session_switch", switched, stale).await;
    let fork = PreSessionForkPayload {
        entry_id: "u".into(),
        including: false,
        to_context: "side".into(),
    };
    check::<PreSessionFork>("session_before_fork", fork, stale).await;
    let forked = PostSessionForkPayload {
        entry_id: "u".into(),
        previous_session_id: "s0".into(),
        from_context: "default".into(),
        previous_session_file: Some("/contexts/default/session.jsonl".into()),
    };
    check::<PostSessionFork>("session_fork", forked, stale).await;
    check::<PreSessionTree>("session_before_tree", tree(), stale).await;
    check::<PostSessionTree>("session_tree", stepped(), stale).await;
    let change = ModelChangePayload {
        new_model: "anthropic/claude".into(),
        previous_model: Some("openai/gpt".into()),
        choice: ModelChoice::Cycle,
    };
    check::<ModelChange>("model_select", change, stale).await;
    check::<ThinkingChange>("thinking_level_select", example::<ThinkingChange>(), stale).await;
    check::<NameChange>("session_info_changed", example::<NameChange>(), stale).await;
    check::<UserShell>("user_bash", command(), stale).await;
    check::<SessionEnd>("session_shutdown", example::<SessionEnd>(), stale).await;
    assert!(
        stale.is_empty(),
        "docs/events/pi differs; BECKET_UPDATE_GOLDENS=1 writes it:\n{}",
        stale.join("\n")
    );
    let files = std::fs::read_dir(repository().join("docs/events/pi")).unwrap();
    assert_eq!(files.count(), becket_pi::rows().len(), "one file for each row");
}

fn command() -> UserShellPayload {
    UserShellPayload {
        command: "ls".into(),
        directory: "/work".into(),
        hidden: true,
    }
}

#[tokio::test]
async fn why_a_session_begins_is_told_in_pis_words() {
    let start = |reason, previous: Option<&str>| SessionStartPayload {
        reason,
        previous_session_id: previous.map(Into::into),
        previous_session_file: previous.map(Into::into),
        ..example::<SessionStart>()
    };
    for (payload, reason) in [
        (start(StartReason::Startup, None), "startup"),
        (start(StartReason::Resume, None), "startup"),
        (start(StartReason::Resume, Some("s0")), "resume"),
        (start(StartReason::New, Some("s0")), "new"),
        (start(StartReason::Fork, Some("s0")), "fork"),
        (start(StartReason::Reload, None), "reload"),
    ] {
        let previous = payload.previous_session_id.clone();
        let (_, heard) = ask::<SessionStart>("session_start", payload, vec![silent()]).await;
        assert_eq!(heard[0]["reason"], reason);
        assert_eq!(heard[0]["previousSessionFile"].as_str(), previous.as_deref());
    }
}

#[tokio::test]
async fn where_words_come_from_is_told_in_pis_words() {
    for (source, told, behaviour) in [
        (InputSource::Interactive, "interactive", Value::Null),
        (InputSource::Rpc, "rpc", Value::Null),
        (InputSource::Hook, "extension", Value::Null),
        (InputSource::Steering, "interactive", json!("steer")),
        (InputSource::FollowUp, "interactive", json!("followUp")),
    ] {
        let payload = UserInputPayload {
            source,
            ..example::<UserInput>()
        };
        let (_, heard) = ask::<UserInput>("input", payload, vec![silent()]).await;
        assert_eq!(
            (&heard[0]["source"], &heard[0]["streamingBehavior"]),
            (&json!(told), &behaviour)
        );
        assert!(
            heard[0].get("images").is_none(),
            "no pictures are no list of pictures"
        );
    }
}

#[tokio::test]
async fn conversations_of_sub_agents_are_not_told_but_their_calls_are_guarded() {
    let below = Scope {
        parent_session_id: Some("s0".into()),
        ..scope()
    };
    let (engine, heard) = engine_with("turn_start", vec![silent()]);
    engine.dispatch::<TurnStart>(&below, example::<TurnStart>).await;
    assert!(heard.lock().unwrap().is_empty());
    let block = returning(json!({"block": true}));
    let (engine, _) = engine_with("tool_call", vec![block]);
    let outcome = engine.dispatch::<PreTool>(&below, shell).await;
    assert!(matches!(outcome.verdict(), Some(Verdict::Deny(_))));
}

// ---------------------------------------------------------------- answers

#[tokio::test]
async fn words_are_passed_on_changed_or_taken_care_of() {
    let said = || UserInputPayload {
        images: vec![Part::Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        }],
        ..example::<UserInput>()
    };
    for nothing in [
        silent(),
        returning(Value::Null),
        returning(json!({"action": "continue"})),
        returning(json!({})),
    ] {
        let said = reply::<UserInput>("input", said(), nothing).await;
        assert_eq!(serde_json::to_value(said).unwrap(), json!({}));
    }
    let changed = reply::<UserInput>(
        "input",
        said(),
        returning(json!({"action": "transform", "text": "x"})),
    )
    .await;
    assert_eq!(changed.text.0.as_deref(), Some("x"));
    assert_eq!(changed.images.0, None, "pictures stay");
    let answer = json!({"action": "transform", "text": "x", "images": []});
    let changed = reply::<UserInput>("input", said(), returning(answer)).await;
    assert_eq!(changed.images.0, Some(Vec::new()));
    let answers = vec![
        returning(json!({"action": "transform", "text": "one"})),
        returning(json!({"action": "handled"})),
        returning(json!({"action": "transform", "text": "two"})),
    ];
    let (outcome, heard) = ask::<UserInput>("input", said(), answers).await;
    assert!(outcome.reply.handled.0.is_some());
    assert_eq!(
        heard.len(),
        2,
        "who comes after the one that handled it is not asked"
    );
    assert_eq!(heard[1]["text"], "one");
}

#[tokio::test]
async fn a_system_prompt_is_chained_and_messages_add_up() {
    let start = example::<AgentStart>;
    let answers = vec![
        returning(
            json!({"systemPrompt": "one", "message": {"customType": "a", "content": "A", "display": true}}),
        ),
        returning(json!({"systemPrompt": ""})),
        returning(json!({"message": {
            "customType": "b",
            "content": [{"type": "text", "text": "B"}],
            "details": {"x": 1},
        }})),
    ];
    let (outcome, heard) = ask::<AgentStart>("before_agent_start", start(), answers).await;
    assert!(outcome.failures.is_empty());
    assert_eq!(heard[1]["systemPrompt"], "one");
    assert_eq!(heard[2]["systemPrompt"], "one", "an empty one counts as none");
    assert_eq!(outcome.reply.system_prompt.0.as_deref(), Some("one"));
    let notes = outcome.reply.messages.0;
    assert_eq!((notes[0].kind.as_str(), notes[0].display), ("a", true));
    assert_eq!(notes[1].content, [Part::text("B")]);
    assert_eq!(notes[1].details, Some(json!({"x": 1})));
}

#[tokio::test]
async fn a_summary_is_the_first_message_and_becomes_another_only_if_it_says_something_else() {
    let compacted = || ModelContextPayload {
        system_prompt: "Be brief.".into(),
        summary: Some(StandingSummary {
            text: "before".into(),
            input_tokens: 900,
            time_ms: 7,
        }),
        ..context()
    };
    let shown = ask::<ModelContext>("context", compacted(), vec![silent()])
        .await
        .1[0]["messages"]
        .clone();
    let first =
        json!({"role": "compactionSummary", "summary": "before", "tokensBefore": 900, "timestamp": 7});
    assert_eq!(shown[0], first);
    let answer = |messages: &Value| returning(json!({"messages": messages}));
    let as_it_was = reply::<ModelContext>("context", compacted(), answer(&shown)).await;
    assert_eq!(as_it_was.messages.0, Some(conversation()));
    let mut fewer = shown.clone();
    fewer.as_array_mut().unwrap().remove(0);
    let without = reply::<ModelContext>("context", compacted(), answer(&fewer)).await;
    assert_eq!(without.messages.0, Some(conversation()));
    let mut other = shown.clone();
    other[0]["summary"] = "something else".into();
    let changed = reply::<ModelContext>("context", compacted(), answer(&other)).await;
    let messages = changed.messages.0.unwrap();
    assert_eq!(messages.len(), conversation().len() + 1);
    assert!(messages[0].text().contains("something else"));
}

#[tokio::test]
async fn arguments_are_shown_as_the_model_wrote_them_where_it_knows_pis_tools() {
    for (called, written, name, args) in [
        (
            "bash",
            r#"{"command":"ls","timeout":"5"}"#,
            "bash",
            json!({"command": "ls", "timeout": "5"}),
        ),
        (
            "shell",
            r#"{"command":"ls","timeout_seconds":5}"#,
            "bash",
            json!({"command": "ls", "timeout": 5}),
        ),
    ] {
        let start = ToolStartPayload {
            tool_call_id: "c".into(),
            tool_name: called.into(),
            own_name: Some("shell".into()),
            operation: Some(OperationKind::Shell),
            arguments: Json::parse(written.to_owned()).unwrap(),
            normalised: json!({"command": "ls", "timeout_seconds": 5})
                .as_object()
                .cloned(),
        };
        let (_, heard) = ask::<ToolStart>("tool_execution_start", start, vec![silent()]).await;
        assert_eq!((&heard[0]["toolName"], &heard[0]["args"]), (&json!(name), &args));
    }
}

#[tokio::test]
async fn of_a_provider_that_writes_its_own_requests_only_those_are_told() {
    for (form, told) in [(RequestForm::Wire, 1), (RequestForm::Conversation, 0)] {
        let request = PreRequestPayload {
            form,
            ..example::<PreRequest>()
        };
        let (_, heard) = ask::<PreRequest>("before_provider_request", request, vec![silent()]).await;
        assert_eq!(heard.len(), told, "{form:?}");
    }
}

#[tokio::test]
async fn messages_are_changed_by_returning_them_and_in_place() {
    let shown = ask::<ModelContext>("context", context(), vec![silent()]).await.1[0]["messages"].clone();
    let as_it_was = reply::<ModelContext>("context", context(), returning(json!({"messages": shown}))).await;
    assert_eq!(
        as_it_was.messages.0,
        Some(conversation()),
        "what is left alone stays what it was"
    );

    let mut fewer = shown.clone();
    fewer.as_array_mut().unwrap().remove(3);
    let changed = reply::<ModelContext>("context", context(), changing("messages", fewer)).await;
    assert_eq!(changed.messages.0, Some(conversation()[..3].to_vec()));

    let mut other = shown.clone();
    other[0]["content"][0]["text"] = "bye".into();
    other[1]["content"][2]["arguments"]["command"] = "pwd".into();
    other[2]["content"] = "words".into();
    other
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "user", "content": "more", "timestamp": 9}));
    let changed = reply::<ModelContext>("context", context(), returning(json!({"messages": other}))).await;
    let messages = changed.messages.0.unwrap();
    assert_eq!(messages[0].text(), "bye");
    assert_eq!(messages[0].content().len(), 2);
    let call = &messages[1].tool_calls()[0];
    assert_eq!(call.name, "shell", "the model knows the tool by this name");
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    assert_eq!(arguments, json!({"command": "pwd", "timeout_seconds": 5}));
    assert_eq!(messages[1].tool_calls()[1], conversation()[1].tool_calls()[1]);
    let MessageBody::Tool {
        tool_name,
        content,
        details,
        ..
    } = messages[2].body()
    else {
        panic!("a result stays a result")
    };
    assert_eq!(
        (tool_name.as_str(), content),
        ("shell", &vec![Part::text("words")])
    );
    assert_eq!(details, &Some(json!({"exit_code": 1})));
    assert_eq!(messages[4].text(), "more");

    let summary = RequestPurpose::Summary;
    let summary = ModelContextPayload {
        system_prompt: "Be brief.".into(),
        purpose: summary,
        ..context()
    };
    let (_, heard) = ask::<ModelContext>("context", summary, vec![silent()]).await;
    assert!(heard.is_empty(), "a summary is no turn");
}

#[tokio::test]
async fn a_message_is_replaced_by_one_of_its_role() {
    let end = || MessageEndPayload {
        message: user("u", "hello"),
        at_rest: false,
        replaced: false,
    };
    let kept = MessageEndPayload {
        at_rest: true,
        ..end()
    };
    let (_, heard) = ask::<MessageEnd>("message_end", kept, vec![silent()]).await;
    assert!(heard.is_empty(), "what is only kept, extensions are not told of");
    let answer = json!({"message": {"role": "user", "content": "bye", "timestamp": 1}});
    let replaced = reply::<MessageEnd>("message_end", end(), returning(answer)).await;
    assert_eq!(replaced.message.0, Some(user("u", "bye")));
    let answer = json!({"message": {"role": "custom", "customType": "x", "content": "bye"}});
    let (outcome, _) = ask::<MessageEnd>("message_end", end(), vec![returning(answer)]).await;
    assert_eq!(outcome.reply.message.0, None);
    assert!(
        outcome.failures[0]
            .failure
            .detail
            .contains("`message.role` must stay \"user\"")
    );
}

#[tokio::test]
async fn calls_are_shown_in_pis_words_and_read_back() {
    let edit = json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]});
    let single = json!({
        "path": "a", "edits": [{"oldText": "x", "newText": "y"}], "oldText": "x", "newText": "y",
    });
    let cases = [
        (shell(), "bash", json!({"command": "rm -rf /", "timeout": 5})),
        (
            call(Some(OperationKind::List), "list", json!({"path": "src"})),
            "ls",
            json!({"path": "src"}),
        ),
        (
            call(Some(OperationKind::Edit), "edit", edit),
            "edit",
            single.clone(),
        ),
        (
            call(None, "todo", json!({"action": "list"})),
            "todo",
            json!({"action": "list"}),
        ),
        (
            call(Some(OperationKind::Fetch), "fetch", json!({"url": "x"})),
            "fetch",
            json!({"url": "x"}),
        ),
    ];
    for (payload, name, input) in cases {
        let (_, heard) = ask::<PreTool>("tool_call", payload.clone(), vec![silent()]).await;
        assert_eq!(
            (&heard[0]["toolName"], &heard[0]["input"]),
            (&json!(name), &input)
        );
        let mut changed = input.clone();
        let first = changed.as_object().unwrap().keys().next().unwrap().clone();
        changed[&first] = "other".into();
        let rewritten = reply::<PreTool>("tool_call", payload.clone(), changing("input", changed)).await;
        let mut expected = payload.arguments.clone();
        let own = expected.keys().find(|own| **own == first).cloned().unwrap();
        expected.insert(own, "other".into());
        assert_eq!(rewritten.arguments.0, Some(expected), "{name}");
        assert_eq!(rewritten.verdict, Default::default());
    }
    let edit = || {
        call(
            Some(OperationKind::Edit),
            "edit",
            json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
        )
    };
    for (field, value) in [
        ("newText", json!("z")),
        ("edits", json!([{"oldText": "x", "newText": "z"}])),
    ] {
        let mut changed = single.clone();
        changed[field] = value;
        let rewritten = reply::<PreTool>("tool_call", edit(), changing("input", changed)).await;
        let edits = rewritten.arguments.0.unwrap()["edits"].clone();
        assert_eq!(
            edits[0]["new_text"], "z",
            "whichever form was changed counts: {field}"
        );
    }
}

#[tokio::test]
async fn a_call_is_blocked_with_its_reason_and_nothing_allows_it() {
    let deny = |reason: &str| Some(Verdict::Deny(reason.to_owned()));
    for (answer, verdict) in [
        (silent(), None),
        (returning(json!({})), None),
        (returning(json!({"block": false})), None),
        (returning(json!({"block": false, "reason": "no"})), None),
        (returning(json!({"block": true, "reason": "no"})), deny("no")),
        (
            returning(json!({"block": true})),
            deny("Tool execution was blocked"),
        ),
        (
            returning(json!({"block": true, "reason": ""})),
            deny("Tool execution was blocked"),
        ),
        (returning(json!({"input": {"command": "ls"}})), None),
        (returning(json!({"allow": true})), None),
    ] {
        let words = format!("{answer:?}");
        let said = reply::<PreTool>("tool_call", shell(), answer).await;
        assert_eq!(said.verdict.0, verdict, "{words}");
        assert_eq!(said.arguments.0, None, "{words}");
    }
    let answers = vec![returning(json!({"block": true})), silent()];
    let (_, heard) = ask::<PreTool>("tool_call", shell(), answers).await;
    assert_eq!(heard.len(), 1, "the first block ends it");
    let answers = vec![changing("input", json!({"command": "ls"})), silent()];
    let (outcome, heard) = ask::<PreTool>("tool_call", shell(), answers).await;
    assert_eq!(
        heard[1]["input"],
        json!({"command": "ls"}),
        "the next one sees what was changed"
    );
    assert_eq!(outcome.verdict(), None);
}

#[tokio::test]
async fn a_guard_that_breaks_or_answers_nonsense_blocks() {
    let thrown = Err(Failure::new(Cause::Raised, "no network"));
    let broken = [
        (thrown, "no network"),
        (returning(json!(true)), "it returned true"),
        (returning(json!("no")), "it returned \"no\""),
        (returning(json!([])), "it returned []"),
        // The prelude converts truthy values to `true`; other values that get past it are not guessed at.
        (returning(json!({"block": "yes"})), "`block` is true or false"),
        (
            returning(json!({"block": true, "reason": 5})),
            "`reason` is a text",
        ),
        (changing("input", json!({"command": 5})), "`input`"),
        (changing("input", json!({"commnd": "ls"})), "`input`"),
        (changing("input", json!("ls")), "`input` is an object"),
        (
            Ok(Answered {
                returned: Some("{".into()),
                changed: Vec::new(),
            }),
            "what it returned is not JSON",
        ),
    ];
    for (answer, words) in broken {
        let (outcome, _) = ask::<PreTool>("tool_call", shell(), vec![answer]).await;
        let Some(Verdict::Deny(reason)) = outcome.verdict() else {
            panic!("{words}: not refused")
        };
        assert!(
            reason.contains(words) && reason.contains("extension-0"),
            "{reason}"
        );
        assert_eq!(outcome.reply.arguments.0, None);
    }
    for answer in [
        json!({"result": {"output": "x"}, "operations": {"exec": {"$function": 1}}}),
        json!({"operations": {"run": {"$function": 1}}}),
        json!({"operations": "ls"}),
        json!({"result": {"output": 5}}),
        json!({"result": {"output": "x", "exitCode": "0"}}),
    ] {
        let (outcome, _) = ask::<UserShell>("user_bash", command(), vec![returning(answer.clone())]).await;
        assert!(matches!(outcome.verdict(), Some(Verdict::Deny(_))), "{answer}");
    }
}

#[tokio::test]
async fn the_persons_command_is_answered_or_run_elsewhere() {
    let answer = json!({"result": {
        "output": "x", "exitCode": 3, "cancelled": false, "truncated": true, "fullOutputPath": "/tmp/x",
    }});
    let said = reply::<UserShell>("user_bash", command(), returning(answer)).await;
    let result = said.result.0.unwrap();
    assert_eq!(
        (result.output.as_str(), result.exit_code, result.truncated),
        ("x", Some(3), true)
    );
    assert_eq!(result.full_output_path.as_deref(), Some("/tmp/x"));
    for name in ["exec", "execute"] {
        let operations = json!({name: {"$function": 7}});
        let answer = returning(json!({"operations": operations}));
        let said = reply::<UserShell>("user_bash", command(), answer).await;
        assert_eq!(said.runner.0, Some(operations), "functions stay what they are");
    }
    let answers = vec![returning(json!({"result": {"output": "x"}})), silent()];
    let (_, heard) = ask::<UserShell>("user_bash", command(), answers).await;
    assert_eq!(heard.len(), 1, "the first answer ends it");
}

#[tokio::test]
async fn results_are_changed_field_by_field_also_those_of_failures() {
    let failed = || PreToolOutputPayload {
        is_error: true,
        ..output()
    };
    let answers = vec![
        returning(json!({"isError": false})),
        returning(json!({"content": [{"type": "text", "text": "fine"}]})),
        returning(json!({"details": {"by": "me"}})),
        silent(),
    ];
    let (outcome, heard) = ask::<PreToolOutput>("tool_result", failed(), answers).await;
    assert!(outcome.failures.is_empty());
    assert_eq!(
        (&heard[0]["toolName"], &heard[0]["isError"]),
        (&json!("bash"), &json!(true))
    );
    let last = &heard[3];
    assert_eq!(last["isError"], false);
    assert_eq!(last["content"], json!([{"type": "text", "text": "fine"}]));
    assert_eq!(last["details"], json!({"by": "me"}));
    assert_eq!(outcome.reply.content.0, Some(vec![Part::text("fine")]));
    let refused = PreToolOutputPayload {
        ran: false,
        ..output()
    };
    let (_, heard) = ask::<PreToolOutput>("tool_result", refused, vec![silent()]).await;
    assert!(heard.is_empty(), "a call that did not run has no result");
}

#[tokio::test]
async fn a_payload_is_replaced_by_what_is_returned_or_changed_in_place() {
    let request = example::<PreRequest>;
    let answer = returning(json!({"model": "other"}));
    let said = reply::<PreRequest>("before_provider_request", request(), answer).await;
    assert_eq!(said.body.0.unwrap().text(), r#"{"model":"other"}"#);
    let answer = changing("payload", json!({"model": "third"}));
    let said = reply::<PreRequest>("before_provider_request", request(), answer).await;
    assert_eq!(said.body.0.unwrap().to_value(), json!({"model": "third"}));
    let said = reply::<PreRequest>("before_provider_request", request(), returning(Value::Null)).await;
    assert_eq!(said.body.0, None);
    let (outcome, _) =
        ask::<PreRequest>("before_provider_request", request(), vec![returning(json!(5))]).await;
    assert_eq!(outcome.verdict(), None, "no guard: the request is made as it was");
    assert!(outcome.failures[0].failure.detail.contains("an object, not 5"));
}

#[tokio::test]
async fn what_is_about_to_happen_to_a_session_can_be_cancelled() {
    let cancel = || returning(json!({"cancel": true}));
    let switch = reply::<PreSessionSwitch>("session_before_switch", switch(), cancel()).await;
    let compact = reply::<PreCompact>("session_before_compact", compaction(), cancel()).await;
    let step = reply::<PreSessionTree>("session_before_tree", tree(), cancel()).await;
    let fork = || PreSessionForkPayload {
        entry_id: "u".into(),
        including: true,
        to_context: "side".into(),
    };
    let forked = reply::<PreSessionFork>("session_before_fork", fork(), cancel()).await;
    for verdict in [switch.verdict, compact.verdict, step.verdict, forked.verdict] {
        let Some(Verdict::Deny(reason)) = verdict.0 else {
            panic!("not refused")
        };
        assert!(reason.ends_with("was cancelled by an extension"), "{reason}");
    }
    let answer = returning(json!({"skipConversationRestore": true}));
    let forked = reply::<PreSessionFork>("session_before_fork", fork(), answer).await;
    assert_eq!((forked.verdict.0, forked.without_messages.0), (None, Some(true)));
    let thrown = Err(Failure::new(Cause::Raised, "oh"));
    let (outcome, _) = ask::<PreSessionFork>("session_before_fork", fork(), vec![thrown]).await;
    assert_eq!(
        (outcome.verdict(), outcome.failures.len()),
        (None, 1),
        "it is no guard in pi"
    );
}

#[tokio::test]
async fn extensions_bring_summaries_and_labels() {
    let answer = json!({"compaction": {
        "summary": "short", "firstKeptEntryId": "k", "tokensBefore": 5, "details": {"files": []},
    }});
    let said = reply::<PreCompact>("session_before_compact", compaction(), returning(answer)).await;
    let summary = said.summary.0.unwrap();
    assert_eq!(
        (summary.text.as_str(), summary.first_kept_id.as_deref()),
        ("short", Some("k"))
    );
    assert_eq!(summary.details, Some(json!({"files": []})));
    let answer = json!({
        "summary": {"summary": "left"}, "label": "old", "customInstructions": "be brief", "replaceInstructions": true,
    });
    let said = reply::<PreSessionTree>("session_before_tree", tree(), returning(answer)).await;
    assert_eq!(said.summary.0.unwrap().text, "left");
    assert_eq!(said.label.0.as_deref(), Some("old"));
    assert_eq!(
        (said.instructions.0.as_deref(), said.instructions_alone.0),
        (Some("be brief"), Some(true))
    );
}

#[tokio::test]
async fn turn_end_is_a_chain_of_proposals() {
    let answers = vec![
        returning(json!({"entries": [
            {"type": "custom", "customType": "state", "data": {"n": 1}},
            {"type": "custom_message", "customType": "nudge", "content": "go", "display": false},
        ], "continue": true})),
        returning(json!({"continue": false})),
    ];
    let (outcome, heard) = ask::<TurnEnded>("turn_end", example::<TurnEnded>(), answers).await;
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert_eq!(heard[0]["entries"], json!([]));
    assert_eq!(
        heard[1]["entries"][0],
        json!({"type": "custom", "customType": "state", "data": {"n": 1}})
    );
    assert_eq!(heard[1]["entries"][1]["content"], "go");
    assert_eq!(heard[1]["continue"], true);
    assert_eq!(outcome.reply.go_on.0, Some(false));
    assert_eq!(outcome.reply.entries.0.unwrap().len(), 2);
    let note =
        json!({"type": "custom_message", "customType": "nudge", "content": "test it", "display": false});
    let answers = vec![
        returning(json!({"continue": true, "entries": [note]})),
        returning(json!({})),
    ];
    let (outcome, heard) = ask::<Stop>("agent_before_settle", example::<Stop>(), answers).await;
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert_eq!(
        (&heard[0]["entries"], &heard[0]["continue"]),
        (&json!([]), &json!(false))
    );
    assert_eq!(
        (&heard[1]["entries"][0], &heard[1]["continue"]),
        (&note, &json!(true))
    );
    assert_eq!(outcome.reply.go_on.0, Some(true));
    assert_eq!(outcome.reply.entries.0.unwrap().len(), 1);
}

#[tokio::test]
async fn resources_add_up() {
    let answers = vec![
        returning(json!({"skillPaths": ["a"], "promptPaths": ["p"]})),
        returning(json!({"skillPaths": ["b"], "themePaths": ["t"]})),
    ];
    let reason = StartReason::Reload;
    let (outcome, heard) = ask::<Resources>("resources_discover", ResourcesPayload { reason }, answers).await;
    assert_eq!(outcome.reply.skills.0, ["a", "b"]);
    assert_eq!(
        (outcome.reply.prompts.0, outcome.reply.themes.0),
        (vec!["p".into()], vec!["t".into()])
    );
    assert_eq!(heard[0]["reason"], "reload");
}

/// For events that are no guards, an answer of the wrong shape is a failure that names the error.
// tidy: a table
#[tokio::test]
async fn wrong_answers_are_failures_that_name_the_field() {
    async fn fails<E: Event>(event: &str, payload: E::Payload, answer: Value, words: &str) {
        let (outcome, _) = ask::<E>(event, payload, vec![returning(answer.clone())]).await;
        let [failure] = outcome.failures.as_slice() else {
            panic!("{event} {answer}: {:?}", outcome.failures)
        };
        assert_eq!(failure.failure.cause, Cause::WrongShape, "{event} {answer}");
        assert!(
            failure.failure.detail.contains(words),
            "{}",
            failure.failure.detail
        );
        assert!(
            !failure.refused && outcome.verdict().is_none(),
            "{event} {answer}"
        );
    }
    let said = example::<UserInput>;
    fails::<UserInput>("input", said(), json!("x"), "an object or nothing").await;
    fails::<UserInput>("input", said(), json!({"action": "swallow"}), "`action`").await;
    fails::<UserInput>("input", said(), json!({"text": "x"}), "`action`").await;
    fails::<UserInput>("input", said(), json!({"action": "transform"}), "`text`").await;
    fails::<UserInput>(
        "input",
        said(),
        json!({"action": "transform", "text": 1}),
        "`text`",
    )
    .await;
    let text = json!([{"type": "text", "text": "no picture"}]);
    let answer = json!({"action": "transform", "text": "x", "images": text});
    fails::<UserInput>("input", said(), answer, "`images`").await;
    let start = example::<AgentStart>;
    fails::<AgentStart>(
        "before_agent_start",
        start(),
        json!({"systemPrompt": 1}),
        "`systemPrompt`",
    )
    .await;
    fails::<AgentStart>(
        "before_agent_start",
        start(),
        json!({"message": "x"}),
        "`message`",
    )
    .await;
    let unnamed = json!({"message": {"content": "x"}});
    fails::<AgentStart>("before_agent_start", start(), unnamed, "`message.customType`").await;
    fails::<ModelContext>("context", context(), json!({"messages": "x"}), "`messages`").await;
    let odd = json!({"messages": [{"role": "nobody"}]});
    fails::<ModelContext>("context", context(), odd, "`messages[0].role`").await;
    let odd = json!({"messages": [{"role": "user", "content": [{"type": "sound"}]}]});
    fails::<ModelContext>("context", context(), odd, "`messages[0].content[0]`").await;
    fails::<PreToolOutput>("tool_result", output(), json!({"content": "x"}), "`content`").await;
    fails::<PreToolOutput>("tool_result", output(), json!({"isError": "no"}), "`isError`").await;
    fails::<PreCompact>(
        "session_before_compact",
        compaction(),
        json!({"cancel": 1}),
        "`cancel`",
    )
    .await;
    fails::<PreCompact>(
        "session_before_compact",
        compaction(),
        json!({"compaction": {}}),
        "`summary`",
    )
    .await;
    let end = example::<TurnEnded>;
    fails::<TurnEnded>("turn_end", end(), json!({"entries": {}}), "`entries`").await;
    fails::<TurnEnded>(
        "turn_end",
        end(),
        json!({"entries": [{"type": "compaction"}]}),
        "`entries[0]`",
    )
    .await;
    fails::<TurnEnded>(
        "turn_end",
        end(),
        json!({"entries": [{"type": "custom"}]}),
        "customType",
    )
    .await;
    fails::<TurnEnded>("turn_end", end(), json!({"continue": "yes"}), "`continue`").await;
    let reason = StartReason::Startup;
    let resources = ResourcesPayload { reason };
    fails::<Resources>(
        "resources_discover",
        resources,
        json!({"skillPaths": [1]}),
        "`skillPaths`",
    )
    .await;
}

// ---------------------------------------------------------------- growing data

#[tokio::test]
async fn an_answer_grows_in_blocks() {
    let (engine, heard) = engine_with("message_update", vec![silent()]);
    let deltas = [
        Delta::Thinking {
            text: "hm".into(),
            signature: None,
        },
        Delta::Thinking {
            text: String::new(),
            signature: Some("seal".into()),
        },
        Delta::Text { text: "I ".into() },
        Delta::Text { text: "look".into() },
        Delta::ToolCall {
            index: 0,
            id: "c1".into(),
            name: "shell".into(),
        },
        Delta::Arguments {
            index: 0,
            text: r#"{"command":"#.into(),
        },
        Delta::Arguments {
            index: 0,
            text: r#""ls"}"#.into(),
        },
    ];
    for delta in deltas {
        let message_id = "m1".to_owned();
        engine
            .dispatch::<MessageUpdate>(&scope(), || MessageUpdatePayload { message_id, delta })
            .await;
    }
    let heard = heard.lock().unwrap().clone();
    let told: Vec<String> = heard
        .iter()
        .map(|event| {
            let event = &event["assistantMessageEvent"];
            format!("{} {}", event["type"].as_str().unwrap(), event["contentIndex"])
        })
        .collect();
    assert_eq!(
        told,
        [
            "thinking_start 0",
            "thinking_delta 0",
            "thinking_end 0",
            "text_start 1",
            "text_delta 1",
            "text_delta 1",
            "text_end 1",
            "toolcall_start 2",
            "toolcall_delta 2",
            "toolcall_delta 2",
        ]
    );
    let last = heard.last().unwrap();
    assert_eq!(last["message"], last["assistantMessageEvent"]["partial"]);
    let content = &last["message"]["content"];
    assert_eq!(
        content[0],
        json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"})
    );
    assert_eq!(content[1]["text"], "I look");
    let call = json!({"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}});
    assert_eq!(content[2], call);
    assert_eq!(heard[6]["assistantMessageEvent"]["content"], "I look");
}

#[tokio::test]
async fn the_output_of_a_running_tool_adds_up_until_the_tool_tells_its_result() {
    let (engine, heard) = engine_with("tool_execution_update", vec![silent()]);
    let update = |id: &str, output: &str, partial: Option<PartialResult>| ToolUpdatePayload {
        tool_call_id: id.into(),
        output: output.into(),
        partial,
        ..example::<ToolUpdate>()
    };
    let partial = PartialResult {
        content: vec![Part::text("so far")],
        details: Some(json!({"n": 1})),
    };
    for update in [
        update("c1", "a", None),
        update("c2", "x", None),
        update("c1", "b", None),
        update("c1", "", Some(partial)),
        update("c1", "c", None),
    ] {
        engine.dispatch::<ToolUpdate>(&scope(), || update).await;
    }
    let heard = heard.lock().unwrap().clone();
    let told: Vec<&str> = heard
        .iter()
        .map(|event| event["partialResult"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["a", "x", "ab", "so far", "c"]);
    assert_eq!(heard[3]["partialResult"]["details"], json!({"n": 1}));
    assert_eq!(
        (&heard[0]["toolName"], &heard[0]["args"]),
        (&json!("bash"), &json!({"command": "echo hello"}))
    );
}

// ---------------------------------------------------------------- names

#[test]
fn a_misspelt_event_is_told_from_one_that_is_never_fired() {
    let engine = Engine::new(None);
    let register = |event: &str| {
        let answer = silent();
        let script = Arc::new(Script {
            answer,
            heard: Arc::default(),
        });
        becket_pi::register(&engine, event, script, &owner("mine"))
    };
    assert_eq!(
        register("tool_calls").unwrap_err(),
        "mine.ts: there is no event `tool_calls`; did you mean `tool_call`?"
    );
    assert!(register("xyz").unwrap_err().contains("there is no event `xyz`"));
    for event in becket_pi::NEVER_FIRED {
        let remark = register(event).unwrap_err();
        assert!(remark.contains("becket does not fire it"), "{remark}");
    }
    let key = register("tool_call").unwrap();
    let handlers = engine.handlers_of(EventId::PreTool);
    assert_eq!(
        (handlers[0].name.as_str(), handlers[0].known_as),
        ("mine", Some("tool_call"))
    );
    assert_eq!(handlers[0].timeout, Duration::from_secs(30));
    engine.remove(key);
    assert!(engine.handlers_of(EventId::PreTool).is_empty());
}

#[tokio::test]
async fn handlers_are_called_one_after_another_in_the_order_of_their_extensions() {
    /// A function that takes a moment, and records when it begins and when it ends.
    struct Slow(&'static str, Arc<Mutex<Vec<String>>>);
    impl ScriptHandler for Slow {
        fn call<'a>(&'a self, _: Vec<Field>) -> BoxFuture<'a, Result<Answered, Failure>> {
            Box::pin(async move {
                self.1.lock().unwrap().push(format!("{} begins", self.0));
                tokio::task::yield_now().await;
                self.1.lock().unwrap().push(format!("{} ends", self.0));
                Ok(Answered::default())
            })
        }
    }
    let engine = Engine::new(None);
    let told = Arc::new(Mutex::new(Vec::new()));
    for name in ["b", "a"] {
        let script = Arc::new(Slow(name, Arc::clone(&told)));
        becket_pi::register(&engine, "agent_end", script, &owner(name)).unwrap();
    }
    engine.dispatch::<AgentEnd>(&scope(), example::<AgentEnd>).await;
    assert_eq!(
        *told.lock().unwrap(),
        ["a begins", "a ends", "b begins", "b ends"]
    );
}

// ---------------------------------------------------------------- entries

#[test]
fn entries_are_shown_as_pis_session_manager_shows_them() {
    let conversation = conversation();
    let model = becket_pi::ModelName::of("anthropic/claude");
    let shown = |kind| {
        let entry = becket_pi::Entry {
            id: "e",
            parent_id: Some("p"),
            time_ms: 1_700_000_000_123,
            kind,
        };
        entry.shown(model)
    };
    let entry = shown(becket_pi::EntryKind::Message(&conversation[2]));
    assert_eq!(
        (&entry["type"], &entry["timestamp"]),
        (&json!("message"), &json!("2023-11-14T22:13:20.123Z"))
    );
    assert_eq!((&entry["id"], &entry["parentId"]), (&json!("e"), &json!("p")));
    assert_eq!(entry["message"]["role"], "toolResult");
    let entry = shown(becket_pi::EntryKind::Message(&conversation[3]));
    assert_eq!(
        (&entry["type"], &entry["customType"]),
        (&json!("custom_message"), &json!("plan"))
    );
    assert_eq!(
        (&entry["content"], &entry["display"]),
        (&json!("step 1"), &json!(true))
    );
    let data = json!({"n": 1});
    let entry = shown(becket_pi::EntryKind::Custom {
        kind: "state",
        data: &data,
    });
    assert_eq!((&entry["type"], &entry["data"]), (&json!("custom"), &data));
    let entry = shown(becket_pi::EntryKind::Label {
        target_id: "u",
        label: None,
    });
    assert_eq!((&entry["targetId"], entry.get("label")), (&json!("u"), None));
    let entry = shown(becket_pi::EntryKind::ModelChange(becket_pi::ModelName::of(
        "openai/gpt",
    )));
    assert_eq!(
        (&entry["provider"], &entry["modelId"]),
        (&json!("openai"), &json!("gpt"))
    );
    assert_eq!(
        shown(becket_pi::EntryKind::ThinkingLevelChange("high"))["thinkingLevel"],
        "high"
    );
    assert_eq!(
        shown(becket_pi::EntryKind::SessionInfo { name: Some("mine") })["name"],
        "mine"
    );
}
