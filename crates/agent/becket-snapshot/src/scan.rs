//! Brings the folder into the index and makes a tree of it.
//!
//! git finds what is changed and new; this file decides which of it may be kept, and tells git to take exactly that.
//! The index lasts, so a scan costs about what `git status` does.
//!
//! Repositories inside of the folder are kept as plain files, because a link to a commit would lose what is not
//! committed. Objects are plain files: with the C library told to keep its memory, that is as fast as `git add`,
//! and a pack made file by file is not.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files;
use crate::git::{Git, View, lines, parts, path};
use crate::journal::{LeftOut, Reason};
use crate::place::Repository;
use crate::problem::{Problem, system};
use crate::work::Work;

/// The result of a scan of the folder.
#[derive(Debug)]
pub(crate) struct Scan {
    pub tree: String,
    pub left_out: Vec<LeftOut>,
}

/// Makes a tree of the folder as it is.
pub(crate) fn scan(work: &Work<'_>) -> Result<Scan, Problem> {
    scan_with(work, &|_, _| ())
}

/// As [`scan`], and tells how many contents of how many are kept so far.
pub(crate) fn scan_with(work: &Work<'_>, progress: &dyn Fn(u64, u64)) -> Result<Scan, Problem> {
    match Scanner::new(work).scan(progress) {
        // The index is only a cache. If something is wrong with it, a new one is as good.
        Err(Problem::Git { .. }) => {
            let index = work.place.index(work.top());
            if index.exists() {
                std::fs::remove_file(&index).map_err(system("remove", &index))?;
            }
            let _ = std::fs::remove_file(seen(work));
            Scanner::new(work).scan(progress)
        }
        scan => scan,
    }
}

/// Tells git that files were written or removed, and makes a tree of the index.
pub(crate) fn update(
    work: &Work<'_>,
    removed: &[PathBuf],
    written: &[PathBuf],
    progress: &dyn Fn(u64, u64),
) -> Result<String, Problem> {
    let git = work.git();
    remove(&git, removed)?;
    let mut done = 0;
    for batch in batches(&work.place.folder, written) {
        progress(done, written.len() as u64);
        // With --remove, a file that vanished in the meantime is no error.
        let arguments = ["update-index", "--add", "--remove", "-z", "--stdin"];
        git.run("keep the contents of files", &arguments, &lines(batch))?;
        done += batch.len() as u64;
    }
    let prefix = work.prefix();
    let output = if prefix.is_empty() {
        git.run("make a checkpoint", &["write-tree"], b"")?
    } else {
        let answer = git.ask(
            "make a checkpoint",
            &["write-tree", &format!("--prefix={prefix}")],
            b"",
        )?;
        match answer.status.success() {
            true => answer.output,
            // A folder without files has no tree in the index.
            false if git.run("read the index", &["ls-files", "-z"], b"")?.is_empty() => {
                git.run("make a checkpoint", &["mktree"], b"")?
            }
            false => {
                return Err(Problem::Git {
                    doing: "make a checkpoint",
                    message: String::from_utf8_lossy(&answer.errors).into_owned(),
                });
            }
        }
    };
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// Files in groups that take a moment each, so that what is done can be told. Each group writes the index anew.
fn batches<'p>(folder: &Path, paths: &'p [PathBuf]) -> Vec<&'p [PathBuf]> {
    const MOST_BYTES: u64 = 32 * 1024 * 1024;
    const MOST_FILES: usize = 4_000;
    let (mut groups, mut begins, mut bytes) = (Vec::new(), 0, 0);
    for (place, path) in paths.iter().enumerate() {
        bytes += folder
            .join(path)
            .symlink_metadata()
            .map_or(0, |about| about.len());
        if bytes >= MOST_BYTES || place + 1 - begins >= MOST_FILES {
            groups.push(&paths[begins..=place]);
            (begins, bytes) = (place + 1, 0);
        }
    }
    if begins < paths.len() {
        groups.push(&paths[begins..]);
    }
    groups
}

fn remove(git: &Git<'_>, paths: &[PathBuf]) -> Result<(), Problem> {
    if paths.is_empty() {
        return Ok(());
    }
    let arguments = ["update-index", "--force-remove", "-z", "--stdin"];
    git.run("take files out of the index", &arguments, &lines(paths))?;
    Ok(())
}

/// Whether a file is in the index already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IndexState {
    Kept,
    New,
}

struct Scanner<'a> {
    work: &'a Work<'a>,
    git: Git<'a>,
    /// The files that the user's repositories track, by their tops, as far as they were needed; paths are relative to
    /// the folder.
    tracked: HashMap<PathBuf, HashSet<PathBuf>>,
    removed: Vec<PathBuf>,
    written: BTreeSet<PathBuf>,
    private: BTreeSet<PathBuf>,
    left_out: BTreeMap<PathBuf, Reason>,
}

