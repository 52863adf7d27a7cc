//! The permit: the proof that a call passed the gate, and what the tool that holds it may still find out and touch.
//!
//! A redirect that the user would have to be asked about is told to the model and not followed: a question in the
//! middle of a call could not be answered like one about a call. The same goes for one whose address a hook changes:
//! the new address would have to be judged from the beginning.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_events::{
    ApprovalSource, Operation, OperationKind, PermissionMode, PreFetch, PreFetchPayload, PreFileRead,
    PreFileReadPayload, PreTool, PreToolPayload, PreVfsWrite, PreVfsWritePayload, Rule, Scope, Strictest,
    Verdict,
};
use serde_json::{Map, Value, json};

use super::approval::ApprovalSettings;
use super::call::{Applicant, FinalCall, Target, VfsChange, addresses, as_path, sensitive};
use super::web_access::{CommandCall, WebAccess};
use crate::audit::Ledger;
use crate::hooks::Hooks;
use crate::judged_path::LinkedFile;
use crate::rules::{RuleVerdict, RuledCall};
use crate::url_policy::{JudgedUrl, UrlVerdict};
use crate::vfs::{Vfs, VfsPath};

/// Proof that a call passed the gate. It cannot be copied, and a tool that runs uses it up.
#[derive(Debug)]
pub struct Permit {
    tool_call_id: String,
    call: Box<FinalCall>,
    /// Who or what approved the call.
    source: ApprovalSource,
    directory: PathBuf,
    reading: Box<ReadingGuard>,
    in_use: PermitUse,
}

/// Why an address that a tool was redirected to is not fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFetched {
    /// The address is denied or not valid.
    Denied(String),
    /// The address needs the user's yes first, in a call of its own.
    NeedsYes(String),
}

/// Whether a permit was used; it counts itself in the ledger of its session when it is dropped.
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

impl Permit {
    /// A permit for a call that was judged: the gate alone makes one.
    pub(super) fn of(
        applicant: Applicant<'_>,
        call: FinalCall,
        source: ApprovalSource,
        directory: &Path,
        reading: ReadingGuard,
    ) -> Self {
        let in_use = PermitUse::new(Arc::clone(reading.hooks.ledger()));
        Self {
            tool_call_id: applicant.tool_call_id.into(),
            call: Box::new(call),
            source,
            directory: directory.to_path_buf(),
            reading: Box::new(reading),
            in_use,
        }
    }

    /// Marks the permit as used, for the tool that is about to run: it counts whatever becomes of the tool.
    pub fn taken(mut self) -> Self {
        self.in_use.is_used = true;
        self.in_use.ledger.used.add();
        self
    }

    /// The id of the approved call.
    pub fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    /// Who or what approved the call.
    pub fn source(&self) -> ApprovalSource {
        self.source
    }

