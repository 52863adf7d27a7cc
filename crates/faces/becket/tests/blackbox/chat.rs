//! What a chat looks like: its first lines, its footer, what moves while it works, its answers and its commands, as a
//! terminal shows them.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ModelServer, OpenAiStream, Recorded, Response, Room, needs, write_program};

use crate::room;
use crate::terminal::{Terminal, written};

/// The terminals in which a chat must be readable.
const SIZES: [(usize, usize); 2] = [(80, 24), (200, 60)];

const KIND: &str = "screen-256color";

fn shell(command: &str) -> Value {
    let usage = json!({"input_tokens": 100, "output_tokens": 1234});
    json!({"tool_calls": [{"name": "shell", "arguments": {"command": command}}], "usage": usage})
}

/// A chat in a terminal of that size.
fn chat_sized(room: Room, turns: &Value, size: (usize, usize), options: &[&str]) -> Option<Terminal> {
    let model = room.model(turns);
    let mut arguments = vec!["--model", &model];
    arguments.extend(options);
    arguments.push("chat");
    let terminal = Terminal::start_sized(room, &arguments, size, KIND)?;
    wait_for_chat(&terminal);
    Some(terminal)
}

/// Waits until the chat has begun: the editor is there before that.
#[track_caller]
fn wait_for_chat(terminal: &Terminal) {
    terminal.wait_until("the footer", |_| !footer(terminal).is_empty());
    terminal.wait_for_mark();
}

fn chat(room: Room, turns: &Value, options: &[&str]) -> Option<Terminal> {
    chat_sized(room, turns, (80, 24), options)
}

/// The rows of the screen itself, without blanks at their ends.
fn rows(terminal: &Terminal) -> Vec<String> {
    let text = terminal.visible();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// The row below the editor.
fn footer(terminal: &Terminal) -> String {
    let rows = rows(terminal);
    let editor = rows.iter().rposition(|row| row.starts_with("becket>"));
    let below = editor.and_then(|editor| rows.get(editor + 1));
    below.cloned().unwrap_or_default()
}

fn leave(terminal: &Terminal) {
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.text());
    assert_eq!(terminal.room.read("../after"), terminal.room.read("../before"));
}

#[test]
fn a_chat_begins_with_three_lines_and_with_the_end_of_what_goes_on() {
    for size in SIZES {
        let room = room();
        let hooks = room.hooks(
            "[[hook]]\nevent = \"pre_tool\"\ncommand = \"true\"\n[[hook]]\nevent = \"turn_end\"\ncommand = \"true\"\n",
        );
        let context = room.context();
        let turns = json!([{"text": "**an answer**\n\n- with points"}]);
        let Some(terminal) = chat_sized(room, &turns, size, &["--hooks", &hooks]) else {
            return;
        };
        let first = rows(&terminal);
        assert!(first[0].starts_with("becket 0."), "{first:?}");
        assert!(
            first[0].contains(" · scripted/script · ") && first[0].ends_with("/work"),
            "{first:?}"
        );
        assert_eq!(first[1], format!("a new conversation: {context}"));
        assert!(first[2].starts_with("/help lists commands") && first[2].ends_with("2 hooks, 1 guard"));
        terminal.enter("memorable words");
        terminal.wait_for("with points");
        terminal.wait_for_mark();
        leave(&terminal);
        let last = terminal.text();
        assert!(
            last.contains(&format!("becket -c {context} continues this conversation")),
            "{last}"
        );
        terminal.restart();
        wait_for_chat(&terminal);
        let again = rows(&terminal);
        assert!(
            again[1].starts_with(&format!(
                "continuing the conversation {context}: 2 messages, last used "
            )),
            "{again:?}"
        );
        assert_eq!(
            again[3..6],
            ["becket> memorable words", "an answer", ""],
            "{again:?}"
        );
        assert_eq!(again[6], "• with points");
        assert_eq!(again.iter().filter(|row| *row == "becket>").count(), 1);
        leave(&terminal);
    }
}

#[test]
fn the_footer_tells_model_window_cost_and_hooks() {
    for (size, wanted) in [
        (
            (80, 24),
            "scripted/script · 12.5k tokens, 10 % of 128k · $0.17 · no hooks",
        ),
        (
            (200, 60),
            "scripted/script · 12.5k tokens, 10 % of 128k · $0.17 · no hooks",
        ),
        ((20, 24), "scripted/script"),
    ] {
        let room = room();
        room.config(
            "[prices.\"scripted/script\"]\ninput = 10.0\noutput = 100.0\n\
             [compaction.context_windows]\n\"scripted/script\" = 128000\n",
        );
        let usage = json!({"input_tokens": 12_000, "output_tokens": 500});
        let Some(terminal) = chat_sized(room, &json!([{"text": "done", "usage": usage}]), size, &[]) else {
            return;
        };
        terminal.wait_until("the footer", |_| footer(&terminal).starts_with("scripted/script"));
        terminal.enter("go");
        terminal.wait_for("done");
        terminal.wait_until(wanted, |_| footer(&terminal) == wanted);
        leave(&terminal);
    }
}

