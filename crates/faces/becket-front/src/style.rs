//! Colours of the output.

use becket_system::Surroundings;

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// All choices, each with its word and what it means.
    pub const ALL: &[(Self, &str, &str)] = &[
        (Self::Auto, "auto", "On a terminal, unless NO_COLOR is set"),
        (Self::Always, "always", "Always"),
        (Self::Never, "never", "Never"),
    ];
}

/// Whether a stream gets colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// The style for a stream that is or is not a terminal.
    pub fn choose(choice: ColorChoice, is_terminal: bool, surroundings: &Surroundings) -> Self {
        let coloured = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && surroundings.wants_colour(),
        };
        Self { coloured }
    }

    /// No colours.
    pub fn plain() -> Self {
        Self { coloured: false }
    }

    /// All colours.
    #[cfg(test)]
    pub fn coloured() -> Self {
        Self { coloured: true }
    }

    pub fn is_coloured(self) -> bool {
        self.coloured
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

    pub fn magenta(self, text: &str) -> String {
        self.paint("35", text)
    }

    pub fn struck(self, text: &str) -> String {
        self.paint("9", text)
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
