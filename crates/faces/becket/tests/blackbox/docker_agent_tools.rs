//! docker-agent's tools: a model that was given `--tools docker-agent` finds names, arguments and results as it knows
//! them from there, and whatever a call names is judged.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Response, Room, wait_until_gone};

use crate::room;

/// A room with a few files.
fn furnished() -> Room {
    let room = room();
    room.write("poem.txt", "one\ntwo\nthree\n");
    room.write("src/main.rs", "fn main() {\n    helper();\n}\n");
    room.write("target/out.rs", "helper();\n");
    room.write(".gitignore", "ignored\n");
    room.write("ignored", "helper\n");
    room
}

/// Runs calls, one for each turn, with docker-agent's tools.
fn run_calls(room: &Room, flags: &[&str], calls: &[(&str, Value)]) -> Finished {
    let mut turns: Vec<Value> = calls
        .iter()
        .map(|(name, arguments)| json!({"tool_calls": [{"name": name, "arguments": arguments}]}))
        .collect();
    turns.push(json!({"text": "went on"}));
    let model = room.model(&json!(turns));
    let arguments = [
        &["--json", "--tools", "docker-agent", "--model", &model][..],
        flags,
        &["go"],
    ];
    room.run(arguments.concat()).ended_with(0)
}

/// What the model reads as the results of its calls, with whether each is an error. Calls within calls are left out.
fn results(run: &Finished) -> Vec<(String, bool)> {
    let is_tool = |message: &&Value| message["message"]["role"] == "tool";
    let messages = run.events_named("message_end");
    let told = messages.iter().filter(is_tool).map(|event| {
        let message = &event["message"];
        let text = message["content"][0]["text"].as_str().unwrap_or_default();
        (text.to_owned(), message["is_error"] == true)
    });
    told.collect()
}

/// The result of one call; somebody says yes to everything.
fn result(room: &Room, name: &str, arguments: Value) -> (String, bool) {
    let run = run_calls(room, &["--yes"], &[(name, arguments)]);
    results(&run).remove(0)
}

fn text(room: &Room, name: &str, arguments: Value) -> String {
    let (text, is_error) = result(room, name, arguments);
    assert!(!is_error, "{name}: {text}");
    text
}

fn refusal(room: &Room, name: &str, arguments: Value) -> String {
    let (text, is_error) = result(room, name, arguments);
    assert!(is_error, "{name}: {text}");
    text
}

/// What hooks were told with an event of this name, one field of it.
fn told(run: &Finished, event: &str, field: &str) -> Vec<String> {
    let events = run.events_named(event);
    let fields = events
        .iter()
        .map(|event| event[field].as_str().unwrap_or_default().to_owned());
    fields.collect()
}

#[test]
fn every_tool_of_the_toolsets_is_offered_under_its_name() {
    let run = run_calls(&room(), &[], &[]);
    let offered = run.events_named("tools_offered")[0]["tools"].clone();
    let mut names: Vec<&str> = offered
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"))
        .collect();
    names.sort_unstable();
    let mut wanted: Vec<&str> = ["filesystem", "shell", "fetch", "think", "todo", "memory"]
        .iter()
        .flat_map(|toolset| becket_docker_agent::toolset_tools(toolset).expect("a toolset"))
        .copied()
        .collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
}

#[test]
fn files_are_read_written_and_edited() {
    let room = furnished();
    assert!(text(&room, "read_file", json!({"path": "poem.txt"})).starts_with("one\ntwo\nthree"));
    assert!(
        text(
            &room,
            "read_file",
            json!({"path": "poem.txt", "line": 2, "limit": 1})
        )
        .starts_with("two")
    );
    text(
        &room,
        "write_file",
        json!({"path": "new/a.txt", "content": "words"}),
    );
    assert_eq!(room.read("new/a.txt"), "words");
    let edits = json!([{"oldText": "one", "newText": "1"}, {"oldText": "two", "newText": "2"}]);
    text(&room, "edit_file", json!({"path": "poem.txt", "edits": edits}));
    assert_eq!(room.read("poem.txt"), "1\n2\nthree\n");
    let as_text = json!([{"oldText": "three", "newText": "3"}]).to_string();
    text(&room, "edit_file", json!({"path": "poem.txt", "edits": as_text}));
    assert_eq!(room.read("poem.txt"), "1\n2\n3\n");
}

