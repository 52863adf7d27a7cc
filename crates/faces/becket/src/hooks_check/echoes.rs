//! What hooks `echo` into other programs after they have decoded it.
//!
//! The input of a hook survives every `echo`. What it has read out of it does not: where `echo` expands backslashes,
//! `\c` in a command hides everything behind it from the `grep` that was to judge it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use becket_hooks::CommandLine;
use regex::Regex;

use super::{Finding, Hook, Kind, LARGEST, Severity, Subject, scripts};
use crate::files::read_regular;

/// Programs that read values out of JSON.
const DECODERS: &str = r"\b(jq|jaq|gojq|yq|python3?|node|bun|ruby|perl|php)\b";

/// A variable that is set by what a command prints.
const SETS: &str = r#"\b([A-Za-z_]\w*)=["']?(?:\$\(|`)"#;

/// Variables that are set by reading.
const READS: &str = r"\bread\s+(?:-\w+\s+)*((?:[A-Za-z_]\w*\s*)+)";

static DECODES: LazyLock<Regex> = LazyLock::new(|| pattern(DECODERS));
static SETTING: LazyLock<Regex> = LazyLock::new(|| pattern(SETS));
static READING: LazyLock<Regex> = LazyLock::new(|| pattern(READS));
static ECHO: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:^|[\s;&|(`{!])(echo)\s"));
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$\{?([A-Za-z_]\w*)"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of its own")
}

/// Shells whose `echo` prints what it is given.
const PLAIN: &[&str] = &["bash", "busybox", "ash"];

/// Texts of a hook that go through the `echo` of a shell into something that judges them.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let in_entry = match subject.hook {
        Hook::Own(hook) => match hook.command_line() {
            // bash runs it where there is one, and some other shell where there is none.
            CommandLine::Shell(line) => Some((line.as_str(), Severity::Remark)),
            CommandLine::Exec(words) => scripts::command_for_shell(words)
                .filter(|_| !is_plain(&words[0]))
                .map(|text| (text, Severity::Wrong)),
        },
        _ => subject.hook.script().map(|script| (script, Severity::Remark)),
    };
    let mut findings = Vec::new();
    if let Some((script, severity)) = in_entry {
        findings.extend(echoes(script).into_iter().map(|echo| Finding {
            line: subject.line_with(&echo.text),
            ..echo.finding(subject, severity)
        }));
    }
    let script = scripts::file_of(subject).and_then(|file| Some((text_for_shell(subject, &file)?, file)));
    if let Some((text, file)) = script {
        findings.extend(echoes(&text).into_iter().map(|echo| Finding {
            file: file.clone(),
            line: Some(echo.line),
            ..echo.finding(subject, Severity::Wrong)
        }));
    }
    findings
}

/// The script that a hook runs, if it is for a shell whose `echo` expands something.
fn text_for_shell(subject: &Subject<'_>, file: &Path) -> Option<String> {
    let text = read_regular(file, LARGEST).ok()?;
    let first = text.lines().next().and_then(|line| line.strip_prefix("#!"));
    let in_first = first.and_then(|line| {
        let mut words = line.split([' ', '/']);
        words.rfind(|word| !word.is_empty() && !word.starts_with('-'))
    });
    let ending = file.extension().and_then(|ending| ending.to_str());
    let told = scripts::interpreter_of(subject);
    let shell = told.as_deref().or(in_first).or(ending)?;
    (scripts::is_shell(shell) && !is_plain(shell)).then_some(text)
}

fn is_plain(shell: &str) -> bool {
    let name = shell.rsplit('/').next().unwrap_or(shell);
    PLAIN.contains(&name)
}

/// An `echo` of a decoded text.
#[derive(Debug, PartialEq, Eq)]
struct Echo {
    /// The line in the script.
    line: usize,
    /// The command, as it is written.
    text: String,
    variable: String,
}

impl Echo {
    fn finding(&self, subject: &Subject<'_>, severity: Severity) -> Finding {
        let message = format!(
            "`{}` prints something else than `${}` in shells that expand backslashes, and nothing behind `\\c`; \
             what reads it misses that",
            self.text, self.variable
        );
        Finding {
            severity,
            hint: Some(format!("printf '%s\\n' \"${}\"", self.variable)),
            ..subject.finding(Kind::ChangedByEcho, message)
        }
    }
}

/// The places where a script echoes a text that it has decoded into something that reads it.
fn echoes(script: &str) -> Vec<Echo> {
    let mut decoded = BTreeSet::new();
    let mut found = Vec::new();
    for (line, command) in commands(script) {
        for step in steps(&command) {
            let of_decoded = |text: &str| {
                let mut names = VARIABLE.captures_iter(text).map(|name| name[1].to_owned());
                names.find(|name| decoded.contains(name))
            };
            match step {
                Step::Sets(names, source) => {
                    if DECODES.is_match(source) || of_decoded(source).is_some() {
                        decoded.extend(names);
                    }
                }
                Step::Echoes(words) => found.extend(of_decoded(words).map(|variable| Echo {
                    line,
                    text: words.trim_end().to_owned(),
                    variable,
                })),
            }
        }
    }
    found
}

/// What a line does that matters here.
enum Step<'a> {
    /// Variables get what a text prints.
    Sets(Vec<String>, &'a str),
    /// An `echo` with what stands behind it, whose output is read.
    Echoes(&'a str),
}

/// The steps of a line, in the order in which they are done.
fn steps(command: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for set in SETTING.captures_iter(command) {
        let (Some(begin), name) = (set.get(0), &set[1]) else {
            continue;
        };
        let source = first_list(&command[begin.end()..]);
        let end = begin.end() + source.len();
        steps.push((end, Step::Sets(vec![name.to_owned()], source)));
    }
    for read in READING.captures_iter(command) {
        let names = read[1].split_whitespace().map(ToOwned::to_owned).collect();
        let begin = read.get(0).map_or(0, |read| read.start());
        steps.push((begin, Step::Sets(names, command)));
    }
    for echo in ECHO.captures_iter(command).filter_map(|echo| echo.get(1)) {
        let (words, is_read) = first_command(&command[echo.start()..]);
        if is_read {
            steps.push((echo.start(), Step::Echoes(words)));
        }
    }
    steps.sort_by_key(|(place, _)| *place);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// The lines of a script with their numbers. One that ends in a backslash, or with a substitution that is open, goes on
/// in the next; comments are left out.
fn commands(script: &str) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (index, line) in script.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let whole = line.strip_suffix('\\').unwrap_or(line);
        match commands.last_mut().filter(|_| goes_on) {
            Some((_, before)) => *before = format!("{before} {whole}"),
            None => commands.push((index + 1, whole.to_owned())),
        }
        let so_far = commands.last().map_or("", |(_, command)| command);
        let is_open = so_far.matches("$(").count() > so_far.matches(')').count();
        goes_on = line.ends_with('\\') || is_open;
    }
    commands
}

/// The first command of a text, and whether another command or the shell reads what it prints.
fn first_command(text: &str) -> (&str, bool) {
    match until(text, &[')', '`', '|', ';', '&', '>', '<']) {
        Some((at, '|')) => (&text[..at], !text[at..].starts_with("||")),
        Some((at, end)) => (&text[..at], matches!(end, ')' | '`')),
        None => (text, false),
    }
}

