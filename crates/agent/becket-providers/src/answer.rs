//! From the bytes of an answer to its parts, whatever the wire format.
//!
//! The formats differ in what an event says (`AnswerReader`); this file holds what is common to all of them: no wait
//! without a deadline, no answer without a limit, and nothing counts as complete before the provider said so.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use becket_agent::provider::{AnswerPart, ProviderError, ProviderErrorKind};
use becket_events::{Delta, Json};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};
use tokio::time::{Instant, timeout, timeout_at};

use crate::damage::{Damage, with_whole_characters};
use crate::failure;
use crate::secret::Secret;

/// The largest answer that is read.
pub(crate) const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// How long to wait for usage figures about a message that is already complete.
const SETTLING_TIME: Duration = Duration::from_secs(5);

/// For how many idle times a provider may send nothing but signs of life.
const SIGNS_OF_LIFE: u32 = 10;

pub(crate) type PartStream = Pin<Box<dyn Stream<Item = Result<AnswerPart, ProviderError>> + Send>>;
pub(crate) type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, ReadFailure>> + Send>>;
type EventStream = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

/// Reads the events of an answer in one wire format.
pub(crate) trait AnswerReader: Send {
    /// Reads one event and adds the parts that it brings.
    fn event(&mut self, data: &str, parts: &mut VecDeque<AnswerPart>) -> Result<Progress, Unreadable>;

    /// The end of the message, if the provider has said that it is complete.
    fn complete(&mut self, parts: &mut VecDeque<AnswerPart>) -> Option<AnswerPart>;
}

impl AnswerReader for Box<dyn AnswerReader> {
    fn event(&mut self, data: &str, parts: &mut VecDeque<AnswerPart>) -> Result<Progress, Unreadable> {
        (**self).event(data, parts)
    }

    fn complete(&mut self, parts: &mut VecDeque<AnswerPart>) -> Option<AnswerPart> {
        (**self).complete(parts)
    }
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More must follow.
    Open,
    /// The message is complete; figures about it may follow.
    Settling,
    /// Nothing of interest follows.
    Finished,
}

/// Why an event could not be used.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The provider reports a failure.
    Reported(Value),
    /// The event cannot be understood.
    Nonsense(String),
}

/// Why bytes stopped coming.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadFailure {
    #[error("sent nothing for {} seconds", .0.as_secs_f64())]
    Idle(Duration),
    #[error("lost the connection ({0})")]
    Connection(String),
    #[error("sent more than {} MiB", LARGEST_ANSWER / (1024 * 1024))]
    TooLarge,
}

/// How an answer's bytes are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON document, from a server that does not stream or was told not to.
    Document,
    /// The server does not say; the first sign of the answer does.
    Undeclared,
}

/// The provider that an answer comes from, for messages.
pub(crate) struct Origin {
    /// The address, without credentials.
    pub place: String,
    /// The key, so that it can be masked in what the provider says.
    pub key: Option<Secret>,
    /// Whether the data are passed on before they are read.
    pub with_data: bool,
}

/// The parts of an answer, read from its bytes.
pub(crate) fn parts<R: AnswerReader + 'static>(
    bytes: impl Stream<Item = Result<Bytes, ReadFailure>> + Send + 'static,
    framing: Framing,
    reader: R,
    origin: Origin,
    idle: Duration,
) -> PartStream {
    let damage = Damage::default();
    let bytes: ByteStream = Box::pin(damage.mend(with_deadlines(bytes, idle)));
    let events: EventStream = match framing {
        Framing::Events => events(bytes),
        Framing::Document => Box::pin(stream::once(document(bytes))),
        Framing::Undeclared => Box::pin(stream::once(undeclared(bytes)).flatten()),
    };
    let reading = Reading {
        events,
        reader,
        damage,
        origin,
        idle,
        ready: VecDeque::new(),
        progress: Progress::Open,
        arrived: false,
        ended: false,
    };
    Box::pin(stream::unfold(reading, |mut reading| async move {
        let part = reading.next().await?;
        Some((part, reading))
    }))
}

