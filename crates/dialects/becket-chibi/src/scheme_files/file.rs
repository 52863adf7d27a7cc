//! One Scheme file: its machine, its tools and callbacks, and how they are run.
//!
//! A machine runs on the thread of its caller, and is released whenever the file calls a tool: other callbacks of the
//! same file may run meanwhile.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use becket_hooks::{Answered, Cause as HookCause, Failure as HookFailure, Field, ScriptHandler};
use becket_scheme::{
    Cancel, Cause, Environment, ErrorKind, Failure, Heap, Limit, Limits, Machine, Root, RunState, Style,
    Suspended, Value,
};
use becket_system::Signals;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::calls::{Callers, Calls};
use super::chain::Chain;
use super::harness::{self, FileState};
use super::values::{is_procedure, word};
use super::web::{Request as WebRequest, Web, WebResponse};
use super::world::World;
use crate::scheme::{self, Reach, Tier};

/// How many steps a sandboxed run may take.
const SANDBOXED_STEPS: u64 = 10_000_000;

/// How many bytes of memory a machine may use: a sandboxed one, and another.
const MEMORY: [usize; 2] = [64 << 20, 256 << 20];

/// A file and its machine.
pub struct SchemeFile {
    /// The file's name in messages.
    name: String,
    source: Arc<str>,
    inner: Mutex<Inner>,
    state: Arc<FileState>,
    web: Web,
    /// How many signals had been sent when the machine was last entered.
    entered: Arc<AtomicU64>,
    signals: Signals,
}

struct Inner {
    machine: Machine,
    environment: Environment,
}

/// The definitions of a file.
pub struct Defined {
    pub tools: Vec<Described>,
    pub callbacks: Vec<Registered>,
}

/// A tool that a file describes.
pub struct Described {
    pub name: String,
    pub description: String,
    /// The JSON schema of the tool's arguments.
    pub parameters: Json,
    pub summary: Vec<String>,
    /// Whether the description says that the tool uses the network.
    pub uses_network: bool,
    pub execute: Root,
}

/// A callback that a file registers.
pub struct Registered {
    pub point: String,
    /// The callback's place: file and line.
    pub place: String,
    pub callback: Root,
}

/// Why a file, or one call of it, failed.
#[derive(Debug, Clone)]
pub struct Trouble {
    pub words: String,
    pub why: Why,
}

/// What has ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Mistake,
    Time,
    Cancelled,
    OtherLimit,
    /// The program called `exit`, with success or failure.
    Exit(Leaving),
}

/// The exit status of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    Well,
    Badly,
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words)
    }
}

/// The state of a run.
enum Step<T> {
    Done(Result<T, Trouble>),
    /// The run waits for a request, or has made one that cannot be understood.
    Waits(Waiting, Result<Request, String>),
}

/// A request that a run waits for.
enum Request {
    /// A call of a tool with its arguments.
    Tool(String, Map<String, Json>),
    Web(Box<WebRequest>),
}

/// The answer to a request.
enum Fulfilled {
    Text(String),
    Web(WebResponse),
}

/// A run that waits. Unless it is resumed, it is cancelled when dropped.
struct Waiting {
    file: Arc<SchemeFile>,
    suspended: Option<Suspended>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(suspended) = self.suspended.take() {
            self.file.inner().machine.abandon(suspended);
        }
    }
}

impl SchemeFile {
    /// Loads a file, and returns its definitions. A file without any is an error.
    pub fn load(name: &str, source: Arc<str>, world: &World) -> Result<(Arc<Self>, Defined), Trouble> {
        let (file, defined) = Self::open(name, source, world)?;
        match defined.tools.is_empty() && defined.callbacks.is_empty() {
            true => Err(file.trouble("it defines no tool and registers no hook".into())),
            false => Ok((file, defined)),
        }
    }

    /// Loads a file that need not define anything, and returns its definitions.
    pub fn open(name: &str, source: Arc<str>, world: &World) -> Result<(Arc<Self>, Defined), Trouble> {
        let file = Self::new(name, source, world)?;
        let source = Arc::clone(&file.source);
        file.run(|machine, environment| machine.load(environment, &source, name))?;
        file.state.loading.store(false, Ordering::Relaxed);
        // This fails if the settings have set the reach before, and then theirs counts.
        let _ = file.state.reach.set(Reach::Below(file.declared()));
        let defined = file.defined()?;
        Ok((Arc::new(file), defined))
    }

