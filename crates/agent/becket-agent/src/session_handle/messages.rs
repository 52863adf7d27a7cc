//! The messages to the model that wait for a session: by the user, by extensions, and notes.
//!
//! A note that begins a run is asked about like a prompt (`user_prompt`), but nobody has typed it (`user_input`), and
//! no letters come with it.

use std::sync::Arc;

use becket_events::{Message, NoteDraft};

use super::state::{HandleError, Shared};
use crate::input::Input;
use crate::message::{from_draft, user};
use crate::queue::{Delivery, Pace, Said, WhenIdle};

/// The messages that wait for a session's model.
#[derive(Clone)]
pub struct MessageQueue(pub(super) Arc<Shared>);

impl MessageQueue {
    /// Queues a text for the model, as if the user had sent it. While nothing runs it begins a run, unless it is to
    /// come with the next prompt.
    pub fn say(&self, words: Input, delivery: Delivery) -> Result<(), HandleError> {
        self.say_when(words, delivery, WhenIdle::Run)
    }

    /// Queues a text for the model as `say` does; `when_idle` decides what happens to it while nothing runs.
    pub fn say_when(&self, words: Input, delivery: Delivery, when_idle: WhenIdle) -> Result<(), HandleError> {
        drop(self.0.open()?);
        self.0.queues.say(Said::Words(words), delivery, when_idle);
        Ok(())
    }

    /// Queues a line as if the user had typed it: the name of a prompt or skill in it is expanded.
    pub fn type_line(&self, words: Input, delivery: Delivery) -> Result<(), HandleError> {
        drop(self.0.open()?);
        self.0.queues.say(Said::Line(words), delivery, WhenIdle::Run);
        Ok(())
    }

    /// Queues a note for the model. While nothing runs it begins a run or is only kept, unless it is to come with the
    /// next prompt.
    pub fn note(&self, note: NoteDraft, delivery: Delivery, when_idle: WhenIdle) -> Result<(), HandleError> {
        drop(self.0.open()?);
        self.0.queues.say(Said::Note(note), delivery, when_idle);
        Ok(())
    }

    /// How many of the messages that are delivered this way the model gets at once.
    pub fn set_pace(&self, delivery: Delivery, pace: Pace) {
        self.0.queues.set_pace(delivery, pace);
    }

    /// Whether messages wait for the model.
    pub fn has_waiting(&self) -> bool {
        !self.0.queues.is_silent()
    }

    /// Whether waiting messages will be run without a new prompt, in the current run or after it.
    pub fn has_next(&self) -> bool {
        !self.0.queues.is_empty()
    }

    /// The user's texts that wait for the model, and when each is delivered.
    pub fn waiting_words(&self) -> Vec<(Delivery, String)> {
        self.0.queues.waiting_words()
    }

    /// Takes back the user's texts that the model has not seen yet.
    pub fn take_back(&self) -> Vec<String> {
        self.0.queues.take_back()
    }

    /// The messages that wait for the model.
    pub fn waiting(&self) -> Vec<Message> {
        let said = self.0.queues.all_waiting().into_iter();
        let messages = said.map(|said| match said {
            Said::Words(input) | Said::Line(input) => user(&input.text, input.images),
            Said::Note(note) => from_draft(note),
        });
        messages.collect()
    }
}
