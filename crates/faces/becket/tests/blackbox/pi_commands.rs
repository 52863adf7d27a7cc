//! Commands of pi's extensions beside the runs that they ask for, in every front end, and what ends them.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};
use testkit::{
    Finished, ModelServer, OpenAiStream, Response, Room, Running, Signal, is_running, wait_until_gone,
};

use crate::room;
use crate::terminal::Terminal;

/// How long something may take that a busy machine does slowly.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// An extension with a command, and functions that its handler may use.
fn with_command(handler: &str) -> String {
    format!(
        r#"
        import {{ appendFileSync }} from "node:fs";
        export default (pi: any) => {{
            const note = (text: string) => appendFileSync("log", text + "\n");
            const sleep = (time: number) => new Promise((done) => setTimeout(done, time));
            const last = (ctx: any) => {{
                const entry = ctx.sessionManager.getBranch().findLast((entry: any) => entry.type === "message");
                return entry.message.content[0].text;
            }};
            pi.on("session_shutdown", () => note("shutdown"));
            pi.registerCommand("go", {{ handler: async (args: string, ctx: any) => {{ {handler} }} }});
        }};
        "#
    )
}

/// The ways in which a user can call a command.
const FRONT_ENDS: [&str; 5] = ["print", "pipe", "chat", "agent file", "agent file as a chat"];

/// Calls `/go` of the extension in one of them.
fn call(room: &Room, front_end: &str, extension: &str, turns: &Value) -> Finished {
    room.write("extension.ts", extension);
    room.write("log", "");
    let model = room.model(turns);
    room.write(
        "agent.yaml",
        format!("agents:\n  root:\n    model: {model}\n    instruction: You help.\n"),
    );
    let options = ["--model", &model, "-e", "extension.ts"];
    let agent = ["-e", "extension.ts", "run", "agent.yaml"];
    match front_end {
        "print" => room.run(options.iter().chain(&["/go"])),
        "pipe" => room.run_with_input(options, "/go\n"),
        "chat" => room.run_with_input(options.iter().chain(&["chat"]), "/go\n"),
        "agent file" => room.run(agent.iter().chain(&["/go"])),
        _ => room.run_with_input(agent, "/go\n"),
    }
}

/// What the extension has noted, line by line.
fn log(room: &Room) -> Vec<String> {
    room.read("log").lines().map(Into::into).collect()
}

#[test]
fn a_command_speaks_and_waits_for_the_answer_in_every_front_end() {
    let handler = r#"
        pi.on("agent_settled", () => note("settled"));
        pi.sendUserMessage("first");
        await ctx.waitForIdle();
        note("heard " + last(ctx));
        pi.sendUserMessage("second");
        while (!ctx.isIdle()) await sleep(10);
        note("heard " + last(ctx));
        const ended = new Promise((done) => pi.on("agent_end", done));
        pi.sendMessage({ customType: "task", content: "third", display: true }, { triggerTurn: true });
        await ended;
        await ctx.waitForIdle();
        note("heard " + last(ctx));
    "#;
    let turns = json!([
        {"expect": ["first"], "text": "one"},
        {"expect": ["second"], "text": "two"},
        {"expect": ["third"], "text": "three"},
    ]);
    let heard = [
        "settled",
        "heard one",
        "settled",
        "heard two",
        "settled",
        "heard three",
        "shutdown",
    ];
    for front_end in FRONT_ENDS {
        let room = room();
        let run = call(&room, front_end, &with_command(handler), &turns);
        let run = run.ended_with(0).said("one").said("two").said("three");
        assert_eq!(log(&room), heard, "{front_end}: {run:#?}");
    }
}

#[test]
fn a_command_waits_for_a_summary_in_every_front_end() {
    let handler = r#"
        pi.sendUserMessage("remember the harbour");
        await ctx.waitForIdle();
        const told = await new Promise((done) => ctx.compact({
            onComplete: (result: any) => done("summary " + result.summary),
            onError: (error: Error) => done("error " + error.message),
        }));
        note(String(told));
        note(ctx.isIdle() ? "idle" : "busy");
    "#;
    let turns = json!([{"text": "I will."}, {"expect": ["harbour"], "text": "About a harbour."}]);
    for front_end in FRONT_ENDS {
        let room = room();
        let run = call(&room, front_end, &with_command(handler), &turns).ended_with(0);
        assert_eq!(
            log(&room),
            ["summary About a harbour.", "idle", "shutdown"],
            "{front_end}: {run:#?}"
        );
    }
}

