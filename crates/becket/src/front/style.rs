//! Colours, or none.

use crate::args::ColorChoice;
use crate::surroundings::Surroundings;

/// Whether a stream gets colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// For a stream that is or is not a terminal.
    pub fn choose(choice: ColorChoice, is_terminal: bool, surroundings: &Surroundings) -> Self {
        let coloured = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && surroundings.wants_colour(),
        };
        Self { coloured }
    }

    /// Without colours.
    #[cfg(test)]
    pub fn plain() -> Self {
        Self { coloured: false }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn italic(self, text: &str) -> String {
        self.paint("3", text)
    }

    pub fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

/// Text from a model, a tool or a hook must not steer the terminal: control characters become visible.
pub fn harmless(text: &str) -> String {
    let visible = |character: char| match character {
        '\n' | '\t' => character,
        '\x1b' => '␛',
        character if character.is_control() => '\u{fffd}',
        // Characters that reorder text on the screen can hide what a command does.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        character => character,
    };
    text.chars().map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_steer_the_terminal() {
        assert_eq!(
            harmless("a\x1b[2Jb\rc\u{202e}d\n\te"),
            "a␛[2Jb\u{fffd}c\u{fffd}d\n\te"
        );
    }
}
