//! A table of everything that programs do wrong, as real files, with the expected result.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{Cause, Program};

/// One program that misbehaves.
pub struct Misbehaviour {
    /// What the program does, in a few words.
    pub name: &'static str,
    /// The program.
    pub hook: Hook,
    /// How long the program may take.
    pub timeout: Duration,
    /// How many bytes the program's input should have at least.
    pub input_size: usize,
    /// What the command lane makes of the run.
    pub lane: Expected,
    /// What becket's own row for a guard makes of the run.
    pub meaning: Meaning,
}

/// The program of a case, and what is odd about it.
pub enum Hook {
    /// An executable file with this content.
    File(&'static [u8]),
    /// An executable script of `/bin/sh` with this content.
    Script(&'static str),
    /// A file that lacks the permission to be executed.
    NotExecutable(&'static str),
    /// A name for which there is no file.
    Missing(&'static str),
    /// A directory in the place of the program.
    Directory,
    /// A link to a file that does not exist.
    DanglingLink,
    /// No program at all.
    Nothing,
    /// A good script, in a directory that is deleted before it runs.
    DeletedDirectory,
    /// A good script, and a file in the place of the directory.
    DirectoryIsFile,
    /// A good script, with a variable that no system accepts.
    Variable(&'static str, fn() -> String),
}

/// What a lane returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The lane reports a failure.
    Fails(Cause),
    /// The program ended with this code, after it wrote this.
    Exits(i32, &'static [u8]),
}

/// What a guard's answer amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The run is no failure, and nothing is refused.
    Answer,
    /// The guard refuses.
    Refusal,
    /// The guard failed.
    Failure(Cause),
}

/// A case that is ready to run. Dropping it deletes the files.
pub struct Setting {
    /// The program to run.
    pub program: Program,
    /// The directory to run the program in.
    pub directory: PathBuf,
    _folder: tempfile::TempDir,
}

impl Misbehaviour {
    /// Writes the files.
    pub fn set_up(&self, environment: &Arc<BTreeMap<OsString, OsString>>) -> Setting {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hook");
        let mut directory = folder.path().to_owned();
        let mut words = vec![path.clone().into_os_string()];
        let mut variable = None;
        match self.hook {
            Hook::File(content) => write_program(&path, content, 0o755),
            Hook::Script(script) => write_script(&path, script, 0o755),
            Hook::NotExecutable(script) => write_script(&path, script, 0o644),
            Hook::Missing(name) => words = vec![name.into()],
            Hook::Directory => std::fs::create_dir(&path).expect("a folder"),
            Hook::DanglingLink => std::os::unix::fs::symlink("nowhere", &path).expect("a link"),
            Hook::Nothing => words.clear(),
            Hook::DeletedDirectory => {
                write_script(&path, "echo '{}'", 0o755);
                directory.push("deleted");
            }
            Hook::DirectoryIsFile => {
                write_script(&path, "echo '{}'", 0o755);
                directory.push("hook");
            }
            Hook::Variable(name, value) => {
                write_script(&path, "echo '{}'", 0o755);
                variable = Some((name, value()));
            }
        }
        let mut program = Program::exec(words).environment(Arc::clone(environment));
        if let Some((name, value)) = variable {
            program = program.variable(name, value);
        }
        Setting {
            program,
            directory,
            _folder: folder,
        }
    }

    fn within(mut self, milliseconds: u64) -> Self {
        self.timeout = Duration::from_millis(milliseconds);
        self
    }

    fn with_input(mut self, bytes: usize) -> Self {
        self.input_size = bytes;
        self
    }
}

/// Writes an executable script for `/bin/sh`.
pub fn write_script(path: &Path, script: &str, mode: u32) {
    write_program(path, format!("#!/bin/sh\n{script}\n").as_bytes(), mode);
}

fn write_program(path: &Path, content: &[u8], mode: u32) {
    std::fs::write(path, content).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions");
}

/// A case that ends with this code after this output, and what that means.
fn exits(
    name: &'static str,
    script: &'static str,
    code: i32,
    stdout: &'static [u8],
    meaning: Meaning,
) -> Misbehaviour {
    Misbehaviour {
        name,
        hook: Hook::Script(script),
        timeout: Duration::from_secs(20),
        input_size: 0,
        lane: Expected::Exits(code, stdout),
        meaning,
    }
}

/// A case that fails in the lane already.
fn fails(name: &'static str, hook: Hook, cause: Cause) -> Misbehaviour {
    Misbehaviour {
        name,
        hook,
        timeout: Duration::from_secs(20),
        input_size: 0,
        lane: Expected::Fails(cause),
        meaning: Meaning::Failure(cause),
    }
}

/// A case that takes too long.
fn hangs(name: &'static str, script: &'static str) -> Misbehaviour {
    fails(name, Hook::Script(script), Cause::TimedOut).within(300)
}

/// All of them.
pub fn table() -> Vec<Misbehaviour> {
    let mut table = starts_badly();
    table.extend(ends_badly());
    table.extend(writes_badly());
    table.extend(takes_too_long());
    table.extend(leaves_something_behind());
    table
}

fn starts_badly() -> Vec<Misbehaviour> {
    vec![
        fails("missing file", Hook::Missing("./absent"), Cause::NotFound),
        fails(
            "missing in PATH",
            Hook::Missing("becket-no-such-program"),
            Cause::NotFound,
        ),
        fails("dangling link", Hook::DanglingLink, Cause::NotFound),
        fails("no program at all", Hook::Nothing, Cause::NotFound),
        fails(
            "not executable",
            Hook::NotExecutable("echo '{}'"),
            Cause::NotExecutable,
        ),
        fails("a directory", Hook::Directory, Cause::NotExecutable),
        fails(
            "bad shebang",
            Hook::File(b"#!/no/such/interpreter\n"),
            Cause::NotExecutable,
        ),
        fails(
            "shebang with carriage return",
            Hook::File(b"#!/bin/sh\r\necho '{}'\r\n"),
            Cause::NotExecutable,
        ),
        fails("no shebang", Hook::File(b"echo '{}'\n"), Cause::NotExecutable),
        fails("empty file", Hook::File(b""), Cause::NotExecutable),
        fails(
            "deleted working directory",
            Hook::DeletedDirectory,
            Cause::SpawnFailed,
        ),
        fails(
            "working directory is a file",
            Hook::DirectoryIsFile,
            Cause::SpawnFailed,
        ),
        fails(
            "huge environment",
            Hook::Variable("HUGE", || "x".repeat(8 << 20)),
            Cause::SpawnFailed,
        ),
        fails(
            "NUL in the environment",
            Hook::Variable("NUL", || "a\0b".into()),
            Cause::SpawnFailed,
        ),
    ]
}

fn ends_badly() -> Vec<Misbehaviour> {
    let failure = Meaning::Failure(Cause::ExitStatus);
    let mut table = vec![
        exits("exit 1", "echo oops >&2; exit 1", 1, b"", failure),
        exits("exit 2", "echo 'not here' >&2; exit 2", 2, b"", Meaning::Refusal),
        exits("exit 127", "no-such-command-in-the-script", 127, b"", failure),
        exits("exit 255", "exit 255", 255, b"", failure),
        exits(
            "an answer, then exit 1",
            "echo '{\"verdict\":\"allow\"}'; exit 1",
            1,
            b"{\"verdict\":\"allow\"}\n",
            failure,
        ),
    ];
    let signals = [
        ("SIGHUP", "exec env --default-signal=HUP sh -c 'kill -HUP $$'"),
        ("SIGINT", "exec env --default-signal=INT sh -c 'kill -INT $$'"),
        (
            "SIGQUIT",
            "ulimit -c 0; exec env --default-signal=QUIT sh -c 'kill -QUIT $$'",
        ),
        (
            "SIGILL",
            "ulimit -c 0; exec env --default-signal=ILL sh -c 'kill -ILL $$'",
        ),
        (
            "SIGTRAP",
            "ulimit -c 0; exec env --default-signal=TRAP sh -c 'kill -TRAP $$'",
        ),
        (
            "SIGABRT",
            "ulimit -c 0; exec env --default-signal=ABRT sh -c 'kill -ABRT $$'",
        ),
        (
            "SIGBUS",
            "ulimit -c 0; exec env --default-signal=BUS sh -c 'kill -BUS $$'",
        ),
        (
            "SIGFPE",
            "ulimit -c 0; exec env --default-signal=FPE sh -c 'kill -FPE $$'",
        ),
        ("SIGKILL", "kill -KILL $$"),
        ("SIGUSR1", "exec env --default-signal=USR1 sh -c 'kill -USR1 $$'"),
        (
            "SIGSEGV",
            "echo '{\"verdict\":\"allow\"}'; ulimit -c 0; exec env --default-signal=SEGV sh -c 'kill -SEGV $$'",
        ),
        ("SIGUSR2", "exec env --default-signal=USR2 sh -c 'kill -USR2 $$'"),
        ("SIGPIPE", "exec env --default-signal=PIPE sh -c 'kill -PIPE $$'"),
        ("SIGALRM", "exec env --default-signal=ALRM sh -c 'kill -ALRM $$'"),
        ("SIGTERM", "exec env --default-signal=TERM sh -c 'kill -TERM $$'"),
        (
            "SIGXCPU",
            "ulimit -c 0; exec env --default-signal=XCPU sh -c 'kill -XCPU $$'",
        ),
        (
            "SIGXFSZ",
            "ulimit -c 0; exec env --default-signal=XFSZ sh -c 'kill -XFSZ $$'",
        ),
        (
            "SIGSYS",
            "ulimit -c 0; exec env --default-signal=SYS sh -c 'kill -SYS $$'",
        ),
    ];
    table.extend(signals.map(|(name, script)| fails(name, Hook::Script(script), Cause::KilledBySignal)));
    table
}

// tidy: a table
fn writes_badly() -> Vec<Misbehaviour> {
    let unreadable = Meaning::Failure(Cause::UnreadableOutput);
    let wrong = Meaning::Failure(Cause::WrongShape);
    vec![
        exits("empty output", "true", 0, b"", Meaning::Answer),
        exits("garbage", "echo 'all good!'", 0, b"all good!\n", unreadable),
        exits(
            "truncated JSON",
            "printf '{\"verdict\":\"al'",
            0,
            b"{\"verdict\":\"al",
            unreadable,
        ),
        exits("two answers", "echo '{}'; echo '{}'", 0, b"{}\n{}\n", unreadable),
        exits(
            "not UTF-8",
            "printf '{\"verdict\":\"\\377\\376\"}'",
            0,
            b"{\"verdict\":\"\xff\xfe\"}",
            unreadable,
        ),
        exits("NUL", "printf '{}\\000'", 0, b"{}\0", unreadable),
        exits(
            "BOM",
            "printf '\\357\\273\\277{}'",
            0,
            b"\xef\xbb\xbf{}",
            Meaning::Answer,
        ),
        exits(
            "wrong types",
            "echo '{\"verdict\":42}'",
            0,
            b"{\"verdict\":42}\n",
            wrong,
        ),
        exits("a list", "echo '[]'", 0, b"[]\n", wrong),
        exits(
            "a reply for another event",
            "echo '{\"fuel\":{\"set\":3}}'",
            0,
            b"{\"fuel\":{\"set\":3}}\n",
            wrong,
        ),
        exits(
            "slow, byte by byte",
            "for c in '{' '}'; do printf %s $c; sleep 0.05; done",
            0,
            b"{}",
            Meaning::Answer,
        ),
        exits(
            "100 MB of errors",
            "head -c 100000000 /dev/zero >&2; echo '{}'",
            0,
            b"{}\n",
            Meaning::Answer,
        ),
        exits("closed stdin", "exec <&-; echo '{}'", 0, b"{}\n", Meaning::Answer).with_input(1 << 20),
        exits("closed stdout", "exec >&-; sleep 0.05", 0, b"", Meaning::Answer),
        exits("never reads 1 MiB", "echo '{}'", 0, b"{}\n", Meaning::Answer).with_input(1 << 20),
        exits(
            "deletes its directory",
            "rm -r \"$PWD\"; echo '{}'",
            0,
            b"{}\n",
            Meaning::Answer,
        ),
        fails(
            "100 MB of output",
            Hook::Script("head -c 100000000 /dev/zero"),
            Cause::OutputTooLarge,
        ),
        fails(
            "endless output",
            Hook::Script("trap '' TERM PIPE; while :; do yes; done"),
            Cause::OutputTooLarge,
        ),
    ]
}

fn takes_too_long() -> Vec<Misbehaviour> {
    vec![
        hangs("timeout", "sleep 60"),
        hangs("SIGTERM ignored", "trap '' TERM; while :; do sleep 60; done"),
        hangs(
            "SIGTERM answered with more work",
            "trap 'sleep 60' TERM; sleep 60; sleep 60",
        ),
        hangs("stopped", "kill -STOP $$"),
        hangs(
            "an answer, but no end",
            "echo '{\"verdict\":\"allow\"}'; sleep 60",
        ),
        hangs("endless, byte by byte", "while :; do printf x; sleep 0.02; done"),
        hangs("endless stderr", "yes error >&2"),
        hangs("all pipes closed", "exec <&- >&- 2>&-; sleep 60"),
        hangs("never reads 1 MiB and hangs", "sleep 60").with_input(1 << 20),
        hangs(
            "waits for more input",
            r#"mkfifo "$0.pipe"; exec cat <>"$0.pipe""#,
        ),
    ]
}

// tidy: a table
fn leaves_something_behind() -> Vec<Misbehaviour> {
    let unreadable = Meaning::Failure(Cause::UnreadableOutput);
    vec![
        exits(
            "background child holds stdout",
            "sleep 60 & echo '{}'",
            0,
            b"{}\n",
            Meaning::Answer,
        ),
        exits(
            "background child in its own session",
            "setsid sleep 60 & echo '{}'",
            0,
            b"{}\n",
            Meaning::Answer,
        ),
        exits(
            "background child with an empty answer",
            "sleep 60 &",
            0,
            b"",
            unreadable,
        ),
        exits(
            "background child with half an answer",
            "sleep 60 & printf '{\"verdict\":'",
            0,
            b"{\"verdict\":",
            unreadable,
        ),
        exits(
            "a refusal that comes after the end",
            "{ sleep 60; echo '{\"verdict\":{\"deny\":\"late\"}}'; } &",
            0,
            b"",
            unreadable,
        ),
        exits(
            "background child with redirected output",
            "sleep 60 >/dev/null 2>&1 &",
            0,
            b"",
            Meaning::Answer,
        ),
        exits(
            "background child that holds standard error alone",
            "sleep 60 >/dev/null &",
            0,
            b"",
            Meaning::Answer,
        ),
        hangs("child in its own session", "setsid sleep 60 & sleep 60"),
        hangs(
            "child in its own session, without environment",
            "env -i setsid sleep 60 & sleep 60",
        ),
        hangs(
            "daemon that ignores SIGTERM",
            "(setsid sh -c \"trap '' TERM; sleep 60 & sleep 60\" &); sleep 60",
        ),
        hangs("50 children", "for i in $(seq 50); do sleep 60 & done; wait"),
        hangs(
            "50 children in their own sessions that ignore SIGTERM",
            "trap '' TERM; for i in $(seq 50); do setsid sleep 60 & done; wait",
        ),
        fails(
            "crash with a child in its own session",
            Hook::Script("setsid sleep 60 & sleep 0.1; kill -KILL $$"),
            Cause::KilledBySignal,
        ),
    ]
}
