//! Hooks of messages between contexts, and the goals of flocks in the hooks of the system prompt.

use serde_json::json;

use super::{Chibi, Newer, Older, calls, says};

const HOOKS: [&str; 2] = ["pre_send_message", "post_send_message"];

/// Claims messages to receivers that begin with a prefix, in the way of `answer`.
fn claims(prefix: &str, answer: &str) -> String {
    format!(
        "if [[ $CHIBI_HOOK == pre_send_message && $data == *'\"to\":\"{prefix}'* ]]; then echo '{answer}'; fi"
    )
}

/// Lets the model send one message from the context `alice`, and returns what it was told.
fn send(chibi: &Chibi, to: &str) -> String {
    let arguments = json!({"to": to, "content": "the words", "from": "boss"});
    let turns = [calls("send_message", arguments), says("sent")];
    let told = chibi.ask(&["-C", "alice", "go"], &turns).went_well();
    told.results().pop().expect("the call has a result")
}

#[test]
fn a_plugin_of_either_generation_delivers_and_both_are_told_what_became_of_it() {
    let chibi = Chibi::new();
    let answer = r#"{"delivered":true,"via":"pigeon"}"#;
    chibi.plugin(Newer, "a-newer", &HOOKS, &claims("newer:", answer));
    chibi.plugin(
        Older,
        "b-older",
        &HOOKS,
        &claims("older:", r#"{"delivered":true}"#),
    );
    for (to, result) in [
        ("newer:x", "Message delivered to 'newer:x' via pigeon"),
        ("older:x", "Message delivered to 'older:x' via b-older"),
        (
            "bob",
            "Message delivered to 'bob', where it waits: there is no such context yet",
        ),
    ] {
        chibi.forget();
        assert_eq!(send(&chibi, to), result);
        let mut event = json!({"from": "boss", "to": to, "content": "the words", "context_name": "alice"});
        assert_eq!(chibi.told("a-newer", HOOKS[0]), [event.clone()]);
        // The first claim is the only one: whoever comes after it is not asked any more.
        let asked = if to == "newer:x" {
            vec![]
        } else {
            vec![event.clone()]
        };
        assert_eq!(chibi.told("b-older", HOOKS[0]), asked);
        event["delivery_result"] = json!(result);
        for plugin in ["a-newer", "b-older"] {
            assert_eq!(chibi.told(plugin, HOOKS[1]), [event.clone()]);
        }
    }
    let waiting = chibi
        .room
        .run(["--json", "inbox", "--show"])
        .ended_with(0)
        .events();
    assert_eq!(waiting.len(), 1, "what was claimed is in no inbox: {waiting:?}");
}

#[test]
fn only_delivered_claims_a_message_and_a_failure_is_told_too() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "talker", &HOOKS, r#"echo '{"via":"air"}'"#);
    chibi.plugin(
        Older,
        "refuser",
        &HOOKS,
        r#"echo '{"delivered":false,"via":"air"}'"#,
    );
    chibi.plugin(Newer, "broken", &HOOKS, "exit 3");
    assert!(send(&chibi, "bob").starts_with("Message delivered to 'bob', where it waits"));
    let waiting = chibi
        .room
        .run(["--json", "inbox", "--show"])
        .ended_with(0)
        .events();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    chibi.forget();
    let result = send(&chibi, "no/name");
    assert!(
        result.contains("Message not delivered") && result.contains("cannot be the name of a context"),
        "{result}"
    );
    for plugin in ["talker", "refuser", "broken"] {
        let told = chibi.told(plugin, HOOKS[1]).remove(0);
        let told = told["delivery_result"].as_str().unwrap_or_default().to_owned();
        assert!(told.starts_with("Message not delivered"), "{plugin}: {told}");
    }
}

#[test]
fn the_order_of_a_message_and_its_way_to_the_receiver() {
    let chibi = Chibi::new();
    let hooks = [
        "pre_message",
        "pre_tool",
        "pre_send_message",
        "post_send_message",
        "post_tool",
    ];
    chibi.plugin(Newer, "inspector", &hooks, "");
    send(&chibi, "bob");
    let order = [
        "pre_message",
        "pre_tool",
        "pre_send_message",
        "post_send_message",
        "post_tool",
    ];
    assert_eq!(chibi.order(), order);
    chibi.forget();
    let told = chibi.ask(&["-C", "bob", "hello"], &[says("hi")]).went_well();
    assert_eq!(chibi.only("pre_message")["prompt"], "hello");
    let shown = told.prompt(0);
    assert!(
        shown.contains("From boss (by way of alice):\n> the words\n"),
        "{shown}"
    );
    assert!(shown.ends_with("\n\nhello"), "{shown}");
}

#[test]
fn goals_of_flocks_are_told_to_both_generations() {
    let chibi = Chibi::new();
    let hooks = ["pre_system_prompt", "post_system_prompt"];
    chibi.plugin(Newer, "newer", &hooks, "");
    chibi.plugin(Older, "older", &hooks, "");
    let turns = [
        calls("flock_join", json!({"flock": "crew"})),
        calls("update_goals", json!({"flock": "crew", "content": "Sail on."})),
        calls("update_goals", json!({"content": "My own."})),
        says("joined"),
    ];
    chibi.ask(&["--tools", "chibi", "go"], &turns).went_well();
    chibi.forget();
    let told = chibi.ask(&["hello"], &[says("hi")]).went_well();
    assert!(told.system(0).contains("Sail on."), "{told:#?}");
    for plugin in ["newer", "older"] {
        for hook in hooks {
            let data = chibi.told(plugin, hook).remove(0);
            assert_eq!(
                data["flock_goals"],
                json!([{"flock": "crew", "goals": "Sail on."}])
            );
            assert_eq!(data["goals"], "My own.");
        }
    }
}
