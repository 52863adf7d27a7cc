//! Limits that keep a run within its stack: the length of a filter, its recursion, and the nesting of values.
//!
//! The interpreter recurses over filters and values without a limit, and a stack overflow ends the process. So a run
//! has its own large stack, and nothing gets deeper than what surely fits there.
//!
//! What a check finds is an error of the filter, so a guard that uses such a filter fails, and refuses. The stack is
//! large, but memory is used only for the part that is touched.

use std::cell::Cell;
use std::io::{self, Read};

use jaq_core::Error;
use jaq_json::Val;

/// The stack of a run. Only the used part of it takes memory.
pub(crate) const STACK: usize = 512 << 20;

/// How much of the stack recursive definitions may use. The rest is for the nesting of filters and values.
const RECURSION: usize = STACK / 4;

/// The longest filter, in bytes. Its syntax cannot be nested deeper than that.
pub(crate) const LONGEST_FILTER: usize = 32 << 10;

/// The deepest nesting of a value. No event of becket is nested deeper than 128.
const DEEPEST: usize = 1000;

/// How many steps lie between two checks of a value on average, since a check takes longer than the steps.
const STEPS_BETWEEN: u32 = 4096;

/// The message for a value that is nested too deep.
pub(crate) const TOO_DEEP: &str = "exceeds the depth limit of 1000";

/// The depth of a run.
pub(crate) struct Bounds {
    /// The address at which the run's stack begins.
    base: usize,
    /// Steps until the next check of a value.
    steps: Cell<u32>,
    dice: Cell<u32>,
}

impl Bounds {
    /// The bounds of a run that begins here.
    pub(crate) fn new() -> Self {
        Self {
            base: stack_address(),
            steps: Cell::new(0),
            dice: Cell::new(1),
        }
    }

    /// Checks a step of the filter, with the value that it has.
    pub(crate) fn check(&self, value: &Val) -> Result<(), Error<Val>> {
        if self.base.abs_diff(stack_address()) > RECURSION {
            return Err(Error::str("the filter recurses too deep"));
        }
        if let Some(steps) = self.steps.get().checked_sub(1) {
            self.steps.set(steps);
            return Ok(());
        }
        // Not at regular steps, or a loop could always show another value than the one that grows.
        let dice = self
            .dice
            .get()
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        self.dice.set(dice);
        self.steps.set((dice >> 8) % (2 * STEPS_BETWEEN));
        match is_too_deep(value) {
            true => Err(Error::str(format_args!("a value {TOO_DEEP}"))),
            false => Ok(()),
        }
    }
}

/// The current address of the stack.
#[inline(never)]
fn stack_address() -> usize {
    let mark = 0u8;
    std::ptr::from_ref(std::hint::black_box(&mark)).addr()
}

fn is_too_deep(value: &Val) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > DEEPEST {
            return true;
        }
        match value {
            Val::Arr(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Val::Obj(fields) => {
                let both = fields.iter().flat_map(|(key, value)| [key, value]);
                open.extend(both.map(|inner| (inner, depth + 1)));
            }
            _ => {}
        }
    }
    false
}

/// Whether JSON text is nested too deep. The parser would recurse to its innermost bracket.
pub(crate) fn is_text_too_deep(text: &[u8]) -> bool {
    let mut nesting = Nesting::default();
    text.iter().any(|byte| nesting.see(*byte) > DEEPEST)
}

/// Follows JSON text byte by byte.
#[derive(Default)]
struct Nesting {
    depth: usize,
    place: TextPosition,
}

#[derive(Default, Clone, Copy)]
enum TextPosition {
    #[default]
    Between,
    Comment,
    Text,
    Escape,
}

impl Nesting {
    /// The nesting depth of the text after this byte.
    fn see(&mut self, byte: u8) -> usize {
        self.place = match (self.place, byte) {
            (TextPosition::Between, b'"') | (TextPosition::Escape, _) => TextPosition::Text,
            (TextPosition::Between, b'#') => TextPosition::Comment,
            (TextPosition::Between, b'[' | b'{') => {
                self.depth += 1;
                TextPosition::Between
            }
            (TextPosition::Between, b']' | b'}') => {
                self.depth = self.depth.saturating_sub(1);
                TextPosition::Between
            }
            (TextPosition::Comment, b'\n') | (TextPosition::Text, b'"') => TextPosition::Between,
            (TextPosition::Text, b'\\') => TextPosition::Escape,
            (place, _) => place,
        };
        self.depth
    }
}

/// A reader that fails when its JSON is nested too deep.
pub(crate) struct Shallow<R> {
    inner: R,
    nesting: Nesting,
}

impl<R> Shallow<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            nesting: Nesting::default(),
        }
    }
}

impl<R: Read> Read for Shallow<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let too_deep = || Err(io::Error::new(io::ErrorKind::InvalidData, TOO_DEEP));
        if self.nesting.depth > DEEPEST {
            return too_deep();
        }
        let count = self.inner.read(buffer)?;
        let excess = buffer[..count]
            .iter()
            .position(|byte| self.nesting.see(*byte) > DEEPEST);
        match excess {
            // The bytes before the excess are still read.
            Some(before) if before > 0 => Ok(before),
            Some(_) => too_deep(),
            None => Ok(count),
        }
    }
}
