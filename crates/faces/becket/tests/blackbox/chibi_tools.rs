//! chibi's tools: a model that was given `--tools chibi` finds arguments and results as it knows them from there.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Response, Room};

use crate::room;

/// A room with a few files.
fn furnished() -> Room {
    let room = room();
    room.write("poem.txt", "one\ntwo\nthree\nfour\nfive\n");
    room.write("src/main.rs", "fn main() {\n    helper();\n}\n");
    room.write("src/.hidden", "");
    room.write("src/deep/big.txt", "x".repeat(2048));
    room
}

/// Runs one call with chibi's tools; somebody says yes to everything.
fn run_call(room: &Room, name: &str, arguments: &Value) -> Finished {
    let calls = json!([{"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "went on"}]);
    let model = room.model(&calls);
    room.run(["--json", "--yes", "--tools", "chibi", "--model", &model, "go"])
        .ended_with(0)
}

/// What the model reads as the result.
fn result(room: &Room, name: &str, arguments: &Value) -> String {
    let run = run_call(room, name, arguments);
    let ends = run.events_named("tool_end");
    let [Value::Object(part)] = ends[0]["content"]
        .as_array()
        .expect("content is a list")
        .as_slice()
    else {
        panic!("one part expected: {}", ends[0])
    };
    part["text"].as_str().expect("a text").to_owned()
}

fn check(cases: &[(&str, Value, &str)]) {
    for (name, arguments, expected) in cases {
        let room = furnished();
        let work = room.work().canonicalize().expect("the room is there");
        let expected = expected.replace("WORK", &work.display().to_string());
        assert_eq!(result(&room, name, arguments), expected, "{name} {arguments}");
    }
}

#[test]
fn files_are_read_from_both_ends_and_between() {
    check(&[
        ("file_head", json!({"path": "poem.txt", "lines": 2}), "one\ntwo"),
        ("file_head", json!({"path": "poem.txt", "lines": "2"}), "one\ntwo"),
        (
            "file_head",
            json!({"path": "poem.txt"}),
            "one\ntwo\nthree\nfour\nfive",
        ),
        ("file_tail", json!({"path": "poem.txt", "lines": 2}), "four\nfive"),
        ("file_tail", json!({"path": "poem.txt", "lines": "1"}), "five"),
        (
            "file_lines",
            json!({"path": "poem.txt", "start": 2, "end": 3}),
            "two\nthree",
        ),
        (
            "file_lines",
            json!({"path": "poem.txt", "start": "4", "end": "9"}),
            "four\nfive",
        ),
    ]);
}

#[test]
fn fifty_lines_are_read_when_the_call_does_not_say() {
    let room = room();
    let lines: Vec<String> = (1..=120).map(|line| line.to_string()).collect();
    room.write("long.txt", lines.join("\n"));
    assert_eq!(
        result(&room, "file_head", &json!({"path": "long.txt"})),
        lines[..50].join("\n")
    );
    assert_eq!(
        result(&room, "file_tail", &json!({"path": "long.txt"})),
        lines[70..].join("\n")
    );
}

#[test]
fn searches_print_as_chibi_does() {
    check(&[
        (
            "file_grep",
            json!({"path": "poem.txt", "pattern": "t(wo|hree)", "context_before": 1, "context_after": "0"}),
            " 1:one\n>2:two\n>3:three",
        ),
        (
            "file_grep",
            json!({"path": "poem.txt", "pattern": "one|five", "context_before": 0, "context_after": 1}),
            ">1:one\n 2:two\n--\n>5:five",
        ),
        (
            "file_grep",
            json!({"path": "poem.txt", "pattern": "six"}),
            "No matches found for pattern: six",
        ),
        (
            "grep_files",
            json!({"pattern": "helper", "path": "src", "file_pattern": "*.rs"}),
            "main.rs:1-fn main() {\nmain.rs:2:     helper();\nmain.rs:3-}",
        ),
        (
            "grep_files",
            json!({"pattern": "one|five|main", "context_lines": "0"}),
            "poem.txt:1: one\n\npoem.txt:5: five\n\nsrc/main.rs:1: fn main() {",
        ),
        (
            "grep_files",
            json!({"pattern": "six"}),
            "No matches found for pattern: six",
        ),
        ("glob_files", json!({"pattern": "**/*.rs"}), "src/main.rs"),
        ("glob_files", json!({"pattern": "*.rs", "path": "src"}), "main.rs"),
        (
            "glob_files",
            json!({"pattern": "*.zig"}),
            "No files found matching pattern: *.zig",
        ),
        (
            "glob_files",
            json!({"pattern": "*.txt", "max_results": "1"}),
            "poem.txt\n\n[Only the first 1 files are shown; use a narrower pattern.]",
        ),
    ]);
}

#[test]
fn a_directory_is_a_tree() {
    check(&[
        (
            "dir_list",
            json!({"path": "."}),
            "WORK/\n├── src/\n└── poem.txt (24 B)\n",
        ),
        (
            "dir_list",
            json!({"path": "src", "depth": "2", "show_hidden": "true"}),
            "WORK/src/\n├── deep/\n│   └── big.txt (2.0 KB)\n├── .hidden (0 B)\n└── main.rs (28 B)\n",
        ),
    ]);
}

#[test]
fn a_command_answers_with_json() {
    let room = furnished();
    let told = |arguments: Value| -> Value {
        let text = result(&room, "shell_exec", &arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    assert_eq!(
        told(json!({"command": "echo out; echo err >&2; exit 3"})),
        json!({"stdout": "out\n", "stderr": "err\n", "exit_code": 3, "timed_out": false})
    );
    assert_eq!(
        told(json!({"command": "true", "timeout_secs": "5"})),
        json!({"stdout": "", "stderr": "", "exit_code": 0, "timed_out": false})
    );
    let late = told(json!({"command": "echo early; sleep 60", "timeout_secs": 5}));
    assert_eq!(
        (&late["stdout"], &late["exit_code"], &late["timed_out"]),
        (&json!("early\n"), &json!(-1), &json!(true))
    );
}

#[test]
fn files_are_written_and_edited_in_all_five_ways() {
    let edit = |operation: &str, more: Value| {
        let mut arguments = json!({"path": "poem.txt", "operation": operation});
        for (name, value) in more.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        arguments
    };
    let cases = [
        (
            edit(
                "replace_lines",
                json!({"line_start": 1, "line_end": "2", "content": "1\n2"}),
            ),
            "1\n2\nthree\nfour\nfive\n",
        ),
        (
            edit("insert_before", json!({"line_start": 1, "content": "zero"})),
            "zero\none\ntwo\nthree\nfour\nfive\n",
        ),
        (
            edit("insert_after", json!({"line_start": 5, "content": "six"})),
            "one\ntwo\nthree\nfour\nfive\nsix\n",
        ),
        (
            edit("delete_lines", json!({"line_start": 2, "line_end": 5})),
            "one\n",
        ),
        (
            edit("replace_string", json!({"find": "o", "replace": "0"})),
            "0ne\ntwo\nthree\nfour\nfive\n",
        ),
    ];
    for (arguments, expected) in cases {
        let room = furnished();
        let text = result(&room, "file_edit", &arguments);
        assert_eq!(room.read("poem.txt"), expected, "{arguments}: {text}");
        assert!(!text.starts_with("Error"), "{text}");
    }
    let room = furnished();
    let text = result(
        &room,
        "write_file",
        &json!({"path": "new/file.txt", "content": "words"}),
    );
    assert_eq!(room.read("new/file.txt"), "words");
    assert!(!text.starts_with("Error") && text.contains("5 bytes"), "{text}");
}

#[test]
fn failures_begin_with_a_word_that_programs_know() {
    let cases = [
        (
            "file_head",
            json!({"path": "gone.txt"}),
            "Error: Cannot read gone.txt: it does not exist.",
        ),
        (
            "dir_list",
            json!({"path": "poem.txt"}),
            "Error: Cannot list poem.txt: it is a file.",
        ),
        (
            "file_grep",
            json!({"path": "poem.txt", "pattern": "a("}),
            "Error: Cannot search: the regular expression",
        ),
        (
            "file_edit",
            json!({"path": "poem.txt", "operation": "delete_lines", "line_start": 4, "line_end": 6}),
            "Error: Cannot edit poem.txt: edit 1 of 1: there is no line 6: the file has 5. Nothing was changed.",
        ),
        (
            "file_edit",
            json!({"path": "poem.txt", "operation": "replace_string", "find": "six", "replace": "6"}),
            "Error: Cannot edit poem.txt: edit 1 of 1: the old text does not occur.",
        ),
    ];
    for (name, arguments, expected) in cases {
        let room = furnished();
        let text = result(&room, name, &arguments);
        assert!(text.starts_with(expected), "{name} {arguments}: {text}");
        assert_eq!(room.read("poem.txt"), "one\ntwo\nthree\nfour\nfive\n");
    }
}

#[test]
fn arguments_that_mean_nothing_are_refused_with_the_usage() {
    let cases = [
        (
            "file_head",
            json!({"lines": 5}),
            "argument `path` is missing",
            "file_head takes: path (string)",
        ),
        (
            "file_tail",
            json!({"path": "poem.txt", "lines": "many"}),
            "`lines` must be of type integer",
            "",
        ),
        (
            "file_lines",
            json!({"path": "poem.txt", "start": 3, "end": 2}),
            "must not come before",
            "",
        ),
        (
            "file_lines",
            json!({"path": "poem.txt", "start": 0, "end": 2}),
            "counted from 1",
            "",
        ),
        (
            "shell_exec",
            json!({"cmd": 5}),
            "",
            "shell_exec takes: command (string)",
        ),
        (
            "dir_list",
            json!({"path": ".", "show_hidden": "perhaps"}),
            "\"true\" or \"false\"",
            "",
        ),
        (
            "file_edit",
            json!({"path": "poem.txt", "operation": "shuffle"}),
            "",
            "file_edit takes:",
        ),
        (
            "file_edit",
            json!({"path": "poem.txt", "operation": "replace_lines", "line_start": 1, "content": "x"}),
            "`line_end` is missing",
            "",
        ),
        (
            "file_edit",
            json!({"path": "poem.txt", "operation": "insert_after", "line_start": 0, "content": "x"}),
            "counted from 1",
            "",
        ),
    ];
    for (name, arguments, problem, usage) in cases {
        let room = furnished();
        let text = result(&room, name, &arguments);
        assert!(
            text.contains(problem) && text.contains(usage),
            "{name} {arguments}: {text}"
        );
        assert_eq!(room.read("poem.txt"), "one\ntwo\nthree\nfour\nfive\n");
    }
}

#[test]
fn an_address_is_fetched_as_it_was_sent_and_no_further_than_asked() {
    let page = "<p>one &amp; two</p>";
    let cases = [
        (json!({}), page.to_owned()),
        (
            json!({"max_bytes": "6"}),
            "<p>one\n\n[The answer is longer than 6 bytes; the rest was not read.]".to_owned(),
        ),
    ];
    for (more, expected) in cases {
        let server = ModelServer::start([Response::new(200, "text/html", page)]);
        let mut arguments = json!({"url": server.url()});
        for (name, value) in more.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        assert_eq!(result(&room(), "fetch_url", &arguments), expected);
    }
    let server = ModelServer::start([Response::new(404, "text/plain", "gone")]);
    let text = result(&room(), "fetch_url", &json!({"url": server.url()}));
    assert_eq!(text, "Error: [HTTP status 404 Not Found]\ngone");
}

#[test]
fn hooks_of_the_output_see_what_the_model_would_see() {
    let room = furnished();
    let hooks = room
        .hooks("[[hook]]\nevent = \"pre_tool_output\"\ncommand = [\"sh\", \"-c\", \"cat > seen.json\"]\n");
    let call = json!({"name": "file_tail", "arguments": {"path": "poem.txt", "lines": 1}});
    let model = room.model(&json!([{"tool_calls": [call]}, {"text": "went on"}]));
    room.run(["--tools", "chibi", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    let seen: Value = serde_json::from_str(&room.read("seen.json")).expect("the hook saw JSON");
    assert!(seen.to_string().contains("\"five\""), "{seen}");
    assert!(!seen.to_string().contains("The last 1 lines"), "{seen}");
}

#[test]
fn the_model_is_offered_the_eleven_tools() {
    let room = furnished();
    let run = run_call(&room, "file_head", &json!({"path": "poem.txt"}));
    let offered = run.events_named("tools_offered");
    let names: Vec<&str> = offered[0]["tools"]
        .as_array()
        .expect("a list of tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for name in [
        "file_head",
        "file_tail",
        "file_lines",
        "file_grep",
        "write_file",
        "file_edit",
        "dir_list",
        "glob_files",
        "grep_files",
        "shell_exec",
        "fetch_url",
    ] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
}
