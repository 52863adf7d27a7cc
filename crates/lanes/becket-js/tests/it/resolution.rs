//! Modules as authors write them: extensions, folders, packages, both kinds of modules.

use becket_js::{Limits, imports};
use serde_json::json;

use testkit::needs;

use crate::room::{folder, try_load, try_load_outside};

/// Loads files, the first one as the extension, and returns what its handler `all` returns: the same in both engines.
async fn value(files: &[(&str, &str)]) -> serde_json::Value {
    let loaded = try_load(files, Limits::default()).await;
    let embedded = loaded.unwrap_or_else(|failure| panic!("{failure}"));
    let embedded = embedded.value("all").await;
    if needs("node") {
        let loaded = try_load_outside(files, Limits::default()).await;
        let node = loaded.unwrap_or_else(|failure| panic!("in Node: {failure}"));
        assert_eq!(embedded, node.value("all").await, "in Node, on the right");
    }
    embedded
}

async fn problem(files: &[(&str, &str)]) -> String {
    match try_load(files, Limits::default()).await {
        Ok(_) => panic!("it loads"),
        Err(failure) => failure.detail,
    }
}

#[tokio::test]
async fn relative_imports_find_what_is_meant() {
    let files = [
        (
            "index.ts",
            r#"import a from "./a.js"; import b from "./b"; import c from "./c.mjs"; import d from "./folder";
            import e from "./packaged"; import f from "./view.jsx"; import g from "./a.js?again"; import h from "..";
            import data from "./data.json"; import typed from "./data.json" with { type: "json" };
            export default (pi: any) => pi.on("all", async () => [a, b, c, d, e, f, g, data.x, typed === data, h,
                (await import("./b.ts")).default, (await import(new URL("./a.ts", import.meta.url).href)).default]);"#,
        ),
        ("a.ts", "export default 'a.ts' as string;"),
        ("b.ts", "export default 'b.ts';"),
        ("c.mts", "export default 'c.mts';"),
        ("view.tsx", "export default 'view.tsx';"),
        ("folder/index.ts", "export default 'folder/index.ts';"),
        ("packaged/package.json", r#"{ "main": "lib/main" }"#),
        ("packaged/lib/main.js", "export default 'main';"),
        ("data.json", r#"{ "x": 1 }"#),
    ];
    // `..` is the folder that all tests share; an extension in its own folder has one to itself.
    let moved: Vec<(String, &str)> = files
        .iter()
        .map(|(name, text)| (format!("ext/{name}"), *text))
        .collect();
    let mut moved: Vec<(&str, &str)> = moved.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    moved.push(("index.js", "export default 'above';"));
    assert_eq!(
        value(&moved).await,
        json!([
            "a.ts",
            "b.ts",
            "c.mts",
            "folder/index.ts",
            "main",
            "view.tsx",
            "a.ts",
            1,
            true,
            "above",
            "b.ts",
            "a.ts"
        ])
    );
}

#[tokio::test]
async fn packages_say_what_their_files_are_called() {
    let files = [
        (
            "ext/index.ts",
            r##"import both from "both"; import sub from "both/sub"; import deep from "both/deep/x/y";
            import own from "#own"; import scoped from "@s/p"; import self from "me/thing"; import plain from "plain/lib/a";
            export default (pi: any) => pi.on("all", () => [both, require("both").which, sub, deep, own, scoped, self, plain]);"##,
        ),
        (
            "ext/package.json",
            r##"{ "name": "me", "exports": { "./thing": "./thing.ts" }, "imports": { "#own": { "node": "./own.ts" } } }"##,
        ),
        ("ext/thing.ts", "export default 'self';"),
        ("ext/own.ts", "export default 'own';"),
        (
            "ext/node_modules/both/package.json",
            r#"{ "type": "module", "exports": { ".": { "types": "./x.d.ts", "import": "./m.js", "require": "./c.cjs" },
                "./sub": ["./sub.js"], "./deep/*": { "default": "./lib/*.js" }, "./lib/*": null } }"#,
        ),
        ("ext/node_modules/both/m.js", "export default 'import';"),
        ("ext/node_modules/both/c.cjs", "exports.which = 'require';"),
        ("ext/node_modules/both/sub.js", "export default 'sub';"),
        ("ext/node_modules/both/lib/x/y.js", "export default 'deep';"),
        ("node_modules/@s/p/package.json", r#"{ "main": "./main.js" }"#),
        (
            "node_modules/@s/p/main.js",
            "module.exports = 'scoped, from above';",
        ),
        ("node_modules/plain/lib/a.js", "module.exports = 'plain';"),
    ];
    assert_eq!(
        value(&files).await,
        json!([
            "import",
            "require",
            "sub",
            "deep",
            "own",
            "scoped, from above",
            "self",
            "plain"
        ])
    );
}

#[tokio::test]
async fn commonjs_works_in_both_directions() {
    let files = [
        (
            "index.ts",
            r#"import whole, { named, late, passed, starred } from "cjs"; import * as all from "cjs";
            import transpiled, { extra } from "transpiled"; import esm from "esm";
            const direct = require("cjs");
            export default (pi: any) => pi.on("all", () => [whole === direct, named, late, passed, starred,
                "named" in all, all.default === whole, transpiled, extra, esm, typeof require.resolve("cjs"),
                Object.keys(require.cache).length > 0]);"#,
        ),
        (
            "node_modules/cjs/index.js",
            r#"#!/usr/bin/env node
            exports.named = 'named'; Object.defineProperty(exports, 'late', { enumerable: true, get: () => 'late' });
            __exportStar(require('./star'), exports);
            exports.passed = require('./passed.json').deep;
            function __exportStar(from, to) { Object.assign(to, from); }"#,
        ),
        ("node_modules/cjs/star.js", "exports.starred = 'star';"),
        ("node_modules/cjs/passed.json", r#"{ "deep": "json" }"#),
        (
            "node_modules/transpiled/index.js",
            "exports.__esModule = true; exports.default = 'the default'; exports.extra = 1;",
        ),
        // Packages among each other see what Node shows them.
        (
            "node_modules/esm/package.json",
            r#"{ "type": "module", "main": "i.js" }"#,
        ),
        (
            "node_modules/esm/i.js",
            "import t from 'transpiled'; export default typeof t === 'object' && t.default;",
        ),
    ];
    assert_eq!(
        value(&files).await,
        json!([
            true,
            "named",
            "late",
            "json",
            "star",
            true,
            true,
            "the default",
            1,
            "the default",
            "string",
            true
        ])
    );
}

#[tokio::test]
async fn require_knows_files_folders_circles_and_modules() {
    let files = [
        (
            "index.ts",
            r#"import { createRequire } from "node:module";
            const made = createRequire(import.meta.url);
            export default (pi: any) => pi.on("all", () => {
                const a = require("./a.cjs");
                const codes = ["./nothing", "no-package"].map((name) => {
                    try { require(name); return "loaded"; } catch (error: any) { return error.code; }
                });
                return [a, made("./a.cjs") === a, require("./module.mjs").default, require("./typed").default,
                    made("fs") === require("node:fs"), __filename.endsWith("/index.ts"),
                    __dirname === import.meta.dirname, codes, require("./throws.cjs?x") === undefined];
            });"#,
        ),
        (
            "a.cjs",
            "exports.early = 1; const b = require('./b.cjs'); exports.b = b; exports.me = [typeof __filename, typeof __dirname, \
             module.exports === exports, this === exports, require.cache[__filename] === module];",
        ),
        (
            "b.cjs",
            "exports.sawEarly = require('./a.cjs').early; exports.sawB = require('./a.cjs').b === undefined;",
        ),
        ("module.mjs", "export default 'an ES module';"),
        (
            "typed.ts",
            "const words: string = 'TypeScript'; export default words;",
        ),
        ("throws.cjs", "module.exports = undefined;"),
    ];
    assert_eq!(
        value(&files).await,
        json!([
            { "early": 1, "b": { "sawEarly": 1, "sawB": true }, "me": ["string", "string", true, true, true] },
            true, "an ES module", "TypeScript", true, true, true,
            ["MODULE_NOT_FOUND", "MODULE_NOT_FOUND"], true,
        ])
    );
}

#[tokio::test]
async fn what_is_not_served_is_not_found() {
    let files = [(
        "index.ts",
        r#"export default (pi: any) => pi.on("all", () => ["node:quic", "sqlite"].map((name) => {
            try { require(name); return "loaded"; } catch (error: any) { return error.code; }
        }));"#,
    )];
    let loaded = try_load(&files, Limits::default()).await;
    let loaded = loaded.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(
        loaded.value("all").await,
        json!(["MODULE_NOT_FOUND", "MODULE_NOT_FOUND"])
    );
}

