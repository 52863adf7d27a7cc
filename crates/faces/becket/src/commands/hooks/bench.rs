//! `becket hooks bench`: what each hook costs, and its share of a turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use becket_agent::store::SpanKind;
use becket_events::{EVENTS, EventId};
use becket_face_kit::cancellable;
use becket_hooks::{Dialect, HandlerInfo, LaneKind, Rehearsal};
use becket_system::{CliError, Exit, Surroundings, harmless, in_ms};
use becket_workbench::{Lab, PayloadOverrides, event_called};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::jq_report::{JqReport, in_words};
use super::list::{Past, percentile};
use crate::args::BenchArgs;
use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// How many past turns are read.
const TURNS: u32 = 200;

/// Measures the hooks that count here.
pub fn run(options: &Options, wanted: &BenchArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let event = wanted
        .event
        .as_deref()
        .map(|name| event_called(name, None))
        .transpose()?;
    let overrides = PayloadOverrides {
        set: PayloadOverrides::set(&wanted.set).map_err(CliError::usage)?,
        ..PayloadOverrides::default()
    };
    let (mut jq, surroundings) = JqReport::begin(options, surroundings)?;
    let surroundings = &surroundings;
    cancellable(options, surroundings, async |cancel| {
        let lab = lab(options, surroundings, None, &cancel).await?.begin().await;
        let costs = measure(&lab, event, &overrides, (wanted.runs, &mut jq), &cancel).await;
        lab.close(surroundings).await?;
        tell(options, &costs?, wanted.budget)
    })
}

/// The measured cost of one hook.
struct Cost {
    event: EventId,
    info: Arc<HandlerInfo>,
    /// The duration of each run, shortest first; empty if the hook does not match the event.
    durations_us: Vec<u64>,
    failed: usize,
    /// The hook's share of a turn, by the recorded turns.
    share: Option<f64>,
    /// Which jq has answered the hook, and how often.
    jq: BTreeMap<String, usize>,
}

async fn measure(
    lab: &Lab,
    wanted: Option<EventId>,
    overrides: &PayloadOverrides,
    (runs, jq): (u32, &mut JqReport),
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
                jq: BTreeMap::new(),
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
                let fired = lab.rehearse(event, overrides, &lab.scope(), rehearsal).await?;
                let Some(done) = fired
                    .rehearsed
                    .trace
                    .as_ref()
                    .and_then(|trace| trace.runs.first())
                else {
                    break;
                };
                if run > 0 {
                    cost.durations_us.push(done.duration_us);
                    cost.failed += usize::from(!fired.rehearsed.failures.is_empty());
                }
            }
            cost.durations_us.sort_unstable();
            cost.share = history.share(&cost);
            cost.jq = jq.news();
            costs.push(cost);
        }
    }
    Ok(costs)
}

/// Whether a handler is a hook: parts of the program that listen to events are not.
fn is_hook(info: &Arc<HandlerInfo>) -> bool {
    info.lane != LaneKind::Native || info.dialect != Dialect::BECKET
}

/// The recorded turns.
struct History {
    past: Past,
    turns_us: Vec<u64>,
}

impl History {
    fn of(lab: &Lab) -> Result<Self, CliError> {
        let store = &lab.assembled.store;
        let turns = store.record().newest_spans(SpanKind::Turn, TURNS)?;
        let duration = |json: &becket_events::Json| {
            let json: Value = serde_json::from_str(json.text()).unwrap_or_default();
            json["duration_us"].as_u64().unwrap_or_default()
        };
        Ok(Self {
            past: Past::of(&store.record().newest_dispatches(super::list::PAST)?),
            turns_us: turns.iter().map(|turn| duration(&turn.dispatch)).collect(),
        })
    }

    /// A hook's share of a turn: its runs in past turns, or one run if there were none.
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

    /// The duration that so many percent of the runs do not exceed; `None` if the hook did not run.
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
            "jq": self.jq,
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
            return format!("{place}  does not handle this event; `--set` changes it");
        }
        let (p50, p95) = (
            percentile(&self.durations_us, 50),
            percentile(&self.durations_us, 95),
        );
        let mut text = format!("{place}  p50 {}, p95 {}", in_ms(p50), in_ms(p95));
        if let Some(share) = self.share {
            text.push_str(&format!(", {:.1} % of a turn", share * 100.0));
        }
        if !self.jq.is_empty() {
            text.push_str(&format!(", {}", in_words(&self.jq)));
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
        match options.run.json {
            true => print(&format!("{}\n", cost.json(budget)))?,
            false => print(&harmless(&format!("{}\n", cost.text(budget))))?,
        }
    }
    if costs.is_empty() && !options.run.json {
        print("there are no hooks here\n")?;
    }
    // One that fails is quick, and not what the budget is for.
    let is_bad = |cost: &Cost| cost.is_over(budget) || (budget.is_some() && cost.failed > 0);
    Ok(match costs.iter().any(is_bad) {
        true => Exit::Failed,
        false => Exit::Answered,
    })
}