/// An answer while it is read.
struct Reading<R> {
    events: EventStream,
    reader: R,
    damage: Damage,
    origin: Origin,
    idle: Duration,
    ready: VecDeque<AnswerPart>,
    progress: Progress,
    /// Whether content has been passed on; from then on a retry could repeat it.
    arrived: bool,
    ended: bool,
}

impl<R: AnswerReader> Reading<R> {
    async fn next(&mut self) -> Option<Result<AnswerPart, ProviderError>> {
        let silence = Instant::now() + self.idle * SIGNS_OF_LIFE;
        let mut settled = Instant::now() + self.idle.min(SETTLING_TIME);
        loop {
            if let Some(part) = self.ready.pop_front() {
                self.arrived |= is_content(&part);
                return Some(Ok(part));
            }
            if self.ended {
                return None;
            }
            let deadline = match self.progress {
                Progress::Open => silence,
                Progress::Settling | Progress::Finished => settled,
            };
            let before = self.progress;
            if let Err(error) = self.advance(deadline).await {
                self.ended = true;
                return Some(Err(error));
            }
            if before == Progress::Open && self.progress == Progress::Settling {
                settled = Instant::now() + self.idle.min(SETTLING_TIME);
            }
        }
    }

    /// Reads one event; the error says why there is none.
    async fn advance(&mut self, deadline: Instant) -> Result<(), ProviderError> {
        let problem = match timeout_at(deadline, self.events.next()).await {
            Ok(Some(Ok(event))) => match event.data {
                Some(data) if !data.is_empty() => return self.event(&data),
                _ => return Ok(()),
            },
            Ok(Some(Err(sse_stream::Error::Body(error)))) => error.to_string(),
            Ok(Some(Err(error))) => format!("sent unreadable bytes ({error})"),
            Ok(None) => "closed the connection".to_owned(),
            Err(_) => "sent signs of life only".to_owned(),
        };
        if self.finish() {
            return Ok(());
        }
        Err(self.failure(format!("{problem} before the answer was complete")))
    }

    fn event(&mut self, data: &str) -> Result<(), ProviderError> {
        if self.origin.with_data
            && let Ok(data) = Json::parse(self.masked(data.to_owned()))
        {
            self.ready.push_back(AnswerPart::Data(data));
        }
        let read = self.reader.event(data, &mut self.ready);
        // Even an answer that this event completes must not be used.
        if !self.damage.is_bearable(data, self.ready.iter()) && read.is_ok() {
            return Err(self.nonsense("a character outside of its text was damaged on the way", data));
        }
        match read {
            Ok(progress) => self.progress = progress,
            // A failure after a complete message cannot make it incomplete.
            Err(_) if self.finish() => return Ok(()),
            Err(Unreadable::Reported(value)) => return Err(self.reported(&value)),
            Err(Unreadable::Nonsense(what)) => return Err(self.nonsense(&what, data)),
        }
        if self.progress == Progress::Finished && !self.finish() {
            return Err(self.failure("ended the answer without a message".to_owned()));
        }
        Ok(())
    }

    /// Ends the answer if the provider has said that the message is complete.
    fn finish(&mut self) -> bool {
        let completed = self.reader.complete(&mut self.ready);
        let Some(completed) = completed.filter(|_| !self.damage.is_in_calls(self.ready.iter())) else {
            return false;
        };
        self.ready.push_back(completed);
        self.ended = true;
        true
    }

    fn has_content(&self) -> bool {
        self.arrived || self.ready.iter().any(is_content)
    }

    fn failure(&self, what: String) -> ProviderError {
        let kind = if self.has_content() {
            ProviderErrorKind::Broken
        } else {
            ProviderErrorKind::Transient
        };
        ProviderError::new(
            kind,
            self.masked(format!("The server {what}: {}", self.origin.place)),
        )
    }

