//! Asks a model that may look at files before it decides: some requests, one judgement.

use std::sync::Arc;

use becket_agent::provider::{Provider, RequestOptions, ToolFace};
use becket_events::{Message, MessageBody, MessageRecord, Part, Scope, StopReason, ToolCall, Usage};
use becket_host::Reader;
use serde_json::Value;

use crate::turn::turn;

/// The most requests that one judgement may cost.
const MOST_REQUESTS: u32 = 25;

/// The most bytes of a tool's output that the model sees.
const MOST_BYTES: usize = 64 * 1024;

/// The name of the tool that ends the work.
const ANSWER: &str = "answer";

/// The judgement of a model as text. The error says why there is none.
pub async fn inspect(
    provider: Arc<dyn Provider>,
    (reader, hook, scope): (&Reader, &str, &Scope),
    (system_prompt, prompt): (&str, String),
    schema: Value,
) -> Result<String, String> {
    let look = reader.look(hook, scope)?;
    let mut tools = reader.faces();
    tools.push(ToolFace {
        name: ANSWER.into(),
        description: "Gives your answer and ends your work.".into(),
        parameters: schema.into(),
        operation: None,
    });
    let options = RequestOptions::default();
    let content = vec![Part::text(prompt)];
    let mut messages = vec![message("event", MessageBody::User { content })];
    for number in 1..=MOST_REQUESTS {
        let said = turn(&*provider, system_prompt, &messages, &tools, &options).await;
        let said = said.map_err(|error| error.to_string())?;
        if let Some(answer) = said.calls.iter().find(|call| call.name == ANSWER) {
            return Ok(answer.arguments.clone());
        }
        if said.calls.is_empty() {
            return Ok(said.text);
        }
        let content = (!said.text.is_empty()).then(|| Part::text(said.text));
        messages.push(message(
            &format!("said {number}"),
            MessageBody::Assistant {
                content: content.into_iter().collect(),
                tool_calls: said.calls.clone(),
                model: provider.model().to_owned(),
                stop_reason: StopReason::ToolCalls,
                usage: Usage::default(),
                error: None,
            },
        ));
        for call in said.calls {
            let output = look.call(&call).await;
            messages.push(result(call, output.content, output.is_error));
        }
    }
    Err(format!(
        "the model gave no answer within {MOST_REQUESTS} requests"
    ))
}

fn result(call: ToolCall, content: Vec<Part>, is_error: bool) -> Message {
    let content = content.into_iter().map(|part| match part {
        Part::Text { text } if text.len() > MOST_BYTES => {
            let end = text.floor_char_boundary(MOST_BYTES);
            Part::text(format!("{}\n[the rest is left out]", &text[..end]))
        }
        part => part,
    });
    message(
        &format!("result of {}", call.id),
        MessageBody::Tool {
            tool_call_id: call.id,
            tool_name: call.name,
            content: content.collect(),
            is_error,
            details: None,
        },
    )
}

fn message(id: &str, body: MessageBody) -> Message {
    Message::new(MessageRecord {
        id: id.to_owned(),
        time_ms: 0,
        body,
    })
}
