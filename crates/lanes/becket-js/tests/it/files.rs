//! Files and programs: real ones, with the errors that Node gives.

use std::time::Duration;

use becket_js::{Allowed, Limits, Report};
use serde_json::json;

use crate::room::{folder, load, load_from};

async fn value(body: &str) -> serde_json::Value {
    let source = format!(
        "import fs from 'node:fs'; import path from 'path'; import os from 'os'; import * as cp from 'child_process';
        import {{ promisify }} from 'util';
        export default (pi: any) => pi.on('all', async () => {{ {body} }});"
    );
    load(&source).await.value("all").await
}

// tidy: a table
#[tokio::test]
async fn files_are_read_written_and_told_about() {
    let found = value(
        r#"
        const at = (name: string) => path.join(process.cwd(), name);
        fs.writeFileSync("a.txt", "one\n");
        fs.appendFileSync(at("a.txt"), Buffer.from("two ✓"));
        fs.mkdirSync("deep/er/est", { recursive: true });
        await fs.promises.writeFile(new URL("file://" + at("deep/b.bin")), new Uint8Array([0, 255, 1]));
        fs.copyFileSync("a.txt", "c.txt");
        fs.renameSync("c.txt", "d.txt");
        fs.symlinkSync("a.txt", "link");
        fs.cpSync("deep", "copy", { recursive: true });
        fs.truncateSync("d.txt", 3);
        fs.utimesSync("d.txt", 1, 2);
        fs.chmodSync("d.txt", 0o600);
        const fd = fs.openSync("e.txt", "w+");
        fs.writeSync(fd, "hello");
        const piece = Buffer.alloc(3);
        const count = fs.readSync(fd, piece, 0, 3, 1);
        fs.closeSync(fd);
        const stat = fs.statSync("d.txt");
        const handle = await fs.promises.open("a.txt");
        const first = await handle.read(Buffer.alloc(4), 0, 4, 0);
        await handle.close();
        const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "becket-"));
        fs.rmSync(temporary, { recursive: true });
        fs.rmSync("not there", { force: true });
        const names = fs.readdirSync(".", { withFileTypes: true }).map((e) => [e.name, e.isFile(), e.isDirectory(), e.isSymbolicLink()]);
        return [fs.readFileSync("a.txt", "utf8"), fs.readFileSync("deep/b.bin").toString("hex"), fs.readFileSync("a.txt", { encoding: "base64" }),
            fs.existsSync("d.txt"), fs.existsSync("nope"), fs.readlinkSync("link"), fs.realpathSync("link") === fs.realpathSync("a.txt"),
            fs.lstatSync("link").isSymbolicLink(), stat.size, stat.mtimeMs, stat.mtime instanceof Date, (stat.mode & 0o777).toString(8), stat.isFile(),
            count, piece.toString(), first.bytesRead, first.buffer.toString(), fs.existsSync(temporary), names,
            fs.readdirSync("copy", { recursive: true }), fs.statSync("nope", { throwIfNoEntry: false }) ?? null,
            await promisify(fs.readFile)("d.txt", "utf8"), await new Promise((done) => fs.stat("a.txt", (e, s) => done(s.size)))];
        "#,
    )
    .await;
    assert_eq!(
        found,
        json!([
            "one\ntwo ✓",
            "00ff01",
            "b25lCnR3byDinJM=",
            true,
            false,
            "a.txt",
            true,
            true,
            3,
            2000,
            true,
            "600",
            true,
            3,
            "ell",
            4,
            "one\n",
            false,
            [
                ["a.txt", true, false, false],
                ["copy", false, true, false],
                ["d.txt", true, false, false],
                ["deep", false, true, false],
                ["e.txt", true, false, false],
                ["index.ts", true, false, false],
                ["link", false, false, true]
            ],
            ["b.bin", "er", "er/est"],
            null,
            "one",
            11,
        ])
    );
}

