//! A chat without a model: type `/help`. The tests drive it in a real terminal.
#![allow(clippy::print_stderr, reason = "a report of a panic goes there")]

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use becket_screen::{
    Anchor, Candidate, CompletionRequest, Completions, Entry, Extent, Handle, Happening, Hears, Look,
    Options, OverlayOptions, Owner, Question, Role, Screen, Slot, Streams, ToRemote, Unanswered, Working,
};

const COMMANDS: &[(&str, &str)] = &[
    ("/abort", "a question that is taken back after a moment"),
    ("/confirm", "a question with yes and no"),
    ("/game", "a component in the editor's place"),
    ("/help", "this list"),
    ("/input", "a question for a line"),
    ("/overlay", "a component on top of everything"),
    ("/panic", "a thread that panics"),
    ("/print", "many lines at once"),
    ("/quit", "the end"),
    ("/select", "a question with options"),
    ("/shell", "another program on the terminal"),
    ("/stream", "text that comes piece by piece, until the next line"),
    ("/text", "a question for a text"),
    ("/timeout", "a question that does not wait for long"),
    ("/widgets", "lines around the editor"),
    ("/die", "a panic of the main thread"),
];

fn main() -> io::Result<()> {
    // A long report, so that keys can be typed while it is written.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        thread::sleep(Duration::from_secs(1));
        eprintln!("so far the report");
    }));
    let streams = Streams {
        input: io::stdin().as_fd().try_clone_to_owned()?,
        output: io::stdout().as_fd().try_clone_to_owned()?,
    };
    let (screen, mut happenings) = Screen::open(streams, Options::default())?;
    screen.edit(|editor| {
        editor.look = Look {
            prompt: "you> ".into(),
            continuation: "   > ".into(),
            placeholder: "/help".into(),
        };
        editor.triggers = vec!['/'];
    });
    let enough = Arc::new(AtomicBool::new(false));
    while let Some(happening) = happenings.blocking_next() {
        match happening {
            Happening::Submitted { text, .. } if text == "/quit" => break,
            Happening::Submitted { text, key } => {
                enough.store(text != "/stream", Ordering::Relaxed);
                run_line(&screen, &text, &key, &enough);
            }
            Happening::Completion(request) => complete(&screen, &request),
            Happening::Key(key) if key.is("ctrl+d") => break,
            Happening::Key(key) => screen.print(&format!("nobody took {}", key.name)),
            Happening::Resized(size) => {
                screen.set_status("size", Some(&format!("{}x{}", size.columns, size.rows)))
            }
            Happening::Continued => screen.print("here again"),
            Happening::Ended => break,
            Happening::Intercepted(key) => screen.press(&key),
        }
    }
    screen.close();
    Ok(())
}

fn run_line(screen: &Screen, line: &str, key: &str, enough: &Arc<AtomicBool>) {
    let other = screen.clone();
    match line {
        "/help" => screen.print(
            &COMMANDS
                .iter()
                .map(|(name, what)| format!("{name:10} \x1b[2m{what}\x1b[0m\n"))
                .collect::<String>(),
        ),
        "/print" => screen.print(
            &(0..60)
                .map(|line| format!("printed {line}\n"))
                .collect::<String>(),
        ),
        "/stream" => {
            let enough = Arc::clone(enough);
            drop(thread::spawn(move || stream(&other, &enough)));
        }
        "/widgets" => {
            screen.set(Slot::Above("a".into()), Some(vec!["\x1b[32mabove\x1b[0m".into()]));
            screen.set(Slot::Below("b".into()), Some(vec!["below".into()]));
            screen.set(Slot::Footer, Some(vec!["footer".into()]));
            screen.set_title("demo title");
        }
        "/game" => drop(thread::spawn(move || {
            let (component, owner) = other.remote(Hears::Presses);
            let handle = other.show(Box::new(component), Role::Modal);
            play(owner, handle);
            other.print("the game is over");
        })),
        "/overlay" => drop(thread::spawn(move || {
            let (component, owner) = other.remote(Hears::Presses);
            let options = OverlayOptions {
                anchor: Anchor::Center,
                width: Some(Extent::Cells(30)),
                ..OverlayOptions::default()
            };
            let handle = other.overlay(Box::new(component), options);
            play(owner, handle);
            other.print("the overlay is gone");
        })),
        "/shell" => {
            let guard = screen.suspend();
            let script = "echo outside; read line; echo \"the shell got $line\"";
            let status = std::process::Command::new("sh").args(["-c", script]).status();
            drop(guard);
            screen.print(&format!("back: {}", status.is_ok_and(|status| status.success())));
        }
        "/panic" => drop(thread::spawn(|| panic!("a thread gives up"))),
        "/die" => panic!("the end of the demo"),
        "/select" | "/confirm" | "/input" | "/text" | "/timeout" | "/abort" => {
            let line = line.to_string();
            drop(thread::spawn(move || ask(&other, &line)));
        }
        _ => screen.print(&format!("{key}: {line}")),
    }
}

