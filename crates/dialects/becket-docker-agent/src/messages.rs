//! The messages of a request in the form that hooks read and write, which is that of OpenAI's chat interface.

use becket_dialect_kit::alignment::{Origin, origins};
use becket_events::{Message, MessageBody, MessageRecord, Part, StopReason, ToolCall, Usage};
use becket_hooks::Failure;
use serde_json::{Map, Value, json};

use super::input::Input;
use super::output::wrong;

/// The role of the system prompt.
const SYSTEM: &str = "system";

/// The system prompt as hooks read it.
pub(super) fn system(prompt: &str) -> Value {
    json!({"role": SYSTEM, "content": prompt})
}

/// The system prompt and the other messages that a hook wrote. Wherever a system message stands, it is part of the
/// prompt. Without one the prompt stays as it is, since it may hold what the agent must not do.
pub(super) fn apart(written: &[Value]) -> Result<(Option<String>, Vec<Value>), Failure> {
    let (mut prompts, mut others) = (Vec::new(), Vec::new());
    for (index, message) in written.iter().enumerate() {
        match (message["role"].as_str(), &message["content"]) {
            (Some(SYSTEM), Value::String(prompt)) => prompts.push(prompt.as_str()),
            (Some(SYSTEM), other) => {
                return Err(wrong(format!(
                    "`updated_messages[{index}].content` is a text, not {other}"
                )));
            }
            _ => others.push(message.clone()),
        }
    }
    let prompt = (!prompts.is_empty()).then(|| prompts.join("\n\n"));
    Ok((prompt, others))
}

/// A message as hooks read it.
pub(super) fn shown(message: &Message) -> Value {
    let text = message.text();
    let images = message
        .content()
        .iter()
        .any(|part| matches!(part, Part::Image { .. }));
    let several = if images {
        parts(message.content())
    } else {
        Value::Null
    };
    let input = Input::default();
    let input = match message.body() {
        MessageBody::User { .. } | MessageBody::Note { .. } => input.with("role", "user"),
        MessageBody::Assistant {
            tool_calls,
            model,
            stop_reason,
            usage: used,
            content,
            ..
        } => input
            .with("role", "assistant")
            .with("reasoning_content", thoughts(content))
            .with(
                "tool_calls",
                tool_calls.iter().map(shown_call).collect::<Vec<_>>(),
            )
            .with("model", model.as_str())
            .with("finish_reason", finish_reason(*stop_reason))
            .with("usage", usage(used))
            .with("cost", used.cost.map_or(Value::Null, Value::from)),
        MessageBody::Tool {
            tool_call_id,
            is_error,
            ..
        } => input
            .with("role", "tool")
            .with("tool_call_id", tool_call_id.as_str())
            .with("is_error", *is_error),
    };
    input
        .exactly("content", text)
        .with("multi_content", several)
        .into_value()
}

/// The tokens that a message used, as hooks read them; `null` if none were counted.
pub(super) fn usage(usage: &Usage) -> Value {
    if *usage == Usage::default() {
        return Value::Null;
    }
    let mut told = json!({
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_input_tokens": usage.cache_read_tokens,
        "cached_write_tokens": usage.cache_write_tokens,
    });
    if usage.reasoning_tokens > 0 {
        told["reasoning_tokens"] = usage.reasoning_tokens.into();
    }
    told
}

/// The messages that a hook wrote, as becket's messages. A message that is as it was shown stays unchanged, with
/// everything that hooks do not see.
pub(super) fn written(originals: &[Message], written: &[Value]) -> Result<Vec<Message>, Failure> {
    let before: Vec<Value> = originals.iter().map(shown).collect();
    let origins = origins(&before, written, "role");
    let message = |(index, (origin, value)): (usize, (Origin, &Value))| {
        let fields = value
            .as_object()
            .ok_or_else(|| wrong(format!("`updated_messages[{index}]` is an object, not {value}")))?;
        match origin {
            Origin::Same(place) => Ok(originals[place].clone()),
            Origin::Changed(place) => changed(Some(&originals[place]), fields, index),
            Origin::New => changed(None, fields, index),
        }
    };
    origins
        .into_iter()
        .zip(written)
        .enumerate()
        .map(message)
        .collect()
}

