//! `becket hooks test`: hook tests as data, with faults and snapshots.

use serde_json::Value;
use testkit::{Finished, Room};

use crate::plugins::bash;
use crate::room;

/// A guard of each dialect beside a file of tests: the dialect, what the file says of its hooks, and how faults are
/// named that its own agent would have let through.
fn suites() -> Vec<(&'static str, Room, &'static str, &'static [&'static str])> {
    let own = room();
    own.write(
        "guard.toml",
        "[[hook]]\nname = \"no-rm\"\nevent = \"pre_tool\"\n\
         command = '''if grep -q 'rm -rf'; then echo 'rm is out' >&2; exit 2; fi'''\n",
    );
    let chibi = room();
    let body =
        "if grep -q 'rm -rf'; then echo '{\"block\":true,\"message\":\"rm is out\"}'; else echo '{}'; fi";
    chibi.script(
        "home/plugins/no-rm",
        &bash("no-rm", ",\"hooks\":[\"pre_tool\"]", body),
    );
    let docker = room();
    docker.write(
        "hooks.yaml",
        "pre_tool_use:\n  - matcher: shell\n    hooks:\n      - type: command\n        name: no-rm\n        \
         command: \"if grep -q 'rm -rf'; then echo 'rm is out' >&2; exit 2; fi\"\n",
    );
    let pi = room();
    pi.write(
        "no-rm.ts",
        "export default function (pi: any) {\n  pi.on('tool_call', async (event: any) => {\n    \
         if (event.input.command?.includes('rm -rf')) return { block: true, reason: 'rm is out' };\n  });\n}\n",
    );
    vec![
        ("becket", own, "hooks = [\"guard.toml\"]", &[]),
        (
            "chibi",
            chibi,
            "chibi_home = \"home\"",
            &["crash", "missing_command", "half_answer", "misspelt"],
        ),
        (
            "docker-agent",
            docker,
            "docker_agent = [\"hooks.yaml\"]",
            &["missing", "crash", "killed", "chatter"],
        ),
        ("pi", pi, "extensions = [\"no-rm.ts\"]", &["misspelt"]),
    ]
}

/// Files of other agents with a guard beside the project's folder, by the dialect and the file's name. The text stands
/// for a command that is found from wherever its system says.
const FOREIGN: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        ".claude/settings.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/no-rm.sh"}]}]}}"#,
    ),
    (
        "codex",
        ".codex/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "ROOM/no-rm.sh"}]}]}}"#,
    ),
    (
        "copilot",
        ".github/hooks/no-rm.json",
        r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "./no-rm.sh"}]}}"#,
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        r#"{"version": 1, "hooks": {"preToolUse": [{"command": "./no-rm.sh"}]}}"#,
    ),
    (
        "gemini",
        ".gemini/settings.json",
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "\"$GEMINI_PROJECT_DIR\"/no-rm.sh"}]}]}}"#,
    ),
];

#[test]
fn files_of_other_agents_are_tested_where_they_lie() {
    for (dialect, file, text) in FOREIGN {
        let room = room();
        room.script(
            "project/no-rm.sh",
            "#!/bin/sh\nif grep -q 'rm -rf'; then echo 'rm is out' >&2; exit 2; fi\n",
        );
        let project = room.work().join("project").display().to_string();
        room.write(&format!("project/{file}"), text.replace("ROOM", &project));
        let cases = CASES
            .replace("decided_by = [\"no-rm\"]\n", "")
            .replace("asked = [\"no-rm\"]\n", "");
        let suite = format!("foreign.{dialect} = [\"project/{file}\"]\n{cases}");
        room.write("all.hooktest.toml", &suite);
        let run = room.run(["hooks", "test", "all.hooktest.toml"]);
        assert!(run.stdout.contains("ok    rm is refused"), "{dialect}: {run:#?}");
        assert!(run.stdout.contains("ok    ls is not"), "{dialect}: {run:#?}");
        // So does a run, without trust.
        let model =
            room.model(&serde_json::json!([crate::hook_files::shell("rm -rf build"), {"text": "done"}]));
        let option = format!("--{dialect}-hooks");
        let run = room.run([
            "--yes",
            "--model",
            &model,
            &option,
            &format!("project/{file}"),
            "go",
        ]);
        assert!(run.stderr.contains("rm is out (hook "), "{dialect}: {run:#?}");
        room.run(["--model", &model, &option, "nowhere.json", "go"])
            .ended_with(2)
            .complained("there is no file");
    }
    let room = room();
    room.write(
        "all.hooktest.toml",
        format!("foreign.claude = [\"a.json\"]\n{CASES}"),
    );
    room.run(["hooks", "test", "all.hooktest.toml"])
        .complained("claude-hooks");
}

