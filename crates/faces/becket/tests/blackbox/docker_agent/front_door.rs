//! `becket docker-agent run …`: docker-agent's own command line.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use super::{agent, answers, call, heard, says, shell, stage, with_agent, with_hooks};

/// Runs the file by docker-agent's command line, with a script in the place of every model.
fn play(room: &Room, turns: &Value, more: &[&str]) -> Finished {
    let model = room.model(turns);
    let arguments = ["docker-agent", "run", "agent.yaml", "go", "--model", &model];
    room.run(arguments.iter().chain(more))
}

#[test]
fn a_message_is_answered_in_a_new_conversation_each_time() {
    let room = with_hooks(&[("session_start", "")]);
    for _ in 0..2 {
        play(&room, &json!([says("an answer", &[])]), &["--exec"])
            .ended_with(0)
            .said("an answer\n");
    }
    let sources: Vec<Value> = heard(&room, "session_start")
        .iter()
        .map(|input| input["source"].clone())
        .collect();
    assert_eq!(sources, ["startup", "startup"]);
}

#[test]
fn without_a_model_it_fails_and_answers_nothing() {
    let room = with_hooks(&[]);
    let run = room.run(["docker-agent", "run", "--exec", "agent.yaml", "Run: echo x"]);
    let run = run.ended_with(1).complained("No model is connected");
    assert_eq!(run.stdout, "");
}

#[test]
fn yolo_answers_questions_and_keeps_guards() {
    let block = answers(&json!({"decision": "block", "reason": "not here"}));
    let deny = format!("case \"$IN\" in *forbidden*) {block} ;; esac");
    let room = with_hooks(&[("pre_tool_use", &deny)]);
    let turns = json!([shell("touch made"), shell("touch forbidden"), says("done", &[])]);
    play(&room, &turns, &["--yolo"]).ended_with(0);
    assert!(room.has("made") && !room.has("forbidden"));
}

#[test]
fn safety_agent_and_working_dir_are_heeded() {
    let file = json!({"agents": {
        "root": agent(&[], &json!({})),
        "other": agent(&[], &json!({"instruction": "I am the other."})),
    }});
    let room = stage(&file);
    room.write("deeper/b.txt", "words from below");
    let read = call("read_file", &json!({"path": "b.txt"}));
    let turns = json!([read, says("done", &["I am the other.", "words from below"])]);
    play(&room, &turns, &["-a", "other", "--working-dir", "deeper"]).ended_with(0);
    let turns = json!([
        call("read_file", &json!({"path": "a.txt"})),
        says("done", &["refused"])
    ]);
    play(&room, &turns, &["--safety", "strict"]).ended_with(0);
    let turns = json!([
        shell("touch made"),
        says("done", &["refuses what would need approval"])
    ]);
    play(&room, &turns, &["--safety=restricted", "--yolo"]).ended_with(0);
    assert!(!room.has("made"));
}

#[test]
fn hooks_of_a_config_dir_count() {
    let room = with_hooks(&[]);
    room.write(
        "conf/hooks.d/mine.yaml",
        "pre_tool_use: [{hooks: [{type: command, command: 'echo no >&2; exit 2'}]}]\n",
    );
    let turns = json!([shell("touch made"), says("done", &[])]);
    play(&room, &turns, &["--yolo", "--config-dir", "conf"]).ended_with(0);
    assert!(!room.has("made"));
    play(&room, &turns, &["--yolo"]).ended_with(0);
    assert!(room.has("made"));
}

#[test]
fn a_session_is_gone_on_with_by_its_id() {
    let room = with_hooks(&[("session_start", "")]);
    play(&room, &json!([says("one", &[])]), &[]).ended_with(0);
    let id = heard(&room, "session_start").remove(0)["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    play(&room, &json!([says("two", &["one"])]), &["--session", &id])
        .ended_with(0)
        .said("two");
}

#[test]
fn a_worktree_is_made_and_its_hooks_prepare_it() {
    if !needs("git") {
        return;
    }
    let create = format!(
        "IN=$(cat); printf '%s' \"$IN\" > seen.json; echo prepared; {}",
        "touch ready"
    );
    let hooks = json!({"worktree_create": [{"type": "command", "command": create}]});
    let room = with_agent(&[], &json!({"hooks": hooks}));
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "one",
        ],
    ] {
        assert!(
            Command::new("git")
                .args(arguments)
                .current_dir(room.work())
                .status()
                .unwrap()
                .success()
        );
    }
    let turns = json!([
        shell("cat seen.json; ls; touch mine"),
        says("done", &["worktree-try", "ready"])
    ]);
    play(&room, &turns, &["--yolo", "--worktree=try"])
        .ended_with(0)
        .complained("on the branch worktree-try")
        .complained("prepared");
    assert!(
        !room.has("mine") && !room.has("ready"),
        "the checkout is left alone"
    );
    let blocking = json!({"worktree_create": [{"type": "command", "command": "echo 'not now' >&2; exit 2"}]});
    let file = json!({"agents": {"root": agent(&[], &json!({"hooks": blocking}))}});
    room.write("agent.yaml", file.to_string());
    play(&room, &turns, &["--worktree=again"])
        .ended_with(1)
        .complained("not now");
    play(&room, &turns, &["--worktree=../x"])
        .ended_with(1)
        .complained("is no name of a worktree");
}

