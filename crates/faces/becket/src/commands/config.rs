//! `becket config`: the settings in effect, and where they come from.

use std::sync::Arc;

use becket_agent::provider::Provider;
use becket_agent::{Budget, SubagentSettings, UNLIMITED};
use becket_events::PermissionMode;
use becket_run::agent_settings::agent_settings;
use becket_run::agent_settings::profile;
use becket_run::config::Config;
use becket_run::environment::environment;
use becket_run::environment::tool_settings;
use becket_run::models::compaction;
use becket_run::models::provider;
use becket_run::setup::Setup;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::{Map, Value};

use crate::commands::setting_origin::{DEFAULT, RunHere};
use crate::options::Options;
use crate::printing::print;

/// Shows the configuration in effect.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    show_with(None, options, surroundings)
}

/// Shows the configuration in effect, with the model that was chosen in a chat.
pub fn show_with(
    chosen: Option<ChosenModel>,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let place = RunHere::open(options, surroundings)?;
    let setup = &place.setup;
    // A project that only needs trust is no reason not to show the rest.
    let refusal = setup.project.refusal.as_ref();
    if let Some(error) = refusal.filter(|refusal| refusal.exit != Exit::UntrustedGuard) {
        return Err(error.clone());
    }
    let effective = in_effect(&place, chosen, options, surroundings)?;
    let rows = [in_files(&place), effective].concat();
    show(options, &rows)?;
    tell_left_out(setup, options, surroundings);
    Ok(Exit::Answered)
}

/// A model that was chosen in a chat, and its context window where it is known.
type ChosenModel = (Arc<dyn Provider>, Option<u64>);

/// A line: what it is about, the value, and where the value comes from if it is a setting.
type Line = (&'static str, Value, Option<String>);

/// The files and folders of a run.
fn in_files(place: &RunHere<'_>) -> Vec<Line> {
    let setup = &place.setup;
    let file = setup.folders.config_file();
    let there = |exists: bool| if exists { "" } else { " (not there)" };
    let home = setup.found.home();
    let rows = [
        (
            "config file",
            format!("{}{}", file.display(), there(file.exists())),
        ),
        ("store", setup.folders.store_file().display().to_string()),
        ("context", place.context.clone()),
        ("cache", setup.folders.cache.display().to_string()),
        (
            "chibi home",
            home.map_or("none".into(), |home| home.folder.display().to_string()),
        ),
        ("project root", setup.project_root.display().to_string()),
    ];
    rows.into_iter()
        .map(|(name, value)| (name, value.into(), None))
        .collect()
}

/// The settings of a run.
fn in_effect(
    place: &RunHere<'_>,
    chosen: Option<ChosenModel>,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<Vec<Line>, CliError> {
    let setup = &place.setup;
    let (provider, window) = match chosen {
        Some(chosen) => chosen,
        None => (provider(setup, &options.run, surroundings)?, None),
    };
    let settings = agent_settings(setup, &options.run, surroundings)?;
    let tools = tool_settings(setup, &environment(setup, &[], surroundings));
    let compaction = compaction(setup, &*provider, window);
    let compaction = if compaction.auto {
        let (percent, window) = (compaction.at_percent, compaction.context_window);
        let guess = match compaction.is_window_known {
            true => "",
            false => " (the model's window is not known)",
        };
        format!("at {percent} % of {window} tokens{guess}")
    } else {
        "only when asked for".into()
    };
    let model = format!("{}/{}", provider.name(), provider.model());
    let budget = setup.budget.as_ref().map(Budget::limit);
    let rows: [(&'static str, Value, &str); 11] = [
        ("model", model.into(), "model"),
        (
            "tool profile",
            profile(setup, &options.run)?.name.into(),
            "tools.profile",
        ),
        (
            "max requests",
            max_requests(settings.max_iterations),
            "agent.max_requests",
        ),
        ("fuel", settings.fuel.into(), "agent.fuel"),
        ("budget", budget.into(), "agent.budget"),
        ("output limit", settings.output_limit.into(), "tools.output_limit"),
        (
            "idle timeout",
            settings.idle_timeout(&*provider).as_secs().into(),
            "agent.idle_timeout",
        ),
        (
            "shell timeout",
            tools.shell_timeout.as_secs().into(),
            "tools.shell_timeout",
        ),
        ("compaction", compaction.into(), "compaction"),
        ("sub-agents", subagents(&settings.subagents).into(), "subagents"),
        ("presets", presets(&setup.config).into(), "presets"),
    ];
    let mut told = Vec::new();
    for (name, value, key) in rows {
        told.push((name, value, Some(place.origin(key)?)));
    }
    told.push(("own hooks", setup.own_hooks().len().into(), None));
    let mode = options.run.permission_mode.get();
    let origin = if mode == PermissionMode::default() {
        DEFAULT
    } else {
        "command line"
    };
    told.push(("permission mode", mode.word().into(), Some(origin.to_owned())));
    Ok(told)
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
fn show(options: &Options, rows: &[Line]) -> Result<(), CliError> {
    if options.run.json {
        let key = |name: &str| name.replace(' ', "_");
        let mut object: Map<String, Value> = rows
            .iter()
            .map(|(name, value, _)| (key(name), value.clone()))
            .collect();
        let origins = rows
            .iter()
            .filter_map(|(name, _, origin)| Some((key(name), Value::from(origin.clone()?))));
        object.insert("origins".into(), Value::Object(origins.collect()));
        return print(&format!("{}\n", Value::Object(object)));
    }
    for (name, value, origin) in rows {
        let value = match value {
            Value::Null => "no limit".to_string(),
            Value::String(text) => harmless(text),
            other => format!("{other}{}", unit(name)),
        };
        let origin = origin
            .as_ref()
            .map_or(String::new(), |origin| format!("  ({})", harmless(origin)));
        print(&format!("{name:<16} {value}{origin}\n"))?;
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
