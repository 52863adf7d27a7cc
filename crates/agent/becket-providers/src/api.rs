//! The names of the interfaces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interface that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// OpenAI's chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// Google's `generateContent`.
    Gemini,
}
