//! The line that is typed at: history, completion, and whether more is to come.

use std::path::Path;
use std::sync::{Arc, Mutex};

use becket_scheme::is_whole;
use reedline::{
    ColumnarMenu, Completer, CompletionResult, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder,
    Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion, ValidationResult, Validator,
    default_emacs_keybindings,
};

use super::words;
use crate::commands::chat::{PromptMark, ReadLine};

/// How many lines of history are kept.
const HISTORY_LINES: usize = 10_000;

/// Reads lines, with history and completion.
pub fn editor(history: &Path, names: Arc<Mutex<Vec<String>>>) -> ReadLine {
    const MENU: &str = "names";
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext];
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(complete),
    );
    let menu = ColumnarMenu::default().with_name(MENU);
    let mut editor = Reedline::create()
        .use_bracketed_paste(true)
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_completer(Box::new(Names(names)))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_validator(Box::new(Whole));
    // A history that cannot be kept is no reason not to evaluate.
    if let Ok(history) = FileBackedHistory::with_file(HISTORY_LINES, history.to_path_buf()) {
        editor = editor.with_history(Box::new(history));
    }
    Box::new(move || {
        loop {
            match editor.read_line(&PromptMark("scheme"))? {
                Signal::Success(line) => {
                    let _ = editor.sync_history();
                    return Ok(Some(line));
                }
                Signal::CtrlD => return Ok(None),
                _ => {}
            }
        }
    })
}

/// Completes names that the machine knows.
struct Names(Arc<Mutex<Vec<String>>>);

impl Completer for Names {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let before = &line[..position.min(line.len())];
        let is_command = before.starts_with(',') && !before.contains(char::is_whitespace);
        let start = match is_command {
            true => 0,
            false => before.rfind(ends_name).map_or(0, |at| at + 1),
        };
        let typed = &before[start..];
        let names = self.0.lock().expect("no panic happens while names are held");
        let commands: Vec<String> = words::COMMANDS
            .iter()
            .map(|command| format!(",{}", command.name))
            .collect();
        let known = if is_command { &commands } else { &*names };
        let fitting = known
            .iter()
            .filter(|name| !typed.is_empty() && name.starts_with(typed));
        let suggestion = |name: &String| Suggestion {
            value: name.clone(),
            span: Span::new(start, position),
            append_whitespace: false,
            ..Suggestion::default()
        };
        CompletionResult::fresh(fitting.map(suggestion).collect::<Vec<_>>())
    }
}

/// Signs that stand in no name; each is one byte.
fn ends_name(character: char) -> bool {
    matches!(
        character,
        ' ' | '\n' | '\t' | '(' | ')' | '\'' | '`' | ',' | '"' | ';'
    )
}

/// A line is complete when every bracket, string and comment in it is closed.
struct Whole;

impl Validator for Whole {
    fn validate(&self, line: &str) -> ValidationResult {
        match line.starts_with(',') || is_whole(line) {
            true => ValidationResult::Complete,
            false => ValidationResult::Incomplete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_until_everything_is_closed() {
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
            assert!(
                matches!(Whole.validate(whole), ValidationResult::Complete),
                "{whole}"
            );
        }
        for part in [
            "(", "(f \"", "(f ; )", "'(1 (2)", "\"a\\\"", "#| (", "'|a", "(f #;",
        ] {
            assert!(
                matches!(Whole.validate(part), ValidationResult::Incomplete),
                "{part}"
            );
        }
    }

    #[test]
    fn names_are_completed_where_they_begin() {
        let names = Arc::new(Mutex::new(vec!["call-tool".to_owned(), "car".to_owned()]));
        let complete = |line: &str| {
            let found = Names(Arc::clone(&names)).complete(line, line.len());
            let found = found.suggestions().iter();
            found
                .map(|found| (found.value.clone(), found.span.start))
                .collect::<Vec<_>>()
        };
        assert_eq!(complete("(cal"), [("call-tool".to_owned(), 1)]);
        assert_eq!(complete("(list ca").len(), 2);
        assert!(complete("(list ").is_empty() && complete("(x").is_empty());
        assert_eq!(complete(",he"), [(",help".to_owned(), 0)]);
    }
}
