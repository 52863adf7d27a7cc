//! The process: how it is started, what is said to it and heard of it, and how it ends.
//!
//! Lines go both ways, with parts between tabs. A part is JSON or a plain number or sign, so that neither a tab nor the
//! end of a line stands in one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use becket_hooks::{Cause, Companion, Failure, Field, Program};
use futures_util::future::BoxFuture;
use rustix::io::{FdFlags, fcntl_setfd};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::ChildStdout;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::choice::{engine, is_bun, program};
use super::finding;
use super::guest::{Guest, quoted};
use crate::errors::{seconds, shortened, well_formed};
use crate::extension::Kit;
use crate::host::{HostError, Report};
use crate::natives::error_text;
use crate::packages::Asked;
use crate::transform::first_place;

const HOST: &str = include_str!("host.cts");
const MODULES: &str = include_str!("modules.cts");

/// How long Node may take to start.
const START: Duration = Duration::from_secs(30);

/// How long a process may be silent that was asked whether it is still there.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the end of a process is waited for whose pipes are closed.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// What Node needs to start at all.
const LEAST_MEGABYTES: usize = 64;

/// What an engine needs besides what the extensions keep in it: its own code, its stacks, what is about to be
/// collected.
const OWN_MEGABYTES: usize = 192;

/// How often it is looked at how much memory it has.
const MEMORY_PACE: Duration = Duration::from_millis(100);

/// The longest line that is read.
const LONGEST: u64 = 256 << 20;

/// Node, running.
pub(super) struct Process {
    /// What it is, for people: `node` or `bun`.
    pub(super) engine: &'static str,
    calls: mpsc::UnboundedSender<String>,
    pending: Mutex<HashMap<u64, Pending>>,
    guests: Mutex<HashMap<u64, Weak<Guest>>>,
    last_call: AtomicU64,
    running: AtomicBool,
    pongs: Notify,
    /// Why it must end or has ended, as far as that is known before it does, and whose fault it is.
    fault: Mutex<Option<(String, Option<String>)>>,
    end: CancellationToken,
}

/// Something to ask of an extension.
pub(super) struct Call {
    what: &'static str,
    parts: Vec<String>,
    /// The fields of an event; large ones are asked for.
    pub(super) fields: Vec<Field>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// What was returned, as JSON; `None` for nothing.
    pub(super) returned: Option<String>,
    /// Mutable fields that were changed.
    pub(super) changed: Vec<(String, String)>,
}

struct Pending {
    extension: u32,
    sender: oneshot::Sender<Result<Done, Failure>>,
    fields: Vec<Field>,
}

impl Call {
    pub(super) fn new<const N: usize>(what: &'static str, parts: [String; N]) -> Self {
        Self {
            what,
            parts: parts.into(),
            fields: Vec::new(),
        }
    }

    /// The same about an event.
    pub(super) fn about(mut self, fields: Vec<Field>) -> Self {
        self.fields = fields;
        self
    }
}

