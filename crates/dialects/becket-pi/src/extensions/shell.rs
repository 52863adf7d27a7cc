//! Shell commands of the user that an extension runs in place of the shell.

use std::time::Duration;

use becket_js::Extension;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::registry::ExtensionRegistry;
use crate::services::{AbortShell, RunShell, ShellEnd};

/// How long a shell command of the user may take. The user can abort it.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long a shell command may take to end after it was cancelled.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// Runs a command by an extension's function, which an answer of its hook holds. The output is sent to `parts`.
pub async fn run(
    registry: &ExtensionRegistry,
    runner: &Value,
    command: &str,
    directory: &str,
    parts: UnboundedSender<String>,
    cancel: &CancellationToken,
) -> Result<ShellEnd, String> {
    let (extension, function) = function_of(registry, runner)
        .ok_or("the extension that wants to run the command is not there any more")?;
    let run = registry.calls.begin_shell(parts);
    let service = RunShell {
        run,
        function,
        command: command.to_owned(),
        cwd: directory.to_owned(),
        timeout: None,
        env: None,
    };
    let mut running = std::pin::pin!(registry.ask(&extension, &service, LONGEST));
    let end = tokio::select! {
        biased;
        end = &mut running => Some(end),
        () = cancel.cancelled() => {
            let _ = registry.ask(&extension, &AbortShell { run }, LAST_MOMENT).await;
            tokio::time::timeout(LAST_MOMENT, running).await.ok()
        }
    };
    registry.calls.end_shell(run);
    match end {
        Some(end) => end.map_err(|failure| failure.to_string()),
        None => Err("the command does not end, though it was cancelled".into()),
    }
}

/// The extension whose function an answer names, and the function's number there.
fn function_of(registry: &ExtensionRegistry, runner: &Value) -> Option<(Extension, u32)> {
    let handle = runner.get("exec").or_else(|| runner.get("execute"))?;
    let function = u32::try_from(handle.get("$function")?.as_u64()?).ok()?;
    let path = handle.get("$extension")?.as_str()?;
    let of_path = registry.extensions.each(|guest| {
        let is_meant = guest.candidate.file.display().to_string() == path;
        guest.extension.clone().filter(|_| is_meant)
    });
    Some((of_path.into_iter().flatten().next()?, function))
}
