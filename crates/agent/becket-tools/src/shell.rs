//! Running a command with the shell.
//!
//! Standard output and standard error share one pipe, so that their lines stand in the order in which they were
//! written, unless the face wants them apart. The command runs in a process group of its own and never outlives its
//! time or a cancellation.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use becket_agent::gate::WebAccess;
use becket_agent::tool::{Parent, Progress, SessionVariables, ToolOutput, ToolRun};
use becket_events::{Finding, Part, ShellArguments, Streams};
use becket_hooks::{Mark, Tree};
use becket_sandbox::{Confinement, is_for_the_loader};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::answer::OperationAnswer;
use crate::confined::{Kept, confined};
use crate::judged_path::open_folder;
use crate::kept_output::KeptOutput;
use crate::settings::ToolSettings;

/// The shell that runs commands by default.
pub(crate) const SHELL: &str = "/bin/sh";

/// How long the output is still read after a command has ended. Only a process left in the background can still hold
/// the pipe by then.
const AFTER_THE_END: Duration = Duration::from_millis(300);

/// Runs the command in `directory`, which is the judged form of the one that the arguments name.
pub(crate) async fn run(
    arguments: &ShellArguments,
    directory: &Path,
    (shell, streams): (&str, Streams),
    (settings, access): (&ToolSettings, WebAccess),
    run: ToolRun,
) -> OperationAnswer {
    if !directory.is_dir() {
        let text = format!(
            "Cannot run the command: there is no directory {}.",
            directory.display()
        );
        return ToolOutput::error(text).into();
    }
    if arguments.command.contains('\0') {
        return ToolOutput::error("Cannot run the command: it contains a NUL character.").into();
    }
    let limit = match arguments.timeout_seconds {
        Some(seconds) => Duration::from_secs(seconds.max(1)).min(settings.shell_timeout_limit),
        None => settings.shell_timeout.min(settings.shell_timeout_limit),
    };
    let shell = if Path::new(shell).is_file() { shell } else { SHELL };
    let variables = run.parent.as_ref().map(Parent::environment);
    match start(
        (shell, &arguments.command),
        directory,
        streams,
        (settings, access),
        variables,
    ) {
        Ok(StartedCommand { tree, pipes, kept }) => {
            let mut output = Output::new(pipes, settings.shell_output_bytes, &run);
            let leftovers = match settings.confinement {
                Some(_) => Leftovers::End,
                None => Leftovers::LiveOn,
            };
            let ending = follow(tree, &mut output, limit, (leftovers, &run)).await;
            let confined = settings.confinement.as_ref().map(Confinement::told);
            let confined = confined
                .into_iter()
                .map(str::to_owned)
                .chain(kept.refused())
                .collect();
            drop(kept);
            report(output, &ending, limit, confined)
        }
        Err(error) => ToolOutput::error(format!(
            "Cannot start {shell} in {}: {error}.",
            directory.display()
        ))
        .into(),
    }
}

/// How a command ended.
enum Ending {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
    Lost(io::Error),
}

/// The pipe of both outputs, or of standard output and the one of standard error.
pub(crate) type Pipes = (Receiver, Option<Receiver>);

/// A command that runs.
pub(crate) struct StartedCommand {
    pub(crate) tree: Tree,
    pub(crate) pipes: Pipes,
    /// What a confined command needs until it has ended.
    pub(crate) kept: Kept,
}

