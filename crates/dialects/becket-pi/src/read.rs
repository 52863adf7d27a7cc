//! The replies that answers of extensions mean, event by event. An extension can refuse, but it never allows.

use std::collections::BTreeMap;

use becket_dialect_kit::called::Called;
use becket_events::{
    AgentStart, AgentStartReply, Answer, Append, EntryDraft, Event, First, Handled, Header, Json, Last,
    MessageEnd, MessageEndReply, ModelContext, ModelContextReply, Part, PreCompact, PreCompactReply,
    PreRequest, PreRequestReply, PreSessionFork, PreSessionForkReply, PreSessionSwitch,
    PreSessionSwitchReply, PreSessionTree, PreSessionTreeReply, PreTool, PreToolOutput, PreToolOutputReply,
    PreToolReply, Resources, ResourcesReply, Rewrite, ShellResult, Stop, StopReply, Strictest, Summary,
    TurnEnded, TurnEndedReply, UserInput, UserInputReply, UserShell, UserShellReply, Verdict,
};
use becket_hooks::{Answered, Cause, Failure, Occasion};
use serde_json::{Map, Value};

use super::messages::{self, brief, written_parts, wrong};
use super::words::{ModelName, call_of};

/// The text for the model if a call is blocked without a reason.
const BLOCKED: &str = "Tool execution was blocked";

/// An answer of a script.
#[derive(Debug, Default)]
pub(super) struct Said(pub(super) Answered);

/// An object that a script returned.
struct Returned(Map<String, Value>);

impl Said {
    /// The returned value; `None` for `undefined` and `null`.
    fn value(&self) -> Result<Option<Value>, Failure> {
        let value = self
            .0
            .returned
            .as_deref()
            .map(|text| parsed("what it returned", text));
        Ok(value.transpose()?.filter(|value| !value.is_null()))
    }

    /// The returned object. Any other value but none is an error, because it cannot mean what its author meant.
    fn object(&self) -> Result<Returned, Failure> {
        match self.value()? {
            None => Ok(Returned(Map::new())),
            Some(Value::Object(members)) => Ok(Returned(members)),
            Some(other) => Err(wrong(format!(
                "it returned {}, where an object or nothing is expected",
                brief(&other)
            ))),
        }
    }

    /// The JSON text of a field that the handler changed in place, if it did.
    fn changed(&self, name: &str) -> Option<&str> {
        let changed = self.0.changed.iter().find(|(field, _)| *field == name);
        changed.map(|(_, json)| json.as_str())
    }

    /// The value of a field that the handler changed in place, if it did.
    fn rewritten(&self, name: &str) -> Result<Option<Value>, Failure> {
        let changed = self.changed(name).map(|text| parsed(&format!("`{name}`"), text));
        Ok(changed.transpose()?.filter(|value| !value.is_null()))
    }
}

impl Returned {
    /// Takes a member; `undefined` and `null` count as absent.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(format!("`{name}` is a text, not {}", brief(&other)))),
        }
    }

    fn truth(&mut self, name: &str) -> Result<Option<bool>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(truth)),
            Some(other) => Err(wrong(format!("`{name}` is true or false, not {}", brief(&other)))),
        }
    }

    fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(other) => Err(wrong(format!("`{name}` is a list, not {}", brief(&other)))),
        }
    }

    fn texts(&mut self, name: &str) -> Result<Append<String>, Failure> {
        let values = self.list(name)?.unwrap_or_default();
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            other => Err(wrong(format!(
                "`{name}` is a list of texts, not of {}",
                brief(&other)
            ))),
        };
        values.into_iter().map(text).collect::<Result<_, _>>().map(Append)
    }

    /// Takes a nested object, which can be read in the same way.
    fn object(&mut self, name: &str) -> Result<Option<Self>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(Self(members))),
            Some(other) => Err(wrong(format!("`{name}` is an object, not {}", brief(&other)))),
        }
    }

    /// A refusal if the answer is `{cancel: true}`.
    fn cancel(&mut self, what: &str) -> Result<Strictest, Failure> {
        let cancels = self.truth("cancel")? == Some(true);
        Ok(Strictest(cancels.then(|| {
            Verdict::Deny(format!("{what} cancelled by an extension"))
        })))
    }
}

