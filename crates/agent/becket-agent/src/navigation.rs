//! Moving to another entry in the tree of a conversation: what came after that entry stays where it is, and what comes
//! next is a new branch. A summary there may describe the branch that was left.
//!
//! Nothing changes before everything is ready: whatever is refused, fails or is cancelled on the way leaves the
//! conversation where it was.
//!
//! Where a conversation stands is stored, so that the next run goes on from there.

use std::sync::Arc;

use becket_events::{
    ErrorKind, Message, MessageBody, PostSessionTree, PostSessionTreePayload, PreSessionTree,
    PreSessionTreePayload, Summary,
};
use tokio_util::sync::CancellationToken;

use crate::compact::{Summing, read_summary, request_summary, write_summary_file};
use crate::context_files::ContextFile;
use crate::current_agent::{apply_choices, begin_work, take_up};
use crate::destination::GoTo;
use crate::endings::{CompactEnd, GoToEnd};
use crate::entries::{Conversation, EntryContent, NewEntry, StoredEntry, seen_message};
use crate::message::note;
use crate::session::Session;
use crate::store::StoreError;
use crate::storing::{keep_waiting, show_usage, stored_tree};
use crate::tree::Tree;

/// The destination of a move, and what it leaves behind.
struct Step {
    tree: Tree,
    target: Arc<StoredEntry>,
    common: Option<Arc<StoredEntry>>,
    /// The messages on the branch that is left.
    abandoned: Vec<Message>,
}

impl Step {
    fn new(tree: Tree, target: Arc<StoredEntry>) -> Self {
        let (common, left) = tree.left_for(&target.id);
        let abandoned = left.iter().filter_map(|entry| told(entry)).collect();
        Self {
            tree,
            target,
            common,
            abandoned,
        }
    }
}

/// Continues from another entry of the conversation. If the entry is a message to the model, continues from before
/// it, so that the message can be edited.
pub(crate) async fn go_to_entry(
    session: &mut Session,
    target_id: &str,
    how: GoTo,
    cancel: CancellationToken,
) -> Result<GoToEnd, StoreError> {
    begin_work(session, cancel);
    apply_choices(session).await;
    let end = step_to(session, target_id, how).await;
    session.inbox.end_work();
    end
}

async fn step_to(session: &mut Session, target_id: &str, how: GoTo) -> Result<GoToEnd, StoreError> {
    keep_waiting(session).await?;
    let tree = stored_tree(session).await?;
    let Some(target) = tree.entry(target_id).cloned() else {
        return Ok(GoToEnd::NoEntry);
    };
    if tree.leaf_id() == Some(target_id) {
        return Ok(GoToEnd::AlreadyThere);
    }
    let step = Step::new(tree, target);
    let payload = || payload_of(&step, &how);
    let (reply, handlers) = session.hooks.ask_whom::<PreSessionTree>(payload).await;
    let subject = "going to another place in the conversation";
    let consent = session
        .gate
        .consent(&session.hooks, subject, reply.verdict, handlers)
        .await;
    if session.hooks.cancel().is_cancelled() {
        return Ok(GoToEnd::Cancelled);
    }
    if let Err(reason) = consent {
        session.raise(ErrorKind::HookBlocked, &reason).await;
        return Ok(GoToEnd::Refused(reason));
    }
    let brought = reply.summary.get().filter(|_| how.summarize);
    let how = GoTo {
        instructions: reply.instructions.0.or(how.instructions),
        replace_instructions: reply.instructions_alone.0.unwrap_or(how.replace_instructions),
        label: reply.label.get().or(how.label),
        ..how
    };
    let by_hook = brought.is_some();
    let summary = match brought {
        Some(summary) => Some(summary),
        None if how.summarize && !step.abandoned.is_empty() => {
            match summary_of_branch(session, &step.abandoned, &how).await {
                Ok(summary) => Some(summary),
                Err(end) => return Ok(unsummarised(end)),
            }
        }
        None => None,
    };
    let summary = summary.filter(|summary| !summary.text.trim().is_empty());
    arrive_at(session, step, summary, by_hook, how.label).await
}

/// Lets the model summarise the branch that is left.
async fn summary_of_branch(
    session: &mut Session,
    left: &[Message],
    how: &GoTo,
) -> Result<Summary, CompactEnd> {
    let usual = &session.speaker.agent.settings.compaction.prompt;
    let instructions: Vec<&str> = how.instructions.as_deref().into_iter().collect();
    let (system_prompt, instructions) = match instructions.first() {
        Some(alone) if how.replace_instructions => (*alone, &[][..]),
        _ => (usual.as_str(), &instructions[..]),
    };
    let summing = Summing {
        messages: left,
        before: None,
        instructions,
        system_prompt,
    };
    let answer = request_summary(session, summing, None).await;
    let text = read_summary(session, answer)?;
    Ok(Summary {
        text,
        first_kept_id: None,
        details: None,
    })
}

