//! Agent files: agents with their models, tools, hooks and commands, as docker-agent reads them.
//!
//! `written.rs` says which keys there are. `read.rs` makes the types below of them, with everything resolved that a
//! file can refer to, so that who puts agents together finds no names any more that lead nowhere.

mod flags;
mod read;
#[cfg(test)]
mod tests;
mod toolset;
mod written;
pub use read::provider_keys;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::HookEntry;

/// An agent file.
#[derive(Debug)]
pub struct AgentFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its agents, in the order of the file; at least one.
    pub agents: Vec<AgentDefinition>,
    /// Its models, by their names.
    pub models: BTreeMap<String, ModelDefinition>,
    /// Who may do what.
    pub permissions: Permissions,
    /// What stands in it and has no effect here.
    pub remarks: Vec<String>,
}

/// One agent.
#[derive(Debug)]
pub struct AgentDefinition {
    /// Its name.
    pub name: String,
    /// Where it begins in the file.
    pub line: usize,
    /// Its model; whatever can be had when absent.
    pub model: Option<ModelDefinition>,
    /// What it is good for, as other agents are told.
    pub description: String,
    /// What the person is greeted with.
    pub welcome_message: Option<String>,
    /// Its system prompt.
    pub instruction: String,
    /// What it works with.
    pub toolsets: Vec<Toolset>,
    /// The agents that it can give tasks to.
    pub sub_agents: Vec<String>,
    /// The agents that it can hand the conversation to.
    pub handoffs: Vec<String>,
    /// Prompts that the person can call by name.
    pub commands: BTreeMap<String, CommandDefinition>,
    /// Its hooks, those that its flags stand for last.
    pub hooks: Vec<HookEntry>,
    /// How many requests one prompt may cause.
    pub max_iterations: Option<u32>,
    /// After how many identical rounds of calls it is stopped.
    pub max_identical_rounds: Option<u32>,
}

/// A model, with everything that its provider says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelDefinition {
    /// The provider's name.
    pub provider: String,
    /// The model's name there.
    pub model: String,
    /// Where the file speaks of it.
    pub line: usize,
    /// The interface that the provider speaks, where that is not plain from its name.
    pub interface: Option<Interface>,
    /// The address of its interface.
    pub base_url: Option<String>,
    /// The variable that holds its key.
    pub token_key: Option<String>,
    /// Sampling and length.
    pub sampling: Sampling,
}

/// How a model is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    /// The temperature.
    pub temperature: Option<f64>,
    /// The longest answer in tokens.
    pub max_tokens: Option<u64>,
    /// The share of likely words among which it chooses.
    pub top_p: Option<f64>,
    /// How much it avoids what it has said often.
    pub frequency_penalty: Option<f64>,
    /// How much it avoids what it has said at all.
    pub presence_penalty: Option<f64>,
    /// Whether it may ask for several calls at once.
    pub parallel_tool_calls: Option<bool>,
}

/// An interface of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// OpenAI's chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// Some tools of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Toolset {
    /// Where it begins in the file.
    pub line: usize,
    /// What it is.
    pub kind: ToolsetKind,
    /// The only tools of it that are offered; all when absent.
    pub tools: Option<Vec<String>>,
    /// What the agent is told about it.
    pub instruction: Option<String>,
    /// Whether only those of its tools are offered that change nothing.
    pub readonly: bool,
}

/// The kinds of toolsets.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolsetKind {
    /// Tools that are parts of the program.
    Builtin {
        /// docker-agent's name of the kind.
        name: String,
        /// Variables for the programs that they start.
        env: BTreeMap<String, String>,
        /// Where they keep what they remember.
        path: Option<String>,
        /// How many seconds a request may take.
        timeout: Option<u64>,
    },
    /// Commands of the shell, each under a name of its own.
    Script(Vec<ScriptDefinition>),
    /// Tools of an MCP server.
    Mcp(McpDefinition),
}

/// A command of the shell that is offered as a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptDefinition {
    /// The tool's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The command.
    pub command: String,
    /// The schemas of its arguments, which the command gets as variables.
    pub arguments: Map<String, Value>,
    /// Those that must be given.
    pub required: Vec<String>,
    /// Variables for it.
    pub env: BTreeMap<String, String>,
    /// Where it runs, seen from the working directory.
    pub working_dir: Option<String>,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpDefinition {
    /// What the names of its tools begin with; they keep their own names when absent.
    pub name: Option<String>,
    /// How it is reached.
    pub reach: McpReach,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum McpReach {
    /// A program.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: BTreeMap<String, String>,
        /// Where it runs, seen from the working directory.
        working_dir: Option<String>,
    },
    /// A service on the web.
    Web {
        /// Its address.
        url: String,
        /// What goes with every request.
        headers: BTreeMap<String, String>,
    },
}

/// A prompt that the person can call by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDefinition {
    /// What it is for.
    pub description: Option<String>,
    /// The prompt, a template; what follows the name when absent.
    pub instruction: Option<String>,
    /// The agent that gets it.
    pub agent: Option<String>,
}

/// Rules of a file, in docker-agent's words, each with its line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "written::WrittenPermissions")]
pub struct Permissions {
    /// Calls that nobody needs to be asked about.
    pub allow: Vec<(String, usize)>,
    /// Calls that the person is asked about in any case.
    pub ask: Vec<(String, usize)>,
    /// Calls that do not happen.
    pub deny: Vec<(String, usize)>,
}

impl AgentFile {
    /// The agent that the person talks to where none is named: `root`, or the first.
    pub fn default_agent(&self) -> &AgentDefinition {
        self.agent("root").unwrap_or(&self.agents[0])
    }

    /// The agent with that name.
    pub fn agent(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}
