//! A hook as a docker-agent file writes it, whatever the file: an agent's, the person's settings, `hooks.d`, or the
//! command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use becket_events::Scope;
use becket_hooks::HookEnvironment;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::expand::expanded_value;
use super::output::Output;

/// How long a hook may take that says nothing about it.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

/// One hook of one event.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEntry {
    /// docker-agent's name of the event.
    pub event: &'static str,
    /// The tools that it wants to hear about, as a regular expression for the whole name; all of them when absent.
    pub matcher: Option<String>,
    /// Whether it is asked before anything else, and insists on the person where it asks.
    pub preempt_yolo: bool,
    /// What is run.
    pub kind: HookKind,
    /// What it is called.
    pub name: Option<String>,
    /// How long one run may take.
    pub timeout: Duration,
    /// Variables for its program.
    pub env: BTreeMap<String, String>,
    /// Where its program runs: absolute, or from the working directory.
    pub working_dir: Option<String>,
    /// What a failure means, where the event leaves it to the hook; a warning when nothing is said.
    pub on_error: Option<OnError>,
    /// Whether output that is not exactly one reply is a failure.
    pub strict_output: bool,
    /// Where it stands: a file and a line, or a flag of the command line.
    pub source: String,
}

impl HookEntry {
    /// The line in which it begins, where it stands in a file.
    pub fn line(&self) -> Option<usize> {
        // A hook that a flag of an agent stands for names the flag behind its line.
        let place = match self.source.strip_suffix(')') {
            Some(text) => text.rsplit_once(" (")?.0,
            None => &self.source,
        };
        place.rsplit_once(':')?.1.parse().ok()
    }

    /// What it is called in messages.
    pub fn shown_name(&self) -> String {
        match (&self.name, &self.kind) {
            (Some(name), _) => name.clone(),
            (None, HookKind::Builtin(builtin)) => builtin.name().to_owned(),
            (None, _) => format!("{} ({})", self.event, self.source),
        }
    }

    /// What its program finds in its environment.
    pub fn variables(&self, environment: &HookEnvironment) -> BTreeMap<OsString, OsString> {
        let mut variables = environment.variables.as_ref().clone();
        let mut missing = Vec::new();
        for (name, value) in &self.env {
            variables.insert(name.into(), expanded_value(value, environment, &mut missing));
        }
        variables
    }
}

/// What a hook runs.
#[derive(Debug, Clone, PartialEq)]
pub enum HookKind {
    /// A command of the shell.
    Command(String),
    /// A part of the program.
    Builtin(Builtin),
    /// A model that judges or comments.
    Model {
        /// The model, as `provider/name` or by its name in the agent file.
        model: String,
        /// The prompt, a template over the input.
        prompt: String,
        /// Whether its answer is a verdict; otherwise it is context.
        judges: bool,
    },
}

/// Hooks that are parts of the program, each with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Builtin {
    /// `add_date`
    AddDate,
    /// `add_environment_info`
    AddEnvironmentInfo,
    /// `add_prompt_files` with the names of files.
    AddPromptFiles(Vec<String>),
    /// `add_git_status`
    AddGitStatus,
    /// `add_git_diff`; whole with the argument `full`.
    AddGitDiff {
        /// Whether the diff is whole, and not its statistics only.
        full: bool,
    },
    /// `add_directory_listing`
    AddDirectoryListing,
    /// `add_user_info`
    AddUserInfo,
    /// `add_recent_commits` with their number.
    AddRecentCommits(u32),
    /// `add_context` with templates over the input.
    AddContext(Vec<String>),
    /// `max_iterations` with the limit; without one it does nothing.
    MaxIterations(Option<u32>),
    /// `snapshot`
    Snapshot,
    /// `redact_secrets`
    RedactSecrets,
    /// `http_post` with an address and a body.
    HttpPost {
        /// The address.
        url: String,
        /// The body; the input when absent.
        body: Option<String>,
    },
    /// `limit_large_tool_results`
    LimitLargeToolResults,
}

/// What a failure means on an event that is no guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It is reported, and the rest goes on.
    #[default]
    Warn,
    /// Nobody hears of it.
    Ignore,
    /// It blocks, where the event can be blocked.
    Block,
}

/// For whom hooks count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// For every agent: hooks of the person, of the command line and of `hooks.d`.
    Everybody,
    /// For one agent. Its guards also count for the agents below it.
    Agent {
        /// Its name.
        name: String,
        /// How far it stands from the first agent: outer ones are asked first.
        depth: usize,
    },
}

/// A call of a builtin.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinCall<'a> {
    /// Which one.
    pub builtin: &'a Builtin,
    /// docker-agent's name of the event.
    pub event: &'static str,
    /// Where and in whose name it happens.
    pub scope: &'a Scope,
    /// What a command would read.
    pub input: &'a Value,
}

/// Runs builtins. They look at the machine, and this crate does not.
pub trait Builtins: Send + Sync {
    /// Answers as a command would.
    fn call<'a>(&'a self, call: BuiltinCall<'a>) -> BoxFuture<'a, Result<Output, String>>;
}

/// Asks a model for a hook.
pub trait Judge: Send + Sync {
    /// The model's answer to a prompt under a system prompt, in the form of a JSON Schema if there is one.
    fn ask<'a>(
        &'a self,
        model: &'a str,
        system_prompt: &'a str,
        prompt: &'a str,
        schema: Option<Value>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, String>>;
}
