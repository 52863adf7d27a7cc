//! What is found in the working directory: the project's root, its `becket.toml`, its `AGENTS.md`.

use std::path::{Path, PathBuf};

use becket_events::Class;
use becket_hooks::OwnHook;

use crate::config::ProjectConfig;
use crate::failure::{CliError, Exit};

/// Names by which a folder shows that it is the root of a project.
const ROOT_MARKS: &[&str] = &[".git", ".hg", ".jj", ".svn", ".pijul"];

/// The root of the project around a folder; the folder itself where there is none.
pub fn project_root(cwd: &Path) -> PathBuf {
    let mut folders = cwd.ancestors();
    let root = folders.find(|folder| ROOT_MARKS.iter().any(|mark| folder.join(mark).exists()));
    root.unwrap_or(cwd).to_path_buf()
}

/// A project's settings, and the file they stand in.
#[derive(Debug, Default)]
pub struct Project {
    pub config: ProjectConfig,
    pub hooks: Vec<OwnHook>,
    /// What was found but not used, in words for the person.
    pub skipped: Option<String>,
}

/// Reads the nearest `becket.toml` between the working directory and the root. It counts only with trust; a guard
/// that is not trusted ends the run, because running unguarded is not what its author wanted.
pub fn read_project(cwd: &Path, root: &Path, trust: bool) -> Result<Project, CliError> {
    let folders = cwd.ancestors().take_while(|folder| folder.starts_with(root));
    let Some(file) = folders
        .map(|folder| folder.join("becket.toml"))
        .find(|file| file.exists())
    else {
        return Ok(Project::default());
    };
    let text = std::fs::read_to_string(&file)
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", file.display())))?;
    let (config, hooks) = ProjectConfig::read(&text, &file)?;
    if trust {
        return Ok(Project {
            config,
            hooks,
            skipped: None,
        });
    }
    let guards: Vec<&str> = hooks
        .iter()
        .filter(|hook| hook.event.info().class == Class::Guard)
        .map(|hook| hook.info.name.as_str())
        .collect();
    let name = file.display();
    if !guards.is_empty() || !config.permissions.deny.is_empty() {
        let what = if guards.is_empty() {
            "deny rules".to_string()
        } else {
            format!("the guard {}", guards.join(", "))
        };
        return Err(CliError {
            exit: Exit::UntrustedGuard,
            message: format!("{name} has {what}, and is not trusted"),
            hint: Some("read the file, then run again with --trust".into()),
        });
    }
    let skipped = format!(
        "{name} with {} is not trusted and was skipped; --trust uses it",
        count(hooks.len(), "hook")
    );
    Ok(Project {
        skipped: Some(skipped),
        ..Project::default()
    })
}

/// `AGENTS.md` from the root down to the working directory. It is text, not configuration, and needs no trust.
pub fn prompt_files(cwd: &Path, root: &Path) -> Vec<(String, String)> {
    let mut folders: Vec<&Path> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .collect();
    folders.reverse();
    let files = folders.into_iter().map(|folder| folder.join("AGENTS.md"));
    files
        .filter_map(|file| Some((file.display().to_string(), std::fs::read_to_string(&file).ok()?)))
        .collect()
}

fn count(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{number} {word}s")
    }
}