fn parsed(what: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::new(Cause::UnreadableOutput, format!("{what} is not JSON: {error}")))
}

// ---------------------------------------------------------------- observers

/// The reply of a handler that only observes.
pub(super) fn nothing<E: Event>(_: &Occasion<'_, E>, _: &Said) -> Result<E::Reply, Failure> {
    Ok(E::Reply::default())
}

// ---------------------------------------------------------------- the user's input

pub(super) fn input(_: &Occasion<'_, UserInput>, said: &Said) -> Result<UserInputReply, Failure> {
    let mut returned = said.object()?;
    match returned.text("action")?.as_deref() {
        None if returned.0.is_empty() => Ok(UserInputReply::default()),
        Some("continue") => Ok(UserInputReply::default()),
        Some("handled") => Ok(UserInputReply {
            handled: Answer(Some(Handled { message: None })),
            ..Default::default()
        }),
        Some("transform") => {
            let text = returned.text("text")?;
            let text = text.ok_or_else(|| wrong("`action: \"transform\"` needs a `text`"))?;
            Ok(UserInputReply {
                text: Rewrite(Some(text)),
                images: Rewrite(
                    returned
                        .take("images")
                        .map(|images| pictures(&images))
                        .transpose()?,
                ),
                ..Default::default()
            })
        }
        other => Err(wrong(format!(
            "`action` is \"continue\", \"transform\" or \"handled\", not {}",
            other.map_or_else(|| "absent".to_owned(), |word| format!("{word:?}"))
        ))),
    }
}

fn pictures(value: &Value) -> Result<Vec<Part>, Failure> {
    let parts = written_parts(value, "images")?;
    match parts.iter().all(|part| matches!(part, Part::Image { .. })) {
        true => Ok(parts),
        false => Err(wrong("`images` is a list of {type: \"image\", data, mimeType}")),
    }
}

/// The reply about a command of the user. A function that runs the command belongs to the script's engine; its handle
/// is passed on.
pub(super) fn user_bash(_: &Occasion<'_, UserShell>, said: &Said) -> Result<UserShellReply, Failure> {
    let mut returned = said.object()?;
    match (returned.object("result")?, returned.object("operations")?) {
        (Some(_), Some(_)) => Err(wrong("give `result` or `operations`, not both")),
        (None, None) => Ok(UserShellReply::default()),
        (Some(mut result), None) => {
            let exit_code = match result.take("exitCode") {
                None => None,
                Some(code) => Some(
                    code.as_i64()
                        .and_then(|code| i32::try_from(code).ok())
                        .ok_or_else(|| {
                            wrong(format!("`exitCode` is a whole number, not {}", brief(&code)))
                        })?,
                ),
            };
            Ok(UserShellReply {
                result: Answer(Some(ShellResult {
                    output: result.text("output")?.unwrap_or_default(),
                    exit_code,
                    cancelled: result.truth("cancelled")?.unwrap_or(false),
                    truncated: result.truth("truncated")?.unwrap_or(false),
                    full_output_path: result.text("fullOutputPath")?,
                })),
                ..Default::default()
            })
        }
        (None, Some(operations)) => {
            // Documentation and programs differ in the name of the function.
            if !operations.0.contains_key("exec") && !operations.0.contains_key("execute") {
                return Err(wrong("`operations` has a function `exec` (or `execute`)"));
            }
            Ok(UserShellReply {
                runner: Answer(Some(Value::Object(operations.0))),
                ..Default::default()
            })
        }
    }
}

// ---------------------------------------------------------------- the run

