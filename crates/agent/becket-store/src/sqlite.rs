//! The store in one SQLite file.

use std::path::Path;
use std::time::Duration;

use becket_agent::audit::{AuditRecord, Audited};
use becket_agent::store::{
    Consumed, Letter, NewEntry, NewSession, OpenedSession, Seed, Span, Store, StoreError, StoredEntry, Tree,
    WaitingLetter,
};
use becket_events::Json;
use becket_hooks::DispatchTrace;
use futures_util::future::BoxFuture;

use crate::audit_reading::AuditLog;
use crate::choice::{self, Project};
use crate::claim::{Claim, Claims};
use crate::database::Database;
use crate::inbox::{self, InboxMessage, Inboxes};
use crate::name::ContextName;
use crate::reading::{self, ContextSummary, SessionSummary, parse_all};
use crate::record::Record;
use crate::traces::Traced;
use crate::writer::Request;
use crate::writing;

/// How long a request waits for a lock that another process holds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// A store in one SQLite file, which several processes may use at once.
///
/// When a method has returned, its data is on disk, except for traces, which follow with the next write. Opening is
/// cheap: the thread that writes starts with the first request that needs it.
pub struct SqliteStore {
    pub(crate) database: Database,
    project: Project,
}

impl SqliteStore {
    /// Opens the store at that path, making it if it is missing, readable for its owner only.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with_timeout(path, LOCK_TIMEOUT)
    }

    /// Opens the store as `open` does, with another limit for how long a request waits for another process's lock.
    pub fn open_with_timeout(path: impl AsRef<Path>, lock_timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            database: Database::open(path.as_ref(), lock_timeout)?,
            project: Project::default(),
        })
    }

    /// This store for a project: the current context is the project's.
    pub fn in_project(mut self, project: Project) -> Self {
        self.project = project;
        self
    }

    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// The contexts, the most recently used first.
    pub fn contexts(&self) -> Result<Vec<ContextSummary>, StoreError> {
        self.database.look("list the contexts", reading::contexts)
    }

    /// The sessions of one context or of all, newest first.
    pub fn sessions(&self, context: Option<&str>) -> Result<Vec<SessionSummary>, StoreError> {
        self.database.look("list the sessions", |connection| {
            reading::sessions(connection, context)
        })
    }

    /// The entries of a context from the root to the current one.
    pub fn entries(&self, context: &str) -> Result<Vec<StoredEntry>, StoreError> {
        self.database.look("read the context", |connection| {
            parse_all(reading::entries(connection, context)?)
        })
    }

    /// All entries of a context with all branches, oldest first.
    pub fn tree(&self, context: &str) -> Result<Vec<StoredEntry>, StoreError> {
        self.database.look("read the context", |connection| {
            parse_all(reading::tree(connection, context)?)
        })
    }

    /// The settings of a context, a JSON object.
    pub fn settings(&self, context: &str) -> Result<Json, StoreError> {
        self.database
            .look("read the settings of a context", |connection| {
                reading::settings(connection, context)
            })
    }

    /// Looks for damage and returns a sentence for each finding; none means that the store is intact.
    pub fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        self.database.look("check it", reading::integrity_check)
    }

    /// Replaces the settings of a context, which is made if it is new.
    pub async fn set_settings(&self, context: &ContextName, settings: Json) -> Result<(), StoreError> {
        let context = context.clone();
        self.database
            .write("keep the settings of a context", move |connection| {
                writing::set_settings(connection, &context, &settings)
            })
            .await
    }

    /// Deletes a context with its entries, sessions, traces and messages. Says whether there was anything to delete.
    /// A session that still runs in it fails at its next append. Blobs stay, since others may share them.
    pub async fn delete_context(&self, context: &ContextName) -> Result<bool, StoreError> {
        let context = context.clone();
        self.database
            .write("delete a context", move |connection| {
                writing::delete_context(connection, &context)
            })
            .await
    }

    /// What happened in the sessions.
    pub fn record(&self) -> Record<'_> {
        Record::of(&self.database)
    }

    /// The messages that wait for contexts.
    pub fn inboxes(&self) -> Inboxes<'_> {
        Inboxes::of(&self.database)
    }

    /// The log of what was decided and done.
    pub fn audit_log(&self) -> AuditLog<'_> {
        AuditLog::of(&self.database)
    }

    /// Claims a context, which need not exist yet, for this process. `None` if another one has it; never waits.
    pub fn claim(&self, context: &ContextName) -> Result<Option<Claim>, StoreError> {
        Claims::beside(self.path()).take(context)
    }

    /// The process that has claimed a context, if one has and can be identified.
    pub fn claimed_by(&self, context: &ContextName) -> Option<u32> {
        Claims::beside(self.path()).holder(context)
    }

    /// Writes what is pending, traces included.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.database.write("keep the trace", |_| Ok(())).await
    }

    /// Writes what is pending and ends the writer's thread. Later writes fail. Needs a tokio runtime with a timer.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.database.close().await
    }
}

impl Store for SqliteStore {
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>> {
        Box::pin(async move {
            let context = ContextName::parse(&session.context_name)?;
            let doing = "begin a session";
            let project = self.project.clone();
            let begun = self
                .database
                .write(doing, move |connection| {
                    project.settle(connection, &context)?;
                    writing::begin_session(connection, &session, &context)
                })
                .await?;
            let entries = parse_all(begun.entries).map_err(|problem| problem.told(self.path(), doing))?;
            Ok(OpenedSession {
                resumed: begun.resumed,
                entries,
                noted: begun.noted,
                origin: begun.origin,
                lost_answer: begun.lost_answer,
            })
        })
    }

