//! What is found in the working directory: the project's root, its `becket.toml` files, its `AGENTS.md` files.

use std::path::{Path, PathBuf};

use becket_events::Class;
use becket_hooks::OwnHook;

use crate::config::{PermissionsConfig, ProjectConfig};
use crate::failure::{CliError, Exit};
use crate::files::{Unread, read_regular};

/// Names by which a folder shows that it is the root of a project.
const ROOT_MARKS: &[&str] = &[".git", ".hg", ".jj", ".svn", ".pijul"];

/// The largest `becket.toml` that is read.
pub const MAX_SETTINGS_BYTES: u64 = 1024 * 1024;

/// The largest `AGENTS.md` that goes to the model.
const MAX_PROMPT_FILE_BYTES: u64 = 256 * 1024;

/// The root of the project around a folder; the folder itself where there is none.
pub fn project_root(cwd: &Path) -> PathBuf {
    let mut folders = cwd.ancestors();
    let root = folders.find(|folder| ROOT_MARKS.iter().any(|mark| folder.join(mark).exists()));
    root.unwrap_or(cwd).to_path_buf()
}

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
#[derive(Debug, Default)]
pub struct Project {
    /// The rules of each file that has some, root first.
    pub permissions: Vec<PermissionsConfig>,
    /// The hooks of all files, root first.
    pub hooks: Vec<OwnHook>,
    /// What was found but not used, in words for the person.
    pub skipped: Vec<String>,
    /// Why no run may start here.
    pub refusal: Option<CliError>,
}

/// Reads every `becket.toml` from the root down to the working directory. They count only with trust; a guard that is
/// not trusted refuses every run, because running unguarded is not what its author wanted.
pub fn read_project(cwd: &Path, root: &Path, trust: bool) -> Project {
    let mut project = Project::default();
    let mut refusals = Vec::new();
    for folder in folders_between(cwd, root) {
        let file = folder.join("becket.toml");
        let (config, mut hooks) = match read_settings(&file) {
            Ok(Some(settings)) => settings,
            Ok(None) => continue,
            Err(error) => {
                project.refusal = Some(error);
                return project;
            }
        };
        if trust {
            project.permissions.push(config.permissions);
            project.hooks.append(&mut hooks);
        } else if let Some(what) = guarding(&config, &hooks) {
            refusals.push(format!("{} has {what}, and is not trusted", file.display()));
        } else {
            project.skipped.push(format!(
                "{} with {} is not trusted and was skipped; --trust uses it for this run",
                file.display(),
                count(hooks.len(), "hook")
            ));
        }
    }
    if !refusals.is_empty() {
        project.refusal = Some(CliError {
            exit: Exit::UntrustedGuard,
            message: refusals.join("; "),
            hint: Some("read what is not trusted, then run again with --trust".into()),
        });
    }
    project
}

/// Every `becket.toml` from the root down to the working directory, trusted or not.
pub fn settings_files(cwd: &Path, root: &Path) -> Vec<PathBuf> {
    let files = folders_between(cwd, root).into_iter();
    let files = files.map(|folder| folder.join("becket.toml"));
    files.filter(|file| file.symlink_metadata().is_ok()).collect()
}

fn read_settings(file: &Path) -> Result<Option<(ProjectConfig, Vec<OwnHook>)>, CliError> {
    match read_regular(file, MAX_SETTINGS_BYTES) {
        Ok(text) => Ok(Some(ProjectConfig::read(&text, file)?)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

/// What in these settings holds the agent back, in words.
fn guarding(config: &ProjectConfig, hooks: &[OwnHook]) -> Option<String> {
    let guards: Vec<&str> = hooks
        .iter()
        .filter(|hook| hook.event.info().class == Class::Guard)
        .map(|hook| hook.info.name.as_str())
        .collect();
    if !guards.is_empty() {
        return Some(format!("the guard {}", guards.join(", ")));
    }
    (!config.permissions.deny.is_empty()).then(|| "deny rules".to_string())
}

/// The texts of a project that go to the model.
#[derive(Debug, Default)]
pub struct PromptFiles {
    /// Each file's name with its text, root first.
    pub files: Vec<(String, String)>,
    /// Which files were left out, and why.
    pub skipped: Vec<String>,
}

/// `AGENTS.md` from the root down to the working directory. It is text, not configuration, and needs no trust; but it
/// goes to a provider, so a link must not make some other file of the person's go there.
pub fn prompt_files(cwd: &Path, root: &Path) -> PromptFiles {
    let mut found = PromptFiles::default();
    for folder in folders_between(cwd, root) {
        let file = folder.join("AGENTS.md");
        // Whether the name itself is there: a link that leads nowhere is worth a word.
        if std::fs::symlink_metadata(&file).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
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
    let resolved = file.canonicalize().map_err(|error| error.to_string())?;
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    if !resolved.starts_with(&root) {
        return Err("it is a link that leads out of the project".into());
    }
    // A repository can bring a link, and what it leads to may be the person's own secret.
    if resolved.extension().is_none_or(|extension| extension != "md") {
        return Err("it is a link to something that is no Markdown file".into());
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
