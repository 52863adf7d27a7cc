//! The models of a run: which one is asked, and which ones agents may choose.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use becket_agent::CompactionSettings;
use becket_agent::provider::Provider;
use becket_host::{API_KEY, Interactive, ModelLists};
use becket_providers::scripted::NAME as SCRIPTED;
use becket_providers::{ProviderSettings, Secret, SelectError, facts_of, relay, select};
use becket_system::{CliError, Exit, Surroundings};
use becket_tools::Models;

use crate::config::CompactionConfig;
use crate::model_relay::SOCKET_VARIABLE;
use crate::options::RunOptions;
use crate::setup::Setup;

/// Whether this names a scripted model.
fn is_script(model: &str) -> bool {
    let provider = model.trim().split('/').next().unwrap_or_default();
    provider == SCRIPTED
}

/// The provider of the chosen model.
pub fn provider(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
) -> Result<Arc<dyn Provider>, CliError> {
    provider_beside(setup, Vec::new(), options, surroundings)
}

/// The provider of the chosen model. Names in `served_elsewhere` are providers that guests bring.
pub(crate) fn provider_beside(
    setup: &Setup,
    served_elsewhere: Vec<String>,
    options: &RunOptions,
    surroundings: &Surroundings,
) -> Result<Arc<dyn Provider>, CliError> {
    let environment = |name: &str| surroundings.variable(name);
    if let Some(team) = &setup.team {
        let model = options.model.as_deref();
        let settings = ProviderSettings {
            needs_model: options.needs_model,
            ..setup.provider_settings()
        };
        return team.provider(model, &settings, surroundings);
    }
    let of_home = model_of_home(setup, surroundings).unwrap_or_default();
    let named = options.model.as_deref().or(setup.context.model.as_deref());
    let model = named.or(of_home.as_deref());
    // Programs that guests start have no keys. The run that loaded the guests asks its models for them.
    let above = surroundings.variable(SOCKET_VARIABLE);
    let mut settings = ProviderSettings {
        served_elsewhere,
        needs_model: options.needs_model || above.is_some(),
        needs_key: above.is_some(),
        ..setup.provider_settings()
    };
    if let Some(key) = options.guests.texts(API_KEY).pop() {
        let provider = model
            .or(settings.model.as_deref())
            .unwrap_or_default()
            .split('/')
            .next();
        let provider = provider.filter(|name| !name.is_empty()).ok_or_else(|| {
            CliError::usage("`--api-key` needs a model").hint("name it with --model PROVIDER/NAME")
        })?;
        let entry = settings.providers.entry(provider.to_owned()).or_default();
        entry.key = Some(Secret::new(key));
    }
    let selected = match (select(model, &environment, &settings), above) {
        (Err(SelectError::NoModel(_) | SelectError::NoKey(_)), Some(socket)) => {
            return relay::connect(socket.as_ref(), model.or(settings.model.as_deref()))
                .map_err(CliError::failed);
        }
        (selected, _) => selected,
    };
    selected.map_err(|error| {
        CliError {
            // Whoever runs becket in another program's place expects that program's exit code.
            exit: if options.needs_model {
                Exit::Failed
            } else {
                Exit::Usage
            },
            message: error.to_string(),
            hint: None,
        }
        .hint("`--model rehearsal` works without a key")
    })
}

/// Whether the model of a run that names none is the one that another system's settings name.
pub fn has_model_of_home(setup: &Setup, surroundings: &Surroundings) -> bool {
    model_of_home(setup, surroundings).is_ok_and(|model| model.is_some())
}

/// The model that another system's settings name, if nothing else names one; the error says why it is left out.
pub(crate) fn model_of_home(setup: &Setup, surroundings: &Surroundings) -> Result<Option<String>, String> {
    let home = setup.guest_settings.home().ok().flatten();
    let Some(model) = home.and_then(|home| home.model.as_ref()) else {
        return Ok(None);
    };
    if setup.config.model.is_some() || setup.context.model.is_some() || setup.team.is_some() {
        return Ok(None);
    }
    let environment = |name: &str| surroundings.variable(name);
    let is_served = |model: &str| select(Some(model), &environment, &setup.provider_settings()).is_ok();
    model.served(&is_served).map(Some)
}

