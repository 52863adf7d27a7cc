//! Commands of the command line that were called in a chat.

use becket_chat::{Called, Prints};
use becket_system::{CliError, Exit};

use super::{config, redo, snapshots, undo};

/// Runs a command that was called in a chat.
pub fn run(called: &Called<'_>) -> Result<Exit, CliError> {
    let Called {
        options,
        surroundings,
        ..
    } = *called;
    let has = |flag: &str| called.flags.contains(&flag);
    match called.command {
        Prints::Undo => undo::run(options, has("--call"), has("--force"), surroundings),
        Prints::Redo => redo::run(options, has("--force"), surroundings),
        Prints::Snapshots => snapshots::run(options, None, surroundings),
        Prints::Config => {
            let models = called.conversation.models();
            let chosen = (models.current(), models.window());
            config::show_with(Some(chosen), options, surroundings)
        }
    }
}
