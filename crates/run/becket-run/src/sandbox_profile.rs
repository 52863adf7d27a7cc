//! The profiles of the sandbox, by their words.

use schemars::JsonSchema;
use serde::Deserialize;

/// What commands may write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxProfile {
    /// Whatever the user may.
    #[default]
    Off,
    /// Nothing.
    ReadOnly,
    /// The project and the folders for temporary files.
    Workspace,
    /// The same, with the network as far as the URL policy and rules allow it.
    #[serde(rename = "workspace+network")]
    WorkspaceAndNetwork,
}

impl SandboxProfile {
    /// All profiles.
    pub const ALL: [Self; 4] = [
        Self::Off,
        Self::ReadOnly,
        Self::Workspace,
        Self::WorkspaceAndNetwork,
    ];

    /// The profile's word in settings and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::WorkspaceAndNetwork => "workspace+network",
        }
    }

    /// The profile with that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.word() == word)
    }

    /// Whether commands can write the project.
    pub fn writes_project(self) -> bool {
        matches!(self, Self::Workspace | Self::WorkspaceAndNetwork)
    }

    /// A sentence about the profile.
    pub fn about(self) -> &'static str {
        match self {
            Self::Off => "Commands may do what you may.",
            Self::ReadOnly => "Commands can write nothing and have no network.",
            Self::Workspace => "Commands can write the project and temporary files, and have no network.",
            Self::WorkspaceAndNetwork => {
                "Commands can write the project and temporary files, and reach the web addresses that you allow."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_found_by_its_word() {
        for profile in SandboxProfile::ALL {
            assert_eq!(SandboxProfile::of_word(profile.word()), Some(profile));
        }
    }
}
