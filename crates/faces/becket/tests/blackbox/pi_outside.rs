//! Extensions in Node: those that need what only Node has, chosen by themselves, with the same API, and with guards
//! that refuse while the process is gone.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{Finished, Room, needs, wait_until_gone};

use crate::pi_packages::fetched;
use crate::plugins::result;
use crate::{repository_file, room};

/// A run of one prompt with these extensions, in files of the room.
fn run(room: &Room, extensions: &[&str], turns: &Value) -> Finished {
    let model = room.model(turns);
    let mut words = vec!["--json", "--yes", "--model", &model];
    words.extend(extensions.iter().flat_map(|file| ["-e", file]));
    words.push("go");
    room.run(words)
}

/// The results of the tool calls that were run.
fn ran(ended: &Finished) -> Vec<String> {
    let calls = ended.events_named("post_tool").into_iter();
    let ran = calls.filter(|call| call["ran"] == true);
    ran.map(|call| call["result"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn shell(command: &str) -> Value {
    json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
}

/// The extensions that `becket hooks list` shows.
fn listed(room: &Room, extensions: &[&str]) -> Vec<Value> {
    let mut words = vec!["hooks", "list", "--json"];
    words.extend(extensions.iter().flat_map(|file| ["-e", file]));
    let lines = room.run(words).ended_with(0).events();
    lines
        .into_iter()
        .filter(|line| line["kind"] == "extension")
        .collect()
}

/// Uses a thread and a server, as nothing but Node can.
const EXOTIC: &str = r#"
import { createServer, connect } from "node:net";
import { Worker } from "worker_threads";
import helper from "./lib/helper.js";
import { answer } from "./lib/folder";
const data = require("./lib/data.json");

enum Word { Yes = "yes" }

export default async function (pi: any) {
    const fromThread = await new Promise((done, failed) => {
        const worker = new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", { eval: true });
        worker.once("message", done).once("error", failed);
    });
    const fromServer = await new Promise((done) => {
        const server = createServer((socket) => socket.end("over the wire")).listen(0, "127.0.0.1", () => {
            const { port } = server.address() as any;
            connect(port, "127.0.0.1").on("data", (bytes) => { server.close(); done(String(bytes)); });
        });
    });
    const here = __dirname.endsWith("work") && __filename.endsWith("exotic.ts");
    pi.on("turn_end", () => {
        console.error([fromThread, fromServer, helper(), answer, data.word, Word.Yes, here].join("|"));
    });
}
"#;

fn exotic(room: &Room) {
    room.write("exotic.ts", EXOTIC);
    room.write(
        "lib/helper.ts",
        "export default (): string => 'helper' as string;",
    );
    room.write(
        "lib/folder/index.js",
        "exports.answer = 'commonjs'; exports.more = 1;",
    );
    room.write("lib/data.json", r#"{"word": "json"}"#);
}

#[test]
fn what_only_node_has_is_served_by_node_and_shown() {
    if !needs("node") {
        return;
    }
    let room = room();
    exotic(&room);
    room.write(
        "plain.ts",
        "export default (pi: any) => { pi.on('turn_end', () => console.error('plain')); };",
    );
    run(&room, &["exotic.ts", "plain.ts"], &json!([{"text": "fine"}]))
        .ended_with(0)
        .complained("42|over the wire|helper|commonjs|json|yes|true");
    let engines = listed(&room, &["exotic.ts", "plain.ts"]);
    assert_eq!(engines[0]["engine"], "node", "{engines:#?}");
    assert_eq!(engines[1]["engine"], "embedded", "{engines:#?}");
    room.run(["doctor", "-e", "exotic.ts"]).said("exotic.ts, node)");
}

/// What an installed package does late, and with a `require` of its own, counts like the rest of its code.
#[test]
fn what_an_installed_package_does_late_is_done_in_node() {
    if !needs("node") {
        return;
    }
    let room = room();
    let package = "node_modules/late";
    room.write(
        &format!("{package}/package.json"),
        r#"{"pi": {"extensions": ["./index.ts"]}}"#,
    );
    room.write(
        &format!("{package}/index.ts"),
        "export default (pi: any) => pi.registerCommand('six', { handler: async () =>
            console.error(`it is ${await (await import('./late.ts')).six()}`) });",
    );
    room.write(
        &format!("{package}/late.ts"),
        "import { createRequire } from 'node:module';
        const own = createRequire(import.meta.url);
        const { Worker } = own('node:worker_threads');
        const code = \"require('worker_threads').parentPort.postMessage('a thread')\";
        export const six = () => new Promise((done) => new Worker(code, { eval: true }).once('message', done));",
    );
    assert_eq!(listed(&room, &[package])[0]["engine"], "node");
    let model = room.model(&json!([{"text": "fine"}]));
    room.run(["--model", &model, "-e", package, "/six"])
        .ended_with(0)
        .complained("it is a thread");
}

/// A database is a reason for Node only where Node has one: elsewhere the extension is loaded and can do without.
#[test]
fn a_database_is_looked_for_in_a_node_that_has_one() {
    let room = room();
    room.write(
        "store.ts",
        "import { createRequire } from 'node:module';
        const own = createRequire(__filename);
        const late = () => new (own('node:sqlite').DatabaseSync)(':memory:');
        export default (pi: any) => { pi.registerCommand('store', { handler: () => late() }); };",
    );
    for (version, engine) in [("v20.19.0", json!("embedded")), ("v24.1.0", Value::Null)] {
        let node = room.script(
            &format!("node-{version}"),
            &format!("#!/bin/sh\necho {version}\n"),
        );
        room.config(&format!("[js]\nnode = {:?}\n", node.display().to_string()));
        let run = room.run(["hooks", "list", "--json", "-e", "store.ts"]);
        let extensions = run.events();
        let extension = extensions.iter().find(|line| line["kind"] == "extension");
        // What calls itself the newer one here is no Node, so that nothing can be loaded in it.
        assert_eq!(extension.expect("it is listed")["engine"], engine, "{run:#?}");
    }
}

#[test]
fn an_older_node_has_the_navigator_of_newer_ones() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.write(
        "browsing.ts",
        "const module = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
        const { userAgent } = navigator;
        export default (pi: any) => { pi.registerCommand(`${userAgent.split('/')[0]}-${typeof module}`, {}); };",
    );
    let extension = &listed(&room, &["browsing.ts"])[0];
    assert_eq!(
        (&extension["engine"], &extension["commands"][0]),
        (&json!("node"), &json!("Node.js-object")),
        "{extension:#?}"
    );
}

#[test]
fn the_settings_choose_the_engine() {
    if !needs("node") {
        return;
    }
    let room = room();
    exotic(&room);
    room.write(
        "plain.ts",
        "export default (pi: any) => { pi.on('turn_end', () => {}); };",
    );
    room.config("[js]\nengine = \"node\"\n");
    assert_eq!(listed(&room, &["plain.ts"])[0]["engine"], "node");
    room.config("[js]\nengine = \"embedded\"\n");
    let refused = &listed(&room, &["exotic.ts"])[0];
    let trouble = refused["trouble"].as_str().expect("words");
    assert!(
        trouble.contains("embedded engine") && trouble.contains("`js.engine` is \"embedded\""),
        "{trouble}"
    );
    room.config("[js]\nengine = \"node\"\nnode = \"/no/such/node\"\n");
    let trouble = listed(&room, &["plain.ts"])[0]["trouble"].to_string();
    assert!(trouble.contains("/no/such/node does not exist"), "{trouble}");
    // What cannot be enforced there is not run there.
    room.config("[pi]\nnetwork = false\n");
    let trouble = listed(&room, &["exotic.ts"])[0]["trouble"].to_string();
    assert!(
        trouble.contains("`pi.network = false` cannot be enforced in Node"),
        "{trouble}"
    );
    room.config("[js]\nengine = \"deno\"\n");
    room.run(["hooks", "list"])
        .complained("expected one of embedded, node, auto");
}

#[test]
fn without_node_the_error_names_what_is_missing_and_what_would_serve_it() {
    let room = room().with("PATH", "/nonexistent");
    room.write(
        "exotic.ts",
        "import { createServer } from 'node:net'; export default () => { createServer(); };",
    );
    let ended = run(&room, &["exotic.ts"], &json!([{"text": "fine"}])).ended_with(4);
    for words in [
        "net.createServer",
        "exotic.ts:1:",
        "neither node nor bun on the PATH",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {ended:#?}");
    }
    // What may never be used is loaded all the same.
    room.write(
        "careful.ts",
        "import { createServer } from 'node:net';
        export default (pi: any) => { pi.on('turn_end', () => {
            try { createServer(); } catch { console.error('does without'); }
        }); };",
    );
    run(&room, &["careful.ts"], &json!([{"text": "fine"}]))
        .ended_with(0)
        .complained("does without");
}

#[test]
fn the_api_is_there_and_answers_at_once() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.write(
        "all.ts",
        r#"
        import * as net from "net";
        void net.Socket;
        import { Type } from "typebox";
        import { StringEnum } from "@mariozechner/pi-ai";
        import { truncateHead, getAgentDir } from "@earendil-works/pi-coding-agent";

        export default function (pi: any) {
            pi.registerFlag("loud", { type: "boolean", default: false });
            pi.registerTool({
                name: "port", label: "Port", description: "d",
                parameters: Type.Object({ kind: StringEnum(["free", "used"]) }),
                async execute(_id: string, params: any, _signal: any, onUpdate: any, ctx: any) {
                    onUpdate?.({ content: [{ type: "text", text: "looking" }] });
                    const entries = ctx.sessionManager.getBranch().length;
                    const tools = pi.getActiveTools();
                    const run = await pi.exec("echo", ["from exec"]);
                    const confirmed = await ctx.ui.confirm("Sure?", "really");
                    const picked = await ctx.ui.select("Which?", ["a", "b"]);
                    const words = [params.kind, net.isIP("127.0.0.1"), entries > 0, tools.includes("port"),
                        run.stdout.trim(), confirmed, String(picked), truncateHead("x\ny").content, pi.getFlag("loud"),
                        ctx.cwd.endsWith("work"), getAgentDir().length > 0];
                    return { content: [{ type: "text", text: words.join("|") }], details: {} };
                },
            });
            pi.on("before_agent_start", (event: any) => ({ systemPrompt: event.systemPrompt + " Be brief." }));
            pi.on("context", (event: any) => {
                event.messages.at(-1).content = [{ type: "text", text: "changed in place" }];
            });
            pi.on("tool_result", (event: any) => ({ content: [...event.content, { type: "text", text: "seen" }] }));
        }
        "#,
    );
    let turns = json!([
        {"tool_calls": [{"name": "port", "arguments": {"kind": "free"}}]}, {"text": "fine"}
    ]);
    let model = room.model(&turns);
    let words = [
        "--json", "--yes", "--model", &model, "-e", "all.ts", "--loud", "go",
    ];
    let ended = room.run(words).ended_with(0);
    let told = result(&ended);
    let wanted = "free|4|true|true|from exec|false|undefined|x\ny|true|true|true";
    assert!(
        told.starts_with(wanted) && told.contains("seen"),
        "{told}\n{ended:#?}"
    );
    assert!(ended.stdout.contains("changed in place"), "{ended:#?}");
}

#[test]
fn commands_and_providers_work() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.config("[js]\nengine = \"node\"\n");
    let parrot = repository_file("examples/pi/parrot.ts");
    room.run(["-e", &parrot, "--model", "parrot/polly", "hello there"])
        .ended_with(0)
        .said("You said: hello there");
    room.write(
        "hi.ts",
        "export default (pi: any) => {
            pi.registerCommand('hi', { description: 'd', handler: async (args: string, ctx: any) => {
                ctx.ui.notify(`hi ${args} in ${ctx.mode}`);
            } });
            pi.registerCommand('boom', { handler: () => { throw new RangeError('too far'); } });
        };",
    );
    let model = room.model(&json!([{"text": "fine"}]));
    room.run(["--model", &model, "-e", "hi.ts", "/hi there"])
        .ended_with(0)
        .complained("hi there in print");
    room.run(["--model", &model, "-e", "hi.ts", "/boom"])
        .ended_with(1)
        .complained("RangeError: too far");
}