/// Starts a command with the environment of the settings and the variables that hooks have set for the session.
pub(crate) fn start(
    (shell, command): (&str, &str),
    directory: &Path,
    streams: Streams,
    (settings, access): (&ToolSettings, WebAccess),
    variables: Option<&SessionVariables>,
) -> io::Result<StartedCommand> {
    let (pipe, writer) = pipe()?;
    let (error_pipe, error_writer) = match streams {
        Streams::Together => (None, writer.try_clone()?),
        Streams::Apart => {
            let (pipe, writer) = self::pipe()?;
            (Some(pipe), writer)
        }
    };
    let mark = Mark::within(&settings.environment);
    let (mark_name, mark_value) = mark.variable();
    let folder = open_folder(directory)?;
    // The command value holds our copies of the writing ends; it goes at the end of this function, so that a pipe
    // closes when the last process closes it.
    let confinement = settings.confinement.as_ref();
    let (program, kept) = match confinement {
        Some(confinement) => confined(shell, confinement, access)?,
        None => (std::process::Command::new(shell), Kept::default()),
    };
    let variables = variables.into_iter().flatten();
    let inherited = |name: &OsStr| confinement.is_none() || !is_for_the_loader(name);
    let child = Command::from(program)
        .arg("-c")
        .arg(command)
        .current_dir(judged_directory(&folder, directory))
        .env_clear()
        .envs(settings.environment.iter().filter(|(name, _)| inherited(name)))
        .envs(variables.filter(|(name, _)| inherited(name.as_ref())))
        .env(mark_name, mark_value)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(error_writer)
        .process_group(0)
        .spawn()?;
    Ok(StartedCommand {
        tree: Tree::adopt(child, &mark)?,
        pipes: (pipe, error_pipe),
        kept,
    })
}

fn pipe() -> io::Result<(Receiver, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((Receiver::from_owned_fd(OwnedFd::from(reader))?, writer))
}

/// The directory that was opened without following links, whatever is in its place when the command starts.
fn judged_directory(folder: &OwnedFd, directory: &Path) -> PathBuf {
    use std::os::fd::AsRawFd;
    if cfg!(target_os = "linux") {
        PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
    } else {
        directory.to_path_buf()
    }
}

/// What becomes of processes that a command leaves in the background.
#[derive(Clone, Copy)]
enum Leftovers {
    LiveOn,
    /// What protects the project is only there while a command runs.
    End,
}

async fn follow(
    mut tree: Tree,
    output: &mut Output,
    limit: Duration,
    (leftovers, run): (Leftovers, &ToolRun),
) -> Ending {
    let deadline = Instant::now() + limit;
    let ending = loop {
        tokio::select! {
            // Biased, with the output last: a command that writes without end must not outlive a cancel or its time.
            biased;
            () = run.cancel.cancelled() => break Ending::Cancelled,
            () = sleep_until(deadline) => break Ending::TimedOut,
            status = tree.wait() => break status.map_or_else(Ending::Lost, Ending::Exited),
            () = output.read(), if output.is_open() => {}
        }
    };
    match (&ending, leftovers) {
        (Ending::Exited(_), Leftovers::LiveOn) => {
            output.drain().await;
            tree.release();
        }
        (Ending::Exited(_), Leftovers::End) => {
            output.drain().await;
            tree.terminate().await;
        }
        _ => {
            tree.terminate().await;
            output.drain().await;
        }
    }
    ending
}

/// The output of the command.
struct Output {
    standard: Stream,
    error: Option<Stream>,
    progress: Pieces,
}

/// The output through one pipe.
struct Stream {
    pipe: Receiver,
    open: bool,
    buffer: Vec<u8>,
    kept: KeptOutput,
}

impl Stream {
    fn new(pipe: Receiver, most: usize) -> Self {
        Self {
            pipe,
            open: true,
            buffer: vec![0; 64 * 1024],
            kept: KeptOutput::new(most),
        }
    }

    async fn read(&mut self) -> &[u8] {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => {
                self.open = false;
                &[]
            }
            Ok(count) => {
                self.kept.push(&self.buffer[..count]);
                &self.buffer[..count]
            }
        }
    }
}

impl Output {
    fn new((standard, error): Pipes, most: usize, run: &ToolRun) -> Self {
        Self {
            standard: Stream::new(standard, most),
            error: error.map(|pipe| Stream::new(pipe, most)),
            progress: Pieces {
                sender: run.progress.clone(),
                room: most,
                torn: Vec::new(),
            },
        }
    }

    fn is_open(&self) -> bool {
        self.standard.open || self.error.as_ref().is_some_and(|error| error.open)
    }

    async fn read(&mut self) {
        let Self { standard, error, .. } = self;
        let standard_open = standard.open;
        let piece = match error {
            Some(error) if error.open => tokio::select! {
                piece = standard.read(), if standard_open => piece,
                piece = error.read() => piece,
            },
            _ => standard.read().await,
        };
        self.progress.send(piece);
    }

