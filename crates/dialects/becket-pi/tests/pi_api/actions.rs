//! Tests of the actions of extensions on the session.

use serde_json::{Value, json};

use crate::room::factory;

/// The host call that an action makes.
async fn asked(body: &str, answers: &[(&str, Value)], name: &str) -> Value {
    let loaded = factory(&format!("pi.on('probe', async () => {{ {body} }});"), answers).await;
    loaded
        .fire("probe", Vec::new())
        .await
        .unwrap_or_else(|failure| panic!("{body}: {failure}"));
    let asked = loaded.room.asked(name);
    assert_eq!(asked.len(), 1, "{body}: {asked:?}");
    asked[0].clone()
}

#[tokio::test]
// tidy: a table
async fn each_action_is_one_question() {
    let table = [
        (
            "pi.sendMessage({ customType: 'note', content: 'hi', display: true, details: { x: 1 }, role: 'x' })",
            "send_message",
            json!({
                "message": { "customType": "note", "content": "hi", "display": true, "details": { "x": 1 } },
            }),
        ),
        (
            "pi.sendMessage({ customType: 'note', content: 'hi' }, { triggerTurn: false })",
            "send_message",
            json!({
                "message": { "customType": "note", "content": "hi", "display": false }, "triggerTurn": false,
            }),
        ),
        (
            "pi.sendMessage({ customType: 'note', content: [1] }, { triggerTurn: true, deliverAs: 'nextTurn' })",
            "send_message",
            json!({
                "message": { "customType": "note", "content": [1], "display": false },
                "triggerTurn": true, "deliverAs": "nextTurn",
            }),
        ),
        (
            "pi.sendUserMessage('go', { deliverAs: 'followUp' })",
            "send_user_message",
            json!({ "content": "go", "deliverAs": "followUp", "expandPromptTemplates": false }),
        ),
        (
            "pi.sendUserMessage('/go', { expandPromptTemplates: true })",
            "send_user_message",
            json!({ "content": "/go", "expandPromptTemplates": true }),
        ),
        (
            "pi.appendEntry('state', { n: 1 })",
            "append_entry",
            json!({ "customType": "state", "data": { "n": 1 } }),
        ),
        (
            "pi.setSessionName('work')",
            "set_session_name",
            json!({ "name": "work" }),
        ),
        (
            "pi.setLabel('e1', undefined)",
            "set_label",
            json!({ "entryId": "e1" }),
        ),
        (
            "pi.setActiveTools(['read', 'bash'])",
            "set_active_tools",
            json!({ "names": ["read", "bash"] }),
        ),
        (
            "pi.setThinkingLevel('high')",
            "set_thinking_level",
            json!({ "level": "high" }),
        ),
        (
            "await pi.setModel({ provider: 'p', id: 'm', name: 'M' })",
            "set_model",
            json!({ "provider": "p", "id": "m" }),
        ),
        (
            "await pi.exec('git', ['status', 1], { cwd: '/x', timeout: 50 })",
            "exec",
            json!({ "id": 1, "command": "git", "args": ["status", "1"], "cwd": "/x", "timeout": 50 }),
        ),
        (
            "pi.unregisterProvider('p')",
            "unregister_provider",
            json!({ "name": "p" }),
        ),
    ];
    for (body, name, expected) in table {
        let answers = [("exec", json!({})), ("set_model", json!(true))];
        assert_eq!(asked(body, &answers, name).await, expected, "{body}");
    }
}

#[tokio::test]
async fn answers_come_back() {
    let loaded = factory(
        r#"pi.on("probe", async () => [
            pi.getSessionName(), pi.getActiveTools(), pi.getAllTools(), pi.getCommands(), pi.getThinkingLevel(),
            await pi.setModel({ provider: "p", id: "m" }), await pi.exec("x"),
        ]);"#,
        &[
            ("session", json!({ "name": "work" })),
            ("get_active_tools", json!(["bash"])),
            ("get_all_tools", json!([{ "name": "bash" }])),
            ("get_commands", json!([{ "name": "greet" }])),
            ("get_thinking_level", json!("low")),
            ("set_model", json!(false)),
            ("exec", json!({ "stdout": "s", "stderr": "", "code": 0, "killed": false })),
        ],
    )
    .await;
    let program = json!({ "stdout": "s", "stderr": "", "code": 0, "killed": false });
    let expected =
        json!(["work", ["bash"], [{ "name": "bash" }], [{ "name": "greet" }], "low", false, program]);
    assert_eq!(loaded.probe().await, expected);
}

#[tokio::test]
async fn what_cannot_be_said_is_reported_and_the_handler_goes_on() {
    let loaded = factory(
        r#"pi.on("probe", () => {
            pi.sendUserMessage("go");
            pi.sendMessage({ customType: "x", content: 1 }, { deliverAs: "never" });
            return "on";
        });"#,
        &[],
    )
    .await;
    loaded.room.refuse("send_user_message", "the agent is busy");
    assert_eq!(loaded.probe().await, json!("on"));
    let reports = loaded.room.asked("report");
    assert_eq!(reports[0]["event"], "send_user_message");
    let error = reports[0]["error"].as_str().expect("words");
    assert!(
        error.starts_with("the agent is busy (") && error.contains("extension.ts:"),
        "what, and where: {reports:?}"
    );
    // As in pi, a way that does not exist is none.
    let sent = loaded.room.asked("send_message");
    assert_eq!(sent[0].get("deliverAs"), None, "{sent:?}");
}

#[tokio::test]
async fn a_program_is_cancelled_by_its_signal() {
    let loaded = factory(
        r#"const early = new AbortController(), late = new AbortController();
        early.abort();
        pi.on("early", () => pi.exec("sleep", ["9"], { signal: early.signal }));
        pi.on("late", () => {
            setTimeout(() => late.abort(), 1);
            return pi.exec("sleep", ["9"], { signal: late.signal });
        });"#,
        &[],
    )
    .await;
    for (event, id) in [("early", 1), ("late", 2)] {
        let room = &loaded.room;
        let (answered, ()) = tokio::join!(loaded.fire(event, Vec::new()), async {
            let cancelled = room.wait_for("cancel", id).await;
            assert_eq!(cancelled[id - 1], json!({ "id": id }));
            room.settle("exec", json!({ "killed": true }));
        });
        assert_eq!(
            answered.expect("an answer").returned.as_deref(),
            Some(r#"{"killed":true}"#)
        );
    }
}
