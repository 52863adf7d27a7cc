//! Models and extensions of pi's: what extensions see of answers and requests, what models see of extensions, and
//! providers that extensions bring.

use serde_json::{Value, json};
use testkit::{AnthropicStream, ModelServer, OpenAiStream, Response, Room, Wire};

use crate::pi_extensions::{one_call, run_with};
use crate::plugins::result;
use crate::room;

/// An extension that writes the events of these names to the file `log`, a line of JSON for each.
fn recorder(names: &[&str]) -> String {
    let names = json!(names);
    format!(
        "import {{ appendFileSync }} from 'node:fs';
        export default (pi: any) => {{
            for (const name of {names}) pi.on(name, (event: any) => {{
                appendFileSync('log', JSON.stringify(event) + '\\n');
            }});
        }};"
    )
}

/// The events that the recorder wrote to the file `log`.
fn recorded(room: &Room) -> Vec<Value> {
    let log = room.read("log");
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == name).collect()
}

const ABOUT_ANSWERS: &[&str] = &["message_start", "message_end", "turn_end", "agent_end"];

// ---------------------------------------------------------------- the list

const LISTER: &str = r#"
    export default (pi: any) => pi.registerCommand("models", {
        handler: async (_args: string, ctx: any) => {
            const of = (models: any[], provider: string) =>
                models.filter((model) => model.provider === provider).map((model) => model.id);
            const { modelRegistry } = ctx;
            const all = modelRegistry.getAll(), usable = modelRegistry.getAvailable();
            const gpt = modelRegistry.find("openai", "gpt-4.1");
            console.error(JSON.stringify({
                mine: of(usable, "openai"), known: of(all, "anthropic").includes("claude-sonnet-4-5"),
                unusable: of(usable, "anthropic").length, google: of(all, "google").length > 0,
                gpt: [gpt.contextWindow, gpt.cost.output, gpt.api], groq: modelRegistry.find("groq", "x")?.baseUrl,
                typed: modelRegistry.getModelsOfType("image").length,
                status: await modelRegistry.getProviderAuth("openai"),
                provider: modelRegistry.getProvider("openai")?.getModels().length === of(all, "openai").length,
                none: await modelRegistry.getProviderAuth("anthropic") === undefined,
            }));
        },
    });"#;

/// Extensions are told all models that becket knows: those in its own table and those that providers have listed.
#[test]
fn an_extension_sees_the_known_models_of_every_provider() {
    let server = ModelServer::answering(|_| {
        Response::json(
            200,
            &json!({"data": [{"id": "gpt-4.1"}, {"id": "own-1", "context_length": 9_000}]}),
        )
    });
    let room = room()
        .with("OPENAI_API_KEY", "k-123456789")
        .with("OPENAI_BASE_URL", &server.url());
    room.write("lister.ts", LISTER);
    let listed = || {
        let run = room.run(["-e", "lister.ts", "--model", "openai/gpt-4.1", "/models"]);
        let line = run.ended_with(0).stderr;
        let (_, json) = line.split_once('{').expect("an object");
        let (json, _) = json.split_once('\n').expect("a line");
        serde_json::from_str::<Value>(&format!("{{{json}")).expect("JSON")
    };
    let before = listed();
    assert_eq!(
        before["mine"],
        json!(["gpt-4.1"]),
        "nobody has asked that address: {before}"
    );
    assert_eq!(
        (&before["known"], &before["unusable"], &before["google"]),
        (&json!(true), &json!(0), &json!(true)),
        "{before}"
    );
    assert_eq!(before["groq"], "https://api.groq.com/openai/v1");
    room.run(["models", "--provider", "openai"]).ended_with(0);
    let after = listed();
    assert_eq!(after["mine"], json!(["gpt-4.1", "own-1"]), "{after}");
    assert_eq!(
        (&after["typed"], &after["provider"], &after["none"]),
        (&json!(0), &json!(true), &json!(true))
    );
    assert_eq!(after["status"]["auth"]["apiKey"], "kept-by-becket", "{after}");
    let words = [
        "pi",
        "-e",
        "lister.ts",
        "--model",
        "openai/gpt-4.1",
        "--list-models",
        "own",
    ];
    room.run(words).ended_with(0).said("own-1").said("9K");
}

