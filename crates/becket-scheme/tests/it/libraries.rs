//! The libraries beyond the standard.

use crate::room::Room;

/// Runs a program that imports a library.
fn with(library: &str, source: &str) -> String {
    Room::new().show(&format!("(import {library}) {source}"))
}

#[test]
fn json_is_data() {
    let cases = [
        (
            "(json-parse \"{\\\"a\\\":[1,2.5,null,true],\\\"b\\\":{}}\")",
            "((\"a\" 1 2.5 null #t) (\"b\"))",
        ),
        (
            "(json-stringify '((\"a\" . 1) (b . \"x\")))",
            "\"{\\\"a\\\":1,\\\"b\\\":\\\"x\\\"}\"",
        ),
        ("(json-stringify '((\"k\" \"v\")))", "\"{\\\"k\\\":\\\"v\\\"}\""),
        (
            "(json-stringify '((\"exclude\" \"a\" \"b\")))",
            "\"{\\\"exclude\\\":[\\\"a\\\",\\\"b\\\"]}\"",
        ),
        (
            "(json-stringify '((\"args\" (\"x\" . 1))))",
            "\"{\\\"args\\\":{\\\"x\\\":1}}\"",
        ),
        ("(json-stringify '(1 2 3))", "\"[1,2,3]\""),
        ("(json-stringify '(1 . 2))", "\"[1,2]\""),
        ("(json-stringify '())", "\"null\""),
        ("(guard (e (#t 'refused)) (json-stringify (vector 1)))", "refused"),
        (
            "(guard (e (#t 'refused)) (json-stringify (let ((x (list 1))) (set-cdr! x x) x)))",
            "refused",
        ),
        (
            "(guard (e (#t 'refused)) (json-stringify (let ((x (list 1))) (set-car! x x) x)))",
            "refused",
        ),
        ("(guard (e (#t 'refused)) (json-parse \"{\"))", "refused"),
        (
            "(let ((x '((\"a\" (\"b\" . 1) (\"c\" 1 2))))) (equal? x (json-parse (json-stringify x))))",
            "#t",
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(with("(tein json)", source), expected, "{source}");
    }
}
