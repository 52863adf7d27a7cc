//! Files with settings and hooks, as they were when the run began. Hooks are told when one of them changes.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use becket_events::ConfigChangePayload;

/// Files, and what they were when they were last looked at.
#[derive(Debug, Clone, Default)]
pub struct ConfigFiles(Arc<Mutex<BTreeMap<PathBuf, Option<Fingerprint>>>>);

/// By what a changed file is told from the one before: cheap to ask for, since it is asked for before every prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    length: u64,
    modified: Option<SystemTime>,
}

impl ConfigFiles {
    /// Files as they are now.
    pub fn now(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let seen = files.into_iter().map(|file| {
            let fingerprint = fingerprint_of(&file);
            (file, fingerprint)
        });
        Self(Arc::new(Mutex::new(seen.collect())))
    }

    /// The files that have changed since they were last looked at.
    pub(crate) fn changes(&self) -> Vec<ConfigChangePayload> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = files.iter_mut().filter_map(|(file, before)| {
            let now = fingerprint_of(file);
            (now != std::mem::replace(before, now)).then(|| ConfigChangePayload {
                path: file.display().to_string(),
                is_gone: now.is_none(),
            })
        });
        changed.collect()
    }
}

fn fingerprint_of(file: &Path) -> Option<Fingerprint> {
    let of = |metadata: Metadata| Fingerprint {
        length: metadata.len(),
        modified: metadata.modified().ok(),
    };
    std::fs::metadata(file).ok().map(of)
}
