//! MCP servers, as real programs and over HTTP: they start late, they misbehave, and nothing of it opens the gate,
//! hangs a run or is left behind.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};
use testkit::{Room, needs, quoted};

use crate::plugins::{bash, call, plugin, result};
use crate::{repository_file, room};

/// How long something is waited for that must come.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A server's program.
fn program(name: &str) -> PathBuf {
    repository_file(&format!("crates/faces/becket/tests/blackbox/mcp/{name}")).into()
}

/// Settings of a server that is a program and behaves in some way.
fn server(room: &Room, name: &str, mode: &str, more: &str) -> String {
    let log = quoted(&log_file(room, name));
    format!(
        "[mcp.servers.{name}]\ncommand = \"python3\"\nargs = [{}, \"{mode}\"]\nenv = {{ SERVER_LOG = {log} }}\n\
         start_timeout = 60\n{more}\n",
        quoted(&program("server.py"))
    )
}

fn log_file(room: &Room, name: &str) -> PathBuf {
    room.home().join(format!("{name}.log"))
}

fn log(room: &Room, name: &str) -> String {
    std::fs::read_to_string(log_file(room, name)).unwrap_or_default()
}

fn starts(room: &Room, name: &str) -> usize {
    log(room, name).lines().filter(|line| *line == "started").count()
}

/// A room with one server, called `one`; nothing without Python.
pub fn with_server(mode: &str, more: &str) -> Option<Room> {
    let room = needs("python3").then(room)?;
    room.config(&server(&room, "one", mode, more));
    Some(room)
}

/// The same server as other systems declare it, in a JSON object.
pub fn declared_server(mode: &str) -> Value {
    json!({"command": "python3", "args": [program("server.py"), mode], "env": {"SERVER_LOG": "${SERVER_LOG:-server.log}"}})
}

/// Lets the model call a tool, with `--yes`, and says what it got.
fn got(room: &Room, tool: &str, arguments: Value) -> String {
    result(&call(room, tool, arguments, &["--yes"]))
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < TEST_TIMEOUT, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is there and no corpse.
fn lives(id: i32) -> bool {
    let is_corpse = std::fs::read_to_string(format!("/proc/{id}/stat"))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')));
    Pid::from_raw(id).is_some_and(|id| test_kill_process(id).is_ok()) && !is_corpse
}

#[test]
fn a_servers_tools_are_offered_from_memory_and_it_starts_with_the_first_call() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    room.run(["mcp", "list"])
        .ended_with(0)
        .said("not asked yet")
        .said("config.toml");
    assert_eq!(starts(&room, "one"), 0);
    let tools = room.run(["mcp", "tools"]).ended_with(0);
    tools
        .said("one_echo")
        .said("Says it again.  (says: read-only)")
        .said("one_act_now");
    assert_eq!(starts(&room, "one"), 1);
    // A run that calls none of its tools does not start it.
    let run = room
        .run(["--json", "--model", "rehearsal", "hello"])
        .ended_with(0);
    let offered = run.events_named("tools_offered");
    let offered = offered[0]["tools"].as_array().expect("a list");
    let echo = offered
        .iter()
        .find(|tool| tool["name"] == "one_echo")
        .expect("it is offered");
    assert_eq!(echo["source"], "mcp:one");
    assert_eq!(starts(&room, "one"), 1);
    assert_eq!(got(&room, "one_echo", json!({"text": "hallo"})), "hallo");
    assert_eq!(starts(&room, "one"), 2);
    assert!(
        log(&room, "one").ends_with("input closed\n"),
        "it may end by itself"
    );
    room.run(["mcp", "list"]).ended_with(0).said("2 tools");
    room.run(["doctor"]).ended_with(0).said("MCP server one (python3");
}

