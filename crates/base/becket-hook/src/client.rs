//! The client: one question in, one answer out.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

use crate::frame::{Frame, Kind};
use crate::patience;
use crate::place::{DaemonFiles, peer_is_same_user, program_version, runtime_folder};

/// The most bytes of a question.
pub const LARGEST_QUESTION: u64 = 64 << 20;

/// The variable that names the folder for sockets.
pub const RUNTIME_VARIABLE: &str = "XDG_RUNTIME_DIR";

/// How long a daemon may take to say that it has read a question. One that takes longer hangs.
const HEARING: Duration = Duration::from_secs(2);

/// The longest time in seconds that an agent waits.
const LONGEST_TIMEOUT: u64 = 24 * 60 * 60;

/// The exit code of a hook that refuses, in every agent that has one.
const REFUSED: u8 = 2;

/// What is asked, from the command line:
/// `becket-hook SYSTEM EVENT [--shadow] [--timeout SECONDS] [--project-variable NAME]`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Call {
    /// What `becket bridge` is asked with: system, event and options.
    words: Vec<String>,
    /// How long the agent waits.
    timeout: Duration,
    /// The variable in which the agent names its project.
    project_variable: Option<String>,
}

/// What became of a question to the daemon.
enum Asked {
    Answered(Vec<u8>),
    /// Nobody listens.
    NoDaemon(DaemonFiles, PathBuf),
    /// A daemon cannot answer, or there can be none.
    Unable,
}

/// The program.
pub fn main() -> ExitCode {
    match run(std::env::args_os().skip(1)) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "becket: {error}");
            ExitCode::from(REFUSED)
        }
    }
}

fn run(arguments: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    let start = Instant::now();
    let call = Call::parse(arguments)?;
    let becket = std::env::current_exe()?.with_file_name("becket");
    let input = read_input(start + call.timeout.mul_f64(patience::CLIENT))?;
    let asked = match input.len() as u64 > LARGEST_QUESTION {
        true => Asked::Unable,
        false => call.ask(&becket, &input, start),
    };
    match asked {
        Asked::Answered(answer) => {
            let mut output = io::stdout().lock();
            output.write_all(&answer)?;
            output.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        Asked::NoDaemon(place, project) => start_daemon(&becket, &place, &project),
        Asked::Unable => {}
    }
    call.ask_becket(&becket, &input, start.elapsed())
}

impl Call {
    fn parse(arguments: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let usage = || {
            io::Error::other(
                "usage: becket-hook SYSTEM EVENT [--shadow] [--timeout SECONDS] [--project-variable NAME]",
            )
        };
        let mut call = Self {
            timeout: Duration::from_secs(60),
            ..Self::default()
        };
        let mut arguments = arguments.map(|argument| argument.into_string().map_err(|_| usage()));
        while let Some(argument) = arguments.next().transpose()? {
            let mut value = || arguments.next().transpose()?.ok_or_else(usage);
            match argument.as_str() {
                "--timeout" => {
                    let seconds: u64 = value()?.parse().map_err(|_| usage())?;
                    call.timeout = Duration::from_secs(seconds.min(LONGEST_TIMEOUT));
                }
                "--project-variable" => call.project_variable = Some(value()?),
                "--shadow" => call.words.push(argument),
                option if option.starts_with('-') => return Err(usage()),
                _ => call.words.push(argument),
            }
        }
        let is_whole = call.words.iter().filter(|word| !word.starts_with('-')).count() == 2;
        if is_whole { Ok(call) } else { Err(usage()) }
    }

    /// The project whose hooks count.
    fn project(&self) -> io::Result<PathBuf> {
        let named = self.project_variable.as_ref().and_then(std::env::var_os);
        match named.filter(|project| Path::new(project).is_absolute()) {
            Some(project) => Path::new(&project).canonicalize(),
            None => std::env::current_dir(),
        }
    }

    /// Asks the daemon. Whatever goes wrong there, `becket bridge` can still answer.
    fn ask(&self, becket: &Path, input: &[u8], start: Instant) -> Asked {
        let found = (|| {
            let project = self.project()?;
            let version = program_version(becket)?;
            let folder = runtime_folder(std::env::var_os(RUNTIME_VARIABLE).as_deref())?;
            io::Result::Ok((DaemonFiles::of(&folder, &project, &version), project, version))
        })();
        let Ok((place, project, version)) = found else {
            return Asked::Unable;
        };
        match connected(&place.socket) {
            Ok(stream) => {
                let question = self.question(&version, &project, input);
                let answer = self.hear(stream, &question, start);
                answer.map_or(Asked::Unable, Asked::Answered)
            }
            Err(error) if is_absence(&error) => Asked::NoDaemon(place, project),
            Err(_) => Asked::Unable,
        }
    }

    fn question(&self, version: &str, project: &Path, input: &[u8]) -> Frame {
        let words: String = self.words.iter().map(|word| format!("{word}\n")).collect();
        let directory = std::env::current_dir().unwrap_or_default();
        let mut question = Frame::new(
            Kind::Ask,
            [
                version.as_bytes(),
                project.as_os_str().as_bytes(),
                directory.as_os_str().as_bytes(),
                words.as_bytes(),
                input,
            ],
        );
        let variables = std::env::vars_os().flat_map(|(name, value)| [name, value]);
        question.parts.extend(variables.map(OsString::into_vec));
        question
    }

    /// The daemon's answer; `None` if it has none.
    fn hear(&self, mut stream: UnixStream, question: &Frame, start: Instant) -> Option<Vec<u8>> {
        question.write(&mut stream).ok()?;
        Frame::read(&mut stream)
            .ok()
            .filter(|heard| heard.kind == Kind::Heard)?;
        let left = self
            .timeout
            .mul_f64(patience::CLIENT)
            .saturating_sub(start.elapsed());
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .ok()?;
        let answer = Frame::read(&mut stream).ok()?;
        match answer.kind {
            Kind::Answer => answer.parts.into_iter().next(),
            _ => None,
        }
    }

    /// Lets `becket bridge` answer. The time that is gone counts: what is left of the agent's patience is its time.
    fn ask_becket(&self, becket: &Path, input: &[u8], gone: Duration) -> io::Result<ExitCode> {
        let mut child = Command::new(becket)
            .arg("bridge")
            .args(&self.words)
            .arg(format!("--elapsed={}", gone.as_millis()))
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| io::Error::other(format!("cannot start {}: {error}", becket.display())))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A becket that does not read its question says why.
            let _ = stdin.write_all(input);
        }
        let code = child.wait()?.code();
        Ok(code
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(REFUSED)
            .into())
    }
}

