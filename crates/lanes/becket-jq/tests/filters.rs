//! Filters and options against what jq itself answers. The table was written with jq 1.6.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Cursor;

use becket_jq::{World, run};
use jaq_json::{Val, read};

fn text(case: &Val, key: &str) -> String {
    match case {
        Val::Obj(fields) => match fields.get(&Val::from(key.to_owned())) {
            Some(Val::TStr(text)) => String::from_utf8_lossy(text).into_owned(),
            other => panic!("{key} is {other:?}"),
        },
        other => panic!("{other} is no case"),
    }
}

fn words(case: &Val) -> Vec<OsString> {
    let Val::Obj(fields) = case else {
        panic!("{case} is no case")
    };
    let Some(Val::Arr(words)) = fields.get(&Val::from("args".to_owned())) else {
        panic!("{case} has no args")
    };
    let word = |word: &Val| match word {
        Val::TStr(word) => OsString::from(String::from_utf8_lossy(word).into_owned()),
        other => panic!("{other} is no word"),
    };
    words.iter().map(word).collect()
}

/// Runs one command line; returns its output, its errors and its exit code.
fn answer(words: Vec<OsString>, input: &str) -> (String, String, u8) {
    let variables = BTreeMap::from([("WHO".into(), "me".into())]);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = run(
        words,
        World {
            variables: &variables,
            stdin: Box::new(Cursor::new(input.to_owned())),
            stdout: &mut stdout,
            stderr: Box::new(&mut stderr),
        },
    );
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
    (text(stdout), text(stderr), code)
}

#[test]
fn filters_answer_as_in_jq() {
    let table = include_bytes!("filters.jsonl");
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in read::parse_many(table) {
        let case = case.expect("the table is JSON");
        let (stdout, stderr, code) = answer(words(&case), &text(&case, "input"));
        let expected = (text(&case, "stdout"), text(&case, "code"));
        count += 1;
        if (stdout.clone(), code.to_string()) != expected {
            wrong.push(format!("{case}\n  gave {stdout:?}, {code}, {stderr}"));
        }
        assert_eq!(
            code == 0 || code == 1 || code == 4,
            stderr.is_empty(),
            "{case}: {stderr}"
        );
    }
    assert!(count >= 60, "{count} filters");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn complaints_say_what_is_wrong() {
    let complaint = |words: &[&str], input: &str| {
        let (_, stderr, code) = answer(words.iter().map(Into::into).collect(), input);
        (stderr, code)
    };
    let table: &[(&[&str], &str, u8, &str)] = &[
        (&["."], "{\"a\": ", 2, "jq: error (at <stdin>): "),
        (
            &[".a |"],
            "{}",
            3,
            "jq: error: syntax error: expected term at the end",
        ),
        (&["nonsense"], "{}", 3, "jq: error: nonsense/0 is not defined"),
        (
            &["$nobody"],
            "{}",
            3,
            "jq: error: the variable $nobody is not defined",
        ),
        (&["error(\"so\")"], "{}", 5, "jq: error: so"),
        (&["-q", "."], "{}", 2, "unknown option -q"),
        (&["--stream", "."], "{}", 2, "unknown option --stream"),
        (&[], "{}", 2, "there is no filter"),
        (
            &["--argjson", "x", "{", "."],
            "{}",
            2,
            "invalid JSON text in --argjson x",
        ),
        (&[".", "/nowhere/at/all"], "", 2, "could not open /nowhere/at/all"),
        (&["-n", "\"bye\\n\" | halt_error(3)"], "", 3, "bye\n"),
        (&["stderr"], "1", 0, "1"),
    ];
    for (words, input, code, part) in table {
        let (stderr, ended) = complaint(words, input);
        assert_eq!(ended, *code, "{words:?}: {stderr}");
        assert!(stderr.contains(part), "{words:?}: {stderr}");
    }
}

#[test]
fn without_input_nothing_is_read() {
    struct Never;
    impl std::io::Read for Never {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("nobody asked for input")
        }
    }
    let variables = BTreeMap::new();
    let mut stdout = Vec::new();
    let world = World {
        variables: &variables,
        stdin: Box::new(std::io::BufReader::new(Never)),
        stdout: &mut stdout,
        stderr: Box::new(std::io::sink()),
    };
    assert_eq!(run(["-n".into(), "1 + 1".into()], world), 0);
    assert_eq!(stdout, b"2\n");
}