#[test]
fn a_changed_server_is_asked_again() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    let copy = room.write(
        "../home/server.py",
        std::fs::read(program("server.py")).expect("it is there"),
    );
    let settings = server(&room, "one", "well", "").replace(&quoted(&program("server.py")), &quoted(&copy));
    room.config(&settings);
    for _ in 0..2 {
        room.run(["mcp", "tools"]).ended_with(0).said("Says it again.");
    }
    assert_eq!(starts(&room, "one"), 1);
    let text = std::fs::read_to_string(&copy).expect("it is there");
    std::fs::write(&copy, text.replace("Says it again.", "Says it twice.")).expect("the room is writable");
    room.run(["mcp", "tools"]).ended_with(0).said("Says it twice.");
    assert_eq!(starts(&room, "one"), 2);
}

#[test]
fn servers_that_do_not_start_well_cost_one_start_and_leave_the_run_alone() {
    if !needs("python3") {
        return;
    }
    for (mode, wanted) in [
        ("silent", "it did not answer within 2 s; raise `start_timeout`"),
        ("rubbish", "it did not answer within 2 s"),
        (
            "exits",
            "it ended with exit status: 3; the end of its stderr: no licence found",
        ),
        ("silent-list", "it did not say in time which tools it has"),
        ("rubbish-list", "what it says of its tools cannot be understood"),
        ("wrong-greeting", "it is left out: "),
    ] {
        let room = room();
        // Those that answer need time to start; those that do not are waited for.
        let timeout = if matches!(mode, "silent" | "rubbish" | "silent-list") {
            2
        } else {
            60
        };
        let settings = server(&room, "one", mode, "");
        room.config(&settings.replace("start_timeout = 60", &format!("start_timeout = {timeout}")));
        let run = || room.run(["--model", "rehearsal", "hello"]).ended_with(0);
        run()
            .complained("MCP server one: it is left out: ")
            .complained(match mode {
                // A slow machine may be too slow for the greeting as well.
                "silent-list" => "MCP server one: ",
                _ => wanted,
            });
        run()
            .complained("because it failed a short while ago")
            .complained("`becket mcp check one` tries it again");
        assert!(starts(&room, "one") <= 1, "{mode}: a failure is remembered");
        room.run(["mcp", "check"]).ended_with(1).said("wrong one: ");
        room.run(["doctor"]).ended_with(1).said("wrong MCP server one: ");
    }
}

#[test]
fn what_a_server_does_in_a_call_is_an_error_result_and_no_more() {
    if !needs("python3") {
        return;
    }
    for (mode, wanted) in [
        (
            "hangs-in-call",
            "no answer within 3 s. What it was asked for may or may not have happened; raise `timeout`",
        ),
        (
            "dies-in-call",
            "it ended with exit status: 7; the end of its stderr: the disk is on fire. What it was asked",
        ),
        ("rubbish-in-call", "its answer cannot be understood"),
        ("error-in-call", "it refused the call: the text is missing"),
        ("large-line", "What it was asked for may or may not have happened"),
        ("noise-in-call", "no answer within 3 s"),
        ("floods-in-call", "it asked on and on without reading the answers"),
    ] {
        let room = room();
        let more = if mode.starts_with("hangs") || mode.starts_with("noise") {
            "timeout = 3"
        } else {
            "timeout = 100"
        };
        room.config(&server(&room, "one", mode, more));
        let found = got(&room, "one_echo", json!({"text": "x"}));
        assert!(
            found.starts_with("[the MCP server one failed: "),
            "{mode}: {found}"
        );
        assert!(found.contains(wanted), "{mode}: {found}");
        assert!(
            found.contains("`becket mcp check one` tries it"),
            "{mode}: {found}"
        );
        if mode == "dies-in-call" {
            assert_eq!(
                log(&room, "one").matches("acted").count(),
                1,
                "it is not asked a second time"
            );
        }
    }
}

