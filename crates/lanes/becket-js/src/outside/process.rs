//! The Node process, and the protocol with it.
//!
//! Lines go both ways, with parts between tabs. A part is JSON or a plain number or sign, so that it contains neither a
//! tab nor the end of a line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use becket_hooks::{Cause, Failure, Field};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::errors::{seconds, shortened, well_formed};
use crate::host::{HostError, Report};
use crate::packages::Asked;
use crate::transform::first_place;

/// How long a process may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// A running Node.
pub(super) struct Process {
    /// The name of the program: `node` or `bun`.
    pub(super) engine: &'static str,
    calls: mpsc::UnboundedSender<String>,
    pending: Mutex<HashMap<u64, Pending>>,
    guests: Mutex<HashMap<u64, Weak<dyn Resident>>>,
    last_call: AtomicU64,
    running: AtomicBool,
    pongs: Notify,
    /// Why the process must end or has ended, as far as that is known before it does, and which extension caused it.
    fault: Mutex<Option<(String, Option<String>)>>,
    /// Cancelled when the process must end.
    pub(super) end: CancellationToken,
}

/// An extension in a process, as the process and those who keep it alive see it.
pub(super) trait Resident: Send + Sync {
    /// The extension's name.
    fn name(&self) -> &str;

    /// Asks the host synchronously.
    fn call(&self, name: &str, arguments: &str) -> Result<String, HostError>;

    /// Asks the host asynchronously.
    fn call_async(&self, name: &str, arguments: String) -> BoxFuture<'static, Result<String, HostError>>;

    /// Where the module is that `base` calls `name`, as JSON.
    fn find(&self, base: &str, name: &str, asked: Asked) -> Result<String, HostError>;

    /// The JavaScript of a module and what is known about it, as JSON.
    fn read(&self, module: &str) -> Result<String, HostError>;

    /// A text with stacks in it, with the places as the authors wrote them.
    fn with_original_places(&self, text: String) -> String;

    /// Reports something under a name.
    fn report(&self, name: &str, report: Report);

    /// Whether the extension is loaded in this process.
    fn lives_in(&self, process: &Arc<Process>) -> bool;

    /// Notes that the extension's process has ended, or that it could not be loaded in the next one.
    fn leave(&self, failure: Failure, returns: bool);

    /// Whether the extension's process has ended, and it comes back with the next one.
    fn waits_for_return(&self) -> bool;

    /// Loads the extension in the running process, or in a new one.
    fn come_back(self: Arc<Self>) -> BoxFuture<'static, Result<(), Failure>>;
}

/// A request to an extension.
pub(super) struct Call {
    what: &'static str,
    parts: Vec<String>,
    /// The fields of an event; large ones are sent on demand.
    pub(super) fields: Vec<Field>,
}

/// The result of a call.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// The returned value as JSON; `None` for nothing.
    pub(super) returned: Option<String>,
    /// The mutable fields that were changed.
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

    /// This call about an event with these fields.
    pub(super) fn about(mut self, fields: Vec<Field>) -> Self {
        self.fields = fields;
        self
    }
}

