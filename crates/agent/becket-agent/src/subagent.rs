//! Sub-agents: an agent asks another one, which has a session of its own below its parent's.
//!
//! A sub-agent never has more than its parent: its tools are among those that were offered to the parent in this turn,
//! its calls pass the parent's gate, its fuel is the parent's. What it costs is counted to the parent. A member of a
//! team has its own tools instead, since the person has given them to it; all the rest holds for it too.
//! `family.rs` is what all sessions of one prompt share.

use std::fmt;
use std::sync::{Arc, Mutex};

use becket_events::{
    InputSource, PostSubagent, PostSubagentPayload, PreSubagent, PreSubagentPayload, SwitchKind, Usage,
};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::batch::{Batch, FinishedBatch};
use crate::direct_call::DirectCall;
use crate::family::Family;
use crate::front::{Front, PersonsAnswer, Question, Sight};
use crate::fuel::Fuel;
use crate::gate::Gate;
use crate::hooks::Hooks;
use crate::provider::{Provider, RequestOptions};
use crate::queue::Said;
use crate::run::{Ending, Input};
use crate::session::{Agent, Beginning, Lineage, Seats, Session};
use crate::settings::{AgentSettings, EndingTool};
use crate::store::StoreError;
use crate::team::Member;
use crate::tool::{Handoff, Tool};

/// An agent that another one asks.
pub struct SubAgent {
    /// What it is called; by a number where it has no name.
    pub name: Option<String>,
    /// Its system prompt.
    pub system_prompt: String,
    /// What it is asked.
    pub input: String,
    /// Its model; its parent's where none is said.
    pub provider: Option<Arc<dyn Provider>>,
    /// Sampling and length; its parent's where nothing is said.
    pub options: RequestOptions,
    /// What it may use.
    pub tools: ToolChoice,
    /// The member of the team that it is, for one of a team. Then tools and limits are its own, and what its parent has
    /// does not count.
    pub member: Option<Member>,
}

/// Which of its parent's tools a sub-agent gets. None of them gives anybody the word: that is not its to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// None.
    None,
    /// All of them.
    All,
    /// Those with these names, as the model knows them or in becket's own words.
    Named(Vec<String>),
}

/// What became of asking a sub-agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It answered, or a hook did in its place.
    Answered(String),
    /// It was not asked.
    Refused(String),
    /// It was asked, and there is no answer.
    Failed(String),
    /// The person wants everything to stop.
    Cancelled,
}

/// A session in the middle of a turn, as the tools that it runs know it: they can ask sub-agents in its name and make
/// further calls.
#[derive(Clone)]
pub struct Parent {
    pub(crate) agent: Arc<Agent>,
    /// The agent as the session was given it.
    pub(crate) given: Arc<Agent>,
    pub(crate) hooks: Hooks,
    pub(crate) gate: Arc<Gate>,
    /// The tools that were offered in this turn.
    pub(crate) tools: Arc<[Arc<dyn Tool>]>,
    pub(crate) depth: u32,
    pub(crate) family: Arc<Family>,
    /// How many sub-agents may work for it beside each other.
    places: Arc<Semaphore>,
    /// What it may still spend.
    fuel: Fuel,
    /// What its sub-agents have cost.
    spent: Arc<Mutex<Usage>>,
    /// Whether its calls are made while somebody waits for them in the middle of another call, whose turn it may be.
    in_passing: bool,
}

impl fmt::Debug for Parent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Parent")
            .field("session_id", &self.hooks.scope().session_id)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

impl Parent {
    pub(crate) fn new(session: &Session, tools: &[Arc<dyn Tool>], fuel: Fuel) -> Self {
        let places = session.agent.settings.subagents.max_parallel;
        Self {
            agent: Arc::clone(&session.agent),
            given: Arc::clone(&session.given),
            hooks: session.hooks.clone(),
            gate: Arc::clone(&session.gate),
            tools: tools.into(),
            depth: session.lineage.depth,
            family: Arc::clone(&session.lineage.family),
            places: Arc::new(Semaphore::new(places as usize)),
            fuel,
            spent: Arc::default(),
            in_passing: false,
        }
    }

    /// The same for calls that hooks make: these take no turns, since the call that a hook judges may have its turn and
    /// waits for the hook.
    pub(crate) fn in_passing(self) -> Self {
        Self {
            in_passing: true,
            ..self
        }
    }

