//! What is known of a procedure written in Rust before it runs: its name, how many arguments it takes, and which
//! instruction does the same.

use std::borrow::Cow;

use crate::code::{Arity, Op};

/// A procedure written in Rust, without its code.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) name: Cow<'static, str>,
    pub(crate) least: u16,
    /// The largest number of arguments; `None` for any number.
    pub(crate) most: Option<u16>,
    /// Whether the procedure only computes something from its arguments.
    pub(crate) is_plain: bool,
    /// The equivalent instruction, if there is one.
    pub(crate) inline: Option<Inline>,
}

impl Signature {
    pub(crate) fn fits(&self, count: usize) -> bool {
        count >= usize::from(self.least) && self.most.is_none_or(|most| count <= usize::from(most))
    }

    /// The number of arguments in words.
    pub(crate) fn arity_text(&self) -> String {
        match self.most {
            Some(most) if most != self.least => format!("{} to {most} arguments", self.least),
            most => Arity {
                required: self.least,
                rest: most.is_none(),
            }
            .to_string(),
        }
    }
}

/// An instruction that does what a procedure does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inline {
    One(Op),
    Two(Op),
    /// Two or more arguments, combined from the left.
    Fold(Op),
    /// Two numbers, and the jump that is taken if the comparison does not hold.
    Compare(Op, fn(u32) -> Op),
    /// One or two values, and the jump that is taken if the test does not hold.
    Test(Op, u8, fn(u32) -> Op),
    Three(Op),
}
