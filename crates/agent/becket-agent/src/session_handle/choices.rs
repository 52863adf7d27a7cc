//! What a session works with: its model, its tools and how much it thinks, as its agent says and as it was chosen.

use std::collections::BTreeSet;
use std::sync::Arc;

use becket_events::ModelChoice;

use crate::provider::{Provider, ThinkingLevel};
use crate::tool::{BUILTIN, Tool, ToolSpec};
use crate::window::{LearnedWindows, Window};

/// A model for the session.
#[derive(Clone)]
pub struct ChosenModel {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// How many tokens the model can take, if that is known.
    pub context_window: Option<u64>,
    /// How the model came to be chosen.
    pub choice: ModelChoice,
}

/// What the session works with as long as nothing else was chosen.
pub(crate) struct Base {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) window: Window,
    /// What providers have said about the windows of their models.
    pub(crate) windows: LearnedWindows,
    /// Built-in tools that the model is not offered unless somebody chooses them.
    pub(crate) unoffered: Arc<BTreeSet<String>>,
    /// Whether tools can be added. Members of a team have only the tools that the user has given them.
    pub(crate) takes_tools: bool,
}

impl Base {
    /// How many tokens a model can take, as far as that is known by now: the one that was chosen, or else the first.
    pub(super) fn window_of(&self, chosen: Option<&ChosenModel>) -> Window {
        let (provider, stated) = match chosen {
            None => (&self.provider, self.window),
            Some(model) => (
                &model.provider,
                Window {
                    tokens: model.context_window.unwrap_or(self.window.tokens),
                    is_known: model.context_window.is_some(),
                },
            ),
        };
        self.windows.correct(&**provider, stated)
    }
}

/// What was chosen through the handle.
#[derive(Clone, Default)]
pub(crate) struct Choices {
    pub(crate) model: Option<ChosenModel>,
    /// All models that were ever chosen, each once.
    pub(super) known_models: Vec<ChosenModel>,
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Tools that were added. One with the name of another replaces it.
    pub(super) tools: Vec<Arc<dyn Tool>>,
    /// The tools that the model is offered; default: the usual ones.
    pub(crate) active: Option<Vec<String>>,
}

impl Choices {
    /// The tools of an agent, with those that were added.
    pub(crate) fn tools(&self, base: &[Arc<dyn Tool>], takes_tools: bool) -> Vec<Arc<dyn Tool>> {
        let mut added: Vec<&Arc<dyn Tool>> = match takes_tools {
            true => self.tools.iter().collect(),
            false => Vec::new(),
        };
        let mut tools: Vec<Arc<dyn Tool>> = Vec::with_capacity(base.len() + added.len());
        for tool in base {
            let place = added.iter().position(|other| name_of(other) == name_of(tool));
            tools.push(Arc::clone(place.map_or(tool, |place| added.remove(place))));
        }
        tools.extend(added.into_iter().cloned());
        tools
    }

    pub(crate) fn is_active(&self, tool: &Arc<dyn Tool>, unoffered: &BTreeSet<String>) -> bool {
        match &self.active {
            Some(active) => active.iter().any(|name| name == name_of(tool)),
            None => is_usual(tool.spec(), unoffered),
        }
    }
}

/// Whether a tool is offered where nobody has chosen: each one but those of becket's own that are left out.
pub(crate) fn is_usual(spec: &ToolSpec, unoffered: &BTreeSet<String>) -> bool {
    spec.source != BUILTIN || !unoffered.contains(&spec.face.name)
}

/// The name by which the model knows a tool.
pub(super) fn name_of(tool: &Arc<dyn Tool>) -> &str {
    &tool.spec().face.name
}

/// Whether two providers stand for the same model.
pub(super) fn is_same(one: &dyn Provider, other: &dyn Provider) -> bool {
    (one.name(), one.model()) == (other.name(), other.model())
}
