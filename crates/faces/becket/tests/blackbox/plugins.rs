//! The plugins of a chibi home, of both generations, as real programs.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Finished, Room, needs};

use crate::room;
use crate::terminal::{TEST_TIMEOUT, Terminal};

/// Puts a plugin into the usual home.
pub fn plugin(room: &Room, name: &str, program: &str) {
    room.script(&format!("../home/.chibi/plugins/{name}"), program);
}

/// A shell script of a plugin with one tool of its own name; `schema` adds fields.
pub fn bash(name: &str, schema: &str, body: &str) -> String {
    format!(
        "#!/bin/bash\nif [[ \"$1\" == --schema ]]; then echo asked >> \"$HOME/asked\"\n\
         echo '{{\"name\":\"{name}\",\"description\":\"Does {name}\"{schema}}}'; exit; fi\n{body}\n"
    )
}

/// Lets a scripted model make one call, and returns the run.
pub fn call(room: &Room, name: &str, arguments: Value, options: &[&str]) -> Finished {
    let model = room.model(&json!([
        {"tool_calls": [{"name": name, "arguments": arguments}]},
        {"text": "went on"}
    ]));
    let mut words = vec!["--json", "--model", &model];
    words.extend(options);
    words.push("go");
    room.run(words).ended_with(0)
}

/// What the model got as the result of the only call.
pub fn result(run: &Finished) -> String {
    let ended = run.events_named("post_tool");
    assert_eq!(ended.len(), 1, "{run:#?}");
    ended[0]["result"].as_str().unwrap_or_default().to_owned()
}

pub fn asked(room: &Room) -> usize {
    room.read("../home/asked").lines().count()
}

#[test]
fn plugins_of_the_usual_home_work_on_the_first_prompt() {
    if !needs("python3") {
        return;
    }
    let room = room();
    let body = "echo \"$(cat) $CHIBI_TOOL_NAME $CHIBI_CONTEXT $CHIBI_HOME $CHIBI_PROJECT_ROOT\"\n\
                echo \"[${CHIBI_HOOK-none}]\"; env | grep -c ^CHIBI_";
    plugin(&room, "newer", &bash("newer", "", body));
    let python = "#!/usr/bin/env python3\nimport json, os, sys\n\
                  if sys.argv[1:] == ['--schema']:\n    print(json.dumps([{'name': 'older', 'description': 'Old'}]))\n\
                  \x20   sys.exit()\n\
                  args = json.loads(os.environ['CHIBI_TOOL_ARGS'])\nsys.stdout.write('  ' + args['name'] + '\\n\\n')\n";
    plugin(&room, "older/older", python);
    let run = call(&room, "newer", json!({"name": "x"}), &["-c", "here"]);
    let home = room.home().join(".chibi");
    let (home, work) = (home.display(), room.work());
    assert_eq!(
        result(&run),
        format!(
            "{{\"name\":\"x\"}} newer here {home} {}\n[none]\n5\n",
            work.display()
        )
    );
    let run = call(&room, "older", json!({"name": "me"}), &[]);
    assert_eq!(result(&run), "  me\n\n", "what a tool writes is not trimmed");
}

#[test]
fn a_warm_start_runs_no_plugin_and_a_changed_one_is_asked_again() {
    let room = room();
    plugin(&room, "one", &bash("one", "", "echo 1"));
    for _ in 0..3 {
        room.run(["plugin"]).ended_with(0).said("one");
    }
    assert_eq!(asked(&room), 1);
    let file = room.home().join(".chibi/plugins/one");
    let before = std::fs::metadata(&file)
        .expect("it is there")
        .modified()
        .expect("a time");
    plugin(&room, "one", &bash("uno", "", "echo 1"));
    let handle = std::fs::File::options()
        .append(true)
        .open(&file)
        .expect("it is there");
    handle.set_modified(before).expect("a time can be set");
    drop(handle);
    room.run(["plugin"]).ended_with(0).said("tools uno");
    assert_eq!(asked(&room), 2, "same size and time, other contents");
    room.run(["doctor"])
        .ended_with(0)
        .said("plugin one (newer generation");
    assert_eq!(asked(&room), 3, "the doctor does not believe what is remembered");
    room.write(
        "../home/.local/share/becket/plugins.json",
        "{\"version\": 1, \"plug",
    );
    room.run(["plugin"]).ended_with(0).said("tools uno");
    assert_eq!(asked(&room), 4, "a broken cache is as good as none");
    room.run(["plugin"]).ended_with(0);
    assert_eq!(asked(&room), 4);
}

