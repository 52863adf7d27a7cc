//! Programs that an extension starts: the functions of `child_process`.
//!
//! Each program is started as the leader of its own group and with two marks, one of its own and one that all programs
//! of the extension have: so it ends, with everything that it started, when the extension's engine does.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the files of extensions, which look at them themselves"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becket_hooks::{Mark, Program, Tree};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex as Turn, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::errors::{ended, error_name, system_error};
use super::held::{Full, Held, Store};
use super::running::{CHUNK, GRACE, Output, Running};
use super::state::{Need, Node, NodeResult, bytes_of};
use crate::clock::End;
use crate::host::{HostError, Meanwhile};

/// How often a program is checked while the script is blocked by it.
const PAUSE: Duration = Duration::from_millis(20);

/// Signals by which a program is asked to end: hangup, interrupt, quit, kill, terminate.
const ENDING: [i32; 5] = [1, 2, 3, 9, 15];

pub(super) fn call(node: &Arc<Node>, function: &str, arguments: &Value) -> NodeResult {
    match function {
        "spawn" => spawn(node, arguments),
        "spawnSync" => spawn_sync(node, arguments),
        "signal" => signal(node, arguments),
        "forget" => {
            let mut processes = node
                .processes
                .lock()
                .expect("no panic happens while processes are held");
            processes.remove(&arguments["id"].as_u64().unwrap_or_default());
            Ok(Value::Null)
        }
        _ => Err(HostError::new(format!("there is no function process.{function}"))),
    }
}

pub(super) fn call_async(
    node: &Arc<Node>,
    function: &str,
    arguments: &Value,
) -> BoxFuture<'static, NodeResult> {
    let id = arguments["id"].as_u64().unwrap_or_default();
    let found = node
        .processes
        .lock()
        .expect("no panic happens while processes are held")
        .get(&id)
        .cloned();
    let Some(running) = found else {
        return async { Err(ended()) }.boxed();
    };
    let node = Arc::downgrade(node);
    let (function, arguments) = (function.to_string(), arguments.clone());
    async move {
        match function.as_str() {
            "read" => {
                let which = usize::from(arguments["stream"] == 2);
                let bytes = running.read(which).await;
                let node = node.upgrade().ok_or_else(ended)?;
                bytes.map_or(Ok(Value::Null), |bytes| node.parcel(bytes))
            }
            "write" => running.write(bytes_of(&arguments["data"])?).await,
            "end" => {
                drop(running.stdin.lock().await.take());
                Ok(Value::Null)
            }
            "wait" => Ok(ended_as(running.wait().await)),
            other => Err(HostError::new(format!("there is no function process.{other}"))),
        }
    }
    .boxed()
}

/// Returns the terminal when dropped.
type Loan = Box<dyn Send + Sync>;

/// A program to be started.
struct Start {
    file: String,
    words: Vec<String>,
    directory: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    streams: [Stream; 3],
    /// Whether the program has the user's terminal. Then it belongs to becket's own group, which has it as well.
    at_terminal: bool,
}

/// What one of the three streams of a program is.
enum Stream {
    Nothing,
    Pipe,
    /// becket's own stream.
    Inherited,
    /// A file that the extension has open.
    File(Arc<File>),
    /// A number without an open file.
    Unknown,
}

impl Stream {
    fn of(node: &Node, value: &Value) -> Self {
        match value["fd"].as_u64() {
            Some(number) => {
                let files = node.files.lock().expect("no panic happens while files are held");
                files.get(&number).cloned().map_or(Self::Unknown, Self::File)
            }
            None if value == "pipe" => Self::Pipe,
            None if value == "inherit" => Self::Inherited,
            None => Self::Nothing,
        }
    }

    fn stdio(&self) -> io::Result<Stdio> {
        match self {
            // Without a lent terminal there is nothing to share.
            Self::Nothing | Self::Inherited => Ok(Stdio::null()),
            Self::Pipe => Ok(Stdio::piped()),
            Self::File(file) => file.try_clone().map(Stdio::from),
            Self::Unknown => Err(Errno::BADF.into()),
        }
    }
}

