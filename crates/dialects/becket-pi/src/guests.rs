//! The loaded extensions and the resources of a run, as its guests.

use std::sync::Arc;

use becket_host::{Guests, Interactive, Listed, Report, Stage, Toolbox, Unloaded};
use becket_js::Extension;
use becket_system::CliError;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::extensions::{Extensions, Guest};
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
            is_loaded.then(|| Report::new(brought(guest, ";"), None))
        });
        let loaded = loaded.into_iter().flatten();
        let odd = self.about_extensions.iter();
        let odd = odd.map(|remark| Report::new("extensions", Some(remark.clone())));
        let kinds = self.resources.kinds().into_iter();
        let kinds = kinds.filter(|(_, names)| !names.is_empty());
        let kinds = kinds.map(|(kind, names)| Report::new(format!("{kind}: {}", names.join(", ")), None));
        let notes = self.about_resources.iter();
        let notes = notes.map(|remark| Report::note("resources", remark.clone()));
        odd.chain(loaded).chain(kinds).chain(notes).collect()
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

fn listed(guest: &Guest) -> Listed {
    let brings = guest.brought();
    let [hooks, tools, commands, flags, providers] = &brings.each_ref().map(|(_, names)| names);
    let logins: Vec<&str> = guest
        .providers
        .iter()
        .filter(|provider| provider.oauth)
        .map(|provider| provider.name.as_str())
        .collect();
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
        "without_login": logins,
        "trouble": guest.trouble,
        "trusted": true,
    });
    let mut text = brought(guest, " ");
    if !logins.is_empty() {
        text = format!(
            "{text}  becket does no login for {}: name a key (apiKey)",
            logins.join(", ")
        );
    }
    if let Some(trouble) = &guest.trouble {
        text = format!("{text}  not loaded: {trouble}");
    }
    Listed { text, json }
}
