//! The user's settings about extensions.

use std::path::{Path, PathBuf};

use becket_hooks::{SectionSettings, SettingsError, check_seconds};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// The pi extensions.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PiConfig {
    /// Load extensions from pi's folder and the project's `.pi`; default: true if the folders exist. Extensions named
    /// with `-e` are always loaded.
    pub enabled: Option<bool>,
    /// pi's folder; a relative path is relative to the folder of this file. The variable PI_CODING_AGENT_DIR comes
    /// first.
    pub home: Option<PathBuf>,
    /// How many seconds one call of an extension's handler may take; default: 30.
    #[schemars(with = "Option<u64>")]
    pub timeout: Option<Spanned<u64>>,
    /// How many megabytes one extension may use; default: 256.
    #[schemars(with = "Option<u32>")]
    pub memory_mb: Option<Spanned<u32>>,
    /// Whether extensions may use files; default: true.
    pub files: Option<bool>,
    /// Whether extensions may run programs; default: true.
    pub processes: Option<bool>,
    /// Whether extensions may use the network; default: true.
    pub network: Option<bool>,
}

/// The engine that runs extensions.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JsConfig {
    /// `embedded`, `node`, or `auto`: embedded, but Node for extensions that need it; default: `auto`.
    pub engine: Option<JsEngine>,
    /// The executable of Node (or Bun); a relative path is relative to the folder of this file. Default: the first
    /// `node` or `bun` on the PATH.
    pub node: Option<PathBuf>,
}

/// An engine for extensions.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JsEngine {
    /// The embedded engine.
    Embedded,
    /// Node.
    Node,
    /// The embedded engine if it is enough, else Node.
    Auto,
}

impl SectionSettings for JsConfig {
    const NAME: &'static str = "js";
    const ABOUT: &'static str = "What runs extensions.";
}

impl SectionSettings for PiConfig {
    const NAME: &'static str = "pi";
    const ABOUT: &'static str = "pi extensions.";

    /// Checks that an extension has enough time and memory to do anything.
    fn check(&self, text: &str, file: &Path) -> Result<(), SettingsError> {
        check_seconds("pi.timeout", self.timeout.as_ref(), text, file)?;
        let is_enough = |megabytes: &u32| (8..=65_536).contains(megabytes);
        if let Some(megabytes) = self.memory_mb.as_ref().filter(|size| !is_enough(size.get_ref())) {
            let message = "`pi.memory_mb` is from 8 to 65536".to_string();
            return Err(SettingsError::at(megabytes.span().start, text, file, message));
        }
        Ok(())
    }
}
