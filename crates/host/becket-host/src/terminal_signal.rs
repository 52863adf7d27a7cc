//! What a guest may have the terminal do beside showing text: the title of the window, the bell, and notifications. The
//! sequences for it are read here, and only those leave it: nothing that draws, moves the cursor, asks the terminal for
//! an answer or touches the clipboard.

/// Something that a guest has the terminal do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalSignal {
    /// Shows a title on the window.
    Title(String),
    /// Rings the bell.
    Bell,
    /// Sends an operating system command with this number and text, which notifies the user.
    Command(u16, String),
}

/// The longest text of a signal, in bytes.
const LONGEST: usize = 4096;

/// What sequences of the terminal stand for. The error says why they are not sent.
pub fn terminal_signals(text: &str) -> Result<Vec<TerminalSignal>, String> {
    let mut signals = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (signal, after) = first_signal(rest)?;
        signals.push(signal);
        rest = after;
    }
    Ok(signals)
}

/// The first signal, and the text after it.
fn first_signal(text: &str) -> Result<(TerminalSignal, &str), String> {
    if let Some(after) = text.strip_prefix(BELL) {
        return Ok((TerminalSignal::Bell, after));
    }
    let other =
        || "it may be the bell, or one of the commands 0, 1, 2, 9, 99 and 777 (OSC), and nothing else";
    let body = text.strip_prefix("\x1b]").ok_or_else(other)?;
    let end = body
        .find(char::is_control)
        .ok_or("one of its commands has no end (BEL, or ESC and a backslash)")?;
    let (body, after) = body.split_at(end);
    let after = after
        .strip_prefix(BELL)
        .or_else(|| after.strip_prefix("\x1b\\"))
        .ok_or("one of its commands contains a control character")?;
    if body.len() > LONGEST {
        return Err(format!("one of its commands has more than {LONGEST} bytes"));
    }
    let (number, text) = body.split_once(';').ok_or_else(other)?;
    // A sign or zeros in front would make other commands of it.
    let signal = match number
        .parse::<u16>()
        .ok()
        .filter(|read| read.to_string() == number)
    {
        Some(0 | 2) => TerminalSignal::Title(text.to_owned()),
        Some(number @ (1 | 9 | 99 | 777)) => TerminalSignal::Command(number, text.to_owned()),
        _ => return Err(other().to_owned()),
    };
    Ok((signal, after))
}

const BELL: char = '\x07';

#[cfg(test)]
mod tests {
    use super::*;
    use TerminalSignal::{Bell, Command, Title};

    #[test]
    fn titles_bells_and_notifications_are_read() {
        let read = terminal_signals(
            "\x1b]0;my work\x07\x07\x1b]9;4;1;50\x1b\\\x1b]777;notify;a;b\x07\x1b]2;\u{e9}\x07",
        );
        let wanted = vec![
            Title("my work".into()),
            Bell,
            Command(9, "4;1;50".into()),
            Command(777, "notify;a;b".into()),
            Title("\u{e9}".into()),
        ];
        assert_eq!(read, Ok(wanted));
        assert_eq!(terminal_signals(""), Ok(Vec::new()));
    }

    #[test]
    fn nothing_else_gets_through() {
        for text in [
            "words",
            "\x07words",
            "\x1b[2J",
            "\x1bc",
            "\x1b]52;c;aGVsbG8=\x07",
            "\x1b]8;;http://x\x07",
            "\x1b]+9;x\x07",
            "\x1b]0;title",
            "\x1b]0\x07",
            "\x1b]0;a\x1b[2J\x07",
            "\x1b]0;a\u{9b}2J\x07",
            "\x1b]0;a\nb\x07",
            "\x1b]0;a\u{9c}\x1b[2J\x07",
            "\u{9d}0;a\x07",
            "\x1bPtmux;\x1b\x1b]52;c;x\x07\x1b\\",
            "\x1b]0;a\x07\x1b]52;c;x\x07",
        ] {
            assert!(terminal_signals(text).is_err(), "{text:?}");
        }
        let long = format!("\x1b]0;{}\x07", "a".repeat(LONGEST));
        assert!(terminal_signals(&long).is_err());
    }
}
