//! All interfaces, each against a server that refuses what the real one would.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use becket_agent::provider::{
    AnswerPart, ModelRequest, Provider, ProviderError, ProviderErrorKind, RequestOptions, ThinkingLevel,
    ToolFace,
};
use becket_events::{Delta, Message, MessageBody, MessageRecord, Part, StopReason, ToolCall, Usage};
use becket_providers::{Api, ProviderSettings, read_answer, select};
use futures_util::StreamExt;
use serde_json::{Value, json};
use testkit::{GeminiStream, ModelServer, Response, ResponsesStream, Wire};

const KEY: &str = "sk-test-0123456789abcdef";

fn api_of(wire: Wire) -> Api {
    match wire {
        Wire::Chat => Api::OpenAi,
        Wire::Messages => Api::Anthropic,
        Wire::Responses => Api::Responses,
        Wire::Gemini => Api::Gemini,
    }
}

/// A model at a server; the names are of models that think.
fn model_at(wire: Wire, server: &ModelServer) -> Arc<dyn Provider> {
    let (model, service) = match wire {
        Wire::Chat => ("openai/gpt-4.1", "OPENAI"),
        Wire::Messages => ("anthropic/claude-sonnet-4-5", "ANTHROPIC"),
        Wire::Responses => ("openai/gpt-5.1-codex", "OPENAI"),
        Wire::Gemini => ("gemini/gemini-3.5-flash", "GEMINI"),
    };
    let url = server.url();
    let environment = |name: &str| match name.strip_prefix(service)? {
        "_BASE_URL" => Some(url.clone()),
        "_API_KEY" => Some(KEY.to_owned()),
        _ => None,
    };
    select(Some(model), &environment, &ProviderSettings::default()).expect("the model is known")
}

fn message(body: MessageBody) -> Message {
    Message::new(MessageRecord {
        id: "m".into(),
        time_ms: 0,
        body,
    })
}

fn user(text: &str) -> Message {
    message(MessageBody::User {
        content: vec![Part::text(text)],
    })
}

fn result(id: &str, content: Vec<Part>) -> Message {
    message(MessageBody::Tool {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content,
        is_error: false,
        details: None,
    })
}

fn tools() -> Vec<ToolFace> {
    vec![ToolFace {
        name: "read".into(),
        description: "Reads a file.".into(),
        parameters:
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}).into(),
        operation: None,
    }]
}

/// An answer, put together as the agent does it.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    content: Vec<Part>,
    calls: Vec<ToolCall>,
    stop_reason: Option<StopReason>,
    usage: Usage,
}

impl Answer {
    fn add(&mut self, part: AnswerPart) {
        match part {
            AnswerPart::Delta(Delta::Text { text }) => match self.content.last_mut() {
                Some(Part::Text { text: so_far }) => so_far.push_str(&text),
                _ => self.content.push(Part::Text { text }),
            },
            AnswerPart::Delta(Delta::Thinking { text, signature }) => match self.content.last_mut() {
                Some(Part::Thinking {
                    text: so_far,
                    signature: seal @ None,
                }) => {
                    so_far.push_str(&text);
                    *seal = signature;
                }
                _ => self.content.push(Part::Thinking { text, signature }),
            },
            AnswerPart::Delta(Delta::ToolCall { id, name, .. }) => self.calls.push(ToolCall {
                id,
                name,
                arguments: String::new(),
            }),
            AnswerPart::Delta(Delta::Arguments { index, text }) => {
                self.calls[index].arguments.push_str(&text);
            }
            AnswerPart::Completed {
                stop_reason, usage, ..
            } => {
                self.stop_reason = Some(stop_reason);
                self.usage = usage;
            }
            _ => {}
        }
    }

    fn message(self) -> Message {
        message(MessageBody::Assistant {
            content: self.content,
            tool_calls: self.calls,
            model: "m".into(),
            stop_reason: self.stop_reason.expect("the answer is complete"),
            usage: self.usage,
            error: None,
        })
    }

    fn text(&self) -> String {
        becket_events::text_of(&self.content)
    }

