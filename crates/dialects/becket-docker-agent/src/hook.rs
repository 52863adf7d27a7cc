//! A hook as docker-agent writes it, in any place: an agent file, the user's settings, `hooks.d`, or the command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use becket_events::Scope;
use becket_hooks::HookEnvironment;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::expand::expanded_value;
use super::output::Output;

/// How long a hook may take by default.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

/// One hook of one event.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEntry {
    /// docker-agent's name of the event.
    pub event: &'static str,
    /// The tools that the hook is for, as a regular expression for the whole name; all tools when absent.
    pub matcher: Option<String>,
    /// Whether the hook is asked before all others, and only the user can answer when it asks.
    pub preempt_yolo: bool,
    /// The action of the hook.
    pub kind: HookKind,
    /// The hook's name.
    pub name: Option<String>,
    /// How long one run of the hook may take.
    pub timeout: Duration,
    /// Variables for the hook's program.
    pub env: BTreeMap<String, String>,
    /// The directory in which the hook's program runs: absolute, or relative to the working directory.
    pub working_dir: Option<String>,
    /// What a failure means, if the event leaves it to the hook; default: a warning.
    pub on_error: Option<OnError>,
    /// Whether output that is not exactly one reply is a failure.
    pub strict_output: bool,
    /// The place where the hook is defined: a file and a line, or a flag of the command line.
    pub source: String,
}

impl HookEntry {
    /// The line in which the hook begins, if it is defined in a file.
    pub fn line(&self) -> Option<usize> {
        // A hook that comes from a flag of an agent has the flag in parentheses after its line.
        let place = match self.source.strip_suffix(')') {
            Some(text) => text.rsplit_once(" (")?.0,
            None => &self.source,
        };
        place.rsplit_once(':')?.1.parse().ok()
    }

    /// The hook's name in messages.
    pub fn shown_name(&self) -> String {
        match (&self.name, &self.kind) {
            (Some(name), _) => name.clone(),
            (None, HookKind::Builtin(builtin)) => builtin.name().to_owned(),
            (None, _) => format!("{} ({})", self.event, self.source),
        }
    }

    /// The environment of the hook's program.
    pub fn variables(&self, environment: &HookEnvironment) -> BTreeMap<OsString, OsString> {
        let mut variables = environment.variables.as_ref().clone();
        let mut missing = Vec::new();
        for (name, value) in &self.env {
            variables.insert(name.into(), expanded_value(value, environment, &mut missing));
        }
        variables
    }
}

/// The action of a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookKind {
    /// A shell command.
    Command(String),
    /// A hook that is built into the program.
    Builtin(Builtin),
    /// A model that judges or comments.
    Model {
        /// The model, as `provider/name` or by its name in the agent file.
        model: String,
        /// The prompt, a template over the input.
        prompt: String,
        /// Whether the model's answer is a verdict; otherwise it is context.
        judges: bool,
    },
}

/// The hooks that are built into the program, each with its arguments.
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
    /// `max_iterations` with the limit; without one the hook does nothing.
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
    /// `elide_repeated_tool_results`
    ElideRepeatedToolResults,
    /// `safer_shell`
    SaferShell,
    /// `unload`
    Unload,
    /// A question to the user in the place of an evaluator. Files cannot name it.
    AskUser,
}

/// What a failure means on an event that is no guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// A failure is reported, and the run continues.
    #[default]
    Warn,
    /// A failure is not reported.
    Ignore,
    /// A failure blocks, if the event can be blocked.
    Block,
}

/// The owner of hooks: the agents that they are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Hooks for every agent: of the user, of the command line and of `hooks.d`.
    Everybody,
    /// Hooks for one agent. Its guards are also asked for the agents below it.
    Agent {
        /// The agent's name.
        name: String,
        /// The agent's distance from the first agent: hooks of outer agents are asked first.
        depth: usize,
    },
}

/// A call of a builtin.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinCall<'a> {
    /// The builtin that is called.
    pub builtin: &'a Builtin,
    /// docker-agent's name of the event.
    pub event: &'static str,
    /// The session and the agent in which the event happens.
    pub scope: &'a Scope,
    /// The input that a command would read.
    pub input: &'a Value,
    /// Variables of the hook for the programs that the builtin starts.
    pub env: &'a BTreeMap<OsString, OsString>,
}

/// Runs builtins. Builtins look at the machine, which the hooks of this crate do not.
pub trait Builtins: Send + Sync {
    /// Runs a builtin, which answers as a command would.
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
