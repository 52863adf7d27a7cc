//! `becket -c NAME` without a prompt, and `-c` before a command about one context: a switch and nothing else.

use becket_events::EndReason;
use becket_face_kit::{Conversation, cancellable, unless_lost};
use becket_run::Purpose;
use becket_run::adopt::chosen_context;
use becket_run::target::{ContextChoice, known};
use becket_system::{CliError, Exit, Surroundings};

use crate::options::Options;

/// Makes the context that `-c` names the current one, if hooks agree.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    cancellable(options, surroundings, async |cancel| {
        let choice = ContextChoice::of(&options.run)?;
        let conversation =
            Conversation::open_in(choice, Purpose::Care, options, surroundings, &cancel).await?;
        let output = conversation.output();
        conversation.close(EndReason::Done).await?;
        Ok(unless_lost(Exit::Answered, &output, surroundings))
    })
}

/// Switches before a command about one context, which is then about the current one. The context must exist, so that a
/// misspelled name does not make one.
pub fn before(
    options: &Options,
    named: Option<&str>,
    surroundings: &Surroundings,
) -> Result<Options, CliError> {
    // Where the command names a context too, it says itself that these are two.
    if options.run.context.is_none() || named.is_some() {
        return Ok(options.clone());
    }
    let (store, name) = chosen_context(&ContextChoice::of(&options.run)?, &options.run, surroundings)?;
    known(name, &store)?;
    drop(store);
    // Standard output belongs to the command.
    let mut quiet = options.clone();
    quiet.run.json = false;
    match run(&quiet, surroundings)? {
        Exit::Answered => {
            let mut switched = options.clone();
            switched.run.context = None;
            Ok(switched)
        }
        exit => Err(CliError {
            exit,
            message: "the context was not switched".into(),
            hint: None,
        }),
    }
}
