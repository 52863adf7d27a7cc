//! Which key does what in the editor.

use std::collections::HashMap;

use crate::keys::normalised;

/// What a key does in the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Up,
    Down,
    PageUp,
    PageDown,
    DeleteBack,
    DeleteForward,
    DeleteWordBack,
    DeleteWordForward,
    KillToStart,
    KillToEnd,
    Yank,
    YankPop,
    Transpose,
    Undo,
    Redo,
    NewLine,
    /// Submits the text, with the name of the key.
    Submit,
    /// Clears the text. If it is empty, the key is not handled.
    Clear,
    Complete,
    /// Searches an earlier entry.
    Search,
    /// Moves to the next occurrence of the character that is typed then.
    JumpForward,
    JumpBack,
}

/// The default key bindings of the editor.
const BINDINGS: &[(Action, &[&str])] = &[
    (Action::Left, &["left", "ctrl+b"]),
    (Action::Right, &["right", "ctrl+f"]),
    (Action::WordLeft, &["alt+left", "ctrl+left", "alt+b"]),
    (Action::WordRight, &["alt+right", "ctrl+right", "alt+f"]),
    (Action::LineStart, &["home", "ctrl+a"]),
    (Action::LineEnd, &["end", "ctrl+e"]),
    (Action::Up, &["up", "ctrl+p"]),
    (Action::Down, &["down", "ctrl+n"]),
    (Action::PageUp, &["pageUp"]),
    (Action::PageDown, &["pageDown"]),
    (Action::DeleteBack, &["backspace", "ctrl+h", "shift+backspace"]),
    (Action::DeleteForward, &["delete", "ctrl+d"]),
    (
        Action::DeleteWordBack,
        &["ctrl+w", "alt+backspace", "ctrl+backspace"],
    ),
    (Action::DeleteWordForward, &["alt+d", "alt+delete", "ctrl+delete"]),
    (Action::KillToStart, &["ctrl+u"]),
    (Action::KillToEnd, &["ctrl+k"]),
    (Action::Yank, &["ctrl+y"]),
    (Action::YankPop, &["alt+y"]),
    (Action::Transpose, &["ctrl+t"]),
    (Action::Undo, &["ctrl+-", "ctrl+_"]),
    (Action::Redo, &["ctrl+alt+-", "ctrl+alt+_"]),
    (
        Action::NewLine,
        &["shift+enter", "alt+enter", "ctrl+enter", "ctrl+j"],
    ),
    (Action::Submit, &["enter"]),
    (Action::Complete, &["tab"]),
    (Action::Search, &["ctrl+r"]),
    (Action::JumpForward, &["ctrl+]"]),
    (Action::JumpBack, &["ctrl+alt+]"]),
];

/// The keys that have an action, by their normalised names.
pub(super) struct Bindings(HashMap<String, Action>);

impl Default for Bindings {
    fn default() -> Self {
        let mut bindings = Self(HashMap::new());
        for (action, names) in BINDINGS {
            for name in *names {
                bindings.bind(name, Some(*action));
            }
        }
        bindings
    }
}

impl Bindings {
    pub(super) fn bind(&mut self, name: &str, action: Option<Action>) {
        match action {
            Some(action) => self.0.insert(normalised(name), action),
            None => self.0.remove(&normalised(name)),
        };
    }

    pub(super) fn get(&self, name: &str) -> Option<Action> {
        self.0.get(name).copied()
    }
}
