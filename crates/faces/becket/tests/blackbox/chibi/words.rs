//! The words between becket and plugins: the names of calls, what edits write, and refusals in unusual fields.

use serde_json::{Value, json};
use testkit::{ModelServer, Response};

use super::{Chibi, Generation, Newer, Older, calls, runs, says};

/// A file of three lines outside of the working directory.
fn outside(chibi: &Chibi) -> Value {
    let file = chibi.room.write("../outside/poem", "one\ntwo\nthree\n");
    json!(file.canonicalize().expect("the file is there"))
}

/// chibi's tools of which several stand for one of becket's, with arguments, and what of the file they show.
fn readings(path: &Value) -> [(&'static str, Value, &'static str); 5] {
    [
        ("file_head", json!({"path": path, "lines": 2}), "two"),
        ("file_tail", json!({"path": path, "lines": 2}), "three"),
        ("file_lines", json!({"path": path, "start": 2, "end": 3}), "three"),
        (
            "file_grep",
            json!({"path": path, "pattern": "tw", "context_before": 1, "context_after": 0}),
            "two",
        ),
        (
            "grep_files",
            json!({"pattern": "tw", "path": path, "context_lines": 0, "max_results": 5}),
            "two",
        ),
    ]
}

#[test]
fn a_guard_finds_the_name_that_the_model_called() {
    for generation in [Newer, Older] {
        let chibi = Chibi::new();
        let path = outside(&chibi);
        for (name, arguments, word) in readings(&path) {
            let blocks = format!(
                "[[ $data == *'\"tool_name\":\"{name}\"'* ]] && echo '{{\"block\":true,\"message\":\"not on my watch\"}}'; true"
            );
            chibi.plugin(generation, "guard", &["pre_tool"], &blocks);
            chibi.forget();
            let told = chibi
                .ask(
                    &["--yes", "--tools", "chibi", "go"],
                    &[calls(name, arguments.clone()), says("done")],
                )
                .went_well();
            let result = told.results().pop().expect("a result");
            assert_eq!(result, "refused: not on my watch", "{generation:?} {name}");
            assert!(!result.contains(word));
            let data = chibi.only("pre_tool");
            assert_eq!(
                data,
                json!({"tool_name": name, "arguments": arguments}),
                "{generation:?}"
            );
        }
    }
}

#[test]
fn every_hook_of_a_call_shows_the_name_that_the_model_called() {
    let hooks = [
        "pre_tool",
        "pre_file_read",
        "pre_tool_output",
        "pre_cache_output",
        "post_cache_output",
        "post_tool_output",
        "post_tool",
    ];
    for generation in [Newer, Older] {
        let chibi = Chibi::new();
        chibi.room.config("[tools]\noutput_limit = 1\n");
        let path = outside(&chibi);
        chibi.plugin(generation, "watch", &hooks, "");
        chibi.plugin(generation, "batches", &["post_tool_batch"], "");
        for (name, arguments, _) in readings(&path) {
            chibi.forget();
            chibi
                .ask(
                    &["--yes", "--tools", "chibi", "go"],
                    &[calls(name, arguments.clone()), says("done")],
                )
                .went_well();
            for hook in hooks {
                let data = chibi.only(hook);
                assert_eq!(data["tool_name"], name, "{generation:?} {hook}");
                if let Some(shown) = data.get("arguments") {
                    assert_eq!(*shown, arguments, "{generation:?} {hook} {name}");
                }
            }
            assert_eq!(chibi.only("pre_file_read")["path"], path);
            assert_eq!(
                chibi.only("post_tool_batch")["tool_calls"],
                json!([{"name": name, "arguments": arguments}]),
                "{generation:?}"
            );
        }
    }
}

#[test]
fn a_rewrite_is_read_in_the_words_of_the_tool_that_was_called() {
    let table = [
        (
            "file_tail",
            json!({"lines": 3}),
            json!({"lines": 1}),
            ["three", "two"],
        ),
        (
            "file_lines",
            json!({"start": 1, "end": 3}),
            json!({"start": 2, "end": 2}),
            ["two", "three"],
        ),
        (
            "file_head",
            json!({"lines": 3}),
            json!({"lines": 1}),
            ["one", "two"],
        ),
        (
            "file_grep",
            json!({"pattern": "t"}),
            json!({"pattern": "one", "context_after": 0}),
            ["one", "three"],
        ),
    ];
    for generation in [Newer, Older] {
        for (name, mut arguments, mut written, [shown, hidden]) in table.clone() {
            let chibi = Chibi::new();
            let path = outside(&chibi);
            arguments["path"] = path.clone();
            written["path"] = path;
            let answer = json!({"arguments": written});
            chibi.plugin(generation, "a", &["pre_tool"], &format!("echo '{answer}'"));
            let told = chibi
                .ask(
                    &["--yes", "--tools", "chibi", "go"],
                    &[calls(name, arguments), says("done")],
                )
                .went_well();
            let result = &told.results()[0];
            assert!(
                !result.starts_with("refused") && result.contains(shown) && !result.contains(hidden),
                "{generation:?} {name}: {told:#?}"
            );
        }
    }
}

