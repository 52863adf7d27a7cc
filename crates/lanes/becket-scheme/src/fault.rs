//! Why code did not continue: an error that Scheme code may handle, a limit that it may not, or an exit.

use crate::limits::Limit;
use crate::place::SourcePlace;
use crate::value::Value;

/// Why a procedure returned no value.
#[derive(Debug)]
pub enum Fault {
    /// An error that becomes an error object.
    Error(Box<Trouble>),
    /// `raise`, or `raise-continuable` if the flag says so.
    Raise(Value, Continuable),
    /// A limit was reached. No handler in Scheme sees this.
    Limit(Limit),
    /// There is no room for this many bytes. After a collection there may be.
    Full(usize),
    /// `(exit)`: the host decides what that means.
    Exit(Value),
}

/// Whether a handler may return to where the condition was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuable {
    Yes,
    No,
}

/// An error, before it becomes an object.
#[derive(Debug)]
pub struct Trouble {
    pub kind: ErrorKind,
    pub message: String,
    pub irritants: Vec<Value>,
    /// Where the error is, if that is known better than by the procedure that was called.
    pub place: Option<SourcePlace>,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An error raised by `(error …)`.
    User,
    /// A value of the wrong type, an index out of range, a wrong number of arguments, …
    Misuse,
    /// A variable without a value.
    Unbound,
    /// A form without a meaning.
    Syntax,
    /// A datum whose end is missing.
    Unfinished,
    /// A datum that cannot be read.
    Read,
    /// A file that cannot be used.
    File,
}

impl Fault {
    pub fn new(kind: ErrorKind, message: impl Into<String>, irritants: Vec<Value>) -> Self {
        let message = message.into();
        Self::Error(Box::new(Trouble {
            kind,
            message,
            irritants,
            place: None,
        }))
    }

    /// The error of an argument that cannot be used.
    pub fn misuse(message: impl Into<String>, irritants: Vec<Value>) -> Self {
        Self::new(ErrorKind::Misuse, message, irritants)
    }

    /// The error of an argument of the wrong type.
    pub fn wrong_type(procedure: &str, wanted: &str, given: Value) -> Self {
        Self::misuse(format!("{procedure}: this is not {wanted}"), vec![given])
    }

    /// The error of an index out of range.
    pub fn out_of_range(procedure: &str, index: Value, length: usize) -> Self {
        Self::misuse(format!("{procedure}: not inside of 0 to {length}"), vec![index])
    }

    /// The error of a form without a meaning.
    pub fn syntax(message: impl Into<String>, place: Option<SourcePlace>) -> Self {
        let message = message.into();
        Self::Error(Box::new(Trouble {
            kind: ErrorKind::Syntax,
            message,
            irritants: Vec::new(),
            place,
        }))
    }

    /// The error of a text that is not a datum.
    pub fn read(message: impl Into<String>, place: Option<SourcePlace>) -> Self {
        let message = message.into();
        Self::Error(Box::new(Trouble {
            kind: ErrorKind::Read,
            message,
            irritants: Vec::new(),
            place,
        }))
    }
}
