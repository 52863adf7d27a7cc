//! The files that an extension is made of, known by looking and without running it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::opening;
use crate::packages::{Asked, Packages, is_code};

/// The most files that are looked at, the most bytes of one, and the most of the name of one.
const MOST_FILES: usize = 200;
const LARGEST: usize = 4 << 20;
const LONGEST: usize = 1024;

/// The files of code that a file imports by a path, and those that these import, as their texts say. They need not be
/// correct; packages do not belong to it.
pub fn own_files(file: &Path) -> HashSet<PathBuf> {
    let packages = Packages::default();
    let (mut found, mut next) = (HashSet::new(), vec![file.to_path_buf()]);
    while let Some(file) = next.pop().filter(|_| found.len() < MOST_FILES) {
        let Ok(source) = opening::text(&file, LARGEST) else {
            continue;
        };
        let folder = file.parent().unwrap_or(&file);
        for name in named_modules(&source).filter(|name| name.starts_with(['.', '/'])) {
            let path = packages.existing(&folder.join(name)).filter(|path| is_code(path));
            let path = path.and_then(|path| std::fs::canonicalize(path).ok());
            next.extend(path.filter(|path| found.insert(path.clone())));
        }
    }
    found
}

/// The names of modules that stand behind a word that loads one.
fn named_modules(source: &str) -> impl Iterator<Item = &str> {
    WORDS.iter().flat_map(move |word| {
        let found = source.match_indices(word);
        found.filter_map(move |(at, _)| quoted_name(&source[at + word.len()..]))
    })
}

/// What stands in quotes at the beginning of a text.
fn quoted_name(text: &str) -> Option<&str> {
    let rest = text.trim_start();
    let quote = rest
        .chars()
        .next()
        .filter(|sign| ['"', '\'', '`'].contains(sign))?;
    let name = rest[1..].split(quote).next()?;
    (!name.is_empty() && name.len() <= LONGEST).then_some(name)
}

/// What a file loads, as far as its text says so.
#[derive(Debug, Default)]
pub struct Imports {
    /// The files, also those of packages.
    pub files: Vec<PathBuf>,
    /// Each `package.json` that has a say in what is found.
    pub manifests: Vec<PathBuf>,
    /// Whether it asks where it lies, and so may use anything there.
    pub whole_folder: bool,
    /// What it loads without naming it.
    pub open: Option<String>,
}

/// Words of a script that asks where it lies.
const PLACES: &[&str] = &["__dirname", "__filename", "import.meta"];

/// Words before the name of a module. The last two may have a name behind them that is only known when they run.
const WORDS: &[&str] = &["from", "import", "import(", "require("];

/// What a file loads: other files of its own, and those of packages. It need not be correct, and names rather too much
/// than too little; modules of the host and of Node are not files.
pub fn imports(file: &Path, source: &str) -> Imports {
    let packages = Packages::default();
    let folder = file.parent().unwrap_or(file);
    let mut found = Imports {
        files: quoted_files(&packages, folder, source, |_| true),
        whole_folder: PLACES.iter().any(|word| source.contains(word)),
        ..Imports::default()
    };
    found.manifests.extend(manifest_around(&packages, folder));
    for word in WORDS {
        for (at, _) in source.match_indices(word) {
            let rest = source[at + word.len()..].trim_start();
            if !rest.starts_with(['"', '\'', '`']) {
                let is_call = word.ends_with('(') && !rest.starts_with(')');
                if is_call && found.open.is_none() {
                    found.open = Some(open_words(source, at, word));
                    found.whole_folder = true;
                }
                continue;
            }
            let Some(name) = quoted_name(rest).filter(|name| !name.starts_with(['.', '/', '#'])) else {
                continue;
            };
            for asked in [Asked::Import, Asked::Require] {
                let Ok(file) = packages.find(folder, name, asked) else {
                    continue;
                };
                found
                    .manifests
                    .extend(manifest_around(&packages, file.parent().unwrap_or(&file)));
                found.files.extend(std::fs::canonicalize(file).ok());
            }
        }
    }
    for list in [&mut found.files, &mut found.manifests] {
        list.sort();
        list.dedup();
    }
    found
}

fn open_words(source: &str, at: usize, word: &str) -> String {
    let line = source[..at].matches('\n').count() + 1;
    format!("line {line}: `{word}…)` of a name that is not written there")
}

fn manifest_around(packages: &Packages, folder: &Path) -> Option<PathBuf> {
    let (folder, _) = packages.around(folder)?;
    std::fs::canonicalize(folder.join("package.json")).ok()
}

/// The files that stand in quotes.
fn quoted_files(
    packages: &Packages,
    folder: &Path,
    source: &str,
    is_wanted: fn(&Path) -> bool,
) -> Vec<PathBuf> {
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
        let path = path.filter(|path| is_wanted(path));
        found.extend(path.and_then(|path| std::fs::canonicalize(path).ok()));
    }
    found
}
