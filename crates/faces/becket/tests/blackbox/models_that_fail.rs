//! Models that fail: answers that break off, servers that say nothing, limits on the rate, and what the user is told.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Ending, Finished, ModelServer, OpenAiStream, Recorded, Response, Room, Signal};

use crate::room;
use crate::terminal::Terminal;

/// Longer than any test may take.
const FOR_EVER: Duration = Duration::from_secs(600);

fn connected(server: &ModelServer) -> Room {
    at(&server.url())
}

fn at(url: &str) -> Room {
    room()
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OPENAI_BASE_URL", url)
}

fn said(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).finish("stop").done())
}

fn cut(text: &str) -> Response {
    Response::events(OpenAiStream::new("m").text(text).unfinished()).ending(Ending::Cut)
}

fn busy(status: u16, retry_after: &str) -> Response {
    Response::json(status, &json!({"error": {"message": "busy"}})).header("retry-after", retry_after)
}

/// The line of standard error that holds a text.
#[track_caller]
fn line_with(run: &Finished, text: &str) -> String {
    let line = run.stderr.lines().find(|line| line.contains(text));
    line.unwrap_or_else(|| panic!("{run:#?}")).trim().to_owned()
}

#[test]
fn an_answer_that_broke_off_is_asked_for_again_and_a_pipe_gets_it_once() {
    let server = ModelServer::start([cut("half an ans"), said("whole")]);
    let room = connected(&server);
    let run = room.run(["hello"]).ended_with(0).complained("trying again");
    assert_eq!(run.stdout, "whole\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn readers_of_events_are_told_which_answer_was_replaced() {
    let server = ModelServer::start([cut("half an ans"), said("whole"), said("more")]);
    let room = connected(&server);
    let run = room.run(["--json", "hello"]).ended_with(0);
    let answers: Vec<Value> = run
        .events_named("message_end")
        .into_iter()
        .filter(|end| end["message"]["role"] == "assistant")
        .collect();
    let seen: Vec<(&Value, &Value)> = answers
        .iter()
        .map(|end| (&end["message"]["content"][0]["text"], &end["replaced"]))
        .collect();
    assert_eq!(
        seen,
        [
            (&json!("half an ans"), &json!(true)),
            (&json!("whole"), &json!(false))
        ]
    );
    let error = answers[0]["message"]["error"].as_str().unwrap_or_default();
    assert!(error.contains("before the answer was complete"), "{}", answers[0]);
    let ended = run.events_named("agent_end").remove(0).to_string();
    assert!(
        ended.contains("whole") && !ended.contains("half an ans"),
        "{ended}"
    );

    let log = room.run(["context", "log"]).ended_with(0).said("replaced_answer");
    assert_eq!(log.stdout.matches("whole").count(), 1, "{}", log.stdout);
    room.run(["go on"]).ended_with(0);
    let asked = server.requests()[2].text();
    assert!(
        asked.contains("whole") && !asked.contains("half an ans"),
        "{asked}"
    );
}

/// An answer that a server breaks off with an error in its stream.
fn broken_off(error: &Value) -> Response {
    let data = format!("data: {}\n\n", json!({"error": error}));
    Response::events([OpenAiStream::new("m").text("half").unfinished(), data].concat())
}

#[test]
fn an_error_without_a_known_code_in_an_answer_is_no_reason_to_give_up() {
    for error in [
        json!({"message": "the engine stumbled", "code": "engine_stumbled"}),
        json!("the engine stumbled"),
    ] {
        let server = ModelServer::start([broken_off(&error), said("whole")]);
        let run = connected(&server).run(["hello"]).ended_with(0).said("whole");
        let line = line_with(&run, "the engine stumbled");
        assert!(
            line.contains("The answer broke off: the engine stumbled: http://"),
            "{line}"
        );
        assert!(!run.stderr.contains("the model's name"), "{}", run.stderr);
        assert_eq!(server.requests().len(), 2);
    }
    let wrong = json!({"message": "no such tool", "type": "invalid_request_error"});
    let server = ModelServer::start([broken_off(&wrong), said("whole")]);
    connected(&server)
        .run(["hello"])
        .ended_with(3)
        .complained("no such tool");
    assert_eq!(server.requests().len(), 1);
}

/// OpenRouter's way to break off an answer in which a call had begun: signs of life, pieces, and this last one.
fn routed(last: &Value) -> Response {
    let call = OpenAiStream::new("m").tool_call(0, "c1", "shell", &[r#"{"command":"touch ran"}"#]);
    let life = ": OPENROUTER PROCESSING\n\n";
    let stream = [
        life,
        &call.unfinished(),
        life,
        &format!("data: {last}\n\n"),
        "data: [DONE]\n\n",
    ];
    Response::events(stream.concat())
}

#[test]
fn an_answer_that_a_gateway_breaks_off_says_the_cause_and_no_call_comes_from_it() {
    let ends = |reason: &str| json!([{"index": 0, "delta": {"content": ""}, "finish_reason": reason}]);
    let error = json!({"code": 502, "message": "Provider returned error",
        "metadata": {"raw": "{\"error\": {\"message\": \"the engine stumbled\"}}", "provider_name": "X"}});
    let mut without_cause = ends("error");
    without_cause[0]["native_finish_reason"] = json!("MALFORMED_CALL");
    let mut within = ends("error");
    within[0]["error"] = error.clone();
    for (last, told) in [
        (
            json!({"error": error, "choices": ends("error")}),
            "Provider returned error: the engine stumbled",
        ),
        (
            json!({"choices": within}),
            "Provider returned error: the engine stumbled",
        ),
        (
            json!({"error": error, "choices": ends("tool_calls")}),
            "Provider returned error: the engine stumbled",
        ),
        (
            json!({"choices": without_cause}),
            "the server names no cause (MALFORMED_CALL)",
        ),
    ] {
        let server = ModelServer::start([routed(&last), said("whole")]);
        let room = connected(&server);
        let run = room.run(["--yes", "hello"]).ended_with(0).said("whole");
        let line = line_with(&run, "trying again");
        assert!(
            line.contains(&format!("The answer broke off: {told}: http://")),
            "{line}"
        );
        assert!(!room.has("ran"), "{last}");
        assert_eq!(server.requests().len(), 2);
    }
}

/// A service whose model `small` takes 4000 tokens, and whose model `large` takes anything.
fn narrow(request: &Recorded) -> Response {
    let body = request.json();
    let size = body["messages"].to_string().len() / 4;
    if body["model"] != "small" || size <= 4_000 {
        return said("noted");
    }
    let message = format!(
        "This model's maximum context length is 4000 tokens. However, your messages resulted in {size} tokens."
    );
    Response::json(
        400,
        &json!({"error": {"message": message, "type": "invalid_request_error"}}),
    )
}

#[test]
fn a_window_that_an_error_names_is_learned_so_that_the_summary_fits_into_it() {
    let server = ModelServer::answering(narrow);
    let room = connected(&server);
    for number in 1..=3 {
        let prompt = format!("prompt {number} {}", "word ".repeat(4_000));
        room.run(["--model", "openai/large", &prompt]).ended_with(0);
    }
    room.run(["--model", "openai/small", "prompt 4"])
        .ended_with(0)
        .said("noted")
        .complained("to make room");
    let small = server.requests().split_off(3);
    let sizes: Vec<usize> = small.iter().map(|request| request.body.len()).collect();
    assert_eq!(
        small.len(),
        3,
        "the refused one, the summary and the answer: {sizes:?}"
    );
}

#[test]
fn a_message_that_does_not_fit_by_itself_is_told_as_that() {
    let server = ModelServer::answering(narrow);
    let run = connected(&server)
        .run(["--model", "openai/small", &"word ".repeat(8_000)])
        .ended_with(3);
    run.complained("this message alone, with the instructions and the tools, does not fit")
        .complained("window of 4000 tokens: send less at once");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_refused_request_says_the_cause_first_and_the_address_last() {
    let server = ModelServer::start([Response::json(
        404,
        &json!({"error": {"message": "The model `m` does not exist."}}),
    )]);
    let run = connected(&server).run(["hello"]).ended_with(3);
    let line = line_with(&run, "does not exist");
    let cause = "The model `m` does not exist (status 404). Check the model's name and the base URL: http://";
    assert!(
        line.contains(cause) && line.ends_with("/chat/completions"),
        "{line}"
    );
}

#[test]
fn a_terminal_marks_the_words_that_are_replaced() {
    let server = ModelServer::start([cut("half an ans"), said("the whole answer")]);
    let room = connected(&server);
    let Some(terminal) = Terminal::start(room, &["hello"]) else {
        return;
    };
    assert_eq!(terminal.wait_for_end(), 0);
    let text = terminal.text();
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words}: {text}"));
    let broken = place("half an ans");
    let mark = place("the answer above broke off");
    assert!(broken < mark && mark < place("the whole answer"), "{text}");
    assert_eq!(text.matches("half an ans").count(), 1, "{text}");
    assert_eq!(text.matches("the whole answer").count(), 1, "{text}");
}

#[test]
fn calls_run_once_and_only_those_of_a_whole_answer() {
    let half = json!({"command": "echo half >> ran"}).to_string();
    let whole = json!({"command": "echo whole >> ran"}).to_string();
    let asking = |arguments: &str| OpenAiStream::new("m").tool_call(0, "call-1", "shell", &[arguments]);
    let server = ModelServer::start([
        Response::events(asking(&half).unfinished()).ending(Ending::Cut),
        Response::events(asking(&whole).finish("tool_calls").done()),
        said("done"),
    ]);
    let room = connected(&server);
    room.run(["--yes", "go"]).ended_with(0).said("done");
    assert_eq!(room.read("ran"), "whole\n");
}

#[test]
fn limits_on_the_rate_are_waited_for_longer_than_faults() {
    let table = [(429, 0), (503, 3)];
    for (status, code) in table {
        let busy = [(); 3].map(|()| busy(status, "0"));
        let server = ModelServer::start(busy.into_iter().chain([said("at last")]));
        let room = connected(&server);
        room.config("[agent]\nmax_retries = 1\n");
        let run = room.run(["hello"]).ended_with(code);
        let asked = if code == 0 { 4 } else { 2 };
        assert_eq!(server.requests().len(), asked, "{status}");
        let is_told = run.stderr.contains("becket tried 2 times, so try again later");
        assert_eq!(is_told, code == 3, "{}", run.stderr);
    }
}

#[test]
fn a_wait_of_minutes_is_told_with_its_end_and_a_cancel_ends_it() {
    let server = ModelServer::start([busy(429, "300")]);
    let room = connected(&server);
    let running = room.start(["--json", "hello"]);
    running.wait_for_error("trying again in 5 min");
    running.signal(Signal::INT);
    let run = running.finish().ended_with(130);
    let line = line_with(&run, "trying again in 5 min");
    assert!(line.contains("It asks for a wait of 5 min, until "), "{line}");
    let (_, time) = line.split_once("until ").expect("it names a time");
    let is_time = time.as_bytes().get(2) == Some(&b':') && time[..2].parse::<u8>().is_ok();
    assert!(is_time, "{line}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_wait_of_hours_is_not_waited_for_and_told() {
    let server = ModelServer::start([busy(429, "7200")]);
    let room = connected(&server);
    room.run(["hello"])
        .ended_with(3)
        .complained("It asks for a wait of 2 h, until ");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_server_that_takes_the_request_and_says_nothing_is_told_and_given_up() {
    let server = ModelServer::start([said("late").after(FOR_EVER)]);
    let room = connected(&server);
    room.config("[agent]\nidle_timeout = 11\n");
    let run = room
        .run(["hello"])
        .ended_with(3)
        .complained("openai accepted the request and has sent nothing for 10 s; becket gives up after 11 s");
    let line = line_with(&run, "took the request and was silent for 11 s");
    assert!(line.contains("`agent.idle_timeout`"), "{line}");
    assert_eq!(server.requests().len(), 1, "it is not asked again");
}

#[test]
fn a_server_that_stops_in_the_middle_of_its_answer_is_told_and_given_up() {
    let begun = OpenAiStream::new("m").text("half of it\n\n").unfinished();
    let rest = OpenAiStream::new("m").text("late").finish("stop").done();
    let server = ModelServer::start([Response::event_pieces([begun]).late_piece(FOR_EVER, rest)]);
    let room = connected(&server);
    room.config("[agent]\nidle_timeout = 12\nmax_retries = 0\n");
    let Some(terminal) = Terminal::start(room, &["chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    terminal.enter("go");
    terminal.wait_until("the remark", |text| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.contains(
            "openai is in the middle of its answer and has sent nothing for 10 s; becket gives up after 12 s \
             (`agent.idle_timeout`); Escape ends it",
        )
    });
    terminal.wait_for("broke off its answer and was silent for 12 s");
    terminal.wait_for_mark();
    let text = terminal.text();
    assert_eq!(text.matches("has sent nothing").count(), 1, "{text}");
    terminal.press("C-d");
    terminal.wait_for_end();
}

#[test]
fn a_model_on_this_machine_gets_more_time() {
    let server = ModelServer::start([said("late").after(FOR_EVER)]);
    let room = connected(&server);
    let running = room.start(["--json", "hello"]);
    running.wait_for_error("becket gives up after 600 s");
    running.signal(Signal::INT);
    running.finish().ended_with(130);
    let shown = room.run(["--json", "config"]).ended_with(0).events().remove(0);
    assert_eq!(shown["idle_timeout"], 600);
    let far = at("https://models.example.com");
    let shown = far.run(["--json", "config"]).ended_with(0).events().remove(0);
    assert_eq!(shown["idle_timeout"], 120);
}

#[test]
fn a_host_that_cannot_be_reached_is_one_sentence_with_the_address_at_its_end() {
    let closed = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let closed = closed.expect("this machine has a free port");
    let table = [
        (
            "http://no-such-host.invalid/v1".to_owned(),
            "The host no-such-host.invalid is not known".to_owned(),
        ),
        (
            format!("http://{closed}/v1"),
            format!("The connection to {closed} was refused"),
        ),
    ];
    for (url, cause) in table {
        let room = at(&url);
        room.config("[agent]\nmax_retries = 0\n");
        let run = room.run(["hello"]).ended_with(3);
        let line = line_with(&run, &cause);
        assert!(line.ends_with(&format!(": {url}/chat/completions")), "{line}");
        assert_eq!(line.matches(&url).count(), 1, "{line}");
    }
}

#[test]
fn a_server_without_tls_is_told_as_that() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("this machine has a free port");
    let place = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let run = at(&format!("https://{place}/v1")).run(["hello"]).ended_with(3);
    let told = format!("{place} does not speak TLS; if that is right, write the base URL with http://");
    assert_eq!(run.stderr.matches(&told).count(), 1, "{}", run.stderr);
}

#[test]
fn an_address_without_its_beginning_is_a_mistake_in_the_settings() {
    at("127.0.0.1:8080/v1")
        .run(["hello"])
        .ended_with(2)
        .complained("OPENAI_BASE_URL cannot be used: it must begin with http:// or https://");
}

#[test]
fn a_web_page_in_place_of_an_answer_is_told_by_its_title() {
    let page =
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><p>nginx</p></body></html>";
    for status in [502, 200] {
        let server = ModelServer::start([Response::new(status, "text/html", page)]);
        let room = connected(&server);
        room.config("[agent]\nmax_retries = 0\n");
        let run = room.run(["hello"]).ended_with(3).complained("502 Bad Gateway");
        assert!(!run.stderr.contains('<'), "{}", run.stderr);
    }
}

/// A server as those with a template are: it reads the arguments of every call, and refuses what is no object.
fn reading_arguments(answers: impl Fn(usize) -> String + Send + Sync + 'static) -> ModelServer {
    ModelServer::answering(move |request| {
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let calls = messages
            .iter()
            .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        let is_object = |call: &Value| {
            let arguments = call["function"]["arguments"].as_str().unwrap();
            serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object())
        };
        let mut ids: Vec<&Value> = calls.clone().map(|call| &call["id"]).collect();
        let count = ids.len();
        ids.sort_by_key(|id| id.as_str());
        ids.dedup();
        let words = match calls.clone().all(is_object) {
            false => "invalid tool call arguments",
            true if ids.len() < count => "two calls have one id",
            true => return Response::events(answers(count)),
        };
        Response::json(400, &json!({"error": {"message": words}}))
    })
}

#[test]
fn a_call_that_cannot_be_read_is_told_to_the_model_and_the_conversation_goes_on() {
    for arguments in [
        r#"{"command": "touch ra"#,
        r#"["touch ran"]"#,
        r#"{"command": "touch ran"}}"#,
    ] {
        let server = reading_arguments(move |calls| {
            let answer = OpenAiStream::new("m");
            match calls {
                0 => answer
                    .tool_call(0, "c1", "shell", &[arguments])
                    .finish("tool_calls"),
                _ => answer.text("I see.").finish("stop"),
            }
            .done()
        });
        let room = connected(&server);
        room.run(["--yes", "hello"]).ended_with(0).said("I see.");
        room.run(["--yes", "go on"]).ended_with(0).said("I see.");
        assert!(!room.has("ran") && !room.has("ra"));
        let told = server.requests()[1].json()["messages"].to_string();
        assert!(
            told.contains("not valid JSON") || told.contains("must be"),
            "{told}"
        );
    }
}

#[test]
fn two_calls_with_one_id_are_two_calls_with_two_results() {
    let server = reading_arguments(|calls| {
        let answer = OpenAiStream::new("m");
        match calls {
            0 => answer
                .tool_call(0, "same", "shell", &[r#"{"command": "echo one"}"#])
                .tool_call(1, "same", "shell", &[r#"{"command": "echo two"}"#])
                .finish("tool_calls"),
            _ => answer.text("Done.").finish("stop"),
        }
        .done()
    });
    connected(&server)
        .run(["--yes", "hello"])
        .ended_with(0)
        .said("Done.");
    let asked = server.requests()[1].json();
    let results = asked["messages"].as_array().unwrap().iter();
    let results: Vec<&Value> = results.filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), 2, "{asked}");
    assert!(results[0]["content"].as_str().unwrap().contains("one"), "{asked}");
    assert!(results[1]["content"].as_str().unwrap().contains("two"), "{asked}");
}

#[test]
fn a_gateway_that_cuts_a_character_does_not_end_the_answer() {
    let piece = |text: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let stream = [
        piece(r"a boat \ud83d"),
        piece(r"\udea2 is \u26f5"),
        OpenAiStream::new("m").finish("stop").done(),
    ];
    let server = ModelServer::start([Response::events(stream.concat())]);
    let run = connected(&server).run(["hello"]).ended_with(0);
    assert_eq!(run.stdout, "a boat \u{fffd}\u{fffd} is \u{26f5}\n");
}

#[test]
fn an_answer_that_was_cut_short_does_not_look_whole() {
    for (reason, words) in [
        ("length", "cut off at its length limit"),
        ("content_filter", "refused to say more"),
    ] {
        for text in ["as far as", ""] {
            let answer = OpenAiStream::new("m").text(text).finish(reason).done();
            if text.is_empty() && reason == "length" {
                // An empty answer is asked for again.
                continue;
            }
            let server = ModelServer::start([Response::events(answer), said("more")]);
            let room = connected(&server);
            let run = room.run(["hello"]).ended_with(0).complained(words);
            assert_eq!(run.stdout.trim_end(), text);
            room.run(["go on"]).ended_with(0).said("more");
        }
    }
}

#[test]
fn what_is_there_without_a_type_is_called_what_it_is() {
    let whole = r#"{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}"#;
    let server = ModelServer::start([Response::new(200, "text/plain", whole)]);
    connected(&server).run(["hello"]).ended_with(0).said("whole");

    let page = "<html><head><title>Please log in</title></head></html>";
    let server = ModelServer::start([Response::new(200, "application/octet-stream", page)]);
    connected(&server)
        .run(["hello"])
        .ended_with(3)
        .complained("a web page (Please log in)");
    assert_eq!(server.requests().len(), 1);

    let packed = said("whole").header("content-encoding", "br");
    let server = ModelServer::start([packed]);
    connected(&server)
        .run(["hello"])
        .ended_with(3)
        .complained("compressed its answer (br)");
}
