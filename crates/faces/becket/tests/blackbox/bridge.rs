//! Other agents ask becket's hooks: what each of them is answered, in its own format, and that whatever goes wrong
//! refuses.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{Finished, Room, run_with_input};

use crate::room;

/// A guard in becket's own format, for each agent.
pub const GUARD: &str = "\
[[hook]]
event = \"pre_shell\"
name = \"no rm\"
command = '''case $(cat) in *'rm -rf'*) echo no rm here >&2; exit 2;; esac'''

[[hook]]
event = \"pre_file_write\"
name = \"no secrets\"
command = '''case $(cat) in *secret.txt*) echo not that file >&2; exit 2;; esac'''
";

/// What one agent calls things.
pub struct Host {
    pub system: &'static str,
    pub call: &'static str,
    /// The question about a command.
    pub shell: fn(&Room, &str) -> Value,
    /// The question about a file that is written.
    pub write: fn(&Room, &str) -> Value,
    /// Why the call is refused, if it is.
    pub refusal: fn(&Value) -> Option<String>,
    pub prompt: &'static str,
    /// Why the prompt is refused, if it is.
    pub prompt_refusal: fn(&Value) -> Option<String>,
    pub stop: &'static str,
    pub goes_on: fn(&Value) -> Option<String>,
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(ToOwned::to_owned)
}

fn snake(room: &Room, event: &str, name: &str, input: Value) -> Value {
    json!({"session_id": "s1", "cwd": room.work(), "hook_event_name": event, "tool_name": name, "tool_input": input,
        "tool_use_id": "call-1"})
}

fn claude_refusal(answer: &Value) -> Option<String> {
    (answer["hookSpecificOutput"]["permissionDecision"] == "deny")
        .then(|| text(answer, "/hookSpecificOutput/permissionDecisionReason"))?
}

fn block(answer: &Value) -> Option<String> {
    (answer["decision"] == "block").then(|| text(answer, "/reason"))?
}

fn deny(answer: &Value) -> Option<String> {
    (answer["decision"] == "deny").then(|| text(answer, "/reason"))?
}

pub const HOSTS: &[Host] = &[
    Host {
        system: "claude-code",
        call: "PreToolUse",
        shell: |room, command| {
            snake(
                room,
                "PreToolUse",
                "Bash",
                json!({"command": command, "description": "x"}),
            )
        },
        write: |room, path| {
            snake(
                room,
                "PreToolUse",
                "Write",
                json!({"file_path": path, "content": "x"}),
            )
        },
        refusal: claude_refusal,
        prompt: "UserPromptSubmit",
        prompt_refusal: block,
        stop: "Stop",
        goes_on: block,
    },
    Host {
        system: "codex",
        call: "PreToolUse",
        shell: |room, command| snake(room, "PreToolUse", "Bash", json!({"command": command})),
        write: |room, path| {
            let patch =
                format!("*** Begin Patch\n*** Add File: a\n+x\n*** Add File: {path}\n+x\n*** End Patch");
            snake(room, "PreToolUse", "apply_patch", json!({"command": patch}))
        },
        refusal: claude_refusal,
        prompt: "UserPromptSubmit",
        prompt_refusal: block,
        stop: "Stop",
        goes_on: block,
    },
    Host {
        system: "gemini",
        call: "BeforeTool",
        shell: |room, command| {
            snake(
                room,
                "BeforeTool",
                "run_shell_command",
                json!({"command": command}),
            )
        },
        write: |room, path| {
            snake(
                room,
                "BeforeTool",
                "write_file",
                json!({"file_path": path, "content": "x"}),
            )
        },
        refusal: deny,
        prompt: "BeforeAgent",
        prompt_refusal: deny,
        stop: "AfterAgent",
        goes_on: deny,
    },
    Host {
        system: "cursor",
        call: "preToolUse",
        shell: |room, command| snake(room, "preToolUse", "Shell", json!({"command": command})),
        write: |room, path| {
            snake(
                room,
                "preToolUse",
                "Write",
                json!({"file_path": path, "content": "x"}),
            )
        },
        refusal: |answer| (answer["permission"] == "deny").then(|| text(answer, "/agent_message"))?,
        prompt: "beforeSubmitPrompt",
        prompt_refusal: |answer| (answer["continue"] == false).then(|| text(answer, "/user_message"))?,
        stop: "stop",
        goes_on: |answer| text(answer, "/followup_message"),
    },
    Host {
        system: "copilot",
        call: "preToolUse",
        shell: |room, command| {
            let arguments = json!({"command": command}).to_string();
            json!({"sessionId": "s1", "timestamp": 1, "cwd": room.work(), "toolName": "bash", "toolArgs": arguments})
        },
        write: |room, path| {
            let arguments = json!({"path": path, "file_text": "x"});
            json!({"sessionId": "s1", "timestamp": 1, "cwd": room.work(), "toolName": "create", "toolArgs": arguments})
        },
        refusal: |answer| {
            (answer["permissionDecision"] == "deny").then(|| text(answer, "/permissionDecisionReason"))?
        },
        prompt: "userPromptSubmitted",
        // Copilot cannot refuse a prompt: the model is told.
        prompt_refusal: |answer| text(answer, "/additionalContext"),
        stop: "agentStop",
        goes_on: block,
    },
];

/// A room whose user has these hooks.
fn guarded(hooks: &str) -> Room {
    let room = room();
    room.config(hooks);
    room
}

fn ask(room: &Room, host: &Host, event: &str, question: &Value) -> Value {
    answered(room.run_with_input(["bridge", host.system, event], question.to_string()))
}

