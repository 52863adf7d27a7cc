//! What one event of another agent costs when becket is its hook and the daemon has the hooks loaded: a rule and an
//! extension judge a command. Beside it a program in C that only connects, sends, reads and prints, and hooks in Python
//! and Node that judge the same with one regular expression.
//!
//! Agents start hooks by a shell, so everything is started by the same shell, in turns, and the start of `/bin/true` is
//! taken off.

use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Room;

use crate::hook_files::before_a_call;
use crate::memory::watch;
use crate::programs::Programs;
use crate::report::{Figure, Line, Problem, Report};
use crate::samples::{Samples, ratio, time};

/// The most that an event may cost over a bare start, in the middle.
const BAR: Duration = Duration::from_millis(3);

/// The most that one event in a hundred may cost, as a multiple of the program in C.
const SLOW_BAR: f64 = 3.0;

/// The most memory of the client.
const MEMORY_BAR: u64 = 5_000_000;

const ROUNDS: usize = 400;

/// The rule and the extension. A command with `slow` in it takes a while, so that the client's memory can be read.
const RULES: &str = r#"
[permissions]
deny = ["shell:command=rm -rf*"]

[[hook]]
event = "pre_shell"
name = "slow"
match = { command = "slow" }
command = "sleep 0.3"
"#;

const EXTENSION: &str = "export default function (pi) {\n  pi.on('tool_call', (event) => {\n    if \
                         (/curl/.test(event.input.command)) return { block: true, reason: 'no curl' };\n  });\n}\n";

const CLIENT_IN_C: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(int count, char **words) {
    char bytes[65536];
    ssize_t length = read(0, bytes, sizeof bytes);
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strncpy(address.sun_path, words[1], sizeof address.sun_path - 1);
    if (connect(end, (struct sockaddr *)&address, sizeof address) != 0) return 1;
    if (write(end, bytes, length) != length) return 1;
    shutdown(end, SHUT_WR);
    while ((length = read(end, bytes, sizeof bytes)) > 0)
        if (write(1, bytes, length) != length) return 1;
    return 0;
}
"#;

const HOOK_IN_PYTHON: &str = r#"
import json, re, sys
if re.search('rm -rf|curl', str(json.load(sys.stdin))):
    print('no', file=sys.stderr)
    sys.exit(2)
"#;

const HOOK_IN_NODE: &str = r#"
const call = JSON.parse(require('fs').readFileSync(0, 'utf8'));
if (/rm -rf|curl/.test(JSON.stringify(call))) {
  console.error('no');
  process.exit(2);
}
"#;

/// A question of Claude Code about a command, as it was recorded.
struct Asking {
    event: &'static str,
    recorded: Value,
}

impl Asking {
    fn read() -> Result<Self, Problem> {
        let event = before_a_call()?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../faces/becket/tests/blackbox/recorded");
        let text = std::fs::read_to_string(folder.join(format!("claude-code.{event}.json")))?;
        let recorded = serde_json::from_str(&text)?;
        Ok(Self { event, recorded })
    }

    /// The question about another command in that folder.
    fn about(&self, room: &Room, command: &str) -> Result<String, Problem> {
        let mut question = self.recorded.clone();
        question["cwd"] = json!(room.work());
        let members = question
            .as_object_mut()
            .ok_or("the recorded question is no object")?;
        let mut objects = members.values_mut().filter_map(Value::as_object_mut);
        let arguments = objects.find(|object| object.contains_key("command"));
        arguments
            .ok_or("the recorded question is about no command")?
            .insert("command".into(), command.into());
        Ok(question.to_string())
    }

    fn arguments(&self) -> [&'static str; 2] {
        ["claude-code", self.event]
    }
}

