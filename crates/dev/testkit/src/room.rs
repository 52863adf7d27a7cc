//! A sealed environment for tests: its own home, its own working directory, a bare environment, and the real binary.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use tempfile::TempDir;

/// How long a test's run may take; one that takes longer is killed, and the test fails.
const RUN_TIMEOUT: Duration = Duration::from_secs(120);

/// How long to wait for a process that the run left behind and that keeps its output open.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A sealed environment. Everything in it is deleted when it is dropped.
pub struct Room {
    folder: PathBuf,
    /// What deletes the folder.
    _owner: Option<TempDir>,
    binary: PathBuf,
    variables: Vec<(String, String)>,
    /// An option with its value, which every call of the binary has that does not name it itself.
    always: Option<[&'static str; 2]>,
}

/// A run that is over.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; 128 plus the signal's number if a signal ended the run.
    pub code: i32,
}

impl Room {
    /// An empty environment for a binary.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self::within(&std::env::temp_dir(), binary)
    }

    /// An empty environment for a binary, in a folder that exists.
    pub fn within(folder: &Path, binary: impl Into<PathBuf>) -> Self {
        let owner = tempfile::tempdir_in(folder).expect("a temporary folder can be made");
        let room = Self {
            folder: owner.path().to_owned(),
            _owner: Some(owner),
            binary: binary.into(),
            variables: Vec::new(),
            always: None,
        };
        std::fs::create_dir_all(room.home()).expect("the room is writable");
        std::fs::create_dir_all(room.work()).expect("the room is writable");
        room
    }

    /// This environment as a copy of its folder has it, below another folder. The copy stays.
    pub fn moved(&self, folder: &Path) -> Self {
        Self {
            folder: folder.join(self.folder.file_name().expect("a room has a name")),
            _owner: None,
            binary: self.binary.clone(),
            variables: self.variables.clone(),
            always: self.always,
        }
    }

    /// An option with its value for every call of the binary that does not name it itself.
    pub fn always(mut self, option: &'static str, value: &'static str) -> Self {
        self.always = Some([option, value]);
        self
    }

    /// The environment with one more variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The home directory, `HOME`.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The working directory.
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The first context of the working directory: the folder's name, and a hash of its path.
    pub fn context(&self) -> String {
        let work = self
            .work()
            .canonicalize()
            .expect("the working directory is there");
        let hash = blake3::hash(work.as_os_str().as_encoded_bytes()).to_hex();
        format!("work-{}", &hash[..8])
    }

    /// Writes a file, relative to the working directory.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.work().join(name);
        std::fs::create_dir_all(file.parent().expect("a file has a folder")).expect("the room is writable");
        std::fs::write(&file, text).expect("the room is writable");
        file
    }

    /// Writes an executable file, relative to the working directory.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let file = self.work().join(name);
        std::fs::create_dir_all(file.parent().expect("a file has a folder")).expect("the room is writable");
        write_program(&file, text);
        file
    }

    /// Writes the user's settings.
    pub fn config(&self, text: &str) -> PathBuf {
        self.write("../home/.config/becket/config.toml", text)
    }

    /// Reads a file, relative to the working directory; empty if it does not exist.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    /// Whether a file exists, relative to the working directory.
    pub fn has(&self, name: &str) -> bool {
        self.work().join(name).exists()
    }

    /// The binary with arguments, ready to be started by hand.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
        let arguments: Vec<OsString> = arguments.collect();
        let names = |option: &str| {
            let mut texts = arguments.iter().filter_map(|argument| argument.to_str());
            texts.any(|argument| argument.starts_with(option))
        };
        let always = self.always.filter(|[option, _]| !names(option));
        let always = always.into_iter().flatten().map(OsString::from);
        self.command_of(&self.binary, always.chain(arguments.iter().cloned()))
    }

    /// Another program with arguments, ready to be started by hand in the same environment.
    pub fn command_of<A: AsRef<OsStr>>(
        &self,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }

    /// Writes a file with hooks beside the working directory, and returns its name for `--hooks`.
    pub fn hooks(&self, text: &str) -> String {
        self.write("../hooks.toml", text).display().to_string()
    }

    /// Writes a script for a scripted model beside the working directory, and returns its name for `--model`.
    pub fn model(&self, turns: &serde_json::Value) -> String {
        let file = self.write("../script.json", turns.to_string());
        format!("scripted/{}", file.display())
    }

    /// The file of the store, by default.
    pub fn store_file(&self) -> PathBuf {
        self.home().join(".local/share/becket/becket.db")
    }

    /// Starts the binary.
    pub fn start<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Running {
        Running::of(
            self.command(arguments)
                .spawn()
                .expect("the binary can be started"),
        )
    }

    /// Runs the binary to its end.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Finished {
        self.start(arguments).finish()
    }

    /// Runs the binary with something on standard input.
    pub fn run_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: impl Into<Vec<u8>>,
    ) -> Finished {
        run_with_input(self.command(arguments), input)
    }
}

