//! Plugins that break, hang, stand in for builtins or bear their names: nothing of it opens a gate or costs a start.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::plugins::{bash, call, plugin, result};
use crate::room;

fn guard() -> String {
    bash("guard", ",\"hooks\":[\"pre_tool\"]", "echo '{}'")
}

fn place(room: &Room, name: &str) -> PathBuf {
    room.home().join(".chibi/plugins").join(name)
}

fn ran(room: &Room) -> Finished {
    let run = call(room, "tool", json!({}), &[]);
    assert_eq!(result(&run), "ran\n", "{run:#?}");
    run
}

fn a_room_with_a_tool() -> Room {
    let room = room();
    plugin(&room, "tool", &bash("tool", "", "echo ran"));
    room
}

#[test]
fn a_guard_that_was_taken_away_is_gone_and_forgotten() {
    let without: [fn(&Room); 2] = [
        |room| std::fs::remove_file(place(room, "guard")).expect("it is there"),
        |room| std::fs::rename(place(room, "guard"), place(room, "guard.disabled")).expect("it is there"),
    ];
    for take_away in without {
        let room = a_room_with_a_tool();
        plugin(&room, "guard", &guard());
        ran(&room);
        take_away(&room);
        let run = ran(&room);
        assert!(!run.stderr.contains("plugin guard"), "{run:#?}");
        let known = room.read("../home/.local/share/becket/plugins.json");
        assert!(!known.contains("guard\""), "{known}");
    }
}

/// A plugin in the place of `fetch_url` that has one more argument than that.
fn fetcher(extra: &str) -> String {
    let parameters = format!(
        ",\"parameters\":{{\"type\":\"object\",\"properties\":{{\"url\":{{\"type\":\"string\"}},\"{extra}\":{{}}}}}}"
    );
    bash("fetch_url", &parameters, "cat")
}

#[test]
fn a_plugin_in_a_builtins_place_may_have_an_argument_of_its_own() {
    let room = room();
    plugin(&room, "fetcher", &fetcher("selector"));
    let arguments = json!({"url": "http://127.0.0.1:9/x", "selector": {"css": ["a", 1]}});
    let run = call(&room, "fetch_url", arguments.clone(), &["--yes"]);
    let told: Value = serde_json::from_str(&result(&run)).expect("JSON");
    assert_eq!(told, arguments);
    assert_eq!(run.events_named("pre_tool")[0]["arguments"], arguments);
    assert_eq!(run.events_named("pre_fetch")[0]["url"], "http://127.0.0.1:9/x");
    let refused = |arguments: Value, words: &str| {
        let run = call(&room, "fetch_url", arguments, &["--yes"]);
        assert!(result(&run).contains(words), "{words}: {run:#?}");
        assert_eq!(run.events_named("post_tool")[0]["is_error"], true);
    };
    refused(json!({"selector": "a"}), "`url` is missing");
    refused(json!({"url": 7, "selector": "a"}), "`url` must be of type string");
    refused(
        json!({"url": "http://127.0.0.1:9/", "proxy": "b"}),
        "unknown field `proxy`",
    );
    refused(
        json!({"url": "http://127.0.0.1:9/", "uri": "http://127.0.0.1:10/"}),
        "duplicate field",
    );
    room.config("[permissions]\ndeny = [\"fetc?:selector=*secret*\", \"fetch:url=*:11/*\"]\n");
    let secret = json!({"url": "http://127.0.0.1:9/", "selector": "#secret"});
    refused(secret, "the rule `fetc?:selector=*secret*` denies it");
    refused(
        json!({"url": "http://127.0.0.1:11/", "selector": "a"}),
        "denies it",
    );
}

#[test]
fn another_name_of_a_judged_argument_is_none_of_a_plugins_own() {
    let room = room();
    plugin(&room, "fetcher", &fetcher("uri"));
    let run = call(
        &room,
        "fetch_url",
        json!({"uri": "http://127.0.0.1:9/"}),
        &["--yes"],
    );
    assert_eq!(run.events_named("pre_fetch")[0]["url"], "http://127.0.0.1:9/");
    assert_eq!(result(&run), "{\"url\":\"http://127.0.0.1:9/\"}");
    let both = json!({"url": "http://127.0.0.1:9/", "uri": "http://127.0.0.1:10/"});
    let run = call(&room, "fetch_url", both, &["--yes"]);
    assert!(result(&run).contains("duplicate field"), "{run:#?}");
}

#[test]
fn a_guard_sees_and_changes_the_argument_that_only_the_plugin_knows() {
    let room = room();
    plugin(&room, "fetcher", &fetcher("selector"));
    let body = "cat >> \"$HOME/seen\"\n\
                echo '{\"arguments\":{\"url\":\"http://127.0.0.1:9/other\",\"selector\":\"b\"}}'";
    plugin(&room, "guard", &bash("guard", ",\"hooks\":[\"pre_tool\"]", body));
    let arguments = json!({"url": "http://127.0.0.1:9/", "selector": "a"});
    let run = call(&room, "fetch_url", arguments, &["--yes"]);
    let told: Value = serde_json::from_str(&result(&run)).expect("JSON");
    assert_eq!(told, json!({"url": "http://127.0.0.1:9/other", "selector": "b"}));
    assert_eq!(
        run.events_named("pre_fetch")[0]["url"],
        "http://127.0.0.1:9/other"
    );
    assert!(room.read("../home/seen").contains("\"selector\":\"a\""));
}

