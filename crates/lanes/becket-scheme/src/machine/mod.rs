//! The machine: compiled code, a stack, and the interface for the program that embeds it.
//!
//! A run begins with [`Machine::load`] or [`Machine::apply`] and ends with a value, a [`Failure`], or a request to the
//! host. After a request it continues with [`Machine::resume`]; until then, other runs may begin and end.

mod calls;
mod continuations;
mod evaluate;
mod inspect;
mod run;

use std::fmt;

use crate::builtins;
use crate::code::HALT;
use crate::fault::{ErrorKind, Fault};
use crate::heap::{Dynamic, Heap, Object, PortKind};
use crate::library::{Library, Module};
use crate::limits::{Budget, Limit, Limits};
use crate::names::{Includer, Names};
use crate::place::SourcePlace;
use crate::printer::shorten;
use crate::value::{ObjectRef, ReturnTo, Symbol, Value};

/// A Scheme machine.
pub struct Machine {
    pub(crate) heap: Heap,
    pub(crate) names: Names,
    stack: Vec<Value>,
    /// The continuation below the stack, and how many of its values count.
    below: Option<(ObjectRef, usize)>,
    /// Steps that may be made before limits are checked again.
    fuel: u64,
    waiting: Vec<Option<Task>>,
    roots: Vec<Value>,
    free_roots: Vec<usize>,
}

/// A run that waits for the host.
struct Task {
    stack: Vec<Value>,
    below: Option<(ObjectRef, usize)>,
    budget: Budget,
    dynamic: Dynamic,
    pc: usize,
    fp: usize,
}

/// The state of a run.
#[derive(Debug)]
pub enum RunState {
    /// The run has ended. The value stays valid until the next run begins, unless it is [held](Machine::hold).
    Done(Value),
    /// The run waits for the host.
    Suspended(Suspended),
}

/// A run that waits for the host: to be resumed, or given up with [`Machine::abandon`].
#[derive(Debug)]
#[must_use = "a run that nobody resumes or abandons keeps its memory"]
pub struct Suspended {
    task: usize,
    /// The request to the host. Valid until the run is resumed.
    pub request: Value,
}

/// A value that the host holds: it is not collected until it is [released](Machine::release).
#[derive(Debug, PartialEq, Eq)]
pub struct Root(usize);

/// An environment: the names that a program sees, and those it defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment(pub(crate) u32);

/// Why a run has no value.
#[derive(Clone, Debug)]
pub struct Failure {
    pub cause: Cause,
    /// The message of the error.
    pub message: String,
    /// `file:line:column`, if known.
    pub place: Option<String>,
}

/// What ended a run.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// A value was raised and not handled.
    Raised(Value),
    /// The text is not a program; the kind of the error.
    Rejected(ErrorKind),
    Limit(Limit),
    /// The program called `(exit value)`.
    Exit(Value),
}

/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 2000;

