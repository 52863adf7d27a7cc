//! What the user can answer to a question about a call, and the rules that are stored there: no answer allows a tool.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::room;
use crate::terminal::Terminal;

fn shell(command: &str) -> Value {
    json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}]})
}

fn write(path: &str, content: &str) -> Value {
    json!({"tool_calls": [{"name": "write", "arguments": {"path": path, "content": content}}]})
}

/// Who decided about each of these commands, in a run where nobody is there to ask.
fn decided(room: &Room, folder: &str, arguments: &[&str], commands: &[&str]) -> Vec<String> {
    let turns = commands.iter().map(|command| shell(command));
    let turns: Vec<Value> = turns.chain([json!({"text": "done"})]).collect();
    let model = room.model(&json!(turns));
    let folder = room.work().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let arguments = [&["--json", "--model", &model], arguments, &["go"]].concat();
    let run = room.command(&arguments).current_dir(folder).output().unwrap();
    let run = Finished {
        stdout: String::from_utf8(run.stdout).unwrap(),
        stderr: String::from_utf8(run.stderr).unwrap(),
        code: run.status.code().unwrap_or(-1),
    };
    let decided = run.ended_with(0).events_named("approval_decided");
    let source = |event: &Value| event["source"].as_str().unwrap().to_owned();
    decided.iter().map(source).collect()
}

/// How often a text stands on the terminal, at least.
fn wait_for(terminal: &Terminal, text: &str, count: usize) {
    terminal.wait_until(text, |shown| shown.matches(text).count() >= count);
}

