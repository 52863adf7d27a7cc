//! One emission: the interceptors of a point are asked, their verdicts become one, and a record is made.
//!
//! Whatever fails on the way denies. Nothing here knows becket's events; `handlers.rs` does.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becket_events::Scope;
use chrono::{SecondsFormat, Utc};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use crate::canonical::{NotCanonical, identity};
use crate::composition::{Composition, OnApproval, Strictest, Synthesis, strictest, united};
use crate::interceptor::{
    ApprovalOutcome, ApprovalRequest, Approver, Asked, Binding, Context, Identity, Redactor, Unanswered,
};
use crate::path::replace;
use crate::point::Point;
use crate::record::{Mode, Record, ResolvedBy, Said};
use crate::verdict::{Decision, HostError, InterceptorVerdict, Transform};

/// The version of the standard that contexts are written in.
pub const SPEC: &str = "agent-hooks/0.1";

/// How long an interceptor that has not ended itself at its deadline may take to say so.
const BACKSTOP: Duration = Duration::from_secs(2);

/// becket's name as a framework.
const FRAMEWORK: &str = "becket";

/// Everything that the host chooses.
#[derive(Clone)]
pub struct Setup {
    /// Whether verdicts count.
    pub mode: Mode,
    /// How verdicts become one.
    pub composition: Composition,
    /// How contexts are identified.
    pub identity: Identity,
    /// The interceptors, in their order.
    pub bindings: Vec<Binding>,
    /// Who may lift a deny, if anybody may.
    pub approver: Option<Arc<dyn Approver>>,
    /// What who approves must not see.
    pub redactor: Option<Redactor>,
    /// How long an approval may take.
    pub approval_timeout: Duration,
    /// The version of the host declaration, if the host is set up by one.
    pub declaration: Option<&'static str>,
    /// Whether streamed text is judged and shown piece by piece.
    pub incremental: bool,
}

/// The point's own part of a context, or why it cannot be written.
pub type Members = Result<Map<String, Value>, NotCanonical>;

/// Takes the record of each emission.
pub type Sink = Arc<dyn Fn(&Scope, &Record) + Send + Sync>;

/// Asks interceptors.
pub struct Emitter {
    setup: Setup,
    sink: Sink,
    /// The number of the next emission of each session.
    next: Mutex<HashMap<String, u64>>,
}

/// What an emission has decided.
pub struct Emission<R> {
    /// The verdict of all interceptors together.
    pub verdict: InterceptorVerdict,
    /// What the change of the target means in becket's terms, if there is a change that counts.
    pub change: Option<R>,
    /// Whether who was asked for an approval wants everything to stop.
    pub is_cancelled: bool,
}

impl<R> Emission<R> {
    /// Why the action does not happen, if it does not.
    pub fn refusal(&self) -> Option<String> {
        (!self.verdict.permits()).then(|| self.verdict.words())
    }
}

/// The verdicts of an emission put together.
struct Combined {
    verdict: InterceptorVerdict,
    decided_by: Option<usize>,
    truncated: Option<bool>,
}

/// What came of asking for an approval.
enum Consulted {
    /// Nobody was asked.
    NotAsked,
    /// The deny is lifted.
    Lifted(InterceptorVerdict),
    /// A deny stands.
    Denied(InterceptorVerdict),
}

/// An emission under way.
struct Underway<'a> {
    setup: &'a Setup,
    scope: &'a Scope,
    point: Point,
    context: Context,
    active: Vec<&'a Binding>,
    /// What each interceptor has said.
    said: Vec<InterceptorVerdict>,
    /// What counts for warnings and labels: what was said, and what approvals have put in its place.
    pool: Vec<InterceptorVerdict>,
    resolved_by: Option<ResolvedBy>,
    is_changed: bool,
    is_cancelled: bool,
}

impl Emitter {
    /// Asks the interceptors of a setup, and gives the records to the sink.
    pub fn new(setup: Setup, sink: Sink) -> Self {
        Self {
            setup,
            sink,
            next: Mutex::default(),
        }
    }

