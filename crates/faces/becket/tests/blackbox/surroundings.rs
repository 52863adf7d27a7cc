//! Texts, clocks, files and connections that others have made: none of them ends the program or gets past a judgement.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Finished, Room, Running, Signal, needs};

use crate::pi_extensions::run_with;
use crate::room;
use crate::scheme::{call, put, returning, run};

/// Braces that stand in one another.
fn nested(depth: usize) -> String {
    format!("{}a{}", "{".repeat(depth), "}".repeat(depth))
}

#[test]
fn globs_that_are_too_much_are_errors_of_whoever_wrote_them() {
    for glob in [nested(200), nested(20_000), "{".repeat(300), "?".repeat(50_000)] {
        let room = room();
        room.write("a", "text");
        for (tool, arguments) in [
            ("find", json!({"pattern": glob})),
            ("grep", json!({"pattern": "text", "glob": glob})),
            ("grep", json!({"pattern": "text", "exclude": [glob]})),
        ] {
            let run = room.run(["tool", tool, &arguments.to_string()]);
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains("is not valid"), "{tool}: {said:.300}");
        }
        // The ignore file of a project: its other lines count.
        room.write(".gitignore", format!("{glob}\nleft-out\n"));
        room.write("left-out", "text");
        let run = room.run(["tool", "find", "{\"pattern\": \"*\"}"]).ended_with(0);
        assert!(
            run.stdout.contains('a') && !run.stdout.contains("left-out"),
            "{run:#?}"
        );

        let settings = [
            format!("[permissions]\ndeny = [\"write({glob})\"]\n"),
            format!(
                "[[hook]]\nevent = \"pre_tool\"\nmatch = {{ tool_name = {{ glob = \"{glob}\" }} }}\ncommand = \"true\"\n"
            ),
        ];
        for text in settings {
            room.write("becket.toml", text);
            for words in [
                &["config"][..],
                &["hooks", "trust", "--show"],
                &["doctor"],
                &["go"],
            ] {
                let run = room.run(words);
                assert!(
                    run.code < 100 && !run.stderr.contains("panicked"),
                    "{words:?}: {run:#?}"
                );
            }
        }
    }
}

/// Lets the clock stand at `CLOCK_SECONDS` after 1970.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) time->tv_sec = atoll(getenv("CLOCK_SECONDS"));
    return result;
}
"#;

/// A room in which the clock of every program stands at so many seconds after 1970.
fn with_clock(room: Room, seconds: &str) -> Room {
    let (source, library) = (room.write("../clock.c", CLOCK), room.home().join("clock.so"));
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the clock is built");
    room.with("LD_PRELOAD", &library.display().to_string())
        .with("CLOCK_SECONDS", seconds)
}

#[test]
fn a_clock_before_1970_or_far_ahead_stops_nothing() {
    if !needs("cc") || !cfg!(target_os = "linux") {
        return;
    }
    for seconds in ["-1", "-86400", "-99999999999", "253402300800", "9000000000000"] {
        let room = with_clock(room(), seconds);
        let hooks = room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n");
        let model = room.model(&json!([
            {"tool_calls": [{"name": "shell", "arguments": {"command": "echo made"}}]},
            {"text": "done"},
        ]));
        room.run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
            .ended_with(0)
            .said("done");
        for words in [
            &["trace"][..],
            &["sessions"],
            &["sessions", "tree"],
            &["contexts"],
            &["context", "show"],
            &["context", "log"],
            &["audit"],
            &["audit", "verify"],
            &["replay"],
            &["undo"],
            &["doctor"],
        ] {
            let run = room.run(words);
            assert!(
                run.code < 100 && !run.stderr.contains("panicked"),
                "{seconds} {words:?}: {run:#?}"
            );
        }
        room.run(["web"])
            .ended_with(1)
            .complained("the clock of this machine");
    }
}

