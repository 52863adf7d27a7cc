//! Where files with hooks are looked for.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;
use serde_json::Value;

use crate::entry::{Dropped, Owner, Source};

/// The largest manifest that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// The folder with this name in each folder from the project's root down to the working directory.
pub fn project_folders(place: &GuestSearch<'_>, name: &str) -> Vec<PathBuf> {
    let cwd = becket_fs::canonicalize(&place.surroundings.cwd);
    let cwd = cwd.unwrap_or_else(|_| place.surroundings.cwd.clone());
    let root = place.trust.root();
    let within = cwd.ancestors().take_while(|folder| folder.starts_with(root));
    let mut folders: Vec<PathBuf> = within.map(|folder| folder.join(name)).collect();
    folders.reverse();
    folders
}

/// The JSON files of a folder, by name; none if there is no such folder. One that cannot be read may hold guards.
pub fn json_files(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let entries = match becket_fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(Vec::new());
        }
        Err(error) => {
            let why = format!("cannot read the folder {}: {error}", folder.display());
            return Err(CliError::usage(why).hint("it may contain guards"));
        }
    };
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// The manifest of a plugin; `null` if there is none. One that cannot be read may name guards.
pub fn manifest(file: &Path) -> Result<Value, CliError> {
    let unread = |why: String| CliError::usage(format!("cannot read {}: {why}", file.display()));
    match read_regular(file, MOST_BYTES) {
        Ok(text) => {
            let text = text.trim_start_matches('\u{feff}');
            serde_json::from_str(text).map_err(|error| unread(error.to_string()))
        }
        Err(error) if error.is_absence() => Ok(Value::Null),
        Err(error) => Err(unread(error.to_string())),
    }
}

/// The files of a user's plugin that hold hooks: those that its manifest names, the manifest itself if it holds them,
/// else the usual one.
pub fn files_of_plugin(plugin: &Path, (manifest, said): (&Path, &Value), usual: &str) -> Vec<PathBuf> {
    match said.get("hooks") {
        None | Some(Value::Null) => vec![plugin.join(usual)],
        Some(hooks) => match named(hooks) {
            Some(names) => names.iter().map(|(_, name)| plugin.join(name)).collect(),
            None => vec![manifest.to_path_buf()],
        },
    }
}

/// The files with hooks that a plugin's manifest names and that are not there. They may have held guards.
pub fn missing_of_plugin(plugin: &Path, (manifest, said): (&Path, &Value)) -> Vec<Dropped> {
    let named = said.get("hooks").and_then(named).unwrap_or_default().into_iter();
    let missing = named.filter(|(_, name)| !becket_fs::is_file(plugin.join(name)));
    let source = Arc::new(Source {
        file: manifest.to_path_buf(),
        owner: Owner::User,
        plugin: Some(plugin.to_path_buf().into()),
    });
    let dropped = |(pointer, name): (String, &str)| Dropped {
        source: Arc::clone(&source),
        pointer,
        reason: format!("there is no file {}", plugin.join(name).display()),
        guards: true,
    };
    missing.map(dropped).collect()
}

/// The names of files in what a manifest says about hooks, each with its place there; `None` if hooks stand there.
fn named(hooks: &Value) -> Option<Vec<(String, &str)>> {
    match hooks {
        Value::String(name) => Some(vec![("/hooks".to_owned(), name.as_str())]),
        Value::Array(names) => {
            let names = names.iter().enumerate();
            names
                .map(|(at, name)| Some((format!("/hooks/{at}"), name.as_str()?)))
                .collect()
        }
        _ => None,
    }
}
