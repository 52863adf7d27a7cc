//! Everything about one bar: input, output, and what hooks changed.

use std::time::Duration;

use becket_agent::store::{EntryContent, StoreError, StoredEntry};
use becket_events::{Message, MessageBody, ToolCall};
use becket_store::{Beginning, SessionSummary};
use becket_web::view::{Body, Decision, Details, Line, Section, Spoken};
use serde_json::Value;
use serde_json::value::RawValue;
use similar::{ChangeTag, TextDiff};

use super::asked::{Asked, Run};
use super::record::Record;
use super::tree::{Node, Origin};

/// The longest text that is shown; a browser is slow with more.
const LONGEST: usize = 200_000;

/// How long to compute a difference; after that it is less exact.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// How many unchanged lines are shown around a change.
const AROUND: usize = 3;

/// The events whose final payload a request was made of, the last one first.
const REQUESTS: &[&str] = &["pre_request", "model_context"];

/// Everything about one bar of a session that is shown from a turn on.
pub fn of(
    record: &Record,
    session: &SessionSummary,
    bar_id: &str,
    from: &Beginning,
) -> Result<Option<Details>, StoreError> {
    if let Some((seq, run)) = hook_of(bar_id) {
        return hook(record, session, seq, run);
    }
    let branch = record.branch(0, session, from)?;
    let Some(node) = branch.find(bar_id) else {
        return Ok(None);
    };
    let asked = dispatches(record, node)?;
    let mut details = match &node.origin {
        Origin::Message(message) => said(message),
        Origin::Turn(messages) => turn(node, messages),
        Origin::Request(answer, entry_id) => {
            let until = record.store.record().conversation_until(&session.id, entry_id)?;
            request(answer, &until, &asked)
        }
        Origin::Tool(call, result, noted) => tool(call, result.as_ref(), noted, &asked),
        Origin::Unanswered(noted) => unanswered(node, noted),
        Origin::Inner(noted) => inner(node, noted),
        Origin::Hook => Details::default(),
    };
    details.decision = node.bar.decision;
    details.facts.extend(times(node));
    details.sections.extend(hooks_asked(&asked));
    Ok(Some(details))
}

/// Parses the id of a hook's bar, `h:SEQ:RUN`.
fn hook_of(bar_id: &str) -> Option<(u64, usize)> {
    let (seq, run) = bar_id.strip_prefix("h:")?.split_once(':')?;
    Some((seq.parse().ok()?, run.parse().ok()?))
}

/// The dispatches whose hooks belong to a node, each once.
fn dispatches(record: &Record, node: &Node) -> Result<Vec<Asked>, StoreError> {
    let mut places: Vec<u64> = node
        .children
        .iter()
        .filter_map(|child| hook_of(&child.bar.id))
        .map(|(seq, _)| seq)
        .collect();
    places.dedup();
    let mut asked = Vec::new();
    for place in places {
        asked.extend(
            record
                .store
                .record()
                .dispatch(place)?
                .as_ref()
                .and_then(Asked::read),
        );
    }
    Ok(asked)
}

fn hook(
    record: &Record,
    session: &SessionSummary,
    seq: u64,
    index: usize,
) -> Result<Option<Details>, StoreError> {
    let trace = record.store.record().dispatch(seq)?;
    let trace = trace.filter(|trace| trace.session_id == session.id);
    let Some(asked) = trace.as_ref().and_then(Asked::read) else {
        return Ok(None);
    };
    let Some(run) = asked.runs.get(index) else {
        return Ok(None);
    };
    let known_as = run.known_as.as_deref().filter(|name| *name != asked.event);
    let mut facts = vec![fact("event", &asked.event)];
    facts.extend(known_as.map(|name| fact("known to the hook as", name)));
    facts.push(fact("hook", &run.handler));
    facts.push(fact("from", &run.source));
    facts.push(fact("run by", &run.lane));
    facts.push(fact("took", &duration(run.duration_us as f64 / 1e3)));
    facts.push(fact(
        "place",
        &format!("{} of {} hooks of this event", index + 1, asked.runs.len()),
    ));
    let mut sections = Vec::new();
    sections.extend(input(&asked, index));
    sections.extend(answer(run));
    if run.decision() == Decision::Rewritten {
        sections.extend(difference(&asked));
    }
    if !run.stderr().is_empty() {
        sections.push(text("Standard error", run.stderr()));
    }
    Ok(Some(Details {
        title: format!("{} on {}", run.handler, asked.event),
        decision: Some(run.decision()),
        reason: run
            .reason()
            .or_else(|| asked.reason().filter(|_| asked.runs.len() == 1)),
        facts,
        sections,
    }))
}

