//! What must not slip past rules, questions and a cancel: tools under other names, files under other paths, variables
//! of other calls, folders behind links.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::room;
use crate::terminal::Terminal;

/// Puts a plugin into the usual home: one tool, which leaves a trace and prints what it was told.
fn stand_in(room: &Room, plugin: &str, tool: &str) {
    let program = format!(
        "#!/bin/bash\nif [[ $1 == --schema ]]; then echo '{{\"name\":\"{tool}\",\"description\":\"x\"}}'; exit; fi\n\
         touch \"$HOME/ran\"; cat\n"
    );
    room.script(&format!("../home/.chibi/plugins/{plugin}"), &program);
}

/// Lets a model make one call, with a yes to every question.
fn call(room: &Room, name: &str, arguments: &Value, options: &[&str]) -> Finished {
    let turns = json!([{"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "went on"}]);
    let model = room.model(&turns);
    room.run([&["--json", "--yes", "--model", &model], options, &["go"]].concat())
        .ended_with(0)
}

/// What the model got as the result of the only call.
fn result(run: &Finished) -> String {
    let ended = run.events_named("post_tool");
    assert_eq!(ended.len(), 1, "{run:#?}");
    ended[0]["result"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_is_forbidden_by_the_name_that_the_model_calls_is_forbidden() {
    let room = room();
    stand_in(&room, "sh", "shell_exec");
    let ls = json!({"command": "ls"});
    for rule in ["shell_exec", "shell_exec:command=ls", "*_exec", "shell"] {
        room.config(&format!("[permissions]\ndeny = [\"{rule}\"]\n"));
        let run = call(&room, "shell_exec", &ls, &[]);
        assert!(result(&run).contains(&format!("`{rule}` denies it")), "{run:#?}");
        assert!(
            !room.has("../home/ran") && !run.stderr.contains("did you mean"),
            "{run:#?}"
        );
    }
    // With chibi's names becket's own tool is called that, too.
    let plain = crate::room();
    plain.config("[permissions]\ndeny = [\"shell_exec:command=*touch*\"]\n");
    let run = call(
        &plain,
        "shell_exec",
        &json!({"command": "touch x"}),
        &["--tools", "chibi"],
    );
    assert!(result(&run).contains("denies it") && !plain.has("x"), "{run:#?}");
    room.config("[permissions]\ndeny = [\"shell_exec:command=rm *\"]\n");
    assert_eq!(
        result(&call(&room, "shell_exec", &ls, &[])),
        r#"{"command":"ls"}"#
    );
}

#[test]
fn an_ask_counts_by_that_name_and_an_allow_does_not() {
    let room = room();
    stand_in(&room, "search", "file_grep");
    stand_in(&room, "sh", "shell_exec");
    room.write("a.txt", "x");
    let unattended = |name: &str, arguments: Value| {
        let turns = json!([{"tool_calls": [{"name": name, "arguments": arguments}]}, {"text": "went on"}]);
        room.run(["--json", "--model", &room.model(&turns), "go"])
            .ended_with(0)
    };
    let grep = json!({"path": "a.txt", "pattern": "x"});
    assert!(!result(&unattended("file_grep", grep.clone())).contains("it needs approval"));
    room.config("[permissions]\nask = [\"file_grep\"]\n");
    assert!(result(&unattended("file_grep", grep)).contains("it needs approval"));
    room.config("[permissions]\nallow = [\"shell_exec\"]\n");
    let run = unattended("shell_exec", json!({"command": "ls"})).complained(
        "the rule `shell_exec` names the tool `shell_exec`, which does not exist; did you mean `shell`?",
    );
    assert!(result(&run).contains("it needs approval"), "{run:#?}");
}

#[test]
fn a_hook_that_waits_for_a_stand_in_by_its_name_is_told() {
    let room = room();
    stand_in(&room, "sh", "shell_exec");
    stand_in(&room, "own", "something_else");
    let hook = |tool: &str| {
        room.config(&format!(
            "[[hook]]\nevent = \"pre_tool\"\nmatch = {{ tool = \"{tool}\" }}\ncommand = [\"false\"]\n"
        ));
    };
    hook("shell_exec");
    let words = "wants the tool `shell_exec`, which does not exist; did you mean `shell`?";
    call(&room, "shell_exec", &json!({"command": "ls"}), &[]).complained(words);
    room.run(["doctor", "--model", "rehearsal"])
        .ended_with(1)
        .said(words);
    hook("something_else");
    let run = call(&room, "something_else", &json!({}), &[]);
    assert!(!run.stderr.contains("which does not exist"), "{run:#?}");
}

#[test]
fn a_rule_about_reading_binds_a_search_in_one_file_by_a_plugin() {
    let room = room();
    room.write("secret.txt", "hunter2\n");
    room.write("plain.txt", "hunter2\n");
    let search = |path: &str| json!({"path": path, "pattern": "hunter"});
    room.config("[permissions]\ndeny = [\"read:path=secret*\"]\n");
    let hidden = result(&call(&room, "grep", &search("secret.txt"), &[]));
    assert!(
        !hidden.contains("hunter2") && !hidden.contains("denies"),
        "{hidden}"
    );
    stand_in(&room, "search", "file_grep");
    let refused = result(&call(&room, "file_grep", &search("secret.txt"), &[]));
    assert!(
        refused.contains("`read:path=secret*` denies reading it"),
        "{refused}"
    );
    assert!(!room.has("../home/ran"));
    assert!(!result(&call(&room, "file_grep", &search("plain.txt"), &[])).contains("denies"));
}

#[test]
fn a_yes_to_a_plugins_tool_is_none_to_beckets_own() {
    let room = room();
    stand_in(&room, "runner", "shell_exec");
    let turn = |name: &str, command: &str| json!({"tool_calls": [{"name": name, "arguments": {"command": command}}]});
    let turns = json!([turn("shell_exec", "one"), turn("shell_exec", "one"), turn("shell", "one"),
        {"text": "went on"}]);
    let model = room.model(&turns);
    let Some(terminal) = Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    terminal.wait_for("? shell from runner");
    terminal.wait_for_answers(1);
    terminal.enter("s");
    terminal.wait_for("? shell, which runs one\n");
    terminal.wait_for_answers(2);
    terminal.enter("n");
    terminal.wait_for("went on");
    assert_eq!(terminal.wait_for_end(), 0);
    let text = terminal.text();
    assert_eq!(text.matches("[s]ame call again").count(), 2, "{text}");
}

#[test]
fn ctrl_c_refuses_what_a_guard_at_the_terminal_was_asked_about() {
    let room = room();
    let guard = "#!/bin/bash\n\
                 if [[ $1 == --schema ]]; then echo '{\"name\":\"g\",\"description\":\"x\",\"hooks\":[\"pre_tool\"]}'; exit; fi\n\
                 trap 'exit 0' INT; cat >/dev/null; printf 'May it? ' >/dev/tty; read answer </dev/tty\n";
    room.script("../home/.chibi/plugins/guard", guard);
    stand_in(&room, "tool", "tool");
    let Some(terminal) = Terminal::start(room, &["tool", "tool"]) else {
        return;
    };
    terminal.wait_for("May it?");
    terminal.press("C-c");
    assert_eq!(terminal.wait_for_end(), 130, "{}", terminal.text());
    assert!(!terminal.room.has("../home/ran"), "{}", terminal.text());
}

/// A room whose virtual file system lies in the folder `state`, below the working directory.
fn with_vfs_inside(rules: &str) -> (Room, [&'static str; 4]) {
    let room = room();
    room.write("state/plugins/none", "");
    room.config(&format!("[permissions]\n{rules}\n"));
    (room, ["-c", "me", "--chibi-home", "state"])
}

#[test]
fn a_rule_about_writing_binds_everything_that_changes_the_virtual_file_system() {
    let (room, options) = with_vfs_inside("deny = [\"write:path=vfs:///shared/box/keep*\"]");
    room.write("state/vfs/shared/box/keep/a", "kept");
    room.write("state/vfs/shared/free", "free");
    let refused = [
        (
            "vfs_copy",
            json!({"src": "vfs:///shared/free", "dst": "vfs:///shared/box/keep/b"}),
        ),
        (
            "vfs_move",
            json!({"src": "vfs:///shared/free", "dst": "vfs:///shared/box/keep/b"}),
        ),
        (
            "vfs_move",
            json!({"src": "vfs:///shared/box", "dst": "vfs:///shared/other"}),
        ),
        (
            "vfs_move",
            json!({"src": "vfs:///shared/box/keep/a", "dst": "vfs:///shared/a"}),
        ),
        (
            "vfs_delete",
            json!({"path": "vfs:///shared/box", "recursive": true}),
        ),
        ("vfs_delete", json!({"path": "vfs:///shared/box/keep/a"})),
        ("vfs_mkdir", json!({"path": "vfs:///shared/box/keep/new"})),
    ];
    for (tool, arguments) in refused {
        let run = call(&room, tool, &arguments, &options);
        assert!(
            result(&run).contains("denies writing it"),
            "{tool} {arguments}: {run:#?}"
        );
    }
    assert_eq!(room.read("state/vfs/shared/box/keep/a"), "kept");
    let copy = json!({"src": "vfs:///shared/box/keep/a", "dst": "vfs:///shared/copy"});
    call(&room, "vfs_copy", &copy, &options);
    assert_eq!(
        room.read("state/vfs/shared/copy"),
        "kept",
        "what is copied is not changed"
    );
}

#[test]
fn a_rule_about_a_source_or_a_destination_follows_links() {
    let rules = "deny = [\"vfs_copy:src=vfs:///shared/real/*\", \"vfs_move:dst=vfs:///shared/alias/*\"]";
    let (room, options) = with_vfs_inside(rules);
    room.write("state/vfs/shared/real/a", "a");
    room.write("state/vfs/shared/b", "b");
    symlink("real", room.work().join("state/vfs/shared/alias")).expect("a link can be made");
    let copy = json!({"src": "vfs:///shared/alias/a", "dst": "vfs:///shared/c"});
    let run = call(&room, "vfs_copy", &copy, &options);
    assert!(result(&run).contains("denies it"), "{run:#?}");
    let move_there = json!({"src": "vfs:///shared/b", "dst": "vfs:///shared/alias/b"});
    let run = call(&room, "vfs_move", &move_there, &options);
    assert!(
        result(&run).contains("denies it"),
        "as it was written, too: {run:#?}"
    );
    assert!(room.has("state/vfs/shared/b") && !room.has("state/vfs/shared/c"));
}

#[test]
fn a_path_into_the_folder_behind_the_virtual_file_system_is_judged_as_the_address() {
    let (room, options) = with_vfs_inside("deny = [\"read:path=vfs:///shared/secret\"]");
    room.write("state/vfs/shared/secret", "hunter2\n");
    room.write("state/vfs/shared/open", "hunter3\n");
    symlink("state/vfs/home", room.work().join("homes")).expect("a link can be made");
    for path in ["state/vfs/home/other/x", "homes/other/x", "state/vfs/x"] {
        let run = call(&room, "write", &json!({"path": path, "content": "x"}), &options);
        assert!(
            result(&run).contains("the context me may not write vfs:///"),
            "{path}: {run:#?}"
        );
        assert!(!room.has(path));
    }
    let run = call(
        &room,
        "write",
        &json!({"path": "state/vfs/shared/x", "content": "x"}),
        &options,
    );
    assert_eq!(run.events_named("pre_vfs_write")[0]["path"], "vfs:///shared/x");
    assert!(run.events_named("pre_file_write").is_empty() && room.has("state/vfs/shared/x"));
    let run = call(
        &room,
        "read",
        &json!({"path": "state/vfs/shared/secret"}),
        &options,
    );
    assert!(result(&run).contains("denies it"), "{run:#?}");
    for path in [".", "state/vfs"] {
        let found = result(&call(
            &room,
            "grep",
            &json!({"pattern": "hunter", "path": path}),
            &options,
        ));
        assert!(
            found.contains("hunter3") && !found.contains("hunter2"),
            "{path}: {found}"
        );
    }
}

#[test]
fn variables_of_another_call_reach_no_command_and_no_plugin() {
    let mut room = room();
    for name in [
        "HOOK",
        "HOOK_DATA",
        "TOOL_NAME",
        "TOOL_ARGS",
        "CONTEXT",
        "VERBOSE",
    ] {
        room = room.with(&format!("CHIBI_{name}"), "inherited");
    }
    let run = call(
        &room,
        "shell",
        &json!({"command": "env | grep ^CHIBI_ || echo none"}),
        &[],
    );
    assert!(result(&run).starts_with("none"), "{run:#?}");
    let older = "#!/bin/bash\nif [[ $1 == --schema ]]; then echo '{\"name\":\"old\",\"description\":\"x\"}'; exit; fi\n\
                 echo \"$CHIBI_TOOL_ARGS ${CHIBI_VERBOSE-none}\"\n";
    room.script("../home/.chibi/plugins/old", older);
    assert_eq!(result(&call(&room, "old", &json!({}), &[])), "{} none\n");
    room.config("[chibi]\nverbose = true\n");
    assert_eq!(result(&call(&room, "old", &json!({}), &[])), "{} 1\n");
}

#[test]
fn a_context_whose_folder_is_a_link_is_not_destroyed_by_halves() {
    let room = room();
    for context in ["drop", "main"] {
        room.run(["-c", context, "--model", "rehearsal", "hello"])
            .ended_with(0);
    }
    room.write("precious/goals.md", "mine");
    let contexts = room.home().join(".local/share/becket/contexts");
    std::fs::create_dir_all(&contexts).expect("a folder can be made");
    let _ = std::fs::remove_dir_all(contexts.join("drop"));
    symlink(room.work().join("precious"), contexts.join("drop")).expect("a link can be made");
    room.run(["context", "destroy", "--yes", "drop"])
        .ended_with(1)
        .complained("the context drop stays")
        .complained("it is a symbolic link");
    assert_eq!(room.read("precious/goals.md"), "mine");
    room.run(["context", "log", "drop"]).ended_with(0).said("hello");
    std::fs::remove_file(contexts.join("drop")).expect("the link is there");
    room.run(["context", "destroy", "--yes", "drop"]).ended_with(0);
}