    /// An answer that cannot be understood. A web page means that something else than the interface is there.
    fn nonsense(&self, what: &str, data: &str) -> ProviderError {
        let place = &self.origin.place;
        let (kind, message) = match failure::title(data) {
            Some(title) => (
                ProviderErrorKind::Rejected,
                format!("The server answered with a web page ({title}); check the base URL: {place}"),
            ),
            None => (
                ProviderErrorKind::Broken,
                format!("The server sent an answer that makes no sense: {what}: {place}"),
            ),
        };
        ProviderError::new(kind, self.masked(message))
    }

    fn reported(&self, value: &Value) -> ProviderError {
        let mut error = failure::from_stream(value, &self.origin.place);
        if error.kind == ProviderErrorKind::Transient && self.has_content() {
            error.kind = ProviderErrorKind::Broken;
        }
        error.message = self.masked(error.message);
        error
    }

    fn masked(&self, message: String) -> String {
        match &self.origin.key {
            Some(key) => key.redact(&message),
            None => message,
        }
    }
}

/// The JSON of an event. Gateways that cut a text into pieces may cut a character, whose halves are no text: each half
/// becomes the sign for what cannot be read.
pub(crate) fn json_of(data: &str) -> Result<Value, Unreadable> {
    serde_json::from_str(data)
        .or_else(|error| serde_json::from_str(&with_whole_characters(data)).map_err(|_| error))
        .map_err(|error| Unreadable::Nonsense(format!("a part of it is not JSON ({error})")))
}

/// The text of a field, or none.
pub(crate) fn text_at<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Adds a text, unless it is empty.
pub(crate) fn push_text(parts: &mut VecDeque<AnswerPart>, text: &str) {
    if !text.is_empty() {
        let text = text.to_owned();
        parts.push_back(AnswerPart::Delta(Delta::Text { text }));
    }
}

/// Adds a thought, unless it is empty and has no signature.
pub(crate) fn push_thinking(parts: &mut VecDeque<AnswerPart>, text: &str, signature: Option<String>) {
    if !text.is_empty() || signature.is_some() {
        let text = text.to_owned();
        parts.push_back(AnswerPart::Delta(Delta::Thinking { text, signature }));
    }
}

/// Whether a part could be repeated by a retry.
fn is_content(part: &AnswerPart) -> bool {
    !matches!(part, AnswerPart::Data(_))
}

/// The bytes, with a failure if they stop coming or do not end.
fn with_deadlines(
    bytes: impl Stream<Item = Result<Bytes, ReadFailure>> + Send + 'static,
    idle: Duration,
) -> ByteStream {
    let source: ByteStream = Box::pin(bytes);
    Box::pin(stream::unfold(
        (Some(source), 0_usize),
        move |(source, total)| async move {
            let mut source = source?;
            let failure = match timeout(idle, source.next()).await {
                Err(_) => ReadFailure::Idle(idle),
                Ok(None) => return None,
                Ok(Some(Err(failure))) => failure,
                Ok(Some(Ok(chunk))) if total + chunk.len() > LARGEST_ANSWER => {
                    drop(chunk);
                    ReadFailure::TooLarge
                }
                Ok(Some(Ok(chunk))) => {
                    let total = total + chunk.len();
                    return Some((Ok(chunk), (Some(source), total)));
                }
            };
            Some((Err(failure), (None, total)))
        },
    ))
}

/// The bytes as server-sent events.
fn events(bytes: ByteStream) -> EventStream {
    // The blank line ends an event that the server left without one at a clean end of the answer.
    let last = stream::iter([Ok(Bytes::from_static(b"\n\n"))]);
    Box::pin(SseByteStream::new(bytes.chain(last)))
}

