//! Adds to the conversation: messages pass their hooks, entries are stored, and the session handle shows both.

use becket_events::{
    EntryDraft, Message, MessageBody, MessageEnd, MessageEndPayload, MessageStart, MessageStartPayload,
    NameChange, NameChangePayload, Output, OutputPayload, PostResponse, PostResponsePayload, RequestPurpose,
    Strictest, Verdict,
};
use becket_gate::Hooks;

use crate::entries::{EntryContent, NewEntry, ShellRun, StoredEntry, seen_message};
use crate::front::FrontUpdate;
use crate::message::{from_draft, instead, same_role, with_text};
use crate::model_call::HOOK;
use crate::session::Session;
use crate::session_handle::{HandleError, ShellRunRequest};
use crate::speaker::Speaker;
use crate::store::{Consumed, StoreError};
use crate::transcript::tokens_of;
use crate::tree::Tree;

/// When a message becomes part of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joins {
    /// During a run.
    InRun,
    /// While nothing runs; the message is only stored.
    AtRest,
}

/// Stores entries, after those that wait at the handle, and takes letters out of the inbox. There is no other way
/// into the store, so that the order at the handle is the order on disk.
pub(crate) async fn write_entries(
    session: &Session,
    new: Vec<NewEntry>,
    letters: Vec<i64>,
) -> Result<Consumed, StoreError> {
    let store = async |entries| match letters.is_empty() {
        true => session
            .speaker
            .agent
            .store
            .append(session.id(), entries)
            .await
            .map(|()| Consumed::All),
        false => {
            let store = &session.speaker.agent.store;
            store.append_consuming(session.id(), entries, letters).await
        }
    };
    let (entries, written) = match &session.inbox.handle {
        Some(handle) => {
            let (entries, written) = handle.conversation().write(new);
            (entries, Some((handle, written)))
        }
        None => (new, None),
    };
    let names: Vec<String> = entries.iter().filter_map(name_in).collect();
    let stored = store(entries).await;
    if stored != Ok(Consumed::All) {
        written
            .into_iter()
            .for_each(|(handle, written)| handle.conversation().unwrite(written));
        return stored;
    }
    for name in names {
        session
            .hooks
            .tell::<NameChange>(|| NameChangePayload { name })
            .await;
    }
    stored
}

/// Stores messages that have passed their hooks, and adds them to the conversation.
pub(crate) async fn store_messages(session: &mut Session, messages: Vec<Message>) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let entries = messages.iter().map(NewEntry::from).collect();
    let _ = write_entries(session, entries, Vec::new()).await?;
    session.transcript.messages.extend(messages);
    show_usage(session);
    Ok(())
}

/// Passes messages through their hooks, stores them, and adds them to the conversation.
pub(crate) async fn add_messages(session: &mut Session, messages: Vec<Message>) -> Result<(), StoreError> {
    let finished = pass_hooks(&session.hooks, &session.speaker, messages, Joins::InRun).await;
    store_messages(session, finished).await
}

/// Passes messages through their hooks.
pub(crate) async fn pass_hooks(
    hooks: &Hooks,
    speaker: &Speaker,
    messages: Vec<Message>,
    joins: Joins,
) -> Vec<Message> {
    let mut finished = Vec::with_capacity(messages.len());
    for message in messages {
        hooks
            .tell::<MessageStart>(|| MessageStartPayload {
                message: message.clone(),
                at_rest: joins == Joins::AtRest,
            })
            .await;
        finished.push(pass_end_hooks(hooks, speaker, message, joins).await);
    }
    finished
}

