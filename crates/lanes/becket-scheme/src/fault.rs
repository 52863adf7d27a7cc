//! Why code did not go on: an error that Scheme code may handle, a limit that it may not, or a wish to leave.

use crate::limits::Limit;
use crate::syntax::Place;
use crate::value::Value;

/// Why a procedure has no answer.
#[derive(Debug)]
pub enum Fault {
    /// Something was wrong; becomes an error object.
    Error(Box<Trouble>),
    /// `raise`, or `raise-continuable` if the flag says so.
    Raise(Value, Continuable),
    /// A limit was reached. No handler in Scheme sees this.
    Limit(Limit),
    /// There is no room for so many bytes. After a collection there may be.
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

/// What was wrong, before it is an object.
#[derive(Debug)]
pub struct Trouble {
    pub kind: ErrorKind,
    pub message: String,
    pub irritants: Vec<Value>,
    /// Where, if it is known better than by the procedure that was called.
    pub place: Option<Place>,
}

/// Of which sort an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// `(error …)`.
    User,
    /// A value of the wrong type, an index out of range, a wrong number of arguments, …
    Misuse,
    /// A variable without a value.
    Unbound,
    /// A form that means nothing.
    Syntax,
    /// A datum of which the end is missing.
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

    /// An argument that cannot be used.
    pub fn misuse(message: impl Into<String>, irritants: Vec<Value>) -> Self {
        Self::new(ErrorKind::Misuse, message, irritants)
    }

    /// An argument of the wrong type.
    pub fn wrong_type(procedure: &str, wanted: &str, given: Value) -> Self {
        Self::misuse(format!("{procedure}: this is not {wanted}"), vec![given])
    }

    /// An index that is not inside.
    pub fn out_of_range(procedure: &str, index: Value, length: usize) -> Self {
        Self::misuse(format!("{procedure}: not inside of 0 to {length}"), vec![index])
    }

    /// A form that means nothing.
    pub fn syntax(message: impl Into<String>, place: Option<Place>) -> Self {
        let message = message.into();
        Self::Error(Box::new(Trouble {
            kind: ErrorKind::Syntax,
            message,
            irritants: Vec::new(),
            place,
        }))
    }

    /// Text that is no datum.
    pub fn read(message: impl Into<String>, place: Option<Place>) -> Self {
        let message = message.into();
        Self::Error(Box::new(Trouble {
            kind: ErrorKind::Read,
            message,
            irritants: Vec::new(),
            place,
        }))
    }
}
