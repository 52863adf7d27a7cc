//! The one thread that writes.
//!
//! Requests come through a channel. Those that wait at the same moment are written in one transaction, because a
//! transaction costs a flush of the disk and a row does not. Each is told its own result, and only once the
//! transaction is on disk. A request that fails is undone alone; the others go on.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use becket_agent::audit::AuditRecord;
use becket_agent::store::{Span, StoreError};
use becket_hooks::DispatchTrace;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use crate::audit::decides;
use crate::open::until;
use crate::problem::Problem;
use crate::writing;

/// The most requests in one transaction, so that the first does not wait for ever.
const LARGEST_GROUP: usize = 1000;

/// The most dispatches that wait in memory while the disk cannot take them.
const MOST_TRACES: usize = 10_000;

/// How long traces wait for something to be written with.
const TRACES_WAIT: Duration = Duration::from_millis(500);

/// What the thread is asked to do.
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

/// Takes the news of how the last work went.
pub(crate) type Report = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The thread and the way to reach it.
pub(crate) struct Writer {
    pub(crate) requests: Sender<Request>,
    pub(crate) thread: JoinHandle<()>,
}

/// Where the thread writes to.
pub(crate) struct Target {
    pub(crate) file: PathBuf,
    pub(crate) connection: Connection,
    /// How long to wait for a lock of another process.
    pub(crate) patience: Duration,
    pub(crate) traces: Arc<TraceBuffer>,
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

/// Dispatches that wait to be written. Adding one never waits for the disk.
#[derive(Default)]
pub(crate) struct TraceBuffer(Mutex<Vec<WaitingTrace>>);

/// A dispatch that waits to be written.
pub(crate) struct WaitingTrace {
    pub(crate) session_id: String,
    pub(crate) traced: Traced,
}

/// What a trace is made of.
pub(crate) enum Traced {
    Dispatch(Box<DispatchTrace>),
    Span(Box<Span>),
    Audit(Box<AuditRecord>),
}

impl Traced {
    /// Whether it may be forgotten while the disk cannot take it: what was decided may not.
    fn is_dispensable(&self) -> bool {
        match self {
            Self::Dispatch(trace) => !decides(trace),
            Self::Span(_) => true,
            Self::Audit(_) => false,
        }
    }
}

impl TraceBuffer {
    /// Adds a dispatch and says how many wait now.
    pub(crate) fn add(&self, trace: WaitingTrace) -> usize {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST_TRACES || !trace.traced.is_dispensable() {
            waiting.push(trace);
        }
        waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether a stretch of time is among what waits.
    fn has_spans(&self) -> bool {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting
            .iter()
            .any(|waiting| matches!(waiting.traced, Traced::Span(_)))
    }

    fn take(&self) -> Vec<WaitingTrace> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put_back(&self, mut traces: Vec<WaitingTrace>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.append(&mut waiting);
        let mut kept = 0;
        traces.retain(|trace| {
            kept += 1;
            kept <= MOST_TRACES || !trace.traced.is_dispensable()
        });
        *waiting = traces;
    }
}

/// A piece of work for the thread: it runs inside a transaction and is told afterwards whether that is on disk.
pub(crate) trait Work: Send {
    /// Does the work and keeps what came of it; an error undoes it.
    fn run(&mut self, connection: &Connection) -> Result<(), Problem>;

    /// Answers the one who asked. `Ok` means: what `run` did is on disk.
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
    /// Work and the place where its value will arrive. `doing` completes the sentence "cannot …".
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
        // Whoever asked may have been cancelled; what was written stays written.
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
            Request::Write(work) => target.write_group(vec![work], &inbox),
            Request::WriteTraces => target.write_group(Vec::new(), &inbox),
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

/// Waits for a request. What took its time and is not taken along for a while is a request of its own: somebody may be
/// following the session.
fn next_request(target: &Target, inbox: &Receiver<Request>) -> Option<Request> {
    loop {
        match inbox.recv_timeout(TRACES_WAIT) {
            Ok(request) => return Some(request),
            Err(RecvTimeoutError::Timeout) if target.traces.has_spans() => return Some(Request::WriteTraces),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// What came of a group of requests.
#[derive(Default)]
struct Group {
    /// Why the traces were not written, if so.
    traces: Option<Problem>,
    /// The request to finish, if it was among them.
    finish: Option<Report>,
}

impl Target {
    /// Writes these requests and all that are waiting in one transaction, and answers them.
    fn write_group(&self, first: Vec<Box<dyn Work>>, inbox: &Receiver<Request>) -> Group {
        let mut group = Group::default();
        let mut waiting = first;
        let mut done: Vec<(Box<dyn Work>, Result<(), Problem>)> = Vec::new();
        let traces = self.traces.take();
        let written = self.begin().and_then(|mut transaction| {
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

    /// Takes the write lock, which other processes may hold.
    fn begin(&self) -> Result<Transaction<'_>, Problem> {
        until(Instant::now() + self.patience, || {
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
            let (_, nothing) = channel();
            self.write_group(Vec::new(), &nothing).traces
        };
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

/// SQLite gives up a whole transaction after some failures, such as a full disk.
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