/// A key that protects nothing, and a certificate that nobody vouches for: both are only for this test.
const CERTIFICATE: &str = "\
-----BEGIN PRIVATE KEY-----\n\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIKMRCyn/fseLuK3+\n\
sQN0LaIUZN5mzg5Q0j/PNvHDMnmhRANCAATvgS8XWL5IO7R5gNi4O+tSv3tHUkI9\n\
QSeenvU/86/IHrBl1Ro4K7BQKwuZu9uUFMyb3WjxXZuWvpmJ37iQT16J\n\
-----END PRIVATE KEY-----\n\
-----BEGIN CERTIFICATE-----\n\
MIIBkDCCATagAwIBAgIUKo+lnwwLWY0qDQP2ll4hJSFiMGMwCgYIKoZIzj0EAwIw\n\
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTExNzA4MDAyNloYDzIxMjYxMDI0\n\
MDgwMDI2WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO\n\
PQMBBwNCAATvgS8XWL5IO7R5gNi4O+tSv3tHUkI9QSeenvU/86/IHrBl1Ro4K7BQ\n\
KwuZu9uUFMyb3WjxXZuWvpmJ37iQT16Jo2QwYjAdBgNVHQ4EFgQUEohXl1yB4rQA\n\
1oz94L3nuupQZ+gwHwYDVR0jBBgwFoAUEohXl1yB4rQA1oz94L3nuupQZ+gwDwYD\n\
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC\n\
IDZycUZIb1Cy8GlZLoj+BRXesAhEOnTmt62H9Wk2YYaYAiEAz9GpUoZhlHL114mV\n\
7n8rAJDYOsOBWuuzKF0g4Jnla4E=\n\
-----END CERTIFICATE-----\n\
";

/// Greets everybody who comes, with TLS, as far as they let it.
const GREETER: &str = r#"
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    try:
        context.wrap_socket(connection, server_side=True).close()
    except OSError:
        connection.close()
"#;

/// A server with TLS that runs until it is dropped, and its address.
struct Greeter(Running, String);

impl Greeter {
    fn start(room: &Room) -> Self {
        let (program, certificate) = (
            room.write("../greeter.py", GREETER),
            room.write("../greeter.pem", CERTIFICATE),
        );
        let mut command = Command::new("python3");
        command
            .args([program, certificate])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let running = Running::of(command.spawn().expect("python3 starts"));
        running.wait_for_output("\n");
        let address = format!("https://127.0.0.1:{}", running.output().trim());
        Self(running, address)
    }
}

impl Drop for Greeter {
    fn drop(&mut self) {
        self.0.signal(Signal::KILL);
    }
}

#[test]
fn https_before_1970_is_an_error_that_names_the_clock_for_everybody_who_makes_requests() {
    if !needs("cc") || !needs("python3") || !cfg!(target_os = "linux") {
        return;
    }
    let room = with_clock(room(), "-86400");
    let greeter = Greeter::start(&room);
    let url = &greeter.1;
    let room = room
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OPENAI_BASE_URL", url);
    let told = |who: &str, run: &Finished| {
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("the clock of this machine"), "{who}: {run:#?}");
        assert!(!said.contains("panicked"), "{who}: {run:#?}");
    };
    room.config("[agent]\nmax_retries = 0\n");
    told("a provider", &room.run(["go"]));
    let fetch = json!([{"tool_calls": [{"name": "fetch", "arguments": {"url": url}}]}, {"text": "done"}]);
    let model = room.model(&fetch);
    told("fetch", &room.run(["--json", "--yes", "--model", &model, "go"]));
    told("otel", &room.run(["trace", &format!("--otel={url}/v1/traces")]));

    room.config(&format!("[mcp.servers.web]\nurl = \"{url}/mcp\"\n"));
    told("mcp", &room.run(["mcp", "check"]));
    room.config(&format!(
        "[tools.http.allow]\n\"/tools/shared/probe.scm\" = [\"{url}\"]\n"
    ));
    put(
        &room,
        "tools/shared/probe.scm",
        &format!(
            "(import (tein http))\n{}",
            returning(&format!("(http-get \"{url}/\")"))
        ),
    );
    let run = run(&room, &[], &[call("probe", json!({}))]);
    told("a file in Scheme", &run);
    let fetching = format!(
        "export default (pi: any) => pi.on('input', async () => ({{\
             action: 'transform', text: await fetch('{url}').catch((error: any) => String(error.cause ?? error)),\
         }}));"
    );
    told(
        "an extension",
        &run_with(&room, &fetching, &json!([{"text": "fine"}]), &[]),
    );
}

