//! What hooks say about a shell command of the person's own.

use becket_events::{ShellResult, UserShell, UserShellPayload};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::session_judge::SessionJudge;

/// What hooks say about a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// It does not run.
    Refused(String),
    /// This is what it gives; it does not run.
    Answered(ShellResult),
    /// Something of a handler's lane runs it.
    RunBy(Value),
    /// It runs.
    Runs,
}

impl SessionJudge {
    /// Asks about a command line that is to run in a directory; a hidden one the model never sees. A cancel refuses.
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
