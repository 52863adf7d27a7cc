//! The reference page of the events, made from the table.

use std::fmt::Write;

use crate::{EVENTS, EventId, EventInfo, FieldInfo};

/// The Markdown page. `example` gives the JSON that the real agent sent for an event, if known.
pub fn reference_page(example: impl Fn(EventId) -> Option<String>) -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("| event | class | what a handler may answer |\n|---|---|---|\n");
    for event in EVENTS {
        let answers: Vec<&str> = event.reply.iter().map(|field| field.name).collect();
        let (name, class) = (event.name, event.class.name());
        writeln!(page, "| [`{name}`](#{name}) | {class} | {} |", answers.join(", ")).expect("in memory");
    }
    for event in EVENTS {
        section(&mut page, event, example(event.id)).expect("in memory");
    }
    page
}

const INTRODUCTION: &str = "\
# Events

Generated from the table in `crates/engine/becket-events/src/table.rs` by `cargo xtask generate`. Do not edit.

Every payload is one JSON object. Besides its own fields it has `event` (the name), `session_id`,
`parent_session_id`, `context_name`, `agent_name`, `model`, `cwd`, `turn`, `permission_mode`. A documented
field is always present; an unknown value is `null`. The examples were sent by the real agent in a scripted run.

The class says what happens when a handler breaks: **guard**, the action does not happen; **filter**, what it was asked
about is withheld; **transform**, its change is dropped and the user is told; **observe**, the failure is reported.

";

fn section(page: &mut String, event: &EventInfo, example: Option<String>) -> std::fmt::Result {
    writeln!(
        page,
        "\n## {}\n\n{}\n\nClass: {}.\n",
        event.name,
        tidy(event.doc),
        event.class.name()
    )?;
    if !event.payload.is_empty() {
        writeln!(page, "| payload | type | meaning |\n|---|---|---|")?;
        for FieldInfo {
            name, doc, type_name, ..
        } in event.payload
        {
            writeln!(page, "| `{name}` | `{}` | {} |", tidy(type_name), tidy(doc))?;
        }
        writeln!(page)?;
    }
    writeln!(page, "| reply | combines by | meaning |\n|---|---|---|")?;
    for FieldInfo {
        name, doc, type_name, ..
    } in event.reply
    {
        writeln!(page, "| `{name}` | `{}` | {} |", tidy(type_name), tidy(doc))?;
    }
    if let Some(example) = example {
        writeln!(page, "\n```json\n{}\n```", example.trim_end())?;
    }
    Ok(())
}

/// The text on one line without doubled blanks.
fn tidy(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(" < ", "<")
        .replace(" >", ">")
        .replace(" :: ", "::")
}