/// The page, started by a line of the shell, and its address.
fn serve(room: &Room, line: &str) -> (Running, String) {
    let becket = room.command(["web", "--json"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .arg(becket.get_program())
        .args(becket.get_args())
        .current_dir(room.work())
        .env_clear()
        .envs(becket.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let running = Running::of(command.spawn().expect("a shell starts"));
    running.wait_for_output("\n");
    let line: Value = serde_json::from_str(&running.output()).expect("one line of JSON");
    let address = line["address"].as_str().expect("it is a text").to_owned();
    (running, address)
}

/// What the page answers to somebody who asks for it.
fn ask(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).expect("a limit can be set");
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the server answers");
    text
}

#[test]
fn hundreds_of_connections_that_say_nothing_leave_room_for_one_that_does() {
    let room = room();
    let (_running, address) = serve(&room, "ulimit -n 200; exec \"$0\" \"$@\"");
    for beginning in ["", "GET / HTTP/1.1\r\nHost: "] {
        let half_open: Vec<TcpStream> = (0..600)
            .map(|_| {
                let mut stream = TcpStream::connect(&address).expect("the server listens");
                // One that was turned away already takes no more.
                let _ = stream.write_all(beginning.as_bytes());
                stream
            })
            .collect();
        assert!(ask(&address).contains(" 200 "), "{beginning:?}");
        drop(half_open);
    }
}

#[test]
fn a_file_that_becomes_a_hard_link_while_it_is_judged_is_not_written_through() {
    let write = json!({"name": "write", "arguments": {"path": "out.txt", "content": "new"}});
    let edit = json!({
        "name": "edit",
        "arguments": {"path": "out.txt", "edits": [{"old_text": "mine", "new_text": "new"}]},
    });
    for (what, call, exists) in [
        ("write", &write, true),
        ("a new file", &write, false),
        ("edit", &edit, true),
    ] {
        let room = room();
        room.write("../kept.txt", "mine");
        if exists {
            room.write("out.txt", "mine");
        }
        let hooks =
            room.hooks("[[hook]]\nevent = \"pre_file_write\"\ncommand = \"ln -f ../kept.txt out.txt\"\n");
        let model = room.model(&json!([{"tool_calls": [call]}, {"text": "done"}]));
        let run = room.run(["--json", "--yes", "--hooks", &hooks, "--model", &model, "go"]);
        assert_eq!(room.read("../kept.txt"), "mine", "{what}: {run:#?}");
        assert!(run.stdout.contains("became a hard link"), "{what}: {run:#?}");
    }
    // One that was a hard link before stays one.
    let room = room();
    room.write("one.txt", "mine");
    std::fs::hard_link(room.work().join("one.txt"), room.work().join("out.txt")).expect("a link is made");
    let model = room.model(&json!([{"tool_calls": [write]}, {"text": "done"}]));
    room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    assert_eq!(room.read("one.txt"), "new");
}

#[test]
fn buffers_of_node_count_as_its_memory_and_its_guards_refuse_meanwhile() {
    if !needs("node") || !cfg!(target_os = "linux") {
        return;
    }
    let room = room();
    room.config("[js]\nengine = \"node\"\n[pi]\nmemory_mb = 64\n");
    room.write(
        "greedy.ts",
        "export default (pi: any) => {\n\
             const kept: any[] = [];\n\
             pi.on('tool_call', async () => {\n\
                 for (let count = 0; count < 400; count++) {\n\
                     kept.push(Buffer.alloc(16 << 20, 1));\n\
                     await new Promise((done) => setTimeout(done, 5));\n\
                 }\n\
             });\n\
         };\n",
    );
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch ran"}}]},
        {"text": "done"},
    ]));
    let run = room.run(["--yes", "-e", "greedy.ts", "--model", &model, "go"]);
    assert!(!room.has("ran"), "{run:#?}");
    assert!(run.stderr.contains("out of memory"), "{run:#?}");
}