const CASES: &str = r#"
[[test]]
name = "rm is refused"
event = "pre_tool"
payload = { tool_name = "shell", arguments = { command = "rm -rf build" } }
[test.expect]
outcome = "deny"
reason = "rm is out"
decided_by = ["no-rm"]
asked = ["no-rm"]

[[test]]
name = "ls is not"
event = "pre_tool"
payload = { tool_name = "shell", arguments = { command = "ls" } }
[test.expect]
outcome = "none"
rewritten = { arguments = { command = "ls" } }
"#;

fn results(run: &Finished) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).expect("a line of JSON");
    run.stdout.lines().map(read).collect()
}

#[test]
fn tests_of_every_dialect_pass_and_say_what_is_wrong_when_they_do_not() {
    for (dialect, room, hooks, _) in suites() {
        room.write("guard.hooktest.toml", format!("{hooks}\n{CASES}"));
        let run = room.run(["hooks", "test", "guard.hooktest.toml"]).ended_with(0);
        assert!(run.stdout.contains("2 tests passed"), "{dialect}: {run:#?}");
        let wrong = CASES.replace("outcome = \"none\"", "outcome = \"deny\"");
        room.write("guard.hooktest.toml", format!("{hooks}\n{wrong}"));
        let run = room.run(["hooks", "test", "."]).ended_with(1);
        assert!(run.stdout.contains("FAIL  ls is not"), "{dialect}: {run:#?}");
        assert!(
            run.stdout.contains("outcome: expected deny, got none"),
            "{dialect}: {run:#?}"
        );
        assert!(
            run.stdout.contains("2 tests run, 1 failed"),
            "{dialect}: {run:#?}"
        );
    }
}

#[test]
fn a_guard_that_breaks_in_any_way_refuses_here_and_not_always_in_its_own_agent() {
    for (dialect, room, hooks, elsewhere) in suites() {
        room.write("guard.hooktest.toml", format!("{hooks}\n{CASES}"));
        let run = room
            .run(["hooks", "test", ".", "--faults", "--json"])
            .ended_with(0);
        let results = results(&run);
        let faults: Vec<&Value> = results
            .iter()
            .flat_map(|test| test["faults"].as_array().unwrap())
            .collect();
        assert!(faults.len() >= 8, "{dialect}: {run:#?}");
        for fault in &faults {
            // A format may say that an answer with other words is no answer; then it is none here, too.
            let is_answer = ["chatter", "misspelt"].iter().any(|name| fault["fault"] == *name);
            let is_silence = is_answer && !fault["let_through_elsewhere"].is_null();
            assert!(fault["refused"] == true || is_silence, "{dialect}: {fault:#}");
            assert_eq!(fault["guard"], "no-rm", "{dialect}");
        }
        for name in elsewhere {
            let open = |fault: &&&Value| fault["fault"] == *name && !fault["let_through_elsewhere"].is_null();
            assert!(
                faults.iter().find(open).is_some(),
                "{dialect} {name}: {faults:#?}"
            );
        }
        if elsewhere.is_empty() {
            assert!(
                faults
                    .iter()
                    .all(|fault| fault["let_through_elsewhere"].is_null())
            );
        }
    }
}

