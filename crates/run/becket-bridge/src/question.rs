//! A question of another agent, as it stands on the command line and on standard input.

use std::path::PathBuf;

use becket_host::{Bridge, BridgePayload, BridgedEvent};

/// A question of another agent.
pub struct Question {
    pub bridge: &'static Bridge,
    pub event: &'static BridgedEvent,
    pub payload: BridgePayload,
    /// The directory in which the agent works.
    pub directory: PathBuf,
}

/// Whether a refusal counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Enforce,
    /// A refusal is kept for a report, and the agent is told nothing.
    Shadow,
}
