//! The quick answers against the machine's jq: the same output and exit code, or no quick answer at all.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

use becket_jq::hook_jq::quick_answer;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use testkit::needs;

/// Filters of real hooks and of the guides, and what is near to them: one on each line. A line that begins with `-` or
/// ends with a file has options in front, separated by tabs.
const FILTERS: &str = include_str!("quick_filters.txt");

/// Inputs as hooks get them, and others that they do not expect.
const INPUTS: [&str; 5] = [
    r#"{"session_id":"abc","cwd":"/x y","tool_name":"Bash","tool_input":{"command":"rm -rf build; git push\nx",
    "timeout":120,"n":null,"t":true,"f":false,"edits":[{"old_string":"a","new_string":"b"},{"old_string":"c\"\\",
    "new_string":"\u00e9\u2028 \ud83d\ude00\t"}],"file_path":"src/a.ts","e":{},"l":[]},"list":[3,1,2,1,"b","a",null,
    false,[1],{"z":1,"a":2}],"s":"text","j":"{\"k\": [1, \"x\"]}","num":-5}"#,
    "{}",
    "[1,\"a\",null]\n",
    "\"git push\"",
    "{\"b\":1,\"a\":{\"b\":[]},\"b\":3} {\"tool_name\":\"Write\"}\n",
];

/// What the machine's jq answers.
fn machine(arguments: &[OsString], input: &str) -> (Vec<u8>, u8, String) {
    let mut child = Command::new("jq")
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("jq starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A filter that reads nothing closes the pipe.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("jq ends");
    let code = output
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .expect("an exit code");
    (
        output.stdout,
        code,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Compares one command line on one input; returns whether the answer was quick.
fn compare(arguments: &[OsString], input: &str) -> Result<bool, String> {
    let Some((stdout, code)) = quick_answer(arguments, input) else {
        return Ok(false);
    };
    let expected = machine(arguments, input);
    if (&stdout, code) == (&expected.0, expected.1) && expected.2.is_empty() {
        return Ok(true);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!(
        "{arguments:?} on {input}\n  quick: {:?} {code}\n  jq:    {:?} {} {}",
        text(&stdout),
        text(&expected.0),
        expected.1,
        expected.2
    ))
}

#[test]
fn filters_of_hooks_are_answered_as_by_the_machine_s_jq() {
    if !needs("jq") {
        return;
    }
    let lines: Vec<&str> = FILTERS.lines().filter(|line| !line.is_empty()).collect();
    let (first, second) = lines.split_at(lines.len() / 2);
    let count = |lines: &[&str]| {
        let mut quick = 0;
        for line in lines {
            let mut words: Vec<OsString> = line.split('\t').map(Into::into).collect();
            if words.len() == 1 {
                words.insert(0, "-c".into());
            }
            for input in INPUTS {
                quick += usize::from(compare(&words, input).unwrap_or_else(|why| panic!("{why}")));
            }
        }
        quick
    };
    let quick = std::thread::scope(|scope| {
        let other = scope.spawn(|| count(second));
        count(first) + other.join().expect("no comparison panics")
    });
    assert!(lines.len() >= 250, "{} filters", lines.len());
    // Of what hooks do, most must be quick, or nothing is won.
    assert!(quick >= 500, "{quick} quick answers");
}

/// Filters of the listed syntax, put together at random.
fn filters() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        ".",
        ".tool_name",
        ".tool_input",
        ".tool_input.command",
        ".list",
        ".list[0]",
        ".list[-1]",
        ".a.b",
        ".b?",
        "1",
        "\"x\"",
        "null",
        "true",
        "[]",
        "{}",
        ".num",
        ".s",
        "length",
        "keys",
        "type",
        "not",
        "empty",
        "tostring",
        "tojson",
        "to_entries",
        "sort",
        "unique",
        "ascii_downcase",
        ".[]?",
        "..",
        "first(.[]?)",
        "any",
        "all",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (
                pair.clone(),
                prop::sample::select(vec!["|", ",", "//", "+", "-", "==", "<", "and", "or"])
            )
                .prop_map(|((one, two), operator)| format!("({one}) {operator} ({two})")),
            (
                pair.clone(),
                prop::sample::select(vec!["|", ",", "//", "and", "or"])
            )
                .prop_map(|((one, two), operator)| format!("{one} {operator} {two}")),
            inner.clone().prop_map(|one| format!("[{one}]")),
            inner.clone().prop_map(|one| format!("map({one})")),
            inner.clone().prop_map(|one| format!("select({one})")),
            inner.clone().prop_map(|one| format!("try ({one})")),
            inner.clone().prop_map(|one| format!("\"<\\({one})>\"")),
            inner.clone().prop_map(|one| format!("({one}) | join(\",\")")),
            inner
                .clone()
                .prop_map(|one| format!("({one}) | startswith(\"r\")")),
            inner
                .clone()
                .prop_map(|one| format!("({one}) | test(\"^r?m\\\\s\")")),
            inner.clone().prop_map(|one| format!("({one}) | contains(\"a\")")),
            inner.clone().prop_map(|one| format!("({one}) | .[0]")),
            inner.clone().prop_map(|one| format!(".a = ({one})")),
            pair.clone()
                .prop_map(|(one, two)| format!("{{a: ({one}), b: ({two})}}")),
            (pair, inner).prop_map(|((one, two), three)| format!("if {one} then {two} else {three} end")),
        ]
    })
}

#[test]
fn random_filters_are_answered_as_by_the_machine_s_jq() {
    if !needs("jq") {
        return;
    }
    let config = Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    };
    let quick = std::cell::Cell::new(0);
    let cases = (filters(), prop::sample::select(INPUTS.to_vec()));
    TestRunner::new(config)
        .run(&cases, |(filter, input)| {
            match compare(&["-c".into(), filter.into()], input) {
                Ok(answered) => quick.set(quick.get() + usize::from(answered)),
                Err(why) => return Err(TestCaseError::fail(why)),
            }
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    assert!(quick.get() >= 60, "{} quick answers", quick.get());
}