impl Process {
    /// Starts Node and waits until it listens.
    pub(super) async fn start(kit: &Arc<Kit>) -> Result<Arc<Self>, Failure> {
        let broken = |error: io::Error| Failure::new(Cause::SpawnFailed, format!("no pipe to Node: {error}"));
        let path = program(kit).map_err(|reason| Failure::new(Cause::NotFound, reason))?;
        let script = script(kit)?;
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
            // If it cannot be written, the first line is missing too.
            let _ = stdin.write_all(script.as_bytes()).await;
            drop(stdin);
            words.next().await
        };
        if timeout(START, hello).await.ok().flatten().is_none() {
            return Err(never_ready(&mut companion, &path).await);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let process = Arc::new(Self {
            engine: engine(kit),
            calls: sender,
            pending: Mutex::default(),
            guests: Mutex::default(),
            last_call: AtomicU64::new(0),
            running: AtomicBool::new(true),
            pongs: Notify::new(),
            fault: Mutex::default(),
            end: CancellationToken::new(),
        });
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

    pub(super) fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// An extension is about to be loaded here.
    pub(super) fn admit(&self, number: u32, guest: &Arc<Guest>) {
        self.guests().insert(number.into(), Arc::downgrade(guest));
    }

    /// An extension is not needed any more.
    pub(super) fn dismiss(&self, number: u32) {
        self.guests().remove(&number.into());
        self.say(&["forget", &number.to_string()]);
    }

    /// Asks something of an extension, and waits for what comes of it.
    pub(super) async fn begin(&self, number: u32, call: Call) -> Result<Done, Failure> {
        let id = self.last_call.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        let pending = Pending {
            extension: number,
            sender,
            fields: call.fields,
        };
        self.pending().insert(id, pending);
        let _entry = Entry(self, id);
        if !self.is_running() {
            return Err(self.gone());
        }
        let (number, id) = (number.to_string(), id.to_string());
        let parts = call.parts.iter().map(String::as_str);
        let line: Vec<&str> = [call.what, &number, &id].into_iter().chain(parts).collect();
        self.say(&line);
        receiver.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Whether an extension owes an answer.
    pub(super) fn is_busy(&self, number: u32) -> bool {
        self.pending().values().any(|pending| pending.extension == number)
    }

    /// Says a line. One that cannot be said any more is not missed: whoever waits hears of the end.
    fn say(&self, parts: &[&str]) {
        let parts: Vec<Cow<'_, str>> = parts.iter().map(|part| in_line(part)).collect();
        let _ = self.calls.send(parts.join("\t") + "\n");
    }

    /// Somebody has waited in vain: if the process does not react at all, it is ended.
    pub(super) async fn doubt(self: Arc<Self>, name: String, waited: Duration) {
        let pong = self.pongs.notified();
        self.say(&["ping", "0"]);
        if timeout(PATIENCE, pong).await.is_err() && self.is_running() {
            self.running.store(false, Ordering::Relaxed);
            let words = format!(
                "it gave no answer within {}, and Node does not react any more",
                seconds(waited)
            );
            self.blame(words, Some(name));
            self.end.cancel();
        }
    }

    /// Everybody who waits hears that it is in vain.
    pub(super) fn fail_all(&self, failure: &Failure) {
        self.running.store(false, Ordering::Relaxed);
        let waiting: Vec<Pending> = self.pending().drain().map(|(_, pending)| pending).collect();
        for pending in waiting {
            let _ = pending.sender.send(Err(failure.clone()));
        }
    }

    /// The first to be blamed is.
    fn blame(&self, words: String, name: Option<String>) {
        let mut fault = self.fault.lock().expect("no panic happens while this is held");
        fault.get_or_insert((words, name));
    }

    fn fault(&self) -> Option<(String, Option<String>)> {
        self.fault
            .lock()
            .expect("no panic happens while this is held")
            .clone()
    }

    fn gone(&self) -> Failure {
        Failure::new(Cause::KilledBySignal, "Node, in which it ran, has ended")
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        self.pending.lock().expect("no panic happens while this is held")
    }

    fn guests(&self) -> MutexGuard<'_, HashMap<u64, Weak<Guest>>> {
        self.guests.lock().expect("no panic happens while this is held")
    }

    fn guest(&self, number: u64) -> Option<Arc<Guest>> {
        self.guests().get(&number)?.upgrade()
    }

    // ---------------------------------------------------------------- what is heard

    /// Takes a line. Gives back what must be answered at once.
    fn hear(self: &Arc<Self>, line: String) -> Option<Result<String, HostError>> {
        let line = well_formed(line);
        let mut parts = line.split('\t');
        let what = parts.next().unwrap_or_default();
        let number: u64 = parts
            .next()
            .and_then(|part| part.parse().ok())
            .unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        match what {
            "done" => self.settle(number, |_| Ok(done(&rest))),
            "fail" => self.settle(number, |process| {
                let told = Told::read(rest.first().unwrap_or(&""));
                let failure = Failure::new(Cause::Raised, process.in_words(&told));
                let message = told.message.filter(|message| !message.is_empty());
                Err(failure.refusing_with(message.map(shortened)))
            }),
            "places" => {
                let frames = text(rest.first().unwrap_or(&""));
                let placed = match self.anybody() {
                    Some(guest) => guest.kit.transformer.with_original_places(frames),
                    None => frames,
                };
                return Some(Ok(quoted(&placed)));
            }
            "pong" => self.pongs.notify_waiters(),
            "later" => self.begin_call(number, &rest),
            "print" | "report" => self.pass_on(what, number, &rest),
            "bye" => {
                let name = self.guest(number).map(|guest| guest.name.clone());
                let code = rest.first().copied().unwrap_or_default();
                self.blame(format!("Node was ended by process.exit({code})"), name);
            }
            _ => {
                let ended = || HostError::new("the extension has ended");
                let guest = self.guest(number).ok_or_else(ended);
                return Some(guest.and_then(|guest| self.answer(&guest, what, &rest)));
            }
        }
        None
    }

    fn settle(&self, id: u64, result: impl FnOnce(&Self) -> Result<Done, Failure>) {
        let pending = self.pending().remove(&id);
        if let Some(pending) = pending {
            let _ = pending.sender.send(result(self));
        }
    }

    /// What a script asks for and waits for.
    fn answer(&self, guest: &Guest, what: &str, parts: &[&str]) -> Result<String, HostError> {
        let part = |at: usize| parts.get(at).copied().unwrap_or_default();
        let modules = || {
            guest
                .modules()
                .ok_or_else(|| HostError::new("the extension has ended"))
        };
        match what {
            "call" => guest.kit.host.call(&guest.name, &text(part(0)), part(1)),
            "find" => {
                let (asked, code) = match part(2) {
                    "+" => (Asked::Require, "MODULE_NOT_FOUND"),
                    _ => (Asked::Import, "ERR_MODULE_NOT_FOUND"),
                };
                let found = finding::find(&modules()?, &guest.file, &text(part(0)), &text(part(1)), asked);
                found
                    .map(|found| found.to_string())
                    .map_err(|words| HostError::new(words).with("code", code))
            }
            "read" => {
                let read = finding::read(&modules()?, &text(part(0)));
                read.map(|read| read.to_string()).map_err(HostError::new)
            }
            "describe" => Ok(quoted(&self.told(part(0)))),
            "field" => {
                let (id, name) = (part(0).parse::<u64>().unwrap_or_default(), text(part(1)));
                let pending = self.pending();
                let fields = pending.get(&id).map(|pending| &pending.fields);
                let field = fields.and_then(|fields| fields.iter().find(|field| field.name == name));
                let late = || HostError::new(format!("`{name}` can be read only while the handler runs"));
                field.map(|field| field.json.to_string()).ok_or_else(late)
            }
            other => Err(HostError::new(format!("becket does not know what `{other}` is"))),
        }
    }

    /// Begins what takes its time; its answer is said when it is there.
    fn begin_call(self: &Arc<Self>, number: u64, parts: &[&str]) {
        let [id, name, arguments] = parts else { return };
        let Some(guest) = self.guest(number) else { return };
        let answer = guest
            .kit
            .host
            .call_async(&guest.name, &text(name), (*arguments).to_owned());
        let (id, end, process) = ((*id).to_owned(), self.end.clone(), Arc::downgrade(self));
        tokio::spawn(async move {
            let answer = tokio::select! {
                () = end.cancelled() => return,
                answer = answer => answer,
            };
            let (sign, text) = match answer {
                Ok(text) => ("+", text),
                Err(error) => ("-", error_text(error)),
            };
            if let Some(process) = process.upgrade() {
                process.say(&["settle", &number.to_string(), &id, sign, &text]);
            }
        });
    }

    /// Passes on what an extension tells without being asked.
    fn pass_on(&self, what: &str, number: u64, parts: &[&str]) {
        let part = |at: usize| parts.get(at).copied().unwrap_or_default();
        let report = match what {
            "print" => Report::Console {
                error: part(0) == "!",
                text: text(part(1)),
            },
            _ => Report::Failed {
                text: format!("{}{}", text(part(0)), self.told(part(1))),
            },
        };
        self.report(number, report);
    }

    /// Reports in an extension's name, or in that of the engine if nobody knows whose words they are.
    fn report(&self, number: u64, report: Report) {
        let known = self.guest(number);
        let name = known.as_ref().map_or(self.engine, |guest| guest.name.as_str());
        let Some(anybody) = known.clone().or_else(|| self.anybody()) else {
            return;
        };
        anybody.kit.reporter.report(name, report);
    }

    fn anybody(&self) -> Option<Arc<Guest>> {
        self.guests().values().find_map(Weak::upgrade)
    }

    /// An error in words.
    fn told(&self, json: &str) -> String {
        self.in_words(&Told::read(json))
    }

    fn in_words(&self, told: &Told) -> String {
        shortened(told.in_words())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// A call that waits; forgotten when nobody waits any more.
struct Entry<'a>(&'a Process, u64);

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.0.pending().remove(&self.1);
    }
}

