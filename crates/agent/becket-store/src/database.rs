//! The file of the store: connections for readers, and the writer's thread.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use becket_agent::store::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::open;
use crate::problem::Problem;
use crate::traces::{TraceBuffer, Traced, WaitingTrace};
use crate::writer::{Job, Request, Target, Writer};

/// How much longer than its lock timeout the writer may take for its last work.
const GRACE: Duration = Duration::from_secs(5);

/// The number of dispatches that are written even if nothing else is.
const TRACES_AT_ONCE: usize = 256;

/// One SQLite file, which several processes may use at once.
pub(crate) struct Database {
    file: PathBuf,
    lock_timeout: Duration,
    /// A connection that is not in use. The writer takes it when it starts; a later reader leaves another one.
    idle: Mutex<Option<Connection>>,
    writer: Mutex<WriterState>,
    traces: Arc<TraceBuffer>,
}

enum WriterState {
    NotStarted,
    Running(Writer),
    Closed,
}

impl Database {
    /// Opens the file at that path, making it if it is missing, readable for its owner only. The lock_timeout is how
    /// long a request waits for a lock that another process holds.
    pub(crate) fn open(path: &Path, lock_timeout: Duration) -> Result<Self, StoreError> {
        let file = std::path::absolute(path).map_err(|error| {
            StoreError::new(format!(
                "cannot tell where the store {} lies: {error}",
                path.display()
            ))
        })?;
        let connection = open::open(&file, lock_timeout)?;
        Ok(Self {
            file,
            lock_timeout,
            idle: Mutex::new(Some(connection)),
            writer: Mutex::new(WriterState::NotStarted),
            traces: Arc::default(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    pub(crate) fn lock_timeout(&self) -> Duration {
        self.lock_timeout
    }

    /// Adds a trace, which is written with the next write. Never waits.
    pub(crate) fn add_trace(&self, session_id: &str, traced: Traced) {
        let session_id = session_id.to_owned();
        let waiting = self.traces.add(WaitingTrace { session_id, traced });
        if waiting.is_multiple_of(TRACES_AT_ONCE) {
            // A lost trace is no reason to fail: if the writer is gone, the next request reports it.
            let _ = self.send(Request::WriteTraces);
        }
    }

    /// Writes what is pending and ends the writer's thread. Later writes fail. Needs a tokio runtime with a timer.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        let (report, outcome) = oneshot::channel();
        let Some(thread) = self.finish(move |result| drop(report.send(result)))? else {
            return Ok(());
        };
        match tokio::time::timeout(self.lock_timeout + GRACE, outcome).await {
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
            None => open::open(&self.file, self.lock_timeout)?,
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

    /// Reads in the writer's thread, so that a large result does not block the caller's.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, value) = Job::new(doing, query);
        self.send(Request::Read(job))?;
        value.await.unwrap_or_else(|_| Err(self.writer_died()))
    }

    /// Hands a request to the writer's thread, which starts if this is the first.
    pub(crate) fn send(&self, request: Request) -> Result<(), StoreError> {
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
            connection: idle.map_or_else(|| open::open(&self.file, self.lock_timeout), Ok)?,
            lock_timeout: self.lock_timeout,
            traces: Arc::clone(&self.traces),
            flush: Cell::default(),
            flush_by: Cell::default(),
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
            (self.lock_timeout + GRACE).as_secs()
        ))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (report, outcome) = sync_channel(1);
        if let Ok(Some(thread)) = self.finish(move |result| drop(report.send(result))) {
            // A writer that hangs in the disk is left behind; its last request was never confirmed.
            if outcome.recv_timeout(self.lock_timeout + GRACE).is_ok() {
                let _ = thread.join();
            }
        }
    }
}
