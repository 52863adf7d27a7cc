//! What goes over the wire and what must not: bytes, keys, retries, broken streams.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{AnthropicStream, Ending, ModelServer, OpenAiStream, Response, Room, Wire, needs};

use crate::room;

const KEY: &str = "sk-very-secret-0123456789";

/// A room whose key and address lead to the server.
fn connected(provider: &str, server: &ModelServer) -> Room {
    room()
        .with(&format!("{provider}_API_KEY"), KEY)
        .with(&format!("{provider}_BASE_URL"), &server.url())
}

/// A room whose model is one of the server's interface.
fn asking(wire: Wire, server: &ModelServer) -> Room {
    let (service, model) = match wire {
        Wire::Chat => ("OPENAI", "openai/gpt-4.1"),
        Wire::Messages => ("ANTHROPIC", "anthropic/claude-sonnet-4-5"),
        Wire::Responses => ("OPENAI", "openai/gpt-5.1-codex"),
        Wire::Gemini => ("GEMINI", "gemini/gemini-3.5-flash"),
    };
    let room = connected(service, server);
    room.config(&format!("model = \"{model}\"\n"));
    room
}

fn answer(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}

fn call(command: &str) -> Response {
    let arguments = json!({"command": command}).to_string();
    let (head, tail) = arguments.split_at(arguments.len() / 2);
    let stream = OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[head, tail]);
    Response::events(stream.finish("tool_calls").done())
}

/// Adds a field, as a hook that does not care about the rest would.
const FIRST_HOOK: &str = r#"
import json, sys
body = json.load(sys.stdin)["body"]
body["first_hook_was_here"] = True
print(json.dumps({"body": body}))
"#;

/// Writes the body in a way that no serialiser would, and keeps a copy of it.
const LAST_HOOK: &str = r#"
import json, sys
event = json.load(sys.stdin)
assert event["body"]["first_hook_was_here"]
body = json.dumps(event["body"], indent=3, separators=("  ,", " :\t"), ensure_ascii=True)
body = body[:-1] + ' ,  "top_p":  1.50e0, "seed": 12345678901234567890123  }'
with open(f"../sent_{event['iteration']}", "w", newline="") as copy:
    copy.write(body)
print('{ "body" :  ' + body + ' }')
"#;

const REWRITING_HOOKS: &str = r#"
[[hook]]
event = "pre_request"
command = ["python3", "../first.py"]

[[hook]]
event = "pre_request"
command = ["python3", "../last.py"]
"#;

fn assert_sent_as_the_last_hook_wrote(room: &Room, server: &ModelServer, rounds: usize) {
    let hooks = room.hooks(REWRITING_HOOKS);
    room.write("../first.py", FIRST_HOOK);
    room.write("../last.py", LAST_HOOK);
    room.run(["--yes", "--hooks", &hooks, "say «ü» 🙂"])
        .ended_with(0)
        .said("all done");
    let requests = server.requests();
    assert_eq!(requests.len(), rounds);
    for (number, request) in requests.iter().enumerate() {
        assert_eq!(
            request.text(),
            room.read(&format!("../sent_{}", number + 1)),
            "round {number}"
        );
    }
}

#[test]
fn the_bytes_are_those_of_the_last_hook_on_every_round_for_openai() {
    if !needs("python3") {
        return;
    }
    let server = ModelServer::start([call("echo one"), call("echo two"), answer("all done")]);
    assert_sent_as_the_last_hook_wrote(&connected("OPENAI", &server), &server, 3);
}