#[test]
fn results_of_every_kind_reach_the_model() {
    let Some(room) = with_server("kinds", "") else {
        return;
    };
    let found = got(&room, "one_echo", json!({"text": "x"}));
    for part in [
        "some words",
        "[picture: image/png, 70 bytes]",
        "[audio: audio/wav, 3 bytes]",
        "[resource memo:1]\na memo",
        "[resource two: memo:2]",
        "{\"answer\":42}",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
    room.config(&server(&room, "one", "fails", ""));
    let run = call(&room, "one_echo", json!({"text": "x"}), &["--yes"]);
    assert_eq!(run.events_named("post_tool")[0]["is_error"], true);
    assert_eq!(result(&run), "it did not work");
    room.config(&server(&room, "one", "large", ""));
    let run = call(&room, "one_echo", json!({"text": "x"}), &["--yes"]);
    assert_eq!(run.events_named("post_tool")[0]["cached"], true);
}

#[test]
fn a_server_that_left_between_two_calls_is_started_again() {
    let Some(room) = with_server("leaves-once", "") else {
        return;
    };
    let calls = |id: &str| json!({"tool_calls": [{"id": id, "name": "one_echo", "arguments": {"text": id}}]});
    let model = room.model(&json!([calls("a"), calls("b"), {"text": "done"}]));
    // The second call comes when the server has surely left.
    let left = format!("{}.left", log_file(&room, "one").display());
    let wait = format!(
        "id=$(cat '{left}'); while [ -e /proc/$id ] && ! grep -q ') Z ' /proc/$id/stat; do sleep 0.05; done; echo '{{}}'"
    );
    let hooks = room.hooks(&format!(
        "[[hook]]\nname = \"wait\"\nevent = \"post_tool\"\ncommand = \"\"\"{wait}\"\"\"\ntimeout = 60\n"
    ));
    let run = room
        .run(["--json", "--yes", "--hooks", &hooks, "--model", &model, "go"])
        .ended_with(0);
    let results = run.events_named("post_tool");
    let results: Vec<&Value> = results.iter().map(|event| &event["result"]).collect();
    assert_eq!(results, ["last words", "last words"]);
    assert_eq!(
        starts(&room, "one"),
        2,
        "once for the list and the first call, once again"
    );
}

#[test]
fn servers_ask_in_vain_but_learn_where_the_work_is_done() {
    let Some(room) = with_server("asks", "") else {
        return;
    };
    let found: Value = serde_json::from_str(&got(&room, "one_echo", json!({"text": "x"}))).expect("JSON");
    let work = room.work().display().to_string();
    assert_eq!(found[0]["roots"][0]["uri"], format!("file://{work}/"));
    assert!(
        found[1]["message"]
            .as_str()
            .expect("words")
            .contains("lends its model to no server"),
        "{found}"
    );
    assert!(
        found[2]["message"]
            .as_str()
            .expect("words")
            .contains("no server's questions"),
        "{found}"
    );
}

#[test]
fn progress_is_heard_and_changed_tools_count_from_the_next_run() {
    let Some(room) = with_server("progress", "") else {
        return;
    };
    let run = call(&room, "one_echo", json!({"text": "x"}), &["--yes"]);
    let told = run.events_named("tool_update");
    assert!(
        told.iter().any(|event| event.to_string().contains("half done")),
        "{run:#?}"
    );
    room.config(&server(&room, "one", "changes", ""));
    assert_eq!(got(&room, "one_echo", json!({"text": "x"})), "x");
    room.run(["mcp", "tools"]).ended_with(0).said("one_late");
}

#[test]
fn without_a_yes_nothing_runs_whatever_the_server_says_of_its_tools() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    let refused = |options: &[&str]| {
        let found = result(&call(&room, "one_echo", json!({"text": "x"}), options));
        assert!(found.starts_with("refused: "), "{found}");
        found
    };
    assert!(refused(&[]).contains("there is no terminal to ask at"));
    assert!(!log(&room, "one").contains("tools/call"));
    let rules = |rules: &str| {
        room.config(&format!(
            "{}[permissions]\n{rules}\n",
            server(&room, "one", "well", "")
        ))
    };
    rules("allow = [\"one_*\"]");
    assert_eq!(result(&call(&room, "one_echo", json!({"text": "x"}), &[])), "x");
    rules("deny = [\"one_echo:text=*secret*\"]");
    let found = result(&call(&room, "one_echo", json!({"text": "a secret"}), &["--yes"]));
    assert!(
        found.contains("the rule `one_echo:text=*secret*` denies it"),
        "{found}"
    );
    assert_eq!(got(&room, "one_echo", json!({"text": "x"})), "x");
    rules("deny = [\"one_ecko\"]");
    room.run(["--model", "rehearsal", "hello"])
        .complained("`one_ecko`, which does not exist");
}