/// Services that pi knows by name need no entry in the settings.
#[test]
fn providers_that_pi_names_are_known() {
    for (provider, service, key) in [
        ("google", "GEMINI", "GEMINI_API_KEY"),
        ("groq", "GROQ", "GROQ_API_KEY"),
        ("mistral", "MISTRAL", "MISTRAL_API_KEY"),
    ] {
        let wire = if provider == "google" {
            Wire::Gemini
        } else {
            Wire::Chat
        };
        let server = ModelServer::answering(move |_| Response::events(wire.text("hello")));
        let words = ["pi", "--provider", provider, "--model", "m", "-p", "Hi"];
        room().run(words).ended_with(1).complained(&format!("Set {key}"));
        let room = room()
            .with(key, "k-123456789")
            .with(&format!("{service}_BASE_URL"), &server.url());
        room.run(words).ended_with(0).said("hello");
        let request = server.only_request();
        let sent = format!(
            "{:?}",
            request
                .header("authorization")
                .or(request.header("x-goog-api-key"))
        );
        assert!(sent.contains("k-123456789"), "{provider}: {sent}");
        let shown = room
            .run(["--yes", "--model", "rehearsal", "Run: env"])
            .ended_with(0);
        assert!(
            !format!("{shown:?}").contains("k-123456789"),
            "{provider}: {shown:#?}"
        );
    }
}

// ---------------------------------------------------------------- answers

#[test]
fn an_answer_that_failed_is_a_message_that_says_so() {
    let room = room();
    room.config("[agent]\nmax_retries = 0\n");
    for (turn, words) in [
        (
            json!({"error": {"kind": "rejected", "message": "no such model"}}),
            "",
        ),
        (
            json!({"text": "half a", "error": {"kind": "broken", "message": "no such model"}}),
            "half a",
        ),
    ] {
        room.write("log", "");
        run_with(&room, &recorder(ABOUT_ANSWERS), &json!([turn]), &[]).ended_with(3);
        let events = recorded(&room);
        let is_answer = |event: &&&Value| event["message"]["role"] == "assistant";
        let of = |name: &str| {
            named(&events, name)
                .into_iter()
                .filter(|event| is_answer(&event))
                .count()
        };
        assert_eq!((of("message_start"), of("message_end")), (1, 1), "{events:#?}");
        let end = named(&events, "message_end")
            .into_iter()
            .find(|event| is_answer(&event))
            .unwrap();
        let answer = &end["message"];
        assert_eq!(answer["stopReason"], "error");
        assert_eq!(answer["errorMessage"], "no such model");
        assert!(answer["timestamp"].as_u64().unwrap() > 1_000_000_000_000);
        let text = answer["content"]
            .as_array()
            .unwrap()
            .first()
            .map(|part| part["text"].clone());
        assert_eq!(text.unwrap_or(json!("")), words);
        assert_eq!(named(&events, "turn_end")[0]["message"], *answer);
        let messages = named(&events, "agent_end")[0]["messages"].as_array().unwrap();
        assert_eq!(messages.last(), Some(answer));
        assert_eq!(messages.len(), 2, "the prompt and the answer");
    }
}

#[test]
fn an_answer_that_was_aborted_is_a_message_that_says_so() {
    let room = room();
    let extension = r#"
        import { appendFileSync } from "node:fs";
        export default (pi: any) => {
            pi.on("message_update", (event: any, ctx: any) => ctx.abort());
            for (const name of ["message_end", "turn_end", "agent_end"]) pi.on(name, (event: any) => {
                appendFileSync("log", JSON.stringify(event) + "\n");
            });
        };
    "#;
    let turns = json!([{"text": "one two three", "chunk_size": 3, "chunk_delay_ms": 1000}]);
    run_with(&room, extension, &turns, &[]);
    let events = recorded(&room);
    let turn = named(&events, "turn_end")[0];
    assert_eq!(turn["outcome"], "aborted");
    assert_eq!(turn["message"]["stopReason"], "aborted");
    assert_eq!(turn["message"]["errorMessage"], "Request was aborted");
    assert!(turn["message"]["timestamp"].as_u64().unwrap() > 1_000_000_000_000);
    let messages = named(&events, "agent_end")[0]["messages"].as_array().unwrap();
    assert_eq!(messages.last(), Some(&turn["message"]));
    assert_eq!(
        named(&events, "message_end").last().unwrap()["message"],
        turn["message"]
    );
}

#[test]
fn what_replaces_an_answer_is_what_is_shown_and_kept() {
    let room = room();
    let extension = r#"
        export default (pi: any) => pi.on("message_end", (event: any) => {
            if (event.message.role !== "assistant") return;
            const content = event.message.content.map((part: any) =>
                part.type === "text" ? { ...part, text: part.text.replaceAll("secret", "[hidden]") } : part);
            return { message: { ...event.message, content } };
        });
    "#;
    room.write("extension.ts", extension);
    let model = room.model(&json!([{"text": "the secret is out", "chunk_size": 4}]));
    let run = room
        .run(["--model", &model, "-e", "extension.ts", "-c", "kept", "go"])
        .ended_with(0);
    assert_eq!(run.stdout, "the [hidden] is out\n", "{run:#?}");
    let model = room.model(&json!([{"expect": ["[hidden] is out"], "text": "fine"}]));
    let run = room.run(["--model", &model, "-c", "kept", "again"]).ended_with(0);
    assert_eq!(
        run.stdout, "fine\n",
        "without such hooks it comes as it is: {run:#?}"
    );
}