    /// Whether its calls take no turns.
    pub(crate) fn is_in_passing(&self) -> bool {
        self.in_passing
    }

    /// Identifies the session.
    pub fn session_id(&self) -> &str {
        &self.hooks.scope().session_id
    }

    /// The context in which it runs.
    pub fn context_name(&self) -> &str {
        &self.hooks.scope().context_name
    }

    /// What its sub-agents have cost so far.
    pub(crate) fn spent(&self) -> Usage {
        *self.spent.lock().expect("no panic happens while it is held")
    }

    fn count(&self, child: &Session) {
        let mut spent = self.spent.lock().expect("no panic happens while it is held");
        *spent = spent.plus(child.usage());
    }

    /// Whether it may have no sub-agents.
    pub(crate) fn is_deepest(&self) -> bool {
        self.depth >= self.agent.settings.subagents.max_depth
    }

    /// Why it may have none.
    pub(crate) fn too_deep(&self) -> String {
        let limit = match self.agent.settings.subagents.max_depth {
            0 => "there are no sub-agents here".to_owned(),
            limit => format!("sub-agents are at most {limit} deep, and this one is"),
        };
        format!("{limit} (`subagents.max_depth`); do it yourself")
    }

    /// The tools that were offered in this turn.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Makes a call from within another one: through the same hooks and the same gate. The arguments are in becket's
    /// own words. A hook that wants everything to stop after it makes it fail.
    pub async fn call(
        &self,
        tool: Arc<dyn Tool>,
        arguments: &Map<String, Value>,
        within: &str,
    ) -> DirectCall {
        let call = becket_events::ToolCall {
            id: crate::message::new_id(),
            name: tool.spec().face.name.clone(),
            arguments: Value::Object(arguments.clone()).to_string(),
        };
        let tools = [tool];
        let batch = Batch {
            tools: &tools,
            within: Some(within),
            ..Batch::of(self)
        };
        let finished = batch.run(std::slice::from_ref(&call), None).await;
        let after = batch.after(&finished.calls).await;
        let FinishedBatch { calls, cancelled } = finished;
        let mut call = DirectCall::new(calls.first(), cancelled);
        if let Some(reason) = after.stop {
            (call.output, call.is_error) = (format!("a hook stopped it: {reason}"), true);
        }
        call
    }

    /// The tools that a sub-agent gets: at most those of its parent, or its own if it is a member of a team.
    fn chosen(&self, choice: &ToolChoice, member: Option<&Member>) -> Result<Vec<Arc<dyn Tool>>, String> {
        let may_ask = self.depth + 1 < self.agent.settings.subagents.max_depth;
        let possible = || {
            let tools = member.map_or(&*self.tools, |member| member.tools.as_slice());
            let may_give = move |handoff| match handoff {
                None => true,
                Some(Handoff::Member) => member.is_some(),
                Some(_) => false,
            };
            tools
                .iter()
                .filter(move |tool| may_give(tool.spec().handoff) && (may_ask || !tool.asks_agents()))
        };
        let names = match choice {
            ToolChoice::None => return Ok(Vec::new()),
            ToolChoice::All => return Ok(possible().cloned().collect()),
            ToolChoice::Named(names) => names,
        };
        let is_meant = |tool: &&Arc<dyn Tool>, name: &String| {
            let spec = tool.spec();
            spec.face.name == *name || spec.own_name == *name
        };
        if let Some(unknown) = names
            .iter()
            .find(|name| !possible().any(|tool| is_meant(&tool, name)))
        {
            let known: Vec<&str> = possible().map(|tool| tool.spec().face.name.as_str()).collect();
            let known = match known.as_slice() {
                [] => "there are none".to_owned(),
                known => format!("there are {}", known.join(", ")),
            };
            return Err(format!("a sub-agent cannot have the tool `{unknown}`; {known}"));
        }
        let wanted = possible().filter(|tool| names.iter().any(|name| is_meant(tool, name)));
        Ok(wanted.cloned().collect())
    }
}

