//! The only thread that writes.
//!
//! Requests come through a channel. Those that wait at the same moment are written in one transaction, because a
//! transaction costs a flush of the disk and a row does not. Each is told its own result, and only once the
//! transaction is on disk. A request that fails is undone alone; the others go on.
//!
//! Traces are written without a flush, because no caller waits for them: the system has them at once, so they outlive
//! this process. The next request's flush takes them to the disk; if none comes soon, they get a flush of their own.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use becket_agent::store::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use crate::open::until;
use crate::problem::Problem;
use crate::traces::TraceBuffer;
use crate::writing;

/// The most requests in one transaction, so that the first does not wait for ever.
const LARGEST_GROUP: usize = 1000;

/// How long traces wait for another write to go along with.
const TRACES_WAIT: Duration = Duration::from_millis(500);

/// How long written traces wait for another request's flush: about as long as a quick tool runs.
const FLUSH_WAIT: Duration = Duration::from_millis(5);

/// A request to the writer's thread.
pub(crate) enum Request {
    /// Changes something; joins a transaction.
    Write(Box<dyn Work>),
    /// Looks something up; needs no transaction of its own.
    Read(Box<dyn Work>),
    /// Writes the dispatches that wait.
    WriteTraces,
    /// Writes what is left, closes the file, reports, and ends the thread.
    Finish(Report),
}

/// Is called with the result of the last work.
pub(crate) type Report = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The thread and the channel to it.
pub(crate) struct Writer {
    pub(crate) requests: Sender<Request>,
    pub(crate) thread: JoinHandle<()>,
}

/// The file that the thread writes to.
pub(crate) struct Target {
    pub(crate) file: PathBuf,
    pub(crate) connection: Connection,
    /// How long to wait for a lock of another process.
    pub(crate) lock_timeout: Duration,
    pub(crate) traces: Arc<TraceBuffer>,
    /// How the connection flushes now.
    pub(crate) flush: Cell<Flush>,
    /// When traces that were written since the last flush must be flushed.
    pub(crate) flush_by: Cell<Option<Instant>>,
}

/// When a transaction is flushed to the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Before it is acknowledged.
    #[default]
    AtOnce,
    /// With the next one, or soon.
    Soon,
}

impl Flush {
    /// SQLite's setting `synchronous`.
    fn setting(self) -> &'static str {
        match self {
            Self::AtOnce => "FULL",
            Self::Soon => "NORMAL",
        }
    }
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(target: Target) -> Result<Self, StoreError> {
        let (requests, inbox) = channel();
        let file = target.file.clone();
        let thread = std::thread::Builder::new().name("becket-store".into());
        let thread = thread.spawn(move || serve(target, inbox)).map_err(|error| {
            StoreError::new(format!(
                "cannot start the thread that writes the store {}: {error}. Close some programs and try again",
                file.display()
            ))
        })?;
        Ok(Self { requests, thread })
    }
}

/// A piece of work for the thread: it runs inside a transaction and is told afterwards whether that is on disk.
pub(crate) trait Work: Send {
    /// Does the work and keeps its result; an error undoes it.
    fn run(&mut self, connection: &Connection) -> Result<(), Problem>;

    /// Answers the caller. `Ok` means that what `run` did is on disk.
    fn answer(self: Box<Self>, outcome: Result<(), Problem>, file: &std::path::Path);
}

/// Work that yields a value.
pub(crate) struct Job<T, F> {
    doing: &'static str,
    work: Option<F>,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, Problem> + Send,
{
    /// Work, and the receiver of its value. `doing` completes the sentence "cannot …".
    pub(crate) fn new(doing: &'static str, work: F) -> (Box<Self>, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, value) = oneshot::channel();
        let job = Self {
            doing,
            work: Some(work),
            value: None,
            reply,
        };
        (Box::new(job), value)
    }
}

impl<T, F> Work for Job<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, Problem> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), Problem> {
        let work = self.work.take().expect("the thread runs each piece of work once");
        self.value = Some(work(connection)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), Problem>, file: &std::path::Path) {
        let Self {
            doing, value, reply, ..
        } = *self;
        let result = match outcome {
            Ok(()) => Ok(value.expect("work that succeeded left its value")),
            Err(problem) => Err(problem.told(file, doing)),
        };
        // The caller may have been cancelled; what was written stays written.
        let _ = reply.send(result);
    }
}

fn serve(target: Target, inbox: Receiver<Request>) {
    while let Some(request) = next_request(&target, &inbox) {
        let group = match request {
            Request::Read(mut work) => {
                let outcome = work.run(&target.connection);
                work.answer(outcome, &target.file);
                Group::default()
            }
            Request::Write(work) => target.write_group(vec![work], &inbox, Flush::AtOnce),
            Request::WriteTraces => target.write_group(Vec::new(), &channel().1, Flush::Soon),
            Request::Finish(report) => Group {
                finish: Some(report),
                ..Group::default()
            },
        };
        if let Some(report) = group.finish {
            return target.finish(report);
        }
    }
}

