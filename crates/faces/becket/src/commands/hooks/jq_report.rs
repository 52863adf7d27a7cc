//! Which jq has answered hooks: becket's quick one, or the machine's, and why.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use becket_system::{CliError, Folders, Surroundings};

use crate::options::Options;

/// What the starts of `jq` say of themselves, in a file of its own.
pub struct JqReport {
    file: PathBuf,
    read: usize,
}

impl JqReport {
    /// A report, and surroundings whose hooks write it. Where no file can be made, there is nothing to report.
    pub fn begin(options: &Options, surroundings: &Surroundings) -> Result<(Self, Surroundings), CliError> {
        let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
        let file = folders.cache.join(format!("jq-report-{}", std::process::id()));
        let mut reported = surroundings.clone();
        if std::fs::create_dir_all(&folders.cache).is_ok() && std::fs::File::create(&file).is_ok() {
            reported.variables.extend(variable(&file));
        }
        Ok((Self { file, read: 0 }, reported))
    }

    /// Who has answered since the last time, with the number of starts.
    pub fn news(&mut self) -> BTreeMap<String, usize> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let mut answers = BTreeMap::new();
        for line in text.get(self.read..).unwrap_or_default().lines() {
            *answers.entry(line.to_owned()).or_default() += 1;
        }
        self.read = text.len();
        answers
    }
}

impl Drop for JqReport {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The variable that tells `jq` where to report.
#[cfg(feature = "jq")]
fn variable(file: &Path) -> Option<(OsString, OsString)> {
    Some((becket_run::own_jq::REPORT_VARIABLE.into(), file.into()))
}

#[cfg(not(feature = "jq"))]
fn variable(_: &Path) -> Option<(OsString, OsString)> {
    None
}

/// Who has answered, in words, such as `jq: quick 12×, /usr/bin/jq (filter) 3×`; empty if nobody called it.
pub fn in_words(answers: &BTreeMap<String, usize>) -> String {
    let words: Vec<String> = answers
        .iter()
        .map(|(who, count)| format!("{who} {count}×"))
        .collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("jq: {}", words.join(", ")),
    }
}
