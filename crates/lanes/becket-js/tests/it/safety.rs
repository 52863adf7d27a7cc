//! The limits of what an extension reaches outside of its engine: pipes without another end, endless files, keys of the
//! program, forbidden files, and programs that it leaves behind.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use becket_hooks::{Cause, Failure};
use becket_js::{Allowed, Limits};
use serde_json::json;

use crate::room::{Folder, Loaded, folder, load, load_from};

/// Little memory, and little time for tests that wait for its end.
const LIMITS: Limits = Limits {
    memory: 24 << 20,
    stack: 512 << 10,
    timeout: Duration::from_millis(1500),
};

/// An extension whose handler `bad` runs this, beside a handler that works.
fn source(body: &str) -> String {
    format!(
        "import fs from 'node:fs'; import * as cp from 'node:child_process'; import crypto from 'node:crypto';
        export default (pi: any) => {{
            pi.on('bad', async () => {{ {body} }});
            pi.on('works', () => fs.readFileSync('plain', 'utf8'));
        }};"
    )
}

/// A folder with a pipe, a plain file, and an extension.
fn with_pipe(body: &str) -> Folder {
    let folder = folder(&[("index.ts", &source(body)), ("plain", "fine")]);
    let made = Command::new("mkfifo")
        .arg(folder.0.join("pipe.js"))
        .status()
        .expect("mkfifo");
    assert!(made.success());
    folder
}

async fn with_limits(folder: Folder, limits: Limits) -> Loaded {
    let loaded = load_from(folder, "index.ts", limits, Allowed::default()).await;
    loaded.unwrap_or_else(|failure| panic!("{failure}"))
}

