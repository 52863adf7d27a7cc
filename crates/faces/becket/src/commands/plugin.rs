//! `becket plugin`: lists and calls the plugins of the chibi home.

use becket_chibi::{FoundPlugins, NotOffered, Plugin, Plugins, generation_word, hook_named, plugins_folder};
use becket_face_kit::runtime;
use becket_hooks::nearest;
use becket_host::{Asking, Guests};
use becket_run::agent_settings::profile;
use becket_run::loading::load_only;
use becket_run::setup::Setup;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::{Map, Value, json};

use super::tool;
use crate::options::Options;
use crate::printing::print;

/// Lists the plugins, or calls one.
pub fn run(
    options: &Options,
    name: Option<String>,
    arguments: Vec<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let setup = Setup::read(&options.run, surroundings)?;
    let Some(home) = setup.found.home() else {
        return Err(no_home(&setup));
    };
    let plugins = load_only::<Plugins>(&setup, "plugin", &options.run, surroundings, Asking::WhenChanged);
    let plugins = runtime(options)?.block_on(plugins)?.unwrap_or_default();
    let Some(name) = name else {
        if plugins.all().is_empty() {
            let folder = plugins_folder(home.folder);
            surroundings.remark(&format!("there are no plugins in {}", folder.display()));
        }
        let unloaded = plugins.unloaded();
        let unloaded = unloaded.iter().map(ToString::to_string);
        for remark in plugins.remarks().into_iter().chain(unloaded) {
            surroundings.remark(&remark);
        }
        let not_offered = plugins.offer_tools(&profile(&setup, &options.run)?, &mut Vec::new());
        return list(options, &plugins, &not_offered);
    };
    let tool = tool_meant(&name, &plugins)?;
    let arguments = Map::from_iter([("args".to_owned(), Value::from(arguments))]);
    tool::call(options, &tool, &arguments, surroundings)
}

fn no_home(setup: &Setup) -> CliError {
    let found = setup.found.get::<FoundPlugins>();
    if found.is_some_and(|found| found.config.enabled == Some(false)) {
        let file = setup.folders.config_file();
        let message = format!(
            "plugins are disabled: {} says `enabled = false` in [chibi]",
            file.display()
        );
        return CliError::usage(message).hint("--chibi-home FOLDER still uses a home");
    }
    CliError::usage("there is no chibi home, so there are no plugins")
        .hint("name one with --chibi-home, or with `home` in [chibi] of the settings")
}

fn list(options: &Options, plugins: &Plugins, not_offered: &[NotOffered]) -> Result<Exit, CliError> {
    for plugin in plugins.all() {
        let refused = not_offered.iter().filter(|refused| refused.plugin == plugin.name);
        let refused: Vec<&str> = refused.map(|refused| refused.tool.as_str()).collect();
        let (generation, hooks) = (generation_word(plugin.generation), plugin.hooks());
        let unknown: Vec<&str> = hooks
            .iter()
            .copied()
            .filter(|hook| hook_named(hook).is_none())
            .collect();
        if options.run.json {
            let line = json!({
                "name": plugin.name,
                "path": plugin.path,
                "generation": generation,
                "terminal": plugin.terminal,
                "tools": plugin.tools,
                "hooks": hooks,
                "not_offered": refused,
                "unknown_hooks": unknown,
            });
            print(&format!("{line}\n"))?;
        } else {
            let hooks = if hooks.is_empty() {
                String::new()
            } else {
                format!("  hooks {}", marked(hooks, &unknown, "(unknown)"))
            };
            let tools = plugin.tools.iter().map(|tool| tool.name.as_str());
            let tools = marked(tools, &refused, "(not offered)");
            let line = format!("{:<20} {generation}  tools {tools}{hooks}", plugin.name);
            print(&format!("{}\n", harmless(&line)))?;
        }
    }
    Ok(Exit::Answered)
}

/// Names in a list, the wrong ones with a mark.
fn marked<'a>(names: impl IntoIterator<Item = &'a str>, wrong: &[&str], mark: &str) -> String {
    let names = names.into_iter().map(|name| match wrong.contains(&name) {
        true => format!("{name} {mark}"),
        false => name.to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The tool of that name, or the one tool of the plugin of that name.
fn tool_meant(name: &str, plugins: &Plugins) -> Result<String, CliError> {
    if plugins.has_tool(name) {
        return Ok(name.to_owned());
    }
    let plugin = plugins.all().iter().find(|plugin| plugin.name == name);
    let tools =
        |plugin: &Plugin| -> Vec<String> { plugin.tools.iter().map(|tool| tool.name.clone()).collect() };
    match plugin.map(tools).as_deref() {
        Some([only]) => Ok(only.clone()),
        Some(several) => Err(CliError::usage(format!("the plugin {name} has several tools"))
            .hint(format!("name one of them: {}", several.join(", ")))),
        None => {
            let error = CliError::usage(format!("there is no plugin `{name}`"));
            let known = plugins.all().iter().flat_map(|plugin| {
                let tools = plugin.tools.iter().map(|tool| tool.name.as_str());
                tools.chain([plugin.name.as_str()])
            });
            match (
                plugins.faults().iter().find(|fault| fault.plugin == name),
                nearest(name, known),
            ) {
                (Some(fault), _) => Err(error.hint(fault.to_string())),
                (None, Some(near)) => Err(error.hint(format!("did you mean `{near}`?"))),
                (None, None) => Err(error.hint("`becket plugin` lists them")),
            }
        }
    }
}