#[test]
fn a_plugin_that_makes_its_tools_of_folders_is_asked_again_when_there_is_another_folder() {
    let room = room();
    let program = "#!/bin/bash\ncd \"$(dirname \"$0\")\"\nfor f in list/*; do\n\
                   printf '{\"name\":\"%s\",\"description\":\"x\"}' \"${f#list/}\"; done | sed 's/}{/},{/g; s/^/[/; s/$/]/'\n";
    plugin(&room, "skills/skills", program);
    room.write("../home/.chibi/plugins/skills/list/one/text", "");
    room.run(["plugin"]).ended_with(0).said("tools one\n");
    room.write("../home/.chibi/plugins/skills/list/two/text", "");
    room.run(["plugin"]).ended_with(0).said("tools one, two\n");
}

#[test]
fn several_runs_at_once_share_what_is_remembered() {
    let room = room();
    for name in ["a", "b", "c"] {
        plugin(&room, name, &bash(name, "", "echo x"));
    }
    let runs: Vec<_> = (0..6).map(|_| room.start(["plugin"])).collect();
    for run in runs {
        let run = run.finish().ended_with(0);
        assert_eq!(run.stdout.lines().count(), 3, "{run:#?}");
    }
    let before = asked(&room);
    room.run(["plugin"]).ended_with(0);
    assert_eq!(asked(&room), before);
}

#[test]
fn what_is_wrong_with_plugins_is_told_and_the_others_work() {
    let room = room();
    room.config("[chibi]\nschema_timeout = 5\n");
    plugin(
        &room,
        "good",
        &bash("good", ",\"hooks\":[\"post_tol\"],\"parallel\":3", "echo fine"),
    );
    plugin(
        &room,
        "half",
        "#!/bin/sh\necho '[{\"name\":\"other\"},{\"name\":\"half\",\"description\":\"x\"}]'\n",
    );
    plugin(&room, "off.disabled", "#!/bin/sh\ntouch \"$HOME/ran\"\n");
    plugin(
        &room,
        "bad name",
        "#!/bin/sh\necho '{\"name\":\"bad name\",\"description\":\"x\"}'\n",
    );
    room.write("../home/.chibi/plugins/plain", "");
    room.write("../home/.chibi/plugins/folder/other", "");
    let table = [
        (
            "good",
            "it wants the hook `post_tol`, which does not exist; did you mean `post_tool`?",
        ),
        ("good", "`parallel` of the tool good must be true or false, not 3"),
        ("half", "tool 1 of its schema: `description` is missing"),
        ("bad name", "its tool \"bad name\" is not offered"),
        ("plain", "it may not be executed; try `chmod +x"),
        ("folder", "holds no program `folder`"),
    ];
    let run = call(&room, "good", json!({}), &[]);
    assert_eq!(result(&run), "fine\n");
    let doctor = room.run(["doctor"]).ended_with(1);
    for (plugin, words) in table {
        let told = |text: &str| {
            let line = format!("plugin {plugin}: ");
            text.lines()
                .any(|shown| shown.contains(&line) && shown.contains(words))
        };
        assert!(told(&run.stderr), "{plugin}: {words}: {run:#?}");
        assert!(told(&doctor.stdout), "{plugin}: {words}: {doctor:#?}");
    }
    assert!(!room.has("../home/ran"), "a disabled plugin does not even run");
    doctor.said("ok    plugin half (newer generation");
}

#[test]
fn a_failing_tool_keeps_what_it_wrote() {
    let room = room();
    room.config("[chibi]\ntool_timeout = 5\n");
    plugin(
        &room,
        "fails",
        &bash("fails", "", "echo half; echo 'oh no' >&2; exit 3"),
    );
    let run = call(&room, "fails", json!({}), &[]);
    assert_eq!(result(&run), "half\n[standard error]\noh no\n[exit code 3]");
    assert_eq!(run.events_named("post_tool")[0]["is_error"], true);

    plugin(
        &room,
        "slow",
        &bash("slow", "", &format!("{}\nsleep 600", helper())),
    );
    let run = call(&room, "slow", json!({}), &[]);
    assert!(
        result(&run).contains("timed out: no answer within 5s"),
        "{run:#?}"
    );
    helper_has_ended(&room);

    plugin(&room, "bytes", &bash("bytes", "", "printf 'a\\xffb'"));
    assert_eq!(result(&call(&room, "bytes", json!({}), &[])), "a\u{fffd}b");

    plugin(&room, "deaf", &bash("deaf", "", "echo did not read"));
    let large = json!({"text": "x".repeat(300_000)});
    assert_eq!(result(&call(&room, "deaf", large, &[])), "did not read\n");
}

