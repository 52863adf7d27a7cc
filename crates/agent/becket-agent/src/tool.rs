//! The interface of a tool.
//!
//! A tool gets its arguments from a `Permit` and from nowhere else, so what runs is what was judged. Only the gate
//! (`becket-gate`) makes permits, and running a tool uses one up.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use becket_events::{Operation, Part, PartialResult, Scope};
use becket_gate::called_tool::CalledTool;
use becket_gate::gate::Permit;
use becket_gate::question::Preview;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::direct_call::DirectCall;
use crate::subagent::{SubAgent, SubAgentEnd};

pub use becket_gate::called_tool::{BUILTIN, Handoff, NetworkUse, SERVER, ToolSpec};

/// Something that the model can call.
pub trait Tool: Send + Sync {
    /// The tool's description.
    fn spec(&self) -> &ToolSpec;

    /// Arguments under becket's own names, from what the model wrote. Aliases end here, before the call is judged.
    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String>;

    /// A call in a few words, for the user. Without a summary, the first argument is shown.
    fn summary(&self, arguments: &Map<String, Value>) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Further names by which the model may know the tool. What is forbidden or asked about by one of them is so here.
    fn other_names(&self) -> &[String] {
        &[]
    }

    /// How a call uses the network, for a tool that is no operation. The gate judges it.
    fn network(&self, arguments: &Map<String, Value>) -> NetworkUse {
        let _ = arguments;
        NetworkUse::None
    }

    /// Whether the tool asks sub-agents. Where they would be too deep, it is not offered.
    fn asks_agents(&self) -> bool {
        false
    }

    /// Whether the tool makes further calls. Each of these waits for its own turn.
    fn makes_calls(&self) -> bool {
        self.asks_agents()
    }

    /// Another tool that makes the call instead, if the arguments, as the model wrote them, need more than this one can
    /// do.
    fn in_its_place(&self, arguments: &str) -> Option<Arc<dyn Tool>> {
        let _ = arguments;
        None
    }

    /// Ends what the tool has left running for a session that is over.
    fn end_session<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, ()> {
        let _ = session_id;
        Box::pin(std::future::ready(()))
    }

    /// What the call would change in the file that it touches, for the user; nothing is changed. `None` if the tool
    /// cannot tell, or changes no file.
    fn preview<'a>(&'a self, operation: &'a Operation, file: &'a Path) -> BoxFuture<'a, Option<Preview>> {
        let _ = (operation, file);
        Box::pin(std::future::ready(None))
    }

    /// Whether a tool that is no operation tells or changes something beyond the context's own notes, although it needs
    /// no yes: where only reading is allowed, it is refused.
    fn reaches_others(&self) -> bool {
        false
    }

    /// Whether the user has installed the tool, so that it needs no yes; the gate knows others by their source.
    fn is_installed(&self) -> bool {
        false
    }

    /// Runs the call that the permit allows.
    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput>;
}

impl CalledTool for &dyn Tool {
    fn spec(&self) -> &ToolSpec {
        (**self).spec()
    }

    fn summary(&self, arguments: &Map<String, Value>) -> Option<String> {
        (**self).summary(arguments)
    }

    fn other_names(&self) -> &[String] {
        (**self).other_names()
    }

    fn network(&self, arguments: &Map<String, Value>) -> NetworkUse {
        (**self).network(arguments)
    }

    fn preview<'a>(&'a self, operation: &'a Operation, file: &'a Path) -> BoxFuture<'a, Option<Preview>> {
        (**self).preview(operation, file)
    }

    fn reaches_others(&self) -> bool {
        (**self).reaches_others()
    }

    fn is_installed(&self) -> bool {
        (**self).is_installed()
    }
}

/// What a running tool can use besides its permit.
#[derive(Debug, Clone)]
pub struct ToolRun {
    /// Takes the tool's progress while it runs.
    pub progress: mpsc::UnboundedSender<Progress>,
    /// Cancels the call; the tool then ends soon.
    pub cancel: CancellationToken,
    /// The session that makes the call, for a tool that asks sub-agents or makes further calls.
    pub parent: Option<Parent>,
}

/// The progress of a running tool.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// More output.
    Output(String),
    /// The result as it would be by now.
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

/// A tool's output. A failure is an output too: the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The content that the model sees.
    pub content: Vec<Part>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Data for hooks and front ends that the model does not see.
    pub details: Option<Value>,
    /// Whether the model need not be asked again. The run ends if every call of its answer says so.
    pub ends_run: bool,
}

