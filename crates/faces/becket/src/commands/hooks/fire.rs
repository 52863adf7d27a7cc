//! `becket hooks fire`: one event through the real dispatcher, and nothing else.

use std::io::Read;
use std::path::Path;

use becket_events::EventId;
use becket_face_kit::cancellable;
use becket_system::{CliError, Exit, Surroundings, harmless};
use becket_workbench::{
    Fired, Occurrence, PayloadOverrides, dialect_named, event_called, fired_json, fired_text,
};
use serde_json::{Map, Value};

use crate::args::FireArgs;
use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// The longest payload that is read, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Fires the event and shows the result.
pub fn run(options: &Options, wanted: &FireArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let dialect = wanted.dialect.as_deref().map(dialect_named).transpose()?;
    let event = event_called(&wanted.event, dialect)?;
    let overrides = PayloadOverrides {
        fields: match &wanted.payload {
            Some(file) => read_fields(file, event, surroundings)?,
            None => Map::new(),
        },
        set: PayloadOverrides::set(&wanted.set).map_err(CliError::usage)?,
    };
    cancellable(options, surroundings, async |cancel| {
        let lab = lab(options, surroundings, None, &cancel).await?.begin().await;
        let occurrence = Occurrence {
            event,
            overrides: &overrides,
            dialect,
        };
        let fired = lab.fire(occurrence).await;
        lab.close(surroundings).await?;
        tell(options, &fired?)
    })
}

fn tell(options: &Options, fired: &Fired) -> Result<Exit, CliError> {
    match options.run.json {
        true => print(&format!("{}\n", fired_json(fired)))?,
        false => print(&harmless(&fired_text(fired)))?,
    }
    Ok(match fired.rehearsed.failures.is_empty() {
        true => Exit::Answered,
        false => Exit::Failed,
    })
}

/// The fields of an event in a file, or on standard input.
fn read_fields(
    file: &Path,
    event: EventId,
    surroundings: &Surroundings,
) -> Result<Map<String, Value>, CliError> {
    let name = file.display();
    let mut text = String::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().take(LONGEST).read_to_string(&mut text),
        _ => std::fs::File::open(surroundings.cwd.join(file))
            .and_then(|open| open.take(LONGEST).read_to_string(&mut text)),
    };
    read.map_err(|error| CliError::usage(format!("cannot read the payload {name}: {error}")))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(mut fields)) => {
            // A payload that was recorded says which event it is.
            match fields.remove("event") {
                Some(other) if other != event.info().name => Err(CliError::usage(format!(
                    "the payload {name} is of the event {other}, and not of {}",
                    event.info().name
                ))),
                _ => Ok(fields),
            }
        }
        Ok(_) => Err(CliError::usage(format!(
            "the payload {name} is JSON, but not an object"
        ))),
        Err(error) => Err(CliError::usage(format!(
            "the payload {name} is not JSON: {error}"
        ))),
    }
}
