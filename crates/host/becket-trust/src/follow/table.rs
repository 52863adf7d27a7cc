//! The meaning of words: commands of the shell, and variables that decide which code is found. Whatever is in no table
//! is a program that may run the scripts it is given.
//!
//! The tables are allowed to be wrong: a path that was understood wrongly is replaced by one of the copy, where nothing
//! lies.

use std::path::Path;

use becket_shell::is_wrapper;

use super::language::Language;

/// What a command does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Sets variables.
    Sets,
    /// Gives variables unknown values.
    Unsets,
    /// Changes the directory to the argument.
    Goes,
    /// Changes the directory to an earlier one.
    Returns,
    /// Reads a file into this shell.
    Sources,
    /// All arguments are a line for the shell.
    Line,
    /// The first argument is a line for the shell.
    FirstIsLine,
    /// The values that are set are lines for the shell.
    ValuesAreLines,
    /// A line for the shell follows `-c`, or else a command follows the first argument.
    LineBehindOption,
    /// A command follows the options.
    Wraps,
    /// A command follows the options, and words that are read are added to it.
    Feeds,
    /// Commands follow some of the options, up to a `;` or a `+`.
    WrapsBehind(&'static [&'static str]),
    /// Runs all programs of a folder.
    RunsFolder,
    /// Reads its instructions from files of the project that it finds by itself.
    FindsOrders,
    /// Runs nothing that it is given.
    Looks,
    /// Says whether programs exist.
    Probes,
    /// Runs the file that it is given.
    Interprets(Language),
    /// Runs its first argument, which is the program itself.
    InterpretsArgument,
}

/// Commands by their names; those of interpreters are without a version.
const COMMANDS: &[(Meaning, &[&str])] = &[
    (
        Meaning::Sets,
        &["export", "readonly", "local", "declare", "typeset"],
    ),
    (
        Meaning::Unsets,
        &["getopts", "mapfile", "read", "readarray", "unset"],
    ),
    (Meaning::Goes, &["cd", "pushd"]),
    (Meaning::Returns, &["popd"]),
    (Meaning::Sources, &[".", "source"]),
    (Meaning::Line, &["eval", "watch"]),
    (Meaning::FirstIsLine, &["trap"]),
    (Meaning::ValuesAreLines, &["alias"]),
    (Meaning::LineBehindOption, &["flock", "script", "su", "runuser"]),
    (Meaning::Feeds, &["xargs", "parallel"]),
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
    (Meaning::Probes, &["hash", "type", "which"]),
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
    (
        Meaning::InterpretsArgument,
        &[
            "awk", "gawk", "mawk", "nawk", "jq", "jaq", "gojq", "yq", "sed", "gsed",
        ],
    ),
    (
        Meaning::Interprets(Language::Other),
        &[
            "ruby", "perl", "php", "lua", "luajit", "tclsh", "Rscript", "julia",
        ],
    ),
];

/// The meaning of a command; `None` for an unknown program.
pub fn meaning(name: &str) -> Option<Meaning> {
    let plain = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let is_called = |name: &str| COMMANDS.iter().find(|(_, names)| names.contains(&name));
    match is_called(name).or_else(|| is_called(plain)) {
        Some((meaning, _)) => Some(*meaning),
        None => is_wrapper(name).then_some(Meaning::Wraps),
    }
}

impl Language {
    /// The language of a program, by the program's name.
    pub fn of_program(name: &str) -> Option<Self> {
        match meaning(name.rsplit('/').next().unwrap_or(name))? {
            Meaning::Interprets(language) => Some(language),
            Meaning::InterpretsArgument => Some(Self::Other),
            _ => None,
        }
    }

    /// The language of a file, by its first line and its name. `None` if it is not a script.
    pub fn of_file(file: &Path, text: &str) -> Option<Self> {
        if let Some(first) = text.strip_prefix("#!") {
            let words = first.lines().next().unwrap_or_default().split_whitespace();
            let mut programs = words.filter(|word| !word.starts_with('-') && !word.contains('='));
            let program = programs.find(|word| word.rsplit('/').next() != Some("env"));
            return Some(program.and_then(Self::of_program).unwrap_or(Self::Other));
        }
        let ending = file.extension().and_then(|ending| ending.to_str());
        Some(match ending? {
            "sh" | "bash" | "zsh" | "ksh" => Self::Shell,
            "py" => Self::Python,
            "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => Self::JavaScript,
            "scm" | "ss" | "sld" | "sls" => Self::Scheme,
            "rb" | "pl" | "pm" | "lua" | "php" | "awk" | "fish" | "tcl" | "mk" => Self::Other,
            _ => return None,
        })
    }
}

/// A command that reads more than its arguments, because of options.
pub struct Reader {
    commands: &'static [&'static str],
    /// Letters of options with another value: the rest of the word after one of them is that value.
    valued: &'static str,
    options: &'static [FileOption],
}

/// An option that takes a file which decides what a command does.
pub struct FileOption {
    names: &'static [&'static str],
    /// How many other words stand between the option and the file.
    pub words_before: usize,
    /// Whether the file is a program, and not patterns, values or names.
    pub is_program: bool,
    /// Whether the option says where the command finds its instructions, which are not followed.
    pub is_open: bool,
}

/// Where the file of an option stands.
pub enum FileAt {
    /// In a word after the option.
    Behind,
    /// In the same word, from this byte on.
    Here(usize),
}

