//! How a call ended that the user, a tool or a hook has made without a model.

/// How a direct call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectCall {
    /// The whole output of the tool, after hooks; or why it did not run.
    pub output: String,
    /// Whether the tool ran.
    pub ran: bool,
    /// Whether the tool failed or did not run.
    pub is_error: bool,
    /// Whether the user wants everything to stop.
    pub cancelled: bool,
}