#[test]
fn calls_under_other_names_are_shown_as_before() {
    let chibi = Chibi::new();
    let path = outside(&chibi);
    chibi.plugin(Newer, "newer", &["pre_tool"], "");
    chibi.plugin(Older, "older", &["pre_tool"], "");
    let table = [
        (json!({"path": path}), "file_head", "read_file"),
        (json!({"path": path, "tail": 2}), "file_tail", "file_tail"),
        (
            json!({"path": path, "offset": 2, "limit": 1}),
            "file_lines",
            "file_lines",
        ),
    ];
    for (arguments, newer, older) in table {
        chibi.forget();
        chibi
            .ask(&["--yes", "go"], &[calls("read", arguments), says("done")])
            .went_well();
        assert_eq!(chibi.told("newer", "pre_tool")[0]["tool_name"], newer);
        assert_eq!(chibi.told("older", "pre_tool")[0]["tool_name"], older);
    }
}

#[test]
fn an_older_filter_takes_reading_and_searching_away_under_any_names() {
    let filter = r#"{"exclude":["file_head","file_tail","file_lines","file_grep"]}"#;
    for (profile, gone, left) in [
        (
            "becket",
            vec!["read", "grep"],
            vec!["find", "list", "write", "shell"],
        ),
        (
            "chibi",
            vec!["file_head", "file_tail", "file_lines", "file_grep"],
            vec!["dir_list", "grep_files", "write_file", "shell_exec"],
        ),
    ] {
        let chibi = Chibi::new();
        chibi.plugin(
            Older,
            "tool_filter",
            &["pre_api_tools"],
            &format!("echo '{filter}'"),
        );
        let told = chibi
            .ask(&["--tools", profile, "hello"], &[says("hi")])
            .went_well();
        let offered = told.tools(0);
        for name in gone {
            assert!(!offered.iter().any(|tool| tool == name), "{name} in {offered:?}");
        }
        for name in left {
            assert!(
                offered.iter().any(|tool| tool == name),
                "no {name} in {offered:?}"
            );
        }
    }
}

#[test]
fn an_older_plugin_sees_what_is_offered_under_the_names_of_its_own_tools() {
    let chibi = Chibi::new();
    chibi.plugin(
        Older,
        "older",
        &["pre_api_tools"],
        r#"echo '{"include":["file_tail"]}'"#,
    );
    let told = chibi.ask(&["hello"], &[says("hi")]).went_well();
    assert_eq!(told.tools(0), ["read"], "it stays while one of its names stays");
    let data = chibi.only("pre_api_tools");
    let names: Vec<&str> = data["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect();
    for name in [
        "file_head",
        "file_tail",
        "file_lines",
        "file_grep",
        "run_command",
        "write_file",
    ] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    for name in ["read_file", "grep_files", "shell_exec", "read", "grep", "shell"] {
        assert!(!names.contains(&name), "{name} in {names:?}");
    }
}

/// Edits in the words of a profile, and what plugins are shown of them besides tool and path.
fn edits() -> Vec<(&'static str, &'static str, Value, Value)> {
    vec![
        (
            "chibi",
            "file_edit",
            json!({"operation": "replace_string", "find": "two", "replace": "2"}),
            json!({"operation": "replace_string", "find": "two", "replace": "2", "content": null}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"operation": "replace_lines", "line_start": 1, "line_end": 2, "content": "1"}),
            json!({"operation": "replace_lines", "line_start": 1, "line_end": 2, "content": "1"}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"operation": "insert_after", "line_start": 3, "content": "four"}),
            json!({"operation": "insert_after", "line_start": 3, "content": "four"}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"operation": "delete_lines", "line_start": 1, "line_end": 1}),
            json!({"operation": "delete_lines", "line_start": 1, "line_end": 1, "content": null}),
        ),
        (
            "becket",
            "edit",
            json!({"edits": [{"old_text": "two", "new_text": "2"}]}),
            json!({"operation": "replace_string", "find": "two", "replace": "2", "content": null}),
        ),
        (
            "becket",
            "edit",
            json!({
                "edits": [{"old_text": "one", "new_text": "1"}, {"old_text": "two", "new_text": "2"}],
                "lines": [{"start": 3, "end": 3, "text": "3"}],
            }),
            json!({"operation": "replace_string", "find": "one\ntwo", "replace": "1\n2", "content": "3"}),
        ),
    ]
}

