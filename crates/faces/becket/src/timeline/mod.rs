//! What happened in a session, as a tree: turns, in them requests and tool calls, in these the hooks that were asked.
//!
//! `asked.rs` reads what the store has of dispatches and stretches of time, `tree.rs` puts them and the messages
//! together, `details.rs` says everything about one of them, `tally.rs` counts. `record.rs` is the store as the page
//! sees it, and this file is what the page shows of it.
//!
//! A timeline is made when somebody looks: an agent that nobody watches does no work for the page. A live session is
//! sent anew from the shown turn on each time it has grown, less often the longer that takes. Ids of bars stay the
//! same, and so does the user's place.

pub(crate) mod asked;
mod details;
mod record;
mod tally;
mod tree;

#[cfg(test)]
mod tests;

pub use record::Record;

use std::collections::HashMap;

use becket_agent::store::StoreError;
use becket_store::SessionSummary;
use becket_web::view::{AgentLane, Details, SessionLine, Tally, Timeline};
use becket_web::{Source, SourceError};
use record::TURNS;
use tally::Tallies;

impl Source for Record {
    fn sessions(&self) -> Result<Vec<SessionLine>, SourceError> {
        let sessions = self.store.sessions(None).map_err(told)?;
        self.with_tallies(|tallies| {
            let line = |session: &SessionSummary| line(session, tallies.of(&session.id));
            sessions.iter().map(line).collect()
        })
        .map_err(told)
    }

    fn timeline(&self, session_id: &str, from: Option<u64>) -> Result<Option<Timeline>, SourceError> {
        let family = self.store.record().family(session_id).map_err(told)?;
        let Some(session) = family.first() else {
            return Ok(None);
        };
        let beginning = self
            .store
            .record()
            .beginning(session_id, from, TURNS)
            .map_err(told)?;
        let family: Vec<(usize, &SessionSummary)> = family
            .iter()
            .enumerate()
            .filter(|(number, session)| *number == 0 || session.started_ms >= beginning.answered_ms)
            .collect();
        let mut bars = Vec::new();
        let mut usage = Vec::new();
        for (lane, (number, session)) in family.iter().enumerate() {
            let from = match number {
                0 => beginning,
                _ => self.first_turn(session).map_err(told)?,
            };
            let branch = self.branch(lane, session, &from).map_err(told)?;
            usage.extend_from_slice(&branch.usage);
            branch.flatten(&mut bars);
        }
        usage.sort_by(|one, other| one.time_ms.total_cmp(&other.time_ms));
        let tally = self
            .with_tallies(|tallies| tallies.of(session_id))
            .map_err(told)?;
        Ok(Some(Timeline {
            session: line(session, tally),
            first_turn: beginning.turn,
            turn_count: beginning.turn_count,
            lanes: lanes(&family),
            bars,
            usage,
        }))
    }

    fn details(
        &self,
        session_id: &str,
        bar_id: &str,
        from: Option<u64>,
    ) -> Result<Option<Details>, SourceError> {
        let family = self.store.record().family(session_id).map_err(told)?;
        let Some(session) = family.first() else {
            return Ok(None);
        };
        let from = self.store.record().beginning(session_id, from.or(Some(1)), TURNS);
        details::of(self, session, bar_id, &from.map_err(told)?).map_err(told)
    }

    fn position(&self) -> Result<String, SourceError> {
        let mark = self.store.record().mark().map_err(told)?;
        Ok(format!(
            "{}.{}.{}.{}",
            mark.entries, mark.trace, mark.sessions, mark.ended
        ))
    }

    fn metrics(&self) -> Result<String, SourceError> {
        self.with_tallies(Tallies::metrics).map_err(told)
    }
}

/// The lanes of a family, whose sub-agents are numbered.
fn lanes(family: &[(usize, &SessionSummary)]) -> Vec<AgentLane> {
    let places: HashMap<&str, usize> = family
        .iter()
        .enumerate()
        .map(|(lane, (_, session))| (session.id.as_str(), lane))
        .collect();
    let lane = |(number, session): &(usize, &SessionSummary)| {
        let parent = session.parent_id.as_deref().filter(|_| *number > 0);
        let own_name = session.name.clone().unwrap_or_else(|| session.context.clone());
        AgentLane {
            session_id: session.id.clone(),
            parent: parent.and_then(|parent| places.get(parent).copied()),
            label: match number {
                0 => own_name,
                _ => format!("sub-agent {number}"),
            },
            model: session.model.clone(),
        }
    };
    family.iter().map(lane).collect()
}

fn line(session: &SessionSummary, tally: Tally) -> SessionLine {
    let session = session.clone();
    SessionLine {
        id: session.id,
        parent_id: session.parent_id,
        context: session.context,
        name: session.name,
        model: session.model,
        cwd: session.cwd,
        started_ms: session.started_ms,
        ended_ms: session.ended_ms,
        reason: session.reason,
        entries: session.entry_count,
        tally,
    }
}

fn told(error: StoreError) -> SourceError {
    SourceError(error.to_string())
}
