//! The workbench: hooks of every dialect are seen, fired, explained, tested and traced.

mod bench;
mod explain;
mod fire;
mod list;
mod mistakes;
mod suites;
mod trace;
mod walk;

use serde_json::Value;
use testkit::{Finished, Room};

use crate::plugins::{bash, plugin};
use crate::room;

/// One guard against `rm` in the words of one dialect.
pub struct Guarded {
    pub dialect: &'static str,
    /// What the dialect calls the moment before a tool runs.
    pub event: &'static str,
    pub room: Room,
    /// What the command line needs, so that the guard counts.
    pub options: Vec<String>,
    /// A piece of what the guard reads, in its dialect's words.
    pub reads: &'static str,
}

/// A room with a guard for each dialect.
pub fn guards() -> Vec<Guarded> {
    vec![own(), chibi(), docker_agent(), pi()]
}

fn own() -> Guarded {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nname = \"no-rm\"\nevent = \"pre_tool\"\nmatch = { tool = \"shell\" }\n\
         command = '''if grep -q 'rm -rf'; then echo 'rm is out' >&2; exit 2; fi'''\n",
    );
    Guarded {
        dialect: "becket",
        event: "pre_tool",
        room,
        options: vec!["--hooks".into(), hooks],
        reads: r#""event":"pre_tool""#,
    }
}

fn chibi() -> Guarded {
    let room = room();
    let body =
        "if grep -q 'rm -rf'; then echo '{\"block\":true,\"message\":\"rm is out\"}'; else echo '{}'; fi";
    plugin(&room, "no-rm", &bash("no-rm", ",\"hooks\":[\"pre_tool\"]", body));
    Guarded {
        dialect: "chibi",
        event: "pre_tool",
        room,
        options: Vec::new(),
        reads: r#""shell_exec""#,
    }
}

fn docker_agent() -> Guarded {
    let room = room();
    room.write(
        "../home/.config/cagent/hooks.d/no-rm.yaml",
        "pre_tool_use:\n  - matcher: shell\n    hooks:\n      - type: command\n        name: no-rm\n        \
         command: \"if grep -q 'rm -rf'; then echo 'rm is out' >&2; exit 2; fi\"\n",
    );
    Guarded {
        dialect: "docker-agent",
        event: "pre_tool_use",
        room,
        options: Vec::new(),
        reads: r#""cmd""#,
    }
}

fn pi() -> Guarded {
    let room = room();
    room.write(
        "no-rm.ts",
        "export default function (pi: any) {\n  pi.on('tool_call', async (event: any) => {\n    \
         if (event.input.command?.includes('rm -rf')) return { block: true, reason: 'rm is out' };\n  });\n}\n",
    );
    Guarded {
        dialect: "pi",
        event: "tool_call",
        room,
        options: vec!["-e".into(), "no-rm.ts".into()],
        reads: r#""toolName":"bash""#,
    }
}

impl Guarded {
    /// Runs a command with the guard.
    pub fn run(&self, words: &[&str]) -> Finished {
        let options = self.options.iter().map(String::as_str);
        self.room.run(words.iter().copied().chain(options))
    }

    /// Runs a command with the guard and `--json`, and returns the object that it prints.
    pub fn json(&self, words: &[&str], code: i32) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let run = self.run(&words).ended_with(code);
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
    }
}
