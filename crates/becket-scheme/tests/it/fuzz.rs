//! Nonsense: whatever is fed to reader, expander and machine, they answer, and they do so in time.

use std::time::Duration;

use becket_scheme::{Limits, Machine};

use crate::room::STANDARD;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Words of the language, and some that are none.
const WORDS: &[&str] = &[
    "(",
    "(",
    "(",
    "(",
    ")",
    ")",
    ")",
    ")",
    "'",
    "`",
    ",",
    ",@",
    ".",
    "#(",
    "#u8(",
    "#;",
    "#0=",
    "#0#",
    "...",
    "_",
    "=>",
    "else",
    "lambda",
    "define",
    "let",
    "let*",
    "letrec",
    "if",
    "set!",
    "begin",
    "cond",
    "case",
    "and",
    "or",
    "do",
    "when",
    "define-syntax",
    "let-syntax",
    "letrec-syntax",
    "syntax-rules",
    "define-record-type",
    "define-values",
    "let-values",
    "let*-values",
    "case-lambda",
    "guard",
    "parameterize",
    "delay",
    "delay-force",
    "quasiquote",
    "quote",
    "unquote",
    "unquote-splicing",
    "cond-expand",
    "import",
    "define-library",
    "export",
    "include",
    "only",
    "prefix",
    "rename",
    "(scheme base)",
    "x",
    "y",
    "f",
    "k",
    "e",
    "1",
    "2.5",
    "1/3",
    "-7",
    "#t",
    "#f",
    "#\\a",
    "\"text\"",
    "()",
    "car",
    "cdr",
    "cons",
    "list",
    "apply",
    "map",
    "call/cc",
    "dynamic-wind",
    "raise",
    "error",
    "with-exception-handler",
    "values",
    "call-with-values",
    "eval",
    "environment",
    "vector",
    "vector-ref",
    "string-append",
    "+",
    "-",
    "*",
    "/",
    "expt",
    "=",
    "<",
    "eq?",
    "equal?",
    "force",
    "make-parameter",
    "read",
    "write",
    "open-input-string",
    "(lambda (x) x)",
    "(x)",
    "((x 1))",
    "((f x))",
    "(_ x ...)",
    "(x ... y)",
    "exit",
    "length",
    "append",
    "list-tail",
    "string->symbol",
];

fn machine() -> Machine {
    Machine::new(Limits {
        steps: 20_000,
        memory: 8 << 20,
        number_bits: 1 << 14,
        time: Some(Duration::from_secs(60)),
        cancel: None,
    })
}

fn feed(machine: &mut Machine, source: &str) {
    let environment = machine.environment(STANDARD).expect("the standard is there");
    if let Ok(becket_scheme::Outcome::Suspended(suspended)) = machine.load(environment, source, "fuzz.scm") {
        machine.abandon(suspended);
    }
}

#[test]
fn streams_of_words_are_answered() {
    let mut dice = Dice(7);
    let mut machine = machine();
    for round in 0..4000 {
        if round % 50 == 0 {
            machine = self::machine();
        }
        let words = 2 + dice.roll(40);
        let mut source = String::new();
        for _ in 0..words {
            source.push_str(WORDS[dice.roll(WORDS.len())]);
            source.push(' ');
        }
        // As often as not, what was opened is closed.
        if dice.roll(2) == 0 {
            let open = source.matches('(').count();
            let closed = source.matches(')').count();
            source.push_str(&")".repeat(open.saturating_sub(closed)));
        }
        feed(&mut machine, &source);
    }
}

#[test]
fn streams_of_bytes_are_answered() {
    let mut dice = Dice(11);
    let mut machine = machine();
    for round in 0..4000 {
        if round % 100 == 0 {
            machine = self::machine();
        }
        let length = dice.roll(60);
        let bytes: Vec<u8> = (0..length)
            .map(|_| match dice.roll(3) {
                0 => b"()#'`,;|\"\\.@ \n"[dice.roll(14)],
                1 => 32 + dice.roll(95) as u8,
                _ => dice.roll(256) as u8,
            })
            .collect();
        feed(&mut machine, &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn programs_with_something_changed_are_answered() {
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/r7rs");
    let mut dice = Dice(13);
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder).expect("there") {
        let text = std::fs::read_to_string(entry.expect("readable").path()).expect("readable");
        lines.extend(text.lines().map(|line| line.replace("(test ", "(list ")));
    }
    lines.sort();
    let mut machine = machine();
    for round in 0..3000 {
        if round % 50 == 0 {
            machine = self::machine();
        }
        let mut characters: Vec<char> = lines[dice.roll(lines.len())].chars().collect();
        for _ in 0..1 + dice.roll(3) {
            if characters.is_empty() {
                break;
            }
            let at = dice.roll(characters.len());
            match dice.roll(3) {
                0 => {
                    characters.remove(at);
                }
                1 => characters[at] = char::from(b"()#'`,;|\"\\.@ x1"[dice.roll(15)]),
                _ => characters.insert(at, char::from(b"()#'`,;|\"\\.@ x1"[dice.roll(15)])),
            }
        }
        feed(&mut machine, &characters.into_iter().collect::<String>());
    }
}
