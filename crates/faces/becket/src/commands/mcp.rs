//! `becket mcp`: the MCP servers, what they offer, and whether they work.

use becket_face_kit::listening;
use becket_face_kit::servers::{server_line, transport};
use becket_hooks::nearest;
use becket_host::{Asking, Guests, Toolbox};
use becket_mcp::{Known, Offer, tool_name};
use becket_mcp_host::RunServers;
use becket_run::agent_settings::profile;
use becket_run::loading::load_kind;
use becket_run::loading::load_servers;
use becket_run::setup::Setup;
use becket_run::tool_names::tool_names;
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::json;

use crate::args::McpCommand;
use crate::options::Options;
use crate::printing::print;

/// Runs one of the MCP commands.
pub fn run(options: &Options, command: McpCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let setup = Setup::read(&options.run, surroundings)?;
    let (asking, name) = match &command {
        McpCommand::List => (Asking::Never, None),
        McpCommand::Tools { server } => (Asking::WhenChanged, server.as_deref()),
        McpCommand::Check { server } => (Asking::Always, server.as_deref()),
    };
    let work = async {
        if let Some(name) = name {
            check_name((&setup, options), surroundings, name).await?;
        }
        let servers = load_servers(&setup, &options.run, surroundings, (asking, name)).await?;
        let shown = match command {
            McpCommand::List => list(options, &servers, surroundings),
            McpCommand::Tools { .. } => tools(options, &setup, &servers, surroundings).await,
            McpCommand::Check { .. } => check(options, &servers),
        };
        servers.servers.close().await;
        shown
    };
    listening(options, surroundings, async |signals| {
        unless_cancelled(&signals.next(), work).await?
    })
}

/// Checks that there is a server of that name.
async fn check_name(
    (setup, options): (&Setup, &Options),
    surroundings: &Surroundings,
    name: &str,
) -> Result<(), CliError> {
    let all = load_servers(setup, &options.run, surroundings, (Asking::Never, None)).await?;
    let good = all.servers.all().map(|server| server.settings().name.as_str());
    let names: Vec<&str> = good
        .chain(all.faults.iter().map(|fault| fault.server.as_str()))
        .collect();
    if names.contains(&name) {
        return Ok(());
    }
    let error = CliError::usage(format!("there is no MCP server `{name}`"));
    Err(match nearest(name, names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`becket mcp list` lists them"),
    })
}

fn list(options: &Options, servers: &RunServers, surroundings: &Surroundings) -> Result<Exit, CliError> {
    if servers.servers.all().next().is_none() && servers.faults.is_empty() {
        surroundings.remark("there are no MCP servers; [mcp.servers.NAME] in the settings adds one");
    }
    for fault in &servers.faults {
        surroundings.remark(&fault.to_string());
    }
    for server in servers.servers.all() {
        let settings = server.settings();
        let line = if options.run.json {
            let (tools, failure) = match server.known() {
                Known::Offers(offers) => (Some(offers.len()), None),
                Known::Failed(failure) => (None, Some(failure)),
                Known::Nothing => (None, None),
            };
            json!({
                "name": settings.name,
                "origin": settings.origin,
                "transport": transport(server),
                "place": settings.place(),
                "tools": tools,
                "failure": failure,
            })
            .to_string()
        } else {
            server_line(server)
        };
        print(&format!("{line}\n"))?;
    }
    Ok(Exit::Answered)
}

/// Lists the tools by the names that the model knows.
async fn tools(
    options: &Options,
    setup: &Setup,
    servers: &RunServers,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let profile = profile(setup, &options.run)?;
    let own_names: Vec<&'static str> = tool_names().collect();
    let mut toolbox = Toolbox {
        profile: &profile,
        tools: Vec::new(),
        own_tools: &|_| Vec::new(),
        own_names: &own_names,
        is_foreign_name: &|name| options.run.hosts.has_tool(name),
    };
    // Plugins come before servers, and whoever comes first has a name.
    let plugins = load_kind(setup, "plugin", &options.run, surroundings, Asking::WhenChanged);
    if let Some(plugins) = plugins.await? {
        plugins.add_tools(&mut toolbox);
    }
    let refused = servers.add_tools(&mut toolbox);
    for remark in servers.remarks().iter().chain(&refused) {
        surroundings.remark(remark);
    }
    for server in servers.servers.all() {
        let server = &server.settings().name;
        for offer in servers.servers.offers(server) {
            let name = tool_name(server, &offer.name);
            let source = format!("mcp:{server}");
            let is_offered = toolbox.tools.iter().any(|tool| {
                let spec = tool.spec();
                spec.face.name == name && spec.source == source
            });
            print(&format!(
                "{}\n",
                tool_line(options, (server, &name), offer, is_offered)
            ))?;
        }
    }
    Ok(Exit::Answered)
}

fn tool_line(options: &Options, (server, name): (&str, &str), offer: &Offer, is_offered: bool) -> String {
    if options.run.json {
        let line = json!({
            "name": name,
            "server": server,
            "tool": offer.name,
            "description": offer.description,
            "parameters": offer.parameters,
            "read_only": offer.read_only,
            "destructive": offer.destructive,
            "offered": is_offered,
        });
        return line.to_string();
    }
    let hint = match (offer.read_only, offer.destructive) {
        (Some(true), _) => "  (says: read-only)",
        (_, Some(true)) => "  (says: destructive)",
        _ => "",
    };
    let mark = if is_offered { "" } else { "  (not offered)" };
    let first = offer.description.lines().next().unwrap_or_default();
    harmless(&format!("{name:<32} {first}{hint}{mark}"))
}

/// Starts every server and asks what it offers. The exit code is 1 if one fails.
fn check(options: &Options, servers: &RunServers) -> Result<Exit, CliError> {
    let mut ill = false;
    let mut say = |name: &str, trouble: Option<String>, what: String| {
        ill |= trouble.is_some();
        let line = match (options.run.json, trouble) {
            (true, trouble) => {
                json!({"name": name, "ok": trouble.is_none(), "what": what, "trouble": trouble}).to_string()
            }
            (false, Some(trouble)) => harmless(&format!("wrong {name}: {trouble}")),
            (false, None) => harmless(&format!("ok    {name}: {what}")),
        };
        print(&format!("{line}\n"))
    };
    for server in servers.servers.all() {
        let name = &server.settings().name;
        let offers = servers.servers.offers(name);
        let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
        let troubles = servers
            .servers
            .remarks()
            .iter()
            .filter(|remark| remark.server == *name);
        let troubles: Vec<&str> = troubles.map(|remark| remark.message.as_str()).collect();
        let trouble = (!troubles.is_empty()).then(|| troubles.join("; "));
        say(
            name,
            trouble,
            format!("{} tools: {}", names.len(), names.join(", ")),
        )?;
    }
    for fault in &servers.faults {
        say(&fault.server, Some(fault.message.clone()), String::new())?;
    }
    Ok(if ill { Exit::Failed } else { Exit::Answered })
}