    fn plant<'a>(
        &'a self,
        session: NewSession,
        seed: Seed,
    ) -> BoxFuture<'a, Result<OpenedSession, StoreError>> {
        Box::pin(async move {
            let context = ContextName::parse(&session.context_name)?;
            let doing = "bring a conversation into a new context";
            let begun = self
                .database
                .write(doing, move |connection| {
                    writing::plant(connection, &session, &context, &seed)
                })
                .await?;
            let entries = parse_all(begun.entries).map_err(|problem| problem.told(self.path(), doing))?;
            Ok(OpenedSession {
                resumed: begun.resumed,
                entries,
                noted: begun.noted,
                origin: begun.origin,
                lost_answer: begun.lost_answer,
            })
        })
    }

    fn tree<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Tree, StoreError>> {
        let session_id = session_id.to_owned();
        Box::pin(async move {
            let doing = "read the conversation";
            let (entries, leaf_id) = self
                .database
                .read(doing, move |connection| {
                    let (context, leaf) = writing::place_of(connection, &session_id)?;
                    let entries = reading::conversation(connection, &context, leaf)?;
                    Ok((entries, reading::id_of(connection, leaf)?))
                })
                .await?;
            let entries = parse_all(entries).map_err(|problem| problem.told(self.path(), doing))?;
            Ok(Tree::new(entries, leaf_id))
        })
    }

    fn move_to<'a>(
        &'a self,
        session_id: &'a str,
        leaf_id: Option<String>,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let session_id = session_id.to_owned();
        Box::pin(self.database.write("go to another entry", move |connection| {
            writing::move_to(connection, &session_id, leaf_id.as_deref(), &entries)
        }))
    }

    fn append<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let session_id = session_id.to_owned();
        Box::pin(
            self.database
                .write("append to the transcript", move |connection| {
                    writing::append(connection, &session_id, &entries)
                }),
        )
    }

    fn deliver<'a>(&'a self, letters: Vec<Letter>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let addressed = letters
                .into_iter()
                .map(|letter| Ok((ContextName::parse(&letter.to)?, letter)))
                .collect::<Result<Vec<_>, StoreError>>()?;
            self.database
                .write("deliver a message", move |connection| {
                    inbox::deliver(connection, &addressed)
                })
                .await
        })
    }

    fn inbox<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<Vec<WaitingLetter>, StoreError>> {
        let context = context_name.to_owned();
        Box::pin(self.database.read("read the inbox", move |connection| {
            let waiting = inbox::waiting_messages(connection, &context)?;
            Ok(waiting.into_iter().map(InboxMessage::into_letter).collect())
        }))
    }

    fn append_consuming<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
        letters: Vec<i64>,
    ) -> BoxFuture<'a, Result<Consumed, StoreError>> {
        Box::pin(async move {
            self.inboxes()
                .append_consuming(session_id, entries, letters)
                .await
        })
    }

    fn context_names<'a>(&'a self) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(self.database.read("list the contexts", |connection| {
            let contexts = reading::contexts(connection)?;
            Ok(contexts.into_iter().map(|context| context.name).collect())
        }))
    }

    fn end_session<'a>(
        &'a self,
        session_id: &'a str,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (session_id, reason) = (session_id.to_owned(), reason.to_owned());
        Box::pin(self.database.write("end a session", move |connection| {
            writing::end_session(connection, &session_id, &reason)
        }))
    }

    fn clear<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let session_id = session_id.to_owned();
        Box::pin(self.database.write("clear the context", move |connection| {
            writing::clear(connection, &session_id)
        }))
    }

    fn make_current<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (context, project) = (ContextName::parse(context_name)?, self.project.clone());
            self.database
                .write("switch to the context", move |connection| {
                    choice::make_current(connection, &project, &context)
                })
                .await
        })
    }

    fn put_blob<'a>(&'a self, bytes: Vec<u8>) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(self.database.write("keep a blob", move |connection| {
            let hash = blake3::hash(&bytes).to_hex().to_string();
            writing::put_blob(connection, &hash, &bytes)?;
            Ok(hash)
        }))
    }

    fn blob<'a>(&'a self, hash: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        let hash = hash.to_owned();
        Box::pin(
            self.database
                .read("read a blob", move |connection| reading::blob(connection, &hash)),
        )
    }

    fn trace(&self, session_id: &str, trace: DispatchTrace) {
        self.database
            .add_trace(session_id, Traced::Dispatch(Box::new(trace)));
    }

    fn span(&self, session_id: &str, span: Span) {
        self.database.add_trace(session_id, Traced::Span(Box::new(span)));
    }

    fn audit(&self, record: AuditRecord) {
        // A permitted call begins to run now, so its record must not wait; everything else follows with the next write.
        let is_urgent = matches!(record.what, Audited::Call(_));
        let session_id = record.asker.session_id.clone();
        self.database
            .add_trace(&session_id, Traced::Audit(Box::new(record)));
        if is_urgent {
            // As with traces: if the writer is gone, the next request reports it.
            let _ = self.database.send(Request::WriteTraces);
        }
    }
}