    /// What the host has chosen.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Asks the interceptors of a point. `members` makes the point's own part of the context; `adapt` turns a changed
    /// target into what becket can use, and a target for which it cannot is denied.
    pub async fn emit<R>(
        &self,
        scope: &Scope,
        point: Point,
        members: impl FnOnce() -> Members,
        adapt: impl FnOnce(&Value) -> Option<R>,
    ) -> Emission<R> {
        let setup = &self.setup;
        let (sequence, timestamp) = (self.number(scope, point), now());
        let active: Vec<&Binding> = setup.bindings.iter().filter(|one| one.is_at(point)).collect();
        let needs_context = !active.is_empty() || !matches!(setup.identity, Identity::None);
        let members = needs_context.then(members).transpose();
        let unwritten = members.as_ref().err().copied();
        let context = match members {
            Ok(Some(members)) => context_of(scope, point, (sequence, &timestamp), members),
            Ok(None) | Err(_) => Context::new(),
        };
        let mut under_way = Underway {
            setup,
            scope,
            point,
            context,
            active,
            said: Vec::new(),
            pool: Vec::new(),
            resolved_by: None,
            is_changed: false,
            is_cancelled: false,
        };
        let input_identity = match unwritten {
            Some(reason) => Err(reason.words()),
            None => under_way.identity_of(&under_way.context),
        };
        let mut combined = match &input_identity {
            Ok(_) => under_way.dispatch().await,
            Err(words) => Combined::host_error(HostError::ContextInvalid, Some(words)),
        };
        let counts = setup.mode == Mode::Enforce;
        let adapted = (under_way.is_changed && counts && combined.verdict.permits())
            .then(|| adapt(&under_way.context["target"]));
        if let Some(None) = adapted {
            combined.overrule(HostError::TransformInvalid, "becket cannot make this change");
        }
        let enforced_identity = match (&input_identity, under_way.is_changed) {
            (Ok(identity), false) => identity.clone(),
            (Ok(_), true) => under_way.identity_of(&under_way.context).unwrap_or_else(|words| {
                if combined.verdict.permits() {
                    combined.overrule(HostError::ContextInvalid, words);
                }
                None
            }),
            (Err(_), _) => None,
        };
        let record = Record {
            sequence,
            timestamp,
            input_identity: input_identity.unwrap_or_default(),
            enforced_identity,
            ..under_way.record(&combined)
        };
        (self.sink)(scope, &record);
        let verdict = combined.verdict;
        let change = adapted.flatten().filter(|_| verdict.permits());
        Emission {
            verdict,
            change,
            is_cancelled: under_way.is_cancelled,
        }
    }

    /// Records that the host denies without asking anybody.
    pub fn deny(&self, scope: &Scope, point: Point, error: HostError, message: &str) -> InterceptorVerdict {
        let under_way = Underway {
            setup: &self.setup,
            scope,
            point,
            context: Context::new(),
            active: self
                .setup
                .bindings
                .iter()
                .filter(|one| one.is_at(point))
                .collect(),
            said: Vec::new(),
            pool: Vec::new(),
            resolved_by: None,
            is_changed: false,
            is_cancelled: false,
        };
        let combined = Combined::host_error(error, Some(message));
        let record = Record {
            sequence: self.number(scope, point),
            timestamp: now(),
            ..under_way.record(&combined)
        };
        (self.sink)(scope, &record);
        combined.verdict
    }

    /// The number of an emission in its session.
    fn number(&self, scope: &Scope, point: Point) -> u64 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if point == Point::AgentShutdown {
            return next.remove(&scope.session_id).unwrap_or_default();
        }
        match next.get_mut(&scope.session_id) {
            Some(number) => {
                *number += 1;
                *number - 1
            }
            None => {
                next.insert(scope.session_id.clone(), 1);
                0
            }
        }
    }
}

impl Combined {
    fn new(verdict: InterceptorVerdict, decided_by: Option<usize>) -> Self {
        Self {
            verdict,
            decided_by,
            truncated: None,
        }
    }

    fn host_error(error: HostError, message: Option<&str>) -> Self {
        Self::new(InterceptorVerdict::host_error(error, message), None)
    }

    /// Puts the host's deny in place of the verdict. Concerns are kept.
    fn overrule(&mut self, error: HostError, message: &str) {
        let denied = InterceptorVerdict::host_error(error, Some(message));
        self.verdict = InterceptorVerdict {
            warnings: std::mem::take(&mut self.verdict.warnings),
            ..denied
        };
        self.decided_by = None;
    }
}

