//! The meaning of a chibi home's settings, and of those of its contexts, for a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::provider::RequestOptions;
use becket_agent::url_policy::{PolicyLists, UrlVerdict};
use becket_host::{ForeignModel, RunSettings, ToolFilter};
use becket_system::files::read_regular;
use becket_system::{CliError, Surroundings};

use crate::home::{KEY_VARIABLE, MODEL_VARIABLE};
use crate::local_settings::{
    HOME_SETTINGS_FILE, LOCAL_SETTINGS_FILE, LocalSettings, SettingsOf, UrlAction, UrlRules, model_named,
    read_settings,
};
use crate::tool_choice::has_tool;

/// The largest settings file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads the settings of a chibi home, if it has any.
pub fn read_home(home: &Path) -> Result<Option<LocalSettings>, String> {
    let file = home.join(HOME_SETTINGS_FILE);
    let wrong = |message: String| format!("{}: {message}", file.display());
    match read_regular(&file, MAX_BYTES) {
        Ok(text) => Ok(Some(read_settings(&text, SettingsOf::Home).map_err(wrong)?)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// The settings of a chibi home for all runs. A model in chibi's variable overrides that of the file.
pub fn of_home(
    home: &Path,
    settings: &LocalSettings,
    surroundings: &Surroundings,
) -> Result<RunSettings, String> {
    let file = home.join(HOME_SETTINGS_FILE);
    let in_variable = surroundings.variable(MODEL_VARIABLE);
    let in_variable = in_variable.map(|id| (MODEL_VARIABLE.to_owned(), id));
    let in_file = || Some((file.display().to_string(), settings.model.clone()?));
    let why = format!(
        "becket cannot ask for it; set OPENROUTER_API_KEY or {KEY_VARIABLE}, or `model` in becket's settings"
    );
    let model = in_variable.or_else(in_file).map(|(place, id)| ForeignModel {
        place,
        name: model_named(&id),
        id,
        unknown: why.clone(),
        unserved: why,
    });
    Ok(RunSettings {
        model,
        instructions: system_prompt(home)?,
        offers: offers(settings, None),
        ..translated(&file, settings, surroundings)
    })
}

/// The system prompt of contexts that have none of their own.
fn system_prompt(home: &Path) -> Result<Option<String>, String> {
    let file = home.join("prompts/chibi.md");
    match read_regular(&file, MAX_BYTES) {
        Ok(text) => Ok((!text.trim().is_empty()).then_some(text)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

/// The settings that the command line has, each as `KEY=VALUE`; `None` if it has none.
pub fn given(settings: &[String]) -> Result<Option<LocalSettings>, String> {
    if settings.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    for setting in settings {
        let is_key = |key: &str| {
            key.chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter))
        };
        let Some((key, value)) = setting.split_once('=').filter(|(key, _)| is_key(key)) else {
            return Err(format!("`{setting}` is not a setting; write it as KEY=VALUE"));
        };
        let is_plain = value.parse::<bool>().is_ok() || value.parse::<f64>().is_ok_and(f64::is_finite);
        let value = match is_plain {
            true => value.to_owned(),
            false => toml::Value::from(value).to_string(),
        };
        text.push_str(&format!("{key} = {value}\n"));
    }
    let read = read_settings(&text, SettingsOf::Context);
    read.map(Some)
        .map_err(|why| format!("the settings of the command line: {why}"))
}

/// The settings in the folder of a context. The tools that the model is offered depend on the home, too.
pub fn of_context(
    folder: &Path,
    (given, home): (Option<&LocalSettings>, Option<&LocalSettings>),
    surroundings: &Surroundings,
) -> Result<Option<RunSettings>, CliError> {
    let file = folder.join(LOCAL_SETTINGS_FILE);
    let text = match read_regular(&file, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_absence() && given.is_none() => return Ok(None),
        Err(error) if error.is_absence() => String::new(),
        Err(error) => {
            return Err(CliError::usage(format!(
                "cannot read {}: {error}",
                file.display()
            )));
        }
    };
    let settings = read_settings(&text, SettingsOf::Context)
        .map_err(|message| CliError::usage(format!("{}: {message}", file.display())))?;
    let settings = match given {
        Some(given) => given.clone().over(settings),
        None => settings,
    };
    let choose = "choose another with `becket context set model PROVIDER/NAME`";
    let model = settings.model.clone().map(|id| ForeignModel {
        place: file.display().to_string(),
        name: model_named(&id),
        id,
        unknown: format!("only chibi knows it; {choose}"),
        unserved: format!(
            "it is OpenRouter's, for which there is no key; set OPENROUTER_API_KEY, or {choose}"
        ),
    });
    Ok(Some(RunSettings {
        model,
        offers: offers(&settings, home),
        ..translated(&file, &settings, surroundings)
    }))
}

/// The settings of a file, without the model and the tools on offer.
fn translated(file: &Path, settings: &LocalSettings, surroundings: &Surroundings) -> RunSettings {
    let api = &settings.api;
    let foreign = |names: &[String]| {
        let names = names.iter().filter(|name| !has_tool(name));
        names.cloned().collect()
    };
    RunSettings {
        system: "chibi",
        file: file.to_path_buf(),
        fuel: settings.fuel,
        empty_answer_cost: settings.fuel_empty_response_cost,
        fallback: settings.fallback,
        request: RequestOptions {
            temperature: api.temperature,
            max_tokens: api.max_tokens,
            top_p: api.top_p,
            frequency_penalty: api.frequency_penalty,
            presence_penalty: api.presence_penalty,
            parallel_tool_calls: api.parallel_tool_calls,
            ..RequestOptions::default()
        },
        // chibi calls a user without a name `user`.
        user_name: settings
            .username
            .clone()
            .map(|name| if name == "user" { String::new() } else { name }),
        reflection: settings.reflection_enabled,
        output_limit: settings.tool_output_cache_threshold,
        preview_chars: settings.tool_cache_preview_chars,
        readable: readable(&settings.file_tools_allowed_paths, surroundings),
        urls: settings
            .url_policy
            .as_ref()
            .map(|rules| (lists(rules), verdict(rules.default))),
        excluded: foreign(&settings.tools.exclude),
        included: foreign(settings.tools.include.as_deref().unwrap_or_default()),
        not_served: settings.not_served.clone(),
        ..RunSettings::default()
    }
}

/// The tools that the model is offered by these settings, within those of the home; `None` for all.
fn offers(settings: &LocalSettings, home: Option<&LocalSettings>) -> Option<ToolFilter> {
    let of_home = home.and_then(|home| home.no_tool_calls);
    if settings.no_tool_calls.or(of_home) == Some(true) {
        return Some(Arc::new(|_| false));
    }
    let around = home.map(|home| home.tools.clone()).unwrap_or_default();
    let choice = settings.tools.clone().within(&around);
    (!choice.is_empty()).then(|| Arc::new(move |offer: &_| choice.keeps(offer)) as ToolFilter)
}

/// Folders as chibi's settings write them.
fn readable(folders: &[String], surroundings: &Surroundings) -> Vec<PathBuf> {
    let home = surroundings.variable("HOME").map(PathBuf::from);
    let whole = |folder: &String| match (folder.strip_prefix('~'), &home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => surroundings.cwd.join(folder),
    };
    folders.iter().map(whole).collect()
}

fn lists(rules: &UrlRules) -> PolicyLists {
    PolicyLists {
        deny_override: rules.deny_override.clone(),
        allow_override: rules.allow_override.clone(),
        deny: rules.deny.clone(),
        allow: rules.allow.clone(),
    }
}

fn verdict(action: UrlAction) -> UrlVerdict {
    match action {
        UrlAction::Allow => UrlVerdict::Allow,
        UrlAction::Deny => UrlVerdict::Deny,
    }
}
