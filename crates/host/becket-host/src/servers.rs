//! MCP servers as files of guests declare them, before anybody knows what they inherit.

use std::path::PathBuf;
use std::time::Duration;

use becket_mcp::{Prefix, Secrets};

/// The servers that a kind of guest declares.
#[derive(Default)]
pub struct DeclaredServers {
    /// Each by its name.
    pub servers: Vec<ServerDeclaration>,
    /// Whether there are no others: an agent file says which servers its agents have.
    pub only_these: bool,
}

/// A server by its name, or why it is left out.
pub type ServerDeclaration = (String, Result<DeclaredServer, String>);

/// A server that is declared somewhere.
#[derive(Clone)]
pub struct DeclaredServer {
    /// The file that speaks of it.
    pub origin: String,
    /// Whether the names of its tools begin with its own.
    pub prefix: Prefix,
    /// How it is reached.
    pub reached: Reached,
    /// How long one call may take, where that is said.
    pub call_timeout: Option<Duration>,
    /// What must not be repeated, whoever says it.
    pub secrets: Secrets,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Reached {
    /// As a program.
    Program {
        command: String,
        args: Vec<String>,
        /// Variables that it gets besides.
        variables: Vec<(String, String)>,
        /// The folder from which a path in `command` is seen.
        folder: PathBuf,
        /// Where it runs.
        directory: PathBuf,
    },
    /// As a service on the web.
    Web {
        url: String,
        headers: Vec<(String, String)>,
    },
}