impl Underway<'_> {
    /// Asks the interceptors as the profile says.
    async fn dispatch(&mut self) -> Combined {
        if self.active.is_empty() {
            return Combined::host_error(HostError::NoInterceptor, None);
        }
        match self.setup.composition {
            Composition::FirstDeny { on_approval } => self.first_deny(on_approval).await,
            Composition::RunAll => self.run_all().await,
            Composition::Strictest {
                on_transform_conflict,
            } => {
                self.ask_all().await;
                self.strictest(false, on_transform_conflict).await
            }
            Composition::Unanimous { on_disagreement } => {
                self.ask_all().await;
                match self
                    .said
                    .iter()
                    .all(|verdict| verdict.decision == Decision::Allow)
                {
                    true => Combined::new(united(InterceptorVerdict::allow(), &self.pool), None),
                    false => {
                        let error = HostError::CompositionDisagreement;
                        self.synthesised(error, on_disagreement).await
                    }
                }
            }
        }
    }

    async fn first_deny(&mut self, on_approval: OnApproval) -> Combined {
        let mut change = None;
        for index in 0..self.active.len() {
            let verdict = self.ask(index).await;
            self.say(verdict.clone());
            let ended = match verdict.decision {
                Decision::Allow => None,
                Decision::Transform => match self.fold(verdict) {
                    Ok(verdict) => {
                        change = Some((index, verdict));
                        None
                    }
                    Err(error) => Some(self.unchanged(error)),
                },
                Decision::Deny => match self.consult(&verdict).await {
                    Consulted::NotAsked => Some(Combined::new(united(verdict, &self.pool), Some(index))),
                    Consulted::Denied(denied) => Some(self.denied(denied, index)),
                    Consulted::Lifted(lifted) => match self.lift(lifted) {
                        Err(error) => Some(self.unchanged(error)),
                        Ok(lifted) if on_approval == OnApproval::Stop => {
                            Some(Combined::new(united(lifted, &self.pool), Some(index)))
                        }
                        Ok(lifted) => {
                            if lifted.decision == Decision::Transform {
                                change = Some((index, lifted));
                            }
                            None
                        }
                    },
                },
            };
            if let Some(ended) = ended {
                let truncated = Some(index + 1 < self.active.len());
                return Combined { truncated, ..ended };
            }
        }
        let (decided_by, verdict) = change.map_or((None, InterceptorVerdict::allow()), |(index, verdict)| {
            (Some(index), verdict)
        });
        Combined {
            truncated: Some(false),
            ..Combined::new(united(verdict, &self.pool), decided_by)
        }
    }

    async fn run_all(&mut self) -> Combined {
        for index in 0..self.active.len() {
            let verdict = self.ask(index).await;
            let folded = match verdict.decision {
                Decision::Transform => self.fold(verdict),
                _ => Ok(verdict),
            };
            match folded {
                Ok(verdict) => self.say(verdict),
                Err(error) => {
                    let failed = self.unchanged(error);
                    self.say(failed.verdict.clone());
                    let truncated = Some(index + 1 < self.active.len());
                    return Combined { truncated, ..failed };
                }
            }
        }
        Combined {
            truncated: Some(false),
            ..self.strictest(true, Synthesis::Deny).await
        }
    }

    /// Asks all interceptors at the same time, about the same context.
    async fn ask_all(&mut self) {
        let asked = (0..self.active.len()).map(|index| self.ask(index));
        let verdicts = join_all(asked).await;
        verdicts.into_iter().for_each(|verdict| self.say(verdict));
    }

    async fn strictest(&mut self, builds_on_each_other: bool, on_conflict: Synthesis) -> Combined {
        let index = match strictest(&self.said, builds_on_each_other) {
            Strictest::Conflict => {
                return self.synthesised(HostError::TransformConflict, on_conflict).await;
            }
            Strictest::Of(index) => index,
        };
        let verdict = self.said[index].clone();
        match verdict.decision {
            Decision::Allow => Combined::new(united(InterceptorVerdict::allow(), &self.pool), None),
            Decision::Transform if builds_on_each_other => {
                Combined::new(united(verdict, &self.pool), Some(index))
            }
            Decision::Transform => match self.fold(verdict) {
                Ok(verdict) => Combined::new(united(verdict, &self.pool), Some(index)),
                Err(error) => self.unchanged(error),
            },
            Decision::Deny => match self.consult(&verdict).await {
                Consulted::NotAsked => Combined::new(united(verdict, &self.pool), Some(index)),
                Consulted::Denied(denied) => self.denied(denied, index),
                Consulted::Lifted(lifted) => match self.lift(lifted) {
                    Ok(lifted) => Combined::new(united(lifted, &self.pool), Some(index)),
                    Err(error) => self.unchanged(error),
                },
            },
        }
    }

    /// What the host says where verdicts do not fit together.
    async fn synthesised(&mut self, error: HostError, synthesis: Synthesis) -> Combined {
        let mut verdict = InterceptorVerdict::host_error(error, None);
        if synthesis == Synthesis::Approval {
            verdict.approval = Some(Map::new());
        }
        let verdict = match self.consult(&verdict).await {
            Consulted::NotAsked => verdict,
            Consulted::Denied(denied) => denied,
            Consulted::Lifted(lifted) => match self.lift(lifted) {
                Ok(lifted) => lifted,
                Err(error) => return self.unchanged(error),
            },
        };
        Combined::new(united(verdict, &self.pool), None)
    }

    /// What the host says where a change cannot be made. Concerns are kept.
    fn unchanged(&self, error: HostError) -> Combined {
        let words = match error {
            HostError::TransformInvalid => "its path leads to nothing in the target",
            _ if self.point.may_transform() => "its path does not begin with `$target`",
            _ => "nothing can be changed at this point",
        };
        let verdict = InterceptorVerdict::host_error(error, Some(words));
        Combined::new(united(verdict, &self.pool), None)
    }

    /// A deny that stands although somebody was asked for an approval. The host's own is nobody's.
    fn denied(&self, denied: InterceptorVerdict, index: usize) -> Combined {
        let decided_by = (!denied.is_of_host()).then_some(index);
        Combined::new(united(denied, &self.pool), decided_by)
    }

    fn say(&mut self, verdict: InterceptorVerdict) {
        self.said.push(verdict.clone());
        self.pool.push(verdict);
    }

    /// A lifted deny, whose own change is made.
    fn lift(&mut self, lifted: InterceptorVerdict) -> Result<InterceptorVerdict, HostError> {
        let lifted = match lifted.decision {
            Decision::Transform => self.fold(lifted)?,
            _ => lifted,
        };
        self.pool.push(lifted.clone());
        Ok(lifted)
    }

    /// The verdict of an interceptor, or of the host if it gives none.
    async fn ask(&self, index: usize) -> InterceptorVerdict {
        let binding = self.active[index];
        let asked = Asked {
            context: &self.context,
            scope: self.scope,
            timeout: binding.timeout,
        };
        let answer = AssertUnwindSafe(async { binding.interceptor.intercept(asked).await }).catch_unwind();
        let answer = match tokio::time::timeout(binding.timeout + BACKSTOP, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Unanswered::Failed("it panicked".into())),
            Err(_) => Err(Unanswered::TimedOut),
        };
        let failed = |error, words: &str| InterceptorVerdict::host_error(error, Some(words));
        match answer {
            Ok(answer) => InterceptorVerdict::read(answer)
                .unwrap_or_else(|error| failed(error, "its answer is no verdict of the standard")),
            Err(Unanswered::Failed(words)) => failed(HostError::InterceptorFailed, &words),
            Err(Unanswered::Cancelled) => failed(HostError::InterceptorFailed, "it wants to stop"),
            Err(Unanswered::TimedOut) => failed(
                HostError::InterceptorTimeout,
                "raise `timeout` if it needs longer",
            ),
        }
    }

    /// Makes a change, or only checks it where verdicts do not count.
    fn fold(&mut self, verdict: InterceptorVerdict) -> Result<InterceptorVerdict, HostError> {
        let transform = verdict.transform.as_ref().ok_or(HostError::TransformInvalid)?;
        let changed = changed(self.point, &self.context, transform)?;
        if self.setup.mode == Mode::Enforce {
            self.context = changed;
            self.is_changed = true;
        }
        Ok(verdict)
    }

    /// Asks for an approval, if the deny may be lifted, verdicts count and there is still something to approve.
    async fn consult(&mut self, verdict: &InterceptorVerdict) -> Consulted {
        let counts = self.setup.mode == Mode::Enforce && self.point != Point::AgentShutdown;
        let Some(approver) = self
            .setup
            .approver
            .as_ref()
            .filter(|_| counts && verdict.is_liftable())
        else {
            return Consulted::NotAsked;
        };
        let decided = self.resolve(approver.as_ref(), verdict).await;
        self.resolved_by = Some(match &decided {
            Ok(decided) if decided.permits() => ResolvedBy::Approval,
            _ => ResolvedBy::Rejection,
        });
        match decided {
            Ok(decided) if decided.permits() => Consulted::Lifted(decided),
            Ok(decided) => Consulted::Denied(decided),
            Err(error) => Consulted::Denied(InterceptorVerdict::host_error(error, None)),
        }
    }

    /// What who approves has decided. The answer must be about what was shown, and must say what it means.
    async fn resolve(
        &mut self,
        approver: &dyn Approver,
        verdict: &InterceptorVerdict,
    ) -> Result<InterceptorVerdict, HostError> {
        let redacted = self.setup.redactor.as_ref().map(|redact| {
            std::panic::catch_unwind(AssertUnwindSafe(|| redact(&self.context)))
                .map_err(|_| HostError::ApprovalResolverFailed)
        });
        let redacted = redacted.transpose()?;
        let context = redacted.as_ref().unwrap_or(&self.context);
        let context_identity = self.identity_of(context).map_err(|_| HostError::ContextInvalid)?;
        let request = ApprovalRequest {
            context_identity,
            interception_point: self.point,
            verdict,
            context,
            scope: self.scope,
            timeout: self.setup.approval_timeout,
        };
        let answer = AssertUnwindSafe(async { approver.resolve(&request).await }).catch_unwind();
        let answer = tokio::time::timeout(self.setup.approval_timeout + BACKSTOP, answer).await;
        let resolution = match answer {
            Ok(Ok(Ok(resolution))) => resolution,
            Ok(Ok(Err(Unanswered::Cancelled))) => {
                self.is_cancelled = true;
                return Err(HostError::ApprovalUnresolved);
            }
            _ => return Err(HostError::ApprovalResolverFailed),
        };
        if resolution.context_identity != request.context_identity {
            return Err(HostError::ApprovalIdentityMismatch);
        }
        let decided = match (resolution.outcome, resolution.verdict) {
            (ApprovalOutcome::Unresolved, None) => return Err(HostError::ApprovalUnresolved),
            (ApprovalOutcome::Unresolved, Some(_)) | (_, None) => {
                return Err(HostError::ApprovalResolverFailed);
            }
            (_, Some(decided)) => InterceptorVerdict::read(decided)?,
        };
        match decided.permits() == (resolution.outcome == ApprovalOutcome::Approve) {
            true => Ok(decided),
            false => Err(HostError::VerdictInvalid),
        }
    }

    /// The identity of a context, or why it has none.
    fn identity_of(&self, context: &Context) -> Result<Option<String>, &'static str> {
        match &self.setup.identity {
            Identity::None => Ok(None),
            Identity::JcsSha256 => identity(self.point, context)
                .map(Some)
                .map_err(NotCanonical::words),
            Identity::Custom(_, identify) => {
                let identified = std::panic::catch_unwind(AssertUnwindSafe(|| identify(context)));
                let identity = identified.ok().flatten();
                identity.map(Some).ok_or("the identity provider failed")
            }
        }
    }

    fn record(&self, combined: &Combined) -> Record {
        let said = self.said.iter().zip(&self.active).enumerate();
        let said = said.map(|(index, (verdict, binding))| Said {
            index,
            decision: verdict.decision,
            reason: verdict.reason.clone(),
            name: binding.name.clone(),
        });
        Record {
            interception_point: self.point,
            mode: self.setup.mode,
            verdict: combined.verdict.clone(),
            input_identity: None,
            enforced_identity: None,
            identity_provider: self.setup.identity.name().map(ToOwned::to_owned),
            session_id: self.scope.session_id.clone(),
            sequence: 0,
            timestamp: String::new(),
            decided_by: combined.decided_by,
            composition: self.setup.composition,
            declaration: self.setup.declaration,
            verdicts: said.collect(),
            fold_truncated: combined.truncated,
            resolved_by: self.resolved_by,
            interceptors_registered: self.active.len(),
        }
    }
}

