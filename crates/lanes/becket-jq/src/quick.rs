//! Answers what every jq answers in the same way, without starting another one.
//!
//! `syntax.rs` has the closed list of filters, `pattern.rs` the regular expressions, `plain.rs` the inputs; the options
//! are here. Whatever is not of these lists, and every error, is left to the machine's jq, which gets the same
//! arguments and the same input: nothing of an answer is written before all of it is known.

mod pattern;
mod plain;
mod syntax;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use jaq_core::box_iter::box_once;
use jaq_core::native::{Fun, v};
use jaq_core::{Native, ValXs};
use jaq_json::{Num, Val, read};

use crate::end::End;
use crate::options::{self, Asked, Options};
use crate::output::Printer;
use crate::program::{self, Run};
use syntax::Guard;

/// Why a command line is left to the machine's jq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// An option that is not of the list.
    Options,
    /// A filter that is not of the list.
    Filter,
    /// Input that versions of jq read differently, or that cannot be read.
    Input,
    /// The filter failed, or came to a value that versions treat differently.
    Failed,
}

impl Why {
    /// The reason in one word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Options => "options",
            Self::Filter => "filter",
            Self::Input => "input",
            Self::Failed => "failed",
        }
    }
}

/// A complete answer.
pub(crate) struct QuickAnswer {
    pub(crate) stdout: Vec<u8>,
    pub(crate) end: End,
}

/// A command line whose options and filter are of the list.
pub(crate) struct Plan {
    options: Options,
}

/// The letters of options that can be written together.
const LETTERS: &str = "nRsrjSMec";

/// Long options without a value.
const WORDS: &[&str] = &[
    "--null-input",
    "--raw-input",
    "--slurp",
    "--raw-output",
    "--join-output",
    "--sort-keys",
    "--monochrome-output",
    "--exit-status",
    "--compact-output",
];

/// The largest integer of which all versions print every digit.
const LARGEST_EXACT: isize = 1_000_000_000_000_000;

impl Plan {
    /// Reads a command line.
    pub(crate) fn new(arguments: &[OsString]) -> Result<Self, Why> {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.to_str().ok_or(Why::Options)?;
            match text {
                "--arg" | "--argjson" => {
                    let mut value = || words.next().and_then(|word| word.to_str()).ok_or(Why::Options);
                    let (_, value) = (value()?, value()?);
                    let is_plain = text == "--arg" || plain::values(value.as_bytes()) == Some(1);
                    is_plain.then_some(()).ok_or(Why::Options)?;
                }
                _ if WORDS.contains(&text) => {}
                _ => match text.strip_prefix('-') {
                    None => {}
                    Some("") => return Err(Why::Options),
                    Some(letters) if letters.chars().all(|letter| LETTERS.contains(letter)) => {}
                    Some(_) => return Err(Why::Options),
                },
            }
        }
        match options::read(arguments.iter().cloned()) {
            Ok(Asked::Run(options)) => {
                let is_listed = program::parse(&options.filter).ok().and_then(syntax::listed);
                let is_text = !options
                    .filter
                    .chars()
                    // Comments, and characters that are written differently.
                    .any(|character| {
                        character == '#' || character.is_control() && !"\n\t".contains(character)
                    });
                (is_listed.is_some() && is_text)
                    .then_some(())
                    .ok_or(Why::Filter)?;
                Ok(Self { options })
            }
            Ok(Asked::Words(_)) | Err(_) => Err(Why::Options),
        }
    }

    /// The files that hold the input; none stands for standard input.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.options.files
    }

    /// Whether the input is not read at all.
    pub(crate) fn has_no_input(&self) -> bool {
        self.options.null_input
    }

    /// The answer for these inputs, one text for each file.
    pub(crate) fn answer(
        &self,
        variables: &BTreeMap<OsString, OsString>,
        texts: &[Vec<u8>],
    ) -> Result<QuickAnswer, Why> {
        let inputs = self.inputs(texts).ok_or(Why::Input)?;
        let globals = program::globals(&self.options, variables);
        let names = globals.iter().map(|(name, _)| name.as_str());
        let term = program::parse(&self.options.filter).ok().and_then(syntax::listed);
        let term = term.ok_or(Why::Filter)?;
        let filter = program::compile(term, guards(), names).map_err(|_| Why::Filter)?;
        let printer = Printer::new(&self.options);
        let doubt = Cell::new(false);
        let mut stdout = Vec::new();
        let mut last = None;
        let print = |value: Val| {
            last = Some(!matches!(value, Val::Null | Val::Bool(false)));
            is_exact(&value).then_some(())?;
            printer.print(&value, &mut stdout).ok()
        };
        program::each_result(&filter, &globals, inputs, &doubt, print).ok_or(Why::Failed)?;
        let end = match last {
            _ if doubt.get() => return Err(Why::Failed),
            // The exit code of an empty result is not the same everywhere.
            None if self.options.exit_status => return Err(Why::Failed),
            Some(false) if self.options.exit_status => End::False,
            _ => End::Well,
        };
        Ok(QuickAnswer { stdout, end })
    }

    fn inputs(&self, texts: &[Vec<u8>]) -> Option<Vec<Val>> {
        if self.options.null_input {
            return Some(vec![Val::Null]);
        }
        if self.options.raw_input {
            return self.raw_inputs(texts);
        }
        let mut values = Vec::new();
        for text in texts {
            let count = plain::values(text)?;
            let read = read::parse_many(text).collect::<Result<Vec<Val>, _>>().ok()?;
            (read.len() == count).then_some(())?;
            values.extend(read);
        }
        Some(match self.options.slurp {
            true => vec![values.into_iter().collect()],
            false => values,
        })
    }

    /// Lines, or the whole text. Several files are not told apart in the same way.
    fn raw_inputs(&self, texts: &[Vec<u8>]) -> Option<Vec<Val>> {
        let [text] = texts else { return None };
        let text = std::str::from_utf8(text).ok()?;
        let is_plain = !text.contains(['\0', '\u{7f}', '\u{feff}']);
        is_plain.then_some(())?;
        let value = |text: &str| Val::from(text.to_owned());
        Some(match self.options.slurp {
            true => vec![value(text)],
            false => text.split_terminator('\n').map(value).collect(),
        })
    }
}

