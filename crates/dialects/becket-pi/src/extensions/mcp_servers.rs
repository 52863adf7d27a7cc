//! The MCP servers that extensions name. becket's own servers stand in its settings; these are for extensions that
//! connect to servers themselves.

use std::sync::Arc;

use serde_json::{Value, json};

use super::direct;
use super::registry::{ExtensionRegistry, NamedServer};

/// Adds a server; one with the same name of the same extension is replaced.
pub fn add(registry: &Arc<ExtensionRegistry>, extension: &str, name: String, config: Value) {
    let mut state = registry.state();
    let is_same = |server: &NamedServer| server.name == name && server.extension == extension;
    state.mcp_servers.retain(|server| !is_same(server));
    state.mcp_servers.push(NamedServer {
        extension: extension.to_owned(),
        name: name.clone(),
        config,
    });
    drop(state);
    registry.warn_once(&format!(
        "the extension {extension} names the MCP server {name}; becket connects only to servers in its own settings"
    ));
    tell(registry);
}

/// Removes a server of an extension.
pub fn remove(registry: &Arc<ExtensionRegistry>, extension: &str, name: &str) {
    let is_meant = |server: &NamedServer| server.name == name && server.extension == extension;
    registry.state().mcp_servers.retain(|server| !is_meant(server));
    tell(registry);
}

/// All servers, as extensions see them.
pub fn all(registry: &ExtensionRegistry) -> Vec<Value> {
    let state = registry.state();
    let servers = state.mcp_servers.iter();
    let servers: Vec<_> = servers
        .map(|server| {
            (
                server.extension.clone(),
                server.name.clone(),
                server.config.clone(),
            )
        })
        .collect();
    drop(state);
    let shown = servers.into_iter().map(|(extension, name, config)| {
        let path = registry.extensions.position(&extension).map(|(_, file)| file);
        let path = path.unwrap_or_default().display().to_string();
        json!({"name": name, "config": config, "extensionPath": path})
    });
    shown.collect()
}

fn tell(registry: &Arc<ExtensionRegistry>) {
    direct::tell(registry, "mcp_servers_change", |fields| {
        fields.with("servers", all(registry))
    });
}
