//! The settings for checkpoints of the working directory.

use std::time::Duration;

use becket_snapshot::{Keep, Keeper, Settings};
use becket_system::Surroundings;

use crate::setup::Setup;

/// How long a checkpoint may take by default. This is less than hooks usually have.
const USUAL_DEADLINE: Duration = Duration::from_secs(30);

/// The settings for checkpoints of the working directory.
pub fn snapshot_settings(setup: &Setup, surroundings: &Surroundings) -> Settings {
    let usual = Settings::default();
    let config = &setup.config.snapshots;
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
        lock_timeout: usual.lock_timeout,
    }
}

/// The keeper of a run's checkpoints.
pub fn keeper(setup: &Setup, surroundings: &Surroundings) -> Keeper {
    let deadline = setup.config.snapshots.timeout.as_ref();
    let deadline = deadline.map_or(USUAL_DEADLINE, |seconds| Duration::from_secs(*seconds.get_ref()));
    let settings = Settings {
        deadline,
        lock_timeout: deadline,
        ..snapshot_settings(setup, surroundings)
    };
    Keeper::new(setup.folders.data.clone(), surroundings.cwd.clone(), settings)
}