#[test]
fn the_bytes_are_those_of_the_last_hook_on_every_round_for_anthropic() {
    if !needs("python3") {
        return;
    }
    let arguments = [r#"{"command":"#, r#""echo one"}"#];
    let asking = AnthropicStream::new("m", 3)
        .tool_call("call-1", "shell", &arguments)
        .stop("tool_use", 2);
    let ending = AnthropicStream::new("m", 3)
        .text(&["all ", "done"])
        .stop("end_turn", 2);
    let server = ModelServer::start([Response::events(asking), Response::events(ending)]);
    assert_sent_as_the_last_hook_wrote(&connected("ANTHROPIC", &server), &server, 2);
}

#[test]
fn the_bytes_are_those_of_the_last_hook_on_every_round_for_responses_and_gemini() {
    if !needs("python3") {
        return;
    }
    for wire in [Wire::Responses, Wire::Gemini] {
        let call = ("call-1", "shell", r#"{"command":"echo one"}"#);
        let server = ModelServer::start([
            Response::events(wire.thought_and_call("seal", call)),
            Response::events(wire.text("all done")),
        ]);
        assert_sent_as_the_last_hook_wrote(&asking(wire, &server), &server, 2);
    }
}

#[test]
fn every_interface_serves_a_prompt_with_a_call_of_a_tool() {
    for wire in Wire::ALL {
        let call = ("call-1", "shell", r#"{"command":"echo here > ran"}"#);
        let answers = [wire.thought_and_call("seal", call), wire.text("all done")];
        let server = ModelServer::strict(wire, answers);
        let room = asking(wire, &server);
        room.run(["--yes", "write it down"])
            .ended_with(0)
            .said("all done");
        assert_eq!(room.read("ran").trim(), "here", "{wire:?}");
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{wire:?}");
        assert!(!requests[1].text().contains(KEY), "{wire:?}");
    }
}

#[test]
fn calls_of_an_answer_that_is_cut_never_run_on_any_interface() {
    for wire in Wire::ALL {
        let call = ("call-1", "shell", r#"{"command":"touch ran"}"#);
        let whole = wire.thought_and_call("seal", call);
        let end = wire.end_of(&whole).start;
        let cut = Response::events(&whole.as_bytes()[..end]).ending(Ending::Cut);
        let server = ModelServer::start([cut, Response::events(wire.text("went on"))]);
        let room = asking(wire, &server);
        room.run(["--yes", "hello"]).ended_with(0).said("went on");
        assert!(!room.has("ran"), "{wire:?}");
        assert_eq!(server.requests().len(), 2, "{wire:?}");
    }
}

/// An answer in which each `¤` became a byte that is not UTF-8.
fn with_bad_bytes(answer: &str) -> Response {
    let pieces: Vec<&[u8]> = answer.split('¤').map(str::as_bytes).collect();
    Response::events(pieces.join(&0xff))
}

#[test]
fn a_bad_byte_costs_one_character_of_a_text_and_not_the_answer() {
    for wire in Wire::ALL {
        let call = ("call-1", "shell", r#"{"command":"touch ran"}"#);
        let calling = wire.thought_and_call("seal", call).replace("look.", "l¤¤k.");
        let server = ModelServer::start([with_bad_bytes(&calling), with_bad_bytes(&wire.text("all d¤ne"))]);
        let room = asking(wire, &server);
        room.run(["--yes", "hello"]).ended_with(0).said("all d\u{fffd}ne");
        assert!(room.has("ran"), "{wire:?}");
        assert_eq!(server.requests().len(), 2, "{wire:?}");
        let sent = server.requests()[1].text();
        assert!(sent.contains("l\u{fffd}\u{fffd}k."), "{wire:?}: {sent}");
    }
}

#[test]
fn a_call_with_a_damaged_character_never_runs_and_is_asked_for_again() {
    for wire in Wire::ALL {
        for arguments in [
            r#"{"command":"touch ran; : ¤"}"#,
            r#"{"command":"touch ran","¤":1}"#,
        ] {
            let damaged = wire.thought_and_call("seal", ("call-1", "shell", arguments));
            let halved = Response::events(damaged.replace('¤', "\\ud83d"));
            let whole = Response::events(wire.text("went on"));
            let server = ModelServer::start([with_bad_bytes(&damaged), halved, whole]);
            let room = asking(wire, &server);
            room.run(["--yes", "hello"])
                .ended_with(0)
                .said("went on")
                .complained("damaged");
            assert!(!room.has("ran"), "{wire:?}");
            assert_eq!(server.requests().len(), 3, "{wire:?}");
        }
    }
}

#[test]
fn a_summary_is_asked_for_in_a_form_that_every_interface_has() {
    for wire in Wire::ALL {
        let form = json!({"summary": "THE\nSUMMARY"}).to_string();
        let summary = match wire {
            Wire::Messages => AnthropicStream::new("m", 1)
                .tool_call("call-1", "answer", &[&form])
                .stop("tool_use", 1),
            _ => wire.text(&form),
        };
        let server = ModelServer::strict(wire, [wire.text("hi"), summary, wire.text("more")]);
        let room = asking(wire, &server);
        room.run(["hello"]).ended_with(0);
        room.run(["compact"]).ended_with(0);
        room.run(["go on"]).ended_with(0).said("more");
        let requests = server.requests();
        assert!(
            requests[1].text().contains("The whole summary"),
            "{wire:?}: {}",
            requests[1].text()
        );
        let sent = requests[2].text();
        assert!(
            sent.contains(r"THE\nSUMMARY") && !sent.contains(r#"{\"summary"#),
            "{wire:?}: {sent}"
        );
    }
}

#[test]
fn a_server_without_answers_by_a_schema_writes_the_summary_as_text() {
    for wire in Wire::ALL {
        let refuses = Mutex::new(0);
        let server = ModelServer::answering(move |request| {
            let mut asked = refuses.lock().unwrap();
            *asked += 1;
            match request.text().contains("The whole summary") {
                true => Response::json(400, &json!({"error": {"message": "no such field"}})),
                false => Response::events(wire.text(&format!("answer {asked}"))),
            }
        });
        let room = asking(wire, &server);
        room.run(["hello"]).ended_with(0);
        room.run(["compact"]).ended_with(0);
        room.run(["go on"]).ended_with(0).said("answer 4");
        let sent = server.requests()[3].text();
        assert!(sent.contains("answer 3"), "{wire:?}: {sent}");
    }
}

#[test]
fn thoughts_that_another_model_cannot_read_are_left_out_and_the_user_is_told() {
    let call = ("call-1", "shell", r#"{"command":"true"}"#);
    let first = ModelServer::strict(
        Wire::Messages,
        [
            Wire::Messages.thought_and_call("seal", call),
            AnthropicStream::new("m", 1)
                .thinking("So.", &Wire::Messages.seal("end"))
                .text(&["one"])
                .stop("end_turn", 1),
        ],
    );
    let second = ModelServer::strict(
        Wire::Gemini,
        [Wire::Gemini.text("two"), Wire::Gemini.text("three")],
    );
    let room = asking(Wire::Messages, &first)
        .with("GEMINI_API_KEY", KEY)
        .with("GEMINI_BASE_URL", &second.url());
    room.run(["--yes", "first"]).ended_with(0).said("one");
    let words = "gemini/gemini-3.5-flash cannot read the thoughts of the model before it";
    room.run(["--model", "gemini", "second"])
        .ended_with(0)
        .said("two")
        .complained(words);
    let again = room.run(["--model", "gemini", "third"]).ended_with(0);
    assert!(!again.stderr.contains(words), "{again:#?}");
    let sent = second.requests()[1].text();
    assert!(sent.contains("first") && !sent.contains("messages-"), "{sent}");
}

#[test]
fn a_worker_writes_the_body_byte_for_byte_too() {
    if !needs("python3") {
        return;
    }
    let server = ModelServer::start([answer("all done")]);
    let room = connected("OPENAI", &server);
    room.write(
        "../worker.py",
        r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    body = json.dumps(request["event"]["body"], separators=("  ,", " : "))
    open("../sent", "w").write(body)
    print('{"id": %d, "reply": {"body": %s}}' % (request["id"], body), flush=True)
"#,
    );
    let hooks = room.hooks("[[hook]]\nevent = \"pre_request\"\nworker = [\"python3\", \"../worker.py\"]\n");
    room.run(["--hooks", &hooks, "hello"])
        .ended_with(0)
        .said("all done");
    assert_eq!(server.only_request().text(), room.read("../sent"));
}

#[test]
fn without_a_hook_the_body_is_what_the_event_showed() {
    let server = ModelServer::start([answer("fine")]);
    let room = connected("OPENAI", &server);
    let run = room.run(["--json", "hello"]).ended_with(0);
    assert_eq!(
        run.events_named("pre_request")[0]["body"],
        server.only_request().json()
    );
}

#[test]
fn a_denied_request_is_not_sent() {
    let server = ModelServer::start([answer("fine")]);
    let room = connected("OPENAI", &server);
    let hooks = room.hooks("[[hook]]\nevent = \"pre_request\"\ncommand = \"echo not today >&2; exit 2\"\n");
    room.run(["--hooks", &hooks, "hello"])
        .ended_with(1)
        .complained("not today");
    assert!(server.requests().is_empty());
}

#[test]
fn a_guard_of_requests_that_breaks_keeps_the_request_back() {
    let server = ModelServer::start([answer("fine")]);
    let room = connected("OPENAI", &server);
    let hooks = room.hooks("[[hook]]\nname = \"my-guard\"\nevent = \"pre_request\"\ncommand = \"exit 1\"\n");
    room.run(["--hooks", &hooks, "hello"])
        .ended_with(1)
        .complained("my-guard");
    assert!(server.requests().is_empty());
}

/// A hook on each of many events that keeps everything it can see.
fn spying_hooks() -> String {
    let events = [
        "session_start",
        "user_prompt",
        "post_system_prompt",
        "agent_start",
        "model_context",
        "pre_request",
        "response_start",
        "response",
        "message_end",
        "pre_tool",
        "pre_shell",
        "approval_decided",
        "tool_end",
        "post_tool",
        "turn_end",
        "agent_end",
        "notification",
        "error",
        "session_end",
    ];
    let spy = |event: &&str| {
        format!(
            "[[hook]]\nevent = \"{event}\"\ncommand = \"cat >> ../seen; env >> ../seen; ps -ef >> ../seen || true\"\n"
        )
    };
    let mut hooks: String = events.iter().map(spy).collect();
    hooks.push_str("[[hook]]\nevent = \"pre_tool\"\nworker = \"env >> ../seen; tee -a ../seen | sed -u 's/^{\\\"id\\\":\\\\([0-9]*\\\\).*/{\\\"id\\\":\\\\1,\\\"reply\\\":{}}/'\"\n");
    hooks
}

#[test]
fn the_key_goes_into_the_header_and_nowhere_else() {
    for wire in Wire::ALL {
        let (header, value) = match wire {
            Wire::Chat | Wire::Responses => ("authorization", format!("Bearer {KEY}")),
            Wire::Messages => ("x-api-key", KEY.to_owned()),
            Wire::Gemini => ("x-goog-api-key", KEY.to_owned()),
        };
        let call = ("call-1", "shell", r#"{"command":"env > ../tool_env"}"#);
        let server = ModelServer::start([
            Response::events(wire.thought_and_call("seal", call)),
            Response::events(wire.text("all done")).header("x-echo", KEY),
        ]);
        let room = asking(wire, &server);
        let hooks = room.hooks(&spying_hooks());
        let run = room
            .run(["--yes", "--json", "--hooks", &hooks, "hello"])
            .ended_with(0);
        for request in server.requests() {
            assert_eq!(request.header(header), Some(value.as_str()));
            assert!(!request.text().contains(KEY));
        }
        let seen = room.read("../seen");
        assert!(
            seen.contains("\"event\":\"pre_request\"") && seen.contains("PATH="),
            "{seen}"
        );
        assert!(room.read("../tool_env").contains("PATH="));
        for (place, text) in [
            ("hooks", &seen),
            ("tool", &room.read("../tool_env")),
            ("stdout", &run.stdout),
            ("stderr", &run.stderr),
        ] {
            assert!(!text.contains(KEY), "the key is seen by {place}");
        }
        assert!(!is_in_store(&room, KEY), "the key is in the store");
        assert!(is_in_store(&room, "all done"), "the store was looked into");
    }
}

#[test]
fn cloud_services_get_the_address_and_the_key_that_the_guide_says() {
    const BEARER: (&str, &str) = ("authorization", "Bearer sk-cloud-1234");
    for (settings, base, path, (header, value)) in [
        (
            "api = \"responses\"\nheaders = { api-key = \"sk-azure-1234\" }",
            "/openai/v1",
            "/openai/v1/responses",
            ("api-key", "sk-azure-1234"),
        ),
        (
            "key_variable = \"CLOUD_KEY\"",
            "/openai/v1",
            "/openai/v1/chat/completions",
            BEARER,
        ),
        (
            "api = \"gemini\"\nkey_variable = \"CLOUD_KEY\"",
            "/v1/publishers/google",
            "/v1/publishers/google/models/m:streamGenerateContent?alt=sse",
            ("x-goog-api-key", "sk-cloud-1234"),
        ),
    ] {
        let server = ModelServer::start([Response::json(400, &json!({"error": {"message": "not today"}}))]);
        let room = room().with("CLOUD_KEY", "sk-cloud-1234");
        let address = format!("{}{base}", server.url());
        room.config(&format!(
            "[providers.cloud]\nbase_url = \"{address}\"\nmodel = \"m\"\n{settings}\n"
        ));
        room.run(["--model", "cloud", "hello"])
            .ended_with(3)
            .complained("not today");
        let request = server.only_request();
        assert_eq!(
            (request.path.as_str(), request.header(header)),
            (path, Some(value))
        );
        assert!(header == "authorization" || request.header("authorization").is_none());
    }
}

/// Whether bytes are anywhere in the folder of the store.
fn is_in_store(room: &Room, text: &str) -> bool {
    let file = room.store_file();
    let folder = file.parent().expect("the store is in a folder");
    std::fs::read_dir(folder)
        .expect("the store is there")
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path()).ok())
        .any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[test]
fn a_key_of_the_configuration_is_kept_as_well() {
    let server = ModelServer::start([call("env > ../tool_env"), answer("all done")]);
    let room = room().with("MY_KEY", KEY);
    room.config(&format!(
        "model = \"mine/m\"\n[providers.mine]\nbase_url = \"{}\"\nkey_variable = \"MY_KEY\"\n",
        server.url()
    ));
    let hooks = room.hooks(&spying_hooks());
    room.run(["--yes", "--hooks", &hooks, "hello"]).ended_with(0);
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert!(!room.read("../seen").contains(KEY) && !room.read("../tool_env").contains(KEY));
    let shown = room.run(["config"]).ended_with(0);
    assert!(!shown.stdout.contains(KEY));
}

#[test]
fn a_key_is_passed_on_by_name() {
    let server = ModelServer::start([call("echo \"$OPENAI_API_KEY\" > ../tool_saw"), answer("all done")]);
    let room = connected("OPENAI", &server).with("ANTHROPIC_API_KEY", "another-key");
    room.config("[tools]\npass_env = [\"OPENAI_API_KEY\"]\n");
    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_tool\"\npass_env = [\"OPENAI_API_KEY\"]\ncommand = \"env > ../hook_saw\"\n",
    );
    room.run(["--yes", "--hooks", &hooks, "hello"]).ended_with(0);
    assert!(
        room.read("../hook_saw")
            .contains(&format!("OPENAI_API_KEY={KEY}"))
    );
    assert!(!room.read("../hook_saw").contains("another-key"));
    assert_eq!(room.read("../tool_saw").trim(), KEY);
}

#[test]
fn a_key_that_the_server_throws_back_is_masked() {
    let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
    let server = ModelServer::start([Response::json(401, &body)]);
    let room = connected("OPENAI", &server);
    let run = room
        .run(["--json", "hello"])
        .ended_with(3)
        .complained("401")
        .complained("key");
    assert!(!run.stderr.contains(KEY) && !run.stdout.contains(KEY), "{run:#?}");
    assert!(!is_in_store(&room, KEY));
    assert_eq!(
        server.requests().len(),
        1,
        "a wrong key does not get better by trying again"
    );
}

fn busy(status: u16, retry_after: &str) -> Response {
    Response::json(status, &json!({"error": {"message": "busy"}})).header("retry-after", retry_after)
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let server = ModelServer::start([busy(429, "1"), busy(503, "0"), answer("there you are")]);
    let room = connected("OPENAI", &server);
    let started = Instant::now();
    let run = room
        .run(["--json", "hello"])
        .ended_with(0)
        .complained("trying again in 1.0 s");
    assert!(
        started.elapsed() >= Duration::from_secs(1),
        "the server's wish is honoured"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.body == requests[0].body));
    assert_eq!(run.events_named("response_start")[0]["retries"], 2);
    assert_eq!(run.events_named("pre_request").len(), 1, "hooks are asked once");
}

#[test]
fn trying_again_ends() {
    let server = ModelServer::start([busy(503, "0"), busy(503, "0"), answer("too late")]);
    let room = connected("OPENAI", &server);
    room.config("[agent]\nmax_retries = 1\n");
    room.run(["hello"]).ended_with(3).complained("503");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_server_that_wants_an_hour_is_not_waited_for() {
    let server = ModelServer::start([busy(429, "3600"), answer("too late")]);
    let room = connected("OPENAI", &server);
    room.run(["hello"]).ended_with(3).complained("429");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn nothing_is_tried_again_where_the_settings_say_so() {
    let half = OpenAiStream::new("m").text("half an ans").unfinished();
    let server = ModelServer::start([Response::events(half).ending(Ending::Cut), answer("whole")]);
    let room = connected("OPENAI", &server);
    room.config("[agent]\nmax_retries = 0\n");
    let run = room.run(["hello"]).ended_with(3).said("half an ans");
    assert!(!run.stdout.contains("whole"), "{run:#?}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn calls_of_a_broken_stream_never_run() {
    let asking = || OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[r#"{"command":"touch ran"}"#]);
    let table = [
        ("cut", Response::events(asking().unfinished()).ending(Ending::Cut)),
        ("ended without a reason", Response::events(asking().unfinished())),
        (
            "ended with an error",
            Response::events(
                asking()
                    .data(r#"{"error":{"message":"gone","code":502}}"#)
                    .unfinished(),
            ),
        ),
        (
            "garbage",
            Response::events(asking().data("{not json").unfinished()),
        ),
    ];
    for (name, response) in table {
        let server = ModelServer::start([response, answer("went on")]);
        let room = connected("OPENAI", &server);
        room.run(["--yes", "hello"]).ended_with(0).said("went on");
        assert!(!room.has("ran"), "{name}");
        assert_eq!(server.requests().len(), 2, "{name}");
    }
}

#[test]
fn calls_of_an_answer_that_was_cut_at_its_length_never_run() {
    let stream = OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[r#"{"command":"touch ran"}"#]);
    let server = ModelServer::start([
        Response::events(stream.finish("length").done()),
        answer("went on"),
    ]);
    let room = connected("OPENAI", &server);
    room.run(["--yes", "hello"]).ended_with(0).said("went on");
    assert!(!room.has("ran"));
}

#[test]
fn after_a_broken_answer_the_context_goes_on() {
    let half = OpenAiStream::new("m").text("half").unfinished();
    let server = ModelServer::start([Response::events(half).ending(Ending::Cut), answer("whole")]);
    let room = connected("OPENAI", &server);
    room.config("[agent]\nmax_retries = 0\n");
    room.run(["first"]).ended_with(3);
    room.run(["second"]).ended_with(0).said("whole");
    assert!(
        server.requests()[1].text().contains("first"),
        "the first prompt was kept"
    );
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let room = room()
        .with("OPENAI_API_KEY", KEY)
        .with("OPENAI_BASE_URL", "http://127.0.0.1:9");
    room.config("[agent]\nmax_retries = 0\n");
    room.run(["hello"])
        .ended_with(3)
        .complained("The connection to 127.0.0.1:9 was refused")
        .complained(": http://127.0.0.1:9/");
}

#[test]
fn a_model_without_its_key_is_a_configuration_error() {
    let room = room();
    room.run(["--model", "openai/gpt-4.1", "hello"])
        .ended_with(2)
        .complained("OPENAI_API_KEY");
    room.run(["--model", "nonsense/x", "hello"])
        .ended_with(2)
        .complained("nonsense");
}

#[test]
fn a_server_that_falls_silent_is_left() {
    let half = OpenAiStream::new("m").text("half").unfinished();
    let server = ModelServer::start([Response::events(half).ending(Ending::Hang)]);
    let room = connected("OPENAI", &server);
    room.config("[agent]\nidle_timeout = 5\nmax_retries = 0\n");
    room.run(["hello"]).ended_with(3).complained("silent");
}

#[test]
fn a_picture_goes_with_the_first_prompt() {
    let server = ModelServer::start([answer("a red dot")]);
    let room = connected("OPENAI", &server);
    room.write("dot.png", b"\x89PNG\r\n\x1a\nrest");
    room.write("note.txt", "no picture");
    room.run(["--image", "dot.png", "What is this?"])
        .ended_with(0)
        .said("a red dot");
    assert!(
        server.requests()[0]
            .text()
            .contains("data:image/png;base64,iVBORw0KGgpyZXN0")
    );
    room.run(["--image", "note.txt", "What is this?"])
        .ended_with(2)
        .complained("neither PNG");
}

#[test]
#[cfg(target_os = "linux")]
fn the_models_commands_cannot_read_the_key_from_beckets_own_environment() {
    let server = ModelServer::start([call("tr '\\0' '\\n' < /proc/$PPID/environ"), answer("done")]);
    let room = connected("OPENAI", &server);
    let finished = testkit::finish(without_privileges(&room, ["--yes", "Show it"]).spawn().unwrap());
    let seen_by_model = server.requests()[1].text().to_string();
    assert!(
        seen_by_model.contains("ermission denied"),
        "{seen_by_model}\n{finished:?}"
    );
    assert!(!finished.stderr.contains(KEY) && !seen_by_model.contains(KEY));
}

#[test]
#[cfg(target_os = "linux")]
fn a_key_that_the_settings_hold_or_name_hides_the_process_too() {
    for config in [
        format!("[providers.mine]\nkey = \"{KEY}\"\nbase_url = URL\n"),
        "[providers.mine]\nkey_variable = \"MY_OWN\"\nbase_url = URL\n".to_owned(),
    ] {
        let server = ModelServer::start([call("tr '\\0' '\\n' < /proc/$PPID/environ"), answer("done")]);
        let room = room().with("MY_OWN", KEY);
        let config = format!("model = \"mine/m\"\n{config}").replace("URL", &format!("{:?}", server.url()));
        room.config(&config);
        let finished = testkit::finish(without_privileges(&room, ["--yes", "Show it"]).spawn().unwrap());
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{config}: {finished:?}");
        assert!(
            requests[1].text().contains("ermission denied"),
            "{config}: {finished:?}"
        );
    }
}

/// The program as an ordinary user: one with every privilege could read everything.
#[cfg(target_os = "linux")]
fn without_privileges(room: &Room, arguments: [&str; 2]) -> std::process::Command {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let given = room.command(arguments);
    if !rustix::process::geteuid().is_root() {
        return given;
    }
    let root = room.work().parent().unwrap().to_path_buf();
    // The program may lie where nobody else can reach it.
    let program = root.join("becket");
    std::fs::copy(given.get_program(), &program).unwrap();
    for place in [&root, &room.work(), &room.home()] {
        std::os::unix::fs::chown(place, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = std::process::Command::new(program);
    command
        .args(given.get_args())
        .current_dir(room.work())
        .env_clear()
        .uid(NOBODY)
        .gid(NOBODY);
    command.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command
}
