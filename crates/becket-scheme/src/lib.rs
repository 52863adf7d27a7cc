//! A Scheme to embed: R7RS-small, with limits that end whatever runs away, and host calls that suspend the machine
//! instead of blocking a thread.
//!
//! Read [`value`] and [`heap`] first, then the way of a program: [`reader`] makes forms of text, [`expand`] finds out
//! what they mean, [`compile`] makes instructions of that, and [`machine`] runs them. Libraries are tables
//! ([`library`]) over procedures written in Rust ([`builtins`]) and definitions in Scheme that are compiled when somebody
//! uses them.

mod builtins;
mod code;
mod compile;
mod expand;
mod fault;
mod heap;
mod ir;
mod json;
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
pub use limits::{Limit, Limits};
pub use machine::{Cause, Environment, Failure, Machine, Outcome, Root, Suspended};
pub use names::Includer;
pub use native::{Answer, Builtin, HostFunction, MANY, Native, Plain};
pub use number::Number;
pub use printer::Style;
pub use syntax::Place;
pub use table::{Sameness, Table};
pub use text::Text;
pub use value::{Symbol, Value};
