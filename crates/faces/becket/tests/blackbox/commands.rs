//! The commands besides asking: what they print, and how the program ends.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Response, Room};

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
    room.config("[agent]\nfuel = 7\nmax_requests = 9\n[tools]\nprofile = \"pi\"\n");
    let shown = room
        .run(["config", "--json", "--max-iterations", "11"])
        .ended_with(0)
        .events()
        .remove(0);
    assert_eq!(
        (&shown["fuel"], &shown["max_requests"], &shown["tool_profile"]),
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
    // What the machine lacks is a note.
    let is_fine = |line: &str| line.starts_with("ok ") || line.starts_with("note ");
    assert!(run.stdout.lines().all(is_fine), "{run:#?}");
    let findings = room.run(["doctor", "--json"]).ended_with(0).events();
    assert!(
        findings
            .iter()
            .all(|finding| finding["ok"] == true && finding["trouble"].is_null())
    );
}

#[test]
fn doctor_lists_what_it_checked() {
    let room = room();
    let run = room.run(["doctor"]).ended_with(0);
    for what in [
        "settings in",
        "context",
        "model rehearsal",
        "key: rehearsal needs none",
        "store",
    ] {
        assert!(run.stdout.contains(&format!("ok    {what}")), "{what}: {run:#?}");
    }
    for what in ["git", "node", "disk: "] {
        assert!(run.stdout.contains(what), "{what}: {run:#?}");
    }
    assert!(!run.stdout.contains("online"), "{run:#?}");

    let empty = room.work().join("../nothing").display().to_string();
    let bare = self::room().with("PATH", &empty).run(["doctor"]).ended_with(0);
    bare.said("note  git: not found on the PATH; undo and snapshots need it")
        .said("note  node or bun: not found");

    let elsewhere = self::room().with("OPENAI_API_KEY", "sk-secret-1");
    let run = elsewhere.run(["doctor"]).ended_with(0);
    let run = run
        .said("key of openai from OPENAI_API_KEY")
        .said("api.openai.com/v1 (default)");
    assert!(!run.stdout.contains("sk-secret"), "{run:#?}");
    elsewhere.config("[providers.openai]\nkey = \"sk-secret-2\"\nbase_url = \"http://127.0.0.1:1/v1\"\n");
    let run = elsewhere.run(["doctor"]).ended_with(0);
    let run = run.said("key of openai from providers.openai.key");
    let run = run.said("http://127.0.0.1:1/v1 (providers.openai.base_url)");
    assert!(!run.stdout.contains("sk-secret"), "{run:#?}");
}

#[test]
fn doctor_asks_the_model_only_with_online() {
    let answer = OpenAiStream::new("m").text("pong").finish("stop").done();
    let server = ModelServer::start([Response::events(answer)]);
    let room = room()
        .with("OPENAI_API_KEY", "sk-secret-1")
        .with("OPENAI_BASE_URL", &server.url());
    room.run(["doctor"]).ended_with(0).said("(OPENAI_BASE_URL)");
    assert!(server.requests().is_empty());
    room.run(["doctor", "--online"])
        .ended_with(0)
        .said("ok    online: openai/gpt-4.1 answered in");
    assert!(server.only_request().text().len() < 500);
    server.push(Response::json(401, &json!({"error": {"message": "bad key"}})));
    let run = room.run(["doctor", "--online"]).ended_with(1);
    run.said("wrong online: openai/gpt-4.1: ");
    self::room()
        .run(["doctor", "--online"])
        .ended_with(0)
        .said("online: rehearsal/rehearsal needs no network");
}

