//! Marks: a variable that children inherit, by which processes are found that left their family.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The variable that marks the processes of a run. It holds the marks of all runs around it, the innermost last, so
/// that a run ends the hooks and commands of an agent that it started, too.
pub(super) const MARK_VARIABLE: &str = "BECKET_MARK";

/// The mark of one run, which no other run has.
#[derive(Debug, Clone)]
pub struct Mark {
    own: String,
    value: OsString,
}

impl Mark {
    /// A new mark for a run with this environment.
    pub fn within(environment: &BTreeMap<OsString, OsString>) -> Self {
        let own = uuid::Uuid::now_v7().simple().to_string();
        let mut value = environment
            .get(OsStr::new(MARK_VARIABLE))
            .cloned()
            .unwrap_or_default();
        if !value.is_empty() {
            value.push("/");
        }
        value.push(&own);
        Self { own, value }
    }

    /// The variable that the run's processes must have: its name and its value.
    pub fn variable(&self) -> (&'static str, &OsStr) {
        (MARK_VARIABLE, &self.value)
    }

    pub(super) fn own(&self) -> &str {
        &self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_the_runs_around_it() {
        let outer = BTreeMap::from([(MARK_VARIABLE.into(), "a".into())]);
        let mark = Mark::within(&outer);
        assert_eq!(mark.variable().1.to_str().unwrap(), format!("a/{}", mark.own()));
        let alone = Mark::within(&BTreeMap::new());
        assert_eq!(alone.variable().1, alone.own());
    }
}
