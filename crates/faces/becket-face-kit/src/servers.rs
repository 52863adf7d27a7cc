//! The MCP servers of a run, as lines.

use becket_mcp::{Known, Reach, Server};
use becket_mcp_host::RunServers;
use becket_system::harmless;

/// A server and its state, in a line.
pub fn server_line(server: &Server) -> String {
    let settings = server.settings();
    let state = match server.known() {
        Known::Offers(offers) => format!("{} tools", offers.len()),
        Known::Failed(failure) => format!("failed: {failure}"),
        Known::Nothing => "not asked yet".into(),
    };
    let (name, place) = (&settings.name, settings.place());
    harmless(&format!(
        "{name:<16} {:<5} {place}  ({})  {state}",
        transport(server),
        settings.origin
    ))
}

/// The names of a run's servers, and a line about each, also about those that are left out.
pub fn server_lines(servers: &RunServers) -> Vec<(String, String)> {
    let good = servers.servers.all();
    let good = good.map(|server| (server.settings().name.clone(), server_line(server)));
    let faults = servers.faults.iter();
    let faults = faults.map(|fault| (fault.server.clone(), harmless(&fault.to_string())));
    good.chain(faults).collect()
}

/// The way to a server: `stdio` or `http`.
pub fn transport(server: &Server) -> &'static str {
    match server.settings().reach {
        Reach::Program { .. } => "stdio",
        Reach::Web { .. } => "http",
    }
}
