//! Writes a request in the format of the Responses interface.
//!
//! A conversation is a list of items there: messages, thoughts, calls and their outputs. Ids of items are left out,
//! except for thoughts: the server would look for them among what it has stored, and it stores nothing.

use std::borrow::Cow;

use becket_agent::provider::{ANSWER_SCHEMA_NAME, ModelRequest, RequestOptions, ToolFace};
use becket_events::{Json, MessageBody, MessageRecord, Part, ToolCall, lines_of};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::kept::Kept;
use crate::conversation::{Piece, data_url, object_text, pieces, push_json, to_json, without_last_thoughts};
use crate::openai::{can_be_strict, effort, thinks};
use crate::signature::Seal;

/// The longest id of a call that the interface accepts.
const LONGEST_ID: usize = 64;

/// The request as JSON text. Messages keep their items under the name of the format.
pub(crate) fn write_body(model: &str, request: &ModelRequest<'_>, seal: &Seal, format: &str) -> Json {
    let mut body = String::from(r#"{"model":"#);
    push_json(&mut body, model);
    if !request.system_prompt.is_empty() {
        body.push_str(r#","instructions":"#);
        push_json(&mut body, request.system_prompt);
    }
    body.push_str(r#","input":["#);
    let mut separator = "";
    for message in request.messages {
        let items = message.wire(format, |record| write_items(record, seal));
        if !items.is_empty() {
            body.push_str(separator);
            body.push_str(&items);
            separator = ",";
        }
    }
    body.push(']');
    push_tools(&mut body, request.tools);
    push_options(&mut body, model, request.options, !request.tools.is_empty());
    body.push_str(r#","store":false,"stream":true}"#);
    Json::joined(body)
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        content: Vec<Content<'a>>,
    },
    Reasoning {
        id: String,
        summary: Vec<Content<'a>>,
        encrypted_content: String,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    SummaryText { text: &'a str },
    InputImage { image_url: String, detail: &'static str },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(String),
    Parts(Vec<Content<'a>>),
}

/// The message's items, with commas between them.
fn write_items(record: &MessageRecord, seal: &Seal) -> String {
    let items: Vec<Item<'_>> = match &record.body {
        MessageBody::User { content } | MessageBody::Note { content, .. } => {
            let content: Vec<Content<'_>> = content.iter().filter_map(input).collect();
            let (role, phase) = ("user", None);
            let message = Item::Message { role, phase, content };
            let is_empty = matches!(&message, Item::Message { content, .. } if content.is_empty());
            (!is_empty).then_some(message).into_iter().collect()
        }
        MessageBody::Assistant {
            content, tool_calls, ..
        } => answered(content, tool_calls, seal),
        MessageBody::Tool {
            tool_call_id,
            content,
            ..
        } => vec![Item::FunctionCallOutput {
            call_id: short(tool_call_id),
            output: output(content),
        }],
    };
    items.iter().map(to_json).collect::<Vec<_>>().join(",")
}

/// The items of an answer. A thought that leads to nothing is left out, because the interface refuses it.
fn answered<'a>(content: &'a [Part], calls: &'a [ToolCall], seal: &Seal) -> Vec<Item<'a>> {
    let mut pieces = pieces(content, calls, |signature| seal.read(signature));
    without_last_thoughts(&mut pieces);
    let mut next_phase = None;
    let mut items = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Thought { text, data } => match serde_json::from_str(&data) {
                Ok(Kept::Reasoning {
                    id,
                    encrypted_content,
                }) => items.push(Item::Reasoning {
                    id,
                    summary: summary(text),
                    encrypted_content,
                }),
                Ok(Kept::Phase(phase)) => next_phase = Some(phase),
                Err(_) => {}
            },
            Piece::Text(text) => items.push(Item::Message {
                role: "assistant",
                phase: next_phase.take(),
                content: vec![Content::OutputText { text }],
            }),
            Piece::Call(call) => items.push(Item::FunctionCall {
                call_id: short(&call.id),
                name: &call.name,
                arguments: object_text(&call.arguments),
            }),
        }
    }
    items
}

fn summary(text: &str) -> Vec<Content<'_>> {
    let part = (!text.is_empty()).then_some(Content::SummaryText { text });
    part.into_iter().collect()
}

/// An id of a length that the interface accepts; a conversation may have begun with another provider.
fn short(id: &str) -> &str {
    id.get(..LONGEST_ID).unwrap_or(id)
}

fn input(part: &Part) -> Option<Content<'_>> {
    match part {
        Part::Text { text } => Some(Content::InputText { text }),
        Part::Image { media_type, data } => Some(Content::InputImage {
            image_url: data_url(media_type, data),
            detail: "auto",
        }),
        Part::Thinking { .. } => None,
    }
}

/// The result of a call: plain text if it is only that.
fn output(content: &[Part]) -> Output<'_> {
    match content.iter().any(|part| matches!(part, Part::Image { .. })) {
        true => Output::Parts(content.iter().filter_map(input).collect()),
        false => Output::Text(lines_of(content)),
    }
}

fn push_tools(body: &mut String, tools: &[ToolFace]) {
    #[derive(Serialize)]
    struct Tool<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// Without this the interface takes every schema as strict.
        strict: bool,
    }
    if tools.is_empty() {
        return;
    }
    let tools: Vec<Tool<'_>> = tools
        .iter()
        .map(|face| Tool {
            kind: "function",
            name: &face.name,
            description: &face.description,
            parameters: &face.parameters,
            strict: false,
        })
        .collect();
    body.push_str(r#","tools":"#);
    push_json(body, &tools);
}

fn push_options(body: &mut String, model: &str, options: &RequestOptions, has_tools: bool) {
    let mut further = Map::new();
    if let Some(parallel) = options.parallel_tool_calls.filter(|_| has_tools) {
        further.insert("parallel_tool_calls".into(), parallel.into());
    }
    if let Some(max_tokens) = options.max_tokens {
        further.insert("max_output_tokens".into(), max_tokens.into());
    }
    if thinks(model) {
        further.insert("include".into(), json!(["reasoning.encrypted_content"]));
    } else {
        // A model that thinks refuses both.
        let shares = [("temperature", options.temperature), ("top_p", options.top_p)];
        let given = shares.iter().filter_map(|(name, share)| Some((*name, (*share)?)));
        further.extend(given.map(|(name, share)| (name.to_owned(), share.into())));
    }
    if let Some(effort) = options.thinking.and_then(|level| effort(model, level)) {
        further.insert("reasoning".into(), json!({"effort": effort, "summary": "auto"}));
    }
    if let Some(schema) = &options.answer_schema {
        let format = json!({
            "type": "json_schema", "name": ANSWER_SCHEMA_NAME, "strict": can_be_strict(schema), "schema": **schema
        });
        further.insert("text".into(), json!({"format": format}));
    }
    for (name, value) in further {
        body.push(',');
        push_json(body, &name);
        body.push(':');
        push_json(body, &value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::Api;
    use becket_agent::provider::ThinkingLevel;
    use becket_events::{Message, StopReason, Usage};

    fn seal() -> Seal {
        Seal::new(Api::Responses, "openai")
    }

    fn message(body: MessageBody) -> Message {
        Message::new(MessageRecord {
            id: "m".into(),
            time_ms: 0,
            body,
        })
    }

    fn assistant(content: Vec<Part>, calls: &[(&str, &str)]) -> Message {
        let call = |(id, arguments): &(&str, &str)| ToolCall {
            id: (*id).into(),
            name: "read".into(),
            arguments: (*arguments).into(),
        };
        message(MessageBody::Assistant {
            content,
            tool_calls: calls.iter().map(call).collect(),
            model: "m".into(),
            stop_reason: StopReason::Stop,
            usage: Usage::default(),
            error: None,
        })
    }

    fn thought(text: &str, after_calls: usize, kept: &Kept) -> Part {
        Part::Thinking {
            text: text.into(),
            signature: Some(seal().mark(after_calls, kept.text())),
        }
    }

    fn reasoning(id: &str) -> Kept {
        Kept::Reasoning {
            id: id.into(),
            encrypted_content: format!("sealed {id}"),
        }
    }

    fn written(model: &str, messages: &[Message], tools: &[ToolFace], options: &RequestOptions) -> Value {
        let request = ModelRequest {
            system_prompt: "be brief",
            messages,
            tools,
            options,
        };
        let write = || write_body(model, &request, &seal(), &seal().format(""));
        assert_eq!(write(), write());
        write().to_value()
    }

    #[test]
    fn a_whole_conversation_is_written() {
        let picture = Part::Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        };
        let tool = |id: &str, content| {
            message(MessageBody::Tool {
                tool_call_id: id.into(),
                tool_name: "read".into(),
                content,
                is_error: false,
                details: None,
            })
        };
        let messages = [
            message(MessageBody::User {
                content: vec![Part::text("look"), picture.clone()],
            }),
            assistant(
                vec![
                    thought("hm", 0, &reasoning("rs_1")),
                    thought("", 0, &Kept::Phase("commentary".into())),
                    Part::text("I look."),
                    thought("", 1, &reasoning("rs_2")),
                ],
                &[("c1", r#"{"path":"x"}"#), ("c2", "")],
            ),
            tool("c1", vec![Part::text("one"), picture]),
            tool("c2", vec![Part::text("a"), Part::text("b")]),
            assistant(vec![thought("lost", 0, &reasoning("rs_3"))], &[]),
            message(MessageBody::Note {
                kind: "hook".into(),
                content: vec![Part::text("note")],
                display: false,
                details: None,
            }),
        ];
        let image =
            json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"});
        let body = written("gpt-5", &messages, &[], &RequestOptions::default());
        assert_eq!(body["instructions"], "be brief");
        assert_eq!((&body["store"], &body["stream"]), (&json!(false), &json!(true)));
        assert_eq!(
            body["input"],
            json!([
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}, image]},
                {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed rs_1",
                    "summary": [{"type": "summary_text", "text": "hm"}]},
                {"type": "message", "role": "assistant", "phase": "commentary",
                    "content": [{"type": "output_text", "text": "I look."}]},
                {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"x\"}"},
                {"type": "reasoning", "id": "rs_2", "encrypted_content": "sealed rs_2", "summary": []},
                {"type": "function_call", "call_id": "c2", "name": "read", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1",
                    "output": [{"type": "input_text", "text": "one"}, image]},
                {"type": "function_call_output", "call_id": "c2", "output": "a\nb"},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "note"}]},
            ])
        );
    }

    #[test]
    fn options_are_written_in_the_words_of_the_interface() {
        let options = RequestOptions {
            temperature: Some(0.5),
            max_tokens: Some(900),
            top_p: Some(0.25),
            parallel_tool_calls: Some(false),
            thinking: Some(ThinkingLevel::High),
            answer_schema: Some(Arc::new(json!({"type": "object"}))),
            ..RequestOptions::default()
        };
        let tools = [ToolFace {
            name: "bash".into(),
            description: "Runs".into(),
            parameters: json!({"type": "object"}).into(),
            operation: None,
        }];
        let thinking = written("gpt-5", &[], &tools, &options);
        assert_eq!(
            thinking["tools"],
            json!([{"type": "function", "name": "bash", "description": "Runs",
                "parameters": {"type": "object"}, "strict": false}])
        );
        assert_eq!(
            thinking["reasoning"],
            json!({"effort": "high", "summary": "auto"})
        );
        assert_eq!(thinking["include"], json!(["reasoning.encrypted_content"]));
        assert_eq!(thinking["max_output_tokens"], 900);
        assert_eq!(thinking["parallel_tool_calls"], false);
        assert_eq!(
            thinking["text"]["format"],
            json!({"type": "json_schema", "name": "answer", "strict": true, "schema": {"type": "object"}})
        );
        assert_eq!(thinking.get("temperature"), None);
        let plain = written("gpt-4.1", &[], &[], &options);
        assert_eq!(
            (&plain["temperature"], &plain["top_p"]),
            (&json!(0.5), &json!(0.25))
        );
        for absent in [
            "include",
            "reasoning",
            "parallel_tool_calls",
            "tools",
            "previous_response_id",
        ] {
            assert_eq!(plain.get(absent), None, "{absent}");
        }
    }
}
