//! The gate: the only place where a tool call is approved, and the only maker of permits.
//!
//! The way of a call: guards may rewrite or refuse it (`pre_tool`); what it touches is resolved; deny rules and the
//! guards of files, shell and network judge the final arguments; then allow rules, earlier answers of the person and
//! the read-only hint may spare the question; then `permission_request`, and at last the person. `--yes` answers in
//! the person's place and nothing else. A person who is not there has said no.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use becket_events::{
    ApprovalDecided, ApprovalDecidedPayload, ApprovalDecision, ApprovalSource, Attention, AttentionPayload,
    AttentionReason, Effect, Operation, OperationKind, PermissionRequest, PermissionRequestPayload,
    PreFileRead, PreFileReadPayload, PreFileWrite, PreFileWritePayload, PreShell, PreShellPayload, PreTool,
    PreToolPayload, PreVfsWrite, PreVfsWritePayload, Rule, Scope, Strictest, Verdict,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::audit::{AuditRecord, Audited, AuditedCall, Ledger, Ruling};
use crate::cache::OutputCache;
use crate::flocks::Flocks;
use crate::front::{Again, Front, Offer, OfferedRule, PersonsAnswer, Question};
use crate::hooks::Hooks;
use crate::judged_path::LinkedFile;
use crate::resolve::resolve_path;
use crate::rules::{RuleVerdict, RuledCall, Rules};
use crate::store::Store;
use crate::stored_rule::{self, RuleKeeper};
use crate::tool::{BUILTIN, Tool, ToolSpec};
use crate::url_policy::{JudgedUrl, UrlClass, UrlJudge, UrlVerdict};
use crate::vfs::{Caller, Kind, Vfs, VfsPath, VfsPlace};

mod web;

pub use web::NotFetched;

/// Proof that a call passed the gate. It cannot be copied, and a tool that runs uses it up.
#[derive(Debug)]
pub struct Permit {
    tool_call_id: String,
    call: Box<FinalCall>,
    /// Who or what has approved it.
    source: ApprovalSource,
    directory: PathBuf,
    reading: Box<ReadingGuard>,
    in_use: PermitUse,
}

/// Whether a permit was used; it counts itself in the ledger of its session.
#[derive(Debug)]
struct PermitUse {
    ledger: Arc<Ledger>,
    is_used: bool,
}

impl PermitUse {
    fn new(ledger: Arc<Ledger>) -> Self {
        ledger.permits.add();
        Self {
            ledger,
            is_used: false,
        }
    }
}

impl Drop for PermitUse {
    fn drop(&mut self) {
        if !self.is_used {
            self.ledger.unused.add();
        }
    }
}

/// What a call touches, resolved before it was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Nothing that can be named.
    None,
    /// A file, or a directory to look at or to run in: absolute, with links and `..` followed.
    Path(PathBuf),
    /// A place in the virtual file system.
    Vfs(VfsPlace),
    /// Two places in it: what is copied or moved, and where to.
    VfsPair(VfsPlace, VfsPlace),
    /// An address of the web, with the network addresses behind its host.
    Web(JudgedUrl),
    /// The network, at a place that the call does not name.
    UnnamedWeb,
}

impl Target {
    /// The file or directory that is opened: the one that was named, or the one behind an address.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Vfs(place) => Some(place.file()),
            Self::None | Self::VfsPair(..) | Self::Web(_) | Self::UnnamedWeb => None,
        }
    }

    /// Whether it is an output that was put aside.
    pub fn is_cached_output(&self) -> bool {
        matches!(self, Self::Vfs(place) if OutputCache::holds(place.address()))
    }
}

/// An address of the virtual file system at which a call changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VfsChange {
    /// The address.
    pub address: VfsPath,
    /// Whether nothing is left there afterwards.
    pub removed: bool,
}

impl Permit {
    /// The same for the tool that is about to run: from here on it is used, whatever becomes of the tool.
    pub(crate) fn taken(mut self) -> Self {
        self.in_use.is_used = true;
        self.in_use.ledger.used.add();
        self
    }

    /// The call that was approved.
    pub fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    /// Who or what has approved it.
    pub fn source(&self) -> ApprovalSource {
        self.source
    }

    /// The arguments that were judged.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.call.arguments
    }

    /// The operation that was judged, where the tool is one of becket's own.
    pub fn operation(&self) -> Option<&Operation> {
        self.call.operation.as_ref()
    }

    /// What was judged as the thing that the call touches.
    pub fn target(&self) -> &Target {
        &self.call.target
    }

    /// The file that was judged, if it had further hard links then.
    pub fn linked_file(&self) -> Option<LinkedFile> {
        self.call.linked
    }

    /// What the call changes in the virtual file system, if it succeeds.
    pub fn vfs_changes(&self) -> &[VfsChange] {
        &self.call.changes
    }

    /// The directory in which the agent works.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where and in whose name the call is made.
    pub fn scope(&self) -> &Scope {
        self.reading.hooks.scope()
    }

    /// The hooks of the session, for a tool whose work has events of its own.
    pub fn hooks(&self) -> &Hooks {
        &self.reading.hooks
    }

    /// Whether the contents of a file that the call came upon may be shown: a search is judged by the folder it looks
    /// into, so deny rules and the guards of reading are asked about each file that it would show.
    pub async fn may_read(&self, file: &Path) -> bool {
        let ReadingGuard {
            hooks,
            settings,
            vfs,
            tool_name,
            called_as,
        } = &*self.reading;
        // A search that began above the folder of the virtual file system comes upon its files as well.
        let address = match &self.call.target {
            Target::Vfs(place) => place.address_of(file).map(Some).ok_or_else(String::new),
            _ => vfs.address_of(file),
        };
        let Ok(address) = address.map(|address| address.as_ref().map(as_path)) else {
            return false;
        };
        let path = address.as_deref().unwrap_or(file);
        let arguments = Map::new();
        let read = OperationKind::Read.name();
        // What a rule says about reading counts for every tool that shows contents.
        for (tool_name, called_as) in [(tool_name.as_str(), called_as.as_str()), (read, read)] {
            let call = RuledCall {
                tool_name,
                called_as,
                arguments: &arguments,
                path: Some(path),
                pair: None,
                directory: &self.directory,
                web: None,
            };
            match settings.rules.judge(call) {
                RuleVerdict::Deny(_) => return false,
                RuleVerdict::Ask(_) if !settings.yes => return false,
                _ => {}
            }
        }
        // Reading the virtual file system is free, and about what the call itself names the guards were asked before.
        if address.is_some() || self.call.path() == Some(file) {
            return true;
        }
        let payload = || PreFileReadPayload {
            tool_call_id: self.tool_call_id.clone(),
            tool_name: tool_name.clone(),
            called_as: called_as.clone(),
            path: path.display().to_string(),
            inside: path.starts_with(&self.directory),
        };
        match hooks.ask::<PreFileRead>(payload).await.verdict.0 {
            None | Some(Verdict::Allow) => true,
            Some(Verdict::Ask(_)) => settings.yes,
            Some(Verdict::Insist(_) | Verdict::Deny(_)) => false,
        }
    }
}

