//! What an agent is told at its start.

use std::path::PathBuf;
use std::time::Duration;

use becket_events::Fallback;

use crate::gate::ApprovalSettings;
use crate::provider::RequestOptions;

/// What an agent is told at its start. `Default` is fit for tests: everything in the current directory, nobody asked.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// The agent's name.
    pub agent_name: String,
    /// becket's home, as hooks are told.
    pub home: PathBuf,
    /// The root of the project.
    pub project_root: PathBuf,
    /// The directory in which the agent works.
    pub cwd: PathBuf,
    /// Holds a folder for each context, with its own files: system prompt, todos, goals.
    pub contexts: PathBuf,
    /// The folder behind the virtual file system.
    pub vfs: PathBuf,
    /// The system prompt, before hooks and instructions are added.
    pub instructions: String,
    /// Texts that are added to the system prompt, such as AGENTS.md, each with its origin.
    pub prompt_files: Vec<(String, String)>,
    /// How many requests one prompt may cause.
    pub max_iterations: u32,
    /// How many rounds of tools one prompt may cause; `None` for no limit of its own.
    pub fuel: Option<u32>,
    /// Who goes on when the model has answered.
    pub fallback: Fallback,
    /// After how many identical rounds of tool calls in a row the run ends.
    pub max_identical_rounds: u32,
    /// How often a request is tried again.
    pub max_retries: u32,
    /// How long the first wait before another try is; it doubles each time.
    pub retry_delay: Duration,
    /// How long a provider may be silent in the middle of an answer.
    pub idle_timeout: Duration,
    /// Outputs of more bytes than this are put aside, with a preview for the model.
    pub output_limit: usize,
    /// How many characters that preview has.
    pub preview_chars: usize,
    /// Sampling and length.
    pub options: RequestOptions,
    /// Who may do what without being asked.
    pub approval: ApprovalSettings,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            agent_name: "becket".into(),
            home: PathBuf::new(),
            project_root: PathBuf::from("."),
            cwd: PathBuf::from("."),
            contexts: PathBuf::from("contexts"),
            vfs: PathBuf::from("vfs"),
            instructions: INSTRUCTIONS.into(),
            prompt_files: Vec::new(),
            max_iterations: 200,
            fuel: None,
            fallback: Fallback::CallUser,
            max_identical_rounds: 5,
            max_retries: 3,
            retry_delay: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(120),
            output_limit: 50_000,
            preview_chars: 2_000,
            options: RequestOptions::default(),
            approval: ApprovalSettings::default(),
        }
    }
}

const INSTRUCTIONS: &str = "You are becket, an assistant that works in the person's terminal. Use the tools to do what \
is asked. A tool call may be refused; then the result says why: do not try to get around the refusal.";
