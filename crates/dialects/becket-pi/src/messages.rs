//! Messages of a conversation as pi's extensions read and write them.
//!
//! pi's messages have no ids. A message that comes back as it was shown stays unchanged, with everything that
//! extensions do not see; a changed one keeps the parts that pi's form does not have.

use becket_dialect_kit::alignment::{Origin, origins};
use becket_events::{
    BRANCH_NOTE, Message, MessageBody, MessageRecord, NoteDraft, Part, SHELL_NOTE, ShellResult,
    StandingSummary, StopReason, ToolCall, Usage,
};
use becket_hooks::{Cause, Failure};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::results;
use super::words::{ModelName, PROFILE, called_tool, own_arguments, written_call};

/// The error message of an answer that was aborted.
pub const ABORTED: &str = "Request was aborted";

/// A message as an extension reads it. `model` names the provider, which a message does not.
pub fn shown(message: &Message, model: ModelName<'_>) -> Value {
    let time = message.record().time_ms;
    match message.body() {
        MessageBody::User { content } => {
            json!({"role": "user", "content": parts(content), "timestamp": time})
        }
        MessageBody::Assistant {
            content,
            tool_calls,
            model: answered_by,
            stop_reason,
            usage,
            error,
        } => {
            let calls = tool_calls.iter().map(shown_call);
            let content: Vec<Value> = content.iter().map(part).chain(calls).collect();
            let aborted = (*stop_reason == StopReason::Cancelled).then(|| ABORTED.to_owned());
            let error = error.clone().or(aborted).map(Value::from);
            let mut shown = json!({
                "role": "assistant",
                "content": content,
                "api": model.api(),
                "provider": model.provider,
                "model": answered_by,
                "usage": shown_usage(usage),
                "stopReason": stop_word(*stop_reason),
                "timestamp": time,
            });
            add(&mut shown, "errorMessage", error);
            shown
        }
        MessageBody::Note { kind, details, .. } if own_note(kind, details.as_ref(), time).is_some() => {
            own_note(kind, details.as_ref(), time).unwrap_or_default()
        }
        MessageBody::Note {
            kind,
            content,
            display,
            details,
        } => with_details(
            json!({
                "role": "custom",
                "customType": kind,
                "content": words_or_parts(content),
                "display": display,
                "timestamp": time,
            }),
            details,
        ),
        MessageBody::Tool {
            tool_call_id,
            tool_name,
            content,
            is_error,
            details,
        } => with_details(
            json!({
                "role": "toolResult",
                "toolCallId": tool_call_id,
                "toolName": called_tool(tool_name),
                "content": parts(content),
                "isError": is_error,
                "timestamp": time,
            }),
            &shown_details(tool_name, details.as_ref(), *is_error),
        ),
    }
}

/// The data of a tool's result, as pi has it.
fn shown_details(tool_name: &str, details: Option<&Value>, is_error: bool) -> Option<Value> {
    let face = PROFILE.face_named(called_tool(tool_name));
    results::details(face.map(|face| face.operation), details, is_error)
}

/// A message as a model reads it: only the roles of the user, the model and its tools exist there.
pub fn said(message: &Message, model: ModelName<'_>) -> Value {
    match message.body() {
        MessageBody::Note { content, .. } => {
            json!({"role": "user", "content": parts(content), "timestamp": message.record().time_ms})
        }
        _ => shown(message, model),
    }
}

fn with_details(mut shown: Value, details: &Option<Value>) -> Value {
    add(&mut shown, "details", details.clone());
    shown
}

/// A note of becket's own for which pi has a role.
fn own_note(kind: &str, details: Option<&Value>, time_ms: u64) -> Option<Value> {
    let details = details?;
    match kind {
        BRANCH_NOTE => Some(json!({
            "role": "branchSummary",
            "summary": details["summary"].as_str()?,
            "fromId": details["from_id"].as_str().unwrap_or("root"),
            "timestamp": time_ms,
        })),
        SHELL_NOTE => serde_json::from_value(details.clone())
            .ok()
            .map(|run| command_run(&run, time_ms)),
        _ => None,
    }
}

/// A command that the user ran, as extensions see it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CommandRun {
    /// The command line.
    pub command: String,
    /// The result of the command.
    #[serde(flatten)]
    pub result: ShellResult,
    /// Whether the model never sees the command.
    pub hidden: bool,
}