    /// A machine without a file, for code that comes later.
    pub fn empty(name: &str, world: &World) -> Result<Arc<Self>, Trouble> {
        let file = Self::new(name, "".into(), world)?;
        file.state.loading.store(false, Ordering::Relaxed);
        Ok(Arc::new(file))
    }

    fn new(name: &str, source: Arc<str>, world: &World) -> Result<Self, Trouble> {
        let entered = Arc::new(AtomicU64::new(0));
        let (signals, then) = (world.signals.clone(), Arc::clone(&entered));
        let is_cancelled = move || signals.count() > then.load(Ordering::Relaxed);
        let is_free = world.tier == Tier::Unsandboxed;
        let limits = Limits {
            steps: if is_free { u64::MAX } else { SANDBOXED_STEPS },
            memory: MEMORY[usize::from(is_free)],
            time: Some(world.time),
            cancel: Some(Cancel::new(is_cancelled)),
            ..Limits::default()
        };
        let state = Arc::new(FileState {
            loading: AtomicBool::new(true),
            io: is_free.then(|| world.io.clone()),
            reach: match &world.reach {
                Reach::Declared => OnceLock::new(),
                reach => reach.clone().into(),
            },
        });
        let mut machine = Machine::new(limits);
        machine.heap_mut().process.environment = world.variables.clone();
        harness::furnish(&mut machine, world, &state);
        let environment = machine.environment(scheme::PRELUDE).map_err(|failure| Trouble {
            words: failure.to_string(),
            why: Why::Mistake,
        })?;
        let nobody = machine.heap_mut().string("");
        machine.define(environment, scheme::CONTEXT_VARIABLE, nobody);
        Ok(Self {
            name: name.into(),
            source,
            inner: Mutex::new(Inner { machine, environment }),
            state,
            web: world.web.clone(),
            entered,
            signals: world.signals.clone(),
        })
    }

    /// The file's name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All names that the file's code sees.
    pub fn names(&self) -> Vec<String> {
        let inner = self.inner();
        let names = inner.machine.names_in(inner.environment);
        names.into_iter().map(ToOwned::to_owned).collect()
    }

    /// All libraries that the file's code can import.
    pub fn libraries(&self) -> Vec<String> {
        let inner = self.inner();
        inner
            .machine
            .libraries()
            .into_iter()
            .map(ToOwned::to_owned)
            .collect()
    }

    /// Evaluates code and returns its value in written form, if it has one, with the output.
    pub async fn evaluate(
        self: &Arc<Self>,
        code: &str,
        name: &str,
        context: &str,
        calls: &dyn Calls,
    ) -> (Result<Option<String>, Trouble>, String, String) {
        let begin = |machine: &mut Machine, environment| machine.load(environment, code, name);
        let step = self.enter(context, begin, &written);
        let result = self.go_on(step, context, calls, &written).await;
        let (output, errors) = self.inner().machine.take_output();
        (result, output, errors)
    }

    /// Calls a procedure with JSON data, and converts its value.
    pub async fn call<T>(
        self: &Arc<Self>,
        procedure: &Root,
        argument: &Json,
        context: &str,
        calls: &dyn Calls,
        finish: &(dyn Fn(&Heap, Value) -> Result<T, String> + Sync),
    ) -> Result<T, Trouble> {
        let begin = |machine: &mut Machine, _| {
            let argument = machine.heap_mut().from_json(argument);
            let procedure = machine.value(procedure);
            machine.apply(procedure, &[argument])
        };
        let step = self.enter(context, begin, finish);
        self.go_on(step, context, calls, finish).await
    }

    /// The standard output and standard error since the last call of this method.
    pub fn take_output(&self) -> (String, String) {
        self.inner().machine.take_output()
    }

    async fn go_on<T>(
        self: &Arc<Self>,
        mut step: Step<T>,
        context: &str,
        calls: &dyn Calls,
        finish: &(dyn Fn(&Heap, Value) -> Result<T, String> + Sync),
    ) -> Result<T, Trouble> {
        loop {
            let (mut waiting, request) = match step {
                Step::Done(result) => return result,
                Step::Waits(waiting, request) => (waiting, request),
            };
            let answer = match request {
                Ok(request) => self.fulfil(request, calls).await,
                Err(words) => Err(words),
            };
            let Some(suspended) = waiting.suspended.take() else {
                return Err(self.trouble("the run is over".into()));
            };
            let resume = |machine: &mut Machine, _| {
                let answer = answer.map(|reply| match reply {
                    Fulfilled::Text(text) => machine.heap_mut().string(text),
                    Fulfilled::Web(reply) => reply.value(machine.heap_mut()),
                });
                machine.resume(suspended, answer)
            };
            step = self.enter(context, resume, finish);
        }
    }

