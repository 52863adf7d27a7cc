//! becket under the name of another system's program: whoever starts it there has no key, and reaches the model through
//! the run that loaded the guests.

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room};

use crate::plugins::{bash, plugin};
use crate::room;

const KEY: &str = "sk-very-secret-0123456789";

fn says(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}

fn calls(tool: &str, arguments: &Value) -> Response {
    let arguments = arguments.to_string();
    let stream = OpenAiStream::new("m").tool_call(0, "call-1", tool, &[&arguments]);
    Response::events(stream.finish("tool_calls").done())
}

/// A room whose key and address lead to the server, and stand in the environment only.
fn connected(server: &ModelServer) -> Room {
    room()
        .with("OPENAI_API_KEY", KEY)
        .with("OPENAI_BASE_URL", &server.url())
}

/// Asserts that a guest's program asked the model in the middle of its run, with the key, and never saw the key.
fn assert_asked_without_key(room: &Room, server: &ModelServer) {
    let requests = server.requests();
    assert_eq!(requests.len(), 3, "{requests:#?}");
    for request in &requests {
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    }
    assert!(requests[1].text().contains("The task"), "{:#?}", requests[1]);
    assert!(
        requests[2].text().contains("helper said: three"),
        "{:#?}",
        requests[2]
    );
    let environment = room.read("../environment");
    assert!(
        environment.contains("PATH=") && !environment.contains(KEY),
        "{environment}"
    );
}

#[test]
fn options_of_becket_s_own_do_not_stand_before_another_program() {
    let room = room();
    for (program, words) in [
        ("pi", &["--yes", "pi", "--help"][..]),
        ("chibi", &["-c", "x", "chibi", "-l"]),
        ("docker-agent", &["--yes", "docker-agent", "run", "agent.yaml"]),
    ] {
        let run = room.run(words).ended_with(2);
        run.complained(&format!("`{program}` comes first, as in `becket {program} …`"));
    }
}

#[test]
fn a_word_that_names_something_destroys_nothing_else() {
    let server = ModelServer::start([says("kept")]);
    let room = connected(&server);
    room.write("../home/.chibi/config.toml", "");
    room.run(["--model", "openai/m", "remember this"]).ended_with(0);
    let kept = room.run(["context", "export"]).ended_with(0).stdout;
    assert!(kept.contains("remember this"), "{kept}");
    for words in [
        &["chibi", "-D", "--yes"][..],
        &["chibi", "-t", "-D", "--yes"],
        &["chibi", "-D--yes"],
        &["chibi", "-t", "-D", ""],
        &["chibi", "-t", "-D", "-"],
        &["chibi", "-A", "--yes"],
        &["chibi", "-Z", "--yes"],
        &["chibi", "-r", "--yes"],
        &["chibi", "-C", "--yes", "-d"],
        &["chibi", "-D", "--if-any", "-t"],
        &["chibi", "-R", "--yes", "main"],
        &["chibi", "-Y", "--remove", "be kind"],
        &["pi", "--session", "--yes", "-p", "undo"],
    ] {
        room.run(words).ended_with(1);
        let now = room.run(["context", "export"]).ended_with(0).stdout;
        assert_eq!(now, kept, "{words:?}");
    }
}

#[test]
fn what_asks_no_model_needs_none() {
    let room = room();
    room.write("../home/.chibi/config.toml", "");
    plugin(&room, "greet", &bash("greet", "", "echo hello"));
    for words in [
        &["chibi", "-c", "work", "-x"][..],
        &["chibi", "-n", "home"],
        &["chibi", "-N", "work", "fuel"],
        &["chibi", "-L"],
        &["chibi", "--flock-list"],
        &["chibi", "--clear-cache"],
        &["chibi", "-p", "greet", ""],
        &["pi", "--list-models"],
    ] {
        room.run(words).ended_with(0);
    }
}

#[test]
fn a_plugin_that_runs_chibi_needs_no_key() {
    let server = ModelServer::start([calls("helper", &json!({})), says("three"), says("done")]);
    let room = connected(&server);
    let body = "env > ../environment\necho \"helper said: $(chibi -C helper 'The task')\"";
    plugin(&room, "helper", &bash("helper", "", body));
    room.run(["--yes", "go"]).ended_with(0).said("done");
    assert_asked_without_key(&room, &server);
    // When the run is over, so is the way to its model.
    let socket = room.read("../environment");
    let socket = socket
        .lines()
        .find_map(|line| line.strip_prefix("BECKET_MODEL_SOCKET="));
    let socket = socket.expect("the plugin was told where the model is");
    assert!(!std::path::Path::new(socket).exists(), "{socket}");
    let gone = room
        .with("OPENAI_API_KEY", "")
        .with("BECKET_MODEL_SOCKET", socket);
    gone.run(["chibi", "hello"])
        .ended_with(1)
        .complained("The run above this one");
}

#[test]
fn a_plugin_that_runs_chibi_has_the_home_of_the_run() {
    let server = ModelServer::start([calls("helper", &json!({})), says("three"), says("done")]);
    let room = connected(&server);
    plugin(&room, "helper", &bash("helper", "", "chibi -C helper 'The task'"));
    room.run(["--home", "../elsewhere", "--yes", "go"])
        .ended_with(0)
        .said("done");
    room.run(["--home", "../elsewhere", "contexts"])
        .ended_with(0)
        .said("helper");
    let here = room.run(["contexts"]).ended_with(0).stdout;
    assert!(!here.contains("helper"), "{here}");
}

