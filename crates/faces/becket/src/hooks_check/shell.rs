//! Which programs a shell command uses: a scanner for the places where a command's name stands.
//!
//! It knows enough of the shell's grammar to tell a name from an argument, and says nothing where it cannot tell: names
//! that are made at run time, words behind `eval`, the bodies of here-documents.

use std::collections::BTreeSet;

use crate::shell_grammar::{BEFORE_COMMANDS, WRAPPERS};

/// What the shell does itself, in `sh` and in `bash`.
const BUILTINS: &[&str] = &[
    ".",
    ":",
    "[",
    "[[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Words that end something: no command follows directly.
const ENDS: &[&str] = &["fi", "done", "esac", "}"];

/// Options of some wrapper that have a value behind them.
const WITH_VALUES: &[&str] = &[
    "-C", "-D", "-E", "-I", "-L", "-P", "-R", "-S", "-T", "-U", "-a", "-c", "-d", "-e", "-g", "-h", "-i",
    "-k", "-o", "-p", "-r", "-s", "-t", "-u",
];

/// Programs and builtins that ask whether there is a program.
const PROBES: &[&str] = &["type", "which", "hash"];

/// How deep substitutions may stand in one another. What is deeper is not looked at.
const DEPTH: usize = 50;

/// What a command uses.
#[derive(Debug, Default)]
pub struct Used {
    /// The programs, each once, in the order of their names. One that the command itself looks for first
    /// (`command -v name`) is not among them: its author knows that it may be missing.
    pub programs: BTreeSet<String>,
    /// The files whose commands it makes its own, as they are written there.
    pub sourced: Vec<String>,
    /// Whether it says itself where programs are looked for.
    pub sets_path: bool,
}

/// Looks at a command.
pub fn used(script: &str) -> Used {
    let mut scanner = Scanner {
        text: script.chars().collect(),
        at: 0,
        depth: 0,
        used: BTreeSet::new(),
        known: BTreeSet::new(),
        bodies: Vec::new(),
        in_backticks: false,
        sourced: Vec::new(),
        sets_path: false,
    };
    scanner.commands(Until::End);
    let Scanner {
        used,
        known,
        sourced,
        sets_path,
        ..
    } = scanner;
    let is_program = |name: &String| !known.contains(name) && !BUILTINS.contains(&name.as_str());
    Used {
        programs: used.into_iter().filter(is_program).collect(),
        sourced,
        sets_path,
    }
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Parenthesis,
    Backtick,
}

/// What the next word of a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The name of a command, or a word of the grammar.
    Name,
    /// The name of the command behind a wrapper.
    Wrapped,
    /// A program that is looked for.
    Probed,
    /// A file whose commands are read.
    Sourced,
    /// The name of a function.
    Function,
    /// The word of a `case`, and the `in` behind it.
    Case,
    /// The pattern of a case.
    Pattern,
    /// Anything until `]]`.
    Test,
    /// An argument.
    Argument,
}

/// A word of the script.
struct Word {
    /// Its text, if nothing in it is made at run time.
    text: Option<String>,
    /// Whether some of it was quoted, so that it is no word of the grammar.
    quoted: bool,
    /// Whether it sets a variable.
    assigns: bool,
}

