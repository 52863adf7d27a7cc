//! Earlier entries in the editor: going through them, and searching them.

use super::buffer::Snapshot;
use crate::history::History;
use crate::keys::Key;

/// Where the editor is in its history.
#[derive(Default)]
pub(super) struct Recall {
    /// The history entry that is shown, and what was typed before.
    browsing: Option<(usize, String)>,
    search: Option<Search>,
}

struct Search {
    term: String,
    found: Option<usize>,
    before: Snapshot,
}

/// The direction in which entries are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Older,
    Newer,
}

/// What a key did to the search.
pub(super) enum SearchKey {
    /// There is no search, or the key ends it and means something else.
    Ignored,
    /// The search goes on, with another text if one was found.
    Shown(Option<String>),
    /// The user takes what was found.
    Accepted,
    /// The search was given up.
    Cancelled(Snapshot),
}

impl Recall {
    /// The next entry in a direction; after the newest comes what was typed before. `None` at the ends.
    pub(super) fn browse(&mut self, history: &History, typed: &str, direction: Direction) -> Option<String> {
        let count = history.entries().len();
        let (at, draft) = self.browsing.take().unwrap_or_else(|| (count, typed.to_owned()));
        let next = match direction {
            Direction::Older => at.checked_sub(1),
            Direction::Newer => Some(at + 1),
        };
        let Some(next) = next.filter(|next| *next <= count) else {
            self.browsing = (at < count).then_some((at, draft));
            return None;
        };
        let Some(entry) = history.entries().get(next) else {
            return Some(draft);
        };
        self.browsing = Some((next, draft));
        Some(entry.clone())
    }

    /// Ends the browsing: the text is no longer a history entry.
    pub(super) fn stop_browsing(&mut self) {
        self.browsing = None;
    }

    pub(super) fn begin_search(&mut self, before: Snapshot) {
        self.search = Some(Search {
            term: String::new(),
            found: None,
            before,
        });
    }

    /// Ends the search, and returns the text from before it if there was one.
    pub(super) fn end_search(&mut self) -> Option<Snapshot> {
        self.search.take().map(|search| search.before)
    }

    /// The prompt of the search.
    pub(super) fn search_prompt(&self) -> Option<String> {
        let Search { term, found, .. } = self.search.as_ref()?;
        Some(if found.is_none() && !term.is_empty() {
            format!("(not found: {term}) ")
        } else {
            format!("(search: {term}) ")
        })
    }

    /// Handles a key of the search. Other keys mean something else; the caller ends the search, and the found text
    /// stays.
    pub(super) fn search_key(&mut self, history: &History, key: &Key) -> SearchKey {
        let count = history.entries().len();
        let Some(search) = &mut self.search else {
            return SearchKey::Ignored;
        };
        let end = match (key.name.as_str(), &key.text) {
            ("ctrl+r", _) => search.found.unwrap_or(count),
            ("backspace", _) => {
                search.term.pop();
                count
            }
            ("escape" | "ctrl+c" | "ctrl+g", _) => {
                return self.end_search().map_or(SearchKey::Ignored, SearchKey::Cancelled);
            }
            ("enter", _) => return SearchKey::Accepted,
            (_, Some(text)) => {
                search.term.push_str(text);
                search.found.map_or(count, |found| found + 1)
            }
            _ => return SearchKey::Ignored,
        };
        let found = history
            .find(&search.term, end)
            .filter(|_| !search.term.is_empty());
        if found.is_some() || key.name != "ctrl+r" {
            search.found = found;
        }
        SearchKey::Shown(found.and_then(|found| history.entries().get(found).cloned()))
    }
}
