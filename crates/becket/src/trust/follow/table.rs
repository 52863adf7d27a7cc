//! What words mean to a follower: commands of the shell, and variables that decide which code is found. Whatever stands
//! in no table is a program that may run the scripts it is given.

use super::Language;
use crate::shell_grammar::WRAPPERS;

/// What a command does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It sets variables.
    Sets,
    /// It changes the directory to its argument.
    Goes,
    /// It changes the directory to one that was before.
    Returns,
    /// It reads a file into this shell.
    Sources,
    /// All its arguments are a line for the shell.
    Line,
    /// Its first argument is a line for the shell.
    FirstIsLine,
    /// A line for the shell stands behind `-c`, or else a command behind its first argument.
    LineBehindOption,
    /// Behind its options stands a command.
    Wraps,
    /// The same, and it adds words that it reads.
    Feeds,
    /// Commands stand behind some of its options, up to a `;` or a `+`.
    WrapsBehind(&'static [&'static str]),
    /// It runs all programs of a folder.
    RunsFolder,
    /// It takes its orders from files of the project that it finds by itself.
    FindsOrders,
    /// It runs nothing that it is given.
    Looks,
    /// A word of the grammar; what stands behind it is no command.
    Grammar,
    /// It runs the file that it is given.
    Interprets(Language),
    /// The same, but its first argument is the program itself.
    InterpretsArgument,
}

/// Commands by their names; those of interpreters are without a version.
const COMMANDS: &[(Meaning, &[&str])] = &[
    (
        Meaning::Sets,
        &["export", "readonly", "local", "declare", "typeset"],
    ),
    (Meaning::Goes, &["cd", "pushd"]),
    (Meaning::Returns, &["popd"]),
    (Meaning::Sources, &[".", "source"]),
    (Meaning::Line, &["eval", "watch"]),
    (Meaning::FirstIsLine, &["trap"]),
    (Meaning::LineBehindOption, &["flock", "script", "su", "runuser"]),
    (Meaning::Feeds, &["xargs", "parallel"]),
    (Meaning::Wraps, WRAPPERS),
    (
        Meaning::Wraps,
        &["busybox", "chronic", "strace", "time", "unbuffer", "unshare"],
    ),
    (
        Meaning::WrapsBehind(&[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-x",
            "-X",
            "--exec",
            "--exec-batch",
        ]),
        &["find", "fd", "fdfind"],
    ),
    (Meaning::RunsFolder, &["run-parts"]),
    (
        Meaning::FindsOrders,
        &[
            "ant",
            "bazel",
            "bundle",
            "cargo",
            "cmake",
            "composer",
            "docker",
            "dotnet",
            "eslint",
            "gmake",
            "go",
            "gradle",
            "hatch",
            "jest",
            "just",
            "make",
            "mise",
            "mvn",
            "ninja",
            "nix",
            "nox",
            "npm",
            "npx",
            "pipenv",
            "pnpm",
            "pnpx",
            "poetry",
            "pre-commit",
            "prettier",
            "pytest",
            "rake",
            "task",
            "tox",
            "vitest",
            "yarn",
        ],
    ),
    (
        Meaning::Looks,
        &[
            "[",
            "[[",
            "basename",
            "cat",
            "chmod",
            "cmp",
            "cp",
            "cut",
            "diff",
            "dirname",
            "echo",
            "git",
            "grep",
            "head",
            "ln",
            "ls",
            "mkdir",
            "mv",
            "printf",
            "readlink",
            "realpath",
            "rm",
            "sha256sum",
            "sort",
            "stat",
            "tail",
            "tee",
            "test",
            "touch",
            "tr",
            "wc",
        ],
    ),
    (
        Meaning::Grammar,
        &[
            "for", "case", "select", "function", "in", "fi", "done", "esac", "}",
        ],
    ),
    (
        Meaning::Interprets(Language::Shell),
        &["sh", "bash", "dash", "ash", "zsh", "ksh", "fish"],
    ),
    (Meaning::Interprets(Language::Python), &["python", "pypy", "uv"]),
    (
        Meaning::Interprets(Language::JavaScript),
        &["node", "nodejs", "bun", "deno", "tsx", "ts-node"],
    ),
    (
        Meaning::Interprets(Language::Scheme),
        &["chibi-scheme", "guile", "csi", "gosh", "scheme", "chez", "racket"],
    ),
    (Meaning::InterpretsArgument, &["awk", "gawk", "mawk", "jq", "sed"]),
    (
        Meaning::Interprets(Language::Other),
        &[
            "ruby", "perl", "php", "lua", "luajit", "tclsh", "Rscript", "julia",
        ],
    ),
];

/// What a command means; `None` for a program that nobody here knows.
pub fn meaning(name: &str) -> Option<Meaning> {
    let plain = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let is_called = |name: &str| COMMANDS.iter().find(|(_, names)| names.contains(&name));
    let found = is_called(name).or_else(|| is_called(plain))?;
    Some(found.0)
}

/// What a variable holds that decides which code is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Files or folders, one or a list.
    Paths,
    /// A folder in which programs look for settings of the person's.
    Home,
    /// Options or commands.
    Orders,
}

const VARIABLES: &[(Holds, &[&str])] = &[
    (
        Holds::Paths,
        &[
            "PATH",
            "BASH_ENV",
            "ENV",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "NODE_PATH",
            "PERL5LIB",
            "RUBYLIB",
            "LUA_PATH",
            "LD_LIBRARY_PATH",
            "LD_PRELOAD",
            "LD_AUDIT",
        ],
    ),
    (
        Holds::Home,
        &[
            "HOME",
            "XDG_CONFIG_HOME",
            "ZDOTDIR",
            "PYTHONUSERBASE",
            "GIT_CONFIG_GLOBAL",
        ],
    ),
    (
        Holds::Orders,
        &[
            "NODE_OPTIONS",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "PROMPT_COMMAND",
            "PS4",
        ],
    ),
];

/// What a variable decides, if it decides something.
pub fn holds(variable: &str) -> Option<Holds> {
    let found = VARIABLES.iter().find(|(_, names)| names.contains(&variable))?;
    Some(found.0)
}
