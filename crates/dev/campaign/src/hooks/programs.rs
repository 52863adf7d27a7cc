//! Broken guards as real programs: every kind × every system that starts programs × every way to be allowed.

use serde_json::{Value, json};
use testkit::Room;

use crate::round::{Round, ensure};

/// Ways in which a guard's script breaks, beside the signals: what it does, and the script.
// tidy: a table
const SCRIPTS: &[(&str, &str)] = &[
    ("hangs", "sleep 600"),
    (
        "hangs and ignores SIGTERM",
        "trap '' TERM; while :; do sleep 600; done",
    ),
    (
        "hangs with a child in its own session",
        "setsid sleep 600 & sleep 600",
    ),
    ("hangs without its pipes", "exec <&- >&- 2>&-; sleep 600"),
    ("stops itself", "kill -STOP $$"),
    (
        "says half an answer and hangs",
        "printf '{\"verdict\":'; sleep 600",
    ),
    (
        "says yes and hangs",
        "echo '{\"verdict\":\"allow\",\"decision\":\"approve\"}'; sleep 600",
    ),
    (
        "writes byte by byte for ever",
        "while :; do printf x; sleep 0.02; done",
    ),
    ("writes errors for ever", "yes error >&2"),
    ("writes for ever", "exec yes"),
    ("writes 100 MB", "head -c 100000000 /dev/zero"),
    ("kills itself", "kill -KILL $$"),
    ("exits with 126", "exit 126"),
    ("exits with 127", "exit 127"),
    ("lacks a command", "no-such-command-anywhere"),
    (
        "is killed by its limit of time",
        "ulimit -t 1; while :; do :; done",
    ),
    ("runs an interpreter that is missing", "exec /no/such/interpreter"),
    ("runs a file that is a folder", "exec /tmp"),
    ("says half an object", "echo '{\"decision\":'"),
    ("says half a string", "printf '{\"verdict\":\"al'"),
    ("says no in half an object", "printf '{\"decision\":\"block\"'"),
    ("says an object in prose", "echo 'so: {\"decision\":\"block\"}'"),
    ("says two objects", "echo '{\"decision\":\"block\"}'; echo '{}'"),
    ("says invalid UTF-8", "printf '{\"a\":\"\\377\\376\"}'"),
    ("says NUL", "printf '{}\\000'"),
    (
        "says a number where a word should be",
        "echo '{\"verdict\":7,\"decision\":7,\"permission\":7,\"permissionDecision\":7}'",
    ),
    (
        "says a word that does not exist",
        "echo '{\"verdict\":\"alow\",\"decision\":\"alow\",\"permission\":\"alow\",\"permissionDecision\":\"alow\"}'",
    ),
    ("nests without end", "head -c 200000 /dev/zero | tr '\\0' '['"),
    (
        "leaves a child that holds its output",
        "printf '{\"verdict\":'; sleep 600 &",
    ),
];

/// Signals that end a script, without those that a shell ignores.
const SIGNALS: &[&str] = &[
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
    "TERM", "XCPU", "XFSZ", "SYS",
];

