//! Interceptors and approvers that are programs: they read JSON on standard input and write JSON on standard output.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_events::Scope;
use becket_hooks::{
    Cause, CommandLane, CommandLine, Failure, HookEnvironment, Invocation, Lane, Program, WorkerLane,
    read_strictly,
};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use crate::interceptor::{ApprovalRequest, Approver, Asked, Interceptor, Resolution, Unanswered};

/// The kind of an interceptor that is started for each question.
pub const COMMAND: &str = "becket.command";

/// The kind of an interceptor that stays alive and answers line by line.
pub const WORKER: &str = "becket.worker";

/// What the kinds of programs need to know.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    command: CommandLine,
}

/// A program that is asked.
pub struct Asking {
    lane: Arc<dyn Lane>,
    /// The lane again, if its program must be ended.
    worker: Option<Arc<WorkerLane>>,
}

impl Asking {
    /// A program in this environment. Relative paths are those of the settings file's folder.
    pub fn new(command: &CommandLine, stays: Stays, folder: &Path, environment: &HookEnvironment) -> Self {
        let program = match command {
            CommandLine::Shell(line) => Program::shell(line.clone()),
            CommandLine::Exec(words) => {
                let mut words: Vec<OsString> = words.iter().map(Into::into).collect();
                let program = words.first_mut();
                if let Some(program) = program.filter(|program| program.as_encoded_bytes().contains(&b'/')) {
                    *program = folder.join(&*program).into();
                }
                Program::exec(words)
            }
        };
        let program = program
            .environment(Arc::clone(&environment.variables))
            .for_guard();
        match stays {
            Stays::Alive => {
                let worker = Arc::new(WorkerLane::new(program));
                Self {
                    lane: Arc::clone(&worker) as Arc<dyn Lane>,
                    worker: Some(worker),
                }
            }
            Stays::ForOneAnswer => Self {
                lane: Arc::new(CommandLane::new(program)),
                worker: None,
            },
        }
    }

    /// A program as a document describes it.
    pub fn of_config(
        config: &Value,
        stays: Stays,
        folder: &Path,
        environment: &HookEnvironment,
    ) -> Result<Self, String> {
        let config: Config = Config::deserialize(config).map_err(|error| error.to_string())?;
        Ok(Self::new(&config.command, stays, folder, environment))
    }

    /// Ends the program if it is still alive.
    pub async fn close(&self) {
        if let Some(worker) = &self.worker {
            worker.shutdown().await;
        }
    }

    async fn ask(&self, input: String, scope: &Scope, timeout: Duration) -> Result<Value, Unanswered> {
        let invocation = Invocation {
            input: input.into(),
            environment: Vec::new(),
            directory: scope.cwd.clone().into(),
            timeout,
        };
        let failed = |failure: Failure| match failure.cause {
            Cause::TimedOut => Unanswered::TimedOut,
            _ => Unanswered::Failed(failure.to_string()),
        };
        let finished = self.lane.run(invocation).await.map_err(failed)?;
        if finished.code != 0 {
            let words = format!(
                "it ended with status {}: {}",
                finished.code,
                finished.stderr.trim()
            );
            return Err(Unanswered::Failed(words));
        }
        let text = String::from_utf8(finished.stdout);
        let text = text.map_err(|_| Unanswered::Failed("its answer is no text".into()))?;
        // What cannot be read is no verdict, which the caller finds.
        Ok(read_strictly(&text).unwrap_or_default())
    }
}

/// How long a program lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stays {
    /// Until it has answered.
    ForOneAnswer,
    /// Until the run ends.
    Alive,
}

impl Interceptor for Asking {
    fn intercept<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Value, Unanswered>> {
        Box::pin(async move {
            let input = serde_json::to_string(asked.context);
            let input = input.map_err(|error| Unanswered::Failed(error.to_string()))?;
            self.ask(input, asked.scope, asked.timeout).await
        })
    }
}

impl Approver for Asking {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<Resolution, Unanswered>> {
        Box::pin(async move {
            let wrong = |error: serde_json::Error| Unanswered::Failed(error.to_string());
            let input = serde_json::to_string(request).map_err(wrong)?;
            let answer = self.ask(input, request.scope, request.timeout).await?;
            serde_json::from_value(answer).map_err(wrong)
        })
    }
}
