//! A sealed room: a home of its own, a working directory of its own, a bare environment, and the real binary.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// No run of a test takes longer than this; one that does is killed, and the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// A sealed room. Everything in it is gone when it is dropped.
pub struct Room {
    folder: TempDir,
    binary: PathBuf,
    variables: Vec<(String, String)>,
}

/// A run that is over.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; 128 and the signal's number when a signal ended it.
    pub code: i32,
}

impl Room {
    /// An empty room for a binary.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let room = Self {
            folder,
            binary: binary.into(),
            variables: Vec::new(),
        };
        std::fs::create_dir_all(room.home()).expect("the room is writable");
        std::fs::create_dir_all(room.work()).expect("the room is writable");
        room
    }

    /// The same room with one more variable in the environment.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// HOME.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The working directory.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
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
        let file = self.write(name, text);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
            .expect("the room is writable");
        file
    }

    /// Writes the person's settings.
    pub fn config(&self, text: &str) -> PathBuf {
        self.write("../home/.config/becket/config.toml", text)
    }

    /// Reads a file, relative to the working directory; empty if it is not there.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    /// Whether a file is there, relative to the working directory.
    pub fn has(&self, name: &str) -> bool {
        self.work().join(name).exists()
    }

    /// The binary with arguments, ready to be started by hand.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
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

    /// Runs the binary to its end.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Finished {
        finish(
            self.command(arguments)
                .spawn()
                .expect("the binary can be started"),
        )
    }

    /// Runs the binary with something on standard input.
    pub fn run_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: impl Into<Vec<u8>>,
    ) -> Finished {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let input = input.into();
        // The program may end before it has read everything; then the pipe breaks, and that is its right.
        std::thread::spawn(move || stdin.write_all(&input));
        finish(child)
    }
}

/// Waits for a run to end, and collects what it wrote.
pub fn finish(mut child: Child) -> Finished {
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the run did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Finished {
        stdout: text_of(stdout),
        stderr: text_of(stderr),
        code,
    }
}

type Collector = std::thread::JoinHandle<Vec<u8>>;

fn collect(pipe: Option<impl Read + Send + 'static>) -> Option<Collector> {
    pipe.map(|mut pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    })
}

fn text_of(collector: Option<Collector>) -> String {
    let bytes = collector.map(|collector| collector.join().expect("reading a pipe does not panic"));
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// Whether a program is on the PATH. Without it the test says that it skips, or fails if nothing may be skipped.
pub fn needs(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&folders).any(|folder| folder.join(program).is_file());
    if !there {
        assert!(
            std::env::var_os("BECKET_TEST_ALL").is_none(),
            "needs {program}, and BECKET_TEST_ALL is set"
        );
        #[allow(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: needs {program}");
        }
    }
    there
}

/// The events that `--json` printed, one per line.
impl Finished {
    /// Each line of standard output as JSON.
    pub fn events(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }

    /// The events of one name.
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
