//! The script behind a command: the file that an interpreter is given, or that names its interpreter in its first line.
//!
//! This is needed for two things. A guard whose script was emptied or removed is broken, and no shell says so: an
//! interpreter ends with 1 without its script, and some agents take that for no opinion. And shells whose
//! `echo` changes what it prints are started with a plain one, also if the script names them (`shell.rs`).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::environment::find_program;
use super::shell;
use crate::plain_words::plain_words;

/// Programs that run the file in their first argument.
const INTERPRETERS: &[&str] = &[
    "ash", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "mksh", "node", "perl", "php", "python",
    "ruby", "sh", "zsh",
];

/// Words in front of a command that run it.
const BEFORE_COMMANDS: &[&str] = &["command", "env", "exec"];

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

/// The largest file that is searched for something other than blanks.
const MOST_BLANK: u64 = 64 * 1024;

/// A script in a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// The path as it is written.
    pub(super) word: String,
    /// Whether the command cannot do its work without the script. What follows an option may be its value, a word
    /// without an ending something that the interpreter knows, and a line may say what to do without the script.
    pub(super) is_needed: bool,
}

/// The file that the first command of a line runs as a script; `None` if that is not obvious.
pub(super) fn script_of_line(line: &str) -> Option<Script> {
    let script = script_of(&plain_words(line))?;
    Some(Script {
        is_needed: script.is_needed && !line.contains("||"),
        ..script
    })
}

/// The file that a program with its arguments runs as a script; `None` if that is not obvious.
pub(super) fn script_of(words: &[String]) -> Option<Script> {
    let file_name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let is_setting = |word: &str| {
        let is_name = |name: &str| {
            name.chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        word.split_once('=').is_some_and(|(name, _)| is_name(name))
    };
    let is_before = |word: &&String| is_setting(word) || BEFORE_COMMANDS.contains(&file_name(word).as_str());
    let mut words = words.iter().skip_while(is_before);
    let program = words.next()?;
    let name = file_name(program);
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if !INTERPRETERS.contains(&name) {
        let script = || Script {
            word: program.clone(),
            is_needed: true,
        };
        return program.contains('/').then(script);
    }
    let mut follows_option = false;
    while let Some(word) = words.next() {
        let is_option = word.len() > 1 && word.starts_with(['-', '+']);
        match word.as_str() {
            "run" if matches!(name, "bun" | "deno") => {}
            option if WITH_VALUES.contains(&option) => drop(words.next()),
            _ if !is_option => {
                return Some(Script {
                    is_needed: is_path(name, word, follows_option),
                    word: word.clone(),
                });
            }
            option if !option.starts_with("--") && option.ends_with('c') && name.ends_with("sh") => {
                return script_of_line(words.next()?);
            }
            option if has_code(name, option) => return None,
            _ => follows_option = true,
        }
    }
    None
}

/// Whether a word after an interpreter is surely the path of a script, and no name or address that the interpreter
/// looks for elsewhere.
fn is_path(interpreter: &str, word: &str, follows_option: bool) -> bool {
    let ending = Path::new(word).extension().and_then(OsStr::to_str);
    let has_ending = ending.is_some_and(|ending| ENDINGS.contains(&ending));
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

    #[test]
    fn the_script_of_a_line_is_found_where_it_is_plain() {
        let table = [
            ("./guard.sh", Some(("./guard.sh", true))),
            ("bash ./guard.sh --strict", Some(("./guard.sh", true))),
            ("bash guard.sh", Some(("guard.sh", false))),
            ("node ./guard", Some(("./guard", false))),
            ("bash -eu -o pipefail ./guard.sh", Some(("./guard.sh", true))),
            ("python3.12 -u \"my guard.py\" x", Some(("my guard.py", true))),
            ("/usr/bin/env DEBUG=/x node guard.mjs", Some(("guard.mjs", true))),
            ("env DEBUG=1 node guard.mjs", Some(("guard.mjs", true))),
            ("exec ~/guard.sh || exit 2", Some(("~/guard.sh", false))),
            ("sh -c './guard.sh'", Some(("./guard.sh", true))),
            ("bash -lc 'node guard.js 2>/dev/null'", Some(("guard.js", true))),
            ("deno run -A guard.ts", Some(("guard.ts", true))),
            ("deno run jsr:@guards/all.ts", Some(("jsr:@guards/all.ts", false))),
            ("bun run lint", Some(("lint", false))),
            ("perl -I lib/all guard", Some(("lib/all", false))),
            ("python3 -m guard", None),
            ("python3 -uc 'print(1/2)'", None),
            ("node -e 'process.exit(2)'", None),
            ("perl -ne 'exit 2 if m/rm/'", None),
            ("bash -s x/y", None),
            ("jq -e .tool", None),
            ("cat guard.sh", None),
            ("", None),
        ];
        for (line, wanted) in table {
            let wanted = wanted.map(|(word, is_needed)| Script {
                word: word.to_owned(),
                is_needed,
            });
            assert_eq!(script_of_line(line), wanted, "{line}");
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
