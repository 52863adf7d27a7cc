//! Jobs: commands that run in the background while the model does something else.
//!
//! A job belongs to the session that has started it: no other one sees it, and it ends with the session. It is over
//! when its command has ended and no process holds its output any more; the rest of its processes is ended then.

use std::fmt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use becket_hooks::Tree;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::confined::Kept;
use crate::kept_output::KeptOutput;

/// How long to wait for the end of a job; ending one takes much less.
const END_BOUND: Duration = Duration::from_secs(5);

/// The jobs of all sessions. Copies share them.
#[derive(Clone, Default)]
pub struct Jobs(Arc<Mutex<Vec<Arc<Job>>>>);

impl fmt::Debug for Jobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} jobs", self.all().len())
    }
}

/// A command that was started, on its way to become a job.
pub(crate) struct Started<'a> {
    pub(crate) session_id: &'a str,
    /// The command as it was given to the shell.
    pub(crate) line: &'a str,
    pub(crate) tree: Tree,
    /// The pipe of its output.
    pub(crate) pipe: Receiver,
    /// What a confined command needs until it has ended.
    pub(crate) kept: Kept,
    /// How many bytes of its output are kept.
    pub(crate) output_bytes: usize,
    /// How long it may run.
    pub(crate) limit: Option<Duration>,
}

/// A command in the background.
pub(crate) struct Job {
    pub(crate) id: String,
    session_id: String,
    command: String,
    started: Instant,
    output: Mutex<KeptOutput>,
    state: Mutex<JobState>,
    /// Asks the job to end.
    stop: CancellationToken,
    /// Cancelled when the job is over.
    over: CancellationToken,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobState {
    Running,
    /// The job ended by itself, with this exit code; `None` after a signal.
    Ended(Option<i32>),
    /// The job was stopped, or its time was up.
    Stopped,
}

impl fmt::Display for JobState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Running => "running",
            Self::Ended(Some(0)) => "completed",
            Self::Ended(_) => "failed",
            Self::Stopped => "stopped",
        })
    }
}

impl Jobs {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.0.lock().expect("no panic happens while jobs are held")
    }

    /// The jobs of a session.
    pub(crate) fn of(&self, session_id: &str) -> Vec<Arc<Job>> {
        let all = self.all();
        all.iter()
            .filter(|job| job.session_id == session_id)
            .cloned()
            .collect()
    }

    /// The job of a session with this ID, or words that say which ones there are.
    pub(crate) fn find(&self, session_id: &str, id: &str) -> Result<Arc<Job>, String> {
        let jobs = self.of(session_id);
        let known = jobs
            .iter()
            .map(|job| job.id.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        jobs.iter()
            .find(|job| job.id == id)
            .cloned()
            .ok_or_else(|| match known.as_str() {
                "" => format!("Job not found: {id}. There are no jobs."),
                known => format!("Job not found: {id}. There are {known}."),
            })
    }

    /// How many jobs of a session run.
    pub(crate) fn running(&self, session_id: &str) -> usize {
        let jobs = self.of(session_id);
        jobs.iter().filter(|job| job.state() == JobState::Running).count()
    }

    /// The commands of all sessions that still run.
    pub fn running_commands(&self) -> Vec<String> {
        let all = self.all();
        let running = all.iter().filter(|job| job.state() == JobState::Running);
        running.map(|job| job.command.clone()).collect()
    }

    /// Follows a command that was started, as a new job.
    pub(crate) fn add(&self, command: Started<'_>) -> Arc<Job> {
        let mut all = self.all();
        let job = Arc::new(Job {
            id: format!("job_{}", all.len() + 1),
            session_id: command.session_id.to_owned(),
            command: command.line.to_owned(),
            started: Instant::now(),
            output: Mutex::new(KeptOutput::new(command.output_bytes)),
            state: Mutex::new(JobState::Running),
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
        });
        let running = (command.tree, command.kept);
        tokio::spawn(Arc::clone(&job).follow(running, command.pipe, command.limit));
        all.push(Arc::clone(&job));
        job
    }

    /// Ends the jobs of a session, and forgets their output.
    pub(crate) async fn end_session(&self, session_id: &str) {
        let jobs = self.of(session_id);
        jobs.iter().for_each(|job| job.stop.cancel());
        let deadline = tokio::time::Instant::now() + END_BOUND;
        for job in &jobs {
            // Jobs that hang in the kernel must not block the end of the session, however many they are.
            let _ = timeout_at(deadline, job.over.cancelled()).await;
            *job.output() = KeptOutput::new(1);
        }
    }
}

impl Job {
    /// The job's state now.
    pub(crate) fn state(&self) -> JobState {
        *self.state.lock().expect("no panic happens while it is held")
    }

    /// The output so far.
    pub(crate) fn output(&self) -> MutexGuard<'_, KeptOutput> {
        self.output.lock().expect("no panic happens while it is held")
    }

    /// Asks the job to end, waits for that, and tells whether it did.
    pub(crate) async fn end(&self) -> bool {
        self.stop.cancel();
        timeout(END_BOUND, self.over.cancelled()).await.is_ok()
    }

    /// Reads the job's output until it is over, and ends the rest of its processes.
    async fn follow(
        self: Arc<Self>,
        (mut tree, kept): (Tree, Kept),
        mut pipe: Receiver,
        limit: Option<Duration>,
    ) {
        let deadline = limit.map(|limit| tokio::time::Instant::now() + limit);
        let mut buffer = vec![0; 64 * 1024];
        let mut status: Option<ExitStatus> = None;
        let mut open = true;
        let mut stopped = false;
        while open || status.is_none() {
            tokio::select! {
                () = self.stop.cancelled() => { stopped = true; break }
                () = at(deadline) => { stopped = true; break }
                ended = tree.wait(), if status.is_none() => match ended {
                    Ok(ended) => status = Some(ended),
                    Err(_) => break,
                },
                read = pipe.read(&mut buffer), if open => match read {
                    Ok(count) if count > 0 => self.output().push(&buffer[..count]),
                    _ => open = false,
                },
            }
        }
        tree.terminate().await;
        drop(kept);
        let state = match stopped {
            true => JobState::Stopped,
            false => JobState::Ended(status.and_then(|status| status.code())),
        };
        *self.state.lock().expect("no panic happens while it is held") = state;
        self.over.cancel();
    }

    /// The job as the list of jobs shows it, each line after `indent`.
    pub(crate) fn told(&self, indent: &str) -> String {
        let state = self.state();
        let mut lines = vec![
            format!("{indent}Command: {}", self.command),
            format!("{indent}Status: {state}"),
            format!("{indent}Runtime: {}s", self.started.elapsed().as_secs()),
        ];
        if let JobState::Ended(Some(code)) = state {
            lines.push(format!("{indent}Exit Code: {code}"));
        }
        lines.join("\n")
    }
}

/// Waits until the deadline; without one, for ever.
async fn at(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
