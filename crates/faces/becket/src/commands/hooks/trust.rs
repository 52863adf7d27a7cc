//! `becket hooks trust`: trusts what is in the working directory, or revokes that.

use std::path::{Path, PathBuf};

use becket_run::project_trust;
use becket_run::setup::Setup;
use becket_system::{CliError, Exit, Surroundings, harmless};
use becket_trust::{Judged, LOCK_FILE, Lock, Record, Trust, described, put};
use serde_json::json;

use crate::args::TrustArgs;
use crate::options::Options;
use crate::printing::print;

/// Trusts, shows, revokes or locks.
pub fn run(options: &Options, wanted: &TrustArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    // What the command line trusts for one run is not what this is about.
    let mut options = options.clone();
    options.run.trust = false;
    let options = &options;
    let setup = Setup::read(&options.run, surroundings)?;
    if let Some(error) = setup
        .project
        .refusal
        .clone()
        .filter(|error| error.exit != Exit::UntrustedGuard)
    {
        return Err(error);
    }
    let trust = &setup.trust;
    let paths = names(trust, &wanted.paths)?;
    let is_meant = |judged: &&Judged| paths.is_empty() || paths.iter().any(|path| judged.item.is_at(path));
    if wanted.revoke {
        return revoke(trust, &paths, options);
    }
    let all = setup.project.things.iter().chain(trust.lock());
    let chosen: Vec<&Judged> = all.filter(is_meant).collect();
    if wanted.show {
        return show(&chosen, trust, options);
    }
    if !paths.is_empty() && chosen.is_empty() {
        let shown: Vec<String> = wanted
            .paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(
            CliError::usage(format!("the project brings nothing in {}", shown.join(", ")))
                .hint("`becket hooks trust --show` lists what it brings"),
        );
    }
    if paths.is_empty() && !wanted.all && !wanted.lock {
        return asked(&setup, options, surroundings);
    }
    // A lock is trusted where it is named, and not by the way.
    let names_lock = paths.iter().any(|path| path.as_path() == Path::new(LOCK_FILE));
    let mut new = chosen;
    new.retain(|judged| (names_lock || !is_lock(judged)) && (wanted.all || !wanted.lock));
    take(trust, &new, options)?;
    let setup = Setup::read(&options.run, surroundings)?;
    match wanted.lock {
        true => lock(&setup, options, surroundings),
        false => Ok(ending(&setup)),
    }
}

fn is_lock(judged: &Judged) -> bool {
    judged.item.source == LOCK_FILE
}

/// The paths, relative to the project's root.
fn names(trust: &Trust, paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let name = |path: &PathBuf| {
        let outside = || {
            let (path, root) = (path.display(), trust.root().display());
            CliError::usage(format!("{path} is not in the project {root}"))
        };
        trust.named(path).ok_or_else(outside)
    };
    paths.iter().map(name).collect()
}

/// The exit code: that of a run that could not start here, if there are untrusted guards left.
fn ending(setup: &Setup) -> Exit {
    match setup.project.untrusted().iter().any(|judged| judged.item.guards) {
        true => Exit::UntrustedGuard,
        false => Exit::Answered,
    }
}

/// Asks on a terminal; without one, shows what would be asked.
fn asked(setup: &Setup, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    project_trust::ask(&options.run, surroundings)?;
    let setup_now = Setup::read(&options.run, surroundings)?;
    let (before, after) = (setup.project.untrusted(), setup_now.project.untrusted());
    if after.is_empty() {
        let words = match (before.is_empty(), setup_now.project.things.is_empty()) {
            (_, true) => "the project brings nothing that needs trust",
            (true, _) => "everything that the project brings is trusted",
            (false, _) => "trusted from now on, exactly as it is",
        };
        surroundings.remark(words);
        return Ok(Exit::Answered);
    }
    show(&after, &setup_now.trust, options)?;
    surroundings.remark("nothing was trusted; name what you trust, or --all");
    Ok(match ending(&setup_now) {
        Exit::Answered => Exit::Failed,
        exit => exit,
    })
}

fn show(chosen: &[&Judged], trust: &Trust, options: &Options) -> Result<Exit, CliError> {
    let text: String = match options.run.json {
        true => chosen
            .iter()
            .map(|judged| format!("{}\n", judged.json()))
            .collect(),
        false => {
            let all: Vec<String> = chosen
                .iter()
                .map(|judged| described(judged, &trust.store))
                .collect();
            harmless(&all.join("\n"))
        }
    };
    print(&text)?;
    Ok(Exit::Answered)
}

/// Stores what is trusted, and tells the user.
fn take(trust: &Trust, new: &[&Judged], options: &Options) -> Result<(), CliError> {
    let mut text = String::new();
    for judged in new {
        let item = &judged.item;
        if let Some(trouble) = &item.trouble {
            return Err(CliError::failed(format!(
                "{} cannot be trusted by its content: {trouble}",
                item.title()
            ))
            .hint("--trust uses it for one run"));
        }
        trust
            .store
            .trust(item)
            .map_err(|error| CliError::failed(format!("cannot record what you trust: {error}")))?;
        let news = if judged.is_trusted() {
            "is trusted already"
        } else {
            "is now trusted"
        };
        text.push_str(&match options.run.json {
            true => format!(
                "{}\n",
                json!({"trusted": item.title(), "hash": item.identity(), "open": item.open})
            ),
            false => format!("{} {news}\n", item.title()),
        });
        for open in item.open.iter().filter(|_| !options.run.json) {
            text.push_str(&format!("  open: {open}\n"));
        }
    }
    print(&harmless(&text))
}

/// Revokes trust in files, in every version.
fn revoke(trust: &Trust, paths: &[PathBuf], options: &Options) -> Result<Exit, CliError> {
    let is_meant = |record: &Record| {
        let mut names = record.files.keys().chain([&record.source]);
        paths.is_empty() || names.any(|name| paths.iter().any(|path| Path::new(name).starts_with(path)))
    };
    let records: Vec<Record> = trust.store.records().into_iter().filter(is_meant).collect();
    let mut text = String::new();
    for record in &records {
        let title = format!("{}: {}", record.source, record.name);
        trust
            .store
            .revoke(record)
            .map_err(|error| CliError::failed(format!("{title} is still trusted: {error}")))?;
        text.push_str(&match options.run.json {
            true => format!("{}\n", json!({"revoked": title, "hash": record.identity})),
            false => format!("{title} is not trusted any more\n"),
        });
    }
    if records.is_empty() && !options.run.json {
        text = "nothing of it was trusted\n".into();
    }
    print(&harmless(&text))?;
    Ok(Exit::Answered)
}

/// Writes `hooks.lock`, and trusts it: it contains only what is trusted anyway.
fn lock(setup: &Setup, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let untrusted = setup.project.untrusted();
    if let Some(first) = untrusted.first() {
        return Err(CliError {
            exit: Exit::UntrustedGuard,
            message: format!(
                "{} is not trusted, and a lock lists what somebody has reviewed",
                first.item.title()
            ),
            hint: Some("`becket hooks trust --all --lock` trusts everything and writes the lock".into()),
        });
    }
    let things = setup.project.things.iter().map(|judged| &judged.item);
    let file = setup.trust.root().join(LOCK_FILE);
    put(&file, Lock::of(things).text().as_bytes())
        .map_err(|error| CliError::failed(format!("{} cannot be written: {error}", file.display())))?;
    let setup = Setup::read(&options.run, surroundings)?;
    if let Some(lock) = setup.trust.lock() {
        take(&setup.trust, &[lock], options)?;
    }
    Ok(Exit::Answered)
}
