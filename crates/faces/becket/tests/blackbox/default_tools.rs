//! The tools that a model is offered where nobody says which, and what brings more of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Recorded, Response, Room};

use crate::{repository_file, room};

const USUAL: [&str; 13] = [
    "shell",
    "read",
    "write",
    "edit",
    "list",
    "find",
    "grep",
    "fetch",
    "update_todos",
    "spawn_agent",
    "list_background_jobs",
    "view_background_job",
    "stop_background_job",
];

/// A room whose model says the same again and again.
fn connected() -> (ModelServer, Room) {
    let server = ModelServer::answering(|_| {
        Response::events(OpenAiStream::new("m").text("done").finish("stop").done())
    });
    let room = at(&server);
    (server, room)
}

fn at(server: &ModelServer) -> Room {
    room()
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OPENAI_BASE_URL", &server.url())
}

fn tools_in(request: &Recorded) -> BTreeSet<String> {
    let body = request.json();
    let tools = body["tools"].as_array().into_iter().flatten();
    let names = tools.filter_map(|tool| tool["function"]["name"].as_str());
    names.map(str::to_owned).collect()
}

/// The tools that a run with these arguments offers.
fn offered(server: &ModelServer, room: &Room, arguments: &[&str]) -> BTreeSet<String> {
    room.run(arguments).ended_with(0);
    tools_in(server.requests().last().expect("the model was asked"))
}

fn usual_and(more: &[&str]) -> BTreeSet<String> {
    USUAL.iter().chain(more).map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_model_is_offered_what_work_on_files_needs() {
    let (server, room) = connected();
    assert_eq!(offered(&server, &room, &["hello"]), usual_and(&[]));
}

#[test]
fn everything_can_be_named() {
    let (server, room) = connected();
    let all = offered(&server, &room, &["--tools", "becket", "hello"]);
    for name in [
        "vfs_list",
        "flock_join",
        "index_query",
        "send_message",
        "update_goals",
        "shell",
    ] {
        assert!(all.contains(name), "{name} is not in {all:?}");
    }
    let named = |names: &str| offered(&server, &room, &["--tools", names, "hello"]);
    let of = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(named("shell,vfs_list"), of(&["shell", "vfs_list"]));
    assert_eq!(named("bash,read"), of(&["bash", "read"]), "as pi names them");
    assert_eq!(named("+index_query"), usual_and(&["index_query"]));
    let without = offered(&server, &room, &["--tools=-shell,-fetch", "hello"]);
    let mut expected = usual_and(&[]);
    expected.retain(|name| name != "shell" && name != "fetch");
    assert_eq!(without, expected);
    room.config("[tools]\nprofile = \"becket\"\n");
    assert_eq!(offered(&server, &room, &["hello"]), all);
}

#[test]
fn a_chibi_home_brings_its_tools() {
    let (server, room) = connected();
    let home = room.home().join("chibi");
    std::fs::create_dir(&home).expect("the folder can be made");
    let home = home.display().to_string();
    let tools = offered(&server, &room, &["--chibi-home", &home, "hello"]);
    assert!(
        tools.is_superset(&usual_and(&["vfs_list", "flock_join", "update_reflection"])),
        "{tools:?}"
    );
    assert!(!tools.contains("mkdir"), "chibi has no such tool: {tools:?}");
}

#[test]
fn a_flock_brings_its_tools() {
    let (server, room) = connected();
    room.run(["flock", "create", "crew"]).ended_with(0);
    assert_eq!(
        offered(&server, &room, &["hello"]),
        usual_and(&[]),
        "it is not in the flock"
    );
    room.run(["flock", "join", "crew"]).ended_with(0);
    let tools = offered(&server, &room, &["hello"]);
    let brought = [
        "flock_join",
        "flock_leave",
        "flock_list",
        "send_message",
        "update_goals",
        "vfs_list",
    ];
    assert!(tools.is_superset(&usual_and(&brought)), "{tools:?}");
    assert!(!tools.contains("index_query"), "{tools:?}");
}

#[test]
fn an_index_brings_its_tools() {
    let (server, room) = connected();
    room.write("one.rs", "fn one() {}\n");
    room.run(["index", "update"]).ended_with(0);
    let brought = ["index_update", "index_query", "index_status", "index_map"];
    assert_eq!(offered(&server, &room, &["hello"]), usual_and(&brought));
}

#[test]
fn a_scheme_file_brings_its_tools() {
    let (server, room) = connected();
    let data = room.store_file();
    let folder = data.parent().expect("it is in a folder").join("vfs/tools/shared");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let example = repository_file("examples/scheme/tasks.scm");
    std::fs::copy(example, folder.join("tasks.scm")).expect("the file can be copied");
    let tools = offered(&server, &room, &["hello"]);
    assert!(tools.contains("scheme_eval"), "{tools:?}");
    assert!(!tools.contains("flock_join"), "{tools:?}");
}

#[test]
fn a_conversation_keeps_the_tools_that_it_has_called() {
    let arguments = json!({"path": "vfs:///"}).to_string();
    let calls = OpenAiStream::new("m").tool_call(0, "call-1", "vfs_list", &[&arguments]);
    let said = || Response::events(OpenAiStream::new("m").text("done").finish("stop").done());
    let first = Response::events(calls.finish("tool_calls").done());
    let server = ModelServer::start([first, said(), said(), said()]);
    let room = at(&server);
    room.run(["--tools", "becket", "look"]).ended_with(0);
    assert_eq!(offered(&server, &room, &["go on"]), usual_and(&["vfs_list"]));
    assert_eq!(offered(&server, &room, &["-C", "other", "hello"]), usual_and(&[]));
}

#[test]
fn rules_and_hooks_may_name_what_is_not_offered() {
    let (_server, room) = connected();
    room.config("[permissions]\ndeny = [\"vfs_delete\"]\nask = [\"send_message\"]\n");
    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \"vfs_list\" }\ncommand = \"echo not here >&2; exit 2\"\n",
    );
    let run = room.run(["--hooks", &hooks, "hello"]).ended_with(0);
    assert!(!run.stderr.contains("does not exist"), "{}", run.stderr);
    room.run(["hooks", "check", &hooks])
        .ended_with(0)
        .said("no problems found");
    // A guard is asked about it as before.
    room.run(["--hooks", &hooks, "tool", "vfs_list", "{\"path\": \"vfs:///\"}"])
        .ended_with(1)
        .complained("not here");
}

