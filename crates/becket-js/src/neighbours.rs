//! The files of an extension that cannot be run: what it is made of is then known by looking.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::opening;
use crate::packages::{Asked, Packages, is_code};

/// The most files that are looked at, the most bytes of one, and the most of the name of one.
const MOST_FILES: usize = 200;
const LARGEST: usize = 4 << 20;
const LONGEST: usize = 1024;

/// The sources of a file and of all its own files that it imports, and these import; `None` if not all of them can be
/// looked at. They need not be correct: an import is whatever stands in quotes and is the path of a file beside it.
/// Packages do not belong to it.
pub fn sources(file: &Path) -> Option<Vec<String>> {
    let packages = Packages::default();
    let first = std::fs::canonicalize(file).ok()?;
    let (mut seen, mut next, mut sources) = (HashSet::from([first.clone()]), vec![first], Vec::new());
    while let Some(file) = next.pop() {
        let source = opening::text(&file, LARGEST).ok()?;
        for found in imported(&packages, &file, &source) {
            if seen.insert(found.clone()) {
                next.push(found);
            }
        }
        sources.push(source);
        if seen.len() > MOST_FILES {
            return None;
        }
    }
    Some(sources)
}

/// The files that stand in quotes.
fn imported(packages: &Packages, file: &Path, source: &str) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(file);
    let mut found = Vec::new();
    for (at, quote) in source.match_indices(['"', '\'', '`']) {
        let rest = &source[at + 1..];
        if !rest.starts_with(['.', '#']) {
            continue;
        }
        let end = rest
            .bytes()
            .take(LONGEST)
            .position(|byte| [byte] == quote.as_bytes());
        let path = match end.map(|end| &rest[..end]) {
            Some(name) if name.starts_with('#') => packages.find(folder, name, Asked::Import).ok(),
            Some(name) => packages.existing(&folder.join(name)),
            None => None,
        };
        let path = path.filter(|path| is_code(path));
        found.extend(path.and_then(|path| std::fs::canonicalize(path).ok()));
    }
    found
}
