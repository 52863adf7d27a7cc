//! The providers as the agent uses them: against a server on this machine, and without any network.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use becket_agent::provider::{
    AnswerPart, ModelRequest, Provider, ProviderError, ProviderErrorKind, RequestOptions, ToolFace,
};
use becket_events::{
    Delta, Json, Message, MessageBody, MessageRecord, OperationKind, Part, Schema, StopReason, ToolCall,
    Usage,
};
use becket_providers::rehearsal::Rehearsal;
use becket_providers::scripted::Scripted;
use becket_providers::{
    Api, KEY_VARIABLES, ProviderEntry, ProviderSettings, Secret, SelectError, Timeouts, api, key_variables,
    origins, select,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use testkit::{AnthropicStream, Ending, ModelServer, OpenAiStream, Response, Wire};

const KEY: &str = "sk-test-0123456789abcdef";
const LIMIT: Duration = Duration::from_secs(60);

/// The models of each interface that the tests ask.
trait Asked {
    fn provider(self, base_url: &str, timeouts: Timeouts) -> Arc<dyn Provider>;

    fn at(self, server: &ModelServer) -> Arc<dyn Provider>;
}

impl Asked for Wire {
    fn provider(self, base_url: &str, timeouts: Timeouts) -> Arc<dyn Provider> {
        let (model, service) = match self {
            Self::Chat => ("openai/gpt-test", "OPENAI"),
            Self::Messages => ("anthropic/claude-test", "ANTHROPIC"),
            Self::Responses => ("openai/gpt-5-codex", "OPENAI"),
            Self::Gemini => ("gemini/gemini-3-test", "GEMINI"),
        };
        let environment = |name: &str| match name.strip_prefix(service)? {
            "_BASE_URL" => Some(base_url.to_owned()),
            "_API_KEY" => Some(KEY.to_owned()),
            _ => None,
        };
        let settings = ProviderSettings {
            timeouts,
            ..ProviderSettings::default()
        };
        select(Some(model), &environment, &settings).unwrap()
    }

    fn at(self, server: &ModelServer) -> Arc<dyn Provider> {
        self.provider(&server.url(), Timeouts::default())
    }
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

fn note(kind: &str, text: &str) -> Message {
    message(MessageBody::Note {
        kind: kind.into(),
        content: vec![Part::text(text)],
        display: true,
        details: None,
    })
}

fn result(id: &str, text: &str, is_error: bool) -> Message {
    message(MessageBody::Tool {
        tool_call_id: id.into(),
        tool_name: "t".into(),
        content: vec![Part::text(text)],
        is_error,
        details: None,
    })
}

fn body_with(provider: &dyn Provider, messages: &[Message], tools: &[ToolFace]) -> Json {
    let options = RequestOptions::default();
    let request = ModelRequest {
        system_prompt: "be brief",
        messages,
        tools,
        options: &options,
    };
    provider.body(&request).unwrap()
}

fn body(provider: &dyn Provider) -> Json {
    body_with(provider, &[user("hello")], &[])
}

/// Sends a body and reads everything: the parts, and the failure that ended them.
async fn exchange(provider: &dyn Provider, body: &Json) -> (Vec<AnswerPart>, Option<ProviderError>) {
    let exchange = async {
        let mut answering = match provider.send(body).await {
            Ok(answering) => answering,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut parts = Vec::new();
        while let Some(part) = answering.parts.next().await {
            match part {
                Ok(part) => parts.push(part),
                Err(error) => {
                    assert!(
                        answering.parts.next().await.is_none(),
                        "nothing follows a failure"
                    );
                    return (parts, Some(error));
                }
            }
        }
        (parts, None)
    };
    tokio::time::timeout(LIMIT, exchange)
        .await
        .expect("the answer ends")
}

async fn parts_of(provider: &dyn Provider, body: &Json) -> Vec<AnswerPart> {
    let (parts, error) = exchange(provider, body).await;
    assert_eq!(error, None);
    parts
}

async fn failure_of(provider: &dyn Provider) -> ProviderError {
    exchange(provider, &body(provider))
        .await
        .1
        .expect("the request fails")
}

/// An answer put together as the agent does it.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    text: String,
    thinking: String,
    signature: Option<String>,
    calls: Vec<ToolCall>,
    stop_reason: Option<StopReason>,
    usage: Usage,
    model: String,
}

fn assemble(parts: Vec<AnswerPart>) -> Answer {
    let mut answer = Answer::default();
    for part in parts {
        match part {
            AnswerPart::Sends(_) | AnswerPart::Begun(_) | AnswerPart::Data(_) => {
                panic!("these write what they are told")
            }
            AnswerPart::Delta(Delta::End) => panic!("an answer completes in one way"),
            AnswerPart::Delta(Delta::Text { text }) => answer.text.push_str(&text),
            AnswerPart::Delta(Delta::Thinking { text, signature }) => {
                answer.thinking.push_str(&text);
                answer.signature = signature.or(answer.signature.take());
            }
            AnswerPart::Delta(Delta::ToolCall { index, id, name }) => {
                assert_eq!(index, answer.calls.len());
                answer.calls.push(ToolCall {
                    id,
                    name,
                    arguments: String::new(),
                });
            }
            AnswerPart::Delta(Delta::Arguments { index, text }) => {
                answer.calls[index].arguments.push_str(&text)
            }
            AnswerPart::Completed {
                stop_reason,
                usage,
                model,
            } => {
                assert_eq!(answer.stop_reason, None, "an answer completes once");
                answer.stop_reason = Some(stop_reason);
                answer.usage = usage;
                answer.model = model;
            }
        }
    }
    answer
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    }
}

// Requests.

#[tokio::test]
async fn the_bytes_on_the_wire_are_the_bodys_and_the_key_is_only_in_a_header() {
    for wire in Wire::ALL {
        let server = ModelServer::start([
            Response::events(wire.text("ok")),
            Response::events(wire.text("ok")),
        ]);
        let provider = wire.at(&server);
        let own = body(provider.as_ref());
        // What a hook returned may be written in any way.
        let rewritten = Json::parse("{ \"z\" : 1.50,\n\t\"ünïcode\": [1e3, \"\\u00e4\"] }".into()).unwrap();
        for sent in [&own, &rewritten] {
            parts_of(provider.as_ref(), sent).await;
        }
        let requests = server.requests();
        assert_eq!(requests[0].body, own.text().as_bytes());
        assert_eq!(requests[1].body, rewritten.text().as_bytes());
        for request in requests {
            let (path, header, value) = match wire {
                Wire::Chat => ("/v1/chat/completions", "authorization", format!("Bearer {KEY}")),
                Wire::Messages => ("/v1/messages", "x-api-key", KEY.to_owned()),
                Wire::Responses => ("/v1/responses", "authorization", format!("Bearer {KEY}")),
                Wire::Gemini => (
                    "/v1beta/models/gemini-3-test:streamGenerateContent?alt=sse",
                    "x-goog-api-key",
                    KEY.to_owned(),
                ),
            };
            assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", path));
            assert_eq!(request.header(header), Some(value.as_str()));
            assert_eq!(request.header("content-type"), Some("application/json"));
            assert!(!request.text().contains(KEY));
            let holders = request
                .headers
                .iter()
                .filter(|(_, value)| value.contains(KEY))
                .count();
            assert_eq!(holders, 1);
            if wire == Wire::Messages {
                assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
            }
        }
    }
}

#[tokio::test]
async fn pictures_are_sent() {
    for wire in Wire::ALL {
        let server = ModelServer::start([Response::events(wire.text("a cat"))]);
        let provider = wire.at(&server);
        let picture = Part::Image {
            media_type: "image/png".into(),
            data: "iVBORw0=".into(),
        };
        let messages = [message(MessageBody::User {
            content: vec![Part::text("what is it?"), picture],
        })];
        parts_of(provider.as_ref(), &body_with(provider.as_ref(), &messages, &[])).await;
        let sent = server.only_request().json();
        match wire {
            Wire::Chat => assert_eq!(
                sent["messages"][1]["content"][1],
                json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}})
            ),
            Wire::Messages => assert_eq!(
                sent["messages"][0]["content"][1]["source"],
                json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0="})
            ),
            Wire::Responses => assert_eq!(
                sent["input"][0]["content"][1]["image_url"],
                "data:image/png;base64,iVBORw0="
            ),
            Wire::Gemini => assert_eq!(
                sent["contents"][0]["parts"][1]["inlineData"],
                json!({"mimeType": "image/png", "data": "iVBORw0="})
            ),
        }
    }
}