/// A message with the changes of a hook; without an original, a new message.
fn changed(
    original: Option<&Message>,
    fields: &Map<String, Value>,
    index: usize,
) -> Result<Message, Failure> {
    let content = content(original, fields, index)?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    let body = match (text("role").as_deref(), original.map(Message::body)) {
        (
            Some("user"),
            Some(MessageBody::Note {
                kind,
                display,
                details,
                ..
            }),
        ) => MessageBody::Note {
            kind: kind.clone(),
            content,
            display: *display,
            details: details.clone(),
        },
        (Some("user"), _) => MessageBody::User { content },
        (Some("assistant"), original) => assistant(original, content, fields, index)?,
        (Some("tool"), original) => {
            let id = text("tool_call_id")
                .ok_or_else(|| wrong(format!("`updated_messages[{index}]` has no `tool_call_id`")))?;
            let (name, details) = match original {
                Some(MessageBody::Tool {
                    tool_name, details, ..
                }) => (tool_name.clone(), details.clone()),
                _ => Default::default(),
            };
            MessageBody::Tool {
                tool_call_id: id,
                tool_name: name,
                content,
                is_error: fields.get("is_error").and_then(Value::as_bool).unwrap_or(false),
                details,
            }
        }
        (role, _) => {
            return Err(wrong(format!(
                "`updated_messages[{index}].role` is user, assistant, tool or system, not {}",
                role.unwrap_or("absent")
            )));
        }
    };
    Ok(Message::new(MessageRecord {
        id: original.map_or_else(|| format!("hook-{index}"), |message| message.id().to_owned()),
        time_ms: original.map_or(0, |message| message.record().time_ms),
        body,
    }))
}

fn assistant(
    original: Option<&MessageBody>,
    content: Vec<Part>,
    fields: &Map<String, Value>,
    index: usize,
) -> Result<MessageBody, Failure> {
    let tool_calls = match fields.get("tool_calls") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(calls)) => calls
            .iter()
            .map(written_call)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| {
                wrong(format!(
                    "each of `updated_messages[{index}].tool_calls` is {{id, function: {{name, arguments}}}}"
                ))
            })?,
        Some(other) => {
            return Err(wrong(format!(
                "`updated_messages[{index}].tool_calls` is a list, not {other}"
            )));
        }
    };
    let (model, stop_reason, usage) = match original {
        Some(MessageBody::Assistant {
            model,
            stop_reason,
            usage,
            ..
        }) => (model.clone(), *stop_reason, *usage),
        _ => (String::new(), StopReason::Stop, Usage::default()),
    };
    Ok(MessageBody::Assistant {
        content,
        tool_calls,
        model,
        stop_reason,
        usage,
        error: None,
    })
}

/// The parts of a message that a hook wrote. Thoughts that it did not change keep their signature; images stay unless
/// it wrote a list of parts.
fn content(
    original: Option<&Message>,
    fields: &Map<String, Value>,
    index: usize,
) -> Result<Vec<Part>, Failure> {
    let before = original.map_or(&[][..], Message::content);
    let mut content = match fields.get("reasoning_content").and_then(Value::as_str) {
        Some(thought) if thought == thoughts(before) => before
            .iter()
            .filter(|part| matches!(part, Part::Thinking { .. }))
            .cloned()
            .collect(),
        Some(thought) if !thought.is_empty() => vec![Part::Thinking {
            text: thought.to_owned(),
            signature: None,
        }],
        _ => Vec::new(),
    };
    let text = match fields.get("content") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text,
        Some(other) => {
            return Err(wrong(format!(
                "`updated_messages[{index}].content` is a text, not {other}"
            )));
        }
    };
    let shown_parts = parts(before);
    match fields.get("multi_content").and_then(Value::as_array) {
        Some(several) if shown_parts.as_array() != Some(several) => {
            content.extend(several.iter().filter_map(written_part));
        }
        _ => {
            if !text.is_empty() {
                content.push(Part::text(text));
            }
            let images = before.iter().filter(|part| matches!(part, Part::Image { .. }));
            content.extend(images.cloned());
        }
    }
    Ok(content)
}

fn parts(content: &[Part]) -> Value {
    let parts = content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(json!({"type": "text", "text": text})),
        Part::Image { media_type, data } => {
            let url = format!("data:{media_type};base64,{data}");
            Some(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        Part::Thinking { .. } => None,
    });
    parts.collect()
}