#[test]
fn a_rule_is_shown_before_it_is_stored_and_counts_for_its_project() {
    let room = room();
    room.write(".git/HEAD", "ref: refs/heads/main\n");
    let model = room.model(&json!([
        shell("ls one"), shell("ls two"), shell("ls one; touch ran"),
        {"text": "all done", "expect": ["the user said no: too much"]},
    ]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    terminal.wait_for("[r]ule: always allow `ls …` in this project");
    // The answers that allowed a tool, or everything, are gone.
    for (count, answer) in [(2, "t"), (3, "a"), (4, "all")] {
        terminal.enter(answer);
        wait_for(&terminal, "command: ls one", count);
    }
    terminal.enter("r");
    wait_for(&terminal, "shell:command=ls …", 1);
    terminal.wait_for("/permissions/");
    terminal.enter("n");
    // Its answers come last.
    wait_for(&terminal, "[r]ule: always", 5);
    terminal.enter("r");
    wait_for(&terminal, "shell:command=ls …", 2);
    terminal.enter("shell:command=l*");
    terminal.wait_for("cannot be stored: a shell would not take its words literally");
    wait_for(&terminal, "[r]ule: always", 6);
    terminal.enter("r");
    wait_for(&terminal, "shell:command=ls …", 3);
    terminal.enter("y");
    // The second call is covered; the third is not, and no rule is offered for it.
    terminal.wait_for("command: ls one; touch ran");
    terminal.wait_until("a question without a rule", |shown| {
        let last = shown.rsplit("touch ran").next().unwrap_or_default();
        last.contains("[s]ame call") && !last.contains("[r]ule") && last.contains("[c]ancel")
    });
    terminal.enter("n too much");
    terminal.wait_for("all done");
    assert_eq!(terminal.wait_for_end(), 0);
    assert_eq!(
        terminal.text().matches("command: ls two").count(),
        0,
        "{}",
        terminal.text()
    );
    let room = &terminal.room;
    assert!(!room.has("ran"));
    let files: Vec<_> = std::fs::read_dir(room.work()).unwrap().flatten().collect();
    assert_eq!(files.len(), 1, "nothing of it lies in the project: {files:?}");
    it_counts_here_and_nowhere_else(room);
    it_is_listed_and_removed(room);
}

fn it_counts_here_and_nowhere_else(room: &Room) {
    let covered = ["ls", "ls src", "ls ./src/a.rs ."];
    let refused = [
        "ls -l", "ls /etc", "ls ..", "ls *", "ls $HOME", "ls `x`", "ls > x", "ls | sh", "ls &", "ls\nrm x",
        "A=b ls", "lsblk", "ls ~", "rm -rf x",
    ];
    assert_eq!(decided(room, ".", &[], &covered), ["allow_rule"; 3]);
    assert_eq!(decided(room, "src/deep", &[], &["ls"]), ["allow_rule"]);
    assert_eq!(decided(room, ".", &[], &refused), ["headless"; 14]);
    // Neither in another project, nor against rules and guards that deny.
    room.write("module/.git", "gitdir: ../.git/modules/module\n");
    assert_eq!(decided(room, "module", &[], &["ls"]), ["headless"]);
    assert_eq!(decided(room, "..", &[], &["ls"]), ["headless"]);
    room.config("[permissions]\ndeny = [\"shell:command=*secret*\"]\n");
    assert_eq!(decided(room, ".", &["--yes"], &["ls secret"]), ["deny_rule"]);
    let hooks = room.hooks("[[hook]]\nevent = \"pre_tool\"\ncommand = \"exit 2\"\n");
    assert_eq!(decided(room, ".", &["--hooks", &hooks], &["ls"]), ["hook"]);
}

fn it_is_listed_and_removed(room: &Room) {
    let listed = room.run(["--json", "permissions", "list"]).ended_with(0).events();
    let root = room.work().canonicalize().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(
        (
            &listed[0]["rule"],
            &listed[0]["project"],
            &listed[0]["current"],
            &listed[0]["number"]
        ),
        (
            &json!("shell:command=ls …"),
            &json!(root),
            &json!(true),
            &json!(1)
        )
    );
    let file = listed[0]["file"].as_str().unwrap();
    room.run(["permissions"])
        .ended_with(0)
        .said(&format!("* {}, in {file}\n", root.display()))
        .said("    1  shell:command=ls …\n");
    room.run(["permissions", "remove", "2"])
        .ended_with(2)
        .complained("there is no stored rule 2");
    room.run(["permissions", "remove", "ls"])
        .ended_with(2)
        .complained("`ls`");
    // Whatever somebody writes there, a rule counts only if it could have been stored.
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replace("shell:command=ls …", "shell:command=touch *")).unwrap();
    assert_eq!(decided(room, ".", &[], &["touch ran"]), ["headless"]);
    room.run(["hello"])
        .ended_with(0)
        .complained("is ignored: the rule `shell:command=touch *` cannot be stored");
    std::fs::write(file, "allow = 7").unwrap();
    room.run(["hello"])
        .ended_with(0)
        .complained("stored permissions are ignored");
    room.run(["permissions"])
        .ended_with(1)
        .complained("cannot be read");
    std::fs::write(file, text).unwrap();
    room.run(["permissions", "remove", "ls …"])
        .ended_with(0)
        .complained("removed `shell:command=ls …`");
    assert_eq!(decided(room, ".", &[], &["ls"]), ["headless"]);
    assert!(!std::path::Path::new(file).exists());
    room.run(["permissions", "list"])
        .ended_with(0)
        .complained("no rules are stored");
    room.run(["-C", "x", "permissions"]).ended_with(2);
}

#[test]
fn a_yes_for_the_session_is_one_to_the_same_call_or_the_same_file() {
    let room = room();
    let model = room.model(&json!([
        shell("touch first"), shell("rm first"), shell("touch first"), shell("touch second"),
        write("notes", "one"), write("notes", "two"), write("other", "x"),
        {"text": "all done"},
    ]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    terminal.enter("go");
    // The question of the chat has the same answers, each with its letter.
    terminal.wait_for("[s]ame call again in this session");
    terminal.wait_for("[r]ule: always allow `touch first` in this project");
    terminal.press("t");
    terminal.press("a");
    terminal.press("s");
    terminal.wait_for("command: rm first");
    terminal.press("y");
    terminal.wait_for("command: touch second");
    assert!(terminal.room.has("first"), "the same call ran again, unasked");
    terminal.press("n");
    terminal.wait_for("Why not?");
    terminal.enter("enough");
    terminal.wait_for("+one");
    terminal.wait_for("[s]ame file again in this session");
    terminal.press("s");
    terminal.wait_for("+x");
    assert_eq!(terminal.room.read("notes"), "two");
    terminal.press("n");
    terminal.wait_for("Why not?");
    terminal.press("Enter");
    terminal.wait_for("all done");
    assert!(!terminal.room.has("second") && !terminal.room.has("other"));
    terminal.wait_for_mark();
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn in_a_chat_the_rule_can_be_edited_and_declined() {
    let room = room();
    let model = room.model(&json!([shell("ls -a one"), shell("ls -a two"), {"text": "all done"}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    terminal.enter("go");
    terminal.wait_for("[r]ule: always allow `ls -a one …` in this project");
    terminal.press("r");
    terminal.wait_for("Always allow this in this project?");
    terminal.press("Escape");
    terminal.wait_until("the question again", |shown| {
        shown.contains("[y]es") && !shown.contains("Always allow this")
    });
    terminal.press("r");
    terminal.wait_for("Always allow this in this project?");
    for _ in 0.."one …".chars().count() {
        terminal.press("BSpace");
    }
    terminal.enter("...");
    terminal.wait_for("all done");
    terminal.wait_for_mark();
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
    terminal
        .room
        .run(["permissions"])
        .ended_with(0)
        .said("shell:command=ls -a …");
}

#[test]
fn a_hook_that_asks_is_asked_again_and_nothing_that_lasts_is_offered() {
    let room = room();
    let model = room.model(&json!([shell("ls one"), shell("ls one"), {"text": "all done"}]));
    let ask = r#"echo '{"verdict":{"ask":"sure?"}}'"#;
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"pre_tool\"\ncommand = '''{ask}'''\n"
    ));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "--hooks", &hooks, "go"]) else {
        return;
    };
    for count in [1, 3] {
        wait_for(&terminal, "[y]es, [n]o, and why, [c]ancel:", count);
        terminal.enter("s");
        wait_for(&terminal, "[y]es, [n]o, and why, [c]ancel:", count + 1);
        terminal.enter("y");
    }
    terminal.wait_for("all done");
    assert_eq!(terminal.wait_for_end(), 0);
    let text = terminal.text();
    assert!(!text.contains("[s]ame") && !text.contains("[r]ule"), "{text}");
}
