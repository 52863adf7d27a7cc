//! Compiled code: one array of instructions for the whole machine, in which each procedure has its range.

use std::fmt;

use crate::heap::{Arena, Slot};
use crate::place::SourcePlace;
use crate::value::{Symbol, Value};

/// An instruction. Values are on a stack; the variables of the running procedure begin at `fp`.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Pushes a constant.
    Constant(u32),
    Int(i32),
    /// Pushes a variable of this procedure.
    Local(u16),
    /// Pushes a captured variable.
    Captured(u16),
    /// Pushes a variable of this procedure that is changed and therefore in a cell.
    LocalCell(u16),
    CapturedCell(u16),
    /// Pushes a variable of a program or library.
    Global(u32),
    /// Pops into a variable that is in a cell.
    SetLocalCell(u16),
    SetCapturedCell(u16),
    SetGlobal(u32),
    DefineGlobal(u32),
    /// Moves the value of a variable into a cell.
    MakeCell(u16),
    /// Pushes a procedure that captures variables as its code says.
    Closure(u32),
    /// Pushes a procedure whose variables are filled in later, because it captures itself.
    EmptyClosure(u32),
    FillClosure(u16),
    Pop,
    /// Drops this many values below the topmost one.
    Slide(u16),
    Jump(u32),
    JumpIfFalse(u32),
    /// Jumps and keeps the value if it is false, else pops it.
    JumpIfFalseElsePop(u32),
    JumpIfTrueElsePop(u32),
    /// Jumps back to the start of a loop with new values for its variables, which begin at `slot`.
    Loop {
        count: u8,
        slot: u16,
        to: u32,
    },
    /// Pushes where the procedure that is called next returns to.
    Frame(u32),
    Call(u16),
    TailCall(u16),
    /// Calls a procedure written in Rust with the topmost values.
    CallNative {
        native: u16,
        count: u8,
    },
    Return,
    Cons,
    Car,
    Cdr,
    Not,
    IsNull,
    IsPair,
    Eq,
    Add,
    Subtract,
    Multiply,
    AddInt(i32),
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    /// Compares a number with a word and jumps if the comparison does not hold, as most loops do.
    JumpUnlessLess(u32),
    JumpUnlessLessOrEqual(u32),
    JumpUnlessGreater(u32),
    JumpUnlessGreaterOrEqual(u32),
    JumpUnlessEqual(u32),
    JumpUnlessNull(u32),
    JumpUnlessPair(u32),
    JumpUnlessEq(u32),
    JumpIfTrue(u32),
    /// Pushes `fp[slot] + int`.
    LocalAddInt {
        slot: u16,
        int: i32,
    },
    LocalCar(u16),
    LocalCdr(u16),
    VectorRef,
    VectorSet,
    /// Ends the run; its value is on the stack.
    Halt,
    /// Continues with the frames of a continuation.
    Underflow,
}

/// Where a captured variable comes from, relative to the enclosing procedure.
#[derive(Clone, Copy, Debug)]
pub enum Capture {
    Local(u16),
    Captured(u16),
}

/// How many arguments a procedure takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    pub required: u16,
    /// Whether further arguments are given as a list.
    pub rest: bool,
}

impl Arity {
    #[inline]
    pub fn fits(self, count: usize) -> bool {
        let required = usize::from(self.required);
        count == required || (self.rest && count > required)
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { required, rest } = self;
        let plural = if *required == 1 { "" } else { "s" };
        let at_least = if *rest { "at least " } else { "" };
        write!(formatter, "{at_least}{required} argument{plural}")
    }
}

/// The code of one procedure.
#[derive(Debug, Default)]
pub struct Code {
    pub name: Option<Symbol>,
    /// The place of the procedure in its source.
    pub place: SourcePlace,
    /// The ways to call the procedure; more than one for `case-lambda`.
    pub clauses: Vec<Clause>,
    pub captures: Box<[Capture]>,
    /// The range of the procedure's instructions.
    ops: (u32, u32),
    /// The range of the procedure's constants.
    constants: (u32, u32),
    /// The codes of nested procedures, which live as long as this one.
    inner: Box<[u32]>,
}

/// One way to call a procedure.
#[derive(Clone, Copy, Debug)]
pub struct Clause {
    pub arity: Arity,
    pub entry: u32,
}

impl Slot for Code {
    fn outside(&self) -> usize {
        (self.ops.1 as usize) * (size_of::<Op>() + size_of::<SourcePlace>())
            + self.constants.1 as usize * size_of::<Value>()
            + self.clauses.len() * size_of::<Clause>()
    }
}

/// The compiler's result for one procedure. Jumps and entries are relative to its own start.
#[derive(Debug, Default)]
pub struct Draft {
    pub name: Option<Symbol>,
    pub place: SourcePlace,
    pub clauses: Vec<Clause>,
    pub captures: Vec<Capture>,
    pub ops: Vec<Op>,
    pub places: Vec<SourcePlace>,
    pub constants: Vec<Value>,
    pub inner: Vec<u32>,
}

/// All code of a machine.
#[derive(Debug)]
pub struct CodeStore {
    pub ops: Vec<Op>,
    pub constants: Vec<Value>,
    places: Vec<SourcePlace>,
    codes: Arena<Code>,
    /// Ranges that are free again: start and length.
    free_ops: Vec<(u32, u32)>,
    free_constants: Vec<(u32, u32)>,
}

