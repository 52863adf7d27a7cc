//! The commands, one file each.

pub(crate) mod ask;
pub(crate) mod audit;
mod cache;
mod chat;
mod compact;
mod config;
mod context;
mod contexts;
mod doctor;
mod flock;
mod hooks;
mod inbox;
mod index;
mod manual;
mod mcp;
pub(crate) mod moving;
mod permissions;
mod piped;
mod plugin;
mod redo;
mod replay;
mod run;
mod scheme;
mod send;
mod sessions;
mod snapshots;
mod switch;
mod tool;
mod trace;
mod undo;
mod url;
mod vfs;
pub mod web;

pub(crate) use chat::Shell;

use becket_agent::mail::Sending;
use becket_chibi::scheme::Tier;
use becket_docker_agent::AgentFileChoice;
use becket_system::{CliError, Exit, Surroundings};
use tokio_util::sync::CancellationToken;

use crate::args::{Args, Command, FlockCommand, Options, RunMode, SessionsCommand};
use crate::{programs, project_trust};
pub(crate) use ask::{Purpose, person, with_some_model};
pub(crate) use tool::read_arguments as tool_arguments;

/// Runs what the command line asks for.
// tidy: a table
pub fn run(args: Args, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let Args {
        options,
        prompt,
        command,
    } = args;
    let options = options.with_whole_model();
    if let Some(command) = &command {
        check_context_options(&options, command)?;
    }
    if may_need_trust(command.as_ref()) {
        project_trust::ask(&options, surroundings)?;
    }
    match command {
        None => without_command(&options, prompt, surroundings),
        Some(_) if !prompt.is_empty() => Err(ask::too_many_words(&prompt)),
        Some(Command::Ask { prompt }) => ask::run(&options, prompt, surroundings),
        Some(Command::Scheme {
            file,
            unsandboxed: true,
        }) => scheme::run(&options, file.as_deref(), Tier::Unsandboxed, surroundings),
        Some(Command::Scheme { file, .. }) => {
            scheme::run(&options, file.as_deref(), Tier::Sandboxed, surroundings)
        }
        Some(Command::Chat) => chat::run(&options, surroundings),
        Some(Command::Run { file, prompt, agent }) => {
            run::run(&options, AgentFileChoice { file, agent }, prompt, surroundings)
        }
        Some(Command::Compact { name, instructions }) => {
            compact::run(&options, name, instructions, surroundings)
        }
        Some(Command::Contexts) => contexts::run(&options, surroundings),
        Some(Command::Context { command }) => context::run(&options, command, surroundings),
        Some(Command::Sessions { command }) => sessions::run(&options, command, surroundings),
        Some(Command::Web { port, open }) => web::run(&options, web::Serving { port, open }, surroundings),
        Some(Command::Hooks { agent_file, command }) => {
            let mut options = options;
            options.agent_file = agent_file.map(|file| AgentFileChoice { file, agent: None });
            hooks::run(&options, command, surroundings)
        }
        Some(Command::Trace(wanted)) => trace::run(&options, &wanted, surroundings),
        Some(Command::Replay(wanted)) => replay::run(&options, &wanted, surroundings),
        Some(Command::Audit { command }) => audit::run(&options, command, surroundings),
        Some(Command::Plugin { name, arguments }) => plugin::run(&options, name, arguments, surroundings),
        Some(Command::Tool { name, arguments }) => tool::run(&options, &name, &arguments, surroundings),
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
        Some(Command::Index { command }) => index::run(&options, command, surroundings),
        Some(Command::Undo { call, force }) => undo::run(&options, call, force, surroundings),
        Some(Command::Redo { force }) => redo::run(&options, force, surroundings),
        Some(Command::Snapshots { command }) => snapshots::run(&options, command, surroundings),
        Some(Command::Url { command }) => url::run(&options, command, surroundings),
        Some(Command::Permissions { command }) => permissions::run(&options, command, surroundings),
        Some(Command::Config) => config::run(&options, surroundings),
        Some(Command::Doctor) => doctor::run(&options, surroundings),
        Some(Command::Completions { shell }) => manual::completions(shell),
        Some(Command::Man) => manual::page(),
        Some(Command::Jq) => Err(CliError::usage(
            "`jq` stands before all options: becket jq -r .name",
        )),
    }
}

