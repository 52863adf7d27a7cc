//! The examples do what their first lines say.

use becket_dialects::pi::arguments::validate;
use becket_dialects::pi::services::{BusEvent, ExecuteTool, RunCommand};
use becket_hooks::Field;
use serde_json::{Map, Value, json};

use crate::room::{Loaded, load};

async fn example(name: &str, answers: &[(&str, Value)]) -> Loaded {
    let file = format!("{}/../../examples/pi/{name}.ts", env!("CARGO_MANIFEST_DIR"));
    load(&std::fs::read_to_string(file).expect("an example"), answers).await
}

fn fields(values: &Value) -> Vec<Field> {
    let names = [
        "toolName",
        "input",
        "text",
        "systemPrompt",
        "messages",
        "turnIndex",
        "toolResults",
        "reason",
    ];
    let given = names
        .into_iter()
        .filter_map(|name| Some((name, values.get(name)?.to_string())));
    given.map(|(name, json)| Field::new(name, json)).collect()
}

/// What an example answers to an event.
async fn answer(loaded: &Loaded, event: &str, values: Value) -> Value {
    let answered = loaded.fire(event, fields(&values)).await.expect("an answer");
    answered
        .returned
        .map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"))
}

async fn run(loaded: &Loaded, name: &str, arguments: &str) -> Option<String> {
    let (name, arguments) = (name.to_string(), arguments.to_string());
    loaded.invoke(RunCommand { name, arguments }).await.error
}

