//! The machine: compiled code, a stack, and the way in and out for the program that embeds it.
//!
//! A run begins with [`Machine::load`] or [`Machine::apply`] and ends with a value, a [`Failure`], or a request to the
//! host. In the last case it goes on with [`Machine::resume`]; until then, other runs may begin and end.

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
use crate::printer::shorten;
use crate::syntax::Place;
use crate::value::{ObjectRef, ReturnTo, Symbol, Value};

/// A Scheme machine.
pub struct Machine {
    pub(crate) heap: Heap,
    pub(crate) names: Names,
    stack: Vec<Value>,
    /// Where frames go on below the stack: a continuation, and how many of its values count.
    below: Option<(ObjectRef, usize)>,
    /// Steps that may be made before limits are looked at again.
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

/// How a run stands.
#[derive(Debug)]
pub enum Outcome {
    /// It is over. The value is there until the next run begins, unless it is [held](Machine::hold).
    Done(Value),
    /// It waits for the host.
    Suspended(Suspended),
}

/// A run that waits for the host: to be resumed, or given up with [`Machine::abandon`].
#[derive(Debug)]
#[must_use = "a run that nobody resumes or abandons keeps its memory"]
pub struct Suspended {
    task: usize,
    /// What is asked of the host. It is there until the run is resumed.
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
    /// What was wrong, in words.
    pub message: String,
    /// `file:line:column`, if it is known.
    pub place: Option<String>,
}

/// What ended a run.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// Something was raised, and nobody handled it.
    Raised(Value),
    /// The text is no program; of which sort the error is.
    Rejected(ErrorKind),
    Limit(Limit),
    /// `(exit value)`.
    Exit(Value),
}

/// A message has no more characters than this.
const LONGEST_MESSAGE: usize = 2000;

/// A message shows no more irritants than this.
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
    /// The request, and where the run goes on.
    Suspended(Value, usize, usize),
    Fault(Fault, Option<Place>),
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

    /// Collects at every step, to find values that nobody holds.
    pub fn set_stress(&mut self, stress: bool) {
        self.heap.set_stress(stress);
    }

    /// Makes a library known, in place of one of the same name.
    pub fn register(&mut self, module: Module) {
        let name = module.name.clone().into_owned();
        self.names.libraries.insert(name, Library::Given(module.into()));
    }

    /// Makes a library known that is a text with `define-library`.
    pub fn register_source(&mut self, name: &str, text: &str, file: &str) {
        let library = Library::Source {
            text: text.into(),
            file: file.into(),
        };
        self.names.libraries.insert(name.to_owned(), library);
    }

    /// Makes a library unknown: nobody can import it from now on. Who tries is told why.
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

    /// Lets programs include files.
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
    pub fn apply(&mut self, procedure: Value, arguments: &[Value]) -> Result<Outcome, Failure> {
        self.begin();
        self.start(procedure, arguments)
    }

    /// A new run: limits count from here.
    fn begin(&mut self) {
        self.stack.clear();
        self.below = None;
        self.heap.dynamic = Dynamic::default();
        self.heap.budget = Budget::new(&self.heap.limits);
        self.heap.budget.start();
        self.fuel = 0;
    }

    fn start(&mut self, procedure: Value, arguments: &[Value]) -> Result<Outcome, Failure> {
        self.stack.push(Value::Return(ReturnTo { pc: HALT, delta: 0 }));
        self.stack.push(procedure);
        self.stack.extend_from_slice(arguments);
        let stop = match self.call(1, arguments.len(), 0) {
            Ok((pc, fp)) => self.run(pc, fp),
            Err(stop) => stop,
        };
        self.finish(stop)
    }

    /// Goes on with a run whose request has been answered, or could not be.
    pub fn resume(
        &mut self,
        suspended: Suspended,
        answer: Result<Value, String>,
    ) -> Result<Outcome, Failure> {
        let Some(task) = self.waiting.get_mut(suspended.task).and_then(Option::take) else {
            return Err(self.failure(Fault::misuse("this run is over", Vec::new()), None));
        };
        self.stack = task.stack;
        self.below = task.below;
        self.heap.budget = task.budget;
        self.heap.dynamic = task.dynamic;
        self.heap.budget.start();
        self.fuel = 0;
        // What stood for the request goes, the answer comes.
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

    /// Gives up a run that waits.
    #[expect(clippy::needless_pass_by_value, reason = "what is given up cannot be resumed")]
    pub fn abandon(&mut self, suspended: Suspended) {
        if let Some(task) = self.waiting.get_mut(suspended.task) {
            *task = None;
        }
    }

    fn finish(&mut self, stop: Stop) -> Result<Outcome, Failure> {
        self.heap.budget.pause();
        let outcome = match stop {
            Stop::Done(value) => Ok(Outcome::Done(value)),
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
                Ok(Outcome::Suspended(Suspended { task: index, request }))
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

    /// What a fault means for the host.
    fn failure(&mut self, fault: Fault, place: Option<Place>) -> Failure {
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

    /// What was raised, in words: the message and irritants of an error, or the value.
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

    /// Where a procedure stands in its file: `file:line:column`, if it was written in Scheme.
    pub fn place_of_procedure(&self, value: Value) -> Option<String> {
        let Value::Closure(closure) = value else {
            return None;
        };
        let place = self.heap.code.get(self.heap.closure_at(closure).code).place;
        (place.line > 0).then(|| self.heap.show_place(place))
    }

    /// What was written to the standard output since the last time, and what to the standard error.
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
