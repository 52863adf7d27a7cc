//! One event on its way through the handlers: where it happens, what is known now, and its text.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use becket_events::{Event, Scope, envelope};

/// What a handler gets to see.
pub struct Occasion<'a, E: Event> {
    /// Where and in whose name it happens.
    pub scope: &'a Scope,
    /// What is known now; earlier handlers may have changed it.
    pub payload: &'a E::Payload,
    texts: &'a TextCache,
}

/// Texts of the current payload, one for each format that asked. A rewrite forgets them.
#[derive(Default)]
pub(crate) struct TextCache(Mutex<Vec<(Cow<'static, str>, Arc<str>)>>);

impl<'a, E: Event> Occasion<'a, E> {
    pub(crate) fn new(scope: &'a Scope, payload: &'a E::Payload, texts: &'a TextCache) -> Self {
        Self {
            scope,
            payload,
            texts,
        }
    }

    /// The event as becket's own JSON text, made by the first handler that needs it.
    pub fn json(&self) -> Arc<str> {
        self.text("becket", || envelope::<E>(self.scope, self.payload))
    }

    /// The event as a format's own text, made by the first handler of that format that needs it.
    pub fn text(&self, format: impl Into<Cow<'static, str>>, make: impl FnOnce() -> String) -> Arc<str> {
        let format = format.into();
        let mut texts = self
            .texts
            .0
            .lock()
            .expect("no handler panics while it holds the texts");
        if let Some((_, text)) = texts.iter().find(|(known, _)| *known == format) {
            return Arc::clone(text);
        }
        let text: Arc<str> = make().into();
        texts.push((format, Arc::clone(&text)));
        text
    }

    /// A hash of the text that a format was given, if it asked for one.
    pub(crate) fn hash(&self) -> Option<String> {
        let texts = self
            .texts
            .0
            .lock()
            .expect("no handler panics while it holds the texts");
        texts
            .last()
            .map(|(_, text)| blake3::hash(text.as_bytes()).to_hex().to_string())
    }
}