impl Permit {
    /// Whether a tool without an operation may write a file of the virtual file system: rules and guards judge it like
    /// one that the model writes by itself. Where the person would have to be asked, it may not.
    pub async fn may_write(&self, address: &VfsPath, content: &str) -> Result<(), String> {
        let ReadingGuard {
            hooks,
            settings,
            tool_name,
            called_as,
            ..
        } = &*self.reading;
        let arguments = Map::new();
        let write = OperationKind::Write.name();
        for (tool_name, called_as) in [(tool_name.as_str(), called_as.as_str()), (write, write)] {
            let call = RuledCall {
                tool_name,
                called_as,
                arguments: &arguments,
                path: Some(&as_path(address)),
                pair: None,
                directory: &self.directory,
                web: None,
            };
            match settings.rules.judge(call) {
                RuleVerdict::Deny(rule) => return Err(format!("the rule `{rule}` denies writing {address}")),
                RuleVerdict::Ask(rule) if !settings.yes => {
                    return Err(format!(
                        "the rule `{rule}` wants the person to be asked about {address}"
                    ));
                }
                _ => {}
            }
        }
        let payload = || PreVfsWritePayload {
            tool_call_id: self.tool_call_id.clone(),
            tool_name: tool_name.clone(),
            called_as: called_as.clone(),
            path: address.to_string(),
            content: Some(content.into()),
            caller: hooks.scope().context_name.clone(),
            removed: false,
        };
        match hooks.ask::<PreVfsWrite>(payload).await.verdict.0 {
            None | Some(Verdict::Allow) => Ok(()),
            Some(Verdict::Ask(_)) if settings.yes => Ok(()),
            Some(Verdict::Deny(reason) | Verdict::Ask(reason) | Verdict::Insist(reason)) => Err(reason),
        }
    }
}

/// What is needed to judge files that a call comes upon.
struct ReadingGuard {
    hooks: Hooks,
    settings: Arc<ApprovalSettings>,
    vfs: Vfs,
    tool_name: String,
    called_as: String,
}

impl std::fmt::Debug for ReadingGuard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ReadingGuard")
            .field("tool_name", &self.tool_name)
            .finish_non_exhaustive()
    }
}

/// Who may do what without being asked.
#[derive(Debug, Clone, Default)]
pub struct ApprovalSettings {
    /// The rules of the configuration.
    pub rules: Rules,
    /// Whether every question of the person's is answered with yes.
    pub yes: bool,
    /// Folders besides the working directory that are free to read.
    pub readable: Vec<PathBuf>,
    /// Sources of tools that the person has installed. Such a tool needs no yes, unless it stands in for one of
    /// becket's own: then it needs what that one needs.
    pub installed: Vec<String>,
    /// Judges addresses of the web.
    pub urls: UrlJudge,
    /// Keeps rules that are stored at a question; without one, none can be.
    pub keeper: Option<Arc<dyn RuleKeeper>>,
}

/// Judges calls for one session.
pub struct Gate {
    settings: Arc<ApprovalSettings>,
    /// The working directory, resolved.
    directory: PathBuf,
    vfs: Vfs,
    /// Folders that became free to read while the session lasts.
    opened: Mutex<Vec<PathBuf>>,
    /// What the user has said yes to until the session ends.
    grants: Mutex<Vec<Grant>>,
    front: Arc<dyn Front>,
    /// Held while the person is asked: sub-agents have questions at the same time, and there is one person.
    asking: tokio::sync::Mutex<()>,
    /// Hears of every step on the way to a decision.
    listener: Option<StepListener>,
    /// Keeps what was decided.
    store: Option<Arc<dyn Store>>,
}

/// Hears of the steps on the way to a decision.
pub type StepListener = Arc<dyn Fn(Step) + Send + Sync>;

/// What the gate has done on its way to a decision, between asking hooks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The final arguments are read, and what they touch is known.
    Resolved {
        /// The file, folder or address; `None` where there is nothing that can be named.
        target: Option<String>,
        /// The arguments that are judged from here on.
        arguments: Map<String, Value>,
    },
    /// The rules have been looked at.
    Rules {
        /// `deny`, `allow`, `ask` or `silent`.
        verdict: &'static str,
        /// The rule that spoke, as it was written.
        rule: Option<String>,
    },
    /// The URL policy has been looked at.
    UrlPolicy {
        /// `deny`, `allow` or `ask`.
        verdict: &'static str,
        /// The rule that spoke with its list, `default`, or `no policy`.
        rule: String,
        /// What kind of place the address leads to, if not to the open internet.
        class: Option<&'static str>,
    },
    /// Nobody and nothing has decided: somebody must be asked.
    Question {
        /// Why.
        reason: Option<String>,
        /// The hooks that want it.
        handlers: Vec<String>,
        /// Whether nobody but the person can answer.
        insists: bool,
    },
    /// It is decided.
    Decided {
        /// How.
        decision: ApprovalDecision,
        /// By whom or what.
        source: ApprovalSource,
        /// The hooks that decided, where hooks did.
        handlers: Vec<String>,
        /// Why, if it was refused.
        reason: Option<String>,
    },
}

fn url_step(judged: &JudgedUrl) -> Step {
    let ruling = judged.ruling();
    Step::UrlPolicy {
        verdict: match ruling.verdict {
            UrlVerdict::Allow => "allow",
            UrlVerdict::Ask => "ask",
            UrlVerdict::Deny => "deny",
        },
        rule: ruling.rule.clone(),
        class: judged.class().map(UrlClass::name),
    }
}

/// Something that the user has said yes to until the session ends. A tool is known by where it comes from and by its
/// name there, since one that stands in for another is not that other one.
#[derive(Debug, PartialEq)]
struct Grant {
    source: String,
    called_as: String,
    /// What it touches: the file, the directory in which it runs, the address.
    target: Option<String>,
    /// The arguments, where it is about this very call.
    arguments: Option<Map<String, Value>>,
    /// The network addresses behind a place that is not the open internet: a name may lead elsewhere later.
    addresses: Vec<SocketAddr>,
}

impl Grant {
    fn of(spec: &ToolSpec, call: &FinalCall) -> Self {
        let sensitive = call.web().filter(|web| web.class().is_some());
        Self {
            source: spec.source.clone(),
            called_as: spec.face.name.clone(),
            target: call.touched(),
            arguments: (call.again() == Again::Call).then(|| call.arguments.clone()),
            addresses: sensitive.map_or_else(Vec::new, |web| web.addresses().to_vec()),
        }
    }
}

/// A call that wants to pass.
#[derive(Clone, Copy)]
pub struct Applicant<'a> {
    /// Identifies the call.
    pub tool_call_id: &'a str,
    /// The tool.
    pub tool: &'a dyn Tool,
    /// Its arguments, normalised.
    pub arguments: &'a Map<String, Value>,
    /// The call from within which this one is made.
    pub parent_tool_call_id: Option<&'a str>,
}

impl<'a> Applicant<'a> {
    fn spec(&self) -> &'a ToolSpec {
        self.tool.spec()
    }
}

