//! Keeps checkpoints of the working directory while the agent works: one step for each turn, and one for each call that
//! may change something.
//!
//! A checkpoint must never hinder: it has a deadline, problems are reported once, and the run goes on. That of a turn
//! is taken while the model is asked already; the first call that may change something waits for it. A turn without
//! such a call that ends earlier does without.
//!
//! The checkpoint of a call is taken when the call was approved (`approval_decided`) and may change something, so that
//! refused calls and reading ones cost nothing. The handler is an observer: no failure of it can refuse a call.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use becket_events::{
    ApprovalDecided, ApprovalDecision, Class, Effect, Event, OperationKind, PostTool, Scope, SessionEnd,
    TurnEnded, TurnStart,
};
use becket_hooks::{Action, Cause, Engine, Failure, Handler, HandlerInfo, Matcher, Occasion, Registration};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde_json::{Map, Value};

use crate::settings::Settings;
use crate::snapshots::{Mark, Snapshots, Span};

/// How long the care for old checkpoints may take at the end of a session.
const CARE: Duration = Duration::from_secs(3);

/// The longest label of a call.
const LONGEST_LABEL: usize = 80;

/// Takes checkpoints. Copies share the open ones.
#[derive(Clone)]
pub struct Keeper(Arc<Kept>);

struct Kept {
    data: PathBuf,
    folder: PathBuf,
    settings: Settings,
    /// Opened when it is first needed, so that a run without checkpoints leaves nothing behind.
    snapshots: OnceLock<Result<Snapshots, String>>,
    /// The open turns and calls, with their checkpoints.
    open: Mutex<HashMap<String, u64>>,
    /// The turns whose checkpoints are being taken, or were and no turn has ended since.
    taken: Mutex<HashMap<String, Taking>>,
    /// Shows how far a checkpoint is while something waits for it.
    watch: Option<Watch>,
    /// How many wait for a checkpoint.
    waiting: AtomicUsize,
    /// Whether the watch was told of progress, so that it must be told of the end.
    is_shown: AtomicBool,
    /// The last problem that was reported to the user.
    told: Mutex<Option<String>>,
}

/// Is told how many files of how many a checkpoint has; the end is told as 0 of 0.
pub type Watch = Box<dyn Fn(u64, u64) + Send + Sync>;

/// A checkpoint of a turn that is being taken.
struct Taking {
    end: Shared<BoxFuture<'static, Result<(), String>>>,
    state: Arc<Mutex<TurnState>>,
}

/// How far the checkpoint of a turn has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnState {
    Begun,
    /// The checkpoint is there, so that the turn can become a step.
    Taken,
    /// The turn is over and has changed nothing.
    Abandoned,
}

impl Kept {
    fn snapshots(&self) -> Result<&Snapshots, String> {
        let open = || {
            let opened = Snapshots::open(&self.data, &self.folder, self.settings.clone());
            opened.map_err(|problem| problem.to_string())
        };
        self.snapshots.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.open.lock().expect("no panic happens while it is held")
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<String, Taking>> {
        self.taken.lock().expect("no panic happens while it is held")
    }

    /// Tells how far a checkpoint is, if something waits for it.
    fn progress(&self, done: u64, total: u64) {
        if let Some(watch) = &self.watch
            && self.waiting.load(Ordering::SeqCst) > 0
        {
            self.is_shown.store(true, Ordering::SeqCst);
            watch(done, total);
        }
    }

    /// Takes a checkpoint.
    fn take(&self, span: Span, label: &str, session: &str) -> Result<u64, String> {
        let mark = Mark { span, label, session };
        let progress = |done, total| self.progress(done, total);
        let taken = self.snapshots()?.checkpoint_with(&mark, &progress);
        taken
            .map(|checkpoint| checkpoint.id)
            .map_err(|problem| problem.to_string())
    }

    /// Takes the checkpoint of a turn. If the turn has ended meanwhile, it leaves nothing behind.
    fn take_turn(
        &self,
        (key, label, session): (String, &str, &str),
        state: &Mutex<TurnState>,
    ) -> Result<(), String> {
        let id = self.take(Span::Turn, label, session)?;
        let mut state = state.lock().expect("no panic happens while it is held");
        match *state {
            TurnState::Begun | TurnState::Taken => {
                *state = TurnState::Taken;
                self.open().insert(key, id);
                Ok(())
            }
            TurnState::Abandoned => {
                let forgotten = self.snapshots()?.forget(id);
                forgotten.map_err(|problem| problem.to_string())
            }
        }
    }
}

impl Keeper {
    /// A keeper of a folder's checkpoints, which are stored in the data folder.
    pub fn new(data: PathBuf, folder: PathBuf, settings: Settings) -> Self {
        Self(Arc::new(Kept {
            data,
            folder,
            settings,
            snapshots: OnceLock::new(),
            open: Mutex::default(),
            taken: Mutex::default(),
            watch: None,
            waiting: AtomicUsize::new(0),
            is_shown: AtomicBool::new(false),
            told: Mutex::default(),
        }))
    }