/// What a hook was given, in becket's own words. A payload between two rewrites is not recorded; then it is the
/// original.
fn input(asked: &Asked, index: usize) -> Option<Section> {
    let rewrote = |run: &&Run| run.decision() == Decision::Rewritten;
    let earlier = asked.runs[..index].iter().filter(rewrote).count();
    let all = asked.runs.iter().filter(rewrote).count();
    let (title, given) = match earlier {
        0 => ("Input", &asked.original),
        _ if earlier == all => ("Input", &asked.effective),
        _ => ("Input, before earlier hooks changed it", &asked.original),
    };
    if let Some(given) = given {
        return Some(text(title, &pretty(given.get())));
    }
    let hash = asked.runs[index].input_hash.as_ref()?;
    let words = format!("The text itself was not kept. Its BLAKE3 hash is {hash}");
    Some(text("Input", &words))
}

fn answer(run: &Run) -> Option<Section> {
    let reply = run.reply.as_ref()?;
    Some(match reply.get() {
        "{}" | "null" => text("Answer", "No answer; nothing changed."),
        reply => text("Answer", &pretty(reply)),
    })
}

fn difference(asked: &Asked) -> Option<Section> {
    let (original, effective) = (asked.original.as_ref()?, asked.effective.as_ref()?);
    let title = match asked
        .runs
        .iter()
        .filter(|run| run.decision() == Decision::Rewritten)
        .count()
    {
        1 => "Difference".to_owned(),
        count => format!("Difference (all {count} rewrites of this event)"),
    };
    compare(&title, &readable(original), &readable(effective))
}

fn said(message: &Message) -> Details {
    let title = match message.body() {
        MessageBody::Note { kind, .. } => format!("Note: {kind}"),
        _ => "Prompt".to_owned(),
    };
    Details {
        title,
        sections: vec![text("What the model saw", &message.text())],
        ..Details::default()
    }
}

fn turn(node: &Node, messages: &[Message]) -> Details {
    Details {
        title: format!("T{}", &node.bar.label[1..]),
        sections: vec![conversation("Conversation", messages.iter())],
        ..Details::default()
    }
}

fn request(answer: &Message, until: &[StoredEntry], asked: &[Asked]) -> Details {
    let mut details = Details {
        title: "Request".into(),
        ..Details::default()
    };
    if let MessageBody::Assistant {
        model,
        usage,
        stop_reason,
        ..
    } = answer.body()
    {
        details.title = format!("Request to {model}");
        let stopped = serde_json::to_value(stop_reason).unwrap_or_default();
        details
            .facts
            .push(fact("stopped because of", stopped.as_str().unwrap_or_default()));
        details
            .facts
            .push(fact("tokens in", &usage.input_tokens.to_string()));
        details
            .facts
            .push(fact("from a cache", &usage.cache_read_tokens.to_string()));
        details
            .facts
            .push(fact("tokens out", &usage.output_tokens.to_string()));
        details
            .facts
            .extend(usage.cost.map(|cost| fact("cost", &format!("${cost:.4}"))));
    }
    details.sections.push(text("Answer", &spoken(answer).text));
    details.sections.extend(what_the_model_saw(answer, until, asked));
    details
}

/// The request as a hook has changed it, else the conversation until then.
fn what_the_model_saw(answer: &Message, until: &[StoredEntry], asked: &[Asked]) -> Vec<Section> {
    const TITLE: &str = "What the model saw";
    let changed = REQUESTS.iter().find_map(|event| {
        asked
            .iter()
            .find(|asked| asked.event == *event && asked.effective.is_some())
    });
    if let Some(changed) = changed {
        let effective = changed.effective.as_ref().map_or("", |json| json.get());
        let mut sections = vec![text(TITLE, &pretty(effective))];
        sections.extend(difference(changed));
        return sections;
    }
    let messages = until.iter().filter_map(|entry| match &entry.content {
        EntryContent::Message { message } if message.id() != answer.id() => Some(message),
        _ => None,
    });
    // A summary stands for what was before it.
    let summary = until.iter().rev().find_map(|entry| match &entry.content {
        EntryContent::Compaction { summary, .. } => Some(text("Summary of what came before", summary)),
        _ => None,
    });
    let mut sections: Vec<Section> = summary.into_iter().collect();
    sections.push(conversation(TITLE, messages));
    sections
}