    /// Performs the request that a run waits for; the error is raised in the file.
    async fn fulfil(&self, request: Request, calls: &dyn Calls) -> Result<Fulfilled, String> {
        match request {
            Request::Tool(tool, arguments) => {
                let chain = Chain::here().deeper()?;
                chain
                    .follow(calls.call(&tool, arguments))
                    .await
                    .map(Fulfilled::Text)
            }
            Request::Web(request) => {
                let reach = self.state.reach.get().unwrap_or(&Reach::Nowhere);
                self.web.ask(*request, reach).await.map(Fulfilled::Web)
            }
        }
    }

    /// Runs the machine, for a context, until it is done or waits.
    fn enter<T>(
        self: &Arc<Self>,
        context: &str,
        run: impl FnOnce(&mut Machine, Environment) -> Result<RunState, Failure>,
        finish: &dyn Fn(&Heap, Value) -> Result<T, String>,
    ) -> Step<T> {
        let mut inner = self.inner();
        let Inner { machine, environment } = &mut *inner;
        self.entered.store(self.signals.count(), Ordering::Relaxed);
        let name = machine.heap_mut().string(context);
        machine.define(*environment, scheme::CONTEXT_VARIABLE, name);
        match contained(|| run(machine, *environment)) {
            Ok(RunState::Done(value)) => {
                Step::Done(finish(machine.heap(), value).map_err(|words| self.trouble(words)))
            }
            Ok(RunState::Suspended(suspended)) => {
                let request = request(machine.heap(), suspended.request);
                let waiting = Waiting {
                    file: Arc::clone(self),
                    suspended: Some(suspended),
                };
                Step::Waits(waiting, request)
            }
            Err(failure) => Step::Done(Err(self.trouble_of(&failure))),
        }
    }

    /// Runs the machine for code that cannot wait.
    fn run(
        &self,
        run: impl FnOnce(&mut Machine, Environment) -> Result<RunState, Failure>,
    ) -> Result<Value, Trouble> {
        let mut inner = self.inner();
        let Inner { machine, environment } = &mut *inner;
        self.entered.store(self.signals.count(), Ordering::Relaxed);
        match contained(|| run(machine, *environment)) {
            Ok(RunState::Done(value)) => Ok(value),
            Ok(RunState::Suspended(suspended)) => {
                machine.abandon(suspended);
                Err(self.trouble("call-tool: no active call context".into()))
            }
            Err(failure) => Err(self.trouble_of(&failure)),
        }
    }

    fn defined(&self) -> Result<Defined, Trouble> {
        let mut inner = self.inner();
        let Inner { machine, environment } = &mut *inner;
        let [tools, hooks] = scheme::REGISTRIES.map(|name| registry(machine, *environment, name));
        let mut defined = Defined {
            tools: Vec::new(),
            callbacks: Vec::new(),
        };
        for (name, entries) in tools {
            let entries = pairs(machine.heap(), entries);
            let tool = described(machine, name, &entries).map_err(|words| self.trouble(words))?;
            defined.tools.push(tool);
        }
        if defined.tools.is_empty() {
            let parts: Vec<(Value, Value)> = scheme::ONE_TOOL
                .iter()
                .filter_map(|(variable, part)| {
                    let value = machine.lookup(*environment, variable)?;
                    Some((machine.heap_mut().symbol(part), value))
                })
                .collect();
            let name = parts
                .iter()
                .find(|(part, _)| is_word(machine.heap(), *part, "name"));
            if let Some((_, name)) = name.copied() {
                let tool = described(machine, name, &parts).map_err(|words| self.trouble(words))?;
                defined.tools.push(tool);
            }
        }
        for (point, callback) in hooks {
            let place = machine
                .place_of_procedure(callback)
                .map(|place| without_column(&place).to_owned());
            defined.callbacks.push(Registered {
                point: word(machine.heap(), "register-hook", point).unwrap_or_default(),
                place: place.unwrap_or_else(|| self.name.clone()),
                callback: machine.hold(callback),
            });
        }
        Ok(defined)
    }

