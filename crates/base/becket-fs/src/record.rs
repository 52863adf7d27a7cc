//! The record of what was looked at, one for the process.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How closely something was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Look {
    /// What is there: a file, a folder, a link, nothing.
    Kind,
    /// What is known about it; the entries of a folder do not count.
    State,
    /// The contents, or the entries of a folder.
    Contents,
    /// Where links lead.
    RealPath,
    /// By a program that does not tell what it looks at.
    Elsewhere,
}

/// How something looked.
#[derive(Debug, PartialEq, Eq)]
enum Observed {
    /// Nothing was there, or it could not be looked at.
    Nothing,
    Kind {
        mode: u32,
    },
    State(Box<[Stamp; 2]>),
    RealPath(PathBuf),
    /// A file that was changed at the time of the look. Its clock is too coarse to show a second change right after
    /// the first, so this equals no other sight.
    Unsettled,
}

/// What the system changes when a file or a link changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The time in which a file may change twice and show the same time of change.
const COARSENESS: Duration = Duration::from_millis(30);

struct Record {
    /// Counts how often something had changed.
    generation: u64,
    sights: BTreeMap<(PathBuf, Look), Observed>,
}

/// How many looks are noted. Whoever looks at more has to read again.
const MOST: usize = 20_000;

impl Record {
    fn begin_anew(&mut self) {
        self.generation += 1;
        self.sights.clear();
    }
}

static IS_ON: AtomicBool = AtomicBool::new(false);

static RECORD: Mutex<Record> = Mutex::new(Record {
    generation: 0,
    sights: BTreeMap::new(),
});

fn held() -> MutexGuard<'static, Record> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes from now on what this process looks at.
pub fn record() {
    IS_ON.store(true, Ordering::Release);
}

/// Whether this process notes what it looks at, because it answers for long from what it has read.
pub fn is_recording() -> bool {
    IS_ON.load(Ordering::Acquire)
}

/// The generation of what is read now. Once something has changed, what was read in an earlier one is out of date.
pub fn generation() -> u64 {
    held().generation
}

/// Looks at everything again that was looked at, and names something that has changed. Then a new generation begins,
/// with an empty record.
pub fn has_changed() -> Option<PathBuf> {
    let mut record = held();
    let changed = record.sights.iter().find_map(|((path, look), sight)| {
        let is_same = *sight != Observed::Unsettled && *sight == look.at(path);
        (!is_same).then(|| path.clone())
    });
    if changed.is_some() {
        record.begin_anew();
    }
    changed
}

/// Notes a look, if the record is on. What was noted before stays: it is what somebody has read.
pub(crate) fn note(path: &Path, look: Look) {
    if !is_recording() {
        return;
    }
    let mut record = held();
    if record.sights.len() >= MOST {
        record.begin_anew();
    }
    let key = (path.to_path_buf(), look);
    record.sights.entry(key).or_insert_with(|| look.at(path));
}

impl Look {
    fn at(self, path: &Path) -> Observed {
        match self {
            Self::RealPath => path.canonicalize().map_or(Observed::Nothing, Observed::RealPath),
            Self::Kind => path.symlink_metadata().map_or(Observed::Nothing, |link| {
                let target = path.metadata().map_or(0, |target| target.mode());
                let kind = |mode: u32| mode & FILE_TYPE;
                Observed::Kind {
                    mode: kind(link.mode()) << 16 | kind(target),
                }
            }),
            Self::State | Self::Contents => self.stamped(path),
            Self::Elsewhere => Observed::Unsettled,
        }
    }

    fn stamped(self, path: &Path) -> Observed {
        let Ok(link) = path.symlink_metadata() else {
            return Observed::Nothing;
        };
        let target = if link.is_symlink() {
            path.metadata().ok()
        } else {
            None
        };
        let of = |data: &Metadata| Stamp::of(data, self == Self::State && data.is_dir());
        let stamps = [of(&link), target.as_ref().map_or(of(&link), of)];
        match stamps.iter().any(Stamp::is_unsettled) {
            true => Observed::Unsettled,
            false => Observed::State(Box::new(stamps)),
        }
    }
}

