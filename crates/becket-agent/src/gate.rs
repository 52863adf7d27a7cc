//! The gate: the only place where a tool call is approved, and the only maker of permits.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use becket_events::Operation;
use serde_json::{Map, Value};

/// Proof that a call passed the gate. It cannot be copied, and a tool that runs uses it up.
#[derive(Debug)]
pub struct Permit {
    tool_call_id: String,
    arguments: Map<String, Value>,
    operation: Option<Operation>,
    target: Target,
    directory: PathBuf,
}

/// What a call touches, resolved before it was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Nothing that can be named.
    None,
    /// A file or directory: absolute, with links and `..` followed.
    Path(PathBuf),
    /// The addresses behind a URL's host.
    Addresses(Vec<SocketAddr>),
}

impl Permit {
    /// The call that was approved.
    pub fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    /// The arguments that were judged.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// The operation that was judged, where the tool is one of becket's own.
    pub fn operation(&self) -> Option<&Operation> {
        self.operation.as_ref()
    }

    /// What was judged as the thing that the call touches.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The directory in which the agent works.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