pub(super) fn before_agent_start(
    _: &Occasion<'_, AgentStart>,
    said: &Said,
) -> Result<AgentStartReply, Failure> {
    let mut returned = said.object()?;
    // An empty prompt counts as none, as in pi.
    let system_prompt = returned.text("systemPrompt")?.filter(|prompt| !prompt.is_empty());
    let message = returned.take("message");
    let message = message.map(|message| messages::draft(&message, "message"));
    Ok(AgentStartReply {
        system_prompt: Rewrite(system_prompt),
        messages: Append(message.transpose()?.into_iter().collect()),
        ..Default::default()
    })
}

pub(super) fn context(
    occasion: &Occasion<'_, ModelContext>,
    said: &Said,
) -> Result<ModelContextReply, Failure> {
    let returned = said.object()?.list("messages")?;
    let changed = match (returned, said.changed("messages")) {
        (Some(messages), _) => messages,
        (None, Some(text)) => match parsed("`messages`", text)? {
            Value::Array(messages) => messages,
            other => return Err(wrong(format!("`messages` is a list, not {}", brief(&other)))),
        },
        (None, None) => return Ok(ModelContextReply::default()),
    };
    // The model reads the summary in its system prompt; as a message it counts only if it was changed.
    let standing = occasion.payload.summary.as_ref().map(messages::standing_summary);
    let changed: Vec<Value> = changed
        .into_iter()
        .filter(|message| Some(message) != standing.as_ref())
        .collect();
    let model = ModelName::in_use(occasion.scope);
    let messages = messages::written(&occasion.payload.messages, &changed, model, "messages")?;
    Ok(ModelContextReply {
        messages: Rewrite(Some(messages)),
        ..Default::default()
    })
}

pub(super) fn turn_end(_: &Occasion<'_, TurnEnded>, said: &Said) -> Result<TurnEndedReply, Failure> {
    let mut returned = said.object()?;
    Ok(TurnEndedReply {
        entries: Rewrite(drafts(&mut returned)?),
        go_on: Rewrite(returned.truth("continue")?),
        ..Default::default()
    })
}

pub(super) fn agent_before_settle(_: &Occasion<'_, Stop>, said: &Said) -> Result<StopReply, Failure> {
    let mut returned = said.object()?;
    Ok(StopReply {
        entries: Rewrite(drafts(&mut returned)?),
        go_on: Rewrite(returned.truth("continue")?),
        ..Default::default()
    })
}

fn drafts(returned: &mut Returned) -> Result<Option<Vec<EntryDraft>>, Failure> {
    let Some(values) = returned.list("entries")? else {
        return Ok(None);
    };
    let draft = |(index, value): (usize, &Value)| {
        let place = format!("entries[{index}]");
        match value["type"].as_str() {
            Some("custom_message") => messages::draft(value, &place).map(EntryDraft::Note),
            Some("custom") => match value["customType"].as_str() {
                Some(kind) => Ok(EntryDraft::Record {
                    kind: kind.into(),
                    data: value["data"].clone(),
                }),
                None => Err(wrong(format!("`{place}.customType` is a text"))),
            },
            Some(word @ ("compaction" | "context_edit")) => Err(wrong(format!(
                "`{place}`: becket adds no entry of the type {word:?} here"
            ))),
            _ => Err(wrong(format!(
                "`{place}.type` is \"custom\" or \"custom_message\", not {}",
                brief(&value["type"])
            ))),
        }
    };
    let drafts: Result<_, _> = values.iter().enumerate().map(draft).collect();
    drafts.map(Some)
}

// ---------------------------------------------------------------- requests and messages

/// The reply about a request. A returned value replaces the payload; otherwise the payload counts as it was changed in
/// place.
pub(super) fn before_provider_request(
    _: &Occasion<'_, PreRequest>,
    said: &Said,
) -> Result<PreRequestReply, Failure> {
    let returned = said.0.returned.as_deref().filter(|text| text.trim() != "null");
    let Some(text) = returned.or_else(|| said.changed("payload")) else {
        return Ok(PreRequestReply::default());
    };
    let unreadable = |error| {
        Failure::new(
            Cause::UnreadableOutput,
            format!("the payload is not JSON: {error}"),
        )
    };
    let body = Json::parse(text.to_owned()).map_err(unreadable)?;
    if !body.text().trim_start().starts_with('{') {
        let value = brief(&body.to_value());
        return Err(wrong(format!(
            "the payload of a request is an object, not {value}"
        )));
    }
    Ok(PreRequestReply {
        body: Rewrite(Some(body)),
        ..Default::default()
    })
}