    /// This keeper with something that shows how far a checkpoint is. Copies that were made before have nothing of it.
    pub fn watched(self, watch: Watch) -> Self {
        let Self(kept) = self;
        match Arc::try_unwrap(kept) {
            Ok(kept) => Self(Arc::new(Kept {
                watch: Some(watch),
                ..kept
            })),
            Err(shared) => Self(shared),
        }
    }

    /// Begins to take the checkpoint at the beginning of a turn. Calls wait for it, not the turn.
    pub async fn turn_begins(&self, scope: &Scope) -> Result<(), String> {
        let key = turn_key(scope);
        if self.0.open().contains_key(&key) || self.0.taken().contains_key(&key) {
            return Ok(());
        }
        let label = format!("turn {} in {}", scope.turn, scope.context_name);
        let (session, its_key) = (scope.session_id.clone(), key.clone());
        let state = Arc::new(Mutex::new(TurnState::Begun));
        let (its_state, late_state) = (Arc::clone(&state), Arc::clone(&state));
        let keeper = self.clone();
        let taking = tokio::spawn(async move {
            let take = move |kept: &Kept| kept.take_turn((its_key, &label, &session), &its_state);
            let taken = keeper.work(take).await;
            // One that comes too late is no state from before the turn.
            abandon(&late_state);
            taken
        });
        let end = async move { taking.await.unwrap_or_else(|error| Err(broke(&error))) };
        let end = end.boxed().shared();
        self.0.taken().insert(key, Taking { end, state });
        Ok(())
    }

    /// Completes the step of a turn that is over. Whatever changes something has waited for the checkpoint; if it is
    /// not there yet, nothing has changed.
    pub async fn turn_ends(&self, scope: &Scope) -> Result<(), String> {
        let taking = self.0.taken().remove(&turn_key(scope));
        if let Some(Taking { end, state }) = taking {
            abandon(&state);
            if let Some(Err(problem)) = end.now_or_never() {
                return self.once(Err(problem));
            }
        }
        self.finish(turn_key(scope)).await
    }

    /// Waits until the checkpoints of the turns that have begun are there.
    async fn turns_are_taken(&self) -> Result<(), String> {
        let ends: Vec<_> = self.0.taken().values().map(|taking| taking.end.clone()).collect();
        if ends.iter().all(|end| end.peek().is_some()) {
            return Ok(());
        }
        let waiting = Waiting::of(&self.0);
        let mut result = Ok(());
        for end in ends {
            result = result.and(end.await);
        }
        drop(waiting);
        self.once(result)
    }

    /// Takes the checkpoint before a call runs.
    pub async fn call_begins(&self, scope: &Scope, id: &str, label: &str) -> Result<(), String> {
        self.turns_are_taken().await?;
        let label = label.replace(char::is_control, " ");
        let label = label.chars().take(LONGEST_LABEL).collect();
        self.begin(Span::Call, call_key(scope, id), label, scope).await
    }

    /// Completes the step of a call that is over.
    pub async fn call_ends(&self, scope: &Scope, id: &str) -> Result<(), String> {
        self.finish(call_key(scope, id)).await
    }

    /// Removes old checkpoints at the end of a session, if this run has made some. What is not removed within a moment
    /// is removed another time.
    pub async fn session_ends(&self) -> Result<(), String> {
        if self.0.snapshots.get().is_none() {
            return Ok(());
        }
        let cleaned = self
            .work(|kept| {
                let cleaned = kept.snapshots()?.clean_for(CARE);
                cleaned.map_err(|problem| problem.to_string())
            })
            .await;
        self.once(cleaned)
    }

    /// Registers the handlers, for the setting `snapshots.enabled`.
    pub fn register(&self, engine: &Engine) {
        self.listen::<TurnStart>(engine);
        self.listen::<TurnEnded>(engine);
        self.listen::<ApprovalDecided>(engine);
        self.listen::<PostTool>(engine);
        self.listen::<SessionEnd>(engine);
    }

    fn listen<E: Event>(&self, engine: &Engine)
    where
        Self: Handler<E>,
    {
        let slack = Duration::from_secs(10);
        engine.register::<E>(Registration {
            info: HandlerInfo {
                // A call waits for the checkpoint of its turn, and then for its own.
                timeout: self.0.settings.deadline * 2 + slack,
                ..HandlerInfo::native("snapshots", Class::Observe)
            },
            order: Vec::new(),
            matcher: Matcher::default(),
            condition: None,
            action: Action::Other(Arc::new(self.clone())),
        });
    }

    async fn begin(&self, span: Span, key: String, label: String, scope: &Scope) -> Result<(), String> {
        if self.0.open().contains_key(&key) {
            return Ok(());
        }
        let session = scope.session_id.clone();
        let waiting = Waiting::of(&self.0);
        let taken = self.work(move |kept| {
            let id = kept.take(span, &label, &session)?;
            kept.open().insert(key, id);
            Ok(())
        });
        let taken = taken.await;
        drop(waiting);
        self.once(taken)
    }

    async fn finish(&self, key: String) -> Result<(), String> {
        let Some(since) = self.0.open().remove(&key) else {
            return Ok(());
        };
        let finished = self.work(move |kept| {
            let finished = kept.snapshots()?.finish(since);
            finished.map(drop).map_err(|problem| problem.to_string())
        });
        let finished = finished.await;
        self.once(finished)
    }

