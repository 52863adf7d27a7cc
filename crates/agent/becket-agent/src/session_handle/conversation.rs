//! The conversation of a session, as its handle shows it, and what may be added to it.
//!
//! The time of an entry is when it was made and not when it was stored, because the handle shows it before.

use std::sync::Arc;

use becket_events::Message;

use super::state::{HandleError, Shared};
use crate::entries::{Conversation, EntryContent, NewEntry, StoredEntry};
use crate::tree::{Branch, Tree};

/// The conversation of a session. What is added is visible at once, and stored soon.
#[derive(Clone)]
pub struct ConversationHandle(pub(super) Arc<Shared>);

/// Entries on their way into the store.
pub(crate) struct Written {
    /// Entries that had waited to be stored.
    waited: Vec<NewEntry>,
    /// The ids of the new entries.
    new: Vec<String>,
}

impl ConversationHandle {
    /// The name that the conversation was given.
    pub fn name(&self) -> Result<Option<String>, HandleError> {
        self.0.see(|seen| seen.tree.name().map(ToOwned::to_owned))
    }

    /// The conversation with all its branches, including entries that are not stored yet.
    pub fn tree(&self) -> Result<Tree, HandleError> {
        self.0.see(|seen| seen.tree.clone())
    }

    /// Identifies the conversation across all sessions of its context: the id of the first of them.
    pub fn id(&self) -> Result<String, HandleError> {
        self.0.see(|seen| match seen.tree.entries().first() {
            Some(first) => first.session_id.clone(),
            None => seen.place.session_id.clone(),
        })
    }

    /// All entries of the conversation, on whichever branch, oldest first.
    pub fn all_entries(&self) -> Result<Branch, HandleError> {
        self.0.see(|seen| seen.tree.entries().to_vec())
    }

    /// The entries of the conversation from its root to the current leaf.
    pub fn entries(&self) -> Result<Branch, HandleError> {
        self.0.see(|seen| seen.tree.path())
    }

    /// The entries from the root to this one; none if there is no such entry.
    pub fn branch(&self, id: &str) -> Result<Branch, HandleError> {
        self.0.see(|seen| seen.tree.path_to(Some(id)))
    }

    /// The entries that directly follow this one, or for `None` those that begin a conversation.
    pub fn children(&self, id: Option<&str>) -> Result<Branch, HandleError> {
        self.0.see(|seen| seen.tree.children(id))
    }

    /// The entry with that id, on whichever branch.
    pub fn entry(&self, id: &str) -> Result<Option<Arc<StoredEntry>>, HandleError> {
        self.0.see(|seen| seen.tree.entry(id).cloned())
    }

    /// The current leaf of the conversation; `None` at its beginning.
    pub fn leaf_id(&self) -> Result<Option<String>, HandleError> {
        self.0.see(|seen| seen.tree.leaf_id().map(ToOwned::to_owned))
    }

    /// The label of an entry.
    pub fn label(&self, entry_id: &str) -> Result<Option<String>, HandleError> {
        self.0
            .see(|seen| seen.tree.label(entry_id).map(|label| label.text.clone()))
    }

    /// The conversation as the model sees it: the messages since the last compaction, and those that it kept.
    pub fn messages(&self) -> Result<Vec<Message>, HandleError> {
        let entries = self.entries()?;
        Ok(Conversation::of(entries.iter().map(AsRef::as_ref)).messages)
    }

    /// Adds an entry that the model never sees, and returns its id. It is stored before the next message, or before
    /// the prompt or the session ends.
    pub fn remember(&self, kind: &str, data: serde_json::Value) -> Result<String, HandleError> {
        let kind = kind.into();
        self.add(EntryContent::Custom { kind, data })
    }

    /// Labels an entry, or removes its label. Fails if there is no such entry.
    pub fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<String, HandleError> {
        if self.entry(entry_id)?.is_none() {
            let words = format!("there is no entry {entry_id:?} in this conversation");
            return Err(HandleError::Failed(words));
        }
        self.add(EntryContent::Label {
            target_id: entry_id.into(),
            label: label.map(Into::into),
        })
    }

    /// Gives the conversation a name.
    pub fn set_name(&self, name: &str) -> Result<String, HandleError> {
        self.add(EntryContent::Name { name: name.into() })
    }

    /// Adds an entry about a change that the session has made.
    pub(crate) fn note_change(&self, content: EntryContent) {
        // A session that is over changes nothing any more.
        let _ = self.add(content);
    }

    pub(crate) fn has_unstored(&self) -> bool {
        !self.0.state().unstored.is_empty()
    }

    /// Entries are about to be stored, behind those that wait. They are visible from now on, so that whatever is added
    /// meanwhile comes after them.
    pub(crate) fn write(&self, new: Vec<NewEntry>) -> (Vec<NewEntry>, Written) {
        let mut state = self.0.state();
        let waited = std::mem::take(&mut state.unstored);
        if let Some(seen) = &mut state.seen {
            new.iter().for_each(|entry| seen.show(entry));
        }
        let ids = new.iter().map(|entry| entry.id.clone()).collect();
        let entries = waited.iter().cloned().chain(new).collect();
        (entries, Written { waited, new: ids })
    }

    /// Takes back entries that could not be stored: those that had waited wait again.
    pub(crate) fn unwrite(&self, written: Written) {
        let Written { waited, new } = written;
        let mut state = self.0.state();
        let later = std::mem::replace(&mut state.unstored, waited);
        state.unstored.extend(later);
        if let Some(seen) = &mut state.seen {
            seen.tree.remove(&new);
        }
    }

    /// The conversation starts afresh.
    pub(crate) fn clear(&self) {
        self.set_tree(Tree::default());
    }

    /// The conversation continues at another place.
    pub(crate) fn set_tree(&self, tree: Tree) {
        let mut state = self.0.state();
        let unstored = state.unstored.clone();
        if let Some(seen) = &mut state.seen {
            seen.tree = tree;
            unstored.iter().for_each(|entry| seen.show(entry));
        }
    }

    fn add(&self, content: EntryContent) -> Result<String, HandleError> {
        let mut state = self.0.open()?;
        let entry = NewEntry::new(content);
        let id = entry.id.clone();
        if let Some(seen) = &mut state.seen {
            seen.show(&entry);
        }
        state.unstored.push(entry);
        drop(state);
        self.0.queues.tell();
        Ok(id)
    }
}
