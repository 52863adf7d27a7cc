//! The store in one SQLite file.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use becket_agent::audit::{AuditRecord, Audited};
use becket_agent::store::{
    Consumed, Letter, NewEntry, NewSession, OpenedSession, Seed, Span, SpanKind, Store, StoreError,
    StoredEntry, Tree, WaitingLetter,
};
use becket_events::Json;
use becket_hooks::DispatchTrace;
use futures_util::future::BoxFuture;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::contexts::{self, Project};
use crate::name::ContextName;
use crate::open;
use crate::problem::Problem;
use crate::reading::{
    self, ContextSummary, InboxMessage, RawEntry, Recorded, SessionSummary, StoredTrace, TurnPage, Wanted,
};
use crate::writer::{Job, Request, Target, TraceBuffer, Traced, WaitingTrace, Writer};
use crate::writing;

/// How long a request waits for a lock that another process holds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much longer than its patience the writer may take for its last work.
const GRACE: Duration = Duration::from_secs(5);

/// So many dispatches are written even if nothing else is.
const TRACES_AT_ONCE: usize = 256;

/// A store in one SQLite file, which several processes may use at once.
///
/// Everything that a method has returned for is on disk, except traces, which follow with the next write. Opening is
/// cheap: the thread that writes starts with the first request that needs it.
pub struct SqliteStore {
    file: PathBuf,
    project: Project,
    patience: Duration,
    /// A connection that nobody uses. The writer takes it when it starts; a later reader leaves another one.
    idle: Mutex<Option<Connection>>,
    writer: Mutex<WriterState>,
    traces: Arc<TraceBuffer>,
}

enum WriterState {
    NotStarted,
    Running(Writer),
    Closed,
}

