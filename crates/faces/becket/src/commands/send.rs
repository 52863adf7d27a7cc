//! `becket send`: a message to a context, from the shell.

use std::sync::Arc;

use becket_agent::mail::Sending;
use becket_face_kit::{cancellable, on_ready, person};
use becket_front::Output;
use becket_host::Asking;
use becket_run::Purpose;
use becket_run::assemble::assemble;
use becket_run::conversation::with_some_model;
use becket_run::options::Caller;
use becket_run::setup::Setup;
use becket_run::target::ContextChoice;
use becket_system::{CliError, Exit, Surroundings, harmless};

use crate::options::Options;
use crate::printing::print;

/// Sends a message in the name of the current context. There is no session: the context may be in use.
pub fn run(options: &Options, sending: Sending<'_>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    sending.check().map_err(CliError::usage)?;
    cancellable(options, surroundings, async |cancel| {
        let setup = Setup::read(&options.run, surroundings)?;
        if let Some(refusal) = &setup.project.refusal {
            return Err(refusal.clone());
        }
        let store = Arc::new(setup.open_store()?);
        let context = ContextChoice::of(&options.run)?.find(&store)?;
        let output = Arc::new(Output::default());
        let person = person(options, surroundings, &output, Purpose::Call);
        let asked = with_some_model(&setup, Purpose::Call, &options.run, surroundings);
        let caller = Caller {
            options: &asked,
            surroundings,
            cancel: &cancel,
        };
        let assembled = assemble(&setup, caller, person, store, Asking::Never).await?;
        on_ready(options, &output)(&assembled);
        let sent = assembled
            .agent
            .send_letter(sending, context.as_str(), cancel.clone())
            .await;
        assembled.close().await?;
        match sent {
            Ok(words) if options.run.json => output.whole().map(|()| drop(words)),
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
