//! Forty mistakes that people make with hooks, seeded one by one: `becket hooks check` finds them before a run does.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::Room;

use crate::{repository_file, room};

/// One mistake: what it is, the files with it, what is checked, and the kind of finding.
struct Mistake {
    what: &'static str,
    /// Name, text, and whether it may be executed.
    files: &'static [(&'static str, &'static str, bool)],
    path: &'static str,
    kind: &'static str,
}

const fn mistake(
    what: &'static str,
    kind: &'static str,
    path: &'static str,
    files: &'static [(&'static str, &'static str, bool)],
) -> Mistake {
    Mistake {
        what,
        files,
        path,
        kind,
    }
}

// tidy: a table
const MISTAKES: &[Mistake] = &[
    mistake(
        "an event that is misspelt",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a foreign event in becket's own file",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"PreToolUse\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a key that is misspelt",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncomand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "no program at all",
        "configuration",
        "h.toml",
        &[("h.toml", "[[hook]]\nevent = \"pre_tool\"\n", false)],
    ),
    mistake(
        "command and worker together",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\nworker = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a broken regular expression",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = { regex = \"a(\" } }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a broken glob",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = { glob = \"a[\" } }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a match on a field that the event lacks",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"turn_start\"\nmatch = { tool = \"shell\" }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a timeout that is no number",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ntimeout = \"5s\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a failure policy where nothing can be refused",
        "configuration",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"turn_start\"\non_failure = \"deny\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a guard that fails open",
        "loosened_guard",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\non_failure = \"allow\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a tool that does not exist",
        "unknown_tool",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \"Bash\" }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a pattern that no tool has",
        "unknown_tool",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = { regex = \"Write|Edit\" } }\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a program that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"no-such-program-7\"]\n",
            false,
        )],
    ),
    mistake(
        "a command in a pipe that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"cat | no-such-program-7 -r .x\"\n",
            false,
        )],
    ),
    mistake(
        "a script that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./absent.sh\"]\n",
            false,
        )],
    ),
    mistake(
        "a script for an interpreter that is not there",
        "missing_program",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"python3\", \"absent.py\"]\nworking_dir = \".\"\n",
            false,
        )],
    ),
    mistake(
        "a script that may not be executed",
        "not_executable",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\nexit 0\n", false),
        ],
    ),
    mistake(
        "the same in a line for the shell",
        "not_executable",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"$BECKET_HOOK_DIR/guard.sh x\"\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\nexit 0\n", false),
        ],
    ),
    mistake(
        "an interpreter that is not there",
        "bad_interpreter",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/usr/local/no/such/bash\nexit 0\n", true),
        ],
    ),
    mistake(
        "a script without a first line",
        "bad_interpreter",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "echo hello\n", true),
        ],
    ),
    mistake(
        "line ends of another system in the first line",
        "line_ends",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\r\nexit 0\r\n", true),
        ],
    ),
    mistake(
        "the same further below",
        "line_ends",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            ("guard.sh", "#!/bin/sh\nexit 2\r\n", true),
        ],
    ),
    mistake(
        "a command inside of a script that is not there",
        "missing_program",
        "h.toml",
        &[
            (
                "h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
                false,
            ),
            (
                "guard.sh",
                "#!/bin/sh\ninput=$(cat)\necho \"$input\" | no-such-program-7 .x\n",
                true,
            ),
        ],
    ),
    mistake(
        "a folder with a space, and no quotes",
        "unquoted_path",
        "my hooks/h.toml",
        &[
            (
                "my hooks/h.toml",
                "[[hook]]\nevent = \"pre_tool\"\ncommand = \"$BECKET_HOOK_DIR/guard.sh x\"\n",
                false,
            ),
            ("my hooks/guard.sh", "#!/bin/sh\nexit 0\n", true),
        ],
    ),
    mistake(
        "a timeout of an hour",
        "long_timeout",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ntimeout = 3600\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a timeout of a minute for every piece of an answer",
        "long_timeout",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"message_update\"\ntimeout = 60\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "a verdict where nothing is decided",
        "meaningless_field",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"turn_start\"\ncommand = '''echo '{\"verdict\": {\"deny\": \"no\"}}' '''\n",
            false,
        )],
    ),
    mistake(
        "context where nobody reads it",
        "meaningless_field",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"session_end\"\ncommand = '''printf '{\"context\": [\"x\"]}' '''\n",
            false,
        )],
    ),
    mistake(
        "two hooks that rewrite the arguments",
        "same_rewrite",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = '''echo '{\"arguments\": {\"command\": \"a\"}}' '''\n\
         [[hook]]\nevent = \"pre_tool\"\ncommand = '''echo '{\"arguments\": {\"command\": \"b\"}}' '''\n",
            false,
        )],
    ),
    mistake(
        "the same hook twice",
        "twice",
        "h.toml",
        &[(
            "h.toml",
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: an event that is misspelt",
        "configuration",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_used:\n  - hooks:\n      - {type: command, command: 'true'}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a broken matcher",
        "configuration",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - matcher: 'a('\n    hooks:\n      - {type: command, command: 'true'}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a decision at the end of a turn",
        "meaningless_field",
        "a.yaml",
        &[(
            "a.yaml",
            "turn_end:\n  - type: command\n    command: |\n      echo '{\"decision\": \"block\"}'\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: a guard that shall fail open",
        "fixed_guard",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - {type: command, command: 'true', on_error: ignore}\n",
            false,
        )],
    ),
    mistake(
        "docker-agent: two hooks that rewrite the input",
        "same_rewrite",
        "a.yaml",
        &[(
            "a.yaml",
            "pre_tool_use:\n  - hooks:\n      - type: command\n        command: |\n          \
         echo '{\"hook_specific_output\": {\"updated_input\": {\"cmd\": \"a\"}}}'\n      - type: command\n        \
         command: |\n          echo '{\"hook_specific_output\": {\"updated_input\": {\"cmd\": \"b\"}}}'\n",
            false,
        )],
    ),
    mistake(
        "chibi: a plugin that may not be executed",
        "not_executable",
        "plugins",
        &[(
            "plugins/guard",
            "#!/bin/bash\necho '{\"name\":\"guard\",\"description\":\"x\",\"hooks\":[\"pre_tool\"]}'\n",
            false,
        )],
    ),
    mistake(
        "chibi: a hook that is misspelt",
        "unknown_event",
        "plugins",
        &[(
            "plugins/guard",
            "#!/bin/bash\necho '{\"name\":\"guard\",\"description\":\"x\",\"hooks\":[\"pre_tol\"]}'\n",
            true,
        )],
    ),
    mistake(
        "pi: an event that is misspelt",
        "unknown_event",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"tool_cal\", async () => undefined);\n}\n",
            false,
        )],
    ),
    mistake(
        "pi: an extension that cannot be read",
        "bad_script",
        "gate.ts",
        &[(
            "gate.ts",
            "export default function (pi: any) {\n  pi.on(\"tool_call\", async ( => undefined);\n}\n",
            false,
        )],
    ),
];

