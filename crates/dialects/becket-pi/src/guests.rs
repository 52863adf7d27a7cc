//! The loaded extensions and the resources of a run, as its guests.

use std::sync::Arc;

use becket_agent::provider::ModelFacts;
use becket_host::{Guests, Interactive, Listed, ListedModel, Report, Stage, Toolbox, Unloaded};
use becket_js::Extension;
use becket_system::CliError;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::extensions::{Extensions, Guest};
use crate::host_call::HostCall;
use crate::run_resources::RunResources;

/// Extensions that are loaded, and the resources of the run.
pub struct ExtensionGuests {
    /// The extensions.
    pub extensions: Arc<Extensions>,
    /// Skills, prompt templates and themes.
    pub resources: Arc<RunResources>,
    /// Extensions that pi would load and that do not exist.
    pub(crate) missing: Vec<Unloaded>,
    /// Remarks about the extensions.
    pub(crate) about_extensions: Vec<String>,
    /// Remarks about the resources.
    pub(crate) about_resources: Vec<String>,
}

impl Guests for ExtensionGuests {
    fn key_variables(&self) -> Vec<String> {
        self.extensions.key_variables()
    }

    fn remarks(&self) -> Vec<String> {
        [self.about_extensions.as_slice(), &self.about_resources].concat()
    }

    fn unloaded(&self) -> Vec<Unloaded> {
        let missing = self.missing.iter().cloned();
        missing.chain(self.extensions.unloaded()).collect()
    }

    fn leave_out(&self, name: &str) {
        self.extensions.leave_out(name);
    }

    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        let parts = (stage.engine, stage.person, stage.store);
        self.extensions
            .take_stage(parts, &self.resources, stage.profile, Arc::clone(stage.models));
        Ok(Vec::new())
    }

    fn interactive(self: Arc<Self>) -> Option<Arc<dyn Interactive>> {
        Some(self)
    }

    fn tool_rank(&self) -> u8 {
        1
    }

    fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        self.extensions.add_tools(toolbox.profile, &mut toolbox.tools)
    }

    fn tool_names(&self) -> Vec<String> {
        self.extensions.tool_names()
    }

    fn may_still_bring(&self, _: &str) -> bool {
        !self.extensions.names().is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.extensions.names()
    }

    fn reports(&self) -> Vec<Report> {
        // Extensions that could not be loaded are reported through `unloaded`.
        let loaded = self.extensions.each(|guest| {
            let is_loaded = guest.trouble.is_none();
            let notes = without_login(guest).map(|words| Report::note(guest.shown(), words));
            is_loaded.then(|| [Some(Report::new(brought(guest, ";"), None)), notes])
        });
        let loaded = loaded.into_iter().flatten().flatten().flatten();
        let odd = self.about_extensions.iter();
        let odd = odd.map(|remark| Report::new("extensions", Some(remark.clone())));
        let kinds = self.resources.kinds().into_iter();
        let kinds = kinds.filter(|(_, names)| !names.is_empty());
        let kinds = kinds.map(|(kind, names)| Report::new(format!("{kind}: {}", names.join(", ")), None));
        let notes = self.about_resources.iter();
        let notes = notes.map(|remark| Report::note("resources", remark.clone()));
        odd.chain(loaded).chain(kinds).chain(notes).collect()
    }

    fn models(&self) -> Vec<ListedModel> {
        let models = self.extensions.ask(HostCall::Models { available: true });
        let models = models.ok().and_then(|models| models.as_array().cloned());
        let shown = |model: Value| {
            let inputs = model["input"].as_array();
            Some(ListedModel {
                provider: model["provider"].as_str()?.to_owned(),
                name: model["id"].as_str()?.to_owned(),
                facts: ModelFacts {
                    context_window: model["contextWindow"].as_u64(),
                    max_tokens: model["maxTokens"].as_u64(),
                    thinks: model["reasoning"].as_bool(),
                    sees_pictures: inputs.map(|inputs| inputs.iter().any(|input| input == "image")),
                },
            })
        };
        models.unwrap_or_default().into_iter().filter_map(shown).collect()
    }

    fn listed(&self) -> Vec<Listed> {
        self.extensions.each(listed)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.extensions.end())
    }
}

/// An extension with the names of its tools, commands and so on.
fn brought(guest: &Guest, separator: &str) -> String {
    let mut text = guest.shown();
    for (kind, names) in guest.brought().iter().filter(|(_, names)| !names.is_empty()) {
        text = format!("{text}{separator} {kind} {}", names.join(", "));
    }
    text
}

/// What is said about providers of an extension that want a login.
fn without_login(guest: &Guest) -> Option<String> {
    let logins = logins(guest);
    let words = || {
        format!(
            "becket does no login for {}: name a key (apiKey)",
            logins.join(", ")
        )
    };
    (!logins.is_empty()).then(words)
}

/// The providers of an extension that want a login.
fn logins(guest: &Guest) -> Vec<&str> {
    let providers = guest.providers.iter().filter(|provider| provider.oauth);
    providers.map(|provider| provider.name.as_str()).collect()
}

fn listed(guest: &Guest) -> Listed {
    let brings = guest.brought();
    let [hooks, tools, commands, flags, providers] = &brings.each_ref().map(|(_, names)| names);
    let json = json!({
        "kind": "extension",
        "name": guest.candidate.name,
        "path": guest.candidate.file.display().to_string(),
        "engine": guest.extension.as_ref().map(Extension::engine),
        "hooks": hooks,
        "tools": tools,
        "commands": commands,
        "flags": flags,
        "shortcuts": guest.shortcuts,
        "providers": providers,
        "without_login": logins(guest),
        "trouble": guest.trouble,
        "trusted": true,
    });
    let mut text = brought(guest, " ");
    if let Some(words) = without_login(guest) {
        text = format!("{text}  {words}");
    }
    if let Some(trouble) = &guest.trouble {
        text = format!("{text}  not loaded: {trouble}");
    }
    Listed { text, json }
}
