//! `becket hooks check`: what is wrong with hooks, with file and line, before they run.

use serde_json::Value;
use testkit::Room;

use crate::{repository_file, room};

/// The findings of a check, as JSON.
fn findings(room: &Room, arguments: &[&str], code: i32) -> Vec<Value> {
    let words = ["hooks", "check", "--json"].iter().chain(arguments);
    let run = room.run(words).ended_with(code);
    let told: Value = serde_json::from_str(&run.stdout).expect("one object");
    told["findings"].as_array().expect("a list").clone()
}

/// A `PATH` with a shell and what is named here, and with nothing else.
fn path_with(room: &Room, programs: &[&str]) -> String {
    for program in programs {
        room.script(&format!("../bin/{program}"), "#!/bin/sh\n");
    }
    room.work().join("../bin").display().to_string()
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let room = room();
    room.write(
        "h.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncomand = \"true\"\n\n[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n\
         timeout = -1\n\n[[hook]]\nevent = \"stop\"\ncommand = [\"./not-there\"]\n",
    );
    room.write(
        "a.yaml",
        "pre_tool_use:\n  - matcher: shell\n    hoks:\n      - type: command\n        command: \"true\"\n\
         stop:\n  - type: command\n    command: \"true\"\n    timeot: 5\n",
    );
    let lines = |file: &str| {
        let found = findings(&room, &[file], 1);
        let lines = found
            .iter()
            .map(|finding| finding["line"].as_u64().unwrap_or_default());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(lines("h.toml"), [3, 6, 8, 12]);
    assert_eq!(lines("a.yaml"), [3, 9]);
}

#[test]
fn a_condition_that_was_meant_as_contains_is_remarked() {
    let room = room();
    let check = |condition: &str| {
        room.write(
            "h.toml",
            format!(
                "[[hook]]\nevent = \"pre_tool\"\nmatch = {{ tool = \"shell\", arguments = {{ command = {condition} }} \
                 }}\ncommand = \"exit 2\"\n"
            ),
        );
        let found = findings(&room, &["h.toml"], 0);
        found
            .iter()
            .filter(|finding| finding["kind"] == "whole_text")
            .count()
    };
    for meant in [
        "\"git push\"",
        "\"sudo\"",
        "{ regex = \"git push\" }",
        r"{ regex = 'rm\s+-rf' }",
        "{ regex = \"^git push\" }",
        "{ regex = \"sudo|rm -rf\" }",
        "{ glob = \"rm\" }",
    ] {
        assert_eq!(check(meant), 1, "{meant}");
    }
    for fine in [
        "{ glob = \"*git push*\" }",
        "{ regex = \".*sudo.*\" }",
        "{ regex = \"git push( .*)?\" }",
        "{ regex = \"^(ls|pwd)$\" }",
    ] {
        assert_eq!(check(fine), 0, "{fine}");
    }
}

#[test]
fn the_examples_are_clean() {
    let room = room();
    let tools = ["jq", "mkdir", "tee", "git", "date", "python3", "cat"];
    let path = path_with(&room, &tools);
    let room = room.with("PATH", &path);
    for folder in ["examples/docker-agent", "examples"] {
        let run = room
            .run(["hooks", "check", &repository_file(folder)])
            .ended_with(0);
        assert!(run.stdout.ends_with(": no problems found\n"), "{run:#?}");
        assert_eq!(run.stdout.lines().count(), 1, "{run:#?}");
    }
}

/// Mistakes: the file's name, its text, the kind, the line, and a part of what is said.
// tidy: a table
const MISTAKES: &[(&str, &str, &str, u64, &str)] = &[
    (
        "a.yaml",
        "stop:\n  - type: command\n    comand: \"true\"\n",
        "configuration",
        3,
        "did you mean `command`?",
    ),
    (
        "a.yaml",
        "stopp:\n  - type: command\n    command: \"true\"\n",
        "configuration",
        1,
        "did you mean `stop`?",
    ),
    (
        "a.yaml",
        "turn_start:\n  - type: builtin\n    command: add_dat\n",
        "configuration",
        3,
        "`add_date`",
    ),
    (
        "a.yaml",
        "pre_tool_use:\n  - matcher: 'a('\n    hooks:\n      - {type: command, command: 'true'}\n",
        "configuration",
        2,
        "no regular expression",
    ),
    ("a.yaml", "stop: [", "configuration", 1, ""),
    (
        "config.yaml",
        "settings:\n  permissions:\n    deny:\n      - 'shell:comand=x'\n",
        "configuration",
        4,
        "the rule `shell:comand=x`",
    ),
    (
        "agent.yaml",
        "agents:\n  root:\n    model: openai/x\n    instruktion: hi\n",
        "configuration",
        4,
        "did you mean `instruction`?",
    ),
    (
        "agent.yaml",
        "agents:\n  root:\n    model: openai/x\n    hooks:\n      stop:\n        - type: command\n          \
         command: |\n            cat\n            no-such-program-7 x\n",
        "missing_program",
        9,
        "`no-such-program-7` is not on this machine",
    ),
    (
        "agent.yaml",
        "agents:\n  root:\n    model: openai/x\n    toolsets: [{type: shell}]\n    hooks:\n      pre_tool_use:\n        \
         - matcher: shell|edit_fil\n          hooks:\n            - {type: command, command: 'true'}\n",
        "unknown_tool",
        7,
        "no tool has a name like `edit_fil`",
    ),
    (
        "a.yaml",
        "turn_end:\n  - type: command\n    command: |\n      cat > /dev/null\n      echo '{\"decision\": \"block\"}'\n",
        "meaningless_field",
        5,
        "`decision` means nothing in an answer to turn_end",
    ),
    (
        "a.yaml",
        "session_start:\n  type: command\n  command: echo '{\"hookSpecificOutput\":{\"updatedInput\":{}}}'\n",
        "meaningless_field",
        3,
        "`updated_input` means nothing in an answer to session_start",
    ),
    (
        "a.yaml",
        "tool_guard:\n  - hooks:\n      - type: command\n        command: 'true'\n        on_error: ignore\n",
        "fixed_guard",
        5,
        "cannot loosen a guard",
    ),
    (
        "a.yaml",
        "pre_tool_use:\n  - hooks:\n      - on_error: warn\n        type: command\n        command: 'true'\n",
        "fixed_guard",
        3,
        "that fails refuses the call",
    ),
    (
        "h.toml",
        "[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n",
        "configuration",
        2,
        "did you mean `pre_tool`?",
    ),
    (
        "h.toml",
        "\n[[hook]]\nevent = \"pre_tool\"\ncommand = [\"no-such-program-7\"]\n",
        "missing_program",
        4,
        "no-such-program-7",
    ),
    (
        "h.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = '''\nx=$(no-such-program-7 a)\n'''\n",
        "missing_program",
        4,
        "no-such-program-7",
    ),
    (
        "h.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\nshadow = true\n",
        "loosened_guard",
        4,
        "refuses nothing",
    ),
    (
        "h.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\non_failure = \"allow\"\n",
        "loosened_guard",
        4,
        "may fail open",
    ),
    (
        "becket.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncomand = \"x\"\n",
        "configuration",
        3,
        "`command`",
    ),
    (
        "config.toml",
        "[permissions]\ndeny = [\"shell:comand=x\"]\n",
        "configuration",
        2,
        "comand",
    ),
];

#[test]
fn each_mistake_is_found_where_it_stands() {
    for (name, text, kind, line, message) in MISTAKES {
        let room = room();
        room.write(name, text);
        let found = findings(&room, &[name], 1);
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        let finding = &found[0];
        let place = (
            finding["kind"].as_str(),
            finding["line"].as_u64(),
            finding["file"].as_str(),
        );
        assert_eq!(
            place,
            (Some(*kind), Some(*line), Some(*name)),
            "{text}: {finding:#}"
        );
        let told = format!("{}{}", finding["message"], finding["hint"]);
        assert!(told.contains(message), "{text}: {finding:#}");
        let run = room.run(["hooks", "check", name]).ended_with(1);
        assert!(run.stdout.starts_with(&format!("{name}:{line}: ")), "{run:#?}");
        assert!(run.stdout.ends_with(" file: 1 wrong\n"), "{run:#?}");
    }
}

#[test]
fn remarks_are_no_mistakes() {
    let matcher =
        "pre_tool_use:\n  - matcher: github_.*\n    hooks:\n      - {type: command, command: 'true'}\n";
    let indented: String = matcher.lines().map(|line| format!("      {line}\n")).collect();
    let agents = |toolset: &str| {
        format!("agents:\n  root:\n    model: openai/x\n    toolsets: [{toolset}]\n    hooks:\n{indented}")
    };
    let table = [
        ("a.yaml", matcher.to_owned(), 0, "unknown_tool"),
        ("b.yaml", agents("{type: mcp, command: x}"), 0, "unknown_tool"),
        ("c.yaml", agents("{type: shell}"), 1, "unknown_tool"),
        (
            "d.toml",
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = \"github_push\" }\ncommand = \"true\"\n"
                .to_owned(),
            0,
            "unknown_tool",
        ),
        (
            "e.yaml",
            "agents: {root: {model: openai/x}}\nskills: []\n".to_owned(),
            0,
            "no_effect",
        ),
    ];
    for (name, text, code, kind) in table {
        let room = room();
        room.write(name, &text);
        let found = findings(&room, &[name], code);
        assert_eq!(found.len(), 1, "{name}: {found:#?}");
        assert_eq!(found[0]["kind"], kind, "{name}");
        let severity = if code == 0 { "remark" } else { "wrong" };
        assert_eq!(found[0]["severity"], severity, "{name}");
    }
}

#[test]
fn programs_are_looked_for_where_the_hook_would() {
    let command = "stop:\n  type: command\n  command: 'jq -r .x | notify-send x'\n";
    let table = [
        ("", vec!["jq", "notify-send"], 0, vec![]),
        ("", vec!["jq"], 1, vec!["notify-send"]),
        ("", vec!["notify-send"], 0, vec!["jq"]),
        (
            "  env: {PATH: /nowhere}\n",
            vec!["jq", "notify-send"],
            1,
            vec!["jq", "notify-send"],
        ),
        (
            "  env: {PATH: '/nowhere:${env.PATH}'}\n",
            vec!["notify-send"],
            0,
            vec!["jq"],
        ),
    ];
    for (env, there, code, missing) in table {
        let room = room();
        let path = path_with(&room, &there);
        let room = room.with("PATH", &path);
        room.write("a.yaml", format!("{command}{env}"));
        let found = findings(&room, &["a.yaml"], code);
        assert_eq!(found.len(), missing.len(), "{found:#?}");
        for (finding, name) in found.iter().zip(missing) {
            assert!(
                finding["message"]
                    .as_str()
                    .unwrap()
                    .contains(&format!("`{name}`")),
                "{finding:#}"
            );
        }
        assert!(
            !room.home().join(".cache/becket").exists(),
            "a check makes nothing"
        );
    }
}

#[test]
fn without_a_path_everything_that_counts_is_checked_and_nothing_runs() {
    let room = room();
    let hook = "[[hook]]\nevent = \"pre_tool\"\ncommand = \"touch ran; no-such-program-7\"\n";
    let foreign =
        "pre_tool_use:\n  - hooks:\n      - type: command\n        command: touch ran; no-such-program-7\n";
    let indented: String = foreign.lines().map(|line| format!("    {line}\n")).collect();
    room.config(hook);
    room.write("given.toml", hook);
    room.write("becket.toml", hook);
    room.write(
        "../home/.config/cagent/config.yaml",
        format!("settings:\n  hooks:\n{indented}"),
    );
    room.write("../home/.config/cagent/hooks.d/a.yaml", foreign);
    room.write("../home/.config/becket/hooks.d/b.yml", foreign);
    let flags = [
        "--hooks",
        "given.toml",
        "--hook-stop",
        "touch ran; no-such-program-7",
    ];
    let found = findings(&room, &flags, 1);
    let files = found.iter().map(|finding| finding["file"].as_str().unwrap());
    let files: Vec<&str> = files.map(|file| file.rsplit('/').next().unwrap()).collect();
    let expected = [
        "config.toml",
        "given.toml",
        "becket.toml",
        "config.yaml",
        "a.yaml",
        "b.yml",
        "--hook-stop",
        // Once more: it is not trusted.
        "becket.toml",
    ];
    assert_eq!(files, expected);
    assert!(!room.has("ran"));
    // A file that ends every run does not hide what is wrong with the others.
    room.config("[[hook]]\nevent = \"pre_tol\"\ncommand = \"x\"\n");
    let found = findings(&room, &[], 1);
    assert_eq!(
        (found[0]["kind"].as_str(), found.len()),
        (Some("configuration"), 5),
        "{found:#?}"
    );
}

#[test]
fn what_cannot_be_read_ends_with_two() {
    let room = room();
    room.write("notes.txt", "hello");
    room.write("bytes.yaml", [0xff, 0xfe]);
    for (path, message) in [
        ("nowhere.yaml", "cannot read nowhere.yaml"),
        ("notes.txt", "cannot tell what notes.txt is"),
        ("bytes.yaml", "cannot read bytes.yaml"),
    ] {
        room.run(["hooks", "check", path])
            .ended_with(2)
            .complained(message);
    }
    room.run(["hooks", "check"])
        .ended_with(0)
        .said("0 hooks in 0 files: no problems found");
}

#[test]
fn a_rule_about_the_home_is_no_finding_in_a_file_that_is_named() {
    let room = room();
    room.write(
        "team.yaml",
        "agents:\n  root:\n    model: openai/gpt-4o\n    instruction: x\n\
         permissions:\n  deny:\n    - \"write_file:path=~/secret/*\"\n",
    );
    assert_eq!(findings(&room, &["team.yaml"], 0), Vec::<Value>::new());
}