impl ToolOutput {
    /// A text of success.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Part::text(text)],
            is_error: false,
            details: None,
            ends_run: false,
        }
    }

    /// A text of failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            content: vec![Part::text(text)],
            is_error: true,
            details: None,
            ends_run: false,
        }
    }
}

/// Environment variables that hooks have set for the commands of a session, by name.
pub type SessionVariables = BTreeMap<String, String>;

/// A tool and the arguments of a call.
pub type ToolWithArguments = (Arc<dyn Tool>, Map<String, Value>);

/// The session that runs a tool, for tools that work in its name.
pub(crate) trait Caller: Send + Sync {
    /// The session, context and agent in whose name calls are made.
    fn scope(&self) -> &Scope;

    /// The tools that calls may use in this turn.
    fn callable(&self) -> &[Arc<dyn Tool>];

    /// Variables that hooks have set for the session's commands.
    fn environment(&self) -> &SessionVariables;

    /// Makes a call from within another one.
    fn call<'a>(
        self: Arc<Self>,
        tool: Arc<dyn Tool>,
        arguments: &'a Map<String, Value>,
        within: &'a str,
    ) -> BoxFuture<'a, DirectCall>;

    /// Makes calls from within another one, after all of them are judged.
    fn call_all<'a>(
        self: Arc<Self>,
        calls: &'a [ToolWithArguments],
        within: &'a str,
    ) -> BoxFuture<'a, Vec<DirectCall>>;

    /// Asks a sub-agent, and waits for its answer.
    fn ask(&self, agent: SubAgent) -> BoxFuture<'_, SubAgentEnd>;

    /// Gives a task to a member of the team, and waits for its answer.
    fn transfer<'a>(&'a self, name: &'a str, input: String) -> BoxFuture<'a, SubAgentEnd>;

    /// Checks that the conversation may be handed over to that member; the error says why not.
    fn may_hand_over_to(&self, name: &str) -> Result<(), String>;
}

/// A session in the middle of a turn, for the tools that it runs: they can ask sub-agents in its name and make further
/// calls.
#[derive(Clone)]
pub struct Parent(Arc<dyn Caller>);

impl fmt::Debug for Parent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Parent")
            .field("session_id", &self.session_id())
            .finish_non_exhaustive()
    }
}

impl Parent {
    /// The session that runs a tool, as the tool knows it.
    pub(crate) fn new(caller: Arc<dyn Caller>) -> Self {
        Self(caller)
    }

    /// Identifies the session.
    pub fn session_id(&self) -> &str {
        &self.0.scope().session_id
    }

    /// The context in which the session runs.
    pub fn context_name(&self) -> &str {
        &self.0.scope().context_name
    }

    /// The tools that calls may use in this turn: those that were offered, and those that are only left out because
    /// nobody has asked for them.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        self.0.callable()
    }

    /// Variables that hooks have set for the session's commands.
    pub fn environment(&self) -> &SessionVariables {
        self.0.environment()
    }

    /// Makes a call from within another one, through the same hooks and the same gate. The arguments have becket's own
    /// names. If a hook wants everything to stop after it, the call fails.
    pub async fn call(
        &self,
        tool: Arc<dyn Tool>,
        arguments: &Map<String, Value>,
        within: &str,
    ) -> DirectCall {
        Arc::clone(&self.0).call(tool, arguments, within).await
    }

    /// Makes calls from within another one, in order. All are judged before the first is made; if one is refused none
    /// is made, and after one that has failed no other.
    pub async fn call_all(&self, calls: &[ToolWithArguments], within: &str) -> Vec<DirectCall> {
        Arc::clone(&self.0).call_all(calls, within).await
    }

    /// Gives a task to a member of the team, in the name of the current one.
    pub async fn transfer(&self, name: &str, input: String) -> SubAgentEnd {
        self.0.transfer(name, input).await
    }

    /// Checks that the current member may hand the conversation over to that one; the error says why not.
    pub fn may_hand_over_to(&self, name: &str) -> Result<(), String> {
        self.0.may_hand_over_to(name)
    }
}

impl SubAgent {
    /// Asks the sub-agent in the name of its parent, and waits for the answer. A cancel of the parent cancels it too.
    pub async fn run(self, parent: &Parent) -> SubAgentEnd {
        parent.0.ask(self).await
    }
}
