//! `eqv?`, `equal?` and a hash that goes with them, for data of any depth that may go around.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use super::{Heap, Object};
use crate::value::Value;

/// After so many comparisons, pairs that were compared are remembered: the data may go around.
const SUSPICIOUS: usize = 10_000;

/// A hash looks at no more than so many parts.
const HASHED_PARTS: usize = 64;

impl Heap {
    /// `eqv?`: the same place, or the same number.
    pub fn eqv(&self, a: Value, b: Value) -> bool {
        a.is(b)
            || match (self.as_object(a), self.as_object(b)) {
                (Some(Object::Big(a)), Some(Object::Big(b))) => a == b,
                (Some(Object::Ratio(a)), Some(Object::Ratio(b))) => a == b,
                _ => false,
            }
    }

    /// `equal?`: the same structure with the same leaves.
    pub fn equal(&self, a: Value, b: Value) -> bool {
        let mut work = vec![(a, b)];
        let mut steps = 0;
        let mut seen = FxHashSet::default();
        while let Some((a, b)) = work.pop() {
            steps += 1;
            if self.eqv(a, b) || (steps > SUSPICIOUS && !seen.insert((identity(a), identity(b)))) {
                continue;
            }
            match (a, b) {
                (Value::Pair(a), Value::Pair(b)) => {
                    let (a, b) = (self.pair(a), self.pair(b));
                    work.extend([(a.cdr, b.cdr), (a.car, b.car)]);
                }
                (Value::String(a), Value::String(b)) if self.text(a) == self.text(b) => {}
                (Value::Vector(a), Value::Vector(b)) => {
                    let (a, b) = (self.items(a), self.items(b));
                    if a.len() != b.len() {
                        return false;
                    }
                    work.extend(a.iter().copied().zip(b.iter().copied()));
                }
                (Value::Object(a), Value::Object(b)) => match (self.object_at(a), self.object_at(b)) {
                    (Object::Bytes(a), Object::Bytes(b)) if a == b => {}
                    _ => return false,
                },
                _ => return false,
            }
        }
        true
    }

    /// The same for values that are `eqv?`.
    pub fn hash_eqv(&self, value: Value) -> u64 {
        let mut hasher = FxHasher::default();
        match self.as_object(value) {
            Some(Object::Big(number)) => number.hash(&mut hasher),
            Some(Object::Ratio(number)) => number.hash(&mut hasher),
            _ => identity(value).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// The same for values that are `equal?`.
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
                Value::String(at) => self.text(at).chars().for_each(|next| next.hash(&mut hasher)),
                Value::Vector(at) => {
                    let items = self.items(at);
                    items.len().hash(&mut hasher);
                    work.extend(items.iter().rev().take(HASHED_PARTS));
                }
                Value::Object(at) => match self.object_at(at) {
                    Object::Bytes(bytes) => bytes.hash(&mut hasher),
                    _ => self.hash_eqv(value).hash(&mut hasher),
                },
                _ => self.hash_eqv(value).hash(&mut hasher),
            }
        }
        hasher.finish()
    }
}

/// A number for each value that is different for values that are not `eq?`.
fn identity(value: Value) -> (u8, u64) {
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
