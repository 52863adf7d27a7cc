//! Hooks of tool calls: before, after, their outputs, the cache, the virtual file system.

use serde_json::{Value, json};
use testkit::needs;

use super::{Chibi, Newer, Older, calls, has_fields, runs, says};

#[test]
fn pre_tool_shows_each_generation_its_own_names_whatever_the_model_knows() {
    let table = [
        ("becket", "shell", "write"),
        ("chibi", "shell_exec", "write_file"),
        ("pi", "bash", "write"),
    ];
    for (profile, shell, write) in table {
        let chibi = Chibi::new();
        chibi.plugin(Newer, "newer", &["pre_tool"], "");
        chibi.plugin(Older, "older", &["pre_tool"], "");
        let both = json!({"tool_calls": [
            {"name": shell, "arguments": {"command": "true"}},
            {"name": write, "arguments": {"path": "note", "content": "x"}},
        ]});
        chibi
            .ask(&["--yes", "--tools", profile, "go"], &[both, says("done")])
            .went_well();
        let (newer, older) = (chibi.told("newer", "pre_tool"), chibi.told("older", "pre_tool"));
        assert_eq!(newer[0]["tool_name"], "shell_exec", "{profile}");
        assert_eq!(newer[0]["arguments"]["command"], "true", "{profile}");
        assert_eq!(newer[1]["tool_name"], "write_file", "{profile}");
        assert_eq!(older[0]["tool_name"], "run_command", "{profile}");
        assert_eq!(older[0]["arguments"]["command"], "true", "{profile}");
        assert_eq!(older[1]["arguments"]["content"], "x", "{profile}");
    }
}

#[test]
fn the_older_generation_reads_files_with_read_file() {
    let chibi = Chibi::new();
    chibi.room.write("note", "the text of the note");
    chibi.plugin(Older, "watch", &["pre_tool", "post_tool"], "");
    let told = chibi
        .ask(&["go"], &[calls("read", json!({"path": "note"})), says("done")])
        .went_well();
    assert!(told.results()[0].contains("the text of the note"), "{told:#?}");
    for hook in ["pre_tool", "post_tool"] {
        let data = chibi.only(hook);
        assert_eq!(data["tool_name"], "read_file", "{data:#}");
        assert_eq!(data["arguments"]["path"], "note", "{data:#}");
    }
}

#[test]
fn pre_tool_rewrites_and_the_next_plugin_sees_it() {
    if !needs("python3") {
        return;
    }
    let chibi = Chibi::new();
    let body = |suffix: &str| {
        format!(
            "command = data[\"arguments\"][\"command\"]\n\
             if \"{suffix}\" not in command:\n    answer = {{\"arguments\": {{\"command\": command + \"{suffix}\"}}}}"
        )
    };
    chibi.python(Newer, "a", &["pre_tool"], &body("_a"));
    chibi.python(Older, "b", &["pre_tool"], &body("_b"));
    chibi.plugin(
        Newer,
        "c",
        &["post_tool", "pre_tool_output", "post_tool_output"],
        "",
    );
    chibi
        .ask(&["--yes", "go"], &[runs("touch ran"), says("done")])
        .went_well();
    assert!(chibi.room.has("ran_a_b") && !chibi.room.has("ran") && !chibi.room.has("ran_a"));
    let commands: Vec<Value> = chibi
        .seen_of("pre_tool")
        .iter()
        .map(|seen| seen.data["arguments"]["command"].clone())
        .collect();
    assert_eq!(commands[..2], ["touch ran", "touch ran_a"]);
    assert_eq!(
        chibi.only("pre_tool_output")["arguments"]["command"],
        "touch ran_a_b"
    );
    assert_eq!(
        chibi.only("post_tool_output")["arguments"]["command"],
        "touch ran_a_b"
    );
    assert_eq!(chibi.only("post_tool")["arguments"]["command"], "touch ran");
}