#[test]
fn files_exit_codes_replies_and_failures_are_looked_at() {
    let room = room();
    room.write(
        "hooks.toml",
        "[[hook]]\nname = \"log\"\nevent = \"turn_start\"\n\
         command = '''cat given > copy; echo '{\"context\":[\"hello\"]}' '''\n\
         [[hook]]\nname = \"broken\"\nevent = \"turn_end\"\ncommand = \"exit 3\"\n\
         [[hook]]\nname = \"safer\"\nevent = \"pre_tool\"\n\
         command = '''echo '{\"arguments\":{\"command\":\"ls -l\"}}' '''\n",
    );
    let cases = r#"
hooks = ["hooks.toml"]
[[test]]
name = "a file is copied"
event = "turn_start"
files = { given = "abc" }
[test.expect]
files = { copy = "abc", other = false, given = true }
reply = { context = ["hello"] }
exit_codes = [0]
[[test]]
name = "a failure"
event = "turn_end"
[test.expect]
failures = ["exit_status"]
exit_codes = [3]
[[test]]
name = "a rewrite"
event = "pre_tool"
payload = { tool_name = "shell", arguments = { command = "ls" } }
[test.expect]
rewritten = { arguments = { command = "ls -l" } }
"#;
    room.write("a.hooktest.toml", cases);
    room.run(["hooks", "test", "."])
        .ended_with(0)
        .said("3 tests passed");
    let wrong = [
        (
            "copy = \"abc\"",
            "copy = \"abd\"",
            "file copy: expected \"abd\", got \"abc\"",
        ),
        ("other = false", "other = true", "file other is not there"),
        (
            "exit_codes = [3]",
            "exit_codes = [4]",
            "exit codes: expected [4], got [3]",
        ),
        (
            "failures = [\"exit_status\"]",
            "failures = []",
            "failures: expected [], got hook broken",
        ),
        ("[\"hello\"]", "[\"hallo\"]", "reply's `context`: expected"),
        ("\"ls -l\" }", "\"ls -la\" }", "event's `arguments`: expected"),
    ];
    for (right, changed, told) in wrong {
        room.write("a.hooktest.toml", cases.replace(right, changed));
        room.run(["hooks", "test", "."]).ended_with(1).said(told);
    }
    let unexpected = cases.replace("failures = [\"exit_status\"]\n", "");
    room.write("a.hooktest.toml", unexpected);
    room.run(["hooks", "test", "."])
        .ended_with(1)
        .said("failures: expected []");
}

#[test]
fn a_whole_session_is_played_away_from_the_persons_own_hooks() {
    let room = room();
    room.config("[[hook]]\nevent = \"pre_tool\"\ncommand = \"echo 'the user says no' >&2; exit 2\"\n");
    room.write(
        "guard.toml",
        "[[hook]]\nname = \"no-rm\"\nevent = \"pre_tool\"\n\
         command = '''if grep -q 'rm '; then echo 'rm is out' >&2; exit 2; fi'''\n",
    );
    let suite = r#"
hooks = ["guard.toml"]
[[session]]
name = "the file is made and not removed"
prompt = "go"
yes = true
files = { precious = "x" }
model = [
    { tool_calls = [{ name = "shell", arguments = { command = "touch made" } }] },
    { tool_calls = [{ name = "shell", arguments = { command = "rm precious" } }] },
    { text = "all done" },
]
[session.expect]
exit_code = 0
answer = "all done"
told = "rm is out"
files = { precious = "x", made = true }
"#;
    room.write("s.hooktest.toml", suite);
    room.run(["hooks", "test", "."])
        .ended_with(0)
        .said("1 test passed");
    room.write("s.hooktest.toml", suite.replace("made = true", "made = false"));
    room.run(["hooks", "test", "."])
        .ended_with(1)
        .said("file made is there");
    room.write(
        "s.hooktest.toml",
        suite.replace("all done\"\ntold", "all gone\"\ntold"),
    );
    room.run(["hooks", "test", "."])
        .ended_with(1)
        .said("answer: expected `all gone`");
    let sessions = room.run(["sessions", "--json"]).ended_with(0);
    assert_eq!(sessions.stdout, "", "nothing of it is among the user's sessions");
}

#[test]
fn snapshots_are_written_when_asked_and_compared_otherwise() {
    let room = room();
    room.write(
        "hooks.toml",
        "[[hook]]\nevent = \"turn_start\"\ncommand = '''echo '{\"context\":[\"one\"]}' '''\n",
    );
    room.write(
        "a.hooktest.toml",
        "hooks = [\"hooks.toml\"]\n\
         [[test]]\nname = \"context\"\nevent = \"turn_start\"\nexpect = { snapshot = true }\n",
    );
    room.run(["hooks", "test", "."])
        .ended_with(1)
        .said("there is no snapshot of it yet");
    room.run(["hooks", "test", ".", "--update"]).ended_with(0);
    assert!(room.read("a.hooktest.snapshots.json").contains("one"));
    room.run(["hooks", "test", "."]).ended_with(0);
    room.write(
        "hooks.toml",
        "[[hook]]\nevent = \"turn_start\"\ncommand = '''echo '{\"context\":[\"two\"]}' '''\n",
    );
    room.run(["hooks", "test", "."])
        .ended_with(1)
        .said("the snapshot is");
}

