//! Asks a model in the name of a hook: one request, one text.

use std::time::Duration;

use becket_agent::provider::{AnswerPart, ModelRequest, Provider, RequestOptions};
use becket_dialects::docker_agent::Judge;
use becket_events::{Delta, Message, MessageBody, MessageRecord, Part};
use becket_tools::Models;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;

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
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let provider = (self.models)(model)?;
            let asked = tokio::time::timeout(timeout, answer(&*provider, system_prompt, prompt));
            asked
                .await
                .map_err(|_| format!("{model} did not answer within {} s", timeout.as_secs()))?
        })
    }
}

async fn answer(provider: &dyn Provider, system_prompt: &str, prompt: &str) -> Result<String, String> {
    let messages = [Message::new(MessageRecord {
        id: "judged".into(),
        time_ms: 0,
        body: MessageBody::User {
            content: vec![Part::text(prompt)],
        },
    })];
    let request = ModelRequest {
        system_prompt,
        messages: &messages,
        tools: &[],
        options: &RequestOptions::default(),
    };
    let body = provider.body(&request).map_err(|error| error.to_string())?;
    let mut answering = provider.send(&body).await.map_err(|error| error.to_string())?;
    let mut text = String::new();
    while let Some(part) = answering.parts.next().await {
        match part.map_err(|error| error.to_string())? {
            AnswerPart::Delta(Delta::Text { text: more }) => text.push_str(&more),
            AnswerPart::Sends(sending) => sending.answer(Ok(sending.body.clone())),
            AnswerPart::Delta(_) | AnswerPart::Begun(_) => {}
            AnswerPart::Completed { .. } => return Ok(text),
        }
    }
    Err("the answer broke off".into())
}
