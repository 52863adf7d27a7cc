//! `becket hooks bench`: what each hook costs, and its share of a turn.

use std::sync::Arc;

use becket_agent::store::SpanKind;
use becket_events::{EVENTS, EventId};
use becket_hooks::{Dialect, HandlerInfo, LaneKind, Rehearsal};
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::list::{Past, percentile};
use crate::args::{BenchArgs, Options};
use crate::commands::{cancellable, print};
use crate::workbench::{Lab, Wish, event_called, in_ms};

/// How many turns of the past are looked at.
const TURNS: u32 = 200;

/// Measures the hooks that count here.
pub fn run(options: &Options, wanted: &BenchArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let event = wanted
        .event
        .as_deref()
        .map(|name| event_called(name, None))
        .transpose()?;
    let wish = Wish {
        set: Wish::set(&wanted.set).map_err(CliError::usage)?,
        ..Wish::default()
    };
    cancellable(options, surroundings, async |cancel| {
        let lab = Lab::open(options, surroundings, None, &cancel)
            .await?
            .begin()
            .await;
        let costs = measure(&lab, event, &wish, wanted.runs, &cancel).await;
        lab.close(surroundings).await?;
        tell(options, &costs?, wanted.budget)
    })
}

/// What one hook costs.
struct Cost {
    event: EventId,
    info: Arc<HandlerInfo>,
    /// How long each run took, the shortest first; empty if it does not want the event as it was fired.
    durations_us: Vec<u64>,
    failed: usize,
    /// The part of a turn that it takes, by what is recorded of turns.
    share: Option<f64>,
}

async fn measure(
    lab: &Lab,
    wanted: Option<EventId>,
    wish: &Wish,
    runs: u32,
    cancel: &CancellationToken,
) -> Result<Vec<Cost>, CliError> {
    let history = History::of(lab)?;
    let events = EVENTS.iter().map(|info| info.id);
    let mut costs = Vec::new();
    for event in events.filter(|event| wanted.is_none_or(|wanted| wanted == *event)) {
        for info in lab.engine().handlers_of(event).into_iter().filter(is_hook) {
            let mut cost = Cost {
                event,
                info: Arc::clone(&info),
                durations_us: Vec::new(),
                failed: 0,
                share: None,
            };
            // The first run starts what then stays alive, and does not count.
            for run in 0..=runs {
                if cancel.is_cancelled() {
                    return Err(CliError::cancelled());
                }
                let among = |other: &HandlerInfo| std::ptr::eq(other, &*info);
                let rehearsal = Rehearsal {
                    among: Some(&among),
                    fault: None,
                };
                let fired = lab.rehearse(event, wish, &lab.scope(), rehearsal).await?;
                let Some(done) = fired.trace.as_ref().and_then(|trace| trace.runs.first()) else {
                    break;
                };
                if run > 0 {
                    cost.durations_us.push(done.duration_us);
                    cost.failed += usize::from(!fired.failures.is_empty());
                }
            }
            cost.durations_us.sort_unstable();
            cost.share = history.share(&cost);
            costs.push(cost);
        }
    }
    Ok(costs)
}

/// Whether somebody has written it: parts of the program that listen are no hooks.
fn is_hook(info: &Arc<HandlerInfo>) -> bool {
    info.lane != LaneKind::Native || info.dialect != Dialect::BECKET
}

/// What is recorded of turns.
struct History {
    past: Past,
    turns_us: Vec<u64>,
}

impl History {
    fn of(lab: &Lab) -> Result<Self, CliError> {
        let store = &lab.assembled.store;
        let turns = store.newest_spans(SpanKind::Turn, TURNS)?;
        let duration = |json: &becket_events::Json| {
            let json: Value = serde_json::from_str(json.text()).unwrap_or_default();
            json["duration_us"].as_u64().unwrap_or_default()
        };
        Ok(Self {
            past: Past::of(&store.newest_dispatches(super::list::PAST)?),
            turns_us: turns.iter().map(|turn| duration(&turn.dispatch)).collect(),
        })
    }

    /// How much of a turn a hook takes: as often as it ran in turns of the past, or once.
    fn share(&self, cost: &Cost) -> Option<f64> {
        let whole: u64 = self.turns_us.iter().sum();
        if whole == 0 || cost.durations_us.is_empty() {
            return None;
        }
        let turns = self.turns_us.len() as f64;
        let runs = self
            .past
            .runs(cost.event, &cost.info)
            .map_or(1.0, |runs| runs.count() as f64 / turns);
        let median = percentile(&cost.durations_us, 50) as f64;
        Some((median * runs / (whole as f64 / turns)).min(1.0))
    }
}

impl Cost {
    fn is_over(&self, budget: Option<f64>) -> bool {
        let p95 = percentile(&self.durations_us, 95) as f64 / 1_000.0;
        budget.is_some_and(|budget| p95 > budget)
    }

    /// How long it takes in that many of a hundred runs; nobody knows of one that did not run.
    fn measured(&self, percent: usize) -> Option<u64> {
        (!self.durations_us.is_empty()).then(|| percentile(&self.durations_us, percent))
    }

    fn json(&self, budget: Option<f64>) -> Value {
        json!({
            "event": self.event.info().name,
            "name": self.info.name,
            "source": self.info.source,
            "dialect": self.info.dialect,
            "lane": self.info.lane,
            "runs": self.durations_us.len(),
            "failed": self.failed,
            "p50_us": self.measured(50),
            "p95_us": self.measured(95),
            "max_us": self.durations_us.last(),
            "share_of_turn": self.share,
            "over_budget": self.is_over(budget),
        })
    }

    fn text(&self, budget: Option<f64>) -> String {
        let place = format!(
            "{:<22} {:<12} {}  ({})",
            self.event.info().name,
            self.info.dialect.name,
            self.info.name,
            self.info.source
        );
        if self.durations_us.is_empty() {
            return format!("{place}  not concerned by this event; `--set` makes another one");
        }
        let (p50, p95) = (
            percentile(&self.durations_us, 50),
            percentile(&self.durations_us, 95),
        );
        let mut text = format!("{place}  p50 {}, p95 {}", in_ms(p50), in_ms(p95));
        if let Some(share) = self.share {
            text.push_str(&format!(", {:.1} % of a turn", share * 100.0));
        }
        if self.failed > 0 {
            text.push_str(&format!(
                ", {} of {} runs failed",
                self.failed,
                self.durations_us.len()
            ));
        }
        if self.is_over(budget) {
            text.push_str("  over the budget");
        }
        text
    }
}

fn tell(options: &Options, costs: &[Cost], budget: Option<f64>) -> Result<Exit, CliError> {
    for cost in costs {
        match options.json {
            true => print(&format!("{}\n", cost.json(budget)))?,
            false => print(&harmless(&format!("{}\n", cost.text(budget))))?,
        }
    }
    if costs.is_empty() && !options.json {
        print("there are no hooks here\n")?;
    }
    // One that fails is quick, and not what the budget is for.
    let is_bad = |cost: &Cost| cost.is_over(budget) || (budget.is_some() && cost.failed > 0);
    Ok(match costs.iter().any(is_bad) {
        true => Exit::Failed,
        false => Exit::Answered,
    })
}
