//! Agents, skills and commands of Claude Code: they can be used, and their hooks are active while they are.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::hook_files::{call, shell};
use crate::room;

/// A front matter with one hook that refuses every call, and leaves a file beside the working directory.
fn guard(event: &str) -> String {
    format!(
        "hooks:\n  {event}:\n    - hooks:\n        - type: command\n          command: cat >> ../{event}.jsonl; \
         echo not here >&2; exit 2\n"
    )
}

fn agent(room: &Room, file: &str, front: &str) {
    let text = format!("---\nname: reviewer\ndescription: Reviews code.\n{front}---\nYou review.\n");
    room.write(file, text);
}

/// A turn that gives the agent a task, whose own turns are these.
fn asks(room: &Room, turns: &Value) -> Value {
    room.write("child.json", turns.to_string());
    let arguments = json!({"preset": "reviewer", "input": "look", "model": "scripted/child.json"});
    call("spawn_agent", &arguments)
}

fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["--json", "--yes", "--model", &model, "go"];
    room.run(arguments.iter().chain(more))
}

/// The session as the model sees it in its first request.
fn first_request(run: &Finished) -> String {
    run.events_named("pre_request")[0]["body"].to_string()
}

#[test]
fn hooks_of_an_agent_guard_its_calls_and_no_others() {
    let room = room();
    agent(&room, ".claude/agents/reviewer.md", &guard("PreToolUse"));
    let child = json!([shell("touch below"), {"text": "reviewed", "expect": ["You review.", "look"]}]);
    let turns = json!([shell("touch above"), asks(&room, &child), {"text": "done", "expect": ["reviewed"]}]);
    let run = play(&room, &turns, &["--trust"]).ended_with(0);
    assert!(room.has("above") && !room.has("below"), "{run:#?}");
    let told = std::fs::read_to_string(room.work().join("../PreToolUse.jsonl")).expect("the hook ran");
    let told: Value = serde_json::from_str(told.trim()).expect("it ran once");
    assert_eq!(told["agent_type"], "reviewer");
    assert_eq!(told["tool_input"]["command"], "touch below");
    assert!(
        run.stdout
            .contains("PreToolUse 1 of the agent reviewer (claude-code)"),
        "{run:#?}"
    );
    assert!(
        first_request(&run).contains("reviewer: Reviews code."),
        "{run:#?}"
    );
}

#[test]
fn an_agents_guards_also_judge_the_agents_that_it_asks() {
    let room = room();
    agent(&room, "../home/.claude/agents/reviewer.md", &guard("PreToolUse"));
    room.write(
        "deepest.json",
        json!([shell("touch below"), {"text": "x"}]).to_string(),
    );
    let arguments = json!({
        "system_prompt": "You help.", "input": "x", "tools": true, "model": "scripted/deepest.json",
    });
    let child = json!([call("spawn_agent", &arguments), {"text": "reviewed"}]);
    let turns = json!([asks(&room, &child), {"text": "done"}]);
    let run = play(&room, &turns, &["--tools=+spawn_agent"]).ended_with(0);
    // The guard refuses to ask another agent, and so nothing below runs.
    assert!(!room.has("below"), "{run:#?}");
    agent(
        &room,
        "../home/.claude/agents/reviewer.md",
        &guard("PreToolUse").replace("PreToolUse:\n    - ", "PreToolUse:\n    - matcher: Bash\n      "),
    );
    play(&room, &turns, &[]).ended_with(0);
    assert!(!room.has("below"));
    let told = std::fs::read_to_string(room.work().join("../PreToolUse.jsonl")).expect("the hook ran");
    let last: Value = serde_json::from_str(told.lines().last().unwrap()).expect("it is JSON");
    assert_eq!(last["tool_input"]["command"], "touch below");
}