/// What was printed; an agent takes nothing for an empty object.
pub fn answered(run: Finished) -> Value {
    let run = run.ended_with(0);
    match run.stdout.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
    }
}

#[test]
fn a_guard_refuses_in_every_agent_and_says_nothing_about_the_rest() {
    let room = guarded(GUARD);
    for host in HOSTS {
        let name = host.system;
        let refused = ask(&room, host, host.call, &(host.shell)(&room, "rm -rf build"));
        let reason = (host.refusal)(&refused).unwrap_or_else(|| panic!("{name}: {refused}"));
        assert!(reason.contains("no rm here"), "{name}: {reason}");
        let refused = ask(&room, host, host.call, &(host.write)(&room, "secret.txt"));
        let reason = (host.refusal)(&refused).unwrap_or_else(|| panic!("{name}: {refused}"));
        assert!(reason.contains("not that file"), "{name}: {reason}");
        for harmless in [(host.shell)(&room, "ls"), (host.write)(&room, "notes.txt")] {
            let answer = ask(&room, host, host.call, &harmless);
            let nothing = [json!({}), json!({"permission": "allow"})];
            assert!(nothing.contains(&answer), "{name}: {answer}");
        }
    }
}

#[test]
fn rules_judge_the_calls_of_other_agents_too() {
    let room =
        guarded("[permissions]\ndeny = [\"shell:command=git push*\"]\nallow = [\"shell:command=ls\"]\n");
    for host in HOSTS {
        let refused = ask(&room, host, host.call, &(host.shell)(&room, "git push origin"));
        let reason = (host.refusal)(&refused).unwrap_or_else(|| panic!("{}: {refused}", host.system));
        assert!(reason.contains("git push*"), "{}: {reason}", host.system);
        assert!(!reason.contains("spelling"), "{reason}");
    }
    let host = &HOSTS[0];
    let allowed = ask(&room, host, host.call, &(host.shell)(&room, "ls"));
    assert_eq!(allowed["hookSpecificOutput"]["permissionDecision"], "allow");
}

#[test]
fn whatever_goes_wrong_refuses() {
    let broken = "[[hook]]\nevent = \"pre_tool\"\nname = \"broken\"\ncommand = \"./missing\"\n";
    let ill = "[permissions]\nnonsense = 1\n";
    for host in HOSTS {
        let name = host.system;
        let refused = |answer: Value| {
            assert!(
                (host.refusal)(&answer).is_some_and(|why| !why.is_empty()),
                "{name}: {answer}"
            );
        };
        let room = guarded(broken);
        refused(ask(&room, host, host.call, &(host.shell)(&room, "ls")));
        let room = guarded(ill);
        refused(ask(&room, host, host.call, &(host.shell)(&room, "ls")));
        let room = guarded(GUARD);
        for garbage in ["", "{", "[]", "null", "{}", "{\"session_id\": 1}"] {
            refused(answered(
                room.run_with_input(["bridge", name, host.call], garbage),
            ));
        }
        let mut elsewhere = (host.shell)(&room, "ls");
        elsewhere["cwd"] = "/no/such/folder".into();
        refused(ask(&room, host, host.call, &elsewhere));
        // What becket does not know is refused by the exit code, which the entry makes of any failure.
        for words in [[name, "NoSuchEvent"], ["no-such-agent", host.call]] {
            room.run_with_input(["bridge", words[0], words[1]], "{}")
                .ended_with(2);
        }
    }
}

#[test]
fn hooks_of_a_project_that_is_not_trusted_refuse() {
    for host in HOSTS {
        let room = room();
        room.write("becket.toml", GUARD);
        let question = (host.shell)(&room, "ls");
        let answer = ask(&room, host, host.call, &question);
        let reason = (host.refusal)(&answer).unwrap_or_else(|| panic!("{}: {answer}", host.system));
        assert!(reason.contains("hooks trust"), "{}: {reason}", host.system);
        room.run(["hooks", "trust", "--all"]).ended_with(0);
        let answer = ask(&room, host, host.call, &question);
        assert_eq!((host.refusal)(&answer), None, "{}: {answer}", host.system);
        let refused = ask(&room, host, host.call, &(host.shell)(&room, "rm -rf x"));
        assert!((host.refusal)(&refused).is_some(), "{}: {refused}", host.system);
    }
}

#[test]
fn prompts_are_refused_and_get_context() {
    let hooks = "[[hook]]\nevent = \"user_prompt\"\nname = \"words\"\ncommand = '''case $(cat) in *password*) echo no \
                 passwords >&2; exit 2;; *) printf '{\"context\": [\"be brief\"]}';; esac'''\n";
    let room = guarded(hooks);
    for host in HOSTS {
        let name = host.system;
        let prompt = |text: &str| {
            json!({"session_id": "s1", "sessionId": "s1", "cwd": room.work(), "hook_event_name": host.prompt,
                "prompt": text})
        };
        let refused = ask(&room, host, host.prompt, &prompt("my password is x"));
        let reason = (host.prompt_refusal)(&refused).unwrap_or_else(|| panic!("{name}: {refused}"));
        assert!(reason.contains("no passwords"), "{name}: {reason}");
        let answer = ask(&room, host, host.prompt, &prompt("hello")).to_string();
        assert!(
            answer.contains("be brief") && !answer.contains("no passwords"),
            "{name}: {answer}"
        );
    }
}

