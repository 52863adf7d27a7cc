//! The worker lane: a program that stays alive and answers line by line.
//!
//! A request is `{"id":N,"event":{…}}`, an answer `{"id":N,"reply":{…}}` or `{"id":N,"error":"…"}`, each on one line.
//! The number pairs them: whatever a worker prints too early, too late or too often can never be taken for the answer
//! to another event. `docs/guide/workers.md` tells the authors of workers what they need to know.

use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::command::{BACKGROUND_GRACE, end_tree, killed, timed_out, too_large};
use super::pipes::{Output, Tail, TooLarge};
use super::process::{Limits, Process, Program, deadline_after};
use super::tree::Tree;
use super::{Finished, Invocation, Lane, LaneKind};
use crate::{Cause, Failure};

/// How many failures in a row are accepted before the next start is delayed.
const FREE_FAILURES: u32 = 2;

/// The first pause after too many failures; it doubles with every further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause before the next start.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How long a worker may take to end by itself when it is no longer needed.
const FAREWELL: Duration = Duration::from_millis(200);

/// The random bits of a request's id: enough that it cannot be guessed, few enough for JavaScript's numbers.
const RANDOM_BITS: u64 = (1 << 48) - 1;

/// Keeps a program alive and asks it about one event after the other.
#[derive(Debug)]
pub struct WorkerLane {
    program: Program,
    limits: Limits,
    slot: Mutex<WorkerSlot>,
}

impl WorkerLane {
    /// A lane for a program, with the usual limits. The program starts with the first event.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            limits: Limits::default(),
            slot: Mutex::default(),
        }
    }

    /// This lane with other limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Ends the worker: its input is closed, and if that does not end it, its processes are killed. A later event would
    /// start a new one. Dropping the lane ends the worker as well, but without a chance to finish its work.
    pub async fn shutdown(&self) {
        let Some(Worker {
            stdin,
            output,
            mut tail,
            mut tree,
            ..
        }) = self.slot.lock().await.worker.take()
        else {
            return;
        };
        drop((stdin, output));
        let _ = timeout(FAREWELL, tree.wait()).await;
        end_tree(&mut tree, &mut tail).await;
    }

    /// Asks the worker. A process that answers for long from what it has read cannot keep a worker: nobody knows which
    /// files the worker has read, and in which directory it was started.
    async fn ask(&self, invocation: Invocation) -> Result<Finished, Failure> {
        let answer = self.ask_living(invocation).await;
        if becket_fs::is_recording() {
            self.shutdown().await;
        }
        answer
    }

    async fn ask_living(&self, invocation: Invocation) -> Result<Finished, Failure> {
        let deadline = deadline_after(invocation.timeout);
        let Ok(mut slot) = timeout_at(deadline, self.slot.lock()).await else {
            let detail = format!(
                "the worker was busy with other events for {:?}",
                invocation.timeout
            );
            return Err(Failure::new(Cause::TimedOut, detail));
        };
        slot.check_pause()?;
        let mut may_start_again = true;
        loop {
            let mut worker = self.take_worker(&mut slot, &invocation, deadline).await?;
            let most = self.limits.output_for(invocation.input.len());
            worker.output.limit_to(most);
            let trouble = match worker.exchange(&invocation.input, deadline).await {
                Ok(finished) => {
                    slot.keep(worker);
                    return Ok(finished);
                }
                Err(Trouble::Raised(message)) => {
                    let failure = Failure::new(Cause::Raised, message).with_stderr(worker.tail.take_text());
                    slot.keep(worker);
                    return Err(failure);
                }
                Err(trouble) => trouble,
            };
            // A worker may end between two events; an event that came at that very moment goes to its successor.
            if may_start_again && worker.has_retired(&trouble) {
                may_start_again = false;
                continue;
            }
            let failure = self.dismiss(worker, trouble, invocation.timeout, most).await;
            slot.note_failure(&failure);
            return Err(failure);
        }
    }

    /// The living worker, or a new one.
    async fn take_worker(
        &self,
        slot: &mut WorkerSlot,
        invocation: &Invocation,
        deadline: Instant,
    ) -> Result<Worker, Failure> {
        if let Some(mut worker) = slot.worker.take() {
            match worker.idle_state() {
                Idle::Ready => return Ok(worker),
                // Dropping the worker ends what it may have left running.
                Idle::Ended => drop(worker),
                Idle::Talking => {
                    let failure = self
                        .dismiss(worker, Trouble::Unasked, invocation.timeout, 0)
                        .await;
                    slot.note_failure(&failure);
                    return Err(failure);
                }
            }
        }
        let process = self.program.start(&invocation.directory, &[], deadline).await?;
        Ok(Worker::new(process, self.limits))
    }

    /// Ends a worker that failed, and says how it failed.
    async fn dismiss(&self, worker: Worker, trouble: Trouble, limit: Duration, most: usize) -> Failure {
        let Worker {
            stdin,
            output,
            mut tail,
            mut tree,
            ..
        } = worker;
        let shown = trouble.describe(output.bytes(), limit, most);
        // Without its pipes, a worker that still reads or writes notices that it is time to end.
        drop((stdin, output));
        end_tree(&mut tree, &mut tail).await;
        shown.with_stderr(tail.take_text())
    }
}