/// The message of a command that the user ran.
pub(super) fn command_run(run: &CommandRun, time_ms: u64) -> Value {
    let mut shown = json!({
        "role": "bashExecution",
        "command": run.command,
        "output": run.result.output,
    });
    add(&mut shown, "exitCode", run.result.exit_code.map(Value::from));
    shown["cancelled"] = run.result.cancelled.into();
    shown["truncated"] = run.result.truncated.into();
    let file = run.result.full_output_path.clone().map(Value::from);
    add(&mut shown, "fullOutputPath", file);
    shown["timestamp"] = time_ms.into();
    add(
        &mut shown,
        "excludeFromContext",
        run.hidden.then_some(true.into()),
    );
    shown
}

/// The messages that an extension wrote, as becket's messages.
pub fn written(
    originals: &[Message],
    values: &[Value],
    model: ModelName<'_>,
    field: &str,
) -> Result<Vec<Message>, Failure> {
    let before: Vec<Value> = originals.iter().map(|message| shown(message, model)).collect();
    let mut messages = Vec::with_capacity(values.len());
    for (index, (origin, value)) in origins(&before, values, "role")
        .into_iter()
        .zip(values)
        .enumerate()
    {
        let place = format!("{field}[{index}]");
        let message = match origin {
            Origin::Same(old) => Some(originals[old].clone()),
            Origin::Changed(old) => read(Some(&originals[old]), value, &place)?,
            Origin::New => read(None, value, &place)?,
        };
        messages.extend(message);
    }
    Ok(messages)
}

/// The message that replaces another one. It must have the same role.
pub fn replacement(original: &Message, value: &Value, model: ModelName<'_>) -> Result<Message, Failure> {
    let before = shown(original, model);
    if before == *value {
        return Ok(original.clone());
    }
    if before["role"] != value["role"] {
        let (old, new) = (&before["role"], &value["role"]);
        return Err(wrong(format!(
            "`message.role` must stay {old}, and not become {new}"
        )));
    }
    let read = read(Some(original), value, "message")?;
    read.ok_or_else(|| wrong("`message` cannot be left out of the conversation"))
}

/// The empty answer of a turn that had none, because pi has one for every turn.
pub(super) fn no_answer(model: ModelName<'_>, outcome: &str, time_ms: u64) -> Value {
    let stop_reason = if outcome == "aborted" { "aborted" } else { "error" };
    json!({
        "role": "assistant",
        "content": [],
        "api": model.api(),
        "provider": model.provider,
        "model": model.id,
        "usage": shown_usage(&Usage::default()),
        "stopReason": stop_reason,
        "timestamp": time_ms,
    })
}

/// The message of the summary that stands before a conversation.
pub(super) fn standing_summary(summary: &StandingSummary) -> Value {
    compaction_summary(&summary.text, summary.input_tokens, summary.time_ms)
}

/// The message that replaces a conversation before its compaction.
pub fn compaction_summary(summary: &str, tokens_before: u64, time_ms: u64) -> Value {
    json!({
        "role": "compactionSummary",
        "summary": summary,
        "tokensBefore": tokens_before,
        "timestamp": time_ms,
    })
}

/// A message that an extension wants to add, from `{customType, content, display, details}`.
pub fn draft(value: &Value, place: &str) -> Result<NoteDraft, Failure> {
    let fields = object(value, place)?;
    Ok(NoteDraft {
        kind: text(fields, "customType", place)?,
        content: content(fields, place)?,
        display: fields.get("display").and_then(Value::as_bool).unwrap_or(false),
        details: fields
            .get("details")
            .filter(|details| !details.is_null())
            .cloned(),
    })
}

/// The parts of a message as a list.
pub fn parts(content: &[Part]) -> Value {
    content.iter().map(part).collect()
}

/// Texts and images that an extension wrote.
pub fn written_parts(value: &Value, place: &str) -> Result<Vec<Part>, Failure> {
    let Value::Array(values) = value else {
        return Err(wrong(format!(
            "`{place}` is a list of parts, not {}",
            brief(value)
        )));
    };
    let read = |(index, value): (usize, &Value)| {
        let place = format!("{place}[{index}]");
        written_part(value).ok_or_else(|| {
            wrong(format!(
                "`{place}` is {{type: \"text\", text}} or {{type: \"image\", data, mimeType}}, not {}",
                brief(value)
            ))
        })
    };
    values.iter().enumerate().map(read).collect()
}

