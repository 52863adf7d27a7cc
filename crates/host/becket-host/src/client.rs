//! Another program that has started becket: it reads what happens in a session, and may steer the session.

use std::time::Duration;

use becket_agent::Agent;
use becket_agent::session_handle::{HandleError, SessionHandle};
use becket_events::ShellResult;
use becket_hooks::Engine;
use becket_system::CliError;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::interactive::Interactive;
use crate::ui::Person;

/// A program that has started becket and talks to it in the protocol of one system.
pub trait Client: Send + Sync {
    /// The user's side of the session.
    fn person(&self) -> Person;

    /// Sends every event to the program from now on.
    fn listen(&self, engine: &Engine);

    /// Tells the program that a session has begun.
    fn begun(&self, guests: &dyn Interactive) -> Result<(), CliError>;

    /// Tells the program that a run is over, and that no message is queued.
    fn settled(&self);

    /// Asks the program for a confirmation before the session begins; `None` if no answer comes in time.
    fn confirm<'a>(
        &'a self,
        title: &'a str,
        message: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Option<bool>>;

    /// Handles commands until the program or the session ends.
    fn serve<'a>(&'a self, session: ServedSession<'a>) -> BoxFuture<'a, ()>;

    /// Stops asking the program: pending questions get no answer.
    fn leave(&self);

    /// Waits until everything is written.
    fn finish(&self) -> BoxFuture<'_, Result<(), CliError>>;
}

/// A session that another program steers.
pub struct ServedSession<'a> {
    /// The handle by which the session is steered.
    pub handle: SessionHandle,
    /// The agent of the session.
    pub agent: &'a Agent,
    /// The guests of the session.
    pub guests: &'a dyn Interactive,
    /// Runs the user's shell commands.
    pub shell: &'a dyn UserShell,
    /// Tells when the session should end.
    pub ending: &'a CancellationToken,
    /// Cancels everything.
    pub cancel: &'a CancellationToken,
}

/// Resolves when a shell command is stored in the session, which must be served meanwhile.
pub type Kept = BoxFuture<'static, Result<(), HandleError>>;

/// Runs the user's shell commands.
pub trait UserShell: Send + Sync {
    /// Runs a command and adds it to the conversation: for the model, or, if it is hidden, only for the record. The
    /// error says why it did not run.
    fn perform<'a>(
        &'a self,
        command: &'a str,
        hidden: bool,
        cancel: &'a CancellationToken,
        handle: &'a SessionHandle,
    ) -> BoxFuture<'a, Result<(ShellResult, Kept), String>>;
}
