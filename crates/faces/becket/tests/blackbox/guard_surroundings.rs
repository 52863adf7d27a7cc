//! What a guard finds around it: the shell that runs it, its variables, its programs.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Room, needs};

use crate::plugins::plugin;
use crate::room;
use crate::unloaded::touching;

/// Commands that an `echo` may cut short or turn into something else, all with `touch gone` in them.
const COMMANDS: &[&str] = &[
    r"true '\c'; touch gone",
    r"true \\c; touch gone",
    r"printf 'a\nb\\c\0101\x41'; touch gone",
    r"true '\u005c\u005cc'; touch gone",
    "true \"\\\\\n\\\"\"\ntouch gone",
    r"true -n -e '\e'; touch gone",
];

/// The guard of many documents, in a shell's words; `field` is where its input has the command.
fn guard(field: &str) -> String {
    format!(
        "INPUT=$(cat)\nCMD=$(echo \"$INPUT\" | jq -r {field})\nif echo \"$CMD\" | grep -q 'touch gone'; then\n  \
         echo 'not here' >&2; exit 2\nfi\n"
    )
}

fn own(program: &Value) -> String {
    let program = toml_text(program);
    format!("[[hook]]\nevent = \"pre_tool\"\nmatch = {{ tool = \"shell\" }}\ncommand = {program}\n")
}

/// JSON is TOML, as far as texts and lists of them go.
fn toml_text(value: &Value) -> String {
    value.to_string()
}

/// Lets a model ask for every command under these options: all of them are refused.
#[track_caller]
fn all_refused(room: &Room, options: &[&str]) {
    let call = |command: &&str| json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]});
    let turns = COMMANDS.iter().map(call).chain([json!({"text": "went on"})]);
    let model = room.model(&Value::from(turns.collect::<Vec<_>>()));
    let words = [&["--yes", "--model", &model], options, &["go"]].concat();
    let run = room.run(words).ended_with(0);
    assert!(!room.has("gone"), "{run:#?}");
    let refused = run.stderr.matches("refused shell: not here").count();
    assert_eq!(refused, COMMANDS.len(), "{run:#?}");
}

/// Whatever bash is told by variables before it reads a line.
fn with_bash_variables(room: Room) -> Room {
    let evil = room.write("../evil.sh", "echo() { :; }\nshopt -s xpg_echo\n");
    let evil = evil.display().to_string();
    room.with("BASHOPTS", "xpg_echo")
        .with("SHELLOPTS", "noexec")
        .with("BASH_ENV", &evil)
        .with("ENV", &evil)
        .with("BASH_FUNC_grep%%", "() { return 1; }")
        .with("BASH_FUNC_echo%%", "() { :; }")
        .with("POSIXLY_CORRECT", "1")
        .with("GLOBIGNORE", "*")
}

#[test]
fn no_backslash_slips_past_a_guard_in_the_words_of_a_shell() {
    if !needs("jq") || !needs("bash") {
        return;
    }
    let room = with_bash_variables(room());
    let hooks = room.hooks(&own(&json!(guard(".arguments.command"))));
    all_refused(&room, &["--hooks", &hooks]);
    let foreign = guard(".tool_input.cmd");
    all_refused(&room, &["--hook-pre-tool-use", &foreign]);
    for shell in ["/bin/sh", "/usr/bin/fish"] {
        let room = with_bash_variables(crate::room()).with("SHELL", shell);
        all_refused(&room, &["--hook-pre-tool-use", &foreign]);
    }
}

/// A guard that does not `echo` what it has decoded: then every shell is good enough.
fn careful(field: &str) -> String {
    guard(field).replace("echo \"$CMD\"", "printf '%s\\n' \"$CMD\"")
}

