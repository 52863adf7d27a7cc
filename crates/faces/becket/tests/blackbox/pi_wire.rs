//! Extensions of pi that look at what goes over the wire, and that judge projects.

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room, finish};

use crate::room;

const KEY: &str = "sk-0123456789";

fn answer(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}

fn connected(server: &ModelServer) -> Room {
    room()
        .with("OPENAI_API_KEY", KEY)
        .with("OPENAI_BASE_URL", &server.url())
}

fn noted(room: &Room) -> Vec<Value> {
    let text = room.read("noted");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

const NOTE: &str = "import { appendFileSync } from 'node:fs';
    const note = (value: any) => appendFileSync('noted', JSON.stringify(value) + '\\n');
    ";

#[test]
fn headers_are_changed_one_after_another_and_no_key_is_seen() {
    let server = ModelServer::start([answer("fine")]);
    let room = connected(&server);
    room.write(
        "first.ts",
        format!(
            "{NOTE} export default (pi: any) => {{
                pi.on('before_provider_headers', (event: any) => {{
                    note(event);
                    event.headers['X-Trace'] = 'one';
                    event.headers['user-agent'] = null;
                    return {{ headers: {{ 'x-returned': 'no' }} }};
                }});
                pi.on('before_provider_headers', (event: any) => {{ throw new Error('broken'); }});
            }};"
        ),
    );
    room.write(
        "second.ts",
        format!(
            "{NOTE} export default (pi: any) => pi.on('before_provider_headers', (event: any) => {{
                note(event.headers['x-trace']);
                event.headers['x-trace'] += ' two';
                delete event.headers.accept;
            }});"
        ),
    );
    let words = [
        "--model",
        "openai/m",
        "-e",
        "first.ts",
        "-e",
        "second.ts",
        "hello",
    ];
    room.run(words).ended_with(0).said("fine").complained("broken");
    let request = server.only_request();
    assert_eq!(request.header("x-trace"), Some("one two"), "{request:#?}");
    assert_eq!(request.header("authorization"), Some("Bearer sk-0123456789"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    for absent in ["user-agent", "x-returned"] {
        assert_eq!(request.header(absent), None, "{request:#?}");
    }
    assert_ne!(request.header("accept"), Some("text/event-stream"));
    let seen = noted(&room);
    assert_eq!(seen[0]["type"], "before_provider_headers");
    assert_eq!(seen[0]["headers"]["authorization"], "kept-by-becket", "{seen:?}");
    assert_eq!(seen[1], "one");
    assert!(!room.read("noted").contains(KEY));
}

#[test]
fn a_header_that_an_extension_sets_takes_the_place_of_the_key_s() {
    let server = ModelServer::start([answer("fine")]);
    let room = connected(&server);
    room.write(
        "own.ts",
        "export default (pi: any) => pi.on('before_provider_headers', (event: any) => {
            event.headers.Authorization = 'Bearer mine';
        });",
    );
    room.run(["--model", "openai/m", "-e", "own.ts", "hello"])
        .ended_with(0);
    assert_eq!(server.only_request().header("authorization"), Some("Bearer mine"));
}

#[test]
fn what_a_provider_sends_is_told_as_it_comes() {
    let server = ModelServer::start([answer("fine")]);
    let room = connected(&server);
    room.write(
        "raw.ts",
        format!("{NOTE} export default (pi: any) => {{ pi.on('provider_stream_event', note); }};"),
    );
    room.run(["--model", "openai/m", "-e", "raw.ts", "hello"])
        .ended_with(0)
        .said("fine");
    let seen = noted(&room);
    let about = |event: &Value| json!([event["type"], event["provider"], event["api"], event["model"]]);
    let expected = json!(["provider_stream_event", "openai", "openai-completions", "m"]);
    assert!(seen.iter().all(|event| about(event) == expected), "{seen:#?}");
    let deltas = seen.iter().map(|event| &event["data"]["choices"][0]);
    let deltas: Vec<&Value> = deltas.collect();
    assert_eq!(deltas[0]["delta"]["content"], "fine", "{seen:#?}");
    assert_eq!(deltas[1]["finish_reason"], "stop", "{seen:#?}");
    assert_eq!(deltas.len(), 2, "{seen:#?}");
}

/// A project with an extension that notes that it ran, and an extension of the user's that judges projects.
fn judged(decision: &str) -> Room {
    let room = room();
    room.write(
        "../home/.pi/agent/extensions/wary.ts",
        format!(
            "{NOTE} export default (pi: any) => pi.on('project_trust', async (event: any, ctx: any) => {{
                note([event.cwd === process.cwd(), ctx.hasUI, await ctx.ui.confirm('a', 'b')]);
                {decision}
            }});"
        ),
    );
    room.write(
        ".pi/extensions/theirs.ts",
        "import { writeFileSync } from 'node:fs'; export default () => writeFileSync('ran', '');",
    );
    room
}

#[test]
fn an_extension_can_refuse_a_project_that_the_user_trusts() {
    for decision in ["return { trusted: 'no' };", "throw new Error('no idea');"] {
        let room = judged(decision);
        room.run(["hooks", "trust", "--all"]).ended_with(0);
        let _ = std::fs::remove_file(room.work().join("ran"));
        room.run(["hello"]).ended_with(4).complained("wary");
        assert!(!room.has("ran"), "{decision}");
        assert_eq!(noted(&room).last(), Some(&json!([true, false, false])));
        room.run(["--trust", "hello"]).ended_with(0);
        assert!(room.has("ran"), "{decision}");
    }
}

#[test]
fn no_extension_trusts_a_project_in_the_user_s_place() {
    let room = judged("return { trusted: 'yes', remember: true };");
    room.run(["hello"]).ended_with(4).complained("theirs.ts");
    assert!(!room.has("ran"));
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    room.run(["hello"]).ended_with(0);
    assert!(room.has("ran"));
}

#[test]
fn events_without_a_moment_are_told_when_a_handler_comes() {
    let room = room();
    room.write(
        "odd.ts",
        "export default (pi: any) => {
            pi.on('cache_warming_decision', () => ({ action: 'stop' }));
            pi.on('session_directory', () => ({ sessionDir: '/nowhere' }));
        };",
    );
    let run = room.command(["-e", "odd.ts", "hello"]).spawn();
    let run = finish(run.expect("it starts")).ended_with(0);
    for event in ["cache_warming_decision", "session_directory"] {
        let words = format!("pi has the event `{event}`, but becket does not fire it");
        assert!(run.stderr.contains(&words), "{run:#?}");
    }
}