/// Details of a request that led to no answer in the conversation.
fn unanswered(node: &Node, noted: &Value) -> Details {
    let noted = serde_json::to_string_pretty(noted).unwrap_or_default();
    Details {
        title: format!("Request to {}", node.bar.label),
        reason: node.bar.decision.map(|_| node.bar.words.clone()),
        sections: vec![text("How it ended", &noted)],
        ..Details::default()
    }
}

/// Details of a call that no answer in the conversation asked for.
fn inner(node: &Node, noted: &Value) -> Details {
    let arguments = serde_json::to_string_pretty(&noted["arguments"]).unwrap_or_default();
    Details {
        title: node.bar.label.clone(),
        reason: noted["refused"].as_str().map(ToOwned::to_owned),
        facts: vec![fact("asked for by", "a program, a hook or another tool")],
        sections: vec![text("Input", &arguments)],
        ..Details::default()
    }
}

fn tool(call: &ToolCall, result: Option<&Message>, noted: &Value, asked: &[Asked]) -> Details {
    let of = |event: &str| asked.iter().find(|asked| asked.event == event);
    let mut sections = vec![text("Input", &pretty(&call.arguments))];
    if let Some(mut changed) = of("pre_tool").and_then(difference) {
        changed.title = "Difference: what hooks changed in the call".into();
        sections.push(changed);
    }
    match result {
        Some(result) => sections.push(text("What the model saw", &result.text())),
        None => sections.push(text("What the model saw", "There is no result yet.")),
    }
    if let Some(mut changed) = of("pre_tool_output").and_then(difference) {
        changed.title = "Difference: what hooks changed in the result".into();
        sections.push(changed);
    }
    let allowed_by = noted["allowed_by"].as_str();
    let refused = noted["refused"].as_str().map(ToOwned::to_owned);
    let worst = |decision: Decision| asked.iter().find_map(|asked| refusal(asked, decision));
    Details {
        title: call.name.clone(),
        reason: worst(Decision::Denied)
            .or(refused)
            .or_else(|| worst(Decision::Failed)),
        facts: [("call", Some(call.id.as_str())), ("allowed by", allowed_by)]
            .into_iter()
            .filter_map(|(name, value)| Some(fact(name, value?)))
            .collect(),
        sections,
        ..Details::default()
    }
}

/// Which hook refused or failed, and why.
fn refusal(asked: &Asked, decision: Decision) -> Option<String> {
    let run = asked.runs.iter().find(|run| run.decision() == decision)?;
    let reason = run.reason().or_else(|| asked.reason())?;
    Some(format!("{} on {}: {reason}", run.handler, asked.event))
}

/// A section with one line for each hook that was asked.
fn hooks_asked(asked: &[Asked]) -> Option<Section> {
    let line = |asked: &Asked, run: &Run| {
        let why = run.reason().map(|why| format!(": {why}")).unwrap_or_default();
        let (decision, took) = (
            decision_words(run.decision()),
            duration(run.duration_us as f64 / 1e3),
        );
        format!("{:<10} {} · {} ({took}){why}", decision, asked.event, run.handler)
    };
    let lines: Vec<String> = asked
        .iter()
        .flat_map(|asked| asked.runs.iter().map(|run| line(asked, run)))
        .collect();
    (!lines.is_empty()).then(|| text("Hooks", &lines.join("\n")))
}

/// What came of a hook, in the page's words.
fn decision_words(decision: Decision) -> &'static str {
    match decision {
        Decision::Allowed => "allowed",
        Decision::Rewritten => "rewritten",
        Decision::Denied => "refused",
        Decision::Failed => "failed",
        Decision::Skipped => "not asked",
    }
}

fn times(node: &Node) -> Vec<(String, String)> {
    let bar = &node.bar;
    match bar.duration_ms > 0.0 {
        true => vec![fact("took", &duration(bar.duration_ms))],
        false => Vec::new(),
    }
}