/// What a script has thrown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    words: String,
    /// What the error says itself, without its name.
    message: Option<String>,
    stack: Option<String>,
    causes: Vec<Told>,
    errors: Vec<Told>,
}

impl Told {
    fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    fn in_words(&self) -> String {
        let place = self.stack.as_deref().and_then(first_place);
        let mut words = match place {
            Some(place) if !self.words.contains(&place) => format!("{} ({place})", self.words),
            _ => self.words.clone(),
        };
        for error in &self.errors {
            words = format!("{words}; {}", error.in_words());
        }
        for cause in &self.causes {
            words = format!("{words}; caused by {}", cause.in_words());
        }
        words
    }
}

/// What a handler's answer holds: what it returned, then names and values of what it has changed.
fn done(parts: &[&str]) -> Done {
    let (returned, changed) = parts.split_first().unwrap_or((&"", &[]));
    Done {
        returned: (!returned.is_empty()).then(|| (*returned).to_owned()),
        changed: changed
            .chunks_exact(2)
            .map(|pair| (text(pair[0]), pair[1].to_owned()))
            .collect(),
    }
}

/// A text that was written as JSON.
fn text(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_default()
}

/// JSON without what separates lines and parts, which can only stand between its words.
fn in_line(part: &str) -> Cow<'_, str> {
    match part.contains(['\n', '\t']) {
        true => part.replace(['\n', '\t'], " ").into(),
        false => part.into(),
    }
}

