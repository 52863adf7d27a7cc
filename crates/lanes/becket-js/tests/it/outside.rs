//! Extensions in Node, as the crate offers them. What a user sees of it is tested with the program.

use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{Cause, Field};
use becket_js::{Engine, Extension, Limits};
use testkit::needs;

use crate::room::{Loaded, kit_outside, try_load_outside};

async fn load(source: &str) -> Option<Loaded> {
    if !needs("node") {
        return None;
    }
    let loaded = try_load_outside(&[("index.ts", source)], Limits::default()).await;
    Some(loaded.unwrap_or_else(|failure| panic!("{failure}")))
}

/// The files of an extension show what it needs; nothing of it runs.
// tidy: a table
#[test]
fn node_is_chosen_by_what_the_files_say() {
    if !needs("node") {
        return;
    }
    const RUN: &str = "throw new Error('it ran');";
    for (engine, files) in [
        (
            "embedded",
            vec![
                (
                    "index.ts",
                    "import 'node:net'; import { join } from 'path'; import './a'; join();",
                ),
                ("a.ts", RUN),
            ],
        ),
        (
            "embedded",
            vec![("index.ts", "import { isIP } from 'net'; isIP('');")],
        ),
        (
            "node",
            vec![
                (
                    "index.ts",
                    "export default async () => (await import('./late.ts')).f;",
                ),
                ("late.ts", "export { f } from './later';"),
                (
                    "later.ts",
                    "import { Socket } from 'net'; export const f = Socket;",
                ),
            ],
        ),
        (
            "embedded",
            vec![
                ("index.ts", "export default () => import('pkg').catch(() => 0);"),
                ("node_modules/pkg/index.js", "require('net').connect(1);"),
            ],
        ),
        (
            "node",
            vec![(
                "index.ts",
                "import { Socket, isIP } from 'net'; new Socket(isIP(''));",
            )],
        ),
        (
            "embedded",
            vec![("index.ts", "import type { Socket } from 'net'; let s: Socket;")],
        ),
        (
            "node",
            vec![
                ("index.ts", "import './a';"),
                (
                    "a.ts",
                    "import * as zlib from 'node:zlib'; export const f = () => zlib.brotliCompress;",
                ),
            ],
        ),
        (
            "node",
            vec![(
                "index.ts",
                "export default async () => (await import('http')).createServer();",
            )],
        ),
        (
            "node",
            vec![("index.ts", "try { require('node:net').createServer } catch {}")],
        ),
        (
            "node",
            vec![(
                "index.ts",
                "const { DatabaseSync } = require('node:sqlite'); require('node:net').createServer;",
            )],
        ),
        ("node", vec![("index.ts", "new WebAssembly.Module(bytes);")]),
        (
            "embedded",
            vec![("index.ts", "import 'not-there'; import './nor-this';")],
        ),
        ("embedded", vec![("index.ts", "this is no TypeScript")]),
        // Of a package only those needs count that it cannot do without.
        (
            "node",
            vec![
                ("index.ts", "import 'pkg';"),
                ("node_modules/pkg/index.js", "const lib = require('./lib');"),
                (
                    "node_modules/pkg/lib.js",
                    "exports.f = () => require('net').connect(1);",
                ),
            ],
        ),
        (
            "embedded",
            vec![
                ("index.ts", "import 'pkg';"),
                (
                    "node_modules/pkg/index.js",
                    "try { require('./lib') } catch {} typeof WebAssembly;",
                ),
                ("node_modules/pkg/lib.js", "require('net').connect(1);"),
            ],
        ),
        (
            "embedded",
            vec![
                ("index.ts", "import 'pkg';"),
                (
                    "node_modules/pkg/index.js",
                    "require('crypto').createSign; require('fs').statfs;",
                ),
            ],
        ),
        (
            "node",
            vec![
                ("index.ts", "import 'pkg';"),
                (
                    "node_modules/pkg/package.json",
                    r#"{ "main": "build/addon.node" }"#,
                ),
                ("node_modules/pkg/build/addon.node", ""),
            ],
        ),
        (
            "node",
            vec![
                ("index.ts", "import 'pkg';"),
                (
                    "node_modules/pkg/package.json",
                    r#"{ "dependencies": { "bindings": "1" } }"#,
                ),
                ("node_modules/pkg/index.js", RUN),
            ],
        ),
        (
            "node",
            vec![
                (
                    "index.ts",
                    "export default () => { const load = () => require('pkg'); };",
                ),
                (
                    "node_modules/pkg/package.json",
                    r#"{ "dependencies": { "bindings": "1" } }"#,
                ),
                ("node_modules/pkg/index.js", RUN),
            ],
        ),
        (
            "embedded",
            vec![
                ("index.ts", "import 'pkg';"),
                ("node_modules/pkg/index.js", RUN),
                ("node_modules/other/package.json", "{}"),
                ("node_modules/other/binding.gyp", ""),
            ],
        ),
    ] {
        let (kit, folder) = kit_outside(&Arc::default(), &files, Engine::Auto, Limits::default());
        let chosen = Extension::engine_for(&kit, &folder.0.join("index.ts"));
        assert_eq!(chosen.expect("an engine"), engine, "{files:?}");
    }
}