#[test]
fn handlers_of_both_engines_are_asked_in_one_order() {
    if !needs("node") {
        return;
    }
    let room = room();
    let file = |name: &str, import: &str| {
        let code = format!(
            "{import}\nexport default (pi: any) => {{ pi.on('tool_call', (event: any) => {{
                event.input.command += ' {name}';
            }}); }};"
        );
        room.write(&format!("{name}.ts"), code);
    };
    file(
        "first",
        "import { Worker as W } from 'node:worker_threads'; void W;",
    );
    file("second", "");
    file(
        "third",
        "import { Worker as W } from 'node:worker_threads'; void W;",
    );
    let turns = json!([shell("echo"), {"text": "fine"}]);
    let ended = run(&room, &["first.ts", "second.ts", "third.ts"], &turns).ended_with(0);
    assert!(result(&ended).contains("first second third"), "{ended:#?}");
}

#[test]
fn an_error_names_the_author_s_line() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.write(
        "wrong.ts",
        "import { Worker as W } from 'node:worker_threads'; void W;\ninterface Unused { a: string }\n
export default (pi: any) => {
            pi.on('turn_end', async () => {\n                await null;\n                throw new TypeError('oh');
            });\n};",
    );
    let ended = run(&room, &["wrong.ts"], &json!([{"text": "fine"}])).ended_with(0);
    assert!(ended.stderr.contains("TypeError: oh"), "{ended:#?}");
    assert!(ended.stderr.contains("wrong.ts:7:23"), "{ended:#?}");
    room.write(
        "grammar.ts",
        "import { Worker as W } from 'node:worker_threads'; void W;\nexport default (pi: any) => {\n  const = 1;\n};",
    );
    let ended = run(&room, &["grammar.ts"], &json!([{"text": "fine"}])).ended_with(4);
    assert!(ended.stderr.contains("grammar.ts:3:9"), "{ended:#?}");
}

