//! The answers of models without a network: everything is known at once and still arrives in pieces.

use std::time::Duration;

use becket_agent::provider::{AnswerPart, Answering, Begun, ProviderError};
use becket_events::Delta;
use futures_util::{StreamExt, stream};

/// An answer of these parts, with a pause before each.
pub(crate) fn answering(parts: Vec<Result<AnswerPart, ProviderError>>, pause: Duration) -> Answering {
    let parts = stream::iter(parts).then(move |part| async move {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        part
    });
    Answering {
        begun: Some(Begun::default()),
        parts: Box::pin(parts),
    }
}

/// The text in pieces of at most that many characters.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(size.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Adds a text in pieces.
pub(crate) fn push_text(parts: &mut Vec<Result<AnswerPart, ProviderError>>, text: &str, size: usize) {
    let deltas = pieces(text, size)
        .into_iter()
        .map(|text| Ok(AnswerPart::Delta(Delta::Text { text })));
    parts.extend(deltas);
}

/// Adds a tool call in pieces.
pub(crate) fn push_call(
    parts: &mut Vec<Result<AnswerPart, ProviderError>>,
    index: usize,
    call: NewCall<'_>,
    size: usize,
) {
    parts.push(Ok(AnswerPart::Delta(Delta::ToolCall {
        index,
        id: call.id,
        name: call.name.to_owned(),
    })));
    let deltas = pieces(call.arguments, size)
        .into_iter()
        .map(|text| Ok(AnswerPart::Delta(Delta::Arguments { index, text })));
    parts.extend(deltas);
}

/// A tool call that an embedded model makes.
pub(crate) struct NewCall<'a> {
    pub id: String,
    pub name: &'a str,
    pub arguments: &'a str,
}

/// Tokens that a text of that length would have, roughly.
pub(crate) fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}
