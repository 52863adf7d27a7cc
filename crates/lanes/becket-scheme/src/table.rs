//! Hash tables: entries in the order in which they came, found by the hash of their key.

use rustc_hash::FxHashMap;

use crate::fault::Fault;
use crate::heap::Heap;
use crate::value::Value;

/// By which keys are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    Eqv,
    Equal,
}

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

/// A table from keys to values.
#[derive(Clone, Debug)]
pub struct Table {
    pub sameness: Sameness,
    /// `None` where an entry was deleted.
    entries: Vec<Option<(u64, Value, Value)>>,
    /// The entries of each hash.
    index: FxHashMap<u64, Vec<u32>>,
    count: usize,
}

impl Table {
    pub fn new(sameness: Sameness) -> Self {
        Self {
            sameness,
            entries: Vec::new(),
            index: FxHashMap::default(),
            count: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What is stored for a key.
    pub fn get(&self, heap: &Heap, key: Value) -> Result<Option<Value>, Fault> {
        let at = self.find(heap, key, self.sameness.hash(heap, key))?;
        Ok(at.and_then(|at| self.entries[at]).map(|(_, _, value)| value))
    }

    /// Where a key is.
    pub fn find(&self, heap: &Heap, key: Value, hash: u64) -> Result<Option<usize>, Fault> {
        for at in self.index.get(&hash).into_iter().flatten() {
            heap.spend(1)?;
            let at = *at as usize;
            if let Some((_, other, _)) = self.entries[at]
                && self.sameness.same(heap, key, other)?
            {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Stores a value at a place that [`Table::find`] gave, or at a new one.
    pub fn put(&mut self, at: Option<usize>, hash: u64, key: Value, value: Value) {
        match at {
            Some(at) => {
                if let Some(entry) = &mut self.entries[at] {
                    entry.2 = value;
                }
            }
            None => {
                self.index
                    .entry(hash)
                    .or_default()
                    .push(self.entries.len() as u32);
                self.entries.push(Some((hash, key, value)));
                self.count += 1;
            }
        }
    }

    /// Deletes the entry at a place.
    pub fn remove(&mut self, at: usize) {
        if let Some((hash, _, _)) = self.entries[at].take() {
            self.count -= 1;
            if let Some(candidates) = self.index.get_mut(&hash) {
                candidates.retain(|candidate| *candidate as usize != at);
                if candidates.is_empty() {
                    self.index.remove(&hash);
                }
            }
        }
        if self.entries.len() > 32 && self.count < self.entries.len() / 2 {
            self.tidy();
        }
    }

    pub fn clear(&mut self) {
        *self = Self::new(self.sameness);
    }

    /// Keys and values in the order in which they came.
    pub fn entries(&self) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.entries
            .iter()
            .flatten()
            .map(|(_, key, value)| (*key, *value))
    }

    /// Closes the gaps.
    fn tidy(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        self.index.clear();
        self.count = 0;
        for (hash, key, value) in entries.into_iter().flatten() {
            self.put(None, hash, key, value);
        }
    }

    pub(crate) fn held(&self, work: &mut Vec<Value>) {
        self.entries().for_each(|(key, value)| work.extend([key, value]));
    }

    /// Memory of the entries; an estimate for the index.
    pub(crate) fn outside(&self) -> usize {
        self.entries.capacity() * size_of::<Option<(u64, Value, Value)>>() + self.index.len() * 64
    }
}
