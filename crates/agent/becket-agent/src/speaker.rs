//! Who speaks for a session: the agent at work, and what was chosen for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::agent::Agent;
use crate::guests::Brought;
use crate::provider::ThinkingLevel;
use crate::session_handle::{Base, ChosenModel, is_usual};
use crate::tool::ToolSpec;

/// Who speaks for a session.
pub(crate) struct Speaker {
    /// The agent at work, which may be a member of a team.
    pub(crate) agent: Arc<Agent>,
    /// The agent as the session was given it, without a member of its team in its place.
    pub(crate) given: Arc<Agent>,
    /// Built-in tools that the model is not offered unless somebody chooses them.
    pub(crate) unoffered: Arc<BTreeSet<String>>,
    /// The tools that the model is offered, if some were chosen.
    pub(crate) active_tools: Option<Vec<String>>,
    /// The model that was chosen and that hooks have agreed to, if one was.
    pub(crate) chosen_model: Option<ChosenModel>,
    /// The tools that guests have brought.
    pub(crate) brought: Brought,
}

impl Speaker {
    /// The agent at work, as it is without what was chosen through the session handle.
    pub(crate) fn default_agent(&self) -> Arc<Agent> {
        let team = self.given.team.as_deref();
        let member = team.and_then(|team| team.member(&self.agent.settings.agent_name));
        match member {
            Some(member) => Arc::new(self.given.with_member(member)),
            None => Arc::clone(&self.given),
        }
    }

    /// How much the model is to think.
    pub(crate) fn thinking(&self) -> ThinkingLevel {
        self.agent.settings.options.thinking.unwrap_or(ThinkingLevel::Off)
    }

    /// Whether a tool is among those that were chosen through the session handle, or among the usual ones.
    pub(crate) fn offers(&self, spec: &ToolSpec) -> bool {
        match &self.active_tools {
            Some(active) => active.contains(&spec.face.name),
            None => is_usual(spec, &self.unoffered),
        }
    }

    /// Offers the tools that a conversation has called, besides the usual ones.
    pub(crate) fn offer_called(&mut self, called: &BTreeSet<String>) {
        let unoffered = &self.given.settings.unoffered;
        self.unoffered = Arc::new(unoffered.difference(called).cloned().collect());
        if let Some(handle) = &self.given.handle {
            handle.config().set_unoffered(&self.unoffered);
        }
    }

    /// What the session works with as long as nothing else was chosen.
    pub(crate) fn base(&self) -> Base {
        Base {
            unoffered: Arc::clone(&self.unoffered),
            ..self.agent.base()
        }
    }

    /// Fetches the current guest tools for a context, and says whether they have changed. Members of a team keep the
    /// tools of their file.
    pub(crate) fn refresh_guests(&mut self, context_name: &str) -> bool {
        let Some(guests) = &self.given.guests else {
            return false;
        };
        let brought = guests.tools(context_name);
        let is_new = brought.revision != self.brought.revision && self.given.team.is_none();
        if is_new {
            self.brought = brought;
        }
        is_new
    }
}