fn told(loaded: &Loaded) -> String {
    let said = loaded.room.asked("notify");
    said.iter()
        .filter_map(|said| said["message"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn the_gate_refuses_what_nobody_allows() {
    let gate = example("gate", &[("dialog", json!(null))]).await;
    for (tool, input, blocked) in [
        ("read", json!({ "path": "config/.env" }), true),
        ("read", json!({ "path": "src/environment.rs" }), false),
        ("bash", json!({ "command": "rm -rf build" }), true),
        ("bash", json!({ "command": "git reset --hard" }), true),
        ("bash", json!({ "command": "ls -r" }), false),
    ] {
        let said = answer(&gate, "tool_call", json!({ "toolName": tool, "input": input })).await;
        assert_eq!(said["block"] == true, blocked, "{tool} {input}: {said}");
    }
    assert!(told(&gate).contains("config/.env"));
}

#[tokio::test]
async fn prompts_are_changed_answered_and_left_alone() {
    let prompt = example("prompt", &[]).await;
    let short = answer(&prompt, "input", json!({ "text": "?short why" })).await;
    let words = "Answer in at most three sentences: why";
    assert_eq!(short, json!({ "action": "transform", "text": words }));
    assert_eq!(
        answer(&prompt, "input", json!({ "text": "ping" })).await,
        json!({ "action": "handled" })
    );
    assert_eq!(
        answer(&prompt, "input", json!({ "text": "hello" })).await,
        json!({ "action": "continue" })
    );
    let said = answer(
        &prompt,
        "before_agent_start",
        json!({ "systemPrompt": "Be kind." }),
    )
    .await;
    let said = said["systemPrompt"].as_str().expect("a prompt").to_string();
    assert!(
        said.starts_with("Be kind.") && said.ends_with("You work in /work."),
        "{said}"
    );
    let result =
        |text: String| json!({ "role": "toolResult", "content": [{ "type": "text", "text": text }] });
    let messages: Vec<Value> = (0..11).map(|_| result("x".repeat(500))).collect();
    let shown = answer(&prompt, "context", json!({ "messages": messages })).await;
    let length = |at: usize| shown["messages"][at]["content"][0]["text"].as_str().map(str::len);
    assert_eq!((length(0), length(10)), (Some(412), Some(500)));
}

#[tokio::test]
async fn a_command_is_watched_until_it_says_the_word() {
    let program = json!({ "stdout": "ready", "stderr": "", "code": 0, "killed": false });
    let watch = example("watch-command", &[("exec", program)]).await;
    let schema = &watch.room.asked("register_tool")[0]["parameters"];
    let written = json!({ "program": "curl", "until": "x", "attempts": "3" });
    let read = validate("watch_command", schema, &written);
    assert_eq!(read.expect("it fits")["attempts"], 3);
    let told = validate(
        "watch_command",
        schema,
        &json!({ "program": "curl", "attempts": 0 }),
    );
    let told = told.expect_err("it does not fit");
    assert!(
        told.contains("until: must have required") && told.contains("attempts: must be >= 1"),
        "{told}"
    );
    let call = |until: &str, attempts: u32| {
        let arguments = json!({ "program": "curl", "until": until, "attempts": attempts });
        let arguments = arguments.as_object().cloned().expect("an object");
        watch.invoke(ExecuteTool {
            tool: "watch_command".into(),
            call_id: "1".into(),
            arguments,
        })
    };
    let result = call("ready", 3).await;
    assert_eq!(
        (&result.content[0]["text"], result.is_error),
        (&json!("ready"), false)
    );
    let result = call("never", 1).await;
    assert_eq!(
        result.content[0]["text"],
        "after 1 attempts there was still no \"never\""
    );
    assert!(result.is_error);
    assert_eq!(watch.room.asked("tool_update").len(), 1);
}

#[tokio::test]
async fn commands_speak_to_the_model_and_to_the_person() {
    let log = json!({ "stdout": "1234567 fix it\n", "stderr": "", "code": 0, "killed": false });
    let standup = example(
        "standup",
        &[
            ("exec", log),
            ("wait_for_idle", json!(null)),
            ("session", json!({ "name": "work" })),
            ("get_all_tools", json!([{ "name": "bash" }])),
            ("get_active_tools", json!(["bash"])),
            ("get_commands", json!([{ "name": "standup" }])),
            ("is_project_trusted", json!(true)),
        ],
    )
    .await;
    assert_eq!(run(&standup, "standup", "yesterday").await, None);
    let said = standup.room.asked("send_user_message")[0]["content"].clone();
    assert!(said.as_str().expect("words").contains("1234567 fix it"), "{said}");
    assert_eq!(run(&standup, "about", "").await, None);
    assert!(
        told(&standup).contains("session: work in /work, mode print"),
        "{}",
        told(&standup)
    );
}

#[tokio::test]
async fn notes_come_back_with_the_branch() {
    let entry = json!({ "type": "custom", "customType": "notes", "data": { "notes": ["old"] }, "id": "a" });
    let notes = example("notes", &[("session_branch", json!([entry]))]).await;
    answer(&notes, "session_start", json!({})).await;
    let arguments = Map::from_iter([("text".to_string(), json!("new"))]);
    let note = ExecuteTool {
        tool: "note".into(),
        call_id: "1".into(),
        arguments,
    };
    assert_eq!(notes.invoke(note).await.content[0]["text"], "1. old\n2. new");
    let kept = json!({ "customType": "notes", "data": { "notes": ["old", "new"] } });
    assert_eq!(notes.room.asked("append_entry"), [kept]);
    notes.room.answer("session", json!({ "leafId": "a" }));
    notes.room.answer("session_entry", json!({ "id": "a" }));
    assert_eq!(run(&notes, "bookmark", "here").await, None);
    assert_eq!(
        notes.room.asked("set_label"),
        [json!({ "entryId": "a", "label": "here" })]
    );
}

#[tokio::test]
async fn the_diary_counts_and_the_budget_ends() {
    let diary = example("diary", &[]).await;
    diary
        .invoke(BusEvent {
            channel: "diary:note".into(),
            data: json!("a note"),
        })
        .await;
    answer(&diary, "turn_end", json!({ "turnIndex": 0, "toolResults": [] })).await;
    assert_eq!(
        diary.room.asked("bus_emit")[0]["data"],
        json!({ "turn": 0, "tools": 0 })
    );
    answer(&diary, "session_shutdown", json!({ "reason": "quit" })).await;
    assert!(
        told(&diary).contains("the session ended (quit): a note ×1"),
        "{}",
        told(&diary)
    );

    let usage = json!({ "tokens": 90, "contextWindow": 100, "percent": 90 });
    let answers = [
        ("get_flag", json!("2")),
        ("get_context_usage", usage),
        ("get_thinking_level", json!("high")),
    ];
    let budget = example("budget", &answers).await;
    for _ in 0..2 {
        answer(&budget, "turn_end", json!({})).await;
    }
    assert_eq!(
        (
            budget.room.asked("compact").len(),
            budget.room.asked("abort").len()
        ),
        (1, 1)
    );
    assert_eq!(
        budget.room.asked("set_thinking_level")[0],
        json!({ "level": "medium" })
    );
}

#[tokio::test]
async fn the_session_is_inspected_and_the_tour_comes_to_its_end() {
    let session = json!({
        "cwd": "/work", "sessionDir": "/s", "sessionId": "id", "sessionFile": null, "leafId": null, "name": null,
    });
    let model = json!({ "provider": "p", "id": "m" });
    let inspect = example(
        "inspect",
        &[
            ("session", session),
            (
                "session_entries",
                json!([{ "type": "message", "id": "a", "parentId": null }]),
            ),
            ("session_context", json!({ "messages": [1] })),
            ("model", model.clone()),
            ("models", json!([model])),
            ("get_thinking_level", json!("low")),
            ("get_system_prompt", json!("Be kind.")),
            ("is_idle", json!(true)),
            (
                "model_complete",
                json!({ "content": [{ "type": "text", "text": "Kind Short Words" }] }),
            ),
        ],
    )
    .await;
    assert_eq!(run(&inspect, "inspect", "").await, None);
    let said = told(&inspect);
    assert!(
        said.contains("entries: 1 message") && said.contains("model: m, can be used"),
        "{said}"
    );
    assert_eq!(
        run(&inspect, "inspect", "x").await.as_deref(),
        Some("there is no part \"x\"")
    );
    assert_eq!(run(&inspect, "title", "").await, None);
    assert_eq!(
        inspect.room.asked("set_session_name"),
        [json!({ "name": "Kind Short Words" })]
    );

    let tour = example("tour", &[("dialog", json!(null))]).await;
    assert_eq!(run(&tour, "tour", "").await, None);
    assert!(
        told(&tour).contains("drink: undefined\nsure: false"),
        "{}",
        told(&tour)
    );
    assert_eq!(tour.room.asked("send_message").len(), 1);
}
