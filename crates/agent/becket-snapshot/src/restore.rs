//! Brings files of the folder from one version to another. A file that no checkpoint holds is never touched.
//!
//! The order: check whether everything can be done; write ignore rules, since they decide what may be deleted; delete;
//! write; update the index; and check whether the folder is now as it should be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::files::{Files, Privacy, Shape, There};
use crate::journal::{Checkpoint, LeftOut};
use crate::problem::{InTheWay, Problem, system};
use crate::scan;
use crate::trees::{Change, Version, differences, with_contents};
use crate::work::{Work, ignored};

/// The result of an undo, a redo or a restore.
#[derive(Debug, Clone)]
pub struct Restored {
    /// The state afterwards. It is a step itself, and can be undone.
    pub step: Checkpoint,
    /// The step that was undone or redone, or the checkpoint that was restored.
    pub of: Checkpoint,
    /// The files that were changed.
    pub changes: Vec<Change>,
    /// Files that were not there then and stay, because the ignore rules of that time leave them alone.
    pub kept: Vec<PathBuf>,
}

/// The current state of the folder, and the changes to make.
pub(crate) struct Plan<'a> {
    /// The checkpoint of the current state.
    pub now: &'a Checkpoint,
    /// The files that were left out of the target state.
    pub left_out: &'a [LeftOut],
    /// The changes from the current state to the target.
    pub changes: Vec<Change>,
}

/// The result of a plan.
pub(crate) struct Done {
    pub tree: String,
    pub changes: Vec<Change>,
    pub kept: Vec<PathBuf>,
}

