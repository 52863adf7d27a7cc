//! The names of events and dialects, in becket's words and in every dialect's.

use becket_dialect_kit::RowInfo;
use becket_dialects::{dialect_names, rows};
use becket_events::{EVENTS, EventId};
use becket_hooks::nearest;
use becket_system::CliError;

/// The dialect of that name; the error suggests the nearest one.
pub fn dialect_named(name: &str) -> Result<&'static str, CliError> {
    let all = || std::iter::once("becket").chain(dialect_names());
    all().find(|known| *known == name).ok_or_else(|| {
        let error = CliError::usage(format!("there is no dialect `{name}`"));
        match nearest(name, all()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("there are {}", all().collect::<Vec<_>>().join(", "))),
        }
    })
}

/// The event of that name. becket's own names go first, unless a dialect is named.
pub fn event_called(name: &str, dialect: Option<&str>) -> Result<EventId, CliError> {
    let own = EventId::named(name);
    if let (Some(event), None | Some("becket")) = (own, dialect) {
        return Ok(event);
    }
    let of_dialect = |row: &RowInfo| dialect.is_none_or(|dialect| row.dialect == dialect);
    let mut found: Vec<RowInfo> = rows()
        .into_iter()
        .filter(|row| row.name == name && of_dialect(row))
        .collect();
    // A dialect may have one name for several events, and its first row is the one that is usually meant.
    found.dedup_by_key(|row| row.dialect);
    match found.as_slice() {
        [] => own.ok_or_else(|| unknown(name, dialect)),
        [first, rest @ ..] if rest.iter().all(|row| row.event == first.event) => Ok(first.event),
        several => {
            let each = several
                .iter()
                .map(|row| format!("{} calls `{}` so", row.dialect, row.event.info().name));
            let each: Vec<String> = each.collect();
            Err(
                CliError::usage(format!("`{name}` means several events: {}", each.join(", ")))
                    .hint("call it by becket's name, or choose one with --dialect"),
            )
        }
    }
}

fn unknown(name: &str, dialect: Option<&str>) -> CliError {
    let whose = match dialect {
        Some(dialect) => format!(" in the words of {dialect}"),
        None => String::new(),
    };
    let error = CliError::usage(format!("there is no event `{name}`{whose}"));
    let rows = rows();
    if let Some(row) = rows.iter().find(|row| row.name == name) {
        return error.hint(format!(
            "that is {}'s name for `{}`",
            row.dialect,
            row.event.info().name
        ));
    }
    let own = EVENTS.iter().map(|event| event.name);
    let of_dialect = rows
        .iter()
        .filter(|row| dialect.is_none_or(|dialect| row.dialect == dialect));
    match nearest(name, own.chain(of_dialect.map(|row| row.name))) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`becket hooks events` lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_every_dialect_leads_to_its_event() {
        for row in rows() {
            let found = event_called(row.name, Some(row.dialect)).expect("its dialect knows it");
            let meant = rows()
                .into_iter()
                .filter(|other| (other.dialect, other.name) == (row.dialect, row.name));
            assert!(meant.into_iter().any(|meant| meant.event == found), "{row:?}");
        }
        for event in EVENTS {
            assert_eq!(event_called(event.name, None).expect("it is there"), event.id);
        }
        let error = event_called("pre_toool", None).expect_err("there is none");
        assert!(error.to_string().contains("did you mean `pre_tool`?"), "{error}");
        let error = event_called("tool_call", Some("docker-agent")).expect_err("that is pi's");
        assert!(error.to_string().contains("pi's name for `pre_tool`"), "{error}");
    }
}