/// The bits of a file's mode that say what it is.
const FILE_TYPE: u32 = 0o170_000;

impl Stamp {
    fn of(data: &Metadata, without_entries: bool) -> Self {
        let stamp = Self {
            device: data.dev(),
            inode: data.ino(),
            mode: data.mode(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        };
        match without_entries {
            true => Self {
                size: 0,
                modified: (0, 0),
                changed: (0, 0),
                ..stamp
            },
            false => stamp,
        }
    }

    fn is_unsettled(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let time = Duration::new(
            seconds.max(0).unsigned_abs(),
            u32::try_from(nanoseconds).unwrap_or(0),
        );
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + time);
        // A change in the future is one that the clock cannot tell.
        age.map_or(true, |age| age < COARSENESS) && time != Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, remove_file, rename, write};
    use std::os::unix::fs::symlink;
    use std::thread::sleep;

    use super::*;
    use crate as fs;

    /// Waits until the clock can tell the next change from what was done before.
    fn settle() {
        sleep(2 * COARSENESS);
    }

    /// A folder in which things are looked at and changed.
    struct Place(tempfile::TempDir);

    impl Place {
        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// Looks, changes something, and checks whether that shows.
        fn check(&self, what: &str, shows: bool, look: impl Fn(), change: impl Fn()) {
            look();
            assert_eq!(has_changed(), None, "{what}: before the change");
            let before = generation();
            change();
            settle();
            assert_eq!(has_changed().is_some(), shows, "{what}");
            assert_eq!(generation() != before, shows, "{what}");
            assert_eq!(has_changed(), None, "{what}: after the change");
        }
    }

    /// One test, because there is one record.
    #[test]
    fn every_change_shows_and_nothing_else() {
        let place = Place(tempfile::tempdir().unwrap());
        let put = |name: &str, text: &str| write(place.at(name), text).unwrap();
        put("file", "one");
        put("target", "one");
        symlink(place.at("target"), place.at("link")).unwrap();
        create_dir(place.at("folder")).unwrap();
        settle();
        record();
        contents(&place);
        presence(&place);
        put("file", "now");
        fs::read(place.at("file")).unwrap();
        assert!(has_changed().is_some(), "a file that changes while it is read");
        fs::will_be_read_elsewhere(place.at("target"));
        assert!(has_changed().is_some(), "nobody knows what another program reads");
    }

    fn contents(place: &Place) {
        let at = |name: &str| place.at(name);
        let read = |name: &str| drop(fs::read(at(name)).unwrap());
        let put = |name: &str, text: &str| write(at(name), text).unwrap();
        let what = "a file with other contents of the same length";
        place.check(what, true, || read("file"), || put("file", "two"));
        let replace = || {
            put("new", "six");
            rename(at("new"), at("file")).unwrap();
        };
        place.check("a file in place of another", true, || read("file"), replace);
        let what = "the target of a link";
        place.check(what, true, || read("link"), || put("target", "two"));
        let redirect = || {
            remove_file(at("link")).unwrap();
            symlink(at("file"), at("link")).unwrap();
        };
        let look = || drop(fs::canonicalize(at("link")).unwrap());
        place.check("where a link leads", true, look, redirect);
        let look = || drop(fs::read_dir(at("folder")).unwrap());
        place.check("an entry of a folder", true, look, || put("folder/a", ""));
    }

    fn presence(place: &Place) {
        let at = |name: &str| place.at(name);
        let put = |name: &str, text: &str| write(at(name), text).unwrap();
        let look = || {
            assert!(fs::is_dir(at("folder")));
            fs::metadata(at("folder")).unwrap();
        };
        let what = "an entry of a folder that was only known to be there";
        place.check(what, false, look, || put("folder/b", ""));
        let look = || assert!(!fs::exists(at("late")));
        place.check("a file that was missing", true, look, || put("late", ""));
        let look = || assert!(fs::is_file(at("late")));
        let what = "a file whose contents nobody read";
        place.check(what, false, look, || put("late", "more"));
        let look = || assert!(fs::exists(at("late")));
        place.check("a file that is gone", true, look, || {
            remove_file(at("late")).unwrap()
        });
    }
}
