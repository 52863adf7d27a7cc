//! `--mode rpc`: a program talks to becket as it would to pi.

use serde_json::{Value, json};
use testkit::Room;

use crate::pi_client::Client;
use crate::pi_examples::example;
use crate::room;

/// A session with a scripted model.
fn client(room: &Room, turns: &Value, arguments: &[&str]) -> Client {
    let model = room.model(turns);
    let words: Vec<&str> = ["--model", model.as_str()]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    Client::start(room, &words)
}

fn saying(words: &[&str]) -> Value {
    words.iter().map(|word| json!({"text": word})).collect()
}

fn shell(command: &str) -> Value {
    json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
}

/// The texts of the messages of a session, with their roles.
fn conversation(client: &mut Client) -> Vec<String> {
    let messages = client.data(json!({"type": "get_messages"}));
    let messages = messages["messages"].as_array().expect("a list");
    let line = |message: &Value| {
        format!(
            "{}: {}",
            message["role"].as_str().unwrap(),
            message["content"][0]["text"].as_str().unwrap_or_default()
        )
    };
    messages.iter().map(line).collect()
}

// tidy: a table
#[test]
fn every_command_has_its_response() {
    let room = room();
    let mut client = client(&room, &saying(&["one", "two"]), &[]);
    client.prompt_and_wait("Hello");
    let model = |fields: &str| json!({"type": "set_model", "provider": "scripted", "modelId": fields});
    let script = room.work().join("../script.json").display().to_string();
    // A command, and what its answer holds.
    let cases = [
        (json!({"type": "get_last_assistant_text"}), json!({"text": "one"})),
        (
            json!({"type": "set_thinking_level", "level": "high"}),
            Value::Null,
        ),
        (json!({"type": "cycle_thinking_level"}), Value::Null),
        (json!({"type": "set_steering_mode", "mode": "all"}), Value::Null),
        (json!({"type": "set_follow_up_mode", "mode": "all"}), Value::Null),
        (
            json!({"type": "set_auto_compaction", "enabled": false}),
            Value::Null,
        ),
        (json!({"type": "set_auto_retry", "enabled": false}), Value::Null),
        (json!({"type": "abort_retry"}), Value::Null),
        (json!({"type": "abort"}), Value::Null),
        (
            json!({"type": "set_session_name", "name": " a name "}),
            Value::Null,
        ),
        (json!({"type": "cycle_model"}), Value::Null),
        (model(&script), json!({"provider": "scripted"})),
        (json!({"type": "get_commands"}), json!({"commands": []})),
        (
            json!({"type": "get_state"}),
            json!({
                "thinkingLevel": "high", "isStreaming": false, "isCompacting": false, "steeringMode": "all",
                "followUpMode": "all", "sessionName": "a name", "autoCompactionEnabled": false,
                "messageCount": 2, "pendingMessageCount": 0,
            }),
        ),
        (
            json!({"type": "get_session_stats"}),
            json!({"userMessages": 1, "assistantMessages": 1, "toolCalls": 0, "totalMessages": 2}),
        ),
    ];
    for (command, expected) in cases {
        let data = client.data(command.clone());
        match expected.as_object() {
            None => assert_eq!(data, expected, "{command}"),
            Some(fields) => {
                for (name, value) in fields {
                    assert_eq!(data[name], *value, "{command} {name}");
                }
            }
        }
    }
    let forks = client.data(json!({"type": "get_fork_messages"}));
    assert_eq!(forks["messages"][0]["text"], "Hello");
    let page = client.data(json!({"type": "export_html", "outputPath": "page.html"}));
    assert_eq!(page["path"], room.work().join("page.html").display().to_string());
    assert!(room.read("page.html").contains("<pre>one</pre>"));
    let models = client.data(json!({"type": "get_available_models"}));
    assert_eq!(models["models"][0]["provider"], "scripted");
    client.prompt_and_wait("Again");
    let summary = client.ask(json!({"type": "compact"}));
    assert_eq!(summary["success"], true, "{summary}");
    let (code, heard) = client.leave();
    assert_eq!(code, 0);
    let types: Vec<&str> = heard.iter().filter_map(|line| line["type"].as_str()).collect();
    for event in [
        "thinking_level_changed",
        "session_info_changed",
        "compaction_start",
        "compaction_end",
    ] {
        assert!(types.contains(&event), "{event}: {types:?}");
    }
}

