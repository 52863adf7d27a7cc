//! Makes, renames, clears and destroys contexts.
//!
//! Clearing a context opens a session, because hooks may refuse it, but needs no model: if the chosen one cannot be
//! had, the rehearsal model takes its place and is not asked.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use becket_agent::Refused;
use becket_agent::vfs::Vfs;
use becket_events::EndReason;
use becket_face_kit::{Conversation, cancellable, unless_lost};
use becket_run::Purpose;
use becket_run::adopt::{self, chosen_context};
use becket_run::lifetimes::remove_files;
use becket_run::target::{ContextChoice, claim, known, parse_name};
use becket_store::ContextName;
use becket_system::counted;
use becket_system::{CliError, Exit, Surroundings};

use super::place::{ContextCommands, context_choice};
use crate::options::Options;

/// How long the user may take to answer; after that the answer is no.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Makes a context. One that exists is an error, unless it is to be made only if it is new.
pub async fn create(place: &ContextCommands<'_>, name: &str, if_new: bool) -> Result<(), CliError> {
    context_choice(place.options, Some(name.to_owned()))?;
    let name = parse_name(name)?;
    place.adopt(&name).await?;
    if if_new && place.store.context(name.as_str())?.is_some() {
        return Ok(());
    }
    if !place.store.create_context(&name).await? {
        return Err(CliError::usage(format!("there is already a context {name}"))
            .hint(format!("`becket context show {name}` shows it")));
    }
    place.surroundings.remark(&format!("created the context {name}"));
    Ok(())
}

/// `rename NEW` or `rename OLD NEW`.
pub async fn rename(place: &ContextCommands<'_>, mut names: Vec<String>) -> Result<(), CliError> {
    let new = parse_name(&names.pop().unwrap_or_default())?;
    let old = place.context(names.pop()).await?;
    if old == new {
        return Err(CliError::usage(format!("the context is called {old} already")));
    }
    let _claims = (claim(&old, &place.store)?, claim(&new, &place.store)?);
    if place.store.context(new.as_str())?.is_some() {
        return Err(CliError::failed(format!("there is already a context {new}"))
            .hint("choose another name, or destroy or rename that one first"));
    }
    let (from, to) = (place.files(&old), place.files(&new));
    if std::fs::symlink_metadata(to.folder()).is_ok() {
        let folder = to.folder().display();
        return Err(
            CliError::failed(format!("there is already a folder {folder}, but no such context"))
                .hint("move it away, or choose another name"),
        );
    }
    let vfs = Vfs::new(&place.setup.vfs());
    if let Some(folder) = vfs.folder_of(new.as_str()) {
        let folder = folder.display();
        return Err(CliError::failed(format!("there is already a folder {folder}"))
            .hint("move it away, or choose another name"));
    }
    place.flocks.list().map_err(CliError::failed)?;
    place.store.rename_context(&old, &new).await?;
    match std::fs::rename(from.folder(), to.folder()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            // The files and the conversation stay together, under the old name.
            place.store.rename_context(&new, &old).await?;
            let folder = from.folder().display();
            Err(CliError::failed(format!(
                "cannot rename the folder {folder}: {error}"
            )))
        }
        _ => {
            place
                .surroundings
                .remark(&format!("the context {old} is now {new}"));
            if let Err(error) = adopt::rename(old.as_str(), new.as_str(), &place.setup) {
                let words = format!("{new} comes back from where it was if it is destroyed: {error}");
                place.surroundings.remark(&words);
            }
            vfs.rename_context(old.as_str(), new.as_str()).map_err(|error| {
                CliError::failed(format!("vfs:///home/{old} could not be renamed: {error}"))
            })?;
            place
                .flocks
                .rename(old.as_str(), Some(new.as_str()))
                .map_err(CliError::failed)
        }
    }
}

/// Clears a context in a session, because hooks may refuse it.
pub fn clear(
    options: &Options,
    named: Option<String>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let choice = context_choice(options, named)?;
    let name = existing(&choice, options, surroundings)?;
    cancellable(options, surroundings, async |cancel| {
        let target = ContextChoice::named(name.clone());
        let mut conversation =
            Conversation::open_in(target, Purpose::Care, options, surroundings, &cancel).await?;
        let output = conversation.output();
        let cleared = conversation.clear(cancel.clone()).await;
        let reason = match &cleared {
            Ok(Ok(())) => EndReason::Done,
            Ok(Err(_)) if cancel.is_cancelled() => EndReason::Cancelled,
            Ok(Err(_)) => EndReason::Blocked,
            Err(_) => EndReason::Failed,
        };
        conversation.close(reason).await?;
        if reason == EndReason::Cancelled {
            surroundings.remark("cancelled");
            return Ok(Exit::Cancelled);
        }
        if let Err(Refused(reason)) = cleared? {
            let message = format!("a hook refused to clear the context {name}: {reason}");
            return Err(CliError::failed(message));
        }
        surroundings.remark(&format!(
            "cleared the context {name}; `becket context export --archived {name}` shows what was in it"
        ));
        Ok(unless_lost(Exit::Answered, &output, surroundings))
    })
}

/// Checks that a context exists before it is cleared. Only the current one may be new.
fn existing(
    choice: &ContextChoice,
    options: &Options,
    surroundings: &Surroundings,
) -> Result<ContextName, CliError> {
    let (store, name) = chosen_context(choice, &options.run, surroundings)?;
    if name.as_str() == store.chosen()?.current {
        return Ok(name);
    }
    known(name, &store)
}

pub async fn destroy(place: &ContextCommands<'_>, name: &ContextName) -> Result<String, CliError> {
    let _claim = claim(name, &place.store)?;
    if !place.options.run.permission_mode.answers_yes() {
        ask_to_destroy(place, name)?;
    }
    // A list of flocks that cannot be read stops it here, while all is still there.
    let flocks = &place.flocks;
    flocks.rename(name.as_str(), None).map_err(CliError::failed)?;
    remove_files(&place.setup, (&place.store, name), place.surroundings)?;
    place.store.delete_context(name).await?;
    Ok(place.store.chosen()?.current)
}

fn ask_to_destroy(place: &ContextCommands<'_>, name: &ContextName) -> Result<(), CliError> {
    let surroundings = place.surroundings;
    let kept = || CliError::failed(format!("the context {name} was not destroyed"));
    if !(surroundings.stdin_is_terminal && surroundings.stderr_is_terminal) {
        return Err(kept().hint("there is no terminal to ask at; --yes destroys it without asking"));
    }
    let messages = place
        .store
        .context(name.as_str())?
        .map_or(0, |context| context.message_count);
    let messages = counted(messages, "message");
    let question = format!("Destroy the context {name} with its {messages}, for good? [y/N] ");
    // What was typed before the question was there is no answer to it; what is typed when it is there is one.
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    let mut stderr = std::io::stderr();
    if stderr
        .write_all(question.as_bytes())
        .and_then(|()| stderr.flush())
        .is_err()
    {
        return Err(kept());
    }
    let (answer, answered) = channel();
    // A thread of its own: a read from a terminal cannot be called off.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        let _ = answer.send(read.map(|_| line));
    });
    match answered.recv_timeout(ANSWER_TIMEOUT) {
        Ok(Ok(line)) if matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") => Ok(()),
        _ => Err(kept()),
    }
}
