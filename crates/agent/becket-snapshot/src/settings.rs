//! The settings of snapshots: where git is found, the limits, and how long checkpoints are kept.

use std::ffi::OsString;
use std::time::Duration;

/// Settings for taking snapshots.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The search path for `git`, as in `PATH`.
    pub search_path: OsString,
    /// Files larger than this are left out, unless the user's repository tracks them. In bytes.
    pub largest_untracked: u64,
    /// How long one call of git may take.
    pub deadline: Duration,
    /// How long to wait for another process that works on the snapshots.
    pub lock_timeout: Duration,
    /// How long checkpoints are kept.
    pub keep: Keep,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            search_path: "/usr/local/bin:/usr/bin:/bin".into(),
            largest_untracked: 10 * 1024 * 1024,
            deadline: Duration::from_secs(120),
            lock_timeout: Duration::from_secs(60),
            keep: Keep::default(),
        }
    }
}

/// How long checkpoints are kept. The newest one always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Older checkpoints expire.
    pub age: Duration,
    /// Of more checkpoints than this, the oldest expire.
    pub most: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            age: Duration::from_secs(14 * 24 * 60 * 60),
            most: 2_000,
        }
    }
}
