//! The runtime of a command, how a signal ends it, and the line that shows how far it is.

use becket_front::Progress;
use becket_system::{CliError, Exit, Signals, Surroundings};
use tokio_util::sync::CancellationToken;

use crate::options::Options;

/// Does what a command is for. The first signal cancels its token; a second one drops the work in the middle.
pub fn cancellable(
    options: &Options,
    surroundings: &Surroundings,
    work: impl AsyncFnOnce(CancellationToken) -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    listening(options, surroundings, async |signals| {
        // From now on: a signal during the start must not be forgotten.
        let cancel = signals.next();
        signals.unless_forced(work(cancel)).await
    })
}

/// Does what a command is for, which decides itself what signals mean.
pub fn listening<T>(
    options: &Options,
    surroundings: &Surroundings,
    work: impl AsyncFnOnce(Signals) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let runtime = runtime(options)?;
    let result = runtime.block_on(async { work(surroundings.signals.listen()?).await });
    // A thread may still wait for a user at the terminal, for the address of a server, or for something of an
    // extension's.
    runtime.shutdown_background();
    result
}

/// A line that shows how far something is, unless standard output is for a program.
pub fn progress(what: &'static str, options: &Options, surroundings: &Surroundings) -> Progress {
    match options.run.json {
        true => Progress::hidden(what),
        false => Progress::of(what, surroundings),
    }
}

/// A single-threaded runtime: nothing here needs more, and it starts at once.
/// If extensions were loaded to read the command line, it is the one in which they live.
pub fn runtime(options: &Options) -> Result<tokio::runtime::Runtime, CliError> {
    if let Some(runtime) = options.runtime.take() {
        return Ok(runtime);
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start: {error}")))
}