// ---------------------------------------------------------------- contexts

#[test]
fn a_call_whose_result_was_pruned_gets_one_in_its_place() {
    let room = room();
    let extension = r#"
        export default (pi: any) => pi.on("context", (event: any) => ({
            messages: event.messages.filter((message: any) => message.role !== "toolResult"),
        }));
    "#;
    let turns = json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo seen"}}]},
        {"expect": ["No result provided"], "text": "went on"},
    ]);
    let run = run_with(&room, extension, &turns, &["--yes"]).ended_with(0);
    let bodies = run.events_named("pre_request");
    assert!(!bodies[1]["body"].to_string().contains("seen\\n"), "{bodies:#?}");
}

#[test]
fn the_summary_of_a_compaction_is_the_first_message_of_the_context() {
    let room = room();
    let model = room.model(&json!([{"text": "one"}, {"text": "we spoke of onions"}, {"text": "two"}]));
    let extension = r#"
        import { appendFileSync } from "node:fs";
        export default (pi: any) => {
            pi.on("context", (event: any) => {
                appendFileSync("log", JSON.stringify(event) + "\n");
                return { messages: [...event.messages] };
            });
            pi.registerCommand("short", { handler: (_: string, ctx: any) => ctx.compact() });
        };
    "#;
    room.write("extension.ts", extension);
    let chat = room.run_with_input(
        ["chat", "--model", &model, "-e", "extension.ts"],
        "first\n/short\nsecond\n/quit\n",
    );
    let chat = chat.ended_with(0);
    let events = recorded(&room);
    let last = events.last().unwrap()["messages"].as_array().unwrap();
    assert_eq!(last[0]["role"], "compactionSummary", "{chat:#?}");
    assert!(last[0]["summary"].as_str().unwrap().contains("onions"));
    assert!(last[0]["tokensBefore"].as_u64().unwrap() > 0);
    assert!(last[0]["timestamp"].as_u64().unwrap() > 1_000_000_000_000);
    assert!(chat.stdout.contains("two"), "{chat:#?}");
    assert_eq!(
        events[0]["messages"][0]["role"], "user",
        "nothing was compacted then"
    );
}

// ---------------------------------------------------------------- words for the model

#[test]
fn with_pis_tools_a_model_reads_pis_words() {
    let room = room();
    let call = |name: &str| one_call(name, json!({"command": "echo x"}));
    let tools = &["--yes", "--tools", "pi"];
    for (handler, words) in [
        ("() => ({ block: true, reason: 'because' })", "because"),
        ("() => ({ block: true })", "Tool execution was blocked"),
        ("() => { throw new Error('broken gate'); }", "broken gate"),
        (
            "async () => { throw 'no more'; }",
            "Extension failed, blocking execution: no more",
        ),
        (
            "() => { throw 'no more'; }",
            "Extension failed, blocking execution: no more",
        ),
    ] {
        let gate = format!("export default (pi: any) => pi.on('tool_call', {handler});");
        let run = run_with(&room, &gate, &call("bash"), tools).ended_with(0);
        assert_eq!(result(&run), words, "{handler}: {run:#?}");
    }
    let none = "export default () => {};";
    let run = run_with(&room, none, &call("nothing"), tools).ended_with(0);
    assert_eq!(result(&run), "Tool nothing not found");
    let thrown = "export default (pi: any) => pi.registerTool({ name: 'odd', description: 'd',
        parameters: { type: 'object', properties: {} }, execute() { throw 'just words'; } });";
    let run = run_with(&room, thrown, &one_call("odd", json!({})), tools).ended_with(0);
    assert_eq!(result(&run), "just words");
    let own = run_with(&room, none, &call("nothing"), &["--yes"]).ended_with(0);
    assert_eq!(
        result(&own),
        "there is no tool `nothing`",
        "becket's own words elsewhere"
    );
}

