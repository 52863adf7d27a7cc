//! pi's tool profile: how much of a file, a search or an output the model sees at once, and how it gets the rest.

use std::fmt::Write;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::plugins::result;
use crate::room;

/// Lets the model make one call by pi's names.
fn call(room: &Room, name: &str, arguments: Value) -> Finished {
    let model =
        room.model(&json!([{"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "done"}]));
    room.run(["--json", "--yes", "--tools", "pi", "--model", &model, "go"])
        .ended_with(0)
}

/// What the model read as the result of that call.
fn seen(run: &Finished) -> String {
    let requests = run.events_named("pre_request");
    let messages = requests.last().expect("two requests")["body"]["messages"].clone();
    let messages = messages.as_array().expect("messages").clone();
    let result = messages.iter().rev().find(|message| message["role"] == "tool");
    let content = &result.unwrap_or_else(|| panic!("no result: {run:#?}"))["content"];
    match content {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().expect("text").to_owned(),
    }
}

#[test]
fn a_path_may_begin_at_the_home_folder() {
    let room = room();
    std::fs::write(room.home().join("note.txt"), "from home\n").expect("a file");
    let text = seen(&call(&room, "read", json!({"path": "~/note.txt"})));
    assert_eq!(text.trim_end(), "from home");
    call(&room, "write", json!({"path": "~/.//new.txt", "content": "new"}));
    let written = std::fs::read_to_string(room.home().join("new.txt"));
    assert_eq!(written.expect("a file"), "new");
    let rule = format!(
        "[permissions]\ndeny = [\"read:path={}/*\"]\n",
        room.home().display()
    );
    room.config(&rule);
    let refused = seen(&call(&room, "read", json!({"path": "~/note.txt"})));
    assert!(refused.contains("denies it"), "{refused}");
}

fn numbers(last: u32) -> String {
    (1..=last).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "line {number}");
        text
    })
}

#[test]
fn a_long_file_is_read_in_pieces() {
    let room = room();
    room.write("long.txt", numbers(2_500));
    let text = seen(&call(&room, "read", json!({"path": "long.txt"})));
    assert!(
        text.contains("line 2000\n") && !text.contains("line 2001\n"),
        "{text}"
    );
    // For pi a last line with an end has an empty one behind it.
    assert!(
        text.ends_with("[Showing lines 1-2000 of 2501. Use offset=2001 to continue.]"),
        "{text}"
    );
    let rest = seen(&call(&room, "read", json!({"path": "long.txt", "offset": 2001})));
    assert!(
        rest.starts_with("line 2001\n") && rest.trim_end().ends_with("line 2500"),
        "{rest}"
    );
    room.write("wide.txt", format!("{}\n", "x".repeat(99)).repeat(1_000));
    let text = seen(&call(&room, "read", json!({"path": "wide.txt"})));
    assert!(
        text.len() < 52 * 1024 && text.contains("50.0KB limit"),
        "{}",
        text.len()
    );
}

#[test]
fn searches_say_when_there_may_be_more() {
    let room = room();
    for number in 0..1_010 {
        room.write(&format!("many/{number:04}.txt"), "needle\n");
    }
    let cases = [
        (
            "grep",
            json!({"pattern": "needle"}),
            100,
            "100 matches limit reached. Use limit=200 for more",
        ),
        (
            "find",
            json!({"pattern": "*.txt"}),
            1_000,
            "1000 results limit reached. Use limit=2000 for more",
        ),
        (
            "ls",
            json!({"path": "many"}),
            500,
            "500 entries limit reached. Use limit=1000 for more",
        ),
        (
            "ls",
            json!({"path": "many", "limit": 3}),
            3,
            "3 entries limit reached. Use limit=6 for more",
        ),
    ];
    for (tool, arguments, shown, words) in cases {
        let text = result(&call(&room, tool, arguments));
        let lines = text.lines().filter(|line| line.contains(".txt")).count();
        assert_eq!(lines, shown, "{tool}: {text}");
        assert!(text.contains(words), "{tool}: {text}");
    }
}

#[test]
fn of_a_long_output_the_end_is_seen_and_all_of_it_can_be_read() {
    let room = room();
    let run = call(&room, "bash", json!({"command": "seq 1 3000"}));
    let text = seen(&run);
    assert!(text.starts_with("1001\n") && text.contains("\n3000\n"), "{text}");
    let (_, notice) = text.rsplit_once("\n\n[").expect("a notice");
    let address = notice.strip_prefix("Showing lines 1001-3000 of 3000. Full output: ");
    let address = address
        .and_then(|rest| rest.strip_suffix(']'))
        .expect("an address");
    let model = room.model(&json!([
        {"tool_calls": [{"name": "read", "arguments": {"path": address, "limit": 2}}]}, {"text": "done"}
    ]));
    let run = room
        .run(["--json", "--tools", "pi", "--model", &model, "go on"])
        .ended_with(0);
    assert!(result(&run).starts_with("1\n2\n"), "{run:#?}");
    // As many lines as may be are shown as they are.
    let whole = seen(&call(&room, "bash", json!({"command": "seq 1 2000"})));
    assert!(whole.starts_with("1\n") && whole.ends_with("2000\n"), "{whole}");
    let wide = "for i in $(seq 1 700); do printf '%0100d\\n' $i; done; exit 3";
    let text = seen(&call(&room, "bash", json!({"command": wide})));
    assert!(
        text.contains("(50.0KB limit). Full output: vfs:///") && text.contains("code 3"),
        "{text}"
    );
    assert!(text.len() < 52 * 1024, "{}", text.len());
    let one = seen(&call(
        &room,
        "bash",
        json!({"command": "head -c 90000 /dev/zero | tr '\\0' x"}),
    ));
    assert!(
        one.contains("[Showing last 50.0KB of line 1. Full output: vfs:///"),
        "{}",
        &one[one.len() - 200..]
    );
}

#[test]
fn the_model_is_told_the_limits() {
    let room = room();
    let run = call(&room, "ls", json!({}));
    let tools = run.events_named("pre_request")[0]["body"]["tools"].to_string();
    for words in [
        "2000 lines or 50KB",
        "100 matches",
        "500 characters",
        "1000 or 50KB",
        "500 entries",
    ] {
        assert!(tools.contains(words), "{words}: {tools}");
    }
}

/// Lets the model make these calls in one answer; what it read as their results, in order.
fn all_seen(room: &Room, calls: &[(&str, Value)]) -> Vec<String> {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments}))
        .collect();
    let model = room.model(&json!([{"tool_calls": calls}, {"text": "done"}]));
    let run = room
        .run(["--json", "--yes", "--tools", "pi", "--model", &model, "go"])
        .ended_with(0);
    let requests = run.events_named("pre_request");
    let messages = requests.last().expect("two requests")["body"]["messages"].clone();
    let results = messages.as_array().expect("messages").iter();
    results
        .filter(|message| message["role"] == "tool")
        .map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().expect("text").to_owned(),
        })
        .collect()
}