#[test]
fn arguments_are_rewritten_whole_and_in_the_agents_words() {
    let hooks = "[[hook]]\nevent = \"pre_tool\"\nname = \"safer\"\nmatch = { tool_name = \"shell\" }\ncommand = '''printf \
                 '{\"arguments\": {\"command\": \"echo safe\"}}' '''\n";
    let room = guarded(hooks);
    let rewritten = |host: &Host, event: &str, question: Value| ask(&room, host, event, &question);
    let question = |host: &Host| (host.shell)(&room, "echo unsafe");
    let claude = rewritten(&HOSTS[0], HOSTS[0].call, question(&HOSTS[0]));
    let input = &claude["hookSpecificOutput"]["updatedInput"];
    let expected = json!({"command": "echo safe", "description": "x"});
    assert_eq!(*input, expected, "{claude}");
    let codex = rewritten(&HOSTS[1], HOSTS[1].call, question(&HOSTS[1]));
    assert_eq!(codex["hookSpecificOutput"]["permissionDecision"], "allow");
    assert_eq!(
        codex["hookSpecificOutput"]["updatedInput"],
        json!({"command": "echo safe"})
    );
    let gemini = rewritten(&HOSTS[2], HOSTS[2].call, question(&HOSTS[2]));
    assert_eq!(
        gemini["hookSpecificOutput"]["tool_input"],
        json!({"command": "echo safe"})
    );
    let cursor = rewritten(&HOSTS[3], HOSTS[3].call, question(&HOSTS[3]));
    assert_eq!(cursor["updated_input"], json!({"command": "echo safe"}));
    // At its event for commands Cursor takes no other command, so the call is refused with it.
    let event = "beforeShellExecution";
    let question =
        json!({"conversation_id": "s1", "command": "echo unsafe", "workspace_roots": [room.work()]});
    let refused = ask(&room, &HOSTS[3], event, &question);
    assert!(
        (HOSTS[3].refusal)(&refused).is_some_and(|why| why.contains("echo safe")),
        "{refused}"
    );
    let copilot = rewritten(&HOSTS[4], HOSTS[4].call, (HOSTS[4].shell)(&room, "echo unsafe"));
    assert_eq!(copilot["modifiedArgs"], json!({"command": "echo safe"}));
}

#[test]
fn the_file_that_the_agent_writes_is_judged_and_no_other() {
    let room = guarded(GUARD);
    for host in HOSTS {
        let mut question = (host.write)(&room, "secret.txt");
        let arguments = if question.get("toolArgs").is_some() {
            "toolArgs"
        } else {
            "tool_input"
        };
        // becket's own names of arguments mean nothing to the agent.
        for (name, value) in [("path", "notes.txt"), ("file_path", "notes.txt")] {
            let members = question[arguments].as_object_mut().unwrap();
            members.entry(name).or_insert(value.into());
        }
        let answer = ask(&room, host, host.call, &question);
        assert!((host.refusal)(&answer).is_some(), "{}: {answer}", host.system);
    }
}

/// Guards of what is read and fetched.
const READING: &str = "\
[[hook]]
event = \"pre_file_read\"
name = \"no reading\"
command = '''case $(cat) in *secret.txt*) echo not that file >&2; exit 2;; esac'''

[[hook]]
event = \"pre_fetch\"
name = \"no net\"
command = '''echo no net >&2; exit 2'''
";

/// Calls that a guard refuses, by the number of the host.
fn forbidden_calls() -> Vec<(usize, &'static str, Value)> {
    let patch = |lines: &str| format!("*** Begin Patch\n{lines}\n*** End Patch");
    let hidden = patch("*** Delete File: a\n *** Add File: secret.txt\n+x");
    let several = patch("*** Update File: a\n@@\n-x\n+y\n*** Add File: secret.txt\n+x");
    let moved = patch("*** Update File: a\n*** Move to: secret.txt\n@@\n-x\n+y");
    let edit = json!({"file_path": "secret.txt", "old_string": "a", "new_string": "b"});
    vec![
        (0, "PowerShell", json!({"command": "rm -rf x"})),
        (
            0,
            "NotebookEdit",
            json!({"notebook_path": "secret.txt", "new_source": "x"}),
        ),
        (0, "NotebookRead", json!({"notebook_path": "secret.txt"})),
        (
            0,
            "MultiEdit",
            json!({"file_path": "secret.txt", "edits": [edit]}),
        ),
        (0, "Edit", edit.clone()),
        (0, "Read", json!({"file_path": "./x/../secret.txt"})),
        (0, "WebFetch", json!({"url": "http://127.0.0.1/", "prompt": "x"})),
        (1, "apply_patch", json!({"command": hidden})),
        (1, "apply_patch", json!({"command": several})),
        (1, "apply_patch", json!({"command": moved})),
        (1, "apply_patch", json!({"command": "*** Begin Patch"})),
        (1, "apply_patch", json!({"patch": several})),
        (1, "view_image", json!({"path": "secret.txt"})),
        (2, "read_many_files", json!({"include": ["a.txt", "secret.txt"]})),
        (
            2,
            "web_fetch",
            json!({"prompt": "see http://127.0.0.1/ and HTTPS://example.com/"}),
        ),
        (2, "replace", edit.clone()),
        (3, "WriteShellStdin", json!({"chars": "rm -rf /"})),
        (3, "Delete", json!({"file_path": "ok.txt", "path": "secret.txt"})),
        (3, "Edit", edit),
        (3, "WebFetch", json!({"url": "http://127.0.0.1/"})),
        (
            4,
            "apply_patch",
            json!({"patch": patch("*** Add File: a\n+x"), "input": several}),
        ),
        (4, "apply_patch", json!({"input": several})),
        (4, "write_bash", json!({"input": "rm -rf /"})),
        (
            4,
            "str_replace_editor",
            json!({"command": "create", "path": "secret.txt", "file_text": "x"}),
        ),
        (4, "powershell", json!({"command": "rm -rf x"})),
    ]
}

