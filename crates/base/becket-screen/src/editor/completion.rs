//! Completion: the editor asks for candidates, and the user chooses from a list.

use super::buffer::Buffer;
use crate::component::Area;
use crate::list::{Choice, Entry};

/// A request of the editor for completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// The number of the request; an answer to an older request is ignored.
    pub id: u64,
    pub text: String,
    /// The cursor's position in bytes.
    pub cursor: usize,
    /// Whether the user asked for completions, or only typed.
    pub forced: bool,
}

/// A possible completion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// The text that replaces the prefix.
    pub value: String,
    pub label: String,
    pub description: String,
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completions {
    /// The end of the text before the cursor that a candidate replaces.
    pub prefix: String,
    pub candidates: Vec<Candidate>,
    /// Whether Enter submits the text as soon as a candidate is taken, as for commands.
    pub submits: bool,
}

/// A candidate that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) prefix: String,
    pub(super) value: String,
    /// Whether the text is to be submitted.
    pub(super) submits: bool,
}

/// What a key did to the list of completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListKey {
    /// The key means nothing to the list, or there is none.
    Ignored,
    Taken,
    Chosen(Chosen),
}

struct Offer {
    completions: Completions,
    choice: Choice,
    /// Whether the text has changed since. The list is shown until the next one comes, but nothing is taken from it.
    stale: bool,
}

/// The requests of an editor, and the list that answers the last one.
#[derive(Default)]
pub(super) struct Completion {
    offer: Option<Offer>,
    /// The number of the last request; an answer to an older one is too late.
    last_id: u64,
    request: Option<CompletionRequest>,
    forced: bool,
}

impl Completion {
    pub(super) fn ask(&mut self, buffer: &Buffer, forced: bool) {
        self.last_id += 1;
        self.forced = forced;
        self.request = Some(CompletionRequest {
            id: self.last_id,
            text: buffer.text().to_owned(),
            cursor: buffer.cursor(),
            forced,
        });
    }

    /// The request that waits for an answer, returned once.
    pub(super) fn take_request(&mut self) -> Option<CompletionRequest> {
        self.request.take()
    }

    /// Asks again after a change of the text, if a word with a trigger is typed or there is a list.
    pub(super) fn follow(&mut self, buffer: &Buffer, triggers: &[char]) {
        let line_start = buffer.line_start();
        let line = &buffer.text()[line_start..buffer.cursor()];
        let word = line.rsplit(char::is_whitespace).next().unwrap_or_default();
        let starts = |text: &str| text.starts_with(triggers);
        // The arguments of a command belong to it.
        let wanted = starts(word) || (line_start == 0 && line.starts_with('/') && starts(line));
        if !wanted && self.offer.is_none() {
            self.cancel_request();
            return;
        }
        if let Some(offer) = &mut self.offer {
            offer.stale = true;
        }
        self.ask(buffer, false);
    }

    /// Removes the list.
    pub(super) fn close(&mut self) {
        self.offer = None;
    }

    /// Removes the list. An answer that comes now is too late.
    pub(super) fn expire(&mut self) {
        self.offer = None;
        self.last_id += 1;
    }

    fn cancel_request(&mut self) {
        self.last_id += 1;
        self.request = None;
    }

    /// Takes the answer to a request. Only the newest one counts, and only while its text is unchanged. A single
    /// candidate that the user asked for is chosen at once.
    pub(super) fn answer(&mut self, id: u64, completions: Completions, buffer: &Buffer) -> Option<Chosen> {
        let stands = buffer.text()[..buffer.cursor()].ends_with(&completions.prefix);
        if id != self.last_id || !stands {
            return None;
        }
        self.offer = None;
        if let [only] = completions.candidates.as_slice()
            && self.forced
        {
            let value = only.value.clone();
            return Some(self.choose(completions.prefix, value, false));
        }
        if !completions.candidates.is_empty() {
            self.offer = Some(Offer {
                completions,
                choice: Choice::default(),
                stale: false,
            });
        }
        None
    }

    /// Handles a key of the list.
    pub(super) fn key(&mut self, name: &str) -> ListKey {
        let Some(offer) = &mut self.offer else {
            return ListKey::Ignored;
        };
        let is_edge = matches!(name, "home" | "end");
        if !is_edge && offer.choice.follow(name, offer.completions.candidates.len()) {
            return ListKey::Taken;
        }
        match name {
            "escape" => {
                self.close();
                ListKey::Taken
            }
            "tab" | "enter" => self
                .choose_current(name)
                .map_or(ListKey::Ignored, ListKey::Chosen),
            _ => ListKey::Ignored,
        }
    }

    /// Removes the list and chooses its current candidate, unless the list no longer fits the text.
    fn choose_current(&mut self, name: &str) -> Option<Chosen> {
        let Offer {
            completions, choice, ..
        } = self.offer.take().filter(|offer| !offer.stale)?;
        let candidate = completions.candidates.into_iter().nth(choice.at)?;
        let submits = name == "enter" && completions.submits;
        Some(self.choose(completions.prefix, candidate.value, submits))
    }

    fn choose(&mut self, prefix: String, value: String, submits: bool) -> Chosen {
        self.close();
        self.cancel_request();
        Chosen {
            prefix,
            value,
            submits,
        }
    }

    /// The list, if there is one.
    pub(super) fn render(&self, area: Area) -> Vec<String> {
        let Some(offer) = &self.offer else {
            return Vec::new();
        };
        let entry = |candidate: &Candidate| Entry {
            label: match candidate.label.as_str() {
                "" => candidate.value.clone(),
                label => label.to_string(),
            },
            description: candidate.description.clone(),
            letter: None,
        };
        let entries: Vec<Entry> = offer.completions.candidates.iter().map(entry).collect();
        offer.choice.rows(&entries, area.width)
    }
}
