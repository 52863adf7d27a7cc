//! Counts of what hooks decided: for the list of sessions, and as metrics.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use becket_agent::store::StoreError;
use becket_store::SqliteStore;
use becket_web::view::{Decision, Tally};

use super::asked::Asked;

/// How many dispatches are read at once.
const AT_ONCE: u32 = 2_000;

/// The counts up to a position in the trace. Only what came later is read again; if a context is destroyed with its
/// trace, the counts stay, and no position is used twice.
#[derive(Default)]
pub struct Tallies {
    place: u64,
    sessions: HashMap<String, Tally>,
    runs: BTreeMap<(String, &'static str), u64>,
    unevaluated: BTreeMap<String, u64>,
    took_us: BTreeMap<String, u64>,
}

impl Tallies {
    /// Counts what was traced since the last time.
    pub fn catch_up(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        loop {
            let traces = store.record().dispatches_after(self.place, AT_ONCE)?;
            for trace in &traces {
                self.place = trace.seq;
                if let Some(asked) = Asked::read(trace) {
                    self.count(&trace.session_id, &asked);
                }
            }
            if traces.len() < AT_ONCE as usize {
                return Ok(());
            }
        }
    }

    fn count(&mut self, session_id: &str, asked: &Asked) {
        let tally = self.sessions.entry(session_id.to_owned()).or_default();
        for run in &asked.runs {
            let decision = run.decision();
            tally.add(decision);
            *self
                .runs
                .entry((asked.event.clone(), word(decision)))
                .or_default() += 1;
            *self.took_us.entry(asked.event.clone()).or_default() += run.duration_us;
            if run.failed_and_refused() {
                *self.unevaluated.entry(asked.event.clone()).or_default() += 1;
            }
        }
    }

    /// The counts of one session.
    pub fn of(&self, session_id: &str) -> Tally {
        self.sessions.get(session_id).copied().unwrap_or_default()
    }

    /// All counts in the text format of Prometheus. Event names are becket's own, so nothing needs to be escaped.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, help: &str, lines: Vec<String>| {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} counter\n");
            lines.iter().for_each(|line| {
                let _ = writeln!(text, "{name}{line}");
            });
        };
        family(
            "becket_hook_runs_total",
            "Hooks that were asked, by event and by what came of it.",
            self.runs
                .iter()
                .map(|((event, outcome), count)| {
                    format!("{{event=\"{event}\",outcome=\"{outcome}\"}} {count}")
                })
                .collect(),
        );
        family(
            "becket_hook_seconds_total",
            "How long hooks took, by event.",
            self.took_us
                .iter()
                .map(|(event, took)| format!("{{event=\"{event}\"}} {}", *took as f64 / 1e6))
                .collect(),
        );
        family(
            "becket_guards_unevaluated_total",
            "Guards that could not be evaluated, so that what they guard was refused.",
            match self.unevaluated.is_empty() {
                true => vec![" 0".to_owned()],
                false => self
                    .unevaluated
                    .iter()
                    .map(|(event, count)| format!("{{event=\"{event}\"}} {count}"))
                    .collect(),
            },
        );
        family(
            "becket_traced_sessions_total",
            "Sessions in which hooks were asked.",
            vec![format!(" {}", self.sessions.len())],
        );
        text
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allowed => "allowed",
        Decision::Rewritten => "rewritten",
        Decision::Denied => "denied",
        Decision::Failed => "failed",
        Decision::Skipped => "skipped",
    }
}
