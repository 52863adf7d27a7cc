//! Errors name the author's file, line and column, and say in plain words what is wrong.

use std::sync::Arc;

use crate::room::{load, try_load};
use becket_js::{Limits, Report};

const TYPES: &str = "interface Unused {\n    a: string;\n}\n\ntype Also = { b: number };\n\n";

async fn detail_of(body: &str) -> String {
    let source = format!(
        "{TYPES}export default (pi: any) => {{\n    pi.on('bad', async (event: any) => {{ {body} }});\n}};"
    );
    let loaded = load(&source).await;
    let failure = loaded.fire("bad", Vec::new()).await.expect_err(body);
    let folder = std::fs::canonicalize(&loaded.folder.0).expect("a folder");
    failure.detail.replace(&*folder.to_string_lossy(), "HERE")
}

#[tokio::test]
async fn thrown_values_are_told_with_the_author_s_line() {
    let cases = [
        ("throw new Error('no thanks');", "no thanks (HERE/index.ts:8:"),
        (
            "const x: any = undefined; x.y;",
            "TypeError: cannot read property 'y' of undefined (HERE/index.ts:8:",
        ),
        (
            "await null; throw new RangeError('later');",
            "RangeError: later (HERE/index.ts:8:",
        ),
        ("await pi.call('nothing');", "no nothing here (HERE/index.ts:8:"),
        ("throw 'a text';", "a text"),
        ("throw undefined;", "undefined was thrown, which is not an error"),
        ("throw null;", "it is out of memory, or null was thrown"),
        (
            "throw { code: 5 };",
            r#"{"code":5} was thrown, which is not an error"#,
        ),
        ("throw Symbol('x');", "something was thrown that cannot be shown"),
        (
            "throw { get message() { throw 1; } };",
            "[object Object] was thrown, which is not an error",
        ),
        ("throw { message: 'like an error' };", "like an error"),
        (
            "throw new Error('');",
            "an error without a message (HERE/index.ts:8:",
        ),
        ("throw Object.assign(new Error('x'), { stack: 5 });", "x"),
        (
            "throw Object.assign(new Error('x'), { stack: 'at nowhere:1' });",
            "x",
        ),
        (
            "throw new Error('top', { cause: new TypeError('below') });",
            "; caused by TypeError: below (HERE/index.ts:8:",
        ),
        (
            "const e: any = new Error('self'); e.cause = e; throw e;",
            "caused by self",
        ),
        (
            "throw new AggregateError([new Error('one'), 'two'], 'both');",
            "AggregateError: both",
        ),
        (
            "await Promise.any([Promise.reject(new Error('one')), Promise.reject('two')]);",
            "; one (HERE/index.ts:8:",
        ),
        ("throw 'x'.repeat(100000);", "xxx…"),
    ];
    for (body, words) in cases {
        let detail = detail_of(body).await;
        assert!(detail.contains(words), "{body}: {detail}");
        assert!(!detail.contains("becket:"), "{body}: {detail}");
        assert!(detail.len() < 5000, "{body}");
    }
}

#[tokio::test]
async fn the_line_is_right_in_every_function_of_a_file() {
    let source = format!(
        "{TYPES}enum Mode {{ Loud = 'loud' }}\nclass Thrower {{\n    constructor(private text: string) {{}}\n\
         \n    throw(): never {{\n        throw new Error(this.text + Mode.Loud);\n    }}\n}}\n\
         export default (pi: any) => pi.on('bad', () => new Thrower('very ').throw());\n"
    );
    let line = 1 + source
        .lines()
        .position(|line| line.contains("throw new Error"))
        .expect("a line");
    let loaded = load(&source).await;
    let failure = loaded.fire("bad", Vec::new()).await.expect_err("it throws");
    assert!(failure.detail.starts_with("very loud ("), "{}", failure.detail);
    assert!(
        failure.detail.contains(&format!("/index.ts:{line}:")),
        "{}",
        failure.detail
    );
}

#[tokio::test]
async fn what_cannot_be_parsed_is_told_with_its_line() {
    for (file, source, words) in [
        ("bad.ts", "const a = 1;\nconst b = (] => 2;\n", "/bad.ts:2:12: "),
        ("bad.js", "let a = 1;\nlet b = ;\n", "/bad.js:2:9: "),
        ("bad.ts", "let a = 1;\nlet a = 2;\n", "/bad.ts:"),
        ("bad.js", "export const a = 1;\nreturn 5;\n", "/bad.js:2:"),
    ] {
        let index = format!("import './{file}';\nexport default () => {{}};");
        let failure = try_load(&[("index.ts", &index), (file, source)], Limits::default())
            .await
            .err();
        let detail = failure.expect("it cannot be parsed").detail;
        assert!(detail.contains(words), "{source}: {detail}");
        assert!(
            !detail.contains("OxcDiagnostic") && !detail.contains("becket:"),
            "{detail}"
        );
    }
    let failure = try_load(&[("index.ts", "export default (] => 1;")], Limits::default())
        .await
        .err();
    let detail = failure.expect("it cannot be parsed").detail;
    assert!(detail.ends_with("\n    export default (] => 1;"), "{detail}");
}