impl SqliteStore {
    /// Opens the store at that path, making it if it is missing, readable for its owner only.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with_patience(path, PATIENCE)
    }

    /// Like `open`, with another limit for how long a request waits for a lock that another process holds.
    pub fn open_with_patience(path: impl AsRef<Path>, patience: Duration) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let file = std::path::absolute(path).map_err(|error| {
            StoreError::new(format!(
                "cannot tell where the store {} lies: {error}",
                path.display()
            ))
        })?;
        let connection = open::open(&file, patience)?;
        Ok(Self {
            file,
            project: Project::default(),
            patience,
            idle: Mutex::new(Some(connection)),
            writer: Mutex::new(WriterState::NotStarted),
            traces: Arc::default(),
        })
    }

    /// The same store for somebody who works in a project: the current context is the project's.
    pub fn in_project(mut self, project: Project) -> Self {
        self.project = project;
        self
    }

    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// The contexts, the one used last first.
    pub fn contexts(&self) -> Result<Vec<ContextSummary>, StoreError> {
        self.look("list the contexts", reading::contexts)
    }

    /// The sessions of one context or of all, the newest first.
    pub fn sessions(&self, context: Option<&str>) -> Result<Vec<SessionSummary>, StoreError> {
        self.look("list the sessions", |connection| {
            reading::sessions(connection, context)
        })
    }

    /// The entries of a context from the root to where its conversation stands.
    pub fn entries(&self, context: &str) -> Result<Vec<StoredEntry>, StoreError> {
        self.look("read the context", |connection| {
            parse_all(reading::entries(connection, context)?)
        })
    }

    /// All entries of a context with all branches, the oldest first.
    pub fn tree(&self, context: &str) -> Result<Vec<StoredEntry>, StoreError> {
        self.look("read the context", |connection| {
            parse_all(reading::tree(connection, context)?)
        })
    }

    /// The settings of a context, a JSON object.
    pub fn settings(&self, context: &str) -> Result<Json, StoreError> {
        self.look("read the settings of a context", |connection| {
            reading::settings(connection, context)
        })
    }

    /// The messages that wait for a context, in the order in which they were sent.
    pub fn waiting_messages(&self, context: &str) -> Result<Vec<InboxMessage>, StoreError> {
        self.look("read the inbox", |connection| {
            reading::waiting_messages(connection, context)
        })
    }

    /// The contexts for which messages wait, by name. They need not exist yet.
    pub fn contexts_with_mail(&self) -> Result<Vec<String>, StoreError> {
        self.look("read the inboxes", reading::contexts_with_mail)
    }

    /// The traced dispatches of a session that have been written so far, in their order.
    pub fn trace_of(&self, session_id: &str) -> Result<Vec<StoredTrace>, StoreError> {
        self.look("read the trace", |connection| {
            reading::trace_of(connection, session_id)
        })
    }

    /// Everything that is traced of a session, and of the sub-agents below it, after a place in the record.
    pub fn record_of(&self, session_id: &str, after: i64) -> Result<Vec<Recorded>, StoreError> {
        self.look("read the trace", |connection| {
            reading::record_of(connection, session_id, after, Wanted::Heard)
        })
    }

    /// Which are the last turns of a session, at most so many, or the last before one of them.
    pub fn turn_page(
        &self,
        session_id: &str,
        most: u64,
        before: Option<u64>,
    ) -> Result<TurnPage, StoreError> {
        self.look("read the trace", |connection| {
            reading::turn_page(connection, session_id, most, before)
        })
    }

    /// Everything that is traced of a session in these turns, and of the sub-agents that began in them.
    pub fn record_of_turns(&self, session_id: &str, page: &TurnPage) -> Result<Vec<Recorded>, StoreError> {
        self.look("read the trace", |connection| {
            reading::record_of_turns(connection, session_id, page)
        })
    }

    /// Everything that can be replayed of a session, and of the sub-agents below it: also events that nobody heard.
    pub fn whole_record_of(&self, session_id: &str) -> Result<Vec<Recorded>, StoreError> {
        self.look("read the trace", |connection| {
            reading::record_of(connection, session_id, 0, Wanted::All)
        })
    }

    /// The newest dispatches of all sessions, at most so many, the newest first.
    pub fn newest_dispatches(&self, most: u32) -> Result<Vec<StoredTrace>, StoreError> {
        self.look("read the trace", |connection| {
            reading::newest_dispatches(connection, most)
        })
    }

    /// The newest stretches of time of one kind, at most so many, the newest first.
    pub fn newest_spans(&self, kind: SpanKind, most: u32) -> Result<Vec<StoredTrace>, StoreError> {
        self.look("read the trace", |connection| {
            reading::newest_spans(connection, kind, most)
        })
    }

    /// Looks for damage and returns a sentence for each finding; none means that the store is intact.
    pub fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        self.look("check it", reading::integrity_check)
    }

    /// Replaces the settings of a context, which is made if it is new.
    pub async fn set_settings(&self, context: &ContextName, settings: Json) -> Result<(), StoreError> {
        let context = context.clone();
        self.write("keep the settings of a context", move |connection| {
            writing::set_settings(connection, &context, &settings)
        })
        .await
    }

    /// Deletes a context with its entries, sessions, traces and messages. Says whether there was anything to delete.
    /// A session that still runs in it fails at its next append. Blobs stay, since others may share them.
    pub async fn delete_context(&self, context: &ContextName) -> Result<bool, StoreError> {
        let context = context.clone();
        self.write("delete a context", move |connection| {
            writing::delete_context(connection, &context)
        })
        .await
    }

    /// Puts a message into the inbox of a context, which need not exist yet, and returns the message's id.
    pub async fn push_message(
        &self,
        context: &ContextName,
        sender: &str,
        content: Json,
    ) -> Result<i64, StoreError> {
        let (context, sender) = (context.clone(), sender.to_owned());
        self.write("deliver a message", move |connection| {
            writing::push_message(connection, &context, &sender, &content)
        })
        .await
    }

    /// Appends entries and marks messages of the session's context as consumed, all of it or nothing.
    pub async fn append_consuming(
        &self,
        session_id: &str,
        entries: Vec<NewEntry>,
        messages: Vec<i64>,
    ) -> Result<Consumed, StoreError> {
        let session_id = session_id.to_owned();
        self.write("append what the inbox held", move |connection| {
            writing::append_consuming(connection, &session_id, &entries, &messages)
        })
        .await
    }

    /// Consumes all messages that wait for the session's context: `to_entries` makes entries of them, and these are
    /// appended in the same transaction. Each message is consumed exactly once, however many sessions drain.
    ///
    /// `to_entries` is called again, with what is left, when another session was faster.
    pub async fn drain(
        &self,
        session_id: &str,
        mut to_entries: impl FnMut(&[InboxMessage]) -> Vec<NewEntry> + Send,
    ) -> Result<Vec<InboxMessage>, StoreError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let session = session_id.to_owned();
            let messages = self
                .read("read the inbox", move |connection| {
                    reading::messages_for(connection, &session)
                })
                .await?;
            if messages.is_empty() {
                return Ok(messages);
            }
            let ids = messages.iter().map(|message| message.id).collect();
            match self
                .append_consuming(session_id, to_entries(&messages), ids)
                .await?
            {
                Consumed::All => return Ok(messages),
                Consumed::TakenByAnother if Instant::now() < deadline => {}
                Consumed::TakenByAnother => {
                    let problem = "other sessions keep taking its messages; try again".to_owned();
                    return Err(Problem::Refused(problem).told(&self.file, "drain the inbox"));
                }
            }
        }
    }

    /// Writes what is pending and ends the writer's thread. Later writes fail. Needs a tokio runtime with a timer.
    pub async fn close(&self) -> Result<(), StoreError> {
        let (report, outcome) = oneshot::channel();
        let Some(thread) = self.finish(move |result| drop(report.send(result)))? else {
            return Ok(());
        };
        match tokio::time::timeout(self.patience + GRACE, outcome).await {
            Ok(outcome) => {
                // The report is the last thing that the thread does.
                let joined = thread.join();
                outcome
                    .ok()
                    .filter(|_| joined.is_ok())
                    .unwrap_or_else(|| Err(self.writer_died()))
            }
            Err(_) => Err(self.still_writing()),
        }
    }

    /// Asks the writer to finish; `None` when there is nothing to do.
    fn finish(
        &self,
        report: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) -> Result<Option<JoinHandle<()>>, StoreError> {
        let mut state = self.writer_state();
        if matches!(*state, WriterState::NotStarted) && !self.traces.is_empty() {
            *state = WriterState::Running(self.start_writer()?);
        }
        let running = std::mem::replace(&mut *state, WriterState::Closed);
        drop(self.idle().take());
        let WriterState::Running(writer) = running else {
            return Ok(None);
        };
        let sent = writer.requests.send(Request::Finish(Box::new(report)));
        sent.map_err(|_| self.writer_died())?;
        Ok(Some(writer.thread))
    }

    /// Reads in this thread. Readers never wait for writers.
    pub(crate) fn look<T>(
        &self,
        doing: &str,
        query: impl FnOnce(&Connection) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let mut idle = self.idle();
        let connection = match idle.take() {
            Some(connection) => connection,
            None => open::open(&self.file, self.patience)?,
        };
        let result = query(&connection).map_err(|problem| problem.told(&self.file, doing));
        *idle = Some(connection);
        result
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, value) = Job::new(doing, work);
        self.send(Request::Write(job))?;
        value.await.unwrap_or_else(|_| Err(self.writer_died()))
    }

    /// Reads in the writer's thread, so that a large answer does not hold up the caller's.
    async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, value) = Job::new(doing, query);
        self.send(Request::Read(job))?;
        value.await.unwrap_or_else(|_| Err(self.writer_died()))
    }

    /// Hands a request to the writer's thread, which starts if this is the first.
    fn send(&self, request: Request) -> Result<(), StoreError> {
        let mut state = self.writer_state();
        if matches!(*state, WriterState::NotStarted) {
            *state = WriterState::Running(self.start_writer()?);
        }
        match &*state {
            WriterState::Running(writer) => writer.requests.send(request).map_err(|_| self.writer_died()),
            _ => Err(StoreError::new(format!(
                "the store {} is closed; open it again",
                self.file.display()
            ))),
        }
    }

    fn start_writer(&self) -> Result<Writer, StoreError> {
        let idle = self.idle().take();
        Writer::start(Target {
            file: self.file.clone(),
            connection: idle.map_or_else(|| open::open(&self.file, self.patience), Ok)?,
            patience: self.patience,
            traces: Arc::clone(&self.traces),
        })
    }

    // A panic while one of these is held cannot leave it half changed, so a poisoned lock is as good as any.

    fn idle(&self) -> MutexGuard<'_, Option<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer_state(&self) -> MutexGuard<'_, WriterState> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer_died(&self) -> StoreError {
        StoreError::new(format!(
            "the thread that writes the store {} ended unexpectedly; what was confirmed is on disk. Start again",
            self.file.display()
        ))
    }

    fn still_writing(&self) -> StoreError {
        StoreError::new(format!(
            "the store {} is still being written after {} s; what was confirmed is on disk. Check the disk",
            self.file.display(),
            (self.patience + GRACE).as_secs()
        ))
    }
}

