//! An embeddable Scheme: R7RS-small, with limits that end runaway code, and host calls that suspend the machine instead
//! of blocking a thread.
//!
//! Read `value` and `heap` first, then follow a program: `reader` turns text into forms, `expand` finds out what they
//! mean, `compile` turns that into instructions, and `machine` runs them. Libraries are tables (`library`) over
//! procedures written in Rust (`builtins`) and definitions in Scheme that are compiled when they are used.
//!
//! ```
//! use becket_scheme::{HostAnswer, Limits, Machine, Module, Native, RunState, Style, Value};
//!
//! let mut machine = Machine::new(Limits::default());
//! machine.register(Module {
//!     name: "(host greetings)".into(),
//!     natives: vec![Native::host("ask", 1, Some(1), |_, arguments| Ok(HostAnswer::Suspend(arguments[0])))],
//!     ..Module::default()
//! });
//! let environment = machine.environment(&["(scheme base)", "(host greetings)"])?;
//! let mut outcome = machine.load(environment, "(string-append \"hello \" (ask 'name))", "greet.scm")?;
//! while let RunState::Suspended(suspended) = outcome {
//!     let answer = machine.heap_mut().string("world");
//!     outcome = machine.resume(suspended, Ok(answer))?;
//! }
//! let RunState::Done(value) = outcome else { unreachable!() };
//! assert_eq!(machine.heap().show(value, Style::Display).unwrap(), "hello world");
//! # Ok::<(), becket_scheme::Failure>(())
//! ```
//!
//! No recursion in Rust depends on the depth of data or calls: marking, comparing, reading and printing keep lists of
//! what is left. Source is the exception. It is refused where it is nested more than 200 deep, and each form knows its
//! depth and the number of forms in it, so that a macro that grows its argument is stopped before anybody walks through
//! what it made.

mod builtins;
mod code;
mod compile;
mod expand;
mod fault;
mod heap;
mod imports;
mod ir;
mod json;
mod libraries;
mod library;
mod limits;
mod machine;
mod macros;
mod names;
mod native;
mod number;
mod place;
mod printer;
mod reader;
mod signature;
mod special;
mod syntax;
mod table;
mod text;
mod value;

pub use fault::{Continuable, ErrorKind, Fault, Trouble};
pub use heap::{ErrorObject, Heap, ListItems, Object, Pair, Port, PortKind, Process};
pub use library::Module;
pub use limits::{Cancel, Limit, Limits};
pub use machine::{Cause, Environment, Failure, Machine, Root, RunState, Suspended};
pub use names::Includer;
pub use native::{Builtin, HostAnswer, HostFunction, MANY, Native, Plain};
pub use number::Number;
pub use place::SourcePlace;
pub use printer::Style;
pub use reader::is_whole;
pub use table::{Sameness, Table};
pub use text::Text;
pub use value::{Symbol, Value};
