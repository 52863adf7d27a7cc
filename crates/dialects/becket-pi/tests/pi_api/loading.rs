//! Tests of how extensions begin and end, and of what they may do when.

use becket_hooks::Field;
use becket_pi::services::{Bind, BusEvent, End};
use serde_json::json;

use crate::room::{factory, load, try_load};

#[tokio::test]
async fn a_factory_is_found_wherever_a_module_format_puts_it() {
    for source in [
        "export default (pi: any) => { pi.registerCommand('found', { handler() {} }); };",
        "export default async function (pi: any) { await null; pi.registerCommand('found', { handler() {} }); }",
        "export default { default: (pi: any) => { pi.registerCommand('found', { handler() {} }); } };",
        "const made = (pi: any) => { pi.registerCommand('found', { handler() {} }); };
        export { made as 'module.exports' };",
    ] {
        let loaded = try_load(source, &[]).await.expect(source);
        assert_eq!(
            loaded.room.asked("register_command")[0]["name"],
            "found",
            "{source}"
        );
    }
    for source in [
        "export const x = 1;",
        "export default 'words';",
        "export default { run() {} };",
    ] {
        let failure = try_load(source, &[]).await.err().expect(source);
        let words = "Extension does not export a valid factory function: extension.ts";
        assert!(failure.detail.contains(words), "{source}: {}", failure.detail);
    }
    let failure = try_load("export default () => { throw new Error('not today'); };", &[]).await;
    assert!(failure.err().expect("it fails").detail.contains("not today"));
}

