//! The agent file that is being read: its lines for error messages, the names in it, and the remarks so far.

use std::cell::Cell;
use std::path::Path;

use becket_dialect_kit::yaml::{Spanned, line_of};
use becket_hooks::{SettingsError, nearest};

use super::written::Unserved;

/// The file for error messages, and the remarks so far.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    text: &'a str,
    pub(super) remarks: Vec<String>,
    /// Whether toolsets were left out.
    pub(super) lacks_toolsets: bool,
    /// How many models of models are being read, one inside of the other.
    depth: Cell<u32>,
}

/// The most models of models, one inside of the other: more are a circle.
const DEEPEST: u32 = 8;

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        Self {
            file,
            text,
            remarks: Vec::new(),
            lacks_toolsets: false,
            depth: Cell::new(0),
        }
    }
}

impl Reader<'_> {
    pub(super) fn error(&self, line: usize, message: impl Into<String>) -> SettingsError {
        SettingsError {
            file: self.file.into(),
            line,
            message: message.into(),
        }
    }

    /// The line of a key whose value begins in some line: a table begins below its key.
    pub(super) fn line_of_key(&self, key: &str, line: usize) -> usize {
        let begins = |text: &str| {
            let text = text.trim_start_matches([' ', '-', '\t']).strip_prefix(key);
            text.is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        let lines: Vec<&str> = self.text.lines().take(line).collect();
        lines
            .iter()
            .rposition(|text| begins(text))
            .map_or(line, |index| index + 1)
    }

    /// Begins to read a model of models, unless that is too deep.
    pub(super) fn goes_deeper(&self) -> bool {
        let depth = self.depth.get();
        self.depth.set(depth + 1);
        depth < DEEPEST
    }

    /// Ends reading a model of models.
    pub(super) fn comes_back(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    /// Remarks on something.
    pub(super) fn remark(&mut self, line: usize, message: impl Into<String>) {
        let remark = self.error(line, message);
        self.remarks.push(remark.to_string());
    }

    /// Remarks on tools that are left out.
    pub(super) fn leave_out_tools(&mut self, line: usize, message: String) {
        self.lacks_toolsets = true;
        self.remark(line, message);
    }

    /// Refuses keys that restrict and are not served, and remarks on the others.
    pub(super) fn look_at(&mut self, unserved: Vec<Unserved>) -> Result<(), SettingsError> {
        for Unserved {
            key,
            line,
            advice,
            refused,
        } in unserved
        {
            let line = self.line_of_key(key, line);
            if refused {
                return Err(self.error(line, format!("`{key}` is not served: {advice}")));
            }
            self.remark(line, format!("`{key}` has no effect here: {advice}"));
        }
        Ok(())
    }

    /// The agents of the file among those that an agent may turn to. One that would have to be fetched is left out.
    pub(super) fn agents<'a>(
        &mut self,
        names: &[Spanned<String>],
        there: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Vec<String>, SettingsError> {
        let is_here = |name: &str| there.clone().any(|other| other == name);
        let elsewhere = |name: &&Spanned<String>| !is_here(&name.value) && name.value.contains(['/', ':']);
        let (elsewhere, here): (Vec<_>, Vec<_>) = names.iter().partition(elsewhere);
        for name in elsewhere {
            let message = format!(
                "the agent `{}` is not in this file, so it is left out",
                name.value
            );
            self.remark(line_of(name), message);
        }
        let here: Vec<Spanned<String>> = here.into_iter().cloned().collect();
        self.known("agent", &here, there)
    }

    /// Checks that names are among the known ones.
    pub(super) fn known<'a>(
        &self,
        what: &str,
        names: &[Spanned<String>],
        there: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Vec<String>, SettingsError> {
        for name in names {
            let mut those = there.clone();
            if those.any(|other| other == name.value) {
                continue;
            }
            let message = format!("there is no {what} `{}` in this file", name.value);
            let message = match nearest(&name.value, there.clone()) {
                Some(near) => format!("{message}; did you mean `{near}`?"),
                None => match there.clone().collect::<Vec<_>>().as_slice() {
                    [] => message,
                    all => format!("{message}; there are {}", all.join(", ")),
                },
            };
            return Err(self.error(line_of(name), message));
        }
        Ok(names.iter().map(|name| name.value.clone()).collect())
    }
}