#[test]
fn arguments_are_shown_as_the_model_wrote_them_and_prepared_before_they_are_judged() {
    let room = room();
    let extension = r#"
        import { appendFileSync } from "node:fs";
        export default (pi: any) => {
            for (const name of ["tool_execution_start", "tool_call"]) pi.on(name, (event: any) => {
                appendFileSync("log", JSON.stringify(event) + "\n");
            });
            pi.registerTool({
                name: "count", description: "d",
                parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
                prepareArguments: (written: any) => ("amount" in written ? { n: written.amount } : written),
                async execute(_: string, { n }: any) {
                    return { content: [{ type: "text", text: `counted ${n + 1}` }] };
                },
            });
            pi.registerTool({
                name: "bash", description: "d",
                parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
                prepareArguments: (written: any) => ({ command: written.command ?? written.cmd }),
                async execute(_: string, { command }: any) {
                    return { content: [{ type: "text", text: `ran ${command}` }] };
                },
            });
        };
    "#;
    for (call, raw, input, told) in [
        (
            one_call("count", json!({"n": "4"})),
            json!({"n": "4"}),
            json!({"n": 4}),
            "counted 5",
        ),
        (
            one_call("count", json!({"amount": 4})),
            json!({"amount": 4}),
            json!({"n": 4}),
            "counted 5",
        ),
        (
            one_call("bash", json!({"cmd": "ls"})),
            json!({"cmd": "ls"}),
            json!({"command": "ls"}),
            "ran ls",
        ),
    ] {
        room.write("log", "");
        let run = run_with(&room, extension, &call, &["--yes", "--tools", "pi"]).ended_with(0);
        assert_eq!(result(&run), told, "{run:#?}");
        let events = recorded(&room);
        assert_eq!(named(&events, "tool_execution_start")[0]["args"], raw);
        assert_eq!(named(&events, "tool_call")[0]["input"], input);
    }
}

// ---------------------------------------------------------------- providers that stream by themselves

/// An extension with the provider `fake/m1`, whose stream does this. `push` takes an event, and `say` ends with a text.
fn streaming(stream: &str, rest: &str) -> String {
    format!(
        r#"
        import {{ appendFileSync }} from "node:fs";
        import {{ createAssistantMessageEventStream }} from "@mariozechner/pi-ai";
        const usage = {{ input: 3, output: 4, cacheRead: 0, cacheWrite: 0, totalTokens: 7,
            cost: {{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }} }};
        const note = (value: unknown) => appendFileSync("log", JSON.stringify(value) + "\n");
        export default (pi: any) => {{
            pi.registerProvider("fake", {{
                baseUrl: "http://127.0.0.1:1", apiKey: "k", api: "fake-api", headers: {{ "x-provider": "1" }},
                models: [{{ id: "m1", name: "M1", reasoning: false, input: ["text"],
                           contextWindow: 4321, maxTokens: 100,
                           cost: {{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }} }}],
                streamSimple(model: any, context: any, options: any) {{
                    const stream = createAssistantMessageEventStream();
                    const message = (content: unknown[], stopReason: string) => ({{
                        role: "assistant", content, api: model.api, provider: model.provider, model: model.id, usage,
                        stopReason, timestamp: Date.now(),
                    }});
                    const push = (event: any) => stream.push(event);
                    const say = (text: string) =>
                        push({{ type: "done", reason: "stop", message: message([{{ type: "text", text }}], "stop") }});
                    {stream}
                    return stream;
                }},
            }});
            {rest}
        }};
        "#
    )
}

#[test]
fn the_window_of_a_model_counts_however_it_was_chosen() {
    let room = room();
    let extension = streaming(
        "say('fine');",
        "pi.on('agent_start', (_: any, ctx: any) => note(ctx.getContextUsage().contextWindow));",
    );
    room.write("extension.ts", extension);
    let words = ["--model", "fake/m1", "-e", "extension.ts", "hi"];
    room.run(words).ended_with(0).said("fine");
    room.config("[compaction]\ncontext_window = 99\n");
    room.run(words).ended_with(0);
    room.config("[compaction.context_windows]\n\"fake/m1\" = 77\n");
    room.run(words).ended_with(0);
    assert_eq!(recorded(&room), [json!(4321), json!(4321), json!(77)]);
}

#[test]
fn models_that_becket_knows_have_the_facts_of_its_tables() {
    let room = room().with("OPENAI_API_KEY", "sk-0123456789");
    let extension = "import { appendFileSync } from 'node:fs';
        export default (pi: any) => { pi.on('session_start', (_: any, ctx: any) => {
            for (const id of ['gpt-4o', 'o3-mini', 'unheard-of']) {
                const { reasoning, input, cost, contextWindow, maxTokens } = ctx.modelRegistry.find('openai', id);
                const facts = [reasoning, input, cost.input, cost.output, cost.cacheRead, contextWindow, maxTokens];
                appendFileSync('log', JSON.stringify(facts) + '\\n');
            }
        }); };";
    run_with(&room, extension, &json!([{"text": "fine"}]), &[]).ended_with(0);
    let facts = recorded(&room);
    assert_eq!(
        facts[0],
        json!([false, ["text", "image"], 2.5, 10, 1.25, 128_000, 16_384])
    );
    assert_eq!(facts[1], json!([true, ["text"], 0, 0, 0, 200_000, 100_000]));
    let unknown = facts[2].as_array().expect("a list");
    assert_eq!(
        (&unknown[0], &unknown[2], &unknown[6]),
        (&json!(false), &json!(0), &json!(16_384))
    );
}

