//! The commands besides asking: what they print, and how the program ends.

use serde_json::{Value, json};
use testkit::Room;

use crate::room;

#[test]
fn events_are_listed_with_their_class() {
    let room = room();
    let run = room.run(["hooks", "events"]).ended_with(0);
    let line = run
        .stdout
        .lines()
        .find(|line| line.starts_with("pre_tool "))
        .unwrap_or_default();
    assert!(
        line.contains("guard") && line.contains("Before a tool runs."),
        "{line}"
    );
    let listed = room.run(["hooks", "events", "--json"]).ended_with(0).events();
    assert_eq!(listed.len(), run.stdout.lines().count());
    assert!(listed.iter().all(|event| {
        let class = event["class"].as_str().unwrap_or_default();
        ["guard", "filter", "transform", "observe"].contains(&class)
            && event["doc"].as_str().is_some_and(|doc| !doc.is_empty())
    }));
}

#[test]
fn every_event_is_described_with_schemas_that_compile() {
    let room = room();
    for event in room.run(["hooks", "events", "--json"]).ended_with(0).events() {
        let name = event["name"].as_str().unwrap_or_default().to_string();
        let described = room
            .run(["hooks", "events", &name, "--json"])
            .ended_with(0)
            .events()
            .remove(0);
        for side in ["payload", "reply"] {
            let schema = &described[side];
            assert!(schema.is_object(), "{name} {side}");
            jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{name} {side}: {error}"));
            jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{name} {side}: {error}"));
        }
    }
}

#[test]
fn what_an_event_shows_fits_its_schema() {
    let room = room();
    let run = room.run(["--yes", "--json", "Run: echo hello"]).ended_with(0);
    for event in run.events() {
        let name = event["event"].as_str().unwrap_or_default().to_string();
        let described = room
            .run(["hooks", "events", &name, "--json"])
            .ended_with(0)
            .events()
            .remove(0);
        let validator = jsonschema::validator_for(&described["payload"]).expect("the schema compiles");
        let mut payload = event.clone();
        // The envelope's own fields are the same for all events and stand beside the payload.
        let payload = payload.as_object_mut().expect("an event is an object");
        let known: Vec<String> = described["payload"]["properties"]
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default();
        payload.retain(|field, _| known.contains(field));
        if let Err(error) = validator.validate(&Value::Object(payload.clone())) {
            panic!("{name}: {error}\n{event}");
        }
    }
}

#[test]
fn one_event_is_described_in_words() {
    let room = room();
    room.run(["hooks", "events", "pre_tool"])
        .ended_with(0)
        .said("pre_tool (guard)")
        .said("arguments")
        .said("verdict");
    room.run(["hooks", "events", "pre_tol"])
        .ended_with(2)
        .complained("did you mean `pre_tool`?");
    room.run(["hooks", "events", "xyzzy-nothing"])
        .ended_with(2)
        .complained("becket hooks events");
}

#[test]
fn the_configuration_in_effect_is_shown() {
    let room = room();
    room.run(["config"])
        .ended_with(0)
        .said("config.toml (not there)")
        .said("rehearsal/rehearsal")
        .said("no limit");
    room.config("[agent]\nfuel = 7\nmax_iterations = 9\n[tools]\nprofile = \"pi\"\n");
    let shown = room
        .run(["config", "--json", "--max-iterations", "11"])
        .ended_with(0)
        .events()
        .remove(0);
    assert_eq!(
        (&shown["fuel"], &shown["max_iterations"], &shown["tool_profile"]),
        (&json!(7), &json!(11), &json!("pi"))
    );
    assert_eq!(shown["own_hooks"], json!(0));
    room.config("");
    let shown = room.run(["config", "--json"]).ended_with(0).events().remove(0);
    assert_eq!(shown["fuel"], json!(null));
    room.config("nonsense");
    room.run(["config"]).ended_with(2).complained("config.toml:1");
}

#[test]
fn doctor_finds_nothing_wrong_in_a_new_home() {
    let room = room();
    let run = room.run(["doctor"]).ended_with(0);
    assert!(run.stdout.lines().all(|line| line.starts_with("ok ")), "{run:#?}");
    let findings = room.run(["doctor", "--json"]).ended_with(0).events();
    assert!(
        findings
            .iter()
            .all(|finding| finding["ok"] == true && finding["trouble"].is_null())
    );
}

#[test]
fn doctor_names_each_trouble() {
    let hook = |rest: &str| format!("[[hook]]\nname = \"my-hook\"\nevent = \"pre_tool\"\n{rest}\n");
    let table = [
        ("[agent\n".to_string(), "config.toml:1"),
        ("model = \"nonsense/x\"\n".to_string(), "wrong model"),
        (
            hook("command = [\"./there-is-no-such-program\"]"),
            "wrong hook my-hook",
        ),
        (
            hook("worker = [\"./there-is-no-such-program\"]"),
            "program not found",
        ),
        (
            hook("command = \"true\"\non_failure = \"allow\""),
            "may fail open",
        ),
    ];
    for (text, message) in table {
        let room = room();
        room.config(&text);
        room.run(["doctor"]).ended_with(1).said(message);
        let findings = room.run(["doctor", "--json"]).ended_with(1).events();
        assert_eq!(
            findings.iter().filter(|finding| finding["ok"] == false).count(),
            1,
            "{findings:?}"
        );
    }
}

