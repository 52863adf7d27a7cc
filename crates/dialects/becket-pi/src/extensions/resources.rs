//! Skills, prompt templates and themes, as extensions see them.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{HostAnswer, json_of};
use super::registry::ExtensionRegistry;
use crate::host_call::{CommandInfo, Mode, SourceInfo};
use crate::run_resources::RunResources;
use crate::{Resources, ShownTheme};

/// The theme that is used by default.
const USUAL_THEME: &str = "dark";

/// The resources that can be called by name, as commands.
pub fn commands(resources: &RunResources) -> Vec<CommandInfo> {
    resources.look(|resources| {
        let templates = resources.templates.iter();
        let templates = templates.map(|template| {
            let name = template.name.clone();
            command(name, &template.description, "prompt", &template.source)
        });
        let skills = resources.skills.iter();
        let skills = skills.map(|skill| command(skill.command(), &skill.description, "skill", &skill.source));
        templates.chain(skills).collect()
    })
}

fn command(name: String, description: &str, source: &'static str, from: &SourceInfo) -> CommandInfo {
    CommandInfo {
        name,
        description: Some(description.to_owned()),
        source,
        location: Some(match from.scope {
            "temporary" => "path",
            scope => scope,
        }),
        path: Some(from.path.clone()),
        source_info: from.clone(),
    }
}

/// The available themes.
pub fn themes(registry: &ExtensionRegistry) -> HostAnswer {
    look(registry, |resources| {
        let themes = resources.all_themes();
        let shown: Vec<ShownTheme<'_>> = themes.map(|theme| theme.shown_without_colours()).collect();
        json_of(&shown)
    })
}

/// One theme; by default the one that is used for drawing.
pub fn theme(registry: &ExtensionRegistry, name: Option<&str>) -> HostAnswer {
    let chosen = || registry.stage().and_then(|stage| stage.resources.chosen_theme());
    let name = name.map(ToOwned::to_owned).or_else(chosen);
    let name = name.as_deref().unwrap_or(USUAL_THEME);
    look(registry, |resources| {
        json_of(&resources.theme(name).map(|theme| theme.shown()))
    })
}

/// Chooses a theme, if there is a screen.
pub fn set_theme(registry: &ExtensionRegistry, name: &str) -> Value {
    let is_there = |resources: &Resources| json_of(&resources.theme(name).is_some());
    if look(registry, is_there).as_deref() != Ok("true") {
        return failed(&format!("Theme not found: {name}"));
    }
    match registry.mode() {
        Mode::Tui => {
            if let Some(stage) = registry.stage() {
                stage.resources.choose_theme(name);
            }
            json!({"success": true})
        }
        Mode::Rpc => failed("Theme switching not supported in RPC mode"),
        Mode::Json | Mode::Print => failed("UI not available"),
    }
}

fn failed(error: &(impl Serialize + ?Sized)) -> Value {
    json!({"success": false, "error": error})
}

/// Calls a function with the resources, which are empty before there is an agent.
fn look(registry: &ExtensionRegistry, look: impl FnOnce(&Resources) -> HostAnswer) -> HostAnswer {
    match registry.stage() {
        Some(stage) => stage.resources.look(look),
        None => look(&Resources::default()),
    }
}
