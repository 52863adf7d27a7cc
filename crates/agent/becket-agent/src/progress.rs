//! The progress of a session, and of a run in it, from the prompt to its answer.

use std::collections::HashMap;

use becket_events::{Fallback, Message, TurnEnd, Usage};

use crate::endings::Ending;
use crate::fuel::Fuel;
use crate::mail::Arrivals;
use crate::repetition::Repetition;
use crate::settings::AgentSettings;

/// How far a session has come.
#[derive(Debug, Default)]
pub(crate) struct SessionProgress {
    /// Whether hooks were told that the session has begun.
    pub(crate) announced: bool,
    /// A prompt of a hook that runs before the user's first one.
    pub(crate) first_prompt: Option<String>,
    /// Whether something has run since hooks were told that nothing is left to do.
    pub(crate) unsettled: bool,
    /// How many requests hooks have caused since the user's last message.
    pub(crate) unasked: u32,
    /// Whether an answer was lost because becket was killed, and hooks and the user were not told yet.
    pub(crate) lost_answer: bool,
    /// The tokens of all requests.
    pub(crate) usage: Usage,
    /// The number of the current turn.
    pub(crate) turn: u32,
}

/// The state of a run, from the prompt to its answer.
pub(crate) struct Run {
    pub(crate) prompt: String,
    /// The prompt as messages, until the first turn has begun; then they are stored.
    pub(crate) coming: Option<Coming>,
    pub(crate) system_prompt: String,
    /// Whether hooks of `agent_start` wrote the system prompt; then it holds for the whole run.
    pub(crate) system_prompt_is_fixed: bool,
    /// Texts that the model sees until the prompt is answered.
    pub(crate) context: Vec<String>,
    /// The open tasks, for the model to see until the prompt is answered.
    pub(crate) tasks: Option<String>,
    pub(crate) fuel: Fuel,
    pub(crate) fallback: Fallback,
    pub(crate) iteration: u32,
    /// How many requests the current prompt may cause.
    pub(crate) limit: u32,
    /// How many requests each member may still make that handed the conversation over.
    pub(crate) left: HashMap<String, u32>,
    /// The member that takes over after this turn.
    pub(crate) handed_to: Option<String>,
    pub(crate) continuation: u32,
    pub(crate) stop_continuations: u32,
    pub(crate) last_stop_reason: Option<String>,
    /// The note that the model wants to continue with after its answer.
    pub(crate) note: Option<String>,
    pub(crate) repetition: Repetition,
    pub(crate) empty_answers: u32,
    /// The index of the run's first message.
    pub(crate) first_message: usize,
    /// Messages of the run that a summary has replaced.
    pub(crate) summarised: Vec<Message>,
    /// An answer that did not come: hooks were told, but it is no part of the conversation.
    pub(crate) unstored: Option<Message>,
    /// Whether a summary failed or did not help; then it is not tried again for this prompt.
    pub(crate) summary_failed: bool,
    /// Whether the last request was too long for the model.
    pub(crate) overflowed: bool,
    pub(crate) usage: Usage,
    pub(crate) answer: String,
    /// The turn since which only hooks have caused requests.
    pub(crate) unasked_since: Option<u32>,
}

impl Run {
    pub(crate) fn new(prompt: String, context: Vec<String>, fuel: Fuel, settings: &AgentSettings) -> Self {
        Self {
            prompt,
            coming: None,
            system_prompt: String::new(),
            system_prompt_is_fixed: false,
            context,
            tasks: None,
            fuel,
            fallback: settings.fallback,
            iteration: 0,
            limit: settings.max_iterations,
            left: HashMap::new(),
            handed_to: None,
            continuation: 0,
            stop_continuations: 0,
            last_stop_reason: None,
            note: None,
            repetition: Repetition::default(),
            empty_answers: 0,
            first_message: 0,
            summarised: Vec::new(),
            unstored: None,
            summary_failed: false,
            overflowed: false,
            usage: Usage::default(),
            answer: String::new(),
            unasked_since: None,
        }
    }

    /// Another prompt is answered in the same run, with counts and limits of its own.
    pub(crate) fn take_up(&mut self, prompt: String, context: Vec<String>, fuel: Fuel) {
        (self.prompt, self.context, self.fuel) = (prompt, context, fuel);
        self.continuation = 0;
        self.stop_continuations = 0;
        self.last_stop_reason = None;
        self.note = None;
        self.repetition = Repetition::default();
        self.empty_answers = 0;
        self.summary_failed = false;
    }

    /// Another member takes over: with its own prompt, and with as many requests as it has left for this prompt, so
    /// that handing over back and forth comes to an end.
    pub(crate) fn begin_with_another(&mut self, from: &str, to: &str, usual: u32) {
        self.system_prompt_is_fixed = false;
        self.repetition = Repetition::default();
        let own = self.limit.saturating_sub(self.iteration);
        self.left.insert(from.into(), own);
        let left = self.left.remove(to).unwrap_or(usual);
        self.limit = self.iteration.saturating_add(left);
    }
}

/// A prompt that is about to become part of the conversation.
pub(crate) struct Coming {
    pub(crate) messages: Vec<Message>,
    /// The letters that the first of the messages shows.
    pub(crate) arrivals: Arrivals,
}

/// A turn that is over.
pub(crate) struct TurnOver {
    pub(crate) reason: TurnEnd,
    pub(crate) message: Option<Message>,
    pub(crate) tool_results: Vec<Message>,
    /// How the run ends; `None` if it goes on.
    pub(crate) ending: Option<Ending>,
}
