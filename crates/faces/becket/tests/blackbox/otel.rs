//! `--otel`: spans for a collector of OpenTelemetry, here one on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Room;

use crate::room;

/// A session with a call that runs and one that is refused.
fn run_with(room: &Room, arguments: &[&str]) {
    let hooks = room.hooks(
        "[[hook]]\nname = \"no-rm\"\nevent = \"pre_shell\"\n\
         command = '''if grep -q 'rm '; then echo 'rm is out' >&2; exit 2; fi'''\n",
    );
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo one"}}]},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm x"}}]},
        {"text": "done"},
    ]));
    let usual = ["--yes", "--hooks", &hooks, "--model", &model];
    room.run([&usual, arguments, &["go"]].concat()).ended_with(0);
}

/// Reads one request; its head and its body.
fn read_request(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return (head.to_owned(), body.to_owned());
            }
        }
        let count = stream.read(&mut piece).expect("the request comes to its end");
        assert!(count > 0, "the request comes to its end");
        bytes.extend_from_slice(&piece[..count]);
    }
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).expect("it can be polled");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).expect("it can be waited for");
                stream
                    .set_read_timeout(Some(Duration::from_secs(60)))
                    .expect("it has a deadline");
                return stream;
            }
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => panic!("nobody came: {error}"),
        }
    }
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let all = span["attributes"].as_array().expect("a span has attributes");
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |attribute| &attribute["value"])
}

#[test]
fn a_collector_gets_the_session_as_spans() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("http://{}", listener.local_addr().expect("it has an address"));
    let room = room().with("OTEL_EXPORTER_OTLP_ENDPOINT", &address);
    run_with(&room, &["--otel"]);
    let mut stream = accept(&listener);
    let (head, body) = read_request(&mut stream);
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        .expect("it waits for the answer");
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    let sent: Value = serde_json::from_str(&body).expect("the body is JSON");
    let spans = sent["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .expect("spans");
    let named = |name: &str| {
        let found = spans.iter().find(|span| span["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
    };
    let root = named("invoke_agent becket");
    assert!(root.get("parentSpanId").is_none());
    let traces: Vec<&Value> = spans.iter().map(|span| &span["traceId"]).collect();
    assert!(traces.iter().all(|trace| *trace == &root["traceId"]));
    let ids: Vec<&Value> = spans.iter().map(|span| &span["spanId"]).collect();
    for span in spans.iter().filter(|span| span.get("parentSpanId").is_some()) {
        assert!(ids.contains(&&span["parentSpanId"]), "an orphan: {span}");
    }
    let turn = named("turn 1");
    assert_eq!(turn["parentSpanId"], root["spanId"]);
    let call = named("execute_tool shell");
    assert_eq!(call["parentSpanId"], turn["spanId"]);
    assert_eq!(
        attribute(call, "gen_ai.operation.name")["stringValue"],
        "execute_tool"
    );
    let request = spans
        .iter()
        .find(|span| attribute(span, "gen_ai.operation.name")["stringValue"] == "chat");
    let request = request.expect("a request is there");
    assert_eq!(
        attribute(request, "gen_ai.provider.name")["stringValue"],
        "scripted"
    );
    let guard = spans.iter().filter(|span| span["name"] == "hook no-rm");
    let effects: Vec<&Value> = guard
        .map(|span| &attribute(span, "becket.hook.effect")["stringValue"])
        .collect();
    assert_eq!(effects, [&json!("none"), &json!("denied")]);
    let printed = room.run(["trace", "--export", "otlp"]).ended_with(0);
    let printed: Value = serde_json::from_str(&printed.stdout).expect("it is JSON");
    assert_eq!(printed, sent, "what is sent can be looked at");
}

#[test]
fn a_collector_that_is_gone_or_silent_concerns_no_run() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let silent = format!(
        "--otel=http://{}",
        listener.local_addr().expect("it has an address")
    );
    let room = room();
    let began = Instant::now();
    run_with(&room, &[&silent]);
    // Its process would wait longer than that for an answer.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    let stream = accept(&listener);
    drop((stream, listener));
    run_with(&room, &["--otel=http://127.0.0.1:1"]);
    room.run(["trace", "--otel=http://127.0.0.1:1"])
        .ended_with(1)
        .complained("the spans could not be sent to http://127.0.0.1:1/v1/traces")
        .complained("is a collector listening there?");
    room.run(["--otel=ftp://x", "go"])
        .ended_with(2)
        .complained("`ftp://x` is not the address of a collector");
}
