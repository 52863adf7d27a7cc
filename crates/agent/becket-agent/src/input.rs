//! What the user sends to the model.

use becket_events::{InputSource, Part};

/// A prompt of the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Images that came with the text.
    pub images: Vec<Part>,
    /// Who or what sent the prompt.
    pub source: InputSource,
}
