//! `becket config`: the settings in effect, and where they come from.

use std::sync::Arc;

use becket_agent::provider::Provider;
use becket_agent::{SubagentSettings, UNLIMITED};
use becket_run::agent_settings::agent_settings;
use becket_run::agent_settings::profile;
use becket_run::config::Config;
use becket_run::environment::environment;
use becket_run::environment::tool_settings;
use becket_run::models::compaction;
use becket_run::models::provider;
use becket_run::setup::Setup;
use becket_run::target::ContextChoice;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::Value;

use crate::options::Options;
use crate::printing::print;

/// Shows the configuration in effect.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    show_with(None, options, surroundings)
}

/// Shows the configuration in effect, with the model that was chosen in a chat.
pub fn show_with(
    chosen: Option<(Arc<dyn Provider>, Option<u64>)>,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let mut setup = Setup::read(&options.run, surroundings)?;
    let context = ContextChoice::of(&options.run)?.find(&setup.open_store()?)?;
    setup.enter(&context, surroundings)?;
    // A project that only needs trust is no reason not to show the rest.
    let refusal = setup.project.refusal.as_ref();
    if let Some(error) = refusal.filter(|refusal| refusal.exit != Exit::UntrustedGuard) {
        return Err(error.clone());
    }
    let (provider, window) = match chosen {
        Some(chosen) => chosen,
        None => (provider(&setup, &options.run, surroundings)?, None),
    };
    let file = setup.folders.config_file();
    let settings = agent_settings(&setup, &options.run, surroundings)?;
    let tools = tool_settings(&setup, &environment(&setup, &[], surroundings));
    let compaction = compaction(&setup, &*provider, window);
    let there = |exists: bool| if exists { "" } else { " (not there)" };
    let home = setup.found.home();
    let rows: [(&str, Value); 18] = [
        (
            "config file",
            format!("{}{}", file.display(), there(file.exists())).into(),
        ),
        ("store", setup.folders.store_file().display().to_string().into()),
        ("context", context.as_str().into()),
        ("cache", setup.folders.cache.display().to_string().into()),
        (
            "chibi home",
            home.map_or("none".into(), |home| home.folder.display().to_string())
                .into(),
        ),
        ("project root", setup.project_root.display().to_string().into()),
        (
            "model",
            format!("{}/{}", provider.name(), provider.model()).into(),
        ),
        ("tool profile", profile(&setup, &options.run)?.name.into()),
        ("max requests", max_requests(settings.max_iterations)),
        ("fuel", settings.fuel.into()),
        ("output limit", settings.output_limit.into()),
        ("idle timeout", settings.idle_timeout(&*provider).as_secs().into()),
        ("shell timeout", tools.shell_timeout.as_secs().into()),
        (
            "compaction",
            if compaction.auto {
                let (percent, window) = (compaction.at_percent, compaction.context_window);
                let guess = match compaction.is_window_known {
                    true => "",
                    false => " (the model's window is not known)",
                };
                format!("at {percent} % of {window} tokens{guess}")
            } else {
                "only when asked for".into()
            }
            .into(),
        ),
        ("sub-agents", subagents(&settings.subagents).into()),
        ("presets", presets(&setup.config).into()),
        ("own hooks", setup.own_hooks().len().into()),
        ("permission mode", options.run.permission_mode.get().word().into()),
    ];
    show(options, &rows)?;
    tell_left_out(&setup, options, surroundings);
    Ok(Exit::Answered)
}

/// Tells the user which settings do not count here, and why.
fn tell_left_out(setup: &Setup, options: &Options, surroundings: &Surroundings) {
    if let Some(refusal) = &setup.project.refusal {
        surroundings.remark(&format!("no run starts here: {refusal}"));
    }
    let left_out = setup
        .context_remark
        .iter()
        .filter(|_| options.run.model.is_none());
    let skipped = setup.project.skipped.iter().chain(&setup.prompt_files.skipped);
    for remark in skipped.chain(left_out) {
        surroundings.remark(remark);
    }
}

/// The limits of sub-agents, in a line.
fn subagents(settings: &SubagentSettings) -> String {
    let SubagentSettings {
        max_depth,
        max_parallel,
        max_turns,
        token_budget,
    } = settings;
    if *max_depth == 0 {
        return "none".into();
    }
    let tokens = token_budget.map_or_else(String::new, |tokens| format!(", {tokens} tokens for a prompt"));
    format!("{max_depth} deep, {max_parallel} at once, {max_turns} requests each{tokens}")
}

/// The names of the presets.
fn presets(config: &Config) -> String {
    let names: Vec<&str> = config.presets.keys().map(String::as_str).collect();
    match names.as_slice() {
        [] => "none".into(),
        names => names.join(", "),
    }
}

/// Prints the rows as lines, or as one JSON object.
fn show(options: &Options, rows: &[(&str, Value)]) -> Result<(), CliError> {
    if options.run.json {
        let rows = rows.iter();
        let object: serde_json::Map<String, Value> = rows
            .map(|(name, value)| (name.replace(' ', "_"), value.clone()))
            .collect();
        return print(&format!("{}\n", Value::Object(object)));
    }
    for (name, value) in rows {
        let value = match value {
            Value::Null => "no limit".to_string(),
            Value::String(text) => harmless(text),
            other => format!("{other}{}", unit(name)),
        };
        print(&format!("{name:<16} {value}\n"))?;
    }
    Ok(())
}

/// The unit of a number, unless its name says it.
fn unit(name: &str) -> &'static str {
    match name {
        "output limit" => " bytes",
        "idle timeout" | "shell timeout" => " s",
        _ => "",
    }
}

/// How many requests one prompt may cause; null for as many as it takes.
fn max_requests(limit: u32) -> Value {
    match limit {
        UNLIMITED => Value::Null,
        limit => limit.into(),
    }
}