// tidy: a table
#[tokio::test]
async fn acting_is_for_sessions_only() {
    let source = r#"
        export default async (pi: any) => {
            const said: string[] = [];
            const tried = async (name: string, ...values: any[]) => {
                try {
                    await pi[name](...values);
                    said.push(`${name}: fine`);
                } catch (error: any) {
                    said.push(`${name}: ${error.message}`);
                }
            };
            const all = async () => {
                await tried("sendMessage", { customType: "x", content: "y" });
                await tried("sendUserMessage", "hello");
                await tried("appendEntry", "x", 1);
                await tried("setSessionName", "x");
                await tried("getSessionName");
                await tried("setLabel", "id", "x");
                await tried("getActiveTools");
                await tried("setActiveTools", []);
                await tried("getAllTools");
                await tried("getCommands");
                await tried("setModel", { provider: "p", id: "m" });
                await tried("getThinkingLevel");
                await tried("setThinkingLevel", "low");
                await tried("exec", "true", []);
                return said.splice(0);
            };
            pi.registerFlag("early", { type: "string", default: JSON.stringify(await all()) });
            pi.on("probe", all);
        };
    "#;
    let loading =
        "Extension runtime not initialized. Action methods cannot be called during extension loading.";
    let answers = [
        ("session", json!({ "name": null })),
        ("exec", json!({})),
        ("set_model", json!(true)),
    ];
    let loaded = try_load(source, &answers).await.expect("it loads");
    let early = loaded.room.asked("register_flag")[0]["default"]
        .as_str()
        .expect("a list")
        .to_string();
    let early: Vec<String> = serde_json::from_str(&early).expect("a list");
    assert_eq!(early.len(), 14);
    for said in &early[..13] {
        assert!(said.ends_with(loading), "{said}");
    }
    assert_eq!(early[13], "exec: fine");

    loaded.invoke(Bind {}).await;
    let said = loaded.probe().await;
    let said = said.as_array().expect("a list").iter();
    assert!(
        said.clone()
            .all(|said| said.as_str().expect("words").ends_with(": fine")),
        "{said:?}"
    );

    loaded.invoke(End {}).await;
    let said = loaded.probe().await;
    for said in said.as_array().expect("a list") {
        assert!(
            said.as_str()
                .expect("words")
                .contains("This extension ctx is stale after session"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_held_context_refuses_after_the_end_and_kills_nothing() {
    let loaded = factory(
        r#"let held: any;
        pi.on("session_start", (_: any, ctx: any) => { held = ctx; });
        pi.on("probe", () => ["cwd", "model", "ui", "sessionManager", "hasUI"].map((name) => {
            try { return typeof held[name]; } catch (error: any) { return error.message.slice(0, 27); }
        }));
        pi.on("later", () => { setTimeout(() => held.ui.notify("hello"), 1); });"#,
        &[("model", json!({ "id": "m" }))],
    )
    .await;
    loaded.fire("session_start", Vec::new()).await.expect("an answer");
    assert_eq!(
        loaded.probe().await,
        json!(["string", "object", "object", "object", "boolean"])
    );
    loaded.invoke(End {}).await;
    let stale = "This extension ctx is stale";
    assert_eq!(loaded.probe().await, json!([stale, stale, stale, stale, stale]));
    loaded
        .fire("later", Vec::new())
        .await
        .expect("the handler itself is fine");
    for _ in 0..2000 {
        if !loaded.room.reports().is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(
        loaded.room.reports()[0].contains(stale),
        "{:?}",
        loaded.room.reports()
    );
    assert_eq!(loaded.probe().await[0], stale);
}

#[tokio::test]
async fn handlers_know_their_event_and_can_be_taken_back() {
    let loaded = factory(
        r#"pi.on("tool_result", (event: any, ctx: any) => ({ type: event.type, tool: event.toolName, cwd: ctx.cwd }));
        const off = pi.on("probe", () => "heard");
        pi.on("stop", () => off());
        pi.on("late", () => { pi.on("found_later", () => 1); });"#,
        &[],
    )
    .await;
    let answered = loaded
        .fire("tool_result", vec![Field::new("toolName", "\"bash\"")])
        .await
        .expect("an answer");
    let expected = r#"{"type":"tool_result","tool":"bash","cwd":"/work"}"#;
    assert_eq!(answered.returned.as_deref(), Some(expected));
    assert_eq!(loaded.probe().await, json!("heard"));
    loaded.fire("stop", Vec::new()).await.expect("an answer");
    assert_eq!(loaded.probe().await, json!(null));
    let on = loaded.room.asked("on");
    assert_eq!(loaded.room.asked("off"), [json!({ "handler": on[1]["handler"] })]);
    loaded.fire("late", Vec::new()).await.expect("an answer");
    assert_eq!(
        loaded
            .fire("found_later", Vec::new())
            .await
            .expect("an answer")
            .returned
            .as_deref(),
        Some("1")
    );
    for body in ["pi.on('', () => {});", "pi.on(1, () => {});"] {
        let failure = try_load(&format!("export default (pi: any) => {{ {body} }};"), &[])
            .await
            .err();
        assert!(failure.expect(body).detail.contains("pi.on"), "{body}");
    }
    // As in pi, what is no function is found out when it is called; a guard refuses by it.
    let loaded = factory("pi.on('tool_call', 'no function');", &[]).await;
    let failure = loaded
        .fire("tool_call", Vec::new())
        .await
        .expect_err("no function");
    assert!(
        failure.detail.contains("handler is not a function"),
        "{}",
        failure.detail
    );
}

#[tokio::test]
async fn what_is_no_data_is_there_nevertheless() {
    let loaded = factory(
        r#"pi.on("session_before_compact", (event: any) => {
            const { signal, preparation } = event;
            const read = preparation.fileOps.read.has("a.txt");
            return { aborted: signal.aborted, read, same: event.signal === signal };
        });
        let seen: any;
        pi.on("session_before_tree", (event: any) => { seen = event.signal; });
        pi.on("probe", () => seen.aborted);"#,
        &[],
    )
    .await;
    let preparation = r#"{"fileOps":{"read":["a.txt"],"written":[],"edited":[]}}"#;
    let answered = loaded
        .fire(
            "session_before_compact",
            vec![Field::new("preparation", preparation)],
        )
        .await;
    let returned = answered.expect("an answer").returned;
    assert_eq!(
        returned.as_deref(),
        Some(r#"{"aborted":false,"read":true,"same":true}"#)
    );
    loaded
        .fire("session_before_tree", Vec::new())
        .await
        .expect("an answer");
    assert_eq!(loaded.probe().await, json!(false));
    loaded.room.settle("wait_for_abort", json!(true));
    for _ in 0..2000 {
        if loaded.probe().await == json!(true) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the signal was never aborted");
}

#[tokio::test]
async fn extensions_talk_on_a_bus() {
    let loaded = load(
        r#"export default (pi: any) => {
            const heard: unknown[] = [];
            pi.events.on("news", () => { throw new Error("bad listener"); });
            pi.events.on("news", async () => { throw new Error("worse listener"); });
            const off = pi.events.on("news", (data: any) => heard.push(data.text ?? data.run()));
            pi.events.emit("news", { text: "own", run: () => 1 });
            pi.events.emit("news", { run: () => "live" });
            const cyclic: any = { text: "cyclic" };
            cyclic.self = cyclic;
            pi.events.emit("news", cyclic);
            pi.on("probe", () => heard);
            pi.on("stop", () => { off(); });
        };"#,
        &[],
    )
    .await;
    assert_eq!(loaded.room.asked("bus_listen"), [json!({ "channel": "news" })]);
    assert_eq!(
        loaded.room.asked("bus_emit")[0],
        json!({ "channel": "news", "data": { "text": "own" } })
    );
    assert_eq!(loaded.room.asked("bus_emit").len(), 2);
    loaded
        .invoke(BusEvent {
            channel: "news".into(),
            data: json!({ "text": "theirs" }),
        })
        .await;
    assert_eq!(loaded.probe().await, json!(["own", "live", "cyclic", "theirs"]));
    let reports = loaded.room.wait_for("report", 9).await;
    let said = |words: &str| {
        let errors = reports.iter().filter_map(|report| report["error"].as_str());
        errors.filter(|error| error.starts_with(words)).count()
    };
    let line = |line: u32| format!("extension.ts:{line}:");
    assert_eq!((said("bad listener ("), said("worse listener (")), (4, 4));
    assert!(
        reports[0]["error"]
            .as_str()
            .is_some_and(|error| error.contains(&line(3)))
    );
    assert!(
        reports.iter().all(|report| report["event"] == "event:news"),
        "{reports:?}"
    );
    loaded.fire("stop", Vec::new()).await.expect("an answer");
    loaded
        .invoke(BusEvent {
            channel: "news".into(),
            data: json!({ "text": "unheard" }),
        })
        .await;
    assert_eq!(loaded.probe().await.as_array().map(Vec::len), Some(4));
}
