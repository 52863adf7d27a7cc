//! The agent file that is being read: its lines for error messages, the names in it, and the remarks so far.

use std::path::Path;

use becket_dialect_kit::yaml::{Spanned, line_of};
use becket_hooks::{SettingsError, nearest};

use super::written::Unserved;

/// The file for error messages, and the remarks so far.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    text: &'a str,
    pub(super) remarks: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        Self {
            file,
            text,
            remarks: Vec::new(),
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

    /// Refuses keys that are not served, or remarks on them.
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
            let remark = self.error(line, format!("`{key}` has no effect here: {advice}"));
            self.remarks.push(remark.to_string());
        }
        Ok(())
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
