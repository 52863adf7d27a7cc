//! What the commands of a call may reach on the network, asked while they run.
//!
//! A command cannot wait until the user has answered, and what it wants was not part of the call that the user has
//! seen. So an address is reached only if a rule or the URL policy allows it, in every permission mode; what they or
//! the guards of the network deny, or want to be asked about, is not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_events::{OperationKind, PreFetch, PreFetchPayload, Verdict};
use serde_json::{Map, json};

use super::approval::ApprovalSettings;
use super::call::{addresses, sensitive};
use crate::hooks::Hooks;
use crate::rules::{RuleVerdict, RuledCall};
use crate::url_policy::{Extent, JudgedUrl, UrlVerdict};

/// Decides what a command may reach.
#[derive(Clone)]
pub struct WebAccess {
    pub(super) settings: Arc<ApprovalSettings>,
    pub(super) directory: PathBuf,
    /// The call that the command belongs to, with the hooks that guard it.
    pub(super) call: Option<CommandCall>,
}

/// The call of a command.
#[derive(Clone)]
pub(super) struct CommandCall {
    pub(super) hooks: Hooks,
    pub(super) tool_call_id: String,
    pub(super) tool_name: String,
    pub(super) called_as: String,
}

impl WebAccess {
    /// For a command that the user runs: there is no call that hooks could guard.
    pub fn of_user(settings: ApprovalSettings, directory: &Path) -> Self {
        Self {
            settings: Arc::new(settings),
            directory: directory.to_path_buf(),
            call: None,
        }
    }

    /// Whether an address, or the whole server behind it, may be reached. The error says why not.
    pub async fn may_reach(&self, url: &str, extent: Extent) -> Result<JudgedUrl, String> {
        let urls = &self.settings.urls;
        // A name that nothing allows is not even looked up: that would carry it out.
        self.allows(&urls.judge_name(url, extent)?)?;
        let judged = urls.judge_extent(url, extent).await?;
        self.allows(&judged)?;
        match self.ask_guards(&judged).await {
            Some(Verdict::Deny(reason) | Verdict::Insist(reason) | Verdict::Ask(reason)) => Err(reason),
            Some(Verdict::Allow) | None => Ok(judged),
        }
    }

    /// Whether rules or the policy allow an address, and neither forbids it.
    fn allows(&self, judged: &JudgedUrl) -> Result<(), String> {
        let what = format!("{}{}", judged.all_of(), judged.url());
        let arguments = Map::from_iter([("url".to_owned(), json!(judged.url().as_str()))]);
        let fetch = OperationKind::Fetch.name();
        let rule = self.settings.rules.judge(RuledCall {
            tool_name: fetch,
            called_as: fetch,
            arguments: &arguments,
            path: None,
            pair: None,
            directory: &self.directory,
            web: Some(judged),
        });
        match (rule, judged.denied()) {
            (RuleVerdict::Deny(rule), _) => Err(format!("the rule `{rule}` denies {what}")),
            (_, Some(reason)) => Err(reason),
            (RuleVerdict::Ask(rule) | RuleVerdict::AskFirst(rule), None) => Err(format!(
                "the rule `{rule}` requires asking the user about {what}, and a command cannot wait for an answer"
            )),
            (RuleVerdict::Allow, None) => Ok(()),
            (RuleVerdict::Silent, None) if judged.ruling().verdict == UrlVerdict::Allow => Ok(()),
            (RuleVerdict::Silent, None) => Err(format!(
                "nothing allows {what}: put `{}/*` into `allow` of `[url_policy]`",
                judged.url().origin().ascii_serialization()
            )),
        }
    }

    /// What the guards of the network say about an address.
    async fn ask_guards(&self, judged: &JudgedUrl) -> Option<Verdict> {
        let call = self.call.as_ref()?;
        let payload = || PreFetchPayload {
            tool_call_id: call.tool_call_id.clone(),
            tool_name: call.tool_name.clone(),
            called_as: call.called_as.clone(),
            url: Some(judged.url().to_string()),
            sensitive: sensitive(Some(judged)),
            addresses: addresses(Some(judged)),
            redirected_from: None,
            call_summary: None,
        };
        let verdict = call.hooks.ask::<PreFetch>(payload).await.verdict.0;
        match call.hooks.halt() {
            Some(reason) => Some(Verdict::Deny(reason)),
            None => verdict,
        }
    }
}

impl std::fmt::Debug for WebAccess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WebAccess").finish_non_exhaustive()
    }
}
