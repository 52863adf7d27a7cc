//! The chat in a real terminal, driven by tmux.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Room, needs};

use crate::{repository_file, room};

pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A terminal with the program in it. It is gone when it is dropped.
pub(crate) struct Terminal {
    pub(crate) room: Room,
}

impl Terminal {
    /// Starts the program in a terminal; `None` where there is no tmux.
    pub(crate) fn start(room: Room, arguments: &[&str]) -> Option<Self> {
        Self::start_sized(room, arguments, (120, 40), "screen-256color")
    }

    /// Starts the program in a terminal of that size and kind; `None` where there is no tmux.
    pub(crate) fn start_sized(
        room: Room,
        arguments: &[&str],
        (columns, rows): (usize, usize),
        kind: &str,
    ) -> Option<Self> {
        if !needs("tmux") {
            return None;
        }
        let terminal = Self { room };
        let command = terminal.room.command(arguments);
        let mut program = vec!["env".to_string(), "-i".into(), format!("TERM={kind}")];
        for (name, value) in command.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            program.push(quote(&format!("{}={value}", name.to_string_lossy())));
        }
        program.push(quote(&command.get_program().to_string_lossy()));
        program.extend(
            command
                .get_args()
                .map(|argument| quote(&argument.to_string_lossy())),
        );
        let (folder, program) = (quote(&terminal.room.work().to_string_lossy()), program.join(" "));
        // The shell outlives Ctrl-C, notes how the program ended, and keeps the screen.
        let line = format!(
            "cd {folder}; trap : INT; stty -g > ../before; {program}; echo $? > ../code; stty -g > ../after; \
             exec sleep 600"
        );
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &line]);
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-f", "/dev/null", "-S"])
            .arg(self.room.home().join("tmux"))
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .expect("tmux can be started");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What was shown, with its colours; also what has left the screen at its top.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-S", "-"])
    }

    /// Writes what the program sends to the terminal from now on to a file in the working directory.
    pub(crate) fn record(&self, file: &str) {
        let file = quote(&self.room.work().join(file).to_string_lossy());
        self.tmux(&["pipe-pane", &format!("cat > {file}")]);
    }

    /// Starts the program again, after it has ended.
    pub(crate) fn restart(&self) {
        self.tmux(&["respawn-pane", "-k"]);
    }

    /// The title of the window.
    pub(crate) fn title(&self) -> String {
        self.tmux(&["display-message", "-p", "#{pane_title}"])
    }

    /// What stands on the screen itself, without colours.
    pub(crate) fn visible(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The screen and everything that has scrolled off it, without colours.
    pub(crate) fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-"])
    }

    /// Waits until the screen shows what is wanted, and returns it.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let text = self.text();
            if wanted(&text) {
                return self.screen();
            }
            assert!(Instant::now() < deadline, "waited for {what}, and saw:\n{text}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, wanted: &str) -> String {
        self.wait_until(wanted, |text| text.contains(wanted))
    }

    /// Waits until the question on the screen, if there is one, takes keys as its answer.
    #[track_caller]
    pub(crate) fn wait_until_it_listens(&self) {
        self.wait_until("a question that listens", |_| {
            !self.visible().contains("pause to answer")
        });
    }

    /// Waits until so many questions of a prompt without a screen have asked for an answer.
    #[track_caller]
    pub(crate) fn wait_for_answers(&self, count: usize) {
        self.wait_until("an answer to be asked for", |text| {
            text.matches("[c]ancel").count() >= count
        });
    }

    /// Types words.
    #[track_caller]
    pub(crate) fn type_in(&self, words: &str) {
        self.wait_until_it_listens();
        self.type_at_once(words);
    }

    /// Types words, whether or not a question takes them.
    pub(crate) fn type_at_once(&self, words: &str) {
        self.tmux(&["send-keys", "-l", words]);
    }

    /// Presses a key, in tmux's words.
    #[track_caller]
    pub(crate) fn press(&self, key: &str) {
        self.wait_until_it_listens();
        self.tmux(&["send-keys", key]);
    }

    /// Types a line.
    pub(crate) fn enter(&self, line: &str) {
        self.type_in(line);
        self.press("Enter");
    }

    /// Makes the window larger or smaller.
    pub(crate) fn resize(&self, columns: usize, rows: usize) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Waits until the chat is ready for a line: the editor is there, and empty.
    #[track_caller]
    pub(crate) fn wait_for_mark(&self) {
        self.wait_for_written("");
    }

    /// Waits until this stands in the editor.
    #[track_caller]
    pub(crate) fn wait_for_written(&self, wanted: &str) {
        let line = format!("becket> {wanted}");
        self.wait_until(&line, |text| written(text) == Some(wanted));
    }

    /// Waits for the end of the program, and returns its exit code.
    #[track_caller]
    pub(crate) fn wait_for_end(&self) -> i32 {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if self.room.read("../after").ends_with('\n') {
                return self.room.read("../code").trim().parse().unwrap_or(-1);
            }
            assert!(
                Instant::now() < deadline,
                "the program did not end:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// What stands in the editor, which is the last line with the mark; below it are completions and the footer.
pub(crate) fn written(text: &str) -> Option<&str> {
    let line = text.lines().rev().find(|line| line.starts_with("becket>"))?;
    Some(line["becket>".len()..].trim())
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn a_chat_answers_and_ends_with_ctrl_d() {
    let room = room();
    let model = room.model(&json!([{"text": "an answer"}, {"text": "and another"}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model]) else {
        return;
    };
    terminal.wait_for_mark();
    terminal.enter("hello");
    terminal.wait_for("an answer");
    terminal.wait_for_mark();
    terminal.enter("/help");
    terminal.wait_for("/usage ");
    terminal.wait_for("/exit");
    terminal.wait_for_mark();
    terminal.enter("and now?");
    terminal.wait_for("and another");
    terminal.wait_for_mark();
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
    let sessions = terminal.room.run(["sessions", "--json"]).ended_with(0).events();
    assert_eq!((sessions.len(), &sessions[0]["reason"]), (1, &json!("done")));
}

#[test]
fn ctrl_c_cancels_the_turn_and_the_chat_goes_on() {
    let room = room();
    let model = room.model(&json!([{"text": "late", "delay_ms": 300_000}, {"text": "second answer"}]));
    let hooks = room.hooks("[[hook]]\nevent = \"pre_request\"\ncommand = \"touch asked\"\n");
    let Some(terminal) = Terminal::start(room, &["--model", &model, "--hooks", &hooks, "chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    terminal.enter("first");
    // Until the editor has handed the line over, Ctrl-C would be for the line.
    terminal.wait_until("the request", |_| terminal.room.has("asked"));
    terminal.press("C-c");
    terminal.wait_for("cancelled");
    terminal.wait_for_mark();
    terminal.enter("second");
    terminal.wait_for("second answer");
    terminal.wait_for_mark();
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
}

#[test]
fn a_chat_that_is_told_to_end_gives_the_terminal_back() {
    let Some(terminal) = Terminal::start(room(), &["chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    let shell = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let children = format!("/proc/{0}/task/{0}/children", shell.trim());
    let children = std::fs::read_to_string(children).expect("the shell runs");
    let process = children.trim().parse().expect("the shell has one child");
    let process = rustix::process::Pid::from_raw(process).expect("a process has a number");
    rustix::process::kill_process(process, testkit::Signal::TERM).expect("the chat runs");
    assert_eq!(terminal.wait_for_end(), 130);
    assert_eq!(terminal.room.read("../after"), terminal.room.read("../before"));
}

#[test]
fn arrow_up_brings_back_what_was_typed_also_after_a_restart() {
    let room = room();
    let model =
        room.model(&json!([{"text": "one"}, {"expect": ["memorable words and more"], "text": "two"}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "chat"]) else {
        return;
    };
    terminal.wait_for_mark();
    terminal.enter("memorable words");
    terminal.wait_for("one");
    terminal.wait_for_mark();
    terminal.press("Up");
    terminal.wait_for_written("memorable words");
    terminal.enter(" and more");
    terminal.wait_for("two");
    terminal.wait_for_mark();
    terminal.press("C-d");
    terminal.wait_for_end();
    assert!(terminal.room.store_file().with_file_name("history.txt").exists());
    terminal.restart();
    terminal.wait_for_mark();
    terminal.press("Up");
    terminal.wait_for_written("memorable words and more");
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let room = room();
    let call = json!({"name": "shell", "arguments": {"command": "touch ran"}});
    let model = room.model(&json!([{"tool_calls": [call]}, {"text": "all done"}]));
    let hooks = room.hooks(
        "[[hook]]\nevent = \"tool_start\"\ncommand = \"touch begun; while ! test -e go; do sleep 0.1; done\"\n",
    );
    let Some(terminal) = Terminal::start(room, &["--model", &model, "--hooks", &hooks, "go"]) else {
        return;
    };
    terminal.wait_until("the call", |_| terminal.room.has("begun"));
    terminal.enter("y");
    // What the terminal shows by itself has been typed.
    terminal.wait_until("what was typed", |text| {
        text.lines().any(|line| line.trim() == "y")
    });
    terminal.room.write("go", "");
    terminal.wait_for("[y]es");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!terminal.room.has("ran"), "{}", terminal.text());
    terminal.enter("n not yet");
    terminal.wait_for("all done");
    assert_eq!(terminal.wait_for_end(), 0);
    assert!(!terminal.room.has("ran"), "{}", terminal.text());
}

#[test]
fn the_question_is_asked_and_yes_and_no_are_understood() {
    let room = room();
    let call = |file: &str| json!({"name": "shell", "arguments": {"command": format!("touch {file}")}});
    let model = room.model(&json!([
        {"tool_calls": [call("first")]},
        {"tool_calls": [call("second")]},
        {"expect": ["the user said no: not today"], "text": "all done"},
    ]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    terminal.wait_for("command: touch first");
    terminal.wait_for("[y]es");
    assert!(!terminal.room.has("first"), "nothing runs before the answer");
    terminal.enter("perhaps");
    terminal.wait_until("the question again", |text| {
        text.matches("command: touch first").count() == 2
    });
    terminal.enter("y");
    terminal.wait_for_answers(3);
    assert!(terminal.room.has("first"));
    terminal.enter("n not today");
    terminal.wait_for("all done");
    assert_eq!(terminal.wait_for_end(), 0);
    assert!(!terminal.room.has("second"));
}

#[test]
fn ctrl_c_at_the_question_cancels() {
    let Some(terminal) = Terminal::start(room(), &["Run: touch ran"]) else {
        return;
    };
    terminal.wait_for("[y]es");
    terminal.press("C-c");
    assert_eq!(terminal.wait_for_end(), 130);
    assert!(!terminal.room.has("ran"));
}

const MARKDOWN: &str = "# A title\n\nSome **bold words** and `some code`.\n\n- a point\n- another\n";

#[test]
fn markdown_is_rendered_on_a_terminal() {
    let room = room();
    let model = room.model(&json!([{"text": MARKDOWN}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    assert_eq!(terminal.wait_for_end(), 0);
    let (text, screen) = (terminal.text(), terminal.screen());
    assert!(text.contains("bold words") && !text.contains("**"), "{text}");
    assert!(text.contains("A title") && text.contains("a point"), "{text}");
    assert!(screen.contains("\x1b[1m"), "{screen:?}");
}

#[test]
fn a_refusal_is_red_unless_no_colour_is_wanted() {
    let example = repository_file("examples/guard.toml");
    for (room, coloured) in [(room(), true), (room().with("NO_COLOR", "1"), false)] {
        let Some(terminal) = Terminal::start(room, &["--hooks", &example, "Run: rm -rf build"]) else {
            return;
        };
        assert_eq!(terminal.wait_for_end(), 0);
        let screen = terminal.wait_for("✗ refused");
        assert_eq!(screen.contains("\x1b[31m✗ refused"), coloured, "{screen:?}");
    }
}

#[test]
fn an_answer_cannot_steer_the_terminal() {
    let room = room();
    let model = room.model(&json!([{"text": "before\u{1b}[2J\u{1b}]0;title\u{7}after"}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "go"]) else {
        return;
    };
    assert_eq!(terminal.wait_for_end(), 0);
    let text = terminal.text();
    assert!(text.contains("before") && text.contains("after"), "{text}");
}

#[test]
fn words_that_end_a_turn_are_rendered_like_any_answer() {
    let room = room();
    room.config("[agent]\ncall_user = true\n");
    let call = json!({"name": "call_user", "arguments": {"message": "It is **blue**."}});
    let model = room.model(&json!([{"tool_calls": [call]}]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "Which colour?"]) else {
        return;
    };
    assert_eq!(terminal.wait_for_end(), 0);
    let shown = terminal.text();
    assert!(
        shown.lines().any(|line| line.trim_end() == "It is blue."),
        "{shown}"
    );
}

#[test]
fn a_context_is_destroyed_when_the_person_says_yes() {
    for (answer, code, left) in [("y", 0, 0), ("n", 1, 1), ("", 1, 1), ("perhaps", 1, 1)] {
        let room = room();
        room.run(["hello"]).ended_with(0);
        let Some(terminal) = Terminal::start(room, &["context", "destroy"]) else {
            return;
        };
        terminal.wait_for(&format!(
            "Destroy the context {} with its 2 messages, for good? [y/N]",
            terminal.room.context()
        ));
        terminal.enter(answer);
        assert_eq!(terminal.wait_for_end(), code, "{answer:?}");
        let contexts = terminal.room.run(["contexts", "--json"]).ended_with(0).events();
        assert_eq!(contexts.len(), left, "{answer:?}");
    }
}

#[test]
fn no_line_is_lost_that_is_typed_while_the_model_works() {
    let room = room();
    let late = |text: &str| json!({"text": text, "delay_ms": 1500});
    let model = room.model(&json!([
        late("first"),
        late("second"),
        late("third"),
        late("fourth")
    ]));
    let Some(terminal) = Terminal::start(room, &["--model", &model, "chat"]) else {
        return;
    };
    // The editor is there before the conversation; what is typed that early would be heard together.
    terminal.wait_for("/help lists commands");
    terminal.wait_for_mark();
    terminal.enter("zero");
    for line in ["one", "two", "three"] {
        terminal.enter(line);
    }
    // They are heard together, or one after another: as soon as the model can hear them.
    terminal.wait_until("all lines", |text| {
        ["one", "two", "three"]
            .iter()
            .all(|line| text.contains(&format!("becket> {line}")))
    });
    terminal.wait_for("second");
    terminal.press("C-d");
    assert_eq!(terminal.wait_for_end(), 0);
    let log = terminal.room.run(["context", "log", "--json"]).ended_with(0);
    let places = ["zero", "one", "two", "three"].map(|line| log.stdout.find(&format!("\"{line}\"")));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{log:?}"
    );
}