#[test]
fn what_fails_while_a_command_waits_lets_it_go_on_and_is_the_exit_code() {
    let handler = r#"
        pi.sendUserMessage("first");
        await ctx.waitForIdle();
        note("went on");
    "#;
    let turns = json!([{"error": {"kind": "rejected", "message": "no such model"}}]);
    let room = room();
    let run = call(&room, "print", &with_command(handler), &turns);
    run.ended_with(3).complained("no such model");
    assert_eq!(log(&room), ["went on", "shutdown"]);
    let handler = format!("{handler} throw new Error('in vain');");
    for (front_end, code) in [("print", 1), ("chat", 0)] {
        let run = call(&room, front_end, &with_command(&handler), &turns);
        run.ended_with(code)
            .complained("no such model")
            .complained("in vain");
    }
}

#[test]
fn a_command_that_waits_in_vain_is_told_and_in_a_chat_the_person_may_let_it_go_on() {
    let handler = r#"
        const answered = new Promise((done) => pi.on("agent_end", done));
        await answered;
        note("went on");
    "#;
    for front_end in ["print", "pipe", "agent file"] {
        let room = room();
        let run = call(
            &room,
            front_end,
            &with_command(handler),
            &json!([{"text": "unused"}]),
        );
        run.ended_with(1)
            .complained("the command /go of the extension extension waits")
            .complained("nothing can wake it");
        assert_eq!(log(&room), ["shutdown"], "{front_end}");
    }
    let room = room();
    room.write("extension.ts", with_command(handler));
    let model = room.model(&json!([{"text": "hello"}]));
    let chat = room.run_with_input(
        ["--model", &model, "-e", "extension.ts", "chat"],
        "/go\na prompt\n",
    );
    chat.ended_with(0).said("hello").complained("the chat continues");
    assert_eq!(log(&room), ["went on", "shutdown"]);
}

#[test]
fn words_said_while_others_are_heard_are_not_lost() {
    // Heard by `input`, which takes care of them or lets them pass.
    for (answer, turns, heard) in [
        (
            r#"{ action: "handled" }"#,
            json!([{"expect": ["instead"], "text": "the other"}]),
            vec!["idle", "idle", "busy"],
        ),
        (
            "undefined",
            json!([{"expect": ["go"], "text": "the one"}, {"expect": ["instead"], "text": "the other"}]),
            vec!["idle", "busy", "busy"],
        ),
    ] {
        let room = room();
        let extension = format!(
            r#"
            import {{ appendFileSync }} from "node:fs";
            export default (pi: any) => {{
                const look = (_: any, ctx: any) => appendFileSync("log", (ctx.isIdle() ? "idle" : "busy") + "\n");
                let spoke = false;
                pi.on("input", look);
                pi.on("agent_start", look);
                pi.on("input", (event: any, ctx: any) => {{
                    if (spoke) return;
                    spoke = true;
                    pi.sendUserMessage("instead");
                    return {answer};
                }});
            }};
            "#
        );
        room.write("extension.ts", &extension);
        let model = room.model(&turns);
        let run = room.run(["--model", &model, "-e", "extension.ts", "go"]);
        let run = run.ended_with(0).said("the other");
        assert!(!run.stderr.contains("already processing"), "{run:#?}");
        assert_eq!(log(&room), heard, "{answer}: {run:#?}");
    }
}