#[test]
fn pre_file_write_shows_what_an_edit_writes() {
    for generation in [Newer, Older] {
        for (profile, tool, mut arguments, expected) in edits() {
            let chibi = Chibi::new();
            chibi.room.write("poem", "one\ntwo\nthree\n");
            chibi.plugin(
                generation,
                "guard",
                &["pre_file_write"],
                "echo '{\"denied\":true}'",
            );
            arguments["path"] = json!("poem");
            chibi
                .ask(
                    &["--yes", "--tools", profile, "go"],
                    &[calls(tool, arguments), says("done")],
                )
                .went_well();
            assert_eq!(chibi.room.read("poem"), "one\ntwo\nthree\n");
            let data = chibi.only("pre_file_write");
            assert_eq!(data["tool_name"], "file_edit");
            for (field, value) in expected.as_object().expect("an object") {
                assert_eq!(data.get(field), Some(value), "{field} in {data:#}");
            }
        }
    }
}

#[test]
fn beckets_own_guards_see_what_an_edit_writes() {
    let chibi = Chibi::new();
    chibi.room.write("poem", "one two");
    let hooks = chibi
        .room
        .hooks("[[hook]]\nname = \"watch\"\nevent = \"pre_file_write\"\ncommand = \"cat > ~/told.json\"\n");
    let edit = json!({
        "path": "poem",
        "edits": [{"old_text": "two", "new_text": "2"}],
        "lines": [],
    });
    chibi
        .ask(
            &["--yes", "--hooks", &hooks, "go"],
            &[calls("edit", edit), says("done")],
        )
        .went_well();
    assert_eq!(chibi.room.read("poem"), "one 2");
    let told = std::fs::read_to_string(chibi.room.home().join("told.json")).expect("the hook was asked");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let text = told.to_string();
    assert!(
        text.contains(r#""new_text":"2""#) && text.contains(r#""called_as":"edit""#),
        "{told:#}"
    );
}

/// A refusal in each spelling, and what of it the model sees.
const REFUSALS: [(&str, &str); 6] = [
    (r#"{"block":true,"message":"not today"}"#, "not today"),
    (r#"{"block":true,"reason":"not today"}"#, "not today"),
    (r#"{"denied":true,"reason":"not today"}"#, "not today"),
    (
        r#"{"denied":true,"block":false,"message":"not today"}"#,
        "not today",
    ),
    (r#"{"approved":false,"reason":"not today"}"#, "not today"),
    (r#"{"approved":false}"#, "refused: "),
];

fn refused(generation: Generation, hook: &str, turn: impl Fn(&Chibi, &ModelServer) -> Value) {
    for (answer, words) in REFUSALS {
        let chibi = Chibi::new();
        let web = ModelServer::start([Response::new(200, "text/plain", "happened")]);
        chibi.plugin(generation, "guard", &[hook], &format!("echo '{answer}'"));
        let turn = turn(&chibi, &web);
        let told = chibi.ask(&["--yes", "go"], &[turn, says("went on")]).went_well();
        let result = &told.results()[0];
        assert!(result.contains(words), "{hook} {answer}: {result}");
        assert!(
            !result.contains("happened") && !chibi.room.has("happened"),
            "{hook} {answer}"
        );
        assert!(web.requests().is_empty(), "{hook} {answer}");
    }
}

#[test]
fn a_refusal_refuses_in_whichever_field_it_stands() {
    refused(Newer, "pre_tool", |_, _| runs("touch happened"));
    refused(Older, "pre_tool", |_, _| runs("touch happened"));
    refused(Newer, "pre_shell_exec", |_, _| runs("touch happened"));
    refused(Older, "pre_file_write", |_, _| {
        calls("write", json!({"path": "happened", "content": "x"}))
    });
    refused(Newer, "pre_file_read", |chibi, _| {
        let file = chibi.room.write("../outside/secret", "happened");
        calls("read", json!({"path": file.canonicalize().expect("it is there")}))
    });
    refused(Newer, "pre_fetch_url", |_, web| {
        calls("fetch", json!({"url": web.url()}))
    });
}

#[test]
fn a_search_in_one_file_asks_about_it_once() {
    let chibi = Chibi::new();
    let path = outside(&chibi);
    chibi.plugin(Newer, "guard", &["pre_file_read"], "");
    let search = |path: &Value| calls("grep", json!({"path": path, "pattern": "tw"}));
    let told = chibi
        .ask(&["--yes", "go"], &[search(&path), says("done")])
        .went_well();
    assert!(told.results()[0].contains("two"), "{told:#?}");
    assert_eq!(chibi.only("pre_file_read")["path"], path);

    // A folder is judged, and then each file of which something is shown.
    chibi.forget();
    let folder = json!(path.as_str().and_then(|path| path.strip_suffix("/poem")));
    chibi
        .ask(&["--yes", "go"], &[search(&folder), says("done")])
        .went_well();
    let paths: Vec<Value> = chibi
        .seen_of("pre_file_read")
        .into_iter()
        .map(|seen| seen.data["path"].clone())
        .collect();
    assert_eq!(paths, [folder, path]);
}