#[test]
fn a_package_of_npm_is_used_as_node_finds_it() {
    if !needs("node") {
        return;
    }
    let room = room();
    // One package is CommonJS, the other one ES modules with imports of Node's own.
    let Some(folders) = fetched(&room, &["ms@2.1.3", "p-limit@6.2.0", "yocto-queue@1.2.1"]) else {
        return;
    };
    let modules = room.work().join("node_modules");
    std::fs::create_dir_all(&modules).expect("a folder");
    for (folder, name) in folders.iter().zip(["ms", "p-limit", "yocto-queue"]) {
        std::fs::rename(folder, modules.join(name)).expect("the package moves");
    }
    room.write(
        "deps.ts",
        "import ms from 'ms';
        import pLimit from 'p-limit';
        import { connect } from 'node:tls';
        const again = require('ms');
        export default async (pi: any) => {
            const limit = pLimit(1);
            const [a, b] = await Promise.all([limit(async () => ms('2 days')), limit(async () => typeof connect)]);
            pi.on('turn_end', () => console.error(`${a}|${b}|${again === ms}`));
        };",
    );
    run(&room, &["deps.ts"], &json!([{"text": "fine"}]))
        .ended_with(0)
        .complained("172800000|function|true");
}

/// A guard in Node that refuses everything, and a way to do something to the process from inside of it.
fn fragile(room: &Room, deed: &str) {
    room.write(
        "fragile.ts",
        format!(
            "import {{ Worker as W }} from 'node:worker_threads'; void W;
            import {{ appendFileSync }} from 'node:fs';
            export default (pi: any) => {{
                appendFileSync('loads', `${{process.pid}}\\n`);
                pi.on('session_start', (event: any) => appendFileSync('starts', `${{event.reason}}\\n`));
                pi.on('tool_call', (event: any) => {{
                    if (event.input.command === 'echo crash') {{ {deed} }}
                    if (event.input.command === 'echo no') return {{ block: true, reason: 'as it was told' }};
                }});
            }};"
        ),
    );
}

