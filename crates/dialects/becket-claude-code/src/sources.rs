//! Where Claude Code keeps hooks: settings of the machine, the user and the project, plugins, and the front matter of
//! agents, skills and commands.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hook_files::{
    Dropped, Owner, Plugin, ServerEntry, Source, is_markdown, json_files, project_folders, server_entries,
};
use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;
use serde_json::{Map, Value};

use crate::texts::FOLDERS;

/// Where whoever manages the machine puts settings.
const MACHINE: &str = "/etc/claude-code";

/// The variable that names the user's folder.
const FOLDER: &str = "CLAUDE_CONFIG_DIR";

/// The description of a plugin.
pub const MANIFEST: &str = ".claude-plugin/plugin.json";

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
        let mut seen = HashSet::new();
        let mut is_new = |folder: &Path| becket_fs::canonicalize(folder).is_ok_and(|real| seen.insert(real));
        let mut folders = vec![(folder.join(name), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
            for path in entries.map(|entry| entry.path()) {
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
pub fn managed_settings() -> Result<Vec<PathBuf>, CliError> {
    let machine = Path::new(MACHINE);
    let mut files = vec![machine.join("managed-settings.json")];
    files.extend(json_files(&machine.join("managed-settings.d"))?);
    Ok(files)
}

/// The files with hooks, in the order in which they count.
pub fn sources(place: &GuestSearch<'_>) -> Result<Vec<Source>, CliError> {
    let mut sources = Vec::new();
    let mut add = |file: PathBuf, owner, plugin| {
        if becket_fs::symlink_metadata(&file).is_ok() {
            sources.push(Source { file, owner, plugin });
        }
    };
    for file in managed_settings()? {
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
    for enabled in enabled_plugins(place)? {
        let Some(root) = &enabled.folder else { continue };
        let (files, options) = plugin_files(root, &enabled)?;
        let plugin = Plugin {
            root: root.clone(),
            options,
        };
        let texts = texts(root).into_iter();
        for file in files.into_iter().chain(texts) {
            add(file, enabled.owner, Some(plugin.clone()));
        }
    }
    Ok(sources)
}

/// Plugins that are enabled and of which nothing can be read, or that only the project has enabled.
pub fn missing(place: &GuestSearch<'_>) -> Vec<Dropped> {
    // What cannot be read at all has ended the run.
    let enabled = enabled_plugins(place).unwrap_or_default();
    let dropped = |name: &str, (file, owner): (&Path, Owner), reason: &str, guards| Dropped {
        source: Arc::new(Source {
            file: file.to_path_buf(),
            owner,
            plugin: None,
        }),
        pointer: format!("/enabledPlugins/{}", name.replace('~', "~0").replace('/', "~1")),
        reason: reason.to_owned(),
        guards,
    };
    let not_installed = enabled.iter().filter(|enabled| enabled.folder.is_none());
    let mut missing: Vec<Dropped> = not_installed
        .map(|Enabled { name, settings, owner, .. }| {
            let reason = "the plugin is enabled and not installed, so its hooks do not run, as in Claude Code: \
                          install it, or set this to false";
            // Claude Code has nothing to load there. Whoever manages the machine wants the plugin all the same.
            dropped(name, (settings, *owner), reason, *owner == Owner::Machine)
        })
        .collect();
    let user = user_folder(place);
    let own = user.as_ref().map(|user| enabled_in(&user.join("settings.json")));
    let own = own.unwrap_or_default();
    let folders = project_folders(place, ".claude").into_iter();
    for folder in folders.filter(|folder| user.as_ref() != Some(folder)) {
        for file in ["settings.json", "settings.local.json"].map(|name| folder.join(name)) {
            let of_project = enabled_in(&file).into_iter();
            let unknown = of_project.filter(|(name, is_enabled)| {
                let is_decided =
                    own.contains_key(name) || enabled.iter().any(|enabled| enabled.name == *name);
                *is_enabled && !is_decided
            });
            let reason = "a project enables no plugins here, so its hooks do not run: enable it in your own \
                          settings if you want them";
            missing.extend(unknown.map(|(name, _)| dropped(&name, (&file, Owner::Project), reason, false)));
        }
    }
    missing
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
    let plugins = enabled_plugins(place).unwrap_or_default().into_iter();
    for plugin in plugins.filter_map(|enabled| enabled.folder) {
        let (source, value) = read(plugin.join(".mcp.json"), Owner::User);
        servers.extend(server_entries(&source, value.get("mcpServers").or(Some(&value))));
        let (source, value) = read(plugin.join(MANIFEST), Owner::User);
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

/// A plugin that is enabled.
struct Enabled {
    /// Its name, with that of its marketplace.
    name: String,
    /// Who has enabled it.
    owner: Owner,
    /// The file that says so.
    settings: PathBuf,
    /// The plugin's folder, if it is installed.
    folder: Option<PathBuf>,
    /// What the user, or whoever manages the machine, has chosen for it.
    options: Map<String, Value>,
}

/// The plugins that a file of settings enables and disables.
fn enabled_in(settings: &Path) -> BTreeMap<String, bool> {
    let settings = json_of(settings).ok().flatten().unwrap_or_default();
    let enabled = settings.get("enabledPlugins").and_then(Value::as_object);
    let enabled = enabled.into_iter().flatten();
    let is_enabled = |value: &Value| match value {
        Value::Bool(is_enabled) => Some(*is_enabled),
        // The versions that it is enabled at.
        Value::Array(_) => Some(true),
        _ => None,
    };
    enabled
        .filter_map(|(name, value)| Some((name.clone(), is_enabled(value)?)))
        .collect()
}

/// The plugins that the user or whoever manages the machine has enabled; the latter has the last word. What a project
/// says about them does not count: it could switch off a guard.
fn enabled_plugins(place: &GuestSearch<'_>) -> Result<Vec<Enabled>, CliError> {
    let Some(user) = user_folder(place) else {
        return Ok(Vec::new());
    };
    let files = managed_settings()?.into_iter().map(|file| (file, Owner::Machine));
    let files: Vec<_> = files.chain([(user.join("settings.json"), Owner::User)]).collect();
    let mut decided: BTreeMap<String, Option<(PathBuf, Owner)>> = BTreeMap::new();
    for (file, owner) in &files {
        for (name, is_enabled) in enabled_in(file) {
            let place = is_enabled.then(|| (file.clone(), *owner));
            decided.entry(name).or_insert(place);
        }
    }
    let enabled = decided.into_iter();
    let enabled: Vec<_> = enabled.filter_map(|(name, place)| Some((name, place?))).collect();
    if enabled.is_empty() {
        return Ok(Vec::new());
    }
    // A list that cannot be read may name guards.
    let list = user.join("plugins/installed_plugins.json");
    let unread = |why: String| CliError::usage(format!("cannot read {}: {why}", list.display()));
    let installed = json_of(&list).map_err(unread)?.unwrap_or_default();
    let plugins = enabled.into_iter().map(|(name, (settings, owner))| Enabled {
        folder: installed_folder(&installed, &name, place.trust.root()),
        options: options_in(&files, &name),
        name,
        owner,
        settings,
    });
    Ok(plugins.collect())
}

/// Where a plugin is installed: for this project if it is, else anywhere.
fn installed_folder(installed: &Value, name: &str, project: &Path) -> Option<PathBuf> {
    let copies = match installed.get("plugins").and_then(|plugins| plugins.get(name)) {
        Some(Value::Array(copies)) => copies.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let is_for_others = |copy: &&Value| {
        let project_of = copy.get("projectPath").and_then(Value::as_str);
        project_of.is_some_and(|path| Path::new(path) != project)
    };
    let (others, own): (Vec<_>, Vec<_>) = copies.iter().partition(is_for_others);
    let path = |copy: &&Value| copy.get("installPath").and_then(Value::as_str).map(PathBuf::from);
    own.iter()
        .rev()
        .find_map(path)
        .or_else(|| others.iter().rev().find_map(path))
}

/// The options of a plugin that these files set; the first one counts.
fn options_in(files: &[(PathBuf, Owner)], name: &str) -> Map<String, Value> {
    let mut options = Map::new();
    for (file, _) in files.iter().rev() {
        let settings = json_of(file).ok().flatten().unwrap_or_default();
        let configured = settings.get("pluginConfigs").and_then(|all| all.get(name));
        let configured = configured.and_then(|one| one.get("options")?.as_object());
        options.extend(
            configured
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    options
}

/// The options of a plugin as texts. Claude Code keeps secret ones where only it looks.
fn options_of(manifest: &Value, chosen: &Map<String, Value>) -> BTreeMap<String, Option<String>> {
    let declared = manifest.get("userConfig").and_then(Value::as_object);
    let defaults = declared.into_iter().flatten();
    let defaults = defaults.map(|(key, option)| (key, option.get("default").unwrap_or(&Value::Null)));
    let all = defaults.chain(chosen);
    all.map(|(key, value)| {
        let text = match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        };
        (key.clone(), text)
    })
    .collect()
}

/// The options of a plugin by name; `None` for one that cannot be written into a variable.
type PluginOptions = BTreeMap<String, Option<String>>;

/// The files of a plugin that hold hooks, and its options.
fn plugin_files(plugin: &Path, enabled: &Enabled) -> Result<(Vec<PathBuf>, PluginOptions), CliError> {
    if !becket_fs::is_dir(plugin) {
        return Err(CliError::usage(format!(
            "the plugin in {} is enabled, and there is no such folder",
            plugin.display()
        ))
        .hint("install it again, or switch it off in `enabledPlugins`"));
    }
    let manifest = plugin.join(MANIFEST);
    let unread = |why: String| CliError::usage(format!("cannot read {}: {why}", manifest.display()));
    let declared = json_of(&manifest).map_err(unread)?.unwrap_or_default();
    let options = options_of(&declared, &enabled.options);
    let mut files = vec![plugin.join("hooks/hooks.json")];
    let named = match declared.get("hooks") {
        None | Some(Value::Null) => return Ok((files, options)),
        Some(Value::Array(others)) => others.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    files.extend(
        named
            .iter()
            .filter_map(Value::as_str)
            .map(|file| plugin.join(file)),
    );
    // The description itself holds hooks, or may name a file that is not there.
    files.push(manifest);
    files.dedup();
    Ok((files, options))
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
