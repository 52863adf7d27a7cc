//! Calls without results, which providers do not take: hooks may have left the results out of a request.
//!
//! The results are added to the request and not to the conversation. Hooks of `model_context` may leave out what they
//! like, and no provider accepts a call without a result; what is stored stays true.

use std::borrow::Cow;

use becket_events::{Message, MessageBody, Part};

use crate::message::tool_result;

/// The text in place of a missing result.
const NO_RESULT: &str = "No result provided";

/// The messages, with a result for every call that has none.
pub fn with_missing_results(messages: &[Message]) -> Cow<'_, [Message]> {
    if (0..messages.len()).all(|place| missing(messages, place).is_empty()) {
        return Cow::Borrowed(messages);
    }
    let mut whole = Vec::with_capacity(messages.len() + 1);
    // Added results go behind those that are there, so that a call's results stay together.
    let mut due: Vec<Message> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if !is_result(message) {
            whole.append(&mut due);
        }
        whole.push(message.clone());
        due.extend(missing(messages, place));
    }
    whole.append(&mut due);
    Cow::Owned(whole)
}

/// Results for the calls of one message that have none before the next answer of the model.
fn missing(messages: &[Message], place: usize) -> Vec<Message> {
    let calls = messages[place].tool_calls();
    if calls.is_empty() {
        return Vec::new();
    }
    let is_answer = |message: &&Message| matches!(message.body(), MessageBody::Assistant { .. });
    let after = messages[place + 1..].iter();
    let answered: Vec<&str> = after
        .take_while(|message| !is_answer(message))
        .filter_map(|message| match message.body() {
            MessageBody::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    let open = calls.iter().filter(|call| !answered.contains(&call.id.as_str()));
    let result = |id: &str, name: &str| tool_result(id, name, vec![Part::text(NO_RESULT)], true);
    open.map(|call| result(&call.id, &call.name)).collect()
}

fn is_result(message: &Message) -> bool {
    matches!(message.body(), MessageBody::Tool { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{note, record, user};
    use becket_events::{StopReason, ToolCall, Usage};
    use proptest::prelude::*;

    fn calls(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall {
            id: (*id).into(),
            name: "shell".into(),
            arguments: "{}".into(),
        };
        let body = MessageBody::Assistant {
            content: Vec::new(),
            tool_calls: ids.iter().map(call).collect(),
            model: String::new(),
            stop_reason: StopReason::ToolCalls,
            usage: Usage::default(),
            error: None,
        };
        Message::new(record("a".into(), body))
    }

    fn result(id: &str) -> Message {
        tool_result(id, "shell", vec![Part::text("there")], false)
    }

    /// One word for each message.
    fn words(messages: &[Message]) -> Vec<String> {
        let word = |message: &Message| match message.body() {
            MessageBody::Tool { tool_call_id, .. } => format!("{tool_call_id} {}", message.text()),
            MessageBody::Assistant { tool_calls, .. } => format!("calls {}", tool_calls.len()),
            _ => message.text(),
        };
        messages.iter().map(word).collect()
    }

    #[test]
    fn calls_without_results_get_one_where_it_belongs() {
        let whole = [
            user("u", Vec::new()),
            calls(&["1", "2"]),
            result("1"),
            result("2"),
        ];
        assert!(matches!(with_missing_results(&whole), Cow::Borrowed(_)));
        // The same id may come again: a later result is not that of an earlier call.
        let torn = [
            calls(&["1", "2"]),
            result("2"),
            note("hook", "n"),
            calls(&["1"]),
            result("1"),
            calls(&["3"]),
        ];
        assert_eq!(
            words(&with_missing_results(&torn)),
            [
                "calls 2",
                "2 there",
                "1 No result provided",
                "n",
                "calls 1",
                "1 there",
                "calls 1",
                "3 No result provided",
            ]
        );
    }

    proptest! {
        #[test]
        fn afterwards_no_call_is_without_a_result(
            kinds in proptest::collection::vec(0_usize..5, 0..12),
        ) {
            let messages: Vec<Message> = kinds
                .iter()
                .map(|kind| match kind {
                    0 => user("u", Vec::new()),
                    1 => calls(&["1"]),
                    2 => calls(&["1", "2"]),
                    3 => result("1"),
                    _ => result("2"),
                })
                .collect();
            let whole = with_missing_results(&messages);
            prop_assert!((0..whole.len()).all(|place| missing(&whole, place).is_empty()));
            let kept: Vec<&Message> = whole.iter().filter(|message| messages.contains(message)).collect();
            prop_assert_eq!(kept, messages.iter().collect::<Vec<_>>());
        }
    }
}