/// A system that starts hooks: its name, and what makes a program its guard and returns what the settings need.
type System = (&'static str, fn(&Room, &str) -> String);

const SYSTEMS: &[System] = &[
    ("becket, pre_tool", |_, program| {
        own("pre_tool", "command", program)
    }),
    ("becket, pre_shell", |_, program| {
        own("pre_shell", "command", program)
    }),
    ("becket, worker", |_, program| own("pre_tool", "worker", program)),
    ("claude-code", |room, program| {
        let hook = json!({"type": "command", "command": program, "timeout": 1});
        put(
            room,
            ".claude/settings.json",
            json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}),
        )
    }),
    ("codex", |room, program| {
        let hook = json!({"type": "command", "command": program, "timeout": 1});
        put(
            room,
            ".codex/hooks.json",
            json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}),
        )
    }),
    ("gemini", |room, program| {
        let hook = json!({"type": "command", "command": program, "timeout": 1000});
        put(
            room,
            ".gemini/settings.json",
            json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}),
        )
    }),
    ("cursor", |room, program| {
        let hook = json!({"command": program, "timeout": 1});
        put(
            room,
            ".cursor/hooks.json",
            json!({"version": 1, "hooks": {"beforeShellExecution": [hook]}}),
        )
    }),
    ("copilot", |room, program| {
        let hook = json!({"type": "command", "bash": program, "timeoutSec": 1});
        put(
            room,
            ".github/hooks/all.json",
            json!({"version": 1, "hooks": {"preToolUse": [hook]}}),
        )
    }),
    ("docker-agent", |room, program| {
        let hook = format!("{{type: command, command: '{program}', timeout: 1}}");
        room.write(
            "../home/.config/becket/hooks.d/guard.yaml",
            format!("pre_tool_use:\n  - matcher: '*'\n    hooks: [{hook}]\n"),
        );
        String::new()
    }),
    ("chibi", |room, program| {
        let schema = r#"{"name":"g","description":"d","hooks":["pre_tool"]}"#;
        let text = format!("#!/bin/sh\n[ \"$1\" = --schema ] && echo '{schema}' && exit\nexec {program}\n");
        room.script("../home/.chibi/plugins/guard", &text);
        "[chibi]\nhook_timeout = 1\n".into()
    }),
];

/// Ways to be allowed: words of the command line, and lines of the settings.
const POLICIES: &[(&str, &[&str], &str)] = &[
    ("--yes", &["--yes"], ""),
    ("permission mode yes", &["--permission-mode", "yes"], ""),
    (
        "an allow rule",
        &[],
        "[permissions]\nallow = [\"shell:command=touch *\"]\n",
    ),
    ("strict dialects", &["--yes"], "[dialects]\nstrict = true\n"),
];

fn put(room: &Room, file: &str, text: Value) -> String {
    room.write(file, text.to_string());
    String::new()
}

fn own(event: &str, key: &str, program: &str) -> String {
    format!("[[hook]]\nevent = \"{event}\"\n{key} = [\"{program}\"]\ntimeout = 1\n")
}

/// A broken script: what it does, and its text.
fn script(round: &mut Round<'_>) -> (String, String) {
    let place = round.random.below(SCRIPTS.len() + SIGNALS.len());
    match SCRIPTS.get(place) {
        Some((what, script)) => ((*what).into(), (*script).into()),
        None => {
            let signal = SIGNALS[place - SCRIPTS.len()];
            let kill = format!("ulimit -c 0; exec env --default-signal={signal} sh -c 'kill -{signal} $$'");
            (format!("dies by SIG{signal}"), kill)
        }
    }
}

/// Three calls, each guarded, behind a broken guard.
pub fn round(round: &mut Round<'_>) -> Result<(), String> {
    let room = round.room();
    let (what, script) = script(round);
    let program = room.script("../guard", &format!("#!/bin/sh\n{script}\n"));
    let (system, install) = round.random.choose(SYSTEMS);
    let (policy, words, settings) = round.random.choose(POLICIES);
    let more = install(&room, &program.display().to_string());
    room.config(&format!("{more}{settings}"));
    let call = |file: &str| json!({"name": "shell", "arguments": {"command": format!("touch {file}")}});
    let model = room
        .model(&json!([{"tool_calls": [call("made1")]}, {"tool_calls": [call("made2")]}, {"text": "done"}]));
    let run = room.run([&["--trust", "--json", "--model", &model], *words, &["go"]].concat());
    let what = format!("{system}, a guard that {what}, {policy}");
    round.count("guarded actions after a broken guard, in the program", 2);
    ensure!(
        !room.has("made1") && !room.has("made2"),
        "{what}: the call ran: {run:#?}"
    );
    ensure!(
        matches!(run.code, 0 | 4),
        "{what}: the run ended with {}: {run:#?}",
        run.code
    );
    // A guard that was never asked would prove nothing.
    ensure!(
        run.code == 4 || run.stdout.contains("refused"),
        "{what}: nothing was refused: {run:#?}"
    );
    Ok(())
}
