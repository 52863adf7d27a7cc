//! The folders for configuration, data and cache.

use std::path::{Path, PathBuf};

use becket_store::{Project, SqliteStore};

use crate::failure::CliError;
use crate::project_root::nearest_project;
use crate::surroundings::Surroundings;

/// The variable that names one folder for everything.
pub const HOME_VARIABLE: &str = "BECKET_HOME";

/// The folders of this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Configuration: `config.toml`.
    pub config: PathBuf,
    /// Data: the store, the history of the chat.
    pub data: PathBuf,
    /// Files that can be made again.
    pub cache: PathBuf,
    /// The one folder that holds all of them, if one was named.
    pub home: Option<PathBuf>,
    /// The root of the project whose conversations continue, and whose stored permissions count.
    pub project: PathBuf,
}

impl Folders {
    /// The folders under one home if one is named, else by the XDG rules.
    pub fn find(home: Option<&Path>, surroundings: &Surroundings) -> Result<Self, CliError> {
        let persons_home = surroundings.variable("HOME").map(PathBuf::from);
        let project = nearest_project(&surroundings.cwd, persons_home.as_deref());
        let named = home
            .map(Path::to_path_buf)
            .or_else(|| surroundings.variable(HOME_VARIABLE).map(Into::into));
        if let Some(home) = named {
            let home = surroundings.cwd.join(home);
            return Ok(Self {
                config: home.clone(),
                data: home.clone(),
                cache: home.join("cache"),
                home: Some(home),
                project,
            });
        }
        Ok(Self {
            config: xdg(surroundings, "XDG_CONFIG_HOME", ".config")?,
            data: xdg(surroundings, "XDG_DATA_HOME", ".local/share")?,
            cache: xdg(surroundings, "XDG_CACHE_HOME", ".cache")?,
            home: None,
            project,
        })
    }

    /// The file with the user's settings.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The file of the store.
    pub fn store_file(&self) -> PathBuf {
        self.data.join("becket.db")
    }

    /// The file with the contexts that were taken over from another system's home.
    pub fn taken_over_file(&self) -> PathBuf {
        self.data.join("taken-over")
    }

    /// Opens the store, which is created if it is new. Its current context is that of the project.
    pub fn open_store(&self) -> Result<SqliteStore, CliError> {
        let store = SqliteStore::open(self.store_file())?;
        Ok(store.in_project(Project::at(&self.project)))
    }

    /// The file with what plugins have reported about themselves. Not a mere cache: it says what has been a plugin
    /// before.
    pub fn plugins_file(&self) -> PathBuf {
        self.data.join("plugins.json")
    }

    /// The file with the places of the user's extensions.
    pub fn extensions_file(&self) -> PathBuf {
        self.data.join("extensions.json")
    }

    /// The file with what MCP servers have offered.
    pub fn server_cache_file(&self) -> PathBuf {
        self.cache.join("mcp.json")
    }

    /// The folder that records who wrote which Scheme file.
    pub fn marks_folder(&self) -> PathBuf {
        self.data.join("scheme-marks")
    }

    /// The folder that records which Scheme files failed.
    pub fn attempts_folder(&self) -> PathBuf {
        self.data.join("scheme-attempts")
    }

    /// The folder with the trusted things of projects.
    pub fn trust_folder(&self) -> PathBuf {
        self.data.join("trust")
    }

    /// The folder with the rules that were stored when the user was asked.
    pub fn permissions_folder(&self) -> PathBuf {
        self.data.join("permissions")
    }

    /// The history file of the prompt of `becket scheme`.
    pub fn scheme_history_file(&self) -> PathBuf {
        self.data.join("scheme-history.txt")
    }

    /// The history file of the chat.
    pub fn history_file(&self) -> PathBuf {
        self.data.join("history.txt")
    }

    /// Texts that programs of hooks are given as files. Their names begin with the session's.
    pub fn hook_files(&self) -> PathBuf {
        self.data.join("hook-files")
    }
}

fn xdg(surroundings: &Surroundings, variable: &str, below_home: &str) -> Result<PathBuf, CliError> {
    // The XDG rules say that a relative path is to be ignored.
    if let Some(folder) = surroundings
        .variable(variable)
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
    {
        return Ok(folder.join("becket"));
    }
    match surroundings.variable("HOME") {
        Some(home) => Ok(Path::new(&home).join(below_home).join("becket")),
        None => Err(
            CliError::usage("there is no home folder: neither HOME nor BECKET_HOME is set")
                .hint("name a folder with --home"),
        ),
    }
}