async fn fails(loaded: &Loaded, limits: Limits, what: &str) -> Failure {
    let failure = loaded
        .fire_within(limits.timeout, "bad", Vec::new())
        .await
        .expect_err(what);
    let works = loaded.fire("works", Vec::new()).await;
    assert_eq!(works.expect(what).0.as_deref(), Some(r#""fine""#), "after {what}");
    failure
}

#[tokio::test]
async fn pipes_that_nobody_serves_are_waited_for_until_the_deadline() {
    for body in [
        "return fs.readFileSync('pipe.js').length;",
        "return fs.readFileSync('pipe.js', 'utf8');",
        "return fs.readSync(fs.openSync('pipe.js'), Buffer.alloc(10));",
        "fs.writeFileSync('pipe.js', 'x');",
        "fs.appendFileSync('pipe.js', 'x');",
        "const fd = fs.openSync('pipe.js', 'r+'); for (;;) fs.writeSync(fd, 'x'.repeat(100000));",
        "return fs.promises.readFile('pipe.js');",
        "for await (const chunk of fs.createReadStream('pipe.js')) return chunk.length;",
        "await Promise.all(new Array(100).fill(0).map(() => fs.promises.readFile('pipe.js')));",
    ] {
        let loaded = with_limits(with_pipe(body), LIMITS).await;
        let failure = fails(&loaded, LIMITS, body).await;
        assert_eq!(failure.cause, Cause::TimedOut, "{body}: {failure}");
    }
    for (body, words) in [
        ("fs.copyFileSync('pipe.js', 'copy');", "EINVAL"),
        ("require('./pipe.js');", "does not exist"),
        ("await import('./pipe.js');", "does not exist"),
        (
            "(globalThis as any).__becket.native.read(`${process.cwd()}/pipe.js`);",
            "no plain file",
        ),
    ] {
        let loaded = with_limits(with_pipe(body), Limits::default()).await;
        let failure = fails(&loaded, Limits::default(), body).await;
        assert!(failure.detail.contains(words), "{body}: {failure}");
    }
}

#[tokio::test]
async fn a_pipe_with_somebody_at_the_other_end_works() {
    let body = "
        cp.spawn('sh', ['-c', 'sleep 0.2; echo one > pipe.js']);
        const one = fs.readFileSync('pipe.js', 'utf8');
        const reader = cp.spawn('sh', ['-c', 'sleep 0.2; cat pipe.js > got']);
        fs.writeFileSync('pipe.js', 'two'.repeat(100000));
        await new Promise((done) => reader.on('close', done));
        cp.spawn('sh', ['-c', 'sleep 0.2; echo three > pipe.js']);
        const three = await fs.promises.readFile('pipe.js', 'utf8');
        return [one, fs.statSync('got').size, three];";
    let loaded = with_limits(with_pipe(body), Limits::default()).await;
    assert_eq!(loaded.value("bad").await, json!(["one\n", 300_000, "three\n"]));
}

#[tokio::test]
async fn what_rust_holds_for_an_extension_has_the_limit_of_its_memory() {
    let patient = Limits {
        timeout: Duration::from_secs(60),
        ..LIMITS
    };
    for body in [
        "fs.readFileSync('/dev/zero');",
        "fs.readFileSync('/dev/zero', 'utf8');",
        "await fs.promises.readFile('/dev/zero');",
        "await Promise.all(new Array(50).fill(0).map(() => fs.promises.readFile('/dev/zero')));",
        "fs.truncateSync('plain2', 1e12); fs.readFileSync('plain2');",
        "cp.execSync('cat /dev/zero', { maxBuffer: Infinity });",
        "crypto.randomBytes(50e6);",
        "fs.truncateSync('plain2', 1e6); const all = []; for (;;) all.push(fs.readFileSync('plain2'));",
        "const all = []; for (;;) all.push(cp.execSync('head -c 900000 /dev/zero'));",
        "const all = []; for (;;) all.push(Buffer.from('x'.repeat(1e5)));",
        "const all = []; for (;;) all.push(Buffer.alloc(1e6));",
    ] {
        let folder = folder(&[("index.ts", &source(body)), ("plain", "fine"), ("plain2", "")]);
        let loaded = with_limits(folder, patient).await;
        let failure = loaded
            .fire_within(patient.timeout, "bad", Vec::new())
            .await
            .expect_err(body);
        assert_eq!(failure.cause, Cause::Raised, "{body}: {failure}");
        assert!(failure.detail.contains("24 MB"), "{body}: {failure}");
    }
}

#[tokio::test]
async fn there_are_only_so_many_open_files_at_a_time() {
    let body = "const all = [];
        try { for (;;) all.push(fs.openSync('plain')); } catch (e: any) { all.push(e.code); }
        all.slice(0, -1).forEach((fd) => fs.closeSync(fd as number));
        return [all.length, all.at(-1), fs.openSync('plain') > 0];";
    let folder = folder(&[("index.ts", &source(body)), ("plain", "fine")]);
    let loaded = with_limits(folder, Limits::default()).await;
    assert_eq!(loaded.value("bad").await, json!([257, "EMFILE", true]));
}

#[tokio::test]
async fn long_texts_arrive_whole() {
    let text = "ä\u{1}\"\n😀".repeat(50_000);
    let folder = folder(&[
        (
            "index.ts",
            &source(
                "const text = fs.readFileSync('long', 'utf8');
                const later = await fs.promises.readFile('long', 'utf8');
                return [text === later, text.length, text.slice(-6)];",
            ),
        ),
        ("long", &text),
    ]);
    let loaded = with_limits(folder, Limits::default()).await;
    let length = text.encode_utf16().count();
    assert_eq!(loaded.value("bad").await, json!([true, length, "ä\u{1}\"\n😀"]));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_and_environment_of_processes_cannot_be_read() {
    let source = "import fs from 'fs';
        export default (pi: any) => pi.on('all', async () => {
            fs.symlinkSync('/proc/self/environ', 'link.js');
            fs.symlinkSync('/proc/self', 'self');
            const all: string[] = [];
            const places = ['/proc/self/environ', '/proc/thread-self/environ', `/proc/${process.pid}/environ`,
                'link.js', 'self/environ', `/proc/${process.pid}/root/proc/${process.pid}/environ`, '/proc/self/mem',
                '/proc/self/maps', `/proc/${process.ppid}/environ`, '/proc/../proc/self/task/../environ'];
            for (const place of places) {
                for (const read of [() => fs.readFileSync(place), () => fs.readFileSync(place, 'utf8'),
                    () => fs.openSync(place), () => fs.promises.readFile(place), () => fs.copyFileSync(place, 'copy'),
                    () => fs.cpSync(place, 'copy', { dereference: true }), () => require(fs.realpathSync(place))]) {
                    try { await read(); all.push(`${place}: ${read}`); } catch (e: any) {
                        if (!/EACCES|ermission denied/.test(e.message)) all.push(`${place}: ${read}: ${e.message}`);
                    }
                }
            }
            return [all, fs.readFileSync('/proc/self/status', 'utf8').includes('Name:'), fs.existsSync('copy')];
        });";
    assert_eq!(load(source).await.value("all").await, json!([[], true, false]));
}

#[tokio::test]
async fn without_files_modules_come_from_the_extension_s_own_folder_only() {
    let source = "import own from './own.json'; import { near } from '../lib/near.ts'; import pkg from 'pkg';
        import { createRequire } from 'module';
        export default (pi: any) => pi.on('all', async () => {
            const all: any[] = [own, near, pkg];
            const elsewhere = createRequire('/etc/x.js');
            for (const load of [() => require('../../secret.json'), () => import('../../secret.json'),
                () => require(SECRET), () => import(`file://${SECRET}`), () => elsewhere(SECRET),
                () => require('../lib/link.json'), () => (globalThis as any).__becket.native.read(SECRET),
                () => require('../../not-there.json'), () => require.resolve('../../secret.json')]) {
                try { all.push(await load()); }
                catch (e: any) { all.push(/allowed\\.files/.test(e.message) || e.message); }
            }
            return all;
        });";
    let folder = folder(&[
        ("secret.json", "\"secret\""),
        ("kit/package.json", "{\"name\": \"kit\"}"),
        ("kit/src/own.json", "\"own\""),
        ("kit/lib/near.ts", "export const near: string = 'near';"),
        ("node_modules/pkg/index.js", "module.exports = 'pkg';"),
        ("home/x", ""),
    ]);
    let secret = std::fs::canonicalize(folder.0.join("secret.json")).expect("it is there");
    std::os::unix::fs::symlink(&secret, folder.0.join("kit/lib/link.json")).expect("a link");
    let source = source.replace("SECRET", &format!("{:?}", secret.display().to_string()));
    std::fs::write(folder.0.join("kit/src/index.ts"), source).expect("a file");
    let allowed = Allowed {
        files: false,
        ..Allowed::default()
    };
    let loaded = load_from(folder, "kit/src/index.ts", Limits::default(), allowed).await;
    let loaded = loaded.unwrap_or_else(|failure| panic!("{failure}"));
    let refused = vec![json!(true); 9];
    let mut expected = vec![json!("own"), json!("near"), json!("pkg")];
    expected.extend(refused);
    assert_eq!(loaded.value("all").await, json!(expected));
}

#[tokio::test]
async fn what_programs_leave_behind_ends_with_the_extension() {
    let source = "import { exec, execSync, spawn } from 'child_process'; import { promisify } from 'util';
        const left = 'setsid sleep 600 > /dev/null 2>&1 & echo $!';
        export default (pi: any) => pi.on('all', async () => [
            (await promisify(exec)(left)).stdout.trim(),
            execSync(left).toString().trim(),
            execSync(left, { env: { PATH: process.env.PATH } }).toString().trim(),
            String(spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).pid),
        ]);";
    let loaded = load(source).await;
    let pids: Vec<String> = serde_json::from_value(loaded.value("all").await).expect("four numbers");
    let living = |pid: &String| Path::new(&format!("/proc/{pid}/exe")).exists();
    assert!(pids.len() == 4 && pids.iter().all(living), "{pids:?}");
    drop(loaded);
    for _ in 0..2000 {
        if !pids.iter().any(living) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("some of {pids:?} still run");
}

#[test]
fn the_files_of_an_extension_are_those_that_it_imports_by_a_path() {
    let folder = folder(&[
        (
            "index.ts",
            "import './one'; const two = await import('./two.js'); broken(((",
        ),
        ("one/index.ts", "export * from \"../four.mjs\";"),
        ("two.ts", "import \"./index\"; const words = './five';"),
        (
            "four.mjs",
            "import 'pkg'; import './picture.png'; import 'node:fs';",
        ),
        ("five.ts", ""),
        ("picture.png", ""),
        ("node_modules/pkg/index.js", ""),
    ]);
    let found = becket_js::own_files(&folder.0.join("index.ts"));
    for (name, is_part) in [
        ("one/index.ts", true),
        ("two.ts", true),
        ("four.mjs", true),
        ("five.ts", false),
        ("picture.png", false),
        ("node_modules/pkg/index.js", false),
    ] {
        let file = folder.0.join(name).canonicalize().expect("it is there");
        assert_eq!(found.contains(&file), is_part, "{name}: {found:?}");
    }
    assert!(becket_js::own_files(&folder.0.join("not-there.ts")).is_empty());
}
