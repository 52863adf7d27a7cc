//! The models of a running session: the one in use, those that are known, those that its provider lists, and what they
//! cost.

use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::Provider;
use becket_agent::session_handle::{ChosenModel, SessionHandle};
use becket_events::ModelChoice;
use becket_host::{Interactive, ListedModel, ModelList, ModelLists};
use becket_providers::Prices;
use becket_tools::Models;

use crate::assemble::Assembled;
use crate::config::CompactionConfig;
use crate::models::window;
use crate::setup::Setup;

/// The models of a running session.
#[derive(Clone, Copy)]
pub struct SessionModels<'a> {
    assembled: &'a Assembled,
    setup: &'a Setup,
    /// Gives models by their names.
    named: &'a Models,
}

impl<'a> SessionModels<'a> {
    pub(crate) fn new(assembled: &'a Assembled, setup: &'a Setup, named: &'a Models) -> Self {
        Self {
            assembled,
            setup,
            named,
        }
    }

    /// The model in use, with its provider.
    pub fn current(&self) -> Arc<dyn Provider> {
        let handle = self.assembled.agent.handle.as_ref();
        let chosen = handle.and_then(|handle| handle.config().model().ok());
        chosen.unwrap_or_else(|| Arc::clone(&self.assembled.agent.provider))
    }

    /// The name of the model in use, as `provider/name`.
    pub fn current_name(&self) -> String {
        let model = self.current();
        format!("{}/{}", model.name(), model.model())
    }

    /// How many tokens the model in use can take, if that is known.
    pub fn window(&self) -> Option<u64> {
        let handle = self.assembled.agent.handle.as_ref()?;
        let usage = handle.context_usage().ok()?;
        usage.is_window_known.then_some(usage.window)
    }

    /// Uses another model from the next request on; the error says why it cannot be had.
    pub fn choose(&self, name: &str) -> Result<(), String> {
        let chooser = self.chooser();
        chooser
            .ok_or("this session cannot change its model; `--model NAME` chooses it")?
            .choose(name)
    }

    /// Chooses models while the session works; `None` if the session cannot be steered.
    pub fn chooser(&self) -> Option<ModelChooser> {
        Some(ModelChooser {
            handle: self.assembled.agent.handle.clone()?,
            interactive: Arc::clone(&self.assembled.interactive),
            named: Arc::clone(self.named),
            windows: self.setup.config.compaction.clone(),
            lists: self.setup.model_lists(),
        })
    }

    /// The models that can be named, as far as they are known without asking anybody.
    pub fn known(&self) -> Vec<ListedModel> {
        self.assembled.models()
    }

    /// The models that the provider in use lists, as `provider/name`; the error says why it lists none. The windows
    /// that it names count from now on.
    pub async fn of_provider(&self, limit: Duration) -> Result<Vec<String>, String> {
        let provider = self.current();
        let listed = tokio::time::timeout(limit, provider.list_models()).await;
        let listed = listed.map_err(|_| {
            let seconds = limit.as_secs();
            format!("{} did not answer within {seconds} seconds", provider.name())
        })?;
        let list = ModelList::now(&*provider, listed.map_err(|error| error.message)?);
        // A list that cannot be kept is read all the same.
        let _ = self.setup.model_lists().keep(&list);
        let names = list.models.into_iter().map(|model| {
            let name = format!("{}/{}", provider.name(), model.name);
            if let (Some(tokens), Some(handle)) = (model.facts.context_window, &self.assembled.agent.handle) {
                handle.config().learn_window(&name, tokens);
            }
            name
        });
        Ok(names.collect())
    }

    /// What models cost.
    pub fn prices(&self) -> Prices {
        self.setup.prices()
    }
}

/// Chooses the model of a session, also while the session works.
#[derive(Clone)]
pub struct ModelChooser {
    handle: SessionHandle,
    interactive: Arc<dyn Interactive>,
    named: Models,
    /// The windows that the user's settings name.
    windows: CompactionConfig,
    lists: ModelLists,
}

impl ModelChooser {
    /// Uses another model from the next request on; the error says why it cannot be had.
    pub fn choose(&self, name: &str) -> Result<(), String> {
        let provider = (self.named)(name)?;
        self.handle.config().set_model(ChosenModel {
            context_window: window(
                (&self.windows, &self.lists),
                &*provider,
                self.interactive.context_window(&*provider),
            ),
            provider,
            choice: ModelChoice::Set,
        });
        Ok(())
    }
}
