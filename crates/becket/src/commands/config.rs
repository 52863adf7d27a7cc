//! `becket config`: what is in effect, and where it comes from.

use super::print;
use crate::args::Options;
use crate::assemble::Setup;
use crate::failure::{CliError, Exit};
use crate::surroundings::Surroundings;

/// Shows the configuration in effect.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let setup = Setup::read(options, surroundings)?;
    let provider = setup.provider(options, surroundings)?;
    let file = setup.folders.config_file();
    let settings = setup.agent_settings(options, surroundings)?;
    let there = |exists: bool| if exists { "" } else { " (not there)" };
    let rows = [
        (
            "config file",
            format!("{}{}", file.display(), there(file.exists())),
        ),
        ("store", setup.folders.store_file().display().to_string()),
        ("cache", setup.folders.cache.display().to_string()),
        ("project root", setup.project_root.display().to_string()),
        ("model", format!("{}/{}", provider.name(), provider.model())),
        ("tool profile", setup.profile(options)?.name.to_string()),
        ("max iterations", settings.max_iterations.to_string()),
        (
            "fuel",
            settings.fuel.map_or("no limit".into(), |fuel| fuel.to_string()),
        ),
        ("hooks", setup.hooks.len().to_string()),
        (
            "questions",
            if options.yes { "answered with yes" } else { "asked" }.to_string(),
        ),
    ];
    if options.json {
        let object: serde_json::Map<String, serde_json::Value> = rows
            .into_iter()
            .map(|(name, value)| (name.replace(' ', "_"), value.into()))
            .collect();
        print(&format!("{}\n", serde_json::Value::Object(object)))?;
    } else {
        for (name, value) in rows {
            print(&format!("{name:<16} {value}\n"))?;
        }
    }
    if let Some(skipped) = &setup.project.skipped {
        surroundings.remark(skipped);
    }
    Ok(Exit::Answered)
}
