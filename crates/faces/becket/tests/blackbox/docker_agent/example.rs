//! `examples/docker-agent/hooks.yaml`: its prompts end as its first lines say, and each of its events leaves a line.

use becket_docker_agent::contracts;
use serde_json::{Value, json};

use crate::limit::with_person;
use crate::{repository_file, room};

fn example() -> String {
    repository_file("examples/docker-agent/hooks.yaml")
}

#[test]
fn its_prompts_end_as_it_says() {
    let room = room();
    room.write("notes.txt", "");
    let run = |prompt: &str| {
        room.run(["run", &example(), prompt, "--model", "rehearsal"])
            .ended_with(0)
    };
    run("Run: echo hello").said("Run `echo hello`: done.\nhello");
    run("Run: rm -rf /tmp/test").complained("refused shell: rm -rf /tmp/test is not run here");
    run("Run: sudo apt update").complained("refused shell: sudo apt update is not run here");
    let listed = run("List files in current dir");
    assert!(listed.stderr.contains("shell ls -h"), "{listed:?}");
    assert!(listed.stdout.contains("notes.txt"), "{listed:?}");
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

/// One session in which everything happens: a task for another agent, commands, a file, a summary, the limit and a
/// user who lets it go on, an end that a hook does not accept, and a model that fails.
#[test]
fn each_event_leaves_a_line_in_its_log() {
    let room = room();
    room.config("[compaction]\ncontext_window = 100000\n");
    let echo = |word: &str| call("shell", &json!({"cmd": format!("echo {word}")}));
    let task = json!({"agent": "scribe", "task": "Note it.", "expected_output": "a note"});
    let mut full = call("write_file", &json!({"path": "notes.txt", "content": "x"}));
    full["usage"] = json!({"input_tokens": 90_000, "output_tokens": 10});
    let model = room.model(&json!([
        call("transfer_task", &task),
        {"text": "noted"},
        echo("hello"),
        full,
        {"text": "a summary"},
        call("shell", &json!({"cmd": "ls"})),
        echo("1"), echo("2"), echo("3"), echo("4"),
        {"text": "done"},
        {"error": {"kind": "rejected", "message": "the model is gone"}},
    ]));
    let again =
        r#"if grep -q '"agent_name":"root"'; then echo '{"decision":"block","reason":"once more"}'; fi"#;
    let arguments = ["run", &example(), "go", "--model", &model, "--hook-stop", again];
    let Some(run) = with_person(&room, &arguments) else {
        return;
    };
    let run = run.ended_with(3);
    let silent: Vec<&str> = contracts()
        .iter()
        .map(|contract| contract.name)
        .filter(|event| !event.starts_with("user_steering") && !event.starts_with("user_followup"))
        .filter(|event| {
            let log = format!("hook-logs/{event}.log");
            !room.has(&log) || room.read(&log).trim().is_empty()
        })
        .collect();
    assert_eq!(silent, Vec::<&str>::new(), "{run:?}");
}
