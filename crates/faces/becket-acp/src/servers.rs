//! MCP servers that an editor hands over. They stand behind the gate as those of the settings do.

use std::path::Path;

use agent_client_protocol_schema::v1::McpServer;
use becket_host::{DeclaredServer, Reached, ServerDeclaration};
use becket_run::GivenServers;

/// Where such a server comes from, in messages.
const ORIGIN: &str = "the editor";

/// The servers as the run takes them; the error says what is wrong with one.
pub fn declarations(servers: Vec<McpServer>, cwd: &Path) -> Result<GivenServers, String> {
    if !servers.is_empty() && !cfg!(feature = "mcp") {
        return Err("this becket was built without MCP servers: `mcpServers` must be empty".into());
    }
    let declared = servers.into_iter().map(|server| declaration(server, cwd));
    declared.collect::<Result<_, _>>().map(GivenServers)
}

fn declaration(server: McpServer, cwd: &Path) -> Result<ServerDeclaration, String> {
    let (name, reached, secrets) = match server {
        McpServer::Stdio(program) => {
            let env = program.env.into_iter();
            let variables: Vec<(String, String)> = env.map(|set| (set.name, set.value)).collect();
            let secrets = values(&variables);
            let command = program.command.into_os_string().into_string();
            let command = command.map_err(|_| {
                format!(
                    "the program of the MCP server `{}` is not UTF-8 text",
                    program.name
                )
            })?;
            let reached = Reached::Program {
                command,
                args: program.args,
                variables,
                folder: cwd.to_path_buf(),
                directory: cwd.to_path_buf(),
            };
            (program.name, reached, secrets)
        }
        McpServer::Http(service) => {
            let headers = service.headers.into_iter();
            web(
                service.name,
                service.url,
                headers.map(|set| (set.name, set.value)).collect(),
                false,
            )
        }
        McpServer::Sse(service) => {
            let headers = service.headers.into_iter();
            web(
                service.name,
                service.url,
                headers.map(|set| (set.name, set.value)).collect(),
                true,
            )
        }
        _ => return Err("`mcpServers` has a server that is reached in an unknown way".into()),
    };
    if name.trim().is_empty() {
        return Err("`mcpServers` has a server without a name".into());
    }
    let declared = DeclaredServer {
        origin: ORIGIN.into(),
        prefixes_tools: true,
        for_hooks: false,
        reached,
        call_timeout: None,
        secrets,
    };
    Ok((name, Ok(declared)))
}

fn web(
    name: String,
    url: String,
    headers: Vec<(String, String)>,
    is_event_stream: bool,
) -> (String, Reached, Vec<String>) {
    let secrets = values(&headers);
    let reached = Reached::Web {
        url,
        headers,
        is_event_stream,
    };
    (name, reached, secrets)
}

/// Values that may be keys. Of `Bearer KEY`, the key alone is one too.
fn values(pairs: &[(String, String)]) -> Vec<String> {
    let words = |value: &String| {
        let last = value.rsplit_once(' ').map(|(_, last)| last.to_owned());
        [Some(value.clone()), last].into_iter().flatten()
    };
    pairs.iter().flat_map(|(_, value)| words(value)).collect()
}
