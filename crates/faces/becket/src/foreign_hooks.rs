//! Hooks in docker-agent's words that count in every front end: of the person's docker-agent settings, of `hooks.d`,
//! and of the command line, in this order. Those of an agent file come before them.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use becket_docker_agent::{CONFIG_VARIABLES, HookEntry, HookFlag, Permissions, PersonsSettings};
use becket_system::{CliError, Folders, Surroundings};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::config::DockerAgentConfig;

/// The flags, one for each event.
static FLAGS: LazyLock<Vec<HookFlag>> = LazyLock::new(HookFlag::all);

/// Hooks of the command line: `--hook-EVENT COMMAND`.
#[derive(Debug, Clone, Default)]
pub struct HookFlags(pub Vec<HookEntry>);

impl clap::Args for HookFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| {
            let arg = Arg::new(flag.name.as_str())
                .long(flag.name.as_str())
                .value_name("COMMAND")
                .help(format!(
                    "A shell command for docker-agent's event {}, for all tools; may be given several times",
                    flag.event
                ))
                .help_heading("Hooks in docker-agent's words")
                .hide_short_help(true)
                .action(ArgAction::Append)
                .value_parser(not_empty)
                .global(true);
            command.arg(arg)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// A command that is empty would guard nothing: a variable in the person's script may be unset.
fn not_empty(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("the command is empty"),
        _ => Ok(text.to_owned()),
    }
}

impl FromArgMatches for HookFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let entries = FLAGS.iter().flat_map(|flag| {
            let commands = matches.get_many::<String>(&flag.name).into_iter().flatten();
            commands.map(|command| flag.entry(command))
        });
        Ok(Self(entries.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// docker-agent's configuration folder: the one of the environment or of the settings, else the usual one. One that is
/// named must be there, because guards may be in it.
pub fn config_folder(
    config: &DockerAgentConfig,
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<Option<PathBuf>, CliError> {
    if config.enabled == Some(false) {
        return Ok(None);
    }
    let variable = CONFIG_VARIABLES
        .iter()
        .find_map(|name| surroundings.variable(name));
    let named = variable.map(|folder| surroundings.cwd.join(folder)).or_else(|| {
        config
            .config_dir
            .as_ref()
            .map(|folder| folders.config.join(folder))
    });
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    match becket_docker_agent::config_folder(named, persons_home.as_deref()) {
        Some(folder) if !folder.is_dir() => Err(CliError::usage(format!(
            "docker-agent's configuration folder {} is not a folder",
            folder.display()
        ))
        .hint("make it, name another one, or set `enabled = false` in [docker_agent]")),
        None if config.enabled == Some(true) => Err(CliError::usage(
            "docker-agent has no configuration folder, but it is enabled",
        )
        .hint("name it with `config_dir` in [docker_agent]")),
        folder => Ok(folder),
    }
}

/// Files in which such hooks stand, in the order in which they count.
pub struct Sources {
    /// The person's docker-agent settings.
    pub settings: Option<PathBuf>,
    /// Files with nothing but hooks.
    pub drop_ins: Vec<PathBuf>,
}

impl Sources {
    /// Finds them. Nothing is read yet.
    pub fn find(
        config: &DockerAgentConfig,
        folders: &Folders,
        surroundings: &Surroundings,
    ) -> Result<Self, CliError> {
        let folder = config_folder(config, folders, surroundings)?;
        let settings = folder.as_deref().map(becket_docker_agent::settings_file);
        let mut drop_ins = Vec::new();
        for folder in folder.iter().chain([&folders.config]) {
            drop_ins.extend(drop_ins_of(&becket_docker_agent::drop_in_folder(folder))?);
        }
        Ok(Self {
            settings: settings.filter(|file| file.exists() || file.is_symlink()),
            drop_ins,
        })
    }

    /// Reads all of them: hooks, and the rules of the settings. A file that cannot be read may have held a guard, so
    /// that nothing goes on without it.
    pub fn read(&self) -> Result<(Vec<HookEntry>, Permissions), CliError> {
        let (mut entries, mut permissions) = (Vec::new(), Permissions::default());
        if let Some(file) = &self.settings {
            let settings = PersonsSettings::read(&text_of(file)?, file)?;
            entries.extend(settings.hooks);
            permissions = settings.permissions;
        }
        for file in &self.drop_ins {
            entries.extend(becket_docker_agent::read_drop_in(&text_of(file)?, file)?);
        }
        Ok((entries, permissions))
    }
}

/// The files of a folder, in the order of their names; a folder that is not there has none.
pub fn drop_ins_of(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let told = |error: std::io::Error| CliError::usage(format!("cannot read {}: {error}", folder.display()));
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(told(error)),
    };
    let mut files = Vec::new();
    for entry in listing {
        let file = entry.map_err(told)?.path();
        if becket_docker_agent::is_drop_in(&file) && !file.is_dir() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

pub fn text_of(file: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(file)
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))
}
