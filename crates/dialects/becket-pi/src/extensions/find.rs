//! Finds the extensions and resources of a run, and judges whether they are trusted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use becket_system::{CliError, Exit, Folders, Surroundings};
use becket_trust::{Judged, Kind, TRUST_HINT, Trust, gone};

use crate::config::PiConfig;
use crate::discovery::{Candidate, Found, ProjectFolder, Search, project_settings};
use crate::home::{HOME_VARIABLE, home as pis_home};
use crate::packages::global_folders;
use crate::resources::{Resources, Wanted, WantedResources, may_bring_resources};

/// The options of the command line about extensions and resources.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Extensions, as files or folders.
    pub extensions: Vec<PathBuf>,
    /// Whether there are no other extensions.
    pub no_extensions: bool,
    /// Skills.
    pub skills: Vec<PathBuf>,
    /// Whether there are no other skills.
    pub no_skills: bool,
    /// Prompt templates.
    pub templates: Vec<PathBuf>,
    /// Whether there are no other prompt templates.
    pub no_templates: bool,
    /// Themes.
    pub themes: Vec<PathBuf>,
    /// Whether there are no other themes.
    pub no_themes: bool,
    /// Whether the model is offered only pi's default tools until an extension activates others.
    pub default_tools: bool,
    /// Whether the project is trusted for this run.
    pub trust: bool,
    /// Whether what the project brings is left out.
    pub no_project: bool,
}

/// The places in which a run looks for extensions.
#[derive(Debug, Clone, Copy)]
pub struct ExtensionSearch<'a> {
    pub given: &'a Given,
    pub config: &'a PiConfig,
    pub folders: &'a Folders,
    pub surroundings: &'a Surroundings,
}

/// Finds the extensions of a run, and judges those of the project. Nothing is run yet.
pub fn find(place: &ExtensionSearch<'_>, trust: &Trust) -> Result<(Found, Vec<Judged>), CliError> {
    let ExtensionSearch {
        given,
        config,
        folders,
        surroundings,
    } = *place;
    let around = match given.no_extensions {
        true => Around::Ignored,
        false => Around::Searched,
    };
    let search = |project| {
        let search = |search: &Search<'_>| search.find();
        searching((around, project), place, search)
    };
    if given.trust && !given.no_project {
        let mut found = search(ProjectFolder::Trusted)?;
        found.miss_known(&folders.extensions_file());
        return Ok((found, Vec::new()));
    }
    let mut found = search(ProjectFolder::Ignored)?;
    found.miss_known(&folders.extensions_file());
    if given.no_project {
        return Ok((found, Vec::new()));
    }
    let settings = project_settings(&surroundings.cwd);
    let told = search(ProjectFolder::Untrusted)?.untrusted;
    let is_searched = around == Around::Searched && config.enabled != Some(false);
    let absences = |judged: &[Judged]| match is_searched {
        true => trust.absences(judged, &[Kind::Extension], is_of_project),
        false => Vec::new(),
    };
    if told.is_empty() {
        return Ok((found, absences(&[])));
    }
    let mut judged = Vec::new();
    if told.contains(&settings) {
        judged.push(trust.extension(&settings, &settings));
    }
    // If the settings cannot be read, it is unknown which extensions are meant.
    let Ok(all) = search(ProjectFolder::Trusted) else {
        found.untrusted = told;
        return Ok((found, judged));
    };
    let others: Vec<PathBuf> = found.extensions.drain(..).map(|known| known.file).collect();
    for candidate in all.extensions {
        let is_own = !others.contains(&candidate.file);
        let own = is_own.then(|| trust.extension(&candidate.file, &settings));
        take(&mut found, candidate, own.as_ref(), trust)?;
        judged.extend(own);
    }
    if told.contains(&settings) && !judged[0].is_trusted() {
        found.untrusted.insert(0, settings);
    }
    if found.untrusted.is_empty() {
        found.remarks = all.remarks;
    }
    let gone = absences(&judged);
    judged.extend(gone);
    Ok((found, judged))
}

/// Whether a file belongs to the project of a run in that folder.
fn is_of_project(file: &Path, folder: &Path) -> bool {
    let settings = project_settings(folder);
    settings.parent().is_some_and(|brings| file.starts_with(brings))
}

/// Adds an extension, unless it is one of the project's that is not trusted.
fn take(
    found: &mut Found,
    mut candidate: Candidate,
    own: Option<&Judged>,
    trust: &Trust,
) -> Result<(), CliError> {
    match own {
        Some(own) if !own.is_trusted() => found.untrusted.push(candidate.file),
        Some(own) => {
            candidate.copy = trust.extension_file(own).map_err(CliError::failed)?;
            found.extensions.push(candidate);
        }
        None => found.extensions.push(candidate),
    }
    Ok(())
}

