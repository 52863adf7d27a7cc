//! The replies that answers of plugins mean, hook by hook. Patches become full values here.
//!
//! A plugin can refuse or abstain: it never replaces the user's consent.

use becket_events::{
    Adjust, Answer, Append, Delivery, Event, Fallback, First, Intersect, Json, Last, LoopStart,
    LoopStartReply, Part, PostSystemPrompt, PostSystemPromptReply, PreCache, PreCacheReply, PreFetch,
    PreFetchReply, PreFileRead, PreFileReadReply, PreFileWrite, PreFileWriteReply, PreMessageDelivery,
    PreMessageDeliveryReply, PreRequest, PreRequestReply, PreShell, PreShellReply, PreSubagent,
    PreSubagentReply, PreSystemPrompt, PreSystemPromptReply, PreTool, PreToolOutput, PreToolOutputReply,
    PreToolReply, Prepend, Rewrite, Rule, Strictest, ToolBatch, ToolBatchReply, ToolsOffered,
    ToolsOfferedReply, Union, UserPrompt, UserPromptReply, Verdict,
};
use becket_hooks::Failure;
use serde_json::Value;

use super::answer::{AnswerFields, wrong_shape};
use super::situation::Situation;

/// The reply of a hook that only observes.
pub(super) fn nothing<E: Event>(_: &Situation<'_, E>, _: AnswerFields) -> Result<E::Reply, Failure> {
    Ok(E::Reply::default())
}

pub(super) fn prompt(
    _: &Situation<'_, UserPrompt>,
    answer: AnswerFields,
) -> Result<UserPromptReply, Failure> {
    Ok(UserPromptReply {
        prompt: Rewrite(answer.text("prompt")?),
        ..Default::default()
    })
}

pub(super) fn inject_before(
    _: &Situation<'_, PreSystemPrompt>,
    answer: AnswerFields,
) -> Result<PreSystemPromptReply, Failure> {
    Ok(PreSystemPromptReply {
        inject: Prepend(injected(&answer)?),
        ..Default::default()
    })
}

pub(super) fn inject_after(
    _: &Situation<'_, PostSystemPrompt>,
    answer: AnswerFields,
) -> Result<PostSystemPromptReply, Failure> {
    Ok(PostSystemPromptReply {
        inject: Append(injected(&answer)?),
        ..Default::default()
    })
}

fn injected(answer: &AnswerFields) -> Result<Vec<String>, Failure> {
    let inject = answer.text("inject")?;
    Ok(inject.into_iter().filter(|text| !text.is_empty()).collect())
}

/// The reply about a call. A refusal overrides changed arguments.
pub(super) fn call(at: &Situation<'_, PreTool>, answer: AnswerFields) -> Result<PreToolReply, Failure> {
    let verdict = blocked(&answer, "Tool call blocked by hook")?;
    if verdict.0.is_some() {
        return Ok(PreToolReply {
            verdict,
            ..Default::default()
        });
    }
    let call = at.payload;
    let arguments = match answer.object("arguments")? {
        Some(written) => {
            Some(
                at.words
                    .arguments(&call.called_as, call.operation, &call.arguments, written)?,
            )
        }
        None => None,
    };
    Ok(PreToolReply {
        arguments: Rewrite(arguments),
        ..Default::default()
    })
}

/// The reply about a tool's output. A new text replaces all texts, and images stay; of a blocked output nothing stays.
pub(super) fn output(
    at: &Situation<'_, PreToolOutput>,
    answer: AnswerFields,
) -> Result<PreToolOutputReply, Failure> {
    let message = answer.text("message")?;
    if answer.flag("block")? {
        let message = message.unwrap_or_else(|| "Output blocked by hook".to_owned());
        return Ok(PreToolOutputReply {
            withheld: Answer(Some(message)),
            ..Default::default()
        });
    }
    let content = answer.text("output")?.map(|output| {
        let parts = at.payload.content.iter();
        let others = parts.filter(|part| !matches!(part, Part::Text { .. }));
        std::iter::once(Part::text(output))
            .chain(others.cloned())
            .collect()
    });
    Ok(PreToolOutputReply {
        content: Rewrite(content),
        ..Default::default()
    })
}

/// The reply about the tools on offer. A tool is offered while one of the names by which the plugin knows it remains.
pub(super) fn choice_of_tools(
    at: &Situation<'_, ToolsOffered>,
    answer: AnswerFields,
) -> Result<ToolsOfferedReply, Failure> {
    let include = answer.names("include")?;
    let exclude = answer.names("exclude")?.unwrap_or_default();
    let survives = |name: &&str| {
        include
            .as_ref()
            .is_none_or(|include| include.iter().any(|kept| kept == name))
            && !exclude.iter().any(|taken| taken == name)
    };
    let (kept, taken): (Vec<_>, Vec<_>) = at
        .payload
        .tools
        .iter()
        .partition(|offer| at.words.names_of(offer).iter().any(survives));
    let names =
        |offers: Vec<&becket_events::ToolOffer>| offers.into_iter().map(|offer| offer.name.clone()).collect();
    Ok(ToolsOfferedReply {
        include: Intersect(include.as_ref().map(|_| names(kept))),
        exclude: Union(names(taken)),
        ..Default::default()
    })
}