#[test]
fn guards_judge_calls_of_servers_and_a_broken_one_refuses() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    for (body, wanted) in [
        ("echo '{\"verdict\": {\"deny\": \"not today\"}}'", "not today"),
        ("exit 1", "judge"),
        ("echo rubbish", "judge"),
        ("kill -9 $$", "judge"),
        ("sleep 600", "judge"),
    ] {
        for event in ["pre_tool", "pre_fetch"] {
            let hooks = room.hooks(&format!(
                "[[hook]]\nname = \"judge\"\nevent = \"{event}\"\ncommand = '''{body}'''\ntimeout = 2\n"
            ));
            let run = call(
                &room,
                "one_echo",
                json!({"text": "x"}),
                &["--yes", "--hooks", &hooks],
            );
            let found = result(&run);
            assert!(
                found.starts_with("refused: ") && found.contains(wanted),
                "{event} {body}: {found}"
            );
        }
    }
    assert!(
        !log(&room, "one").contains("tools/call"),
        "it ran although it was refused"
    );
}

#[test]
fn plugins_of_a_chibi_home_see_servers_as_their_own() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let file = format!(
        "idle_timeout_minutes = 5\n[summary]\nenabled = false\n[servers.bridge]\ncommand = \"python3\"\nargs = [{}, \
         \"environment\"]\n[servers.odd]\nargs = []\n",
        quoted(&program("server.py"))
    );
    room.write("../home/.chibi/mcp-bridge.toml", file);
    let hooks = ",\"hooks\":[\"pre_api_tools\",\"pre_fetch_url\"]";
    plugin(
        &room,
        "watch",
        &bash(
            "watch",
            hooks,
            "cat >> \"$HOME/seen\"; echo >> \"$HOME/seen\"; echo '{}'",
        ),
    );
    let run = call(&room, "bridge_echo", json!({"names": ["HOME"]}), &["--yes"])
        .complained("MCP server odd: it is left out: its entry has neither `command` nor `url`");
    let found: Value = serde_json::from_str(&result(&run)).expect("JSON");
    let home = room.home().join(".chibi");
    assert_eq!(
        found["cwd"],
        home.display().to_string(),
        "it runs in the chibi home"
    );
    let seen = room.read("../home/seen");
    assert!(
        seen.contains("{\"name\":\"bridge_echo\",\"type\":\"mcp\"}"),
        "{seen}"
    );
    assert!(
        seen.contains("\"safety\":\"no_url\"") && seen.contains("bridge_echo"),
        "{seen}"
    );
    room.run(["mcp", "list"])
        .ended_with(0)
        .said("mcp-bridge.toml")
        .complained("odd");
    // Settings of becket's own stand in for those of the home.
    room.config(&server(&room, "bridge", "well", ""));
    assert_eq!(got(&room, "bridge_echo", json!({"text": "mine"})), "mine");
    room.config("[mcp.servers.bridge]\nenabled = false\n");
    let run = room.run(["--json", "mcp", "list"]).ended_with(0);
    assert!(!run.stdout.contains("bridge"), "{run:#?}");
    room.config("[mcp]\nbridge = false\n");
    room.run(["mcp", "list"])
        .ended_with(0)
        .complained("there are no MCP servers");
    room.write("../home/.chibi/mcp-bridge.toml", "[servers\n");
    room.config("");
    room.run(["mcp", "check"])
        .ended_with(1)
        .said("mcp-bridge.toml is left out: line 1: ");
}

#[test]
fn a_plugin_that_refuses_what_has_no_address_refuses_servers() {
    let Some(room) = with_server("well", "") else {
        return;
    };
    let body =
        "if grep -q no_url; then echo '{\"denied\": true, \"reason\": \"no network\"}'; else echo '{}'; fi";
    plugin(
        &room,
        "offline",
        &bash("offline", ",\"hooks\":[\"pre_fetch_url\"]", body),
    );
    let found = got(&room, "one_echo", json!({"text": "x"}));
    assert!(
        found.starts_with("refused: ") && found.contains("no network"),
        "{found}"
    );
}