#[test]
fn several_files_are_read_at_once_as_text_and_as_json() {
    let room = furnished();
    let paths = json!(["poem.txt", "gone.txt", "src/main.rs"]);
    let told = text(&room, "read_multiple_files", json!({"paths": paths}));
    assert!(told.starts_with("=== poem.txt ===\none\ntwo\nthree\n"), "{told}");
    assert!(
        told.contains("=== gone.txt ===\nCannot read gone.txt: it does not exist."),
        "{told}"
    );
    assert!(told.contains("=== src/main.rs ===\nfn main() {"), "{told}");
    let told = text(
        &room,
        "read_multiple_files",
        json!({"paths": paths, "json": true}),
    );
    let files: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    assert_eq!(files.as_array().expect("a list").len(), 3);
    assert_eq!(files[0]["path"], "poem.txt");
    assert!(
        files[2]["content"]
            .as_str()
            .expect("a text")
            .contains("helper();")
    );
}

#[test]
fn directories_are_listed_as_lines_and_as_a_tree() {
    let room = furnished();
    std::fs::create_dir_all(room.work().join(".git/objects")).expect("the room is writable");
    assert_eq!(
        text(&room, "list_directory", json!({"path": "."})),
        "DIR  .git\nFILE .gitignore\nFILE ignored\nFILE poem.txt\nDIR  src\nDIR  target\n"
    );
    let tree = text(&room, "directory_tree", json!({"path": "."}));
    let tree: Value = serde_json::from_str(&tree).unwrap_or_else(|error| panic!("{error}: {tree}"));
    assert_eq!(tree["type"], "directory");
    assert_eq!(
        tree["children"],
        json!([
            {"name": ".gitignore", "type": "file"},
            {"name": "poem.txt", "type": "file"},
            {"name": "src", "type": "directory", "children": [{"name": "main.rs", "type": "file"}]},
            {"name": "target", "type": "directory", "children": [{"name": "out.rs", "type": "file"}]},
        ])
    );
    let refused = refusal(&room, "directory_tree", json!({"path": "poem.txt"}));
    assert!(refused.contains("it is a file"), "{refused}");
}

#[test]
fn contents_are_searched_without_what_is_excluded() {
    let room = furnished();
    let search = |more: Value| {
        let mut arguments = json!({"path": ".", "query": "helper()"});
        for (name, value) in more.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        text(&room, "search_files_content", arguments)
    };
    let all = search(json!({}));
    assert!(
        all.contains("main.rs") && all.contains("out.rs") && !all.contains("ignored"),
        "{all}"
    );
    for pattern in ["target", "target/*", "out.*", "target/"] {
        let some = search(json!({"excludePatterns": [pattern]}));
        assert!(
            some.contains("main.rs") && !some.contains("out.rs"),
            "{pattern}: {some}"
        );
    }
    assert!(search(json!({"query": "hel+per", "is_regex": true})).contains("main.rs"));
}

#[test]
fn directories_are_made_and_removed_and_a_full_one_stays() {
    let room = furnished();
    text(&room, "create_directory", json!({"paths": ["a/b"]}));
    text(&room, "create_directory", json!({"paths": ["c", "d/e"]}));
    assert!(room.work().join("a/b").is_dir() && room.work().join("d/e").is_dir());
    text(&room, "remove_directory", json!({"paths": ["c", "d/e"]}));
    assert!(!room.has("c") && !room.has("d/e") && room.has("d"));
    let told = refusal(&room, "remove_directory", json!({"paths": ["a", "d"]}));
    assert!(told.contains("it is not empty"), "{told}");
    assert!(
        room.has("a/b") && room.has("d"),
        "after a failure nothing else happens"
    );
    let told = refusal(&room, "remove_directory", json!({"paths": ["poem.txt"]}));
    assert!(told.contains("no directory") && room.has("poem.txt"), "{told}");
}

