//! Extensions of pi that do what pi allows, and find what pi would give them; and pi's own command line.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room};

use crate::pi_client::Client;
use crate::room;

/// Runs a prompt with an extension; the model makes these calls by pi's names and then says `done`.
fn called(room: &Room, extension: &str, calls: &Value, words: &[&str]) -> Finished {
    room.write("extension.ts", extension);
    let model = room.model(&json!([{"tool_calls": calls}, {"text": "done"}]));
    let start = [
        "--json",
        "--yes",
        "--tools",
        "pi",
        "--model",
        &model,
        "-e",
        "extension.ts",
    ];
    let words: Vec<&str> = start
        .into_iter()
        .chain(words.iter().copied())
        .chain(["go"])
        .collect();
    room.run(words).ended_with(0)
}

/// What the model read as the results of its calls, in order.
fn results(run: &Finished) -> Vec<String> {
    let requests = run.events_named("pre_request");
    let messages = requests.last().expect("two requests")["body"]["messages"].clone();
    let messages = messages.as_array().expect("messages").iter();
    let told = messages.filter(|message| message["role"] == "tool");
    told.map(|message| message["content"].as_str().expect("text").to_owned())
        .collect()
}

fn noted(room: &Room) -> Vec<Value> {
    let text = room.read("noted");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

const NOTE: &str = "import { appendFileSync } from 'node:fs';
    const note = (...values: any[]) => appendFileSync('noted', JSON.stringify(values) + '\\n');
    const text = (text: string) => ({ type: 'text', text });
    const nothing = { type: 'object', properties: {} };
    ";

#[test]
fn odd_extensions_load_and_their_tools_work() {
    let room = room();
    let extension = "export default (pi: any) => {
        const execute = async () => ({ content: [{ type: 'text', text: 'fine' }] });
        pi.registerTool({ name: 'labelled', label: () => 'L', description: 'd', execute });
        pi.registerTool({ name: 'bare', execute });
        pi.registerCommand('none', { description: 'x' });
        pi.registerFlag('odd', { type: 'number', default: 3 });
        pi.on('session_start');
    };";
    let calls = json!([{"name": "labelled", "arguments": {}}, {"name": "bare", "arguments": {}}]);
    let run = called(&room, extension, &calls, &[]);
    assert_eq!(results(&run), ["fine", "fine"]);
    assert!(run.stderr.contains("handler is not a function"), "{}", run.stderr);
    room.run(["--model", "rehearsal", "-e", "extension.ts", "/none"])
        .ended_with(1)
        .complained("command.handler is not a function");
}

#[test]
fn a_guard_that_is_no_function_refuses() {
    let room = room();
    let extension = "export default (pi: any) => { pi.on('tool_call', undefined); };";
    let calls = json!([{"name": "bash", "arguments": {"command": "touch ran"}}]);
    let run = called(&room, extension, &calls, &[]);
    assert_eq!(results(&run), ["handler is not a function"]);
    assert!(!room.has("ran"));
}

#[test]
fn what_becket_does_not_have_is_absent() {
    let room = room();
    let extension = format!(
        "{NOTE} export default (pi: any) => {{
            pi.on('session_start', (_: any, ctx: any) => note(
                typeof ctx.modelRegistry.classify, typeof ctx.sessionManager.buildSessionProjection,
                typeof ctx.modelRegistry.authStorage.hasAuth, typeof pi.getSettings, typeof pi.somethingElse,
            ));
        }};"
    );
    called(&room, &extension, &json!([]), &[]);
    let seen = noted(&room).remove(0);
    assert_eq!(
        seen,
        json!(["undefined", "undefined", "function", "function", "undefined"])
    );
}

