//! `becket inbox`: wakes contexts for which messages wait, or shows these messages.

use std::collections::BTreeSet;

use becket_agent::store::{EntryContent, StoredEntry};
use becket_events::{EndReason, MessageBody};
use becket_face_kit::{Conversation, cancellable, conclude, runtime, unless_lost};
use becket_run::Purpose;
use becket_run::setup::Setup;
use becket_run::target::{ContextChoice, parse_name};
use becket_store::{ContextName, SqliteStore};
use becket_system::moments::ago;
use becket_system::{CliError, Exit, Surroundings, harmless};
use tokio_util::sync::CancellationToken;

use crate::options::Options;
use crate::printing::print;

/// The prompt for a model that is woken.
const WAKE_UP: &str = "You were woken because of the messages above. Deal with them now, as far as you can: nobody may \
                       ask you again soon.";

/// Shows the waiting messages of one context, or of all.
pub fn show(options: &Options, name: Option<String>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    runtime(options)?.block_on(async {
        let inboxes = Inboxes::open(options, surroundings)?;
        let wanted = inboxes.wanted(name)?;
        let names = inboxes.with_mail(wanted.as_ref()).await;
        let shown = names.and_then(|names| inboxes.print(&names));
        inboxes.store.close().await?;
        shown.map(|()| Exit::Answered)
    })
}

/// Lets the model of one context, or of all, answer the waiting messages.
pub fn wake(options: &Options, name: Option<String>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    cancellable(options, surroundings, async |cancel| {
        let inboxes = Inboxes::open(options, surroundings)?;
        let is_named = name.is_some() || inboxes.is_chosen();
        let wanted = inboxes.wanted(name)?;
        let names = inboxes.with_mail(wanted.as_ref()).await?;
        let mut names = match is_named {
            true => names,
            false => inboxes.existing(names)?,
        };
        names.extend(inboxes.woken_in_vain(wanted.as_ref(), &names)?);
        inboxes.store.close().await?;
        if names.is_empty() {
            surroundings.remark("there are no messages");
        }
        wake_all(&names, options, surroundings, &cancel).await
    })
}

/// Wakes contexts one after the other. If one fails, the others are still woken; the first failure is the exit code.
async fn wake_all(
    names: &[ContextName],
    options: &Options,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    let mut exit = Exit::Answered;
    for name in names {
        if cancel.is_cancelled() {
            return Ok(Exit::Cancelled);
        }
        surroundings.remark(&format!("waking {name}"));
        let woken = match wake_one(name, options, surroundings, cancel).await {
            Ok(woken) => woken,
            Err(error) if names.len() == 1 => return Err(error),
            Err(error) => {
                surroundings.complain(&format!("{name}: {error}"));
                error.exit
            }
        };
        if exit == Exit::Answered {
            exit = woken;
        }
    }
    Ok(exit)
}

async fn wake_one(
    name: &ContextName,
    options: &Options,
    surroundings: &Surroundings,
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    let choice = ContextChoice::named(name.clone());
    let mut conversation =
        Conversation::open_in(choice, Purpose::Prompts, options, surroundings, cancel).await?;
    // While the context was not this process's, another one may have been shown its messages.
    let store = &conversation.assembled().store;
    let is_asleep = !store.inboxes().waiting_for(name.as_str())?.is_empty()
        || has_no_answer(&store.entries(name.as_str())?);
    if !is_asleep {
        surroundings.remark(&format!("the messages of {name} have been read in the meantime"));
        conversation.close(EndReason::Done).await?;
        return Ok(Exit::Answered);
    }
    let output = conversation.output();
    let end = conversation.ask_and_attend(WAKE_UP.into(), cancel.clone()).await;
    let reason = end.as_ref().map_or(EndReason::Failed, |end| end.ending.reason());
    conversation.close(reason).await?;
    let exit = conclude(&end?, &output, surroundings);
    if exit != Exit::Answered {
        surroundings.remark(&format!(
            "{name} got its messages and did not answer; `becket inbox {name}` tries again"
        ));
    }
    Ok(unless_lost(exit, &output, surroundings))
}

/// Whether a context was woken and has not answered since: its model failed, or the process was killed.
fn has_no_answer(entries: &[StoredEntry]) -> bool {
    let messages = entries.iter().rev().filter_map(|entry| match &entry.content {
        EntryContent::Message { message } => Some(message),
        _ => None,
    });
    for message in messages {
        match message.body() {
            MessageBody::User { .. } => return message.text().contains(WAKE_UP),
            MessageBody::Assistant { .. } if message.tool_calls().is_empty() => return false,
            _ => {}
        }
    }
    false
}

