//! What pi's `settings.json` says about extensions and packages.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The part of the settings that counts here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    /// Paths and patterns of extensions.
    pub(super) extensions: Vec<String>,
    /// Packages, which may hold extensions.
    pub(super) packages: Vec<Package>,
}

/// A package, and which of its extensions are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub(super) struct Package {
    /// Where it comes from.
    pub(super) source: String,
    /// Patterns for its extensions; all are wanted when absent.
    pub(super) extensions: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Source(String),
    Chosen {
        source: String,
        #[serde(default)]
        extensions: Option<Vec<String>>,
    },
}

impl From<Written> for Package {
    fn from(written: Written) -> Self {
        let (source, extensions) = match written {
            Written::Source(source) => (source, None),
            Written::Chosen { source, extensions } => (source, extensions),
        };
        Self { source, extensions }
    }
}

impl Settings {
    /// Where the settings of a folder lie.
    pub(super) fn file(folder: &Path) -> PathBuf {
        folder.join("settings.json")
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