/// A prompt, a chat, or a session that another program steers.
fn without_command(
    options: &Options,
    prompt: Vec<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let is_chat = prompt.is_empty() && surroundings.stdin_is_terminal && !options.pi.takes_many();
    match options.pi.mode {
        Some(RunMode::Rpc) => programs::run(options, &prompt, surroundings),
        _ if is_chat => chat::run(options, surroundings),
        _ => ask::run(options, prompt, surroundings),
    }
}

/// Whether a command does something to which the hooks of a project belong.
fn may_need_trust(command: Option<&Command>) -> bool {
    match command {
        None | Some(Command::Ask { .. } | Command::Chat | Command::Run { .. } | Command::Compact { .. }) => {
            true
        }
        Some(Command::Web { .. } | Command::Tool { .. } | Command::Send { .. }) => true,
        Some(Command::Plugin { name, .. }) => name.is_some(),
        Some(Command::Inbox { show, .. }) => !show,
        _ => false,
    }
}

/// `-c` and `-C` choose a context. Where a command has none, or only looks at one, they would do nothing of the kind,
/// and whoever wrote them would not notice.
fn check_context_options(options: &Options, command: &Command) -> Result<(), CliError> {
    let (name, looks) = match command {
        Command::Contexts => ("contexts", false),
        Command::Sessions { command: None } => ("sessions", false),
        Command::Sessions {
            command: Some(SessionsCommand::Import { .. }),
        } => ("sessions import", false),
        Command::Web { .. } => ("web", false),
        Command::Hooks { .. } => ("hooks", false),
        Command::Trace(_) => ("trace", false),
        Command::Replay(_) => ("replay", false),
        Command::Audit { .. } => ("audit", false),
        Command::Plugin { name: None, .. } => ("plugin", false),
        Command::Mcp { .. } => ("mcp", false),
        Command::Vfs { .. } => ("vfs", false),
        Command::Cache { .. } => ("cache", false),
        Command::Flock {
            command: FlockCommand::List | FlockCommand::Create { .. } | FlockCommand::Delete { .. },
        } => ("flock", false),
        Command::Undo { .. } => ("undo", false),
        Command::Redo { .. } => ("redo", false),
        Command::Snapshots { .. } => ("snapshots", false),
        Command::Permissions { .. } => ("permissions", false),
        Command::Completions { .. } => ("completions", false),
        Command::Man => ("man", false),
        Command::Url { .. } => ("url", true),
        Command::Config => ("config", true),
        Command::Doctor => ("doctor", true),
        _ => return Ok(()),
    };
    match (&options.context, &options.transient) {
        (Some(context), _) if looks => Err(CliError::usage(format!(
            "`becket {name}` does not switch to another context"
        ))
        .hint(format!("`-C {context}` looks at that one"))),
        (Some(_), _) | (_, Some(_)) if !looks => Err(CliError::usage(format!(
            "`becket {name}` is about no context in particular, so -c and -C mean nothing to it"
        ))
        .hint("leave them out; `becket -c NAME` alone switches")),
        _ => Ok(()),
    }
}

/// Writes to standard output; a reader that has gone away is no error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    print_bytes(text.as_bytes())
}

/// The same with bytes of any kind.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(CliError::failed(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// The moment since when something counts, as the person has written it.
pub(crate) fn since(text: &str) -> Result<u64, CliError> {
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_millis() as u64);
    becket_system::moments::parse_since(text, now).ok_or_else(|| {
        CliError::usage(format!("`{text}` is no moment and no span"))
            .hint("write a span such as 12h or 7d, or a day such as 2027-01-31")
    })
}

/// A moment in words: how long ago it was.
pub(crate) fn ago(time_ms: u64) -> String {
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_millis() as u64);
    let seconds = now.saturating_sub(time_ms) / 1000;
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// Does what a command is for. The first signal cancels its token; a second one drops the work in the middle.
pub(crate) fn cancellable(
    options: &Options,
    surroundings: &Surroundings,
    work: impl AsyncFnOnce(CancellationToken) -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    let runtime = runtime(options)?;
    let result = runtime.block_on(async {
        let signals = surroundings.signals.listen()?;
        let cancel = signals.next();
        signals.unless_forced(work(cancel)).await
    });
    // A thread may still wait for a person at the terminal, or for something of an extension's.
    runtime.shutdown_background();
    result
}

/// A single-threaded runtime: nothing here needs more, and it starts at once.
/// If extensions were loaded to read the command line, it is the one in which they live.
pub(crate) fn runtime(options: &Options) -> Result<tokio::runtime::Runtime, CliError> {
    if let Some(runtime) = options.preloaded.take_runtime() {
        return Ok(runtime);
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start: {error}")))
}