fn shells() -> Vec<PathBuf> {
    let names = ["dash", "bash", "zsh", "mksh", "busybox"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &&str| {
        let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
        files.find(|file| file.is_file())
    };
    names.iter().filter(|name| needs(name)).filter_map(find).collect()
}

#[test]
fn a_guard_reads_what_was_asked_for_in_every_shell() {
    if !needs("jq") {
        return;
    }
    for mut shell in shells() {
        let room = with_bash_variables(room());
        if shell.ends_with("busybox") {
            let link = room.home().join("ash");
            std::os::unix::fs::symlink(shell, &link).unwrap();
            shell = link;
        }
        let shell = shell.display().to_string();
        let room = room.with("SHELL", &shell);
        all_refused(&room, &["--hook-pre-tool-use", &careful(".tool_input.cmd")]);
        let hooks = own(&json!([shell, "-c", careful(".arguments.command")]));
        let hooks = room.hooks(&hooks);
        all_refused(&room, &["--hooks", &hooks]);
    }
}

/// Shells as the first line of a script names them. An `ash` is busybox under that name.
fn first_lines(room: &Room) -> Vec<String> {
    let mut lines = Vec::new();
    for shell in shells() {
        let name = shell
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name == "busybox" {
            let link = room.home().join("ash");
            std::os::unix::fs::symlink(&shell, &link).unwrap();
            lines.push(format!("#!{}", link.display()));
            continue;
        }
        lines.push(format!("#!{}", shell.display()));
        lines.push(format!("#!/usr/bin/env {name}"));
        if name == "zsh" {
            lines.push(format!("#! {} -f", shell.display()));
            lines.push("#!/usr/bin/env -S zsh -f".to_owned());
        }
    }
    lines
}

#[test]
fn a_script_reads_what_was_asked_for_in_the_shell_that_it_names() {
    if !needs("jq") {
        return;
    }
    let room = with_bash_variables(room());
    for first in first_lines(&room) {
        let file = room.script("../guard", &format!("{first}\n{}", careful(".arguments.command")));
        let file = file.display().to_string();
        for program in [
            json!([file, "-x", "a b"]),
            json!(file),
            json!(format!("{file} -x")),
        ] {
            let hooks = room.hooks(&own(&program));
            all_refused(&room, &["--hooks", &hooks]);
        }
        let foreign = room.script("../foreign", &format!("{first}\n{}", careful(".tool_input.cmd")));
        all_refused(&room, &["--hook-pre-tool-use", &foreign.display().to_string()]);
        // It finds its name, its arguments and its variables as the system would have passed them.
        let told = "printf '%s|' \"$0\" \"$#\" \"$1\" \"$2\" \"$MINE\" > told; echo 'not here' >&2; exit 2";
        room.script("../guard", &format!("{first}\n{told}\n"));
        let hook = own(&json!([file, "-x", "a b"])) + "env = { MINE = \"m\" }\n";
        let hooks = room.hooks(&hook);
        all_refused(&room, &["--hooks", &hooks]);
        assert_eq!(room.read("told"), format!("{file}|2|-x|a b|m|"), "{first}");
        // One that may not be executed is not executed.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let hooks = room.hooks(&own(&json!([file])));
        let run = room.run([
            "--yes",
            "--hooks",
            &hooks,
            "--model",
            &room.model(&touching()),
            "go",
        ]);
        assert!(!room.has("made") && run.stderr.contains("chmod +x"), "{run:#?}");
        std::fs::remove_file(&file).unwrap();
    }
    let schema = r#"{"name":"p","description":"P","hooks":["pre_tool"]}"#;
    let text = careful(".arguments.command").replace(
        "  echo 'not here' >&2; exit 2",
        "  echo '{\"block\": true, \"message\": \"not here\"}'",
    );
    for first in first_lines(&with_bash_variables(crate::room())) {
        let room = with_bash_variables(crate::room());
        if first.ends_with("/ash") {
            continue;
        }
        let program = format!("{first}\nif [ \"$1\" = --schema ]; then echo '{schema}'; exit; fi\n{text}");
        plugin(&room, "p", &program);
        all_refused(&room, &[]);
    }
}

#[test]
fn a_guard_whose_script_was_emptied_refuses() {
    let empty = ["", " \n\n", "#!/bin/sh\n"];
    for text in empty {
        let room = room();
        for name in ["guard.sh", "guard.py", "my guard.sh"] {
            room.script(name, text);
            room.script(&format!("../{name}"), text);
        }
        let here = room.work().display().to_string();
        let lines = [
            "./guard.sh".to_owned(),
            "bash guard.sh".to_owned(),
            "bash -eu guard.sh --strict".to_owned(),
            "python3 guard.py".to_owned(),
            "sh -c './guard.sh'".to_owned(),
            "exec ./guard.sh".to_owned(),
            "\"$PWD_OF_TEST/my guard.sh\"".to_owned(),
            format!("{here}/guard.sh x"),
        ];
        let room = room.with("PWD_OF_TEST", &here);
        let model = room.model(&touching());
        let refused = |options: &[&str]| {
            let run = room.run([&["--yes", "--model", &model], options, &["go"]].concat());
            assert!(!room.has("made"), "{text:?} {options:?}: {run:#?}");
            assert!(
                run.stderr.contains("is empty, so it would let"),
                "{text:?} {options:?}: {run:#?}"
            );
        };
        for line in &lines {
            let hooks = room.hooks(&own(&json!(line)));
            refused(&["--hooks", &hooks]);
            refused(&["--hook-pre-tool-use", line]);
        }
        let hooks = room.hooks(&own(&json!(["./guard.sh", "x"])));
        refused(&["--hooks", &hooks]);
        let hooks = room.hooks(&own(&json!(["bash", format!("{here}/guard.sh")])));
        refused(&["--hooks", &hooks]);
        // A filter, too; what only observes may be empty.
        let filter = own(&json!("./guard.sh")).replace("pre_tool", "pre_tool_output");
        let hooks = room.hooks(&filter);
        let run = room.run(["--yes", "--json", "--hooks", &hooks, "--model", &model, "go"]);
        assert!(run.stderr.contains("is empty, so it would let"), "{run:#?}");
        std::fs::remove_file(room.work().join("made")).unwrap();
        let hooks = room.hooks(&own(&json!("./guard.sh")).replace("pre_tool", "post_tool"));
        let run = room
            .run(["--yes", "--hooks", &hooks, "--model", &model, "go"])
            .ended_with(0);
        assert!(room.has("made") && !run.stderr.contains("is empty"), "{run:#?}");
    }
}

#[test]
fn a_plugin_for_sh_reads_what_was_asked_for() {
    if !needs("jq") {
        return;
    }
    let room = with_bash_variables(room());
    let text = careful(".arguments.command").replace(
        "  echo 'not here' >&2; exit 2",
        "  echo '{\"block\": true, \"message\": \"not here\"}'",
    );
    let schema = r#"{"name":"p","description":"P","hooks":["pre_tool"]}"#;
    plugin(
        &room,
        "p",
        &format!("#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{schema}'; exit; fi\n{text}"),
    );
    all_refused(&room, &[]);
}

#[test]
fn programs_of_guards_are_not_those_of_the_working_directory() {
    let refuses = "#!/bin/sh\necho 'not here' >&2; exit 2\n";
    for path in [".", "", "bin", "./bin:", "../work"] {
        let room = room();
        room.script("../tools/becket-guard", refuses);
        for planted in ["becket-guard", "bin/becket-guard", "work/becket-guard"] {
            room.script(planted, "#!/bin/sh\nexit 0\n");
        }
        let tools = room.work().join("../tools").canonicalize().unwrap();
        let path = format!("{path}:{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let room = room.with("PATH", &path);
        let hooks = [
            own(&json!("becket-guard")),
            own(&json!(["becket-guard"])),
            own(&json!("exec env becket-guard")),
        ];
        for hook in hooks {
            let hooks = room.hooks(&hook);
            all_refused(&room, &["--hooks", &hooks]);
        }
        all_refused(&room, &["--hook-pre-tool-use", "becket-guard"]);
        let schema = r#"{"name":"p","description":"P","hooks":["pre_tool"]}"#;
        let body = "becket-guard || echo '{\"block\": true, \"message\": \"not here\"}'";
        let text = format!("#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{schema}'; exit; fi\n{body}\n");
        plugin(&room, "p", &text);
        all_refused(&room, &[]);
    }
}

#[test]
fn tokens_reach_neither_tools_nor_hooks_and_the_rest_does() {
    let token = "0123456789abcdef0123456789abcdef";
    let room = room()
        .with("BECKET_WEB_TOKEN", token)
        .with("OTEL_EXPORTER_OTLP_HEADERS", &format!("authorization={token}"))
        .with("OPENROUTER_API_KEY", token)
        .with("NODE_OPTIONS", "--no-warnings")
        .with("PYTHONPATH", "/somewhere")
        .with("https_proxy", "http://127.0.0.1:9")
        .with("PATH", &format!(".:{}", std::env::var("PATH").unwrap()));
    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"env > of_hook\"\n\
         [[hook]]\nevent = \"pre_tool\"\ncommand = \"env > of_other\"\npass_env = [\"BECKET_WEB_TOKEN\"]\n",
    );
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "env > of_tool"}}]},
        {"text": "went on"},
    ]));
    let words = ["--yes", "--hooks", &hooks, "--model", &model];
    room.run(words.iter().chain(&["go"])).ended_with(0);
    for file in ["of_hook", "of_tool"] {
        let variables = room.read(file);
        assert!(!variables.contains(token), "{file}: {variables}");
        for kept in ["NODE_OPTIONS=", "PYTHONPATH=", "https_proxy="] {
            assert!(variables.contains(kept), "{file}: {variables}");
        }
    }
    assert!(room.read("of_other").contains(token));
    // The model's own shell looks for programs where the user's does.
    assert!(room.read("of_tool").contains("PATH=.:"));
    assert!(!room.read("of_hook").contains("PATH=.:"));
}

