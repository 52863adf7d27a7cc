//! `becket hooks events`: the vocabulary.

use becket_dialects::{RowInfo, rows};
use becket_events::{EVENTS, EventId, EventInfo, payload_schema, reply_schema};
use becket_hooks::nearest;
use serde_json::json;

use crate::args::Options;
use crate::commands::print;
use crate::failure::{CliError, Exit};

/// Lists the events, or describes one.
pub fn run(options: &Options, name: Option<&str>) -> Result<Exit, CliError> {
    match name {
        Some(name) => describe(options, event_named(name)?)?,
        None => list(options)?,
    }
    Ok(Exit::Answered)
}

fn event_named(name: &str) -> Result<&'static EventInfo, CliError> {
    EventId::named(name).map(EventId::info).ok_or_else(|| {
        let error = CliError::usage(format!("there is no event `{name}`"));
        if let Some(row) = rows().into_iter().find(|row| row.name == name) {
            let RowInfo { dialect, event, .. } = row;
            return error.hint(format!("that is {dialect}'s name for `{}`", event.info().name));
        }
        match nearest(name, EVENTS.iter().map(|event| event.name)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`becket hooks events` lists them"),
        }
    })
}

fn list(options: &Options) -> Result<(), CliError> {
    for event in EVENTS {
        let first_line = event.doc.trim().lines().next().unwrap_or_default();
        let line = if options.json {
            let (name, class, doc) = (event.name, event.class.name(), event.doc.trim());
            json!({"name": name, "class": class, "doc": doc}).to_string()
        } else {
            format!("{:<22} {:<9} {first_line}", event.name, event.class.name())
        };
        print(&format!("{line}\n"))?;
    }
    Ok(())
}

fn describe(options: &Options, event: &EventInfo) -> Result<(), CliError> {
    if options.json {
        let description = json!({
            "name": event.name,
            "class": event.class.name(),
            "doc": event.doc.trim(),
            "known_as": known_as(event).iter().map(elsewhere_json).collect::<Vec<_>>(),
            "payload": payload_schema(event.id),
            "reply": reply_schema(event.id),
        });
        return print(&format!("{description}\n"));
    }
    let (name, class, doc) = (event.name, event.class.name(), event.doc.trim());
    let mut text = format!("{name} ({class})\n{doc}\n\npayload\n");
    for field in event.payload {
        text.push_str(&format!("  {:<22} {}\n", field.name, field.doc.trim()));
    }
    text.push_str(&format!(
        "  and of every event: {}\n",
        EventInfo::common_fields().join(", ")
    ));
    text.push_str("\nreply\n");
    for field in event.reply {
        text.push_str(&format!(
            "  {:<22} {} ({})\n",
            field.name,
            field.doc.trim(),
            field.rule
        ));
    }
    let elsewhere = known_as(event);
    if !elsewhere.is_empty() {
        text.push_str("\nelsewhere\n");
    }
    for RowInfo {
        dialect, name, class, ..
    } in elsewhere
    {
        text.push_str(&format!("  {dialect:<22} {name} ({})\n", class.name()));
    }
    text.push_str("\n`--json` shows the schemas.\n");
    print(&text)
}

/// The names by which other systems know an event.
fn known_as(event: &EventInfo) -> Vec<RowInfo> {
    let known = rows().into_iter().filter(|row| row.event == event.id);
    known.collect()
}

fn elsewhere_json(row: &RowInfo) -> serde_json::Value {
    json!({"dialect": row.dialect, "name": row.name, "class": row.class.name()})
}
