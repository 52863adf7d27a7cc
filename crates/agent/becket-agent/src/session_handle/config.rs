//! What a session works with, as its handle shows it: the model, how much it thinks, and the tools. All of it can be
//! chosen before the session begins as well. A choice holds from the next model request on.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::choices::{Base, Choices, ChosenModel, is_same, name_of};
use super::state::{HandleError, Shared};
use crate::provider::{Provider, ThinkingLevel};
use crate::tool::{Tool, ToolSpec};

/// The model and the tools of a session.
#[derive(Clone)]
pub struct SessionConfig(pub(super) Arc<Shared>);

/// A tool of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSeen {
    /// The tool's description.
    pub spec: ToolSpec,
    /// Whether the tool is offered to the model.
    pub is_active: bool,
}

/// A model, and how many tokens it can take.
pub type KnownModel = (Arc<dyn Provider>, u64);

impl SessionConfig {
    /// All tools of the session, including those that the model is not offered.
    pub fn tools(&self) -> Result<Vec<ToolSeen>, HandleError> {
        let state = self.0.state();
        let Base {
            tools,
            takes_tools,
            unoffered,
            ..
        } = &state.seen.as_ref().ok_or(HandleError::NotBegun)?.base;
        let tools = state.choices.tools(tools, *takes_tools).into_iter();
        let seen = tools.map(|tool| ToolSeen {
            spec: tool.spec().clone(),
            is_active: state.choices.is_active(&tool, unoffered),
        });
        Ok(seen.collect())
    }

    /// The model in use.
    pub fn model(&self) -> Result<Arc<dyn Provider>, HandleError> {
        let state = self.0.state();
        let base = &state.seen.as_ref().ok_or(HandleError::NotBegun)?.base;
        let chosen = state.choices.model.as_ref();
        Ok(Arc::clone(chosen.map_or(&base.provider, |model| &model.provider)))
    }

    /// The models that the session has worked with, each with how many tokens it can take: the one that it began with,
    /// and those that were chosen since.
    pub fn models(&self) -> Result<Vec<KnownModel>, HandleError> {
        let state = self.0.state();
        let base = &state.seen.as_ref().ok_or(HandleError::NotBegun)?.base;
        let first = (Arc::clone(&base.provider), base.window_of(None).tokens);
        let chosen = state.choices.known_models.iter();
        let others = chosen.filter(|model| !is_same(&*model.provider, &*base.provider));
        let others = others.map(|model| {
            let window = base.window_of(Some(model));
            (Arc::clone(&model.provider), window.tokens)
        });
        Ok(std::iter::once(first).chain(others).collect())
    }

    /// Notes how many tokens a model can take, as its provider lists it.
    pub fn learn_window(&self, model: &str, tokens: u64) {
        if let Some(seen) = &self.0.state().seen {
            seen.base.windows.learn(model, tokens);
        }
    }

    /// How much the model is to think, if that was set.
    pub fn thinking(&self) -> Result<Option<ThinkingLevel>, HandleError> {
        let state = self.0.state();
        let base = &state.seen.as_ref().ok_or(HandleError::NotBegun)?.base;
        Ok(state.choices.thinking.or(base.thinking))
    }

    /// The conversation has changed, and with it the tools that are not offered unless somebody chooses them.
    pub(crate) fn set_unoffered(&self, unoffered: &Arc<BTreeSet<String>>) {
        if let Some(seen) = &mut self.0.state().seen {
            seen.base.unoffered = Arc::clone(unoffered);
        }
    }

    /// Offers the usual tools to the model again.
    pub fn offer_all_tools(&self) {
        self.choose(|choices| choices.active = None);
    }

    /// Removes the tools that this source has added.
    pub fn take_tools_of(&self, source: &str) {
        self.choose(|choices| choices.tools.retain(|tool| tool.spec().source != source));
    }

    /// Offers only these tools to the model, by the names that the model knows. Unknown names are ignored.
    pub fn set_active_tools(&self, names: Vec<String>) {
        self.choose(|choices| choices.active = Some(names));
    }

    /// Adds a tool and offers it to the model. One with the name of another replaces it.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) {
        self.choose(|choices| {
            choices.tools.retain(|other| name_of(other) != name_of(&tool));
            if let Some(active) = &mut choices.active
                && !active.iter().any(|name| name == name_of(&tool))
            {
                active.push(name_of(&tool).into());
            }
            choices.tools.push(tool);
        });
    }

    /// Chooses another model, for sub-agents as well. `model_change` fires when it is in use.
    pub fn set_model(&self, model: ChosenModel) {
        self.choose(|choices| {
            let known = &mut choices.known_models;
            if !known
                .iter()
                .any(|other| is_same(&*other.provider, &*model.provider))
            {
                known.push(model.clone());
            }
            choices.model = Some(model);
        });
    }

    /// Takes back the choice of a model that hooks have refused; the one that was in use before stays.
    pub(crate) fn keep_model(&self, before: Option<ChosenModel>) {
        let mut state = self.0.state();
        state.choices.model = before;
    }

    /// Sets how much the model is to think.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        self.choose(|choices| choices.thinking = Some(level));
    }

    /// What was chosen, if that has changed since the session last looked.
    pub(crate) fn news(&self) -> Option<Choices> {
        let mut state = self.0.state();
        if state.revision == state.heeded {
            return None;
        }
        state.heeded = state.revision;
        Some(state.choices.clone())
    }

    /// What was chosen so far.
    pub(crate) fn choices(&self) -> Choices {
        self.0.state().choices.clone()
    }

    /// Another agent of the team takes over the session; what was chosen holds for it too.
    pub(crate) fn set_base(&self, base: Base) {
        let mut state = self.0.state();
        state.heeded = 0;
        if let Some(seen) = &mut state.seen {
            seen.base = base;
        }
    }

    fn choose(&self, change: impl FnOnce(&mut Choices)) {
        let mut state = self.0.state();
        if state.over {
            return;
        }
        // A tool that is dropped may use the handle once more, so the lock must not be held then.
        let before = state.choices.clone();
        change(&mut state.choices);
        state.revision += 1;
        drop(state);
        drop(before);
        self.0.queues.tell();
    }
}
