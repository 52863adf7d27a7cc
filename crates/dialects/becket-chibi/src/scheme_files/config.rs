//! The user's settings about Scheme files: keys of `[tools]`, among others that are becket's own.

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

/// The keys of `[tools]` about Scheme files.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SchemeConfig {
    /// Which Scheme files may access files, by path prefix in the virtual file system: 2 allows, 1 forbids. By default
    /// only `/tools/shared/history.scm` is allowed. A file that a model wrote is not allowed until you trust it.
    tiers: BTreeMap<String, u8>,
    /// The web addresses that Scheme files may reach.
    http: ToolsHttpConfig,
    /// Environment variables that Scheme files see: one list of names per path prefix; default: none.
    env: BTreeMap<String, Vec<String>>,
}

impl SectionSettings for SchemeConfig {
    const NAME: &'static str = "tools";
    const ABOUT: &'static str = "What files in Scheme may do.";
}

/// The web addresses that Scheme files may reach.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ToolsHttpConfig {
    /// URL prefixes that a Scheme file may reach: one list per path prefix. `"trust-declared"` in place of a list
    /// allows what the file itself declares. By default, files of tier 2 may reach everything and others nothing.
    allow: BTreeMap<String, HttpAllowConfig>,
    /// Whether files without an entry may reach the addresses that they declare; default: false.
    trust_declared: Option<bool>,
}

/// The addresses that one file may reach.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum HttpAllowConfig {
    /// Everything below these addresses.
    Below(Vec<String>),
    /// The word `trust-declared`.
    Word(String),
}

impl SchemeConfig {
    /// The rights of files: those in the settings of a chibi home, overridden by becket's own.
    pub fn with_home(&self, home: Option<&Path>) -> Result<FileSettings, CliError> {
        let own = self.own().checked().map_err(CliError::usage)?;
        check_addresses(&own).map_err(CliError::usage)?;
        let Some(home) = home else {
            return Ok(own);
        };
        let file = home.join(HOME_SETTINGS_FILE);
        let wrong = |words: String| CliError::usage(format!("{}: {words}", file.display()));
        match becket_fs::read_to_string(&file) {
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

/// Checks the addresses: an invalid one is an error, because the user must know what is allowed.
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