#[tokio::test]
async fn an_import_that_is_not_there_is_told_with_the_line_that_imports_it() {
    let files = [
        (
            "index.ts",
            "import { helper } from './lib/helper';\nexport default () => helper();",
        ),
        (
            "lib/helper.ts",
            "// nothing\nimport x from \"not-there\";\nexport const helper = () => x;\n",
        ),
    ];
    let failure = try_load(&files, Limits::default())
        .await
        .err()
        .expect("it cannot load");
    assert!(failure.detail.contains("'not-there'"), "{}", failure.detail);
    assert!(
        failure.detail.contains("/lib/helper.ts:2:15"),
        "{}",
        failure.detail
    );
    let wrong = [
        (
            "index.ts",
            "import { nope } from './lib';\nexport default () => nope;",
        ),
        ("lib.ts", "export const a = 1;"),
    ];
    let failure = try_load(&wrong, Limits::default())
        .await
        .err()
        .expect("it cannot load");
    assert!(failure.detail.contains("nope"), "{}", failure.detail);
}

#[tokio::test]
async fn what_nobody_waits_for_names_its_line_too() {
    let source = format!(
        "{TYPES}export default (pi: any) => {{\n    setTimeout(() => {{ throw new Error('in a timer'); }}, 1);\n    \
         Promise.reject(new Error('nobody cares'));\n    console.error(new Error('shown').stack);\n}};"
    );
    let loaded = load(&source).await;
    let reports = loaded.reported("in a timer").await;
    for words in ["/index.ts:8:", "nobody cares (", "/index.ts:9:", "/index.ts:10:"] {
        assert!(reports.contains(words), "{words}: {reports}");
    }
}

#[tokio::test]
async fn places_are_known_when_the_code_comes_from_the_cache() {
    let cache = crate::room::folder(&[]);
    let files = crate::room::folder(&[(
        "index.ts",
        &format!("{TYPES}export default () => {{ throw new Error('cold or warm'); }};"),
    )]);
    for run in ["cold", "warm"] {
        let room = Arc::default();
        let kit = Arc::new(crate::room::kit(&room, Limits::default(), Some(cache.0.clone())));
        let failure = becket_js::Extension::load(&kit, "test", &files.0.join("index.ts"))
            .await
            .err();
        let detail = failure.expect("it throws").detail;
        assert!(
            detail.contains("cold or warm (") && detail.contains("/index.ts:7:"),
            "{run}: {detail}"
        );
    }
    let kept = std::fs::read_dir(&cache.0).expect("a cache").count();
    assert!(kept >= 2, "{kept} files");
}

#[tokio::test]
async fn the_console_says_what_node_would_say() {
    let loaded = load(
        r#"export default (pi: any) => {
            console.log("a text"); console.info("with", "more"); console.warn("careful"); console.debug("b");
            console.group("outer"); console.log("inner\nlines"); console.groupEnd();
            console.count(); console.count(); console.countReset(); console.count("x");
            console.assert(true, "never"); console.assert(false, "held not"); console.timeEnd("unknown");
            console.table([{ a: 1, b: "x" }, { a: 2 }]); console.error("\ud800 alone");
        };"#,
    )
    .await;
    let reports = loaded.room.reports.lock().expect("no panic").clone();
    let lines: Vec<(bool, String)> = reports
        .into_iter()
        .map(|report| match report {
            Report::Console { error, text } => (error, text),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        (false, "a text"),
        (false, "with more"),
        (true, "careful"),
        (false, "b"),
        (false, "outer"),
        (false, "  inner\n  lines"),
        (false, "default: 1"),
        (false, "default: 2"),
        (false, "x: 1"),
        (true, "Assertion failed: held not"),
        (true, "Warning: No such label 'unknown' for console.time()"),
    ];
    for (line, (error, text)) in lines.iter().zip(expected) {
        assert_eq!((line.0, line.1.as_str()), (error, text));
    }
    assert!(lines[11].1.starts_with("┌─────────┬───┬"), "{}", lines[11].1);
    assert_eq!(lines[12], (true, "\u{fffd} alone".into()));
}
