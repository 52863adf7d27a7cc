//! The page: who may read it, what it is told of sessions, and how it looks to a real browser.

#[path = "web/browser.rs"]
mod browser;
#[path = "web/hook_runs.rs"]
mod hook_runs;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Room, Running, Signal};

use crate::{repository_file, room};

/// The page as it is served, until it is dropped.
pub struct Served {
    running: Running,
    pub url: String,
    address: String,
    token: String,
}

/// An answer of the server's.
struct Answer {
    status: u16,
    headers: String,
    body: String,
}

impl Served {
    pub fn start(room: &Room) -> Self {
        let running = room.start(["web", "--json"]);
        running.wait_for_output("\n");
        let line: Value = serde_json::from_str(&running.output()).expect("one line of JSON");
        let text = |name: &str| line[name].as_str().expect("it is a text").to_owned();
        let (url, address) = (text("url"), text("address"));
        let token = url
            .split_once('#')
            .expect("the token stands behind the #")
            .1
            .to_owned();
        Self {
            running,
            url,
            address,
            token,
        }
    }

    /// Sends a request exactly as it is written, but for the last lines.
    fn send(&self, first_line: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a limit can be set");
        let request = format!("{first_line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("the server reads");
        stream
    }

    fn ask(&self, first_line: &str, headers: &str) -> Answer {
        let mut text = String::new();
        self.send(first_line, headers)
            .read_to_string(&mut text)
            .expect("the server answers");
        let (headers, body) = text.split_once("\r\n\r\n").expect("an answer has headers");
        let status = headers.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.expect("an answer has a status"),
            headers: headers.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// The headers of becket's own page.
    fn own_headers(&self) -> String {
        format!(
            "Host: {}\r\nAuthorization: Bearer {}\r\n",
            self.address, self.token
        )
    }

    pub fn json(&self, path: &str) -> Value {
        let answer = self.ask(&format!("GET {path}"), &self.own_headers());
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).expect("it is JSON")
    }

    /// The newest session that is no sub-agent's.
    pub fn newest(&self) -> String {
        let listed = self.json("/api/sessions");
        let sessions = listed["sessions"].as_array().expect("it is a list");
        let session = sessions.iter().find(|session| session["parent_id"].is_null());
        session.expect("there is one")["id"]
            .as_str()
            .expect("it is a text")
            .to_owned()
    }

    pub fn bars(&self, session: &str) -> Vec<Value> {
        let timeline = self.json(&format!("/api/sessions/{session}"));
        timeline["bars"].as_array().expect("it is a list").clone()
    }

    fn details(&self, session: &str, bar: &Value) -> Value {
        let bar = bar["id"].as_str().expect("a bar has an id");
        self.json(&format!("/api/sessions/{session}/bars/{bar}"))
    }
}

/// One bar with these values.
fn one<'a>(bars: &'a [Value], wanted: &Value) -> &'a Value {
    let fits = |bar: &&Value| {
        let wanted = wanted.as_object().expect("it is an object");
        wanted.iter().all(|(name, value)| bar[name] == *value)
    };
    bars.iter()
        .find(fits)
        .unwrap_or_else(|| panic!("no bar is {wanted} among {bars:#?}"))
}

/// Whether a section of details has these words.
fn tells(details: &Value, title: &str, words: &str) -> bool {
    section(details, title)["text"].to_string().contains(words)
}

/// A section of details.
fn section<'a>(details: &'a Value, title: &str) -> &'a Value {
    let sections = details["sections"].as_array().expect("it is a list");
    let found = sections.iter().find(|section| {
        section["title"]
            .as_str()
            .is_some_and(|name| name.starts_with(title))
    });
    found.unwrap_or_else(|| panic!("there is no {title} in {details:#}"))
}

