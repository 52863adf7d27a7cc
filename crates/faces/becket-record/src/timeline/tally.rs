//! Counts over sessions and hooks, from those that the store keeps: for the lists, and as metrics.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use becket_store::{HookCount, KnownHook, RunEffect, SessionCounts, SessionSummary};
use becket_web::view::{Counts, Decision, HookLine, Tally, Used};

/// What happened in a session, or in several.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// The decisions of hooks.
    pub tally: Tally,
    /// What else happened.
    pub counts: Counts,
    /// What the answers used.
    pub used: Used,
}

impl Totals {
    /// The totals of one session without its sub-agents.
    pub fn of(session: &SessionSummary, counted: Option<&SessionCounts>) -> Self {
        let usage = session.usage;
        let mut totals = Self {
            used: Used {
                input: usage.input_tokens,
                cached: usage.cache_read_tokens,
                output: usage.output_tokens,
                cost: usage.cost,
            },
            ..Self::default()
        };
        let Some(counted) = counted else { return totals };
        for (effect, count) in &counted.runs {
            totals.tally.add(decision(*effect), *count);
        }
        totals.counts = Counts {
            turns: counted.turns,
            requests: counted.requests,
            calls: counted.calls,
            hook_runs: totals.tally.runs(),
            refused: counted.refused_calls + counted.refused_events,
            failed: totals.tally.failed + counted.failed_calls + counted.failed_requests,
        };
        totals
    }

    /// Adds the totals of another session.
    pub fn add(&mut self, other: &Self) {
        let tally = &other.tally;
        self.tally.add(Decision::Allowed, tally.allowed);
        self.tally.add(Decision::Rewritten, tally.rewritten);
        self.tally.add(Decision::Denied, tally.denied);
        self.tally.add(Decision::Failed, tally.failed);
        self.tally.add(Decision::Skipped, tally.skipped);
        self.counts.turns += other.counts.turns;
        self.counts.requests += other.counts.requests;
        self.counts.calls += other.counts.calls;
        self.counts.hook_runs += other.counts.hook_runs;
        self.counts.refused += other.counts.refused;
        self.counts.failed += other.counts.failed;
        self.used.input += other.used.input;
        self.used.cached += other.used.cached;
        self.used.output += other.used.output;
        self.used.cost = match (self.used.cost, other.used.cost) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
    }
}

/// The totals of each session together with those of its sub-agents.
pub fn with_sub_agents(
    sessions: &[SessionSummary],
    counted: &HashMap<String, SessionCounts>,
) -> HashMap<String, Totals> {
    /// How deep sub-agents are looked for, so that a circle comes to an end.
    const DEEPEST: usize = 64;
    let parents: HashMap<&str, &str> = sessions
        .iter()
        .filter_map(|session| Some((session.id.as_str(), session.parent_id.as_deref()?)))
        .collect();
    let mut totals: HashMap<String, Totals> = HashMap::new();
    for session in sessions {
        let own = Totals::of(session, counted.get(&session.id));
        let above = std::iter::successors(Some(session.id.as_str()), |id| {
            parents.get(id).copied().filter(|parent| *parent != session.id)
        });
        for id in above.take(DEEPEST) {
            totals.entry(id.to_owned()).or_default().add(&own);
        }
    }
    totals
}

/// The hooks with what came of their runs; the counts are ordered by hook and duration.
pub fn hook_lines(known: Vec<KnownHook>, counts: &[HookCount]) -> Vec<HookLine> {
    let mut of_hook: HashMap<u64, &[HookCount]> = HashMap::new();
    for some in counts.chunk_by(|one, other| one.hook == other.hook) {
        of_hook.insert(some[0].hook, some);
    }
    let line = |hook: KnownHook| hook_line(&hook, of_hook.get(&hook.id).copied().unwrap_or_default());
    known.into_iter().map(line).collect()
}

fn hook_line(hook: &KnownHook, counts: &[HookCount]) -> HookLine {
    let mut tally = Tally::default();
    for count in counts {
        tally.add(decision(count.effect), count.count);
    }
    let asked = || counts.iter().filter(|count| count.effect != RunEffect::NotAsked);
    let unevaluated = counts
        .iter()
        .filter(|count| count.effect == RunEffect::Unevaluated);
    HookLine {
        hook: hook.handler.clone(),
        event: hook.event.clone(),
        source: hook.source.clone(),
        runs: tally.runs(),
        unevaluated: unevaluated.map(|count| count.count).sum(),
        p50_us: percentile(asked(), tally.runs(), 50),
        p95_us: percentile(asked(), tally.runs(), 95),
        total_us: asked().map(|count| count.sum_us).sum(),
        tally,
        sessions: hook.sessions,
        last_ms: hook.last_ms,
        last_session: hook.last_session.clone(),
    }
}

