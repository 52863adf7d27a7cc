//! The settings of the tools: their environment and their limits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use becket_sandbox::Confinement;

use crate::buffers::Buffers;
use crate::jobs::Jobs;

/// The environment and the limits of the tools.
#[derive(Clone)]
pub struct ToolSettings {
    /// The whole environment of commands. Keys that commands must not see have to be left out by the caller.
    pub environment: BTreeMap<OsString, OsString>,
    /// What confines commands, if anything does.
    pub confinement: Option<Confinement>,
    /// How long a command may take by default.
    pub shell_timeout: Duration,
    /// The longest time that a command may ask for.
    pub shell_timeout_limit: Duration,
    /// How many bytes of a command's output are kept: half from its beginning, half from its end.
    pub shell_output_bytes: usize,
    /// How long find and grep may take.
    pub search_timeout: Duration,
    /// How long a fetch may take by default.
    pub fetch_timeout: Duration,
    /// The longest time that a fetch may ask for.
    pub fetch_timeout_limit: Duration,
    /// How many bytes of an answer are read.
    pub fetch_bytes: usize,
    /// How many redirects are followed, if each of them is permitted.
    pub fetch_redirects: usize,
    /// The buffers of an editor, if becket works for one that offers them.
    pub buffers: Option<Arc<dyn Buffers>>,
    /// The background jobs. Tools with the same settings share them.
    pub jobs: Jobs,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            environment: BTreeMap::new(),
            confinement: None,
            shell_timeout: Duration::from_secs(120),
            shell_timeout_limit: Duration::from_secs(3600),
            shell_output_bytes: 1024 * 1024,
            search_timeout: Duration::from_secs(30),
            fetch_timeout: Duration::from_secs(30),
            fetch_timeout_limit: Duration::from_secs(300),
            fetch_bytes: 5 * 1024 * 1024,
            fetch_redirects: 10,
            buffers: None,
            jobs: Jobs::default(),
        }
    }
}

/// An environment holds secrets, so only its size is shown.
impl fmt::Debug for ToolSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ToolSettings")
            .field(
                "environment",
                &format_args!("{} variables", self.environment.len()),
            )
            .field("shell_timeout", &self.shell_timeout)
            .field("shell_output_bytes", &self.shell_output_bytes)
            .field("search_timeout", &self.search_timeout)
            .field("fetch_timeout", &self.fetch_timeout)
            .field("fetch_bytes", &self.fetch_bytes)
            .field("fetch_redirects", &self.fetch_redirects)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_not_shown() {
        let settings = ToolSettings {
            environment: BTreeMap::from([("TOKEN".into(), "s3cret".into())]),
            ..ToolSettings::default()
        };
        let shown = format!("{settings:?}");
        assert!(
            !shown.contains("s3cret") && shown.contains("1 variables"),
            "{shown}"
        );
    }
}
