//! The differences between two trees, and the contents of the files in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::git::{Git, parts, path};
use crate::problem::Problem;

/// The mode of a folder that is another repository. This crate makes none; git might, in a race.
const FOREIGN_REPOSITORY: u32 = 0o160_000;

/// How many contents are read at once.
const BATCH: usize = 64;

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The mode: `100644`, `100755` for programs, `120000` for links; octal, as git writes them.
    pub mode: u32,
    /// The git object with the file's contents.
    pub object: String,
}

impl Version {
    /// Whether the file is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode == 0o120_000
    }

    /// Whether the file can be executed.
    pub fn is_program(&self) -> bool {
        self.mode == 0o100_755
    }
}

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file's path, relative to the folder.
    pub path: PathBuf,
    /// The file in the first tree; `None` if it is new.
    pub before: Option<Version>,
    /// The file in the second tree; `None` if it is gone.
    pub after: Option<Version>,
}

/// All files that differ, by path.
pub(crate) fn differences(git: &Git<'_>, from: &str, to: &str) -> Result<BTreeMap<PathBuf, Change>, Problem> {
    if from == to {
        return Ok(BTreeMap::new());
    }
    let arguments = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        from,
        to,
    ];
    let output = git.run("compare two checkpoints", &arguments, b"")?;
    let mut changes = BTreeMap::new();
    let mut rest = parts(&output);
    while let (Some(about), Some(name)) = (rest.next(), rest.next()) {
        let change = read(about, path(name)).ok_or_else(|| Problem::Git {
            doing: "compare two checkpoints",
            message: format!("{:?}, which is no difference", String::from_utf8_lossy(about)),
        })?;
        let is_foreign =
            |side: &Option<Version>| side.as_ref().is_some_and(|it| it.mode == FOREIGN_REPOSITORY);
        if !is_foreign(&change.before) && !is_foreign(&change.after) {
            changes.insert(change.path.clone(), change);
        }
    }
    Ok(changes)
}

/// Parses a difference, such as `:100644 000000 1234… 0000… D`.
fn read(about: &[u8], path: PathBuf) -> Option<Change> {
    let text = std::str::from_utf8(about).ok()?.strip_prefix(':')?;
    let mut words = text.split(' ');
    let modes = [words.next()?, words.next()?];
    let objects = [words.next()?, words.next()?];
    let side = |index: usize| -> Option<Option<Version>> {
        let mode = u32::from_str_radix(modes[index], 8).ok()?;
        let object = objects[index].to_owned();
        Some((mode != 0).then_some(Version { mode, object }))
    };
    Some(Change {
        path,
        before: side(0)?,
        after: side(1)?,
    })
}

/// Calls `act` with each item and its contents, in order.
pub(crate) fn with_contents<T>(
    git: &Git<'_>,
    items: &[T],
    object: impl Fn(&T) -> &str,
    mut act: impl FnMut(&T, &[u8]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    for batch in items.chunks(BATCH) {
        let input: String = batch.iter().map(|item| format!("{}\n", object(item))).collect();
        let output = git.run("read a checkpoint", &["cat-file", "--batch"], input.as_bytes())?;
        let mut rest = output.as_slice();
        for item in batch {
            let (content, after) = content(rest).ok_or_else(|| Problem::Git {
                doing: "read a checkpoint",
                message: format!("nothing about {}; the checkpoint is damaged", object(item)),
            })?;
            act(item, content)?;
            rest = after;
        }
    }
    Ok(())
}

/// The first of several contents, each after a line `OBJECT blob SIZE`.
fn content(output: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = output.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&output[..end]).ok()?;
    let size: usize = line.split_once(" blob ")?.1.parse().ok()?;
    let rest = &output[end + 1..];
    Some((rest.get(..size)?, rest.get(size + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_may_hold_anything() {
        let output = b"aa blob 3\n\n\0\n\nbb blob 0\n\n";
        let (first, rest) = content(output).unwrap();
        assert_eq!(first, b"\n\0\n");
        assert_eq!(content(rest).unwrap(), (&b""[..], &b""[..]));
        assert!(content(b"aa missing\n").is_none());
        assert!(content(b"aa blob 5\nabc").is_none());
    }
}