#[test]
fn pre_tool_blocks_with_its_message_or_without_one() {
    let table = [
        (
            Newer,
            r#"{"block":true,"message":"not on my watch"}"#,
            "not on my watch",
        ),
        (
            Older,
            r#"{"block":true,"message":"not on my watch"}"#,
            "not on my watch",
        ),
        (Newer, r#"{"block":true}"#, "my-plugin"),
        (
            Newer,
            r#"{"block":true,"message":"no","arguments":{"command":"touch ran"}}"#,
            "no",
        ),
    ];
    for (generation, answer, message) in table {
        let chibi = Chibi::new();
        chibi.plugin(
            generation,
            "my-plugin",
            &["pre_tool"],
            &format!("echo '{answer}'"),
        );
        chibi.plugin(Newer, "watch", &["pre_tool_output", "post_tool"], "");
        let told = chibi
            .ask(&["--yes", "go"], &[runs("touch ran"), says("done")])
            .went_well();
        assert!(!chibi.room.has("ran"), "{answer}");
        assert!(
            told.results()[0].contains(message) || told.run.stderr.contains(message),
            "{told:#?}"
        );
        assert!(told.run.stderr.contains("refused"), "{told:#?}");
        let output = chibi.only("pre_tool_output");
        assert!(
            output["output"].as_str().is_some_and(|text| !text.is_empty()),
            "{output:#}"
        );
        assert_eq!(chibi.only("post_tool")["tool_name"], "shell_exec");
    }
}

#[test]
fn pre_tool_that_does_not_block_is_not_the_persons_yes() {
    for answer in [
        r#"{"block":false}"#,
        "{}",
        "",
        r#"{"block":false,"approved":true}"#,
    ] {
        let chibi = Chibi::new();
        chibi.plugin(Newer, "a", &["pre_tool"], &format!("echo '{answer}'"));
        chibi.ask(&["go"], &[runs("touch ran"), says("done")]).went_well();
        assert!(!chibi.room.has("ran"), "{answer}: nobody was there to agree");
        assert_eq!(chibi.only("pre_tool")["tool_name"], "shell_exec");
    }
}

#[test]
fn pre_tool_judges_plugins_and_unknown_tools_too() {
    let chibi = Chibi::new();
    chibi.plugin(
        Newer,
        "guard",
        &["pre_tool"],
        "echo '{\"block\":true,\"message\":\"nothing at all\"}'",
    );
    chibi.plugin(Newer, "other", &[], "touch ran");
    let told = chibi
        .ask(&["--yes", "go"], &[calls("other", json!({"x": 1})), says("done")])
        .went_well();
    assert!(told.results()[0].contains("nothing at all"), "{told:#?}");
    assert!(!chibi.room.has("ran"));
    let data = chibi.only("pre_tool");
    assert_eq!(
        (&data["tool_name"], &data["arguments"]),
        (&json!("other"), &json!({"x": 1}))
    );
}

#[test]
fn outputs_are_rewritten_one_after_another() {
    if !needs("python3") {
        return;
    }
    let chibi = Chibi::new();
    chibi.python(
        Newer,
        "a",
        &["pre_tool_output"],
        "answer = {\"output\": data[\"output\"].replace(\"secret\", \"[hidden]\")}",
    );
    chibi.python(
        Older,
        "b",
        &["pre_tool_output"],
        "assert \"secret\" not in data[\"output\"]\nanswer = {\"output\": data[\"output\"] + \" checked\"}",
    );
    let hooks = ["post_tool_output", "post_tool"];
    chibi.plugin(Newer, "newer", &hooks, "echo '{\"output\":\"no effect\"}'");
    chibi.plugin(Older, "older", &hooks, "");
    let told = chibi
        .ask(&["--yes", "go"], &[runs("echo the secret word"), says("done")])
        .went_well();
    let result = &told.results()[0];
    assert!(
        result.contains("the [hidden] word") && result.ends_with(" checked"),
        "{result}"
    );
    let seen = chibi.seen_of("pre_tool_output");
    assert_eq!(seen[0].data["tool_name"], "shell_exec");
    assert_eq!(seen[1].data["tool_name"], "run_command");
    assert_eq!(
        seen[0].data["arguments"],
        json!({"command": "echo the secret word"})
    );
    for seen in chibi.seen_of("post_tool_output") {
        assert_eq!(seen.data["output"], json!(result), "{seen:#?}");
        assert_eq!(seen.data["final_output"], json!(result), "{seen:#?}");
        assert_eq!(seen.data["cached"], false);
        has_fields(&seen.data, &["tool_name", "arguments"]);
    }
    for seen in chibi.seen_of("post_tool") {
        let name = if seen.plugin == "older" {
            "run_command"
        } else {
            "shell_exec"
        };
        assert_eq!(seen.data["tool_name"], name);
        assert_eq!(seen.data["result"], json!(result), "{seen:#?}");
        assert_eq!(seen.data["cached"], false);
        assert_eq!(seen.data["arguments"], json!({"command": "echo the secret word"}));
    }
}

#[test]
fn a_blocked_output_is_replaced_and_ends_the_chain() {
    for generation in [Newer, Older] {
        let chibi = Chibi::new();
        let body = "echo '{\"block\":true,\"message\":\"nothing to see\",\"output\":\"ignored\"}'";
        chibi.plugin(generation, "a", &["pre_tool_output"], body);
        let later = "[[ $CHIBI_HOOK == pre_tool_output ]] && echo '{\"output\":\"not asked\"}'; true";
        chibi.plugin(Newer, "b", &["pre_tool_output", "post_tool"], later);
        let told = chibi
            .ask(&["--yes", "go"], &[runs("echo secret; touch ran"), says("done")])
            .went_well();
        assert_eq!(told.results(), ["nothing to see"], "{generation:?}");
        assert!(chibi.room.has("ran"), "the tool has run all the same");
        assert_eq!(chibi.only("post_tool")["result"], "nothing to see");
    }
}

#[test]
fn a_block_without_a_message_still_hides_the_output() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "a", &["pre_tool_output"], "echo '{\"block\":true}'");
    let told = chibi
        .ask(&["--yes", "go"], &[runs("echo secret"), says("done")])
        .went_well();
    let result = &told.results()[0];
    assert!(!result.contains("secret") && !result.is_empty(), "{result}");
}

