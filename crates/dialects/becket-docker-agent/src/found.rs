//! Hooks that are not from an agent file: those of the user's docker-agent settings and of `hooks.d`, in this order.
//! Hooks of an agent file come before them, those of the command line after them.

use std::path::{Path, PathBuf};

use becket_hooks::SectionSettings;
use becket_host::GuestOptions;
use becket_system::{CliError, Folders, Surroundings};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::Permissions;
use crate::hook::HookEntry;
use crate::run_options::CONFIG_DIR;
use crate::sources::{self, CONFIG_VARIABLES, PersonsSettings};

/// Hooks in docker-agent's settings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DockerAgentConfig {
    /// Use docker-agent's configuration folder; default: true if `config_dir` is set or the usual folder exists.
    pub enabled: Option<bool>,
    /// docker-agent's configuration folder; a relative path is relative to the folder of this file.
    pub config_dir: Option<PathBuf>,
    /// The command that starts the MCP gateway for servers from Docker's catalogue, such as `["docker", "mcp",
    /// "gateway", "run"]`. becket appends `--servers NAME`. If unset, these servers are unavailable.
    pub mcp_gateway: Option<Vec<String>>,
}

impl SectionSettings for DockerAgentConfig {
    const NAME: &'static str = "docker_agent";
    const ABOUT: &'static str = "Hooks in docker-agent's settings.";
}

/// docker-agent's configuration folder: the one of the command line, of the environment or of the settings, else the
/// usual one. A folder that is named must exist, because guards may be in it.
pub fn folder_of_run(
    (config, options): (&DockerAgentConfig, &GuestOptions),
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<Option<PathBuf>, CliError> {
    let given = options
        .path(CONFIG_DIR)
        .map(|folder| surroundings.cwd.join(folder));
    if config.enabled == Some(false) && given.is_none() {
        return Ok(None);
    }
    let variable = CONFIG_VARIABLES
        .iter()
        .find_map(|name| surroundings.variable(name));
    let named = given
        .or_else(|| variable.map(|folder| surroundings.cwd.join(folder)))
        .or_else(|| {
            config
                .config_dir
                .as_ref()
                .map(|folder| folders.config.join(folder))
        });
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    match sources::config_folder(named, persons_home.as_deref()) {
        Some(folder) if !becket_fs::is_dir(&folder) => Err(CliError::usage(format!(
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

/// The files that hold hooks, in their order.
pub struct Sources {
    /// The user's docker-agent settings.
    pub settings: Option<PathBuf>,
    /// Files with only hooks.
    pub drop_ins: Vec<PathBuf>,
}

impl Sources {
    /// Finds the files, without reading them.
    pub fn find(
        config: (&DockerAgentConfig, &GuestOptions),
        folders: &Folders,
        surroundings: &Surroundings,
    ) -> Result<Self, CliError> {
        let folder = folder_of_run(config, folders, surroundings)?;
        let settings = folder.as_deref().map(sources::settings_file);
        let mut drop_ins = Vec::new();
        for folder in folder.iter().chain([&folders.config]) {
            drop_ins.extend(drop_ins_of(&sources::drop_in_folder(folder))?);
        }
        Ok(Self {
            settings: settings.filter(|file| becket_fs::exists(file) || becket_fs::is_symlink(file)),
            drop_ins,
        })
    }

    /// Reads a file with only hooks.
    pub fn read_file(file: &Path) -> Result<Vec<HookEntry>, CliError> {
        Ok(sources::read_drop_in(&text_of(file)?, file)?)
    }

    /// Reads all files: hooks, and the rules of the settings. A file that cannot be read may have held a guard, so it
    /// is an error.
    pub fn read(&self) -> Result<(Vec<HookEntry>, Permissions), CliError> {
        let (mut entries, mut permissions) = (Vec::new(), Permissions::default());
        if let Some(file) = &self.settings {
            let settings = PersonsSettings::read(&text_of(file)?, file)?;
            entries.extend(settings.hooks);
            permissions = settings.permissions;
        }
        for file in &self.drop_ins {
            entries.extend(Self::read_file(file)?);
        }
        Ok((entries, permissions))
    }
}

/// The files of a folder, sorted by name; none if the folder does not exist.
fn drop_ins_of(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let told = |error: std::io::Error| CliError::usage(format!("cannot read {}: {error}", folder.display()));
    let listing = match becket_fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(told(error)),
    };
    let mut files = Vec::new();
    for entry in listing {
        let file = entry.map_err(told)?.path();
        if sources::is_drop_in(&file) && !becket_fs::is_dir(&file) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn text_of(file: &Path) -> Result<String, CliError> {
    becket_fs::read_to_string(file)
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))
}
