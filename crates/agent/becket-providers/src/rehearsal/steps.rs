//! Literal instructions, parsed from a user's message.

use becket_events::OperationKind;

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `Run: CMD`.
    Run(String),
    /// `Read FILE`.
    Read(String),
    /// `Write FILE: TEXT`.
    Write {
        /// The file to write.
        path: String,
        /// The file's new content.
        content: String,
    },
    /// `Fetch URL`.
    Fetch(String),
}

/// The instructions in a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// How many other lines are not blank.
    pub other_lines: usize,
}

impl Step {
    /// The operation that does the step.
    pub fn operation(&self) -> OperationKind {
        match self {
            Self::Run(_) => OperationKind::Shell,
            Self::Read(_) => OperationKind::Read,
            Self::Write { .. } => OperationKind::Write,
            Self::Fetch(_) => OperationKind::Fetch,
        }
    }

    /// The step in a few words.
    pub fn describe(&self) -> String {
        match self {
            Self::Run(command) => format!("Run `{command}`"),
            Self::Read(path) => format!("Read `{path}`"),
            Self::Write { path, .. } => format!("Write `{path}`"),
            Self::Fetch(url) => format!("Fetch `{url}`"),
        }
    }
}

impl Instructions {
    /// Parses a text: one instruction per line, or several with `then` between them.
    pub fn read(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let steps = steps_of_line(line);
            if steps.is_empty() {
                found.other_lines += 1;
            }
            found.steps.extend(steps);
        }
        found
    }
}

fn steps_of_line(line: &str) -> Vec<Step> {
    let mut rest = without_leader(line);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (head, tail) = split_at_then(rest);
        let Some(step) = step(head) else { break };
        steps.push(step);
        rest = tail;
    }
    steps
}

/// The text before a `then` that is followed by an instruction, and that instruction with all that follows. The
/// `then` of a shell's `if` is followed by a command and stays where it is.
fn split_at_then(text: &str) -> (&str, &str) {
    let lower = text.to_ascii_lowercase();
    for (at, word) in lower.match_indices("then") {
        let before = &text[..at];
        let after = text[at + word.len()..].trim_start_matches([',', ':']);
        let alone = before.ends_with(char::is_whitespace) && after.starts_with(char::is_whitespace);
        let instruction = split_candidate(after.trim_start());
        if alone && instruction {
            let before = before.trim_end();
            let before = before.strip_suffix(" and").unwrap_or(before).trim_end();
            let before = before.strip_suffix([',', ';']).unwrap_or(before);
            return (before, after.trim_start());
        }
    }
    (text, "")
}

fn split_candidate(text: &str) -> bool {
    // Only the first of the following steps has to be an instruction here.
    let lower = text.to_ascii_lowercase();
    let end = lower.find(" then ").unwrap_or(text.len());
    step(&text[..end]).is_some()
}

/// The line without what people put before an instruction: a bullet, a number, `first` or `then`.
fn without_leader(line: &str) -> &str {
    let line = line.trim_start_matches(['-', '*', '•']).trim_start();
    let digits = line.len()
        - line
            .trim_start_matches(|character: char| character.is_ascii_digit())
            .len();
    let line = match line[digits..].strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 => rest.trim_start(),
        _ => line,
    };
    ["first", "then", "finally"]
        .iter()
        .find_map(|word| after_word(line, word))
        .map_or(line, |rest| rest.trim_start_matches([',', ':']).trim_start())
}

fn step(text: &str) -> Option<Step> {
    let text = text.trim();
    if is_listing(text) {
        return Some(Step::Run("ls".to_owned()));
    }
    if let Some(command) = strip_ignoring_case(text, "run:") {
        let command = command.trim();
        return (!command.is_empty()).then(|| Step::Run(command.to_owned()));
    }
    if let Some(rest) = after_word(text, "read") {
        return name(rest).map(Step::Read);
    }
    if let Some(rest) = after_word(text, "fetch") {
        let url = name(rest)?;
        return url.contains(['.', ':', '/']).then_some(Step::Fetch(url));
    }
    let (path, content) = split_write(after_word(text, "write")?)?;
    Some(Step::Write {
        path,
        content: content.strip_prefix(' ').unwrap_or(content).to_owned(),
    })
}