#[test]
fn tools_in_the_place_of_pi_s_get_the_path_as_the_model_said_it() {
    let room = room();
    room.write("a.txt", "one\n");
    room.write("deep/b.txt", "two\n");
    let extension = format!(
        "{NOTE} export default (pi: any) => {{
            const path = {{ type: 'string' }};
            const parameters = {{ type: 'object', properties: {{ path, content: path }}, required: ['path'] }};
            for (const name of ['read', 'write']) pi.registerTool({{ name, label: name, description: 'd', parameters,
                execute: async (_: string, params: any) => {{ note(params.path); return {{ content: [text('ok')] }}; }},
            }});
        }};"
    );
    let read = |path: &str| json!({"name": "read", "arguments": {"path": path}});
    let calls = json!([
        read("./a.txt"), read("deep/../a.txt"), read("@a.txt"), read("~/x"),
        {"name": "write", "arguments": {"path": "new.txt", "content": "x"}},
    ]);
    called(&room, &extension, &calls, &[]);
    let mut seen: Vec<String> = noted(&room)
        .iter()
        .map(|line| line[0].as_str().expect("a path").to_owned())
        .collect();
    seen.sort();
    // What a program may read differently is given as it was judged.
    let (judged, said): (Vec<&String>, Vec<&String>) = seen.iter().partition(|path| path.starts_with('/'));
    assert_eq!(said, ["./a.txt", "a.txt", "deep/../a.txt", "new.txt"]);
    assert_eq!(judged.len(), 1, "{seen:?}");
}

#[test]
fn results_of_tools_are_as_in_pi() {
    let room = room();
    room.write("a.txt", "one\n");
    let extension = format!(
        "{NOTE} export default (pi: any) => {{
            const tool = (name: string, execute: any) =>
                pi.registerTool({{ name, label: name, description: 'd', parameters: nothing, execute }});
            tool('two', async () => ({{ content: [text('a'), text('b')] }}));
            tool('flagged', async () => ({{ content: [text('kept')], isError: true }}));
            pi.on('tool_result', (event: any) => note(event.toolName, event.isError, event.details ?? null));
            pi.on('message_end', ({{ message }}: any) => {{
                if (message.role === 'toolResult') note('message', message.toolName, message.details ?? null);
            }});
        }};"
    );
    let calls = json!([
        {"name": "two", "arguments": {}},
        {"name": "flagged", "arguments": {}},
        {"name": "bash", "arguments": {"command": "echo hi"}},
        {"name": "bash", "arguments": {"command": "kill -9 $$"}},
        {"name": "bash", "arguments": {"command": "printf 'x\\n'; exit 3"}},
        {"name": "edit", "arguments": {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}},
        {"name": "read", "arguments": {"path": "gone"}},
    ]);
    let run = called(&room, &extension, &calls, &[]);
    let told = results(&run);
    assert_eq!(
        told[..5],
        [
            "a\nb",
            "kept",
            "hi\n",
            "(no output)\n\nCommand exited with code 137",
            "x\n\n\nCommand exited with code 3"
        ]
    );
    let seen = noted(&room);
    let of = |name: &str| -> Vec<&Value> { seen.iter().filter(|line| line[0] == name).collect() };
    assert_eq!(of("flagged")[0][1], false);
    assert_eq!(of("bash")[0][2], Value::Null);
    assert_eq!(
        (&of("bash")[1][1], &of("bash")[1][2]),
        (&json!(true), &Value::Null)
    );
    assert_eq!((&of("bash")[2][1], &of("bash")[2][2]), (&json!(true), &json!({})));
    assert_eq!(of("read")[0][2], json!({}));
    let messages = of("message");
    let edit = messages.iter().find(|line| line[1] == "edit").expect("an edit");
    assert_eq!(
        (&edit[2]["diff"], &edit[2]["firstChangedLine"]),
        (&json!("-1 one\n+1 two"), &json!(1))
    );
}

