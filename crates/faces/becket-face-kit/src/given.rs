//! The output of a user's own command: its end for the model, and a file with all of it if there is more. As in pi, the
//! end is 2,000 lines or 50 KB, without colours and other terminal codes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use becket_agent::store::fresh_id;

/// How many lines are kept, and how many bytes. Text after the last line feed is a line as well.
const MOST_LINES: usize = 2_000;
const MOST_BYTES: usize = 50 * 1024;

/// How many bytes go to the file. A command that never stops must not fill the disk.
const MOST_FILED: usize = 1024 * 1024 * 1024;

/// The output of a command so far.
pub struct Given {
    /// The folder for the file with the whole output.
    folder: PathBuf,
    /// The end of the output, and perhaps more than will be kept.
    text: String,
    lines: usize,
    codes: Codes,
    whole: Option<Whole>,
}

/// The file with the whole output.
struct Whole {
    /// `None` when the file cannot be written.
    file: Option<File>,
    path: PathBuf,
    bytes: usize,
}

/// The end of an output.
pub struct Kept {
    pub text: String,
    /// Whether the output was longer.
    pub truncated: bool,
    /// The file with the whole output, if that was longer and could be written.
    pub file: Option<PathBuf>,
}

impl Given {
    /// No output yet. If it gets long, all of it goes to a file in this folder.
    pub fn filed_in(folder: PathBuf) -> Self {
        Self {
            folder,
            text: String::new(),
            lines: 0,
            codes: Codes::default(),
            whole: None,
        }
    }

    /// Adds a piece of output.
    pub fn add(&mut self, text: &str) {
        let text = self.codes.left_out(text);
        self.text.push_str(&text);
        self.lines += text.matches('\n').count();
        if let Some(whole) = &mut self.whole {
            whole.write(&text);
        } else if self.is_too_long() {
            self.whole.insert(Whole::begin(&self.folder)).write(&self.text);
        }
        // Now and then, so that a long output does not cost more the longer it gets.
        if self.text.len() > 4 * MOST_BYTES {
            let start = self.text.ceil_char_boundary(self.text.len() - 2 * MOST_BYTES);
            self.text.drain(..start);
        }
    }

    /// Ends the output, and returns what is kept of it.
    pub fn end(self) -> Kept {
        Kept {
            text: tail(&self.text).to_owned(),
            truncated: self.whole.is_some(),
            file: self.whole.and_then(|whole| whole.file.map(|_| whole.path)),
        }
    }

    fn is_too_long(&self) -> bool {
        self.text.len() > MOST_BYTES || self.lines + 1 > MOST_LINES
    }
}

/// The end of a text: as many whole lines as are allowed, or the end of the last line if that alone is too long.
fn tail(text: &str) -> &str {
    let starts = text.rmatch_indices('\n').map(|(place, _)| place + 1);
    let starts = starts.chain((!text.is_empty()).then_some(0)).take(MOST_LINES);
    let fitting = starts.take_while(|start| text.len() - start <= MOST_BYTES).last();
    let is_cut = |start: usize| start == text.len() && start > 0;
    match fitting.filter(|start| !is_cut(*start)) {
        Some(start) => &text[start..],
        None => &text[text.ceil_char_boundary(text.len().saturating_sub(MOST_BYTES))..],
    }
}

impl Whole {
    fn begin(folder: &Path) -> Self {
        let path = folder.join(format!("becket-bash-{}.log", fresh_id()));
        let mut options = OpenOptions::new();
        options.create_new(true).write(true).mode(0o600);
        Self {
            file: options.open(&path).ok(),
            path,
            bytes: 0,
        }
    }

    fn write(&mut self, text: &str) {
        self.bytes += text.len();
        let Some(file) = self.file.as_mut().filter(|_| self.bytes <= MOST_FILED) else {
            return;
        };
        if file.write_all(text.as_bytes()).is_err() {
            self.file = None;
        }
    }
}