/// The token usage of a request, in pi's form.
pub fn shown_usage(usage: &Usage) -> Value {
    let cached = usage.cache_read_tokens + usage.cache_write_tokens;
    json!({
        "input": usage.input_tokens.saturating_sub(cached),
        "output": usage.output_tokens,
        "cacheRead": usage.cache_read_tokens,
        "cacheWrite": usage.cache_write_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
        "cost": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
            "total": usage.cost.unwrap_or(0.0),
        },
    })
}

/// The token usage of a request, from pi's form.
pub fn read_usage(value: &Value) -> Usage {
    let count = |name: &str| value[name].as_u64().unwrap_or(0);
    let (read, written) = (count("cacheRead"), count("cacheWrite"));
    Usage {
        input_tokens: count("input") + read + written,
        output_tokens: count("output"),
        cache_read_tokens: read,
        cache_write_tokens: written,
        cost: value["cost"]["total"].as_f64().filter(|cost| *cost > 0.0),
        ..Usage::default()
    }
}

/// pi's word for the reason why a model stopped.
pub fn stop_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => "stop",
        StopReason::ToolCalls => "toolUse",
        StopReason::Length => "length",
        StopReason::Cancelled => "aborted",
        StopReason::Refused | StopReason::Error => "error",
    }
}

/// A message with the changes of an extension; without an original, a new one. `None` for one that the model never
/// sees.
fn read(original: Option<&Message>, value: &Value, place: &str) -> Result<Option<Message>, Failure> {
    let fields = object(value, place)?;
    let role = fields.get("role").and_then(Value::as_str).unwrap_or_default();
    let note = |words: String| MessageBody::Note {
        kind: role.into(),
        content: vec![Part::text(words)],
        display: false,
        details: None,
    };
    let body = match role {
        "user" => MessageBody::User {
            content: content(fields, place)?,
        },
        "assistant" => assistant(original.map(Message::body), fields, place)?,
        "toolResult" => result(original.map(Message::body), fields, place)?,
        "custom" => {
            let draft = draft(value, place)?;
            MessageBody::Note {
                kind: draft.kind,
                content: draft.content,
                display: draft.display,
                details: draft.details,
            }
        }
        "compactionSummary" => note(summary_text(COMPACTED, &text(fields, "summary", place)?, "\n")),
        "branchSummary" => note(summary_text(BRANCHED, &text(fields, "summary", place)?, "")),
        "bashExecution" if fields.get("excludeFromContext") == Some(&Value::Bool(true)) => return Ok(None),
        "bashExecution" => note(command_text(fields, place)?),
        "system" => note(match fields.get("content") {
            Some(Value::String(words)) => words.clone(),
            _ => becket_events::text_of(&content(fields, place)?),
        }),
        _ => {
            return Err(wrong(format!(
                "`{place}.role` is user, assistant, toolResult, custom, bashExecution, compactionSummary or \
                 branchSummary, not {}",
                brief(fields.get("role").unwrap_or(&Value::Null))
            )));
        }
    };
    let time = fields.get("timestamp").and_then(Value::as_u64);
    Ok(Some(Message::new(MessageRecord {
        id: original.map_or_else(|| format!("hook-{place}"), |message| message.id().to_owned()),
        time_ms: time.unwrap_or_else(|| original.map_or(0, |message| message.record().time_ms)),
        body,
    })))
}

/// The text before the summary of a compacted conversation.
const COMPACTED: &str =
    "The conversation history before this point was compacted into the following summary:";

/// The text before the summary of another branch.
const BRANCHED: &str = "The following is a summary of a branch that this conversation came back from:";

fn summary_text(about: &str, summary: &str, end: &str) -> String {
    format!("{about}\n\n<summary>\n{summary}{end}</summary>")
}