/// A room in which outputs of more than 1000 bytes are put aside.
fn with_small_limit() -> Chibi {
    let chibi = Chibi::new();
    chibi.room.config("[tools]\noutput_limit = 1000\n");
    chibi
}

#[test]
fn a_large_output_is_put_aside_and_its_hooks_are_told() {
    let chibi = with_small_limit();
    let hooks = [
        "pre_tool_output",
        "pre_cache_output",
        "post_cache_output",
        "post_tool_output",
        "post_tool",
    ];
    chibi.plugin(Newer, "newer", &hooks, "");
    let told = chibi
        .ask(&["--yes", "go"], &[runs("seq 1 2000"), says("done")])
        .went_well();
    assert_eq!(chibi.order(), hooks);
    let before = chibi.only("pre_cache_output");
    assert_eq!(before["tool_name"], "shell_exec");
    assert_eq!(before["arguments"], json!({"command": "seq 1 2000"}));
    let content = before["content"].as_str().expect("the whole output");
    assert!(content.contains("1000") && content.contains("2000"));
    assert_eq!(before["char_count"], content.chars().count());
    assert_eq!(before["output_size"], content.len());
    assert!(
        before["line_count"].as_u64() >= Some(1),
        "{}",
        before["line_count"]
    );
    let after = chibi.only("post_cache_output");
    assert_eq!(after["tool_name"], "shell_exec");
    assert_eq!(after["output_size"], before["output_size"]);
    for field in ["char_count", "line_count"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert!(after["token_estimate"].as_u64() > Some(0), "{after:#}");
    assert!(
        after["preview_size"].as_u64() < after["output_size"].as_u64(),
        "{after:#}"
    );
    let id = after["cache_id"].as_str().expect("an id");
    let address = format!("vfs:///sys/tool_cache/{}/{id}", chibi.room.context());
    assert!(told.results()[0].contains(&address), "{told:#?}");
    let output = chibi.only("post_tool_output");
    assert_eq!(output["cached"], true);
    assert_eq!(output["output"], content);
    assert_eq!(output["final_output"], json!(told.results()[0]));
    let tool = chibi.only("post_tool");
    assert_eq!(
        (&tool["cached"], &tool["result"]),
        (&json!(true), &json!(content))
    );
    let told = chibi
        .ask(
            &["go"],
            &[
                calls("grep", json!({"path": address, "pattern": "199[0-9]"})),
                says("done"),
            ],
        )
        .went_well();
    assert!(
        told.results().last().expect("a result").contains("1995"),
        "{told:#?}"
    );
}

#[test]
fn the_cache_takes_a_plugins_summary_or_is_left_out() {
    let answered = |answer: &str| {
        let chibi = with_small_limit();
        chibi.plugin(Older, "a", &["pre_cache_output"], &format!("echo '{answer}'"));
        chibi.plugin(Newer, "b", &["post_cache_output", "post_tool"], "");
        let told = chibi.ask(&["--yes", "go"], &[runs("seq 1 2000"), says("done")]);
        let stored = chibi.seen_of("post_cache_output").len();
        (
            told.went_well().results().remove(0),
            stored,
            chibi.only("post_tool"),
        )
    };
    let (result, stored, tool) = answered(r#"{"summary":"two thousand numbers"}"#);
    assert!(
        result.contains("two thousand numbers") && result.contains("vfs:///sys/tool_cache/"),
        "{result}"
    );
    assert!(
        !result.contains("\\n5\\n") && !result.contains("\n5\n"),
        "the summary stands for the preview: {result}"
    );
    assert_eq!((stored, &tool["cached"]), (1, &json!(true)));
    let (result, stored, tool) = answered(r#"{"block":true}"#);
    assert!(result.contains("1000") && result.contains("2000"), "{result}");
    assert_eq!((stored, &tool["cached"]), (0, &json!(false)));
}

#[test]
fn vfs_writes_tell_their_hooks_and_nobody_is_asked() {
    let chibi = Chibi::new();
    let hooks = ["pre_file_write", "pre_vfs_write", "post_vfs_write"];
    chibi.plugin(Newer, "watch", &hooks, "echo '{\"denied\":true}'");
    let path = "vfs:///shared/note.md";
    let write = calls("write_file", json!({"path": path, "content": "one two"}));
    let edit = json!({"path": path, "operation": "replace_string", "find": "two", "replace": "three"});
    let read = calls("file_head", json!({"path": path}));
    let told = chibi
        .ask(
            &["--tools", "chibi", "go"],
            &[write, calls("file_edit", edit), read, says("done")],
        )
        .went_well();
    assert!(told.results()[2].contains("one three"), "{told:#?}");
    assert_eq!(
        chibi.order(),
        [
            "pre_vfs_write",
            "post_vfs_write",
            "pre_vfs_write",
            "post_vfs_write"
        ]
    );
    let seen: Vec<Value> = chibi.seen().into_iter().map(|seen| seen.data).collect();
    for data in &seen {
        assert_eq!(data["path"], path);
        assert_eq!(data["caller"], chibi.room.context());
    }
    assert_eq!(seen[0]["tool_name"], "write_file");
    assert_eq!(seen[0]["content"], "one two");
    assert_eq!(seen[1]["tool_name"], "write_file");
    assert_eq!(seen[2]["tool_name"], "file_edit");
    assert_eq!(seen[2]["content"], Value::Null);
    assert!(seen[2].get("content").is_some());
}

#[test]
fn a_vfs_write_that_did_not_happen_is_not_told() {
    let chibi = Chibi::new();
    chibi.plugin(Newer, "watch", &["post_vfs_write"], "");
    chibi.plugin(
        Newer,
        "guard",
        &["pre_tool"],
        "[[ $data == *blocked* ]] && echo '{\"block\":true,\"message\":\"it looks fine\"}'; true",
    );
    let own = format!("vfs:///home/{}/x", chibi.room.context());
    let write = |path: &str| calls("write_file", json!({"path": path, "content": "x"}));
    let turns = [
        write("vfs:///shared/blocked"),
        write("vfs:///home/somebody-else/x"),
        write("vfs:///sys/x"),
        write(&own),
        says("done"),
    ];
    let told = chibi
        .ask(&["--tools", "chibi", "--yes", "go"], &turns)
        .went_well();
    assert_eq!(told.results().len(), 4);
    assert_eq!(chibi.only("post_vfs_write")["path"], own);
}
