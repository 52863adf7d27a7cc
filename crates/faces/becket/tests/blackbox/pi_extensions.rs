//! Extensions of pi's, as files: hooks, tools, commands, options and providers that they bring to a run.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Response, Room};

use crate::plugins::result;
use crate::room;

/// Runs a prompt with an extension. The model makes these turns.
pub fn run_with(room: &Room, extension: &str, turns: &Value, options: &[&str]) -> Finished {
    room.write("extension.ts", extension);
    let model = room.model(turns);
    let mut words = vec!["--json", "--model", &model, "-e", "extension.ts"];
    words.extend(options);
    words.push("go");
    room.run(words)
}

/// Turns in which the model makes one call and then answers.
pub fn one_call(name: &str, arguments: Value) -> Value {
    json!([{"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "went on"}])
}

#[test]
fn a_guard_blocks_a_call_and_changes_the_arguments_of_another() {
    let room = room();
    let gate = r#"
        import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
        export default function (pi: ExtensionAPI) {
            pi.on("tool_call", async (event, ctx) => {
                if (event.toolName !== "bash") return undefined;
                if (event.input.command.includes("rm -rf")) return { block: true, reason: "no " + ctx.cwd.length };
                event.input.command = "echo changed";
            });
        }
    "#;
    let run = run_with(
        &room,
        gate,
        &one_call("shell", json!({"command": "rm -rf x"})),
        &["--yes"],
    );
    let refused = result(&run.ended_with(0));
    let length = room.work().display().to_string().len();
    assert!(refused.contains(&format!("no {length}")), "{refused}");
    let run = run_with(
        &room,
        gate,
        &one_call("shell", json!({"command": "echo x"})),
        &["--yes"],
    );
    assert!(result(&run.ended_with(0)).contains("changed"));
}

#[test]
fn a_refusal_counts_however_an_object_holds_it() {
    let room = room();
    for answer in [
        "new (class { get block() { return true; } })()",
        "Object.create({ block: true })",
        "new Proxy({}, { get: () => true })",
        "Object.defineProperty({}, 'block', { value: true })",
        "({ block: true, toJSON: () => ({}) })",
        "({ block: 'yes' })",
        "Object.assign(() => {}, { block: true })",
        "new Error('no')",
    ] {
        let gate = format!("export default (pi: any) => pi.on('tool_call', () => {answer});");
        let turns = one_call("shell", json!({"command": "touch ran"}));
        let run = run_with(&room, &gate, &turns, &["--yes"]).ended_with(0);
        assert!(!room.has("ran"), "{answer}: {run:#?}");
    }
}

#[test]
fn fetch_reaches_servers() {
    let server = ModelServer::start([Response::json(200, &json!({"hello": "you"})).header("x-mark", "here")]);
    let room = room();
    let url = format!("{}/some/where", server.url());
    let tool = format!(
        "export default (pi: any) => pi.on('input', async () => {{
            const answer = await fetch('{url}', {{ method: 'POST', body: 'a body', headers: {{ 'x-own': '1' }} }});
            const text = [answer.status, answer.headers.get('x-mark'), (await answer.json()).hello].join(' ');
            return {{ action: 'transform', text }};
        }});"
    );
    let run = run_with(&room, &tool, &json!([{"text": "fine"}]), &[]).ended_with(0);
    assert_eq!(
        run.events_named("user_prompt")[0]["prompt"],
        "200 here you",
        "{run:#?}"
    );
    let request = server.only_request();
    assert!(request.path.ends_with("/some/where"), "{}", request.path);
    assert_eq!(
        (request.text().as_str(), request.header("x-own")),
        ("a body", Some("1"))
    );
    room.config("[pi]\nnetwork = false\n");
    let run = run_with(&room, &tool, &json!([{"text": "fine"}]), &[]).complained("pi.network");
    assert_eq!(run.code, 0);
}

