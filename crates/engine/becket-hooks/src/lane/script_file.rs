//! The scripts behind a command: files that an interpreter is given, or that name it in their first line.
//!
//! This is needed for two things. A guard whose script was emptied or removed is broken, and no shell says so: an
//! interpreter ends with 1 without its script, and some agents take that for no opinion. And shells whose
//! `echo` changes what it prints are started with a plain one, also if the script names them (`shell.rs`).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use becket_shell::{Command, End, Kind, command_start};
use rustix::fs::{Access, access};

use super::environment::find_program;
use super::shell;
use crate::plain_words::plain_words;

/// Programs that run the file in their first argument.
const INTERPRETERS: &[&str] = &[
    "ash", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "mksh", "node", "perl", "php", "python",
    "ruby", "sh", "ts-node", "tsx", "zsh",
];

/// Programs that find another one and run it with what follows, after one of these words if there are any.
const RUNNERS: &[(&str, &[&str])] = &[
    ("bunx", &[]),
    ("npx", &[]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("pnpx", &[]),
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
];

/// Options of interpreters that take a value.
const WITH_VALUES: &[&str] = &["-o", "-O", "+o", "+O", "-W", "-X", "-r", "--require", "--import"];

/// Letters that mean, among the short options of an interpreter, that code follows, or the name of a module.
const WITH_CODE: &[(&str, &[char])] = &[
    ("python", &['c', 'm']),
    ("perl", &['e', 'E']),
    ("ruby", &['e']),
    ("lua", &['e']),
    ("php", &['r']),
    ("node", &['e', 'p']),
    ("bun", &['e', 'p']),
    ("deno", &['e', 'p']),
];

/// Endings of scripts.
const ENDINGS: &[&str] = &[
    "bash", "cjs", "cts", "js", "lua", "mjs", "mts", "php", "pl", "py", "rb", "sh", "ts", "tsx", "zsh",
];

/// Commands that make no file, whatever their arguments are.
const MAKES_NOTHING: &[&str] = &[
    ":", "[", "cat", "cd", "command", "cut", "echo", "exit", "export", "false", "grep", "head", "jq",
    "printf", "pwd", "read", "return", "set", "shift", "sleep", "tail", "test", "tr", "trap", "true", "type",
    "unset", "wc",
];

/// A directory that is not known, like one in a variable that nobody sets.
const SOMEWHERE: &str = "$-";

/// The largest file that is searched for something other than blanks.
const MOST_BLANK: u64 = 64 * 1024;

/// A script in a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// The path as it is written.
    pub(super) word: String,
    /// The directories into which the line changes before, as they are written.
    pub(super) within: Vec<String>,
    /// Whether the command cannot do its work without the script. What follows an option may be its value, a word
    /// without an ending something that the interpreter knows, and a line may say what to do without the script.
    pub(super) is_needed: bool,
    /// Whether a command before it in the line could have made it, so that it may be missing until then.
    pub(super) may_be_made: bool,
}

/// The files that the commands of a line run as scripts, where that is obvious.
pub(super) fn scripts_of_line(line: &str) -> Vec<Script> {
    let mut reader = LineReader {
        line,
        within: Vec::new(),
        may_have_made: false,
        found: Vec::new(),
    };
    reader.read(&becket_shell::read(line).commands);
    let mut found = reader.found;
    for script in &mut found {
        // A line that names a file more than once looks first whether it is there.
        let name = script.word.rsplit('/').next().unwrap_or(&script.word);
        script.is_needed &= line.matches(name).count() < 2;
    }
    found
}

/// Follows the commands of a line.
struct LineReader<'a> {
    line: &'a str,
    /// The directories into which the line has changed, as they are written.
    within: Vec<String>,
    /// Whether a command could have made a file.
    may_have_made: bool,
    found: Vec<Script>,
}

