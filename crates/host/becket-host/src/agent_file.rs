//! An agent file: agents with their own models, tools, rules and commands, which replace becket's own agent.

use std::path::Path;
use std::sync::Arc;

use becket_agent::provider::{Provider, RequestOptions};
use becket_agent::team::Member;
use becket_agent::tool::Tool;
use becket_events::Profile;
use becket_providers::ProviderSettings;
use becket_system::{CliError, Surroundings};
use becket_tools::ToolSettings;
use serde_json::{Map, Value};

/// The option that names the agent file to run.
pub const AGENT_FILE: &str = "agent-file";

/// The option that names the agent of the file that the user talks to.
pub const AGENT: &str = "agent";

/// An agent file that was read.
pub trait AgentFile: Send + Sync {
    /// The names by which the models of the file know tools.
    fn profile(&self) -> Profile;

    /// The name of the agent that the user talks to.
    fn first_agent(&self) -> &str;

    /// The message that greets the user in a chat.
    fn welcome_message(&self) -> Option<&str>;

    /// The provider for the agent that the user talks to. A model that the command line names is used for all agents.
    fn provider(
        &self,
        model: Option<&str>,
        providers: &ProviderSettings,
        surroundings: &Surroundings,
    ) -> Result<Arc<dyn Provider>, CliError>;

    /// The agents that can take part, ready to work, and remarks for the user about them.
    fn members(&self, resources: &AgentResources<'_>) -> Result<(Vec<Member>, Vec<String>), CliError>;

    /// The prompts that the user can call by name.
    fn commands(&self, surroundings: &Surroundings) -> Result<Box<dyn AgentCommands>, CliError>;
}

/// Everything that the agents of a file are made of besides the file.
pub struct AgentResources<'a> {
    /// The model that the command line names.
    pub model: Option<&'a str>,
    /// How many requests one prompt may cause, if the command line says so.
    pub max_iterations: Option<u32>,
    /// The directory and the environment of the program.
    pub surroundings: &'a Surroundings,
    /// The provider of the first agent, and of all if the command line names a model.
    pub provider: &'a Arc<dyn Provider>,
    /// The user's settings about providers.
    pub providers: &'a ProviderSettings,
    /// The user's settings about tools.
    pub tools: &'a ToolSettings,
    /// The tools of an MCP server of the file, each with the server's own name for it.
    pub server_tools: &'a dyn Fn(&str) -> Vec<ServerTool>,
    /// The default options of requests to models.
    pub request: &'a RequestOptions,
    /// The directory that holds a folder for each context.
    pub contexts: &'a Path,
    /// The directory in which agents keep their memories, unless the file says otherwise.
    pub memories: &'a Path,
}

/// A tool of an MCP server, with the server's own name for it.
pub type ServerTool = (String, Arc<dyn Tool>);

/// The prompts of an agent file that the user can call by name.
pub trait AgentCommands: Send + Sync {
    /// The prompt that a line calls, if it calls one of this agent's; the error says why there is no prompt.
    fn call(&self, agent: &str, line: &str) -> Option<Result<CommandPrompt, String>>;

    /// The commands of an agent with their slashes, and what they do.
    fn names(&self, agent: &str) -> Vec<(String, String)>;
}

/// The commands of a session without an agent file: none.
pub struct NoCommands;

impl AgentCommands for NoCommands {
    fn call(&self, _: &str, _: &str) -> Option<Result<CommandPrompt, String>> {
        None
    }

    fn names(&self, _: &str) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// A prompt that was called by name.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandPrompt {
    /// The name of the command.
    pub name: String,
    /// The agent that is asked, if it is not the one that speaks now.
    pub agent: Option<String>,
    /// The pieces of the prompt, in order.
    pub pieces: Vec<Piece>,
}

/// A piece of a command's prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// A literal text.
    Text(String),
    /// The output of a tool.
    Call {
        /// The tool's name, as the model knows it.
        tool: String,
        /// The arguments, under the tool's own names.
        arguments: Map<String, Value>,
    },
}
