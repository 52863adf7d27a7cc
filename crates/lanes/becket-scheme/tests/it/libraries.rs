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

/// Every library can be imported, and everything that it exports exists when it is used.
#[test]
// tidy: a table
fn every_library_is_there_with_all_its_names() {
    let room = Room::new();
    let libraries: Vec<String> = room
        .machine
        .libraries()
        .into_iter()
        .map(ToOwned::to_owned)
        .collect();
    let known = [
        "(scheme base)",
        "(scheme box)",
        "(scheme case-lambda)",
        "(scheme char)",
        "(scheme comparator)",
        "(scheme complex)",
        "(scheme cxr)",
        "(scheme eval)",
        "(scheme hash-table)",
        "(scheme inexact)",
        "(scheme lazy)",
        "(scheme list)",
        "(scheme process-context)",
        "(scheme r5rs)",
        "(scheme read)",
        "(scheme repl)",
        "(scheme sort)",
        "(scheme time)",
        "(scheme vector)",
        "(scheme write)",
        "(srfi 1)",
        "(srfi 2)",
        "(srfi 6)",
        "(srfi 8)",
        "(srfi 9)",
        "(srfi 11)",
        "(srfi 16)",
        "(srfi 23)",
        "(srfi 26)",
        "(srfi 27)",
        "(srfi 39)",
        "(srfi 46)",
        "(srfi 69)",
        "(srfi 95)",
        "(srfi 98)",
        "(srfi 111)",
        "(srfi 125)",
        "(srfi 128)",
        "(srfi 130)",
        "(srfi 132)",
        "(srfi 133)",
        "(srfi 145)",
        "(chibi diff)",
        "(chibi match)",
        "(tein docs)",
        "(tein introspect)",
        "(tein json)",
        "(tein process)",
        "(tein safe-regexp)",
        "(tein time)",
        "(tein uuid)",
    ];
    let missing: Vec<_> = known
        .iter()
        .filter(|name| !libraries.iter().any(|library| library == *name))
        .collect();
    assert!(
        missing.is_empty() && libraries.len() == known.len(),
        "{missing:?} of {libraries:?}"
    );
    for library in &libraries {
        let names = with("(tein introspect)", &format!("(module-exports '{library})"));
        let names = names.trim_matches(['(', ')']).split_whitespace();
        let mut room = Room::new();
        let imported = room.show(&format!("(import {library}) 'imported"));
        assert_eq!(imported, "imported", "{library}");
        for name in names {
            let shown = room.show(&format!("(begin {name} 'there)"));
            // The name of a keyword alone is an error that says so.
            let is_syntax = shown.contains("keyword") || shown.contains("macro");
            assert!(shown == "there" || is_syntax, "{name} of {library}: {shown}");
        }
    }
}
