//! What the user is shown before they trust something, and the question on a terminal.

use std::fmt::Write as _;
use std::io::{BufRead, Write as _};

use becket_system::{CliError, harmless};
use similar::TextDiff;

use super::item::{File, FileState, Kind};
use super::store::{Record, RecordedFile, Store, recorded};
use super::trust::{Judged, Standing, Trust};

/// How many lines of a difference, or of a file, are shown.
const MOST_LINES: usize = 200;

/// Whether the user says yes. No answer counts as no.
pub fn is_answered_with_yes(question: &str, files: impl Fn() -> String) -> Result<bool, CliError> {
    let failed = |error: std::io::Error| CliError::failed(format!("no answer can be read: {error}"));
    loop {
        show(&format!("{question} [y]es, [n]o, [s]how the files: "));
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).map_err(failed)?;
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "s" | "show" => show(&files()),
            _ if read == 0 => return Ok(false),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

pub fn show(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A broken standard error cannot be reported anywhere; and then there is no answer either.
    let _ = stderr
        .write_all(harmless(text).as_bytes())
        .and_then(|()| stderr.flush());
}

/// Everything that a user needs to know about a thing, in lines.
pub fn described(judged: &Judged, store: &Store) -> String {
    let item = &judged.item;
    let before = match judged.standing {
        Standing::Untrusted if item.kind != Kind::Absence => store.before(item),
        _ => None,
    };
    let standing = match (judged.standing, &before) {
        (Standing::Run, _) => "trusted for this run",
        (Standing::Person, _) => "trusted",
        (Standing::Lock, _) => "trusted by hooks.lock",
        (Standing::Untrusted, _) if item.kind == Kind::Absence => "a run without it needs your yes",
        (Standing::Untrusted, Some(_)) => "not trusted: it has changed since it was",
        (Standing::Untrusted, None) => "not trusted",
    };
    let guard = match item.guards && item.kind != Kind::Absence {
        true => ", may guard",
        false => "",
    };
    let mut text = format!("{} ({standing}{guard})\n", item.title());
    let lines = item.entry.lines().map(|line| format!("    {line}\n"));
    text.extend(lines);
    for (name, file) in &item.files {
        let _ = writeln!(text, "  {}", file_line(name, file));
    }
    for open in &item.open {
        let _ = writeln!(text, "  open: {open}");
    }
    for trouble in item.trouble.iter().chain(&judged.unlike_lock) {
        let _ = writeln!(text, "  mind: {trouble}");
    }
    if let Some(before) = before {
        text.push_str(&difference(judged, &before, store));
    }
    text
}

fn file_line(name: &str, file: &File) -> String {
    let short = file.hash.get(..12).unwrap_or_default();
    let leads = if file.place == name {
        String::new()
    } else {
        format!(" -> {}", file.place)
    };
    match file.state {
        FileState::Missing => format!("file {name}: it is not there"),
        FileState::Plain => format!("file {name}{leads} {short}"),
        FileState::Runnable => format!("program {name}{leads} {short}"),
    }
}

/// The names of changed files, for one line.
pub fn changed(judged: &Judged, before: &Record) -> Vec<String> {
    let now = recorded(&judged.item);
    let mut names: Vec<String> = now
        .keys()
        .chain(before.files.keys())
        .filter(|name| now.get(*name) != before.files.get(*name))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    if judged.item.entry != before.entry {
        names.insert(0, "its entry".into());
    }
    names
}

/// What has changed since the thing was trusted.
fn difference(judged: &Judged, before: &Record, store: &Store) -> String {
    let (item, now) = (&judged.item, recorded(&judged.item));
    let mut text = compared("its entry", &before.entry, &item.entry);
    for name in changed(judged, before) {
        let (Some(old), new) = (before.files.get(&name), now.get(&name)) else {
            continue;
        };
        let (Some(new), Some(file)) = (new, item.files.get(&name)) else {
            let _ = writeln!(text, "  changed: {name} is not used any more");
            continue;
        };
        text.push_str(&facts(&name, old, new));
        if old.hash == new.hash {
            continue;
        }
        let texts = store
            .bytes(&old.hash)
            .and_then(|bytes| String::from_utf8(bytes).ok());
        match (texts, std::str::from_utf8(&file.bytes)) {
            (Some(old), Ok(new)) => text.push_str(&compared(&name, &old, new)),
            _ => drop(writeln!(text, "  changed: {name} has other bytes")),
        }
    }
    text
}

/// What has changed besides the text.
fn facts(name: &str, old: &RecordedFile, new: &RecordedFile) -> String {
    let mut text = String::new();
    if old.place != new.place {
        let _ = writeln!(
            text,
            "  changed: {name} led to {}, and now to {}",
            old.place, new.place
        );
    }
    if old.state != new.state {
        let _ = writeln!(
            text,
            "  changed: {name} was {}, and is {}",
            old.state.name(),
            new.state.name()
        );
    }
    text
}

fn compared(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::from_lines(old, new);
    let diff = diff.unified_diff().context_radius(1).to_string();
    let mut text = format!("  changed: {name}\n");
    text.extend(
        diff.lines()
            .take(MOST_LINES)
            .map(|line| format!("    {}\n", line.replace('\r', "\\r"))),
    );
    text
}

/// The contents of the thing's files.
pub fn contents(judged: &Judged) -> String {
    let mut text = String::new();
    let wanted = judged
        .item
        .files
        .iter()
        .filter(|(_, file)| file.state != FileState::Missing);
    for (name, file) in wanted {
        let _ = writeln!(text, "--- {name}");
        match std::str::from_utf8(&file.bytes) {
            Ok(code) => text.extend(code.lines().take(MOST_LINES).map(|line| format!("{line}\n"))),
            Err(_) => drop(writeln!(text, "({} bytes, binary)", file.bytes.len())),
        }
    }
    if judged.item.files.is_empty() && judged.item.kind != Kind::Rules {
        let _ = writeln!(text, "--- {}: no file of the project is run", judged.item.title());
    }
    text
}

impl Trust {
    /// A line about a thing that is not trusted: whether it is new or has changed.
    pub fn news(&self, judged: &Judged) -> Option<String> {
        if let Some(trouble) = &judged.item.trouble {
            return Some(trouble.clone());
        }
        let before = self.store.before(&judged.item);
        let changed = before.map(|before| changed(judged, &before).join(", "));
        let changed = changed.map(|names| {
            format!(
                "{} has changed since it was trusted: {names}",
                judged.item.title()
            )
        });
        changed.or_else(|| {
            let lock = judged.unlike_lock.as_ref()?;
            Some(format!("{}: {lock}", judged.item.title()))
        })
    }
}
