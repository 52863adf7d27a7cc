//! Programs: what a lane starts, in which environment, and what it means when the start fails.
//!
//! Programs are started by their absolute path, without code between fork and exec, so that the standard library
//! uses `posix_spawn`, whose cost does not grow with the memory of this process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep};

use super::environment::{absolute_path, find_program};
use super::mark::Mark;
use super::script_file::{self, Script};
use super::shell::{self, Shell};
use super::starting::start;
use super::terminal::{TerminalInput, Turn};
use super::tree::Tree;
use crate::{Cause, Failure};

/// The pause before a program whose file is still being written is tried again.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// The deadline for timeouts that are too long to add to the clock.
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// How much a program may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes on standard output, or in one line of a worker. More is a failure.
    pub output: usize,
    /// Bytes of standard error that are kept. Of more, only the end is kept.
    pub stderr: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output: 1024 * 1024,
            stderr: 16 * 1024,
        }
    }
}

/// The longest answer, however large the input was.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;

impl Limits {
    /// How many bytes a program may write that was given this much input: a program that returns its input reworded and
    /// escaped must find room.
    pub(super) fn output_for(self, input: usize) -> usize {
        self.output.max(input.saturating_mul(4).min(LONGEST_ANSWER))
    }
}

/// A step to be done before each start of a program.
pub trait Preparation: fmt::Debug + Send + Sync {
    /// Does the step. The error says why the program must not be started.
    fn prepare(&self) -> Result<(), String>;
}

/// When scripts are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the program is started.
    Before,
    /// When it has ended, for scripts that it could have made itself.
    After,
}

/// A program to run, with its environment.
#[derive(Clone)]
pub struct Program {
    /// The program and its arguments; for a shell line, the line alone.
    words: Vec<OsString>,
    /// The shell that runs the line, if this is a line.
    shell: Option<LineShell>,
    /// That shell, once it was looked for in this environment.
    found_shell: Arc<OnceLock<Shell>>,
    /// The scripts that the words obviously run, once they were read.
    scripts: Arc<OnceLock<Vec<Script>>>,
    environment: Arc<BTreeMap<OsString, OsString>>,
    directory: Option<PathBuf>,
    preparation: Option<Arc<dyn Preparation>>,
    /// Whether silence of the program counts as a yes.
    guards: bool,
}

/// The shell of a line.
#[derive(Clone)]
enum LineShell {
    /// The line names no shell.
    Default,
    Named(PathBuf),
}

impl Program {
    /// A line for the shell: bash under the name `sh` if there is one, else `/bin/sh`.
    pub fn shell(line: impl Into<OsString>) -> Self {
        Self {
            shell: Some(LineShell::Default),
            ..Self::exec([line])
        }
    }

    /// A line for this shell.
    pub fn line_for(shell: impl Into<PathBuf>, line: impl Into<OsString>) -> Self {
        Self {
            shell: Some(LineShell::Named(shell.into())),
            ..Self::exec([line])
        }
    }

    /// A program and its arguments. A name without `/` is looked for in the absolute folders of `PATH`, anything else
    /// is relative to the directory of the run.
    pub fn exec<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Self {
        Self {
            words: words.into_iter().map(Into::into).collect(),
            shell: None,
            found_shell: Arc::default(),
            scripts: Arc::default(),
            environment: Arc::default(),
            directory: None,
            preparation: None,
            guards: false,
        }
    }

    /// This program with exactly this environment; see [`guest_environment`](super::guest_environment).
    pub fn environment(mut self, environment: Arc<BTreeMap<OsString, OsString>>) -> Self {
        self.environment = environment;
        self.found_shell = Arc::default();
        self
    }

