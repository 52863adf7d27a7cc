//! `becket hooks events`: the vocabulary.

use becket_dialect_kit::RowInfo;
use becket_dialects::{absent_events, dialect_names, rows};
use becket_events::{EVENTS, EventInfo, payload_schema, reply_schema};
use becket_system::{CliError, Exit};
use becket_workbench::event_called;
use serde_json::json;

use crate::options::Options;
use crate::printing::print;

/// Lists the events, or describes one.
pub fn run(options: &Options, name: Option<&str>, dialect: Option<&str>) -> Result<Exit, CliError> {
    match (name, dialect) {
        (Some(name), _) => describe(options, event_called(name, None)?.info())?,
        (None, Some(dialect)) => list_of(options, dialect)?,
        (None, None) => list(options)?,
    }
    Ok(Exit::Answered)
}

/// Lists the events of a dialect, in the order of the vocabulary, and then those that never happen here.
fn list_of(options: &Options, dialect: &str) -> Result<(), CliError> {
    if !dialect_names().any(|name| name == dialect) {
        let known: Vec<&str> = dialect_names().collect();
        let message = format!("there is no dialect `{dialect}`");
        return Err(CliError::usage(message).hint(format!("there are {}", known.join(", "))));
    }
    for event in EVENTS {
        for row in known_as(event).iter().filter(|row| row.dialect == dialect) {
            let (name, class) = (row.name, row.class.name());
            let line = match options.run.json {
                true => json!({"name": event.name, "known_as": name, "class": class}).to_string(),
                false => format!("{name:<28} {class:<9} {}", event.name),
            };
            print(&format!("{line}\n"))?;
        }
    }
    for (name, reason) in absent_events(dialect) {
        let line = match options.run.json {
            true => json!({"known_as": name, "absent": reason}).to_string(),
            false => format!("{name:<28} absent    {reason}"),
        };
        print(&format!("{line}\n"))?;
    }
    Ok(())
}

fn list(options: &Options) -> Result<(), CliError> {
    for event in EVENTS {
        let line = if options.run.json {
            let (name, class, doc) = (event.name, event.class.name(), event.doc.trim());
            json!({"name": name, "class": class, "doc": doc}).to_string()
        } else {
            let doc = event.doc.split_whitespace().collect::<Vec<_>>().join(" ");
            let first = doc.split_inclusive(". ").next().unwrap_or_default().trim();
            format!("{:<22} {:<9} {first}", event.name, event.class.name())
        };
        print(&format!("{line}\n"))?;
    }
    Ok(())
}

fn describe(options: &Options, event: &EventInfo) -> Result<(), CliError> {
    if options.run.json {
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
