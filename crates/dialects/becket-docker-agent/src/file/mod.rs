//! Agent files: agents with their models, tools, hooks and commands, as docker-agent reads them.
//!
//! `written.rs` lists the keys. `read.rs` turns them into the types below and resolves every reference, so that code
//! that assembles agents meets no unknown names.

mod duration;
mod first;
mod flags;
mod read;
mod reader;
#[cfg(test)]
mod tests;
mod toolset;
mod written;
pub use read::provider_keys;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::ThinkingLevel;
use becket_providers::Price;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::HookEntry;

/// An agent file.
#[derive(Debug)]
pub struct AgentFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The agents, in the order of the file; at least one.
    pub agents: Vec<AgentDefinition>,
    /// The models, by their names.
    pub models: BTreeMap<String, ModelDefinition>,
    /// The rules about tool calls.
    pub permissions: Permissions,
    /// How much is asked, if the file says so for all agents.
    pub safety: Option<Safety>,
    /// How much may be spent.
    pub budgets: Vec<Budget>,
    /// Whether toolsets were left out, so that rules may name tools that are not there.
    pub lacks_toolsets: bool,
    /// Remarks about keys that have no effect in becket.
    pub remarks: Vec<String>,
}

/// How much is asked before tools run, if that is more than usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Safety {
    /// The user is asked about every call.
    Strict,
    /// A call that would need a yes is refused.
    Restricted,
}

/// One agent of a file.
#[derive(Debug)]
pub struct AgentDefinition {
    /// The agent's name.
    pub name: String,
    /// The line in which the agent begins.
    pub line: usize,
    /// The agent's model; any available one when absent.
    pub model: Option<ModelDefinition>,
    /// The agent's purpose, as other agents are told.
    pub description: String,
    /// The message that greets the user.
    pub welcome_message: Option<String>,
    /// The agent's system prompt.
    pub instruction: String,
    /// The JSON Schema of the agent's answers.
    pub answer_schema: Option<Arc<Value>>,
    /// How much is asked when the user talks to this agent.
    pub safety: Option<Safety>,
    /// The agent's toolsets.
    pub toolsets: Vec<Toolset>,
    /// The agents to which this one can give tasks.
    pub sub_agents: Vec<String>,
    /// The agents to which this one can hand the conversation.
    pub handoffs: Vec<String>,
    /// The agent that continues the conversation after each answer of this one.
    pub force_handoff: Option<String>,
    /// Prompts that the user can call by name.
    pub commands: BTreeMap<String, CommandDefinition>,
    /// The agent's hooks; those that come from flags are last.
    pub hooks: Vec<HookEntry>,
    /// How many requests one prompt may cause.
    pub max_iterations: Option<u32>,
    /// After how many identical rounds of calls the agent is stopped.
    pub max_identical_rounds: Option<u32>,
}

/// What agents may spend together. A limit that is absent restricts nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budget {
    /// The budget's place in the file: `budget` or `budgets.NAME`.
    pub place: String,
    /// The line in which the budget begins.
    pub line: usize,
    /// The agents that draw from the budget; all agents when absent.
    pub agents: Option<Vec<String>>,
    /// US dollars.
    pub max_cost: Option<f64>,
    /// Tokens, sent and received.
    pub max_tokens: Option<u64>,
    /// How long the agents may work.
    pub max_time: Option<Duration>,
}

impl Budget {
    /// Whether an agent draws from the budget.
    pub fn is_of(&self, agent: &str) -> bool {
        let mut agents = self.agents.iter().flatten();
        self.agents.is_none() || agents.any(|name| name == agent)
    }
}

/// A model, with everything that its provider adds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelDefinition {
    /// The provider's name.
    pub provider: String,
    /// The provider's name for the model.
    pub model: String,
    /// The line in which the file defines or names the model.
    pub line: usize,
    /// The provider's interface, unless it follows from the provider's name.
    pub interface: Option<Interface>,
    /// The address of the provider's interface.
    pub base_url: Option<String>,
    /// The variable that holds the provider's key.
    pub token_key: Option<String>,
    /// The options of sampling and length.
    pub sampling: Sampling,
    /// The price, if the file gives one.
    pub price: Option<Price>,
    /// Models that are asked in turn with this one.
    pub in_turn: Vec<ModelDefinition>,
    /// Models that are asked instead if there is no key for this one; the first that can be asked counts.
    pub instead: Vec<ModelDefinition>,
    /// Further headers of every request; their values may name variables.
    pub headers: BTreeMap<String, String>,
    /// The address that unloads the model.
    pub unload_api: Option<String>,
}

