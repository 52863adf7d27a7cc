//! Where Cursor keeps hooks and permission rules: `hooks.json` of the machine, the project and the user, and plugins;
//! `cli.json` of the project and `cli-config.json` of the user.

use std::path::{Path, PathBuf};

use becket_hook_files::{
    Dropped, Owner, Source, files_of_plugin, manifest, missing_of_plugin, project_folders,
};
use becket_host::GuestSearch;
use becket_system::CliError;

/// Where whoever manages the machine puts hooks.
const MACHINE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/Cursor/hooks.json"
} else {
    "/etc/cursor/hooks.json"
};

/// Where a plugin describes itself.
pub const MANIFEST: &str = ".cursor-plugin/plugin.json";

/// Where a plugin keeps its hooks, if its manifest does not say it.
const PLUGIN_HOOKS: &str = "hooks/hooks.json";

/// Where plugins of the user are, in the user's folder.
const PLUGINS: &str = "plugins/local";

/// Files with permission rules, of a project and of the user. They hold no hooks.
const RULES: [&str; 2] = ["cli.json", "cli-config.json"];

/// The variables that name the folder with the user's settings, and one with such folders.
const CONFIG_FOLDERS: (&str, &str) = ("CURSOR_CONFIG_DIR", "XDG_CONFIG_HOME");

/// Whether a file holds permission rules and no hooks, by its name.
pub fn holds_rules(file: &Path) -> bool {
    RULES.iter().any(|name| file.ends_with(name))
}

/// Whether a file is one of Cursor's, by its name.
pub fn is_file(file: &Path) -> bool {
    let is_of_plugin = || {
        let folder = file.parent().and_then(Path::parent).and_then(Path::parent);
        file.ends_with("hooks/hooks.json")
            && folder.is_some_and(|folder| folder.ends_with(".cursor/plugins/local"))
    };
    let is_of_rules = || {
        RULES
            .iter()
            .any(|name| file.ends_with(Path::new(".cursor").join(name)))
    };
    file.ends_with(".cursor/hooks.json") || is_of_rules() || is_of_plugin()
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
            add(folder.join(RULES[0]), Owner::Project, None);
        }
    }
    for folder in config_folders(place, user.as_deref()) {
        add(folder.join(RULES[1]), Owner::User, None);
    }
    if let Some(user) = &user {
        add(user.join("hooks.json"), Owner::User, None);
        for plugin in plugins(&user.join(PLUGINS)) {
            let manifest_file = plugin.join(MANIFEST);
            let said = manifest(&manifest_file)?;
            for file in files_of_plugin(&plugin, (&manifest_file, &said), PLUGIN_HOOKS) {
                add(file, Owner::User, Some(plugin.clone().into()));
            }
        }
    }
    Ok(sources)
}

/// The folders in which the user's settings may be. Which of them counts depends on the machine; what one of them
/// denies is denied.
fn config_folders(place: &GuestSearch<'_>, user: Option<&Path>) -> Vec<PathBuf> {
    let named = |name: &str| {
        let value = place
            .surroundings
            .variable(name)
            .filter(|value| !value.is_empty());
        value.map(|folder| place.surroundings.cwd.join(folder))
    };
    let (own, of_all) = CONFIG_FOLDERS;
    let folders = [
        user.map(Path::to_path_buf),
        named(own),
        named(of_all).map(|folder| folder.join("cursor")),
    ];
    let mut folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
    folders.dedup();
    folders
}

/// What manifests of plugins name and what is not there.
pub fn missing(place: &GuestSearch<'_>) -> Vec<Dropped> {
    let home = place.surroundings.variable("HOME");
    let plugins = home.map(|home| plugins(&PathBuf::from(home).join(".cursor").join(PLUGINS)));
    let missing = plugins.iter().flatten().flat_map(|plugin| {
        let file = plugin.join(MANIFEST);
        // What cannot be read at all has ended the run.
        let said = manifest(&file).unwrap_or_default();
        missing_of_plugin(plugin, (&file, &said))
    });
    missing.collect()
}

/// The folders of plugins.
fn plugins(folder: &Path) -> Vec<PathBuf> {
    let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}
