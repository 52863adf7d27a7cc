//! Bad input: each gets a clear error or is handled, and what was stored before is still there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;
use testkit::Room;

use crate::room;

/// A room in which something is stored already.
fn used() -> Room {
    let room = room();
    room.run(["-c", "before", "remember this"]).ended_with(0);
    room
}

/// What was stored is still there, and the store is well.
fn assert_nothing_lost(room: &Room) {
    let contexts = room.run(["contexts", "--json"]).ended_with(0).events();
    assert_eq!(contexts.len(), 1, "nothing was added: {contexts:?}");
    assert_eq!(
        (&contexts[0]["name"], &contexts[0]["message_count"]),
        (&json!("before"), &json!(2))
    );
}

#[test]
fn a_broken_configuration_is_named_with_its_line() {
    let table = [
        ("[agent\n", "config.toml:1:"),
        ("model = \"a\"\nmodel = \"b\"\n", "config.toml:2:"),
        (
            "modle = \"x\"\n",
            "config.toml:1: unknown key `modle`; did you mean `model`?",
        ),
        (
            "[agent]\n\nfuell = 3\n",
            "config.toml:3: unknown key `fuell`; did you mean `fuel`?",
        ),
        ("[agent]\nfuel = \"three\"\n", "config.toml:2:"),
        ("[agent]\nfuel = -3\n", "config.toml:2:"),
        (
            "[agent]\nidle_timeout = 9223372036854775807\n",
            "config.toml:2: `agent.idle_timeout` is at most 2592000 seconds",
        ),
        (
            "[tools]\n\nshell_timeout = 2592001\n",
            "config.toml:3: `tools.shell_timeout` is at most 2592000 seconds",
        ),
        (
            "[permissions]\nallow = [\"read\",\n\"shell:rm\"]\n",
            "config.toml:3: permissions.allow: rule `shell:rm`",
        ),
        (
            "[permissions]\ndeny = [\"shell:comand=rm*\"]\n",
            "config.toml:2: permissions.deny: rule `shell:comand=rm*`: the tool `shell` has no argument `comand`; did \
             you mean `command`?",
        ),
        (
            "[providers.x]\nbase_ulr = \"x\"\n",
            "config.toml:2: unknown key `base_ulr`",
        ),
        (
            "[permissions]\nalow = []\n",
            "config.toml:2: unknown key `alow`; did you mean `allow`?",
        ),
        (
            "[[hook]]\nevent = \"pre_tol\"\ncommand = \"x\"\n",
            "config.toml:2: unknown event `pre_tol`; did you mean `pre_tool`?",
        ),
    ];
    for (text, message) in table {
        let room = used();
        let file = room.config(text);
        let run = room.run(["hello"]).ended_with(2).complained(message);
        assert_eq!(run.stdout, "", "{text}");
        std::fs::remove_file(file).expect("the room is writable");
        assert_nothing_lost(&room);
    }
}

#[test]
fn a_broken_hook_file_is_named_with_its_line() {
    let table = [
        ("[[hook]\n", "hooks.toml:1:"),
        (
            "[[hok]]\n",
            "hooks.toml:1: unknown key `hok`; did you mean `hook`?",
        ),
        (
            "[[hook]]\nevent = \"pre_tool\"\ncomand = \"x\"\n",
            "hooks.toml:3: unknown key `comand`; did you mean `command`?",
        ),
        (
            "[[hook]]\nevent = \"PreToolUse\"\ncommand = \"x\"\n",
            "hooks.toml:2: unknown event `PreToolUse`",
        ),
        (
            "[[hook]]\nevent = \"pre_tool\"\n",
            "hooks.toml:1: a hook needs `command` or `worker`",
        ),
        (
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\nworker = \"y\"\n",
            "not both",
        ),
        (
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"x\"\ntimeout = -1\n",
            "hooks.toml:4: `timeout` is a number of seconds",
        ),
        (
            "[[hook]]\nevent = \"turn_end\"\ncommand = \"x\"\non_failure = \"allow\"\n",
            "hooks.toml:4: `on_failure` means nothing on turn_end",
        ),
        (
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tol = \"x\" }\ncommand = \"x\"\n",
            "hooks.toml:3: unknown field of pre_tool in `match` `tol`; did you mean `tool`?",
        ),
        (
            "[[hook]]\nevent = \"pre_tool\"\nmatch = { tool = { regex = \"(\" } }\ncommand = \"x\"\n",
            "hooks.toml:3: bad regular expression",
        ),
    ];
    for (text, message) in table {
        let room = used();
        let hooks = room.hooks(text);
        room.run(["--yes", "--hooks", &hooks, "Run: touch ran"])
            .ended_with(2)
            .complained(message);
        assert!(!room.has("ran"), "{text}");
        assert_nothing_lost(&room);
    }
}

