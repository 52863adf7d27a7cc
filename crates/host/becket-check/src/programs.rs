//! Finds programs that hooks use and the machine lacks.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hooks::{Cause, CommandLine, Failure, Program};
use becket_shell::is_wrapper;
use becket_system::files::read_regular;

use crate::finding::{Finding, Kind, Severity};
use crate::hook::{Start, Subject};
use crate::places::finding_at;
use crate::scripts::{self, LARGEST};
use crate::shell;

/// The program that becket has built in.
const JQ: &str = "jq";

/// Finds programs that the hook uses and the machine lacks.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let environment = &subject.machine.environment;
    if matches!(subject.hook.start(), Start::Module(_)) {
        return Vec::new();
    }
    let variables = subject.hook.variables(environment);
    let mut missing: Vec<(String, Failure)> = Vec::new();
    let mut findings = scripts::own_program(subject);
    let told: Vec<String> = findings.iter().map(|finding| finding.message.clone()).collect();
    let is_told = |name: &str| told.iter().any(|message| message.contains(name));
    let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let has_own_jq = |folder: &PathBuf| std::env::split_paths(&path).any(|other| other == *folder);
    let serves_jq = subject.machine.own_jq.as_ref().is_some_and(has_own_jq);
    let variables = Arc::new(variables);
    for name in used(subject) {
        if is_told(&name) {
            continue;
        }
        let program = Program::exec([&name]).environment(Arc::clone(&variables));
        if let Err(failure) = program.check(&subject.machine.directory) {
            missing.push((name, failure));
        }
    }
    findings.extend(missing.into_iter().map(|(name, failure)| {
        let detail = &failure.detail;
        let (kind, words) = match failure.cause {
            Cause::NotExecutable => (
                Kind::NotExecutable,
                format!("`{name}` cannot be started: {detail}"),
            ),
            _ => (
                Kind::MissingProgram,
                format!("`{name}` is not on this machine: {detail}"),
            ),
        };
        let finding = finding_at(subject, &name, kind, words);
        match name == JQ && serves_jq {
            true => Finding {
                severity: Severity::Remark,
                message: "there is no `jq` on this machine; becket's own serves the hook".into(),
                ..finding
            },
            false => finding,
        }
    }));
    findings
}

/// The text that a shell reads for the hook: its command, and the script that it runs if that is a shell script.
fn script_body(subject: &Subject<'_>) -> String {
    let command = match subject.hook.start() {
        Start::Command(CommandLine::Exec(words), _) => wrapped(words),
        start => start.script().map(ToOwned::to_owned),
    };
    let script = scripts::file_of(subject).and_then(|file| scripts::shell_script(&file));
    [command, script]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n")
}

/// The programs that the hook uses. If they depend on something known only at run time, only absolute paths are
/// returned.
fn used(subject: &Subject<'_>) -> BTreeSet<String> {
    let body = script_body(subject);
    let mut used = shell::used(&body);
    let sourced: Vec<Option<String>> = used
        .sourced
        .iter()
        .map(|word| sourced_text(subject, word))
        .collect();
    let mut is_known = !used.sets_path && sourced.iter().all(Option::is_some);
    if !sourced.is_empty() && is_known {
        let whole: Vec<String> = std::iter::once(body)
            .chain(sourced.into_iter().flatten())
            .collect();
        let with_sourced = shell::used(&whole.join("\n"));
        is_known = with_sourced.sourced.len() == used.sourced.len() && !with_sourced.sets_path;
        used = with_sourced;
    }
    let programs = used.programs.into_iter();
    programs.filter(|name| is_known || name.contains('/')).collect()
}

/// The text of a file that the hook's script sources, found by the end of the written path: the part before it is
/// usually an expression for the script's folder.
fn sourced_text(subject: &Subject<'_>, word: &str) -> Option<String> {
    let word = word.replace(['"', '\''], "");
    let behind = word.rsplit([')', '}']).next().unwrap_or_default();
    let behind = match behind.strip_prefix('$') {
        Some(variable) => variable.split_once('/')?.1,
        None => behind,
    };
    let is_whole = behind.len() == word.len();
    let rest = if is_whole {
        behind
    } else {
        behind.trim_start_matches('/')
    };
    let script = scripts::file_of(subject);
    let beside = script.as_deref().and_then(Path::parent);
    let folder = subject.hook.start().folder();
    let folders = [beside, folder, Some(subject.machine.directory.as_path())];
    let mut files = folders.into_iter().flatten().map(|folder| folder.join(rest));
    files.find_map(|file| read_regular(&file, LARGEST).ok())
}

/// The command in words that some other program runs: the argument of a shell, or what follows a wrapper.
fn wrapped(words: &[String]) -> Option<String> {
    if let Some(text) = scripts::command_for_shell(words) {
        return Some(text.to_owned());
    }
    let is_wrapper = words.first().is_some_and(|program| is_wrapper(program));
    let is_plain = |word: &String| {
        let mut letters = word.chars();
        letters.all(|letter| letter.is_alphanumeric() || "/._-+=:".contains(letter))
    };
    let quoted = words.iter().map(|word| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    is_wrapper.then(|| quoted.collect::<Vec<_>>().join(" "))
}