#[test]
fn the_older_generation_finds_its_variables_while_they_fit() {
    let room = room()
        .with("CHIBI_HOOK", "on_start")
        .with("CHIBI_HOOK_DATA", "{}")
        .with("CHIBI_TOOL_ARGS", "left over");
    room.config("[chibi]\nverbose = true\n");
    let body = "echo \"${#CHIBI_TOOL_ARGS} $(cat | wc -c) [${CHIBI_HOOK-none}] [$CHIBI_VERBOSE]\"\n\
                env | grep -c CHIBI_HOOK_DATA; true";
    plugin(&room, "old", &bash("old", "", body));
    let small = result(&call(&room, "old", json!({"a": "b"}), &[]));
    assert_eq!(small, "9 9 [none] [1]\n0\n");
    let large = result(&call(&room, "old", json!({"a": "x".repeat(200_000)}), &[]));
    assert_eq!(
        large, "0 200008 [none] [1]\n0\n",
        "too long for a variable, but not for standard input"
    );
    room.config("[chibi]\nnewer = [\"old\", \"odl\"]\n");
    let run = call(&room, "old", json!({"a": "b"}), &[]);
    assert_eq!(
        result(&run),
        "9 9 [none] []\n0\n",
        "arguments in a variable disturb nobody"
    );
    run.complained("plugin odl: the settings name its generation, but it is not there; did you mean `old`?");
    let listed = room.run(["--json", "plugin"]).ended_with(0);
    assert_eq!(listed.events()[0]["generation"], "newer");
}

#[test]
fn a_plugin_in_the_place_of_a_builtin_stays_behind_its_gate() {
    let room = room();
    let parameters =
        ",\"parameters\":{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"}}}";
    plugin(
        &room,
        "sh",
        &bash("shell_exec", parameters, "touch \"$HOME/ran\"; cat"),
    );
    plugin(&room, "w", &bash("write_file", "", "touch \"$HOME/ran\"; cat"));
    let refused = |name: &str, arguments: Value, options: &[&str], words: &str| {
        let run = call(&room, name, arguments, options);
        assert!(result(&run).contains(words), "{run:#?}");
        assert!(!room.has("../home/ran"), "{run:#?}");
        run
    };
    refused(
        "shell_exec",
        json!({"command": "ls"}),
        &[],
        "there is no terminal to ask at",
    );
    refused(
        "write_file",
        json!({"path": "a", "content": "b"}),
        &[],
        "there is no terminal to ask at",
    );
    refused(
        "shell_exec",
        json!({"command": "ls", "sudo": true}),
        &["--yes"],
        "unknown field `sudo`",
    );
    refused(
        "shell_exec",
        json!({"args": ["ls"]}),
        &["--yes"],
        "unknown field `args`",
    );
    room.config("[permissions]\ndeny = [\"shell:command=*rm*\"]\n");
    refused(
        "shell_exec",
        json!({"command": "rm x"}),
        &["--yes"],
        "the rule `shell:command=*rm*` denies it",
    );
    let hooks = room
        .hooks("[[hook]]\nevent = \"pre_shell\"\ncommand = [\"sh\", \"-c\", \"echo never >&2; exit 2\"]\n");
    refused(
        "shell_exec",
        json!({"command": "ls"}),
        &["--yes", "--hooks", &hooks],
        "never",
    );
    let run = call(
        &room,
        "shell_exec",
        json!({"command": "ls", "timeout_secs": "5"}),
        &["--yes"],
    );
    assert_eq!(result(&run), "{\"command\":\"ls\",\"timeout_secs\":5}");
    assert_eq!(run.events_named("pre_shell")[0]["command"], "ls");
}

