//! `becket chat`: prompts one after another. Where a terminal can show it there is a screen (`talk.rs`, with
//! `completion.rs`, `shell.rs`, `given.rs` and `outside.rs`); otherwise, and in a pipe, there are lines (`lines.rs`).
//! What lines mean to becket itself stands here.

mod away;
mod completion;
mod given;
mod lines;
mod outside;
mod shell;
mod talk;

use becket_events::EndReason;
use becket_pi::extensions::CommandEnd;
use becket_system::signals::leave_terminal;
use becket_system::{CliError, Exit, Folders, Signals, Surroundings, harmless_name};

use super::ask::{Conversation, unless_lost};
use super::{redo, runtime, snapshots, undo};
use crate::args::Options;
use away::Away;
pub(super) use lines::{Lines, PromptMark, ReadLine};
pub use shell::Shell;

/// How many lines of history are kept.
const HISTORY_LINES: usize = 10_000;

/// becket's own commands, and what they do.
const COMMANDS: &[(&str, &str)] = &[
    ("/help", "this list"),
    ("/usage", "tokens that this session has used"),
    ("/model", "the model in use; a name after it chooses another one"),
    (
        "/compact",
        "put a summary in the place of the conversation; words after it say what matters",
    ),
    ("/new", "begin a new conversation"),
    (
        "/resume",
        "go on with another conversation; its name after it chooses one",
    ),
    (
        "/fork",
        "go on in a copy of the conversation, before something that you said",
    ),
    ("/clone", "go on in a copy of the whole conversation"),
    ("/tree", "go on from another place in the conversation"),
    ("/name", "the conversation's name; words after it are its new one"),
    (
        "/reload",
        "load extensions, skills, prompt templates and themes anew",
    ),
    (
        "/undo",
        "take back the last turn that changed files; with --call the last call, with --force in any case",
    ),
    ("/redo", "take back the last undo; with --force in any case"),
    ("/snapshots", "list the checkpoints of the working directory"),
    ("/quit", "end the chat (also /exit and Ctrl-D)"),
];

