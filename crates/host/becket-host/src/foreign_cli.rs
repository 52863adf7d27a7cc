//! The command lines of other agents' programs, which becket understands in their place: `becket NAME ARGS…`, or becket
//! called by that name.
//!
//! A host declares its program as a table of options, each with what becket does about it, and a function that says the
//! same in becket's own command lines. Help and the tables in the guides come from that table. An option that is
//! refused, or that the table does not have, ends the run before anything is done.

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::os::unix::ffi::OsStrExt;

/// The command line of another agent's program.
#[derive(Debug)]
pub struct ForeignCli {
    /// The program's name, which is becket's command for it.
    pub name: &'static str,
    /// Other names of the program.
    pub aliases: &'static [&'static str],
    /// What the command is for, in one line.
    pub about: &'static str,
    /// The version of the program that becket stands in for, if the program prints nothing else with `--version`.
    pub version: Option<&'static str>,
    /// The program's options.
    pub options: &'static [ForeignOption],
    /// Whether unknown long options are kept: the program's guests bring options of their own.
    pub keeps_unknown: bool,
    /// What is asked for, in becket's own command lines. The error says what cannot be done.
    pub translate: fn(&ForeignArgs) -> Result<AskedOf, String>,
}

/// becket's own command lines that do what was asked of another program.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OwnLines {
    /// The lines that come first. If one of them fails, no further line is run.
    pub before: Vec<OwnLine>,
    /// The lines that do what was asked, up to the first that fails.
    pub lines: Vec<OwnLine>,
    /// The lines that put things in order when `before` has succeeded, however `lines` ended.
    pub after: Vec<OwnLine>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl From<Vec<OwnLine>> for OwnLines {
    fn from(lines: Vec<OwnLine>) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }
}

impl OwnLines {
    /// All lines in their order.
    pub fn all(&self) -> impl Iterator<Item = &OwnLine> {
        self.before.iter().chain(&self.lines).chain(&self.after)
    }
}

/// One of becket's own command lines, by the roles of its words.
///
/// Only becket's own names become options and commands. A word that was given to the other program stands behind an
/// equals sign or behind `--`, so that it is never taken for anything but a value.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OwnLine {
    /// Options that stand before the command.
    pub options: Vec<OwnOption>,
    /// The command. Without one, the line asks its prompts or starts a chat, and no word that follows is read as a
    /// command.
    pub command: Vec<&'static str>,
    /// Options of the command itself.
    pub command_options: Vec<OwnOption>,
    /// Options that only guests know. A word after one of them is its value or, if it takes none, a prompt.
    pub guest_words: Vec<OsString>,
    /// The names and texts that the command is about, or the prompts.
    pub values: Vec<OsString>,
}

impl OwnLine {
    /// A line that consists of a command.
    pub fn command(words: &[&'static str]) -> Self {
        Self {
            command: words.to_vec(),
            ..Self::default()
        }
    }

    /// The same line with an option of its command.
    #[must_use]
    pub fn option(mut self, option: OwnOption) -> Self {
        self.command_options.push(option);
        self
    }

    /// The same line about these names and texts.
    #[must_use]
    pub fn about<T: Into<OsString>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        self.values.extend(values.into_iter().map(Into::into));
        self
    }

    /// The words of the line, without the program's name.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.options.iter().map(OwnOption::word).collect();
        words.extend(self.command.iter().map(OsString::from));
        words.extend(self.command_options.iter().map(OwnOption::word));
        words.extend_from_slice(&self.guest_words);
        if !self.values.is_empty() {
            words.push("--".into());
            words.extend_from_slice(&self.values);
        }
        words
    }
}

/// One of becket's own options, with its value bound to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnOption {
    name: &'static str,
    value: Option<OsString>,
}

impl OwnOption {
    /// An option without a value. The name is the long one, without hyphens.
    pub fn alone(name: &'static str) -> Self {
        Self { name, value: None }
    }

    /// An option with a value. The name is the long one, without hyphens.
    pub fn with(name: &'static str, value: impl AsRef<OsStr>) -> Self {
        Self {
            name,
            value: Some(value.as_ref().to_owned()),
        }
    }

    fn word(&self) -> OsString {
        let mut word = OsString::from(format!("--{}", self.name));
        if let Some(value) = &self.value {
            word.push("=");
            word.push(value);
        }
        word
    }
}

/// An option of another agent's program.
#[derive(Debug)]
pub struct ForeignOption {
    /// The names as they are written, such as `-c` and `--context`. The last one is the name for [`ForeignArgs`].
    pub names: &'static [&'static str],
    /// The values that follow.
    pub value: ForeignValue,
    /// What becket does about it.
    pub service: Service,
}