    fn thoughts(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Part::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn signatures(&self) -> usize {
        let is_signed = |part: &&Part| {
            matches!(
                part,
                Part::Thinking {
                    signature: Some(_),
                    ..
                }
            )
        };
        self.content.iter().filter(is_signed).count()
    }
}

async fn ask(
    provider: &dyn Provider,
    messages: &[Message],
    options: &RequestOptions,
) -> Result<Answer, ProviderError> {
    let tools = tools();
    let body = provider.body(&ModelRequest {
        system_prompt: "be brief",
        messages,
        tools: &tools,
        options,
    })?;
    let mut answering = provider.send(&body).await?;
    let mut answer = Answer::default();
    while let Some(part) = answering.parts.next().await {
        answer.add(part?);
    }
    Ok(answer)
}

fn thinking() -> RequestOptions {
    RequestOptions {
        thinking: Some(ThinkingLevel::Low),
        ..RequestOptions::default()
    }
}

/// The answer that a server gives in this stream.
async fn read(wire: Wire, stream: String) -> Result<Answer, ProviderError> {
    let server = ModelServer::start([Response::events(stream)]);
    ask(
        &*model_at(wire, &server),
        &[user("hi")],
        &RequestOptions::default(),
    )
    .await
}

#[tokio::test]
async fn no_call_comes_from_an_answer_that_is_cut_anywhere() {
    for wire in Wire::ALL {
        let whole = wire.thought_and_call("seal", ("call_1", "read", r#"{"path":"ä"}"#));
        let end = wire.end_of(&whole).end;
        for cut in 0..whole.len() {
            let pieces = vec![whole.as_bytes()[..cut].to_vec()];
            let (_, is_whole) = read_answer(api_of(wire), pieces).await;
            assert_eq!(is_whole, cut >= end, "{wire:?} at {cut} of {end}");
        }
        let (count, is_whole) = read_answer(api_of(wire), vec![whole.into_bytes()]).await;
        assert!(is_whole && count > 4, "{wire:?}");
    }
}

/// The events of a stream, each with the blank line that ends it.
fn events(stream: &str) -> Vec<String> {
    let plain = stream.replace("\r\n", "\n");
    let events = plain.split("\n\n").filter(|event| !event.trim().is_empty());
    events.map(|event| format!("{event}\n\n")).collect()
}

/// Every way in which one event of a stream is lost, comes twice, or comes after the next one, with what was done.
fn disturbed(stream: &str) -> Vec<(String, String)> {
    let whole = events(stream);
    let mut all = Vec::new();
    for place in 0..whole.len() {
        let mut lost = whole.clone();
        let event = lost.remove(place);
        all.push((format!("without {event}"), lost.concat()));
        let mut twice = whole.clone();
        twice.insert(place, event.clone());
        all.push((format!("twice {event}"), twice.concat()));
        if place + 1 < whole.len() {
            let mut late = whole.clone();
            late.swap(place, place + 1);
            all.push((format!("late {event}"), late.concat()));
        }
    }
    all
}

#[tokio::test]
async fn a_stream_that_is_disturbed_brings_no_other_call() {
    let (id, name, arguments) = ("call_1", "read", r#"{"path":"ab"}"#);
    for wire in Wire::ALL {
        for (what, stream) in disturbed(&wire.thought_and_call("seal", (id, name, arguments))) {
            let Ok(answer) = read(wire, stream).await else {
                continue;
            };
            assert!(answer.calls.len() <= 1, "{wire:?}, {what}: {:?}", answer.calls);
            for call in &answer.calls {
                assert_eq!(call.name, name, "{wire:?}, {what}");
                // Chat completions and messages number no pieces: what is put together wrong is no JSON.
                let is_json =
                    serde_json::from_str::<Value>(&call.arguments).is_ok_and(|value| value.is_object());
                assert!(
                    !is_json || call.arguments == arguments || call.arguments == "{}",
                    "{wire:?}, {what}: {}",
                    call.arguments
                );
                if matches!(wire, Wire::Responses | Wire::Gemini) {
                    assert_eq!(call.arguments, arguments, "{wire:?}, {what}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_comes_slowly_and_in_any_pieces_is_the_same_answer() {
    for wire in Wire::ALL {
        let stream = wire.thought_and_call("seal", ("call_1", "read", r#"{"path":"ä"}"#));
        let pieces = stream.as_bytes().chunks(7);
        let response = pieces.fold(Response::new(200, "text/event-stream", ""), |response, piece| {
            response.late_piece(std::time::Duration::from_millis(1), piece)
        });
        let server = ModelServer::start([response]);
        let answer = ask(
            &*model_at(wire, &server),
            &[user("hi")],
            &RequestOptions::default(),
        )
        .await;
        let answer = answer.unwrap_or_else(|error| panic!("{wire:?}: {error}"));
        assert_eq!(answer.calls.len(), 1, "{wire:?}");
        assert_eq!(answer.calls[0].arguments, r#"{"path":"ä"}"#, "{wire:?}");
    }
}

// tidy: a table
#[tokio::test]
async fn answers_of_responses_are_read() {
    let usage = json!({"input_tokens": 40, "input_tokens_details": {"cached_tokens": 30},
        "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 49});
    let stream = ResponsesStream::new("m")
        .reasoning("rs_1", &["One.", "Two."], "responses-x")
        .phase("commentary", &["I ", "look."])
        .tool_call("c1", "read", &["{\"pa", "th\":\"x\"}"])
        .tool_call("c2", "list", &[])
        .usage(usage)
        .completed();
    let answer = read(Wire::Responses, stream).await.expect("an answer");
    assert_eq!(answer.thoughts(), "One.\n\nTwo.");
    assert_eq!((answer.text().as_str(), answer.signatures()), ("I look.", 2));
    let calls: Vec<_> = answer
        .calls
        .iter()
        .map(|call| (&*call.id, &*call.arguments))
        .collect();
    assert_eq!(calls, [("c1", r#"{"path":"x"}"#), ("c2", "{}")]);
    assert_eq!(answer.stop_reason, Some(StopReason::ToolCalls));
    let expected = Usage {
        input_tokens: 40,
        output_tokens: 9,
        cache_read_tokens: 30,
        reasoning_tokens: 5,
        ..Usage::default()
    };
    assert_eq!(answer.usage, expected);

    let begun = || ResponsesStream::new("m").text(&["so far"]);
    let table = [
        (begun().completed(), "so far", StopReason::Stop),
        (
            begun().incomplete("max_output_tokens"),
            "so far",
            StopReason::Length,
        ),
        (
            begun().incomplete("content_filter"),
            "so far",
            StopReason::Refused,
        ),
        (
            ResponsesStream::new("m").refusal("I will not.").completed(),
            "I will not.",
            StopReason::Refused,
        ),
    ];
    for (stream, text, reason) in table {
        let answer = read(Wire::Responses, stream).await.expect("an answer");
        assert_eq!((answer.text().as_str(), answer.stop_reason), (text, Some(reason)));
    }
    let failures = [
        (begun().failed("server_error", "oops"), ProviderErrorKind::Broken),
        (
            ResponsesStream::new("m").failed("server_error", "oops"),
            ProviderErrorKind::Transient,
        ),
        (
            ResponsesStream::new("m").failed("rate_limit_exceeded", "slow"),
            ProviderErrorKind::RateLimited,
        ),
        (
            ResponsesStream::new("m")
                .event(
                    "error",
                    json!({"code": "context_length_exceeded", "message": "long"}),
                )
                .unfinished(),
            ProviderErrorKind::ContextTooLong,
        ),
    ];
    for (stream, kind) in failures {
        let error = read(Wire::Responses, stream).await.expect_err("a failure");
        assert_eq!(error.kind, kind, "{error}");
    }
}

#[tokio::test]
async fn servers_that_send_whole_items_are_read_too() {
    let item =
        json!({"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"x\"}"});
    let said =
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]});
    let response = json!({"object": "response", "status": "completed", "model": "m", "output": [said, item]});
    let streams = [
        Response::json(200, &response),
        Response::events(
            ResponsesStream::new("m")
                .event(
                    "response.output_item.done",
                    json!({"output_index": 0, "item": said}),
                )
                .event(
                    "response.output_item.done",
                    json!({"output_index": 1, "item": item}),
                )
                .event("response.completed", json!({"response": {"model": "m"}}))
                .unfinished(),
        ),
    ];
    for response in streams {
        let server = ModelServer::start([response]);
        let provider = model_at(Wire::Responses, &server);
        let answer = ask(&*provider, &[user("hi")], &RequestOptions::default())
            .await
            .expect("an answer");
        assert_eq!(answer.text(), "ok");
        assert_eq!(
            (answer.calls.len(), &*answer.calls[0].arguments),
            (1, r#"{"path":"x"}"#)
        );
    }
    let candidate = json!({"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"});
    let whole = json!({"candidates": [candidate], "modelVersion": "m"});
    for document in [whole.clone(), json!([whole])] {
        let server = ModelServer::start([Response::json(200, &document)]);
        let provider = model_at(Wire::Gemini, &server);
        let answer = ask(&*provider, &[user("hi")], &RequestOptions::default())
            .await
            .expect("an answer");
        assert_eq!(
            (answer.text().as_str(), answer.stop_reason),
            ("ok", Some(StopReason::Stop))
        );
    }
}

// tidy: a table
#[tokio::test]
async fn answers_of_gemini_are_read() {
    let usage = json!({"promptTokenCount": 40, "cachedContentTokenCount": 30, "candidatesTokenCount": 4,
        "thoughtsTokenCount": 5, "totalTokenCount": 49});
    let stream = GeminiStream::new("m")
        .thought("One. ")
        .thought("Two.")
        .text(&["I ", "look."])
        .call("c1", "read", r#"{"path":"x"}"#, Some("gemini-1"))
        .call("", "list", "{}", None)
        .usage(usage)
        .finish("STOP");
    let answer = read(Wire::Gemini, stream).await.expect("an answer");
    assert_eq!(
        (answer.thoughts().as_str(), answer.text().as_str()),
        ("One. Two.", "I look.")
    );
    assert_eq!(answer.signatures(), 1);
    assert_eq!(
        (&*answer.calls[0].id, &*answer.calls[0].arguments),
        ("c1", r#"{"path":"x"}"#)
    );
    assert!(answer.calls[1].id.starts_with("call_"), "{:?}", answer.calls);
    assert_eq!(answer.stop_reason, Some(StopReason::ToolCalls));
    let expected = Usage {
        input_tokens: 40,
        output_tokens: 9,
        cache_read_tokens: 30,
        reasoning_tokens: 5,
        ..Usage::default()
    };
    assert_eq!(answer.usage, expected);

    let begun = || GeminiStream::new("m").text(&["so far"]);
    for (reason, expected) in [
        ("STOP", StopReason::Stop),
        ("MAX_TOKENS", StopReason::Length),
        ("SAFETY", StopReason::Refused),
        ("RECITATION", StopReason::Refused),
        ("BRAND_NEW", StopReason::Refused),
    ] {
        let answer = read(Wire::Gemini, begun().finish(reason))
            .await
            .expect("an answer");
        assert_eq!(
            (answer.text().as_str(), answer.stop_reason),
            ("so far", Some(expected))
        );
    }
    let blocked =
        GeminiStream::new("m").event(&json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}));
    let failed =
        json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let failures = [
        (
            begun().finish("MALFORMED_FUNCTION_CALL"),
            ProviderErrorKind::Broken,
            "MALFORMED_FUNCTION_CALL",
        ),
        (
            blocked.unfinished(),
            ProviderErrorKind::Rejected,
            "PROHIBITED_CONTENT",
        ),
        (
            GeminiStream::new("m").event(&failed).unfinished(),
            ProviderErrorKind::Transient,
            "overloaded",
        ),
        (
            GeminiStream::new("m")
                .part(json!({"functionCall": {"args": {}}}))
                .finish("STOP"),
            ProviderErrorKind::Broken,
            "closed the connection",
        ),
    ];
    for (stream, kind, words) in failures {
        let error = read(Wire::Gemini, stream).await.expect_err("a failure");
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

/// A turn of the long conversation: the interface, and how many calls come before the answer.
const TURNS: [(Wire, usize); 10] = [
    (Wire::Messages, 2),
    (Wire::Messages, 0),
    (Wire::Responses, 2),
    (Wire::Responses, 1),
    (Wire::Gemini, 2),
    (Wire::Chat, 1),
    (Wire::Gemini, 1),
    (Wire::Messages, 1),
    (Wire::Chat, 0),
    (Wire::Responses, 1),
];

/// The answers of one interface in the long conversation, in order.
fn answers(wire: Wire) -> Vec<String> {
    let turns = TURNS.iter().enumerate().filter(|(_, (of, _))| *of == wire);
    let texts = turns.flat_map(|(turn, (_, calls))| {
        let call = move |call: usize| {
            let id = format!("id:{turn}.{call}");
            wire.thought_and_call(&format!("{turn}-{call}"), (&id, "read", r#"{"path":"x"}"#))
        };
        let calls = (0..*calls).map(call);
        calls.chain([wire.text(&format!("done {turn}"))])
    });
    texts.collect()
}

#[tokio::test]
async fn a_conversation_goes_on_from_provider_to_provider() {
    let servers: Vec<_> = Wire::ALL
        .iter()
        .map(|wire| (*wire, ModelServer::strict(*wire, answers(*wire))))
        .collect();
    let picture = || Part::Image {
        media_type: "image/png".into(),
        data: "iVBORw0=".into(),
    };
    let mut conversation = Vec::new();
    for (turn, (wire, _)) in TURNS.iter().enumerate() {
        let server = servers
            .iter()
            .find(|(of, _)| of == wire)
            .map(|(_, server)| server);
        let provider = model_at(*wire, server.expect("there is a server for each interface"));
        conversation.push(user(&format!("question {turn}")));
        loop {
            let answer = ask(&*provider, &conversation, &thinking()).await;
            let answer = answer.unwrap_or_else(|error| panic!("turn {turn} of {wire:?}: {error}"));
            let calls = answer.calls.clone();
            conversation.push(answer.message());
            if calls.is_empty() {
                break;
            }
            let results = calls
                .iter()
                .map(|call| result(&call.id, vec![Part::text("what is in it"), picture()]));
            conversation.extend(results);
        }
    }
    let last = conversation.last().map(Message::text);
    assert_eq!(last.as_deref(), Some("done 9"));
    // Each server saw its own thoughts, and nobody else's.
    for (wire, server) in servers {
        let requests = server.requests();
        let last = requests.last().expect("every server was asked").text();
        for other in Wire::ALL {
            let is_seen = last.contains(&other.seal(""));
            assert_eq!(
                is_seen,
                other == wire && wire != Wire::Chat,
                "{other:?} in {wire:?}: {last}"
            );
        }
        assert!(last.contains("question 0") && last.contains("iVBORw0="), "{last}");
    }
}

#[tokio::test]
async fn a_model_goes_on_in_the_middle_of_a_turn_of_another() {
    for (first, second) in [
        (Wire::Messages, Wire::Gemini),
        (Wire::Gemini, Wire::Messages),
        (Wire::Gemini, Wire::Responses),
        (Wire::Responses, Wire::Messages),
        (Wire::Chat, Wire::Gemini),
    ] {
        let call = first.thought_and_call("x", ("c1", "read", "{}"));
        let (one, two) = (
            ModelServer::strict(first, [call]),
            ModelServer::strict(second, [second.text("done")]),
        );
        let mut conversation = vec![user("look")];
        let answer = ask(&*model_at(first, &one), &conversation, &thinking()).await;
        conversation.push(answer.expect("a call").message());
        conversation.push(result("c1", vec![Part::text("it")]));
        let answer = ask(&*model_at(second, &two), &conversation, &thinking()).await;
        let answer = answer.unwrap_or_else(|error| panic!("{first:?} to {second:?}: {error}"));
        assert_eq!(answer.text(), "done");
    }
}

#[tokio::test]
async fn turns_whose_calls_have_one_id_are_valid_everywhere() {
    for wire in Wire::ALL {
        let call = || wire.thought_and_call("x", ("c1", "read", "{}"));
        let server = ModelServer::strict(wire, [call(), call(), wire.text("done")]);
        let mut conversation = vec![user("look")];
        for _ in 0..2 {
            let answer = ask(&*model_at(wire, &server), &conversation, &thinking()).await;
            conversation.push(answer.expect("a call").message());
            conversation.push(result("c1", vec![Part::text("it")]));
        }
        let answer = ask(&*model_at(wire, &server), &conversation, &thinking()).await;
        let answer = answer.unwrap_or_else(|error| panic!("{wire:?}: {error}"));
        assert_eq!(answer.text(), "done");
    }
}

/// What an interface can do, as its tests show it.
async fn features(wire: Wire) -> BTreeMap<&'static str, bool> {
    let call = wire.thought_and_call("x", ("c1", "read", "{}"));
    let server = ModelServer::strict(wire, [call, wire.text("done")]);
    let provider = model_at(wire, &server);
    let mut conversation = vec![user("look")];
    let answer = ask(&*provider, &conversation, &thinking()).await.expect("a call");
    let mut found = BTreeMap::from([
        ("calls of tools", answer.calls.len() == 1),
        ("thoughts are shown", !answer.thoughts().is_empty()),
        ("thoughts go back to the model", answer.signatures() > 0),
    ]);
    let picture = Part::Image {
        media_type: "image/png".into(),
        data: "iVBORw0=".into(),
    };
    conversation.push(answer.message());
    conversation.push(result("c1", vec![picture]));
    ask(&*provider, &conversation, &thinking())
        .await
        .expect("an answer");
    let sent = server.requests().last().expect("a request").text();
    found.insert("pictures, also from tools", sent.contains("iVBORw0="));

    let server = ModelServer::start([usage_of(wire)]);
    let answer = ask(
        &*model_at(wire, &server),
        &[user("hi")],
        &RequestOptions::default(),
    )
    .await;
    let usage = answer.expect("an answer").usage;
    found.insert("tokens from a cache are counted", usage.cache_read_tokens == 30);
    found.insert("tokens of thoughts are counted", usage.reasoning_tokens == 5);

    let list = match wire {
        Wire::Gemini => json!({"models": [{"name": "models/a"}]}),
        _ => json!({"data": [{"id": "a"}]}),
    };
    let server = ModelServer::start([Response::json(200, &list)]);
    let names = model_at(wire, &server).list_models().await;
    found.insert(
        "lists its models",
        names.map(|models| models.into_iter().map(|model| model.name).collect::<Vec<_>>())
            == Ok(vec!["a".to_owned()]),
    );

    found.extend(forms(&*provider));
    found
}

/// What the form of a request shows.
fn forms(provider: &dyn Provider) -> BTreeMap<&'static str, bool> {
    let mut found = BTreeMap::new();
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"], "additionalProperties": false});
    let body = |options: &RequestOptions| {
        let tools = tools();
        let request = ModelRequest {
            system_prompt: "",
            messages: &[user("hi")],
            tools: &tools,
            options,
        };
        provider.body(&request).expect("a body").to_value()
    };
    let plain = body(&RequestOptions::default());
    let structured = body(&RequestOptions {
        answer_schema: Some(Arc::new(schema)),
        ..RequestOptions::default()
    });
    found.insert(
        "answers by a schema",
        structured.to_string().contains("additionalProperties"),
    );
    let one_by_one = body(&RequestOptions {
        parallel_tool_calls: Some(false),
        ..RequestOptions::default()
    });
    found.insert("one call at a time, if you say so", one_by_one != plain);
    found.insert("marks for the cache", plain.to_string().contains("cache_control"));
    found
}

/// A short answer with all counts of tokens.
fn usage_of(wire: Wire) -> Response {
    let stream = match wire {
        Wire::Chat => {
            let usage = json!({"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 30},
                "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}});
            let choice = json!({"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"});
            let chunk = json!({"choices": [choice], "usage": usage});
            format!("data: {chunk}\n\ndata: [DONE]\n\n")
        }
        Wire::Messages => testkit::AnthropicStream::new("m", 1)
            .text(&["x"])
            .event(json!({"type": "message_delta", "delta": {}, "usage": {
                "cache_read_input_tokens": 30, "output_tokens_details": {"thinking_tokens": 5}}}))
            .stop("end_turn", 9),
        Wire::Responses => ResponsesStream::new("m")
            .text(&["x"])
            .usage(
                json!({"input_tokens": 40, "input_tokens_details": {"cached_tokens": 30},
                "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 5}}),
            )
            .completed(),
        Wire::Gemini => GeminiStream::new("m")
            .text(&["x"])
            .usage(
                json!({"promptTokenCount": 40, "cachedContentTokenCount": 30, "candidatesTokenCount": 4,
                "thoughtsTokenCount": 5}),
            )
            .finish("STOP"),
    };
    Response::events(stream)
}

/// The table of the guide is what the interfaces do. `BECKET_WRITE_GUIDE=1` writes it.
#[tokio::test]
async fn the_guide_says_what_each_interface_can_do() {
    const BEGIN: &str = "<!-- features: written by the tests of becket-providers -->\n";
    const END: &str = "<!-- end -->";
    let mut columns = Vec::new();
    for wire in Wire::ALL {
        columns.push(features(wire).await);
    }
    let mut table = String::from(
        "| | chat completions | Anthropic's messages | Responses | Gemini |\n|---|---|---|---|---|\n",
    );
    for feature in columns[0].keys() {
        let cells = columns
            .iter()
            .map(|column| if column[feature] { "yes" } else { "no" });
        let cells: Vec<&str> = cells.collect();
        table.push_str(&format!("| {feature} | {} |\n", cells.join(" | ")));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/guide/models.md");
    let guide = std::fs::read_to_string(&path).expect("the guide is there");
    let begin = guide.find(BEGIN).expect("the guide has a place for the table") + BEGIN.len();
    let end = begin + guide[begin..].find(END).expect("the place has an end");
    if std::env::var_os("BECKET_WRITE_GUIDE").is_some() {
        let written = format!("{}{table}{}", &guide[..begin], &guide[end..]);
        std::fs::write(&path, written).expect("the guide can be written");
        return;
    }
    let told = &guide[begin..end];
    assert_eq!(
        told, table,
        "run this test with BECKET_WRITE_GUIDE=1 to write the table"
    );
}
