//! Where Copilot keeps hooks: policies of the machine, files of the user and the project, and plugins.
//!
//! Copilot also reads the settings of another agent in a project. Those hooks are left to that agent's own dialect, so
//! that they run once.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use becket_hook_files::{Owner, Source, json_files};
use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;
use serde_json::Value;

/// Where whoever manages the machine puts hooks.
const MACHINE: &str = "/etc/github-copilot/policy.d";

/// The variable that names the user's folder.
const FOLDER: &str = "COPILOT_HOME";

/// The files of a project with settings.
const SETTINGS: &[&str] = &[
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
];

/// The largest list of plugins that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Whether a file is one of Copilot's, by its name.
pub fn is_file(file: &Path) -> bool {
    let is_json = file.extension().is_some_and(|ending| ending == "json");
    let is_hooks = file
        .parent()
        .is_some_and(|folder| folder.ends_with(".github/hooks"));
    (is_json && is_hooks) || SETTINGS.iter().any(|name| file.ends_with(name))
}

/// The files with hooks, in the order in which they count.
pub fn sources(place: &GuestSearch<'_>) -> Result<Vec<Source>, CliError> {
    let mut sources = Vec::new();
    let mut add = |file: PathBuf, owner, plugin: Option<&Path>| {
        if becket_fs::symlink_metadata(&file).is_ok() {
            let plugin = plugin.map(|root| root.to_path_buf().into());
            sources.push(Source { file, owner, plugin });
        }
    };
    for file in json_files(Path::new(MACHINE))? {
        is_policy(&file)?;
        add(file, Owner::Machine, None);
    }
    let user = user_folder(place);
    if let Some(user) = &user {
        for file in json_files(&user.join("hooks"))? {
            add(file, Owner::User, None);
        }
        add(user.join("settings.json"), Owner::User, None);
    }
    let root = place.trust.root();
    for file in json_files(&root.join(".github/hooks"))? {
        add(file, Owner::Project, None);
    }
    for name in SETTINGS {
        add(root.join(name), Owner::Project, None);
    }
    for plugin in user.iter().flat_map(|user| plugins(user)) {
        let files = ["hooks.json", "hooks/hooks.json"].map(|name| plugin.join(name));
        if let Some(file) = files.into_iter().find(|file| becket_fs::is_file(file)) {
            add(file, Owner::User, Some(&plugin));
        }
    }
    Ok(sources)
}

/// Checks that only the machine's owner can change a policy. Copilot ignores others, and then a guard would be missing.
fn is_policy(file: &Path) -> Result<(), CliError> {
    let metadata = becket_fs::metadata(file);
    match metadata {
        Ok(metadata) if metadata.uid() == 0 && metadata.mode() & 0o022 == 0 => Ok(()),
        _ => Err(CliError::usage(format!(
            "{} is a policy that others than the machine's owner can change",
            file.display()
        ))
        .hint("make it a file of root that nobody else can write")),
    }
}

/// The user's folder.
fn user_folder(place: &GuestSearch<'_>) -> Option<PathBuf> {
    let named = place
        .surroundings
        .variable(FOLDER)
        .filter(|named| !named.is_empty());
    let named = named.map(|folder| place.surroundings.cwd.join(folder));
    named.or_else(|| Some(PathBuf::from(place.surroundings.variable("HOME")?).join(".copilot")))
}

/// The folders of the plugins that the user has installed and not disabled. They stand below the names of their
/// marketplaces.
fn plugins(user: &Path) -> Vec<PathBuf> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| becket_fs::is_dir(path))
            .collect();
        folders.sort();
        folders
    };
    let state = read_regular(&user.join("config.json"), MOST_BYTES).ok();
    let state = state
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .unwrap_or_default();
    let marketplaces = folders(&user.join("installed-plugins"));
    let plugins = marketplaces.iter().flat_map(|marketplace| folders(marketplace));
    plugins.filter(|plugin| !is_disabled(&state, plugin)).collect()
}

/// Whether the user has disabled a plugin.
fn is_disabled(state: &Value, plugin: &Path) -> bool {
    let name = plugin.file_name().unwrap_or_default().to_string_lossy();
    let installed = state.get("installed_plugins").or(state.get("installedPlugins"));
    let installed = installed.and_then(Value::as_array).into_iter().flatten();
    let mut same = installed.filter(|entry| entry.get("name").and_then(Value::as_str) == Some(&*name));
    same.any(|entry| entry.get("enabled").and_then(Value::as_bool) == Some(false))
}
