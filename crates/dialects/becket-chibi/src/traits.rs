//! Traits of a plugin that its program shows: its generation, and whether it talks to the user.
//!
//! Bytes are searched, not parsed: a script shows how it reads its data, and a compiled program contains the names of
//! its variables. A mistake costs little, and the configuration corrects it.

use serde::{Deserialize, Serialize};

use super::call::{HOOK_DATA_FILE, TOOL_ARGUMENTS_FILE};
use super::plugin::{Generation, LongData, TerminalNeed};

/// How many bytes of a program are searched for the words of scripts.
const SCRIPT_BYTES: usize = 1024 * 1024;

/// The names that only programs of the older generation contain.
const OLDER_NAMES: &[&[u8]] = &[b"CHIBI_TOOL_ARGS", b"CHIBI_HOOK_DATA"];

/// Phrases in a script that reads its data from standard input.
const READS_DATA: &[&str] = &[
    "$(cat)",
    "$(cat -)",
    "$(cat |",
    "`cat`",
    "$(</dev/stdin)",
    "< /dev/stdin",
    "</dev/stdin",
    "sys.stdin.read()",
    "sys.stdin.buffer",
    "(sys.stdin)",
    "in sys.stdin",
    "readFileSync(0",
    "STDIN.read",
    "$stdin.read",
];

/// Phrases of other languages than the shell that read one line of standard input, which is an answer.
const READS_LINE: &[&str] = &[
    "sys.stdin.readline(",
    "<STDIN>",
    "STDIN.gets",
    "$stdin.gets",
    "readline.createInterface",
    "readline/promises",
    "fgets(STDIN",
    "io.read(",
];

/// The traits of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traits {
    pub(super) generation: Generation,
    pub(super) terminal: TerminalNeed,
    pub(super) long: LongData,
}

impl Traits {
    /// The traits of a program.
    pub(super) fn of(program: &[u8]) -> Self {
        let is_older = OLDER_NAMES.iter().any(|name| contains(program, name));
        let script = Script::of(&program[..program.len().min(SCRIPT_BYTES)]);
        let reads_input = script.as_ref().is_some_and(Script::reads_data);
        let asks = !reads_input && script.as_ref().is_some_and(Script::asks);
        let terminal = if contains(program, b"/dev/tty") {
            TerminalNeed::Opens
        } else if is_older && asks {
            TerminalNeed::Reads
        } else {
            TerminalNeed::None
        };
        let generation = if is_older {
            Generation::Older
        } else {
            Generation::Newer
        };
        let long = LongData {
            reads_hook_file: contains(program, HOOK_DATA_FILE.as_bytes()),
            reads_tool_file: contains(program, TOOL_ARGUMENTS_FILE.as_bytes()),
            reads_input,
        };
        Self {
            generation,
            terminal,
            long,
        }
    }

    /// The traits together with those of the files beside the program, which may be only a wrapper for a script.
    pub(super) fn with(self, beside: &[u8]) -> Self {
        let beside = Self::of(&[b"#!sh\n", beside].concat());
        Self {
            generation: match (self.generation, beside.generation) {
                (Generation::Newer, Generation::Newer) => Generation::Newer,
                _ => Generation::Older,
            },
            terminal: match (self.terminal, beside.terminal) {
                (TerminalNeed::None, beside) => beside,
                (own, _) => own,
            },
            long: LongData {
                reads_hook_file: self.long.reads_hook_file || beside.long.reads_hook_file,
                reads_tool_file: self.long.reads_tool_file || beside.long.reads_tool_file,
                reads_input: self.long.reads_input || beside.long.reads_input,
            },
        }
    }
}

/// The text of a script.
struct Script<'a> {
    text: std::borrow::Cow<'a, str>,
    is_shell: bool,
}

impl<'a> Script<'a> {
    /// The script, if the program is one.
    fn of(program: &'a [u8]) -> Option<Self> {
        let first = program.split(|byte| *byte == b'\n').next().unwrap_or_default();
        first.starts_with(b"#!").then(|| Self {
            text: String::from_utf8_lossy(program),
            is_shell: contains(first, b"sh"),
        })
    }

    /// Whether the script reads its data from standard input.
    fn reads_data(&self) -> bool {
        let is_read = |line: &str| READS_DATA.iter().any(|words| line.contains(words));
        self.text
            .lines()
            .any(|line| is_read(line) && !reads_one_line(line))
    }

    /// Whether the script reads an answer of the user from standard input.
    fn asks(&self) -> bool {
        self.text.lines().any(|line| {
            let in_shell = self.is_shell && (line_reads(line) || reads_one_line(line));
            in_shell || calls_input(line) || READS_LINE.iter().any(|words| line.contains(words))
        })
    }
}

