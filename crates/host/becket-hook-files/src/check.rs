//! Hooks of such files as the checks see them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_check::{
    CheckedHook, Finding, HookFile, Kind, RelativeScript, Severity, Start, Subject, boxed, relative_scripts,
};
use becket_events::EventId;
use becket_hooks::{CommandLine, Program};

use crate::condition::Condition;
use crate::entry::{Action, Dropped, HookEntry, Reading, Source};
use crate::expansion::{expanded, replaced};
use crate::facts::Facts;
use crate::mistakes;
use crate::system::{Contract, LeastTime, System};
use crate::text::{is_markdown, value_of};

/// A hook, with the contract of its event.
#[derive(Debug)]
struct CheckedEntry {
    entry: HookEntry,
    contract: Contract,
    line: Option<usize>,
    /// The directory in which the hook runs, if it is not that of the agent.
    directory: Option<PathBuf>,
    system: &'static System,
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

    fn working_dir(&self, _: &Path) -> Option<Option<PathBuf>> {
        self.directory.clone().map(Some)
    }

    fn check(&self, subject: &Subject<'_>) -> Vec<Finding> {
        let scripts = match self.start() {
            Start::Line(line) => relative_scripts(line),
            _ => Vec::new(),
        };
        let relative = scripts
            .iter()
            .flat_map(|script| self.of_relative(script, subject));
        let mut relative: Vec<Finding> = relative.collect();
        if relative
            .iter()
            .all(|finding| finding.kind != Kind::MissingProgram)
        {
            relative.extend(self.missing_script(subject));
        }
        let of_hook = (&self.contract, &self.entry);
        relative
            .into_iter()
            .chain(self.short_time(subject))
            .chain(self.whole_command(subject))
            .chain(mistakes::matchers(self.system, of_hook, subject))
            .chain(mistakes::answers(self.system, &self.contract, subject))
            .collect()
    }
}

impl CheckedEntry {
    /// What is wrong with a file that the hook names by a relative path.
    fn of_relative(&self, script: &RelativeScript, subject: &Subject<'_>) -> Vec<Finding> {
        let RelativeScript { path, is_started } = script;
        let directory = self.directory.as_ref().unwrap_or(&subject.machine.directory);
        let file = directory.join(path);
        let mode = becket_fs::metadata(file).map(|metadata| metadata.permissions().mode());
        let fault = match mode {
            Err(_) if *is_started => {
                let message = format!("the script `{path}` is not in {}", directory.display());
                Some(subject.finding(Kind::MissingProgram, message))
            }
            Ok(mode) if *is_started && mode & 0o111 == 0 => Some(Finding {
                hint: Some(format!("try `chmod +x {path}`")),
                ..subject.finding(Kind::NotExecutable, format!("`{path}` may not be executed"))
            }),
            _ => None,
        };
        let moves = self.directory.is_none().then(|| Finding {
            severity: Severity::Remark,
            hint: Some(format!(
                "write {}",
                self.system
                    .path_of_project
                    .replace("PATH", path.trim_start_matches("./"))
            )),
            ..subject.finding(
                Kind::RelativePath,
                format!(
                    "`{path}` is found only while the agent works in {}",
                    directory.display()
                ),
            )
        });
        fault.into_iter().chain(moves).collect()
    }

    /// A script that is not there, or is empty, in a line that does more than run it.
    fn missing_script(&self, subject: &Subject<'_>) -> Option<Finding> {
        let Start::Line(line) = self.start() else {
            return None;
        };
        let directory = self.directory.as_ref().unwrap_or(&subject.machine.directory);
        let variables = Arc::clone(&subject.machine.environment.variables);
        let failure = Program::shell(line)
            .environment(variables)
            .check_scripts(directory);
        let does_more = line.contains(['\n', ';', '|', '&', '<', '>', '(']);
        let failure = failure.err().filter(|_| does_more)?;
        Some(subject.finding(Kind::MissingProgram, failure.detail))
    }

    /// A condition that only one command meets, where all that begin so were probably meant.
    fn whole_command(&self, subject: &Subject<'_>) -> Option<Finding> {
        let condition = Condition::read(self.entry.condition.as_deref()?);
        let (command, wider) = condition.whole_command((self.system.profile)())?;
        Some(Finding {
            line: subject.line_with(command),
            severity: Severity::Remark,
            hint: Some(format!("`{wider}` means every command that begins so")),
            ..subject.finding(
                Kind::WholeText,
                format!("the hook runs only if the whole command is `{command}`"),
            )
        })
    }