#[test]
fn names_that_are_taken_stay_with_who_has_them() {
    if !needs("python3") {
        return;
    }
    let room = room();
    plugin(&room, "one_echo", &bash("one_echo", "", "echo the plugin"));
    room.config(&format!(
        "{}{}",
        server(&room, "one", "clash", ""),
        server(&room, "shell", "clash", "")
    ));
    let run = call(&room, "one_echo", json!({}), &["--yes"]);
    assert_eq!(result(&run), "the plugin\n");
    run.complained("MCP server one: its tool \"echo\" is not offered: one_echo is a name of one_echo's")
        .complained("MCP server one: its tool \"act/now\" is not offered: one_act_now is a name of mcp:one's")
        .complained("MCP server shell: its tool \"exec\" is not offered: shell_exec is a name of becket's");
    room.run(["mcp", "tools", "shell"])
        .ended_with(0)
        .said("(not offered)")
        .said("shell_echo");
}

#[test]
fn no_server_takes_a_name_that_looks_like_anothers() {
    if !needs("python3") {
        return;
    }
    let room = room();
    room.config(&format!(
        "{}{}[permissions]\nallow = [\"files_ro_*\"]\n",
        server(&room, "files", "takes-names", ""),
        server(&room, "files_ro", "well", "")
    ));
    let run = call(&room, "files_ro_echo", json!({"text": "x"}), &["--yes"]);
    assert_eq!(result(&run), "x");
    run.complained(
        "MCP server files: its tool \"ro_echo\" is not offered: files_ro_echo looks like a tool of the server \
         files_ro",
    );
    assert!(!log(&room, "files").contains("heard tools/call"));
}

#[test]
fn what_a_server_tells_of_its_secrets_is_hidden() {
    if !needs("python3") {
        return;
    }
    let room = room().with("TOKEN", "for the server");
    let settings = server(&room, "one", "tells-secrets\", \"--key=${TOKEN}", "");
    room.config(&settings.replace("env = {", "env = { LICENCE = \"${TOKEN}\","));
    let run = call(&room, "one_echo", json!({"text": "x"}), &["--yes"]);
    assert_eq!(result(&run), "The key is [hidden]");
    let lists = [
        room.run(["mcp", "list"]).said("--key=[hidden]"),
        room.run(["--json", "mcp", "list"]).said("--key=[hidden]"),
        room.run(["mcp", "tools"]).said("Knows [hidden]"),
        room.run(["doctor"]),
    ];
    for run in lists.iter().chain([&run]) {
        assert!(!run.stdout.contains("for the server"), "{run:#?}");
    }
}

#[test]
fn a_server_gets_no_keys_but_those_that_are_meant_for_it() {
    if !needs("python3") {
        return;
    }
    let room = room()
        .with("OPENAI_API_KEY", "hunter2")
        .with("TOKEN", "for the server");
    let more = "cwd = \"${PWD}\"\n[mcp.servers.one.env]\nGIVEN = \"a ${TOKEN}\"\n";
    let settings = server(&room, "one", "environment", "");
    let settings = settings
        .lines()
        .filter(|line| !line.starts_with("env"))
        .collect::<Vec<_>>()
        .join("\n");
    room.config(&format!("{settings}\n{more}"));
    let names = json!({"names": ["OPENAI_API_KEY", "GIVEN", "TOKEN"]});
    let found: Value = serde_json::from_str(&got(&room, "one_echo", names)).expect("JSON");
    let work = room.work().display().to_string();
    let wanted = json!({"OPENAI_API_KEY": null, "GIVEN": "a [hidden]", "TOKEN": "[hidden]", "cwd": work});
    assert_eq!(found, wanted);
    let lists = [room.run(["mcp", "list"]), room.run(["--json", "mcp", "list"])];
    assert!(
        lists.iter().all(|run| !run.stdout.contains("for the server")),
        "{lists:#?}"
    );
    room.config(&format!(
        "{settings}\n[mcp.servers.one.env]\nGIVEN = \"${{MISSING}}\"\n"
    ));
    room.run(["mcp", "check"])
        .ended_with(1)
        .said("wrong one: it is left out: the variable MISSING is not set");
    let exits = settings.replace("environment", "exits");
    room.config(&format!(
        "{exits}\n[mcp.servers.one.env]\nLICENCE = \"${{TOKEN}}\"\n"
    ));
    let run = room
        .run(["mcp", "check"])
        .ended_with(1)
        .said("no licence found [hidden]");
    assert!(!run.stdout.contains("for the server"), "{run:#?}");
}