/// What a line means to becket itself.
enum Means<'a> {
    Nothing,
    Quit,
    Help,
    Usage,
    /// The name of another model, if there is one.
    Model(&'a str),
    /// What the summary should look at.
    Compact(Option<String>),
    /// The conversation goes on elsewhere.
    Away(Away<'a>),
    /// Another name for the conversation, if there is one.
    Name(&'a str),
    GoesBack,
    /// Nothing in particular.
    Other,
}

impl<'a> Means<'a> {
    fn of(line: &'a str) -> Self {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match (word, rest) {
            ("", _) => Self::Nothing,
            ("/quit" | "/exit", "") => Self::Quit,
            ("/help", "") => Self::Help,
            ("/usage", "") => Self::Usage,
            ("/model", name) => Self::Model(name),
            ("/compact", wishes) => Self::Compact((!wishes.is_empty()).then(|| wishes.to_owned())),
            ("/new", "") => Self::Away(Away::New),
            ("/resume", which) => Self::Away(Away::Resume(which)),
            ("/fork", which) => Self::Away(Away::Fork(which)),
            ("/clone", "") => Self::Away(Away::Clone),
            ("/tree", which) => Self::Away(Away::Tree(which)),
            ("/reload", "") => Self::Away(Away::Reload),
            ("/name", name) => Self::Name(name),
            ("/undo" | "/redo" | "/snapshots", _) => Self::GoesBack,
            _ => Self::Other,
        }
    }
}

/// Talks with the model.
pub fn run(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let folders = Folders::find(options.home.as_deref(), surroundings)?;
    let runtime = runtime(options)?;
    let result = runtime.block_on(async {
        let signals = surroundings.signals.listen()?;
        let work = converse(options, surroundings, &folders, &signals);
        signals.unless_forced(work).await
    });
    surroundings.screen.close();
    leave_terminal();
    // A thread may still wait for the next line.
    runtime.shutdown_background();
    result
}

async fn converse(
    options: &Options,
    surroundings: &Surroundings,
    folders: &Folders,
    signals: &Signals,
) -> Result<Exit, CliError> {
    // First of all: extensions may ask something when the session begins.
    let keys = talk::open_screen(options, surroundings, &folders.history_file());
    let mut conversation = Conversation::open(options, surroundings, &signals.next()).await?;
    let output = conversation.output();
    if let Some(welcome) = conversation.welcome() {
        surroundings.remark(welcome);
    }
    let outcome = match keys {
        Some(keys) => talk::talk(&mut conversation, keys, signals, (options, surroundings)).await,
        None => {
            let mut lines = Lines::open(surroundings, &folders.history_file());
            lines::talk(&mut conversation, &mut lines, signals, (options, surroundings)).await
        }
    };
    let reason = match &outcome {
        Ok(Exit::Answered) => EndReason::Done,
        Ok(_) => EndReason::Cancelled,
        Err(_) => EndReason::Failed,
    };
    conversation.close(reason).await?;
    outcome.map(|exit| unless_lost(exit, &output, surroundings))
}

/// All that can be typed after a slash, in lines.
fn help(conversation: &Conversation) -> String {
    let width = COMMANDS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let own: String = COMMANDS
        .iter()
        .map(|(name, about)| format!("{name:<width$}  {about}\n"))
        .collect();
    let keys = "Ctrl-C cancels the turn. Everything else is a prompt.\n";
    format!("{own}{keys}{}", conversation.listed_commands())
}

fn usage(conversation: &Conversation) -> String {
    let usage = conversation.usage();
    format!("{} tokens in, {} out\n", usage.input_tokens, usage.output_tokens)
}

/// Says which model is in use, or takes another one.
fn choose_model(name: &str, conversation: &Conversation, surroundings: &Surroundings) {
    if name.is_empty() {
        return surroundings.remark(&format!("the model is {}", conversation.model_name()));
    }
    match conversation.choose_model(name) {
        Ok(()) => surroundings.remark(&format!("the model is {name} from now on")),
        Err(why) => surroundings.complain(&why),
    }
}

/// Says what the conversation is called, or calls it something else.
async fn call(
    name: &str,
    conversation: &mut Conversation,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    if !name.is_empty() {
        conversation.set_name(name).await?;
    }
    let words = match conversation.tree().await?.name() {
        Some(name) => format!("the conversation is called {}", harmless_name(name)),
        None => "the conversation has no name; /name WORDS gives it one".to_owned(),
    };
    surroundings.remark(&words);
    Ok(())
}

/// Whether a line can only be meant as a command, and is none.
fn is_unknown(line: &str, conversation: &Conversation) -> bool {
    line.starts_with('/') && !line.contains(char::is_whitespace) && !conversation.calls_command(line)
}

fn tell_unknown(line: &str, surroundings: &Surroundings) {
    surroundings.remark(&format!("there is no command {line}; /help lists them"));
}

/// Says how a command of an extension's ended, where that is not plain.
fn tell_end(ended: CommandEnd, surroundings: &Surroundings) {
    match ended {
        CommandEnd::Done => {}
        CommandEnd::Threw { why, .. } => surroundings.complain(&why),
        CommandEnd::Waits(why) => surroundings.remark(&format!("{why}; the chat goes on")),
        CommandEnd::Cancelled => surroundings.remark("cancelled"),
    }
}

/// Goes back to a checkpoint. What goes wrong is told, and the chat goes on.
fn goes_back(line: &str, options: &Options, surroundings: &Surroundings) {
    let mut words = line.split_whitespace();
    let command = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let has = |word: &str| words.contains(&word);
    let known: &[&str] = match command {
        "/undo" => &["--call", "--force"],
        "/redo" => &["--force"],
        _ => &[],
    };
    let result = match words.iter().find(|word| !known.contains(word)) {
        Some(word) => Err(CliError::usage(format!("{command} does not know `{word}`"))),
        None => match command {
            "/undo" => undo::run(options, has("--call"), has("--force"), surroundings),
            "/redo" => redo::run(options, has("--force"), surroundings),
            _ => snapshots::run(options, None, surroundings),
        },
    };
    if let Err(error) = result {
        surroundings.complain(&error.to_string());
    }
}
