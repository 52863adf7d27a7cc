//! Where the value of a setting in effect comes from: the command line, the context, a file, the environment, or
//! becket itself.

use std::path::Path;

use becket_agent::UNLIMITED;
use becket_providers::{address, origins};
use becket_run::agent_settings::{agent_settings, profile};
use becket_run::models::{has_model_of_home, provider};
use becket_run::setup::Setup;
use becket_run::target::ContextChoice;
use becket_system::{CliError, Surroundings};
use toml_edit::DocumentMut;

use crate::options::Options;

/// The origin of what no one has set.
pub const DEFAULT: &str = "default";

/// The text of the settings; empty if there is no file.
pub fn text_of(file: &Path) -> Result<String, CliError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

/// The settings as they are written.
pub fn read(file: &Path) -> Result<DocumentMut, CliError> {
    let text = text_of(file)?;
    text.parse().map_err(|error| {
        CliError::usage(format!("{} is not TOML: {error}", file.display()))
            .hint("`becket config edit` opens the file")
    })
}

/// A value and where it comes from.
type Found = (String, String);

/// A place where a run could start, with its settings.
pub struct RunHere<'a> {
    /// The settings.
    pub setup: Setup,
    /// The context that a run would continue.
    pub context: String,
    options: &'a Options,
    surroundings: &'a Surroundings,
}

impl<'a> RunHere<'a> {
    /// Reads the settings that a run would have here.
    pub fn open(options: &'a Options, surroundings: &'a Surroundings) -> Result<Self, CliError> {
        let mut setup = Setup::read(&options.run, surroundings)?;
        let context = ContextChoice::of(&options.run)?.find(&setup.open_store()?)?;
        setup.enter(&context, surroundings)?;
        Ok(Self {
            setup,
            context: context.to_string(),
            options,
            surroundings,
        })
    }

    /// Where the value of a key comes from, in words.
    pub fn origin(&self, key: &str) -> Result<String, CliError> {
        let parts: Vec<String> = key.split('.').map(ToOwned::to_owned).collect();
        if let Some((_, origin)) = self.before_file(&parts) {
            return Ok(origin);
        }
        let file = self.setup.folders.config_file();
        let document = read(&file)?;
        let is_there = |key: &str| {
            key.split('.')
                .try_fold(document.as_item(), |item, part| item.get(part))
                .is_some()
        };
        if is_there(key) || (key == MAX_REQUESTS && is_there("agent.max_iterations")) {
            return Ok(file.display().to_string());
        }
        Ok(self
            .after_file(&parts)
            .map_or(DEFAULT.to_owned(), |(_, origin)| origin))
    }

    /// The value of a key that comes before that of the user's file.
    pub fn before_file(&self, parts: &[String]) -> Option<Found> {
        let (run, context) = (&self.options.run, &self.setup.context);
        let of_context = || format!("settings.toml of the context {}", self.context);
        let key = parts.join(".");
        let given = match key.as_str() {
            "model" => run.model.clone().map(|model| (model, "--model")),
            MAX_REQUESTS => run
                .max_iterations
                .map(|limit| (limit.to_string(), "--max-iterations")),
            "agent.fuel" => run.fuel.map(|fuel| (fuel.to_string(), "--fuel")),
            "agent.budget" => run.budget.map(|budget| (budget.0.to_string(), "--budget")),
            "tools.profile" => run.tools.clone().map(|tools| (tools, "--tools")),
            _ => None,
        };
        let of_setting = || match key.as_str() {
            "model" => context.model.clone(),
            "agent.fuel" => context.fuel.map(|fuel| fuel.to_string()),
            "agent.fallback" => serde_json::to_value(context.fallback?)
                .ok()?
                .as_str()
                .map(ToOwned::to_owned),
            "agent.temperature" => context
                .temperature
                .as_ref()
                .map(|degree| degree.get_ref().to_string()),
            "agent.max_tokens" => context.max_tokens.map(|tokens| tokens.to_string()),
            _ => None,
        };
        let given = given.map(|(value, option)| (value, option.to_owned()));
        given.or_else(|| Some((of_setting()?, of_context())))
    }

    /// The value of a key that counts where the user's file has none.
    pub fn after_file(&self, parts: &[String]) -> Option<Found> {
        let (setup, run, surroundings) = (&self.setup, &self.options.run, self.surroundings);
        let environment = |name: &str| surroundings.variable(name);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["model"] => {
                let provider = provider(setup, run, surroundings).ok()?;
                let value = format!("{}/{}", provider.name(), provider.model());
                let key = origins(provider.name(), &environment, &setup.provider_settings()).key;
                Some((
                    value,
                    match key {
                        _ if has_model_of_home(setup, surroundings) => "chibi home".to_owned(),
                        Some(key) => format!("{DEFAULT} with {key}"),
                        None => format!("{DEFAULT} without a key"),
                    },
                ))
            }
            ["agent", "max_requests"] => {
                let limit = agent_settings(setup, run, surroundings).ok()?.max_iterations;
                let limit = if limit == UNLIMITED {
                    "no limit".to_owned()
                } else {
                    limit.to_string()
                };
                Some((limit, DEFAULT.to_owned()))
            }
            ["tools", "profile"] => Some((profile(setup, run).ok()?.name.to_owned(), DEFAULT.to_owned())),
            ["providers", name, "base_url"] => {
                let settings = setup.provider_settings();
                let address = address(name, &environment, &settings)?;
                Some((
                    address.to_string(),
                    origins(name, &environment, &settings).address,
                ))
            }
            // The key itself stays where it is.
            ["providers", name, "key"] => {
                let key = origins(name, &environment, &setup.provider_settings()).key?;
                Some((format!("${key}"), "environment".to_owned()))
            }
            _ => None,
        }
    }

    /// The rules of the project that apply besides the user's own.
    pub fn project_rules(&self, parts: &[String]) -> Vec<Found> {
        let ["permissions", wanted] = parts.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
            return Vec::new();
        };
        let files = self.setup.project.permissions.iter();
        let rules = files.flat_map(|file| {
            let lists = file.lists().into_iter().filter(|(list, _)| *list == wanted);
            lists.flat_map(|(_, rules)| {
                rules
                    .iter()
                    .map(|rule| (rule.get_ref().clone(), file.place(rule)))
            })
        });
        rules.collect()
    }
}

/// The limit that has an older name too.
const MAX_REQUESTS: &str = "agent.max_requests";