#[test]
fn doctor_names_a_project_that_is_not_trusted() {
    let room = room();
    room.write(
        "becket.toml",
        "[[hook]]\nevent = \"turn_end\"\ncommand = \"true\"\n",
    );
    room.run(["doctor"])
        .ended_with(1)
        .said("wrong project")
        .said("not trusted");
    room.run(["doctor", "--trust"]).ended_with(0).said("ok    hook");
    room.write(
        "becket.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n",
    );
    room.run(["doctor"]).ended_with(1).said("not trusted");
}

#[test]
fn completions_are_printed_for_each_shell() {
    let room = room();
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef becket"),
        ("fish", "complete -c becket"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        room.run(["completions", shell])
            .ended_with(0)
            .said(mark)
            .said("doctor");
    }
    room.run(["completions", "tcsh"]).ended_with(2).complained("bash");
}

#[test]
fn the_completion_script_is_one_that_bash_reads() {
    if !testkit::needs("bash") {
        return;
    }
    let room = room();
    let script = room.run(["completions", "bash"]).ended_with(0).stdout;
    let file = room.write("completion.bash", script);
    let status = std::process::Command::new("bash")
        .arg("-n")
        .arg(file)
        .status()
        .expect("bash can be started");
    assert!(status.success());
}

#[test]
fn the_manual_page_is_one() {
    room()
        .run(["man"])
        .ended_with(0)
        .said(".TH becket")
        .said("\\-\\-context")
        .said("doctor");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let room = room();
    let help = room
        .run(["--help"])
        .ended_with(0)
        .said("Usage: becket")
        .said("Exit codes:")
        .said("--hooks");
    assert_eq!(help.stderr, "");
    room.run(["-h"]).ended_with(0).said("Usage: becket");
    room.run(["hooks", "--help"]).ended_with(0).said("events");
    let version = room.run(["--version"]).ended_with(0);
    let lines: Vec<&str> = version.stdout.lines().collect();
    let [name, commit, features] = lines.as_slice() else {
        panic!("{}", version.stdout);
    };
    let named = format!("becket {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(*name, named);
    assert!(
        commit.starts_with("commit: ") && features.starts_with("features: "),
        "{}",
        version.stdout
    );
    assert!(
        features.contains(" claude-code ") && !features.contains("default"),
        "{features}"
    );
    assert_eq!(room.run(["-V"]).ended_with(0).stdout.trim(), named);
    assert!(!room.store_file().exists(), "looking at help stores nothing");
}

#[test]
fn without_a_model_nothing_is_rehearsed_for_another_program() {
    let room = room();
    for arguments in [
        &["-p", "Hello"][..],
        &["--mode", "text", "Hello"],
        &["--mode", "json", "Hello"],
    ] {
        let run = room
            .run(arguments)
            .ended_with(1)
            .complained("No model is connected");
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
    room.run(["-p", "--model", "rehearsal", "Hello"]).ended_with(0);
}

#[test]
fn what_looks_like_a_command_is_not_sent_to_the_model() {
    let room = room();
    for (word, meant) in [
        ("doctr", "`becket doctor`"),
        ("contxts", "`becket contexts`"),
        ("contxtss", "`becket contexts`"),
        ("init", "becket doctor"),
        ("login", "keys"),
        ("logout", "keys"),
        ("update", "does not update itself"),
        ("upgrade", "does not update itself"),
        ("version", "`becket --version`"),
        ("install", "bridge install"),
        ("start", "starts a chat"),
        ("status", "`becket doctor`"),
    ] {
        let run = room.run([word]).ended_with(2).complained(meant);
        run.complained(&format!("`becket ask {word}` sends it"));
    }
    assert!(
        !room.has("../home/.local/share/becket/becket.db"),
        "nothing was begun"
    );
    for words in [
        &["ask", "doctr"][..],
        &["-p", "--model", "rehearsal", "doctr"],
        &["hello"],
        &["Doctr"],
        &["doctr, please"],
        &["doct"],
    ] {
        room.run(words).ended_with(0).said("rehearsal");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let room = room();
    let mut command = room.command(["--json", "--yes", "Run: touch ran"]);
    let mut child = command.spawn().expect("the binary can be started");
    drop(child.stdout.take());
    testkit::finish(child).ended_with(0);
    assert!(room.has("ran"), "what was begun is finished");
}

#[test]
fn a_chat_takes_prompts_from_a_pipe() {
    let room = room();
    let model = room.model(&json!([
        {"expect": ["first prompt"], "text": "first answer", "usage": {"input_tokens": 11, "output_tokens": 3}},
        {"expect": ["first prompt", "first answer", "second prompt"], "text": "second answer",
         "usage": {"input_tokens": 20, "output_tokens": 4}},
    ]));
    let lines = "/help\nfirst prompt\n\n/nonsense\nsecond prompt\n/usage\n/quit\nnever asked\n";
    let run = room
        .run_with_input(["--model", &model, "chat"], lines)
        .ended_with(0);
    let run = run
        .said("/usage")
        .said("first answer")
        .said("second answer")
        .said("31 tokens in, 7 out")
        .complained("there is no command /nonsense; /help lists them");
    assert!(
        !run.stderr.contains("no more turns"),
        "after /quit nothing is asked: {run:#?}"
    );
    let sessions = room.run(["sessions", "--json"]).ended_with(0).events();
    assert_eq!(
        (sessions.len(), &sessions[0]["entry_count"]),
        (1, &json!(4)),
        "one chat is one session"
    );
}

#[test]
fn a_chat_ends_with_its_input() {
    let room = room();
    room.run_with_input(["chat"], "hello").ended_with(0).said("hello");
    room.run_with_input(["chat"], "").ended_with(0);
    let sessions = room.run(["sessions", "--json"]).ended_with(0).events();
    assert!(
        sessions.iter().all(|session| session["reason"] == "done"),
        "{sessions:?}"
    );
}

#[test]
fn a_chat_goes_on_after_a_failure() {
    let room = room();
    let model = room.model(&json!([
        {"error": {"kind": "rejected", "message": "not like this"}},
        {"text": "better now"},
    ]));
    room.run_with_input(["--model", &model, "chat"], "one\ntwo\n")
        .ended_with(0)
        .complained("not like this")
        .said("better now");
}

/// A model that asks for a different command each time, more often than any limit here.
fn busy_model(room: &Room, same: bool) -> String {
    let turn = |number: usize| {
        let command = if same {
            "echo x".to_string()
        } else {
            format!("echo {number}")
        };
        json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
    };
    room.model(&Value::Array((0..9).map(turn).collect()))
}

#[test]
fn limits_end_with_their_own_code() {
    let room = room();
    let model = busy_model(&room, false);
    let limited = |option: &str| room.run(["--yes", "--json", "--model", &model, option, "2", "go"]);
    let run = limited("--max-iterations")
        .ended_with(5)
        .complained("the limit of 2 requests");
    assert_eq!(run.events_named("turn_end").len(), 2);
    assert_eq!(run.events_named("iteration_limit").len(), 1);
    let run = limited("--fuel").ended_with(5).complained("fuel");
    assert_eq!(run.events_named("tool_end").len(), 2);
    assert_eq!(run.events_named("session_end")[0]["reason"], "limit");
}

#[test]
fn a_model_that_repeats_itself_is_stopped() {
    let room = room();
    let model = busy_model(&room, true);
    let run = room
        .run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(1)
        .complained("times in a row");
    assert_eq!(run.events_named("tool_end").len(), 5);
}

#[test]
fn a_prompt_that_a_hook_refuses_ends_with_failure() {
    let room = room();
    let hooks =
        room.hooks("[[hook]]\nevent = \"user_prompt\"\ncommand = \"echo not on sundays >&2; exit 2\"\n");
    let run = room
        .run(["--hooks", &hooks, "hello"])
        .ended_with(1)
        .complained("not on sundays");
    assert_eq!(run.stdout, "");
}

#[test]
fn json_prints_one_event_per_line_and_nothing_else() {
    let room = room();
    let run = room.run(["--yes", "--json", "Run: echo hello"]).ended_with(0);
    let names: Vec<String> = run
        .events()
        .iter()
        .map(|event| event["event"].to_string())
        .collect();
    let order = [
        "session_start",
        "user_prompt",
        "turn_start",
        "pre_request",
        "response",
        "pre_tool",
        "tool_end",
        "turn_end",
        "agent_end",
        "session_end",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|name| {
            names
                .iter()
                .position(|known| *known == format!("\"{name}\""))
                .unwrap_or_else(|| panic!("no {name}"))
        })
        .collect();
    assert!(places.is_sorted(), "{names:?}");
}

/// In a container the leader of the session, and of the process group, may be out of sight: both are 0 then.
#[test]
fn the_first_process_of_a_container_runs_tools_and_buries_what_they_leave() {
    let room = room();
    let command = "setsid sleep 0.2 & echo done";
    let call = json!({"name": "shell", "arguments": {"command": command}});
    let model = room.model(&json!([{"text": "", "tool_calls": [call]}, {"text": "finished"}]));
    let becket = room.command(["--yes", "--model", &model, "go"]);
    let contained = |program: &std::ffi::OsStr| {
        let mut outside = std::process::Command::new("unshare");
        outside.args(["--pid", "--fork", "--mount-proc"]).arg(program);
        outside.current_dir(room.work()).env_clear();
        outside.envs(becket.get_envs().filter_map(|(name, value)| Some((name, value?))));
        outside.stdin(std::process::Stdio::null());
        outside
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        outside
    };
    let possible = contained(std::ffi::OsStr::new("true")).status();
    if !possible.is_ok_and(|status| status.success()) {
        testkit::skipped("the right to make a namespace of processes");
        return;
    }
    let child = contained(becket.get_program()).args(becket.get_args()).spawn();
    let run = testkit::finish(child.expect("unshare was there a moment ago"));
    run.ended_with(0).said("finished");
}
