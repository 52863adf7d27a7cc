//! Shells for the lines of hooks: which shell runs them, and how it is started.
//!
//! A guard says `echo "$CMD" | grep …`. The `echo` of dash expands `\n` and stops at `\c`, so that grep never sees the
//! rest; that of bash prints what it is given. So bash runs every line that names no shell, under the name `sh`, and
//! shells that have an option for it are started with a plain `echo`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::environment::find_program;

/// The shell of lines that name none.
const DEFAULT: &str = "/bin/sh";

/// Options for an `echo` that leaves backslashes alone, by the name of the shell's own file. Other shells need none, or
/// have none.
const PLAIN_ECHO: &[(&str, &[&str])] = &[
    (BASH, &["+O", "xpg_echo"]),
    ("zsh", &["-o", "bsd_echo"]),
    // The option `posix` alone would also turn brace expansion off.
    ("mksh", &["-o", "posix", "-o", "braceexpand"]),
];

const BASH: &str = "bash";

/// A shell and the words before `-c`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shell {
    pub(super) path: PathBuf,
    /// The name under which the shell is started instead of its path.
    pub(super) name: Option<&'static str>,
    pub(super) options: &'static [&'static str],
}

impl Shell {
    /// The shell for lines that name none: bash as `sh` if there is one, else the system's `sh`.
    pub(super) fn unnamed(environment: &BTreeMap<OsString, OsString>) -> Self {
        let default = Path::new(DEFAULT);
        if real_name(default) == BASH {
            return Self::named(default);
        }
        match find_program(OsStr::new(BASH), environment) {
            Ok(bash) => Self {
                name: Some("sh"),
                ..Self::named(&bash)
            },
            Err(_) => Self::named(default),
        }
    }

    /// The shell with this path.
    pub(super) fn named(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            name: None,
            options: plain_echo(path, PLAIN_ECHO),
        }
    }
}

/// Options for a program that may be a shell, before its arguments. bash gets none: its long options must come first.
pub(super) fn options(program: &Path) -> &'static [&'static str] {
    plain_echo(program, &PLAIN_ECHO[1..])
}

/// The working directory as a shell tells it to what it starts: by the name that it was given, if that is right.
pub(super) fn directory_told(environment: &BTreeMap<OsString, OsString>, directory: &Path) -> PathBuf {
    let identity = |path: &Path| std::fs::metadata(path).map(|data| (data.dev(), data.ino())).ok();
    let given = environment.get(OsStr::new("PWD")).map(PathBuf::from);
    let is_right = |given: &PathBuf| given.is_absolute() && identity(given) == identity(directory);
    match given.filter(is_right) {
        Some(given) => given,
        None => directory.canonicalize().unwrap_or_else(|_| directory.to_owned()),
    }
}

fn plain_echo(shell: &Path, table: &[(&str, &'static [&'static str])]) -> &'static [&'static str] {
    let name = real_name(shell);
    let row = table.iter().find(|(shell, _)| *shell == name);
    row.map_or(&[], |(_, options)| options)
}

/// The name of the file behind links, without a version: `sh` and `ksh` are names of many shells.
fn real_name(shell: &Path) -> String {
    let file = shell.canonicalize().unwrap_or_else(|_| shell.to_owned());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_version = |letter: char| letter.is_ascii_digit() || ".-".contains(letter);
    name.trim_end_matches(is_version).to_owned()
}