#[test]
fn what_cannot_be_done_says_why() {
    let room = room();
    let mut client = client(&room, &saying(&["one"]), &[]);
    let cases = [
        (
            json!({"type": "set_session_name", "name": "  "}),
            "Session name cannot be empty",
        ),
        (
            json!({"type": "set_model", "provider": "nobody", "modelId": "x"}),
            "Model not found: nobody/x",
        ),
        (json!({"type": "export_html"}), "Nothing to export yet"),
        (json!({"type": "compact"}), "Nothing to compact"),
        (json!({"type": "prompt"}), "missing field `message`"),
        (
            json!({"type": "prompt", "message": "x", "images": [7]}),
            "`images[0]` is",
        ),
        (json!({"type": "fly"}), "Unknown command: fly"),
        (
            json!({"type": "fork", "entryId": "x"}),
            "Invalid entry ID for forking",
        ),
    ];
    for (command, expected) in cases {
        let response = client.ask(command.clone());
        assert_eq!(response["success"], false, "{response}");
        let error = response["error"].as_str().expect("words");
        assert!(error.contains(expected), "{command}: {error}");
        assert_eq!(response["command"], command["type"], "{response}");
    }
}

#[test]
fn lines_are_framed_as_pi_frames_them() {
    let room = room();
    let mut client = client(&room, &saying(&["one", "two", "three"]), &[]);
    client.write("{\"type\":\"get_sta");
    client.write("te\",\"id\":1}\r\n{broken\n");
    let state = client.next("the state", |line| line["id"] == 1);
    assert_eq!(state["success"], true);
    let wrong = client.next("the mistake", |line| line["command"] == "parse");
    assert!(
        wrong["error"]
            .as_str()
            .unwrap()
            .starts_with("Failed to parse command: "),
        "{wrong}"
    );
    assert_eq!(wrong.get("id"), None);
    let words = format!("first\u{2028}second\u{2029}{}", "x".repeat(3_000_000));
    client.prompt_and_wait(&words);
    assert_eq!(conversation(&mut client)[0], format!("user: {words}"));
    // The last line needs no end.
    client.write("{\"type\":\"get_state\",\"id\":\"last\"}");
    let (code, heard) = client.leave();
    assert_eq!(code, 0);
    assert!(
        heard.iter().any(|line| line["id"] == "last"),
        "{:?}",
        heard.last()
    );
}

#[test]
fn words_are_queued_while_the_agent_works() {
    let room = room();
    let turns =
        json!([shell("while ! test -e go; do sleep 0.05; done"), {"text": "steered"}, {"text": "followed"}]);
    let mut client = client(&room, &turns, &["--yes"]);
    client.prompt("Wait");
    client.event("tool_execution_start");
    let refused = client.ask(json!({"type": "prompt", "message": "Now"}));
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .starts_with("Agent is already processing."),
        "{refused}"
    );
    assert_eq!(client.data(json!({"type": "get_state"}))["isStreaming"], true);
    client.data(json!({"type": "steer", "message": "left"}));
    let queue = client
        .heard
        .iter()
        .rev()
        .find(|line| line["type"] == "queue_update")
        .cloned();
    assert_eq!(
        queue,
        Some(json!({"type": "queue_update", "steering": ["left"], "followUp": []}))
    );
    client.data(json!({"type": "prompt", "message": "then", "streamingBehavior": "followUp"}));
    assert_eq!(
        client.data(json!({"type": "get_state"}))["pendingMessageCount"],
        2
    );
    room.write("go", "");
    client.event("agent_settled");
    assert_eq!(
        client.data(json!({"type": "get_state"}))["pendingMessageCount"],
        0
    );
    let said = conversation(&mut client);
    let users: Vec<&String> = said.iter().filter(|line| line.starts_with("user: ")).collect();
    assert_eq!(users, ["user: Wait", "user: left", "user: then"], "{said:?}");
    assert_eq!(said.last().unwrap(), "assistant: followed");
}