/// Judges the skills, prompt templates and themes of the project; `None` if it brings none.
pub fn judge_resources(place: &ExtensionSearch<'_>, trust: &Trust) -> Option<Judged> {
    let cwd = &place.surroundings.cwd;
    if place.given.trust || place.given.no_project || !may_bring_resources(cwd) {
        return None;
    }
    let files = |project| {
        let found = find_resources(place, project);
        found.map(|(found, _)| found.files()).unwrap_or_default()
    };
    let others = files(ProjectFolder::Untrusted);
    let mut own = files(ProjectFolder::Trusted);
    own.retain(|file| !others.contains(file));
    trust.resources(&own, &project_settings(cwd))
}

/// Finds the skills, prompt templates and themes of a run, and returns remarks about them. They are used even if
/// extensions are disabled.
pub fn find_resources(
    place: &ExtensionSearch<'_>,
    project: ProjectFolder,
) -> Result<(Resources, Vec<String>), CliError> {
    let given = place.given;
    let wanted = WantedResources {
        skills: Wanted {
            given: &given.skills,
            only_given: given.no_skills,
        },
        templates: Wanted {
            given: &given.templates,
            only_given: given.no_templates,
        },
        themes: Wanted {
            given: &given.themes,
            only_given: given.no_themes,
        },
    };
    let search = |search: &Search<'_>| Resources::find(search, &wanted);
    searching((Around::Searched, project), place, search)
}

/// Whether the usual places are searched, besides the named paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Searched,
    Ignored,
}

fn searching<T>(
    (around, project): (Around, ProjectFolder),
    place: &ExtensionSearch<'_>,
    search: impl FnOnce(&Search<'_>) -> Result<T, String>,
) -> Result<T, CliError> {
    let ExtensionSearch {
        given,
        config,
        folders,
        surroundings,
    } = *place;
    let only_given = around == Around::Ignored || config.enabled == Some(false);
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    let home = match only_given {
        true => None,
        false => home(config, folders, surroundings, persons_home.as_deref())?,
    };
    let variable = |name: &str| surroundings.variable(name).map(OsString::from);
    search(&Search {
        global: &global_folders(variable, persons_home.as_deref()),
        given: &given.extensions,
        cwd: &surroundings.cwd,
        persons_home: persons_home.as_deref(),
        home: home.as_deref(),
        project: match only_given {
            true => ProjectFolder::Ignored,
            false => project,
        },
    })
    .map_err(CliError::usage)
}

/// pi's folder: the one of the environment or of the settings, else the default one. A folder that is named in the
/// settings must exist, because guards may be in it.
fn home(
    config: &PiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
    persons_home: Option<&Path>,
) -> Result<Option<PathBuf>, CliError> {
    let variable = surroundings.variable(HOME_VARIABLE).map(PathBuf::from);
    let named = variable.or_else(|| config.home.as_ref().map(|home| folders.config.join(home)));
    let is_wanted = surroundings.variable(HOME_VARIABLE).is_some();
    let home = pis_home(named, persons_home).map(|home| surroundings.cwd.join(home));
    match home {
        // Programs that run pi name their own folder for it, and pi creates it.
        Some(home) if is_wanted && !becket_fs::exists(&home) => match std::fs::create_dir_all(&home) {
            Ok(()) => Ok(Some(home)),
            Err(error) => Err(CliError::failed(format!(
                "pi's folder {} is not there and cannot be made: {error}",
                home.display()
            ))
            .hint("name another one with PI_CODING_AGENT_DIR")),
        },
        Some(home) if !becket_fs::is_dir(&home) => Err(CliError::usage(format!(
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

/// Why no run may start: any extension of the project may hold a guard, which only running it would show.
pub fn refusal(found: &Found, judged: &[Judged], trust: &Trust) -> Option<CliError> {
    let is_there = |judged: &&Judged| judged.item.kind != Kind::Absence;
    let untrusted = judged
        .iter()
        .filter(|judged| !judged.is_trusted())
        .filter(is_there);
    let news: String = untrusted
        .filter_map(|judged| trust.news(judged))
        .map(|words| format!(" ({words})"))
        .collect();
    let files: Vec<String> = found
        .untrusted
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let what = match files.as_slice() {
        [] => None,
        [_] => Some("is not trusted: an extension of this project, which may hold a guard"),
        _ => Some("are not trusted: extensions of this project, which may hold guards"),
    };
    let untrusted = what.map(|what| format!("{} {what}{news}", files.join(", ")));
    let reasons: Vec<String> = untrusted.into_iter().chain(gone(judged)).collect();
    (!reasons.is_empty()).then(|| CliError {
        exit: Exit::UntrustedGuard,
        message: reasons.join("; "),
        hint: Some(format!("{TRUST_HINT}; --no-extensions runs without any")),
    })
}
