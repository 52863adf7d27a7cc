//! Removes checkpoints that are too old or too many, and then the objects that only they needed.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::journal::{Checkpoint, History, Journal, Record};
use crate::problem::{Problem, system};
use crate::settings::Keep;
use crate::work::Work;

/// The deadline for packing everything, which takes longer than one checkpoint does.
const DEADLINE: Duration = Duration::from_secs(10 * 60);

/// The number of loose objects from which they are packed. git's own limit for its housekeeping is about this.
const MOST_LOOSE: usize = 6_700;

/// The ref that keeps the objects of live checkpoints while others are deleted.
const ALIVE: &str = "refs/becket/alive";

/// The result of cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaned {
    /// How many checkpoints expired.
    pub expired: usize,
    /// How many bytes were used on disk before.
    pub before: u64,
    /// How many bytes are used on disk now.
    pub after: u64,
}

/// Lets checkpoints expire, and packs and deletes objects if that is worth it.
pub(crate) fn clean(work: &Work<'_>, now: u64) -> Result<Cleaned, Problem> {
    let before = size(&work.place.shadow);
    let journal = Journal::open(&work.place.shadow)?;
    let history = History::of(&journal.records);
    let alive = alive(&history, work.settings.keep, now);
    let expired = history.checkpoints.len() - alive.len();
    if expired > 0 {
        let records = journal.records.iter().filter(|record| match record {
            Record::Checkpoint(checkpoint) => alive.contains(&checkpoint.id),
            // A checkpoint whose turn or call changed nothing is not in the history, and so is not needed any more.
            Record::Unchanged { .. } => false,
        });
        let records: Vec<Record> = records.cloned().collect();
        let (path, bytes) = journal.rewritten(&records);
        work.replace(path, &bytes)?;
    }
    if expired > 0 || loose(&work.place.repository()) > MOST_LOOSE {
        let trees = history
            .checkpoints
            .iter()
            .filter(|checkpoint| alive.contains(&checkpoint.id));
        delete_all_but(work, trees)?;
    }
    Ok(Cleaned {
        expired,
        before,
        after: size(&work.place.shadow),
    })
}

/// How many bytes a file or folder takes on disk.
pub(crate) fn size(path: &Path) -> u64 {
    let Ok(about) = path.symlink_metadata() else {
        return 0;
    };
    let own = about.blocks() * 512;
    let inside = match about.is_dir() {
        true => path
            .read_dir()
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| size(&entry.path()))
            .sum(),
        false => 0,
    };
    own + inside
}

/// The checkpoints that do not expire, and those from which their steps began.
fn alive(history: &History, keep: Keep, now: u64) -> BTreeSet<u64> {
    let oldest = now.saturating_sub(u64::try_from(keep.age.as_millis()).unwrap_or(u64::MAX));
    let newest = history.checkpoints.iter().rev().enumerate();
    let young =
        newest.filter(|(place, checkpoint)| *place == 0 || *place < keep.most && checkpoint.at >= oldest);
    let young: Vec<&Checkpoint> = young.map(|(_, checkpoint)| checkpoint).collect();
    let needed = young
        .iter()
        .flat_map(|checkpoint| [Some(checkpoint.id), checkpoint.since, checkpoint.of]);
    let exists = |id: &u64| history.get(*id).is_some();
    needed.flatten().filter(exists).collect()
}

/// Deletes the objects that neither a checkpoint nor the index needs. The lock is held, so no process adds any.
fn delete_all_but<'a>(work: &Work<'_>, alive: impl Iterator<Item = &'a Checkpoint>) -> Result<(), Problem> {
    // Another top's index would be left with objects missing; it is only a memory.
    let index = work.place.index(work.top());
    for entry in work.place.shadow.read_dir().into_iter().flatten().flatten() {
        let is_index = entry.file_name().as_encoded_bytes().starts_with(b"index");
        if is_index && entry.path() != index {
            std::fs::remove_file(entry.path()).map_err(system("remove", &entry.path()))?;
        }
    }
    let mut entries = String::new();
    for checkpoint in alive {
        let _ = writeln!(entries, "040000 tree {}\t{}", checkpoint.tree, checkpoint.id);
    }
    let mut git = work.git();
    git.deadline = DEADLINE.max(work.settings.deadline);
    let doing = "clean the shadow repository";
    let tree = git.run(doing, &["mktree"], entries.as_bytes())?;
    let tree = String::from_utf8_lossy(&tree).trim().to_owned();
    git.run(doing, &["update-ref", ALIVE, &tree], b"")?;
    git.run(doing, &["repack", "-a", "-d", "-q"], b"")?;
    git.run(doing, &["prune", "--expire=now"], b"")?;
    Ok(())
}

/// Roughly how many objects have a file of their own: they spread evenly over 256 folders.
fn loose(repository: &Path) -> usize {
    let one = repository.join("objects/17").read_dir();
    one.map_or(0, |entries| entries.count() * 256)
}
