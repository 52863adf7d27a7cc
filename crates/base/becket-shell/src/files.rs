//! The files that commands name, for rules about files: those that `cat a`, `sed -i s/x/y/ b` and `> c` are about.
//!
//! Known are programs that read or change the files that they are given. What a program finds by itself, as `grep -r`
//! does, and what an interpreter opens, stands in no word.

use crate::{Command, Part, RedirectKind, Word};

/// A file that a command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The path as it is written, without quotes: `~` stands for the home, and `?` for what is known only at run time.
    pub path: String,
    /// What the command does with the file.
    pub purpose: Purpose,
    /// Whether the path is a pattern that the shell replaces with the files that fit it.
    pub is_pattern: bool,
}

/// What a command does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It shows what is in the file, or puts it elsewhere.
    Read,
    /// It makes, changes or removes the file.
    Change,
}

/// The files that a script names, and the folders that it goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFiles {
    /// The files.
    pub files: Vec<NamedFile>,
    /// The folders, of which a relative path may be one of any.
    pub folders: Vec<String>,
    /// The variables that the script has set so far, and their values.
    variables: Vec<(String, String)>,
}

const READERS: &str = ". awk base32 base64 bat batcat bzcat cat cmp column comm cut diff egrep expand fgrep file find \
                       fmt fold gawk grep gunzip gzip head hexdump iconv join jq less ls mawk md5sum more nl od paste \
                       perl pr rev rg sed sha1sum sha256sum sha512sum shuf sort source split stat strings tac tail tar \
                       tree uniq view wc xxd xzcat yq zcat zgrep zip zless";

const CHANGERS: &str = "mkdir patch rm rmdir shred tee touch truncate unlink";

/// Programs that read all files but the last one, which they make.
const COPIERS: &str = "cp install ln rsync scp";

/// Programs whose first operand is no file, unless an option has said what it would say.
const SCRIPTED: &str = "awk egrep fgrep gawk grep jq mawk rg sed yq zgrep";

/// Programs that change a file in its place, if an option says so.
const IN_PLACE: &str = "gawk perl sed yq";

/// The longest value of a variable that is known, in bytes.
const LONGEST_VALUE: usize = 4096;

fn is_among(programs: &str, program: &str) -> bool {
    programs.split(' ').any(|known| known == program)
}

impl NamedFiles {
    /// Notes the files among the words behind a program's name.
    pub(crate) fn words(&mut self, program: &str, words: &[Word]) {
        use Purpose::{Change, Read};
        let options: Vec<&str> = words.iter().filter_map(Word::literal).collect();
        let has = |letter: char, long: &str| {
            let mut options = options.iter();
            options.any(|option| {
                let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
                letters.is_some_and(|letters| letters.contains(letter)) || option.starts_with(long)
            })
        };
        let has_script = || has('e', "--expression") || has('e', "--regexp") || has('f', "--file");
        let script = (is_among(SCRIPTED, program) && !has_script())
            .then(|| words.iter().position(|word| !is_option(word)))
            .flatten();
        let words = words.iter().enumerate();
        let words: Vec<&Word> = words
            .filter(|(place, _)| Some(*place) != script)
            .map(|(_, word)| word)
            .collect();
        let operands: Vec<&Word> = words.iter().copied().filter(|word| !is_option(word)).collect();
        match (program, operands.split_last()) {
            ("cd" | "pushd", _) => {
                let folders = operands.iter().map(|word| self.written(&word.parts).0);
                let folders: Vec<String> = folders.collect();
                self.folders.extend(folders);
            }
            ("dd", _) => words.iter().for_each(|word| {
                self.setting(word, "if", Read);
                self.setting(word, "of", Change);
            }),
            ("mv", _) => self.all(&words, &[Read, Change]),
            (program, Some((last, others))) if is_among(COPIERS, program) => {
                others.iter().for_each(|word| self.word(word, Read));
                self.word(last, Change);
                if has('t', "--target-directory") {
                    self.all(&words, &[Read, Change]);
                }
            }
            (program, _) if is_among(READERS, program) => {
                self.all(&words, &[Read]);
                if is_among(IN_PLACE, program) && has('i', "--in-place") {
                    self.all(&words, &[Change]);
                }
            }
            (program, _) if is_among(CHANGERS, program) => self.all(&words, &[Change]),
            _ => {}
        }
    }

    /// Notes a variable that a word sets.
    pub(crate) fn assignment(&mut self, word: &Word) {
        if let Some(set) = word.assignment().filter(|set| !set.is_partial) {
            let (rest, _) = self.written(set.value.parts);
            let value = format!("{}{rest}", set.value.text);
            // One that is made of others could become as long as it likes.
            let value = Some(value).filter(|value| value.len() <= LONGEST_VALUE);
            let value = value.unwrap_or_else(|| "?".to_owned());
            self.variables.push((set.name.to_owned(), value));
        }
    }