#[test]
fn what_becket_does_not_do_is_told_before_anything_is_done() {
    let room = with_hooks(&[]);
    for (arguments, words) in [
        (
            &["run", "agent.yaml", "--sandbox"][..],
            "becket starts no container; run it in one",
        ),
        (&["serve", "api", "agent.yaml"], "becket supports only `run`"),
        (&["run"], "name an agent file"),
        (
            &["run", "agent.yaml", "--nonsense"],
            "docker-agent has no option --nonsense",
        ),
    ] {
        let arguments = ["docker-agent"].iter().chain(arguments);
        room.run(arguments).ended_with(1).complained(words);
    }
    room.run(["docker-agent", "--help"]).ended_with(0).said("--yolo");
}

#[test]
fn a_mode_of_safety_without_an_agent_file_is_an_error() {
    let run = with_hooks(&[]).run(["--safety", "strict", "--model", "rehearsal", "Hi"]);
    run.ended_with(2).complained("`--safety` is for agent files");
}

#[test]
fn piped_text_is_read_only_for_a_hyphen() {
    let room = with_hooks(&[("user_prompt_submit", "")]);
    for message in ["go", "-"] {
        let model = room.model(&json!([says("one", &[])]));
        let words = ["docker-agent", "run", "agent.yaml", message, "--model", &model];
        room.run_with_input(words, "piped\n").ended_with(0);
    }
    let prompts: Vec<Value> = heard(&room, "user_prompt_submit")
        .iter()
        .map(|input| input["prompt"].clone())
        .collect();
    assert_eq!(prompts, ["go", "piped"]);
}

#[test]
fn several_messages_leave_the_project_s_conversation_alone() {
    let room = with_hooks(&[]);
    room.run(["-c", "mine", "--model", "rehearsal", "hello"])
        .ended_with(0);
    let model = room.model(&json!([says("one", &[]), says("two", &[])]));
    let words = [
        "docker-agent",
        "run",
        "agent.yaml",
        "first",
        "second",
        "--model",
        &model,
    ];
    room.run(words).ended_with(0);
    let contexts = room.run(["contexts"]).ended_with(0).stdout;
    let current = contexts.lines().find(|line| line.starts_with('*'));
    assert!(current.is_some_and(|line| line.contains("mine")), "{contexts}");
}

#[test]
fn its_earlier_name_and_its_version_are_understood() {
    let room = with_hooks(&[]);
    for program in ["docker-agent", "cagent"] {
        room.run([program, "version"]).ended_with(0).said("becket");
    }
}

#[test]
fn a_text_that_is_attached_is_part_of_the_message() {
    let room = with_hooks(&[]);
    let seen = ["a.txt", "words of a file"];
    play(&room, &json!([says("done", &seen)]), &["--attach", "a.txt"]).ended_with(0);
    let run = room.run(["docker-agent", "run", "agent.yaml", "--attach", "none.txt"]);
    run.ended_with(1).complained("--attach none.txt: ");
}

#[test]
fn a_dry_run_says_whether_the_file_runs_and_runs_nothing() {
    let room = with_hooks(&[("session_start", "")]);
    let run = room.run(["docker-agent", "run", "agent.yaml", "go", "--dry-run"]);
    run.ended_with(0).said("1 complete");
    assert!(!room.has("../session_start.jsonl"));
    room.write(
        "agent.yaml",
        "agents: {root: {model: a/b, allowed_commands: [ls]}}\n",
    );
    room.run(["docker-agent", "run", "agent.yaml", "--dry-run"])
        .ended_with(1);
}