/// Runs a program with something on standard input.
pub fn run_with_input(mut command: Command, input: impl Into<Vec<u8>>) -> Finished {
    let mut child = command
        .stdin(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let input = input.into();
    // The program may end before it has read everything; then the pipe breaks, which is no failure.
    std::thread::spawn(move || stdin.write_all(&input));
    finish(child)
}

/// A run in progress. Dropping it ends it.
pub struct Running {
    child: Child,
    stdout: Arc<Heard>,
    stderr: Arc<Heard>,
    ended: bool,
}

impl Running {
    /// Watches a child whose output is piped.
    pub fn of(mut child: Child) -> Self {
        let stdout = Heard::listen(child.stdout.take());
        let stderr = Heard::listen(child.stderr.take());
        Self {
            child,
            stdout,
            stderr,
            ended: false,
        }
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until standard output holds a text.
    pub fn wait_for_output(&self, text: &str) {
        self.stdout.wait_for(text);
    }

    /// The standard output so far.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.stdout.lock().bytes).into_owned()
    }

    /// Waits until standard error holds a text.
    pub fn wait_for_error(&self, text: &str) {
        self.stderr.wait_for(text);
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process is there");
    }

    /// Sends a signal to the process and to those of its children that are still in its group.
    pub fn signal_group(&self, signal: Signal) {
        // A process that has ended in the meantime is no failure.
        let _ = kill_process_group(self.pid(), signal);
    }

    /// Waits for the end, and returns the output.
    pub fn finish(mut self) -> Finished {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break status;
            }
            assert!(
                started.elapsed() < RUN_TIMEOUT,
                "the run did not end within {RUN_TIMEOUT:?}"
            );
            std::thread::sleep(Duration::from_millis(2));
        };
        self.ended = true;
        Finished {
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
            code: code_of(status),
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn code_of(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Waits for a run to end, and collects its output.
pub fn finish(child: Child) -> Finished {
    Running::of(child).finish()
}

/// The bytes that were read from a pipe so far.
#[derive(Default)]
struct Heard {
    state: Mutex<HeardState>,
    more: Condvar,
}

#[derive(Default)]
struct HeardState {
    bytes: Vec<u8>,
    over: bool,
}

impl Heard {
    fn listen(pipe: Option<impl Read + Send + 'static>) -> Arc<Self> {
        let heard = Arc::new(Self::default());
        let writer = Arc::clone(&heard);
        std::thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            let mut pipe = pipe;
            while let Some(count) = pipe.as_mut().and_then(|pipe| pipe.read(&mut buffer).ok()) {
                if count == 0 {
                    break;
                }
                writer.lock().bytes.extend_from_slice(&buffer[..count]);
                writer.more.notify_all();
            }
            writer.lock().over = true;
            writer.more.notify_all();
        });
        heard
    }

    fn lock(&self) -> MutexGuard<'_, HeardState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wait_for(&self, text: &str) {
        let holds = |state: &mut HeardState| String::from_utf8_lossy(&state.bytes).contains(text);
        let (mut state, _) = self
            .more
            .wait_timeout_while(self.lock(), RUN_TIMEOUT, |state| !state.over && !holds(state))
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        assert!(
            holds(&mut state),
            "waited for {text:?}, and heard {}",
            String::from_utf8_lossy(&state.bytes)
        );
    }

    /// The whole output, once the pipe is closed.
    fn whole(&self) -> String {
        let (state, _) = self
            .more
            .wait_timeout_while(self.lock(), LAST_WORDS, |state| !state.over)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        String::from_utf8_lossy(&state.bytes).into_owned()
    }
}

/// Whether a process runs; a dead one that was not reaped yet does not.
pub fn is_running(process: &str) -> bool {
    let state = std::fs::read_to_string(Path::new("/proc").join(process.trim()).join("stat"));
    state.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits until a process is gone; a killed one needs a moment.
#[track_caller]
pub fn wait_until_gone(process: &str) {
    let started = Instant::now();
    while is_running(process) {
        assert!(started.elapsed() < RUN_TIMEOUT, "the process {process} lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Writes an executable file through another process: a program that another thread starts meanwhile would inherit a
/// file that is open here, and a file that is open for writing cannot be executed.
pub fn write_program(file: &Path, text: &str) {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(file)
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut stdin = shell.stdin.take().expect("standard input is a pipe");
    stdin.write_all(text.as_bytes()).expect("the shell reads");
    drop(stdin);
    let status = shell.wait().expect("a child can be waited for");
    assert!(status.success(), "{} cannot be written", file.display());
}

/// Whether a program is on the PATH. Without it the test prints that it is skipped, or fails if `BECKET_TEST_ALL` is
/// set. `BECKET_TEST_WITHOUT` names programs that could not be installed: tests of these may be skipped even then.
pub fn needs(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&folders).any(|folder| folder.join(program).is_file());
    if !there {
        go_without(program, "");
    }
    there
}

/// Says that a test is skipped, for want of something that `BECKET_TEST_WITHOUT` can name, or fails.
pub(crate) fn go_without(name: &str, reason: &str) {
    let excused = std::env::var("BECKET_TEST_WITHOUT").unwrap_or_default();
    assert!(
        std::env::var_os("BECKET_TEST_ALL").is_none() || excused.split(' ').any(|excused| excused == name),
        "needs {name}, and BECKET_TEST_ALL is set{reason}"
    );
    skipped(&format!("{name}{reason}"));
}

/// Prints that a test is skipped, and what it needs.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skipped(needed: &str) {
    eprintln!("skipped: needs {needed}");
}

impl Finished {
    /// Asserts that the run ended with that code.
    #[track_caller]
    pub fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "the exit code of {self:#?}");
        self
    }

    /// Asserts that the standard error holds that text.
    #[track_caller]
    pub fn complained(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "no {text:?} on standard error of {self:#?}"
        );
        self
    }

    /// Asserts that the standard output holds that text.
    #[track_caller]
    pub fn said(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "no {text:?} on standard output of {self:#?}"
        );
        self
    }

    /// Each line of standard output as JSON.
    pub fn events(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }

    /// The events with that name.
    pub fn events_named(&self, name: &str) -> Vec<serde_json::Value> {
        self.events()
            .into_iter()
            .filter(|event| event["event"] == name)
            .collect()
    }
}

/// A path as the text that goes into a settings file.
pub fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}