#[test]
fn without_a_known_price_or_window_neither_cost_nor_share_is_made_up() {
    let usage = json!({"input_tokens": 12_000, "output_tokens": 500});
    let Some(terminal) = chat(room(), &json!([{"text": "done", "usage": usage}]), &[]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("done");
    let wanted = "scripted/script · 12.5k tokens · no hooks";
    terminal.wait_until(wanted, |_| footer(&terminal) == wanted);
    terminal.wait_for_mark();
    terminal.enter("/cost");
    terminal.wait_for("the price is not known");
    terminal.wait_for_mark();
    terminal.enter("/status");
    terminal.wait_for("window    12.5k tokens; its size is not known");
    terminal.wait_for_mark();
    terminal.enter("/config");
    terminal.wait_for("at 80 % of 128000 tokens (the model's window is not known)");
    leave(&terminal);
}

/// Writes nine lines, with colours and with more than colours, and waits for a file.
const NINE_LINES: &str = "for i in 1 2 3 4 5 6 7; do echo line $i; done; printf 'line 8\\033[2J\\033]0;evil\\007\\n'; \
                          printf '\\033[31mline 9\\033[0m\\n'; until test -e go; do sleep 0.05; done";

#[test]
fn a_running_command_shows_its_last_lines_and_how_long_it_takes() {
    for size in SIZES {
        let turns = json!([shell(NINE_LINES), {"text": "all done"}]);
        let Some(terminal) = chat_sized(room(), &turns, size, &["--yes"]) else {
            return;
        };
        terminal.enter("go");
        let shown = terminal.wait_until("the last lines", |_| {
            let rows = rows(&terminal);
            let line = |wanted: &str| rows.iter().position(|row| row == wanted);
            let works = rows.iter().position(|row| row.contains("Working... "));
            let works = works.filter(|row| rows[*row].ends_with(" s, 1.2k tokens (Escape ends it)"));
            let places = [
                line("  … 4 earlier lines"),
                line("  line 5"),
                line("  line 8"),
                line("  line 9"),
                works,
            ];
            places.iter().all(Option::is_some) && places.is_sorted() && line("  line 4").is_none()
        });
        assert!(
            shown.contains("\x1b[31mline 9"),
            "a tool's colours stay: {shown:?}"
        );
        assert_ne!(terminal.title(), "evil");
        terminal.room.write("go", "");
        terminal.wait_for("all done");
        terminal.wait_for_mark();
        let text = terminal.text();
        assert!(
            text.contains("  … 1 earlier line\n  line 2\n") && text.contains("  line 9\n"),
            "{text}"
        );
        assert!(!text.contains("Working..."), "{text}");
        leave(&terminal);
    }
}

#[test]
fn output_that_a_hook_has_to_see_first_is_not_shown_before() {
    let room = room();
    let hooks = room.hooks("[[hook]]\nevent = \"pre_tool_output\"\ncommand = \"cat > /dev/null\"\n");
    let turns = json!([
        shell("echo hidden-$((1 + 1)); touch begun; until test -e go; do sleep 0.05; done"),
        {"text": "all done"},
    ]);
    let Some(terminal) = chat(room, &turns, &["--yes", "--hooks", &hooks]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_until("the command", |_| terminal.room.has("begun"));
    terminal.wait_until("time to pass", |text| text.contains("Working... 2 s"));
    assert!(!terminal.text().contains("hidden-2"), "{}", terminal.text());
    terminal.room.write("go", "");
    terminal.wait_for("hidden-2");
    terminal.wait_for("all done");
    leave(&terminal);
}

#[test]
fn a_prompt_at_a_terminal_moves_too_and_a_pipe_stays_clean() {
    let turns = json!([shell(NINE_LINES), {"text": "all done"}]);
    let at = room();
    let model = at.model(&turns);
    let Some(terminal) = Terminal::start_sized(at, &["--yes", "--model", &model, "go"], (40, 24), KIND)
    else {
        return;
    };
    terminal.wait_until("the last line", |_| {
        rows(&terminal)
            .iter()
            .any(|row| row.ends_with(" s, 1.2k tokens  line 9"))
    });
    terminal.room.write("go", "");
    assert_eq!(terminal.wait_for_end(), 0);
    let rows = rows(&terminal);
    assert!(rows.contains(&"all done".to_owned()), "{rows:?}");
    assert!(
        !rows.iter().any(|row| row.contains(" s, ")),
        "the line is gone: {rows:?}"
    );

    let piped = room();
    let slow = json!([{"text": "late", "delay_ms": 1500}]);
    let model = piped.model(&slow);
    let run = piped.run(["--model", &model, "go"]).ended_with(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("late\n", ""));
}

const MARKDOWN: &str = "Words are broken between words, 模型說了很多很多話也是.\n\n\
    | name | count |\n|:--|--:|\n| 模型 | 5 |\n| b | 1234 |\n\n\
    ```rust\nlet x = \"text\"; // why\n```\n\n~~gone~~ [here](http://example.org)\n";

#[test]
fn answers_have_whole_words_aligned_tables_and_coloured_code() {
    let turns = json!([{"text": MARKDOWN, "chunk_size": 7}]);
    for columns in [40, 20] {
        let Some(terminal) = chat_sized(room(), &turns, (columns, 40), &[]) else {
            return;
        };
        terminal.enter("go");
        let screen = terminal.wait_for("here");
        terminal.wait_for_mark();
        let rows = rows(&terminal);
        let has = |wanted: &str| rows.iter().any(|row| row == wanted);
        match columns {
            40 => assert!(
                has("Words are broken between words, 模型說了") && has("很多很多話也是."),
                "{rows:?}"
            ),
            _ => assert!(has("Words are broken") && has("between words, 模型"), "{rows:?}"),
        }
        assert!(
            has("模型 │     5") && has("─────┼──────") && has("b    │  1234"),
            "{rows:?}"
        );
        assert!(
            has("gone here") || has("gone here (http://example.org)"),
            "{rows:?}"
        );
        assert!(
            screen.contains("\x1b[35mlet\x1b[39m x") && screen.contains("\x1b[32m\"text\""),
            "{screen:?}"
        );
        leave(&terminal);
    }
}

#[test]
fn without_colours_and_on_a_dumb_terminal_everything_can_be_read() {
    let turns = json!([{"text": MARKDOWN}]);
    let Some(terminal) = chat(room().with("NO_COLOR", "1"), &turns, &[]) else {
        return;
    };
    terminal.enter("go");
    let screen = terminal.wait_for("~~gone~~ here");
    assert!(
        !screen.contains("\x1b[3") && screen.contains("let x = \"text\""),
        "{screen:?}"
    );
    leave(&terminal);

    let room = room();
    let model = room.model(&turns);
    let arguments = ["--model", &model, "chat"];
    let Some(terminal) = Terminal::start_sized(room, &arguments, (80, 24), "dumb") else {
        return;
    };
    terminal.wait_until("the mark", |text| text.trim_end().ends_with("becket>"));
    assert!(
        terminal.text().contains("a new conversation: "),
        "{}",
        terminal.text()
    );
    terminal.record("raw");
    terminal.enter("go");
    terminal.wait_for("~~gone~~ here");
    terminal.enter("/status");
    terminal.wait_for("messages  2");
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
    let raw = terminal.room.read("raw");
    assert!(!raw.contains('\x1b'), "{raw:?}");
}

#[test]
fn a_terminal_that_changes_its_size_keeps_one_editor_and_one_footer() {
    let turns = json!([{"text": MARKDOWN}]);
    let Some(terminal) = chat(room(), &turns, &[]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("gone here");
    for size in [(20, 12), (200, 60), (80, 24)] {
        terminal.resize(size.0, size.1);
        terminal.wait_until("one of each", |_| {
            let rows = rows(&terminal);
            let count = |wanted: &str| rows.iter().filter(|row| row.starts_with(wanted)).count();
            rows.iter().filter(|row| *row == "becket>").count() == 1
                && count("scripted/script") == 1
                && footer(&terminal).starts_with("scripted/script")
        });
    }
    leave(&terminal);
}

#[test]
fn a_list_and_a_question_stand_once_on_a_terminal_of_any_size() {
    let items = [
        "mend the nets, wash the sails and count the oars before the rain",
        "網を直す",
    ];
    let call = json!({"name": "create_todos", "arguments": {"descriptions": items}});
    let turns = json!([{"tool_calls": [call]}, shell("touch ran"), {"text": "all done"}]);
    let Some(terminal) = chat(room(), &turns, &["--tools", "docker-agent"]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("[c]ancel");
    for (size, broken) in [
        ((200, 60), false),
        ((40, 30), true),
        ((90, 24), false),
        ((30, 40), true),
    ] {
        terminal.resize(size.0, size.1);
        terminal.wait_until("one of each", |_| {
            let rows = rows(&terminal);
            let count = |wanted: &str| rows.iter().filter(|row| row.starts_with(wanted)).count();
            let last = rows.iter().rposition(|row| row.ends_with("the rain"));
            count("? shell, which runs touch") == 1
                && count("→ [y]es") == 1
                && count("  ☐ mend the nets") == 1
                && count("  ☐ 網を直す") == 1
                && last.is_some_and(|row| rows[row].starts_with("    ") == broken)
        });
    }
    terminal.press("y");
    terminal.wait_for("all done");
    leave(&terminal);
}

#[test]
fn words_behind_a_command_that_takes_none_are_a_mistake_and_no_prompt() {
    let room = room();
    let model = room.model(&json!([{"text": "never asked"}]));
    let lines = "/quit x\n/status of the build\n/redo 3\n/quit\n";
    let run = room
        .run_with_input(["--model", &model, "chat"], lines)
        .ended_with(2)
        .complained("/quit takes no words; type only /quit")
        .complained("/status takes no words")
        .complained("/redo does not know `3`; usage: /redo [--force]");
    assert!(!run.stdout.contains("never asked"), "{}", run.stdout);
}

#[test]
fn ctrl_d_tells_what_runs_in_the_background_and_ends_it_the_second_time() {
    let job = json!({"command": "echo $$ > job; exec sleep 600", "background": true});
    let turns = json!([{"tool_calls": [{"name": "shell", "arguments": job}]}, {"text": "all done"}]);
    let Some(terminal) = chat(room(), &turns, &["--yes"]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("all done");
    terminal.wait_until("the job", |_| terminal.room.read("job").ends_with('\n'));
    terminal.wait_for_mark();
    terminal.press("C-d");
    terminal.wait_until("what still runs", |text| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.contains(
            "1 background job still runs: `echo $$ > job; exec sleep 600`; press Ctrl-D again to end the chat",
        )
    });
    terminal.wait_for_mark();
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
    let process = format!("/proc/{}", terminal.room.read("job").trim());
    assert!(!std::path::Path::new(&process).exists(), "the job has ended");
}

/// A provider with three models.
fn provider(request: &Recorded) -> Response {
    if request.path.ends_with("/models") {
        let models = ["first", "second", "evil\u{1b}[2J"];
        let models = models.map(|id| json!({"id": id, "max_model_len": 8192}));
        return Response::json(200, &json!({"data": models}));
    }
    let model = request.json()["model"].as_str().unwrap_or_default().to_owned();
    let text = format!("I am {model}.");
    Response::events(OpenAiStream::new(&model).text(&text).finish("stop").done())
}

fn connected(server: &ModelServer) -> Room {
    room()
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OPENAI_BASE_URL", &server.url())
}

#[test]
fn a_model_is_chosen_from_the_providers_own_list() {
    for size in SIZES {
        let server = ModelServer::answering(provider);
        let arguments = ["--model", "openai/first", "chat"];
        let Some(terminal) = Terminal::start_sized(connected(&server), &arguments, size, KIND) else {
            return;
        };
        wait_for_chat(&terminal);
        assert!(
            server.requests().is_empty(),
            "nobody is asked before a list is wanted"
        );
        terminal.press("C-l");
        terminal.wait_for("Which model?");
        terminal.wait_for("→ 1. openai/first");
        terminal.wait_for("openai/second");
        terminal.wait_for("openai/evil␛[2J");
        terminal.type_in("sec");
        terminal.wait_for("→ 1. openai/second");
        terminal.press("Enter");
        terminal.wait_for("the model is openai/second from now on");
        terminal.wait_until("the footer", |_| footer(&terminal).starts_with("openai/second"));
        terminal.enter("who?");
        terminal.wait_for("I am second.");
        terminal.wait_until("the window of the list", |_| {
            footer(&terminal).contains(" % of 8.1k")
        });
        terminal.wait_for_mark();
        terminal.enter("/config");
        terminal.wait_for("model            openai/second");
        terminal.wait_for_mark();
        terminal.press("C-p");
        terminal.wait_for("→ 1. openai/second");
        terminal.press("Escape");
        terminal.wait_for_mark();
        let list = server.requests();
        let list = list
            .iter()
            .find(|request| request.path.ends_with("/models"))
            .expect("it was asked");
        assert_eq!(
            (list.method.as_str(), list.header("authorization")),
            ("GET", Some("Bearer sk-0123456789"))
        );
        leave(&terminal);
    }
}

#[test]
fn without_the_providers_list_the_known_models_can_be_chosen() {
    let refused = |_: &Recorded| Response::json(404, &json!({"error": {"message": "no such list"}}));
    for server in [
        ModelServer::answering(refused),
        ModelServer::answering(|_| Response::json(200, &json!({"data": []})).after(Duration::from_secs(100))),
    ] {
        let Some(terminal) = Terminal::start(connected(&server), &["--model", "openai/first", "chat"]) else {
            return;
        };
        wait_for_chat(&terminal);
        terminal.enter("/model");
        terminal.wait_for("the provider's own list is missing");
        terminal.wait_for("→ 1. openai/first");
        terminal.press("Escape");
        terminal.wait_for_mark();
        leave(&terminal);
    }
}

#[test]
fn conversations_are_chosen_by_what_was_said_first() {
    for size in SIZES {
        chooses_conversations_in(size);
    }
}

fn chooses_conversations_in(size: (usize, usize)) {
    let turns = json!([{"text": "one"}, {"text": "two"}]);
    let Some(terminal) = chat_sized(room(), &turns, size, &[]) else {
        return;
    };
    terminal.enter("Paint the boats, all of them, with a colour that lasts for years.");
    terminal.wait_for("one");
    terminal.wait_for_mark();
    terminal.enter("/new");
    terminal.wait_for("started the new conversation");
    terminal.enter("Mend the nets.");
    terminal.wait_for("two");
    terminal.wait_for_mark();
    terminal.enter("/resume");
    terminal.wait_for("Which conversation?");
    terminal.wait_for("→ 1. Paint the boats, all of them, with a colour that l…");
    terminal.press("Enter");
    terminal.wait_for("now in the conversation");
    // Its end is shown again, below what was said since.
    terminal.wait_until("its end", |text| text.matches("\none").count() == 2);
    terminal.enter("/tree");
    terminal.wait_for("Continue from where? (Paint the boats, all of them");
    terminal.wait_until("the tree", |_| {
        let rows = rows(&terminal);
        let first = rows
            .iter()
            .position(|row| row.contains("user: Paint the boats, all of them"));
        first.is_some_and(|first| rows[first + 1].ends_with("assistant: one  <- here"))
    });
    terminal.press("Escape");
    terminal.wait_for_mark();
    leave(&terminal);
}

#[test]
fn what_is_to_be_done_stands_above_the_editor_until_it_is_done() {
    let todo = |name: &str, arguments: Value| json!({"tool_calls": [{"name": name, "arguments": arguments}]});
    let status = |id: &str, status: &str| json!({"id": id, "status": status});
    let turns = json!([
        todo("create_todos", json!({"descriptions": ["mend the\u{1b}[2J nets", "paint"]})),
        todo("update_todos", json!({"updates": [status("todo_1", "completed"), status("todo_2", "in-progress")]})),
        {"text": "half of it"},
        todo("update_todos", json!({"updates": [status("todo_2", "completed")]})),
        {"text": "all of it"},
    ]);
    let Some(terminal) = chat(room(), &turns, &["--tools", "docker-agent"]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("half of it");
    terminal.wait_until("the list", |_| {
        let rows = rows(&terminal);
        let editor = rows.iter().rposition(|row| row == "becket>").unwrap_or(0);
        editor > 2 && rows[editor - 2..editor] == ["  ☑ mend the␛[2J nets", "  ◐ paint"]
    });
    terminal.enter("go on");
    terminal.wait_for("all of it");
    terminal.wait_until("no list", |_| {
        !rows(&terminal).iter().any(|row| row.contains('☑'))
    });
    leave(&terminal);
}

#[test]
fn a_checklist_stands_above_the_editor_and_is_there_again_when_the_conversation_goes_on() {
    for profile in ["becket", "codex", "claude-code", "gemini"] {
        let notes = |content: &str| {
            let call = json!({"name": "update_todos", "arguments": {"content": content}});
            json!({"tool_calls": [call]})
        };
        let turns = json!([
            notes(
                "# Boats\n- [x] mend the\u{1b}[2J nets\n- [~] paint\n- [ ] sail to every island that can be reached \
                 before the winter comes to the harbour\n",
            ),
            {"text": "half of it"},
        ]);
        let options = match profile {
            "becket" => vec![],
            other => vec!["--tools", other],
        };
        let Some(terminal) = chat(room(), &turns, &options) else {
            return;
        };
        let wanted = [
            "  ☑ mend the␛[2J nets",
            "  ◐ paint",
            "  ☐ sail to every island that can be reached before the winter comes to the",
            "    harbour",
        ];
        let is_listed = || {
            let rows = rows(&terminal);
            let editor = rows.iter().rposition(|row| row == "becket>").unwrap_or(0);
            editor > 4 && rows[editor - 4..editor] == wanted
        };
        terminal.enter("go");
        terminal.wait_for("half of it");
        terminal.wait_until("the list", |_| is_listed());
        leave(&terminal);
        let rest = [notes("- [x] paint\n- [x] sail"), json!({"text": "all of it"})];
        terminal.room.model(&json!(rest));
        terminal.restart();
        wait_for_chat(&terminal);
        terminal.wait_until("the list again", |_| is_listed());
        terminal.enter("go on");
        terminal.wait_for("all of it");
        terminal.wait_until("no list", |_| {
            !rows(&terminal).iter().any(|row| row.contains("☐"))
        });
    }
}

#[test]
fn the_end_of_long_work_rings_and_of_short_work_does_not() {
    let room = room();
    room.config("[chat]\nbell_after = 1\n");
    let turns = json!([{"text": "soon"}, {"text": "late", "delay_ms": 1500}]);
    let Some(terminal) = chat(room, &turns, &[]) else {
        return;
    };
    terminal.record("short");
    terminal.enter("first");
    terminal.wait_for("soon");
    terminal.wait_for_mark();
    terminal.record("long");
    terminal.enter("second");
    terminal.wait_for("late");
    terminal.wait_until("the bell", |_| terminal.room.read("long").contains('\x07'));
    assert!(!terminal.room.read("short").contains('\x07'));
    leave(&terminal);
}

#[test]
fn the_desktop_is_notified_where_settings_or_terminal_say_so() {
    let turns = json!([{"text": "late", "delay_ms": 1500}]);
    for (settings, program, sequence) in [
        ("notification = \"osc9\"", None, Some("\x1b]9;becket: done\x07")),
        (
            "notification = \"osc777\"",
            None,
            Some("\x1b]777;notify;becket;done\x07"),
        ),
        ("", Some("WezTerm"), Some("\x1b]9;becket: done\x07")),
        ("notification = \"none\"", Some("WezTerm"), None),
        ("", Some("tmux"), None),
    ] {
        let mut room = room();
        if let Some(program) = program {
            room = room.with("TERM_PROGRAM", program);
        }
        room.config(&format!("[chat]\nbell_after = 1\n{settings}\n"));
        let Some(terminal) = chat(room, &turns, &[]) else {
            return;
        };
        terminal.record("raw");
        terminal.enter("go");
        terminal.wait_for("late");
        terminal.wait_until("the bell", |_| {
            let raw = terminal.room.read("raw");
            sequence.is_none_or(|sequence| raw.contains(sequence)) && raw.contains('\x07')
        });
        let raw = terminal.room.read("raw");
        let is_notified = raw.contains("\x1b]9;") || raw.contains("\x1b]777;");
        assert_eq!(is_notified, sequence.is_some(), "{settings} {program:?}: {raw:?}");
        leave(&terminal);
    }
}

#[test]
fn how_much_the_model_thinks_is_chosen_in_the_chat() {
    let said = || {
        Response::events(
            OpenAiStream::new("o3")
                .text("thought about it")
                .finish("stop")
                .done(),
        )
    };
    let server = ModelServer::start([said(), said()]);
    let arguments = ["--model", "openai/o3", "chat"];
    let Some(terminal) = Terminal::start_sized(connected(&server), &arguments, (200, 60), KIND) else {
        return;
    };
    wait_for_chat(&terminal);
    terminal.enter("/thinking most");
    terminal.wait_for("there is no thinking level `most`; there are off, minimal, low, medium, high, xhigh");
    terminal.wait_for_mark();
    terminal.enter("/thinking");
    terminal.wait_for("How much thinking?");
    terminal.type_in("hig");
    terminal.wait_for("→ 1. high");
    terminal.type_in("zzz");
    terminal.wait_for("nothing matches");
    for _ in "zzz".chars() {
        terminal.press("BSpace");
    }
    terminal.wait_for("→ 1. high");
    terminal.press("Enter");
    terminal.wait_for("thinking is high from the next request on");
    terminal.enter("go");
    terminal.wait_for("thought about it");
    terminal.wait_until("the footer", |_| {
        footer(&terminal).starts_with("openai/o3 · thinking high")
    });
    assert_eq!(server.requests()[0].json()["reasoning_effort"], "high");
    leave(&terminal);
}

#[test]
fn a_plan_is_carried_out_when_the_user_says_so() {
    let turns = json!([
        {"text": "I would touch it."},
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch it"}}],
         "expect": ["Carry out your plan. Gently."]},
        {"text": "carried out"}
    ]);
    let Some(terminal) = chat(room(), &turns, &["--permission-mode", "plan"]) else {
        return;
    };
    terminal.wait_for("plan mode (Shift+Tab changes it); /go carries the plan out");
    terminal.enter("plan it");
    terminal.wait_for("I would touch it.");
    terminal.wait_for_mark();
    terminal.enter("/go Gently.");
    terminal.wait_for("command: touch it");
    assert!(
        !terminal.visible().contains("plan mode ("),
        "{}",
        terminal.visible()
    );
    terminal.press("y");
    terminal.wait_for("carried out");
    terminal.wait_for_mark();
    assert!(terminal.room.has("it"));
    terminal.enter("/go");
    terminal.wait_for("the mode is ask, not plan");
    leave(&terminal);
    let traced = terminal.room.run(["trace"]).ended_with(0);
    traced.said("allowed by you");
}

#[test]
fn a_pipe_does_not_leave_plan_mode() {
    let room = room();
    let model = room.model(&json!([{"text": "unused"}]));
    let run = room.run_with_input(["--model", &model, "--permission-mode", "plan", "chat"], "/go\n");
    run.ended_with(2).complained("/go needs a user at a terminal");
}

#[test]
fn many_waiting_messages_leave_room_for_the_rest() {
    let server =
        ModelServer::start([
            Response::events(OpenAiStream::new("m").text("late").finish("stop").done())
                .after(Duration::from_secs(600)),
        ]);
    let arguments = ["--model", "openai/m", "chat"];
    let Some(terminal) = Terminal::start_sized(connected(&server), &arguments, (80, 24), KIND) else {
        return;
    };
    wait_for_chat(&terminal);
    terminal.enter("go");
    terminal.wait_for("Working");
    for number in 1..=8 {
        terminal.enter(&format!("message {number}"));
    }
    terminal.wait_for("… 3 more lines");
    let rows = rows(&terminal);
    assert!(rows.contains(&"steering: message 5".to_owned()), "{rows:?}");
    assert!(!rows.contains(&"steering: message 6".to_owned()), "{rows:?}");
    terminal.press("Escape");
    terminal.wait_for("becket: cancelled");
    terminal.press("C-c");
    leave(&terminal);
}

#[test]
fn a_long_compaction_rings_too() {
    let room = room();
    room.config("[chat]\nbell_after = 1\n");
    let turns = json!([{"text": "soon"}, {"text": "a summary", "delay_ms": 1500}]);
    let Some(terminal) = chat(room, &turns, &[]) else {
        return;
    };
    terminal.enter("first");
    terminal.wait_for("soon");
    terminal.wait_for_mark();
    terminal.record("raw");
    terminal.enter("/compact");
    terminal.wait_for("a summary now replaces");
    terminal.wait_until("the bell", |_| terminal.room.read("raw").contains('\x07'));
    leave(&terminal);
}

#[test]
fn an_answer_that_arrives_stands_above_the_spinner_the_editor_and_the_footer() {
    for size in SIZES {
        let half = OpenAiStream::new("first").text("The first half of the answer.\n\nThe second ");
        let half =
            Response::events(half.unfinished()).late_piece(Duration::from_secs(600), "data: [DONE]\n\n");
        let server = ModelServer::start([half]);
        let arguments = ["--model", "openai/first", "chat"];
        let Some(terminal) = Terminal::start_sized(connected(&server), &arguments, size, KIND) else {
            return;
        };
        wait_for_chat(&terminal);
        terminal.enter("go");
        let is_drawn = |rows: &[String]| {
            let editor = rows.iter().rposition(|row| row == "becket>").unwrap_or(0);
            let [.., said, first, blank, second, works] = &rows[..editor] else {
                return false;
            };
            said == "becket> go"
                && first == "The first half of the answer."
                && blank.is_empty()
                && second == "The second"
                && works.contains(" Working... ")
                && works.ends_with(" tokens (Escape ends it)")
                && rows
                    .get(editor + 1)
                    .is_some_and(|row| row.starts_with("openai/first · "))
        };
        terminal.wait_until("half an answer", |_| is_drawn(&rows(&terminal)));
        terminal.press("Escape");
        terminal.wait_for("cancelled");
        terminal.wait_for_mark();
        leave(&terminal);
    }
}

#[test]
fn the_tools_that_are_offered_are_counted() {
    let Some(terminal) = chat(room(), &json!([{"text": "unused"}]), &[]) else {
        return;
    };
    terminal.enter("/tools");
    terminal.wait_for("13 tools");
    assert!(!terminal.text().contains("call_user"), "{}", terminal.text());
    terminal.wait_for_mark();
    terminal.enter("/status");
    terminal.wait_for("tools     13");
    leave(&terminal);
}

#[test]
fn the_rules_that_count_are_listed_with_their_origin_and_the_mode() {
    let room = room();
    room.config(
        "[permissions]\ndeny = [\"shell:command=rm *\"]\nask = [\"fetch\"]\nallow = [\"shell:command=ls *\"]\n",
    );
    let turns = json!([shell("touch one"), shell("cat two"), {"text": "all done"}]);
    let Some(terminal) = chat_sized(room, &turns, (200, 60), &[]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("[s]ame call again in this session");
    terminal.press("s");
    terminal.wait_for("command: cat two");
    terminal.press("r");
    terminal.wait_for("Always allow this in this project?");
    terminal.press("Enter");
    terminal.wait_for("all done");
    terminal.wait_for_mark();
    terminal.press("BTab");
    terminal.wait_for("accept-edits mode");
    terminal.enter("/permissions");
    for line in [
        "mode   accept-edits (Shift+Tab changes it)",
        "deny   shell:command=rm *  (settings)",
        "ask    fetch  (settings)",
        "allow  shell:command=ls *  (settings)",
        "  (stored)",
        "\"touch one\"}  (your yes, until the session ends)",
    ] {
        terminal.wait_for(line);
    }
    leave(&terminal);
}

#[test]
fn servers_are_listed_with_their_states() {
    let room = room();
    room.config("[mcp.servers.broken]\ncommand = \"no-such-program\"\n");
    let Some(terminal) = chat_sized(room, &json!([{"text": "unused"}]), (200, 60), &[]) else {
        return;
    };
    terminal.enter("/mcp");
    terminal.wait_for("broken           stdio no-such-program");
    terminal.wait_for("failed: ");
    leave(&terminal);
}

#[test]
fn commands_say_what_the_chat_works_with() {
    let room = room();
    room.write("notes.md", "one\n");
    let hooks = room.hooks("[[hook]]\nevent = \"pre_tool\"\nname = \"watch\"\ncommand = \"true\"\n");
    let context = room.context();
    let Some(terminal) = chat(room, &json!([{"text": "an answer"}]), &["--hooks", &hooks]) else {
        return;
    };
    terminal.enter("words");
    terminal.wait_for("an answer");
    for (command, wanted) in [
        ("/status", "hooks     1 hook, 1 guard"),
        ("/hooks", "pre_tool             guard"),
        ("/tools", "builtin: "),
        ("/mcp", "no MCP server brings tools here"),
        ("/permissions", "no rules are in effect here"),
        ("/config", "shell timeout    120 s"),
        ("/cost", "script: "),
        ("/export", &format!("{context}.md")),
        ("/help", "/export [FILE]"),
        ("/clear", "the messages are archived"),
    ] {
        terminal.wait_for_mark();
        terminal.enter(command);
        terminal.wait_for(wanted);
    }
    let exported = terminal.room.read(&format!("{context}.md"));
    assert_eq!(exported, "## User\n\nwords\n\n## Model\n\nan answer\n\n");
    terminal.wait_for_mark();
    terminal.enter("/status");
    terminal.wait_for("messages  0");
    terminal.wait_for_mark();
    terminal.enter("/export notes.md");
    terminal.wait_for("there are no messages yet");
    assert_eq!(terminal.room.read("notes.md"), "one\n");
    leave(&terminal);
}

/// Commits what is there, in a repository whose settings name programs.
fn commit_with_hostile_settings(room: &Room) {
    for arguments in [
        vec!["init", "-q"],
        vec!["add", "."],
        vec![
            "-c",
            "user.name=n",
            "-c",
            "user.email=e",
            "commit",
            "-qm",
            "first",
        ],
        // A repository cannot make becket run a program.
        vec!["config", "core.fsmonitor", "touch ran; false"],
        vec!["config", "diff.external", "touch ran; false"],
        vec!["config", "diff.own.command", "touch ran"],
        vec!["config", "diff.own.textconv", "touch ran; cat"],
        vec!["config", "filter.own.clean", "touch ran; cat"],
        vec!["config", "filter.own=b.process", "touch ran"],
        vec!["config", "filter.own=b.required", "true"],
        vec!["config", "core.hooksPath", "."],
        vec!["config", "core.pager", "touch ran; cat"],
        vec!["config", "remote.far.url", "ext::sh -c 'touch ran'"],
        vec!["config", "remote.far.promisor", "true"],
        vec!["config", "protocol.ext.allow", "always"],
        vec!["config", "extensions.partialClone", "far"],
    ] {
        let git = room
            .command_of("git".as_ref(), arguments)
            .status()
            .expect("git runs");
        assert!(git.success());
    }
}

#[test]
fn the_answer_goes_to_the_clipboard_and_a_diff_has_colours() {
    if !needs("git") {
        return;
    }
    let room = room();
    room.write("boats.txt", "red\n");
    room.write("notes.md", "one\n");
    commit_with_hostile_settings(&room);
    room.write("boats.txt", "blue\n");
    room.write("notes.md", "two\n");
    room.write(
        ".gitattributes",
        "boats.txt filter=own diff=own\n*.md filter=own=b diff=own\n",
    );
    write_program(&room.work().join("post-index-change"), "#!/bin/sh\ntouch ran\n");
    let Some(terminal) = chat(room, &json!([{"text": "copied words"}]), &[]) else {
        return;
    };
    terminal.enter("go");
    terminal.wait_for("copied words");
    terminal.wait_for_mark();
    terminal.record("raw");
    terminal.enter("/copy");
    terminal.wait_for("the answer is copied, 1 line");
    terminal.wait_until("the clipboard", |_| {
        terminal
            .room
            .read("raw")
            .contains("\x1b]52;c;Y29waWVkIHdvcmRz\x07")
    });
    terminal.wait_for_mark();
    terminal.enter("/diff");
    let screen = terminal.wait_for("+blue");
    assert!(
        screen.contains("\x1b[32m+blue") && screen.contains("\x1b[31m-red"),
        "{screen:?}"
    );
    terminal.wait_for("+two");
    assert!(!terminal.room.has("ran"), "{}", terminal.text());
    leave(&terminal);
}

#[test]
fn a_diff_has_new_files_and_needs_neither_a_commit_nor_a_repository() {
    if !needs("git") {
        return;
    }
    let Some(terminal) = chat(room(), &json!([{"text": "unused"}]), &[]) else {
        return;
    };
    terminal.enter("/diff");
    terminal.wait_for("error: there is no git repository here, so nothing can be compared");
    let room = &terminal.room;
    let git = |arguments: &[&str]| {
        let status = room.command_of("git".as_ref(), arguments).status();
        assert!(status.expect("git runs").success());
    };
    git(&["init", "-q"]);
    room.write("boats/new.txt", "sail\n");
    room.write("added.txt", "staged\n");
    room.write("hidden.log", "noise\n");
    room.write(".gitignore", "*.log\n../*\n");
    git(&["add", "added.txt"]);
    terminal.wait_for_mark();
    terminal.enter("/diff");
    terminal.wait_for("+sail");
    let text = terminal.text();
    assert!(
        text.contains("+staged") && text.contains("b/boats/new.txt") && !text.contains("noise"),
        "{text}"
    );
    leave(&terminal);
}

#[test]
fn commands_are_completed_with_what_they_do() {
    let Some(terminal) = chat(room(), &json!([{"text": "unused"}]), &[]) else {
        return;
    };
    terminal.type_in("/co");
    terminal.wait_for("→ /cost");
    terminal.wait_for("tokens and cost of each model");
    assert_eq!(written(&terminal.text()), Some("/co"));
    terminal.press("Escape");
    terminal.wait_until("no list", |text| !text.contains("→ /cost"));
    terminal.press("C-c");
    terminal.wait_for_mark();
    terminal.type_in("/model scr");
    terminal.wait_for("→ scripted/script");
    terminal.press("Escape");
    terminal.wait_until("no list", |text| !text.contains("→ scripted/script"));
    terminal.press("C-c");
    leave(&terminal);
}

#[test]
fn an_edit_shows_its_diff_in_colours() {
    let room = room();
    room.write("boats.txt", "red\nold\n");
    let edit = json!({"path": "boats.txt", "edits": [{"old": "red", "new": "blue"}]});
    let turns = json!([{"tool_calls": [{"name": "edit", "arguments": edit}]}, {"text": "all done"}]);
    let Some(terminal) = chat(room, &turns, &["--yes"]) else {
        return;
    };
    terminal.enter("go");
    let screen = terminal.wait_for("all done");
    assert!(
        screen.contains("\x1b[31m-red") && screen.contains("\x1b[32m+blue"),
        "{screen:?}"
    );
    leave(&terminal);
}

#[test]
fn known_prices_are_listed_with_their_date() {
    let room = room().with("OPENAI_API_KEY", "sk-0123456789");
    let run = room.run(["models", "--model", "openai/gpt-4.1"]).ended_with(0);
    assert!(
        run.stdout
            .lines()
            .next()
            .is_some_and(|head| head.split_whitespace().rev().take(2).eq(["out", "in"])),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("$2") && run.stdout.contains("$8"),
        "{}",
        run.stdout
    );
    let run = run.complained("prices are US dollars per million tokens; becket's own table is of 20");
    assert!(
        run.stdout.contains("  1.0M  "),
        "the window is known: {}",
        run.stdout
    );
    let run = room.run(["models", "--model", "openai/nobody"]).ended_with(0);
    assert!(run.stdout.contains("  unknown  "), "{}", run.stdout);
    room.config("[prices.\"openai/gpt-4.1\"]\ninput = 7.5\noutput = 9.0\n");
    let run = room
        .run(["models", "--json", "--model", "openai/gpt-4.1"])
        .ended_with(0);
    assert_eq!(run.events()[0]["price"]["input"], 7.5);
}

#[test]
fn a_chat_in_lines_attaches_a_picture_too_and_a_pipe_says_that_it_does_not() {
    let in_lines = room();
    in_lines.write("a.png", b"\x89PNG\r\n\x1a\nrest");
    let model = in_lines.model(&json!([{"expect": ["image/png"], "text": "a boat"}]));
    let arguments = ["--model", &model, "chat"];
    let Some(terminal) = Terminal::start_sized(in_lines, &arguments, (80, 24), "dumb") else {
        return;
    };
    terminal.wait_until("the mark", |text| text.trim_end().ends_with("becket>"));
    terminal.enter("see @a.png");
    terminal.wait_for("the model sees the picture");
    terminal.wait_for("a boat");
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);

    let piped = room();
    piped.write("a.png", b"\x89PNG\r\n\x1a\nrest");
    let model = piped.model(&json!([{"text": "words"}]));
    piped
        .run_with_input(["--model", &model, "chat"], "see @a.png\n")
        .ended_with(0)
        .complained("the model does not see the picture")
        .complained("--image FILE does");
}

#[test]
fn a_picture_in_the_clipboard_is_put_into_the_line() {
    let with_program = room();
    let bin = with_program.home().join("bin");
    std::fs::create_dir_all(&bin).expect("the folder can be made");
    write_program(
        &bin.join("wl-paste"),
        "#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\nrest'\n",
    );
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let turns = json!([{"expect": ["image/png"], "text": "a boat"}]);
    let Some(terminal) = chat_sized(with_program.with("PATH", &path), &turns, (200, 60), &[]) else {
        return;
    };
    terminal.press("C-v");
    terminal.wait_until("the path", |text| {
        written(text).is_some_and(|line| line.ends_with(".png'"))
    });
    terminal.enter("what is it?");
    terminal.wait_for("the model sees the picture");
    terminal.wait_for("a boat");
    leave(&terminal);

    let without = room().with("PATH", "/nowhere");
    let Some(terminal) = chat(without, &json!([{"text": "unused"}]), &[]) else {
        return;
    };
    terminal.press("C-v");
    terminal.wait_for("pictures of the clipboard need one of the programs wl-paste, xclip");
    leave(&terminal);
}

#[test]
fn a_picture_that_is_dropped_on_the_terminal_is_shown_to_the_model() {
    let room = room();
    let picture = room.write("a boat.png", b"\x89PNG\r\n\x1a\nrest");
    let turns = json!([{"expect": ["image/png"], "text": "a boat"}, {"text": "nothing new"}]);
    let Some(terminal) = chat_sized(room, &turns, (200, 60), &[]) else {
        return;
    };
    let dropped = picture.display().to_string().replace(' ', "\\ ");
    terminal.enter(&format!("what is this? {dropped}"));
    terminal.wait_for("the model sees the picture");
    terminal.wait_for("a boat\n");
    leave(&terminal);
}