impl<'a> Scanner<'a> {
    fn new(work: &'a Work<'a>) -> Self {
        Self {
            work,
            git: work.git(),
            tracked: HashMap::new(),
            removed: Vec::new(),
            written: BTreeSet::new(),
            private: BTreeSet::new(),
            left_out: BTreeMap::new(),
        }
    }

    fn scan(mut self, progress: &dyn Fn(u64, u64)) -> Result<Scan, Problem> {
        self.copy_exclude()?;
        let is_fresh = !self.work.place.index(self.work.top()).exists();
        let around = self.work.around.clone();
        let stamp = around.as_ref().map(Repository::stamp);
        for path in self.changed()? {
            // git does not accept paths behind a link or inside of what is now a file.
            if self.lies_in_folders(&path) {
                self.admit(path, IndexState::Kept)?;
            } else {
                self.removed.push(path);
            }
        }
        // This comes first, because git finds no folder where the index has a file.
        remove(&self.git, &self.removed)?;
        let (files, nested) = others(&self.git)?;
        for path in files {
            self.admit(path, IndexState::New)?;
        }
        for folder in nested {
            self.enter(folder)?;
        }
        let seen = seen(self.work);
        let was_seen = |stamp: &String| std::fs::read(&seen).is_ok_and(|bytes| bytes == stamp.as_bytes());
        let is_news = stamp.as_ref().is_some_and(|stamp| is_fresh || !was_seen(stamp));
        if let Some(around) = around.filter(|_| is_news) {
            self.take_tracked(around)?;
        }
        let written: Vec<PathBuf> = self.written.into_iter().collect();
        let tree = update(self.work, &[], &written, progress)?;
        remember_private(self.work, self.private)?;
        if let Some(stamp) = stamp.filter(|_| is_news) {
            self.work.replace(&seen, stamp.as_bytes())?;
        }
        let left_out = self.left_out.into_iter();
        Ok(Scan {
            tree,
            left_out: left_out.map(|(path, reason)| LeftOut { path, reason }).collect(),
        })
    }

    /// Kept files whose metadata changed, including those that are gone.
    fn changed(&self) -> Result<Vec<PathBuf>, Problem> {
        let arguments = ["diff-files", "-z", "--name-only", "--no-renames", "--relative"];
        let output = self.git.run("find what has changed", &arguments, b"")?;
        Ok(parts(&output).map(path).collect())
    }

