//! Writes a request in the format of chat completions.
//!
//! Every message keeps its own piece of the body (`Message::wire`), so a long conversation is joined by copying.

use std::borrow::Cow;

use becket_agent::provider::{ANSWER_SCHEMA_NAME, ModelRequest, RequestOptions, ToolFace};
use becket_events::{Json, Message, MessageBody, MessageRecord, Part, ToolCall, lines_of, text_of};
use serde::Serialize;
use serde_json::{Value, json};

use super::effort::effort;
use crate::conversation::{data_url, object_text, push_json, to_json};

/// The variant of the format, where servers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyStyle {
    /// OpenAI's own servers: `max_completion_tokens`.
    OpenAi,
    /// Servers that speak the same interface: `max_tokens`.
    Compatible,
    /// Models without a network. Notes carry their kind, failed results are marked, tools name their operation.
    Embedded,
}

/// The request as JSON text.
pub(crate) fn write_body(model: &str, request: &ModelRequest<'_>, style: BodyStyle) -> Json {
    let mut body = String::from(r#"{"model":"#);
    push_json(&mut body, model);
    body.push_str(r#","messages":["#);
    push_messages(&mut body, request, style);
    body.push(']');
    push_tools(&mut body, request.tools, style);
    push_options(&mut body, request.options, !request.tools.is_empty(), style);
    if let Some(effort) = request.options.thinking.and_then(|level| effort(model, level)) {
        body.push_str(r#","reasoning_effort":"#);
        push_json(&mut body, effort);
    }
    body.push_str(r#","stream":true,"stream_options":{"include_usage":true}}"#);
    Json::joined(body)
}

fn push_messages(body: &mut String, request: &ModelRequest<'_>, style: BodyStyle) {
    let mut separator = "";
    let mut push = |text: &str| {
        body.push_str(separator);
        body.push_str(text);
        separator = ",";
    };
    if !request.system_prompt.is_empty() {
        push(&to_json(&PlainMessage::new("system", request.system_prompt)));
    }
    // Pictures from tools wait until all results of an answer are written: nothing may come between these.
    let mut pictures: Vec<&Message> = Vec::new();
    for message in request.messages {
        if !matches!(message.body(), MessageBody::Tool { .. }) {
            pictures
                .drain(..)
                .for_each(|message| push(pictures_of(&segment(message, style))));
        }
        let text = segment(message, style);
        if has_pictures_from_a_tool(message) {
            push(result_of(&text));
            pictures.push(message);
        } else {
            push(&text);
        }
    }
    pictures
        .drain(..)
        .for_each(|message| push(pictures_of(&segment(message, style))));
}

/// The message's piece of the body. A tool's result with pictures is two messages with a line break between them;
/// JSON as written here has no other one.
fn segment(message: &Message, style: BodyStyle) -> Cow<'_, str> {
    match style {
        BodyStyle::OpenAi | BodyStyle::Compatible => {
            message.wire("openai", |record| write_message(record, style))
        }
        BodyStyle::Embedded => message.wire("openai-embedded", |record| write_message(record, style)),
    }
}

fn has_pictures_from_a_tool(message: &Message) -> bool {
    matches!(message.body(), MessageBody::Tool { content, .. } if content.iter().any(is_picture))
}

fn is_picture(part: &Part) -> bool {
    matches!(part, Part::Image { .. })
}

fn result_of(segment: &str) -> &str {
    segment.split_once('\n').map_or(segment, |(result, _)| result)
}

fn pictures_of(segment: &str) -> &str {
    segment.split_once('\n').map_or(segment, |(_, pictures)| pictures)
}

/// A message with plain text.
#[derive(Serialize)]
struct PlainMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
}

impl<'a> PlainMessage<'a> {
    fn new(role: &'static str, content: impl Into<Content<'a>>) -> Self {
        Self {
            role,
            name: None,
            tool_call_id: None,
            is_error: false,
            content: content.into(),
            tool_calls: Vec::new(),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    None,
    Borrowed(&'a str),
    Owned(String),
    Parts(Vec<WirePart<'a>>),
}

impl<'a> From<&'a str> for Content<'a> {
    fn from(text: &'a str) -> Self {
        Self::Borrowed(text)
    }
}

impl From<String> for Content<'_> {
    fn from(text: String) -> Self {
        Self::Owned(text)
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

fn write_message(record: &MessageRecord, style: BodyStyle) -> String {
    let embedded = style == BodyStyle::Embedded;
    match &record.body {
        MessageBody::User { content } => to_json(&PlainMessage::new("user", spoken(content))),
        MessageBody::Note { kind, content, .. } => {
            let mut message = PlainMessage::new("user", spoken(content));
            message.name = embedded.then_some(kind.as_str());
            to_json(&message)
        }
        MessageBody::Assistant {
            content, tool_calls, ..
        } => {
            let text = text_of(content);
            let content = if text.is_empty() && !tool_calls.is_empty() {
                Content::None
            } else {
                text.into()
            };
            let mut message = PlainMessage::new("assistant", content);
            message.tool_calls = tool_calls.iter().map(wire_call).collect();
            to_json(&message)
        }
        MessageBody::Tool {
            tool_call_id,
            content,
            is_error,
            ..
        } => {
            let mut message = PlainMessage::new("tool", lines_of(content));
            message.tool_call_id = Some(tool_call_id);
            message.is_error = embedded && *is_error;
            let mut text = to_json(&message);
            if content.iter().any(is_picture) {
                text.push('\n');
                let pictures = content
                    .iter()
                    .filter(|part| is_picture(part))
                    .filter_map(wire_part);
                text.push_str(&to_json(&PlainMessage::new(
                    "user",
                    Content::Parts(pictures.collect()),
                )));
            }
            text
        }
    }
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    WireCall {
        id: &call.id,
        kind: "function",
        function: WireFunction {
            name: &call.name,
            arguments: object_text(&call.arguments),
        },
    }
}

/// The content of a user's message: plain text if it is only that, since not every server accepts a list.
fn spoken(content: &[Part]) -> Content<'_> {
    match content {
        [Part::Text { text }] => text.as_str().into(),
        _ if content.iter().any(is_picture) => Content::Parts(content.iter().filter_map(wire_part).collect()),
        _ => text_of(content).into(),
    }
}

fn wire_part(part: &Part) -> Option<WirePart<'_>> {
    match part {
        Part::Text { text } => Some(WirePart::Text { text }),
        Part::Image { media_type, data } => Some(WirePart::ImageUrl {
            image_url: ImageUrl {
                url: data_url(media_type, data),
            },
        }),
        Part::Thinking { .. } => None,
    }
}

fn push_tools(body: &mut String, tools: &[ToolFace], style: BodyStyle) {
    #[derive(Serialize)]
    struct Tool<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Function<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        operation: Option<&'static str>,
    }
    #[derive(Serialize)]
    struct Function<'a> {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
    }
    if tools.is_empty() {
        return;
    }
    let tools: Vec<Tool<'_>> = tools
        .iter()
        .map(|face| Tool {
            kind: "function",
            function: Function {
                name: &face.name,
                description: &face.description,
                parameters: &face.parameters,
            },
            operation: face
                .operation
                .filter(|_| style == BodyStyle::Embedded)
                .map(|kind| kind.name()),
        })
        .collect();
    body.push_str(r#","tools":"#);
    push_json(body, &tools);
}

fn push_options(body: &mut String, options: &RequestOptions, has_tools: bool, style: BodyStyle) {
    if let Some(temperature) = options.temperature {
        body.push_str(r#","temperature":"#);
        push_json(body, &temperature);
    }
    if let Some(max_tokens) = options.max_tokens {
        body.push_str(match style {
            BodyStyle::OpenAi => r#","max_completion_tokens":"#,
            BodyStyle::Compatible | BodyStyle::Embedded => r#","max_tokens":"#,
        });
        push_json(body, &max_tokens);
    }
    let shares = [
        ("top_p", options.top_p),
        ("frequency_penalty", options.frequency_penalty),
        ("presence_penalty", options.presence_penalty),
    ];
    for (name, share) in shares {
        if let Some(share) = share {
            body.push_str(&format!(r#","{name}":"#));
            push_json(body, &share);
        }
    }
    if let Some(schema) = &options.answer_schema {
        let format = json!({
            "type": "json_schema",
            "json_schema": {"name": ANSWER_SCHEMA_NAME, "strict": can_be_strict(schema), "schema": **schema}
        });
        body.push_str(r#","response_format":"#);
        push_json(body, &format);
    }
    // The interface refuses this option if there are no tools.
    if let Some(parallel) = options.parallel_tool_calls.filter(|_| has_tools) {
        body.push_str(r#","parallel_tool_calls":"#);
        push_json(body, &parallel);
    }
}

/// Whether the interface takes a schema as strict: it must name every property of every object as required. A schema
/// that lists no properties is left to the interface.
pub(crate) fn can_be_strict(schema: &Value) -> bool {
    let properties = schema["properties"].as_object();
    let required = schema["required"].as_array();
    let is_complete = properties.is_none_or(|properties| {
        let names = |name: &String| required.is_some_and(|list| list.iter().any(|one| one == name));
        schema["additionalProperties"] == false && properties.keys().all(names)
    });
    let inner = properties.into_iter().flat_map(|properties| properties.values());
    let items = schema.get("items").into_iter();
    is_complete && inner.chain(items).all(can_be_strict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_agent::provider::ThinkingLevel;
    use becket_events::{OperationKind, StopReason, Usage};
    use serde_json::json;

    fn message(body: MessageBody) -> Message {
        Message::new(MessageRecord {
            id: "m".into(),
            time_ms: 0,
            body,
        })
    }

    fn user(content: Vec<Part>) -> Message {
        message(MessageBody::User { content })
    }

    fn tool(id: &str, content: Vec<Part>) -> Message {
        message(MessageBody::Tool {
            tool_call_id: id.into(),
            tool_name: "read".into(),
            content,
            is_error: true,
            details: None,
        })
    }

    fn picture() -> Part {
        Part::Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        }
    }

    fn conversation() -> Vec<Message> {
        vec![
            user(vec![Part::text("a\n\"b\""), picture()]),
            message(MessageBody::Assistant {
                content: vec![Part::Thinking {
                    text: "hm".into(),
                    signature: Some("s".into()),
                }],
                tool_calls: vec![
                    ToolCall {
                        id: "c1".into(),
                        name: "read".into(),
                        arguments: r#"{"path":"x"}"#.into(),
                    },
                    ToolCall {
                        id: "c2".into(),
                        name: "list".into(),
                        arguments: String::new(),
                    },
                ],
                model: "m".into(),
                stop_reason: StopReason::ToolCalls,
                usage: Usage::default(),
                error: None,
            }),
            tool("c1", vec![Part::text("one\ntwo"), picture()]),
            tool("c2", vec![Part::text("three")]),
            message(MessageBody::Note {
                kind: "hook".into(),
                content: vec![Part::text("x"), Part::text("y")],
                display: false,
                details: None,
            }),
        ]
    }

    fn body(style: BodyStyle, options: &RequestOptions) -> Value {
        let messages = conversation();
        let tools = [ToolFace {
            name: "bash".into(),
            description: "Runs".into(),
            parameters: json!({"type": "object"}).into(),
            operation: Some(OperationKind::Shell),
        }];
        let request = ModelRequest {
            system_prompt: "be brief",
            messages: &messages,
            tools: &tools,
            options,
        };
        let first = write_body("gpt", &request, style);
        assert_eq!(first, write_body("gpt", &request, style));
        first.to_value()
    }

    #[test]
    fn a_whole_conversation_is_written() {
        let options = RequestOptions {
            temperature: Some(0.5),
            max_tokens: Some(9),
            top_p: Some(0.5),
            frequency_penalty: Some(0.25),
            presence_penalty: Some(-0.25),
            parallel_tool_calls: Some(false),
            thinking: Some(ThinkingLevel::High),
            answer_schema: Some(std::sync::Arc::new(json!({"type": "object"}))),
        };
        let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        assert_eq!(
            body(BodyStyle::Compatible, &options),
            json!({
                "model": "gpt",
                "messages": [
                    {"role": "system", "content": "be brief"},
                    {"role": "user", "content": [{"type": "text", "text": "a\n\"b\""}, image]},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}},
                        {"id": "c2", "type": "function", "function": {"name": "list", "arguments": "{}"}},
                    ]},
                    {"role": "tool", "tool_call_id": "c1", "content": "one\ntwo"},
                    {"role": "tool", "tool_call_id": "c2", "content": "three"},
                    {"role": "user", "content": [image]},
                    {"role": "user", "content": "xy"},
                ],
                "tools": [{"type": "function", "function": {
                    "name": "bash", "description": "Runs", "parameters": {"type": "object"}}}],
                "temperature": 0.5,
                "max_tokens": 9,
                "top_p": 0.5,
                "frequency_penalty": 0.25,
                "presence_penalty": -0.25,
                "response_format": {"type": "json_schema", "json_schema": {
                    "name": "answer", "strict": true, "schema": {"type": "object"}}},
                "parallel_tool_calls": false,
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }

    #[test]
    fn styles_differ_where_servers_do() {
        let options = RequestOptions {
            max_tokens: Some(9),
            ..RequestOptions::default()
        };
        let real = body(BodyStyle::OpenAi, &options);
        assert_eq!(
            (&real["max_completion_tokens"], &real["max_tokens"]),
            (&json!(9), &Value::Null)
        );
        let embedded = body(BodyStyle::Embedded, &options);
        assert_eq!(embedded["tools"][0]["operation"], "shell");
        assert_eq!(embedded["messages"][4]["is_error"], true);
        assert_eq!(embedded["messages"][6]["name"], "hook");
    }

    #[test]
    fn a_model_that_thinks_is_told_how_hard() {
        let options = RequestOptions {
            thinking: Some(ThinkingLevel::High),
            ..RequestOptions::default()
        };
        let request = ModelRequest {
            system_prompt: "",
            messages: &[],
            tools: &[],
            options: &options,
        };
        let value = |model| write_body(model, &request, BodyStyle::OpenAi).to_value();
        assert_eq!(value("gpt-5")["reasoning_effort"], "high");
        assert_eq!(value("gpt-4o").get("reasoning_effort"), None);
    }

    #[test]
    fn an_empty_request_is_valid() {
        let options = RequestOptions::default();
        let request = ModelRequest {
            system_prompt: "",
            messages: &[],
            tools: &[],
            options: &options,
        };
        let value = write_body("gpt", &request, BodyStyle::OpenAi).to_value();
        assert_eq!(value["messages"], json!([]));
        assert_eq!(value.get("tools"), None);
    }
}
