//! One session of another agent in the daemon: a thread with its loaded hooks.
//!
//! Questions begin in the order in which they came. Those that an agent asks at the same time are answered side by
//! side, as they would be without a daemon; hooks are loaded anew only when nobody is being answered.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use becket_hook::patience;
use becket_host::{Asked, Moment, Ruling};
use becket_run::RunOptions;
use becket_run::options::Caller;
use becket_system::{CliError, Surroundings};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use super::status::{SessionKey, SessionStatus};
use crate::ask::LoadedHooks;
use crate::question::{Mode, Question, TOO_LATE};

/// How long a session may take to end.
const ENDING: Duration = Duration::from_secs(3);

/// Variables that a shell changes on its own: no reason to load hooks.
const SHELLS_OWN: &[&str] = &["_", "SHLVL", "PWD", "OLDPWD"];

/// A question for a session.
pub(super) struct Job {
    pub question: Question,
    pub asked: Asked,
    pub surroundings: Surroundings,
    pub reply: mpsc::Sender<Option<Value>>,
    pub arrived: Instant,
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
    /// The last error that the agent was told, with its advice.
    told: Option<String>,
}

impl Progress {
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
                shadow: key.mode == Mode::Shadow,
                ..SessionStatus::default()
            },
            last_used: Instant::now(),
            waiting: 0,
            told: None,
        }));
        let options = RunOptions {
            bridged_by: Some(key.system),
            ..options
        };
        let shared = Arc::clone(&progress);
        let mode = key.mode;
        let work = move || {
            Worker {
                options,
                mode,
                progress: shared,
                loads,
                kept: None,
                running: JoinSet::new(),
            }
            .run(receiver);
        };
        let thread = std::thread::Builder::new().name("session".into()).spawn(work);
        Ok(Self {
            jobs: sender,
            thread: thread.map_err(|error| format!("cannot start a thread: {error}"))?,
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

impl Job {
    fn deadline(&self) -> tokio::time::Instant {
        let limit = self.question.asked.event.timeout.mul_f64(patience::HOOKS);
        (self.arrived + limit).into()
    }

    /// Answers the agent.
    fn finish(self, ruling: Result<Ruling, CliError>, progress: &Mutex<Progress>) {
        let mut progress = held(progress);
        let ruling = ruling.map_err(|error| progress.shortened(error));
        progress.status.questions += 1;
        progress.waiting -= 1;
        progress.last_used = Instant::now();
        drop(progress);
        // A client that is gone has no use for an answer.
        let _ = self.reply.send(self.question.answer(ruling));
    }
}

fn late<T>(_: T) -> CliError {
    CliError::failed(TOO_LATE)
}

/// What the thread of a session works with.
struct Worker {
    options: RunOptions,
    mode: Mode,
    progress: Arc<Mutex<Progress>>,
    /// Counts the loads of all sessions.
    loads: Arc<AtomicU64>,
    kept: Option<Kept>,
    /// The questions that are being answered.
    running: JoinSet<()>,
}

/// Hooks that stay loaded, and what they were loaded from.
struct Kept {
    hooks: Rc<LoadedHooks>,
    generation: u64,
    variables: BTreeMap<OsString, OsString>,
    /// Whether a question failed: whatever is half done must not answer the next one.
    is_broken: Rc<Cell<bool>>,
}

impl Worker {
    fn run(mut self, mut jobs: UnboundedReceiver<Job>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else {
            return;
        };
        LocalSet::new().block_on(&runtime, async {
            while let Some(job) = jobs.recv().await {
                if job.asked.moment == Moment::SessionEnd {
                    jobs.close();
                }
                self.serve(job).await;
            }
            self.let_go().await;
        });
        runtime.shutdown_background();
    }

    async fn serve(&mut self, job: Job) {
        while self.running.try_join_next().is_some() {}
        let deadline = job.deadline();
        let current = timeout_at(deadline, self.current(&job)).await.map_err(late);
        let (hooks, is_broken) = match current.flatten() {
            Ok(current) => current,
            Err(error) => return job.finish(Err(error), &self.progress),
        };
        let progress = Arc::clone(&self.progress);
        self.running.spawn_local(async move {
            let ruling = timeout_at(deadline, hooks.rule(&job.question, &job.asked)).await;
            let ruling = ruling.map_err(late).flatten();
            is_broken.set(is_broken.get() || ruling.is_err());
            job.finish(ruling, &progress);
        });
    }

    /// The hooks as they are now: those that are loaded, unless something has changed.
    async fn current(&mut self, job: &Job) -> Result<(Rc<LoadedHooks>, Rc<Cell<bool>>), CliError> {
        let mut variables = job.surroundings.variables.clone();
        variables.retain(|name, _| !SHELLS_OWN.iter().any(|own| name == own));
        if let Some(why) = self.reason_to_load(&variables) {
            self.let_go().await;
            held(&self.progress).status.loaded_because = why;
            let generation = becket_fs::generation();
            let hooks = self.load(&job.surroundings).await?;
            self.loads.fetch_add(1, Ordering::Relaxed);
            held(&self.progress).status.loads += 1;
            self.kept = Some(Kept {
                hooks: Rc::new(hooks),
                generation,
                variables,
                is_broken: Rc::default(),
            });
        }
        let kept = self.kept.as_ref();
        let kept = kept.ok_or_else(|| CliError::failed("no hooks are loaded"))?;
        Ok((Rc::clone(&kept.hooks), Rc::clone(&kept.is_broken)))
    }

    /// Why hooks must be loaded, if they must.
    fn reason_to_load(&self, variables: &BTreeMap<OsString, OsString>) -> Option<String> {
        let changed = becket_fs::has_changed();
        match &self.kept {
            None => Some("nothing was loaded".to_owned()),
            Some(_) if changed.is_some() => changed.map(|file| format!("{} has changed", file.display())),
            Some(kept) if kept.generation != becket_fs::generation() => Some("a file has changed".into()),
            Some(kept) if kept.is_broken.get() => Some("a question failed".into()),
            Some(kept) => kept.difference(variables),
        }
    }

    async fn load(&self, surroundings: &Surroundings) -> Result<LoadedHooks, CliError> {
        let cancel = CancellationToken::new();
        let caller = Caller {
            options: &self.options,
            surroundings,
            cancel: &cancel,
        };
        LoadedHooks::open(caller, self.mode).await
    }

    /// Lets go of the hooks once nobody is being answered.
    async fn let_go(&mut self) {
        while self.running.join_next().await.is_some() {}
        let hooks = self.kept.take().and_then(|kept| Rc::into_inner(kept.hooks));
        if let Some(hooks) = hooks {
            // Nothing depends on hooks that are no longer asked; what they recorded is on disk.
            let _ = tokio::time::timeout(ENDING, hooks.close()).await;
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