#[test]
fn a_list_may_be_cut_by_the_program_behind_the_pipe() {
    let room = room();
    room.run(["hello"]).ended_with(0);
    let program = room.command(["--version"]);
    let program = testkit::quoted(Path::new(program.get_program()));
    for arguments in ["help all", "trace", "hooks events", "config schema", "man"] {
        let line = format!("{{ {program} {arguments}; echo \"ended with $?\" >&2; }} | head -1");
        let run = testkit::run_with_input(room.command_of(Path::new("/bin/sh"), ["-c", &line]), "");
        assert_eq!(run.stderr, "ended with 0\n", "{arguments}: {run:#?}");
    }
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
fn doctor_sees_broken_guards_of_every_kind() {
    let room = room();
    room.config(
        "[[hook]]\nname = \"fine\"\nevent = \"pre_tool\"\ncommand = \"true\"\n\
         [[hook]]\nname = \"unreadable\"\nevent = \"pre_tool\"\ncommand = \"if true; then\"\n\
         [[hook]]\nname = \"of-python\"\nevent = \"pre_tool\"\ncommand = [\"python3\", \"bad.py\"]\n\
         [[hook]]\nname = \"scriptless\"\nevent = \"pre_tool\"\ncommand = [\"bash\", \"/nowhere/gone.sh\"]\n",
    );
    let nested = |event: &str| {
        let hook = json!({"type": "command", "command": "/nowhere/gone"});
        json!({"hooks": {event: [{"matcher": "x", "hooks": [hook]}]}}).to_string()
    };
    room.write("../home/.claude/settings.json", nested("PreToolUse"));
    room.write("../home/.codex/hooks.json", nested("PreToolUse"));
    room.write("../home/.gemini/settings.json", nested("BeforeTool"));
    room.write(
        "../home/.cursor/hooks.json",
        "{\"version\":1,\"hooks\":{\"beforeShellExecution\":[{\"command\":\"/nowhere/gone\"}]}}",
    );
    room.write(
        "../home/.copilot/hooks/x.json",
        "{\"version\":1,\"hooks\":{\"preToolUse\":[{\"type\":\"command\",\"bash\":\"/nowhere/gone\"}]}}",
    );
    room.write("bad.py", "def x(:\n");
    room.write(
        "../home/.config/becket/hooks.d/a.yaml",
        "pre_tool_use:\n  - matcher: shell\n    hooks:\n      - type: command\n        command: /nowhere/gone\n",
    );
    room.script(
        "../home/.chibi/plugins/bad/bad",
        "#!/usr/bin/env python3\ndef x(:\n",
    );
    room.write(
        "../home/.chibi/vfs/tools/shared/bad.scm",
        "(import (harness hooks))\n(register-hook! (",
    );
    room.write(
        "../home/.pi/agent/extensions/bad.ts",
        "export default function (pi) { pi.on(",
    );
    let run = room
        .run(["doctor", "--hook-pre-tool-use", "/nowhere/gone"])
        .ended_with(1);
    let wrong: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("wrong "))
        .collect();
    for hook in [
        "hook unreadable",
        "hook of-python",
        "hook scriptless",
        "hook on pre_tool_use (/",
        "hook on pre_tool_use (--hook-pre-tool-use): ",
        "plugin bad (",
        "extension bad (",
        "Scheme file vfs:///tools/shared/bad.scm (",
        "PreToolUse 1 of Claude Code",
        "PreToolUse 1 of Codex",
        "BeforeTool 1 of Gemini CLI",
        "beforeShellExecution 1 of Cursor",
        "preToolUse 1 of GitHub Copilot",
    ] {
        let count = wrong.iter().filter(|line| line.contains(hook)).count();
        assert_eq!(count, 1, "{hook}: {run:#?}");
    }
    assert_eq!(wrong.len(), 13, "{run:#?}");
    run.said("ok    hook fine");
}

#[test]
fn a_run_and_doctor_tell_all_mistakes_of_a_file() {
    let room = room();
    let file = room.hooks(
        "[[hook]]\ncomand = \"true\"\nevent = \"pre_tool\"\n\n[[hook]]\nevent = \"pre_tol\"\ncommand = \"true\"\n",
    );
    let run = room.run(["Hello", "--hooks", &file]).ended_with(2);
    let places = [":2: ", ":6: "].map(|place| run.stderr.find(place));
    assert!(places[0].is_some() && places[0] < places[1], "{run:#?}");
    let told = room.run(["doctor", "--hooks", &file]).ended_with(1);
    let wrong = told
        .stdout
        .lines()
        .filter(|line| line.starts_with("wrong hooks in /"));
    assert_eq!(wrong.count(), 2, "{told:#?}");
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
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = room.run(["completions", shell]).ended_with(0).stdout;
        assert!(script.contains("BECKET_COMPLETE"), "{shell}: {script}");
        assert!(script.len() < 100_000, "{shell}: {} bytes", script.len());
    }
    room.run(["completions", "tcsh"]).ended_with(2).complained("bash");
}

