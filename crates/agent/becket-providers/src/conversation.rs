//! A conversation in the form that several interfaces share: runs of messages by one speaker, and the pieces of an
//! answer in the order in which the model wrote them.

use std::borrow::Cow;

use becket_agent::store::fresh_id;
use becket_events::{Message, MessageBody, Part, ToolCall};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::signature::Signature;

/// Who speaks, where there are only two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Model,
}

/// Messages of one speaker in a row, as text of the interface.
pub(crate) struct Run<'m> {
    pub role: Role,
    /// The text of each message, results of tools first.
    pub texts: Vec<Cow<'m, str>>,
}

impl Run<'_> {
    /// Adds the texts, with commas between them.
    pub fn push_to(&self, body: &mut String) {
        let mut separator = "";
        for text in &self.texts {
            body.push_str(separator);
            body.push_str(text);
            separator = ",";
        }
    }
}

/// The runs of a conversation. A message that `write` makes no text of cannot be sent, and its neighbours then follow
/// each other.
pub(crate) fn runs<'m>(
    messages: &'m [Message],
    write: impl Fn(usize, &'m Message) -> Cow<'m, str>,
) -> Vec<Run<'m>> {
    let spoken: Vec<(&Message, Cow<'m, str>)> = messages
        .iter()
        .enumerate()
        .map(|(place, message)| (message, write(place, message)))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let mut runs: Vec<(Run<'m>, usize)> = Vec::new();
    for (message, text) in spoken {
        let role = role(message);
        if runs.last().is_none_or(|(run, _)| run.role != role) {
            let texts = Vec::new();
            runs.push((Run { role, texts }, 0));
        }
        let Some((run, results)) = runs.last_mut() else {
            continue;
        };
        if matches!(message.body(), MessageBody::Tool { .. }) {
            run.texts.insert(*results, text);
            *results += 1;
        } else {
            run.texts.push(text);
        }
    }
    runs.into_iter().map(|(run, _)| run).collect()
}

fn role(message: &Message) -> Role {
    match message.body() {
        MessageBody::Assistant { .. } => Role::Model,
        MessageBody::User { .. } | MessageBody::Tool { .. } | MessageBody::Note { .. } => Role::User,
    }
}

/// A piece of an answer.
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Thought { text: &'a str, data: String },
    Call(&'a ToolCall),
}

/// The pieces of an answer, in the order in which the model wrote them, without white space. Thoughts that `read`
/// cannot read are left out.
pub(crate) fn pieces<'a>(
    content: &'a [Part],
    calls: &'a [ToolCall],
    read: impl Fn(&str) -> Option<Signature>,
) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(content.len() + calls.len());
    let mut calls = calls.iter();
    let count = calls.len();
    for part in content {
        match part {
            Part::Text { text } if text.trim().is_empty() => {}
            Part::Text { text } => pieces.push(Piece::Text(text)),
            Part::Thinking {
                text,
                signature: Some(signature),
            } => {
                let Some(Signature { after_calls, data }) = read(signature) else {
                    continue;
                };
                let written = count - calls.len();
                let due = calls.by_ref().take(after_calls.saturating_sub(written));
                pieces.extend(due.map(Piece::Call));
                pieces.push(Piece::Thought { text, data });
            }
            Part::Thinking { .. } | Part::Image { .. } => {}
        }
    }
    pieces.extend(calls.map(Piece::Call));
    pieces
}

/// Leaves out thoughts at the end of an answer: some interfaces refuse a thought that leads to nothing.
pub(crate) fn without_last_thoughts(pieces: &mut Vec<Piece<'_>>) {
    while let Some(Piece::Thought { .. }) = pieces.last() {
        pieces.pop();
    }
}

/// A call's arguments as an object, which some interfaces demand; anything else that the model wrote is quoted in one.
pub(crate) fn object_of(arguments: &str) -> Box<RawValue> {
    RawValue::from_string(object_text(arguments).into_owned())
        .expect("an object, or one around quoted text, is valid JSON")
}

/// The text of `object_of`, for interfaces that take it as a text: some servers behind them read it as JSON, and refuse
/// every later request of the conversation if it is none.
pub(crate) fn object_text(arguments: &str) -> Cow<'_, str> {
    let text = arguments.trim();
    // Read as a value, because raw JSON may hold half a character, which is no text for the provider.
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(_) => text.into(),
        Err(_) if text.is_empty() => "{}".into(),
        Err(_) => quoted(text).into(),
    }
}

fn quoted(text: &str) -> String {
    format!(r#"{{"unreadable_arguments":{}}}"#, to_json(text))
}

/// A new id for a call that came without one.
pub(crate) fn fresh_call_id() -> String {
    format!("call_{}", fresh_id().replace('-', ""))
}

/// A picture as a URL that holds its bytes.
pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

pub(crate) fn push_json<T: Serialize + ?Sized>(body: &mut String, value: &T) {
    body.push_str(&to_json(value));
}

pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("text, numbers and JSON values can be written as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pieces: &[Piece<'_>]) -> Vec<String> {
        let words = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => format!("text {text}"),
            Piece::Thought { text, data } => format!("thought {text} {data}"),
            Piece::Call(call) => format!("call {}", call.id),
        });
        words.collect()
    }

    #[test]
    fn an_answer_keeps_the_order_of_its_thoughts_and_calls() {
        let thought = |text: &str, signature: &str| Part::Thinking {
            text: text.into(),
            signature: Some(signature.into()),
        };
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "read".into(),
            arguments: String::new(),
        };
        let content = [
            thought("a", "0 x"),
            Part::text("words"),
            thought("b", "1 y"),
            thought("c", "another's"),
            thought("d", "9 z"),
        ];
        let calls = [call("one"), call("two")];
        let read = |text: &str| {
            let (after_calls, data) = text.split_once(' ')?;
            let after_calls = after_calls.parse().ok()?;
            let data = data.to_owned();
            Some(Signature { after_calls, data })
        };
        let mut pieces = pieces(&content, &calls, read);
        assert_eq!(
            told(&pieces),
            [
                "thought a x",
                "text words",
                "call one",
                "thought b y",
                "call two",
                "thought d z"
            ]
        );
        without_last_thoughts(&mut pieces);
        assert_eq!(told(&pieces).last().map(String::as_str), Some("call two"));
    }

    #[test]
    fn what_is_no_object_is_quoted_in_one() {
        let table = [
            ("", "{}"),
            (r#" {"a": 1} "#, r#"{"a": 1}"#),
            ("{}x", r#"{"unreadable_arguments":"{}x"}"#),
            (r#"{"a"#, r#"{"unreadable_arguments":"{\"a"}"#),
            ("[1]", r#"{"unreadable_arguments":"[1]"}"#),
            (
                r#"{"a":"\ud83d"}"#,
                r#"{"unreadable_arguments":"{\"a\":\"\\ud83d\"}"}"#,
            ),
        ];
        for (arguments, object) in table {
            assert_eq!(object_text(arguments), object);
            assert_eq!(object_of(arguments).get(), object);
        }
    }
}