#[test]
fn models_read_about_failures_in_pi_s_words() {
    let room = room();
    room.write("one.txt", "a\nb\nb\nit\u{2019}s \u{201C}x\u{201D} \u{2013} y  \n");
    let folder = room.work().canonicalize().unwrap().display().to_string();
    let folder = folder.trim_end_matches('/');
    let edit = |old: &str, new: &str| json!({"path": "one.txt", "edits": [{"oldText": old, "newText": new}]});
    let table: Vec<(&str, Value, String)> = vec![
        ("read", json!({"path": "gone"}), format!("ENOENT: no such file or directory, access '{folder}/gone'")),
        ("read", json!({"path": "."}), "EISDIR: illegal operation on a directory, read".into()),
        (
            "read",
            json!({"path": "one.txt", "offset": 99}),
            "Offset 99 is beyond end of file (4 lines total)".into(),
        ),
        ("ls", json!({"path": "gone"}), format!("Path not found: {folder}/gone")),
        ("ls", json!({"path": "one.txt"}), format!("Not a directory: {folder}/one.txt")),
        ("find", json!({"pattern": "*", "path": "gone"}), format!("Path not found: {folder}/gone")),
        ("grep", json!({"pattern": "x", "path": "gone"}), format!("Path not found: {folder}/gone")),
        (
            "edit",
            json!({"path": "gone", "edits": [{"oldText": "a", "newText": "b"}]}),
            "Could not edit file: gone. Error code: ENOENT.".into(),
        ),
        (
            "edit",
            edit("zzz", "y"),
            "Could not find the exact text in one.txt. The old text must match exactly including all whitespace \
             and newlines."
                .into(),
        ),
        (
            "edit",
            edit("b", "c"),
            "Found 2 occurrences of the text in one.txt. The text must be unique. Please provide more context to \
             make it unique."
                .into(),
        ),
        (
            "read",
            json!({}),
            "Validation failed for tool \"read\":\n  - path: must have required properties path\n\nReceived \
             arguments:\n{}"
                .into(),
        ),
    ];
    let calls: Vec<(&str, Value)> = table
        .iter()
        .map(|(name, call, _)| (*name, call.clone()))
        .collect();
    for ((name, call, told), seen) in table.iter().zip(all_seen(&room, &calls)) {
        assert_eq!(seen, *told, "{name} {call}");
    }
}

