//! Whether interpreters can read what they should run. They are asked to read it, and run nothing of it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use becket_hooks::Program;
use becket_system::files::read_regular;

use crate::finding::{Finding, Kind};
use crate::hook::{Start, Subject};
use crate::scripts::{self, LARGEST};

/// The shell of scripts that name none.
const SHELL: &str = "/bin/sh";

/// The Python code that parses standard input, and does nothing else.
const READ_PYTHON: &str = "import sys\ncompile(sys.stdin.buffer.read(), 'script', 'exec')";

/// Finds syntax errors in the hook's command and in its script.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let start = subject.hook.start();
    // A placeholder that the system itself fills in is not shell syntax.
    let command = start.script().filter(|script| !script.contains("${env."));
    let shell = Program::shell("").environment(Arc::clone(&subject.machine.environment.variables));
    let shell = shell.resolve(Path::new("/")).ok();
    let shell = shell.as_deref().and_then(Path::to_str).unwrap_or(SHELL);
    if let Some((_, message)) = command.and_then(|script| trouble(&[shell, "-n"], script)) {
        findings.push(subject.finding(Kind::BadScript, format!("the shell cannot read it: {message}")));
    }
    let is_module = matches!(start, Start::Module(_));
    let script = scripts::file_of(subject).filter(|_| !is_module);
    let Some((file, text)) = script.and_then(|file| {
        let text = read_regular(&file, LARGEST).ok()?;
        Some((file, text))
    }) else {
        return findings;
    };
    // Line ends of another system are reported separately.
    let told = scripts::interpreter_of(subject);
    let words = reader(&file, &text, told.as_deref()).filter(|_| !text.contains('\r'));
    if let Some((line, message)) = words.and_then(|words| trouble(words, &text)) {
        findings.push(Finding {
            file,
            line: line.or(Some(1)),
            ..subject.finding(Kind::BadScript, format!("it cannot be read: {message}"))
        });
    }
    findings
}

/// The interpreter that can read a script: the one that is told to run it, or else by its first line or its extension.
fn reader(file: &Path, text: &str, told: Option<&str>) -> Option<&'static [&'static str]> {
    let first = text.lines().next().filter(|line| line.starts_with("#!"));
    let in_first = first.and_then(|line| {
        let mut words = line.split([' ', '/', '!']);
        words.rfind(|word| !word.is_empty() && !word.starts_with('-'))
    });
    let ending = file.extension().and_then(OsStr::to_str);
    let name = told.or(in_first).or(ending.filter(|_| first.is_none()))?;
    match name {
        "sh" | "dash" => Some(&[SHELL, "-n"]),
        "bash" => Some(&["bash", "-n"]),
        "python" | "python3" | "py" => Some(&["python3", "-I", "-S", "-c", READ_PYTHON]),
        _ => None,
    }
}

/// The error of a reader about a text, and the line if it names one. `None` if the machine lacks the reader.
fn trouble(words: &[&str], text: &str) -> Option<(Option<usize>, String)> {
    let (program, arguments) = words.split_first()?;
    let mut child = Command::new(program)
        .args(arguments)
        // The empty environment keeps variables from loading anything first.
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    if let Some(mut input) = child.stdin.take() {
        // A reader that has found an error reads no further.
        let _ = input.write_all(text.as_bytes());
    }
    let ended = child.wait_with_output().ok()?;
    if ended.status.success() {
        return None;
    }
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    let wrong = ["yntax error", "unexpected", "Error:"];
    let mut lines = told.lines();
    let message = lines.find(|line| wrong.iter().any(|word| line.contains(word)))?;
    let message = message.trim();
    let place = told.split_once("line ").or_else(|| told.split_once(": "));
    let digits = place.map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    let line = digits.and_then(|digits| digits.parse().ok());
    // The program and the line are reported separately.
    let shown = message
        .strip_prefix(*program)
        .unwrap_or(message)
        .trim_start_matches(": ");
    let shown = shown.trim_start_matches("line ");
    let shown = shown.trim_start_matches(|sign: char| sign.is_ascii_digit() || ": ".contains(sign));
    Some((line, shown.to_owned()))
}
