//! How a conversation goes to another place in its tree: what was said behind it stays where it is, and what comes next
//! is another branch. A summary may tell there of the branch that was left.
//!
//! Nothing changes before everything is ready: whatever is refused, fails or is cancelled on the way leaves the
//! conversation where it stood.

use std::sync::Arc;

use becket_events::{
    ErrorKind, Message, MessageBody, PostSessionTree, PostSessionTreePayload, PreSessionTree,
    PreSessionTreePayload, Summary,
};
use tokio_util::sync::CancellationToken;

use crate::compact::{CompactEnd, Summing};
use crate::context_files::ContextFile;
use crate::message::note;
use crate::provider::ProviderError;
use crate::session::Session;
use crate::store::{Conversation, EntryContent, NewEntry, ShellRun, StoreError, StoredEntry, seen_message};
use crate::tree::Tree;

/// How to go to another place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoTo {
    /// Whether a summary tells of the branch that is left.
    pub summarize: bool,
    /// What the summary should pay attention to.
    pub instructions: Option<String>,
    /// Whether these instructions are the whole of what the model is told, and not an addition.
    pub replace_instructions: bool,
    /// A label for the place: for the summary if there is one, else for the entry.
    pub label: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub enum GoToEnd {
    /// The conversation stands elsewhere.
    Went {
        /// The entry at which it stands; `None` before the first.
        leaf_id: Option<String>,
        /// What was said at the chosen entry, to be said again in other words.
        text: Option<String>,
        /// The entry with the summary, if there is one.
        summary_id: Option<String>,
    },
    /// It stood there already.
    AlreadyThere,
    /// The conversation has no such entry.
    NoEntry,
    /// A hook does not want it, or the person does not.
    Refused(String),
    /// The provider failed.
    Provider(ProviderError),
    /// The model wrote no summary that could be used.
    NoSummary(&'static str),
    /// The person cancelled.
    Cancelled,
}

/// Where the conversation goes, and what it leaves.
struct Step {
    tree: Tree,
    target: Arc<StoredEntry>,
    common: Option<Arc<StoredEntry>>,
    /// What is said on the branch that is left.
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

impl Session {
    /// Goes on from another entry of the conversation. Where the entry is something that was said to the model, it goes
    /// on from before it, so that it can be said in other words.
    pub async fn go_to(
        &mut self,
        target_id: &str,
        how: GoTo,
        cancel: CancellationToken,
    ) -> Result<GoToEnd, StoreError> {
        self.begin_work(cancel);
        self.heed().await;
        let end = self.step_to(target_id, how).await;
        self.end_work();
        end
    }

    async fn step_to(&mut self, target_id: &str, how: GoTo) -> Result<GoToEnd, StoreError> {
        self.keep().await?;
        let tree = self.tree().await?;
        let Some(target) = tree.entry(target_id).cloned() else {
            return Ok(GoToEnd::NoEntry);
        };
        if tree.leaf_id() == Some(target_id) {
            return Ok(GoToEnd::AlreadyThere);
        }
        let step = Step::new(tree, target);
        let payload = || payload_of(&step, &how);
        let (reply, handlers) = self.hooks.ask_whom::<PreSessionTree>(payload).await;
        let subject = "going to another place in the conversation";
        let consent = self
            .gate
            .consent(&self.hooks, subject, reply.verdict, handlers)
            .await;
        if self.hooks.cancel().is_cancelled() {
            return Ok(GoToEnd::Cancelled);
        }
        if let Err(reason) = consent {
            self.raise(ErrorKind::HookBlocked, &reason).await;
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
                match self.summary_of_branch(&step.abandoned, &how).await {
                    Ok(summary) => Some(summary),
                    Err(end) => return Ok(unsummarised(end)),
                }
            }
            None => None,
        };
        let summary = summary.filter(|summary| !summary.text.trim().is_empty());
        self.arrive(step, summary, by_hook, how.label).await
    }

    /// The conversation with all its branches, as it is stored.
    pub async fn tree(&self) -> Result<Tree, StoreError> {
        self.agent.store.tree(self.id()).await
    }

    /// Labels an entry, or takes its label away. Says whether there is such an entry.
    pub async fn set_label(&mut self, entry_id: &str, label: Option<&str>) -> Result<bool, StoreError> {
        self.keep().await?;
        if self.tree().await?.entry(entry_id).is_none() {
            return Ok(false);
        }
        let label = EntryContent::Label {
            target_id: entry_id.into(),
            label: label.map(Into::into),
        };
        let _ = self.write(vec![NewEntry::new(label)], Vec::new()).await?;
        Ok(true)
    }

    /// Gives the conversation a name; an empty one takes it away.
    pub async fn set_name(&mut self, name: &str) -> Result<(), StoreError> {
        let name = NewEntry::new(EntryContent::Name { name: name.into() });
        let _ = self.write(vec![name], Vec::new()).await?;
        Ok(())
    }

    /// Keeps a command that the person ran. The model hears of it with the next prompt, unless it is hidden.
    pub async fn keep_shell_run(&mut self, run: ShellRun) -> Result<(), StoreError> {
        let entry = NewEntry::new(EntryContent::Shell(run));
        let shown = seen_message(&StoredEntry {
            id: entry.id.clone(),
            parent_id: None,
            session_id: String::new(),
            time_ms: entry.time_ms,
            content: entry.content.clone(),
            source: None,
        });
        let _ = self.write(vec![entry], Vec::new()).await?;
        self.messages.extend(shown);
        self.show_usage();
        Ok(())
    }

    /// The model tells of the branch that is left.
    async fn summary_of_branch(&mut self, left: &[Message], how: &GoTo) -> Result<Summary, CompactEnd> {
        let usual = &self.agent.settings.compaction.prompt;
        let wishes: Vec<&str> = how.instructions.as_deref().into_iter().collect();
        let (system_prompt, wishes) = match wishes.first() {
            Some(alone) if how.replace_instructions => (*alone, &[][..]),
            _ => (usual.as_str(), &wishes[..]),
        };
        let summing = Summing {
            messages: left,
            before: None,
            wishes,
            system_prompt,
        };
        let answer = self.request_summary(summing, None).await;
        let text = self.read_summary(answer)?;
        Ok(Summary {
            text,
            first_kept_id: None,
            details: None,
        })
    }

    /// From now on the conversation stands at its new place.
    async fn arrive(
        &mut self,
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
        self.agent.store.move_to(self.id(), leaf_id, entries).await?;
        let tree = self.tree().await?;
        self.take_up(Conversation::of(tree.path().iter().map(AsRef::as_ref)));
        let leaf_id = tree.leaf_id().map(ToOwned::to_owned);
        if let Some(desk) = &self.desk {
            desk.set_tree(tree);
        }
        self.show_usage();
        self.renew_summary_file()?;
        let payload = || PostSessionTreePayload {
            leaf_id: leaf_id.clone(),
            previous_leaf_id,
            by_hook: by_hook && summary.is_some(),
            summary,
            summary_id: summary_id.clone(),
            place_id,
        };
        self.hooks.tell::<PostSessionTree>(payload).await;
        Ok(GoToEnd::Went {
            leaf_id,
            text,
            summary_id,
        })
    }

    /// The file with the summary is about the place where the conversation stands.
    fn renew_summary_file(&self) -> Result<(), StoreError> {
        if let Some(summary) = self.summary() {
            self.write_summary_file(summary);
            return Ok(());
        }
        let files = self.files();
        files.remove_own(ContextFile::Summary).map_err(|error| {
            StoreError::new(format!(
                "the conversation stands elsewhere now, but the summary in {} cannot be removed: {error}",
                files.folder().display()
            ))
        })?;
        Ok(())
    }
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

/// Where a conversation stands that goes to an entry, and what can be said there in other words.
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

/// What an entry says to whoever sums it up.
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
