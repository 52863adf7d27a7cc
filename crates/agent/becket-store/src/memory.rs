//! A store that lives as long as its value. It keeps the same promises as the one on disk, except for persistence.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use becket_agent::audit::AuditRecord;
use becket_agent::store::{
    Consumed, Letter, NewEntry, NewSession, Noted, OpenedSession, Origin, Seed, SeedEntry, Store, StoreError,
    StoredEntry, Tree, WaitingLetter,
};
use becket_hooks::DispatchTrace;
use futures_util::future::BoxFuture;

use crate::name::ContextName;
use crate::time::now_ms;

/// A store in memory: for tests, and for agents that must leave nothing behind.
#[derive(Default)]
pub struct MemoryStore(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    contexts: HashMap<String, StoredContext>,
    sessions: HashMap<String, Session>,
    blobs: HashMap<String, Vec<u8>>,
    traces: Vec<(String, DispatchTrace)>,
    audit: Vec<AuditRecord>,
    current: Option<String>,
    /// All letters ever delivered; a letter's id is its index here.
    inbox: Vec<Delivered>,
}

struct Delivered {
    letter: Letter,
    time_ms: u64,
    consumed: bool,
}

#[derive(Default)]
struct StoredContext {
    /// All entries with all branches, oldest first.
    entries: Vec<StoredEntry>,
    /// The index of each entry in `entries`, by its id.
    places: HashMap<String, usize>,
    leaf: Option<String>,
    /// The current entry each time the context was cleared.
    archives: Vec<String>,
    /// How many entries there were when the context was last cleared.
    cleared: usize,
    origin: Option<Origin>,
}

struct Session {
    context: String,
    /// Whether the session's entries are part of the context's conversation: those of a sub-agent are not.
    is_own: bool,
    leaf: Option<String>,
    ended: Option<String>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The entries of a context from the root to the current one; none for an unknown context.
    pub fn entries(&self, context: &str) -> Vec<StoredEntry> {
        self.memory()
            .contexts
            .get(context)
            .map(StoredContext::path)
            .unwrap_or_default()
    }

    /// The entries of each archived conversation, oldest first.
    pub fn archived(&self, context: &str) -> Vec<Vec<StoredEntry>> {
        let memory = self.memory();
        let context = memory.contexts.get(context);
        let leaves = context.map(|context| context.archives.iter().map(|leaf| context.path_to(Some(leaf))));
        leaves.into_iter().flatten().collect()
    }

    /// The context that was chosen last.
    pub fn current(&self) -> Option<String> {
        self.memory().current.clone()
    }

    /// Why a session ended; `None` while it runs.
    pub fn end_of(&self, session_id: &str) -> Option<String> {
        self.memory()
            .sessions
            .get(session_id)
            .and_then(|session| session.ended.clone())
    }

    /// The traced dispatches of a session, in their order.
    pub fn trace_of(&self, session_id: &str) -> Vec<DispatchTrace> {
        let memory = self.memory();
        let of_session = memory.traces.iter().filter(|(session, _)| session == session_id);
        of_session.map(|(_, trace)| trace.clone()).collect()
    }

