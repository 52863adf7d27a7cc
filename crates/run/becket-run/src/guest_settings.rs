//! What the settings of guests' own systems mean for a run. Those of a context count before becket's own, and those for
//! all runs after them; what takes something away counts in any case.
//!
//! A model that cannot be had is left out with a remark: settings that were written for another program are no reason
//! not to run.

use becket_events::{Intersect, ToolOffer, ToolsOffered, ToolsOfferedReply, Union};
use becket_hooks::Engine;
use becket_host::RunSettings;
use becket_providers::{ProviderSettings, has_key};
use becket_system::{CliError, Surroundings};

use crate::config::Config;
use crate::hosts::FoundGuests;

/// The settings of another system that count in a run.
pub struct GuestSettings {
    /// The settings for all runs, or why they cannot be read.
    home: Result<Option<RunSettings>, String>,
    /// The settings of the context that was entered.
    pub context: Option<RunSettings>,
}

impl GuestSettings {
    /// Reads the settings for all runs.
    pub fn read(found: &FoundGuests, surroundings: &Surroundings) -> Self {
        Self {
            home: found.run_settings(surroundings),
            context: None,
        }
    }

    /// The settings for all runs.
    pub fn home(&self) -> Result<Option<&RunSettings>, CliError> {
        let home = self.home.as_ref().map(Option::as_ref);
        home.map_err(|message| CliError::usage(message.clone()))
    }

    /// A setting of the context, else of the settings for all runs.
    pub fn first<T>(&self, pick: impl Fn(&RunSettings) -> Option<T>) -> Result<Option<T>, CliError> {
        let home = self.home()?;
        Ok(self.context.iter().chain(home).find_map(pick))
    }

    /// The settings that count: first those of the context, then those for all runs.
    pub fn files(&self) -> impl Iterator<Item = &RunSettings> {
        let home = self.home.as_ref().ok().and_then(Option::as_ref);
        self.context.iter().chain(home)
    }

    /// Keys that becket ignores, with the system whose settings have them.
    pub fn not_served(&self) -> Vec<(&'static str, String)> {
        let files = self.files().filter(|settings| !settings.not_served.is_empty());
        files
            .map(|settings| {
                let keys: Vec<String> = settings.not_served.iter().map(|key| format!("`{key}`")).collect();
                let (file, keys) = (settings.file.display(), keys.join(", "));
                (settings.system, format!("{file}: becket does not support {keys}"))
            })
            .collect()
    }

    /// Removes the tools that the settings exclude, before each request.
    pub fn choose_tools(&self, engine: &Engine) -> Result<(), CliError> {
        // What a context says has taken in what the home says.
        let settings = match &self.context {
            Some(context) => Some(context),
            None => self.home()?,
        };
        let found = settings.and_then(|settings| Some((settings.system, settings.offers.clone()?)));
        let Some((system, offers)) = found else {
            return Ok(());
        };
        engine.on::<ToolsOffered>(&format!("{system}'s settings"), move |occasion| {
            let is_kept = |offer: &&ToolOffer| offers(offer);
            let (kept, taken): (Vec<_>, Vec<_>) = occasion.payload.tools.iter().partition(is_kept);
            let names =
                |offers: Vec<&ToolOffer>| offers.into_iter().map(|offer| offer.name.clone()).collect();
            Ok(ToolsOfferedReply {
                include: Intersect(Some(names(kept))),
                exclude: Union(names(taken)),
                ..Default::default()
            })
        });
        Ok(())
    }
}

/// Uses the keys of guests' own systems for providers for which the user has given no key.
pub fn take_keys(config: &mut Config, found: &FoundGuests, surroundings: &Surroundings) {
    let environment = |name: &str| surroundings.variable(name);
    for (provider, variable) in found.provider_keys() {
        let settings = ProviderSettings {
            providers: config.providers.clone(),
            ..ProviderSettings::default()
        };
        if environment(variable).is_some() && !has_key(provider, &environment, &settings) {
            let entry = config.providers.entry(provider.to_owned()).or_default();
            entry.key_variable = Some(variable.to_owned());
        }
    }
}