#[test]
fn two_hundred_cases_share_one_warm_lane() {
    let room = room();
    room.write(
        "guard.ts",
        "let asked = 0;\nexport default function (pi: any) {\n  pi.on('tool_call', async () => {\n    \
         asked += 1;\n    return { block: true, reason: `asked ${asked}` };\n  });\n}\n",
    );
    let mut suite = "extensions = [\"guard.ts\"]\n".to_owned();
    for number in 1..=200 {
        suite.push_str(&format!(
            "[[test]]\nname = \"case {number}\"\nevent = \"pre_tool\"\npayload = {{ tool_name = \"shell\", \
             arguments = {{ command = \"ls {number}\" }} }}\n\
             expect = {{ outcome = \"deny\", reason = \"asked {number}\" }}\n"
        ));
    }
    room.write("many.hooktest.toml", suite);
    room.run(["hooks", "test", "."])
        .ended_with(0)
        .said("200 tests passed");
}

#[test]
fn the_tests_beside_the_examples_pass_with_faults() {
    let file = crate::repository_file("examples/examples.hooktest.toml");
    let run = room().run(["hooks", "test", "--faults", &file]).ended_with(0);
    assert!(run.stdout.contains("5 tests passed"), "{run:#?}");
    assert!(!run.stdout.contains("let through"), "{run:#?}");
}

#[test]
fn mistakes_in_a_file_of_tests_are_named() {
    let room = room();
    room.run(["hooks", "test", "."])
        .ended_with(2)
        .complained("there are no tests here");
    for (text, complaint) in [
        ("[[test]]\nname = \"x\"\nevnt = \"pre_tool\"\n", "evnt"),
        (
            "hooks = [\"absent.toml\"]\n[[test]]\nname = \"x\"\nevent = \"pre_tool\"\n",
            "absent.toml",
        ),
        (
            "[[test]]\nname = \"x\"\nevent = \"pre_tool\"\n[[test]]\nname = \"x\"\nevent = \"pre_tool\"\n",
            "a.hooktest.toml: two tests are called `x`",
        ),
        ("hooks = []\n", "a.hooktest.toml: there is no [[test]]"),
    ] {
        room.write("a.hooktest.toml", text);
        room.run(["hooks", "test", "."])
            .ended_with(2)
            .complained(complaint);
    }
}

#[test]
fn a_mistake_in_one_test_is_that_test_s() {
    let room = room();
    room.write(
        "mixed.hooktest.toml",
        "[[test]]\nname = \"wrong event\"\nevent = \"pre_tol\"\n\
         [[test]]\nname = \"wrong field\"\nevent = \"pre_tool\"\npayload = { tol_name = \"x\" }\n\
         [[test]]\nname = \"outside\"\nevent = \"pre_tool\"\nfiles = { \"../x\" = \"y\" }\n\
         [[test]]\nname = \"right\"\nevent = \"pre_tool\"\n",
    );
    room.run(["hooks", "test", "mixed.hooktest.toml"])
        .ended_with(1)
        .said("FAIL  wrong event  (mixed.hooktest.toml)\n      there is no event `pre_tol`; did you mean `pre_tool`?")
        .said("FAIL  wrong field")
        .said("did you mean `tool_name`?")
        .said("FAIL  outside")
        .said("is not in its folder")
        .said("ok    right")
        .said("4 tests run, 3 failed");
}

#[test]
fn snapshots_of_tests_that_are_gone_are_gone_too() {
    let room = room();
    let case = |name: &str| {
        format!("[[test]]\nname = \"{name}\"\nevent = \"pre_tool\"\nexpect = {{ snapshot = true }}\n")
    };
    let update = || {
        let words = ["hooks", "test", "a.hooktest.toml", "--update"];
        room.run(words).ended_with(0);
        room.read("a.hooktest.snapshots.json")
    };
    room.write("a.hooktest.toml", case("one") + &case("two"));
    assert!(update().contains("\"one\""));
    room.write("a.hooktest.toml", case("two"));
    let kept = update();
    assert!(!kept.contains("\"one\"") && kept.contains("\"two\""), "{kept}");
}