#[test]
fn an_abort_ends_the_run_and_not_the_session() {
    let room = room();
    let turns = json!([shell("sleep 600"), {"text": "after"}]);
    let mut client = client(&room, &turns, &["--yes"]);
    client.prompt("Sleep");
    client.event("tool_execution_start");
    client.data(json!({"type": "abort"}));
    assert_eq!(client.data(json!({"type": "get_state"}))["isStreaming"], false);
    client.prompt_and_wait("Go on");
    assert_eq!(
        client.data(json!({"type": "get_last_assistant_text"}))["text"],
        "after"
    );
}

#[test]
fn retries_are_told_and_can_be_given_up() {
    let room = room();
    let busy = json!({"error": {"kind": "transient", "message": "overloaded", "retry_after_ms": 60_000}});
    let mut client = client(&room, &json!([busy, {"text": "too late"}]), &[]);
    client.prompt("Hello");
    let retry = client.event("auto_retry_start");
    assert_eq!((&retry["attempt"], &retry["maxAttempts"]), (&json!(1), &json!(3)));
    client.data(json!({"type": "abort_retry"}));
    let end = client.event("auto_retry_end");
    assert_eq!(end["success"], false, "{end}");
    assert!(
        end["finalError"].as_str().unwrap().contains("overloaded"),
        "{end}"
    );
    client.event("agent_end");
}

/// An extension that asks, and notes the answers.
const ASKING: &str = r#"
    import { appendFileSync } from "node:fs";
    export default (pi: any) => {
        const note = (value: unknown) => appendFileSync("log", JSON.stringify(value ?? null) + "\n");
        pi.on("session_start", async (_: any, ctx: any) => {
            note([ctx.mode, ctx.hasUI]);
            note(await ctx.ui.input("Name?", "yours"));
        });
        pi.on("session_shutdown", () => note("shutdown"));
        pi.registerCommand("ask", { handler: async (_: string, ctx: any) => {
            note(await ctx.ui.select("Which?", ["a", "b"]));
            note(await ctx.ui.confirm("Sure?", "Really"));
            note(await ctx.ui.editor("Write", "so far"));
            note(await ctx.ui.select("Soon?", ["a"], { timeout: 50 }));
            const controller = new AbortController();
            setTimeout(() => controller.abort(), 50);
            note(await ctx.ui.confirm("Never?", "x", { signal: controller.signal }));
            note(await ctx.ui.custom(() => { throw new Error("called"); }));
            ctx.ui.notify("n", "warning");
            ctx.ui.setStatus("s", "working");
            ctx.ui.setWidget("w", ["1", "2"], { placement: "belowEditor" });
            ctx.ui.setWidget("w", undefined);
            ctx.ui.setTitle("t");
            ctx.ui.setEditorText("e");
            throw new Error("it broke");
        } });
    };
"#;