#[test]
fn a_prompt_may_take_more_requests_than_it_used_to() {
    let room = room();
    let mut turns: Vec<Value> = (0..210)
        .map(|number| {
            let command = format!("echo {number}");
            json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
        })
        .collect();
    turns.push(json!({"text": "at last"}));
    let model = room.model(&json!(turns));
    room.run(["--yes", "--model", &model, "go"])
        .ended_with(0)
        .said("at last");
}

#[test]
fn the_number_of_requests_is_a_setting_with_two_names() {
    let shown = |room: &Room| {
        let shown = room.run(["--json", "config"]).ended_with(0).events().remove(0);
        shown["max_requests"].clone()
    };
    let room = room();
    assert_eq!(shown(&room), 1_000, "nobody is at a terminal");
    let looks = |name: &str| json!({"tool_calls": [{"name": "list", "arguments": {"path": name}}]});
    let model = room.model(&json!([looks("."), looks("./"), {"text": "done"}]));
    for name in ["max_requests", "max_iterations"] {
        room.config(&format!("[agent]\n{name} = 2\n"));
        assert_eq!(shown(&room), 2);
        room.run(["-C", name, "--model", &model, "go"])
            .ended_with(5)
            .complained("the limit of 2 requests for one prompt is reached");
    }
}

#[test]
fn at_a_terminal_a_prompt_goes_past_the_limit_that_ends_it_where_nobody_is() {
    let room = room();
    let note = |number: usize| {
        let content = format!("step {number}");
        json!({"tool_calls": [{"name": "update_todos", "arguments": {"content": content}}]})
    };
    let turns: Vec<Value> = (0..1_005).map(note).chain([json!({"text": "at last"})]).collect();
    let model = room.model(&json!(turns));
    room.run(["-C", "alone", "--model", &model, "go"])
        .ended_with(5)
        .complained("the limit of 1000 requests for one prompt is reached");
    let arguments = ["-C", "attended", "--model", &model, "go"];
    let Some(run) = crate::limit::with_person(&room, &arguments) else {
        return;
    };
    let run = run.ended_with(0).said("at last");
    assert!(!run.stderr.contains("the limit of"), "{}", run.stderr);
}

#[test]
fn at_a_terminal_no_number_ends_a_prompt() {
    let room = room();
    let Some(run) = crate::limit::with_person(&room, &["config"]) else {
        return;
    };
    let lines = run.ended_with(0).stdout;
    let line = lines.lines().find(|line| line.starts_with("max requests"));
    assert!(
        line.is_some_and(|line| line.ends_with("no limit  (default)")),
        "{lines}"
    );
}