#[test]
fn a_plugin_in_the_place_of_a_builtin_gets_the_file_that_was_judged() {
    let room = room();
    plugin(&room, "w", &bash("write_file", "", "cat"));
    symlink("../elsewhere", room.work().join("link")).expect("a link can be made");
    let run = call(
        &room,
        "write_file",
        json!({"path": "link/../x", "content": "b"}),
        &["--yes"],
    );
    let told: Value = serde_json::from_str(&result(&run)).expect("JSON");
    let resolved = run.events_named("pre_file_write")[0]["path"].clone();
    assert_eq!(
        told["path"], resolved,
        "the program gets the file that was judged"
    );
    assert_ne!(told["path"], "link/../x");
}

#[test]
fn the_older_names_of_builtins_stay_behind_the_gate_too() {
    let room = room();
    room.write("../outside.txt", "");
    plugin(
        &room,
        "run_command",
        &bash(
            "run_command",
            "",
            "touch \"$HOME/ran\"; echo \"$CHIBI_TOOL_ARGS\"",
        ),
    );
    plugin(
        &room,
        "read_file",
        &bash("read_file", "", "touch \"$HOME/ran\"; echo \"$CHIBI_TOOL_ARGS\""),
    );
    for (name, arguments, event) in [
        ("run_command", json!({"command": "ls"}), "pre_shell"),
        ("read_file", json!({"path": "../outside.txt"}), "pre_file_read"),
    ] {
        let run = call(&room, name, arguments.clone(), &[]);
        assert!(
            result(&run).contains("there is no terminal to ask at"),
            "{run:#?}"
        );
        assert!(!room.has("../home/ran"), "{run:#?}");
        assert_eq!(run.events_named(event).len(), 1, "{run:#?}");
    }
    let run = call(&room, "run_command", json!({"command": "ls"}), &["--yes"]);
    assert_eq!(result(&run), "{\"command\":\"ls\"}\n");
    plugin(&room, "own", &bash("shell", "", "echo mine"));
    for profile in ["becket", "chibi"] {
        let run = call(&room, "shell", json!({"command": "ls"}), &["--tools", profile]);
        assert!(
            result(&run).contains("there is no terminal to ask at"),
            "{profile}: {run:#?}"
        );
    }
}

#[test]
fn with_chibis_names_a_plugin_takes_the_builtins_place() {
    let room = room();
    plugin(&room, "sh", &bash("shell_exec", "", "echo mine"));
    let run = call(
        &room,
        "shell_exec",
        json!({"command": "ls"}),
        &["--yes", "--tools", "chibi"],
    );
    assert_eq!(result(&run), "mine\n");
    let offered = &run.events_named("tools_offered")[0]["tools"];
    let named: Vec<&Value> = offered
        .as_array()
        .expect("a list")
        .iter()
        .filter(|tool| tool["name"] == "shell_exec")
        .collect();
    assert_eq!(named.len(), 1, "{offered}");
    assert_eq!(named[0]["source"], "sh");
}

#[test]
fn a_tool_of_an_installed_plugin_needs_no_yes_but_rules_and_guards_stand() {
    let room = room();
    plugin(&room, "tool", &bash("tool", "", "echo ran"));
    let run = call(&room, "tool", json!({}), &[]);
    assert_eq!(result(&run), "ran\n");
    assert_eq!(run.events_named("approval_decided")[0]["source"], "installed");
    for (permissions, words) in [
        ("deny = [\"tool\"]", "the rule `tool` denies it"),
        ("ask = [\"tool\"]", "there is no terminal to ask at"),
    ] {
        room.config(&format!("[permissions]\n{permissions}\n"));
        let run = call(&room, "tool", json!({}), &[]);
        assert!(result(&run).contains(words), "{run:#?}");
        assert!(
            !run.stderr.contains("does not exist"),
            "the rule is about a tool that exists: {run:#?}"
        );
    }
    room.config("");
    let hooks = room
        .hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = [\"sh\", \"-c\", \"echo never >&2; exit 2\"]\n");
    let run = call(&room, "tool", json!({}), &["--hooks", &hooks]);
    assert_eq!(result(&run), "refused: never");
}

