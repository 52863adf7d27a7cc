//! Messages, answers and results of tools as the standard shows them, and what a change of them means in becket.

use becket_events::{
    Message, MessageBody, MessageRecord, ModelContextPayload, Part, StopReason, ToolCall, lines_of, text_of,
};
use serde_json::{Map, Value, json};

use crate::canonical::{NotCanonical, read_exactly};

/// What the model is about to see.
pub struct Shown<'a>(pub &'a ModelContextPayload);

impl Shown<'_> {
    /// The messages, the system prompt first.
    pub fn messages(&self) -> Result<Value, NotCanonical> {
        let messages = self.0.messages.iter().map(message);
        self.system().into_iter().map(Ok).chain(messages).collect()
    }

    fn system(&self) -> Option<Value> {
        let prompt = &self.0.system_prompt;
        (!prompt.is_empty()).then(|| json!({"role": "system", "content": prompt}))
    }

    /// The system prompt and the messages after a change; `None` if a message has become something that becket cannot
    /// write.
    pub fn changed(&self, target: &Value) -> Option<(String, Vec<Message>)> {
        let target = target.as_array()?;
        let (system, rest): (&[Value], &[Value]) = match target.split_first() {
            Some((first, rest)) if first["role"] == "system" => (std::slice::from_ref(first), rest),
            _ => (&[], target.as_slice()),
        };
        let system = match system.first() {
            Some(system) => system["content"].as_str()?.to_owned(),
            None => String::new(),
        };
        let old = self.0.messages.iter().map(|old| Some((old, message(old).ok()?)));
        let old: Vec<(&Message, Value)> = old.collect::<Option<_>>()?;
        let is_same_count = old.len() == rest.len();
        let mut next = 0;
        let messages = rest.iter().enumerate().map(|(index, new)| {
            // A message that stands there unchanged keeps what the standard does not show.
            if let Some(place) = old[next..].iter().position(|(_, shown)| shown == new) {
                next += place + 1;
                return Some(old[next - 1].0.clone());
            }
            match old.get(index).filter(|_| is_same_count) {
                Some((old, shown)) => {
                    next = next.max(index + 1);
                    rewritten(old, shown, new)
                }
                None => written(new),
            }
        });
        Some((system, messages.collect::<Option<_>>()?))
    }
}

/// A message in the form of the standard. The model reads notes as if the user had said them.
fn message(message: &Message) -> Result<Value, NotCanonical> {
    let content = content(message.content());
    Ok(match message.body() {
        MessageBody::User { .. } | MessageBody::Note { .. } => json!({"role": "user", "content": content}),
        MessageBody::Assistant { tool_calls, .. } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": content})
        }
        MessageBody::Assistant { tool_calls, .. } => {
            json!({"role": "assistant", "content": content, "tool_calls": calls(tool_calls)?})
        }
        MessageBody::Tool { tool_call_id, .. } => {
            json!({"role": "tool", "content": content, "tool_call_id": tool_call_id})
        }
    })
}

/// Text as text, anything else as a list of parts. Thoughts are nobody's words.
fn content(parts: &[Part]) -> Value {
    let is_image = |part: &Part| matches!(part, Part::Image { .. });
    let is_thought = |part: &&Part| matches!(part, Part::Thinking { .. });
    match parts.iter().any(is_image) {
        false => text_of(parts).into(),
        true => parts
            .iter()
            .filter(|part| !is_thought(part))
            .map(|part| json!(part))
            .collect(),
    }
}

/// A message with other words and, in an answer, other calls; everything else must be as it was.
fn rewritten(old: &Message, shown: &Value, new: &Value) -> Option<Message> {
    let (shown, new) = (shown.as_object()?, new.as_object()?);
    let others = |map: &Map<String, Value>| {
        let mut map = map.clone();
        map.remove("content");
        map
    };
    let text = new.get("content")?.as_str()?;
    (others(shown) == others(new)).then(|| with_text(old, text))
}

/// A message that was not there before. Answers and results belong to calls, so that none can be written anew.
fn written(new: &Value) -> Option<Message> {
    let body = new.as_object().filter(|new| new.len() == 2)?;
    let text = body.get("content")?.as_str()?;
    let is_user = body.get("role")? == "user";
    let body = MessageBody::User {
        content: vec![Part::text(text)],
    };
    is_user.then(|| {
        Message::new(MessageRecord {
            id: String::new(),
            time_ms: 0,
            body,
        })
    })
}

/// A message in which the text is replaced; images and thoughts stay.
fn with_text(message: &Message, text: &str) -> Message {
    let mut record = message.record().clone();
    let (MessageBody::User { content }
    | MessageBody::Assistant { content, .. }
    | MessageBody::Tool { content, .. }
    | MessageBody::Note { content, .. }) = &mut record.body;
    content.retain(|part| !matches!(part, Part::Text { .. }));
    if !text.is_empty() {
        content.push(Part::text(text));
    }
    Message::new(record)
}