/// The texts of a pi session file, message by message.
fn said_in(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let messages = lines.filter(|line| line["type"] == "message");
    let text = |line: Value| match &line["message"]["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    messages.map(text).collect()
}

#[test]
fn a_session_file_of_pi_s_is_made_gone_on_with_forked_and_exported() {
    let server = ModelServer::start([says("one"), says("two"), says("three"), says("four")]);
    let room = connected(&server);
    let pi = |words: &[&str]| {
        let start = ["pi", "--model", "openai/m"];
        room.run(start.iter().chain(words)).ended_with(0)
    };
    let first = pi(&["-p", "--session", "talk.jsonl", "first"]);
    assert_eq!(first.stdout.trim_end(), "one", "{first:#?}");
    assert_eq!(said_in(&room.read("talk.jsonl")), ["first", "one"]);
    let id = |text: &str| {
        serde_json::from_str::<Value>(text.lines().next().unwrap_or_default()).unwrap()["id"].clone()
    };
    let begun = id(&room.read("talk.jsonl"));
    let second = pi(&["-p", "--session", "talk.jsonl", "second"]);
    assert_eq!(second.stdout.trim_end(), "two", "{second:#?}");
    assert_eq!(
        said_in(&room.read("talk.jsonl")),
        ["first", "one", "second", "two"]
    );
    assert_eq!(id(&room.read("talk.jsonl")), begun);
    // The file is the only copy.
    assert_eq!(room.run(["contexts"]).ended_with(0).stdout, "");
    let before = room.read("talk.jsonl");
    assert_eq!(
        pi(&["-p", "--fork", "talk.jsonl", "third"]).stdout.trim_end(),
        "three"
    );
    let request = server.requests()[2].text();
    assert!(
        request.contains("second") && request.contains("third"),
        "{request}"
    );
    assert_eq!(room.read("talk.jsonl"), before);
    let sessions = room.run(["--json", "sessions"]).ended_with(0).events();
    let newest = sessions[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(pi(&["-p", "--fork", &newest, "fourth"]).stdout.trim_end(), "four");
    let request = server.requests()[3].text();
    assert!(
        request.contains("third") && request.contains("fourth"),
        "{request}"
    );
    let exported = pi(&["--export", "talk.jsonl", "page.html"]).stdout;
    assert!(exported.starts_with("Exported to: "), "{exported}");
    let page = room.read("page.html");
    assert!(
        page.contains("<pre>second</pre>") && page.contains("<pre>two</pre>"),
        "{page}"
    );
    room.run(["pi", "--fork", "talk.jsonl", "--continue", "x"])
        .ended_with(1)
        .complained("--continue");
    room.write("broken.jsonl", "nonsense\n");
    room.run(["pi", "-p", "--session", "broken.jsonl", "x"])
        .ended_with(1);
    assert_eq!(room.read("broken.jsonl"), "nonsense\n");
}

#[test]
fn models_are_listed_as_pi_lists_them() {
    let server = ModelServer::start([]);
    let room = connected(&server);
    room.write(
        "lab.ts",
        "export default (pi: any) => pi.registerProvider('lab', { baseUrl: 'http://127.0.0.1:9', apiKey: 'LAB_KEY',
            api: 'openai-completions', models: [{ id: 'tiny-1', name: 'Tiny', reasoning: true, input: ['text'],
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 200000, maxTokens: 4096 }] });",
    );
    let room = room.with("LAB_KEY", "k");
    let words = ["pi", "--model", "openai/m", "-e", "lab.ts", "--list-models"];
    let all = room.run(words).ended_with(0).stdout;
    let lines: Vec<Vec<&str>> = all
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        ["provider", "model", "context", "max-out", "thinking", "images"]
    );
    assert_eq!(lines[1], ["lab", "tiny-1", "200K", "4.1K", "yes", "no"], "{all}");
    assert_eq!(lines[2][..2], ["openai", "m"], "{all}");
    let some = room.run(words.into_iter().chain(["tiny"])).ended_with(0).stdout;
    assert!(some.contains("tiny-1") && !some.contains("openai"), "{some}");
    let json = room
        .run(["models", "--json", "-e", "lab.ts", "tiny"])
        .ended_with(0)
        .events();
    assert_eq!(json[0]["max_tokens"], 4096, "{json:?}");
}

#[test]
fn a_program_of_the_model_finds_no_way_to_the_model() {
    let server = ModelServer::start([
        calls("shell", &json!({"command": "env > ../environment; env"})),
        says("done"),
    ]);
    let room = connected(&server);
    plugin(&room, "helper", &bash("helper", "", "true"));
    room.run(["--yes", "go"]).ended_with(0);
    let environment = room.read("../environment");
    assert!(!environment.contains("BECKET_MODEL_SOCKET"), "{environment}");
}

#[test]
fn a_name_that_chibi_stores_is_told_to_the_model_from_then_on() {
    let server = ModelServer::start([says("one"), says("two")]);
    let room = connected(&server);
    room.run(["chibi", "-u", "Ada"])
        .ended_with(0)
        .complained("is Ada");
    room.run(["chibi", "hello"]).ended_with(0);
    room.run(["chibi", "-U", "Grace", "hello"]).ended_with(0);
    let requests = server.requests();
    assert!(requests[0].text().contains("Ada"), "{}", requests[0].text());
    let text = requests[1].text();
    assert!(text.contains("Grace") && !text.contains("Ada"), "{text}");
}

#[test]
fn what_chibi_knows_of_a_model_needs_no_key() {
    let room = room();
    let run = room.run(["chibi", "--model-metadata", "anthropic/claude-sonnet-4"]);
    let run = run.ended_with(0);
    let info: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(info["info"]["provider"], "openrouter");
    assert_eq!(info["info"]["id"], "anthropic/claude-sonnet-4");
}
