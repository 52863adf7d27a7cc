//! `becket hooks dialects`: the formats that hooks are written in, and what each calls the events.

use becket_dialect_kit::RowInfo;
use becket_dialects::{dialect_names, rows};
use becket_system::{CliError, Exit};
use becket_workbench::dialect_named;
use serde_json::json;

use crate::options::Options;
use crate::printing::print;

/// Lists the dialects, or the names of one.
pub fn run(options: &Options, name: Option<&str>) -> Result<Exit, CliError> {
    let name = name.map(dialect_named).transpose()?;
    let wanted = |row: &RowInfo| name.is_none_or(|name| row.dialect == name);
    let rows: Vec<RowInfo> = rows().into_iter().filter(wanted).collect();
    if options.run.json {
        for row in &rows {
            let line = json!({
                "dialect": row.dialect,
                "name": row.name,
                "event": row.event.info().name,
                "class": row.class.name(),
            });
            print(&format!("{line}\n"))?;
        }
        return Ok(Exit::Answered);
    }
    if name == Some("becket") {
        print("becket's own names are listed by `becket hooks events`\n")?;
    }
    for dialect in dialect_names().filter(|dialect| name.is_none_or(|name| name == *dialect)) {
        let own: Vec<&RowInfo> = rows.iter().filter(|row| row.dialect == dialect).collect();
        print(&format!("{dialect}: {} names\n", own.len()))?;
        for row in own {
            let event = row.event.info().name;
            print(&format!("  {:<26} {event:<22} {}\n", row.name, row.class.name()))?;
        }
    }
    Ok(Exit::Answered)
}