impl Store for SqliteStore {
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>> {
        Box::pin(async move {
            let context = ContextName::parse(&session.context_name)?;
            let doing = "begin a session";
            let project = self.project.clone();
            let begun = self
                .write(doing, move |connection| {
                    project.settle(connection, &context)?;
                    writing::begin_session(connection, &session, &context)
                })
                .await?;
            let entries = parse_all(begun.entries).map_err(|problem| problem.told(&self.file, doing))?;
            Ok(OpenedSession {
                resumed: begun.resumed,
                entries,
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
                .write(doing, move |connection| {
                    writing::plant(connection, &session, &context, &seed)
                })
                .await?;
            let entries = parse_all(begun.entries).map_err(|problem| problem.told(&self.file, doing))?;
            Ok(OpenedSession {
                resumed: begun.resumed,
                entries,
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
                .read(doing, move |connection| {
                    let (context, leaf) = writing::place_of(connection, &session_id)?;
                    let entries = reading::conversation(connection, &context, leaf)?;
                    Ok((entries, reading::id_of(connection, leaf)?))
                })
                .await?;
            let entries = parse_all(entries).map_err(|problem| problem.told(&self.file, doing))?;
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
        Box::pin(self.write("go to another entry", move |connection| {
            writing::move_to(connection, &session_id, leaf_id.as_deref(), &entries)
        }))
    }

    fn append<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let session_id = session_id.to_owned();
        Box::pin(self.write("append to the transcript", move |connection| {
            writing::append(connection, &session_id, &entries)
        }))
    }

    fn deliver<'a>(&'a self, letters: Vec<Letter>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let addressed = letters
                .into_iter()
                .map(|letter| Ok((ContextName::parse(&letter.to)?, letter)))
                .collect::<Result<Vec<_>, StoreError>>()?;
            self.write("deliver a message", move |connection| {
                writing::deliver(connection, &addressed)
            })
            .await
        })
    }

    fn inbox<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<Vec<WaitingLetter>, StoreError>> {
        let context = context_name.to_owned();
        Box::pin(self.read("read the inbox", move |connection| {
            let waiting = reading::waiting_messages(connection, &context)?;
            Ok(waiting.into_iter().map(InboxMessage::into_letter).collect())
        }))
    }

    fn append_consuming<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
        letters: Vec<i64>,
    ) -> BoxFuture<'a, Result<Consumed, StoreError>> {
        Box::pin(Self::append_consuming(self, session_id, entries, letters))
    }

