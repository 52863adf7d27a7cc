//! The chat's screen, driven in a real terminal by tmux: the user types while the model works, and pi's examples that
//! draw are played.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Room, needs};

use crate::pi_examples::{examples, file_of, with_a_model};
use crate::room;
use crate::terminal::{TEST_TIMEOUT, Terminal};

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn late(text: &str) -> Value {
    json!({ "text": text, "delay_ms": 300_000 })
}

fn shell(command: &str) -> Value {
    json!({ "name": "shell", "arguments": { "command": command } })
}

/// A chat with these answers of the model.
fn chat(room: Room, turns: Value, options: &[&str]) -> Option<Terminal> {
    let model = room.model(&turns);
    let mut arguments = vec!["--model", &model];
    arguments.extend(options);
    arguments.push("chat");
    let terminal = Terminal::start(room, &arguments)?;
    terminal.wait_for("becket>");
    Some(terminal)
}

/// A chat with an example of pi's.
fn example(name: &str, turns: Value) -> Option<Terminal> {
    example_in(room(), name, turns)
}

fn example_in(room: Room, name: &str, turns: Value) -> Option<Terminal> {
    let file = file_of(examples()?, name);
    chat(room, turns, &["--yes", "-e", &file])
}

/// What stands on the screen itself, without what has left it.
fn rows(terminal: &Terminal) -> Vec<String> {
    let text = terminal.visible();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Ends the chat and waits for it.
fn leave(terminal: &Terminal) {
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.text());
    assert_eq!(terminal.room.read("../after"), terminal.room.read("../before"));
}

#[test]
fn the_end_of_a_long_answer_that_an_extension_wanted_rings() {
    let room = room();
    room.config("[chat]\nbell_after = 1\n");
    let file = room.write(
        "later.ts",
        "export default (pi: any) => pi.registerCommand(\"later\", {\n\
         handler: async () => { setTimeout(() => pi.sendUserMessage(\"go\"), 100); },\n});\n",
    );
    let file = file.display().to_string();
    let turns = json!([{"expect": ["go"], "text": "a late answer", "delay_ms": 1500}]);
    let Some(terminal) = chat(room, turns, &["-e", &file]) else {
        return;
    };
    terminal.record("raw");
    terminal.enter("/later");
    terminal.wait_for("a late answer");
    terminal.wait_until("the bell", |_| terminal.room.read("raw").contains('\x07'));
    leave(&terminal);
}

#[test]
fn words_that_are_typed_while_the_model_works_steer_it_and_follow_ups_wait() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"touch begun; while ! test -e go; do sleep 0.1; done\"\n",
    );
    let turns = json!([
        {"tool_calls": [shell("echo ran")]},
        {"expect": ["be brief"], "text": "briefly done"},
        {"expect": ["and then this"], "text": "that too"},
    ]);
    let Some(terminal) = chat(room, turns, &["--yes", "--hooks", &hooks]) else {
        return;
    };
    terminal.enter("do something");
    terminal.wait_for("Working");
    terminal.wait_until("the tool", |_| terminal.room.has("begun"));
    terminal.enter("be brief");
    terminal.wait_for("steering: be brief");
    terminal.type_in("and then this");
    terminal.press("M-Enter");
    terminal.wait_for("follow-up: and then this");
    terminal.room.write("go", "");
    terminal.wait_for("briefly done");
    terminal.wait_for("that too");
    let shown = terminal.text();
    assert!(
        shown.contains("becket> be brief") && shown.contains("becket> and then this"),
        "{shown}"
    );
    assert!(!shown.contains("steering: "), "{shown}");
    leave(&terminal);
}

#[test]
fn escape_ends_the_run_and_gives_back_what_nobody_has_heard() {
    let Some(terminal) = chat(room(), json!([late("never"), text("an answer")]), &[]) else {
        return;
    };
    terminal.enter("first");
    terminal.wait_for("Working");
    terminal.enter("said too early");
    terminal.wait_for("steering: said too early");
    terminal.press("Escape");
    terminal.wait_for("cancelled");
    terminal.wait_for_written("said too early");
    terminal.press("Enter");
    terminal.wait_for("an answer");
    leave(&terminal);
}

#[test]
fn ctrl_c_empties_the_line_and_twice_ends_the_chat() {
    let Some(terminal) = chat(room(), json!([text("unused")]), &[]) else {
        return;
    };
    terminal.type_in("some words");
    terminal.wait_for("becket> some words");
    terminal.press("C-c");
    terminal.wait_for_mark();
    terminal.press("C-c");
    terminal.wait_for("press Ctrl-C again to end the chat");
    terminal.press("C-c");
    assert_eq!(terminal.wait_for_end(), 0);
    assert_eq!(terminal.room.read("../after"), terminal.room.read("../before"));
}