    /// Works in a thread of its own, within the deadline.
    async fn work(
        &self,
        work: impl FnOnce(&Kept) -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        let kept = Arc::clone(&self.0);
        let deadline = self.0.settings.deadline;
        let working = tokio::task::spawn_blocking(move || work(&kept));
        match tokio::time::timeout(deadline, working).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(broke(&error)),
            Err(_) => Err(format!(
                "a checkpoint was not ready after {} s, so the run continues without it. `snapshots.timeout` allows \
                 more",
                deadline.as_secs()
            )),
        }
    }

    /// The result, with the same problem only once in a row.
    fn once(&self, result: Result<(), String>) -> Result<(), String> {
        let Err(problem) = result else { return Ok(()) };
        let mut told = self.0.told.lock().expect("no panic happens while it is held");
        if told.as_ref() == Some(&problem) {
            return Ok(());
        }
        *told = Some(problem.clone());
        Err(problem)
    }
}

/// Gives up the checkpoint of a turn, unless it is there.
fn abandon(state: &Mutex<TurnState>) {
    let mut state = state.lock().expect("no panic happens while it is held");
    if *state == TurnState::Begun {
        *state = TurnState::Abandoned;
    }
}

fn broke(error: &tokio::task::JoinError) -> String {
    format!("a checkpoint broke: {error}")
}

/// Something waits for a checkpoint, as long as this lives.
struct Waiting<'a>(&'a Kept);

impl<'a> Waiting<'a> {
    fn of(kept: &'a Kept) -> Self {
        kept.waiting.fetch_add(1, Ordering::SeqCst);
        Self(kept)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.0.waiting.fetch_sub(1, Ordering::SeqCst) == 1
            && self.0.is_shown.swap(false, Ordering::SeqCst)
            && let Some(watch) = &self.0.watch
        {
            watch(0, 0);
        }
    }
}

fn turn_key(scope: &Scope) -> String {
    format!("turn {} {}", scope.session_id, scope.turn)
}

fn call_key(scope: &Scope, id: &str) -> String {
    format!("call {} {id}", scope.session_id)
}

/// Whether a turn counts by itself: a sub-agent's turns are part of its parent's.
fn is_outer(scope: &Scope) -> bool {
    scope.parent_session_id.is_none()
}

/// Whether a call may change files. A tool that is no operation of becket may always.
fn may_change(tool: &str) -> bool {
    let operation = OperationKind::ALL.iter().find(|kind| kind.name() == tool);
    operation.is_none_or(|kind| matches!(kind.effect(), Effect::Write | Effect::Execute))
}

/// A description of a call in a few words.
fn label(tool: &str, arguments: &Map<String, Value>) -> String {
    let what = ["command", "path"]
        .iter()
        .find_map(|name| arguments.get(*name)?.as_str());
    match what {
        Some(what) => format!("{tool}: {what}"),
        None => tool.to_owned(),
    }
}

fn answered<R: Default>(result: Result<(), String>) -> Result<R, Failure> {
    result
        .map(|()| R::default())
        .map_err(|problem| Failure::new(Cause::Raised, problem))
}

impl Handler<TurnStart> for Keeper {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, TurnStart>,
    ) -> BoxFuture<'a, Result<<TurnStart as Event>::Reply, Failure>> {
        Box::pin(async move {
            match is_outer(occasion.scope) {
                true => answered(self.turn_begins(occasion.scope).await),
                false => answered(Ok(())),
            }
        })
    }
}

impl Handler<TurnEnded> for Keeper {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, TurnEnded>,
    ) -> BoxFuture<'a, Result<<TurnEnded as Event>::Reply, Failure>> {
        Box::pin(async move { answered(self.turn_ends(occasion.scope).await) })
    }
}

impl Handler<ApprovalDecided> for Keeper {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, ApprovalDecided>,
    ) -> BoxFuture<'a, Result<<ApprovalDecided as Event>::Reply, Failure>> {
        Box::pin(async move {
            let call = occasion.payload;
            if call.decision != ApprovalDecision::Allow || !may_change(&call.tool_name) {
                return answered(Ok(()));
            }
            let label = label(&call.tool_name, &call.arguments);
            answered(self.call_begins(occasion.scope, &call.tool_call_id, &label).await)
        })
    }
}

impl Handler<PostTool> for Keeper {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, PostTool>,
    ) -> BoxFuture<'a, Result<<PostTool as Event>::Reply, Failure>> {
        Box::pin(async move {
            answered(
                self.call_ends(occasion.scope, &occasion.payload.tool_call_id)
                    .await,
            )
        })
    }
}

impl Handler<SessionEnd> for Keeper {
    fn call<'a>(
        &'a self,
        occasion: &'a Occasion<'a, SessionEnd>,
    ) -> BoxFuture<'a, Result<<SessionEnd as Event>::Reply, Failure>> {
        Box::pin(async move {
            match is_outer(occasion.scope) {
                true => answered(self.session_ends().await),
                false => answered(Ok(())),
            }
        })
    }
}