/// An option as a row of a table.
pub const fn foreign_option(
    names: &'static [&'static str],
    value: ForeignValue,
    service: Service,
) -> ForeignOption {
    ForeignOption {
        names,
        value,
        service,
    }
}

/// The name of a value that may be `false`, as if the option had not been given.
pub const BOOLEAN: &str = "BOOL";

/// The values of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignValue {
    /// No value.
    None,
    /// One value, under this name in the help.
    One(&'static str),
    /// Two values.
    Two(&'static str, &'static str),
    /// A value that may be missing: the next word, unless that is an option.
    Optional(&'static str),
    /// A value that may be missing and stands behind an equals sign.
    Attached(&'static str),
    /// No option but the words: the first of them and everything behind it, whatever that looks like.
    Rest,
}

/// What becket does about an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The same as the program does. The text says what that is.
    Served(&'static str),
    /// Something else than the program does. The text says what and why.
    Differs(&'static str),
    /// Nothing: the run ends. The text says why.
    Refused(&'static str),
}

/// A command line that was read by the table of its program.
#[derive(Debug, Default)]
pub struct ForeignArgs {
    given: Vec<(&'static str, Vec<OsString>)>,
    /// The first word of the command line, if it is no option.
    pub command: Option<OsString>,
    /// What is no option, in order.
    pub words: Vec<OsString>,
    /// Options that the table does not have, each with the word that may be its value.
    pub unknown: Vec<OsString>,
}

impl ForeignArgs {
    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// The value of an option that was given; the last one if there are several.
    pub fn value(&self, name: &'static str) -> Option<&OsStr> {
        self.all(name).last()?.first().map(OsString::as_os_str)
    }

    /// The values of an option, once for each time that it was given.
    pub fn all(&self, name: &'static str) -> impl DoubleEndedIterator<Item = &[OsString]> {
        let given = self.given.iter().filter(move |(given, _)| *given == name);
        given.map(|(_, values)| &**values)
    }
}

/// A command line, as far as the table of its program says what it means.
enum Parsed {
    Args(ForeignArgs),
    Help,
    Version,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum AskedOf {
    /// becket's own command lines.
    Runs(OwnLines),
    /// The help.
    Help,
    /// The version.
    Version,
}

impl ForeignCli {
    /// Reads a command line of the program and translates it.
    pub fn read(&'static self, words: impl IntoIterator<Item = OsString>) -> Result<AskedOf, String> {
        match self.parse(words.into_iter().collect())? {
            Parsed::Args(args) => (self.translate)(&args),
            Parsed::Help => Ok(AskedOf::Help),
            Parsed::Version => Ok(AskedOf::Version),
        }
    }

    /// Whether the program has this name.
    pub fn is_named(&self, name: &OsStr) -> bool {
        let mut names = std::iter::once(&self.name).chain(self.aliases);
        names.any(|own| OsStr::new(own) == name)
    }

    fn option(&self, name: &OsStr) -> Option<&'static ForeignOption> {
        let mut options = self.options.iter();
        options.find(|option| option.names.iter().any(|known| OsStr::new(known) == name))
    }

    /// Whether the first word ends the options.
    fn ends_with_words(&self) -> bool {
        self.options
            .iter()
            .any(|option| option.value == ForeignValue::Rest)
    }

    fn parse(&self, words: Vec<OsString>) -> Result<Parsed, String> {
        let mut args = ForeignArgs {
            command: words.first().filter(|word| !is_option(word)).cloned(),
            ..ForeignArgs::default()
        };
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                args.words.extend(words);
                break;
            }
            if !self.reads_as_option(&word) {
                args.words.push(word);
                if self.ends_with_words() {
                    args.words.extend(words);
                    break;
                }
                continue;
            }
            let Some((option, attached)) = self.option_of(&word, &mut args) else {
                match word.to_str() {
                    Some("-h" | "--help") => return Ok(Parsed::Help),
                    Some("-V" | "--version") => return Ok(Parsed::Version),
                    _ => {}
                }
                if !self.keeps_unknown || !is_long(&word) {
                    return Err(self.unknown(&word));
                }
                let has_value = word.as_bytes().contains(&b'=');
                args.unknown.push(word);
                let next = words.next_if(|next| !has_value && self.may_be_value(next));
                args.unknown.extend(next);
                continue;
            };
            let values = option
                .take(attached, &mut words)
                .map_err(|why| format!("{why}; try `{} --help`", self.name))?;
            if !option.is_turned_off(&values) {
                args.given.push((option.key(), values));
            }
        }
        let is_given = |option: &&ForeignOption| args.has(option.key());
        match self
            .options
            .iter()
            .filter(is_given)
            .find_map(ForeignOption::refusal)
        {
            Some(refusal) => Err(refusal),
            None => Ok(Parsed::Args(args)),
        }
    }

    /// The option that a word begins with, and what is attached to it. Short options without a value may stand
    /// together; all but the last one are put into `args`.
    fn option_of(
        &self,
        word: &OsStr,
        args: &mut ForeignArgs,
    ) -> Option<(&'static ForeignOption, Option<OsString>)> {
        if let Some(option) = self.option(word) {
            return Some((option, None));
        }
        let bytes = word.as_bytes();
        if bytes.starts_with(b"--") {
            let at = bytes.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (
                OsStr::from_bytes(&bytes[..at]),
                OsStr::from_bytes(&bytes[at + 1..]),
            );
            return self.option(name).map(|option| (option, Some(value.to_owned())));
        }
        let mut before = Vec::new();
        for (at, letter) in bytes.iter().enumerate().skip(1) {
            let option = self.option(OsStr::from_bytes(&[b'-', *letter]))?;
            let rest = &bytes[at + 1..];
            if option.value != ForeignValue::None || rest.is_empty() {
                args.given.extend(before);
                let value = rest.strip_prefix(b"=").unwrap_or(rest);
                let value = (!rest.is_empty()).then(|| OsStr::from_bytes(value).to_owned());
                return Some((option, value));
            }
            before.push((option.key(), Vec::new()));
        }
        None
    }

    /// Whether a word is read as an option. With unknown options, three hyphens begin a text.
    fn reads_as_option(&self, word: &OsStr) -> bool {
        let is_text = self.keeps_unknown && word.as_bytes().starts_with(b"---");
        word.len() > 1 && is_option(word) && !is_text
    }

    /// Whether a word may be the value of the unknown option before it.
    fn may_be_value(&self, word: &OsStr) -> bool {
        !is_option(word) && !word.as_bytes().starts_with(b"@")
    }

    /// The message about an option that the program does not have.
    pub fn unknown(&self, word: &OsStr) -> String {
        format!(
            "{} has no option {}; try `{} --help`",
            self.name,
            word.to_string_lossy(),
            self.name
        )
    }

    /// The help: every option with what becket does about it.
    pub fn help(&self) -> String {
        let mut help = format!(
            "{}\n\nUsage: becket {} [OPTIONS] [WORDS]\n\nOptions:\n",
            self.about, self.name
        );
        for option in self.options {
            let _ = writeln!(help, "  {:<30}  {}", option.to_string(), option.service);
        }
        help
    }

    /// The options and what becket does about them, as a table of a guide.
    pub fn table(&self) -> String {
        let mut table = "| option | becket | |\n|---|---|---|\n".to_owned();
        for option in self.options {
            let (kind, text) = option.service.parts();
            let written = option.to_string().replace('|', "\\|");
            let _ = writeln!(table, "| `{written}` | {kind} | {} |", text.replace('|', "\\|"));
        }
        table
    }
}

fn is_option(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"-")
}

fn is_long(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"--")
}

impl ForeignOption {
    fn key(&self) -> &'static str {
        self.names.last().copied().unwrap_or_default()
    }

    /// Whether the values say that the option shall not count: `--option=false`.
    fn is_turned_off(&self, values: &[OsString]) -> bool {
        self.value == ForeignValue::Attached(BOOLEAN) && values.first().is_some_and(|value| value == "false")
    }

    fn refusal(&self) -> Option<String> {
        match self.service {
            Service::Refused(why) => Some(format!("{}: {why}", self.names.join(", "))),
            Service::Served(_) | Service::Differs(_) => None,
        }
    }

    /// Takes the option's values: what is attached, then the words that follow.
    fn take(
        &self,
        attached: Option<OsString>,
        words: &mut std::iter::Peekable<impl Iterator<Item = OsString>>,
    ) -> Result<Vec<OsString>, String> {
        let mut values: Vec<OsString> = attached.into_iter().collect();
        let wanted = match self.value {
            ForeignValue::None if !values.is_empty() => return Err(format!("{} takes no value", self.key())),
            ForeignValue::None | ForeignValue::Attached(_) | ForeignValue::Rest => 0,
            ForeignValue::One(_) => 1,
            ForeignValue::Two(..) => 2,
            ForeignValue::Optional(_) => usize::from(words.peek().is_some_and(|next| !is_option(next))),
        };
        while values.len() < wanted {
            values.push(words.next().ok_or_else(|| format!("{self} lacks its value"))?);
        }
        Ok(values)
    }
}

