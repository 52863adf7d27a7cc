//! `(srfi 27)`: random numbers. Good for games and sampling, not for secrets.

use num_bigint::BigInt;

use crate::builtins::arguments::ProcedureResult;
use crate::fault::Fault;
use crate::heap::Heap;
use crate::library::Module;
use crate::native::Builtin;
use crate::number::{Number, Rounding};
use crate::value::Value;

const TABLE: &[Builtin] = &[
    Builtin::new("random-integer", 1, 1, |heap, a| integer(heap, a[0])),
    Builtin::new("random-real", 0, 0, |heap, _| Ok(real(heap))),
    Builtin::new("%random-state", 0, 0, |heap, _| {
        Ok(Value::Int((heap.random >> 1) as i64))
    }),
    Builtin::new("%set-random-state!", 1, 1, |heap, a| {
        heap.random = heap.hash_equal(a[0]) | 1;
        Ok(Value::Unspecified)
    }),
];

/// The procedures of random sources, which all share one state.
const DEFINITIONS: &str = "\
(define-record-type random-source (%make-random-source id) random-source? (id %random-source-id))
(define default-random-source (%make-random-source 0))
(define (make-random-source) (%make-random-source (random-integer 1000000000)))
(define (random-source-state-ref source) (%random-state))
(define (random-source-state-set! source state) (%set-random-state! state))
(define (random-source-randomize! source) (%set-random-state! (current-jiffy)))
(define (random-source-pseudo-randomize! source i j) (%set-random-state! (list i j)))
(define (random-source-make-integers source) random-integer)
(define (random-source-make-reals source . unit) random-real)
";

pub fn module() -> Module {
    Module::new("(srfi 27)", &["(core)"], TABLE, DEFINITIONS)
}

/// 64 bits that look random (splitmix64).
fn bits(heap: &mut Heap) -> u64 {
    heap.random = heap.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = heap.random;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A random float between 0 and 1, both excluded.
fn real(heap: &mut Heap) -> Value {
    Value::Float(((bits(heap) >> 12) as f64 + 0.5) / (1u64 << 52) as f64)
}

fn integer(heap: &mut Heap, bound: Value) -> ProcedureResult {
    let number = heap.number_argument("random-integer", bound)?;
    let Some(limit) = number.to_big().filter(|limit| *limit > BigInt::from(0)) else {
        return Err(Fault::wrong_type("random-integer", "a positive integer", bound));
    };
    // Some bits more than needed, so that no number is noticeably more frequent than another.
    let mut random = BigInt::from(0);
    for _ in 0..limit.bits() / 64 + 2 {
        random = (random << 64u8) + bits(heap);
    }
    let rest = Number::Big(random).divide_integers(&Number::Big(limit), Rounding::Floor);
    heap.number(rest.map_or(Number::Int(0), |(_, rest)| rest))
}
