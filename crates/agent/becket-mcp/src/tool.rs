//! A tool of a server as the agent sees it.
//!
//! Calls of the model need a yes, also those of servers that a guest's files name: servers are written elsewhere and
//! change by themselves. What a server says of its tools (read-only, destructive) is shown and decides nothing, and its
//! calls never run beside others.

use std::sync::Arc;

use becket_agent::gate::Permit;
use becket_agent::provider::ToolFace;
use becket_agent::tool::{NetworkUse, SERVER, Tool, ToolOutput, ToolRun, ToolSpec};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::offer::Offer;
use crate::server::Server;

/// A tool of a server. Whatever the server says of it, it needs a yes and does not run beside other calls.
pub struct McpTool {
    spec: ToolSpec,
    /// The tool's name at the server.
    name: String,
    server: Arc<Server>,
}

impl McpTool {
    pub(crate) fn new(offer: Offer, server: Arc<Server>) -> Self {
        let name = server.settings().tool_name(&offer.name);
        let spec = ToolSpec {
            own_name: name.clone(),
            face: ToolFace {
                name,
                description: offer.description,
                parameters: offer.parameters.into(),
                operation: None,
            },
            operation: None,
            source: format!("{SERVER}{}", server.settings().name),
            read_only: false,
            parallel: false,
            handoff: None,
            extra_arguments: Vec::new(),
        };
        Self {
            spec,
            name: offer.name,
            server,
        }
    }
}

impl McpTool {
    /// The tool's name at the server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server that the tool belongs to.
    pub fn server(&self) -> &str {
        &self.server.settings().name
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(arguments)
    }

    /// A server may connect anywhere, and becket cannot see where.
    fn network(&self, _: &Map<String, Value>) -> NetworkUse {
        NetworkUse::Unnamed
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = permit.arguments().clone();
            self.server.call(&self.name, arguments, &run).await
        })
    }
}