fn written_part(value: &Value) -> Option<Part> {
    match value["type"].as_str()? {
        "text" => Some(Part::text(value["text"].as_str()?)),
        _ => {
            let url = value["image_url"]["url"].as_str()?.strip_prefix("data:")?;
            let (media_type, data) = url.split_once(";base64,")?;
            Some(Part::Image {
                media_type: media_type.to_owned(),
                data: data.to_owned(),
            })
        }
    }
}

fn thoughts(content: &[Part]) -> String {
    let thoughts = content.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        _ => None,
    });
    thoughts.collect()
}

fn shown_call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    })
}

fn written_call(value: &Value) -> Option<ToolCall> {
    Some(ToolCall {
        id: value["id"].as_str()?.to_owned(),
        name: value["function"]["name"].as_str()?.to_owned(),
        arguments: value["function"]["arguments"].as_str()?.to_owned(),
    })
}

fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop | StopReason::Cancelled | StopReason::Error => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::Length => "length",
        StopReason::Refused => "content_filter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, body: MessageBody) -> Message {
        Message::new(MessageRecord {
            id: id.into(),
            time_ms: 1,
            body,
        })
    }

    fn conversation() -> Vec<Message> {
        let picture = Part::Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        };
        let thought = Part::Thinking {
            text: "hm".into(),
            signature: Some("seal".into()),
        };
        vec![
            message(
                "u",
                MessageBody::User {
                    content: vec![Part::text("the key is hunter2"), picture],
                },
            ),
            message(
                "a",
                MessageBody::Assistant {
                    content: vec![thought, Part::text("I look")],
                    tool_calls: vec![ToolCall {
                        id: "c".into(),
                        name: "shell".into(),
                        arguments: r#"{"cmd":"ls"}"#.into(),
                    }],
                    model: "m".into(),
                    stop_reason: StopReason::ToolCalls,
                    usage: Usage::default(),
                    error: None,
                },
            ),
            message(
                "t",
                MessageBody::Tool {
                    tool_call_id: "c".into(),
                    tool_name: "shell".into(),
                    content: vec![Part::text("a b")],
                    is_error: true,
                    details: Some(json!({"lines": 1})),
                },
            ),
        ]
    }

    #[test]
    fn what_is_left_alone_stays_what_it_was() {
        let before = conversation();
        let values: Vec<Value> = before.iter().map(shown).collect();
        assert_eq!(written(&before, &values).unwrap(), before);
        assert_eq!(written(&before, &values[1..]).unwrap(), before[1..]);
        assert_eq!(values[1]["tool_calls"][0]["function"]["name"], "shell");
        assert_eq!(values[1]["reasoning_content"], "hm");
        assert_eq!(values[2]["is_error"], true);
    }

    #[test]
    fn changed_words_keep_pictures_thoughts_and_names() {
        let before = conversation();
        let mut values: Vec<Value> = before.iter().map(shown).collect();
        values[0]["content"] = "the key is gone".into();
        values[1]["content"] = "I look around".into();
        values[2]["content"] = "".into();
        let after = written(&before, &values).unwrap();
        assert_eq!(after[0].text(), "the key is gone");
        assert_eq!(after[0].content().len(), 2);
        assert_eq!(after[0].id(), "u");
        assert_eq!(after[1].content()[0], before[1].content()[0]);
        assert_eq!(after[1].tool_calls(), before[1].tool_calls());
        assert!(matches!(after[2].body(), MessageBody::Tool { tool_name, .. } if tool_name == "shell"));
        assert_eq!(after[2].text(), "");
    }

    #[test]
    fn new_messages_are_made_and_odd_ones_are_failures() {
        let added = [
            json!({"role": "system", "content": "be brief"}),
            json!({"role": "user", "content": "hello"}),
            json!({"role": "system", "content": "be kind"}),
        ];
        let (prompt, others) = apart(&added).unwrap();
        assert_eq!(prompt.as_deref(), Some("be brief\n\nbe kind"));
        let after = written(&[], &others).unwrap();
        assert_eq!(after[0].text(), "hello");
        assert_eq!(apart(&added[1..2]).unwrap().0, None);
        assert!(apart(&[json!({"role": "system", "content": 3})]).is_err());
        for odd in [
            json!("text"),
            json!({"role": "nobody"}),
            json!({"role": "tool", "content": "x"}),
            json!({"role": "user", "content": 3}),
            json!({"role": "assistant", "tool_calls": [{"id": 1}]}),
        ] {
            assert!(written(&[], std::slice::from_ref(&odd)).is_err(), "{odd}");
        }
    }
}
