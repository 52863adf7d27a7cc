//! Where Claude Code keeps hooks: settings of the machine, the user and the project, plugins, and the front matter of
//! agents, skills and commands.

use std::path::{Path, PathBuf};

use becket_hook_files::{
    Owner, ServerEntry, Source, is_markdown, json_files, project_folders, server_entries,
};
use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;
use serde_json::Value;

use crate::texts::FOLDERS;

/// Where whoever manages the machine puts settings.
const MACHINE: &str = "/etc/claude-code";

/// The variable that names the user's folder.
const FOLDER: &str = "CLAUDE_CONFIG_DIR";

/// The largest list of plugins that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// How deep folders of agents, skills and commands are searched.
const DEEPEST: usize = 3;

/// Whether a file is one of Claude Code's, by its name.
pub fn is_file(file: &Path) -> bool {
    let ends = |end: &str| file.ends_with(end);
    let is_text = || {
        let within = file.ancestors().skip(1);
        let folders = FOLDERS
            .iter()
            .map(|(folder, _)| Path::new(".claude").join(folder));
        is_markdown(file)
            && folders
                .into_iter()
                .any(|folder| within.clone().any(|above| above.ends_with(&folder)))
    };
    // A hidden folder with such a file is another system's own, and no plugin.
    let is_of_plugin = || {
        let root = file.parent().and_then(Path::parent).and_then(Path::file_name);
        let is_hidden = root.is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        ends("hooks/hooks.json") && !is_hidden
    };
    ends(".claude/settings.json") || ends(".claude/settings.local.json") || is_of_plugin() || is_text()
}

/// The agents, skills and commands in a folder, by name.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (name, kind) in FOLDERS {
        let mut folders = vec![(folder.join(name), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
            for path in entries.map(|entry| entry.path()) {
                let is_folder = becket_fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
        let mut seen = HashSet::new();
        let mut is_new = |folder: &Path| becket_fs::canonicalize(folder).is_ok_and(|real| seen.insert(real));
                let is_named = kind.is_none_or(|kind| path.ends_with(kind));
                match becket_fs::is_dir(&path) {
                    // A link may lead back to a folder that was seen.
                    true if depth < DEEPEST && is_new(&path) => folders.push((path, depth + 1)),
                    false if is_markdown(&path) && is_named => found.push(path),
                    _ => {}
                }
            }
        }
    }
    found.sort();
    found
}

/// The settings of whoever manages the machine, whether they are there or not.
pub fn managed_settings() -> Vec<PathBuf> {
    let machine = Path::new(MACHINE);
    let mut files = vec![machine.join("managed-settings.json")];
    files.extend(json_files(&machine.join("managed-settings.d")));
    files
}

/// The files with hooks, in the order in which they count.
pub fn sources(place: &GuestSearch<'_>) -> Result<Vec<Source>, CliError> {
    let mut sources = Vec::new();
    let mut add = |file: PathBuf, owner, plugin| {
        if becket_fs::symlink_metadata(&file).is_ok() {
            sources.push(Source { file, owner, plugin });
        }
    };
    for file in managed_settings() {
        add(file, Owner::Machine, None);
    }
    let user = user_folder(place);
    if let Some(user) = &user {
        add(user.join("settings.json"), Owner::User, None);
        texts(user)
            .into_iter()
            .for_each(|file| add(file, Owner::User, None));
    }
    for folder in project_folders(place, ".claude") {
        // The user's own folder is not a project's, wherever the program was started.
        if user.as_deref() == Some(&folder) {
            continue;
        }
        for name in ["settings.json", "settings.local.json"] {
            add(folder.join(name), Owner::Project, None);
        }
        let texts = texts(&folder).into_iter();
        texts.for_each(|file| add(file, Owner::Project, None));
    }
    if let Some(user) = &user {
        for plugin in plugins(user)? {
            for file in plugin_files(&plugin)? {
                add(file, Owner::User, Some(plugin.clone()));
            }
            let texts = texts(&plugin).into_iter();
            texts.for_each(|file| add(file, Owner::User, Some(plugin.clone())));
        }
    }
    Ok(sources)
}

