//! Hash tables: entries in insertion order, found by the hash of their key.

use rustc_hash::FxHashMap;

use crate::value::Value;

/// The equivalence by which keys are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    Eqv,
    Equal,
}

/// A table from keys to values.
#[derive(Clone, Debug)]
pub struct Table {
    pub sameness: Sameness,
    /// The entries; `None` for a deleted one.
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

    /// The entries that may have a key with this hash: their indices and keys.
    pub(crate) fn candidates(&self, hash: u64) -> impl Iterator<Item = (usize, Value)> + '_ {
        let indices = self.index.get(&hash).into_iter().flatten();
        indices.filter_map(|at| {
            let at = *at as usize;
            self.entries[at].map(|(_, key, _)| (at, key))
        })
    }

    /// The value of the entry at an index.
    pub(crate) fn value_at(&self, at: usize) -> Option<Value> {
        self.entries[at].map(|(_, _, value)| value)
    }

    /// Stores a value at an index that [`Table::find`] returned, or in a new entry.
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

    /// Deletes the entry at an index.
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

    /// Keys and values in insertion order.
    pub fn entries(&self) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.entries
            .iter()
            .flatten()
            .map(|(_, key, value)| (*key, *value))
    }

    /// Removes the deleted entries.
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
