//! becket in a pipeline: exit codes, the summary of what was refused, and the workflow of the guide.

use serde_json::{Value, json};
use testkit::{Room, quoted};

use crate::{repository_file, room};

const GUARD: &str = "[[hook]]\nname = \"no-rm\"\nevent = \"pre_shell\"\n\
     command = '''if grep -q 'rm '; then echo 'rm is | out' >&2; exit 2; fi'''\n";

/// A run in which a hook refuses one call, and nobody can be asked about another.
fn refusing(room: &Room, more: &[&str]) -> testkit::Finished {
    let hooks = room.hooks(GUARD);
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm `x`"}}]},
        {"tool_calls": [{"name": "write", "arguments": {"path": "sub/a b.txt", "content": "hello"}}]},
        {"text": "done"},
    ]));
    let arguments = ["--hooks", &hooks, "--model", &model];
    room.run(arguments.iter().chain(more).chain(&["go"]))
}

#[test]
fn refused_calls_fail_a_run_that_says_so() {
    let room = room();
    refusing(&room, &[]).ended_with(0).said("done");
    let run = refusing(&room, &["--fail-on-refusal"]).ended_with(7).said("done");
    run.complained("2 calls were refused (--fail-on-refusal)");
    let model = room.model(&json!([{"text": "done"}]));
    room.run(["--fail-on-refusal", "--model", &model, "go"])
        .ended_with(0);
    room.run(["--fail-on-refusal", "models"])
        .ended_with(2)
        .complained("`--fail-on-refusal` is for prompts");
}

#[test]
fn a_refusal_fails_whichever_way_the_prompt_is_sent() {
    let room = room();
    for more in [&["--json"][..], &["--mode", "text"], &["--mode", "json"]] {
        refusing(&room, &[&["--fail-on-refusal"], more].concat()).ended_with(7);
    }
    // An extension's command that sends a prompt.
    let extension = "export default (pi: any) => pi.registerCommand('tidy', { handler: async (_: string, ctx: any) => \
                     { pi.sendUserMessage('go'); await ctx.waitForIdle(); } });";
    room.write("tidy.ts", extension);
    let hooks = room.hooks(GUARD);
    let script = json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm x"}}]},
        {"text": "done"},
    ]);
    let model = room.model(&script);
    let command = ["--hooks", &hooks, "--model", &model, "-e", "tidy.ts", "/tidy"];
    room.run(command).ended_with(0);
    room.run([&["--fail-on-refusal"], &command[..]].concat())
        .ended_with(7)
        .complained("1 call was refused ");
}

#[test]
fn a_refusal_fails_a_run_behind_the_front_door_of_another_program() {
    let room = room();
    room.write(
        "agent.yaml",
        "agents:\n  root: {instruction: Help., toolsets: [{type: shell}]}\n",
    );
    for (program, tool, argument) in [
        (&["pi", "-p"][..], "bash", "command"),
        (&["docker-agent", "run", "agent.yaml"], "shell", "cmd"),
        (&["chibi"], "shell_exec", "command"),
    ] {
        let model = room.model(&json!([
            {"tool_calls": [{"name": tool, "arguments": {argument: "touch made"}}]},
            {"text": "done"},
        ]));
        room.write(
            "../home/.config/becket/config.toml",
            format!("model = {model:?}\n[permissions]\ndeny = [\"shell:command=*touch*\"]\n"),
        );
        let words = match program {
            ["docker-agent", ..] => [program, &["go", "--model", &model]].concat(),
            _ => [program, &["go"]].concat(),
        };
        let run = room.run(&words).ended_with(0);
        assert!(!run.stderr.contains("--fail-on-refusal"), "{run:#?}");
        room.run([&["--fail-on-refusal"], &*words].concat())
            .ended_with(7)
            .complained("1 call was refused (--fail-on-refusal)");
    }
    let model = room.model(&json!([
        {"tool_calls": [{"name": "bash", "arguments": {"command": "touch made"}}]},
        {"text": "done"},
    ]));
    // pi's door also understands becket's long options.
    room.run(["pi", "--fail-on-refusal", "--model", &model, "-p", "go"])
        .ended_with(7);
    room.run(["--fail-on-refusal", "pi", "--list-models"])
        .ended_with(0);
}

#[test]
fn a_sub_agents_refusal_counts_too() {
    let room = crate::room_with_all_tools();
    let hooks = room.hooks(GUARD);
    let child = json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "rm x"}}]},
        {"text": "helped"},
    ]);
    room.write("child.json", child.to_string());
    let task =
        json!({"system_prompt": "You help.", "input": "x", "model": "scripted/child.json", "tools": true});
    let model = room.model(&json!([
        {"tool_calls": [{"name": "spawn_agent", "arguments": task}]},
        {"text": "done"},
    ]));
    room.run([
        "--yes",
        "--fail-on-refusal",
        "--hooks",
        &hooks,
        "--model",
        &model,
        "go",
    ])
    .ended_with(7)
    .complained("1 call was refused ");
}