fn duration(milliseconds: f64) -> String {
    match milliseconds {
        ms if ms >= 60_000.0 => format!("{:.0} min {:.0} s", (ms / 60_000.0).floor(), ms % 60_000.0 / 1e3),
        ms if ms >= 1_000.0 => format!("{:.2} s", ms / 1e3),
        ms if ms >= 1.0 => format!("{ms:.1} ms"),
        ms => format!("{:.0} µs", ms * 1e3),
    }
}

fn fact(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn text(title: &str, text: &str) -> Section {
    Section {
        title: title.to_owned(),
        body: Body::Text { text: cut(text) },
    }
}

fn conversation<'a>(title: &str, messages: impl Iterator<Item = &'a Message>) -> Section {
    let mut messages: Vec<Spoken> = messages.map(spoken).collect();
    let mut room = LONGEST;
    // The newest are what somebody looks for.
    for message in messages.iter_mut().rev() {
        if message.text.len() > room {
            message.text = format!("({} characters, not shown here)", message.text.chars().count());
        }
        room = room.saturating_sub(message.text.len());
    }
    Section {
        title: title.to_owned(),
        body: Body::Messages { messages },
    }
}

fn spoken(message: &Message) -> Spoken {
    let mut text = message.text();
    let role = match message.body() {
        MessageBody::User { .. } => "user".to_owned(),
        MessageBody::Assistant { tool_calls, .. } => {
            for call in tool_calls {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{gap}→ {} {}", call.name, call.arguments));
            }
            "model".to_owned()
        }
        MessageBody::Tool { tool_name, .. } => format!("tool {tool_name}"),
        MessageBody::Note { kind, .. } => format!("note {kind}"),
    };
    Spoken { role, text }
}

fn compare(title: &str, before: &str, after: &str) -> Option<Section> {
    let difference = TextDiff::configure()
        .timeout(DIFF_TIMEOUT)
        .diff_lines(before, after);
    let mut lines = Vec::new();
    for group in difference.grouped_ops(AROUND) {
        if !lines.is_empty() {
            lines.push(Line {
                sign: ' ',
                text: "⋯".into(),
            });
        }
        for change in group.iter().flat_map(|part| difference.iter_changes(part)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(Line {
                sign,
                text: cut(change.value().trim_end_matches('\n')),
            });
        }
    }
    (!lines.is_empty()).then(|| Section {
        title: title.to_owned(),
        body: Body::Difference { lines },
    })
}

/// JSON as lines of `name: value`, so that a difference shows the line and not the whole text.
fn readable(json: &RawValue) -> String {
    fn write(value: &Value, indent: usize, lines: &mut String) {
        let gap = "  ".repeat(indent);
        match value {
            Value::Object(fields) if !fields.is_empty() => fields.iter().for_each(|(name, value)| {
                member(name, value, indent, lines);
            }),
            Value::Array(items) if !items.is_empty() => items.iter().for_each(|value| {
                member("-", value, indent, lines);
            }),
            Value::String(text) => text.lines().for_each(|line| {
                lines.push_str(&format!("{gap}{line}\n"));
            }),
            other => lines.push_str(&format!("{gap}{other}\n")),
        }
    }
    fn member(name: &str, value: &Value, indent: usize, lines: &mut String) {
        let gap = "  ".repeat(indent);
        match value {
            Value::String(text) if !text.contains('\n') => lines.push_str(&format!("{gap}{name}: {text}\n")),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                lines.push_str(&format!("{gap}{name}: {value}\n"));
            }
            _ => {
                lines.push_str(&format!("{gap}{name}:\n"));
                write(value, indent + 1, lines);
            }
        }
    }
    let value: Value = serde_json::from_str(json.get()).unwrap_or_default();
    let mut lines = String::new();
    write(&value, 0, &mut lines);
    lines
}

/// Indented JSON; other text stays as it is.
fn pretty(text: &str) -> String {
    let value: Result<Value, _> = serde_json::from_str(text);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| text.to_owned())
}

/// The beginning of a text, if it is very long.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST);
    let more = text[end..].chars().count();
    format!("{}\n… and {more} characters more", &text[..end])
}
