//! Small versions of plugins that people really use, and the order in which a whole prompt is told to them.

use serde_json::{Value, json};
use testkit::needs;

use super::{Chibi, Newer, Older, calls, says};

/// All hooks of both generations.
const HOOKS: [&str; 34] = [
    "on_start",
    "on_end",
    "on_context_switch",
    "pre_message",
    "post_message",
    "pre_system_prompt",
    "post_system_prompt",
    "pre_tool",
    "post_tool",
    "pre_tool_output",
    "post_tool_output",
    "pre_api_tools",
    "pre_api_request",
    "pre_agentic_loop",
    "post_tool_batch",
    "pre_file_read",
    "pre_file_write",
    "pre_shell_exec",
    "pre_fetch_url",
    "pre_spawn_agent",
    "post_spawn_agent",
    "pre_cache_output",
    "post_cache_output",
    "pre_send_message",
    "post_send_message",
    "post_index_file",
    "pre_vfs_write",
    "post_vfs_write",
    "pre_clear",
    "post_clear",
    "pre_compact",
    "post_compact",
    "pre_rolling_compact",
    "post_rolling_compact",
];

#[test]
fn every_hook_is_known_and_others_are_remarked_on() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "inspector", &HOOKS, "");
    let told = chibi.ask(&["hello"], &[says("hi")]).went_well();
    assert!(!told.run.stderr.contains("inspector"), "{told:#?}");
    chibi.plugin(Newer, "typist", &["pre_mesage"], "");
    let told = chibi.ask(&["hello"], &[says("hi")]).went_well();
    assert!(
        told.run.stderr.contains("pre_mesage") && told.run.stderr.contains("pre_message"),
        "{told:#?}"
    );
    let doctor = chibi.room.run(["doctor"]);
    for words in ["inspector", "typist", "pre_mesage", "post_rolling_compact"] {
        assert!(doctor.stdout.contains(words), "no {words:?} in {doctor:#?}");
    }
}

#[test]
fn a_whole_prompt_is_told_in_order() {
    let chibi = Chibi::new();
    chibi.room.config("[tools]\noutput_limit = 1000\n");
    chibi.plugin(Newer, "inspector", &HOOKS, "");
    let secret = chibi
        .room
        .write("../outside", "x")
        .canonicalize()
        .expect("it is there");
    let turns = [
        calls("shell", json!({"command": "seq 1 2000"})),
        calls("write", json!({"path": "vfs:///shared/note", "content": "x"})),
        calls("write", json!({"path": "note", "content": "x"})),
        calls("read", json!({"path": secret})),
        calls("fetch", json!({"url": "http://127.0.0.1:9/"})),
        says("done"),
    ];
    chibi.ask(&["--yes", "-c", "work", "go"], &turns).went_well();
    let request = ["pre_api_tools", "pre_api_request"];
    let round = |inside: &[&'static str], after: &[&'static str]| {
        let call = [&["pre_tool"], inside, &["post_tool_output", "post_tool"], after];
        [&request[..], &call.concat(), &["post_tool_batch"]].concat()
    };
    let expected = [
        vec![
            "on_start",
            "on_context_switch",
            "pre_message",
            "pre_system_prompt",
            "post_system_prompt",
            "pre_agentic_loop",
        ],
        round(
            &[
                "pre_shell_exec",
                "pre_tool_output",
                "pre_cache_output",
                "post_cache_output",
            ],
            &[],
        ),
        round(&["pre_vfs_write", "pre_tool_output"], &["post_vfs_write"]),
        round(&["pre_file_write", "pre_tool_output"], &[]),
        round(&["pre_file_read", "pre_tool_output"], &[]),
        round(&["pre_fetch_url", "pre_tool_output"], &[]),
        request.to_vec(),
        vec!["post_message", "on_end"],
    ];
    assert_eq!(chibi.order(), expected.concat());
}

#[test]
fn a_plugin_whose_tools_share_a_hook_is_asked_once() {
    let chibi = Chibi::new();
    let tool = |name: &str| json!({"name": name, "description": "x", "hooks": ["pre_message"]});
    let schema = json!([tool("one"), tool("two")]);
    chibi.install(
        "pair",
        &format!(
            "#!/bin/bash\nif [[ $1 == --schema ]]; then echo '{schema}'; exit; fi\n\
             if [[ $CHIBI_HOOK ]]; then echo x >> count; else cat >/dev/null; echo \"I am $CHIBI_TOOL_NAME\"; fi\n"
        ),
    );
    let told = chibi
        .ask(&["--yes", "go"], &[calls("two", json!({})), says("done")])
        .went_well();
    assert_eq!(told.results(), ["I am two\n"]);
    assert_eq!(chibi.room.read("count"), "x\n");
}

/// A place where contexts leave words for each other.
const COFFEE_TABLE: &str = r#"#!/usr/bin/env python3
import fcntl, json, os, pathlib, sys

if sys.argv[1:] == ["--schema"]:
    print(json.dumps({
        "name": "coffee_table",
        "description": "Leave a few words on the coffee table.",
        "parameters": {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]},
        "hooks": ["on_start", "post_system_prompt"],
    }))
    sys.exit()

table = pathlib.Path.home() / ".chibi/contexts/coffee-table"
hook = os.environ.get("CHIBI_HOOK")
event = json.load(sys.stdin)
if hook == "on_start":
    table.mkdir(parents=True, exist_ok=True)
    (table / "prompt.md").write_text("You are a coffee table.")
