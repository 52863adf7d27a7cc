//! Whether other agents really ask becket, and which guards they cannot ask.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use becket_events::{Class, EventId};
use becket_hook_files::BridgeCommand;
use becket_hooks::Engine;
use becket_host::{AgentProgram, Bridge, EntryFile};
use becket_system::{CliError, Surroundings};
use serde::Serialize;
use serde_json::Value;

use crate::entries::{FileOwner, commands, entered_program, entry_file};

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
    /// The version of the agent, as its program says.
    pub version: Option<String>,
    /// What does not work with that version, because it is too old.
    pub outdated: Option<String>,
}

/// Where the files of agents are.
pub struct Entered<'a> {
    pub surroundings: &'a Surroundings,
    pub project_root: &'a Path,
    /// This program.
    pub program: &'a Path,
}

/// Looks at one file of an agent; `None` if becket is not entered there.
pub fn installed(
    bridge: &Bridge,
    place: FileOwner,
    entered: &Entered<'_>,
) -> Result<Option<Installed>, CliError> {
    let Entered {
        surroundings,
        project_root,
        program,
    } = *entered;
    let file = &entry_file(bridge, place, surroundings, project_root)?;
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
    let user_file = entry_file(bridge, FileOwner::User, surroundings, project_root)?;
    let mut hindrances = match parsed {
        Ok(content) => (bridge.entry.hindrances)(&EntryFile {
            path: file,
            content: &content,
            user_file: &user_file,
            project_root,
        }),
        Err(error) => vec![format!("the file cannot be read: {error}")],
    };
    let version = version(&bridge.program, surroundings);
    let is_outdated = |(oldest, _): &(&str, &str)| {
        let version = version.as_deref().map(numbers);
        version.is_some_and(|version| version < numbers(oldest))
    };
    let outdated = bridge.program.oldest.filter(is_outdated);
    let own = [program.to_path_buf(), entered_program(program)];
    let is_own = |command: &&BridgeCommand<'_>| own.iter().any(|own| own == Path::new(&command.program));
    if let Some(gone) = read.iter().find(|command| !Path::new(&command.program).exists()) {
        hindrances.push(format!("{} is gone; install it again", gone.program));
    } else if let Some(other) = read.iter().find(|command| !is_own(command)) {
        hindrances.push(format!("another becket is installed: {}", other.program));
    }
    Ok(Some(Installed {
        system: bridge.system,
        file: file.to_path_buf(),
        shadow: read.iter().any(BridgeCommand::is_shadow),
        missing: missing.collect(),
        hindrances,
        outdated: outdated.map(|(oldest, why)| format!("before {oldest} {why}")),
        version,
    }))
}

/// How long an agent's program has to tell its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The version that an agent's program tells.
fn version(program: &AgentProgram, surroundings: &Surroundings) -> Option<String> {
    let path = surroundings.variable("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let file = folders
        .map(|folder| folder.join(program.name))
        .find(|file| file.is_file())?;
    let mut child = Command::new(file)
        .arg("--version")
        .env_clear()
        .envs(&surroundings.variables)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut output = child.stdout.take()?;
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = output.read_to_string(&mut text);
        let _ = sender.send(text);
    });
    let text = receiver.recv_timeout(VERSION_TIMEOUT);
    // It has said everything, or hangs.
    let _ = child.kill();
    let _ = child.wait();
    let is_version = |word: &&str| numbers(word).len() >= 2;
    let text = text.ok()?;
    let words =
        text.split(|character: char| character.is_whitespace() || character == '/' || character == 'v');
    words.into_iter().find(is_version).map(ToOwned::to_owned)
}

/// The numbers at the beginning of a version such as `2.1.197`.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
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
    let guards = handlers.filter(|(_, info)| info.class == Class::Guard && !info.is_of_the_program());
    guards
        .map(|(event, info)| Unasked {
            hook: info.name.clone(),
            source: info.source.clone(),
            event: event.name,
        })
        .collect()
}
