//! Another system's settings about a run, in becket's terms.

use std::path::PathBuf;
use std::sync::Arc;

use becket_agent::provider::RequestOptions;
use becket_agent::url_policy::{PolicyLists, UrlVerdict};
use becket_events::{Fallback, ToolOffer};

/// Decides whether the model is offered a tool.
pub type ToolFilter = Arc<dyn Fn(&ToolOffer) -> bool + Send + Sync>;

/// One settings file of another system. It counts after becket's own settings if it is about all runs, and before them
/// if it belongs to the context that was entered. Tools that it takes away are taken away in any case.
#[derive(Clone, Default)]
pub struct RunSettings {
    /// The system, in lower case.
    pub system: &'static str,
    /// The file.
    pub file: PathBuf,
    /// The model.
    pub model: Option<ForeignModel>,
    /// The system prompt, in place of becket's usual one.
    pub instructions: Option<String>,
    /// How many rounds of tools one prompt may cause; 0 for no limit.
    pub fuel: Option<u32>,
    /// How much fuel an empty answer costs.
    pub empty_answer_cost: Option<u32>,
    /// Who speaks next when the model has answered.
    pub fallback: Option<Fallback>,
    /// How the model is asked.
    pub request: RequestOptions,
    /// The user's name.
    pub user_name: Option<String>,
    /// Whether the agent keeps notes about itself.
    pub reflection: Option<bool>,
    /// Outputs with more bytes than this are cached, and only a preview is shown.
    pub output_limit: Option<usize>,
    /// How many characters are shown of an output that was cached.
    pub preview_chars: Option<usize>,
    /// Folders that may be read without asking.
    pub readable: Vec<PathBuf>,
    /// Which addresses of the web are allowed and denied.
    pub urls: Option<(PolicyLists, UrlVerdict)>,
    /// The tools that the model is offered, if the file restricts them. The filter of a context includes the
    /// restrictions of the file for all runs.
    pub offers: Option<ToolFilter>,
    /// Tools that the file takes away and that the system itself does not have: a guest must bring them.
    pub excluded: Vec<String>,
    /// Tools to which the file restricts the model and that the system itself does not have.
    pub included: Vec<String>,
    /// Keys without a meaning in becket.
    pub not_served: Vec<String>,
}

/// A model that another system's settings or environment name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignModel {
    /// The file or the variable that names the model.
    pub place: String,
    /// The name as it is written there.
    pub id: String,
    /// The model as `provider/name`, if becket can know it.
    pub name: Option<String>,
    /// The message for the user about a model that becket does not know.
    pub unknown: String,
    /// The message for the user about a model for which there is no key.
    pub unserved: String,
}

impl ForeignModel {
    /// The model as `provider/name`, or why it is left out. `is_served` says whether a model is available.
    pub fn served(&self, is_served: &dyn Fn(&str) -> bool) -> Result<String, String> {
        let why = match &self.name {
            Some(name) if is_served(name) => return Ok(name.clone()),
            Some(_) => &self.unserved,
            None => &self.unknown,
        };
        let Self { place, id, .. } = self;
        Err(format!("{place}: the model `{id}` is left out: {why}"))
    }
}
