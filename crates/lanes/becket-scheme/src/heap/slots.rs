//! The kinds of values that are frequent enough for their own arena.

use super::arena::Slot;
use crate::text::Text;
use crate::value::Value;

/// The fields of a pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    pub car: Value,
    pub cdr: Value,
}

/// A procedure and the variables it has captured.
#[derive(Debug, Default)]
pub struct Closure {
    pub(crate) code: u32,
    /// The entry for calls with `count` arguments, which is the only way to call most procedures.
    pub(crate) entry: u32,
    pub(crate) count: Option<u16>,
    pub(crate) captured: Box<[Value]>,
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
