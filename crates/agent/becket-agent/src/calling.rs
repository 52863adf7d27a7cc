//! Sub-agents and calls in the name of a session that is in the middle of a turn.
//!
//! Tools are chosen from what was offered to the parent in that turn, so that a hook that takes a tool away takes it
//! from all. The gate is shared, and with it what the user has granted, because it is one conversation with one user.
//!
//! The session of a sub-agent belongs to the context and not to its conversation: it begins with nothing and does not
//! move the place at which the context stands. So it needs no name, no claim and no cleaning up, and goes with its
//! context.
//!
//! A refusal by `pre_subagent` is an error result, and not an answer as if the agent had said it. After a cancel,
//! sub-agents are not dropped as tools are: they end by themselves, within the same grace for their own tools, and
//! leave whole sessions.

use std::collections::BTreeSet;
use std::sync::Arc;

use becket_events::{
    AgentSwitch, AgentSwitchPayload, InputSource, PostSubagent, PostSubagentPayload, PreSubagent,
    PreSubagentPayload, Scope, SwitchKind, ToolCall, Usage,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, SessionAgents, model_of};
use crate::at_work::AtWork;
use crate::batch::{Batch, FinishedBatch, direct_call};
use crate::current_agent::{apply_choices, attach_guests};
use crate::direct_call::DirectCall;
use crate::endings::{Ending, RunEnd};
use crate::front::{Front, FrontUpdate, Question, UserAnswer};
use crate::fuel::Fuel;
use crate::input::Input;
use crate::message::new_id;
use crate::opening::{end_session, open_below};
use crate::provider::RequestOptions;
use crate::queue::Said;
use crate::run::run_prompt;
use crate::session::Session;
use crate::settings::{AgentSettings, EndingTool};
use crate::store::StoreError;
use crate::subagent::{SubAgent, SubAgentEnd, ToolChoice};
use crate::team::{Member, Team};
use crate::tool::{Caller, SessionVariables, Tool, ToolWithArguments};

impl Caller for AtWork {
    fn scope(&self) -> &Scope {
        self.hooks.scope()
    }

    fn callable(&self) -> &[Arc<dyn Tool>] {
        &self.callable
    }

    fn environment(&self) -> &SessionVariables {
        &self.environment
    }

    fn call<'a>(
        self: Arc<Self>,
        tool: Arc<dyn Tool>,
        arguments: &'a Map<String, Value>,
        within: &'a str,
    ) -> BoxFuture<'a, DirectCall> {
        Box::pin(call(self, tool, arguments, within))
    }

    fn call_all<'a>(
        self: Arc<Self>,
        calls: &'a [(Arc<dyn Tool>, Map<String, Value>)],
        within: &'a str,
    ) -> BoxFuture<'a, Vec<DirectCall>> {
        Box::pin(call_all(self, calls, within))
    }

    fn ask(&self, agent: SubAgent) -> BoxFuture<'_, SubAgentEnd> {
        Box::pin(Asked { agent, member: None }.run(self))
    }

    fn transfer<'a>(&'a self, name: &'a str, input: String) -> BoxFuture<'a, SubAgentEnd> {
        Box::pin(transfer(self, name, input))
    }

    fn may_hand_over_to(&self, name: &str) -> Result<(), String> {
        colleague(self, name, Purpose::Conversation).map(|_| ())
    }
}

/// Makes a call from within another one, through the same hooks and the same gate. The arguments have becket's own
/// names. If a hook wants everything to stop after it, the call fails.
async fn call(
    parent: Arc<AtWork>,
    tool: Arc<dyn Tool>,
    arguments: &Map<String, Value>,
    within: &str,
) -> DirectCall {
    let call = ToolCall {
        id: new_id(),
        name: tool.spec().face.name.clone(),
        arguments: Value::Object(arguments.clone()).to_string(),
    };
    let tools = [tool];
    let batch = Batch {
        tools: &tools,
        within: Some(within),
        ..Batch::of(&parent)
    };
    let finished = batch.run(std::slice::from_ref(&call), None).await;
    let after = batch.after(&finished.calls).await;
    let FinishedBatch { calls, cancelled } = finished;
    let mut call = direct_call(calls.first(), cancelled);
    if let Some(reason) = after.stop {
        (call.output, call.is_error) = (format!("a hook stopped it: {reason}"), true);
    }
    call
}