#[test]
fn commands_take_either_word_and_jobs_outlive_their_turn() {
    let room = furnished();
    assert_eq!(
        text(&room, "shell", json!({"cmd": "echo hi", "timeout": 5})).trim(),
        "hi"
    );
    assert_eq!(
        text(&room, "shell", json!({"command": "pwd", "cwd": "src"}))
            .trim_end()
            .rsplit('/')
            .next(),
        Some("src")
    );
    let both = refusal(&room, "shell", json!({"cmd": "touch a", "command": "touch b"}));
    assert!(
        both.contains("duplicate") && !room.has("a") && !room.has("b"),
        "{both}"
    );
    let run = run_calls(
        &room,
        &["--yes"],
        &[
            (
                "run_background_job",
                json!({"cmd": "echo early; echo $$ > pid; sleep 600"}),
            ),
            (
                "shell",
                json!({"cmd": "until [ -s pid ]; do sleep 0.01; done; kill -0 $(cat pid) && echo alive"}),
            ),
            ("view_background_job", json!({"job_id": "job_1"})),
            ("run_background_job", json!({"command": "exit 3"})),
            ("list_background_jobs", json!({})),
            ("stop_background_job", json!({"job_id": "job_1"})),
            ("view_background_job", json!({"job_id": "job_1"})),
            ("stop_background_job", json!({"job_id": "job_1"})),
            ("view_background_job", json!({"job_id": "job_9"})),
        ],
    );
    let told: Vec<String> = results(&run).into_iter().map(|(text, _)| text).collect();
    assert!(
        told[0].starts_with("Background job started with ID: job_1\n"),
        "{}",
        told[0]
    );
    assert!(told[1].contains("alive"), "{}", told[1]);
    assert!(
        told[2].contains("Status: running") && told[2].contains("--- Output ---\nearly"),
        "{}",
        told[2]
    );
    assert!(
        told[4].contains("ID: job_1") && told[4].contains("ID: job_2"),
        "{}",
        told[4]
    );
    assert_eq!(told[5], "Job job_1 stopped successfully");
    assert!(told[6].contains("Status: stopped"), "{}", told[6]);
    assert!(told[7].contains("is not running"), "{}", told[7]);
    assert_eq!(told[8], "Job not found: job_9. There are job_1, job_2.");
}

#[test]
fn a_job_ends_with_its_session_whatever_it_has_started() {
    let room = room();
    let job = "echo $$ > outer; setsid sh -c 'echo $$ > inner; sleep 600' & wait";
    let wait = "until [ -s outer ] && [ -s inner ]; do sleep 0.01; done";
    run_calls(
        &room,
        &["--yes"],
        &[
            ("run_background_job", json!({"cmd": job})),
            ("shell", json!({"cmd": wait})),
        ],
    );
    for file in ["outer", "inner"] {
        wait_until_gone(&room.read(file));
    }
}

#[test]
fn a_job_is_judged_like_any_command() {
    let room = room();
    room.config("[permissions]\ndeny = [\"shell:command=touch *\"]\n");
    let refused = refusal(&room, "run_background_job", json!({"cmd": "touch ran"}));
    assert!(
        refused.contains("the rule `shell:command=touch *` denies it"),
        "{refused}"
    );
    let run = run_calls(
        &room,
        &[],
        &[("run_background_job", json!({"cmd": "echo x > ran"}))],
    );
    assert!(
        results(&run)[0].0.contains("there is no terminal to ask at"),
        "{run:#?}"
    );
    let hooks =
        room.hooks("[[hook]]\nname = \"g\"\nevent = \"pre_shell\"\ncommand = \"echo no jobs >&2; exit 2\"\n");
    let run = run_calls(
        &room,
        &["--yes", "--hooks", &hooks],
        &[("run_background_job", json!({"cmd": "echo x > ran"}))],
    );
    assert!(results(&run)[0].0.contains("no jobs"), "{run:#?}");
    assert!(!room.has("ran"));
}

