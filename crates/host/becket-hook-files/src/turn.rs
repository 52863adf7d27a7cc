//! One request to a model, and its whole answer.

use becket_agent::provider::{
    AnswerPart, ModelRequest, Provider, ProviderError, ProviderErrorKind, RequestOptions, ToolFace,
};
use becket_events::{Delta, Message, StopReason, ToolCall};
use futures_util::StreamExt;

/// What a model has said to one request.
pub struct Said {
    /// The text.
    pub text: String,
    /// The calls that the model makes.
    pub calls: Vec<ToolCall>,
}

/// Sends one request, and waits for the whole answer.
pub async fn turn(
    provider: &dyn Provider,
    system_prompt: &str,
    messages: &[Message],
    tools: &[ToolFace],
    options: &RequestOptions,
) -> Result<Said, ProviderError> {
    let body = provider.body(&ModelRequest {
        system_prompt,
        messages,
        tools,
        options,
    })?;
    let mut answering = provider.send(&body).await?;
    let (mut text, mut calls) = (String::new(), Vec::<(usize, ToolCall)>::new());
    while let Some(part) = answering.parts.next().await {
        match part? {
            AnswerPart::Delta(Delta::Text { text: more }) => text.push_str(&more),
            AnswerPart::Delta(Delta::ToolCall { index, id, name }) => {
                let arguments = String::new();
                calls.push((index, ToolCall { id, name, arguments }));
            }
            AnswerPart::Delta(Delta::Arguments { index, text: more }) => {
                let call = calls.iter_mut().find(|(number, _)| *number == index);
                call.into_iter()
                    .for_each(|(_, call)| call.arguments.push_str(&more));
            }
            AnswerPart::Sends(sending) => sending.answer(Ok(sending.body.clone())),
            AnswerPart::Delta(_) | AnswerPart::Begun(_) | AnswerPart::Data(_) => {}
            AnswerPart::Completed { stop_reason, .. } => {
                if !matches!(stop_reason, StopReason::Stop | StopReason::ToolCalls) {
                    return Err(broken("the answer is not complete"));
                }
                let calls = calls.into_iter().map(|(_, call)| call).collect();
                return Ok(Said { text, calls });
            }
        }
    }
    Err(broken("the answer broke off"))
}

/// The failure of an answer that makes no sense.
pub fn broken(words: &str) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Broken, words)
}
