//! Tests of the contexts that handlers, tools and commands get.

use serde_json::{Value, json};

use crate::room::{Loaded, factory};

async fn seen(expression: &str, answers: &[(&str, Value)]) -> Value {
    probing(expression, answers).await.probe().await
}

async fn probing(expression: &str, answers: &[(&str, Value)]) -> Loaded {
    factory(
        &format!("pi.on('probe', async (_: any, ctx: any) => ({expression}));"),
        answers,
    )
    .await
}

#[tokio::test]
async fn the_context_shows_the_session() {
    let usage = json!({ "tokens": 10, "contextWindow": 100, "percent": 12.5 });
    let table = [
        (
            "[ctx.hasUI, ctx.mode, ctx.cwd]",
            vec![],
            json!([false, "print", "/work"]),
        ),
        ("ctx.model.id", vec![("model", json!({ "id": "m" }))], json!("m")),
        ("ctx.model === undefined", vec![], json!(true)),
        ("ctx.isIdle()", vec![("is_idle", json!(true))], json!(true)),
        (
            "ctx.signal === undefined",
            vec![("is_idle", json!(true))],
            json!(true),
        ),
        (
            "ctx.signal.aborted",
            vec![("is_idle", json!(false))],
            json!(false),
        ),
        (
            "ctx.hasPendingMessages()",
            vec![("has_pending_messages", json!(true))],
            json!(true),
        ),
        (
            "ctx.getContextUsage()",
            vec![("get_context_usage", usage.clone())],
            usage,
        ),
        (
            "ctx.getSystemPrompt()",
            vec![("get_system_prompt", json!("be kind"))],
            json!("be kind"),
        ),
        (
            "ctx.thinkingLevel",
            vec![("get_thinking_level", json!("high"))],
            json!("high"),
        ),
        (
            "ctx.isProjectTrusted()",
            vec![("is_project_trusted", json!(true))],
            json!(true),
        ),
        ("ctx.scopedModels", vec![], json!([])),
        ("'newSession' in ctx", vec![], json!(false)),
        ("({ ...ctx }).cwd", vec![("model", json!({}))], json!("/work")),
    ];
    for (expression, answers, expected) in table {
        assert_eq!(seen(expression, &answers).await, expected, "{expression}");
    }
    for (expression, name) in [("ctx.abort()", "abort"), ("ctx.shutdown()", "shutdown")] {
        let loaded = probing(expression, &[]).await;
        loaded.probe().await;
        assert_eq!(loaded.room.asked(name).len(), 1, "{expression}");
    }
}

#[tokio::test]
async fn the_session_can_be_read() {
    let entries = json!([
        { "type": "message", "id": "a", "parentId": null, "timestamp": "1" },
        { "type": "message", "id": "b", "parentId": "a", "timestamp": "2" },
        { "type": "label", "id": "c", "parentId": "b", "timestamp": "3", "targetId": "a", "label": "start" },
        { "type": "message", "id": "d", "parentId": "lost", "timestamp": "4" },
    ]);
    let session = json!({
        "cwd": "/work", "sessionDir": "/s", "sessionId": "id", "leafId": "b", "name": "n",
    });
    let answers = [
        ("session", session),
        ("session_file", json!("/s/session.jsonl")),
        ("session_entries", entries.clone()),
        ("session_branch", json!([entries[0], entries[1]])),
        ("session_entry", entries[1].clone()),
        ("session_label", json!("start")),
        (
            "session_context",
            json!({ "messages": [], "thinkingLevel": "off", "model": null }),
        ),
    ];
    let table = [
        ("s.getCwd()", json!("/work")),
        ("s.getSessionDir()", json!("/s")),
        ("s.getSessionId()", json!("id")),
        ("s.getSessionFile()", json!("/s/session.jsonl")),
        ("s.getChildren('a').map((e) => e.id)", json!(["b"])),
        ("s.getChildren(null).map((e) => e.id)", json!(["a"])),
        ("s.getSessionName()", json!("n")),
        ("s.getLeafId()", json!("b")),
        ("s.getLeafEntry().id", json!("b")),
        ("s.getEntry('b').parentId", json!("a")),
        ("s.getLabel('a')", json!("start")),
        ("s.getBranch().map((entry: any) => entry.id)", json!(["a", "b"])),
        ("s.getBranch('b').length", json!(2)),
        ("s.getHeader()", json!(null)),
        ("s.getEntries().length", json!(4)),
        ("s.getEntryCount()", json!(4)),
        ("s.getTree().map((node: any) => node.entry.id)", json!(["a", "d"])),
        ("s.getTree()[0].label", json!("start")),
        (
            "s.getTree()[0].children[0].children[0].entry.type",
            json!("label"),
        ),
        ("s.buildSessionContext().thinkingLevel", json!("off")),
    ];
    for (expression, expected) in table {
        let expression = format!("((s: any) => {expression})(ctx.sessionManager)");
        assert_eq!(seen(&expression, &answers).await, expected, "{expression}");
    }
}