#[test]
fn every_tool_that_runs_writes_or_reads_is_judged() {
    let room = guarded(&format!("{GUARD}\n{READING}"));
    for (number, name, arguments) in forbidden_calls() {
        let host = &HOSTS[number];
        let mut question = (host.shell)(&room, "ls");
        let is_copilot = host.system == "copilot";
        let (tool, input) = if is_copilot {
            ("toolName", "toolArgs")
        } else {
            ("tool_name", "tool_input")
        };
        question[tool] = name.into();
        question[input] = arguments.clone();
        let answer = ask(&room, host, host.call, &question);
        assert!(
            (host.refusal)(&answer).is_some(),
            "{} {name} {arguments}: {answer}",
            host.system
        );
    }
}

#[test]
fn a_command_of_the_model_does_not_leave_the_project() {
    let room = room();
    room.write("becket.toml", GUARD);
    room.run(["hooks", "trust", "--all"]).ended_with(0);
    let (elsewhere, project) = (room.home(), room.work());
    // Claude Code's directory follows the model's `cd`; its project does not.
    let room = room.with("CLAUDE_PROJECT_DIR", project.to_str().unwrap());
    let mut question = (HOSTS[0].shell)(&room, "rm -rf x");
    question["cwd"] = elsewhere.to_str().into();
    let answer = ask(&room, &HOSTS[0], HOSTS[0].call, &question);
    assert!((HOSTS[0].refusal)(&answer).is_some(), "{answer}");
    // Cursor's directory is an argument of the command.
    let question = json!({"conversation_id": "s1", "command": "rm -rf x", "cwd": elsewhere,
        "workspace_roots": [project]});
    let answer = ask(&room, &HOSTS[3], "beforeShellExecution", &question);
    assert!((HOSTS[3].refusal)(&answer).is_some(), "{answer}");
}

#[test]
fn a_result_that_cannot_be_judged_is_withheld() {
    let hooks = "[[hook]]\nevent = \"pre_tool_output\"\nname = \"broken\"\ncommand = \"./missing\"\n";
    for hooks in [hooks, "[permissions]\nnonsense = 1\n"] {
        let room = guarded(hooks);
        let mut claude = snake(&room, "PostToolUse", "Bash", json!({"command": "env"}));
        claude["tool_response"] = json!({"stdout": "SECRET", "stderr": "", "interrupted": false});
        let answer = ask(&room, &HOSTS[0], "PostToolUse", &claude);
        let output = answer["hookSpecificOutput"]["updatedToolOutput"].to_string();
        assert!(
            output.contains("stdout") && !output.contains("SECRET"),
            "{answer}"
        );
        let mut codex = snake(&room, "PostToolUse", "Bash", json!({"command": "env"}));
        codex["tool_response"] = "SECRET".into();
        assert!(block(&ask(&room, &HOSTS[1], "PostToolUse", &codex)).is_some());
        let mut gemini = snake(&room, "AfterTool", "run_shell_command", json!({"command": "env"}));
        gemini["tool_response"] = json!({"llmContent": "SECRET"});
        assert!(deny(&ask(&room, &HOSTS[2], "AfterTool", &gemini)).is_some());
    }
}

#[test]
fn guards_of_results_see_all_that_the_model_reads() {
    let hooks = "\
[[hook]]
event = \"pre_tool_output\"
name = \"mask\"
command = '''case $(cat) in *SECRET*) printf '{\"withheld\": \"hidden\"}';; esac'''
";
    let room = guarded(hooks);
    let claude = |name: &str, response: Value| {
        let mut question = snake(&room, "PostToolUse", name, json!({"command": "env"}));
        question["tool_response"] = response;
        ask(&room, &HOSTS[0], "PostToolUse", &question)
    };
    let list = claude("mcp__a__b", json!([{"type": "text", "text": "SECRET"}]));
    let masked = list["hookSpecificOutput"]["updatedMCPToolOutput"].to_string();
    assert!(masked.contains("text") && !masked.contains("SECRET"), "{list}");
    // Where more than the text may be read, the run ends.
    let odd = claude(
        "mcp__a__b",
        json!({"content": "ok", "structuredContent": {"x": "SECRET"}}),
    );
    assert_eq!(odd["continue"], false, "{odd}");
    let mut gemini = snake(&room, "AfterTool", "run_shell_command", json!({"command": "env"}));
    gemini["tool_response"] = json!({"llmContent": "ok", "error": {"message": "SECRET"}});
    assert!(deny(&ask(&room, &HOSTS[2], "AfterTool", &gemini)).is_some());
}

#[test]
fn calls_at_the_same_time_in_a_new_session_are_all_judged() {
    let room = guarded(GUARD);
    let host = &HOSTS[0];
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..12)
            .map(|number| {
                let command = if number % 2 == 0 { "ls" } else { "rm -rf x" };
                let question = (host.shell)(&room, command);
                let room = &room;
                scope.spawn(move || (number, ask(room, host, host.call, &question)))
            })
            .collect();
        for one in asked {
            let (number, answer) = one.join().unwrap();
            let reason = (host.refusal)(&answer);
            let expected = (number % 2 == 1).then(|| "no rm here".to_owned());
            assert_eq!(reason, expected, "{answer}");
        }
    });
}

