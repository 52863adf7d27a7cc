//! The command lane: a program, started for every event.
//!
//! One deadline covers everything, and everything goes on at the same time: writing, reading both outputs, waiting
//! for the end. So there is nothing a program can do, or leave undone, that holds the agent for longer.

use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::pipes::{Listener, Output, Tail, TooLarge};
use super::process::{AttendedProcess, Limits, Process, Program, deadline_after};
use super::terminal::{Terminal, TerminalInput};
use super::tree::Tree;
use super::{Finished, Invocation, Lane, LaneKind};
use crate::{Cause, Failure};

/// How long output is awaited after the program itself has ended, because a process that it left running may hold the
/// pipe for ever.
pub(super) const BACKGROUND_GRACE: Duration = Duration::from_millis(100);

/// How far apart two processes may receive the same signal.
const SAME_MOMENT: Duration = Duration::from_millis(150);

/// Runs a program for every event: the event on standard input, the answer on standard output.
#[derive(Debug, Clone)]
pub struct CommandLane {
    program: Program,
    limits: Limits,
    terminal: Option<(Terminal, TerminalInput)>,
    timeout_setting: Option<&'static str>,
}

impl CommandLane {
    /// A lane for a program, with the usual limits.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            limits: Limits::default(),
            terminal: None,
            timeout_setting: None,
        }
    }

    /// This lane with other limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// This lane for a program that asks the user something: it has the terminal while it runs, and its standard error
    /// goes there.
    pub fn terminal(mut self, terminal: Terminal, input: TerminalInput) -> Self {
        self.terminal = Some((terminal, input));
        self
    }

    /// This lane for a program whose timeout is a setting; the error of a timeout names that setting.
    pub fn timeout_setting(mut self, name: &'static str) -> Self {
        self.timeout_setting = Some(name);
        self
    }

    /// Runs the program once, and lets a listener hear its standard output while it runs. What the listener returns is
    /// how much longer the program may take.
    pub async fn run_heard(&self, invocation: Invocation, listener: Listener) -> Result<Finished, Failure> {
        self.run_once(invocation, Some(listener)).await
    }

    async fn run_once(
        &self,
        invocation: Invocation,
        listener: Option<Listener>,
    ) -> Result<Finished, Failure> {
        let finished = self.run_to_end(&invocation, listener).await?;
        let (directory, variables) = (&invocation.directory, &invocation.environment);
        self.program.check_scripts_afterwards(directory, variables)?;
        Ok(finished)
    }

    async fn run_to_end(
        &self,
        invocation: &Invocation,
        listener: Option<Listener>,
    ) -> Result<Finished, Failure> {
        let deadline = deadline_after(invocation.timeout);
        match &self.terminal {
            None => {
                let start = self
                    .program
                    .start(&invocation.directory, &invocation.environment, deadline);
                let Process {
                    stdin,
                    stdout,
                    stderr,
                    tree,
                } = start.await?;
                let tail = Tail::new(stderr, self.limits.stderr);
                let output = self.output(stdout, listener, invocation);
                self.follow((Some(stdin), output, tail, tree), invocation, deadline)
                    .await
            }
            Some((terminal, input)) => {
                // Held until the program has ended, whichever way this function is left.
                let turn = terminal.take_turn(deadline).await?;
                let (directory, variables) = (&invocation.directory, &invocation.environment);
                let start = self
                    .program
                    .start_at_terminal(directory, variables, deadline, (&turn, *input));
                let AttendedProcess { stdin, stdout, tree } = start.await?;
                let output = self.output(stdout, listener, invocation);
                let result = self
                    .follow((stdin, output, Tail::unheard(), tree), invocation, deadline)
                    .await;
                // Ctrl-C that has ended the program is meant for its caller too, which must see the signal before the
                // answer.
                tokio::time::sleep(SAME_MOMENT).await;
                result
            }
        }
    }

    fn output(&self, pipe: ChildStdout, listener: Option<Listener>, invocation: &Invocation) -> Output {
        Output::new(pipe, self.limits.output_for(invocation.input.len())).heard_by(listener)
    }

    /// Accompanies a program that was just started to its end.
    async fn follow(
        &self,
        (stdin, mut output, mut tail, mut tree): (Option<ChildStdin>, Output, Tail, Tree),
        invocation: &Invocation,
        deadline: Instant,
    ) -> Result<Finished, Failure> {
        let most = self.limits.output_for(invocation.input.len());
        let writing = feed(stdin, invocation.input.as_bytes());
        let ending = converse(writing, &mut output, &mut tail, &mut tree, deadline).await;
        if let Ending::Exited { status, complete } = &ending
            && let Some(code) = status.code()
        {
            tree.release();
            return Ok(Finished {
                stdout: output.into_bytes(),
                stderr: tail.take_text(),
                code,
                complete: *complete,
            });
        }
        // Without a reader, a program that is still writing notices that it is time to end.
        let written = output.into_bytes();
        end_tree(&mut tree, &mut tail).await;
        let failure = match ending {
            Ending::Exited { status, .. } => killed(status),
            Ending::TimedOut(None) => timed_out(invocation.timeout, self.timeout_setting),
            Ending::TimedOut(Some(own)) => timed_out(own, None),
            Ending::TooLarge => too_large(most),
            Ending::Lost(error) => {
                Failure::new(Cause::SpawnFailed, format!("lost sight of the process: {error}"))
            }
        };
        Err(failure
            .with_stdout(String::from_utf8_lossy(&written))
            .with_stderr(tail.take_text()))
    }
}