/// A context in which a transform is made, and the member that the target stands for is changed with it.
pub fn changed(point: Point, context: &Context, transform: &Transform) -> Result<Context, HostError> {
    if !point.may_transform() {
        return Err(HostError::TransformTargetForbidden);
    }
    let mut context = context.clone();
    let mut target = context.remove("target").unwrap_or_default();
    replace(&mut target, &transform.path, transform.value.clone())?;
    let (member, inner) = (point.target()[0], point.target().get(1));
    match inner {
        None => context.insert(member.into(), target.clone()),
        Some(inner) => {
            let member = context.get_mut(member).and_then(Value::as_object_mut);
            let member = member.ok_or(HostError::TransformInvalid)?;
            member.insert((*inner).into(), target.clone())
        }
    };
    context.insert("target".into(), target);
    Ok(context)
}

/// The context of an emission: what every point has, the point's own members, and the target, which is one of them.
fn context_of(
    scope: &Scope,
    point: Point,
    (sequence, timestamp): (u64, &str),
    members: Map<String, Value>,
) -> Context {
    let mut context = Context::new();
    context.insert("spec".into(), SPEC.into());
    context.insert("interception_point".into(), point.name().into());
    context.insert("timestamp".into(), timestamp.into());
    context.insert("sequence".into(), sequence.into());
    let id = match scope.agent_name.as_str() {
        "" => FRAMEWORK,
        name => name,
    };
    context.insert("agent".into(), json!({"id": id, "framework": FRAMEWORK}));
    context.insert(
        "session".into(),
        json!({"id": scope.session_id, "turn": scope.turn}),
    );
    let mut steps = point.target().iter();
    let member = steps.next().and_then(|name| members.get(*name));
    let target = steps.fold(member, |value, name| value.and_then(|value| value.get(name)));
    let target = target.cloned().unwrap_or_default();
    context.extend(members);
    context.insert("target".into(), target);
    context
}

fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::interceptor::{Interceptor, Resolution};

    /// A setup with one interceptor.
    pub(crate) fn setup(mode: Mode, interceptor: impl Interceptor + 'static) -> Setup {
        const DEADLINE: Duration = Duration::from_secs(60);
        Setup {
            mode,
            composition: Composition::FirstDeny {
                on_approval: OnApproval::Stop,
            },
            identity: Identity::None,
            bindings: vec![Binding {
                name: "door".into(),
                interceptor: Arc::new(interceptor),
                at: None,
                timeout: DEADLINE,
            }],
            approver: None,
            redactor: None,
            approval_timeout: DEADLINE,
            declaration: None,
            incremental: false,
        }
    }

    /// Approves everything, and counts how often it is asked.
    #[derive(Default)]
    struct Yes(AtomicUsize);

    impl Approver for Yes {
        fn resolve<'a>(
            &'a self,
            request: &'a ApprovalRequest<'a>,
        ) -> futures_util::future::BoxFuture<'a, Result<Resolution, Unanswered>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let yes = Resolution::to(request, Some(InterceptorVerdict::allow()));
            Box::pin(std::future::ready(Ok(yes)))
        }
    }

    /// How often somebody is asked to lift a deny.
    async fn times_asked(mode: Mode, point: Point) -> usize {
        let door = |_: &Context| InterceptorVerdict {
            approval: Some(Map::new()),
            ..InterceptorVerdict::deny("ask_first")
        };
        let yes = Arc::new(Yes::default());
        let setup = Setup {
            approver: Some(Arc::clone(&yes) as Arc<dyn Approver>),
            ..setup(mode, door)
        };
        let emitter = Emitter::new(setup, Arc::new(|_, _| {}));
        let scope = Scope::default();
        emitter
            .emit(&scope, point, || Ok(Map::new()), |_| None::<()>)
            .await;
        yes.0.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn nobody_is_asked_to_approve_what_happens_anyway() {
        assert_eq!(times_asked(Mode::Enforce, Point::Input).await, 1);
        assert_eq!(times_asked(Mode::EvaluateOnly, Point::Input).await, 0);
        assert_eq!(times_asked(Mode::Enforce, Point::AgentShutdown).await, 0);
    }

    fn context(value: &Value) -> Context {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn a_change_is_made_in_the_target_and_in_the_member_that_it_stands_for() {
        let transform = |path: &str| Transform {
            path: path.into(),
            value: "new".into(),
        };
        let call = context(&json!({"tool_call": {"id": "c", "args": {"a": 1}}, "target": {"a": 1}}));
        let call = changed(Point::PreToolCall, &call, &transform("$target.a")).unwrap();
        assert_eq!(call["target"], json!({"a": "new"}));
        assert_eq!(call["tool_call"], json!({"id": "c", "args": {"a": "new"}}));
        let end = context(&json!({"summary": {"reason": "completed"}, "target": {"reason": "completed"}}));
        let refused = changed(Point::AgentShutdown, &end, &transform("$target.reason"));
        assert_eq!(refused, Err(HostError::TransformTargetForbidden));
    }
}