#[test]
fn a_rewrite_keeps_what_becket_has_no_use_for() {
    let arguments = r#"{"arguments": {"path": "b", "edits": [{"old_text": "x", "new_text": "z"}]}}"#;
    let hooks = format!(
        "[[hook]]\nevent = \"pre_tool\"\nname = \"other file\"\ncommand = \"echo '{}'\"\n",
        arguments.replace('"', "\\\"")
    );
    let room = guarded(&hooks);
    let input = json!({"file_path": "a", "old_string": "x", "new_string": "y", "instruction": "why"});
    let answer = ask(
        &room,
        &HOSTS[2],
        HOSTS[2].call,
        &snake(&room, "BeforeTool", "replace", input),
    );
    let expected = json!({"file_path": "b", "old_string": "x", "new_string": "z", "instruction": "why"});
    assert_eq!(answer["hookSpecificOutput"]["tool_input"], expected, "{answer}");
}

#[test]
fn a_question_of_a_guard_is_asked_or_refused_but_never_lost() {
    let hooks = "[[hook]]\nevent = \"pre_tool\"\nname = \"careful\"\ncommand = '''printf '{\"verdict\": {\"ask\": \"really?\"}}' '''\n";
    let room = guarded(hooks);
    let answers: Vec<Value> = HOSTS
        .iter()
        .map(|host| ask(&room, host, host.call, &(host.shell)(&room, "ls")))
        .collect();
    assert_eq!(
        answers[0]["hookSpecificOutput"]["permissionDecision"], "ask",
        "{answers:?}"
    );
    assert_eq!(
        answers[1]["hookSpecificOutput"]["permissionDecision"], "deny",
        "{answers:?}"
    );
    assert_eq!(answers[2]["decision"], "ask", "{answers:?}");
    assert_eq!(answers[3]["permission"], "deny", "{answers:?}");
    assert_eq!(answers[4]["permissionDecision"], "ask", "{answers:?}");
    let question = json!({"conversation_id": "s1", "command": "ls", "workspace_roots": [room.work()]});
    let shell = ask(&room, &HOSTS[3], "beforeShellExecution", &question);
    assert_eq!(shell["permission"], "ask", "{shell}");
}

#[test]
fn results_are_replaced_where_the_agent_takes_another() {
    let hooks = "[[hook]]\nevent = \"pre_tool_output\"\nname = \"mask\"\ncommand = '''sed -n 's/.*key=abc.*/{\"content\": \
                 [{\"type\": \"text\", \"text\": \"key=***\"}]}/p' '''\n";
    let room = guarded(hooks);
    let mut claude = snake(&room, "PostToolUse", "Bash", json!({"command": "env"}));
    claude["tool_response"] = json!({"stdout": "key=abc", "stderr": "", "interrupted": false});
    let answer = ask(&room, &HOSTS[0], "PostToolUse", &claude);
    let output = &answer["hookSpecificOutput"]["updatedToolOutput"];
    assert_eq!(
        *output,
        json!({"stdout": "key=***", "stderr": "", "interrupted": false}),
        "{answer}"
    );
    // A result that has no place for text is not shown: the run ends.
    claude["tool_response"] = json!({"odd": ["key=abc"]});
    let answer = ask(&room, &HOSTS[0], "PostToolUse", &claude);
    assert_eq!(answer["continue"], false, "{answer}");
    let mut codex = snake(&room, "PostToolUse", "Bash", json!({"command": "env"}));
    codex["tool_response"] = "key=abc".into();
    let answer = ask(&room, &HOSTS[1], "PostToolUse", &codex);
    assert_eq!(answer, json!({"decision": "block", "reason": "key=***"}));
    let mut gemini = snake(&room, "AfterTool", "run_shell_command", json!({"command": "env"}));
    gemini["tool_response"] = json!({"llmContent": "key=abc", "returnDisplay": "key=abc"});
    assert_eq!(
        deny(&ask(&room, &HOSTS[2], "AfterTool", &gemini)).as_deref(),
        Some("key=***")
    );
    let mut copilot = (HOSTS[4].shell)(&room, "env");
    copilot["toolResult"] = json!({"resultType": "success", "textResultForLlm": "key=abc"});
    let answer = ask(&room, &HOSTS[4], "postToolUse", &copilot);
    assert_eq!(
        answer["modifiedResult"]["textResultForLlm"], "key=***",
        "{answer}"
    );
}

#[test]
fn a_hook_makes_every_agent_go_on() {
    let hooks = "[[hook]]\nevent = \"stop\"\nname = \"tests\"\ncommand = '''case $(cat) in *'\"continuations\":0'*) printf \
                 '{\"continue_with\": \"run the tests\"}';; esac'''\n";
    let room = guarded(hooks);
    for host in HOSTS {
        let stop = |active: bool| {
            json!({"session_id": "s1", "sessionId": "s1", "cwd": room.work(), "hook_event_name": host.stop,
                "prompt": "p", "stop_hook_active": active, "last_assistant_message": "done"})
        };
        let answer = ask(&room, host, host.stop, &stop(false));
        assert_eq!(
            (host.goes_on)(&answer).as_deref(),
            Some("run the tests"),
            "{}: {answer}",
            host.system
        );
        let answer = ask(&room, host, host.stop, &stop(true));
        assert_eq!((host.goes_on)(&answer), None, "{}: {answer}", host.system);
    }
}