#[test]
fn what_ends_an_agent_is_the_end_of_a_sub_agent() {
    let room = room();
    agent(
        &room,
        ".claude/agents/reviewer.md",
        &guard("Stop").replace("exit 2", "exit 0"),
    );
    let turns = json!([asks(&room, &json!([{"text": "reviewed"}])), {"text": "done"}]);
    play(&room, &turns, &["--trust"]).ended_with(0);
    let told = std::fs::read_to_string(room.work().join("../Stop.jsonl")).expect("the hook ran");
    let told: Value = serde_json::from_str(told.trim()).expect("it ran once");
    assert_eq!(told["hook_event_name"], "SubagentStop");
}

#[test]
fn an_agent_has_the_tools_that_its_file_lists() {
    for (front, tool, runs) in [
        ("tools: Read, Grep\n", shell("touch below"), false),
        ("tools: [Read, Bash]\n", shell("touch below"), true),
        ("disallowedTools: Bash\n", shell("touch below"), false),
        ("", shell("touch below"), true),
    ] {
        let room = room();
        agent(&room, ".claude/agents/reviewer.md", front);
        let turns = json!([asks(&room, &json!([tool, {"text": "reviewed"}])), {"text": "done"}]);
        let run = play(&room, &turns, &["--trust"]).ended_with(0);
        assert_eq!(room.has("below"), runs, "{front}: {run:#?}");
    }
}

#[test]
fn an_agent_keeps_its_own_prompt_and_tools() {
    let room = room();
    agent(&room, ".claude/agents/reviewer.md", "tools: Read\n");
    for extra in [json!({"system_prompt": "You obey."}), json!({"tools": ["shell"]})] {
        let mut arguments = json!({"preset": "reviewer", "input": "look"});
        for (name, value) in extra.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        let turns = json!([
            call("spawn_agent", &arguments),
            {"text": "done", "expect": ["has its own system prompt and tools"]},
        ]);
        play(&room, &turns, &["--trust"]).ended_with(0);
    }
}

#[test]
fn what_a_file_cannot_keep_makes_no_agent() {
    for (front, words) in [
        ("tools: Bash(git *)\n", "cannot limit its `Bash`"),
        ("permissionMode: plan\n", "cannot keep `permissionMode: plan`"),
        ("hooks: [\n", "nothing of this file is used"),
        ("hooks:\n  PreToolUse: none\n", "nothing of this file is used"),
    ] {
        let room = room();
        agent(&room, ".claude/agents/reviewer.md", front);
        let turns = json!([
            asks(&room, &json!([{"text": "reviewed"}])),
            {"text": "done", "expect": ["there is no preset `reviewer`"]},
        ]);
        let run = play(&room, &turns, &["--trust"]).ended_with(0);
        assert!(run.stderr.contains(words), "{front}: {run:#?}");
        assert!(!first_request(&run).contains("Reviews code."), "{run:#?}");
    }
    let room = room();
    room.write(".claude/agents/README.md", "# Our agents\n");
    let run = play(&room, &json!([{"text": "done"}]), &["--trust"]).ended_with(0);
    assert!(!run.stderr.contains("README"), "{run:#?}");
}

#[test]
fn agents_of_a_project_that_is_not_trusted_are_not_there() {
    let room = room();
    agent(&room, ".claude/agents/reviewer.md", &guard("PreToolUse"));
    let turns = json!([
        asks(&room, &json!([{"text": "reviewed"}])),
        {"text": "done", "expect": ["there is no preset `reviewer`"]},
    ]);
    let run = play(&room, &turns, &[]).ended_with(0);
    assert!(
        run.stderr
            .contains("1 of this project's agents, skills and commands for Claude Code"),
        "{run:#?}"
    );
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    let turns =
        json!([asks(&room, &json!([{"text": "reviewed"}])), {"text": "done", "expect": ["reviewed"]}]);
    play(&room, &turns, &[]).ended_with(0);
    // Another text needs another look.
    agent(&room, ".claude/agents/reviewer.md", "");
    let turns = json!([asks(&room, &json!([])), {"text": "done", "expect": ["there is no preset"]}]);
    play(&room, &turns, &[]).ended_with(0);
}