#[test]
fn one_of_several_paths_is_denied_and_the_others_are_not() {
    let room = furnished();
    room.config("[permissions]\ndeny = [\"read:path=*secret*\", \"write:path=locked/*\"]\n");
    room.write("secret.txt", "top secret");
    let told = text(
        &room,
        "read_multiple_files",
        json!({"paths": ["poem.txt", "secret.txt", "./src/../secret.txt"]}),
    );
    assert!(
        told.contains("one\ntwo") && !told.contains("top secret"),
        "{told}"
    );
    assert_eq!(
        told.matches("the rule `read:path=*secret*` denies it").count(),
        2,
        "{told}"
    );
    symlink("secret.txt", room.work().join("innocent")).expect("a link can be made");
    let told = refusal(&room, "read_multiple_files", json!({"paths": ["innocent"]}));
    assert!(
        told.contains("denies it") && !told.contains("top secret"),
        "{told}"
    );
    let told = refusal(
        &room,
        "create_directory",
        json!({"paths": ["fine", "locked/x", "never"]}),
    );
    assert!(
        told.contains("the rule `write:path=locked/*` denies writing it"),
        "{told}"
    );
    assert!(room.has("fine") && !room.has("locked") && !room.has("never"));
}

#[test]
fn every_path_is_told_to_the_guards_of_files() {
    let room = furnished();
    let run = run_calls(
        &room,
        &["--yes"],
        &[
            (
                "read_multiple_files",
                json!({"paths": ["poem.txt", "src/main.rs"]}),
            ),
            ("create_directory", json!({"paths": ["a", "b"]})),
            ("remove_directory", json!({"paths": ["a"]})),
        ],
    );
    let names = |paths: Vec<String>| -> Vec<String> {
        let name = |path: &String| {
            Path::new(path)
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        paths.iter().filter_map(name).collect()
    };
    assert_eq!(
        names(told(&run, "pre_file_read", "path")),
        ["poem.txt", "main.rs"]
    );
    assert_eq!(names(told(&run, "pre_file_write", "path")), ["a", "b", "a"]);
    let called: Vec<String> = told(&run, "pre_tool", "called_as");
    assert_eq!(
        called,
        [
            "read_multiple_files",
            "read_file",
            "read_file",
            "create_directory",
            "create_directory",
            "create_directory",
            "remove_directory",
        ]
    );
}

#[test]
fn a_guard_of_reading_is_not_got_around_by_reading_several() {
    let room = furnished();
    let guard = "[[hook]]\nname = \"g\"\nevent = \"pre_tool\"\nmatch = { called_as = \"read_file\" }\ncommand = \"echo not that >&2; exit 2\"\n";
    let hooks = room.hooks(guard);
    let calls = [(
        "read_multiple_files",
        json!({"paths": ["poem.txt", "src/main.rs"]}),
    )];
    let run = run_calls(&room, &["--yes", "--hooks", &hooks], &calls);
    let (told, is_error) = results(&run).remove(0);
    assert!(
        is_error && told.matches("not that").count() == 2 && !told.contains("helper"),
        "{told}"
    );
}

#[test]
fn what_lies_outside_needs_a_yes_and_what_is_inside_does_not() {
    let room = furnished();
    let outside = room.home().join("outside.txt");
    std::fs::write(&outside, "far away").expect("the room is writable");
    let calls = [
        ("read_multiple_files", json!({"paths": ["poem.txt", outside]})),
        ("directory_tree", json!({"path": "src"})),
        ("search_files_content", json!({"path": ".", "query": "two"})),
        ("create_directory", json!({"paths": ["x", "y"]})),
        ("list_background_jobs", json!({})),
        ("think", json!({"thought": "hm"})),
    ];
    let run = run_calls(&room, &[], &calls);
    let results = results(&run);
    assert!(
        results[0].0.contains("one\ntwo") && !results[0].0.contains("far away"),
        "{results:#?}"
    );
    assert!(
        results[0].0.contains("there is no terminal to ask at"),
        "{results:#?}"
    );
    for (index, fails) in [(1, false), (2, false), (3, true), (4, false), (5, false)] {
        assert_eq!(results[index].1, fails, "{index}: {results:#?}");
    }
    assert!(!room.has("x"));
}

#[test]
fn pages_come_in_the_form_that_was_asked_for_and_each_address_is_judged() {
    let page = || {
        Response::new(
            200,
            "text/html",
            "<h1>Title</h1><p>See <a href='/x'>this</a>.</p>",
        )
    };
    let server = ModelServer::start((0..6).map(|_| page()));
    let room = room();
    let fetch = |format: &str| text(&room, "fetch", json!({"urls": [server.url()], "format": format}));
    assert!(fetch("html").contains("<h1>Title</h1>"));
    assert!(fetch("markdown").contains("# Title"));
    let plain = fetch("text");
    assert!(
        plain.contains("Title") && !plain.contains("# Title") && !plain.contains("]("),
        "{plain}"
    );
    room.config("[permissions]\ndeny = [\"fetch:url=*/private*\"]\n");
    let urls = [
        format!("{}/a", server.url()),
        format!("{}/private", server.url()),
        "file:///etc/hosts".into(),
    ];
    let told = text(&room, "fetch", json!({"urls": urls, "format": "text"}));
    let pages: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    assert!(
        pages[0]["body"]
            .as_str()
            .is_some_and(|body| body.contains("Title")),
        "{pages}"
    );
    assert!(
        pages[1]["error"]
            .as_str()
            .is_some_and(|error| error.contains("denies it")),
        "{pages}"
    );
    assert!(
        pages[2]["error"].is_string() && pages[2]["body"].is_null(),
        "{pages}"
    );
    assert_eq!(server.requests().len(), 4, "what is denied is not asked for");
}

#[test]
fn todos_stay_with_the_context() {
    let room = room();
    let created = text(&room, "create_todos", json!({"descriptions": ["wash", "dry"]}));
    let created: Value = serde_json::from_str(&created).expect("JSON");
    assert_eq!(
        created["created"][1],
        json!({"id": "todo_2", "description": "dry", "status": "pending"})
    );
    text(&room, "create_todo", json!({"description": "fold"}));
    let updates = json!([{"id": "todo_1", "status": "completed"}, {"id": "todo_9", "status": "pending"}]);
    let marked = text(&room, "update_todos", json!({"updates": updates}));
    let marked: Value = serde_json::from_str(&marked).expect("JSON");
    assert_eq!(marked["not_found"], json!(["todo_9"]));
    let listed: Value = serde_json::from_str(&text(&room, "list_todos", json!({}))).expect("JSON");
    let states: Vec<&str> = listed["todos"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["status"].as_str().expect("a text"))
        .collect();
    assert_eq!(states, ["completed", "pending", "pending"]);
    assert_eq!(listed["reminder"], "Still open: [todo_2] dry; [todo_3] fold");
    let run = run_calls(&room, &["-c", "other"], &[("list_todos", json!({}))]);
    assert_eq!(
        results(&run)[0].0,
        "{\"todos\":[]}",
        "another context has its own"
    );
}

#[test]
fn memories_last_and_can_be_found_changed_and_forgotten() {
    let room = room();
    let added = text(
        &room,
        "add_memory",
        json!({"memory": "tea, no milk", "category": "preference"}),
    );
    let id = added.rsplit(' ').next().expect("an ID").to_owned();
    text(&room, "add_memory", json!({"memory": "the build takes long"}));
    let found = |tool: &str, arguments: Value| -> Vec<String> {
        let found: Value = serde_json::from_str(&text(&room, tool, arguments)).expect("JSON");
        let words = found.as_array().expect("a list").iter();
        words
            .map(|memory| memory["memory"].as_str().expect("a text").to_owned())
            .collect()
    };
    assert_eq!(
        found("get_memories", json!({})),
        ["tea, no milk", "the build takes long"]
    );
    assert_eq!(
        found("search_memories", json!({"query": "MILK tea"})),
        ["tea, no milk"]
    );
    assert_eq!(
        found("search_memories", json!({"category": "preference"})),
        ["tea, no milk"]
    );
    text(&room, "update_memory", json!({"id": id, "memory": "coffee"}));
    assert_eq!(
        found("search_memories", json!({"category": "preference"})),
        ["coffee"]
    );
    text(&room, "delete_memory", json!({"id": id}));
    assert_eq!(found("get_memories", json!({})), ["the build takes long"]);
    let refused = refusal(&room, "delete_memory", json!({"id": id}));
    assert!(refused.contains("there is no memory with the ID"), "{refused}");
}

#[test]
fn bad_arguments_get_a_useful_answer() {
    let room = furnished();
    for (name, arguments, words) in [
        (
            "read_multiple_files",
            json!({"paths": "poem.txt"}),
            "`paths` must be a list of texts",
        ),
        ("read_multiple_files", json!({"paths": []}), "name at least one"),
        (
            "read_multiple_files",
            json!({"files": ["a"]}),
            "there is no argument `files`",
        ),
        ("create_directory", json!({}), "argument `paths` is missing"),
        (
            "create_directory",
            json!({"paths": [3, 4]}),
            "create_directory takes: paths",
        ),
        ("fetch", json!({"urls": [], "format": "text"}), "exactly one"),
        (
            "fetch",
            json!({"urls": ["http://127.0.0.1:9/"], "format": "pdf"}),
            "unknown variant `pdf`",
        ),
        ("shell", json!({}), "argument `cmd` is missing"),
        (
            "edit_file",
            json!({"path": "poem.txt", "edits": "no list"}),
            "edit_file takes: path",
        ),
        ("create_todo", json!({"description": " "}), "missing or empty"),
        (
            "create_todos",
            json!({"descriptions": "x"}),
            "the arguments of create_todos are wrong",
        ),
        (
            "update_todos",
            json!({"updates": [{"id": "todo_1", "status": "done"}]}),
            "unknown variant `done`",
        ),
        (
            "update_todos",
            json!({"updates": [{"id": "todo_1", "status": "completed"}]}),
            "not_found",
        ),
        ("think", json!({}), "missing field `thought`"),
        ("add_memory", json!({"memory": ""}), "the memory is empty"),
        (
            "update_memory",
            json!({"id": "1", "memory": "x"}),
            "no memory with the ID 1",
        ),
        ("view_background_job", json!({}), "missing field `job_id`"),
    ] {
        let told = refusal(&room, name, arguments.clone());
        assert!(told.contains(words), "{name} {arguments}: {told}");
    }
}

/// Runs one call with an agent file that has the usual toolsets, rules and hooks; somebody says yes to everything.
fn run_in_file(rules: &str, hooks: &str, (name, arguments): (&str, Value)) -> (Room, Finished) {
    let room = furnished();
    room.write("zzz/kept", "");
    let hooks = match hooks {
        "" => String::new(),
        hooks => format!("    hooks:\n{hooks}"),
    };
    let file = format!(
        "agents:\n  root:\n    toolsets: [{{type: shell}}, {{type: filesystem}}]\n{hooks}permissions: {{{rules}}}\n"
    );
    room.write("agent.yaml", &file);
    let turns = json!([{"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "went on"}]);
    let model = room.model(&turns);
    let run = room.run(["run", "agent.yaml", "go", "--yes", "--json", "--model", &model]);
    (room, run.ended_with(0))
}

fn job() -> (&'static str, Value) {
    ("run_background_job", json!({"cmd": "rm -rf zzz"}))
}

#[test]
fn rules_about_commands_count_for_commands_in_the_background() {
    for rules in [
        "deny: [shell]",
        "deny: [\"shell:cmd=*rm -rf*\"]",
        "deny: [run_background_job]",
        "deny: [\"run_background_job:cmd=rm*\"]",
        "deny: [\"SH*:cmd=rm*\"]",
        "deny: [shell], allow: [run_background_job]",
    ] {
        let (room, run) = run_in_file(rules, "", job());
        let (told, is_error) = results(&run).remove(0);
        assert!(is_error && told.contains("rule"), "{rules}: {told}");
        assert!(room.has("zzz/kept"), "{rules}");
    }
    for rules in ["deny: [\"shell:cmd=git*\"]", "deny: [list_directory]"] {
        let (_, run) = run_in_file(rules, "", job());
        let (told, is_error) = results(&run).remove(0);
        assert!(!is_error, "{rules}: {told}");
    }
    // What is said about the background is not said about every command.
    let command = ("shell", json!({"cmd": "echo said"}));
    let (_, run) = run_in_file("deny: [run_background_job]", "", command);
    assert!(results(&run)[0].0.contains("said"), "{run:?}");
    let tree = ("directory_tree", json!({"path": "src"}));
    let (_, run) = run_in_file("deny: [\"list_directory:path=src\"]", "", tree);
    assert!(results(&run)[0].1, "{run:?}");
}

#[test]
fn an_allowed_command_is_not_allowed_in_the_background() {
    for (rule, decided_by) in [
        ("allow: [\"run_background_job:cmd=echo*\"]", "allow_rule"),
        ("allow: [\"shell:cmd=echo*\"]", "yes"),
    ] {
        let (_, run) = run_in_file(rule, "", ("run_background_job", json!({"cmd": "echo x"})));
        assert_eq!(told(&run, "approval_decided", "source"), [decided_by], "{rule}");
    }
}

#[test]
fn hooks_about_a_tool_hear_of_every_tool_that_does_the_same() {
    let hook = |event: &str, matcher: &str, command: &str| {
        format!(
            "      {event}:\n        - matcher: {matcher}\n          hooks:\n            - {{type: command, command: '{command}'}}\n"
        )
    };
    let block = "cat > seen.json; echo not that >&2; exit 2";
    for event in [
        "tool_guard",
        "pre_tool_use",
        "tool_input_transform",
        "permission_request",
    ] {
        for (matcher, name) in [
            ("shell", "shell"),
            ("shell|run_background_job", "run_background_job"),
            ("run_.*", "run_background_job"),
        ] {
            let (room, run) = run_in_file("", &hook(event, matcher, block), job());
            let (told, is_error) = results(&run).remove(0);
            assert!(is_error && told.contains("not that"), "{event} {matcher}: {told}");
            assert!(room.has("zzz/kept"), "{event} {matcher}");
            let seen: Value = serde_json::from_str(&room.read("seen.json")).expect("JSON");
            assert_eq!(seen["tool_name"], name, "{event} {matcher}");
            assert_eq!(
                seen["tool_input"],
                json!({"cmd": "rm -rf zzz"}),
                "{event} {matcher}"
            );
        }
    }
    let tree = || ("directory_tree", json!({"path": "src"}));
    let (_, run) = run_in_file("", &hook("pre_tool_use", "list_directory", block), tree());
    assert!(results(&run)[0].0.contains("not that"), "{run:?}");
    // A hook of both hears once, and one of the others not at all.
    let count = hook(
        "pre_tool_use",
        "\".*_directory|directory_tree\"",
        "echo x >> count",
    );
    let (room, _) = run_in_file("", &count, tree());
    assert_eq!(room.read("count"), "x\n");
    let (room, _) = run_in_file(
        "",
        &hook("pre_tool_use", "directory_tree", block),
        ("list_directory", json!({"path": "src"})),
    );
    assert!(!room.has("seen.json"));
}

#[test]
fn a_hook_that_rewrites_a_command_leaves_it_in_the_background() {
    let rewrite = r#"{"hook_specific_output": {"updated_input": {"cmd": "touch made"}}}"#;
    let hook = format!(
        "      pre_tool_use:\n        - matcher: shell\n          hooks:\n            - type: command\n              command: |\n                echo '{rewrite}'\n"
    );
    let (room, run) = run_in_file("", &hook, job());
    assert!(room.has("zzz/kept"), "{run:?}");
    let calls = run.events_named("pre_shell");
    assert_eq!(calls.len(), 1, "{run:?}");
    assert!(results(&run)[0].0.contains("job"), "{run:?}");
    assert!(calls[0].to_string().contains("touch made"), "{calls:?}");
}