/// What the gate says.
#[derive(Debug)]
pub enum Judgement {
    /// The call may run.
    Permitted(Permit),
    /// The call does not run.
    Refused {
        /// Why, for the model and the person.
        reason: String,
        /// The arguments as they were when it was refused.
        arguments: Map<String, Value>,
        /// The hooks that refused, where hooks did.
        handlers: Vec<String>,
        /// Whether the person wants everything to stop.
        cancelled: bool,
    },
}

/// The call that is asked about, where a yes from before would have spared the question. A yes to anything else is no
/// yes to what comes later.
type Repeatable<'a> = Option<(&'a ToolSpec, &'a FinalCall)>;

/// How often the user may try to write a rule that can be stored.
const MOST_RULES: u32 = 10;

/// A question that somebody wants the person to answer.
struct Wanted {
    reason: Option<String>,
    /// Whether nobody but the person can answer.
    insists: bool,
    /// The hooks that want it.
    handlers: Vec<String>,
    /// Whether only nobody's yes was missing.
    spared: bool,
}

/// A call after all rewriting, with everything it touches.
#[derive(Debug)]
struct FinalCall {
    arguments: Map<String, Value>,
    operation: Option<Operation>,
    target: Target,
    /// What it changes in the virtual file system.
    changes: Vec<VfsChange>,
    /// Whether the path lies where reading is free.
    inside: bool,
    /// The file, if it has further hard links.
    linked: Option<LinkedFile>,
}

/// How a call was decided, and by whom.
struct Decision {
    verdict: ApprovalDecision,
    source: ApprovalSource,
    reason: Option<String>,
    /// The hooks that decided, where hooks did.
    handlers: Vec<String>,
}

impl Decision {
    fn allow(source: ApprovalSource) -> Self {
        Self {
            verdict: ApprovalDecision::Allow,
            source,
            reason: None,
            handlers: Vec::new(),
        }
    }

    fn deny(source: ApprovalSource, reason: impl Into<String>) -> Self {
        Self {
            verdict: ApprovalDecision::Deny,
            reason: Some(reason.into()),
            ..Self::allow(source)
        }
    }

    fn cancelled() -> Self {
        let verdict = ApprovalDecision::Cancelled;
        Self {
            verdict,
            ..Self::deny(ApprovalSource::Cancellation, "cancelled")
        }
    }

    /// Who wanted everything to stop while judges were at work did not want their yes.
    fn unless_cancelled(self, hooks: &Hooks) -> Self {
        match self.verdict {
            ApprovalDecision::Allow if hooks.cancel().is_cancelled() => Self::cancelled(),
            _ => self,
        }
    }

    /// The same for the record; it took since `began`.
    fn ruling(&self, began: Instant) -> Ruling {
        Ruling {
            decision: self.verdict,
            source: self.source,
            handlers: self.handlers.clone(),
            reason: self.reason.clone(),
            duration_us: began.elapsed().as_micros() as u64,
        }
    }

    /// The same for whoever wants to know.
    fn step(&self) -> Step {
        Step::Decided {
            decision: self.verdict,
            source: self.source,
            handlers: self.handlers.clone(),
            reason: self.reason.clone(),
        }
    }

    fn by(mut self, handlers: Vec<String>) -> Self {
        self.handlers = handlers;
        self
    }
}

/// What hooks think of a call, and which of them.
#[derive(Default)]
struct Opinion {
    verdict: Option<Verdict>,
    handlers: Vec<String>,
}

impl Opinion {
    fn new(verdict: Strictest, handlers: Vec<String>) -> Self {
        Self {
            verdict: verdict.0,
            handlers,
        }
    }

    /// Both together; of unequal ones only the stricter one's hooks have decided.
    fn and(self, later: Self) -> Self {
        let strictness = |opinion: &Self| opinion.verdict.as_ref().map_or(0, Verdict::strictness);
        let handlers = match strictness(&self).cmp(&strictness(&later)) {
            std::cmp::Ordering::Greater => self.handlers,
            std::cmp::Ordering::Less => later.handlers,
            std::cmp::Ordering::Equal => [self.handlers, later.handlers].concat(),
        };
        Self {
            verdict: Strictest(self.verdict).then(Strictest(later.verdict)).0,
            handlers,
        }
    }
}

