//! JSON as Scheme data and back. An object is an association list with strings as keys, an array is a list, `null` is
//! the symbol, and both `{}` and `[]` are the empty list.
//!
//! On the way back, a list whose items all begin with a key is an object. `("k" . v)` and `("k" v)` are the same entry,
//! as programs write both; `("k" a b)` has the list of a and b, and `("k" ("x" . 1))` the object with x. So an array of
//! one string comes back as that string, and a reader that expects an array accepts it as one.

use serde_json::{Map, Number as JsonNumber, Value as Json};

use crate::fault::Fault;
use crate::heap::Heap;
use crate::limits::Limit;
use crate::number::Number;
use crate::value::Value;

/// How deep data may be nested: JSON and payloads are never deeper.
const DEEPEST: usize = 128;

/// Memory that a part of JSON takes.
const PART_BYTES: usize = 64;

impl Heap {
    /// JSON as Scheme data.
    pub fn from_json(&mut self, json: &Json) -> Value {
        match json {
            Json::Null => self.symbol("null"),
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => self.json_number(number),
            Json::String(text) => self.string(text.as_str()),
            Json::Array(items) => {
                let items: Vec<Value> = items.iter().map(|item| self.from_json(item)).collect();
                self.list(&items)
            }
            Json::Object(fields) => {
                let mut entries = Vec::with_capacity(fields.len());
                for (key, value) in fields {
                    let key = self.string(key.as_str());
                    let value = self.from_json(value);
                    entries.push(self.cons(key, value));
                }
                self.list(&entries)
            }
        }
    }

    fn json_number(&mut self, number: &JsonNumber) -> Value {
        match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(word), _, _) => Value::Int(word),
            (None, Some(word), _) => self
                .number(Number::Big(word.into()))
                .unwrap_or(Value::Int(i64::MAX)),
            (None, None, Some(float)) => Value::Float(float),
            _ => Value::Bool(false),
        }
    }

    /// Scheme data as JSON.
    pub fn to_json(&self, value: Value) -> Result<Json, Fault> {
        let mut writer = Writer {
            heap: self,
            left: self.limits.memory / PART_BYTES,
        };
        writer.json(value, 0)
    }
}

/// Makes JSON, up to a limit: data that shares its parts has more of them than it has memory.
struct Writer<'h> {
    heap: &'h Heap,
    /// How many parts may still be made.
    left: usize,
}

impl Writer<'_> {
    /// Counts parts, unless that is too much.
    fn count(&mut self, parts: usize) -> Result<(), Fault> {
        self.heap.spend(parts)?;
        let left = self.left.checked_sub(parts);
        self.left = left.ok_or(Fault::Limit(Limit::Memory(self.heap.limits.memory)))?;
        Ok(())
    }

    fn json(&mut self, value: Value, depth: usize) -> Result<Json, Fault> {
        if depth > DEEPEST {
            return Err(Fault::misuse("this is nested too deep for JSON", Vec::new()));
        }
        self.count(1)?;
        Ok(match value {
            Value::Nil => Json::Null,
            Value::Bool(value) => Json::Bool(value),
            Value::Int(word) => Json::from(word),
            Value::Float(float) => JsonNumber::from_f64(float).map_or(Json::Null, Json::Number),
            Value::String(at) => {
                let text = self.heap.text(at);
                self.count(text.len() / PART_BYTES)?;
                Json::String(text.to_string())
            }
            Value::Symbol(symbol) => match self.heap.name(symbol) {
                "null" => Json::Null,
                name => Json::String(name.to_owned()),
            },
            Value::Pair(_) => self.pair(value, depth)?,
            other => match self.heap.as_number(other) {
                Some(number) => JsonNumber::from_f64(number.to_float()).map_or(Json::Null, Json::Number),
                None => return Err(Fault::misuse("this cannot be JSON:", vec![other])),
            },
        })
    }

    fn pair(&mut self, value: Value, depth: usize) -> Result<Json, Fault> {
        let mut list = self.heap.list_items(value);
        let items: Vec<Value> = list.by_ref().collect();
        self.count(items.len())?;
        match list.rest {
            Value::Nil if items.iter().all(|item| self.is_entry(*item)) => self.object(&items, depth),
            Value::Nil => self.array(&items, depth),
            Value::Pair(_) => Err(Fault::misuse(
                "this list goes around and cannot be JSON",
                Vec::new(),
            )),
            rest => {
                let mut items = items;
                items.push(rest);
                self.array(&items, depth)
            }
        }
    }

    fn array(&mut self, items: &[Value], depth: usize) -> Result<Json, Fault> {
        let items = items
            .iter()
            .map(|item| self.json(*item, depth + 1))
            .collect::<Result<_, _>>()?;
        Ok(Json::Array(items))
    }

    /// Whether a value can be an entry of an object: a pair that begins with a key.
    fn is_entry(&self, value: Value) -> bool {
        let pair = self.heap.as_pair(value);
        pair.is_some_and(|pair| matches!(pair.car, Value::String(_) | Value::Symbol(_)))
    }

    fn object(&mut self, entries: &[Value], depth: usize) -> Result<Json, Fault> {
        let mut fields = Map::new();
        for entry in entries {
            let Some(pair) = self.heap.as_pair(*entry) else {
                continue;
            };
            let key = match pair.car {
                Value::String(at) => self.heap.text(at).to_string(),
                Value::Symbol(symbol) => self.heap.name(symbol).to_owned(),
                _ => continue,
            };
            // `("k" v)`: the only item, unless it is the only entry of an object.
            let value = match self.heap.as_pair(pair.cdr) {
                Some(rest) if rest.cdr.is_nil() && !self.is_entry(rest.car) => rest.car,
                _ => pair.cdr,
            };
            // The first entry counts, as for `assoc`.
            if !fields.contains_key(&key) {
                fields.insert(key, self.json(value, depth + 1)?);
            }
        }
        Ok(Json::Object(fields))
    }
}
