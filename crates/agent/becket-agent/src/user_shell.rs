//! Asks hooks about the user's own shell commands.

use becket_events::{ShellResult, UserShell, UserShellPayload};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::session_judge::SessionJudge;

/// The decision of hooks about a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// The command does not run, for this reason.
    Refused(String),
    /// The command does not run; this is its result instead.
    Answered(ShellResult),
    /// Code of a handler's lane runs the command.
    RunBy(Value),
    /// The command runs.
    Runs,
}

impl SessionJudge {
    /// Asks hooks about a command line that is to run in a directory; the model never sees a hidden one. A cancel
    /// refuses.
    pub async fn judge_command(
        &self,
        command: &str,
        directory: &str,
        hidden: bool,
        cancel: &CancellationToken,
    ) -> Judged {
        let hooks = self.hooks_until(cancel);
        let payload = || UserShellPayload {
            command: command.into(),
            directory: directory.into(),
            hidden,
        };
        let (reply, handlers) = hooks.ask_whom::<UserShell>(payload).await;
        let consent = self
            .gate
            .consent(&hooks, "this command", reply.verdict, handlers)
            .await;
        match (consent, reply.result.get(), reply.runner.get()) {
            (Err(reason), ..) => Judged::Refused(reason),
            (Ok(()), Some(result), _) => Judged::Answered(result),
            (Ok(()), None, Some(runner)) => Judged::RunBy(runner),
            (Ok(()), None, None) => Judged::Runs,
        }
    }
}