/// Standard input to its end, or what there is of it at the deadline: an agent that never ends its question is told no
/// by becket, which cannot read half of one.
fn read_input(deadline: Instant) -> io::Result<Vec<u8>> {
    let stdin = io::stdin().lock();
    let mut input = Vec::new();
    let mut bytes = vec![0; 64 << 10];
    while input.len() as u64 <= LARGEST_QUESTION {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut waiting, Some(&left)) {
            Ok(0) => break,
            Err(Errno::INTR) => continue,
            outcome => outcome?,
        };
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => break,
            Ok(count) => input.extend(&bytes[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(input)
}

/// A connection to the daemon. Even a daemon that hangs does not make this wait for long.
fn connected(path: &Path) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    for timeout in [Timeout::Send, Timeout::Recv] {
        set_socket_timeout(&socket, timeout, Some(HEARING))?;
    }
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    match peer_is_same_user(&socket) {
        true => Ok(socket.into()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
    )
}

/// Starts a daemon for later questions, unless one is starting already. A failure costs time and nothing else.
fn start_daemon(becket: &Path, place: &DaemonFiles, project: &Path) {
    let lock = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&place.lock);
    let is_free = lock.is_ok_and(|lock| lock.try_lock().is_ok());
    if !is_free {
        return;
    }
    let log = std::fs::File::create(&place.log);
    let words = ["bridge", "daemon", "run", "--project"].map(OsStr::new);
    let _ = Command::new(becket)
        .args(words)
        .arg(project)
        .current_dir(project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.map_or_else(|_| Stdio::null(), Stdio::from))
        .spawn();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> io::Result<Call> {
        Call::parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn a_command_line_is_understood_or_refused() {
        let call = parsed("claude-code Stop --shadow --timeout 30 --project-variable P_DIR").unwrap();
        assert_eq!(call.words, ["claude-code", "Stop", "--shadow"]);
        assert_eq!(call.timeout, Duration::from_secs(30));
        assert_eq!(call.project_variable.as_deref(), Some("P_DIR"));
        for wrong in [
            "claude-code",
            "claude-code Stop more",
            "claude-code Stop --timeout",
            "claude-code Stop --timeout soon",
            "claude-code Stop --other",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
