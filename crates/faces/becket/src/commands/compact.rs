//! `becket compact`: replaces a context's conversation by a summary.

use becket_events::EndReason;
use becket_face_kit::{Conversation, cancellable, conclude, conclude_summary, unless_lost};
use becket_run::Purpose;
use becket_run::adopt::chosen_context;
use becket_run::target::{ContextChoice, known};
use becket_store::ContextName;
use becket_system::{CliError, Exit, Surroundings};
use tokio_util::sync::CancellationToken;

use super::context::context_choice;
use super::switch;
use crate::options::Options;

/// Summarises a context.
pub fn run(
    options: &Options,
    name: Option<String>,
    instructions: Option<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let options = &switch::before(options, name.as_deref(), surroundings)?;
    let name = existing(options, name, surroundings)?;
    cancellable(options, surroundings, async |cancel| {
        let choice = ContextChoice::named(name);
        let mut conversation =
            Conversation::open_in(choice, Purpose::Prompts, options, surroundings, &cancel).await?;
        let output = conversation.output();
        let done = summarised(&mut conversation, instructions, cancel, surroundings).await;
        let exit = *done.as_ref().unwrap_or(&Exit::Failed);
        conversation.close(reason(exit)).await?;
        done?;
        Ok(unless_lost(exit, &output, surroundings))
    })
}

/// Summarises, and then does what extensions have asked for meanwhile, since nothing would do it later.
async fn summarised(
    conversation: &mut Conversation,
    instructions: Option<String>,
    cancel: CancellationToken,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let end = conversation.compact(instructions, cancel.clone()).await?;
    let exit = conclude_summary(&end, surroundings);
    if exit != Exit::Answered {
        return Ok(exit);
    }
    let last = conversation.attend_to_all(None, &cancel).await?;
    let output = conversation.output();
    Ok(last.map_or(exit, |end| conclude(&end, &output, surroundings)))
}

/// Checks that the context exists: a session would make it, and a misspelled name must not.
fn existing(
    options: &Options,
    name: Option<String>,
    surroundings: &Surroundings,
) -> Result<ContextName, CliError> {
    let (store, name) = chosen_context(&context_choice(options, name)?, &options.run, surroundings)?;
    known(name, &store)
}

fn reason(exit: Exit) -> EndReason {
    match exit {
        Exit::Answered => EndReason::Done,
        Exit::Cancelled => EndReason::Cancelled,
        _ => EndReason::Failed,
    }
}