    /// This program with one more variable.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        Arc::make_mut(&mut self.environment).insert(name.into(), value.into());
        self.found_shell = Arc::default();
        self
    }

    /// This program without a variable.
    pub fn without_variable(mut self, name: impl AsRef<OsStr>) -> Self {
        Arc::make_mut(&mut self.environment).remove(name.as_ref());
        self.found_shell = Arc::default();
        self
    }

    /// This program in its own directory. A relative one is relative to the directory of the run.
    pub fn directory(mut self, directory: Option<PathBuf>) -> Self {
        self.directory = directory;
        self
    }

    /// This program with a step to be done before each start.
    pub fn prepared_by(mut self, preparation: Option<Arc<dyn Preparation>>) -> Self {
        self.preparation = preparation;
        self
    }

    /// This program for a hook whose silence lets something pass: it is not started if its script is empty.
    pub fn for_guard(mut self) -> Self {
        self.guards = true;
        self
    }

    /// Starts the program. The returned tree is responsible for ending it and everything it starts.
    pub(super) async fn start(
        &self,
        run_directory: &Path,
        variables: &[(String, String)],
        deadline: Instant,
    ) -> Result<Process, Failure> {
        let mark = Mark::within(&self.environment);
        let mut launch = self.launch(run_directory, variables, &mark)?;
        launch
            .command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Process::new(launch.spawn(deadline).await?, &mark)
    }

    /// Starts the program in this process's group at the terminal: it can ask the user something, on standard error and
    /// by reading the terminal.
    pub(super) async fn start_at_terminal(
        &self,
        run_directory: &Path,
        variables: &[(String, String)],
        deadline: Instant,
        (turn, input): (&Turn, TerminalInput),
    ) -> Result<AttendedProcess, Failure> {
        let no_terminal = |error: io::Error| {
            Failure::new(
                Cause::SpawnFailed,
                format!("the terminal cannot be passed on: {error}"),
            )
        };
        let mark = Mark::within(&self.environment);
        let mut launch = self.launch(run_directory, variables, &mark)?;
        launch.command.stdin(match input {
            TerminalInput::Told => Stdio::piped(),
            TerminalInput::Typed => turn.stream().map_err(no_terminal)?,
        });
        launch
            .command
            .stdout(Stdio::piped())
            .stderr(turn.stream().map_err(no_terminal)?);
        AttendedProcess::new(launch.spawn(deadline).await?, &mark)
    }

    /// Prepares everything but the streams and the group.
    fn launch(
        &self,
        run_directory: &Path,
        variables: &[(String, String)],
        mark: &Mark,
    ) -> Result<Launch, Failure> {
        let directory = self.run_directory(run_directory);
        if let Some(preparation) = &self.preparation {
            let unprepared = |words| Failure::new(Cause::SpawnFailed, words);
            preparation.prepare().map_err(unprepared)?;
        }
        if self.guards {
            self.look_for_scripts(&directory, variables, When::Before)?;
        }
        let (mut command, path) = self.command(&directory, variables)?;
        let (mark_name, mark_value) = mark.variable();
        command.env_clear().envs(self.environment.as_ref());
        command.env("PATH", absolute_path(&self.environment));
        if self.line_shell().is_some_and(|shell| shell.path != path) {
            command.env("PWD", shell::directory_told(&self.environment, &directory));
        }
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.env(mark_name, mark_value).current_dir(&directory);
        Ok(Launch {
            command,
            path,
            directory,
        })
    }

    /// The program's own directory, if it has one, in that of the run.
    fn run_directory(&self, of_run: &Path) -> PathBuf {
        match &self.directory {
            Some(own) => of_run.join(own),
            None => of_run.to_owned(),
        }
    }

    /// The program with its arguments, and its path.
    fn command(
        &self,
        directory: &Path,
        variables: &[(String, String)],
    ) -> Result<(Command, PathBuf), Failure> {
        let Some(shell) = self.line_shell() else {
            let path = self.resolve(directory)?;
            return Ok((self.exec_command(&path), path));
        };
        let direct = self.script_command(directory, variables);
        if let Some((command, path)) = direct.or_else(|| self.plain_command(directory)) {
            return Ok((command, path));
        }
        let mut command = Command::new(&shell.path);
        if let Some(name) = shell.name {
            command.arg0(name);
        }
        command.args(shell.options).arg("-c").args(&self.words);
        Ok((command, shell.path.clone()))
    }

    /// The script that the whole line runs, if the shell would only start it: its path has a `/`, so it is no word of
    /// the shell's, and its first line names an interpreter that is there. What could not be started is left to the
    /// shell.
    fn script_command(&self, directory: &Path, variables: &[(String, String)]) -> Option<(Command, PathBuf)> {
        if !matches!(self.shell, Some(LineShell::Default)) {
            return None;
        }
        let value_of = |name: &str| self.variable_of_run(name, variables);
        let words = script_file::words_of_line(self.words.first()?.to_str()?, value_of)?;
        let program = Self {
            shell: None,
            ..self.clone().with_words(words)
        };
        let first = program.words.first()?;
        let has_folder = first.as_encoded_bytes().contains(&b'/');
        let path = has_folder.then(|| program.resolve(directory).ok()).flatten()?;
        let line = interpreter(&path)?;
        access(&path, Access::EXEC_OK).ok()?;
        program.check_interpreter(&line, &path, directory).ok()?;
        Some((program.exec_command(&path), path))
    }

    fn with_words(mut self, words: Vec<OsString>) -> Self {
        self.words = words;
        self.scripts = Arc::default();
        self
    }

    /// The value of a variable as the program would find it: the last one, where a run sets it more than once.
    fn variable_of_run(&self, name: &str, variables: &[(String, String)]) -> Option<OsString> {
        let of_run = variables.iter().rev().find(|(own, _)| own == name);
        let of_run = of_run.map(|(_, value)| OsString::from(value));
        of_run.or_else(|| self.environment.get(OsStr::new(name)).cloned())
    }

    /// A program that is not a shell line. A script is given to the shell that it names if that shell needs options.
    fn exec_command(&self, path: &Path) -> Command {
        let arguments = &self.words[1..];
        let shell = interpreter(path).and_then(|line| script_file::shell_of(path, &line, &self.environment));
        let Some(shell) = shell else {
            let mut command = Command::new(path);
            command.args(shell::options(path)).args(arguments);
            return command;
        };
        let mut command = Command::new(&shell.path);
        command.args(shell.options).args(shell.arguments);
        command.arg(path).args(arguments);
        command
    }

    /// The program of a line that is only plain words, if it is a shell that needs options or a script for one: the
    /// shell of the line would start it without them.
    fn plain_command(&self, directory: &Path) -> Option<(Command, PathBuf)> {
        let line = self.words.first()?.to_str()?.trim();
        let is_plain = |letter: char| letter.is_alphanumeric() || " \t/._-+".contains(letter);
        let words = line.split_ascii_whitespace();
        let program = Self {
            shell: None,
            words: words.map(OsString::from).collect(),
            ..self.clone()
        };
        let path = program.resolve(directory).ok()?;
        let is_script = || {
            interpreter(&path)
                .is_some_and(|line| script_file::shell_of(&path, &line, &self.environment).is_some())
        };
        let concerns = line.chars().all(is_plain) && (!shell::options(&path).is_empty() || is_script());
        concerns.then(|| (program.exec_command(&path), path))
    }

    /// Checks that the scripts that are obviously run are there, as seen from this directory, and that none is empty.
    pub fn check_scripts(&self, directory: &Path) -> Result<(), Failure> {
        self.look_for_scripts(directory, &[], When::Before)
    }

    /// Checks the scripts that the line itself could have made, now that it has ended.
    pub(super) fn check_scripts_afterwards(
        &self,
        run_directory: &Path,
        variables: &[(String, String)],
    ) -> Result<(), Failure> {
        if !self.guards {
            return Ok(());
        }
        self.look_for_scripts(&self.run_directory(run_directory), variables, When::After)
    }

    fn look_for_scripts(
        &self,
        directory: &Path,
        variables: &[(String, String)],
        when: When,
    ) -> Result<(), Failure> {
        let value_of = |name: &str| self.variable_of_run(name, variables);
        let of_moment = |script: &&Script| script.may_be_made == (when == When::After);
        for script in self.scripts().iter().filter(of_moment) {
            let mut words = script.within.iter().chain([&script.word]);
            let file = words.try_fold(directory.to_path_buf(), |within, word| {
                script_file::expanded(word, value_of, &within)
            });
            let Some(file) = file else { continue };
            let (cause, detail) = match std::fs::metadata(&file) {
                // Without its directory nothing can be started, which is said elsewhere.
                Err(error)
                    if script.is_needed && error.kind() == io::ErrorKind::NotFound && directory.is_dir() =>
                {
                    (Cause::NotFound, "does not exist")
                }
                _ if script_file::is_blank(&file) => {
                    (Cause::NotExecutable, "is empty, so it would let everything pass")
                }
                _ => continue,
            };
            let words = format!("the file {} {detail}", file.display());
            return Err(Failure::new(cause, words));
        }
        Ok(())
    }

    /// The scripts that the program obviously runs. Its words are read once, because they stay the same.
    fn scripts(&self) -> &[Script] {
        self.scripts.get_or_init(|| {
            let words = self.words.iter().map(|word| word.to_string_lossy().into_owned());
            match self.shell {
                Some(_) => script_file::scripts_of_line(&words.collect::<String>()),
                None => script_file::scripts_of(&words.collect::<Vec<_>>()),
            }
        })
    }

    /// The shell of the line, which is looked for once.
    fn line_shell(&self) -> Option<&Shell> {
        let shell = self.shell.as_ref()?;
        Some(self.found_shell.get_or_init(|| match shell {
            LineShell::Default => Shell::unnamed(&self.environment),
            LineShell::Named(path) => Shell::named(path),
        }))
    }

    /// Checks whether the program could be started from this directory, as far as that is known without starting it.
    pub fn check(&self, directory: &Path) -> Result<(), Failure> {
        let directory = self.directory.as_deref().unwrap_or(directory);
        let path = self.resolve(directory)?;
        if self.guards {
            self.check_scripts(directory)?;
        }
        if path.is_dir() {
            let detail = format!("{} is a folder", path.display());
            return Err(Failure::new(Cause::NotExecutable, detail));
        }
        if let Err(error) = access(&path, Access::EXEC_OK) {
            return Err(explain(&error.into(), &path, directory));
        }
        match interpreter(&path) {
            Some(line) => self.check_interpreter(&line, &path, directory),
            None => Ok(()),
        }
    }

    /// Checks that the interpreter in a script's first line exists, and behind `env` the program that it looks for.
    fn check_interpreter(&self, line: &str, script: &Path, directory: &Path) -> Result<(), Failure> {
        let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
        let interpreter = words.next().unwrap_or_default();
        if line.ends_with('\r') || access(directory.join(interpreter), Access::EXEC_OK).is_err() {
            return Err(no_interpreter(script, line));
        }
        let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
        let Some(name) = words
            .next()
            .filter(|word| is_env && !word.starts_with('-') && !word.contains('='))
        else {
            return Ok(());
        };
        let behind = Self::exec([name]).environment(Arc::clone(&self.environment));
        match behind.resolve(directory) {
            Ok(_) => Ok(()),
            Err(_) => Err(no_interpreter(script, name)),
        }
    }

    /// The absolute path of the program, as found from this directory.
    pub fn resolve(&self, directory: &Path) -> Result<PathBuf, Failure> {
        if let Some(shell) = self.line_shell() {
            return Ok(shell.path.clone());
        }
        let Some(name) = self.words.first().filter(|name| !name.is_empty()) else {
            return Err(Failure::new(Cause::NotFound, "the hook names no program"));
        };
        if name.as_encoded_bytes().contains(&b'/') {
            let path = directory.join(name);
            return std::path::absolute(&path).map_err(|error| explain(&error, &path, directory));
        }
        find_program(name, &self.environment).map_err(|not_executable| match not_executable {
            Some(path) => not_executable_file(&path),
            None => in_no_folder(name, directory),
        })
    }
}

