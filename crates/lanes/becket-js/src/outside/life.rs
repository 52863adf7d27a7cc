//! The life of the Node process: how it is started, how its messages come in, how it ends, and how it comes back with
//! all its extensions.

#![allow(clippy::disallowed_methods, reason = "what the system says about a process")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Weak};
use std::time::Duration;

use becket_hooks::{Cause, Companion, Failure, Program};
use futures_util::future::BoxFuture;
use rustix::io::{FdFlags, fcntl_setfd};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::ChildStdout;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::choice::{engine, is_bun, program};
use super::process::{Process, in_line};
use crate::errors::seconds;
use crate::host::Report;
use crate::kit::Kit;

const HOST: &str = include_str!("host.cts");
const MODULES: &str = include_str!("modules.cts");

/// How long Node may take to start.
const START: Duration = Duration::from_secs(30);

/// How long the end of a process is awaited after its pipes are closed.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// The memory that Node needs to start at all.
const LEAST_MEGABYTES: usize = 64;

/// The memory that an engine needs besides the data of extensions: its own code, its stacks, and garbage.
const OWN_MEGABYTES: usize = 192;

/// How often the memory of the process is checked.
const MEMORY_PACE: Duration = Duration::from_millis(100);

/// The longest line that is read.
const LONGEST: u64 = 256 << 20;

/// The process, started if it does not run.
pub(super) async fn running(kit: &Arc<Kit>) -> Result<Arc<Process>, Failure> {
    let outside = &kit.outside;
    if let Some(failure) = outside.state().over.clone() {
        return Err(failure);
    }
    let mut process = outside.process.lock().await;
    if let Some(running) = process.as_ref().filter(|process| process.is_running()) {
        return Ok(Arc::clone(running));
    }
    let started = start(kit).await?;
    *process = Some(Arc::clone(&started));
    Ok(started)
}

