//! Where extensions of this run lie, and whether they are trusted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use becket_dialects::pi::{self, Found, ProjectFolder, Search};

use crate::args::Options;
use crate::config::PiConfig;
use crate::failure::{CliError, Exit};
use crate::folders::Folders;
use crate::surroundings::Surroundings;

/// Finds the extensions of this run. Nothing runs yet.
pub fn find(
    options: &Options,
    config: &PiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
) -> Result<Found, CliError> {
    let only_given = options.no_extensions || config.enabled == Some(false);
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    let home = match only_given {
        true => None,
        false => home(config, folders, surroundings, persons_home.as_deref())?,
    };
    let variable = |name: &str| surroundings.variable(name).map(OsString::from);
    let search = Search {
        global: &pi::global_folders(variable, persons_home.as_deref()),
        given: &options.extension,
        cwd: &surroundings.cwd,
        persons_home: persons_home.as_deref(),
        home: home.as_deref(),
        project: match (only_given, options.trust) {
            (true, _) => ProjectFolder::Ignored,
            (false, true) => ProjectFolder::Trusted,
            (false, false) => ProjectFolder::Untrusted,
        },
    };
    search.find().map_err(CliError::usage)
}

/// pi's folder: the one of the environment or of the settings, else the usual one. One that is named must be there,
/// because guards may be in it.
fn home(
    config: &PiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
    persons_home: Option<&Path>,
) -> Result<Option<PathBuf>, CliError> {
    let variable = surroundings.variable(pi::HOME_VARIABLE).map(PathBuf::from);
    let named = variable.or_else(|| config.home.as_ref().map(|home| folders.config.join(home)));
    let home = pi::home(named, persons_home).map(|home| surroundings.cwd.join(home));
    match home {
        Some(home) if !home.is_dir() => Err(CliError::usage(format!(
            "pi's folder {} is not a folder",
            home.display()
        ))
        .hint("make it, name another one, or set `enabled = false` in [pi]")),
        None if config.enabled == Some(true) => {
            Err(CliError::usage("pi has no folder here, but it is enabled")
                .hint("name it with `home` in [pi]"))
        }
        home => Ok(home),
    }
}

/// Why no run may start: any extension of the project may hold a guard, and nobody can know without running it.
pub fn refusal(found: &Found) -> Option<CliError> {
    let files: Vec<String> = found
        .untrusted
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let (verb, what) = match files.as_slice() {
        [] => return None,
        [_] => ("is", "an extension of this project, which may hold a guard"),
        _ => ("are", "extensions of this project, which may hold guards"),
    };
    Some(CliError {
        exit: Exit::UntrustedGuard,
        message: format!("{} {verb} not trusted: {what}", files.join(", ")),
        hint: Some(
            "read what is not trusted, then run again with --trust; --no-extensions runs without any".into(),
        ),
    })
}