/// The model's answer.
pub struct Answer<'a>(pub &'a Message);

impl Answer<'_> {
    /// The answer in the form of the standard.
    pub fn response(&self) -> Result<Value, NotCanonical> {
        let MessageBody::Assistant { stop_reason, .. } = self.0.body() else {
            return Ok(Value::Null);
        };
        let calls = calls(self.0.tool_calls())?;
        let text = self.0.text();
        let content = match text.is_empty() && !calls.is_empty() {
            true => Value::Null,
            false => text.into(),
        };
        Ok(json!({"content": content, "tool_calls": calls, "finish_reason": finish_reason(*stop_reason)}))
    }

    /// What the answer has cost.
    pub fn usage(&self) -> Value {
        let MessageBody::Assistant { usage, .. } = self.0.body() else {
            return json!({});
        };
        json!({"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens})
    }

    /// The answer after a change; `None` if becket cannot write it.
    pub fn changed(&self, target: &Value) -> Option<Message> {
        let MessageBody::Assistant { stop_reason, .. } = self.0.body() else {
            return None;
        };
        let text = match &target["content"] {
            Value::Null => "",
            text => text.as_str()?,
        };
        let calls = target["tool_calls"].as_array()?;
        let calls: Vec<ToolCall> = calls.iter().map(read_call).collect::<Option<_>>()?;
        if target["finish_reason"] != finish_reason(*stop_reason) {
            return None;
        }
        let mut record = with_text(self.0, text).record().clone();
        let MessageBody::Assistant { tool_calls, .. } = &mut record.body else {
            return None;
        };
        *tool_calls = calls;
        Some(Message::new(record))
    }
}

/// Calls in the form of the standard, in which arguments are an object. What the model wrote in place of one stands
/// beside it; no tool runs with that.
fn calls(calls: &[ToolCall]) -> Result<Vec<Value>, NotCanonical> {
    let shown = calls.iter().map(|call| {
        let written = call.arguments.trim();
        let arguments = match written {
            "" => Some(json!({})),
            written => read_exactly(written)?.filter(Value::is_object),
        };
        let mut shown = json!({"id": call.id, "name": call.name, "args": arguments});
        if arguments.is_none() {
            shown["args"] = json!({});
            shown[WRITTEN] = written.into();
        }
        Ok(shown)
    });
    shown.collect()
}

/// The member of a call with what the model wrote in place of arguments.
const WRITTEN: &str = "args_text";

fn read_call(call: &Value) -> Option<ToolCall> {
    let text = |name: &str| call.get(name)?.as_str().map(ToOwned::to_owned);
    let arguments = call.get("args")?.as_object()?;
    let written = text(WRITTEN).filter(|_| arguments.is_empty());
    Some(ToolCall {
        id: text("id")?,
        name: text("name")?,
        arguments: written.unwrap_or_else(|| json!(arguments).to_string()),
    })
}

fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::Length => "length",
        StopReason::Refused => "content_filter",
        StopReason::Cancelled => "cancelled",
        StopReason::Error => "error",
    }
}

/// The result of a tool as a value: an object or a list if its text is one, else its text; its parts if it is no text.
pub fn value_of(content: &[Part]) -> Result<Value, NotCanonical> {
    if content.iter().any(|part| !matches!(part, Part::Text { .. })) {
        return Ok(json!(content));
    }
    let text = lines_of(content);
    let structure = match text.trim_start().starts_with(['{', '[']) {
        true => read_exactly(&text)?,
        false => None,
    };
    Ok(structure.unwrap_or(Value::String(text)))
}

/// A changed value as the result of a tool.
pub fn output_of(value: &Value) -> Vec<Part> {
    match value {
        Value::String(text) => vec![Part::text(text)],
        Value::Array(parts) if !parts.is_empty() => {
            let parts: Result<Vec<Part>, _> = serde_json::from_value(parts.clone().into());
            parts.unwrap_or_else(|_| vec![Part::text(value.to_string())])
        }
        other => vec![Part::text(other.to_string())],
    }
}

#[cfg(test)]
mod tests {
    use becket_events::{RequestPurpose, Usage};

    use super::*;

    fn message_of(body: MessageBody) -> Message {
        Message::new(MessageRecord {
            id: "m".into(),
            time_ms: 1,
            body,
        })
    }

    fn answer() -> Message {
        message_of(MessageBody::Assistant {
            content: vec![
                Part::Thinking {
                    text: "a thought".into(),
                    signature: None,
                },
                Part::text("words"),
            ],
            tool_calls: vec![ToolCall {
                id: "c".into(),
                name: "shell".into(),
                arguments: "{\"command\":\"ls\"}".into(),
            }],
            model: "m".into(),
            stop_reason: StopReason::ToolCalls,
            usage: Usage::default(),
            error: None,
        })
    }

    fn shown(messages: Vec<Message>) -> ModelContextPayload {
        ModelContextPayload {
            system_prompt: "be kind".into(),
            messages,
            summary: None,
            iteration: 1,
            purpose: RequestPurpose::Answer,
        }
    }