/// The state of a parser for terminal codes, which may arrive in pieces.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Codes {
    #[default]
    Outside,
    /// After an escape character.
    Begun,
    /// In a code that ends with a letter.
    Control,
    /// In a code that ends with a bell, or with an escape and a backslash.
    Command,
    CommandEnds,
}

impl Codes {
    /// The text without codes, carriage returns and other control characters.
    fn left_out(&mut self, text: &str) -> String {
        text.chars().filter(|character| self.keeps(*character)).collect()
    }

    fn keeps(&mut self, character: char) -> bool {
        let (next, keeps) = match (*self, character) {
            (Self::Command, '\x1b') => (Self::CommandEnds, false),
            (Self::Command, '\x07') | (Self::CommandEnds, '\\') => (Self::Outside, false),
            (Self::Command | Self::CommandEnds, _) => (Self::Command, false),
            (_, '\x1b') => (Self::Begun, false),
            (Self::Begun, '[') => (Self::Control, false),
            (Self::Begun, ']' | 'P' | '_' | '^') => (Self::Command, false),
            // Characters in between choose what the last one means.
            (Self::Begun, ' '..='/') => (Self::Begun, false),
            (Self::Control, ' '..='?') => (Self::Control, false),
            (Self::Begun | Self::Control, '\n') | (Self::Outside, '\n' | '\t') => (Self::Outside, true),
            (Self::Begun | Self::Control, _) => (Self::Outside, false),
            (Self::Outside, character) => (Self::Outside, !character.is_control()),
        };
        *self = next;
        keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of pieces of an output, and what its file holds; the file is gone afterwards.
    fn kept(pieces: &[&str]) -> (Kept, Option<String>) {
        let mut given = Given::filed_in(std::env::temp_dir());
        pieces.iter().for_each(|piece| given.add(piece));
        let kept = given.end();
        let whole = kept.file.as_ref().map(|file| {
            let whole = std::fs::read_to_string(file).expect("it was written");
            std::fs::remove_file(file).expect("it is there");
            whole
        });
        (kept, whole)
    }

    fn numbered(last: usize) -> String {
        (1..=last).map(|number| format!("{number}\n")).collect()
    }

    #[test]
    fn the_end_is_so_many_lines_and_so_many_bytes() {
        let row = |length: usize| "x".repeat(length);
        let rows = format!("{0}\n{0}\n{0}\n", row(30_000));
        // What comes, where the end begins, and whether there is more.
        let cases = [
            (String::new(), String::new(), false),
            (numbered(1_999), numbered(1_999), false),
            (numbered(2_000), numbered(2_000)[2..].to_owned(), true),
            (row(51_200), row(51_200), false),
            (row(51_201), row(51_200), true),
            (format!("{}\n", row(60_000)), format!("{}\n", row(51_199)), true),
            (rows, format!("{}\n", row(30_000)), true),
            (
                numbered(200_000),
                numbered(200_000)[numbered(198_001).len()..].to_owned(),
                true,
            ),
        ];
        for (output, end, truncated) in cases {
            let start: String = output.chars().take(20).collect();
            let pieces = output.as_bytes().chunks(777);
            let pieces: Vec<&str> = pieces.map(|piece| std::str::from_utf8(piece).unwrap()).collect();
            let (kept, whole) = kept(&pieces);
            assert!(
                kept.text == end,
                "{start}: {} instead of {}",
                kept.text.len(),
                end.len()
            );
            assert_eq!(kept.truncated, truncated, "{start}");
            assert!(
                whole == truncated.then_some(output),
                "{start}: all of it is in the file"
            );
        }
    }

    #[test]
    fn codes_of_terminals_are_left_out_wherever_they_are_cut() {
        let output = "a\r\nb\x1b[31mred\x1b[0m \x1b]0;title\x07c\x1b]8;;x\x1b\\d\x1b(B\te\x07\n\x1b";
        let characters: Vec<String> = output.chars().map(String::from).collect();
        let pieces: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(kept(&[output]).0.text, "a\nbred cd\te\n");
        assert_eq!(kept(&pieces).0.text, "a\nbred cd\te\n");
    }
}
