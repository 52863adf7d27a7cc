//! What a variable holds: a word that is copied freely. Numbers, characters and the like are in it; everything larger
//! is in the [`Heap`](crate::heap::Heap), and the value says where.

/// A symbol: the place of its name in the heap's table of names. Symbols are never collected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub(crate) u32);

/// A Scheme value.
#[derive(Clone, Copy, Debug, Default)]
pub enum Value {
    /// The empty list.
    Nil,
    /// What a procedure answers that has nothing to say.
    #[default]
    Unspecified,
    /// In a variable that has no value yet. Scheme code never sees it.
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
    /// A procedure written in Rust: its place in the machine's table.
    Native(u32),
    /// A variable that is changed by `set!`. Scheme code never sees it.
    Cell(CellRef),
    /// Everything else.
    Object(ObjectRef),
    /// On the stack only: where a procedure returns to.
    Return(ReturnTo),
}

/// Where a procedure returns to, in a way that may be copied to another place of another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnTo {
    /// Where the caller goes on.
    pub(crate) pc: u32,
    /// How far below this place its frame begins.
    pub(crate) delta: u32,
}

/// Names a kind of place in the heap.
macro_rules! places {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub(crate) u32);)*
    };
}

places! {
    /// Where a pair is.
    PairRef,
    /// Where a string is.
    StringRef,
    /// Where a vector is.
    VectorRef,
    /// Where a procedure and its captured variables are.
    ClosureRef,
    /// Where the value of a changing variable is.
    CellRef,
    /// Where anything else is.
    ObjectRef,
}

impl Value {
    /// Everything but `#f` is true.
    #[inline]
    pub fn is_true(self) -> bool {
        !matches!(self, Self::Bool(false))
    }

    /// `eq?`, which is `eqv?` but for numbers outside of the machine's words.
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

    /// Whether this is the empty list.
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