/// A run in which hooks of four formats refuse, rewrite, break and look on; one of them speaks in markup.
pub fn eventful(room: &Room) {
    let hooks = room.hooks(
        r#"
        [[hook]]
        event = "pre_tool"
        name = "time limit"
        match = { tool = "shell", arguments = { command = { glob = "echo*" } } }
        command = '''echo '{"arguments": {"command": "echo short", "timeout_seconds": 7}}' '''

        [[hook]]
        event = "pre_tool"
        name = "no rm"
        match = { tool = "shell", arguments = { command = { glob = "rm *" } } }
        command = "echo 'deleting is <b id=markup>not</b> allowed' >&2; exit 2"

        [[hook]]
        event = "turn_end"
        name = "broken logger"
        command = "echo oops >&2; exit 7"
        "#,
    );
    let plugins = room.home().join(".chibi/plugins");
    std::fs::create_dir_all(&plugins).expect("the room is writable");
    std::fs::copy(
        repository_file("examples/chibi/plugins/logger"),
        plugins.join("logger"),
    )
    .expect("the example is there");
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm -rf build"}, "id": "call-1"}],
         "usage": {"input_tokens": 1000, "output_tokens": 20, "cost": 0.25}},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "echo long"}, "id": "call-2"},
                        {"name": "read", "arguments": {"path": "nothing.txt"}, "id": "call-3"}],
         "usage": {"input_tokens": 2000, "output_tokens": 30, "cost": 0.5}},
        {"text": "The folder is still there."},
    ]));
    let gate = repository_file("examples/pi/gate.ts");
    let arguments = [
        "--yes",
        "--hooks",
        &hooks,
        "-e",
        &gate,
        "--hook-pre-tool-use",
        "cat > /dev/null",
        "--model",
        &model,
        "-c",
        "cleanup",
        "Clean up",
    ];
    room.run(arguments)
        .ended_with(0)
        .said("The folder is still there.");
}

#[test]
fn a_session_costs_what_its_tokens_cost_where_the_provider_reports_no_price() {
    let room = room();
    room.config("[prices.\"scripted/script\"]\ninput = 10.0\noutput = 100.0\n");
    let usage = json!({"input_tokens": 12_000, "output_tokens": 500});
    let model = room.model(&json!([{"text": "done", "usage": usage}]));
    room.run(["--model", &model, "go"]).ended_with(0);
    let listed = Served::start(&room).json("/api/sessions");
    let cost = listed["sessions"][0]["used"]["cost"].as_f64();
    assert!(cost.is_some_and(|cost| (cost - 0.17).abs() < 1e-9), "{listed}");
}

#[test]
// tidy: a table
fn nobody_reads_anything_without_the_token_or_from_elsewhere() {
    let room = room();
    let served = Served::start(&room);
    let (own, address) = (served.own_headers(), &served.address);
    let port = address.split(':').nth(1).expect("an address has a port");
    let token = format!("Authorization: Bearer {}\r\n", served.token);
    let host = format!("Host: {address}\r\n");
    let wrong = format!("{host}Authorization: Bearer {}0\r\n", &served.token[1..]);
    let cases: &[(&str, String, u16)] = &[
        ("GET /api/sessions", own.clone(), 200),
        ("GET /", host.clone(), 200),
        ("GET /api/sessions", host.clone(), 401),
        ("GET /api/sessions", wrong, 401),
        (
            "GET /api/sessions",
            format!("{host}Authorization: {}\r\n", served.token),
            401,
        ),
        ("GET /api/sessions", format!("{own}{token}"), 400),
        (
            &format!("GET /api/sessions?token={}", served.token),
            host.clone(),
            401,
        ),
        (
            "GET /api/sessions",
            format!("{host}Cookie: token={}\r\n", served.token),
            401,
        ),
        ("GET /api/sessions/x", host.clone(), 401),
        ("GET /api/sessions/x/bars/y", host.clone(), 401),
        ("GET /api/sessions/x/transcript", host.clone(), 401),
        ("GET /api/sessions/x/export/jsonl", host.clone(), 401),
        ("GET /api/hooks", host.clone(), 401),
        ("GET /api/search/x", host.clone(), 401),
        ("GET /api/live", host.clone(), 401),
        ("GET /metrics", host.clone(), 401),
        ("GET /api/sessions/x", own.clone(), 404),
        ("GET /api/sessions/x/transcript", own.clone(), 404),
        ("GET /api/sessions/x/export/jsonl", own.clone(), 404),
        ("GET /api/hooks", own.clone(), 200),
        ("GET /elsewhere", own.clone(), 404),
        (
            "GET /api/sessions",
            format!("Host: localhost:{port}\r\n{token}"),
            200,
        ),
        ("GET /api/sessions", format!("Host: evil.example\r\n{token}"), 403),
        (
            "GET /api/sessions",
            format!("Host: evil.example:{port}\r\n{token}"),
            403,
        ),
        ("GET /api/sessions", format!("Host: 127.0.0.1:1\r\n{token}"), 403),
        ("GET /", format!("Host: evil.example:{port}\r\n"), 403),
        (
            "GET /api/sessions",
            format!("{own}Origin: http://{address}\r\n"),
            200,
        ),
        (
            "GET /api/sessions",
            format!("{own}Origin: http://evil.example\r\n"),
            403,
        ),
        ("GET /api/sessions", format!("{own}Origin: null\r\n"), 403),
        (
            "GET /api/sessions",
            format!("{own}Sec-Fetch-Site: same-origin\r\n"),
            200,
        ),
        (
            "GET /api/sessions",
            format!("{own}Sec-Fetch-Site: same-site\r\n"),
            403,
        ),
        (
            "GET /api/sessions",
            format!("{own}Sec-Fetch-Site: cross-site\r\n"),
            403,
        ),
        (
            "GET /",
            format!("{host}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"),
            200,
        ),
        (
            "GET /",
            format!("{host}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
            403,
        ),
        ("POST /api/sessions", own.clone(), 405),
        ("PUT /api/sessions/x", own.clone(), 405),
        ("DELETE /api/sessions/x", own.clone(), 405),
        ("OPTIONS /api/sessions", own.clone(), 405),
        ("HEAD /", own.clone(), 405),
    ];
    for (line, headers, status) in cases {
        let answer = served.ask(line, headers);
        assert_eq!(answer.status, *status, "{line}\n{headers}\n{}", answer.body);
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
        ] {
            assert!(answer.headers.contains(header), "{line}: {}", answer.headers);
        }
        assert!(
            !answer.headers.contains("access-control-allow"),
            "{}",
            answer.headers
        );
        assert!(!answer.headers.contains("set-cookie"), "{}", answer.headers);
    }
}

