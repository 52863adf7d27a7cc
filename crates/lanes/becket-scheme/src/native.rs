//! Procedures written in Rust: the machine's own, in tables, and the host's.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::code::Op;
use crate::fault::Fault;
use crate::heap::Heap;
use crate::signature::{Inline, Signature};
use crate::value::Value;

/// A procedure that computes something from its arguments.
pub type Plain = fn(&mut Heap, &[Value]) -> Result<Value, Fault>;

/// A procedure of the host. It may hold the host's state.
pub type HostFunction = Arc<dyn Fn(&mut Heap, &[Value]) -> Result<HostAnswer, Fault> + Send + Sync>;

/// The answer of a host procedure.
#[derive(Clone, Copy, Debug)]
pub enum HostAnswer {
    Value(Value),
    /// The answer takes time: the machine returns to the host with this request, and continues when it is resumed.
    Suspend(Value),
}

/// A procedure that the machine runs itself, because it changes what runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// `(apply procedure argument … list)`.
    Apply,
    /// `(%apply-values procedure values)`.
    ApplyValues,
    /// `(%call/cc procedure)`.
    CallCc,
    /// `(%reinstate continuation values)`, when everything is wound.
    Reinstate,
    /// `(eval datum environment)`.
    Eval,
    /// `(environment name …)`.
    Environment,
    /// `(%inspect question argument …)`.
    Inspect,
}

/// How a procedure is run.
#[derive(Clone)]
pub enum Run {
    Plain(Plain),
    Control(Control),
    Host(HostFunction),
}

/// A procedure in a table.
#[derive(Clone, Copy)]
pub struct Builtin {
    pub name: &'static str,
    pub least: u8,
    /// The largest number of arguments; [`MANY`] for any number.
    pub most: u8,
    pub run: BuiltinRun,
}

/// How a procedure in a table is run.
#[derive(Clone, Copy)]
pub enum BuiltinRun {
    Plain(Plain),
    Control(Control),
}

/// Any number of arguments.
pub const MANY: u8 = u8::MAX;

impl Builtin {
    pub const fn new(name: &'static str, least: u8, most: u8, run: Plain) -> Self {
        Self {
            name,
            least,
            most,
            run: BuiltinRun::Plain(run),
        }
    }

    pub const fn control(name: &'static str, least: u8, most: u8, control: Control) -> Self {
        Self {
            name,
            least,
            most,
            run: BuiltinRun::Control(control),
        }
    }
}

/// A procedure written in Rust.
#[derive(Clone)]
pub struct Native {
    pub name: Cow<'static, str>,
    pub least: u16,
    /// The largest number of arguments; `None` for any number.
    pub most: Option<u16>,
    pub run: Run,
    /// The equivalent instruction, if there is one.
    pub(crate) inline: Option<Inline>,
}

impl fmt::Debug for Native {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl Native {
    /// A host procedure that takes from `least` up to `most` arguments.
    pub fn host(
        name: impl Into<Cow<'static, str>>,
        least: u16,
        most: Option<u16>,
        run: impl Fn(&mut Heap, &[Value]) -> Result<HostAnswer, Fault> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            least,
            most,
            run: Run::Host(Arc::new(run)),
            inline: None,
        }
    }

    /// What is known of the procedure before it runs, and how it is run.
    pub(crate) fn into_parts(self) -> (Signature, Run) {
        let signature = Signature {
            name: self.name,
            least: self.least,
            most: self.most,
            is_plain: matches!(self.run, Run::Plain(_)),
            inline: self.inline,
        };
        (signature, self.run)
    }
}

impl From<&Builtin> for Native {
    fn from(builtin: &Builtin) -> Self {
        Self {
            name: Cow::Borrowed(builtin.name),
            least: u16::from(builtin.least),
            most: (builtin.most != MANY).then_some(u16::from(builtin.most)),
            run: match builtin.run {
                BuiltinRun::Plain(run) => Run::Plain(run),
                BuiltinRun::Control(control) => Run::Control(control),
            },
            inline: inline(builtin.name),
        }
    }
}

// tidy: a table
fn inline(name: &str) -> Option<Inline> {
    Some(match name {
        "cons" => Inline::Two(Op::Cons),
        "car" => Inline::One(Op::Car),
        "cdr" => Inline::One(Op::Cdr),
        "not" => Inline::Test(Op::Not, 1, Op::JumpIfTrue),
        "null?" => Inline::Test(Op::IsNull, 1, Op::JumpUnlessNull),
        "pair?" => Inline::Test(Op::IsPair, 1, Op::JumpUnlessPair),
        "eq?" => Inline::Test(Op::Eq, 2, Op::JumpUnlessEq),
        "+" => Inline::Fold(Op::Add),
        "-" => Inline::Fold(Op::Subtract),
        "*" => Inline::Fold(Op::Multiply),
        "<" => Inline::Compare(Op::Less, Op::JumpUnlessLess),
        "<=" => Inline::Compare(Op::LessOrEqual, Op::JumpUnlessLessOrEqual),
        ">" => Inline::Compare(Op::Greater, Op::JumpUnlessGreater),
        ">=" => Inline::Compare(Op::GreaterOrEqual, Op::JumpUnlessGreaterOrEqual),
        "=" => Inline::Compare(Op::Equal, Op::JumpUnlessEqual),
        "vector-ref" => Inline::Two(Op::VectorRef),
        "vector-set!" => Inline::Three(Op::VectorSet),
        _ => return None,
    })
}