impl fmt::Display for ForeignOption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.names.join(", "))?;
        match self.value {
            ForeignValue::None => Ok(()),
            ForeignValue::Rest => formatter.write_str("…"),
            ForeignValue::One(name) => write!(formatter, " {name}"),
            ForeignValue::Two(first, second) => write!(formatter, " {first} {second}"),
            ForeignValue::Optional(name) => write!(formatter, " [{name}]"),
            ForeignValue::Attached(name) => write!(formatter, "[={name}]"),
        }
    }
}

impl Service {
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Served(text) => ("served", text),
            Self::Differs(text) => ("differs", text),
            Self::Refused(text) => ("refused", text),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            ("served", text) => formatter.write_str(text),
            (kind, text) => write!(formatter, "{kind}: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static CLI: ForeignCli = ForeignCli {
        name: "toy",
        aliases: &["plaything"],
        about: "A toy.",
        version: None,
        options: &[
            ForeignOption {
                names: &["-c", "--context"],
                value: ForeignValue::One("NAME"),
                service: Service::Served("Chooses the context."),
            },
            ForeignOption {
                names: &["-v", "--verbose"],
                value: ForeignValue::None,
                service: Service::Differs("Says nothing more."),
            },
            ForeignOption {
                names: &["--join"],
                value: ForeignValue::Two("NAME", "GROUP"),
                service: Service::Served("Joins a group."),
            },
            ForeignOption {
                names: &["--models"],
                value: ForeignValue::Optional("PART"),
                service: Service::Served("Lists models."),
            },
            ForeignOption {
                names: &["-r", "--raw"],
                value: ForeignValue::None,
                service: Service::Refused("there is nothing raw"),
            },
        ],
        keeps_unknown: false,
        translate: |args| {
            let mut shown: Vec<String> = Vec::new();
            for name in ["--context", "--verbose", "--join", "--models"] {
                shown.extend(args.all(name).map(|values| format!("{name}={values:?}")));
            }
            let words = args.words.iter().map(|word| word.to_string_lossy().into_owned());
            let line = OwnLine {
                guest_words: shown.into_iter().chain(words).map(Into::into).collect(),
                ..OwnLine::default()
            };
            Ok(AskedOf::Runs(vec![line].into()))
        },
    };