/// The bytes as what they look like: a document, be it JSON or a web page, or else events.
async fn undeclared(mut bytes: ByteStream) -> EventStream {
    let (mut begun, mut sign) = (Vec::new(), None);
    while sign.is_none()
        && let Some(chunk) = bytes.next().await
    {
        let is_sign = |byte: &u8| byte.is_ascii() && !byte.is_ascii_whitespace();
        // A failure ends the search, and the answer.
        sign = chunk
            .as_ref()
            .map_or(Some(0), |chunk| chunk.iter().copied().find(is_sign));
        begun.push(chunk);
    }
    let bytes: ByteStream = Box::pin(stream::iter(begun).chain(bytes));
    match sign {
        Some(b'{' | b'[' | b'<') => Box::pin(stream::once(document(bytes))),
        _ => events(bytes),
    }
}

/// All bytes as the data of one event.
async fn document(mut bytes: ByteStream) -> Result<Sse, sse_stream::Error> {
    let mut text = Vec::new();
    while let Some(chunk) = bytes.next().await {
        text.extend_from_slice(&chunk.map_err(|failure| sse_stream::Error::Body(Box::new(failure)))?);
    }
    let text = String::from_utf8(text).map_err(|error| sse_stream::Error::Utf8Parse(error.utf8_error()))?;
    Ok(Sse::default().data(text.trim_start_matches('\u{feff}')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use crate::signature::Seal;
    use proptest::prelude::*;
    use testkit::{AnthropicStream, OpenAiStream};

    const IDLE: Duration = Duration::from_secs(30);

    type Answered = Result<Vec<AnswerPart>, ProviderError>;

    /// Everything that is read from bytes in these chunks.
    fn read<R: AnswerReader + 'static>(reader: R, chunks: Vec<Vec<u8>>) -> Answered {
        let bytes = stream::iter(chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk))));
        let origin = Origin {
            place: "here".into(),
            key: None,
            with_data: false,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let parts: Vec<_> = parts(bytes, Framing::Events, reader, origin, IDLE)
                .collect()
                .await;
            parts.into_iter().collect()
        })
    }

    fn read_openai(chunks: Vec<Vec<u8>>) -> Answered {
        read(crate::openai::Reader::new("m"), chunks)
    }

    fn read_anthropic(chunks: Vec<Vec<u8>>) -> Answered {
        let seal = Seal::new(Api::Anthropic, "anthropic");
        read(crate::anthropic::Reader::new("m", seal), chunks)
    }

    fn openai_answer() -> String {
        let comment = OpenAiStream::new("m")
            .text("Grüße 🦀")
            .data(r#"{"choices":[]}"#)
            .unfinished();
        let rest = OpenAiStream::new("m")
            .tool_call(0, "a", "read", &["{\"path\":", "\"ä\"}"])
            .finish("tool_calls")
            .usage(3, 4)
            .done();
        format!("\u{feff}: OPENROUTER PROCESSING\n\n{comment}:\n{rest}")
    }

    fn anthropic_answer() -> String {
        AnthropicStream::new("m", 3)
            .thinking("hm", "seal")
            .text(&["Grüße ", "🦀"])
            .tool_call("a", "read", &["", "{\"path\":", "\"ä\"}"])
            .stop("tool_use", 7)
    }

    /// The bytes cut at these places.
    fn cut(bytes: &[u8], places: &[prop::sample::Index]) -> Vec<Vec<u8>> {
        let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
        places.sort_unstable();
        let ends = places.iter().copied().chain([bytes.len()]);
        let begins = [0].into_iter().chain(places.iter().copied());
        begins
            .zip(ends)
            .map(|(begin, end)| bytes[begin..end].to_vec())
            .collect()
    }

    proptest! {
        #[test]
        fn chunk_boundaries_never_matter(
            places in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
            crlf in any::<bool>(),
            tight in any::<bool>(),
        ) {
            for (text, read) in [
                (openai_answer(), read_openai as fn(Vec<Vec<u8>>) -> Answered),
                (anthropic_answer(), read_anthropic),
            ] {
                let expected = read(vec![text.clone().into_bytes()]).unwrap();
                let text = if crlf { text.replace('\n', "\r\n") } else { text };
                let text = if tight { text.replace("data: ", "data:") } else { text };
                let found = read(cut(text.as_bytes(), &places)).unwrap();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn a_stream_that_breaks_off_never_completes(end in any::<prop::sample::Index>()) {
            let whole = openai_answer();
            let decided = whole.find(r#""finish_reason":"tool_calls""#).unwrap();
            let error = read_openai(vec![whole.as_bytes()[..end.index(decided)].to_vec()]).unwrap_err();
            prop_assert!(matches!(error.kind, ProviderErrorKind::Broken | ProviderErrorKind::Transient));

            let whole = anthropic_answer();
            let decided = whole.rfind(r#"{"type":"message_stop"}"#).unwrap();
            let error = read_anthropic(vec![whole.as_bytes()[..end.index(decided)].to_vec()]).unwrap_err();
            prop_assert!(matches!(error.kind, ProviderErrorKind::Broken | ProviderErrorKind::Transient));
        }

        #[test]
        fn nonsense_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "(data:? ?.{0,40}\n{1,2}){0,8}") {
            for bytes in [bytes.clone(), text.clone().into_bytes()] {
                let _ = read_openai(vec![bytes.clone()]);
                let _ = read_anthropic(vec![bytes]);
            }
        }
    }

    #[tokio::test]
    async fn an_answer_without_a_type_is_what_it_looks_like() {
        let whole = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
        let events = OpenAiStream::new("m").text("hi").finish("stop").done();
        for text in [format!(" \n{whole}"), format!("\u{feff}{whole}"), events] {
            let chunks: Vec<_> = text.bytes().map(|byte| Ok(Bytes::from(vec![byte]))).collect();
            let origin = Origin {
                place: "here".into(),
                key: None,
                with_data: false,
            };
            let reader = crate::openai::Reader::new("m");
            let parts = parts(stream::iter(chunks), Framing::Undeclared, reader, origin, IDLE);
            let parts: Vec<_> = parts.map(Result::unwrap).collect().await;
            let hi = AnswerPart::Delta(Delta::Text { text: "hi".into() });
            assert_eq!(parts[0], hi, "{text}");
            assert!(
                matches!(parts[1], AnswerPart::Completed { .. }),
                "{text}: {parts:?}"
            );
        }
    }

    #[test]
    fn the_last_blank_line_may_be_missing() {
        let text = openai_answer();
        assert_eq!(
            read_openai(vec![text.trim_end().into()]),
            read_openai(vec![text.clone().into()])
        );
        let text = anthropic_answer();
        assert_eq!(
            read_anthropic(vec![text.trim_end().into()]),
            read_anthropic(vec![text.clone().into()])
        );
    }

    #[test]
    fn a_complete_message_needs_no_farewell() {
        let text = OpenAiStream::new("m").text("hi").finish("stop").unfinished();
        let parts = read_openai(vec![text.into()]).unwrap();
        assert_eq!(parts.len(), 2, "{parts:?}");
        let text = OpenAiStream::new("m").text("hi").done();
        assert_eq!(read_openai(vec![text.into()]).unwrap().len(), 2);
    }

    #[test]
    fn an_end_without_a_message_is_worth_another_try() {
        for text in [
            "",
            "data: [DONE]\n\n",
            ": comment\n\n",
            "data: {\"choices\":[]}\n\n",
        ] {
            let error = read_openai(vec![text.into()]).unwrap_err();
            assert_eq!(error.kind, ProviderErrorKind::Transient, "{text}: {error}");
        }
    }

    // tidy: a table
    #[test]
    fn tool_calls_are_put_together_however_servers_write_them() {
        let call = |index, id: &str, name: &str| {
            AnswerPart::Delta(Delta::ToolCall {
                index,
                id: id.into(),
                name: name.into(),
            })
        };
        let arguments = |index, text: &str| {
            AnswerPart::Delta(Delta::Arguments {
                index,
                text: text.into(),
            })
        };
        let table: &[(&[&str], Vec<AnswerPart>)] = &[
            // Without an index, told apart by id.
            (
                &[
                    r#"[{"id":"a","function":{"name":"x","arguments":"{}"}},{"id":"b","function":{"name":"y","arguments":"{\"k\":1}"}}]"#,
                ],
                vec![
                    call(0, "a", "x"),
                    arguments(0, "{}"),
                    call(1, "b", "y"),
                    arguments(1, r#"{"k":1}"#),
                ],
            ),
            // All with the index 0.
            (
                &[
                    r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]"#,
                    r#"[{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}]"#,
                ],
                vec![
                    call(0, "a", "x"),
                    arguments(0, "{}"),
                    call(1, "b", "y"),
                    arguments(1, "{}"),
                ],
            ),
            // The id and the name on every piece.
            (
                &[
                    r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]"#,
                    r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"}"}}]"#,
                ],
                vec![call(0, "a", "x"), arguments(0, "{"), arguments(0, "}")],
            ),
            // Interleaved.
            (
                &[
                    r#"[{"index":0,"id":"a","function":{"name":"x"}},{"index":1,"id":"b","function":{"name":"y"}}]"#,
                    r#"[{"index":1,"function":{"arguments":"[1]"}},{"index":0,"id":"","function":{"name":null,"arguments":"[0]"}}]"#,
                ],
                vec![
                    call(0, "a", "x"),
                    call(1, "b", "y"),
                    arguments(1, "[1]"),
                    arguments(0, "[0]"),
                ],
            ),
            // Arguments as an object, and none at all.
            (
                &[
                    r#"[{"id":"a","function":{"name":"x","arguments":{"k":"v"}}}]"#,
                    r#"[{"id":"b","function":{"name":"y"}}]"#,
                ],
                vec![
                    call(0, "a", "x"),
                    arguments(0, r#"{"k":"v"}"#),
                    call(1, "b", "y"),
                    arguments(1, "{}"),
                ],
            ),
            // The name comes late.
            (
                &[
                    r#"[{"index":0,"id":"a","function":{"arguments":"{"}}]"#,
                    r#"[{"index":0,"function":{"name":"x","arguments":"}"}}]"#,
                ],
                vec![call(0, "a", "x"), arguments(0, "{}")],
            ),
        ];
        for (deltas, expected) in table {
            let stream = deltas.iter().fold(OpenAiStream::new("m"), |stream, calls| {
                stream.delta(serde_json::json!({"tool_calls": serde_json::from_str::<Value>(calls).unwrap()}))
            });
            let mut parts = read_openai(vec![stream.finish("stop").done().into()]).unwrap();
            let last = parts.pop();
            assert_eq!(&parts, expected);
            let reason = becket_events::StopReason::ToolCalls;
            assert!(matches!(last, Some(AnswerPart::Completed { stop_reason, .. }) if stop_reason == reason));
        }
    }

    #[test]
    fn half_characters_are_read_as_such() {
        let table = [
            (r#"["a\ud83d b\ude80"]"#, "a\u{fffd} b\u{fffd}"),
            (r#"["\ud83d\ude80\ud83d"]"#, "\u{1f680}\u{fffd}"),
            (r#"["\\ud83d \ud83d\n"]"#, "\\ud83d \u{fffd}\n"),
            (r#"["\ud83d\u0041ä"]"#, "\u{fffd}Aä"),
        ];
        for (data, text) in table {
            assert_eq!(json_of(data).unwrap()[0], text, "{data}");
        }
        for data in [
            r#"["\ud83d""#,
            r#"["\ud8"#,
            r#"["\"#,
            r#"["\uzzzz\ud83d"]"#,
            "\\ä",
        ] {
            assert!(json_of(data).is_err(), "{data}");
        }
    }

    #[test]
    fn calls_that_share_an_id_get_different_ones() {
        let stream = OpenAiStream::new("m")
            .tool_call(0, "same", "x", &["{\"k\":", "1}"])
            .delta(serde_json::json!({"tool_calls": [{"index": 1, "id": "same", "function": {"arguments": "{"}}]}))
            .delta(serde_json::json!({"tool_calls": [{"index": 1, "id": "same", "function": {"name": "y"}}]}))
            .delta(serde_json::json!({"tool_calls": [{"index": 1, "id": "same", "function": {"arguments": "}"}}]}));
        let parts = read_openai(vec![stream.finish("tool_calls").done().into()]).unwrap();
        let calls: Vec<(&str, &str)> = parts
            .iter()
            .filter_map(|part| match part {
                AnswerPart::Delta(Delta::ToolCall { id, name, .. }) => Some((&**id, &**name)),
                _ => None,
            })
            .collect();
        assert!(
            matches!(calls[..], [("same", "x"), (id, "y")] if id.starts_with("call_")),
            "{parts:?}"
        );
        let of_second: String = parts
            .iter()
            .filter_map(|part| match part {
                AnswerPart::Delta(Delta::Arguments { index: 1, text }) => Some(&**text),
                _ => None,
            })
            .collect();
        assert_eq!(of_second, "{}");
    }

    #[test]
    fn a_call_without_an_id_gets_one() {
        let stream =
            OpenAiStream::new("m").delta(serde_json::json!({"tool_calls": [{"function": {"name": "x"}}]}));
        let parts = read_openai(vec![stream.finish("tool_calls").done().into()]).unwrap();
        assert!(
            matches!(&parts[0], AnswerPart::Delta(Delta::ToolCall { id, .. }) if id.starts_with("call_"))
        );
    }

    #[test]
    fn a_call_without_a_name_is_no_message() {
        let stream = OpenAiStream::new("m").tool_call(0, "a", "", &["{}"]);
        assert!(read_openai(vec![stream.finish("tool_calls").done().into()]).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_do_not_count_for_ever() {
        let life = stream::unfold((), |()| async {
            tokio::time::sleep(IDLE / 2).await;
            Some((Ok(Bytes::from_static(b": alive\n\n")), ()))
        });
        let origin = Origin {
            place: "here".into(),
            key: None,
            with_data: false,
        };
        let reader = crate::openai::Reader::new("m");
        let begin = Instant::now();
        let parts: Vec<_> = parts(life, Framing::Events, reader, origin, IDLE).collect().await;
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].as_ref().unwrap_err().kind, ProviderErrorKind::Transient);
        assert_eq!(begin.elapsed(), IDLE * SIGNS_OF_LIFE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_complete_message_does_not_wait_for_figures_for_long() {
        let text = OpenAiStream::new("m").text("hi").finish("stop").unfinished();
        let bytes = stream::iter([Ok(Bytes::from(text))]).chain(stream::pending());
        let origin = Origin {
            place: "here".into(),
            key: None,
            with_data: false,
        };
        let begin = Instant::now();
        let parts: Vec<_> = parts(
            bytes,
            Framing::Events,
            crate::openai::Reader::new("m"),
            origin,
            IDLE,
        )
        .collect()
        .await;
        assert!(matches!(parts[1], Ok(AnswerPart::Completed { .. })), "{parts:?}");
        assert_eq!(begin.elapsed(), SETTLING_TIME);
    }

    #[tokio::test]
    async fn an_endless_answer_is_cut() {
        let chunk = Bytes::from(vec![b' '; 1024 * 1024]);
        let bytes = stream::repeat_with(move || Ok(chunk.clone()));
        let origin = Origin {
            place: "here".into(),
            key: None,
            with_data: false,
        };
        let reader = crate::openai::Reader::new("m");
        let parts: Vec<_> = parts(bytes, Framing::Document, reader, origin, IDLE)
            .collect()
            .await;
        assert!(
            parts[0].as_ref().unwrap_err().message.contains("64 MiB"),
            "{parts:?}"
        );
    }
}
