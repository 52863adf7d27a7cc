//! The journal of checkpoints: one line of JSON for each, in a file that only grows.
//!
//! A line counts once its end is written. An incomplete line after a kill is cut off before the next is added.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::problem::{Problem, system};

/// A state of the folder. One with `since` is a step: what happened from that checkpoint to this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The checkpoint's number, counted for each folder.
    pub id: u64,
    /// When the checkpoint was taken, in milliseconds since 1970.
    pub at: u64,
    /// What the checkpoint was taken for.
    pub kind: Kind,
    /// A label from whoever asked for the checkpoint.
    pub label: String,
    /// The session that the checkpoint belongs to.
    pub session: String,
    /// The git tree of the state.
    pub tree: String,
    /// The checkpoint at which the step began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The step that was undone or redone, or the checkpoint that was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// How many files the step changed.
    #[serde(default)]
    pub changed: usize,
    /// Files that the checkpoint does not hold, although nothing ignores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// What a checkpoint was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A turn of the agent.
    Turn,
    /// A call of a tool.
    Call,
    /// The state before an undo, a redo or a restore.
    Before,
    /// The state after an undo.
    Undo,
    /// The state after a redo.
    Redo,
    /// The state after a restore.
    Restore,
}

/// A file that a checkpoint does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The file's path, relative to the folder.
    #[serde(serialize_with = "write_path", deserialize_with = "read_path")]
    pub path: PathBuf,
    /// Why the checkpoint does not hold the file.
    pub reason: Reason,
}

/// Why a file is in no checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The file is larger than the setting allows, and no repository of the user tracks it.
    TooLarge,
    /// The file cannot be read.
    Unreadable,
    /// It is neither a file nor a link, in the place of one that was kept.
    Special,
    /// git cannot keep a path with this name.
    Name,
    /// The repository with this `.git` cannot be read: files that it tracks are missing if they are ignored or large.
    Repository,
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Record {
    Checkpoint(Checkpoint),
    /// The turn or call that began at a checkpoint ended without a change.
    Unchanged {
        unchanged: u64,
    },
}

/// The journal's file, parsed.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    pub records: Vec<Record>,
    /// The length of the file up to the end of its last complete line.
    whole: u64,
}

impl Journal {
    pub(crate) fn open(shadow: &Path) -> Result<Self, Problem> {
        let path = shadow.join("journal.jsonl");
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(system("read", &path)(error));
            }
            _ => {}
        }
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        let lines = bytes[..whole].split(|byte| *byte == b'\n').enumerate();
        let records = lines.filter(|(_, line)| !line.is_empty()).map(|(index, line)| {
            serde_json::from_slice(line).map_err(|error| Problem::Journal {
                path: path.clone(),
                line: index + 1,
                error: error.to_string(),
            })
        });
        Ok(Self {
            records: records.collect::<Result<_, _>>()?,
            whole: whole as u64,
            path,
        })
    }

    /// Appends a line; it is on disk when this returns.
    pub(crate) fn append(&mut self, record: Record) -> Result<(), Problem> {
        let line = line(&record);
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600);
            let mut file = options.open(&self.path)?;
            file.set_len(self.whole)?;
            file.seek(SeekFrom::Start(self.whole))?;
            file.write_all(&line)?;
            file.sync_data()
        };
        write().map_err(system("write", &self.path))?;
        self.whole += line.len() as u64;
        self.records.push(record);
        Ok(())
    }

    /// The path of the journal, and its bytes with these records.
    pub(crate) fn rewritten(&self, records: &[Record]) -> (&Path, Vec<u8>) {
        (&self.path, records.iter().flat_map(line).collect())
    }

    /// The number of the next checkpoint.
    pub(crate) fn next(&self) -> u64 {
        let ids = self.records.iter().map(|record| match record {
            Record::Checkpoint(checkpoint) => checkpoint.id,
            Record::Unchanged { unchanged } => *unchanged,
        });
        ids.max().unwrap_or(0) + 1
    }
}

/// The combined meaning of the records.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// All live checkpoints, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Steps that can be undone, oldest first.
    pub done: Vec<u64>,
    /// Undos that can be redone, each with the steps that it took back.
    pub undone: Vec<(u64, Vec<u64>)>,
    /// The checkpoints of turns and calls that have begun and not ended.
    pub open: Vec<u64>,
}

impl History {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut history = Self::default();
        for record in records {
            match record {
                Record::Checkpoint(checkpoint) => history.add(checkpoint),
                Record::Unchanged { unchanged } => {
                    history.open.retain(|open| open != unchanged);
                    history
                        .checkpoints
                        .retain(|checkpoint| checkpoint.id != *unchanged);
                }
            }
        }
        history
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Checkpoint> {
        self.checkpoints.iter().find(|checkpoint| checkpoint.id == id)
    }

