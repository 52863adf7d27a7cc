//! The files that an extension consists of, found without running it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::opening;
use crate::packages::{Asked, Packages, is_code};

/// Limits: how many files are looked at, how large one may be, and how long its name.
const MOST_FILES: usize = 200;
const LARGEST: usize = 4 << 20;
const LONGEST: usize = 1024;

/// The files of code that a file imports by path, and those that these import, as found in their texts. The files need
/// not be correct; packages are not followed.
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
            let path = path.and_then(|path| becket_fs::canonicalize(path).ok());
            next.extend(path.filter(|path| found.insert(path.clone())));
        }
    }
    found
}

/// The names of modules that follow a keyword that loads one.
fn named_modules(source: &str) -> impl Iterator<Item = &str> {
    WORDS.iter().flat_map(move |word| {
        let found = source.match_indices(word);
        found.filter_map(move |(at, _)| quoted_name(&source[at + word.len()..]))
    })
}

/// The quoted text at the beginning of a text.
fn quoted_name(text: &str) -> Option<&str> {
    let rest = text.trim_start();
    let quote = rest
        .chars()
        .next()
        .filter(|sign| ['"', '\'', '`'].contains(sign))?;
    let name = rest[1..].split(quote).next()?;
    (!name.is_empty() && name.len() <= LONGEST).then_some(name)
}

/// What a file loads, as far as its text shows it.
#[derive(Debug, Default)]
pub struct Imports {
    /// The loaded files, including those of packages.
    pub files: Vec<PathBuf>,
    /// Every `package.json` that influences which files are found.
    pub manifests: Vec<PathBuf>,
    /// Whether the file asks for its own path, and so may use anything in its folder.
    pub whole_folder: bool,
    /// A description of a load whose name is not in the text.
    pub open: Option<String>,
}

/// Words of a script that asks for its own path.
const PLACES: &[&str] = &["__dirname", "__filename", "import.meta"];

/// Words before the name of a module. The name behind the last two may be known only at run time.
const WORDS: &[&str] = &["from", "import", "import(", "require("];

/// What a file loads: other files of its own, and those of packages. The file need not be correct, and the result names
/// rather too much than too little; modules of the host and of Node are not files.
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
                found.files.extend(becket_fs::canonicalize(file).ok());
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
    becket_fs::canonicalize(folder.join("package.json")).ok()
}

/// The files whose paths stand in quotes.
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
        found.extend(path.and_then(|path| becket_fs::canonicalize(path).ok()));
    }
    found
}
