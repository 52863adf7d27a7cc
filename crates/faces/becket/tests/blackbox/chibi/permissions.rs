//! Hooks that are asked for permission: what they are told, and what each answer means.

use serde_json::{Value, json};
use testkit::{ModelServer, Response};

use super::{Chibi, Generation, Newer, Older, Told, calls, runs, says};

/// Answers that refuse, and what of them the model or the user gets to see.
const NO: &[(Generation, &str, &str)] = &[
    (Newer, r#"{"denied":true,"reason":"not today"}"#, "not today"),
    (Older, r#"{"denied":true,"reason":"not today"}"#, "not today"),
    (Newer, r#"{"denied":true}"#, "my-plugin"),
    (Newer, r#"{"approved":false,"reason":"not today"}"#, "not today"),
    (Older, r#"{"approved":false}"#, "my-plugin"),
];

/// Answers that do not refuse, and that do not agree either.
const NOTHING: &[&str] = &[
    "",
    "{}",
    r#"{"denied":false}"#,
    r#"{"approved":true}"#,
    r#"{"reason":"x"}"#,
];

/// A room with a plugin on one hook that always answers the same.
fn with_answer(generation: Generation, hook: &str, answer: &str) -> Chibi {
    let chibi = Chibi::new();
    chibi.plugin(generation, "my-plugin", &[hook], &format!("echo '{answer}'"));
    chibi
}

/// Whether the refusal reached the model or the user, with those words.
#[track_caller]
fn refused_with(told: &Told, words: &str) {
    let heard = told.results().join("\n") + &told.run.stderr;
    assert!(heard.contains(words), "no {words:?} in {told:#?}");
    assert_eq!(told.run.stdout, "went on\n");
}

#[test]
fn pre_shell_exec_refuses_or_leaves_it_to_the_person() {
    let turns = [runs("touch ran"), says("went on")];
    for (generation, answer, words) in NO {
        let chibi = with_answer(*generation, "pre_shell_exec", answer);
        refused_with(&chibi.ask(&["--yes", "go"], &turns).went_well(), words);
        assert!(!chibi.room.has("ran"), "{answer}");
        let data = chibi.only("pre_shell_exec");
        let name = if *generation == Older {
            "run_command"
        } else {
            "shell_exec"
        };
        assert_eq!(
            (&data["tool_name"], &data["command"]),
            (&json!(name), &json!("touch ran"))
        );
    }
    for answer in NOTHING {
        let chibi = with_answer(Newer, "pre_shell_exec", answer);
        chibi.ask(&["go"], &turns).went_well();
        assert!(!chibi.room.has("ran"), "{answer} is not the user's yes");
        chibi.ask(&["--yes", "go"], &turns).went_well();
        assert!(chibi.room.has("ran"), "{answer} is no refusal");
    }
}

#[test]
fn pre_file_write_refuses_or_leaves_it_to_the_person() {
    let turns = [
        calls("write", json!({"path": "sub/../ran", "content": "x"})),
        says("went on"),
    ];
    for (generation, answer, words) in NO {
        let chibi = with_answer(*generation, "pre_file_write", answer);
        refused_with(&chibi.ask(&["--yes", "go"], &turns).went_well(), words);
        assert!(!chibi.room.has("ran"), "{answer}");
        let data = chibi.only("pre_file_write");
        assert_eq!(data["tool_name"], "write_file");
        assert_eq!(
            data["path"],
            json!(chibi.room.work().join("ran")),
            "absolute and resolved"
        );
        assert_eq!(data["content"], "x");
    }
    for answer in NOTHING {
        let chibi = with_answer(Newer, "pre_file_write", answer);
        chibi.ask(&["go"], &turns).went_well();
        assert!(!chibi.room.has("ran"), "{answer} is not the user's yes");
        chibi.ask(&["--yes", "go"], &turns).went_well();
        assert_eq!(chibi.room.read("ran"), "x", "{answer} is no refusal");
    }
}

#[test]
fn pre_file_write_of_an_edit_has_no_content() {
    let chibi = with_answer(Newer, "pre_file_write", r#"{"denied":true,"reason":"not today"}"#);
    chibi.room.write("note", "one two");
    let edit = json!({"path": "note", "operation": "replace_string", "find": "two", "replace": "three"});
    let told = chibi
        .ask(
            &["--yes", "--tools", "chibi", "go"],
            &[calls("file_edit", edit), says("went on")],
        )
        .went_well();
    refused_with(&told, "not today");
    assert_eq!(chibi.room.read("note"), "one two");
    let data = chibi.only("pre_file_write");
    assert_eq!(data["tool_name"], "file_edit");
    assert_eq!(data.get("content"), Some(&Value::Null), "{data:#}");
}

#[test]
fn pre_file_read_judges_what_lies_outside_and_approval_really_allows() {
    let outside = |chibi: &Chibi| {
        let file = chibi.room.write("../outside/secret", "the secret word");
        let file = file.canonicalize().expect("the file is there");
        [calls("read", json!({"path": file})), says("went on")]
    };
    for (generation, answer, words) in NO {
        let chibi = with_answer(*generation, "pre_file_read", answer);
        let told = chibi.ask(&["--yes", "go"], &outside(&chibi)).went_well();
        refused_with(&told, words);
        assert!(
            !told.requests[1].to_string().contains("the secret word"),
            "{answer}"
        );
        let data = chibi.only("pre_file_read");
        let path = data["path"].as_str().expect("a path");
        assert!(
            path.starts_with('/') && path.ends_with("/outside/secret"),
            "{data:#}"
        );
        let name = if *generation == Older {
            "read_file"
        } else {
            "file_head"
        };
        assert_eq!(data["tool_name"], name);
    }
    for answer in NOTHING {
        let chibi = with_answer(Newer, "pre_file_read", answer);
        let told = chibi.ask(&["go"], &outside(&chibi)).went_well();
        assert!(
            !told.requests[1].to_string().contains("the secret word"),
            "{answer}"
        );
        let told = chibi.ask(&["--yes", "go"], &outside(&chibi)).went_well();
        assert!(
            told.requests[1].to_string().contains("the secret word"),
            "{answer}"
        );
    }
}

#[test]
fn pre_file_read_is_not_asked_about_the_working_directory() {
    let chibi = with_answer(Newer, "pre_file_read", r#"{"denied":true}"#);
    chibi.room.write("note", "the text");
    let told = chibi
        .ask(
            &["go"],
            &[calls("read", json!({"path": "note"})), says("went on")],
        )
        .went_well();
    assert!(told.results()[0].contains("the text"), "{told:#?}");
    assert!(chibi.seen().is_empty());
    chibi
        .ask(&["go"], &[calls("list", json!({"path": "/"})), says("went on")])
        .went_well();
    assert_eq!(chibi.only("pre_file_read")["path"], "/");
}

#[test]
fn pre_file_read_sees_where_a_link_leads() {
    let chibi = with_answer(Newer, "pre_file_read", r#"{"denied":true,"reason":"not today"}"#);
    chibi.room.write("../outside/secret", "the secret word");
    std::os::unix::fs::symlink("../outside", chibi.room.work().join("link")).expect("writable");
    let told = chibi
        .ask(
            &["--yes", "go"],
            &[calls("read", json!({"path": "link/secret"})), says("went on")],
        )
        .went_well();
    refused_with(&told, "not today");
    let path = chibi.only("pre_file_read")["path"].clone();
    assert!(
        path.as_str()
            .is_some_and(|path| path.ends_with("/outside/secret")),
        "{path}"
    );
}

#[test]
fn pre_fetch_url_refuses_or_leaves_it_to_the_person() {
    let page = || ModelServer::start([Response::new(200, "text/plain", "the page")]);
    for (generation, answer, words) in NO {
        let (chibi, web) = (with_answer(*generation, "pre_fetch_url", answer), page());
        let url = format!("{}/page", web.url());
        let turns = [calls("fetch", json!({"url": url})), says("went on")];
        refused_with(&chibi.ask(&["--yes", "go"], &turns).went_well(), words);
        assert!(web.requests().is_empty(), "{answer}");
        let data = chibi.only("pre_fetch_url");
        assert_eq!(data["tool_name"], "fetch_url");
        assert_eq!(data["url"], json!(url));
        assert_eq!(data["safety"], "sensitive");
        assert!(
            data["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
            "{data:#}"
        );
    }
    for answer in NOTHING {
        let (chibi, web) = (with_answer(Newer, "pre_fetch_url", answer), page());
        let turns = [
            calls("fetch", json!({"url": format!("{}/page", web.url())})),
            says("went on"),
        ];
        chibi.ask(&["go"], &turns).went_well();
        assert!(web.requests().is_empty(), "{answer} is not the user's yes");
        let told = chibi.ask(&["--yes", "go"], &turns).went_well();
        assert!(
            told.requests[1].to_string().contains("the page"),
            "{answer} is no refusal"
        );
    }
}

#[test]
fn one_refusal_is_enough_and_the_rest_is_not_asked() {
    let chibi = with_answer(Newer, "pre_shell_exec", "{}");
    chibi.plugin(
        Older,
        "a",
        &["pre_shell_exec"],
        "echo '{\"denied\":true,\"reason\":\"not today\"}'",
    );
    let told = chibi
        .ask(&["--yes", "go"], &[runs("touch ran"), says("went on")])
        .went_well();
    refused_with(&told, "not today");
    assert!(!chibi.room.has("ran"));
}

#[test]
fn a_call_from_the_shell_is_judged_like_the_models() {
    let calls: [(&str, &str, &str); 2] = [
        ("pre_shell_exec", "shell", r#"{"command":"touch ran"}"#),
        ("pre_file_write", "write", r#"{"path":"ran","content":"x"}"#),
    ];
    for (hook, tool, arguments) in calls {
        let chibi = with_answer(Newer, hook, r#"{"denied":true,"reason":"not today"}"#);
        chibi
            .room
            .run(["--yes", "tool", tool, arguments])
            .ended_with(1)
            .complained("not today");
        assert!(!chibi.room.has("ran"), "{hook}");
        assert_eq!(chibi.order(), [hook]);
    }
}
