//! A session that a program steers is ended, left and gone through in the middle of what it does.

use serde_json::{Value, json};
use testkit::Room;

use crate::pi_client::Client;
use crate::room;

/// Waits until the file `go` is there.
const WAITING: &str = "while ! test -e go; do sleep 0.05; done";

fn shell(command: &str) -> Value {
    json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
}

/// Refuses to be left until the file `agrees` is there, and notes what happens.
const GUARD: &str = r#"
    import { appendFileSync, existsSync } from "node:fs";
    export default (pi: any) => {
        for (const name of ["session_before_switch", "session_before_fork", "agent_end", "session_shutdown"]) {
            pi.on(name, () => {
                appendFileSync("log", name + "\n");
                if (name.startsWith("session_before")) return { cancel: !existsSync("agrees") };
            });
        }
    };
"#;

/// What was noted since it was last looked at.
fn noted(room: &Room) -> Vec<String> {
    let lines = room.read("log").lines().map(ToOwned::to_owned).collect();
    room.write("log", "");
    lines
}

#[test]
fn an_abort_in_the_middle_of_a_call_ends_with_an_answer_that_did_not_come() {
    let room = room();
    let model = room.model(&json!([shell("sleep 600"), {"text": "after"}]));
    let mut client = Client::start(&room, &["--yes", "--model", &model]);
    client.prompt("Sleep");
    client.event("tool_execution_start");
    client.data(json!({"type": "abort"}));
    client.prompt_and_wait("Go on");
    let (code, heard) = client.leave();
    assert_eq!(code, 0);
    let at = |name: &str| heard.iter().position(|line| line["type"] == name);
    let after_call = &heard[at("tool_execution_end").expect("the call ends")..];
    let end = after_call.iter().position(|line| line["type"] == "agent_end");
    let words = |line: &Value| match line["message"]["stopReason"].as_str() {
        Some(reason) => format!("{} {reason}", line["type"].as_str().unwrap()),
        None => line["type"].as_str().unwrap().to_owned(),
    };
    let told: Vec<String> = after_call[..=end.expect("the run ends")]
        .iter()
        .map(words)
        .collect();
    assert_eq!(
        told,
        [
            "tool_execution_end",
            "message_start",
            "message_end",
            "turn_end toolUse",
            "turn_start",
            "message_start aborted",
            "message_end aborted",
            "turn_end aborted",
            "agent_end",
        ]
    );
    let messages = after_call[end.unwrap()]["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["errorMessage"], "Request was aborted");
}

/// What a program wants of a session.
type Request<'a> = &'a dyn Fn(&mut Client) -> Value;

#[test]
fn what_runs_is_ended_when_hooks_have_agreed_and_not_before() {
    let fork = |client: &mut Client| {
        let forks = client.data(json!({"type": "get_fork_messages"}));
        json!({"type": "fork", "entryId": forks["messages"][0]["entryId"]})
    };
    let switch = |client: &mut Client| {
        let state = client.data(json!({"type": "get_state"}));
        json!({"type": "switch_session", "sessionPath": state["sessionFile"]})
    };
    let new = |_: &mut Client| json!({"type": "new_session"});
    let clone = |_: &mut Client| json!({"type": "clone"});
    let cases: [(&str, Request<'_>); 4] = [
        ("session_before_switch", &new),
        ("session_before_switch", &switch),
        ("session_before_fork", &fork),
        ("session_before_fork", &clone),
    ];
    for (guard, request) in cases {
        let room = room();
        room.write("guard.ts", GUARD);
        room.write("log", "");
        let model =
            room.model(&json!([{"text": "one"}, shell(WAITING), {"text": "two"}, shell("sleep 600")]));
        let mut client = Client::start(&room, &["--yes", "--model", &model, "-e", "guard.ts"]);
        client.prompt_and_wait("First");
        client.prompt("Wait");
        client.event("tool_execution_start");
        noted(&room);

        let request = request(&mut client);
        assert_eq!(client.data(request.clone())["cancelled"], true, "{request}");
        assert_eq!(noted(&room), [guard], "{request}");
        assert_eq!(client.data(json!({"type": "get_state"}))["isStreaming"], true);
        room.write("go", "");
        client.event("agent_end");
        let last = client.data(json!({"type": "get_last_assistant_text"}));
        assert_eq!(last["text"], "two", "{request}");

        client.prompt("Sleep");
        client.event("tool_execution_start");
        noted(&room);
        room.write("agrees", "");
        assert_eq!(client.data(request.clone())["cancelled"], false, "{request}");
        assert_eq!(
            noted(&room),
            [guard, "agent_end", "session_shutdown"],
            "{request}"
        );
        client.leave();
    }
}

#[test]
fn a_program_that_begins_asks_no_extension_about_a_switch() {
    let room = room();
    room.write("guard.ts", GUARD);
    room.write("log", "");
    for choice in ["-c", "-C"] {
        let model = room.model(&json!([{"text": "hello"}]));
        let words = [choice, "elsewhere", "--model", &model, "-e", "guard.ts", "hi"];
        room.run(words).ended_with(0).said("hello");
    }
    let ends = ["agent_end", "session_shutdown"];
    assert_eq!(noted(&room), [ends, ends].concat());
}

/// Two models, and a command that sets up a session.
const MODELS: &str = r#"
    import { appendFileSync } from "node:fs";
    export default (pi: any) => {
        const models = ["one", "two"].map((id) => ({
            id, name: id, reasoning: false, input: ["text"], contextWindow: 1000, maxTokens: 100,
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        }));
        pi.registerProvider("lab", {
            baseUrl: "http://127.0.0.1:9", apiKey: "key", api: "openai-completions", models,
        });
        const note = (...values: any[]) => appendFileSync("log", JSON.stringify(values) + "\n");
        const place = (session: any) => [session.getSessionId(), session.getSessionFile(), session.getSessionDir(),
            session.getCwd(), session.getHeader().id, session.getHeader().parentSession];
        pi.registerCommand("fresh", { handler: async (_: string, ctx: any) => {
            await ctx.newSession({
                parentSession: "/the/one/before.jsonl",
                setup: async (session: any) => {
                    session.appendMessage({ role: "user", content: "planted", timestamp: 1 });
                    note(place(session));
                },
                withSession: async (next: any) => note(place(next.sessionManager)),
            });
        } });
    };
"#;

#[test]
fn going_through_the_models_comes_back_to_the_first() {
    let room = room();
    room.write("models.ts", MODELS);
    let model = room.model(&json!([{"text": "one"}]));
    let mut client = Client::start(&room, &["--model", &model, "-e", "models.ts"]);
    let listed = |client: &mut Client| {
        let models = client.data(json!({"type": "get_available_models"}));
        let models = models["models"].as_array().expect("a list").iter();
        let names = models.map(|model| model["provider"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let before = listed(&mut client);
    assert_eq!(before, ["scripted", "lab", "lab"]);
    let mut met = Vec::new();
    for _ in &before {
        let cycled = client.data(json!({"type": "cycle_model"}));
        met.push(cycled["model"]["provider"].as_str().unwrap().to_owned());
        assert_eq!(listed(&mut client), before);
    }
    assert_eq!(met, ["lab", "lab", "scripted"]);
}

#[test]
fn a_session_that_is_set_up_knows_where_it_will_be() {
    let room = room();
    room.write("models.ts", MODELS);
    let model = room.model(&json!([{"text": "one"}]));
    let mut client = Client::start(&room, &["--model", &model, "-e", "models.ts"]);
    client.prompt("/fresh");
    let log = room.read("log");
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert_eq!(lines[0], lines[1], "as it is then");
    let place = lines[0][0].as_array().expect("a place");
    assert!(place.iter().all(Value::is_string), "{log}");
    assert_eq!(place[5], "/the/one/before.jsonl");
}