elif hook == "post_system_prompt":
    if event["context_name"] != "coffee-table":
        print(json.dumps({"inject": "There is a coffee table."}))
else:
    with open(table / ".inbox.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(table / "inbox.jsonl", "a") as inbox:
            note = {"from": os.environ.get("CHIBI_CONTEXT", "unknown"), "to": "coffee-table", "content": event["words"]}
            inbox.write(json.dumps(note) + "\n")
    print("left it there")
"#;

#[test]
fn the_coffee_table_speaks_to_all_but_itself_and_takes_words() {
    if !needs("python3") {
        return;
    }
    let chibi = Chibi::new();
    chibi.install("coffee-table", COFFEE_TABLE);
    let told = chibi
        .ask(
            &["-C", "work", "go"],
            &[
                calls("coffee_table", json!({"words": "milk is out"})),
                says("done"),
            ],
        )
        .went_well();
    assert!(
        told.system(0).trim_end().ends_with("There is a coffee table."),
        "{told:#?}"
    );
    assert_eq!(told.results(), ["left it there\n"]);
    let inbox = std::fs::read_to_string(chibi.home().join("contexts/coffee-table/inbox.jsonl"));
    let note: Value = serde_json::from_str(&inbox.expect("the inbox is there")).expect("a line of JSON");
    assert_eq!(
        note,
        json!({"from": "work", "to": "coffee-table", "content": "milk is out"})
    );
    let told = chibi
        .ask(&["-C", "coffee-table", "hello"], &[says("hi")])
        .went_well();
    assert!(!told.system(0).contains("There is a coffee table."), "{told:#?}");
}

/// Says yes or no as an earlier generation did: `approved`.
const FILE_PERMISSION: &str = r#"#!/usr/bin/env python3
import json, os, sys

if sys.argv[1:] == ["--schema"]:
    print(json.dumps({"name": "file_permission", "description": "Asks about files.", "hooks": ["pre_file_write"]}))
    sys.exit()

event = json.load(sys.stdin)
approved = not event["path"].endswith(".lock")
print(json.dumps({"approved": approved, "reason": "" if approved else "a tool writes " + event["path"]}))
"#;

#[test]
fn file_permission_refuses_with_approved_false() {
    if !needs("python3") {
        return;
    }
    let chibi = Chibi::new();
    chibi.install("file_permission.py", FILE_PERMISSION);
    let write = |path: &str| json!({"name": "write", "arguments": {"path": path, "content": "x"}});
    let both = json!({"tool_calls": [write("Cargo.lock"), write("note.txt")]});
    let told = chibi.ask(&["--yes", "go"], &[both, says("done")]).went_well();
    assert!(told.results()[0].contains("a tool writes"), "{told:#?}");
    assert!(!chibi.room.has("Cargo.lock") && chibi.room.has("note.txt"));
}

#[test]
fn a_tool_that_gives_the_word_back_to_the_model_makes_it_go_on() {
    let chibi = Chibi::new();
    let schema = json!({
        "name": "recurse",
        "description": "Go on in another round.",
        "parameters": {"type": "object", "properties": {"prompt": {"type": "string"}}},
        "flow_control": true,
        "hooks": ["pre_api_request"],
    });
    let body = "echo \"$data\" >> ../requests; touch ran";
    let text = chibi
        .filled(super::BASH, "$(cat)", "recurse", &[], body)
        .lines()
        .map(|line| {
            if line.contains("echo '{") {
                format!("  echo '{schema}'\n")
            } else {
                format!("{line}\n")
            }
        })
        .collect::<String>();
    chibi.install("recurse", &text);
    let turns = [
        calls("recurse", json!({"prompt": "look at the second half"})),
        says("all done"),
    ];
    let told = chibi.ask(&["go"], &turns).went_well().asked(2);
    assert!(
        told.requests[1].to_string().contains("look at the second half"),
        "{told:#?}"
    );
    let depths: Vec<Value> = chibi
        .seen_of("pre_api_request")
        .iter()
        .map(|seen| seen.data["recursion_depth"].clone())
        .collect();
    assert_eq!(depths, [0, 1]);
    assert!(chibi.seen_of("tool").is_empty(), "its program is not run");
}

/// A plugin of the older generation that gives the next round a note.
const RECURSE: &str = r#"#!/bin/bash
if [[ $1 == --schema ]]; then
  echo '{"name":"recurse","description":"Go on in another round, with a note to yourself.",
    "parameters":{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}}'
  exit
fi
echo "$CHIBI_TOOL_ARGS" > noted
echo "another round will begin"
"#;

#[test]
fn recurse_of_the_older_generation_runs_and_goes_on_with_its_note() {
    let chibi = Chibi::new();
    chibi.install("recurse", RECURSE);
    chibi.plugin(Older, "watch", &["pre_api_request"], "");
    let turns = [
        calls("recurse", json!({"note": "look at the second half"})),
        says("first half done"),
        says("all done"),
    ];
    let told = chibi.ask(&["--yes", "go"], &turns).went_well().asked(3);
    assert_eq!(
        chibi.room.read("noted").trim(),
        r#"{"note":"look at the second half"}"#
    );
    assert!(told.prompt(2).contains("look at the second half"), "{told:#?}");
    let depths: Vec<Value> = chibi
        .seen_of("pre_api_request")
        .iter()
        .map(|seen| seen.data["recursion_depth"].clone())
        .collect();
    assert_eq!(depths, [0, 0, 1]);
}