// tidy: a table
#[tokio::test]
async fn errors_of_files_are_node_s() {
    let found = value(
        r#"
        const told = async (run: any) => {
            try { await run(); return "fine"; } catch (e: any) { return [e.message.replaceAll(process.cwd(), "."), e.code, e.errno, e.syscall, e.path ?? null]; }
        };
        fs.mkdirSync("full"); fs.writeFileSync("full/x", "");
        return [await told(() => fs.readFileSync("nope")), await told(() => fs.promises.readFile("nope")), await told(() => fs.readdirSync("nope")),
            await told(() => fs.mkdirSync("full")), await told(() => fs.rmdirSync("full")), await told(() => fs.readFileSync("full")),
            await told(() => fs.renameSync("a", "b")), await told(() => fs.writeFileSync("no/such/folder", "")), await told(() => fs.accessSync("nope")),
            await told(() => fs.openSync("full/x", "wx")), await told(() => fs.closeSync(99)), await told(() => fs.rmSync("full")),
            await told(() => fs.readFileSync(5 as any instanceof Object ? "" : {} as any)), await told(() => new Promise((_, no) => fs.createReadStream("nope").on("error", no)))];
        "#,
    )
    .await;
    let open = json!([
        "ENOENT: no such file or directory, open 'nope'",
        "ENOENT",
        -2,
        "open",
        "nope"
    ]);
    assert_eq!(
        found,
        json!([
            open,
            open,
            [
                "ENOENT: no such file or directory, scandir 'nope'",
                "ENOENT",
                -2,
                "scandir",
                "nope"
            ],
            [
                "EEXIST: file already exists, mkdir 'full'",
                "EEXIST",
                -17,
                "mkdir",
                "full"
            ],
            [
                "ENOTEMPTY: directory not empty, rmdir 'full'",
                "ENOTEMPTY",
                -39,
                "rmdir",
                "full"
            ],
            [
                "EISDIR: illegal operation on a directory, read",
                "EISDIR",
                -21,
                "read",
                null
            ],
            [
                "ENOENT: no such file or directory, rename 'a' -> 'b'",
                "ENOENT",
                -2,
                "rename",
                "a"
            ],
            [
                "ENOENT: no such file or directory, open 'no/such/folder'",
                "ENOENT",
                -2,
                "open",
                "no/such/folder"
            ],
            [
                "ENOENT: no such file or directory, access 'nope'",
                "ENOENT",
                -2,
                "access",
                "nope"
            ],
            [
                "EEXIST: file already exists, open 'full/x'",
                "EEXIST",
                -17,
                "open",
                "full/x"
            ],
            ["EBADF: bad file descriptor, close", "EBADF", -9, "close", null],
            [
                "Path is a directory: rm returned EISDIR (is a directory) full",
                "ERR_FS_EISDIR",
                21,
                "rm",
                "full"
            ],
            [
                "The \"path\" argument must be of type string or an instance of Buffer or URL. Received an instance of Object",
                "ERR_INVALID_ARG_TYPE",
                null,
                null,
                null
            ],
            open,
        ])
    );
}

#[tokio::test]
async fn streams_and_watchers_of_files() {
    let found = value(
        r#"
        const { pipeline } = await import("stream/promises");
        const out = fs.createWriteStream("out.txt");
        for (let at = 0; at < 1000; at++) if (!out.write(`line ${at}\n`)) await new Promise((done) => out.once("drain", done));
        await new Promise((done) => out.end("end", done as any));
        await pipeline(fs.createReadStream("out.txt"), fs.createWriteStream("copy.txt"));
        let lines = 0;
        for await (const line of (await import("readline")).createInterface({ input: fs.createReadStream("copy.txt") })) if (line) lines++;
        let part = "";
        for await (const chunk of fs.createReadStream("out.txt", { encoding: "utf8", start: 5, end: 9 })) part += chunk;
        fs.mkdirSync("watched");
        const seen: any[] = [];
        await new Promise<void>((done) => {
            const watcher = fs.watch("watched", (kind, name) => { seen.push([kind, name]); watcher.close(); done(); });
            fs.writeFileSync("watched/new.txt", "x");
        });
        const changed = await new Promise<any>((done) => {
            fs.watchFile("out.txt", { interval: 10 }, (now, before) => { fs.unwatchFile("out.txt"); done(now.size < before.size); });
            fs.truncateSync("out.txt", 1);
        });
        return [lines, part, seen, changed];
        "#,
    )
    .await;
    assert_eq!(found, json!([1001, "0\nlin", [["rename", "new.txt"]], true]));
}

