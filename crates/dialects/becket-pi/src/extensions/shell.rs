//! Commands of the person's that an extension runs in the shell's place.

use std::time::Duration;

use becket_js::Extension;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use crate::services::{AbortShell, RunShell, ShellEnd};

/// How long such a command may take. The person can end it.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long it may take to end after a cancel.
const LAST_MOMENT: Duration = Duration::from_secs(5);

impl Board {
    /// Runs a command by a function of an extension's, which an answer of its hook holds. What it gives goes to
    /// `parts`.
    pub async fn run_shell(
        &self,
        runner: &Value,
        command: &str,
        directory: &str,
        parts: UnboundedSender<String>,
        cancel: &CancellationToken,
    ) -> Result<ShellEnd, String> {
        let (extension, function) = self
            .function_of(runner)
            .ok_or("the extension that wants to run the command is not there any more")?;
        let run = self.calls.begin_shell(parts);
        let service = RunShell {
            run,
            function,
            command: command.to_owned(),
            cwd: directory.to_owned(),
            timeout: None,
            env: None,
        };
        let mut running = std::pin::pin!(self.ask(&extension, &service, LONGEST));
        let end = tokio::select! {
            biased;
            end = &mut running => Some(end),
            () = cancel.cancelled() => {
                let _ = self.ask(&extension, &AbortShell { run }, LAST_MOMENT).await;
                tokio::time::timeout(LAST_MOMENT, running).await.ok()
            }
        };
        self.calls.end_shell(run);
        match end {
            Some(end) => end.map_err(|failure| failure.to_string()),
            None => Err("the command does not end, though it was cancelled".into()),
        }
    }

    /// The extension whose function an answer names, and the function's number there.
    fn function_of(&self, runner: &Value) -> Option<(Extension, u32)> {
        let handle = runner.get("exec").or_else(|| runner.get("execute"))?;
        let function = u32::try_from(handle.get("$function")?.as_u64()?).ok()?;
        let path = handle.get("$extension")?.as_str()?;
        let of_path = self.each(|guest| {
            let is_meant = guest.candidate.file.display().to_string() == path;
            guest.extension.clone().filter(|_| is_meant)
        });
        Some((of_path.into_iter().flatten().next()?, function))
    }
}
