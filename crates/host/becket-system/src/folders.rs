//! Where configuration, data and cache live.

use std::path::{Path, PathBuf};

use becket_store::{Project, SqliteStore};

use crate::failure::CliError;
use crate::project_root::nearest_project;
use crate::surroundings::Surroundings;

/// The folders of this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Configuration: `config.toml`.
    pub config: PathBuf,
    /// Data: the store, the history of the chat.
    pub data: PathBuf,
    /// What can be made again.
    pub cache: PathBuf,
    /// The root of the project whose conversations go on, and whose stored permissions count.
    pub project: PathBuf,
}

impl Folders {
    /// Under one home if one is named, else where the XDG rules put them.
    pub fn find(home: Option<&Path>, surroundings: &Surroundings) -> Result<Self, CliError> {
        let persons_home = surroundings.variable("HOME").map(PathBuf::from);
        let project = nearest_project(&surroundings.cwd, persons_home.as_deref());
        let named = home
            .map(Path::to_path_buf)
            .or_else(|| surroundings.variable("BECKET_HOME").map(Into::into));
        if let Some(home) = named {
            let home = surroundings.cwd.join(home);
            return Ok(Self {
                config: home.clone(),
                data: home.clone(),
                cache: home.join("cache"),
                project,
            });
        }
        Ok(Self {
            config: xdg(surroundings, "XDG_CONFIG_HOME", ".config")?,
            data: xdg(surroundings, "XDG_DATA_HOME", ".local/share")?,
            cache: xdg(surroundings, "XDG_CACHE_HOME", ".cache")?,
            project,
        })
    }

    /// The person's settings.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The store.
    pub fn store_file(&self) -> PathBuf {
        self.data.join("becket.db")
    }

    /// Opens the store, which is made if it is new. Its current context is that of the project.
    pub fn open_store(&self) -> Result<SqliteStore, CliError> {
        let store = SqliteStore::open(self.store_file())?;
        Ok(store.in_project(Project::at(&self.project)))
    }

    /// What plugins have said of themselves. It is no mere cache: it says what has been a plugin before.
    pub fn plugins_file(&self) -> PathBuf {
        self.data.join("plugins.json")
    }

    /// Where the user's extensions were found.
    pub fn extensions_file(&self) -> PathBuf {
        self.data.join("extensions.json")
    }

    /// What MCP servers have said that they offer.
    pub fn server_cache_file(&self) -> PathBuf {
        self.cache.join("mcp.json")
    }

    /// Who wrote which file in Scheme.
    pub fn marks_folder(&self) -> PathBuf {
        self.data.join("scheme-marks")
    }

    /// Which files in Scheme failed.
    pub fn attempts_folder(&self) -> PathBuf {
        self.data.join("scheme-attempts")
    }

    /// What of projects is trusted.
    pub fn trust_folder(&self) -> PathBuf {
        self.data.join("trust")
    }

    /// The rules that were stored at questions.
    pub fn permissions_folder(&self) -> PathBuf {
        self.data.join("permissions")
    }

    /// What was typed at the prompt of `becket scheme`.
    pub fn scheme_history_file(&self) -> PathBuf {
        self.data.join("scheme-history.txt")
    }

    /// What was typed in the chat.
    pub fn history_file(&self) -> PathBuf {
        self.data.join("history.txt")
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
