//! Plugins and extensions: programs and scripts that say by themselves which events they want. They are read, not run.

use std::path::PathBuf;

use becket_dialects::{chibi, pi};
use becket_hooks::nearest;
use becket_js::Transformer;

use super::{Finding, Hook, Kind, Subject};
use crate::files::read_regular;

/// The largest one that is looked into.
const LARGEST: u64 = 1024 * 1024;

/// A plugin or an extension.
#[derive(Debug)]
pub struct Guest {
    pub file: PathBuf,
    pub kind: GuestKind,
}

/// What it is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestKind {
    /// A program of chibi's.
    Plugin,
    /// A module of pi's.
    Extension,
}

impl Guest {
    /// Whether the system starts it.
    pub fn is_program(&self) -> bool {
        self.kind == GuestKind::Plugin
    }
}

/// What is wrong with the events that it wants, and whether it can be read at all.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let Hook::Guest(guest) = subject.hook else {
        return Vec::new();
    };
    let Ok(text) = read_regular(&guest.file, LARGEST) else {
        return Vec::new();
    };
    let at = |line: usize, kind, message: String, hint: Option<String>| Finding {
        line: Some(line),
        hint,
        ..subject.finding(kind, message)
    };
    let mut findings = Vec::new();
    if guest.kind == GuestKind::Extension {
        if let Err(error) = Transformer::default().javascript(&guest.file, &text) {
            findings.push(at(error.line, Kind::BadScript, error.what, None));
            return findings;
        }
        if !text.contains("export default") && !text.contains("module.exports") {
            let message = "it has no default export, so nothing of it is called".to_owned();
            let hint = Some("write `export default function (pi) { … }`".to_owned());
            findings.push(at(1, Kind::BadScript, message, hint));
        }
    }
    let (wanted, known) = match guest.kind {
        GuestKind::Plugin => {
            let known: Vec<&str> = chibi::hooks().iter().map(|hook| hook.name()).collect();
            (plugin_events(&text), known)
        }
        GuestKind::Extension => {
            let rows: Vec<&str> = pi::rows().iter().map(|row| row.name()).collect();
            let known = rows.into_iter().chain(pi::NEVER_FIRED.iter().copied()).collect();
            (extension_events(&text), known)
        }
    };
    for (name, place) in wanted
        .into_iter()
        .filter(|(name, _)| !known.contains(&name.as_str()))
    {
        let line = text[..place].lines().count().max(1);
        let hint = nearest(&name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        findings.push(at(
            line,
            Kind::UnknownEvent,
            format!("there is no event `{name}`"),
            hint,
        ));
    }
    findings
}

/// The names in a list called `hooks`, in JSON, Python or jq, and where they stand.
fn plugin_events(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (start, word) in text.match_indices("hooks") {
        let rest = &text[start + word.len()..];
        let rest = rest.trim_start_matches(['"', '\'', '\\']).trim_start();
        let Some(rest) = rest.strip_prefix(':') else {
            continue;
        };
        let Some(list) = rest.trim_start().strip_prefix('[') else {
            continue;
        };
        let begin = text.len() - list.len();
        let list = list.split(']').next().unwrap_or_default();
        found.extend(quoted_words(list, begin));
    }
    found
}

/// The texts in quotes, and where they stand.
fn quoted_words(text: &str, begin: usize) -> Vec<(String, usize)> {
    let mut words = Vec::new();
    let mut at = 0;
    for piece in text.split([',']) {
        let name = piece.trim().trim_matches(['"', '\'', '\\']).to_owned();
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_');
        let is_quoted = piece.contains(['"', '\'']);
        if is_name && is_quoted {
            let inside = piece.find(name.as_str()).unwrap_or_default();
            words.push((name, begin + at + inside));
        }
        at += piece.len() + 1;
    }
    words
}

/// The events that the API's own `on` is called with, and where that stands.
fn extension_events(text: &str) -> Vec<(String, usize)> {
    let Some(api) = parameter(text) else {
        return Vec::new();
    };
    let call = format!("{api}.on(");
    let mut found = Vec::new();
    for (start, _) in text.match_indices(&call) {
        let before = text[..start].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.') {
            continue;
        }
        let rest = text[start + call.len()..].trim_start();
        let Some(quote) = rest.chars().next().filter(|letter| ['"', '\''].contains(letter)) else {
            continue;
        };
        if let Some(name) = rest[1..].split(quote).next() {
            found.push((name.to_owned(), start));
        }
    }
    found
}

/// The name that the exported function gives to the API.
fn parameter(text: &str) -> Option<&str> {
    let (_, exported) = text.split_once("export default")?;
    let (_, parameters) = exported.split_once('(')?;
    let name = parameters.split([':', ',', ')']).next()?.trim();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_alphanumeric() || "_$".contains(letter));
    is_name.then_some(name)
}
