//! The replies of handlers take effect: on the prompt, the system prompt, the context, the tools, the messages.

use becket_agent::Ending;
use becket_events::{
    AgentStart, AgentStartReply, Answer, Append, Handled, Intersect, Message, MessageBody, MessageEnd,
    MessageEndReply, MessageRecord, ModelContext, ModelContextReply, NoteDraft, Part, PostSystemPrompt,
    PostSystemPromptReply, PreRequest, PreRequestReply, PreSystemPrompt, PreSystemPromptReply, Prepend,
    Rewrite, SessionStart, SessionStartReply, ToolsOffered, ToolsOfferedReply, TurnStart, TurnStartReply,
    Union, UserInput, UserInputReply, UserPrompt, UserPromptReply, Verdict,
};
use serde_json::json;

use crate::stage::{Stage, Turn, message_of, shell};

#[tokio::test]
async fn words_can_be_rewritten_answered_and_refused() {
    let stage = Stage::new(vec![Turn::Say("ok")]);
    stage.engine.on::<UserInput>("a", |occasion| {
        Ok(UserInputReply {
            text: Rewrite(Some(format!("{}!", occasion.payload.text))),
            ..Default::default()
        })
    });
    stage.engine.on::<UserPrompt>("b", |occasion| {
        Ok(UserPromptReply {
            prompt: Rewrite(Some(format!("<{}>", occasion.payload.prompt))),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(stage.seen_by_model(0), ["<go!>"]);

    let stage = Stage::new(vec![]);
    let handled = Handled {
        message: Some("pong".into()),
    };
    stage.engine.on::<UserInput>("ping", move |_| {
        Ok(UserInputReply {
            handled: Answer(Some(handled.clone())),
            ..Default::default()
        })
    });
    assert_eq!(
        stage.play("ping").await.ending,
        Ending::Handled(Some("pong".into()))
    );
    assert!(stage.stored().is_empty());

    let stage = Stage::new(vec![]);
    stage.engine.on::<UserPrompt>("no", |_| {
        Ok(UserPromptReply {
            verdict: Verdict::Deny("not at night".into()).into(),
            ..Default::default()
        })
    });
    assert_eq!(
        stage.play("go").await.ending,
        Ending::Blocked("not at night".into())
    );
    assert_eq!(stage.events_named("error")[0]["kind"], "hook_blocked");
}

#[tokio::test]
async fn the_system_prompt_passes_its_hooks_in_order() {
    let stage = Stage::new(vec![Turn::Say("ok")]);
    for text in ["first", "second"] {
        stage.engine.on::<PreSystemPrompt>(text, move |_| {
            Ok(PreSystemPromptReply {
                inject: Prepend(vec![text.into()]),
                ..Default::default()
            })
        });
        stage.engine.on::<PostSystemPrompt>(text, move |_| {
            Ok(PostSystemPromptReply {
                inject: Append(vec![text.into()]),
                ..Default::default()
            })
        });
    }
    stage.engine.on::<AgentStart>("last word", |occasion| {
        let prompt = format!("{}\n\nlast word", occasion.payload.system_prompt);
        Ok(AgentStartReply {
            system_prompt: Rewrite(Some(prompt)),
            ..Default::default()
        })
    });
    stage.engine.on::<SessionStart>("session", |_| {
        Ok(SessionStartReply {
            context: Append(vec!["for the session".into()]),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    let requests = stage.model.requests.lock().unwrap();
    let system = requests[0]["system"].as_str().unwrap();
    assert!(
        system.starts_with("second\n\nfirst\n\nYou are becket"),
        "{system}"
    );
    assert!(
        system.ends_with("first\n\nsecond\n\nlast word\n\nfor the session"),
        "{system}"
    );
}

#[tokio::test]
async fn passing_context_reaches_the_model_and_never_the_transcript() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<UserPrompt>("prompt", |_| {
        Ok(UserPromptReply {
            context: Append(vec!["for this prompt".into()]),
            ..Default::default()
        })
    });
    stage.engine.on::<TurnStart>("turn", |occasion| {
        let text = format!("for turn {}", occasion.payload.turn_index);
        Ok(TurnStartReply {
            context: Append(vec![text]),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(stage.seen_by_model(0), ["go", "for this prompt\n\nfor turn 0"]);
    assert_eq!(
        stage.seen_by_model(1),
        ["go", "", "shell ran", "for this prompt\n\nfor turn 1"]
    );
    assert_eq!(stage.stored(), ["go", "", "shell ran", "ok"]);
}

#[tokio::test]
async fn notes_of_agent_start_are_stored_and_seen() {
    let stage = Stage::new(vec![Turn::Say("ok")]);
    let draft = NoteDraft {
        kind: "memory".into(),
        content: vec![Part::text("remember")],
        display: true,
        details: None,
    };
    stage.engine.on::<AgentStart>("memory", move |_| {
        Ok(AgentStartReply {
            messages: Append(vec![draft.clone()]),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(stage.seen_by_model(0), ["go", "remember"]);
    assert_eq!(stage.stored(), ["go", "remember", "ok"]);
}

#[tokio::test]
async fn the_context_of_a_request_can_be_rewritten_without_touching_the_transcript() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<ModelContext>("only the last", |occasion| {
        let last = occasion.payload.messages.last().cloned().into_iter().collect();
        Ok(ModelContextReply {
            messages: Rewrite(Some(last)),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(stage.seen_by_model(1), ["shell ran"]);
    assert_eq!(stage.stored().len(), 4);
}

#[tokio::test]
async fn tools_can_be_taken_away_and_then_do_not_exist() {
    let stage = Stage::new(vec![
        Turn::Call(vec![shell("ls"), ("custom", json!({}))]),
        Turn::Say("ok"),
    ]);
    stage.engine.on::<ToolsOffered>("filter", |_| {
        Ok(ToolsOfferedReply {
            include: Intersect(Some(vec!["shell".into(), "custom".into()])),
            exclude: Union(vec!["shell".into()]),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(
        stage.model.requests.lock().unwrap()[0]["tools"],
        json!(["custom"])
    );
    assert_eq!(stage.runs(), ["custom {}"]);
    assert_eq!(stage.stored()[2], "there is no tool `shell`");
}

#[tokio::test]
async fn the_bytes_on_the_wire_are_the_last_hooks() {
    let stage = Stage::new(vec![Turn::Call(vec![shell("ls")]), Turn::Say("ok")]);
    stage.engine.on::<PreRequest>("a", |_| {
        let body = becket_events::Json::parse(r#"{ "a" : 1.0 }"#.into()).unwrap();
        Ok(PreRequestReply {
            body: Rewrite(Some(body)),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert_eq!(
        *stage.model.requests.lock().unwrap(),
        [json!({"a": 1.0}), json!({"a": 1.0})],
        "on every round"
    );
}

#[tokio::test]
async fn a_message_can_be_replaced_by_one_of_the_same_role_only() {
    let stage = Stage::new(vec![Turn::Say("secret")]);
    stage.engine.on::<MessageEnd>("redact", |occasion| {
        let record = occasion.payload.message.record().clone();
        let body = match record.body {
            MessageBody::Assistant {
                tool_calls,
                model,
                stop_reason,
                usage,
                ..
            } => {
                let content = vec![Part::text("[redacted]")];
                MessageBody::Assistant {
                    content,
                    tool_calls,
                    model,
                    stop_reason,
                    usage,
                    error: None,
                }
            }
            // A wrong role: the user's message becomes the model's.
            MessageBody::User { content } => MessageBody::Note {
                kind: "x".into(),
                content,
                display: false,
                details: None,
            },
            other => other,
        };
        let message = Message::new(MessageRecord { body, ..record });
        Ok(MessageEndReply {
            message: Rewrite(Some(message)),
            ..Default::default()
        })
    });
    assert_eq!(stage.answer("go").await, "[redacted]");
    let first = message_of(&stage.store.entries.lock().unwrap()[0]);
    assert!(matches!(first.body(), MessageBody::User { .. }));
    assert!(
        stage
            .person
            .seen
            .lock()
            .unwrap()
            .iter()
            .any(|update| update.contains("changed a message's role"))
    );
}

#[tokio::test]
async fn notices_are_shown_to_the_person() {
    let stage = Stage::new(vec![Turn::Say("ok")]);
    stage.engine.on::<TurnStart>("tell", |_| {
        Ok(TurnStartReply {
            notice: Append(vec!["look here".into()]),
            ..Default::default()
        })
    });
    stage.answer("go").await;
    assert!(
        stage
            .person
            .seen
            .lock()
            .unwrap()
            .iter()
            .any(|update| update == "Notice(\"look here\")")
    );
}
