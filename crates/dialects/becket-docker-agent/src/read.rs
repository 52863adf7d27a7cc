//! The replies that answers of hooks mean, event by event.

use becket_events::{
    Append, Event, First, Merge, ModelContext, ModelContextReply, Part, PermissionRequest,
    PermissionRequestReply, PostTool, PostToolReply, PreCompact, PreCompactReply, PreTool, PreToolOutput,
    PreToolOutputReply, PreToolReply, Rewrite, SessionStart, SessionStartReply, Steering, SteeringReply,
    Stop, StopReply, Strictest, Summary, TurnStart, TurnStartReply, UserPrompt, UserPromptReply, Verdict,
};
use becket_hooks::Failure;

use super::output::Output;
use super::words::patched;
use super::{messages, show};

/// A hook's answer to one event.
#[derive(Debug, Default)]
pub(super) struct HookAnswer {
    /// The hook's name, for answers without a reason.
    pub(super) hook: String,
    /// The hook's JSON output.
    pub(super) output: Output,
    /// The hook's plain output for the model.
    pub(super) plain: Option<String>,
    /// The reason of a refusal by exit code.
    pub(super) refusal: Option<String>,
    /// Whether only the user can answer an ask, and an allow is only advice.
    pub(super) insists: bool,
}

impl HookAnswer {
    /// Why the action must not happen, if the hook blocks; the reason may come from becket if the hook gives none.
    fn blocked(&self) -> Option<String> {
        let Output {
            keep_going,
            stop_reason,
            decision,
            reason,
            permission_decision,
            permission_decision_reason,
            ..
        } = &self.output;
        let stops = *keep_going == Some(false);
        let blocks = decision.is_some();
        let denies = permission_decision.as_deref() == Some("deny");
        if !stops && !blocks && !denies && self.refusal.is_none() {
            return None;
        }
        // If the exit code refuses, every printed reason counts.
        let exits = self.refusal.is_some();
        let given = [
            self.refusal.as_ref(),
            stop_reason.as_ref().filter(|_| stops || exits),
            reason.as_ref().filter(|_| stops || blocks || exits),
            permission_decision_reason.as_ref().filter(|_| denies || exits),
        ];
        let mut reasons: Vec<&str> = Vec::new();
        for reason in given.into_iter().flatten().map(|reason| reason.trim()) {
            if !reason.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Some(match reasons.is_empty() {
            true => format!("blocked by hook {}, which gives no reason", self.hook),
            false => reasons.join("\n"),
        })
    }

    /// A refusal, if the hook blocks.
    fn refusal(&self) -> Strictest {
        Strictest(self.blocked().map(Verdict::Deny))
    }

    fn verdict(&self) -> Strictest {
        let verdict = match (self.refusal().0, self.output.permission_decision.as_deref()) {
            (Some(deny), _) => Some(deny),
            (None, Some("allow")) if !self.insists => Some(Verdict::Allow),
            (None, Some("ask")) => {
                let given = self.output.permission_decision_reason.clone();
                let reason = given.unwrap_or_else(|| format!("hook {} wants you to decide", self.hook));
                Some(match self.insists {
                    true => Verdict::Insist(reason),
                    false => Verdict::Ask(reason),
                })
            }
            _ => None,
        };
        Strictest(verdict)
    }

    fn context(&self) -> Append<String> {
        let parts = self.output.instruction_context.iter().flatten();
        let parts = parts.filter(|part| part["removed"] != true && part["unavailable"] != true);
        let parts = parts.filter_map(|part| part["content"].as_str().map(ToOwned::to_owned));
        let texts = [&self.output.additional_context, &self.plain];
        let texts = texts.into_iter().flatten().cloned().chain(parts);
        Append(texts.filter(|text| !text.trim().is_empty()).collect())
    }
}

/// The reply of a hook that only observes.
pub(super) fn nothing<E: Event>(_: &E::Payload, _: &HookAnswer) -> Result<E::Reply, Failure> {
    Ok(E::Reply::default())
}

/// The reply about a call. Changed arguments of a refused call do not matter.
pub(super) fn call(
    payload: &<PreTool as Event>::Payload,
    answer: &HookAnswer,
) -> Result<PreToolReply, Failure> {
    let verdict = answer.verdict();
    let patch = answer
        .output
        .updated_input
        .as_ref()
        .filter(|_| !matches!(verdict.0, Some(Verdict::Deny(_))));
    let arguments = patch.map(|patch| patched(&show::pre_tool_call(payload), patch));
    Ok(PreToolReply {
        verdict,
        arguments: Rewrite(arguments.transpose()?),
        ..Default::default()
    })
}

pub(super) fn call_input(
    payload: &<PreTool as Event>::Payload,
    answer: &HookAnswer,
) -> Result<PreToolReply, Failure> {
    let reply = call(payload, answer)?;
    Ok(PreToolReply {
        verdict: answer.refusal(),
        ..reply
    })
}

pub(super) fn permission(
    _: &<PermissionRequest as Event>::Payload,
    answer: &HookAnswer,
) -> Result<PermissionRequestReply, Failure> {
    Ok(PermissionRequestReply {
        verdict: answer.verdict(),
        metadata: Merge(answer.output.metadata.clone().unwrap_or_default()),
        ..Default::default()
    })
}

pub(super) fn after_call(
    _: &<PostTool as Event>::Payload,
    answer: &HookAnswer,
) -> Result<PostToolReply, Failure> {
    Ok(PostToolReply {
        stop: First(answer.blocked()),
        context: answer.context(),
        ..Default::default()
    })
}

/// The reply about a tool's output. A new text replaces all texts, and images stay.
pub(super) fn tool_output(
    payload: &<PreToolOutput as Event>::Payload,
    answer: &HookAnswer,
) -> Result<PreToolOutputReply, Failure> {
    let content = answer.output.updated_tool_response.as_ref().map(|text| {
        let others = payload
            .content
            .iter()
            .filter(|part| !matches!(part, Part::Text { .. }));
        std::iter::once(Part::text(text.as_str()))
            .chain(others.cloned())
            .collect()
    });
    Ok(PreToolOutputReply {
        content: Rewrite(content),
        ..Default::default()
    })
}

pub(super) fn session_context(
    _: &<SessionStart as Event>::Payload,
    answer: &HookAnswer,
) -> Result<SessionStartReply, Failure> {
    Ok(SessionStartReply {
        context: answer.context(),
        ..Default::default()
    })
}

pub(super) fn turn_context(
    _: &<TurnStart as Event>::Payload,
    answer: &HookAnswer,
) -> Result<TurnStartReply, Failure> {
    Ok(TurnStartReply {
        context: answer.context(),
        ..Default::default()
    })
}

pub(super) fn prompt(
    _: &<UserPrompt as Event>::Payload,
    answer: &HookAnswer,
) -> Result<UserPromptReply, Failure> {
    Ok(UserPromptReply {
        verdict: answer.refusal(),
        context: answer.context(),
        ..Default::default()
    })
}

pub(super) fn steering(
    _: &<Steering as Event>::Payload,
    answer: &HookAnswer,
) -> Result<SteeringReply, Failure> {
    Ok(SteeringReply {
        verdict: answer.refusal(),
        context: answer.context(),
        ..Default::default()
    })
}

/// The reply about a request. An empty list of messages changes nothing.
pub(super) fn request(
    payload: &<ModelContext as Event>::Payload,
    answer: &HookAnswer,
) -> Result<ModelContextReply, Failure> {
    let written = answer.output.updated_messages.as_deref().unwrap_or_default();
    let (prompt, written) = messages::apart(written)?;
    let written = Some(written).filter(|messages| !messages.is_empty());
    let messages = written.map(|written| messages::written(&payload.messages, &written));
    Ok(ModelContextReply {
        verdict: answer.refusal(),
        system_prompt: Rewrite(prompt),
        messages: Rewrite(messages.transpose()?),
        ..Default::default()
    })
}

pub(super) fn going_on(_: &<Stop as Event>::Payload, answer: &HookAnswer) -> Result<StopReply, Failure> {
    Ok(StopReply {
        continue_with: First(answer.blocked()),
        ..Default::default()
    })
}

pub(super) fn compaction_advice(
    _: &<PreCompact as Event>::Payload,
    answer: &HookAnswer,
) -> Result<PreCompactReply, Failure> {
    Ok(PreCompactReply {
        verdict: answer.refusal(),
        context: answer.context(),
        ..Default::default()
    })
}

pub(super) fn compaction(
    _: &<PreCompact as Event>::Payload,
    answer: &HookAnswer,
) -> Result<PreCompactReply, Failure> {
    let summary = answer.output.summary.clone().map(|text| Summary {
        text,
        first_kept_id: None,
        details: None,
    });
    Ok(PreCompactReply {
        verdict: answer.refusal(),
        summary: First(summary),
        ..Default::default()
    })
}