#[test]
fn words_said_before_the_run_begins_run_after_it_and_notes_stand_before_it() {
    let room = room();
    let extension = r#"
        import { appendFileSync } from "node:fs";
        export default (pi: any) => {
            let spoke = false;
            pi.on("before_agent_start", (event: any, ctx: any) => {
                if (spoke) return;
                spoke = true;
                appendFileSync("log", (ctx.isIdle() ? "idle" : "busy") + "\n");
                pi.sendUserMessage("and then this");
                pi.sendMessage({ customType: "note", content: "a note before", display: false });
            });
        };
    "#;
    room.write("extension.ts", extension);
    let model = room.model(&json!([
        {"expect": ["a note before", "go"], "text": "the one"},
        {"expect": ["and then this"], "text": "the other"},
    ]));
    let run = room.run(["--json", "--model", &model, "-e", "extension.ts", "go"]);
    let run = run.ended_with(0);
    assert_eq!(log(&room), ["idle"]);
    // What is said then belongs to the same run.
    let ends = run.events_named("agent_end");
    assert_eq!(ends.len(), 1, "{run:#?}");
    assert!(!ends[0].to_string().contains("a note before"), "{:#}", ends[0]);
}

#[test]
fn a_message_that_is_only_kept_is_an_event_but_not_for_extensions() {
    let room = room();
    let handler = r#"
        pi.on("message_start", () => note("message_start"));
        pi.on("message_end", () => {
            note("message_end");
            pi.sendMessage({ customType: "note", content: "again", display: false });
        });
        pi.sendMessage({ customType: "note", content: "kept", display: false, details: { step: 1 } });
        const kept = () => ctx.sessionManager.getEntries().filter((entry: any) => entry.type === "custom_message");
        while (kept().length === 0) await sleep(10);
        await sleep(50);
        note(kept().map((entry: any) => entry.content).join());
    "#;
    room.write("extension.ts", with_command(handler));
    let model = room.model(&json!([{"text": "unused"}]));
    let run = room.run(["--json", "--model", &model, "-e", "extension.ts", "/go"]);
    let run = run.ended_with(0);
    assert_eq!(log(&room), ["kept", "shutdown"]);
    for name in ["message_start", "message_end"] {
        let events = run.events_named(name);
        assert_eq!(events.len(), 1, "{run:#?}");
        assert_eq!(events[0]["at_rest"], true, "{name}");
    }
}

/// A command that never ends by itself, and how far it must be before somebody ends it.
fn begun(room: &Room, handler: &str) -> Running {
    room.write(
        "extension.ts",
        with_command(&format!("ctx.ui.notify('begun'); {handler}")),
    );
    room.write("log", "");
    let model = room.model(&json!([{"text": "late", "delay_ms": 600_000}]));
    let run = room.start(["--model", &model, "-e", "extension.ts", "/go"]);
    run.wait_for_error("begun");
    run
}

#[test]
fn ctrl_c_cancels_a_command_whatever_it_does() {
    for (handler, ready) in [
        ("for (;;) {}", None),
        ("await null; for (;;) {}", None),
        ("await sleep(600_000);", Some("is still at work")),
        ("await new Promise((done) => setInterval(() => {}, 1000));", None),
        ("pi.sendUserMessage('x'); await ctx.waitForIdle();", None),
        ("await pi.exec('sleep', ['600']);", None),
        (
            "try { require('node:child_process').execSync('sleep 600'); } catch (error) { note(String(error)); }",
            None,
        ),
    ] {
        let room = room();
        let run = begun(&room, handler);
        ready.into_iter().for_each(|words| run.wait_for_error(words));
        run.signal(Signal::INT);
        let run = run.finish().ended_with(130).complained("cancelled");
        assert!(!run.stderr.contains("ETIMEDOUT"), "{handler}: {run:#?}");
        let log = log(&room);
        assert_eq!(log.last().map(String::as_str), Some("shutdown"), "{handler}");
        assert!(!log.concat().contains("ETIMEDOUT"), "{handler}: {log:?}");
    }
}