#[tokio::test]
async fn a_key_is_not_sent_where_there_is_none() {
    let server = ModelServer::start([Response::events(Wire::Chat.text("ok"))]);
    let url = server.url();
    let environment = |name: &str| (name == "OLLAMA_HOST").then(|| url.clone());
    let provider = select(
        Some("ollama/llama3.2"),
        &environment,
        &ProviderSettings::default(),
    )
    .unwrap();
    parts_of(provider.as_ref(), &body(provider.as_ref())).await;
    let request = server.only_request();
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.json()["model"], "llama3.2");
}

// Answers.

// tidy: a table
#[tokio::test]
async fn answers_of_chat_completions_are_read() {
    let text = OpenAiStream::new("gpt-test-2025")
        .text("Hel")
        .text("lo")
        .finish("stop");
    let calls = OpenAiStream::new("gpt-test-2025")
        .text("Looking.")
        .tool_call(0, "a", "read", &["{\"pa", "th\":\"x\"}"])
        .tool_call(1, "b", "list", &["{}"]);
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}, "cost": 0.25});
    let table: Vec<(String, Answer)> = vec![
        (
            text.clone().usage(7, 2).done(),
            Answer {
                text: "Hello".into(),
                stop_reason: Some(StopReason::Stop),
                usage: Usage {
                    input_tokens: 7,
                    output_tokens: 2,
                    ..Usage::default()
                },
                ..Answer::default()
            },
        ),
        (
            text.clone().done(),
            Answer {
                text: "Hello".into(),
                stop_reason: Some(StopReason::Stop),
                ..Answer::default()
            },
        ),
        (
            text.data(&json!({"choices": [], "usage": usage}).to_string())
                .done(),
            Answer {
                text: "Hello".into(),
                stop_reason: Some(StopReason::Stop),
                usage: Usage {
                    input_tokens: 10,
                    output_tokens: 5,
                    cache_read_tokens: 4,
                    cache_write_tokens: 0,
                    cost: Some(0.25),
                    ..Usage::default()
                },
                ..Answer::default()
            },
        ),
        (
            calls.finish("tool_calls").done(),
            Answer {
                text: "Looking.".into(),
                calls: vec![call("a", "read", r#"{"path":"x"}"#), call("b", "list", "{}")],
                stop_reason: Some(StopReason::ToolCalls),
                ..Answer::default()
            },
        ),
        (
            OpenAiStream::new("gpt-test-2025")
                .delta(json!({"reasoning_content": "hm"}))
                .delta(json!({"reasoning": "…", "content": null}))
                .text("ok")
                .finish("length")
                .done(),
            Answer {
                thinking: "hm…".into(),
                text: "ok".into(),
                stop_reason: Some(StopReason::Length),
                ..Answer::default()
            },
        ),
        (
            OpenAiStream::new("gpt-test-2025")
                .delta(json!({"refusal": "I will not."}))
                .finish("stop")
                .done(),
            Answer {
                text: "I will not.".into(),
                stop_reason: Some(StopReason::Refused),
                ..Answer::default()
            },
        ),
    ];
    for (stream, mut expected) in table {
        expected.model = "gpt-test-2025".into();
        let server = ModelServer::start([Response::events(stream)]);
        let provider = Wire::Chat.at(&server);
        assert_eq!(
            assemble(parts_of(provider.as_ref(), &body(provider.as_ref())).await),
            expected
        );
    }
}

/// Anthropic's signature as a message keeps it.
fn sealed(signature: &str) -> String {
    let marked = json!({"interface": "anthropic", "provider": "anthropic", "data": signature});
    marked.to_string()
}

// tidy: a table
#[tokio::test]
async fn answers_of_messages_are_read() {
    let begin = || AnthropicStream::new("claude-test-2025", 9);
    let usage = |output_tokens| Usage {
        input_tokens: 9,
        output_tokens,
        ..Usage::default()
    };
    let cached = json!({"type": "message_delta", "delta": {}, "usage": {"cache_read_input_tokens": 20, "cache_creation_input_tokens": 3}});
    let table: Vec<(String, Answer)> = vec![
        (
            begin()
                .event(json!({"type": "ping"}))
                .text(&["Hel", "lo"])
                .stop("end_turn", 3),
            Answer {
                text: "Hello".into(),
                stop_reason: Some(StopReason::Stop),
                usage: usage(3),
                ..Answer::default()
            },
        ),
        (
            begin()
                .thinking("hm", "seal")
                .text(&["Looking."])
                .event(json!({"type": "brand_new_event", "index": 1}))
                .tool_call("a", "read", &["", "{\"pa", "th\":\"x\"}"])
                .tool_call("b", "list", &[])
                .stop("tool_use", 30),
            Answer {
                thinking: "hm".into(),
                signature: Some(sealed("seal")),
                text: "Looking.".into(),
                calls: vec![call("a", "read", r#"{"path":"x"}"#), call("b", "list", "{}")],
                stop_reason: Some(StopReason::ToolCalls),
                usage: usage(30),
                ..Answer::default()
            },
        ),
        (
            begin()
                .block(json!({"type": "redacted_thinking", "data": "xyz"}), [])
                .block(
                    json!({"type": "server_tool_use", "id": "s", "name": "web", "input": {}}),
                    [],
                )
                .event(cached)
                .stop("max_tokens", 8),
            Answer {
                signature: Some(sealed("redacted:xyz")),
                stop_reason: Some(StopReason::Length),
                usage: Usage {
                    input_tokens: 32,
                    output_tokens: 8,
                    cache_read_tokens: 20,
                    cache_write_tokens: 3,
                    ..Usage::default()
                },
                ..Answer::default()
            },
        ),
        (
            begin().text(&["no"]).stop("refusal", 1),
            Answer {
                text: "no".into(),
                stop_reason: Some(StopReason::Refused),
                usage: usage(1),
                ..Answer::default()
            },
        ),
    ];
    for (stream, mut expected) in table {
        expected.model = "claude-test-2025".into();
        let server = ModelServer::start([Response::events(stream)]);
        let provider = Wire::Messages.at(&server);
        assert_eq!(
            assemble(parts_of(provider.as_ref(), &body(provider.as_ref())).await),
            expected
        );
    }
}

#[tokio::test]
async fn answers_that_are_not_streamed_are_read_too() {
    let completion = json!({"model": "served", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "ok",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "x", "arguments": "{\"k\":1}"}}]
    }}], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let answer = json!({"type": "message", "model": "served", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "ok"}, {"type": "tool_use", "id": "a", "name": "x", "input": {"k": 1}}
    ], "usage": {"input_tokens": 1, "output_tokens": 2}});
    for (wire, document) in [(Wire::Chat, completion), (Wire::Messages, answer)] {
        let server = ModelServer::start([Response::json(200, &document)]);
        let provider = wire.at(&server);
        let expected = Answer {
            text: "ok".into(),
            calls: vec![call("a", "x", r#"{"k":1}"#)],
            stop_reason: Some(StopReason::ToolCalls),
            usage: Usage {
                input_tokens: 1,
                output_tokens: 2,
                ..Usage::default()
            },
            model: "served".into(),
            ..Answer::default()
        };
        assert_eq!(
            assemble(parts_of(provider.as_ref(), &body(provider.as_ref())).await),
            expected
        );
    }
}

#[tokio::test]
async fn bytes_in_any_pieces_with_any_line_ends_are_read() {
    for wire in Wire::ALL {
        let stream = format!("\u{feff}: OPENROUTER PROCESSING\n\n{}", wire.text("Grüße 🦀"));
        let stream = stream.replace('\n', "\r\n").replace("data: ", "data:");
        let server = ModelServer::start([Response::event_pieces(stream.bytes().map(|byte| [byte]))]);
        let provider = wire.at(&server);
        assert_eq!(
            assemble(parts_of(provider.as_ref(), &body(provider.as_ref())).await).text,
            "Grüße 🦀"
        );
    }
}

#[tokio::test]
async fn headers_are_passed_on_without_cookies_and_keys() {
    for wire in Wire::ALL {
        let response = Response::events(wire.text("ok"))
            .header("X-Request-Id", "r1")
            .header("Set-Cookie", "session=1")
            .header("x-echo", &format!("key {KEY}"));
        let server = ModelServer::start([response]);
        let provider = wire.at(&server);
        let answering = provider.send(&body(provider.as_ref())).await.unwrap();
        let begun = answering.begun.unwrap();
        assert_eq!(begun.status, 200);
        let value = |name: &str| {
            begun
                .headers
                .iter()
                .find(|header| header.name == name)
                .map(|header| &header.value)
        };
        assert_eq!(value("x-request-id").unwrap(), "r1");
        assert_eq!(value("set-cookie"), None);
        assert_eq!(value("x-echo").unwrap(), "key ***");
    }
}

// Failures.

#[tokio::test]
async fn refusals_are_classified_and_never_show_the_key() {
    use ProviderErrorKind::{ContextTooLong, Key, RateLimited, Rejected, Transient};
    let error = |kind: &str, words: &str| json!({"type": "error", "error": {"type": kind, "message": words, "code": kind}});
    let quoting = format!("Incorrect API key provided: {KEY}");
    let table = [
        (401, error("authentication_error", &quoting), Key),
        (403, error("permission_error", "no"), Key),
        (429, error("rate_limit_error", "slow down"), RateLimited),
        (500, error("api_error", "oops"), Transient),
        (529, error("overloaded_error", "Overloaded"), Transient),
        (400, error("context_length_exceeded", "too many"), ContextTooLong),
        (
            400,
            error(
                "invalid_request_error",
                "prompt is too long: 3 tokens > 2 maximum",
            ),
            ContextTooLong,
        ),
        (400, error("invalid_request_error", "tools.0: bad"), Rejected),
        (404, error("not_found_error", "model: nope"), Rejected),
        (307, json!({}), Rejected),
    ];
    for wire in Wire::ALL {
        for (status, document, kind) in &table {
            let response = Response::json(*status, document)
                .header("retry-after", "3")
                .header("location", "/elsewhere");
            let server = ModelServer::start([response]);
            let error = failure_of(wire.at(&server).as_ref()).await;
            assert_eq!(error.kind, *kind, "{status} {document}");
            assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
            let text = format!("{error} {error:?}");
            assert!(!text.contains(KEY), "{text}");
            assert!(
                text.contains(&server.url()) && text.contains(&status.to_string()),
                "{text}"
            );
            assert_eq!(server.requests().len(), 1, "neither retries nor redirects happen");
        }
    }
}

#[tokio::test]
async fn credentials_in_the_address_stay_out_of_messages() {
    for wire in Wire::ALL {
        let server = ModelServer::start([Response::json(400, &json!({"error": "no"}))]);
        let url = format!(
            "{}/base?secret=q-5678",
            server.url().replace("http://", "http://me:pw-1234@")
        );
        let error = failure_of(wire.provider(&url, Timeouts::default()).as_ref()).await;
        for hidden in ["me:", "pw-1234", "q-5678", KEY] {
            assert!(!error.message.contains(hidden), "{error}");
        }
        assert!(server.only_request().path.contains("?secret=q-5678"));
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_broken_once_content_arrived() {
    for wire in Wire::ALL {
        for ending in [Ending::Cut, Ending::Complete] {
            let table = [
                (wire.half_text("Hel"), ProviderErrorKind::Broken, 1),
                (wire.prelude(), ProviderErrorKind::Transient, 0),
                (String::new(), ProviderErrorKind::Transient, 0),
            ];
            for (stream, kind, count) in table {
                let server = ModelServer::start([Response::events(stream.clone()).ending(ending)]);
                let provider = wire.at(&server);
                let (parts, error) = exchange(provider.as_ref(), &body(provider.as_ref())).await;
                assert_eq!(
                    error.map(|error| error.kind),
                    Some(kind),
                    "{wire:?} {ending:?} {stream}"
                );
                assert_eq!(parts.len(), count);
            }
        }
    }
}

#[tokio::test]
async fn tool_calls_of_a_broken_stream_never_complete() {
    let streams = [
        (
            Wire::Chat,
            OpenAiStream::new("m")
                .tool_call(0, "a", "shell", &["{\"command\":\"ls\"}"])
                .unfinished(),
        ),
        (
            Wire::Messages,
            AnthropicStream::new("m", 1)
                .tool_call("a", "shell", &["{\"command\":\"ls\"}"])
                .unfinished(),
        ),
    ];
    for (wire, stream) in streams {
        let server = ModelServer::start([Response::events(stream).ending(Ending::Cut)]);
        let provider = wire.at(&server);
        let (parts, error) = exchange(provider.as_ref(), &body(provider.as_ref())).await;
        assert_eq!(error.unwrap().kind, ProviderErrorKind::Broken);
        assert!(
            !parts
                .iter()
                .any(|part| matches!(part, AnswerPart::Completed { .. }))
        );
    }
}

#[tokio::test]
async fn failures_inside_a_stream_are_reported() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let too_long =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}});
    for wire in Wire::ALL {
        let table = [
            (wire.prelude(), &overloaded, ProviderErrorKind::Transient),
            (wire.half_text("Hel"), &overloaded, ProviderErrorKind::Broken),
            (wire.prelude(), &too_long, ProviderErrorKind::ContextTooLong),
        ];
        for (stream, error, kind) in table {
            let server = ModelServer::start([Response::events(format!("{stream}data: {error}\n\n"))]);
            let found = failure_of(wire.at(&server).as_ref()).await;
            assert_eq!(found.kind, kind, "{found}");
            assert!(
                found
                    .message
                    .contains(error["error"]["message"].as_str().unwrap()),
                "{found}"
            );
        }
    }
}