#[tokio::test]
async fn an_extension_may_be_commonjs() {
    let files = [(
        "index.js",
        "module.exports = (pi) => pi.on('all', () => require('path').basename(__filename));",
    )];
    assert_eq!(value(&files).await, json!("index.js"));
    let files = [(
        "index.ts",
        "export default (pi: any) => { const __dirname = 'mine'; pi.on('all', () => __dirname); }",
    )];
    assert_eq!(value(&files).await, json!("mine"));
    let files = [(
        "index.ts",
        "const __dirname = 'mine', require = 1; export default (pi: any) => pi.on('all', () => [__dirname, require]);",
    )];
    assert_eq!(value(&files).await, json!(["mine", 1]));
}

#[tokio::test]
async fn a_module_is_one_thing_however_it_is_asked_for() {
    let files = [
        (
            "index.ts",
            r#"import { state } from "./state.ts"; import * as fs from "fs"; import fs2, { existsSync } from "node:fs";
            import link from "./link.ts";
            export default (pi: any) => pi.on("all", async () => [require("./state").state === state,
                (await import("./state.js")).state === state, fs.existsSync === existsSync, fs2 === require("fs"),
                fs.default === fs2, link === state]);"#,
        ),
        ("state.ts", "export const state = {};"),
        (
            "link.ts",
            "import { state } from './state'; export default state;",
        ),
    ];
    assert_eq!(value(&files).await, json!([true, true, true, true, true, true]));
}