    /// The audit records, in their order.
    pub fn audited(&self) -> Vec<AuditRecord> {
        self.memory().audit.clone()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Every change below is checked before it begins, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredContext {
    fn push(&mut self, entry: StoredEntry) {
        self.places.insert(entry.id.clone(), self.entries.len());
        self.entries.push(entry);
    }

    fn path(&self) -> Vec<StoredEntry> {
        self.path_to(self.leaf.as_ref())
    }

    fn path_to(&self, leaf: Option<&String>) -> Vec<StoredEntry> {
        let mut path = Vec::new();
        let mut next = leaf;
        while let Some(id) = next {
            let entry = &self.entries[self.places[id]];
            path.push(entry.clone());
            next = entry.parent_id.as_ref();
        }
        path.reverse();
        path
    }
}

impl Memory {
    fn begin(&mut self, session: NewSession) -> Result<OpenedSession, StoreError> {
        let name = ContextName::parse(&session.context_name)?;
        let id = session.session_id;
        if self.sessions.contains_key(&id) {
            return Err(StoreError::new(format!(
                "there is already a session {id:?}; give each its own id"
            )));
        }
        let resumed = self.contexts.contains_key(name.as_str());
        let context = self.contexts.entry(name.to_string()).or_default();
        let is_own = session.parent_session_id.is_none();
        let begun = Session {
            context: name.to_string(),
            is_own,
            leaf: context.leaf.clone().filter(|_| is_own),
            ended: None,
        };
        let entries = context.path_to(begun.leaf.as_ref());
        let origin = context.origin.clone();
        self.sessions.insert(id, begun);
        Ok(OpenedSession {
            resumed,
            entries,
            noted: Noted::default(),
            origin,
            // A session in memory ends with its process, so no answer can be lost.
            lost_answer: false,
        })
    }

    fn plant(&mut self, session: NewSession, seed: Seed) -> Result<OpenedSession, StoreError> {
        let name = ContextName::parse(&session.context_name)?.to_string();
        if self.contexts.contains_key(&name) {
            return Err(StoreError::new(format!(
                "there is already a context {name}; choose another name, or destroy it first"
            )));
        }
        let mut planted = StoredContext::default();
        for SeedEntry {
            parent_id,
            entry,
            source,
        } in seed.entries
        {
            let is_known = |id: &String| planted.places.contains_key(id);
            if is_known(&entry.id) || !parent_id.as_ref().is_none_or(is_known) {
                let id = &entry.id;
                return Err(StoreError::new(format!(
                    "the entry {id:?} does not fit in the conversation"
                )));
            }
            planted.push(StoredEntry {
                parent_id,
                id: entry.id,
                session_id: session.session_id.clone(),
                time_ms: entry.time_ms,
                content: entry.content,
                source,
            });
        }
        if let Some(leaf) = seed
            .leaf_id
            .as_ref()
            .filter(|leaf| !planted.places.contains_key(*leaf))
        {
            return Err(StoreError::new(format!("the conversation has no entry {leaf:?}")));
        }
        planted.leaf = seed.leaf_id;
        planted.origin = Some(seed.origin);
        self.contexts.insert(name, planted);
        let opened = self.begin(session)?;
        Ok(OpenedSession {
            resumed: false,
            ..opened
        })
    }

    fn tree(&self, session_id: &str) -> Result<Tree, StoreError> {
        let session = self
            .sessions
            .get(session_id)
            .ok_or_else(|| no_session(session_id))?;
        let context = &self.contexts[&session.context];
        let path = context.path_to(session.leaf.as_ref());
        let is_own = |entry: &StoredEntry| {
            let writer = self.sessions.get(&entry.session_id);
            writer.is_none_or(|writer| writer.is_own)
        };
        let entries = context.entries.iter().enumerate().filter(|(place, entry)| {
            let lasts = *place >= context.cleared || path.iter().any(|other| other.id == entry.id);
            lasts && is_own(entry)
        });
        let entries: Vec<StoredEntry> = entries.map(|(_, entry)| entry.clone()).collect();
        Ok(Tree::new(entries, session.leaf.clone()))
    }

    fn move_to(
        &mut self,
        session_id: &str,
        leaf_id: Option<String>,
        entries: Vec<NewEntry>,
    ) -> Result<(), StoreError> {
        let session = self
            .sessions
            .get_mut(session_id)
            .ok_or_else(|| no_session(session_id))?;
        let context = self.contexts.entry(session.context.clone()).or_default();
        if let Some(leaf) = leaf_id
            .as_ref()
            .filter(|leaf| !context.places.contains_key(*leaf))
        {
            let name = &session.context;
            return Err(StoreError::new(format!(
                "the context {name} has no entry {leaf:?}"
            )));
        }
        let before = std::mem::replace(&mut session.leaf, leaf_id);
        if session.is_own {
            context.leaf.clone_from(&session.leaf);
        }
        let appended = self.append(session_id, entries);
        if appended.is_err()
            && let Some(session) = self.sessions.get_mut(session_id)
        {
            session.leaf.clone_from(&before);
            if let Some(context) = self.contexts.get_mut(&session.context).filter(|_| session.is_own) {
                context.leaf = before;
            }
        }
        appended
    }

    fn append(&mut self, session_id: &str, entries: Vec<NewEntry>) -> Result<(), StoreError> {
        let Self {
            sessions, contexts, ..
        } = self;
        let session = sessions
            .get_mut(session_id)
            .ok_or_else(|| no_session(session_id))?;
        let context = contexts.entry(session.context.clone()).or_default();
        let is_double = |(index, entry): (usize, &NewEntry)| {
            context.places.contains_key(&entry.id)
                || entries[..index].iter().any(|other| other.id == entry.id)
        };
        if let Some(double) = entries.iter().enumerate().position(is_double) {
            let (name, id) = (&session.context, &entries[double].id);
            return Err(StoreError::new(format!(
                "the context {name} already has an entry {id:?}"
            )));
        }
        for NewEntry { id, time_ms, content } in entries {
            context.push(StoredEntry {
                parent_id: session.leaf.replace(id.clone()),
                id,
                session_id: session_id.to_owned(),
                time_ms,
                content,
                source: None,
            });
        }
        if session.is_own {
            context.leaf.clone_from(&session.leaf);
        }
        Ok(())
    }

    fn deliver(&mut self, letters: Vec<Letter>) -> Result<(), StoreError> {
        for letter in &letters {
            ContextName::parse(&letter.to)?;
        }
        for letter in letters {
            let is_known =
                |known: &Delivered| letter.origin.is_some() && known.letter.origin == letter.origin;
            if !self.inbox.iter().any(is_known) {
                self.inbox.push(Delivered {
                    letter,
                    time_ms: now_ms().unsigned_abs(),
                    consumed: false,
                });
            }
        }
        Ok(())
    }

    fn waiting(&self, context: &str) -> Vec<WaitingLetter> {
        let inbox = (0..).zip(&self.inbox);
        inbox
            .filter(|(_, delivered)| !delivered.consumed && delivered.letter.to == context)
            .map(|(id, delivered)| WaitingLetter {
                id,
                from: delivered.letter.from.clone(),
                content: delivered.letter.content.clone(),
                time_ms: delivered.time_ms,
            })
            .collect()
    }

    fn append_consuming(
        &mut self,
        session_id: &str,
        entries: Vec<NewEntry>,
        letters: &[i64],
    ) -> Result<Consumed, StoreError> {
        let session = self
            .sessions
            .get(session_id)
            .ok_or_else(|| no_session(session_id))?;
        let waiting = self.waiting(&session.context);
        if !letters
            .iter()
            .all(|id| waiting.iter().any(|letter| letter.id == *id))
        {
            return Ok(Consumed::TakenByAnother);
        }
        self.append(session_id, entries)?;
        for (id, delivered) in (0..).zip(&mut self.inbox) {
            delivered.consumed |= letters.contains(&id);
        }
        Ok(Consumed::All)
    }

    fn end(&mut self, session_id: &str, reason: &str) -> Result<(), StoreError> {
        let session = self
            .sessions
            .get_mut(session_id)
            .ok_or_else(|| no_session(session_id))?;
        session.ended.get_or_insert_with(|| reason.to_owned());
        Ok(())
    }

    fn clear(&mut self, session_id: &str) -> Result<(), StoreError> {
        let session = self
            .sessions
            .get_mut(session_id)
            .ok_or_else(|| no_session(session_id))?;
        session.leaf = None;
        if let Some(context) = self.contexts.get_mut(&session.context) {
            context.archives.extend(context.leaf.take());
            context.cleared = context.entries.len();
            context.origin = None;
        }
        Ok(())
    }

    fn put_blob(&mut self, bytes: Vec<u8>) -> String {
        let hash = blake3::hash(&bytes).to_hex().to_string();
        self.blobs.entry(hash.clone()).or_insert(bytes);
        hash
    }
}

impl Store for MemoryStore {
    fn begin_session<'a>(&'a self, session: NewSession) -> BoxFuture<'a, Result<OpenedSession, StoreError>> {
        Box::pin(async move { self.memory().begin(session) })
    }