#[test]
fn a_hook_file_that_is_not_there_or_not_text_is_named() {
    let room = used();
    room.run(["--hooks", "missing.toml", "hello"])
        .ended_with(2)
        .complained("missing.toml");
    room.write("bytes.toml", b"\xff\xfe");
    room.run(["--hooks", "bytes.toml", "hello"])
        .ended_with(2)
        .complained("bytes.toml");
    room.run(["--hooks", ".", "hello"])
        .ended_with(2)
        .complained("cannot read the hook file");
    assert_nothing_lost(&room);
}

#[test]
fn a_broken_script_of_a_model_is_named() {
    let room = used();
    for (name, text, message) in [
        ("talk.toml", "[[turns]\n", "talk.toml"),
        ("talk.toml", "[[turns]]\ntxet = \"x\"\n", "txet"),
        ("talk.json", "[{\"text\": ", "talk.json"),
        ("talk.json", "{\"turns\": 7}", "talk.json"),
    ] {
        room.write(name, text);
        room.run(["--model", &format!("scripted/{name}"), "hello"])
            .ended_with(2)
            .complained(message);
    }
    room.run(["--model", "scripted/missing.toml", "hello"])
        .ended_with(2)
        .complained("missing.toml");
    room.run(["--model", "scripted", "hello"])
        .ended_with(2)
        .complained("scripted/FILE");
    assert_nothing_lost(&room);
}

#[test]
fn a_script_that_ends_too_early_is_a_failure_of_the_provider() {
    let room = room();
    let model = room.model(&json!([{"tool_calls": [{"name": "list", "arguments": {}}]}]));
    room.run(["--model", &model, "hello"])
        .ended_with(3)
        .complained("has no more turns");
    let model = room.model(&json!([{"expect": ["words that are not there"], "text": "x"}]));
    room.run(["--model", &model, "hello"])
        .ended_with(3)
        .complained("words that are not there");
}

#[test]
fn a_context_name_is_checked_and_another_is_suggested() {
    let room = used();
    for (name, suggestion) in [
        ("a/b", "a-b"),
        ("../escape", "escape"),
        ("/etc/passwd", "etc-passwd"),
        ("ü b", "b"),
    ] {
        room.run(["-c", name, "hello"])
            .ended_with(2)
            .complained("cannot be the name of a context")
            .complained(&format!("try `{suggestion}`"));
    }
    room.run(["-c", "", "hello"])
        .ended_with(2)
        .complained("it is empty");
    room.run(["-c", &"x".repeat(200), "hello"])
        .ended_with(2)
        .complained("100 is the limit");
    assert_nothing_lost(&room);
}

#[test]
fn a_prompt_of_100_megabytes_is_refused_in_words() {
    let room = used();
    let run = room.run_with_input(["-c", "huge"], vec![b'x'; 100 * 1024 * 1024]);
    run.ended_with(2)
        .complained("standard input is longer than 64 MiB")
        .complained("hint:");
    assert_nothing_lost(&room);
}

#[test]
fn a_prompt_of_a_few_megabytes_is_handled() {
    let room = room();
    let model = room.model(&json!([{"expect": ["the end of it"], "text": "that was long"}]));
    let text = format!("{} the end of it", "word ".repeat(1_000_000));
    room.run_with_input(["--model", &model], text)
        .ended_with(0)
        .said("that was long");
    let next = room.model(&json!([{"expect": ["the end of it", "and now"], "text": "still there"}]));
    room.run(["--model", &next, "and now"])
        .ended_with(0)
        .said("still there");
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let room = used();
    room.run_with_input(["-c", "bytes"], b"abc\xff\xfedef".to_vec())
        .ended_with(2)
        .complained("not UTF-8")
        .complained("byte 3");
    room.run([
        OsStr::new("-c"),
        OsStr::new("bytes"),
        OsStr::from_bytes(b"abc\xff"),
    ])
    .ended_with(2);
    assert_nothing_lost(&room);
}