/// No folder of PATH has a program. Who names a file without its folder often means the one in the working directory.
fn in_no_folder(name: &OsStr, directory: &Path) -> Failure {
    let is_there = directory.join(name).is_file();
    let name = name.display();
    let what_to_try = match is_there {
        true => format!("write `./{name}` for the file in {}", directory.display()),
        false => "install it, or name it with its path".into(),
    };
    let words = format!("`{name}` is in no folder of PATH; {what_to_try}");
    Failure::new(Cause::NotFound, words)
}

/// Shows only the names of variables, because their values may be secrets.
impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Program")
            .field("words", &self.words)
            .field("variables", &self.environment.keys().collect::<Vec<_>>())
            .field("directory", &self.directory)
            .finish()
    }
}

/// A program that is about to be started.
struct Launch {
    command: Command,
    path: PathBuf,
    directory: PathBuf,
}

impl Launch {
    async fn spawn(mut self, deadline: Instant) -> Result<Child, Failure> {
        loop {
            let (command, started) = start(self.command).await;
            self.command = command;
            match started {
                Ok(child) => return Ok(child),
                // The file is still being written, or a process started meanwhile has inherited the open file.
                Err(error)
                    if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < deadline =>
                {
                    sleep(BUSY_PAUSE).await;
                }
                Err(error) => return Err(explain(&error, &self.path, &self.directory)),
            }
        }
    }
}