#[test]
fn bash_completes_commands_options_and_what_the_store_holds() {
    if !testkit::needs("bash") {
        return;
    }
    let room = room();
    room.run(["-c", "poems", "Hello"]).ended_with(0);
    let session = room.run(["sessions", "--json"]).ended_with(0).stdout;
    let session: Value = serde_json::from_str(session.trim()).expect("one session");
    let session = session["id"].as_str().expect("an id");
    let server = ModelServer::answering(|_| Response::json(200, &json!({"data": [{"id": "gpt-listed"}]})));
    let mut asking = room.command(["models", "--provider", "openai"]);
    asking
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.url());
    assert!(asking.output().expect("it runs").status.success());
    let script = room.run(["completions", "bash"]).ended_with(0).stdout;
    let home = room.home().join("elsewhere").display().to_string();
    room.run(["--home", &home, "-c", "odes", "Hello"]).ended_with(0);
    let complete = |words: &[&str]| {
        let last = words.len() - 1;
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let asking = format!(
            "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\nCOMP_TYPE=9\n\
             _clap_complete_becket becket '{}' ''\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
            words[last]
        );
        let becket = PathBuf::from(env!("CARGO_BIN_EXE_becket"));
        let folder = becket.parent().expect("a folder").display();
        let path = format!("{folder}:{}", std::env::var("PATH").expect("a PATH"));
        let mut bash = room.command_of(Path::new("bash"), ["-c", &asking]);
        let output = bash.env("PATH", path).output();
        String::from_utf8(output.expect("bash runs").stdout).expect("text")
    };
    for (words, candidate) in [
        (&["becket", "hoo"][..], "hooks"),
        (&["becket", "hooks", "fi"], "fire"),
        (&["becket", "hooks", "check", "--for"], "--format"),
        (&["becket", "-c", ""], "poems"),
        (&["becket", "context", "show", "po"], "poems"),
        (&["becket", "trace", ""], session),
        (&["becket", "hooks", "fire", "pre_too"], "pre_tool"),
        (&["becket", "--model", "reh"], "rehearsal"),
        (&["becket", "--model", "openai/gp"], "openai/gpt-listed"),
        (&["becket", "--tools", "cod"], "codex"),
        (&["becket", "--home", &home, "-c", ""], "odes"),
        (&["becket", "--session", ""], session),
        (&["becket", "config", "set", "agent.idle"], "agent.idle_timeout"),
    ] {
        let completed = complete(words);
        assert!(completed.contains(candidate), "{words:?}: {completed:?}");
    }
}

/// A command's help and that of all commands below it have at most 60 lines.
fn help_fits_a_screen(room: &Room, words: &[&str]) {
    let own = room.run([words, &["--help"]].concat()).ended_with(0).stdout;
    assert!(own.lines().count() <= 60, "{words:?}: {own}");
    let below = own.lines().skip_while(|line| *line != "Commands:").skip(1);
    let below = below.take_while(|line| !line.is_empty());
    let below = below.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in below.filter_map(|line| line.split_whitespace().next()) {
        if name != "help" {
            help_fits_a_screen(room, &[words, &[name]].concat());
        }
    }
}

#[test]
fn help_is_one_screen_and_all_of_it_is_one_command_away() {
    let room = room();
    let help = room.run(["--help"]).ended_with(0).stdout;
    assert!(help.lines().count() <= 70, "{help}");
    for line in help.lines() {
        assert!(line.chars().count() <= 110, "{line}");
    }
    for words in [
        "Talk:",
        "Hooks:",
        "Conversations:",
        "Project:",
        "Set-up:",
        "--context",
        "becket help all",
    ] {
        assert!(help.contains(words), "{words}: {help}");
    }
    let commands: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with(char::is_alphabetic))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() <= 24, "{commands:?}");
    for foreign in ["--hook-pre-tool-use", "--mode ", "--append-system-prompt"] {
        assert!(!help.contains(foreign), "{foreign}: {help}");
    }
    assert_eq!(room.run(["-h"]).ended_with(0).stdout, help);
    assert_eq!(room.run(["help"]).ended_with(0).stdout, help);
    let all = room.run(["help", "all"]).ended_with(0).stdout;
    assert_eq!(room.run(["--json", "help", "all"]).ended_with(0).stdout, all);
    let seldom = [
        "scheme",
        "plugin",
        "vfs",
        "cache",
        "redo",
        "sandbox",
        "url",
        "man",
        "acp",
        "models",
        "pi",
        "docker-agent",
        "chibi",
    ];
    for command in commands.iter().chain(&seldom) {
        assert!(all.contains(&format!("\n  {command} ")), "{command}: {all}");
        help_fits_a_screen(&room, &[*command]);
    }
    assert!(all.contains("--hook-pre-tool-use"), "{all}");
    let listed = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    for line in listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap_or_default();
        let known = commands.contains(&name) || seldom.contains(&name) || name == "help";
        assert!(known, "{name} is in no group of the help");
    }
    let fire = room.run(["hooks", "fire", "--help"]).ended_with(0);
    let fire = fire.said("--payload").said("Common options").stdout;
    assert!(!fire.contains("--context"), "{fire}");
}

