//! Slash commands in an editor: becket's own, those of the agent and of extensions, prompt templates and skills.
//!
//! Only becket's own are carried out here. What the others mean is known where prompts are run.

use agent_client_protocol_schema::v1::{AvailableCommand, AvailableCommandInput, UnstructuredCommandInput};
use becket_agent::{CompactEnd, Refused};
use becket_face_kit::slash::{self, SlashCommand};
use becket_face_kit::{Conversation, Options, Report};
use becket_front::Todos;
use becket_system::{CliError, Surroundings, counted, harmless_name};
use tokio_util::sync::CancellationToken;

use super::settings::Settings;
use super::updates::Updates;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Help,
    Compact,
    Clear,
    Name,
    Mode,
    Model,
    Report(Report),
}

/// What changes the permission mode, which a chat changes with a key.
const MODE: SlashCommand = SlashCommand {
    name: "/mode",
    words: "[ask, accept-edits, plan or yes]",
    about: "what needs your yes",
};

/// becket's own commands in an editor: those of the chat that need no terminal.
const COMMANDS: &[(SlashCommand, Does)] = &[
    (slash::HELP, Does::Help),
    (slash::COMPACT, Does::Compact),
    (slash::CLEAR, Does::Clear),
    (slash::NAME, Does::Name),
    (MODE, Does::Mode),
    (slash::MODEL, Does::Model),
    (slash::STATUS, Does::Report(Report::Status)),
    (slash::COST, Does::Report(Report::Cost)),
    (slash::HOOKS, Does::Report(Report::Hooks)),
    (slash::TOOLS, Does::Report(Report::Tools)),
    (slash::MCP, Does::Report(Report::Mcp)),
];

/// What became of a line.
pub enum Ran {
    /// One of becket's own commands was carried out; with what it says.
    Said(String),
    /// The line is a prompt, or a command of somebody else.
    No,
}

/// The commands that can be typed, each name once.
pub fn available(conversation: &Conversation) -> Vec<AvailableCommand> {
    // They may take words, and none of them says which.
    let others = conversation.other_commands().into_iter();
    let others = others.map(|(name, about)| command(&name, &about, "words"));
    let mut commands: Vec<AvailableCommand> = others.collect();
    let own = COMMANDS.iter();
    commands.extend(own.map(|(own, _)| command(own.name, own.about, own.words.trim_matches(['[', ']']))));
    let mut seen = std::collections::HashSet::new();
    commands.retain(|command| seen.insert(command.name.clone()));
    commands
}

fn command(name: &str, about: &str, words: &str) -> AvailableCommand {
    let hint = (!words.is_empty()).then(|| UnstructuredCommandInput::new(words));
    AvailableCommand::new(name.trim_start_matches('/'), about)
        .input(hint.map(AvailableCommandInput::Unstructured))
}

/// Carries out a line if it is one of becket's own commands. Those of others with the same name go first.
pub async fn run(
    line: &str,
    conversation: &mut Conversation,
    (updates, settings, place): (&Updates, &Settings, (&Options, &Surroundings)),
    cancel: &CancellationToken,
) -> Result<Ran, CliError> {
    if !line.starts_with('/')
        || conversation.calls_command(line)
        || conversation.guests().command(line).is_some()
    {
        return Ok(Ran::No);
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let own = COMMANDS.iter().find(|(own, _)| own.name == word);
    let own = own.filter(|(own, _)| rest.is_empty() || !own.words.is_empty());
    let Some((_, does)) = own.copied() else {
        let others = conversation.other_commands();
        let names = COMMANDS.iter().map(|(own, _)| own.name);
        let names = names.chain(others.iter().map(|(name, _)| name.as_str()));
        return Ok(slash::mistyped(line, names).map_or(Ran::No, Ran::Said));
    };
    let said = match does {
        Does::Help => help(conversation),
        Does::Report(report) => fenced(&report.text(conversation, place)),
        Does::Compact => {
            let words = (!rest.is_empty()).then(|| rest.to_owned());
            compacted(&conversation.compact(words, cancel.clone()).await?)
        }
        Does::Clear => match conversation.clear(cancel.clone()).await? {
            Ok(()) => {
                conversation.output().forget_conversation();
                updates.plan(&Todos::default());
                "the messages are archived; the conversation starts over".into()
            }
            Err(Refused(reason)) => format!("a hook stopped it: {reason}"),
        },
        Does::Name => named(rest, conversation, updates).await?,
        Does::Mode => chosen(rest, settings.mode().word(), "mode", |word| {
            settings.set_mode(word)
        }),
        Does::Model => {
            let current = conversation.models().current_name();
            chosen(rest, &current, "model", |name| settings.set_model(name))
        }
    };
    if matches!(does, Does::Mode | Does::Model) {
        updates.settings_changed(settings);
    }
    Ok(Ran::Said(said))
}

/// Changes a setting, or says what it is.
fn chosen(wanted: &str, current: &str, what: &str, set: impl FnOnce(&str) -> Result<(), String>) -> String {
    if wanted.is_empty() {
        return format!("the {what} is {current}");
    }
    match set(wanted) {
        Ok(()) => format!("the {what} is {wanted} from now on"),
        Err(why) => why,
    }
}

async fn named(name: &str, conversation: &mut Conversation, updates: &Updates) -> Result<String, CliError> {
    if !name.is_empty() {
        conversation.set_name(name).await?;
        updates.named(&harmless_name(name));
    }
    Ok(match conversation.tree().await?.name() {
        Some(name) => format!("the conversation is called {}", harmless_name(name)),
        None => "the conversation has no name; /name WORDS gives it one".to_owned(),
    })
}

fn compacted(end: &CompactEnd) -> String {
    let unchanged = |why: &str| format!("the conversation is unchanged: {why}");
    match end {
        CompactEnd::Compacted { summarised, .. } => {
            format!(
                "a summary now replaces {}",
                counted(*summarised as u64, "message")
            )
        }
        CompactEnd::Nothing => "there is nothing to summarise".into(),
        CompactEnd::Refused(reason) => unchanged(reason),
        CompactEnd::NoSummary(words) => unchanged(words),
        CompactEnd::Provider(error) => unchanged(&error.message),
        CompactEnd::Cancelled => unchanged("cancelled"),
    }
}

/// The commands, one in a line.
fn help(conversation: &Conversation) -> String {
    let own = COMMANDS.iter();
    let own: String = own
        .map(|(own, _)| format!("{:<9} {}\n", own.name, own.about))
        .collect();
    fenced(&format!("{own}{}", conversation.listed_commands()))
}

fn fenced(text: &str) -> String {
    format!("```\n{}\n```", text.trim_end())
}
