//! Where Codex keeps hooks: files of the machine, the user and the project, and plugins.
//!
//! Settings that come from a device manager or from the cloud, and those of a command line, are in no file and are not
//! found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hook_files::{
    Dropped, Owner, ServerEntry, Source, files_of_plugin, manifest, missing_of_plugin, project_folders,
    server_entries,
};
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
    let plugins = user.iter().flat_map(|user| plugins(user));
    for plugin in plugins.filter_map(|(_, folder)| folder) {
        let manifest_file = manifest_of(&plugin);
        let said = manifest(&manifest_file)?;
        for file in files_of_plugin(&plugin, (&manifest_file, &said), PLUGIN_HOOKS) {
            add(file, Owner::User, Some(&plugin));
        }
    }
    Ok(sources)
}

/// Plugins that are enabled and not there, and what manifests of others name and what is not there.
pub fn missing(place: &GuestSearch<'_>) -> Vec<Dropped> {
    let Some(user) = user_folder(place) else {
        return Vec::new();
    };
    let settings = Arc::new(Source {
        file: user.join("config.toml"),
        owner: Owner::User,
        plugin: None,
    });
    let missing = plugins(&user).into_iter().flat_map(|(name, folder)| match folder {
        Some(plugin) => {
            let file = manifest_of(&plugin);
            // What cannot be read at all has ended the run.
            let said = manifest(&file).unwrap_or_default();
            missing_of_plugin(&plugin, (&file, &said))
        }
        // Codex has nothing to load there.
        None => vec![Dropped {
            source: Arc::clone(&settings),
            pointer: format!("/plugins/{}", name.replace('~', "~0").replace('/', "~1")),
            reason: "the plugin is enabled and not installed, so its hooks do not run, as in Codex: install it, or \
                     set its `enabled` to false"
                .to_owned(),
            guards: false,
        }],
    });
    missing.collect()
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

/// The plugins that the user has enabled, by name, each with its folder if it is installed.
fn plugins(user: &Path) -> Vec<(String, Option<PathBuf>)> {
    let settings = read_regular(&user.join("config.toml"), MOST_BYTES).ok();
    let settings = settings.and_then(|text| parse_toml::<Value>(&text).ok());
    let named = settings
        .as_ref()
        .and_then(|settings| settings.get("plugins")?.as_object());
    let enabled = named.into_iter().flatten();
    let enabled = enabled.filter(|(_, plugin)| plugin.get("enabled").and_then(Value::as_bool) != Some(false));
    let mut plugins: Vec<_> = enabled
        .map(|(name, _)| (name.clone(), installed(user, name)))
        .collect();
    plugins.sort_by(|one, other| one.1.cmp(&other.1));
    plugins
}

/// The folder of a plugin, by its name and that of its marketplace.
fn installed(user: &Path, name: &str) -> Option<PathBuf> {
    let (plugin, marketplace) = name.split_once('@')?;
    let is_name = |name: &str| !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    (is_name(plugin) && is_name(marketplace)).then_some(())?;
    newest(&user.join("plugins/cache").join(marketplace).join(plugin))
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

/// The file in which a plugin describes itself.
fn manifest_of(plugin: &Path) -> PathBuf {
    let mut manifests = MANIFESTS.iter().map(|name| plugin.join(name));
    let first = manifests.clone().next().unwrap_or_default();
    manifests.find(|file| becket_fs::is_file(file)).unwrap_or(first)
}
