//! What a script writes to its standard output, as far as its text shows it.
//!
//! What goes to standard error, to a file, into a variable or into another program is nobody's answer, and neither is a
//! comment.

/// Words by which a statement shows that it writes something.
const WRITERS: &[&str] = &[
    "echo",
    "printf",
    "jq -n",
    "print(",
    "json.dump",
    "JSON.stringify",
    "cat <<",
];

/// Programs at the end of a pipe that pass on what they read.
const FILTERS: &[&str] = &["jq", "cat", "tee", "sed", "awk", "tr", "head", "grep"];

/// Words of the shell with which something begins and ends that has one output as a whole.
const BEGINNINGS: &[&str] = &["for", "while", "until", "select", "if", "case"];
const ENDINGS: &[&str] = &["done", "fi", "esac"];

/// Words that may stand before those.
const BETWEEN: &[&str] = &["then", "do", "else", "!"];

/// How a line of another language shows that it does not write to standard output, or writes nothing at all.
const ELSEWHERE: &[&str] = &["sys.stderr", "console.error", "process.stderr"];

/// What the statements of a script for a shell write, each from the word on by which it writes.
pub fn by_shell(script: &str) -> Vec<String> {
    shown(heard(script))
}

/// The same for another language, line by line.
pub fn by_lines(script: &str) -> Vec<String> {
    let lines = script.lines().map(str::trim_start).filter(|line| {
        !line.starts_with(['#', '/']) && !ELSEWHERE.iter().any(|elsewhere| line.contains(elsewhere))
    });
    shown(lines.map(ToOwned::to_owned).collect())
}

fn shown(statements: Vec<String>) -> Vec<String> {
    let written = statements.into_iter().filter_map(|statement| {
        let places = WRITERS.iter().filter_map(|writer| statement.find(writer));
        places.min().map(|place| statement[place..].to_owned())
    });
    written.collect()
}

/// The statements of a script for a shell whose standard output is that of the script.
pub fn heard(script: &str) -> Vec<String> {
    let mut reading = Reading {
        text: script.chars().collect(),
        ..Reading::default()
    };
    reading.read();
    reading.heard
}

/// The whole objects of JSON that a statement prints, where nothing of them is made at run time.
pub fn objects(statement: &str) -> Vec<String> {
    let is_printed = ["echo", "printf", "cat <<"]
        .iter()
        .any(|writer| statement.starts_with(writer));
    if !is_printed || statement.contains('|') {
        return Vec::new();
    }
    let body = statement.split_once('\n').map(|(_, body)| body.to_owned());
    let body = body.filter(|body| statement.starts_with("cat <<") && !body.contains('$'));
    let words = quoted_words(statement).into_iter();
    let words = words.map(|word| word.strip_suffix("\\n").map(ToOwned::to_owned).unwrap_or(word));
    let texts = words.chain(body).map(|text| text.trim().to_owned());
    let is_object = |text: &String| {
        let value = serde_json::from_str::<serde_json::Value>(text);
        value.is_ok_and(|value| value.is_object())
    };
    texts.filter(is_object).collect()
}

/// The words of a statement that stand in quotes as a whole, without what is made at run time.
fn quoted_words(statement: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut letters = statement.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        if !['"', '\''].contains(&letter) {
            before = letter;
            continue;
        }
        let (mut word, mut is_made) = (String::new(), !before.is_whitespace());
        while let Some(inner) = letters.next().filter(|inner| *inner != letter) {
            match inner {
                '\\' if letter == '"' => word.extend(letters.next()),
                '$' | '`' if letter == '"' => is_made = true,
                _ => word.push(inner),
            }
        }
        is_made |= letters.peek().is_some_and(|next| !next.is_whitespace());
        if !is_made {
            words.push(word);
        }
        before = letter;
    }
    words
}

/// Where a reader stands in a script, and what it has found.
#[derive(Default)]
struct Reading {
    text: Vec<char>,
    at: usize,
    heard: Vec<String>,
    /// The statement, with all parts of a pipe.
    statement: String,
    /// Its last part.
    part: String,
    is_pipe: bool,
    goes_elsewhere: bool,
    /// How many statements were heard when each of the groups around began, and whether somebody takes what it says.
    groups: Vec<(usize, bool)>,
    /// The same number for loops and conditions.
    blocks: Vec<usize>,
    /// The group that has just ended.
    ended_group: Option<usize>,
    /// The ends of here-documents that begin with the next line.
    bodies: Vec<String>,
}

