//! Tests of tools, commands, keys and options that extensions bring.

use becket_pi::host_call::{ExecutionMode, HostCall};
use becket_pi::services::{
    AbortShell, AbortTool, CompleteArgument, Completion, ExecuteTool, PrepareArguments, Prepared, RunCommand,
    RunShell, RunShortcut,
};
use serde_json::{Value, json};

use crate::room::{Loaded, factory};

fn call(loaded: &Loaded, tool: &str, arguments: Value) -> impl Future<Output = Value> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let service = ExecuteTool {
        tool: tool.into(),
        call_id: "call_1".into(),
        arguments,
    };
    async move { serde_json::to_value(loaded.invoke(service).await).expect("JSON") }
}

#[tokio::test]
async fn a_tool_is_described_and_runs() {
    let loaded = factory(
        r#"pi.registerTool({
            name: "count", label: "Count", description: "Counts.", promptSnippet: "counts", executionMode: "sequential",
            promptGuidelines: ["Count well."],
            parameters: { type: "object", properties: { to: { type: "number" } }, required: ["to"] },
            prepareArguments: (args: any) => {
                if (args.bad) throw new Error("too old");
                return { to: args.to ?? args.limit };
            },
            async execute(id: string, params: any, signal: any, onUpdate: any, ctx: any) {
                const words = (text: string) => [{ type: "text", text }];
                for (let at = 1; at < params.to; at++) onUpdate({ content: words(String(at)), details: { at } });
                setTimeout(() => onUpdate({ content: words("too late") }), 0);
                const content = words(`${id} ${params.to} ${ctx.cwd} ${signal.aborted}`);
                return { content, details: { to: params.to }, terminate: true };
            },
        });"#,
        &[],
    )
    .await;
    let asked = loaded.room.asked("register_tool").remove(0);
    let HostCall::RegisterTool(tool) =
        HostCall::read(&json!({ "register_tool": asked }).to_string()).expect("one")
    else {
        panic!("it is a tool");
    };
    assert_eq!(
        (tool.label.as_str(), tool.prompt_snippet.as_deref()),
        ("Count", Some("counts"))
    );
    assert_eq!(
        (tool.execution_mode, tool.prepares_arguments),
        (Some(ExecutionMode::Sequential), true)
    );
    let result = call(&loaded, "count", json!({ "to": 3 })).await;
    let text = json!([{ "type": "text", "text": "call_1 3 /work false" }]);
    let expected = json!({ "content": text, "details": { "to": 3 }, "terminate": true, "isError": false });
    assert_eq!(result, expected);
    let updates = loaded.room.asked("tool_update");
    assert_eq!(
        updates
            .iter()
            .map(|update| &update["result"]["details"]["at"])
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let prepare = |arguments| PrepareArguments {
        tool: "count".into(),
        arguments,
    };
    assert_eq!(
        loaded.invoke(prepare(json!({ "limit": 7 }))).await,
        Prepared::Arguments(json!({ "to": 7 }))
    );
    assert_eq!(
        loaded.invoke(prepare(json!({ "bad": 1 }))).await,
        Prepared::Failed("too old".into())
    );
}

#[tokio::test]
async fn a_tool_that_fails_says_why() {
    let loaded = factory(
        r#"const tool = (name: string, execute: any) => pi.registerTool({ name, description: "x", execute });
        tool("throws", () => { throw new Error("no such city"); });
        tool("rejects", async () => { throw "plain words"; });
        tool("nothing", async () => {});
        tool("words", async () => ({ content: "just words" }));
        tool("text", async () => "a text alone");
        tool("odd", async () => ({ content: ["a", { type: "text" }, { type: "resource" }, null] }));
        tool("flag", async () => ({ content: [], isError: true }));"#,
        &[],
    )
    .await;
    for (tool, words, failed) in [
        ("throws", "no such city", true),
        ("rejects", "plain words", true),
        (
            "nothing",
            "the tool \"nothing\" gave back no result: an object with content is needed",
            true,
        ),
        ("words", "just words", false),
        ("text", "a text alone", false),
        ("odd", "a", false),
        ("unknown", "Tool unknown not found", true),
    ] {
        let result = call(&loaded, tool, json!({})).await;
        assert_eq!(
            (&result["content"][0]["text"], &result["isError"]),
            (&json!(words), &json!(failed)),
            "{tool}"
        );
    }
    // Under pi's older name a tool fails only by throwing.
    assert_eq!(call(&loaded, "flag", json!({})).await["isError"], false);
    let newer = factory(
        r#"pi.registerTool({ name: "flag", description: "x", execute: async () => ({ content: [], isError: true }) });"#,
        &[("is_for_newer_pi", json!(true))],
    )
    .await;
    assert_eq!(call(&newer, "flag", json!({})).await["isError"], true);
}

