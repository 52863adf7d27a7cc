//! Requests to a model and its answers, as Gemini CLI's hooks read and write them: text alone, without tool calls and
//! their results.

use becket_dialect_kit::alignment::{Origin, origins};
use becket_events::{
    Append, Intersect, Message, MessageBody, MessageRecord, ModelContextPayload, ModelContextReply, Part,
    PostResponsePayload, PostResponseReply, Rewrite, StopReason, Strictest, ToolOffer, ToolsOfferedPayload,
    ToolsOfferedReply, Usage, text_of,
};
use becket_hook_files::HookAnswer;
use becket_hooks::{Cause, Failure};
use serde_json::{Map, Value, json};

use crate::calls::{PROFILE, other_name};

/// A request with these messages.
pub fn request(model: &str, messages: &[Message]) -> Value {
    let messages: Vec<Value> = messages.iter().filter_map(shown).collect();
    json!({"model": model, "messages": messages, "config": {}})
}

/// A message as hooks read it; `None` for one without text, and for the result of a tool.
fn shown(message: &Message) -> Option<Value> {
    let role = match message.body() {
        MessageBody::User { .. } | MessageBody::Note { .. } => "user",
        MessageBody::Assistant { .. } => "model",
        MessageBody::Tool { .. } => return None,
    };
    let text = message.text();
    (!text.is_empty()).then(|| json!({"role": role, "content": text}))
}

/// An answer of the model.
pub fn response(message: &Message) -> Value {
    let (reason, usage) = match message.body() {
        MessageBody::Assistant {
            stop_reason, usage, ..
        } => (*stop_reason, *usage),
        _ => (StopReason::Stop, Usage::default()),
    };
    let reason = match reason {
        StopReason::Stop | StopReason::ToolCalls => "STOP",
        StopReason::Length => "MAX_TOKENS",
        StopReason::Refused => "SAFETY",
        StopReason::Cancelled | StopReason::Error => "OTHER",
    };
    let text = message.text();
    json!({
        "text": text,
        "candidates": [{
            "content": {"role": "model", "parts": [text]},
            "finishReason": reason,
        }],
        "usageMetadata": {
            "promptTokenCount": usage.input_tokens,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": usage.input_tokens + usage.output_tokens,
        },
    })
}

/// The tools of a request.
pub fn tool_config(tools: &[ToolOffer]) -> Value {
    let names: Vec<String> = tools.iter().map(offered_name).collect();
    json!({"mode": "AUTO", "allowedFunctionNames": names})
}

/// The name of an offered tool.
fn offered_name(tool: &ToolOffer) -> String {
    let named = PROFILE.face_named(&tool.name);
    let named = named.filter(|face| Some(face.operation) == tool.operation);
    let first = || {
        let operation = tool.operation?;
        PROFILE.faces.iter().find(|face| face.operation == operation)
    };
    match named.or_else(first) {
        Some(face) => face.name.to_owned(),
        None => other_name(&tool.name, &tool.source).into_owned(),
    }
}

fn wrong(what: &str) -> Failure {
    Failure::new(Cause::WrongShape, format!("`hookSpecificOutput.{what}"))
}

/// A member of what a hook wrote about the model.
fn member<'a>(answer: &'a HookAnswer, key: &str) -> Result<Option<&'a Map<String, Value>>, Failure> {
    match answer.output.as_ref().and_then(|output| output.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(_) => Err(wrong(&format!("{key}` must be an object"))),
    }
}

/// The reply about a request that is to be made.
pub fn before_model(
    payload: &ModelContextPayload,
    answer: &HookAnswer,
) -> Result<ModelContextReply, Failure> {
    if let refusal @ Strictest(Some(_)) = answer.refusal() {
        return Ok(ModelContextReply {
            verdict: refusal,
            ..Default::default()
        });
    }
    if let Some(response) = member(answer, "llm_response")? {
        let text = text_of_response(response).unwrap_or_default();
        return Ok(ModelContextReply {
            response: becket_events::Answer(Some(text)),
            ..Default::default()
        });
    }
    let Some(request) = member(answer, "llm_request")? else {
        return Ok(ModelContextReply::default());
    };
    let messages = match request.get("messages") {
        None | Some(Value::Null) => None,
        Some(Value::Array(list)) => written(&payload.messages, list)?,
        Some(_) => return Err(wrong("llm_request.messages` must be a list")),
    };
    let ignored = ["config", "toolConfig"];
    let ignored = ignored.into_iter().filter(|key| {
        let is_said = |value: &Value| value.as_object().is_none_or(|map| !map.is_empty());
        request.get(*key).is_some_and(is_said)
    });
    let notice =
        ignored.map(|key| format!("a hook wanted another `{key}` of the request; becket does not change it"));
    Ok(ModelContextReply {
        messages: Rewrite(messages),
        notice: Append(notice.collect()),
        ..Default::default()
    })
}

/// The messages of a request after a hook has written its list; `None` if nothing is different. What hooks do not see
/// stays where it is, unless it is the result of a call that the hook took out.
fn written(messages: &[Message], list: &[Value]) -> Result<Option<Vec<Message>>, Failure> {
    let seen: Vec<(usize, Value)> = messages
        .iter()
        .enumerate()
        .filter_map(|(place, message)| Some((place, shown(message)?)))
        .collect();
    let values: Vec<Value> = seen.iter().map(|(_, value)| value.clone()).collect();
    if values == list {
        return Ok(None);
    }
    let mut all = Vec::new();
    let (mut next, mut gone) = (0, Vec::new());
    for (number, origin) in origins(&values, list, "role").into_iter().enumerate() {
        let before = match origin {
            Origin::Same(place) | Origin::Changed(place) => seen[place].0,
            Origin::New => next,
        };
        all.extend(unseen(&messages[next..before], &mut gone));
        next = before;
        all.push(match origin {
            Origin::Same(_) => messages[before].clone(),
            Origin::Changed(_) => changed(Some(&messages[before]), &list[number], number)?,
            Origin::New => changed(None, &list[number], number)?,
        });
        next += usize::from(origin != Origin::New);
    }
    all.extend(unseen(&messages[next..], &mut gone));
    Ok(Some(all))
}

