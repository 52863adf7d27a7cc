//! The files that `hooks check` examines, as each kind of guest reads them, and the untrusted parts of the project.

use std::path::{Path, PathBuf};

use becket_check::{Finding, HookFile, Kind, NamedFile, Severity};
use becket_host::GuestSearch;
use becket_run::hosts::Hosts;
use becket_run::setup::Setup;
use becket_system::files::read_regular;
use becket_system::{CliError, Surroundings};
use becket_trust::{Item, Judged, Kind as Thing, LOCK_FILE};

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 1024 * 1024;

/// Folders that are skipped, since they hold nothing that the user wrote.
const LEFT_OUT: &[&str] = &["node_modules", "target"];

/// Every file with hooks that count here. The error says which file cannot be read.
pub fn everything(hosts: Hosts, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
    let files = hosts.iter().map(|host| host.check_files(place));
    Ok(files
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// The named files; of a folder, the files with hooks in it and below it.
pub fn given(
    hosts: Hosts,
    paths: &[PathBuf],
    surroundings: &Surroundings,
) -> Result<Vec<HookFile>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if !surroundings.cwd.join(path).is_dir() {
            files.push(named(hosts, path, surroundings)?);
            continue;
        }
        let before = files.len();
        below(hosts, path, surroundings, &mut files)?;
        if files.len() == before {
            return Err(CliError::usage(format!(
                "there are no hooks in {}, nor in folders below it",
                path.display()
            )));
        }
    }
    Ok(files)
}

/// A named file. The error says that it cannot be read, or that its format is unknown.
fn named(hosts: Hosts, path: &Path, surroundings: &Surroundings) -> Result<HookFile, CliError> {
    let whole = surroundings.cwd.join(path);
    let text = read_regular(&whole, MOST_BYTES).map_err(|error| unreadable(path, &error))?;
    let file = NamedFile {
        shown: path,
        whole,
        text: Some(text),
        is_named: true,
        home: surroundings.variable("HOME").map(PathBuf::from),
        sections: &hosts.sections(),
    };
    read(hosts, &file).ok_or_else(|| {
        CliError::usage(format!(
            "cannot tell what {} is: hooks are files that end in .toml, .yaml or .yml, extensions that end in .ts or \
             .js, and programs",
            path.display()
        ))
    })
}

/// A file as the kind of guest reads it that is the surest of it, else the first that takes it.
fn read(hosts: Hosts, file: &NamedFile<'_>) -> Option<HookFile> {
    let mut surest = None;
    for host in hosts.iter() {
        let certainty = host.certainty(file);
        if certainty > surest.map_or(0, |(most, _)| most) {
            surest = Some((certainty, host));
        }
    }
    match surest {
        Some((_, host)) => host.check_file(file),
        None => hosts.iter().find_map(|host| host.check_file(file)),
    }
}

/// The files with hooks in a folder and below it.
fn below(
    hosts: Hosts,
    folder: &Path,
    surroundings: &Surroundings,
    files: &mut Vec<HookFile>,
) -> Result<(), CliError> {
    let listing = std::fs::read_dir(surroundings.cwd.join(folder));
    let listing = listing.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut listing = listing.map_err(|error| unreadable(folder, &error))?;
    listing.sort_by_key(std::fs::DirEntry::file_name);
    let sections = hosts.sections();
    for entry in &listing {
        let (name, shown) = (entry.file_name(), folder.join(entry.file_name()));
        let name = name.to_string_lossy();
        // A link to a folder is not gone through: it may lead in a circle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let may_hold_hooks = |host: &dyn becket_host::Host| host.hidden_folders().contains(&&*name);
        if LEFT_OUT.contains(&&*name) || (name.starts_with('.') && !hosts.iter().any(may_hold_hooks)) {
            continue;
        }
        if is_folder {
            below(hosts, &shown, surroundings, files)?;
            continue;
        }
        let whole = surroundings.cwd.join(&shown);
        let file = NamedFile {
            shown: &shown,
            text: read_regular(&whole, MOST_BYTES).ok(),
            whole,
            is_named: false,
            home: surroundings.variable("HOME").map(PathBuf::from),
            sections: &sections,
        };
        files.extend(read(hosts, &file));
    }
    Ok(())
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> CliError {
    CliError::usage(format!("cannot read {}: {error}", file.display()))
}

/// Findings about what is not trusted in the project.
pub fn untrusted(setup: &Setup) -> Vec<Finding> {
    let things = &setup.project.things;
    let mut findings: Vec<Finding> = things.iter().filter_map(not_trusted).collect();
    findings.extend(things.iter().filter_map(unlike_lock));
    let items: Vec<&Item> = things.iter().map(|judged| &judged.item).collect();
    let gone = setup.trust.locked().map(|lock| lock.missing(&items));
    findings.extend(gone.into_iter().flatten().map(|name| Finding {
        file: LOCK_FILE.into(),
        line: None,
        kind: Kind::UnlikeLock,
        severity: Severity::Wrong,
        message: format!("the lock names {name}, which does not exist"),
        hint: Some("`becket hooks trust --lock` writes a new one".into()),
    }));
    findings
}

fn not_trusted(judged: &Judged) -> Option<Finding> {
    let words = match &judged.item.trouble {
        _ if judged.item.kind == Thing::Absence => {
            "trusted before, and gone now; becket does not start without it".into()
        }
        Some(trouble) => format!("cannot be trusted by its content: {trouble}"),
        None => "not trusted here, so not active".into(),
    };
    (!judged.is_trusted()).then(|| Finding {
        severity: Severity::Remark,
        hint: Some("`becket hooks trust --show` shows what would run".into()),
        ..finding(judged, Kind::Untrusted, &words)
    })
}

fn unlike_lock(judged: &Judged) -> Option<Finding> {
    let words = judged.unlike_lock.as_ref()?;
    Some(Finding {
        hint: Some("review it, then run `becket hooks trust --all --lock`".into()),
        ..finding(judged, Kind::UnlikeLock, words)
    })
}

fn finding(judged: &Judged, kind: Kind, words: &str) -> Finding {
    let item = &judged.item;
    let file = if item.source.is_empty() {
        LOCK_FILE
    } else {
        &item.source
    };
    let (title, beginning) = (item.title(), format!("{file}: "));
    Finding {
        file: file.into(),
        line: None,
        kind,
        severity: Severity::Wrong,
        // The finding names the file already.
        message: format!("{}: {words}", title.strip_prefix(&beginning).unwrap_or(&title)),
        hint: None,
    }
}