/// The reply about a request's headers, which a handler changes in place: one that is null or gone is not sent.
pub(super) fn before_provider_headers(
    occasion: &Occasion<'_, PreRequest>,
    said: &Said,
) -> Result<PreRequestReply, Failure> {
    let Some(changed) = said.rewritten("headers")? else {
        return Ok(PreRequestReply::default());
    };
    let Value::Object(changed) = changed else {
        return Err(wrong(format!("`headers` is an object, not {}", brief(&changed))));
    };
    let is_shown = |name: &String| occasion.payload.headers.iter().any(|header| header.name == *name);
    // A header under another spelling is the handler's own, and counts more than the one that was shown.
    let (shown, own): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(name, _)| is_shown(name));
    let mut headers = BTreeMap::new();
    for (name, value) in shown.into_iter().chain(own) {
        let value = match value {
            Value::String(text) => Some(text),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            Value::Null => None,
            other => {
                return Err(wrong(format!(
                    "`headers.{name}` is a text, not {}",
                    brief(&other)
                )));
            }
        };
        headers.insert(name.to_lowercase(), value);
    }
    let headers = headers.into_iter();
    let headers = headers.filter_map(|(name, value)| Some(Header { name, value: value? }));
    Ok(PreRequestReply {
        headers: Rewrite(Some(headers.collect())),
        ..Default::default()
    })
}

pub(super) fn message_end(
    occasion: &Occasion<'_, MessageEnd>,
    said: &Said,
) -> Result<MessageEndReply, Failure> {
    let Some(message) = said.object()?.take("message").or(said.rewritten("message")?) else {
        return Ok(MessageEndReply::default());
    };
    let model = ModelName::in_use(occasion.scope);
    let message = messages::replacement(&occasion.payload.message, &message, model)?;
    Ok(MessageEndReply {
        message: Rewrite(Some(message)),
        ..Default::default()
    })
}

// ---------------------------------------------------------------- tools

pub(super) fn tool_call(occasion: &Occasion<'_, PreTool>, said: &Said) -> Result<PreToolReply, Failure> {
    let mut returned = said.object()?;
    let blocks = returned.truth("block")? == Some(true);
    let reason = returned
        .text("reason")?
        .filter(|reason| !reason.trim().is_empty());
    if blocks {
        let reason = reason.unwrap_or_else(|| BLOCKED.to_owned());
        return Ok(PreToolReply {
            verdict: Strictest(Some(Verdict::Deny(reason))),
            ..Default::default()
        });
    }
    let Some(text) = said.changed("input") else {
        return Ok(PreToolReply::default());
    };
    let call = call_of(occasion.payload);
    let written = match parsed("`input`", text)? {
        Value::Object(input) => one_of_two_forms(&call.foreign_arguments(), input),
        other => return Err(wrong(format!("`input` is an object, not {}", brief(&other)))),
    };
    let arguments = match call.read(written.clone()) {
        Ok(arguments) => arguments,
        // pi's own tools ignore unknown arguments.
        Err(error) => call
            .read(without_unknown(&call, written))
            .map_err(|_| wrong(format!("`input`: {error}")))?,
    };
    Ok(PreToolReply {
        arguments: Rewrite(Some(arguments)),
        ..Default::default()
    })
}

/// A handler's arguments, without fields that are unknown to the tool and that the model did not write.
fn without_unknown(call: &Called<'_>, mut written: Map<String, Value>) -> Map<String, Value> {
    let shown = call.foreign_arguments();
    if let Some(face) = call.face() {
        written.retain(|name, _| face.knows(name) || shown.contains_key(name));
    }
    written
}