#[tokio::test]
async fn nonsense_and_web_pages_are_no_answers() {
    for wire in Wire::ALL {
        let server = ModelServer::start([
            Response::events("data: {not json\n\n"),
            Response::new(200, "text/html; charset=utf-8", "<html>Welcome</html>"),
            Response::events(b"data: \xff\xfe\n\n".to_vec()),
        ]);
        let provider = wire.at(&server);
        assert_eq!(
            failure_of(provider.as_ref()).await.kind,
            ProviderErrorKind::Broken
        );
        assert_eq!(
            failure_of(provider.as_ref()).await.kind,
            ProviderErrorKind::Rejected
        );
        assert_eq!(
            failure_of(provider.as_ref()).await.kind,
            ProviderErrorKind::Broken
        );
    }
}

#[tokio::test]
async fn silence_ends_at_the_idle_timeout() {
    // A busy machine needs a while to send what comes before the silence, so all are silent at the same time.
    let timeouts = Timeouts {
        idle: Some(Duration::from_secs(4)),
        ..Timeouts::default()
    };
    let silences = Wire::ALL.into_iter().flat_map(|wire| {
        [
            (
                wire,
                Response::events(wire.half_text("Hel")).ending(Ending::Hang),
                ProviderErrorKind::Broken,
            ),
            (
                wire,
                Response::events(wire.prelude()).ending(Ending::Hang),
                ProviderErrorKind::Transient,
            ),
            (
                wire,
                Response::events(wire.text("late")).after(Duration::from_secs(100)),
                ProviderErrorKind::Silent,
            ),
        ]
    });
    let begin = Instant::now();
    let ended = silences.map(async |(wire, response, kind)| {
        let server = ModelServer::start([response]);
        let provider = wire.provider(&server.url(), timeouts);
        assert_eq!(failure_of(provider.as_ref()).await.kind, kind);
    });
    futures_util::future::join_all(ended).await;
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn a_slow_answer_is_not_an_idle_one() {
    let timeouts = Timeouts {
        idle: Some(Duration::from_secs(30)),
        ..Timeouts::default()
    };
    for wire in Wire::ALL {
        let stream = wire.text("slow");
        let (one, two) = stream.split_at(stream.len() / 2);
        let server = ModelServer::start([Response::events(one).late_piece(Duration::from_millis(50), two)]);
        let provider = wire.provider(&server.url(), timeouts);
        assert_eq!(
            assemble(parts_of(provider.as_ref(), &body(provider.as_ref())).await).text,
            "slow"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_worth_another_try() {
    // Not a port that was free a moment ago: another test may have it by now.
    let address = "http://127.0.0.1:1";
    for wire in Wire::ALL {
        let error = failure_of(wire.provider(address, Timeouts::default()).as_ref()).await;
        assert_eq!(error.kind, ProviderErrorKind::Transient);
        assert!(
            error.message.contains(address) && error.message.contains("127.0.0.1:1 was refused"),
            "{error}"
        );
        assert!(!format!("{error:?}").contains(KEY));
    }
}

#[tokio::test]
async fn an_address_with_https_is_tried_with_encryption() {
    let server = ModelServer::start([]);
    let url = server.url().replace("http://", "https://");
    let timeouts = Timeouts {
        connect: Duration::from_millis(500),
        ..Timeouts::default()
    };
    for wire in Wire::ALL {
        let error = failure_of(wire.provider(&url, timeouts).as_ref()).await;
        // Where the machine has no certificates the client cannot be made at all.
        assert!(
            matches!(
                error.kind,
                ProviderErrorKind::Transient | ProviderErrorKind::Rejected
            ),
            "{error}"
        );
        assert!(error.message.contains(&url), "{error}");
    }
    assert_eq!(server.requests(), []);
}

// The choice of a provider by name.

type Variables<'a> = &'a [(&'a str, &'a str)];

fn environment_of<'a>(variables: Variables<'a>) -> impl Fn(&str) -> Option<String> + 'a {
    |name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    }
}

#[test]
fn models_and_variables_decide_for_a_provider() {
    let openai = ("OPENAI_API_KEY", KEY);
    let anthropic = ("ANTHROPIC_API_KEY", KEY);
    let openrouter = ("OPENROUTER_API_KEY", KEY);
    let gemini = ("GEMINI_API_KEY", KEY);
    let google = ("GOOGLE_API_KEY", KEY);
    let local = ("OPENAI_BASE_URL", "http://localhost:8000/v1");
    let table: &[(Option<&str>, Variables<'_>, &str)] = &[
        (None, &[], "rehearsal/rehearsal"),
        (None, &[("OPENAI_API_KEY", "")], "rehearsal/rehearsal"),
        (None, &[("OLLAMA_HOST", "box")], "rehearsal/rehearsal"),
        (None, &[anthropic, openai], "openai/gpt-4.1"),
        (None, &[anthropic], "anthropic/claude-sonnet-4-5"),
        (None, &[openrouter], "openrouter/openrouter/auto"),
        (None, &[gemini, openrouter], "openrouter/openrouter/auto"),
        (None, &[gemini], "gemini/gemini-3.5-flash"),
        (None, &[google], "gemini/gemini-3.5-flash"),
        (Some("gemini-2.5-pro"), &[google], "gemini/gemini-2.5-pro"),
        (Some("codex-mini-latest"), &[openai], "openai/codex-mini-latest"),
        (Some(" "), &[], "rehearsal/rehearsal"),
        (Some("rehearsal"), &[openai], "rehearsal/rehearsal"),
        (Some("openai/gpt-4o"), &[openai], "openai/gpt-4o"),
        (Some("openai"), &[openai], "openai/gpt-4.1"),
        (Some("openai/qwen3"), &[local], "openai/qwen3"),
        (Some("gpt-4o"), &[openai], "openai/gpt-4o"),
        (Some("claude-opus-4-1"), &[anthropic], "anthropic/claude-opus-4-1"),
        (
            Some("openrouter/meta-llama/llama-3:free"),
            &[openrouter],
            "openrouter/meta-llama/llama-3:free",
        ),
        (Some("ollama/llama3.2"), &[], "ollama/llama3.2"),
    ];
    for (model, variables, expected) in table {
        let provider = select(*model, &environment_of(variables), &ProviderSettings::default());
        let provider = provider.unwrap_or_else(|error| panic!("{model:?} {variables:?}: {error}"));
        assert_eq!(
            format!("{}/{}", provider.name(), provider.model()),
            *expected,
            "{model:?} {variables:?}"
        );
    }
}

#[test]
fn names_that_cannot_be_served_say_what_to_try() {
    let table: &[(&str, Variables<'_>, &str)] = &[
        ("openai/gpt-4o", &[], "Set OPENAI_API_KEY"),
        (
            "anthropic/claude",
            &[("OPENAI_API_KEY", KEY)],
            "Set ANTHROPIC_API_KEY",
        ),
        ("openrouter/x/y", &[], "Set OPENROUTER_API_KEY"),
        ("gemini-3.5-flash", &[], "Set GEMINI_API_KEY"),
        ("opnai/gpt-4o", &[], "Did you mean openai?"),
        ("meta-llama/llama-3", &[], "openrouter/meta-llama/llama-3"),
        ("llama3.2", &[], "ollama/llama3.2"),
        ("ollama", &[], "ollama/NAME"),
        ("ollama/", &[], "ollama/NAME"),
        ("scripted", &[], "scripted/FILE"),
        ("scripted/no/such/file.toml", &[], "no/such/file.toml"),
        (
            "openai/x",
            &[("OPENAI_BASE_URL", "localhost:8000")],
            "OPENAI_BASE_URL",
        ),
        (
            "openai/x",
            &[("OPENAI_BASE_URL", "file:///etc/passwd")],
            "http://",
        ),
        (
            "anthropic/x",
            &[("ANTHROPIC_BASE_URL", "not an address")],
            "ANTHROPIC_BASE_URL",
        ),
    ];
    for (model, variables, hint) in table {
        let error = select(
            Some(model),
            &environment_of(variables),
            &ProviderSettings::default(),
        )
        .err();
        let error = error
            .unwrap_or_else(|| panic!("{model} is not served"))
            .to_string();
        assert!(error.contains(hint), "{model}: {error}");
        assert!(!error.contains(KEY));
    }
}

#[test]
fn a_model_is_asked_by_the_interface_that_it_needs() {
    let own = |api| {
        let text = format!("api = '{api}'\nbase_url = 'http://gateway/v1'");
        ("own".to_owned(), toml_entry(&text).unwrap())
    };
    let forced = ("openai".to_owned(), toml_entry("api = 'openai'").unwrap());
    let table = [
        ("openai", "gpt-4.1", None, Api::OpenAi),
        ("openai", "gpt-5.1-codex", None, Api::Responses),
        ("openai", "o3-pro", None, Api::Responses),
        ("openai", "gpt-5.4", None, Api::Responses),
        ("openai", "gpt-5.4", Some(forced), Api::OpenAi),
        // A gateway decides itself which of OpenAI's models it serves how.
        ("openrouter", "openai/gpt-5.1-codex", None, Api::OpenAi),
        ("own", "gpt-5.1-codex", Some(own("openai")), Api::OpenAi),
        ("own", "anything", Some(own("responses")), Api::Responses),
        ("own", "anything", Some(own("gemini")), Api::Gemini),
        ("anthropic", "claude-opus-5", None, Api::Anthropic),
        ("gemini", "gemini-2.5-pro", None, Api::Gemini),
    ];
    for (provider, model, entry, expected) in table {
        let settings = ProviderSettings {
            providers: entry.into_iter().collect(),
            ..ProviderSettings::default()
        };
        assert_eq!(api(provider, model, &settings), expected, "{provider}/{model}");
    }
}

#[test]
fn the_key_of_gemini_may_have_googles_name() {
    let (first, second) = (("GEMINI_API_KEY", KEY), ("GOOGLE_API_KEY", KEY));
    let table: [(Variables<'_>, Option<&str>, &str); 3] = [
        (&[first, second], Some("GEMINI_API_KEY"), "GEMINI_API_KEY"),
        (&[second], Some("GOOGLE_API_KEY"), "GOOGLE_API_KEY"),
        (&[], None, "GEMINI_API_KEY"),
    ];
    for (variables, key, variable) in table {
        let found = origins("gemini", &environment_of(variables), &ProviderSettings::default());
        assert_eq!(found.key.as_deref(), key);
        assert_eq!(found.key_variable.as_deref(), Some(variable));
    }
}

#[test]
fn the_configuration_goes_before_the_environment() {
    let entry = |text: &str| -> ProviderEntry { toml_entry(text).unwrap() };
    let providers = BTreeMap::from([
        (
            "work".to_owned(),
            entry("base_url = 'http://me:pw-1234@gateway/v1'\nkey_variable = 'WORK_KEY'\nmodel = 'big'"),
        ),
        (
            "sealed".to_owned(),
            entry("api = 'anthropic'\nbase_url = 'http://gateway'\nkey = 'sk-configured-key'"),
        ),
        ("openai".to_owned(), entry("key_variable = 'OTHER_KEY'")),
        ("empty".to_owned(), ProviderEntry::default()),
    ]);
    let settings = ProviderSettings {
        model: Some("work".to_owned()),
        providers,
        ..ProviderSettings::default()
    };
    let variables = [("OTHER_KEY", KEY)];
    let choose = |model| select(model, &environment_of(&variables), &settings);
    let provider = choose(None).unwrap();
    assert_eq!((provider.name(), provider.model()), ("work", "big"));
    let provider = choose(Some("openai/gpt-4o")).unwrap();
    assert_eq!((provider.name(), provider.model()), ("openai", "gpt-4o"));
    let provider = choose(Some("sealed/claude")).unwrap();
    assert!(
        body(provider.as_ref()).to_value().get("max_tokens").is_some(),
        "it speaks Anthropic's words"
    );
    assert!(matches!(choose(Some("empty/x")), Err(SelectError::BadAddress(_))));
    let shown = format!("{settings:?}");
    assert!(
        shown.contains("http://gateway") && shown.contains("WORK_KEY"),
        "{shown}"
    );
    assert!(
        !shown.contains("sk-configured-key") && !shown.contains("pw-1234"),
        "{shown}"
    );
    for name in KEY_VARIABLES.iter().chain(&["WORK_KEY", "OTHER_KEY"]) {
        assert!(key_variables(&settings).contains(&(*name).to_owned()), "{name}");
    }
    assert!(toml_entry("bse_url = 'x'").is_err());
    assert_eq!(entry("api = 'anthropic'").api, Some(Api::Anthropic));
    assert_eq!(format!("{:?}", Secret::new(KEY)), "***");
}

fn toml_entry(text: &str) -> Result<ProviderEntry, toml::de::Error> {
    toml::from_str(text)
}

// The rehearsal.

fn face(name: &str, operation: Option<OperationKind>, parameters: impl Into<Schema>) -> ToolFace {
    ToolFace {
        name: name.into(),
        description: "d".into(),
        parameters: parameters.into(),
        operation,
    }
}

/// The faces of becket's own tools.
fn own_tools() -> Vec<ToolFace> {
    let kinds = [
        OperationKind::Shell,
        OperationKind::Read,
        OperationKind::Write,
        OperationKind::Fetch,
    ];
    kinds
        .iter()
        .map(|kind| face(kind.name(), Some(*kind), kind.schema()))
        .collect()
}

/// Runs the rehearsal as the agent would: every call gets a result from `run`, until it has given its final answer.
async fn rehearse(
    conversation: &mut Vec<Message>,
    tools: &[ToolFace],
    run: impl Fn(&ToolCall) -> (String, bool),
) -> (Vec<ToolCall>, String) {
    let provider = Rehearsal::new();
    let mut calls = Vec::new();
    for _ in 0..20 {
        let parts = parts_of(&provider, &body_with(&provider, conversation, tools)).await;
        assert!(parts.len() > 2, "it streams in several pieces");
        let answer = assemble(parts);
        conversation.push(message(MessageBody::Assistant {
            content: vec![Part::text(answer.text.clone())],
            tool_calls: answer.calls.clone(),
            model: answer.model,
            stop_reason: answer.stop_reason.unwrap(),
            usage: answer.usage,
            error: None,
        }));
        match answer.calls.as_slice() {
            [] => {
                assert_eq!(answer.stop_reason, Some(StopReason::Stop));
                assert!(
                    answer.text.contains("rehearsal") && answer.text.contains("OPENAI_API_KEY"),
                    "{}",
                    answer.text
                );
                return (calls, answer.text);
            }
            [call] => {
                assert_eq!(answer.stop_reason, Some(StopReason::ToolCalls));
                let (text, is_error) = run(call);
                conversation.push(result(&call.id, &text, is_error));
                calls.push(call.clone());
            }
            more => panic!("one call per round, not {more:?}"),
        }
    }
    panic!("the rehearsal goes on for ever");
}

fn names_and_arguments(calls: &[ToolCall]) -> Vec<(String, Value)> {
    calls
        .iter()
        .map(|call| (call.name.clone(), serde_json::from_str(&call.arguments).unwrap()))
        .collect()
}

#[tokio::test]
async fn the_rehearsal_follows_instructions_one_by_one() {
    let text = "List files in current dir\nRead a.txt then Write b.txt: hello\nRun: rm -rf build\nFetch http://x.test/";
    let mut conversation = vec![user(text)];
    let (calls, words) = rehearse(&mut conversation, &own_tools(), |call| match call.name.as_str() {
        "shell" if call.arguments.contains("rm") => ("refused by guard: no deleting".into(), true),
        name => (format!("output of {name}"), false),
    })
    .await;
    let expected = vec![
        ("shell".to_owned(), json!({"command": "ls"})),
        ("read".to_owned(), json!({"path": "a.txt"})),
        ("write".to_owned(), json!({"path": "b.txt", "content": "hello"})),
        ("shell".to_owned(), json!({"command": "rm -rf build"})),
        ("fetch".to_owned(), json!({"url": "http://x.test/"})),
    ];
    assert_eq!(names_and_arguments(&calls), expected);
    assert!(
        words.contains("Run `rm -rf build`: refused or failed.\nrefused by guard: no deleting"),
        "{words}"
    );
    assert!(
        words.contains("Fetch `http://x.test/`: done.\noutput of fetch"),
        "{words}"
    );

    let mut ids: Vec<_> = calls.iter().map(|call| call.id.clone()).collect();
    conversation.push(user("Run: pwd"));
    let (calls, words) = rehearse(&mut conversation, &own_tools(), |_| ("/work".into(), false)).await;
    assert_eq!(
        names_and_arguments(&calls),
        [("shell".to_owned(), json!({"command": "pwd"}))]
    );
    assert!(!words.contains("rm -rf"), "{words}");
    ids.extend(calls.into_iter().map(|call| call.id));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids differ over the whole conversation");
}

#[tokio::test]
async fn the_rehearsal_uses_tools_by_what_they_do() {
    let profile = [
        face(
            "shell",
            None,
            json!({"properties": {"command": {"type": "string"}}}),
        ),
        face(
            "bash",
            Some(OperationKind::Shell),
            json!({"properties": {"cmd": {"type": "string"}}}),
        ),
        face(
            "fetch",
            Some(OperationKind::Fetch),
            json!({"properties": {"urls": {"type": "array"}}}),
        ),
        face(
            "read",
            Some(OperationKind::Read),
            json!({"properties": {"odd": {"type": "string"}}}),
        ),
    ];
    let mut conversation = vec![user(
        "Run: ls\nFetch http://x.test/\nRead a\nWrite b: c\nRun: pwd",
    )];
    let (calls, words) = rehearse(&mut conversation, &profile, |_| ("ok".into(), false)).await;
    let expected = [
        ("bash".to_owned(), json!({"cmd": "ls"})),
        ("fetch".to_owned(), json!({"urls": ["http://x.test/"]})),
        ("bash".to_owned(), json!({"cmd": "pwd"})),
    ];
    assert_eq!(names_and_arguments(&calls), expected);
    assert!(
        words.contains("Read `a`: not done, no tool for `read` is offered."),
        "{words}"
    );
    assert!(
        words.contains("Write `b`: not done, no tool for `write` is offered."),
        "{words}"
    );
}

#[tokio::test]
async fn the_rehearsal_echoes_and_is_not_led_astray_by_notes() {
    let (calls, words) = rehearse(
        &mut vec![user("What is a becket?")],
        &own_tools(),
        |_| unreachable!(),
    )
    .await;
    assert_eq!(calls, []);
    assert!(words.starts_with("You said: What is a becket?\n"), "{words}");

    let mut conversation = vec![user("Run: ls"), note("hook", "Remember to be polite.")];
    assert_eq!(
        rehearse(&mut conversation, &own_tools(), |_| ("ok".into(), false))
            .await
            .0
            .len(),
        1
    );
    conversation.push(user("hello"));
    conversation.push(note("steering", "Run: pwd"));
    let (calls, _) = rehearse(&mut conversation, &own_tools(), |_| ("ok".into(), false)).await;
    assert_eq!(
        names_and_arguments(&calls),
        [("shell".to_owned(), json!({"command": "pwd"}))]
    );
}

#[tokio::test]
async fn the_rehearsal_obeys_what_a_hook_made_of_the_request() {
    let provider = Rehearsal::new();
    let original = body_with(&provider, &[user("Run: rm -rf build")], &own_tools());
    let rewritten = original.text().replace("rm -rf build", "echo kept");
    let parts = parts_of(&provider, &Json::parse(rewritten).unwrap()).await;
    assert_eq!(
        assemble(parts.clone()).calls[0].arguments,
        r#"{"command":"echo kept"}"#
    );
    assert_eq!(
        parts,
        parts_of(
            &provider,
            &Json::parse(original.text().replace("rm -rf build", "echo kept")).unwrap()
        )
        .await
    );

    let mut value = original.to_value();
    value["tools"] = json!([{"odd": true}]);
    let words = assemble(parts_of(&provider, &value.into()).await).text;
    assert!(words.contains("no tool for `shell` is offered"), "{words}");

    let (_, error) = exchange(&provider, &Json::parse("[]".into()).unwrap()).await;
    assert_eq!(error.unwrap().kind, ProviderErrorKind::Rejected);
}

#[tokio::test]
async fn long_results_are_cut_in_the_final_words() {
    let mut conversation = vec![user("Run: yes")];
    let (_, words) = rehearse(&mut conversation, &own_tools(), |_| ("y\n".repeat(1000), false)).await;
    assert!(words.contains("… and 960 more lines"), "{words}");
}

// The scripted model.

const SCRIPT: &str = r#"
model = "demo"

[[turns]]
expect = ["hello", "be brief"]
thinking = "hm"
text = "Let me look."
tool_calls = [{ name = "read", arguments = { path = "a.txt" } }, { name = "list", id = "own", arguments = "{broken" }, { name = "x" }]
chunk_size = 4

[[turns]]
delay_ms = 5
chunk_delay_ms = 1
text = "Done."
stop_reason = "length"
usage = { input_tokens = 3, output_tokens = 4, cost = 0.5 }

[[turns]]
error = { kind = "transient", message = "busy", retry_after_ms = 20 }

[[turns]]
text = "Hel"
error = { kind = "broken" }
"#;

#[tokio::test]
async fn a_script_answers_turn_by_turn() {
    let provider = Scripted::parse(Path::new("demo.toml"), SCRIPT).unwrap();
    assert_eq!((provider.name(), provider.model()), ("scripted", "demo"));
    let request = body(&provider);
    let parts = parts_of(&provider, &request).await;
    assert_eq!(parts[1], AnswerPart::Delta(Delta::Text { text: "Let ".into() }));
    let answer = assemble(parts);
    assert_eq!(
        (answer.thinking.as_str(), answer.text.as_str()),
        ("hm", "Let me look.")
    );
    let calls = [
        call("scripted_1_0", "read", r#"{"path":"a.txt"}"#),
        call("own", "list", "{broken"),
        call("scripted_1_2", "x", "{}"),
    ];
    assert_eq!(answer.calls, calls);
    assert_eq!(answer.stop_reason, Some(StopReason::ToolCalls));

    let answer = assemble(parts_of(&provider, &request).await);
    assert_eq!(
        (answer.text.as_str(), answer.stop_reason),
        ("Done.", Some(StopReason::Length))
    );
    assert_eq!(
        answer.usage,
        Usage {
            input_tokens: 3,
            output_tokens: 4,
            cost: Some(0.5),
            ..Usage::default()
        }
    );

    let error = failure_of(&provider).await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ProviderErrorKind::Transient, "busy")
    );
    assert_eq!(error.retry_after, Some(Duration::from_millis(20)));

    let (parts, error) = exchange(&provider, &request).await;
    assert_eq!(parts, [AnswerPart::Delta(Delta::Text { text: "Hel".into() })]);
    assert_eq!(error.unwrap().kind, ProviderErrorKind::Broken);

    let error = failure_of(&provider).await;
    assert_eq!(error.kind, ProviderErrorKind::Rejected);
    assert!(
        error.message.contains("demo.toml") && error.message.contains("request 5"),
        "{error}"
    );
}

#[tokio::test]
async fn a_script_says_which_turn_expected_something_else() {
    let text = r#"[{"text": "one"}, {"text": "two", "expect": ["goodbye"]}]"#;
    let provider = Scripted::parse(Path::new("x.json"), text).unwrap();
    parts_of(&provider, &body(&provider)).await;
    let error = failure_of(&provider).await;
    assert_eq!(error.kind, ProviderErrorKind::Rejected);
    assert!(
        error.message.contains("turn 2") && error.message.contains("\"goodbye\""),
        "{error}"
    );
}

#[test]
fn a_wrong_script_is_refused_with_its_line() {
    let table = [
        ("a.toml", "model = 'x'\n[[turns]]\ntxt = 'a'\n", "line 3"),
        (
            "a.toml",
            "[[turns]]\ntext = 'a'\ntool_calls = [{ nme = 'x' }]\n",
            "line 3",
        ),
        ("a.toml", "[[turns]]\nerror = { kind = 'bad' }\n", "line 2"),
        ("a.toml", "[[turns]\n", "line 1"),
        ("a.json", "[\n{\"txt\": 1}]", "line 2"),
        ("a.json", "{\"turns\": [\n\n{\"text\": 1}]}", "line 3"),
        ("a.json", "{", "line 1"),
        ("a.toml", "", "no turns"),
        ("a.toml", "[[turns]]\ndelay_ms = 99999999\n", "turn 1"),
        ("a.toml", "[[turns]]\nchunk_size = 0\n", "turn 1"),
    ];
    for (path, text, hint) in table {
        let error = Scripted::parse(Path::new(path), text).unwrap_err().to_string();
        assert!(error.contains(hint) && error.contains(path), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_script_is_chosen_by_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.toml");
    std::fs::write(&path, "[[turn]]\ntext = 'hi'\n").unwrap();
    let name = format!("scripted/{}", path.display());
    let provider = select(Some(&name), &|_| None, &ProviderSettings::default()).unwrap();
    assert_eq!((provider.name(), provider.model()), ("scripted", "talk"));
    assert_eq!(
        assemble(parts_of(provider.as_ref(), &body(provider.as_ref())).await).text,
        "hi"
    );
}

#[test]
fn the_guides_examples_are_scripts() {
    let guide = include_str!("../../../../docs/guide/scripted-models.md");
    let mut scripts = 0;
    for block in guide.split("```").skip(1).step_by(2) {
        let Some((language @ ("toml" | "json"), text)) = block.split_once('\n') else {
            continue;
        };
        let path = format!("guide.{language}");
        Scripted::parse(Path::new(&path), text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        scripts += 1;
    }
    assert_eq!(scripts, 3);
}

#[test]
fn a_script_that_is_nested_without_end_is_refused() {
    for (name, text) in [
        ("a.toml", format!("turns = {}", "[".repeat(300_000))),
        ("a.json", "[".repeat(300_000)),
    ] {
        let Err(error) = Scripted::parse(Path::new(name), &text) else {
            panic!("{name} is nested too deep");
        };
        assert!(error.to_string().contains("cannot be used"), "{error}");
    }
}
