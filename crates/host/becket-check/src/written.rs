//! What a script writes to its standard output, as far as its text shows it.
//!
//! Output that goes to standard error, to a file, into a variable or into another program is not an answer, and neither
//! is a comment.

use becket_shell::{Command, End, Kind, RedirectKind, Script, Word};

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

/// How a line of another language shows that it does not write to standard output, or writes nothing at all.
const ELSEWHERE: &[&str] = &["sys.stderr", "console.error", "process.stderr"];

/// What the statements of a shell script write, each from its writing word on.
pub fn by_shell(script: &str) -> Vec<String> {
    shown(heard(script))
}

/// What the lines of a script in another language write.
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

/// The statements of a shell script whose output is that of the script.
pub fn heard(script: &str) -> Vec<String> {
    let read = becket_shell::read(script);
    let mut heard = Vec::new();
    statements(script, &read, &read.commands, &mut heard);
    heard
}

fn statements(script: &str, read: &Script, commands: &[Command], heard: &mut Vec<String>) {
    for pipe in commands.split_inclusive(|command| command.end != End::Pipe) {
        let last = &pipe[pipe.len() - 1];
        let filter = last.words.first().and_then(Word::literal);
        let is_passed_on = pipe.len() == 1 || filter.is_some_and(|name| FILTERS.contains(&name));
        if last.prints_elsewhere() || !is_passed_on {
            continue;
        }
        for command in pipe.iter().filter(|command| !is_taken(script, command)) {
            statements(script, read, &command.body, heard);
        }
        if pipe
            .iter()
            .all(|command| command.kind == Kind::Simple && !command.words.is_empty())
        {
            let mut statement = script[pipe[0].span.start..last.span.end].trim().to_owned();
            for redirect in pipe.iter().flat_map(|command| &command.redirects) {
                if let (RedirectKind::Document(at), true) = (redirect.kind, statement.starts_with("cat <<")) {
                    statement = format!("{statement}\n{}", &script[read.documents[at].span.clone()]);
                }
            }
            heard.push(statement.trim().to_owned());
        }
    }
}

/// Whether a command is a function whose output is captured by its callers.
fn is_taken(script: &str, command: &Command) -> bool {
    let name = command.words.first().and_then(Word::literal).unwrap_or_default();
    command.kind == Kind::Function && script.contains(&format!("$({name}"))
}

/// The complete JSON objects that a statement prints, if nothing of them is made at run time.
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

/// The fully quoted words of a statement, without those that are made at run time.
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