#[test]
fn what_was_refused_is_a_table_in_markdown() {
    let room = room();
    room.run(["audit", "refused", "--format", "markdown"])
        .ended_with(0)
        .said("### becket: 0 calls refused");
    refusing(&room, &[]);
    let run = room
        .run(["audit", "refused", "--format", "markdown"])
        .ended_with(0);
    let rows: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("| 2"))
        .collect();
    assert_eq!(rows.len(), 2, "{}", run.stdout);
    assert!(
        rows[0].ends_with("| `shell` | `` rm `x` `` | `rm is \\| out` | `hook no-rm` |"),
        "{}",
        rows[0]
    );
}

#[test]
fn what_was_refused_is_sarif_for_code_hosts() {
    let room = room();
    let run = refusing(&room, &["--json"]);
    let session = run.events_named("session_start")[0]["session_id"].clone();
    let session = session.as_str().expect("a session has an id");
    let sarif = |session: &str| {
        let run = room
            .run(["audit", "refused", "--format", "sarif", "--session", session])
            .ended_with(0);
        let log: Value = serde_json::from_str(&run.stdout).expect("SARIF is JSON");
        assert_eq!(log["version"], "2.1.0");
        log["runs"][0].clone()
    };
    let run = sarif(session);
    let results = run["results"].as_array().expect("there are results");
    assert_eq!(results.len(), 2, "{run}");
    let place =
        |result: &Value| result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(
        (&results[0]["ruleId"], place(&results[0])),
        (&json!("hook-no-rm"), json!("."))
    );
    assert_eq!(
        (&results[0]["level"], place(&results[1])),
        (&json!("error"), json!("sub/a%20b.txt"))
    );
    let rules = run["tool"]["driver"]["rules"]
        .as_array()
        .expect("there are rules");
    assert_eq!(rules.len(), 2);
}

/// The lines that the workflow of the guide runs.
fn steps() -> Vec<String> {
    let guide = std::fs::read_to_string(repository_file("docs/guide/ci.md")).expect("the guide is there");
    let yaml = guide.split("```yaml\n").nth(1).expect("the guide has a workflow");
    let yaml = yaml.split("```").next().unwrap_or_default();
    let run = yaml.lines().map(|line| line.trim().trim_start_matches("run: "));
    run.filter(|line| line.starts_with("becket "))
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn the_workflow_of_the_guide_checks_and_tests_hooks_of_several_systems() {
    let room = room();
    room.write(
        "guard.sh",
        "#!/bin/sh\nif grep -q 'rm -rf'; then echo 'not that' >&2; exit 2; fi\n",
    );
    let claude = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "sh \"$CLAUDE_PROJECT_DIR\"/guard.sh"},
    ]}]}});
    room.write(".claude/settings.json", claude.to_string());
    let cursor = json!({"version": 1, "hooks": {"beforeShellExecution": [{"command": "sh guard.sh"}]}});
    room.write(".cursor/hooks.json", cursor.to_string());
    room.write(
        "guard.hooktest.toml",
        "foreign.claude-code = [\".claude/settings.json\"]\n\
         foreign.cursor = [\".cursor/hooks.json\"]\n\
         [[test]]\nname = \"rm -rf is refused\"\nevent = \"pre_tool\"\n\
         payload = { tool_name = \"shell\", arguments = { command = \"rm -rf build\" } }\n\
         expect = { outcome = \"deny\", reason = \"not that\" }\n",
    );
    let steps = steps();
    assert!(
        ["hooks check", "hooks test", "--fail-on-refusal", "audit refused"]
            .iter()
            .all(|word| steps.iter().any(|step| step.contains(word))),
        "{steps:?}"
    );
    let program = quoted(std::path::Path::new(env!("CARGO_BIN_EXE_becket")));
    for step in steps {
        let line = step
            .replace("$GITHUB_STEP_SUMMARY", "summary.md")
            .replace("--model anthropic/claude-sonnet-4-5", "--model rehearsal");
        let line = line.replacen("becket ", &format!("{program} "), 1);
        let run = testkit::finish(
            room.command_of(std::path::Path::new("sh"), ["-c", &line])
                .spawn()
                .expect("sh starts"),
        );
        run.ended_with(0);
    }
    assert!(room.read("summary.md").contains("### becket: 0 calls refused"));
    assert!(room.read("hooks.sarif").contains("\"2.1.0\""));
}

#[test]
fn the_guide_names_every_exit_code() {
    let read = |name: &str| std::fs::read_to_string(repository_file(name)).expect("the page is there");
    let (pages, guide) = (read("docs/cli.md"), read("docs/guide/ci.md"));
    let table = pages
        .split("## Exit codes")
        .nth(1)
        .expect("the page has the codes");
    let codes = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse::<u8>().ok());
    let codes: Vec<u8> = codes.collect();
    assert!(codes.contains(&7) && codes.len() > 9, "{codes:?}");
    let named = guide
        .split("## Exit codes")
        .nth(1)
        .expect("the guide has the codes");
    for code in codes {
        let is_named = |line: &str| {
            let cell = line.strip_prefix("| ").and_then(|rest| rest.split(" |").next());
            cell.is_some_and(|cell| cell.split(", ").any(|one| one == code.to_string()))
        };
        assert!(named.lines().any(is_named), "{code}");
    }
}