#[tokio::test]
async fn models_are_shown_and_keys_are_kept() {
    let model = json!({ "provider": "p", "id": "m" });
    let table = [
        ("r.getAll().length", json!(1)),
        ("r.getAvailable().length", json!(1)),
        ("r.find('p', 'm').id", json!("m")),
        ("r.find('p', 'x') === undefined", json!(true)),
        ("r.hasConfiguredAuth(r.find('p', 'm'))", json!(true)),
        ("r.hasConfiguredAuth({ provider: 'p', id: 'x' })", json!(false)),
        ("r.getProviderAuthStatus('q').configured", json!(false)),
        ("r.getProviderDisplayName('p')", json!("p")),
        ("r.isUsingOAuth()", json!(false)),
        ("r.getApiKey({ provider: 'p', id: 'm' })", json!("kept-by-becket")),
        (
            "r.getApiKeyForProvider('q').then((key: any) => key === undefined)",
            json!(true),
        ),
        (
            "r.getApiKeyAndHeaders({ provider: 'p', id: 'm' })",
            json!({ "ok": true, "apiKey": "kept-by-becket", "headers": {} }),
        ),
        (
            "r.getApiKeyAndHeaders({ provider: 'q', id: 'm' })",
            json!({ "ok": false, "error": "No API key found for \"q\"" }),
        ),
        (
            "r.complete({ provider: 'p', id: 'm' }, { messages: [] }, { maxTokens: 5 })",
            json!({ "role": "assistant" }),
        ),
    ];
    for (expression, expected) in table {
        let expression = format!("((r: any) => {expression})(ctx.modelRegistry)");
        let is_known = !expression.contains("'x'") && !expression.contains("'q'");
        let answers = [
            ("models", json!([model])),
            ("find_model", if is_known { model.clone() } else { Value::Null }),
            ("model_complete", json!({ "role": "assistant" })),
        ];
        let expression = format!("await {expression}");
        assert_eq!(seen(&expression, &answers).await, expected, "{expression}");
    }
}