/// Makes calls from within another one, all of them or none.
async fn call_all(parent: Arc<AtWork>, calls: &[ToolWithArguments], within: &str) -> Vec<DirectCall> {
    let tools: Vec<Arc<dyn Tool>> = calls.iter().map(|(tool, _)| Arc::clone(tool)).collect();
    let calls: Vec<ToolCall> = calls
        .iter()
        .map(|(tool, arguments)| ToolCall {
            id: new_id(),
            name: tool.spec().face.name.clone(),
            arguments: Value::Object(arguments.clone()).to_string(),
        })
        .collect();
    let batch = Batch {
        tools: &tools,
        within: Some(within),
        ..Batch::of(&parent)
    };
    let FinishedBatch {
        calls: finished,
        cancelled,
    } = batch.run_whole(&calls).await;
    let after = batch.after(&finished).await;
    let ended = finished.iter().map(|call| direct_call(Some(call), cancelled));
    let mut ended: Vec<DirectCall> = ended.collect();
    if let (Some(reason), Some(last)) = (after.stop, ended.last_mut()) {
        (last.output, last.is_error) = (format!("a hook stopped it: {reason}"), true);
    }
    ended
}

/// Gives a task to a member of the team, in the name of the current one.
async fn transfer(parent: &AtWork, name: &str, input: String) -> SubAgentEnd {
    match colleague(parent, name, Purpose::Task) {
        Ok((team, member)) => {
            let agent = SubAgent {
                name: Some(member.name.clone()),
                system_prompt: team.prompt_of(member),
                input,
                provider: Some(Arc::clone(&member.provider)),
                options: member.options.clone(),
                tools: ToolChoice::All,
            };
            let member = Some(member.clone());
            Asked { agent, member }.run(parent).await
        }
        Err(words) => SubAgentEnd::Refused(words),
    }
}

fn colleague<'a>(parent: &'a AtWork, name: &str, purpose: Purpose) -> Result<(&'a Team, &'a Member), String> {
    let team = parent.agent.team.as_deref();
    let (Some(team), Some(member)) = (team, parent.agent.member()) else {
        return Err("this agent works alone: there is no team".into());
    };
    let found = match purpose {
        Purpose::Task => team.allowed(name, &member.sub_agents, "give a task to"),
        Purpose::Conversation => team.allowed(name, &member.handoffs, "hand the conversation over to"),
    };
    found.map(|found| (team, found))
}

/// Why a member turns to another.
enum Purpose {
    Task,
    Conversation,
}

/// Tells hooks that a member begins to work on a task, or that it has ended.
async fn tell_switch(parent: &AtWork, member: &Member, kind: SwitchKind) {
    let own = &parent.agent.settings.agent_name;
    let payload = || match kind {
        SwitchKind::Return => AgentSwitchPayload {
            from_agent: member.name.clone(),
            to_agent: own.clone(),
            kind,
            from_models: vec![model_of(&*member.provider)],
        },
        _ => AgentSwitchPayload {
            from_agent: own.clone(),
            to_agent: member.name.clone(),
            kind,
            from_models: parent.agent.models(),
        },
    };
    parent.hooks.tell::<AgentSwitch>(payload).await;
}

/// A sub-agent that is asked, and the member of the team that it is, if it is one. A member has its own tools and
/// limits instead of its parent's.
struct Asked {
    agent: SubAgent,
    member: Option<Member>,
}

impl Asked {
    /// Asks the sub-agent in the name of its parent, and waits for the answer. A cancel of the parent cancels it too.
    async fn run(self, parent: &AtWork) -> SubAgentEnd {
        if parent.is_deepest() {
            return SubAgentEnd::Refused(parent.too_deep());
        }
        let tools = match parent.chosen(&self.agent.tools, self.member.as_ref()) {
            Ok(tools) => tools,
            Err(words) => return SubAgentEnd::Refused(words),
        };
        let _place = tokio::select! {
            biased;
            () = parent.hooks.cancel().cancelled() => return SubAgentEnd::Cancelled,
            place = parent.places.acquire() => place,
        };
        // Sub-agents before this one may have used up the fuel.
        if parent.fuel.is_empty() {
            return SubAgentEnd::Refused("the fuel for this prompt is used up".into());
        }
        match self.judged(parent, tools).await {
            Ok((agent, tools)) => agent.ask(parent, tools).await,
            Err(outcome) => outcome,
        }
    }

