//! The gate: the only place where a tool call is approved, and the only maker of permits.
//!
//! The way of a call:
//!
//! 1. `pre_tool`: guards refuse, or rewrite the arguments. Guards that judged an earlier version are asked again.
//! 2. The final arguments are read as an operation, and what they touch is resolved: links and `..` are followed, host
//!    names are looked up. What cannot be resolved is refused.
//! 3. Deny rules, by becket's name of the tool and by the name that the model used; then what the URL policy denies.
//!    Then the permission mode `plan` refuses what does not only read. All this comes after `pre_tool`, because rules
//!    judge what will really run: a rewrite can neither slip past a rule nor be stopped by a rule about arguments that
//!    nobody uses any more. It comes before the guards of step 4, so that these are not asked about what cannot happen.
//! 4. `pre_file_read`, `pre_file_write`, `pre_shell`, `pre_fetch` and `pre_vfs_write`: guards of what the call touches,
//!    with resolved paths and addresses. They cannot rewrite, so nothing changes from here on.
//! 5. The strictest verdict of all guards: a deny ends it, an insist or an ask leads to the question, an allow stands
//!    in for the user's yes.
//! 6. If no guard spoke: allow rules, then ask rules, then what the user has granted for this session, then what the
//!    URL policy allows, then edits in the permission mode `accept-edits`, then tools that the user has installed, then
//!    the read-only hint, which counts only inside of the working directory and of folders that are free to read.
//! 7. `permission_request`: hooks may answer in the user's place, but not a question that somebody insists on. They may
//!    give rules for the rest of the session; those that deny count at once, also for this call.
//! 8. The permission mode `yes`, which answers for the user and for nobody else; then the user. A user who is not there
//!    has said no.
//! 9. A cancel that came while somebody judged refuses.
//! 10. `approval_decided` tells how it ended. The permit holds the judged operation with its resolved path or
//!     addresses, and the tool works on what the permit holds.
//!
//! In the virtual file system, zones stand in the user's place: a write outside of the caller's zones is refused in
//! step 3, `pre_vfs_write` is asked about each address that changes, and in step 6 nobody needs to be asked. A path
//! that leads into the folder behind the virtual file system becomes an address in step 2, so that there is one way to
//! judge what is in it. A deny or an ask about `write` counts for every address that changes.
//!
//! A search is judged by the folder that it looks into. Deny rules and `pre_file_read` then judge each file of which it
//! would show something; a file that is refused is left out without a word, because that it matches would already tell
//! something about its contents. An edit shows the lines around it, so it is judged as reading too. A deny or an ask
//! about `read` counts for all of these. `find` and `list` show names only.
//!
//! A yes for the session is a yes to the same call or to the same file, because what a tool does is in its arguments.
//! It is offered, like a rule to store, only where it would spare the next question.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use becket_events::{
    ApprovalDecided, ApprovalDecidedPayload, ApprovalDecision, ApprovalSource, Attention, AttentionPayload,
    AttentionReason, Effect, Operation, OperationKind, PermissionRequest, PermissionRequestPayload,
    PreFileRead, PreFileReadPayload, PreFileWrite, PreFileWritePayload, PreShell, PreShellPayload, PreTool,
    PreToolPayload, PreVfsWrite, PreVfsWritePayload, SessionRule, Strictest, Verdict,
};
use serde_json::{Map, Value};

use crate::audit::{AuditLog, AuditRecord, Audited, AuditedCall, Ruling};
use crate::cache::OutputCache;
use crate::called_tool::{BUILTIN, CalledTool, ToolSpec};
use crate::flocks::Flocks;
use crate::hooks::Hooks;
use crate::judged_path::LinkedFile;
use crate::question::{Offer, OfferedRule, Preview, Question, User, UserAnswer};
use crate::resolve::resolve_path;
use crate::rules::{RuleVerdict, RuledCall};
use crate::stored_rule;
use crate::url_policy::{JudgedUrl, UrlVerdict};
use crate::vfs::{Caller, Vfs, VfsPath};

mod advice;
mod approval;
mod call;
mod decision;
mod grant;
mod listing;
mod modes;
mod permit;
mod step;
mod web;
mod web_access;

