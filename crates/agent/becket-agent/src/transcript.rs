//! A conversation as text for the summary's writer: how long it is, where it can be cut, and how it reads.

use std::collections::HashSet;
use std::fmt::Write;

use becket_events::{BYTES_PER_TOKEN, Message, MessageBody, PICTURE_TOKENS, Part, StandingSummary};

use crate::entries::{Conversation, Noted};

/// How many characters of each message the summariser sees; each next length is tried if the text is still too long.
const LENGTHS: [usize; 4] = [16_000, 4_000, 1_000, 250];

/// The conversation of a session, as the model sees it.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// The conversation from the last compaction on.
    pub(crate) messages: Vec<Message>,
    /// The summary that replaces everything before `messages`.
    pub(crate) standing: Option<StandingSummary>,
    /// How many messages were kept at the last compaction. Their token counts say nothing about the next request.
    pub(crate) unmeasured: usize,
    /// The length of the conversation, as far as its messages have been counted.
    pub(crate) measured: Measured,
    /// What entries of the conversation note besides messages.
    pub(crate) noted: Noted,
}

/// The length of a conversation: how many of its messages were counted, and how many tokens they have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    pub(crate) messages: usize,
    pub(crate) tokens: u64,
}

impl Transcript {
    /// Loads a conversation from its entries. Returns the member of a team that spoke last in it, if one did.
    pub(crate) fn take_up(&mut self, conversation: Conversation) -> Option<String> {
        let Conversation {
            messages,
            unmeasured,
            standing,
            noted,
        } = conversation;
        let speaker = noted.speaker.clone();
        *self = Self {
            messages,
            standing,
            unmeasured,
            measured: Measured::default(),
            noted,
        };
        speaker
    }

    /// The summary that replaces the older part of the conversation.
    pub(crate) fn summary(&self) -> Option<&str> {
        self.standing.as_ref().map(|standing| standing.text.as_str())
    }

    /// Removes all messages and the summary.
    pub(crate) fn clear(&mut self) {
        self.messages.clear();
        self.unmeasured = 0;
        self.measured = Measured::default();
        self.standing = None;
    }

    /// Replaces the messages before a place by a summary, and returns them.
    pub(crate) fn replace_before(&mut self, cut: usize, summary: StandingSummary) -> Vec<Message> {
        let gone = self.messages.drain(..cut).collect();
        self.standing = Some(summary);
        self.unmeasured = self.messages.len();
        self.measured = Measured::default();
        gone
    }

    /// Whether there are tool results after the model's last answer.
    pub(crate) fn ends_with_results(&self) -> bool {
        let is_answer = |message: &&Message| matches!(message.body(), MessageBody::Assistant { .. });
        let newest = self
            .messages
            .iter()
            .rev()
            .take_while(|message| !is_answer(message));
        let mut results = newest.filter(|message| matches!(message.body(), MessageBody::Tool { .. }));
        results.next().is_some()
    }

    /// How many tokens the conversation has by now: what the provider counted with its last answer, and an estimate of
    /// what came after it; `fixed_bytes` is the size of everything before the conversation. What was counted before a
    /// compaction says nothing any more. Each message is looked at once, so that a turn costs the same however long the
    /// conversation is.
    pub(crate) fn tokens(&mut self, fixed_bytes: impl FnOnce() -> usize) -> u64 {
        if self.measured.messages == 0 {
            self.measured.tokens = tokens_in(fixed_bytes() + self.summary().map_or(0, str::len));
        }
        let new = self.messages.iter().enumerate().skip(self.measured.messages);
        for (place, message) in new {
            let counted = match message.body() {
                MessageBody::Assistant { usage, .. }
                    if usage.input_tokens > 0 && place >= self.unmeasured =>
                {
                    Some(usage.input_tokens + usage.output_tokens)
                }
                _ => None,
            };
            let estimated = self.measured.tokens + tokens_of(message);
            self.measured.tokens = counted.unwrap_or(estimated);
        }
        self.measured.messages = self.messages.len();
        self.measured.tokens
    }
}

/// How many tokens a text of this size has, roughly.
pub(crate) fn tokens_in(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// How many tokens a message has, roughly.
pub(crate) fn tokens_of(message: &Message) -> u64 {
    let calls = message.tool_calls().iter();
    let bytes: usize = calls.map(|call| call.name.len() + call.arguments.len()).sum();
    let content = message.content().iter();
    let content = content.map(|part| match part {
        Part::Text { text } | Part::Thinking { text, .. } => tokens_in(text.len()),
        Part::Image { .. } => PICTURE_TOKENS as u64,
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

/// The index at which to cut so that `wanted` messages are before it, or as few more as it takes to keep calls and
/// results together, else fewer. The prompt at `prompt` and what came after it stay, as long as there is something
/// before it; at least one message stays in any case.
pub(crate) fn place_to_cut(messages: &[Message], wanted: usize, prompt: usize) -> Option<usize> {
    let last = messages.len().checked_sub(1).filter(|last| *last > 0)?;
    let last = if prompt > 0 { last.min(prompt) } else { last };
    let wanted = wanted.clamp(1, last);
    // A message of the user begins something; a few messages more are a small price for that.
    let near = wanted..=last.min(wanted + messages.len() / 10 + 1);
    let mut beginnings = near.filter(|place| matches!(messages[*place].body(), MessageBody::User { .. }));
    let mut places = (wanted..=last).chain((1..wanted).rev());
    let may_cut = |place: &usize| may_cut(messages, *place);
    beginnings.find(may_cut).or_else(|| places.find(may_cut))
}

/// The summariser's prompt: the summary so far, the messages, and what to pay attention to.
pub(crate) fn task(
    summary: Option<&str>,
    messages: &[Message],
    instructions: &[&str],
    window: u64,
) -> String {
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
    if !instructions.is_empty() {
        let _ = write!(
            task,
            "\n\nPay attention to this:\n\n{}",
            instructions.join("\n\n")
        );
    }
    task
}

/// The messages as text, each cut to `length` characters.
fn reading(messages: &[Message], length: usize) -> String {
    let mut text = String::new();
    for message in messages {
        let speaker = match message.body() {
            MessageBody::User { .. } => "User".to_string(),
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

/// The beginning and the end of a text that is longer than `length` characters.
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
        assert_eq!(place_to_cut(&messages, 6, 0), Some(7), "where the user speaks");
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
        let whole = task(Some("OLD"), &messages, &["FOCUS"], 100_000);
        for words in ["OLD", "characters left out", "[calls shell {}]", "FOCUS"] {
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
