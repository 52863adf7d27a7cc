//! The programs that a script names, for somebody who is asked whether it may run.
//!
//! This is a help for reading, not a judgement: a program can run others of which the text says nothing.

use crate::files::NamedFiles;
use crate::{Command, Part, Word, command_start, read};

/// The programs that a script names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedPrograms {
    /// Programs, builtins and functions as they are written, each once, in the order of the text. What `sudo`, `xargs`
    /// and their like run stands behind them.
    pub names: Vec<String>,
    /// Whether the script may run more than its text names: a part cannot be read, or is known only at run time.
    pub may_run_more: bool,
}

/// How deep scripts in scripts are read, as in `sh -c "sh -c ..."`.
const DEEPEST: usize = 8;

/// How many commands of one script are looked at.
const MOST_COMMANDS: usize = 500;

/// Shells, which run the text after `-c`.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// Options of `find` that are followed by a command.
const RUN_BY_FIND: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// The programs that a script names, also inside of substitutions, wrappers, and scripts that it gives to shells.
pub fn programs(script: &str) -> NamedPrograms {
    Search::of(script).named
}

/// The files that a script names, also inside of substitutions, wrappers, and scripts that it gives to shells.
pub fn named_files(script: &str) -> NamedFiles {
    Search::of(script).files
}

/// A search for the programs of a script and their files, which ends however the script is written.
struct Search {
    named: NamedPrograms,
    files: NamedFiles,
    /// How many commands may still be looked at.
    left: usize,
}

impl Search {
    fn of(script: &str) -> Self {
        let mut search = Self {
            named: NamedPrograms::default(),
            files: NamedFiles::default(),
            left: MOST_COMMANDS,
        };
        search.script(script, 0);
        search
    }

    fn script(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST {
            self.named.may_run_more = true;
            return;
        }
        let script = read(text);
        self.named.may_run_more |= script.unreadable.is_some();
        self.commands(&script.commands, text, depth);
        for document in &script.documents {
            self.parts(&document.parts, text, depth);
        }
    }

    fn commands(&mut self, commands: &[Command], text: &str, depth: usize) {
        for command in commands {
            command
                .assignments
                .iter()
                .for_each(|word| self.files.assignment(word));
            self.files.redirects(command);
            if command.kind == crate::Kind::Simple {
                self.words(&command.words, text, depth);
            }
            let targets = command.redirects.iter().map(|redirect| &redirect.target);
            for word in command.assignments.iter().chain(&command.words).chain(targets) {
                self.parts(&word.parts, text, depth);
            }
            self.commands(&command.body, text, depth);
        }
    }