    fn read(line: &str) -> Result<String, String> {
        match CLI.read(line.split_whitespace().map(OsString::from))? {
            AskedOf::Runs(runs) => {
                let words = runs.all().flat_map(OwnLine::words).collect::<Vec<_>>();
                Ok(words.join(OsStr::new(" ")).into_string().expect("it is text"))
            }
            other => Ok(format!("{other:?}")),
        }
    }

    #[test]
    fn options_are_read_in_every_spelling() {
        let table = [
            ("-c a hello", "--context=[\"a\"] hello"),
            ("-ca hello", "--context=[\"a\"] hello"),
            ("--context=a hello", "--context=[\"a\"] hello"),
            ("-vca", "--context=[\"a\"] --verbose=[]"),
            ("--join a b c", "--join=[\"a\", \"b\"] c"),
            ("--models -v", "--verbose=[] --models=[]"),
            ("--models gpt", "--models=[\"gpt\"]"),
            ("- -- -c --help", "- -c --help"),
            ("x --help", "Help"),
            ("-c --help", "--context=[\"--help\"]"),
            ("-r --help", "Help"),
            ("-V", "Version"),
        ];
        for (line, expected) in table {
            assert_eq!(read(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_unknown_incomplete_or_refused_is_an_error() {
        let table = [
            ("--contexts a", "toy has no option --contexts"),
            ("-x", "toy has no option -x"),
            ("-c", "-c, --context NAME lacks its value"),
            ("--join a", "--join NAME GROUP lacks its value"),
            ("--verbose=1", "--verbose takes no value"),
            ("--raw", "-r, --raw: there is nothing raw"),
            ("-rv", "-r, --raw: there is nothing raw"),
            ("-vr", "-r, --raw: there is nothing raw"),
        ];
        for (line, expected) in table {
            let error = read(line).expect_err(line);
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }

    #[test]
    fn a_value_is_never_an_option_or_a_command() {
        let line = OwnLine {
            options: vec![OwnOption::with("mode", "--yes"), OwnOption::alone("trust")],
            guest_words: vec!["--plan".into(), "undo".into()],
            values: vec!["doctor".into(), "--yes".into()],
            ..OwnLine::default()
        };
        let words = line.words().join(OsStr::new(" "));
        assert_eq!(words, "--mode=--yes --trust --plan undo -- doctor --yes");
        let line = OwnLine::command(&["context", "prompt"]).option(OwnOption::with("set", "-y"));
        let words = line.about(["--if-any"]).words().join(OsStr::new(" "));
        assert_eq!(words, "context prompt --set=-y -- --if-any");
    }

    #[test]
    fn the_table_has_every_option_once() {
        let table = CLI.table();
        assert_eq!(table.lines().count(), 2 + CLI.options.len());
        assert!(
            table.contains("| `-r, --raw` | refused | there is nothing raw |"),
            "{table}"
        );
    }
}