/// Words that come one after another, as from a model, until the next line is entered.
fn stream(screen: &Screen, enough: &AtomicBool) {
    screen.set_working(Some(Working::new("working")));
    let mut word = 0;
    while !enough.load(Ordering::Relaxed) {
        screen.stream(&format!("word{word} "));
        if word % 10 == 9 {
            screen.stream("\n");
        }
        word += 1;
        thread::sleep(Duration::from_millis(40));
    }
    screen.finish_stream();
    screen.set_working(None);
    screen.print("the stream is over");
}

/// Shows lines of a component and handles its keys, until `q`.
fn play(mut owner: Owner, handle: Handle) {
    let pen = owner.pen();
    let mut keys: Vec<String> = Vec::new();
    while let Some(told) = owner.told.blocking_recv() {
        match told {
            ToRemote::Render(_) => {}
            ToRemote::Key(key) if key.is("q") => break,
            ToRemote::Key(key) => keys.push(key.name),
            ToRemote::Gone => return,
        }
        pen.show(vec![
            "+---- a component".into(),
            format!("| keys: {}", keys.join(" ")),
        ]);
    }
    drop(handle);
}

fn ask(screen: &Screen, what: &str) {
    let options: Vec<Entry> = ["red", "green", "blue"]
        .iter()
        .map(|label| Entry {
            label: label.to_string(),
            ..Entry::default()
        })
        .collect();
    let answer = match what {
        "/confirm" => screen
            .confirm(Question::new("Really?").message("There is no way back."), false)
            .blocking_wait()
            .map(|yes| yes.to_string()),
        "/input" => screen
            .input(Question::new("Your name?"), "a name")
            .blocking_wait(),
        "/text" => screen.text(Question::new("A poem?"), "roses").blocking_wait(),
        "/timeout" => {
            let question = Question::new("Quick!").timeout(Duration::from_millis(1500));
            screen
                .select(question, options)
                .blocking_wait()
                .map(|at| at.to_string())
        }
        "/abort" => {
            let asked = screen.select(Question::new("Never mind"), options);
            thread::sleep(Duration::from_millis(700));
            drop(asked);
            Err(Unanswered::Closed)
        }
        _ => screen
            .select(Question::new("Which colour?"), options)
            .blocking_wait()
            .map(|at| format!("number {at}")),
    };
    match answer {
        Ok(answer) => screen.print(&format!("answer: {answer:?}")),
        Err(why) => screen.print(&format!("no answer: {why:?}")),
    }
}

fn complete(screen: &Screen, request: &CompletionRequest) {
    let prefix = &request.text[..request.cursor];
    let candidate = |(name, what): &(&str, &str)| Candidate {
        value: name.to_string(),
        label: name.to_string(),
        description: what.to_string(),
    };
    let fits = |(name, _): &&(&str, &str)| prefix.starts_with('/') && name.starts_with(prefix);
    let completions = Completions {
        prefix: prefix.to_string(),
        candidates: COMMANDS.iter().filter(fits).map(candidate).collect(),
        submits: true,
    };
    screen.complete(request.id, completions);
}