/// A process that was just started, with its pipes.
pub(super) struct Process {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    pub(super) tree: Tree,
}

impl Process {
    fn new(mut child: Child, mark: &Mark) -> Result<Self, Failure> {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        match (pipes, Tree::adopt(child, mark)) {
            ((Some(stdin), Some(stdout), Some(stderr)), Ok(tree)) => Ok(Self {
                stdin,
                stdout,
                stderr,
                tree,
            }),
            _ => Err(without_pipes()),
        }
    }
}

/// A process that was just started at the terminal. The user has seen its standard error.
pub(super) struct AttendedProcess {
    /// The pipe to standard input; `None` when the process reads what the user types.
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: ChildStdout,
    pub(super) tree: Tree,
}

impl AttendedProcess {
    fn new(mut child: Child, mark: &Mark) -> Result<Self, Failure> {
        let stdin = child.stdin.take();
        match (child.stdout.take(), Tree::adopt_beside(child, mark)) {
            (Some(stdout), Ok(tree)) => Ok(Self { stdin, stdout, tree }),
            _ => Err(without_pipes()),
        }
    }
}

fn without_pipes() -> Failure {
    Failure::new(Cause::SpawnFailed, "the program was started without its pipes")
}

/// The moment at which a timeout ends.
pub(super) fn deadline_after(timeout: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(timeout.min(FAR_FUTURE)).unwrap_or(now)
}