pub use advice::Advice;
pub use approval::ApprovalSettings;
pub use call::{Applicant, Target, VfsChange};
pub use listing::rules_in_force;
pub use modes::ProtectedPlaces;
pub use permit::{NotFetched, Permit};
pub use step::{Step, StepListener};
pub use web_access::WebAccess;

use call::{FinalCall, ReadArguments, as_path, changes_of, implied};
use decision::{Decision, Opinion, Wanted};
use grant::Grant;
use modes::InMode;
use permit::ReadingGuard;
use step::url_step;

/// Judges calls for one session.
pub struct Gate {
    settings: Arc<ApprovalSettings>,
    /// The working directory, resolved.
    directory: PathBuf,
    vfs: Vfs,
    /// Folders that became readable without asking during the session.
    opened: Mutex<Vec<PathBuf>>,
    /// What the user has said yes to until the session ends.
    grants: Mutex<Vec<Grant>>,
    user: Arc<dyn User>,
    /// Held while the user is asked: sub-agents may have questions at the same time, and there is only one user.
    asking: tokio::sync::Mutex<()>,
    /// Is told every step on the way to a decision.
    listener: Option<StepListener>,
    /// Records what was decided.
    log: Option<Arc<dyn AuditLog>>,
    /// Whether another agent makes the calls, and asks its user itself.
    advises: bool,
    /// Whether rules are recorded instead of enforced.
    in_shadow: bool,
}

/// The gate's decision about a call.
#[derive(Debug)]
pub enum Judgement {
    /// The call may run.
    Permitted(Permit),
    /// The call does not run.
    Refused {
        /// The reason, for the model and the user.
        reason: String,
        /// The arguments at the time of the refusal.
        arguments: Map<String, Value>,
        /// The hooks that refused, if hooks did.
        handlers: Vec<String>,
        /// Whether the user wants everything to stop.
        cancelled: bool,
    },
}

/// The call that is asked about, if an earlier yes could have made the question unnecessary. Only then does a yes to it
/// count for later calls.
type Repeatable<'a> = Option<(&'a ToolSpec, &'a FinalCall)>;

/// A call that the user is asked about.
#[derive(Clone, Copy)]
struct AskedCall<'a> {
    applicant: Applicant<'a>,
    call: &'a FinalCall,
    /// Whether an earlier yes could have made the question unnecessary.
    is_repeatable: bool,
}

impl<'a> AskedCall<'a> {
    fn repeatable(self) -> Repeatable<'a> {
        self.is_repeatable.then(|| (self.applicant.spec(), self.call))
    }
}

/// How often the user is asked about one call: until the rule that was written can be stored, and until the file has
/// not changed between question and answer.
const MOST_QUESTIONS: u32 = 10;

