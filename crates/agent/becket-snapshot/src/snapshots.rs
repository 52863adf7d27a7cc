//! The interface to the snapshots of a folder.
//!
//! An undo, a redo and a restore are steps like any other: to redo is to revert the undo. So there is one way to go
//! back, and it is exact also after a forced undo. An undo touches only files that its step changed, and refuses where
//! somebody has changed them since; a restore goes to a whole state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::clean::{self, Cleaned, DEADLINE};
use crate::git::Program;
use crate::journal::{Checkpoint, History, Journal, Kind, LeftOut, Record};
use crate::place::SnapshotFolder;
use crate::problem::Problem;
use crate::restore::{Plan, Restored, carry_out};
use crate::scan::{Scan, scan, scan_with};
use crate::settings::Settings;
use crate::trees::{Change, Version, differences};
use crate::work::Work;

/// The kinds of work between two checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// A turn of the agent.
    Turn,
    /// A call of a tool.
    Call,
}

/// The purpose of a checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Mark<'a> {
    /// The work that begins.
    pub span: Span,
    /// A label for the user.
    pub label: &'a str,
    /// The session that the checkpoint belongs to.
    pub session: &'a str,
}

/// A state to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The state of a checkpoint.
    Checkpoint(u64),
    /// The current state of the folder.
    Now,
}

/// Selects a step to undo: the last one that matches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which<'a> {
    /// Only turns, or only calls.
    pub span: Option<Span>,
    /// Only steps of this session.
    pub session: Option<&'a str>,
}

/// What to do if files are no longer as the step left them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflicts {
    /// Nothing is touched, and the files are named.
    Refuse,
    /// The files are reverted all the same; their current contents stay in a checkpoint.
    Overwrite,
}

/// The snapshots of one folder. Several processes may use them at once.
#[derive(Debug)]
pub struct Snapshots {
    place: SnapshotFolder,
    settings: Settings,
    program: Program,
}

impl Snapshots {
    /// The snapshots of a folder, kept below `snapshots/` in the data folder.
    pub fn open(data: &Path, folder: &Path, settings: Settings) -> Result<Self, Problem> {
        let place = SnapshotFolder::open(data, folder)?;
        let program = Program::find(&settings.search_path, &place.folder)?;
        Ok(Self {
            place,
            settings,
            program,
        })
    }

    /// The folder, without links in its path.
    pub fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// Keeps the state before a turn or a call. At its end, [`finish`](Self::finish) makes a step of it.
    pub fn checkpoint(&self, mark: &Mark<'_>) -> Result<Checkpoint, Problem> {
        self.checkpoint_with(mark, &|_, _| ())
    }

    /// As [`checkpoint`](Self::checkpoint), and tells how many files of how many new ones are kept so far.
    pub fn checkpoint_with(
        &self,
        mark: &Mark<'_>,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Checkpoint, Problem> {
        let (work, mut journal) = self.begin()?;
        let scan = scan_with(&work, progress)?;
        let about = About {
            kind: mark.span.into(),
            label: mark.label,
            session: mark.session,
        };
        let checkpoint = fresh(&journal, &about, scan);
        journal.append(Record::Checkpoint(checkpoint.clone()))?;
        Ok(checkpoint)
    }

    /// Keeps the state after the turn or call that began at a checkpoint: a step, which can be undone. `None` if
    /// nothing has changed; then that checkpoint is dropped too.
    pub fn finish(&self, since: u64) -> Result<Option<Checkpoint>, Problem> {
        let (work, mut journal) = self.begin()?;
        let history = History::of(&journal.records);
        let began = history.get(since).ok_or(Problem::Unknown(since))?;
        let scan = scan(&work)?;
        let changed = differences(&work.git(), &began.tree, &scan.tree)?.len();
        if changed == 0 {
            journal.append(Record::Unchanged { unchanged: since })?;
            return Ok(None);
        }
        let step = Checkpoint {
            since: Some(since),
            changed,
            ..fresh(&journal, &about(began), scan)
        };
        journal.append(Record::Checkpoint(step.clone()))?;
        Ok(Some(step))
    }

    /// Drops a checkpoint from which no step will begin.
    pub fn forget(&self, id: u64) -> Result<(), Problem> {
        let (_work, mut journal) = self.begin()?;
        journal.append(Record::Unchanged { unchanged: id })
    }

    /// All checkpoints, oldest first.
    pub fn list(&self) -> Result<Vec<Checkpoint>, Problem> {
        let journal = Journal::open(&self.place.shadow)?;
        Ok(History::of(&journal.records).checkpoints)
    }

    /// The files that differ between a checkpoint and another state.
    pub fn changes(&self, from: u64, to: Point) -> Result<Vec<Change>, Problem> {
        let (work, journal) = self.begin()?;
        let (from, to) = trees(&work, &journal, from, to)?;
        Ok(differences(&work.git(), &from, &to)?.into_values().collect())
    }

