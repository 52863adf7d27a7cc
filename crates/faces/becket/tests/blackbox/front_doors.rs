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