    fn plant<'a>(
        &'a self,
        session: NewSession,
        seed: Seed,
    ) -> BoxFuture<'a, Result<OpenedSession, StoreError>> {
        Box::pin(async move { self.memory().plant(session, seed) })
    }

    fn tree<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Tree, StoreError>> {
        Box::pin(async move { self.memory().tree(session_id) })
    }

    fn move_to<'a>(
        &'a self,
        session_id: &'a str,
        leaf_id: Option<String>,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.memory().move_to(session_id, leaf_id, entries) })
    }

    fn append<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.memory().append(session_id, entries) })
    }

    fn deliver<'a>(&'a self, letters: Vec<Letter>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.memory().deliver(letters) })
    }

    fn inbox<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<Vec<WaitingLetter>, StoreError>> {
        Box::pin(async move { Ok(self.memory().waiting(context_name)) })
    }

    fn append_consuming<'a>(
        &'a self,
        session_id: &'a str,
        entries: Vec<NewEntry>,
        letters: Vec<i64>,
    ) -> BoxFuture<'a, Result<Consumed, StoreError>> {
        Box::pin(async move { self.memory().append_consuming(session_id, entries, &letters) })
    }

    fn context_names<'a>(&'a self) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(async move { Ok(self.memory().contexts.keys().cloned().collect()) })
    }

    fn end_session<'a>(
        &'a self,
        session_id: &'a str,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.memory().end(session_id, reason) })
    }

    fn clear<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.memory().clear(session_id) })
    }

    fn make_current<'a>(&'a self, context_name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.memory().current = Some(ContextName::parse(context_name)?.to_string());
            Ok(())
        })
    }

    fn put_blob<'a>(&'a self, bytes: Vec<u8>) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(async move { Ok(self.memory().put_blob(bytes)) })
    }

    fn blob<'a>(&'a self, hash: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(async move { Ok(self.memory().blobs.get(hash).cloned()) })
    }

    fn trace(&self, session_id: &str, trace: DispatchTrace) {
        self.memory().traces.push((session_id.to_owned(), trace));
    }

    fn audit(&self, record: AuditRecord) {
        self.memory().audit.push(record);
    }
}

fn no_session(session_id: &str) -> StoreError {
    StoreError::new(format!("there is no session {session_id:?}; begin it first"))
}
