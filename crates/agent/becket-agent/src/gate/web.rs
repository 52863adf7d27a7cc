//! The network at the gate: what a call would connect to, and the addresses that a tool comes upon.

use becket_events::{ApprovalSource, PreFetch, PreFetchPayload, Verdict};
use serde_json::{Map, Value, json};

use super::{Applicant, FinalCall, Gate, Opinion, Permit, Target};
use crate::hooks::Hooks;
use crate::rules::{RuleVerdict, RuledCall};
use crate::tool::NetworkUse;
use crate::url_policy::{JudgedUrl, UrlVerdict};

/// Why an address that a tool came upon is not fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFetched {
    /// Somebody has denied it, or it is no address.
    Denied(String),
    /// Somebody must say yes to it first, in a call of its own.
    NeedsYes(String),
}

impl Gate {
    pub(super) async fn resolve_web(&self, network: NetworkUse) -> Result<Target, String> {
        Ok(match network {
            NetworkUse::None => Target::None,
            NetworkUse::Unnamed => Target::UnnamedWeb,
            NetworkUse::Unclear(reason) => return Err(reason),
            NetworkUse::Address(url) => Target::Web(self.settings.urls.judge(&url).await?),
        })
    }

    /// Asks the guards of the network about the address, or about a call that names none.
    pub(super) async fn ask_network_guards(
        &self,
        hooks: &Hooks,
        applicant: Applicant<'_>,
        call: &FinalCall,
    ) -> Opinion {
        let payload = || PreFetchPayload {
            tool_call_id: applicant.tool_call_id.into(),
            tool_name: applicant.spec().own_name.clone(),
            called_as: applicant.spec().face.name.clone(),
            url: call.web().map(|web| web.url().to_string()),
            sensitive: sensitive(call.web()),
            addresses: addresses(call.web()),
            redirected_from: None,
            call_summary: match call.web() {
                Some(_) => None,
                None => {
                    let summary = applicant.tool.summary(&call.arguments);
                    Some(summary.unwrap_or_else(|| in_few_words(&call.arguments)))
                }
            },
        };
        let (reply, handlers) = hooks.ask_whom::<PreFetch>(payload).await;
        Opinion::new(reply.verdict, handlers)
    }
}

impl Permit {
    /// Whether the tool may go on to an address to which the one that was judged leads: a redirect, say. Rules, the
    /// policy and the guards of the network judge it like the first one. What the person would have to be asked about
    /// is not fetched now: it is a call of its own, unless the user has said yes to the same server.
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
        let payload = || PreFetchPayload {
            tool_call_id: self.tool_call_id.clone(),
            tool_name: guard.tool_name.clone(),
            called_as: guard.called_as.clone(),
            url: Some(judged.url().to_string()),
            sensitive: sensitive(Some(&judged)),
            addresses: addresses(Some(&judged)),
            redirected_from: Some(from.url().to_string()),
            call_summary: None,
        };
        let verdict = guard.hooks.ask::<PreFetch>(payload).await.verdict.0;
        if guard.hooks.cancel().is_cancelled() {
            return Err(NotFetched::Denied("the call was cancelled".into()));
        }
        let yes = guard.settings.yes;
        let wanted = match (verdict, rule) {
            (Some(Verdict::Deny(reason)), _) => return Err(NotFetched::Denied(reason)),
            (Some(Verdict::Insist(reason)), _) => return Err(NotFetched::NeedsYes(reason)),
            (Some(Verdict::Ask(reason)), _) => Some(reason),
            (Some(Verdict::Allow), _) | (None, RuleVerdict::Allow) => None,
            (None, RuleVerdict::Ask(rule)) => Some(format!("the rule `{rule}` wants the person to be asked")),
            (None, _) if judged.ruling().verdict == UrlVerdict::Allow || self.covers(&judged) => None,
            (None, _) => {
                let reason = judged.sensitivity();
                Some(reason.unwrap_or_else(|| format!("nobody has said yes to {}", judged.url())))
            }
        };
        match wanted {
            Some(reason) if !yes => Err(NotFetched::NeedsYes(reason)),
            _ => Ok(judged),
        }
    }

    /// Whether the person's yes to the call is one to the other address as well. What a rule, the policy or a hook has
    /// allowed is that one address and no other.
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

fn sensitive(web: Option<&JudgedUrl>) -> Option<String> {
    let class = web?.class()?;
    Some(class.name().to_owned())
}

fn addresses(web: Option<&JudgedUrl>) -> Vec<String> {
    let addresses = web.map(JudgedUrl::addresses).unwrap_or_default();
    addresses.iter().map(|address| address.ip().to_string()).collect()
}

/// Arguments in a line of bearable length.
fn in_few_words(arguments: &Map<String, Value>) -> String {
    const MOST: usize = 500;
    let mut text = Value::Object(arguments.clone()).to_string();
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push('…');
    }
    text
}
