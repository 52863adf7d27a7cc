//! Filters and inputs that go on without end, or are nested so deep that a stack would overflow.

use std::collections::BTreeMap;
use std::io::Cursor;

use becket_jq::{World, run};

/// Runs a filter; returns its output, its errors and its exit code.
fn answer(arguments: &[&str], input: &str) -> (String, String, u8) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = run(
        arguments.iter().map(Into::into),
        World {
            variables: &BTreeMap::new(),
            stdin: Box::new(Cursor::new(input.to_owned())),
            stdout: &mut stdout,
            stderr: Box::new(&mut stderr),
        },
    );
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
    (text(stdout), text(stderr), code)
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn a_filter_of_any_syntax_is_compiled_or_refused() {
    let long = [
        ("(", ".", ")"),
        ("[", ".", "]"),
        ("{a:", ".", "}"),
        ("0-", "1", ""),
        (" -", "1", ""),
        ("1+", "1", ""),
        (".|", ".", ""),
        ("1 as $x|", ".", ""),
        ("try ", ".", ""),
        ("\"\\(", ".", ")\""),
        ("if . then ", ".", " end"),
        ("def f: ", ".", ";."),
        ("first(", ".", ")"),
        ("reduce 1 as $x (", ".", ";.)"),
        ("label $x|", ".", ""),
        (".[", "0", "]"),
        (".a=", "0", ""),
        ("1 as [", "$x", "]"),
        ("(", "", ""),
        ("[", "", ""),
        ("\"\\(", "", ""),
        (")", "", ""),
    ];
    for (before, middle, after) in long {
        // As long as a filter may be.
        let times = (32 << 10) / (before.len() + after.len()) - 1;
        let filter = format!("{}{middle}{}", before.repeat(times), after.repeat(times));
        let (_, stderr, code) = answer(&["-n", &filter], "");
        assert!([0, 3, 5].contains(&code), "{before}: {code} {stderr:.300}");
    }
    let (_, stderr, code) = answer(&[&"1+".repeat(32 << 10)], "null");
    assert_eq!(code, 3);
    assert!(
        stderr.contains("the filter is longer than 32768 bytes"),
        "{stderr}"
    );
}

#[test]
fn a_filter_that_recurses_without_end_fails() {
    for filter in [
        "def f: 1 + f; f",
        "def f: [f]; f",
        "def f(g): 1 + f(g); f(1)",
        "def h(g; $n): if $n == 0 then g else h([g]; $n - 1) end; h(1; 1000000)",
        "def f: f | f; f",
        "reduce range(1000000) as $x (null; [.])",
        "reduce range(1000000) as $x (null; {a: .})",
        "reduce range(1000000) as $x (null; . as $v | {} | .a = $v)",
        "reduce range(1000000) as $x ([1]; group_by(.))",
        "last(foreach range(1000000) as $x (null; [.]))",
        "last(null | recurse([.]))",
        "null | until(false; [.])",
        "def f($v): if . == 1000000 then $v else . + 1 | f([$v]) end; 0 | f(1)",
        "\"[\" * 1000000 | fromjson",
    ] {
        let (stdout, stderr, code) = answer(&["-n", filter], "");
        assert_eq!((stdout.as_str(), code), ("", 5), "{filter}: {stderr:.300}");
        let is_told = ["recurses too deep", "exceeds the depth limit"]
            .iter()
            .any(|words| stderr.contains(words));
        assert!(is_told, "{filter}: {stderr:.300}");
    }
}

#[test]
fn a_loop_is_as_long_as_it_wants() {
    for (filter, result) in [
        ("reduce range(100000) as $x (0; . + 1)", "100000"),
        ("0 | until(. == 100000; . + 1)", "100000"),
        ("last(limit(100000; repeat(1)))", "1"),
        ("def f: if . == 100000 then . else . + 1 | f end; 0 | f", "100000"),
        (
            "def f: if . == 1000 then 0 else 1 + (. + 1 | f) end; 0 | f",
            "1000",
        ),
        ("[range(100000)] | map([.]) | length", "100000"),
    ] {
        let (stdout, stderr, code) = answer(&["-n", filter], "");
        assert_eq!((stdout.trim(), code), (result, 0), "{filter}: {stderr:.300}");
    }
}

#[test]
fn input_that_is_nested_too_deep_is_refused() {
    let deep = nested(1_000_000);
    let (stdout, stderr, code) = answer(&["-c", "."], &format!("[7] {deep}"));
    assert_eq!((stdout.as_str(), code), ("[7]\n", 2));
    assert!(
        stderr.contains("error (at <stdin>): exceeds the depth limit of 1000"),
        "{stderr:.300}"
    );
    let (_, stderr, code) = answer(&["-n", "--argjson", "x", &nested(50_000), "1"], "");
    assert_eq!(code, 2, "{stderr:.300}");
    let (_, stderr, code) = answer(&["-n", "1", "--jsonargs", &nested(50_000)], "");
    assert_eq!(code, 2, "{stderr:.300}");
    // Brackets in texts and comments do not count.
    let text = format!("# {deep}\n\"{deep}\\\"{deep}\"");
    assert_eq!(answer(&["length"], &text).0, "4000003\n");
}

#[test]
fn input_of_the_greatest_depth_can_be_worked_with() {
    let deep = nested(1000);
    for (filter, result) in [
        ("..|numbers", "1"),
        ("[paths]|length", "1000"),
        ("tojson|fromjson|tojson|length", "2001"),
        ("walk(.)|tojson|length", "2001"),
        ("[., .] | unique | length", "1"),
        (". == .", "true"),
        ("flatten", "[1]"),
        ("(..|numbers) |= 2 | tojson | length", "2001"),
        ("@text|length", "2001"),
        ("getpath([range(100)|0])|tojson|length", "1801"),
    ] {
        let (stdout, stderr, code) = answer(&["-c", filter], &deep);
        assert_eq!((stdout.trim(), code), (result, 0), "{filter}: {stderr:.300}");
    }
    assert_eq!(answer(&["-c", "."], &deep).0.trim(), deep);
}

#[test]
fn a_time_that_is_none_is_an_error() {
    for input in [
        "9223372036854775807",
        "-9223372036854775808",
        "1e300",
        "-1e300",
        "99999999999999",
        "[2024,127,1,0,0,0,0,0]",
        "[2024,-128,1,0,0,0,0,0]",
        "[99999999999,1,1,0,0,0,0,0]",
    ] {
        for filter in [
            "todate",
            "gmtime",
            "localtime",
            "mktime",
            "strftime(\"%Y\")",
            "strflocaltime(\"%Y\")",
        ] {
            let (stdout, stderr, code) = answer(&[filter], input);
            assert_eq!((stdout.as_str(), code), ("", 5), "{input} | {filter}");
            assert!(stderr.starts_with("jq: error"), "{input} | {filter}: {stderr}");
        }
    }
    assert_eq!(
        answer(&["-r", "todate"], "1425599621").0,
        "2015-03-05T23:53:41Z\n"
    );
    assert_eq!(answer(&["mktime"], "[2015,2,5,23,51,47,4,63]").0, "1425599507\n");
}