#[tokio::test]
async fn programs_run_while_the_extension_goes_on() {
    let found = value(
        r#"
        const ended = (child: any) => new Promise((done) => child.on("close", (code: any, signal: any) => done([code, signal])));
        const read = async (stream: any) => { let text = ""; for await (const chunk of stream) text += chunk; return text; };
        const cat = cp.spawn("cat", [], { stdio: "pipe" });
        cat.stdin.write("typed "); cat.stdin.end("in");
        const text = await read(cat.stdout);
        const catEnd = cat.exitCode === null ? await ended(cat) : [cat.exitCode, cat.signalCode];
        const sleeper = cp.spawn("sleep", ["600"]);
        const sleeperEnd = ended(sleeper);
        const killed = sleeper.kill("SIGTERM");
        const shell = cp.spawn("echo $WORD; echo bad >&2; exit 3", { shell: true, env: { ...process.env, WORD: "said" }, cwd: "/" });
        const [out, err, shellEnd] = await Promise.all([read(shell.stdout), read(shell.stderr), ended(shell)]);
        const missing = await new Promise((done) => cp.spawn("no-such-program", ["x"]).on("error", (e: any) => done([e.message, e.code, e.syscall, e.path])));
        const exec = promisify(cp.exec);
        const good = await exec("printf '%s' \"$0 ✓\"");
        const bad: any = await exec("echo out; echo err >&2; exit 5").catch((e: any) => [e.code, e.stdout, e.stderr, e.killed, e.message]);
        const file = await promisify(cp.execFile)("printf", ["%s-%s", "a b", "c"]);
        const controller = new AbortController();
        const aborted = new Promise((done) => cp.spawn("sleep", ["600"], { signal: controller.signal }).on("error", (e: any) => done(e.name)));
        controller.abort();
        const late: any = await exec("sleep 600", { timeout: 50 }).catch((e: any) => [e.killed, e.signal]);
        const much: any = await exec("yes", { maxBuffer: 100 }).catch((e: any) => [e.code, e.stdout.length]);
        return [text, catEnd, killed, await sleeperEnd, out, err, shellEnd, missing, good.stdout, bad, file.stdout,
            await aborted, late, much, typeof cat.pid];
        "#,
    )
    .await;
    assert_eq!(
        found,
        json!([
            "typed in",
            [0, null],
            true,
            [null, "SIGTERM"],
            "said\n",
            "bad\n",
            [3, null],
            [
                "spawn no-such-program ENOENT",
                "ENOENT",
                "spawn no-such-program",
                "no-such-program"
            ],
            "/bin/sh ✓",
            [
                5,
                "out\n",
                "err\n",
                false,
                "Command failed: echo out; echo err >&2; exit 5\nerr\n"
            ],
            "a b-c",
            "AbortError",
            [true, "SIGTERM"],
            ["ERR_CHILD_PROCESS_STDIO_MAXBUFFER", 100],
            "number",
        ])
    );
}

#[tokio::test]
async fn programs_run_while_the_extension_stands_still() {
    let found = value(
        r#"
        const told = (run: any) => { try { return run(); } catch (e: any) { return [e.message, e.status ?? null, e.code ?? null, String(e.stderr ?? "")]; } };
        const both = cp.spawnSync("sh", ["-c", "cat; echo err >&2; exit 2"], { input: "given", encoding: "utf8" });
        const late = cp.spawnSync("sleep", ["600"], { timeout: 50 });
        const much = cp.spawnSync("yes", { maxBuffer: 10 });
        const missing = cp.spawnSync("no-such-program");
        return [cp.execSync("echo hi").toString(), cp.execSync("echo hi", { encoding: "utf8" }),
            cp.execFileSync("printf", ["%s", "a b"], { encoding: "utf8" }),
            [both.status, both.stdout, both.stderr, both.signal, both.output.length],
            [late.status, late.signal, (late.error as any).code],
            [(much.error as any).code, much.stdout.length],
            [missing.status, (missing.error as any).code, missing.error!.message],
            told(() => cp.execSync("echo oops >&2; exit 4", { stdio: "pipe" })), told(() => (cp as any).fork("x"))];
        "#,
    )
    .await;
    assert_eq!(
        found,
        json!([
            "hi\n",
            "hi\n",
            "a b",
            [2, "given", "err\n", null, 3],
            [null, "SIGTERM", "ETIMEDOUT"],
            ["ENOBUFS", 10],
            [null, "ENOENT", "spawnSync no-such-program ENOENT"],
            ["Command failed: echo oops >&2; exit 4\noops\n", 4, null, "oops\n"],
            [
                "not supported by becket's embedded engine: child_process.fork",
                null,
                "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
                ""
            ],
        ])
    );
}

