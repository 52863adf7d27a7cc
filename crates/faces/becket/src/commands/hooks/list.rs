//! `becket hooks list`: the hooks that count here, in firing order, with what is known of their runs, and what
//! extensions bring.

use std::collections::BTreeMap;
use std::path::Path;

use becket_events::{EVENTS, EventId};
use becket_face_kit::listening;
use becket_hooks::HandlerInfo;
use becket_host::{FoundGuest, Listed};
use becket_run::hosts::HOOK;
use becket_store::StoredTrace;
use becket_system::moments::ago;
use becket_system::{CliError, Exit, Surroundings, harmless, in_ms};
use becket_workbench::{class_words, event_called};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// How many past dispatches are read.
pub const PAST: u32 = 5_000;

/// Lists the hooks. Those that are not trusted are named and not loaded.
pub fn run(options: &Options, event: Option<&str>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let event = event.map(|name| event_called(name, None)).transpose()?;
    let lines = listening(options, surroundings, async |signals| {
        list(options, event, surroundings, &signals.next()).await
    })?;
    let all = lines.into_iter().map(|line| match options.run.json {
        true => format!("{}\n", line.json),
        false => format!("{}\n", harmless(&line.text)),
    });
    print(&all.collect::<String>())?;
    Ok(Exit::Answered)
}

/// A line of the listing, as text and as JSON.
struct Line {
    text: String,
    json: Value,
}

async fn list(
    options: &Options,
    wanted: Option<EventId>,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
) -> Result<Vec<Line>, CliError> {
    let lab = lab(options, surroundings, None, cancel).await?;
    let past = Past::of(&lab.assembled.store.record().newest_dispatches(PAST)?);
    let is_wanted = |event: &EventId| wanted.is_none_or(|wanted| wanted == *event);
    let mut lines = Vec::new();
    for event in EVENTS.iter().map(|info| info.id).filter(is_wanted) {
        let handlers = lab.engine().handlers_of(event).into_iter();
        for info in handlers.filter(|info| !info.is_of_the_program()) {
            lines.push(hook_line(event, &info, true, past.runs(event, &info)));
        }
    }
    let untrusted = lab.setup.project.untrusted_hooks.iter();
    let untrusted = untrusted.filter(|hook| is_wanted(&hook.event));
    lines.extend(untrusted.map(|hook| hook_line(hook.event, &hook.info, false, None)));
    if wanted.is_none() {
        let listed = lab.assembled.listed().into_iter();
        lines.extend(listed.map(|Listed { text, json }| Line { text, json }));
        // Those of becket's own format are there already, with their events.
        let own: Vec<&str> = lab
            .setup
            .project
            .untrusted_hooks
            .iter()
            .map(|hook| &*hook.info.source)
            .collect();
        let is_own = |guest: &FoundGuest| own.iter().any(|source| guest.file == Path::new(source));
        let untrusted = lab.setup.found.all().into_iter();
        let untrusted = untrusted.filter(|(_, guest)| !guest.is_trusted && !is_own(guest));
        lines.extend(untrusted.map(|(kind, guest)| untrusted_line(kind, &guest)));
    }
    lab.close(surroundings).await?;
    Ok(lines)
}

/// The line of a hook.
fn hook_line(event: EventId, info: &HandlerInfo, trusted: bool, runs: Option<&Runs>) -> Line {
    let name = event.info().name;
    let mut json = serde_json::to_value(info).unwrap_or_default();
    json["event"] = name.into();
    json["kind"] = "hook".into();
    json["trusted"] = trusted.into();
    json["fails_open"] = info.is_loosened(event).into();
    json["runs"] = runs.map_or(json!({"count": 0}), Runs::json);
    let lane = json["lane"].as_str().unwrap_or_default().to_owned();
    let mut text = format!("{name:<22} {:<12} {}", info.dialect.name, info.name);
    if let Some(known_as) = info.known_as {
        text.push_str(&format!(" as {known_as}"));
    }
    text.push_str(&format!("  ({})", info.source));
    text.push_str(&format!(
        "  {lane} {} {} s",
        class_words(info.class, info.is_loosened(event)),
        info.timeout.as_secs_f64()
    ));
    if info.shadow {
        text.push_str("  in shadow");
    }
    if !info.rewrites {
        text.push_str("  rewrites nothing");
    }
    if info.priority != 0 {
        text.push_str(&format!("  priority {}", info.priority));
    }
    if let Some(matcher) = &info.matcher {
        text.push_str(&format!("  where {matcher}"));
    }
    if let Some(runs) = runs {
        text.push_str(&format!("  {}", runs.text()));
    }
    if !trusted {
        text.push_str("  not trusted");
    }
    Line { text, json }
}

/// The recent runs of all hooks.
pub struct Past(BTreeMap<(String, String, String), Runs>);

/// The runs of one hook.
#[derive(Default)]
pub struct Runs {
    last_ms: u64,
    failed: usize,
    durations_us: Vec<u64>,
}

impl Past {
    pub fn of(dispatches: &[StoredTrace]) -> Self {
        let mut past: BTreeMap<_, Runs> = BTreeMap::new();
        for dispatch in dispatches {
            let json: Value = serde_json::from_str(dispatch.dispatch.text()).unwrap_or_default();
            for run in json["runs"].as_array().into_iter().flatten() {
                let effect = run["effect"]["kind"].as_str().unwrap_or_default();
                if effect == "not_asked" {
                    continue;
                }
                let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
                let key = (dispatch.event.clone(), text("handler"), text("source"));
                let runs = past.entry(key).or_default();
                runs.last_ms = runs.last_ms.max(dispatch.time_ms);
                runs.failed += usize::from(effect == "failed");
                runs.durations_us
                    .push(run["duration_us"].as_u64().unwrap_or_default());
            }
        }
        for runs in past.values_mut() {
            runs.durations_us.sort_unstable();
        }
        Self(past)
    }

    pub fn runs(&self, event: EventId, info: &HandlerInfo) -> Option<&Runs> {
        let key = (
            event.info().name.to_owned(),
            info.name.clone(),
            info.source.clone(),
        );
        self.0.get(&key)
    }
}

impl Runs {
    pub fn count(&self) -> usize {
        self.durations_us.len()
    }

    fn json(&self) -> Value {
        json!({
            "count": self.durations_us.len(),
            "failed": self.failed,
            "last_ms": self.last_ms,
            "p50_us": percentile(&self.durations_us, 50),
            "p95_us": percentile(&self.durations_us, 95),
        })
    }

    fn text(&self) -> String {
        let (p50, p95) = (
            percentile(&self.durations_us, 50),
            percentile(&self.durations_us, 95),
        );
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        format!(
            "{} runs{failed}, last {}, p50 {}, p95 {}",
            self.durations_us.len(),
            ago(self.last_ms),
            in_ms(p50),
            in_ms(p95)
        )
    }
}

/// The value that so many percent of the sorted values do not exceed.
pub fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).copied().unwrap_or_default()
}

/// The line of a guest that is not trusted. What it brings is not known before it runs, but for a hook.
fn untrusted_line(kind: &str, guest: &FoundGuest) -> Line {
    let file = &guest.file;
    let mut json = json!({"kind": kind, "path": file, "trusted": false});
    let mut text = kind.to_owned();
    if kind == HOOK {
        json["name"] = guest.name.as_str().into();
        text.push_str(&format!(" {}", guest.name));
    }
    text.push_str(&format!(" {}  not trusted", file.display()));
    Line { text, json }
}