#[test]
fn a_stream_hears_what_extensions_add_as_the_person_s_words() {
    let room = room();
    let extension = streaming(
        "note(context.messages.map((message: any) => [message.role, message.content[0].text])); say('fine');",
        "pi.on('before_agent_start', () => ({ message: { customType: 'm', content: 'injected', display: true } }));",
    );
    room.write("extension.ts", extension);
    room.run(["--model", "fake/m1", "-e", "extension.ts", "hi"])
        .ended_with(0);
    assert_eq!(recorded(&room), [json!([["user", "hi"], ["user", "injected"]])]);
}

#[test]
fn every_model_of_a_known_provider_is_believed() {
    let room = room().with("ANTHROPIC_API_KEY", "k123456789");
    room.write(
        "extension.ts",
        "import { appendFileSync } from 'node:fs';
        import { getModel } from '@mariozechner/pi-ai';
        export default (pi: any) => pi.on('session_start', async (_: any, { modelRegistry }: any) => {
            for (const [provider, id] of [['anthropic', 'claude-any'], ['openai', 'gpt-any'], ['nobody', 'x']]) {
                const model = modelRegistry.find(provider, id);
                const key = model && await modelRegistry.getApiKey(model) !== undefined;
                appendFileSync('log', JSON.stringify([provider, model?.id, model?.api, key, getModel(provider, id)?.id])
                    + '\\n');
            }
        });",
    );
    let model = room.model(&json!([{"text": "fine"}]));
    room.run(["--model", &model, "-e", "extension.ts", "hi"])
        .ended_with(0);
    let expected = [
        json!([
            "anthropic",
            "claude-any",
            "anthropic-messages",
            true,
            "claude-any"
        ]),
        json!(["openai", "gpt-any", "openai-completions", false, "gpt-any"]),
        json!(["nobody", null, null, null, null]),
    ];
    assert_eq!(recorded(&room), expected);
}

#[test]
fn a_stream_hears_and_says_the_names_of_pis_tools() {
    let room = room();
    let stream = r#"
        note({ tools: context.tools.map((tool: any) => [tool.name, Object.keys(tool.parameters.properties ?? {})]) });
        const calls = context.messages.flatMap((m: any) => m.role === "assistant" ? m.content : []);
        note({ calls: calls.filter((part: any) => part.type === "toolCall"), headers: options.headers });
        if (calls.length > 0) say("done");
        else push({ type: "done", reason: "toolUse", message: message([
            { type: "toolCall", id: "c1", name: "bash", arguments: { command: "echo hello", timeout: 5 } },
            { type: "toolCall", id: "c2", name: "grep", arguments: { pattern: "NEEDLE", ignoreCase: true } },
        ], "toolUse") });
    "#;
    room.write("extension.ts", streaming(stream, ""));
    room.write("hay.txt", "a needle\n");
    let run = room
        .run([
            "--json",
            "--model",
            "fake/m1",
            "-e",
            "extension.ts",
            "--yes",
            "hi",
        ])
        .ended_with(0);
    let notes = recorded(&room);
    let tools = notes[0]["tools"].as_array().unwrap();
    let bash = tools.iter().find(|tool| tool[0] == "bash").expect("pi's name");
    assert_eq!(bash[1], json!(["command", "timeout"]));
    assert!(!tools.iter().any(|tool| tool[0] == "shell"), "{tools:?}");
    let calls = &notes.last().unwrap()["calls"];
    assert_eq!(calls[0]["name"], "bash", "{calls}");
    assert_eq!(
        calls[0]["arguments"],
        json!({"command": "echo hello", "timeout": 5})
    );
    assert_eq!(notes[1]["headers"], json!({"x-provider": "1"}));
    let results: Vec<Value> = run
        .events_named("post_tool")
        .iter()
        .map(|tool| tool["result"].clone())
        .collect();
    assert!(results[0].as_str().unwrap().contains("hello"), "{results:?}");
    assert!(results[1].as_str().unwrap().contains("a needle"), "{results:?}");
}

#[test]
fn a_stream_that_breaks_is_an_answer_that_failed() {
    let room = room();
    room.config("[agent]\nidle_timeout = 5\nmax_retries = 0\n");
    for (stream, words) in [
        (
            "(async () => { throw new Error('lost the line'); })();",
            "lost the line",
        ),
        (
            "(async () => { await undefined; push({ type: 'start', partial: message([], 'stop') });
             throw new Error('lost the line'); })();",
            "lost the line",
        ),
        ("throw new Error('not today');", "not today"),
        ("stream.end();", "ended without"),
        (
            "setInterval(() => {}, 1000); (globalThis as any).kept = stream;",
            "was silent for 5 s",
        ),
    ] {
        room.write("log", "");
        let rest = "pi.on('turn_end', (event: any) => note(event.message));";
        room.write("extension.ts", streaming(stream, rest));
        let run = room
            .run(["--model", "fake/m1", "-e", "extension.ts", "hi"])
            .ended_with(3);
        assert!(run.stderr.contains(words), "{stream}: {run:#?}");
        let answer = &recorded(&room)[0];
        assert_eq!(answer["stopReason"], "error", "{stream}");
        assert!(
            answer["errorMessage"].as_str().unwrap().contains(words),
            "{answer}"
        );
    }
}

