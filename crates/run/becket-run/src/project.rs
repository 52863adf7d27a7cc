//! What is found in the working directory: the project's root, its settings, its `AGENTS.md` files.
//!
//! Settings are read from the root down, so that those of the repository come before those of a folder in it.
//! `AGENTS.md` is text and needs no trust, but it goes to a provider: only regular files inside of the project of at
//! most 256 KiB are read, and what is left out is said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use becket_hooks::{OwnHook, read_or_mistakes};
use becket_system::files::{Unread, read_regular};
use becket_system::project_root::SETTINGS;
use becket_system::{CliError, Exit};
use becket_trust::{Judged, Kind, TRUST_HINT, Trust, gone};

use crate::config::{PermissionsConfig, ProjectConfig};

/// The largest `becket.toml` that is read.
pub const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

/// The largest `AGENTS.md` that goes to the model.
const MAX_PROMPT_FILE_BYTES: u64 = 256 * 1024;

/// The folders from the root down to the working directory.
fn folders_between(cwd: &Path, root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .map(Path::to_path_buf)
        .collect();
    folders.reverse();
    folders
}

/// A project's settings that count.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// The rules of each file that has some, root first.
    pub permissions: Vec<PermissionsConfig>,
    /// The hooks of all files, root first.
    pub hooks: Vec<OwnHook>,
    /// Hooks that do not count, because they are not trusted.
    pub untrusted_hooks: Vec<OwnHook>,
    /// Everything that the project brings, trusted or not.
    pub things: Vec<Judged>,
    /// What was found but not used, in words for the user.
    pub skipped: Vec<String>,
    /// Why no run may start here.
    pub refusal: Option<CliError>,
}

impl Project {
    /// What would count if it were trusted.
    pub fn untrusted(&self) -> Vec<&Judged> {
        self.things.iter().filter(|judged| !judged.is_trusted()).collect()
    }

    /// Whether the project brings something, and all of it is trusted.
    pub fn is_trusted(&self) -> bool {
        !self.things.is_empty() && self.things.iter().all(Judged::is_trusted)
    }
}

/// Reads every settings file from the root down to the working directory. What stands in them counts only with trust; a
/// guard that is not trusted refuses every run, because running unguarded is not what its author wanted.
pub fn read_project(cwd: &Path, root: &Path, trust: &Trust) -> Project {
    let mut project = Project::default();
    let mut refusals = Vec::new();
    for file in settings_files(cwd, root) {
        match project.read_file(&file, trust) {
            Ok(refusal) => refusals.extend(refusal),
            Err(error) => {
                project.refusal = Some(error);
                return project;
            }
        }
    }
    let is_settings = |file: &Path, folder: &Path| {
        let mut folders = folder.ancestors();
        folders.any(|folder| SETTINGS.iter().any(|name| file == folder.join(name)))
    };
    let absences = trust.absences(&project.things, &[Kind::Hook, Kind::Rules], is_settings);
    refusals.extend(gone(&absences));
    project.things.extend(absences);
    if !refusals.is_empty() {
        project.refusal = Some(CliError {
            exit: Exit::UntrustedGuard,
            message: refusals.join("; "),
            hint: Some(TRUST_HINT.into()),
        });
    }
    project
}

impl Project {
    /// Reads what counts of a file. Returns why no run may start, if that is so.
    fn read_file(&mut self, file: &Path, trust: &Trust) -> Result<Option<String>, CliError> {
        let Some(Settings { config, hooks, table }) = read_settings(file)? else {
            return Ok(None);
        };
        let (first, mut broken) = (self.things.len(), Vec::new());
        let entries = table.get("hook").and_then(toml::Value::as_array);
        let entries = entries.into_iter().flatten();
        let mut unnamed: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (hook, entry) in hooks.into_iter().zip(entries) {
            let name = entry
                .get("name")
                .and_then(toml::Value::as_str)
                .map(ToOwned::to_owned);
            let event = hook.event.info().name;
            let name = name.unwrap_or_else(|| {
                let count = unnamed.entry(event).or_default();
                *count += 1;
                format!("{event} {count}")
            });
            let judged = trust.hook(file, &name, &hook, entry);
            match judged.is_trusted() {
                true => match trust.settled(&judged, hook) {
                    Ok(hook) => self.hooks.push(hook),
                    Err(words) => broken.push(words),
                },
                false => self.untrusted_hooks.push(hook),
            }
            self.things.push(judged);
        }
        if let Some(entry) = table.get("permissions") {
            let judged = trust.rules(file, entry, !config.permissions.deny.is_empty());
            if judged.is_trusted() {
                self.permissions.push(config.permissions);
            }
            self.things.push(judged);
        }
        // Whatever cannot be copied may be a guard.
        if !broken.is_empty() {
            return Ok(Some(broken.join("; ")));
        }
        Ok(self.tell(file, first, trust))
    }