#[test]
fn a_guard_that_throws_or_never_answers_blocks() {
    let room = room();
    room.config("[pi]\ntimeout = 4\n");
    for (handler, words) in [
        ("() => { throw new Error('broken gate'); }", "broken gate"),
        (
            "() => new Promise(() => setInterval(() => {}, 100000))",
            "no answer within",
        ),
        ("() => { for (;;) {} }", "extension"),
    ] {
        let gate = format!("export default (pi: any) => {{ pi.on('tool_call', {handler}); }};");
        let run = run_with(
            &room,
            &gate,
            &one_call("shell", json!({"command": "touch made"})),
            &["--yes"],
        );
        let refused = result(&run.ended_with(0));
        assert!(refused.contains(words), "{handler}: {refused}");
        assert!(!room.has("made"), "{handler}");
    }
}

#[test]
fn the_prompt_the_system_prompt_and_results_are_transformed() {
    let room = room();
    let extension = r#"
        export default (pi: any) => {
            pi.on("input", (event: any) => ({ action: "transform", text: event.text + " indeed" }));
            pi.on("before_agent_start", (event: any) => ({ systemPrompt: event.systemPrompt + "\nSpeak like a pirate." }));
            pi.on("tool_result", (event: any) => ({ content: [{ type: "text", text: "hidden" }] }));
        };
    "#;
    let turns = json!([
        {"expect": ["go indeed", "like a pirate"], "tool_calls": [{"name": "shell", "arguments": {"command": "echo s3cret"}}]},
        {"expect": ["hidden"], "text": "done"}
    ]);
    let run = run_with(&room, extension, &turns, &["--yes"]).ended_with(0);
    assert!(!result(&run).contains("s3cret"));
}

#[test]
fn results_and_answers_are_changed_in_place_and_halves_of_characters_do_no_harm() {
    let room = room();
    let extension = r#"
        export { ExtensionAPI } from "@mariozechner/pi-coding-agent";
        import { nopefn } from "fs";
        export default (pi: any) => {
            const half = "😀".slice(0, 1);
            pi.on("tool_result", (event: any) => {
                event.content[0].text = event.content[0].text.trim() + " in place" + half;
                event.content.push({ type: "text", text: "pushed " + typeof nopefn });
            });
            pi.on("message_end", ({ message }: any) => {
                if (message.role === "assistant" && message.content[0]?.text) message.content[0].text += " (mended)";
            });
            pi.on("context", (event: any) => { event.messages[0].content[0].text += " asked" + half; });
            pi.on("session_start", (_: any, ctx: any) => {
                pi.appendEntry("notes", { text: half });
                pi.setSessionName("name " + half);
                ctx.ui.notify("told " + half, "info");
            });
        };
    "#;
    let turns = json!([
        {"expect": ["go asked\u{fffd}"], "text": "let me see",
         "tool_calls": [{"name": "shell", "arguments": {"command": "echo out"}}]},
        {"expect": ["let me see (mended)", "out in place\u{fffd}", "pushed undefined"], "text": "done"}
    ]);
    let run = run_with(&room, extension, &turns, &["--yes"]).ended_with(0);
    assert!(run.stderr.contains("told \u{fffd}"), "{run:#?}");
    assert!(run.stdout.contains("done (mended)"), "{run:#?}");
}

#[test]
fn a_tool_is_validated_tells_how_it_gets_on_and_answers() {
    let room = room();
    let extension = r#"
        import { Type } from "@sinclair/typebox";
        export default (pi: any) => {
            pi.registerTool({
                name: "greet", label: "Greet", description: "Greets somebody",
                promptSnippet: "greets people", promptGuidelines: ["Greet often."],
                parameters: Type.Object({ name: Type.String(), times: Type.Optional(Type.Number()) }),
                async execute(id: string, params: any, signal: any, onUpdate: any, ctx: any) {
                    onUpdate?.({ content: [{ type: "text", text: "soon" }], details: {} });
                    return { content: [{ type: "text", text: `hello ${params.name} ${params.times + 1}` }], details: { id } };
                },
            });
        };
    "#;
    let turns = json!([
        {"expect": ["greets people", "Greet often."],
         "tool_calls": [{"name": "greet", "arguments": {"name": "you", "times": "2"}}]},
        {"text": "went on"}
    ]);
    let run = run_with(&room, extension, &turns, &[]).ended_with(0);
    assert_eq!(result(&run), "hello you 3");
    assert!(!run.events_named("tool_update").is_empty(), "{run:#?}");
    let run = run_with(&room, extension, &one_call("greet", json!({"times": 1})), &[]).ended_with(0);
    let output = result(&run);
    assert!(
        output.contains("Validation failed for tool \"greet\""),
        "{output}"
    );
}