#[test]
fn a_tool_may_say_that_it_failed_under_pi_s_newer_name() {
    let room = room();
    let extension = "import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
        export default (pi: ExtensionAPI) => { pi.registerTool({ name: 'flagged', label: 'x', description: 'd',
            parameters: { type: 'object', properties: {} } as any,
            execute: async () => ({ content: [{ type: 'text', text: 'no' }], isError: true }) as any }); };";
    let run = called(
        &room,
        extension,
        &json!([{"name": "flagged", "arguments": {}}]),
        &[],
    );
    assert_eq!(run.events_named("post_tool")[0]["is_error"], true);
}

#[test]
fn tools_call_other_tools_through_the_gate() {
    let room = room();
    room.write(
        "guard.ts",
        "export default (pi: any) => { pi.on('tool_call', (event: any) =>
            event.input.command?.includes('rm') ? { block: true, reason: 'nothing is deleted' } : undefined); };",
    );
    let extension = "import { createAgentSession } from '@mariozechner/pi-coding-agent';
        export default (pi: any) => {
        const parameters = { type: 'object', properties: {} };
        const said = (outcomes: any[]) => ({ content: [{ type: 'text', text: JSON.stringify(outcomes) }] });
        pi.registerTool({ name: 'outer', label: 'o', description: 'd', parameters,
            async execute(_id: string, _params: any, _signal: any, _update: any, ctx: any) {
                const run = async (name: string, args: any) => {
                    const { result, isError } = await ctx.executeTool(name, args);
                    return [result.content[0].text, isError];
                };
                const { session } = await createAgentSession({ tools: ['bash'] });
                const bash: any = session.getToolDefinition('bash');
                const nested = await bash.execute('1', { command: 'rm other' }).catch((error: Error) => error.message);
                return said([await run('bash', { command: 'echo hi' }), await run('bash', { command: 'rm file' }),
                    await run('aside', {}), await run('nobody', {}), nested]);
            } });
        pi.registerTool({ name: 'aside', label: 'a', description: 'd', parameters, exposure: 'codemode',
            execute: async () => ({ content: [{ type: 'text', text: 'aside' }] }) });
        pi.registerTool({ name: 'asleep', label: 'a', description: 'd', parameters, defaultActive: false,
            execute: async () => ({ content: [] }) });
    };";
    room.write("file", "kept");
    let run = called(
        &room,
        extension,
        &json!([{"name": "outer", "arguments": {}}]),
        &["-e", "guard.ts"],
    );
    let told: Value = serde_json::from_str(&results(&run)[0]).expect("JSON");
    assert_eq!(
        told,
        json!([
            ["hi\n", false],
            ["nothing is deleted", true],
            ["aside", false],
            ["Tool nobody not found", true],
            "nothing is deleted"
        ])
    );
    assert!(room.has("file"));
    let offered = run.events_named("pre_request")[0]["body"]["tools"].to_string();
    assert!(offered.contains("\"outer\""), "{offered}");
    for hidden in ["\"aside\"", "\"asleep\""] {
        assert!(!offered.contains(hidden), "{hidden} {offered}");
    }
}

/// A provider that says `fine`, with a model that thinks and one that does not.
const PROVIDER: &str = "import { createAssistantMessageEventStream } from '@mariozechner/pi-ai';
    export default (pi: any) => {
        const streamSimple = (model: any) => {
            const stream = createAssistantMessageEventStream();
            const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: {} };
            const message = { role: 'assistant', content: [{ type: 'text', text: 'fine' }], api: model.api,
                provider: model.provider, model: model.id, usage, stopReason: 'stop', timestamp: 1 };
            stream.push({ type: 'done', reason: 'stop', message } as any);
            return stream;
        };
        const model = (id: string, reasoning: boolean) => ({ id, name: id, reasoning, input: ['text'],
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 });
        pi.registerProvider('lab', { baseUrl: 'http://127.0.0.1:9', apiKey: 'k', api: 'lab-api', streamSimple,
            models: [model('one', true), model('two', false)] });
    };";