impl Gate {
    /// A gate for a session that works in `directory` and in the virtual file system.
    pub fn new(settings: ApprovalSettings, directory: &Path, vfs: Vfs, front: Arc<dyn Front>) -> Self {
        let directory = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_path_buf());
        Self {
            settings: Arc::new(settings),
            directory,
            vfs,
            opened: Mutex::default(),
            grants: Mutex::default(),
            front,
            asking: tokio::sync::Mutex::default(),
            listener: None,
            store: None,
        }
    }

    /// The same gate with a store that keeps what was decided.
    pub fn recording(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    fn record(&self, hooks: &Hooks, what: impl FnOnce() -> Audited) {
        if let Some(store) = &self.store {
            store.audit(AuditRecord::now(hooks.scope(), what()));
        }
    }

    /// The same gate with somebody who hears of every step.
    pub fn telling(mut self, listener: StepListener) -> Self {
        self.listener = Some(listener);
        self
    }

    fn tell(&self, step: impl FnOnce() -> Step) {
        if let Some(listener) = &self.listener {
            listener(step());
        }
    }

    /// From now on these folders are free to read, in the place of those that were said before.
    pub(crate) fn let_read(&self, folders: Vec<PathBuf>) {
        *self.opened() = folders;
    }

    fn is_opened(&self, path: &Path) -> bool {
        self.opened().iter().any(|folder| path.starts_with(folder))
    }

    fn opened(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.opened.lock().expect("no panic happens while it is held")
    }

    /// Judges a call.
    pub async fn judge(&self, hooks: &Hooks, applicant: Applicant<'_>) -> Judgement {
        let began = Instant::now();
        let (decision, call) = self.consider(hooks, applicant).await;
        let decision = decision.unless_cancelled(hooks);
        self.tell(|| decision.step());
        hooks
            .tell::<ApprovalDecided>(|| decided_payload(applicant, &call, &decision))
            .await;
        let decision = decision.unless_cancelled(hooks);
        self.record(hooks, || audited(applicant, &call, decision.ruling(began)));
        match decision.verdict {
            ApprovalDecision::Allow => Judgement::Permitted(Permit {
                tool_call_id: applicant.tool_call_id.into(),
                call: Box::new(call),
                source: decision.source,
                directory: self.directory.clone(),
                reading: Box::new(ReadingGuard {
                    hooks: hooks.clone(),
                    settings: Arc::clone(&self.settings),
                    vfs: self.vfs.clone(),
                    tool_name: applicant.spec().own_name.clone(),
                    called_as: applicant.spec().face.name.clone(),
                }),
                in_use: PermitUse::new(Arc::clone(hooks.ledger())),
            }),
            verdict => {
                hooks.ledger().refused.add();
                Judgement::Refused {
                    reason: decision.reason.unwrap_or_default(),
                    arguments: call.arguments,
                    handlers: decision.handlers,
                    cancelled: verdict == ApprovalDecision::Cancelled,
                }
            }
        }
    }

    /// Asks everybody who has a say in a call.
    async fn consider(&self, hooks: &Hooks, applicant: Applicant<'_>) -> (Decision, FinalCall) {
        let (reply, handlers) = hooks.ask_whom::<PreTool>(|| pre_tool_payload(applicant)).await;
        let arguments = reply
            .arguments
            .get()
            .unwrap_or_else(|| applicant.arguments.clone());
        let arguments = normalised(applicant.spec(), arguments);
        let opinion = Opinion::new(reply.verdict, handlers);
        match opinion.verdict {
            _ if hooks.cancel().is_cancelled() => (Decision::cancelled(), FinalCall::unresolved(arguments)),
            Some(Verdict::Deny(reason)) => {
                let decision = Decision::deny(ApprovalSource::Hook, reason).by(opinion.handlers);
                (decision, FinalCall::unresolved(arguments))
            }
            _ => match self.finalise(hooks, applicant.tool, arguments.clone()).await {
                Ok(call) => {
                    self.tell(|| call.resolved());
                    (self.decide(hooks, applicant, &call, opinion).await, call)
                }
                Err(reason) => {
                    let decision = Decision::deny(ApprovalSource::Unresolved, reason);
                    (decision, FinalCall::unresolved(arguments))
                }
            },
        }
    }

    /// Whether something other than a tool call may happen, after hooks have spoken about it. An ask is answered by the
    /// person or by `--yes`, an insist by the person alone; the error says why it may not.
    pub async fn consent(
        &self,
        hooks: &Hooks,
        subject: &str,
        verdict: Strictest,
        handlers: Vec<String>,
    ) -> Result<(), String> {
        // Where nobody has spoken, nothing was decided.
        let Some(verdict) = verdict.0 else {
            return Ok(());
        };
        let began = Instant::now();
        let decision = self.consider_consent(hooks, subject, verdict, handlers).await;
        self.record(hooks, || Audited::Consent {
            subject: subject.into(),
            ruling: decision.ruling(began),
        });
        match decision.verdict {
            ApprovalDecision::Allow => Ok(()),
            _ => Err(decision.reason.unwrap_or_default()),
        }
    }

    async fn consider_consent(
        &self,
        hooks: &Hooks,
        subject: &str,
        verdict: Verdict,
        handlers: Vec<String>,
    ) -> Decision {
        let (reason, insists) = match verdict {
            Verdict::Allow => return Decision::allow(ApprovalSource::Hook).by(handlers),
            Verdict::Deny(reason) => return Decision::deny(ApprovalSource::Hook, reason).by(handlers),
            Verdict::Ask(_) if self.settings.yes => return Decision::allow(ApprovalSource::Yes).by(handlers),
            Verdict::Ask(reason) => (reason, false),
            Verdict::Insist(reason) => (reason, true),
        };
        let question = Question {
            agent: asking_agent(hooks),
            tool_name: subject.into(),
            operation: None,
            source: None,
            arguments: Map::new(),
            reason: Some(reason),
            handlers,
            metadata: Map::new(),
            offer: None,
        };
        self.ask_person(hooks, question, insists, None).await
    }

    /// Whether a run may go on past its limit: only a person can say so, and `--yes` is none.
    pub(crate) async fn going_on(&self, hooks: &Hooks, why: &str) -> GoingOn {
        if self.settings.yes {
            return GoingOn::Ends;
        }
        let began = Instant::now();
        let question = Question {
            agent: None,
            tool_name: "going on past the limit".into(),
            operation: None,
            source: None,
            arguments: Map::new(),
            reason: Some(why.into()),
            handlers: Vec::new(),
            metadata: Map::new(),
            offer: None,
        };
        let answer = async {
            let _alone = self.asking.lock().await;
            self.front.ask(&question).await
        };
        let answer = tokio::select! {
            biased;
            () = hooks.cancel().cancelled() => PersonsAnswer::Cancel,
            answer = answer => answer,
        };
        let (going_on, decision) = match answer {
            PersonsAnswer::Yes | PersonsAnswer::YesAgain | PersonsAnswer::YesWithRule(_) => {
                (GoingOn::Agreed, Decision::allow(ApprovalSource::Person))
            }
            PersonsAnswer::No(_) => (GoingOn::Ends, Decision::deny(ApprovalSource::Person, why)),
            PersonsAnswer::Nobody => (GoingOn::Ends, Decision::deny(ApprovalSource::Headless, why)),
            PersonsAnswer::Cancel => (GoingOn::Cancelled, Decision::cancelled()),
        };
        self.record(hooks, || Audited::Consent {
            subject: question.tool_name,
            ruling: decision.ruling(began),
        });
        going_on
    }

    /// Reads the final arguments and resolves what they touch.
    async fn finalise(
        &self,
        hooks: &Hooks,
        tool: &dyn Tool,
        arguments: Map<String, Value>,
    ) -> Result<FinalCall, String> {
        let spec = tool.spec();
        let Some(kind) = spec.operation else {
            let target = self.resolve_web(tool.network(&arguments)).await?;
            return Ok(FinalCall {
                target,
                ..FinalCall::unresolved(arguments)
            });
        };
        let (arguments, extra) = spec.apart(arguments);
        let operation = kind
            .read(arguments)
            .map_err(|error| format!("the arguments of {} are wrong: {error}", spec.own_name))?;
        let mut operation = self.by_address(operation)?;
        let mut web = Target::None;
        if let Operation::Fetch(fetch) = &mut operation {
            let judged = self.settings.urls.judge(&fetch.url).await?;
            // Everybody after this sees the address in the one way in which it will be used.
            fetch.url = judged.url().to_string();
            web = Target::Web(judged);
        }
        let mut call = FinalCall {
            target: web,
            ..FinalCall::unresolved(operation.arguments())
        };
        call.arguments.extend(extra);
        if let Some((target, changes)) = self.resolve_vfs(hooks, &operation)? {
            (call.target, call.changes) = (target, changes);
        } else if let Some(path) = operation.path() {
            if path.starts_with(BLOB) {
                return Err(format!(
                    "the output {path} is no longer kept; make the call again"
                ));
            }
            let resolved = resolve_path(&self.directory, path)?;
            let free = std::iter::once(&self.directory).chain(&self.settings.readable);
            call.inside =
                free.into_iter().any(|folder| resolved.starts_with(folder)) || self.is_opened(&resolved);
            call.linked = LinkedFile::at(&resolved);
            call.target = Target::Path(resolved);
        }
        call.operation = Some(operation);
        Ok(call)
    }

    /// The same operation on the address of its file, where the path leads into the folder behind the virtual file
    /// system: there is one way to judge what is in it. A command is not judged by where it runs.
    fn by_address(&self, operation: Operation) -> Result<Operation, String> {
        let kind = operation.kind();
        let Some(path) = operation.path().filter(|path| {
            let elsewhere = kind == OperationKind::Shell || OperationKind::VFS.contains(&kind);
            !elsewhere && !VfsPath::is_meant_by(path) && !path.starts_with(BLOB)
        }) else {
            return Ok(operation);
        };
        let Some(address) = self.vfs.address_of(&resolve_path(&self.directory, path)?)? else {
            return Ok(operation);
        };
        let mut arguments = operation.arguments();
        arguments.insert("path".into(), address.to_string().into());
        kind.read(arguments).map_err(|error| error.to_string())
    }

    /// The places of an operation that works on the virtual file system, and what it changes there; `None` for one
    /// that does not.
    fn resolve_vfs(
        &self,
        hooks: &Hooks,
        operation: &Operation,
    ) -> Result<Option<(Target, Vec<VfsChange>)>, String> {
        if let Operation::CacheList(_) = operation {
            let folder = OutputCache::new(self.vfs.clone()).folder_of(&hooks.scope().context_name)?;
            return Ok(Some((Target::Vfs(folder), Vec::new())));
        }
        let only_there = OperationKind::VFS.contains(&operation.kind());
        let Some(path) = operation
            .path()
            .filter(|path| only_there || VfsPath::is_meant_by(path))
        else {
            return Ok(None);
        };
        if let Operation::Shell(_) = operation {
            return Err(format!("a command cannot run in {path}; only files are there"));
        }
        let place = self.vfs.place(&VfsPath::parse(path)?)?;
        let destination = match operation.destination() {
            Some(path) => Some(self.vfs.place(&VfsPath::parse(path)?)?),
            None => None,
        };
        let changes = changes_of(operation, &place, destination.as_ref())?;
        if !changes.is_empty() {
            self.vfs.prepare()?;
        }
        let target = match destination {
            Some(destination) => Target::VfsPair(place, destination),
            None => Target::Vfs(place),
        };
        Ok(Some((target, changes)))
    }

    /// Whether a context may change something at all these addresses.
    fn check_zones(&self, name: &str, changes: &[VfsChange]) -> Result<(), String> {
        let flocks = match changes.iter().any(|change| change.address.is_of_a_flock()) {
            true => Flocks::new(self.vfs.clone()).of(name)?,
            false => Vec::new(),
        };
        let caller = Caller::Context {
            name,
            flocks: &flocks,
        };
        changes
            .iter()
            .try_for_each(|change| change.address.check_write(caller))
    }

    async fn decide(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        call: &FinalCall,
        opinion: Opinion,
    ) -> Decision {
        if let Err(reason) = self.check_zones(&hooks.scope().context_name, &call.changes) {
            return Decision::deny(ApprovalSource::Zone, reason);
        }
        let rule = self.rule_of(applicant.tool, call);
        self.tell(|| self.rule_step(applicant.spec(), call, &rule));
        let rule = match rule {
            Ok(rule) => rule,
            Err(reason) => return Decision::deny(ApprovalSource::DenyRule, reason),
        };
        if let Some(judged) = call.web() {
            self.tell(|| url_step(judged));
        }
        if let Some(reason) = call.web().and_then(JudgedUrl::denied) {
            return Decision::deny(ApprovalSource::UrlPolicy, reason);
        }
        let Opinion { verdict, handlers } =
            opinion.and(self.ask_permission_guards(hooks, applicant, call).await);
        let ask = |reason, insists| Wanted {
            reason,
            insists,
            handlers: handlers.clone(),
            spared: false,
        };
        let nobody_has_spoken = || Wanted {
            spared: true,
            ..ask(call.sensitivity(), false)
        };
        match (verdict, rule) {
            (Some(Verdict::Deny(reason)), _) => Decision::deny(ApprovalSource::Hook, reason).by(handlers),
            (Some(Verdict::Insist(reason)), _) => {
                self.question(hooks, applicant, call, ask(Some(reason), true))
                    .await
            }
            (Some(Verdict::Ask(reason)), _) => {
                self.question(hooks, applicant, call, ask(Some(reason), false))
                    .await
            }
            (Some(Verdict::Allow), _) => Decision::allow(ApprovalSource::Hook).by(handlers),
            (None, RuleVerdict::Allow) => Decision::allow(ApprovalSource::AllowRule),
            (None, RuleVerdict::Ask(_)) => {
                self.question(hooks, applicant, call, ask(call.sensitivity(), false))
                    .await
            }
            (None, _) => match self.granted(applicant.tool, call) {
                Some(source) => Decision::allow(source),
                None => self.question(hooks, applicant, call, nobody_has_spoken()).await,
            },
        }
    }

    /// What the rules say about a call, and about what it is besides; the error says which rule denies it.
    fn rule_of(&self, tool: &dyn Tool, call: &FinalCall) -> Result<RuleVerdict<'_>, String> {
        let spec = tool.spec();
        let names = std::iter::once(&spec.face.name).chain(tool.other_names());
        let verdicts = names.map(|name| self.rule_about((&spec.own_name, name), call, call.vfs_addresses()));
        let strictest = verdicts.max_by_key(RuleVerdict::strictness);
        let mut rule = strictest.unwrap_or(RuleVerdict::Silent);
        for kind in implied(spec, call) {
            let (addresses, doing) = match kind {
                OperationKind::Write => (call.changed_addresses(), "writing"),
                _ => (call.vfs_addresses(), "reading"),
            };
            match self.rule_about((kind.name(), kind.name()), call, addresses) {
                RuleVerdict::Deny(rule) => return Err(format!("the rule `{rule}` denies {doing} it")),
                asks @ RuleVerdict::Ask(_) if !matches!(rule, RuleVerdict::Deny(_)) => rule = asks,
                _ => {}
            }
        }
        match rule {
            RuleVerdict::Deny(rule) => Err(format!("the rule `{rule}` denies it")),
            rule => Ok(rule),
        }
    }

    /// A call as rules see it that touches no more than one thing.
    fn ruled<'a>(&'a self, spec: &'a ToolSpec, call: &'a FinalCall) -> RuledCall<'a> {
        RuledCall {
            tool_name: &spec.own_name,
            called_as: &spec.face.name,
            arguments: &call.arguments,
            path: call.path(),
            pair: None,
            directory: &self.directory,
            web: call.web(),
        }
    }

    /// What the rules have said, for whoever wants to know.
    fn rule_step(&self, spec: &ToolSpec, call: &FinalCall, rule: &Result<RuleVerdict<'_>, String>) -> Step {
        let allowing = || self.settings.rules.allowing(self.ruled(spec, call));
        let (verdict, rule) = match rule {
            Err(reason) => ("deny", Some(reason.clone())),
            Ok(RuleVerdict::Deny(rule)) => ("deny", Some((*rule).to_owned())),
            Ok(RuleVerdict::Ask(rule)) => ("ask", Some((*rule).to_owned())),
            Ok(RuleVerdict::Allow) => ("allow", allowing()),
            Ok(RuleVerdict::Silent) => ("silent", None),
        };
        Step::Rules { verdict, rule }
    }

    /// What the rules say about a call of a tool by its own name and the one that the model knows. Of several addresses
    /// the one about which they are strictest counts.
    fn rule_about(
        &self,
        (tool_name, called_as): (&str, &str),
        call: &FinalCall,
        addresses: Vec<&VfsPath>,
    ) -> RuleVerdict<'_> {
        let pair = match &call.target {
            Target::VfsPair(place, destination) => {
                Some((as_path(place.address()), as_path(destination.address())))
            }
            _ => None,
        };
        let judge = |path: Option<&Path>| {
            self.settings.rules.judge(RuledCall {
                tool_name,
                called_as,
                arguments: &call.arguments,
                path,
                pair: pair
                    .as_ref()
                    .map(|(source, destination)| (source.as_path(), destination.as_path())),
                directory: &self.directory,
                web: call.web(),
            })
        };
        let verdicts = addresses
            .into_iter()
            .map(|address| judge(Some(&as_path(address))));
        verdicts
            .max_by_key(RuleVerdict::strictness)
            .unwrap_or_else(|| judge(call.path()))
    }

    /// Asks the guards of reading about a file.
    async fn ask_reading_guards(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        path: &Path,
        inside: bool,
    ) -> Opinion {
        let payload = || PreFileReadPayload {
            tool_call_id: applicant.tool_call_id.into(),
            tool_name: applicant.spec().own_name.clone(),
            called_as: applicant.spec().face.name.clone(),
            path: path.display().to_string(),
            inside,
        };
        let (reply, handlers) = hooks.ask_whom::<PreFileRead>(payload).await;
        Opinion::new(reply.verdict, handlers)
    }

    /// Asks the guards of writing about a file and what is written to it.
    async fn ask_writing_guards(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        path: &Path,
        operation: &Operation,
    ) -> Opinion {
        let payload = || {
            let (content, edits, lines) = match operation {
                Operation::Write(write) => (Some(write.content.clone()), Vec::new(), Vec::new()),
                Operation::Edit(edit) => (None, edit.edits.clone(), edit.lines.clone()),
                _ => (None, Vec::new(), Vec::new()),
            };
            PreFileWritePayload {
                tool_call_id: applicant.tool_call_id.into(),
                tool_name: applicant.spec().own_name.clone(),
                called_as: applicant.spec().face.name.clone(),
                path: path.display().to_string(),
                content,
                edits,
                lines,
                inside: path.starts_with(&self.directory),
            }
        };
        let (reply, handlers) = hooks.ask_whom::<PreFileWrite>(payload).await;
        Opinion::new(reply.verdict, handlers)
    }

    /// Asks the guards of the virtual file system about each address that changes, until one refuses.
    async fn ask_vfs_guards(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        call: &FinalCall,
        operation: &Operation,
    ) -> Opinion {
        let mut opinion = Opinion::default();
        for change in &call.changes {
            let payload = || PreVfsWritePayload {
                tool_call_id: applicant.tool_call_id.into(),
                tool_name: applicant.spec().own_name.clone(),
                called_as: applicant.spec().face.name.clone(),
                path: change.address.to_string(),
                content: match operation {
                    Operation::Write(write) => Some(write.content.clone()),
                    _ => None,
                },
                caller: hooks.scope().context_name.clone(),
                removed: change.removed,
            };
            let (reply, handlers) = hooks.ask_whom::<PreVfsWrite>(payload).await;
            opinion = opinion.and(Opinion::new(reply.verdict, handlers));
            if let Some(Verdict::Deny(_)) = opinion.verdict {
                break;
            }
        }
        opinion
    }

    /// Asks the guards of what the call touches: files, the shell, the network.
    async fn ask_permission_guards(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        call: &FinalCall,
    ) -> Opinion {
        let tool_call_id = || applicant.tool_call_id.to_string();
        let tool_name = || applicant.spec().own_name.clone();
        let called_as = || applicant.spec().face.name.clone();
        if let Target::Web(_) | Target::UnnamedWeb = call.target {
            return self.ask_network_guards(hooks, applicant, call).await;
        }
        let (Some(operation), target) = (&call.operation, &call.target) else {
            return Opinion::default();
        };
        match (operation.kind().effect(), operation, target) {
            (_, _, Target::Vfs(_) | Target::VfsPair(..)) => {
                self.ask_vfs_guards(hooks, applicant, call, operation).await
            }
            (Effect::Read, _, Target::Path(path)) => {
                self.ask_reading_guards(hooks, applicant, path, call.inside).await
            }
            (Effect::Write, operation, Target::Path(path)) => {
                let writing = self.ask_writing_guards(hooks, applicant, path, operation).await;
                // An edit shows what stands around it, so it reads as well.
                match operation {
                    Operation::Edit(_) => {
                        writing.and(self.ask_reading_guards(hooks, applicant, path, call.inside).await)
                    }
                    _ => writing,
                }
            }
            (_, Operation::Shell(shell), Target::Path(directory)) => {
                let payload = || PreShellPayload {
                    tool_call_id: tool_call_id(),
                    tool_name: tool_name(),
                    called_as: called_as(),
                    command: shell.command.clone(),
                    directory: directory.display().to_string(),
                };
                let (reply, handlers) = hooks.ask_whom::<PreShell>(payload).await;
                Opinion::new(reply.verdict, handlers)
            }
            _ => Opinion::default(),
        }
    }

    /// Whether nobody needs to be asked: the person has said yes before, or the tool only reads where that is free.
    fn granted(&self, tool: &dyn Tool, call: &FinalCall) -> Option<ApprovalSource> {
        let spec = tool.spec();
        let web = call.web();
        let is_allowed = web.is_some_and(|web| web.ruling().verdict == UrlVerdict::Allow);
        match self.granted_by_person(spec, call) {
            Some(source) => return Some(source),
            None if is_allowed => return Some(ApprovalSource::UrlPolicy),
            None if call.is_sensitive() => return None,
            None => {}
        }
        let is_known = self.settings.installed.contains(&spec.source) || tool.is_installed();
        let is_installed = !spec.is_of_a_server() && is_known;
        if spec.operation.is_none() && is_installed {
            return Some(ApprovalSource::Installed);
        }
        if let Target::Vfs(_) | Target::VfsPair(..) = call.target {
            let instructs = call
                .changes
                .iter()
                .any(|change| change.address.instructs_others());
            return (!instructs).then_some(ApprovalSource::Zone);
        }
        let free = call.inside || call.target == Target::None;
        (spec.read_only && free).then_some(ApprovalSource::ReadOnly)
    }

    /// What the person has said yes to before.
    fn granted_by_person(&self, spec: &ToolSpec, call: &FinalCall) -> Option<ApprovalSource> {
        let granted = self.grants().contains(&Grant::of(spec, call));
        granted.then_some(ApprovalSource::PersonForSession)
    }

    fn grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants
            .lock()
            .expect("no panic happens while grants are held")
    }

    /// What a yes to a call may cover besides it.
    fn offer(&self, spec: &ToolSpec, call: &FinalCall) -> Offer {
        let keeper = self.settings.keeper.as_ref().filter(|_| spec.source == BUILTIN);
        let rule = keeper.and_then(|keeper| {
            Some(OfferedRule {
                text: stored_rule::offered(self.ruled(spec, call))?,
                place: keeper.place(),
                trouble: None,
            })
        });
        Offer {
            again: call.again(),
            rule,
        }
    }

    /// Stores a rule that the user has seen or written. The error says why it is not stored.
    fn store_rule(&self, text: &str, spec: &ToolSpec, call: &FinalCall) -> Result<(), String> {
        let keeper = self.settings.keeper.as_ref();
        let keeper = keeper.ok_or("rules cannot be stored here")?;
        let rule = stored_rule::read(text, self.ruled(spec, call))?;
        keeper.keep(&rule)?;
        self.settings.rules.store(&rule)
    }

    /// Nobody and nothing has decided yet: hooks may answer for the person, then `--yes`, then the person.
    /// One who insists cannot be answered by anybody but the person.
    async fn question(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        call: &FinalCall,
        wanted: Wanted,
    ) -> Decision {
        self.tell(|| Step::Question {
            reason: wanted.reason.clone(),
            handlers: wanted.handlers.clone(),
            insists: wanted.insists,
        });
        let payload = || request_payload(applicant, call, wanted.reason.clone());
        let (reply, handlers) = hooks.ask_whom::<PermissionRequest>(payload).await;
        if hooks.cancel().is_cancelled() {
            return Decision::cancelled();
        }
        let wanted = match reply.verdict.0 {
            Some(Verdict::Deny(reason)) => {
                return Decision::deny(ApprovalSource::RequestHook, reason).by(handlers);
            }
            Some(Verdict::Allow) if !wanted.insists => {
                return Decision::allow(ApprovalSource::RequestHook).by(handlers);
            }
            Some(Verdict::Insist(reason)) => Wanted {
                reason: Some(reason),
                insists: true,
                handlers,
                spared: false,
            },
            _ => wanted,
        };
        if self.settings.yes && !wanted.insists {
            return Decision::allow(ApprovalSource::Yes).by(wanted.handlers);
        }
        let spec = applicant.spec();
        let question = Question {
            agent: asking_agent(hooks),
            tool_name: spec.own_name.clone(),
            operation: spec.operation,
            source: Some(spec.source.clone()).filter(|source| source != BUILTIN),
            arguments: call.arguments.clone(),
            reason: wanted.reason,
            handlers: wanted.handlers,
            metadata: self.with_place(call, reply.metadata.0),
            offer: wanted.spared.then(|| self.offer(spec, call)),
        };
        let repeatable = wanted.spared.then_some((spec, call));
        self.ask_person(hooks, question, wanted.insists, repeatable).await
    }

    /// The person must see where a path really leads, not only how it was written.
    fn with_place(&self, call: &FinalCall, mut metadata: Map<String, Value>) -> Map<String, Value> {
        if let Some(path) = call.path().filter(|path| !path.starts_with(&self.directory)) {
            metadata.insert(
                "outside of the working directory".into(),
                path.display().to_string().into(),
            );
        }
        metadata
    }

    async fn ask_person(
        &self,
        hooks: &Hooks,
        mut question: Question,
        insists: bool,
        repeatable: Repeatable<'_>,
    ) -> Decision {
        let _alone = tokio::select! {
            biased;
            () = hooks.cancel().cancelled() => return Decision::cancelled(),
            alone = self.asking.lock() => alone,
        };
        // While others were asked, the person may have said yes to this as well.
        if let Some((spec, call)) = repeatable {
            if let Some(source) = self.granted_by_person(spec, call) {
                return Decision::allow(source);
            }
            if self.settings.rules.allowing(self.ruled(spec, call)).is_some() {
                return Decision::allow(ApprovalSource::AllowRule);
            }
        }
        let message = format!("{} needs a yes", question.tool_name);
        hooks
            .ask::<Attention>(|| AttentionPayload {
                reason: AttentionReason::Approval,
                message,
            })
            .await;
        for _ in 0..MOST_RULES {
            let answer = tokio::select! {
                biased;
                () = hooks.cancel().cancelled() => return Decision::cancelled(),
                answer = self.front.ask(&question) => answer,
            };
            let offered = repeatable.filter(|_| question.offers_rule());
            let (PersonsAnswer::YesWithRule(text), Some((spec, call))) = (&answer, offered) else {
                return self.take_answer(answer, question, insists, repeatable);
            };
            match self.store_rule(text, spec, call) {
                Ok(()) => return Decision::allow(ApprovalSource::Person),
                Err(trouble) => question.note_trouble(trouble),
            }
        }
        Decision::deny(ApprovalSource::Person, "no rule that can be stored was written")
    }

    fn take_answer(
        &self,
        answer: PersonsAnswer,
        question: Question,
        insists: bool,
        repeatable: Repeatable<'_>,
    ) -> Decision {
        match (answer, repeatable) {
            (PersonsAnswer::YesAgain, Some((spec, call))) => {
                self.grants().push(Grant::of(spec, call));
                Decision::allow(ApprovalSource::PersonForSession)
            }
            (PersonsAnswer::Yes | PersonsAnswer::YesAgain | PersonsAnswer::YesWithRule(_), _) => {
                Decision::allow(ApprovalSource::Person)
            }
            (PersonsAnswer::No(words), _) => {
                let words = words.map_or("the person said no".into(), |words| {
                    format!("the person said no: {words}")
                });
                Decision::deny(ApprovalSource::Person, words)
            }
            (PersonsAnswer::Cancel, _) => Decision::cancelled(),
            (PersonsAnswer::Nobody, _) => {
                let why = question
                    .reason
                    .map(|reason| format!("{reason}; "))
                    .unwrap_or_default();
                let hint = match insists {
                    true => "nobody is there to say yes, and nothing else can say it here",
                    false => "nobody is there to say yes (`--yes` or an allow rule would)",
                };
                Decision::deny(ApprovalSource::Headless, format!("{why}{hint}")).by(question.handlers)
            }
        }
    }
}

