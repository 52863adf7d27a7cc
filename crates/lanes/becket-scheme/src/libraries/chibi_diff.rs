//! `(chibi diff)`: what two texts have in common, line by line, and a text that shows the difference.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use similar::{Algorithm, DiffOp};

use crate::builtins::arguments::ProcedureResult;
use crate::fault::Fault;
use crate::heap::Heap;
use crate::library::Module;
use crate::native::Builtin;
use crate::value::Value;

const TABLE: &[Builtin] = &[Builtin::new("%common-lines", 2, 2, common_lines)];

/// The time after which a difference may be larger than necessary.
const DIFF_TIMEOUT: Duration = Duration::from_secs(1);

pub fn module() -> Module {
    Module::new(
        "(chibi diff)",
        &["(core)"],
        TABLE,
        include_str!("../scheme/diff.scm"),
    )
}

/// The items that two lists have in common, in order: `((item place-in-a place-in-b) …)`.
fn common_lines(heap: &mut Heap, a: &[Value]) -> ProcedureResult {
    let first = heap.proper_list("diff", a[0])?;
    let second = heap.proper_list("diff", a[1])?;
    let mut classes: FxHashMap<u64, Vec<(Value, u32)>> = FxHashMap::default();
    let mut count = 0;
    let mut class = |value: &Value| {
        let known = classes.entry(heap.hash_equal(*value)).or_default();
        for (other, class) in known.iter() {
            if heap.equal(*other, *value)? {
                return Ok(*class);
            }
        }
        count += 1;
        known.push((*value, count));
        Ok(count)
    };
    let old = first
        .iter()
        .map(&mut class)
        .collect::<Result<Vec<u32>, Fault>>()?;
    let new = second.iter().map(class).collect::<Result<Vec<u32>, Fault>>()?;
    let deadline = Some(Instant::now() + DIFF_TIMEOUT);
    let mut common = Vec::new();
    for op in similar::capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline) {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = op
        {
            common.extend((0..len).map(|offset| (old_index + offset, new_index + offset)));
        }
    }
    heap.reserve_items(common.len(), 128)?;
    let entry = |(in_first, in_second): (usize, usize)| {
        heap.list(&[
            first[in_first],
            Value::Int(in_first as i64),
            Value::Int(in_second as i64),
        ])
    };
    let entries: Vec<Value> = common.into_iter().map(entry).collect();
    Ok(heap.list(&entries))
}