impl LineReader<'_> {
    /// Reads commands that stand one after another. What runs under a condition, or not at all, is left out.
    fn read(&mut self, commands: &[Command]) {
        for list in commands.split_inclusive(|command| command.end == End::Other) {
            // Such a list says what to do if a command fails.
            let between = list
                .windows(2)
                .map(|pair| self.line.get(pair[0].span.end..pair[1].span.start));
            let has_other_way = between.flatten().any(|text| text.contains("||"));
            let is_last =
                list.last().map(|command| command.span.end) == commands.last().map(|last| last.span.end);
            for command in list {
                let is_silenced = !is_last && hides_errors(command);
                self.read_one(command, !has_other_way && !is_silenced);
            }
            if is_conditional_change(self.line, list, has_other_way) {
                self.within.push(SOMEWHERE.into());
            }
        }
    }

    /// Reads one command; `counts` is whether the line needs it to work.
    fn read_one(&mut self, command: &Command, counts: bool) {
        let text = self.line.get(command.span.clone()).unwrap_or_default();
        let words = words_of(self.line, command);
        match (command.kind, words.as_slice()) {
            (Kind::Group | Kind::Subshell, _) if text.starts_with(['{', '(']) => {
                let within = self.within.clone();
                self.read(&command.body);
                if command.kind == Kind::Subshell {
                    self.within = within;
                }
            }
            (Kind::Simple, [name, rest @ ..]) if name == "cd" => self.within.push(match rest {
                [] => "~".into(),
                [directory, ..] if directory.starts_with('-') => SOMEWHERE.into(),
                [directory, ..] => directory.clone(),
            }),
            (Kind::Simple, words) => {
                for script in scripts_of(words) {
                    self.found.push(Script {
                        within: [self.within.clone(), script.within].concat(),
                        is_needed: script.is_needed && counts,
                        may_be_made: self.may_have_made || script.may_be_made,
                        ..script
                    });
                }
                let makes_nothing = |name: &String| MAKES_NOTHING.contains(&name.as_str());
                self.may_have_made |= !words.first().is_none_or(makes_nothing);
            }
            _ => {
                self.may_have_made = true;
                if text.contains("cd ") {
                    self.within.push(SOMEWHERE.into());
                }
            }
        }
    }
}

/// Whether what a command says about its failure goes nowhere.
fn hides_errors(command: &Command) -> bool {
    let mut redirects = command.redirects.iter();
    let mut targets = command.redirects.iter().map(|redirect| redirect.target.literal());
    targets.any(|target| target == Some("/dev/null"))
        && redirects.any(|redirect| redirect.descriptor.as_deref() == Some("2"))
}

/// The words of a simple command, as far as no shell is needed to know them.
fn words_of(line: &str, command: &Command) -> Vec<String> {
    let words = command.words.iter();
    let words = words.filter_map(|word| line.get(word.span.clone()));
    words
        .flat_map(|word| plain_words(word).into_iter().take(1))
        .collect()
}

/// Whether commands after this list stand in another directory only if one of its commands has succeeded or failed.
fn is_conditional_change(line: &str, list: &[Command], has_other_way: bool) -> bool {
    let changes = |command: &Command| words_of(line, command).first().is_some_and(|name| name == "cd");
    let count = list.iter().filter(|command| changes(command)).count();
    let first = list.iter().take_while(|command| changes(command)).count();
    count > first || (has_other_way && count > 1)
}