/// The reply about a request's body. Fields of the answer replace those of the body; the others stay as they are, byte
/// for byte.
pub(super) fn request_body(
    at: &Situation<'_, PreRequest>,
    answer: AnswerFields,
) -> Result<PreRequestReply, Failure> {
    let Some(mut patch) = answer.object("request_body")? else {
        return Ok(PreRequestReply::default());
    };
    let members = at.payload.body.members().and_then(Result::ok);
    let members =
        members.ok_or_else(|| wrong_shape("the request's body is no object that could be changed"))?;
    let mut body: Vec<(String, Json)> = members
        .into_iter()
        .map(|(name, value)| {
            let value = patch.shift_remove(&name).map_or(value, Json::from);
            (name, value)
        })
        .collect();
    body.extend(patch.into_iter().map(|(name, value)| (name, Json::from(value))));
    Ok(PreRequestReply {
        body: Rewrite(Some(joined(&body))),
        ..Default::default()
    })
}

fn joined(members: &[(String, Json)]) -> Json {
    let members: Vec<String> = members
        .iter()
        .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.text()))
        .collect();
    Json::joined(format!("{{{}}}", members.join(",")))
}

pub(super) fn loop_start(
    _: &Situation<'_, LoopStart>,
    answer: AnswerFields,
) -> Result<LoopStartReply, Failure> {
    Ok(LoopStartReply {
        fallback: Last(fallback(&answer)?),
        fuel: fuel(&answer)?,
        ..Default::default()
    })
}

pub(super) fn tool_batch(
    _: &Situation<'_, ToolBatch>,
    answer: AnswerFields,
) -> Result<ToolBatchReply, Failure> {
    Ok(ToolBatchReply {
        fallback: Last(fallback(&answer)?),
        fuel: fuel(&answer)?,
        ..Default::default()
    })
}

fn fallback(answer: &AnswerFields) -> Result<Option<Fallback>, Failure> {
    match answer.text("fallback")?.as_deref() {
        None => Ok(None),
        Some("call_user") => Ok(Some(Fallback::CallUser)),
        Some("call_agent") => Ok(Some(Fallback::CallAgent)),
        Some(other) => Err(wrong_shape(format!(
            "`fallback` is call_user or call_agent, not {other}"
        ))),
    }
}

fn fuel(answer: &AnswerFields) -> Result<Adjust, Failure> {
    let set = answer
        .count("fuel")?
        .map(|fuel| u32::try_from(fuel).unwrap_or(u32::MAX));
    let set = set.map_or_else(Adjust::default, Adjust::set);
    let add = answer.difference("fuel_delta")?.unwrap_or(0);
    Ok(set.then(Adjust { set: None, add }))
}

pub(super) fn denied_reading(
    _: &Situation<'_, PreFileRead>,
    answer: AnswerFields,
) -> Result<PreFileReadReply, Failure> {
    Ok(PreFileReadReply {
        verdict: denied(&answer)?,
        ..Default::default()
    })
}

pub(super) fn denied_writing(
    _: &Situation<'_, PreFileWrite>,
    answer: AnswerFields,
) -> Result<PreFileWriteReply, Failure> {
    Ok(PreFileWriteReply {
        verdict: denied(&answer)?,
        ..Default::default()
    })
}

pub(super) fn denied_command(
    _: &Situation<'_, PreShell>,
    answer: AnswerFields,
) -> Result<PreShellReply, Failure> {
    Ok(PreShellReply {
        verdict: denied(&answer)?,
        ..Default::default()
    })
}

pub(super) fn denied_fetching(
    _: &Situation<'_, PreFetch>,
    answer: AnswerFields,
) -> Result<PreFetchReply, Failure> {
    Ok(PreFetchReply {
        verdict: denied(&answer)?,
        ..Default::default()
    })
}

/// The reply about a sub-agent. An answer in the sub-agent's place overrides a refusal.
pub(super) fn subagent(
    _: &Situation<'_, PreSubagent>,
    answer: AnswerFields,
) -> Result<PreSubagentReply, Failure> {
    let response = answer.text("response")?;
    let verdict = match response {
        Some(_) => Strictest::default(),
        None => blocked(&answer, "Sub-agent call blocked by hook")?,
    };
    Ok(PreSubagentReply {
        verdict,
        response: Answer(response),
        ..Default::default()
    })
}

pub(super) fn cache(_: &Situation<'_, PreCache>, answer: AnswerFields) -> Result<PreCacheReply, Failure> {
    Ok(PreCacheReply {
        summary: First(answer.text("summary")?),
        cache: First(answer.flag("block")?.then_some(false)),
        ..Default::default()
    })
}

pub(super) fn delivery(
    at: &Situation<'_, PreMessageDelivery>,
    answer: AnswerFields,
) -> Result<PreMessageDeliveryReply, Failure> {
    let via = answer.text("via")?.unwrap_or_else(|| at.plugin.to_owned());
    Ok(PreMessageDeliveryReply {
        delivered: Answer(answer.flag("delivered")?.then_some(Delivery { via })),
        ..Default::default()
    })
}

/// A refusal if `block` is true, with the reason in `message`.
fn blocked(answer: &AnswerFields, default: &str) -> Result<Strictest, Failure> {
    refused(answer, ["message", "reason"], default)
}

/// A refusal if `denied` is true, with the reason in `reason`. Plugins between the generations use `approved` instead.
fn denied(answer: &AnswerFields) -> Result<Strictest, Failure> {
    refused(answer, ["reason", "message"], "denied by plugin")
}

/// A refusal in any spelling: that of another guard is never written by mistake.
fn refused(answer: &AnswerFields, [usual, other]: [&str; 2], default: &str) -> Result<Strictest, Failure> {
    let reason = answer.text(usual)?;
    if !answer.flag("block")? && !answer.flag("denied")? && answer.choice("approved")? != Some(false) {
        return Ok(Strictest::default());
    }
    let reason = reason.or(answer.text(other)?);
    Ok(Strictest(Some(Verdict::Deny(
        reason.unwrap_or_else(|| default.to_owned()),
    ))))
}