#[test]
fn an_agent_runs_its_own_files_itself_and_becket_never_asks_itself() {
    let room = room();
    let settings = |command: &str| {
        let handler = json!({"type": "command", "command": command});
        json!({"hooks": {"PreToolUse": [{"hooks": [handler]}]}}).to_string()
    };
    room.write(
        "../home/.claude/settings.json",
        settings("echo from claude >&2; exit 2"),
    );
    room.write(
        "../home/.codex/hooks.json",
        settings("echo from codex >&2; exit 2"),
    );
    let refusal =
        |host: &Host| (host.refusal)(&ask(&room, host, host.call, &(host.shell)(&room, "ls"))).unwrap();
    assert!(refusal(&HOSTS[0]).contains("from codex"));
    assert!(refusal(&HOSTS[1]).contains("from claude"));
    // An entry of becket's is no hook for becket.
    let room = guarded(GUARD);
    room.run(["bridge", "install", "claude-code"]).ended_with(0);
    room.run(["bridge", "install", "codex"]).ended_with(0);
    let listed = room.run(["hooks", "list"]).ended_with(0);
    assert!(!listed.stdout.contains("claude-code"), "{}", listed.stdout);
    let answer = ask(&room, &HOSTS[0], HOSTS[0].call, &(HOSTS[0].shell)(&room, "ls"));
    assert_eq!(answer, json!({}));
}

#[test]
fn what_is_entered_is_taken_out_again_byte_for_byte() {
    for host in HOSTS {
        let name = host.system;
        let room = guarded(GUARD);
        let file = match name {
            "claude-code" => "../home/.claude/settings.json",
            "codex" => "../home/.codex/hooks.json",
            "gemini" => "../home/.gemini/settings.json",
            "cursor" => "../home/.cursor/hooks.json",
            _ => "../home/.copilot/hooks/becket.json",
        };
        let shown = room.run(["bridge", "install", name, "--dry-run"]).ended_with(0);
        assert!(shown.stdout.contains("becket-hook") && !room.has(file), "{name}");
        room.run(["bridge", "install", name]).ended_with(0);
        let entered = room.read(file);
        serde_json::from_str::<Value>(&entered).unwrap();
        room.run(["bridge", "install", name])
            .ended_with(0)
            .complained("stays as it is");
        assert_eq!(room.read(file), entered, "{name}");
        room.run(["bridge", "uninstall", name]).ended_with(0);
        assert!(!room.has(file), "{name}");
        let original = "{ \"version\": 1,\n    \"hooks\":{\"x\" : [ ]},   \"other\": [1,2 , 3]}";
        room.write(file, original);
        room.run(["bridge", "install", name]).ended_with(0);
        assert!(
            room.read(file).contains("\"other\": [1,2 , 3]"),
            "{name}: {}",
            room.read(file)
        );
        room.run(["bridge", "uninstall", name]).ended_with(0);
        assert_eq!(room.read(file), original, "{name}");
        assert!(!room.has(&format!("{file}.before-becket")), "{name}");
        // What somebody has changed since stays.
        room.run(["bridge", "install", name]).ended_with(0);
        let changed = room.read(file).replace("[1,2 , 3]", "[4]");
        room.write(file, &changed);
        room.run(["bridge", "uninstall", name]).ended_with(0);
        let left = room.read(file);
        assert!(
            left.contains("\"other\": [4]") && !left.contains("becket"),
            "{name}: {left}"
        );
        room.write(file, "{ not json");
        room.run(["bridge", "install", name]).ended_with(2);
        assert_eq!(room.read(file), "{ not json", "{name}");
    }
}

#[test]
fn a_program_of_another_name_finds_its_entries_again_or_enters_none() {
    let room = guarded(GUARD);
    for (name, is_entered) in [("becket-0.2", true), ("guardian", false)] {
        let program = room.write(&format!("../{name}"), "");
        std::fs::remove_file(&program).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_becket"), &program).unwrap();
        let run = |words: &[&str]| room.command_of(&program, words).output().unwrap();
        let entered = run(&["bridge", "install", "codex"]);
        assert_eq!(entered.status.success(), is_entered, "{name}: {entered:?}");
        assert_eq!(room.has("../home/.codex/hooks.json"), is_entered, "{name}");
        let status = run(&["bridge", "status"]);
        let told = String::from_utf8_lossy(&status.stdout).into_owned();
        assert_eq!(
            told.contains("Codex asks becket"),
            is_entered,
            "{name}: {status:?}"
        );
        run(&["bridge", "uninstall", "codex"]);
        assert!(!room.has("../home/.codex/hooks.json"), "{name}");
    }
}

#[test]
fn an_entry_refuses_when_becket_is_gone() {
    let room = guarded(GUARD);
    room.run(["bridge", "install", "claude-code"]).ended_with(0);
    let file: Value = serde_json::from_str(&room.read("../home/.claude/settings.json")).unwrap();
    let command = |event: &str| text(&file, &format!("/hooks/{event}/0/hooks/0/command")).unwrap();
    let gone = |event: &str| {
        let (_, arguments) = command(event)
            .split_once("becket-hook'")
            .map(|(a, b)| (a.len(), b.to_owned()))
            .unwrap();
        let alone = room.write("../alone/becket-hook", "");
        std::fs::remove_file(&alone).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_becket-hook"), &alone).unwrap();
        // The client is gone, or becket beside it.
        [alone.with_file_name("no-such-program"), alone].map(|program| {
            let line = format!("'{}'{arguments}", program.display());
            let shell = room.command_of(Path::new("/bin/sh"), ["-c", &line]);
            let run = run_with_input(shell, (HOSTS[0].shell)(&room, "ls").to_string());
            (run.code, run.stderr.is_empty())
        })
    };
    assert_eq!(gone("PreToolUse"), [(2, false); 2]);
    assert_eq!(gone("UserPromptSubmit"), [(2, false); 2]);
    assert_eq!(gone("Stop").map(|(code, _)| code), [0; 2]);
    let entered = room.read("../home/.claude/settings.json");
    let moved = entered.replace("becket-hook'", "elsewhere/becket-hook'");
    room.write("../home/.claude/settings.json", moved);
    let status = room.run(["bridge", "status"]).ended_with(0).stdout;
    assert!(
        status.contains("it would not run") && status.contains("is gone"),
        "{status}"
    );
}

