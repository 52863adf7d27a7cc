//! The user's own shell commands: `!command` for the model to see, `!!command` for the user alone.
//!
//! Hooks of `user_shell` are asked before, and may refuse the command, answer it, or run it in the shell's place.
//!
//! Only a user at a terminal runs commands this way. Lines of a pipe may be anybody's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::session_handle::SessionHandle;
use becket_agent::store::ShellRun;
use becket_agent::{Judged, SessionJudge};
use becket_events::ShellResult;
use becket_front::{Output, Style, tool_line};
use becket_hooks::{Mark, Tree};
use becket_host::{GuestShell, Interactive, UserShell};
use becket_system::Surroundings;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::given::{Given, Kept};

/// How much of an output is shown.
const MOST_SHOWN: usize = 400_000;

/// How long a command may take. The user can end it earlier.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// How long output is still read after the command has ended.
const AFTER_THE_END: Duration = Duration::from_millis(300);

/// Runs the user's own shell commands.
#[derive(Clone)]
pub struct Shell {
    pub guests: Arc<dyn Interactive>,
    /// Where the output of commands is shown, if anywhere.
    pub output: Option<Arc<Output>>,
    pub style: Style,
    pub surroundings: Surroundings,
    pub directory: PathBuf,
    pub environment: Arc<BTreeMap<OsString, OsString>>,
}

/// The output of a command so far, and how much of it was shown.
struct Progress {
    given: Given,
    shown: usize,
    /// The last line, as long as it is incomplete.
    line: String,
}

impl Shell {
    /// Runs a line that begins with `!`.
    pub fn start(
        &self,
        line: &str,
        cancel: &CancellationToken,
        handle: SessionHandle,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (shell, cancel) = (self.clone(), cancel.clone());
        let hidden = line.starts_with("!!");
        let command = line.trim_start_matches('!').trim().to_owned();
        async move {
            if command.is_empty() {
                return shell.surroundings.remark("write a command after the !");
            }
            match shell.run_and_keep(&command, hidden, &cancel, &handle).await {
                Ok((result, _kept)) => shell.conclude(&result),
                Err(why) => shell.surroundings.complain(&why),
            }
        }
    }

    async fn run_and_keep(
        &self,
        command: &str,
        hidden: bool,
        cancel: &CancellationToken,
        handle: &SessionHandle,
    ) -> Result<(ShellResult, becket_host::Kept), String> {
        let judge = handle.judge().map_err(|error| error.to_string())?;
        let result = self.result(&judge, (command, hidden), cancel).await?;
        let kept = handle.requests().keep_shell_run(ShellRun {
            command: command.to_owned(),
            result: result.clone(),
            hidden,
        });
        Ok((result, Box::pin(kept)))
    }

    async fn result(
        &self,
        judge: &SessionJudge,
        (command, hidden): (&str, bool),
        cancel: &CancellationToken,
    ) -> Result<ShellResult, String> {
        let directory = self.directory.display().to_string();
        let judged = judge.judge_command(command, &directory, hidden, cancel).await;
        let mut progress = Progress {
            given: Given::filed_in(self.surroundings.temporary_folder()),
            shown: 0,
            line: String::new(),
        };
        let (exit_code, cancelled) = match judged {
            Judged::Refused(reason) => return Err(format!("a hook refused the command: {reason}")),
            Judged::Answered(result) => {
                self.show(&mut progress, &result.output);
                self.finish(&mut progress);
                return Ok(result);
            }
            Judged::RunBy(runner) => {
                self.run_elsewhere(command, &runner, &mut progress, cancel)
                    .await?
            }
            Judged::Runs => {
                let run = self.run(command, &mut progress, cancel).await;
                run.map_err(|error| format!("cannot run the command: {error}"))?
            }
        };
        self.finish(&mut progress);
        let Kept {
            text,
            truncated,
            file,
        } = progress.given.end();
        Ok(ShellResult {
            output: text,
            exit_code,
            cancelled,
            truncated,
            full_output_path: file.map(|file| file.display().to_string()),
        })
    }