#[test]
fn what_a_plugin_wrote_before_its_time_was_up_is_kept_and_the_setting_is_named() {
    let room = room();
    room.config("[chibi]\ntool_timeout = 5\nhook_timeout = 5\n");
    plugin(
        &room,
        "slow",
        &bash("slow", "", "echo half of it; echo oh >&2; sleep 600"),
    );
    let told = result(&call(&room, "slow", json!({}), &[]));
    assert!(told.starts_with("half of it\noh\n[timed out: "), "{told}");
    assert!(told.contains("raise `chibi.tool_timeout`"), "{told}");
    plugin(
        &room,
        "guard",
        &bash("guard", ",\"hooks\":[\"pre_tool\"]", "sleep 600"),
    );
    let told = result(&call(&room, "slow", json!({}), &[]));
    assert!(
        told.starts_with("refused: ") && told.contains("raise `chibi.hook_timeout`"),
        "{told}"
    );
}

#[test]
fn a_plugin_may_call_a_tool_while_its_context_is_in_use() {
    let room = room();
    room.write("file.txt", "words in a file");
    let becket = env!("CARGO_BIN_EXE_becket");
    let body = format!(
        "\"{becket}\" tool read '{{\"path\":\"file.txt\"}}' && \"{becket}\" plugin inner x && \"{becket}\" ask no 2>&1"
    );
    plugin(&room, "outer", &bash("outer", "", &body));
    plugin(&room, "inner", &bash("inner", "", "echo inside"));
    let run = call(&room, "outer", json!({}), &["-c", "here"]);
    let told = result(&run);
    assert!(
        told.contains("words in a file") && told.contains("inside\n"),
        "{told}"
    );
    assert!(
        told.contains("in use"),
        "a prompt still needs the context for itself: {told}"
    );
    let contexts = room.run(["--json", "contexts"]).ended_with(0).events();
    let here = contexts
        .iter()
        .find(|context| context["name"] == "here")
        .expect("it is there");
    assert_eq!(
        here["message_count"], 4,
        "prompt, call, result, answer: {contexts:?}"
    );
}

#[test]
fn a_named_home_without_plugins_is_remarked_on_and_the_usual_one_is_not() {
    let room = room();
    room.write("../named/config.toml", "");
    room.write("../home/.chibi/config.toml", "");
    let run = room.run(["--chibi-home", "../named", "go"]).ended_with(0);
    assert_eq!(run.stderr.matches("there is no folder").count(), 1, "{run:#?}");
    run.complained("named/plugins, so there are none");
    let run = room.run(["go"]).ended_with(0);
    assert!(!run.stderr.contains("there is no folder"), "{run:#?}");
}

#[test]
fn why_there_are_no_plugins_is_told_as_it_is() {
    let room = room();
    plugin(&room, "one", &bash("one", "", ""));
    let home = room.home().join(".chibi").display().to_string();
    room.config("[chibi]\nenabled = false\n");
    let room = room.with("CHIBI_HOME", &home);
    room.run(["plugin"])
        .ended_with(2)
        .complained("plugins are disabled")
        .complained("`enabled = false` in [chibi]");
    room.config("[chibi]\nolder = [\"one\"]\nnewer = [\n  \"two\",\n  \"one\",\n]\n");
    room.run(["plugin"])
        .ended_with(2)
        .complained("config.toml:5")
        .complained("`chibi.older` and `chibi.newer` both name `one`");
}

#[test]
fn every_hook_of_chibis_has_its_time_and_misspelt_ones_are_wrong() {
    let room = room();
    let hooks = |hooks: &str| bash("index", &format!(",\"hooks\":[{hooks}]"), "echo '{}'");
    plugin(&room, "index", &hooks("\"on_start\",\"post_spawn_agent\""));
    let run = room.run(["doctor"]).ended_with(0);
    assert!(
        !run.stdout.contains("note  plugin"),
        "each hook of chibi's has its time: {}",
        run.stdout
    );
    plugin(&room, "index", &hooks("\"on_start\",\"no_such\""));
    room.run(["doctor"])
        .ended_with(1)
        .said("wrong plugin index: it wants the hook `no_such`");
    plugin(&room, "same", &bash("index", "", ""));
    room.run(["plugin"])
        .ended_with(0)
        .said("tools index  hooks on_start, no_such (unknown)\n")
        .said("tools index (not offered)\n");
    let lines = room.run(["--json", "plugin"]).ended_with(0).events();
    assert_eq!(lines[0]["unknown_hooks"], json!(["no_such"]));
    assert_eq!(lines[1]["not_offered"], json!(["index"]));
}

#[test]
fn the_agents_own_tools_keep_their_names() {
    let room = room();
    let names = ["call_user", "update_todos", "update_goals"];
    for name in names {
        plugin(&room, name, &bash(name, "", "touch \"$HOME/ran\""));
    }
    let mut run = call(&room, "update_todos", json!({"content": "one"}), &[]);
    for name in names {
        run = run.complained(&format!(
            "plugin {name}: its tool \"{name}\" is not offered: becket has a tool of that name"
        ));
    }
    assert!(!room.has("../home/ran"), "{run:#?}");
    let offered = run.events_named("tools_offered")[0]["tools"].clone();
    let todos = offered
        .as_array()
        .expect("a list")
        .iter()
        .find(|tool| tool["name"] == "update_todos");
    assert_eq!(todos.expect("it is offered")["source"], "builtin");
}