/// The files that a program with its arguments runs as scripts, where that is obvious.
pub(super) fn scripts_of(words: &[String]) -> Vec<Script> {
    let file_name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let Some((program, rest)) = words.split_first() else {
        return Vec::new();
    };
    let arguments: Vec<&str> = rest.iter().map(String::as_str).collect();
    if let Some(start) = command_start(&file_name(program), &arguments) {
        return scripts_of(&rest[start..]);
    }
    let name = file_name(program);
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let one = |word: &str, is_needed| {
        vec![Script {
            word: word.to_owned(),
            within: Vec::new(),
            is_needed,
            may_be_made: false,
        }]
    };
    if let Some((rest, follows_option)) = run_by(name, rest) {
        let mut scripts = scripts_of(rest);
        let is_sure = |script: &Script| !follows_option || has_ending(&script.word);
        scripts
            .iter_mut()
            .for_each(|script| script.is_needed &= is_sure(script));
        return scripts;
    }
    let mut words = rest.iter();
    if !INTERPRETERS.contains(&name) {
        return match program.contains('/') {
            true => one(program, true),
            false => Vec::new(),
        };
    }
    let mut follows_option = false;
    while let Some(word) = words.next() {
        let is_option = word.len() > 1 && word.starts_with(['-', '+']);
        match word.as_str() {
            "run" if matches!(name, "bun" | "deno") => {}
            option if WITH_VALUES.contains(&option) => drop(words.next()),
            _ if !is_option => return one(word, is_path(name, word, follows_option)),
            option if !option.starts_with("--") && option.ends_with('c') && name.ends_with("sh") => {
                return words.next().map_or_else(Vec::new, |line| scripts_of_line(line));
            }
            option if has_code(name, option) => return Vec::new(),
            _ => follows_option = true,
        }
    }
    Vec::new()
}

/// What a runner runs, and whether it follows an option of the runner, whose value it may be.
fn run_by<'a>(name: &str, rest: &'a [String]) -> Option<(&'a [String], bool)> {
    let (_, verbs) = RUNNERS.iter().find(|(runner, _)| *runner == name)?;
    let after = match rest {
        rest if verbs.is_empty() => rest,
        [verb, rest @ ..] if verbs.contains(&verb.as_str()) => rest,
        _ => return None,
    };
    let options = after.iter().take_while(|word| word.starts_with('-')).count();
    Some((&after[options..], options > 0))
}

/// Whether a word ends as scripts do.
fn has_ending(word: &str) -> bool {
    let ending = Path::new(word).extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Whether a word after an interpreter is surely the path of a script, and no name or address that the interpreter
/// looks for elsewhere.
fn is_path(interpreter: &str, word: &str, follows_option: bool) -> bool {
    let has_ending = has_ending(word);
    let has_folder = word.contains('/');
    let is_sure = match interpreter {
        "node" | "bun" | "deno" => has_ending,
        shell if shell.ends_with("sh") => has_folder,
        _ => has_ending || has_folder,
    };
    is_sure && !word.contains(':') && (has_ending || !follows_option)
}

/// Whether no script follows an option of an interpreter, but code or nothing at all.
fn has_code(name: &str, option: &str) -> bool {
    let Some(letters) = option.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return matches!(option, "--eval" | "--print");
    };
    let of_name = WITH_CODE.iter().find(|(interpreter, _)| *interpreter == name);
    match of_name {
        Some((_, with_code)) => letters.contains(*with_code),
        None => letters.contains('s'),
    }
}

/// The path that a word means, with `~` or one variable at its beginning replaced from the environment.
pub(super) fn expanded(
    word: &str,
    value_of: impl Fn(&str) -> Option<OsString>,
    directory: &Path,
) -> Option<PathBuf> {
    let (first, rest) = word.split_once('/').unwrap_or((word, ""));
    let variable = match first.strip_prefix('$') {
        _ if first == "~" => Some("HOME"),
        Some(name) => Some(name.trim_start_matches('{').trim_end_matches('}')),
        None => None,
    };
    let path = match variable {
        Some(name) => PathBuf::from(value_of(name)?).join(rest),
        None => PathBuf::from(word),
    };
    // Collecting the components removes a `./` from the middle.
    let whole = || directory.join(path).components().collect();
    let is_literal = !first.starts_with('~') || first == "~";
    (is_literal && !first.contains('\\') && !rest.contains(['$', '`', '*', '?', '[', '{', '\\'])).then(whole)
}

