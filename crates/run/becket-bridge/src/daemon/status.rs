//! What a daemon says about itself, and how it tells sessions apart.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::question::Mode;

/// One session of an agent, in one mode.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    pub system: &'static str,
    pub session_id: String,
    pub mode: Mode,
}

/// What a daemon says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonStatus {
    pub pid: u32,
    pub project: PathBuf,
    pub version: String,
    pub age_seconds: u64,
    pub idle_seconds: u64,
    pub questions: u64,
    /// How often hooks were loaded, also for sessions that have ended.
    pub loads: u64,
    pub sessions: Vec<SessionStatus>,
}

/// One session of an agent in a daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    pub system: String,
    pub session: String,
    /// Whether refusals are only kept for a report.
    pub shadow: bool,
    pub questions: u64,
    /// How often hooks were loaded.
    pub loads: u64,
    /// Why they were loaded the last time.
    pub loaded_because: String,
}