/// The commands of a text up to the end of the substitution that they stand in.
fn first_list(text: &str) -> &str {
    until(text, &[')', '`']).map_or(text, |(at, _)| &text[..at])
}

/// The first place of one of these characters, outside of quotes and of parentheses that open behind the beginning.
fn until(text: &str, ends: &[char]) -> Option<(usize, char)> {
    let mut quote = None;
    let mut depth = 0_usize;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (_, '\\') if quote != Some('\'') => {
                characters.next();
            }
            (Some(open), _) if open == character => quote = None,
            (Some('\''), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (_, '(') => depth += 1,
            (_, ')') if depth > 0 => depth -= 1,
            (None, _) if depth == 0 && ends.contains(&character) => return Some((at, character)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::echoes;

    const BEGINNING: &str = "INPUT=$(cat)\nCMD=$(echo \"$INPUT\" | jq -r .tool_input.command)\n";

    // tidy: a table
    #[test]
    fn what_was_decoded_is_told_where_something_reads_it() {
        let table = [
            ("echo \"$CMD\" | grep -q rm", "echo \"$CMD\""),
            ("if echo $CMD | grep -q rm; then exit 2; fi", "echo $CMD"),
            ("if ! echo \"x ${CMD}\" |grep rm; then", "echo \"x ${CMD}\""),
            ("WORD=$(echo \"$CMD\" | cut -d' ' -f1)", "echo \"$CMD\""),
            ("case $(echo \"$CMD\") in rm*) exit 2;; esac", "echo \"$CMD\""),
            ("X=`echo $CMD`", "echo $CMD"),
            ("echo \"$CMD\" \\\n  | grep rm", "echo \"$CMD\""),
            (
                "LOW=$(printf %s \"$CMD\" | tr A-Z a-z)\necho \"$LOW\" | grep rm",
                "echo \"$LOW\"",
            ),
            (
                "A=\"$(jq -c .x <<<\"$INPUT\")\"; echo \"$A\" | jq -r .y",
                "echo \"$A\"",
            ),
            ("A=`jq .x`; echo $A | grep x && exit 2", "echo $A"),
            ("INPUT=$(echo \"$INPUT\" | jq .)", ""),
            (
                "A=$(\n  echo \"$INPUT\" | jq .x\n)\necho \"$A\" | jq .y",
                "echo \"$A\"",
            ),
            (
                "jq -r .x | while read -r a b; do\necho \"$b\" | grep rm",
                "echo \"$b\"",
            ),
            (
                "P=$(python3 -c 'import json')\necho \"$P\" | grep rm",
                "echo \"$P\"",
            ),
            ("printf '%s\\n' \"$CMD\" | grep -q rm", ""),
            ("grep -q rm <<<\"$CMD\"", ""),
            ("echo \"not allowed: $CMD\" >&2; exit 2", ""),
            ("echo \"$CMD\" >> log || true", ""),
            ("echo \"$CMD\" || exit 2", ""),
            ("echo \"$INPUT\" | jq .", ""),
            ("echo \"$HOME\" | grep x", ""),
            ("# echo \"$CMD\" | grep rm", ""),
            ("printf %s \"$CMD\" | grep 'echo $CMD | x'", ""),
            ("echo '$CMD | x'", ""),
        ];
        for (script, wanted) in table {
            let found = echoes(&format!("{BEGINNING}{script}"));
            let found: Vec<&str> = found.iter().map(|echo| echo.text.as_str()).collect();
            assert_eq!(found.join(" "), wanted, "{script}");
        }
        let line = echoes(&format!("{BEGINNING}echo \"$CMD\" | grep x"))[0].line;
        assert_eq!(line, 3);
    }

    proptest! {
        #[test]
        fn it_ends_on_any_text(text in "[a-z$(){}`\"'\\\\;|&<>#=! \n\täecho jq]{0,200}") {
            echoes(&text);
        }
    }
}