fn seed(room: &Room, mistake: &Mistake) {
    for (name, text, executable) in mistake.files {
        let file = room.write(name, text);
        let mode = if *executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is there");
    }
}

#[test]
fn all_but_two_of_forty_mistakes_are_found() {
    assert_eq!(MISTAKES.len(), 40);
    let mut missed = Vec::new();
    for mistake in MISTAKES {
        let room = room();
        seed(&room, mistake);
        let run = room.run(["hooks", "check", "--json", mistake.path]);
        let told: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let kinds: Vec<&str> = told["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|finding| finding["kind"].as_str())
            .collect();
        if !kinds.contains(&mistake.kind) {
            missed.push(format!("{}: {kinds:?} {}", mistake.what, run.stderr));
        }
    }
    assert!(missed.len() <= 2, "{missed:#?}");
    assert!(missed.is_empty(), "all of them were found once: {missed:#?}");
}

#[test]
fn nothing_is_reported_on_the_examples() {
    for folder in [
        "examples",
        "examples/docker-agent",
        "examples/pi",
        "examples/chibi/plugins",
        "examples/chibi/older/plugins",
    ] {
        let room = room();
        let run = room
            .run(["hooks", "check", &repository_file(folder)])
            .ended_with(0);
        let lines: Vec<&str> = run
            .stdout
            .lines()
            .filter(|line| !line.contains("becket's own serves the hook"))
            .collect();
        assert_eq!(lines.len(), 1, "{folder}: {run:#?}");
        assert!(lines[0].ends_with(": nothing is wrong"), "{folder}: {run:#?}");
    }
}

#[test]
fn a_script_that_uses_jq_where_there_is_none_is_told_whose_jq_serves_it() {
    let room = room();
    room.script("../bin/cat", "#!/bin/sh\n");
    let path = room.work().join("../bin").display().to_string();
    let room = room.with("PATH", &path);
    room.write(
        "h.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"./guard.sh\"]\n",
    );
    room.script("guard.sh", "#!/bin/sh\ncat | jq -r .tool_name\n");
    let run = room.run(["hooks", "check", "h.toml"]).ended_with(0);
    assert!(run.stdout.contains("becket's own serves the hook"), "{run:#?}");
}

#[test]
fn findings_are_told_in_sarif() {
    let room = room();
    room.write("h.toml", "[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n");
    let run = room
        .run(["hooks", "check", "--format", "sarif", "h.toml"])
        .ended_with(1);
    let log: Value = serde_json::from_str(&run.stdout).expect("one object");
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "configuration");
    assert_eq!(result["level"], "error");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "h.toml");
    assert_eq!(place["region"]["startLine"], 2);
    assert_eq!(
        log["runs"][0]["tool"]["driver"]["rules"][0]["id"],
        "configuration"
    );
}

#[test]
fn everything_that_counts_here_is_checked_plugins_and_extensions_too() {
    let room = room();
    room.script(
        "../home/.chibi/plugins/guard",
        "#!/bin/bash\necho '{\"name\":\"guard\",\"description\":\"x\",\"hooks\":[\"pre_tol\"]}'\n",
    );
    room.write(
        "gate.ts",
        "export default function (pi: any) {\n  pi.on(\"tool_cal\", async () => undefined);\n}\n",
    );
    let run = room.run(["hooks", "check", "-e", "gate.ts"]).ended_with(1);
    assert!(run.stdout.contains("there is no event `pre_tol`"), "{run:#?}");
    assert!(
        run.stdout.contains("gate.ts:2: there is no event `tool_cal`"),
        "{run:#?}"
    );
    assert!(run.stdout.contains("did you mean `tool_call`?"), "{run:#?}");
}