#[tokio::test]
async fn programs_write_to_files_and_read_from_them() {
    let found = value(
        r#"
        const ended = (child: any) => new Promise((done) => child.once("close", (code: any) => done(code)));
        const text = (name: string) => fs.readFileSync(name, "utf8");
        const told = (run: any) => { try { return run(); } catch (e: any) { return [e.code, e.message]; } };
        fs.writeFileSync("in.txt", "given");
        const [log, given] = [fs.openSync("a.log", "a"), fs.openSync("in.txt", "r")];
        const child = cp.spawn("sh", ["-c", "cat; echo err >&2"], { stdio: [given, log, log] });
        const none = [child.stdin, child.stdout, child.stderr];
        const code = await ended(child);
        const same = cp.spawnSync("sh", ["-c", "echo sync; echo seen >&2"], { stdio: ["ignore", log, "pipe"] });
        cp.execSync("echo exec", { stdio: ["pipe", log, "inherit"] });
        fs.closeSync(log);
        const stream = fs.createWriteStream("b.log");
        await new Promise((done) => stream.once("open", done));
        await ended(cp.spawn("echo", ["streamed"], { stdio: ["ignore", stream, "inherit"] }));
        const closed = cp.spawnSync("true", { stdio: ["ignore", log] });
        return [none, code, text("a.log"), same.stdout, String(same.stderr), text("b.log"), (closed.error as any).code,
            told(() => cp.spawn("true", { stdio: ["pipe", "pipe", "pipe", "ipc"] as any })),
            told(() => cp.spawn("true", { stdio: ["odd"] as any }))];
        "#,
    )
    .await;
    assert_eq!(
        found,
        json!([
            [null, null, null],
            0,
            "givenerr\nsync\nexec\n",
            null,
            "seen\n",
            "streamed\n",
            "EBADF",
            [
                "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
                "not supported by becket's embedded engine: child_process.spawn with stdio[3]"
            ],
            [
                "ERR_INVALID_ARG_VALUE",
                "The argument 'stdio' is invalid. Received 'odd'"
            ],
        ])
    );
}

#[tokio::test]
async fn a_program_that_the_extension_waits_for_ends_at_the_handler_s_deadline() {
    let limits = Limits {
        timeout: Duration::from_secs(20),
        ..Limits::default()
    };
    let source = "import { execSync } from 'child_process'; import { writeFileSync } from 'fs';
        export default (pi: any) => pi.on('all', () => {
            execSync(`echo $$ > pid; exec sleep 600`); writeFileSync('after', '');
        });";
    let loaded = load_from(
        folder(&[("index.ts", source)]),
        "index.ts",
        limits,
        Allowed::default(),
    )
    .await
    .unwrap_or_else(|failure| panic!("{failure}"));
    let number = loaded.room.handlers.lock().expect("no panic")[0].1;
    // A busy machine may need this long to start the shell.
    let handler = loaded.extension.handler(number, Duration::from_secs(5));
    handler.call(Vec::new()).await.expect_err("it took too long");
    let pid = std::fs::read_to_string(loaded.folder.0.join("pid")).expect("it was started");
    assert!(!loaded.folder.0.join("after").exists(), "the script went on");
    wait_until_gone(pid.trim()).await;
}

#[tokio::test]
async fn programs_end_with_the_extension() {
    let source = "import { spawn } from 'child_process';
        export default (pi: any) => pi.on('all', () => spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref().pid);";
    let loaded = load(source).await;
    let pid = loaded.value("all").await;
    assert!(lives(&pid.to_string()));
    drop(loaded);
    wait_until_gone(&pid.to_string()).await;
}

fn lives(pid: &str) -> bool {
    std::path::Path::new(&format!("/proc/{pid}/exe")).exists()
}

