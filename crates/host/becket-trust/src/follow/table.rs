//! What words mean to a follower: commands of the shell, and variables that decide which code is found. Whatever stands
//! in no table is a program that may run the scripts it is given.

use std::path::Path;

use becket_shell::is_wrapper;

use super::language::Language;

/// What a command does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It sets variables.
    Sets,
    /// It gives variables values that nobody knows.
    Unsets,
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
    /// The values of what it sets are lines for the shell.
    ValuesAreLines,
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
    /// It says whether there are such programs.
    Probes,
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

/// What a command means; `None` for a program that nobody here knows.
pub fn meaning(name: &str) -> Option<Meaning> {
    let plain = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let is_called = |name: &str| COMMANDS.iter().find(|(_, names)| names.contains(&name));
    match is_called(name).or_else(|| is_called(plain)) {
        Some((meaning, _)) => Some(*meaning),
        None => is_wrapper(name).then_some(Meaning::Wraps),
    }
}

impl Language {
    /// By the name of the program that runs it.
    pub fn of_program(name: &str) -> Option<Self> {
        match meaning(name.rsplit('/').next().unwrap_or(name))? {
            Meaning::Interprets(language) => Some(language),
            Meaning::InterpretsArgument => Some(Self::Other),
            _ => None,
        }
    }

    /// By the first line and the name of a file. `None` for what is no script.
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

/// What a command reads besides its arguments, because an option says so.
pub struct Reader {
    commands: &'static [&'static str],
    /// Letters of options with some other value: what stands behind one of them in the same word is that value.
    valued: &'static str,
    options: &'static [FileOption],
}

/// An option behind which a file stands that decides what a command does.
pub struct FileOption {
    names: &'static [&'static str],
    /// How many other words stand between the option and the file.
    pub words_before: usize,
    /// Whether the file is a program, and not patterns, values or names.
    pub is_program: bool,
    /// Whether it says where the command finds its orders, which nobody follows.
    pub is_open: bool,
}

/// Where the file of an option stands.
pub enum FileAt {
    /// In a word behind the option.
    Behind,
    /// In the same word, from that byte on.
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
    /// Which of its options a word is, and where the file stands.
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
        // Short options stand together in a word: `-qFf FILE`, `-qFfFILE`.
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

/// What a command reads because of its options, if it is known to read something.
pub fn reads(name: &str) -> Option<&'static Reader> {
    READERS.iter().find(|reader| reader.commands.contains(&name))
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
