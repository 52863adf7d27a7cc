//! MCP servers as guests' files declare them, before their environment is known, and calls of their tools for hooks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use becket_hooks::CommandLine;
use becket_trust::Judged;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// The servers that a kind of guest declares.
#[derive(Default)]
pub struct DeclaredServers {
    /// The servers, each with its name.
    pub servers: Vec<ServerDeclaration>,
    /// Whether there are no other servers: an agent file lists all servers of its agents.
    pub only_these: bool,
}

/// A server's name, with its declaration or with the reason why it is left out.
pub type ServerDeclaration = (String, Result<DeclaredServer, String>);

/// A server that a guest's file declares.
#[derive(Clone)]
pub struct DeclaredServer {
    /// The file that declares the server.
    pub origin: String,
    /// Whether the names of the server's tools begin with the server's name. Otherwise they are the server's own.
    pub prefixes_tools: bool,
    /// Whether only hooks call the server: the model is not offered its tools.
    pub for_hooks: bool,
    /// How the server is reached.
    pub reached: Reached,
    /// How long one call may take, if the declaration says so.
    pub call_timeout: Option<Duration>,
    /// Values that must never be repeated in a message.
    pub secrets: Vec<String>,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Reached {
    /// The server is a program.
    Program {
        command: String,
        args: Vec<String>,
        /// Variables that the program gets in addition.
        variables: Vec<(String, String)>,
        /// The folder against which a path in `command` is resolved.
        folder: PathBuf,
        /// The directory in which the program runs.
        directory: PathBuf,
    },
    /// The server is a program of the project, which is trusted as it was judged.
    Judged {
        judged: Box<Judged>,
        command: CommandLine,
        /// Variables that the program gets in addition.
        variables: BTreeMap<String, String>,
        /// The directory in which the program runs.
        directory: PathBuf,
    },
    /// The server is a service on the web.
    Web {
        url: String,
        headers: Vec<(String, String)>,
        /// Whether the service speaks the protocol's older form, with a standing stream of events.
        is_event_stream: bool,
    },
}

/// Calls tools of MCP servers for hooks. A hook's call was written by its author, in a file that is trusted, and no
/// model has asked for it: it does not pass the gate, and no event fires for it, so that no hook causes itself.
pub trait ServerCalls: Send + Sync {
    /// Whether there is a server with that name.
    fn knows(&self, server: &str) -> bool;

    /// Calls a tool; the server is started if it does not run. Returns the text of the result, or why there is none.
    fn call<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<String, String>>;
}

/// A call of a server's tool.
pub struct ServerCall<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The tool's name at the server.
    pub tool: &'a str,
    /// The arguments of the call.
    pub arguments: Map<String, Value>,
    /// How long the call may take, with the start of the server.
    pub limit: Duration,
}

/// The servers of a run that has none.
pub struct NoServers;

impl ServerCalls for NoServers {
    fn knows(&self, _: &str) -> bool {
        false
    }

    fn call<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Err(unknown_server(call.server)) })
    }
}

/// The words for a server that nobody has configured.
pub fn unknown_server(server: &str) -> String {
    format!("becket knows no MCP server `{server}`; `[mcp.servers.{server}]` in config.toml would be one")
}
