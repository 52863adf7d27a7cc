//! The inputs: files or standard input, as JSON or as text, one after another or all at once.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use jaq_json::{Val, read};

use crate::bounds::Shallow;
use crate::json::until_broken;
use crate::options::Options;

type Values<'a> = Box<dyn Iterator<Item = Result<Val, String>> + 'a>;

/// The inputs of a run. Nothing is read before it is asked for, so that `-n` never waits.
pub(crate) fn inputs<'a>(options: &Options, stdin: Box<dyn BufRead + 'a>) -> Values<'a> {
    let source = Source {
        stdin: options.files.is_empty().then_some(stdin),
        files: options.files.clone().into_iter(),
    };
    match (options.raw_input, options.slurp) {
        (false, false) => Box::new(source.flat_map(values)),
        (false, true) => once(move || {
            let all: Result<Vec<Val>, String> = source.flat_map(values).collect();
            all.map(|all| all.into_iter().collect())
        }),
        (true, false) => Box::new(source.flat_map(lines)),
        (true, true) => once(move || {
            let mut all = Vec::new();
            for reader in source {
                let (name, mut reader) = reader?;
                reader
                    .read_to_end(&mut all)
                    .map_err(|error| format!("cannot read {name}: {error}"))?;
            }
            Ok(text(&all))
        }),
    }
}

type Reader<'a> = (String, Box<dyn BufRead + 'a>);

/// Standard input or the files, each opened when its turn comes.
struct Source<'a> {
    stdin: Option<Box<dyn BufRead + 'a>>,
    files: std::vec::IntoIter<PathBuf>,
}

impl<'a> Iterator for Source<'a> {
    type Item = Result<Reader<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(stdin) = self.stdin.take() {
            return Some(Ok(("<stdin>".into(), stdin)));
        }
        let path = self.files.next()?;
        let name = path.display().to_string();
        Some(match File::open(&path) {
            Ok(file) => Ok((name, Box::new(BufReader::new(file)))),
            Err(error) => Err(format!("could not open {name}: {error}")),
        })
    }
}

/// A value that is computed when it is asked for.
fn once<'a>(make: impl FnOnce() -> Result<Val, String> + 'a) -> Values<'a> {
    let mut make = Some(make);
    Box::new(std::iter::from_fn(move || make.take().map(|make| make())))
}

fn values(reader: Result<Reader<'_>, String>) -> Values<'_> {
    match reader {
        Ok((name, reader)) => {
            let values = read::read_many(BufReader::new(Shallow::new(reader)));
            let told = move |error| format!("error (at {name}): {error}");
            Box::new(until_broken(values.map(move |value| value.map_err(&told))))
        }
        Err(message) => Box::new(std::iter::once(Err(format!("error: {message}")))),
    }
}

fn lines(reader: Result<Reader<'_>, String>) -> Values<'_> {
    match reader {
        Ok((name, reader)) => Box::new(reader.split(b'\n').map(move |line| {
            line.map(|line| text(&line))
                .map_err(|error| format!("error: cannot read {name}: {error}"))
        })),
        Err(message) => Box::new(std::iter::once(Err(format!("error: {message}")))),
    }
}

fn text(bytes: &[u8]) -> Val {
    Val::from(String::from_utf8_lossy(bytes).into_owned())
}