/// The options of requests to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    /// The temperature.
    pub temperature: Option<f64>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u64>,
    /// The share of likely tokens among which the model chooses.
    pub top_p: Option<f64>,
    /// How strongly the model avoids tokens that it has used often.
    pub frequency_penalty: Option<f64>,
    /// How strongly the model avoids tokens that it has used at all.
    pub presence_penalty: Option<f64>,
    /// Whether the model may request several calls at once.
    pub parallel_tool_calls: Option<bool>,
    /// How much the model thinks before it answers.
    pub thinking: Option<ThinkingLevel>,
}

/// An interface of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// OpenAI's chat completions.
    OpenAi,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
}

/// A set of tools of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Toolset {
    /// The line in which the toolset begins.
    pub line: usize,
    /// The kind of the toolset.
    pub kind: ToolsetKind,
    /// The tools that are offered; all tools of the set when absent.
    pub tools: Option<Vec<String>>,
    /// The agent's instruction about the toolset.
    pub instruction: Option<String>,
    /// Whether only tools are offered that change nothing.
    pub readonly: bool,
    /// What the tools may reach.
    pub fence: Fence,
    /// Whether commands that destroy something always need the user's yes.
    pub safer: bool,
}

/// What the tools of a toolset may reach. An empty list restricts nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fence {
    /// Folders outside of which nothing may be read or written.
    pub allow_list: Vec<String>,
    /// Folders in which nothing may be read or written.
    pub deny_list: Vec<String>,
    /// Hosts and networks beside which nothing may be fetched.
    pub allowed_domains: Vec<String>,
    /// Hosts and networks from which nothing may be fetched.
    pub blocked_domains: Vec<String>,
    /// Whether nothing may be fetched from this machine and private networks.
    pub refuses_private: bool,
}

/// The kinds of toolsets.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolsetKind {
    /// Tools that are built into the program.
    Builtin {
        /// docker-agent's name of the kind.
        name: String,
        /// Variables for the programs that the tools start.
        env: BTreeMap<String, String>,
        /// The file in which the tools keep their memory.
        path: Option<String>,
        /// How many seconds a request may take.
        timeout: Option<u64>,
    },
    /// Shell commands, each with its own name.
    Script(Vec<ScriptDefinition>),
    /// A tool that opens an address in the user's browser.
    OpenUrl {
        /// The tool's name.
        name: String,
        /// The address.
        url: String,
    },
    /// Tools of an MCP server.
    Mcp(McpDefinition),
}

/// A shell command that is offered as a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptDefinition {
    /// The tool's name.
    pub name: String,
    /// The tool's description.
    pub description: String,
    /// The shell command.
    pub command: String,
    /// The schemas of the tool's arguments, which the command gets as variables.
    pub arguments: Map<String, Value>,
    /// The arguments that must be given.
    pub required: Vec<String>,
    /// Variables for the command.
    pub env: BTreeMap<String, String>,
    /// The directory in which the command runs, relative to the working directory.
    pub working_dir: Option<String>,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpDefinition {
    /// The prefix of the names of the server's tools; without it they keep their own names.
    pub name: Option<String>,
    /// How the server is reached.
    pub reach: McpReach,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum McpReach {
    /// The server is a program.
    Program {
        /// The executable.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Variables for the program.
        env: BTreeMap<String, String>,
        /// The directory in which the program runs, relative to the working directory.
        working_dir: Option<String>,
    },
    /// The server is a service on the web.
    Web {
        /// The service's address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// Whether the service speaks the protocol's older form, `sse`.
        is_event_stream: bool,
    },
    /// The server is in Docker's catalogue, and a gateway runs it.
    Catalogue {
        /// The server's name in the catalogue.
        server: String,
        /// Variables for the gateway.
        env: BTreeMap<String, String>,
    },
}

/// A prompt that the user can call by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDefinition {
    /// The purpose of the command.
    pub description: Option<String>,
    /// The prompt, a template; when absent, the text after the command's name.
    pub instruction: Option<String>,
    /// The agent that gets the prompt.
    pub agent: Option<String>,
}

/// The rules of a file in docker-agent's syntax, each with its line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "written::WrittenPermissions")]
pub struct Permissions {
    /// Rules for calls that are allowed without asking.
    pub allow: Vec<(String, usize)>,
    /// Rules for calls that the user is always asked about.
    pub ask: Vec<(String, usize)>,
    /// Rules for calls that are refused.
    pub deny: Vec<(String, usize)>,
}

impl AgentFile {
    /// The agent that the user talks to by default: `root`, or the first.
    pub fn default_agent(&self) -> &AgentDefinition {
        self.agent("root").unwrap_or(&self.agents[0])
    }

    /// The agent with that name.
    pub fn agent(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}