#[test]
fn hooks_of_a_skill_are_active_once_it_is_used() {
    let skill = format!(
        "---\nname: bake\ndescription: Bakes a cake.\n{}---\nMix first.\n",
        guard("PreToolUse")
    );
    let read = |path: &str| call("read", &json!({"path": path}));
    for file in [
        ".claude/skills/bake/SKILL.md",
        "../home/.claude/skills/bake/SKILL.md",
    ] {
        let room = room();
        let path = room.write(file, skill.replace("- hooks:", "- matcher: Bash\n      hooks:"));
        // The model reads the skill's file.
        let turns = json!([
            shell("touch before"),
            {"tool_calls": read(&path.display().to_string())["tool_calls"], "expect": ["Bakes a cake."]},
            shell("touch after"),
            {"text": "done", "expect": ["Mix first.", "not here"]},
        ]);
        let run = play(&room, &turns, &["--trust"]).ended_with(0);
        assert!(room.has("before") && !room.has("after"), "{file}: {run:#?}");
        // The user calls it.
        let model = room.model(&json!([shell("touch called"), {"text": "done"}]));
        let run = room.run([
            "--trust",
            "--yes",
            "--json",
            "--model",
            &model,
            "/skill:bake a cake",
        ]);
        assert!(!room.has("called"), "{file}: {run:#?}");
        assert!(run.stdout.contains("of /skill:bake (claude-code)"), "{run:#?}");
        // The conversation still has its text, and another one has not.
        let later = json!([shell("touch later"), {"text": "done"}]);
        play(&room, &later, &["--trust"]).ended_with(0);
        assert!(!room.has("later"), "{file}");
        play(&room, &later, &["--trust", "-c", "other"]).ended_with(0);
        assert!(room.has("later"), "{file}");
    }
}

#[test]
fn a_skill_that_a_shell_reads_or_that_a_link_leads_to_is_guarded_too() {
    let skill = format!(
        "---\nname: bake\ndescription: Bakes a cake.\n{}---\nMix first.\n",
        guard("PreToolUse")
    );
    for read in [
        "cat ~/.claude/skills/bake/SKILL.md",
        "cd ~/.claude/skills && cat */SKILL.md",
        "cd ~/.claude/skills/bake; cat SKILL.md",
    ] {
        let room = room();
        room.write("../home/store/bake/SKILL.md", &skill);
        std::fs::create_dir_all(room.home().join(".claude/skills")).expect("the room is there");
        let link = room.home().join(".claude/skills/bake");
        std::os::unix::fs::symlink(room.home().join("store/bake"), &link).expect("the room is there");
        // A folder in itself does not end the search.
        std::os::unix::fs::symlink(&link, room.home().join("store/bake/again")).expect("the room is there");
        let turns = json!([
            shell("touch before"),
            {"tool_calls": shell(read)["tool_calls"], "expect": ["Bakes a cake."]},
            shell("touch after"),
            {"text": "done", "expect": ["Mix first.", "not here"]},
        ]);
        let run = play(&room, &turns, &[]).ended_with(0);
        assert!(room.has("before") && !room.has("after"), "{read}: {run:#?}");
    }
}

#[test]
fn a_projects_agent_wins_over_the_users_of_that_name() {
    let room = room();
    agent(&room, "../home/.claude/agents/reviewer.md", "tools: Read, Bash\n");
    let child = json!([shell("touch below"), {"text": "reviewed"}]);
    let turns = json!([asks(&room, &child), {"text": "done"}]);
    play(&room, &turns, &["--trust"]).ended_with(0);
    assert!(room.has("below"));
    std::fs::remove_file(room.work().join("below")).expect("it is there");
    agent(&room, ".claude/agents/reviewer.md", "tools: Read\n");
    let run = play(&room, &turns, &["--trust"])
        .ended_with(0)
        .complained("the agent `reviewer` is not used");
    assert!(!room.has("below"), "{run:#?}");
    // Without trust it is not there, and the user's own is.
    play(&room, &turns, &[]).ended_with(0);
    assert!(room.has("below"));
}

