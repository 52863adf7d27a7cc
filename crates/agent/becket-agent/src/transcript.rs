//! A conversation as text for whoever summarises it: how much it is, where it can be cut, and how it reads.

use std::collections::HashSet;
use std::fmt::Write;

use becket_events::{Message, MessageBody, Part};

/// Bytes that make a token, roughly.
const BYTES_PER_TOKEN: usize = 4;

/// What a picture costs, roughly.
const PICTURE_TOKENS: u64 = 1_500;

/// How many characters of one message the summariser sees; the next one where all together are still too much.
const LENGTHS: [usize; 4] = [16_000, 4_000, 1_000, 250];

/// How many tokens so many bytes of text are, roughly.
pub(crate) fn tokens_in(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// How many tokens a message is, roughly.
pub(crate) fn tokens_of(message: &Message) -> u64 {
    let calls = message.tool_calls().iter();
    let bytes: usize = calls.map(|call| call.name.len() + call.arguments.len()).sum();
    let content = message.content().iter();
    let content = content.map(|part| match part {
        Part::Text { text } | Part::Thinking { text, .. } => tokens_in(text.len()),
        Part::Image { .. } => PICTURE_TOKENS,
    });
    tokens_in(bytes) + content.sum::<u64>()
}

/// Whether a conversation can be cut before a message: calls and their results stay together.
pub(crate) fn may_cut(messages: &[Message], place: usize) -> bool {
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages.iter().take(place) {
        open.extend(message.tool_calls().iter().map(|call| call.id.as_str()));
        if let MessageBody::Tool { tool_call_id, .. } = message.body() {
            open.remove(tool_call_id.as_str());
        }
    }
    let answered = messages
        .iter()
        .skip(place)
        .filter_map(|message| match message.body() {
            MessageBody::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
            _ => None,
        });
    place > 0 && place <= messages.len() && !answered.into_iter().any(|id| open.contains(id))
}

/// Where to cut so that `wanted` messages are before it, or as few more as it takes to keep calls and results together,
/// else fewer. The prompt at `prompt` and what came after it stay, as long as there is something before it; at least
/// one message stays in any case.
pub(crate) fn place_to_cut(messages: &[Message], wanted: usize, prompt: usize) -> Option<usize> {
    let last = messages.len().checked_sub(1).filter(|last| *last > 0)?;
    let last = if prompt > 0 { last.min(prompt) } else { last };
    let wanted = wanted.clamp(1, last);
    // What the person says begins something; a few messages more are a small price for that.
    let near = wanted..=last.min(wanted + messages.len() / 10 + 1);
    let mut beginnings = near.filter(|place| matches!(messages[*place].body(), MessageBody::User { .. }));
    let mut places = (wanted..=last).chain((1..wanted).rev());
    let may_cut = |place: &usize| may_cut(messages, *place);
    beginnings.find(may_cut).or_else(|| places.find(may_cut))
}

/// What the summariser is given: the summary so far, the messages, and what to pay attention to.
pub(crate) fn task(summary: Option<&str>, messages: &[Message], wishes: &[&str], window: u64) -> String {
    let mut task = String::new();
    if let Some(summary) = summary {
        let _ = write!(task, "The summary so far, which yours replaces:\n\n{summary}\n\n");
    }
    // Three quarters of the window are for the conversation; the rest is for what stands around it and the answer.
    let room = window as usize / 4 * 3 * BYTES_PER_TOKEN;
    let mut readings = LENGTHS.iter().map(|length| reading(messages, *length));
    let fitting = readings.find(|text| text.len() <= room);
    let text = fitting.unwrap_or_else(|| shortened(&reading(messages, LENGTHS[3]), room / BYTES_PER_TOKEN));
    let _ = write!(task, "The conversation:\n\n{text}");
    if !wishes.is_empty() {
        let _ = write!(task, "\n\nPay attention to this:\n\n{}", wishes.join("\n\n"));
    }
    task
}

/// The messages as text, none of them longer than that many characters.
fn reading(messages: &[Message], length: usize) -> String {
    let mut text = String::new();
    for message in messages {
        let speaker = match message.body() {
            MessageBody::User { .. } => "Person".to_string(),
            MessageBody::Assistant { .. } => "Assistant".to_string(),
            MessageBody::Tool {
                tool_name, is_error, ..
            } => {
                let outcome = if *is_error { "Failure" } else { "Result" };
                format!("{outcome} of {tool_name}")
            }
            MessageBody::Note { kind, .. } => format!("Note ({kind})"),
        };
        let _ = write!(text, "{speaker}: {}", shortened(&message.text(), length));
        let pictures = message.content().iter();
        for _ in pictures.filter(|part| matches!(part, Part::Image { .. })) {
            text.push_str(" [a picture]");
        }
        for call in message.tool_calls() {
            let _ = write!(
                text,
                "\n[calls {} {}]",
                call.name,
                shortened(&call.arguments, length)
            );
        }
        text.push_str("\n\n");
    }
    text
}

/// The beginning and the end of a text that is longer than that many characters.
fn shortened(text: &str, length: usize) -> String {
    let characters = text.chars().count();
    if characters <= length {
        return text.into();
    }
    let half = length / 2;
    let beginning: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(characters - half).collect();
    format!(
        "{beginning}\n[… {} characters left out …]\n{end}",
        characters - 2 * half
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{note, record, tool_result, user};
    use becket_events::{StopReason, ToolCall, Usage};
    use proptest::prelude::*;

    fn assistant(text: &str, calls: &[String]) -> Message {
        let call = |id: &String| ToolCall {
            id: id.clone(),
            name: "shell".into(),
            arguments: "{}".into(),
        };
        let body = MessageBody::Assistant {
            content: vec![Part::text(text)],
            tool_calls: calls.iter().map(call).collect(),
            model: String::new(),
            stop_reason: StopReason::Stop,
            usage: Usage::default(),
            error: None,
        };
        Message::new(record(text.into(), body))
    }

    /// A conversation: for each number a prompt, and so many calls with their results before the answer.
    fn conversation(calls: &[usize]) -> Vec<Message> {
        let mut messages = Vec::new();
        for (turn, count) in calls.iter().enumerate() {
            messages.push(user("p", Vec::new()));
            let ids: Vec<String> = (0..*count).map(|call| format!("{turn}-{call}")).collect();
            messages.push(assistant("", &ids));
            messages.extend(ids.iter().map(|id| tool_result(id, "shell", Vec::new(), false)));
            if *count > 0 {
                messages.push(note("hook", "n"));
                messages.push(assistant("a", &[]));
            }
        }
        messages
    }

    proptest! {
        #[test]
        fn a_cut_keeps_calls_with_their_results_and_never_takes_the_prompt(
            calls in proptest::collection::vec(0_usize..4, 1..6),
            wanted in 0_usize..40,
            prompt in 0_usize..40,
        ) {
            let messages = conversation(&calls);
            let prompt = prompt.min(messages.len());
            let Some(cut) = place_to_cut(&messages, wanted, prompt) else {
                return Ok(());
            };
            prop_assert!(cut >= 1 && cut < messages.len());
            prop_assert!(prompt == 0 || cut <= prompt);
            let asked: Vec<&str> =
                messages[..cut].iter().flat_map(Message::tool_calls).map(|call| call.id.as_str()).collect();
            for message in &messages[cut..] {
                if let MessageBody::Tool { tool_call_id, .. } = message.body() {
                    prop_assert!(!asked.contains(&tool_call_id.as_str()));
                }
            }
        }
    }

    #[test]
    fn where_a_conversation_is_cut() {
        let messages = conversation(&[3, 0]);
        // p, call, three results, note, a, p, a
        assert_eq!(
            place_to_cut(&messages, 4, 7),
            Some(5),
            "the call goes with its results"
        );
        assert_eq!(
            place_to_cut(&messages, 4, 3),
            Some(1),
            "before the prompt, even if that is little"
        );
        assert_eq!(place_to_cut(&messages, 6, 0), Some(7), "where the person speaks");
        assert_eq!(place_to_cut(&messages, 100, 0), Some(8), "something stays");
        assert_eq!(place_to_cut(&messages[..1], 1, 0), None);
        assert_eq!(place_to_cut(&[], 1, 0), None);
    }

    #[test]
    fn long_messages_are_shortened_until_all_of_them_fit() {
        let messages = [
            user(&"word ".repeat(10_000), Vec::new()),
            assistant("a", &["1".into()]),
        ];
        let whole = task(Some("OLD"), &messages, &["WISH"], 100_000);
        for words in ["OLD", "characters left out", "[calls shell {}]", "WISH"] {
            assert!(whole.contains(words), "{words}");
        }
        assert!((16_000..20_000).contains(&whole.len()), "{}", whole.len());
        assert!(task(None, &messages, &[], 400).len() < 1_300);
        assert!(
            task(None, &messages, &[], 1).len() < 400,
            "even where nothing fits"
        );
    }
}
