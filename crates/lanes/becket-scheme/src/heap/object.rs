//! The kinds of values that are not frequent enough for an arena of their own.

use std::any::Any;
use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::{Closure, Dynamic, Pair, Slot};
use crate::fault::ErrorKind;
use crate::syntax::Place;
use crate::table::Table;
use crate::text::Text;
use crate::value::{ObjectRef, Symbol, Value};

/// A value of one of the rarer kinds.
#[derive(Default)]
pub enum Object {
    /// Nothing is here.
    #[default]
    Free,
    Bytes(Vec<u8>),
    Big(BigInt),
    Ratio(BigRational),
    /// Several values at once, or none.
    Values(Vec<Value>),
    /// A pair of *done* and the value, or the thunk that makes it; promises of one chain share it.
    Promise(Value),
    Parameter {
        value: Value,
        converter: Value,
    },
    Error(Box<ErrorObject>),
    Continuation(Box<Continuation>),
    Record {
        kind: ObjectRef,
        fields: Box<[Value]>,
    },
    RecordType(Box<RecordType>),
    RecordProcedure(Box<RecordProcedure>),
    Port(Box<Port>),
    /// The number of an environment, for `eval`.
    Environment(u32),
    Table(Box<Table>),
    /// Something of the host's or of a library written in Rust, with the name that is printed and the bytes it takes.
    Foreign(&'static str, Box<dyn Any + Send>, usize),
}

/// What `error` makes, and what a procedure raises that was used wrongly.
#[derive(Clone, Copy, Debug)]
pub struct ErrorObject {
    pub kind: ErrorKind,
    pub message: Value,
    /// A list.
    pub irritants: Value,
    /// Where it was made.
    pub place: Option<Place>,
}

/// The rest of a computation: frames, and what is below them.
#[derive(Debug)]
pub struct Continuation {
    pub(crate) frames: Vec<Value>,
    /// Another continuation and how many of its values belong to this one.
    pub(crate) below: Option<(ObjectRef, usize)>,
    pub(crate) dynamic: Dynamic,
}

/// What records of one type have in common.
#[derive(Clone, Debug)]
pub struct RecordType {
    pub name: Symbol,
    pub fields: Vec<Symbol>,
}

/// What `define-record-type` defines.
#[derive(Clone, Debug)]
pub enum RecordProcedure {
    /// Takes the fields in this order; the others are not set.
    Constructor {
        kind: ObjectRef,
        order: Vec<usize>,
        fields: usize,
    },
    Predicate {
        kind: ObjectRef,
    },
    Accessor {
        kind: ObjectRef,
        field: usize,
    },
    Modifier {
        kind: ObjectRef,
        field: usize,
    },
}

impl RecordProcedure {
    fn outside(&self) -> usize {
        match self {
            Self::Constructor { order, .. } => 64 + order.len() * size_of::<usize>(),
            _ => 64,
        }
    }

    pub(crate) fn kind(&self) -> ObjectRef {
        match self {
            Self::Constructor { kind, .. }
            | Self::Predicate { kind }
            | Self::Accessor { kind, .. }
            | Self::Modifier { kind, .. } => *kind,
        }
    }
}

/// Where something is read from or written to.
#[derive(Debug)]
pub struct Port {
    pub kind: PortKind,
    pub open: bool,
}

/// What a port reads or writes.
#[derive(Debug)]
pub enum PortKind {
    /// Characters, how many of them are read, and in which line that is.
    TextIn {
        text: Text,
        at: usize,
    },
    TextOut(Text),
    BytesIn {
        bytes: Vec<u8>,
        at: usize,
    },
    BytesOut(Vec<u8>),
}

impl Port {
    pub fn input_text(text: impl Into<Text>) -> Self {
        Self {
            kind: PortKind::TextIn {
                text: text.into(),
                at: 0,
            },
            open: true,
        }
    }

    pub fn output_text() -> Self {
        Self {
            kind: PortKind::TextOut(Text::default()),
            open: true,
        }
    }

    pub fn input_bytes(bytes: Vec<u8>) -> Self {
        Self {
            kind: PortKind::BytesIn { bytes, at: 0 },
            open: true,
        }
    }

    pub fn output_bytes() -> Self {
        Self {
            kind: PortKind::BytesOut(Vec::new()),
            open: true,
        }
    }

    fn outside(&self) -> usize {
        match &self.kind {
            PortKind::TextIn { text, .. } | PortKind::TextOut(text) => text.bytes(),
            PortKind::BytesIn { bytes, .. } | PortKind::BytesOut(bytes) => bytes.capacity(),
        }
    }
}

impl Slot for Pair {
    const OWNS: bool = false;
}

impl Slot for Value {
    const OWNS: bool = false;
}

impl Slot for Text {
    fn outside(&self) -> usize {
        self.bytes()
    }
}

impl Slot for Vec<Value> {
    fn outside(&self) -> usize {
        self.capacity() * size_of::<Value>()
    }
}

impl Slot for Closure {
    fn outside(&self) -> usize {
        self.captured.len() * size_of::<Value>()
    }
}

impl Slot for Object {
    fn outside(&self) -> usize {
        let values = |count: usize| count * size_of::<Value>();
        match self {
            Self::Bytes(bytes) => bytes.capacity(),
            Self::Big(number) => (number.bits() / 8) as usize,
            Self::Ratio(ratio) => ((ratio.numer().bits() + ratio.denom().bits()) / 8) as usize,
            Self::Values(items) => values(items.len()),
            Self::Continuation(continuation) => values(continuation.frames.len()) + 64,
            Self::Record { fields, .. } => values(fields.len()),
            Self::Port(port) => port.outside() + 64,
            Self::Table(table) => table.outside(),
            Self::Foreign(_, _, bytes) => *bytes,
            Self::RecordType(kind) => 64 + kind.fields.len() * size_of::<Symbol>(),
            Self::RecordProcedure(procedure) => procedure.outside(),
            Self::Error(_) => 64,
            Self::Free | Self::Promise(_) | Self::Parameter { .. } | Self::Environment(_) => 0,
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind_name())
    }
}

impl Object {
    /// What people call this kind of value.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Bytes(_) => "bytevector",
            Self::Big(_) | Self::Ratio(_) => "number",
            Self::Values(_) => "values",
            Self::Promise(_) => "promise",
            Self::Parameter { .. } => "parameter",
            Self::Error(_) => "error",
            Self::Continuation(_) => "continuation",
            Self::Record { .. } => "record",
            Self::RecordType(_) => "record-type",
            Self::RecordProcedure(_) => "procedure",
            Self::Port(_) => "port",
            Self::Environment(_) => "environment",
            Self::Table(_) => "hash-table",
            Self::Foreign(name, ..) => name,
        }
    }
}
