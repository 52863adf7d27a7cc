//! Interceptors and approvers that are programs: they read JSON on standard input and write JSON on standard output.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::front::{Front, FrontUpdate};
use becket_events::Scope;
use becket_hooks::{
    Cause, CommandLane, CommandLine, Failure, HookEnvironment, Invocation, Lane, Program, WorkerLane,
    read_strictly,
};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use crate::canonical::has_huge_integer;
use crate::interceptor::{
    ApprovalOutcome, ApprovalRequest, Approver, Asked, Interceptor, Resolution, Unanswered,
};
use crate::verdict::InterceptorVerdict;

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

/// The command line of an interceptor that is a program.
pub fn command(config: &Value) -> Result<CommandLine, String> {
    let config = Config::deserialize(config).map_err(|error| error.to_string())?;
    Ok(config.command)
}

/// The program of a command line. Relative paths are those of the folder, which is that of the settings file.
pub fn program(command: &CommandLine, folder: &Path, environment: &HookEnvironment) -> Program {
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
    program
        .environment(Arc::clone(&environment.variables))
        .for_guard()
}

/// A program that is asked.
pub struct Asking {
    lane: Arc<dyn Lane>,
    /// The lane again, if its program must be ended.
    worker: Option<Arc<WorkerLane>>,
    /// What it is for, and its command line, as the user knows it.
    shown: String,
    /// Hears why the program gave no answer.
    front: Arc<dyn Front>,
}

impl Asking {
    /// A program in its surroundings.
    pub fn new(what: &str, command: &CommandLine, stays: Stays, place: &Place<'_>) -> Self {
        let program = program(command, place.folder, place.environment);
        let (lane, worker): (Arc<dyn Lane>, _) = match stays {
            Stays::Alive => {
                let worker = Arc::new(WorkerLane::new(program));
                (Arc::clone(&worker) as Arc<dyn Lane>, Some(worker))
            }
            Stays::ForOneAnswer => (Arc::new(CommandLane::new(program)), None),
        };
        Self {
            lane,
            worker,
            shown: match command {
                CommandLine::Shell(line) => format!("{what} `{line}`"),
                CommandLine::Exec(words) => format!("{what} `{}`", words.join(" ")),
            },
            front: Arc::clone(place.front),
        }
    }

    /// A program as a document describes it.
    pub fn of_config(config: &Value, stays: Stays, place: &Place<'_>) -> Result<Self, String> {
        Ok(Self::new("interceptor", &command(config)?, stays, place))
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
        let finished = match self.lane.run(invocation).await {
            Ok(finished) => finished,
            Err(failure) => return self.without_answer(&failure),
        };
        if finished.code != 0 {
            let words = format!("it ended with status {}", finished.code);
            self.tell(&words, &finished.stderr);
            return Err(Unanswered::Failed(words));
        }
        let Ok(text) = std::str::from_utf8(&finished.stdout) else {
            self.tell("its answer is not UTF-8", &finished.stderr);
            return Ok(NO_VERDICT);
        };
        let wrong = match read_strictly(text) {
            Ok(_) if has_huge_integer(text) => {
                "its answer has an integer beyond 64 bits; write it as a string".into()
            }
            Ok(answer) => return Ok(answer),
            Err(error) => format!("its answer is not JSON: {error}"),
        };
        self.tell(&wrong, &finished.stderr);
        Ok(NO_VERDICT)
    }

    /// What a failure of the program means. What it wrote may quote what it was asked about, so that only the user sees
    /// it, and no record.
    fn without_answer(&self, failure: &Failure) -> Result<Value, Unanswered> {
        self.tell(&failure.to_string(), &failure.stderr);
        match failure.cause {
            Cause::TimedOut => Err(Unanswered::TimedOut),
            Cause::UnreadableOutput | Cause::WrongShape => Ok(NO_VERDICT),
            cause => Err(Unanswered::Failed(cause.describe().into())),
        }
    }

    /// Tells the user why there is no answer.
    fn tell(&self, words: &str, stderr: &str) {
        let words = format!("{}: {words}\n{}", self.shown, stderr.trim());
        self.front.show(FrontUpdate::Warning(words.trim()));
    }
}

/// What cannot be read is no verdict, which the emitter finds.
const NO_VERDICT: Value = Value::Null;

/// The surroundings of a program.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The folder of the settings file.
    pub folder: &'a Path,
    /// The environment of programs.
    pub environment: &'a HookEnvironment,
    /// Hears why a program gave no answer.
    pub front: &'a Arc<dyn Front>,
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
            let answer = self.ask(input, asked.scope, asked.timeout).await?;
            if let (false, Err(words)) = (answer.is_null(), InterceptorVerdict::understood(answer.clone())) {
                self.tell(&format!("its answer is no verdict: {words}"), "");
            }
            Ok(answer)
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
            let echo = answer.get("context_identity").and_then(Value::as_str);
            if answer.is_object() && echo != request.context_identity.as_deref() {
                // Whatever else is wrong with the answer, this comes first.
                return Ok(Resolution {
                    outcome: ApprovalOutcome::Unresolved,
                    context_identity: echo.map(ToOwned::to_owned),
                    verdict: None,
                });
            }
            serde_json::from_value(answer).map_err(|error| {
                self.tell(&format!("its answer is no resolution: {error}"), "");
                wrong(error)
            })
        })
    }
}