#[test]
fn contexts_are_listed_by_either_name() {
    let room = room();
    room.run(["-c", "poems", "Hello"]).ended_with(0);
    let listed = room.run(["context", "list"]).ended_with(0).said("* poems");
    assert_eq!(room.run(["contexts"]).ended_with(0).stdout, listed.stdout);
}

#[test]
fn every_command_has_a_manual_page() {
    let room = room();
    let page = room.run(["man", "hooks", "test"]).ended_with(0);
    page.said(".TH becket-hooks-test 1  \"becket 0.1.0\"")
        .said("\\-\\-faults");
    room.run(["man", "hooks", "tets"])
        .ended_with(2)
        .complained("did you mean `test`?");
    room.run(["man"])
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
        ("resume", "becket -c NAME"),
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
        .ended_with(2);
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
fn slash_commands_work_in_a_pipe_and_what_only_looks_like_one_is_no_prompt() {
    let room = room();
    let other = room.write("other.json", json!([{"text": "I am the other one"}]).to_string());
    let other = format!("scripted/{}", other.display());
    let model = room.model(&json!([{"text": "never asked"}]));
    let lines = format!(
        "/thinking high\n/thinkng high\n/thinking loud\n/model nobody/knows\n/usage now\n/model {other}\nwho are you?\n"
    );
    room.run_with_input(["--model", &model, "chat"], lines)
        .ended_with(2)
        .said("I am the other one")
        .complained("thinking is high from the next request on")
        .complained("there is no command /thinkng; did you mean /thinking? //thinkng sends it to the model")
        .complained("there is no thinking level `loud`; there are off")
        .complained("There is no provider nobody")
        .complained("/usage takes no words")
        .complained("from now on");
}

#[test]
fn a_line_that_only_looks_like_a_command_is_sent_with_two_slashes() {
    let room = room();
    room.write("../home/.pi/agent/prompts/dance.md", "Dance as a bear does: $1");
    let asked = |line: &str| {
        let model = room.model(&json!([{"text": "heard"}]));
        let run = room.run_with_input(["--json", "--model", &model, "chat"], format!("{line}\n"));
        let prompts = run.events_named("user_prompt");
        (run.code, prompts.first().map(|event| event["prompt"].clone()))
    };
    for line in [
        "/comit now please",
        "/help me",
        "/usage now",
        "/model nobody/knows",
        "/undo --nonsense",
        "/resume nowhere",
    ] {
        assert_eq!(asked(line), (2, None), "{line}");
    }
    for (line, prompt) in [
        ("//comit now please", "/comit now please"),
        ("//help me", "/help me"),
        ("//dance with me", "/dance with me"),
        ("// a comment", "// a comment"),
        ("/etc/passwd is what?", "/etc/passwd is what?"),
    ] {
        let (code, sent) = asked(line);
        let sent = sent
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
            .to_owned();
        assert_eq!((code, sent.as_str()), (0, prompt), "{line}");
    }
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

#[test]
fn a_setting_says_where_its_value_comes_from() {
    let room = room();
    let get = |words: &[&str]| {
        let words = ["config", "get"].iter().chain(words);
        room.run(words).ended_with(0).stdout.trim_end().to_owned()
    };
    assert_eq!(get(&["model"]), "rehearsal/rehearsal  (default without a key)");
    assert_eq!(get(&["js.engine"]), "auto  (default)");
    assert_eq!(get(&["dialects.strict"]), "false  (default)");
    assert_eq!(get(&["model", "-m", "ollama/x"]), "ollama/x  (--model)");
    assert_eq!(get(&["agent.fuel", "--fuel", "3"]), "3  (--fuel)");
    room.run(["context", "set", "fuel", "9"]).ended_with(0);
    assert!(
        get(&["agent.fuel"]).starts_with("9  (settings.toml of the context "),
        "{}",
        get(&["agent.fuel"])
    );
    for (key, value) in [
        ("compaction.context_windows.\"ollama/qwen2.5\"", "4096"),
        ("compaction.context_windows.ollama/x", "2048"),
        ("dialects.strict", "true"),
    ] {
        room.run(["config", "set", key, value]).ended_with(0);
        assert!(
            get(&[key]).starts_with(&format!("{value}  (/")),
            "{key}: {}",
            get(&[key])
        );
    }
    let shown = room.run(["config", "-m", "ollama/x"]).ended_with(0);
    shown.said("ollama/x  (--model)").said("120 s  (default)");
    let room = room.with("OPENAI_API_KEY", "sk-1");
    let shown = room.run(["config", "get", "model"]).ended_with(0);
    shown.said("  (default with OPENAI_API_KEY)");
    room.run(["config", "get", "providers.openai.key"])
        .ended_with(0)
        .said("$OPENAI_API_KEY  (environment)");
}

#[test]
fn a_setting_is_written_at_once_and_nobody_else_gets_to_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |file: &Path| std::fs::metadata(file).expect("it is there").permissions().mode() & 0o777;
    let room = room();
    let file = room
        .config("[agent]\nfuel = 3\n")
        .canonicalize()
        .expect("it was written");
    for kept in [0o600, 0o640, 0o644] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(kept)).expect("it is ours");
        room.run(["config", "set", "agent.fuel", "5"]).ended_with(0);
        assert_eq!(mode(&file), kept);
    }
    std::fs::remove_file(&file).expect("it is ours");
    room.run(["config", "set", "agent.fuel", "5"]).ended_with(0);
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn one_setting_is_read_written_and_removed() {
    let room = room();
    let get = |key: &str| room.run(["config", "get", key]).ended_with(0).stdout;
    assert_eq!(get("agent.idle_timeout"), "120  (default)\n");
    let file = room.config("# mine\n[agent]\nfuel = 3 # enough\n");
    let file = file.canonicalize().expect("it was written");
    room.run(["config", "set", "agent.idle_timeout", "30"])
        .ended_with(0);
    room.run(["config", "set", "model", "ollama/llama"]).ended_with(0);
    room.run([
        "config",
        "set",
        "providers.here.base_url",
        "http://127.0.0.1:1/v1",
    ])
    .ended_with(0);
    let text = std::fs::read_to_string(&file).expect("the settings");
    assert!(text.contains("# mine\n"), "{text}");
    assert!(text.contains("fuel = 3 # enough\nidle_timeout = 30\n"), "{text}");
    assert!(
        text.contains("[providers.here]\nbase_url = \"http://127.0.0.1:1/v1\"\n"),
        "{text}"
    );
    assert_eq!(get("agent.idle_timeout"), format!("30  ({})\n", file.display()));
    assert_eq!(get("model"), format!("ollama/llama  ({})\n", file.display()));
    room.run(["config", "set", "agent.fuel", "4"]).ended_with(0);
    let text = std::fs::read_to_string(&file).expect("the settings");
    assert!(text.contains("fuel = 4 # enough\n"), "{text}");
    assert_eq!(get("agent.fuel"), format!("4  ({})\n", file.display()));
    room.run(["config", "unset", "agent.idle_timeout"]).ended_with(0);
    assert_eq!(get("agent.idle_timeout"), "120  (default)\n");
    let before = std::fs::read_to_string(&file).expect("the settings");
    for (key, value, complaint) in [
        ("agent.idle_timeuot", "3", "did you mean `agent.idle_timeout`"),
        ("idle_timeout", "3", "did you mean `agent.idle_timeout`"),
        ("", "3", "`becket config schema` prints them"),
        ("agent.idle_timeout", "soon", "expected a whole number, 0 or more"),
        ("agent.fuel", "-1", "fuel"),
    ] {
        room.run(["config", "set", key, value])
            .ended_with(2)
            .complained(complaint);
    }
    assert_eq!(std::fs::read_to_string(&file).expect("the settings"), before);
    let schema = room.run(["config", "schema"]).ended_with(0).stdout;
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    assert!(schema["properties"]["agent"].is_object(), "{schema}");
    room.run(["config", "schema", "--project"])
        .ended_with(0)
        .said("\"hook\"");
    let editor = room.script("editor", "#!/bin/sh\necho '[chat]' >> \"$1\"\n");
    let room = room.with("EDITOR", &editor.display().to_string());
    room.run(["config", "edit"]).ended_with(0);
    assert!(
        std::fs::read_to_string(&file)
            .expect("the settings")
            .ends_with("[chat]\n")
    );
    let editor = room.script("editor", "#!/bin/sh\necho 'nonsense = 1' >> \"$1\"\n");
    let room = room.with("EDITOR", &editor.display().to_string());
    room.run(["config", "edit"]).ended_with(2).complained("nonsense");
}