    /// Notes which things of a file are not trusted. Returns why no run may start, if that is so.
    fn tell(&mut self, file: &Path, first: usize, trust: &Trust) -> Option<String> {
        let untrusted: Vec<&Judged> = self.things[first..]
            .iter()
            .filter(|judged| !judged.is_trusted())
            .collect();
        let news = untrusted.iter().filter_map(|judged| trust.news(judged));
        let news: String = news.map(|words| format!(" ({words})")).collect();
        if let Some(what) = guarding(&untrusted) {
            return Some(format!("{} has {what}, and is not trusted{news}", file.display()));
        }
        let hooks = untrusted.iter().filter(|judged| judged.item.kind == Kind::Hook);
        let hooks = count(hooks.count(), "hook");
        if !untrusted.is_empty() {
            self.skipped.push(format!(
                "{} with {hooks} is not trusted and was skipped; --trust uses it for this run, `becket hooks trust` \
                 from now on{news}",
                file.display(),
            ));
        }
        None
    }
}

/// Every settings file from the root down to the working directory, trusted or not.
pub fn settings_files(cwd: &Path, root: &Path) -> Vec<PathBuf> {
    let folders = folders_between(cwd, root).into_iter();
    let files = folders.flat_map(|folder| SETTINGS.iter().map(move |name| folder.join(name)));
    files
        .filter(|file| becket_fs::symlink_metadata(file).is_ok())
        .collect()
}

/// A settings file as it is read and as it is written.
struct Settings {
    config: ProjectConfig,
    hooks: Vec<OwnHook>,
    table: toml::Table,
}

fn read_settings(file: &Path) -> Result<Option<Settings>, CliError> {
    let unread = |words: String| CliError::usage(format!("cannot read {}: {words}", file.display()));
    match read_regular(file, MAX_SETTINGS_BYTES) {
        Ok(text) => {
            let (config, hooks) = read_or_mistakes(&text, |text| ProjectConfig::read(text, file))?;
            let table = becket_hooks::parse_toml(&text).map_err(|error| unread(error.to_string()))?;
            Ok(Some(Settings { config, hooks, table }))
        }
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(unread(error.to_string())),
    }
}

/// Which of these things is a guard or a deny rule, in words.
fn guarding(untrusted: &[&Judged]) -> Option<String> {
    let guarding = |kind: Kind| {
        let of_kind = untrusted.iter().filter(move |judged| judged.item.kind == kind);
        of_kind.filter(|judged| judged.item.guards)
    };
    let guards: Vec<&str> = guarding(Kind::Hook)
        .map(|judged| judged.item.name.as_str())
        .collect();
    if !guards.is_empty() {
        return Some(format!("the guard {}", guards.join(", ")));
    }
    guarding(Kind::Rules).next().map(|_| "deny rules".to_string())
}

/// The texts of a project that go to the model.
#[derive(Debug, Default)]
pub struct PromptFiles {
    /// Each file's name with its text, root first.
    pub files: Vec<(String, String)>,
    /// Which files were left out, and why.
    pub skipped: Vec<String>,
}

impl PromptFiles {
    /// These texts after those of files of the user, which may lie anywhere.
    pub fn after(mut self, of_user: &[PathBuf]) -> Self {
        for file in of_user.iter().rev() {
            match read_regular(file, MAX_PROMPT_FILE_BYTES) {
                Ok(text) => self.files.insert(0, (file.display().to_string(), text)),
                Err(error) => self
                    .skipped
                    .push(format!("{} was skipped: {error}", file.display())),
            }
        }
        self
    }
}

/// `AGENTS.md` from the root down to the working directory. It is text, not configuration, and needs no trust; but it
/// goes to a provider, so a link must not make some other file of the user's go there.
pub fn prompt_files(cwd: &Path, root: &Path) -> PromptFiles {
    let mut found = PromptFiles::default();
    for folder in folders_between(cwd, root) {
        let file = folder.join("AGENTS.md");
        // Whether the name itself is there: a link that leads nowhere is worth a word.
        if becket_fs::symlink_metadata(&file).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        {
            continue;
        }
        match read_inside(&file, root) {
            Ok(text) => found.files.push((file.display().to_string(), text)),
            Err(reason) => found
                .skipped
                .push(format!("{} was skipped: {reason}", file.display())),
        }
    }
    found
}

fn read_inside(file: &Path, root: &Path) -> Result<String, String> {
    let words = |error: Unread| error.to_string();
    let resolved = becket_fs::canonicalize(file).map_err(|error| error.to_string())?;
    let root = becket_fs::canonicalize(root).map_err(|error| error.to_string())?;
    if !resolved.starts_with(&root) {
        return Err("it is a link that leads out of the project".into());
    }
    // A repository can bring a link, and what it leads to may be the user's own secret.
    if resolved.extension().is_none_or(|extension| extension != "md") {
        return Err("it is a link to something other than a Markdown file".into());
    }
    read_regular(&resolved, MAX_PROMPT_FILE_BYTES).map_err(words)
}

fn count(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{number} {word}s")
    }
}
