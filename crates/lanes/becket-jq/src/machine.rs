//! The machine's own jq: where it is, and how it gets a command line with input that was read already.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// What was read of standard input.
pub(crate) enum Read {
    /// Nothing: it is as it was.
    Nothing,
    /// Everything.
    All(Vec<u8>),
    /// The beginning.
    Begun(Vec<u8>),
}

/// The first jq on the `PATH` that is another program than this one.
pub(crate) fn find(path: &OsStr) -> Option<PathBuf> {
    let own = std::env::current_exe().and_then(|own| own.canonicalize()).ok();
    std::env::split_paths(path)
        .map(|folder| folder.join("jq"))
        .find(|candidate| is_program(candidate) && candidate.canonicalize().ok() != own)
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Runs the machine's jq with these arguments and with all of the input, whatever of it was read. Where it can, it
/// takes the place of this process.
pub(crate) fn run(program: &Path, arguments: &[OsString], read: Read) -> ExitCode {
    let mut command = Command::new(program);
    command.arg0("jq").args(arguments);
    let ended = match read {
        Read::Nothing => Err(command.exec()),
        Read::All(text) => match whole(&text) {
            Ok(file) => Err(command.stdin(file).exec()),
            Err(_) => feed(&mut command, &text, io::empty()),
        },
        Read::Begun(text) => feed(&mut command, &text, io::stdin()),
    };
    match ended {
        Ok(status) => ExitCode::from(code(status)),
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "jq: {} cannot be started: {error}",
                program.display()
            );
            ExitCode::from(2)
        }
    }
}

/// A file in memory that holds the text.
#[cfg(target_os = "linux")]
fn whole(text: &[u8]) -> io::Result<std::fs::File> {
    use std::io::Seek;
    let memory = rustix::fs::memfd_create("jq", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(text)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn whole(_: &[u8]) -> io::Result<std::fs::File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Starts the program, gives it the text and what follows, and waits for its end.
fn feed(command: &mut Command, text: &[u8], mut rest: impl io::Read) -> io::Result<ExitStatus> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read everything needs no more of it.
        let _ = stdin
            .write_all(text)
            .and_then(|()| io::copy(&mut rest, &mut stdin).map(|_| ()));
    }
    child.wait()
}

/// The exit code, as a shell would tell the end of a program.
fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(2);
    u8::try_from(code).unwrap_or(2)
}
