//! `becket -c NAME` without a prompt, and `-c` before a command about one context: a switch and nothing else.

use becket_events::EndReason;
use becket_system::{CliError, Exit, Folders, Surroundings};

use super::ask::{Conversation, Purpose, unless_lost};
use super::runtime;
use crate::args::Options;
use crate::target::{Wish, known};

/// Makes the context that `-c` names the current one, if no hook minds.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let runtime = runtime(options)?;
    let result = runtime.block_on(async {
        let signals = surroundings.signals.listen()?;
        let cancel = signals.next();
        let work = async {
            let wish = Wish::of(options)?;
            let conversation =
                Conversation::open_in(wish, Purpose::Care, options, surroundings, &cancel).await?;
            let output = conversation.output();
            conversation.close(EndReason::Done).await?;
            Ok(unless_lost(Exit::Answered, &output, surroundings))
        };
        signals.unless_forced(work).await
    });
    // A thread may still wait for a person at the terminal.
    runtime.shutdown_background();
    result
}

/// What `-c` means before a command about one context: the switch comes first, and then the command is about what is
/// current. The context must be there: a slip of the pen must not make one.
pub fn before(
    options: &Options,
    named: Option<&str>,
    surroundings: &Surroundings,
) -> Result<Options, CliError> {
    // Where the command names a context too, it says itself that these are two.
    if options.context.is_none() || named.is_some() {
        return Ok(options.clone());
    }
    let store = Folders::find(options.home.as_deref(), surroundings)?.open_store()?;
    known(Wish::of(options)?.find(&store)?, &store)?;
    drop(store);
    // Standard output belongs to the command.
    let quiet = Options {
        json: false,
        ..options.clone()
    };
    match run(&quiet, surroundings)? {
        Exit::Answered => Ok(Options {
            context: None,
            ..options.clone()
        }),
        exit => Err(CliError {
            exit,
            message: "the context was not switched".into(),
            hint: None,
        }),
    }
}
