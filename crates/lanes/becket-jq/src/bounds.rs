//! What keeps a run within its stack: how long a filter is, how deep it recurses, and how deep values are nested.
//!
//! The interpreter recurses over filters and values without a limit, and a stack that overflows ends the process. So a
//! run has a large stack of its own, and nothing gets deeper than what surely fits there.

use std::cell::Cell;
use std::io::{self, Read};

use jaq_core::Error;
use jaq_json::Val;

/// The stack of a run. Only what is used of it takes memory.
pub(crate) const STACK: usize = 512 << 20;

/// How much of the stack definitions that call themselves may use. The rest is for the nesting of filter and values.
const RECURSION: usize = STACK / 4;

/// The longest filter, in bytes. Its syntax is not nested deeper than that.
pub(crate) const LONGEST_FILTER: usize = 32 << 10;

/// The deepest nesting of a value. No event of becket is nested deeper than 128.
const DEEPEST: usize = 1000;

/// Values are looked through once in so many steps on average, since that takes longer than the steps.
const STEPS_BETWEEN: u32 = 4096;

/// What is said of a value that is too deep.
pub(crate) const TOO_DEEP: &str = "exceeds the depth limit of 1000";

/// How deep a run is.
pub(crate) struct Bounds {
    /// Where its stack begins.
    base: usize,
    /// Steps until a value is looked through.
    steps: Cell<u32>,
    dice: Cell<u32>,
}

impl Bounds {
    /// Those of a run that begins here.
    pub(crate) fn new() -> Self {
        Self {
            base: stack_address(),
            steps: Cell::new(0),
            dice: Cell::new(1),
        }
    }

    /// A step of the filter, with the value that it has.
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

/// Where the stack is now.
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
    place: Place,
}

#[derive(Default, Clone, Copy)]
enum Place {
    #[default]
    Between,
    Comment,
    Text,
    Escape,
}

impl Nesting {
    /// How deep the text is behind this byte.
    fn see(&mut self, byte: u8) -> usize {
        self.place = match (self.place, byte) {
            (Place::Between, b'"') | (Place::Escape, _) => Place::Text,
            (Place::Between, b'#') => Place::Comment,
            (Place::Between, b'[' | b'{') => {
                self.depth += 1;
                Place::Between
            }
            (Place::Between, b']' | b'}') => {
                self.depth = self.depth.saturating_sub(1);
                Place::Between
            }
            (Place::Comment, b'\n') | (Place::Text, b'"') => Place::Between,
            (Place::Text, b'\\') => Place::Escape,
            (place, _) => place,
        };
        self.depth
    }
}

/// A reader that ends with an error where its JSON is nested too deep.
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
            // What stands before is still read.
            Some(before) if before > 0 => Ok(before),
            Some(_) => too_deep(),
            None => Ok(count),
        }
    }
}
