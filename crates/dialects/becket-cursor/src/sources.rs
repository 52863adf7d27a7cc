//! Where Cursor keeps hooks: `hooks.json` of the machine, the project and the user, and plugins.

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
            let manifest_file = plugin.join(MANIFEST);
            let said = manifest(&manifest_file)?;
            for file in files_of_plugin(&plugin, (&manifest_file, &said), PLUGIN_HOOKS) {
                add(file, Owner::User, Some(plugin.clone().into()));
            }
        }
    }
    Ok(sources)
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
