//! What pi's `settings.json` says about extensions, resources and packages.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The part of the settings that counts here.
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
    /// Packages, which may hold any of them.
    pub(super) packages: Vec<Package>,
}

/// A package, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub(super) struct Package {
    /// Where it comes from.
    pub(super) source: String,
    wanted: WantedOfPackage,
}

/// Patterns for what is wanted of a package; everything is where there are none.
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
    /// The patterns for what lies in that folder of a package by custom.
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
    /// Where the settings of a folder lie.
    pub(super) fn file(folder: &Path) -> PathBuf {
        folder.join("settings.json")
    }

    /// Paths and patterns for what lies in that folder by custom.
    pub(super) fn of(&self, folder: &str) -> &[String] {
        match folder {
            "skills" => &self.skills,
            "prompts" => &self.prompts,
            "themes" => &self.themes,
            _ => &self.extensions,
        }
    }

    /// Those of a folder; none where there is no file.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let file = Self::file(folder);
        match std::fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| format!("{} cannot be understood: {error}", file.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        }
    }
}