    /// The arguments that were judged.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.call.arguments
    }

    /// The operation that was judged, if the tool is one of becket's own.
    pub fn operation(&self) -> Option<&Operation> {
        self.call.operation.as_ref()
    }

    /// What the call touches, as it was judged.
    pub fn target(&self) -> &Target {
        &self.call.target
    }

    /// The file that was judged, if it had further hard links then.
    pub fn linked_file(&self) -> Option<LinkedFile> {
        self.call.linked
    }

    /// What the call changes in the virtual file system if it succeeds.
    pub fn vfs_changes(&self) -> &[VfsChange] {
        &self.call.changes
    }

    /// The directory in which the agent works.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The session, context and agent in whose name the call is made.
    pub fn scope(&self) -> &Scope {
        self.reading.hooks.scope()
    }

    /// The hooks of the session, for a tool whose work has events of its own.
    pub fn hooks(&self) -> &Hooks {
        &self.reading.hooks
    }

    /// What the command of this call may reach while it runs, also after the call in the background.
    pub fn web_access(&self) -> WebAccess {
        let guard = &*self.reading;
        WebAccess {
            settings: Arc::clone(&guard.settings),
            directory: self.directory.clone(),
            call: Some(CommandCall {
                hooks: guard.hooks.clone(),
                tool_call_id: self.tool_call_id.clone(),
                tool_name: guard.tool_name.clone(),
                called_as: guard.called_as.clone(),
            }),
        }
    }

    /// Whether the contents of a file that a search found may be shown. A search is judged by the folder it looks into,
    /// so deny rules and the guards of reading are asked about each file that it would show.
    pub async fn may_read(&self, file: &Path) -> bool {
        let ReadingGuard {
            hooks,
            settings,
            vfs,
            tool_name,
            called_as,
            ..
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
                RuleVerdict::Ask(_) | RuleVerdict::AskFirst(_) if !settings.mode.answers_yes() => {
                    return false;
                }
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
            Some(Verdict::Ask(_)) => settings.mode.answers_yes(),
            Some(Verdict::Insist(_) | Verdict::Deny(_)) => false,
        }
    }

    /// Whether a tool without an operation may write a file of the virtual file system: rules and guards judge it like
    /// a write by the model. If the user would have to be asked, it may not.
    pub async fn may_write(&self, address: &VfsPath, content: &str) -> Result<(), String> {
        let ReadingGuard {
            hooks,
            settings,
            tool_name,
            called_as,
            ..
        } = &*self.reading;
        if settings.mode.get() == PermissionMode::Plan {
            return Err(format!("in plan mode nothing is written, not even to {address}"));
        }
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
                RuleVerdict::Ask(rule) | RuleVerdict::AskFirst(rule) if !settings.mode.answers_yes() => {
                    return Err(format!(
                        "the rule `{rule}` requires asking the user about {address}"
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
            Some(Verdict::Ask(_)) if settings.mode.answers_yes() => Ok(()),
            Some(Verdict::Deny(reason) | Verdict::Ask(reason) | Verdict::Insist(reason)) => Err(reason),
        }
    }

    /// Whether the tool may follow the judged address to another one, such as a redirect. Rules, the policy and all
    /// guards of the call judge it like the first one. If the user would have to be asked, it is not fetched now and
    /// needs a call of its own, unless the user has said yes to the same server.
    pub async fn may_fetch(&self, from: &JudgedUrl, url: &str) -> Result<JudgedUrl, NotFetched> {
        let guard = &*self.reading;
        let judged = guard.settings.urls.judge(url).await.map_err(NotFetched::Denied)?;
        let arguments = Map::from_iter([("url".to_owned(), json!(judged.url().as_str()))]);
        let rule = guard.settings.rules.judge(RuledCall {
            tool_name: &guard.tool_name,
            called_as: &guard.called_as,
            arguments: &arguments,
            path: None,
            pair: None,
            directory: &self.directory,
            web: Some(&judged),
        });
        if let RuleVerdict::Deny(rule) = rule {
            return Err(NotFetched::Denied(format!(
                "the rule `{rule}` denies {}",
                judged.url()
            )));
        }
        if let Some(reason) = judged.denied() {
            return Err(NotFetched::Denied(reason));
        }
        let verdict = self.ask_about_redirect(from, &judged).await?;
        let yes = guard.settings.mode.answers_yes();
        let wanted = match (verdict, rule) {
            (Some(Verdict::Deny(reason)), _) => return Err(NotFetched::Denied(reason)),
            (Some(Verdict::Insist(reason)), _) => return Err(NotFetched::NeedsYes(reason)),
            (Some(Verdict::Ask(reason)), _) => Some(reason),
            (_, RuleVerdict::AskFirst(rule)) | (None, RuleVerdict::Ask(rule)) => {
                Some(format!("the rule `{rule}` requires asking the user"))
            }
            (Some(Verdict::Allow), _) | (None, RuleVerdict::Allow) => None,
            (None, _) if judged.ruling().verdict == UrlVerdict::Allow || self.covers(&judged) => None,
            (None, _) => {
                let reason = judged.sensitivity();
                Some(reason.unwrap_or_else(|| format!("{} was not approved", judged.url())))
            }
        };
        match wanted {
            Some(reason) if !yes => Err(NotFetched::NeedsYes(reason)),
            _ => Ok(judged),
        }
    }

    /// What the guards of the call and those of the network say about a redirect. Many know an address only as an
    /// argument of the call, so they are shown the call as if the model had named the new one.
    async fn ask_about_redirect(
        &self,
        from: &JudgedUrl,
        judged: &JudgedUrl,
    ) -> Result<Option<Verdict>, NotFetched> {
        let guard = &*self.reading;
        let url = judged.url().to_string();
        let mut arguments = self.call.arguments.clone();
        arguments.insert("url".to_owned(), json!(url));
        let call = || PreToolPayload {
            tool_source: guard.tool_source.clone(),
            tool_call_id: self.tool_call_id.clone(),
            tool_name: guard.tool_name.clone(),
            called_as: guard.called_as.clone(),
            operation: self.operation().map(Operation::kind),
            arguments,
            parent_tool_call_id: guard.parent_tool_call_id.clone(),
        };
        let of_call = guard.hooks.ask::<PreTool>(call).await;
        guard.hooks.add_context(of_call.context.0);
        let mut verdict = of_call.verdict;
        // Whoever allows a call has seldom thought of a server that sends it on to this machine or its network.
        if verdict.0 == Some(Verdict::Allow) && judged.sensitivity().is_some() {
            verdict = Strictest(None);
        }
        if !matches!(verdict.0, Some(Verdict::Deny(_))) {
            let changed = of_call.arguments.get();
            if changed.is_some_and(|new| new.get("url").and_then(Value::as_str) != Some(&url)) {
                return Err(NotFetched::NeedsYes(
                    "a hook changes the address in a call".to_owned(),
                ));
            }
            let fetch = || PreFetchPayload {
                tool_call_id: self.tool_call_id.clone(),
                tool_name: guard.tool_name.clone(),
                called_as: guard.called_as.clone(),
                url: Some(url),
                sensitive: sensitive(Some(judged)),
                addresses: addresses(Some(judged)),
                redirected_from: Some(from.url().to_string()),
                call_summary: None,
            };
            verdict = verdict.then(guard.hooks.ask::<PreFetch>(fetch).await.verdict);
        }
        match guard.hooks.halt() {
            _ if guard.hooks.cancel().is_cancelled() => {
                Err(NotFetched::Denied("the call was cancelled".into()))
            }
            Some(reason) => Err(NotFetched::Denied(reason)),
            None => Ok(verdict.0),
        }
    }

    /// Whether the user's yes to the call covers the other address as well. What a rule, the policy or a hook has
    /// allowed is one address only.
    fn covers(&self, other: &JudgedUrl) -> bool {
        let is_same_server = || self.call.web().is_some_and(|first| other.is_same_server(first));
        match self.source {
            ApprovalSource::Person | ApprovalSource::PersonForSession | ApprovalSource::Yes => {
                is_same_server()
            }
            _ => false,
        }
    }
}

/// What is needed to judge the files that a search finds, and the addresses that a fetch is sent on to.
pub(super) struct ReadingGuard {
    pub(super) hooks: Hooks,
    pub(super) settings: Arc<ApprovalSettings>,
    pub(super) vfs: Vfs,
    pub(super) tool_source: String,
    pub(super) tool_name: String,
    pub(super) called_as: String,
    pub(super) parent_tool_call_id: Option<String>,
}

impl std::fmt::Debug for ReadingGuard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ReadingGuard")
            .field("tool_name", &self.tool_name)
            .finish_non_exhaustive()
    }
}
