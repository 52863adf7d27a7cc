//! Finding keys in hash tables: the heap knows how keys are hashed and compared.

use super::Heap;
use crate::fault::Fault;
use crate::table::{Sameness, Table};
use crate::value::Value;

impl Sameness {
    pub fn same(self, heap: &Heap, a: Value, b: Value) -> Result<bool, Fault> {
        match self {
            Self::Eqv => Ok(heap.eqv(a, b)),
            Self::Equal => heap.equal(a, b),
        }
    }

    pub fn hash(self, heap: &Heap, key: Value) -> u64 {
        match self {
            Self::Eqv => heap.hash_eqv(key),
            Self::Equal => heap.hash_equal(key),
        }
    }
}

impl Table {
    /// The value of a key.
    pub fn get(&self, heap: &Heap, key: Value) -> Result<Option<Value>, Fault> {
        let at = self.find(heap, key, self.sameness.hash(heap, key))?;
        Ok(at.and_then(|at| self.value_at(at)))
    }

    /// The index of a key's entry.
    pub fn find(&self, heap: &Heap, key: Value, hash: u64) -> Result<Option<usize>, Fault> {
        for (at, other) in self.candidates(hash) {
            heap.spend(1)?;
            if self.sameness.same(heap, key, other)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