#[tokio::test]
async fn fields_are_read_when_somebody_looks_and_changes_come_back() {
    let code = r#"export default (pi: any) => {
        pi.on("look", (event: any) => event.large.length + event.small);
        pi.on("change", (event: any) => { event.large.push(1); event.small = 2; event.fixed.x = 2; });
        pi.on("replace", async (event: any) => { await null; event.large = ["new"]; });
        pi.on("same", (event: any) => { event.small = 1; event.large.length; });
    }"#;
    let Some(loaded) = load(code).await else { return };
    let large = format!("[{}]", vec!["\"a line\"\t"; 2000].join(",\n"));
    let fields = || {
        vec![
            Field::mutable("large", large.as_str()),
            Field::mutable("small", "1.0"),
            Field::new("fixed", r#"{"x":1}"#),
        ]
    };
    let answered = |name: &'static str| loaded.fire(name, fields());
    assert_eq!(
        answered("look").await.expect("an answer").0.as_deref(),
        Some("2001")
    );
    let (returned, changed) = answered("change").await.expect("an answer");
    assert_eq!(returned, None);
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed[0].0 == "large" && changed[0].1.ends_with(",1]"));
    assert_eq!(changed[1], ("small", "2".into()));
    let (_, changed) = answered("replace").await.expect("an answer");
    assert_eq!(changed, [("large", "[\"new\"]".into())]);
    assert_eq!(answered("same").await.expect("an answer").1, []);
}

#[tokio::test]
async fn what_is_thrown_is_told_with_its_line_and_its_causes() {
    let code = r#"interface Gone { x: string }
export default (pi: any) => {
    pi.on("throw", () => {
        throw new RangeError("outer", { cause: new Error("inner") });
    });
    pi.on("circle", () => { const circle: any = {}; circle.self = circle; return circle; });
    pi.on("word", () => { throw "a word"; });
    pi.on("ask", async () => {
        try { await pi.call("nothing", {}); } catch (error: any) { return [error.message, error.code]; }
    });
}"#;
    let Some(loaded) = load(code).await else { return };
    for (name, words) in [
        (
            "throw",
            &["RangeError: outer", "index.ts:4:", "caused by inner"][..],
        ),
        ("circle", &["what the handler returned cannot be written as JSON"]),
        ("word", &["a word"]),
    ] {
        let failure = loaded.fire(name, Vec::new()).await.expect_err("it throws");
        assert_eq!(failure.cause, Cause::Raised);
        for word in words {
            assert!(failure.detail.contains(word), "{name}: {failure}");
        }
    }
    let answer = loaded.value("ask").await;
    assert_eq!(answer, serde_json::json!(["no nothing here", "ENONE"]));
}

#[tokio::test]
async fn a_dialog_stops_the_clock() {
    let code = r#"export default (pi: any) => {
        pi.on("slow", () => new Promise((done) => setTimeout(done, 1500, "at last")));
        pi.on("never", () => new Promise(() => {}));
    }"#;
    let Some(loaded) = load(code).await else { return };
    let pause = loaded.extension.pause_clock();
    let (returned, _) = loaded
        .fire_within(Duration::from_millis(500), "slow", Vec::new())
        .await
        .expect("an answer");
    assert_eq!(returned.as_deref(), Some("\"at last\""));
    drop(pause);
    let failure = loaded
        .fire_within(Duration::from_millis(200), "never", Vec::new())
        .await
        .expect_err("nobody answers");
    assert_eq!(failure.cause, Cause::TimedOut);
    // The process reacts, and so it is not ended.
    assert_eq!(loaded.value("slow").await, "at last");
}
