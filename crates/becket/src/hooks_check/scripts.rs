//! The scripts that hooks run: whether they can be started, and what is wrong with their text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hooks::{Cause, CommandLine, Failure, Program};

use super::{Finding, Hook, Kind, Subject};
use crate::files::read_regular;

/// The largest script that is looked into.
const LARGEST: u64 = 1024 * 1024;

/// Programs that run the script behind them.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "ruby", "perl",
];

/// The variable in which a hook finds the folder of its file.
const FOLDER: &str = "$BECKET_HOOK_DIR";

/// The program of a hook, if it cannot be started.
pub fn own_program(subject: &Subject<'_>) -> Vec<Finding> {
    let machine = subject.machine;
    let (name, failure) = match subject.hook {
        Hook::Own(hook) => {
            let name = match hook.command_line() {
                CommandLine::Exec(words) => words.first().cloned().unwrap_or_default(),
                CommandLine::Shell(line) => first_word(line).to_owned(),
            };
            (name, hook.trouble(&machine.environment, &machine.directory))
        }
        Hook::Guest(guest) if guest.is_program() => {
            let program =
                Program::exec([&guest.file]).environment(Arc::clone(&machine.environment.variables));
            let failure = program.check(&machine.directory).err();
            (guest.file.display().to_string(), failure)
        }
        _ => return Vec::new(),
    };
    let Some(failure) = failure else {
        return Vec::new();
    };
    let kind = kind_of(&failure, subject);
    let message = match kind {
        Kind::MissingProgram => format!("`{name}` is not on this machine: {}", failure.detail),
        _ => format!("`{name}` cannot be started: {}", failure.detail),
    };
    vec![Finding {
        line: subject.line_with(&name),
        ..subject.finding(kind, message)
    }]
}

fn kind_of(failure: &Failure, subject: &Subject<'_>) -> Kind {
    let text = file_of(subject).and_then(|file| read_regular(&file, LARGEST).ok());
    let first = text.as_deref().and_then(|text| text.split('\n').next());
    match failure.cause {
        _ if first.is_some_and(|first| first.starts_with("#!") && first.ends_with('\r')) => Kind::LineEnds,
        Cause::NotExecutable if failure.detail.contains("interpreter") => Kind::BadInterpreter,
        Cause::NotExecutable => Kind::NotExecutable,
        _ => Kind::MissingProgram,
    }
}

fn first_word(line: &str) -> &str {
    line.split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_matches('"')
}

/// The script that a hook runs, where that is plain from its entry.
pub fn file_of(subject: &Subject<'_>) -> Option<PathBuf> {
    let file = match subject.hook {
        Hook::Own(hook) => {
            let directory = hook.working_dir().unwrap_or(&subject.machine.directory);
            match hook.command_line() {
                CommandLine::Exec(words) => match words.as_slice() {
                    [program, ..] if program.contains('/') => hook.folder().join(program),
                    [program, rest @ ..] if INTERPRETERS.contains(&program.as_str()) => {
                        directory.join(script_among(rest.iter().map(String::as_str))?)
                    }
                    _ => return None,
                },
                CommandLine::Shell(line) => in_line(line, hook.folder(), directory)?,
            }
        }
        Hook::Foreign(..) => {
            let directory = &subject.machine.directory;
            in_line(subject.hook.script()?, directory, directory)?
        }
        Hook::Guest(guest) => guest.file.clone(),
    };
    file.is_file().then_some(file)
}

/// The first word behind an interpreter that is no option.
fn script_among<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words.find(|word| !word.starts_with('-'))
}

/// The script in a line for the shell that runs nothing else.
fn in_line(line: &str, folder: &Path, directory: &Path) -> Option<PathBuf> {
    if line.lines().count() > 1 || line.contains([';', '|', '&', '<', '>', '(', '`']) {
        return None;
    }
    let mut words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let first = words.next()?;
    let script = match INTERPRETERS.contains(&first) {
        true => script_among(words)?,
        false => first,
    };
    if let Some(rest) = script.strip_prefix(FOLDER) {
        return Some(folder.join(rest.trim_start_matches('/')));
    }
    (!script.contains('$')).then(|| directory.join(script))
}

/// The text of a script for a shell.
pub fn shell_script(file: &Path) -> Option<String> {
    let text = read_regular(file, LARGEST).ok()?;
    let first = text.lines().next().unwrap_or_default();
    let ends = |name: &str| first.trim_end().ends_with(name);
    let is_shell = first.starts_with("#!")
        && ["/sh", "/bash", "/dash", " sh", " bash"]
            .iter()
            .any(|name| ends(name));
    let is_named = file
        .extension()
        .is_some_and(|ending| ending == "sh" || ending == "bash");
    (is_shell || (is_named && !first.starts_with("#!"))).then_some(text)
}