#[test]
fn everything_that_a_server_started_ends_with_the_run() {
    let Some(room) = with_server("child", "") else {
        return;
    };
    assert_eq!(got(&room, "one_echo", json!({"text": "x"})), "x");
    let log = log(&room, "one");
    let children = log
        .lines()
        .filter_map(|line| line.strip_prefix("child ")?.parse().ok());
    let children: Vec<i32> = children.collect();
    assert!(!children.is_empty(), "{log}");
    wait_until("the children of the server end", || {
        children.iter().all(|child| !lives(*child))
    });
}

#[test]
fn a_server_that_is_loud_without_end_works_all_the_same() {
    let Some(room) = with_server("loud", "") else {
        return;
    };
    assert_eq!(got(&room, "one_echo", json!({"text": "x"})), "x");
}

#[test]
fn cancelling_the_run_cancels_the_call() {
    let Some(room) = with_server("waits", "timeout = 500") else {
        return;
    };
    let model = room.model(&json!([
        {"tool_calls": [{"name": "one_echo", "arguments": {"text": "x"}}]},
        {"text": "went on"}
    ]));
    let run = room.start(["--yes", "--model", &model, "go"]);
    wait_until("the call is under way", || log(&room, "one").contains("waiting"));
    run.signal(Signal::INT);
    run.finish().ended_with(130);
    wait_until("the server hears of it", || {
        log(&room, "one").contains("\ncancelled")
    });
}

#[test]
fn cancelling_does_not_wait_for_a_silent_server_and_leaves_none_behind() {
    for words in [
        &["mcp", "check"][..],
        &["mcp", "tools"],
        &["doctor"],
        &["--yes", "--model", "rehearsal", "go"],
        &["tool", "read", "{\"path\": \"x\"}"],
    ] {
        let Some(room) = with_server("silent", "") else {
            return;
        };
        let began = Instant::now();
        let run = room.start(words);
        wait_until("the server has started", || starts(&room, "one") == 1);
        run.signal(Signal::INT);
        run.finish().ended_with(130);
        assert!(began.elapsed() < Duration::from_secs(50), "{words:?} waited");
        let log = log(&room, "one");
        let pids = log
            .lines()
            .filter_map(|line| line.strip_prefix("pid ")?.parse().ok());
        let pids: Vec<i32> = pids.collect();
        assert!(!pids.is_empty(), "{log}");
        wait_until("the server ends", || pids.iter().all(|pid| !lives(*pid)));
    }
}

#[test]
fn only_the_tools_that_are_wanted_are_offered() {
    let Some(room) = with_server(
        "odd-schema",
        "tools = { allow = [\"e*\", \"odd\"], deny = [\"odd*\"] }",
    ) else {
        return;
    };
    let run = room.run(["mcp", "tools"]).ended_with(0).said("one_echo");
    assert!(!run.stdout.contains("act_now"), "{run:#?}");
    run.complained("its tool \"odd\" is not offered: its arguments are no object but \"string\"");
}

#[test]
fn an_endless_list_of_tools_ends() {
    let Some(room) = with_server("endless-list", "") else {
        return;
    };
    room.run(["mcp", "tools"])
        .ended_with(0)
        .said("one_echo")
        .complained("its tool \"echo\" is not offered: one_echo is a name of mcp:one's");
}

