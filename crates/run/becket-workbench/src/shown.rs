//! The result of an event as text and as JSON.

use becket_events::{Class, EventId, Verdict};
use becket_hooks::{Effect, Exchange, HandlerRun, shadow_words};
use becket_system::in_ms;
use serde_json::{Value, json};

use crate::lab::{Fired, NotAsked};

/// The effect of a handler in a few words.
pub fn effect_words(effect: &Effect) -> String {
    match effect {
        Effect::None => "said nothing".into(),
        Effect::Rewrote => "rewrote".into(),
        Effect::Replied => "answered".into(),
        Effect::Denied => "refused".into(),
        Effect::Failed {
            failure,
            refused: true,
        } => format!("failed, which refuses: {failure}"),
        Effect::Failed { failure, .. } => format!("failed: {failure}"),
        Effect::Shadow { would, reason } => shadow_words(&would.to_string(), reason.as_deref()),
        Effect::NotAsked => "not asked".into(),
    }
}

/// A verdict in a few words.
pub fn verdict_words(verdict: Option<&Verdict>) -> String {
    match verdict {
        None => "no decision".into(),
        Some(Verdict::Allow) => "allowed".into(),
        Some(Verdict::Ask(reason)) => format!("asks the user: {reason}"),
        Some(Verdict::Insist(reason)) => format!("only the user can approve it: {reason}"),
        Some(Verdict::Deny(reason)) => format!("refused: {reason}"),
    }
}

/// The result of an event as JSON.
pub fn fired_json(fired: &Fired) -> Value {
    let runs = fired.rehearsed.trace.as_ref().map(|trace| &trace.runs);
    json!({
        "event": fired.event.info().name,
        "payload": fired.rehearsed.before,
        "handlers": runs,
        "not_concerned": fired.others.iter().map(|(info, reason)| json!({
            "name": info.name, "source": info.source, "dialect": info.dialect, "reason": reason,
        })).collect::<Vec<_>>(),
        "elsewhere": fired.elsewhere.iter().map(|(event, info)| json!({
            "name": info.name, "source": info.source, "dialect": info.dialect, "event": event.info().name,
        })).collect::<Vec<_>>(),
        "outcome": {
            "verdict": fired.rehearsed.verdict,
            "decided_by": fired.rehearsed.deciders,
            "reply": fired.rehearsed.reply,
            "rewritten": rewritten(&fired.rehearsed.before, &fired.rehearsed.after),
            "failures": fired.rehearsed.failures,
        },
        "duration_us": fired.rehearsed.trace.as_ref().map_or(0, |trace| trace.duration_us),
    })
}

/// The fields that differ between two payloads, with both values.
pub fn rewritten(before: &Value, after: &Value) -> Value {
    let changed = after.as_object().into_iter().flatten();
    let changed = changed.filter(|(name, value)| before.get(name.as_str()) != Some(value));
    let changed = changed.map(|(name, value)| {
        let was = before.get(name.as_str()).cloned().unwrap_or_default();
        (name.clone(), json!({"from": was, "to": value}))
    });
    Value::Object(changed.collect())
}

/// The result of an event as text.
pub fn fired_text(fired: &Fired) -> String {
    let info = fired.event.info();
    let mut text = format!(
        "{} ({}) {}\n",
        info.name,
        info.class.name(),
        fired.rehearsed.before
    );
    let runs = fired.rehearsed.trace.iter().flat_map(|trace| &trace.runs);
    for (index, run) in runs.enumerate() {
        text.push_str(&format!("\n{}. {}", index + 1, run_text(run, fired.event)));
    }
    if fired.rehearsed.trace.is_none() {
        text.push_str("\nno hook matched\n");
    }
    for line in not_asked(fired) {
        text.push_str(&format!("\n{line}\n"));
    }
    text.push_str(&format!(
        "\noutcome: {}",
        verdict_words(fired.rehearsed.verdict.as_ref())
    ));
    if !fired.rehearsed.deciders.is_empty() {
        text.push_str(&format!(" (by {})", fired.rehearsed.deciders.join(", ")));
    }
    text.push('\n');
    if let Value::Object(changes) = rewritten(&fired.rehearsed.before, &fired.rehearsed.after) {
        for (name, change) in changes {
            text.push_str(&format!("  {name}: {} → {}\n", change["from"], change["to"]));
        }
    }
    let told = fired.rehearsed.reply.as_object().into_iter().flatten();
    for (name, value) in told.filter(|(name, _)| *name != "verdict") {
        if fired.rehearsed.after.get(name) != Some(value) {
            text.push_str(&format!("  {name}: {value}\n"));
        }
    }
    text
}

/// A line for each hook that was not asked, with the reason, and one for hooks of other events if none was.
pub fn not_asked(fired: &Fired) -> impl Iterator<Item = String> {
    let hooks = fired.elsewhere.iter().take(MOST_ELSEWHERE);
    let hooks = hooks.map(|(event, info)| format!("{} ({}, {})", info.name, event.info().name, info.source));
    let hooks: Vec<String> = hooks.collect();
    let more = match fired.elsewhere.len().saturating_sub(MOST_ELSEWHERE) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let elsewhere = (!hooks.is_empty()).then(|| format!("hooks of other events: {}{more}", hooks.join(", ")));
    reasons(&fired.others).chain(elsewhere)
}

/// How many hooks of other events are named.
const MOST_ELSEWHERE: usize = 5;

/// A line for each hook that was not asked, with the reason.
pub fn reasons(others: &[NotAsked]) -> impl Iterator<Item = String> {
    others.iter().map(|(info, reason)| {
        format!(
            "not asked: {} ({}, {}): {reason}",
            info.name, info.dialect.name, info.source
        )
    })
}

/// The class of a handler. A guard whose file lets it fail open has that of a transform.
pub fn class_words(class: Class, is_loosened: bool) -> &'static str {
    match is_loosened {
        true => "guard that may fail open",
        false => class.name(),
    }
}

fn run_text(run: &HandlerRun, event: EventId) -> String {
    let known_as = run.known_as.map_or(String::new(), |name| format!(" as {name}"));
    let lane = serde_json::to_value(run.lane).unwrap_or_default();
    let mut text = format!(
        "{}{known_as} ({}, {}, {}, {})  {}\n",
        run.handler,
        run.dialect.name,
        lane.as_str().unwrap_or_default(),
        class_words(run.class, run.is_loosened(event)),
        run.source,
        in_ms(run.duration_us)
    );
    for exchange in &run.exchanges {
        text.push_str(&exchange_text(exchange));
    }
    if let Some(reply) = run.reply.as_ref().filter(|reply| **reply != json!({})) {
        text.push_str(&format!("   means    {reply}\n"));
    }
    text.push_str(&format!("   effect   {}\n", effect_words(&run.effect)));
    text
}

fn exchange_text(exchange: &Exchange) -> String {
    let mut text = format!("   reads    {}\n", exchange.input);
    for (name, value) in &exchange.environment {
        text.push_str(&format!("   with     {name}={value}\n"));
    }
    let code = exchange
        .exit_code
        .map_or(String::new(), |code| format!("  (exit code {code})"));
    let output = exchange.output.as_deref().map(str::trim_end);
    match output {
        Some("") => text.push_str(&format!("   answers  nothing{code}\n")),
        Some(output) => {
            let lines: Vec<&str> = output.lines().collect();
            text.push_str(&format!("   answers  {}{code}\n", lines.join("\n            ")));
        }
        None => {}
    }
    for line in exchange.stderr.lines() {
        text.push_str(&format!("   stderr   {line}\n"));
    }
    text
}