// -------------------------------------------------------------------- pipes

/// A pipe that Node reads. Its end is open to programs that are started, so it is closed right after one was.
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

/// Lines that come out of Node.
struct Lines(BufReader<Receiver>);

impl Lines {
    /// The next line; nothing when the pipe is closed, or when a line is too long for anybody.
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

/// Writes what is said, in order.
async fn write(mut calls: Sender, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if calls.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Shows what comes out of standard output: programs that extensions start may have inherited it.
async fn show(stdout: ChildStdout, process: Weak<Process>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        if let Some(process) = process.upgrade() {
            process.report(0, Report::Console { error: false, text });
        }
    }
}

// -------------------------------------------------------------------- beginning and end

/// The script of the other end.
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

/// The command that starts it. The script comes by standard input.
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

/// Ends the process when it has more memory than it may. Its own limit does not know of buffers, which lie outside of
/// the heap.
async fn watch_memory(id: u32, megabytes: usize, process: Weak<Process>) {
    let most = (megabytes + OWN_MEGABYTES) << 20;
    loop {
        tokio::time::sleep(MEMORY_PACE).await;
        let Some(process) = process.upgrade().filter(|process| process.is_running()) else {
            return;
        };
        if resident(id).is_some_and(|bytes| bytes > most) {
            process.running.store(false, Ordering::Relaxed);
            let words = format!("Node is out of memory; its extensions may use {megabytes} MB together");
            process.blame(words, None);
            process.end.cancel();
            return;
        }
    }
}

/// The bytes of memory that a process has, where the system says so.
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

/// Hears the process, and sees to its end.
struct Ears {
    words: Lines,
    answers: Sender,
    companion: Companion,
    kit: Weak<Kit>,
    process: Weak<Process>,
    end: CancellationToken,
}

impl Ears {
    /// Boxed, because the end of one process is the beginning of the next.
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
                    Err(error) => format!("-{}\n", error_text(error)),
                };
                // It reads nothing else until it has this.
                if self.answers.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
        self.bury().await;
    }

    /// The process has ended or must end.
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
        super::lost(kit, process, why, culprit).await;
    }
}

/// What a process said last, if it said something that tells why it ended.
fn last_line(words: &str) -> String {
    let fatal = words
        .lines()
        .find(|line| line.contains("FATAL ERROR") || line.contains("Error:"));
    fatal.map(|line| format!(": {}", line.trim())).unwrap_or_default()
}