#[test]
fn wrong_settings_are_errors_with_their_lines() {
    let room = room();
    for (settings, wanted) in [
        (
            "[mcp.servers.a]\n",
            "config.toml:1: the MCP server `a`: it needs `command` or `url`",
        ),
        (
            "[mcp.servers.a]\ncommand = \"x\"\nurl = \"http://x\"\n",
            "not both",
        ),
        ("[mcp.servers.a]\ncommand = \" \"\n", "`command` is empty"),
        (
            "[mcp.servers.a]\ncommand = \"x\"\nheaders = { a = \"b\" }\n",
            "`headers` are for a server with a `url`",
        ),
        (
            "[mcp.servers.a]\nurl = \"http://x\"\nargs = [\"b\"]\n",
            "`args`, `env` and `cwd` are for",
        ),
        (
            "[mcp.servers.a]\ncommand = \"x\"\ntimeout = 0\n",
            "config.toml:3: the MCP server `a`: times are from 1",
        ),
        (
            "[mcp.servers.a]\ncommand = \"x\"\ntools = { allow = [\"[\"] }\n",
            "`[`",
        ),
        ("[mcp.servers.a]\ncomand = \"x\"\n", "comand"),
    ] {
        room.config(settings);
        room.run(["mcp", "list"]).ended_with(2).complained(wanted);
    }
    for (url, wanted) in [
        ("ftp://x/", "begin with http:// or https://"),
        ("http://me:pw@x/", "holds a name or a password"),
        ("nonsense", "is not an address"),
    ] {
        room.config(&format!("[mcp.servers.a]\nurl = \"{url}\"\n"));
        room.run(["mcp", "check"]).ended_with(1).said(wanted);
    }
    room.config("[mcp.servers.github]\ncommand = \"becket-no-such-program\"\n");
    room.run(["mcp", "check", "gitub"])
        .ended_with(2)
        .complained("did you mean `github`?");
    room.run(["mcp", "check", "github"])
        .ended_with(1)
        .said("is in no folder of PATH");
    room.write("becket.toml", "[mcp.servers.a]\ncommand = \"x\"\n");
    let run = room.run(["--trust", "--model", "rehearsal", "hello"]);
    assert_ne!(run.code, 0, "a project brings no servers: {run:#?}");
}

/// A server over HTTP that runs until it is dropped.
struct Web {
    child: std::process::Child,
    port: u16,
    log: PathBuf,
}

impl Web {
    fn start(room: &Room, mode: &str) -> Self {
        Self::start_program(room, "web.py", mode)
    }

    fn start_program(room: &Room, name: &str, mode: &str) -> Self {
        let (port, log) = (room.home().join("port"), room.home().join("web.log"));
        let _ = std::fs::remove_file(&port);
        let _ = std::fs::remove_file(&log);
        let child = std::process::Command::new("python3")
            .arg(program(name))
            .arg(mode)
            .args([&port, &log])
            // Python tells at length of every client that went away.
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("python3 can be started");
        let read = || {
            std::fs::read_to_string(&port)
                .ok()
                .and_then(|text| text.parse().ok())
        };
        wait_until("the server listens", || read().is_some());
        let port = read().expect("it was there");
        Self { child, port, log }
    }

