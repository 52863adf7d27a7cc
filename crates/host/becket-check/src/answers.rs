//! What hooks answer, as far as their text shows it: the objects that they print, and fields that two of them rewrite.

use becket_system::files::read_regular;
use serde_json::{Map, Value};

use crate::finding::{Finding, Kind, Severity};
use crate::hook::{CheckedHook, HookFile, Subject};
use crate::places::finding_at;
use crate::scripts::{self, LARGEST};
use crate::written;

/// The possible source of a tool with an unknown name.
pub const GUESTS: &str = "only a plugin or an MCP server could bring it";

/// A finding about an answer that its event does not accept.
pub fn wrong_answer(subject: &Subject<'_>, members: &Map<String, Value>, trouble: &str) -> Finding {
    let place = members.keys().next().map_or("{", String::as_str);
    finding_at(
        subject,
        place,
        Kind::MeaninglessField,
        format!("it answers what cannot be read: {trouble}"),
    )
}

/// The complete objects that statements print, and their members.
pub fn objects(statements: &[String]) -> Vec<(String, Map<String, Value>)> {
    let texts = statements
        .iter()
        .flat_map(|statement| written::objects(statement));
    texts
        .filter_map(|text| {
            let members = serde_json::from_str(&text).ok()?;
            Some((text, members))
        })
        .collect()
}

/// Whether the text has an object with this key, and with a value that begins so. The key is quoted, or written as in
/// jq after a brace or a comma.
pub fn has_key(text: &str, key: &str, value: &str) -> bool {
    const QUOTES: [char; 2] = ['"', '\''];
    let blanks = |letter: char| letter.is_whitespace() || letter == '\\';
    text.match_indices(key).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + key.len()..]);
        let after = match after.trim_start_matches('\\').strip_prefix(QUOTES) {
            Some(after) if before.ends_with(QUOTES) => after,
            None if before.trim_end_matches(blanks).ends_with(['{', ',']) => after,
            _ => return false,
        };
        let told = after.trim_start_matches(blanks).strip_prefix(':');
        let told =
            told.map(|told| told.trim_start_matches(|letter| blanks(letter) || QUOTES.contains(&letter)));
        told.is_some_and(|told| told.starts_with(value))
    })
}

/// The output of the command and of its script.
pub fn answers_of(subject: &Subject<'_>) -> Vec<String> {
    let command = subject.hook.start().script().map(written::by_shell);
    let script = scripts::file_of(subject).and_then(|file| {
        let text = read_regular(&file, LARGEST).ok()?;
        Some(match scripts::shell_script(&file) {
            Some(script) => written::by_shell(&script),
            None => written::by_lines(&text),
        })
    });
    [command, script].into_iter().flatten().flatten().collect()
}

/// Finds hooks of one event that rewrite the same field: only the last of them takes effect.
pub fn same_rewrites(file: &HookFile) -> Vec<Finding> {
    let mut seen: Vec<(&dyn CheckedHook, &str)> = Vec::new();
    let mut findings = Vec::new();
    for hook in file.hooks.iter().map(|hook| &**hook) {
        let Some(script) = hook.start().script() else {
            continue;
        };
        for field in hook.rewrites(script) {
            let before = seen
                .iter()
                .find(|(other, name)| *name == field && may_meet(*other, hook));
            if let Some((other, _)) = before {
                let line = other.line();
                let place = line.map_or(String::new(), |line| format!(" in line {line}"));
                findings.push(Finding {
                    file: file.file.clone(),
                    line: hook.line(),
                    kind: Kind::SameRewrite,
                    severity: Severity::Wrong,
                    message: format!("it rewrites `{field}`, as the hook{place} does"),
                    hint: Some("the second sees what the first has written; let one of them do both".into()),
                });
            }
            seen.push((hook, field));
        }
    }
    findings
}

/// Whether both hooks may be asked about the same thing.
fn may_meet(one: &dyn CheckedHook, other: &dyn CheckedHook) -> bool {
    let name = |hook: &dyn CheckedHook| hook.event().map(|(_, name)| name);
    // Two names of one event in a format happen one after the other, and compose.
    name(one) == name(other) && one.may_meet(other)
}
