//! The commands, one file each.

#[cfg(feature = "acp")]
mod acp;
pub(crate) mod ask;
pub(crate) mod audit;
mod bridge;
mod cache;
mod called;
mod compact;
mod config;
mod context;
mod contexts;
mod doctor;
mod flock;
mod hooks;
mod inbox;
#[cfg(feature = "index")]
mod index;
mod manual;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod permissions;
mod piped;
#[cfg(feature = "chibi")]
mod plugin;
mod redo;
mod replay;
#[cfg(feature = "docker-agent")]
mod run;
#[cfg(feature = "scheme")]
mod scheme;
mod send;
mod sessions;
mod setting_origin;
mod settings;
mod snapshots;
pub(crate) mod steered;
mod survey;
mod switch;
mod tool;
pub(crate) mod trace;
mod undo;
mod url;
mod vfs;
#[cfg(feature = "web")]
pub mod web;

use becket_agent::mail::Sending;
use becket_face_kit::RunMode;
use becket_host::AGENT_FILE;
use becket_run::project_trust;
use becket_system::{CliError, Exit, Surroundings};

use crate::args::{Args, CacheCommand, Command, ContextCommand, FlockCommand, SessionsCommand};
use crate::options::Options;
use ask::Piped;

pub(crate) use tool::read_arguments as tool_arguments;

/// Runs what the command line asks for.
// tidy: a table
pub fn run(args: Args, options: Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let Args { asked, command, .. } = args;
    let prompt = asked.prompt;
    if let Some(command) = &command {
        check_context_options(&options, command)?;
    }
    if may_need_trust(command.as_ref()) {
        project_trust::ask(&options.run, surroundings)?;
    }
    match command {
        None => without_command(&options, prompt, surroundings),
        Some(_) if !prompt.is_empty() => Err(ask::too_many_words(&prompt)),
        Some(Command::Ask { prompt, no_stdin }) => {
            let piped = if no_stdin { Piped::Ignored } else { Piped::Added };
            ask::run(&options, prompt, piped, surroundings)
        }
        #[cfg(feature = "scheme")]
        Some(Command::Scheme { file, unsandboxed }) => {
            scheme::run(&options, file.as_deref(), unsandboxed, surroundings)
        }
        Some(Command::Chat) => becket_chat::run(&options, surroundings, called::run),
        #[cfg(feature = "acp")]
        Some(Command::Acp) => acp::run(&options, surroundings),
        #[cfg(feature = "docker-agent")]
        Some(Command::Run {
            file,
            prompt,
            agent,
            no_stdin,
        }) => {
            let piped = if no_stdin { Piped::Ignored } else { Piped::Added };
            run::run(&options, (file, agent), (prompt, piped), surroundings)
        }
        Some(Command::Compact { name, instructions }) => {
            compact::run(&options, name, instructions, surroundings)
        }
        Some(Command::Models { search }) => models::run(&options, search.as_deref(), surroundings),
        Some(
            Command::Contexts
            | Command::Context {
                command: ContextCommand::List,
            },
        ) => contexts::run(&options, surroundings),
        Some(Command::Context { command }) => context::run(&options, command, surroundings),
        Some(Command::Sessions { command }) => sessions::run(&options, command, surroundings),
        #[cfg(feature = "web")]
        Some(Command::Web { port, open }) => web::run(&options, web::Serving { port, open }, surroundings),
        Some(Command::Hooks { agent_file, command }) => {
            let mut options = options;
            if let Some(file) = agent_file {
                options.run.guests.add(AGENT_FILE, file);
            }
            hooks::run(&options, command, surroundings)
        }
        Some(Command::Bridge { command, asked }) => bridge::run(&options, command, &asked, surroundings),
        Some(Command::Trace(wanted)) => trace::run(&options, &wanted, surroundings),
        Some(Command::Replay(wanted)) => replay::run(&options, &wanted, surroundings),
        Some(Command::Audit { command }) => audit::run(&options, command, surroundings),
        #[cfg(feature = "chibi")]
        Some(Command::Plugin { name, arguments }) => plugin::run(&options, name, arguments, surroundings),
        Some(Command::Tool { name, arguments }) => tool::run(&options, &name, &arguments, surroundings),
        #[cfg(feature = "mcp")]
        Some(Command::Mcp { command }) => mcp::run(&options, command, surroundings),
        Some(Command::Vfs { command }) => vfs::run(&options, command, surroundings),
        Some(Command::Cache { command }) => cache::run(&options, command, surroundings),
        Some(Command::Send { to, text, from }) => {
            let text = match text.as_str() {
                "-" => tool::from_standard_input()?,
                _ => text,
            };
            let (to, content, from) = (&*to, &*text, from.as_deref());
            send::run(&options, Sending { to, content, from }, surroundings)
        }
        Some(Command::Inbox { name, show: true, .. }) => inbox::show(&options, name, surroundings),
        Some(Command::Inbox { name, .. }) => inbox::wake(&options, name, surroundings),
        Some(Command::Flock { command }) => flock::run(&options, command, surroundings),
        #[cfg(feature = "index")]
        Some(Command::Index { command }) => index::run(&options, command, surroundings),
        Some(Command::Undo { call, force }) => undo::run(&options, call, force, surroundings),
        Some(Command::Redo { force }) => redo::run(&options, force, surroundings),
        Some(Command::Snapshots { command }) => snapshots::run(&options, command, surroundings),
        Some(Command::Url { command }) => url::run(&options, command, surroundings),
        Some(Command::Permissions { command }) => permissions::run(&options, command, surroundings),
        Some(Command::Config { command: None }) => config::run(&options, surroundings),
        Some(Command::Config {
            command: Some(command),
        }) => settings::run(&options, command, surroundings),
        Some(Command::Doctor {
            files: Some(folder), ..
        }) => survey::run(&options, &folder, surroundings),
        Some(Command::Doctor { online, .. }) => {
            let network = if online {
                doctor::Network::Online
            } else {
                doctor::Network::Offline
            };
            doctor::run(&options, network, surroundings)
        }
        Some(Command::Completions { shell }) => manual::completions(shell),
        Some(Command::Man { command }) => manual::page(&command),
        #[cfg(feature = "jq")]
        Some(Command::Jq) => Err(CliError::usage(
            "`jq` must come before all options: becket jq -r .name",
        )),
    }
}