/// The duration that so many of a hundred runs did not exceed, of counts ordered by duration.
fn percentile<'a>(mut counts: impl Iterator<Item = &'a HookCount>, runs: u64, hundredths: u64) -> u64 {
    let rank = (runs * hundredths).div_ceil(100);
    let mut passed = 0;
    let reached = counts.find(|count| {
        passed += count.count;
        passed >= rank
    });
    reached.map_or(0, |count| count.took_us)
}

fn decision(effect: RunEffect) -> Decision {
    match effect {
        RunEffect::Passed => Decision::Allowed,
        RunEffect::Rewrote => Decision::Rewritten,
        RunEffect::Denied => Decision::Denied,
        RunEffect::Failed | RunEffect::Unevaluated => Decision::Failed,
        RunEffect::NotAsked => Decision::Skipped,
    }
}

/// The counts of hooks in the text format of Prometheus. Event names are becket's own, so nothing needs to be escaped.
pub fn metrics(hooks: &[HookLine], traced_sessions: usize) -> String {
    let mut runs: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut unevaluated: BTreeMap<&str, u64> = BTreeMap::new();
    let mut took_us: BTreeMap<&str, u64> = BTreeMap::new();
    for hook in hooks {
        let tally = &hook.tally;
        for (outcome, count) in [
            ("allowed", tally.allowed),
            ("rewritten", tally.rewritten),
            ("denied", tally.denied),
            ("failed", tally.failed),
            ("skipped", tally.skipped),
        ] {
            *runs.entry((&hook.event, outcome)).or_default() += count;
        }
        *unevaluated.entry(&hook.event).or_default() += hook.unevaluated;
        *took_us.entry(&hook.event).or_default() += hook.total_us;
    }
    runs.retain(|_, count| *count > 0);
    unevaluated.retain(|_, count| *count > 0);
    let mut text = String::new();
    let mut family = |name: &str, help: &str, lines: Vec<String>| {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} counter\n");
        lines.iter().for_each(|line| {
            let _ = writeln!(text, "{name}{line}");
        });
    };
    let run_lines = runs
        .iter()
        .map(|((event, outcome), count)| format!("{{event=\"{event}\",outcome=\"{outcome}\"}} {count}"));
    family(
        "becket_hook_runs_total",
        "Hooks that were asked, by event and by what came of it.",
        run_lines.collect(),
    );
    let took_lines = took_us
        .iter()
        .map(|(event, took)| format!("{{event=\"{event}\"}} {}", *took as f64 / 1e6));
    family(
        "becket_hook_seconds_total",
        "How long hooks took, by event.",
        took_lines.collect(),
    );
    let by_event = unevaluated
        .iter()
        .map(|(event, count)| format!("{{event=\"{event}\"}} {count}"));
    family(
        "becket_guards_unevaluated_total",
        "Guards that could not be evaluated, so that what they guard was refused.",
        match unevaluated.is_empty() {
            true => vec![" 0".to_owned()],
            false => by_event.collect(),
        },
    );
    family(
        "becket_traced_sessions_total",
        "Sessions in which hooks were asked.",
        vec![format!(" {traced_sessions}")],
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(effect: RunEffect, took_us: u64, count: u64) -> HookCount {
        HookCount {
            hook: 1,
            effect,
            took_us,
            count,
            sum_us: took_us * count,
        }
    }

    #[test]
    fn percentiles_count_the_hooks_that_were_asked() {
        let counts = [
            count(RunEffect::NotAsked, 0, 900),
            count(RunEffect::Passed, 10, 50),
            count(RunEffect::Denied, 20, 45),
            count(RunEffect::Failed, 5_000, 5),
        ];
        let hook = KnownHook {
            id: 1,
            event: "pre_tool".into(),
            handler: "guard".into(),
            source: "becket.toml:1".into(),
            sessions: 1,
            last_session: "s".into(),
            last_ms: 0,
        };
        let line = hook_line(&hook, &counts);
        assert_eq!((line.runs, line.tally.skipped), (100, 900));
        assert_eq!((line.p50_us, line.p95_us), (10, 20));
        let line = hook_line(&hook, &counts[..1]);
        assert_eq!((line.runs, line.p50_us, line.p95_us), (0, 0, 0));
        let line = hook_line(&hook, &counts[3..]);
        assert_eq!((line.p50_us, line.p95_us, line.total_us), (5_000, 5_000, 25_000));
    }
}
