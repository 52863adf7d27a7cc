//! Jobs: commands that go on in the background while the model does something else.
//!
//! A job belongs to the session that has started it, and to no other one: nobody else sees it, and it ends with the
//! session. It is over when its command has ended and nobody holds its output any more; what is left of it then ends,
//! too. How its command was judged is how every command is.

use std::fmt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use becket_agent::gate::Permit;
use becket_agent::tool::{Tool, ToolOutput};
use becket_events::{JOB_EXTRAS, Profile, ShellArguments, Streams};
use becket_hooks::Tree;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::kept_output::KeptOutput;
use crate::plain_tool::{PlainTool, spec};
use crate::settings::ToolSettings;
use crate::shell::{SHELL, start};

/// How many jobs of a session may run at the same time.
const MOST_RUNNING: usize = 20;

/// How long the end of a job is waited for. Ending one takes much less.
const END_BOUND: Duration = Duration::from_secs(5);

/// The jobs of all sessions. Copies share them.
#[derive(Clone, Default)]
pub struct Jobs(Arc<Mutex<Vec<Arc<Job>>>>);

impl fmt::Debug for Jobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} jobs", self.all().len())
    }
}

/// One command in the background.
struct Job {
    id: String,
    session_id: String,
    command: String,
    started: Instant,
    output: Mutex<KeptOutput>,
    state: Mutex<State>,
    /// Asks it to end.
    stop: CancellationToken,
    /// Tells that it is over.
    over: CancellationToken,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// It ended by itself, with this code; a signal leaves none.
    Ended(Option<i32>),
    /// Somebody stopped it, or its time was up.
    Stopped,
}

impl fmt::Display for State {
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

    fn of(&self, session_id: &str) -> Vec<Arc<Job>> {
        let all = self.all();
        all.iter()
            .filter(|job| job.session_id == session_id)
            .cloned()
            .collect()
    }

    fn find(&self, session_id: &str, id: &str) -> Result<Arc<Job>, String> {
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

    /// Starts a command in `directory`, which is the judged form of the one that the arguments name.
    pub(crate) fn start(
        &self,
        arguments: &ShellArguments,
        directory: &Path,
        permit: &Permit,
        settings: &ToolSettings,
    ) -> ToolOutput {
        let session_id = &permit.scope().session_id;
        let running = self
            .of(session_id)
            .iter()
            .filter(|job| job.state() == State::Running)
            .count();
        if running >= MOST_RUNNING {
            return ToolOutput::error(format!("{running} jobs run already; stop one of them first."));
        }
        let command = &arguments.command;
        if command.trim().is_empty() || command.contains('\0') {
            return ToolOutput::error("Cannot start the job: the command is empty or holds a NUL character.");
        }
        let (tree, (pipe, _)) = match start((SHELL, command), directory, Streams::Together, settings) {
            Ok(started) => started,
            Err(error) => {
                let directory = directory.display();
                return ToolOutput::error(format!("Cannot start {SHELL} in {directory}: {error}."));
            }
        };
        let limit = arguments
            .timeout_seconds
            .map(|seconds| Duration::from_secs(seconds.max(1)));
        let mut all = self.all();
        let job = Arc::new(Job {
            id: format!("job_{}", all.len() + 1),
            session_id: session_id.clone(),
            command: command.clone(),
            started: Instant::now(),
            output: Mutex::new(KeptOutput::new(settings.shell_output_bytes)),
            state: Mutex::new(State::Running),
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
        });
        tokio::spawn(Arc::clone(&job).follow(tree, pipe, limit));
        let words = format!(
            "Background job started with ID: {}\nCommand: {command}\nWorking directory: {}",
            job.id,
            directory.display()
        );
        all.push(job);
        ToolOutput::text(words)
    }

    /// Ends the jobs of a session, and forgets what they said.
    pub(crate) async fn end_session(&self, session_id: &str) {
        let jobs = self.of(session_id);
        jobs.iter().for_each(|job| job.stop.cancel());
        for job in &jobs {
            // One that hangs in the kernel holds nobody.
            let _ = timeout(END_BOUND, job.over.cancelled()).await;
            *job.output() = KeptOutput::new(1);
        }
    }
}

impl Job {
    fn state(&self) -> State {
        *self.state.lock().expect("no panic happens while it is held")
    }

