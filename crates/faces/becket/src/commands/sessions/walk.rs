//! `becket sessions goto`, `fork`, `label` and `name`: changes of a conversation's tree. Each opens a session, so that
//! hooks are asked.

use becket_agent::session_handle::Moved;
use becket_agent::{GoTo, GoToEnd, Position};
use becket_events::EndReason;
use becket_face_kit::{Conversation, cancellable, unless_lost};
use becket_record::conversation::{is_persons, meant};
use becket_run::Purpose;
use becket_run::import::without_moment;
use becket_run::target::{ContextChoice, claim_new};
use becket_store::ContextName;
use becket_system::{CliError, Exit, Surroundings, harmless, harmless_name};
use tokio_util::sync::CancellationToken;

use super::place::place;
use crate::options::Options;
use crate::printing::print;

/// How to go to another entry, as the options say.
pub fn how(summary: Option<String>, label: Option<String>) -> GoTo {
    GoTo {
        summarize: summary.is_some(),
        instructions: summary.filter(|words| !words.trim().is_empty()),
        replace_instructions: false,
        label,
    }
}

/// Where a fork begins, if the options say so.
pub fn position(at: bool, before: bool) -> Option<Position> {
    match (at, before) {
        (true, _) => Some(Position::At),
        (_, true) => Some(Position::Before),
        _ => None,
    }
}

/// Continues the conversation from another entry.
pub fn go_to(
    options: &Options,
    entry: &str,
    how: GoTo,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let (store, name) = place(options, None, surroundings)?;
    let id = meant(&store.conversation(name.as_str())?.0, &name, entry)?;
    drop(store);
    let purpose = if how.summarize {
        Purpose::Prompts
    } else {
        Purpose::Care
    };
    in_session(
        options,
        name,
        purpose,
        surroundings,
        async |mut session, cancel| {
            let end = session.go_to(&id, how, cancel).await?;
            let exit = conclude(&end, options, surroundings)?;
            Ok((session, exit))
        },
    )
}

/// Tells the user how it ended. Returns the exit code.
fn conclude(end: &GoToEnd, options: &Options, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let (words, exit) = match end {
        GoToEnd::Went { leaf_id, text, .. } => {
            if let Some(text) = text.as_ref().filter(|_| !options.run.json) {
                let shown = if surroundings.stdout_is_terminal {
                    harmless(text)
                } else {
                    text.clone()
                };
                print(&format!("{shown}\n"))?;
            }
            let place = match leaf_id {
                Some(leaf) => format!("at {leaf}"),
                None => "before its first entry".into(),
            };
            surroundings.remark(&format!("the conversation is now {place}"));
            return Ok(Exit::Answered);
        }
        GoToEnd::AlreadyThere => {
            surroundings.remark("the conversation is already there");
            return Ok(Exit::Answered);
        }
        GoToEnd::Cancelled => {
            surroundings.remark("cancelled; the conversation stays where it was");
            return Ok(Exit::Cancelled);
        }
        GoToEnd::NoEntry => ("there is no such entry any more".to_owned(), Exit::Failed),
        GoToEnd::Refused(reason) => (reason.clone(), Exit::Failed),
        GoToEnd::NoSummary(words) => ((*words).to_owned(), Exit::Failed),
        GoToEnd::Provider(error) => (error.message.clone(), Exit::Provider),
    };
    surroundings.complain(&format!("the conversation stays where it was: {words}"));
    Ok(exit)
}

/// What is forked, and how.
pub struct Fork {
    /// The entry; the one at which the conversation stands if none is named.
    pub entry: Option<String>,
    /// Whether the entry is included.
    pub position: Option<Position>,
    /// The new context's name.
    pub to: Option<String>,
    /// Whether nothing is printed.
    pub quiet: bool,
}

/// Makes a new context with the conversation up to an entry.
pub fn fork(options: &Options, fork: Fork, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let Fork {
        entry,
        position,
        to,
        quiet,
    } = fork;
    let (store, name) = place(options, None, surroundings)?;
    let (tree, _) = store.conversation(name.as_str())?;
    let (id, usual) = match &entry {
        Some(entry) => {
            let id = meant(&tree, &name, entry)?;
            let is_persons = tree.entry(&id).is_some_and(|entry| is_persons(entry));
            let usual = if is_persons {
                Position::Before
            } else {
                Position::At
            };
            (id, usual)
        }
        None => {
            let leaf = tree.leaf_id().map(ToOwned::to_owned);
            let empty = || CliError::failed(format!("the conversation of {name} is empty"));
            (leaf.ok_or_else(empty)?, Position::At)
        }
    };
    let position = position.unwrap_or(usual);
    let (new, claim) = claim_new(to.as_deref(), without_moment(name.as_str()), &store)?;
    drop(store);
    in_session(
        options,
        name,
        Purpose::Care,
        surroundings,
        async |mut session, cancel| {
            let forked = session.fork(id, position, (new.clone(), claim), cancel).await?;
            let exit = match forked {
                Ok(Moved::Went { text }) => {
                    if !options.run.json && !quiet {
                        print(&format!("{new}\n"))?;
                    }
                    if let Some(text) = text {
                        surroundings.remark(&format!("the user's message there: {}", harmless_name(&text)));
                    }
                    Exit::Answered
                }
                Ok(Moved::Refused(reason)) | Err(reason) => {
                    surroundings.complain(&format!("nothing was forked: {reason}"));
                    Exit::Failed
                }
            };
            Ok((session, exit))
        },
    )
}

/// Labels an entry.
pub fn label(
    options: &Options,
    entry: &str,
    text: Option<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let (store, name) = place(options, None, surroundings)?;
    let id = meant(&store.conversation(name.as_str())?.0, &name, entry)?;
    drop(store);
    in_session(
        options,
        name,
        Purpose::Care,
        surroundings,
        async |mut session, _| {
            let text = text.as_deref().filter(|text| !text.is_empty());
            session.set_label(&id, text).await?;
            Ok((session, Exit::Answered))
        },
    )
}

/// Names the conversation.
pub fn name(options: &Options, name: &str, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let (store, context) = place(options, None, surroundings)?;
    drop(store);
    in_session(
        options,
        context,
        Purpose::Care,
        surroundings,
        async |mut session, _| {
            session.set_name(name.trim()).await?;
            Ok((session, Exit::Answered))
        },
    )
}

/// Opens a session and does something in it.
fn in_session(
    options: &Options,
    name: ContextName,
    purpose: Purpose,
    surroundings: &Surroundings,
    what: impl AsyncFnOnce(Conversation, CancellationToken) -> Result<(Conversation, Exit), CliError>,
) -> Result<Exit, CliError> {
    cancellable(options, surroundings, async |cancel| {
        let choice = ContextChoice::named(name);
        let session = Conversation::open_in(choice, purpose, options, surroundings, &cancel).await?;
        let output = session.output();
        let (session, exit) = what(session, cancel).await?;
        let reason = match exit {
            Exit::Answered => EndReason::Done,
            Exit::Cancelled => EndReason::Cancelled,
            _ => EndReason::Failed,
        };
        session.close(reason).await?;
        Ok(unless_lost(exit, &output, surroundings))
    })
}
