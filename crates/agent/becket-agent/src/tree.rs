//! A conversation with all its branches: the entries, their labels, and the current entry.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::entries::{EntryContent, StoredEntry};

/// A conversation as a tree. An entry's parent always comes before it.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    entries: Vec<Arc<StoredEntry>>,
    /// The index of each entry, by its id.
    places: HashMap<String, usize>,
    /// The indices of the entries that follow each one, oldest first; those that begin a conversation follow `None`.
    children: HashMap<Option<String>, Vec<usize>>,
    leaf_id: Option<String>,
    labels: HashMap<String, Label>,
    name: Option<String>,
}

/// A label of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The text of the label.
    pub text: String,
    /// When the label was given, in milliseconds since 1970.
    pub time_ms: u64,
}

/// Entries of a tree, in order.
pub type Branch = Vec<Arc<StoredEntry>>;

impl Tree {
    /// A tree of entries, oldest first, with its current entry; `None` before the first.
    pub fn new(entries: impl IntoIterator<Item = StoredEntry>, leaf_id: Option<String>) -> Self {
        let mut tree = Self::default();
        entries.into_iter().for_each(|entry| tree.push(entry));
        tree.leaf_id = leaf_id;
        tree
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Arc<StoredEntry>] {
        &self.entries
    }

    /// The entry with that id.
    pub fn entry(&self, id: &str) -> Option<&Arc<StoredEntry>> {
        self.places.get(id).map(|place| &self.entries[*place])
    }

    /// The current entry; `None` before the first.
    pub fn leaf_id(&self) -> Option<&str> {
        self.leaf_id.as_deref()
    }

    /// The entries from the root to the current one.
    pub fn path(&self) -> Branch {
        self.path_to(self.leaf_id())
    }

    /// The entries from the root to this one; none if there is no such entry.
    pub fn path_to(&self, id: Option<&str>) -> Branch {
        let mut path = Branch::new();
        let mut next = id.and_then(|id| self.entry(id));
        while let Some(entry) = next {
            path.push(Arc::clone(entry));
            next = entry.parent_id.as_deref().and_then(|id| self.entry(id));
        }
        path.reverse();
        path
    }

    /// The entries that directly follow this one, or for `None` those that begin a conversation; oldest first.
    pub fn children(&self, id: Option<&str>) -> Branch {
        let children = self.children.get(&id.map(ToOwned::to_owned));
        let places = children.into_iter().flatten();
        places.map(|place| Arc::clone(&self.entries[*place])).collect()
    }

    /// The current label of an entry.
    pub fn label(&self, id: &str) -> Option<&Label> {
        self.labels.get(id)
    }

    /// The name that the conversation was given last, on whichever branch.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What a move to another entry leaves: the last entry on the paths to both, and those after it up to the current
    /// one.
    pub fn left_for(&self, target_id: &str) -> (Option<Arc<StoredEntry>>, Branch) {
        let target = self.path_to(Some(target_id));
        let on_the_way: HashSet<&str> = target.iter().map(|entry| entry.id.as_str()).collect();
        let mut left = self.path();
        let common = left
            .iter()
            .rposition(|entry| on_the_way.contains(entry.id.as_str()));
        let left_behind = left.split_off(common.map_or(0, |place| place + 1));
        (left.pop(), left_behind)
    }

    /// Adds an entry, which becomes the current one. An entry whose parent is missing begins a conversation.
    pub(crate) fn push(&mut self, mut entry: StoredEntry) {
        if let Some(parent) = &entry.parent_id
            && !self.places.contains_key(parent)
        {
            entry.parent_id = None;
        }
        self.note(&entry);
        let place = self.entries.len();
        self.places.insert(entry.id.clone(), place);
        self.children
            .entry(entry.parent_id.clone())
            .or_default()
            .push(place);
        self.leaf_id = Some(entry.id.clone());
        self.entries.push(Arc::new(entry));
    }

    /// Removes entries; what followed them then follows what is left before them.
    pub(crate) fn remove(&mut self, ids: &[String]) {
        let ids: HashSet<&String> = ids.iter().collect();
        let before = std::mem::take(self);
        let left = |mut id: Option<String>| {
            while let Some(gone) = id.as_ref().filter(|id| ids.contains(id)) {
                id = before.entry(gone).and_then(|entry| entry.parent_id.clone());
            }
            id
        };
        for entry in before.entries.iter().filter(|entry| !ids.contains(&entry.id)) {
            self.push(StoredEntry {
                parent_id: left(entry.parent_id.clone()),
                ..StoredEntry::clone(entry)
            });
        }
        self.leaf_id = left(before.leaf_id.clone());
    }

    /// Records the label or name that an entry gives.
    fn note(&mut self, entry: &StoredEntry) {
        match &entry.content {
            EntryContent::Name { name } => {
                self.name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
            }
            EntryContent::Label { target_id, label } => {
                let label = label.clone().filter(|label| !label.is_empty());
                match label {
                    Some(text) => self.labels.insert(
                        target_id.clone(),
                        Label {
                            text,
                            time_ms: entry.time_ms,
                        },
                    ),
                    None => self.labels.remove(target_id),
                };
            }
            _ => {}
        }
    }
}
