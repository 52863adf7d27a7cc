//! What happened in a session, as a tree: turns, in them requests and tool calls, in these the hooks that were asked.
//!
//! `asked.rs` reads what the store has of dispatches and stretches of time, `tree.rs` puts them and the messages
//! together, `details.rs` says everything about one of them, `tally.rs` counts. This file is the record that the page
//! shows.

pub(crate) mod asked;
mod details;
mod tally;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use becket_agent::store::StoreError;
use becket_store::{SessionSummary, SqliteStore};
use becket_web::view::{Details, Lane, SessionLine, Tally, Timeline};
use becket_web::{Source, SourceError};

use asked::{Asked, Stretch};
use tally::Tallies;
use tree::Branch;

/// The store as the page sees it.
pub struct Record {
    store: SqliteStore,
    tallies: Mutex<Tallies>,
}

impl Record {
    /// The record that a store holds.
    pub fn of(store: SqliteStore) -> Self {
        Self {
            store,
            tallies: Mutex::default(),
        }
    }

    /// Brings the counts up to date and looks at them.
    fn with_tallies<T>(&self, look: impl FnOnce(&Tallies) -> T) -> Result<T, StoreError> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.catch_up(&self.store)?;
        Ok(look(&tallies))
    }

    /// One session's part of the tree.
    fn branch(&self, number: usize, session: &SessionSummary) -> Result<Branch, StoreError> {
        let entries = self.store.written_by(&session.id)?;
        let traces = self.store.traced_in(&session.id)?;
        let (mut asked, mut stretches) = (Vec::new(), Vec::new());
        for trace in &traces {
            match Asked::read(trace) {
                Some(dispatch) => asked.push(dispatch),
                None => stretches.extend(Stretch::read(trace)),
            }
        }
        Ok(Branch::grow(number, session, entries, asked, stretches))
    }
}

impl Source for Record {
    fn sessions(&self) -> Result<Vec<SessionLine>, SourceError> {
        let sessions = self.store.sessions(None).map_err(told)?;
        self.with_tallies(|tallies| {
            let line = |session: &SessionSummary| line(session, tallies.of(&session.id));
            sessions.iter().map(line).collect()
        })
        .map_err(told)
    }

    fn timeline(&self, session_id: &str) -> Result<Option<Timeline>, SourceError> {
        let family = self.store.family(session_id).map_err(told)?;
        let Some(session) = family.first() else {
            return Ok(None);
        };
        let mut bars = Vec::new();
        let mut usage = Vec::new();
        for (number, session) in family.iter().enumerate() {
            let branch = self.branch(number, session).map_err(told)?;
            usage.extend_from_slice(&branch.usage);
            branch.flatten(&mut bars);
        }
        usage.sort_by(|one, other| one.time_ms.total_cmp(&other.time_ms));
        let tally = self
            .with_tallies(|tallies| tallies.of(session_id))
            .map_err(told)?;
        Ok(Some(Timeline {
            session: line(session, tally),
            lanes: lanes(&family),
            bars,
            usage,
        }))
    }

    fn details(&self, session_id: &str, bar_id: &str) -> Result<Option<Details>, SourceError> {
        let family = self.store.family(session_id).map_err(told)?;
        let Some(session) = family.first() else {
            return Ok(None);
        };
        details::of(self, session, bar_id).map_err(told)
    }

    fn position(&self) -> Result<String, SourceError> {
        let mark = self.store.mark().map_err(told)?;
        Ok(format!(
            "{}.{}.{}.{}",
            mark.entries, mark.trace, mark.sessions, mark.ended
        ))
    }

    fn metrics(&self) -> Result<String, SourceError> {
        self.with_tallies(Tallies::metrics).map_err(told)
    }
}

fn lanes(family: &[SessionSummary]) -> Vec<Lane> {
    let numbers: HashMap<&str, usize> = family
        .iter()
        .enumerate()
        .map(|(number, session)| (session.id.as_str(), number))
        .collect();
    let lane = |(number, session): (usize, &SessionSummary)| {
        let parent = session.parent_id.as_deref().filter(|_| number > 0);
        let own_name = session.name.clone().unwrap_or_else(|| session.context.clone());
        Lane {
            session_id: session.id.clone(),
            parent: parent.and_then(|parent| numbers.get(parent).copied()),
            label: match number {
                0 => own_name,
                _ => format!("sub-agent {number}"),
            },
            model: session.model.clone(),
        }
    };
    family.iter().enumerate().map(lane).collect()
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