/// What the person says at a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoingOn {
    /// The run goes on.
    Agreed,
    /// It ends.
    Ends,
    /// The person wants everything to stop.
    Cancelled,
}

/// The sub-agent in whose name something is asked.
fn asking_agent(hooks: &Hooks) -> Option<String> {
    let scope = hooks.scope();
    scope
        .parent_session_id
        .is_some()
        .then(|| scope.agent_name.clone())
}

/// How the path of an output began that older versions put aside; old conversations may name one.
const BLOB: &str = "blob:";

impl FinalCall {
    fn unresolved(arguments: Map<String, Value>) -> Self {
        Self {
            arguments,
            operation: None,
            target: Target::None,
            changes: Vec::new(),
            inside: false,
            linked: None,
        }
    }

    /// What the call touches, for whoever wants to know.
    fn resolved(&self) -> Step {
        Step::Resolved {
            target: self.touched(),
            arguments: self.arguments.clone(),
        }
    }

    fn touched(&self) -> Option<String> {
        match &self.target {
            Target::None => None,
            Target::Path(path) => Some(path.display().to_string()),
            Target::Vfs(place) => Some(place.address().to_string()),
            Target::VfsPair(from, to) => Some(format!("{} to {}", from.address(), to.address())),
            Target::Web(judged) => Some(judged.url().to_string()),
            Target::UnnamedWeb => Some("the network".into()),
        }
    }