#[test]
fn text_with_odd_characters_is_kept() {
    let room = room();
    let odd = "NUL \0, ESC \x1b[31m, BOM \u{feff}, 🙂, \u{202e}reversed, a \"quote\" and \\";
    let expected = serde_json::to_string(odd).expect("text becomes JSON");
    let model = room.model(&json!([{"expect": [expected.trim_matches('"')], "text": "kept"}]));
    room.run_with_input(["--model", &model], odd)
        .ended_with(0)
        .said("kept");
}

#[test]
fn an_empty_prompt_is_an_error_with_an_example() {
    let room = used();
    for prompt in ["", "  \n\t "] {
        room.run([prompt])
            .ended_with(2)
            .complained("the prompt is empty")
            .complained("hint:");
        room.run(["ask", prompt])
            .ended_with(2)
            .complained("the prompt is empty");
        room.run_with_input(["ask"], prompt)
            .ended_with(2)
            .complained("the prompt is empty");
    }
    room.run([] as [&str; 0])
        .ended_with(2)
        .complained("the prompt is empty");
    assert_nothing_lost(&room);
}

#[test]
fn several_words_are_no_prompt() {
    let room = used();
    room.run(["list", "files"])
        .ended_with(2)
        .complained("a prompt is one argument, but there are 2")
        .complained("becket \"list files\"");
    room.run(["ask", "list", "files"])
        .ended_with(2)
        .complained("quote it");
    room.run(["say", "contexts"]).ended_with(2);
    room.run(["hook", "events"])
        .ended_with(2)
        .complained("did you mean `becket hooks events`?")
        .complained("becket \"hook events\"");
    room.run(["fire", "pre_tool"])
        .ended_with(2)
        .complained("did you mean `becket hooks fire pre_tool`?");
    assert_nothing_lost(&room);
}

#[test]
fn what_is_piped_in_is_added_to_the_prompt() {
    let room = room();
    let model = room.model(&json!([{"expect": ["Sum this up:\\n\\nline one\\nline two"], "text": "done"}]));
    room.run_with_input(["--model", &model, "Sum this up:"], "line one\nline two\n")
        .ended_with(0)
        .said("done");
    let model = room.model(&json!([{"expect": ["\"only the pipe\""], "text": "done"}]));
    room.run_with_input(["--model", &model, "ask"], "only the pipe\n")
        .ended_with(0)
        .said("done");
    room.run_with_input(["--model", &model], "only the pipe\n")
        .ended_with(0)
        .said("done");
}

/// Starts the binary with a pipe on standard input that stays open.
fn start_with_open_pipe(room: &Room, arguments: &[&str]) -> (testkit::Running, std::process::ChildStdin) {
    let mut command = room.command(arguments);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let stdin = child.stdin.take().expect("standard input is a pipe");
    (testkit::Running::of(child), stdin)
}

#[test]
fn a_silent_pipe_beside_a_prompt_is_not_waited_for() {
    let room = room();
    let (run, stdin) = start_with_open_pipe(&room, &["hello"]);
    run.finish()
        .ended_with(0)
        .complained("nothing came within 3 s; continuing without it");
    drop(stdin);
}

#[test]
fn a_pipe_that_begins_in_time_is_read_to_its_end() {
    use std::io::Write;
    let room = room();
    let model = room.model(&json!([{"expect": ["Sum this up:\\n\\nearly late"], "text": "done"}]));
    let (run, mut stdin) = start_with_open_pipe(&room, &["--model", &model, "Sum this up:"]);
    stdin.write_all(b"early ").expect("the program reads");
    std::thread::sleep(std::time::Duration::from_millis(3500));
    stdin.write_all(b"late").expect("the program reads");
    drop(stdin);
    run.finish().ended_with(0).said("done");
}

#[test]
fn without_a_prompt_the_pipe_is_waited_for_and_that_is_said() {
    use std::io::Write;
    let room = room();
    let (run, mut stdin) = start_with_open_pipe(&room, &[]);
    run.wait_for_error("waiting for a prompt on standard input");
    stdin.write_all(b"hello").expect("the program reads");
    drop(stdin);
    run.finish().ended_with(0);
}