#[test]
fn a_check_names_the_echo_that_may_change_a_command() {
    let room = room();
    let script = format!("#!/bin/sh\n{}", guard(".arguments.command"));
    room.script("../guard.sh", &script);
    let cases = [
        (own(&json!(["./guard.sh"])), Some((4, "guard.sh", 1))),
        (own(&json!(["./careful.sh"])), None),
        (own(&json!(["./bash.sh"])), None),
        (
            format!(
                "[[hook]]\nevent = \"pre_tool\"\ncommand = '''\n{}'''\n",
                guard(".arguments.command")
            ),
            Some((6, "hooks.toml", 0)),
        ),
    ];
    room.script(
        "../careful.sh",
        &format!("#!/bin/sh\n{}", careful(".arguments.command")),
    );
    room.script(
        "../bash.sh",
        &format!("#!/usr/bin/env bash\n{}", guard(".arguments.command")),
    );
    for (hooks, wanted) in cases {
        let hooks = room.hooks(&hooks);
        let run = room.run(["hooks", "check", "--json", &hooks]);
        let told: Value = serde_json::from_str(&run.stdout).expect("one object");
        let findings = told["findings"].as_array().expect("a list");
        let Some((line, file, code)) = wanted else {
            assert!(findings.is_empty() && run.code == 0, "{run:#?}");
            continue;
        };
        assert_eq!((findings.len(), run.code), (1, code), "{run:#?}");
        let finding = &findings[0];
        assert_eq!(finding["kind"], "changed_by_echo");
        assert_eq!(finding["line"], line, "{run:#?}");
        assert!(finding["file"].as_str().unwrap().ends_with(file), "{run:#?}");
        assert_eq!(finding["hint"], "printf '%s\\n' \"$CMD\"");
    }
}