#[test]
fn a_crash_is_reported_its_guard_refuses_and_it_comes_back() {
    if !needs("node") {
        return;
    }
    for (deed, words) in [
        ("process.exit(7);", "process.exit(7)"),
        ("process.kill(process.pid, 'SIGKILL');", "signal 9"),
        ("process.abort();", "signal 6"),
        ("for (;;) {}", "Node does not react any more"),
    ] {
        let room = room();
        // Longer than Node may be silent: the second call still waits when that is noticed, and the run with it.
        room.config("[pi]\ntimeout = 10\n");
        fragile(&room, deed);
        room.write(
            "beside.ts",
            "import { Worker as W } from 'node:worker_threads'; void W; export default (pi: any) => {
                pi.on('agent_end', () => console.error('beside is well'));
            };",
        );
        let turns = json!([shell("echo crash"), shell("echo right after"), {"text": "fine"}]);
        let ended = run(&room, &["fragile.ts", "beside.ts"], &turns).ended_with(0);
        assert!(ended.stderr.contains(words), "{deed}: {ended:#?}");
        assert!(
            ended.stderr.contains("fragile, beside ran in it"),
            "{deed}: {ended:#?}"
        );
        assert!(
            ran(&ended).is_empty(),
            "a call ran without its guard: {deed}: {ended:#?}"
        );
    }
}