#[tokio::test]
async fn compaction_tells_how_it_ended() {
    let body = r#"const heard: string[] = [];
        pi.on("go", (_: any, ctx: any) => ctx.compact({
            customInstructions: "short",
            onComplete: (result: any) => heard.push(result.summary),
            onError: (error: any) => heard.push(error.message),
        }));
        pi.on("probe", () => heard);"#;
    let loaded = factory(body, &[]).await;
    loaded.room.answer("compact", json!({ "summary": "all of it" }));
    loaded.fire("go", Vec::new()).await.expect("an answer");
    loaded.room.refuse("compact", "Nothing to compact");
    loaded.fire("go", Vec::new()).await.expect("an answer");
    for _ in 0..2000 {
        if loaded.probe().await == json!(["all of it", "Nothing to compact"]) {
            assert_eq!(
                loaded.room.asked("compact")[0],
                json!({ "customInstructions": "short" })
            );
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{:?}", loaded.probe().await);
}

#[tokio::test]
// tidy: a table
async fn nobody_answers_dialogs_without_a_person() {
    let table = [
        (
            "(await ctx.ui.select('t', ['a', 'b'])) === undefined",
            json!(true),
        ),
        ("await ctx.ui.confirm('t', 'm')", json!(false)),
        ("(await ctx.ui.input('t', 'p')) === undefined", json!(true)),
        ("(await ctx.ui.editor('t')) === undefined", json!(true)),
        (
            "(await ctx.ui.custom(() => { throw new Error('called'); })) === undefined",
            json!(true),
        ),
        ("typeof ctx.ui.onTerminalInput(() => {})", json!("function")),
        ("ctx.ui.getEditorText()", json!("")),
        (
            "ctx.ui.setTheme('dark')",
            json!({ "success": false, "error": "UI not available" }),
        ),
        ("ctx.ui.getAllThemes()", json!([{ "name": "dark" }])),
        ("ctx.ui.getTheme('unknown') === undefined", json!(true)),
        ("ctx.ui.getToolsExpanded()", json!(false)),
        (
            "ctx.ui.theme.fg('accent', ctx.ui.theme.bold('words'))",
            json!("words"),
        ),
        ("ctx.ui.theme.getFgAnsi('accent')", json!("")),
        ("ctx.ui.theme.getThinkingBorderColor('high')('x')", json!("x")),
    ];
    for (expression, expected) in table {
        assert_eq!(
            seen(
                expression,
                &[
                    ("dialog", json!(null)),
                    ("themes", json!([{ "name": "dark" }])),
                    (
                        "set_theme",
                        json!({ "success": false, "error": "UI not available" })
                    ),
                ]
            )
            .await,
            expected,
            "{expression}"
        );
    }
    let silent = [
        "setWidget('w', ['line'])",
        "setTitle('t')",
        "setWorkingMessage('w')",
        "setFooter(undefined)",
        "setHeader(undefined)",
        "setEditorText('x')",
        "pasteToEditor('x')",
        "setEditorComponent(undefined)",
        "addAutocompleteProvider((x: any) => x)",
        "setToolsExpanded(true)",
        "setHiddenThinkingLabel('x')",
        "setWorkingVisible(false)",
        "setWorkingIndicator()",
        "getTheme('dark')",
        "getEditorComponent()",
    ];
    for call in silent {
        assert_eq!(
            seen(&format!("ctx.ui.{call} === undefined"), &[]).await,
            json!(true),
            "{call}"
        );
    }
}

#[tokio::test]
async fn dialogs_and_words_reach_the_program() {
    let answers = [("dialog", json!("b"))];
    let loaded = probing(
        "[
            await ctx.ui.select('t', ['a', 'b'], { timeout: 9 }), await ctx.ui.confirm('t', 'm'),
            ctx.ui.notify('n', 'loud'), ctx.ui.setStatus('k'), ctx.ui.setWidget('w', ['1', 2]),
            ctx.ui.setWidget('w', () => 'a component'), ctx.ui.setWidget('w', undefined, { placement: 'belowEditor' }),
            ctx.ui.setTitle('t'), ctx.ui.setEditorText('e'), ctx.ui.pasteToEditor('p'),
            ctx.ui.setWorkingMessage('w'), ctx.ui.setWorkingVisible(0), ctx.ui.setHiddenThinkingLabel(),
            ctx.ui.setWorkingIndicator({ frames: ['a'], intervalMs: 5 }), ctx.ui.setToolsExpanded(true),
        ]",
        &answers,
    )
    .await;
    let answers = loaded.probe().await;
    assert_eq!(
        answers.as_array().expect("a list")[..3],
        [json!("b"), json!(false), Value::Null]
    );
    let select =
        json!({ "id": 1, "dialog": { "kind": "select", "title": "t", "options": ["a", "b"] }, "timeout": 9 });
    assert_eq!(loaded.room.asked("dialog")[0], select);
    assert_eq!(
        loaded.room.asked("show"),
        [
            json!({ "notify": { "message": "n", "level": "info" } }),
            json!({ "status": { "key": "k" } }),
            json!({ "widget": { "key": "w", "lines": ["1", "2"] } }),
            json!({ "widget": { "key": "w", "placement": "belowEditor" } }),
            json!({ "title": { "title": "t" } }),
            json!({ "editor_text": { "text": "e" } }),
            json!({ "paste": { "text": "p" } }),
            json!({ "working_message": { "text": "w" } }),
            json!({ "working_visible": { "visible": false } }),
            json!({ "hidden_thinking_label": {} }),
            json!({ "working_indicator": { "frames": ["a"], "intervalMs": 5 } }),
            json!({ "tools_expanded": { "expanded": true } }),
        ]
    );
    loaded.room.answer("dialog", json!(true));
    assert_eq!(loaded.probe().await[1], json!(true));
}

#[tokio::test]
async fn a_signal_closes_a_dialog() {
    let loaded = factory(
        r#"pi.on("probe", async (_: any, ctx: any) => {
            const controller = new AbortController();
            setTimeout(() => controller.abort(), 1);
            const { signal } = controller;
            const said = await ctx.ui.input("t", undefined, { signal });
            return [said === undefined, await ctx.ui.confirm("t", "m", { signal })];
        });"#,
        &[],
    )
    .await;
    assert_eq!(loaded.probe().await, json!([true, false]));
    assert_eq!(
        (loaded.room.asked("dialog").len(), loaded.room.asked("cancel")),
        (1, vec![json!({ "id": 1 })])
    );
}
