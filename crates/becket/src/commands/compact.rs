//! `becket compact`: a summary takes the place of a context's conversation.

use becket_agent::CompactEnd;
use becket_events::EndReason;
use becket_hooks::nearest;

use super::ask::{Conversation, unless_lost};
use super::runtime;
use crate::args::Options;
use crate::failure::{CliError, Exit};
use crate::folders::Folders;
use crate::signals::Signals;
use crate::surroundings::Surroundings;

/// Summarises a context.
pub fn run(
    options: &Options,
    name: Option<String>,
    instructions: Option<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let options = Options {
        context: name.unwrap_or_else(|| options.context.clone()),
        ..options.clone()
    };
    must_exist(&options, surroundings)?;
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        let signals = Signals::listen()?;
        let cancel = signals.next();
        let work = async {
            let mut conversation = Conversation::open(&options, surroundings).await?;
            let output = conversation.output();
            let end = conversation.compact(instructions, cancel).await;
            let exit = end
                .as_ref()
                .map_or(Exit::Failed, |end| conclude(end, surroundings));
            conversation.close(reason(exit)).await?;
            end?;
            Ok(unless_lost(exit, &output, surroundings))
        };
        signals.unless_forced(work, Exit::Cancelled).await
    });
    // A thread may still wait for a person at the terminal.
    runtime.shutdown_background();
    result
}

/// A session makes its context if it is new; a slip of the pen must not.
fn must_exist(options: &Options, surroundings: &Surroundings) -> Result<(), CliError> {
    let name = &options.context;
    let contexts = Folders::find(options.home.as_deref(), surroundings)?
        .open_store()?
        .contexts()?;
    if contexts.iter().any(|context| context.name == *name) {
        return Ok(());
    }
    let error = CliError::usage(format!("there is no context `{name}`"));
    Err(
        match nearest(name, contexts.iter().map(|context| context.name.as_str())) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`becket contexts` lists them"),
        },
    )
}

fn reason(exit: Exit) -> EndReason {
    match exit {
        Exit::Answered => EndReason::Done,
        Exit::Cancelled => EndReason::Cancelled,
        _ => EndReason::Failed,
    }
}

/// Says how it ended.
pub fn conclude(end: &CompactEnd, surroundings: &Surroundings) -> Exit {
    match end {
        CompactEnd::Compacted { summarised, .. } => {
            surroundings.remark(&format!("a summary stands for {summarised} messages now"));
            Exit::Answered
        }
        CompactEnd::Nothing => {
            surroundings.remark("there is nothing to summarise");
            Exit::Answered
        }
        CompactEnd::Refused(reason) => {
            surroundings.complain(&format!("the conversation stays as it is: {reason}"));
            Exit::Failed
        }
        CompactEnd::NoSummary(words) => {
            surroundings.complain(&format!("the conversation stays as it is: {words}"));
            Exit::Failed
        }
        CompactEnd::Provider(error) => {
            surroundings.complain(&format!("the conversation stays as it is: {}", error.message));
            Exit::Provider
        }
        CompactEnd::Cancelled => {
            surroundings.remark("cancelled; the conversation stays as it is");
            Exit::Cancelled
        }
    }
}
