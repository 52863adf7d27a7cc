//! Finds the skills, prompt templates or themes among the files of a folder.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ignore::gitignore::Gitignore;

use super::skills::SKILL_FILE;
use crate::extension_files::{expand, has_manifest, ignored_in, list, manifest};
use crate::extension_place::{Entry, RESOURCES};
use crate::patterns::{chosen, is_glob, is_override};

/// How deep folders are searched for skills and templates.
const DEEPEST: usize = 12;

/// The kind of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Skill,
    Template,
    Theme,
}

/// How a folder is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The usual folder of a kind: templates and themes are directly in it.
    Custom,
    /// The folder that several programs share: skills are folders, or files in subfolders.
    Shared,
    /// A folder that was named explicitly: everything in it counts.
    Named,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Skill, Self::Template, Self::Theme];

    /// The usual folder of the kind, which is also the name of its list in settings and manifests.
    pub(super) fn folder(self) -> &'static str {
        let [skills, templates, themes] = RESOURCES;
        match self {
            Self::Skill => skills,
            Self::Template => templates,
            Self::Theme => themes,
        }
    }

    /// The word for one resource of the kind.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Template => "prompt template",
            Self::Theme => "theme",
        }
    }

    /// Whether a file can be of the kind, by its name.
    pub(super) fn fits(self, file: &Path) -> bool {
        let wanted = match self {
            Self::Skill | Self::Template => "md",
            Self::Theme => "json",
        };
        file.extension().is_some_and(|extension| extension == wanted)
    }
}

/// The files of a kind in a folder, sorted, without those that ignore files exclude. A folder that cannot be read has
/// none.
pub(super) fn in_folder(kind: Kind, folder: &Path, look: Look) -> Vec<PathBuf> {
    let mut walk = Walk {
        kind,
        look,
        root: folder,
        ignored: Vec::new(),
        seen: HashSet::new(),
        found: Vec::new(),
    };
    walk.enter(folder, 0);
    walk.found
}

struct Walk<'a> {
    kind: Kind,
    look: Look,
    root: &'a Path,
    ignored: Vec<Gitignore>,
    /// The real paths of folders, because a link may lead in a circle.
    seen: HashSet<PathBuf>,
    found: Vec<PathBuf>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, depth: usize) {
        let is_new = becket_fs::canonicalize(folder).is_ok_and(|real| self.seen.insert(real));
        let Ok(paths) = list(folder) else { return };
        if !is_new || depth > DEEPEST {
            return;
        }
        self.ignored.push(ignored_in(folder));
        let skill = folder.join(SKILL_FILE);
        if self.kind == Kind::Skill && becket_fs::is_file(&skill) && !self.is_ignored(&skill) {
            self.found.push(skill);
        } else {
            for path in paths {
                self.look_at(path, depth);
            }
        }
        self.ignored.pop();
    }

    fn look_at(&mut self, path: PathBuf, depth: usize) {
        if self.is_ignored(&path) {
            return;
        }
        if becket_fs::is_dir(&path) {
            let goes_deeper = self.kind == Kind::Skill || self.look == Look::Named;
            if goes_deeper {
                self.enter(&path, depth + 1);
            }
            return;
        }
        let is_in_root = path.parent() == Some(self.root);
        let lies_right = match (self.kind, self.look) {
            (Kind::Skill, Look::Shared) => !is_in_root,
            (Kind::Skill, _) => is_in_root,
            (_, _) => true,
        };
        if lies_right && self.kind.fits(&path) {
            self.found.push(path);
        }
    }

    fn is_ignored(&self, path: &Path) -> bool {
        let rules = self.ignored.iter().rev();
        let mut said = rules.map(|rules| rules.matched(path, becket_fs::is_dir(path)));
        said.find(|said| !said.is_none())
            .is_some_and(|said| said.is_ignore())
    }
}

/// The files of a kind at a path: the file itself, or those in the folder.
pub(super) fn at(kind: Kind, path: &Path) -> Vec<PathBuf> {
    match becket_fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => in_folder(kind, path, Look::Named),
        Ok(_) => vec![path.to_owned()],
        Err(_) => Vec::new(),
    }
}

/// The files of a kind in a package: those that its manifest names, or those in the usual folder. `wanted` are patterns
/// of the package's user; an empty list matches none.
pub(super) fn of_package(kind: Kind, root: &Path, wanted: Option<&[String]>) -> Vec<PathBuf> {
    let files = match manifest(root, kind.folder()) {
        Some(named) => of_manifest(kind, root, &named),
        None if has_manifest(root) => Vec::new(),
        None => at(kind, &root.join(kind.folder())),
    };
    match wanted {
        None => files,
        Some([]) => Vec::new(),
        Some(patterns) => left_by(files, &patterns.iter().collect::<Vec<_>>(), root),
    }
}

fn of_manifest(kind: Kind, root: &Path, named: &[String]) -> Vec<PathBuf> {
    let (overrides, paths): (Vec<&String>, Vec<&String>) = named.iter().partition(|path| is_override(path));
    let paths = paths.into_iter().flat_map(|path| match is_glob(path) {
        true => expand(root, path),
        false => vec![root.join(path)],
    });
    let files = paths.flat_map(|path| at(kind, &path)).collect();
    left_by(files, &overrides, root)
}

/// The files that patterns leave.
pub(super) fn left_by(files: Vec<PathBuf>, patterns: &[&String], base: &Path) -> Vec<PathBuf> {
    let entries = files.into_iter().map(Entry::of_file).collect();
    let left = chosen(entries, patterns, base).into_iter();
    left.map(|entry| entry.file).collect()
}
