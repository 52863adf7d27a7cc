//! `becket "prompt"` and `becket ask`: one prompt, one answer.

use std::sync::Arc;

use becket_events::EndReason;
use becket_face_kit::{Conversation, cancellable, conclude, unless_lost};
use becket_hooks::nearest;
use becket_host::{CalledCommand, CommandEnd};
use becket_screen::can_show;
use becket_system::{CliError, Exit, Surroundings, WorkLine};
use tokio_util::sync::CancellationToken;

use super::{piped, switch};
use crate::args;
use crate::options::Options;

/// Shows on standard error that work goes on, if somebody looks at it there.
fn work_line(options: &Options, surroundings: &Surroundings) -> Option<WorkLine> {
    let kind = surroundings.variable("TERM");
    let is_seen = surroundings.stderr_is_terminal && !options.run.json && can_show(kind.as_deref());
    is_seen.then(|| surroundings.screen.begin_line())
}

/// Whether what is piped in belongs to the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piped {
    /// It follows the prompt; with `--mode` it stands before it, as pi has it.
    Added,
    Ignored,
}

/// Asks one prompt and prints the answer.
pub fn run(
    options: &Options,
    words: Vec<String>,
    piped: Piped,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    if words.len() > 1 && !options.takes_many {
        return Err(too_many_words(&words));
    }
    let mut words = words.into_iter();
    let (words, further) = (words.next(), words.collect::<Vec<_>>());
    let named = words.is_some();
    let prompt = match piped {
        Piped::Added => whole_prompt(words, options, surroundings)?,
        Piped::Ignored => words.unwrap_or_default(),
    };
    if prompt.trim().is_empty() {
        if options.run.context.is_some() && !named {
            return switch::run(options, surroundings);
        }
        if options.mode.is_some() {
            return without_prompt(options, surroundings);
        }
        return Err(CliError::usage("the prompt is empty").hint("becket \"Run: ls\", or pipe a prompt in"));
    }
    // What begins with a slash may be a command of an extension's; that is known when they are loaded.
    let is_called = prompt.starts_with('/');
    let result = cancellable(options, surroundings, async |cancel| {
        let mut conversation = Conversation::open(options, surroundings, &cancel).await?;
        let output = conversation.output();
        let refused = Arc::clone(&conversation.assembled().agent.settings.approval.refused);
        if let Some(command) = conversation
            .guests()
            .command(&prompt)
            .filter(|_| further.is_empty())
        {
            let exit = command_line(conversation, command, cancel, surroundings).await?;
            return Ok(unless_refused(exit, refused.get(), options, surroundings));
        }
        if !options.run.has_agent_file() && is_called && !conversation.calls_command(&prompt) {
            hint_at_command(&prompt, surroundings);
        }
        let prompt = match conversation.as_prompt(&prompt, &cancel).await? {
            Ok(prompt) if prompt.trim().is_empty() => {
                conversation.close(EndReason::Failed).await?;
                return Err(CliError::usage("the command sends no prompt").hint("write a prompt after it"));
            }
            Ok(prompt) => prompt,
            Err(why) => {
                conversation.close(EndReason::Failed).await?;
                return Err(CliError::failed(why));
            }
        };
        let line = work_line(options, surroundings);
        let end = conversation.ask_all(prompt, further, cancel).await;
        drop(line);
        let reason = end.as_ref().map_or(EndReason::Failed, |end| end.ending.reason());
        conversation.close(reason).await?;
        let exit = conclude(&end?, &output, surroundings);
        if exit == Exit::Answered {
            output.write_last_answer();
        }
        let exit = unless_lost(exit, &output, surroundings);
        Ok(unless_refused(exit, refused.get(), options, surroundings))
    });
    result.map(|exit| as_pi_ends(exit, options))
}

/// The exit code, or that of refused calls if there were some and whoever started the run wants to know.
fn unless_refused(exit: Exit, refused: u64, options: &Options, surroundings: &Surroundings) -> Exit {
    if exit != Exit::Answered || refused == 0 || !options.fail_on_refusal {
        return exit;
    }
    let words = match refused {
        1 => "1 call was refused".to_owned(),
        several => format!("{several} calls were refused"),
    };
    surroundings.complain(&format!("{words} (--fail-on-refusal)"));
    Exit::Refused
}

/// Begins a session and ends it, as pi does where there is nothing to ask.
fn without_prompt(options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    cancellable(options, surroundings, async |cancel| {
        let conversation = Conversation::open(options, surroundings, &cancel).await?;
        conversation.close(EndReason::Done).await?;
        Ok(Exit::Answered)
    })
}

/// The exit code with `--mode`: pi has one code for everything that fails. Only becket can be told to fail because of a
/// refusal, so that keeps its own.
fn as_pi_ends(exit: Exit, options: &Options) -> Exit {
    match exit {
        Exit::Provider | Exit::Limit if options.mode.is_some() => Exit::Failed,
        exit => exit,
    }
}

