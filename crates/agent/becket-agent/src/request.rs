//! What a request shows to the model: the conversation, what hooks add to it, and the tools on offer.

use std::borrow::Cow;
use std::sync::Arc;

use becket_events::{
    Fallback, Message, MessageBody, ModelContext, ModelContextPayload, RequestPurpose, ToolOffer,
    ToolsOffered, ToolsOfferedPayload,
};

use crate::message::note;
use crate::model_call::{CallFailure, ModelCall};
use crate::provider::{ModelRequest, ToolFace};
use crate::run::Run;
use crate::session::Session;
use crate::settings::EndingTool;
use crate::tool::{BUILTIN, Handoff, Tool, ToolSpec};

impl Session {
    /// The tools of this request, after hooks have taken some away.
    pub(crate) async fn offered_tools(&self, run: &Run) -> Vec<Arc<dyn Tool>> {
        let tools: Vec<&Arc<dyn Tool>> = self
            .agent
            .tools
            .iter()
            .filter(|tool| self.is_of_use(tool.spec(), run) && self.may_ask_agents(&***tool))
            .filter(|tool| self.is_active(tool.spec()))
            .collect();
        let payload = || ToolsOfferedPayload {
            tools: tools.iter().map(|tool| offer(tool.spec())).collect(),
            fuel_remaining: run.fuel.remaining(),
            fuel_total: run.fuel.total,
            continuation: run.continuation,
        };
        let reply = self.hooks.ask::<ToolsOffered>(payload).await;
        let (include, exclude) = (reply.include.get(), reply.exclude.0);
        let kept = tools.into_iter().filter(|tool| {
            let name = &tool.spec().face.name;
            include.as_ref().is_none_or(|include| include.contains(name)) && !exclude.contains(name)
        });
        kept.cloned().collect()
    }

    /// Whether nobody has chosen other tools at the desk.
    fn is_active(&self, spec: &ToolSpec) -> bool {
        let active = self.active_tools.as_ref();
        active.is_none_or(|active| active.contains(&spec.face.name))
    }

    /// Where sub-agents would be too deep, there is no tool for them.
    fn may_ask_agents(&self, tool: &dyn Tool) -> bool {
        self.lineage.depth < self.agent.settings.subagents.max_depth || !tool.asks_agents()
    }

    /// A model whose answer ends the turn anyhow needs no tool of becket's for that.
    fn is_of_use(&self, spec: &ToolSpec, run: &Run) -> bool {
        let ends_turn = spec.handoff == Some(Handoff::Person) && spec.source == BUILTIN;
        !ends_turn
            || self.agent.settings.ending_tool == EndingTool::Always
            || run.fallback == Fallback::CallAgent
            || run.continuation > 0
    }

    pub(crate) async fn ask_model(
        &self,
        run: &Run,
        turn_context: Vec<String>,
        tools: &[Arc<dyn Tool>],
    ) -> Result<Message, CallFailure> {
        let messages = self.visible_messages(run, turn_context);
        let messages = self
            .through_context_hooks(messages, run.iteration, RequestPurpose::Answer)
            .await?;
        let faces: Vec<ToolFace> = tools.iter().map(|tool| tool.spec().face.clone()).collect();
        let call = ModelCall {
            prompt: &run.prompt,
            iteration: run.iteration,
            fuel: run.fuel.clone(),
            continuation: run.continuation,
            ..ModelCall::of(self, RequestPurpose::Answer)
        };
        let system_prompt = self.with_session_context(&run.system_prompt);
        let options = &self.agent.settings.options;
        call.ask(&ModelRequest {
            system_prompt: &system_prompt,
            messages: &messages,
            tools: &faces,
            options,
        })
        .await
    }

    /// Hooks may rewrite what the model sees, whatever the request is for.
    pub(crate) async fn through_context_hooks<'m>(
        &self,
        messages: Cow<'m, [Message]>,
        iteration: u32,
        purpose: RequestPurpose,
    ) -> Result<Cow<'m, [Message]>, CallFailure> {
        let payload = || ModelContextPayload {
            messages: messages.to_vec(),
            summary: self.standing.clone(),
            iteration,
            purpose,
        };
        let (reply, handlers) = self.hooks.ask_whom::<ModelContext>(payload).await;
        let consent = self
            .gate
            .consent(&self.hooks, "this request", reply.verdict, handlers)
            .await;
        if self.hooks.cancel().is_cancelled() {
            return Err(CallFailure::Cancelled(None));
        }
        consent.map_err(CallFailure::Blocked)?;
        Ok(reply.messages.get().map_or(messages, Cow::Owned))
    }

    /// The conversation, with the texts that last only for this prompt or this turn at its end.
    fn visible_messages(&self, run: &Run, turn_context: Vec<String>) -> Cow<'_, [Message]> {
        let passing: Vec<&str> = run
            .context
            .iter()
            .chain(&turn_context)
            .map(String::as_str)
            .collect();
        let passing = (!passing.is_empty()).then(|| note("hook", &passing.join("\n\n")));
        // Providers want the person to speak first, and the summary may stand for the person's words.
        let opens_with_model = self
            .messages
            .first()
            .is_some_and(|message| matches!(message.body(), MessageBody::Assistant { .. }));
        let opening = opens_with_model.then(|| note("summary", SUMMARISED));
        let tasks = run.tasks.as_deref().map(|table| note("tasks", table));
        if passing.is_none() && opening.is_none() && tasks.is_none() {
            return Cow::Borrowed(&self.messages);
        }
        // Before the person's last words, which stay what the model answers.
        let is_user = |message: &Message| matches!(message.body(), MessageBody::User { .. });
        let place = self.messages.iter().rposition(is_user).unwrap_or(0);
        let (before, after) = self.messages.split_at(place);
        let before = opening.into_iter().chain(before.iter().cloned());
        Cow::Owned(
            before
                .chain(tasks)
                .chain(after.iter().cloned())
                .chain(passing)
                .collect(),
        )
    }

    pub(crate) fn with_session_context<'a>(&self, system_prompt: &'a str) -> Cow<'a, str> {
        if self.context.is_empty() {
            return Cow::Borrowed(system_prompt);
        }
        Cow::Owned(format!("{system_prompt}\n\n{}", self.context.join("\n\n")))
    }
}

const SUMMARISED: &str = "The conversation up to here is summarised in the system prompt. Go on from there.";

fn offer(spec: &ToolSpec) -> ToolOffer {
    ToolOffer {
        name: spec.face.name.clone(),
        operation: spec.operation,
        source: spec.source.clone(),
    }
}