    fn path(&self) -> Option<&Path> {
        match &self.target {
            Target::Path(path) => Some(path),
            _ => None,
        }
    }

    fn web(&self) -> Option<&JudgedUrl> {
        match &self.target {
            Target::Web(judged) => Some(judged),
            _ => None,
        }
    }

    /// What counts as the same call again. Whoever reads or writes a file seldom does it twice in the same way; what
    /// matters to the user is the file.
    fn again(&self) -> Again {
        let effect = self.operation.as_ref().map(|operation| operation.kind().effect());
        match (effect, &self.target) {
            (Some(Effect::Read | Effect::Write), Target::Path(_) | Target::Vfs(_)) => Again::Path,
            _ => Again::Call,
        }
    }

    /// Why the person must be asked about the address, if it is not one of the open internet.
    fn sensitivity(&self) -> Option<String> {
        self.web().and_then(JudgedUrl::sensitivity)
    }

    /// Whether it would go where only the person may send it: the open internet is elsewhere, and no policy allows it.
    fn is_sensitive(&self) -> bool {
        let web = self.web();
        web.is_some_and(|web| web.class().is_some() && web.ruling().verdict != UrlVerdict::Allow)
    }

    /// Every address of the virtual file system that it reads or changes.
    fn vfs_addresses(&self) -> Vec<&VfsPath> {
        let named = match &self.target {
            Target::Vfs(place) => vec![place],
            Target::VfsPair(place, destination) => vec![place, destination],
            _ => Vec::new(),
        };
        let named = named.into_iter().map(VfsPlace::address);
        named.chain(self.changed_addresses()).collect()
    }

