//! What is kept between runs with one seed: how far each campaign is, what it counted and what it found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Everything about one seed.
#[derive(Serialize, Deserialize, Default)]
pub struct State {
    pub seed: u64,
    /// The day of the last run.
    pub date: String,
    /// The round in progress: if the process dies, it was this one.
    pub running: Option<(String, u64)>,
    pub campaigns: BTreeMap<String, Progress>,
    /// The versions of becket that were tried.
    #[serde(default)]
    pub programs: BTreeSet<String>,
    #[serde(skip)]
    pub folder: PathBuf,
}

/// How far a campaign is.
#[derive(Serialize, Deserialize, Default)]
pub struct Progress {
    /// How many rounds are over; also the number of the next one.
    pub rounds: u64,
    pub seconds: f64,
    /// What was tried how often.
    pub counts: BTreeMap<String, u64>,
    pub figures: BTreeMap<String, String>,
    pub skipped: BTreeSet<String>,
    /// What was found and fails still, by the number of the round.
    pub open: BTreeMap<u64, String>,
    /// What was found and did not fail again.
    #[serde(default)]
    pub closed: BTreeMap<u64, String>,
}

impl State {
    /// The state of a seed in a folder; an empty one if nothing has run yet.
    pub fn load(folder: &Path, seed: u64) -> Result<Self, String> {
        let file = file_in(folder);
        let mut state: Self = match std::fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| format!("cannot read {}: {error}; --again starts anew", file.display()))?,
            Err(_) => Self::default(),
        };
        state.seed = seed;
        state.folder = folder.to_owned();
        Ok(state)
    }

    /// The states of all seeds.
    pub fn all(folder: &Path) -> Result<Vec<Self>, String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let seeds = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut seeds: Vec<u64> = seeds.collect();
        seeds.sort_unstable();
        let states = seeds
            .iter()
            .map(|seed| Self::load(&folder.join(seed.to_string()), *seed));
        states.collect()
    }

    /// Keeps the state, whole even if the process dies while it writes.
    pub fn save(&self) -> Result<(), String> {
        let (file, draft) = (file_in(&self.folder), self.folder.join("state.draft"));
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&draft, text))
            .and_then(|()| std::fs::rename(&draft, &file))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// The progress of a campaign.
    pub fn progress(&mut self, name: &str) -> &mut Progress {
        self.campaigns.entry(name.to_owned()).or_default()
    }
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("state.json")
}

/// Keeps other runs from a seed until the file is dropped: they would write the same state.
pub fn lock(folder: &Path) -> Result<File, String> {
    let path = folder.with_extension("lock");
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed)?;
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err("another run with this seed is going on: wait for it, or choose another --seed".into())
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Forgets everything about a seed.
pub fn forget(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}