#[test]
fn ctrl_c_cancels_a_command_of_a_chat_and_the_chat_goes_on() {
    let room = room();
    room.write(
        "extension.ts",
        with_command("ctx.ui.notify('begun'); for (;;) {}"),
    );
    let model = room.model(&json!([{"text": "an answer"}]));
    let mut command = room.command(["--model", &model, "-e", "extension.ts", "chat"]);
    let mut child = command
        .stdin(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let run = Running::of(child);
    stdin.write_all(b"/go\n").expect("the chat reads");
    run.wait_for_error("begun");
    run.signal(Signal::INT);
    run.wait_for_error("cancelled");
    stdin.write_all(b"a prompt\n").expect("the chat reads");
    run.wait_for_output("an answer");
    drop(stdin);
    run.finish().ended_with(0);
    assert_eq!(log(&room), ["shutdown"]);
}

#[test]
fn a_second_signal_ends_what_cannot_be_interrupted_and_all_that_it_started() {
    // The engine looks whether it must end between its own instructions, and this is one of them.
    let handler = "const { pid } = require('node:child_process').spawn('sleep', ['600']);
        note(String(pid));
        ctx.ui.notify('computes');
        'a'.repeat(20_000_000).indexOf('a'.repeat(10_000_000) + 'b');";
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let room = room();
        let run = begun(&room, handler);
        run.wait_for_error("computes");
        let process = room.read("log").trim().to_owned();
        assert!(is_running(&process), "the extension has started a program");
        // Two signals of a kind at once would be one.
        let (program, deadline) = (run.id().to_string(), Instant::now() + TEST_TIMEOUT);
        while is_running(&program) {
            assert!(Instant::now() < deadline, "it is not to be ended by {signal:?}");
            run.signal(signal);
            std::thread::sleep(Duration::from_millis(100));
        }
        run.finish().ended_with(code);
        wait_until_gone(&process);
    }
}

#[test]
fn a_second_signal_does_not_wait_for_handlers_of_the_end() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let room = room();
        let handler = "pi.on('session_shutdown', () => {
                ctx.ui.notify('ends slowly');
                return new Promise(() => setInterval(() => {}, 1000));
            });
            await sleep(600_000);";
        let run = begun(&room, handler);
        run.signal(signal);
        run.wait_for_error("ends slowly");
        run.signal(signal);
        run.finish().ended_with(code);
    }
}

