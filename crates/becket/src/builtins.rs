//! The parts of the program that an agent file can name as hooks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_agent::url_policy::UrlJudge;
use becket_dialects::docker_agent::{Builtin, BuiltinCall, Builtins, Moment, Output};
use becket_tools::facts::{
    DiffDetail, GitFacts, PromptFileText, environment_text, listing_text, post, prompt_file_texts,
    redact_value, user_text,
};
use futures_util::future::BoxFuture;

use crate::assemble::Setup;
use crate::failure::CliError;
use crate::snapshots::Keeper;
use crate::surroundings::Surroundings;

/// How long git may take for a fact.
const GIT_DEADLINE: Duration = Duration::from_secs(10);

/// How long somebody on the web may take who is told something.
const POST_DEADLINE: Duration = Duration::from_secs(30);

impl Setup {
    /// The builtins of a run.
    pub fn builtins(&self, surroundings: &Surroundings) -> Result<ProgramBuiltins, CliError> {
        Ok(ProgramBuiltins {
            git: GitFacts {
                environment: self.environment(surroundings).variables.as_ref().clone(),
                deadline: GIT_DEADLINE,
            },
            home: surroundings.variable("HOME").map(PathBuf::from),
            user: surroundings.variable("USER"),
            urls: self.url_judge()?,
            keeper: self.keeper(surroundings),
        })
    }
}

/// Runs builtins on this machine.
pub struct ProgramBuiltins {
    pub git: GitFacts,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The person's name, where the system knows none.
    pub user: Option<String>,
    pub urls: UrlJudge,
    pub keeper: Keeper,
}

impl Builtins for ProgramBuiltins {
    fn call<'a>(&'a self, call: BuiltinCall<'a>) -> BoxFuture<'a, Result<Output, String>> {
        Box::pin(self.answer(call))
    }
}

impl ProgramBuiltins {
    async fn answer(&self, call: BuiltinCall<'_>) -> Result<Output, String> {
        let Some(cwd) = Some(Path::new(&call.scope.cwd)).filter(|cwd| cwd.is_absolute()) else {
            return self.without_folder(call).await;
        };
        let text = match call.builtin {
            Builtin::AddEnvironmentInfo => Some(environment_text(cwd)),
            Builtin::AddPromptFiles(names) => return Ok(self.prompt_files(names, cwd)),
            Builtin::AddGitStatus => self.git.status(cwd).await,
            Builtin::AddGitDiff { full } => {
                let detail = if *full {
                    DiffDetail::Whole
                } else {
                    DiffDetail::Statistics
                };
                self.git.diff(cwd, detail).await
            }
            Builtin::AddDirectoryListing => listing_text(cwd),
            Builtin::AddRecentCommits(count) => self.git.commits(cwd, *count).await,
            Builtin::Snapshot => return Ok(Output::with_message(self.checkpoint(call).await.err())),
            _ => return self.without_folder(call).await,
        };
        Ok(Output::with_context(text))
    }

    /// Builtins that are about no folder.
    async fn without_folder(&self, call: BuiltinCall<'_>) -> Result<Output, String> {
        Ok(match call.builtin {
            Builtin::AddDate => {
                let today = chrono::Local::now().format("%Y-%m-%d");
                Output::with_context(Some(format!("Today's date: {today}")))
            }
            Builtin::AddUserInfo => Output::with_context(user_text(self.user.as_deref())),
            // They were rendered before.
            Builtin::AddContext(texts) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let texts: Vec<&str> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
                Output::with_context((!texts.is_empty()).then(|| texts.join("\n")))
            }
            Builtin::MaxIterations(limit) => match (limit, call.iteration()) {
                (Some(limit), Some(iteration)) if iteration > u64::from(*limit) => {
                    Output::with_block(format!(
                        "Agent terminated: max_iterations builtin reached its limit of {limit} model call(s)."
                    ))
                }
                _ => Output::default(),
            },
            Builtin::RedactSecrets => call.cleaned(redact_value),
            Builtin::HttpPost { url, body } => return self.post(url, body.as_deref(), call).await,
            // Large outputs of every tool are put aside anyway; see `tools.output_limit`.
            Builtin::LimitLargeToolResults => Output::default(),
            // These are about a folder, and there is none.
            Builtin::AddEnvironmentInfo
            | Builtin::AddPromptFiles(_)
            | Builtin::AddGitStatus
            | Builtin::AddGitDiff { .. }
            | Builtin::AddDirectoryListing
            | Builtin::AddRecentCommits(_)
            | Builtin::Snapshot => Output::default(),
        })
    }

    fn prompt_files(&self, names: &[String], cwd: &Path) -> Output {
        let (mut texts, mut remarks) = (Vec::new(), Vec::new());
        for found in prompt_file_texts(names, cwd, self.home.as_deref()) {
            match found {
                PromptFileText::Text(text) => texts.push(text),
                PromptFileText::LeftOut(remark) => remarks.push(remark),
            }
        }
        Output {
            additional_context: (!texts.is_empty()).then(|| texts.join("\n\n")),
            ..Output::with_message((!remarks.is_empty()).then(|| remarks.join("; ")))
        }
    }

    /// An address that can never be posted to is a mistake in the file; everything else is told and no failure.
    async fn post(&self, url: &str, body: Option<&str>, call: BuiltinCall<'_>) -> Result<Output, String> {
        if !["http://", "https://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            return Err(format!(
                "http_post needs an address that begins with http:// or https://, not `{url}`"
            ));
        }
        let body = body.map_or_else(|| call.input.to_string(), str::to_owned);
        let posted = post(&self.urls, url, body, POST_DEADLINE).await;
        Ok(Output::with_message(posted.err()))
    }

    async fn checkpoint(&self, call: BuiltinCall<'_>) -> Result<(), String> {
        let (keeper, scope) = (&self.keeper, call.scope);
        match call.moment() {
            Moment::TurnBegins => keeper.turn_begins(scope).await,
            Moment::TurnEnds => keeper.turn_ends(scope).await,
            Moment::CallBegins { id, tool } => keeper.call_begins(scope, id, tool).await,
            Moment::CallEnds { id } => keeper.call_ends(scope, id).await,
            Moment::SessionEnds => keeper.session_ends().await,
            Moment::Other => Ok(()),
        }
    }
}
