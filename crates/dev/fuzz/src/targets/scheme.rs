//! Scheme: reader, expander, compiler, machine, numbers and libraries.

use std::time::Duration;

use arbtest::arbitrary::{Result, Unstructured};
use becket_scheme::{Limits, Machine, RunState, Style};

use crate::nonsense::{self, Dice};
use crate::text::{either, json_text};

const LIBRARIES: &[&str] = &[
    "(scheme base)",
    "(scheme case-lambda)",
    "(scheme char)",
    "(scheme cxr)",
    "(scheme eval)",
    "(scheme inexact)",
    "(scheme lazy)",
    "(scheme read)",
    "(scheme repl)",
    "(scheme write)",
];

/// Lets a machine read, compile and run a text, and prints the result.
fn feed(source: &str) {
    let mut machine = Machine::new(Limits {
        steps: 100_000,
        memory: 16 << 20,
        number_bits: 1 << 16,
        time: Some(Duration::from_secs(5)),
        cancel: None,
    });
    let environment = machine.environment(LIBRARIES).expect("the standard is there");
    match machine.load(environment, source, "fuzz.scm") {
        Ok(RunState::Suspended(suspended)) => machine.abandon(suspended),
        Ok(RunState::Done(value)) => {
            let _ = machine.heap().show(value, Style::Write);
            let _ = machine.heap().to_json(value);
        }
        Err(failure) => assert!(failure.message.len() < 100_000, "a message must be short"),
    }
    let works = machine.load(
        environment,
        "(let loop ((n 0)) (if (< n 9) (loop (+ n 1)) n))",
        "again.scm",
    );
    drop(works);
}

/// Text: bytes, words, and lines of the conformance tests with something changed.
pub fn text(u: &mut Unstructured<'_>) -> Result<()> {
    let mut dice = Dice(u.arbitrary()?);
    feed(&match u.int_in_range(0..=2)? {
        0 => nonsense::words(&mut dice),
        1 => nonsense::bytes(&mut dice),
        _ => nonsense::changed(&mut dice, nonsense::lines()),
    });
    Ok(())
}

/// Valid forms, nested at random.
pub fn programs(u: &mut Unstructured<'_>) -> Result<()> {
    feed(&nonsense::program(&mut Dice(u.arbitrary()?)));
    Ok(())
}

// tidy: a table
pub fn numbers(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "1",
        "-",
        "+",
        "/",
        ".",
        "e",
        "E",
        "#e",
        "#i",
        "#x",
        "#b",
        "0",
        "7",
        "999999999999999999999",
        "inf.0",
        "nan.0",
        "i",
        "1e400",
        "#d",
        "f",
        "@",
    ];
    const TEXTS: &[&str] = &[
        "1/3",
        "-12.5e-3",
        "#e1.5",
        "#x-ff/1f",
        "+inf.0",
        "123456789012345678901234567890",
        "1e308",
    ];
    const PROCEDURES: &[&str] = &[
        "+",
        "-",
        "*",
        "/",
        "<",
        "=",
        "max",
        "quotient",
        "modulo",
        "floor/",
        "gcd",
        "lcm",
        "expt",
        "rationalize",
        "atan",
        "exact-integer-sqrt",
        "sqrt",
        "exact",
        "inexact",
        "numerator",
        "round",
        "number->string",
        "log",
        "exp",
        "abs",
        "eqv?",
        "equal?",
        "even?",
        "list",
    ];
    let numbers = [either(u, TEXTS, WORDS)?, either(u, TEXTS, WORDS)?];
    let numbers = numbers.map(|text| format!("(string->number {})", serde_json::Value::from(text)));
    let (one, two) = (u.choose(PROCEDURES)?, u.choose(PROCEDURES)?);
    let [a, b] = &numbers;
    feed(&format!("({one} {a} {b}) ({two} {a})"));
    feed(&format!("({two} ({one} {a} {b}) {b})"));
    feed(&format!("(write ({two} ({one} {a})))"));
    Ok(())
}

/// Libraries that read text: patterns, JSON, differences.
pub fn libraries(u: &mut Unstructured<'_>) -> Result<()> {
    const WORDS: &[&str] = &[
        "a", "b", "(", ")", "[", "]", "*", "+", "?", "{2}", "{99}", "|", "\\b", ".", "^", "$", "é", "(?i)",
    ];
    let quoted = |text: String| serde_json::Value::from(text).to_string().replace("\\u00", "\\x");
    let (pattern, subject) = (
        quoted(either(u, &["(a|b)*c", "[a-z]+"], WORDS)?),
        quoted(either(u, &["abcabc"], WORDS)?),
    );
    let json = quoted(json_text(u, WORDS)?);
    feed(&format!(
        "(import (tein safe-regexp)) (list (regexp {pattern}) (regexp-search {pattern} {subject}) (regexp-extract {pattern} \
         {subject}) (regexp-replace-all {pattern} {subject} \"$1$0x\") (regexp-split {pattern} {subject}) (regexp-matches? \
         {pattern} {subject}))"
    ));
    feed(&format!(
        "(import (tein json)) (json-stringify (json-parse {json}))"
    ));
    feed(&format!("(import (chibi diff)) (diff {pattern} {subject})"));
    Ok(())
}
