//! The part of pi's `settings.json` about extensions, resources and packages.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The part of the settings that becket uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    /// Paths and patterns of extensions.
    pub(super) extensions: Vec<String>,
    /// Paths and patterns of skills.
    skills: Vec<String>,
    /// Paths and patterns of prompt templates.
    prompts: Vec<String>,
    /// Paths and patterns of themes.
    themes: Vec<String>,
    /// Packages, which may hold all of these.
    pub(super) packages: Vec<Package>,
}

/// A package, and the parts of it that are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub(super) struct Package {
    /// The package's source.
    pub(super) source: String,
    wanted: WantedOfPackage,
}

/// Patterns for the wanted parts of a package; all parts if there are no patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct WantedOfPackage {
    extensions: Option<Vec<String>>,
    skills: Option<Vec<String>>,
    prompts: Option<Vec<String>>,
    themes: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Source(String),
    Chosen {
        source: String,
        #[serde(flatten)]
        wanted: WantedOfPackage,
    },
}

impl From<Written> for Package {
    fn from(written: Written) -> Self {
        let (source, wanted) = match written {
            Written::Source(source) => (source, WantedOfPackage::default()),
            Written::Chosen { source, wanted } => (source, wanted),
        };
        Self { source, wanted }
    }
}

impl Package {
    /// The patterns for the files in that folder of a package.
    pub(super) fn of(&self, folder: &str) -> Option<&[String]> {
        let wanted = &self.wanted;
        match folder {
            "skills" => wanted.skills.as_deref(),
            "prompts" => wanted.prompts.as_deref(),
            "themes" => wanted.themes.as_deref(),
            _ => wanted.extensions.as_deref(),
        }
    }
}

impl Settings {
    /// The path of the settings in a folder.
    pub(super) fn file(folder: &Path) -> PathBuf {
        folder.join("settings.json")
    }

    /// Paths and patterns for the files in that folder.
    pub(super) fn of(&self, folder: &str) -> &[String] {
        match folder {
            "skills" => &self.skills,
            "prompts" => &self.prompts,
            "themes" => &self.themes,
            _ => &self.extensions,
        }
    }

    /// The settings in a folder; empty if there is no file.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let file = Self::file(folder);
        match becket_fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| format!("{} cannot be understood: {error}", file.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        }
    }
}