/// Whether a line of a shell script reads one line of standard input by its name.
fn reads_one_line(line: &str) -> bool {
    let words = line.trim_start();
    let is_read = words.starts_with("read ") || words.contains(" read ");
    is_read && !words.contains("while ") && (line.contains("</dev/stdin") || line.contains("< /dev/stdin"))
}

/// Whether a line of a shell script reads from standard input, and neither from a file nor from a pipe.
fn line_reads(line: &str) -> bool {
    let is_break = |character: char| character.is_whitespace() || ";&(){}!".contains(character);
    let mut before = "";
    for word in line.split(is_break).filter(|word| !word.is_empty()) {
        match word {
            _ if word.starts_with('#') => return false,
            "read" if before != "while" => {
                return !line.contains('<') && !line.replace("||", "").contains('|');
            }
            _ => before = word,
        }
    }
    false
}

/// Whether a line calls Python's `input`.
fn calls_input(line: &str) -> bool {
    line.match_indices("input(").any(|(place, _)| {
        let before = line[..place].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '_' | '.'))
    })
}

fn contains(bytes: &[u8], words: &[u8]) -> bool {
    let starts = bytes.windows(words.len());
    starts.into_iter().any(|window| window == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_of_itself() {
        use Generation::{Newer, Older};
        use TerminalNeed::{None, Opens, Reads};
        let table: &[(&str, Generation, TerminalNeed)] = &[
            ("#!/bin/bash\nargs=$(cat)\n", Newer, None),
            (
                "#!/bin/bash\nargs=$(cat)\nread -p 'Sure? ' x </dev/tty\n",
                Newer,
                Opens,
            ),
            ("#!/bin/bash\nread -p 'Sure? ' x\n", Newer, None),
            ("#!/bin/bash\necho \"$CHIBI_TOOL_ARGS\"\n", Older, None),
            (
                "#!/bin/bash\necho \"$CHIBI_TOOL_ARGS\"\nread -p 'Sure? ' x\n",
                Older,
                Reads,
            ),
            (
                "#!/bin/sh\necho \"$CHIBI_TOOL_ARGS\"\nif ! read answer; then exit 1; fi\n",
                Older,
                Reads,
            ),
            (
                "#!/bin/sh\n# read it\necho \"$CHIBI_TOOL_ARGS\" | while read -r x; do :; done\n",
                Older,
                None,
            ),
            ("#!/bin/bash\nread -r a b <<< \"$CHIBI_HOOK_DATA\"\n", Older, None),
            (
                "#!/bin/bash\nargs=${CHIBI_TOOL_ARGS:-$(cat)}\nread -p x y\n",
                Older,
                None,
            ),
            (
                "#!/bin/sh\n$CHIBI_TOOL_ARGS\nspread x\nread_file y\n",
                Older,
                None,
            ),
            (
                "#!/usr/bin/env python3\nos.environ['CHIBI_TOOL_ARGS']\nif input('ok? '):\n",
                Older,
                Reads,
            ),
            (
                "#!/usr/bin/env python3\nos.environ['CHIBI_TOOL_ARGS']\nself.input(x); my_input(y)\n",
                Older,
                None,
            ),
            (
                "#!/usr/bin/env python3\nos.environ['CHIBI_TOOL_ARGS']\nopen('/dev/tty')\n",
                Older,
                Opens,
            ),
            (
                "#!/usr/bin/env python3\nos.environ['CHIBI_TOOL_ARGS']\nif sys.stdin.readline() == 'y':\n",
                Older,
                Reads,
            ),
            (
                "#!/usr/bin/env python3\nos.environ.get('CHIBI_TOOL_ARGS') or sys.stdin.read()\n",
                Older,
                None,
            ),
            (
                "#!/bin/bash\necho \"$CHIBI_TOOL_ARGS\"\nread -r answer < /dev/stdin\n",
                Older,
                Reads,
            ),
            (
                "#!/usr/bin/perl\n$ENV{CHIBI_TOOL_ARGS};\nmy $answer = <STDIN>;\n",
                Older,
                Reads,
            ),
            ("\x7fELF\0\0CHIBI_HOOK_DATA\0read -p\0", Older, None),
            ("", Newer, None),
        ];
        let beside = b"import sys\nif input('ok? ') == 'y': pass\n# CHIBI_TOOL_ARGS\n";
        let wrapper = Traits::of(b"#!/bin/sh\nexec python3 main.py\n").with(beside);
        assert_eq!((wrapper.generation, wrapper.terminal), (Older, Reads));
        for (program, generation, terminal) in table {
            let traits = Traits::of(program.as_bytes());
            assert_eq!(
                (traits.generation, traits.terminal),
                (*generation, *terminal),
                "{program}"
            );
        }
    }
}