/// Passes a complete message through its hooks, which may replace it by one of the same role.
pub(crate) async fn pass_end_hooks(
    hooks: &Hooks,
    speaker: &Speaker,
    message: Message,
    joins: Joins,
) -> Message {
    let reply = hooks
        .tell::<MessageEnd>(|| MessageEndPayload {
            message: message.clone(),
            at_rest: joins == Joins::AtRest,
            replaced: false,
        })
        .await;
    let message = match reply.message.get() {
        Some(other) if same_role(&other, &message) => match judged_again(hooks, other).await {
            Ok(other) => other,
            Err(reason) => {
                let words = format!("a hook of message_end changed an answer as it may not be: {reason}");
                speaker.agent.front.show(FrontUpdate::Warning(&words));
                message
            }
        },
        Some(_) => {
            speaker.agent.front.show(FrontUpdate::Warning(
                "a hook of message_end changed a message's role; it was ignored",
            ));
            message
        }
        None => message,
    };
    speaker.agent.front.show(FrontUpdate::Message(&message));
    message
}

/// Lets guards of answers judge one that has changed since they did, so that what is shown is what was judged. The
/// error says why the change does not count.
async fn judged_again(hooks: &Hooks, message: Message) -> Result<Message, String> {
    let is_answer = matches!(message.body(), MessageBody::Assistant { .. });
    if !is_answer || !(hooks.has_handlers::<PostResponse>() || hooks.has_handlers::<Output>()) {
        return Ok(message);
    }
    let payload = || PostResponsePayload {
        message: message.clone(),
        purpose: RequestPurpose::Answer,
    };
    let reply = hooks.ask::<PostResponse>(payload).await;
    permitted(reply.verdict)?;
    let message = instead(message, reply.message.get());
    if !message.tool_calls().is_empty() {
        return Ok(message);
    }
    let text = message.text();
    let reply = hooks.ask::<Output>(|| OutputPayload { text }).await;
    permitted(reply.verdict)?;
    Ok(match reply.text.get() {
        Some(text) => with_text(&message, text),
        None => message,
    })
}

/// Whether a verdict lets something happen without a question.
fn permitted(verdict: Strictest) -> Result<(), String> {
    match verdict.0 {
        None | Some(Verdict::Allow) => Ok(()),
        Some(Verdict::Ask(reason) | Verdict::Insist(reason) | Verdict::Deny(reason)) => Err(reason),
    }
}

/// Stores notes and entries that wait at the handle.
pub(crate) async fn keep_waiting(session: &mut Session) -> Result<(), StoreError> {
    let Some(handle) = session.inbox.handle.clone() else {
        return Ok(());
    };
    // Beside another session nothing becomes part of the conversation.
    if session.beside {
        return Ok(());
    }
    let notes = session.inbox.queues.take_notes().into_iter().map(from_draft);
    let notes = pass_hooks(&session.hooks, &session.speaker, notes.collect(), Joins::AtRest).await;
    store_messages(session, notes).await?;
    if handle.conversation().has_unstored() {
        let _ = write_entries(session, Vec::new(), Vec::new()).await?;
    }
    // A command that the user ran meanwhile comes after the messages of the run.
    if session.inbox.queues.is_running() {
        return Ok(());
    }
    for ShellRunRequest { run, kept } in handle.requests().take_shell_runs() {
        let result = keep_shell_run(session, run).await;
        // The sender may have stopped waiting.
        let _ = kept.send(result.clone().map_err(|error| HandleError::Failed(error.message)));
        result?;
    }
    Ok(())
}

/// Keeps a command that the user ran. The model is told with the next prompt, unless it is hidden.
pub(crate) async fn keep_shell_run(session: &mut Session, run: ShellRun) -> Result<(), StoreError> {
    let entry = NewEntry::new(EntryContent::Shell(run));
    let shown = seen_message(&StoredEntry {
        id: entry.id.clone(),
        parent_id: None,
        session_id: String::new(),
        time_ms: entry.time_ms,
        content: entry.content.clone(),
        source: None,
    });
    let _ = write_entries(session, vec![entry], Vec::new()).await?;
    session.transcript.messages.extend(shown);
    show_usage(session);
    Ok(())
}

/// Shows the current length of the conversation at the handle.
pub(crate) fn show_usage(session: &mut Session) {
    if session.inbox.handle.is_some() {
        let tokens = context_tokens(session);
        session
            .inbox
            .handle
            .iter()
            .for_each(|handle| handle.set_tokens(tokens));
    }
}