impl Gate {
    /// A gate for a session that works in `directory` and in the virtual file system.
    pub fn new(mut settings: ApprovalSettings, directory: &Path, vfs: Vfs, user: Arc<dyn User>) -> Self {
        settings.rules = settings.rules.for_session();
        let directory = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_path_buf());
        Self {
            settings: Arc::new(settings),
            directory,
            vfs,
            opened: Mutex::default(),
            grants: Mutex::default(),
            user,
            asking: tokio::sync::Mutex::default(),
            listener: None,
            log: None,
            advises: false,
            in_shadow: false,
        }
    }

    /// The same gate for the calls of another agent, which asks its user itself: nobody is asked here. In shadow
    /// nothing is decided either, and what rules would have done is recorded; hooks are put in shadow in the engine.
    pub fn advising(mut self, in_shadow: bool) -> Self {
        self.advises = true;
        self.in_shadow = in_shadow;
        self
    }

    /// The same gate with a log that records what is decided.
    pub fn recording(mut self, log: Arc<dyn AuditLog>) -> Self {
        self.log = Some(log);
        self
    }

    fn record(&self, hooks: &Hooks, what: impl FnOnce() -> Audited) {
        if let Some(log) = &self.log {
            log.audit(AuditRecord::now(hooks.scope(), what()));
        }
    }

    /// The same gate with a listener that is told every step.
    pub fn telling(mut self, listener: StepListener) -> Self {
        self.listener = Some(listener);
        self
    }

    fn tell(&self, step: impl FnOnce() -> Step) {
        if let Some(listener) = &self.listener {
            listener(step());
        }
    }

    /// Lets these folders be read without asking from now on, instead of those given before.
    pub fn let_read(&self, folders: Vec<PathBuf>) {
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
        let (mut decision, mut call) = self.consider(hooks, applicant).await;
        if let Some(arguments) = decision.rewritten.take() {
            (decision, call) = self.consider_rewritten(hooks, applicant, &arguments).await;
        }
        let decision = decision.unless_ended(hooks);
        self.tell(|| decision.step());
        hooks
            .tell::<ApprovalDecided>(|| decided_payload(applicant, &call, &decision))
            .await;
        let decision = decision.unless_ended(hooks);
        self.record(hooks, || audited(applicant, &call, decision.ruling(began)));
        match decision.verdict {
            ApprovalDecision::Allow => {
                let reading = ReadingGuard {
                    hooks: hooks.clone(),
                    settings: Arc::clone(&self.settings),
                    vfs: self.vfs.clone(),
                    tool_source: applicant.spec().source.clone(),
                    tool_name: applicant.spec().own_name.clone(),
                    called_as: applicant.spec().face.name.clone(),
                    parent_tool_call_id: applicant.parent_tool_call_id.map(Into::into),
                };
                let (source, directory) = (decision.source, &self.directory);
                Judgement::Permitted(Permit::of(applicant, call, source, directory, reading))
            }
            verdict => {
                hooks.ledger().refused.add();
                if verdict == ApprovalDecision::Deny {
                    self.settings.refused.add();
                }
                Judgement::Refused {
                    reason: decision.reason.unwrap_or_default(),
                    arguments: call.arguments,
                    handlers: decision.handlers,
                    cancelled: verdict == ApprovalDecision::Cancelled,
                }
            }
        }
    }

    /// Judges a call of another agent. The call gets no permit, because nothing here runs it.
    pub async fn advise(&self, hooks: &Hooks, applicant: Applicant<'_>) -> Advice {
        let began = Instant::now();
        let (decision, call) = self.consider(hooks, applicant).await;
        let decision = decision.unless_ended(hooks);
        self.tell(|| decision.step());
        if self.in_shadow {
            if let Some(ruling) = decision.shadow_ruling(began) {
                self.record(hooks, || audited(applicant, &call, ruling));
            }
            return Advice::default();
        }
        if decision.left.is_none() {
            hooks
                .tell::<ApprovalDecided>(|| decided_payload(applicant, &call, &decision))
                .await;
            self.record(hooks, || audited(applicant, &call, decision.ruling(began)));
        }
        Advice::of(decision, call)
    }

    /// Asks hooks, rules and the user about a call.
    async fn consider(&self, hooks: &Hooks, applicant: Applicant<'_>) -> (Decision, FinalCall) {
        let (reply, handlers) = hooks.ask_whom::<PreTool>(|| pre_tool_payload(applicant)).await;
        hooks.add_context(reply.context.0);
        let rewritten = reply.arguments.get();
        let is_rewritten = rewritten.is_some();
        let arguments = rewritten.unwrap_or_else(|| applicant.arguments.clone());
        let read = ReadArguments::of(applicant.spec(), arguments);
        let opinion = Opinion::new(reply.verdict, handlers);
        let (decision, mut call) = match opinion.verdict {
            _ if hooks.cancel().is_cancelled() => {
                (Decision::cancelled(), FinalCall::unresolved(read.normalised()))
            }
            Some(Verdict::Deny(reason)) => {
                let decision = Decision::deny(ApprovalSource::Hook, reason).by(opinion.handlers);
                (decision, FinalCall::unresolved(read.normalised()))
            }
            _ => match self.finalise(hooks, applicant.tool, &read).await {
                Ok(call) => {
                    self.tell(|| call.resolved());
                    (self.decide(hooks, applicant, &call, opinion).await, call)
                }
                Err(reason) => {
                    let decision = Decision::deny(ApprovalSource::Unresolved, reason);
                    (decision, FinalCall::unresolved(read.normalised()))
                }
            },
        };
        call.is_rewritten = is_rewritten;
        (decision, call)
    }

    /// Judges a call anew with the arguments that a hook of `permission_request` has allowed. A hook that then wants
    /// others again will never be content.
    async fn consider_rewritten(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        arguments: &Map<String, Value>,
    ) -> (Decision, FinalCall) {
        let applicant = Applicant {
            arguments,
            ..applicant
        };
        let (decision, call) = self.consider(hooks, applicant).await;
        if decision.rewritten.is_none() {
            return (decision, call);
        }
        let reason = "a hook wanted to change the call after others had judged it";
        let decision = Decision::deny(ApprovalSource::RequestHook, reason).by(decision.handlers);
        (decision, call)
    }

    /// Whether something other than a tool call may happen, after hooks have spoken about it. An ask is answered by the
    /// user or by `--yes`, an insist only by the user; the error says why it may not happen.
    pub async fn consent(
        &self,
        hooks: &Hooks,
        subject: &str,
        verdict: Strictest,
        handlers: Vec<String>,
    ) -> Result<(), String> {
        // Without a verdict of any hook, nothing was decided.
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
            Verdict::Ask(_) if self.settings.mode.answers_yes() => {
                return Decision::allow(ApprovalSource::Yes).by(handlers);
            }
            Verdict::Ask(reason) => (reason, false),
            Verdict::Insist(reason) => (reason, true),
        };
        let question = Question {
            agent: asking_agent(hooks),
            tool_call_id: None,
            tool_name: subject.into(),
            operation: None,
            source: None,
            arguments: Map::new(),
            reason: Some(reason),
            handlers,
            metadata: Map::new(),
            offer: None,
            target: None,
            preview: None,
            has_changed: false,
        };
        self.ask_person(hooks, question, insists, None).await
    }

    /// Whether a run may go on past its limit: only the user can allow that, and `--yes` cannot.
    pub async fn going_on(&self, hooks: &Hooks, why: &str) -> GoingOn {
        if self.settings.mode.answers_yes() {
            return GoingOn::Ends;
        }
        let began = Instant::now();
        let question = Question {
            agent: None,
            tool_call_id: None,
            tool_name: "continuing past the limit".into(),
            operation: None,
            source: None,
            arguments: Map::new(),
            reason: Some(why.into()),
            handlers: Vec::new(),
            metadata: Map::new(),
            offer: None,
            target: None,
            preview: None,
            has_changed: false,
        };
        let answer = async {
            let _alone = self.asking.lock().await;
            self.user.ask(&question).await
        };
        let answer = tokio::select! {
            // Biased: an answer that arrives together with a cancel must not count.
            biased;
            () = hooks.cancel().cancelled() => UserAnswer::Cancel,
            answer = answer => answer,
        };
        let (going_on, decision) = match answer {
            UserAnswer::Yes | UserAnswer::YesAgain | UserAnswer::YesWithRule(_) => {
                (GoingOn::Agreed, Decision::allow(ApprovalSource::Person))
            }
            UserAnswer::No(_) => (GoingOn::Ends, Decision::deny(ApprovalSource::Person, why)),
            UserAnswer::Nobody => (GoingOn::Ends, Decision::deny(ApprovalSource::Headless, why)),
            UserAnswer::Cancel => (GoingOn::Cancelled, Decision::cancelled()),
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
        tool: &dyn CalledTool,
        read: &ReadArguments,
    ) -> Result<FinalCall, String> {
        let Some(operation) = read.operation() else {
            let target = self.resolve_web(tool.network(read.given())).await?;
            return Ok(FinalCall {
                target,
                ..FinalCall::unresolved(read.given().clone())
            });
        };
        let (operation, extra) = operation?;
        let mut operation = self.by_address(operation)?;
        let mut web = Target::None;
        if let Operation::Fetch(fetch) = &mut operation {
            let judged = self.settings.urls.judge(&fetch.url).await?;
            // From here on everything sees the address in the one form in which it will be used.
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
                return Err(format!("the output {path} has been removed; repeat the call"));
            }
            let resolved = self.file_at(path)?;
            let free = std::iter::once(&self.directory).chain(&self.settings.readable);
            call.inside =
                free.into_iter().any(|folder| resolved.starts_with(folder)) || self.is_opened(&resolved);
            call.linked = LinkedFile::at(&resolved);
            call.target = Target::Path(resolved);
        }
        call.operation = Some(operation);
        Ok(call)
    }

    /// The file that a path means: behind links and `..`, and below the user's home if it begins with `~/`.
    fn file_at(&self, path: &str) -> Result<PathBuf, String> {
        let below = match path {
            "~" => Some("."),
            _ => path.strip_prefix("~/").map(|below| below.trim_start_matches('/')),
        };
        match (&self.settings.home, below) {
            (Some(home), Some("")) => resolve_path(home, "."),
            (Some(home), Some(below)) => resolve_path(home, below),
            _ => resolve_path(&self.directory, path),
        }
    }

    /// The operation rewritten to the address of its file, if the path leads into the folder behind the virtual file
    /// system: there is one way to judge what is in it. A command is not judged by where it runs.
    fn by_address(&self, operation: Operation) -> Result<Operation, String> {
        let kind = operation.kind();
        let Some(path) = operation.path().filter(|path| {
            let elsewhere = kind == OperationKind::Shell || OperationKind::VFS.contains(&kind);
            !elsewhere && !VfsPath::is_meant_by(path) && !path.starts_with(BLOB)
        }) else {
            return Ok(operation);
        };
        let Some(address) = self.vfs.address_of(&self.file_at(path)?)? else {
            return Ok(operation);
        };
        let mut arguments = operation.arguments();
        arguments.insert("path".into(), address.to_string().into());
        kind.read(arguments).map_err(|error| error.to_string())
    }

    /// The places of an operation on the virtual file system, and what it changes there; `None` for an operation on
    /// anything else.
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

    async fn decide(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        call: &FinalCall,
        opinion: Opinion,
    ) -> Decision {
        if let Err(reason) = check_zones(&self.vfs, &hooks.scope().context_name, &call.changes) {
            return Decision::deny(ApprovalSource::Zone, reason);
        }
        let rule = self.rule_of(applicant.tool, call);
        let allowing = || self.settings.rules.allowing(self.ruled(applicant.spec(), call));
        self.tell(|| rule_step(&rule, allowing));
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
        if let Some(reason) = self.in_mode().refuses(applicant, call) {
            return Decision::deny(ApprovalSource::Plan, reason);
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
            (Some(Verdict::Allow), rule) if !matches!(rule, RuleVerdict::AskFirst(_)) => {
                Decision::allow(ApprovalSource::Hook).by(handlers)
            }
            (None, RuleVerdict::Allow) => Decision::allow(ApprovalSource::AllowRule),
            (_, RuleVerdict::Ask(_) | RuleVerdict::AskFirst(_)) => {
                self.question(hooks, applicant, call, ask(call.sensitivity(), false))
                    .await
            }
            _ => match self.granted(applicant, call) {
                Some(source) => Decision::allow(source),
                None => self.question(hooks, applicant, call, nobody_has_spoken()).await,
            },
        }
    }

    /// The rules' verdict about a call and about the operations that it implies; the error names a rule that denies it.
    fn rule_of(&self, tool: &dyn CalledTool, call: &FinalCall) -> Result<RuleVerdict<'_>, String> {
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
                asks @ (RuleVerdict::Ask(_) | RuleVerdict::AskFirst(_))
                    if asks.strictness() > rule.strictness() =>
                {
                    rule = asks;
                }
                _ => {}
            }
        }
        match rule {
            RuleVerdict::Deny(rule) => Err(format!("the rule `{rule}` denies it")),
            rule => Ok(rule),
        }
    }

    /// The permission mode as it is now.
    fn in_mode(&self) -> InMode<'_> {
        InMode {
            mode: self.settings.mode.get(),
            protected: &self.settings.protected,
            directory: &self.directory,
        }
    }

    /// A call as rules see it, if it touches no more than one thing.
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

    /// The rules' verdict about a call of a tool, by becket's own name for it and by the model's. Of several addresses
    /// the one with the strictest verdict counts.
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

    /// Who or what allows the call without a question: an earlier yes of the user, the URL policy, or that it only
    /// reads what may be read.
    fn granted(&self, applicant: Applicant<'_>, call: &FinalCall) -> Option<ApprovalSource> {
        let (tool, spec) = (applicant.tool, applicant.spec());
        let web = call.web();
        let is_allowed = web.is_some_and(|web| web.ruling().verdict == UrlVerdict::Allow);
        match self.granted_by_person(spec, call) {
            Some(source) => return Some(source),
            None if is_allowed => return Some(ApprovalSource::UrlPolicy),
            None if call.is_sensitive() => return None,
            None => {}
        }
        if let Some(source) = self.in_mode().allows(applicant, call) {
            return Some(source);
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

    /// Whether an earlier yes of the user covers the call.
    fn granted_by_person(&self, spec: &ToolSpec, call: &FinalCall) -> Option<ApprovalSource> {
        let granted = self.grants().contains(&Grant::of(spec, call));
        granted.then_some(ApprovalSource::PersonForSession)
    }

    fn grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants
            .lock()
            .expect("no panic happens while grants are held")
    }

    /// What a yes to a call may cover besides the call itself.
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

    /// Asks about a call that nothing has decided yet: hooks may answer for the user, then `--yes`, then the user. If
    /// the question insists, only the user can answer it.
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
        if self.advises {
            return Decision::left(wanted);
        }
        let payload = || request_payload(applicant, call, wanted.reason.clone());
        let (reply, handlers) = hooks.ask_whom::<PermissionRequest>(payload).await;
        let allows = reply.verdict.0 == Some(Verdict::Allow) && !wanted.insists;
        let refused = take_rules(self, &reply.rules.0, allows, (applicant, call));
        if hooks.cancel().is_cancelled() {
            return Decision::cancelled();
        }
        if let Err((source, reason)) = refused {
            return Decision::deny(source, reason).by(handlers);
        }
        let wanted = match reply.verdict.0 {
            Some(Verdict::Deny(reason)) => {
                return Decision::deny(ApprovalSource::RequestHook, reason).by(handlers);
            }
            Some(Verdict::Allow) if allows => {
                self.settings.mode.take_from_hook(reply.mode.get());
                let rewritten = reply.arguments.get().filter(|new| *new != call.arguments);
                return Decision {
                    rewritten,
                    ..Decision::allow(ApprovalSource::RequestHook).by(handlers)
                };
            }
            Some(Verdict::Insist(reason)) => Wanted {
                reason: Some(reason),
                insists: true,
                handlers,
                spared: false,
            },
            _ => wanted,
        };
        if self.settings.mode.answers_yes() && !wanted.insists {
            return Decision::allow(ApprovalSource::Yes).by(wanted.handlers);
        }
        let question = Question {
            agent: asking_agent(hooks),
            tool_call_id: Some(applicant.tool_call_id.to_owned()),
            tool_name: applicant.spec().own_name.clone(),
            operation: applicant.spec().operation,
            source: Some(applicant.spec().source.clone()).filter(|source| source != BUILTIN),
            arguments: call.arguments.clone(),
            reason: wanted.reason,
            handlers: wanted.handlers,
            metadata: with_place(&self.in_mode(), call, reply.metadata.0),
            offer: wanted.spared.then(|| self.offer(applicant.spec(), call)),
            target: shown_target(&self.directory, call),
            preview: preview(applicant, call).await,
            has_changed: false,
        };
        let asked = Some(AskedCall {
            applicant,
            call,
            is_repeatable: wanted.spared,
        });
        self.ask_person(hooks, question, wanted.insists, asked).await
    }

    async fn ask_person(
        &self,
        hooks: &Hooks,
        mut question: Question,
        insists: bool,
        asked: Option<AskedCall<'_>>,
    ) -> Decision {
        let _alone = tokio::select! {
            // Biased here and below: an answer that arrives together with a cancel must not count.
            biased;
            () = hooks.cancel().cancelled() => return Decision::cancelled(),
            alone = self.asking.lock() => alone,
        };
        if let Some(decision) = asked.and_then(|asked| self.decided_meanwhile(asked, insists)) {
            return decision;
        }
        let repeatable = asked.and_then(AskedCall::repeatable);
        let message = format!("{} needs your approval", question.tool_name);
        hooks
            .ask::<Attention>(|| AttentionPayload {
                reason: AttentionReason::Approval,
                message,
            })
            .await;
        for _ in 0..MOST_QUESTIONS {
            let answer = tokio::select! {
                biased;
                () = hooks.cancel().cancelled() => return Decision::cancelled(),
                answer = self.user.ask(&question) => answer,
            };
            if let Some(asked) = asked.filter(|_| answer.is_yes()) {
                // What the user has agreed to is what was shown.
                let now = preview(asked.applicant, asked.call).await;
                let before = |preview: &Option<Preview>| preview.as_ref().and_then(|preview| preview.before);
                if before(&now) != before(&question.preview) {
                    (question.preview, question.has_changed) = (now, true);
                    continue;
                }
            }
            let offered = repeatable.filter(|_| question.offers_rule());
            let (UserAnswer::YesWithRule(text), Some((spec, call))) = (&answer, offered) else {
                return self.take_answer(answer, question, insists, repeatable);
            };
            match self.store_rule(text, spec, call) {
                Ok(()) => return Decision::allow(ApprovalSource::Person),
                Err(trouble) => question.note_trouble(trouble),
            }
        }
        Decision::deny(
            ApprovalSource::Person,
            "the user was asked too often: the file kept changing, or no rule that could be stored was entered",
        )
    }

    /// The decision about a call if one has become possible while its question waited: the user may have said
    /// yes to it as well, or changed the permission mode.
    fn decided_meanwhile(&self, asked: AskedCall<'_>, insists: bool) -> Option<Decision> {
        let AskedCall { applicant, call, .. } = asked;
        if let Some(reason) = self.in_mode().refuses(applicant, call) {
            return Some(Decision::deny(ApprovalSource::Plan, reason));
        }
        if self.settings.mode.answers_yes() && !insists {
            return Some(Decision::allow(ApprovalSource::Yes));
        }
        let (spec, _) = asked.repeatable()?;
        let source = self.granted_by_person(spec, call);
        if let Some(source) = source.or_else(|| self.in_mode().allows(applicant, call)) {
            return Some(Decision::allow(source));
        }
        let allowing = self.settings.rules.allowing(self.ruled(spec, call));
        allowing.map(|_| Decision::allow(ApprovalSource::AllowRule))
    }

    fn take_answer(
        &self,
        answer: UserAnswer,
        question: Question,
        insists: bool,
        repeatable: Repeatable<'_>,
    ) -> Decision {
        match (answer, repeatable) {
            (UserAnswer::YesAgain, Some((spec, call))) => {
                self.grants().push(Grant::of(spec, call));
                Decision::allow(ApprovalSource::PersonForSession)
            }
            (UserAnswer::Yes | UserAnswer::YesAgain | UserAnswer::YesWithRule(_), _) => {
                Decision::allow(ApprovalSource::Person)
            }
            (UserAnswer::No(words), _) => {
                let words = words.map_or("the user said no".into(), |words| {
                    format!("the user said no: {words}")
                });
                Decision::deny(ApprovalSource::Person, words)
            }
            (UserAnswer::Cancel, _) => Decision::cancelled(),
            (UserAnswer::Nobody, _) => {
                let why = question
                    .reason
                    .map(|reason| format!("{reason}; "))
                    .unwrap_or_default();
                let hint = match insists {
                    true => "it needs your approval, and there is no terminal to ask at",
                    false => {
                        "it needs approval, and there is no terminal to ask at (pass `--yes` or add an allow rule)"
                    }
                };
                Decision::deny(ApprovalSource::Headless, format!("{why}{hint}")).by(question.handlers)
            }
        }
    }
}