#[test]
fn calls_are_read_as_pi_reads_them() {
    let room = room();
    room.write(
        "one.txt",
        "a\nb\nit\u{2019}s \u{201C}x\u{201D} \u{2013} y  \nend\n",
    );
    room.write("5", "five\n");
    let seen = all_seen(
        &room,
        &[
            (
                "bash",
                json!({"command": "arr=(1 2); [[ abc == a* ]] && echo ${arr[1]}"}),
            ),
            (
                "read",
                json!({"path": "one.txt", "extra": 1, "offset": "2", "limit": 1.0}),
            ),
            ("read", json!({"path": 5})),
            ("read", json!({"path": "@5"})),
            (
                "edit",
                json!({"path": "one.txt", "oldText": "it's \"x\" - y\nend", "newText": "fin"}),
            ),
            (
                "edit",
                json!({"path": "one.txt", "edits": "[{\"oldText\": \"a\", \"newText\": \"A\"}]"}),
            ),
        ],
    );
    assert_eq!(seen[0], "2\n");
    assert!(seen[1].starts_with("b\n\n[3 more lines in file."), "{}", seen[1]);
    assert_eq!((seen[2].as_str(), seen[3].as_str()), ("five\n", "five\n"));
    for edited in &seen[4..] {
        assert_eq!(edited, "Successfully replaced 1 block(s) in one.txt.");
    }
    assert_eq!(room.read("one.txt"), "A\nb\nfin\n");
}

#[test]
fn extensions_read_pi_s_details() {
    let room = room();
    room.write("one.txt", "a\nb\nc\n");
    room.write("long.txt", numbers(2_500));
    room.write(
        "details.ts",
        "import { appendFileSync } from 'node:fs';
        export default (pi: any) => {
            for (const name of ['tool_result', 'tool_execution_end']) pi.on(name, (event: any) => {
                const { details } = event.result ?? event;
                appendFileSync('log', JSON.stringify(details) + '\\n');
            });
        };",
    );
    let calls = json!([
        {"tool_calls": [{"name": "edit", "arguments": {"path": "one.txt",
            "edits": [{"old_text": "b", "new_text": "B"}]}}]},
        {"tool_calls": [{"name": "read", "arguments": {"path": "long.txt"}}]},
        {"text": "done"},
    ]);
    let model = room.model(&calls);
    room.run(["--yes", "--model", &model, "-e", "details.ts", "go"])
        .ended_with(0);
    let log = room.read("log");
    let seen: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(seen.len(), 4, "{log}");
    for edit in &seen[..2] {
        assert_eq!(edit["firstChangedLine"], 2);
        assert_eq!(edit["diff"], " 1 a\n-2 b\n+2 B\n 3 c");
    }
    for read in &seen[2..] {
        let cut = &read["truncation"];
        assert_eq!(
            (&cut["truncated"], &cut["truncatedBy"]),
            (&json!(true), &json!("lines"))
        );
        assert_eq!(
            (&cut["totalLines"], &cut["outputLines"]),
            (&json!(2500), &json!(2000))
        );
    }
}

#[test]
fn extensions_run_no_programs_where_the_settings_forbid_it() {
    let room = room();
    room.config("[pi]\nprocesses = false\n");
    room.write(
        "runner.ts",
        "import { execSync, spawn } from 'node:child_process';
        export default (pi: any) => {
            pi.on('session_start', async () => {
                for (const run of [
                    () => pi.exec('touch', ['by-exec']), () => execSync('touch by-sync'),
                    () => new Promise((_, no) => spawn('touch', ['by-spawn']).on('error', no)),
                ]) {
                    try { await run(); console.error('it ran'); } catch (error: any) {
                        console.error('refused: ' + error.message);
                    }
                }
            });
        };",
    );
    let model = room.model(&json!([{"text": "fine"}]));
    let run = room
        .run(["--model", &model, "-e", "runner.ts", "go"])
        .ended_with(0);
    let refused = run
        .stderr
        .lines()
        .filter(|line| line.contains("refused: ") && line.contains("processes"));
    assert_eq!(refused.count(), 3, "{run:#?}");
    assert!(!run.stderr.contains("it ran"), "{run:#?}");
    for file in ["by-exec", "by-sync", "by-spawn"] {
        assert!(!room.has(file), "{file}");
    }
}