#[test]
fn a_working_directory_that_is_gone_or_not_text_is_an_error() {
    let room = room();
    std::fs::create_dir(room.work().join("gone")).expect("the room is writable");
    let binary = room.command([] as [&str; 0]).get_program().to_owned();
    let mut command = room.command([] as [&str; 0]);
    let line = "cd gone && rmdir ../gone && exec \"$0\" --yes 'Run: touch ../ran'";
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", line]).arg(&binary).current_dir(room.work());
    shell.env_clear().env("HOME", room.home());
    shell.stdin(std::process::Stdio::null());
    shell
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    testkit::finish(shell.spawn().expect("there is a shell"))
        .ended_with(2)
        .complained("the working directory cannot be found");
    let odd = room.work().join(OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).expect("the room is writable");
    command.args(["--yes", "Run: touch ../ran"]).current_dir(odd);
    testkit::finish(command.spawn().expect("the binary can be started"))
        .ended_with(2)
        .complained("the name of the working directory is not UTF-8 text");
    assert!(!room.has("ran") && !room.store_file().exists());
}

#[test]
fn an_answer_that_is_lost_is_a_failure_and_the_run_is_stored() {
    for arguments in [&["hello"][..], &["--json", "hello"]] {
        let room = room();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = room.command(arguments);
        command.stdout(full.expect("the system has it"));
        testkit::finish(command.spawn().expect("the binary can be started"))
            .ended_with(1)
            .complained("cannot write to standard output: No space left on device");
        let sessions = room.run(["sessions", "--json"]).ended_with(0).events();
        assert_eq!((sessions.len(), &sessions[0]["reason"]), (1, &json!("done")));
    }
}

#[test]
fn a_limit_on_file_sizes_is_an_error_and_no_signal() {
    let room = room();
    let binary = room.command([] as [&str; 0]).get_program().to_owned();
    let mut command = room.command([] as [&str; 0]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "ulimit -f 16; exec \"$0\" hello"]).arg(binary);
    shell
        .current_dir(room.work())
        .env_clear()
        .env("HOME", room.home());
    shell.stdin(std::process::Stdio::null());
    shell
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    testkit::finish(shell.spawn().expect("there is a shell"))
        .ended_with(1)
        .complained("error:");
    command.arg("hello");
    testkit::finish(command.spawn().expect("the binary can be started")).ended_with(0);
}

#[test]
fn what_an_error_quotes_cannot_steer_the_terminal() {
    let room = room();
    let run = room.run(["--tools", "a\x1b[2Jb\u{200b}\u{202e}", "hello"]);
    let run = run.ended_with(2).complained("a␛[2Jb\u{fffd}\u{fffd}");
    assert!(!run.stderr.contains('\x1b'), "{run:#?}");
}

#[test]
fn a_name_that_the_model_made_up_cannot_steer_the_terminal() {
    let room = room();
    let model = room.model(&json!([
        {"tool_calls": [{"name": "sh\u{1b}[2Jell", "arguments": {"a": "\u{1b}[2J"}}]},
        {"text": "done"},
    ]));
    let run = room.run(["--yes", "--model", &model, "go"]).ended_with(0);
    assert!(
        !run.stderr.contains('\x1b') && run.stderr.contains("sh␛[2Jell"),
        "{run:#?}"
    );
}

#[test]
fn what_a_failing_hook_wrote_stays_indented() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nname = \"broken\"\nevent = \"pre_tool\"\n\
         command = \"printf 'one\\n→ two\\n'; printf 'three\\n→ four\\n' >&2\"\n",
    );
    let run = room
        .run(["--yes", "--hooks", &hooks, "Run: touch ran"])
        .ended_with(0);
    let arrows = run.stderr.lines().filter(|line| line.starts_with('→')).count();
    assert_eq!(arrows, 1, "only the call itself begins with an arrow: {run:#?}");
    assert!(run.stderr.contains("\n  → four"), "{run:#?}");
}

#[test]
fn a_rule_about_a_tool_that_does_not_exist_is_remarked_on() {
    let room = room();
    room.config("[permissions]\nallow = [\"bash:command=*\", \"shel\"]\nask = [\"r*\", \"grep\"]\n");
    let run = room
        .run(["hello"])
        .ended_with(0)
        .complained(
            "the rule `bash:command=*` names the tool `bash`, which does not exist; did you mean `shell`?",
        )
        .complained("the rule `shel` names the tool `shel`, which does not exist; did you mean `shell`?");
    assert_eq!(run.stderr.matches("does not exist").count(), 2, "{run:#?}");
    room.run(["doctor"])
        .ended_with(1)
        .said("the rule `bash:command=*` names the tool `bash`");
}

