//! The value of a variable: a word that is copied freely. Numbers, characters and the like are in it; everything larger
//! is in the [`Heap`](crate::heap::Heap), and the value refers to it.

/// A symbol: an index into the heap's table of names. Symbols are never collected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub(crate) u32);

/// A Scheme value.
#[derive(Clone, Copy, Debug, Default)]
pub enum Value {
    /// The empty list.
    Nil,
    /// The result of a procedure without a useful one.
    #[default]
    Unspecified,
    /// The content of a variable without a value yet. Scheme code never sees it.
    Unbound,
    /// An optional argument that was not given.
    Absent,
    /// The end of a port.
    Eof,
    Bool(bool),
    Char(char),
    Int(i64),
    Float(f64),
    Symbol(Symbol),
    Pair(PairRef),
    String(StringRef),
    Vector(VectorRef),
    /// A procedure written in Scheme.
    Closure(ClosureRef),
    /// A procedure written in Rust: an index into the machine's table.
    Native(u32),
    /// A variable that is changed by `set!`. Scheme code never sees it.
    Cell(CellRef),
    /// A value of any other kind.
    Object(ObjectRef),
    /// Where a procedure returns to; on the stack only.
    Return(ReturnTo),
}

/// Where a procedure returns to, in a form that may be copied to another place of another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnTo {
    /// Where the caller continues.
    pub(crate) pc: u32,
    /// How far below this place the caller's frame begins.
    pub(crate) delta: u32,
}

/// Declares a kind of reference into the heap.
macro_rules! places {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub(crate) u32);)*
    };
}

places! {
    /// A reference to a pair.
    PairRef,
    /// A reference to a string.
    StringRef,
    /// A reference to a vector.
    VectorRef,
    /// A reference to a procedure and its captured variables.
    ClosureRef,
    /// A reference to the value of a changing variable.
    CellRef,
    /// A reference to any other value.
    ObjectRef,
}

impl Value {
    /// Whether the value counts as true: everything but `#f` does.
    #[inline]
    pub fn is_true(self) -> bool {
        !matches!(self, Self::Bool(false))
    }

    /// `eq?`, which is `eqv?` except for numbers outside of the machine's words.
    #[inline]
    pub fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Symbol(a), Self::Symbol(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Char(a), Self::Char(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Self::Pair(a), Self::Pair(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Vector(a), Self::Vector(b)) => a == b,
            (Self::Closure(a), Self::Closure(b)) => a == b,
            (Self::Native(a), Self::Native(b)) => a == b,
            (Self::Cell(a), Self::Cell(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            (Self::Return(a), Self::Return(b)) => a == b,
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }

    /// Whether the value is the empty list.
    #[inline]
    pub fn is_nil(self) -> bool {
        matches!(self, Self::Nil)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<char> for Value {
    fn from(value: char) -> Self {
        Self::Char(value)
    }
}

impl From<Symbol> for Value {
    fn from(value: Symbol) -> Self {
        Self::Symbol(value)
    }
}

impl From<ObjectRef> for Value {
    fn from(value: ObjectRef) -> Self {
        Self::Object(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_two_words() {
        assert_eq!(size_of::<Value>(), 16);
    }
}
