//! The command line: jq's, as far as hook scripts use it.

use std::ffi::OsString;
use std::path::PathBuf;

use jaq_json::Val;

use crate::json::{parse_many, parse_single};

/// The text of `--help`.
const HELP: &str = "Usage: jq [OPTIONS] FILTER [FILE...]\n\n\
This is becket's own jq, for hooks on machines that have none.\n\n\
  -n  no input            -r  raw texts          -j  raw texts, no newlines   -R  input is text\n\
  -s  all input at once   -c  one line each      -S  sort keys                -a  ASCII only\n\
  -e  exit code by the last result               -C  -M  colours or none\n\
  --tab, --indent N       -f FILE  filter from a file\n\
  --arg NAME TEXT         --argjson NAME JSON    --slurpfile NAME FILE        --rawfile NAME FILE\n\
  --args TEXT...          --jsonargs JSON...\n";

/// What a command line asks for.
pub(crate) enum Asked {
    /// To run a filter.
    Run(Options),
    /// To print a text about the program.
    Words(String),
}

/// The layout of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    Compact,
    Indented(String),
}

/// A parsed command line.
pub(crate) struct Options {
    pub(crate) filter: String,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) null_input: bool,
    pub(crate) raw_input: bool,
    pub(crate) slurp: bool,
    pub(crate) raw_output: bool,
    pub(crate) join_output: bool,
    pub(crate) ascii: bool,
    pub(crate) sort_keys: bool,
    pub(crate) colour: bool,
    pub(crate) exit_status: bool,
    pub(crate) layout: Layout,
    /// The values of `--arg` and its siblings, each name once.
    pub(crate) named: Vec<(String, Val)>,
    /// The values of `--args` and `--jsonargs`.
    pub(crate) positional: Vec<Val>,
}

/// The meaning of a word without a hyphen.
#[derive(Clone, Copy)]
enum Words {
    Files,
    Texts,
    Json,
}

/// Reads a command line, word by word.
struct Reader<I> {
    rest: I,
    options: Options,
    filter: Option<String>,
    filter_file: bool,
    words: Words,
    only_words: bool,
}

/// Reads a command line.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let mut reader = Reader {
        rest: arguments.into_iter(),
        options: Options {
            filter: String::new(),
            files: Vec::new(),
            null_input: false,
            raw_input: false,
            slurp: false,
            raw_output: false,
            join_output: false,
            ascii: false,
            sort_keys: false,
            colour: false,
            exit_status: false,
            layout: Layout::Indented("  ".into()),
            named: Vec::new(),
            positional: Vec::new(),
        },
        filter: None,
        filter_file: false,
        words: Words::Files,
        only_words: false,
    };
    while let Some(word) = reader.rest.next() {
        if let Some(words) = reader.word(word)? {
            return Ok(Asked::Words(words));
        }
    }
    reader.finish().map(Asked::Run)
}

impl<I: Iterator<Item = OsString>> Reader<I> {
    fn word(&mut self, word: OsString) -> Result<Option<String>, String> {
        let text = word.to_str();
        match text {
            Some(option) if !self.only_words && option.len() > 1 && option.starts_with('-') => {
                match option.strip_prefix("--") {
                    Some("") => self.only_words = true,
                    Some(long) => return self.long(long),
                    None => {
                        for letter in option[1..].chars() {
                            if let Some(words) = self.short(letter)? {
                                return Ok(Some(words));
                            }
                        }
                    }
                }
            }
            _ if self.filter.is_none() => {
                self.filter = Some(text.ok_or("the filter is not UTF-8 text")?.to_owned());
            }
            _ => self.further(word)?,
        }
        Ok(None)
    }

    /// Reads a word after the filter.
    fn further(&mut self, word: OsString) -> Result<(), String> {
        match self.words {
            Words::Files => self.options.files.push(word.into()),
            Words::Texts => self
                .options
                .positional
                .push(Val::from(word.to_string_lossy().into_owned())),
            Words::Json => {
                let text = word.to_string_lossy();
                let value = json(&text, "--jsonargs")?;
                self.options.positional.push(value);
            }
        }
        Ok(())
    }

