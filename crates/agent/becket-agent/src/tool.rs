//! What the agent needs of a tool.
//!
//! A tool gets its arguments from a `Permit` and from nowhere else, so what runs is what was judged. Only the gate
//! (`gate.rs`) makes permits, and running a tool uses one up.

use std::sync::Arc;

use becket_events::{OperationKind, Part, PartialResult};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::gate::Permit;
use crate::provider::ToolFace;
use crate::subagent::Parent;

/// Something that the model can ask for.
pub trait Tool: Send + Sync {
    /// How the tool presents itself.
    fn spec(&self) -> &ToolSpec;

    /// Arguments in becket's own words, from what the model wrote. Aliases end here, before anybody judges the call.
    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String>;

    /// A call in a few words, for the person. Without any, its first argument stands for it.
    fn summary(&self, arguments: &Map<String, Value>) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Names besides that of its face by which the model knows what it does. What is forbidden or asked about by one of
    /// them is so here.
    fn other_names(&self) -> &[String] {
        &[]
    }

    /// What a call does on the network, for a tool that is no operation. The gate judges it.
    fn network(&self, arguments: &Map<String, Value>) -> NetworkUse {
        let _ = arguments;
        NetworkUse::None
    }

    /// Whether it asks sub-agents. Where they would be too deep, it is not offered.
    fn asks_agents(&self) -> bool {
        false
    }

    /// Whether it makes further calls. Each of those waits for its turn by itself.
    fn makes_calls(&self) -> bool {
        self.asks_agents()
    }

    /// The tool that makes a call in its place, where the arguments, as the model wrote them, want more than this one
    /// does.
    fn in_its_place(&self, arguments: &str) -> Option<Arc<dyn Tool>> {
        let _ = arguments;
        None
    }

    /// Ends what it has left running for a session that is over.
    fn end_session<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, ()> {
        let _ = session_id;
        Box::pin(std::future::ready(()))
    }

    /// Whether the person has put it there, so that it needs no yes; the gate knows of others by their source.
    fn is_installed(&self) -> bool {
        false
    }

    /// Runs the call that the permit allows.
    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput>;
}

/// What a call does on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkUse {
    /// Nothing, as far as becket knows.
    None,
    /// It talks to somebody whom its arguments do not name.
    Unnamed,
    /// It fetches this address.
    Address(String),
    /// It cannot be told what it would fetch, for this reason, and so it does not run.
    Unclear(String),
}

/// The source of becket's own tools.
pub const BUILTIN: &str = "builtin";

/// How the source of a tool begins that belongs to an MCP server; its name follows.
pub const SERVER: &str = "mcp:";

/// How a tool presents itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The tool as the model knows it.
    pub face: ToolFace,
    /// Its name in becket's own words; what hooks and rules see.
    pub own_name: String,
    /// What it does, where it is one of becket's operations.
    pub operation: Option<OperationKind>,
    /// Where it comes from: `builtin`, the name of the plugin, or `mcp:` and the name of the server.
    pub source: String,
    /// Whether it changes nothing, or nothing but notes and messages of the person's own contexts, so that
    /// nobody needs to be asked.
    pub read_only: bool,
    /// Whether it may run beside other calls of the same answer.
    pub parallel: bool,
    /// Who has the word after it, for a tool that says so.
    pub handoff: Option<Handoff>,
    /// Arguments that it has besides those of its operation. Hooks and rules see them; what is judged is the operation.
    pub extra_arguments: Vec<String>,
}

impl ToolSpec {
    /// Whether it belongs to an MCP server: where its calls lead, nobody here can see.
    pub fn is_of_a_server(&self) -> bool {
        self.source.starts_with(SERVER)
    }

    /// Arguments of the operation, and those besides.
    pub fn apart(&self, arguments: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
        arguments
            .into_iter()
            .partition(|(name, _)| !self.extra_arguments.contains(name))
    }
}

/// Who has the word after a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handoff {
    /// The person: the turn ends, with the argument `message` as the last words.
    Person,
    /// The model: it goes on with the argument `prompt`.
    Model,
    /// The model, but only when it has answered: then it goes on with the argument `note`.
    ModelLater,
    /// The member of the team that the argument `agent` names: it goes on with the conversation.
    Member,
}

/// What a running tool can use besides its permit.
#[derive(Debug, Clone)]
pub struct ToolRun {
    /// Takes what the tool has to tell while it runs.
    pub progress: mpsc::UnboundedSender<Progress>,
    /// Tells when the call is cancelled; the tool then ends soon.
    pub cancel: CancellationToken,
    /// The session that makes the call, for a tool that asks sub-agents or makes further calls.
    pub parent: Option<Parent>,
}

/// What a running tool tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// More output.
    Output(String),
    /// What its result would be by now.
    Partial(PartialResult),
}

impl From<String> for Progress {
    fn from(output: String) -> Self {
        Self::Output(output)
    }
}

impl From<&str> for Progress {
    fn from(output: &str) -> Self {
        Self::Output(output.into())
    }
}

/// What a tool produced. A failure is an output too: the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model sees.
    pub content: Vec<Part>,
    /// Whether it failed.
    pub is_error: bool,
    /// Data for hooks and front ends that the model does not see.
    pub details: Option<Value>,
    /// Whether the model need not be asked again. The run ends if every call of its answer says so.
    pub ends_run: bool,
}

impl ToolOutput {
    /// Words of success.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Part::text(text)],
            is_error: false,
            details: None,
            ends_run: false,
        }
    }

    /// Words of failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            content: vec![Part::text(text)],
            is_error: true,
            details: None,
            ends_run: false,
        }
    }
}