    /// Lets hooks judge the request, answer in the sub-agent's place, or change what it is given.
    async fn judged(
        mut self,
        parent: &AtWork,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Result<(Self, Vec<Arc<dyn Tool>>), SubAgentEnd> {
        let options = self.options(parent);
        let payload = || PreSubagentPayload {
            subagent_name: self.agent.name.clone(),
            system_prompt: self.agent.system_prompt.clone(),
            input: self.agent.input.clone(),
            subagent_model: self.model(parent),
            temperature: options.temperature,
            max_tokens: options.max_tokens,
            tools: tools.iter().map(|tool| tool.spec().face.name.clone()).collect(),
            depth: parent.depth + 1,
        };
        let (reply, handlers) = parent.hooks.ask_whom::<PreSubagent>(payload).await;
        let consent = parent
            .gate
            .consent(&parent.hooks, "this sub-agent", reply.verdict, handlers)
            .await;
        if parent.hooks.cancel().is_cancelled() {
            return Err(SubAgentEnd::Cancelled);
        }
        consent.map_err(SubAgentEnd::Refused)?;
        if let Some(answer) = reply.response.get() {
            return Err(SubAgentEnd::Answered(answer));
        }
        self.agent.system_prompt = reply.system_prompt.get().unwrap_or(self.agent.system_prompt);
        self.agent.input = reply.input.get().unwrap_or(self.agent.input);
        // The tool refuses an empty `input` by the model in the same way.
        if self.agent.input.trim().is_empty() {
            return Err(SubAgentEnd::Refused(
                "a hook left the sub-agent no `input`".into(),
            ));
        }
        let tools = match reply.tools.get() {
            Some(names) => parent
                .chosen(&ToolChoice::Named(names), self.member.as_ref())
                .map_err(SubAgentEnd::Refused)?,
            None => tools,
        };
        Ok((self, tools))
    }

    /// Opens the sub-agent's session, asks it, and ends the session, whatever happened.
    async fn ask(self, parent: &AtWork, tools: Vec<Arc<dyn Tool>>) -> SubAgentEnd {
        let asked = PostSubagentPayload {
            subagent_name: self.agent.name.clone(),
            subagent_session_id: None,
            system_prompt: self.agent.system_prompt.clone(),
            input: self.agent.input.clone(),
            subagent_model: self.model(parent),
            response: String::new(),
            error: None,
            usage: Usage::default(),
        };
        let input = Input {
            text: self.agent.input.clone(),
            images: Vec::new(),
            source: InputSource::Agent,
        };
        let member = self.member.clone();
        if let Some(member) = &member {
            tell_switch(parent, member, SwitchKind::Transfer).await;
        }
        let opened = open_below(parent, self.agent(parent, tools)).await;
        let (outcome, session_id, usage) = match opened {
            Err(error) => (failed(&error), None, Usage::default()),
            Ok(mut child) => {
                let id = child.id().to_owned();
                let result = run_prompt(&mut child, Said::Words(input)).await;
                parent.count(&child);
                let (usage, outcome) = (child.usage(), outcome_of(&result));
                let reason = result.map_or(becket_events::EndReason::Failed, |end| end.ending.reason());
                let outcome = end_session(child, reason)
                    .await
                    .map_or_else(|error| failed(&error), |()| outcome);
                (outcome, Some(id), usage)
            }
        };
        // A user who cancels at the question of a sub-agent wants everything to stop.
        if outcome == SubAgentEnd::Cancelled {
            parent.hooks.cancel().cancel();
        }
        let payload = || PostSubagentPayload {
            subagent_session_id: session_id,
            response: outcome.answer().unwrap_or_default().to_owned(),
            error: outcome.problem().map(ToOwned::to_owned),
            usage,
            ..asked
        };
        let reply = parent.hooks.ask::<PostSubagent>(payload).await;
        if let Some(member) = &member {
            tell_switch(parent, member, SwitchKind::Return).await;
        }
        match (outcome, reply.response.get()) {
            (SubAgentEnd::Answered(_), Some(other)) => SubAgentEnd::Answered(other),
            (outcome, _) => outcome,
        }
    }

    fn model(&self, parent: &AtWork) -> String {
        let provider = self.agent.provider.as_ref().unwrap_or(&parent.agent.provider);
        format!("{}/{}", provider.name(), provider.model())
    }

    fn options(&self, parent: &AtWork) -> RequestOptions {
        if self.member.is_some() {
            return self.agent.options.clone();
        }
        self.agent.options.or(&parent.agent.settings.options)
    }

    /// What the sub-agent works with: the same as its parent, without what only the parent has. A member of a team has
    /// its own limits if it sets some, and else those of any agent.
    fn agent(self, parent: &AtWork, tools: Vec<Arc<dyn Tool>>) -> SessionAgents {
        let agent = match self.member {
            Some(_) => &parent.given,
            None => &parent.agent,
        };
        let max_turns = agent.settings.subagents.max_turns;
        let options = self.options(parent);
        let name = self.agent.name.unwrap_or_else(|| parent.family.next_name());
        let front = Arc::new(ChildFront {
            name: name.clone(),
            above: Arc::clone(&agent.front),
        });
        let given = Agent {
            engine: Arc::clone(&agent.engine),
            provider: self.agent.provider.unwrap_or_else(|| Arc::clone(&agent.provider)),
            tools: tools.clone(),
            store: Arc::clone(&agent.store),
            front,
            mail: None,
            // A sub-agent that is no member belongs to no team.
            team: self.member.as_ref().and_then(|_| agent.team.clone()),
            handle: None,
            guests: agent.guests.clone(),
            settings: AgentSettings {
                agent_name: name,
                instructions: self.agent.system_prompt.clone(),
                prompt_files: Vec::new(),
                reflection: None,
                // It has the tools that it is given.
                unoffered: BTreeSet::new(),
                max_iterations: max_turns.min(agent.settings.max_iterations),
                fallback: becket_events::Fallback::CallUser,
                ending_tool: EndingTool::WhenNeeded,
                options,
                ..agent.settings.clone()
            },
        };
        let given = Arc::new(given);
        let at_work = match &self.member {
            None => Arc::clone(&given),
            Some(member) => {
                let mut agent = given.with_member(member);
                // Hooks may have changed the tools and the prompt.
                agent.tools = tools;
                agent.settings.instructions = self.agent.system_prompt;
                Arc::new(agent)
            }
        };
        SessionAgents { given, at_work }
    }
}

fn failed(error: &StoreError) -> SubAgentEnd {
    SubAgentEnd::Failed(format!("the sub-agent's session could not be stored: {error}"))
}

fn outcome_of(result: &Result<RunEnd, StoreError>) -> SubAgentEnd {
    let end = match result {
        Ok(end) => end,
        Err(error) => return failed(error),
    };
    let words = match &end.ending {
        Ending::Answered | Ending::Handled(_) => return SubAgentEnd::Answered(end.answer.clone()),
        Ending::Cancelled | Ending::Aborted => return SubAgentEnd::Cancelled,
        Ending::Blocked(reason) => format!("a hook stopped the sub-agent: {reason}"),
        Ending::Limit(reason) | Ending::LoopDetected(reason) => {
            format!("the sub-agent did not finish: {reason}")
        }
        Ending::Provider(error) => format!("the sub-agent's model failed: {}", error.message),
    };
    match end.answer.trim() {
        "" => SubAgentEnd::Failed(words),
        last => SubAgentEnd::Failed(format!("{words}\nIts last words were: {last}")),
    }
}

/// Calls a tool by the name that the model knows or by becket's own name. Nothing of it becomes part of the
/// conversation.
pub(crate) async fn call_tool(
    session: &mut Session,
    name: &str,
    arguments: &Map<String, Value>,
    cancel: CancellationToken,
) -> DirectCall {
    session.hooks.set_cancel(cancel);
    attach_guests(session);
    session
        .speaker
        .given
        .guests
        .iter()
        .for_each(|guests| guests.catch_up());
    apply_choices(session).await;
    let agent = Arc::clone(&session.speaker.agent);
    let specs = || agent.tools.iter().map(|tool| tool.spec());
    let meant = specs()
        .find(|spec| spec.face.name == name)
        .or_else(|| specs().find(|spec| spec.own_name == name));
    let call = ToolCall {
        id: new_id(),
        name: meant.map_or(name, |spec| &spec.face.name).into(),
        arguments: Value::Object(arguments.clone()).to_string(),
    };
    let fuel = Fuel::full(agent.settings.fuel);
    let parent = Arc::new(AtWork::new(session, &agent.tools, fuel));
    let batch = Batch::of(&parent);
    let FinishedBatch { calls, cancelled } = batch.run(std::slice::from_ref(&call), None).await;
    batch.after(&calls).await;
    session.progress.usage = session.progress.usage.plus(parent.spent());
    direct_call(calls.first(), cancelled)
}

/// Shows what a sub-agent does under the sub-agent's name. Its text is no answer to the user.
struct ChildFront {
    name: String,
    above: Arc<dyn Front>,
}

impl Front for ChildFront {
    fn show(&self, update: FrontUpdate<'_>) {
        if !matches!(
            update,
            FrontUpdate::Answer { .. }
                | FrontUpdate::Delta(_)
                | FrontUpdate::Replaced
                | FrontUpdate::Message(_)
        ) {
            self.above.show(FrontUpdate::Within {
                agent: &self.name,
                update: &update,
            });
        }
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, UserAnswer> {
        self.above.ask(question)
    }

    fn wants_previews(&self) -> bool {
        self.above.wants_previews()
    }
}