#[test]
fn a_second_signal_leaves_the_terminal_as_it_was() {
    let room = room();
    let extension = r#"
        import { existsSync, writeFileSync } from "node:fs";
        export default (pi: any) => {
            writeFileSync("process", String(process.pid));
            setInterval(() => {
                if (!existsSync("edits")) return;
                writeFileSync("computes", "");
                "a".repeat(20_000_000).indexOf("a".repeat(10_000_000) + "b");
            }, 20);
        };
    "#;
    room.write("extension.ts", extension);
    let Some(terminal) = Terminal::start(room, &["-e", "extension.ts"]) else {
        return;
    };
    // The screen is there before extensions are loaded.
    terminal.wait_until("the extension", |_| !terminal.room.read("process").is_empty());
    let process = terminal.room.read("process").parse().ok();
    let process = process.and_then(Pid::from_raw).expect("a number");
    terminal.room.write("edits", "");
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !terminal.room.has("../after") {
        assert!(
            Instant::now() < deadline,
            "it is not to be ended: {}",
            terminal.text()
        );
        if terminal.room.has("computes") {
            let _ = kill_process(process, Signal::TERM);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(terminal.wait_for_end(), 143);
    assert_eq!(terminal.room.read("../before"), terminal.room.read("../after"));
}

#[test]
fn a_command_chooses_model_and_thinking_in_every_front_end() {
    for front_end in FRONT_ENDS {
        let room = room();
        room.write("other.json", json!([{"text": "from the other"}]).to_string());
        let handler = r#"
            note(String(await pi.setModel({ provider: "scripted", id: "other.json" })));
            note(String(await pi.setModel({ provider: "nobody", id: "x" })));
            pi.setThinkingLevel("high");
            note(pi.getThinkingLevel() + " " + ctx.model.id);
            pi.sendUserMessage("who are you?");
        "#;
        let run = call(
            &room,
            front_end,
            &with_command(handler),
            &json!([{"text": "from the first"}]),
        );
        let run = run.ended_with(0).said("from the other");
        assert!(!run.stdout.contains("from the first"), "{front_end}: {run:#?}");
        assert_eq!(
            log(&room),
            ["true", "false", "high other", "shutdown"],
            "{front_end}"
        );
    }
}

#[test]
fn a_thinking_level_that_an_extension_chooses_is_asked_for() {
    let stream = OpenAiStream::new("gpt-5").text("thought").finish("stop").done();
    let server = ModelServer::start([Response::events(stream)]);
    let room = room().with("OPENAI_API_KEY", "k");
    room.config(&format!("[providers.openai]\nbase_url = \"{}\"\n", server.url()));
    let handler = "pi.setThinkingLevel('high'); pi.sendUserMessage('think'); await ctx.waitForIdle();";
    room.write("extension.ts", with_command(handler));
    let run = room.run(["--model", "openai/gpt-5", "-e", "extension.ts", "/go"]);
    run.ended_with(0).said("thought");
    assert_eq!(server.only_request().json()["reasoning_effort"], "high");
}

#[test]
fn shutdown_ends_the_program_when_the_command_is_over_and_not_before() {
    let handler = r#"
        ctx.shutdown();
        pi.sendUserMessage("one more thing");
        await ctx.waitForIdle();
        note("heard " + last(ctx));
        pi.sendUserMessage("never said");
    "#;
    for front_end in ["print", "chat"] {
        let room = room();
        room.write("extension.ts", with_command(handler));
        let model = room.model(&json!([{"text": "one"}, {"text": "two"}]));
        let options = ["--model", &model, "-e", "extension.ts"];
        let run = match front_end {
            "print" => room.run(options.iter().chain(&["/go"])),
            _ => room.run_with_input(options.iter().chain(&["chat"]), "/go\na prompt\n"),
        };
        let run = run.ended_with(0).said("one");
        assert!(!run.stdout.contains("two"), "{front_end}: {run:#?}");
        assert!(run.stderr.contains("was lost"), "{front_end}: {run:#?}");
        assert_eq!(log(&room), ["heard one", "shutdown"], "{front_end}");
    }
}

#[test]
fn abort_ends_the_run_and_not_the_command() {
    let handler = r#"
        pi.on("message_update", () => ctx.abort());
        pi.sendUserMessage("a long story");
        await ctx.waitForIdle();
        note("went on");
    "#;
    let slow =
        json!([{"text": "once upon a time", "chunk_size": 4, "chunk_delay_ms": 1000}, {"text": "again"}]);
    for (front_end, code) in [("print", 1), ("chat", 0), ("agent file", 1)] {
        let room = room();
        let run = call(&room, front_end, &with_command(handler), &slow);
        let run = run.ended_with(code).complained("an extension ended the run");
        assert!(!run.stdout.contains("upon a time"), "{front_end}: {run:#?}");
        assert_eq!(log(&room), ["went on", "shutdown"], "{front_end}");
    }
}

#[test]
fn extensions_see_becket_compact_and_are_heard_after_it() {
    let room = room();
    let extension = r#"
        import { appendFileSync } from "node:fs";
        export default (pi: any) => {
            pi.on("session_start", () => pi.setModel({ provider: "scripted", id: "other.json" }));
            pi.on("session_before_compact", (event: any) => {
                appendFileSync("log", event.customInstructions + "\n");
            });
            pi.on("session_compact", (event: any) => {
                appendFileSync("log", event.compactionEntry.summary + "\n");
                pi.sendUserMessage("what now?");
            });
        };
    "#;
    let model = room.model(&json!([{"text": "hello"}]));
    room.run(["--model", &model, "hi"]).ended_with(0);
    room.write("extension.ts", extension);
    let turns = json!([{"text": "A greeting."}, {"expect": ["what now?"], "text": "nothing"}]);
    room.write("other.json", turns.to_string());
    let model = room.model(&json!([{"text": "of the wrong model"}]));
    let run = room.run([
        "--model",
        &model,
        "-e",
        "extension.ts",
        "compact",
        "--instructions",
        "be short",
    ]);
    run.ended_with(0).said("nothing");
    assert_eq!(log(&room), ["be short", "A greeting."]);
}