fn is_listing(text: &str) -> bool {
    let words = text.trim_end_matches(['.', '!']).to_ascii_lowercase();
    let words: Vec<&str> = words.split_whitespace().filter(|word| *word != "the").collect();
    matches!(
        words.as_slice(),
        ["list", "files", "in", "current", "dir" | "directory" | "folder"]
    )
}

/// `FILE: TEXT`, where a file's name with spaces is in quotes.
fn split_write(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let end = match text.chars().next()? {
        quote @ ('"' | '\'' | '`') => text[1..].find(quote)? + 2,
        _ => text.find(':')?,
    };
    let content = text[end..].trim_start().strip_prefix(':')?;
    Some((name(&text[..end])?, content))
}

/// A file's name or an address: one word, or anything in quotes.
fn name(text: &str) -> Option<String> {
    let text = text.trim();
    for quote in ['"', '\'', '`'] {
        if let Some(inner) = text
            .strip_prefix(quote)
            .and_then(|rest| rest.trim_end_matches('.').strip_suffix(quote))
        {
            return (!inner.is_empty()).then(|| inner.to_owned());
        }
    }
    let text = match text.strip_suffix('.') {
        Some(before) if !before.is_empty() && !before.ends_with(['.', '/']) => before,
        _ => text,
    };
    (!text.is_empty() && !text.contains(char::is_whitespace)).then(|| text.to_owned())
}

fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = strip_ignoring_case(text, word)?;
    rest.starts_with([' ', '\t', ',']).then(|| rest.trim_start())
}

fn strip_ignoring_case<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let head = text.get(..beginning.len())?;
    head.eq_ignore_ascii_case(beginning)
        .then(|| &text[beginning.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str) -> Step {
        Step::Run(command.into())
    }

    fn read(path: &str) -> Step {
        Step::Read(path.into())
    }

    fn write(path: &str, content: &str) -> Step {
        Step::Write {
            path: path.into(),
            content: content.into(),
        }
    }

    #[test]
    fn instructions_are_recognised() {
        let table: Vec<(&str, Vec<Step>)> = vec![
            ("Run: rm -rf build", vec![run("rm -rf build")]),
            ("run:ls", vec![run("ls")]),
            ("Read README.md", vec![read("README.md")]),
            ("Read README.md.", vec![read("README.md")]),
            ("Read ../x", vec![read("../x")]),
            ("Read \"my file.txt\"", vec![read("my file.txt")]),
            ("Write a.txt: hello: world", vec![write("a.txt", "hello: world")]),
            ("Write 'my file':x", vec![write("my file", "x")]),
            ("Write a.txt:", vec![write("a.txt", "")]),
            (
                "Fetch https://example.com/x?y=1",
                vec![Step::Fetch("https://example.com/x?y=1".into())],
            ),
            ("List files in current dir", vec![run("ls")]),
            ("list the files in the current directory.", vec![run("ls")]),
            ("Run: ls then Read a.txt", vec![run("ls"), read("a.txt")]),
            (
                "Run: ls, then run: pwd and then Read b",
                vec![run("ls"), run("pwd"), read("b")],
            ),
            (
                "Run: if true; then echo hi; fi",
                vec![run("if true; then echo hi; fi")],
            ),
            (
                "Run: if true; then echo hi; fi then Read x",
                vec![run("if true; then echo hi; fi"), read("x")],
            ),
            (
                "1. Run: a\n2) Read b\n- then Write c: d",
                vec![run("a"), read("b"), write("c", "d")],
            ),
            ("Write a: ä then Read a", vec![write("a", "ä"), read("a")]),
            ("Run: ", vec![]),
            ("Read the docs about hooks", vec![]),
            ("Fetch water", vec![]),
            ("Write me a poem", vec![]),
            ("Running late", vec![]),
            ("hello", vec![]),
            ("", vec![]),
        ];
        for (text, steps) in table {
            assert_eq!(Instructions::read(text).steps, steps, "{text}");
        }
    }

    #[test]
    fn other_lines_are_counted() {
        let found = Instructions::read("Please:\n\nRun: ls\nthank you");
        assert_eq!((found.steps, found.other_lines), (vec![run("ls")], 2));
    }
}
