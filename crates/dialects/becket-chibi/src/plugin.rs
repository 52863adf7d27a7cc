//! A plugin's description of itself, and the facts about the host that it sees.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::Terminal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A plugin that was found and has answered `--schema`.
#[derive(Debug, Clone, PartialEq)]
pub struct Plugin {
    /// The name of the plugin's file or folder; plugins are asked in the order of these names.
    pub name: String,
    /// The program, with links resolved.
    pub path: PathBuf,
    /// The generation of chibi that the plugin was written for.
    pub generation: Generation,
    /// How the plugin talks to the user.
    pub terminal: TerminalNeed,
    /// How the plugin gets data that are too long for a variable.
    pub long: LongData,
    /// The plugin's tools. Hooks belong to the plugin, whichever of its tools lists them.
    pub tools: Vec<PluginTool>,
}

/// The two ways in which plugins were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// Data in environment variables, older names of tools and fields. Standard input has the data as well.
    Older,
    /// Data on standard input.
    Newer,
}

/// A plugin's use of the user's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalNeed {
    /// The plugin does not use the terminal.
    None,
    /// The plugin opens the terminal by itself to ask the user something.
    Opens,
    /// The plugin asks the user something on its standard input, when it is called as a tool.
    Reads,
}

/// How a plugin gets data that are too long for a variable of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LongData {
    /// Whether the plugin reads the file that `CHIBI_HOOK_DATA_FILE` names.
    pub reads_hook_file: bool,
    /// Whether the plugin reads the file that `CHIBI_TOOL_ARGS_FILE` names.
    pub reads_tool_file: bool,
    /// Whether the plugin reads the arguments of its tools from standard input.
    pub reads_input: bool,
}

/// One object of a plugin's schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginTool {
    /// The tool's name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    #[serde(default)]
    pub parameters: Value,
    /// The hooks that the plugin wants.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// Whether the tool may run in parallel with other calls.
    #[serde(default = "yes")]
    pub parallel: bool,
    /// Whether the tool only decides who speaks next.
    #[serde(default)]
    pub flow_control: bool,
    /// For flow control: whether the user speaks next.
    #[serde(default)]
    pub ends_turn: bool,
    /// Arguments that summarise a call.
    #[serde(default)]
    pub summary_params: Vec<String>,
}

/// The facts about their host that plugins see.
#[derive(Debug, Clone)]
pub struct HostFacts {
    /// chibi's home.
    pub chibi_home: PathBuf,
    /// The root of the project.
    pub project_root: PathBuf,
    /// How long one call of a hook may take.
    pub hook_timeout: Duration,
    /// The environment of plugins: the user's, without provider keys.
    pub environment: Arc<std::collections::BTreeMap<std::ffi::OsString, std::ffi::OsString>>,
    /// The user's terminal, if there is one.
    pub terminal: Option<Terminal>,
    /// Whether older plugins are told to be verbose.
    pub verbose: bool,
}

impl Plugin {
    /// The hooks that the plugin wants, each once, in its order.
    pub fn hooks(&self) -> Vec<&str> {
        let mut hooks: Vec<&str> = Vec::new();
        for name in self.tools.iter().flat_map(|tool| &tool.hooks) {
            if !hooks.contains(&name.as_str()) {
                hooks.push(name);
            }
        }
        hooks
    }
}

impl PluginTool {
    /// Whether the model continues with the argument `note` after the answer. chibi knew the one tool that does so by
    /// its name, and the tool itself is the same for newer versions.
    pub fn leaves_a_note(&self) -> bool {
        self.name == "recurse"
    }
}

fn yes() -> bool {
    true
}
