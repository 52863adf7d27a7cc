//! Runs the program `git` so that nothing but this crate decides what it does.
//!
//! The environment is empty except for what is set here: no configuration of user or system, no hooks, no attributes
//! that change contents, no file system monitor, no lazy fetching, no prompts. Every call has a deadline, at which its
//! process group is killed.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use becket_hooks::program_outside;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::lock::Lock;
use crate::problem::{Problem, system};

/// How often to check a process that has closed its outputs and not yet ended.
const GLANCE: Duration = Duration::from_millis(1);

/// The complete configuration of the shadow repository. Anything else is git's default.
pub(crate) const CONFIGURATION: &str = "[core]
\trepositoryFormatVersion = 0
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tautocrlf = false
\tsafecrlf = false
\tfsmonitor = false
\tuntrackedCache = false
\tprotectNTFS = false
\tprotectHFS = false
\tlogAllRefUpdates = false
\thooksPath = /dev/null
\texcludesFile = /dev/null
\tattributesFile = /dev/null
\tlooseCompression = 1
[gc]
\tauto = 0
[maintenance]
\tauto = false
[index]
\tskipHash = true
";

/// The attributes of the repository, which override those in the folder: contents are kept as they are.
pub(crate) const ATTRIBUTES: &str = "* -text !eol !ident !filter !working-tree-encoding !diff !merge\n";

const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
    // For each file git allocates memory and frees it. The C library need not return it to the system every time: that
    // was half of the first checkpoint's time.
    ("MALLOC_TRIM_THRESHOLD_", "268435456"),
    ("MALLOC_TOP_PAD_", "16777216"),
];

/// Options of every call, because the user's repository has its own configuration when it is looked into.
const SEAL: &[&str] = &[
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "core.attributesFile=/dev/null",
];

/// The path of the program.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    search_path: std::ffi::OsString,
}

impl Program {
    /// The first `git` of the search path that is not in the project, whose files may be anyone's.
    pub(crate) fn find(search_path: &OsStr, folder: &Path) -> Result<Self, Problem> {
        Ok(Self {
            path: program_outside("git", search_path, folder).ok_or(Problem::NoGit)?,
            search_path: search_path.to_owned(),
        })
    }
}

/// The repository and the files that a call of git works on.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// The repository, with objects and configuration.
    pub repository: PathBuf,
    /// The top of the files, from which ignore rules count.
    pub top: PathBuf,
    /// The folder in which git runs, and to which its paths are relative.
    pub folder: PathBuf,
    /// The index file, unless it is the repository's own.
    pub index: Option<PathBuf>,
}

/// git, ready to be called.
pub(crate) struct Git<'a> {
    pub program: &'a Program,
    pub lock: &'a Lock,
    pub view: View,
    pub deadline: Duration,
}

/// The result of a call.
pub(crate) struct GitOutput {
    pub status: ExitStatus,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

impl Git<'_> {
    /// Runs git and returns its output. `doing` completes "cannot …" if it fails.
    pub(crate) fn run(
        &self,
        doing: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, Problem> {
        let answer = self.ask(doing, arguments, input)?;
        if answer.status.success() {
            return Ok(answer.output);
        }
        let errors = String::from_utf8_lossy(&answer.errors);
        let message = match errors.trim() {
            "" => format!("nothing ({})", answer.status),
            said => said.to_owned(),
        };
        Err(Problem::Git { doing, message })
    }

    /// Runs git and returns its output and exit code, for calls whose exit code is an answer.
    pub(crate) fn ask(
        &self,
        doing: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<GitOutput, Problem> {
        let started = Instant::now();
        let mut command = self.command(arguments);
        command.stdin(self.lock.as_input(input)?);
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if !self.program.path.exists() => Problem::NoGit,
            _ => system("start", &self.program.path)(error),
        })?;
        let answer = wait(child, started + self.deadline).map_err(system("run", &self.program.path))?;
        answer.ok_or(Problem::Deadline {
            doing,
            after: self.deadline,
        })
    }

    /// This git with another view.
    pub(crate) fn looking_at(&self, view: View) -> Git<'_> {
        Git {
            program: self.program,
            lock: self.lock,
            view,
            deadline: self.deadline,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program.path);
        command
            .args(SEAL)
            .args(arguments)
            .current_dir(&self.view.folder)
            .env_clear()
            .envs(ENVIRONMENT.iter().copied())
            .env("PATH", &self.program.search_path)
            .env("HOME", &self.view.repository)
            .env("GIT_DIR", &self.view.repository)
            .env("GIT_WORK_TREE", &self.view.top)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(index) = &self.view.index {
            command.env("GIT_INDEX_FILE", index);
        }
        command
    }
}

/// The parts of an output that are separated by NUL.
pub(crate) fn parts(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// A path in an output.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Paths in the format that git reads.
pub(crate) fn lines<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<u8> {
    let mut lines = Vec::new();
    for path in paths {
        lines.extend_from_slice(path.as_os_str().as_bytes());
        lines.push(0);
    }
    lines
}

/// Waits for the end; `None` if the deadline came first.
fn wait(mut child: Child, deadline: Instant) -> io::Result<Option<GitOutput>> {
    let (open, closed) = channel::<()>();
    let output = reader(child.stdout.take(), open.clone());
    let errors = reader(child.stderr.take(), open);
    let left = deadline.saturating_duration_since(Instant::now());
    let mut status = None;
    if closed.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
        status = child.try_wait()?;
        while status.is_none() && Instant::now() < deadline {
            std::thread::sleep(GLANCE);
            status = child.try_wait()?;
        }
    }
    if status.is_none() {
        if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
    }
    let (output, errors) = (finish(output)?, finish(errors)?);
    Ok(status.map(|status| GitOutput {
        status,
        output,
        errors,
    }))
}

type Reader = std::thread::JoinHandle<io::Result<Vec<u8>>>;

/// Reads a pipe to its end in a thread; the sender is dropped with it, which tells that the pipe is closed.
fn reader(pipe: Option<impl Read + Send + 'static>, open: std::sync::mpsc::Sender<()>) -> Reader {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        drop(open);
        Ok(bytes)
    })
}

fn finish(reader: Reader) -> io::Result<Vec<u8>> {
    reader
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the reader of git's output broke")))
}
