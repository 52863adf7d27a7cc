//! What the gate must know of a tool that is called: its description, and where its calls lead.

use std::path::Path;

use becket_events::{Operation, OperationKind, Schema};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::question::Preview;

/// A tool as the gate sees it.
pub trait CalledTool: Send + Sync {
    /// The tool's description.
    fn spec(&self) -> &ToolSpec;

    /// A call in a few words, for the user. Without a summary, the first argument is shown.
    fn summary(&self, arguments: &Map<String, Value>) -> Option<String>;

    /// Further names by which the model may know the tool. What is forbidden or asked about by one of them is so here.
    fn other_names(&self) -> &[String];

    /// How a call uses the network, for a tool that is no operation.
    fn network(&self, arguments: &Map<String, Value>) -> NetworkUse;

    /// What the call would change in the file that it touches, for the user; nothing is changed. `None` if the tool
    /// cannot tell, or changes no file.
    fn preview<'a>(&'a self, operation: &'a Operation, file: &'a Path) -> BoxFuture<'a, Option<Preview>>;

    /// Whether a tool that is no operation tells or changes something beyond the context's own notes, although it needs
    /// no yes: where only reading is allowed, it is refused.
    fn reaches_others(&self) -> bool;

    /// Whether the user has installed the tool, so that it needs no yes; the gate knows others by their source.
    fn is_installed(&self) -> bool;
}

/// A tool as the model knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFace {
    /// The tool's name.
    pub name: String,
    /// The tool's description.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    pub parameters: Schema,
    /// The operation, if the tool is one of becket's operations.
    pub operation: Option<OperationKind>,
}

/// How a call uses the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkUse {
    /// Nothing, as far as becket knows.
    None,
    /// The call talks to a host that its arguments do not name.
    Unnamed,
    /// The call fetches this address.
    Address(String),
    /// The address cannot be determined, for this reason, so the call does not run.
    Unclear(String),
}

/// The source of becket's own tools.
pub const BUILTIN: &str = "builtin";

/// The prefix of the source of an MCP server's tools; the server's name follows.
pub const SERVER: &str = "mcp:";

/// A tool's description.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The tool as the model knows it.
    pub face: ToolFace,
    /// Becket's own name for the tool, which hooks and rules see.
    pub own_name: String,
    /// The operation, if the tool is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// The tool's source: `builtin`, the name of the plugin, or `mcp:` and the name of the server.
    pub source: String,
    /// Whether the tool changes nothing, or only notes and messages of the user's own contexts, so that no question is
    /// needed.
    pub read_only: bool,
    /// Whether the tool may run beside other calls of the same answer.
    pub parallel: bool,
    /// Who speaks next after the tool, if the tool decides that.
    pub handoff: Option<Handoff>,
    /// Arguments besides those of the operation. Hooks and rules see them; what is judged is the operation.
    pub extra_arguments: Vec<String>,
}

impl ToolSpec {
    /// Whether the tool belongs to an MCP server: becket cannot see where its calls lead.
    pub fn is_of_a_server(&self) -> bool {
        self.source.starts_with(SERVER)
    }

    /// Whether the tool is becket's own and only ends the turn.
    pub fn only_ends_turn(&self) -> bool {
        self.handoff == Some(Handoff::Person) && self.source == BUILTIN
    }

    /// The arguments of the operation, and the others.
    pub fn apart(&self, arguments: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
        arguments
            .into_iter()
            .partition(|(name, _)| !self.extra_arguments.contains(name))
    }
}

/// Who speaks next after a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handoff {
    /// The user: the turn ends, with the argument `message` as the last message.
    Person,
    /// The model, with the argument `prompt`.
    Model,
    /// The model, after its answer, with the argument `note`.
    ModelLater,
    /// The member of the team that the argument `agent` names, which takes over the conversation.
    Member,
}
