//! Removes checkpoints that are too old or too many, and then the objects that only they needed.
//!
//! Objects stay one file each. To pack them would need as much room again while it is done, and take long. What is not
//! needed any more is found without the lock, and removed with the lock in steps that last a moment, so that nobody
//! waits for it: as soon as anything else works on the snapshots, the rest is left for another time.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::git::Program;
use crate::journal::{Checkpoint, History, Journal, Record};
use crate::lock::Lock;
use crate::place::SnapshotFolder;
use crate::problem::{Problem, system};
use crate::settings::{Keep, Settings};
use crate::work::{Work, git_at};

/// The deadline for removing everything that is not needed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10 * 60);

/// The file that says that objects may be left which no checkpoint needs.
const UNSWEPT: &str = "unswept";

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

/// Lets checkpoints expire, and returns how many did.
pub(crate) fn expire(work: &Work<'_>, journal: &Journal, now: u64) -> Result<usize, Problem> {
    let history = History::of(&journal.records);
    let alive = alive(&history, work.settings.keep, now);
    let expired = history.checkpoints.len() - alive.len();
    if expired == 0 {
        return Ok(0);
    }
    let records = journal.records.iter().filter(|record| match record {
        Record::Checkpoint(checkpoint) => alive.contains(&checkpoint.id),
        // A checkpoint whose turn or call changed nothing is not in the history, and so is not needed any more.
        Record::Unchanged { .. } => false,
    });
    let records: Vec<Record> = records.cloned().collect();
    work.replace(&work.place.shadow.join(UNSWEPT), b"")?;
    let (path, bytes) = journal.rewritten(&records);
    work.replace(path, &bytes)?;
    Ok(expired)
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

/// How many folders hold objects.
const FOLDERS: u64 = 256;

/// Deletes the objects that neither a checkpoint nor the index needs, if there may be some, within a time. It tells how
/// many folders of how many are done.
pub(crate) fn sweep(
    place: &SnapshotFolder,
    settings: &Settings,
    program: &Program,
    (time, progress): (Duration, &mut dyn FnMut(u64, u64)),
) -> Result<(), Problem> {
    let mark = place.shadow.join(UNSWEPT);
    if !mark.exists() {
        return Ok(());
    }
    let until = Instant::now() + time;
    progress(0, FOLDERS);
    let Some(turn) = Lock::try_take(place, "sweeping")? else {
        return Ok(());
    };
    let Some((index, before)) = prepare(place, settings, program)? else {
        return Ok(());
    };
    let mut git = git_at(
        place,
        &turn,
        program,
        until.saturating_duration_since(Instant::now()),
    );
    git.view.index = Some(index);
    let arguments = [
        "rev-list",
        "--objects",
        "--no-object-names",
        "--indexed-objects",
        ALIVE,
    ];
    let needed = git.run("find what checkpoints need", &arguments, b"")?;
    let needed = String::from_utf8_lossy(&needed);
    let needed: HashSet<&str> = needed.lines().collect();
    let objects = place.repository().join("objects");
    for number in 0..FOLDERS {
        progress(number, FOLDERS);
        if Instant::now() >= until {
            return Ok(());
        }
        let Some(lock) = Lock::try_take(place, "lock")? else {
            return Ok(());
        };
        // Whoever had the lock meanwhile may need an object again that nobody needed before.
        if stamps(place) != before {
            return Ok(());
        }
        delete_in(&objects, &format!("{number:02x}"), &needed)?;
        drop(lock);
    }
    std::fs::remove_file(&mark).map_err(system("remove", &mark))
}

/// Names what is needed for git. Returns the index that counts, and the state of everything that tells of work;
/// `None` if somebody is at work.
fn prepare(
    place: &SnapshotFolder,
    settings: &Settings,
    program: &Program,
) -> Result<Option<(PathBuf, Stamps)>, Problem> {
    let settings = Settings {
        lock_timeout: Duration::ZERO,
        ..settings.clone()
    };
    let work = match Work::begin(place, &settings, program) {
        Err(Problem::Busy { .. }) => return Ok(None),
        work => work?,
    };
    // Another top's index would be left with objects missing; it is only a memory.
    let index = place.index(work.top());
    for entry in place.shadow.read_dir().into_iter().flatten().flatten() {
        let is_index = entry.file_name().as_encoded_bytes().starts_with(b"index");
        if is_index && entry.path() != index {
            std::fs::remove_file(entry.path()).map_err(system("remove", &entry.path()))?;
        }
    }
    let journal = Journal::open(&place.shadow)?;
    let mut entries = String::new();
    for checkpoint in History::of(&journal.records).checkpoints {
        let _ = writeln!(entries, "040000 tree {}\t{}", checkpoint.tree, checkpoint.id);
    }
    let doing = "clean the shadow repository";
    let tree = work.git().run(doing, &["mktree"], entries.as_bytes())?;
    let tree = String::from_utf8_lossy(&tree).trim().to_owned();
    work.git().run(doing, &["update-ref", ALIVE, &tree], b"")?;
    Ok(Some((index, stamps(place))))
}

/// Deletes the loose objects of one folder that are not needed, and what a killed git left there.
fn delete_in(objects: &Path, folder: &str, needed: &HashSet<&str>) -> Result<(), Problem> {
    for entry in objects.join(folder).read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_needed = name
            .to_str()
            .is_some_and(|name| needed.contains(format!("{folder}{name}").as_str()));
        if !is_needed {
            std::fs::remove_file(entry.path()).map_err(system("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// The length and time of each file that changes with every checkpoint.
type Stamps = BTreeSet<(PathBuf, u64, Option<SystemTime>)>;

fn stamps(place: &SnapshotFolder) -> Stamps {
    let entries = place.shadow.read_dir().into_iter().flatten().flatten();
    let files = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        name.starts_with(b"index") || name.starts_with(b"journal")
    });
    files
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            Some((entry.path(), about.len(), about.modified().ok()))
        })
        .collect()
}