    /// The addresses that the file declares to reach.
    fn declared(&self) -> Vec<String> {
        let mut inner = self.inner();
        let Inner { machine, environment } = &mut *inner;
        let declared = machine
            .lookup(*environment, scheme::DECLARED)
            .unwrap_or(Value::Nil);
        let heap = machine.heap();
        heap.list_items(declared)
            .filter_map(|address| word(heap, "", address).ok())
            .collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .expect("no panic happens while a machine is held")
    }

    fn trouble(&self, words: String) -> Trouble {
        Trouble {
            words: format!("{}: {words}", self.name),
            why: Why::Mistake,
        }
    }

    /// A failure with the form in which it happened.
    fn trouble_of(&self, failure: &Failure) -> Trouble {
        let place = failure.place.as_deref();
        let form = place.and_then(|place| self.line_at(place));
        let form = form.map_or(String::new(), |form| format!(", in `{form}`"));
        let place = place.unwrap_or(&self.name);
        Trouble {
            words: format!("{place}: {}{form}", failure.message),
            why: match failure.cause {
                Cause::Limit(Limit::Time(_)) => Why::Time,
                Cause::Limit(Limit::Cancelled) => Why::Cancelled,
                Cause::Limit(_) => Why::OtherLimit,
                Cause::Exit(Value::Unspecified | Value::Absent | Value::Bool(true) | Value::Int(0)) => {
                    Why::Exit(Leaving::Well)
                }
                Cause::Exit(_) => Why::Exit(Leaving::Badly),
                _ => Why::Mistake,
            },
        }
    }

    /// The line of the file at a place, shortened.
    fn line_at(&self, place: &str) -> Option<String> {
        let (line, _) = place
            .strip_prefix(self.name.as_str())?
            .strip_prefix(':')?
            .split_once(':')?;
        let line = self
            .source
            .lines()
            .nth(line.parse::<usize>().ok()?.checked_sub(1)?)?
            .trim();
        let mut words: String = line.chars().take(60).collect();
        if words.len() < line.len() {
            words.push('…');
        }
        (!words.is_empty()).then_some(words)
    }
}

/// Runs the machine. A panic in it becomes a failure of the run, and of nothing else.
fn contained(run: impl FnOnce() -> Result<RunState, Failure>) -> Result<RunState, Failure> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Failure {
            cause: Cause::Rejected(ErrorKind::Misuse),
            message: "the machine broke, which is a fault of becket's".into(),
            place: None,
        })
    })
}

fn without_column(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(place, _)| place)
}

/// A value in written form; a string is shown without quotes.
pub fn shown(heap: &Heap, value: Value) -> Result<String, String> {
    let style = match value {
        Value::String(_) => Style::Display,
        _ => Style::Write,
    };
    heap.show(value, style)
        .map_err(|_| "the result is too large to be written".to_owned())
}

/// A value in written form, unless it is unspecified.
fn written(heap: &Heap, value: Value) -> Result<Option<String>, String> {
    if matches!(value, Value::Unspecified) {
        return Ok(None);
    }
    heap.show(value, Style::Write)
        .map(Some)
        .map_err(|_| "the result is too large to be written".to_owned())
}

/// An answer as JSON text. The unspecified value, `#f` and the empty list are no answer: `(and wrong answer)` and `(if
/// wrong answer)` return them.
fn answer(heap: &Heap, value: Value) -> Result<Option<String>, String> {
    if matches!(value, Value::Unspecified | Value::Bool(false) | Value::Nil) {
        return Ok(None);
    }
    let json = heap.to_json(value).map_err(|_| {
        let shown = heap.show_short(value);
        format!("an answer is an alist with strings as keys, and {shown} cannot be one")
    })?;
    Ok(Some(json.to_string()))
}

/// The request of a run: a tool and its arguments in a pair, or the parts of an HTTP request in a vector.
fn request(heap: &Heap, request: Value) -> Result<Request, String> {
    if let Value::Vector(parts) = request {
        let request = WebRequest::read(heap, heap.items(parts))?;
        return Ok(Request::Web(Box::new(request)));
    }
    let parts = heap.as_pair(request).ok_or("call-tool: nothing was asked for")?;
    let tool = word(heap, "call-tool", parts.car).map_err(|_| "call-tool: a tool has a name")?;
    let wrong = || format!("call-tool: the arguments of {tool} are an alist with strings as keys");
    match heap.to_json(parts.cdr).map_err(|_| wrong())? {
        Json::Null => Ok(Request::Tool(tool, Map::new())),
        Json::Object(arguments) => Ok(Request::Tool(tool, arguments)),
        _ => Err(wrong()),
    }
}

