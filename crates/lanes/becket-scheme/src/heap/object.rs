//! The kinds of values that are not frequent enough for their own arena.

use std::any::Any;
use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::arena::Slot;
use crate::fault::ErrorKind;
use crate::place::SourcePlace;
use crate::table::Table;
use crate::text::Text;
use crate::value::{ObjectRef, Symbol, Value};

/// A value of one of the rarer kinds.
#[derive(Default)]
pub enum Object {
    /// A free slot.
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
    /// A value of the host or of a Rust library, with its printed name and its size in bytes.
    Foreign(&'static str, Box<dyn Any + Send>, usize),
}

/// The object that `error` makes, or that a misused procedure raises.
#[derive(Clone, Copy, Debug)]
pub struct ErrorObject {
    pub kind: ErrorKind,
    pub message: Value,
    /// The irritants, as a list.
    pub irritants: Value,
    /// Where the error was raised.
    pub place: Option<SourcePlace>,
}

/// The rest of a computation: frames, and the continuation below them.
#[derive(Debug)]
pub struct Continuation {
    pub(crate) frames: Vec<Value>,
    /// Another continuation and how many of its values belong to this one.
    pub(crate) below: Option<(ObjectRef, usize)>,
    pub(crate) dynamic: Dynamic,
}

/// The dynamic state: the handler of conditions, the values of parameters, and what must run when control leaves. A
/// continuation remembers it.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    pub(crate) winds: Value,
    pub(crate) handlers: Value,
    pub(crate) parameters: Value,
}

impl Default for Dynamic {
    fn default() -> Self {
        Self {
            winds: Value::Nil,
            handlers: Value::Nil,
            parameters: Value::Nil,
        }
    }
}

/// What records of one type have in common.
#[derive(Clone, Debug)]
pub struct RecordType {
    pub name: Symbol,
    pub fields: Vec<Symbol>,
}

/// A procedure that `define-record-type` defines.
#[derive(Clone, Debug)]
pub enum RecordProcedure {
    /// A constructor that takes the fields in this order; the others are not set.
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

/// A port: its content, and whether it is open.
#[derive(Debug)]
pub struct Port {
    pub kind: PortKind,
    pub open: bool,
}

/// The content of a port.
#[derive(Debug)]
pub enum PortKind {
    /// Text to read, and how many of its characters have been read.
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
    /// The name of this kind of value, for messages.
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