#[tokio::test]
async fn odd_definitions_are_taken_as_far_as_they_can_be() {
    let loaded = factory(
        r#"const execute = async () => ({ content: [{ type: "text", text: "fine" }] });
        pi.registerTool({ name: "label", label: () => "L", description: "d", execute });
        pi.registerTool({ name: "bare", execute });
        pi.registerTool({ name: "schema", description: "d", parameters: "words", execute });
        pi.registerTool({ name: "mode", description: 5, executionMode: "other", promptSnippet: "a\n b ",
            promptGuidelines: "one", execute });
        pi.registerTool({ name: "idle", description: "d" });
        pi.registerTool({ name: "", description: "d", execute });
        pi.registerCommand("none", { description: () => "x" });
        pi.registerCommand("nothing");
        pi.registerShortcut("ctrl+y", {});
        pi.registerFlag("number", { type: "number", default: 3 });
        pi.on("probe", () => pi.getFlag("number"));
        pi.on("session_start");"#,
        &[],
    )
    .await;
    let tools = loaded.room.asked("register_tool");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["label", "bare", "schema", "mode", "idle"]);
    assert_eq!(
        (&tools[0]["label"], &tools[1]["description"]),
        (&json!("label"), &json!(""))
    );
    assert_eq!(
        (
            &tools[3]["promptSnippet"],
            &tools[3]["promptGuidelines"],
            &tools[3]["description"]
        ),
        (&json!("a b"), &json!(["one"]), &json!("5"))
    );
    assert_eq!(
        call(&loaded, "bare", json!({})).await["content"][0]["text"],
        "fine"
    );
    let idle = call(&loaded, "idle", json!({})).await;
    assert_eq!(
        (&idle["isError"], &idle["content"][0]["text"]),
        (&json!(true), &json!("definition.execute is not a function"))
    );
    for command in ["none", "nothing"] {
        let ran = RunCommand {
            name: command.into(),
            arguments: String::new(),
        };
        let ran = loaded.invoke(ran).await;
        assert_eq!(ran.message.as_deref(), Some("command.handler is not a function"));
    }
    assert_eq!(loaded.probe().await, json!(3));
}

#[tokio::test]
async fn a_running_tool_can_be_aborted() {
    let loaded = factory(
        r#"const aborted = { content: [{ type: "text", text: "aborted" }] };
        const execute = (_id: string, _params: any, signal: any) =>
            new Promise((done) => signal.addEventListener("abort", () => done(aborted)));
        pi.registerTool({ name: "wait", description: "Waits.", execute });"#,
        &[],
    )
    .await;
    let (result, ()) = tokio::join!(call(&loaded, "wait", json!({})), async {
        tokio::task::yield_now().await;
        loaded
            .invoke(AbortTool {
                call_id: "call_1".into(),
            })
            .await;
    });
    assert_eq!(result["content"][0]["text"], "aborted");
    loaded
        .invoke(AbortTool {
            call_id: "nobody".into(),
        })
        .await;
}

