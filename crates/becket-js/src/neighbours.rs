//! The files that an extension is made of, known by looking and without running it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::node::node_modules;
use crate::opening;
use crate::packages::{Asked, Packages, is_code};

/// The most files that are looked at, the most bytes of one, and the most of the name of one.
const MOST_FILES: usize = 200;
const LARGEST: usize = 4 << 20;
const LONGEST: usize = 1024;

/// What an extension is made of.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The texts of its own files, the first one first.
    pub texts: Vec<String>,
    /// Whether they import something that is not there.
    pub is_incomplete: bool,
}

/// The sources of a file and of all its own files that it imports, and these import; `None` if not all of them can be
/// looked at. They need not be correct: an import is whatever stands in quotes and is the path of a file beside it.
/// Packages do not belong to it, and modules of the host are always there.
pub fn sources(file: &Path, is_host_module: impl Fn(&str) -> bool) -> Option<Sources> {
    let packages = Packages::default();
    let is_known = |name: &str| is_host_module(name) || is_node_module(name);
    let first = std::fs::canonicalize(file).ok()?;
    let (mut seen, mut next, mut sources) = (HashSet::from([first.clone()]), vec![first], Sources::default());
    while let Some(file) = next.pop() {
        let source = opening::text(&file, LARGEST).ok()?;
        let folder = file.parent().unwrap_or(&file);
        let is_there = |name: &str| is_known(name) || finds(&packages, folder, name);
        sources.is_incomplete |= !needed_names(&source).all(is_there);
        for found in imported(&packages, &file, &source) {
            if seen.insert(found.clone()) {
                next.push(found);
            }
        }
        sources.texts.push(source);
        if seen.len() > MOST_FILES {
            return None;
        }
    }
    Some(sources)
}

fn is_node_module(name: &str) -> bool {
    let bare = name.strip_prefix("node:").unwrap_or(name);
    node_modules().any(|module| module.name == bare)
}

fn finds(packages: &Packages, folder: &Path, name: &str) -> bool {
    let from_package = || {
        let ways = [Asked::Import, Asked::Require];
        ways.into_iter()
            .any(|asked| packages.find(folder, name, asked).is_ok())
    };
    match name.starts_with(['.', '/']) {
        true => packages.existing(&folder.join(name)).is_some(),
        false => from_package(),
    }
}

/// The names of the modules that a file cannot do without: not those of which it has only types.
fn needed_names(source: &str) -> impl Iterator<Item = &str> {
    let named = WORDS.iter().flat_map(move |word| {
        let found = source.match_indices(word);
        found.filter_map(move |(at, _)| Some((at, quoted_name(&source[at + word.len()..])?)))
    });
    let statement = |at: usize| {
        let before = &source[..at];
        let begins = ["import", "export"]
            .map(|word| before.rfind(word))
            .into_iter()
            .max();
        begins.flatten().map_or("", |begins| &before[begins..])
    };
    let is_of_types = move |at: usize| statement(at).split_whitespace().nth(1) == Some("type");
    named.filter_map(move |(at, name)| (!is_of_types(at)).then_some(name))
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

/// The files of code that stand in quotes.
fn imported(packages: &Packages, file: &Path, source: &str) -> Vec<PathBuf> {
    quoted_files(packages, file.parent().unwrap_or(file), source, is_code)
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