#[test]
fn the_shadow_refuses_nothing_and_tells_what_it_would_have() {
    let room = guarded(GUARD);
    for host in HOSTS {
        for command in ["rm -rf a", "rm -rf b", "ls"] {
            let question = (host.shell)(&room, command).to_string();
            let run = room.run_with_input(["bridge", host.system, host.call, "--shadow"], question);
            assert_eq!((host.refusal)(&answered(run)), None, "{}", host.system);
        }
    }
    let report = room.run(["bridge", "report", "--since", "1h"]).ended_with(0);
    assert!(
        report.stdout.contains("10 × deny: no rm here"),
        "{}",
        report.stdout
    );
    assert!(report.stdout.contains("rm -rf b"), "{}", report.stdout);
    assert_eq!(
        room.run(["hooks", "report", "--since", "1h"]).stdout,
        report.stdout
    );
    room.run(["bridge", "report", "--since", "yesterday"])
        .ended_with(2);
}

#[test]
fn rules_in_the_shadow_neither_refuse_nor_allow() {
    let room = guarded(
        "[permissions]\ndeny = [\"shell:command=curl*\"]\nask = [\"shell:command=git push*\"]\n\
         allow = [\"shell:command=ls\"]\n",
    );
    let host = &HOSTS[0];
    for command in ["curl x", "git push", "ls"] {
        let question = (host.shell)(&room, command).to_string();
        let run = room.run_with_input(["bridge", host.system, host.call, "--shadow"], question);
        assert_eq!(answered(run), json!({}), "{command}");
    }
    let report = room.run(["bridge", "report", "--json"]).ended_with(0).stdout;
    let records = report
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: Vec<Value> = records
        .map(|record| json!([record["would"], record["subject"], record["context"]]))
        .collect();
    let expected = [
        json!(["deny", "Bash curl x", "claude-code"]),
        json!(["ask", "Bash git push", "claude-code"]),
    ];
    assert_eq!(told, expected, "{report}");
    let enforced = ask(&room, host, host.call, &(host.shell)(&room, "curl x"));
    assert!((host.refusal)(&enforced).is_some(), "{enforced}");
}

#[test]
fn rules_for_the_session_that_nothing_could_keep_refuse() {
    for (decision, behavior) in [("deny", "deny"), ("ask", "deny"), ("allow", "allow")] {
        let room = room();
        let rule = json!({"decision": decision, "rule": "shell"});
        let answer = room.write(
            "answer.json",
            json!({"verdict": "allow", "rules": [rule]}).to_string(),
        );
        let command = json!(["cat", answer]);
        room.config(&format!(
            "[[hook]]\nevent = \"permission_request\"\ncommand = {command}\n"
        ));
        let question = snake(&room, "PermissionRequest", "Bash", json!({"command": "ls"}));
        let answer = ask(&room, &HOSTS[0], "PermissionRequest", &question);
        let decided = &answer["hookSpecificOutput"]["decision"]["behavior"];
        assert_eq!(*decided, behavior, "{decision}: {answer}");
    }
}

#[test]
fn guards_of_sub_agents_are_asked_where_the_model_starts_one() {
    let hooks = "\
[[hook]]
event = \"pre_subagent\"
name = \"no helpers\"
command = '''case $(cat) in *secret*) echo no helpers for that >&2; exit 2;; esac'''
";
    let room = guarded(hooks);
    let tools = [
        ("claude-code", "Agent", "prompt"),
        ("codex", "spawn_agent", "message"),
        ("gemini", "invoke_agent", "prompt"),
    ];
    for (system, tool, argument) in tools {
        let host = HOSTS.iter().find(|host| host.system == system).unwrap();
        let question = |text: &str| snake(&room, host.call, tool, json!({argument: text}));
        let refused = ask(&room, host, host.call, &question("find the secret"));
        let reason = (host.refusal)(&refused);
        assert!(
            reason.is_some_and(|reason| reason.contains("no helpers for that")),
            "{system}: {refused}"
        );
        let free = ask(&room, host, host.call, &question("find the bug"));
        assert_eq!((host.refusal)(&free), None, "{system}");
    }
    room.run(["bridge", "install", "claude-code"]).ended_with(0);
    let status = room.run(["bridge", "status"]).ended_with(0).stdout;
    assert!(!status.contains("NOT ASKED"), "{status}");
}

#[test]
fn the_status_knows_whether_claude_code_trusts_the_project() {
    let room = guarded(GUARD);
    room.run(["bridge", "install", "claude-code", "--project"])
        .ended_with(0);
    let status = || room.run(["bridge", "status"]).stdout;
    assert!(
        !status().contains("not trusted in Claude Code"),
        "it was never started"
    );
    let state = |trusted: bool| json!({"projects": {room.work().to_str().unwrap(): {"hasTrustDialogAccepted": trusted}}});
    for trusted in [false, true] {
        room.write("../home/.claude.json", state(trusted).to_string());
        let status = status();
        assert_eq!(
            status.contains("not trusted in Claude Code"),
            !trusted,
            "{status}"
        );
    }
}

