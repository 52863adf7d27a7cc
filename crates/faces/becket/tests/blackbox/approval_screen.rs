//! Pictures of questions about calls: the difference that an edit or a write makes, commands, and the permission mode.

use std::time::Duration;

use serde_json::{Value, json};

use crate::room;
use crate::terminal::Terminal;

const MAIN: &str = "fn main() {\n    let a = 1;\n    let b = 2;\n    println!(\"{a} {b}\");\n}\n";

fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

fn edit_main() -> Value {
    let edits = json!([{"old_text": "    let b = 2;\n", "new_text": "    let b = 3;\n    let c = 4;\n"}]);
    call("edit", json!({"path": "src/main.rs", "edits": edits}))
}

/// A chat of a size, in which the model makes these calls, and then says that all is done.
fn chat(columns: usize, rows: usize, calls: &[Value], files: &[(&str, &str)]) -> Option<Terminal> {
    let room = room();
    for (file, text) in files {
        room.write(file, text);
    }
    let turns: Vec<Value> = calls
        .iter()
        .cloned()
        .chain([json!({"text": "all done"})])
        .collect();
    let model = room.model(&json!(turns));
    let terminal = Terminal::start(room, &["--model", &model, "chat"])?;
    terminal.wait_for_mark();
    terminal.resize(columns, rows);
    Some(terminal)
}

/// The rows on the screen from the one on that begins so, as far as there are so many.
#[track_caller]
fn rows_from(terminal: &Terminal, beginning: &str, count: usize) -> Vec<String> {
    terminal.wait_until_it_listens();
    let visible = terminal.visible();
    let lines: Vec<String> = visible.lines().map(|line| line.trim_end().to_owned()).collect();
    let start = lines.iter().rposition(|line| line.starts_with(beginning));
    let start = start.unwrap_or_else(|| panic!("{beginning:?} is not on the screen:\n{visible}"));
    lines[start..].iter().take(count).cloned().collect()
}

#[test]
fn an_edit_is_asked_about_with_its_difference() {
    for (columns, rows) in [(80, 24), (200, 60)] {
        let Some(terminal) = chat(columns, rows, &[edit_main()], &[("src/main.rs", MAIN)]) else {
            return;
        };
        terminal.enter("go");
        terminal.wait_for("[c]ancel");
        let rule = "─".repeat(columns);
        let picture = [
            "? edit src/main.rs +2 −1",
            "@@ -1,5 +1,6 @@",
            " fn main() {",
            "     let a = 1;",
            "-    let b = 2;",
            "+    let b = 3;",
            "+    let c = 4;",
            "     println!(\"{a} {b}\");",
            " }",
            "→ [y]es",
            "  [s]ame file again in this session",
            "  [n]o, and why",
            "  [c]ancel",
            "a letter, or ↑↓ and Enter; Escape cancels",
            &rule,
        ];
        assert_eq!(rows_from(&terminal, "? edit", picture.len()), picture);
        let screen = terminal.screen();
        assert!(screen.contains("\x1b[32m+    let b = 3;"), "{screen:?}");
        assert!(screen.contains("\x1b[31m-    let b = 2;"), "{screen:?}");
        assert_eq!(
            terminal.room.read("src/main.rs"),
            MAIN,
            "nothing is changed by looking"
        );
        terminal.press("y");
        terminal.wait_for("all done");
        assert!(terminal.room.read("src/main.rs").contains("let c = 4;"));
    }
}

#[test]
fn a_write_of_two_thousand_lines_keeps_its_path_in_sight() {
    let content: String = (1..=2000).map(|number| format!("line {number}\n")).collect();
    for (columns, rows, last) in [(80, 24, "+line 8"), (200, 60, "+line 14")] {
        let write = call("write", json!({"path": "docs/long.txt", "content": content}));
        let Some(terminal) = chat(columns, rows, &[write], &[]) else {
            return;
        };
        terminal.enter("go");
        terminal.wait_for("[c]ancel");
        let shown = rows_from(&terminal, "? write docs/long.txt +2000 −0", 60);
        assert_eq!(shown[1..4], ["  a new file", "@@ -0,0 +1,2000 @@", "+line 1"]);
        let end = shown
            .iter()
            .position(|row| row.ends_with("more lines; Ctrl+O shows all"));
        assert_eq!(shown[end.expect("the rest is counted") - 1], last);
        assert!(!terminal.text().contains("+line 2000"));
        terminal.press("C-o");
        terminal.wait_for("+line 2000");
        assert!(terminal.text().contains("+line 1000"));
        rows_from(&terminal, "? write docs/long.txt +2000 −0", 1);
        terminal.press("y");
        terminal.wait_for("all done");
        assert_eq!(terminal.room.read("docs/long.txt"), content);
    }
}