#[test]
fn after_a_crash_everything_is_as_before() {
    if !needs("node") || !needs("bash") {
        return;
    }
    let room = room().with("CRASHES", "1");
    fragile(&room, "process.exit(3);");
    room.write("wait.ts", WAITS);
    let turns = json!([
        shell("echo crash"), {"tool_calls": [{"name": "wait", "arguments": {}}]}, shell("echo no"),
        shell("echo yes"), {"text": "fine"}
    ]);
    let ended = run(&room, &["fragile.ts", "wait.ts"], &turns).ended_with(0);
    let shown = ran(&ended);
    assert_eq!(shown.len(), 2, "{ended:#?}");
    assert!(shown[0].contains("startup\nreload"), "{shown:?}");
    assert!(shown[1].contains("yes"), "{shown:?}");
    assert!(ended.stdout.contains("as it was told"), "{ended:#?}");
    let processes = room.read("loads");
    let mut processes: Vec<&str> = processes.lines().collect();
    processes.dedup();
    assert_eq!(processes.len(), 2, "{processes:?}");
}

/// Lets a turn begin when the other extension has been told that it was loaded again, as often as it will be: so that
/// the test does not count on anybody's speed. Its tool shows what that one was told.
const WAITS: &str = "
import { readFileSync } from 'node:fs';
const lines = () => readFileSync('starts', 'utf8').trim();
const pause = () => new Promise((next) => setTimeout(next, 50));
export default (pi: any) => {
    pi.on('turn_start', async (event: any) => {
        const crashes = Math.min(event.turnIndex, Number(process.env.CRASHES));
        for (let i = 0; i < 400 && lines().split('\\n').length <= crashes; i++) await pause();
    });
    pi.registerTool({
        name: 'wait', label: 'w', description: 'd', parameters: { type: 'object', properties: {} },
        execute: async () => ({ content: [{ type: 'text', text: lines() }], details: {} }),
    });
};";

#[test]
fn one_that_crashes_all_the_time_is_left_alone_and_its_guards_refuse() {
    if !needs("node") {
        return;
    }
    let room = room().with("CRASHES", "2");
    fragile(&room, "process.exit(3);");
    room.write("wait.ts", WAITS);
    let crash = || shell("echo crash");
    let turns = json!([crash(), crash(), crash(), shell("touch made"), {"text": "fine"}]);
    let ended = run(&room, &["fragile.ts", "wait.ts"], &turns).ended_with(0);
    assert!(ran(&ended).is_empty(), "{ended:#?}");
    assert!(!room.has("made"), "{ended:#?}");
    assert_eq!(room.read("loads").lines().count(), 3, "{ended:#?}");
    assert_eq!(
        ended.stderr.matches("too often within a minute").count(),
        1,
        "{ended:#?}"
    );
    assert!(ended.stdout.contains("is not started again"), "{ended:#?}");
}