/// The user's answer at a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoingOn {
    /// The run goes on.
    Agreed,
    /// The run ends.
    Ends,
    /// The user wants everything to stop.
    Cancelled,
}

/// The sub-agent in whose name a question is asked.
fn asking_agent(hooks: &Hooks) -> Option<String> {
    let scope = hooks.scope();
    scope
        .parent_session_id
        .is_some()
        .then(|| scope.agent_name.clone())
}

/// Checks that a context may change something at all these addresses.
fn check_zones(vfs: &Vfs, name: &str, changes: &[VfsChange]) -> Result<(), String> {
    let flocks = match changes.iter().any(|change| change.address.is_of_a_flock()) {
        true => Flocks::new(vfs.clone()).of(name)?,
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

/// The rules' verdict, for the step listener.
fn rule_step(rule: &Result<RuleVerdict<'_>, String>, allowing: impl FnOnce() -> Option<String>) -> Step {
    let (verdict, rule) = match rule {
        Err(reason) => ("deny", Some(reason.clone())),
        Ok(RuleVerdict::Deny(rule)) => ("deny", Some(rule.to_string())),
        Ok(RuleVerdict::Ask(rule) | RuleVerdict::AskFirst(rule)) => ("ask", Some(rule.to_string())),
        Ok(RuleVerdict::Allow) => ("allow", allowing()),
        Ok(RuleVerdict::Silent) => ("silent", None),
    };
    Step::Rules { verdict, rule }
}

/// What the call touches, for the user.
fn shown_target(directory: &Path, call: &FinalCall) -> Option<String> {
    let inside = call.path().and_then(|path| path.strip_prefix(directory).ok());
    let inside = inside.filter(|path| !path.as_os_str().is_empty());
    inside
        .map(|path| path.display().to_string())
        .or_else(|| call.touched())
}

/// Shows the user where a path really leads, not only how it was written, and why an edit is asked about.
fn with_place(mode: &InMode<'_>, call: &FinalCall, mut metadata: Map<String, Value>) -> Map<String, Value> {
    if let Some(path) = call.path().filter(|path| !path.starts_with(mode.directory)) {
        metadata.insert(
            "outside the working directory".into(),
            path.display().to_string().into(),
        );
    }
    if let Some(why) = mode.why_asked(call) {
        metadata.insert("asked in accept-edits mode".into(), why.into());
    }
    metadata
}

/// What a call would change in the file that it was judged for.
async fn preview(applicant: Applicant<'_>, call: &FinalCall) -> Option<Preview> {
    let (operation, file) = (call.operation.as_ref()?, call.target.file()?);
    applicant.tool.preview(operation, file).await
}

/// Takes rules that hooks have given for the rest of the session. The error says why the call that they were asked
/// about cannot run: a rule cannot be read, or denies this very call.
fn take_rules(
    gate: &Gate,
    given: &[SessionRule],
    with_allow: bool,
    (applicant, call): (Applicant<'_>, &FinalCall),
) -> Result<(), (ApprovalSource, String)> {
    if given.is_empty() {
        return Ok(());
    }
    let unreadable = |why| {
        let reason = format!("a hook returned a session rule that cannot be parsed: {why}");
        (ApprovalSource::RequestHook, reason)
    };
    gate.settings
        .rules
        .add_for_session(given, with_allow)
        .map_err(unreadable)?;
    match gate.rule_of(applicant.tool, call) {
        Ok(_) => Ok(()),
        Err(reason) => Err((ApprovalSource::DenyRule, reason)),
    }
}

/// The prefix of cached outputs' paths in older versions; old conversations may name one.
const BLOB: &str = "blob:";

fn pre_tool_payload(applicant: Applicant<'_>) -> PreToolPayload {
    PreToolPayload {
        tool_source: applicant.spec().source.clone(),
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
        tool_source: applicant.spec().source.clone(),
        tool_call_id: applicant.tool_call_id.into(),
        tool_name: applicant.spec().own_name.clone(),
        called_as: applicant.spec().face.name.clone(),
        operation: applicant.spec().operation,
        arguments: call.arguments.clone(),
        reason,
    }
}

/// A judged call for the audit log.
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
