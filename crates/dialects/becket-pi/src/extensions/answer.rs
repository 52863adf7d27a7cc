//! The answer to a call of an extension: JSON text, or why there is none.

use becket_agent::session_handle::HandleError;
use becket_js::HostError;
use serde::Serialize;

/// The answer to a call: JSON text, or why there is none.
pub type HostAnswer = Result<String, HostError>;

/// A value as JSON text.
pub fn json_of(value: &impl Serialize) -> HostAnswer {
    serde_json::to_string(value).map_err(|error| HostError::new(error.to_string()))
}

/// The error for a request that the session refuses.
pub fn refused(error: HandleError) -> HostError {
    HostError::new(error.to_string())
}
