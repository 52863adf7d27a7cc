//! Walking through a directory as find and grep do: sorted, without following links, without what .gitignore names,
//! and never longer than its time.

use std::path::{Path, PathBuf};
use std::time::Instant;

use becket_agent::IgnoreFiles;
use becket_agent::tool::ToolRun;
use becket_agent::vfs::VfsPath;
use becket_hooks::{Glob, Slashes};
use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

use crate::place::FileSource;
use crate::settings::ToolSettings;

/// Where a search takes place, and when it must stop.
pub(crate) struct Bounds {
    /// Where the files are.
    pub(crate) files: FileSource,
    deadline: Instant,
    cancel: CancellationToken,
}

/// Why a search stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The time was up.
    TimeIsUp,
    /// The call was cancelled.
    Cancelled,
}

impl Bounds {
    pub(crate) fn new(settings: &ToolSettings, run: &ToolRun, files: FileSource) -> Self {
        Self {
            files,
            deadline: Instant::now() + settings.search_timeout,
            cancel: run.cancel.clone(),
        }
    }

    /// Checks whether to go on; the error says why not.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        if self.cancel.is_cancelled() {
            return Err(Stopped::Cancelled);
        }
        if Instant::now() >= self.deadline {
            return Err(Stopped::TimeIsUp);
        }
        Ok(())
    }
}

impl Stopped {
    /// The reason in plain English.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::TimeIsUp => "stopped early: the time was up; search a smaller directory",
            Self::Cancelled => "stopped early: the call was cancelled",
        }
    }
}

/// Visits the files below `root` in order; links are visited as files and not followed. `visit` returns whether to
/// go on.
pub(crate) fn files(
    root: &Path,
    bounds: &Bounds,
    mut visit: impl FnMut(&Path, FileKind) -> bool,
) -> Result<(), Stopped> {
    // The project's ignore files count; those of the user's home are not ours to read.
    let ignored = (bounds.files == FileSource::System).then(|| IgnoreFiles::around(root));
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .sort_by_file_name(|one, other| one.cmp(other))
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let leave_out = |files: &IgnoreFiles| files.leave_out(entry.path(), is_folder);
            entry.file_name() != ".git" && !ignored.as_ref().is_some_and(leave_out)
        })
        .build();
    for entry in walk {
        bounds.check()?;
        // A folder that cannot be read is skipped, as other search tools do.
        let Ok(entry) = entry else { continue };
        let Some(kind) = entry.file_type() else { continue };
        let kind = match kind {
            kind if kind.is_dir() => continue,
            kind if kind.is_file() => FileKind::Regular,
            _ => FileKind::Other,
        };
        let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if !visit(below, kind) {
            return Ok(());
        }
    }
    Ok(())
}

/// The kind of a visited entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A file with content.
    Regular,
    /// A link, a pipe, a device.
    Other,
}

/// A glob: with a slash it is matched against the path below the searched directory, without one against the name.
pub(crate) struct FileGlob {
    glob: Glob,
    whole_path: bool,
}

impl FileGlob {
    /// Parses a pattern for a search in `root`, which the caller named `place`; the error says what is wrong with it.
    pub(crate) fn new(pattern: &str, root: &Path, place: Option<&str>) -> Result<Self, String> {
        let root = format!("{}/", root.display());
        // An address may stand before a pattern, as the root of a path does.
        let address = place.filter(|place| VfsPath::is_meant_by(place));
        let address = address.map(|address| format!("{}/", address.trim_end_matches('/')));
        let relative = pattern
            .strip_prefix(&root)
            .or_else(|| pattern.strip_prefix(&address?))
            .or_else(|| pattern.strip_prefix("./"))
            .unwrap_or(pattern);
        let shown = &pattern[..pattern.floor_char_boundary(80)];
        let glob = Glob::new(relative, Slashes::Apart)
            .map_err(|error| format!("the glob pattern `{shown}` is not valid: {error}"))?;
        Ok(Self {
            glob,
            whole_path: relative.contains('/'),
        })
    }

    /// Whether the glob matches a path below the searched directory.
    pub(crate) fn matches(&self, below: &Path) -> bool {
        match below.file_name() {
            Some(name) if !self.whole_path => self.glob.is_match(name),
            _ => self.glob.is_match(below),
        }
    }
}

/// A path below the searched directory, as the caller would write it.
pub(crate) fn shown(searched: Option<&str>, below: &Path) -> String {
    match searched {
        None | Some("" | "." | "./") => below.display().to_string(),
        Some(searched) => PathBuf::from(searched).join(below).display().to_string(),
    }
}