#[test]
fn a_question_is_a_dialog_and_no_has_words_for_the_model() {
    let turns = json!([
        {"tool_calls": [shell("touch first")]},
        {"expect": ["the user said no: not today"], "tool_calls": [shell("touch second")]},
        {"text": "all done"},
    ]);
    let Some(terminal) = chat(room(), turns, &[]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("command: touch first");
    terminal.wait_for("[c]ancel");
    terminal.press("n");
    terminal.wait_for("Why not?");
    terminal.enter("not today");
    terminal.wait_for("command: touch second");
    assert!(!terminal.room.has("first"), "{}", terminal.text());
    // The arrow keys choose as well.
    terminal.press("Down");
    terminal.press("Up");
    terminal.press("Enter");
    terminal.wait_for("all done");
    assert!(terminal.room.has("second"), "{}", terminal.text());
    leave(&terminal);
}

#[test]
fn words_that_are_being_written_do_not_answer_a_question() {
    if !needs("tmux") {
        return;
    }
    // Who pauses for half a second has stopped writing. A busy machine makes such pauses, but not every time.
    assert!(
        (0..8).any(|_| wrote_on_while_a_question_came()),
        "what was being written has answered the question"
    );
}

/// Whether somebody wrote while the question came, and that was no answer to it.
fn wrote_on_while_a_question_came() -> bool {
    let room = room();
    let hooks = room.hooks("[[hook]]\nevent = \"tool_start\"\ncommand = \"touch begun; while ! test -e go; do sleep 0.1; done\"\n");
    let turns = json!([{"tool_calls": [shell("touch ran")]}, {"text": "all done"}]);
    let terminal = chat(room, turns, &["--hooks", &hooks]).expect("tmux is there");
    terminal.enter("go");
    terminal.wait_until("the call", |_| terminal.room.has("begun"));
    // Somebody types on and on, until the question has been there for a while.
    terminal.type_at_once("yyy");
    terminal.room.write("go", "");
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !terminal.text().contains("[c]ancel") {
        if terminal.room.has("ran") {
            return false;
        }
        assert!(Instant::now() < deadline, "{}", terminal.text());
        terminal.type_at_once("yyy");
    }
    terminal.type_at_once("yyy");
    // When nothing was written for a while, keys are answers again.
    terminal.press("c");
    terminal.wait_for("cancelled");
    !terminal.room.has("ran")
}

#[test]
fn the_person_runs_commands_and_the_model_sees_them_unless_they_are_hidden() {
    let room = room();
    let hooks = room.hooks(
        "[[hook]]\nevent = \"user_shell\"\ncommand = \"grep -q forbidden && echo '{\\\"verdict\\\": {\\\"deny\\\": \\\"not here\\\"}}' || true\"\n",
    );
    let turns = json!([{"expect": ["number-42"], "text": "seen"}]);
    let Some(terminal) = chat(room, turns, &["--hooks", &hooks]) else {
        return;
    };
    terminal.enter("!echo number-$((40 + 2)); exit 3");
    terminal.wait_for("number-42");
    terminal.wait_for("ended with code 3");
    // What steers a terminal is not shown, nor what was written over.
    terminal.enter(r#"!printf '\033[31mred\033[0m\n10%%\r20%%\r\n'"#);
    terminal.wait_for("  red\n  20%\n");
    terminal.enter("!!echo secret-$((1 + 1))");
    terminal.wait_for("secret-2");
    terminal.enter("!touch forbidden");
    terminal.wait_for("not here");
    terminal.enter("what did you see?");
    terminal.wait_for("seen");
    leave(&terminal);
    assert!(!terminal.room.has("forbidden"));
    let log = terminal.room.run(["context", "log", "--json"]).ended_with(0);
    for (words, hidden) in [("number-42", false), ("secret-2", true)] {
        let lines = log.stdout.lines().filter(|line| line.contains(words));
        let lines: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 1, "{log:?}");
        assert_eq!(lines[0]["entry_type"], "shell");
        assert_eq!(lines[0]["metadata"]["hidden"], hidden, "{words}");
    }
}

#[test]
fn escape_ends_a_command_of_the_person_s() {
    let Some(terminal) = chat(room(), json!([text("unused")]), &[]) else {
        return;
    };
    // What is typed is shown as well, and is not what is waited for.
    terminal.enter("!echo be''gun; sleep 600");
    terminal.wait_for("begun");
    terminal.press("Escape");
    terminal.wait_for("the command was cancelled");
    leave(&terminal);
}

#[test]
fn commands_their_arguments_and_files_are_completed() {
    let room = room();
    room.write("notes/chapter-one.md", "");
    room.write(
        "extension.ts",
        "export default (pi: any) => pi.registerCommand('paint', {
            description: 'Paints something',
            getArgumentCompletions: (prefix: string) =>
                ['green', 'grey', 'red'].filter((each) => each.startsWith(prefix))
                    .map((value) => ({ value, label: value })),
            handler: async (args: string, ctx: any) => ctx.ui.notify(`painted ${args}`),
        });",
    );
    let Some(terminal) = chat(room, json!([text("read it")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.type_in("/pai");
    terminal.wait_for("Paints something");
    terminal.press("Tab");
    terminal.wait_for("becket> /paint");
    terminal.type_in("gr");
    terminal.wait_for("→ green");
    terminal.press("Down");
    terminal.press("Tab");
    terminal.wait_for_written("/paint grey");
    terminal.press("Enter");
    terminal.wait_for("painted grey");
    terminal.type_in("read @chap");
    terminal.wait_for("→ notes/chapter-one.md");
    terminal.press("Tab");
    terminal.wait_for("becket> read @notes/chapter-one.md");
    terminal.press("Enter");
    terminal.wait_for("read it");
    leave(&terminal);
}

#[test]
fn keys_of_extensions_run_and_those_that_becket_needs_stay_its_own() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => {
            const say = (what: string) => async (ctx: any) => ctx.ui.notify(what);
            pi.registerShortcut('ctrl+x', { description: 'x', handler: say('pressed x') });
            pi.registerShortcut('ctrl+d', { description: 'd', handler: say('pressed d') });
        };",
    );
    let Some(terminal) = chat(room, json!([text("unused")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.wait_for("the key ctrl+d of the extension extension is not used");
    terminal.press("C-x");
    terminal.wait_for("pressed x");
    leave(&terminal);
    assert!(!terminal.text().contains("pressed d"));
}

#[test]
fn dialogs_of_extensions_are_answered_time_out_and_are_closed() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => pi.registerCommand('ask', { handler: async (_: string, ctx: any) => {
            const ui = ctx.ui;
            const closing = new AbortController();
            const answers = [
                await ui.select('Which?', ['red', 'green']), await ui.confirm('Sure?', 'Really?'),
                await ui.input('Name?', 'a name'), await ui.editor('Text?', 'some'),
                await ui.confirm('Quick?', 'soon', { timeout: 300 }), await ui.select('Cancel?', ['a', 'b']),
            ];
            setTimeout(() => closing.abort(), 300);
            answers.push(await ui.input('Closing?', '', { signal: closing.signal }));
            ui.notify(JSON.stringify(answers));
        } });",
    );
    let Some(terminal) = chat(room, json!([text("unused")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.enter("/ask");
    terminal.wait_for("Which?");
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for("Really?");
    terminal.press("y");
    terminal.wait_for("Name?");
    terminal.enter("Ada");
    terminal.wait_for("Text?");
    terminal.enter(" more");
    terminal.wait_for("Cancel?");
    terminal.press("Escape");
    terminal.wait_for(r#"["green",true,"Ada","some more",false,null,null]"#);
    leave(&terminal);
}

#[test]
fn a_component_that_breaks_or_hangs_goes_and_the_chat_goes_on() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => {
            const broken = { render: () => { throw new Error('cannot draw'); }, invalidate() {} };
            const hangs = { render: () => ['it hangs'], handleInput: () => { for (;;); }, invalidate() {} };
            const show = (component: any) => async (_: string, ctx: any) => {
                await ctx.ui.custom(() => component);
                ctx.ui.notify('it is gone');
            };
            pi.registerCommand('broken', { handler: show(broken) });
            pi.registerCommand('hangs', { handler: show(hangs) });
        };",
    );
    let Some(terminal) = chat(room, json!([text("an answer")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.enter("/broken");
    terminal.wait_for("cannot draw");
    terminal.wait_for("it is gone");
    terminal.enter("/hangs");
    terminal.wait_for("it hangs");
    terminal.press("x");
    terminal.wait_until("both to be gone", |text| text.matches("component").count() >= 2);
    terminal.enter("hello");
    terminal.wait_for("an answer");
    leave(&terminal);
}

/// Whether something is on the screen itself.
fn sees(terminal: &Terminal, wanted: &str) -> bool {
    rows(terminal).iter().any(|line| line.contains(wanted))
}

#[track_caller]
fn wait_until_gone(terminal: &Terminal, what: &str) {
    terminal.wait_until(&format!("{what} to be gone"), |_| !sees(terminal, what));
}

/// The game as its author wrote it, but for the snake's speed: within a second it would be at the wall, and a busy
/// machine needs longer to press the next key.
fn slow_snake(room: Room, turns: Value) -> Option<Terminal> {
    let source = std::fs::read_to_string(file_of(examples()?, "snake")).expect("the example");
    let slow = source.replace("const TICK_MS = 100;", "const TICK_MS = 1000;");
    assert_ne!(source, slow);
    let file = room.write("../snake.ts", slow).display().to_string();
    chat(room, turns, &["--yes", "-e", &file])
}

#[test]
pub(crate) fn snake_is_played_paused_and_saved() {
    let Some(terminal) = slow_snake(room(), json!([text("unused")])) else {
        return;
    };
    terminal.enter("/snake");
    terminal.wait_for("SNAKE");
    terminal.wait_for("ESC pause");
    let before = rows(&terminal);
    terminal.press("Down");
    terminal.wait_until("the snake to move", |_| rows(&terminal) != before);
    terminal.press("Escape");
    wait_until_gone(&terminal, "SNAKE");
    // It was saved: the next game begins where this one ended, and stands still until a key is pressed.
    terminal.enter("/snake");
    terminal.wait_for("PAUSED");
    let paused = rows(&terminal);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(rows(&terminal), paused, "nothing moves");
    terminal.press("Space");
    wait_until_gone(&terminal, "PAUSED");
    terminal.press("q");
    wait_until_gone(&terminal, "SNAKE");
    leave(&terminal);
}

#[test]
fn snake_is_played_in_node_as_well() {
    if !needs("node") {
        return;
    }
    let room = room();
    room.config("[js]\nengine = \"node\"\n");
    let Some(terminal) = slow_snake(room, json!([text("an answer")])) else {
        return;
    };
    terminal.enter("/snake");
    terminal.wait_for("ESC pause");
    let before = rows(&terminal);
    terminal.press("Down");
    terminal.wait_until("the snake to move", |_| rows(&terminal) != before);
    terminal.press("Escape");
    wait_until_gone(&terminal, "SNAKE");
    terminal.enter("hello");
    terminal.wait_for("an answer");
    leave(&terminal);
}

#[test]
pub(crate) fn space_invaders_are_shot_at() {
    let Some(terminal) = example("space-invaders", json!([text("unused")])) else {
        return;
    };
    terminal.enter("/invaders");
    terminal.wait_for("SPACE INVADERS");
    let before = rows(&terminal);
    terminal.wait_until("the invaders to move", |_| rows(&terminal) != before);
    terminal.press("Space");
    terminal.press("Escape");
    wait_until_gone(&terminal, "SPACE INVADERS");
    leave(&terminal);
}

#[test]
fn the_person_and_the_model_play_tic_tac_toe() {
    let play = json!({"name": "tic_tac_toe", "arguments": {"action": "play"}});
    let right = json!({"name": "tic_tac_toe", "arguments": {"action": "move_right"}});
    let turns = json!([
        {"expect": ["Player X played at (row=1, col=1)"], "tool_calls": [right, play]},
        {"text": "your turn"},
    ]);
    let Some(terminal) = example("tic-tac-toe", turns) else {
        return;
    };
    terminal.enter("/tic-tac-toe");
    terminal.wait_until("the board", |_| sees(&terminal, "Tic") || sees(&terminal, "TIC"));
    terminal.press("Enter");
    terminal.wait_for("your turn");
    terminal.wait_until("both marks", |_| sees(&terminal, "◯") && sees(&terminal, "╳"));
    terminal.press("Escape");
    wait_until_gone(&terminal, "ESC quit");
    leave(&terminal);
}

#[test]
fn todos_of_the_model_are_shown_to_the_person() {
    let add = |text: &str| json!({"name": "todo", "arguments": {"action": "add", "text": text}});
    let turns = json!([{"tool_calls": [add("buy milk"), add("learn Rust")]}, {"text": "noted"}]);
    let Some(terminal) = example("todo", turns) else {
        return;
    };
    terminal.enter("remember two things");
    terminal.wait_for("noted");
    // The tool draws its calls and results by itself.
    terminal.wait_for("Added #1 buy milk");
    terminal.enter("/todos");
    terminal.wait_for("0/2 completed");
    assert!(sees(&terminal, "#2 learn Rust"), "{}", terminal.text());
    terminal.press("Escape");
    wait_until_gone(&terminal, "0/2 completed");
    leave(&terminal);
}

#[test]
fn tools_are_switched_off_in_a_list() {
    let turns = json!([{"tool_calls": [shell("touch ran")]}, {"text": "so be it"}]);
    let Some(terminal) = example("tools", turns) else {
        return;
    };
    terminal.enter("/tools");
    terminal.wait_for("Tool Configuration");
    terminal.wait_for("→ bash");
    terminal.press("Space");
    terminal.wait_until("bash to be off", |text| {
        text.lines()
            .any(|line| line.contains("bash") && line.contains("disabled"))
    });
    terminal.press("Escape");
    wait_until_gone(&terminal, "Tool Configuration");
    terminal.enter("run it");
    terminal.wait_for("so be it");
    assert!(!terminal.room.has("ran"), "{}", terminal.text());
    leave(&terminal);
}

#[test]
fn a_preset_is_chosen_from_a_list() {
    let room = room();
    let presets = json!({"plan": {"tools": ["read"], "instructions": "Only plan."}});
    room.write(".pi/presets.json", presets.to_string());
    let turns = json!([{"expect": ["Only plan."], "text": "a plan"}]);
    let Some(terminal) = example_in(room, "preset", turns) else {
        return;
    };
    terminal.enter("/preset");
    terminal.wait_for("tools:read");
    terminal.press("Enter");
    terminal.wait_for("preset:plan");
    terminal.enter("go");
    terminal.wait_for("a plan");
    leave(&terminal);
}

#[test]
fn questions_of_the_model_are_answered_by_choice_and_in_words() {
    let ask = json!({"name": "question", "arguments": {
        "question": "Which colour?", "options": [{"label": "red"}, {"label": "green"}]}});
    let turns = json!([
        {"tool_calls": [ask]},
        {"expect": ["User selected: 2. green"], "tool_calls": [ask]},
        {"expect": ["User wrote: mauve"], "text": "fine"},
    ]);
    let Some(terminal) = example("question", turns) else {
        return;
    };
    terminal.enter("ask me");
    terminal.wait_until("the question", |_| sees(&terminal, "> 1. red"));
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for("✓ 2. green");
    terminal.wait_until("the second question", |_| sees(&terminal, "> 1. red"));
    terminal.press("Down");
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_until("the words", |_| sees(&terminal, "Your answer:"));
    terminal.enter("mauve");
    terminal.wait_for("fine");
    leave(&terminal);
}

#[test]
fn a_questionnaire_is_filled_in() {
    let options = json!([{"value": "a", "label": "Alpha"}, {"value": "b", "label": "Beta"}]);
    let ask = json!({"name": "questionnaire", "arguments": {
        "questions": [{"id": "q1", "prompt": "First letter?", "options": options}]}});
    let turns = json!([{"tool_calls": [ask]}, {"expect": ["Beta"], "text": "thank you"}]);
    let Some(terminal) = example("questionnaire", turns) else {
        return;
    };
    terminal.enter("ask me");
    terminal.wait_until("the questions", |_| sees(&terminal, "> 1. Alpha"));
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for("thank you");
    leave(&terminal);
}

#[test]
pub(crate) fn the_modal_editor_has_modes() {
    let turns = json!([{"expect": ["hell"], "text": "an answer"}]);
    let Some(file) = examples().map(|examples| file_of(examples, "modal-editor")) else {
        return;
    };
    let room = room();
    let model = room.model(&turns);
    let Some(terminal) = Terminal::start(room, &["--model", &model, "-e", &file, "chat"]) else {
        return;
    };
    terminal.wait_for("INSERT");
    terminal.type_in("hello");
    terminal.wait_for("hello");
    terminal.press("Escape");
    terminal.wait_for("NORMAL");
    terminal.press("h");
    terminal.press("x");
    terminal.wait_until("a letter less", |_| !sees(&terminal, "hello"));
    terminal.press("i");
    terminal.wait_for("INSERT");
    terminal.press("Enter");
    terminal.wait_for("an answer");
    // Ctrl-C empties it like any other editor.
    terminal.type_in("unwanted");
    terminal.wait_for("unwanted");
    terminal.press("C-c");
    terminal.wait_until("an empty editor", |_| !sees(&terminal, "unwanted"));
    leave(&terminal);
}

#[test]
pub(crate) fn the_rainbow_editor_shines() {
    let Some(file) = examples().map(|examples| file_of(examples, "rainbow-editor")) else {
        return;
    };
    let room = room();
    let model = room.model(&json!([text("deep thoughts")]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "-e", &file, "chat"]) else {
        return;
    };
    terminal.wait_for("────");
    terminal.type_in("ultrathink");
    terminal.wait_for("ultrathink");
    let before = terminal.screen();
    terminal.wait_until("the colours to move", |_| terminal.screen() != before);
    terminal.press("Enter");
    terminal.wait_for("deep thoughts");
    leave(&terminal);
}

#[test]
pub(crate) fn headers_footers_and_widgets_stand_around_the_editor() {
    let Some(folder) = examples() else { return };
    let files = ["custom-header", "custom-footer", "widget-placement"].map(|name| file_of(folder, name));
    let options: Vec<&str> = files.iter().flat_map(|file| ["-e", file.as_str()]).collect();
    let Some(terminal) = chat(room(), json!([text("an answer")]), &options) else {
        return;
    };
    terminal.wait_for("██████████████");
    let place = |wanted: &str| rows(&terminal).iter().position(|line| line.contains(wanted));
    terminal.wait_until("everything in its place", |_| {
        let places = ["███", "Above editor widget", "becket>", "Below editor widget"].map(place);
        places.iter().all(Option::is_some) && places.is_sorted()
    });
    terminal.enter("hello");
    terminal.wait_for("an answer");
    terminal.enter("/footer");
    terminal.wait_until("the footer", |_| {
        rows(&terminal).iter().any(|line| line.starts_with('↑'))
    });
    terminal.enter("/builtin-header");
    wait_until_gone(&terminal, "██████████████");
    leave(&terminal);
}

#[test]
pub(crate) fn an_overlay_takes_words_and_goes() {
    let Some(terminal) = example("overlay-test", json!([text("unused")])) else {
        return;
    };
    terminal.enter("/overlay-test");
    terminal.wait_for("Overlay Test");
    assert!(sees(&terminal, "漢字"), "{}", terminal.text());
    terminal.type_in("needle");
    terminal.wait_until("the words", |_| sees(&terminal, "Search: needle"));
    terminal.press("Enter");
    terminal.wait_for("Search: \"needle\"");
    wait_until_gone(&terminal, "Overlay Test");
    leave(&terminal);
}

#[test]
pub(crate) fn the_border_of_the_editor_tells_the_state() {
    let Some(file) = examples().map(|examples| file_of(examples, "border-status-editor")) else {
        return;
    };
    let room = room();
    let model = room.model(&json!([late("never"), text("unused")]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "-e", &file, "chat"]) else {
        return;
    };
    terminal.wait_for("ctx ");
    terminal.enter("go");
    terminal.wait_until("the work", |text| {
        text.contains("⠋") || text.contains("⠙") || text.contains("⠹")
    });
    assert!(
        !terminal.text().contains("Working..."),
        "the usual line is not wanted"
    );
    terminal.press("Escape");
    terminal.wait_for("cancelled");
    leave(&terminal);
}

#[test]
fn a_confirmation_counts_down() {
    let Some(terminal) = example("timed-confirm", json!([text("unused")])) else {
        return;
    };
    terminal.enter("/timed");
    terminal.wait_for("Timed Confirmation");
    // A busy machine may not look at each of them.
    terminal.wait_until("the seconds", |text| {
        ["(4s)", "(3s)", "(2s)", "(1s)"]
            .iter()
            .any(|left| text.contains(left))
    });
    terminal.press("y");
    terminal.wait_for("Confirmed by user!");
    terminal.enter("/timed-select");
    terminal.wait_for("Pick an option");
    terminal.press("Escape");
    terminal.wait_for("Selection cancelled or timed out");
    terminal.enter("/timed-signal");
    terminal.wait_for("Dialog timed out (auto-cancelled)");
    leave(&terminal);
}

#[test]
pub(crate) fn questions_are_drawn_out_of_an_answer() {
    let turns = json!([
        {"text": "Shall it be red? And how large?"},
        {"expect": ["how large?"], "text": "Q: red?\nA:"},
    ]);
    let Some(terminal) = example("qna", turns) else {
        return;
    };
    terminal.enter("plan it");
    terminal.wait_for("how large?");
    terminal.enter("/qna");
    terminal.wait_for("Questions loaded");
    terminal.wait_until("the questions in the editor", |_| {
        sees(&terminal, "becket> Q: red?")
    });
    leave_with_words(&terminal);
}

#[test]
pub(crate) fn a_summary_is_shown_in_a_view_of_its_own() {
    let Some(folder) = examples() else { return };
    let room = room();
    let model = with_a_model(&room, "openai", "gpt-5.2", "# All of it in *short*");
    let file = file_of(folder, "summarize");
    let Some(terminal) = chat(room, json!([text("an answer")]), &["-e", &model, "-e", &file]) else {
        return;
    };
    terminal.enter("hello");
    terminal.wait_for("an answer");
    terminal.enter("/summarize");
    terminal.wait_for("Conversation Summary");
    terminal.wait_for("All of it in short");
    terminal.press("Enter");
    wait_until_gone(&terminal, "Conversation Summary");
    leave(&terminal);
}

#[test]
pub(crate) fn the_title_and_the_working_line_are_the_extensions_own() {
    let Some(folder) = examples() else { return };
    let files = ["titlebar-spinner", "working-message-test"].map(|name| file_of(folder, name));
    let options: Vec<&str> = files.iter().flat_map(|file| ["-e", file.as_str()]).collect();
    let Some(terminal) = chat(room(), json!([late("never"), text("unused")]), &options) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("● Working... (custom)");
    terminal.wait_until("the title", |_| terminal.title().contains("π - work"));
    terminal.press("Escape");
    terminal.wait_for("cancelled");
    leave(&terminal);
}

#[test]
pub(crate) fn overlays_stand_where_they_want_and_in_front_of_each_other() {
    let Some(terminal) = example("overlay-qa-tests", json!([text("unused")])) else {
        return;
    };
    terminal.enter("/overlay-anchors");
    terminal.wait_for("Current: top-left");
    terminal.press("Space");
    // Between two of them there is a moment without any, in which a key is the editor's.
    terminal.wait_for("Current: top-center");
    terminal.press("Escape");
    terminal.wait_until("the chat again", |_| {
        rows(&terminal).iter().any(|line| line.as_str() == "becket>")
    });
    leave(&terminal);
}

#[test]
pub(crate) fn a_panel_is_seen_where_there_is_room_and_has_the_keys_again() {
    let Some(terminal) = example("overlay-qa-tests", json!([text("unused")])) else {
        return;
    };
    terminal.enter("/overlay-sidepanel");
    terminal.wait_until("the panel", |_| sees(&terminal, "→ Dashboard"));
    terminal.resize(90, 40);
    wait_until_gone(&terminal, "Dashboard");
    // The terminal cuts the panel off before the program knows of its new size, and until then the panel has the keys.
    terminal.wait_until("the words", |_| {
        let has_words = sees(&terminal, "becket> words");
        if !has_words {
            terminal.press("C-u");
            terminal.type_in("words");
        }
        has_words
    });
    terminal.press("C-c");
    terminal.resize(110, 40);
    terminal.wait_until("the panel again", |_| sees(&terminal, "→ Dashboard"));
    terminal.press("Down");
    terminal.wait_until("the next entry", |_| sees(&terminal, "→ Messages"));
    terminal.press("Escape");
    wait_until_gone(&terminal, "Dashboard");
    leave(&terminal);
}

/// An overlay may also change its mind while the terminal stays as it is.
#[test]
fn an_overlay_decides_itself_whether_it_is_seen() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => pi.registerCommand('peek', { handler: async (_: string, ctx: any) => {
            let seen = false;
            ctx.ui.onTerminalInput((data: string) => {
                if (data !== '~') return undefined;
                seen = !seen;
                shown.requestRender();
                return { consume: true };
            });
            let shown: any;
            await ctx.ui.custom((tui: any, _: any, __: any, done: any) => {
                shown = tui;
                ctx.ui.setStatus('state', 'all is set');
                return { width: 12, render: (width: number) => [`${width} wide`], handleInput: done, invalidate() {} };
            }, { overlay: true, overlayOptions: () => ({ width: 12, visible: () => seen }) });
            ctx.ui.notify('it is closed');
        } });",
    );
    let Some(terminal) = chat(room, json!([text("unused")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.enter("/peek");
    terminal.wait_for("all is set");
    terminal.type_in("hidden");
    terminal.wait_until("the words", |_| sees(&terminal, "becket> hidden"));
    terminal.type_in("~");
    terminal.wait_until("the overlay", |_| sees(&terminal, "12 wide"));
    terminal.type_in("~");
    wait_until_gone(&terminal, "12 wide");
    terminal.type_in("~");
    terminal.wait_until("the overlay again", |_| sees(&terminal, "12 wide"));
    terminal.press("x");
    terminal.wait_for("it is closed");
    leave_with_words(&terminal);
}

#[test]
fn a_command_draws_in_the_session_that_it_goes_on_in() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => pi.registerCommand('go', { handler: async (_: string, ctx: any) => {
            const made = (words: string, done: any) =>
                ({ render: (width: number) => [`${words} of ${width}`], handleInput: done, invalidate() {} });
            const factory = (words: string) => (_: any, __: any, ___: any, done: any) => made(words, done);
            await ctx.newSession({ withSession: async (ctx: any) => {
                ctx.ui.setWidget('w', () => made('a widget', () => {}));
                const key = await ctx.ui.custom(factory('a component'));
                const overlay = { overlay: true, overlayOptions: { width: 30 } };
                const over = await ctx.ui.custom(factory('an overlay'), overlay);
                ctx.ui.notify(`keys ${key} ${over} ${await ctx.ui.select('Which?', ['this', 'that'])}`);
                ctx.ui.setEditorText('to be said');
            } });
        } });",
    );
    let Some(terminal) = chat(room, json!([text("an answer")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.enter("/go");
    terminal.wait_until("the component", |_| sees(&terminal, "a component of 120"));
    terminal.press("x");
    terminal.wait_until("the overlay", |_| sees(&terminal, "an overlay of 30"));
    terminal.press("y");
    terminal.wait_for("Which?");
    terminal.press("Down");
    terminal.press("Enter");
    terminal.wait_for("keys x y that");
    terminal.wait_until("the words", |_| sees(&terminal, "becket> to be said"));
    // What stands there stays when the command is over.
    terminal.resize(100, 40);
    terminal.wait_until("the widget", |_| sees(&terminal, "a widget of 100"));
    terminal.press("Enter");
    terminal.wait_for("an answer");
    leave(&terminal);
}

/// The screen steps aside for a program that talks to the user, and no key of it is meant for becket.
#[test]
fn a_program_of_an_extension_has_the_terminal() {
    let room = room();
    room.write(
        "extension.ts",
        "import { spawn, spawnSync } from 'node:child_process';
        const script = (name: string) => ['-c', `echo who is ${name}; read who; echo $who > ${name}; read rest`];
        export default (pi: any) => {
            pi.registerCommand('ask', { handler: async (_: string, ctx: any) => {
                const { status, signal } = spawnSync('sh', script('first'), { stdio: 'inherit' });
                ctx.ui.notify(`it ended ${status} ${signal}`);
            } });
            pi.registerCommand('beside', { handler: async (_: string, ctx: any) => {
                const code = await ctx.ui.custom((tui: any, _: any, __: any, done: any) => {
                    tui.stop();
                    spawn('sh', script('second'), { stdio: 'inherit' }).on('exit', (code: number) => {
                        tui.start();
                        done(code);
                    });
                    return { render: () => [], invalidate() {} };
                });
                ctx.ui.notify(`beside ${code}`);
            } });
        };",
    );
    let Some(terminal) = chat(room, json!([text("an answer")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.enter("/ask");
    terminal.wait_for("who is first");
    assert!(
        !rows(&terminal).contains(&"becket>".to_owned()),
        "{}",
        terminal.text()
    );
    terminal.enter("ada");
    terminal.wait_until("the name", |_| {
        terminal.room.has("first") && terminal.room.read("first") == "ada\n"
    });
    terminal.press("C-c");
    terminal.wait_for("it ended null SIGINT");
    terminal.enter("/beside");
    terminal.wait_for("who is second");
    terminal.enter("bob");
    terminal.press("Enter");
    terminal.wait_for("beside 0");
    assert_eq!(terminal.room.read("second"), "bob\n");
    terminal.enter("hello");
    terminal.wait_for("an answer");
    leave(&terminal);
}

#[test]
pub(crate) fn thoughts_are_shown_when_somebody_wants_to_see_them() {
    let thinking = |text: &str| json!({"thinking": "it is about\nboats", "text": text});
    let turns = json!([thinking("first"), thinking("second"), thinking("third")]);
    let Some(terminal) = example("hidden-thinking-label", turns) else {
        return;
    };
    terminal.enter("one");
    terminal.wait_for("first");
    assert!(terminal.text().contains("Pondering..."), "{}", terminal.text());
    terminal.enter("/thinking-label Musing...");
    terminal.wait_for("Hidden thinking label set to: Musing...");
    terminal.enter("two");
    terminal.wait_for("second");
    assert!(
        terminal.text().contains("\nMusing...\nsecond"),
        "{}",
        terminal.text()
    );
    assert!(!terminal.text().contains("boats"), "{}", terminal.text());
    terminal.press("C-t");
    terminal.wait_for("thinking is now shown");
    terminal.enter("three");
    terminal.wait_for("it is about\nboats\nthird");
    leave(&terminal);
}

#[test]
fn whole_outputs_are_shown_when_somebody_wants_to_see_them() {
    let turns = json!([
        {"tool_calls": [shell("seq -f line-%g 1 20")]}, text("first"),
        {"tool_calls": [shell("seq -f number-%g 1 20")]}, text("second"),
    ]);
    let Some(terminal) = chat(room(), turns, &["--yes"]) else {
        return;
    };
    terminal.enter("one");
    terminal.wait_for("first");
    assert!(
        !terminal.text().contains("line-5") && terminal.text().contains("line-20"),
        "{}",
        terminal.text()
    );
    terminal.press("C-o");
    terminal.wait_for("line-5");
    terminal.wait_for("whole outputs are shown from now on");
    terminal.enter("two");
    terminal.wait_for("second");
    assert!(
        terminal.text().contains("number-5") && terminal.text().contains("number-20"),
        "{}",
        terminal.text()
    );
    leave(&terminal);
}

#[test]
fn what_is_written_can_be_edited_elsewhere() {
    let room = room().with("EDITOR", "sh edit.sh --flag");
    room.write("edit.sh", "echo editing $1; read more; echo \"$more\" >> $2");
    let turns = json!([{"expect": ["begun here\\nand ended there"], "text": "an answer"}]);
    let Some(terminal) = chat(room, turns, &[]) else {
        return;
    };
    terminal.type_in("begun here");
    terminal.wait_for("becket> begun here");
    terminal.press("C-g");
    terminal.wait_for("editing --flag");
    terminal.enter("and ended there");
    terminal.wait_until("the words", |_| sees(&terminal, "  and ended there"));
    terminal.press("Enter");
    terminal.wait_for("an answer");
    leave(&terminal);
}

/// Without a repository on GitHub it has nothing to say, and what becket completes stays as it is.
#[test]
pub(crate) fn issues_are_completed_where_there_are_some() {
    let Some(terminal) = example("github-issue-autocomplete", json!([text("unused")])) else {
        return;
    };
    terminal.type_in("/us");
    terminal.wait_for("tokens that this session has used");
    leave_with_words(&terminal);
}

/// Ends a chat in whose editor something is written.
fn leave_with_words(terminal: &Terminal) {
    terminal.press("C-c");
    terminal.wait_until("an empty line", |_| {
        rows(terminal).iter().any(|line| line.as_str() == "becket>")
    });
    leave(terminal);
}

#[test]
fn completions_of_an_extension_stand_beside_the_usual_ones() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => pi.on('session_start', (_: any, ctx: any) => {
            ctx.ui.addAutocompleteProvider((current: any) => ({
                async getSuggestions(lines: string[], line: number, col: number, options: any) {
                    const word = lines[line].slice(0, col).split(' ').pop() ?? '';
                    if (!word.startsWith('#')) return current.getSuggestions(lines, line, col, options);
                    return { prefix: word, items: [{ value: '#12', label: '#12', description: 'an issue' }] };
                },
                applyCompletion: (...given: any[]) => current.applyCompletion(...given),
            }));
            ctx.ui.onTerminalInput((data: string) => (data === '~' ? { consume: true } : undefined));
            ctx.ui.setStatus('state', 'all ears');
        });",
    );
    let Some(terminal) = chat(room, json!([text("unused")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.wait_for("all ears");
    terminal.type_in("fix~ #1");
    terminal.wait_for("an issue");
    terminal.press("Tab");
    terminal.wait_until("the number", |_| sees(&terminal, "becket> fix #12"));
    terminal.press("C-u");
    terminal.type_in("/us");
    terminal.wait_for("tokens that this session has used");
    leave_with_words(&terminal);
}

#[test]
fn messages_are_drawn_by_their_extension() {
    let Some(terminal) = example("message-renderer", json!([text("unused")])) else {
        return;
    };
    terminal.enter("/status everything is fine");
    terminal.wait_for("everything is fine");
    terminal.wait_until("its own look", |_| !sees(&terminal, "[status-update]"));
    leave(&terminal);
}

/// Two extensions: the first draws what nobody draws and changes texts, the second draws its own tool.
#[test]
fn tools_and_texts_look_as_extensions_want_it() {
    let room = room();
    room.write(
        "first.ts",
        "export default (pi: any) => {
            const drawn = (words: string) => ({ render: () => [words], invalidate() {} });
            const mine = (name: string) => ({
                renderCall: (args: any) => drawn(`calls ${name} ${JSON.stringify(args)}`),
                renderResult: (result: any) => drawn(`gave ${result.content[0].text.trim()}`),
            });
            pi.registerToolRenderer((name: string, next: any) => (name === 'bash' ? mine(name) : next()));
            pi.registerToolRenderer((name: string, next: any) => next() ?? mine(name));
            pi.registerMarkdownTransformer((text: string, { messageType, isStreaming, availableWidth }: any) =>
                isStreaming ? text : text.replace('-->', `→ ${messageType} ${availableWidth}`));
        };",
    );
    room.write(
        "second.ts",
        "export default (pi: any) => {
            const tool = (name: string, more: object) => pi.registerTool({
                name, description: name, parameters: { type: 'object', properties: {} }, ...more,
                execute: async () => ({ content: [{ type: 'text', text: `all of ${name}` }] }),
            });
            tool('plain', {});
            tool('drawn', { renderCall: () => ({ render: () => ['its own look'], invalidate() {} }) });
            pi.registerMarkdownTransformer((text: string) => text.replace('assistant', 'the model'));
        };",
    );
    let call = |name: &str| json!({"name": name, "arguments": {}});
    let turns = json!([
        {"tool_calls": [shell("echo shown")]},
        {"tool_calls": [call("plain")]},
        {"tool_calls": [call("drawn")]},
        {"text": "here --> there\n\n- and there", "chunk_size": 3},
    ]);
    let options = ["--yes", "-e", "first.ts", "-e", "second.ts"];
    let Some(terminal) = chat(room, turns, &options) else {
        return;
    };
    terminal.enter("go --> on");
    terminal.wait_for("and there");
    terminal.wait_for_mark();
    let shown = terminal.text();
    for wanted in [
        "becket> go → user 120 on",
        "calls bash {\"command\":\"echo shown\"}",
        "gave shown",
        "calls plain {}",
        "gave all of plain",
        "its own look",
        "here → the model 120 there",
    ] {
        assert!(shown.contains(wanted), "{wanted} is missing:\n{shown}");
    }
    assert!(
        !shown.contains("calls drawn") && !shown.contains("gave all of drawn"),
        "{shown}"
    );
    leave(&terminal);
}

#[test]
fn extensions_are_loaded_anew() {
    let room = room();
    let version = |version: &str| {
        format!(
            "export default (pi: any) => {{
                pi.on('session_start', (event: any, ctx: any) =>
                    ctx.ui.setStatus('v', `version {version} ${{event.reason}}`));
                const handler = async (_: string, ctx: any) => ctx.ui.notify('hello {version}');
                pi.registerCommand('hello', {{ handler }});
                pi.on('session_shutdown', (event: any, ctx: any) => ctx.ui.notify(`bye {version} ${{event.reason}}`));
            }};"
        )
    };
    room.write("extension.ts", version("one"));
    let Some(terminal) = chat(room, json!([text("unused")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.wait_for("version one startup");
    terminal.room.write("extension.ts", version("two"));
    terminal.enter("/reload");
    terminal.wait_for("bye one reload");
    terminal.wait_for("version two reload");
    terminal.enter("/hello");
    terminal.wait_for("hello two");
    leave(&terminal);
}

#[test]
fn an_extension_runs_commands_of_the_person_s_in_the_shell_s_place() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => pi.on('user_bash', (event: any) => {
            if (event.command.startsWith('answer')) {
                return { result: { output: 'answered at once', exitCode: 0, cancelled: false, truncated: false } };
            }
            const exec = async (command: string, cwd: string, { onData, signal }: any) => {
                onData(Buffer.from(`far away: ${command}\\n`));
                if (command !== 'wait') return { exitCode: 7 };
                await new Promise((resolve) => signal.addEventListener('abort', resolve));
                return { exitCode: null };
            };
            return { operations: { exec } };
        });",
    );
    let turns = json!([{"expect": ["far away: ls", "answered at once"], "text": "seen"}]);
    let Some(terminal) = chat(room, turns, &["-e", "extension.ts"]) else {
        return;
    };
    terminal.enter("!ls");
    terminal.wait_for("far away: ls");
    terminal.wait_for("ended with code 7");
    terminal.enter("!answer me");
    terminal.wait_for("answered at once");
    terminal.enter("!wait");
    terminal.wait_for("far away: wait");
    terminal.press("Escape");
    terminal.wait_for("the command was cancelled");
    terminal.enter("what did you see?");
    terminal.wait_for("seen");
    leave(&terminal);
}

#[test]
fn ctrl_c_ends_a_script_that_never_ends_and_the_chat_goes_on() {
    let room = room();
    room.write(
        "extension.ts",
        "export default (pi: any) => pi.registerCommand('stuck', { handler: async (_: string, ctx: any) => {
            ctx.ui.notify('begun');
            for (;;);
        } });",
    );
    let Some(terminal) = chat(room, json!([text("an answer")]), &["-e", "extension.ts"]) else {
        return;
    };
    terminal.enter("/stuck");
    terminal.wait_for("begun");
    terminal.press("C-c");
    // Words that come before anybody has heard that key are not what it means.
    terminal.enter("hello");
    terminal.wait_for("an answer");
    leave(&terminal);
}