/// Says why a program could not be started. The error alone is not enough: a missing directory, a missing program and a
/// missing interpreter are all the same "not found".
fn explain(error: &io::Error, path: &Path, directory: &Path) -> Failure {
    if let Some(problem) = directory_problem(directory) {
        let detail = format!("the working directory {} {problem}", directory.display());
        return Failure::new(Cause::SpawnFailed, detail);
    }
    let shown = path.display();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) if path.is_file() => match interpreter(path) {
            Some(line) => no_interpreter(path, &line),
            None => Failure::new(
                Cause::NotExecutable,
                format!("the loader that {shown} wants does not exist"),
            ),
        },
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
            Failure::new(Cause::NotFound, format!("{shown} does not exist"))
        }
        Some(Errno::ACCESS | Errno::PERM) => not_executable_file(path),
        Some(Errno::NOEXEC) => Failure::new(
            Cause::NotExecutable,
            format!("{shown} is no program; a script begins with a line such as `#!/bin/sh`"),
        ),
        Some(Errno::TOOBIG) => Failure::new(
            Cause::SpawnFailed,
            "the arguments and the environment are too long for the system; pass less, or use standard input",
        ),
        _ => Failure::new(Cause::SpawnFailed, format!("{shown}: {error}")),
    }
}

/// The failure of a script whose first line asks for something that does not exist.
fn no_interpreter(script: &Path, line: &str) -> Failure {
    let shown = script.display();
    let detail = if line.ends_with('\r') {
        format!(
            "the file has Windows line endings, so the interpreter that {shown} wants is `{}`; \
             end its lines with a line feed alone",
            line.escape_debug()
        )
    } else {
        format!(
            "{shown} wants the interpreter `{}`, which does not exist; correct its first line",
            line.escape_debug()
        )
    };
    Failure::new(Cause::NotExecutable, detail)
}