    /// Notes the files that a command reads from and writes to.
    pub(crate) fn redirects(&mut self, command: &Command) {
        for redirect in &command.redirects {
            match redirect.kind {
                RedirectKind::Input => self.word(&redirect.target, Purpose::Read),
                RedirectKind::Output => self.word(&redirect.target, Purpose::Change),
                RedirectKind::OutputDuplicate if redirect.descriptor.is_none() => {
                    self.word(&redirect.target, Purpose::Change);
                }
                _ => {}
            }
        }
    }

    /// Notes all words, of options the value behind `=`.
    fn all(&mut self, words: &[&Word], purposes: &[Purpose]) {
        for word in words {
            for purpose in purposes {
                match (
                    is_option(word),
                    word.literal().and_then(|text| text.split_once('=')),
                ) {
                    (false, _) => self.word(word, *purpose),
                    (true, Some((_, value))) => self.add((value.to_owned(), false), *purpose),
                    (true, None) => {}
                }
            }
        }
    }

    fn word(&mut self, word: &Word, purpose: Purpose) {
        self.add(self.written(&word.parts), purpose);
    }

    /// Notes the value of a word such as `if=FILE`.
    fn setting(&mut self, word: &Word, name: &str, purpose: Purpose) {
        let setting = word.assignment().filter(|setting| setting.name == name);
        if let Some(setting) = setting {
            let (rest, is_pattern) = self.written(setting.value.parts);
            self.add((format!("{}{rest}", setting.value.text), is_pattern), purpose);
        }
    }

    fn add(&mut self, (path, is_pattern): (String, bool), purpose: Purpose) {
        if !path.trim_matches('?').is_empty() {
            self.files.push(NamedFile {
                path,
                purpose,
                is_pattern,
            });
        }
    }

    /// The parts of a word as a path, and whether it is a pattern.
    fn written(&self, parts: &[Part]) -> (String, bool) {
        let (mut path, mut is_pattern) = (String::new(), false);
        for part in parts {
            match part {
                Part::Literal(text) => path.push_str(text),
                Part::Pattern(sign) => {
                    path.push(*sign);
                    is_pattern = true;
                }
                Part::Variable { name, .. } => {
                    let mut set = self.variables.iter().rev();
                    let value = set.find(|(known, _)| known == name);
                    path.push_str(match (name.as_str(), value) {
                        (_, Some((_, value))) => value,
                        ("HOME", None) if path.is_empty() => "~",
                        ("PWD", None) if path.is_empty() => ".",
                        _ => "?",
                    });
                }
                Part::Commands { .. } | Part::Script(_) | Part::Opaque(_) => path.push('?'),
            }
        }
        (path, is_pattern)
    }
}

fn is_option(word: &Word) -> bool {
    matches!(word.parts.first(), Some(Part::Literal(text)) if text.starts_with('-') && text.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_files;

    #[test]
    fn files_are_named_by_words_options_and_redirects() {
        for (script, read, changed) in [
            ("cat .env", ".env", ""),
            ("cat -n .env a*", ".env a*", ""),
            ("sudo head -5 \"$HOME/.ssh/id\"", "~/.ssh/id", ""),
            ("cat ${X}/.env $Y", "?/.env", ""),
            ("true && (sed -n 1p < in > out)", "in", "out"),
            ("sed -i s/a/b/ x.txt", "x.txt", "x.txt"),
            ("sed -e s/a/b/ x.txt", "s/a/b/ x.txt", ""),
            ("grep -rn .env src", "src", ""),
            ("grep -A 3 key .env", "key .env", ""),
            ("cp a b dir", "a b", "dir"),
            ("cp -t dir a", "dir dir a", "a dir a"),
            ("mv a b", "a b", "a b"),
            ("dd if=.env of=copy", ".env", "copy"),
            ("echo x | tee a >> b 2>&1", "", "b a"),
            ("grep --file=words x", "words x", ""),
            ("bash -c 'cat .env' > out", ".env", "out"),
            ("echo $(cat .env) `cat b`", ".env b", ""),
            ("find . -exec cat .env \\;", ". cat .env ; .env", ""),
            ("python3 read.py .env", "", ""),
            ("F=.env; cat \"$F\" ${F}x $G", ".env .envx", ""),
            ("echo .env", "", ""),
        ] {
            let found = named_files(script);
            let paths = |purpose: Purpose| {
                let files = found.files.iter().filter(|file| file.purpose == purpose);
                let paths = files.map(|file| file.path.as_str());
                paths.collect::<Vec<_>>().join(" ")
            };
            assert_eq!(
                (paths(Purpose::Read), paths(Purpose::Change)),
                (read.to_owned(), changed.to_owned()),
                "{script}"
            );
        }
        assert_eq!(named_files("cd a && cat b; pushd ~/c").folders, ["a", "~/c"]);
        assert!(named_files("cat a*").files[0].is_pattern);
    }
}