/// The words of a line that is one command without anything that a shell would do but start it: plain letters, and
/// quotes. In double quotes, variables are replaced. `None` if there is anything else, or a variable without a value.
pub(super) fn words_of_line(
    line: &str,
    value_of: impl Fn(&str) -> Option<OsString>,
) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut word: Option<OsString> = None;
    let mut rest = line.trim_matches([' ', '\t', '\n']);
    while let Some(letter) = rest.chars().next() {
        let (piece, after) = rest.split_at(letter.len_utf8());
        rest = after;
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let (quoted, after) = rest.split_once('\'')?;
                word.get_or_insert_default().push(quoted);
                rest = after;
            }
            '"' => {
                let (quoted, after) = rest.split_once('"')?;
                push_expanded(word.get_or_insert_default(), quoted, &value_of)?;
                rest = after;
            }
            _ if letter.is_alphanumeric() || "/._-+".contains(letter) => {
                word.get_or_insert_default().push(piece);
            }
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

/// Adds what is in double quotes to a word, with the values of its variables.
fn push_expanded(
    word: &mut OsString,
    quoted: &str,
    value_of: &impl Fn(&str) -> Option<OsString>,
) -> Option<()> {
    let mut pieces = quoted.split('$');
    let plain = |piece: &str| !piece.contains(['\\', '`', '!']);
    word.push(pieces.next().filter(|piece| plain(piece))?);
    for piece in pieces {
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let (name, rest) = match piece.strip_prefix('{') {
            Some(braced) => braced.split_once('}')?,
            None => piece.split_at(piece.find(|letter| !is_of_name(letter)).unwrap_or(piece.len())),
        };
        let is_plain = name.chars().all(is_of_name) && plain(rest);
        word.push(value_of(name).filter(|_| is_plain && !is_of_shell(name))?);
        word.push(rest);
    }
    Some(())
}

/// Whether a shell may give a variable another value than the environment does. The names of its own have no `_`, or a
/// known beginning.
fn is_of_shell(name: &str) -> bool {
    let beginnings = ["BASH", "COMP_", "READLINE_", "_"];
    name != "HOME" && (!name.contains('_') || beginnings.iter().any(|beginning| name.starts_with(beginning)))
}

/// Whether a file exists and is empty, or empty after a first line that names an interpreter.
pub(super) fn is_blank(file: &Path) -> bool {
    let is_small = std::fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() < MOST_BLANK);
    let text = is_small.then(|| std::fs::read(file).ok()).flatten();
    text.is_some_and(|text| {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let rest = match first.starts_with(b"#!") {
            true => &text[first.len()..],
            false => &text[..],
        };
        rest.trim_ascii().is_empty()
    })
}

/// How to start a script whose shell needs options for a plain `echo`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScriptShell {
    pub(super) path: PathBuf,
    pub(super) options: &'static [&'static str],
    /// The arguments after the shell in the first line of the script.
    pub(super) arguments: Option<String>,
}