#[test]
fn a_tool_in_the_place_of_pi_s_is_held_to_its_own_schema() {
    let room = room();
    let extension = "export default (pi: any) => pi.registerTool({
        name: 'bash', label: 'bash', description: 'Runs a command.',
        parameters: { type: 'object', required: ['reasoning', 'command'], properties: {
            reasoning: { type: 'string' }, command: { type: 'string' } } },
        execute: async (_: string, { command, reasoning }: any) =>
            ({ content: [{ type: 'text', text: `${command}, because ${reasoning}` }] }),
    });";
    let calls = json!([
        {"name": "bash", "arguments": {"command": "ls"}},
        {"name": "bash", "arguments": {"command": "ls", "reasoning": "I look"}},
    ]);
    let results = results(&called(&room, extension, &calls, &[]));
    let expected =
        "Validation failed for tool \"bash\":\n  - reasoning: must have required properties reasoning\n";
    assert!(results[0].starts_with(expected), "{results:?}");
    assert_eq!(results[1], "ls, because I look");
}

#[test]
fn pi_s_program_offers_its_default_tools_until_an_extension_activates_others() {
    let room = room();
    let offered = |extension: &str| -> Vec<String> {
        room.write(
            "provider.ts",
            PROVIDER
                .replace(
                    "const streamSimple = (model: any) => {",
                    "const streamSimple = (model: any, context: any) => {
            note(...(context.tools ?? []).map((tool: any) => tool.name).sort());",
                )
                .replace("export default", &format!("{NOTE} export default")),
        );
        room.write("extension.ts", extension);
        room.write("noted", "");
        let words = [
            "pi",
            "-p",
            "--model",
            "lab/one",
            "-e",
            "provider.ts",
            "-e",
            "extension.ts",
            "go",
        ];
        room.run(words).ended_with(0);
        serde_json::from_value(noted(&room).remove(0)).expect("names")
    };
    assert_eq!(
        offered("export default () => {};"),
        ["bash", "edit", "read", "write"]
    );
    let active = "export default (pi: any) => pi.on('session_start', () => pi.setActiveTools(['read', 'grep', 'ls']));";
    assert_eq!(offered(active), ["grep", "ls", "read"]);
    let own =
        "export default (pi: any) => pi.registerTool({ name: 'find', label: 'find', description: 'Finds.',
        parameters: { type: 'object', properties: {} }, execute: async () => ({ content: [] }) });";
    assert_eq!(offered(own), ["bash", "edit", "find", "read", "write"]);
}

#[test]
fn interfaces_are_handed_out_as_by_newer_versions() {
    let room = room();
    room.write("provider.ts", PROVIDER);
    room.write(
        "extension.ts",
        format!(
            "{NOTE}
            import {{ anthropicMessagesApi, createAssistantMessageEventStream, fauxAssistantMessage, lazyApi,
                openAICodexResponsesApi }} from '@earendil-works/pi-ai/compat';
            note(typeof openAICodexResponsesApi().streamSimple, typeof anthropicMessagesApi().stream);
            const stream = () => {{
                const events = createAssistantMessageEventStream();
                events.push({{ type: 'done', reason: 'stop', message: fauxAssistantMessage('late') }} as any);
                return events;
            }};
            const late = lazyApi(async () => ({{ stream, streamSimple: stream }}));
            export default (pi: any) => pi.on('session_start', async () => {{
                const message = await late.streamSimple({{}} as any, {{}} as any).result();
                note(message.content[0].text);
            }});"
        ),
    );
    let words = [
        "--model",
        "lab/one",
        "-e",
        "provider.ts",
        "-e",
        "extension.ts",
        "go",
    ];
    room.run(words).ended_with(0);
    assert_eq!(noted(&room), [json!(["function", "function"]), json!(["late"])]);
}

