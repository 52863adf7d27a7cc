//! What a plugin says of itself, and what it is told of the host it runs in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::Terminal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A plugin that was found and has answered `--schema`.
#[derive(Debug, Clone, PartialEq)]
pub struct Plugin {
    /// The name of its file or folder; plugins are asked in the order of these names.
    pub name: String,
    /// The program, resolved.
    pub path: PathBuf,
    /// What it expects of its host.
    pub generation: Generation,
    /// How it talks to the person.
    pub terminal: TerminalNeed,
    /// The tools it brings. Hooks belong to the plugin, whichever of its tools lists them.
    pub tools: Vec<PluginTool>,
}

/// The two ways in which plugins were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// Data in variables of the environment, older names of tools and fields. It gets standard input as well.
    Older,
    /// Data on standard input.
    Newer,
}

/// What a plugin needs of the person's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalNeed {
    /// Nothing.
    None,
    /// It opens the terminal by itself to ask the person something.
    Opens,
    /// It asks the person something on its standard input, when it is called as a tool.
    Reads,
}

/// One object of a plugin's schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginTool {
    /// The tool's name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(default)]
    pub parameters: Value,
    /// The hooks it wants.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// Whether it may run beside other calls.
    #[serde(default = "yes")]
    pub parallel: bool,
    /// Whether it does nothing but say who has the word.
    #[serde(default)]
    pub flow_control: bool,
    /// For flow control: whether the person has the word.
    #[serde(default)]
    pub ends_turn: bool,
    /// Arguments that tell a call in a few words.
    #[serde(default)]
    pub summary_params: Vec<String>,
}

/// What plugins are told of their host.
#[derive(Debug, Clone)]
pub struct Host {
    /// chibi's home.
    pub chibi_home: PathBuf,
    /// The root of the project.
    pub project_root: PathBuf,
    /// How long one call of a hook may take.
    pub hook_timeout: Duration,
    /// What plugins inherit: the person's environment without provider keys.
    pub environment: Arc<std::collections::BTreeMap<std::ffi::OsString, std::ffi::OsString>>,
    /// The person's terminal, if somebody sits there.
    pub terminal: Option<Terminal>,
    /// Whether older plugins are told to be talkative.
    pub verbose: bool,
}

impl Plugin {
    /// The hooks it wants, each once, in the order in which it names them.
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
    /// Whether the model goes on with its argument `note` after the answer. The older generation knew the one tool that
    /// does so by its name.
    pub fn leaves_a_note(&self, generation: Generation) -> bool {
        generation == Generation::Older && self.name == "recurse"
    }
}

fn yes() -> bool {
    true
}