#[test]
fn a_long_command_is_shown_whole_with_the_programs_that_it_names() {
    let files: Vec<String> = (1..=40).map(|number| format!("file-{number}")).collect();
    let command = format!("cd . && sudo -n true; touch {} | xargs echo", files.join(" "));
    for (columns, rows) in [(80, 24), (200, 60)] {
        let Some(terminal) = chat(columns, rows, &[call("shell", json!({"command": command}))], &[]) else {
            return;
        };
        terminal.enter("go");
        terminal.wait_for("[c]ancel");
        let shown = rows_from(
            &terminal,
            "? shell, which runs cd, sudo, true, touch, xargs, echo",
            20,
        );
        let rejoined: String = shown[1..].concat();
        let squeezed = |text: &str| text.replace(' ', "");
        assert!(squeezed(&rejoined).contains(&squeezed(&command)), "{shown:#?}");
        terminal.press("n");
        terminal.wait_for("Why not?");
        terminal.press("Enter");
        terminal.wait_for("all done");
        assert!(!terminal.room.has("file-1"));
    }
}

#[test]
fn a_tall_command_keeps_its_programs_and_its_beginning_in_sight() {
    let lines: Vec<String> = (1..=60).map(|number| format!("echo line {number}")).collect();
    let command = lines.join("\n");
    for (columns, rows, least) in [(80, 24, 4), (200, 60, 15)] {
        let Some(terminal) = chat(columns, rows, &[call("shell", json!({"command": command}))], &[]) else {
            return;
        };
        terminal.enter("go");
        terminal.wait_for("[c]ancel");
        let shown = rows_from(&terminal, "? shell, which runs echo", 60);
        let end = shown
            .iter()
            .position(|row| row.ends_with("more lines; Ctrl+O shows all"))
            .expect("the rest is counted");
        assert!(end > least, "{shown:#?}");
        let wanted: Vec<String> = (1..end).map(|number| format!("  echo line {number}")).collect();
        assert_eq!(shown[1..end], wanted);
        assert!(!terminal.text().contains("echo line 60"));
        terminal.press("C-o");
        terminal.wait_for("echo line 60");
        rows_from(&terminal, "? shell, which runs echo", 1);
        terminal.press("n");
        terminal.wait_for("Why not?");
        terminal.press("Enter");
        terminal.wait_for("all done");
    }
    let Some(terminal) = chat(80, 24, &[call("shell", json!({"command": "touch one"}))], &[]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("[c]ancel");
    let shown = rows_from(&terminal, "? shell, which runs touch", 2);
    assert_eq!(shown[1], "  command: touch one");
}

/// The rows of the screen that hold numbered words, each of which is whole.
#[track_caller]
fn whole_words(terminal: &Terminal, beginning: &str, indent: &str) {
    let rows: Vec<String> = terminal
        .text()
        .lines()
        .map(|row| row.trim_end().to_owned())
        .collect();
    let start = rows.iter().rposition(|row| row.starts_with(beginning));
    let start = start.unwrap_or_else(|| panic!("{beginning:?} is not shown: {rows:#?}"));
    let with_words = rows[start..].iter().take_while(|row| row.contains("word-"));
    let with_words: Vec<&String> = with_words.collect();
    assert!(with_words.len() > 2, "{rows:#?}");
    for row in &with_words[1..] {
        let is_indented = row.starts_with(indent) && !row[indent.len()..].starts_with(' ');
        assert!(is_indented, "{row:?} of {rows:#?}");
    }
    let words = with_words.iter().flat_map(|row| row.split_whitespace());
    let words = words.map(|word| word.trim_end_matches(';'));
    let mut cut = words.filter(|word| word.contains("wor") && !word.ends_with("-end"));
    assert_eq!(cut.next(), None, "{with_words:#?}");
}

#[test]
fn questions_and_remarks_are_broken_between_words() {
    let words: Vec<String> = (1..=30).map(|number| format!("word-{number}-end")).collect();
    let words = words.join(" ");
    let room = room();
    let retry = json!({"error": {"kind": "transient", "message": words}});
    let asked = call("shell", json!({"command": format!("echo {words}")}));
    let model = room.model(&json!([retry, asked, {"text": "all done"}]));
    let Some(terminal) =
        Terminal::start_sized(room, &["--model", &model, "chat"], (80, 24), "screen-256color")
    else {
        return;
    };
    terminal.wait_for_mark();
    terminal.enter("go");
    terminal.wait_for("trying again in");
    whole_words(&terminal, "! word-1-end", "  ");
    terminal.wait_for("[c]ancel");
    whole_words(&terminal, "  command: echo word-1-end", "  ");
    terminal.press("y");
    terminal.wait_for("all done");
}

#[test]
fn while_the_user_decides_no_work_is_counted_and_a_bell_rings() {
    let room = room();
    room.config("[chat]\nbell_after = 1\n");
    let model = room.model(&json!([call("shell", json!({"command": "true"})), {"text": "all done"}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    terminal.record("raw");
    terminal.enter("go");
    terminal.wait_for("[c]ancel");
    let working = || {
        let visible = terminal.visible();
        let row = visible.lines().find(|row| row.contains("Working... "));
        row.map(|row| row.trim().to_owned())
    };
    let before = working().expect("the work is shown");
    terminal.wait_until("the bell", |_| terminal.room.read("raw").contains('\x07'));
    assert_eq!(working(), Some(before));
    terminal.press("y");
    terminal.wait_for("all done");
}

#[test]
fn contents_cannot_steer_the_terminal_nor_look_like_the_question() {
    let hostile = "a\u{1b}[2J\u{1b}]0;title\u{7}b\r? write safe.txt +0 −0\u{202e}\n";
    let write = call("write", json!({"path": "x\u{1b}[8m.txt", "content": hostile}));
    let Some(terminal) = chat(80, 24, &[write], &[]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("[c]ancel");
    let shown = rows_from(&terminal, "? write x␛[8m.txt +1 −0", 4);
    assert_eq!(
        shown[3],
        "+a␛[2J␛]0;title\u{fffd}b\u{fffd}? write safe.txt +0 −0\u{fffd}"
    );
    assert_ne!(terminal.title(), "title");
    terminal.press("n");
    terminal.wait_for("Why not?");
    terminal.press("Enter");
    terminal.wait_for("all done");
}

#[test]
fn a_prompt_at_a_terminal_shows_the_difference_too() {
    let room = room();
    let content: String = (1..=40).map(|number| format!("line {number}\n")).collect();
    room.write("src/main.rs", MAIN);
    let write = call("write", json!({"path": "long.txt", "content": content}));
    let model = room.model(&json!([edit_main(), write, {"text": "all done"}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    terminal.wait_for("[y]es");
    let shown = rows_from(&terminal, "? edit src/main.rs +2 −1", 6);
    assert_eq!(shown[4..], ["-    let b = 2;", "+    let b = 3;"]);
    assert!(!terminal.text().contains("[d]ifference"), "all of it is there");
    terminal.enter("y");
    terminal.wait_for("… 26 more lines");
    terminal.wait_for("[d]ifference");
    let shown = rows_from(&terminal, "? write long.txt +40 −0", 18);
    assert_eq!((shown[3].as_str(), shown[16].as_str()), ("+line 1", "+line 14"));
    terminal.enter("d");
    terminal.wait_for("+line 40");
    terminal.enter("n too long");
    terminal.wait_for("all done");
    assert_eq!(terminal.wait_for_end(), 0);
    assert!(terminal.room.read("src/main.rs").contains("let c = 4;") && !terminal.room.has("long.txt"));
}

#[test]
fn a_yes_to_a_file_that_has_changed_meanwhile_is_asked_again() {
    let write = call("write", json!({"path": "a.txt", "content": "new\n"}));
    let Some(terminal) = chat(80, 24, &[write], &[("a.txt", "old\n")]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("[c]ancel");
    assert_eq!(rows_from(&terminal, "? write", 1), ["? write a.txt +1 −1"]);
    terminal
        .room
        .write("a.txt", "old\nand what somebody else wrote\n");
    terminal.press("y");
    terminal.wait_for("the file has changed since you were asked");
    assert_eq!(rows_from(&terminal, "? write", 1), ["? write a.txt +1 −2"]);
    assert!(terminal.room.read("a.txt").starts_with("old"));
    std::thread::sleep(Duration::from_millis(600));
    terminal.press("y");
    terminal.wait_for("all done");
    assert_eq!(terminal.room.read("a.txt"), "new\n");
}

#[test]
fn what_hooks_wrote_is_what_is_shown() {
    let room = room();
    let arguments = json!({"arguments": {"path": "other.txt", "content": "by a hook\n"}});
    let hooks = room.hooks(&format!(
        "[[hook]]\nevent = \"pre_tool\"\ncommand = [\"echo\", '{arguments}']\n"
    ));
    let write = call("write", json!({"path": "a.txt", "content": "by the model\n"}));
    let model = room.model(&json!([write, {"text": "all done"}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "--hooks", &hooks, "go"]) else {
        return;
    };
    terminal.wait_for("[y]es");
    let shown = rows_from(&terminal, "? write other.txt +1 −0", 4);
    assert_eq!(shown[3], "+by a hook");
    terminal.enter("y");
    terminal.wait_for("all done");
    assert!(terminal.room.has("other.txt") && !terminal.room.has("a.txt"));
}

#[test]
fn every_profile_shows_the_difference_of_its_own_tools() {
    for (profile, name, arguments) in [
        (
            "claude-code",
            "Edit",
            json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"}),
        ),
        (
            "claude-code",
            "Write",
            json!({"file_path": "a.txt", "content": "new\n"}),
        ),
        (
            "gemini",
            "replace",
            json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"}),
        ),
        ("pi", "write", json!({"path": "a.txt", "content": "new\n"})),
        (
            "codex",
            "apply_patch",
            json!({"command": "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n"}),
        ),
    ] {
        let room = room();
        room.write("a.txt", "old\n");
        let model = room.model(&json!([call(name, arguments), {"text": "all done"}]));
        let Some(terminal) = Terminal::start(room, &["--model", &model, "--tools", profile, "go"]) else {
            return;
        };
        terminal.wait_until("the question", |text| {
            text.contains("[y]es") || text.contains("all done")
        });
        let text = terminal.text();
        assert!(
            text.contains("a.txt +1 −1\n") && text.contains("-old\n+new\n"),
            "{profile} {name}: {text}"
        );
        terminal.enter("y");
        terminal.wait_for("all done");
        assert_eq!(terminal.room.read("a.txt"), "new\n", "{profile} {name}");
    }
}

/// Presses Shift+Tab until the screen shows a mode.
#[track_caller]
fn change_to(terminal: &Terminal, mode: &str) {
    terminal.press("BTab");
    terminal.wait_until(mode, |_| {
        terminal
            .visible()
            .contains(&format!("{mode} mode (Shift+Tab changes it)"))
    });
}

#[test]
fn shift_tab_goes_through_the_modes_and_the_next_call_is_judged_in_it() {
    let shell = |command: &str| call("shell", json!({"command": command}));
    let room = room();
    room.write("src/main.rs", MAIN);
    let model = room.model(&json!([
        edit_main(), {"text": "first done"},
        shell("touch planned"), {"text": "second done", "expect": ["plan mode"]},
        shell("touch agreed"), {"text": "third done"},
        shell("touch asked"), {"text": "all done"},
    ]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    assert!(!terminal.visible().contains(" mode ("));
    change_to(&terminal, "accept-edits");
    terminal.enter("one");
    terminal.wait_for("first done");
    assert!(terminal.room.read("src/main.rs").contains("let c = 4;"));
    change_to(&terminal, "plan");
    terminal.enter("two");
    terminal.wait_for("second done");
    change_to(&terminal, "yes");
    terminal.enter("three");
    terminal.wait_for("third done");
    terminal.press("BTab");
    terminal.wait_until("the usual mode", |_| !terminal.visible().contains(" mode ("));
    terminal.enter("four");
    terminal.wait_for("[y]es");
    let room = &terminal.room;
    assert!(room.has("agreed") && !room.has("planned") && !room.has("asked"));
    terminal.press("y");
    terminal.wait_for("all done");
    terminal.wait_for_mark();
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
    let audit = terminal.room.run(["audit", "export"]).ended_with(0);
    let sources = ["\"accept_edits\"", "\"plan\"", "\"yes\"", "\"person\""];
    let places: Vec<Option<usize>> = sources.iter().map(|source| audit.stdout.find(source)).collect();
    assert!(places.iter().all(Option::is_some), "{places:?}: {}", audit.stdout);
}