const fn data(names: &'static [&'static str]) -> FileOption {
    FileOption {
        names,
        words_before: 0,
        is_program: false,
        is_open: false,
    }
}

const fn named_data(names: &'static [&'static str]) -> FileOption {
    FileOption {
        words_before: 1,
        ..data(names)
    }
}

const fn program(names: &'static [&'static str]) -> FileOption {
    FileOption {
        is_program: true,
        ..data(names)
    }
}

const fn orders(names: &'static [&'static str]) -> FileOption {
    FileOption {
        is_open: true,
        ..data(names)
    }
}

const fn reader(
    commands: &'static [&'static str],
    valued: &'static str,
    options: &'static [FileOption],
) -> Reader {
    Reader {
        commands,
        valued,
        options,
    }
}

/// Commands that read files because of an option.
const READERS: &[Reader] = &[
    reader(
        &["grep", "egrep", "fgrep", "zgrep", "ugrep"],
        "eABCmdD",
        &[data(&["-f", "--file", "--exclude-from"])],
    ),
    reader(
        &["rg", "ag"],
        "eABCmgtTEjMr",
        &[data(&["-f", "--file", "--ignore-file", "--path-to-ignore"])],
    ),
    reader(
        &["jq", "jaq", "gojq", "yq"],
        "",
        &[
            program(&["-f", "--from-file"]),
            data(&["-L", "--library-path"]),
            named_data(&["--slurpfile", "--rawfile", "--argfile"]),
        ],
    ),
    reader(
        &["awk", "gawk", "mawk", "nawk"],
        "FvW",
        &[program(&[
            "-f",
            "--file",
            "-i",
            "--include",
            "-l",
            "--load",
            "-E",
            "--exec",
        ])],
    ),
    reader(&["sed", "gsed"], "eil", &[program(&["-f", "--file"])]),
    reader(&["xargs"], "dEIiLlnPs", &[data(&["-a", "--arg-file"])]),
    reader(
        &["parallel"],
        "jnILN",
        &[data(&["-a", "--arg-file", "::::", "::::+"])],
    ),
    reader(&["find"], "", &[data(&["-files0-from"])]),
    reader(&["sort", "wc", "du"], "", &[data(&["--files0-from"])]),
    reader(
        &["tar", "bsdtar"],
        "fCbgHKLNV",
        &[data(&["-T", "--files-from", "-X", "--exclude-from"])],
    ),
    reader(
        &["rsync"],
        "",
        &[data(&["--files-from", "--exclude-from", "--include-from"])],
    ),
    reader(&["diff"], "", &[data(&["-X", "--exclude-from"])]),
    reader(&["date"], "", &[data(&["-f", "--file"])]),
    reader(&["patch"], "", &[data(&["-i", "--input"])]),
    reader(&["curl"], "", &[program(&["-K", "--config"])]),
    reader(
        &["wget"],
        "",
        &[data(&["-i", "--input-file"]), program(&["--config"])],
    ),
    reader(&["ssh", "scp", "sftp"], "", &[program(&["-F"])]),
    reader(&["psql"], "", &[program(&["-f", "--file"])]),
    reader(&["sqlite3"], "", &[program(&["-init"])]),
    reader(&["gdb"], "", &[program(&["-x", "--command", "-ix"])]),
    reader(&["vim", "vi", "nvim", "ex"], "", &[program(&["-S", "-s", "-u"])]),
    reader(&["enable"], "", &[program(&["-f"])]),
    reader(&["hash"], "", &[orders(&["-p"])]),
    reader(&["mapfile", "readarray"], "dnOsuc", &[orders(&["-C"])]),
    reader(
        &["git"],
        "",
        &[orders(&["--git-dir", "--exec-path", "--config-env", "-c"])],
    ),
];

impl Reader {
    /// Which of the command's options a word is, and where the file stands.
    pub fn option(&self, word: &str) -> Option<(&'static FileOption, FileAt)> {
        let options = self.options.iter();
        let mut names = options.flat_map(|option| option.names.iter().map(move |name| (option, *name)));
        names.find_map(|(option, name)| Some((option, self.matches(word, name)?)))
    }

    fn matches(&self, word: &str, name: &str) -> Option<FileAt> {
        let rest = match word.strip_prefix(name) {
            Some("") => return Some(FileAt::Behind),
            Some(rest) => rest,
            None => "",
        };
        if rest.starts_with('=') {
            return Some(FileAt::Here(name.len() + 1));
        }
        // Short options may be combined in a word: `-qFf FILE`, `-qFfFILE`.
        let letter = name.strip_prefix('-').filter(|letter| letter.len() == 1)?;
        let letters = word
            .strip_prefix('-')
            .filter(|letters| !letters.starts_with('-'))?;
        let place = letters.find(letter)?;
        let is_value = letters[..place].contains(|before| self.valued.contains(before));
        match letters.len() > place + 1 {
            _ if is_value => None,
            true => Some(FileAt::Here(place + 2)),
            false => Some(FileAt::Behind),
        }
    }
}

/// The options by which a command reads files, if it is known to have any.
pub fn reads(name: &str) -> Option<&'static Reader> {
    READERS.iter().find(|reader| reader.commands.contains(&name))
}

/// What a variable holds that decides which code is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Files or folders, one or a list.
    Paths,
    /// A folder in which programs look for the user's settings.
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

/// What a variable decides, if anything.
pub fn holds(variable: &str) -> Option<Holds> {
    let found = VARIABLES.iter().find(|(_, names)| names.contains(&variable))?;
    Some(found.0)
}