#[test]
fn programs_for_browsers_and_dates_in_another_order_work() {
    let room = room();
    let extension = format!(
        "{NOTE} export default () => {{
            const day = new Date(2026, 10, 8, 9, 5, 3);
            const dates = ['en-CA', 'sv-SE', 'en-GB', undefined].map((place) => day.toLocaleDateString(place));
            note(typeof navigator.userAgent, ...dates);
        }};"
    );
    room.write("extension.ts", extension);
    room.run(["hooks", "list", "-e", "extension.ts"]).ended_with(0);
    let dates = json!(["string", "2026-11-08", "2026-11-08", "08/11/2026", "11/8/2026"]);
    assert_eq!(noted(&room), [dates]);
}

#[test]
fn levels_are_those_of_the_model_and_a_model_is_told_once() {
    let room = room();
    room.write("provider.ts", PROVIDER);
    room.write(
        "levels.ts",
        format!(
            "{NOTE} export default (pi: any) => {{
                pi.on('model_select', (event: any) => note('select', event.model.id));
                pi.on('session_start', async (_: any, ctx: any) => {{
                    for (const level of ['xhigh', 'bogus', 'low']) {{
                        pi.setThinkingLevel(level);
                        note(level, pi.getThinkingLevel());
                    }}
                    await pi.setModel(ctx.model);
                    await pi.setModel(ctx.modelRegistry.find('lab', 'two'));
                    await pi.setModel(ctx.modelRegistry.find('lab', 'two'));
                    note('two', pi.getThinkingLevel());
                }});
            }};"
        ),
    );
    let words = ["--model", "lab/one", "-e", "provider.ts", "-e", "levels.ts", "go"];
    room.run(words).ended_with(0);
    let seen = noted(&room);
    let levels: Vec<&Value> = seen.iter().filter(|line| line[0] != "select").collect();
    assert_eq!(
        levels,
        [
            &json!(["xhigh", "high"]),
            &json!(["bogus", "off"]),
            &json!(["low", "low"]),
            &json!(["two", "off"])
        ]
    );
    let selected: Vec<&Value> = seen.iter().filter(|line| line[0] == "select").collect();
    assert_eq!(selected, [&json!(["select", "two"])]);
}

#[test]
fn programs_see_the_tree_and_take_back_what_waits() {
    let room = room();
    room.write("provider.ts", PROVIDER);
    let words = ["--model", "lab/one", "-e", "provider.ts"];
    let mut client = Client::start(&room, &words);
    client.prompt_and_wait("Hello");
    let entries = client.data(json!({"type": "get_entries"}));
    let all = entries["entries"].as_array().expect("a list");
    let last = all.last().expect("an entry")["id"].clone();
    assert_eq!(entries["leafId"], last);
    let since = client.data(json!({"type": "get_entries", "since": all[0]["id"]}));
    assert_eq!(since["entries"].as_array().map(Vec::len), Some(all.len() - 1));
    let tree = client.data(json!({"type": "get_tree"}));
    let mut node = &tree["tree"][0];
    for entry in all {
        assert_eq!(node["entry"]["id"], entry["id"]);
        node = &node["children"][0];
    }
    let levels = client.data(json!({"type": "get_available_thinking_levels"}));
    assert_eq!(
        levels,
        json!({"levels": ["off", "minimal", "low", "medium", "high"]})
    );
    client.ask(json!({"type": "follow_up", "message": "later"}));
    client.ask(json!({"type": "steer", "message": "now"}));
    let cleared = client.data(json!({"type": "clear_queue"}));
    assert_eq!(cleared, json!({"steering": ["now"], "followUp": ["later"]}));
    let again = client.data(json!({"type": "clear_queue"}));
    assert_eq!(again, json!({"steering": [], "followUp": []}));
    assert_eq!(client.leave().0, 0);
}