    fn user(text: &str) -> Message {
        message_of(MessageBody::User {
            content: vec![Part::text(text)],
        })
    }

    #[test]
    fn an_unchanged_conversation_stays_what_it_is() {
        let payload = shown(vec![user("one"), answer(), user("two")]);
        let target = Shown(&payload).messages().unwrap();
        assert_eq!(target[0], json!({"role": "system", "content": "be kind"}));
        assert_eq!(target[2]["tool_calls"][0]["args"]["command"], "ls");
        let (system, messages) = Shown(&payload).changed(&target).unwrap();
        assert_eq!((system.as_str(), messages), ("be kind", payload.messages));
    }

    #[test]
    fn a_conversation_is_changed_message_by_message() {
        let payload = shown(vec![user("one"), answer(), user("two")]);
        let mut target = Shown(&payload).messages().unwrap();
        target[0]["content"] = json!("be strict");
        target[2]["content"] = json!("other words");
        let (system, messages) = Shown(&payload).changed(&target).unwrap();
        assert_eq!(system, "be strict");
        assert_eq!(messages[1].text(), "other words");
        assert_eq!(messages[1].content().len(), 2, "the thought stays");
        assert_eq!(
            (&messages[0], &messages[2]),
            (&payload.messages[0], &payload.messages[2])
        );
        // One is left out and one is new.
        let target = json!([target[1], target[3], {"role": "user", "content": "three"}]);
        let (system, messages) = Shown(&payload).changed(&target).unwrap();
        assert_eq!(system, "");
        let texts: Vec<String> = messages.iter().map(Message::text).collect();
        assert_eq!(texts, ["one", "two", "three"]);
    }

    #[test]
    fn what_becket_cannot_write_is_no_change() {
        let payload = shown(vec![user("one"), answer()]);
        let messages = Shown(&payload).messages().unwrap();
        let mut role = messages.clone();
        role[1]["role"] = json!("tool");
        let mut calls = messages.clone();
        calls[2]["tool_calls"] = json!([]);
        let invented =
            json!([messages[0], messages[1], messages[2], {"role": "assistant", "content": "yes"}]);
        let parts =
            json!([messages[0], {"role": "user", "content": [{"type": "text", "text": "x"}]}, messages[2]]);
        for target in [role, calls, invented, parts, json!("text"), json!([1])] {
            assert!(Shown(&payload).changed(&target).is_none(), "{target}");
        }
    }

    #[test]
    fn an_answer_is_changed_and_keeps_its_thoughts() {
        let answer = answer();
        let mut target = Answer(&answer).response().unwrap();
        target["content"] = Value::Null;
        target["tool_calls"][0]["args"] = json!({"command": "pwd"});
        let changed = Answer(&answer).changed(&target).unwrap();
        assert_eq!(changed.text(), "");
        assert_eq!(changed.tool_calls()[0].arguments, "{\"command\":\"pwd\"}");
        assert_eq!(changed.content().len(), 1);
        target["finish_reason"] = json!("stop");
        assert!(Answer(&answer).changed(&target).is_none());
    }

    #[test]
    fn arguments_are_an_object_whatever_the_model_wrote() {
        for (written, arguments, beside) in [
            ("", json!({}), Value::Null),
            ("{\"n\": 1}", json!({"n": 1}), Value::Null),
            ("{\"n\": ", json!({}), json!("{\"n\":")),
            ("[1]", json!({}), json!("[1]")),
        ] {
            let call = ToolCall {
                id: "c".into(),
                name: "shell".into(),
                arguments: written.into(),
            };
            let shown = calls(std::slice::from_ref(&call)).unwrap().remove(0);
            assert_eq!(
                (&shown["args"], &shown[WRITTEN]),
                (&arguments, &beside),
                "{written}"
            );
            let read = read_call(&shown).unwrap();
            assert_eq!(calls(&[read]).unwrap(), [shown], "{written}");
        }
        let huge = ToolCall {
            id: "c".into(),
            name: "shell".into(),
            arguments: "{\"n\": 18446744073709551616}".into(),
        };
        assert_eq!(calls(&[huge]), Err(NotCanonical::Integer));
    }

    #[test]
    fn results_are_structures_or_text() {
        let cases = [
            ("4", json!("4")),
            ("{\"a\": 1}", json!({"a": 1})),
            ("[1]", json!([1])),
            ("{not json", json!("{not json")),
            ("", json!("")),
        ];
        for (text, value) in cases {
            assert_eq!(value_of(&[Part::text(text)]), Ok(value));
        }
        assert_eq!(output_of(&json!("x")), [Part::text("x")]);
        assert_eq!(output_of(&json!({"a": 1})), [Part::text("{\"a\":1}")]);
        let image = Part::Image {
            media_type: "image/png".into(),
            data: "AA==".into(),
        };
        assert_eq!(
            output_of(&value_of(std::slice::from_ref(&image)).unwrap()),
            [image]
        );
    }
}
