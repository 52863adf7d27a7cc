//! One suite for every kind of guest: what each host keeps, whoever wrote its guests. The program is becket with a
//! dialect that stands in one file (`examples/toy_dialect.rs`) and has joined it by one line.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Finished, Room, Signal, wait_until_gone};

use crate::daemon::Served;
use crate::scheme::put;
use crate::unloaded::touching;

/// A guard of one kind: it notes what it inherits, and says no.
struct Sample {
    /// What listings call it.
    name: &'static str,
    /// Where it lies, from the working directory.
    file: &'static str,
    text: &'static str,
    /// A text of the file that cannot be read.
    broken: &'static str,
    /// Whether the project brings it, so that it counts only once it is trusted.
    is_of_project: bool,
    /// Whether it runs programs.
    runs_programs: bool,
}

/// What a guard does, before it says no in the words of its own system.
const NOTES: &str = "env > \"$HOME/seen\"";

/// What one does that never says anything.
const HANGS: &str = "echo $$ > \"$HOME/child\"; sleep 4242";

const PLUGIN: &str = r#"#!/bin/sh
if [ "$1" = --schema ]; then
  echo '{"name":"sample","description":"A sample","hooks":["pre_tool"]}'
  exit
fi
sh "$HOME/notes.sh"
echo '{"block":true,"message":"sample says no"}'
"#;

const EXTENSION: &str = r#"export default function (pi) {
  pi.on("tool_call", async () => {
    await pi.exec("sh", ["-c", 'sh "$HOME/notes.sh"']);
    return { block: true, reason: "sample says no" };
  });
}
"#;

const SAMPLES: &[Sample] = &[
    Sample {
        name: "sample",
        file: "becket.toml",
        text: "[[hook]]\nevent = \"pre_tool\"\nname = \"sample\"\ncommand = 'sh \"$HOME/notes.sh\"; echo \"{\\\"verdict\\\": {\\\"deny\\\": \\\"sample says no\\\"}}\"'\n",
        broken: "[[hook]]\nevent = \"pre_toll\"\nname = \"sample\"\ncommand = 'true'\n",
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "sample",
        file: ".pi/extensions/sample.ts",
        text: EXTENSION,
        broken: "export default function (pi) { throw new Error('no'); }\n",
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "PreToolUse 1",
        file: ".claude/settings.json",
        text: r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2"}]}]}}"#,
        broken: r#"{"hooks": {"PreToolUse": [{"type": "command", "command": "sample"}]}}"#,
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "PreToolUse 1",
        file: "../home/.claude/settings.json",
        text: r#"{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2"}]}]}}"#,
        broken: "{",
        is_of_project: false,
        runs_programs: true,
    },
    Sample {
        name: "PreToolUse 1",
        file: ".codex/hooks.json",
        text: r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2"}]}]}}"#,
        broken: r#"{"hooks": {"PreToolUse": [{"type": "command", "command": "sample"}]}}"#,
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "BeforeTool 1",
        file: ".gemini/settings.json",
        text: r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2"}]}]}}"#,
        broken: r#"{"hooks": {"BeforeTool": [{"type": "command", "command": "sample"}]}}"#,
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "preToolUse 1",
        file: ".cursor/hooks.json",
        text: r#"{"version": 1, "hooks": {"preToolUse": [{"command": "sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2"}]}}"#,
        broken: r#"{"version": 1, "hooks": {"preToolUse": [{"comand": "sample"}]}}"#,
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "preToolUse 1",
        file: ".github/hooks/sample.json",
        text: r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2"}]}}"#,
        broken: r#"{"version": 1, "hooks": {"preToolUse": "sample"}}"#,
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "sample",
        file: ".toy/hooks.txt",
        text: "guard sample sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 1\n",
        broken: "gard sample false\n",
        is_of_project: true,
        runs_programs: true,
    },
    Sample {
        name: "sample",
        file: "../home/.chibi/plugins/sample",
        text: PLUGIN,
        broken: "#!/bin/sh\nexit 1\n",
        is_of_project: false,
        runs_programs: true,
    },
    Sample {
        name: "sample",
        file: "../home/.config/becket/hooks.d/sample.yaml",
        text: "pre_tool_use:\n  - matcher: \"*\"\n    hooks:\n      - type: command\n        name: sample\n        command: sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2\n",
        broken: "pre_tool_use: [\n",
        is_of_project: false,
        runs_programs: true,
    },
    Sample {
        name: "sample",
        file: "../home/.config/becket/config.toml",
        text: "[agent_hooks]\nenabled = true\n[[agent_hooks.interceptor]]\nname = \"sample\"\ncommand = 'sh \"$HOME/notes.sh\"; \
               if grep -q pre_tool_call; then echo \"{\\\"decision\\\": \\\"deny\\\", \\\"reason\\\": \\\"sample says no\\\"}\"; \
               else echo \"{\\\"decision\\\": \\\"allow\\\"}\"; fi'\n",
        broken: "[agent_hooks]\nenabled = true\n[[agent_hooks.interceptor]]\nname = \"sample\"\ncomand = \"true\"\n",
        is_of_project: false,
        runs_programs: true,
    },
    Sample {
        name: "sample.scm",
        file: "",
        text: "(import (harness hooks))\n(register-hook 'pre_tool (lambda (payload) '((\"block\" . #t) (\"message\" . \"sample says no\"))))\n",
        broken: "(import (harness hooks))\n(no-such-procedure 1)\n",
        is_of_project: false,
        runs_programs: false,
    },
];