    /// The differences between a checkpoint and another state, as a patch.
    pub fn patch(&self, from: u64, to: Point) -> Result<Vec<u8>, Problem> {
        let (work, journal) = self.begin()?;
        let (from, to) = trees(&work, &journal, from, to)?;
        let arguments = [
            "diff-tree",
            "-r",
            "-p",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "-M",
            &from,
            &to,
        ];
        work.git().run("compare two checkpoints", &arguments, b"")
    }

    /// Restores the whole folder to a checkpoint.
    pub fn restore(&self, id: u64) -> Result<Restored, Problem> {
        let (work, mut journal) = self.begin()?;
        let target = History::of(&journal.records).get(id).cloned();
        let target = target.ok_or(Problem::Unknown(id))?;
        let now = before(&work, &journal, &target)?;
        let changes = differences(&work.git(), &now.tree, &target.tree)?
            .into_values()
            .collect();
        let left_out = target.left_out.clone();
        let act = Act {
            kind: Kind::Restore,
            now,
            of: target,
            left_out,
            changes,
        };
        act.carry_out(&work, &mut journal)
    }

    /// Undoes the last step that matches: the files that it changed become what they were before it, all others stay.
    pub fn undo(&self, which: Which<'_>, conflicts: Conflicts) -> Result<Restored, Problem> {
        let (work, mut journal) = self.begin()?;
        close_interrupted(&work, &mut journal, which)?;
        let history = History::of(&journal.records);
        let fits = |step: &&Checkpoint| {
            which.span.is_none_or(|span| step.kind == span.into())
                && which.session.is_none_or(|session| step.session == session)
                && step.since.is_some_and(|since| history.get(since).is_some())
        };
        let steps = history.done.iter().rev().filter_map(|id| history.get(*id));
        let step = { steps }.find(fits).ok_or(Problem::Nothing("undo"))?.clone();
        revert(&work, &mut journal, Kind::Undo, step, conflicts)
    }

    /// Takes back the last undo. After another turn, call or restore there is none to take back.
    pub fn redo(&self, conflicts: Conflicts) -> Result<Restored, Problem> {
        let (work, mut journal) = self.begin()?;
        let history = History::of(&journal.records);
        let undo = history.undone.last().and_then(|(id, _)| history.get(*id));
        let undo = undo.ok_or(Problem::Nothing("redo"))?.clone();
        revert(&work, &mut journal, Kind::Redo, undo, conflicts)
    }

    /// How many bytes the snapshots of this folder take on disk.
    pub fn size(&self) -> u64 {
        clean::size(&self.place.shadow)
    }

    /// Removes old checkpoints, and deletes what only they held.
    pub fn clean(&self) -> Result<Cleaned, Problem> {
        self.clean_with(&mut |_, _| {})
    }

