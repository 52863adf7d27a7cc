//! Asks a model in the name of a hook: one request, one text.

use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::{
    AnswerPart, ModelRequest, Provider, ProviderError, ProviderErrorKind, RequestOptions,
};
use becket_events::{Delta, Message, MessageBody, MessageRecord, Part, StopReason};
use becket_tools::Models;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::hook::Judge;

/// Asks the models that hooks name.
pub struct ModelJudge {
    /// Gives a model by its name.
    pub models: Models,
}

impl Judge for ModelJudge {
    fn ask<'a>(
        &'a self,
        model: &'a str,
        system_prompt: &'a str,
        prompt: &'a str,
        schema: Option<Value>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let provider = (self.models)(model)?;
            let asked = tokio::time::timeout(timeout, answer(&*provider, system_prompt, prompt, schema));
            asked
                .await
                .map_err(|_| format!("{model} did not answer within {} s", timeout.as_secs()))?
                .map_err(|error| error.to_string())
        })
    }
}

/// Asks for an answer in a form. Servers that do not know about forms refuse the request, and are asked without.
async fn answer(
    provider: &dyn Provider,
    system_prompt: &str,
    prompt: &str,
    schema: Option<Value>,
) -> Result<String, ProviderError> {
    let has_form = schema.is_some();
    let options = RequestOptions {
        answer_schema: schema.map(Arc::new),
        ..RequestOptions::default()
    };
    match request(provider, system_prompt, prompt, &options).await {
        Err(error) if has_form && error.kind == ProviderErrorKind::Rejected => {
            request(provider, system_prompt, prompt, &RequestOptions::default()).await
        }
        answered => answered,
    }
}

async fn request(
    provider: &dyn Provider,
    system_prompt: &str,
    prompt: &str,
    options: &RequestOptions,
) -> Result<String, ProviderError> {
    let messages = [Message::new(MessageRecord {
        id: "judged".into(),
        time_ms: 0,
        body: MessageBody::User {
            content: vec![Part::text(prompt)],
        },
    })];
    let body = provider.body(&ModelRequest {
        system_prompt,
        messages: &messages,
        tools: &[],
        options,
    })?;
    let mut answering = provider.send(&body).await?;
    let (mut text, mut calls) = (String::new(), Vec::<String>::new());
    while let Some(part) = answering.parts.next().await {
        match part? {
            AnswerPart::Delta(Delta::Text { text: more }) => text.push_str(&more),
            AnswerPart::Delta(Delta::ToolCall { .. }) => calls.push(String::new()),
            AnswerPart::Delta(Delta::Arguments { text: more, .. }) => {
                calls.last_mut().into_iter().for_each(|call| call.push_str(&more));
            }
            AnswerPart::Sends(sending) => sending.answer(Ok(sending.body.clone())),
            AnswerPart::Delta(_) | AnswerPart::Begun(_) => {}
            AnswerPart::Completed { stop_reason, .. } => {
                if !matches!(stop_reason, StopReason::Stop | StopReason::ToolCalls) {
                    return Err(broken("the answer is not complete"));
                }
                // The arguments of a forced call are the answer; words beside it are not.
                return match calls.as_slice() {
                    [] => Ok(text),
                    [only] => Ok(only.clone()),
                    _ => Err(broken("the answer is several calls")),
                };
            }
        }
    }
    Err(broken("the answer broke off"))
}

fn broken(words: &str) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Broken, words)
}