/// How many tokens the conversation has by now, with everything that comes before it.
pub(crate) fn context_tokens(session: &mut Session) -> u64 {
    let speaker = &session.speaker;
    session.transcript.tokens(|| fixed_bytes(speaker))
}

/// Counts a sub-agent's answer against the tokens that all sub-agents may use; if its provider does not say what it
/// used, by an estimate.
pub(crate) fn count_answer(session: &mut Session, message: &Message) {
    let MessageBody::Assistant { model, usage, .. } = message.body() else {
        return;
    };
    if !session.is_subagent() || model == HOOK {
        return;
    }
    let tokens = match usage.names_tokens() {
        true => usage.input_tokens.saturating_add(usage.output_tokens),
        false => context_tokens(session) + tokens_of(message),
    };
    session.lineage.family.count(tokens);
}

/// The size of everything before the conversation, as far as it is known without asking hooks.
fn fixed_bytes(speaker: &Speaker) -> usize {
    let settings = &speaker.agent.settings;
    let files: usize = settings.prompt_files.iter().map(|(_, text)| text.len()).sum();
    let faces = speaker.agent.tools.iter().map(|tool| tool.spec());
    let faces = faces.filter(|spec| speaker.offers(spec)).map(|spec| &spec.face);
    let tools: usize = faces
        .map(|face| face.name.len() + face.description.len() + face.parameters.to_string().len())
        .sum();
    settings.instructions.len() + files + tools
}

/// Adds the entries that hooks drafted, in their order.
pub(crate) async fn add_drafts(session: &mut Session, drafts: Vec<EntryDraft>) -> Result<(), StoreError> {
    for draft in drafts {
        match draft {
            EntryDraft::Note(draft) => add_messages(session, vec![from_draft(draft)]).await?,
            EntryDraft::Record { kind, data } => {
                let entry = NewEntry::new(EntryContent::Custom { kind, data });
                let _ = write_entries(session, vec![entry], Vec::new()).await?;
            }
        }
    }
    Ok(())
}

/// The conversation with all its branches, as it is stored.
pub(crate) async fn stored_tree(session: &Session) -> Result<Tree, StoreError> {
    session.speaker.agent.store.tree(session.id()).await
}

/// Labels an entry, or removes its label. Says whether there is such an entry.
pub(crate) async fn label_entry(
    session: &mut Session,
    entry_id: &str,
    label: Option<&str>,
) -> Result<bool, StoreError> {
    keep_waiting(session).await?;
    if stored_tree(session).await?.entry(entry_id).is_none() {
        return Ok(false);
    }
    let label = EntryContent::Label {
        target_id: entry_id.into(),
        label: label.map(Into::into),
    };
    let _ = write_entries(session, vec![NewEntry::new(label)], Vec::new()).await?;
    Ok(true)
}

/// Gives the conversation a name; an empty one removes it.
pub(crate) async fn name_conversation(session: &mut Session, name: &str) -> Result<(), StoreError> {
    let name = NewEntry::new(EntryContent::Name { name: name.into() });
    let _ = write_entries(session, vec![name], Vec::new()).await?;
    Ok(())
}

/// Gives the conversation the name that a hook wants, unless it has that name.
pub(crate) async fn take_title(session: &mut Session, title: &str) {
    let named = match stored_tree(session).await {
        Ok(tree) if tree.name() == Some(title) => Ok(()),
        Ok(_) => name_conversation(session, title).await,
        Err(error) => Err(error),
    };
    if let Err(error) = named {
        let message = format!("the conversation could not be named: {error}");
        session.speaker.agent.front.show(FrontUpdate::Warning(&message));
    }
}

/// The name that an entry gives the conversation.
fn name_in(entry: &NewEntry) -> Option<String> {
    match &entry.content {
        EntryContent::Name { name } => Some(name.clone()),
        _ => None,
    }
}