    fn context_names<'a>(&'a self) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(self.read("list the contexts", |connection| {
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
        Box::pin(self.write("end a session", move |connection| {
            writing::end_session(connection, &session_id, &reason)
        }))
    }

    fn clear<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let session_id = session_id.to_owned();
        Box::pin(self.write("clear the context", move |connection| {
            contexts::clear(connection, &session_id)
        }))
    }

    fn make_current<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (context, project) = (ContextName::parse(context_name)?, self.project.clone());
            self.write("switch to the context", move |connection| {
                contexts::make_current(connection, &project, &context)
            })
            .await
        })
    }

    fn put_blob<'a>(&'a self, bytes: Vec<u8>) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(self.write("keep a blob", move |connection| {
            let hash = blake3::hash(&bytes).to_hex().to_string();
            writing::put_blob(connection, &hash, &bytes)?;
            Ok(hash)
        }))
    }

    fn blob<'a>(&'a self, hash: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        let hash = hash.to_owned();
        Box::pin(self.read("read a blob", move |connection| reading::blob(connection, &hash)))
    }

    fn trace(&self, session_id: &str, trace: DispatchTrace) {
        self.add_trace(session_id, Traced::Dispatch(Box::new(trace)));
    }

    fn span(&self, session_id: &str, span: Span) {
        self.add_trace(session_id, Traced::Span(Box::new(span)));
    }

    fn audit(&self, record: AuditRecord) {
        // What is permitted begins to run now; everything else follows with the next write.
        let is_urgent = matches!(record.what, Audited::Call(_));
        let session_id = record.asker.session_id.clone();
        self.add_trace(&session_id, Traced::Audit(Box::new(record)));
        if is_urgent {
            // As with traces: if the writer is gone, its next user hears of it.
            let _ = self.send(Request::WriteTraces);
        }
    }
}

impl SqliteStore {
    fn add_trace(&self, session_id: &str, traced: Traced) {
        let session_id = session_id.to_owned();
        let waiting = self.traces.add(WaitingTrace { session_id, traced });
        if waiting.is_multiple_of(TRACES_AT_ONCE) {
            // A trace is nobody's business but the curious: if the writer is gone, its next user hears of it.
            let _ = self.send(Request::WriteTraces);
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        let (report, outcome) = sync_channel(1);
        if let Ok(Some(thread)) = self.finish(move |result| drop(report.send(result))) {
            // A writer that hangs in the disk is left behind; what it was asked last was never confirmed.
            if outcome.recv_timeout(self.patience + GRACE).is_ok() {
                let _ = thread.join();
            }
        }
    }
}

pub(crate) fn parse_all(entries: Vec<RawEntry>) -> Result<Vec<StoredEntry>, Problem> {
    entries.into_iter().map(RawEntry::parse).collect()
}
