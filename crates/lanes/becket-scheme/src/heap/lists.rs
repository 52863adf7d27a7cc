//! Lists, from Rust.

use super::{Heap, Pair};
use crate::fault::Fault;
use crate::value::{PairRef, Value};

impl Heap {
    /// A list of these values.
    pub fn list(&mut self, items: &[Value]) -> Value {
        self.list_with_tail(items, Value::Nil)
    }

    /// A list of these values in front of a tail.
    pub fn list_with_tail(&mut self, items: &[Value], tail: Value) -> Value {
        items.iter().rev().fold(tail, |rest, item| self.cons(*item, rest))
    }

    /// The items of a list. Ends at the first value that is not a pair, which [`ListItems::rest`] then is, and
    /// terminates for circular lists.
    pub fn list_items(&self, list: Value) -> ListItems<'_> {
        ListItems {
            heap: self,
            rest: list,
            left: self.longest_list(),
        }
    }

    /// The items of a proper list, for a procedure that takes one.
    pub fn proper_list(&self, procedure: &str, list: Value) -> Result<Vec<Value>, Fault> {
        let mut items = self.list_items(list);
        let values: Vec<Value> = items.by_ref().collect();
        self.spend(values.len())?;
        if items.rest.is_nil() {
            Ok(values)
        } else {
            Err(Fault::wrong_type(procedure, "a list", list))
        }
    }

    /// How many items a proper list has; `None` if it is not one.
    pub fn list_length(&self, list: Value) -> Result<Option<usize>, Fault> {
        let mut items = self.list_items(list);
        let length = items.by_ref().count();
        self.spend(length)?;
        Ok(items.rest.is_nil().then_some(length))
    }

    #[inline]
    pub fn as_pair(&self, value: Value) -> Option<Pair> {
        match value {
            Value::Pair(at) => Some(self.pair(at)),
            _ => None,
        }
    }
}

/// The items of a list, one after another.
#[derive(Debug)]
pub struct ListItems<'a> {
    heap: &'a Heap,
    /// The rest of the list. Not `()` at the end if the list has another tail or is circular.
    pub rest: Value,
    left: usize,
}

impl ListItems<'_> {
    /// The pair that comes next.
    pub fn next_pair(&mut self) -> Option<PairRef> {
        match self.rest {
            Value::Pair(at) if self.left > 0 => {
                self.left -= 1;
                self.rest = self.heap.pair(at).cdr;
                Some(at)
            }
            _ => None,
        }
    }
}

impl Iterator for ListItems<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let at = self.next_pair()?;
        Some(self.heap.pair(at).car)
    }
}