/// The entries of a registry, in the order in which they were added.
fn registry(machine: &mut Machine, environment: Environment, name: &str) -> Vec<(Value, Value)> {
    let list = machine.lookup(environment, name).unwrap_or(Value::Nil);
    let mut entries = pairs(machine.heap(), list);
    entries.reverse();
    entries
}

/// The entries of an association list.
fn pairs(heap: &Heap, list: Value) -> Vec<(Value, Value)> {
    let items = heap.list_items(list).filter_map(|item| heap.as_pair(item));
    items.map(|pair| (pair.car, pair.cdr)).collect()
}

/// A tool from its description; the error says what is wrong with it.
fn described(machine: &mut Machine, name: Value, parts: &[(Value, Value)]) -> Result<Described, String> {
    let heap = machine.heap();
    let name = word(heap, "", name).map_err(|_| "a tool's name is a symbol or a string".to_owned())?;
    let part = |wanted: &str| {
        let found = parts.iter().find(|(part, _)| is_word(heap, *part, wanted));
        found.map(|(_, value)| *value)
    };
    let json = |wanted: &str| match part(wanted) {
        Some(value) => heap
            .to_json(value)
            .map_err(|_| format!("the {wanted} of {name} cannot be read")),
        None => Ok(Json::Null),
    };
    let description = match part("description") {
        Some(Value::String(at)) => heap.text(at).to_string(),
        _ => {
            return Err(format!(
                "the tool {name} has no description, or one that is not a string"
            ));
        }
    };
    let execute = part(scheme::EXECUTE).filter(|value| is_procedure(*value));
    let execute =
        execute.ok_or_else(|| format!("the tool {name} has nothing to execute, or no procedure"))?;
    let summary = match json("summary-params")? {
        Json::String(one) => vec![one],
        Json::Array(names) => names
            .iter()
            .filter_map(Json::as_str)
            .map(ToOwned::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    let uses_network = json("category")? == scheme::NETWORK;
    let parameters =
        scheme::schema_of(&json("parameters")?).map_err(|words| format!("the tool {name}: {words}"))?;
    Ok(Described {
        name,
        description,
        parameters,
        summary,
        uses_network,
        execute: machine.hold(execute),
    })
}

fn is_word(heap: &Heap, value: Value, wanted: &str) -> bool {
    word(heap, "", value).is_ok_and(|found| found == wanted)
}

/// A callback that answers a hook.
pub struct Callback {
    file: Arc<SchemeFile>,
    procedure: Root,
    /// The callback's unique id.
    id: u64,
    callers: Arc<Callers>,
}

impl Callback {
    pub fn new(file: Arc<SchemeFile>, procedure: Root, callers: Arc<Callers>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            file,
            procedure,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            callers,
        }
    }

    async fn answer(&self, fields: &[Field]) -> Result<Answered, HookFailure> {
        let text = |name: &str| {
            let field = fields.iter().find(|field| field.name == name);
            field
                .and_then(|field| serde_json::from_str::<String>(&field.json).ok())
                .unwrap_or_default()
        };
        let payload = fields.iter().find(|field| field.name == scheme::PAYLOAD);
        let payload = payload.map_or(Ok(Json::Null), |field| serde_json::from_str(&field.json));
        let payload = payload.map_err(|error| {
            HookFailure::new(
                HookCause::WrongShape,
                format!("the event cannot be read: {error}"),
            )
        })?;
        let calls = self.callers.of(&text(scheme::SESSION_ID));
        let context = text(scheme::CONTEXT_NAME);
        let called = self
            .file
            .call(&self.procedure, &payload, &context, &*calls, &answer)
            .await;
        let (stdout, stderr) = self.file.take_output();
        let failed = |trouble: Trouble| {
            let cause = match trouble.why {
                Why::Time => HookCause::TimedOut,
                _ => HookCause::Raised,
            };
            HookFailure::new(cause, trouble.words)
                .with_stderr(stderr)
                .with_stdout(stdout)
        };
        let returned = called.map_err(failed)?;
        Ok(Answered {
            returned,
            changed: Vec::new(),
        })
    }
}

impl ScriptHandler for Callback {
    /// Calls the callback, unless it has caused the event itself.
    fn call<'a>(&'a self, fields: Vec<Field>) -> BoxFuture<'a, Result<Answered, HookFailure>> {
        Box::pin(async move {
            let chain = Chain::here();
            if chain.has(self.id) {
                return Ok(Answered::default());
            }
            chain.with(self.id).follow(self.answer(&fields)).await
        })
    }
}
