//! Marks: a variable that children inherit, by which processes are found that left their process group.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use super::census::{Hunt, MARK_VARIABLE};
use super::orphans;

/// How long the killing may block the thread, which it does only until killed processes are reaped.
const KILL_BOUND: Duration = Duration::from_millis(50);

/// The unique mark of one run.
#[derive(Debug, Clone)]
pub struct Mark {
    own: String,
    value: OsString,
}

impl Mark {
    /// A new mark for a run with this environment.
    pub fn within(environment: &BTreeMap<OsString, OsString>) -> Self {
        let own = crate::clock::new_uuid().simple().to_string();
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

    /// The name and the value of the variable that the run's processes must have.
    pub fn variable(&self) -> (&'static str, &OsStr) {
        (MARK_VARIABLE, &self.value)
    }

    /// Kills every process with the mark: those left running by programs that have ended themselves.
    pub fn end_all(&self) {
        let mut hunt = Hunt::marked(self.own.clone());
        let bound = Instant::now() + KILL_BOUND;
        let mut left = hunt.kill();
        while left && Instant::now() < bound {
            std::thread::sleep(Duration::from_millis(1));
            left = hunt.kill();
        }
        orphans::finish(hunt, left, || ());
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