    /// Every one at which it changes something.
    fn changed_addresses(&self) -> Vec<&VfsPath> {
        self.changes.iter().map(|change| &change.address).collect()
    }
}

/// What a call is besides: rules about these operations count for it, too. An edit writes. What it shows and what a
/// copy puts elsewhere is read, and what changes the virtual file system writes there. A search by somebody else's
/// program shows what is in the file that it was told; becket's own leaves out what may not be read.
fn implied(spec: &ToolSpec, call: &FinalCall) -> &'static [OperationKind] {
    let is_foreign = spec.source != BUILTIN;
    let is_file = || call.target.file().is_some_and(|file| !file.is_dir());
    match call.operation {
        Some(Operation::Edit(_)) => &[OperationKind::Read, OperationKind::Write],
        Some(Operation::Grep(_)) if is_foreign && is_file() => &[OperationKind::Read],
        Some(Operation::VfsCopy(_) | Operation::VfsMove(_)) => &[OperationKind::Read, OperationKind::Write],
        Some(
            Operation::VfsDelete(_) | Operation::VfsMkdir(_) | Operation::Mkdir(_) | Operation::Rmdir(_),
        ) => &[OperationKind::Write],
        _ => &[],
    }
}

/// An address as rules see paths.
fn as_path(address: &VfsPath) -> PathBuf {
    PathBuf::from(address.to_string())
}

