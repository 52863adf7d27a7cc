//! Tests of providers of models that extensions bring.

use becket_pi::host_call::HostCall;
use becket_pi::services::{AbortStream, ProviderStream};
use serde_json::{Map, Value, json};

use crate::room::{Loaded, factory, try_load};

const MODEL: &str = r#"{
    id: "m", name: "M", reasoning: false, input: ["text"], contextWindow: 1000, maxTokens: 100, compat: { x: 1 },
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
}"#;

fn stream(loaded: &Loaded) -> impl Future<Output = Value> {
    let service = ProviderStream {
        stream: 7,
        provider: "mine".into(),
        model: json!({ "id": "m", "provider": "mine", "api": "mine-api" }),
        context: json!({ "systemPrompt": "be kind", "messages": [] }),
        options: Map::from_iter([("apiKey".into(), json!("k"))]),
    };
    async move { loaded.invoke(service).await.message }
}

async fn streaming(body: &str) -> Loaded {
    let config = format!(
        "{{ baseUrl: 'http://x', apiKey: 'K', api: 'mine-api', models: [{MODEL}], streamSimple: {body} }}"
    );
    factory(
        &format!("pi.registerProvider('mine', {config});"),
        &[("provider_payload", json!({ "changed": true }))],
    )
    .await
}

#[tokio::test]
async fn a_provider_is_described() {
    let body = format!(
        "pi.registerProvider('mine', {{
            baseUrl: 'http://x', apiKey: 'MY_KEY', api: 'openai-completions', headers: {{ a: 'b' }}, models: [{MODEL}],
        }});
        pi.registerProvider('mine', {{ baseUrl: 'http://y' }});
        pi.registerProvider('known', {{ baseUrl: 'http://proxy', oauth: {{ name: 'x' }} }});"
    );
    let loaded = factory(&body, &[]).await;
    let asked = loaded.room.asked("register_provider");
    let read = |at: usize| match HostCall::read(&json!({ "register_provider": asked[at] }).to_string()) {
        Ok(HostCall::RegisterProvider(provider)) => provider,
        other => panic!("{other:?}"),
    };
    let (first, second, known) = (read(0), read(1), read(2));
    let model = &first.models.as_ref().expect("models")[0];
    assert_eq!(
        (model.id.as_str(), model.context_window, &model.other["compat"]),
        ("m", 1000, &json!({ "x": 1 }))
    );
    assert_eq!((first.api_key.as_deref(), first.streams), (Some("MY_KEY"), false));
    assert_eq!(
        (
            second.base_url.as_deref(),
            second.models.map(|models| models.len())
        ),
        (Some("http://y"), Some(1))
    );
    assert_eq!(
        (known.base_url.as_deref(), known.models),
        (Some("http://proxy"), None)
    );
    let reports = loaded.room.asked("report");
    assert_eq!(
        reports[0]["error"],
        "not supported by becket yet: oauth of the provider known"
    );
    for (config, words) in [
        (
            "{ streamSimple() {} }",
            "\"api\" is required when registering streamSimple.",
        ),
        (
            "{ models: [{ id: 'm' }] }",
            "\"baseUrl\" is required when defining models.",
        ),
        (
            "{ models: [{ id: 'm' }], baseUrl: 'x' }",
            "\"apiKey\" or \"oauth\" is required when defining models.",
        ),
        (
            "{ models: [{ id: 'm' }], baseUrl: 'x', apiKey: 'k' }",
            "model m: no \"api\" specified.",
        ),
    ] {
        let source = format!("export default (pi: any) => {{ pi.registerProvider('p', {config}); }};");
        let failure = try_load(&source, &[]).await.err().expect(config);
        assert!(failure.detail.contains(words), "{config}: {}", failure.detail);
    }
}

#[tokio::test]
async fn a_stream_is_told_part_by_part() {
    let loaded = streaming(
        r#"async function* (model: any, context: any, options: any) {
            const payload = await options.onPayload({ prompt: context.systemPrompt }, model);
            await options.onResponse({ status: 200, headers: { a: "b" } }, model);
            yield { type: "start", partial: {} };
            yield { type: "text_delta", contentIndex: 0, delta: "hel", partial: { content: ["hel"] } };
            yield { type: "text_delta", contentIndex: 0, delta: "lo", partial: { content: ["hello"] } };
            const message = { role: "assistant", payload, key: options.apiKey, model: model.id };
            yield { type: "done", reason: "stop", message };
        }"#,
    )
    .await;
    loaded.room.answer("provider_response", json!(null));
    let message = stream(&loaded).await;
    assert_eq!(
        message,
        json!({ "role": "assistant", "payload": { "changed": true }, "key": "k", "model": "m" })
    );
    let events = loaded.room.asked("provider_event");
    assert_eq!(
        events[1],
        json!({ "stream": 7, "event": { "type": "text_delta", "contentIndex": 0, "delta": "hel" } })
    );
    assert_eq!(events.len(), 3);
    let payload = json!({ "stream": 7, "payload": { "prompt": "be kind" } });
    assert_eq!(loaded.room.asked("provider_payload"), [payload]);
    let response = json!({ "stream": 7, "status": 200, "headers": { "a": "b" } });
    assert_eq!(loaded.room.asked("provider_response"), [response]);
}

#[tokio::test]
async fn a_stream_that_fails_is_a_message_that_says_why() {
    for (body, words) in [
        ("() => { throw new Error('no line'); }", "no line"),
        ("async function* () { throw new Error('cut off'); }", "cut off"),
        (
            "async function* () { yield { type: 'start' }; }",
            "the stream of mine ended without \"done\" or \"error\"",
        ),
        (
            "async function* () { yield { type: 'error', error: { stopReason: 'error', errorMessage: 'said so' } } }",
            "said so",
        ),
    ] {
        let message = stream(&streaming(body).await).await;
        assert_eq!(
            (&message["stopReason"], &message["errorMessage"]),
            (&json!("error"), &json!(words)),
            "{body}"
        );
    }
    let waits = "(_m: any, _c: any, { signal }: any) => ({ async *[Symbol.asyncIterator]() {
        await new Promise((_, no) => signal.addEventListener('abort', () => no(new Error('enough'))));
    } })";
    let loaded = streaming(waits).await;
    let (message, ()) = tokio::join!(stream(&loaded), async {
        tokio::task::yield_now().await;
        loaded.invoke(AbortStream { stream: 7 }).await;
    });
    assert_eq!(
        (&message["stopReason"], &message["errorMessage"]),
        (&json!("aborted"), &json!("enough"))
    );
}
