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
}

impl SandboxProfile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Off, Self::ReadOnly, Self::Workspace];

    /// The profile's word in settings and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
        }
    }

    /// The profile with that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.word() == word)
    }

    /// A sentence about the profile.
    pub fn about(self) -> &'static str {
        match self {
            Self::Off => "Commands may do what you may.",
            Self::ReadOnly => "Commands can write nothing and have no network.",
            Self::Workspace => "Commands can write the project and temporary files, and have no network.",
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