/// Runs a prompt, a chat, or a session that another program steers.
fn without_command(
    options: &Options,
    prompt: Vec<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    if !options.takes_many {
        ask::check_only_word(&prompt)?;
    }
    let is_chat = prompt.is_empty() && surroundings.stdin_is_terminal && !options.takes_many;
    match options.mode {
        Some(RunMode::Rpc) => steered::run(options, &prompt, surroundings),
        _ if is_chat => becket_chat::run(options, surroundings, called::run),
        _ => ask::run(options, prompt, Piped::Added, surroundings),
    }
}

/// Whether a command uses hooks of the project, so that untrusted ones are asked about.
fn may_need_trust(command: Option<&Command>) -> bool {
    match command {
        None | Some(Command::Ask { .. } | Command::Chat | Command::Compact { .. }) => true,
        #[cfg(feature = "docker-agent")]
        Some(Command::Run { .. }) => true,
        #[cfg(feature = "web")]
        Some(Command::Web { .. }) => true,
        Some(Command::Tool { .. } | Command::Send { .. }) => true,
        #[cfg(feature = "chibi")]
        Some(Command::Plugin { name, .. }) => name.is_some(),
        Some(Command::Inbox { show, .. }) => !show,
        _ => false,
    }
}

/// Checks `-c` and `-C`: before a command that has no context, or only reads one, they would be ignored without notice.
fn check_context_options(options: &Options, command: &Command) -> Result<(), CliError> {
    let (name, looks) = match command {
        #[cfg(feature = "acp")]
        Command::Acp => ("acp", false),
        Command::Models { .. } => ("models", false),
        Command::Contexts
        | Command::Context {
            command: ContextCommand::List,
        } => ("context list", false),
        Command::Sessions { command: None } => ("sessions", false),
        Command::Sessions {
            command: Some(SessionsCommand::Import { .. } | SessionsCommand::Page { .. }),
        } => ("sessions import", false),
        #[cfg(feature = "web")]
        Command::Web { .. } => ("web", false),
        Command::Hooks { .. } => ("hooks", false),
        Command::Bridge { .. } => ("bridge", false),
        Command::Trace(_) => ("trace", false),
        Command::Replay(_) => ("replay", false),
        Command::Audit { .. } => ("audit", false),
        #[cfg(feature = "chibi")]
        Command::Plugin { name: None, .. } => ("plugin", false),
        #[cfg(feature = "mcp")]
        Command::Mcp { .. } => ("mcp", false),
        Command::Vfs { .. } => ("vfs", false),
        Command::Cache {
            command: CacheCommand::Clear { here: true, .. },
        } => return Ok(()),
        Command::Cache { .. } => ("cache", false),
        Command::Flock {
            command: FlockCommand::List | FlockCommand::Create { .. } | FlockCommand::Delete { .. },
        } => ("flock", false),
        Command::Undo { .. } => ("undo", false),
        Command::Redo { .. } => ("redo", false),
        Command::Snapshots { .. } => ("snapshots", false),
        Command::Permissions { .. } => ("permissions", false),
        Command::Completions { .. } => ("completions", false),
        Command::Man { .. } => ("man", false),
        Command::Url { .. } => ("url", true),
        Command::Config { command: None } => ("config", true),
        Command::Config { .. } => ("config", false),
        Command::Doctor { .. } => ("doctor", true),
        _ => return Ok(()),
    };
    match (&options.run.context, &options.run.transient) {
        (Some(context), _) if looks => Err(CliError::usage(format!(
            "`becket {name}` does not switch to another context"
        ))
        .hint(format!("`-C {context}` uses that one"))),
        (Some(_), _) | (_, Some(_)) if !looks => Err(CliError::usage(format!(
            "`becket {name}` uses no context, so -c and -C have no effect"
        ))
        .hint("leave them out; `becket -c NAME` alone switches")),
        _ => Ok(()),
    }
}
