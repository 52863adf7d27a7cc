//! Whether other agents really ask becket, and which guards they cannot ask.

use std::path::{Path, PathBuf};

use becket_events::{Class, EventId};
use becket_hook_files::BridgeCommand;
use becket_hooks::Engine;
use becket_host::Bridge;
use becket_system::CliError;
use serde::Serialize;
use serde_json::Value;

use crate::entries::{commands, entered_program};

/// becket in one file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// The agent.
    pub system: &'static str,
    /// The file.
    pub file: PathBuf,
    /// Whether refusals are only kept for a report.
    pub shadow: bool,
    /// The agent's events at which becket is not asked.
    pub missing: Vec<&'static str>,
    /// Why the agent would not run the entries.
    pub hindrances: Vec<String>,
}

/// Looks at one file of an agent; `None` if becket is not entered there.
pub fn installed(bridge: &Bridge, file: &Path, program: &Path) -> Result<Option<Installed>, CliError> {
    let Ok(text) = std::fs::read_to_string(file) else {
        return Ok(None);
    };
    let commands = commands(&text, file)?;
    if commands.is_empty() {
        return Ok(None);
    }
    let read: Vec<BridgeCommand<'_>> = commands
        .iter()
        .filter_map(|command| BridgeCommand::read(command))
        .collect();
    let asks = |name: &str| read.iter().any(|command| command.asks(bridge.system, name));
    let missing = bridge
        .events
        .iter()
        .map(|event| event.name)
        .filter(|name| !asks(name));
    let parsed = jsonc_parser::parse_to_serde_value::<Value>(&text, &Default::default());
    let mut hindrances = parsed
        .map(|file| (bridge.entry.hindrances)(&file))
        .unwrap_or_default();
    let own = [program.to_path_buf(), entered_program(program)];
    let is_own = |command: &&BridgeCommand<'_>| own.iter().any(|own| own == Path::new(&command.program));
    if let Some(gone) = read.iter().find(|command| !Path::new(&command.program).exists()) {
        hindrances.push(format!("{} is gone; install it again", gone.program));
    } else if let Some(other) = read.iter().find(|command| !is_own(command)) {
        hindrances.push(format!("another becket is entered: {}", other.program));
    }
    Ok(Some(Installed {
        system: bridge.system,
        file: file.to_path_buf(),
        shadow: read.iter().any(BridgeCommand::is_shadow),
        missing: missing.collect(),
        hindrances,
    }))
}

/// A guard that an agent cannot ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unasked {
    /// The hook.
    pub hook: String,
    /// Where the hook is written.
    pub source: String,
    /// becket's event.
    pub event: &'static str,
}

/// The guards among the hooks that an agent cannot ask.
pub fn unasked(bridge: &Bridge, engine: &Engine) -> Vec<Unasked> {
    let asked: Vec<EventId> = bridge
        .events
        .iter()
        .flat_map(|event| event.kind.events())
        .copied()
        .collect();
    let events = becket_events::EVENTS
        .iter()
        .filter(|event| !asked.contains(&event.id));
    let handlers = events.flat_map(|event| {
        engine
            .handlers_of(event.id)
            .into_iter()
            .map(move |info| (event, info))
    });
    let guards = handlers.filter(|(_, info)| info.class == Class::Guard);
    guards
        .map(|(event, info)| Unasked {
            hook: info.name.clone(),
            source: info.source.clone(),
            event: event.name,
        })
        .collect()
}