impl Process {
    /// A process that has just been started; lines are sent to it by `calls`.
    pub(super) fn new(engine: &'static str, calls: mpsc::UnboundedSender<String>) -> Self {
        Self {
            engine,
            calls,
            pending: Mutex::default(),
            guests: Mutex::default(),
            last_call: AtomicU64::new(0),
            running: AtomicBool::new(true),
            pongs: Notify::new(),
            fault: Mutex::default(),
            end: CancellationToken::new(),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// Registers an extension that is about to be loaded here.
    pub(super) fn admit(&self, number: u32, guest: Weak<dyn Resident>) {
        self.guests().insert(number.into(), guest);
    }

    /// Removes an extension that is no longer needed.
    pub(super) fn dismiss(&self, number: u32) {
        self.guests().remove(&number.into());
        self.say(&["forget", &number.to_string()]);
    }

    /// Makes a request to an extension, and waits for the result.
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

    /// Whether a call of an extension is unanswered.
    pub(super) fn is_busy(&self, number: u32) -> bool {
        self.pending().values().any(|pending| pending.extension == number)
    }

    /// Sends a line. A failed send is ignored: waiting callers learn that the process has ended.
    fn say(&self, parts: &[&str]) {
        let parts: Vec<Cow<'_, str>> = parts.iter().map(|part| in_line(part)).collect();
        let _ = self.calls.send(parts.join("\t") + "\n");
    }

    /// Called after a timeout: if the process does not react at all, it is ended.
    pub(super) async fn doubt(self: Arc<Self>, name: String, waited: Duration) {
        // Created before the ping is sent, so that a quick answer is not missed.
        let pong = self.pongs.notified();
        self.say(&["ping", "0"]);
        if timeout(PING_TIMEOUT, pong).await.is_err() && self.is_running() {
            let words = format!(
                "it gave no answer within {}, and Node does not react any more",
                seconds(waited)
            );
            self.must_end(words, Some(name));
        }
    }

    /// Ends the process for a reason; `name` is the extension that caused it.
    pub(super) fn must_end(&self, words: String, name: Option<String>) {
        self.running.store(false, Ordering::Relaxed);
        self.blame(words, name);
        self.end.cancel();
    }

    /// Fails all waiting calls.
    pub(super) fn fail_all(&self, failure: &Failure) {
        self.running.store(false, Ordering::Relaxed);
        let waiting: Vec<Pending> = self.pending().drain().map(|(_, pending)| pending).collect();
        for pending in waiting {
            let _ = pending.sender.send(Err(failure.clone()));
        }
    }

    /// Records why the process must end; the first reason stays.
    fn blame(&self, words: String, name: Option<String>) {
        let mut fault = self.fault.lock().expect("no panic happens while this is held");
        fault.get_or_insert((words, name));
    }

    pub(super) fn fault(&self) -> Option<(String, Option<String>)> {
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

    fn guests(&self) -> MutexGuard<'_, HashMap<u64, Weak<dyn Resident>>> {
        self.guests.lock().expect("no panic happens while this is held")
    }

    fn guest(&self, number: u64) -> Option<Arc<dyn Resident>> {
        self.guests().get(&number)?.upgrade()
    }

    // ---------------------------------------------------------------- messages from Node

    /// Handles a line. Returns the answer to a synchronous request.
    pub(super) fn hear(self: &Arc<Self>, line: String) -> Option<Result<String, HostError>> {
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
                    Some(guest) => guest.with_original_places(frames),
                    None => frames,
                };
                return Some(Ok(quoted(&placed)));
            }
            "pong" => self.pongs.notify_waiters(),
            "later" => self.begin_call(number, &rest),
            "print" | "report" => self.pass_on(what, number, &rest),
            "bye" => {
                let name = self.guest(number).map(|guest| guest.name().to_owned());
                let code = rest.first().copied().unwrap_or_default();
                self.blame(format!("Node was ended by process.exit({code})"), name);
            }
            _ => {
                let ended = || HostError::new("the extension has ended");
                let guest = self.guest(number).ok_or_else(ended);
                return Some(guest.and_then(|guest| self.answer(&*guest, what, &rest)));
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

    /// Answers a synchronous request of a script.
    fn answer(&self, guest: &dyn Resident, what: &str, parts: &[&str]) -> Result<String, HostError> {
        let part = |at: usize| parts.get(at).copied().unwrap_or_default();
        match what {
            "call" => guest.call(&text(part(0)), part(1)),
            "find" => {
                let asked = match part(2) {
                    "+" => Asked::Require,
                    _ => Asked::Import,
                };
                guest.find(&text(part(0)), &text(part(1)), asked)
            }
            "read" => guest.read(&text(part(0))),
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

    /// Begins an asynchronous request; its answer is sent when it is there.
    fn begin_call(self: &Arc<Self>, number: u64, parts: &[&str]) {
        let [id, name, arguments] = parts else { return };
        let Some(guest) = self.guest(number) else { return };
        let answer = guest.call_async(&text(name), (*arguments).to_owned());
        let (id, end, process) = ((*id).to_owned(), self.end.clone(), Arc::downgrade(self));
        tokio::spawn(async move {
            let answer = tokio::select! {
                () = end.cancelled() => return,
                answer = answer => answer,
            };
            let (sign, text) = match answer {
                Ok(text) => ("+", text),
                Err(error) => ("-", error.into_json()),
            };
            if let Some(process) = process.upgrade() {
                process.say(&["settle", &number.to_string(), &id, sign, &text]);
            }
        });
    }

    /// Passes on what an extension reports without being asked.
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

    /// Reports for an extension, or for the engine if the extension is unknown.
    pub(super) fn report(&self, number: u64, report: Report) {
        let known = self.guest(number);
        let name = known.as_ref().map_or(self.engine, |guest| guest.name());
        let Some(anybody) = known.clone().or_else(|| self.anybody()) else {
            return;
        };
        anybody.report(name, report);
    }

    fn anybody(&self) -> Option<Arc<dyn Resident>> {
        self.guests().values().find_map(Weak::upgrade)
    }

    /// Describes an error.
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

/// A call that waits for its answer; removed when the caller is dropped.
struct Entry<'a>(&'a Process, u64);

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.0.pending().remove(&self.1);
    }
}

/// A value that a script has thrown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    words: String,
    /// The message of the error, without its name.
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

/// The result of a handler: what it returned, then the names and values that it has changed.
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

/// A text from its JSON.
fn text(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_default()
}

/// JSON without tabs and line ends, which can only stand between its tokens.
pub(super) fn in_line(part: &str) -> Cow<'_, str> {
    match part.contains(['\n', '\t']) {
        true => part.replace(['\n', '\t'], " ").into(),
        false => part.into(),
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
