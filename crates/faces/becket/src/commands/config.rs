//! `becket config`: what is in effect, and where it comes from.

use becket_agent::SubagentSettings;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::Value;

use super::print;
use crate::args::Options;
use crate::assemble::Setup;
use crate::config::Config;
use crate::target::Wish;

/// Shows the configuration in effect.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let mut setup = Setup::read(options, surroundings)?;
    let context = Wish::of(options)?.find(&setup.folders.open_store()?)?;
    setup.enter(&context, surroundings)?;
    // A project that only needs trust is no reason not to show the rest.
    let refusal = setup.project.refusal.as_ref();
    if let Some(error) = refusal.filter(|refusal| refusal.exit != Exit::UntrustedGuard) {
        return Err(error.clone());
    }
    let provider = setup.provider(options, surroundings)?;
    let file = setup.folders.config_file();
    let settings = setup.agent_settings(options, surroundings)?;
    let tools = setup.tool_settings(&setup.environment(&[], surroundings));
    let compaction = setup.compaction(&*provider, None);
    let there = |exists: bool| if exists { "" } else { " (not there)" };
    let chibi_home = setup.chibi_home.as_ref();
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
            chibi_home
                .map_or("none".into(), |home| home.display().to_string())
                .into(),
        ),
        ("project root", setup.project_root.display().to_string().into()),
        (
            "model",
            format!("{}/{}", provider.name(), provider.model()).into(),
        ),
        ("tool profile", setup.profile(options)?.name.into()),
        ("max iterations", settings.max_iterations.into()),
        ("fuel", settings.fuel.into()),
        ("output limit", settings.output_limit.into()),
        ("idle timeout", settings.idle_timeout.as_secs().into()),
        ("shell timeout", tools.shell_timeout.as_secs().into()),
        (
            "compaction",
            if compaction.auto {
                let (percent, window) = (compaction.at_percent, compaction.context_window);
                format!("at {percent} % of {window} tokens")
            } else {
                "only when asked for".into()
            }
            .into(),
        ),
        ("sub-agents", subagents(&settings.subagents).into()),
        ("presets", presets(&setup.config).into()),
        ("own hooks", setup.own_hooks().len().into()),
        (
            "questions",
            if options.yes { "answered with yes" } else { "asked" }.into(),
        ),
    ];
    show(options, &rows)?;
    if let Some(refusal) = refusal {
        surroundings.remark(&format!("no run starts here: {refusal}"));
    }
    let left_out = setup.context_remark.iter().filter(|_| options.model.is_none());
    let skipped = setup.project.skipped.iter().chain(&setup.prompt_files.skipped);
    for remark in skipped.chain(left_out) {
        surroundings.remark(remark);
    }
    Ok(Exit::Answered)
}

/// What sub-agents may do, in a line.
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

/// Prints the rows, as one object for programs and as lines for people.
fn show(options: &Options, rows: &[(&str, Value)]) -> Result<(), CliError> {
    if options.json {
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

/// What a number counts, where its name does not say it.
fn unit(name: &str) -> &'static str {
    match name {
        "output limit" => " bytes",
        "idle timeout" | "shell timeout" => " s",
        _ => "",
    }
}