impl Sample {
    fn install(&self, room: &Room, text: &str) {
        room.write("../home/notes.sh", NOTES);
        match self.file {
            "" => put(room, "tools/shared/sample.scm", text),
            file if text.starts_with("#!") => drop(room.script(file, text)),
            file => drop(room.write(file, text)),
        }
    }

    fn title(&self) -> String {
        format!("{} ({})", self.name, self.file)
    }
}

/// becket with the toy dialect.
fn toy_becket() -> PathBuf {
    let examples = PathBuf::from(env!("CARGO_BIN_EXE_becket"));
    examples.with_file_name("examples").join("toy_dialect")
}

fn room() -> Room {
    Room::new(toy_becket())
}

/// A room with that guard, which counts.
fn trusted(sample: &Sample) -> Room {
    let room = room();
    sample.install(&room, sample.text);
    if sample.is_of_project {
        room.run(["hooks", "trust", "--all"]).ended_with(0);
    }
    room
}

/// Waits until a file is there and has something in it.
fn wait_for(room: &Room, name: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !room.has(name) || room.read(name).trim().is_empty() {
        assert!(Instant::now() < deadline, "there is no {name}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Lets a model run a command, with everything allowed.
fn attempt(room: &Room) -> Finished {
    let model = room.model(&touching());
    room.run(["--yes", "--json", "--model", &model, "go"])
}

#[test]
fn a_guard_that_counts_refuses() {
    for sample in SAMPLES {
        let (room, title) = (trusted(sample), sample.title());
        let run = attempt(&room).ended_with(0);
        assert!(!room.has("made"), "{title}: {run:#?}");
        assert!(run.stdout.contains("sample says no"), "{title}: {run:#?}");
    }
}

/// A question of another agent about a command.
fn question_of(room: &Room, system: &str) -> (&'static str, Value) {
    let (event, name) = match system {
        "gemini" => ("BeforeTool", "run_shell_command"),
        _ => ("PreToolUse", "Bash"),
    };
    let question = json!({"session_id": "s", "cwd": room.work(), "hook_event_name": event, "tool_name": name,
        "tool_input": {"command": "touch made"}, "tool_use_id": "1"});
    (event, question)
}

fn asked_by(room: &Room, system: &str) -> String {
    let (event, question) = question_of(room, system);
    let run = room.run_with_input(["bridge", system, event], question.to_string());
    run.ended_with(0).stdout
}

#[test]
fn a_guard_of_every_kind_that_changes_is_heard_although_the_daemon_keeps_it_loaded() {
    for sample in SAMPLES {
        let (served, title) = (Served::new(room(), &toy_becket()), sample.title());
        let room = &served.room;
        let trust = || {
            if sample.is_of_project {
                room.run(["hooks", "trust", "--all"]).ended_with(0);
            }
        };
        sample.install(room, sample.text);
        trust();
        let _daemon = served.start();
        // An agent runs the hooks of its own files itself.
        let is_claudes = sample.file.contains(".claude");
        let system = if is_claudes { "gemini" } else { "claude-code" };
        let (event, question) = question_of(room, system);
        let answer = || served.ask(system, event, &question).ended_with(0).stdout;
        for _ in 0..2 {
            let answer = answer();
            assert!(answer.contains("sample says no"), "{title}: {answer}");
        }
        sample.install(room, &sample.text.replace("says no", "says never"));
        if sample.is_of_project {
            let answer = answer();
            assert!(
                answer.contains("deny") && !answer.contains("says no"),
                "{title}: {answer}"
            );
            trust();
        }
        let answer = answer();
        assert!(answer.contains("sample says never"), "{title}: {answer}");
    }
}

#[test]
fn a_guard_of_every_kind_refuses_the_calls_of_other_agents() {
    for sample in SAMPLES {
        let (room, title) = (trusted(sample), sample.title());
        for system in ["claude-code", "gemini"] {
            let own_folder = if system == "gemini" { ".gemini" } else { ".claude" };
            let answer = asked_by(&room, system);
            // An agent runs the hooks of its own files itself.
            let is_asked = !sample.file.contains(own_folder);
            assert_eq!(
                answer.contains("sample says no"),
                is_asked,
                "{system} {title}: {answer}"
            );
            assert_eq!(answer.contains("deny"), is_asked, "{system} {title}: {answer}");
        }
        let (room, title) = (self::room(), sample.title());
        sample.install(&room, sample.broken);
        let answer = asked_by(&room, "codex");
        let is_asked = !sample.file.contains(".codex");
        assert_eq!(answer.contains("deny"), is_asked, "{title}: {answer}");
    }
}

#[test]
fn a_run_that_is_called_off_leaves_no_process_of_a_guest() {
    for sample in SAMPLES.iter().filter(|sample| sample.runs_programs) {
        let (room, title) = (trusted(sample), sample.title());
        room.write("../home/notes.sh", HANGS);
        let model = room.model(&touching());
        let run = room.start(["--yes", "--json", "--model", &model, "go"]);
        wait_for(&room, "../home/child");
        run.signal(Signal::INT);
        let run = run.finish();
        assert!(!room.has("made"), "{title}: {run:#?}");
        wait_until_gone(room.read("../home/child").trim());
    }
}

#[test]
fn what_is_not_trusted_brings_nothing_and_no_run_starts_without_it() {
    for sample in SAMPLES.iter().filter(|sample| sample.is_of_project) {
        let (room, title) = (room(), sample.title());
        sample.install(&room, sample.text);
        let run = attempt(&room).ended_with(4);
        assert!(run.stderr.contains(sample.file), "{title}: {run:#?}");
        for command in [&["doctor"][..], &["hooks", "list"], &["hooks", "check"]] {
            room.run(command);
        }
        assert!(!room.has("made") && !room.has("../home/seen"), "{title}");
    }
}

#[test]
fn a_guard_that_cannot_be_understood_stops_every_run() {
    for sample in SAMPLES {
        let (room, title) = (room(), sample.title());
        sample.install(&room, sample.broken);
        if sample.is_of_project {
            room.run(["hooks", "trust", "--all"]);
        }
        let run = attempt(&room);
        assert!(!room.has("made"), "{title}: {run:#?}");
        assert!(matches!(run.code, 2 | 4), "{title}: {run:#?}");
        assert!(
            run.stderr.contains("sample") || run.stderr.contains(sample.file.trim_start_matches("../")),
            "{title}: {run:#?}"
        );
        assert_ne!(room.run(["doctor"]).code, 0, "{title}");
    }
}

#[test]
fn a_guard_of_the_project_that_is_gone_is_missed() {
    for sample in SAMPLES.iter().filter(|sample| sample.is_of_project) {
        let (room, title) = (trusted(sample), sample.title());
        std::fs::remove_file(room.work().join(sample.file)).unwrap();
        let run = attempt(&room).ended_with(4);
        assert!(
            !room.has("made") && run.stderr.contains("is gone"),
            "{title}: {run:#?}"
        );
        assert!(
            room.run(["hooks", "trust", "--show"])
                .stdout
                .contains(sample.file),
            "{title}"
        );
    }
}

#[test]
fn no_guest_sees_a_key_of_another() {
    for sample in SAMPLES.iter().filter(|sample| sample.runs_programs) {
        let room = trusted(sample)
            .with("SAMPLE_KEY", "secret-of-toy")
            .with("SAMPLE_WORD", "free");
        let before = std::fs::read_to_string(room.work().join(".toy/hooks.txt")).unwrap_or_default();
        room.write(".toy/hooks.txt", format!("{before}key SAMPLE_KEY\n"));
        room.run(["hooks", "trust", "--all"]);
        attempt(&room).ended_with(0);
        let seen = room.read("../home/seen");
        let title = sample.title();
        assert!(seen.contains("SAMPLE_WORD=free"), "{title}: {seen}");
        assert!(!seen.contains("secret-of-toy"), "{title}: {seen}");
    }
}

#[test]
fn run_doctor_list_check_and_trust_see_the_same() {
    for sample in SAMPLES {
        let (room, title) = (trusted(sample), sample.title());
        let run = attempt(&room).ended_with(0);
        let decided = run.events_named("approval_decided");
        let listed = room.run(["hooks", "list"]).ended_with(0).stdout;
        let doctor = room.run(["doctor"]).stdout;
        assert!(listed.contains(sample.name), "{title}: {listed}");
        assert!(doctor.contains(sample.name), "{title}: {doctor}");
        assert!(format!("{decided:?}").contains("sample"), "{title}: {run:#?}");
        let checked = &room.run(["hooks", "check", "--json"]).events()[0];
        assert_eq!(checked["hooks"], 1, "{title}: {checked}");
        if sample.is_of_project {
            let shown = room.run(["hooks", "trust", "--show"]).stdout;
            assert!(shown.contains(sample.file), "{title}: {shown}");
        }
    }
}

/// An agent file counts because somebody names it, so there is nothing to trust and nothing that is gone. What else is
/// kept for guests is kept for its hooks.
#[test]
fn the_hooks_of_an_agent_file_keep_what_every_guest_keeps() {
    let file = |hook: &str| {
        format!(
            "agents:\n  root:\n    model: openai/gpt-4o\n    description: d\n    instruction: i\n    toolsets:\n      - type: shell\n\
             \x20   hooks:\n      pre_tool_use:\n        - matcher: \"*\"\n          hooks:\n            {hook}\n"
        )
    };
    let guard =
        "- {type: command, name: sample, command: 'sh \"$HOME/notes.sh\"; echo sample says no >&2; exit 2'}";
    let room = room()
        .with("SAMPLE_KEY", "secret-of-toy")
        .with("SAMPLE_WORD", "free");
    room.write("../home/notes.sh", NOTES);
    room.write(".toy/hooks.txt", "key SAMPLE_KEY\n");
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    room.write("agent.yaml", file(guard));
    let model = room.model(&touching());
    let arguments = ["run", "agent.yaml", "go", "--yes", "--json", "--model", &model];
    let run = room.run(arguments).ended_with(0);
    assert!(
        !room.has("made") && run.stdout.contains("sample says no"),
        "{run:#?}"
    );
    let seen = room.read("../home/seen");
    assert!(
        seen.contains("SAMPLE_WORD=free") && !seen.contains("secret-of-toy"),
        "{seen}"
    );
    let list = room
        .run(["hooks", "--agent-file", "agent.yaml", "list"])
        .ended_with(0)
        .stdout;
    assert!(list.contains("sample"), "{list}");
    let check = |arguments: &[&str]| room.run(arguments).events()[0]["hooks"].clone();
    let counted = check(&["hooks", "--agent-file", "agent.yaml", "check", "--json"]);
    assert_eq!(counted, check(&["hooks", "check", "agent.yaml", "--json"]));
    assert_ne!(counted, check(&["hooks", "check", "--json"]));
    room.write("../home/notes.sh", HANGS);
    let running = room.start(arguments);
    wait_for(&room, "../home/child");
    running.signal(Signal::INT);
    let run = running.finish();
    assert!(!room.has("made"), "{run:#?}");
    wait_until_gone(room.read("../home/child").trim());
    room.write(
        "agent.yaml",
        file("- {type: comand, name: sample, command: 'true'}"),
    );
    let run = room.run(arguments);
    assert!(
        run.code != 0 && !room.has("made") && run.stderr.contains("agent.yaml:12"),
        "{run:#?}"
    );
}

/// MCP servers bring tools and no guards. What a server is told, and that it ends, is kept all the same.
#[test]
fn a_server_sees_no_key_and_ends_with_its_command() {
    let room = room().with("SAMPLE_KEY", "secret-of-toy");
    room.write("../home/notes.sh", format!("{NOTES}; {HANGS}"));
    room.write(".toy/hooks.txt", "key SAMPLE_KEY\n");
    room.config(
        "[mcp.servers.sample]\ncommand = 'sh'\nargs = ['-c', 'sh \"$HOME/notes.sh\"']\nstart_timeout = 1\n",
    );
    let doctor = room.run(["doctor"]);
    assert!(doctor.stdout.contains("MCP server sample"), "{doctor:#?}");
    assert!(!room.read("../home/seen").contains("secret-of-toy"));
    wait_until_gone(room.read("../home/child").trim());
    assert!(room.run(["mcp", "list"]).stdout.contains("sample"));
}

#[test]
fn doctor_looks_at_guests_also_where_the_tool_profile_is_wrong() {
    let room = room();
    room.config("[tools]\nprofile = \"nope\"\n[[hook]]\nevent = \"pre_tool\"\nname = \"sample\"\ncommand = \"true\"\n");
    let doctor = room.run(["doctor"]).ended_with(1);
    assert!(doctor.stdout.contains("no tool profile `nope`"), "{doctor:#?}");
    assert!(doctor.stdout.contains("hook sample on pre_tool"), "{doctor:#?}");
}
