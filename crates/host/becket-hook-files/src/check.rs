//! Hooks of such files as the checks see them.

use std::sync::Arc;
use std::time::Duration;

use becket_check::{CheckedHook, Finding, HookFile, Kind, Severity, Start, boxed};
use becket_events::EventId;
use becket_hooks::CommandLine;

use crate::entry::{Action, HookEntry, Reading, Source};
use crate::expansion::{expanded, replaced};
use crate::facts::Facts;
use crate::system::{Contract, System};
use crate::text::value_of;

/// A hook, with the contract of its event.
#[derive(Debug)]
struct CheckedEntry {
    entry: HookEntry,
    contract: Contract,
    line: Option<usize>,
}

impl CheckedHook for CheckedEntry {
    fn line(&self) -> Option<usize> {
        self.line
    }

    fn event(&self) -> Option<(EventId, &'static str)> {
        Some((self.contract.event, self.contract.name))
    }

    fn start(&self) -> Start<'_> {
        match &self.entry.action {
            Action::Command(CommandLine::Shell(line)) => Start::Line(line),
            Action::Command(command) => Start::Command(command, None),
            _ => Start::Nothing,
        }
    }

    fn timeout(&self) -> Option<Duration> {
        // The default of such a system is ten minutes, and says nothing about the hook.
        None
    }
}

/// Writes out the variables that are known before anything runs: a command names its files by them.
fn with_paths(entry: &mut HookEntry) {
    let written = match &entry.action {
        Action::Command(CommandLine::Shell(line)) => CommandLine::Shell(expanded(line, &entry.env)),
        Action::Command(CommandLine::Exec(words)) => {
            CommandLine::Exec(words.iter().map(|word| replaced(word, &entry.env)).collect())
        }
        _ => return,
    };
    entry.action = Action::Command(written);
}

/// Reads a file for `hooks check`. The facts are those of a run beside it.
pub fn checked(
    system: &'static System,
    shown: &std::path::Path,
    (source, facts): (Source, &Facts),
    text: &str,
) -> HookFile {
    let mut file = HookFile::new(shown, text, Ok(Vec::new()));
    let value = match value_of(shown, text, system.json) {
        Ok(value) => value,
        Err(error) => {
            file.wrong(error);
            return file;
        }
    };
    let variables = (system.variables)(&source, facts);
    let mut reading = Reading::default();
    (system.read)(&value, &Arc::new(source), &mut reading);
    let contracts: Vec<Contract> = (system.rows)().iter().map(|row| row.contract()).collect();
    let hooks = reading.entries.into_iter().filter_map(|mut entry| {
        entry.env.extend(variables.clone());
        with_paths(&mut entry);
        let contract = contracts.iter().find(|contract| contract.name == entry.event)?;
        Some(CheckedEntry {
            line: line_of(text, &entry.pointer),
            contract: *contract,
            entry,
        })
    });
    let hooks: Vec<CheckedEntry> = hooks.collect();
    for hook in &hooks {
        let found = |kind, severity, message: String| Finding {
            file: shown.to_path_buf(),
            line: hook.line,
            kind,
            severity,
            message,
            hint: None,
        };
        for matcher in &hook.entry.matchers {
            if let (Err(why), true) = ((system.matcher)(matcher), hook.contract.has_matcher) {
                let message = format!("the matcher `{matcher}` counts for everything: {why}");
                file.findings
                    .push(found(Kind::Configuration, Severity::Wrong, message));
            }
        }
        if let Action::Unable(why) = &hook.entry.action {
            file.findings
                .push(found(Kind::Configuration, Severity::Wrong, why.clone()));
        }
    }
    file.findings
        .extend(reading.dropped.iter().map(|dropped| Finding {
            file: shown.to_path_buf(),
            line: line_of(text, &dropped.pointer),
            kind: Kind::Configuration,
            severity: match dropped.guards {
                true => Severity::Wrong,
                false => Severity::Remark,
            },
            message: match &*dropped.pointer {
                "" => dropped.reason.clone(),
                pointer => format!("{pointer}: {}", dropped.reason),
            },
            hint: None,
        }));
    file.hooks = boxed(hooks);
    file
}

/// The line of a JSON pointer in a text: where the last of its keys that occur in order stands.
fn line_of(text: &str, pointer: &str) -> Option<usize> {
    let mut at = 0;
    for key in pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        match key.parse::<usize>() {
            // The beginning of that element of the list.
            Ok(number) => {
                for _ in 0..=number {
                    at += text.get(at..)?.find('{')? + 1;
                }
            }
            Err(_) => at += text.get(at..)?.find(&format!("\"{key}\""))? + key.len() + 2,
        }
    }
    Some(text.get(..at)?.lines().count().max(1))
}
