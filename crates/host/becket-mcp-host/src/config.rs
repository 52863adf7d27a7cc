//! The user's settings about MCP servers.

use std::collections::BTreeMap;
use std::path::Path;

use becket_hooks::{MAX_SECONDS, SectionSettings, SettingsError};
use becket_mcp::ToolFilter;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// MCP servers, whose tools the model may use.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Whether the servers of the chibi home's `mcp-bridge.toml` are used; default: true.
    pub bridge: Option<bool>,
    /// Servers by name. One here overrides one of the same name in the chibi home.
    #[schemars(with = "BTreeMap<String, McpServerConfig>")]
    pub servers: BTreeMap<String, Spanned<McpServerConfig>>,
}

/// An MCP server: a program (`command`) or a service on the web (`url`). In all texts `${NAME}` stands for a variable
/// of the environment, and `${PWD}` for the working directory.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerConfig {
    /// The program; a path is relative to the folder of this file.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Extra environment variables. The program also gets your environment, without provider keys.
    pub env: BTreeMap<String, String>,
    /// The directory in which the program runs, relative to the folder of this file; default: that folder.
    pub cwd: Option<String>,
    /// URL of a remote server, in place of `command`.
    pub url: Option<String>,
    /// Headers of every request to a remote server.
    pub headers: BTreeMap<String, String>,
    /// The protocol of a remote server; default: `streamable`.
    pub transport: McpTransport,
    /// How many seconds a call may take; default: 60.
    #[schemars(with = "Option<u64>")]
    pub timeout: Option<Spanned<u64>>,
    /// How many seconds the server may take to start; default: 10.
    #[schemars(with = "Option<u64>")]
    pub start_timeout: Option<Spanned<u64>>,
    /// Whether the server is used; default: true. `false` alone disables a server of the chibi home.
    pub enabled: Option<bool>,
    /// Which of the server's tools are offered.
    pub tools: McpToolsConfig,
}

/// The form of the protocol that a service on the web speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpTransport {
    /// Each message is a request of its own.
    #[default]
    Streamable,
    /// The older form: a standing stream of events brings all that the server says.
    Sse,
}

/// Which tools of an MCP server are offered, by globs of the names that the server gives them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpToolsConfig {
    /// Tools to offer, as globs; default: all.
    pub allow: Vec<String>,
    /// Tools not to offer, as globs.
    pub deny: Vec<String>,
}

impl SectionSettings for McpConfig {
    const NAME: &'static str = "mcp";
    const ABOUT: &'static str = "MCP servers, whose tools the model may use.";

    /// Checks that every server can be reached in exactly one way, and that its timeouts and globs are valid.
    fn check(&self, text: &str, file: &Path) -> Result<(), SettingsError> {
        for (name, server) in &self.servers {
            let at = server.span().start;
            let config = server.get_ref();
            config.check().map_err(|what| {
                SettingsError::at(at, text, file, format!("the MCP server `{name}`: {what}"))
            })?;
            for seconds in [&config.timeout, &config.start_timeout].into_iter().flatten() {
                if !(1..=MAX_SECONDS).contains(seconds.get_ref()) {
                    let message =
                        format!("the MCP server `{name}`: times are from 1 to {MAX_SECONDS} seconds");
                    return Err(SettingsError::at(seconds.span().start, text, file, message));
                }
            }
        }
        Ok(())
    }
}

impl McpServerConfig {
    fn check(&self) -> Result<(), String> {
        ToolFilter::read(&self.tools.allow, &self.tools.deny)?;
        let of_program = !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some();
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => Err("it is a program (`command`) or on the web (`url`), not both".into()),
            (None, None) if self.enabled == Some(false) => Ok(()),
            (None, None) => Err("it needs `command` or `url`".into()),
            (Some(command), None) if command.trim().is_empty() => Err("`command` is empty".into()),
            (Some(_), None) if !self.headers.is_empty() => {
                Err("`headers` are for a server with a `url`".into())
            }
            (None, Some(_)) if of_program => {
                Err("`args`, `env` and `cwd` are for a server with a `command`".into())
            }
            _ => Ok(()),
        }
    }
}