/// How many irritants a message shows.
const MOST_IRRITANTS: usize = 20;

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(formatter, "{place}: {}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

impl std::error::Error for Failure {}

/// Why the machine stopped.
enum Stop {
    Done(Value),
    /// The run waits: the request, and where the run continues.
    Suspended(Value, usize, usize),
    Fault(Fault, Option<SourcePlace>),
}

impl Machine {
    pub fn new(limits: Limits) -> Self {
        let mut machine = Self {
            heap: Heap::new(limits),
            names: Names::default(),
            stack: Vec::new(),
            below: None,
            fuel: 0,
            waiting: Vec::new(),
            roots: Vec::new(),
            free_roots: Vec::new(),
        };
        builtins::install(&mut machine.heap, &mut machine.names);
        machine
    }

    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    pub fn heap_mut(&mut self) -> &mut Heap {
        &mut self.heap
    }

    /// The limits of runs that begin from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.heap.limits = limits;
    }

    /// Collects at every step, to find values that nothing holds.
    pub fn set_stress(&mut self, stress: bool) {
        self.heap.set_stress(stress);
    }

    /// Registers a library, in place of one with the same name.
    pub fn register(&mut self, module: Module) {
        let name = module.name.clone().into_owned();
        self.names.libraries.insert(name, Library::Given(module.into()));
    }

    /// Registers a library that is a text with `define-library`.
    pub fn register_source(&mut self, name: &str, text: &str, file: &str) {
        let library = Library::Source {
            text: text.into(),
            file: file.into(),
        };
        self.names.libraries.insert(name.to_owned(), library);
    }

    /// Forbids a library: it can no longer be imported, and the error says why.
    pub fn forbid(&mut self, name: &str, why: &str) {
        self.names.libraries.remove(name);
        self.names.forbidden.insert(name.to_owned(), why.to_owned());
    }

    /// The names of all libraries, in order.
    pub fn libraries(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names.libraries.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Allows programs to include files.
    pub fn set_includer(&mut self, includer: Includer) {
        self.names.includer = Some(includer);
    }

    /// Keeps a value from being collected.
    pub fn hold(&mut self, value: Value) -> Root {
        match self.free_roots.pop() {
            Some(index) => {
                self.roots[index] = value;
                Root(index)
            }
            None => {
                self.roots.push(value);
                Root(self.roots.len() - 1)
            }
        }
    }

    pub fn value(&self, root: &Root) -> Value {
        self.roots[root.0]
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a root that is released cannot be used again"
    )]
    pub fn release(&mut self, root: Root) {
        self.roots[root.0] = Value::Nil;
        self.free_roots.push(root.0);
    }

    /// Calls a procedure.
    pub fn apply(&mut self, procedure: Value, arguments: &[Value]) -> Result<RunState, Failure> {
        self.begin();
        self.start(procedure, arguments)
    }

    /// Begins a new run: limits count from here.
    fn begin(&mut self) {
        self.stack.clear();
        self.below = None;
        self.heap.dynamic = Dynamic::default();
        self.heap.budget = Budget::new(&self.heap.limits);
        self.heap.budget.start();
        self.fuel = 0;
    }

    fn start(&mut self, procedure: Value, arguments: &[Value]) -> Result<RunState, Failure> {
        self.stack.push(Value::Return(ReturnTo { pc: HALT, delta: 0 }));
        self.stack.push(procedure);
        self.stack.extend_from_slice(arguments);
        let stop = match self.call(1, arguments.len(), 0) {
            Ok((pc, fp)) => self.run(pc, fp),
            Err(stop) => stop,
        };
        self.finish(stop)
    }

    /// Continues a run whose request has been answered, or could not be.
    pub fn resume(
        &mut self,
        suspended: Suspended,
        answer: Result<Value, String>,
    ) -> Result<RunState, Failure> {
        let Some(task) = self.waiting.get_mut(suspended.task).and_then(Option::take) else {
            return Err(self.failure(Fault::misuse("this run is over", Vec::new()), None));
        };
        self.stack = task.stack;
        self.below = task.below;
        self.heap.budget = task.budget;
        self.heap.dynamic = task.dynamic;
        self.heap.budget.start();
        self.fuel = 0;
        // The answer replaces the request on the stack.
        self.stack.pop();
        let next = match answer {
            Ok(value) => {
                self.stack.push(value);
                Ok((task.pc, task.fp))
            }
            Err(message) => {
                let fault = Fault::new(ErrorKind::User, message, Vec::new());
                self.fault_in_place(fault, 0, task.pc, task.fp)
            }
        };
        let stop = match next {
            Ok((pc, fp)) => self.run(pc, fp),
            Err(stop) => stop,
        };
        self.finish(stop)
    }

    /// Gives up a run that waits for the host.
    #[expect(clippy::needless_pass_by_value, reason = "what is given up cannot be resumed")]
    pub fn abandon(&mut self, suspended: Suspended) {
        if let Some(task) = self.waiting.get_mut(suspended.task) {
            *task = None;
        }
    }

    fn finish(&mut self, stop: Stop) -> Result<RunState, Failure> {
        self.heap.budget.pause();
        let outcome = match stop {
            Stop::Done(value) => Ok(RunState::Done(value)),
            Stop::Suspended(request, pc, fp) => {
                self.heap.budget.give_back(self.fuel);
                // The request is on the stack while the run waits, so that it is not collected.
                self.stack.push(request);
                let task = Task {
                    stack: std::mem::take(&mut self.stack),
                    below: self.below.take(),
                    budget: self.heap.budget.clone(),
                    dynamic: self.heap.dynamic,
                    pc,
                    fp,
                };
                let free = self.waiting.iter().position(Option::is_none);
                let index = free.unwrap_or_else(|| {
                    self.waiting.push(None);
                    self.waiting.len() - 1
                });
                self.waiting[index] = Some(task);
                Ok(RunState::Suspended(Suspended { task: index, request }))
            }
            Stop::Fault(fault, place) => Err(self.failure(fault, place)),
        };
        self.stack.clear();
        // A deep recursion must not hold its memory for ever.
        self.stack.shrink_to(1 << 16);
        self.below = None;
        self.heap.dynamic = Dynamic::default();
        outcome
    }

    /// The failure that the host sees for a fault.
    fn failure(&mut self, fault: Fault, place: Option<SourcePlace>) -> Failure {
        match fault {
            Fault::Error(trouble) => {
                let place = trouble.place.or(place);
                let mut message = trouble.message;
                for irritant in &trouble.irritants {
                    message = format!("{message} {}", self.heap.show_short(*irritant));
                }
                let cause = Cause::Rejected(trouble.kind);
                Failure {
                    cause,
                    message,
                    place: place.map(|place| self.heap.show_place(place)),
                }
            }
            Fault::Raise(value, _) => {
                let message = self.describe(value);
                let known = match self.heap.as_object(value) {
                    Some(Object::Error(error)) => error.place,
                    _ => None,
                };
                let place = known.or(place).map(|place| self.heap.show_place(place));
                Failure {
                    cause: Cause::Raised(value),
                    message,
                    place,
                }
            }
            Fault::Limit(limit) => Failure {
                cause: Cause::Limit(limit),
                message: limit.to_string(),
                place: place.map(|place| self.heap.show_place(place)),
            },
            Fault::Full(_) => {
                let limit = Limit::Memory(self.heap.limits.memory);
                Failure {
                    cause: Cause::Limit(limit),
                    message: limit.to_string(),
                    place: None,
                }
            }
            Fault::Exit(value) => {
                let message = format!("exit {}", self.heap.show_short(value));
                Failure {
                    cause: Cause::Exit(value),
                    message,
                    place: None,
                }
            }
        }
    }

    /// Describes a raised value: the message and irritants of an error, or the value.
    pub fn describe(&self, value: Value) -> String {
        let Some(Object::Error(error)) = self.heap.as_object(value) else {
            return format!("raised {}", self.heap.show_short(value));
        };
        let mut text = match error.message {
            Value::String(at) => self.heap.text(at).to_string(),
            other => self.heap.show_short(other),
        };
        for irritant in self.heap.list_items(error.irritants).take(MOST_IRRITANTS) {
            text.push(' ');
            text.push_str(&self.heap.show_short(irritant));
        }
        shorten(text, LONGEST_MESSAGE)
    }

    /// The place of a procedure in its file: `file:line:column`, if it was written in Scheme.
    pub fn place_of_procedure(&self, value: Value) -> Option<String> {
        let Value::Closure(closure) = value else {
            return None;
        };
        let place = self.heap.code.get(self.heap.closure_at(closure).code).place;
        (place.line > 0).then(|| self.heap.show_place(place))
    }

    /// What was written to standard output and standard error since the last call.
    pub fn take_output(&mut self) -> (String, String) {
        let standard = self.heap.standard;
        (self.take_port(standard.output), self.take_port(standard.error))
    }

    fn take_port(&mut self, parameter: Value) -> String {
        let Some(&Object::Parameter {
            value: Value::Object(port),
            ..
        }) = self.heap.as_object(parameter)
        else {
            return String::new();
        };
        match self.heap.object_mut(port) {
            Object::Port(port) => match &mut port.kind {
                PortKind::TextOut(text) => std::mem::take(text).to_string(),
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    pub fn intern(&mut self, name: &str) -> Symbol {
        self.heap.intern(name)
    }
}
