//! Finds decoded texts that hooks `echo` into other programs.
//!
//! The input of a hook survives every `echo`. A value that was decoded from it does not: if `echo` expands backslashes,
//! `\c` in a command hides everything after it from the `grep` that was to judge it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use becket_hooks::CommandLine;
use becket_shell::{Command, End, Part, Word};
use becket_system::files::read_regular;
use regex::Regex;

use crate::finding::{Finding, Kind, Severity};
use crate::hook::{Start, Subject};
use crate::scripts::{self, LARGEST};

/// Programs that read values out of JSON.
const DECODERS: &str = r"\b(jq|jaq|gojq|yq|python3?|node|bun|ruby|perl|php)\b";

static DECODES: LazyLock<Regex> = LazyLock::new(|| pattern(DECODERS));
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$\{?([A-Za-z_]\w*)"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of its own")
}

/// Shells whose `echo` prints what it is given.
const PLAIN: &[&str] = &["bash", "busybox", "ash"];

/// Finds texts of a hook that go through the `echo` of a shell into something that judges them.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let in_entry = match subject.hook.start() {
        Start::Command(CommandLine::Exec(words), _) => scripts::command_for_shell(words)
            .filter(|_| !is_plain(&words[0]))
            .map(|text| (text, Severity::Wrong)),
        // bash runs it if there is one, else some other shell.
        start => start.script().map(|script| (script, Severity::Remark)),
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
pub struct Echo {
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
pub fn echoes(script: &str) -> Vec<Echo> {
    let read = becket_shell::read(script);
    let mut search = Search {
        script,
        decoded: BTreeSet::new(),
        found: Vec::new(),
    };
    search.list(&read.commands, Output::Printed, "");
    search.found
}

/// Where the output of a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Printed,
    /// Into another command or the shell.
    Read,
}

struct Search<'a> {
    script: &'a str,
    /// Variables that hold decoded text.
    decoded: BTreeSet<String>,
    found: Vec<Echo>,
}

impl<'a> Search<'a> {
    /// Searches commands; `input` is the surrounding text from which they may read.
    fn list(&mut self, commands: &'a [Command], output: Output, input: &'a str) {
        for pipe in commands.split_inclusive(|command| command.end != End::Pipe) {
            let span = pipe[0].span.start..pipe[pipe.len() - 1].span.end;
            let reads = pipe.len() > 1 || !pipe[0].redirects.is_empty();
            let input = if reads { &self.script[span] } else { input };
            for command in pipe {
                let is_piped = command.end == End::Pipe;
                self.command(command, if is_piped { Output::Read } else { output }, input);
            }
        }
    }

    fn command(&mut self, command: &'a Command, output: Output, input: &'a str) {
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        for word in command.words.iter().chain(targets).chain(&command.assignments) {
            word.parts.iter().for_each(|part| self.part(part));
            let is_made = |part: &Part| matches!(part, Part::Commands { .. } | Part::Script(_));
            if let Some(set) = word
                .assignment()
                .filter(|set| set.value.parts.iter().any(is_made))
            {
                self.sets([set.name], &self.script[word.span.clone()]);
            }
        }
        let output = if command.prints_elsewhere() {
            Output::Printed
        } else {
            output
        };
        self.list(&command.body, output, input);
        let (becket_shell::Kind::Simple, [name, rest @ ..]) = (command.kind, command.words.as_slice()) else {
            return;
        };
        match name.literal() {
            Some("read") => {
                self.sets(rest.iter().filter_map(Word::literal), input);
            }
            Some("echo") if output == Output::Read => {
                let end = rest.last().unwrap_or(name).span.end;
                let text = &self.script[name.span.start..end];
                self.found.extend(self.decoded_in(text).map(|variable| Echo {
                    line: self.script[..name.span.start].matches('\n').count() + 1,
                    text: text.to_owned(),
                    variable,
                }));
            }
            _ => {}
        }
    }

    /// Searches the commands in a part of a word, whose output the shell reads.
    fn part(&mut self, part: &'a Part) {
        match part {
            Part::Commands { span, commands } => {
                self.list(commands, Output::Read, &self.script[span.clone()])
            }
            Part::Variable { parts, .. } | Part::Opaque(parts) => {
                parts.iter().for_each(|part| self.part(part))
            }
            Part::Literal(_) | Part::Pattern(_) | Part::Script(_) => {}
        }
    }

    /// Notes variables that are set from a text, if that decodes something.
    fn sets<'b>(&mut self, names: impl IntoIterator<Item = &'b str>, source: &str) {
        if DECODES.is_match(source) || self.decoded_in(source).is_some() {
            self.decoded.extend(names.into_iter().map(ToOwned::to_owned));
        }
    }

    fn decoded_in(&self, text: &str) -> Option<String> {
        let mut names = VARIABLE.captures_iter(text).map(|name| name[1].to_owned());
        names.find(|name| self.decoded.contains(name))
    }
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
