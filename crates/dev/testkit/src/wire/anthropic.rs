//! The rules of Anthropic's messages.

use serde_json::Value;

use super::rules::{Checked, Seals, check_head, events, list, must, only, text};
use crate::model_server::Recorded;

/// The beginning of the signatures that the server takes for its own.
pub(super) const OWN: &str = "messages-";

const FIELDS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "thinking",
    "output_config",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "stream",
];

/// The most marks for the cache that a request may have.
const MOST_MARKS: usize = 4;

pub(super) fn check(request: &Recorded, body: &Value, seals: &Seals) -> Checked {
    check_head(request, "/v1/messages", "x-api-key")?;
    must(request.header("anthropic-version") == Some("2023-06-01"), || {
        "anthropic-version is missing".into()
    })?;
    only(body, "the request", FIELDS)?;
    check_thinking(body)?;
    let marks = body.to_string().matches("\"cache_control\"").count();
    must(marks <= MOST_MARKS, || {
        format!("A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}")
    })?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        only(
            tool,
            "tools",
            &["name", "description", "input_schema", "cache_control"],
        )?;
    }
    let messages = list(body, "messages")?;
    check_ids(messages)?;
    let mut before: Option<&Value> = None;
    for (place, message) in messages.iter().enumerate() {
        only(message, "messages", &["role", "content"])?;
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        must(text(message, "role")? == expected, || {
            format!("messages.{place}: roles must alternate, beginning with user")
        })?;
        let blocks = list(message, "content")?;
        must(!blocks.is_empty(), || {
            format!("messages.{place}: content must not be empty")
        })?;
        blocks.iter().try_for_each(|block| check_block(block, expected))?;
        match expected {
            "user" => check_results(blocks, before, place)?,
            _ => {
                let last = blocks
                    .last()
                    .map(|block| block["type"].as_str().unwrap_or_default());
                must(!last.is_some_and(|last| last.ends_with("thinking")), || {
                    format!("messages.{place}: The final block in an assistant message cannot be `thinking`")
                })?;
            }
        }
        before = Some(message);
    }
    check_loop(body, messages, seals)
}

fn check_thinking(body: &Value) -> Checked {
    let max_tokens = body["max_tokens"].as_u64().ok_or("max_tokens: Field required")?;
    let thinking = &body["thinking"];
    if thinking.is_null() {
        return Ok(());
    }
    match text(thinking, "type")? {
        "enabled" => {
            only(thinking, "thinking", &["type", "budget_tokens"])?;
            let budget = thinking["budget_tokens"].as_u64().unwrap_or_default();
            must((1_024..max_tokens).contains(&budget), || {
                "thinking.budget_tokens must be at least 1024 and less than max_tokens".into()
            })?;
        }
        "adaptive" => only(thinking, "thinking", &["type", "display"])?,
        other => return Err(format!("there is no thinking {other}")),
    }
    must(body.get("temperature").is_none(), || {
        "temperature may not be set with thinking".into()
    })?;
    let choice = body["tool_choice"]["type"].as_str().unwrap_or("auto");
    must(choice == "auto" || choice == "none", || {
        "Thinking may not be enabled when tool_choice forces tool use".into()
    })
}

fn check_block(block: &Value, role: &str) -> Checked {
    let kind = text(block, "type")?;
    match (role, kind) {
        (_, "text") => {
            only(block, kind, &["type", "text", "cache_control"])?;
            must(!text(block, "text")?.trim().is_empty(), || {
                "text content blocks must contain non-whitespace text".into()
            })
        }
        ("user", "image") => only(block, kind, &["type", "source", "cache_control"]),
        ("user", "tool_result") => only(
            block,
            kind,
            &["type", "tool_use_id", "content", "is_error", "cache_control"],
        ),
        ("assistant", "thinking") => {
            only(block, kind, &["type", "thinking", "signature"])?;
            must(text(block, "signature")?.starts_with(OWN), || {
                "Invalid `signature` in `thinking` block".into()
            })
        }
        ("assistant", "redacted_thinking") => only(block, kind, &["type", "data"]),
        ("assistant", "tool_use") => {
            only(block, kind, &["type", "id", "name", "input"])?;
            let id = text(block, "id")?;
            let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
            must(id.chars().all(is_plain), || {
                format!("{id} does not match the pattern of ids")
            })?;
            must(block["input"].is_object(), || "input must be an object".into())
        }
        _ => Err(format!("{kind} is not allowed in a message of {role}")),
    }
}

/// Each id is that of one call.
fn check_ids(messages: &[Value]) -> Checked {
    let blocks = messages
        .iter()
        .flat_map(|message| message["content"].as_array().into_iter().flatten());
    let mut ids = blocks
        .filter(|block| block["type"] == "tool_use")
        .map(|block| &block["id"]);
    let mut seen = Vec::new();
    ids.try_for_each(|id| {
        must(!seen.contains(&id), || {
            format!("`tool_use` ids must be unique: {id}")
        })?;
        seen.push(id);
        Ok(())
    })
}

/// Results must come first, right after their calls, and for every call.
fn check_results(blocks: &[Value], before: Option<&Value>, place: usize) -> Checked {
    let called: Vec<&str> = before
        .and_then(|message| message["content"].as_array())
        .into_iter()
        .flatten()
        .filter(|block| block["type"] == "tool_use")
        .filter_map(|block| block["id"].as_str())
        .collect();
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let first: Vec<&str> = blocks
        .iter()
        .take_while(is_result)
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    let all = blocks.iter().filter(is_result).count();
    let fits = first.len() == all && first.len() == called.len();
    must(fits && called.iter().all(|id| first.contains(id)), || {
        format!(
            "messages.{place}: `tool_use` ids {called:?} need `tool_result` blocks at the beginning; found {first:?}"
        )
    })
}

/// While a model waits for results and may think, its last message must begin as it did.
fn check_loop(body: &Value, messages: &[Value], seals: &Seals) -> Checked {
    if body["thinking"]["type"] != "enabled" {
        return Ok(());
    }
    let last = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "assistant");
    let Some(blocks) = last.and_then(|message| message["content"].as_array()) else {
        return Ok(());
    };
    let call = blocks.iter().find(|block| block["type"] == "tool_use");
    let Some(call) = call else { return Ok(()) };
    let begins = blocks[0]["type"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("thinking"));
    must(begins, || {
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`: a final assistant message must start with a \
         thinking block"
            .into()
    })?;
    let seal = call["id"].as_str().and_then(|id| seals.get(id));
    must(
        seal.is_none_or(|seal| blocks.iter().any(|block| block["signature"] == **seal)),
        || "`thinking` blocks in the latest assistant message cannot be modified".into(),
    )
}

pub(super) fn learn(answer: &str, seals: &mut Seals) {
    let mut seal = None;
    for event in events(answer) {
        let delta = &event["delta"];
        if let Some(signature) = delta["signature"].as_str() {
            seal = Some(signature.to_owned());
        }
        let block = &event["content_block"];
        if let (Some(id), Some(seal)) = (block["id"].as_str(), &seal) {
            seals.insert(id.to_owned(), seal.clone());
        }
    }
}