#[test]
fn extensions_hear_of_dialogs_servers_and_failed_summaries() {
    let room = room();
    room.write("provider.ts", PROVIDER);
    room.write(
        "events.ts",
        format!(
            "{NOTE} export default (pi: any) => {{
                pi.on('ui_prompt_start', (event: any) => note(event.type, event.kind, event.title));
                pi.on('ui_prompt_end', (event: any) => note(event.type, event.kind));
                const names = (servers: any[]) => servers.map((one: any) => one.name);
                pi.on('mcp_servers_change', (event: any) => note(event.type, names(event.servers)));
                pi.on('session_compact_failed', (event: any) => note(event.type, event.reason, event.aborted));
                pi.on('session_before_compact', () => ({{ cancel: true }}));
                pi.on('context_with_system', (event: any) => note(event.type, event.messages[0].role));
                pi.registerCommand('ask', {{ handler: async (_: string, ctx: any) => {{
                    pi.registerMcpServer('jira', {{ url: 'http://127.0.0.1:9' }});
                    note('asked', await ctx.ui.confirm('Sure?', 'Really'));
                    await new Promise((done) => ctx.compact({{ onComplete: done, onError: done }}));
                }} }});
            }};"
        ),
    );
    let words = ["--model", "lab/one", "-e", "provider.ts", "-e", "events.ts"];
    let mut client = Client::start(&room, &words);
    client.prompt_and_wait("Hello");
    client.send(&json!({"type": "prompt", "message": "/ask"}));
    let dialog = client.dialog("confirm");
    client.answer(&dialog, json!({"confirmed": true}));
    client.ask(json!({"type": "get_state"}));
    for _ in 0..200 {
        if room.read("noted").contains("session_compact_failed") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(client.leave().0, 0);
    let seen = noted(&room);
    for line in [
        json!(["context_with_system", "system"]),
        json!(["mcp_servers_change", ["jira"]]),
        json!(["ui_prompt_start", "confirm", "Sure?"]),
        json!(["ui_prompt_end", "confirm"]),
        json!(["asked", true]),
        json!(["session_compact_failed", "manual", true]),
    ] {
        assert!(seen.contains(&line), "{line} {seen:?}");
    }
}

#[test]
fn an_extension_s_pi_is_becket_and_reaches_the_model() {
    let server = ModelServer::answering(|_| {
        Response::events(
            OpenAiStream::new("some")
                .text("from the child")
                .finish("stop")
                .done(),
        )
    });
    let room = room()
        .with("OPENAI_API_KEY", "sk-secret")
        .with("OPENAI_BASE_URL", &server.url());
    room.write(
        "child.ts",
        format!(
            "{NOTE} import {{ spawnSync }} from 'node:child_process';
            export default (pi: any) => {{
                pi.registerCommand('child', {{ handler: async () => {{
                    const words = ['-p', '--no-session', '-ne', '--model', 'openai/some', 'hello'];
                    const ran = await pi.exec('pi', words);
                    const spawned = spawnSync('pi', words, {{ encoding: 'utf-8' }});
                    const elsewhere = spawnSync('pi', words, {{ encoding: 'utf-8',
                        env: {{ ...process.env, OPENAI_BASE_URL: 'http://127.0.0.1:9' }} }});
                    const said = [ran, spawned, elsewhere].map((one) => one.stdout.trim());
                    note(process.env.OPENAI_API_KEY ?? null, ...said);
                }} }});
            }};"
        ),
    );
    room.run(["--model", "openai/some", "-e", "child.ts", "/child"])
        .ended_with(0);
    let answer = "from the child";
    // The run asks its own model, wherever the program was told to go.
    assert_eq!(noted(&room), [json!([null, answer, answer, answer])]);
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.header("authorization") == Some("Bearer sk-secret"))
    );
}