impl Lane for CommandLane {
    fn kind(&self) -> LaneKind {
        LaneKind::Command
    }

    fn run<'a>(&'a self, invocation: Invocation) -> BoxFuture<'a, Result<Finished, Failure>> {
        Box::pin(self.run_once(invocation, None))
    }
}

/// How the exchange with a program ended.
enum Ending {
    /// The program ended; `complete` says whether its standard output was read to its end.
    Exited {
        status: ExitStatus,
        complete: bool,
    },
    /// The time is over: that of the invocation, or one that the program itself has asked for.
    TimedOut(Option<Duration>),
    TooLarge,
    Lost(std::io::Error),
}

/// Writes, reads and waits, all at once, until the program has ended and its outputs are closed, or until there is a
/// reason to wait no longer.
async fn converse(
    writing: impl Future<Output = ()>,
    output: &mut Output,
    tail: &mut Tail,
    tree: &mut Tree,
    deadline: Instant,
) -> Ending {
    let mut timer = pin!(sleep_until(deadline));
    let mut writing = pin!(writing);
    let (hears, mut heard) = oneshot::channel();
    let mut reading = pin!(output.read_aloud(hears));
    let mut reading_errors = pin!(tail.read_to_end());
    let (mut written, mut read, mut read_errors) = (false, false, false);
    let mut exited: Option<ExitStatus> = None;
    let (mut listens, mut own_time) = (true, None);
    loop {
        if let (Some(status), true, true) = (exited, read, read_errors) {
            return Ending::Exited {
                status,
                complete: true,
            };
        }
        // In this order: a flood on a pipe must not keep the timer from being looked at.
        tokio::select! {
            biased;
            () = &mut timer => {
                let Some(status) = exited else {
                    return Ending::TimedOut(own_time);
                };
                // One last look, for the case that this process was too busy to look before.
                let last = if read {
                    Some(Ok(()))
                } else {
                    tokio::task::unconstrained(&mut reading).now_or_never()
                };
                return match last {
                    Some(Err(TooLarge)) => Ending::TooLarge,
                    last => Ending::Exited { status, complete: last.is_some() },
                };
            }
            status = tree.wait(), if exited.is_none() => match status {
                Ok(status) => {
                    exited = Some(status);
                    let deadline = timer.deadline();
                    timer.as_mut().reset(deadline.min(Instant::now() + BACKGROUND_GRACE));
                }
                Err(error) => return Ending::Lost(error),
            },
            longer = &mut heard, if listens => {
                listens = false;
                if let (Ok(longer), None) = (longer, exited) {
                    own_time = Some(longer);
                    timer.as_mut().reset(deadline_after(longer));
                }
            }
            () = &mut writing, if !written && exited.is_none() => written = true,
            result = &mut reading, if !read => match result {
                Ok(()) => read = true,
                Err(TooLarge) => return Ending::TooLarge,
            },
            () = &mut reading_errors, if !read_errors => read_errors = true,
        }
    }
}

/// Writes everything and closes the pipe. A program need not read its input, so a closed pipe is no failure.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

/// Ends a tree, and keeps reading its standard error meanwhile.
pub(super) async fn end_tree(tree: &mut Tree, tail: &mut Tail) {
    let mut ending = pin!(tree.terminate());
    let mut reading = pin!(tail.read_to_end());
    let mut read = false;
    loop {
        tokio::select! {
            biased;
            () = &mut ending => return,
            () = &mut reading, if !read => read = true,
        }
    }
}

pub(super) fn timed_out(limit: Duration, setting: Option<&str>) -> Failure {
    let timeout = setting.map_or_else(|| "its timeout".to_owned(), |name| format!("`{name}`"));
    let detail = format!("no answer within {limit:?}, so it was ended; make it faster, or raise {timeout}");
    Failure::new(Cause::TimedOut, detail)
}

pub(super) fn too_large(limit: usize) -> Failure {
    let detail = format!("it wrote more than {limit} bytes to standard output, so it was ended");
    Failure::new(Cause::OutputTooLarge, detail)
}

/// The failure of a program that a signal has ended.
pub(super) fn killed(status: ExitStatus) -> Failure {
    use std::os::unix::process::ExitStatusExt;
    let number = status.signal().unwrap_or_default();
    let dumped = if status.core_dumped() { ", core dumped" } else { "" };
    let name =
        signal_name(number).map_or_else(|| format!("signal {number}"), |name| format!("{name} ({number})"));
    Failure::new(Cause::KilledBySignal, format!("ended by {name}{dumped}"))
}

fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::SYS, "SIGSYS"),
    ];
    names
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map(|(_, name)| *name)
}