#[test]
fn what_a_stream_sends_is_what_hooks_leave_of_it() {
    let room = room();
    let stream = r#"
        (async () => {
            note("asked");
            const payload = await options.onPayload({ temperature: 1, input: "hi" }, model);
            note({ sent: payload });
            await options.onResponse({ status: 201, headers: { "x-mark": "here" } }, model);
            push({ type: "start", partial: message([], "stop") });
            say("fine");
        })().catch((error: any) =>
            push({ type: "error", reason: "error", error: { ...message([], "error"), errorMessage: error.message } }));
    "#;
    let rest = r#"
        pi.on("before_provider_request", (event: any) => ({ ...event.payload, temperature: 0 }));
        pi.on("before_provider_request", (event: any) => { event.payload.input += "!"; });
        pi.on("after_provider_response", ({ status, headers }: any) => note({ status, headers }));
        pi.on("message_start", ({ message }: any) => note(message.role));
    "#;
    room.write("extension.ts", streaming(stream, rest));
    let words = ["--model", "fake/m1", "-e", "extension.ts", "hi"];
    room.run(words).ended_with(0).said("fine");
    assert_eq!(
        recorded(&room),
        [
            json!("user"),
            json!("asked"),
            json!({"sent": {"temperature": 0, "input": "hi!"}}),
            json!({"status": 201, "headers": {"x-mark": "here"}}),
            json!("assistant"),
        ]
    );
    // A guard of the user's judges it too.
    let hook = room.hooks(
        "[[hook]]\nevent = \"pre_request\"\nmatch = { form = \"wire\" }\n\
         command = \"echo no such request >&2; exit 2\"\n",
    );
    room.write("log", "");
    let run = room
        .run(["--hooks", &hook, "--model", "fake/m1", "-e", "extension.ts", "hi"])
        .ended_with(1);
    assert!(run.stderr.contains("no such request"), "{run:#?}");
    assert!(!room.read("log").contains("sent"), "{}", room.read("log"));
}

// ---------------------------------------------------------------- providers with an address

/// An extension with a provider at that address.
fn at(url: &str, api: &str, rest: &str) -> String {
    format!(
        r#"
        import {{ appendFileSync }} from "node:fs";
        import {{ complete }} from "@mariozechner/pi-ai";
        const cost = {{ input: 3, output: 15, cacheRead: 0, cacheWrite: 0 }};
        const model = {{ name: "M", reasoning: false, input: ["text"], contextWindow: 9000, maxTokens: 100, cost }};
        export default (pi: any) => {{
            pi.registerProvider("corp", {{
                baseUrl: "{url}", apiKey: "CORP_KEY", api: "{api}", authHeader: true,
                headers: {{ "x-team": "blue", "x-from": "CORP_FROM" }},
                models: [{{ ...model, id: "m1", headers: {{ "x-model": "1" }} }}],
            }});
            {rest}
        }};
        "#
    )
}

#[test]
fn a_provider_at_an_address_is_asked_with_its_headers_and_what_hooks_return() {
    for (api, answer, key) in [
        (
            "openai-completions",
            OpenAiStream::new("m1").text("fine").finish("stop").done(),
            ("authorization", "Bearer k123456789"),
        ),
        (
            "anthropic-messages",
            AnthropicStream::new("m1-of-today", 1)
                .text(&["fine"])
                .stop("end_turn", 1),
            ("x-api-key", "k123456789"),
        ),
    ] {
        let server = ModelServer::start([Response::events(answer)]);
        let room = room().with("CORP_KEY", "k123456789").with("CORP_FROM", "here");
        let hook =
            "pi.on('before_provider_request', (event: any) => ({ ...event.payload, temperature: 0.25 }));
            pi.on('turn_end', ({ message }: any) =>
                appendFileSync('log', JSON.stringify([message.model, message.usage.cost.total])));";
        room.write("extension.ts", at(&server.url(), api, hook));
        room.run(["--model", "corp/m1", "-e", "extension.ts", "hi"])
            .ended_with(0)
            .said("fine");
        let request = server.only_request();
        for (name, value) in [
            ("x-team", "blue"),
            ("x-from", "here"),
            ("x-model", "1"),
            ("authorization", "Bearer k123456789"),
            key,
        ] {
            assert_eq!(request.header(name), Some(value), "{api} {name}");
        }
        assert_eq!(request.json()["temperature"], 0.25, "{api}");
        assert_eq!(request.json()["model"], "m1");
        assert_eq!(request.json()["max_tokens"], 100, "{api}");
        // One token in and one out, where the answer counts them.
        let cost = if api == "anthropic-messages" {
            "0.000018"
        } else {
            "0"
        };
        assert_eq!(room.read("log"), format!("[\"m1\",{cost}]"), "{api}");
    }
}