/// Waits until a process that was killed is gone.
async fn wait_until_gone(pid: &str) {
    for _ in 0..2000 {
        if !lives(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it still runs");
}

#[tokio::test]
async fn what_is_not_allowed_is_refused_and_what_is_done_is_told() {
    let source = "import fs from 'fs'; import * as cp from 'child_process';
        export default (pi: any) => pi.on('all', async () => {
            const all: any[] = [];
            for (const run of [() => fs.readFileSync('x'), () => fs.existsSync('x'), () => fs.promises.stat('x'),
                () => cp.execSync('true'), () => cp.spawn('true'), () => fetch('http://127.0.0.1:1/')]) {
                try { await run(); all.push('done'); } catch (e: any) {
                    all.push([e.code, e.message.match(/allowed\\.\\w+/)?.[0]]);
                } }
            return all;
        });";
    let denied = Allowed {
        files: false,
        processes: false,
        network: false,
        ..Allowed::default()
    };
    let loaded = load_from(
        folder(&[("index.ts", source)]),
        "index.ts",
        Limits::default(),
        denied,
    )
    .await;
    let found = loaded
        .unwrap_or_else(|failure| panic!("{failure}"))
        .value("all")
        .await;
    let refused = |setting: &str| json!(["ERR_ACCESS_DENIED", format!("allowed.{setting}")]);
    let (files, processes) = (refused("files"), refused("processes"));
    assert_eq!(
        found,
        json!([files, files, files, processes, processes, refused("network")])
    );

    let loaded = load(
        "import fs from 'fs'; import { execSync } from 'child_process';
        export default (pi: any) => pi.on('all', () => { fs.writeFileSync('x', 'y'); execSync('true'); });",
    )
    .await;
    loaded.value("all").await;
    let reports = loaded.room.reports.lock().expect("no panic").clone();
    let used = |what, target: &str| Report::Used {
        what,
        target: target.into(),
    };
    assert_eq!(
        reports,
        [
            used("fs.writeFile", "x"),
            used("child_process.spawnSync", "/bin/sh -c true")
        ]
    );
}

#[tokio::test]
async fn an_extension_cannot_end_becket_and_writes_lines() {
    let loaded = load(
        "export default (pi: any) => pi.on('all', () => {
            process.stdout.write('half '); process.stdout.write('a line\\nnext\\n'); process.stderr.write('bad\\n');
            const ends = [() => process.exit(1), () => process.abort(), () => process.kill(process.pid, 'SIGKILL')];
            const all = ends.map((run) => {
                try { run(); return 'ended'; } catch (e: any) { return e.message.includes('cannot end becket'); }
            });
            process.on('exit', () => {}); process.on('SIGINT', () => {}); process.exitCode = 3;
            process.chdir('/'); all.push(process.cwd()); process.stdin.on('end', () => {});
            return all;
        });",
    )
    .await;
    assert_eq!(loaded.value("all").await, json!([true, true, true, "/"]));
    let reports = loaded.room.reports.lock().expect("no panic").clone();
    let line = |error, text: &str| Report::Console {
        error,
        text: text.into(),
    };
    assert_eq!(
        reports,
        [line(false, "half a line"), line(false, "next"), line(true, "bad")]
    );
}

#[tokio::test]
async fn fetch_asks_the_host_and_reads_what_comes() {
    let found = value(
        r#"
        const one = await fetch("http://a/b", { method: "POST", body: JSON.stringify({ x: 1 }), headers: { a: "b" } });
        const head = [one.status, one.ok, one.statusText, Number(one.headers.get("x-asked")) > 0, one.url, one.redirected];
        const reader = (await fetch("http://a/")).body.getReader();
        const chunk = await reader.read();
        const end = await reader.read();
        const stopped = await fetch("http://a/", { signal: AbortSignal.abort() }).catch((error: any) => error.name);
        const packed = await fetch("http://a/packed", { headers: { "accept-encoding": "gzip, br" } });
        const coding = packed.headers.get("content-encoding");
        const text = Buffer.from(chunk.value).toString();
        return [head, await one.json(), text, end.done, stopped, coding, await packed.json()];
        "#,
    )
    .await;
    assert_eq!(
        found,
        json!([[201, true, "Created", true, "http://a/b", false], { "a": "✓" }, "{\"a\":\"✓\"}", true, "AbortError", "gzip", { "packed": "✓" }])
    );
}
