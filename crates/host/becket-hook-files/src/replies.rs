//! What an answer means at each of becket's events.

use becket_dialect_kit::called::Called;
use becket_events::{
    Append, Event, First, Last, Part, PermissionRequestReply, PreCompactReply, PreModelChangeReply,
    PreToolOutputPayload, PreToolOutputReply, PreToolReply, PromptExpansionReply, Rewrite, SessionStartReply,
    SetupReply, SteeringReply, StopPayload, StopReply, Strictest, ToolBatchReply, Union, UserPromptReply,
    Verdict,
};
use becket_hooks::{Cause, Failure};
use serde_json::{Map, Value};

use crate::answer::{Decision, HookAnswer};

impl HookAnswer {
    /// A refusal, if the hook blocks or denies.
    pub fn refusal(&self) -> Strictest {
        let denied = (self.decision == Some(Decision::Deny))
            .then(|| self.reason.clone().unwrap_or_else(|| NO_REASON.to_owned()));
        Strictest(self.block.clone().or(denied).map(Verdict::Deny))
    }

    /// The hook's verdict about a call.
    pub fn verdict(&self) -> Strictest {
        if let Some(deny) = self.refusal().0 {
            return Strictest(Some(deny));
        }
        let reason = || {
            self.reason
                .clone()
                .unwrap_or_else(|| "a hook wants you to decide".into())
        };
        Strictest(match self.decision {
            Some(Decision::Allow) => Some(Verdict::Allow),
            Some(Decision::Ask) => Some(Verdict::Ask(reason())),
            Some(Decision::Insist) => Some(Verdict::Insist(reason())),
            Some(Decision::Deny) | None => None,
        })
    }

    /// The arguments that the hook wrote, in becket's terms. Those of a refused call do not matter.
    fn arguments_of(&self, call: &Called<'_>) -> Result<Option<Map<String, Value>>, Failure> {
        let written = self.arguments.as_ref().filter(|_| self.refusal().0.is_none());
        let read = written.map(|written| {
            let mut read = call.read(written.clone())?;
            // A hook whose system has no word for the directory means the same one.
            if let Some(directory) = call.arguments.get("cwd").filter(|_| !names_directory(call)) {
                read.entry("cwd").or_insert_with(|| directory.clone());
            }
            Ok::<_, String>(read)
        });
        read.transpose()
            .map_err(|error| Failure::new(Cause::WrongShape, format!("the arguments that it wrote: {error}")))
    }
}

/// Whether the tool has an argument for the directory in which a command runs.
fn names_directory(call: &Called<'_>) -> bool {
    let Some(face) = call.face() else { return true };
    let shown = (face.to_foreign)(&Map::from_iter([("cwd".to_owned(), Value::Null)]));
    let known = &face.parameters["properties"];
    shown.keys().any(|name| known.get(name).is_some())
}

const NO_REASON: &str = "refused by a hook, which gives no reason";

/// The reply of a hook that only observes.
pub fn nothing<E: Event>(_: &E::Payload, _: &HookAnswer) -> Result<E::Reply, Failure> {
    Ok(E::Reply::default())
}

/// The reply about a call that may run.
pub fn before_call(call: &Called<'_>, answer: &HookAnswer) -> Result<PreToolReply, Failure> {
    Ok(PreToolReply {
        verdict: answer.verdict(),
        arguments: Rewrite(answer.arguments_of(call)?),
        context: Append(answer.context.clone()),
        ..Default::default()
    })
}

/// The reply about a call that the user would be asked about.
pub fn permission(call: &Called<'_>, answer: &HookAnswer) -> Result<PermissionRequestReply, Failure> {
    Ok(PermissionRequestReply {
        verdict: answer.verdict(),
        arguments: Last(answer.arguments_of(call)?),
        rules: Union(answer.rules.clone()),
        mode: Last(answer.mode),
        ..Default::default()
    })
}

/// The reply about a call that has run. A block tells the model why; `text_of` makes text of an output that the hook
/// wrote in its system's own terms.
pub fn after_call(
    payload: &PreToolOutputPayload,
    answer: &HookAnswer,
    text_of: impl FnOnce(&Value) -> String,
) -> PreToolOutputReply {
    let content = answer.output.as_ref().map(|output| {
        let others = payload.content.iter();
        let others = others.filter(|part| !matches!(part, Part::Text { .. }));
        std::iter::once(Part::text(text_of(output)))
            .chain(others.cloned())
            .collect()
    });
    let context = answer.block.iter().chain(&answer.context).cloned();
    PreToolOutputReply {
        content: Rewrite(content),
        context: Append(context.collect()),
        ..Default::default()
    }
}

/// The reply about all calls of an answer. A block ends the run.
pub fn after_calls(answer: &HookAnswer) -> ToolBatchReply {
    ToolBatchReply {
        context: Append(answer.context.clone()),
        halt: First(answer.block.clone()),
        ..Default::default()
    }
}

/// The reply about a prompt. Text for the model stays in the conversation, as in the systems that write such files.
pub fn prompt(answer: &HookAnswer) -> UserPromptReply {
    UserPromptReply {
        verdict: answer.refusal(),
        notes: Append(answer.context.clone()),
        title: First(answer.title.clone()),
        ..Default::default()
    }
}

/// The reply about messages that come in between.
pub fn steering(answer: &HookAnswer) -> SteeringReply {
    SteeringReply {
        verdict: answer.refusal(),
        notes: Append(answer.context.clone()),
        ..Default::default()
    }
}

/// The reply about a session that begins.
pub fn session_start(answer: &HookAnswer) -> SessionStartReply {
    SessionStartReply {
        context: Append(answer.context.clone()),
        title: First(answer.title.clone()),
        first_prompt: First(answer.first_prompt.clone()),
        ..Default::default()
    }
}

/// The reply about a project that is set up.
pub fn setup(answer: &HookAnswer) -> SetupReply {
    SetupReply {
        context: Append(answer.context.clone()),
        ..Default::default()
    }
}

/// The reply about a line that stands for another text.
pub fn expansion(answer: &HookAnswer) -> PromptExpansionReply {
    PromptExpansionReply {
        verdict: answer.refusal(),
        context: Append(answer.context.clone()),
        ..Default::default()
    }
}

/// The reply about another model.
pub fn model_choice(answer: &HookAnswer) -> PreModelChangeReply {
    PreModelChangeReply {
        verdict: answer.verdict(),
        ..Default::default()
    }
}

/// The reply about an answer that is complete: a block or text for the model makes it go on, at most `cap` times unless
/// the hook's file says how often.
pub fn stop(payload: &StopPayload, answer: &HookAnswer, cap: u32) -> StopReply {
    let cap = answer.loop_limit.unwrap_or(cap);
    let texts: Vec<&str> = answer
        .block
        .iter()
        .chain(&answer.context)
        .map(String::as_str)
        .collect();
    let clear = First(answer.clears.then_some(true));
    if texts.is_empty() {
        return StopReply {
            clear,
            ..Default::default()
        };
    }
    if payload.continuations >= cap {
        let told = format!("a hook wanted the model to continue more than {cap} times; it was ignored");
        return StopReply {
            notice: Append(vec![told]),
            ..Default::default()
        };
    }
    StopReply {
        continue_with: First(Some(texts.join("\n\n"))),
        repeats: First(Some(true)),
        clear,
        ..Default::default()
    }
}

/// The reply about a summary that is to be made.
pub fn compaction(answer: &HookAnswer) -> PreCompactReply {
    PreCompactReply {
        verdict: answer.refusal(),
        context: Append(answer.context.clone()),
        ..Default::default()
    }
}
