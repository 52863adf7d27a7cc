//! becket's own commands in a chat.

use becket_agent::Refused;
use becket_events::PermissionMode;
use becket_face_kit::slash::{self, SlashCommand};
use becket_face_kit::{Conversation, Options, Report};
use becket_host::CommandEnd;
use becket_system::{CliError, Surroundings, harmless_name};
use tokio_util::sync::CancellationToken;

use super::away::Away;
use super::place::{Called, ChatSetting, Prints};

/// One of becket's own commands.
pub struct OwnCommand {
    /// The name, with its slash.
    pub name: &'static str,
    /// What may stand behind the name; empty if nothing may.
    pub words: &'static str,
    pub about: &'static str,
    means: for<'a> fn(&'a str) -> Means<'a>,
}

impl OwnCommand {
    /// The command as it is typed, with what may stand behind its name.
    fn usage(&self) -> String {
        format!("{} {}", self.name, self.words).trim_end().to_owned()
    }
}

const fn own(
    name: &'static str,
    words: &'static str,
    about: &'static str,
    means: for<'a> fn(&'a str) -> Means<'a>,
) -> OwnCommand {
    OwnCommand {
        name,
        words,
        about,
        means,
    }
}

/// A command that other faces have, too.
const fn shared(command: SlashCommand, means: for<'a> fn(&'a str) -> Means<'a>) -> OwnCommand {
    own(command.name, command.words, command.about, means)
}

/// All of becket's own commands: help, completion and the guide are made from this table.
// tidy: a table
pub const COMMANDS: &[OwnCommand] = &[
    shared(slash::HELP, |_| Means::Help),
    shared(slash::STATUS, |_| Means::Report(Report::Status)),
    shared(slash::MODEL, |name| Means::Model(name)),
    own(
        "/thinking",
        "[LEVEL]",
        "choose how much the model thinks",
        |level| Means::Thinking(level),
    ),
    shared(slash::COST, |_| Means::Report(Report::Cost)),
    own("/usage", "", "tokens that this session has used", |_| {
        Means::Usage
    }),
    shared(slash::HOOKS, |_| Means::Report(Report::Hooks)),
    shared(slash::TOOLS, |_| Means::Report(Report::Tools)),
    shared(slash::MCP, |_| Means::Report(Report::Mcp)),
    own(
        "/permissions",
        "",
        "the permission mode and the rules in effect",
        |_| Means::Report(Report::Permissions),
    ),
    own(
        "/go",
        "[WORDS]",
        "leave plan mode, and let the model carry out its plan",
        |words| Means::Go(words),
    ),
    own("/config", "", "the settings in effect", |_| {
        Means::Prints(Prints::Config)
    }),
    own("/diff", "", "what has changed in the git repository here", |_| {
        Means::Diff
    }),
    shared(slash::COMPACT, |words| {
        Means::Compact((!words.is_empty()).then(|| words.to_owned()))
    }),
    shared(slash::CLEAR, |_| Means::Clear),
    own("/new", "", "start a new conversation", |_| Means::Away(Away::New)),
    own("/resume", "[NAME]", "continue another conversation", |which| {
        Means::Away(Away::Resume(which))
    }),
    own(
        "/fork",
        "[ENTRY]",
        "copy the conversation up to one of your messages, and continue there",
        |which| Means::Away(Away::Fork(which)),
    ),
    own(
        "/clone",
        "",
        "continue in a copy of the whole conversation",
        |_| Means::Away(Away::Clone),
    ),
    own(
        "/tree",
        "[ENTRY]",
        "continue from another place in the conversation",
        |which| Means::Away(Away::Tree(which)),
    ),
    shared(slash::NAME, |name| Means::Name(name)),
    own("/copy", "", "copy the last answer to the clipboard", |_| {
        Means::Copy
    }),
    own(
        "/export",
        "[FILE]",
        "write the conversation as Markdown; by default into a file with its name",
        |file| Means::Export(file),
    ),
    own(
        "/reload",
        "",
        "reload extensions, skills, prompt templates and themes",
        |_| Means::Away(Away::Reload),
    ),
    own(
        "/undo",
        "[--call] [--force]",
        "undo the last turn that changed files, or the last call",
        |_| Means::Prints(Prints::Undo),
    ),
    own("/redo", "[--force]", "redo what was undone last", |_| {
        Means::Prints(Prints::Redo)
    }),
    own(
        "/snapshots",
        "",
        "list the checkpoints of the working directory",
        |_| Means::Prints(Prints::Snapshots),
    ),
    own("/quit", "", "end the chat (also /exit and Ctrl-D)", |_| {
        Means::Quit
    }),
];