/// The inboxes of all contexts.
struct Inboxes<'a> {
    options: &'a Options,
    surroundings: &'a Surroundings,
    setup: Setup,
    store: SqliteStore,
}

impl<'a> Inboxes<'a> {
    fn open(options: &'a Options, surroundings: &'a Surroundings) -> Result<Self, CliError> {
        let setup = Setup::read(&options.run, surroundings)?;
        let store = setup.open_store()?;
        Ok(Self {
            options,
            surroundings,
            setup,
            store,
        })
    }

    /// Whether the options name a context.
    fn is_chosen(&self) -> bool {
        self.options.run.context.is_some() || self.options.run.transient.is_some()
    }

    /// The named context; `None` for all.
    fn wanted(&self, name: Option<String>) -> Result<Option<ContextName>, CliError> {
        Ok(match name {
            Some(name) => Some(parse_name(&name)?),
            None if self.is_chosen() => Some(ContextChoice::of(&self.options.run)?.find(&self.store)?),
            None => None,
        })
    }

    /// The named context, or all contexts, for which messages wait.
    async fn with_mail(&self, wanted: Option<&ContextName>) -> Result<Vec<ContextName>, CliError> {
        self.collect(wanted).await;
        let names = self.store.inboxes().contexts()?;
        let names = names.iter().filter_map(|name| ContextName::parse(name).ok());
        Ok(names
            .filter(|waiting| wanted.is_none_or(|name| name == waiting))
            .collect())
    }

    /// Contexts that were woken, shown their messages and gave no answer, besides those that are woken anyway.
    fn woken_in_vain(
        &self,
        wanted: Option<&ContextName>,
        others: &[ContextName],
    ) -> Result<Vec<ContextName>, CliError> {
        let done = serde_json::json!(EndReason::Done);
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        // The newest session comes first, and only that of each context says whether there is something to look for.
        for session in self.store.sessions(wanted.map(ContextName::as_str))? {
            let is_newest = session.parent_id.is_none() && seen.insert(session.context.clone());
            if !is_newest || session.reason.as_deref() == done.as_str() {
                continue;
            }
            let Ok(name) = ContextName::parse(&session.context) else {
                continue;
            };
            if !others.contains(&name) && has_no_answer(&self.store.entries(name.as_str())?) {
                found.push(name);
            }
        }
        Ok(found)
    }

    /// Collects the messages that plugins have left.
    async fn collect(&self, name: Option<&ContextName>) {
        let Some(source) = self.setup.mail_source() else {
            return;
        };
        let names = match name {
            Some(name) => vec![name.to_string()],
            None => source.waiting(),
        };
        for name in names {
            let remarks = source.collect(&name, &self.store).await;
            for remark in remarks.unwrap_or_else(|problem| vec![problem]) {
                self.surroundings.remark(&remark);
            }
        }
    }

    /// Leaves out contexts that do not exist: a misspelled receiver must not make one.
    fn existing(&self, names: Vec<ContextName>) -> Result<Vec<ContextName>, CliError> {
        let contexts = self.store.contexts()?;
        let folder = self.setup.contexts();
        let (existing, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| {
            let is_known = contexts.iter().any(|context| context.name == name.as_str());
            is_known || folder.join(name.as_str()).is_dir()
        });
        for name in others {
            self.surroundings.remark(&format!(
                "there are messages for {name}, which does not exist; `becket inbox {name}` creates it"
            ));
        }
        Ok(existing)
    }

    fn print(&self, names: &[ContextName]) -> Result<(), CliError> {
        if names.is_empty() && !self.options.run.json {
            self.surroundings.remark("there are no messages");
        }
        for name in names {
            for message in self.store.inboxes().waiting_for(name.as_str())? {
                let letter = message.into_letter();
                if self.options.run.json {
                    let line = serde_json::json!({
                        "to": name.as_str(),
                        "from": letter.from,
                        "content": letter.content,
                        "time_ms": letter.time_ms,
                    });
                    print(&format!("{line}\n"))?;
                    continue;
                }
                let mut text = format!("{name}, from {}, {}:\n", letter.from, ago(letter.time_ms));
                for line in letter.content.lines() {
                    text.push_str(&format!("  {line}\n"));
                }
                print(&match self.surroundings.stdout_is_terminal {
                    true => harmless(&text),
                    false => text,
                })?;
            }
        }
        Ok(())
    }
}