/// Waits for a request. Spans that wait too long without one become a request of their own, since a front end may be
/// following the session.
fn next_request(target: &Target, inbox: &Receiver<Request>) -> Option<Request> {
    loop {
        let flush_by = target.flush_by.get();
        let wait = flush_by.map_or(TRACES_WAIT, |by| by.saturating_duration_since(Instant::now()));
        // Requests that keep coming must not put the flush off.
        if flush_by.is_some() && wait.is_zero() {
            target.flush();
            continue;
        }
        match inbox.recv_timeout(wait) {
            Ok(request) => return Some(request),
            Err(RecvTimeoutError::Timeout) if target.traces.has_spans() => return Some(Request::WriteTraces),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// The outcome of a group of requests.
#[derive(Default)]
struct Group {
    /// Why the traces were not written, if they were not.
    traces: Option<Problem>,
    /// The request to finish, if it was in the group.
    finish: Option<Report>,
}

impl Target {
    /// Writes these requests and all that are waiting in one transaction, and answers them.
    fn write_group(&self, first: Vec<Box<dyn Work>>, inbox: &Receiver<Request>, flush: Flush) -> Group {
        let mut group = Group::default();
        let mut waiting = first;
        let mut done: Vec<(Box<dyn Work>, Result<(), Problem>)> = Vec::new();
        let traces = self.traces.take();
        let changes = self.connection.total_changes();
        let written = self.begin(flush).and_then(|mut transaction| {
            while let Some(mut work) = waiting.pop() {
                let outcome = run_alone(&mut transaction, |connection| work.run(connection));
                done.push((work, outcome));
                still_open(&transaction)?;
                if done.len() < LARGEST_GROUP {
                    waiting.extend(next_work(inbox, &mut group.finish));
                }
            }
            if !traces.is_empty() {
                let outcome = run_alone(&mut transaction, |connection| {
                    writing::add_traces(connection, &traces)
                });
                group.traces = outcome.err();
                still_open(&transaction)?;
            }
            transaction.commit().map_err(Problem::from)
        });
        // A transaction that changed nothing flushes nothing.
        if written.is_ok() && self.connection.total_changes() > changes {
            let soon = self.flush_by.get().unwrap_or_else(|| Instant::now() + FLUSH_WAIT);
            self.flush_by.set((flush == Flush::Soon).then_some(soon));
        }
        if let Err(problem) = &written {
            group.traces = Some(problem.clone());
            self.traces.put_back(traces);
        }
        for (work, outcome) in done {
            work.answer(outcome.and(written.clone()), &self.file);
        }
        for work in waiting {
            work.answer(written.clone(), &self.file);
        }
        group
    }

    /// Flushes what was written without a flush. If that fails, it is tried again; the flush of a request fails too,
    /// and is told.
    fn flush(&self) {
        let mut log: OsString = self.file.clone().into();
        log.push("-wal");
        // SQLite's locks are not on this file, so opening and closing it costs none of them.
        let flushed = File::open(log).and_then(|log| log.sync_data());
        let again = flushed.is_err().then(|| Instant::now() + TRACES_WAIT);
        self.flush_by.set(again);
    }

    /// Takes the write lock, which other processes may hold.
    fn begin(&self, flush: Flush) -> Result<Transaction<'_>, Problem> {
        if self.flush.get() != flush {
            self.connection
                .pragma_update(None, "synchronous", flush.setting())?;
            self.flush.set(flush);
        }
        until(Instant::now() + self.lock_timeout, || {
            Ok(Transaction::new_unchecked(
                &self.connection,
                TransactionBehavior::Immediate,
            )?)
        })
    }

    /// Writes what is left and closes the file before it reports.
    fn finish(self, report: Report) {
        let problem = if self.traces.is_empty() {
            None
        } else {
            self.write_group(Vec::new(), &channel().1, Flush::AtOnce).traces
        };
        if self.flush_by.get().is_some() {
            self.flush();
        }
        let outcome = problem.map_or(Ok(()), |problem| {
            Err(problem.told(&self.file, "keep the hooks' trace"))
        });
        drop(self.connection);
        report(outcome);
    }
}

/// The next piece of work that waits in the channel, up to a request to finish.
fn next_work(inbox: &Receiver<Request>, finish: &mut Option<Report>) -> Option<Box<dyn Work>> {
    while finish.is_none() {
        match inbox.try_recv().ok()? {
            Request::Write(work) | Request::Read(work) => return Some(work),
            Request::WriteTraces => {}
            Request::Finish(report) => *finish = Some(report),
        }
    }
    None
}

/// Runs a piece of work so that its failure undoes it and nothing else.
fn run_alone(
    transaction: &mut Transaction<'_>,
    work: impl FnOnce(&Connection) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let savepoint = transaction.savepoint()?;
    work(&savepoint)?;
    savepoint.commit()?;
    Ok(())
}

/// Checks that the transaction is still open: SQLite gives up a whole one after some failures, such as a full disk.
fn still_open(transaction: &Transaction<'_>) -> Result<(), Problem> {
    if transaction.is_autocommit() {
        return Err(Problem::Refused(
            "SQLite gave up the whole transaction, most likely because the disk is full or failed. \
             Make room and try again"
                .into(),
        ));
    }
    Ok(())
}