    /// Runs a command in the shell. Returns its exit code, and whether it was cancelled.
    async fn run(
        &self,
        command: &str,
        progress: &mut Progress,
        cancel: &CancellationToken,
    ) -> io::Result<(Option<i32>, bool)> {
        let (reader, writer) = io::pipe()?;
        let mut pipe = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mark = Mark::within(&self.environment);
        let (name, value) = mark.variable();
        let child = Command::new("/bin/sh")
            .arg("-c")
            .arg(command)
            .current_dir(&self.directory)
            .env_clear()
            .envs(self.environment.as_ref())
            .env(name, value)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        let mut tree = Tree::adopt(child, &mark)?;
        let (mut bytes, mut open) = ([0; 8192], true);
        let mut pending = Vec::new();
        let end = tokio::time::sleep(LONGEST);
        tokio::pin!(end);
        let status = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break None,
                () = &mut end => break None,
                read = pipe.read(&mut bytes), if open => {
                    open = self.take(read, &bytes, &mut pending, progress);
                }
                status = tree.wait() => break Some(status?),
            }
        };
        match &status {
            Some(_) => {
                let rest = async {
                    while open {
                        let read = pipe.read(&mut bytes).await;
                        open = self.take(read, &bytes, &mut pending, progress);
                    }
                };
                let _ = tokio::time::timeout(AFTER_THE_END, rest).await;
                tree.release();
            }
            None => tree.terminate().await,
        }
        Ok((status.and_then(|status| status.code()), cancel.is_cancelled()))
    }

    /// Adds what was read. Returns whether more can come.
    fn take(
        &self,
        read: io::Result<usize>,
        bytes: &[u8],
        pending: &mut Vec<u8>,
        progress: &mut Progress,
    ) -> bool {
        let length = read.unwrap_or(0);
        pending.extend_from_slice(&bytes[..length]);
        // A character may come in two pieces.
        let whole = match std::str::from_utf8(pending) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() && length > 0 => error.valid_up_to(),
            Err(_) => pending.len(),
        };
        let text: Vec<u8> = pending.drain(..whole).collect();
        self.show(progress, &String::from_utf8_lossy(&text));
        length > 0
    }

    /// Lets an extension run a command instead of the shell.
    async fn run_elsewhere(
        &self,
        command: &str,
        runner: &Value,
        progress: &mut Progress,
        cancel: &CancellationToken,
    ) -> Result<(Option<i32>, bool), String> {
        let (parts, mut news) = tokio::sync::mpsc::unbounded_channel();
        let directory = self.directory.display().to_string();
        let mut running = self.guests.run_shell(GuestShell {
            runner,
            command,
            directory: &directory,
            parts,
            cancel,
        });
        let end = loop {
            tokio::select! {
                biased;
                Some(text) = news.recv() => self.show(progress, &text),
                end = &mut running => break end?,
            }
        };
        while let Ok(text) = news.try_recv() {
            self.show(progress, &text);
        }
        if let Some(output) = &end.output {
            self.show(progress, output);
        }
        match end.error {
            Some(error) if !cancel.is_cancelled() => Err(error),
            _ => Ok((end.exit_code, cancel.is_cancelled())),
        }
    }

    /// Shows a piece of output line by line, and keeps its end.
    fn show(&self, progress: &mut Progress, text: &str) {
        progress.given.add(text);
        if self.output.is_none() {
            return;
        }
        progress.line.push_str(text);
        while let Some(end) = progress.line.find('\n') {
            let line: String = progress.line.drain(..=end).collect();
            self.say(progress, line.trim_end());
        }
    }

    fn finish(&self, progress: &mut Progress) {
        let line = std::mem::take(&mut progress.line);
        if !line.is_empty() {
            self.say(progress, &line);
        }
    }

    fn say(&self, progress: &mut Progress, line: &str) {
        let Some(output) = &self.output else { return };
        let before = progress.shown;
        progress.shown += line.len() + 1;
        if progress.shown <= MOST_SHOWN {
            let line = tool_line(line, self.style, |line| self.style.dim(line));
            output.say_as_is(&format!("  {line}"));
        } else if before <= MOST_SHOWN {
            output.say(&self.style.dim("  … and more"));
        }
    }

    /// Shows how the command ended, unless it just succeeded.
    fn conclude(&self, result: &ShellResult) {
        match result {
            ShellResult { cancelled: true, .. } => self.surroundings.remark("the command was cancelled"),
            ShellResult {
                exit_code: Some(code),
                ..
            } if *code != 0 => self
                .surroundings
                .remark(&format!("the command ended with code {code}")),
            _ => {}
        }
    }
}

impl UserShell for Shell {
    fn perform<'a>(
        &'a self,
        command: &'a str,
        hidden: bool,
        cancel: &'a CancellationToken,
        handle: &'a SessionHandle,
    ) -> BoxFuture<'a, Result<(ShellResult, becket_host::Kept), String>> {
        Box::pin(self.run_and_keep(command, hidden, cancel, handle))
    }
}