/// Moves the conversation to its new place.
async fn arrive_at(
    session: &mut Session,
    step: Step,
    summary: Option<Summary>,
    by_hook: bool,
    label: Option<String>,
) -> Result<GoToEnd, StoreError> {
    let Step { tree, target, .. } = step;
    let (leaf_id, text) = place_of(&target);
    let previous_leaf_id = tree.leaf_id().map(ToOwned::to_owned);
    let told = summary.as_ref().map(|summary| {
        NewEntry::new(EntryContent::BranchSummary {
            from_id: leaf_id.clone(),
            summary: summary.text.clone(),
            by_hook,
            details: summary.details.clone(),
        })
    });
    let summary_id = told.as_ref().map(|entry| entry.id.clone());
    let label = label.filter(|label| !label.is_empty()).map(|label| {
        NewEntry::new(EntryContent::Label {
            target_id: summary_id.clone().unwrap_or_else(|| target.id.clone()),
            label: Some(label),
        })
    });
    let entries = told.into_iter().chain(label).collect();
    let place_id = leaf_id.clone();
    session
        .speaker
        .agent
        .store
        .move_to(session.id(), leaf_id, entries)
        .await?;
    let tree = stored_tree(session).await?;
    take_up(session, Conversation::of(tree.path().iter().map(AsRef::as_ref)));
    let leaf_id = tree.leaf_id().map(ToOwned::to_owned);
    if let Some(handle) = &session.inbox.handle {
        handle.conversation().set_tree(tree);
    }
    show_usage(session);
    renew_summary_file(session)?;
    let payload = || PostSessionTreePayload {
        leaf_id: leaf_id.clone(),
        previous_leaf_id,
        by_hook: by_hook && summary.is_some(),
        summary,
        summary_id: summary_id.clone(),
        place_id,
    };
    session.hooks.tell::<PostSessionTree>(payload).await;
    Ok(GoToEnd::Went {
        leaf_id,
        text,
        summary_id,
    })
}

/// Writes the file with the summary anew, for the place where the conversation is now.
fn renew_summary_file(session: &Session) -> Result<(), StoreError> {
    if let Some(summary) = session.summary() {
        write_summary_file(session, summary);
        return Ok(());
    }
    let files = session.files();
    files.remove_own(ContextFile::Summary).map_err(|error| {
        StoreError::new(format!(
            "the conversation is elsewhere now, but the summary in {} cannot be removed: {error}",
            files.folder().display()
        ))
    })?;
    Ok(())
}

fn payload_of(step: &Step, how: &GoTo) -> PreSessionTreePayload {
    PreSessionTreePayload {
        target_id: step.target.id.clone(),
        leaf_id: step.tree.leaf_id().map(ToOwned::to_owned),
        common_ancestor_id: step.common.as_ref().map(|entry| entry.id.clone()),
        abandoned: step.abandoned.clone(),
        wants_summary: how.summarize,
        instructions: how.instructions.clone(),
        instructions_alone: how.replace_instructions,
        label: how.label.clone(),
    }
}

/// The leaf after moving to an entry, and the text that can be edited and sent again there.
pub(crate) fn place_of(entry: &StoredEntry) -> (Option<String>, Option<String>) {
    match &entry.content {
        EntryContent::Message { message }
            if matches!(
                message.body(),
                MessageBody::User { .. } | MessageBody::Note { .. }
            ) =>
        {
            (entry.parent_id.clone(), Some(message.text()))
        }
        _ => (Some(entry.id.clone()), None),
    }
}

/// An entry's message as the summary's writer sees it.
fn told(entry: &StoredEntry) -> Option<Message> {
    match &entry.content {
        EntryContent::Compaction { summary, .. } => Some(note("summary", summary)),
        _ => seen_message(entry),
    }
}

fn unsummarised(end: CompactEnd) -> GoToEnd {
    match end {
        CompactEnd::Refused(reason) => GoToEnd::Refused(reason),
        CompactEnd::Provider(error) => GoToEnd::Provider(error),
        CompactEnd::NoSummary(words) => GoToEnd::NoSummary(words),
        CompactEnd::Cancelled | CompactEnd::Nothing | CompactEnd::Compacted { .. } => GoToEnd::Cancelled,
    }
}