/// Whether every number of a value is printed alike.
fn is_exact(value: &Val) -> bool {
    match value {
        Val::Null | Val::Bool(_) | Val::TStr(_) => true,
        Val::Num(Num::Int(number)) => number.abs() <= LARGEST_EXACT,
        Val::Num(_) | Val::BStr(_) => false,
        Val::Arr(items) => items.iter().all(is_exact),
        Val::Obj(fields) => fields
            .iter()
            .all(|(key, value)| matches!(key, Val::TStr(_)) && is_exact(value)),
    }
}

/// The guards as functions: each returns its input, and raises doubt where versions would differ.
fn guards() -> impl Iterator<Item = Fun<Run>> {
    Guard::ALL.into_iter().map(|guard| {
        let run: jaq_core::RunPtr<Run> = match guard {
            Guard::List => |(context, value)| seen(context.data().doubt, value, is_list),
            Guard::Ascii => |(context, value)| seen(context.data().doubt, value, is_ascii),
            Guard::Line => |(context, value)| seen(context.data().doubt, value, is_line),
            Guard::Json => |(context, value)| seen(context.data().doubt, value, is_json),
            Guard::Text => |(context, value)| seen(context.data().doubt, value, is_text),
        };
        (guard.name(), v(0), Native::<Run>::new(run))
    })
}

fn seen<'a>(doubt: &Cell<bool>, value: Val, agrees: fn(&Val) -> bool) -> ValXs<'a, Val> {
    if !agrees(&value) {
        doubt.set(true);
    }
    box_once(Ok(value))
}

fn is_list(value: &Val) -> bool {
    matches!(value, Val::Null | Val::Arr(_))
}

fn is_text(value: &Val) -> bool {
    matches!(value, Val::TStr(_))
}

fn is_ascii(value: &Val) -> bool {
    !matches!(value, Val::TStr(text) if !text.is_ascii())
}

fn is_line(value: &Val) -> bool {
    !matches!(value, Val::TStr(text) if !text.is_ascii() || text.contains(&b'\n'))
}

fn is_json(value: &Val) -> bool {
    !matches!(value, Val::TStr(text) if plain::values(text) != Some(1))
}
