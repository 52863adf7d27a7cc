//! Packages from the registry, unchanged: each is loaded and tried.

use std::process::Command;

use becket_js::{Allowed, Limits};
use serde_json::{Value, json};

use testkit::skipped;

use crate::room::{folder, load_from};

/// The packages to install, an expression for each, and its expected value.
fn table() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("ms@2.1.3", "import ms from 'ms'; const answer = () => [ms('2 days'), ms(60000)];", json!([172800000, "1m"])),
        (
            "yaml@2.8.1",
            "import { parse, stringify } from 'yaml'; const answer = () => [parse('a: [1, {b: c}]'), stringify({ x: [1] })];",
            json!([{ "a": [1, { "b": "c" }] }, "x:\n  - 1\n"]),
        ),
        ("js-yaml@4.1.0", "import yaml from 'js-yaml'; const answer = () => yaml.load('a: 1');", json!({ "a": 1 })),
        ("marked@16.4.1", "import { marked } from 'marked'; const answer = () => marked('# hi');", json!("<h1>hi</h1>\n")),
        (
            "minimatch@9.0.5",
            "import { minimatch } from 'minimatch'; const answer = () => [minimatch('a/b.ts', '**/*.ts'), minimatch('a', 'b')];",
            json!([true, false]),
        ),
        (
            "zod@3.25.76",
            "import { z } from 'zod'; const answer = () => z.object({ a: z.number() }).safeParse({ a: 'x' }).success;",
            json!(false),
        ),
        (
            "proper-lockfile@4.1.2",
            "import lockfile from 'proper-lockfile'; import fs from 'fs';
             const answer = async () => { fs.writeFileSync('f', ''); const free = await lockfile.lock('f');
                const held = await lockfile.check('f'); await free(); return [held, await lockfile.check('f')]; };",
            json!([true, false]),
        ),
        ("semver@7.7.2", "import semver from 'semver'; const answer = () => semver.satisfies('1.2.3', '^1.0.0');", json!(true)),
        (
            "fast-glob@3.3.3",
            "import fg from 'fast-glob'; const answer = async () => fg('*.ts');",
            json!(["index.ts"]),
        ),
        ("chalk@5.6.2", "import chalk from 'chalk'; const answer = () => chalk.red('x').includes('x');", json!(true)),
        ("nanoid@5.1.6", "import { nanoid } from 'nanoid'; const answer = () => nanoid().length;", json!(21)),
        ("diff@8.0.2", "import { diffLines } from 'diff'; const answer = () => diffLines('a\\n', 'b\\n').length;", json!(2)),
        (
            "commander@14.0.1",
            "import { Command } from 'commander'; const answer = () => new Command().option('-x').parse(['-x'], { from: 'user' }).opts();",
            json!({ "x": true }),
        ),
        (
            "@sinclair/typebox@0.34.41",
            "import { Type } from '@sinclair/typebox'; import { Value } from '@sinclair/typebox/value';
             const answer = () => Value.Check(Type.Object({ a: Type.String() }), { a: 'x' });",
            json!(true),
        ),
        ("p-limit@7.2.0", "import pLimit from 'p-limit'; const answer = () => pLimit(1)(async () => 5);", json!(5)),
        (
            "eventemitter3@5.0.1",
            "import E from 'eventemitter3'; const answer = () => { const e = new E(); let g; e.on('a', (v) => g = v); e.emit('a', 1); return g; };",
            json!(1),
        ),
    ]
}

#[tokio::test]
async fn packages_from_the_registry_work() {
    let room = folder(&[("package.json", "{}")]);
    let wanted = table();
    let install = Command::new("npm")
        .args([
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
            "--fetch-timeout=60000",
        ])
        .args(wanted.iter().map(|(package, ..)| *package))
        .current_dir(&room.0)
        .output();
    match install {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            return skipped(&format!(
                "the npm registry: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        Err(error) => return skipped(&format!("npm: {error}")),
    }
    let mut wrong = Vec::new();
    for (package, source, expected) in wanted {
        let own = folder(&[(
            "index.ts",
            &format!("{source} export default (pi: any) => pi.on('all', answer);"),
        )]);
        std::os::unix::fs::symlink(room.0.join("node_modules"), own.0.join("node_modules")).expect("a link");
        let found = match load_from(own, "index.ts", Limits::default(), Allowed::default()).await {
            Ok(loaded) => match loaded.fire("all", Vec::new()).await {
                Ok((answer, _)) => serde_json::from_str(&answer.unwrap_or_default()).unwrap_or_default(),
                Err(failure) => json!(failure.detail),
            },
            Err(failure) => json!(failure.detail),
        };
        if found != expected {
            wrong.push(format!("{package}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