impl Start {
    fn of(node: &Node, arguments: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let words = arguments["args"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        let mut environment: BTreeMap<OsString, OsString> = match arguments["env"].as_object() {
            Some(given) => given
                .iter()
                .map(|(name, value)| (name.into(), text(value).into()))
                .collect(),
            None => (*node.kit.surroundings.environment).clone(),
        };
        let (name, value) = node.mark.variable();
        environment.insert(name.into(), value.into());
        let directory = arguments["cwd"]
            .as_str()
            .map_or_else(|| node.directory(), |path| node.path(path));
        let stream = |at: usize| Stream::of(node, &arguments["stdio"][at]);
        Self {
            file: text(&arguments["file"]),
            words,
            directory,
            environment,
            streams: [0, 1, 2].map(stream),
            at_terminal: false,
        }
    }

    /// Lends the user's terminal to a program that wants to read and write there, if the host has one. Otherwise the
    /// output is reported to the user, and there is no input.
    fn borrow_terminal(&mut self, node: &Node, meanwhile: Meanwhile) -> Option<Loan> {
        let talks = matches!(self.streams, [Stream::Inherited, Stream::Inherited, _]);
        let lent = talks.then(|| node.kit.host.lend_terminal(meanwhile)).flatten();
        self.at_terminal = lent.is_some();
        let (device, loan) = lent.map(|lent| (Arc::new(lent.device), lent.loan)).unzip();
        for (at, stream) in self.streams.iter_mut().enumerate() {
            if matches!(stream, Stream::Inherited) {
                *stream = match &device {
                    Some(device) => Stream::File(Arc::clone(device)),
                    None if at == 0 => Stream::Nothing,
                    None => Stream::Pipe,
                };
            }
        }
        loan
    }

    /// Takes charge of a process that was just started.
    fn adopt(&self, child: Child, mark: &Mark) -> Result<Tree, HostError> {
        let tree = match self.at_terminal {
            true => Tree::adopt_beside(child, mark),
            false => Tree::adopt(child, mark),
        };
        tree.map_err(|error| HostError::new(format!("{}: {error}", self.line())))
    }

    fn line(&self) -> String {
        let words = std::iter::once(&self.file).chain(&self.words);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    fn begin(&self, node: &Node) -> Result<(Child, Mark), HostError> {
        let failed = |error: &io::Error| {
            let (code, _) = error_name(error);
            let syscall = format!("spawn {}", self.file);
            let shown = HostError::new(format!("{syscall} {code}"))
                .with("code", code)
                .with("syscall", syscall);
            let number = error.raw_os_error().unwrap_or_default();
            shown
                .with("errno", -number)
                .with("path", self.file.as_str())
                .with("spawnargs", self.words.clone())
        };
        let environment = Arc::new(self.environment.clone());
        let program = Program::exec([self.file.as_str()]).environment(environment);
        let missing = || failed(&Errno::NOENT.into());
        let surroundings = &node.kit.surroundings;
        let path = program.resolve(&self.directory).map_err(|_| missing())?;
        if !self.directory.is_dir() {
            return Err(missing());
        }
        let mark = Mark::within(&self.environment);
        let (name, value) = mark.variable();
        let stream = |at: usize| self.streams[at].stdio().map_err(|error| failed(&error));
        let of_its_own = surroundings.variables_for(&path, &self.words, &self.environment);
        let mut command = Command::new(path);
        command
            .args(&self.words)
            .env_clear()
            .envs(&self.environment)
            .envs(of_its_own)
            .env(name, value);
        command.current_dir(&self.directory);
        if !self.at_terminal {
            command.process_group(0);
        }
        command.stdin(stream(0)?).stdout(stream(1)?).stderr(stream(2)?);
        node.has_started.store(true, Ordering::Relaxed);
        let child = command.spawn().map_err(|error| failed(&error))?;
        Ok((child, mark))
    }
}

fn spawn(node: &Arc<Node>, arguments: &Value) -> NodeResult {
    let mut start = Start::of(node, arguments);
    node.permit(Need::Processes, "child_process.spawn", &start.line())?;
    let loan = start.borrow_terminal(node, Meanwhile::GoesOn);
    let (mut child, mark) = start.begin(node)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let pid = child.id().unwrap_or_default();
    let mut tree = start.adopt(child, &mark)?;
    let (sender, exit) = watch::channel(None);
    let unwanted = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&unwanted);
    let task = tokio::spawn(async move {
        let status = tree.wait().await;
        drop(loan);
        let _ = sender.send(Some(status.unwrap_or_default()));
        if asked.load(Ordering::Relaxed) {
            tree.terminate().await;
        } else {
            // Background processes of the program live on as long as the extension does.
            tree.release();
        }
    });
    let running = Running {
        pid: pid as i32,
        stdin: Turn::new(stdin),
        outputs: [
            Turn::new(stdout.map(|pipe| Box::new(pipe) as Output)),
            Turn::new(stderr.map(|pipe| Box::new(pipe) as Output)),
        ],
        exit,
        unwanted,
        task: task.abort_handle(),
    };
    let number = node.number();
    let mut processes = node
        .processes
        .lock()
        .expect("no panic happens while processes are held");
    processes.insert(number, Arc::new(running));
    Ok(json!({ "id": number, "pid": pid }))
}

/// Signals a program by its number here, or any process by its number in the system.
fn signal(node: &Node, arguments: &Value) -> NodeResult {
    let number = arguments["signal"].as_i64().unwrap_or_default() as i32;
    let failed = |error: Errno| system_error(&error.into(), "kill", None, None);
    let own = i64::from(std::process::id());
    if arguments["pid"].as_i64().is_some_and(|pid| pid.abs() == own) && number != 0 {
        return Err(HostError::new("an extension cannot end becket").with("code", "ERR_ACCESS_DENIED"));
    }
    let pid = match arguments["id"].as_u64() {
        Some(id) => {
            let processes = node
                .processes
                .lock()
                .expect("no panic happens while processes are held");
            match processes.get(&id) {
                Some(running) if running.exit.borrow().is_none() => {
                    running
                        .unwanted
                        .fetch_or(ENDING.contains(&number), Ordering::Relaxed);
                    i64::from(running.pid)
                }
                _ => return Ok(json!(false)),
            }
        }
        None => {
            let pid = arguments["pid"].as_i64().unwrap_or_default();
            node.permit(Need::Processes, "process.kill", &pid.to_string())?;
            pid
        }
    };
    let process = Pid::from_raw(pid.unsigned_abs() as i32).ok_or_else(|| failed(Errno::SRCH))?;
    let sent = match Signal::from_named_raw(number) {
        None if number == 0 && pid > 0 => rustix::process::test_kill_process(process),
        None if number == 0 => rustix::process::test_kill_process_group(process),
        None => Err(Errno::INVAL),
        Some(signal) if pid > 0 => kill_process(process, signal),
        Some(signal) => kill_process_group(process, signal),
    };
    sent.map(|()| json!(true)).map_err(failed)
}

fn ended_as(status: Option<ExitStatus>) -> Value {
    let status = status.unwrap_or_default();
    json!({ "code": status.code(), "signal": status.signal() })
}

/// Runs a program while the script is blocked. Ends with the script's own deadline, and when everything is cancelled.
fn spawn_sync(node: &Arc<Node>, arguments: &Value) -> NodeResult {
    let mut start = Start::of(node, arguments);
    node.permit(Need::Processes, "child_process.spawnSync", &start.line())?;
    let _loan = start.borrow_terminal(node, Meanwhile::Waits);
    // While the user works at the terminal, the time does not count.
    let _still = start.at_terminal.then(|| node.clock.stand_still());
    let input = bytes_of(&arguments["input"])?;
    let wanted = arguments["timeout"].as_f64().filter(|wanted| *wanted > 0.0);
    let wanted = wanted.map(|wanted| Duration::from_millis(wanted as u64));
    let most = arguments["maxBuffer"]
        .as_u64()
        .map_or(1 << 20, |most| most as usize);
    let bounds = Bounds {
        until: Instant::now() + wanted.unwrap_or(Duration::MAX / 4).min(node.clock.remaining()),
        most,
        signal: arguments["killSignal"].as_i64().unwrap_or(15) as i32,
    };
    // A separate thread, because this one already belongs to a runtime.
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| HostError::new(format!("no thread for it: {error}")))?;
        runtime.block_on(run_to_end(node, &start, input, bounds))
    };
    let done = std::thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|_| Err(ended()))
}

