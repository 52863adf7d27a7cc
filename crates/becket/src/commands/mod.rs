//! The commands, one file each.

mod ask;
mod cache;
mod chat;
mod compact;
mod config;
mod context;
mod contexts;
mod doctor;
mod events;
mod flock;
mod hooks_check;
mod hooks_list;
mod inbox;
mod index;
mod manual;
mod mcp;
mod piped;
mod plugin;
mod redo;
mod run;
mod send;
mod sessions;
mod snapshots;
mod switch;
mod tool;
mod undo;
mod url;
mod vfs;

use becket_agent::mail::Sending;

use crate::args::{AgentFileChoice, Args, Command, FlockCommand, HooksCommand, Options};
use crate::failure::{CliError, Exit};
use crate::surroundings::Surroundings;

/// Runs what the command line asks for.
pub fn run(args: Args, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let Args {
        options,
        prompt,
        command,
    } = args;
    if let Some(command) = &command {
        check_context_options(&options, command)?;
    }
    match command {
        None if prompt.is_empty() && surroundings.stdin_is_terminal => chat::run(&options, surroundings),
        None => ask::run(&options, prompt, surroundings),
        Some(_) if !prompt.is_empty() => Err(ask::too_many_words(&prompt)),
        Some(Command::Ask { prompt }) => ask::run(&options, prompt, surroundings),
        Some(Command::Chat) => chat::run(&options, surroundings),
        Some(Command::Run { file, prompt, agent }) => {
            run::run(&options, AgentFileChoice { file, agent }, prompt, surroundings)
        }
        Some(Command::Compact { name, instructions }) => {
            compact::run(&options, name, instructions, surroundings)
        }
        Some(Command::Contexts) => contexts::run(&options, surroundings),
        Some(Command::Context { command }) => context::run(&options, command, surroundings),
        Some(Command::Sessions) => sessions::run(&options, surroundings),
        Some(Command::Hooks {
            command: HooksCommand::Events { name },
        }) => events::run(&options, name.as_deref()),
        Some(Command::Hooks {
            command: HooksCommand::List,
        }) => hooks_list::run(&options, surroundings),
        Some(Command::Hooks {
            command: HooksCommand::Check { paths },
        }) => hooks_check::run(&options, &paths, surroundings),
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
            let sending = Sending {
                to: &to,
                content: &text,
                from: from.as_deref(),
            };
            send::run(&options, sending, surroundings)
        }
        Some(Command::Inbox { name, show: true, .. }) => inbox::show(&options, name, surroundings),
        Some(Command::Inbox { name, .. }) => inbox::wake(&options, name, surroundings),
        Some(Command::Flock { command }) => flock::run(&options, command, surroundings),
        Some(Command::Index { command }) => index::run(&options, command, surroundings),
        Some(Command::Undo { call, force }) => undo::run(&options, call, force, surroundings),
        Some(Command::Redo { force }) => redo::run(&options, force, surroundings),
        Some(Command::Snapshots { command }) => snapshots::run(&options, command, surroundings),
        Some(Command::Url { command }) => url::run(&options, command, surroundings),
        Some(Command::Config) => config::run(&options, surroundings),
        Some(Command::Doctor) => doctor::run(&options, surroundings),
        Some(Command::Completions { shell }) => manual::completions(shell),
        Some(Command::Man) => manual::page(),
        Some(Command::Jq) => Err(CliError::usage(
            "`jq` stands before all options: becket jq -r .name",
        )),
    }
}

/// `-c` and `-C` choose a context. Where a command has none, or only looks at one, they would do nothing of the kind,
/// and whoever wrote them would not notice.
fn check_context_options(options: &Options, command: &Command) -> Result<(), CliError> {
    let (name, looks) = match command {
        Command::Contexts => ("contexts", false),
        Command::Sessions => ("sessions", false),
        Command::Hooks { .. } => ("hooks", false),
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