/// The index of the first of two instructions that no procedure has.
pub const HALT: u32 = 0;
pub const UNDERFLOW: u32 = 1;

impl Default for CodeStore {
    fn default() -> Self {
        Self {
            ops: vec![Op::Halt, Op::Underflow],
            constants: Vec::new(),
            places: vec![SourcePlace::default(); 2],
            codes: Arena::default(),
            free_ops: Vec::new(),
            free_constants: Vec::new(),
        }
    }
}

impl CodeStore {
    pub fn get(&self, code: u32) -> &Code {
        self.codes.get(code)
    }

    /// The entry of a procedure and its number of arguments, if there is only one such number.
    pub fn fast_entry(&self, code: u32) -> (u32, Option<u16>) {
        match self.get(code).clauses[..] {
            [
                Clause {
                    arity:
                        Arity {
                            required,
                            rest: false,
                        },
                    entry,
                },
            ] => (entry, Some(required)),
            _ => (0, None),
        }
    }

    pub fn name(&self, code: u32) -> Option<Symbol> {
        self.get(code).name
    }

    /// The source place of the form that an instruction was made from.
    pub fn place(&self, pc: u32) -> Option<SourcePlace> {
        self.places
            .get(pc as usize)
            .copied()
            .filter(|place| place.line > 0)
    }

    /// Adds a procedure's code; returns its number and its size in bytes.
    pub fn add(&mut self, draft: Draft) -> (u32, usize) {
        let Draft {
            name,
            place,
            mut clauses,
            captures,
            mut ops,
            places,
            constants,
            inner,
        } = draft;
        let start = take(&mut self.free_ops, ops.len(), self.ops.len());
        let first_constant = take(&mut self.free_constants, constants.len(), self.constants.len());
        ops.iter_mut().for_each(|op| op.shift(start, first_constant));
        clauses.iter_mut().for_each(|clause| clause.entry += start);
        let stretch = |start: u32, length: usize| (start, length as u32);
        let code = Code {
            name,
            place,
            clauses,
            captures: captures.into(),
            ops: stretch(start, ops.len()),
            constants: stretch(first_constant, constants.len()),
            inner: inner.into(),
        };
        place_at(&mut self.ops, start, &ops);
        place_at(&mut self.places, start, &places);
        place_at(&mut self.constants, first_constant, &constants);
        let bytes = code.outside() + size_of::<Code>();
        (self.codes.insert(code), bytes)
    }

    pub fn begin(&mut self) {
        self.codes.begin();
    }

    /// Marks a procedure's code and the codes nested in it, and notes its constants.
    pub fn mark(&mut self, code: u32, work: &mut Vec<Value>) {
        let mut codes = vec![code];
        while let Some(code) = codes.pop() {
            if self.codes.mark(code) {
                let code = self.codes.get(code);
                let (start, length) = code.constants;
                work.extend_from_slice(&self.constants[start as usize..(start + length) as usize]);
                codes.extend_from_slice(&code.inner);
            }
        }
    }

    /// Frees the code that is no longer reachable.
    pub fn sweep(&mut self) -> usize {
        let Self {
            codes,
            free_ops,
            free_constants,
            ..
        } = self;
        codes.sweep(|dead| {
            free_ops.extend(Some(dead.ops).filter(|stretch| stretch.1 > 0));
            free_constants.extend(Some(dead.constants).filter(|stretch| stretch.1 > 0));
        })
    }
}

/// The first free range that is long enough, or the end.
fn take(free: &mut Vec<(u32, u32)>, length: usize, end: usize) -> u32 {
    let length = length as u32;
    let Some(index) = free.iter().position(|stretch| stretch.1 >= length) else {
        return end as u32;
    };
    let (start, size) = free[index];
    if size == length {
        free.swap_remove(index);
    } else {
        free[index] = (start + length, size - length);
    }
    start
}

fn place_at<T: Copy>(row: &mut Vec<T>, start: u32, items: &[T]) {
    let start = start as usize;
    if start == row.len() {
        row.extend_from_slice(items);
    } else {
        row[start..start + items.len()].copy_from_slice(items);
    }
}

impl Op {
    /// The target of a jump.
    pub fn target(&mut self) -> Option<&mut u32> {
        match self {
            Self::Jump(to)
            | Self::JumpIfFalse(to)
            | Self::JumpIfTrue(to)
            | Self::JumpIfFalseElsePop(to)
            | Self::JumpIfTrueElsePop(to)
            | Self::JumpUnlessLess(to)
            | Self::JumpUnlessLessOrEqual(to)
            | Self::JumpUnlessGreater(to)
            | Self::JumpUnlessGreaterOrEqual(to)
            | Self::JumpUnlessEqual(to)
            | Self::JumpUnlessNull(to)
            | Self::JumpUnlessPair(to)
            | Self::JumpUnlessEq(to)
            | Self::Loop { to, .. }
            | Self::Frame(to) => Some(to),
            _ => None,
        }
    }

    fn shift(&mut self, ops: u32, constants: u32) {
        if let Some(to) = self.target() {
            *to += ops;
        } else if let Self::Constant(index) = self {
            *index += constants;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_a_word() {
        assert_eq!(size_of::<Op>(), 8);
    }
}