/// The arguments with a single replacement in one form. It is shown in two, for extensions of every version; the
/// changed one counts.
fn one_of_two_forms(shown: &Map<String, Value>, mut written: Map<String, Value>) -> Map<String, Value> {
    const SINGLE: [&str; 2] = ["oldText", "newText"];
    let in_both = shown.contains_key("edits") && SINGLE.iter().all(|name| shown.contains_key(*name));
    if !in_both {
        return written;
    }
    let differs = |name: &str| shown.get(name) != written.get(name);
    match (differs("edits"), SINGLE.into_iter().any(differs)) {
        (true, false) => SINGLE.iter().for_each(|name| {
            written.remove(*name);
        }),
        (false, true) => {
            written.remove("edits");
        }
        _ => {}
    }
    written
}

pub(super) fn tool_result(
    _: &Occasion<'_, PreToolOutput>,
    said: &Said,
) -> Result<PreToolOutputReply, Failure> {
    let mut returned = said.object()?;
    let content = returned.take("content").or(said.rewritten("content")?);
    let content = content.map(|content| written_parts(&content, "content"));
    Ok(PreToolOutputReply {
        content: Rewrite(content.transpose()?),
        details: Rewrite(returned.take("details").or(said.rewritten("details")?)),
        is_error: Rewrite(returned.truth("isError")?),
        ..Default::default()
    })
}

// ---------------------------------------------------------------- sessions

pub(super) fn session_before_switch(
    _: &Occasion<'_, PreSessionSwitch>,
    said: &Said,
) -> Result<PreSessionSwitchReply, Failure> {
    Ok(PreSessionSwitchReply {
        verdict: said.object()?.cancel("the switch was")?,
        ..Default::default()
    })
}

pub(super) fn session_before_fork(
    _: &Occasion<'_, PreSessionFork>,
    said: &Said,
) -> Result<PreSessionForkReply, Failure> {
    let mut returned = said.object()?;
    Ok(PreSessionForkReply {
        verdict: returned.cancel("the fork was")?,
        without_messages: Last(returned.truth("skipConversationRestore")?),
        ..Default::default()
    })
}

pub(super) fn session_before_tree(
    _: &Occasion<'_, PreSessionTree>,
    said: &Said,
) -> Result<PreSessionTreeReply, Failure> {
    let mut returned = said.object()?;
    Ok(PreSessionTreeReply {
        verdict: returned.cancel("the step in the tree was")?,
        summary: First(summary(returned.object("summary")?)?),
        instructions: Last(returned.text("customInstructions")?),
        instructions_alone: Last(returned.truth("replaceInstructions")?),
        label: First(returned.text("label")?),
        ..Default::default()
    })
}

pub(super) fn session_before_compact(
    _: &Occasion<'_, PreCompact>,
    said: &Said,
) -> Result<PreCompactReply, Failure> {
    let mut returned = said.object()?;
    Ok(PreCompactReply {
        verdict: returned.cancel("the compaction was")?,
        summary: First(summary(returned.object("compaction")?)?),
        ..Default::default()
    })
}

/// A summary, `{summary, firstKeptEntryId, details}`; for a step in the tree there is no first kept entry.
fn summary(returned: Option<Returned>) -> Result<Option<Summary>, Failure> {
    let Some(mut returned) = returned else {
        return Ok(None);
    };
    let text = returned.text("summary")?;
    let text = text.ok_or_else(|| wrong("`summary` is missing: the text of the summary"))?;
    Ok(Some(Summary {
        text,
        first_kept_id: returned.text("firstKeptEntryId")?.filter(|id| !id.is_empty()),
        details: returned.take("details"),
    }))
}

// ---------------------------------------------------------------- settings

pub(super) fn resources_discover(
    _: &Occasion<'_, Resources>,
    said: &Said,
) -> Result<ResourcesReply, Failure> {
    let mut returned = said.object()?;
    Ok(ResourcesReply {
        skills: returned.texts("skillPaths")?,
        prompts: returned.texts("promptPaths")?,
        themes: returned.texts("themePaths")?,
        ..Default::default()
    })
}
