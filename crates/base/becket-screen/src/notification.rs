//! Notifications of the desktop, which some terminals show for a program. The sequences do not move the cursor, and a
//! terminal that does not know them shows nothing.

/// The longest text of a notification, in letters.
const LONGEST: usize = 200;

/// The sequence for a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationForm {
    /// OSC 9, which has one text: iTerm2, WezTerm, Ghostty, kitty.
    Osc9,
    /// OSC 777, which has a title and a text: foot, rxvt-unicode, WezTerm, Ghostty.
    Osc777,
}

/// A terminal's way to notify the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notifier {
    /// The sequence.
    pub form: NotificationForm,
    /// Whether tmux stands between the program and the terminal. It passes the sequence on if its option
    /// `allow-passthrough` is set.
    pub through_tmux: bool,
}

impl NotificationForm {
    /// The sequence that a terminal is known to have, by its kind (`TERM`) and its name (`TERM_PROGRAM`).
    pub fn known(kind: Option<&str>, program: Option<&str>) -> Option<Self> {
        match (program, kind) {
            (Some("iTerm.app" | "WezTerm" | "ghostty"), _) => Some(Self::Osc9),
            // Another program between them, such as tmux, sets its own name and kind.
            (_, Some("xterm-kitty" | "xterm-ghostty" | "wezterm")) => Some(Self::Osc9),
            (_, Some(kind)) if kind.starts_with("foot") || kind.starts_with("rxvt-unicode") => {
                Some(Self::Osc777)
            }
            _ => None,
        }
    }
}

impl Notifier {
    /// The bytes for the terminal.
    pub(crate) fn bytes(self, title: &str, text: &str) -> String {
        let (title, text) = (plain(title), plain(text));
        let sequence = match self.form {
            NotificationForm::Osc9 => format!("\x1b]9;{title}: {text}\x07"),
            // The title ends at the first semicolon.
            NotificationForm::Osc777 => format!("\x1b]777;notify;{};{text}\x07", title.replace(';', ",")),
        };
        match self.through_tmux {
            true => format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")),
            false => sequence,
        }
    }
}

/// A text in one line, without what could end the sequence.
fn plain(text: &str) -> String {
    let letters = text.chars().filter(|letter| !letter.is_control());
    letters.take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_terminals_that_have_a_sequence_get_it() {
        let known = NotificationForm::known;
        assert_eq!(
            known(Some("xterm-256color"), Some("WezTerm")),
            Some(NotificationForm::Osc9)
        );
        assert_eq!(known(Some("xterm-kitty"), None), Some(NotificationForm::Osc9));
        assert_eq!(known(Some("foot"), None), Some(NotificationForm::Osc777));
        assert_eq!(known(Some("xterm-256color"), None), None);
        assert_eq!(known(Some("tmux-256color"), Some("tmux")), None);
    }

    #[test]
    fn no_text_ends_the_sequence_before_its_end() {
        let of =
            |form, through_tmux| Notifier { form, through_tmux }.bytes("a;b", "x\x07\x1b]52;c;y\u{9c}\n");
        assert_eq!(of(NotificationForm::Osc9, false), "\x1b]9;a;b: x]52;c;y\x07");
        assert_eq!(
            of(NotificationForm::Osc777, false),
            "\x1b]777;notify;a,b;x]52;c;y\x07"
        );
        assert_eq!(
            of(NotificationForm::Osc9, true),
            "\x1bPtmux;\x1b\x1b]9;a;b: x]52;c;y\x07\x1b\\"
        );
        let long = Notifier {
            form: NotificationForm::Osc9,
            through_tmux: false,
        };
        assert!(long.bytes("t", &"ä".repeat(10_000)).chars().count() < 300);
    }
}