#[test]
fn the_page_is_one_file_whose_policy_lets_nothing_else_in() {
    let room = room();
    let served = Served::start(&room);
    let host = format!("Host: {}\r\n", served.address);
    let (first, second) = (served.ask("GET /", &host), served.ask("GET /", &host));
    let nonce = |answer: &Answer| {
        let (_, rest) = answer
            .headers
            .split_once("script-src 'nonce-")
            .expect("there is a policy");
        rest.split_once('\'').expect("a nonce ends").0.to_owned()
    };
    assert_ne!(nonce(&first), nonce(&second), "a nonce is used once");
    assert!(first.headers.contains("default-src 'none'"), "{}", first.headers);
    assert!(!first.headers.contains("unsafe"), "{}", first.headers);
    assert!(
        first
            .body
            .contains(&format!("<script nonce=\"{}\">", nonce(&first)))
    );
    assert!(!first.body.contains("{nonce}") && !first.body.contains(&served.token));
    for foreign in [
        "http://",
        "https://",
        "src=",
        "@import",
        "innerHTML",
        "insertAdjacentHTML",
        "document.write",
    ] {
        assert!(!first.body.contains(foreign), "the page holds {foreign}");
    }
}

#[test]
fn a_session_is_a_tree_of_turns_requests_calls_and_hooks() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let session = served.newest();
    let bars = served.bars(&session);

    let refused = one(&bars, &json!({"kind": "tool", "decision": "denied"}));
    assert_eq!(refused["label"], "shell");
    assert_eq!(refused["depth"], 1);
    let said_no = one(&bars, &json!({"kind": "hook", "decision": "denied"}));
    assert_eq!(said_no["label"], "no rm");
    assert_eq!(said_no["event"], "pre_tool");
    assert_eq!(said_no["depth"], 2, "it belongs to the call");
    let place = |bar: &Value| bars.iter().position(|other| other == bar).expect("it is there");
    assert!(place(said_no) > place(refused));
    one(
        &bars,
        &json!({"kind": "hook", "decision": "skipped", "label": "gate"}),
    );
    one(
        &bars,
        &json!({"kind": "tool", "decision": "rewritten", "label": "shell"}),
    );
    one(
        &bars,
        &json!({"kind": "tool", "decision": "failed", "label": "read"}),
    );
    one(
        &bars,
        &json!({"kind": "hook", "decision": "failed", "label": "broken logger", "event": "turn_end"}),
    );
    one(&bars, &json!({"kind": "hook", "label": "logger"}));
    one(
        &bars,
        &json!({"kind": "message", "label": "prompt", "words": "Clean up"}),
    );
    let count = |kind: &str| bars.iter().filter(|bar| bar["kind"] == kind).count();
    assert_eq!(["turn", "request", "tool"].map(count), [3; 3], "{bars:#?}");

    // What belongs to something lies within it.
    let mut above: Vec<&Value> = Vec::new();
    for bar in &bars {
        let depth = bar["depth"].as_u64().expect("it is a number") as usize;
        above.truncate(depth);
        let span = |bar: &Value| {
            let start = bar["start_ms"].as_f64().expect("it is a number");
            (
                start,
                start + bar["duration_ms"].as_f64().expect("it is a number"),
            )
        };
        if let Some(parent) = above.last() {
            let ((start, end), (first, last)) = (span(bar), span(parent));
            assert!(
                start >= first - 0.01 && end <= last + 0.01,
                "{bar:#} lies outside of {parent:#}"
            );
        }
        above.push(bar);
    }

    let timeline = served.json(&format!("/api/sessions/{session}"));
    assert_eq!(timeline["usage"][1]["input"], 2000);
    assert_eq!(timeline["usage"][1]["cost"], 0.5);
    assert_eq!(timeline["session"]["tally"]["denied"], 1);
}