impl Reading {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += 1;
        self.statement.push(letter);
        self.part.push(letter);
        Some(letter)
    }

    fn read(&mut self) {
        while let Some(letter) = self.peek(0) {
            match letter {
                '\'' | '"' => self.quoted(letter),
                '\\' => {
                    self.take();
                    self.take();
                }
                '#' if self.statement.ends_with(char::is_whitespace) || self.statement.is_empty() => {
                    while self.peek(0).is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                '$' if self.peek(1) == Some('{') => while self.take().is_some_and(|letter| letter != '}') {},
                '<' if self.peek(1) == Some('<') && self.peek(2) != Some('<') => self.here_document(),
                '>' => self.redirection(),
                '|' if self.peek(1) != Some('|') => {
                    self.take();
                    self.part.clear();
                    (self.is_pipe, self.goes_elsewhere) = (true, false);
                }
                '&' if self.peek(1) == Some('>') => {
                    self.at += 1;
                    self.redirection();
                }
                ';' | '&' | '|' | '\n' => {
                    self.at += usize::from(letter == '|');
                    self.end(letter);
                }
                '(' if self.peek(1) == Some(')') => {
                    self.take();
                    self.take();
                }
                '{' | '(' => {
                    self.groups.push((self.heard.len(), self.is_taken()));
                    self.take();
                }
                '}' | ')' => {
                    self.end(letter);
                    self.end_group();
                }
                _ => {
                    self.take();
                }
            }
        }
        self.end('\n');
    }

    /// Whether the group that begins here is a substitution, or a function that is called in one.
    fn is_taken(&self) -> bool {
        let before = self.statement.trim_end();
        let function = before
            .strip_suffix("()")
            .and_then(|name| name.split_whitespace().last());
        let calls = function.map(|name| format!("$({name}"));
        let is_called = calls.is_some_and(|call| self.text.iter().collect::<String>().contains(&call));
        self.statement.ends_with('$') || is_called
    }

    fn end_group(&mut self) {
        match self.groups.pop() {
            Some((begin, true)) => self.heard.truncate(begin),
            group => self.ended_group = group.map(|(begin, _)| begin),
        }
    }

    fn quoted(&mut self, quote: char) {
        self.take();
        while let Some(letter) = self.take().filter(|letter| *letter != quote) {
            if letter == '\\' && quote == '"' {
                self.take();
            }
        }
    }

    /// Where the output goes. `2>` is about the other one.
    fn redirection(&mut self) {
        let is_errors = self.part.ends_with(" 2");
        self.take();
        while matches!(self.peek(0), Some('>' | '|' | ' ')) {
            self.take();
        }
        let mut place = String::new();
        while let Some(letter) = self
            .peek(0)
            .filter(|letter| !letter.is_whitespace() && !";|)".contains(*letter))
        {
            place.push(letter);
            self.take();
        }
        let stays = is_errors || ["&1", "/dev/stdout"].contains(&place.as_str());
        self.goes_elsewhere |= !stays;
    }

    fn here_document(&mut self) {
        self.take();
        self.take();
        while matches!(self.peek(0), Some('-' | ' ')) {
            self.take();
        }
        let mut end = String::new();
        while let Some(letter) = self
            .peek(0)
            .filter(|letter| letter.is_alphanumeric() || "_'\"\\".contains(*letter))
        {
            end.push(letter);
            self.take();
        }
        self.bodies.push(end.replace(['\'', '"', '\\'], ""));
    }

    /// The end of a statement, and of the line if it ends one.
    fn end(&mut self, sign: char) {
        self.at += usize::from(self.at < self.text.len());
        let body = if sign == '\n' { self.body() } else { String::new() };
        let mut statement = std::mem::take(&mut self.statement);
        let part = std::mem::take(&mut self.part);
        let last = part.split_whitespace().next().unwrap_or_default();
        let is_passed_on = !self.is_pipe || FILTERS.contains(&last);
        let mut words = statement
            .split_whitespace()
            .skip_while(|word| BETWEEN.contains(word));
        let first = words.next().unwrap_or_default();
        if BEGINNINGS.contains(&first) {
            self.blocks.push(self.heard.len());
        }
        let ended_block = ENDINGS.contains(&first).then(|| self.blocks.pop()).flatten();
        // What is said of a group is said of everything in it.
        if let Some(begin) = self.ended_group.take().or(ended_block)
            && (self.goes_elsewhere || !is_passed_on)
        {
            self.heard.truncate(begin);
        }
        if !self.goes_elsewhere && is_passed_on && !statement.trim().is_empty() {
            if statement.trim_start().starts_with("cat <<") {
                statement.push('\n');
                statement.push_str(&body);
            }
            self.heard.push(statement.trim().to_owned());
        }
        (self.is_pipe, self.goes_elsewhere) = (false, false);
    }

    /// The here-documents that the line has begun.
    fn body(&mut self) -> String {
        let mut body = String::new();
        for end in std::mem::take(&mut self.bodies) {
            while self.at < self.text.len() {
                let line: String = self.text[self.at..]
                    .iter()
                    .take_while(|letter| **letter != '\n')
                    .collect();
                self.at = (self.at + line.chars().count() + 1).min(self.text.len());
                if line.trim_start_matches('\t') == end {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{by_lines, by_shell, heard, objects};

    #[test]
    fn only_what_reaches_standard_output_is_heard() {
        let table: &[(&str, &[&str])] = &[
            ("echo a; echo b", &["echo a", "echo b"]),
            ("echo a >&2; echo b 2>/dev/null", &["echo b 2>/dev/null"]),
            ("echo a >> log || echo b", &["echo b"]),
            ("echo '>' && echo \"a | b\"", &["echo '>'", "echo \"a | b\""]),
            ("echo a | curl -d @- x; echo b | jq .", &["echo b | jq ."]),
            ("# echo a\necho b # echo c", &["echo b"]),
            ("{ echo a; echo b; } >&2; echo c", &["echo c"]),
            ("(echo a) | logger\necho b", &["echo b"]),
            ("echo a &> log; echo b >&1", &["echo b >&1"]),
            ("cat <<EOF > log\necho a\nEOF\necho b", &["echo b"]),
            ("cat <<'EOF'\n{\"a\": 1}\nEOF\n", &["cat <<'EOF'\n{\"a\": 1}"]),
            ("case $x in a) echo b;; esac", &["echo b"]),
            ("x=$(echo a); echo b", &["echo b"]),
            ("x=$(cat <<E\n{\"a\": 1}\nE\n)\necho b", &["echo b"]),
            (
                "f() { echo a; }\ncurl -d \"$(f)\" x\ng() { echo b; }\ng",
                &["echo b"],
            ),
            ("for i in 1; do echo a; done > log; echo b", &["echo b"]),
            (
                "if x; then while y; do echo a; done | logger; else echo b; fi",
                &["echo b"],
            ),
        ];
        for (script, expected) in table {
            assert_eq!(&by_shell(script), expected, "{script}");
        }
        let python = "# print(1)\nprint(2)\nprint(3, file=sys.stderr)\n";
        assert_eq!(by_lines(python), ["print(2)"]);
    }

    #[test]
    fn whole_objects_are_read_and_no_others() {
        let table: &[(&str, &[&str])] = &[
            ("echo '{\"a\": 1}'", &["{\"a\": 1}"]),
            ("echo \"{\\\"a\\\": 1}\"", &["{\"a\": 1}"]),
            ("printf '{\"a\": 1}\\n'", &["{\"a\": 1}"]),
            ("printf '%s\\n' '{\"a\": 1}'", &["{\"a\": 1}"]),
            ("echo \"{\\\"a\\\": \\\"$x\\\"}\"", &[]),
            ("echo '{\"a\": \"'\"$x\"'\"}'", &[]),
            ("echo '[1]' 'x'", &[]),
            ("jq -n '{\"a\": 1}'", &[]),
            ("cat <<E\n{\"a\": 1}\n", &["{\"a\": 1}"]),
        ];
        for (statement, expected) in table {
            assert_eq!(&objects(statement), expected, "{statement}");
        }
    }

    proptest! {
        #[test]
        fn it_ends_on_any_text(text in "[a-z$(){}`\"'\\\\;|&<>#= \n-]{0,200}") {
            heard(&text).iter().for_each(|statement| drop(objects(statement)));
        }
    }
}