#[tokio::test]
async fn links_lead_to_the_file_behind_them() {
    let folder = folder(&[
        ("real/state.ts", "export const state = { url: import.meta.url };"),
        (
            "index.ts",
            r#"import { state } from "./real/state"; import * as other from "./linked/state";
            export default (pi: any) => pi.on("all", () => [state === other.state, state.url.endsWith("/real/state.ts"),
                import.meta.resolve("./linked/state").endsWith("/real/state.ts"), import.meta.resolve("node:fs")]);"#,
        ),
    ]);
    std::os::unix::fs::symlink(folder.0.join("real"), folder.0.join("linked")).expect("a link");
    let loaded = crate::room::load_from(
        folder,
        "index.ts",
        Limits::default(),
        becket_js::Allowed::default(),
    )
    .await;
    let value = loaded
        .unwrap_or_else(|failure| panic!("{failure}"))
        .value("all")
        .await;
    assert_eq!(value, json!([true, true, true, "node:fs"]));
}

// tidy: a table
#[tokio::test]
async fn what_cannot_be_found_is_named_with_who_wants_it() {
    for (source, words) in [
        (
            "import x from './nothing'; export default () => x;",
            ["./nothing", "index.ts"],
        ),
        (
            "import x from 'no-such-package'; export default () => x;",
            ["no-such-package", "index.ts"],
        ),
        (
            "import x from 'node:quic'; export default () => x;",
            ["node:quic", "Node has no such module"],
        ),
        (
            "import x from 'sqlite'; export default () => x;",
            ["sqlite", "node_modules"],
        ),
        (
            "import x from 'https://a.b/c.js'; export default () => x;",
            ["https://a.b", "only files and packages"],
        ),
        (
            "import x from '#inner'; export default () => x;",
            ["#inner", "package.json"],
        ),
        (
            "import x from './bad.json'; export default () => x;",
            ["bad.json", "JSON"],
        ),
        (
            "import x from 'internal/errors'; export default () => x;",
            ["internal/errors", "index.ts"],
        ),
        (
            "import x from './native.node'; export default () => x;",
            ["native.node", "not served"],
        ),
    ] {
        let files = [("index.ts", source), ("bad.json", "{ bad"), ("native.node", "")];
        let detail = problem(&files).await;
        assert!(
            words.iter().all(|word| detail.contains(word)),
            "{source}: {detail}"
        );
    }
    let files = [
        (
            "index.ts",
            "import x from 'hidden/inner'; export default () => x;",
        ),
        (
            "node_modules/hidden/package.json",
            r#"{ "exports": { ".": "./i.js" } }"#,
        ),
        ("node_modules/hidden/inner.js", "module.exports = 1;"),
    ];
    let detail = problem(&files).await;
    assert!(
        detail.contains("hidden/inner") && detail.contains("exports"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_circle_that_the_engine_cannot_run_is_an_error() {
    let files = [
        (
            "index.ts",
            "import './other.cjs'; export const x = 1; export default (pi: any) => pi.on('all', () => 1);",
        ),
        ("other.cjs", "require('./index.ts');"),
    ];
    let detail = problem(&files).await;
    assert!(detail.contains("still being run"), "{detail}");
}

#[test]
fn files_and_packages_are_found_by_looking() {
    let room = folder(&[
        ("main.ts", ""),
        ("own.ts", ""),
        ("data.json", "{}"),
        ("package.json", "{}"),
        ("node_modules/ms/package.json", "{\"main\": \"lib.js\"}"),
        ("node_modules/ms/lib.js", ""),
    ]);
    let root = room.0.canonicalize().expect("a folder");
    let main = root.join("main.ts");
    let names = |source: &str| {
        let found = imports(&main, source);
        let all = found.files.iter().chain(&found.manifests);
        let all = all.map(|file| {
            file.strip_prefix(&root)
                .expect("it lies there")
                .display()
                .to_string()
        });
        all.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("import x from './own'"), "own.ts package.json");
    assert_eq!(names("import d from \"./data.json\""), "data.json package.json");
    let of_package = "node_modules/ms/lib.js node_modules/ms/package.json package.json";
    for source in [
        "import ms from 'ms'",
        "const ms = require(\"ms\")",
        "await import('ms')",
        "import 'ms'",
    ] {
        assert_eq!(names(source), of_package, "{source}");
    }
    assert_eq!(names("import fs from 'node:fs'"), "package.json");
    let open = imports(&main, "a;\nrequire(name)")
        .open
        .expect("it cannot be followed");
    assert!(open.contains("line 2"), "{open}");
    assert!(imports(&main, "readFileSync(__dirname + '/x')").whole_folder);
    assert!(!imports(&main, "import 'ms'").whole_folder);
}

#[tokio::test]
// tidy: a table
async fn names_that_a_module_does_not_have_are_undefined() {
    let files = [
        (
            "index.ts",
            r#"import { Opts, real, Again, nothing, star } from "./barrel"; import { nope, join } from "node:path";
            import { version } from "./package.json"; import { late, never } from "./old.cjs"; import lone from "./types";
            import made from "./made.cjs"; import { Kit } from "test:prelude"; import { first } from "./cycle-a"; import { ghost } from "packaged";
            export { Gone } from "test:prelude"; export { Opts };
            export default (pi: any) => pi.on("all", async () => {
                const barrel = await import("./barrel");
                return [typeof Opts, real, typeof Again, typeof nothing, star, typeof nope, join("a", "b"), version, late,
                    typeof never, typeof lone, typeof Kit, first(), typeof ghost, typeof barrel.real, made];
            });"#,
        ),
        (
            "barrel.ts",
            r#"export { Opts, real, nothing } from "./types"; import { Again } from "./types"; export { Again };
            export * from "./stars";"#,
        ),
        (
            "types.ts",
            "export interface Opts { a: string } export type Again = Opts; export const real = 'real';",
        ),
        (
            "stars.ts",
            "export * from './barrel'; export * from './star'; export default 1;",
        ),
        ("star.ts", "export const star = 'star';"),
        ("package.json", r#"{ "version": "1.2" }"#),
        (
            "made.cjs",
            "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'its default';",
        ),
        (
            "old.cjs",
            "for (const name of ['late']) module.exports[name] = name;",
        ),
        (
            "cycle-a.ts",
            "import { second, Type } from './cycle-b'; export const first = () => second() + typeof Type;",
        ),
        (
            "cycle-b.ts",
            "import { first, Kind } from './cycle-a'; export const second = () => typeof first + typeof Kind;",
        ),
        (
            "node_modules/packaged/package.json",
            r#"{ "type": "module", "main": "a.js" }"#,
        ),
        ("node_modules/packaged/a.js", "export const other = 1;"),
    ];
    assert_eq!(
        value(&files).await,
        json!([
            "undefined",
            "real",
            "undefined",
            "undefined",
            "star",
            "undefined",
            "a/b",
            "1.2",
            "late",
            "undefined",
            "undefined",
            "undefined",
            "functionundefinedundefined",
            "undefined",
            "string",
            "its default"
        ])
    );
}
