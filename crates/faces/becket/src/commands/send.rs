//! `becket send`: a message to a context, from the shell.

use std::sync::Arc;

use becket_agent::mail::Sending;
use becket_host::Asking;
use becket_system::{CliError, Exit, Surroundings, harmless};

use super::ask::{Purpose, person, with_some_model};
use super::{cancellable, print};
use crate::args::Options;
use crate::assemble::{Caller, Setup};
use crate::front::Output;
use crate::target::Wish;

/// Sends a message in the name of the current context, without a session: its context may be at work just now.
pub fn run(options: &Options, sending: Sending<'_>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    sending.check().map_err(CliError::usage)?;
    cancellable(options, surroundings, async |cancel| {
        let setup = Setup::read(options, surroundings)?;
        if let Some(refusal) = &setup.project.refusal {
            return Err(refusal.clone());
        }
        let store = Arc::new(setup.folders.open_store()?);
        let context = Wish::of(options)?.find(&store)?;
        let output = Arc::new(Output::default());
        let person = person(options, surroundings, &output, Purpose::Call);
        let options = &with_some_model(&setup, Purpose::Call, options, surroundings);
        let caller = Caller {
            options,
            surroundings,
            cancel: &cancel,
        };
        let assembled = setup.assemble(caller, person, store, Asking::Never).await?;
        assembled.report_events(options, &output);
        let sent = assembled
            .agent
            .send_letter(sending, context.as_str(), cancel.clone())
            .await;
        assembled.close().await?;
        match sent {
            Ok(words) if options.json => output.whole().map(|()| drop(words)),
            Ok(words) => print(&format!("{}\n", harmless(&words))),
            Err(_) if cancel.is_cancelled() => {
                surroundings.remark("cancelled");
                return Ok(Exit::Cancelled);
            }
            Err(words) => Err(CliError::failed(words)),
        }?;
        Ok(Exit::Answered)
    })
}