    /// As [`clean`](Self::clean), and tells how many folders of how many are done.
    pub fn clean_with(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Cleaned, Problem> {
        let before = self.size();
        let expired = self.expire()?;
        clean::sweep(&self.place, &self.settings, &self.program, (DEADLINE, progress))?;
        Ok(Cleaned {
            expired,
            before,
            after: self.size(),
        })
    }

    /// Removes old checkpoints, and deletes what only they held as far as that is done in this time.
    pub fn clean_for(&self, time: Duration) -> Result<(), Problem> {
        self.expire()?;
        match clean::sweep(&self.place, &self.settings, &self.program, (time, &mut |_, _| {})) {
            Err(Problem::Deadline { .. }) => Ok(()),
            swept => swept,
        }
    }

    fn expire(&self) -> Result<usize, Problem> {
        let (work, journal) = self.begin()?;
        clean::expire(&work, &journal, now())
    }

    fn begin(&self) -> Result<(Work<'_>, Journal), Problem> {
        let work = Work::begin(&self.place, &self.settings, &self.program)?;
        let journal = Journal::open(&self.place.shadow)?;
        Ok((work, journal))
    }
}

/// A restore, an undo or a redo that is decided and not yet done.
struct Act {
    kind: Kind,
    now: Checkpoint,
    of: Checkpoint,
    left_out: Vec<LeftOut>,
    changes: Vec<Change>,
}

impl Act {
    fn carry_out(self, work: &Work<'_>, journal: &mut Journal) -> Result<Restored, Problem> {
        let plan = Plan {
            now: &self.now,
            left_out: &self.left_out,
            changes: self.changes,
        };
        let done = carry_out(work, plan, || {
            journal.append(Record::Checkpoint(self.now.clone()))
        })?;
        let about = About {
            kind: self.kind,
            ..about(&self.of)
        };
        let scan = Scan {
            tree: done.tree,
            left_out: self.now.left_out,
        };
        let step = Checkpoint {
            since: Some(self.now.id),
            of: Some(self.of.id),
            changed: done.changes.len(),
            ..fresh(journal, &about, scan)
        };
        journal.append(Record::Checkpoint(step.clone()))?;
        Ok(Restored {
            step,
            of: self.of,
            changes: done.changes,
            kept: done.kept,
        })
    }
}

/// Brings the files that a step changed back to what they were before it.
fn revert(
    work: &Work<'_>,
    journal: &mut Journal,
    kind: Kind,
    step: Checkpoint,
    conflicts: Conflicts,
) -> Result<Restored, Problem> {
    let since = step.since.unwrap_or_default();
    let start = History::of(&journal.records).get(since).cloned();
    let start = start.ok_or(Problem::Unknown(since))?;
    let now = before(work, journal, &step)?;
    let changed = differences(&work.git(), &start.tree, &step.tree)?;
    let later = differences(&work.git(), &step.tree, &now.tree)?;
    let (changes, others) = reversed(changed, &later);
    if conflicts == Conflicts::Refuse && !others.is_empty() {
        return Err(Problem::Changed {
            paths: others.into_iter().map(|change| change.path).collect(),
        });
    }
    let act = Act {
        kind,
        now,
        of: step,
        left_out: start.left_out,
        changes: changes.into_iter().chain(others).collect(),
    };
    act.carry_out(work, journal)
}

/// The reverse of a step from the current state: files that are as the step left them, and those that are not. Files
/// that are as before the step are in neither.
fn reversed(
    step: BTreeMap<PathBuf, Change>,
    later: &BTreeMap<PathBuf, Change>,
) -> (Vec<Change>, Vec<Change>) {
    let (mut plain, mut others) = (Vec::new(), Vec::new());
    for (path, change) in step {
        let now: &Option<Version> = later.get(&path).map_or(&change.after, |later| &later.after);
        let back = Change {
            path,
            before: now.clone(),
            after: change.before.clone(),
        };
        if *now == change.after {
            plain.push(back);
        } else if *now != change.before {
            others.push(back);
        }
    }
    (plain, others)
}

/// Ends a turn that was killed, if it is the last one, so that it can be undone like any other.
fn close_interrupted(work: &Work<'_>, journal: &mut Journal, which: Which<'_>) -> Result<(), Problem> {
    let history = History::of(&journal.records);
    let fits = |checkpoint: &&Checkpoint| {
        checkpoint.kind == which.span.unwrap_or(Span::Turn).into()
            && which.session.is_none_or(|session| checkpoint.session == session)
    };
    let open = history.open.iter().rev().filter_map(|id| history.get(*id));
    let Some(began) = { open }.find(fits) else {
        return Ok(());
    };
    let done = history.done.iter().filter_map(|id| history.get(*id));
    let is_last =
        { done }.all(|step| step.id < began.id || step.kind == Kind::Call && began.kind == Kind::Turn);
    if !is_last {
        return Ok(());
    }
    let scan = scan(work)?;
    let changed = differences(&work.git(), &began.tree, &scan.tree)?.len();
    // Without a change it may still be at work in another process; there is nothing to undo in it anyway.
    if changed == 0 {
        return Ok(());
    }
    let step = Checkpoint {
        since: Some(began.id),
        changed,
        ..fresh(journal, &about(began), scan)
    };
    journal.append(Record::Checkpoint(step))
}

/// The checkpoint of the current state before a restore. It is kept once the restore is sure to happen.
fn before(work: &Work<'_>, journal: &Journal, of: &Checkpoint) -> Result<Checkpoint, Problem> {
    let scan = scan(work)?;
    let about = About {
        kind: Kind::Before,
        ..about(of)
    };
    Ok(Checkpoint {
        of: Some(of.id),
        ..fresh(journal, &about, scan)
    })
}

fn fresh(journal: &Journal, about: &About<'_>, scan: Scan) -> Checkpoint {
    Checkpoint {
        id: journal.next(),
        at: now(),
        kind: about.kind,
        label: about.label.to_owned(),
        session: about.session.to_owned(),
        tree: scan.tree,
        since: None,
        of: None,
        changed: 0,
        left_out: scan.left_out,
    }
}

/// The properties of a new checkpoint.
struct About<'a> {
    kind: Kind,
    label: &'a str,
    session: &'a str,
}

impl From<Span> for Kind {
    fn from(span: Span) -> Self {
        match span {
            Span::Turn => Self::Turn,
            Span::Call => Self::Call,
        }
    }
}

fn about(checkpoint: &Checkpoint) -> About<'_> {
    About {
        kind: checkpoint.kind,
        label: &checkpoint.label,
        session: &checkpoint.session,
    }
}

fn trees(work: &Work<'_>, journal: &Journal, from: u64, to: Point) -> Result<(String, String), Problem> {
    let history = History::of(&journal.records);
    let tree = |id: u64| {
        let checkpoint = history.get(id).ok_or(Problem::Unknown(id))?;
        Ok(checkpoint.tree.clone())
    };
    let to = match to {
        Point::Checkpoint(id) => tree(id)?,
        Point::Now => scan(work)?.tree,
    };
    Ok((tree(from)?, to))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
