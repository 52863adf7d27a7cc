//! What the settings of a chibi home and of its contexts mean for a run. Those of a context count before becket's own,
//! and those of the home after them; what takes something away counts in any case.

use std::path::{Path, PathBuf};

use becket_chibi::{
    HOME_SETTINGS_FILE, KEY_VARIABLE, LocalSettings, MODEL_VARIABLE, PROVIDER, SettingsOf, ToolChoice,
    model_named, read_settings,
};
use becket_events::{Intersect, ToolOffer, ToolsOffered, ToolsOfferedReply, Union};
use becket_hooks::Engine;
use becket_providers::{ProviderSettings, has_key, select};
use becket_system::files::read_regular;
use becket_system::{CliError, Surroundings};

use crate::assemble::Setup;
use crate::config::Config;

/// The largest file of settings that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Settings with the file that they stand in.
pub type FileSettings = (PathBuf, LocalSettings);

/// Reads the settings of a chibi home, if it has any.
pub fn read_home(home: &Path) -> Result<Option<FileSettings>, String> {
    let file = home.join(HOME_SETTINGS_FILE);
    let wrong = |message: String| format!("{}: {message}", file.display());
    match read_regular(&file, MAX_BYTES) {
        Ok(text) => {
            let settings = read_settings(&text, SettingsOf::Home).map_err(wrong)?;
            Ok(Some((file, settings)))
        }
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Lets chibi's key count for the provider of its models where the user has given no other.
pub fn take_key_of_chibi(config: &mut Config, surroundings: &Surroundings) {
    let environment = |name: &str| surroundings.variable(name);
    let settings = ProviderSettings {
        providers: config.providers.clone(),
        ..ProviderSettings::default()
    };
    if environment(KEY_VARIABLE).is_some() && !has_key(PROVIDER, &environment, &settings) {
        let entry = config.providers.entry(PROVIDER.to_owned()).or_default();
        entry.key_variable = Some(KEY_VARIABLE.to_owned());
    }
}

impl Setup {
    /// The settings of the chibi home.
    pub fn chibi_home_settings(&self) -> Result<Option<&FileSettings>, CliError> {
        let read = || self.chibi_home.as_deref().map_or(Ok(None), read_home);
        let settings = self.home_settings.get_or_init(read).as_ref();
        settings
            .map(Option::as_ref)
            .map_err(|message| CliError::usage(message.clone()))
    }

    /// What the context says, and what the home says.
    pub fn chibi_settings(&self) -> Result<[Option<&LocalSettings>; 2], CliError> {
        let home = self.chibi_home_settings()?.map(|(_, settings)| settings);
        Ok([self.context.local.as_ref().map(|(_, settings)| settings), home])
    }

    /// What the first of both says about something.
    pub fn of_chibi<T>(&self, pick: impl Fn(&LocalSettings) -> Option<T>) -> Result<Option<T>, CliError> {
        Ok(self.chibi_settings()?.into_iter().flatten().find_map(pick))
    }

    /// The model that chibi's environment or its home names, in becket's words, where nothing else names one; the error
    /// says why it is left out.
    pub fn model_of_home(&self, surroundings: &Surroundings) -> Result<Option<String>, String> {
        let in_variable = self.chibi_home.as_ref().and_then(|_| {
            let id = surroundings.variable(MODEL_VARIABLE)?;
            Some((MODEL_VARIABLE.to_owned(), id))
        });
        let home = self.chibi_home_settings().ok().flatten();
        let in_home =
            || home.and_then(|(file, settings)| Some((file.display().to_string(), settings.model.clone()?)));
        let Some((place, id)) = in_variable.or_else(in_home) else {
            return Ok(None);
        };
        if self.config.model.is_some() || self.context.model.is_some() || self.team.is_some() {
            return Ok(None);
        }
        let environment = |name: &str| surroundings.variable(name);
        let served = |model: &String| select(Some(model), &environment, &self.provider_settings()).is_ok();
        model_named(&id).filter(served).map(Some).ok_or_else(|| {
            format!(
                "{place}: the model `{id}` is left out: becket cannot ask for it; set OPENROUTER_API_KEY or \
                 {KEY_VARIABLE}, or `model` in becket's settings"
            )
        })
    }

    /// The chibi settings files that count: first the context's, then the home's.
    pub fn chibi_files(&self) -> Vec<&FileSettings> {
        let home = self.chibi_home_settings().ok().flatten();
        self.context.local.iter().chain(home).collect()
    }

    /// Names of chibi settings that becket does not serve.
    pub fn not_served_of_chibi(&self) -> Vec<String> {
        let files = self.chibi_files().into_iter();
        let files = files.filter(|(_, settings)| !settings.not_served.is_empty());
        files
            .map(|(file, settings)| {
                let keys: Vec<String> = settings.not_served.iter().map(|key| format!("`{key}`")).collect();
                format!("{}: becket does not serve {}", file.display(), keys.join(", "))
            })
            .collect()
    }

    /// Folders that may be read without a question, as chibi's settings name them.
    pub fn readable_of_chibi(&self, surroundings: &Surroundings) -> Result<Vec<PathBuf>, CliError> {
        let named = self.of_chibi(|settings| {
            let folders = &settings.file_tools_allowed_paths;
            (!folders.is_empty()).then(|| folders.clone())
        })?;
        let home = surroundings.variable("HOME").map(PathBuf::from);
        let whole = |folder: String| match (folder.strip_prefix('~'), &home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => surroundings.cwd.join(folder),
        };
        Ok(named.into_iter().flatten().map(whole).collect())
    }

    /// Lets chibi's settings take tools away before each request.
    pub fn choose_tools(&self, engine: &Engine) -> Result<(), CliError> {
        let none = self.of_chibi(|settings| settings.no_tool_calls)? == Some(true);
        let [context, home] = self.chibi_settings()?;
        let of = |settings: Option<&LocalSettings>| settings.map(|settings| settings.tools.clone());
        let choice: ToolChoice = of(context).unwrap_or_default();
        let choice = choice.within(&of(home).unwrap_or_default());
        if choice.is_empty() && !none {
            return Ok(());
        }
        engine.on::<ToolsOffered>("chibi's settings", move |occasion| {
            let is_kept = |offer: &&ToolOffer| !none && choice.keeps(offer);
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