#[test]
fn dialogs_reach_the_program_and_come_back() {
    let room = room();
    room.write("asking.ts", ASKING);
    let mut client = client(&room, &saying(&["one"]), &["-e", "asking.ts"]);
    let name = client.dialog("input");
    assert_eq!(
        (&name["title"], &name["placeholder"]),
        (&json!("Name?"), &json!("yours"))
    );
    client.answer(&name, json!({"value": "Ada"}));
    client.send(&json!({"type": "prompt", "message": "/ask", "id": "c"}));
    let which = client.dialog("select");
    assert_eq!(which["options"], json!(["a", "b"]));
    client.answer(&which, json!({"value": "b"}));
    let sure = client.dialog("confirm");
    client.answer(&sure, json!({"confirmed": true}));
    let write = client.dialog("editor");
    assert_eq!(write["prefill"], "so far");
    client.answer(&write, json!({"cancelled": true}));
    let soon = client.dialog("select");
    assert_eq!(soon["timeout"], 50);
    let never = client.dialog("confirm");
    let error = client.event("extension_error");
    assert_eq!(
        (&error["extensionPath"], &error["event"]),
        (&json!("command:ask"), &json!("command"))
    );
    assert_eq!(error["error"], "it broke", "{error}");
    // Too late: nobody waits any more.
    client.answer(&never, json!({"confirmed": true}));
    let done = client.next("the response", |line| line["id"] == "c");
    assert_eq!(done["success"], true);
    let shown: Vec<Value> = client
        .heard
        .iter()
        .filter(|line| line["type"] == "extension_ui_request")
        .cloned()
        .collect();
    let field = |method: &str, name: &str| {
        let line = shown
            .iter()
            .find(|line| line["method"] == method)
            .unwrap_or_else(|| panic!("{method}"));
        line[name].clone()
    };
    assert_eq!(field("notify", "notifyType"), "warning");
    assert_eq!(field("setStatus", "statusText"), "working");
    assert_eq!(field("setWidget", "widgetLines"), json!(["1", "2"]));
    assert_eq!(field("setWidget", "widgetPlacement"), "belowEditor");
    assert_eq!(field("setTitle", "title"), "t");
    assert_eq!(field("set_editor_text", "text"), "e");
    let (code, _) = client.leave();
    assert_eq!(code, 0);
    let expected = [
        "[\"rpc\",true]",
        "\"Ada\"",
        "\"b\"",
        "true",
        "null",
        "null",
        "false",
        "null",
        "\"shutdown\"",
    ];
    assert_eq!(room.read("log").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_gate_asks_the_program() {
    for (answer, ran) in [
        (json!({"value": "yes"}), true),
        (json!({"value": "same call again in this session"}), true),
        (json!({"value": "no"}), false),
        (json!({"value": "Yes, all of it"}), false),
        // A program that knows of yes and no only.
        (json!({"confirmed": true}), true),
        (json!({"confirmed": false}), false),
        (json!({"cancelled": true}), false),
        (json!({"cancelled": true, "confirmed": true}), false),
    ] {
        let room = room();
        let mut client = client(&room, &json!([shell("touch ran"), {"text": "done"}]), &[]);
        client.prompt("Touch");
        let question = client.dialog("select");
        let title = question["title"].as_str().unwrap();
        assert!(
            title.starts_with("Allow shell?\n") && title.contains("command: touch ran"),
            "{question}"
        );
        client.answer(&question, answer.clone());
        client.event("agent_end");
        assert_eq!(room.has("ran"), ran, "{answer}");
    }
}

#[test]
fn the_program_gives_a_reason_and_stores_a_rule_that_it_was_shown() {
    let room = room();
    room.script("check", "#!/bin/sh\ntouch ran-$1\n");
    let turns = json!([
        shell("./check one"), {"text": "refused", "expect": ["not now"]},
        shell("./check two"), shell("./check two"), {"text": "done"},
    ]);
    let mut client = client(&room, &turns, &[]);
    client.prompt("Check");
    let question = client.dialog("select");
    client.answer(&question, json!({"value": "no, and why"}));
    let why = client.dialog("input");
    client.answer(&why, json!({"value": "not now"}));
    client.event("agent_end");
    client.prompt("Check again");
    let rule = "rule: always allow `./check two` in this project";
    let question = client.dialog("select");
    assert!(
        question["options"].as_array().unwrap().contains(&json!(rule)),
        "{question}"
    );
    client.answer(&question, json!({"value": rule}));
    let shown = client.dialog("editor");
    assert_eq!(shown["prefill"], "shell:command=./check two");
    // Declined: the question comes again. Then with something that cannot be stored, which is told.
    client.answer(&shown, json!({"cancelled": true}));
    let question = client.dialog("select");
    client.answer(&question, json!({"value": rule}));
    let shown = client.dialog("editor");
    client.answer(&shown, json!({"value": "shell:command=*"}));
    let question = client.dialog("select");
    assert!(
        question["title"].as_str().unwrap().contains("cannot be stored"),
        "{question}"
    );
    client.answer(&question, json!({"value": rule}));
    let shown = client.dialog("editor");
    client.answer(&shown, json!({"value": "shell:command=./check two"}));
    client.event("agent_end");
    assert!(!room.has("ran-one") && room.has("ran-two"));
    room.run(["permissions"])
        .ended_with(0)
        .said("shell:command=./check two");
}

#[test]
fn a_program_that_leaves_has_said_no() {
    let room = room();
    room.write("asking.ts", ASKING);
    let mut client = client(
        &room,
        &json!([shell("touch ran"), {"text": "done"}]),
        &["-e", "asking.ts"],
    );
    let name = client.dialog("input");
    client.answer(&name, json!({}));
    client.prompt("Touch");
    client.dialog("select");
    let (code, _) = client.leave();
    assert_eq!(code, 0);
    assert!(!room.has("ran"));
    assert!(
        room.read("log").ends_with("\"shutdown\"\n"),
        "{}",
        room.read("log")
    );
}

#[test]
fn a_session_can_end_itself() {
    let room = room();
    let extension = r#"export default (pi: any) => {
        pi.registerCommand("quit", { handler: async (_: string, ctx: any) => ctx.shutdown() });
    };"#;
    room.write("quit.ts", extension);
    let mut client = client(&room, &saying(&["one"]), &["-e", "quit.ts"]);
    client.send(&json!({"type": "prompt", "message": "/quit"}));
    let (code, _) = client.finish();
    assert_eq!(code, 0);
}

#[test]
fn pi_s_permission_gate_asks_through_the_protocol() {
    let Some(file) = example("permission-gate") else {
        return;
    };
    for (choice, left) in [("Yes", false), ("No", true)] {
        let room = room();
        room.write("precious/file", "x");
        let mut client = client(
            &room,
            &json!([shell("rm -rf precious"), {"text": "done"}]),
            &["--yes", "-e", &file],
        );
        client.prompt("Remove it");
        let question = client.dialog("select");
        assert!(
            question["title"].as_str().unwrap().contains("rm -rf precious"),
            "{question}"
        );
        client.answer(&question, json!({"value": choice}));
        client.event("agent_end");
        assert_eq!(room.has("precious/file"), left, "{choice}");
    }
}

#[test]
fn pi_s_timed_confirm_and_commands_ask_through_the_protocol() {
    let (Some(timed), Some(commands)) = (example("timed-confirm"), example("commands")) else {
        return;
    };
    let room = room();
    let mut client = client(&room, &saying(&["one"]), &["-e", &timed, "-e", &commands]);
    client.send(&json!({"type": "prompt", "message": "/timed", "id": "t"}));
    let question = client.dialog("confirm");
    assert_eq!(question["timeout"], 5000, "{question}");
    client.answer(&question, json!({"confirmed": true}));
    let told = client.dialog("notify");
    assert!(told["message"].as_str().unwrap().contains("Confirmed"), "{told}");
    client.next("its end", |line| line["id"] == "t");
    client.send(&json!({"type": "prompt", "message": "/commands", "id": "c"}));
    let list = client.dialog("select");
    assert!(list["options"].to_string().contains("/timed"), "{list}");
    client.answer(&list, json!({"cancelled": true}));
    client.next("its end", |line| line["id"] == "c");
}

#[test]
fn pi_s_rpc_demo_shows_everything_that_a_program_can_show() {
    let Some(file) = example("rpc-demo") else { return };
    let room = room();
    let mut client = client(&room, &saying(&["one"]), &["-e", &file]);
    client.prompt_and_wait("Hello");
    let (_, heard) = client.leave();
    let methods: Vec<&str> = heard.iter().filter_map(|line| line["method"].as_str()).collect();
    for method in ["setTitle", "setWidget", "setStatus"] {
        assert!(methods.contains(&method), "{method}: {methods:?}");
    }
}