#[test]
fn a_hook_about_a_tool_that_does_not_exist_is_remarked_on() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nname = \"late\"\nevent = \"tool_end\"\nmatch = { tool = \"bash\" }\ncommand = \"true\"\n\
         [[hook]]\nevent = \"tool_end\"\nmatch = { tool = \"shell\" }\ncommand = \"true\"\n",
    );
    let run = room.run(["--hooks", &hooks, "hello"]).ended_with(0);
    let run = run.complained("wants the tool `bash`, which does not exist; did you mean `shell`?");
    assert_eq!(run.stderr.matches("does not exist").count(), 1, "{run:#?}");
    room.run(["--hooks", &hooks, "doctor"])
        .ended_with(1)
        .said("the hook late");
}

#[test]
fn a_hook_file_is_called_what_the_person_called_it() {
    let room = room();
    room.write(
        "some/hooks.toml",
        "\n[[hook]]\nevent = \"pre_tool\"\ncommand = \"echo no >&2; exit 2\"\n",
    );
    room.run(["--yes", "--hooks", "some/hooks.toml", "Run: touch ran"])
        .ended_with(0)
        .complained("(hook some/hooks.toml:2)");
}

#[test]
fn after_two_dashes_everything_is_a_prompt() {
    let room = room();
    for prompt in ["--help", "contexts", "--version", "-c"] {
        let model = room.model(&json!([{"expect": [format!("\"{prompt}\"")], "text": "taken as a prompt"}]));
        room.run(["--model", &model, "ask", "--", prompt])
            .ended_with(0)
            .said("taken as a prompt");
    }
}

#[test]
fn an_unknown_option_profile_or_model_is_an_error_with_a_suggestion() {
    let room = used();
    room.run(["--tools", "becke", "hello"])
        .ended_with(2)
        .complained("did you mean `becket`?");
    room.run(["--tools", "nothing-like-it", "hello"])
        .ended_with(2)
        .complained("docker-agent");
    room.run(["--jsn", "hello"]).ended_with(2).complained("--json");
    room.run(["--fuel", "many", "hello"])
        .ended_with(2)
        .complained("--fuel");
    room.run(["--color", "sometimes", "hello"])
        .ended_with(2)
        .complained("always");
    assert_nothing_lost(&room);
}

#[test]
fn a_home_that_cannot_be_made_is_named() {
    let room = room();
    room.write("a-file", "x");
    for home in ["a-file", "a-file/below", "/proc/becket"] {
        let run = room.run(["--home", home, "hello"]);
        assert!(matches!(run.code, 1 | 2), "{run:#?}");
        run.complained(home);
    }
    assert_eq!(room.read("a-file"), "x");
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    for content in [
        b"this is no database, but somebody's notes\n".repeat(100),
        vec![0xff; 8192],
    ] {
        let room = room();
        room.write("home/becket.db", &content);
        for arguments in [&["--home", "home", "hello"][..], &["--home", "home", "contexts"]] {
            room.run(arguments)
                .ended_with(1)
                .complained("home/becket.db")
                .complained("Nothing was overwritten");
        }
        room.run(["--home", "home", "doctor"])
            .ended_with(1)
            .said("wrong store");
        assert_eq!(
            std::fs::read(room.work().join("home/becket.db")).ok(),
            Some(content)
        );
    }
}

/// Changes bytes of the store's file.
fn overwrite(room: &Room, place: usize, bytes: &[u8]) -> Vec<u8> {
    let file = room.store_file();
    let mut content = std::fs::read(&file).expect("the store is there");
    content[place..place + bytes.len()].copy_from_slice(bytes);
    std::fs::write(&file, &content).expect("the room is writable");
    content
}

#[test]
fn a_store_of_a_newer_becket_is_left_alone() {
    let room = used();
    // SQLite keeps the version of the tables at byte 60 of the file.
    let content = overwrite(&room, 60, &99_u32.to_be_bytes());
    room.run(["hello"])
        .ended_with(1)
        .complained("written by a newer becket")
        .complained("Update becket");
    room.run(["contexts"])
        .ended_with(1)
        .complained("written by a newer becket");
    room.run(["doctor"])
        .ended_with(1)
        .said("written by a newer becket");
    assert_eq!(std::fs::read(room.store_file()).ok(), Some(content));
}

#[test]
fn a_damaged_store_is_reported_and_not_made_worse() {
    let room = used();
    let size = std::fs::metadata(room.store_file())
        .expect("the store is there")
        .len() as usize;
    for page in (1..size / 4096).rev() {
        overwrite(&room, page * 4096, &[0xaa; 4096]);
    }
    let run = room.run(["hello"]);
    assert_eq!(run.code, 1, "{run:#?}");
    run.complained("damaged");
    room.run(["doctor"]).ended_with(1).said("wrong store");
}
