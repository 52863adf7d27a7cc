//! `becket hooks events`: the vocabulary.

use becket_events::{EVENTS, EventId, EventInfo, payload_schema, reply_schema};
use becket_hooks::nearest;
use serde_json::json;

use super::print;
use crate::args::Options;
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
            json!({"name": event.name, "class": event.class.name(), "doc": event.doc.trim()}).to_string()
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
            "payload": payload_schema(event.id),
            "reply": reply_schema(event.id),
        });
        return print(&format!("{description}\n"));
    }
    let mut text = format!(
        "{} ({})\n{}\n\npayload\n",
        event.name,
        event.class.name(),
        event.doc.trim()
    );
    for field in event.payload {
        text.push_str(&format!("  {:<22} {}\n", field.name, field.doc.trim()));
    }
    text.push_str("\nreply\n");
    for field in event.reply {
        text.push_str(&format!(
            "  {:<22} {} ({})\n",
            field.name,
            field.doc.trim(),
            field.rule
        ));
    }
    text.push_str("\n`--json` shows the schemas.\n");
    print(&text)
}