#[test]
fn a_handler_that_never_answers_costs_nobody_the_process() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.config("[pi]\ntimeout = 5\n");
    room.write(
        "slow.ts",
        "import { Worker as W } from 'node:worker_threads'; void W;
        export default (pi: any) => {
            pi.on('tool_call', (event: any) => event.input.command === 'echo slow' ? new Promise(() => {}) : undefined);
            pi.on('agent_end', () => console.error('still the same'));
        };",
    );
    let turns = json!([shell("echo slow"), shell("echo quick"), {"text": "fine"}]);
    let ended = run(&room, &["slow.ts"], &turns)
        .ended_with(0)
        .complained("still the same");
    assert!(ended.stderr.contains("no answer within 5 s"), "{ended:#?}");
    assert!(!ended.stderr.contains("started again"), "{ended:#?}");
    let shown = ran(&ended);
    assert!(shown.len() == 1 && shown[0].contains("quick"), "{ended:#?}");
}

#[test]
fn what_nobody_catches_is_told_in_the_name_of_its_extension() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.write(
        "floating.ts",
        "import { Worker as W } from 'node:worker_threads'; void W;
        export default (pi: any) => {
            pi.on('turn_start', () => { Promise.reject(new Error('floating')); });
            pi.on('turn_end', () => new Promise((done) => {
                setTimeout(() => { done(1); throw new Error('tick'); }, 1);
            }));
        };",
    );
    room.write(
        "other.ts",
        "import { Worker as W } from 'node:worker_threads'; void W; export default (pi: any) => {
            pi.on('agent_end', () => console.log('well'));
        };",
    );
    let ended = run(&room, &["floating.ts", "other.ts"], &json!([{"text": "fine"}])).ended_with(0);
    for words in ["the extension floating failed", "floating", "tick", "other: well"] {
        assert!(ended.stderr.contains(words), "{words}: {ended:#?}");
    }
}

#[test]
fn nothing_of_it_outlives_the_run() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.write(
        "child.ts",
        "import { createServer } from 'node:net';
        import { spawn } from 'node:child_process';
        import { writeFileSync } from 'node:fs';
        export default (pi: any) => {
            createServer().listen(0);
            const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
            writeFileSync('pids', `${process.pid}\\n${child.pid}\\n`);
        };",
    );
    run(&room, &["child.ts"], &json!([{"text": "fine"}])).ended_with(0);
    let processes = room.read("pids");
    assert_eq!(processes.lines().count(), 2, "{processes}");
    processes.lines().for_each(wait_until_gone);
}

#[test]
fn the_same_extensions_do_the_same_in_both_engines() {
    if !needs("node") || !needs("git") {
        return;
    }
    let examples = Path::new(&repository_file("examples/pi")).to_owned();
    let mut files: Vec<String> = std::fs::read_dir(&examples)
        .expect("examples")
        .map(|entry| entry.expect("a file").path().display().to_string())
        .filter(|file| file.ends_with(".ts"))
        .collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    let turns = json!([
        {"tool_calls": [{"name": "note", "arguments": {"text": "the release is on Friday"}}]},
        shell("rm -rf build"), shell("echo fine"), {"text": "fine"}
    ]);
    for file in &files {
        let outcome = |engine: &str| {
            let room = room();
            room.config(&format!("[js]\nengine = \"{engine}\"\n"));
            assert_eq!(listed(&room, &[file])[0]["engine"], engine, "{file}");
            let ended = run(&room, &[file], &turns);
            let events = ended.events();
            let told = events.iter().map(|event| {
                let fields = ["event", "tool_name", "ran", "result", "text", "verdict", "reason"];
                fields.map(|field| event[field].clone())
            });
            let told: Vec<[Value; 7]> = told.collect();
            let mut said: Vec<String> = ended.stderr.lines().map(str::to_owned).collect();
            said.sort();
            (ended.code, told, said)
        };
        let (embedded, node) = (outcome("embedded"), outcome("node"));
        assert_eq!(embedded, node, "{file}");
    }
}
