//! The worktree in which a run works, if the user wants one: how it is made, and the hooks of `worktree_create`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use becket_hooks::{CommandLane, HookEnvironment, Invocation, Lane, program_outside};
use becket_host::GuestOptions;
use becket_system::{CliError, Folders, Surroundings};
use serde_json::{Value, json};

use crate::contract::WORKTREE_CREATE;
use crate::hook::{HookEntry, HookKind, OnError};
use crate::protocol::Rules;
use crate::run_options::{WORKTREE, WORKTREE_BASE};

/// The name by which the user leaves the choice of a name to the program.
const AUTOMATIC: &str = "auto";

/// A worktree that was made for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub folder: PathBuf,
    pub branch: String,
    /// The root of the repository that it was made of.
    pub source: PathBuf,
}

/// Makes the worktree that the options ask for, of the repository around a directory.
pub fn make(
    options: &GuestOptions,
    directory: &Path,
    surroundings: &Surroundings,
) -> Result<Option<Worktree>, CliError> {
    let Some(name) = options.texts(WORKTREE).pop() else {
        return Ok(None);
    };
    let name = match name.as_str() {
        AUTOMATIC => becket_system::moments::now()
            .format("%Y%m%d-%H%M%S-%3f")
            .to_string(),
        _ => name,
    };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name.is_empty()
        || !name.chars().all(is_plain)
        || name.starts_with(['.', '-'])
        || name.ends_with(".lock")
    {
        let what = format!("`{name}` is no name of a worktree: letters, digits, `-`, `_` and `.` make one");
        return Err(CliError::usage(what));
    }
    let root = git(surroundings, directory, &["rev-parse", "--show-toplevel"])
        .map_err(|error| CliError::usage(format!("a worktree needs a git repository: {error}")))?;
    let source = PathBuf::from(root.trim_end());
    let folders = Folders::find(None, surroundings)?;
    let folder = folders.data.join("worktrees").join(&name);
    let branch = format!("worktree-{name}");
    let mut arguments = vec!["worktree", "add", "-b", &branch];
    let shown = folder.display().to_string();
    arguments.push(&shown);
    let base = options.texts(WORKTREE_BASE).pop();
    if let Some(base) = base.as_deref().filter(|base| !base.starts_with('-')) {
        arguments.push(base);
    }
    git(surroundings, &source, &arguments)
        .map_err(|error| CliError::usage(format!("the worktree {name} cannot be made: {error}")))?;
    surroundings.complain(&format!(
        "working in the worktree {shown}, on the branch {branch}"
    ));
    Ok(Some(Worktree {
        folder,
        branch,
        source,
    }))
}

/// The output of git, or what it complains about.
fn git(surroundings: &Surroundings, directory: &Path, arguments: &[&str]) -> Result<String, String> {
    let search_path = surroundings.variables.get(OsStr::new("PATH"));
    let program = search_path
        .and_then(|places| program_outside("git", places, directory))
        .ok_or("there is no git on the PATH outside of the project")?;
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .envs(&surroundings.variables)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

impl Worktree {
    /// What a hook reads about the worktree.
    fn input(&self, agent: &str) -> Value {
        json!({
            "session_id": "",
            "cwd": self.folder,
            "hook_event_name": WORKTREE_CREATE.name,
            "agent_name": agent,
            "worktree_path": self.folder,
            "worktree_branch": self.branch,
            "worktree_source_dir": self.source,
        })
    }

    /// Asks the hooks of `worktree_create`, one after the other, in the worktree. Returns what they say; the error says
    /// which one does not want the run.
    pub async fn told_to(
        &self,
        hooks: &[HookEntry],
        agent: &str,
        environment: &HookEnvironment,
    ) -> Result<Vec<String>, CliError> {
        let mut lines = Vec::new();
        for hook in hooks.iter().filter(|hook| hook.event == WORKTREE_CREATE.name) {
            let HookKind::Command(command) = &hook.kind else {
                lines.push(format!("{}: only commands run before a session", hook.source));
                continue;
            };
            let program = crate::run::program_of(command, hook, environment, &mut lines);
            let lane = CommandLane::new(program).timeout_setting("timeout");
            let invocation = Invocation {
                input: Arc::from(self.input(agent).to_string()),
                environment: Vec::new(),
                directory: self.folder.clone(),
                timeout: hook.timeout,
            };
            let rules = Rules {
                contract: WORKTREE_CREATE,
                class: WORKTREE_CREATE.class,
                strict: hook.strict_output,
            };
            let heard = lane
                .run(invocation)
                .await
                .and_then(|finished| rules.hear(&finished));
            match heard {
                Ok(heard) => match heard.refused() {
                    Some(reason) => {
                        let name = hook.shown_name();
                        return Err(CliError::usage(format!(
                            "the hook {name} does not want this run: {reason}"
                        )));
                    }
                    None => lines.extend(heard.words()),
                },
                Err(failure) if hook.on_error == Some(OnError::Block) => {
                    return Err(CliError::usage(format!(
                        "the hook {} failed: {failure}",
                        hook.shown_name()
                    )));
                }
                Err(failure) => lines.push(format!("the hook {} failed: {failure}", hook.shown_name())),
            }
        }
        Ok(lines)
    }
}
