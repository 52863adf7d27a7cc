//! Where Gemini CLI keeps hooks: settings of the user, the project and the machine, and extensions.

use std::path::{Path, PathBuf};

use becket_hook_files::{Owner, Source, project_folders};
use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;
use serde_json::Value;

/// Where whoever manages the machine puts settings.
const MACHINE: &str = "/etc/gemini-cli/settings.json";

/// The variable that names a folder in place of the user's home.
const HOME: &str = "GEMINI_CLI_HOME";

/// The description of an extension, which may exclude tools. It holds no hooks.
pub const MANIFEST: &str = "gemini-extension.json";

/// The largest list of extensions that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Whether a file is one of Gemini CLI's, by its name.
pub fn is_file(file: &Path) -> bool {
    let is_of_extension = || {
        let folder = file.parent().and_then(Path::parent).and_then(Path::parent);
        file.ends_with("hooks/hooks.json")
            && folder.is_some_and(|folder| folder.ends_with(".gemini/extensions"))
    };
    file.ends_with(".gemini/settings.json") || is_of_extension()
}

/// The files with hooks, in the order in which they count.
pub fn sources(place: &GuestSearch<'_>) -> Result<Vec<Source>, CliError> {
    let mut sources = Vec::new();
    let mut add = |file: PathBuf, owner, plugin| {
        if becket_fs::symlink_metadata(&file).is_ok() {
            sources.push(Source { file, owner, plugin });
        }
    };
    let user = user_folder(place);
    if let Some(user) = &user {
        add(user.join("settings.json"), Owner::User, None);
    }
    for folder in project_folders(place, ".gemini") {
        // The user's own folder is not a project's, wherever the program was started.
        if user.as_deref() != Some(&folder) {
            add(folder.join("settings.json"), Owner::Project, None);
        }
    }
    add(MACHINE.into(), Owner::Machine, None);
    let extensions = user
        .iter()
        .flat_map(|user| extensions(user, &place.surroundings.cwd));
    for extension in extensions {
        for name in [MANIFEST, "hooks/hooks.json"] {
            add(extension.join(name), Owner::User, Some(extension.clone().into()));
        }
    }
    Ok(sources)
}

/// The user's folder.
fn user_folder(place: &GuestSearch<'_>) -> Option<PathBuf> {
    let home = place.surroundings.variable(HOME);
    let home = home.or_else(|| place.surroundings.variable("HOME"))?;
    Some(place.surroundings.cwd.join(home).join(".gemini"))
}

/// The folders of the extensions that the user has installed and not disabled for this directory.
fn extensions(user: &Path, cwd: &Path) -> Vec<PathBuf> {
    let folder = user.join("extensions");
    let rules = read_regular(&folder.join("extension-enablement.json"), MOST_BYTES).ok();
    let rules: Value = rules
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let entries = becket_fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| becket_fs::is_file(path.join(MANIFEST)))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let rules = rules
                .get(&*name)
                .and_then(|rules| rules.get("overrides")?.as_array());
            let rules = rules.into_iter().flatten().filter_map(Value::as_str);
            is_enabled(rules, cwd)
        })
        .collect();
    folders.sort();
    folders
}

/// Whether an extension is enabled in a directory: the last rule about the directory decides. `!` in front of a folder
/// disables, and `*` behind it means what is below too.
pub fn is_enabled<'a>(rules: impl Iterator<Item = &'a str>, cwd: &Path) -> bool {
    let cwd = format!("{}/", cwd.display().to_string().trim_end_matches('/'));
    rules.fold(true, |enabled, rule| {
        let (folder, enables) = match rule.strip_prefix('!') {
            Some(folder) => (folder, false),
            None => (rule, true),
        };
        let is_meant = match folder.strip_suffix('*') {
            Some(above) => cwd.starts_with(above),
            None => cwd == folder,
        };
        if is_meant { enables } else { enabled }
    })
}