pub fn run(programs: &Programs, report: &mut Report) -> Result<(), Problem> {
    let room = Room::new(&programs.becket);
    let runtime = room.work().with_file_name("runtime");
    std::fs::DirBuilder::new().mode(0o700).create(&runtime)?;
    let room = room.with("XDG_RUNTIME_DIR", &runtime.display().to_string());
    room.config(RULES);
    let extension = room.write("../pi/extensions/guard.js", EXTENSION);
    let folder = extension.ancestors().nth(2).ok_or("the extension has a folder")?;
    let room = room.with("PI_CODING_AGENT_DIR", &folder.display().to_string());
    let asking = Asking::read()?;
    let daemon = Daemon::start(&room, &runtime)?;
    let client = programs.becket.with_file_name("becket-hook");
    let hook = format!("'{}' {}", client.display(), asking.arguments().join(" "));
    refuses(&room, &hook, &asking)?;
    let socket = answering(&room)?;
    let lines = [
        ("/bin/true", "/bin/true".to_owned()),
        ("becket, with the daemon", hook.clone()),
        (
            "a program in C",
            format!("'{}' '{}'", compiled(&room)?.display(), socket.display()),
        ),
        (
            "a hook in Python",
            format!("python3 '{}'", room.write("hook.py", HOOK_IN_PYTHON).display()),
        ),
        (
            "a hook in Node",
            format!("node '{}'", room.write("hook.js", HOOK_IN_NODE).display()),
        ),
    ];
    let samples = measure(&room, &lines, &asking)?;
    let bare = samples[0].median();
    let over = |at: usize| samples[at].median().saturating_sub(bare);
    for (at, (name, _)) in lines.iter().enumerate().skip(1) {
        let line = Line::new(format!("bridge, {name}"), Figure::Time(over(at)));
        let line = line
            .ratio(ratio(over(at), over(1)))
            .remark("over `/bin/true` by the same shell");
        report.add(if at == 1 {
            line.bar(Figure::Time(BAR))
        } else {
            line
        });
    }
    let (slow, floor) = (samples[1].percentile(99), samples[2].percentile(99));
    let line = Line::new(
        "bridge, 99th percentile over C",
        Figure::Times(ratio(slow, floor)),
    );
    report.add(
        line.bar(Figure::Times(SLOW_BAR))
            .remark(format!("{slow:.1?} against {floor:.1?}")),
    );
    let memory = clients_memory(&room, &client, &asking)?;
    report
        .add(Line::new("bridge, memory of the client", Figure::Bytes(memory)).bar(Figure::Bytes(MEMORY_BAR)));
    drop(daemon);
    Ok(())
}

/// A daemon, which ends with this value.
struct Daemon(Child);

impl Daemon {
    fn start(room: &Room, runtime: &Path) -> Result<Self, Problem> {
        let work = room.work().display().to_string();
        let mut command = room.command(["bridge", "daemon", "run", "--project", &work]);
        let daemon = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let deadline = Instant::now() + Duration::from_secs(20);
        let listens = || {
            let entries = std::fs::read_dir(runtime.join("becket"))
                .into_iter()
                .flatten()
                .flatten();
            entries
                .into_iter()
                .any(|entry| entry.path().extension().is_some_and(|ending| ending == "sock"))
        };
        while !listens() {
            if Instant::now() > deadline {
                return Err("the daemon does not start".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(daemon)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(room: &Room, line: &str, question: &str) -> Result<String, Problem> {
    let mut command = room.command_of(Path::new("/bin/sh"), ["-c", line]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who reads nothing may be gone already.
        stdin.write_all(question.as_bytes()).ok();
    }
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("`{line}` failed: {}", output.status).into()),
    }
}

/// Makes sure that the rule and the extension are really asked, by the daemon.
fn refuses(room: &Room, hook: &str, asking: &Asking) -> Result<(), Problem> {
    for (command, is_refused) in [("rm -rf x", true), ("curl x", true), ("ls", false)] {
        let answer = ask(room, hook, &asking.about(room, command)?)?;
        if answer.contains("deny") != is_refused {
            return Err(format!("`{command}` was answered with {answer}").into());
        }
    }
    Ok(())
}

fn measure(room: &Room, lines: &[(&str, String)], asking: &Asking) -> Result<Vec<Samples>, Problem> {
    let question = asking.about(room, "git status --short")?;
    let mut samples = vec![Samples::default(); lines.len()];
    for _ in 0..ROUNDS {
        for ((_, line), samples) in lines.iter().zip(&mut samples) {
            let (answer, taken) = time(|| ask(room, line, &question));
            answer?;
            samples.add(taken);
        }
    }
    Ok(samples)
}

/// A socket at which everything is answered with the same text.
fn answering(room: &Room) -> Result<PathBuf, Problem> {
    let path = room.work().with_file_name("answers");
    let listener = UnixListener::bind(&path)?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read_to_end(&mut Vec::new());
            let _ = stream.write_all(b"{}\n");
        }
    });
    Ok(path)
}

fn compiled(room: &Room) -> Result<PathBuf, Problem> {
    let source = room.write("client.c", CLIENT_IN_C);
    let program = source.with_extension("");
    let built = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&program)
        .arg(&source)
        .status()?;
    match built.success() {
        true => Ok(program),
        false => Err("the program in C cannot be built".into()),
    }
}

/// The most memory of a client that waits for an answer.
fn clients_memory(room: &Room, client: &Path, asking: &Asking) -> Result<u64, Problem> {
    let mut command = room.command_of(client, asking.arguments());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(asking.about(room, "slow")?.as_bytes())?;
    }
    watch(&mut child)
}