#[test]
fn models_that_nobody_has_and_interfaces_that_nobody_speaks_are_mistakes() {
    let room = room().with("CORP_KEY", "k");
    let url = "http://127.0.0.1:9";
    room.write("extension.ts", at(url, "openai-completions", ""));
    let run = |model: &str| {
        room.run(["--model", model, "-e", "extension.ts", "hi"])
            .ended_with(2)
    };
    run("corp/m2").complained("the provider corp has no model `m2`; there are m1");
    run("corb/m1").complained("corp");
    let unknown = run("nothing/m1");
    assert!(unknown.stderr.contains("scripted, corp"), "{unknown:#?}");
    room.write("extension.ts", at(url, "bedrock-converse-stream", ""));
    run("corp/m1").complained("speaks bedrock-converse-stream");
    let text = at(url, "openai-completions", "").replace("\"CORP_KEY\"", "\"!cat key\"");
    room.write("extension.ts", text);
    run("corp/m1").complained("wants a program to be run for its key");
}

#[test]
fn extensions_ask_models_for_themselves() {
    let answer = |text: &str| Response::events(OpenAiStream::new("m1").text(text).finish("stop").done());
    let server = ModelServer::start([answer("from the corp")]);
    let room = room().with("CORP_KEY", "k");
    let command = r#"
        pi.registerCommand("both", { handler: async (_: string, ctx: any) => {
            const messages = [{ role: "user", content: "one more", timestamp: 1 }];
            const note = (answer: any) => appendFileSync("log", JSON.stringify(answer) + "\n");
            note(await complete(ctx.model, { messages }));
            note(await complete(ctx.modelRegistry.find("corp", "m1"), { systemPrompt: "be brief", messages }));
            note(await pi.setModel(ctx.model));
        } });
    "#;
    room.write("extension.ts", at(&server.url(), "openai-completions", command));
    let model = room.model(&json!([{"expect": ["one more"], "text": "from the script"}]));
    room.run(["--model", &model, "-e", "extension.ts", "/both"])
        .ended_with(0);
    let answers = recorded(&room);
    assert_eq!(
        answers[0]["content"][0]["text"], "from the script",
        "{answers:#?}"
    );
    assert_eq!(answers[1]["content"][0]["text"], "from the corp", "{answers:#?}");
    assert_eq!(answers[2], true);
    let body = server.only_request().json();
    assert_eq!(body["messages"][0]["content"], "be brief");
}

#[test]
fn what_extensions_ask_for_is_paid_from_the_budget_of_the_run_also_where_they_bring_options() {
    let server = ModelServer::answering(|_| {
        let answer = OpenAiStream::new("m1").text("counted").finish("stop");
        Response::events(answer.usage(200_000, 0).done())
    });
    let asking = r#"
        pi.registerFlag("plan", { type: "boolean" });
        const messages = [{ role: "user", content: "one more", timestamp: 1 }];
        let asked: Promise<void> = Promise.resolve();
        pi.on("turn_end", (_: any, ctx: any) => {
            // One after another, so that the first is counted before the second is asked.
            asked = asked.then(async () => {
                const answer = await complete(ctx.modelRegistry.find("corp", "m1"), { messages });
                appendFileSync("log", JSON.stringify(answer) + "\n");
            });
            return asked;
        });
    "#;
    let turns = json!([
        {
            "tool_calls": [{"name": "list", "arguments": {"path": "."}}],
            "usage": {"input_tokens": 1, "output_tokens": 1, "cost": 0.6},
        },
        {"text": "done"},
    ]);
    for option in [&["--plan"][..], &[]] {
        let room = room().with("CORP_KEY", "k");
        room.config("[tools]\nprofile = \"becket\"\n");
        room.write("extension.ts", at(&server.url(), "openai-completions", asking));
        let model = room.model(&turns);
        let words = ["--budget", "1", "--model", &model, "-e", "extension.ts", "go"];
        room.run([option, &words].concat());
        let answers = recorded(&room);
        assert_eq!(answers[0]["content"][0]["text"], "counted", "{answers:?}");
        assert_eq!(
            answers[1]["errorMessage"], "the budget of $1.00 is used up: $1.20 were spent",
            "{answers:?}"
        );
    }
}