    /// Adds the files of a repository inside of the folder. They are kept as plain files, by that repository's own
    /// rules; its `.git` is left alone. Once one of them is in the index, git enters the folder by itself.
    fn enter(&mut self, folder: PathBuf) -> Result<(), Problem> {
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            let inside = self.work.place.folder.join(&folder);
            let git = self.git.looking_at(View {
                top: inside.clone(),
                folder: inside.clone(),
                index: Some(self.work.place.shadow.join("no-index")),
                repository: self.work.place.repository(),
            });
            let (files, nested) = others(&git)?;
            let mut files: BTreeSet<PathBuf> = files.into_iter().map(|file| folder.join(file)).collect();
            if let Some(repository) = Repository::at(&inside) {
                files.extend(self.tracked_by(repository)?.iter().cloned());
            }
            folders.extend(nested.into_iter().map(|nested| folder.join(nested)));
            for file in files {
                self.admit(file, IndexState::New)?;
            }
        }
        Ok(())
    }

    /// Adds the files that the user's repository tracks, including ignored ones.
    fn take_tracked(&mut self, around: Repository) -> Result<(), Problem> {
        let output = self.git.run("read the index", &["ls-files", "-z"], b"")?;
        let known: HashSet<PathBuf> = parts(&output).map(path).collect();
        let news = self
            .tracked_by(around)?
            .iter()
            .filter(|path| !known.contains(*path));
        let news: Vec<PathBuf> = news.cloned().collect();
        for path in news {
            if !self.written.contains(&path) && self.lies_in_folders(&path) {
                self.admit(path, IndexState::New)?;
            }
        }
        Ok(())
    }

    /// The files in another repository's index. One that cannot be read is no reason not to keep everything else.
    fn tracked_by(&mut self, repository: Repository) -> Result<&HashSet<PathBuf>, Problem> {
        if !self.tracked.contains_key(&repository.top) {
            let own = &self.work.place.folder;
            let inside = repository
                .top
                .strip_prefix(own)
                .unwrap_or(Path::new(""))
                .to_owned();
            let git = self.git.looking_at(View {
                repository: repository.git,
                top: repository.top.clone(),
                folder: own.join(&inside),
                index: None,
            });
            let arguments = ["ls-files", "-z", "--cached", "--stage"];
            let answer = git.ask("read what git tracks", &arguments, b"")?;
            let mut paths = HashSet::new();
            if answer.status.success() {
                let files = parts(&answer.output).filter(|line| !line.starts_with(b"160000 "));
                let names = files.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
                paths.extend(names.map(|name| inside.join(path(name))));
            } else {
                self.left_out.insert(inside.join(".git"), Reason::Repository);
            }
            self.tracked.insert(repository.top.clone(), paths);
        }
        Ok(self.tracked.entry(repository.top).or_default())
    }

    /// Whether the repository to which a file belongs tracks it.
    fn is_tracked(&mut self, path: &Path, place: &Path) -> Result<bool, Problem> {
        match place.parent().and_then(Repository::around) {
            Some(repository) => Ok(self.tracked_by(repository)?.contains(path)),
            None => Ok(false),
        }
    }

    /// Decides what happens to a file that changed or is new.
    fn admit(&mut self, path: PathBuf, state: IndexState) -> Result<(), Problem> {
        let place = self.work.place.folder.join(&path);
        if place.starts_with(&self.work.place.data) {
            return Ok(());
        }
        let is_kept = self.is_admitted(&path, &place)?;
        if is_kept {
            self.written.insert(path);
        } else if state == IndexState::Kept {
            self.removed.push(path);
        }
        Ok(())
    }

    fn is_admitted(&mut self, path: &Path, place: &Path) -> Result<bool, Problem> {
        let Ok(about) = place.symlink_metadata() else {
            return Ok(false);
        };
        if about.is_dir() {
            return Ok(false);
        }
        if files::is_leftover(path) {
            // This process has the lock, so no other one is writing the file.
            let _ = std::fs::remove_file(place);
            return Ok(false);
        }
        if let Some(reason) = self.objection(path, place, &about)? {
            self.left_out.insert(path.to_owned(), reason);
            return Ok(false);
        }
        if is_private(place, &about) {
            self.private.insert(path.to_owned());
        }
        Ok(true)
    }

    /// Why a file cannot be kept.
    fn objection(&mut self, path: &Path, place: &Path, about: &Metadata) -> Result<Option<Reason>, Problem> {
        if path.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            return Ok(Some(Reason::Name));
        }
        if about.is_symlink() {
            return Ok(None);
        }
        if !about.is_file() {
            return Ok(Some(Reason::Special));
        }
        if rustix::fs::access(place, rustix::fs::Access::READ_OK).is_err() {
            return Ok(Some(Reason::Unreadable));
        }
        let is_large = about.len() > self.work.settings.largest_untracked;
        Ok((is_large && !self.is_tracked(path, place)?).then_some(Reason::TooLarge))
    }

    fn lies_in_folders(&self, path: &Path) -> bool {
        let folder = &self.work.place.folder;
        let mut parents = path
            .ancestors()
            .skip(1)
            .filter(|parent| !parent.as_os_str().is_empty());
        parents.all(|parent| {
            folder
                .join(parent)
                .symlink_metadata()
                .is_ok_and(|about| about.is_dir())
        })
    }

    /// Copies the ignore rules of the user's `.git`, which count as well.
    fn copy_exclude(&self) -> Result<(), Problem> {
        let rules = self
            .work
            .around
            .as_ref()
            .map(Repository::exclude)
            .unwrap_or_default();
        let copy = self.work.place.repository().join("info/exclude");
        if std::fs::read(&copy).unwrap_or_default() == rules {
            return Ok(());
        }
        self.work.replace(&copy, &rules)
    }
}

/// New files, and folders that are other repositories.
fn others(git: &Git<'_>) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Problem> {
    let arguments = ["ls-files", "-z", "--others", "--exclude-standard"];
    let output = git.run("find new files", &arguments, b"")?;
    let (folders, files): (Vec<&[u8]>, Vec<&[u8]>) = parts(&output).partition(|name| name.ends_with(b"/"));
    Ok((
        files.into_iter().map(path).collect(),
        folders.into_iter().map(path).collect(),
    ))
}

/// The file that notes which state of the user's index was taken into account.
fn seen(work: &Work<'_>) -> PathBuf {
    work.place.shadow.join("seen")
}

/// Whether a file is private: only its owner may open it, although others could reach it.
fn is_private(place: &Path, about: &Metadata) -> bool {
    let is_reachable = || {
        let folder = place.parent().and_then(|folder| folder.metadata().ok());
        folder.is_some_and(|folder| folder.mode() & 0o077 != 0)
    };
    about.is_file() && about.mode() & 0o077 == 0 && is_reachable()
}

/// Files that were once private. git does not record that, and a restore must not open them to others.
pub(crate) fn private(work: &Work<'_>) -> BTreeSet<PathBuf> {
    let bytes = std::fs::read(work.place.shadow.join("private")).unwrap_or_default();
    parts(&bytes)
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect()
}

fn remember_private(work: &Work<'_>, more: BTreeSet<PathBuf>) -> Result<(), Problem> {
    if more.is_empty() {
        return Ok(());
    }
    let mut all = private(work);
    let before = all.len();
    all.extend(more);
    if all.len() == before {
        return Ok(());
    }
    work.replace(&work.place.shadow.join("private"), &lines(&all))
}
