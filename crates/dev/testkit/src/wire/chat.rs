//! The rules of OpenAI's chat completions.

use serde_json::Value;

use super::rules::{Checked, check_head, list, must, only, text};
use crate::model_server::Recorded;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "max_tokens",
    "max_completion_tokens",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "stream",
    "stream_options",
];

pub(super) fn check(request: &Recorded, body: &Value) -> Checked {
    check_head(request, "/v1/chat/completions", "authorization")?;
    only(body, "the request", FIELDS)?;
    text(body, "model")?;
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    must(body.get("parallel_tool_calls").is_none() || has_tools, || {
        "parallel_tool_calls is only allowed when tools are specified".into()
    })?;
    let mut open: Vec<&str> = Vec::new();
    for message in list(body, "messages")? {
        let role = text(message, "role")?;
        must(role == "tool" || open.is_empty(), || {
            format!("tool_call_ids did not have response messages: {open:?}")
        })?;
        match role {
            "system" | "developer" | "user" => only(message, role, &["role", "content"])?,
            "assistant" => {
                only(message, role, &["role", "content", "tool_calls"])?;
                let calls = message["tool_calls"].as_array();
                must(calls.is_some() || message["content"].is_string(), || {
                    "an assistant's message needs content or tool_calls".into()
                })?;
                for call in calls.into_iter().flatten() {
                    only(call, "tool_calls", &["id", "type", "function"])?;
                    text(&call["function"], "arguments")?;
                    open.push(text(call, "id")?);
                }
            }
            "tool" => {
                only(message, role, &["role", "content", "tool_call_id"])?;
                let id = text(message, "tool_call_id")?;
                let place = open.iter().position(|open| *open == id);
                let place =
                    place.ok_or("'tool' must be a response to a preceding message with 'tool_calls'")?;
                open.remove(place);
            }
            other => return Err(format!("there is no role {other}")),
        }
    }
    must(open.is_empty(), || {
        format!("tool_call_ids did not have response messages: {open:?}")
    })
}