    /// Reads the words of a command, of which the first is its program.
    fn words(&mut self, words: &[Word], text: &str, depth: usize) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        let Some(left) = self.left.checked_sub(1) else {
            self.named.may_run_more = true;
            return;
        };
        self.left = left;
        let Some(program) = first.literal() else {
            self.named.may_run_more = true;
            return self.add(text.get(first.span.clone()).unwrap_or("?"));
        };
        self.add(program);
        let literals: Vec<&str> = rest
            .iter()
            .map(|word| word.literal().unwrap_or_default())
            .collect();
        let base = program.rsplit('/').next().unwrap_or(program);
        if let Some(start) = command_start(base, &literals) {
            return self.words(&rest[start..], text, depth);
        }
        self.files.words(base, rest);
        match base {
            // It runs its words, with blanks between them.
            "eval" if rest.iter().all(|word| word.literal().is_some()) => {
                self.script(&literals.join(" "), depth + 1);
            }
            "eval" => self.named.may_run_more = true,
            "find" => self.run_by_find(rest, &literals, text, depth),
            _ if SHELLS.contains(&base) => {
                let is_script = |word: &&str| word.starts_with('-') && word.contains('c');
                match literals.iter().position(is_script) {
                    Some(option) => rest
                        .get(option + 1)
                        .into_iter()
                        .for_each(|word| self.inner(word, depth)),
                    // A file, or what is piped in.
                    None => self.named.may_run_more = true,
                }
            }
            "source" | "." => self.named.may_run_more = true,
            _ => {}
        }
    }

    /// Reads the commands among the words of `find`, each up to its `;` or `+`.
    fn run_by_find(&mut self, words: &[Word], literals: &[&str], text: &str, depth: usize) {
        let mut place = 0;
        while let Some(option) = literals[place..]
            .iter()
            .position(|word| RUN_BY_FIND.contains(word))
        {
            let start = place + option + 1;
            let length = literals[start..]
                .iter()
                .position(|word| [";", "+"].contains(word));
            place = length.map_or(words.len(), |length| start + length);
            self.words(&words[start..place], text, depth);
        }
    }

    /// Reads a script that is a word of another one.
    fn inner(&mut self, word: &Word, depth: usize) {
        match word.literal() {
            Some(script) => self.script(script, depth + 1),
            None => self.named.may_run_more = true,
        }
    }

    fn parts(&mut self, parts: &[Part], text: &str, depth: usize) {
        for part in parts {
            match part {
                Part::Literal(_) | Part::Pattern(_) => {}
                Part::Variable { parts, .. } | Part::Opaque(parts) => self.parts(parts, text, depth),
                Part::Commands { commands, .. } => self.commands(commands, text, depth),
                Part::Script(script) => self.script(script, depth + 1),
            }
        }
    }

    fn add(&mut self, name: &str) {
        if !name.is_empty() && !self.named.names.iter().any(|other| other == name) {
            self.named.names.push(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_commands_without_end_are_not_followed_for_ever() {
        for word in ["find -exec ", "sudo ", "xargs "] {
            let named = programs(&word.repeat(5_000));
            assert!(named.may_run_more, "{word}");
        }
        let named = programs("find . -exec sudo rm {} \\; -ok mv {} x +");
        assert_eq!(named.names, ["find", "sudo", "rm", "mv"]);
    }

    #[test]
    fn programs_are_named_wherever_they_are() {
        for (script, names, may_run_more) in [
            ("ls -l", "ls", false),
            ("cd a && make -j2 | tee log", "cd make tee", false),
            ("sudo -u me env A=1 rm -rf x", "sudo env rm", false),
            ("find . -name '*.o' -exec rm {} \\;", "find rm", false),
            ("echo $(git rev-parse HEAD) `date`", "echo git date", false),
            ("bash -lc 'curl x | sh'", "bash curl sh", true),
            ("sh -c \"sh -c 'rm x'\"", "sh rm", false),
            ("eval \"$x\"", "eval", true),
            ("$TOOL x; for f in *; do cp $f b; done", "$TOOL cp", true),
            ("A=$(id) true <(w)", "true id w", false),
            ("cat <<E\n$(who)\nE", "cat who", false),
            ("f() { rm x; }; f", "rm f", false),
            ("source lib.sh", "source", true),
            ("echo 'rm x' > file", "echo", false),
            ("echo \"unfinished", "echo", true),
            ("", "", false),
        ] {
            let named = programs(script);
            assert_eq!(
                (named.names.join(" ").as_str(), named.may_run_more),
                (names, may_run_more),
                "{script}"
            );
        }
    }

    #[test]
    fn nesting_ends() {
        let mut script = "rm x".to_owned();
        let mut deeper = || {
            script = format!("eval {}", script.replace('\\', r"\\").replace(' ', r"\ "));
            programs(&script)
        };
        let named: Vec<NamedPrograms> = (0..=DEEPEST).map(|_| deeper()).collect();
        assert_eq!(named[DEEPEST - 1].names, ["eval", "rm"]);
        assert_eq!(
            (&*named[DEEPEST].names, named[DEEPEST].may_run_more),
            (&["eval".to_owned()][..], true)
        );
    }
}