fn not_executable_file(path: &Path) -> Failure {
    let shown = path.display();
    let detail = if path.is_dir() {
        format!("{shown} is a directory")
    } else {
        format!("{shown} may not be executed; try `chmod +x {shown}`")
    };
    Failure::new(Cause::NotExecutable, detail)
}

fn directory_problem(directory: &Path) -> Option<&'static str> {
    match std::fs::metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("does not exist (any more)"),
        Err(_) => Some("cannot be reached"),
        Ok(metadata) if !metadata.is_dir() => Some("is not a directory"),
        Ok(_) if access(directory, Access::EXEC_OK).is_err() => Some("may not be entered"),
        Ok(_) => None,
    }
}

/// The interpreter that a script names in its first line, with its arguments.
fn interpreter(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut beginning = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(256)
        .read_to_end(&mut beginning)
        .ok()?;
    let line = beginning
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    // A carriage return at the end of the line is part of the name for the system, so it stays.
    let line = String::from_utf8_lossy(line);
    let line = line.trim_matches([' ', '\t']);
    // Without a name there the system takes the file for none of its own, and a shell runs it itself.
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_variable_is_the_one_that_the_program_has() {
        let set = [("A_B", "old"), ("A_B", "new")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let value = Program::shell("true").variable_of_run("A_B", &set);
        assert_eq!(value, Some("new".into()));
    }

    #[test]
    fn the_values_of_variables_are_not_shown() {
        let program = Program::shell("true").variable("TOKEN", "hunter2");
        let shown = format!("{program:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn the_interpreter_of_a_script_is_checked_too() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let table = [
            ("#!/bin/sh\n", None),
            ("#! /bin/sh -e\n", None),
            ("#!/usr/bin/env sh\n", None),
            (
                "#!/no/such/interpreter -x\n",
                Some("`/no/such/interpreter -x`, which does not exist"),
            ),
            (
                "#!/usr/bin/env becket-no-such-program\n",
                Some("`becket-no-such-program`, which does not exist"),
            ),
            ("#!/bin/sh\r\n", Some("the file has Windows line endings")),
            ("#!/usr/bin/env sh\r\n", Some("the file has Windows line endings")),
        ];
        for (text, wanted) in table {
            let path = folder.path().join("hook");
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let found = Program::exec(["./hook"]).check(folder.path()).err();
            match (wanted, &found) {
                (None, None) => {}
                (Some(words), Some(failure)) if failure.detail.contains(words) => {
                    assert_eq!(failure.cause, Cause::NotExecutable);
                }
                _ => panic!("{text}: {found:?}"),
            }
        }
        assert!(Program::exec(["sh", "missing.sh"]).check(folder.path()).is_ok());
    }
}
