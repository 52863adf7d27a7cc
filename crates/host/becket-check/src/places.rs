//! Locates what a finding is about.

use crate::finding::{Finding, Kind};
use crate::hook::Subject;
use crate::scripts;

/// A finding about a text in the hook's file, or in the script that it runs.
pub fn finding_at(subject: &Subject<'_>, text: &str, kind: Kind, message: String) -> Finding {
    let finding = subject.finding(kind, message);
    let in_entry = subject
        .hook
        .start()
        .script()
        .is_some_and(|script| script.contains(text));
    match scripts::file_of(subject) {
        Some(script) if !in_entry => {
            let body = std::fs::read_to_string(&script).unwrap_or_default();
            let line = body.lines().position(|line| line.contains(text));
            match line {
                Some(line) => Finding {
                    file: script,
                    line: Some(line + 1),
                    ..finding
                },
                None => Finding {
                    line: subject.line_with(text),
                    ..finding
                },
            }
        }
        _ => Finding {
            line: subject.line_with(text),
            ..finding
        },
    }
}
