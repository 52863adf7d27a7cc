//! The demo in a real terminal: keys are sent, the screen is read.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::needs;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A terminal with a program in it. Dropping it ends both.
struct Terminal {
    folder: tempfile::TempDir,
}

/// The example, which `cargo test` builds beside the tests.
fn demo() -> PathBuf {
    let tests = std::env::current_exe().expect("a test has a place");
    let target = tests
        .parent()
        .and_then(std::path::Path::parent)
        .expect("two folders up");
    let demo = target.join("examples/demo");
    assert!(
        demo.is_file(),
        "build it first: cargo build -p becket-screen --example demo"
    );
    demo
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

impl Terminal {
    /// Starts the demo; `None` without tmux.
    fn start() -> Option<Self> {
        let demo = quote(&demo().to_string_lossy());
        // The shell records how the program ended and how it left the terminal, and keeps the screen.
        Self::run(&format!(
            "stty -g > before; {demo}; echo ended with $?; stty -g > after; exec sleep 600"
        ))
    }

    fn run(line: &str) -> Option<Self> {
        if !needs("tmux") {
            return None;
        }
        let terminal = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        let folder = quote(&terminal.folder.path().to_string_lossy());
        let line = format!("cd {folder}; export TERM=screen-256color; {line}");
        terminal.tmux(&["new-session", "-d", "-x", "80", "-y", "24", &line]);
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-f", "/dev/null", "-S"])
            .arg(self.folder.path().join("tmux"))
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .expect("tmux can be started");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The visible screen.
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The visible screen and what was scrolled away.
    fn all(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-"])
    }

    #[track_caller]
    fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let all = self.all();
            if wanted(&all) {
                return;
            }
            assert!(Instant::now() < deadline, "waited for {what}, and saw:\n{all}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    #[track_caller]
    fn wait_for(&self, wanted: &str) {
        self.wait_until(wanted, |text| text.contains(wanted));
    }

    #[track_caller]
    fn wait_without(&self, unwanted: &str) {
        self.wait_until(&format!("no more {unwanted}"), |text| !text.contains(unwanted));
    }

    fn type_in(&self, words: &str) {
        self.tmux(&["send-keys", "-l", words]);
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Types a line. Enter comes when the line is there, because it would choose from a list otherwise.
    #[track_caller]
    fn enter(&self, line: &str) {
        self.type_in(line);
        self.wait_for(&format!("you> {line}"));
        self.press("Enter");
    }

    /// Waits for the end, and checks that the terminal is as it was.
    #[track_caller]
    fn wait_for_end(&self, code: i32) {
        self.wait_for(&format!("ended with {code}"));
        let read = |name: &str| std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !read("after").ends_with('\n') {
            assert!(Instant::now() < deadline, "the shell did not go on");
            std::thread::sleep(Duration::from_millis(30));
        }
        assert_eq!(read("before"), read("after"));
        let modes = self.tmux(&[
            "display-message",
            "-p",
            "#{alternate_on} #{cursor_flag} #{wrap_flag}",
        ]);
        assert_eq!(modes.trim(), "0 1 1");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn typing_goes_on_while_text_streams() {
    let Some(terminal) = Terminal::start() else { return };
    terminal.wait_for("you> /help");
    terminal.enter("/stream");
    terminal.wait_for("word3");
    terminal.type_in("while it streams");
    terminal.press("M-Enter");
    terminal.type_in("two lines");
    terminal.wait_until("an editor below the stream", |text| {
        text.contains("working") && text.contains("you> while it streams\n   > two lines")
    });
    // The text still streams.
    let last = terminal.all().matches("word").count();
    terminal.wait_for(&format!("word{}", last + 20));
    terminal.press("Enter");
    terminal.wait_for("enter: while it streams\ntwo lines");
    terminal.wait_for("the stream is over");
    terminal.wait_without("working");
    let all = terminal.all();
    let streamed: Vec<&str> = all
        .split_whitespace()
        .filter(|word| word.starts_with("word"))
        .collect();
    let wanted: Vec<String> = (0..streamed.len()).map(|word| format!("word{word}")).collect();
    assert_eq!(streamed, wanted, "{all}");
    terminal.press("C-d");
    terminal.wait_for_end(0);
    // Printed text stays, the live area is gone.
    let all = terminal.all();
    assert!(all.contains("word0 ") && !all.contains("you>"), "{all}");
}

#[test]
fn dialogs_are_answered_cancelled_timed_out_and_aborted() {
    let Some(terminal) = Terminal::start() else { return };
    terminal.wait_for("you> /help");
    terminal.enter("/select");
    terminal.wait_for("Which colour?");
    terminal.wait_for("→ 1. red");
    terminal.press("Down");
    terminal.wait_for("→ 2. green");
    terminal.press("Enter");
    terminal.wait_for("answer: \"number 1\"");
    terminal.wait_for("you> ");
    terminal.enter("/select");
    terminal.wait_for("→ 1. red");
    terminal.type_in("blu");
    terminal.wait_for("→ 1. blue");
    terminal.press("Enter");
    terminal.wait_for("answer: \"number 2\"");
    terminal.enter("/select");
    terminal.wait_for("→ 1. red");
    terminal.press("Escape");
    terminal.wait_for("no answer: Cancelled");
    terminal.enter("/confirm");
    terminal.wait_for("There is no way back.");
    terminal.type_in("y");
    terminal.wait_for("answer: \"true\"");
    terminal.enter("/input");
    terminal.wait_for("Your name?");
    terminal.type_in("Ada");
    terminal.press("Enter");
    terminal.wait_for("answer: \"Ada\"");
    terminal.enter("/text");
    terminal.wait_for("> roses");
    terminal.press("M-Enter");
    terminal.type_in("are red");
    terminal.wait_for("  are red");
    terminal.press("Enter");
    terminal.wait_for("answer: \"roses\\nare red\"");
    terminal.enter("/timeout");
    terminal.wait_for("no answer: TimedOut");
    terminal.enter("/abort");
    terminal.wait_for("no answer: Closed");
    terminal.wait_without("Never mind");
    terminal.press("C-d");
    terminal.wait_for_end(0);
}

#[test]
fn components_have_the_keys_in_the_editors_place_and_on_top() {
    let Some(terminal) = Terminal::start() else { return };
    terminal.wait_for("you> /help");
    terminal.enter("/print");
    terminal.wait_for("printed 59");
    terminal.enter("/game");
    terminal.wait_for("+---- a component");
    terminal.wait_until("no editor", |_| !terminal.screen().contains("you>"));
    terminal.press("Up");
    terminal.press("Left");
    terminal.type_in("x");
    terminal.wait_for("| keys: up left x");
    terminal.type_in("q");
    terminal.wait_for("the game is over");
    terminal.enter("/overlay");
    terminal.wait_until("an overlay over the text", |text| {
        text.contains("+---- a component") && text.contains("printed 5") && text.contains("you>")
    });
    terminal.press("Escape");
    terminal.wait_for("| keys: escape");
    terminal.type_in("q");
    terminal.wait_for("the overlay is gone");
    // Nothing is lost, and nothing of the components is left.
    let all = terminal.all();
    assert!(!all.contains("a component"), "{all}");
    for line in 0..60 {
        let wanted = format!("printed {line}");
        assert_eq!(
            all.lines().filter(|text| text.trim_end() == wanted).count(),
            1,
            "{all}"
        );
    }
    terminal.press("Escape");
    terminal.wait_for("nobody took escape");
    terminal.press("C-d");
    terminal.wait_for_end(0);
}

#[test]
fn a_terminal_of_another_size_shows_everything_once() {
    let Some(terminal) = Terminal::start() else { return };
    terminal.wait_for("you> /help");
    terminal.enter("/print");
    terminal.wait_for("printed 59");
    terminal.enter("/widgets");
    terminal.wait_for("footer");
    let long = "a long line that will need several rows when there is little room";
    terminal.type_in(long);
    terminal.wait_for(long);
    for (columns, rows) in [("40", "24"), ("30", "12"), ("100", "30"), ("80", "24")] {
        terminal.tmux(&["resize-window", "-x", columns, "-y", rows]);
        terminal.wait_for(&format!("{columns}x{rows}"));
        terminal.wait_until("one editor", |text| {
            let count = |wanted: &str| text.lines().filter(|line| line.trim_end() == wanted).count();
            let printed = (0..60).all(|line| count(&format!("printed {line}")) == 1);
            printed && count("above") == 1 && count("below") == 1 && count("footer") == 1
        });
    }
    terminal.wait_for(long);
    terminal.press("C-u");
    terminal.wait_without(long);
    terminal.press("C-d");
    terminal.wait_for_end(0);
}

#[test]
fn another_program_can_have_the_terminal() {
    let Some(terminal) = Terminal::start() else { return };
    terminal.wait_for("you> /help");
    terminal.enter("/shell");
    terminal.wait_for("outside");
    terminal.wait_without("you>");
    terminal.type_in("some words");
    terminal.press("Enter");
    terminal.wait_for("the shell got some words");
    terminal.wait_for("back: true");
    terminal.enter("and now");
    terminal.wait_for("enter: and now");
    terminal.press("C-d");
    terminal.wait_for_end(0);
}

#[test]
fn the_shell_can_stop_and_continue_it() {
    if !needs("bash") {
        return;
    }
    let Some(terminal) = Terminal::run("export PS1='shell: '; exec bash --norc --noprofile -i") else {
        return;
    };
    terminal.wait_for("shell:");
    terminal.type_in(&quote(&demo().to_string_lossy()));
    terminal.press("Enter");
    terminal.wait_for("you> /help");
    terminal.type_in("half a line");
    terminal.wait_for("you> half a line");
    terminal.press("C-z");
    terminal.wait_for("Stopped");
    terminal.wait_without("half a line");
    terminal.type_in("echo $((20 + 3))");
    terminal.press("Enter");
    terminal.wait_for("23");
    terminal.type_in("fg");
    terminal.press("Enter");
    terminal.wait_for("here again");
    terminal.wait_for("you> half a line");
    terminal.press("C-u");
    terminal.press("C-d");
    terminal.wait_without("you>");
    terminal.type_in("echo again $((40 + 2))");
    terminal.press("Enter");
    terminal.wait_for("again 42");
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    let Some(terminal) = Terminal::start() else { return };
    terminal.wait_for("you> /help");
    terminal.enter("/panic");
    // The program lives on, and so does its screen. What is typed while the report is written is not lost.
    terminal.wait_for("a thread gives up");
    terminal.type_in("still here");
    terminal.press("Enter");
    terminal.wait_for("so far the report");
    let all = terminal.all();
    let (_, report) = all.split_once("a thread gives up").expect("it was there");
    let (report, _) = report.split_once("so far the report").expect("it was there");
    assert!(!report.contains("still here"), "nobody writes into it: {report}");
    terminal.wait_for("enter: still here");
    terminal.enter("/overlay");
    terminal.wait_for("+---- a component");
    terminal.type_in("q");
    terminal.wait_for("the overlay is gone");
    terminal.enter("/die");
    terminal.wait_for("the end of the demo");
    terminal.wait_for_end(101);
}

#[test]
fn a_command_is_completed_from_a_list() {
    let Some(terminal) = Terminal::start() else { return };
    terminal.wait_for("you> /help");
    terminal.type_in("/s");
    terminal.wait_for("→ /select");
    terminal.wait_for("  /stream");
    terminal.press("Down");
    terminal.wait_for("→ /shell");
    terminal.press("Up");
    terminal.wait_for("→ /select");
    terminal.press("Enter");
    terminal.wait_for("Which colour?");
    terminal.press("Escape");
    terminal.wait_for("no answer: Cancelled");
    terminal.press("C-d");
    terminal.wait_for_end(0);
}
