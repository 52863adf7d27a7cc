//! Line editing at the Scheme prompt: history, completion, and forms of several lines.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use becket_chat::{ReadLine, typed_line};
use becket_scheme::is_whole;
use becket_screen::{
    Action, Candidate, Completions, Happening, Happenings, History, Key, Look, Screen, Streams, Suspended,
    can_show,
};
use becket_system::Surroundings;

use super::words;

/// How many lines of history are kept.
const HISTORY_LINES: usize = 10_000;

/// The prompts of a form's first line and of further lines.
const PROMPT: &str = "scheme> ";
const CONTINUATION: &str = "     …  ";

/// A reader of forms: with history and completion on a screen, else in plain lines.
pub fn editor(history: &Path, names: Arc<Mutex<Vec<String>>>, surroundings: &Surroundings) -> ReadLine {
    match Typing::open(history, names, surroundings) {
        Some(mut typing) => Box::new(move || Ok(typing.next_form())),
        None => Box::new(plain_form),
    }
}

/// Reads a form in plain lines.
fn plain_form() -> io::Result<Option<String>> {
    let mut form = String::new();
    loop {
        let prompt = if form.is_empty() { PROMPT } else { CONTINUATION };
        let Some(line) = typed_line(prompt)? else {
            return Ok(None);
        };
        form.push_str(&line);
        if is_complete(&form) {
            return Ok(Some(form));
        }
    }
}

/// An editor on a screen. The screen is lent to what a form does as soon as the form is entered.
struct Typing {
    screen: Screen,
    happenings: Happenings,
    names: Arc<Mutex<Vec<String>>>,
    lent: Option<Suspended>,
}

impl Typing {
    /// Opens a screen; `None` if the terminal cannot show one.
    fn open(history: &Path, names: Arc<Mutex<Vec<String>>>, surroundings: &Surroundings) -> Option<Self> {
        let kind = surroundings.variable("TERM");
        if !surroundings.stdout_is_terminal || !can_show(kind.as_deref()) {
            return None;
        }
        let streams = Streams::controlling_terminal().ok()?;
        let (screen, happenings) = Screen::open(streams, becket_screen::Options::default()).ok()?;
        screen.edit(|editor| {
            editor.look = Look {
                prompt: PROMPT.into(),
                continuation: CONTINUATION.into(),
                placeholder: String::new(),
            };
            editor.bind("ctrl+c", Some(Action::Clear));
            // A history that cannot be kept is no reason not to evaluate.
            if let Ok(history) = History::open(history.to_path_buf(), HISTORY_LINES) {
                editor.history = history;
            }
        });
        // Enter ends a line, and hands a form over only when everything in it is closed.
        screen.intercept(true);
        let closing = screen.clone();
        surroundings.signals.at_end(move || closing.close());
        Some(Self {
            screen,
            happenings,
            names,
            lent: None,
        })
    }

    /// Reads the next form; `None` at the end.
    fn next_form(&mut self) -> Option<String> {
        self.lent = None;
        while let Some(happening) = self.happenings.blocking_next() {
            match happening {
                Happening::Submitted { text, .. } => {
                    let shown = text.trim_end().replace('\n', &format!("\n{CONTINUATION}"));
                    self.screen.print(&format!("{PROMPT}{shown}"));
                    self.lent = Some(self.screen.suspend());
                    return Some(text);
                }
                Happening::Completion(request) => {
                    let names = self.names.lock().expect("no panic happens while names are held");
                    let completions = completions(&request.text[..request.cursor], &names);
                    self.screen.complete(request.id, completions);
                }
                Happening::Intercepted(key) => self.pressed(&key),
                Happening::Key(key) if key.is("ctrl+d") => break,
                Happening::Ended => break,
                _ => {}
            }
        }
        self.lent = Some(self.screen.suspend());
        None
    }

    fn pressed(&self, key: &Key) {
        let goes_on = key.is("enter") && self.screen.edit(|editor| !is_complete(&editor.expanded()));
        match goes_on {
            true => self.screen.press(&Key::read("\n")),
            false => self.screen.press(key),
        }
    }
}

/// Whether every bracket, string and comment of a form is closed. A command of the prompt is always one line.
fn is_complete(form: &str) -> bool {
    form.starts_with(',') || is_whole(form)
}

/// Completions from the machine's names and the prompt's commands.
fn completions(before: &str, names: &[String]) -> Completions {
    let is_command = before.starts_with(',') && !before.contains(char::is_whitespace);
    let start = match is_command {
        true => 0,
        false => before.rfind(ends_name).map_or(0, |at| at + 1),
    };
    let typed = &before[start..];
    let commands = words::COMMANDS.iter().map(|command| format!(",{}", command.name));
    let known: Vec<String> = match is_command {
        true => commands.collect(),
        false => names.to_vec(),
    };
    let fitting = known
        .into_iter()
        .filter(|name| !typed.is_empty() && name.starts_with(typed));
    Completions {
        prefix: typed.to_owned(),
        candidates: fitting
            .map(|name| Candidate {
                value: name.clone(),
                label: name,
                description: String::new(),
            })
            .collect(),
        submits: is_command,
    }
}

/// Whether a character is part of no name. All such characters are one byte long.
fn ends_name(character: char) -> bool {
    matches!(
        character,
        ' ' | '\n' | '\t' | '(' | ')' | '\'' | '`' | ',' | '"' | ';'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_goes_on_until_everything_is_closed() {
        for whole in [
            "",
            "1",
            "(f)",
            "(f \"(\")",
            "(f #\\()",
            "(f) ; (",
            "\"a\\\"b\"",
            ")",
            "'|a (|",
            "#| ( |# 1",
            ",load (",
        ] {
            assert!(is_complete(whole), "{whole}");
        }
        for part in [
            "(", "(f \"", "(f ; )", "'(1 (2)", "\"a\\\"", "#| (", "'|a", "(f #;",
        ] {
            assert!(!is_complete(part), "{part}");
        }
    }

    #[test]
    fn names_are_completed_where_they_begin() {
        let names = ["call-tool".to_owned(), "car".to_owned()];
        let complete = |line: &str| {
            let found = completions(line, &names);
            let values = found.candidates.into_iter().map(|found| found.value);
            (found.prefix, values.collect::<Vec<_>>())
        };
        assert_eq!(complete("(cal"), ("cal".into(), vec!["call-tool".into()]));
        assert_eq!(complete("(list ca").1.len(), 2);
        assert!(complete("(list ").1.is_empty() && complete("(x").1.is_empty());
        assert_eq!(complete(",he"), (",he".into(), vec![",help".into()]));
    }
}