impl Lane for WorkerLane {
    fn kind(&self) -> LaneKind {
        LaneKind::Worker
    }

    fn run<'a>(&'a self, invocation: Invocation) -> BoxFuture<'a, Result<Finished, Failure>> {
        Box::pin(self.ask(invocation))
    }
}

/// The one worker of a lane, and how often it failed lately. The worker is taken out while it is asked, so that a
/// worker whose answer was abandoned is never asked again.
#[derive(Debug, Default)]
struct WorkerSlot {
    worker: Option<Worker>,
    failures: u32,
    pause: Option<(Instant, Failure)>,
}

impl WorkerSlot {
    fn keep(&mut self, worker: Worker) {
        self.worker = Some(worker);
        self.failures = 0;
        self.pause = None;
    }

    /// Counts a failure. A timeout is no reason for a pause: such failures cannot come quickly.
    fn note_failure(&mut self, failure: &Failure) {
        if failure.cause == Cause::TimedOut {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if let Some(beyond) = self.failures.checked_sub(FREE_FAILURES + 1) {
            let pause = FIRST_PAUSE.saturating_mul(1 << beyond.min(16)).min(LONGEST_PAUSE);
            self.pause = Some((Instant::now() + pause, failure.clone()));
        }
    }

    /// Fails at once during a pause, for the reason of the last failure.
    fn check_pause(&self) -> Result<(), Failure> {
        let Some((until, last)) = &self.pause else {
            return Ok(());
        };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let detail = format!(
            "the worker failed {} times in a row and is not started for another {} ms; the last time: {}",
            self.failures,
            left.as_millis(),
            last.detail
        );
        Err(Failure::new(last.cause, detail).with_stderr(last.stderr.clone()))
    }
}

/// A running worker.
struct Worker {
    stdin: ChildStdin,
    output: Output,
    tail: Tail,
    tree: Tree,
    answered: u64,
    request: Vec<u8>,
}

/// What a worker did since the last request.
enum Idle {
    Ready,
    Ended,
    Talking,
}

/// Why an exchange gave no reply.
enum Trouble {
    /// The worker itself reported an error; it can be asked again.
    Raised(String),
    TimedOut,
    TooLarge,
    /// The worker wrote something without a request.
    Unasked,
    /// The worker closed its output and lives on.
    Closed,
    Ended(ExitStatus),
    Unreadable(String),
    WrongShape(String),
}

/// A line that a worker writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerLine<'a> {
    id: u64,
    #[serde(borrow)]
    reply: Option<&'a RawValue>,
    error: Option<String>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Worker")
            .field("answered", &self.answered)
            .finish_non_exhaustive()
    }
}

impl Worker {
    fn new(process: Process, limits: Limits) -> Self {
        let Process {
            stdin,
            stdout,
            stderr,
            tree,
        } = process;
        Self {
            stdin,
            output: Output::new(stdout, limits.output),
            tail: Tail::new(stderr, limits.stderr),
            tree,
            answered: 0,
            request: Vec::new(),
        }
    }

    fn idle_state(&mut self) -> Idle {
        if self.tree.ended().is_some() {
            return Idle::Ended;
        }
        match self.output.read_some().now_or_never() {
            None => Idle::Ready,
            Some(Ok(0)) => Idle::Ended,
            Some(_) => Idle::Talking,
        }
    }

    /// Whether the worker answered before, and then ended by itself without a word about the current event.
    fn has_retired(&self, trouble: &Trouble) -> bool {
        let ended_well = matches!(trouble, Trouble::Ended(status) if status.success());
        ended_well && self.answered > 0 && self.output.bytes().is_empty()
    }

    /// Asks the worker about one event.
    async fn exchange(&mut self, event: &str, deadline: Instant) -> Result<Finished, Trouble> {
        self.output.clear();
        // Not predictable, so that nothing printed in advance can pass for an answer.
        let id = crate::clock::new_uuid().as_u128() as u64 & RANDOM_BITS;
        write_request(&mut self.request, id, event);
        self.transmit(deadline).await?;
        let bytes = self.output.bytes();
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(bytes.len());
        let reply = read_answer(&bytes[..end], id)?;
        if bytes.len() > end + 1 {
            return Err(Trouble::Unasked);
        }
        self.answered += 1;
        Ok(Finished {
            stdout: reply?,
            stderr: self.tail.take_text(),
            code: 0,
            complete: true,
        })
    }

