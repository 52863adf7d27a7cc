//! Where extensions and resources of this run lie, and whether they are trusted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use becket_pi::{Candidate, Found, ProjectFolder, Resources, Search, Wanted, WantedResources};
use becket_system::{CliError, Exit, Folders, Surroundings};

use crate::args::Options;
use crate::config::PiConfig;
use crate::project::TRUST_HINT;
use becket_trust::{Judged, Kind, Trust, gone};

/// Finds the extensions of this run, and judges those of the project. Nothing runs yet.
pub fn find(
    options: &Options,
    config: &PiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
    trust: &Trust,
) -> Result<(Found, Vec<Judged>), CliError> {
    let around = match options.no_extensions {
        true => Around::Ignored,
        false => Around::Searched,
    };
    let search = |project| {
        let search = |search: &Search<'_>| search.find();
        searching(
            (around, project),
            (options, config),
            folders,
            surroundings,
            search,
        )
    };
    if options.trust {
        let mut found = search(ProjectFolder::Trusted)?;
        found.miss_known(&folders.extensions_file());
        return Ok((found, Vec::new()));
    }
    let mut found = search(ProjectFolder::Ignored)?;
    found.miss_known(&folders.extensions_file());
    let settings = becket_pi::project_settings(&surroundings.cwd);
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
    // Without the settings nobody knows which ones are meant.
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

/// Whether a file of the project would be looked for where a run works in that folder.
fn is_of_project(file: &Path, folder: &Path) -> bool {
    let settings = becket_pi::project_settings(folder);
    settings.parent().is_some_and(|brings| file.starts_with(brings))
}

/// Takes an extension, unless it is one of the project's that is not trusted.
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
pub fn judge_resources(
    options: &Options,
    config: &PiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
    trust: &Trust,
) -> Option<Judged> {
    if options.trust || !becket_pi::may_bring_resources(&surroundings.cwd) {
        return None;
    }
    let files = |project| {
        let found = find_resources(options, config, folders, surroundings, project);
        found.map(|(found, _)| found.files()).unwrap_or_default()
    };
    let others = files(ProjectFolder::Untrusted);
    let mut own = files(ProjectFolder::Trusted);
    own.retain(|file| !others.contains(file));
    trust.resources(&own, &becket_pi::project_settings(&surroundings.cwd))
}

/// Finds skills, prompt templates and themes of this run, and says what is odd about them. Those that lie around count
/// without extensions as well.
pub fn find_resources(
    options: &Options,
    config: &PiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
    project: ProjectFolder,
) -> Result<(Resources, Vec<String>), CliError> {
    let wanted = WantedResources {
        skills: Wanted {
            given: &options.skill,
            only_given: options.no_skills,
        },
        templates: Wanted {
            given: &options.prompt_template,
            only_given: options.no_prompt_templates,
        },
        themes: Wanted {
            given: &options.theme,
            only_given: options.no_themes,
        },
    };
    let search = |search: &Search<'_>| Resources::find(search, &wanted);
    searching(
        (Around::Searched, project),
        (options, config),
        folders,
        surroundings,
        search,
    )
}

/// Whether what lies around is looked for, besides what is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Searched,
    Ignored,
}

fn searching<T>(
    (around, project): (Around, ProjectFolder),
    (options, config): (&Options, &PiConfig),
    folders: &Folders,
    surroundings: &Surroundings,
    search: impl FnOnce(&Search<'_>) -> Result<T, String>,
) -> Result<T, CliError> {
    let only_given = around == Around::Ignored || config.enabled == Some(false);
    let persons_home = surroundings.variable("HOME").map(PathBuf::from);
    let home = match only_given {
        true => None,
        false => home(config, folders, surroundings, persons_home.as_deref())?,
    };
    let variable = |name: &str| surroundings.variable(name).map(OsString::from);
    search(&Search {
        global: &becket_pi::global_folders(variable, persons_home.as_deref()),
        given: &options.extension,
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

/// pi's folder: the one of the environment or of the settings, else the usual one. One that is named must be there,
/// because guards may be in it.
fn home(
    config: &PiConfig,
    folders: &Folders,
    surroundings: &Surroundings,
    persons_home: Option<&Path>,
) -> Result<Option<PathBuf>, CliError> {
    let variable = surroundings.variable(becket_pi::HOME_VARIABLE).map(PathBuf::from);
    let named = variable.or_else(|| config.home.as_ref().map(|home| folders.config.join(home)));
    let is_wanted = surroundings.variable(becket_pi::HOME_VARIABLE).is_some();
    let home = becket_pi::home(named, persons_home).map(|home| surroundings.cwd.join(home));
    match home {
        // Programs that run pi name a folder of their own for it, and pi makes it.
        Some(home) if is_wanted && !home.exists() => match std::fs::create_dir_all(&home) {
            Ok(()) => Ok(Some(home)),
            Err(error) => Err(CliError::failed(format!(
                "pi's folder {} is not there and cannot be made: {error}",
                home.display()
            ))
            .hint("name another one with PI_CODING_AGENT_DIR")),
        },
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
