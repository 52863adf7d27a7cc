//! A Scheme to embed: R7RS-small, with limits that end whatever runs away, and host calls that suspend the machine
//! instead of blocking a thread.
//!
//! Read `value` and `heap` first, then the way of a program: `reader` makes forms of text, `expand` finds out
//! what they mean, `compile` makes instructions of that, and `machine` runs them. Libraries are tables
//! (`library`) over procedures written in Rust (`builtins`) and definitions in Scheme that are compiled when somebody
//! uses them.
//!
//! ```
//! use becket_scheme::{Answer, Limits, Machine, Module, Native, Outcome, Style, Value};
//!
//! let mut machine = Machine::new(Limits::default());
//! machine.register(Module {
//!     name: "(host greetings)".into(),
//!     natives: vec![Native::host("ask", 1, Some(1), |_, arguments| Ok(Answer::Suspend(arguments[0])))],
//!     ..Module::default()
//! });
//! let environment = machine.environment(&["(scheme base)", "(host greetings)"])?;
//! let mut outcome = machine.load(environment, "(string-append \"hello \" (ask 'name))", "greet.scm")?;
//! while let Outcome::Suspended(suspended) = outcome {
//!     let answer = machine.heap_mut().string("world");
//!     outcome = machine.resume(suspended, Ok(answer))?;
//! }
//! let Outcome::Done(value) = outcome else { unreachable!() };
//! assert_eq!(machine.heap().show(value, Style::Display).unwrap(), "hello world");
//! # Ok::<(), becket_scheme::Failure>(())
//! ```

mod builtins;
mod code;
mod compile;
mod expand;
mod fault;
mod heap;
mod ir;
mod json;
mod libraries;
mod library;
mod limits;
mod machine;
mod names;
mod native;
mod number;
mod printer;
mod reader;
mod special;
mod syntax;
mod table;
mod text;
mod value;

pub use fault::{Continuable, ErrorKind, Fault, Trouble};
pub use heap::{ErrorObject, Heap, ListItems, Object, Pair, Port, PortKind, Process};
pub use library::Module;
pub use limits::{Cancel, Limit, Limits};
pub use machine::{Cause, Environment, Failure, Machine, Outcome, Root, Suspended};
pub use names::Includer;
pub use native::{Answer, Builtin, HostFunction, MANY, Native, Plain};
pub use number::Number;
pub use printer::Style;
pub use reader::is_whole;
pub use syntax::Place;
pub use table::{Sameness, Table};
pub use text::Text;
pub use value::{Symbol, Value};