    /// Sends the request and waits for a line, with everything going on at the same time.
    async fn transmit(&mut self, deadline: Instant) -> Result<(), Trouble> {
        let mut timer = pin!(sleep_until(deadline));
        let mut writing = pin!(self.stdin.write_all(&self.request));
        let mut reading = pin!(self.output.read_line());
        let mut reading_errors = pin!(self.tail.read_to_end());
        let (mut written, mut closed, mut read_errors) = (false, false, false);
        let mut exited = None;
        loop {
            tokio::select! {
                biased;
                // One last look, for the case that this process was too busy to see the end.
                () = &mut timer => return Err(match exited.or_else(|| self.tree.ended()) {
                    Some(status) => Trouble::Ended(status),
                    None if closed => Trouble::Closed,
                    None => Trouble::TimedOut,
                }),
                // A complete answer counts, even if the worker has ended since.
                line = &mut reading, if !closed => match line {
                    Ok(true) => return Ok(()),
                    Ok(false) => {
                        closed = true;
                        timer.as_mut().reset(deadline.min(Instant::now() + BACKGROUND_GRACE));
                    }
                    Err(TooLarge) => return Err(Trouble::TooLarge),
                },
                status = self.tree.wait(), if exited.is_none() => match status {
                    Ok(status) if closed && read_errors => return Err(Trouble::Ended(status)),
                    Ok(status) => {
                        exited = Some(status);
                        timer.as_mut().reset(deadline.min(Instant::now() + BACKGROUND_GRACE));
                    }
                    Err(_) => return Err(Trouble::Closed),
                },
                _ = &mut writing, if !written => written = true,
                () = &mut reading_errors, if !read_errors => read_errors = true,
            }
            if let (Some(status), true, true) = (exited, closed, read_errors) {
                return Err(Trouble::Ended(status));
            }
        }
    }
}

/// Writes one line: the id and the event. Line breaks between the tokens of the event become blanks; JSON has none
/// inside of strings.
fn write_request(request: &mut Vec<u8>, id: u64, event: &str) {
    let event = if event.trim().is_empty() { "null" } else { event };
    request.clear();
    request.extend_from_slice(br#"{"id":"#);
    request.extend_from_slice(id.to_string().as_bytes());
    request.extend_from_slice(br#","event":"#);
    let start = request.len();
    request.extend_from_slice(event.as_bytes());
    for byte in request[start..]
        .iter_mut()
        .filter(|byte| matches!(byte, b'\n' | b'\r'))
    {
        *byte = b' ';
    }
    request.extend_from_slice(b"}\n");
}

/// Reads a line. The outer result says whether the worker keeps to the protocol, the inner one what it answered.
fn read_answer(line: &[u8], id: u64) -> Result<Result<Vec<u8>, Trouble>, Trouble> {
    let answer: AnswerLine<'_> = serde_json::from_slice(line).map_err(|error| {
        if error.is_data() {
            Trouble::WrongShape(format!("{error}"))
        } else {
            Trouble::Unreadable(format!("{error}"))
        }
    })?;
    if answer.id != id {
        return Err(Trouble::WrongShape(format!(
            "it answers the event {}, but was asked {id}",
            answer.id
        )));
    }
    match (answer.reply, answer.error) {
        (Some(reply), None) if reply.get().starts_with('{') => Ok(Ok(reply.get().as_bytes().to_vec())),
        (Some(_), None) => Err(Trouble::WrongShape("`reply` is not an object".into())),
        (None, Some(message)) => Ok(Err(Trouble::Raised(message))),
        (Some(_), Some(_)) => Err(Trouble::WrongShape("it has both `reply` and `error`".into())),
        (None, None) => Err(Trouble::WrongShape("it has neither `reply` nor `error`".into())),
    }
}

impl Trouble {
    /// The failure for this trouble. `output` is what the worker has written.
    fn describe(self, output: &[u8], limit: Duration, most: usize) -> Failure {
        let quoted = || excerpt(output);
        match self {
            Self::Raised(message) => Failure::new(Cause::Raised, message),
            Self::TimedOut => {
                let Failure { cause, detail, .. } = timed_out(limit, None);
                let advice =
                    "a worker must flush after every line, and must not wait for the end of standard input";
                Failure::new(cause, format!("{detail}; {advice}"))
            }
            Self::TooLarge => too_large(most),
            Self::Unasked => Failure::new(
                Cause::WrongShape,
                format!(
                    "the worker wrote a line that answers no event: {}; one event, one line",
                    quoted()
                ),
            ),
            Self::Closed => Failure::new(
                Cause::UnreadableOutput,
                "the worker closed its standard output before it answered",
            ),
            Self::Ended(status) => match status.code() {
                Some(code) => Failure::new(
                    Cause::ExitStatus,
                    format!("the worker ended with status {code} before it answered"),
                ),
                None => killed(status),
            },
            Self::Unreadable(problem) => Failure::new(
                Cause::UnreadableOutput,
                format!("the worker's line is not JSON ({problem}): {}", quoted()),
            ),
            Self::WrongShape(problem) => Failure::new(
                Cause::WrongShape,
                format!(
                    "the worker's line is no answer to this event ({problem}): {}",
                    quoted()
                ),
            ),
        }
    }
}

/// The beginning of a worker's output, for messages.
fn excerpt(output: &[u8]) -> String {
    const SHOWN: usize = 120;
    let text = String::from_utf8_lossy(&output[..output.len().min(SHOWN)]);
    let more = if output.len() > SHOWN { "…" } else { "" };
    format!("`{}{more}`", text.trim_end().escape_debug())
}