#[test]
fn a_bar_tells_what_went_in_what_came_out_and_what_was_changed() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let session = served.newest();
    let bars = served.bars(&session);
    let details = |wanted: &Value| served.details(&session, one(&bars, wanted));

    let call = details(&json!({"kind": "tool", "decision": "denied"}));
    let reason = call["reason"].as_str().expect("there is a reason");
    assert!(
        reason.contains("no rm on pre_tool: deleting is <b id=markup>not</b> allowed"),
        "{reason}"
    );
    assert!(tells(&call, "Input", "rm -rf build"), "{call:#}");
    assert!(tells(&call, "What the model saw", "deleting is"), "{call:#}");
    assert!(tells(&call, "Hooks", "not asked"), "{call:#}");

    let hook = details(&json!({"kind": "hook", "decision": "denied"}));
    assert!(tells(&hook, "Input", "rm -rf build"), "{hook:#}");
    assert!(tells(&hook, "Answer", "deny"), "{hook:#}");

    let rewriter = details(&json!({"kind": "hook", "decision": "rewritten"}));
    let lines = section(&rewriter, "Difference")["lines"].clone();
    let has = |sign: &str, text: &str| {
        let mut lines = lines.as_array().expect("it is a list").iter();
        lines.any(|line| line["sign"] == sign && line["text"].to_string().contains(text))
    };
    assert!(
        has("-", "command: echo long") && has("+", "command: echo short"),
        "{lines:#}"
    );
    assert!(has("+", "timeout_seconds: 7"), "{lines:#}");

    let broken = details(&json!({"kind": "hook", "decision": "failed"}));
    assert!(broken["reason"].to_string().contains("exit code 7"), "{broken:#}");
    assert!(tells(&broken, "Standard error", "oops"), "{broken:#}");

    let request = bars
        .iter()
        .rfind(|bar| bar["kind"] == "request")
        .expect("there is one");
    let request = served.details(&session, request);
    let seen = section(&request, "What the model saw")["messages"].to_string();
    assert!(
        seen.contains("Clean up") && seen.contains("short") && seen.contains("rm -rf build"),
        "{seen}"
    );
    assert!(
        !seen.contains("still there"),
        "the answer is no part of what was asked"
    );
    assert!(tells(&request, "Answer", "still there"), "{request:#}");
    let missing = served.ask(
        &format!("GET /api/sessions/{session}/bars/h:99999:0"),
        &served.own_headers(),
    );
    assert_eq!(missing.status, 404);
}

#[test]
fn what_no_hook_refused_and_what_got_no_answer_is_there_too() {
    let room = room();
    room.run(["--model", "rehearsal", "Run: ls"]).ended_with(0);
    let served = Served::start(&room);
    let session = served.newest();
    let bars = served.bars(&session);
    let call = one(&bars, &json!({"kind": "tool", "decision": "denied"}));
    let details = served.details(&session, call);
    assert!(
        details["reason"].to_string().contains("it needs approval"),
        "{details:#}"
    );

    let model = room.model(&json!([{"error": {"kind": "rejected", "message": "too <i>many</i> words"}}]));
    room.run(["--model", &model, "-c", "failing", "hello"])
        .ended_with(3);
    let session = served.newest();
    let bars = served.bars(&session);
    let request = one(&bars, &json!({"kind": "request", "decision": "failed"}));
    let details = served.details(&session, request);
    assert!(
        details["reason"].to_string().contains("too <i>many</i> words"),
        "{details:#}"
    );
}