struct Scanner {
    text: Vec<char>,
    at: usize,
    depth: usize,
    used: BTreeSet<String>,
    /// Functions, and programs that the script looks for itself.
    known: BTreeSet<String>,
    /// The ends of here-documents that begin with the next line.
    bodies: Vec<String>,
    /// Whether a backtick ends what is read.
    in_backticks: bool,
    sourced: Vec<String>,
    sets_path: bool,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek(0)?;
        self.at += 1;
        Some(character)
    }

    fn takes(&mut self, text: &str) -> bool {
        let matches = text
            .chars()
            .enumerate()
            .all(|(ahead, wanted)| self.peek(ahead) == Some(wanted));
        if matches {
            self.at += text.chars().count();
        }
        matches
    }

    /// Reads commands until their end, which is consumed.
    fn commands(&mut self, until: Until) {
        let mut expected = Expected::Name;
        let mut cases = 0_usize;
        while let Some(character) = self.peek(0) {
            match character {
                '\n' => {
                    self.at += 1;
                    self.skip_bodies();
                    expected = after_separator(expected, false, cases);
                }
                ' ' | '\t' | '\r' => self.at += 1,
                '#' => self.skip_line(),
                '`' if until == Until::Backtick => {
                    self.at += 1;
                    return;
                }
                ')' => {
                    self.at += 1;
                    match expected {
                        Expected::Pattern | Expected::Test => expected = Expected::Name.or_test(expected),
                        _ if until == Until::Parenthesis => return,
                        _ => {}
                    }
                }
                ';' | '&' | '|' => expected = self.separator(expected, cases),
                '(' => self.parenthesis(&mut expected),
                '<' | '>' => self.redirection(),
                _ => self.word_of_command(&mut expected, &mut cases),
            }
        }
    }

    /// `;`, `&`, `|` and what is made of them.
    fn separator(&mut self, expected: Expected, cases: usize) -> Expected {
        let first = self.next();
        let ends_case = first == Some(';') && matches!(self.peek(0), Some(';' | '&'));
        while matches!(self.peek(0), Some(';' | '&' | '|')) {
            self.at += 1;
        }
        after_separator(expected, ends_case, cases)
    }

    fn parenthesis(&mut self, expected: &mut Expected) {
        if matches!(expected, Expected::Pattern | Expected::Test) {
            self.at += 1;
        } else if self.takes("((") {
            self.skip_arithmetic();
            *expected = Expected::Argument;
        } else {
            self.at += 1;
            self.deeper(Until::Parenthesis);
            *expected = Expected::Argument;
        }
    }

    /// Commands within a command.
    fn deeper(&mut self, until: Until) {
        if self.depth >= DEPTH {
            self.at = self.text.len();
            return;
        }
        let outside = std::mem::replace(&mut self.in_backticks, until == Until::Backtick);
        self.depth += 1;
        self.commands(until);
        self.depth -= 1;
        self.in_backticks = outside;
    }

    fn redirection(&mut self) {
        if self.takes("<<<") {
            self.skip_blanks();
            self.word();
        } else if self.takes("<<") {
            self.takes("-");
            self.skip_blanks();
            if let Some(end) = self.word().and_then(|word| word.text) {
                self.bodies.push(end);
            }
        } else if self.takes("<(") || self.takes(">(") {
            self.deeper(Until::Parenthesis);
        } else {
            while matches!(self.peek(0), Some('<' | '>' | '&' | '|')) {
                self.at += 1;
            }
            self.skip_blanks();
            self.word();
        }
    }

    /// A word where a command may stand.
    fn word_of_command(&mut self, expected: &mut Expected, cases: &mut usize) {
        let begin = self.at;
        let Some(word) = self.word() else {
            // A character that begins no word here; it is passed over, so that the scan always goes on.
            self.at += 1;
            return;
        };
        // `2>file`: the number says which output is meant.
        let is_number = |text: &str| text.chars().all(|character| character.is_ascii_digit());
        if matches!(self.peek(0), Some('<' | '>')) && word.text.as_deref().is_some_and(is_number) {
            return;
        }
        let plain = word.text.as_deref().filter(|_| !word.quoted);
        *expected = match *expected {
            Expected::Name if word.assigns => {
                self.skip_array();
                Expected::Name
            }
            Expected::Name => self.first_word(word, cases),
            Expected::Wrapped => match plain {
                Some("-v" | "-V") => Expected::Probed,
                // Whether the next word belongs to the option or is the command depends on the wrapper.
                Some(option) if WITH_VALUES.contains(&option) => Expected::Argument,
                Some(option)
                    if option.starts_with('-') || option.starts_with(|c: char| c.is_ascii_digit()) =>
                {
                    Expected::Wrapped
                }
                _ if word.assigns => Expected::Wrapped,
                _ => self.name(word.text),
            },
            Expected::Probed => {
                self.known.extend(word.text);
                Expected::Probed
            }
            Expected::Sourced => {
                // A last backslash is followed by nothing.
                let end = self.at.min(self.text.len());
                self.sourced.push(self.text[begin.min(end)..end].iter().collect());
                Expected::Argument
            }
            Expected::Function => {
                self.known.extend(word.text);
                self.is_definition();
                Expected::Name
            }
            Expected::Case if plain == Some("in") => {
                *cases += 1;
                Expected::Pattern
            }
            Expected::Pattern if plain == Some("esac") => {
                *cases = cases.saturating_sub(1);
                Expected::Argument
            }
            Expected::Test if plain == Some("]]") => Expected::Argument,
            same => same,
        };
    }

    /// The first word of a command: a word of the grammar, or the command's name.
    fn first_word(&mut self, word: Word, cases: &mut usize) -> Expected {
        let plain = word.text.clone().filter(|_| !word.quoted);
        match plain.as_deref() {
            Some(grammar) if BEFORE_COMMANDS.contains(&grammar) => Expected::Name,
            Some(grammar) if ENDS.contains(&grammar) => {
                *cases -= usize::from(grammar == "esac" && *cases > 0);
                Expected::Argument
            }
            Some("for" | "select") => Expected::Argument,
            Some("case") => Expected::Case,
            Some("function") => Expected::Function,
            _ if self.is_definition() => {
                self.known.extend(word.text);
                Expected::Name
            }
            _ => self.name(word.text),
        }
    }

    /// Notes the name of a command, and says what follows it.
    fn name(&mut self, name: Option<String>) -> Expected {
        let Some(name) = name else {
            return Expected::Argument;
        };
        let next = match name.as_str() {
            "[[" => Expected::Test,
            name if WRAPPERS.contains(&name) => Expected::Wrapped,
            name if PROBES.contains(&name) => Expected::Probed,
            "." | "source" => Expected::Sourced,
            _ => Expected::Argument,
        };
        if is_program(&name) {
            self.used.insert(name);
        }
        next
    }

    /// Whether `()` stands here: the word before it was the name of a function.
    fn is_definition(&mut self) -> bool {
        let place = self.at;
        self.skip_blanks();
        if self.takes("(") {
            self.skip_blanks();
            if self.takes(")") {
                return true;
            }
        }
        self.at = place;
        false
    }

    /// A word with its quotes and substitutions; `None` if none begins here.
    fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut text = Some(String::new());
        let (mut quoted, mut assigns) = (false, false);
        while let Some(character) = self.peek(0) {
            match character {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    let escaped = self.next();
                    if escaped != Some('\n') {
                        quoted = true;
                        push(&mut text, escaped);
                    }
                }
                '\'' => {
                    self.at += 1;
                    quoted = true;
                    while let Some(inner) = self.next().filter(|inner| *inner != '\'') {
                        push(&mut text, Some(inner));
                    }
                }
                '"' => {
                    self.at += 1;
                    quoted = true;
                    self.double_quotes(&mut text);
                }
                '$' | '`' if self.substitution() => text = None,
                '`' => break,
                _ => {
                    self.at += 1;
                    let name = text.as_deref().unwrap_or_default().trim_end_matches('+');
                    let sets = character == '=' && !quoted && is_variable(name);
                    self.sets_path |= sets && name == "PATH";
                    assigns |= sets;
                    push(&mut text, Some(character));
                }
            }
        }
        (self.at > start).then_some(Word {
            text,
            quoted,
            assigns,
        })
    }

    fn double_quotes(&mut self, text: &mut Option<String>) {
        while let Some(character) = self.peek(0) {
            match character {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    self.at += 1;
                    let escaped = self.next();
                    push(text, escaped);
                }
                '$' | '`' if self.substitution() => *text = None,
                _ => {
                    self.at += 1;
                    push(text, Some(character));
                }
            }
        }
    }

    /// Passes over something that is made at run time; the commands in it are read. Says whether there was one.
    fn substitution(&mut self) -> bool {
        if self.depth >= DEPTH {
            self.at = self.text.len();
            return true;
        }
        self.depth += 1;
        let found = self.substitution_here();
        self.depth -= 1;
        found
    }

    fn substitution_here(&mut self) -> bool {
        if self.takes("$((") {
            self.skip_arithmetic();
        } else if self.takes("$(") {
            self.deeper(Until::Parenthesis);
        } else if self.takes("${") {
            self.skip_expansion();
        } else if self.peek(0) == Some('`') {
            if self.in_backticks {
                return false;
            }
            self.at += 1;
            self.deeper(Until::Backtick);
        } else {
            let begins = |character: char| {
                character.is_ascii_alphanumeric()
                    || matches!(character, '_' | '@' | '*' | '#' | '?' | '$' | '!' | '-')
            };
            let Some(first) = self.peek(1).filter(|first| begins(*first)) else {
                return false;
            };
            self.at += 2;
            if first.is_ascii_alphabetic() || first == '_' {
                while self
                    .peek(0)
                    .is_some_and(|next| next.is_ascii_alphanumeric() || next == '_')
                {
                    self.at += 1;
                }
            }
        }
        true
    }

    /// `${name:-word}`, with what stands in the word.
    fn skip_expansion(&mut self) {
        let mut text = None;
        while let Some(character) = self.peek(0) {
            match character {
                '}' => {
                    self.at += 1;
                    return;
                }
                '\\' => self.at += 2,
                '"' => {
                    self.at += 1;
                    self.double_quotes(&mut text);
                }
                '$' | '`' if self.substitution() => {}
                _ => self.at += 1,
            }
        }
    }

    /// Until `))`, with the commands whose output is reckoned with.
    fn skip_arithmetic(&mut self) {
        let mut open = 0_usize;
        while let Some(character) = self.peek(0) {
            match character {
                ')' if open == 0 => {
                    self.at += 1;
                    self.takes(")");
                    return;
                }
                ')' => open -= 1,
                '(' => open += 1,
                '$' | '`' if self.substitution() => continue,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// `name=(…)`: the words are values.
    fn skip_array(&mut self) {
        if self.peek(0) != Some('(') {
            return;
        }
        self.at += 1;
        while let Some(character) = self.peek(0) {
            if character == ')' {
                self.at += 1;
                return;
            }
            if self.word().is_none() {
                self.at += 1;
            }
        }
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|character| character != '\n') {
            self.at += 1;
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    /// The bodies of the here-documents that the last line began.
    fn skip_bodies(&mut self) {
        for end in std::mem::take(&mut self.bodies) {
            while self.at < self.text.len() {
                let start = self.at;
                self.skip_line();
                let line: String = self.text[start..self.at].iter().collect();
                self.at = (self.at + 1).min(self.text.len());
                if line.trim_start_matches('\t').trim_end_matches('\r') == end {
                    break;
                }
            }
        }
    }
}

impl Expected {
    /// A parenthesis ends a pattern, but not a test.
    fn or_test(self, before: Self) -> Self {
        if before == Self::Test { before } else { self }
    }
}

/// What follows a separator.
fn after_separator(before: Expected, ends_case: bool, cases: usize) -> Expected {
    match before {
        Expected::Test | Expected::Case | Expected::Pattern => before,
        _ if ends_case && cases > 0 => Expected::Pattern,
        _ => Expected::Name,
    }
}

fn push(text: &mut Option<String>, character: Option<char>) {
    if let (Some(text), Some(character)) = (text, character) {
        text.push(character);
    }
}

/// Whether a name can be looked up. A relative path is seen from a folder that is known only at run time.
fn is_program(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "/._+-[".contains(letter);
    let is_path = name.contains('/');
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(plain)
        && (!is_path || name.starts_with('/'))
}

fn is_variable(name: &str) -> bool {
    let (name, index) = name.split_once('[').unwrap_or((name, "]"));
    let mut characters = name.chars();
    let begins = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    begins && index.ends_with(']') && characters.all(|next| next.is_ascii_alphanumeric() || next == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::used;

    fn names(script: &str) -> String {
        used(script).programs.into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_script_may_end_in_the_middle_of_a_word() {
        for script in [". a\\", "source \\", "cat <<A\n\\", "echo \"$(. b\\"] {
            used(script);
        }
    }

    // tidy: a table
    #[test]
    fn names_stand_where_commands_begin() {
        let table = [
            ("jq -r .a", "jq"),
            (
                "INPUT=$(cat)\nCMD=$(echo \"$INPUT\" | jq -r '.tool.cmd // \"\"')",
                "cat jq",
            ),
            ("LEN=$(echo \"$X\" | jq . | wc -c | tr -d ' ')", "jq tr wc"),
            ("echo \"[$(date)] x\" >> /tmp/a.log", "date"),
            ("a; b && c || d & e | f", "a b c d e f"),
            (
                "if grep -q x; then sed s/a/b/; elif awk 1; else perl -e 1; fi",
                "awk grep perl sed",
            ),
            ("while read -r l; do node x; done < file", "node"),
            ("for f in one two; do stat \"$f\"; done", "stat"),
            ("until ping -c1 host; do sleep 1; done", "ping sleep"),
            ("! curl x", "curl"),
            ("{ tee a; }", "tee"),
            ("(cd /tmp && tar xf y)", "tar"),
            ("X=1 Y=\"a b\" make all", "make"),
            ("x=`hostname`", "hostname"),
            ("echo `uname -a | cut -c1`", "cut uname"),
            ("# notify-send x\necho hi # osascript", ""),
            ("echo 'jq is; not | run'", ""),
            ("echo \"jq; $(id -u) not\"", "id"),
            ("cat <<EOF\njq not\nEOF\nsort x", "cat sort"),
            ("cat <<-'EOF' | uniq\n\trm x\n\tEOF\nls", "cat ls uniq"),
            ("cat <<< \"$x\"", "cat"),
            (
                "case \"$CMD\" in\n  rm*|sudo*) logger x ;;\n  (ls) find . ;;\n  *) exit 0 ;;\nesac\ndate",
                "date find logger",
            ),
            ("case $x in a) b;; esac; c", "b c"),
            ("log() { gzip x; }\nlog hi", "gzip"),
            ("function say { espeak x; }; say hi", "espeak"),
            ("exec python3 x.py", "python3"),
            ("env A=1 ruby x", "env ruby"),
            ("timeout 5 curl x", "curl timeout"),
            ("xargs -n 1 rm < list", "rm xargs"),
            ("sudo -n systemctl x", "sudo systemctl"),
            ("sudo -u root id; xargs -I {} mv {} y", "sudo xargs"),
            ("x=`hostname` && echo `date` | nl", "date hostname nl"),
            ("echo \"`uname`\" | rev", "rev uname"),
            ("command -v jq >/dev/null && jq .", ""),
            (
                "if ! command -v notify-send >/dev/null 2>&1; then exit 0; fi; notify-send x",
                "",
            ),
            ("which osascript && osascript -e x || say y", "say which"),
            ("[ -f x ] && [[ $a == jq && -n $b ]] && test -d y", ""),
            ("[[ $a =~ ^(rm|dd) ]] && shred x", "shred"),
            ("2>/dev/null stat x", "stat"),
            ("ls >out 2>&1", "ls"),
            ("ls &>out", "ls"),
            ("n=$((1 + $(nproc) * (2 + 3))); ((n > 2)) && lscpu", "lscpu nproc"),
            ("a=(jq curl) && echo ${a[0]:-$(tac x)}", "tac"),
            ("/usr/bin/env python3", "/usr/bin/env"),
            ("/opt/tool x; ./local y; ~/bin/z; \"$HOME/q\"", "/opt/tool"),
            ("$TOOL x; \"$(which_tool)\" y", "which_tool"),
            ("diff <(sort a) <(sort b)", "diff sort"),
            ("echo a\\\n  jq", ""),
            ("osascript -e 'display \"x\"' 2>/dev/null || true", "osascript"),
            ("echo \"${X:-`whoami`}\"", "whoami"),
            ("a|b|&c", "a b c"),
            ("read a < <(jq .x)", "jq"),
            ("'jq' . ; \"curl\" x", "curl jq"),
            ("time make", "make"),
            ("", ""),
            ("echo 'open", ""),
            ("echo \"$(open", "open"),
        ];
        let wrong = table
            .iter()
            .filter(|(script, expected)| names(script) != *expected);
        let wrong: Vec<_> = wrong.map(|(script, _)| (script, names(script))).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn files_that_are_sourced_and_a_path_of_its_own_are_seen() {
        let script = ". \"$BECKET_HOOK_DIR/lib.sh\"; source \"$(dirname \"$0\")/more.sh\" x; check";
        let found = used(script);
        assert_eq!(
            found.sourced,
            ["\"$BECKET_HOOK_DIR/lib.sh\"", "\"$(dirname \"$0\")/more.sh\""]
        );
        assert!(!found.sets_path);
        for script in [
            "PATH=\"$X/bin:$PATH\" tool",
            "export PATH=$PATH:/opt/x",
            "env PATH=/a tool",
        ] {
            assert!(used(script).sets_path, "{script}");
        }
    }

    proptest! {
        #[test]
        fn it_ends_on_any_text(text in "[a-z$(){}\\[\\]`\"'\\\\;|&<>#=! \n\t-]{0,200}") {
            used(&text);
        }

        #[test]
        fn depth_is_bounded(count in 0_usize..4000) {
            used(&"$(".repeat(count));
            used(&"(a ".repeat(count));
            used(&"\"$(`".repeat(count));
            used(&"${a:-".repeat(count));
        }
    }
}
