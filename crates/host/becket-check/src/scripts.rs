//! The scripts that hooks run: whether they can be started, and what is wrong with their text.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_hooks::{Cause, CommandLine, Failure, Program, plain_words};
use becket_system::files::read_regular;

use crate::finding::{Finding, Kind};
use crate::hook::{Start, Subject};

/// The largest script that is read.
pub const LARGEST: u64 = 1024 * 1024;

/// Shells that run the script after them.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"];

/// Whether the program with this name is a shell.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Other programs that run the script after them.
const INTERPRETERS: &[&str] = &["python", "node", "bun", "ruby", "perl", "php"];

/// Options that mean that no script follows: of shells, and of other interpreters.
const NO_SCRIPT_OF_SHELLS: &[&str] = &["-c", "-s", "-"];
const NO_SCRIPT: &[&str] = &["-c", "-m", "-e", "-p", "-", "--eval", "--print"];

/// The variable in which a hook finds the folder of its file.
const FOLDER: &str = "$BECKET_HOOK_DIR";

/// Finds a hook's program that cannot be started.
pub fn own_program(subject: &Subject<'_>) -> Vec<Finding> {
    let machine = subject.machine;
    let (name, failure) = match subject.hook.start() {
        Start::Command(CommandLine::Exec(words), _) => (
            words.first().cloned().unwrap_or_default(),
            subject.hook.trouble(machine),
        ),
        Start::Command(CommandLine::Shell(line), _) => (
            plain_words(line).into_iter().next().unwrap_or_default(),
            subject.hook.trouble(machine),
        ),
        Start::Program(file) => {
            let program = Program::exec([file]).environment(Arc::clone(&machine.environment.variables));
            (
                file.display().to_string(),
                program.check(&machine.directory).err(),
            )
        }
        Start::Line(_) => (String::new(), None),
        Start::Module(_) | Start::Nothing => return Vec::new(),
    };
    let found = failure.map(|failure| (name, failure));
    let Some((name, failure)) = found.or_else(|| script_trouble(subject)) else {
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

/// A script that a line starts by its path, and that cannot be started.
fn script_trouble(subject: &Subject<'_>) -> Option<(String, Failure)> {
    let Named { word, file, .. } =
        named(subject).filter(|named| named.interpreter.is_none() && named.word.contains('/'))?;
    // That other paths lead nowhere is found with the place where they do.
    if inside_home(&word).is_none() && !file.is_file() {
        return None;
    }
    let variables = Arc::clone(&subject.machine.environment.variables);
    let checked = Program::exec([&file]).environment(variables);
    Some((word, checked.check(&subject.machine.directory).err()?))
}

/// The part of a written path behind the user's home directory.
fn inside_home(word: &str) -> Option<&str> {
    ["~/", "$HOME/", "${HOME}/"]
        .iter()
        .find_map(|home| word.strip_prefix(home))
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

/// A script that the entry of a hook names.
struct Named {
    /// The script as it is written in the entry.
    word: String,
    /// The path of the script.
    file: PathBuf,
    /// The program that is told to run the script.
    interpreter: Option<String>,
}

/// The script that a hook runs, if that is obvious from its entry.
pub fn file_of(subject: &Subject<'_>) -> Option<PathBuf> {
    let file = match subject.hook.start() {
        Start::Program(file) | Start::Module(file) => file.to_path_buf(),
        _ => named(subject)?.file,
    };
    file.is_file().then_some(file)
}

fn named(subject: &Subject<'_>) -> Option<Named> {
    let directory = directory_of(subject)?;
    match subject.hook.start() {
        Start::Command(command, folder) => {
            let folder = folder.unwrap_or(&directory);
            match command {
                CommandLine::Exec(words) => among(words, folder, &directory),
                CommandLine::Shell(line) => in_line(subject, line, folder, &directory),
            }
        }
        Start::Line(line) => in_line(subject, line, &directory, &directory),
        Start::Program(_) | Start::Module(_) | Start::Nothing => None,
    }
}

/// The directory in which the program of a hook runs, if that is known before a run.
pub fn directory_of(subject: &Subject<'_>) -> Option<PathBuf> {
    let directory = &subject.machine.directory;
    let named = subject.hook.working_dir(directory);
    named.unwrap_or_else(|| Some(directory.clone()))
}

/// The script among the words of a program that is started without a shell.
fn among(words: &[String], folder: &Path, directory: &Path) -> Option<Named> {
    let (program, rest) = words.split_first()?;
    let interpreter = interpreter(program);
    let (word, file) = match &interpreter {
        Some(name) => {
            let word = script_among(name, rest)?;
            (word, directory.join(word))
        }
        None => (program, folder.join(program)),
    };
    let is_script = interpreter.is_some() || program.contains('/');
    is_script.then(|| Named {
        word: word.clone(),
        file: file.components().collect(),
        interpreter,
    })
}

/// The name of a program that runs the script after it. `python3.12` is a `python`.
fn interpreter(program: &str) -> Option<String> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let is_one = SHELLS.contains(&plain) || INTERPRETERS.contains(&plain);
    is_one.then(|| plain.to_owned())
}

/// The program that is told to run the script of a hook.
pub fn interpreter_of(subject: &Subject<'_>) -> Option<String> {
    named(subject)?.interpreter
}

/// The first word after an interpreter that is not an option.
fn script_among<'a>(interpreter: &str, words: &'a [String]) -> Option<&'a String> {
    let without = match SHELLS.contains(&interpreter) {
        true => NO_SCRIPT_OF_SHELLS,
        false => NO_SCRIPT,
    };
    let options = words.iter().take_while(|word| word.starts_with('-'));
    let options: Vec<&str> = options.map(String::as_str).collect();
    let is_other = options.iter().any(|option| without.contains(option));
    words.get(options.len()).filter(|_| !is_other)
}