/// Runs the extension command that a line calls, without a prompt.
async fn command_line(
    mut conversation: Conversation,
    command: CalledCommand,
    cancel: CancellationToken,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let output = conversation.output();
    let ended = conversation.command(command, cancel).await;
    let exit = match &ended {
        Ok((CommandEnd::Cancelled, _)) => {
            surroundings.remark("cancelled");
            Exit::Cancelled
        }
        Ok((ended, last)) => {
            let last = last.as_ref().map(|end| conclude(end, &output, surroundings));
            match ended {
                CommandEnd::Threw { why, .. } | CommandEnd::Waits(why) => {
                    surroundings.complain(why);
                    Exit::Failed
                }
                CommandEnd::Done | CommandEnd::Cancelled => last.unwrap_or(Exit::Answered),
            }
        }
        Err(_) => Exit::Failed,
    };
    conversation.close(reason_of(exit)).await?;
    if exit == Exit::Answered {
        output.write_last_answer();
    }
    ended.map(|_| unless_lost(exit, &output, surroundings))
}

/// The end reason of a session in which a command was run.
fn reason_of(exit: Exit) -> EndReason {
    match exit {
        Exit::Answered => EndReason::Done,
        Exit::Cancelled => EndReason::Cancelled,
        _ => EndReason::Failed,
    }
}

/// The error about several words where one prompt was expected.
pub fn too_many_words(words: &[String]) -> CliError {
    let whole = words.join(" ");
    let quoted = format!("quote it: becket \"{}\"", whole.replace('"', "\\\""));
    let error = CliError::usage(format!("a prompt is one argument, but there are {}", words.len()));
    match words.split_first().and_then(|(first, rest)| {
        Some((
            near_command(first).or_else(|| args::subcommand_named(first))?,
            rest,
        ))
    }) {
        Some((near, rest)) => error.hint(format!(
            "did you mean `becket {near} {}`? If it is a prompt, {quoted}",
            rest.join(" ")
        )),
        None => error.hint(quoted),
    }
}

/// Words that are commands of other programs, each with what serves here in their place.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "init",
        "there is nothing to set up; `becket doctor` shows what is active",
    ),
    (
        "install",
        "did you mean `becket hooks trust` or `becket bridge install`?",
    ),
    (
        "login",
        "keys come from variables or settings; `becket doctor` says which are missing",
    ),
    (
        "logout",
        "keys come from variables or settings, and becket stores no others",
    ),
    (
        "resume",
        "`becket` alone continues this project's conversation, and `becket -c NAME` another one",
    ),
    ("start", "`becket` alone starts a chat"),
    ("status", "`becket doctor` shows what is active"),
    (
        "update",
        "becket does not update itself; install the newer version in its place",
    ),
    (
        "upgrade",
        "becket does not update itself; install the newer version in its place",
    ),
    ("version", "it is `becket --version`"),
];

/// Checks the only word of a command line: one that looks like a command is not sent to a model, which may cost money.
/// `becket ask WORD` sends it.
pub fn check_only_word(words: &[String]) -> Result<(), CliError> {
    let [word] = words else { return Ok(()) };
    let is_word = word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    if !is_word {
        return Ok(());
    }
    let allowed = if word.len() >= 7 { 2 } else { 1 };
    let names = args::command_names();
    let distances = names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name));
    let near = distances.filter(|(distance, _)| *distance <= allowed).min();
    let elsewhere = ELSEWHERE.iter().find(|(known, _)| known == word);
    let meant = match (near, elsewhere) {
        (Some((_, name)), _) => format!("did you mean `becket {name}`?"),
        (None, Some((_, instead))) => format!("{instead}."),
        (None, None) => return Ok(()),
    };
    let hint = format!("{meant} `becket ask {word}` sends it to the model");
    Err(CliError::usage(format!("there is no command `{word}`")).hint(hint))
}

/// The command that is spelled almost like a word.
fn near_command(word: &str) -> Option<String> {
    if word.len() < 3 {
        return None;
    }
    let names = args::command_names();
    nearest(word, names.iter().map(String::as_str)).map(ToString::to_string)
}

/// The prompt of the command line, with what was piped in.
fn whole_prompt(
    words: Option<String>,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<String, CliError> {
    let piped = match &words {
        _ if surroundings.stdin_is_terminal => String::new(),
        Some(_) => piped::beside_a_prompt(surroundings)?,
        None => piped::as_the_prompt(surroundings)?,
    };
    let prompt = match (words, piped.trim_end()) {
        (Some(words), "") => words,
        (Some(words), _) if options.mode.is_some() => format!("{}{words}", piped.trim()),
        (Some(words), piped) => format!("{words}\n\n{piped}"),
        (None, piped) if options.mode.is_some() => piped.trim_start().to_string(),
        (None, piped) => piped.to_string(),
    };
    Ok(prompt)
}

/// Tells the user that a one-word prompt with a slash looks like a command of becket's.
fn hint_at_command(prompt: &str, surroundings: &Surroundings) {
    if prompt.contains(char::is_whitespace) {
        return;
    }
    if let Some(near) = near_command(prompt) {
        surroundings.remark(&format!(
            "`{prompt}` is taken as a prompt; the command is `becket {near}`"
        ));
    }
}