/// When a program that blocks a script is ended.
#[derive(Clone, Copy)]
struct Bounds {
    until: Instant,
    most: usize,
    signal: i32,
}

async fn run_to_end(node: &Arc<Node>, start: &Start, input: Vec<u8>, bounds: Bounds) -> NodeResult {
    let (mut child, mark) = start.begin(node)?;
    let pid = child.id().unwrap_or_default();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut tree = start.adopt(child, &mark)?;
    let writing = tokio::spawn(async move {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&input).await;
        }
    });
    let (full, filled) = watch::channel(None);
    let out = Collected::from(node, stdout, bounds.most, full.clone());
    let err = Collected::from(node, stderr, bounds.most, full);
    let over = async {
        while !node.clock.is_over(&node.kit.cancels) && Instant::now() < bounds.until {
            let left = bounds.until.saturating_duration_since(Instant::now());
            tokio::time::sleep(PAUSE.min(left)).await;
        }
        match node.clock.ended() {
            Some(End::Cancelled) => Problem::Cancelled,
            _ => Problem::Late,
        }
    };
    let (status, problem) = tokio::select! {
        // Biased: a program whose output is no longer read ends because of that.
        biased;
        problem = overflown(filled) => (None, Some(problem)),
        status = tree.wait() => (status.ok(), None),
        problem = over => (None, Some(problem)),
    };
    let status = match status {
        Some(status) => status,
        None => end(&mut tree, pid, bounds.signal).await,
    };
    writing.abort();
    let mut answer = ended_as(Some(status));
    for (name, output) in [("stdout", out), ("stderr", err)] {
        if let Some(output) = output {
            answer[name] = node.keep(output.finish().await);
        }
    }
    tree.release();
    answer["pid"] = json!(pid);
    if let Some(problem) = problem {
        answer["problem"] = problem.code().into();
        if let Problem::Full(full) = problem {
            answer["message"] = HostError::from(full).message.into();
        }
    }
    Ok(answer)
}