/// A command that the user ran, as the model reads it.
fn command_text(fields: &Map<String, Value>, place: &str) -> Result<String, Failure> {
    let (command, output) = (text(fields, "command", place)?, text(fields, "output", place)?);
    let is = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    let mut words = match output.as_str() {
        "" => format!("Ran `{command}`\n(no output)"),
        output => format!("Ran `{command}`\n```\n{output}\n```"),
    };
    let code = fields.get("exitCode").and_then(Value::as_i64);
    if is("cancelled") {
        words.push_str("\n\n(command cancelled)");
    } else if let Some(code) = code.filter(|code| *code != 0) {
        words.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    let whole = fields.get("fullOutputPath").and_then(Value::as_str);
    if let Some(path) = whole.filter(|_| is("truncated")) {
        words.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    Ok(words)
}

fn assistant(
    original: Option<&MessageBody>,
    fields: &Map<String, Value>,
    place: &str,
) -> Result<MessageBody, Failure> {
    let (calls_before, model, stop_before, usage) = match original {
        Some(MessageBody::Assistant {
            tool_calls,
            model,
            stop_reason,
            usage,
            ..
        }) => (tool_calls.as_slice(), model.clone(), *stop_reason, *usage),
        _ => {
            let model = fields.get("model").and_then(Value::as_str).unwrap_or_default();
            (&[][..], model.into(), StopReason::Stop, Usage::default())
        }
    };
    let values = match fields.get("content") {
        // pi's own models write a list, but a text is unambiguous.
        Some(Value::String(words)) => vec![json!({"type": "text", "text": words})],
        Some(Value::Array(values)) => values.clone(),
        other => {
            let other = brief(other.unwrap_or(&Value::Null));
            return Err(wrong(format!("`{place}.content` is a list, not {other}")));
        }
    };
    let (mut content, mut tool_calls) = (Vec::new(), Vec::new());
    for (index, value) in values.iter().enumerate() {
        let place = format!("{place}.content[{index}]");
        if value["type"] == "toolCall" {
            let call = read_call(calls_before, value);
            tool_calls.push(call.ok_or_else(|| {
                wrong(format!(
                    "`{place}` is {{type: \"toolCall\", id, name, arguments}}"
                ))
            })?);
        } else {
            let part = written_part(value).ok_or_else(|| {
                wrong(format!(
                    "`{place}` is a text, a thinking or a toolCall, not {}",
                    brief(value)
                ))
            })?;
            content.push(part);
        }
    }
    let stop_reason = match fields.get("stopReason").and_then(Value::as_str) {
        Some(word) if word == stop_word(stop_before) => stop_before,
        Some(word) => read_stop_word(word)
            .ok_or_else(|| wrong(format!("`{place}.stopReason` has no meaning: {word:?}")))?,
        None => stop_before,
    };
    let error = fields.get("errorMessage").and_then(Value::as_str);
    Ok(MessageBody::Assistant {
        content,
        tool_calls,
        model,
        stop_reason,
        usage,
        error: error
            .filter(|_| stop_reason == StopReason::Error)
            .map(ToOwned::to_owned),
    })
}

fn result(
    original: Option<&MessageBody>,
    fields: &Map<String, Value>,
    place: &str,
) -> Result<MessageBody, Failure> {
    let name = text(fields, "toolName", place)?;
    let tool_name = match original {
        Some(MessageBody::Tool { tool_name, .. }) if called_tool(tool_name) == name => tool_name.clone(),
        _ => name,
    };
    let details = fields
        .get("details")
        .filter(|details| !details.is_null())
        .cloned();
    Ok(MessageBody::Tool {
        tool_call_id: text(fields, "toolCallId", place)?,
        tool_name,
        content: content(fields, place)?,
        is_error: fields.get("isError").and_then(Value::as_bool).unwrap_or(false),
        details: match original {
            // becket's own data is shown as pi's, so what was left alone stays as it was.
            Some(MessageBody::Tool {
                tool_name,
                details: own,
                is_error,
                ..
            }) if shown_details(tool_name, own.as_ref(), *is_error) == details => own.clone(),
            _ => details,
        },
    })
}

/// The `content` of a message, which may be a text or a list of parts.
fn content(fields: &Map<String, Value>, place: &str) -> Result<Vec<Part>, Failure> {
    match fields.get("content") {
        Some(Value::String(words)) => Ok(vec![Part::text(words)]),
        Some(value @ Value::Array(_)) => written_parts(value, &format!("{place}.content")),
        other => {
            let other = brief(other.unwrap_or(&Value::Null));
            Err(wrong(format!(
                "`{place}.content` is a text or a list of parts, not {other}"
            )))
        }
    }
}

/// Content in the form in which extensions write it: a single text as a string, everything else as a list.
pub(super) fn words_or_parts(content: &[Part]) -> Value {
    match content {
        [Part::Text { text }] => text.as_str().into(),
        content => parts(content),
    }
}

pub(super) fn part(part: &Part) -> Value {
    match part {
        Part::Text { text } => json!({"type": "text", "text": text}),
        Part::Image { media_type, data } => json!({"type": "image", "data": data, "mimeType": media_type}),
        Part::Thinking { text, signature } => {
            let mut shown = json!({"type": "thinking", "thinking": text});
            add(
                &mut shown,
                "thinkingSignature",
                signature.clone().map(Value::from),
            );
            shown
        }
    }
}

fn written_part(value: &Value) -> Option<Part> {
    let text = |key: &str| value[key].as_str().map(ToOwned::to_owned);
    match value["type"].as_str()? {
        "text" => Some(Part::text(text("text")?)),
        "image" => Some(Part::Image {
            media_type: text("mimeType")?,
            data: text("data")?,
        }),
        "thinking" => Some(Part::Thinking {
            text: text("thinking")?,
            signature: text("thinkingSignature"),
        }),
        _ => None,
    }
}

pub(super) fn shown_call(call: &ToolCall) -> Value {
    // Arguments that are no object cannot be shown; they stay unchanged unless the call is changed.
    let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
    let (name, arguments) = written_call(&call.name, arguments);
    json!({"type": "toolCall", "id": call.id, "name": name, "arguments": arguments})
}

fn read_call(before: &[ToolCall], value: &Value) -> Option<ToolCall> {
    let id = value["id"].as_str()?;
    let name = value["name"].as_str()?;
    let arguments = value["arguments"].as_object()?.clone();
    let original = before.iter().find(|call| call.id == id);
    if let Some(original) = original {
        let shown = shown_call(original);
        if shown == *value {
            return Some(original.clone());
        }
        if shown["name"] == name {
            let own = own_arguments(&original.name, name, arguments);
            return Some(ToolCall {
                id: id.into(),
                name: original.name.clone(),
                arguments: Value::Object(own).to_string(),
            });
        }
    }
    Some(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: Value::Object(arguments).to_string(),
    })
}

fn read_stop_word(word: &str) -> Option<StopReason> {
    match word {
        "stop" => Some(StopReason::Stop),
        "toolUse" => Some(StopReason::ToolCalls),
        "length" => Some(StopReason::Length),
        "aborted" => Some(StopReason::Cancelled),
        "error" => Some(StopReason::Error),
        _ => None,
    }
}

/// Adds a member to an object, if there is a value.
pub(super) fn add(object: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        object[name] = value;
    }
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, Failure> {
    value
        .as_object()
        .ok_or_else(|| wrong(format!("`{place}` is an object, not {}", brief(value))))
}

fn text(fields: &Map<String, Value>, name: &str, place: &str) -> Result<String, Failure> {
    match fields.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        other => {
            let other = brief(other.unwrap_or(&Value::Null));
            Err(wrong(format!("`{place}.{name}` is a text, not {other}")))
        }
    }
}