    fn settings(&self, more: &str) -> String {
        format!(
            "[mcp.servers.web]\nurl = \"http://127.0.0.1:{}/mcp?key=hunter2\"\n{more}\n",
            self.port
        )
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn servers_on_the_web_answer_with_json_and_with_events() {
    if !needs("python3") {
        return;
    }
    for mode in ["well", "events", "expires"] {
        let room = room().with("KEY", "sesame");
        let web = Web::start(&room, mode);
        room.config(&web.settings("headers = { X-Key = \"${KEY}\" }"));
        let run = call(&room, "web_echo", json!({"text": "hallo"}), &["--yes"]);
        assert_eq!(result(&run), "web: hallo", "{mode}");
        let log = web.log();
        assert!(log.contains("tools/call key=sesame session=s-1"), "{log}");
        assert!(log.contains("DELETE s-1"), "the session is ended: {log}");
        assert!(!log.contains("GET "), "{log}");
        if mode == "events" {
            assert!(run.stdout.contains("on the way"), "{run:#?}");
        }
        let list = room.run(["mcp", "list"]).ended_with(0).said("http://127.0.0.1:");
        assert!(
            !format!("{list:?}{run:?}").contains("hunter2"),
            "the key in the address is shown"
        );
        assert!(
            !format!("{list:?}{run:?}").contains("sesame"),
            "the key in a header is shown"
        );
    }
}

#[test]
fn servers_in_the_older_form_speak_over_a_standing_stream() {
    if !needs("python3") {
        return;
    }
    let room = room().with("KEY", "sesame");
    let web = Web::start_program(&room, "stream.py", "well");
    let header = "headers = { X-Key = \"${KEY}\" }";
    room.config(&web.settings(&format!("transport = \"sse\"\n{header}")));
    let run = call(&room, "web_echo", json!({"text": "hallo"}), &["--yes"]);
    assert_eq!(result(&run), "stream: hallo", "{}", web.log());
    let log = web.log();
    assert!(log.contains("GET /mcp?key=hunter2 key=sesame"), "{log}");
    assert!(log.contains("key=sesame tools/call"), "{log}");
    assert!(!format!("{run:?}").contains("sesame"));
    // The same server, as an agent file names it.
    let file = format!(
        "agents:\n  root:\n    toolsets:\n      - type: mcp\n        name: web\n        remote: {{url: \
         'http://127.0.0.1:{}/mcp', transport_type: sse, headers: {{X-Key: mine}}}}\n",
        web.port
    );
    room.config("");
    room.write("agent.yaml", file);
    let turns = json!([
        {"tool_calls": [{"name": "web_echo", "arguments": {"text": "welt"}}]}, {"text": "done"}
    ]);
    let model = room.model(&turns);
    let run = room.run(["run", "agent.yaml", "go", "--json", "--yes", "--model", &model]);
    assert!(run.ended_with(0).stdout.contains("stream: welt"), "{}", web.log());
    assert!(web.log().contains("key=mine tools/call"), "{}", web.log());
}

#[test]
fn a_server_in_the_older_form_sends_messages_nowhere_else() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let web = Web::start_program(&room, "stream.py", "elsewhere");
    room.config(&web.settings("transport = \"sse\""));
    room.run(["mcp", "check"])
        .ended_with(1)
        .said("it wants messages to be sent to http://127.0.0.1:1/messages, which was not judged");
}

#[test]
fn servers_on_the_web_misbehave_in_vain() {
    if !needs("python3") {
        return;
    }
    let at_start = |mode: &str, more: &str, wanted: &str| {
        let room = room();
        let web = Web::start(&room, mode);
        room.config(&web.settings(more));
        let run = room.run(["mcp", "check"]).ended_with(1).said(wanted);
        assert!(!run.stdout.contains("hunter2"), "{run:#?}");
    };
    let elsewhere = "it redirects to http://127.0.0.1:1/elsewhere, which was not judged and is not followed";
    at_start("redirects", "", elsewhere);
    at_start(
        "locked",
        "",
        "it answered with HTTP 401; it wants to know who asks: set `headers`: who are you?",
    );
    at_start(
        "page",
        "",
        "it answered with \"text/html\" instead of a message: <html>hello</html>",
    );
    at_start("silent", "start_timeout = 2", "it did not answer within 2 s");
    for (mode, more, wanted) in [
        (
            "broken",
            "",
            "it answered with HTTP 500: oh no. What it was asked for may or may not have happened",
        ),
        ("hangs-in-call", "timeout = 3", "no answer within 3 s"),
        ("endless", "timeout = 100", "failed: "),
    ] {
        let room = room();
        let web = Web::start(&room, mode);
        room.config(&web.settings(more));
        let found = got(&room, "web_echo", json!({"text": "x"}));
        assert!(found.contains(wanted), "{mode}: {found}");
        assert_eq!(
            web.log().matches("acted").count(),
            1,
            "{mode}: it is not asked a second time"
        );
    }
    let room = room();
    let web = Web::start(&room, "well");
    room.config(&web.settings(""));
    room.run(["mcp", "tools"]).ended_with(0).said("web_echo");
    drop(web);
    let found = got(&room, "web_echo", json!({"text": "x"}));
    assert!(
        found.contains("it could not be started: ") && found.contains("refused"),
        "{found}"
    );
}