/// The shell that the first line of a script names, if it needs options; `interpreter` is that line.
pub(super) fn shell_of(
    script: &Path,
    interpreter: &str,
    environment: &BTreeMap<OsString, OsString>,
) -> Option<ScriptShell> {
    // A file that the system would not start is left to it, so that its own error is reported.
    access(script, Access::EXEC_OK).ok()?;
    let blank = [' ', '\t'];
    let split = |line: &str| match line.split_once(blank) {
        Some((program, rest)) => (program.to_owned(), Some(rest.trim_matches(blank).to_owned())),
        None => (line.to_owned(), None),
    };
    let (mut program, mut arguments) = split(interpreter);
    if program.ends_with("/env") {
        let rest = arguments.unwrap_or_default();
        let rest = rest.strip_prefix("-S").unwrap_or(&rest).trim_matches(blank);
        (program, arguments) = split(rest);
        let found = find_program(OsStr::new(&program), environment).ok()?;
        program = found.to_str()?.to_owned();
    }
    let path = PathBuf::from(program);
    let options = shell::options(&path);
    let is_there = path.is_absolute() && access(&path, Access::EXEC_OK).is_ok();
    (is_there && !options.is_empty()).then_some(ScriptShell {
        path,
        options,
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // tidy: a table
    #[test]
    fn the_scripts_of_a_line_are_found_where_they_are_plain() {
        let table: [(&str, &[(&str, bool)]); 44] = [
            ("./guard.sh", &[("./guard.sh", true)]),
            ("bash ./guard.sh --strict", &[("./guard.sh", true)]),
            ("bash guard.sh", &[("guard.sh", false)]),
            ("node ./guard", &[("./guard", false)]),
            ("bash -eu -o pipefail ./guard.sh", &[("./guard.sh", true)]),
            ("python3.12 -u \"my guard.py\" x", &[("my guard.py", true)]),
            ("/usr/bin/env DEBUG=/x node guard.mjs", &[("guard.mjs", true)]),
            ("env DEBUG=1 node guard.mjs", &[("guard.mjs", true)]),
            ("DEBUG=1 timeout 5 node guard.mjs", &[("guard.mjs", true)]),
            ("exec ~/guard.sh || exit 2", &[("~/guard.sh", false)]),
            ("sh -c './guard.sh'", &[("./guard.sh", true)]),
            ("bash -lc 'node guard.js 2>/dev/null'", &[("guard.js", true)]),
            ("deno run -A guard.ts", &[("guard.ts", true)]),
            ("deno run jsr:@guards/all.ts", &[("jsr:@guards/all.ts", false)]),
            ("bun run lint", &[("lint", false)]),
            ("npx -y tsx ~/guard.ts", &[("~/guard.ts", true)]),
            ("npx prettier src/x.ts", &[]),
            ("uv run \"$D\"/guard.py", &[("$D/guard.py", true)]),
            ("uv run --quiet --script lib/guard.py", &[("lib/guard.py", true)]),
            ("uv run --project /opt/it guard", &[("/opt/it", false)]),
            ("uv run python lib/guard.py", &[("lib/guard.py", true)]),
            ("uv pip install ./x", &[]),
            ("perl -I lib/all guard", &[("lib/all", false)]),
            ("cat | node guard.js", &[("guard.js", true)]),
            (
                "IN=$(cat); echo \"$IN\" | \"$D\"/guard.sh",
                &[("$D/guard.sh", true)],
            ),
            (
                "command -v node >/dev/null || exit 0; node guard.js",
                &[("guard.js", true)],
            ),
            ("{ node a.js; } && (./b.sh)", &[("a.js", true), ("./b.sh", true)]),
            ("node a.js || true; node b.js", &[("a.js", false), ("b.js", true)]),
            (
                "/opt/notify x 2>/dev/null; ./guard.sh",
                &[("/opt/notify", false), ("./guard.sh", true)],
            ),
            ("[ -f guard.js ] && node guard.js", &[("guard.js", false)]),
            (
                "test -x ./guard.sh || exit 0\n./guard.sh",
                &[("./guard.sh", false)],
            ),
            ("if [ -n \"$CI\" ]; then ./ci.sh; fi", &[]),
            ("check() { ./guard.sh; }", &[]),
            ("for f in *.sh; do bash ./x/$f; done", &[]),
            ("echo hi # ./guard.sh", &[]),
            ("python3 -m guard", &[]),
            ("python3 -uc 'print(1/2)'", &[]),
            ("node -e 'process.exit(2)'", &[]),
            ("perl -ne 'exit 2 if m/rm/'", &[]),
            ("bash -s x/y", &[]),
            ("jq -e .tool", &[]),
            ("cat guard.sh", &[]),
            ("echo 'node guard.js'", &[]),
            ("", &[]),
        ];
        for (line, wanted) in table {
            let found = scripts_of_line(line);
            let found: Vec<(&str, bool)> = found
                .iter()
                .map(|script| (&*script.word, script.is_needed))
                .collect();
            assert_eq!(found, wanted, "{line}");
        }
    }

    #[test]
    fn a_script_is_looked_for_where_the_line_has_gone() {
        let within = |line: &str| scripts_of_line(line).remove(0).within;
        assert_eq!(within("cd \"$D\" && cd hooks && ./guard.sh"), ["$D", "hooks"]);
        assert!(within("(cd hooks && true); ./guard.sh").is_empty());
        assert_eq!(within("cd hooks || exit 1; ./guard.sh"), ["hooks"]);
        assert_eq!(
            within("[ -d hooks ] && cd hooks; ./guard.sh"),
            ["hooks", SOMEWHERE]
        );
        assert_eq!(within("cd a || cd b; ./guard.sh"), ["a", "b", SOMEWHERE]);
        assert_eq!(within("if [ -d a ]; then cd a; fi; ./guard.sh"), [SOMEWHERE]);
        assert_eq!(within("{ cd a; }; ./guard.sh"), ["a"]);
    }

    #[test]
    fn a_script_that_the_line_could_make_is_looked_for_afterwards() {
        for (line, wanted) in [
            ("./build.sh && ./out/guard", vec![false, true]),
            ("make -s; node dist/guard.js", vec![true]),
            ("cat | node guard.js", vec![false]),
            ("IN=$(cat); echo \"$IN\" | ./guard.sh", vec![false]),
            ("if true; then make; fi; ./guard.sh", vec![true]),
        ] {
            let found = scripts_of_line(line);
            let found: Vec<bool> = found.iter().map(|script| script.may_be_made).collect();
            assert_eq!(found, wanted, "{line}");
        }
    }

    #[test]
    fn only_a_line_that_a_shell_would_just_start_has_its_words_told() {
        let values = |name: &str| match name {
            "PROJECT_DIR" => Some(OsString::from("/a b/c*")),
            "HOME" => Some("/home/me".into()),
            "RANDOM" | "BASH_COMMAND" => Some("/x".into()),
            _ => None,
        };
        let table: [(&str, Option<&[&str]>); 22] = [
            ("./guard.sh", Some(&["./guard.sh"])),
            (
                " ./guard.sh  --strict\t-v\n",
                Some(&["./guard.sh", "--strict", "-v"]),
            ),
            ("'/a b/it''s' ''", Some(&["/a b/its", ""])),
            (
                "\"$PROJECT_DIR\"/hooks/guard.sh",
                Some(&["/a b/c*/hooks/guard.sh"]),
            ),
            (
                "\"$PROJECT_DIR/.hooks/${HOME}x\"",
                Some(&["/a b/c*/.hooks//home/mex"]),
            ),
            ("\"/a; rm b\"", Some(&["/a; rm b"])),
            ("$PROJECT_DIR/guard.sh", None),
            ("\"$UNKNOWN/guard.sh\"", None),
            ("\"$RANDOM/x\"", None),
            ("\"${BASH_COMMAND}/x\"", None),
            ("\"${HOME:-/x}/y\"", None),
            ("\"$(pwd)/x\"", None),
            ("\"`pwd`/x\"", None),
            ("\"a\\\"b\"", None),
            ("\"$1\"", None),
            ("~/guard.sh", None),
            ("./guard.sh; true", None),
            ("./guard.sh | tee x", None),
            ("A=1 ./guard.sh", None),
            ("./guard.sh *", None),
            ("./guard.sh # why", None),
            ("'./guard.sh", None),
        ];
        for (line, wanted) in table {
            let words = words_of_line(line, values);
            let words: Option<Vec<&str>> = words
                .as_ref()
                .map(|words| words.iter().map(|word| word.to_str().unwrap()).collect());
            assert_eq!(words.as_deref(), wanted, "{line}");
        }
    }

    #[test]
    fn a_script_without_a_command_is_blank() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("guard");
        for (text, blank) in [
            ("", true),
            (" \n\t\n", true),
            ("#!/bin/sh\n", true),
            ("#!/bin/sh\nexit 2", false),
            ("exit 2", false),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(is_blank(&file), blank, "{text:?}");
        }
        assert!(!is_blank(&folder.path().join("gone")));
    }
}
