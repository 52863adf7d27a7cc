//! `becket sessions`: every run of every context.

use super::{ago, print};
use crate::args::Options;
use crate::failure::{CliError, Exit};
use crate::folders::Folders;
use crate::surroundings::Surroundings;

/// Lists the sessions, newest first.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let sessions = Folders::find(options.home.as_deref(), surroundings)?
        .open_store()?
        .sessions(None)?;
    for session in &sessions {
        if options.json {
            let line = serde_json::json!({
                "id": session.id,
                "parent_id": session.parent_id,
                "context": session.context,
                "model": session.model,
                "cwd": session.cwd,
                "started_ms": session.started_ms,
                "ended_ms": session.ended_ms,
                "reason": session.reason,
                "entry_count": session.entry_count,
            });
            print(&format!("{line}\n"))?;
        } else {
            let (id, context, model) = (&session.id, &session.context, &session.model);
            let ending = session.reason.as_deref().unwrap_or("open");
            let started = ago(session.started_ms);
            print(&format!(
                "{id}  {context:<16} {model:<24} {:>4} {:<7}  {ending:<9}  {started}\n",
                session.entry_count,
                if session.entry_count == 1 {
                    "entry"
                } else {
                    "entries"
                }
            ))?;
        }
    }
    if sessions.is_empty() && !options.json {
        surroundings.remark("there are no sessions yet; the first prompt makes one");
    }
    Ok(Exit::Answered)
}
