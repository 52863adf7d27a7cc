//! One event as its handlers see it: its scope, its payload so far, and its text.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use becket_events::{Event, Scope, envelope};

use crate::echo_proof::echo_proof;
use crate::rehearsal::{Exchange, Fault, Notes};
use crate::{Answered, Failure, Field, Finished, Invocation, Lane, ScriptHandler};

/// One event as a handler sees it.
pub struct Occasion<'a, E: Event> {
    /// Where the event happens, and for which agent.
    pub scope: &'a Scope,
    /// The payload as it is now; earlier handlers may have changed it.
    pub payload: &'a E::Payload,
    pub(crate) setting: &'a Setting<'a>,
}

/// What surrounds a handler that is asked, whatever the event is.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub(crate) texts: &'a TextCache,
    /// Where a rehearsal records what the handler read and answered.
    pub(crate) notes: Option<&'a Notes>,
    pub(crate) fault: Option<Fault>,
}

/// Texts of the current payload, one for each format that asked. A rewrite drops them.
#[derive(Default)]
pub(crate) struct TextCache(Mutex<Vec<(Cow<'static, str>, Arc<str>)>>);

/// The longest text that is kept in the trace; longer ones hold a conversation, which is kept elsewhere.
const SHORT: usize = 16 * 1024;

impl TextCache {
    /// The text of a format, made by the first handler that asks.
    pub(crate) fn text(&self, format: Cow<'static, str>, make: impl FnOnce() -> String) -> Arc<str> {
        self.find(&format).unwrap_or_else(|| self.keep(format, make()))
    }

    /// The text of a format, if it was asked for before.
    fn find(&self, format: &str) -> Option<Arc<str>> {
        let texts = self.0.lock().expect("no handler panics while it holds the texts");
        let (_, text) = texts.iter().find(|(known, _)| known == format)?;
        Some(Arc::clone(text))
    }

    /// Keeps the text of a format for later calls. If two handlers made it at once, the first text stays.
    fn keep(&self, format: Cow<'static, str>, text: String) -> Arc<str> {
        let text: Arc<str> = echo_proof(text).into();
        let mut texts = self.0.lock().expect("no handler panics while it holds the texts");
        if let Some((_, known)) = texts.iter().find(|(known, _)| *known == format) {
            return Arc::clone(known);
        }
        texts.push((format, Arc::clone(&text)));
        text
    }

    /// A hash of the text that was asked for last.
    pub(crate) fn hash(&self) -> Option<String> {
        let texts = self.0.lock().expect("no handler panics while it holds the texts");
        texts
            .last()
            .map(|(_, text)| blake3::hash(text.as_bytes()).to_hex().to_string())
    }

    /// Whether a text was asked for, and none of them is long.
    pub(crate) fn is_short(&self) -> bool {
        let texts = self.0.lock().expect("no handler panics while it holds the texts");
        !texts.is_empty() && texts.iter().all(|(_, text)| text.len() <= SHORT)
    }
}

impl<E: Event> Occasion<'_, E> {
    /// Runs the handler's program.
    pub fn run<'s>(
        &'s self,
        lane: &'s dyn Lane,
        invocation: Invocation,
    ) -> impl Future<Output = Result<Finished, Failure>> + Send + 's {
        self.setting.run(lane, invocation)
    }

    /// Calls the handler's function.
    pub fn call<'s>(
        &'s self,
        script: &'s dyn ScriptHandler,
        fields: Vec<Field>,
    ) -> impl Future<Output = Result<Answered, Failure>> + Send + 's {
        self.setting.call(script, fields)
    }

    /// What surrounds the handler, for code that is compiled once for all events.
    pub fn setting(&self) -> &Setting<'_> {
        self.setting
    }

    /// The event as becket's own JSON text, made by the first handler that needs it.
    pub fn json(&self) -> Arc<str> {
        self.text("becket", || envelope::<E>(self.scope, self.payload))
    }

    /// The event as a format's own JSON text, made by the first handler of that format that needs it. A shell's `echo`
    /// does not change it.
    pub fn text(&self, format: impl Into<Cow<'static, str>>, make: impl FnOnce() -> String) -> Arc<str> {
        self.setting.texts.text(format.into(), make)
    }
}

impl Setting<'_> {
    /// Runs a handler's program.
    pub async fn run(&self, lane: &dyn Lane, invocation: Invocation) -> Result<Finished, Failure> {
        let told = self.notes.map(|notes| {
            (
                notes,
                Arc::clone(&invocation.input),
                invocation.environment.clone(),
            )
        });
        let result = match self.fault {
            Some(fault) => fault.of_program(invocation.timeout),
            None => lane.run(invocation).await,
        };
        if let Some((notes, input, environment)) = told {
            notes.add(Exchange::with_program(&input, environment, &result));
        }
        result
    }

    async fn call(&self, script: &dyn ScriptHandler, fields: Vec<Field>) -> Result<Answered, Failure> {
        let told = self.notes.map(|notes| (notes, fields.clone()));
        let result = match self.fault {
            Some(fault) => fault.of_script(),
            None => script.call(fields).await,
        };
        if let Some((notes, fields)) = told {
            notes.add(Exchange::with_script(&fields, &result));
        }
        result
    }

    /// Records what a handler read that is a part of becket itself; in a rehearsal it may fail here.
    pub fn part(&self, input: &str) -> Result<(), Failure> {
        if let Some(notes) = self.notes {
            notes.add(Exchange {
                input: input.to_owned(),
                ..Exchange::default()
            });
        }
        self.fault.map_or(Ok(()), |fault| Err(fault.of_part()))
    }
}
