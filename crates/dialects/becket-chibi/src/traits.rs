//! Traits of a plugin that its program shows: its generation, and whether it talks to the user.
//!
//! Bytes are searched, not parsed: a script shows how it reads its data, and a compiled program contains the names of
//! its variables. A mistake costs little, and the configuration corrects it.

use serde::{Deserialize, Serialize};

use super::plugin::{Generation, TerminalNeed};

/// How many bytes of a program are searched for the words of scripts.
const SCRIPT_BYTES: usize = 1024 * 1024;

/// The names that only programs of the older generation contain.
const OLDER_NAMES: &[&[u8]] = &[b"CHIBI_TOOL_ARGS", b"CHIBI_HOOK_DATA"];

/// Phrases in a script that reads its data from standard input.
const READS_DATA: &[&[u8]] = &[
    b"$(cat)",
    b"$(cat -)",
    b"`cat`",
    b"$(</dev/stdin)",
    b"/dev/stdin",
    b"sys.stdin",
];

/// The traits of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traits {
    pub(super) generation: Generation,
    pub(super) terminal: TerminalNeed,
}

impl Traits {
    /// The traits of a program.
    pub(super) fn of(program: &[u8]) -> Self {
        let is_older = OLDER_NAMES.iter().any(|name| contains(program, name));
        let terminal = if contains(program, b"/dev/tty") {
            TerminalNeed::Opens
        } else if is_older && asks_on_standard_input(&program[..program.len().min(SCRIPT_BYTES)]) {
            TerminalNeed::Reads
        } else {
            TerminalNeed::None
        };
        let generation = if is_older {
            Generation::Older
        } else {
            Generation::Newer
        };
        Self { generation, terminal }
    }
}

impl Traits {
    /// The traits together with those of the files beside the program, which may be only a wrapper for a script.
    pub(super) fn with(self, beside: &[u8]) -> Self {
        let beside = Self::of(beside);
        Self {
            generation: match (self.generation, beside.generation) {
                (Generation::Newer, Generation::Newer) => Generation::Newer,
                _ => Generation::Older,
            },
            terminal: match (self.terminal, beside.terminal) {
                (TerminalNeed::None, TerminalNeed::Opens) => TerminalNeed::Opens,
                (own, _) => own,
            },
        }
    }
}

/// Whether a script asks the user something on standard input, and does not read its data there.
fn asks_on_standard_input(program: &[u8]) -> bool {
    let first = program.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if !first.starts_with(b"#!") || READS_DATA.iter().any(|words| contains(program, words)) {
        return false;
    }
    let text = String::from_utf8_lossy(program);
    let is_shell = contains(first, b"sh");
    text.lines()
        .any(|line| (is_shell && line_reads(line)) || calls_input(line))
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
            ("\x7fELF\0\0CHIBI_HOOK_DATA\0read -p\0", Older, None),
            ("", Newer, None),
        ];
        for (program, generation, terminal) in table {
            let expected = Traits {
                generation: *generation,
                terminal: *terminal,
            };
            assert_eq!(Traits::of(program.as_bytes()), expected, "{program}");
        }
    }
}