/// Carries out a plan. Either it is refused before anything is touched, or `accepted` is called, after which the
/// checkpoint of the current state must be kept.
pub(crate) fn carry_out(
    work: &Work<'_>,
    plan: Plan<'_>,
    accepted: impl FnOnce() -> Result<(), Problem>,
) -> Result<Done, Problem> {
    let files = Files::open(&work.place.folder).map_err(system("open", &work.place.folder))?;
    let mut restore = Restore::new(work, files, &plan);
    restore.look_ahead(plan.now)?;
    accepted()?;
    restore.bring_rules()?;
    let kept = restore.keep_ignored()?;
    restore.remove()?;
    restore.write(Part::TheRest)?;
    let written: Vec<PathBuf> = restore.writes.iter().map(|write| write.path.clone()).collect();
    let gone = restore.removals.iter().chain(&kept).chain(&restore.spared);
    let tree = scan::update(work, &gone.cloned().collect::<Vec<_>>(), &written, &|_, _| ())?;
    let happened = differences(&work.git(), &plan.now.tree, &tree)?;
    let wanted = plan
        .changes
        .into_iter()
        .map(|change| (change.path.clone(), change));
    if happened != wanted.collect::<BTreeMap<_, _>>() {
        return Err(Problem::Disturbed { before: plan.now.id });
    }
    let changes = happened
        .into_values()
        .filter(|change| !kept.contains(&change.path));
    Ok(Done {
        changes: changes.collect(),
        tree,
        kept,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    IgnoreRules,
    TheRest,
}

struct Write {
    path: PathBuf,
    version: Version,
    is_new: bool,
}

struct Restore<'a> {
    work: &'a Work<'a>,
    files: Files,
    writes: Vec<Write>,
    removals: BTreeSet<PathBuf>,
    /// Files that leave the index but stay in the folder, because the other checkpoint left them out.
    spared: Vec<PathBuf>,
    private: BTreeSet<PathBuf>,
}

impl<'a> Restore<'a> {
    fn new(work: &'a Work<'a>, files: Files, plan: &Plan<'_>) -> Self {
        let left_out: BTreeSet<&PathBuf> = plan.left_out.iter().map(|left| &left.path).collect();
        let mut restore = Self {
            work,
            files,
            writes: Vec::new(),
            removals: BTreeSet::new(),
            spared: Vec::new(),
            private: scan::private(work),
        };
        for change in &plan.changes {
            let path = change.path.clone();
            match &change.after {
                Some(version) => restore.writes.push(Write {
                    path,
                    version: version.clone(),
                    is_new: change.before.is_none(),
                }),
                None if left_out.contains(&path) => restore.spared.push(path),
                None => {
                    restore.removals.insert(path);
                }
            }
        }
        restore
    }

    /// Refuses if something would be lost that no checkpoint holds.
    fn look_ahead(&self, now: &Checkpoint) -> Result<(), Problem> {
        let mut ways = Vec::new();
        let mut unknown = Vec::new();
        let left_out: BTreeSet<&PathBuf> = now.left_out.iter().map(|left| &left.path).collect();
        for write in &self.writes {
            let way = |what| InTheWay {
                path: write.path.clone(),
                what,
            };
            match self.look(&write.path)? {
                _ if left_out.contains(&write.path) => ways.push(way("left out of checkpoints")),
                There::Nothing => {}
                There::Blocked => ways.extend(self.blocker(&write.path)?),
                There::Folder => ways.extend(self.keeper(&write.path)?),
                There::Other => ways.push(way("neither a file nor a link")),
                There::Link | There::File(_) if write.is_new => unknown.push(write),
                There::Link | There::File(_) => {}
            }
        }
        // A file that is not in the checkpoint of the current state is ignored. It may already have the target content.
        let object = |write: &&Write| write.version.object.clone();
        let objects: Vec<(&Write, String)> = unknown.iter().map(|write| (*write, object(write))).collect();
        with_contents(
            &self.work.git(),
            &objects,
            |(_, object)| object,
            |(write, _), content| {
                let holds = self.files.holds(&write.path, shape(&write.version), content);
                if !holds.map_err(system("read", &write.path))? {
                    ways.push(InTheWay {
                        path: write.path.clone(),
                        what: "ignored",
                    });
                }
                Ok(())
            },
        )?;
        if ways.is_empty() {
            return Ok(());
        }
        Err(Problem::InTheWay(ways))
    }

    /// A parent of a file that is no folder, unless it will be removed or replaced.
    fn blocker(&self, path: &Path) -> Result<Option<InTheWay>, Problem> {
        let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
        parents.reverse();
        for parent in parents
            .into_iter()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            if matches!(self.look(parent)?, There::Link | There::File(_) | There::Other) {
                let way = InTheWay {
                    path: parent.to_owned(),
                    what: "no folder",
                };
                return Ok((!self.removals.contains(parent)).then_some(way));
            }
        }
        Ok(None)
    }

    /// Something that stays in a folder which must be removed.
    fn keeper(&self, folder: &Path) -> Result<Option<InTheWay>, Problem> {
        let place = self.work.place.folder.join(folder);
        for entry in place.read_dir().map_err(system("read", &place))? {
            let entry = entry.map_err(system("read", &place))?;
            let path = folder.join(entry.file_name());
            let is_folder = entry
                .file_type()
                .map_err(system("look at", &entry.path()))?
                .is_dir();
            let way = match is_folder {
                true => self.keeper(&path)?,
                false if self.removals.contains(&path) => None,
                false => Some(InTheWay {
                    path,
                    what: "in a folder that must go",
                }),
            };
            if way.is_some() {
                return Ok(way);
            }
        }
        Ok(None)
    }

    /// Writes the ignore rules of the target state, before they are applied.
    fn bring_rules(&mut self) -> Result<(), Problem> {
        for path in self.removals.iter().filter(|path| is_rule(path)) {
            self.files.remove(path).map_err(system("remove", path))?;
        }
        self.write(Part::IgnoreRules)
    }

    /// Spares the removals that the current ignore rules leave alone, and returns them.
    fn keep_ignored(&mut self) -> Result<Vec<PathBuf>, Problem> {
        if self.removals.is_empty() {
            return Ok(Vec::new());
        }
        let mut kept = ignored(&self.work.git(), &self.removals)?;
        // A file in the way of one that comes back is removed all the same: the checkpoint of the current state holds
        // it.
        kept.retain(|kept| {
            let collides = |write: &Write| write.path.starts_with(kept) || kept.starts_with(&write.path);
            !is_rule(kept) && !self.writes.iter().any(collides)
        });
        for path in &kept {
            self.removals.remove(path);
        }
        Ok(kept)
    }

    /// Removes files, and the folders that become empty by it.
    fn remove(&self) -> Result<(), Problem> {
        for path in &self.removals {
            self.files.remove(path).map_err(system("remove", path))?;
        }
        for path in self.removals.iter().rev() {
            for folder in path
                .ancestors()
                .skip(1)
                .filter(|folder| !folder.as_os_str().is_empty())
            {
                if !self
                    .files
                    .remove_empty(folder)
                    .map_err(system("remove", folder))?
                {
                    break;
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, part: Part) -> Result<(), Problem> {
        let mut wanted = Vec::new();
        for write in &self.writes {
            let has_room = || {
                self.look(&write.path)
                    .map(|there| matches!(there, There::Nothing | There::File(_)))
            };
            if part == Part::TheRest || is_rule(&write.path) && has_room()? {
                wanted.push((write.path.clone(), write.version.clone()));
            }
        }
        let (files, private, root) = (&mut self.files, &self.private, &self.work.place.folder);
        with_contents(
            &self.work.git(),
            &wanted,
            |(_, version)| &version.object,
            |(path, version), content| {
                let privacy = match private.contains(path) {
                    true => Privacy::OwnerOnly,
                    false => Privacy::AsUsual,
                };
                if files.look(path).map_err(system("look at", path))? == There::Folder {
                    clear(files, root, path)?;
                }
                let written = files.write(path, shape(version), content, privacy);
                written.map_err(system("write", path))
            },
        )
    }

    fn look(&self, path: &Path) -> Result<There, Problem> {
        self.files.look(path).map_err(system("look at", path))
    }
}

fn is_rule(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".gitignore")
}

fn shape(version: &Version) -> Shape {
    match version {
        version if version.is_link() => Shape::Link,
        version if version.is_program() => Shape::Program,
        _ => Shape::Plain,
    }
}

/// Removes a folder that holds only empty folders.
fn clear(files: &Files, root: &Path, folder: &Path) -> Result<(), Problem> {
    let place = root.join(folder);
    for entry in place.read_dir().map_err(system("read", &place))?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clear(files, root, &folder.join(entry.file_name()))?;
        }
    }
    files.remove_empty(folder).map_err(system("remove", folder))?;
    Ok(())
}
