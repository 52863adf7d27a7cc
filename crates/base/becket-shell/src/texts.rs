//! The commands of a line as plain texts, for patterns that are about one command: `git push *`.

use crate::runners::is_runner;
use crate::{Command, Kind, Part, Script, Word, read};

/// What a line runs.
#[derive(Debug, Default)]
pub struct CommandTexts {
    /// The line, and each command in it: without quotes, with one space between words. A program with a folder is there
    /// with it and without, and a word with variables or patterns as `?` and as `$NAME` and the patterns.
    pub texts: Vec<String>,
    /// The beginnings of commands of which a later word is known only at run time.
    pub beginnings: Vec<String>,
    /// Whether the line may run something else: it cannot be read, or one of its programs runs what another text says.
    pub is_open: bool,
}

/// The commands of a line, also those in substitutions and compound commands.
pub fn command_texts(line: &str) -> CommandTexts {
    let script = read(line);
    let mut seen = CommandTexts {
        texts: vec![line.trim().to_owned()],
        beginnings: Vec::new(),
        is_open: script.unreadable.is_some(),
    };
    seen.script(&script);
    seen
}

impl CommandTexts {
    fn script(&mut self, script: &Script) {
        self.commands(&script.commands);
        for document in &script.documents {
            self.parts(&document.parts);
        }
    }

    fn commands(&mut self, commands: &[Command]) {
        for command in commands {
            self.command(command);
            let targets = command.redirects.iter().map(|redirect| &redirect.target);
            for word in command.words.iter().chain(&command.assignments).chain(targets) {
                self.parts(&word.parts);
            }
            self.commands(&command.body);
        }
    }

    fn command(&mut self, command: &Command) {
        let words: Vec<Option<String>> = command
            .words
            .iter()
            .map(|word| word.literal().map(str::to_owned))
            .collect();
        let program = words.first().cloned().flatten();
        let base = program
            .as_deref()
            .map(|program| program.rsplit('/').next().unwrap_or_default());
        // What is known only at run time, and what runs another text, may be anything.
        self.is_open |= (!words.is_empty() && command.kind == Kind::Simple && program.is_none())
            || command.kind == Kind::Function
            || base.is_some_and(is_runner);
        let rest = words.get(1..).unwrap_or_default();
        let shown: Vec<String> = command.words.iter().skip(1).map(unquoted).collect();
        let known: Vec<&str> = rest.iter().map_while(Option::as_deref).collect();
        let all: Vec<&str> = rest.iter().map(|word| word.as_deref().unwrap_or("?")).collect();
        for program in program.as_deref().into_iter().chain(base) {
            let text = |rest: &[&str]| [&[program], rest].concat().join(" ");
            self.texts.push(text(&all));
            if known.len() < all.len() {
                let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
                self.texts.push(text(&shown));
            }
            if known.len() < all.len() {
                self.beginnings.push(text(&known));
            }
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Commands { commands, .. } => self.commands(commands),
                Part::Variable { parts, .. } | Part::Opaque(parts) => self.parts(parts),
                Part::Script(_) => self.is_open = true,
                Part::Literal(_) | Part::Pattern(_) => {}
            }
        }
    }
}

/// A word without its quotes, with its variables by their names.
fn unquoted(word: &Word) -> String {
    let parts = word.parts.iter().map(|part| match part {
        Part::Literal(text) => text.clone(),
        Part::Pattern(sign) => sign.to_string(),
        Part::Variable { name, .. } => format!("${name}"),
        Part::Commands { .. } | Part::Script(_) | Part::Opaque(_) => "?".to_owned(),
    });
    parts.collect()
}