#[test]
fn sub_agents_are_lanes() {
    let room = room();
    room.write("child.json", json!([{"text": "All is well."}]).to_string());
    let task = json!({"system_prompt": "You help.", "input": "the task", "model": "scripted/child.json"});
    let model = room.model(&json!([
        {"tool_calls": [{"name": "spawn_agent", "arguments": task}]},
        {"text": "It is done."},
    ]));
    room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    let served = Served::start(&room);
    let timeline = served.json(&format!("/api/sessions/{}", served.newest()));
    let lanes = timeline["lanes"].as_array().expect("it is a list");
    assert_eq!(lanes.len(), 2);
    assert_eq!(
        (&lanes[0]["parent"], &lanes[1]["parent"]),
        (&Value::Null, &json!(0))
    );
    let bars = timeline["bars"].as_array().expect("it is a list");
    one(bars, &json!({"kind": "message", "lane": 1, "words": "the task"}));
    let child = lanes[1]["session_id"].as_str().expect("it is a text");
    let request = one(bars, &json!({"kind": "request", "lane": 1}));
    assert!(
        served
            .details(child, request)
            .to_string()
            .contains("All is well.")
    );
}

#[test]
fn whoever_watches_is_told_when_something_happens() {
    let room = room();
    let served = Served::start(&room);
    let stream = served.send("GET /api/live", &served.own_headers());
    let mut lines = BufReader::new(stream)
        .lines()
        .map(|line| line.expect("the stream goes on"));
    assert!(lines.any(|line| line == "event: grown"), "a word at once");
    room.run(["--model", "rehearsal", "hello"]).ended_with(0);
    assert!(
        lines.any(|line| line == "event: grown"),
        "and one when there is something new"
    );
    assert_eq!(
        served.json("/api/sessions")["sessions"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn what_hooks_did_can_be_counted() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    let metrics = served.ask("GET /metrics", &served.own_headers());
    for line in [
        "# TYPE becket_hook_runs_total counter\n",
        "becket_hook_runs_total{event=\"pre_tool\",outcome=\"denied\"} 1\n",
        "becket_hook_runs_total{event=\"turn_end\",outcome=\"failed\"} 3\n",
        "becket_guards_unevaluated_total 0\n",
    ] {
        assert!(metrics.body.contains(line), "{line}{}", metrics.body);
    }
    let hooks = room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"exit 9\"\n");
    room.run(["--yes", "--hooks", &hooks, "--model", "rehearsal", "Run: ls"])
        .ended_with(0);
    let metrics = served.ask("GET /metrics", &served.own_headers());
    let line = "becket_guards_unevaluated_total{event=\"pre_tool\"} 1\n";
    assert!(metrics.body.contains(line), "{}", metrics.body);
}

/// The counts of a session as `becket trace` exports it.
struct Traced {
    lines: Vec<Value>,
    effects: Vec<String>,
}

impl Traced {
    fn of(room: &Room, session: &str) -> Self {
        let trace = room
            .run(["trace", session, "--export", "jsonl"])
            .ended_with(0)
            .stdout;
        let lines: Vec<Value> = trace
            .lines()
            .map(|line| serde_json::from_str(line).expect("it is JSON"))
            .collect();
        let runs = lines
            .iter()
            .flat_map(|line| line["runs"].as_array().into_iter().flatten());
        let effects = runs.map(|run| run["effect"]["kind"].as_str().unwrap_or_default().to_owned());
        Self {
            effects: effects.collect(),
            lines,
        }
    }

    fn spans(&self, kind: &str) -> usize {
        self.lines.iter().filter(|line| line["kind"] == kind).count()
    }

    fn refused_calls(&self) -> usize {
        let calls = self.lines.iter().filter(|line| line["kind"] == "tool_call");
        calls.filter(|call| call["facts"]["refused"].is_string()).count()
    }

    fn effect(&self, kind: &str) -> usize {
        self.effects.iter().filter(|known| *known == kind).count()
    }

    /// The hooks that were asked.
    fn runs(&self) -> usize {
        self.effects.len() - self.effect("not_asked")
    }
}

#[test]
fn every_count_of_the_page_is_that_of_becket_trace() {
    let room = room();
    eventful(&room);
    room.run(["--model", "rehearsal", "-c", "refused", "Run: ls"])
        .ended_with(0);
    let served = Served::start(&room);
    let listed = served.json("/api/sessions");
    let sessions = listed["sessions"].as_array().expect("it is a list");
    assert_eq!(sessions.len(), 2);
    let (mut all_runs, mut all_denied) = (0, 0);
    for session in sessions {
        let id = session["id"].as_str().expect("it is a text");
        let traced = Traced::of(&room, id);
        let (counts, tally) = (&session["counts"], &session["tally"]);
        assert_eq!(counts["turns"], traced.spans("turn"), "{session:#}");
        assert_eq!(counts["requests"], traced.spans("request"), "{session:#}");
        assert_eq!(counts["calls"], traced.spans("tool_call"), "{session:#}");
        assert_eq!(counts["hook_runs"], traced.runs(), "{session:#}");
        assert_eq!(counts["refused"], traced.refused_calls(), "{session:#}");
        assert_eq!(tally["denied"], traced.effect("denied"), "{session:#}");
        assert_eq!(tally["failed"], traced.effect("failed"), "{session:#}");
        all_runs += traced.runs();
        all_denied += traced.effect("denied");

        // The rows of the page are as many, and the head of the session says the same as the list.
        let timeline = served.json(&format!("/api/sessions/{id}"));
        assert_eq!(timeline["session"], *session);
        let bars = served.bars(id);
        let calls = bars.iter().filter(|bar| bar["kind"] == "tool");
        assert_eq!(calls.count(), traced.spans("tool_call"));
        let hooks = bars.iter().filter(|bar| bar["kind"] == "hook");
        let asked = hooks.filter(|bar| bar["decision"] != "skipped");
        assert_eq!(asked.count(), traced.runs());
    }
    assert!(all_denied > 0, "there is something to count");
    let hooks = served.json("/api/hooks");
    let sum = |field: &dyn Fn(&Value) -> Option<u64>| -> u64 {
        let hooks = hooks["hooks"].as_array().expect("it is a list");
        hooks.iter().filter_map(field).sum()
    };
    assert_eq!(sum(&|hook| hook["runs"].as_u64()), all_runs as u64);
    assert_eq!(sum(&|hook| hook["tally"]["denied"].as_u64()), all_denied as u64);
    let metrics = served.ask("GET /metrics", &served.own_headers()).body;
    let counted = metrics
        .lines()
        .filter(|line| line.starts_with("becket_hook_runs_total{") && !line.contains("skipped"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    assert_eq!(counted.sum::<u64>(), all_runs as u64);
    let later = served.json("/api/hooks?since=99999999999999");
    assert_eq!(later["hooks"], json!([]), "no hook has run in the future");
}

#[test]
fn a_destroyed_context_takes_its_counts_along() {
    let room = room();
    eventful(&room);
    let served = Served::start(&room);
    assert_ne!(served.json("/api/hooks")["hooks"], json!([]));
    room.run(["context", "destroy", "cleanup", "--yes"]).ended_with(0);
    assert_eq!(served.json("/api/sessions")["sessions"], json!([]));
    assert_eq!(served.json("/api/hooks")["hooks"], json!([]));
}

#[test]
fn it_ends_with_ctrl_c_and_says_what_stands_in_its_way() {
    let room = room();
    let served = Served::start(&room);
    let port = served.address.split(':').nth(1).expect("an address has a port");
    let second = room.run(["web", "--port", port]);
    second
        .ended_with(1)
        .complained("cannot listen on port")
        .complained("--port");
    let guessed = room
        .command(["web"])
        .env("BECKET_WEB_TOKEN", "secret")
        .output()
        .expect("it runs");
    assert_eq!(guessed.status.code(), Some(2), "a token that can be guessed");
    // Somebody who watches does not keep it from ending.
    let _watching = served.send("GET /api/live", &served.own_headers());
    served.running.signal(Signal::INT);
    served.running.finish().ended_with(0);

    let chosen = "0123456789abcdefghijklmnopqrstuv";
    let child = room
        .command(["web"])
        .env("BECKET_WEB_TOKEN", chosen)
        .spawn()
        .expect("it starts");
    let running = Running::of(child);
    running.wait_for_output(&format!("/#{chosen}\n"));
    running.wait_for_error("anyone with this address can read every session");
}
