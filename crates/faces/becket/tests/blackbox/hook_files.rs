//! What the tests of hooks in JSON files share: calls and answers of a scripted model, hooks that note what they read.

use serde_json::{Value, json};
use testkit::Room;

use crate::room;

/// A command that adds what it reads to a file beside the working directory, and then does something.
pub(crate) fn noting(event: &str, then: &str) -> String {
    format!("IN=$(cat); printf '%s\\n' \"$IN\" >> ../{event}.jsonl; {then}")
}

/// A command that answers.
pub(crate) fn answers(answer: &Value) -> String {
    format!("printf '%s' '{answer}'")
}

pub(crate) fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"id": "call-1", "name": name, "arguments": arguments}]})
}

pub(crate) fn shell(command: &str) -> Value {
    call("shell", &json!({"command": command}))
}

/// An answer to a request that holds these words.
pub(crate) fn says(text: &str, expect: &[&str]) -> Value {
    json!({"text": text, "expect": expect})
}

/// What the hooks of an event have read.
pub(crate) fn heard(room: &Room, event: &str) -> Vec<Value> {
    let text = room.read(&format!("../{event}.jsonl"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// One member of all that the hooks of an event have read.
pub(crate) fn members(room: &Room, event: &str, name: &str) -> Vec<Value> {
    let heard = heard(room, event).into_iter();
    heard.map(|mut read| read[name].take()).collect()
}

/// A project whose files for three systems have the same command, which leaves a line each time it runs.
fn with_the_same(claude: &Value, command: &str) -> Room {
    let room = room();
    let hook = json!({"type": "command", "command": command});
    let mut group = claude.clone();
    group["hooks"] = json!([hook]);
    room.write(
        ".claude/settings.json",
        json!({"hooks": {"PreToolUse": [group]}}).to_string(),
    );
    let group = json!({"hooks": [hook]});
    room.write(
        ".codex/hooks.json",
        json!({"hooks": {"PreToolUse": [group]}}).to_string(),
    );
    let of_copilot = json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": command}]}});
    room.write(".github/hooks/hooks.json", of_copilot.to_string());
    room
}

#[test]
fn the_same_hook_in_the_files_of_two_systems_runs_once() {
    let command = "cat > /dev/null; echo ran >> ../runs";
    let play = |room: &Room| {
        let model = room.model(&json!([shell("true"), {"text": "done"}]));
        room.run(["--trust", "--yes", "--model", &model, "go"])
            .ended_with(0);
        room.read("../runs").lines().count()
    };
    let room = with_the_same(&json!({}), command);
    // Copilot refuses with every error code, so its guard runs too.
    assert_eq!(play(&room), 2);
    let list = room.run(["--trust", "hooks", "list"]).ended_with(0).stdout;
    let codex = list
        .lines()
        .find(|line| line.contains(".codex/hooks.json"))
        .expect("a line");
    assert!(
        codex.contains("runs once, as ") && codex.contains(".claude/settings.json"),
        "{list}"
    );
    // A narrower hook does not stand for a wider one.
    let room = with_the_same(&json!({"matcher": "Bash"}), command);
    assert_eq!(play(&room), 3);
}

#[test]
fn a_plugins_file_is_read_by_the_system_that_it_is_of() {
    let room = room();
    let group = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let write = |plugin: &str, manifest: &str, hooks: Value| {
        if !manifest.is_empty() {
            room.write(
                &format!("{plugin}/{manifest}"),
                json!({"name": plugin}).to_string(),
            );
        }
        let file = format!("{plugin}/hooks/hooks.json");
        room.write(&file, json!({"version": 1, "hooks": hooks}).to_string());
        let run = room.run(["hooks", "check", "--json", &file]);
        run.stdout + &run.stderr
    };
    // The same words mean different things: no other system has `Interrupt`, and none but one `PostToolBatch`.
    let both = || json!({"PreToolUse": group("true"), "Interrupt": group("true")});
    let text = write("one", ".codex-plugin/plugin.json", both());
    assert!(!text.contains("Interrupt"), "{text}");
    let text = write("two", ".claude-plugin/plugin.json", both());
    assert!(text.contains("Interrupt"), "{text}");
    let text = write(
        "three",
        "",
        json!({"PreToolUse": group("true"), "PostToolBatch": group("true")}),
    );
    assert!(!text.contains("PostToolBatch"), "{text}");
    let shell = json!({"beforeShellExecution": [{"command": "true"}]});
    for manifest in [".cursor-plugin/plugin.json", ""] {
        let text = write("four", manifest, shell.clone());
        assert!(!text.contains("beforeShellExecution"), "{manifest}: {text}");
    }
    // A plugin's own variable is set for it.
    let rooted = json!({"PreToolUse": group("\"${CLAUDE_PLUGIN_ROOT}\"/run.sh")});
    let text = write("five", ".claude-plugin/plugin.json", rooted);
    assert!(!text.contains("is set for hooks of plugins only"), "{text}");
}
