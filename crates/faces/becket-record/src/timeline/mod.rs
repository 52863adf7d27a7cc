//! What happened in a session, as a tree: turns, in them requests and tool calls, in these the hooks that were asked.
//!
//! `asked.rs` reads what the store has of dispatches and stretches of time, `tree.rs` puts them and the messages
//! together, `details.rs` says everything about one of them, `transcript.rs` is what was said, `tally.rs` counts.
//! `record.rs` is the store as the page sees it, and this file is what the page shows of it.
//!
//! A timeline is made when somebody looks: an agent that nobody watches does no work for the page. A live session is
//! sent anew from the shown turn on each time it has grown, less often the longer that takes. Ids of bars stay the
//! same, and so does the user's place.

mod asked;
mod details;
mod record;
mod tally;
mod transcript;
mod tree;

#[cfg(test)]
mod tests;

pub use asked::{Asked, Stretch};
pub use record::Record;

use std::collections::HashMap;

use becket_agent::store::StoreError;
use becket_store::SessionSummary;
use becket_web::view::{AgentLane, Details, ExportForm, HookLine, SessionLine, Timeline, Transcript};
use becket_web::{Source, SourceError};
use record::TURNS;
use tally::Totals;

use crate::Form;
use crate::export;

impl Source for Record {
    fn sessions(&self) -> Result<Vec<SessionLine>, SourceError> {
        let sessions = self.store.sessions(None).map_err(told)?;
        let counted = self.store.record().session_counts().map_err(told)?;
        let totals = tally::with_sub_agents(&sessions, &counted);
        let line = |session: &SessionSummary| line(session, totals.get(&session.id));
        Ok(sessions.iter().map(line).collect())
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
        let counted = self.store.record().session_counts().map_err(told)?;
        let totals = tally::with_sub_agents(&family, &counted);
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
        Ok(Some(Timeline {
            session: line(session, totals.get(session_id)),
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

    fn transcript(&self, session_id: &str, from: Option<u64>) -> Result<Option<Transcript>, SourceError> {
        let record = self.store.record();
        if record.family(session_id).map_err(told)?.is_empty() {
            return Ok(None);
        }
        let beginning = record.beginning(session_id, from, TURNS).map_err(told)?;
        let entries = record.written_by(session_id, &beginning).map_err(told)?;
        Ok(Some(Transcript {
            first_turn: beginning.turn,
            turn_count: beginning.turn_count,
            messages: transcript::lines(&entries),
        }))
    }

    fn sessions_saying(&self, words: &str) -> Result<Vec<String>, SourceError> {
        let found = self.store.record().sessions_saying(words).map_err(told)?;
        Ok(found.into_iter().collect())
    }

    fn hooks(&self, since_ms: u64) -> Result<Vec<HookLine>, SourceError> {
        let (known, counts) = self.store.record().hook_counts(since_ms).map_err(told)?;
        Ok(tally::hook_lines(known, &counts))
    }

    fn export_forms(&self) -> Vec<ExportForm> {
        let form = |(form, name, about): &(Form, &str, &str)| ExportForm {
            form: (*name).to_owned(),
            about: (*about).to_owned(),
            suffix: form.suffix().to_owned(),
        };
        Form::ALL.iter().map(form).collect()
    }

    fn export(&self, session_id: &str, form: &str) -> Result<Option<String>, SourceError> {
        let family = self.store.record().family(session_id).map_err(told)?;
        let form = Form::ALL.iter().find(|(_, name, _)| *name == form);
        let (Some(session), Some((form, ..))) = (family.first(), form) else {
            return Ok(None);
        };
        export::whole(&self.store, session, *form).map(Some).map_err(told)
    }

    fn position(&self) -> Result<String, SourceError> {
        let mark = self.store.record().mark().map_err(told)?;
        Ok(format!(
            "{}.{}.{}.{}",
            mark.entries, mark.trace, mark.sessions, mark.ended
        ))
    }

    fn metrics(&self) -> Result<String, SourceError> {
        let sessions = self.store.record().session_counts().map_err(told)?;
        let traced = sessions
            .values()
            .filter(|session| !session.runs.is_empty())
            .count();
        Ok(tally::metrics(&self.hooks(0)?, traced))
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

fn line(session: &SessionSummary, totals: Option<&Totals>) -> SessionLine {
    let session = session.clone();
    let Totals { tally, counts, used } = totals.copied().unwrap_or_default();
    SessionLine {
        title: title(&session),
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
        counts,
        used,
    }
}

/// The name of a session, else its first prompt in one line, else its context.
fn title(session: &SessionSummary) -> String {
    let prompt = session.prompt.as_deref().map(|prompt| tree::few(prompt.trim()));
    let mut titles = session.name.clone().into_iter().chain(prompt);
    let title = titles.find(|title| !title.trim().is_empty());
    title.unwrap_or_else(|| session.context.clone())
}

fn told(error: StoreError) -> SourceError {
    SourceError(error.to_string())
}