/// The provider of the chosen model, which an extension may bring.
pub(crate) fn provider_of_run(
    setup: &Setup,
    options: &RunOptions,
    surroundings: &Surroundings,
    guests: &dyn Interactive,
) -> Result<Arc<dyn Provider>, CliError> {
    let context = setup.context.model.as_deref();
    let named = options
        .model
        .as_deref()
        .or(context)
        .or(setup.config.model.as_deref());
    match guests.provider(named.filter(|_| setup.team.is_none())) {
        Some(provider) => provider.map_err(CliError::usage),
        None => provider_beside(setup, guests.provider_names(), options, surroundings),
    }
}

/// Looks up the models that sub-agents and hooks are given. The run's own is also found by the name by which it is
/// shown: a script that was named by its file could not be opened by that name.
pub fn models(setup: &Setup, provider: &Arc<dyn Provider>, surroundings: &Surroundings) -> Models {
    let others = other_models(setup, &**provider, surroundings);
    let (own, own_name) = (
        Arc::clone(provider),
        format!("{}/{}", provider.name(), provider.model()),
    );
    Arc::new(move |name| match name == own_name {
        true => Ok(Arc::clone(&own)),
        false => others(name),
    })
}

/// Looks up models anew, also the run's own.
pub(crate) fn other_models(setup: &Setup, provider: &dyn Provider, surroundings: &Surroundings) -> Models {
    let mut scripts: Vec<String> = setup
        .config
        .presets
        .values()
        .filter_map(|preset| preset.model.clone())
        .collect();
    scripts.retain(|model| is_script(model));
    let may_choose_scripts = provider.name() == SCRIPTED;
    let (settings, surroundings) = (setup.provider_settings(), surroundings.clone());
    let known: Mutex<BTreeMap<String, Arc<dyn Provider>>> = Mutex::default();
    Arc::new(move |name| {
        // A script is a file, and a model that chooses files would read them past all guards.
        if is_script(name) && !may_choose_scripts && !scripts.iter().any(|script| script == name) {
            return Err("a scripted model is chosen by a preset of the settings, not by a model".into());
        }
        let mut known = known.lock().expect("no panic happens while the models are held");
        if let Some(provider) = known.get(name) {
            return Ok(Arc::clone(provider));
        }
        let environment = |name: &str| surroundings.variable(name);
        let provider = select(Some(name), &environment, &settings).map_err(|error| error.to_string())?;
        known.insert(name.to_owned(), Arc::clone(&provider));
        Ok(provider)
    })
}

/// How many tokens a model can take: as the settings say, as whoever brings the model knows, as its provider has listed
/// it, and else by its family.
pub fn window(
    (config, lists): (&CompactionConfig, &ModelLists),
    provider: &dyn Provider,
    known: Option<u64>,
) -> Option<u64> {
    let model = format!("{}/{}", provider.name(), provider.model());
    let of_model = config.context_windows.get(&model).map(|window| window.get());
    let of_all = config.context_window.map(NonZeroU64::get);
    of_model
        .or(known)
        .or(of_all)
        .or_else(|| lists.facts_of(provider)?.context_window)
        .or_else(|| facts_of(provider).context_window)
}

/// When and how conversations with a model are summarised. The user's settings for that model go before `known_window`,
/// which whoever brings the model knows.
pub fn compaction(setup: &Setup, provider: &dyn Provider, known_window: Option<u64>) -> CompactionSettings {
    let usual = CompactionSettings::default();
    let config = &setup.config.compaction;
    let window = window((config, &setup.model_lists()), provider, known_window);
    CompactionSettings {
        auto: config.auto.unwrap_or(usual.auto),
        at_percent: config.at_percent.map_or(usual.at_percent, |percent| percent.0),
        drop_percent: config
            .drop_percent
            .map_or(usual.drop_percent, |percent| percent.0),
        context_window: window.unwrap_or(usual.context_window),
        is_window_known: window.is_some(),
        prompt: config.prompt.clone().unwrap_or(usual.prompt),
    }
}
