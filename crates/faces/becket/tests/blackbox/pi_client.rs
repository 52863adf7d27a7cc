//! A program that speaks pi's RPC protocol with becket, or with pi itself.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Room;

/// How long something may take that a busy machine does slowly.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The program. Dropping it ends what it talks to.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Everything that was read.
    pub heard: Vec<Value>,
    last_id: u32,
}

impl Client {
    /// Starts becket in a room.
    pub fn start(room: &Room, arguments: &[&str]) -> Self {
        let arguments = ["--mode", "rpc"].iter().chain(arguments);
        Self::of(room.command(arguments))
    }

    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8(line).expect("lines are text"));
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            heard: Vec::new(),
            last_id: 0,
        }
    }

    /// Writes something as it is.
    pub fn write(&mut self, text: &str) {
        let input = self.input.as_mut().expect("standard input is open");
        input.write_all(text.as_bytes()).expect("it is read");
        input.flush().expect("it is read");
    }

    pub fn send(&mut self, line: &Value) {
        self.write(&format!("{line}\n"));
    }

    /// The next line that fits; those before it are kept in `heard`.
    pub fn next(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + TEST_TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("{what} did not come; until then: {:#?}", self.heard)
            };
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            self.heard.push(line.clone());
            if fits(&line) {
                return line;
            }
        }
    }

    pub fn event(&mut self, name: &str) -> Value {
        self.next(name, |line| line["type"] == name)
    }

    /// A command and its response.
    pub fn ask(&mut self, mut command: Value) -> Value {
        self.last_id += 1;
        let id = format!("r{}", self.last_id);
        command["id"] = id.clone().into();
        self.send(&command);
        self.next(&format!("the response to {command}"), |line| {
            line["type"] == "response" && line["id"] == id.as_str()
        })
    }

    /// Sends a command that must succeed, and returns the data of its response.
    pub fn data(&mut self, command: Value) -> Value {
        let response = self.ask(command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    pub fn prompt(&mut self, message: &str) {
        self.data(json!({"type": "prompt", "message": message}));
    }

    /// Sends a prompt, and waits until its run has ended.
    pub fn prompt_and_wait(&mut self, message: &str) {
        self.prompt(message);
        self.event("agent_end");
    }

    /// The next dialog.
    pub fn dialog(&mut self, method: &str) -> Value {
        self.next(&format!("a dialog ({method})"), |line| {
            line["type"] == "extension_ui_request" && line["method"] == method
        })
    }

    pub fn answer(&mut self, dialog: &Value, mut fields: Value) {
        fields["type"] = "extension_ui_response".into();
        fields["id"] = dialog["id"].clone();
        self.send(&fields);
    }

    /// Says nothing any more, and waits for the end.
    pub fn leave(mut self) -> (i32, Vec<Value>) {
        self.input.take();
        self.finish()
    }

    pub fn finish(mut self) -> (i32, Vec<Value>) {
        let until = Instant::now() + TEST_TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status;
            }
            assert!(Instant::now() < until, "it did not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(20)) {
            self.heard.push(serde_json::from_str(&line).expect("JSON"));
        }
        (status.code().unwrap_or(-1), std::mem::take(&mut self.heard))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