/// The addresses at which an operation changes something. A folder goes with everything in it, and each file of it is
/// judged like one that goes alone.
fn changes_of(
    operation: &Operation,
    place: &VfsPlace,
    destination: Option<&VfsPlace>,
) -> Result<Vec<VfsChange>, String> {
    let there = |address: &VfsPath| VfsChange {
        address: address.clone(),
        removed: false,
    };
    let gone = |address: &VfsPath| VfsChange {
        address: address.clone(),
        removed: true,
    };
    let below = || {
        place
            .all_below()
            .map_err(|error| format!("{}: {error}", place.address()))
    };
    let is_folder = || place.info().is_ok_and(|info| info.kind == Kind::Folder);
    Ok(match (operation, destination) {
        (Operation::Write(_) | Operation::Edit(_), _) => vec![there(place.address())],
        (Operation::VfsMkdir(_) | Operation::Mkdir(_), _) if is_folder() => Vec::new(),
        (Operation::VfsMkdir(_) | Operation::Mkdir(_), _) => vec![there(place.address())],
        // Only an empty one goes, so nothing goes with it.
        (Operation::Rmdir(_), _) => vec![gone(place.address())],
        (Operation::VfsDelete(_), _) => {
            let below = below()?;
            std::iter::once(place.address()).chain(&below).map(gone).collect()
        }
        (Operation::VfsCopy(_), Some(destination)) => vec![there(destination.address())],
        (Operation::VfsMove(_), Some(destination)) => {
            let mut changes = vec![gone(place.address()), there(destination.address())];
            for address in below()? {
                let new = address
                    .as_str()
                    .strip_prefix(place.address().as_str())
                    .unwrap_or_default();
                changes.push(there(&destination.address().join(new.trim_start_matches('/'))?));
                changes.push(gone(&address));
            }
            changes
        }
        _ => Vec::new(),
    })
}

/// Arguments under their normalised names, as far as they can be read.
fn normalised(spec: &ToolSpec, arguments: Map<String, Value>) -> Map<String, Value> {
    let (known, extra) = spec.apart(arguments.clone());
    let operation = spec.operation.and_then(|kind| kind.read(known).ok());
    operation.map_or(arguments, |operation| {
        operation.arguments().into_iter().chain(extra).collect()
    })
}

fn pre_tool_payload(applicant: Applicant<'_>) -> PreToolPayload {
    PreToolPayload {
        tool_call_id: applicant.tool_call_id.into(),
        tool_name: applicant.spec().own_name.clone(),
        called_as: applicant.spec().face.name.clone(),
        operation: applicant.spec().operation,
        arguments: applicant.arguments.clone(),
        parent_tool_call_id: applicant.parent_tool_call_id.map(Into::into),
    }
}

fn request_payload(
    applicant: Applicant<'_>,
    call: &FinalCall,
    reason: Option<String>,
) -> PermissionRequestPayload {
    PermissionRequestPayload {
        tool_call_id: applicant.tool_call_id.into(),
        tool_name: applicant.spec().own_name.clone(),
        called_as: applicant.spec().face.name.clone(),
        operation: applicant.spec().operation,
        arguments: call.arguments.clone(),
        reason,
    }
}

/// A call that was judged, for the record.
fn audited(applicant: Applicant<'_>, call: &FinalCall, ruling: Ruling) -> Audited {
    Audited::Call(Box::new(AuditedCall {
        tool_call_id: applicant.tool_call_id.into(),
        parent_tool_call_id: applicant.parent_tool_call_id.map(Into::into),
        tool_name: applicant.spec().own_name.clone(),
        called_as: applicant.spec().face.name.clone(),
        operation: applicant.spec().operation,
        original: applicant.arguments.clone(),
        effective: call.arguments.clone(),
        target: call.touched(),
        ruling,
    }))
}

fn decided_payload(
    applicant: Applicant<'_>,
    call: &FinalCall,
    decision: &Decision,
) -> ApprovalDecidedPayload {
    ApprovalDecidedPayload {
        tool_call_id: applicant.tool_call_id.into(),
        tool_name: applicant.spec().own_name.clone(),
        called_as: applicant.spec().face.name.clone(),
        operation: applicant.spec().operation,
        arguments: call.arguments.clone(),
        decision: decision.verdict,
        source: decision.source,
        handlers: decision.handlers.clone(),
        reason: decision.reason.clone(),
    }
}