    /// Reads what is still in the pipe, but never longer than a moment.
    async fn drain(&mut self) {
        let bound = Instant::now() + AFTER_THE_END;
        while self.is_open() {
            if timeout_at(bound, self.read()).await.is_err() {
                return;
            }
        }
    }
}

/// Output on its way to a watcher. It ends after as many bytes as are kept, so that a flood does not pile up before a
/// slow watcher.
struct Pieces {
    sender: tokio::sync::mpsc::UnboundedSender<Progress>,
    room: usize,
    /// The bytes of a character whose end has not arrived.
    torn: Vec<u8>,
}

impl Pieces {
    fn send(&mut self, bytes: &[u8]) {
        if self.room == 0 {
            return;
        }
        self.room = self.room.saturating_sub(bytes.len());
        self.torn.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.torn) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.torn.len(),
        };
        let rest = self.torn.split_off(whole);
        let text = String::from_utf8_lossy(&std::mem::replace(&mut self.torn, rest)).into_owned();
        if !text.is_empty() {
            // There need not be a watcher.
            let _ = self.sender.send(Progress::Output(text));
        }
    }
}

/// `confined` is what those who see the output of a confined command are told if it fails.
fn report(output: Output, ending: &Ending, limit: Duration, mut confined: Vec<String>) -> OperationAnswer {
    let still_open = output.is_open();
    let Output { standard, error, .. } = output;
    let left_out = standard.kept.left_out() + error.as_ref().map_or(0, |error| error.kept.left_out());
    let stdout = standard.kept.into_text();
    let stderr = error.map(|error| error.kept.into_text());
    let notes = notes(ending, still_open, limit);
    let exit_code = match ending {
        Ending::Exited(status) => status.code().or_else(|| Some(128 + status.signal()?)),
        _ => None,
    };
    let mut text = format!("{stdout}{}", stderr.as_deref().unwrap_or_default());
    if text.is_empty() {
        text.push_str("(no output)");
    }
    let with_code = exit_code
        .filter(|code| *code != 0)
        .map(|code| format!("exit code {code}"));
    confined.retain(|_| with_code.is_some());
    for note in notes.iter().chain(&with_code).chain(&confined) {
        add_note(&mut text, note);
    }
    let timed_out = matches!(ending, Ending::TimedOut);
    OperationAnswer {
        output: ToolOutput {
            content: vec![Part::text(text)],
            is_error: exit_code != Some(0),
            details: Some(json!({
                "exit_code": exit_code,
                "timed_out": timed_out,
                "cancelled": matches!(ending, Ending::Cancelled),
                "left_out_bytes": left_out,
            })),
            ends_run: false,
        },
        finding: Some(shell_finding(stdout, stderr, &notes, ending)),
    }
}

/// The data for a face: becket's own notes go where errors are.
fn shell_finding(mut stdout: String, stderr: Option<String>, notes: &[String], ending: &Ending) -> Finding {
    let apart = stderr.is_some();
    let mut stderr = stderr.unwrap_or_default();
    let timed_out = matches!(ending, Ending::TimedOut);
    // A face whose outputs are one tells by itself that the time was up.
    for note in notes.iter().filter(|_| apart || !timed_out) {
        add_note(if apart { &mut stderr } else { &mut stdout }, note);
    }
    Finding::Shell {
        stdout,
        stderr,
        exit_code: match ending {
            Ending::Exited(status) => status.code(),
            _ => None,
        },
        timed_out,
    }
}

/// Notes for the reader besides the output and the exit code.
fn notes(ending: &Ending, still_open: bool, limit: Duration) -> Vec<String> {
    let mut notes = Vec::new();
    match ending {
        Ending::Exited(status) => {
            if still_open {
                notes.push("a process in the background still runs; its output is no longer read".to_owned());
            }
            if let Some(signal) = status.signal() {
                notes.push(format!("killed by signal {signal}"));
            }
        }
        Ending::TimedOut => notes.push(format!(
            "ended after {} seconds: the time was up; ask for more time if it needs more",
            limit.as_secs()
        )),
        Ending::Cancelled => notes.push("ended: the call was cancelled".to_owned()),
        Ending::Lost(error) => notes.push(format!("the command was lost: {error}")),
    }
    notes
}