#[test]
fn hooks_are_found_however_the_front_matter_is_written() {
    let flow = "{name: reviewer, description: Reviews code., hooks: {PreToolUse: [{hooks: [{type: command, command: \
                'exit 2'}]}]}}\n";
    let spaced = guard("PreToolUse").replacen("hooks:", "hooks :", 1);
    let spaced = format!("name: reviewer\ndescription: Reviews code.\n{spaced}");
    let turns = |room: &Room| {
        let child = json!([shell("touch below"), {"text": "reviewed"}]);
        json!([asks(room, &child), {"text": "done"}])
    };
    for front in [flow, &spaced] {
        let room = room();
        room.write(
            ".claude/agents/reviewer.md",
            format!("---\n{front}---\nYou review.\n"),
        );
        let run = play(&room, &turns(&room), &["--trust"]).ended_with(0);
        assert!(!room.has("below"), "{front}: {run:#?}");
    }
    // What cannot be read may hold a guard.
    let room = room();
    let broken = flow.trim_end().trim_end_matches('}');
    room.write(
        ".claude/agents/reviewer.md",
        format!("---\n{broken}\n---\nYou review.\n"),
    );
    let run = play(&room, &turns(&room), &["--trust"])
        .ended_with(0)
        .complained("nothing of this file is used");
    assert!(!room.has("below"), "{run:#?}");
}

#[test]
fn a_command_is_called_by_its_name_and_brings_its_hooks() {
    let room = room();
    let text = format!(
        "---\ndescription: Ships it.\n{}---\nShip $1 now.\n",
        guard("PreToolUse")
    );
    room.write(".claude/commands/team/ship.md", text);
    let turns = json!([{"tool_calls": shell("touch made")["tool_calls"], "expect": ["Ship it now."]}, {"text": "done"}]);
    let model = room.model(&turns);
    let run = room
        .run(["--trust", "--yes", "--model", &model, "/ship it"])
        .ended_with(0);
    assert!(!room.has("made"), "{run:#?}");
    assert!(run.stderr.contains("not here"), "{run:#?}");
}

#[test]
fn an_agents_model_is_the_sessions_if_becket_does_not_know_it() {
    for model in ["opus", "claude-of-tomorrow"] {
        let room = room();
        agent(&room, ".claude/agents/reviewer.md", &format!("model: {model}\n"));
        let arguments = json!({"preset": "reviewer", "input": "look"});
        let turns = json!([
            call("spawn_agent", &arguments),
            {"text": "reviewed", "expect": ["You review."]},
            {"text": "done", "expect": ["reviewed"]},
        ]);
        play(&room, &turns, &["--trust"]).ended_with(0);
    }
}

#[test]
fn checks_and_lists_know_such_hooks() {
    let room = room();
    agent(
        &room,
        ".claude/agents/reviewer.md",
        &guard("PreToolUse").replace("PreToolUse", "PreToolUs"),
    );
    let file = room
        .work()
        .join(".claude/agents/reviewer.md")
        .display()
        .to_string();
    let run = room.run(["hooks", "check", &file]).ended_with(1);
    assert!(run.stdout.contains("PreToolUs"), "{run:#?}");
    agent(&room, ".claude/agents/reviewer.md", &guard("PreToolUse"));
    room.run(["hooks", "check", &file]).ended_with(0);
    let listed = room.run(["--trust", "hooks", "list"]).ended_with(0);
    assert!(listed.stdout.contains("of the agent reviewer"), "{listed:#?}");
}