impl SubAgent {
    /// Asks it in the name of its parent, and waits for the answer. A cancel of the parent's is one of its own.
    pub async fn run(self, parent: &Parent) -> Outcome {
        if parent.is_deepest() {
            return Outcome::Refused(parent.too_deep());
        }
        let tools = match parent.chosen(&self.tools, self.member.as_ref()) {
            Ok(tools) => tools,
            Err(words) => return Outcome::Refused(words),
        };
        let _place = tokio::select! {
            biased;
            () = parent.hooks.cancel().cancelled() => return Outcome::Cancelled,
            place = parent.places.acquire() => place,
        };
        // Those before it may have burnt what was left.
        if parent.fuel.is_empty() {
            return Outcome::Refused("the fuel for this prompt is used up".into());
        }
        match self.judged(parent, tools).await {
            Ok((agent, tools)) => agent.ask(parent, tools).await,
            Err(outcome) => outcome,
        }
    }

    /// Lets hooks judge it, answer in its place, or change what it is given.
    async fn judged(
        mut self,
        parent: &Parent,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Result<(Self, Vec<Arc<dyn Tool>>), Outcome> {
        let options = self.options(parent);
        let payload = || PreSubagentPayload {
            subagent_name: self.name.clone(),
            system_prompt: self.system_prompt.clone(),
            input: self.input.clone(),
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
            return Err(Outcome::Cancelled);
        }
        consent.map_err(Outcome::Refused)?;
        if let Some(answer) = reply.response.get() {
            return Err(Outcome::Answered(answer));
        }
        self.system_prompt = reply.system_prompt.get().unwrap_or(self.system_prompt);
        self.input = reply.input.get().unwrap_or(self.input);
        // As the tool refuses it that a model gives none.
        if self.input.trim().is_empty() {
            return Err(Outcome::Refused("a hook left the sub-agent no `input`".into()));
        }
        let tools = match reply.tools.get() {
            Some(names) => parent
                .chosen(&ToolChoice::Named(names), self.member.as_ref())
                .map_err(Outcome::Refused)?,
            None => tools,
        };
        Ok((self, tools))
    }

    /// Opens its session, asks, and ends it, whatever happened.
    async fn ask(self, parent: &Parent, tools: Vec<Arc<dyn Tool>>) -> Outcome {
        let asked = PostSubagentPayload {
            subagent_name: self.name.clone(),
            subagent_session_id: None,
            system_prompt: self.system_prompt.clone(),
            input: self.input.clone(),
            subagent_model: self.model(parent),
            response: String::new(),
            error: None,
            usage: Usage::default(),
        };
        let input = Input {
            text: self.input.clone(),
            images: Vec::new(),
            source: InputSource::Agent,
        };
        let member = self.member.clone();
        if let Some(member) = &member {
            parent.tell_switch(member, SwitchKind::Transfer).await;
        }
        let opened = Session::open_below(parent, self.agent(parent, tools)).await;
        let (outcome, session_id, usage) = match opened {
            Err(error) => (failed(&error), None, Usage::default()),
            Ok(mut child) => {
                let id = child.id().to_owned();
                let result = child.run(Said::Words(input)).await;
                parent.count(&child);
                let (usage, outcome) = (child.usage(), outcome_of(&result));
                let reason = result.map_or(becket_events::EndReason::Failed, |end| end.ending.reason());
                let outcome = child
                    .end(reason)
                    .await
                    .map_or_else(|error| failed(&error), |()| outcome);
                (outcome, Some(id), usage)
            }
        };
        // A person who cancels at the question of a sub-agent wants everything to stop.
        if outcome == Outcome::Cancelled {
            parent.hooks.cancel().cancel();
        }
        let payload = || PostSubagentPayload {
            subagent_session_id: session_id,
            response: outcome.answer().unwrap_or_default().to_owned(),
            error: outcome.problem().map(ToOwned::to_owned),
            usage,
            ..asked
        };
        parent.hooks.tell::<PostSubagent>(payload).await;
        if let Some(member) = &member {
            parent.tell_switch(member, SwitchKind::Return).await;
        }
        outcome
    }

    fn model(&self, parent: &Parent) -> String {
        let provider = self.provider.as_ref().unwrap_or(&parent.agent.provider);
        format!("{}/{}", provider.name(), provider.model())
    }

    fn options(&self, parent: &Parent) -> RequestOptions {
        if self.member.is_some() {
            return self.options.clone();
        }
        self.options.or(&parent.agent.settings.options)
    }

    /// What it works with: what its parent works with, less what is the parent's alone. A member of a team has limits
    /// of its own where it says so, and else those that any agent has.
    fn agent(self, parent: &Parent, tools: Vec<Arc<dyn Tool>>) -> Seats {
        let agent = match self.member {
            Some(_) => &parent.given,
            None => &parent.agent,
        };
        let max_turns = agent.settings.subagents.max_turns;
        let options = self.options(parent);
        let name = self.name.unwrap_or_else(|| parent.family.next_name());
        let front = Arc::new(ChildFront {
            name: name.clone(),
            above: Arc::clone(&agent.front),
        });
        let given = Agent {
            engine: Arc::clone(&agent.engine),
            provider: self.provider.unwrap_or_else(|| Arc::clone(&agent.provider)),
            tools: tools.clone(),
            store: Arc::clone(&agent.store),
            front,
            mail: None,
            // One that was made up on the way belongs to no team.
            team: self.member.as_ref().and_then(|_| agent.team.clone()),
            desk: None,
            guests: agent.guests.clone(),
            settings: AgentSettings {
                agent_name: name,
                instructions: self.system_prompt.clone(),
                prompt_files: Vec::new(),
                reflection: None,
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
                let mut seated = given.seating(member);
                // Hooks may have changed both.
                seated.tools = tools;
                seated.settings.instructions = self.system_prompt;
                Arc::new(seated)
            }
        };
        Seats { given, at_work }
    }
}

impl Outcome {
    /// What it answered.
    pub fn answer(&self) -> Option<&str> {
        match self {
            Self::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Why there is no answer.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Answered(_) => None,
            Self::Refused(words) | Self::Failed(words) => Some(words),
            Self::Cancelled => Some("cancelled"),
        }
    }
}

fn failed(error: &StoreError) -> Outcome {
    Outcome::Failed(format!("the sub-agent's session could not be stored: {error}"))
}

fn outcome_of(result: &Result<crate::run::RunEnd, StoreError>) -> Outcome {
    let end = match result {
        Ok(end) => end,
        Err(error) => return failed(error),
    };
    let words = match &end.ending {
        Ending::Answered | Ending::Handled(_) => return Outcome::Answered(end.answer.clone()),
        Ending::Cancelled | Ending::Aborted => return Outcome::Cancelled,
        Ending::Blocked(reason) => format!("a hook stopped the sub-agent: {reason}"),
        Ending::Limit(reason) | Ending::LoopDetected(reason) => {
            format!("the sub-agent did not finish: {reason}")
        }
        Ending::Provider(error) => format!("the sub-agent's model failed: {}", error.message),
    };
    match end.answer.trim() {
        "" => Outcome::Failed(words),
        last => Outcome::Failed(format!("{words}\nIts last words were: {last}")),
    }
}

impl Session {
    /// Begins the session of a sub-agent.
    async fn open_below(parent: &Parent, seats: Seats) -> Result<Self, StoreError> {
        let scope = parent.hooks.scope();
        let lineage = Lineage {
            parent_session_id: Some(scope.session_id.clone()),
            agents_above: [
                scope.agents_above.as_slice(),
                std::slice::from_ref(&scope.agent_name),
            ]
            .concat(),
            depth: parent.depth + 1,
            family: Arc::clone(&parent.family),
            fuel: Some(parent.fuel.lent()),
        };
        let gate = Arc::clone(&parent.gate);
        let beginning = Beginning {
            lineage,
            gate: Some(gate),
            ..Beginning::default()
        };
        let mut child = Self::unannounced(seats, &scope.context_name, beginning).await?;
        child.hooks.set_cancel(parent.hooks.cancel().child_token());
        child.announce().await;
        Ok(child)
    }

    /// Whether another agent asks this one.
    pub(crate) fn is_subagent(&self) -> bool {
        self.lineage.depth > 0
    }
}

/// Shows what a sub-agent does as its own. Its words are no answer to the person.
struct ChildFront {
    name: String,
    above: Arc<dyn Front>,
}

impl Front for ChildFront {
    fn show(&self, sight: Sight<'_>) {
        if !matches!(sight, Sight::Answer { .. } | Sight::Delta(_) | Sight::Message(_)) {
            self.above.show(Sight::Within {
                agent: &self.name,
                sight: &sight,
            });
        }
    }

    fn ask<'a>(&'a self, question: &'a Question) -> futures_util::future::BoxFuture<'a, PersonsAnswer> {
        self.above.ask(question)
    }
}
