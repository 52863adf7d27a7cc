//! Redirects of a fetch, as guards of all dialects see them: a guard that knows an address only as an argument of a
//! call is asked about the address that a server sends the fetch to, too.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Response, Room};

use crate::hook_ends::{CLAUDE_CODE, CODEX, COPILOT, CURSOR, GEMINI, System, with_hook};

const SYSTEMS: [&System; 5] = [&CLAUDE_CODE, &CODEX, &GEMINI, &CURSOR, &COPILOT];

/// A server whose first page leads to another one of its own.
fn server() -> ModelServer {
    ModelServer::start([
        Response::new(302, "text/plain", "").header("Location", "/secret"),
        Response::new(200, "text/plain", "the end"),
    ])
}

/// A command that notes what it is told, and does this if the call is about the page that the first one leads to.
fn when_redirected(then: &str) -> String {
    format!("input=$(cat); echo x >> asked; case $input in */secret*) {then};; esac")
}

/// Fetches the first page, with everything approved that the user is asked about.
fn fetch(room: &Room, server: &ModelServer, more: &[&str]) -> Finished {
    let more: Vec<&str> = more.iter().copied().chain(["--yes"]).collect();
    fetch_unasked(room, server, &more)
}

/// Fetches the first page, with nobody to ask.
fn fetch_unasked(room: &Room, server: &ModelServer, more: &[&str]) -> Finished {
    let call = json!({"name": "fetch", "arguments": {"url": format!("{}/first", server.url())}});
    let model = room.model(&json!([{"tool_calls": [call]}, {"text": "went on"}]));
    let arguments = ["--trust", "--json", "--model", &model, "go"];
    room.run(arguments.iter().chain(more))
}

/// What the model was told about the fetch.
fn told(run: &Finished) -> String {
    let end = &run.events_named("tool_end")[0];
    end["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// How often the hook was asked.
fn asked(room: &Room) -> usize {
    room.read("asked").lines().count()
}

#[test]
fn a_guard_that_refuses_an_address_refuses_a_redirect_to_it() {
    for system in SYSTEMS {
        for (then, words) in [
            ("echo 'not there' >&2; exit 2", "not there"),
            ("kill -9 $$", "that is refused"),
            ("sleep 60", "that is refused"),
        ] {
            let (room, server) = (
                with_hook(system, system.guard_of_calls(), &when_redirected(then)),
                server(),
            );
            let text = told(&fetch(&room, &server, &[]));
            assert!(
                text.contains(words) && text.contains("/secret"),
                "{}: {text}",
                system.name
            );
            assert_eq!(server.requests().len(), 1, "{}: {then}", system.name);
            assert_eq!(asked(&room), 2, "{}: {then}", system.name);
        }
    }
}

#[test]
fn a_redirect_that_no_guard_minds_is_followed() {
    for system in SYSTEMS {
        let (room, server) = (
            with_hook(system, system.guard_of_calls(), &when_redirected("exit 0")),
            server(),
        );
        let text = told(&fetch(&room, &server, &[]));
        assert!(text.ends_with("the end"), "{}: {text}", system.name);
        assert_eq!((server.requests().len(), asked(&room)), (2, 2), "{}", system.name);
    }
}

/// The answers of Claude Code's hooks, for what the gate makes of each.
#[test]
fn a_redirect_that_a_hook_asks_about_or_changes_is_a_call_of_its_own() {
    let specific = |mut members: Value| {
        members["hookEventName"] = "PreToolUse".into();
        when_redirected(&format!("echo '{}'", json!({"hookSpecificOutput": members})))
    };
    let elsewhere = json!({"updatedInput": {"url": "http://127.0.0.1:9/other", "prompt": ""}});
    let insists = json!({"permissionDecision": "defer", "permissionDecisionReason": "is it wanted"});
    let told_more = json!({"additionalContext": "lighthouse"});
    let halts = when_redirected("echo '{\"continue\": false, \"stopReason\": \"enough\"}'");
    for (command, words, requests) in [
        (specific(elsewhere), "a hook changes the address", 1),
        (specific(insists), "is it wanted", 1),
        (specific(told_more), "the end", 2),
        (halts, "enough", 1),
    ] {
        let (room, server) = (with_hook(&CLAUDE_CODE, "PreToolUse", &command), server());
        let run = fetch(&room, &server, &[]);
        let text = told(&run);
        assert!(text.contains(words), "{command}: {text}");
        assert_eq!(server.requests().len(), requests, "{command}");
        if words == "the end" {
            let second = run.events_named("pre_request")[1]["body"].to_string();
            assert!(second.contains("lighthouse"), "{second}");
        }
    }
}

/// A hook that allows every fetch means the ones that the model asks for.
#[test]
fn what_allows_a_call_allows_no_redirect_to_this_machine() {
    let allow = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow"});
    let command = format!("echo x >> asked; echo '{}'", json!({"hookSpecificOutput": allow}));
    let (room, server) = (with_hook(&CLAUDE_CODE, "PreToolUse", &command), server());
    let text = told(&fetch_unasked(&room, &server, &[]));
    assert!(text.contains("is a loopback address"), "{text}");
    assert_eq!((server.requests().len(), asked(&room)), (1, 2));
}

/// Hooks of becket and docker-agent at the same moment.
#[test]
fn guards_of_other_kinds_see_redirects_as_well() {
    let command = when_redirected("echo 'not there' >&2; exit 2");
    let own = format!("[[hook]]\nevent = \"pre_tool\"\ncommand = {}\n", json!(command));
    let room = crate::room();
    let own = room.hooks(&own);
    for more in [
        ["--hooks", own.as_str()],
        ["--hook-pre-tool-use", command.as_str()],
    ] {
        room.write("asked", "");
        let server = server();
        let text = told(&fetch(&room, &server, &more));
        assert!(text.contains("not there"), "{more:?}: {text}");
        assert_eq!((server.requests().len(), asked(&room)), (1, 2), "{more:?}");
    }
}
