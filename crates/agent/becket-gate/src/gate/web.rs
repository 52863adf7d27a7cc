//! The network at the gate: what a call would connect to, and what the guards of the network say about it.

use becket_events::{PreFetch, PreFetchPayload};
use serde_json::{Map, Value};

use super::Gate;
use super::call::{Applicant, FinalCall, Target, addresses, sensitive};
use super::decision::Opinion;
use crate::called_tool::NetworkUse;
use crate::hooks::Hooks;

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

/// Arguments in one line of limited length.
fn in_few_words(arguments: &Map<String, Value>) -> String {
    const MOST: usize = 500;
    let mut text = Value::Object(arguments.clone()).to_string();
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push('…');
    }
    text
}