    /// What is wrong with a time that is too short for any program.
    fn short_time(&self, subject: &Subject<'_>) -> Option<Finding> {
        let LeastTime { time, why } = self
            .system
            .least_time
            .filter(|least| self.entry.timeout < least.time)?;
        let message = format!(
            "the hook has {} ms, and no program is surely done in less than {}: {why}",
            self.entry.timeout.as_millis(),
            time.as_millis()
        );
        Some(Finding {
            line: subject.line_with("timeout"),
            ..subject.finding(Kind::ShortTimeout, message)
        })
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
    shown: &Path,
    (source, facts): (Source, &Facts),
    text: &str,
) -> HookFile {
    let mut file = HookFile::new(shown, text, Ok(Vec::new()));
    let value = match value_of(shown, text, system.json) {
        Ok(value) => value,
        Err(error) => {
            file.wrong(error);
            if is_markdown(shown) {
                // Such hooks are never active here, so nothing is lost.
                let found = file.findings.iter_mut();
                found.for_each(|finding| finding.severity = Severity::Remark);
            }
            return file;
        }
    };
    let variables = (system.variables)(&source, facts);
    let rule = |severity: Severity, message: String| Finding {
        file: shown.to_path_buf(),
        line: None,
        kind: Kind::Configuration,
        severity,
        message,
        hint: None,
    };
    file.findings
        .extend(match (system.rules)(&value, &source, facts) {
            Err(why) => vec![rule(Severity::Wrong, why)],
            Ok(lists) => lists
                .remarks
                .into_iter()
                .map(|text| rule(Severity::Remark, text))
                .collect(),
        });
    let mut reading = Reading::default();
    (system.read)(&value, &Arc::new(source), &mut reading);
    let contracts: Vec<Contract> = (system.rows)().iter().map(|row| row.contract()).collect();
    let hooks = reading.entries.into_iter().filter_map(|mut entry| {
        entry.env.extend(variables.clone());
        with_paths(&mut entry);
        let contract = contracts.iter().find(|contract| contract.name == entry.event)?;
        Some(CheckedEntry {
            directory: (system.directory)(&entry, facts),
            system,
            line: line_of(text, &entry.pointer),
            contract: *contract,
            entry,
        })
    });
    let hooks: Vec<CheckedEntry> = hooks.collect();
    let misread = hooks.iter().flat_map(|hook| misread(system, shown, hook));
    file.findings.extend(misread);
    let dropped = reading.dropped.iter();
    file.findings
        .extend(dropped.map(|dropped| finding(shown, text, dropped)));
    file.findings.extend(softened(system, shown, &hooks));
    file.hooks = boxed(hooks);
    file
}

/// An entry that is no hook.
pub fn finding(shown: &Path, text: &str, dropped: &Dropped) -> Finding {
    Finding {
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
    }
}

/// What becket takes for something else in an entry, or cannot do.
fn misread(system: &System, shown: &Path, hook: &CheckedEntry) -> Vec<Finding> {
    let matchers = hook.entry.matchers.iter().filter(|_| hook.contract.has_matcher);
    let matchers = matchers.filter_map(|matcher| {
        let why = (system.matcher)(matcher).err()?;
        Some(format!("the matcher `{matcher}` matches everything: {why}"))
    });
    let unable = match &hook.entry.action {
        Action::Unable(why) => Some(why.clone()),
        _ => None,
    };
    let found = matchers.chain(unable).map(|message| Finding {
        file: shown.to_path_buf(),
        line: hook.line,
        kind: Kind::Configuration,
        severity: Severity::Wrong,
        message,
        hint: None,
    });
    found.collect()
}

/// The guards of a file that do not refuse when they end with an error code.
fn softened(system: &System, shown: &Path, hooks: &[CheckedEntry]) -> Option<Finding> {
    let goes_on = |hook: &&CheckedEntry| mistakes::goes_on_after_errors(system, &hook.contract, &hook.entry);
    let names: Vec<&str> = hooks
        .iter()
        .filter(goes_on)
        .map(|hook| &*hook.entry.name)
        .collect();
    (!names.is_empty()).then(|| Finding {
        file: shown.to_path_buf(),
        line: None,
        kind: Kind::LoosenedGuard,
        severity: Severity::Remark,
        message: format!(
            "the action continues if one of these guards exits with an error code such as 1, as in {}: {}",
            system.title,
            names.join(", ")
        ),
        hint: Some("`strict = true` in [dialects] of config.toml makes them refuse".into()),
    })
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