fn add_note(text: &mut String, note: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[{note}]"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_agent::gate::ApprovalSettings;
    use std::path::PathBuf;
    use tokio::sync::mpsc;
    use tokio::time::timeout;
    use tokio_util::sync::CancellationToken;

    /// Far longer than any of these commands takes, so that only a hang reaches it.
    const HANGS: Duration = Duration::from_secs(20);

    struct Room {
        _folder: tempfile::TempDir,
        path: PathBuf,
        settings: ToolSettings,
        progress: mpsc::UnboundedReceiver<Progress>,
        run: ToolRun,
    }

    fn room() -> Room {
        let folder = tempfile::tempdir().unwrap();
        let (sender, progress) = mpsc::unbounded_channel();
        let settings = ToolSettings {
            environment: [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("GREETING", "hello")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            ..ToolSettings::default()
        };
        Room {
            path: folder.path().canonicalize().unwrap(),
            _folder: folder,
            settings,
            progress,
            run: ToolRun {
                progress: sender,
                cancel: CancellationToken::new(),
                parent: None,
            },
        }
    }

    fn no_access() -> WebAccess {
        WebAccess::of_user(ApprovalSettings::default(), Path::new("/"))
    }

    impl Room {
        async fn sh(&self, command: &str) -> ToolOutput {
            self.call(command, None, None).await
        }

        async fn call(&self, command: &str, cwd: Option<&str>, seconds: Option<u64>) -> ToolOutput {
            let arguments = ShellArguments {
                command: command.to_owned(),
                cwd: cwd.map(str::to_owned),
                timeout_seconds: seconds,
                background: None,
            };
            let directory = self.path.join(cwd.unwrap_or_default());
            let running = run(
                &arguments,
                &directory,
                (SHELL, Streams::Together),
                (&self.settings, no_access()),
                self.run.clone(),
            );
            timeout(HANGS, running)
                .await
                .expect("the command ends in time")
                .output
        }

        /// Waits until the file has a line, and returns it.
        async fn line_of(&self, file: &str) -> String {
            let wait = async {
                loop {
                    match std::fs::read_to_string(self.path.join(file)) {
                        Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                        _ => tokio::time::sleep(Duration::from_millis(5)).await,
                    }
                }
            };
            timeout(HANGS, wait).await.expect("the file appears")
        }
    }

    fn text(output: &ToolOutput) -> &str {
        match output.content.as_slice() {
            [Part::Text { text }] => text,
            other => panic!("one text expected: {other:?}"),
        }
    }

    fn lives(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    /// Waits until a killed process is gone; a busy machine needs a moment for that.
    #[cfg(target_os = "linux")]
    async fn wait_until_gone(pid: &str) {
        let gone = async {
            while lives(pid) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(HANGS, gone).await.expect("the process is killed");
    }

    #[tokio::test]
    async fn output_of_both_streams_stands_in_the_order_of_writing() {
        let output = room().sh("echo one; echo two >&2; echo three").await;
        assert_eq!(text(&output), "one\ntwo\nthree\n");
        assert!(!output.is_error);
        assert_eq!(output.details.unwrap()["exit_code"], 0);
    }

    #[tokio::test]
    async fn a_failing_command_tells_its_code() {
        let output = room().sh("printf oops; exit 3").await;
        assert_eq!(text(&output), "oops\n[exit code 3]");
        assert!(output.is_error);
        assert_eq!(output.details.unwrap()["exit_code"], 3);
        let output = room().sh("no-such-program-anywhere").await;
        assert!(text(&output).ends_with("[exit code 127]"), "{}", text(&output));
    }

    #[tokio::test]
    async fn a_command_without_output_says_so() {
        assert_eq!(text(&room().sh("true").await), "(no output)");
    }

    #[tokio::test]
    async fn a_signal_is_told() {
        let output = room().sh("kill -KILL $$").await;
        assert!(
            text(&output).contains("[killed by signal 9]"),
            "{}",
            text(&output)
        );
        assert_eq!(output.details.unwrap()["exit_code"], 137);
    }

    #[tokio::test]
    async fn the_environment_is_the_given_one_and_nothing_else() {
        let output = room().sh("echo $GREETING; env | grep -c -e CARGO -e HOME").await;
        assert!(text(&output).starts_with("hello\n0\n"), "{}", text(&output));
    }

    #[tokio::test]
    async fn it_runs_in_the_directory_that_it_names() {
        let room = room();
        std::fs::create_dir(room.path.join("sub dir")).unwrap();
        let output = room.call("pwd", Some("sub dir"), None).await;
        assert_eq!(text(&output).trim(), room.path.join("sub dir").to_str().unwrap());
        let output = room.call("pwd", None, None).await;
        assert_eq!(text(&output).trim(), room.path.to_str().unwrap());
        let output = room.call("pwd", Some("missing"), None).await;
        assert!(
            output.is_error && text(&output).contains("missing"),
            "{}",
            text(&output)
        );
    }

    #[tokio::test]
    async fn standard_input_is_empty() {
        assert_eq!(text(&room().sh("cat; echo end").await), "end\n");
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_ended_and_keeps_what_it_wrote() {
        let output = room().call("echo begun; sleep 600", None, Some(3)).await;
        assert!(
            text(&output).starts_with("begun\n[ended after 3 seconds"),
            "{}",
            text(&output)
        );
        assert!(output.is_error);
        let details = output.details.unwrap();
        assert_eq!(
            (&details["timed_out"], &details["exit_code"]),
            (&json!(true), &json!(null))
        );
    }

    #[tokio::test]
    async fn a_command_that_ignores_the_request_to_end_is_killed() {
        let output = room()
            .call(
                "trap '' TERM; echo begun; while :; do sleep 1; done",
                None,
                Some(1),
            )
            .await;
        assert!(
            text(&output).contains("ended after 1 seconds"),
            "{}",
            text(&output)
        );
    }

    #[tokio::test]
    async fn the_longest_time_is_kept() {
        let mut room = room();
        room.settings.shell_timeout_limit = Duration::from_secs(1);
        let output = room.call("sleep 600", None, Some(5000)).await;
        assert!(
            text(&output).contains("ended after 1 seconds"),
            "{}",
            text(&output)
        );
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn cancelling_kills_grandchildren_even_in_their_own_session() {
        let room = room();
        let command =
            "sh -c 'echo $$ >plain.pid; sleep 600' & setsid sh -c 'echo $$ >session.pid; sleep 600' & wait";
        let watch = async {
            let pids = [room.line_of("plain.pid").await, room.line_of("session.pid").await];
            assert!(pids.iter().all(|pid| lives(pid)));
            room.run.cancel.cancel();
            pids
        };
        let (output, pids) = tokio::join!(room.sh(command), watch);
        assert!(text(&output).contains("cancelled"), "{}", text(&output));
        assert_eq!(output.details.unwrap()["cancelled"], true);
        for pid in pids {
            wait_until_gone(&pid).await;
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn cancelling_kills_a_daemon_that_has_left_the_family() {
        let room = room();
        let daemon = r#"setsid sh -c "echo \$\$ >daemon.pid; exec sleep 600" >/dev/null 2>&1 & exit"#;
        let command = format!("sh -c '{daemon}'; echo gone >parent.pid; sleep 600");
        let watch = async {
            let pid = room.line_of("daemon.pid").await;
            room.line_of("parent.pid").await;
            assert!(lives(&pid));
            room.run.cancel.cancel();
            pid
        };
        let (_, pid) = tokio::join!(room.sh(&command), watch);
        wait_until_gone(&pid).await;
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn dropping_the_call_kills_the_command() {
        let room = room();
        let pid = tokio::select! {
            _ = room.sh("echo $$ >own.pid; sleep 600") => panic!("the command cannot end by itself"),
            pid = room.line_of("own.pid") => pid,
        };
        wait_until_gone(&pid).await;
    }

    #[tokio::test]
    async fn a_process_left_in_the_background_does_not_hold_the_call_and_lives_on() {
        let room = room();
        let output = room.sh("sleep 600 & echo $! >left.pid; echo done").await;
        let pid = room.line_of("left.pid").await;
        assert!(
            text(&output).starts_with("done\n[a process in the background"),
            "{}",
            text(&output)
        );
        assert!(!output.is_error);
        if cfg!(target_os = "linux") {
            assert!(lives(&pid));
        }
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn a_flood_is_cut_in_the_middle() {
        let mut room = room();
        room.settings.shell_output_bytes = 1000;
        let output = room
            .sh("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
            .await;
        let text = text(&output);
        assert!(
            text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n"),
            "{}",
            text.len()
        );
        assert!(
            text.contains("bytes left out here") && text.len() < 1200,
            "{}",
            text.len()
        );
        let mut streamed = 0;
        while let Ok(Progress::Output(piece)) = room.progress.try_recv() {
            streamed += piece.len();
        }
        assert!(streamed < 200_000, "progress of a flood is bounded: {streamed}");
    }

    #[tokio::test]
    async fn an_endless_flood_ends_in_time() {
        let output = room().call("yes", None, Some(1)).await;
        assert_eq!(output.details.unwrap()["timed_out"], true);
    }

    #[tokio::test]
    async fn pieces_are_streamed_while_the_command_runs() {
        let mut room = room();
        let arguments = ShellArguments {
            command: "echo early; until [ -e go ]; do sleep 0.01; done; echo late".to_owned(),
            cwd: None,
            timeout_seconds: None,
            background: None,
        };
        let command = run(
            &arguments,
            &room.path,
            (SHELL, Streams::Together),
            (&room.settings, no_access()),
            room.run.clone(),
        );
        let watch = async {
            let early = room.progress.recv().await.unwrap();
            std::fs::write(room.path.join("go"), "").unwrap();
            (early, room.progress.recv().await.unwrap())
        };
        let (_, pieces) = timeout(HANGS, async { tokio::join!(command, watch) })
            .await
            .unwrap();
        assert_eq!(pieces, ("early\n".into(), "late\n".into()));
    }

    #[test]
    fn a_character_in_two_pieces_is_sent_whole() {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut progress = Pieces {
            sender,
            room: 100,
            torn: Vec::new(),
        };
        let bytes = "aä".as_bytes();
        progress.send(&bytes[..2]);
        progress.send(&bytes[2..]);
        progress.send(&[0xFF, b'b']);
        assert_eq!(receiver.try_recv().unwrap(), "a".into());
        assert_eq!(receiver.try_recv().unwrap(), "ä".into());
        assert_eq!(receiver.try_recv().unwrap(), "\u{FFFD}b".into());
    }

    #[tokio::test]
    async fn output_that_is_no_text_is_made_readable() {
        let output = room().sh("printf 'a\\377b'").await;
        assert_eq!(text(&output), "a\u{FFFD}b");
    }

    #[tokio::test]
    async fn the_two_outputs_can_be_kept_apart() {
        let cases = [
            (
                "echo out; echo err >&2; exit 3",
                None,
                ("out\n", "err\n", Some(3), false),
            ),
            ("exec 2>&-; echo out", None, ("out\n", "", Some(0), false)),
            ("kill -9 $$", None, ("", "[killed by signal 9]", None, false)),
            (
                "echo out; sleep 60",
                Some(3),
                ("out\n", "[ended after 3 seconds", None, true),
            ),
        ];
        for (command, timeout_seconds, (out, err, code, late)) in cases {
            let room = room();
            let arguments = ShellArguments {
                command: command.to_owned(),
                cwd: None,
                timeout_seconds,
                background: None,
            };
            let running = run(
                &arguments,
                &room.path,
                (SHELL, Streams::Apart),
                (&room.settings, no_access()),
                room.run.clone(),
            );
            let answer = timeout(HANGS, running).await.unwrap();
            let Some(Finding::Shell {
                stdout,
                stderr,
                exit_code,
                timed_out,
            }) = answer.finding
            else {
                panic!("{command}")
            };
            assert_eq!(
                (stdout.as_str(), exit_code, timed_out),
                (out, code, late),
                "{command}"
            );
            assert!(
                stderr.starts_with(err) && stderr.is_empty() == err.is_empty(),
                "{command}: {stderr}"
            );
        }
    }
}