/// The failure of an answer of the wrong shape.
pub(super) fn wrong(detail: impl Into<String>) -> Failure {
    Failure::new(Cause::WrongShape, detail)
}

/// A value, shortened for a message to the user.
pub(super) fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODEL: ModelName<'static> = ModelName {
        provider: "openai",
        id: "gpt",
    };

    fn any_parts() -> impl Strategy<Value = Vec<Part>> {
        let part = prop_oneof![
            ".{0,5}".prop_map(Part::text),
            Just(Part::Image {
                media_type: "image/png".into(),
                data: "AAAA".into(),
            }),
        ];
        prop::collection::vec(part, 0..3)
    }

    fn any_call() -> impl Strategy<Value = ToolCall> {
        let name = prop::sample::select(&["shell", "edit", "list", "bash", "todo"][..]);
        let arguments = prop::sample::select(
            &[
                r#"{"command":"ls", "timeout_seconds":5}"#,
                r#"{"path":"a","edits":[{"old_text":"x","new_text":"y"}]}"#,
                r#"{"path":"a"}"#,
                "{}",
                "no JSON",
            ][..],
        );
        ("[ab]", name, arguments).prop_map(|(id, name, arguments)| ToolCall {
            id,
            name: name.into(),
            arguments: arguments.into(),
        })
    }

    fn any_body() -> impl Strategy<Value = MessageBody> {
        let reasons = [
            StopReason::Stop,
            StopReason::ToolCalls,
            StopReason::Refused,
            StopReason::Cancelled,
            StopReason::Error,
        ];
        let reasons = prop::sample::select(reasons.to_vec());
        let details = prop_oneof![Just(None), Just(Some(json!({"n": 1})))];
        prop_oneof![
            any_parts().prop_map(|content| MessageBody::User { content }),
            (any_parts(), prop::collection::vec(any_call(), 0..3), reasons).prop_map(
                |(content, tool_calls, stop_reason)| MessageBody::Assistant {
                    content,
                    tool_calls,
                    model: "gpt".into(),
                    stop_reason,
                    usage: Usage::default(),
                    error: (stop_reason == StopReason::Error).then(|| "no".into()),
                }
            ),
            (any_call(), any_parts(), any::<bool>(), details.clone()).prop_map(
                |(call, content, is_error, details)| MessageBody::Tool {
                    tool_call_id: call.id,
                    tool_name: call.name,
                    content,
                    is_error,
                    details,
                }
            ),
            ("[a-z]{1,3}", any_parts(), any::<bool>(), details).prop_map(
                |(kind, content, display, details)| MessageBody::Note {
                    kind,
                    content,
                    display,
                    details,
                }
            ),
        ]
    }

    fn any_conversation() -> impl Strategy<Value = Vec<Message>> {
        let message = |(place, body)| {
            Message::new(MessageRecord {
                id: format!("m{place}"),
                time_ms: 1,
                body,
            })
        };
        prop::collection::vec(any_body(), 0..6)
            .prop_map(move |bodies| bodies.into_iter().enumerate().map(message).collect())
    }

    proptest! {
        #[test]
        fn what_is_left_alone_stays_what_it_was(
            (conversation, kept) in any_conversation().prop_flat_map(|conversation| {
                let length = conversation.len();
                (Just(conversation), prop::collection::vec(any::<bool>(), length))
            }),
        ) {
            let all: Vec<Value> = conversation.iter().map(|message| shown(message, MODEL)).collect();
            let back = written(&conversation, &all, MODEL, "messages").unwrap();
            prop_assert_eq!(&back, &conversation);
            let some: Vec<Value> =
                all.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(value, _)| value).collect();
            let back = written(&conversation, &some, MODEL, "messages").unwrap();
            let back: Vec<Value> = back.iter().map(|message| shown(message, MODEL)).collect();
            prop_assert_eq!(back, some);
        }

        #[test]
        fn whatever_is_shown_can_be_read(conversation in any_conversation()) {
            for message in &conversation {
                let value = shown(message, MODEL);
                let read = written(&[], std::slice::from_ref(&value), MODEL, "messages").unwrap();
                let again = shown(&read[0], MODEL);
                prop_assert_eq!(&again["role"], &value["role"]);
                prop_assert_eq!(&again["content"], &value["content"]);
                prop_assert_eq!(&again["details"], &value["details"]);
                prop_assert_eq!(replacement(message, &value, MODEL).unwrap(), message.clone());
            }
        }
    }

    #[test]
    fn messages_that_pi_makes_of_other_things_become_notes() {
        let values = [
            json!({"role": "compactionSummary", "summary": "before", "tokensBefore": 1, "timestamp": 2}),
            json!({"role": "branchSummary", "summary": "aside", "fromId": "x", "timestamp": 2}),
            json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0}),
            json!({"role": "bashExecution", "command": "make", "output": "", "exitCode": 2}),
            json!({"role": "bashExecution", "command": "yes", "output": "y", "cancelled": true, "exitCode": 130,
                   "truncated": true, "fullOutputPath": "/tmp/y"}),
            json!({"role": "bashExecution", "command": "ls", "output": "a", "excludeFromContext": true}),
            json!({"role": "system", "content": "be brief"}),
        ];
        let read = written(&[], &values, MODEL, "messages").unwrap();
        let texts: Vec<String> = read.iter().map(Message::text).collect();
        assert_eq!(
            texts,
            [
                "The conversation history before this point was compacted into the following summary:\n\n\
                 <summary>\nbefore\n</summary>",
                "The following is a summary of a branch that this conversation came back from:\n\n\
                 <summary>\naside</summary>",
                "Ran `ls`\n```\na\n```",
                "Ran `make`\n(no output)\n\nCommand exited with code 2",
                "Ran `yes`\n```\ny\n```\n\n(command cancelled)\n\n[Output truncated. Full output: /tmp/y]",
                "be brief",
            ]
        );
        assert!(
            read.iter()
                .all(|message| matches!(message.body(), MessageBody::Note { .. }))
        );
        assert_eq!(read[0].record().time_ms, 2);
    }
}