#[test]
fn the_status_reads_what_the_user_has_told_codex_and_asks_for_the_version() {
    let room = guarded(GUARD);
    let program = room.script("bin/codex", "#!/bin/sh\necho codex-cli 0.169.0\n");
    let folder = program.parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let room = room.with("PATH", &path);
    room.run(["bridge", "install", "codex"]).ended_with(0);
    let status = |room: &Room| room.run(["bridge", "status"]).ended_with(0).stdout;
    let first = status(&room);
    assert!(
        first.contains("11 of its entries are not trusted in Codex yet"),
        "{first}"
    );
    assert!(first.contains("version: 0.169.0\n"), "{first}");
    room.write("../home/.codex/config.toml", "[features]\nhooks = false\n");
    let off = status(&room);
    assert!(off.contains("would not run: hooks are off in"), "{off}");
}

#[test]
fn the_status_names_guards_that_cannot_be_asked() {
    let hooks =
        format!("{GUARD}\n[[hook]]\nevent = \"pre_request\"\nname = \"budget\"\ncommand = \"true\"\n");
    let room = guarded(&hooks);
    room.run(["bridge", "status"])
        .ended_with(0)
        .complained("no agent asks becket");
    room.run(["bridge", "install", "claude-code"]).ended_with(0);
    let status = room.run(["bridge", "status"]).ended_with(0).stdout;
    assert!(status.contains("GUARD NOT ASKED: budget"), "{status}");
    assert!(!status.contains("NOT ASKED: no rm"), "{status}");
    let file = "../home/.claude/settings.json";
    let off = room.read(file).replacen('{', "{\"disableAllHooks\": true,", 1);
    room.write(file, off);
    let status = room.run(["bridge", "status"]).ended_with(0).stdout;
    assert!(status.contains("would not run: `disableAllHooks`"), "{status}");
}

#[test]
fn the_trace_and_the_audit_log_know_the_agents_sessions() {
    let room = guarded(GUARD);
    for host in HOSTS {
        let mut question = (host.shell)(&room, "rm -rf build");
        for member in ["session_id", "sessionId"] {
            if question.get(member).is_some() {
                question[member] = format!("of-{}", host.system).into();
            }
        }
        ask(&room, host, host.call, &question);
        let trace = room.run(["trace", &format!("of-{}", host.system)]).ended_with(0);
        assert!(
            trace.stdout.contains("no rm"),
            "{}: {}",
            host.system,
            trace.stdout
        );
    }
    let audit = room.run(["audit", "export"]).ended_with(0).stdout;
    let refused = audit
        .lines()
        .filter(|line| line.contains("\"kind\":\"call\"") && line.contains("no rm here"));
    assert_eq!(refused.count(), HOSTS.len(), "{audit}");
    room.run(["audit", "verify"]).ended_with(0);
}

#[test]
fn a_guard_that_hangs_refuses_before_the_agent_stops_waiting() {
    // Codex waits three seconds for the end of a session, so becket must not take longer.
    let hooks = "[[hook]]\nevent = \"session_end\"\nname = \"slow\"\ncommand = \"sleep 30\"\n";
    let room = guarded(hooks);
    let question =
        json!({"session_id": "s1", "cwd": room.work(), "hook_event_name": "SessionEnd", "reason": "other"});
    let began = std::time::Instant::now();
    ask(&room, &HOSTS[1], "SessionEnd", &question);
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[test]
fn variables_of_a_hook_reach_what_the_agent_runs_later_where_it_takes_them() {
    let reply = r#"{"environment": {"STAGE": "it is", "PLAN": "b"}}"#;
    let hook = format!(
        "[[hook]]\nevent = \"session_start\"\nname = \"variables\"\ncommand = '''echo '{reply}' '''\n"
    );
    let room = guarded(&hook).with("CLAUDE_ENV_FILE", "/nowhere/env");
    let start = |room: &Room, host: &Host| {
        let event = match host.call {
            "PreToolUse" => "SessionStart",
            _ => "sessionStart",
        };
        let question = json!({"session_id": "s1", "cwd": room.work(), "source": "startup"});
        ask(room, host, event, &question)
    };
    let [claude, codex, _, cursor, _] = HOSTS else {
        panic!("there are five agents")
    };
    let told = start(&room, claude)["systemMessage"].to_string();
    assert!(
        told.contains("PLAN, STAGE") && told.contains("No such file"),
        "{told}"
    );
    let told = start(&room, codex)["systemMessage"].to_string();
    assert!(told.contains("cannot be set here"), "{told}");
    assert_eq!(
        start(&room, cursor)["env"],
        json!({"STAGE": "it is", "PLAN": "b"})
    );
    let file = room.work().join("env.sh");
    let room = room.with("CLAUDE_ENV_FILE", file.to_str().unwrap());
    std::fs::write(&file, "export FIRST=1\n").unwrap();
    assert_eq!(start(&room, claude), json!({}));
    let text = room.read("env.sh");
    assert_eq!(text, "export FIRST=1\nexport PLAN='b'\nexport STAGE='it is'\n");
    room.config(&hook.replace("PLAN", "NO NAME"));
    let told = start(&room, claude)["systemMessage"].to_string();
    assert!(told.contains("`NO NAME` is not the name of a variable"), "{told}");
    assert_eq!(room.read("env.sh"), text);
}
