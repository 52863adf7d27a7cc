//! Laws of reader, printer and numbers, tested with random data.

use proptest::prelude::*;

use crate::room::Room;

/// Data that can be written: as text that the reader accepts.
fn datum() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|word| word.to_string()),
        any::<f64>()
            .prop_filter("not a number", |float| float.is_finite())
            .prop_map(|float| format!("{float:?}")),
        (any::<i32>(), 1..10_000i32).prop_map(|(above, below)| format!("{above}/{below}")),
        "[0-9]{20,40}".prop_map(|digits| digits),
        "[a-z!$%&*/:<=>?^_~+.@-]{1,8}".prop_map(|name| format!("|{name}|")),
        "[ -~λä\n\t]{0,12}".prop_map(|name| format!("|{}|", name.replace('\\', "\\\\").replace('|', "\\|"))),
        "[ -~λä\n\t]{0,20}"
            .prop_map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))),
        any::<char>().prop_map(|value| format!("#\\x{:x}", u32::from(value))),
        Just("#t".to_owned()),
        Just("#f".to_owned()),
        Just("()".to_owned()),
        prop::collection::vec(any::<u8>(), 0..6).prop_map(|bytes| {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("#u8({})", bytes.join(" "))
        }),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("({})", items.join(" "))),
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("#({})", items.join(" "))),
            (prop::collection::vec(inner.clone(), 1..4), inner.clone())
                .prop_map(|(items, tail)| format!("({} . {tail})", items.join(" "))),
            inner.prop_map(|datum| format!("'{datum}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back_as_the_same(datum in datum()) {
        let mut room = Room::new();
        let source = format!(
            "(let* ((x '{datum}) (p (open-output-string))) (write x p)
               (let ((y (read (open-input-string (get-output-string p))))) (or (equal? x y) (list x y))))"
        );
        prop_assert_eq!(room.show(&source), "#t");
    }

    #[test]
    fn all_ways_to_write_a_tree_agree(datum in datum()) {
        let mut room = Room::new();
        let source = format!(
            "(let ((x '{datum}) (a (open-output-string)) (b (open-output-string)) (c (open-output-string)))
               (write x a) (write-simple x b) (write-shared x c)
               (list (string=? (get-output-string a) (get-output-string b))
                     (equal? x (read (open-input-string (get-output-string c))))))"
        );
        prop_assert_eq!(room.show(&source), "(#t #t)");
    }

    #[test]
    fn arithmetic_is_that_of_integers(a in any::<i64>(), b in any::<i64>()) {
        let mut room = Room::new();
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        let sum = room.show(&format!("(list (+ {a} {b}) (- {a} {b}) (* {a} {b}) (< {a} {b}) (= {a} {b}))"));
        let bool = |value: bool| if value { "#t" } else { "#f" };
        let expected = format!(
            "({} {} {} {} {})", wide_a + wide_b, wide_a - wide_b, wide_a * wide_b, bool(a < b), bool(a == b)
        );
        prop_assert_eq!(sum, expected);
        if b != 0 {
            let source = format!("(let-values (((q r) (floor/ {a} {b}))) (and (= {a} (+ (* q {b}) r)) (< (abs r) (abs {b}))))");
            prop_assert_eq!(room.show(&source), "#t");
            let source = format!("(= {a} (* {b} (/ {a} {b})))");
            prop_assert_eq!(room.show(&source), "#t");
        }
    }

    #[test]
    fn floats_keep_their_value(float in any::<f64>()) {
        let mut room = Room::new();
        prop_assume!(float.is_finite());
        let source = format!("(let ((x {float:?})) (and (eqv? x (string->number (number->string x))) (= x (exact x)) (eqv? x (+ 0.0 (inexact (exact x)))) #t))");
        // A negative zero has no exact equivalent.
        prop_assume!(float != 0.0);
        prop_assert_eq!(room.show(&source), "#t");
    }

    #[test]
    fn sorting_out_cases_of_strings_loses_nothing(text in "[ -~λäßÄ€]{0,30}") {
        let mut room = Room::new();
        let literal = text.replace('\\', "\\\\").replace('"', "\\\"");
        let source = format!(
            "(let ((s \"{literal}\")) (list (string=? s (list->string (string->list s)))
               (string=? s (utf8->string (string->utf8 s))) (= (string-length s) (vector-length (string->vector s)))))"
        );
        prop_assert_eq!(room.show(&source), "(#t #t #t)");
    }
}
