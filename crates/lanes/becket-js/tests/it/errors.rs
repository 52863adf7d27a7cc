//! Errors name the author's file, line and column, and say in plain words what is wrong.

use std::sync::Arc;

use becket_hooks::Field;
use becket_js::{Limits, Report};
use serde_json::json;
use testkit::needs;

use crate::room::{load, try_load, try_load_outside};

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

/// Loads source in the embedded engine and in Node, and returns what its handler `all` returns in both.
async fn in_both(source: &str) -> serde_json::Value {
    let embedded = load(source).await.value("all").await;
    if needs("node") {
        let loaded = try_load_outside(&[("index.ts", source)], Limits::default()).await;
        let node = loaded.unwrap_or_else(|failure| panic!("in Node: {failure}"));
        assert_eq!(embedded, node.value("all").await, "in Node, on the right");
    }
    embedded
}

#[tokio::test]
async fn a_stack_begins_with_the_error_and_has_the_author_s_lines() {
    let source = format!(
        "{TYPES}class Mine extends Error {{ name = 'Mine'; }}
        const told = (error: any) => [error.stack.split('\\n')[0], /index.ts:(\\d+):/.exec(error.stack)?.[1]];
        export default (pi: any) => pi.on('all', async () => {{
            const held: any = {{}};
            Error.captureStackTrace(held);
            const both = new AggregateError([new Error('inner')], 'both', {{ cause: new TypeError('below') }});
            const own: any = new Error('own');
            own.stack = 'mine';
            await null;
            return [told(new Error('plain')), told(new Mine('of a class'))[0], told(held), told(both),
                told(both.errors[0]), told(both.cause), own.stack, Object.keys(own), told(new Error()),
                told(await pi.call('nothing').catch((error: any) => error))];
        }});"
    );
    assert_eq!(
        in_both(&source).await,
        json!([
            ["Error: plain", "16"],
            "Mine: of a class",
            ["Error", "11"],
            ["AggregateError: both", "12"],
            ["Error: inner", "12"],
            ["TypeError: below", "12"],
            "mine",
            [],
            ["Error", "17"],
            ["Error: no nothing here", "18"],
        ])
    );
}

#[tokio::test]
async fn halves_of_characters_pass_wherever_texts_go() {
    let source = r#"export default (pi: any) => {
        const half = "ab😀".slice(0, 3);
        pi.on("all", async () => {
            const host = await pi.call("echo", { text: half, list: [half + "😀", "\\ud83d"] });
            return [half, host, { [half]: half }];
        });
        pi.on("change", (event: any) => { event.input.text += half; });
        pi.on("bad", () => { throw new Error("broken " + half); });
        pi.on("text", () => { throw half; });
    };"#;
    assert_eq!(
        in_both(source).await,
        json!([
            "ab\u{fffd}",
            {"text": "ab\u{fffd}", "list": ["ab\u{fffd}😀", "\\ud83d"]},
            {"ab\u{fffd}": "ab\u{fffd}"}
        ])
    );
    let mut both = vec![load(source).await];
    if needs("node") {
        both.extend(
            try_load_outside(&[("index.ts", source)], Limits::default())
                .await
                .ok(),
        );
    }
    for loaded in both {
        let fields = vec![Field::mutable("input", r#"{"text":"1"}"#)];
        let (_, changed) = loaded.fire("change", fields).await.expect("an answer");
        let changed: serde_json::Value = serde_json::from_str(&changed[0].1).expect("JSON");
        assert_eq!(changed["text"], "1ab\u{fffd}");
        for (name, words) in [("bad", "broken ab\u{fffd} ("), ("text", "ab\u{fffd}")] {
            let failure = loaded.fire(name, Vec::new()).await.expect_err(name);
            assert!(failure.detail.starts_with(words), "{failure}");
        }
    }
}

#[tokio::test]
async fn errors_that_nobody_catches_can_be_listened_for_and_repeated_ones_are_counted() {
    let loaded = load(
        "import fs from 'node:fs/promises';
        export default (pi: any) => {
            let count = 0;
            const timer = setInterval(() => {
                if (++count === 10) clearInterval(timer);
                throw new Error('again');
            }, 1);
            pi.on('listen', () => new Promise((done) => {
                const got: string[] = [];
                const note = (error: any) => { if (got.push(error.message) === 2) done(got); };
                process.on('uncaughtException', note);
                process.on('unhandledRejection', note);
                setTimeout(() => { throw new Error('thrown'); }, 1);
                setTimeout(() => { Promise.reject(new Error('rejected')); }, 20);
            }));
            pi.on('all', async () => {
                await fs.writeFile('pieces', (async function* () { yield 'a'; yield Buffer.from('b'); })());
                await fs.appendFile('pieces', ['c', 'd']);
                return fs.readFile('pieces', 'utf8');
            });
        };",
    )
    .await;
    loaded.reported("(10 times)").await;
    let heard = loaded.value("listen").await;
    assert_eq!(heard, json!(["thrown", "rejected"]));
    assert_eq!(loaded.value("all").await, "abcd");
    let reports = format!("{:?}", loaded.room.reports.lock().expect("no panic"));
    assert_eq!(reports.matches("again").count(), 2, "{reports}");
    assert!(
        !reports.contains("thrown") && !reports.contains("rejected"),
        "{reports}"
    );
}

#[tokio::test]
async fn what_only_node_has_is_told_with_the_way_to_it_while_it_runs() {
    let source = "export default (pi: any) => pi.on('all', async () => {
        const { connect } = await import(`node:${'net'}`); connect(1);
    });";
    let failure = load(source)
        .await
        .fire("all", Vec::new())
        .await
        .expect_err("it is refused");
    assert!(failure.detail.contains("net.connect"), "{failure}");
    assert!(
        failure.detail.contains("; Node would serve it: `js.engine"),
        "{failure}"
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