// tidy: a table
#[tokio::test]
async fn commands_keys_and_options_work() {
    let loaded = factory(
        r#"pi.registerCommand("greet", {
            description: "Greets.",
            getArgumentCompletions: (prefix: string) =>
                ["world", "moon"].filter((word) => word.startsWith(prefix)).map((value) => ({ value, label: value })),
            handler: async (args: string, ctx: any) => {
                await ctx.waitForIdle();
                ctx.ui.notify(`hello ${args}`, "warning");
            },
        });
        const handler = () => { throw new Error("it broke"); };
        pi.registerCommand("broken", { getArgumentCompletions: () => null, handler });
        pi.registerCommand("reload", { handler: (_: string, ctx: any) => ctx.reload() });
        const press = (ctx: any) => ctx.ui.setStatus("key", "pressed");
        pi.registerShortcut("ctrl+x", { description: "Presses.", handler: press });
        pi.registerFlag("plan", { type: "boolean", default: false, description: "Plans." });
        pi.on("probe", () => [pi.getFlag("plan"), pi.getFlag("another") ?? null]);"#,
        &[
            ("wait_for_idle", json!(null)),
            ("get_flag", json!(true)),
            ("reload", json!({ "cancelled": true })),
        ],
    )
    .await;
    let run = |name: &str, arguments: &str| {
        loaded.invoke(RunCommand {
            name: name.into(),
            arguments: arguments.into(),
        })
    };
    assert_eq!(run("greet", "world").await.error, None);
    assert_eq!(
        loaded.room.asked("show"),
        [json!({ "notify": { "message": "hello world", "level": "warning" } })]
    );
    let error = run("broken", "").await.error.expect("an error");
    assert!(
        error.starts_with("it broke (") && error.contains("extension.ts:"),
        "{error}"
    );
    // Nothing was loaded again, so the command continues with its objects.
    assert_eq!(run("reload", "").await.error, None);
    assert_eq!(loaded.room.asked("reload").len(), 1);
    assert_eq!(
        run("gone", "").await.error.as_deref(),
        Some("there is no command /gone any more")
    );
    let complete = |name: &str| {
        loaded.invoke(CompleteArgument {
            name: name.into(),
            prefix: "w".into(),
        })
    };
    let world = Completion {
        value: "world".into(),
        label: "world".into(),
        description: None,
    };
    assert_eq!(complete("greet").await, Some(vec![world]));
    assert_eq!(complete("broken").await, None);
    assert_eq!(
        loaded.invoke(RunShortcut { key: "ctrl+x".into() }).await.error,
        None
    );
    assert_eq!(
        loaded.room.asked("show").last(),
        Some(&json!({ "status": { "key": "key", "text": "pressed" } }))
    );
    assert_eq!(loaded.probe().await, json!([true, null]));
    assert_eq!(loaded.room.asked("get_flag"), [json!({ "name": "plan" })]);
}

#[tokio::test]
async fn an_extension_runs_command_lines_in_the_shells_place() {
    let loaded = factory(
        r#"const operations = [
            { exec: async (command: string, cwd: string, { onData, signal }: any) => {
                onData("text "); onData(new Uint8Array([98, 121, 116, 101, 115]));
                if (command !== "slow") return { exitCode: 3 };
                await new Promise((done) => signal.addEventListener("abort", done));
                return { exitCode: null };
            } },
            { execute: (command: string) => `ran ${command}` },
            { execute: async () => { throw new Error("no line"); } },
        ];
        pi.on("user_bash", () => ({ operations: operations.shift() }));
        pi.on("probe", () => 1);"#,
        &[],
    )
    .await;
    let mut functions = Vec::new();
    for name in ["exec", "execute", "execute"] {
        let returned = loaded
            .fire("user_bash", Vec::new())
            .await
            .expect("an answer")
            .returned;
        let answer: Value = serde_json::from_str(&returned.expect("operations")).expect("JSON");
        functions.push(
            answer["operations"][name]["$function"]
                .as_u64()
                .expect("a handle") as u32,
        );
    }
    let run = |function: u32, command: &str| {
        let (command, cwd) = (command.to_string(), "/work".to_string());
        loaded.invoke(RunShell {
            run: 1,
            function,
            command,
            cwd,
            timeout: None,
            env: None,
        })
    };
    assert_eq!(run(functions[0], "ls").await.exit_code, Some(3));
    let parts: Vec<Value> = loaded.room.asked("shell_output");
    assert_eq!(
        parts,
        [
            json!({ "run": 1, "text": "text " }),
            json!({ "run": 1, "text": "bytes" })
        ]
    );
    let (end, ()) = tokio::join!(run(functions[0], "slow"), async {
        tokio::task::yield_now().await;
        loaded.invoke(AbortShell { run: 1 }).await;
    });
    assert_eq!((end.exit_code, end.error), (None, None));
    let end = run(functions[1], "ls").await;
    assert_eq!((end.exit_code, end.output.as_deref()), (Some(0), Some("ran ls")));
    assert_eq!(run(functions[2], "ls").await.error.as_deref(), Some("no line"));
    assert!(run(99, "ls").await.error.is_some());
}