/// The messages among those between two others that hooks do not see. Those that hooks see were taken out, and `gone`
/// collects their calls.
fn unseen(between: &[Message], gone: &mut Vec<String>) -> Vec<Message> {
    let mut stay = Vec::new();
    for message in between {
        match message.body() {
            _ if shown(message).is_some() => {
                gone.extend(message.tool_calls().iter().map(|call| call.id.clone()));
            }
            MessageBody::Tool { tool_call_id, .. } if gone.contains(tool_call_id) => {}
            _ => stay.push(message.clone()),
        }
    }
    stay
}

/// A message with the words of a hook; without an original, a new message.
fn changed(original: Option<&Message>, value: &Value, number: usize) -> Result<Message, Failure> {
    let text = value.get("content").and_then(Value::as_str);
    let text =
        text.ok_or_else(|| wrong(&format!("llm_request.messages[{number}].content` must be a text")))?;
    if let Some(original) = original {
        return Ok(worded(original, text));
    }
    let content = vec![Part::text(text)];
    let body = match value.get("role").and_then(Value::as_str) {
        Some("model" | "assistant") => MessageBody::Assistant {
            content,
            tool_calls: Vec::new(),
            model: String::new(),
            stop_reason: StopReason::Stop,
            usage: Usage::default(),
            error: None,
        },
        _ => MessageBody::User { content },
    };
    Ok(Message::new(MessageRecord {
        id: format!("hook-{number}"),
        time_ms: 0,
        body,
    }))
}

/// A message with another text. Pictures, thoughts and calls stay.
fn worded(original: &Message, text: &str) -> Message {
    let mut record = original.record().clone();
    match &mut record.body {
        MessageBody::User { content }
        | MessageBody::Assistant { content, .. }
        | MessageBody::Tool { content, .. }
        | MessageBody::Note { content, .. } => {
            content.retain(|part| !matches!(part, Part::Text { .. }));
            content.push(Part::text(text));
        }
    }
    Message::new(record)
}

/// The text of an answer that a hook wrote; `None` if it has none.
fn text_of_response(response: &Map<String, Value>) -> Option<String> {
    let parts = response.get("candidates").and_then(|candidates| {
        let parts = candidates.get(0)?.get("content")?.get("parts")?.as_array()?;
        let text = |part: &Value| {
            let text = part.as_str().or_else(|| part.get("text")?.as_str());
            text.map(ToOwned::to_owned)
        };
        Some(parts.iter().filter_map(text).collect::<String>())
    });
    let text = response.get("text").and_then(Value::as_str);
    parts.or_else(|| text.map(ToOwned::to_owned))
}

/// The reply about an answer of the model. A block takes it away with its calls, and ends the run.
pub fn after_model(payload: &PostResponsePayload, answer: &HookAnswer) -> Result<PostResponseReply, Failure> {
    let verdict = answer.refusal();
    if verdict.0.is_some() {
        return Ok(PostResponseReply {
            verdict,
            ..Default::default()
        });
    }
    let text = match member(answer, "llm_response")? {
        Some(response) => text_of_response(response)
            .ok_or_else(|| wrong("llm_response.candidates[0].content.parts` must be a list of texts"))?,
        None => return Ok(PostResponseReply::default()),
    };
    let is_new = text != text_of(payload.message.content());
    Ok(PostResponseReply {
        message: Rewrite(is_new.then(|| worded(&payload.message, &text))),
        ..Default::default()
    })
}

/// The reply about the tools of a request.
pub fn before_tool_selection(
    payload: &ToolsOfferedPayload,
    answer: &HookAnswer,
) -> Result<ToolsOfferedReply, Failure> {
    let Some(config) = member(answer, "toolConfig")? else {
        return Ok(ToolsOfferedReply::default());
    };
    let names: Vec<&str> = match config.get("allowedFunctionNames") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(names)) => {
            let names = names.iter().map(Value::as_str).collect::<Option<_>>();
            names.ok_or_else(|| wrong("toolConfig.allowedFunctionNames` must be a list of texts"))?
        }
        Some(_) => return Err(wrong("toolConfig.allowedFunctionNames` must be a list of texts")),
    };
    let kept = |keeps: &dyn Fn(&ToolOffer) -> bool| {
        let kept = payload.tools.iter().filter(|tool| keeps(tool));
        Some(kept.map(|tool| tool.name.clone()).collect())
    };
    let is_named = |tool: &ToolOffer| names.contains(&&*offered_name(tool)) || names.contains(&&*tool.name);
    let include = match config.get("mode").map(Value::as_str) {
        Some(Some("NONE")) => kept(&|_| false),
        None | Some(Some("AUTO" | "ANY")) if names.is_empty() => None,
        None | Some(Some("AUTO" | "ANY")) => kept(&is_named),
        Some(_) => return Err(wrong("toolConfig.mode` must be `AUTO`, `ANY` or `NONE`")),
    };
    Ok(ToolsOfferedReply {
        include: Intersect(include),
        ..Default::default()
    })
}