// ---------------------------------------------------------------- words for the user

#[test]
fn errors_of_commands_and_listeners_say_where_and_why() {
    let room = room();
    let extension = r#"
        function inner() { throw new Error("no file"); }
        export default (pi: any) => {
            pi.registerCommand("fail", { handler: async () => {
                try { inner(); } catch (cause) { throw new Error("cannot go on", { cause }); }
            } });
            pi.events.on("news", () => inner());
            pi.events.on("later", async () => inner());
            pi.on("session_start", () => { pi.events.emit("news", 1); pi.events.emit("later", 2); });
        };
    "#;
    room.write("extension.ts", extension);
    let model = room.model(&json!([{"text": "unused"}]));
    let run = room
        .run(["--model", &model, "-e", "extension.ts", "/fail"])
        .ended_with(1);
    for words in [
        "the command /fail of the extension extension: cannot go on (",
        "extension.ts:5:",
        "; caused by no file (",
        "extension.ts:2:",
        "the extension extension failed (event:news): no file (",
        "the extension extension failed (event:later): no file (",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn a_registered_command_is_not_taken_for_a_prompt() {
    let room = room();
    let extension = "export default (pi: any) => pi.registerCommand('ask', { handler: () => {} });";
    room.write("extension.ts", extension);
    let model = room.model(&json!([{"text": "unused"}]));
    let run = room
        .run(["--model", &model, "-e", "extension.ts", "/ask"])
        .ended_with(0);
    assert!(!run.stderr.contains("taken as a prompt"), "{run:#?}");
    room.run(["--model", &model, "/ask"])
        .ended_with(0)
        .complained("taken as a prompt");
}

#[test]
fn options_of_extensions_are_in_the_help_and_told_when_there_are_two() {
    let room = room();
    let flag = |name: &str, kind: &str| {
        format!(
            "export default (pi: any) => pi.registerFlag('{name}', {{ type: '{kind}', description: 'Plans only' }});"
        )
    };
    room.write("one.ts", flag("plan", "boolean"));
    room.write("two.ts", flag("plan", "string"));
    room.write("three.ts", flag("model", "string"));
    let help = room.run(["-e", "one.ts", "--help"]).ended_with(0);
    assert!(
        help.stdout.contains("--plan") && help.stdout.contains("Plans only (extension one)"),
        "{}",
        help.stdout
    );
    assert!(help.stdout.contains("--model MODEL"), "{}", help.stdout);
    assert!(!room.run(["--help"]).ended_with(0).stdout.contains("--plan"));
    let model = room.model(&json!([{"text": "fine"}]));
    let words = [
        "--model", &model, "-e", "one.ts", "-e", "two.ts", "-e", "three.ts", "go",
    ];
    let run = room.run(words).ended_with(0);
    for words in [
        "the extensions one and two both have an option --plan; it is read as one wants it",
        "the option --model of the extension three is never set",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    let list = room.run(["-e", "one.ts", "hooks", "list"]).ended_with(0);
    assert!(list.stdout.contains("options plan"), "{}", list.stdout);
}

#[test]
fn an_option_of_an_extension_takes_none_from_a_command() {
    let room = room();
    let extension = "export default (pi: any) => {
        pi.registerFlag('turns', { type: 'string' });
        pi.on('session_start', () => console.error('turns: ' + pi.getFlag('turns')));
    };";
    room.write("turns.ts", extension);
    let model = room.model(&json!([{"text": "fine"}]));
    for words in [["--turns", "7", "ask", "go"], ["ask", "go", "--turns", "7"]] {
        let run = room.run([&["-e", "turns.ts", "--model", &model], &words[..]].concat());
        run.ended_with(0).complained("turns: 7");
    }
    // What the extension does not take is the command's own.
    let shown = room.run(["-e", "turns.ts", "trace", "--turns", "1", "--no-such-option"]);
    shown.ended_with(2).complained("--no-such-option");
    room.run(["-e", "turns.ts", "trace", "--turns", "1"])
        .ended_with(0);
}

#[test]
fn what_is_no_extension_is_told_with_its_file_and_line() {
    let room = room();
    for (text, place) in [
        ("export const nothing = 1;\n", "extension.ts:1"),
        ("const a = 1;\n\nexport default { a };\n", "extension.ts:3"),
    ] {
        room.write("extension.ts", text);
        let model = room.model(&json!([{"text": "fine"}]));
        let run = room
            .run(["--model", &model, "-e", "./extension.ts", "go"])
            .ended_with(4);
        assert!(
            run.stderr
                .contains("Extension does not export a valid factory function"),
            "{run:#?}"
        );
        assert!(
            run.stderr.contains(place) && !run.stderr.contains("/./"),
            "{place}: {run:#?}"
        );
    }
}
