//! The user's settings about files in Scheme. They stand in `[tools]`, among others that are not read here.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use becket_agent::url_policy::read_url;
use becket_hooks::SectionSettings;
use becket_system::CliError;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::local_settings::HOME_SETTINGS_FILE;
use crate::scheme::{FileSettings, HttpAllow, HttpSettings};

/// What `[tools]` says about files in Scheme.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SchemeConfig {
    /// Which files may read and write files.
    tiers: BTreeMap<String, u8>,
    /// What they may reach of the web.
    http: ToolsHttpConfig,
    /// The variables of the environment that they see.
    env: BTreeMap<String, Vec<String>>,
}

impl SectionSettings for SchemeConfig {
    const NAME: &'static str = "tools";
    const ABOUT: &'static str = "What files in Scheme may do.";
}

/// What files in Scheme may reach of the web.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsHttpConfig {
    /// The addresses below which a file may reach everything, in lists by the beginnings of the files' paths in the
    /// virtual file system; `trust-declared` in the place of a list stands for what the file declares itself. Files
    /// that may read and write may reach everything, others nothing, unless it is said.
    pub allow: BTreeMap<String, HttpAllowConfig>,
    /// Whether files of which nothing is said may reach what they declare; not where it is absent.
    pub trust_declared: Option<bool>,
}

/// What one file may reach.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HttpAllowConfig {
    /// What lies below these addresses.
    Below(Vec<String>),
    /// `trust-declared`.
    Word(String),
}

impl SchemeConfig {
    /// What files may do: what the settings of a chibi home say, and what becket's own say about that.
    pub fn with_home(&self, home: Option<&Path>) -> Result<FileSettings, CliError> {
        let own = self.own().checked().map_err(CliError::usage)?;
        check_addresses(&own).map_err(CliError::usage)?;
        let Some(home) = home else {
            return Ok(own);
        };
        let file = home.join(HOME_SETTINGS_FILE);
        let wrong = |words: String| CliError::usage(format!("{}: {words}", file.display()));
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                let settings = FileSettings::of_home(&text).map_err(wrong)?;
                check_addresses(&settings).map_err(wrong)?;
                Ok(settings.and(own))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(own),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    fn own(&self) -> FileSettings {
        let allow = self.http.allow.iter().map(|(path, allow)| {
            let allow = match allow {
                HttpAllowConfig::Below(addresses) => HttpAllow::Below(addresses.clone()),
                HttpAllowConfig::Word(word) => HttpAllow::Word(word.clone()),
            };
            (path.clone(), allow)
        });
        FileSettings {
            tiers: self.tiers.clone(),
            http: HttpSettings {
                allow: allow.collect(),
                trust_declared: self.http.trust_declared,
            },
            env: self.env.clone(),
        }
    }
}

/// What is allowed must be known, so what is no address is not passed over.
fn check_addresses(settings: &FileSettings) -> Result<(), String> {
    let allowed = settings
        .http
        .allow
        .iter()
        .filter_map(|(path, allow)| match allow {
            HttpAllow::Below(addresses) => Some(addresses.iter().map(move |address| (path, address))),
            HttpAllow::Word(_) => None,
        });
    for (path, address) in allowed.flatten() {
        read_url(address).map_err(|why| format!("`tools.http.allow` for {path}: {why}"))?;
    }
    Ok(())
}
