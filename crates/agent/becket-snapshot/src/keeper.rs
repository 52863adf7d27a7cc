//! Keeps checkpoints of the working directory while the agent works: one step for each turn, and one for each call that
//! may change something.
//!
//! A checkpoint must never hinder: it has a deadline, problems are reported once, and the run goes on.
//!
//! The checkpoint of a call is taken when the call was approved (`approval_decided`) and may change something, so that
//! refused calls and reading ones cost nothing. The handler is an observer: no failure of it can refuse a call.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use becket_events::{
    ApprovalDecided, ApprovalDecision, Class, Effect, Event, OperationKind, PostTool, Scope, SessionEnd,
    TurnEnded, TurnStart,
};
use becket_hooks::{Action, Cause, Engine, Failure, Handler, HandlerInfo, Matcher, Occasion, Registration};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::settings::Settings;
use crate::snapshots::{Mark, Snapshots, Span};

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
    /// The last problem that was reported to the user.
    told: Mutex<Option<String>>,
}

impl Kept {
    fn snapshots(&self) -> Result<&Snapshots, String> {
        let open = || {
            let opened = Snapshots::open(&self.data, &self.folder, self.settings.clone());
            opened.map_err(|problem| problem.to_string())
        };
        self.snapshots.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.open.lock().expect("no panic happens while it is held")
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
            told: Mutex::default(),
        }))
    }

    /// Takes the checkpoint at the beginning of a turn.
    pub async fn turn_begins(&self, scope: &Scope) -> Result<(), String> {
        let label = format!("turn {} in {}", scope.turn, scope.context_name);
        self.begin(Span::Turn, turn_key(scope), label, scope).await
    }

    /// Completes the step of a turn that is over.
    pub async fn turn_ends(&self, scope: &Scope) -> Result<(), String> {
        self.finish(turn_key(scope)).await
    }

    /// Takes the checkpoint before a call runs.
    pub async fn call_begins(&self, scope: &Scope, id: &str, label: &str) -> Result<(), String> {
        let label = label.replace(char::is_control, " ");
        let label = label.chars().take(LONGEST_LABEL).collect();
        self.begin(Span::Call, call_key(scope, id), label, scope).await
    }

    /// Completes the step of a call that is over.
    pub async fn call_ends(&self, scope: &Scope, id: &str) -> Result<(), String> {
        self.finish(call_key(scope, id)).await
    }

    /// Removes old checkpoints at the end of a session, if this run has made some.
    pub async fn session_ends(&self) -> Result<(), String> {
        if self.0.snapshots.get().is_none() {
            return Ok(());
        }
        self.work(|kept| {
            kept.snapshots()?
                .clean()
                .map(drop)
                .map_err(|problem| problem.to_string())
        })
        .await
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
                timeout: self.0.settings.deadline + slack,
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
        self.work(move |kept| {
            let mark = Mark {
                span,
                label: &label,
                session: &session,
            };
            let checkpoint = kept.snapshots()?.checkpoint(&mark);
            let checkpoint = checkpoint.map_err(|problem| problem.to_string())?;
            kept.open().insert(key, checkpoint.id);
            Ok(())
        })
        .await
    }

    async fn finish(&self, key: String) -> Result<(), String> {
        let Some(since) = self.0.open().remove(&key) else {
            return Ok(());
        };
        self.work(move |kept| {
            let finished = kept.snapshots()?.finish(since);
            finished.map(drop).map_err(|problem| problem.to_string())
        })
        .await
    }

    /// Works in a thread of its own, within the deadline. The same problem is reported only once.
    async fn work(
        &self,
        work: impl FnOnce(&Kept) -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        let kept = Arc::clone(&self.0);
        let deadline = self.0.settings.deadline;
        let working = tokio::task::spawn_blocking(move || work(&kept));
        let result = match tokio::time::timeout(deadline, working).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(format!("a checkpoint broke: {error}")),
            Err(_) => Err(format!(
                "a checkpoint was not ready after {} s, so the run goes on without it. `snapshots.timeout` allows more",
                deadline.as_secs()
            )),
        };
        let Err(problem) = result else { return Ok(()) };
        let mut told = self.0.told.lock().expect("no panic happens while it is held");
        if told.as_ref() == Some(&problem) {
            return Ok(());
        }
        *told = Some(problem.clone());
        Err(problem)
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
