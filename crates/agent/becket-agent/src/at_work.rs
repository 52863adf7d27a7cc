//! A session in the middle of a turn: what tools, sub-agents and the calls of hooks share with it.

use std::sync::{Arc, Mutex};

use becket_events::Usage;
use becket_gate::Hooks;
use becket_gate::gate::Gate;
use tokio::sync::Semaphore;

use crate::agent::Agent;
use crate::family::Family;
use crate::fuel::Fuel;
use crate::session::Session;
use crate::subagent::ToolChoice;
use crate::team::Member;
use crate::tool::{Handoff, SessionVariables, Tool};

/// A session in the middle of a turn: what it shares with the calls that are made in its name.
pub(crate) struct AtWork {
    pub(crate) agent: Arc<Agent>,
    /// The agent as the session was given it.
    pub(crate) given: Arc<Agent>,
    pub(crate) hooks: Hooks,
    pub(crate) gate: Arc<Gate>,
    /// The tools that were offered in this turn.
    pub(crate) tools: Arc<[Arc<dyn Tool>]>,
    /// The tools that calls may use in their turn.
    pub(crate) callable: Arc<[Arc<dyn Tool>]>,
    pub(crate) depth: u32,
    pub(crate) family: Arc<Family>,
    /// Variables that hooks have set for commands.
    pub(crate) environment: Arc<SessionVariables>,
    /// Limits how many sub-agents may work for the session at the same time.
    pub(crate) places: Semaphore,
    /// The fuel that the session may still spend.
    pub(crate) fuel: Fuel,
    /// The tokens that its sub-agents have used.
    spent: Mutex<Usage>,
    /// Whether the calls are made by a hook in the middle of another call, which may have its turn.
    in_passing: bool,
}

impl AtWork {
    /// The session as it is now, with the tools that were offered in this turn.
    pub(crate) fn new(session: &Session, tools: &[Arc<dyn Tool>], fuel: Fuel) -> Self {
        let places = session.speaker.agent.settings.subagents.max_parallel;
        Self {
            agent: Arc::clone(&session.speaker.agent),
            given: Arc::clone(&session.speaker.given),
            hooks: session.hooks.clone(),
            gate: Arc::clone(&session.gate),
            tools: tools.into(),
            callable: tools.into(),
            depth: session.lineage.depth,
            family: Arc::clone(&session.lineage.family),
            environment: Arc::clone(&session.lineage.environment),
            places: Semaphore::new(places as usize),
            fuel,
            spent: Mutex::default(),
            in_passing: false,
        }
    }

    /// The same session, whose calls may use these tools.
    pub(crate) fn with_callable(self, callable: &[Arc<dyn Tool>]) -> Self {
        Self {
            callable: callable.into(),
            ..self
        }
    }

    /// The same session for calls that hooks make: these take no turns, since the call that a hook judges may have its
    /// turn and waits for the hook.
    pub(crate) fn in_passing(self) -> Self {
        Self {
            in_passing: true,
            ..self
        }
    }

    /// Whether calls take no turns, because a hook makes them.
    pub(crate) fn is_in_passing(&self) -> bool {
        self.in_passing
    }

    /// The tokens that its sub-agents have used so far.
    pub(crate) fn spent(&self) -> Usage {
        *self.spent.lock().expect("no panic happens while it is held")
    }

    /// Counts what a sub-agent has used.
    pub(crate) fn count(&self, child: &Session) {
        let mut spent = self.spent.lock().expect("no panic happens while it is held");
        *spent = spent.plus(child.usage());
    }

    /// Whether the session is too deep to have sub-agents.
    pub(crate) fn is_deepest(&self) -> bool {
        self.depth >= self.agent.settings.subagents.max_depth
    }

    /// The message that the session is too deep to have sub-agents.
    pub(crate) fn too_deep(&self) -> String {
        let limit = match self.agent.settings.subagents.max_depth {
            0 => "there are no sub-agents here".to_owned(),
            limit => format!("sub-agents are at most {limit} deep, and this one is"),
        };
        format!("{limit} (`subagents.max_depth`); do it yourself")
    }

    /// The tools that a sub-agent gets: at most those of its parent, or its own if it is a member of a team.
    pub(crate) fn chosen(
        &self,
        choice: &ToolChoice,
        member: Option<&Member>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
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
        let is_meant = |tool: &&Arc<dyn Tool>, name: &String| {
            let spec = tool.spec();
            spec.face.name == *name || spec.own_name == *name
        };
        let among = |names: &[String], wanted: bool| {
            possible()
                .filter(|tool| names.iter().any(|name| is_meant(tool, name)) == wanted)
                .cloned()
                .collect()
        };
        let names = match choice {
            ToolChoice::None => return Ok(Vec::new()),
            ToolChoice::All => return Ok(possible().cloned().collect()),
            ToolChoice::AtMost(names) => return Ok(among(names, true)),
            ToolChoice::AllBut(names) => return Ok(among(names, false)),
            ToolChoice::Named(names) => names,
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
        Ok(among(names, true))
    }
}
