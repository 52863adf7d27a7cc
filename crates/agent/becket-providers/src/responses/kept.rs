//! What the signatures of this interface hold.

use serde::{Deserialize, Serialize};

/// What a signature of this interface holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kept {
    /// An encrypted thought, with its id.
    Reasoning { id: String, encrypted_content: String },
    /// The phase of the text that follows, which late models want back.
    Phase(String),
}

impl Kept {
    /// As text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("text can be written as JSON")
    }
}