/// The table of the commands for the guide.
pub fn command_table() -> String {
    let rows = COMMANDS.iter().map(|command| {
        let about = command.about.replace('|', "\\|");
        format!("| `{}` | {about} |\n", command.usage())
    });
    let rows: String = rows.collect();
    format!("| command | what it does |\n|---|---|\n{}", rows.trim_end())
}

/// A line of the chat as one of becket's own commands.
pub enum Means<'a> {
    Nothing,
    Quit,
    Help,
    Usage,
    /// Shows the model, or changes to the one of this name.
    Model(&'a str),
    /// Shows how much the model thinks, or sets it.
    Thinking(&'a str),
    /// Leaves plan mode and lets the model carry out its plan; the words are added to that.
    Go(&'a str),
    /// Compacts the conversation; the text says what the summary should pay attention to.
    Compact(Option<String>),
    /// Continues in another place.
    Away(Away<'a>),
    /// Shows the name of the conversation, or changes it.
    Name(&'a str),
    /// Shows something about the chat.
    Report(Report),
    /// Archives the messages of the conversation.
    Clear,
    /// Shows what has changed in the git repository.
    Diff,
    /// Copies the last answer.
    Copy,
    /// Writes the conversation to a file.
    Export(&'a str),
    /// A command of the command line that prints by itself.
    Prints(Prints),
    /// A command with words behind it that takes none.
    Misused(&'static OwnCommand),
    /// None of becket's own commands.
    Other,
}

impl<'a> Means<'a> {
    /// Parses a line within a conversation. A command of the agent, a prompt template or a skill goes before the
    /// commands that only show or keep something, and before words that a command does not take.
    pub fn within(line: &'a str, conversation: &Conversation) -> Self {
        match Self::of(line) {
            Self::Report(_)
            | Self::Clear
            | Self::Diff
            | Self::Thinking(_)
            | Self::Go(_)
            | Self::Copy
            | Self::Export(_)
            | Self::Prints(Prints::Config)
            | Self::Misused(_)
                if conversation.calls_command(line) =>
            {
                Self::Other
            }
            means => means,
        }
    }

    /// Parses a line.
    pub fn of(line: &'a str) -> Self {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let word = if word == "/exit" { "/quit" } else { word };
        match COMMANDS.iter().find(|command| command.name == word) {
            None if word.is_empty() => Self::Nothing,
            None => Self::Other,
            Some(command) => match (command.means)(rest) {
                // It says itself that it does not know the words.
                means @ Self::Prints(_) => means,
                means if rest.is_empty() || !command.words.is_empty() => means,
                _ => Self::Misused(command),
            },
        }
    }
}

/// The commands of the chat, one per line.
pub fn help(conversation: &Conversation) -> String {
    let width = COMMANDS.iter().map(|command| command.usage().len()).max();
    let width = width.unwrap_or(0);
    let own: String = COMMANDS
        .iter()
        .map(|command| format!("{:<width$}  {}\n", command.usage(), command.about))
        .collect();
    let keys = "Ctrl-C cancels the turn. Everything else is a prompt.\n";
    format!("{own}{keys}{}", conversation.listed_commands())
}

/// The tokens that the session has used, in a line.
pub fn usage(conversation: &Conversation) -> String {
    let usage = conversation.usage();
    format!("{} tokens in, {} out\n", usage.input_tokens, usage.output_tokens)
}

/// Leaves plan mode. Returns the prompt that lets the model carry out its plan, unless the mode is another one.
pub fn carry_out(words: &str, options: &Options, surroundings: &Surroundings) -> Option<String> {
    let mode = &options.run.permission_mode;
    if mode.get() != PermissionMode::Plan {
        let mode = mode.get().word();
        surroundings.remark(&format!(
            "the mode is {mode}, not plan; say what the model should do"
        ));
        return None;
    }
    mode.set(PermissionMode::Ask);
    Some(format!("Carry out your plan. {words}").trim_end().to_owned())
}

/// Shows the model in use, or changes it.
pub fn choose_model(
    name: &str,
    conversation: &Conversation,
    surroundings: &Surroundings,
) -> Result<(), String> {
    let words = match name {
        "" => format!("the model is {}", conversation.models().current_name()),
        name => {
            conversation.models().choose(name)?;
            format!("the model is {name} from now on")
        }
    };
    surroundings.remark(&words);
    Ok(())
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

/// Why a line that means nothing else is no prompt: it looks like a command, and there is none of that name.
pub fn mistyped(line: &str, others: &[(String, String)]) -> Option<String> {
    let word = line.split_whitespace().next()?;
    if others.iter().any(|(name, _)| name == word) {
        return None;
    }
    let own = COMMANDS.iter().map(|command| command.name);
    slash::mistyped(line, own.chain(others.iter().map(|(name, _)| name.as_str())))
}

/// Why a command with words behind it is not carried out.
pub fn misused(command: &OwnCommand) -> String {
    let name = command.name;
    format!("{name} takes no words; type only {name}")
}

/// Tells the user how an extension command ended, unless it just succeeded.
pub fn tell_end(ended: CommandEnd, surroundings: &Surroundings) {
    match ended {
        CommandEnd::Done => {}
        CommandEnd::Threw { why, .. } => surroundings.complain(&why),
        CommandEnd::Waits(why) => surroundings.remark(&format!("{why}; the chat continues")),
        CommandEnd::Cancelled => surroundings.remark("cancelled"),
    }
}

/// Archives the messages of the conversation.
pub async fn clear(
    conversation: &mut Conversation,
    cancel: CancellationToken,
    surroundings: &Surroundings,
) -> Result<(), CliError> {
    match conversation.clear(cancel).await? {
        Ok(()) => {
            conversation.output().forget_conversation();
            surroundings.remark("the messages are archived; the conversation starts over");
        }
        Err(Refused(reason)) => surroundings.complain(&format!("a hook stopped it: {reason}")),
    }
    Ok(())
}

/// Runs a command of the command line. The error says why it failed; the chat goes on.
pub fn print_by_itself(
    prints: Prints,
    line: &str,
    conversation: &Conversation,
    place: ChatSetting<'_>,
) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let command = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let known: &[&str] = match prints {
        Prints::Undo => &["--call", "--force"],
        Prints::Redo => &["--force"],
        Prints::Snapshots | Prints::Config => &[],
    };
    let result = match words.iter().find(|word| !known.contains(word)) {
        Some(word) => Err(CliError::usage(format!(
            "{command} does not know `{}`{}",
            harmless_name(word),
            usage_of(command)
        ))),
        None => (place.run_called)(&Called {
            command: prints,
            flags: &words,
            conversation,
            options: place.options,
            surroundings: place.surroundings,
        }),
    };
    result.map(|_| ()).map_err(|error| error.to_string())
}

/// How the command of this name is typed, for the end of a message.
fn usage_of(name: &str) -> String {
    let command = COMMANDS.iter().find(|command| command.name == name);
    command.map_or_else(String::new, |command| format!("; usage: {}", command.usage()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_understood_once_and_words_only_where_there_may_be_some() {
        for (place, command) in COMMANDS.iter().enumerate() {
            let name = command.name;
            assert!(name.starts_with('/') && !command.about.is_empty(), "{name}");
            let others = &COMMANDS[place + 1..];
            assert!(
                others.iter().all(|other| other.name != name),
                "{name} is there twice"
            );
            assert!(!matches!(Means::of(name), Means::Other), "{name}");
            let with_words = format!("{name} words");
            let meant = Means::of(&with_words);
            assert!(!matches!(meant, Means::Other), "{with_words} is no prompt");
            let is_misused = matches!(meant, Means::Misused(misused) if misused.name == name);
            let prints = matches!(Means::of(name), Means::Prints(_));
            assert_eq!(is_misused, !prints && command.words.is_empty(), "{with_words}");
        }
        assert!(matches!(Means::of("/exit"), Means::Quit));
        assert!(matches!(Means::of("/exit now"), Means::Misused(_)));
        assert!(matches!(Means::of(""), Means::Nothing));
        assert!(matches!(Means::of("/model  openai/x "), Means::Model("openai/x")));
        assert!(matches!(Means::of("/modelling"), Means::Other));
    }
}