#[test]
fn a_guard_that_may_fail_open_is_broken_too_and_called_so() {
    let room = room();
    room.write(
        "loose.toml",
        "[[hook]]\nname = \"loose\"\nevent = \"pre_tool\"\ncommand = \"exit 2\"\non_failure = \"allow\"\n",
    );
    room.write(
        "loose.hooktest.toml",
        "hooks = [\"loose.toml\"]\n[[test]]\nname = \"no\"\nevent = \"pre_tool\"\nexpect = { outcome = \"deny\" }\n",
    );
    room.run(["hooks", "test", "--faults", "loose.hooktest.toml"])
        .ended_with(0)
        .said("loose when it ends with exit code 1: let through; its `on_failure` is allow");
    room.run(["hooks", "list", "--hooks", "loose.toml"])
        .ended_with(0)
        .said("guard that may fail open");
    let listed = room.run(["hooks", "list", "--json", "--hooks", "loose.toml"]);
    assert_eq!(results(&listed)[0]["fails_open"], true, "{listed:#?}");
}

#[test]
fn an_agent_file_of_the_command_line_counts_in_no_suite() {
    let room = room();
    let agent = "version: \"2\"\nagents:\n  root:\n    model: openai/gpt\n    hooks:\n      pre_tool_use:\n        \
                 - hooks:\n            - type: command\n              command: exit 2\n";
    room.write("agent.yaml", agent);
    room.write(
        "own.toml",
        "[[hook]]\nevent = \"session_end\"\ncommand = [\"true\"]\n",
    );
    room.write(
        "mine.hooktest.toml",
        "hooks = [\"own.toml\"]\n[[test]]\nname = \"free\"\nevent = \"pre_tool\"\nexpect = { outcome = \"none\" }\n",
    );
    room.run([
        "hooks",
        "--agent-file",
        "agent.yaml",
        "test",
        "mine.hooktest.toml",
    ])
    .ended_with(0);
}

#[test]
fn a_new_hook_of_every_kind_and_language_is_checked_and_its_test_passes() {
    for kind in ["guard", "transform", "observe"] {
        for lang in ["toml", "bash", "python", "ts", "scheme", "claude"] {
            if lang == "python" && !testkit::needs("python3") {
                continue;
            }
            let room = room();
            let run = room
                .run(["hooks", "new", kind, "mine", "--lang", lang])
                .ended_with(0);
            let passed = run.stdout.contains(" passed in ") && !run.stdout.contains("FAIL");
            assert!(passed, "{kind} {lang}: {run:#?}");
            assert!(
                run.stdout.contains("wrote mine.hooktest.toml"),
                "{kind} {lang}: {run:#?}"
            );
            if lang != "scheme" {
                assert!(
                    run.stdout.contains("no problems found"),
                    "{kind} {lang}: {run:#?}"
                );
            }
            assert!(run.stdout.contains("\nto use it: "), "{kind} {lang}: {run:#?}");
            let again = room
                .run(["hooks", "new", kind, "mine", "--lang", lang])
                .ended_with(2);
            again
                .complained("exists already")
                .complained("nothing was written");
        }
    }
    let room = room();
    room.write(
        ".claude/settings.json",
        r#"{"model": "x", "hooks": {"PreToolUse": [{"hooks": []}]}}"#,
    );
    room.run(["hooks", "new", "guard", "added", "--lang", "claude"])
        .ended_with(0)
        .said("added the hook to .claude/settings.json");
    let settings: Value = serde_json::from_str(&room.read(".claude/settings.json")).expect("JSON");
    assert_eq!(settings["model"], "x", "{settings}");
    assert_eq!(
        settings["hooks"]["PreToolUse"].as_array().map(Vec::len),
        Some(2),
        "{settings}"
    );
    room.write(".claude/settings.json", r#"{"hooks": []}"#);
    room.run(["hooks", "new", "guard", "other", "--lang", "claude"])
        .ended_with(2)
        .complained("add this entry by hand");
    // No run would start beside a file that may hold guards and cannot be read.
    std::fs::remove_file(room.work().join(".claude/settings.json")).expect("it is there");
    room.run(["hooks", "new", "guard", "schemed", "--lang", "scheme"])
        .ended_with(0);
    let examined = room.run(["doctor", "--chibi-home", "schemed-home"]);
    assert!(!examined.stdout.contains("wrong plugin"), "{examined:#?}");
    room.run(["hooks", "new", "guard", "../out"])
        .ended_with(2)
        .complained("../out");
    room.run(["hooks", "new", "guard"])
        .ended_with(0)
        .said("wrote no-rm.toml");
    room.run(["--hooks", "no-rm.toml", "Run: rm -rf build"])
        .ended_with(0)
        .complained("rm -rf is not allowed here");
}