    fn output(&self) -> MutexGuard<'_, KeptOutput> {
        self.output.lock().expect("no panic happens while it is held")
    }

    /// Reads what it says until it is over, and ends what is left of it.
    async fn follow(self: Arc<Self>, mut tree: Tree, mut pipe: Receiver, limit: Option<Duration>) {
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
        let state = match stopped {
            true => State::Stopped,
            false => State::Ended(status.and_then(|status| status.code())),
        };
        *self.state.lock().expect("no panic happens while it is held") = state;
        self.over.cancel();
    }

    /// What is told of it in a list, each line after `indent`.
    fn told(&self, indent: &str) -> String {
        let state = self.state();
        let mut lines = vec![
            format!("{indent}Command: {}", self.command),
            format!("{indent}Status: {state}"),
            format!("{indent}Runtime: {}s", self.started.elapsed().as_secs()),
        ];
        if let State::Ended(Some(code)) = state {
            lines.push(format!("{indent}Exit Code: {code}"));
        }
        lines.join("\n")
    }
}

/// The moment, if there is one; otherwise never.
async fn at(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    job_id: String,
}

/// The tools for jobs that a profile has. To look at one's own jobs and to stop them needs no yes: to start them did.
pub(crate) fn job_tools(profile: &Profile, jobs: &Jobs) -> Vec<Arc<dyn Tool>> {
    let [list, view, stop] = JOB_EXTRAS else {
        unreachable!("three tools are for jobs")
    };
    let named = json!({
        "type": "object",
        "properties": {"job_id": {"type": "string", "description": "The job's ID."}},
        "required": ["job_id"],
    });
    let nothing = json!({"type": "object", "properties": {}});
    let tools = [
        listing(list, nothing, jobs.clone()),
        viewing(view, named.clone(), jobs.clone()),
        stopping(stop, named, jobs.clone()),
    ];
    let wanted = tools
        .into_iter()
        .filter(|tool| profile.extras.iter().any(|name| *name == tool.spec().own_name));
    wanted.collect()
}

fn listing(name: &str, parameters: Value, jobs: Jobs) -> Arc<dyn Tool> {
    let about = "List the jobs in the background, with their state and runtime.";
    PlainTool::arc(spec(name, about, parameters), move |_: NoArguments, permit| {
        let jobs = jobs.of(&permit.scope().session_id);
        let told = jobs
            .iter()
            .map(|job| format!("ID: {}\n{}\n", job.id, job.told("  ")));
        let told: Vec<String> = told.collect();
        Ok(match told.is_empty() {
            true => "No background jobs found.".to_owned(),
            false => format!("Background Jobs:\n\n{}", told.join("\n")),
        })
    })
}

fn viewing(name: &str, parameters: Value, jobs: Jobs) -> Arc<dyn Tool> {
    let about = "Show the output and the state of a job in the background.";
    PlainTool::arc(spec(name, about, parameters), move |Named { job_id }, permit| {
        let job = jobs.find(&permit.scope().session_id, &job_id)?;
        let output = job.output().clone().into_text();
        let output = if output.is_empty() { "<no output>" } else { &output };
        Ok(format!(
            "Job ID: {}\n{}\n\n--- Output ---\n{output}",
            job.id,
            job.told("")
        ))
    })
}

fn stopping(name: &str, parameters: Value, jobs: Jobs) -> Arc<dyn Tool> {
    let about = "Stop a job in the background, with every process that it has started.";
    PlainTool::waiting(spec(name, about, parameters), move |Named { job_id }, permit| {
        let job = jobs.find(&permit.scope().session_id, &job_id);
        Box::pin(async move {
            let job = job?;
            if job.state() != State::Running {
                return Err(format!(
                    "Job {job_id} is not running (current status: {})",
                    job.state()
                ));
            }
            job.stop.cancel();
            match timeout(END_BOUND, job.over.cancelled()).await {
                Ok(()) => Ok(format!("Job {job_id} stopped successfully")),
                Err(_) => Err(format!("Job {job_id} was told to end and still runs")),
            }
        })
    })
}
