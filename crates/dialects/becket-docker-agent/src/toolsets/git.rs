//! The toolset `git`: tools that look at the repository of the working directory and change nothing in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::tool::Tool;
use becket_tools::facts::GitFacts;
use becket_tools::{PlainTool, plain_spec};
use serde::Deserialize;
use serde_json::Value;

use super::words::schema;

/// The longest output.
const MOST_BYTES: usize = 64 * 1024;

/// The most commits of a log, and the usual number of them.
const MOST_COMMITS: u64 = 200;
const USUAL_COMMITS: u64 = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    limit: Option<u64>,
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Show {
    r#ref: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blame {
    path: String,
    rev: Option<String>,
}

/// The tools on the repository of a directory.
// tidy: a table
pub(super) fn tools(git: &GitFacts, directory: &Path) -> Vec<Arc<dyn Tool>> {
    let git = Git {
        facts: git.clone(),
        directory: directory.into(),
    };
    let nothing = || schema(&[], &[]);
    let log = schema(
        &[
            ("limit", "integer", "How many commits at most; 20 when absent."),
            ("path", "string", "Only commits that touch this path."),
        ],
        &[],
    );
    let show = schema(&[("ref", "string", "The commit; HEAD when absent.")], &[]);
    let blame = schema(
        &[
            ("path", "string", "The file."),
            ("rev", "string", "The commit at which to look; HEAD when absent."),
        ],
        &["path"],
    );
    vec![
        git.tool(
            "git_status",
            "Show the branch and the changed files.",
            nothing(),
            |_: Nothing| Ok(words(&["status", "--short", "--branch"])),
        ),
        git.tool("git_log", "List the last commits.", log, |Log { limit, path }| {
            let limit = limit.unwrap_or(USUAL_COMMITS).clamp(1, MOST_COMMITS);
            let mut log = words(&["log", "--date=short", "--format=%h  %ad  %an  %s"]);
            log.push(format!("--max-count={limit}"));
            log.push("--".to_owned());
            log.extend(path);
            Ok(log)
        }),
        git.tool(
            "git_branches",
            "List the local branches.",
            nothing(),
            |_: Nothing| Ok(words(&["branch", "--list"])),
        ),
        git.tool(
            "git_show",
            "Show a commit and the files that it changes.",
            show,
            |Show { r#ref }| {
                let mut show = words(&[
                    "show",
                    "--stat",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--end-of-options",
                ]);
                show.push(r#ref.unwrap_or_else(|| "HEAD".to_owned()));
                Ok(show)
            },
        ),
        git.tool(
            "git_blame",
            "Show who has written the lines of a file.",
            blame,
            |Blame { path, rev }| {
                let rev = rev.unwrap_or_else(|| "HEAD".to_owned());
                if rev.starts_with('-') {
                    return Err(format!("`{rev}` is no commit"));
                }
                let mut blame = words(&["blame", "--date=short"]);
                blame.extend([rev, "--".to_owned(), path]);
                Ok(blame)
            },
        ),
    ]
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[derive(Clone)]
struct Git {
    facts: GitFacts,
    directory: PathBuf,
}

impl Git {
    /// A tool that runs git with the arguments that `command` makes of its own.
    fn tool<A: serde::de::DeserializeOwned + Send + 'static>(
        &self,
        name: &str,
        about: &str,
        parameters: Value,
        command: fn(A) -> Result<Vec<String>, String>,
    ) -> Arc<dyn Tool> {
        let git = self.clone();
        PlainTool::waiting(plain_spec(name, about, parameters), move |arguments, _| {
            let (git, command) = (git.clone(), command(arguments));
            Box::pin(async move { git.told(&command?).await })
        })
    }

    async fn told(&self, command: &[String]) -> Result<String, String> {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = self.facts.output(&self.directory, &command, MOST_BYTES).await;
        let output = output.ok_or_else(|| {
            "git found nothing: there is no repository here, no such commit or file, or no git".to_owned()
        })?;
        let mut text = String::from_utf8_lossy(&output[..output.len().min(MOST_BYTES)]).into_owned();
        if output.len() > MOST_BYTES {
            text.push_str("\n... (truncated)");
        }
        Ok(match text.trim() {
            "" => "Nothing to show.".to_owned(),
            _ => text,
        })
    }
}
