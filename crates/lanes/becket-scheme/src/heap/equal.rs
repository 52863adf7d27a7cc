//! `eqv?`, `equal?` and the hashes for them, for data of any depth that may be circular.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::{Heap, Object};
use crate::fault::Fault;
use crate::number::same_ratio;
use crate::value::Value;

/// After this many comparisons, compared pairs are remembered: the data may be circular.
const SUSPICIOUS: usize = 10_000;

/// How many parts of a value a hash looks at.
const HASHED_PARTS: usize = 64;

/// How many characters of a string a hash looks at.
const HASHED_CHARACTERS: usize = 1024;

/// An identity of a value, different for values that are not `eq?`.
type Identity = (u8, u64);

impl Heap {
    /// `eqv?`: the same place, or the same number.
    pub fn eqv(&self, a: Value, b: Value) -> bool {
        a.is(b)
            || match (self.as_object(a), self.as_object(b)) {
                (Some(Object::Big(a)), Some(Object::Big(b))) => a == b,
                // The equality of these types is recursive.
                (Some(Object::Ratio(a)), Some(Object::Ratio(b))) => same_ratio(a, b),
                _ => false,
            }
    }

    /// `equal?`: the same structure with the same leaves.
    pub fn equal(&self, a: Value, b: Value) -> Result<bool, Fault> {
        let mut work = vec![(a, b)];
        let mut steps = 0;
        let mut classes = Classes::default();
        while let Some((a, b)) = work.pop() {
            self.spend(1)?;
            steps += 1;
            if self.eqv(a, b) {
                continue;
            }
            let suspicious = steps + work.len() > SUSPICIOUS;
            match (a, b) {
                (Value::Pair(_), Value::Pair(_)) | (Value::Vector(_), Value::Vector(_))
                    if suspicious && !classes.join(identity(a), identity(b)) => {}
                (Value::Pair(a), Value::Pair(b)) => {
                    let (a, b) = (self.pair(a), self.pair(b));
                    work.extend([(a.cdr, b.cdr), (a.car, b.car)]);
                }
                (Value::String(a), Value::String(b)) => {
                    self.spend(self.text(a).len() / 8)?;
                    if self.text(a) != self.text(b) {
                        return Ok(false);
                    }
                }
                (Value::Vector(a), Value::Vector(b)) => {
                    let (a, b) = (self.items(a), self.items(b));
                    if a.len() != b.len() {
                        return Ok(false);
                    }
                    work.extend(a.iter().copied().zip(b.iter().copied()));
                }
                (Value::Object(a), Value::Object(b)) => match (self.object_at(a), self.object_at(b)) {
                    (Object::Bytes(a), Object::Bytes(b)) if a == b => {}
                    _ => return Ok(false),
                },
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// A hash that is the same for values that are `eqv?`.
    pub fn hash_eqv(&self, value: Value) -> u64 {
        let mut hasher = FxHasher::default();
        match self.as_object(value) {
            Some(Object::Big(number)) => number.hash(&mut hasher),
            Some(Object::Ratio(number)) => (number.numer(), number.denom()).hash(&mut hasher),
            _ => identity(value).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// A hash that is the same for values that are `equal?`.
    pub fn hash_equal(&self, value: Value) -> u64 {
        let mut hasher = FxHasher::default();
        let mut work = vec![value];
        for _ in 0..HASHED_PARTS {
            let Some(value) = work.pop() else { break };
            match value {
                Value::Pair(at) => {
                    let pair = self.pair(at);
                    1u8.hash(&mut hasher);
                    work.extend([pair.cdr, pair.car]);
                }
                Value::String(at) => {
                    let text = self.text(at);
                    text.len().hash(&mut hasher);
                    text.chars()
                        .take(HASHED_CHARACTERS)
                        .for_each(|next| next.hash(&mut hasher));
                }
                Value::Vector(at) => {
                    let items = self.items(at);
                    items.len().hash(&mut hasher);
                    work.extend(items.iter().rev().take(HASHED_PARTS));
                }
                Value::Object(at) => match self.object_at(at) {
                    Object::Bytes(bytes) => {
                        (bytes.len(), &bytes[..bytes.len().min(HASHED_CHARACTERS)]).hash(&mut hasher);
                    }
                    _ => self.hash_eqv(value).hash(&mut hasher),
                },
                _ => self.hash_eqv(value).hash(&mut hasher),
            }
        }
        hasher.finish()
    }
}

/// Values that were found or are assumed to be equal, as a union-find structure. There are no more joins than values,
/// even if the data is circular.
#[derive(Default)]
struct Classes {
    /// The parent of each value on the path to its set's representative.
    parents: FxHashMap<Identity, Identity>,
}

impl Classes {
    /// Puts two values into one set; returns whether they were in different ones.
    fn join(&mut self, a: Identity, b: Identity) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return false;
        }
        self.parents.insert(a, b);
        true
    }

    fn root(&mut self, mut at: Identity) -> Identity {
        while let Some(parent) = self.parents.get(&at).copied() {
            // Each look shortens the path for the next.
            if let Some(further) = self.parents.get(&parent).copied() {
                self.parents.insert(at, further);
            }
            at = parent;
        }
        at
    }
}

/// An identity of a value, different for values that are not `eq?`.
fn identity(value: Value) -> Identity {
    match value {
        Value::Nil => (0, 0),
        Value::Unspecified => (0, 1),
        Value::Unbound => (0, 2),
        Value::Absent => (0, 3),
        Value::Eof => (0, 4),
        Value::Bool(value) => (1, u64::from(value)),
        Value::Char(value) => (2, u64::from(value)),
        Value::Int(value) => (3, value as u64),
        Value::Float(value) => (
            4,
            if value.is_nan() {
                f64::NAN.to_bits()
            } else {
                value.to_bits()
            },
        ),
        Value::Symbol(symbol) => (5, u64::from(symbol.0)),
        Value::Pair(at) => (6, u64::from(at.0)),
        Value::String(at) => (7, u64::from(at.0)),
        Value::Vector(at) => (8, u64::from(at.0)),
        Value::Closure(at) => (9, u64::from(at.0)),
        Value::Native(index) => (10, u64::from(index)),
        Value::Cell(at) => (11, u64::from(at.0)),
        Value::Object(at) => (12, u64::from(at.0)),
        Value::Return(to) => (13, u64::from(to.pc) << 32 | u64::from(to.delta)),
    }
}