#[test]
fn a_tool_with_the_name_of_one_of_beckets_own_takes_its_place_behind_the_same_gate() {
    let room = room();
    let extension = r#"
        export default (pi: any) => {
            pi.registerTool({
                name: "bash", label: "bash", description: "Runs elsewhere",
                parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
                execute: async (id: string, params: any) => ({ content: [{ type: "text", text: "ran " + params.command }] }),
            });
        };
    "#;
    let call = one_call("shell", json!({"command": "echo x"}));
    assert_eq!(
        result(&run_with(&room, extension, &call, &["--yes"]).ended_with(0)),
        "ran echo x"
    );
    let refused = result(&run_with(&room, extension, &call, &[]).ended_with(0));
    assert!(!refused.contains("ran "), "nobody said yes: {refused}");
    room.config("[permissions]\ndeny = [\"shell:command=echo *\"]\n");
    let refused = result(&run_with(&room, extension, &call, &["--yes"]).ended_with(0));
    assert!(!refused.contains("ran "), "a rule forbids it: {refused}");
}

#[test]
fn commands_run_before_anything_else_and_what_they_ask_for_is_done() {
    let room = room();
    room.write(
        "extension.ts",
        r#"
        export default (pi: any) => {
            pi.registerCommand("hello", { description: "Greets", handler: async (args: string, ctx: any) => {
                ctx.ui.notify(`hello ${args}`, "info");
            } });
            pi.registerCommand("ask", { handler: async (args: string) => { pi.sendUserMessage("what is " + args); } });
            pi.registerCommand("fail", { handler: async () => { throw new Error("broken command"); } });
            pi.on("input", (event: any) => { if (event.text.startsWith("/")) console.error("input saw " + event.text); });
        };
        "#,
    );
    let with = |prompt: &str, turns: &Value| {
        let model = room.model(turns);
        room.run(["--model", &model, "-e", "extension.ts", prompt])
    };
    let run = with("/hello big world", &json!([{"text": "unused"}])).ended_with(0);
    assert!(
        run.stderr.contains("hello big world") && !run.stderr.contains("input saw"),
        "{run:#?}"
    );
    with(
        "/ask six",
        &json!([{"expect": ["what is six"], "text": "a number"}]),
    )
    .ended_with(0)
    .said("a number");
    with("/fail", &json!([{"text": "unused"}]))
        .ended_with(1)
        .complained("broken command");
    with("/other", &json!([{"text": "a prompt"}]))
        .ended_with(0)
        .said("a prompt");
    let model = room.model(&json!([{"text": "unused"}]));
    let chat = room.run_with_input(
        ["chat", "--model", &model, "-e", "extension.ts"],
        "/hello you\n/help\n/quit\n",
    );
    let chat = chat.ended_with(0);
    assert!(
        chat.stderr.contains("hello you") && chat.stdout.contains("Greets"),
        "{chat:#?}"
    );
}

#[test]
fn options_of_extensions_are_read_and_unknown_ones_stay_a_mistake() {
    let room = room();
    room.write(
        "extension.ts",
        r#"
        export default (pi: any) => {
            pi.registerFlag("plan", { type: "boolean", description: "Plans only", default: false });
            pi.registerFlag("preset", { type: "string" });
            pi.on("session_start", () => {
                console.error(`plan=${pi.getFlag("plan")} preset=${pi.getFlag("preset")} other=${pi.getFlag("json")}`);
            });
        };
        "#,
    );
    let model = room.model(&json!([{"text": "fine"}]));
    for (words, told) in [
        (vec!["--plan", "go"], "plan=true preset=undefined"),
        (vec!["--preset", "fast", "go", "--plan"], "plan=true preset=fast"),
        (vec!["ask", "--preset=x", "go"], "plan=false preset=x"),
        (vec!["go"], "plan=false preset=undefined"),
    ] {
        let all = ["--model", &model, "-e", "extension.ts"]
            .into_iter()
            .chain(words.iter().copied());
        let run = room.run(all).ended_with(0).said("fine");
        assert!(run.stderr.contains(told), "{words:?}: {run:#?}");
        assert_eq!(run.stderr.matches("plan=").count(), 1, "loaded once: {run:#?}");
    }
    let wrong = room
        .run(["--model", &model, "-e", "extension.ts", "--plam", "go"])
        .ended_with(2);
    assert!(
        wrong.stderr.contains("--plam") && wrong.stderr.contains("--plan"),
        "{wrong:#?}"
    );
    room.run(["--model", &model, "--plan", "go"])
        .ended_with(2)
        .complained("--plan");
}