#[test]
fn pi_s_command_line_is_understood() {
    let room = room();
    room.write("AGENTS.md", "Always whistle.");
    room.write("notes.txt", "remember me");
    let model = room.model(&json!([{"text": "one"}, {"text": "two"}]));
    let run = room
        .run(["pi", "-p", "--model", &model, "first", "second"])
        .ended_with(0);
    // Both published versions print the last answer only.
    assert_eq!(run.stdout, "two\n");
    let seen = |words: &[&str]| -> Value {
        let model = room.model(&json!([{"text": "fine"}]));
        let hook = room.hooks("[[hook]]\nevent = \"pre_request\"\ncommand = \"cat > request.json\"\n");
        let start = ["pi", "-p", "--no-session", "--hooks", &hook, "--model", &model];
        room.run(start.into_iter().chain(words.iter().copied()))
            .ended_with(0);
        serde_json::from_str(&room.read("request.json")).expect("JSON")
    };
    let plain = seen(&["hello"])["body"].clone();
    assert!(plain.to_string().contains("Always whistle."), "{plain}");
    assert!(plain["tools"].to_string().contains("\"bash\""), "{plain}");
    let bare = seen(&["-nc", "-nt", "hello"])["body"].clone();
    assert!(!bare.to_string().contains("Always whistle."), "{bare}");
    assert!(
        bare.get("tools").is_none_or(|tools| tools == &json!([])),
        "{bare}"
    );
    let without = seen(&["-xt", "bash", "@notes.txt", "hello"])["body"].clone();
    assert!(!without["tools"].to_string().contains("\"bash\""), "{without}");
    assert!(without.to_string().contains("remember me"), "{without}");
    for (words, complaint) in [
        (vec!["pi", "-p", "hello"], "No model is connected"),
        (vec!["pi", "install", "npm:x"], "installs nothing"),
        (vec!["pi", "--fork", "x", "-c", "y"], "--fork"),
    ] {
        let run = room.run(words).ended_with(1).complained(complaint);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn a_login_that_is_not_done_is_told() {
    let room = room();
    room.write(
        "corporate.ts",
        "export default (pi: any) => { pi.registerProvider('corporate', { baseUrl: 'http://127.0.0.1:9',
            api: 'openai-completions', models: [{ id: 'one', name: 'one' }],
            oauth: { name: 'SSO', login: async () => ({}), refreshToken: async () => ({}), getApiKey: () => '' },
        }); };",
    );
    room.run(["hooks", "list", "-e", "corporate.ts"])
        .ended_with(0)
        .said("becket does no login for corporate");
    let doctor = room.run(["doctor", "-e", "corporate.ts"]);
    assert!(
        doctor.stdout.contains("becket does no login for corporate"),
        "{doctor:#?}"
    );
}

#[test]
fn a_whole_provider_of_newer_versions_is_served() {
    let room = room();
    room.write(
        "provider.ts",
        "import { createAssistantMessageEventStream, createProvider, envApiKeyAuth, fauxAssistantMessage }
            from '@earendil-works/pi-ai/compat';
        export default (pi: any) => {
            const streamSimple = (model: any, context: any, options: any) => {
                const events = createAssistantMessageEventStream();
                const text = `${model.id} with ${options.apiKey} at ${model.baseUrl}`;
                events.push({ type: 'done', reason: 'stop', message: fauxAssistantMessage(text) } as any);
                return events;
            };
            const model = { id: 'one', name: 'one', api: 'house', provider: 'house', reasoning: false, input: ['text'],
                cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 };
            pi.registerProvider(createProvider({ id: 'house', name: 'House', baseUrl: 'http://127.0.0.1:9/v1',
                auth: { apiKey: envApiKeyAuth('House key', ['HOUSE_TOKEN']) }, models: [model],
                api: { stream: streamSimple, streamSimple } }));
        };",
    );
    let words = ["pi", "-p", "-e", "provider.ts", "--model", "house/one", "go"];
    room.run(words)
        .ended_with(1)
        .complained("No API key found for house");
    let run = room.with("HOUSE_TOKEN", "t").run(words).ended_with(0);
    assert_eq!(run.stdout, "one with t at http://127.0.0.1:9/v1\n");
}
