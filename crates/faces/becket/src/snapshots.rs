//! How the settings want checkpoints of the working directory.

use std::time::Duration;

use becket_snapshot::{Keep, Keeper, Settings};
use becket_system::Surroundings;

use crate::assemble::Setup;

/// How long a checkpoint may take that says nothing else. It is less than hooks usually have.
const USUAL_DEADLINE: Duration = Duration::from_secs(30);

impl Setup {
    /// How checkpoints are taken.
    pub fn snapshot_settings(&self, surroundings: &Surroundings) -> Settings {
        let usual = Settings::default();
        let config = &self.config.snapshots;
        let age = config
            .max_age_days
            .map(|days| Duration::from_secs(u64::from(days.get()) * 24 * 60 * 60));
        Settings {
            search_path: surroundings
                .variable("PATH")
                .map_or(usual.search_path, Into::into),
            largest_untracked: config.max_file_bytes.map_or(usual.largest_untracked, Into::into),
            keep: Keep {
                age: age.unwrap_or(usual.keep.age),
                ..usual.keep
            },
            deadline: usual.deadline,
            patience: usual.patience,
        }
    }

    /// Keeps the checkpoints of a run.
    pub fn keeper(&self, surroundings: &Surroundings) -> Keeper {
        let deadline = self.config.snapshots.timeout.as_ref();
        let deadline = deadline.map_or(USUAL_DEADLINE, |seconds| Duration::from_secs(*seconds.get_ref()));
        let settings = Settings {
            deadline,
            patience: deadline,
            ..self.snapshot_settings(surroundings)
        };
        Keeper::new(self.folders.data.clone(), surroundings.cwd.clone(), settings)
    }
}
