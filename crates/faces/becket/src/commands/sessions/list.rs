//! `becket sessions` without a command: lists the sessions of all contexts.

use std::collections::HashMap;

use becket_store::SessionSummary;
use becket_system::moments::ago;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless_name};

use crate::options::Options;
use crate::printing::print;

/// Lists the sessions, newest first, each followed by those of its sub-agents in the order in which they began.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let sessions = Folders::find(options.run.home.as_deref(), surroundings)?
        .open_store()?
        .sessions(None)?;
    for (depth, session) in by_family(&sessions) {
        if options.run.json {
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
                "name": session.name,
            });
            print(&format!("{line}\n"))?;
        } else {
            let (context, model) = (&session.context, &session.model);
            // Sessions of sub-agents stand below the one that asked them.
            let id = format!("{}{}", "  ".repeat(depth), session.id);
            let ending = session.reason.as_deref().unwrap_or("open");
            let started = ago(session.started_ms);
            let name = session.name.as_deref().map(harmless_name).unwrap_or_default();
            let name = if name.is_empty() {
                name
            } else {
                format!("  {name}")
            };
            print(&format!(
                "{id}  {context:<16} {model:<24} {:>4} {:<7}  {ending:<9}  {started}{name}\n",
                session.entry_count,
                if session.entry_count == 1 {
                    "entry"
                } else {
                    "entries"
                }
            ))?;
        }
    }
    if sessions.is_empty() && !options.run.json {
        surroundings.remark("there are no sessions yet; the first prompt creates one");
    }
    Ok(Exit::Answered)
}

/// The sessions, each followed by those of its sub-agents, with their depths.
fn by_family(sessions: &[SessionSummary]) -> Vec<(usize, &SessionSummary)> {
    let mut below: HashMap<&str, Vec<&SessionSummary>> = HashMap::new();
    for session in sessions {
        if let Some(parent) = &session.parent_id {
            below.entry(parent).or_default().push(session);
        }
    }
    let is_first = |session: &&SessionSummary| session.parent_id.is_none();
    // The next one to list stands at the end.
    let mut waiting: Vec<(usize, &SessionSummary)> = sessions
        .iter()
        .rev()
        .filter(is_first)
        .map(|session| (0, session))
        .collect();
    let mut listed = Vec::with_capacity(sessions.len());
    while let Some((depth, session)) = waiting.pop() {
        listed.push((depth, session));
        // They come newest first, so the oldest is taken first.
        let children = below.remove(session.id.as_str()).unwrap_or_default();
        waiting.extend(children.into_iter().map(|child| (depth + 1, child)));
    }
    listed
}