    fn short(&mut self, letter: char) -> Result<Option<String>, String> {
        let long = match letter {
            'n' => "null-input",
            'R' => "raw-input",
            's' => "slurp",
            'r' => "raw-output",
            'j' => "join-output",
            'a' => "ascii-output",
            'S' => "sort-keys",
            'C' => "color-output",
            'M' => "monochrome-output",
            'e' => "exit-status",
            'c' => "compact-output",
            'f' => "from-file",
            'h' => "help",
            'V' => "version",
            _ => {
                return Err(format!("unknown option -{letter}; `jq --help` lists them"));
            }
        };
        self.long(long)
    }

    fn long(&mut self, name: &str) -> Result<Option<String>, String> {
        let options = &mut self.options;
        match name {
            "null-input" => options.null_input = true,
            "raw-input" => options.raw_input = true,
            "slurp" => options.slurp = true,
            "raw-output" => options.raw_output = true,
            "join-output" => (options.raw_output, options.join_output) = (true, true),
            "ascii-output" => options.ascii = true,
            "sort-keys" => options.sort_keys = true,
            "color-output" => options.colour = true,
            "monochrome-output" => options.colour = false,
            // Results are always written as they come.
            "unbuffered" => {}
            "exit-status" => options.exit_status = true,
            "compact-output" => options.layout = Layout::Compact,
            "tab" => options.layout = Layout::Indented("\t".into()),
            "indent" => self.options.layout = self.indent()?,
            "from-file" => self.filter_file = true,
            "args" => self.words = Words::Texts,
            "jsonargs" => self.words = Words::Json,
            "arg" => {
                let (name, text) = self.pair("arg")?;
                self.name(name, Val::from(text));
            }
            "argjson" => {
                let (name, text) = self.pair("argjson")?;
                let value = json(&text, &format!("--argjson {name}"))?;
                self.name(name, value);
            }
            "slurpfile" => {
                let (name, file) = self.pair("slurpfile")?;
                let bytes = contents(&file)?;
                let values = parse_many(&bytes).collect::<Result<Vec<Val>, String>>();
                let values =
                    values.map_err(|error| format!("bad JSON in --slurpfile {name} {file}: {error}"))?;
                self.name(name, values.into_iter().collect());
            }
            "rawfile" => {
                let (name, file) = self.pair("rawfile")?;
                let text = String::from_utf8_lossy(&contents(&file)?).into_owned();
                self.name(name, Val::from(text));
            }
            "help" => return Ok(Some(HELP.into())),
            "version" => {
                return Ok(Some(
                    concat!("jq-becket-", env!("CARGO_PKG_VERSION"), "\n").into(),
                ));
            }
            _ => {
                return Err(format!("unknown option --{name}; `jq --help` lists them"));
            }
        }
        Ok(None)
    }

    fn indent(&mut self) -> Result<Layout, String> {
        let width = self.rest.next().and_then(|word| word.to_str()?.parse().ok());
        match width {
            Some(0) => Ok(Layout::Compact),
            Some(width @ 1..=7) => Ok(Layout::Indented(" ".repeat(width))),
            _ => Err("--indent takes a number from 0 to 7".into()),
        }
    }

    fn pair(&mut self, option: &str) -> Result<(String, String), String> {
        let mut word = || self.rest.next().map(|word| word.to_string_lossy().into_owned());
        match (word(), word()) {
            (Some(name), Some(value)) => Ok((name, value)),
            _ => Err(format!("--{option} takes two words: a name and a value")),
        }
    }

    /// Adds a named value. The first of several with one name counts, as in jq.
    fn name(&mut self, name: String, value: Val) {
        if self.options.named.iter().all(|(known, _)| *known != name) {
            self.options.named.push((name, value));
        }
    }

    fn finish(mut self) -> Result<Options, String> {
        let filter = match (self.filter, self.filter_file) {
            (Some(file), true) => {
                let bytes = contents(&file)?;
                String::from_utf8(bytes).map_err(|_| format!("the filter in {file} is not UTF-8 text"))?
            }
            (None, true) => return Err("-f takes the name of a file".into()),
            (Some(filter), false) => filter,
            (None, false) => return Err(format!("there is no filter\n{HELP}")),
        };
        self.options.filter = filter;
        Ok(self.options)
    }
}

fn contents(file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))
}

fn json(text: &str, place: &str) -> Result<Val, String> {
    parse_single(text.as_bytes()).map_err(|error| format!("invalid JSON text in {place}: {error}"))
}