/// The servers of the user, of the user for this project, of plugins and of the project. A project's server never takes
/// the place of the user's.
pub fn servers(place: &GuestSearch<'_>) -> Vec<ServerEntry> {
    let Some(user) = user_folder(place) else {
        return Vec::new();
    };
    // The file lies beside the usual folder, and in one that the variable names.
    let file = match place.surroundings.variable(FOLDER) {
        Some(_) => user.join(".claude.json"),
        None => user.with_file_name(".claude.json"),
    };
    let read = |file: PathBuf, owner| {
        let value = json_of(&file).ok().flatten().unwrap_or_default();
        let plugin = None;
        (Source { file, owner, plugin }, value)
    };
    let (source, value) = read(file, Owner::User);
    let project = value
        .get("projects")
        .and_then(|projects| projects.get(&*place.trust.root().to_string_lossy()));
    let mut servers = server_entries(&source, project.and_then(|project| project.get("mcpServers")));
    servers.extend(server_entries(&source, value.get("mcpServers")));
    for plugin in plugins(&user).unwrap_or_default() {
        let (source, value) = read(plugin.join(".mcp.json"), Owner::User);
        servers.extend(server_entries(&source, value.get("mcpServers").or(Some(&value))));
        let (source, value) = read(plugin.join(".claude-plugin/plugin.json"), Owner::User);
        servers.extend(server_entries(&source, value.get("mcpServers")));
    }
    let (source, value) = read(place.trust.root().join(".mcp.json"), Owner::Project);
    servers.extend(server_entries(&source, value.get("mcpServers")));
    servers
}

/// The user's folder.
fn user_folder(place: &GuestSearch<'_>) -> Option<PathBuf> {
    let named = place.surroundings.variable(FOLDER);
    let named = named.map(|folder| place.surroundings.cwd.join(folder));
    named.or_else(|| Some(PathBuf::from(place.surroundings.variable("HOME")?).join(".claude")))
}

/// The folders of the plugins that the user has installed and enabled. What a project says about them does not count:
/// it could switch off a guard.
fn plugins(user: &Path) -> Result<Vec<PathBuf>, CliError> {
    let settings = json_of(&user.join("settings.json"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let enabled = settings.get("enabledPlugins").and_then(Value::as_object);
    let enabled = enabled
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.as_bool() == Some(true));
    let enabled: Vec<&str> = enabled.map(|(name, _)| name.as_str()).collect();
    if enabled.is_empty() {
        return Ok(Vec::new());
    }
    // A list that cannot be read may name guards.
    let list = user.join("plugins/installed_plugins.json");
    let unread = |why: String| CliError::usage(format!("cannot read {}: {why}", list.display()));
    let installed = json_of(&list).map_err(unread)?.unwrap_or_default();
    let mut folders = Vec::new();
    for name in enabled {
        let copies = installed.get("plugins").and_then(|plugins| plugins.get(name));
        let copies = match copies {
            Some(Value::Array(copies)) => copies.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let mut paths = copies.iter().filter_map(|copy| copy.get("installPath")?.as_str());
        folders.extend(paths.next_back().map(PathBuf::from));
    }
    Ok(folders)
}

/// The files of a plugin that hold hooks.
fn plugin_files(plugin: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !becket_fs::is_dir(plugin) {
        return Err(CliError::usage(format!(
            "the plugin in {} is enabled, and there is no such folder",
            plugin.display()
        ))
        .hint("install it again, or switch it off in `enabledPlugins`"));
    }
    let manifest = plugin.join(".claude-plugin/plugin.json");
    let unread = |why: String| CliError::usage(format!("cannot read {}: {why}", manifest.display()));
    let declared = json_of(&manifest).map_err(unread)?.unwrap_or_default();
    let mut files = vec![plugin.join("hooks/hooks.json")];
    match declared.get("hooks") {
        Some(Value::String(file)) => files.push(plugin.join(file)),
        Some(Value::Array(others)) => {
            files.extend(
                others
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|file| plugin.join(file)),
            );
        }
        Some(Value::Object(_)) => files.push(manifest),
        _ => {}
    }
    files.dedup();
    Ok(files)
}

/// The content of a JSON file; `None` if there is none.
fn json_of(file: &Path) -> Result<Option<Value>, String> {
    match read_regular(file, MOST_BYTES) {
        Ok(text) => serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map(Some)
            .map_err(|error| error.to_string()),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
