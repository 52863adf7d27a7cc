//! Permission modes: what needs the user's yes, and what is refused without a question.
//!
//! Guards and rules that deny stand above every mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the modes: each with its word on the command line and a sentence about it.
macro_rules! modes {
    ($( $(#[doc = $doc:literal])+ $Mode:ident, $word:literal; )+) => {
        /// What needs the user's approval, and what is refused without asking.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum PermissionMode { $( $(#[doc = $doc])+ $Mode, )+ }

        impl PermissionMode {
            /// All modes, in the order in which a key goes through them.
            pub const ALL: &[Self] = &[$(Self::$Mode),+];

            /// The mode's word on the command line and on the screen.
            pub fn word(self) -> &'static str {
                match self { $(Self::$Mode => $word),+ }
            }

            /// A sentence about the mode.
            pub fn about(self) -> &'static str {
                match self { $(Self::$Mode => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

modes! {
    /// The user is asked about every call that nothing allows.
    Ask, "ask";
    /// Edits and writes of files in the project need no approval, except where hooks and settings are kept.
    AcceptEdits, "accept-edits";
    /// The model may only read: calls that write, run or send something are refused.
    Plan, "plan";
    /// Every question is answered yes.
    Yes, "yes";
}

#[expect(clippy::derivable_impls, reason = "the variants come out of the table")]
impl Default for PermissionMode {
    fn default() -> Self {
        Self::Ask
    }
}

impl PermissionMode {
    /// The mode with that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.word() == word)
    }

    /// The mode after this one; the first comes after the last.
    pub fn next(self) -> Self {
        let place = Self::ALL
            .iter()
            .position(|mode| *mode == self)
            .unwrap_or_default();
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}
