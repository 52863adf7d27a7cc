//! One session of another agent in the daemon: a thread with its loaded hooks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use becket_host::{Asked, Moment, Ruling};
use becket_run::RunOptions;
use becket_run::options::Caller;
use becket_system::{CliError, Surroundings};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::status::{SessionKey, SessionStatus};
use crate::ask::LoadedHooks;
use crate::question::Question;

/// Why something is refused when hooks do not answer.
pub(super) const TOO_LATE: &str = "the hooks did not answer in time";

/// The part of the agent's patience that hooks have.
const HOOKS_PATIENCE: f64 = 0.8;

/// How long a session may take to end.
const ENDING: Duration = Duration::from_secs(3);

/// Variables that a shell changes on its own.
const SHELLS_OWN: &[&str] = &["_", "SHLVL", "PWD", "OLDPWD"];

/// A question for a session.
pub(super) struct Job {
    pub question: Question,
    pub asked: Asked,
    pub surroundings: Surroundings,
    pub reply: mpsc::Sender<Option<Value>>,
}

/// A session, as the daemon sees it. Its thread ends when this is dropped and all questions are answered.
pub(super) struct Session {
    jobs: UnboundedSender<Job>,
    thread: JoinHandle<()>,
    progress: Arc<Mutex<Progress>>,
}

struct Progress {
    status: SessionStatus,
    last_used: Instant,
    waiting: usize,
}

fn held(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub fn start(options: RunOptions, key: &SessionKey, loads: Arc<AtomicU64>) -> Result<Self, String> {
        let (sender, receiver) = unbounded_channel();
        let progress = Arc::new(Mutex::new(Progress {
            status: SessionStatus {
                system: key.system.into(),
                session: key.session_id.clone(),
                ..SessionStatus::default()
            },
            last_used: Instant::now(),
            waiting: 0,
        }));
        let worker = Worker {
            options: RunOptions {
                bridged_by: Some(key.system),
                ..options
            },
            progress: Arc::clone(&progress),
            loads,
            told: None,
            kept: None,
        };
        let thread = std::thread::Builder::new()
            .name("session".into())
            .spawn(move || worker.run(receiver))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self {
            jobs: sender,
            thread,
            progress,
        })
    }

    pub fn send(&self, job: Job) -> Result<(), String> {
        let mut progress = held(&self.progress);
        progress.waiting += 1;
        progress.last_used = Instant::now();
        let sent = self.jobs.send(job);
        sent.map_err(|_| "the session has ended".into())
    }

    pub fn idle(&self) -> Duration {
        held(&self.progress).last_used.elapsed()
    }

    pub fn is_busy(&self) -> bool {
        held(&self.progress).waiting > 0 && !self.has_ended()
    }

    pub fn has_ended(&self) -> bool {
        self.thread.is_finished() || self.jobs.is_closed()
    }

    pub fn status(&self) -> SessionStatus {
        held(&self.progress).status.clone()
    }

    /// Ends the session and waits for it, but not for one that hangs.
    pub fn close(self) {
        drop(self.jobs);
        let deadline = Instant::now() + ENDING;
        while !self.thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What the thread of a session works with.
struct Worker {
    options: RunOptions,
    progress: Arc<Mutex<Progress>>,
    /// Counts the loads of all sessions.
    loads: Arc<AtomicU64>,
    /// The last error that the agent was told, with its advice.
    told: Option<String>,
    kept: Option<Kept>,
}

/// Hooks that stay loaded, and what they were loaded from.
struct Kept {
    hooks: LoadedHooks,
    generation: u64,
    variables: BTreeMap<OsString, OsString>,
}

impl Worker {
    fn run(mut self, mut jobs: UnboundedReceiver<Job>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else {
            return;
        };
        runtime.block_on(async {
            while let Some(job) = jobs.recv().await {
                let ends = job.asked.moment == Moment::SessionEnd;
                if ends {
                    jobs.close();
                }
                self.serve(job).await;
            }
            self.let_go().await;
        });
        runtime.shutdown_background();
    }

    async fn serve(&mut self, job: Job) {
        let limit = job.question.asked.event.timeout.mul_f64(HOOKS_PATIENCE);
        let ruling = tokio::time::timeout(limit, self.rule(&job)).await;
        let ruling = match ruling {
            Ok(ruling) => ruling,
            Err(_) => Err(CliError::failed(TOO_LATE)),
        };
        let ruling = ruling.map_err(|error| self.shortened(error));
        if ruling.is_err() {
            // Whatever is half done must not answer the next question.
            self.let_go().await;
        }
        let mut progress = held(&self.progress);
        progress.status.questions += 1;
        progress.waiting -= 1;
        progress.last_used = Instant::now();
        drop(progress);
        // A client that is gone has no use for an answer.
        let _ = job.reply.send(job.question.answer(ruling));
    }

    /// An error without its advice, if the session was given that before: a project that is not trusted refuses every
    /// call.
    fn shortened(&mut self, error: CliError) -> CliError {
        let text = error.to_string();
        if self.told.as_ref() == Some(&text) {
            return CliError { hint: None, ..error };
        }
        self.told = Some(text);
        error
    }

    async fn rule(&mut self, job: &Job) -> Result<Ruling, CliError> {
        let hooks = self.current(job).await?;
        hooks.rule(&job.question, &job.asked).await
    }

    /// The hooks as they are now: those that are loaded, unless something has changed.
    async fn current(&mut self, job: &Job) -> Result<&mut LoadedHooks, CliError> {
        let mut variables = job.surroundings.variables.clone();
        let own = SHELLS_OWN.iter().chain(job.question.asked.bridge.event_variables);
        own.for_each(|name| drop(variables.remove(std::ffi::OsStr::new(name))));
        let changed = becket_fs::has_changed();
        let why = match &self.kept {
            None => Some("nothing was loaded".to_owned()),
            Some(_) if changed.is_some() => changed.map(|file| format!("{} has changed", file.display())),
            Some(kept) if kept.generation != becket_fs::generation() => Some("a file has changed".into()),
            Some(kept) => kept.difference(&variables),
        };
        if let Some(why) = why {
            self.let_go().await;
            let generation = becket_fs::generation();
            let surroundings = Surroundings {
                variables: variables.clone(),
                ..job.surroundings.clone()
            };
            let cancel = CancellationToken::new();
            let caller = Caller {
                options: &self.options,
                surroundings: &surroundings,
                cancel: &cancel,
            };
            let hooks = LoadedHooks::open(caller).await?;
            self.kept = Some(Kept {
                hooks,
                generation,
                variables,
            });
            self.loads.fetch_add(1, Ordering::Relaxed);
            let mut progress = held(&self.progress);
            progress.status.loads += 1;
            progress.status.loaded_because = why;
        }
        let kept = self.kept.as_mut();
        Ok(&mut kept.ok_or_else(|| CliError::failed("no hooks are loaded"))?.hooks)
    }

    async fn let_go(&mut self) {
        if let Some(kept) = self.kept.take() {
            // Nothing depends on hooks that are no longer asked; what they recorded is on disk.
            let _ = tokio::time::timeout(ENDING, kept.hooks.close()).await;
        }
    }
}

impl Kept {
    /// A variable that differs from when the hooks were loaded.
    fn difference(&self, variables: &BTreeMap<OsString, OsString>) -> Option<String> {
        let names = self.variables.keys().chain(variables.keys());
        let mut different = names.filter(|name| self.variables.get(*name) != variables.get(*name));
        different
            .next()
            .map(|name| format!("the variable {} has changed", name.display()))
    }
}
