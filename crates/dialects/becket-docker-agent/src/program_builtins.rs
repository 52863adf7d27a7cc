//! The builtins that an agent file can name as hooks.
//!
//! Their work is done in `becket_tools::facts`, without docker-agent's terms; `call.rs` reads and writes
//! docker-agent's. A checkpoint or a post that fails is a line for the user and never a failure of the hook: on a guard
//! that would refuse the call.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_agent::url_policy::UrlJudge;
use becket_snapshot::Keeper;
use becket_tools::facts::{
    DiffDetail, GitFacts, Posted, PromptFileText, environment_text, listing_text, post, post_freely,
    prompt_file_texts, redact_value, user_text,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use url::Url;

use crate::call::Moment;
use crate::hook::{Builtin, BuiltinCall, Builtins};
use crate::output::Output;
use crate::shell_safety::{self, Label};

/// How long git may take.
pub const GIT_DEADLINE: Duration = Duration::from_secs(10);

/// The provider whose models can be unloaded without an address in the file.
const DOCKER_MODEL_RUNNER: &str = "dmr";

/// How long it may take to unload a model.
const UNLOAD_DEADLINE: Duration = Duration::from_secs(10);

/// How long a post may take.
const POST_DEADLINE: Duration = Duration::from_secs(30);

/// Runs builtins on this machine.
pub struct ProgramBuiltins {
    pub git: GitFacts,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The user's name, if the system knows none.
    pub user: Option<String>,
    pub urls: UrlJudge,
    pub keeper: Keeper,
    /// The addresses that unload models, by provider.
    pub unload: BTreeMap<String, String>,
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
            Builtin::AddPromptFiles(names) => return Ok(self.prompt_files(names, cwd, call)),
            Builtin::AddGitStatus => self.git(call).status(cwd).await,
            Builtin::AddGitDiff { full } => {
                let detail = if *full {
                    DiffDetail::Whole
                } else {
                    DiffDetail::Statistics
                };
                self.git(call).diff(cwd, detail).await
            }
            Builtin::AddDirectoryListing => listing_text(cwd),
            Builtin::AddRecentCommits(count) => self.git(call).commits(cwd, *count).await,
            Builtin::Snapshot => return Ok(Output::with_message(self.checkpoint(call).await.err())),
            _ => return self.without_folder(call).await,
        };
        Ok(Output::with_context(text))
    }

    /// Runs the builtins that need no folder.
    async fn without_folder(&self, call: BuiltinCall<'_>) -> Result<Output, String> {
        Ok(match call.builtin {
            Builtin::AddDate => {
                let today = becket_system::moments::now()
                    .with_timezone(&chrono::Local)
                    .format("%Y-%m-%d");
                Output::with_context(Some(format!("Today's date: {today}")))
            }
            Builtin::AddUserInfo => Output::with_context(user_text(
                call.env
                    .get(OsStr::new("USER"))
                    .and_then(|user| user.to_str())
                    .or(self.user.as_deref()),
            )),
            // The templates were filled before.
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
            // becket caches large outputs of every tool anyway; see `tools.output_limit`.
            Builtin::LimitLargeToolResults => Output::default(),
            // Every output is told as it is; that a file was read before is no reason to hide it.
            Builtin::ElideRepeatedToolResults => Output::default(),
            Builtin::SaferShell => safer_shell(call),
            Builtin::Unload => self.unload(call).await,
            Builtin::AskUser => Output {
                permission_decision: Some("ask".to_owned()),
                permission_decision_reason: Some("the agent file's evaluator is not asked".to_owned()),
                ..Output::default()
            },
            // These need a folder, and there is none.
            Builtin::AddEnvironmentInfo
            | Builtin::AddPromptFiles(_)
            | Builtin::AddGitStatus
            | Builtin::AddGitDiff { .. }
            | Builtin::AddDirectoryListing
            | Builtin::AddRecentCommits(_)
            | Builtin::Snapshot => Output::default(),
        })
    }

    /// Asks git with the variables of the hook.
    fn git(&self, call: BuiltinCall<'_>) -> GitFacts {
        let mut git = self.git.clone();
        git.environment.extend(call.env.clone());
        git
    }

    fn prompt_files(&self, names: &[String], cwd: &Path, call: BuiltinCall<'_>) -> Output {
        let (mut texts, mut remarks) = (Vec::new(), Vec::new());
        let home = call.env.get(OsStr::new("HOME")).map(Path::new);
        for found in prompt_file_texts(names, cwd, home.or(self.home.as_deref())) {
            match found {
                PromptFileText::Text { path, text } => {
                    texts.push(format!("Instructions from: {}\n{text}", path.display()));
                }
                PromptFileText::LeftOut(remark) => remarks.push(remark),
            }
        }
        Output {
            additional_context: (!texts.is_empty()).then(|| texts.join("\n\n")),
            ..Output::with_message((!remarks.is_empty()).then(|| remarks.join("; ")))
        }
    }

    /// Posts the input or a body. An address that can never be posted to is a mistake in the file; all other failures
    /// are only reported.
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
        let posted = Posted {
            body,
            headers: &[],
            deadline: POST_DEADLINE,
        };
        let posted = post(&self.urls, url, posted).await;
        Ok(Output::with_message(posted.err()))
    }

    /// Asks the servers of the models of the agent that was left to unload them. A failure changes nothing.
    async fn unload(&self, call: BuiltinCall<'_>) -> Output {
        let models = call.input.get("from_agent_models").and_then(Value::as_array);
        for model in models.into_iter().flatten() {
            let text = |key: &str| model.get(key).and_then(Value::as_str);
            let (Some(provider), Some(name), Some(base)) =
                (text("provider"), text("model"), text("base_url"))
            else {
                continue;
            };
            let path = self.unload.get(provider).map(String::as_str);
            let path = path.or((provider == DOCKER_MODEL_RUNNER).then_some("/engines/_unload"));
            let (Some(path), Ok(base)) = (path, Url::parse(base)) else {
                continue;
            };
            if let Ok(address) = base.join(path)
                && address.origin() == base.origin()
            {
                let body = json!({"model": name}).to_string();
                post_freely(address, body, UNLOAD_DEADLINE).await;
            }
        }
        Output::default()
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

/// Asks the user about a command that destroys something.
fn safer_shell(call: BuiltinCall<'_>) -> Output {
    let command = call.input.get("tool_input").and_then(|input| input.get("cmd"));
    let (true, Some(command)) = (call.event == "pre_tool_use", command.and_then(Value::as_str)) else {
        return Output::default();
    };
    match shell_safety::label(command) {
        Label::Destructive(what) => Output {
            permission_decision: Some("ask".to_owned()),
            permission_decision_reason: Some(format!("safer_shell: this command {what}")),
            ..Output::default()
        },
        Label::Safe | Label::Unknown => Output::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_events::Scope;
    use becket_snapshot::{Settings, Snapshots};

    fn builtins(room: &Path) -> ProgramBuiltins {
        ProgramBuiltins {
            git: GitFacts {
                environment: [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into(),
                deadline: GIT_DEADLINE,
            },
            home: Some(room.join("home")),
            user: None,
            urls: UrlJudge::default(),
            keeper: Keeper::new(room.join("data"), room.join("work"), Settings::default()),
            unload: BTreeMap::new(),
        }
    }

    async fn ask(builtin: Builtin, event: &'static str, cwd: &Path, input: &Value) -> Result<Output, String> {
        let scope = Scope {
            cwd: cwd.display().to_string(),
            session_id: "s".into(),
            turn: 1,
            ..Scope::default()
        };
        let room = cwd.parent().unwrap_or(cwd);
        let call = BuiltinCall {
            builtin: &builtin,
            event,
            scope: &scope,
            input,
            env: &BTreeMap::new(),
        };
        builtins(room).call(call).await
    }

    fn room() -> (tempfile::TempDir, PathBuf) {
        let room = tempfile::tempdir().unwrap();
        let work = room.path().join("work");
        std::fs::create_dir_all(room.path().join("home")).unwrap();
        std::fs::create_dir_all(&work).unwrap();
        (room, work)
    }

    #[tokio::test]
    async fn facts_become_context_and_no_fact_is_silence() {
        let (_room, work) = room();
        let date = ask(Builtin::AddDate, "turn_start", &work, &json!({}))
            .await
            .unwrap();
        let date = date.additional_context.unwrap();
        assert!(
            date.starts_with("Today's date: 20") && date.len() == "Today's date: 2027-01-31".len(),
            "{date}"
        );
        let silent = [
            Builtin::AddGitStatus,
            Builtin::AddGitDiff { full: true },
            Builtin::AddRecentCommits(3),
            Builtin::AddDirectoryListing,
            Builtin::AddPromptFiles(vec!["MISSING.md".into()]),
            Builtin::AddContext(vec![" ".into()]),
            Builtin::LimitLargeToolResults,
            Builtin::Snapshot,
        ];
        for builtin in silent {
            let output = ask(builtin.clone(), "session_start", &work, &json!({})).await;
            assert_eq!(output, Ok(Output::default()), "{builtin:?}");
        }
        let nowhere = Path::new("");
        for builtin in [
            Builtin::AddEnvironmentInfo,
            Builtin::AddDirectoryListing,
            Builtin::Snapshot,
        ] {
            assert_eq!(
                ask(builtin, "turn_start", nowhere, &json!({})).await,
                Ok(Output::default())
            );
        }
        std::fs::write(work.join("A.md"), "a").unwrap();
        std::fs::write(work.join("B.md"), b"\xff").unwrap();
        let names = ["A.md", "B.md", "A.md"].map(str::to_owned).to_vec();
        let output = ask(Builtin::AddPromptFiles(names), "turn_start", &work, &json!({}))
            .await
            .unwrap();
        let text = format!("Instructions from: {}\na", work.join("A.md").display());
        assert_eq!(output.additional_context, Some(format!("{text}\n\n{text}")));
        assert!(output.system_message.unwrap().contains("B.md is left out"));
        let output = ask(
            Builtin::AddContext(vec!["x".into(), "".into(), "y".into()]),
            "stop",
            &work,
            &json!({}),
        )
        .await;
        assert_eq!(output.unwrap().additional_context.as_deref(), Some("x\ny"));
    }

    #[tokio::test]
    async fn the_limit_blocks_the_call_after_the_last() {
        let (_room, work) = room();
        let table = [
            (Some(3), json!({"iteration": 3}), false),
            (Some(3), json!({"iteration": 4}), true),
            (Some(3), json!({}), false),
            (None, json!({"iteration": 4}), false),
        ];
        for (limit, input, blocks) in table {
            let output = ask(Builtin::MaxIterations(limit), "before_llm_call", &work, &input)
                .await
                .unwrap();
            assert_eq!(output.decision.is_some(), blocks, "{limit:?} {input}");
            let reason = "Agent terminated: max_iterations builtin reached its limit of 3 model call(s).";
            assert_eq!(output.reason.as_deref(), blocks.then_some(reason));
        }
    }

    #[tokio::test]
    async fn posts_fail_softly_except_for_what_is_no_address() {
        let (_room, work) = room();
        let post = |url: &str| Builtin::HttpPost {
            url: url.into(),
            body: None,
        };
        let wrong = ask(post("ftp://example.com"), "stop", &work, &json!({}))
            .await
            .unwrap_err();
        assert!(wrong.contains("http://"), "{wrong}");
        let refused = ask(post("http://127.0.0.1:9/"), "stop", &work, &json!({}))
            .await
            .unwrap();
        assert!(
            refused
                .system_message
                .unwrap()
                .contains("cannot post to http://127.0.0.1:9/")
        );
    }

    #[tokio::test]
    async fn checkpoints_are_made_by_turn_and_call_and_never_fail() {
        let (room, work) = room();
        let builtins = builtins(room.path());
        let scope = Scope {
            cwd: work.display().to_string(),
            ..Scope::default()
        };
        let input = json!({"tool_use_id": "1", "tool_name": "write"});
        for event in [
            "session_start",
            "turn_start",
            "pre_tool_use",
            "post_tool_use",
            "turn_end",
            "session_end",
        ] {
            let call = BuiltinCall {
                builtin: &Builtin::Snapshot,
                event,
                scope: &scope,
                input: &input,
                env: &BTreeMap::new(),
            };
            assert_eq!(builtins.call(call).await, Ok(Output::default()), "{event}");
            if event == "pre_tool_use" {
                std::fs::write(work.join("file"), "x").unwrap();
            }
        }
        let snapshots = Snapshots::open(&room.path().join("data"), &work, Settings::default()).unwrap();
        let steps = snapshots
            .list()
            .unwrap()
            .into_iter()
            .filter(|step| step.since.is_some());
        assert_eq!(steps.count(), 2);
        let elsewhere = ProgramBuiltins {
            keeper: Keeper::new(work.join("file"), work.clone(), Settings::default()),
            ..builtins
        };
        let call = BuiltinCall {
            builtin: &Builtin::Snapshot,
            event: "pre_tool_use",
            scope: &scope,
            input: &input,
            env: &BTreeMap::new(),
        };
        assert!(
            elsewhere.call(call).await.unwrap().system_message.is_some(),
            "told"
        );
        assert_eq!(elsewhere.call(call).await, Ok(Output::default()), "once");
    }
}
