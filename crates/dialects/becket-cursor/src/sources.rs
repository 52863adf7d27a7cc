//! Where Cursor keeps hooks: `hooks.json` of the machine, the project and the user, and plugins.

use std::path::{Path, PathBuf};

use becket_hook_files::{Owner, Source, project_folders};
use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;
use serde_json::Value;

/// Where whoever manages the machine puts hooks.
const MACHINE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/Cursor/hooks.json"
} else {
    "/etc/cursor/hooks.json"
};

/// Where a plugin describes itself.
pub const MANIFEST: &str = ".cursor-plugin/plugin.json";

/// The largest manifest that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Where plugins of the user are, in the user's folder.
const PLUGINS: &str = "plugins/local";

/// Whether a file is one of Cursor's, by its name.
pub fn is_file(file: &Path) -> bool {
    let is_of_plugin = || {
        let folder = file.parent().and_then(Path::parent).and_then(Path::parent);
        file.ends_with("hooks/hooks.json")
            && folder.is_some_and(|folder| folder.ends_with(".cursor/plugins/local"))
    };
    file.ends_with(".cursor/hooks.json") || is_of_plugin()
}

/// The files with hooks, in the order in which they count.
pub fn sources(place: &GuestSearch<'_>) -> Result<Vec<Source>, CliError> {
    let mut sources = Vec::new();
    let mut add = |file: PathBuf, owner, plugin| {
        if becket_fs::symlink_metadata(&file).is_ok() {
            sources.push(Source { file, owner, plugin });
        }
    };
    add(MACHINE.into(), Owner::Machine, None);
    let home = place.surroundings.variable("HOME");
    let user = home.map(|home| PathBuf::from(home).join(".cursor"));
    for folder in project_folders(place, ".cursor") {
        // The user's own folder is not a project's, wherever the program was started.
        if user.as_deref() != Some(&folder) {
            add(folder.join("hooks.json"), Owner::Project, None);
        }
    }
    if let Some(user) = &user {
        add(user.join("hooks.json"), Owner::User, None);
        for plugin in plugins(&user.join(PLUGINS)) {
            for file in plugin_files(&plugin)? {
                add(file, Owner::User, Some(plugin.clone().into()));
            }
        }
    }
    Ok(sources)
}

/// The files of a plugin with hooks: those that its manifest names, the manifest itself if it holds them, else the
/// usual one. A manifest that cannot be read may name guards.
fn plugin_files(plugin: &Path) -> Result<Vec<PathBuf>, CliError> {
    let manifest = plugin.join(MANIFEST);
    let unread = |why: String| CliError::usage(format!("cannot read {}: {why}", manifest.display()));
    let declared = match read_regular(&manifest, MOST_BYTES) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?,
        Err(error) if error.is_absence() => Value::Null,
        Err(error) => return Err(unread(error.to_string())),
    };
    let named = |file: &Value| file.as_str().map(|file| plugin.join(file));
    Ok(match declared.get("hooks") {
        None | Some(Value::Null) => vec![plugin.join("hooks/hooks.json")],
        Some(Value::Array(files)) => files.iter().filter_map(named).collect(),
        Some(file @ Value::String(_)) => named(file).into_iter().collect(),
        Some(_) => vec![manifest],
    })
}

/// The folders of plugins.
fn plugins(folder: &Path) -> Vec<PathBuf> {
    let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}