/// Why a program that blocks a script was ended.
#[derive(Debug, Clone, Copy)]
enum Problem {
    /// The program took too long.
    Late,
    /// Everything was cancelled.
    Cancelled,
    /// The program wrote more than the script wants.
    TooMuch,
    /// The program wrote more than the extension may hold.
    Full(Full),
}

impl Problem {
    fn code(self) -> &'static str {
        match self {
            Self::Late => "ETIMEDOUT",
            Self::Cancelled => "ECANCELED",
            Self::TooMuch | Self::Full(_) => "ENOBUFS",
        }
    }
}

/// Waits until there is too much output; for ever if there never is.
async fn overflown(mut full: watch::Receiver<Option<Problem>>) -> Problem {
    let problem = full
        .wait_for(Option::is_some)
        .await
        .ok()
        .and_then(|problem| *problem);
    match problem {
        Some(problem) => problem,
        None => std::future::pending().await,
    }
}

/// Asks a program to end with the signal that the script chose; then everything that is left is killed.
async fn end(tree: &mut Tree, pid: u32, signal: i32) -> ExitStatus {
    let process = Pid::from_raw(pid as i32);
    if let (Some(process), Some(signal)) = (process, Signal::from_named_raw(signal)) {
        let _ = kill_process_group(process, signal);
    }
    let status = tokio::time::timeout(GRACE, tree.wait()).await;
    tree.terminate().await;
    match status {
        Ok(status) => status.unwrap_or_default(),
        Err(_) => tree.wait().await.unwrap_or_default(),
    }
}

/// The output of a pipe, collected in the background.
struct Collected {
    bytes: Arc<Mutex<Held>>,
    store: Arc<Store>,
    task: JoinHandle<()>,
}

impl Collected {
    /// Reads until the end, or until there is more than the script wants or may have.
    fn from(
        node: &Node,
        pipe: Option<impl AsyncRead + Unpin + Send + 'static>,
        most: usize,
        full: watch::Sender<Option<Problem>>,
    ) -> Option<Self> {
        let mut pipe = pipe?;
        let store = Arc::clone(&node.store);
        let bytes = Arc::new(Mutex::new(store.empty()));
        let kept = Arc::clone(&bytes);
        let task = tokio::spawn(async move {
            let mut chunk = Vec::with_capacity(CHUNK);
            while let Ok(1..) = pipe.read_buf(&mut chunk).await {
                let mut kept = kept.lock().expect("no panic happens while output is held");
                let left = most.saturating_sub(kept.bytes().len());
                let problem = match kept.append(&chunk[..chunk.len().min(left)]) {
                    Err(no_room) => Problem::Full(no_room),
                    Ok(()) if chunk.len() > left => Problem::TooMuch,
                    Ok(()) => {
                        chunk.clear();
                        continue;
                    }
                };
                full.send_replace(Some(problem));
                break;
            }
        });
        Some(Self { bytes, store, task })
    }

    /// Finishes after the program has ended; a background process may hold the pipe for ever.
    async fn finish(mut self) -> Held {
        if tokio::time::timeout(GRACE, &mut self.task).await.is_err() {
            self.task.abort();
        }
        let mut bytes = self.bytes.lock().expect("no panic happens while output is held");
        std::mem::replace(&mut *bytes, self.store.empty())
    }
}
