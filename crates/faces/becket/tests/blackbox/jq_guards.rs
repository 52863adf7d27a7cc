//! Every example guard that uses jq judges alike, whichever jq answers: becket's quick one or the machine's.
//!
//! `BECKET_TEST_PAYLOADS` says how many random payloads each guard gets, by default few: the machine's jq takes its
//! time.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use testkit::needs;

use crate::{repository_file, room};

const FEW: usize = 12;

/// The templates of `becket hooks new`, and the examples for chibi with the hook that each answers.
const SCRIPTS: &[(&str, &str)] = &[
    ("crates/faces/becket/src/commands/hooks/templates/guard.sh", ""),
    (
        "crates/faces/becket/src/commands/hooks/templates/guard.claude.sh",
        "",
    ),
    (
        "crates/faces/becket/src/commands/hooks/templates/transform.sh",
        "",
    ),
    (
        "crates/faces/becket/src/commands/hooks/templates/transform.claude.sh",
        "",
    ),
    ("examples/chibi/plugins/safety_guard", "pre_tool"),
    ("examples/chibi/plugins/tool_filter", "pre_api_tools"),
    ("examples/chibi/older/plugins/safety_guard", "pre_tool"),
    ("examples/chibi/older/plugins/tool_filter", "pre_api_tools"),
];

/// The example whose hooks are commands in a file.
const COMMANDS: &str = "examples/docker-agent/hooks.yaml";

/// Texts that a guard decides by, and such as it does not expect.
const TEXTS: &[&str] = &[
    "rm -rf build",
    "ls",
    "ls -la /x",
    "echo hi",
    "git log",
    "sudo rm x",
    "a\nrm -rf b",
    "\\c; rm -rf /",
    "'; \"$(id)`",
    "ä😀\u{2028}\u{feff}",
    "\0x",
    "/home/me/x",
    "",
    ".env",
    "src/.env.local",
    "-n",
    "  ls  ",
    "%s",
    "1e999",
    "\u{1b}[2J",
    "{}",
    "rm\t-rf",
    "pwd",
    "date x_1.-",
    "whoami; ls",
];

/// Payloads that are none.
const BROKEN: &[&str] = &[
    "",
    "{",
    "null",
    "[]",
    "\"x\"",
    "{} {}",
    "{\"a\":1,\"a\":2}",
    "nan",
    "\u{feff}{}",
    "[[[",
];

/// Pseudo-random choices that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn text(&mut self) -> &'static str {
        TEXTS[self.below(TEXTS.len())]
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(12) {
            0 => [
                json!(0),
                json!(-1),
                json!(1.5),
                json!(1e308),
                json!(9_007_199_254_740_993_u64),
            ][self.below(5)]
            .clone(),
            1 => [Value::Null, json!(true), json!(false)][self.below(3)].clone(),
            2 if depth < 3 => (0..self.below(3)).map(|_| self.value(depth + 1)).collect(),
            3 if depth < 3 => self.object(&["a", "command", "cmd", ""], depth + 1),
            4 => json!(format!("{}{}", self.text(), self.text())),
            _ => json!(self.text()),
        }
    }

    fn object(&mut self, names: &[&str], depth: usize) -> Value {
        let mut members = Map::new();
        for name in names {
            if self.below(4) > 0 {
                members.insert((*name).to_owned(), self.value(depth));
            }
        }
        Value::Object(members)
    }

    /// An event with the fields that guards of any format look at.
    fn payload(&mut self) -> String {
        if self.below(25) == 0 {
            return BROKEN[self.below(BROKEN.len())].to_owned();
        }
        let others = [
            "tool_response",
            "tool_error",
            "approval_decision",
            "approval_source",
            "prompt",
        ];
        let mut payload = self.object(&others, 0);
        let tools = ["shell_exec", "run_command", "shell", "Bash"];
        payload["tool_name"] = json!(tools[self.below(tools.len())]);
        payload["context_name"] = json!(["safe", "default"][self.below(2)]);
        for field in ["tool_input", "arguments"] {
            payload[field] = match self.below(6) {
                0 => self.value(0),
                _ => self.object(&["cmd", "command", "path", "timeout"], 0),
            };
        }
        payload.to_string()
    }
}

/// The commands in a file of hooks that use jq.
fn commands(text: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let blocks = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.trim_start() == "command: |");
    let blocks = blocks.map(|(place, first)| {
        let inside = |line: &&&str| line.trim().is_empty() || indent(line) > indent(first);
        let body = lines[place + 1..].iter().take_while(inside);
        body.map(|line| line.trim_start()).collect::<Vec<_>>().join("\n")
    });
    blocks.filter(|block| block.contains("jq ")).collect()
}

/// What a script does with a payload: its exit code and outputs.
fn judged(script: &Path, hook: &str, payload: &str, path: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new("/bin/bash")
        .arg(script)
        .env_clear()
        .envs([
            ("PATH", path),
            ("HOME", "/home/me"),
            ("HOOK_PROFILE", "example"),
            ("CHIBI_HOOK", hook),
        ])
        .env("CHIBI_HOOK_DATA", payload.replace('\0', ""))
        .current_dir(script.parent().expect("it lies in a folder"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A script that reads nothing closes the pipe.
    let _ = stdin.write_all(payload.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("bash ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_example_guard_judges_alike_whichever_jq_answers() {
    if !needs("jq") {
        return;
    }
    let count = std::env::var("BECKET_TEST_PAYLOADS").ok();
    let count = count.map_or(FEW, |count| count.parse().expect("a number"));
    let room = room();
    let quick = room.write("quick/README", "").with_file_name("jq");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_becket-jq"), &quick).unwrap();
    let machine = std::env::var("PATH").expect("a PATH");
    let quick = format!("{}:{machine}", quick.parent().unwrap().display());
    let read = |file: &str| std::fs::read_to_string(repository_file(file)).expect("it is there");
    let scripts = SCRIPTS.iter().map(|(file, hook)| (read(file), *hook));
    let commands = commands(&read(COMMANDS));
    assert!(commands.len() > 15, "{commands:?}");
    let guards: Vec<(String, &str)> = scripts
        .chain(commands.into_iter().map(|text| (text, "")))
        .collect();
    for (number, (text, hook)) in guards.iter().enumerate() {
        let script = room.write(&format!("{number}/guard.sh"), text);
        let mut chance = Chance(number as u64);
        for _ in 0..count {
            let payload = chance.payload();
            let answers = [&quick, &machine].map(|path| judged(&script, hook, &payload, path));
            assert_eq!(answers[0], answers[1], "{text}\non {payload}");
        }
    }
}