#[test]
fn of_two_tools_with_one_name_the_first_plugin_has_it() {
    let room = room();
    plugin(&room, "a", &bash("same", "", "echo first"));
    let hook = "[[ -n $CHIBI_HOOK ]] && { echo \"$CHIBI_HOOK\" >> \"$HOME/heard\"; exit; }\necho second";
    plugin(&room, "b", &bash("same", ",\"hooks\":[\"on_start\"]", hook));
    let run = call(&room, "same", json!({}), &[])
        .complained("plugin b: its tool \"same\" is not offered: the plugin a has one of that name");
    assert_eq!(result(&run), "first\n");
    assert_eq!(
        room.read("../home/heard"),
        "on_start\n",
        "its hooks count all the same"
    );
}

#[test]
fn a_tool_that_only_gives_the_word_away_never_runs() {
    let room = room();
    let schema = ",\"flow_control\":true,\"ends_turn\":true";
    plugin(&room, "done", &bash("done", schema, "touch \"$HOME/ran\""));
    let run = room
        .run(["tool", "done", r#"{"message":"that was all"}"#])
        .ended_with(0);
    assert_eq!(run.stdout, "that was all");
    assert!(!room.has("../home/ran"));
}

#[test]
fn the_shown_line_of_a_call_has_the_arguments_that_sum_it_up() {
    let room = room();
    plugin(
        &room,
        "go",
        &bash("go", ",\"summary_params\":[\"to\",\"n\",\"none\"]", "echo went"),
    );
    let run = room
        .run(["tool", "go", r#"{"first":"hidden","n":3,"to":"there"}"#])
        .ended_with(0);
    assert_eq!(run.stdout, "went\n");
    run.complained("→ go there 3");
}

#[test]
fn a_direct_call_passes_all_hooks_and_the_gate() {
    let room = room();
    room.write("file.txt", "words");
    let run = room
        .run(["--json", "tool", "read", r#"{"path":"file.txt"}"#])
        .ended_with(0);
    let events: Vec<String> = run
        .events()
        .iter()
        .filter_map(|event| Some(event["event"].as_str()?.to_owned()))
        .collect();
    let expected = [
        "session_start",
        "tool_start",
        "pre_tool",
        "pre_file_read",
        "approval_decided",
        "pre_tool_output",
        "post_tool_output",
        "tool_end",
        "post_tool",
        "session_end",
    ];
    assert_eq!(events, expected);
    assert!(
        room.run(["tool", "read", r#"{"path":"file.txt"}"#])
            .ended_with(0)
            .stdout
            .contains("words")
    );
    let arguments = r#"{"command":"echo hi"}"#;
    room.run(["tool", "shell", arguments])
        .ended_with(1)
        .complained("refused shell: it needs approval");
    let run = room
        .run_with_input(["--yes", "tool", "shell", "-"], arguments)
        .ended_with(0);
    assert_eq!(run.stdout, "hi\n");
    assert_eq!(
        room.run(["--yes", "tool", "shell", r#"{"command":"echo bad; exit 4"}"#])
            .ended_with(1)
            .stdout,
        "bad\n[exit code 4]"
    );
    room.run(["tool", "read", "[]"])
        .ended_with(2)
        .complained("JSON, but not an object");
    room.run(["tool", "read", "{"])
        .ended_with(2)
        .complained("cannot be read");
    room.run(["tool", "raed"])
        .ended_with(1)
        .complained("did you mean `read`?");
    let contexts = room.run(["--json", "contexts"]).ended_with(0);
    assert_eq!(
        contexts.events()[0]["message_count"],
        0,
        "nothing of it is in the conversation"
    );
}

#[test]
fn plugins_are_listed_and_called_with_words() {
    let room = room();
    plugin(
        &room,
        "echo",
        &bash("echo", ",\"hooks\":[\"on_start\",\"pre_tool\"]", "cat"),
    );
    plugin(
        &room,
        "two",
        "#!/bin/sh\necho '[{\"name\":\"x\",\"description\":\"\"},{\"name\":\"y\",\"description\":\"\"}]'\n",
    );
    let run = room.run(["plugin"]).ended_with(0);
    assert_eq!(
        run.stdout,
        "echo                 newer  tools echo  hooks on_start, pre_tool\ntwo                  newer  tools x, y\n"
    );
    let json = room.run(["--json", "plugin"]).ended_with(0).events();
    assert_eq!(json[0]["hooks"], json!(["on_start", "pre_tool"]));
    assert_eq!(json[1]["tools"][1]["name"], "y");
    let run = room.run(["plugin", "echo", "a b", "--c"]).ended_with(0);
    assert_eq!(run.stdout, r#"{"args":["a b","--c"]}"#);
    room.run(["plugin", "two"])
        .ended_with(2)
        .complained("name one of them: x, y");
    room.run(["plugin", "ecko"])
        .ended_with(2)
        .complained("did you mean `echo`?");
}

#[test]
fn the_home_is_the_one_that_was_named() {
    let room = room();
    room.script("../named/plugins/here", &bash("here", "", "echo x"));
    let named = room.home().with_file_name("named").display().to_string();
    room.run(["plugin"])
        .ended_with(2)
        .complained("there is no chibi home");
    room.run(["--chibi-home", "../named", "plugin"])
        .ended_with(0)
        .said("here");
    room.config("[chibi]\nhome = \"../../../named\"\n");
    room.run(["plugin"]).ended_with(0).said("here");
    room.config(&format!("[chibi]\nhome = {named:?}\nenabled = false\n"));
    room.run(["plugin"]).ended_with(2);
    room.run(["--chibi-home", &named, "plugin"])
        .ended_with(0)
        .said("here");
    room.config("[chibi]\nenabled = true\n");
    room.run(["plugin"])
        .ended_with(2)
        .complained("there is no chibi home, but it is enabled");
    room.config("[chibi]\ntool_timeout = 0\n");
    room.run(["plugin"])
        .ended_with(2)
        .complained("`chibi.tool_timeout` is at least 1 second");
    room.config("");
    room.run(["--chibi-home", "gone", "go"])
        .ended_with(2)
        .complained("is not a folder");
    let room = room.with("CHIBI_HOME", &named);
    room.run(["plugin"]).ended_with(0).said("here");
}

#[test]
fn a_cancel_ends_a_plugin_soon_with_all_it_started() {
    let room = room();
    let body = format!("{}\necho begun > \"$HOME/begun\"; sleep 600", helper());
    plugin(&room, "slow", &bash("slow", "", &body));
    let run = room.start(["tool", "slow"]);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !room.has("../home/begun") {
        assert!(Instant::now() < deadline, "the plugin did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.signal(Signal::INT);
    run.finish()
        .ended_with(130)
        .said("[ended: the call was cancelled]");
    helper_has_ended(&room);
}

/// A part of a plugin's script: starts a process that no polite signal ends, and notes its number.
fn helper() -> &'static str {
    "(trap '' INT TERM; exec sleep 600) </dev/null >/dev/null 2>&1 &\necho $! > \"$HOME/helper\""
}

/// Waits until that process is gone, or dead and not yet buried.
#[track_caller]
fn helper_has_ended(room: &Room) {
    let number = room.read("../home/helper");
    let stat = format!("/proc/{}/stat", number.trim());
    let deadline = Instant::now() + TEST_TIMEOUT;
    while std::fs::read_to_string(&stat).is_ok_and(|line| !line.contains(") Z ")) {
        assert!(Instant::now() < deadline, "what the plugin started lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An older plugin that asks on its standard input.
fn asking() -> String {
    let body = "read -p \"Sure about $CHIBI_TOOL_ARGS? \" answer\necho \"answer=$answer\"";
    bash("asking", "", body)
}

#[test]
fn an_older_plugin_asks_the_person_on_its_standard_input() {
    let room = room();
    plugin(&room, "asking", &asking());
    let run = room
        .run_with_input(["tool", "asking", r#"{"a":1}"#], "yes\n")
        .ended_with(0);
    assert_eq!(
        run.stdout, "answer=\n",
        "without a terminal there is nothing to read"
    );
    let Some(terminal) = Terminal::start(room, &["tool", "asking", r#"{"a":1}"#]) else {
        return;
    };
    terminal.wait_for("Sure about {\"a\":1}?");
    terminal.enter("certainly");
    terminal.wait_for("answer=certainly");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn older_plugins_in_other_languages_ask_on_standard_input_as_tools_and_as_guards() {
    let python = "#!/usr/bin/env python3\nimport json, os, sys\n\
                  if sys.argv[1:] == ['--schema']:\n    print(json.dumps({'name': 'asks', 'description': 'Asks', \
                  'hooks': ['pre_tool']}))\n    sys.exit()\n\
                  name = os.environ.get('CHIBI_HOOK') or json.loads(os.environ['CHIBI_TOOL_ARGS'])['a']\n\
                  print(f'Sure about {name}?', file=sys.stderr, flush=True)\n\
                  answer = sys.stdin.readline().strip()\n\
                  print(json.dumps({'block': answer != 'y', 'message': f'you said {answer!r}'}) \
                  if 'CHIBI_HOOK' in os.environ else f'answer={answer}')\n";
    if !needs("python3") {
        return;
    }
    for (first, second, shown, code) in [
        ("y", "certainly", "answer=certainly", 0),
        ("n", "", "you said 'n'", 1),
    ] {
        let room = room();
        plugin(&room, "asks", python);
        let Some(terminal) = Terminal::start(room, &["tool", "asks", r#"{"a":"rain"}"#]) else {
            return;
        };
        terminal.wait_for("Sure about pre_tool?");
        terminal.enter(first);
        if !second.is_empty() {
            terminal.wait_for("Sure about rain?");
            terminal.enter(second);
        }
        terminal.wait_for(shown);
        assert_eq!(terminal.wait_for_end(), code);
    }
}

#[test]
fn a_newer_plugin_asks_the_person_at_the_terminal_that_it_opens() {
    let room = room();
    let body = "args=$(cat); echo \"Run $args?\" >&2; read answer </dev/tty; echo \"answer=$answer\"";
    plugin(&room, "opens", &bash("opens", "", body));
    let Some(terminal) = Terminal::start(room, &["tool", "opens", r#"{"a":1}"#]) else {
        return;
    };
    terminal.wait_for("Run {\"a\":1}?");
    terminal.enter("fine");
    terminal.wait_for("answer=fine");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn a_guard_asks_the_person_at_the_terminal_that_it_opens() {
    let body = "cat >/dev/null; printf 'May it? ' >/dev/tty; read answer </dev/tty\n\
                [[ $answer == y ]] && echo '{}' || echo '{\"block\":true,\"message\":\"the user did not like it\"}'";
    for (answer, shown, code) in [("y", "it ran", 0), ("n", "the user did not like it", 1)] {
        let room = room();
        plugin(&room, "guard", &bash("guard", ",\"hooks\":[\"pre_tool\"]", body));
        plugin(&room, "tool", &bash("tool", "", "echo it ran"));
        let Some(terminal) = Terminal::start(room, &["tool", "tool"]) else {
            return;
        };
        terminal.wait_for("May it?");
        terminal.enter(answer);
        terminal.wait_for(shown);
        assert_eq!(terminal.wait_for_end(), code);
        assert_eq!(
            terminal.text().contains("it ran"),
            code == 0,
            "{}",
            terminal.text()
        );
    }
}

#[test]
fn ctrl_c_ends_a_plugin_that_waits_at_the_terminal_and_the_terminal_is_as_before() {
    for trap in ["trap '' INT", "true"] {
        let room = room();
        let body = format!(
            "{}\nstty -echo </dev/tty; echo 'Password?' >&2; {trap}; read answer </dev/tty",
            helper()
        );
        plugin(&room, "waits", &bash("waits", "", &body));
        let Some(terminal) = Terminal::start(room, &["tool", "waits"]) else {
            return;
        };
        terminal.wait_for("Password?");
        terminal.press("C-c");
        assert_eq!(terminal.wait_for_end(), 130, "{}", terminal.text());
        let modes = |name: &str| terminal.room.read(name);
        assert_eq!(modes("../before"), modes("../after"));
        helper_has_ended(&terminal.room);
    }
}

#[test]
fn a_direct_call_needs_no_model() {
    let room = room();
    room.config("model = \"openai/gpt-x\"\n");
    plugin(&room, "tool", &bash("tool", "", "echo ran"));
    room.run(["tool", "tool"]).ended_with(0).said("ran");
    room.run(["go"]).ended_with(2);
}

#[test]
fn the_doctor_says_which_hooks_there_are_not() {
    let room = room();
    plugin(
        &room,
        "index",
        &bash(
            "index",
            ",\"hooks\":[\"on_start\",\"post_spawn_agent\",\"no_such\"]",
            "",
        ),
    );
    room.run(["doctor"])
        .ended_with(1)
        .said("hooks on_start, post_spawn_agent\n")
        .said("it wants the hook `no_such`");
}
