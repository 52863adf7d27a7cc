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
use becket_store::{Beginning, SessionSummary, SqliteStore};
use becket_web::view::{Details, Lane, SessionLine, Tally, Timeline};
use becket_web::{Source, SourceError};

use asked::{Asked, Stretch};
use tally::Tallies;
use tree::{Branch, Place};

/// So many turns are shown at once, the last ones first.
const TURNS: u64 = 100;

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

    /// One session's part of the tree, from a turn on.
    fn branch(
        &self,
        number: usize,
        session: &SessionSummary,
        from: &Beginning,
    ) -> Result<Branch, StoreError> {
        let entries = self.store.written_by(&session.id, from)?;
        let traces = self.store.traced_in(&session.id, from)?;
        let (mut asked, mut stretches) = (Vec::new(), Vec::new());
        for trace in &traces {
            match Asked::read(trace) {
                Some(dispatch) => asked.push(dispatch),
                None => stretches.extend(Stretch::read(trace)),
            }
        }
        let place = Place {
            lane: number,
            turn: from.turn,
            after_ms: match from.turn {
                1 => session.started_ms,
                _ => from.after_ms,
            },
        };
        Ok(Branch::grow(place, entries, asked, stretches))
    }

    /// Where the first turn of a session begins.
    fn first_turn(&self, session: &SessionSummary) -> Result<Beginning, StoreError> {
        self.store.beginning(&session.id, Some(1), TURNS)
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

    fn timeline(&self, session_id: &str, from: Option<u64>) -> Result<Option<Timeline>, SourceError> {
        let family = self.store.family(session_id).map_err(told)?;
        let Some(session) = family.first() else {
            return Ok(None);
        };
        let beginning = self.store.beginning(session_id, from, TURNS).map_err(told)?;
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
        let family = self.store.family(session_id).map_err(told)?;
        let Some(session) = family.first() else {
            return Ok(None);
        };
        let from = self.store.beginning(session_id, from.or(Some(1)), TURNS);
        details::of(self, session, bar_id, &from.map_err(told)?).map_err(told)
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

/// The lanes of a family, whose sub-agents are numbered.
fn lanes(family: &[(usize, &SessionSummary)]) -> Vec<Lane> {
    let places: HashMap<&str, usize> = family
        .iter()
        .enumerate()
        .map(|(lane, (_, session))| (session.id.as_str(), lane))
        .collect();
    let lane = |(number, session): &(usize, &SessionSummary)| {
        let parent = session.parent_id.as_deref().filter(|_| *number > 0);
        let own_name = session.name.clone().unwrap_or_else(|| session.context.clone());
        Lane {
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
