//! The interface to the record that the page shows.

use crate::view::{Details, ExportForm, HookLine, SessionLine, Timeline, Transcript};

/// A record of sessions. Its methods may block on a disk; the server calls them on threads for that.
pub trait Source: Send + Sync + 'static {
    /// The sessions, newest first.
    fn sessions(&self) -> Result<Vec<SessionLine>, SourceError>;

    /// A session with those of its sub-agents, from a turn on; without one, its last turns, as many as are shown at
    /// once. `None` if there is no such session.
    fn timeline(&self, session_id: &str, from: Option<u64>) -> Result<Option<Timeline>, SourceError>;

    /// Everything about one bar of a timeline that begins with a turn; without one, of the whole session. `None` if
    /// there is no such bar.
    fn details(
        &self,
        session_id: &str,
        bar_id: &str,
        from: Option<u64>,
    ) -> Result<Option<Details>, SourceError>;

    /// What was said in a session, from a turn on; without one, in its last turns. `None` if there is no such session.
    fn transcript(&self, session_id: &str, from: Option<u64>) -> Result<Option<Transcript>, SourceError>;

    /// The sessions in which somebody said these words.
    fn sessions_saying(&self, words: &str) -> Result<Vec<String>, SourceError>;

    /// The hooks of all sessions that were wanted since a time in milliseconds, and how often.
    fn hooks(&self, since_ms: u64) -> Result<Vec<HookLine>, SourceError>;

    /// The forms in which a session can be saved.
    fn export_forms(&self) -> Vec<ExportForm>;

    /// A session with those of its sub-agents in one of these forms. `None` if there is no such session or form.
    fn export(&self, session_id: &str, form: &str) -> Result<Option<String>, SourceError>;

    /// The position of the record. Another text than before means that something was added.
    fn position(&self) -> Result<String, SourceError>;

    /// The counters, in the text format of Prometheus.
    fn metrics(&self) -> Result<String, SourceError>;
}

/// Why the record cannot be read, as a message for the user at the page.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);
