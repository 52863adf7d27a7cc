//! The user's settings about a chibi home.

use std::path::{Path, PathBuf};

use becket_hooks::{SectionSettings, SettingsError, check_seconds};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// The plugins of a chibi home.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChibiConfig {
    /// Use a chibi home; default: true if one is named or `~/.chibi` exists.
    pub enabled: Option<bool>,
    /// The chibi home; a relative path is relative to the folder of this file.
    pub home: Option<PathBuf>,
    /// How many seconds one call of a plugin's hook may take; default: 30.
    #[schemars(with = "Option<u64>")]
    pub hook_timeout: Option<Spanned<u64>>,
    /// How many seconds one call of a plugin's tool may take; default: 30.
    #[schemars(with = "Option<u64>")]
    pub tool_timeout: Option<Spanned<u64>>,
    /// How long a plugin may take to print its schema, in seconds; default: 120.
    #[schemars(with = "Option<u64>")]
    pub schema_timeout: Option<Spanned<u64>>,
    /// Whether older plugins are told to be verbose.
    pub verbose: bool,
    /// File names of plugins to treat as the older generation, whatever becket detects.
    #[schemars(with = "Vec<String>")]
    pub older: Vec<Spanned<String>>,
    /// File names of plugins to treat as the newer generation, whatever becket detects.
    #[schemars(with = "Vec<String>")]
    pub newer: Vec<Spanned<String>>,
    /// File names of plugins that read your answers from stdin when called.
    #[schemars(with = "Vec<String>")]
    pub asks: Vec<Spanned<String>>,
    /// Let plugins that run `chibi` find your own `chibi` program instead of becket.
    pub own_program: bool,
}

impl SectionSettings for ChibiConfig {
    const NAME: &'static str = "chibi";
    const ABOUT: &'static str = "The plugins of a chibi home.";

    /// Checks that the timeouts are long enough for an answer, and that no plugin is of both generations.
    fn check(&self, text: &str, file: &Path) -> Result<(), SettingsError> {
        for (key, seconds) in [
            ("chibi.hook_timeout", &self.hook_timeout),
            ("chibi.tool_timeout", &self.tool_timeout),
            ("chibi.schema_timeout", &self.schema_timeout),
        ] {
            check_seconds(key, seconds.as_ref(), text, file)?;
        }
        let is_older =
            |name: &&Spanned<String>| self.older.iter().any(|older| older.get_ref() == name.get_ref());
        if let Some(both) = self.newer.iter().find(is_older) {
            let name = both.get_ref();
            let message =
                format!("`chibi.older` and `chibi.newer` both name `{name}`; it is of one generation");
            return Err(SettingsError::at(both.span().start, text, file, message));
        }
        Ok(())
    }
}
