//! becket's own commands in a chat.

use becket_host::CommandEnd;
use becket_system::{CliError, Surroundings, harmless_name};

use super::away::Away;
use crate::commands::{redo, snapshots, undo};
use crate::opened::Conversation;
use crate::options::Options;

/// becket's own commands with descriptions.
pub const COMMANDS: &[(&str, &str)] = &[
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

/// A line of the chat as one of becket's own commands.
pub enum Means<'a> {
    Nothing,
    Quit,
    Help,
    Usage,
    /// Shows the model, or changes to the one of this name.
    Model(&'a str),
    /// Compacts the conversation; the text says what the summary should pay attention to.
    Compact(Option<String>),
    /// Continues in another place.
    Away(Away<'a>),
    /// Shows the name of the conversation, or changes it.
    Name(&'a str),
    GoesBack,
    /// None of becket's own commands.
    Other,
}

impl<'a> Means<'a> {
    /// Parses a line.
    pub fn of(line: &'a str) -> Self {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match (word, rest) {
            ("", _) => Self::Nothing,
            ("/quit" | "/exit", "") => Self::Quit,
            ("/help", "") => Self::Help,
            ("/usage", "") => Self::Usage,
            ("/model", name) => Self::Model(name),
            ("/compact", instructions) => {
                Self::Compact((!instructions.is_empty()).then(|| instructions.to_owned()))
            }
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

/// The commands of the chat, one per line.
pub fn help(conversation: &Conversation) -> String {
    let width = COMMANDS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let own: String = COMMANDS
        .iter()
        .map(|(name, about)| format!("{name:<width$}  {about}\n"))
        .collect();
    let keys = "Ctrl-C cancels the turn. Everything else is a prompt.\n";
    format!("{own}{keys}{}", conversation.listed_commands())
}

/// The tokens that the session has used, in a line.
pub fn usage(conversation: &Conversation) -> String {
    let usage = conversation.usage();
    format!("{} tokens in, {} out\n", usage.input_tokens, usage.output_tokens)
}

/// Shows the model in use, or changes it.
pub fn choose_model(name: &str, conversation: &Conversation, surroundings: &Surroundings) {
    if name.is_empty() {
        return surroundings.remark(&format!("the model is {}", conversation.model_name()));
    }
    match conversation.choose_model(name) {
        Ok(()) => surroundings.remark(&format!("the model is {name} from now on")),
        Err(why) => surroundings.complain(&why),
    }
}

/// Shows the name of the conversation, or changes it.
pub async fn call(
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

/// Whether a line looks like a command but there is none of that name.
pub fn is_unknown(line: &str, conversation: &Conversation) -> bool {
    line.starts_with('/') && !line.contains(char::is_whitespace) && !conversation.calls_command(line)
}

/// Tells the user that there is no such command.
pub fn tell_unknown(line: &str, surroundings: &Surroundings) {
    surroundings.remark(&format!("there is no command {line}; /help lists them"));
}

/// Tells the user how an extension command ended, unless it just succeeded.
pub fn tell_end(ended: CommandEnd, surroundings: &Surroundings) {
    match ended {
        CommandEnd::Done => {}
        CommandEnd::Threw { why, .. } => surroundings.complain(&why),
        CommandEnd::Waits(why) => surroundings.remark(&format!("{why}; the chat goes on")),
        CommandEnd::Cancelled => surroundings.remark("cancelled"),
    }
}

/// Runs `/undo` or `/redo`. A failure is shown, and the chat goes on.
pub fn goes_back(line: &str, options: &Options, surroundings: &Surroundings) {
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