    fn add(&mut self, checkpoint: &Checkpoint) {
        let id = checkpoint.id;
        match (checkpoint.since, checkpoint.kind) {
            (None, Kind::Turn | Kind::Call) => self.open.push(id),
            (None, _) => {}
            (Some(_), Kind::Undo) => {
                let taken = self.taken_by(checkpoint.of);
                self.done.retain(|done| !taken.contains(done));
                self.undone.push((id, taken));
            }
            (Some(_), Kind::Redo) => {
                let place = self
                    .undone
                    .iter()
                    .position(|(undo, _)| Some(*undo) == checkpoint.of);
                if let Some(place) = place {
                    self.done.extend(self.undone.remove(place).1);
                    // A call that comes back is put before the end of its turn, as it was.
                    self.done.sort_unstable();
                }
            }
            (Some(since), _) => {
                self.open.retain(|open| *open != since);
                self.done.push(id);
                self.undone.clear();
            }
        }
        self.checkpoints.push(checkpoint.clone());
    }

    /// The steps that an undo takes back: with a turn, the calls that were made in it.
    fn taken_by(&self, of: Option<u64>) -> Vec<u64> {
        let Some(step) = of.and_then(|of| self.get(of)) else {
            return Vec::new();
        };
        let is_inside = |done: &Checkpoint| {
            done.kind == Kind::Call
                && step.kind == Kind::Turn
                && done.session == step.session
                && done.id < step.id
                && step.since.is_some_and(|since| done.id > since)
        };
        let done = self.done.iter().copied();
        done.filter(|id| *id == step.id || self.get(*id).is_some_and(is_inside))
            .collect()
    }
}

fn line(record: &Record) -> Vec<u8> {
    // A record is plain data with text keys, which JSON can always represent.
    let mut line = serde_json::to_vec(record).unwrap_or_default();
    line.push(b'\n');
    line
}

/// A path as text, or as bytes if it is not UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

fn write_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let name = match path.to_str() {
        Some(text) => Name::Text(text.to_owned()),
        None => Name::Bytes(path.as_os_str().as_bytes().to_vec()),
    };
    name.serialize(serializer)
}

fn read_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Name::deserialize(deserializer)? {
        Name::Text(text) => PathBuf::from(text),
        Name::Bytes(bytes) => PathBuf::from(std::ffi::OsString::from_vec(bytes)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(id: u64, kind: Kind, since: Option<u64>, of: Option<u64>) -> Record {
        Record::Checkpoint(Checkpoint {
            id,
            at: id,
            kind,
            label: "a label".into(),
            session: "s".into(),
            tree: "t".into(),
            since,
            of,
            changed: 1,
            left_out: vec![LeftOut {
                path: PathBuf::from(std::ffi::OsStr::from_bytes(b"\xff\nx")),
                reason: Reason::TooLarge,
            }],
        })
    }

    #[test]
    fn a_line_that_was_cut_off_does_not_count_and_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        journal.append(checkpoint(1, Kind::Turn, None, None)).unwrap();
        let path = folder.path().join("journal.jsonl");
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..whole.len() {
            let torn = [&whole[..], &whole[..cut]].concat();
            std::fs::write(&path, torn.strip_suffix(b"\n").unwrap_or(&torn)).unwrap();
            let mut journal = Journal::open(folder.path()).unwrap();
            assert_eq!(journal.records, [checkpoint(1, Kind::Turn, None, None)]);
            assert_eq!(journal.next(), 2);
            journal.append(Record::Unchanged { unchanged: 1 }).unwrap();
            assert_eq!(Journal::open(folder.path()).unwrap().records, journal.records);
        }
        std::fs::write(&path, [b"{\"id\"\n", &whole[..]].concat()).unwrap();
        assert!(
            Journal::open(folder.path())
                .unwrap_err()
                .to_string()
                .contains("line 1")
        );
    }

    #[test]
    fn undo_takes_a_turn_with_its_calls_and_redo_brings_them_back() {
        use Kind::{Before, Call, Redo, Turn, Undo};
        let mut records = vec![
            checkpoint(1, Turn, None, None),
            checkpoint(2, Call, None, None),
            checkpoint(3, Call, Some(2), None),
            checkpoint(4, Turn, Some(1), None),
        ];
        let history = History::of(&records);
        assert_eq!((history.done, history.open), (vec![3, 4], vec![]));
        records.push(checkpoint(5, Before, None, None));
        records.push(checkpoint(6, Undo, Some(5), Some(4)));
        let history = History::of(&records);
        assert_eq!((history.done, history.undone), (vec![], vec![(6, vec![3, 4])]));
        records.push(checkpoint(7, Before, None, None));
        records.push(checkpoint(8, Redo, Some(7), Some(6)));
        let history = History::of(&records);
        assert_eq!((history.done, history.undone.len()), (vec![3, 4], 0));
        records.push(checkpoint(9, Turn, None, None));
        records.push(Record::Unchanged { unchanged: 9 });
        let history = History::of(&records);
        assert!(history.open.is_empty() && history.get(9).is_none());
    }
}