/// The text after `-c` that a hook tells a shell to run.
pub fn command_for_shell(words: &[String]) -> Option<&str> {
    match words {
        [shell, option, text, ..] if option == "-c" => {
            let name = shell.rsplit('/').next().unwrap_or(shell);
            SHELLS.contains(&name).then_some(text.as_str())
        }
        _ => None,
    }
}

/// The script in a shell line that runs nothing else.
fn in_line(subject: &Subject<'_>, line: &str, folder: &Path, directory: &Path) -> Option<Named> {
    if line.trim_end().lines().count() > 1 || line.contains([';', '|', '&', '<', '>', '(', '`']) {
        return None;
    }
    let words = plain_words(line);
    let (first, rest) = words.split_first()?;
    let interpreter = interpreter(first);
    let word = match &interpreter {
        Some(name) => script_among(name, rest)?,
        None => first,
    };
    let (root, rest) = match (word.strip_prefix(FOLDER), inside_home(word)) {
        (Some(rest), _) => (folder.to_path_buf(), rest.trim_start_matches('/')),
        (None, Some(rest)) => (home_of(subject)?, rest),
        (None, None) => (directory.to_path_buf(), &**word),
    };
    if rest.contains(['$', '*', '~']) {
        return None;
    }
    let file = root.join(rest);
    Some(Named {
        word: word.clone(),
        file: file.components().collect(),
        interpreter,
    })
}

/// The home directory that a hook sees.
fn home_of(subject: &Subject<'_>) -> Option<PathBuf> {
    let variables = subject.hook.variables(&subject.machine.environment);
    variables.get(OsStr::new("HOME")).map(PathBuf::from)
}

/// A file that a line for the shell runs by a path that is relative to the directory.
pub struct RelativeScript {
    /// The path as it is written.
    pub path: String,
    /// Whether the shell starts the file itself, and no interpreter that is named before it.
    pub is_started: bool,
}

/// The files that a line for the shell runs by relative paths; none if the line changes the directory.
pub fn relative_scripts(line: &str) -> Vec<RelativeScript> {
    let commands: Vec<Vec<String>> = line
        .split(['\n', ';', '|', '&', '(', ')', '`'])
        .map(plain_words)
        .collect();
    let changes = |words: &Vec<String>| words.first().is_some_and(|word| word == "cd" || word == "pushd");
    if commands.iter().any(changes) {
        return Vec::new();
    }
    let scripts = commands.iter().filter_map(|words| {
        let is_setting = |word: &&String| word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
        let skipped = words.iter().take_while(is_setting).count();
        let (first, rest) = words.get(skipped..)?.split_first()?;
        let (path, is_started) = match interpreter(first) {
            Some(name) => (script_among(&name, rest)?, false),
            None => (first, true),
        };
        let plain = |letter: char| letter.is_alphanumeric() || "/._+-@ ".contains(letter);
        let has_ending = !is_started && Path::new(path).extension().is_some();
        let is_relative = !path.starts_with(['/', '-']) && path.chars().all(plain);
        (is_relative && (path.contains('/') || has_ending)).then(|| RelativeScript {
            path: path.clone(),
            is_started,
        })
    });
    scripts.collect()
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

/// Finds what is wrong with the script that a hook runs.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let start = subject.hook.start();
    if start.script().is_some_and(|script| script.contains('\r')) {
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
    match subject.hook.start() {
        Start::Command(CommandLine::Exec(words), _) => {
            words.first().is_some_and(|program| program.contains('/'))
        }
        start => matches!(start, Start::Program(_)),
    }
}

/// Finds a missing script that an interpreter is told to run.
fn missing_script(subject: &Subject<'_>) -> Option<Finding> {
    let Named { word, file, .. } = named(subject).filter(|named| named.interpreter.is_some())?;
    // A word that is not a path may be anything.
    let is_path = word.contains('/') || Path::new(&word).extension().is_some();
    if !is_path || file.exists() {
        return None;
    }
    let folder = file.parent().unwrap_or(&file);
    let beside = subject.hook.start().folder();
    let is_beside = beside.is_some_and(|folder| folder.join(&word).is_file());
    let hint = "hooks run where the agent works; `working_dir = \".\"` lets this one run beside its file";
    Some(Finding {
        line: subject.line_with(&word),
        hint: is_beside.then(|| hint.into()),
        ..subject.finding(
            Kind::MissingProgram,
            format!("the script `{word}` is not in {}", folder.display()),
        )
    })
}

/// Finds a missing folder in which the hook should run.
pub fn missing_folder(subject: &Subject<'_>) -> Vec<Finding> {
    let named = subject.hook.working_dir(&subject.machine.directory).flatten();
    let missing = named.filter(|folder| !folder.is_dir());
    let finding = missing.map(|folder| Finding {
        line: subject.line_with("working_dir"),
        ..subject.finding(
            Kind::MissingFolder,
            format!("there is no folder {} in which it could run", folder.display()),
        )
    });
    finding.into_iter().collect()
}

/// Finds paths with a space in them that the shell splits.
pub fn unquoted_paths(subject: &Subject<'_>) -> Vec<Finding> {
    let start = subject.hook.start();
    let Some(line) = start.script() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let spaced = |path: &Path| path.display().to_string().contains(char::is_whitespace);
    if start.folder().is_some_and(spaced)
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
