//! `pre_fetch_url` beside a policy, at redirects, and for tools that name no address.

use serde_json::{Value, json};
use testkit::{ModelServer, Response};

use super::{Chibi, Generation, Newer, Older, Told, calls, says};

const DENIED: &str = r#"{"denied":true,"reason":"not today"}"#;

fn page() -> ModelServer {
    ModelServer::start([Response::new(200, "text/plain", "the page")])
}

fn guarded(generation: Generation, answer: &str) -> Chibi {
    let chibi = Chibi::new();
    chibi.plugin(
        generation,
        "my-plugin",
        &["pre_fetch_url"],
        &format!("echo '{answer}'"),
    );
    chibi
}

/// The newest result of a tool; the context has those of earlier runs as well.
fn last(told: &Told) -> String {
    told.results().pop().expect("a tool was called")
}

/// A plugin with a tool that the user knows to use the network.
fn searcher(chibi: &Chibi) {
    let schema = json!({
        "name": "web_search",
        "description": "Looks something up.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "url": {"type": "string"}}},
        "summary_params": ["query"],
    });
    let text = format!(
        "#!/bin/bash\nif [[ $1 == --schema ]]; then echo '{schema}'; exit; fi\ncat > /dev/null\necho found\n"
    );
    chibi.install("searcher", &text);
    chibi.room.config("[tools]\nnetwork = [\"web_search\"]\n");
}

#[test]
fn a_policy_allows_and_pre_fetch_url_may_still_deny() {
    for generation in [Newer, Older] {
        for (answer, requests) in [(DENIED, 0), ("{}", 1)] {
            let (chibi, web) = (guarded(generation, answer), page());
            chibi.room.config("[url_policy]\nallow = [\"preset:loopback\"]\n");
            let turns = [calls("fetch", json!({"url": web.url()})), says("went on")];
            let told = chibi.ask(&["go"], &turns).went_well();
            assert_eq!(web.requests().len(), requests, "{generation:?} {told:#?}");
            let data = chibi.only("pre_fetch_url");
            assert_eq!(
                data,
                json!({
                    "tool_name": "fetch_url",
                    "url": format!("{}/", web.url()),
                    "safety": "sensitive",
                    "reason": "loopback address",
                }),
                "{generation:?}"
            );
        }
    }
}

#[test]
fn a_policy_that_denies_asks_no_plugin() {
    let (chibi, web) = (guarded(Newer, "{}"), page());
    chibi.room.config("[url_policy]\ndeny = [\"preset:loopback\"]\n");
    let turns = [calls("fetch", json!({"url": web.url()})), says("went on")];
    let told = chibi.ask(&["--yes", "go"], &turns).went_well();
    assert!(told.results()[0].contains("the URL policy denies"), "{told:#?}");
    assert!(chibi.seen().is_empty() && web.requests().is_empty());
}

#[test]
fn a_redirect_is_a_sensitive_address_of_its_own() {
    for generation in [Newer, Older] {
        let chibi = guarded(generation, "{}");
        let web = ModelServer::start([
            Response::new(302, "text/plain", "").header("Location", "/next"),
            Response::new(200, "text/plain", "the page"),
        ]);
        let turns = [calls("fetch", json!({"url": web.url()})), says("went on")];
        let told = chibi.ask(&["--yes", "go"], &turns).went_well();
        assert!(told.results()[0].contains("the page"), "{told:#?}");
        let urls: Vec<Value> = chibi
            .seen()
            .into_iter()
            .map(|seen| seen.data["url"].clone())
            .collect();
        assert_eq!(
            urls,
            [
                json!(format!("{}/", web.url())),
                json!(format!("{}/next", web.url()))
            ]
        );
    }
}

#[test]
fn a_network_tool_without_an_address_is_told_as_no_url() {
    for generation in [Newer, Older] {
        for (answer, found) in [(DENIED, false), ("{}", true)] {
            let chibi = guarded(generation, answer);
            searcher(&chibi);
            let turns = [
                calls("web_search", json!({"query": "weather in Oslo"})),
                says("went on"),
            ];
            let told = chibi.ask(&["go"], &turns).went_well();
            assert_eq!(told.results()[0].contains("found"), found, "{told:#?}");
            assert_eq!(
                chibi.only("pre_fetch_url"),
                json!({"tool_name": "web_search", "safety": "no_url", "summary": "weather in Oslo"})
            );
        }
    }
}

#[test]
fn a_network_tool_with_an_address_is_judged_like_a_fetch() {
    let chibi = guarded(Newer, "{}");
    searcher(&chibi);
    let call = |url: &str| [calls("web_search", json!({"url": url})), says("went on")];
    let told = chibi.ask(&["go"], &call("http://127.0.0.1:9/")).went_well();
    assert!(last(&told).contains("is a loopback address"), "{told:#?}");
    assert_eq!(chibi.only("pre_fetch_url")["safety"], "sensitive");
    let told = chibi
        .ask(&["--yes", "go"], &call("http://127.0.0.1:9/"))
        .went_well();
    assert!(last(&told).contains("found"), "{told:#?}");
    let told = chibi
        .ask(&["--yes", "go"], &call("file:///etc/passwd"))
        .went_well();
    assert!(last(&told).contains("only http and https"), "{told:#?}");
    for (url, uri, words) in [
        (
            json!("http://8.8.8.8/"),
            json!("http://127.0.0.1:9/"),
            "two different addresses",
        ),
        (json!(""), json!("http://127.0.0.1:9/"), "is a loopback address"),
        (json!(null), json!("http://127.0.0.1:9/"), "is a loopback address"),
    ] {
        let turns = [
            calls("web_search", json!({"url": url, "uri": uri})),
            says("went on"),
        ];
        let told = chibi.ask(&["go"], &turns).went_well();
        assert!(last(&told).contains(words), "{told:#?}");
    }
    let told = chibi.ask(&["go"], &call("http://8.8.8.8/")).went_well();
    assert!(
        last(&told).contains("found"),
        "an installed tool needs no yes: {told:#?}"
    );
}

#[test]
fn a_network_tool_that_does_not_exist_is_remarked_on() {
    let chibi = Chibi::new();
    chibi.room.config("[tools]\nnetwork = [\"web_serch\"]\n");
    let told = chibi.ask(&["go"], &[says("hello")]).went_well();
    assert!(
        told.run.stderr.contains("`web_serch`, which no plugin has"),
        "{told:#?}"
    );
}
