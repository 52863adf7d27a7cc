//! Writes a request in the words of the messages interface.
//!
//! Roles must alternate there, so messages of one role in a row become one, with results of tools first. What a
//! message keeps (`Message::wire`) is therefore not a message but its blocks, which are joined by copying.

use becket_agent::provider::{ModelRequest, ToolFace};
use becket_events::{Json, Message, MessageBody, MessageRecord, Part, ToolCall};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::REDACTED;
use crate::openai::{push_json, to_json};

/// Tells the provider to keep everything up to here in its cache.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}}"#;

/// The interface demands a limit; this one holds where the configuration names none.
const DEFAULT_MAX_TOKENS: u64 = 16_384;

/// Models that refuse the limit above, and theirs.
const SMALLER_LIMITS: &[(&str, u64)] = &[
    ("claude-3-opus", 4096),
    ("claude-3-sonnet", 4096),
    ("claude-3-haiku", 4096),
    ("claude-3-5", 8192),
];

/// The request as JSON text.
pub(crate) fn write_body(model: &str, request: &ModelRequest<'_>) -> Json {
    let mut body = String::from(r#"{"model":"#);
    push_json(&mut body, model);
    body.push_str(r#","max_tokens":"#);
    push_json(
        &mut body,
        &request
            .options
            .max_tokens
            .unwrap_or_else(|| default_max_tokens(model)),
    );
    if !request.system_prompt.trim().is_empty() {
        body.push_str(r#","system":["#);
        push_marked(
            &mut body,
            &to_json(&Block::Text {
                text: request.system_prompt,
            }),
        );
        body.push(']');
    }
    body.push_str(r#","messages":["#);
    push_messages(&mut body, request.messages);
    body.push(']');
    push_tools(&mut body, request.tools);
    if let Some(temperature) = request.options.temperature {
        body.push_str(r#","temperature":"#);
        push_json(&mut body, &temperature);
    }
    if let Some(top_p) = request.options.top_p {
        body.push_str(r#","top_p":"#);
        push_json(&mut body, &top_p);
    }
    if request.options.parallel_tool_calls == Some(false) && !request.tools.is_empty() {
        body.push_str(r#","tool_choice":{"type":"auto","disable_parallel_tool_use":true}"#);
    }
    body.push_str(r#","stream":true}"#);
    Json::joined(body)
}

fn default_max_tokens(model: &str) -> u64 {
    let smaller = SMALLER_LIMITS.iter().find(|(name, _)| model.contains(name));
    smaller.map_or(DEFAULT_MAX_TOKENS, |(_, limit)| *limit)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

fn role(message: &Message) -> Role {
    match message.body() {
        MessageBody::Assistant { .. } => Role::Assistant,
        MessageBody::User { .. } | MessageBody::Tool { .. } | MessageBody::Note { .. } => Role::User,
    }
}

fn is_result(message: &Message) -> bool {
    matches!(message.body(), MessageBody::Tool { .. })
}

fn push_messages(body: &mut String, messages: &[Message]) {
    // A message without any block cannot be sent, and its neighbours then stand side by side.
    let spoken: Vec<(&Message, std::borrow::Cow<'_, str>)> = messages
        .iter()
        .map(|message| (message, message.wire("anthropic", write_blocks)))
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect();
    let runs: Vec<_> = spoken
        .chunk_by(|(one, _), (two, _)| role(one) == role(two))
        .collect();
    for (position, run) in runs.iter().enumerate() {
        let role = role(run[0].0);
        if position > 0 {
            body.push(',');
        }
        body.push_str(match role {
            Role::User => r#"{"role":"user","content":["#,
            Role::Assistant => r#"{"role":"assistant","content":["#,
        });
        let results = run.iter().filter(|(message, _)| is_result(message));
        let others = run.iter().filter(|(message, _)| !is_result(message));
        let mut separator = "";
        for (_, blocks) in results.chain(others) {
            body.push_str(separator);
            body.push_str(blocks);
            separator = ",";
        }
        if position + 1 == runs.len() && role == Role::User {
            mark_last_block(body);
        }
        body.push_str("]}");
    }
}

fn push_marked(body: &mut String, block: &str) {
    body.push_str(block);
    mark_last_block(body);
}

/// Puts the cache's mark into the block that ends the text.
fn mark_last_block(body: &mut String) {
    if body.ends_with('}') {
        body.pop();
        body.push_str(CACHE_MARK);
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: &'a str,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// The message's blocks, with commas between them.
fn write_blocks(record: &MessageRecord) -> String {
    let blocks: Vec<Block<'_>> = match &record.body {
        MessageBody::User { content } | MessageBody::Note { content, .. } => {
            content.iter().filter_map(spoken_block).collect()
        }
        MessageBody::Assistant {
            content, tool_calls, ..
        } => {
            // Thoughts must come first, and calls last.
            let thoughts = content.iter().filter_map(thinking_block);
            let words = content
                .iter()
                .filter(|part| matches!(part, Part::Text { .. }))
                .filter_map(spoken_block);
            thoughts
                .chain(words)
                .chain(tool_calls.iter().map(call_block))
                .collect()
        }
        MessageBody::Tool {
            tool_call_id,
            content,
            is_error,
            ..
        } => vec![Block::ToolResult {
            tool_use_id: plain_id(tool_call_id),
            content: content.iter().filter_map(spoken_block).collect(),
            is_error: *is_error,
        }],
    };
    blocks.iter().map(to_json).collect::<Vec<_>>().join(",")
}

/// The interface refuses blocks of white space.
fn spoken_block(part: &Part) -> Option<Block<'_>> {
    match part {
        Part::Text { text } if text.trim().is_empty() => None,
        Part::Text { text } => Some(Block::Text { text }),
        Part::Image { media_type, data } => Some(Block::Image {
            source: ImageSource {
                kind: "base64",
                media_type,
                data,
            },
        }),
        Part::Thinking { .. } => None,
    }
}

/// Only thoughts under a seal go back; others would be refused.
fn thinking_block(part: &Part) -> Option<Block<'_>> {
    match part {
        Part::Thinking {
            text,
            signature: Some(signature),
        } => Some(match signature.strip_prefix(REDACTED) {
            Some(data) => Block::RedactedThinking { data },
            None => Block::Thinking {
                thinking: text,
                signature,
            },
        }),
        _ => None,
    }
}

fn call_block(call: &ToolCall) -> Block<'_> {
    Block::ToolUse {
        id: plain_id(&call.id),
        name: &call.name,
        input: input(&call.arguments),
    }
}

/// The arguments as an object, which the interface demands; what the model wrote otherwise is quoted in one.
fn input(arguments: &str) -> Box<RawValue> {
    let text = arguments.trim();
    let object = match text {
        "" => "{}".to_owned(),
        _ if text.starts_with('{') => text.to_owned(),
        _ => unreadable_input(text),
    };
    RawValue::from_string(object)
        .or_else(|_| RawValue::from_string(unreadable_input(text)))
        .expect("an object around quoted text is valid JSON")
}

fn unreadable_input(text: &str) -> String {
    format!(r#"{{"unreadable_arguments":{}}}"#, to_json(text))
}

/// An id in the characters that the interface accepts; a conversation may have begun with another provider.
fn plain_id(id: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    id.chars()
        .map(|character| if plain(character) { character } else { '_' })
        .collect()
}

fn push_tools(body: &mut String, tools: &[ToolFace]) {
    #[derive(Serialize)]
    struct Tool<'a> {
        name: &'a str,
        description: &'a str,
        input_schema: &'a Value,
    }
    if tools.is_empty() {
        return;
    }
    let tools: Vec<Tool<'_>> = tools
        .iter()
        .map(|face| Tool {
            name: &face.name,
            description: &face.description,
            input_schema: &face.parameters,
        })
        .collect();
    body.push_str(r#","tools":"#);
    push_json(body, &tools);
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_agent::provider::RequestOptions;
    use becket_events::{StopReason, Usage};
    use serde_json::json;

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

    fn note(text: &str) -> Message {
        message(MessageBody::Note {
            kind: "hook".into(),
            content: vec![Part::text(text)],
            display: false,
            details: None,
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
        })
    }

    fn result(id: &str, content: Vec<Part>, is_error: bool) -> Message {
        message(MessageBody::Tool {
            tool_call_id: id.into(),
            tool_name: "read".into(),
            content,
            is_error,
        })
    }

    fn messages_of(messages: &[Message]) -> Value {
        let options = RequestOptions::default();
        let request = ModelRequest {
            system_prompt: "",
            messages,
            tools: &[],
            options: &options,
        };
        let body = write_body("claude", &request);
        assert_eq!(body, write_body("claude", &request));
        body.to_value()["messages"].take()
    }

    #[test]
    fn the_frame_of_a_request_is_written() {
        let options = RequestOptions {
            temperature: Some(0.25),
            max_tokens: Some(7),
            top_p: Some(0.5),
            parallel_tool_calls: Some(false),
            ..RequestOptions::default()
        };
        let tools = [ToolFace {
            name: "t".into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
            operation: None,
        }];
        let messages = [user("hi")];
        let request = ModelRequest {
            system_prompt: "be\nbrief",
            messages: &messages,
            tools: &tools,
            options: &options,
        };
        let mark = json!({"type": "ephemeral"});
        assert_eq!(
            write_body("claude", &request).to_value(),
            json!({
                "model": "claude",
                "max_tokens": 7,
                "system": [{"type": "text", "text": "be\nbrief", "cache_control": mark}],
                "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": mark}]}],
                "tools": [{"name": "t", "description": "d", "input_schema": {"type": "object"}}],
                "temperature": 0.25,
                "top_p": 0.5,
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
                "stream": true,
            })
        );
    }

    #[test]
    fn messages_of_one_role_become_one_with_results_first() {
        let image = Part::Image {
            media_type: "image/png".into(),
            data: "AA".into(),
        };
        let thoughts = vec![
            Part::text("let me see"),
            Part::Thinking {
                text: "hm".into(),
                signature: Some("seal".into()),
            },
            Part::Thinking {
                text: "unsealed".into(),
                signature: None,
            },
            Part::Thinking {
                text: String::new(),
                signature: Some("redacted:xyz".into()),
            },
        ];
        let written = messages_of(&[
            user("one"),
            note("two"),
            assistant(
                thoughts,
                &[
                    ("a:1", r#"{"path": "x"}"#),
                    ("b", ""),
                    ("c", "[1"),
                    ("d", "{broken"),
                ],
            ),
            result("a:1", vec![Part::text("ok"), image], false),
            note("three"),
            result("b", vec![], true),
            assistant(vec![Part::text("  ")], &[]),
            user("four"),
        ]);
        assert_eq!(
            written,
            json!([
                {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "seal"},
                    {"type": "redacted_thinking", "data": "xyz"},
                    {"type": "text", "text": "let me see"},
                    {"type": "tool_use", "id": "a_1", "name": "read", "input": {"path": "x"}},
                    {"type": "tool_use", "id": "b", "name": "read", "input": {}},
                    {"type": "tool_use", "id": "c", "name": "read", "input": {"unreadable_arguments": "[1"}},
                    {"type": "tool_use", "id": "d", "name": "read", "input": {"unreadable_arguments": "{broken"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a_1", "content": [
                        {"type": "text", "text": "ok"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                    ]},
                    {"type": "tool_result", "tool_use_id": "b", "content": [], "is_error": true},
                    {"type": "text", "text": "three"},
                    {"type": "text", "text": "four", "cache_control": {"type": "ephemeral"}},
                ]},
            ])
        );
    }

    #[test]
    fn only_a_user_at_the_end_is_marked() {
        let written = messages_of(&[user("a"), assistant(vec![Part::text("b")], &[])]);
        assert!(!written.to_string().contains("cache_control"), "{written}");
    }

    #[test]
    fn older_models_get_a_limit_that_they_accept() {
        assert_eq!(default_max_tokens("claude-3-5-haiku-latest"), 8192);
        assert_eq!(default_max_tokens("claude-3-haiku-20240307"), 4096);
        assert_eq!(default_max_tokens("claude-sonnet-4-5"), DEFAULT_MAX_TOKENS);
    }
}