/// What is wrong with the script that a hook runs.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if subject.hook.script().is_some_and(|script| script.contains('\r')) {
        let message =
            "the command has line ends of another system: the shell takes \\r for a part of its words";
        findings.push(Finding {
            hint: Some("save the file with \\n alone".into()),
            ..subject.finding(Kind::LineEnds, message.into())
        });
    }
    findings.extend(missing_script(subject));
    let Some(file) = file_of(subject) else {
        return findings;
    };
    let Ok(text) = read_regular(&file, LARGEST) else {
        return findings;
    };
    let at = |line: usize, kind, message: &str, hint: &str| Finding {
        file: file.clone(),
        line: Some(line),
        hint: Some(hint.into()),
        ..subject.finding(kind, message.into())
    };
    let is_script = text.starts_with("#!") || shell_script(&file).is_some();
    let carriage = text.split('\n').position(|line| line.ends_with('\r'));
    if let Some(line) = carriage.filter(|line| is_script && *line > 0) {
        let message =
            "the script has line ends of another system: the interpreter takes \\r for a part of its words";
        findings.push(at(line + 1, Kind::LineEnds, message, "save it with \\n alone"));
    }
    if starts_directly(subject) && !text.starts_with("#!") {
        let message = "the script has no `#!` line, so the system does not know what to run it with";
        findings.push(at(
            1,
            Kind::BadInterpreter,
            message,
            "begin it with a line such as `#!/bin/sh`",
        ));
    }
    findings
}

/// Whether the system itself starts the script, and not a shell or an interpreter.
fn starts_directly(subject: &Subject<'_>) -> bool {
    match subject.hook {
        Hook::Own(hook) => match hook.command_line() {
            CommandLine::Exec(words) => words.first().is_some_and(|program| program.contains('/')),
            CommandLine::Shell(_) => false,
        },
        Hook::Foreign(..) => false,
        Hook::Guest(guest) => guest.is_program(),
    }
}

/// A script that an interpreter is told to run, and that is not there.
fn missing_script(subject: &Subject<'_>) -> Option<Finding> {
    let Hook::Own(hook) = subject.hook else {
        return None;
    };
    let CommandLine::Exec(words) = hook.command_line() else {
        return None;
    };
    let [program, rest @ ..] = words.as_slice() else {
        return None;
    };
    if !INTERPRETERS.contains(&program.as_str()) {
        return None;
    }
    let script = script_among(rest.iter().map(String::as_str))?;
    // A word that is no path may be anything.
    let is_path = script.contains('/') || Path::new(script).extension().is_some();
    let directory = hook.working_dir().unwrap_or(&subject.machine.directory);
    // Where it runs in the agent's folder, the file may be there when the time comes.
    let is_known = hook.working_dir().is_some() || Path::new(script).is_absolute();
    (is_path && is_known && !directory.join(script).exists()).then(|| Finding {
        line: subject.line_with(script),
        ..subject.finding(
            Kind::MissingProgram,
            format!("the script `{script}` is not in {}", directory.display()),
        )
    })
}

/// Paths with a space in them that the shell takes apart.
pub fn unquoted_paths(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(line) = subject.hook.script() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let spaced = |path: &Path| path.display().to_string().contains(char::is_whitespace);
    if let Hook::Own(hook) = subject.hook
        && spaced(hook.folder())
        && let Some((before, _)) = line.split_once(FOLDER)
        && before.matches('"').count().is_multiple_of(2)
    {
        findings.push(told(subject, FOLDER, &format!("\"{FOLDER}/…\"")));
    }
    let words: Vec<&str> = line.lines().next().unwrap_or_default().split(' ').collect();
    let is_path = words
        .first()
        .is_some_and(|first| first.starts_with('/') && !Path::new(first).exists());
    if is_path {
        let whole = (2..=words.len()).map(|count| words[..count].join(" "));
        if let Some(path) = whole.into_iter().find(|path| Path::new(path).exists()) {
            findings.push(told(subject, &path, &format!("'{path}'")));
        }
    }
    findings
}

fn told(subject: &Subject<'_>, path: &str, quoted: &str) -> Finding {
    Finding {
        line: subject.line_with(path),
        hint: Some(format!("write {quoted}")),
        ..subject.finding(
            Kind::UnquotedPath,
            format!("there is a space in {path}, and the shell takes it apart there"),
        )
    }
}
