//! Finds the extensions among the files of a folder.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use becket_hooks::check_glob;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde_json::Value;

use super::extension_place::{EXTENSIONS, Entry, ExtensionPlace, RESOURCES};
use super::patterns::{chosen, glob, is_glob, is_override};

const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// How deep a pattern of a manifest searches.
const DEEPEST: usize = 12;

/// The extensions of a folder: those of its manifest or index, else its files and those folders in it that have a
/// manifest or an index. Sorted by name; files that ignore files name are left out.
pub(super) fn in_folder(folder: &Path) -> Result<Vec<Entry>, String> {
    let places = places_in(folder)?.into_iter();
    Ok(places.flat_map(|place| place.files).collect())
}

/// The places of a folder that yield extensions or could: the folder itself, and the entries in it.
pub(super) fn places_in(folder: &Path) -> Result<Vec<ExtensionPlace>, String> {
    let place = |path: &Path, files| ExtensionPlace {
        path: path.to_path_buf(),
        files,
    };
    if let Some(entries) = own_entries(folder) {
        return Ok(vec![place(folder, entries)]);
    }
    let mut paths = match list(folder) {
        Ok(paths) => paths,
        Err(error) if error.kind() == ErrorKind::NotFound && !becket_fs::is_symlink(folder) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(format!("the folder {} cannot be read: {error}", folder.display())),
    };
    let ignored = ignored_in(folder);
    paths.retain(|path| !ignored.matched(path, becket_fs::is_dir(path)).is_ignore());
    let inner = paths
        .into_iter()
        .filter_map(|path| match becket_fs::is_dir(&path) {
            true => Some(place(&path, own_entries(&path).unwrap_or_default())),
            false if is_script(&path) => Some(place(&path, vec![Entry::of_file(path.clone())])),
            false => None,
        });
    Ok(std::iter::once(place(folder, Vec::new())).chain(inner).collect())
}

/// The extensions of a package: those that its manifest names, else those of its folder `extensions`, else those of the
/// package as a plain folder. A package that only brings something else has none.
pub(super) fn of_package(root: &Path) -> Result<Vec<Entry>, String> {
    let usual = root.join(EXTENSIONS);
    match manifest(root, EXTENSIONS) {
        Some(named) => Ok(of_manifest(root, &named)),
        None if has_manifest(root) => Ok(Vec::new()),
        None if becket_fs::is_dir(&usual) => in_folder(&usual),
        None if brings_something_else(root) => Ok(own_entries(root).unwrap_or_default()),
        None => in_folder(root),
    }
}

/// Whether a package brings skills, prompt templates or themes, and says nothing of extensions.
pub(super) fn brings_something_else(root: &Path) -> bool {
    let is_there = |name: &&str| becket_fs::is_dir(root.join(name));
    manifest(root, EXTENSIONS).is_none() && (has_manifest(root) || RESOURCES.iter().any(is_there))
}

/// The extensions of a package that match the patterns of its user; an empty list matches none.
pub(super) fn wanted_of(entries: Vec<Entry>, wanted: Option<&[String]>, root: &Path) -> Vec<Entry> {
    match wanted {
        None => entries,
        Some([]) => Vec::new(),
        Some(patterns) => chosen(entries, &patterns.iter().collect::<Vec<_>>(), root),
    }
}

/// The extensions that a folder itself names: the files of its manifest, or its index.
fn own_entries(folder: &Path) -> Option<Vec<Entry>> {
    let named = manifest(folder, EXTENSIONS).map(|named| of_manifest(folder, &named));
    if let Some(entries) = named.filter(|entries| !entries.is_empty()) {
        return Some(entries);
    }
    let index = ["index.ts", "index.js"].map(|name| folder.join(name));
    let index = index.into_iter().find(|file| becket_fs::is_file(file))?;
    Some(vec![Entry::of_file(index)])
}

/// Whether a folder's `package.json` says what the package brings. Then its usual folders do not count.
pub(super) fn has_manifest(folder: &Path) -> bool {
    pi_of(folder).is_some_and(|pi| pi.is_object())
}

/// What `pi` in a folder's `package.json` holds.
fn pi_of(folder: &Path) -> Option<Value> {
    let text = becket_fs::read_to_string(folder.join("package.json")).ok()?;
    let mut package: Value = serde_json::from_str(&text).ok()?;
    Some(package["pi"].take())
}

/// The paths that a list of `pi` in a folder's `package.json` names; `None` if there is no such list.
pub(super) fn manifest(folder: &Path, list: &str) -> Option<Vec<String>> {
    let pi = pi_of(folder)?;
    let named = pi[list].as_array()?;
    let named = named.iter().filter_map(Value::as_str).map(ToOwned::to_owned);
    Some(named.collect())
}

fn of_manifest(root: &Path, named: &[String]) -> Vec<Entry> {
    let (overrides, paths): (Vec<&String>, Vec<&String>) = named.iter().partition(|path| is_override(path));
    let paths = paths.into_iter().flat_map(|path| match is_glob(path) {
        true => expand(root, path),
        false => vec![root.join(path)],
    });
    let files: Vec<Entry> = paths
        .filter_map(|path| match becket_fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => in_folder(&path).ok(),
            Ok(_) => Some(vec![Entry::of_file(path)]),
            Err(_) => None,
        })
        .flatten()
        .collect();
    let mut entries = chosen(files, &overrides, root);
    name_after(root, &mut entries);
    entries
}

/// Names the files of a manifest after its folder, because a name such as `src/index.ts` says little.
fn name_after(root: &Path, entries: &mut [Entry]) {
    let Some(folder) = root.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return;
    };
    let is_only = entries.len() == 1;
    for entry in entries {
        entry.name = match is_only {
            true => folder.clone(),
            false => format!("{folder}/{}", entry.name),
        };
    }
}

/// The files and folders under a root that match a pattern.
pub(super) fn expand(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = glob(pattern.strip_prefix("./").unwrap_or(pattern));
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        // A link may lead in a circle.
        let is_new = becket_fs::canonicalize(&folder).is_ok_and(|real| seen.insert(real));
        for path in list(&folder).ok().filter(|_| is_new).into_iter().flatten() {
            let below = path.strip_prefix(root).unwrap_or(&path);
            if pattern(&below.to_string_lossy()) {
                found.push(path);
            } else if depth < DEEPEST && becket_fs::is_dir(&path) {
                open.push((path, depth + 1));
            }
        }
    }
    found.sort();
    found
}

/// The entries of a folder, sorted; without hidden files and `node_modules`.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let entries = becket_fs::read_dir(folder)?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let is_hidden = |name: &str| name.starts_with('.') || name == "node_modules";
    names.retain(|name| !is_hidden(&name.to_string_lossy()));
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

pub(super) fn ignored_in(folder: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for name in IGNORE_FILES {
        let file = folder.join(name);
        // A missing file, or an invalid line, excludes nothing.
        let text = becket_fs::read_to_string(&file).unwrap_or_default();
        let lines = text.trim_start_matches('\u{feff}').lines();
        for line in lines.filter(|line| check_glob(line).is_ok()) {
            let _ = builder.add_line(Some(file.clone()), line);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn is_script(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    // A file of declarations holds no code.
    (name.ends_with(".ts") || name.ends_with(".js")) && !name.ends_with(".d.ts")
}