#[test]
fn a_provider_of_an_extension_answers() {
    let room = room();
    room.write(
        "extension.ts",
        r#"
        import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
        export default (pi: any) => {
            pi.registerProvider("fake", {
                baseUrl: "http://127.0.0.1:1", apiKey: "FAKE_KEY", api: "fake-api",
                models: [{ id: "m1", name: "M1", reasoning: false, input: ["text"], contextWindow: 1000, maxTokens: 100,
                           cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }],
                streamSimple(model: any, context: any, options: any) {
                    const stream = createAssistantMessageEventStream();
                    (async () => {
                        const last = context.messages[context.messages.length - 1];
                        const words = typeof last.content === "string" ? last.content : last.content[0].text;
                        const text = `${model.id} heard ${words} with ${options.apiKey}`;
                        const message = {
                            role: "assistant", content: [{ type: "text", text }], api: model.api, provider: model.provider,
                            model: model.id, stopReason: "stop", timestamp: Date.now(),
                            usage: { input: 3, output: 4, cacheRead: 0, cacheWrite: 0, totalTokens: 7,
                                     cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
                        };
                        stream.push({ type: "start", partial: message });
                        stream.push({ type: "text_delta", contentIndex: 0, delta: text.slice(0, 5), partial: message });
                        stream.push({ type: "done", reason: "stop", message });
                        stream.end();
                    })();
                    return stream;
                },
            });
        };
        "#,
    );
    let room = room.with("FAKE_KEY", "k123");
    room.run(["--model", "fake/m1", "-e", "extension.ts", "hi"])
        .ended_with(0)
        .said("m1 heard hi with k123");
    room.run(["--model", "fake/m2", "-e", "extension.ts", "hi"])
        .ended_with(2)
        .complained("has no model `m2`");
}

#[test]
fn what_only_extensions_want_ends_at_its_limit() {
    let room = room();
    let extension = r#"
        export default (pi: any) => {
            pi.on("agent_end", () => { pi.sendUserMessage("more", { deliverAs: "followUp" }); });
        };
    "#;
    let turns: Vec<_> = (0..250)
        .map(|number| json!({"text": format!("answer {number}")}))
        .collect();
    let run = run_with(&room, extension, &json!(turns), &[]).ended_with(5);
    run.complained("hooks have caused 200 requests since the user last spoke");
}

#[test]
fn what_extensions_say_at_the_end_of_a_run_is_answered_and_shutdown_comes_last() {
    let room = room();
    let extension = r#"
        import { appendFileSync } from "node:fs";
        export default (pi: any) => {
            const note = (text: string) => appendFileSync("log", text + "\n");
            let again = true;
            for (const name of ["session_start", "agent_start", "agent_end", "session_shutdown"]) {
                pi.on(name, () => note(name));
            }
            pi.on("agent_end", () => { if (again) { again = false; pi.sendUserMessage("more", { deliverAs: "followUp" }); } });
            setInterval(() => {}, 1000);
        };
    "#;
    let turns = json!([{"text": "one"}, {"expect": ["more"], "text": "two"}]);
    run_with(&room, extension, &turns, &[]).ended_with(0);
    let log = room.read("log");
    let log: Vec<&str> = log.lines().collect();
    assert_eq!(log.first(), Some(&"session_start"));
    assert_eq!(log.last(), Some(&"session_shutdown"));
    assert_eq!(
        log.iter().filter(|name| **name == "agent_end").count(),
        2,
        "{log:?}"
    );
}
