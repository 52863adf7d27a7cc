//! The table `[dialects]` of the user's settings: which systems' hook files count.

use std::collections::BTreeMap;

use becket_hooks::SectionSettings;
use schemars::JsonSchema;
use serde::Deserialize;

/// Which other agents' hook files are read, and how strictly.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DialectSettings {
    /// Whether a hook that exits with an error code refuses, even if its own agent would continue; default: false.
    pub strict: bool,
    /// For each system whose files count: `off`, `project` or `all`; default: all.
    #[serde(flatten)]
    pub systems: BTreeMap<String, Reach>,
}

/// Which hook files of this agent are read; default: `all`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// None but those of whoever manages the machine.
    Off,
    /// Those of the project, and of the machine.
    Project,
    /// Those of the user, of the project and of the machine.
    #[default]
    All,
}

impl SectionSettings for DialectSettings {
    const NAME: &'static str = "dialects";
    const ABOUT: &'static str = "Which other agents' hook files are read, and how strictly.";
}

impl DialectSettings {
    /// Which files of a system count.
    pub fn reach(&self, system: &str) -> Reach {
        self.systems.get(system).copied().unwrap_or_default()
    }
}
