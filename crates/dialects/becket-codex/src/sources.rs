//! Where Codex keeps hooks: files of the machine, the user and the project, and plugins.
//!
//! Settings that come from a device manager or from the cloud, and those of a command line, are in no file and are not
//! found.

use std::path::{Path, PathBuf};

use becket_hook_files::{Owner, ServerEntry, Source, project_folders, server_entries};
use becket_hooks::parse_toml;
use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;
use serde_json::Value;

/// Where whoever manages the machine puts settings.
const MACHINE: &str = "/etc/codex";

/// The variable that names the user's folder.
const FOLDER: &str = "CODEX_HOME";

/// The largest settings file that is read for its plugins.
const MOST_BYTES: u64 = 1024 * 1024;

/// The version of a plugin that counts before all others.
const LOCAL: &str = "local";

/// A plugin's hooks, if its manifest names none.
const PLUGIN_HOOKS: &str = "hooks/hooks.json";

/// Where a plugin describes itself.
const MANIFESTS: &[&str] = &[".codex-plugin/plugin.json", ".claude-plugin/plugin.json"];

/// Whether a file is one of Codex's, by its name.
pub fn is_file(file: &Path) -> bool {
    file.ends_with(".codex/hooks.json") || file.ends_with(".codex/config.toml")
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
    let machine = Path::new(MACHINE);
    for name in ["requirements.toml", "hooks.json", "config.toml"] {
        add(machine.join(name), Owner::Machine, None);
    }
    let user = user_folder(place);
    for name in ["hooks.json", "config.toml"] {
        if let Some(user) = &user {
            add(user.join(name), Owner::User, None);
        }
    }
    for folder in project_folders(place, ".codex") {
        // The user's own folder is not a project's, wherever the program was started.
        if user.as_deref() == Some(&folder) {
            continue;
        }
        for name in ["hooks.json", "config.toml"] {
            add(folder.join(name), Owner::Project, None);
        }
    }
    add(machine.join("managed_config.toml"), Owner::Machine, None);
    for plugin in user.iter().flat_map(|user| plugins(user)) {
        for file in plugin_files(&plugin) {
            add(file, Owner::User, Some(&plugin));
        }
    }
    Ok(sources)
}

/// The servers in the settings of the machine, the user and the project.
pub fn servers(place: &GuestSearch<'_>) -> Vec<ServerEntry> {
    let sources = sources(place).unwrap_or_default().into_iter();
    let settings = sources.filter(|source| source.file.extension().is_some_and(|ending| ending == "toml"));
    let servers = settings.flat_map(|source| {
        let text = read_regular(&source.file, MOST_BYTES).ok();
        let value = text.and_then(|text| parse_toml::<Value>(&text).ok());
        let servers = value.as_ref().and_then(|value| value.get("mcp_servers"));
        server_entries(&source, servers)
    });
    servers.collect()
}

/// The user's folder.
fn user_folder(place: &GuestSearch<'_>) -> Option<PathBuf> {
    let named = place
        .surroundings
        .variable(FOLDER)
        .filter(|named| !named.is_empty());
    let named = named.map(|folder| place.surroundings.cwd.join(folder));
    named.or_else(|| Some(PathBuf::from(place.surroundings.variable("HOME")?).join(".codex")))
}

/// The folders of the plugins that the user has installed and enabled.
fn plugins(user: &Path) -> Vec<PathBuf> {
    let settings = read_regular(&user.join("config.toml"), MOST_BYTES).ok();
    let settings = settings.and_then(|text| parse_toml::<Value>(&text).ok());
    let named = settings
        .as_ref()
        .and_then(|settings| settings.get("plugins")?.as_object());
    let enabled = named.into_iter().flatten();
    let enabled = enabled.filter(|(_, plugin)| plugin.get("enabled").and_then(Value::as_bool) != Some(false));
    let mut folders: Vec<PathBuf> = enabled
        .filter_map(|(name, _)| {
            let (plugin, marketplace) = name.split_once('@')?;
            let is_name = |name: &str| !name.is_empty() && !name.contains('/') && !name.starts_with('.');
            (is_name(plugin) && is_name(marketplace)).then_some(())?;
            newest(&user.join("plugins/cache").join(marketplace).join(plugin))
        })
        .collect();
    folders.sort();
    folders
}

/// The folder of the version of a plugin that counts.
fn newest(plugin: &Path) -> Option<PathBuf> {
    let entries = becket_fs::read_dir(plugin).ok()?.flatten();
    let folders = entries
        .map(|entry| entry.path())
        .filter(|path| becket_fs::is_dir(path));
    let number = |path: &PathBuf| -> Vec<u64> {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.split(['.', '-', '+'])
            .map(|part| part.parse().unwrap_or(0))
            .collect()
    };
    folders.max_by_key(|path| (path.ends_with(LOCAL), number(path), path.clone()))
}

/// The files in which a plugin keeps hooks: those that its manifest names, the manifest itself, or the usual one.
fn plugin_files(plugin: &Path) -> Vec<PathBuf> {
    let usual = || vec![plugin.join(PLUGIN_HOOKS)];
    let manifests = MANIFESTS.iter().map(|name| plugin.join(name));
    let Some(manifest) = manifests.into_iter().find(|file| becket_fs::is_file(file)) else {
        return usual();
    };
    let text = read_regular(&manifest, MOST_BYTES).ok();
    let value = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let named = value.as_ref().and_then(|value| value.get("hooks"));
    let path = |name: &str| plugin.join(name.trim_start_matches("./"));
    match named {
        None | Some(Value::Null) => usual(),
        Some(Value::String(name)) => vec![path(name)],
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).map(path).collect()
        }
        Some(_) => vec![manifest],
    }
}