/// Starts Node and waits until it is ready.
async fn start(kit: &Arc<Kit>) -> Result<Arc<Process>, Failure> {
    let broken = |error: io::Error| Failure::new(Cause::SpawnFailed, format!("no pipe to Node: {error}"));
    let path = program(kit).map_err(|reason| Failure::new(Cause::NotFound, reason))?;
    let script = script(kit)?;
    // Node reads the inside of packages by itself.
    becket_fs::will_be_read_elsewhere(&path);
    let (their_calls, calls) = pipe_to_them().map_err(broken)?;
    let (their_answers, answers) = pipe_to_them().map_err(broken)?;
    let (their_words, words) = pipe_to_us().map_err(broken)?;
    let pipes = [&their_calls, &their_words, &their_answers];
    let program = command(kit, &path, pipes.map(AsRawFd::as_raw_fd));
    let directory = &kit.surroundings.directory;
    let (mut companion, mut stdin, stdout) = Companion::start(&program, directory, START).await?;
    drop((their_calls, their_words, their_answers));
    let mut words = Lines(BufReader::new(words));
    let hello = async {
        // If the write fails, the first line will be missing too.
        let _ = stdin.write_all(script.as_bytes()).await;
        drop(stdin);
        words.next().await
    };
    if timeout(START, hello).await.ok().flatten().is_none() {
        return Err(never_ready(&mut companion, &path).await);
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let process = Arc::new(Process::new(engine(kit), sender));
    tokio::spawn(write(calls, receiver));
    tokio::spawn(show(stdout, Arc::downgrade(&process)));
    if let Some(id) = companion.id() {
        tokio::spawn(watch_memory(id, megabytes(kit), Arc::downgrade(&process)));
    }
    let ears = Ears {
        words,
        answers,
        companion,
        kit: Arc::downgrade(kit),
        process: Arc::downgrade(&process),
        end: process.end.clone(),
    };
    tokio::spawn(ears.listen());
    Ok(process)
}

// -------------------------------------------------------------------- pipes

/// A pipe that Node reads. Every program that is started inherits its end, so it is closed right after Node was
/// started.
fn pipe_to_them() -> io::Result<(OwnedFd, Sender)> {
    let (theirs, ours) = io::pipe()?;
    let theirs = inherited(theirs.into())?;
    Ok((theirs, Sender::from_owned_fd(ours.into())?))
}

/// A pipe that Node writes.
fn pipe_to_us() -> io::Result<(OwnedFd, Receiver)> {
    let (ours, theirs) = io::pipe()?;
    let theirs = inherited(theirs.into())?;
    Ok((theirs, Receiver::from_owned_fd(ours.into())?))
}

fn inherited(pipe: OwnedFd) -> io::Result<OwnedFd> {
    fcntl_setfd(&pipe, FdFlags::empty())?;
    Ok(pipe)
}

/// The lines that Node writes.
struct Lines(BufReader<Receiver>);

impl Lines {
    /// The next line; `None` when the pipe is closed, or when a line is too long.
    async fn next(&mut self) -> Option<String> {
        let mut line = Vec::new();
        (&mut self.0)
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .await
            .ok()?;
        line.pop().filter(|last| *last == b'\n')?;
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}

/// Writes the queued lines, in order.
async fn write(mut calls: Sender, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if calls.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reports the process's standard output: programs that extensions start may have inherited it.
async fn show(stdout: ChildStdout, process: Weak<Process>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        if let Some(process) = process.upgrade() {
            process.report(0, Report::Console { error: false, text });
        }
    }
}

// -------------------------------------------------------------------- beginning and end

/// The script that runs in Node.
fn script(kit: &Kit) -> Result<String, Failure> {
    let javascript = |name: &str, source: &str| {
        let code = kit.transformer.javascript(Path::new(name), source);
        code.map_err(|error| Failure::new(Cause::SpawnFailed, error.to_string()))
    };
    let (modules, host) = (javascript("modules.cts", MODULES)?, javascript("host.cts", HOST)?);
    Ok(format!(
        "\"use strict\";const loader = {{}};(function (exports) {{{modules}\n}})(loader);(function () {{{host}\n}})();"
    ))
}

/// The command that starts Node. The script comes by standard input.
fn command(kit: &Kit, path: &Path, pipes: [i32; 3]) -> Program {
    let mut words = vec![path.as_os_str().to_owned()];
    if !is_bun(path) {
        let megabytes = megabytes(kit);
        words.extend(["--experimental-vm-modules".into(), "--no-warnings".into()]);
        words.push(format!("--max-old-space-size={megabytes}").into());
    }
    words.push("-".into());
    words.extend(pipes.map(|pipe| pipe.to_string().into()));
    Program::exec(words).environment(Arc::clone(&kit.surroundings.environment))
}

/// How much memory all extensions together may use.
fn megabytes(kit: &Kit) -> usize {
    ((kit.limits.memory >> 20) * kit.outside.extensions).max(LEAST_MEGABYTES)
}

/// Ends the process when it uses more memory than it may. Node's own limit does not cover buffers, which lie outside of
/// the heap.
async fn watch_memory(id: u32, megabytes: usize, process: Weak<Process>) {
    let most = (megabytes + OWN_MEGABYTES) << 20;
    loop {
        tokio::time::sleep(MEMORY_PACE).await;
        let Some(process) = process.upgrade().filter(|process| process.is_running()) else {
            return;
        };
        if resident(id).is_some_and(|bytes| bytes > most) {
            let words = format!("Node is out of memory; its extensions may use {megabytes} MB together");
            process.must_end(words, None);
            return;
        }
    }
}

/// The resident memory of a process in bytes, if the system tells.
fn resident(id: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

async fn never_ready(companion: &mut Companion, path: &Path) -> Failure {
    let ended = companion.ends_within(LAST_BREATH).await;
    let how = ended.map_or_else(
        || format!("was not ready within {}", seconds(START)),
        |status| format!("{} before it was ready", in_words(status)),
    );
    let detail = format!(
        "{} {how}; Node 18 or newer is needed, and `js.node` can name one",
        path.display()
    );
    Failure::new(Cause::SpawnFailed, detail).with_stderr(companion.last_words())
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        _ => "ended".into(),
    }
}

/// Reads the messages of the process, and handles its end.
struct Ears {
    words: Lines,
    answers: Sender,
    companion: Companion,
    kit: Weak<Kit>,
    process: Weak<Process>,
    end: CancellationToken,
}

impl Ears {
    /// Reads until the end. Boxed, because the end of one process starts the next.
    fn listen(self) -> BoxFuture<'static, ()> {
        Box::pin(self.hear_out())
    }

    async fn hear_out(mut self) {
        loop {
            let line = tokio::select! {
                biased;
                () = self.end.cancelled() => break,
                line = self.words.next() => line,
            };
            let (Some(line), Some(process)) = (line, self.process.upgrade()) else {
                break;
            };
            if let Some(answer) = process.hear(line) {
                let answer = match answer {
                    Ok(text) => format!("+{}\n", in_line(&text)),
                    Err(error) => format!("-{}\n", error.into_json()),
                };
                // The script is blocked until it has this answer.
                if self.answers.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
        self.bury().await;
    }

    /// Cleans up a process that has ended or must end.
    async fn bury(mut self) {
        let (Some(kit), Some(process)) = (self.kit.upgrade(), self.process.upgrade()) else {
            return;
        };
        let asked_to = self.end.is_cancelled();
        let ended = match asked_to {
            true => None,
            false => self.companion.ends_within(LAST_BREATH).await,
        };
        let last_words = last_line(&self.companion.last_words());
        self.companion.end().await;
        process.end.cancel();
        let (why, culprit) = process.fault().unwrap_or_else(|| {
            let how = ended.map_or_else(|| "closed its pipes".into(), in_words);
            (format!("Node {how}{last_words}"), None)
        });
        lost(kit, process, why, culprit).await;
    }
}

/// The last line of a process's standard error, if it says why it ended.
fn last_line(words: &str) -> String {
    let fatal = words
        .lines()
        .find(|line| line.contains("FATAL ERROR") || line.contains("Error:"));
    fatal.map(|line| format!(": {}", line.trim())).unwrap_or_default()
}

/// Called when the process ended unasked: tells every extension why, and starts the process again with all of them.
async fn lost(kit: Arc<Kit>, process: Arc<Process>, why: String, culprit: Option<String>) {
    let outside = &kit.outside;
    let away: Vec<_> = outside
        .guests()
        .into_iter()
        .filter(|guest| guest.lives_in(&process))
        .collect();
    let goes_on = outside.count_end();
    let gone = match outside.state().over.clone() {
        Some(over) => over,
        None => Failure::new(Cause::KilledBySignal, format!("{why}; it is being started again")),
    };
    away.iter().for_each(|guest| guest.leave(gone.clone(), goes_on));
    process.fail_all(&Failure::new(Cause::KilledBySignal, why.clone()));
    if !away.is_empty() {
        let names: Vec<&str> = away.iter().map(|guest| guest.name()).collect();
        let what = match goes_on {
            true => "it is started again with them",
            false => {
                "that was too often within a minute; it is not started again, and what they guard is refused"
            }
        };
        let text = format!("{why}; {} ran in it, and {what}", names.join(", "));
        let name = culprit.unwrap_or_else(|| names.join(", "));
        kit.reporter.report(&name, Report::Failed { text });
    }
    away.iter().for_each(|guest| kit.host.renewing(guest.name()));
    let _alone = outside.reviving.lock().await;
    for guest in away.iter().filter(|guest| guest.waits_for_return()) {
        guest.leave(gone.clone(), false);
        let loaded = Arc::clone(guest).come_back().await;
        if let Err(failure) = &loaded {
            // The process has ended once more, and the task that handles that loads the extension.
            if guest.waits_for_return() {
                continue;
            }
            guest.leave(failure.clone(), false);
        }
        kit.host.renewed(guest.name(), loaded);
    }
}
